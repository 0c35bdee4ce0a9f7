"""The range of a function of a few shares that counts leave likely: its profile likelihood."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import rel_entr
from scipy.stats import chi2

from pvf._ranks import Array

ROUNDS = 8  # each looks closer at the best point of the one before
POINTS = 9
STEPS = 60  # of a bisection, which ends at the nearest float


def shares_at(found: float, total: float, root: Array) -> Array:
    """Return the share whose deviance has this signed root; the observed share has 0."""
    if total <= 0:  # nobody was seen: any share is likely
        return (1 + root / np.abs(root).max()) / 2
    observed = min(found / total, 1.0)
    outer = np.where(root < 0, 0.0, 1.0)
    inner = np.full(root.shape, observed)
    allowed = np.square(root) / (2 * total)
    for _ in range(STEPS):
        middle = (inner + outer) / 2
        deviance = rel_entr(observed, middle) + rel_entr(1 - observed, 1 - middle)
        inside = deviance <= allowed
        inner, outer = np.where(inside, middle, inner), np.where(inside, outer, middle)
    return inner


def profile_range(
    function: Callable[..., Array], tables: Sequence[tuple[float, float]], confidence: float
) -> tuple[float, float]:
    """Return the least and the largest value of a function of three likely shares.

    Those shares are likely whose deviances, each from its own table (found, total), add up to no
    more than the quantile of chi-squared with one degree of freedom: the profile likelihood
    interval of the function's value. The signed roots of the deviances lie in a ball; its surface
    is searched on a grid of angles, then closer and closer around the best point.
    """
    radius = float(np.sqrt(chi2.ppf(confidence, 1)))
    fine = np.linspace(-radius, radius, 1001)
    known = [shares_at(found, total, fine) for found, total in tables]

    def at(height: Array, turn: Array) -> Array:
        flat = radius * np.sqrt(np.maximum(1 - height**2, 0))
        roots = (flat * np.cos(turn), flat * np.sin(turn), radius * height)
        return function(*(np.interp(r, fine, share) for r, share in zip(roots, known, strict=True)))

    ends = []
    for sign in (-1.0, 1.0):
        centre, width = np.array([0.0, 0.0]), np.array([1.0, np.pi])
        best = -np.inf
        for step in range(ROUNDS):
            steps = np.linspace(-1, 1, POINTS if step else 33)
            height = np.clip(centre[0] + width[0] * steps, -1, 1)[:, None]
            turn = (centre[1] + width[1] * steps)[None, :]
            values = sign * at(*np.broadcast_arrays(height, turn))
            place = np.unravel_index(np.argmax(values), values.shape)
            best = max(best, float(values[place]))
            centre = np.array([height[place[0], 0], turn[0, place[1]]])
            width = width * (3 / len(steps))
        ends.append(sign * best)
    return ends[0], ends[1]
