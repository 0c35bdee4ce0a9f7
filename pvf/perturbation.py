"""How a table of mixed features is perturbed (section 3.2 of the paper), column by column.

The mechanisms are in `pvf.mechanisms` and `pvf.categories`; anything with their two methods works.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Literal, Protocol, Self, TypeGuard, runtime_checkable

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError
from sklearn.utils import gen_batches

from pvf import _checks as check
from pvf._checks import naming, shown
from pvf._settings import Settings
from pvf._types import NDArray
from pvf.categories import Misclassification, NominalFlip, OrdinalShift
from pvf.mechanisms import (
    CellMechanism,
    CorrelatedNoise,
    GaussianNoise,
    Mechanism,
    Missingness,
    RelativeNoise,
    RoundingError,
    UnchangeableError,
    WhereObserved,
    fit_observed,
    makes_cells,
    prepare_observed,
)

__all__ = [
    "CellMechanism",
    "CorrelatedNoise",
    "GaussianNoise",
    "JointPerturbation",
    "Mechanism",
    "Misclassification",
    "Missingness",
    "NominalFlip",
    "OrdinalShift",
    "Perturbation",
    "RelativeNoise",
    "RoundingError",
    "TableSampler",
    "WhereObserved",
    "check_perturbation",
    "fitted_perturbation",
    "sampler_of",
]

Mechanisms = Mapping[Any, Mechanism] | Sequence[tuple[Any, Mechanism]] | Mechanism


@runtime_checkable
class JointPerturbation(Protocol):
    """What perturbs a whole table in its own way; a `Perturbation` is one."""

    def fit(self, X: Any) -> Any:
        """Learn from training data."""

    def sample(self, X: Any, n_replicas: int, rng: np.random.Generator) -> Any:
        """Return perturbed copies, one below the other: n_replicas * n_samples rows."""


class Perturbation(Settings):
    """Perturb a table, each named column by its own mechanism and independently.

    Parameters
    ----------
    mechanisms : mapping, sequence of pairs, or one mechanism
        ``{column: mechanism}``, where a column is a name (frames), an index (arrays and frames
        whose names are not integers), or a tuple of them; or pairs ``(columns, mechanism)``,
        where the columns may also be a list; or a single mechanism for every column. Columns
        that nobody names stay as they are. A joint mechanism, such as `CorrelatedNoise`, perturbs
        the columns that it is given together; any other perturbs each by itself.
    missing : {"keep", "refuse"}, default="keep"
        Whether the mechanisms of this package leave missing values as they are, or refuse them.

    Attributes
    ----------
    mechanisms_ : dict of int to mechanism
        A fitted copy for each perturbed column, by position; a joint one stands at each of its
        columns.
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
        self, mechanisms: Mechanisms, *, missing: Literal["keep", "refuse"] = "keep"
    ) -> None:
        if isinstance(mechanisms, Iterator):  # which could be read once only
            mechanisms = list(mechanisms)
        check.choice("missing", missing, ("keep", "refuse"))
        self.mechanisms, self.missing = mechanisms, missing
        self._pairs = _mechanism_pairs(mechanisms)

    def __repr__(self) -> str:
        missing = "" if self.missing == "keep" else f", missing={self.missing!r}"
        return f"Perturbation({self.mechanisms!r}{missing})"

    def _nested(self) -> dict[str, Settings]:
        if isinstance(self.mechanisms, Settings):
            return {"mechanisms": self.mechanisms}
        return {
            columns: mechanism
            for columns, mechanism in self._pairs
            if isinstance(columns, str) and isinstance(mechanism, Settings)
        }

    @classmethod
    def from_measurement_error(
        cls,
        errors: Mapping[Any, float | str | Mechanism],
        *,
        bounds: Mapping[Any, tuple[float | None, float | None]] | None = None,
        missing: Literal["keep", "refuse"] = "keep",
    ) -> Self:
        """Make a perturbation of what is known of the instruments.

        Parameters
        ----------
        errors : mapping of columns to errors
            A number is a standard deviation in the column's units (`GaussianNoise`), a text such as
            ``"10%"`` one relative to the value (`RelativeNoise`); a mechanism is taken as it is.
        bounds : mapping of columns to (low, high), optional
            Values that a column never leaves, None for no bound; noise is reflected there.
        missing : {"keep", "refuse"}, default="keep"
            As in the constructor.

        Returns
        -------
        Perturbation

        Raises
        ------
        ValueError, TypeError
            An error is no number, percentage or mechanism, or bounds are for a column whose error
            is neither of the first two.

        Examples
        --------
        >>> Perturbation.from_measurement_error(
        ...     {"glucose": 5, "crp": "10%", "sex": NominalFlip(0.01)}, bounds={"crp": (0, None)}
        ... )  # doctest: +NORMALIZE_WHITESPACE
        Perturbation({'glucose': GaussianNoise(5), 'crp': RelativeNoise(0.1, low=0),
                      'sex': NominalFlip(0.01)})
        """
        if not isinstance(errors, Mapping) or not errors:
            raise TypeError(f"errors must map columns to errors, got {shown(errors)}.")
        check.kind("bounds", bounds, Mapping | None, "map columns to (low, high)")
        limits = dict(bounds or {})
        mechanisms = {
            column: _mechanism_of(column, error, limits.pop(column, None))
            for column, error in errors.items()
        }
        if limits:
            raise ValueError(f"bounds names {list(limits)}, which errors does not.")
        return cls(mechanisms, missing=missing)

    def scaled(self, factor: float) -> Self:
        """Return a perturbation that is ``factor`` times as strong; probabilities end at 1.

        Parameters
        ----------
        factor : float
            0 or more.

        Returns
        -------
        Perturbation
            Not fitted.

        Raises
        ------
        TypeError
            A mechanism has no method ``scaled``.

        Examples
        --------
        >>> Perturbation({"age": GaussianNoise(2.0), "sex": NominalFlip(0.4)}).scaled(3)
        Perturbation([('age', GaussianNoise(6)), ('sex', NominalFlip(1))])
        """
        check.number("factor", factor, 0)
        if isinstance(self.mechanisms, Mechanism):
            return type(self)(_scaled(self.mechanisms, factor), missing=self.missing)
        pairs = [(columns, _scaled(mechanism, factor)) for columns, mechanism in self._pairs]
        return type(self)(pairs, missing=self.missing)

    def fit(self, X: Any, *, constant: Literal["refuse", "keep"] = "refuse") -> Self:
        """Learn each column's categories or order from training data.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_features)
        constant : {"refuse", "keep"}, default="refuse"
            What happens to a column that holds one category, or no value, and so cannot change: an
            error, or it stays as it is, with a warning.

        Returns
        -------
        Perturbation

        Raises
        ------
        ValueError, TypeError
            A column does not exist, is named twice, or does not suit its mechanism; the error
            names the column.
        """
        check.choice("constant", constant, ("refuse", "keep"))
        table = _Table(X)
        fitted: dict[tuple[int, ...], Mechanism] = {}
        for positions, given in self._assigned(table):
            mechanism, column = copy.deepcopy(given), table.part(positions)
            try:
                with _naming(table.label(*positions)):
                    if self._keeps_gaps(mechanism):
                        fit_observed(mechanism, column)
                    else:
                        self._refuse_gaps(mechanism, column)
                        mechanism.fit(column)
            except UnchangeableError as error:
                if constant == "refuse":
                    raise
                warnings.warn(f"{error} It stays as it is.", stacklevel=2)
                continue
            fitted[positions] = mechanism
        self.groups_ = dict(sorted(fitted.items()))
        self.mechanisms_ = dict(sorted((i, m) for group, m in fitted.items() for i in group))
        self.n_features_in_, self.feature_names_in_ = table.n_features, table.names
        return self

    def _keeps_gaps(self, mechanism: Mechanism) -> TypeGuard[CellMechanism]:
        is_cell = isinstance(mechanism, CellMechanism) and not mechanism.joint
        return is_cell and self.missing == "keep"

    def _refuse_gaps(self, mechanism: Mechanism, column: Any) -> None:
        if self.missing == "refuse" and isinstance(mechanism, CellMechanism) and mechanism.joint:
            n_missing = int(np.sum(pd.isna(column)))
            if n_missing:
                raise ValueError(f"{n_missing} missing values, which missing='refuse' refuses.")

    def _assigned(self, table: _Table) -> Iterator[tuple[tuple[int, ...], Mechanism]]:
        """Yield positions and their mechanism: of one column, or of a joint mechanism's columns."""
        taken: set[int] = set()
        for columns, mechanism in self._pairs:
            positions = table.positions(columns)
            for position in positions:
                if position in taken:
                    raise ValueError(f"mechanisms names column {table.label(position)!r} twice.")
                taken.add(position)
            groups = [tuple(positions)] if _is_joint(mechanism) else [(p,) for p in positions]
            yield from ((group, mechanism) for group in groups)

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
            frame's index is repeated. A whole-number column under noise becomes float, since
            rounding would undo small noise.

        Raises
        ------
        ValueError, TypeError
            The table differs from the one seen at `fit`, or a column does not suit its mechanism.
        NotFittedError
            `fit` has not been called.
        """
        check.integer("n_replicas", n_replicas, 1)
        check.rng(rng)
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
        for positions, mechanism in self.groups_.items():
            with _naming(table.label(*positions)):
                self._refuse_gaps(mechanism, table.part(positions))
        return TableSampler(table, self.groups_, keep_missing=self.missing == "keep")


#: The columns that one mechanism perturbs, by position.
_Group = tuple[int, ...]

#: A generator for each replica of a group of columns.
_Streams = dict[_Group, list[np.random.Generator]]


class TableSampler:
    """Draws perturbed sets of one table: cheaply, set by set; assembled, many at a time.

    `draw` takes a set's random numbers in the order of its columns; `assemble` turns the numbers
    of many sets into one stacked table.
    """

    def __init__(
        self, table: _Table, groups: Mapping[_Group, Mechanism], *, keep_missing: bool = True
    ) -> None:
        self.table, self._groups, self._keep_missing = table, groups, keep_missing
        self._transforms: dict[_Group, Callable[[NDArray], NDArray]] = {}
        for group, mechanism in groups.items():
            if makes_cells(mechanism):
                keeps = keep_missing and not mechanism.joint
                prepare = partial(prepare_observed, mechanism) if keeps else mechanism.prepare
                with _naming(table.label(*group)):
                    self._transforms[group] = prepare(table.part(group))

    def draw(self, n_replicas: int, rng: np.random.Generator) -> Any:
        """Return a set's random numbers (or a foreign mechanism's copies) for each column."""
        shape = (n_replicas, self.table.n_samples)
        return {group: self._draw_group(group, shape, rng) for group in self._groups}

    def _draw_group(
        self, group: _Group, shape: tuple[int, ...], rng: np.random.Generator
    ) -> NDArray:
        mechanism = self._groups[group]
        shape = (*shape, len(group)) if _is_joint(mechanism) else shape
        if makes_cells(mechanism):
            return getattr(rng, mechanism.source)(shape)
        with _naming(self.table.label(*group)):
            copies = np.asarray(mechanism.sample(self.table.part(group), shape[0], rng))
            if copies.shape != shape:
                raise ValueError(
                    f"{type(mechanism).__name__}.sample must return shape {shape}, "
                    f"got {copies.shape}."
                )
        return copies

    @property
    def can_be_split(self) -> bool:
        """Whether every mechanism takes one number a cell, so that a set can be made in parts."""
        return len(self._transforms) == len(self._groups)

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
        part = TableSampler(self.table.rows(rows), self._groups, keep_missing=self._keep_missing)
        shape = (part.table.n_samples,)
        drawn = {
            group: np.stack([part._draw_group(group, shape, rng) for rng in replicas])
            for group, replicas in streams.items()
        }
        return part.assemble([drawn], n_replicas)

    def _streams(self, n_replicas: int, rng: np.random.Generator) -> _Streams:
        """Return generators that stand where the numbers of each column's replicas begin.

        They get there by drawing: how many bits a normal number takes is not known beforehand.
        """
        streams: _Streams = {}
        for group in self._groups:
            streams[group] = []
            for _ in range(n_replicas):
                streams[group].append(copy.deepcopy(rng))
                for rows in gen_batches(self.table.n_samples, 2**16):
                    self._draw_group(group, (rows.stop - rows.start,), rng)
        return streams

    def assemble(self, draws: Sequence[Any], n_replicas: int) -> Any:
        """Return the perturbed sets, stacked: set by set, replica by replica, row by row."""
        changed: dict[int, NDArray] = {}
        for group in self._groups:
            numbers = np.concatenate([drawn[group] for drawn in draws])
            copies = self._transforms.get(group, lambda copies: copies)(numbers)
            changed |= dict(zip(group, copies.reshape(-1, len(group)).T, strict=True))
        return self.table.replicate(len(draws) * n_replicas, changed)


class _WholeSampler(TableSampler):
    """Draws the sets of a perturbation whose ``sample`` is its own."""

    can_be_split = False

    def __init__(self, perturbation: JointPerturbation, X: Any) -> None:
        self.table, self._perturbation = _Table(X), perturbation

    def draw(self, n_replicas: int, rng: np.random.Generator) -> Any:
        copies = self._perturbation.sample(self.table.X, n_replicas, rng)
        shape = (n_replicas * self.table.n_samples, self.table.n_features)
        if np.shape(copies) != shape:
            raise ValueError(
                f"perturbation: {type(self._perturbation).__name__}.sample must return shape "
                f"{shape}, got {np.shape(copies)}."
            )
        return copies

    def assemble(self, draws: Sequence[Any], n_replicas: int) -> Any:  # noqa: ARG002
        return pd.concat(draws) if self.table.is_frame else np.concatenate(draws)


def sampler_of(perturbation: JointPerturbation, X: Any) -> TableSampler:
    """Return what draws perturbed sets of a table by a fitted perturbation, of whatever kind."""
    own = getattr(perturbation.sample, "__func__", None)
    if isinstance(perturbation, Perturbation) and own is Perturbation.sample:
        return perturbation.prepare(X)
    return _WholeSampler(perturbation, X)


def fitted_perturbation(
    perturbation: Any, X: Any, *, constant: Literal["refuse", "keep"] = "refuse"
) -> JointPerturbation:
    """Return a perturbation as it is, if it is fitted, else a copy that is fitted to ``X``.

    ``constant`` says what happens to a column that shows one category in ``X``, as in `fit`.
    """
    check_perturbation(perturbation)
    learnt = [name for name in vars(perturbation) if name.endswith("_") and name[0] != "_"]
    if learnt:
        return perturbation
    if getattr(perturbation.fit, "__func__", None) is Perturbation.fit:
        return copy.copy(perturbation).fit(X, constant=constant)
    unfitted = copy.deepcopy(perturbation)
    return unfitted.fit(X) or unfitted


def check_perturbation(perturbation: Any) -> JointPerturbation:
    """Return what perturbs a table; a mechanism, which perturbs a column, is told apart."""
    if isinstance(perturbation, CellMechanism):
        raise TypeError(
            f"perturbation must be a Perturbation, got the mechanism {perturbation!r}: wrap it as "
            f"Perturbation({perturbation!r})."
        )
    if isinstance(perturbation, type) or not isinstance(perturbation, JointPerturbation):
        raise TypeError(f"perturbation must be a Perturbation, got {shown(perturbation)}.")
    return perturbation


class _Table:
    """A frame or an array, seen column by column."""

    def __init__(self, X: Any) -> None:
        self.is_frame = isinstance(X, pd.DataFrame)
        self.X: Any = check.table("X", X)
        self.n_samples, self.n_features = self.X.shape
        self.names = list(X.columns) if self.is_frame else None

    def column(self, position: int) -> Any:
        if self.is_frame:
            return self.X.iloc[:, position]
        column = self.X[:, position]
        # An object array hides what a column holds; pandas finds out.
        return pd.Series(column).infer_objects() if column.dtype == object else column

    def part(self, positions: tuple[int, ...]) -> Any:
        """Return one column, or a table of several."""
        if len(positions) == 1:
            return self.column(positions[0])
        return self.X.iloc[:, list(positions)] if self.is_frame else self.X[:, list(positions)]

    def rows(self, rows: slice) -> _Table:
        """Return a part of the table."""
        return _Table(self.X.iloc[rows] if self.is_frame else self.X[rows])

    def label(self, *positions: int) -> Hashable:
        """Return a column's name or number, or those of several."""
        labels = [self.names[i] if self.names is not None else i for i in positions]
        return labels[0] if len(labels) == 1 else tuple(labels)

    def positions(self, columns: Any) -> list[int]:
        """Return the positions of a name, an index, a list or a tuple of them, or of all (None)."""
        if columns is None:
            return list(range(self.n_features))
        is_name = isinstance(columns, tuple) and columns in (self.names or [])
        if isinstance(columns, list | tuple | np.ndarray | pd.Index) and not is_name:
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
        dtype = _common_dtype(self.X.dtype, changed.values())
        stacked = np.tile(self.X, (n_replicas, 1)).astype(dtype, copy=False)
        for position, values in changed.items():
            stacked[:, position] = values
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
    columns = list(columns)
    if dtype.kind in "iub" and any(column.dtype.kind in "fO" for column in columns):
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
        known = pd.unique(values[pd.notna(values)])
        unknown = pd.Index(known).difference(dtype.categories.astype(object))
        if len(unknown):
            raise ValueError(
                f"The perturbed values {unknown.tolist()} are not among the column's categories "
                f"{dtype.categories.tolist()}."
            )
    if dtype == np.bool_ and pd.isna(values).any():  # NaN would become True
        return pd.Series(values, dtype=object)
    return pd.Series(values, dtype=dtype)


def _is_joint(mechanism: Any) -> bool:
    return bool(getattr(mechanism, "joint", False))


def _scaled(mechanism: Any, factor: float) -> Mechanism:
    if not callable(getattr(mechanism, "scaled", None)):
        raise TypeError(f"{mechanism!r} has no method scaled, so it cannot be made stronger.")
    return mechanism.scaled(factor)


def _mechanism_of(column: Any, error: Any, bounds: Any) -> Mechanism:
    """Return the mechanism of a measurement's error: a number, a percentage, or a mechanism."""
    if isinstance(error, Mechanism) and not isinstance(error, type):
        if bounds is not None:
            raise ValueError(f"bounds: {column!r} has a mechanism, which takes bounds itself.")
        return error
    if bounds is not None and (not isinstance(bounds, tuple | list) or len(bounds) != 2):
        raise ValueError(f"bounds must be (low, high) for {column!r}, got {shown(bounds)}.")
    low, high = bounds or (None, None)
    with naming(f"errors, column {column!r}"):
        if not isinstance(error, str):
            return GaussianNoise(error, low=low, high=high)
        number = error.strip().removesuffix("%")
        try:
            percent = float(number) if error.strip().endswith("%") else None
        except ValueError:
            percent = None
        if percent is None:
            raise ValueError(f"must be a number, a percentage such as '10%', got {error!r}.")
        return RelativeNoise(percent / 100, low=low, high=high)


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


def _describe(names: list | None) -> str:
    return "no names" if names is None else str(names)
