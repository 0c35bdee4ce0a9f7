"""Channel capacity of many small channels at once, each with bounds that enclose it.

A channel's rows are the scores that the models give one sample. Everything here is in nats;
arrays run over (channels × rows × classes).

Two rows of two classes have a closed form. Otherwise a few Blahut-Arimoto steps give a start and
Newton steps finish: Blahut-Arimoto alone needs millions of steps to 1e-9 bits when rows are close
to each other, which is the usual case among models that are equally good. Whatever made the
weights, the capacity lies between the two bounds that Blahut (1972) and Arimoto (1972) stop on:

    Σ_m w_m D(p_m ‖ q)  ≤  C  ≤  max_m D(p_m ‖ q),    q = Σ_m w_m p_m.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from scipy.special import entr, expit, log_expit, logit, rel_entr, xlog1py

from pvf._types import Array, Flags, Indices, NDArray

#: Probabilities below this are taken as 0, so that products of a few stay above underflow. It
#: changes a capacity by less than 1e-147 bits.
TINY = 1e-150
#: Blahut-Arimoto steps before Newton's.
N_FIRST_STEPS = 3
#: Two classes: rows are near if they differ by at most this share of their distance from 0 and 1.
NEAR = 0.3
#: Gauss-Legendre nodes on (0, 1), each with its weight; over near rows they are exact to rounding.
NODES = [((1 + x) / 2, w / 2) for x, w in zip(*np.polynomial.legendre.leggauss(8), strict=True)]
#: Distance from 1 to the next number, and the smallest number above 0.
EPS, TINIEST = float(np.finfo(float).eps), float(np.finfo(float).smallest_subnormal)
#: Newton steps aim below the tolerance, where one step more gains several digits.
AIM = 0.02


def binary_entropy(p: Array) -> Array:
    """Return the entropy of (1 - p, p) in nats."""
    # log1p: the rounding of 1 - p would swamp the difference of two small p.
    return entr(p) - xlog1py(1 - p, -p)


def two_class_capacity(low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Capacity of the channels with rows (1 - low, low) and (1 - high, high).

    At the centre q = (1 - s, s) both rows are equally far away, D(low ‖ s) = D(high ‖ s), so that
    the log-odds of s are the mean of the log-odds between the two rows. Every row between is
    nearer, so that the two carry the capacity.

    Parameters
    ----------
    low, high : ndarray of shape (n,)
        Smallest and largest probability of the positive class.

    Returns
    -------
    capacity : ndarray of shape (n,)
        In nats.
    weight : ndarray of shape (n,)
        Weight of the row with ``high``; 0 where the rows are equal.
    gap : ndarray of shape (n,)
        No more than this lies between the capacity and the true one, rounding included.
    """
    differ = high > low
    # What lies near 1 is told apart by its distance from 1: the classes change places.
    swapped = low >= 0.5
    low, high = np.where(swapped, 1 - high, low), np.where(swapped, 1 - low, high)
    # In probabilities this small the capacity is linear: scaled up, none loses digits to underflow.
    scale = np.where(high < 1e-200, 2.0**200, 1)
    low, high = scale * low, scale * high
    width = high - low
    near = differ & (width <= NEAR * np.minimum(low, 1 - high))
    found = np.zeros((3, len(width)))
    for part, solve in ((near, _near_rows), (differ & ~near, _distant_rows)):
        if part.any():
            found[:, part] = solve(low[part], high[part], width[part])
    to_low, to_high, weight = found
    weight = np.clip(weight, 0, 1)
    capacity = np.maximum((1 - weight) * to_low + weight * to_high, 0)
    # From any centre between the two rows, one is no farther than the capacity and one no nearer.
    # Rounding adds a few units in the last place of the terms that a divergence is the sum of.
    terms = capacity + np.where(near, 0, binary_entropy(low) + binary_entropy(high))
    gap = np.abs(to_high - to_low) + 8 * EPS * terms
    weight = np.where(swapped & differ, 1 - weight, weight)
    # The scaled gap may be below the smallest number, which is then what it is.
    gap = np.where(differ, np.maximum(gap / scale, TINIEST), 0)
    return capacity / scale, weight, gap


def _near_rows(low: Array, high: Array, width: Array) -> tuple[Array, Array, Array]:
    """Return both divergences from the centre and its weight, of rows next to each other.

    The difference quotient of the entropy is all rounding here. Integrals of the slope of the
    log-odds, which is positive, lose nothing: that of (1 - t) over the way from ``low`` to ``high``
    is by how much the centre's log-odds exceed those of ``low``.
    """
    up = sum(share * (1 - t) * _slope_of_log_odds(low, width, t) for t, share in NODES)
    factor = low * np.expm1(up)
    above = (1 - low) * factor / (1 + factor)
    return _near_divergence(low, above), _near_divergence(high, above - width), above / width


def _near_divergence(p: Array, away: Array) -> Array:
    """Return D(p ‖ p + away): the integral of t times the slope of the log-odds on the way."""
    return away * sum(share * t * _slope_of_log_odds(p, away, t) for t, share in NODES)


def _slope_of_log_odds(start: Array, length: Array, t: float) -> Array:
    """Return the derivative of the log-odds by the share t of a way."""
    p = start + t * length
    return length / (p * (1 - p))


def _distant_rows(low: Array, high: Array, width: Array) -> tuple[Array, Array, Array]:
    """Return the same of rows that lie apart, from the difference quotient of the entropy."""
    entropies = binary_entropy(low), binary_entropy(high)
    slope = (entropies[1] - entropies[0]) / width
    # The mean of the log-odds lies between their ends, whatever rounding did to the quotient.
    slope = np.clip(slope, -logit(high), -logit(low))
    to_low, to_high = (
        p * slope - log_expit(slope) - entropy
        for p, entropy in zip((low, high), entropies, strict=True)
    )
    return to_low, to_high, (expit(-slope) - low) / width


def many_class_capacity(rows: Array, tol: float, max_iter: int) -> tuple[Array, Array, Array]:
    """Capacity of each channel between two bounds.

    Parameters
    ----------
    rows : ndarray of shape (n, n_rows, n_classes)
        Probability vectors.
    tol : float
        Largest distance between the bounds, in nats, at which a channel is finished.
    max_iter : int
        Most Newton steps.

    Returns
    -------
    lower, upper : ndarray of shape (n,)
        The capacity lies between them; ``lower`` alone may be above it by less than ``upper -
        lower``, in rounding.
    weights : ndarray of shape (n, n_rows)
        Weights that attain ``lower``.
    """
    rows = np.where(rows < TINY, 0, rows)
    entropy = entr(rows).sum(axis=2)
    weights = np.full(entropy.shape, 1 / rows.shape[1])
    for _ in range(N_FIRST_STEPS):
        weights = blahut_arimoto_step(rows, entropy, weights)
    lower, upper = capacity_bounds(rows, entropy, weights)
    todo = np.flatnonzero(upper - lower > tol * AIM)
    if todo.size:
        lower[todo], upper[todo], weights[todo] = _newton(
            rows[todo], entropy[todo], weights[todo], tol, max_iter
        )
    # Identical rows have capacity 0, without rounding.
    differ = (rows != rows[:, :1]).any(axis=(1, 2))
    lower = np.where(differ, np.maximum(lower, 0), 0)
    # A divergence is a sum over the classes, of logarithms of what is rounded where it is near 1.
    rounding = (4 + rows.shape[2]) * EPS * (1 + entropy.max(axis=1) + lower)
    return lower, np.where(differ, np.maximum(upper, lower) + rounding, 0), weights


def blahut_arimoto_step(rows: Array, entropy: Array, weights: Array) -> Array:
    """Return the weights after one step: each is multiplied by exp D(p_m ‖ q)."""
    divergence = _divergences(rows, entropy, weights)
    weights = weights * np.exp(divergence - divergence.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def capacity_bounds(rows: Array, entropy: Array, weights: Array) -> tuple[Array, Array]:
    """Return the mean and the largest divergence from the centre that the weights give."""
    divergence = _divergences(rows, entropy, weights)
    return (weights * divergence).sum(axis=1), divergence.max(axis=1)


def divergence(rows: Array, centre: Array) -> Array:
    """Return D(p ‖ q) of each row from its centre; infinite where the centre lacks a class."""
    return rel_entr(rows, centre).sum(axis=-1)


def carry_on_few(rows: Array, upper: Array, weights: Array, tol: float) -> tuple[Array, Array]:
    """Move the weights to at most n_classes rows (Proposition 2) without losing capacity.

    Rows of negligible weight go first; then, as in Carathéodory's theorem, weights move along a
    direction that leaves the centre where it is until one of them is 0. The mutual information is
    linear along it, so that one of the two ways does not lower it.

    Parameters
    ----------
    rows : ndarray of shape (n, n_rows, n_classes)
    upper : ndarray of shape (n,)
        Upper bounds of the capacity, in nats.
    weights : ndarray of shape (n, n_rows)
        Weights to start from.
    tol : float
        Where dropping a weight would leave more than this to the upper bound, it stays.

    Returns
    -------
    weights : ndarray of shape (n, n_rows)
        At most n_classes of them positive in each channel.
    lower : ndarray of shape (n,)
        The mutual information that they attain.
    """
    rows = np.where(rows < TINY, 0, rows)
    entropy = entr(rows).sum(axis=2)
    kept = weights.copy()
    todo = np.arange(len(rows))
    for cut in (0.1, 1e-2, 1e-3, 1e-5, 1e-8, 1e-11):
        largest = weights[todo].max(axis=1, keepdims=True)
        trial = np.where(weights[todo] >= cut * largest, weights[todo], 0)
        trial /= trial.sum(axis=1, keepdims=True)
        lower, _ = capacity_bounds(rows[todo], entropy[todo], trial)
        good = upper[todo] - lower <= 0.5 * tol
        kept[todo[good]] = trial[good]
        todo = todo[~good]
    while True:
        size = np.count_nonzero(kept, axis=1)
        most = size.max(initial=0)
        if most <= rows.shape[2]:
            break
        _drop_some(rows, entropy, kept, np.flatnonzero(size == most), most)
    return kept, np.maximum(capacity_bounds(rows, entropy, kept)[0], 0)


def _drop_some(rows: Array, entropy: Array, weights: Array, which: NDArray, size: int) -> None:
    """Take rows out of the supports of the channels ``which``, all of one size, in place."""
    members = rows.shape[2] + 1
    n_groups = size // members
    support = np.argsort(weights[which] == 0, axis=1, kind="stable")[:, : n_groups * members]
    index = (which[:, None, None], support.reshape(len(which), n_groups, members))
    # A group has one row more than there are classes, so that the last right-singular vector is a
    # direction that leaves the centre as it is.
    direction = np.linalg.svd(rows[index].swapaxes(2, 3))[2][..., -1, :]
    loses = (direction * entropy[index]).sum(axis=2, keepdims=True) > 0
    direction = np.where(loses, -direction, direction)
    weight = weights[index]
    with np.errstate(over="ignore"):
        room = np.divide(weight, -direction, out=np.full_like(weight, np.inf), where=direction < 0)
    step = room.min(axis=2, keepdims=True)
    moved = np.where(room <= step, 0, np.maximum(weight + step * direction, 0))
    weights[index] = moved
    weights[which] /= weights[which].sum(axis=1, keepdims=True)


def matvec(matrices: Array, vectors: Array) -> Array:
    """Return each matrix times its vector."""
    return np.matmul(matrices, vectors[:, :, None])[:, :, 0]


def mixture(rows: Array, weights: Array) -> Array:
    """Return the centre q that the weights give each channel."""
    return np.matmul(weights[:, None, :], rows)[:, 0]


def negative_log(q: Array, absent: float = 0.0) -> Array:
    """Return -log q, and ``absent`` where q is 0: no row behind a centre has that class then."""
    return -np.log(q, out=np.full_like(q, -absent), where=q > 0)


def _divergences(rows: Array, entropy: Array, weights: Array) -> Array:
    """Return D(p_m ‖ q) of every row."""
    return matvec(rows, negative_log(mixture(rows, weights))) - entropy


@dataclass
class _Newton:
    """State of a primal-dual interior-point method on the dual problem.

    With z = -log q up to a constant, the smallest largest divergence is a convex problem with
    linear constraints, minimise log Σ_k exp(-z_k) subject to p_m · z ≤ H(p_m), whose multipliers
    are the weights and whose optimum is the capacity.
    """

    index: Indices
    rows: Array
    entropy: Array
    weight: Array
    absent: Flags  # classes that no row has; they take no part
    z: Array
    slack: Array
    step: Array

    @classmethod
    def start(cls, rows: Array, entropy: Array, weights: Array) -> _Newton:
        """Start inside the constraints, at the centre that the weights give."""
        z = negative_log(mixture(rows, weights))
        largest = (matvec(rows, z) - entropy).max(axis=1, keepdims=True)
        z = z - largest - np.maximum(0.1 * largest, 1e-12)
        return cls(
            index=np.arange(len(rows)),
            rows=rows,
            entropy=entropy,
            weight=np.maximum(weights, 1e-8 / weights.shape[1]),
            absent=rows.max(axis=1) <= 0,
            z=z,
            slack=entropy - matvec(rows, z),
            step=np.ones(len(rows)),
        )

    def take(self, keep: Flags) -> _Newton:
        """Return the state of the channels to keep."""
        return _Newton(*(getattr(self, field.name)[keep] for field in fields(self)))

    @property
    def exp_z(self) -> Array:
        """exp(-z), which is the centre times a constant."""
        return np.where(self.absent, 0, np.exp(-self.z))

    def advance(self, floor: float) -> None:
        """Take one predictor-corrector step towards complementarity ``floor``."""
        q = self.exp_z
        q /= q.sum(axis=1, keepdims=True)
        ratio = self.weight / self.slack
        mu = (self.weight * self.slack).mean(axis=1)
        solve = self._factor(q, ratio)

        def direction(target: Array) -> tuple[Array, Array, Array]:
            dz = solve(q - mixture(self.rows, target / self.slack))
            dslack = -matvec(self.rows, dz)
            return dz, dslack, target / self.slack - self.weight - ratio * dslack

        _, dslack, dweight = direction(np.zeros_like(self.weight))
        reached = (self.weight + _reach(self.weight, dweight) * dweight) * (
            self.slack + _reach(self.slack, dslack) * dslack
        )
        sigma = (reached.mean(axis=1) / mu) ** 3
        # After a short step the second-order term misleads and the steps would cycle: centre.
        short = self.step < 0.5
        sigma = np.where(short, np.maximum(sigma, 0.3), sigma)
        second = np.where(short[:, None], 0, dslack * dweight)
        dz, dslack, dweight = direction(np.maximum(sigma * mu, floor)[:, None] - second)
        step = np.minimum(_reach(self.slack, dslack), _reach(self.weight, dweight))
        step = np.minimum(step, 3 / np.maximum(np.abs(dz).max(axis=1, keepdims=True), 1))
        self.z = self.z + step * dz
        self.slack = self.slack + step * dslack
        self.weight = self.weight + step * dweight
        self.step = step[:, 0]

    def _factor(self, q: Array, ratio: Array) -> Callable[[Array], Array]:
        """Return a solver of the reduced Newton system."""
        diagonal = np.arange(q.shape[1])
        hessian = np.matmul(self.rows.transpose(0, 2, 1) * ratio[:, None, :], self.rows)
        hessian -= q[:, :, None] * q[:, None, :]
        hessian[:, diagonal, diagonal] += q + self.absent
        # Classes differ by orders of magnitude, so that the matrix is scaled to a unit diagonal.
        scale = 1 / np.sqrt(hessian[:, diagonal, diagonal])
        hessian *= scale[:, :, None] * scale[:, None, :]
        hessian[:, diagonal, diagonal] += 1e-14
        present = ~self.absent

        def solve(rhs: Array) -> Array:
            rhs = np.where(present, scale * rhs, 0)
            return scale * np.linalg.solve(hessian, rhs[:, :, None])[:, :, 0]

        return solve

    def bounds(self) -> tuple[Array, Array, Array]:
        """Return lower and upper bound of the capacities and the weights of the lower one."""
        weights = self.weight / self.weight.sum(axis=1, keepdims=True)
        lower, upper = capacity_bounds(self.rows, self.entropy, weights)
        # Any z bounds the capacity from above, even where a class is so rare that the weights
        # cannot say its share accurately.
        largest = (matvec(self.rows, self.z) - self.entropy).max(axis=1)
        return lower, np.minimum(upper, np.log(self.exp_z.sum(axis=1)) + largest), weights


def _reach(value: Array, change: Array) -> Array:
    """Return the longest step, at most 1, that keeps ``value`` positive, with a margin."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(change < 0, -value / change, np.inf)
    return np.minimum(1, 0.995 * room.min(axis=1, keepdims=True))


def _newton(
    rows: Array, entropy: Array, weights: Array, tol: float, max_iter: int
) -> tuple[Array, Array, Array]:
    """Return the best bounds found, and the weights that attain the lower one."""
    best_lower, best_upper = capacity_bounds(rows, entropy, weights)
    best_weights = weights.copy()
    state = _Newton.start(rows, entropy, weights)
    floor = tol * AIM / (20 * rows.shape[1])
    for _ in range(max_iter):
        state.advance(floor)
        lower, upper, weights = state.bounds()
        index = state.index
        gap = best_upper[index] - best_lower[index]
        higher = lower > best_lower[index]
        best_weights[index[higher]] = weights[higher]
        best_lower[index] = np.maximum(lower, best_lower[index])
        best_upper[index] = np.minimum(upper, best_upper[index])
        new_gap = best_upper[index] - best_lower[index]
        go_on = (new_gap > tol) | ((new_gap > tol * AIM) & (new_gap < 0.5 * gap))
        if not go_on.any():
            break
        state = state.take(go_on)
    return best_lower, best_upper, best_weights
