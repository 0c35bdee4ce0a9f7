"""Logistic regressions on all pairs of features, compiled: Newton's method, to the last digits.

No fastmath, no threads, and no sum whose order depends on the machine's vector width.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

N_FEATURES = 5
PAIR_FIRST = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 3])
PAIR_SECOND = np.array([1, 2, 3, 4, 2, 3, 4, 3, 4, 4])
N_PAIRS = len(PAIR_FIRST)

MAX_NEWTON_STEPS = 25
STEP_TOLERANCE = 1e-5
"""A Newton step below this leaves an error of its square: some 1e-10 in a coefficient."""

_intrinsic: Any = intrinsic  # its type hints don't know that numba passes the first argument
_jit = njit(cache=True, error_model="numpy")
_inline = njit(cache=True, error_model="numpy", inline="always")


@_intrinsic
def _float_bits(typingctx, number):  # noqa: ARG001
    """Bits of a float, as an integer."""

    def codegen(context, builder, signature, arguments):  # noqa: ARG001
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@_intrinsic
def _float_of_bits(typingctx, bits):  # noqa: ARG001
    """Float with the given bits."""

    def codegen(context, builder, signature, arguments):  # noqa: ARG001
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), codegen


LOG2_E = 1.0 / math.log(2.0)
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
ROUNDER = 6755399441055744.0  # 1.5 · 2^52: adding it rounds to a whole number
E2, E3, E4, E5, E6, E7, E8, E9, E10, E11 = (1 / math.factorial(n) for n in range(2, 12))


@_inline
def exponential(x):
    """exp(x) within 1e-14 for |x| ≤ 700, without a branch, so that loops of it vectorise."""
    shifted = x * LOG2_E + ROUNDER
    power = shifted - ROUNDER
    f = (x - power * LN2_HIGH) - power * LN2_LOW
    p = E6 + f * (E7 + f * (E8 + f * (E9 + f * (E10 + f * E11))))
    p = 1.0 + f * (1.0 + f * (E2 + f * (E3 + f * (E4 + f * (E5 + f * p)))))
    return p * _float_of_bits((_float_bits(shifted) + 1023) << 52)


@_jit
def _newton_sums(x1, x2, labels, residuals, weights, w0, w1, w2):
    """Return the sums over the samples that a Newton step needs: gradient (3), Hessian (6)."""
    for i in range(x1.shape[0]):
        z = w0 + w1 * x1[i] + w2 * x2[i]
        z = z if z < 40.0 else 40.0
        z = z if z > -40.0 else -40.0
        p = 1.0 / (1.0 + exponential(-z))
        residuals[i] = p - labels[i]
        weights[i] = p * (1.0 - p)
    g0 = g1 = g2 = h00 = h01 = h02 = h11 = h12 = h22 = 0.0
    for i in range(x1.shape[0]):
        residual, weight = residuals[i], weights[i]
        a, b = x1[i], x2[i]
        wa, wb = weight * a, weight * b
        g0 += residual
        g1 += residual * a
        g2 += residual * b
        h00 += weight
        h01 += wa
        h02 += wb
        h11 += wa * a
        h12 += wa * b
        h22 += wb * b
    return g0, g1, g2, h00, h01, h02, h11, h12, h22


@_jit
def _solve(h00, h01, h02, h11, h12, h22, g0, g1, g2):
    """Solution of a symmetric positive definite system of three equations."""
    l10, l20 = h01 / h00, h02 / h00
    d1 = h11 - l10 * h01
    e12 = h12 - l10 * h02
    l21 = e12 / d1
    d2 = h22 - l20 * h02 - l21 * e12
    y1 = g1 - l10 * g0
    y2 = g2 - l20 * g0 - l21 * y1
    s2 = y2 / d2
    s1 = y1 / d1 - l21 * s2
    s0 = g0 / h00 - l10 * s1 - l20 * s2
    return s0, s1, s2


@_jit
def _moments(train, n_zeros, means, products):
    """Class means and uncentred products of all features, for the starting points."""
    n_samples = train.shape[1]
    for a in range(N_FEATURES):
        low = high = 0.0
        for i in range(n_zeros):
            low += train[a, i]
        for i in range(n_zeros, n_samples):
            high += train[a, i]
        means[0, a] = low / n_zeros
        means[1, a] = high / (n_samples - n_zeros)
        for b in range(a + 1):
            total = 0.0
            for i in range(n_samples):
                total += train[a, i] * train[b, i]
            products[a, b] = total
            products[b, a] = total


@_jit
def _start(means, products, n_zeros, n_samples, a, b):
    """Start of Newton's method: its first step from 0, which needs moments only, lengthened.

    Where the classes are far apart that step is too short, by a factor that grows with the gap
    between the means of its scores; a fifth of the gap was found to save the most steps.
    """
    n_ones = n_samples - n_zeros
    sum_a = n_zeros * means[0, a] + n_ones * means[1, a]
    sum_b = n_zeros * means[0, b] + n_ones * means[1, b]
    s0, s1, s2 = _solve(
        0.25 * n_samples,
        0.25 * sum_a,
        0.25 * sum_b,
        0.25 * products[a, a] + 1.0,
        0.25 * products[a, b],
        0.25 * products[b, b] + 1.0,
        n_ones - 0.5 * n_samples,
        n_ones * means[1, a] - 0.5 * sum_a,
        n_ones * means[1, b] - 0.5 * sum_b,
    )
    gap = s1 * (means[1, a] - means[0, a]) + s2 * (means[1, b] - means[0, b])
    factor = 1.0 + max(gap, 0.0) / 5.0
    return s0 * factor, s1 * factor, s2 * factor


@_jit
def _loss(x1, x2, labels, w0, w1, w2):
    """Penalised loss ½‖w‖² + Σ log loss, with an unpenalised intercept."""
    total = 0.5 * (w1 * w1 + w2 * w2)
    for i in range(x1.shape[0]):
        z = w0 + w1 * x1[i] + w2 * x2[i]
        z = -z if labels[i] > 0.5 else z
        total += max(z, 0.0) + math.log1p(math.exp(-abs(z)))
    return total


@_jit
def damped_newton(x1, x2, labels, residuals, weights):
    """Newton's method from 0 with halved steps: slower, and sure to converge."""
    w0 = w1 = w2 = 0.0
    loss = _loss(x1, x2, labels, w0, w1, w2)
    for _ in range(200):
        g0, g1, g2, h00, h01, h02, h11, h12, h22 = _newton_sums(
            x1, x2, labels, residuals, weights, w0, w1, w2
        )
        s0, s1, s2 = _solve(h00, h01, h02, h11 + 1.0, h12, h22 + 1.0, g0, g1 + w1, g2 + w2)
        length = 1.0
        trial = _loss(x1, x2, labels, w0 - s0, w1 - s1, w2 - s2)
        while trial > loss and length > 1e-10:
            length *= 0.5
            trial = _loss(x1, x2, labels, w0 - length * s0, w1 - length * s1, w2 - length * s2)
        w0, w1, w2, loss = w0 - length * s0, w1 - length * s1, w2 - length * s2, trial
        if length * max(abs(s0), abs(s1), abs(s2)) < STEP_TOLERANCE:
            break
    return w0, w1, w2


@_jit
def fit_pair(x1, x2, labels, start, residuals, weights):
    """Intercept and two coefficients of L2-penalised logistic regression, C = 1."""
    w0, w1, w2 = start
    for _ in range(MAX_NEWTON_STEPS):
        g0, g1, g2, h00, h01, h02, h11, h12, h22 = _newton_sums(
            x1, x2, labels, residuals, weights, w0, w1, w2
        )
        s0, s1, s2 = _solve(h00, h01, h02, h11 + 1.0, h12, h22 + 1.0, g0, g1 + w1, g2 + w2)
        w0 -= s0
        w1 -= s1
        w2 -= s2
        step = max(abs(s0), abs(s1), abs(s2))
        if step < STEP_TOLERANCE:
            return w0, w1, w2
        if not step < 1e3:
            break
    return damped_newton(x1, x2, labels, residuals, weights)


@_jit
def fit_pairs(train, n_zeros, labels, residuals, weights, models):
    """Fill `models` (pairs × 3) with intercept and coefficients of every pair of features."""
    means = np.empty((2, N_FEATURES))
    products = np.empty((N_FEATURES, N_FEATURES))
    _moments(train, n_zeros, means, products)
    for pair in range(N_PAIRS):
        a, b = PAIR_FIRST[pair], PAIR_SECOND[pair]
        start = _start(means, products, n_zeros, train.shape[1], a, b)
        w0, w1, w2 = fit_pair(train[a], train[b], labels, start, residuals, weights)
        models[pair, 0] = w0
        models[pair, 1] = w1
        models[pair, 2] = w2
