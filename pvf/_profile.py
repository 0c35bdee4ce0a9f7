"""The range of a function of a few shares that counts leave likely: by profiling."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import betaincinv, ndtr
from scipy.stats import chi2

from pvf._types import Array

ROUNDS = 8  # each looks closer at the best point of the one before
POINTS = 9


def shares_at(found: float, total: float, root: Array, *, exact: bool = False) -> Array:
    """Return the shares that counts put at so many standard deviations from the observed one.

    The quantiles of the beta distribution with half a case and half a non-case added (Jeffreys),
    or the exact binomial limits of Clopper and Pearson, which are wider.
    """
    if total <= 0:  # nobody was seen: any share is likely
        return (1 + root / np.abs(root).max()) / 2
    found, others = min(found, total), max(total - found, 0.0)
    level = ndtr(root)
    if not exact:
        return betaincinv(found + 0.5, others + 0.5, level)
    low = betaincinv(found, others + 1, level) if found > 0 else np.zeros(root.shape)
    high = betaincinv(found + 1, others, level) if others > 0 else np.ones(root.shape)
    observed = found / total
    return np.where(root < 0, np.minimum(low, observed), np.maximum(high, observed))


def signed_root(confidence: float) -> float:
    """Return how far a signed root may lie from 0."""
    return float(np.sqrt(chi2.ppf(confidence, 1)))


def profile_range(
    function: Callable[..., Array],
    tables: Sequence[tuple[float, float]],
    confidence: float,
    *,
    exact: bool = False,
) -> tuple[float, float]:
    """Return the least and the largest value of a function of three likely shares.

    Each share has its own table (found, total), which puts it so many standard deviations from
    the observed share. Those triples are likely whose squared distances add up to no more than the
    quantile of chi-squared with one degree of freedom, as in a profile likelihood interval of the
    function's value. They lie in a ball; its surface is searched on a grid of angles, then closer
    and closer around the best point.
    """
    radius = signed_root(confidence)
    fine = np.linspace(-radius, radius, 1001)
    known = [shares_at(found, total, fine, exact=exact) for found, total in tables]

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
