"""How likely a noisy copy is flagged by Gaussian naive Bayes, whose odds are a sum of squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr

from pvf._ensembles import MOST_ERROR, Law, Levels, NoLawError, combinations
from pvf._types import Array

_TAIL = 1e-12  # chance of odds beyond those for which the inversion is right
_MOST_WAVES = 2**17
_MOST_LEVELS = 2**12  # combinations of levels that are listed
_PER_BLOCK = 2**22  # samples times waves


def law_of_bayes(model: Any, values: Array, levels: Levels, scale: Array) -> Law:
    """Return each sample's probability of the second class, and within what it is known.

    The log odds under Gaussian noise z are Σ (α z² + β z) + γ, with levels a further term each.
    Their law is inverted from its Fourier transform by the trapezoidal rule (Davies 1980, Algorithm
    AS 155), whose two errors are bounded: by Chernoff's bound of odds beyond one period, and by the
    decay of the transform behind the last wave.
    """
    if len(model.classes_) != 2:
        raise NoLawError("no exact law is known for naive Bayes of other than two classes")
    (mean, other), (var, of_other) = model.theta_, model.var_
    bend, tilt = (1 / var - 1 / of_other) / 2, other / of_other - mean / var
    start = (
        np.log(model.class_prior_[1] / model.class_prior_[0])
        + np.sum(np.log(var / of_other) + mean**2 / var - other**2 / of_other) / 2
    )
    moved = [j for features in levels for j in features]
    odds = values * (bend * values + tilt)
    odds[:, moved] = 0
    steps = [
        ((v * (bend[[*features]] * v + tilt[[*features]])).sum(axis=1), p)
        for features, (v, p) in levels.items()
    ]
    noisy = np.flatnonzero(scale > 0)
    alpha = bend[noisy] * scale[noisy] ** 2
    beta = scale[noisy] * (2 * bend[noisy] * values[:, noisy] + tilt[noisy])
    sums = _Odds(alpha, beta, odds.sum(axis=1) + start, steps)
    if len(noisy) < 2 and np.prod([len(terms) for terms, _ in steps], dtype=object) <= _MOST_LEVELS:
        return sums.by_roots()
    chance, error = sums.inverted()
    if error.max() > MOST_ERROR:
        raise NoLawError(f"the law of GaussianNB is known to {error.max():.1g} only")
    return chance, error


class _Odds:
    """The log odds of all samples: Σ (α z² + β z) + γ, and a term for each column's levels."""

    def __init__(
        self, alpha: Array, beta: Array, gamma: Array, steps: list[tuple[Array, Array]]
    ) -> None:
        self.alpha, self.beta, self.gamma, self.steps = alpha, beta, gamma, steps

    def by_roots(self) -> Law:
        """Return how likely the odds of at most one noisy input are above 0, levels by levels."""
        found = np.zeros_like(self.gamma)
        for chance, gamma in combinations(self.steps, self.gamma):
            found += chance * self._above(gamma)
        return np.clip(found, 0, 1), np.zeros_like(found)

    def _above(self, gamma: Array) -> Array:
        """Return how likely α z² + β z + γ of at most one input is above 0."""
        alpha, beta = self.alpha.sum(), self.beta.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            if alpha == 0:
                return np.where(beta == 0, gamma > 0, ndtr(gamma / np.abs(beta)))
            root = np.sqrt(np.maximum(beta**2 - 4 * alpha * gamma, 0)) / abs(2 * alpha)
        middle = -beta / (2 * alpha)
        between = ndtr(middle + root) - ndtr(middle - root)
        return between if alpha < 0 else 1 - between

    def inverted(self) -> Law:
        """Return how likely the odds are above 0, and the bound of both errors."""
        # Chernoff's bounds: of log P(odds <= 0) and of log P(odds >= 0)
        below, above = (
            np.min([log for _, log in self._moments(sign)], axis=0) for sign in (-1.0, 1.0)
        )
        found = (below < above).astype(np.float64)
        error = np.exp(np.minimum(np.minimum(below, above), 0))
        rows = np.flatnonzero(error > _TAIL)
        if not len(rows):
            return found, error
        open_ = _Odds(
            self.alpha, self.beta[rows], self.gamma[rows], [(t, p[rows]) for t, p in self.steps]
        )
        width = 2 * np.pi / open_._reach()
        n_waves = 2**6
        while n_waves < _MOST_WAVES and open_._behind(n_waves * width).max() > _TAIL:
            n_waves *= 2
        per_block = max(1, _PER_BLOCK // len(rows))
        total = np.zeros(len(rows))
        for first in range(0, n_waves, per_block):
            place = np.arange(first, min(first + per_block, n_waves)) + 0.5
            total += (open_._transform(width * place).imag / (np.pi * place)).sum(axis=1)
        found[rows] = np.clip(0.5 + total, 0, 1)
        error[rows] = _TAIL + open_._behind(n_waves * width) + 1e-15 * np.sqrt(n_waves)
        return found, error

    def _transform(self, u: NDArray[np.floating[Any]]) -> NDArray[np.complex128]:
        """Return E exp(iu odds), one row a sample."""
        bent = 1 - 2j * np.outer(self.alpha, u)
        log = -np.log(bent).sum(axis=0) / 2 - u**2 / 2 * (self.beta**2 @ (1 / bent))
        found = np.exp(log + 1j * np.outer(self.gamma, u))
        for terms, chances in self.steps:
            found *= chances @ np.exp(1j * np.outer(terms, u))
        return found

    def _behind(self, u: float) -> Array:
        """Return a bound of what the waves behind u add up to.

        The transform is at most exp(-exponent) Π (1 + 4 α² u²)^(-1/4), both of which fall.
        """
        squares = 4 * u**2 * self.alpha**2
        exponent = u**2 / 2 * (self.beta**2 @ (1 / (1 + squares)))
        bent = squares > 0
        by_power = np.inf
        if bent.any():
            by_power = 2 / bent.sum() * np.exp(-np.log(squares[bent]).sum() / 4)
        straight = u**2 / 2 * (self.beta[:, ~bent] ** 2).sum(axis=1)
        with np.errstate(divide="ignore"):
            return np.exp(-exponent) * np.minimum(by_power, 1 / (2 * straight)) / np.pi

    def _reach(self) -> float:
        """Return how far from 0 the odds are, but for a chance of _TAIL at each end."""
        ends = [
            np.min([(log - np.log(_TAIL)) / s for s, log in self._moments(sign)], axis=0).max()
            for sign in (-1.0, 1.0)
        ]
        return float(max(ends))

    def _moments(self, sign: float) -> list[tuple[float, Array]]:
        """Return log E exp(s sign odds) at some s > 0 where it is finite."""
        scale = np.sqrt(2 * np.sum(self.alpha**2) + (self.beta**2).sum(axis=1).max() + 1e-300)
        steepest = float((sign * self.alpha).max(initial=0.0))
        grid = np.geomspace(1e-2, 1e3, 40) / scale
        if steepest > 0:
            grid = np.concatenate([grid, np.array([0.2, 0.5, 0.8, 0.95]) / (2 * steepest)])
        found = []
        for s in grid[2 * grid * steepest < 1]:
            bent = 1 - 2 * s * sign * self.alpha
            log = s**2 / 2 * (self.beta**2 @ (1 / bent)) - np.log(bent).sum() / 2
            log = log + s * sign * self.gamma
            for terms, chances in self.steps:
                with np.errstate(divide="ignore"):
                    log = log + logsumexp(s * sign * terms, b=chances, axis=1)
            found.append((float(s), log))
        return found
