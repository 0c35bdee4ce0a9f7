"""Plain NumPy twin of the sweep's kernel: slow, short, and free of anything compiled by us.

It draws from the same random streams through `numpy.random.Generator`, so it must give the same
data, splits, oversampled rows, models, scores and best models as the synthetic `kernel`.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from studies.pvf2026.synthetic import kernel
from studies.pvf2026.synthetic.run import Repetition

PAIRS = [list(pair) for pair in itertools.combinations(range(5), 2)]


def numpy_repetition(
    key: NDArray[np.uint64],
    repetition: int,
    sizes: tuple[int, int, int, int],
    mu: float,
    sigma: float,
    plan: tuple[int, int, float, int, float],
    tables: tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]],
) -> Repetition:
    """Run one repetition in NumPy; the arguments are those of `kernel.trace_repetition`."""

    def stream(purpose: int) -> np.random.Generator:
        counter = [0, repetition, purpose, 0]
        return np.random.Generator(np.random.Philox(key=key, counter=counter))

    n_negatives, n_positives, n_validation_negatives, _ = sizes
    y = np.repeat([0, 1], [n_negatives, n_positives])
    X = stream(kernel.DATA).standard_normal((len(y), 5))
    X[y == 1, :2] += mu
    train, validation = split(stream(kernel.SPLIT), sizes)
    X_train, y_train = oversample(stream(kernel.OVERSAMPLING), X[train], y[train])
    models = np.array([fit_logistic(X_train[:, pair], y_train) for pair in PAIRS])
    margins = np.array(
        [w[0] + X[validation][:, pair] @ w[1:] for w, pair in zip(models, PAIRS, strict=True)]
    )
    flagged = margins > 0
    positive = np.arange(len(validation)) >= n_validation_negatives
    traditional = tables[0][flagged[:, positive].sum(axis=1), flagged[:, ~positive].sum(axis=1)]
    tp, fp = perturbed_counts(stream(kernel.NOISE), margins, models, sigma, positive, plan)
    scores = tables[2][np.arange(len(tables[2])), tables[1][tp, fp]]
    pvf = np.quantile(scores, plan[2], axis=1)
    return Repetition(
        X=X,
        y=y,
        train_rows=train,
        validation_rows=validation,
        X_train=X_train,
        y_train=y_train,
        models=models,
        margins=margins,
        traditional=traditional,
        pvf=pvf,
        tp=tp,
        fp=fp,
        best=np.array([best_models(pvf), best_models(traditional)]),
    )


def split(
    rng: np.random.Generator, sizes: tuple[int, int, int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the training and the validation part, negatives first in both."""
    rows = [np.arange(sizes[0]), np.arange(sizes[0], sizes[0] + sizes[1])]
    for members, n_validation in zip(rows, sizes[2:], strict=True):
        for last in range(len(members) - 1, len(members) - 1 - n_validation, -1):
            chosen = int(rng.random() * (last + 1))
            members[[last, chosen]] = members[[chosen, last]]
    train = [members[: len(members) - n] for members, n in zip(rows, sizes[2:], strict=True)]
    validation = [members[len(members) - n :] for members, n in zip(rows, sizes[2:], strict=True)]
    return np.concatenate(train), np.concatenate(validation)


def oversample(
    rng: np.random.Generator, X: NDArray[np.float64], y: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Training part with new minority rows at the end (SMOTE, or duplicates of a single one)."""
    minority = X[y == 1]
    n_new = (y == 0).sum() - len(minority)
    n_neighbours = min(5, len(minority) - 1)
    if n_neighbours == 0:
        new = np.repeat(minority, n_new, axis=0)
    else:
        squares = ((minority[:, None] - minority[None]) ** 2).sum(axis=2)
        np.fill_diagonal(squares, np.inf)
        neighbours = np.argsort(squares, axis=1)[:, :n_neighbours]
        choice, step = rng.random((n_new, 2)).T
        choice = (choice * (len(minority) * n_neighbours)).astype(int)
        base = choice // n_neighbours
        other = neighbours[base, choice % n_neighbours]
        new = minority[base] + step[:, None] * (minority[other] - minority[base])
    return np.vstack([X, new]), np.concatenate([y, np.ones(n_new, dtype=y.dtype)])


def fit_logistic(X: NDArray[np.float64], y: NDArray[np.int64]) -> NDArray[np.float64]:
    """Intercept and coefficients of L2-penalised logistic regression, C = 1, to the last digits."""
    design = np.column_stack([np.ones(len(X)), X])
    penalty = np.diag([0.0, 1.0, 1.0])
    w = np.zeros(3)
    for _ in range(100):
        p = 1 / (1 + np.exp(-design @ w))
        gradient = design.T @ (p - y) + penalty @ w
        step = np.linalg.solve((design.T * (p * (1 - p))) @ design + penalty, gradient)
        w = w - step
        if np.abs(step).max() < 1e-12:
            return w
    raise ArithmeticError("Newton's method did not converge in 100 steps.")


def perturbed_counts(
    rng: np.random.Generator,
    margins: NDArray[np.float64],
    models: NDArray[np.float64],
    sigma: float,
    positive: NDArray[np.bool_],
    plan: tuple[int, int, float, int, float],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return true and false positives (models × sets) on the perturbed validation sets."""
    n_sets, n_replicas, _, how, cutoff = plan
    width = sigma * np.linalg.norm(models[:, 1:], axis=1)[:, None]
    limit = np.zeros_like(width) if sigma == 0 else cutoff * width
    near = np.abs(margins) < limit
    if how == kernel.COUNTS:
        totals = [
            [
                _drawn_counts(rng, m[part], w, c[part], n_sets, n_replicas)
                for part in (positive, ~positive)
            ]
            for m, w, c in zip(margins, width[:, 0], near, strict=True)
        ]
        tp, fp = np.array(totals).transpose(1, 0, 2)
        return tp, fp
    flagged = np.empty((len(models), n_sets, n_replicas, margins.shape[1]), dtype=bool)
    if how == kernel.COMMON_NOISE:
        wanted = near.any(axis=0)
        noise = np.zeros((n_sets, n_replicas, margins.shape[1], 5))
        noise[:, :, wanted] = rng.standard_normal((n_sets, n_replicas, wanted.sum(), 5))
    for q, (w, pair) in enumerate(zip(models, PAIRS, strict=True)):
        if how == kernel.SEPARATE_NOISE:
            noise = rng.standard_normal((n_sets, n_replicas, margins.shape[1], 5))
        shifted = margins[q] + sigma * (noise[..., pair] @ w[1:])
        flagged[q] = np.where(near[q], shifted, margins[q]) > 0
    return flagged[..., positive].sum(axis=(2, 3)), flagged[..., ~positive].sum(axis=(2, 3))


def _drawn_counts(
    rng: np.random.Generator,
    margins: NDArray[np.float64],
    width: float,
    near: NDArray[np.bool_],
    n_sets: int,
    n_replicas: int,
) -> NDArray[np.int64]:
    """Draws of how many replicas land on the positive side, by inversion."""
    certain = n_replicas * int((margins[~near] > 0).sum())
    if not near.any():
        return np.full(n_sets, certain)
    masses = np.ones(1)
    for probability in norm.cdf(margins[near] / width):
        masses = np.convolve(masses, binom.pmf(np.arange(n_replicas + 1), n_replicas, probability))
    below = np.cumsum(masses)
    below[-1] = math.inf
    return certain + np.searchsorted(below, rng.random(n_sets), side="right")


def best_models(scores: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Set of best models for each metric, as bits."""
    tied = scores >= scores.max(axis=0) - kernel.TIE_TOLERANCE
    return (tied * 2 ** np.arange(len(scores))[:, None]).sum(axis=0).astype(np.uint16)
