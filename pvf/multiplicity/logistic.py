"""The Rashomon set of a logistic regression: the extreme scores that its models give a sample.

The models whose loss is at most a level form a convex set, and the logit of a sample is linear, so
that its extremes are found exactly: maximise a · w subject to J(w) ≤ level. Three ideas make it
fast for many samples at once.

1. Coordinates in which the loss's Hessian at its minimum is the identity. The set is then nearly a
   ball, the answer nearly a multiple of the sample, and quasi-Newton steps (Anderson's) need only
   gradients: two matrix products for a whole block of samples.
2. Equal rows of the training data are merged; the loss depends on the labels through the minimum
   alone.
3. A certificate that costs no factorisation. For any multiplier ν, the optimum is at most
   ν level - min_w [ν J(w) - a · w], and the logistic loss is self-concordant in the sense that its
   third derivative is at most its second times the logit's change, which bounds the minimum from a
   gradient nearby (Bach 2010).

The few samples that the quasi-Newton steps do not finish, mostly when the level is several times
the smallest loss, follow the path of ν with Newton steps of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg import cho_factor, cho_solve, cholesky, eigh, solve_triangular
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.utils import compute_class_weight, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from pvf._checks import naming
from pvf._types import Array, Flags, Indices, NDArray
from pvf.multiplicity.search import GradientSteps, Samples

#: Elements of one (samples × training rows) block: it should stay in the processor's cache, but
#: hold at least SMALLEST_BLOCK samples for the matrix products.
BLOCK = 2**17
SMALLEST_BLOCK = 32
#: Earlier steps that Anderson acceleration looks at.
MEMORY = 5


@dataclass(frozen=True)
class TrainingLoss:
    """The objective of a logistic regression, divided by the sum of the weights.

    J(w) = Σ_i s_i ℓ(y_i, x_i · w) + ½ Σ_k r_k w_k², with Σ_i s_i = 1.
    """

    rows: Array  # distinct training rows, with a column of ones where there is an intercept
    share: Array  # weight of each of them
    positive: Array  # its part with a positive label
    ridge: Array  # r
    coef: Array  # the fitted model

    def gradient(self, w: Array) -> Array:
        """Return the gradient at ``w``."""
        p = expit(self.rows @ w)
        return self.rows.T @ (self.share * p - self.positive) + self.ridge * w

    def hessian(self, w: Array) -> Array:
        """Return the Hessian at ``w``."""
        logit = self.rows @ w
        curvature = self.share * expit(logit) * expit(-logit)
        return (self.rows.T * curvature) @ self.rows + np.diag(self.ridge)

    def value(self, w: Array) -> float:
        """Return J(w)."""
        logit = self.rows @ w
        loss = self.share @ np.logaddexp(0, logit) - self.positive @ logit
        return float(loss + 0.5 * self.ridge @ w**2)


@dataclass(frozen=True)
class RashomonBall:
    """The models within the level, seen from the best one and nearly a ball.

    ``v`` are coordinates from the minimum, in which the Hessian there is the identity.
    """

    rows: Array  # (n_rows, d), training rows in these coordinates
    share: Array
    logit: Array  # logits of the best model
    ridge: Array  # (d, d)
    radius: float  # largest norm of a row
    excess: float  # level - smallest loss

    @cached_property
    def p(self) -> Array:
        """Probabilities of the best model."""
        return expit(self.logit)

    @cached_property
    def rest(self) -> Array:
        """1 - p, also where p rounds to 1."""
        return expit(-self.logit)

    def loss(self, v: Array) -> tuple[Array, Array, Array]:
        """Return the loss above the smallest, its gradient and the largest change of a logit.

        Parameters
        ----------
        v : ndarray of shape (n, d)
        """
        change = v @ self.rows.T
        rise, shift = self._rise(change)
        ridge = v @ self.ridge
        loss = rise @ self.share + 0.5 * (v * ridge).sum(axis=1)
        return loss, (shift * self.share) @ self.rows + ridge, np.abs(change).max(axis=1)

    def _rise(self, change: Array) -> tuple[Array, Array]:
        """Return what each row adds to the loss, beyond first order, and how its p changes.

        The loss has no slope at its minimum, so that first-order terms cancel in the sum; taking
        them out row by row keeps a small loss accurate.
        """
        largest = np.abs(change).max(initial=0)
        if largest < 1e-3:
            variance = self.p * self.rest
            skew, kurtosis = variance * (self.rest - self.p) / 6, variance * (1 - 6 * variance) / 24
            square = change**2
            rise = square * (0.5 * variance + change * skew + square * kurtosis)
            return rise, change * (variance + 3 * change * skew + 4 * square * kurtosis)
        if largest < 300 and np.abs(self.logit).max() < 300:
            p = np.exp(change)
            p *= self.p
            total = p + self.rest
            p /= total
            rise = np.log(total)
        else:
            logit = self.logit + change
            p = expit(logit)
            rise = np.logaddexp(0, logit) - np.logaddexp(0, self.logit)
        rise -= self.p * change
        p -= self.p
        return rise, p

    def hessian(self, v: Array) -> Array:
        """Return the Hessian at one point."""
        logit = self.logit + self.rows @ v
        return (self.rows.T * (self.share * expit(logit) * expit(-logit))) @ self.rows + self.ridge

    def boundary(self, directions: Array, *, precision: float) -> Array:
        """Return how far each unit direction goes before the loss reaches the level."""
        change = directions @ self.rows.T
        ridge = ((directions @ self.ridge) * directions).sum(axis=1)
        length = np.full(len(directions), np.sqrt(2 * self.excess))
        for _ in range(60):
            rise, shift = self._rise(change * length[:, None])
            loss = rise @ self.share + 0.5 * length**2 * ridge
            if (np.abs(loss - self.excess) <= precision * self.excess).all():
                break
            slope = (shift * change) @ self.share + length * ridge
            # Newton on a convex function overshoots once and then comes down to the root.
            length = np.clip(length + (self.excess - loss) / slope, length / 4, 4 * length)
        return length


def training_loss(model: Any, samples: Samples) -> TrainingLoss:
    """Read the objective that ``model`` minimised on its training data.

    Raises
    ------
    ValueError
        For a penalty other than L2 or none, more than two classes, or labels that the model has
        not seen.
    """
    check_is_fitted(model)
    if len(model.classes_) != 2:
        raise ValueError(
            f"model must have two classes, got {len(model.classes_)}: the extreme scores of a "
            "logistic regression are exact for two."
        )
    with naming("X_train"):
        design = design_matrix(model, samples.X_train)
    positive, weight = _labels(model, samples.y_train, samples.weight)
    counts = weight > 0
    design, positive, weight = design[counts], positive[counts], weight[counts]
    total = weight.sum()
    rows, inverse = np.unique(design, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    coef = np.ravel(model.coef_)
    ridge = np.full(coef.size, _penalty(model) / total)
    if model.fit_intercept:
        coef = np.append(coef, np.ravel(model.intercept_))
        # liblinear penalises the intercept too, at the scale of its made-up feature.
        of_intercept = ridge[0] / model.intercept_scaling**2 if model.solver == "liblinear" else 0
        ridge = np.append(ridge, of_intercept)
    return TrainingLoss(
        rows=rows,
        share=np.bincount(inverse, weight) / total,
        positive=np.bincount(inverse, weight * positive) / total,
        ridge=ridge,
        coef=coef,
    )


def design_matrix(model: Any, X: Any) -> Array:
    """Return X as the model sees it, with a column of ones where it has an intercept."""
    X = validate_data(model, X, reset=False, dtype=np.float64, accept_sparse="csr")
    X = X.toarray() if hasattr(X, "toarray") else X
    return np.column_stack([X, np.ones(len(X))]) if model.fit_intercept else X


def _labels(model: Any, y: NDArray, weight: Array) -> tuple[Flags, Array]:
    """Return which samples are positive and what each weighs in the objective."""
    unknown = ~np.isin(y, model.classes_)
    if unknown.any():
        raise ValueError(
            f"y_train must hold the model's classes {model.classes_.tolist()}, "
            f"got {y[unknown][0]!r}."
        )
    positive = y == model.classes_[1]
    # Since 1.7, scikit-learn balances classes by their weight, not by their number.
    takes_weight = "sample_weight" in signature(compute_class_weight).parameters
    more = {"sample_weight": weight} if takes_weight else {}
    of_class = compute_class_weight(model.class_weight, classes=model.classes_, y=y, **more)
    return positive, weight * of_class[positive.astype(int)]


def _penalty(model: Any) -> float:
    """Return 1 / C; refuse penalties that are not a ridge."""
    if isinstance(model, LogisticRegressionCV):
        strength = float(np.ravel(model.C_)[0])
        ratio = np.ravel(model.l1_ratio_)[0]
    else:
        strength, ratio = float(model.C), model.l1_ratio
    named = getattr(model, "penalty", "deprecated")
    if named is None:
        return 0.0
    if named in ("l1", "elasticnet") or (named == "deprecated" and ratio):
        raise ValueError(
            f"model must have an L2 penalty or none, got penalty={named!r} with l1_ratio={ratio}."
        )
    return 1 / strength


def minimum(loss: TrainingLoss) -> tuple[Array, Array]:
    """Return the minimiser and the Hessian there, by damped Newton steps.

    Raises
    ------
    ValueError
        Where the classes can be separated and no penalty holds the coefficients back.
    """
    w = loss.coef
    value = loss.value(w)
    for _ in range(100):
        gradient, hessian = loss.gradient(w), loss.hessian(w)
        try:
            step = cho_solve(cho_factor(hessian), gradient)
        except np.linalg.LinAlgError:
            break
        decrement = gradient @ step
        if decrement <= 1e-28 * max(1, abs(value)):
            break
        size = 1.0
        # Where the decrease drowns in rounding, the full step is the best guess.
        while decrement > 1e-12 and loss.value(w - size * step) > value - 0.1 * size * decrement:
            size /= 2
        w = w - size * step
        value = loss.value(w)
    if not loss.ridge.any():
        _refuse_separable(loss, hessian)
    return w, hessian


def _refuse_separable(loss: TrainingLoss, hessian: Array) -> None:
    """Raise where the Hessian vanishes along some direction: the minimum is at infinity."""
    second_moment = (loss.rows.T * loss.share) @ loss.rows
    if eigh(hessian, second_moment, eigvals_only=True)[0] < 1e-9:
        raise ValueError(
            "X_train must not separate the classes where model has no penalty: no logistic "
            "regression has the smallest loss then. Give the model a finite C."
        )


def extreme_scores(
    model: LogisticRegression,
    samples: Samples,
    epsilon: float,
    *,
    tol: float,
    max_iter: int,
    n_jobs: int | None,
) -> tuple[Array, Array, float]:
    """Return the smallest and largest score that a model within the level gives each sample.

    They come with the gap to what no model can exceed, both of shape (2, n_samples), and with how
    far the model's loss is above the smallest.
    """
    loss, targets, inverse = _problem(model, samples)
    loss, targets, free = _identified(loss, targets)
    w, hessian = minimum(loss)
    ball, lower, own_excess = _ball(loss, w, hessian, epsilon)
    aims = solve_triangular(lower, targets.T, lower=True).T
    centre = targets @ w
    both_ways = np.vstack([-aims, aims]), np.concatenate([-centre, centre])
    inner, outer = _extremes(ball, *both_ways, tol, max_iter, n_jobs)
    inner, outer = inner.reshape(2, -1), outer.reshape(2, -1)
    # The first row is the negative class's score.
    scores = np.stack([expit(-inner[0]), expit(inner[1])])
    bound = np.stack([expit(-outer[0]), expit(outer[1])])
    scores[:, free] = bound[:, free] = np.array([[0.0], [1.0]])
    return scores[:, inverse], np.abs(bound - scores)[:, inverse], own_excess


def _problem(model: Any, samples: Samples) -> tuple[TrainingLoss, Array, Indices]:
    """Return the loss, the distinct rows whose scores are sought, and which sample is which row."""
    loss = training_loss(model, samples)
    with naming("X"):
        design = design_matrix(model, samples.X)
    targets, inverse = np.unique(design, axis=0, return_inverse=True)
    return loss, targets, inverse.reshape(-1)


def _identified(loss: TrainingLoss, targets: Array) -> tuple[TrainingLoss, Array, NDArray]:
    """Restrict to the directions that the training rows span, and say which targets leave them.

    Without a penalty nothing holds a coefficient that no training row depends on, so that the
    score of a sample which does goes all the way to 0 and to 1.
    """
    if loss.ridge.any():
        return loss, targets, np.zeros(len(targets), dtype=bool)
    scale = np.sqrt(loss.share @ loss.rows**2)
    scale[scale == 0] = 1
    rows, scaled = loss.rows / scale, targets / scale
    values, vectors = eigh((rows.T * loss.share) @ rows)
    basis = vectors[:, values > 1e-10 * values[-1]]
    outside = np.linalg.norm(scaled - scaled @ basis @ basis.T, axis=1)
    free = outside > 1e-6 * np.linalg.norm(scaled, axis=1)
    reduced = TrainingLoss(
        rows=rows @ basis,
        share=loss.share,
        positive=loss.positive,
        ridge=np.zeros(basis.shape[1]),
        coef=basis.T @ (scale * loss.coef),
    )
    return reduced, scaled @ basis, free


def _ball(
    loss: TrainingLoss, w: Array, hessian: Array, epsilon: float
) -> tuple[RashomonBall, Array, float]:
    """Return the set in coordinates of the Hessian's Cholesky factor, and the factor."""
    lower = cholesky(hessian, lower=True)
    rows = np.ascontiguousarray(solve_triangular(lower, loss.rows.T, lower=True).T)
    inverse = solve_triangular(lower, np.eye(len(w)), lower=True)
    ball = RashomonBall(
        rows=rows,
        share=loss.share,
        logit=loss.rows @ w,
        ridge=(inverse * loss.ridge) @ inverse.T,
        radius=float(np.sqrt((rows**2).sum(axis=1).max())),
        excess=epsilon,
    )
    own = max(0.0, float(ball.loss((loss.coef - w)[None] @ lower)[0][0]))
    # The model itself is always inside, however loosely it was fitted.
    return replace(ball, excess=max(epsilon, own)), lower, own


def _extremes(
    ball: RashomonBall, aims: Array, centre: Array, tol: float, max_iter: int, n_jobs: int | None
) -> tuple[Array, Array]:
    """Return the largest logit of each aim that was reached, and a bound that none exceeds."""
    # The blocks do not depend on the number of workers, so that neither do the bits.
    size = int(np.clip(BLOCK // len(ball.rows), SMALLEST_BLOCK, 1024))
    blocks = list(gen_batches(len(aims), size))
    parts = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_extreme_block)(ball, aims[block], centre[block], tol, max_iter) for block in blocks
    )
    if not parts:
        return centre, centre
    inner, outer = (np.concatenate(part) for part in zip(*parts, strict=True))
    return centre + inner, centre + outer


def _extreme_block(
    ball: RashomonBall, aims: Array, centre: Array, tol: float, max_iter: int
) -> tuple[Array, Array]:
    """Return inner and outer bound of the largest aim · v, one for each row of ``aims``."""
    norm = np.linalg.norm(aims, axis=1)
    inner = np.zeros(len(aims))
    outer = norm * _outer_radius(ball)
    todo = np.flatnonzero(expit(centre + outer) - expit(centre) > tol)
    if not todo.size:
        return inner, outer
    index, v = todo, aims[todo] / norm[todo, None]
    v = v * ball.boundary(v, precision=0.01)[:, None]
    memory: list[tuple[Array, Array]] = []
    for _ in range(max_iter):
        low, high, step = _bounds_and_step(ball, aims[index], v)
        inner[index] = np.maximum(inner[index], low)
        outer[index] = np.minimum(outer[index], high)
        memory = [*memory[-MEMORY:], (v, step)]
        go_on = expit(centre + outer)[index] - expit(centre + inner)[index] > tol
        go_on &= np.isfinite(step).all(axis=1)
        if not go_on.any():
            break
        index = index[go_on]
        memory = [(past[go_on], change[go_on]) for past, change in memory]
        v = _anderson(memory)
    for row in np.flatnonzero(expit(centre + outer) - expit(centre + inner) > tol):
        known = inner[row], outer[row]
        inner[row], outer[row] = _follow_path(ball, aims[row], centre[row], known, tol)
    return inner, outer


def _outer_radius(ball: RashomonBall) -> float:
    """Return how far from the minimum, in its Hessian's norm, the level can reach.

    Self-concordance bounds the loss from below by (exp(-ρt) + ρt - 1)/ρ² at distance t.
    """
    rho, excess = ball.radius, ball.excess
    t = np.sqrt(2 * excess)
    if rho * t > 1e-6:
        # Newton from the left of the root of a convex function lands on its right and stays there.
        for _ in range(100):
            value = (np.expm1(-rho * t) + rho * t) / rho**2
            t = t + (excess - value) * rho / -np.expm1(-rho * t)
    return float(t * (1 + 1e-6))


def _bounds_and_step(ball: RashomonBall, aims: Array, v: Array) -> tuple[Array, Array, Array]:
    """Return a value that is reached, one that cannot be exceeded, and a quasi-Newton step."""
    loss, gradient, largest = ball.loss(v)
    value = (aims * v).sum(axis=1)
    with np.errstate(all="ignore"):
        multiplier = (aims * gradient).sum(axis=1) / (gradient**2).sum(axis=1)
        residual = aims - multiplier[:, None] * gradient
        # The Hessian is at least exp(-largest change of a logit) times that at the minimum.
        curvature = multiplier * np.exp(-largest)
        high = _dual_bound(
            value + multiplier * (ball.excess - loss),
            np.sqrt((residual**2).sum(axis=1) / curvature),
            ball.radius / np.sqrt(curvature),
        )
        low = value * np.minimum(1, ball.excess / loss)  # towards the minimum until inside
        along = (gradient * v).sum(axis=1)
        scale = multiplier * along / (v**2).sum(axis=1)
        step = residual / scale[:, None] + v * ((ball.excess - loss) / along)[:, None]
    return np.nan_to_num(low, nan=0), np.where(np.isnan(high), np.inf, high), step


def _dual_bound(dual: Array, decrement: Array, rho: Array) -> Array:
    """Return an upper bound of the dual function from its value at an inexact minimiser.

    A self-concordant function with Newton decrement δ is at most ω(ρδ)/ρ² above its minimum,
    ω(τ) = τ + (1 - τ) log(1 - τ), where ρδ < 1.
    """
    tau = rho * decrement
    inside = np.minimum(tau, 0.999)
    series = inside**2 * (0.5 + inside / 6 + inside**2 / 12 + inside**3)
    omega = np.where(inside < 1e-3, series, inside + (1 - inside) * np.log1p(-inside))
    return np.where((tau < 0.999) & (rho > 0), dual + omega / rho**2, np.inf)


def _anderson(memory: list[tuple[Array, Array]]) -> Array:
    """Return the next points, from the past ones and the steps that were proposed there."""
    points, steps = (np.stack(part) for part in zip(*memory, strict=True))
    if len(memory) == 1:
        return points[-1] + steps[-1]
    dp, ds = np.diff(points, axis=0), np.diff(steps, axis=0)
    gram = np.einsum("akd,bkd->kab", ds, ds)
    diagonal = np.arange(len(ds))
    gram[:, diagonal, diagonal] *= 1 + 1e-12
    gram[:, diagonal, diagonal] += 1e-300
    right = np.einsum("akd,kd->ka", ds, steps[-1])
    mix = np.linalg.solve(gram, right[:, :, None])[:, :, 0]
    return points[-1] + steps[-1] - np.einsum("akd,ka->kd", dp + ds, mix)


@dataclass
class _PathPoint:
    """The minimiser of J(v) - u aim · v, from which the path goes on to larger u."""

    ball: RashomonBall
    aim: Array
    u: float
    v: Array

    def __post_init__(self) -> None:
        """Evaluate the loss and its derivatives at ``v``."""
        loss, gradient, _ = self.ball.loss(self.v[None])
        self.loss, self.gradient = float(loss[0]), gradient[0]
        self.eigenvalues, self.eigenvectors = np.linalg.eigh(self.ball.hessian(self.v))

    def solve(self, right: Array) -> Array:
        """Return the inverse Hessian times ``right``, with curvatures below rounding raised."""
        values = np.maximum(self.eigenvalues, 1e-15 * self.eigenvalues[-1])
        return self.eigenvectors @ ((self.eigenvectors.T @ right) / values)

    def corrected(self) -> _PathPoint | None:
        """Return to the path by Newton steps; None where they do not settle."""
        point = self
        decrement = previous = np.inf
        for _ in range(30):
            residual = point.u * self.aim - point.gradient
            step = point.solve(residual)
            decrement = float(residual @ step)
            if decrement <= 1e-26 * max(1.0, point.loss) or decrement >= 0.9 * previous:
                break
            previous = decrement
            point = _PathPoint(self.ball, self.aim, self.u, point.v + step)
        return point if decrement <= 1e-12 * max(1.0, point.loss) else None

    def towards(self, u: float) -> _PathPoint | None:
        """Return the point of the path at another ``u``."""
        tangent = self.solve(self.aim)
        return _PathPoint(self.ball, self.aim, u, self.v + (u - self.u) * tangent).corrected()

    def bounds(self) -> tuple[float, float]:
        """Return a value that is reached within the level, and one that cannot be exceeded."""
        value, excess = float(self.aim @ self.v), self.ball.excess
        low = value * min(1.0, excess / self.loss) if self.loss > 0 else 0.0
        if self.u == 0 or self.eigenvalues[0] <= 1e-14 * self.eigenvalues[-1]:
            return low, np.inf
        residual = self.aim - self.gradient / self.u
        decrement = np.sqrt(max(0.0, float(residual @ self.solve(residual))) * self.u)
        whitened = (self.ball.rows @ self.eigenvectors) ** 2 / self.eigenvalues
        rho = np.sqrt(whitened.sum(axis=1).max() * self.u)
        dual = value + (excess - self.loss) / self.u
        return low, float(_dual_bound(*np.asarray([dual, decrement, rho])))


def _follow_path(
    ball: RashomonBall, aim: Array, centre: float, known: tuple[float, float], tol: float
) -> tuple[float, float]:
    """Solve one sample by following the minimiser of J(v) - u aim · v from u = 0 to the level."""
    inner, outer = known
    for point in _path_to_level(ball, aim):
        low, high = point.bounds()
        inner, outer = max(inner, low), min(outer, high)
        if expit(centre + outer) - expit(centre + inner) <= tol:
            break
    return inner, outer


def _path_to_level(ball: RashomonBall, aim: Array) -> Iterator[_PathPoint]:
    """Give points of the path, in long strides until the level is crossed, then closing in."""
    point = _PathPoint(ball, aim, 0.0, np.zeros_like(aim))
    reach, crossed = 1.0, np.inf
    for _ in range(1000):
        # Newton steps converge from where no logit has changed by more than about 1, and often
        # from much farther.
        fastest = max(np.abs(ball.rows @ point.solve(aim)).max(), 1e-300)
        ahead = point.towards(point.u + reach / fastest)
        if ahead is None:
            reach /= 4
            if reach < 1e-6:
                return
            continue
        yield ahead
        if ahead.loss > ball.excess:
            crossed = ahead.u
            break
        point, reach = ahead, 2 * reach
    low = point.u
    for _ in range(60):
        slope = point.u * float(aim @ point.solve(aim))
        proposal = point.u + (ball.excess - point.loss) / slope if slope > 0 else low
        if not low < proposal < crossed:
            proposal = 0.5 * (low + crossed)
        new = point.towards(proposal)
        if new is None or proposal in (low, crossed):
            return
        yield new
        point = new
        low, crossed = (low, new.u) if new.loss > ball.excess else (new.u, crossed)


def gradient_scores(model: Any, samples: Samples, epsilon: float, steps: GradientSteps) -> Array:
    """Return scores after gradient steps on the logit, until the next would leave the level.

    The gradient of a sample's logit is the sample itself, so that every step goes the same way and
    the loss is convex along it: the number of steps is found by bisection.
    """
    loss, targets, inverse = _problem(model, samples)
    velocity = np.cumsum(steps.momentum ** np.arange(steps.max_iter))
    length = steps.learning_rate * np.append(0, np.cumsum(velocity))
    level = loss.value(loss.coef) + epsilon
    ends = []
    for sign in (-1, 1):
        taken = np.empty(len(targets))
        for block in gen_batches(len(targets), max(1, BLOCK // len(loss.rows))):
            ways = sign * targets[block]
            taken[block] = _steps_within(loss, ways, length, level, steps.score_target)
        moved = sign * length[taken.astype(int)] * (targets**2).sum(axis=1)
        ends.append(expit(targets @ loss.coef + moved)[inverse])
    return np.stack(ends)


def _steps_within(
    loss: TrainingLoss, ways: Array, length: Array, level: float, score_target: float
) -> Array:
    """Return how many steps along each of ``ways`` are taken."""
    moved = ways @ loss.rows.T
    base = loss.rows @ loss.coef
    linear, bend = (loss.ridge * loss.coef * ways).sum(axis=1), (loss.ridge * ways**2).sum(axis=1)
    fixed = 0.5 * loss.ridge @ loss.coef**2

    def within(steps: Indices) -> Flags:
        size = length[steps]
        moved_to = base + size[:, None] * moved
        value = np.logaddexp(0, moved_to) @ loss.share - moved_to @ loss.positive
        return value + fixed + size * linear + 0.5 * size**2 * bend <= level

    low = np.zeros(len(ways), dtype=np.intp)
    high = np.full(len(ways), len(length), dtype=np.intp)  # one more than the most steps
    while (high - low > 1).any():
        middle = (low + high) // 2
        good = within(middle)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = (logit(score_target) - ways @ loss.coef) / (ways**2).sum(axis=1)
    first = np.searchsorted(length, np.where(np.isnan(needed), 0, needed))
    return np.minimum(low, first)
