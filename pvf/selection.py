"""Rules for choosing a model, side by side.

A criterion is any callable ``(estimator, X, y) -> float`` that takes an unfitted model and all the
data at hand, and whose largest value wins. `pvf.pmv_scorer` makes one that needs no held-out part;
cross-validation and the hold-out, with or without perturbation, are made here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split

from pvf import _checks as check
from pvf._blocks import one_number
from pvf._checks import shown
from pvf._types import Array, ArrayLike
from pvf.rules import (
    BootstrapQuartile,
    Evidence,
    HoldOut,
    OneStandardError,
    OutOfBag,
    PerturbationValidation,
    PMVRule,
    PVFInsideCV,
    RepeatedCV,
    Rule,
    Shrunken,
)

__all__ = [
    "BootstrapQuartile",
    "Criterion",
    "Evidence",
    "HoldOut",
    "OneStandardError",
    "OutOfBag",
    "PMVRule",
    "PVFInsideCV",
    "PerturbationValidation",
    "RepeatedCV",
    "Rule",
    "Shrunken",
    "cross_validation_criterion",
    "holdout_criterion",
    "rank_models",
    "refit_by",
]

_LARGEST_SEED = 2**32 - 1  # that scikit-learn's splitters take

#: Takes an unfitted model, X and y; the largest value wins.
Criterion = Callable[[Any, Any, ArrayLike], float]

RefitRule = Literal["pvf", "one_standard_error", "most_stable"]
_REFIT_RULES = ("pvf", "one_standard_error", "most_stable")


def cross_validation_criterion(
    scoring: str | Callable[..., float] = "accuracy", *, n_splits: int = 10, random_state: int = 0
) -> Criterion:
    """Make the criterion of cross-validation: the mean score over stratified folds.

    Parameters
    ----------
    scoring : str or callable, default="accuracy"
        A scikit-learn scorer or its name.
    n_splits : int, default=10
        Number of folds.
    random_state : int, default=0
        Seed of the folds, the same for every model.

    Returns
    -------
    callable ``(estimator, X, y) -> float``

    Raises
    ------
    ValueError, TypeError
        If an argument is of the wrong kind or range.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> criterion = cross_validation_criterion(n_splits=5)
    >>> round(criterion(GaussianNB(), *load_iris(return_X_y=True)), 2)
    0.96
    """
    check.scorer(scoring)
    check.integer("n_splits", n_splits, 2)
    check.integer("random_state", random_state, 0, _LARGEST_SEED)
    return _CrossValidation(scoring, n_splits, random_state)


def holdout_criterion(
    scoring: str | Callable[..., float] = "accuracy",
    *,
    validation_share: float = 0.3,
    random_state: int = 0,
) -> Criterion:
    """Make the criterion of one stratified split: fit on one part, score on the other.

    With `pvf.perturbation_scorer` as scorer this is PVF; with any other, the traditional method.

    Parameters
    ----------
    scoring : str or callable, default="accuracy"
        A scikit-learn scorer or its name.
    validation_share : float in (0, 1), default=0.3
        Share of the data that models are scored on.
    random_state : int, default=0
        Seed of the split, the same for every model.

    Returns
    -------
    callable ``(estimator, X, y) -> float``

    Raises
    ------
    ValueError, TypeError
        If an argument is of the wrong kind or range.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.naive_bayes import GaussianNB
    >>> import pvf
    >>> noise = pvf.Perturbation(pvf.GaussianNoise(0.1))
    >>> holdout = holdout_criterion(pvf.perturbation_scorer("f1", perturbation=noise))
    >>> round(holdout(GaussianNB(), *make_moons(200, noise=0.2, random_state=0)), 1)
    0.9
    """
    check.scorer(scoring)
    check.interval("validation_share", validation_share, 0, 1, left_open=True)
    check.number("validation_share", validation_share, 0, 1, right_open=True)
    check.integer("random_state", random_state, 0, _LARGEST_SEED)
    return _Holdout(scoring, validation_share, random_state)


def refit_by(
    rule: RefitRule,
    *,
    metric: str | None = None,
    complexity: str | Callable[[dict[str, Any]], float] | None = None,
) -> Callable[[Mapping[str, Any]], int]:
    """Make the rule by which a scikit-learn search chooses its candidate, for ``refit=``.

    Parameters
    ----------
    rule : {"pvf", "one_standard_error", "most_stable"}
        "pvf" takes the best mean over the splits, which is PVF where the search scores with
        `pvf.perturbation_scorer`; ties within rounding go to the simplest, then to the first.
        "one_standard_error" takes the simplest candidate whose mean is at most one standard error
        of the best candidate's below the best; it needs ``complexity``. "most_stable" takes, of
        the same candidates, the one whose scores spread least over the splits.
    metric : str, optional
        The scorer's name where the search has several; not needed for one.
    complexity : str or callable, optional
        How complex a candidate is, smaller being simpler: the name of a searched parameter, or a
        function from a candidate's parameters to a number.

    Returns
    -------
    callable
        Takes ``cv_results_`` and returns the index of a candidate.

    Raises
    ------
    ValueError, TypeError
        An argument is of the wrong kind, "one_standard_error" lacks ``complexity``; later, when
        the search has no such metric or parameter, no finite score, or a single split.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_moons(300, noise=0.3, random_state=0)
    >>> tree, grid = DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3, 5, 9]}
    >>> simplest = refit_by("one_standard_error", complexity="max_depth")
    >>> GridSearchCV(tree, grid, refit=simplest).fit(X, y).best_params_
    {'max_depth': 5}
    """
    check.choice("rule", rule, _REFIT_RULES)
    check.text("metric", metric)
    is_function = callable(complexity) and not isinstance(complexity, type)
    if not (complexity is None or isinstance(complexity, str) or is_function):
        raise TypeError(
            f"complexity must be a parameter's name or a callable, got {shown(complexity)}."
        )
    if rule == "one_standard_error" and complexity is None:
        raise ValueError("complexity must say which candidate is simpler, got None.")
    return _RefitBy(rule, metric, complexity)


@dataclass(frozen=True)
class _RefitBy:
    """A rule for ``refit=``; picklable, and prints its settings."""

    rule: RefitRule
    metric: str | None
    complexity: str | Callable[[dict[str, Any]], float] | None

    def __call__(self, cv_results: Mapping[str, Any]) -> int:
        scores = self._split_scores(cv_results)
        means = scores.mean(axis=1)
        means[np.isnan(means)] = -np.inf  # a candidate that failed loses
        best = int(means.argmax())
        if not np.isfinite(means[best]):
            raise ValueError("refit_by: no candidate has a finite mean score.")
        if self.rule == "pvf":
            good = np.isclose(means, means[best], rtol=1e-9, atol=1e-12)
        elif scores.shape[1] < 2:
            raise ValueError(f"refit_by: {self.rule!r} needs two splits or more, got one.")
        else:
            error = scores[best].std(ddof=1) / np.sqrt(scores.shape[1])
            good = means >= means[best] - error
        chosen = np.flatnonzero(good)
        # for PVF none of these is better, within rounding
        keys = [means[chosen] * (0 if self.rule == "pvf" else -1)]
        if self.complexity is not None:
            keys.append(self._complexities(cv_results)[chosen])
        if self.rule == "most_stable":
            keys.append(scores[chosen].std(axis=1))
        return int(chosen[np.lexsort(keys)[0]])

    def _split_scores(self, cv_results: Mapping[str, Any]) -> Array:
        """Return scores of shape (n_candidates, n_splits)."""
        known = [name.removeprefix("mean_test_") for name in cv_results if "mean_test_" in name]
        metric = self.metric or (known[0] if len(known) == 1 else None)
        if metric not in known:
            raise ValueError(f"metric must be one of the search's {known}, got {self.metric!r}.")
        of_split = re.compile(rf"split\d+_test_{re.escape(metric)}")
        splits = [cv_results[name] for name in cv_results if of_split.fullmatch(name)]
        return np.stack(splits, axis=1).astype(float)

    def _complexities(self, cv_results: Mapping[str, Any]) -> Array:
        complexity = self.complexity
        found = []
        for params in cv_results["params"]:
            if isinstance(complexity, str) and complexity not in params:
                raise ValueError(
                    f"complexity must be one of the parameters {sorted(params)}, "
                    f"got {complexity!r}."
                )
            value = complexity(params) if callable(complexity) else params[complexity]
            # no limit, as None says for trees, is the most complex
            found.append(np.inf if value is None else check.number("complexity", value, -np.inf))
        return np.array(found)


@dataclass(frozen=True)
class _CrossValidation:
    """Mean score over folds; picklable, and prints its settings."""

    scoring: str | Callable[..., float]
    n_splits: int
    random_state: int

    def __call__(self, estimator: Any, X: Any, y: ArrayLike) -> float:
        folds = StratifiedKFold(self.n_splits, shuffle=True, random_state=self.random_state)
        scores = cross_val_score(
            estimator, X, y, scoring=self.scoring, cv=folds, error_score="raise"
        )
        return float(scores.mean())


@dataclass(frozen=True)
class _Holdout:
    """Score on one validation part; picklable, and prints its settings."""

    scoring: str | Callable[..., float]
    validation_share: float
    random_state: int

    def __call__(self, estimator: Any, X: Any, y: ArrayLike) -> float:
        X_train, X_val, y_train, y_val = train_test_split(
            X, y, test_size=self.validation_share, stratify=y, random_state=self.random_state
        )
        scorer = check_scoring(estimator, self.scoring)
        return float(scorer(clone(estimator).fit(X_train, y_train), X_val, y_val))


def rank_models(
    models: Sequence[Any] | Mapping[str, Any],
    X: Any,
    y: ArrayLike,
    *,
    criteria: Mapping[str, Criterion],
) -> pd.DataFrame:
    """Score every model by every criterion and rank them side by side.

    Parameters
    ----------
    models : list of estimators, or dict of names to estimators
        Candidates. They are cloned, never fitted in place.
    X : array-like or frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    criteria : dict of names to callables ``(estimator, X, y) -> float``
        Such as `pvf.pmv_scorer`, `cross_validation_criterion`, `holdout_criterion`.

    Returns
    -------
    DataFrame
        One row per criterion and model, in the order given: ``criterion``, ``model``, ``score``,
        ``rank`` (1 is best; equal scores share the smaller rank) and ``seconds``.

    Raises
    ------
    ValueError
        If there are no models or criteria, two models share a name, or a score is NaN.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import pvf
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> trees = {
    ...     f"depth {depth}": DecisionTreeClassifier(max_depth=depth, random_state=0)
    ...     for depth in (1, 4, 16)
    ... }
    >>> ranking = rank_models(
    ...     trees,
    ...     X,
    ...     y,
    ...     criteria={"PMV": pvf.pmv_scorer(), "10-fold CV": cross_validation_criterion()},
    ... )
    >>> best = ranking[ranking["rank"] == 1]
    >>> dict(zip(best["criterion"], best["model"]))
    {'PMV': 'depth 1', '10-fold CV': 'depth 16'}
    """
    named = named_models(models)
    _check_criteria(criteria)
    check.samples("X", X, len(check.column("y", y)))
    rows = []
    for criterion, score_of in criteria.items():
        for name, model in named.items():
            start = time.perf_counter()
            score = one_number(f"criteria: {criterion!r}", score_of(clone(model), X, y))
            rows.append((criterion, name, score, time.perf_counter() - start))
    table = pd.DataFrame(rows, columns=["criterion", "model", "score", "seconds"])
    if table["score"].isna().any():
        bad = table[table["score"].isna()].iloc[0]
        raise ValueError(f"criteria: {bad['criterion']!r} gave NaN for model {bad['model']!r}.")
    ranks = table.groupby("criterion")["score"].rank(method="min", ascending=False)
    table.insert(3, "rank", ranks.astype(int))
    return table


def named_models(models: Any) -> dict[Any, Any]:
    """Return unfitted models by name; those of a list are named by what they print."""
    check.kind("models", models, Mapping | list | tuple, "be a list or a dict of estimators")
    is_named = isinstance(models, Mapping)
    named = dict(models) if is_named else {repr(model): model for model in models}
    if not named or len(named) < len(models):
        raise ValueError(f"models must be one or more, of different names, got {shown(models)}.")
    for name, model in named.items():
        if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "get_params")):
            raise TypeError(f"models: {name!r} must be a scikit-learn estimator, got {model!r}.")
    return named


def _check_criteria(criteria: Any) -> None:
    check.kind("criteria", criteria, Mapping, "be a dict of names to callables")
    if not criteria:
        raise ValueError("criteria must name at least one callable, got none.")
    for name, score_of in criteria.items():
        if not callable(score_of):
            raise TypeError(f"criteria: {name!r} must be a callable, got {shown(score_of)}.")
