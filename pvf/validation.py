"""Algorithm 1 of the paper: perturb the validation set, score, aggregate, select.

The speed comes from the order of work: many perturbed sets are stacked into one table, each model
predicts that table once, and a metric that depends on counts is computed for all sets at once.
"""

from __future__ import annotations

import functools
import itertools
import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import gen_batches, gen_even_slices
from sklearn.utils.validation import check_is_fitted

from pvf import plotting
from pvf._checks import (
    check_array,
    check_axes,
    check_bool,
    check_choice,
    check_column,
    check_integer,
    check_n_jobs,
    check_number,
    check_numeric,
    check_samples,
    check_scorer,
    check_shape,
    shown,
)
from pvf._seeds import seed_sequence
from pvf.metrics import count_metric
from pvf.perturbation import (
    JointPerturbation,
    TableSampler,
    check_perturbation,
    fitted_perturbation,
    sampler_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TIE_BREAKS = ("first", "last", "random")
BLOCK_BYTES = 16 * 2**20


@dataclass(frozen=True, eq=False)
class PerturbationValidationResult:
    """What `perturbation_validation` found.

    Attributes
    ----------
    scores : ndarray of shape (n_models, n_sets)
        Score of each model on each perturbed set.
    aggregated : ndarray of shape (n_models,)
        Aggregated score A_f of each model.
    tied : ndarray of int
        Indices of all models within rounding of the best aggregated score.
    best_index : int
        The one of ``tied`` that the tie rule picks.
    unperturbed : ndarray of shape (n_models,)
        Score of each model on the validation set as it is: the traditional criterion.
    models : tuple
        The candidates, as given.
    names : tuple of str
        Their names.
    tie_break : str
        The tie rule.
    seed : int or SeedSequence
        The ``random_state`` that reproduces the result.
    """

    scores: NDArray[np.float64]
    aggregated: NDArray[np.float64]
    tied: NDArray[np.intp]
    best_index: int
    unperturbed: NDArray[np.float64]
    models: tuple[Any, ...]
    names: tuple[str, ...]
    tie_break: str
    seed: Any

    def __post_init__(self) -> None:
        """Check that the parts fit together, also where a result is made by hand."""
        n_models = len(_scores("scores", self.scores, (-1, -1)))
        for name in ("aggregated", "unperturbed"):
            _scores(name, getattr(self, name), (n_models,), as_in="scores")
        tied = check_array("tied", self.tied)
        check_shape("tied", tied, (-1,))
        if tied.dtype.kind not in "iu" or tied.min() < 0 or tied.max() >= n_models:
            raise ValueError(f"tied must hold indices below {n_models}, got {shown(self.tied)}.")
        check_integer("best_index", self.best_index, 0, n_models - 1)
        for name in ("models", "names"):
            given = getattr(self, name)
            if not isinstance(given, tuple) or len(given) != n_models:
                raise TypeError(f"{name} must be a tuple of {n_models}, got {shown(given)}.")
        if not all(isinstance(name, str) for name in self.names):
            raise TypeError(f"names must be texts, got {shown(self.names)}.")
        check_choice("tie_break", self.tie_break, TIE_BREAKS)
        if not isinstance(self.seed, np.random.SeedSequence):
            check_integer("seed", self.seed, 0, None)

    @property
    def best_model(self) -> Any:
        """The selected model."""
        return self.models[self.best_index]

    @property
    def best_name(self) -> str:
        """The selected model's name."""
        return self.names[self.best_index]

    def to_frame(self) -> pd.DataFrame:
        """Return one row a model: its scores in summary, whether it ties, whether it is selected.

        Returns
        -------
        DataFrame
            Indexed by model name, in the order given. Infinite scores have no ``sd``: it is NaN.
        """
        index = np.arange(len(self.names))
        n_sets = self.scores.shape[1]
        with np.errstate(invalid="ignore"):  # infinity minus infinity
            sd = self.scores.std(axis=1, ddof=1) if n_sets > 1 else np.nan
        return pd.DataFrame(
            {
                "aggregated": self.aggregated,
                "unperturbed": self.unperturbed,
                "mean": self.scores.mean(axis=1),
                "sd": sd,
                "min": self.scores.min(axis=1),
                "max": self.scores.max(axis=1),
                "tied": np.isin(index, self.tied),
                "selected": index == self.best_index,
            },
            index=pd.Index(self.names, name="model"),
        )

    def plot(self, ax: Axes | None = None, *, n_models: int = 15) -> Axes:
        """Draw the perturbed scores of the leading models, the selected one on top.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        n_models : int, default=15
            How many models to show at most.

        Returns
        -------
        matplotlib Axes
            A box is the middle half of a model's scores over the perturbed sets and whiskers reach
            the extremes; a diamond is the aggregated score, a cross the unperturbed one. Infinite
            scores are left out.
        """
        check_integer("n_models", n_models, 1)
        selected = np.arange(len(self.names)) == self.best_index  # before those that it ties with
        shown = np.lexsort((-self.aggregated, ~selected))[:n_models]
        height = 0.32 * len(shown) + 1.2
        ax = check_axes(ax) or plotting.new_axes(figsize=(6.8, height))
        rows = np.arange(len(shown))[::-1]
        blue, orange = plotting.PALETTE[:2]
        ax.boxplot(
            [row[np.isfinite(row)] for row in self.scores[shown]],
            positions=rows,
            orientation="horizontal",
            whis=(0, 100),
            widths=0.6,
            manage_ticks=False,
            medianprops={"color": blue},
        )
        marks: dict[str, Any] = {"linestyle": "none", "zorder": 3}
        ax.plot(self.aggregated[shown], rows, "D", color=orange, label="aggregated", **marks)
        ax.plot(self.unperturbed[shown], rows, "x", color="0.2", label="unperturbed", **marks)
        labels = [
            plotting.label(self.names[i]) + (" (selected)" if i == self.best_index else "")
            for i in shown
        ]
        ax.set_yticks(rows, labels)
        ax.set(xlabel="score on the perturbed validation sets")
        plotting.as_written([*ax.get_yticklabels(), *ax.legend(frameon=False).get_texts()])
        return ax


def perturbation_validation(
    models: Sequence[Any] | Mapping[str, Any],
    X: Any,
    y: ArrayLike,
    *,
    perturbation: JointPerturbation,
    scoring: str | Callable[..., float],
    n_sets: int = 100,
    n_replicas: int = 7,
    aggregate: float | Callable[[NDArray[np.float64]], float] = 0.25,
    tie_break: str = "first",
    common_noise: bool = True,
    random_state: Any = None,
    n_jobs: int | None = None,
    memory_budget: float = 256,
) -> PerturbationValidationResult:
    """Select the model whose score holds up best when the validation set is perturbed.

    Each of ``n_sets`` perturbed sets holds ``n_replicas`` perturbed copies of every validation
    sample, labels unchanged; each model is scored on each set, and the model with the best
    aggregated score is selected.

    Parameters
    ----------
    models : list of fitted estimators, or dict of names to fitted estimators
        The Q candidates: classifiers, regressors or pipelines, whatever ``scoring`` can score.
    X : frame or array of shape (n_samples, n_features)
        Validation samples, as the models take them.
    y : array-like of shape (n_samples,)
        Their labels, of at least two classes.
    perturbation : Perturbation
        How samples are perturbed. Fit it on training data, so that it knows the categories that
        ``X`` lacks; if it is not fitted, a copy is fitted on ``X``.
    scoring : str or callable
        A scikit-learn scorer or its name, `intervention_efficiency_scorer`, or any callable
        ``(estimator, X, y) -> float``. Greater is better.
    n_sets : int, default=100
        Number M of perturbed sets.
    n_replicas : int, default=7
        Number k of copies of each sample in a set.
    aggregate : float in [0, 1] or callable, default=0.25
        A quantile of the M scores, or a function from M scores to a number.
    tie_break : {"first", "last", "random"}, default="first"
        Which of the tied models is selected. Scores count as tied within 1e-9 of each other,
        relatively.
    common_noise : bool, default=True
        Whether all models see the same perturbed sets, which removes noise from their comparison.
        With False each model gets sets of its own, which is Algorithm 1 to the letter.
    random_state : int, SeedSequence, Generator, RandomState or None
        Set m is drawn by a generator of its own, and models predict blocks of one size, so the
        result depends on the seed alone, and not on ``n_jobs`` or ``memory_budget``.
    n_jobs : int or None
        Workers, as joblib takes them.
    memory_budget : float, default=256
        MiB for the stacked sets that a worker holds at one time. Blocks of sets are made for
        16 MiB, since larger ones are no faster. A set that does not fit is drawn, predicted and
        counted in parts, of the same numbers; where ``scoring`` is no count of right and wrong
        predictions of two classes, or a mechanism is not of this package, it is made whole all the
        same, with a warning that says its size. Below 16, and where a set is split, models that
        compute by matrix products may round the last bits differently.

    Returns
    -------
    PerturbationValidationResult

    Raises
    ------
    ValueError, TypeError
        An argument is of the wrong kind or range, ``y`` has one class, sizes differ, a model is
        not fitted (`NotFittedError`), or a score is NaN. A score of minus infinity is allowed: it
        is below every other.

    References
    ----------
    Zhang, Tran and Weng (2026), section 3.2 and Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import pvf
    >>> X, y = make_classification(200, random_state=0)
    >>> trees = {
    ...     f"depth {depth}": DecisionTreeClassifier(max_depth=depth, random_state=0).fit(
    ...         X[:150], y[:150]
    ...     )
    ...     for depth in (1, 2, 8)
    ... }
    >>> result = pvf.perturbation_validation(
    ...     trees, X[150:], y[150:],
    ...     perturbation=pvf.Perturbation(pvf.GaussianNoise(0.2)),
    ...     scoring=pvf.intervention_efficiency_scorer(0.3), random_state=0,
    ... )
    >>> result.best_name
    'depth 2'
    >>> result.to_frame()[["aggregated", "unperturbed"]].round(2)  # doctest: +NORMALIZE_WHITESPACE
             aggregated  unperturbed
    model
    depth 1        1.84         1.85
    depth 2        2.06         2.06
    depth 8        2.03         2.06
    """
    names, candidates = _check_models(models)
    labels, scorer = check_validation_data(X, y), check_scorer(scoring)
    check_integer("n_sets", n_sets, 1)
    check_integer("n_replicas", n_replicas, 1)
    _check_aggregate(aggregate)
    check_choice("tie_break", tie_break, TIE_BREAKS)
    check_bool("common_noise", common_noise)
    check_n_jobs(n_jobs)
    budget = check_number("memory_budget", memory_budget, 1) * 2**20
    seed = seed_sequence(random_state)
    sampler = sampler_of(fitted_perturbation(perturbation, X), X)
    blocks = _BlockScorer(labels, scorer)

    # The scorer's own errors and warnings come first, and once.
    _one_number("scoring", scorer(candidates[0], X, labels))
    unperturbed = blocks.scores(candidates, X, 1)[:, 0]
    _refuse_nan(unperturbed[:, None], scoring, names, "the validation set as it is")
    sets = _Sets(sampler, n_replicas, blocks)
    sets = replace(sets, n_rows=sets.rows_per_part(budget))
    scores = _all_scores(sets, candidates, n_sets, seed, common_noise, n_jobs, budget)
    _refuse_nan(scores, scoring, names, "perturbed set {}")
    aggregated = _aggregate(scores, aggregate, names)
    tied = tied_best(aggregated)
    return PerturbationValidationResult(
        scores=scores,
        aggregated=aggregated,
        tied=tied,
        best_index=break_tie(tied, tie_break, seed),
        unperturbed=unperturbed,
        models=tuple(candidates),
        names=tuple(names),
        tie_break=tie_break,
        seed=seed if seed.spawn_key or not isinstance(seed.entropy, int) else seed.entropy,
    )


def _all_scores(
    sets: _Sets,
    models: list[Any],
    n_sets: int,
    seed: np.random.SeedSequence,
    common_noise: bool,
    n_jobs: int | None,
    budget: float,
) -> NDArray[np.float64]:
    """Return scores of shape (n_models, n_sets), from blocks of models and sets."""
    blocks = list(gen_batches(n_sets, sets.per_block(budget)))
    # A model's own noise has its own keys; common noise has one key a set, whatever the model, and
    # is drawn again by each group of models where there are fewer blocks than workers.
    n_groups = -(-effective_n_jobs(n_jobs) // len(blocks)) if common_noise else len(models)
    groups = gen_even_slices(len(models), min(n_groups, len(models)))
    tasks = list(itertools.product(groups, blocks))

    def seeds(group: slice, block: slice) -> list[np.random.SeedSequence]:
        model = None if common_noise else group.start
        return [set_seed(seed, model, m) for m in range(block.start, block.stop)]

    parts = Parallel(n_jobs=n_jobs)(
        delayed(sets.scores)(models[group], seeds(group, block)) for group, block in tasks
    )
    scores = np.empty((len(models), n_sets))
    for task, part in zip(tasks, parts, strict=True):
        scores[task] = part
    return scores


def perturbation_scorer(
    scoring: str | Callable[..., float],
    *,
    perturbation: JointPerturbation,
    n_sets: int = 100,
    n_replicas: int = 7,
    aggregate: float | Callable[[NDArray[np.float64]], float] = 0.25,
    random_state: int = 0,
) -> Callable[..., float]:
    """Return a scorer that perturbs the samples, for `GridSearchCV` and its kin.

    Parameters
    ----------
    scoring, perturbation, n_sets, n_replicas, aggregate
        As in `perturbation_validation`.
    random_state : int, default=0
        Seed. It is an integer, so that every candidate meets the same noise on a fold and a second
        call gives the same score.

    Returns
    -------
    callable
        A scorer ``(estimator, X, y) -> float``: the aggregated score on perturbed copies of X.

    Raises
    ------
    ValueError, TypeError
        As in `perturbation_validation`; an argument's kind and range are checked at once.

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
    check_integer("random_state", random_state, 0, None)
    check_integer("n_sets", n_sets, 1)
    check_integer("n_replicas", n_replicas, 1)
    _check_aggregate(aggregate)
    check_scorer(scoring)
    check_perturbation(perturbation)
    return _PerturbationScorer(
        scoring, perturbation, n_sets, n_replicas, aggregate, int(random_state)
    )


@dataclass(frozen=True)
class _PerturbationScorer:
    """A scorer that is picklable and prints its settings."""

    scoring: str | Callable[..., float]
    perturbation: JointPerturbation
    n_sets: int
    n_replicas: int
    aggregate: float | Callable[[NDArray[np.float64]], float]
    random_state: int

    def __call__(self, estimator: Any, X: Any, y: ArrayLike) -> float:
        # a fold of few rows may show one category only, and still gets its score
        perturbation = fitted_perturbation(self.perturbation, X, constant="keep")
        settings = vars(self) | {"perturbation": perturbation}
        result = perturbation_validation([estimator], X, y, **settings)
        return float(result.aggregated[0])


def tied_best(aggregated: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the indices of all scores within rounding (1e-9, relative) of the best.

    Parameters
    ----------
    aggregated : ndarray of shape (n_models,)

    Returns
    -------
    ndarray of int

    Examples
    --------
    >>> tied_best(np.array([0.3, 0.1 + 0.2, 0.2]))
    array([0, 1])
    """
    return np.flatnonzero(is_tied_best(aggregated))


def is_tied_best(aggregated: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the scores within rounding of the best along the last axis.

    Parameters
    ----------
    aggregated : ndarray of shape (..., n_models)

    Returns
    -------
    ndarray of bool of the same shape
    """
    best = aggregated.max(axis=-1, keepdims=True)
    return np.isclose(aggregated, best, rtol=1e-9, atol=1e-12)


def perturbed_counts(
    models: Sequence[Any],
    sampler: TableSampler,
    is_case: NDArray[np.bool_],
    case_label: Any,
    n_replicas: int,
    seeds: Sequence[np.random.SeedSequence],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return true and false positives of each model on each set, each of shape (Q, n_sets)."""
    block = _perturbed_block(sampler, n_replicas, seeds)
    counts = [
        _counts(np.asarray(model.predict(block)) == case_label, is_case, len(seeds))
        for model in models
    ]
    tp, fp = np.moveaxis(np.array(counts), 1, 0)
    return tp, fp


def _counts(
    flagged: NDArray[np.bool_], is_case: NDArray[np.bool_], n_sets: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return true and false positives of one model on each stacked set."""
    per_sample = flagged.reshape(n_sets, -1, len(is_case)).sum(axis=1)
    return per_sample[:, is_case].sum(axis=1), per_sample[:, ~is_case].sum(axis=1)


def _perturbed_block(
    sampler: TableSampler, n_replicas: int, seeds: Sequence[np.random.SeedSequence]
) -> Any:
    draws = [sampler.draw(n_replicas, np.random.default_rng(seed)) for seed in seeds]
    return sampler.assemble(draws, n_replicas)


@dataclass(frozen=True)
class _BlockScorer:
    """How models are scored on sets that are stacked in one block."""

    y: NDArray
    scorer: Callable[..., float]

    @cached_property
    def metric(self) -> tuple[Any, Callable[..., NDArray]] | None:
        """The case label and the score as a function of counts, where it is one."""
        return count_metric(self.scorer, np.unique(self.y))

    @cached_property
    def is_case(self) -> NDArray[np.bool_]:
        return self.y == self.metric[0] if self.metric else np.zeros(len(self.y), dtype=bool)

    def scores(self, models: Sequence[Any], block: Any, n_sets: int) -> NDArray[np.float64]:
        """Return scores of shape (n_models, n_sets), with one prediction a model."""
        scores = np.empty((len(models), n_sets))
        for q, model in enumerate(models):
            flagged = None if self.metric is None else self.flagged(model.predict(block))
            if flagged is None:
                scores[q] = self._set_by_set(model, block, n_sets)
            else:
                counts = _counts(flagged, self.is_case, n_sets)
                scores[q] = self.from_counts(*counts, flagged.size // n_sets // len(self.y))
        return scores

    def flagged(self, predicted: ArrayLike) -> NDArray[np.bool_] | None:
        """Mark what is predicted a case; None if a prediction is neither of the two classes."""
        predicted = np.asarray(predicted)
        flagged = predicted == self.y[self.is_case][0]
        is_other = predicted == self.y[~self.is_case][0]
        return flagged if np.array_equal(~flagged, is_other) else None

    def from_counts(self, tp: NDArray, fp: NDArray, n_replicas: int) -> NDArray[np.float64]:
        assert self.metric is not None  # or nothing would be counted
        n_pos = n_replicas * int(self.is_case.sum())
        return self.metric[1](tp, fp, n_pos, n_replicas * len(self.y) - n_pos)

    def _set_by_set(self, model: Any, block: Any, n_sets: int) -> list[float]:
        """Return scores of any scorer, from one prediction of the whole block."""
        n_rows = len(block) // n_sets
        slices = [slice(m * n_rows, (m + 1) * n_rows) for m in range(n_sets)]
        sets = [block.iloc[s] if isinstance(block, pd.DataFrame) else block[s] for s in slices]
        replay = _Replay(model, block, sets, slices)
        repeated = np.tile(self.y, n_rows // len(self.y))
        return [_one_number("scoring", self.scorer(replay, part, repeated)) for part in sets]


def scores_of_models(
    models: Sequence[Any], X: Any, y: NDArray, scorer: Callable[..., float]
) -> NDArray[np.float64]:
    """Return the score of each model on samples as they are, of shape (n_models,)."""
    return _BlockScorer(y, scorer).scores(models, X, 1)[:, 0]


@dataclass(frozen=True)
class _Sets:
    """Perturbed sets of one validation set."""

    sampler: TableSampler
    n_replicas: int
    blocks: _BlockScorer
    n_rows: int | None = None  # of the table that a part of a set is made of; None for no parts

    def scores(
        self, models: Sequence[Any], seeds: Sequence[np.random.SeedSequence]
    ) -> NDArray[np.float64]:
        """Return scores of shape (n_models, n_sets) on the sets that belong to the seeds."""
        if self.n_rows is not None:
            parts = [self._scores_in_parts(models, seed, self.n_rows) for seed in seeds]
            return np.stack(parts, axis=1)
        block = _perturbed_block(self.sampler, self.n_replicas, seeds)
        return self.blocks.scores(models, block, len(seeds))

    def _scores_in_parts(
        self, models: Sequence[Any], seed: np.random.SeedSequence, n_rows: int
    ) -> NDArray[np.float64]:
        """Return scores on one set that is never whole: counts add up over its parts."""
        counts = np.zeros((2, len(models)), dtype=np.int64)
        rng = np.random.default_rng(seed)
        for rows, part in self.sampler.parts(self.n_replicas, rng, n_rows):
            for q, model in enumerate(models):
                flagged = self.blocks.flagged(model.predict(part))
                if flagged is None:  # a third class, which no count holds
                    self._warn_of_size()
                    return replace(self, n_rows=None).scores(models, [seed])[:, 0]
                counts[:, q] += np.ravel(_counts(flagged, self.blocks.is_case[rows], 1))
            del part  # before the next one is made
        tp, fp = counts
        return self.blocks.from_counts(tp, fp, self.n_replicas)

    def per_block(self, budget: float) -> int:
        """Return how many sets fit into a block, or into ``budget`` bytes, at least one.

        A block has one size whatever the number of workers: the last bits of a matrix product, and
        with them the nearest neighbour among equally near ones, depend on how many rows it has.
        """
        size = self._row_bytes * self.sampler.table.n_samples
        return max(1, int(min(budget, BLOCK_BYTES) // size))

    @property
    def _row_bytes(self) -> int:
        """How many bytes one sample's replicas take in a set.

        A cell's random number, its perturbed value and the model's own copy of it; labels and
        probabilities a row.
        """
        return (24 * self.sampler.table.n_features + 64) * self.n_replicas

    def rows_per_part(self, budget: float) -> int | None:
        """Return how many samples a set beyond ``budget`` is split into; None for no split."""
        if self._row_bytes * self.sampler.table.n_samples <= budget:
            return None
        if self.sampler.can_be_split and self.blocks.metric is not None:
            return max(1, int(budget // (2 * self._row_bytes)))  # labels and scores take room too
        self._warn_of_size()
        return None

    def _warn_of_size(self) -> None:
        size = self._row_bytes * self.sampler.table.n_samples / 2**20
        warnings.warn(
            f"memory_budget is exceeded: one perturbed set takes about {size:,.0f} MiB. It is "
            "split only for scores that count right and wrong predictions of two classes, such as "
            "F1 or Intervention Efficiency, under this package's own mechanisms. Take fewer "
            "n_replicas or samples, or a larger memory_budget.",
            stacklevel=4,
        )


class _Replay:
    """A model that predicts a whole block once and hands out the part that is asked for.

    Everything but the predictions on the block's own sets is the model's.
    """

    _METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")

    def __init__(self, model: Any, block: Any, sets: list[Any], slices: list[slice]) -> None:
        self._model, self._block = model, block
        self._slices = {id(part): s for part, s in zip(sets, slices, strict=True)}
        self._responses: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name == "_model":  # a copy that is still empty asks for it
            raise AttributeError(name)
        attribute = getattr(self._model, name)
        if name not in self._METHODS:
            return attribute

        @functools.wraps(attribute)
        def respond(X: Any) -> Any:
            if id(X) not in self._slices:
                return attribute(X)
            if name not in self._responses:
                self._responses[name] = attribute(self._block)
            return self._responses[name][self._slices[id(X)]]

        return respond


def set_seed(seed: np.random.SeedSequence, model: int | None, m: int) -> np.random.SeedSequence:
    """Return the seed of perturbed set ``m``: common to all models, or one model's own."""
    key = (0, m) if model is None else (1, model, m)
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))


def break_tie(tied: NDArray[np.intp], tie_break: str, seed: np.random.SeedSequence) -> int:
    """Return the one of the tied models that the rule picks."""
    if tie_break == "random":
        key = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 2))
        return int(np.random.default_rng(key).choice(tied))
    return int(tied[0] if tie_break == "first" else tied[-1])


def _aggregate(
    scores: NDArray[np.float64],
    aggregate: float | Callable[[NDArray[np.float64]], float],
    names: Sequence[str],
) -> NDArray[np.float64]:
    if not callable(aggregate):
        return quantile_of_rows(scores, aggregate)
    found = np.array([_one_number("aggregate", aggregate(row.copy())) for row in scores])
    if np.isnan(found).any():
        bad = names[int(np.isnan(found).argmax())]
        raise ValueError(f"aggregate gave NaN for model {bad!r}; it must give a number.")
    return found


def quantile_of_rows(scores: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Return each row's quantile; next to an infinite score, which has no middle, that score."""
    with np.errstate(invalid="ignore"):
        found = np.quantile(scores, share, axis=1)
    infinite = np.isinf(scores).any(axis=1)
    if infinite.any():
        low, high = (
            np.quantile(scores[infinite], share, axis=1, method=side)
            for side in ("lower", "higher")
        )
        between = np.where(np.isinf(high), high, found[infinite])
        found[infinite] = np.where(np.isinf(low) | (low == high), low, between)
    return found


def _scores(name: str, value: Any, shape: tuple[int, ...], as_in: str = "") -> NDArray[np.float64]:
    """Return scores, which may be infinite."""
    scores = check_numeric(name, value)
    check_shape(name, scores, shape, as_in)
    if np.isnan(scores).any():
        raise ValueError(f"{name} must not be NaN, got {shown(value)}.")
    return scores


def _refuse_nan(
    scores: NDArray[np.float64], scoring: Any, names: Sequence[str], where: str
) -> None:
    if np.isnan(scores).any():
        q, m = np.argwhere(np.isnan(scores))[0]
        raise ValueError(
            f"scoring {shown(scoring)} gave NaN for model {names[q]!r} on {where.format(m)}; "
            "it must give a number."
        )


def _one_number(name: str, value: Any) -> float:
    """Return what a user's function gave, if it is one number."""
    if np.ndim(value) != 0 or np.asarray(value).dtype.kind not in "biuf":
        raise ValueError(f"{name} must return one number, got {shown(value)}.")
    return float(value)


def _check_models(models: Any) -> tuple[list[str], list[Any]]:
    """Return names and fitted models."""
    if isinstance(models, Mapping):
        names, candidates = [str(name) for name in models], list(models.values())
    elif isinstance(models, list | tuple | np.ndarray):
        names, candidates = [f"model {q}" for q in range(len(models))], list(models)
    else:
        raise TypeError(
            f"models must be a list or a dict of fitted estimators, got {type(models).__name__}."
        )
    if not candidates:
        raise ValueError("models must hold at least one fitted estimator, got none.")
    for name, model in zip(names, candidates, strict=True):
        if isinstance(model, type) or not hasattr(model, "predict"):
            raise TypeError(f"models: {name!r} must be an estimator with predict, got {model!r}.")
        try:
            if isinstance(model, BaseEstimator) and hasattr(model, "fit"):
                check_is_fitted(model)
        except NotFittedError as error:
            raise NotFittedError(
                f"models: {name!r} ({type(model).__name__}) is not fitted; fit it on training data."
            ) from error
    return names, candidates


def check_validation_data(X: Any, y: ArrayLike) -> NDArray:
    """Return the labels; refuse those of one class or of another number than the samples."""
    labels = check_column("y", y)
    check_samples("X", X, len(labels))
    if len(pd.unique(labels)) < 2:
        raise ValueError(f"y must have at least two classes, got {pd.unique(labels).tolist()}.")
    return labels


def _check_aggregate(aggregate: Any) -> None:
    if callable(aggregate) and not isinstance(aggregate, type):
        return
    if not isinstance(aggregate, numbers.Real):
        raise TypeError(
            "aggregate must be a quantile in [0, 1] or a function of the scores, "
            f"got {shown(aggregate)}."
        )
    check_number("aggregate", aggregate, 0, 1)
