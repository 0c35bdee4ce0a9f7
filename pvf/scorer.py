"""Perturbation validation as a scorer, for scikit-learn's searches and cross-validation."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.metadata_routing import get_routing_for_object

from pvf import _checks as check
from pvf._checks import shown
from pvf._seeds import scorer_seed
from pvf._types import ArrayLike
from pvf.exact import Method
from pvf.perturbation import JointPerturbation, check_perturbation, fitted_perturbation
from pvf.validation import Aggregate, Scoring, check_sets, perturbation_validation


def perturbation_scorer(
    scoring: Scoring,
    *,
    perturbation: JointPerturbation,
    n_sets: int = 100,
    n_replicas: int = 7,
    aggregate: Aggregate = 0.25,
    method: Method = "sample",
    random_state: int | np.random.SeedSequence | np.random.Generator | np.random.RandomState = 0,
) -> PerturbationScorer:
    """Return a scorer that perturbs the samples, for `GridSearchCV` and its kin.

    Parameters
    ----------
    scoring, perturbation, n_sets, n_replicas, aggregate, method
        As in `perturbation_validation`.
    random_state : int, SeedSequence, Generator or RandomState, default=0
        Seed. A generator is asked once, so that every candidate meets the same noise on a fold and
        a second call gives the same score.

    Returns
    -------
    callable
        A scorer ``(estimator, X, y, sample_weight=None) -> float``: the aggregated score on
        perturbed copies of X. It requests the metadata that ``scoring`` requests
        (`set_score_request`), and hands them to it.

    Raises
    ------
    ValueError, TypeError
        As in `perturbation_validation`; an argument's kind and range are checked at once.

    Notes
    -----
    `TunedThresholdClassifierCV` scores predictions and never shows a scorer the samples, so
    nothing can be perturbed there, and it is refused. Search over thresholds instead, by
    ``GridSearchCV(FixedThresholdClassifier(model), {"threshold": [0.1, 0.2]}, scoring=scorer)``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import pvf
    >>> X, y = make_classification(200, random_state=0)
    >>> scorer = pvf.perturbation_scorer(
    ...     "f1", perturbation=pvf.Perturbation(pvf.GaussianNoise(0.2)), n_sets=20
    ... )
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> search = GridSearchCV(tree, {"max_depth": [1, 2, 8]}, scoring=scorer, cv=3)
    >>> search.fit(X, y).best_params_
    {'max_depth': 1}
    """
    seed = scorer_seed(random_state)
    check_sets(n_sets, n_replicas, aggregate, method, tie_break="first", common_noise=True)
    check.scorer(scoring)
    check_perturbation(perturbation)
    return PerturbationScorer(scoring, perturbation, n_sets, n_replicas, aggregate, seed, method)


@dataclass(frozen=True)
class PerturbationScorer:
    """A scorer that is picklable and prints its settings."""

    scoring: Scoring
    perturbation: JointPerturbation
    n_sets: int
    n_replicas: int
    aggregate: Aggregate
    random_state: int | np.random.SeedSequence
    method: Method = "sample"

    def __call__(
        self, estimator: Any, X: Any, y: ArrayLike, sample_weight: Any = None, **score_params: Any
    ) -> float:
        """Return the aggregated score of a fitted model on perturbed copies of X."""
        settings: dict[str, Any] = vars(self) | {
            "sample_weight": sample_weight,
            "score_params": score_params,
            # a fold of few rows may show one category only, and still gets its score
            "perturbation": fitted_perturbation(self.perturbation, X, constant="keep"),
        }
        result = perturbation_validation([estimator], X, y, **settings)
        return float(result.aggregated[0])

    def get_metadata_routing(self) -> Any:
        """Return what the scorer inside requests."""
        return get_routing_for_object(check.scorer(self.scoring))

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """Return a scorer that requests metadata for ``scoring``, ``sample_weight=True`` say."""
        inner: Any = deepcopy(check.scorer(self.scoring))
        if not hasattr(inner, "set_score_request"):
            raise TypeError(
                f"scoring {shown(self.scoring)} takes no requests: make it a scorer with "
                "sklearn.metrics.make_scorer."
            )
        return replace(self, scoring=inner.set_score_request(**requests))

    def __getattr__(self, name: str) -> Any:
        if name in ("_score_func", "_sign", "_kwargs"):
            raise AttributeError(
                "This scorer perturbs the samples, and who asks for its metric alone, as "
                "TunedThresholdClassifierCV does, has none to perturb: search over thresholds with "
                "GridSearchCV(FixedThresholdClassifier(model), {'threshold': ...}, scoring=scorer)."
            )
        raise AttributeError(name)
