"""A few models that keep most of the capacity of many."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pvf._checks import check_bool, check_integer, check_number
from pvf._seeds import Seed, generator_of
from pvf.multiplicity import _channel
from pvf.multiplicity.scores import LN2, Array, as_scores, class_scores, n_classes, positive_scores


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
    array = as_scores(scores)
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
        candidates = growing.promising(left)
        alone = len(candidates) == 1  # and what it adds is known when it is added
        means = [0.0 if alone else growing.mean_with(candidate) for candidate in candidates]
        chosen.append(int(candidates[int(np.argmax(means))]))
        path.append(growing.add(chosen[-1]))
    return (np.array(chosen), np.array(path)) if return_path else np.array(chosen)


#: The quick capacity is off by less; who is behind by more can't be the best.
QUICK_ERROR = 1e-7
#: Of more classes: distances of the bounds, in nats, at which models are told apart, one after the
#: other; and what rounding may take from the bounds.
QUICK_GAPS, ROUNDING = (0.3, 0.03, 1e-3), 1e-12


class _GrowingTwo:
    """A growing set of models of two classes: its extremes say all."""

    def __init__(self, positive: Array) -> None:
        self.positive = positive
        self.entropy = _channel.binary_entropy(positive)
        self.low = np.full(positive.shape[1], np.inf)
        self.high = np.full(positive.shape[1], -np.inf)
        self.entropy_at_low, self.entropy_at_high = np.zeros((2, positive.shape[1]))
        self.capacity = np.ones(positive.shape[1])
        self.quick = np.ones(positive.shape)  # of each sample with each model added

    def promising(self, left: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the models that may be the best to add."""
        means = self.quick.mean(axis=1)[left]
        return left[means >= means.max() - 2 * QUICK_ERROR]

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
        score, entropy = self.positive[model], self.entropy[model]
        below, above = score < self.low, score > self.high
        self.low, self.high = np.where(below, score, self.low), np.where(above, score, self.high)
        self.entropy_at_low = np.where(below, entropy, self.entropy_at_low)
        self.entropy_at_high = np.where(above, entropy, self.entropy_at_high)
        # Where the extremes stay, so does what each model would add.
        for columns in np.array_split(
            np.flatnonzero(below | above), 1 + self.positive.size // 2**16
        ):
            self.quick[:, columns] = self._quick(columns)
        return float(self.capacity.mean())

    def _quick(self, columns: NDArray[np.intp]) -> Array:
        """Return the capacity of some samples with each model added, by the closed form.

        A capacity C in nats is the log of e^u + e^v, where u and v give both rows, p at their
        class probabilities, the value of minus their entropy. The quotient loses digits for rows
        that nearly agree, whose capacity is 1 within its error.
        """
        score, entropy = self.positive[:, columns], self.entropy[:, columns]
        below, above = score < self.low[columns], score > self.high[columns]
        end = np.where(below, self.high[columns], self.low[columns])
        of_end = np.where(below, self.entropy_at_high[columns], self.entropy_at_low[columns])
        outside = (below | above) & (np.abs(score - end) > 1e-8)
        slope = np.zeros(score.shape)
        np.divide(of_end - entropy, end - score, out=slope, where=outside)
        found = np.exp(score * slope - entropy) * (1 + np.exp(-slope))
        return np.where(outside, found, self.capacity[columns])


class _GrowingMany:
    """A growing set of models of more classes, with each sample's centre and who carries it."""

    def __init__(self, rows: Array, tol: float) -> None:
        self.rows = rows  # (samples × models × classes)
        self.tol = tol
        self.members: list[int] = []
        self.carriers = np.zeros((len(rows), 0), dtype=np.intp)  # see Proposition 2
        self.upper = np.full(len(rows), -1.0)
        self.centre = np.full((len(rows), rows.shape[2]), 1 / rows.shape[2])
        self.capacity = np.ones(len(rows))
        self.low, self.high = np.ones((2, rows.shape[1], len(rows)))  # with each model added
        self.changed = np.ones(len(rows), dtype=bool)  # since they were found

    def promising(self, left: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the models that may be the best to add, by bounds of what each would give."""
        samples = np.flatnonzero(self.changed)
        self.changed[:] = False
        in_block = 1 + 2**20 // (self.rows[:, self.members].size + 1)
        for gap in QUICK_GAPS:
            for models in np.array_split(left, -(-len(left) // in_block)):
                self._bound(models, samples, gap)
            low, high = (bounds[left].mean(axis=1) for bounds in (self.low, self.high))
            left = left[high >= low.max() - ROUNDING]
            samples = np.arange(len(self.rows))
        return left

    def _bound(self, models: NDArray[np.intp], samples: NDArray[np.intp], gap: float) -> None:
        """Bound the capacity of some samples with each of some models added.

        It is solved roughly, and among a sample's carriers and the new model alone: what that gives
        is a lower bound, and the largest divergence of any member from its centre an upper one.
        """
        known = self.capacity[samples], np.exp(np.maximum(self.upper[samples], 0))
        for bounds, value in zip((self.low, self.high), known, strict=True):
            bounds[np.ix_(models, samples)] = value
        away = _channel.divergence(self.rows[np.ix_(samples, models)], self.centre[samples, None])
        place, which = np.nonzero(away > self.upper[samples, None])
        sample, model = samples[place], models[which]
        few = self.rows[sample[:, None], np.column_stack([self.carriers[sample], model])]
        lower, upper, weights = _channel.many_class_capacity(few, gap, 100)
        centre = np.matmul(weights[:, None, :], few)
        members = self.rows[sample][:, self.members]
        upper = np.maximum(upper, _channel.divergence(members, centre).max(axis=1))
        for bounds, value in zip((self.low, self.high), (lower, upper), strict=True):
            bounds[model, sample] = np.maximum(bounds[model, sample], np.exp(value))

    def _solve(self, model: int) -> tuple[NDArray[np.intp], Array, Array, Array, Array]:
        """Return which samples the model changes, with their new bounds, weights and centres."""
        divergence = _channel.divergence(self.rows[:, model], self.centre)
        changed = np.flatnonzero(divergence > self.upper)
        rows = self.rows[changed][:, [*self.members, model]]
        lower, upper, weights = _channel.many_class_capacity(rows, self.tol * LN2, 100)
        return changed, lower, upper, weights, np.matmul(weights[:, None, :], rows)[:, 0]

    def mean_with(self, model: int) -> float:
        changed, lower, *_ = self._solve(model)
        capacity = self.capacity.copy()
        capacity[changed] = np.exp2(lower / LN2)
        return float(capacity.mean())

    def add(self, model: int) -> float:
        changed, lower, upper, weights, centre = self._solve(model)
        self.capacity[changed] = np.exp2(lower / LN2)
        self.upper[changed] = upper
        self.centre[changed] = centre
        self.changed[changed] = True
        self.members.append(model)
        n_carriers = min(len(self.members), self.rows.shape[2])
        missing = n_carriers - self.carriers.shape[1]
        self.carriers = np.pad(self.carriers, ((0, 0), (0, missing)), constant_values=model)
        heaviest = np.argsort(-weights, axis=1, kind="stable")[:, :n_carriers]
        self.carriers[changed] = np.array(self.members)[heaviest]
        return float(self.capacity.mean())


def _growing(array: NDArray[Any], tol: float) -> _GrowingTwo | _GrowingMany:
    """Return the set of no models yet, of which there are two kinds."""
    if n_classes(array) == 2:
        return _GrowingTwo(positive_scores(array))
    return _GrowingMany(np.ascontiguousarray(class_scores(array).swapaxes(0, 1)), tol)
