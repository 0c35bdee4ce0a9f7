"""A few models that keep most of the capacity of many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.special import entr

from pvf import _checks as check
from pvf._seeds import Seed, generator_of
from pvf._types import Array, ArrayLike, Indices, NDArray
from pvf.multiplicity import _channel
from pvf.multiplicity.scores import LN2, as_scores, class_scores, n_classes, positive_scores


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
    size = check.integer("size", size, 1)
    rng = generator_of(random_state)
    check.flag("return_path", return_path)
    tol = check.number("tol", tol, 1e-13)
    if size > n_models:
        raise ValueError(f"size must be at most the {n_models} models of scores, got {size}.")
    if isinstance(start, str):
        if start != "random":
            raise ValueError(f"start must be an index or 'random', got {start!r}.")
        start = int(rng.integers(n_models))
    start = check.integer("start", start, 0)
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
#: Of more classes: steps that bound what each model would give, and by how much a step may be
#: longer than Blahut's and Arimoto's, over the largest divergence, which is small among near rows.
QUICK_STEPS, LENGTH = 12, 1.0
#: Distance of the tighter bounds, in nats, of models that are not told apart; what rounding takes.
QUICK_GAP, ROUNDING = 1e-3, 1e-12
#: Minus the logarithm of no chance: what no divergence of a row that has the class survives.
OUT_OF_REACH = 1e300
#: So many pairs of a sample and a model are bounded at once, for the processor's cache.
PAIRS = 2**13


class _Growing(ABC):
    """A growing set of models, and the capacity that it has so far."""

    def __init__(self, n_samples: int) -> None:
        self.capacity = np.ones(n_samples)

    def mean_with(self, model: int) -> float:
        """Return the mean capacity with one model more."""
        changed, bits, *_ = self._solve(model)
        capacity = self.capacity.copy()
        capacity[changed] = np.exp2(bits)
        return float(capacity.mean())

    def add(self, model: int) -> float:
        """Add a model, and return the mean capacity."""
        changed, bits, *more = self._solve(model)
        self.capacity[changed] = np.exp2(bits)
        self._note(model, changed, *more)
        return float(self.capacity.mean())

    @abstractmethod
    def promising(self, left: Indices) -> Indices:
        """Return the models that may be the best to add."""

    @abstractmethod
    def _solve(self, model: int) -> tuple[Any, ...]:
        """Return which samples a model changes, their new capacity in bits, and what is noted."""

    @abstractmethod
    def _note(self, model: int, changed: Indices, *more: Array) -> None:
        """Keep what the next steps need of the model that was added."""


class _GrowingTwo(_Growing):
    """A growing set of models of two classes: its extremes say all."""

    def __init__(self, positive: Array) -> None:
        super().__init__(len(positive))
        self.positive = positive  # (samples × models)
        self.entropy = _channel.binary_entropy(positive)
        self.low = np.full(len(positive), np.inf)
        self.high = np.full(len(positive), -np.inf)
        self.quick = np.ones(positive.shape)  # of each sample with each model added

    def promising(self, left: Indices) -> Indices:
        means = self.quick.mean(axis=0)[left]
        return left[means >= means.max() - 2 * QUICK_ERROR]

    def _solve(self, model: int) -> tuple[Indices, Array]:
        score = self.positive[:, model]
        changed = np.flatnonzero((score < self.low) | (score > self.high))
        low = np.minimum(self.low[changed], score[changed])
        high = np.maximum(self.high[changed], score[changed])
        return changed, _channel.two_class_capacity(low, high)[0] / LN2

    def _note(self, model: int, changed: Indices, *_: Array) -> None:
        score = self.positive[:, model]
        self.low, self.high = np.minimum(self.low, score), np.maximum(self.high, score)
        # Where the extremes stay, so does what each model would add.
        for samples in np.array_split(changed, 1 + self.positive.size // 2**16):
            self.quick[samples] = self._quick(samples)

    def _quick(self, samples: Indices) -> Array:
        """Return the capacity of some samples with each model added, by the closed form.

        A capacity C in nats is the log of e^u + e^v, where u and v give both rows, p at their
        class probabilities, the value of minus their entropy. The quotient loses digits for rows
        that nearly agree, whose capacity is 1 within its error.
        """
        score, (low, high) = self.positive[samples], (self.low[samples], self.high[samples])
        found = np.repeat(self.capacity[samples, None], score.shape[1], axis=1)
        for end, outside in (
            (high, score < np.minimum(low, high - 1e-8)[:, None]),
            (low, score > np.maximum(high, low + 1e-8)[:, None]),
        ):
            of_end = _channel.binary_entropy(end)
            place, model = np.nonzero(outside)
            p, entropy = score[place, model], self.entropy[samples[place], model]
            slope = (of_end[place] - entropy) / (end[place] - p)
            found[place, model] = np.exp(p * slope - entropy) * (1 + np.exp(-slope))
        return found


_Solver = Callable[[Indices, Indices], tuple[Array, Array]]


class _GrowingMany(_Growing):
    """A growing set of models of more classes, with each sample's centre and who carries it."""

    def __init__(self, rows: Array, tol: float) -> None:
        super().__init__(len(rows))
        self.rows = rows  # (samples × models × classes)
        self.by_class = rows.T.reshape(rows.shape[2], -1)  # model by model, samples side by side
        self.entropy = entr(rows).sum(axis=2).T
        self.tol = tol
        self.members: list[int] = []
        self.carriers = np.zeros((len(rows), 0), dtype=np.intp)  # see Proposition 2
        self.upper = np.full(len(rows), -1.0)
        self.centre = np.full((len(rows), rows.shape[2]), 1 / rows.shape[2])
        self.low, self.high = np.ones((2, rows.shape[1], len(rows)))  # with each model added
        self.changed = np.ones(len(rows), dtype=bool)  # since they were found

    def promising(self, left: Indices) -> Indices:
        """Return the models that may be the best to add, by bounds of what each would give."""
        samples = np.flatnonzero(self.changed)
        self.changed[:] = False
        for solve in (self._in_steps, self._to_a_gap):
            self._bound(left, samples, solve)
            low, high = (bounds[left].mean(axis=1) for bounds in (self.low, self.high))
            left = left[high >= low.max() - ROUNDING]
            samples = np.arange(len(self.rows))
        return left

    def _bound(self, models: Indices, samples: Indices, solve: _Solver) -> None:
        """Bound the capacity of some samples with each of some models added.

        It is solved roughly, and among a sample's carriers and the new model alone: what that gives
        is a lower bound, and the largest divergence of any member from its centre an upper one.
        """
        known = self.capacity[samples], np.exp(np.maximum(self.upper[samples], 0))
        for bounds, value in zip((self.low, self.high), known, strict=True):
            bounds[np.ix_(models, samples)] = value
        z = _channel.negative_log(self.centre[samples], OUT_OF_REACH)
        away = _channel.matvec(self.rows[samples], z) - self.entropy.T[samples]
        place, which = np.nonzero(away[:, models] > self.upper[samples, None])
        for part in np.array_split(np.arange(len(place)), 1 + len(place) // PAIRS):
            sample, model = samples[place[part]], models[which[part]]
            lower, centre = solve(sample, np.column_stack([self.carriers[sample], model]))
            upper, z = lower, _channel.negative_log(centre, OUT_OF_REACH)
            members: list[Indices | int] = [*self.members, model]
            for member in members:
                upper = np.maximum(upper, self._divergence(sample, member, z))
            for bounds, value in zip((self.low, self.high), (lower, upper), strict=True):
                bounds[model, sample] = np.maximum(bounds[model, sample], np.exp(value))

    def _rows(self, sample: Indices, model: Indices | int) -> Array:
        """Return what some models give some samples, the classes first."""
        return self.by_class.take(model * len(self.rows) + sample, axis=1)

    def _divergence(self, sample: Indices, model: Indices | int, z: Array) -> Array:
        """Return the divergence of some rows from centres of which z is minus the logarithm."""
        away = (self._rows(sample, model) * z).sum(axis=0) - self.entropy[model, sample]
        return np.minimum(away, np.log(len(z)))  # no capacity is larger

    def _in_steps(self, sample: Indices, few: Indices) -> tuple[Array, Array]:
        """Return the capacity that a few steps from equal weights find, and its centre."""
        rows = self._rows(sample, few.T)  # (classes × models × samples)
        entropy = self.entropy[few.T, sample]
        weights = np.full(entropy.shape, 1 / len(entropy))
        for left in reversed(range(QUICK_STEPS + 1)):
            centre = (rows * weights).sum(axis=1)
            z = _channel.negative_log(centre, OUT_OF_REACH)
            away = (rows * z[:, None]).sum(axis=0) - entropy
            if left:
                largest = away.max(axis=0)
                step = np.maximum(1, LENGTH / np.maximum(largest, ROUNDING))
                weights = weights * np.exp((away - largest) * step)
                weights /= weights.sum(axis=0)
        return (weights * away).sum(axis=0), centre

    def _to_a_gap(self, sample: Indices, few: Indices) -> tuple[Array, Array]:
        """Return the capacity with a certified gap, and its centre."""
        rows = self.rows[sample[:, None], few]
        lower, _, weights = _channel.many_class_capacity(rows, QUICK_GAP, 100)
        return lower, _channel.mixture(rows, weights).T

    def _solve(self, model: int) -> tuple[Any, ...]:
        divergence = _channel.divergence(self.rows[:, model], self.centre)
        changed = np.flatnonzero(divergence > self.upper)
        rows = self.rows[changed][:, [*self.members, model]]
        lower, upper, weights = _channel.many_class_capacity(rows, self.tol * LN2, 100)
        return changed, lower / LN2, upper, weights, _channel.mixture(rows, weights)

    def _note(self, model: int, changed: Indices, *more: Array) -> None:
        self.upper[changed], weights, self.centre[changed] = more
        self.changed[changed] = True
        self.members.append(model)
        n_carriers = min(len(self.members), self.rows.shape[2])
        missing = n_carriers - self.carriers.shape[1]
        self.carriers = np.pad(self.carriers, ((0, 0), (0, missing)), constant_values=model)
        heaviest = np.argsort(-weights, axis=1, kind="stable")[:, :n_carriers]
        self.carriers[changed] = np.array(self.members)[heaviest]


def _growing(array: NDArray[Any], tol: float) -> _Growing:
    """Return the set of no models yet, of which there are two kinds."""
    if n_classes(array) == 2:
        return _GrowingTwo(np.ascontiguousarray(positive_scores(array).T))
    return _GrowingMany(np.ascontiguousarray(class_scores(array).swapaxes(0, 1)), tol)
