"""Predictive multiplicity: how much equally good models disagree about single samples.

Rashomon Capacity (Hsu and Calmon 2022) counts, for each sample, how many classes the models of a
Rashomon set effectively assign to it: 1 where they all give the same scores, the number of classes
where each class is given with certainty by some model. It is 2 to the power of the capacity, in
bits, of the channel whose rows are the models' scores.

Scores are arrays over (models × samples × classes), or (models × samples) with the probability of
the positive class of two. They may come from anywhere.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_batches

from pvf import plotting
from pvf._checks import (
    check_array,
    check_axes,
    check_bool,
    check_column,
    check_finite,
    check_integer,
    check_interval,
    check_n_jobs,
    check_number,
    check_numeric,
    check_samples,
    check_shape,
    check_text,
    naming,
    shown,
)
from pvf._seeds import Seed, generator_of
from pvf.multiplicity import _channel
from pvf.multiplicity import logistic as _logistic_set

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "MultiplicityDisplay",
    "ambiguity",
    "capacity_tail",
    "decisions",
    "discrepancy",
    "greedy_subset",
    "multiplicity_table",
    "perturb_scores",
    "rashomon_capacity",
    "rashomon_set",
]

Array = NDArray[np.float64]

LN2 = float(np.log(2))


def rashomon_capacity(
    scores: ArrayLike,
    *,
    return_weights: bool = False,
    return_gap: bool = False,
    tol: float = 1e-9,
    max_iter: int = 100,
    n_jobs: int | None = None,
    memory_budget: float = 256,
) -> Any:
    r"""Rashomon Capacity of each sample, Definition 2 of Hsu and Calmon (2022).

    .. math::

        m_C(x) = 2^{C(x)}, \qquad
        C(x) = \max_{w} \min_{q} \sum_m w_m D_{KL}(h_m(x) \,\|\, q)

    with the divergence in bits. Two classes have a closed form in the smallest and the largest
    score. For more, Blahut-Arimoto steps start and Newton steps finish, for all samples at once,
    until the capacity is enclosed by two bounds that are at most ``tol`` apart; what is returned
    belongs to the lower one.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_samples) or (n_models, n_samples, n_classes)
        Probabilities: of the positive class of two, or of each class. Rows that sum to 1 within
        1e-6, or single precision's rounding, are rescaled. For decisions see `decisions`.
    return_weights : bool, default=False
        Whether to return the weights over models that attain the capacity.
    return_gap : bool, default=False
        Whether to return the distance between the bounds.
    tol : float, default=1e-9
        Largest accepted distance between the bounds, in bits.
    max_iter : int, default=100
        Most Newton steps; about ten are usual.
    n_jobs : int or None
        Threads over blocks of samples, as joblib takes it. The blocks and so the result do not
        depend on it.
    memory_budget : float, default=256
        Most MiB that one block may take.

    Returns
    -------
    capacity : ndarray of shape (n_samples,)
        m_C, in effective classes, from 1 to the number of classes. In bits it is ``log2`` of that.
    weights : ndarray of shape (n_models, n_samples)
        If ``return_weights``. At most as many models as there are classes have a weight in each
        sample (Proposition 2). Those of two classes are right to 1e-11. Of more, other weights
        are almost as good where the models nearly agree; what these attain is within the gap.
    gap : ndarray of shape (n_samples,)
        If ``return_gap``: the bits of ``capacity`` are no farther than this from the true ones,
        nor, if they are returned, what the weights attain; rounding included. 0 where all models
        agree.

    Raises
    ------
    TypeError
        If the scores are not numbers.
    ValueError
        If they are not probabilities, are missing, or have another shape.

    Warns
    -----
    ConvergenceWarning
        If a sample did not reach ``tol``. Its value is the lower bound.
    UserWarning
        If there is one model only. Its capacity is 1 (Definition 1, property 2), but more often
        than not a Rashomon set of one is a mistake. Scores without an axis of models are refused.

    Examples
    --------
    The smaller of the two sets of equation (7) has the larger capacity:

    >>> three = [[0.55], [0.50], [0.40]]
    >>> two = [[0.15], [0.90]]
    >>> print(rashomon_capacity(three).round(4), rashomon_capacity(two).round(4))
    [1.0114] [1.3745]

    Three models, one sample, three classes:

    >>> capacity, weights = rashomon_capacity(
    ...     [[[0.9, 0.1, 0.0]], [[0.1, 0.9, 0.0]], [[0.5, 0.5, 0.0]]], return_weights=True
    ... )
    >>> print(capacity.round(6), weights.T.round(6) + 0)
    [1.444935] [[0.5 0.5 0. ]]
    """
    array = _as_scores(scores)
    check_bool("return_weights", return_weights)
    check_bool("return_gap", return_gap)
    check_n_jobs(n_jobs)
    tol = check_number("tol", tol, 1e-13)
    max_iter = check_integer("max_iter", max_iter, 1)
    budget = check_number("memory_budget", memory_budget, 1) * 2**20
    if len(array) == 1:
        warnings.warn("scores holds one model: its capacity is 1, by definition.", stacklevel=2)
    parts = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_block_capacity)(array[:, block], return_weights, tol, max_iter)
        for block in _sample_blocks(array, budget)
    )
    bits, gap = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    _warn_of_gaps(gap, tol, "bits", "rashomon_capacity")
    # What is returned is rounded once more; to 1 where fewer bits than that remain.
    gap = np.where(gap > 0, gap + 2 * _channel.EPS * (1 + bits), 0)
    found = [np.clip(np.exp2(bits), 1, _n_classes(array))]
    if return_weights:
        found.append(np.concatenate([part[2] for part in parts], axis=1))
    if return_gap:
        found.append(gap)
    return found[0] if len(found) == 1 else tuple(found)


def _as_scores(scores: ArrayLike) -> NDArray[Any]:
    """Return the scores as a numeric array of two or three axes; values are checked in blocks."""
    array = _numbers("scores", scores)
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] < 2):
        raise ValueError(
            "scores must have shape (n_models, n_samples), for the positive class of two, or "
            f"(n_models, n_samples, n_classes), got {array.shape}"
            + (": one model, without the others." if array.ndim == 1 else ".")
        )
    if not len(array):
        raise ValueError("scores must hold at least one model, got an empty Rashomon set.")
    return array


def _numbers(name: str, value: ArrayLike) -> NDArray[Any]:
    """Return numbers as they are, in single precision too, and objects as floats."""
    array = check_array(name, value)
    return array if array.dtype.kind in "biuf" else check_numeric(name, array)


def _n_classes(array: NDArray[Any]) -> int:
    return array.shape[2] if array.ndim == 3 else 2


def _sample_blocks(array: NDArray[Any], budget: float) -> Iterator[slice]:
    """Return slices over samples whose work fits into ``budget`` bytes."""
    n_models, n_samples = array.shape[:2]
    # About eight arrays of the block's size are alive at once in the many-class case.
    per_sample = 8 * 8 * n_models * (_n_classes(array) if array.ndim == 3 else 1)
    size = int(min(max(1, budget // per_sample), 2**16))
    return gen_batches(max(n_samples, 1), size)


def _check_probabilities(block: Array) -> None:
    """Refuse values outside [0, 1], missing values, and rows that do not sum to 1."""
    smallest, largest = block.min(initial=0), block.max(initial=0)
    if np.isnan(smallest):
        raise ValueError("scores must not be missing, got nan.")
    if smallest < -1e-6 or largest > 1 + 1e-6:
        wrong = smallest if smallest < -1e-6 else largest
        raise ValueError(f"scores must be probabilities in [0, 1], got {wrong:g}.")


def _positive_scores(block: NDArray[Any]) -> Array:
    """Return probabilities of the positive class, (models × samples)."""
    if block.ndim == 3:
        return _class_scores(block)[:, :, 1]
    block = block.astype(np.float64, copy=False)
    _check_probabilities(block)
    return np.clip(block, 0, 1)


def _class_scores(block: NDArray[Any]) -> Array:
    """Return probabilities that sum to 1, (models × samples × classes)."""
    single = block.dtype.kind == "f" and block.dtype.itemsize < 8
    tolerance = max(1e-6, float(np.sqrt(np.finfo(block.dtype).eps))) if single else 1e-6
    block = block.astype(np.float64, copy=False)
    _check_probabilities(block)
    block = np.clip(block, 0, 1)
    total = block.sum(axis=2, keepdims=True)
    error = np.abs(total - 1)
    if error.max(initial=0) > tolerance:
        raise ValueError(
            f"scores must sum to 1 over the classes, got {total.flat[error.argmax()]:g}."
        )
    return block / total


def _block_capacity(
    block: NDArray[Any], return_weights: bool, tol: float, max_iter: int
) -> tuple[Array, Array, Array | None]:
    """Return capacity and gap in bits, and the weights if asked for, of one block of samples."""
    if _n_classes(block) == 2:
        return _block_capacity_two(_positive_scores(block), return_weights)
    rows = np.ascontiguousarray(_class_scores(block).swapaxes(0, 1))
    lower, upper, weights = _channel.many_class_capacity(rows, tol * LN2, max_iter)
    if return_weights:
        weights, attained = _channel.carry_on_few(rows, upper, weights, tol * LN2)
        return lower / LN2, np.maximum(upper - np.minimum(lower, attained), 0) / LN2, weights.T
    return lower / LN2, np.maximum(upper - lower, 0) / LN2, None


def _block_capacity_two(positive: Array, return_weights: bool) -> tuple[Array, Array, Array | None]:
    """Return the same for two classes."""
    low, high = positive.min(axis=0), positive.max(axis=0)
    capacity, weight, gap = _channel.two_class_capacity(low, high)
    weights = None
    if return_weights:
        samples = np.arange(positive.shape[1])
        weights = np.zeros(positive.shape)
        weights[positive.argmin(axis=0), samples] = 1 - weight
        weights[positive.argmax(axis=0), samples] += weight
    return capacity / LN2, gap / LN2, weights


def _warn_of_gaps(gap: Array, tol: float, unit: str, name: str) -> None:
    """Say how many samples are not solved to the tolerance."""
    open_ = gap > tol
    if open_.any():
        warnings.warn(
            f"{name}: {open_.sum()} of {gap.size} values did not reach tol={tol:g} {unit}; the "
            f"largest gap is {gap.max():g}. return_gap=True tells which. Allow more max_iter or a "
            "larger tol.",
            ConvergenceWarning,
            stacklevel=3,
        )


def rashomon_set(
    losses: ArrayLike, epsilon: float, reference: int | float | Literal["best"] = "best"
) -> NDArray[np.intp]:
    """Models whose loss is at most the reference's plus epsilon, equation (8).

    Parameters
    ----------
    losses : array-like of shape (n_models,)
        Loss of each model; smaller is better.
    epsilon : float
        How much worse than the reference a model may be; at least 0.
    reference : "best", int or float, default="best"
        The best of the models; or the index of a base model, a whole number; or a loss, a float,
        for instance 0.0 to let ``epsilon`` be the level itself as in equation (1).

    Returns
    -------
    indices : ndarray of int
        In increasing order. The reference model is always among them; losses equal to the level
        within rounding count as inside.

    Raises
    ------
    ValueError
        If no model is inside, which takes a loss as reference.

    Examples
    --------
    >>> rashomon_set([0.30, 0.31, 0.35, 0.29], 0.02)
    array([0, 1, 3])
    >>> rashomon_set([0.30, 0.31, 0.35, 0.29], 0.0, reference=2)
    array([0, 1, 2, 3])
    """
    losses = check_finite("losses", losses)
    if losses.ndim != 1 or not losses.size:
        raise ValueError(f"losses must have shape (n_models,), n_models > 0, got {losses.shape}.")
    epsilon = check_number("epsilon", epsilon, 0)
    level = _reference_loss(losses, reference) + epsilon
    rounding = 4 * np.spacing(max(abs(level), epsilon))
    inside = np.flatnonzero(losses <= level + rounding)
    if not inside.size:
        raise ValueError(
            f"reference must leave a model inside, got {reference!r} with epsilon={epsilon:g} "
            f"while the smallest loss is {losses.min():g}."
        )
    return inside


def _reference_loss(losses: Array, reference: Any) -> float:
    """Return the loss that the level is counted from."""
    if isinstance(reference, str) and reference == "best":
        return float(losses.min())
    if isinstance(reference, numbers.Integral) and not isinstance(reference, bool | np.bool_):
        index = int(reference)
        if not -len(losses) <= index < len(losses):
            raise ValueError(
                f"reference must be an index below {len(losses)}, got {index}; "
                "a loss is given as a float."
            )
        return float(losses[index])
    if isinstance(reference, str):
        raise ValueError(f"reference must be 'best', an index or a loss, got {reference!r}.")
    return check_number("reference", reference, -np.inf)


def decisions(scores: ArrayLike, *, threshold: float = 0.5) -> Array:
    """Scores turned into decisions, in the shape that `rashomon_capacity` takes.

    A decision is a vertex of the simplex, so that the capacity of decisions counts the conflicting
    classes (section 3.3).

    Parameters
    ----------
    scores : array-like of shape (n_models, n_samples) or (n_models, n_samples, n_classes)
        Probabilities.
    threshold : float, default=0.5
        A sample is positive where its score is above it. Two classes only; more are decided by the
        largest score, the first one where several are.

    Returns
    -------
    decisions : ndarray of the scores' shape
        0 and 1.

    Examples
    --------
    >>> scores = [[[0.49, 0.51, 0]], [[0.51, 0.49, 0]]]
    >>> print(rashomon_capacity(scores).round(4), rashomon_capacity(decisions(scores)).round(4))
    [1.0002] [2.]
    """
    array = _as_scores(scores)
    labels = _labels(array, threshold)
    if array.ndim == 2:
        return labels.astype(np.float64)
    return np.eye(array.shape[2])[labels]


def _labels(array: NDArray[Any], threshold: float) -> NDArray[np.intp]:
    """Return the class that each model assigns to each sample, (models × samples)."""
    threshold = check_number("threshold", threshold, 0, 1)
    if _n_classes(array) == 2:
        return (_positive_scores(array) > threshold).astype(np.intp)
    if threshold != 0.5:
        raise ValueError(
            f"threshold must be left at 0.5 for more than two classes, got {threshold}."
        )
    return _class_scores(array).argmax(axis=2)


def _differing(scores: ArrayLike, base: int | ArrayLike, threshold: float) -> NDArray[np.bool_]:
    """Return where a model's decision differs from the base model's, (models × samples)."""
    array = _as_scores(scores)
    labels = _labels(array, threshold)
    if isinstance(base, numbers.Integral) and not isinstance(base, bool | np.bool_):
        if not -len(labels) <= base < len(labels):
            raise ValueError(f"base must be an index below {len(labels)}, got {base}.")
        return labels != labels[int(base)]
    of_base = _numbers("base", base)
    if of_base.shape != array.shape[1:]:
        raise ValueError(
            f"base must be an index or scores of shape {array.shape[1:]}, got {of_base.shape}."
        )
    with naming("base"):
        return labels != _labels(of_base[None], threshold)


def ambiguity(scores: ArrayLike, *, base: int | ArrayLike = 0, threshold: float = 0.5) -> float:
    """Share of samples that some model decides differently from the base model, equation (2).

    Parameters
    ----------
    scores : array-like of shape (n_models, n_samples) or (n_models, n_samples, n_classes)
        Probabilities.
    base : int or array-like, default=0
        Index of the base model, or the scores of one that is not in the set. Any model of the set
        gives the same ambiguity: it is the share of samples without a unanimous decision.
    threshold : float, default=0.5
        As in `decisions`.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> ambiguity([[0.2, 0.6, 0.9], [0.4, 0.4, 0.8], [0.3, 0.7, 0.3]])
    0.6666666666666666
    """
    return float(_differing(scores, base, threshold).any(axis=0).mean())


def discrepancy(scores: ArrayLike, *, base: int | ArrayLike = 0, threshold: float = 0.5) -> float:
    """Largest share of decisions that change when one model replaces the base, equation (2).

    Parameters
    ----------
    scores : array-like of shape (n_models, n_samples) or (n_models, n_samples, n_classes)
        Probabilities.
    base : int or array-like, default=0
        Index of the base model, or the scores of one that is not in the set.
    threshold : float, default=0.5
        As in `decisions`.

    Returns
    -------
    float
        From 0 to 1, at most the ambiguity.

    Examples
    --------
    >>> discrepancy([[0.2, 0.6, 0.9], [0.4, 0.4, 0.8], [0.3, 0.7, 0.3]])
    0.3333333333333333
    """
    return float(_differing(scores, base, threshold).mean(axis=1).max())


def capacity_tail(capacity: ArrayLike, share: float) -> float:
    """Mean of the largest values, such as the top 1% or 5% of Fig. 3.

    Parameters
    ----------
    capacity : array-like of shape (n_samples,)
    share : float in (0, 1]
        Share of samples in the tail, rounded up to whole samples.

    Returns
    -------
    float

    Examples
    --------
    >>> capacity_tail([1.0, 1.1, 1.3, 1.5], 0.5)
    1.4
    """
    values = check_finite("capacity", capacity)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"capacity must have shape (n_samples,), got {values.shape}.")
    if check_number("share", share, 0, 1) == 0:
        raise ValueError(f"share must be above 0, got {share}.")
    size = int(np.ceil(share * values.size - 1e-9))
    return float(np.partition(values, values.size - size)[values.size - size :].mean())


def greedy_subset(
    scores: ArrayLike,
    size: int,
    *,
    start: int | Literal["random"] = 0,
    random_state: Seed = None,
    return_path: bool = False,
    tol: float = 1e-9,
) -> Any:
    """Few models that keep most of the capacity: greedy selection, section 5.

    From one model on, the model is added that raises the mean capacity over the samples most. Only
    samples that a model changes are computed again: those whose smallest or largest score it
    exceeds, or, with more than two classes, to which its divergence from the centre is larger than
    the capacity so far.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_samples) or (n_models, n_samples, n_classes)
        Probabilities.
    size : int
        How many models to select.
    start : int or "random", default=0
        The first model; the paper draws it.
    random_state : int, SeedSequence, Generator, RandomState or None
        What draws it.
    return_path : bool, default=False
        Whether to return the mean capacity after each addition.
    tol : float, default=1e-9
        As in `rashomon_capacity`.

    Returns
    -------
    indices : ndarray of int of shape (size,)
        In the order of selection; of equally good models the first.
    path : ndarray of shape (size,)
        If ``return_path``: mean capacity of the first one, two, ... models.

    Examples
    --------
    >>> scores = [[0.5, 0.5], [0.6, 0.5], [0.4, 0.9], [0.9, 0.5]]
    >>> indices, path = greedy_subset(scores, 3, return_path=True)
    >>> print(indices, path.round(3))
    [0 2 3] [1.    1.056 1.134]
    """
    array = _as_scores(scores)
    n_models = len(array)
    size = check_integer("size", size, 1)
    rng = generator_of(random_state)
    check_bool("return_path", return_path)
    tol = check_number("tol", tol, 1e-13)
    if size > n_models:
        raise ValueError(f"size must be at most the {n_models} models of scores, got {size}.")
    if isinstance(start, str):
        if start != "random":
            raise ValueError(f"start must be an index or 'random', got {start!r}.")
        start = int(rng.integers(n_models))
    start = check_integer("start", start, 0)
    if start >= n_models:
        raise ValueError(f"start must be an index below {n_models}, got {start}.")
    growing = _growing(array, tol)
    chosen = [start]
    path = [growing.add(start)]
    while len(chosen) < size:
        left = np.setdiff1d(np.arange(n_models), chosen)
        gains = [growing.mean_with(candidate) for candidate in left]
        chosen.append(int(left[int(np.argmax(gains))]))
        path.append(growing.add(chosen[-1]))
    return (np.array(chosen), np.array(path)) if return_path else np.array(chosen)


class _GrowingTwo:
    """A growing set of models of two classes: its extremes say all."""

    def __init__(self, positive: Array) -> None:
        self.positive = positive
        self.low = np.full(positive.shape[1], np.inf)
        self.high = np.full(positive.shape[1], -np.inf)
        self.capacity = np.ones(positive.shape[1])

    def _with(self, model: int) -> Array:
        score = self.positive[model]
        changed = np.flatnonzero((score < self.low) | (score > self.high))
        low = np.minimum(self.low[changed], score[changed])
        high = np.maximum(self.high[changed], score[changed])
        capacity = self.capacity.copy()
        capacity[changed] = np.exp2(_channel.two_class_capacity(low, high)[0] / LN2)
        return capacity

    def mean_with(self, model: int) -> float:
        return float(self._with(model).mean())

    def add(self, model: int) -> float:
        self.capacity = self._with(model)
        self.low = np.minimum(self.low, self.positive[model])
        self.high = np.maximum(self.high, self.positive[model])
        return float(self.capacity.mean())


class _GrowingMany:
    """A growing set of models of more classes, with each sample's centre."""

    def __init__(self, rows: Array, tol: float) -> None:
        self.rows = rows  # (samples × models × classes)
        self.tol = tol
        self.members: list[int] = []
        self.upper = np.full(len(rows), -1.0)
        self.centre = np.full((len(rows), rows.shape[2]), 1 / rows.shape[2])
        self.capacity = np.ones(len(rows))

    def _solve(self, model: int) -> tuple[NDArray[np.intp], Array, Array, Array]:
        """Return which samples the model changes, with their new bounds and centres."""
        divergence = _channel.divergence(self.rows[:, model], self.centre)
        changed = np.flatnonzero(divergence > self.upper)
        rows = self.rows[changed][:, [*self.members, model]]
        lower, upper, weights = _channel.many_class_capacity(rows, self.tol * LN2, 100)
        return changed, lower, upper, np.matmul(weights[:, None, :], rows)[:, 0]

    def mean_with(self, model: int) -> float:
        changed, lower, _, _ = self._solve(model)
        capacity = self.capacity.copy()
        capacity[changed] = np.exp2(lower / LN2)
        return float(capacity.mean())

    def add(self, model: int) -> float:
        changed, lower, upper, centre = self._solve(model)
        self.capacity[changed] = np.exp2(lower / LN2)
        self.upper[changed] = upper
        self.centre[changed] = centre
        self.members.append(model)
        return float(self.capacity.mean())


def _growing(array: NDArray[Any], tol: float) -> _GrowingTwo | _GrowingMany:
    """Return the set of no models yet, of which there are two kinds."""
    if _n_classes(array) == 2:
        return _GrowingTwo(_positive_scores(array))
    return _GrowingMany(np.ascontiguousarray(_class_scores(array).swapaxes(0, 1)), tol)


def multiplicity_table(
    scores: ArrayLike,
    *,
    base: int | ArrayLike = 0,
    threshold: float = 0.5,
    index: Any = None,
    tol: float = 1e-9,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """One row per sample: how much the models disagree about it, in scores and in decisions.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_samples) or (n_models, n_samples, n_classes)
        Probabilities.
    base : int or array-like, default=0
        The base model, as in `ambiguity`.
    threshold : float, default=0.5
        As in `decisions`.
    index : array-like of shape (n_samples,), optional
        Names of the samples.
    tol, n_jobs
        As in `rashomon_capacity`.

    Returns
    -------
    DataFrame
        ``capacity`` of the scores and ``decision_capacity``, in effective classes;
        ``contested_class``, the class whose scores spread most (the positive one of two), with its
        ``lowest`` and ``highest`` score; ``n_decisions``, how many classes are assigned; and
        ``conflict_share``, the share of models that decide differently from the base.

    Examples
    --------
    >>> table = multiplicity_table([[0.2, 0.6], [0.4, 0.3]], index=["ann", "bob"])
    >>> print(table.T.round(3))
                         ann    bob
    capacity           1.024  1.047
    decision_capacity  1.000  2.000
    contested_class    1.000  1.000
    lowest             0.200  0.300
    highest            0.400  0.600
    n_decisions        1.000  2.000
    conflict_share     0.000  0.500
    """
    array = _as_scores(scores)
    labels = _labels(array, threshold)
    if index is not None:
        _check_sample_names("index", index, array.shape[1])
    check_n_jobs(n_jobs)
    contested, lowest, highest = _widest_range(array)
    table = pd.DataFrame(
        {
            "capacity": rashomon_capacity(array, tol=tol, n_jobs=n_jobs),
            # Decisions are vertices of the simplex, whose capacity is their number.
            "decision_capacity": _n_distinct(labels).astype(float),
            "contested_class": contested,
            "lowest": lowest,
            "highest": highest,
            "n_decisions": _n_distinct(labels),
            "conflict_share": _differing(array, base, threshold).mean(axis=0),
        },
        index=index,
    )
    return table.rename_axis(index="sample") if index is None else table


def _check_sample_names(name: str, value: Any, n_samples: int, source: str = "scores") -> None:
    """Refuse what doesn't name each sample of another argument."""
    if not isinstance(value, pd.Index | pd.Series):
        names = check_array(name, value)
        if names.ndim != 1:
            raise TypeError(f"{name} must name each sample, got {shown(value)}.")
    if len(value) != n_samples:
        raise ValueError(
            f"{name} must name each of the {n_samples} samples of {source}, got {len(value)}."
        )


def _n_distinct(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the number of different labels in each column."""
    return 1 + np.count_nonzero(np.diff(np.sort(labels, axis=0), axis=0), axis=0)


def _widest_range(array: NDArray[Any]) -> tuple[NDArray[np.intp], Array, Array]:
    """Return the class whose scores differ most in each sample, and its extreme scores."""
    if _n_classes(array) == 2:
        positive = _positive_scores(array)
        return np.ones(array.shape[1], dtype=np.intp), positive.min(axis=0), positive.max(axis=0)
    rows = _class_scores(array)
    low, high = rows.min(axis=0), rows.max(axis=0)
    widest = (high - low).argmax(axis=1)
    samples = np.arange(len(widest))
    return widest, low[samples, widest], high[samples, widest]


@dataclass
class MultiplicityDisplay:
    """Rashomon Capacity over the samples: its distribution, its tail, its worst samples.

    Made by `from_scores`, or from capacities that are known already.

    Parameters
    ----------
    capacity : ndarray of shape (n_samples,)
        m_C of each sample, in effective classes.
    scores : ndarray of shape (n_models, n_samples), optional
        Scores of each sample's most contested class; the worst samples are drawn from them.
    contested_class : ndarray of int of shape (n_samples,), optional
        That class.
    samples : ndarray of shape (n_samples,), optional
        Names of the samples; 0, 1, ... by default.
    name : str, optional
        What the legend calls the Rashomon set.

    Attributes
    ----------
    ax_, figure_
        The Matplotlib objects, once plotted.

    Examples
    --------
    >>> display = MultiplicityDisplay.from_scores([[0.2, 0.6, 0.5], [0.4, 0.3, 0.5]])
    >>> display.capacity.round(3)
    array([1.024, 1.047, 1.   ])
    >>> ax = display.plot(kind="worst", n_worst=2).ax_
    """

    capacity: Array
    scores: Array | None = None
    contested_class: NDArray[np.intp] | None = None
    samples: NDArray[Any] | None = None
    name: str | None = None
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check what was given, so that a slip isn't found only when it is drawn."""
        self.capacity = check_finite("capacity", self.capacity)
        check_shape("capacity", self.capacity, (-1,))
        n_samples = len(self.capacity)
        if self.scores is not None:
            self.scores = check_interval("scores", self.scores, 0, 1)
            check_shape("scores", self.scores, (-1, n_samples), as_in="capacity")
        if self.contested_class is not None:
            contested = check_array("contested_class", self.contested_class)
            check_shape("contested_class", contested, (n_samples,), as_in="capacity")
            if contested.dtype.kind not in "iu":
                raise TypeError(f"contested_class must hold whole numbers, got {shown(contested)}.")
        if self.samples is not None:
            _check_sample_names("samples", self.samples, n_samples, "capacity")
        check_text("name", self.name)

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        *,
        samples: ArrayLike | None = None,
        name: str | None = None,
        tol: float = 1e-9,
        n_jobs: int | None = None,
    ) -> MultiplicityDisplay:
        """Compute the capacities, and keep what the worst samples are drawn from.

        Parameters
        ----------
        scores : array-like of shape (n_models, n_samples) or (n_models, n_samples, n_classes)
            Probabilities.
        samples : array-like of shape (n_samples,), optional
            Names of the samples.
        name : str, optional
            Name in the legend.
        tol, n_jobs
            As in `rashomon_capacity`.

        Returns
        -------
        MultiplicityDisplay
        """
        array = _as_scores(scores)
        if samples is not None:
            _check_sample_names("samples", samples, array.shape[1])
        check_text("name", name)
        capacity = rashomon_capacity(array, tol=tol, n_jobs=n_jobs)
        contested, _, _ = _widest_range(array)
        if _n_classes(array) == 2:
            of_class = _positive_scores(array)
        else:
            of_class = _class_scores(array)[:, np.arange(array.shape[1]), contested]
        names = None if samples is None else np.asarray(samples)
        return cls(capacity, of_class, contested, names, name)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["distribution", "tail", "worst"] = "distribution",
        n_worst: int = 10,
        **line_kwargs: Any,
    ) -> MultiplicityDisplay:
        """Draw one of three pictures.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        kind : "distribution", "tail" or "worst", default="distribution"
            The cumulative distribution of the capacity; its mean over the samples with the largest
            values against their share, with the top 1% and 5% marked; or every model's score for
            the samples with the largest capacity.
        n_worst : int, default=10
            How many samples the last one shows.
        **line_kwargs
            Passed on to the line.

        Returns
        -------
        MultiplicityDisplay
            Itself, with ``ax_`` and ``figure_``.
        """
        draw = {"distribution": self._draw_distribution, "tail": self._draw_tail}
        if not isinstance(kind, str) or kind not in (*draw, "worst"):
            raise ValueError(f"kind must be 'distribution', 'tail' or 'worst', got {shown(kind)}.")
        check_integer("n_worst", n_worst, 1)
        with plotting.style():
            self.ax_ = check_axes(ax) or plotting.new_axes()
            self.figure_ = self.ax_.figure
            if kind == "worst":
                self._draw_worst(n_worst, line_kwargs)
            else:
                draw[kind]({"label": self.name, **line_kwargs})
            if self.ax_.get_legend_handles_labels()[1]:
                plotting.as_written(self.ax_.legend().get_texts())
        return self

    def _draw_distribution(self, line_kwargs: dict[str, Any]) -> None:
        ordered = np.sort(self.capacity)
        share = np.arange(1, len(ordered) + 1) / len(ordered)
        self.ax_.step(np.append(1, ordered), np.append(0, share), where="post", **line_kwargs)
        self.ax_.set(
            xlabel="Rashomon Capacity (effective classes)",
            ylabel="Share of samples at or below",
            ylim=(0, 1.02),
        )

    def _draw_tail(self, line_kwargs: dict[str, Any]) -> None:
        ordered = np.sort(self.capacity)[::-1]
        share = np.arange(1, len(ordered) + 1) / len(ordered)
        (line,) = self.ax_.plot(
            100 * share, np.cumsum(ordered) / (share * len(ordered)), **line_kwargs
        )
        marks = np.array([0.01, 0.05])
        tails = [capacity_tail(self.capacity, mark) for mark in marks]
        self.ax_.plot(100 * marks, tails, "o", color=line.get_color())
        self.ax_.set(
            xscale="log",
            xlabel="Samples with the largest capacity (% of all)",
            ylabel="Their mean capacity (effective classes)",
        )
        self.ax_.set_xticks([1, 5, 10, 50, 100], ["1", "5", "10", "50", "100"])
        self.ax_.minorticks_off()

    def _draw_worst(self, n_worst: int, line_kwargs: dict[str, Any]) -> None:
        if self.scores is None or self.contested_class is None:
            raise ValueError("scores must be given to draw the worst samples.")
        worst = np.argsort(-self.capacity, kind="stable")[:n_worst]
        names = np.arange(len(self.capacity)) if self.samples is None else self.samples
        for row, sample in enumerate(worst):
            score = self.scores[:, sample]
            self.ax_.hlines(row, score.min(), score.max(), color="0.75", zorder=1)
            self.ax_.plot(
                score,
                np.full(len(score), row),
                "|",
                **{"color": plotting.PALETTE[0], "markersize": 9, **line_kwargs},
            )
        self.ax_.set(
            xlim=(-0.02, 1.02),  # marks at 0 and 1 stay whole
            xlabel="Score of the most contested class, one mark a model",
            ylabel="Sample, class (capacity)",
            yticks=range(len(worst)),
            yticklabels=[
                f"{plotting.label(names[i])}, {self.contested_class[i]} ({self.capacity[i]:.2f})"
                for i in worst
            ],
        )
        plotting.as_written(self.ax_.get_yticklabels())
        self.ax_.invert_yaxis()


def perturb_scores(
    model: Any,
    X_train: ArrayLike,
    y_train: ArrayLike,
    X: ArrayLike,
    epsilon: float,
    *,
    method: Literal["auto", "exact", "gradient"] = "auto",
    sample_weight: ArrayLike | None = None,
    return_gap: bool = False,
    tol: float = 1e-9,
    max_iter: int | None = None,
    learning_rate: float = 1e-3,
    momentum: float = 0.9,
    score_target: float = 1.0,
    n_jobs: int | None = None,
    memory_budget: float = 256,
) -> Any:
    r"""Extreme scores among the models of one class whose loss is within epsilon, equation (9).

    For each sample and class, the model of the same class (all weight vectors of this logistic
    regression, or of this network) is sought that gives the class the largest score while its loss
    on the training data is at most L* + epsilon.

    *Logistic regression* of two classes, alone or at the end of a pipeline: solved exactly. The
    models within the level form a convex set in which a sample's logit is linear; each score is
    returned with a certificate that no model within the level is more than ``gap`` beyond it. L is
    what the model minimised, divided by the sum of the weights: mean log loss plus
    :math:`\lVert w \rVert^2 / (2 C \sum s)`, with its class and sample weights; L* is its minimum.
    Since two classes need the extreme scores only, `rashomon_capacity` of the result is the
    capacity of the whole, infinite Rashomon set.

    *Neural networks*, PyTorch modules (``pip install pvf[torch]``): the adversarial weight
    perturbation of the paper, by gradient steps on the sample's logit, for many samples at once;
    what they reach falls short of what is possible. L is the mean cross-entropy, and L* that of
    the module as it is. ``method="gradient"`` does the same to a logistic regression, for
    comparison, with its own loss as L*; its steps all go along the sample itself, so that they are
    not simulated but counted.

    Parameters
    ----------
    model : fitted LogisticRegression, LogisticRegressionCV, Pipeline or torch.nn.Module
        A pipeline's transformers are applied and stay as they are; its last step is perturbed.
        A module maps a float tensor (n, n_features) to logits (n, n_classes), or (n, 1) or (n,)
        for two classes. Its weights stay as they are.
    X_train : array-like of shape (n_train, n_features)
        Data on which the loss is measured: what the model was trained on.
    y_train : array-like of shape (n_train,)
        Labels; 0, 1, ... for a module.
    X : array-like of shape (n_samples, n_features)
        Samples whose scores are perturbed.
    epsilon : float
        How much the loss may rise; at least 0.
    method : "auto", "exact" or "gradient", default="auto"
        Exact where it exists.
    sample_weight : array-like of shape (n_train,), optional
        Weights that the model was fitted with.
    return_gap : bool, default=False
        Whether to return the certificate. Exact method only.
    tol : float, default=1e-9
        Largest accepted gap, in score. Exact method only.
    max_iter : int, optional
        Most steps: 100 for the exact method, 1000 gradient steps.
    learning_rate, momentum : float
        Of the gradient steps, 0.001 and 0.9 in the authors' code.
    score_target : float, default=1.0
        Gradient steps end when the class's score reaches it; 0.9 in the authors' code.
    n_jobs : int or None
        Threads over blocks of samples for the exact method. The blocks and so the result do not
        depend on it.
    memory_budget : float, default=256
        Most MiB that a block of samples may take in gradient steps on a network.

    Returns
    -------
    scores : ndarray of shape (2, n_samples) or (n_classes, n_samples, n_classes)
        Two classes: the smallest and the largest score of the positive class. More: row k holds the
        scores of the model that maximises class k. Either is what `rashomon_capacity` takes.
    gap : ndarray of shape (2, n_samples)
        If ``return_gap``: no model within the level is farther beyond the score than this.

    Raises
    ------
    TypeError
        If the model is none of the above.
    ValueError
        If the penalty is not L2 or none; if there is no penalty and the classes can be separated;
        or if the labels or shapes do not fit.

    Warns
    -----
    ConvergenceWarning
        If a score did not reach ``tol``, or if the model is farther than ``epsilon`` from the
        minimum, so that the level was raised to its own loss.

    Notes
    -----
    The set always contains the given model: where its own loss is above L* + ``epsilon``, the
    level is that loss. With ``epsilon=0`` both scores are the optimum's, up to how loosely the
    model was fitted.

    What differs from the authors' code (commit 101abd4, ``perturb_all_weights3``):

    1. The loss is measured on the data that is passed as training data. The authors measure it on
       the test set that the scores are reported for; passing that set does the same.
    2. A model whose loss equals the level is inside (≤, as in equation (1)); they use <, so that
       with ``epsilon=0`` they take no step at all.
    3. The number of steps is bounded, and a step that changes nothing ends the search. Theirs goes
       on until the loss or the score crosses its bound, forever where gradients vanish.
    4. The score that counts is the best one within the level; they keep the last one.
    5. Steps end at a score of ``score_target=1.0``, theirs at 0.9 unless told otherwise.
    6. The module is the user's. Theirs applies one and the same hidden layer ``nlayer`` times, by
       accident, and has no activation after the first layer.
    7. The model is in evaluation mode throughout: no dropout, fixed batch statistics.
    8. All samples and classes of a block move at once (``torch.func.vmap``) instead of one by one.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(200, 4, random_state=0)
    >>> model = LogisticRegression().fit(X, y)
    >>> low, high = perturb_scores(model, X, y, X[:3], epsilon=0.01)
    >>> print(np.stack([low, model.predict_proba(X[:3])[:, 1], high]).round(3))
    [[0.002 0.    0.782]
     [0.014 0.001 0.926]
     [0.053 0.006 0.982]]
    """
    epsilon = check_number("epsilon", epsilon, 0)
    if not isinstance(method, str) or method not in ("auto", "exact", "gradient"):
        raise ValueError(f"method must be 'auto', 'exact' or 'gradient', got {shown(method)}.")
    check_bool("return_gap", return_gap)
    check_n_jobs(n_jobs)
    tol = check_number("tol", tol, 1e-13)
    budget = check_number("memory_budget", memory_budget, 1) * 2**20
    if max_iter is not None:
        check_integer("max_iter", max_iter, 1)
    _check_data(X_train, y_train, X, sample_weight)
    if isinstance(model, Pipeline):
        # Steps that only resample the training data, as imbalanced-learn's do, have no transform.
        for _, step in model.steps[:-1]:
            if hasattr(step, "transform"):
                with naming("X_train"):
                    X_train = step.transform(X_train)
                with naming("X"):
                    X = step.transform(X)
        model = model.steps[-1][1]
    steps: dict[str, Any] = {
        "learning_rate": check_number("learning_rate", learning_rate, 0),
        "momentum": check_number("momentum", momentum, 0, 1),
        "score_target": check_number("score_target", score_target, 0, 1),
    }
    if return_gap and (method == "gradient" or not _is_logistic(model)):
        raise ValueError("return_gap must be False for gradient steps: they have no certificate.")
    if _is_logistic(model) and method != "gradient":
        scores, gap, beyond = _logistic_set.extreme_scores(
            model,
            X_train,
            y_train,
            X,
            epsilon,
            sample_weight=sample_weight,
            tol=tol,
            n_jobs=n_jobs,
            max_iter=100 if max_iter is None else max_iter,
        )
        _warn_of_gaps(gap, tol, "in score", "perturb_scores")
        _warn_of_loose_fit(beyond, epsilon)
        return (scores, gap) if return_gap else scores
    steps["max_iter"] = 1000 if max_iter is None else max_iter
    if _is_logistic(model):
        return _logistic_set.gradient_scores(
            model, X_train, y_train, X, epsilon, sample_weight=sample_weight, **steps
        )
    _check_module(model, method)
    from pvf.multiplicity import networks as _torch_perturbation  # noqa: PLC0415  PyTorch is optional

    return _torch_perturbation.extreme_scores(
        model,
        X_train,
        y_train,
        X,
        epsilon,
        sample_weight=sample_weight,
        budget=budget,
        **steps,
    )


def _check_data(X_train: Any, y_train: Any, X: Any, sample_weight: Any) -> None:
    """Refuse what can't be samples, labels or weights of any model."""
    n_train = len(check_column("y_train", y_train))
    check_samples("X_train", X_train, n_train, other="y_train")
    check_samples("X", X)
    if sample_weight is not None:
        weight = check_interval("sample_weight", sample_weight, 0, np.inf)
        if weight.shape != (n_train,) or not weight.any():
            raise ValueError(f"sample_weight must be {n_train} numbers of at least 0, not all 0.")


def _is_logistic(model: Any) -> bool:
    return isinstance(model, LogisticRegression | LogisticRegressionCV)


def _warn_of_loose_fit(beyond: float, epsilon: float) -> None:
    """Say that the model itself is not within epsilon of the best."""
    if beyond > max(epsilon, 1e-5):
        warnings.warn(
            f"model has a loss {beyond:.3g} above the smallest on X_train, more than "
            f"epsilon={epsilon:g}: the level was raised to the model's own loss. Was it fitted on "
            "other data or weights, or with a loose tol?",
            ConvergenceWarning,
            stacklevel=3,
        )


def _check_module(model: Any, method: str) -> None:
    """Refuse what is not a PyTorch module, without importing PyTorch."""
    if not any(base.__module__.startswith("torch.nn") for base in type(model).__mro__):
        raise TypeError(
            "model must be a LogisticRegression, a Pipeline that ends in one, or a "
            f"torch.nn.Module, got {type(model).__name__}."
        )
    if method == "exact":
        raise ValueError("method must be 'gradient' or 'auto' for a torch.nn.Module, got 'exact'.")
