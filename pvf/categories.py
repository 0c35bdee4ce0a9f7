"""How one category becomes another: flips, shifts along an order, tables of misclassification."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError

from pvf import _checks as check
from pvf._checks import shown
from pvf._types import Array, ArrayLike, Indices, NDArray
from pvf.mechanisms import (
    ChanceChange,
    UnchangeableError,
    check_levels,
    column_of,
    refuse_missing,
    values_of,
)


class _CategoryChange(ChanceChange):
    """What flips and shifts share: levels learnt by `fit`."""

    levels_: pd.Index

    def fit(self, column: ArrayLike) -> Self:
        """Learn the levels from training data.

        Parameters
        ----------
        column : array-like of shape (n_samples,)
            A pandas category's levels are all that it declares; else those that occur.

        Returns
        -------
        The mechanism itself.

        Raises
        ------
        ValueError
            A value is missing, or there is only one level, which cannot change.
        """
        series = values_of(column)
        self._refuse_missing(series)
        levels = self._learn_levels(series)
        if len(levels) < 2:
            raise UnchangeableError(
                f"The column has one category ({levels[0]!r}), so it cannot flip: leave it out "
                "of the mechanisms."
            )
        self.levels_ = levels
        self._level_values = levels.infer_objects().to_numpy()
        # Row i: where, in [0, 1], one new level ends and the next begins, given that level i is
        # left. What is impossible stays so, however the sums are rounded.
        moves = self._leaving_probabilities()
        self._borders = np.cumsum(moves, axis=1)[:, :-1]
        last_possible = len(levels) - 1 - np.argmax(moves[:, ::-1] > 0, axis=1)
        self._borders[np.arange(len(levels) - 1) >= last_possible[:, None]] = np.inf
        return self

    def prepare(self, column: ArrayLike) -> Callable[[Array], NDArray]:
        """Return what changes the column's levels by draws."""
        if not hasattr(self, "levels_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted: call fit first.")
        series = column_of(column)
        self._refuse_missing(series)
        if isinstance(series.dtype, pd.CategoricalDtype):
            lacking = self.levels_.difference(series.cat.categories.astype(object), sort=False)
            if len(lacking):
                raise ValueError(
                    f"The column's categories {series.cat.categories.tolist()} lack "
                    f"{lacking.tolist()}, known since fit: give it the training data's dtype."
                )
        codes = self.levels_.get_indexer(pd.Index(series.astype(object)))
        if (codes < 0).any():
            unseen = pd.unique(series[codes < 0]).tolist()
            raise ValueError(
                f"The column holds {unseen}, not seen at fit; {type(self).__name__} knows "
                f"{self.levels_.tolist()}."
            )
        return functools.partial(self._changed, codes)

    def _refuse_missing(self, series: pd.Series) -> None:
        n_infinite = np.isinf(series).sum() if pd.api.types.is_float_dtype(series) else 0
        n_missing = int(series.isna().sum() + n_infinite)
        refuse_missing(type(self).__name__, n_missing, "finite values, none missing")

    def _changed(self, codes: Indices, draws: Array) -> NDArray:
        """Return the levels after the change, of the draws' shape."""
        changed = np.broadcast_to(codes, draws.shape).copy()
        leaves = draws < self.probability
        origin = changed[leaves]
        # Given that it is below the probability, the draw is uniform again: it picks the level.
        picks = draws[leaves] / max(self.probability, np.finfo(float).tiny)
        target = np.empty_like(origin)
        for code in np.unique(origin):
            here = origin == code
            target[here] = np.searchsorted(self._borders[code], picks[here], side="right")
        changed[leaves] = target
        return self._level_values[changed]

    def transition_probabilities(self) -> Array:
        """Return the probability of each perturbed level, given the level as it is.

        Returns
        -------
        ndarray of shape (n_levels, n_levels)
            Row: the level as it is, column: the perturbed one, in the order of ``levels_``.

        Raises
        ------
        NotFittedError
            `fit` has not been called.
        """
        if not hasattr(self, "levels_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted: call fit first.")
        stays = (1 - self.probability) * np.eye(len(self.levels_))
        return stays + self.probability * self._leaving_probabilities()

    @abstractmethod
    def _learn_levels(self, series: pd.Series) -> pd.Index:
        """Return all levels of a column without missing values."""

    @abstractmethod
    def _leaving_probabilities(self) -> Array:
        """Return the probability of each new level (column), given the old one (row)."""


class NominalFlip(_CategoryChange):
    r"""Change a category to one of the others, all equally likely.

    .. math:: \Pr(x' = a \mid x) = \xi / (|C| - 1), \quad a \neq x

    Parameters
    ----------
    probability : float in [0, 1]
        Flip probability ξ.

    References
    ----------
    Zhang, Tran and Weng (2026), section 3.2, mechanism 2.

    Examples
    --------
    >>> flip = NominalFlip(1.0).fit(["a", "b"])
    >>> flip.sample(["a", "b", "b"], 1, np.random.default_rng(0))
    array([['b', 'a', 'a']], dtype=object)
    """

    def _learn_levels(self, series: pd.Series) -> pd.Index:
        return _levels_of(series)

    def _leaving_probabilities(self) -> Array:
        n_levels = len(self.levels_)
        return (1 - np.eye(n_levels)) / (n_levels - 1)


@dataclass(eq=False, repr=False)
class OrdinalShift(_CategoryChange):
    r"""Move an ordinal value along its order, to near levels more often than to far ones.

    .. math::

        \Pr(x' \mid x) = \xi \frac{\exp\{-\lambda d(x, x')\}}
        {\sum_{a \neq x} \exp\{-\lambda d(x, a)\}}, \quad x' \neq x

    Parameters
    ----------
    probability : float in [0, 1]
        Probability ξ that the value moves.
    decay : float
        Decay λ, 0 or more, per unit of distance d.
    order : sequence, optional
        All levels from lowest to highest. By default a pandas category's own order, or the
        numbers that occur in training data, sorted.
    values : sequence of float, optional
        A position for each level, in the levels' order; d is then the distance between
        positions. By default d counts steps along the order.

    References
    ----------
    Zhang, Tran and Weng (2026), section 3.2, mechanism 3.

    Examples
    --------
    >>> shift = OrdinalShift(1.0, 50.0, order=["low", "mid", "high"]).fit(["low", "high"])
    >>> shift.sample(["low", "high"], 1, np.random.default_rng(0))
    array([['mid', 'mid']], dtype=object)
    """

    decay: float
    order: Sequence[Any] | None = field(default=None, kw_only=True)
    values: Sequence[float] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check the arguments."""
        super().__post_init__()
        check.number("decay", self.decay, 0)
        _check_order(self.order, self.values)

    def __repr__(self) -> str:
        return f"OrdinalShift({self.probability:g}, {self.decay:g})"

    def _learn_levels(self, series: pd.Series) -> pd.Index:
        if self.order is not None:
            return _naming_all(series, pd.Index(list(self.order), dtype=object), "order")
        is_category = isinstance(series.dtype, pd.CategoricalDtype)
        has_order = series.cat.ordered if is_category else pd.api.types.is_numeric_dtype(series)
        if not has_order:
            raise ValueError(
                f"A column of dtype {series.dtype} has no order of its own: give OrdinalShift "
                "the levels from lowest to highest as order."
            )
        return _levels_of(series)

    def _leaving_probabilities(self) -> Array:
        positions = np.arange(len(self.levels_), dtype=float)
        if self.values is not None:
            positions = check.finite("values", self.values)
            if positions.shape != (len(self.levels_),):
                raise ValueError(
                    f"values must be one number for each of the {len(self.levels_)} levels "
                    f"{self.levels_.tolist()}, got {self.values!r}."
                )
        distance = np.abs(positions[:, None] - positions)
        other = ~np.eye(len(positions), dtype=bool)
        # Seen from the nearest level, so that exp does not vanish in every level.
        nearest = distance.min(axis=1, keepdims=True, where=other, initial=np.inf)
        weight = other * np.exp(-self.decay * np.where(other, distance - nearest, 0))
        return weight / weight.sum(axis=1, keepdims=True)


class Misclassification(_CategoryChange):
    """Change a category as a test or a coder does, by a table of how often each is taken for each.

    Parameters
    ----------
    matrix : DataFrame, mapping of mappings, or array-like of shape (n_levels, n_levels)
        ``matrix[true][recorded]``: the probability of each recorded level (frame: column), given
        the true one (frame: row). Each row sums to 1; pairs that a mapping leaves out are 0.
    levels : sequence, optional
        The levels in the array's order; frames and mappings name their own.

    Examples
    --------
    A test of sensitivity 0.9 and specificity 0.95:

    >>> test = Misclassification(
    ...     {"pos": {"pos": 0.9, "neg": 0.1}, "neg": {"pos": 0.05, "neg": 0.95}}
    ... )
    >>> copies = test.fit(["pos", "neg"]).sample(["pos", "neg"], 10_000, np.random.default_rng(0))
    >>> (copies == "pos").mean(axis=0).round(2)
    array([0.9 , 0.05])
    """

    probability = 1.0  # each value is drawn anew, by its row

    def __init__(self, matrix: Any, levels: Sequence[Any] | None = None) -> None:
        self.matrix, self.levels = matrix, levels
        names, moves = _named_matrix(matrix, levels)
        check.interval("matrix", moves, 0, 1)
        sums = moves.sum(axis=1)
        if not np.allclose(sums, 1, rtol=0, atol=1e-9):
            worst = int(np.abs(sums - 1).argmax())
            raise ValueError(
                f"matrix must have rows that sum to 1, got {sums[worst]:g} for {names[worst]!r}."
            )
        self._names, self._moves = names, moves

    def __repr__(self) -> str:
        return f"Misclassification({len(self._names)} levels: {shown(list(self._names))})"

    def scaled(self, factor: float) -> Self:
        """Return a new mechanism that errs ``factor`` times as often, at most always."""
        check.number("factor", factor, 0)
        wrong = factor * self._moves * ~np.eye(len(self._moves), dtype=bool)
        wrong /= np.maximum(wrong.sum(axis=1, keepdims=True), 1)
        right = 1 - wrong.sum(axis=1)
        return type(self)(wrong + np.diag(np.maximum(right, 0)), list(self._names))

    def _learn_levels(self, series: pd.Series) -> pd.Index:
        return _naming_all(series, self._names, "matrix")

    def _leaving_probabilities(self) -> Array:
        return self._moves


def _named_matrix(matrix: Any, levels: Any) -> tuple[pd.Index, Array]:
    """Return the levels of a table of misclassification, and its probabilities in their order."""
    if isinstance(matrix, Mapping):
        if not matrix or not all(isinstance(row, Mapping) for row in matrix.values()):
            raise TypeError(f"matrix must map levels to mappings, got {shown(matrix)}.")
        names = pd.Index(list(matrix), dtype=object)
        unknown = [level for row in matrix.values() for level in row if level not in names]
        moves = [[row.get(level, 0) for level in names] for row in matrix.values()]
    elif isinstance(matrix, pd.DataFrame):
        names = pd.Index(matrix.index, dtype=object)
        unknown = [level for level in matrix.columns if level not in names]
        moves = matrix.reindex(columns=matrix.index, fill_value=0).to_numpy()
    elif levels is None:
        raise ValueError("levels must name the levels of an array of probabilities, got None.")
    else:
        check_levels("levels", levels)
        names, moves, unknown = pd.Index(list(levels), dtype=object), matrix, []
    if unknown:
        raise ValueError(f"matrix gives no probabilities for what is truly {unknown[0]!r}.")
    if names.has_duplicates or pd.isna(names).any():
        raise ValueError(f"matrix must name each level once, none missing, got {list(names)}.")
    table = check.finite("matrix", moves)
    check.shape("matrix", table, (len(names), len(names)))
    return names, table


def _naming_all(series: pd.Series, levels: pd.Index, source: str) -> pd.Index:
    """Return levels; refuse those that do not name all values of a column."""
    unknown = [value for value in pd.unique(series) if value not in levels]
    if unknown:
        raise ValueError(f"The column holds {unknown}, which {source} does not name.")
    return levels


def _levels_of(series: pd.Series) -> pd.Index:
    """Return a category's declared levels, or the sorted values that occur."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        return pd.Index(series.cat.categories.astype(object))
    values = pd.unique(series)
    try:
        levels = sorted(values.tolist() if hasattr(values, "tolist") else values)
    except TypeError as error:
        raise TypeError(
            f"The column mixes values that cannot be sorted, such as {list(values)[:3]}: "
            "make it one type."
        ) from error
    return pd.Index(levels, dtype=object)


def _check_order(order: Any, values: Any) -> None:
    """Refuse levels and positions that no column could have, or that do not go together."""
    if values is not None:
        positions = check.finite("values", values)
        if positions.ndim != 1 or not positions.size:
            raise ValueError(f"values must be one number for each level, got {shown(values)}.")
    if order is None:
        return
    levels = check_levels("order", order)
    if values is not None and positions.size != levels.size:
        raise ValueError(
            f"values must be one number for each of the {levels.size} levels in order, "
            f"got {positions.size}."
        )
