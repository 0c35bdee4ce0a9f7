"""Multiplicity written out plainly, or handed to a general solver: oracles for the tests.

Nothing here uses the package.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, rel_entr


def blahut_arimoto(rows, n_steps=1000, small_step=1e-12):
    """Capacity of one channel in bits, as it is often coded: until the weights hardly move.

    Parameters
    ----------
    rows : ndarray of shape (n_models, n_classes)
    n_steps : int
        Most steps.
    small_step : float
        Mean squared change of the weights that ends the iteration.

    Returns
    -------
    capacity : float
    weights : ndarray of shape (n_models,)
    """
    weights = np.full(len(rows), 1 / len(rows))
    for _ in range(n_steps):
        divergence = rel_entr(rows, weights @ rows).sum(axis=1)
        new = weights * np.exp(divergence)
        new /= new.sum()
        change = ((new - weights) ** 2).mean()
        weights = new
        if change < small_step:
            break
    return mutual_information(rows, weights), weights


def mutual_information(rows, weights):
    """Mutual information in bits between the model and the class."""
    return float(weights @ rel_entr(rows, weights @ rows).sum(axis=1) / np.log(2))


def smallest_radius(rows):
    """Capacity in bits from the other side, by a general solver.

    The centre is sought whose largest divergence from the rows is smallest.
    """
    n, n_classes = rows.shape
    entropy = -rel_entr(rows, 1).sum(axis=1)

    def room(x):
        return x[-1] + entropy + rows @ np.log(x[:-1])

    centre = rows.mean(axis=0)
    start = np.append(centre, rel_entr(rows, centre).sum(axis=1).max())
    found = minimize(
        lambda x: x[-1],
        start,
        jac=lambda _: np.eye(n_classes + 1)[-1],
        bounds=[(1e-12, 1)] * n_classes + [(0, None)],
        constraints=[
            {"type": "ineq", "fun": room, "jac": lambda x: np.c_[rows / x[:-1], np.ones(n)]},
            {
                "type": "eq",
                "fun": lambda x: x[:-1].sum() - 1,
                "jac": lambda _: np.append(np.ones(n_classes), 0),
            },
        ],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return found.x[-1] / np.log(2)


def penalised_loss(w, X, y, ridge, share):
    """Weighted mean log loss plus a ridge, and its gradient; the last column may be ones."""
    sign = np.where(y, 1.0, -1.0)
    margin = sign * (X @ w)
    value = share @ np.logaddexp(0, -margin) + 0.5 * ridge @ w**2
    gradient = X.T @ (-share * sign * expit(-margin)) + ridge * w
    return value, gradient


def smallest_loss(X, y, ridge, share):
    """Return the minimiser and the minimum of the loss, by a general solver."""
    found = minimize(
        penalised_loss,
        np.zeros(X.shape[1]),
        args=(X, y, ridge, share),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-10, "maxiter": 10_000},
    )
    return found.x, found.fun


def largest_logit(x, X, y, ridge, share, epsilon):
    """Largest x · w among all w whose loss is within epsilon of the smallest."""
    best, smallest = smallest_loss(X, y, ridge, share)

    def room(w):
        return smallest + epsilon - penalised_loss(w, X, y, ridge, share)[0]

    found = minimize(
        lambda w: -x @ w,
        best,
        jac=lambda _: -x,
        constraints={
            "type": "ineq",
            "fun": room,
            "jac": lambda w: -penalised_loss(w, X, y, ridge, share)[1],
        },
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return x @ found.x


def gradient_ascent(x, X, y, ridge, share, coef, *, epsilon, rate, momentum, n_steps, sign):
    """Logit of x after gradient steps on it, the last one within the level."""
    level = penalised_loss(coef, X, y, ridge, share)[0] + epsilon
    w, velocity, kept = coef.copy(), np.zeros_like(coef), coef @ x
    for _ in range(n_steps):
        velocity = momentum * velocity + sign * x
        w = w + rate * velocity
        if penalised_loss(w, X, y, ridge, share)[0] > level:
            break
        kept = w @ x
    return kept
