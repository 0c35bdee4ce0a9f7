"""Scores of models as arrays: what they may be, and how they are seen class by class."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches

from pvf import _checks as check
from pvf._checks import shown
from pvf._types import Array, ArrayLike, Indices, NDArray

LN2 = float(np.log(2))


def as_scores(scores: ArrayLike) -> NDArray[Any]:
    """Return the scores as a numeric array of two or three axes; values are checked in blocks."""
    array = numbers_of("scores", scores)
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] < 2):
        raise ValueError(
            "scores must have shape (n_models, n_samples), for the positive class of two, or "
            f"(n_models, n_samples, n_classes), got {array.shape}"
            + (": one model, without the others." if array.ndim == 1 else ".")
        )
    if not len(array):
        raise ValueError("scores must hold at least one model, got an empty Rashomon set.")
    return array


def numbers_of(name: str, value: ArrayLike) -> NDArray[Any]:
    """Return numbers as they are, in single precision too, and objects as floats."""
    array = check.array(name, value)
    return array if array.dtype.kind in "biuf" else check.numeric(name, array)


def n_classes(array: NDArray[Any]) -> int:
    """Return the number of classes that scores tell apart."""
    return array.shape[2] if array.ndim == 3 else 2


def sample_blocks(array: NDArray[Any], budget: float) -> Iterator[slice]:
    """Return slices over samples whose work fits into ``budget`` bytes."""
    n_models, n_samples = array.shape[:2]
    # About eight arrays of the block's size are alive at once in the many-class case.
    per_sample = 8 * 8 * n_models * (n_classes(array) if array.ndim == 3 else 1)
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


def positive_scores(block: NDArray[Any]) -> Array:
    """Return probabilities of the positive class, (models × samples)."""
    if block.ndim == 3:
        return class_scores(block)[:, :, 1]
    block = block.astype(np.float64, copy=False)
    _check_probabilities(block)
    return np.clip(block, 0, 1)


def class_scores(block: NDArray[Any]) -> Array:
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


def widest_range(array: NDArray[Any]) -> tuple[Indices, Array, Array]:
    """Return the class whose scores differ most in each sample, and its extreme scores."""
    if n_classes(array) == 2:
        positive = positive_scores(array)
        return np.ones(array.shape[1], dtype=np.intp), positive.min(axis=0), positive.max(axis=0)
    rows = class_scores(array)
    low, high = rows.min(axis=0), rows.max(axis=0)
    widest = (high - low).argmax(axis=1)
    samples = np.arange(len(widest))
    return widest, low[samples, widest], high[samples, widest]


def check_sample_names(name: str, value: Any, n_samples: int, source: str = "scores") -> None:
    """Refuse what doesn't name each sample of another argument."""
    if not isinstance(value, pd.Index | pd.Series):
        names = check.array(name, value)
        if names.ndim != 1:
            raise TypeError(f"{name} must name each sample, got {shown(value)}.")
    if len(value) != n_samples:
        raise ValueError(
            f"{name} must name each of the {n_samples} samples of {source}, got {len(value)}."
        )


def warn_of_gaps(gap: Array, tol: float, unit: str, name: str) -> None:
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
