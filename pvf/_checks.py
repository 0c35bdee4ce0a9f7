"""Checks of arguments: each error names the argument, what it got and what it takes."""

from __future__ import annotations

import datetime as dt
import inspect
import numbers
import reprlib
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import metrics
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from pvf._types import Array, ArrayLike, Axes, NDArray, Scorer

LARGEST = 2**31 - 1  # of a number of things: more could not be held
MOST_JOBS = 2**15
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 100


def array(name: str, value: Any) -> NDArray[Any]:
    """Return ``value`` as an array; refuse what is masked, ragged, complex or no array at all."""
    if isinstance(value, str | bytes | Mapping | Set | type) or callable(value):
        raise TypeError(f"{name} must be an array, got {shown(value)}.")
    if sparse.issparse(value):
        raise TypeError(f"{name} must be dense, got a sparse {type(value).__name__}.")
    if _is_masked(value):
        raise ValueError(f"{name} must not be missing, got masked values.")
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must not be ragged, got {shown(value)}: {error}") from error
    cells = array.flat if array.dtype == object else ()
    if array.dtype.kind in "cV" or any(isinstance(cell, complex | np.complex64) for cell in cells):
        raise TypeError(f"{name} must not be complex or structured, got {shown(value)}.")
    return array


def numeric(name: str, value: ArrayLike) -> Array:
    """Return ``value`` as floats; refuse text, masked and complex values."""

    def refused() -> TypeError:
        return TypeError(f"{name} must be numeric, got {shown(value)}.")

    if isinstance(value, bool | np.bool_):
        raise refused()
    try:
        given = array(name, value)
    except TypeError as error:
        raise refused() from error
    cells = given.flat if given.dtype == object else ()
    if given.dtype.kind not in "biufO" or any(isinstance(cell, str | bytes) for cell in cells):
        raise refused()
    try:
        return given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise refused() from error


def finite(name: str, value: ArrayLike) -> Array:
    """Return ``value`` as floats; refuse NaN and infinity too."""
    array = numeric(name, value)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)].flat[0]}.")
    return array


def shape(name: str, array: NDArray[Any], shape: tuple[int, ...], as_in: str = "") -> None:
    """Refuse an array of another shape; -1 stands for any length of 1 or more."""
    fits = len(shape) == array.ndim and all(
        n == want or (want == -1 and n) for n, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = str(shape).replace("-1", "n")
        source = f" as {as_in} says" if as_in else ""
        raise ValueError(f"{name} must have shape {wanted}{source}, got {array.shape}.")


def interval(
    name: str, value: ArrayLike, low: float, high: float, *, left_open: bool = False
) -> Array:
    """Return ``value`` as floats that all lie in [low, high], or (low, high]."""
    array = finite(name, value)
    outside = (array <= low if left_open else array < low) | (array > high)
    if outside.any():
        bracket = "(" if left_open else "["
        raise ValueError(
            f"{name} must lie in {bracket}{low:g}, {high:g}], got {array[outside].flat[0]:g}."
        )
    return array


def capacity(capacity: ArrayLike) -> Array:
    """Return the capacity γ, a share in (0, 1]."""
    return interval("capacity", capacity, 0, 1, left_open=True)


def number(
    name: str,
    value: Any,
    low: float,
    high: float = np.inf,
    *,
    left_open: bool = False,
    right_open: bool = False,
) -> float:
    """Return one finite number in [low, high], or without the ends that are open."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a number, got {shown(value)}.")
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    outside = number <= low if left_open else number < low
    if outside or number > high or not np.isfinite(number):
        takes = f"at least {low:g}"
        if high != np.inf:
            takes = f"in {'(' if left_open else '['}{low:g}, {high:g}]"
        raise ValueError(f"{name} must be finite and {takes}, got {shown(value)}.")
    if right_open and number == high:
        raise ValueError(f"{name} must be below {high:g}, got {high:g}.")
    return number


def fraction(name: str, value: Any) -> float:
    """Return a number above 0 and below 1."""
    return number(name, value, 0, 1, left_open=True, right_open=True)


def broadcast(**arguments: Array) -> tuple[Array, ...]:
    """Return the arguments broadcast against each other."""
    try:
        return np.broadcast_arrays(*arguments.values())
    except ValueError as error:
        shapes = ", ".join(f"{name} {value.shape}" for name, value in arguments.items())
        raise ValueError(f"The shapes must broadcast against each other, got {shapes}.") from error


def is_whole(value: Any) -> bool:
    """Tell a whole number, which True and False are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


def integer(name: str, value: Any, low: int, high: int | None = LARGEST) -> int:
    """Return one whole number in [low, high]; ``high=None`` is for seeds, which have no end."""
    if not is_whole(value):
        raise TypeError(f"{name} must be a whole number, got {shown(value)}.")
    number = int(value)
    if number < low:
        raise ValueError(f"{name} must be at least {low}, got {shown(value)}.")
    if high is not None and number > high:
        raise ValueError(f"{name} must be at most {high}, got {shown(value)}.")
    return number


def kind(name: str, value: Any, kinds: Any, takes: str) -> Any:
    """Return what is of some types; refuse all else, and say in words what is taken."""
    if not isinstance(value, kinds):
        raise TypeError(f"{name} must {takes}, got {shown(value)}.")
    return value


def flag(name: str, value: Any) -> bool:
    """Return True or False; what merely counts as one of them is more often a slip."""
    return bool(kind(name, value, bool | np.bool_, "be True or False"))


def text(name: str, value: Any) -> str | None:
    """Return a text, or None."""
    return kind(name, value, str | None, "be a text or None")


def choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return one of a few texts."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {choices}, got {shown(value)}.")
    return value


def n_jobs(n_jobs: Any) -> int | None:
    """Return a number of workers as joblib takes it."""
    if n_jobs is None:
        return None
    number = integer("n_jobs", n_jobs, -LARGEST, MOST_JOBS)
    if number == 0:
        raise ValueError("n_jobs must be None or a whole number other than 0, got 0.")
    return number


def rng(rng: Any) -> np.random.Generator:
    """Return a generator, which nothing stands in for."""
    return kind("rng", rng, np.random.Generator, "be a numpy Generator")


def axes(ax: Any) -> Axes | None:
    """Return Matplotlib axes, or None."""
    if ax is None:
        return None
    from matplotlib.axes import Axes  # noqa: PLC0415  loaded when something is drawn

    return kind("ax", ax, Axes, "be Matplotlib axes or None")


def label(name: str, value: Any) -> Any:
    """Return what can name a class: a text, a number, or another single value."""
    is_label = isinstance(value, str | bytes | numbers.Real | np.generic | dt.date)
    if not is_label or isinstance(value, complex | np.complex64) or bool(pd.isna(value)):
        raise TypeError(f"{name} must be one label, got {shown(value)}.")
    return value


def column(name: str, value: Any) -> NDArray[Any]:
    """Return one column with at least one value, none of them missing."""
    values = array(name, value)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be one column (one-dimensional), got "
            f"{f'shape {values.shape}' if values.ndim else shown(value)}."
        )
    if len(values) == 0:
        raise ValueError(f"{name} is empty: it takes at least one value.")
    missing = pd.isna(values)
    if missing.any():
        raise ValueError(f"{name} must have no missing values, got {int(missing.sum())}.")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite, got infinite values.")
    if values.dtype == object:
        kinds = {"str" if isinstance(cell, str) else type(cell).__name__ for cell in values}
        if len(kinds) > 1 and not all(isinstance(cell, numbers.Real) for cell in values):
            raise ValueError(f"{name} must hold labels of one type, got {sorted(kinds)}.")
        label(name, values[0])
    return values


def table(name: str, value: Any) -> Any:
    """Return a frame as it is, and anything else as a two-dimensional array with cells in it."""
    if isinstance(value, pd.DataFrame):
        cells, given = value, value.select_dtypes("complex").columns.tolist()
        if given:
            raise TypeError(f"{name} must not be complex, got the columns {given}.")
        if any(isinstance(dtype, pd.SparseDtype) for dtype in value.dtypes):
            raise TypeError(
                f"{name} must be a dense table, got sparse columns: pass {name}.sparse.to_dense()."
            )
    else:
        if sparse.issparse(value):
            raise ValueError(f"{_no_table(name, value, value.ndim)} Pass {name}.toarray().")
        if hasattr(value, "to_pandas"):  # polars, pyarrow: their names and types would be lost
            raise TypeError(
                f"{name} must be a pandas frame or an array, got {type(value).__module__}."
                f"{type(value).__name__}: pass {name}.to_pandas()."
            )
        cells = array(name, value)
    if cells.ndim != 2:
        raise ValueError(_no_table(name, value, cells.ndim))
    if 0 in cells.shape:
        raise ValueError(
            f"{name} must have at least one row and one column, got shape {cells.shape}."
        )
    return cells


def _no_table(name: str, value: Any, n_dimensions: int) -> str:
    return (
        f"{name} must be a dense table of shape (n_samples, n_features), "
        f"got {type(value).__name__} of {n_dimensions} dimensions."
    )


def samples(name: str, value: Any, n_samples: int | None = None, other: str = "y") -> Any:
    """Return samples of any kind that a model may take, as many as there are labels, if any."""
    is_table = isinstance(value, pd.DataFrame) or sparse.issparse(value)
    if not is_table and array(name, value).ndim == 0:
        raise TypeError(f"{name} must hold samples, got {shown(value)}.")
    n_rows = value.shape[0] if hasattr(value, "shape") else len(value)
    if n_samples is not None and n_rows != n_samples:
        raise ValueError(
            f"{name} and {other} must have the same length, got {n_rows} and {n_samples}."
        )
    return value


def scorer(scoring: Any) -> Scorer:
    """Return a scorer; a metric, whose arguments are others, is told apart."""
    if isinstance(scoring, str):
        try:
            return metrics.get_scorer(scoring)
        except (ValueError, KeyError) as error:
            raise ValueError(
                f"scoring must be the name of a scikit-learn scorer, got {shown(scoring)}; "
                "sklearn.metrics.get_scorer_names() lists them."
            ) from error
    if not callable(scoring) or isinstance(scoring, type):
        raise TypeError(
            "scoring must be the name of a scikit-learn scorer or a callable "
            f"(estimator, X, y) -> float, got {shown(scoring)}."
        )
    module = getattr(scoring, "__module__", None) or ""
    is_metric = module.startswith(("sklearn.metrics.", "pvf.metrics"))
    if is_metric and inspect.isfunction(scoring):
        raise ValueError(
            f"scoring got the metric {scoring.__name__}; it takes a scorer: make one with "
            "sklearn.metrics.make_scorer or pvf.intervention_efficiency_scorer."
        )
    return cast("Scorer", scoring)


def fitted(name: str, model: Any) -> None:
    """Refuse what does not predict, or is not fitted."""
    if isinstance(model, type) or not hasattr(model, "predict"):
        raise TypeError(f"{name} must be an estimator with predict, got {shown(model)}.")
    try:
        if isinstance(model, BaseEstimator) and hasattr(model, "fit"):
            check_is_fitted(model)
    except NotFittedError as error:
        raise NotFittedError(
            f"{name} ({type(model).__name__}) is not fitted; fit it on training data."
        ) from error


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Put in front of an error raised inside the block what it is about."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if len(error.args) == 1:
            error.args = (f"{what}: {error.args[0]}",)
        raise


def shown(value: Any) -> str:
    """Return what an error shows of a value: never pages of it."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # Python writes out no number of more than 4300 digits
        return f"a very large {type(value).__name__}"


def _is_masked(value: Any) -> bool:
    """Tell whether a value is missing behind a mask, also inside of lists."""
    if isinstance(value, list | tuple):
        nested = (list, tuple, np.ma.MaskedArray)
        return any(_is_masked(part) for part in value if isinstance(part, nested))
    # pandas' nullable arrays have a mask too, and np.ma takes it for one of its own
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))
