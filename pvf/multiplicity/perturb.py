"""The extreme scores that equally good models of one class give a sample."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.pipeline import Pipeline

from pvf import _checks as check
from pvf._checks import naming, shown
from pvf._types import ArrayLike
from pvf.multiplicity import logistic, networks
from pvf.multiplicity.scores import warn_of_gaps
from pvf.multiplicity.search import GradientSteps, Samples


def perturb_scores(
    model: Any,
    X_train: ArrayLike,
    y_train: ArrayLike,
    X: ArrayLike,
    epsilon: float,
    *,
    method: Literal["auto", "exact", "gradient"] = "auto",
    sample_weight: ArrayLike | None = None,
    return_gap: bool = False,
    tol: float = 1e-9,
    max_iter: int | None = None,
    learning_rate: float = 1e-3,
    momentum: float = 0.9,
    score_target: float = 1.0,
    n_jobs: int | None = None,
    memory_budget: float = 256,
) -> Any:
    r"""Extreme scores among the models of one class whose loss is within epsilon, equation (9).

    For each sample and class, the model of the same class (all weight vectors of this logistic
    regression, or of this network) is sought that gives the class the largest score while its loss
    on the training data is at most L* + epsilon.

    *Logistic regression* of two classes, alone or at the end of a pipeline: solved exactly. The
    models within the level form a convex set in which a sample's logit is linear; each score is
    returned with a certificate that no model within the level is more than ``gap`` beyond it. L is
    what the model minimised, divided by the sum of the weights: mean log loss plus
    :math:`\lVert w \rVert^2 / (2 C \sum s)`, with its class and sample weights; L* is its minimum.
    Since two classes need the extreme scores only, `rashomon_capacity` of the result is the
    capacity of the whole, infinite Rashomon set.

    *Neural networks*, PyTorch modules (``pip install pvf[torch]``): the adversarial weight
    perturbation of the paper, by gradient steps on the sample's logit, for many samples at once;
    what they reach falls short of what is possible. L is the mean cross-entropy, and L* that of
    the module as it is. ``method="gradient"`` does the same to a logistic regression, for
    comparison, with its own loss as L*; its steps all go along the sample itself, so that they are
    not simulated but counted.

    Parameters
    ----------
    model : fitted LogisticRegression, LogisticRegressionCV, Pipeline or torch.nn.Module
        A pipeline's transformers are applied and stay as they are; its last step is perturbed.
        A module maps a float tensor (n, n_features) to logits (n, n_classes), or (n, 1) or (n,)
        for two classes. Its weights stay as they are.
    X_train : array-like of shape (n_train, n_features)
        Data on which the loss is measured: what the model was trained on.
    y_train : array-like of shape (n_train,)
        Labels; 0, 1, ... for a module.
    X : array-like of shape (n_samples, n_features)
        Samples whose scores are perturbed.
    epsilon : float
        How much the loss may rise; at least 0.
    method : "auto", "exact" or "gradient", default="auto"
        Exact where it exists.
    sample_weight : array-like of shape (n_train,), optional
        Weights that the model was fitted with.
    return_gap : bool, default=False
        Whether to return the certificate. Exact method only.
    tol : float, default=1e-9
        Largest accepted gap, in score. Exact method only.
    max_iter : int, optional
        Most steps: 100 for the exact method, 1000 gradient steps.
    learning_rate, momentum : float
        Of the gradient steps, 0.001 and 0.9 in the authors' code.
    score_target : float, default=1.0
        Gradient steps end when the class's score reaches it; 0.9 in the authors' code.
    n_jobs : int or None
        Threads over blocks of samples for the exact method. The blocks and so the result do not
        depend on it.
    memory_budget : float, default=256
        Most MiB that a block of samples may take in gradient steps on a network.

    Returns
    -------
    scores : ndarray of shape (2, n_samples) or (n_classes, n_samples, n_classes)
        Two classes: the smallest and the largest score of the positive class. More: row k holds the
        scores of the model that maximises class k. Either is what `rashomon_capacity` takes.
    gap : ndarray of shape (2, n_samples)
        If ``return_gap``: no model within the level is farther beyond the score than this.

    Raises
    ------
    TypeError
        If the model is none of the above.
    ValueError
        If the penalty is not L2 or none; if there is no penalty and the classes can be separated;
        or if the labels or shapes do not fit.

    Warns
    -----
    ConvergenceWarning
        If a score did not reach ``tol``, or if the model is farther than ``epsilon`` from the
        minimum, so that the level was raised to its own loss.

    Notes
    -----
    The set always contains the given model: where its own loss is above L* + ``epsilon``, the
    level is that loss. With ``epsilon=0`` both scores are the optimum's, up to how loosely the
    model was fitted.

    What differs from the authors' code (commit 101abd4, ``perturb_all_weights3``):

    1. The loss is measured on the data that is passed as training data. The authors measure it on
       the test set that the scores are reported for; passing that set does the same.
    2. A model whose loss equals the level is inside (≤, as in equation (1)); they use <, so that
       with ``epsilon=0`` they take no step at all.
    3. The number of steps is bounded, and a step that changes nothing ends the search. Theirs goes
       on until the loss or the score crosses its bound, forever where gradients vanish.
    4. The score that counts is the best one within the level; they keep the last one.
    5. Steps end at a score of ``score_target=1.0``, theirs at 0.9 unless told otherwise.
    6. The module is the user's. Theirs applies one and the same hidden layer ``nlayer`` times, by
       accident, and has no activation after the first layer.
    7. The model is in evaluation mode throughout: no dropout, fixed batch statistics.
    8. All samples and classes of a block move at once (``torch.func.vmap``) instead of one by one.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(200, 4, random_state=0)
    >>> model = LogisticRegression().fit(X, y)
    >>> low, high = perturb_scores(model, X, y, X[:3], epsilon=0.01)
    >>> print(np.stack([low, model.predict_proba(X[:3])[:, 1], high]).round(3))
    [[0.002 0.    0.782]
     [0.014 0.001 0.926]
     [0.053 0.006 0.982]]
    """
    epsilon = check.number("epsilon", epsilon, 0)
    if not isinstance(method, str) or method not in ("auto", "exact", "gradient"):
        raise ValueError(f"method must be 'auto', 'exact' or 'gradient', got {shown(method)}.")
    check.flag("return_gap", return_gap)
    check.n_jobs(n_jobs)
    tol = check.number("tol", tol, 1e-13)
    budget = check.number("memory_budget", memory_budget, 1) * 2**20
    if max_iter is not None:
        check.integer("max_iter", max_iter, 1)
    samples = _checked_samples(X_train, y_train, X, sample_weight)
    model, samples = _last_step(model, samples)
    steps = GradientSteps(
        learning_rate=check.number("learning_rate", learning_rate, 0),
        momentum=check.number("momentum", momentum, 0, 1),
        score_target=check.number("score_target", score_target, 0, 1),
        max_iter=max_iter or 1000,
    )
    is_logistic = isinstance(model, LogisticRegression | LogisticRegressionCV)
    if return_gap and (method == "gradient" or not is_logistic):
        raise ValueError("return_gap must be False for gradient steps: they have no certificate.")
    if not is_logistic:
        _check_module(model, method)
        return networks.extreme_scores(model, samples, epsilon, steps, budget)
    if method == "gradient":
        return logistic.gradient_scores(model, samples, epsilon, steps)
    scores, gap, beyond = logistic.extreme_scores(
        model, samples, epsilon, tol=tol, n_jobs=n_jobs, max_iter=max_iter or 100
    )
    warn_of_gaps(gap, tol, "in score", "perturb_scores")
    _warn_of_loose_fit(beyond, epsilon)
    return (scores, gap) if return_gap else scores


def _checked_samples(X_train: Any, y_train: Any, X: Any, sample_weight: Any) -> Samples:
    """Refuse what can't be samples, labels or weights of any model."""
    labels = check.column("y_train", y_train)
    check.samples("X_train", X_train, len(labels), other="y_train")
    check.samples("X", X)
    weight = np.ones(len(labels))
    if sample_weight is not None:
        weight = check.interval("sample_weight", sample_weight, 0, np.inf)
        if weight.shape != labels.shape or not weight.any():
            raise ValueError(
                f"sample_weight must be {len(labels)} numbers of at least 0, not all 0."
            )
    return Samples(X_train, labels, weight, X)


def _last_step(model: Any, samples: Samples) -> tuple[Any, Samples]:
    """Return a pipeline's last step and what it gets; any other model as it is."""
    if not isinstance(model, Pipeline):
        return model, samples
    # Steps that only resample the training data, as imbalanced-learn's do, have no transform.
    for step in (step for _, step in model.steps[:-1] if hasattr(step, "transform")):
        with naming("X_train"):
            samples = replace(samples, X_train=step.transform(samples.X_train))
        with naming("X"):
            samples = replace(samples, X=step.transform(samples.X))
    return model.steps[-1][1], samples


def _warn_of_loose_fit(beyond: float, epsilon: float) -> None:
    """Say that the model itself is not within epsilon of the best."""
    if beyond > max(epsilon, 1e-5):
        warnings.warn(
            f"model has a loss {beyond:.3g} above the smallest on X_train, more than "
            f"epsilon={epsilon:g}: the level was raised to the model's own loss. Was it fitted on "
            "other data or weights, or with a loose tol?",
            ConvergenceWarning,
            stacklevel=3,
        )


def _check_module(model: Any, method: str) -> None:
    """Refuse what is not a PyTorch module, without importing PyTorch."""
    if not any(base.__module__.startswith("torch.nn") for base in type(model).__mro__):
        raise TypeError(
            "model must be a LogisticRegression, a Pipeline that ends in one, or a "
            f"torch.nn.Module, got {type(model).__name__}."
        )
    if method == "exact":
        raise ValueError("method must be 'gradient' or 'auto' for a torch.nn.Module, got 'exact'.")
