"""How one feature is perturbed, and how a table of mixed features is (section 3.2 of the paper).

A mechanism has two methods: ``fit(column)`` learns what it needs from training data, and
``sample(column, size, rng)`` returns ``size`` perturbed copies of a column. Anything with these
two methods works in a `Perturbation`.
"""

from __future__ import annotations

import copy
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import gen_batches

from pvf._checks import (
    check_array,
    check_finite,
    check_integer,
    check_number,
    check_rng,
    check_table,
    naming,
    shown,
)


@runtime_checkable
class Mechanism(Protocol):
    """What `Perturbation` needs of a mechanism."""

    def fit(self, column: Any) -> Any:
        """Learn from a column of training data."""

    def sample(self, column: Any, size: int, rng: np.random.Generator) -> Any:
        """Return ``size`` perturbed copies of ``column``, of shape (size, n_samples)."""


class CellMechanism(ABC):
    """A mechanism that turns one random number a cell into the cell's perturbed value.

    Such numbers can be drawn for many columns in one call and turned into values for many sets
    in another; the result is the same as column by column and set by set.
    """

    source: ClassVar[str]  # the Generator's method that draws the numbers

    def sample(self, column: ArrayLike, size: int, rng: np.random.Generator) -> NDArray:
        """Return perturbed copies of a column.

        Parameters
        ----------
        column : array-like of shape (n_samples,)
        size : int
            Number of copies.
        rng : numpy Generator

        Returns
        -------
        ndarray of shape (size, n_samples)
            Of the column's own kind of values; `GaussianNoise` makes whole numbers float64.

        Raises
        ------
        ValueError, TypeError
            A value is missing, infinite, not seen at `fit`, or of the wrong kind.
        NotFittedError
            The mechanism learns from data, and `fit` has not been called.
        """
        check_integer("size", size, 1)
        check_rng(rng)
        series = _some(column)
        transform = self.prepare(series)
        return transform(getattr(rng, self.source)((size, len(series))))

    @abstractmethod
    def prepare(self, column: ArrayLike) -> Callable[[NDArray[np.float64]], NDArray]:
        """Check a column once, to perturb it many times.

        Parameters
        ----------
        column : array-like of shape (n_samples,)

        Returns
        -------
        callable
            Turns random numbers of shape (size, n_samples), drawn by the generator's method
            ``source``, into as many copies of the column.
        """


class GaussianNoise(CellMechanism):
    """Add independent noise from N(0, scale²) to a numeric feature.

    Parameters
    ----------
    scale : float
        Standard deviation σ, 0 or more, in the units of the feature as the perturbation meets it.

    References
    ----------
    Zhang, Tran and Weng (2026), section 3.2, mechanism 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> GaussianNoise(0.1).fit([1.0, 2.0]).sample([1.0, 2.0], 3, rng).round(2)
    array([[1.01, 1.99],
           [1.06, 2.01],
           [0.95, 2.04]])
    """

    source = "standard_normal"

    def __init__(self, scale: float) -> None:
        self.scale = check_number("scale", scale, 0)

    def __repr__(self) -> str:
        return f"GaussianNoise({self.scale:g})"

    def fit(self, column: ArrayLike) -> Self:
        """Check that the column is numeric and finite; there is nothing to learn.

        Parameters
        ----------
        column : array-like of shape (n_samples,)

        Returns
        -------
        GaussianNoise

        Raises
        ------
        TypeError
            The column is not numeric.
        ValueError
            A value is missing or infinite.
        """
        self._values(_some(column))
        return self

    def prepare(self, column: ArrayLike) -> Callable[[NDArray[np.float64]], NDArray]:
        """Return what adds draws to the column."""
        values = self._values(column)
        return functools.partial(self._noisy, values)

    def _noisy(self, values: NDArray, draws: NDArray[np.float64]) -> NDArray:
        return (values + self.scale * draws).astype(values.dtype, copy=False)

    @staticmethod
    def _values(column: ArrayLike) -> NDArray:
        series = _series(column)
        if pd.api.types.is_bool_dtype(series) or not pd.api.types.is_numeric_dtype(series):
            raise TypeError(
                f"GaussianNoise takes a numeric column, got dtype {series.dtype}; "
                "for categories take NominalFlip or OrdinalShift."
            )
        dtype: Any = np.float64
        if pd.api.types.is_float_dtype(series):
            dtype = getattr(series.dtype, "numpy_dtype", series.dtype)  # of nullable dtypes
        values = series.to_numpy(dtype=dtype, na_value=np.nan)
        _refuse_missing("GaussianNoise", int((~np.isfinite(values)).sum()), "finite numbers")
        return values


class _CategoryChange(CellMechanism):
    """What flips and shifts share: levels learnt by `fit`, and one uniform draw a cell."""

    source = "random"
    probability: float
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
        series = _some(column)
        self._refuse_missing(series)
        levels = self._learn_levels(series)
        if len(levels) < 2:
            raise ValueError(
                f"The column has one category ({levels[0]!r}), so it cannot flip: leave it out "
                "of the mechanisms."
            )
        self.levels_ = levels
        self._level_values = levels.infer_objects().to_numpy()
        # Row i: where, in [0, 1], one new level ends and the next begins, given that level i is
        # left. The last level cannot follow itself, however the sums are rounded.
        self._borders = np.cumsum(self._leaving_probabilities(), axis=1)[:, :-1]
        self._borders[-1, -1] = np.inf
        return self

    def prepare(self, column: ArrayLike) -> Callable[[NDArray[np.float64]], NDArray]:
        """Return what changes the column's levels by draws."""
        if not hasattr(self, "levels_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted: call fit first.")
        series = _series(column)
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
        return functools.partial(self._changed_levels, codes)

    def _refuse_missing(self, series: pd.Series) -> None:
        n_infinite = np.isinf(series).sum() if pd.api.types.is_float_dtype(series) else 0
        n_missing = int(series.isna().sum() + n_infinite)
        _refuse_missing(type(self).__name__, n_missing, "finite values, none missing")

    def _changed_levels(self, codes: NDArray[np.intp], draws: NDArray[np.float64]) -> NDArray:
        return self._level_values[self._changed_codes(codes, draws)]

    def _changed_codes(
        self, codes: NDArray[np.intp], draws: NDArray[np.float64]
    ) -> NDArray[np.intp]:
        """Return the levels' numbers after the change, of the draws' shape."""
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
        return changed

    @abstractmethod
    def _learn_levels(self, series: pd.Series) -> pd.Index:
        """Return all levels of a column without missing values."""

    @abstractmethod
    def _leaving_probabilities(self) -> NDArray[np.float64]:
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

    def __init__(self, probability: float) -> None:
        self.probability = check_number("probability", probability, 0, 1)

    def __repr__(self) -> str:
        return f"NominalFlip({self.probability:g})"

    def _learn_levels(self, series: pd.Series) -> pd.Index:
        return _levels_of(series)

    def _leaving_probabilities(self) -> NDArray[np.float64]:
        n_levels = len(self.levels_)
        return (1 - np.eye(n_levels)) / (n_levels - 1)


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

    def __init__(
        self,
        probability: float,
        decay: float,
        *,
        order: Sequence[Any] | None = None,
        values: Sequence[float] | None = None,
    ) -> None:
        self.probability = check_number("probability", probability, 0, 1)
        self.decay = check_number("decay", decay, 0)
        _check_order(order, values)
        self.order = order
        self.values = values

    def __repr__(self) -> str:
        return f"OrdinalShift({self.probability:g}, {self.decay:g})"

    def _learn_levels(self, series: pd.Series) -> pd.Index:
        if self.order is not None:
            levels = pd.Index(list(self.order), dtype=object)
            unknown = [value for value in pd.unique(series) if value not in levels]
            if unknown:
                raise ValueError(f"The column holds {unknown}, which order does not name.")
            return levels
        is_category = isinstance(series.dtype, pd.CategoricalDtype)
        has_order = series.cat.ordered if is_category else pd.api.types.is_numeric_dtype(series)
        if not has_order:
            raise ValueError(
                f"A column of dtype {series.dtype} has no order of its own: give OrdinalShift "
                "the levels from lowest to highest as order."
            )
        return _levels_of(series)

    def _leaving_probabilities(self) -> NDArray[np.float64]:
        positions = np.arange(len(self.levels_), dtype=float)
        if self.values is not None:
            positions = check_finite("values", self.values)
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


def transition_probabilities(mechanism: _CategoryChange) -> NDArray[np.float64]:
    """Return how likely a fitted flip or shift makes each level (column) of each one (row)."""
    if not hasattr(mechanism, "levels_"):
        raise NotFittedError(f"This {type(mechanism).__name__} is not fitted: call fit first.")
    stays = (1 - mechanism.probability) * np.eye(len(mechanism.levels_))
    return stays + mechanism.probability * mechanism._leaving_probabilities()


class Perturbation:
    """Perturb a table, each named column by its own mechanism and independently.

    Parameters
    ----------
    mechanisms : mapping, sequence of pairs, or one mechanism
        ``{column: mechanism}``, where a column is a name (frames), an index (arrays and frames
        whose names are not integers), or a tuple of them; or pairs ``(columns, mechanism)``,
        where the columns may also be a list; or a single mechanism for every column. Columns
        that nobody names stay as they are.

    Attributes
    ----------
    mechanisms_ : dict of int to mechanism
        A fitted copy for each perturbed column, by position.
    n_features_in_ : int
    feature_names_in_ : list or None

    Examples
    --------
    >>> X = pd.DataFrame({"age": [30.0, 50.0], "smokes": [True, False], "id": [7, 8]})
    >>> perturbation = Perturbation({"age": GaussianNoise(1.0), "smokes": NominalFlip(0.5)})
    >>> perturbation.fit(X).sample(X, 2, np.random.default_rng(1)).round(1)
        age  smokes  id
    0  30.3   False   7
    1  50.8    True   8
    0  30.3    True   7
    1  48.7    True   8
    """

    def __init__(
        self,
        mechanisms: Mapping[Any, Mechanism] | Sequence[tuple[Any, Mechanism]] | Mechanism,
    ) -> None:
        self.mechanisms = mechanisms
        self._pairs = _mechanism_pairs(mechanisms)

    def __repr__(self) -> str:
        return f"Perturbation({self.mechanisms!r})"

    def fit(self, X: Any) -> Self:
        """Learn each column's categories or order from training data.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_features)

        Returns
        -------
        Perturbation

        Raises
        ------
        ValueError, TypeError
            A column does not exist, is named twice, or does not suit its mechanism; the error
            names the column.
        """
        table = _Table(X)
        assigned: dict[int, Mechanism] = {}
        for columns, mechanism in self._pairs:
            for position in table.positions(columns):
                if position in assigned:
                    raise ValueError(f"mechanisms names column {table.label(position)!r} twice.")
                assigned[position] = copy.deepcopy(mechanism)
        for position, mechanism in assigned.items():
            with _naming(table.label(position)):
                mechanism.fit(table.column(position))
        self.mechanisms_ = dict(sorted(assigned.items()))
        self.n_features_in_, self.feature_names_in_ = table.n_features, table.names
        return self

    def sample(self, X: Any, n_replicas: int, rng: np.random.Generator) -> Any:
        """Return ``n_replicas`` perturbed copies of the table, one below the other.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_features)
        n_replicas : int
            Number k of copies of each row, at least 1.
        rng : numpy Generator

        Returns
        -------
        frame or array of shape (n_replicas * n_samples, n_features)
            Row ``j * n_samples + i`` is replica j of row i. Column names and dtypes are kept; a
            frame's index is repeated. A whole-number column under `GaussianNoise` becomes float,
            since rounding would undo small noise.

        Raises
        ------
        ValueError, TypeError
            The table differs from the one seen at `fit`, or a column does not suit its mechanism.
        NotFittedError
            `fit` has not been called.
        """
        check_integer("n_replicas", n_replicas, 1)
        check_rng(rng)
        sampler = self.prepare(X)
        return sampler.assemble([sampler.draw(n_replicas, rng)], n_replicas)

    def prepare(self, X: Any) -> TableSampler:
        """Check a table once, to perturb it many times.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_features)

        Returns
        -------
        TableSampler

        Raises
        ------
        ValueError, TypeError, NotFittedError
            As in `sample`.
        """
        if not hasattr(self, "mechanisms_"):
            raise NotFittedError("This Perturbation is not fitted: call fit with training data.")
        table = _Table(X)
        if table.n_features != self.n_features_in_ or table.names != self.feature_names_in_:
            raise ValueError(
                f"X must have the columns seen at fit, {_describe(self.feature_names_in_)} "
                f"({self.n_features_in_} of them), got {_describe(table.names)} "
                f"({table.n_features} of them)."
            )
        return TableSampler(table, self.mechanisms_)


#: A generator for each replica of a column.
_Streams = dict[int, list[np.random.Generator]]


class TableSampler:
    """Draws perturbed sets of one table: cheaply, set by set; assembled, many at a time.

    `draw` takes a set's random numbers in the order of its columns; `assemble` turns the numbers
    of many sets into one stacked table.
    """

    def __init__(self, table: _Table, mechanisms: Mapping[int, Mechanism]) -> None:
        self.table, self._mechanisms = table, mechanisms
        self._transforms: dict[int, Callable[[NDArray], NDArray]] = {}
        for position, mechanism in mechanisms.items():
            if isinstance(mechanism, CellMechanism):
                with _naming(table.label(position)):
                    self._transforms[position] = mechanism.prepare(table.column(position))

    def draw(self, n_replicas: int, rng: np.random.Generator) -> dict[int, NDArray]:
        """Return a set's random numbers (or a foreign mechanism's copies) for each column."""
        shape = (n_replicas, self.table.n_samples)
        return {position: self._draw_column(position, shape, rng) for position in self._mechanisms}

    def _draw_column(
        self, position: int, shape: tuple[int, ...], rng: np.random.Generator
    ) -> NDArray:
        mechanism = self._mechanisms[position]
        if isinstance(mechanism, CellMechanism):
            return getattr(rng, mechanism.source)(shape)
        with _naming(self.table.label(position)):
            copies = np.asarray(mechanism.sample(self.table.column(position), shape[0], rng))
            if copies.shape != shape:
                raise ValueError(
                    f"{type(mechanism).__name__}.sample must return shape {shape}, "
                    f"got {copies.shape}."
                )
        return copies

    @property
    def can_be_split(self) -> bool:
        """Whether every mechanism takes one number a cell, so that a set can be made in parts."""
        return len(self._transforms) == len(self._mechanisms)

    def parts(
        self, n_replicas: int, rng: np.random.Generator, n_rows: int
    ) -> Iterator[tuple[slice, Any]]:
        """Make one set in parts of ``n_rows`` of the table's rows, with all of their replicas.

        A part takes the numbers that the whole set has in its place, so its values are the same.
        """
        streams = self._streams(n_replicas, rng)
        for rows in gen_batches(self.table.n_samples, n_rows):
            yield rows, self._part(rows, n_replicas, streams)

    def _part(self, rows: slice, n_replicas: int, streams: _Streams) -> Any:
        """Return the replicas of some rows, by the next numbers of the streams."""
        part = TableSampler(self.table.rows(rows), self._mechanisms)
        shape = (part.table.n_samples,)
        drawn = {
            position: np.stack([part._draw_column(position, shape, rng) for rng in replicas])
            for position, replicas in streams.items()
        }
        return part.assemble([drawn], n_replicas)

    def _streams(self, n_replicas: int, rng: np.random.Generator) -> _Streams:
        """Return generators that stand where the numbers of each column's replicas begin.

        They get there by drawing: how many bits a normal number takes is not known beforehand.
        """
        streams: _Streams = {}
        for position in self._mechanisms:
            streams[position] = []
            for _ in range(n_replicas):
                streams[position].append(copy.deepcopy(rng))
                for rows in gen_batches(self.table.n_samples, 2**16):
                    self._draw_column(position, (rows.stop - rows.start,), rng)
        return streams

    def assemble(self, draws: Sequence[dict[int, NDArray]], n_replicas: int) -> Any:
        """Return the perturbed sets, stacked: set by set, replica by replica, row by row."""
        changed = {}
        for position in self._mechanisms:
            numbers = np.concatenate([drawn[position] for drawn in draws])
            transform = self._transforms.get(position, lambda copies: copies)
            changed[position] = transform(numbers).reshape(-1)
        return self.table.replicate(len(draws) * n_replicas, changed)


class _Table:
    """A frame or an array, seen column by column."""

    def __init__(self, X: Any) -> None:
        self.is_frame = isinstance(X, pd.DataFrame)
        self.X: Any = check_table("X", X)
        self.n_samples, self.n_features = self.X.shape
        self.names = list(X.columns) if self.is_frame else None

    def column(self, position: int) -> Any:
        if self.is_frame:
            return self.X.iloc[:, position]
        column = self.X[:, position]
        # An object array hides what a column holds; pandas finds out.
        return pd.Series(column).infer_objects() if column.dtype == object else column

    def rows(self, rows: slice) -> _Table:
        """Return a part of the table."""
        return _Table(self.X.iloc[rows] if self.is_frame else self.X[rows])

    def label(self, position: int) -> Hashable:
        return self.names[position] if self.names is not None else position

    def positions(self, columns: Any) -> list[int]:
        """Return the positions of a name, an index, a list or a tuple of them, or of all (None)."""
        if columns is None:
            return list(range(self.n_features))
        if isinstance(columns, tuple) and self.names is not None and columns in self.names:
            return [self._position(columns)]
        if isinstance(columns, list | tuple | np.ndarray | pd.Index):
            return [self._position(column) for column in columns]
        return [self._position(columns)]

    def _position(self, column: Any) -> int:
        if self.names is not None and column in self.names:
            if self.names.count(column) > 1:
                raise ValueError(f"X has {self.names.count(column)} columns named {column!r}.")
            return self.names.index(column)
        is_index = isinstance(column, int | np.integer) and not isinstance(column, bool)
        # Where names are numbers, a number that is no name is a slip, not a position.
        is_index &= not any(isinstance(name, int | np.integer) for name in self.names or [])
        if is_index and -self.n_features <= column < self.n_features:
            return int(column) % self.n_features
        raise ValueError(
            f"mechanisms names column {column!r}, which X lacks; X has {_describe(self.names)} "
            f"({self.n_features} columns)."
        )

    def replicate(self, n_replicas: int, changed: Mapping[int, NDArray]) -> Any:
        """Stack the table ``n_replicas`` times, with the changed columns in place."""
        if self.is_frame:
            return self._replicate_frame(n_replicas, changed)
        shape = (n_replicas * self.n_samples, self.n_features)
        stacked = np.empty(shape, dtype=_common_dtype(self.X.dtype, changed.values()))
        for position in range(self.n_features):
            if position in changed:
                stacked[:, position] = changed[position]
            else:
                stacked[:, position] = np.tile(self.X[:, position], n_replicas)
        return stacked

    def _replicate_frame(self, n_replicas: int, changed: Mapping[int, NDArray]) -> pd.DataFrame:
        rows = np.tile(np.arange(self.n_samples), n_replicas)
        columns = []
        for position in range(self.n_features):
            column = self.X.iloc[:, position]
            if position in changed:
                with _naming(self.label(position)):
                    columns.append(_as_dtype(changed[position], column.dtype))
            else:
                columns.append(column.iloc[rows].reset_index(drop=True))
        frame = pd.concat(columns, axis=1)
        frame.columns, frame.index = self.X.columns, self.X.index[rows]
        return frame


def _common_dtype(dtype: np.dtype, columns: Iterable[NDArray]) -> np.dtype:
    """Return an array's dtype, or one that also holds what its columns have become."""
    if dtype.kind in "iub" and any(column.dtype.kind == "f" for column in columns):
        return np.dtype(np.float64)
    if dtype.kind == "U":  # of fixed length: a level from training may be longer
        return np.result_type(dtype, *(np.asarray(column, dtype="U") for column in columns))
    return dtype


def _as_dtype(values: NDArray, dtype: Any) -> pd.Series:
    """Give perturbed values the column's dtype, where that can hold them."""
    if pd.api.types.is_integer_dtype(dtype) and values.dtype.kind == "f":
        is_nullable = isinstance(dtype, pd.api.extensions.ExtensionDtype)
        return pd.Series(values, dtype="Float64" if is_nullable else values.dtype)
    if isinstance(dtype, pd.CategoricalDtype):  # would make NaN of what it does not declare
        unknown = pd.Index(pd.unique(values)).difference(dtype.categories.astype(object))
        if len(unknown):
            raise ValueError(
                f"The perturbed values {unknown.tolist()} are not among the column's categories "
                f"{dtype.categories.tolist()}."
            )
    return pd.Series(values, dtype=dtype)


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
        positions = check_finite("values", values)
        if positions.ndim != 1 or not positions.size:
            raise ValueError(f"values must be one number for each level, got {shown(values)}.")
    if order is None:
        return
    levels = check_array("order", order)
    if levels.ndim != 1 or not levels.size or pd.isna(levels).any():
        raise ValueError(f"order must name one level or more, none missing, got {shown(order)}.")
    if pd.Index(list(order), dtype=object).has_duplicates:
        raise ValueError(f"order must name each level once, got {list(order)}.")
    if values is not None and positions.size != levels.size:
        raise ValueError(
            f"values must be one number for each of the {levels.size} levels in order, "
            f"got {positions.size}."
        )


def _mechanism_pairs(mechanisms: Any) -> list[tuple[Any, Mechanism]]:
    """Return (columns, mechanism) pairs; a single mechanism is for all columns."""
    if isinstance(mechanisms, Mechanism) and not isinstance(mechanisms, type):
        return [(None, mechanisms)]
    try:
        pairs = list(mechanisms.items() if isinstance(mechanisms, Mapping) else mechanisms)
        pairs = [(columns, mechanism) for columns, mechanism in pairs]
    except (TypeError, ValueError) as error:
        raise TypeError(
            "mechanisms must map columns to mechanisms, list (columns, mechanism) pairs, or be "
            f"one mechanism, got {mechanisms!r}."
        ) from error
    for columns, mechanism in pairs:
        if isinstance(mechanism, type) or not isinstance(mechanism, Mechanism):
            raise TypeError(
                f"mechanisms gives {mechanism!r} for {columns!r}; it takes objects with fit and "
                "sample, such as GaussianNoise(0.1)."
            )
    return pairs


def _naming(label: Hashable) -> AbstractContextManager[None]:
    """Put the column's name in front of an error raised inside the block."""
    return naming(f"Column {label!r} of X")


def _series(column: Any) -> pd.Series:
    """Return a column as a series, whatever it came in."""
    if not isinstance(column, pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
        n_dimensions = check_array("column", column).ndim
        if n_dimensions != 1:
            raise ValueError(
                f"column must be one-dimensional, got {shown(column)} of {n_dimensions} dimensions."
            )
    series = pd.Series(column)
    if pd.api.types.is_complex_dtype(series):
        raise TypeError(f"column must not be complex, got dtype {series.dtype}.")
    return series


def _some(column: Any) -> pd.Series:
    """Return a column that something can be learnt from."""
    series = _series(column)
    if series.empty:
        raise ValueError("column must hold at least one value, got none.")
    return series


def _refuse_missing(mechanism: str, n_missing: int, takes: str) -> None:
    if n_missing:
        raise ValueError(
            f"{n_missing} missing or infinite values; {mechanism} takes {takes}: impute first, or "
            "leave the column out of the mechanisms."
        )


def _describe(names: list | None) -> str:
    return "no names" if names is None else str(names)
