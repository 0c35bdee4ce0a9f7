"""How one feature, or a few together, are perturbed (section 3.2 of the paper, and beyond).

A mechanism has two methods: ``fit(column)`` learns what it needs from training data, and
``sample(column, size, rng)`` returns ``size`` perturbed copies of a column. Anything with these
two methods works in a `Perturbation`.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, Self, TypeGuard, runtime_checkable

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from pvf import _checks as check
from pvf._checks import shown
from pvf._settings import Settings
from pvf._types import Array, ArrayLike, NDArray

AtBounds = Literal["reflect", "truncate"]


class UnchangeableError(ValueError):
    """A column holds nothing that could change: one category, or no value at all."""


@runtime_checkable
class Mechanism(Protocol):
    """What `Perturbation` needs of a mechanism.

    A mechanism for several columns together has an attribute ``joint = True``. It is handed their
    table of shape (n_samples, n_columns), and its ``sample`` returns copies of shape (size,
    n_samples, n_columns). A mechanism sees missing values as they are; those of this package leave
    them untouched inside a `Perturbation`.

    Examples
    --------
    >>> class Swapped:
    ...     def fit(self, column):
    ...         return self
    ...     def sample(self, column, size, rng):
    ...         return np.stack([rng.permutation(column) for _ in range(size)])
    >>> isinstance(Swapped(), Mechanism)
    True
    """

    def fit(self, column: Any) -> Any:
        """Learn from a column of training data."""

    def sample(self, column: Any, size: int, rng: np.random.Generator) -> Any:
        """Return ``size`` perturbed copies of ``column``, of shape (size, n_samples)."""


class CellMechanism(Settings, ABC):
    """A mechanism that turns one random number a cell into the cell's perturbed value.

    Such numbers can be drawn for many columns in one call and turned into values for many sets
    in another; the result is the same as column by column and set by set.
    """

    source: ClassVar[str]  # the Generator's method that draws the numbers
    strength: ClassVar[str]  # the argument that says how strong the perturbation is
    joint: ClassVar[bool] = False  # whether it perturbs several columns together

    def scaled(self, factor: float) -> Self:
        """Return a new mechanism, ``factor`` times as strong; a probability ends at 1.

        Parameters
        ----------
        factor : float
            0 or more.

        Returns
        -------
        A mechanism of the same kind, not fitted.
        """
        check.number("factor", factor, 0)
        settings = self.get_params(deep=False)
        stronger = factor * settings[self.strength]
        settings[self.strength] = min(stronger, 1) if self.strength == "probability" else stronger
        return type(self)(**settings)

    @abstractmethod
    def fit(self, column: ArrayLike) -> Self:
        """Learn from a column of training data."""

    def sample(self, column: ArrayLike, size: int, rng: np.random.Generator) -> NDArray:
        """Return perturbed copies of a column.

        Parameters
        ----------
        column : array-like of shape (n_samples,); of a joint mechanism a table
        size : int
            Number of copies.
        rng : numpy Generator

        Returns
        -------
        ndarray of shape (size, n_samples), or that of so many tables
            Of the column's own kind of values; noise makes whole numbers float64.

        Raises
        ------
        ValueError, TypeError
            A value is missing, infinite, not seen at `fit`, or of the wrong kind.
        NotFittedError
            The mechanism learns from data, and `fit` has not been called.
        """
        check.integer("size", size, 1)
        check.rng(rng)
        given = column if self.joint else values_of(column)
        transform = self.prepare(given)
        return transform(getattr(rng, self.source)((size, *np.shape(given))))

    @abstractmethod
    def prepare(self, column: ArrayLike) -> Callable[[Array], NDArray]:
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


@dataclass(eq=False, repr=False)
class ChanceChange(CellMechanism):
    """A mechanism that changes a value with a probability, by one uniform draw a cell."""

    probability: float
    source = "random"
    strength = "probability"

    def __post_init__(self) -> None:
        """Check the arguments."""
        check.number("probability", self.probability, 0, 1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({float(self.probability):g})"


@dataclass(eq=False, repr=False, kw_only=True)
class _Noise(CellMechanism):
    """What adds noise to numbers: a spread for each value, times one standard draw a cell."""

    source = "standard_normal"
    low: float | None = None
    high: float | None = None
    at_bounds: AtBounds = "reflect"

    def __post_init__(self) -> None:
        """Check the arguments."""
        check.number(self.strength, getattr(self, self.strength), 0)
        for name in ("low", "high"):
            if getattr(self, name) is not None:
                check.number(name, getattr(self, name), -np.inf)
        if self._limits[0] >= self._limits[1]:
            raise ValueError(f"low must be below high, got {self.low!r} and {self.high!r}.")
        check.choice("at_bounds", self.at_bounds, ("reflect", "truncate"))

    def __repr__(self) -> str:
        bounds = {"low": self.low, "high": self.high}
        given = [f"{name}={value:g}" for name, value in bounds.items() if value is not None]
        how = [f"at_bounds={self.at_bounds!r}"] if self.at_bounds != "reflect" else []
        strength = f"{float(getattr(self, self.strength)):g}"
        return f"{type(self).__name__}({', '.join([strength, *given, *how])})"

    @property
    def _limits(self) -> tuple[float, float]:
        low, high = self.low, self.high
        return -np.inf if low is None else float(low), np.inf if high is None else float(high)

    def fit(self, column: ArrayLike) -> Self:
        """Check that the column is numeric and finite; there is nothing to learn.

        Parameters
        ----------
        column : array-like of shape (n_samples,)

        Returns
        -------
        The mechanism itself.

        Raises
        ------
        TypeError
            The column is not numeric.
        ValueError
            A value is missing, infinite, or out of bounds.
        """
        self._values(values_of(column))
        return self

    def prepare(self, column: ArrayLike) -> Callable[[Array], NDArray]:
        """Return what adds draws to the column."""
        values = self._values(column)
        return functools.partial(self._noisy, values)

    @abstractmethod
    def _spread(self, values: NDArray) -> float | NDArray:
        """Return what a standard draw is multiplied by, for each value."""

    def _standard(self, draws: Array) -> Array:
        """Return random numbers as standard draws."""
        return draws

    def _standard_within(self, draws: Array, low: NDArray, high: NDArray) -> Array:
        """Return random numbers as standard draws, given that these lie between low and high."""
        mass = ndtr(high) - ndtr(low)
        # each from its own side, where the tail's probabilities are exact
        below = ndtri(ndtr(low) + ndtr(draws) * mass)
        above = -ndtri(ndtr(-high) + ndtr(-draws) * mass)
        return np.where(draws < 0, below, above)

    def _noisy(self, values: NDArray, draws: Array) -> NDArray:
        spread, (low, high) = self._spread(values), self._limits
        if np.isinf(low) and np.isinf(high):
            noisy = values + spread * self._standard(draws)
        elif self.at_bounds == "truncate":
            width = np.where(np.equal(spread, 0), 1.0, spread)  # times 0 in the end
            with np.errstate(over="ignore"):  # a bound that is infinitely far for such noise
                limits = (low - values) / width, (high - values) / width
            within = self._standard_within(draws, *limits)
            noisy = np.clip(values + spread * within, low, high)
        else:
            noisy = _reflected(values + spread * self._standard(draws), low, high)
        return noisy.astype(values.dtype, copy=False)

    def _values(self, column: ArrayLike) -> NDArray:
        name = type(self).__name__
        values = _numbers(name, column)
        low, high = self._limits
        outside = (values < low) | (values > high)
        if outside.any():
            raise ValueError(
                f"The column holds {values[outside][0]:g}, outside of {name}'s bounds "
                f"[{low:g}, {high:g}]."
            )
        return values


@dataclass(eq=False, repr=False)
class GaussianNoise(_Noise):
    """Add independent noise from N(0, scale²) to a numeric feature.

    Parameters
    ----------
    scale : float
        Standard deviation σ, 0 or more, in the units of the feature as the perturbation meets it.
    low, high : float, optional
        Bounds that no perturbed value leaves; none by default.
    at_bounds : {"reflect", "truncate"}, default="reflect"
        Whether a value beyond a bound is reflected at it, or the noise comes from the normal
        distribution given that the value stays within.

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
    >>> GaussianNoise(3, low=0).sample([0.5], 1000, rng).min() >= 0
    np.True_
    """

    scale: float
    strength = "scale"

    def _spread(self, values: NDArray) -> float:  # noqa: ARG002
        return float(self.scale)


@dataclass(eq=False, repr=False)
class RelativeNoise(_Noise):
    """Add noise in proportion to the value: x' = x + share·abs(x)·Z, Z standard normal.

    Parameters
    ----------
    share : float
        Standard deviation as a share of the value (a coefficient of variation), 0 or more.
    low, high, at_bounds
        As in `GaussianNoise`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> RelativeNoise(0.1).sample([1.0, 100.0, 0.0], 2, rng).round(2)
    array([[ 1.01, 98.68,  0.  ],
           [ 1.01, 94.64,  0.  ]])
    """

    share: float
    strength = "share"

    def _spread(self, values: NDArray) -> NDArray:
        return float(self.share) * np.abs(values.astype(np.float64, copy=False))


@dataclass(eq=False, repr=False)
class RoundingError(_Noise):
    """Undo the rounding of a value that is known to the nearest ``step``.

    The perturbed value is uniform on the interval of width ``step`` around the recorded one.

    Parameters
    ----------
    step : float
        What values are multiples of, 0 or more, in the feature's units: 5 for a blood pressure
        read to the nearest 5 mmHg.
    low, high, at_bounds
        As in `GaussianNoise`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> RoundingError(5).sample([120, 125], 2, rng).round(1)
    array([[120.7, 123.8],
           [117.7, 122.6]])
    """

    step: float
    source = "random"
    strength = "step"

    def _spread(self, values: NDArray) -> float:  # noqa: ARG002
        return float(self.step) / 2

    def _standard(self, draws: Array) -> Array:
        return 2 * draws - 1

    def _standard_within(self, draws: Array, low: NDArray, high: NDArray) -> Array:
        low, high = np.maximum(low, -1), np.minimum(high, 1)
        return low + draws * (high - low)


class CorrelatedNoise(CellMechanism):
    """Add noise from N(0, covariance) to several numeric features together.

    Parameters
    ----------
    covariance : array-like of shape (n_columns, n_columns)
        Symmetric and positive semi-definite, in the features' units, in the order in which the
        perturbation names the columns.

    Examples
    --------
    >>> from pvf import Perturbation
    >>> X = pd.DataFrame({"systolic": [120.0, 140.0], "diastolic": [80.0, 90.0], "age": [50, 60]})
    >>> noise = CorrelatedNoise([[25, 12], [12, 9]])
    >>> perturbation = Perturbation([(["systolic", "diastolic"], noise)]).fit(X)
    >>> perturbation.sample(X, 1, np.random.default_rng(0)).round(1)
       systolic  diastolic  age
    0     120.4       79.9   50
    1     143.2       91.3   60
    """

    source = "standard_normal"
    strength = "covariance"
    joint = True

    def __init__(self, covariance: ArrayLike) -> None:
        matrix = check.finite("covariance", covariance)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
            raise ValueError(f"covariance must be a square matrix, got shape {matrix.shape}.")
        if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0):
            raise ValueError(f"covariance must be symmetric, got {shown(covariance)}.")
        values, vectors = np.linalg.eigh(matrix)
        if values.min() < -1e-9 * max(values.max(), 0):
            raise ValueError(
                f"covariance must be positive semi-definite, got the eigenvalue {values.min():g}."
            )
        self.covariance = covariance
        # the symmetric root, which exists where a Cholesky factor does not
        self._root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T

    def __repr__(self) -> str:
        return f"CorrelatedNoise({np.asarray(self.covariance).tolist()})"

    def scaled(self, factor: float) -> Self:
        """Return new noise whose standard deviations are ``factor`` times as large."""
        check.number("factor", factor, 0)
        return type(self)(factor**2 * np.asarray(self.covariance, dtype=float))

    def fit(self, column: Any) -> Self:
        """Check that the columns are numeric, and as many as the covariance says."""
        self._table(column)
        return self

    def prepare(self, column: Any) -> Callable[[Array], NDArray]:
        """Return what adds draws of shape (size, n_samples, n_columns) to the table."""
        values = self._table(column)
        # one row at a time, so that a table in parts has the same bits
        return lambda draws: values + np.einsum("...i,ij->...j", draws, self._root)

    def _table(self, table: Any) -> Array:
        given = check.table("column", table)
        frame = given if isinstance(given, pd.DataFrame) else pd.DataFrame(given).infer_objects()
        if frame.shape[1] != len(self._root):
            raise ValueError(
                f"covariance is for {len(self._root)} columns, and the perturbation names "
                f"{frame.shape[1]}."
            )
        values = np.full(frame.shape, np.nan)
        for place, (_, series) in enumerate(frame.items()):
            seen = series.notna().to_numpy()
            if seen.any():
                values[seen, place] = _numbers("CorrelatedNoise", series[seen])
        return values


def _numbers(mechanism: str, column: ArrayLike) -> NDArray:
    """Return a column's finite numbers, floats of their own precision."""
    series = column_of(column)
    if pd.api.types.is_bool_dtype(series) or not pd.api.types.is_numeric_dtype(series):
        raise TypeError(
            f"{mechanism} takes a numeric column, got dtype {series.dtype}; "
            "for categories take NominalFlip or OrdinalShift."
        )
    dtype: Any = np.float64
    if pd.api.types.is_float_dtype(series):
        dtype = getattr(series.dtype, "numpy_dtype", series.dtype)  # of nullable dtypes
    values = series.to_numpy(dtype=dtype, na_value=np.nan)
    refuse_missing(mechanism, int((~np.isfinite(values)).sum()), "finite numbers")
    return values


def _reflected(values: NDArray, low: float, high: float) -> NDArray:
    """Return values folded into [low, high], one end of which may be infinite."""
    if np.isinf(high):
        return low + np.abs(values - low)
    if np.isinf(low):
        return high - np.abs(high - values)
    within = (values - low) % (2 * (high - low))
    return np.clip(low + np.minimum(within, 2 * (high - low) - within), low, high)


class Missingness(ChanceChange):
    """Let a value go missing with a given probability, whatever it is.

    Parameters
    ----------
    probability : float in [0, 1]
        Share of the values that go missing. What is missing stays so.

    Examples
    --------
    >>> Missingness(0.5).sample([1.0, 2.0, 3.0], 2, np.random.default_rng(1))
    array([[ 1.,  2., nan],
           [ 1., nan, nan]])
    """

    def fit(self, column: ArrayLike) -> Self:
        """Check the column; there is nothing to learn."""
        values_of(column)
        self.prepare(column)
        return self

    def prepare(self, column: ArrayLike) -> Callable[[Array], NDArray]:
        """Return what turns draws below the probability into missing values."""
        series = column_of(column)
        if isinstance(column, np.ndarray) and column.dtype.kind in "US":
            raise TypeError(
                f"An array of dtype {column.dtype} cannot hold a missing value: give a frame, or "
                "an array of dtype object."
            )
        if pd.api.types.is_float_dtype(series) or pd.api.types.is_integer_dtype(series):
            dtype = series.dtype if isinstance(series.dtype, np.dtype) else np.dtype(float)
            kept = series.to_numpy(dtype=dtype if dtype.kind == "f" else float, na_value=np.nan)
        else:
            kept = series.to_numpy(dtype=object)
        return lambda draws: np.where(draws < float(self.probability), np.nan, kept).astype(
            kept.dtype, copy=False
        )


class WhereObserved(CellMechanism):
    """Perturb the values that are there; a missing one stays missing.

    A `Perturbation` does so by itself; this is for a mechanism that stands alone, or that must know
    more levels than the training data show.

    Parameters
    ----------
    mechanism : CellMechanism
        What perturbs a value: any mechanism of this package for a single column.
    levels : sequence, optional
        All levels of the column, if ``mechanism`` needs to know more than training data show.

    Examples
    --------
    >>> noise = WhereObserved(GaussianNoise(0.1)).fit([1.0, np.nan])
    >>> noise.sample([1.0, np.nan], 2, np.random.default_rng(0)).round(2)
    array([[1.01,  nan],
           [1.06,  nan]])
    """

    def __init__(self, mechanism: CellMechanism, levels: Sequence[Any] | None = None) -> None:
        if not makes_cells(mechanism) or mechanism.joint:
            raise TypeError(
                "mechanism must turn one random number a cell into a value, as GaussianNoise "
                f"does, got {shown(mechanism)}."
            )
        if levels is not None:
            check_levels("levels", levels)
        self.mechanism = mechanism
        self.levels = levels

    @property
    def source(self) -> str:  # type: ignore[override]
        """The wrapped mechanism's."""
        return self.mechanism.source

    def __repr__(self) -> str:
        return f"WhereObserved({self.mechanism!r})"

    def scaled(self, factor: float) -> Self:
        """Return a new mechanism, the wrapped one ``factor`` times as strong."""
        return type(self)(self.mechanism.scaled(factor), self.levels)

    def fit(self, column: Any) -> Self:
        """Let the mechanism learn from the values that are there, or from the levels given."""
        known = values_of(column) if self.levels is None else pd.Series(self.levels)
        fit_observed(self.mechanism, known)
        return self

    def prepare(self, column: Any) -> Callable[[Array], NDArray]:
        """Return what perturbs the values that are there by draws."""
        return prepare_observed(self.mechanism, column)


def makes_cells(mechanism: Any) -> TypeGuard[CellMechanism]:
    """Say whether a mechanism's copies are what it makes of one number a cell.

    A subclass whose ``sample`` is its own makes them in its own way.
    """
    if not isinstance(mechanism, CellMechanism):
        return False
    return getattr(mechanism.sample, "__func__", None) is CellMechanism.sample


def fit_observed(mechanism: CellMechanism, column: Any) -> None:
    """Let a mechanism learn from the values that are there; noise has nothing to learn."""
    series = values_of(column)
    seen = series.notna()
    if seen.any() or isinstance(series.dtype, pd.CategoricalDtype):
        known = column if seen.all() else series[seen]
        if not seen.any():  # a category declares its levels, whether they occur or not
            known = pd.Series(series.cat.categories, dtype=series.dtype)
        mechanism.fit(known)
    elif not isinstance(mechanism, _Noise | Missingness):
        raise UnchangeableError("The column has missing values only, and no level to learn.")


def prepare_observed(mechanism: CellMechanism, column: Any) -> Callable[[Array], NDArray]:
    """Return what perturbs the values that are there by draws, and leaves the missing ones."""
    series = column_of(column)
    seen = series.notna().to_numpy()
    if seen.all():
        return mechanism.prepare(column)
    change = mechanism.prepare(series[seen]) if seen.any() else lambda draws: draws
    gaps = series[~seen].to_numpy(dtype=object)

    def with_gaps(draws: Array) -> NDArray:
        changed = change(draws[:, seen])
        is_float = changed.dtype.kind == "f"
        copies = np.empty(draws.shape, dtype=changed.dtype if is_float else object)
        copies[:, ~seen] = np.nan if is_float else gaps
        copies[:, seen] = changed
        return copies

    return with_gaps


def column_of(column: Any) -> pd.Series:
    """Return a column as a series, whatever it came in."""
    if not isinstance(column, pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
        n_dimensions = check.array("column", column).ndim
        if n_dimensions != 1:
            raise ValueError(
                f"column must be one-dimensional, got {shown(column)} of {n_dimensions} dimensions."
            )
    series = pd.Series(column)
    if pd.api.types.is_complex_dtype(series):
        raise TypeError(f"column must not be complex, got dtype {series.dtype}.")
    return series


def values_of(column: Any) -> pd.Series:
    """Return a column that something can be learnt from."""
    series = column_of(column)
    if series.empty:
        raise UnchangeableError("column must hold at least one value, got none.")
    return series


def check_levels(name: str, value: Any) -> NDArray:
    """Return levels; refuse what names none, none twice, and nothing missing."""
    levels = check.array(name, value)
    if levels.ndim != 1 or not levels.size or pd.isna(levels).any():
        raise ValueError(f"{name} must name one level or more, none missing, got {shown(value)}.")
    if pd.Index(list(value), dtype=object).has_duplicates:
        raise ValueError(f"{name} must name each level once, got {list(value)}.")
    return levels


def refuse_missing(mechanism: str, n_missing: int, takes: str) -> None:
    """Refuse a column with missing or infinite values."""
    if n_missing:
        raise ValueError(
            f"{n_missing} missing or infinite values; {mechanism} takes {takes}: wrap it as "
            f"WhereObserved({mechanism}(...)) to leave missing ones as they are, impute first, or "
            "leave the column out of the mechanisms."
        )
