"""A list of limited length: how many places there are, and who stands on the list by a score."""

from __future__ import annotations

import numbers
from typing import Any, Literal

import numpy as np

from pvf import _checks as check
from pvf._checks import shown
from pvf._types import Array, ArrayLike, Indices

Unit = Literal["share", "places"] | None

#: Scores closer to each other than this, relative to their size, differ by rounding alone.
SAME = 16 * float(np.finfo(np.float64).eps)


def scalar_or_array(value: Array) -> Array | float:
    """Return a float for what has no axes."""
    return float(value) if np.ndim(value) == 0 else value


def check_unit(unit: Any) -> None:
    """Refuse what is no unit of capacity."""
    if unit is not None:
        check.choice("capacity_unit", unit, ("share", "places"))


def check_room(capacity: ArrayLike, unit: Unit = None) -> tuple[Array, bool]:
    """Return a capacity, and whether it counts places rather than being a share in (0, 1]."""
    check_unit(unit)
    if unit == "places":
        return check.interval("capacity", capacity, 0, np.inf, left_open=True), True
    given = check.numeric("capacity", capacity)
    whole = _are_whole(capacity)
    if unit is None and whole and given.size:
        if (given == 1).any():
            raise ValueError(
                f"capacity={shown(capacity)} may mean everybody or one place: write 1.0 for the "
                "share, or pass capacity_unit='share' or 'places'."
            )
        if (given >= 2).all():
            return check.interval("capacity", capacity, 2, np.inf), True
    return check.capacity(capacity), False


def check_one_room(capacity: Any, unit: Unit = None) -> tuple[Array, bool]:
    """Return one capacity, and whether it counts places."""
    check_unit(unit)
    is_share = unit == "share" or not (unit == "places" or isinstance(capacity, numbers.Integral))
    check.number("capacity", capacity, 0, 1 if is_share else np.inf, left_open=True)
    return check_room(capacity, unit)


def _are_whole(capacity: Any) -> bool:
    """Tell whether whole numbers were written, and not floats that are whole."""
    if isinstance(capacity, numbers.Integral):
        return True
    array = np.asarray(capacity)
    return array.dtype.kind in "iu" or (
        array.dtype == object and all(isinstance(cell, numbers.Integral) for cell in array.flat)
    )


def share_of(room: tuple[Array, bool], population: float | Array) -> Array:
    """Return a capacity as a share of so many people."""
    value, are_places = room
    if not are_places:
        return value
    if np.any(value > np.multiply(population, 1 + SAME)):
        raise ValueError(
            f"capacity must be at most the {np.min(population):g} people, "
            f"got {value.max():g} places."
        )
    return np.minimum(value / population, 1.0)


def check_scores(name: str, scores: ArrayLike, n_samples: int) -> Array:
    """Return one score a person; infinite ones are the highest or the lowest."""
    array = check.numeric(name, scores)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2 and array.shape[1] > 1:
        raise ValueError(
            f"{name} must hold one score a person, shape ({n_samples},), got {array.shape}: of "
            "predict_proba take the column of the case."
        )
    check.shape(name, array, (n_samples,), as_in="y_true")
    if np.isnan(array).any():
        raise ValueError(f"{name} must have no missing values, got {int(np.isnan(array).sum())}.")
    return array


def levels_of(score: Array) -> Indices:
    """Return the place of each score's level, 0 for the highest; ties are one level."""
    order = np.argsort(-score, kind="stable")
    ordered = score[order]
    with np.errstate(invalid="ignore"):
        gap = ordered[:-1] - ordered[1:]  # inf - inf is a tie
        size = np.maximum(np.abs(ordered[:-1]), np.abs(ordered[1:]))
        new = gap > SAME * np.where(np.isinf(size), 0, size)
    levels = np.empty(len(score), dtype=np.intp)
    levels[order] = np.concatenate([[0], np.cumsum(new)])
    return levels


def ladder(levels: Indices, amount: Array) -> Array:
    """Return 0 and the sums of an amount down to each level, in whatever order the rows stand."""
    order = np.lexsort((amount, levels))
    starts = np.flatnonzero(np.diff(levels[order], prepend=-1))
    sums = np.add.reduceat(amount[order], starts)
    return np.concatenate([[0.0], np.cumsum(sums)])


def captured(levels: Indices, weight: Array, value: Array, room: Array) -> Array:
    """Return the expected value that so many people from the top have.

    Who stand at the edge on one level share the places that are left; a fraction of a place is
    that fraction of the next person. Both are the line between two levels.
    """
    present = weight > 0
    levels, weight, value = levels[present], weight[present], value[present]
    people, values = ladder(levels, weight), ladder(levels, weight * value)
    return np.interp(room, people, values)


def chances(score: Array, weight: Array, share: float) -> Array:
    """Return each person's chance of a place."""
    levels = levels_of(score)
    sums = np.bincount(levels, weight)
    before = np.cumsum(sums) - sums
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = np.clip((share * weight.sum() - before) / sums, 0, 1)
    return np.where(sums > 0, chance, 0.0)[levels]
