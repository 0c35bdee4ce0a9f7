"""Checks of arguments: each error names the argument, what it got and what it takes."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def check_finite(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return ``value`` as floats; refuse text, NaN and infinity."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biufO" or any(isinstance(cell, str) for cell in given.flat):
            raise TypeError(f"dtype {given.dtype}")
        array = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numeric, got {value!r}.") from error
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)].flat[0]}.")
    return array


def check_interval(
    name: str, value: ArrayLike, low: float, high: float, *, left_open: bool = False
) -> NDArray[np.float64]:
    """Return ``value`` as floats that all lie in [low, high], or (low, high]."""
    array = check_finite(name, value)
    outside = (array <= low if left_open else array < low) | (array > high)
    if outside.any():
        bracket = "(" if left_open else "["
        raise ValueError(
            f"{name} must lie in {bracket}{low:g}, {high:g}], got {array[outside].flat[0]:g}."
        )
    return array


def check_capacity(capacity: ArrayLike) -> NDArray[np.float64]:
    """Return the capacity γ, a share in (0, 1]."""
    return check_interval("capacity", capacity, 0, 1, left_open=True)


def check_number(
    name: str, value: Any, low: float, high: float = np.inf, *, left_open: bool = False
) -> float:
    """Return one finite number in [low, high], or (low, high]."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    number = float(value)
    outside = number <= low if left_open else number < low
    if outside or number > high or not np.isfinite(number):
        takes = f"at least {low:g}"
        if high != np.inf:
            takes = f"in {'(' if left_open else '['}{low:g}, {high:g}]"
        raise ValueError(f"{name} must be finite and {takes}, got {value!r}.")
    return number


def check_broadcast(**arguments: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return the arguments broadcast against each other."""
    try:
        return np.broadcast_arrays(*arguments.values())
    except ValueError as error:
        shapes = ", ".join(f"{name} {value.shape}" for name, value in arguments.items())
        raise ValueError(f"The shapes must broadcast against each other, got {shapes}.") from error


def check_integer(name: str, value: Any, low: int) -> int:
    """Return one whole number of at least ``low``."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a whole number, got {value!r}.")
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value}.")
    return int(value)
