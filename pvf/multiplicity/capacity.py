"""Predictive multiplicity: how much equally good models disagree about single samples.

Rashomon Capacity (Hsu and Calmon 2022) counts, for each sample, how many classes the models of a
Rashomon set effectively assign to it: 1 where they all give the same scores, the number of classes
where each class is given with certainty by some model. It is 2 to the power of the capacity, in
bits, of the channel whose rows are the models' scores.

Scores are arrays over (models × samples × classes), or (models × samples) with the probability of
the positive class of two. They may come from anywhere.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from pvf import _checks as check
from pvf._types import Array, ArrayLike, NDArray
from pvf.multiplicity import _channel
from pvf.multiplicity.scores import (
    LN2,
    as_scores,
    class_scores,
    n_classes,
    positive_scores,
    sample_blocks,
    warn_of_gaps,
)


def rashomon_capacity(
    scores: ArrayLike,
    *,
    return_weights: bool = False,
    return_gap: bool = False,
    tol: float = 1e-9,
    max_iter: int = 100,
    n_jobs: int | None = None,
    memory_budget: float = 256,
) -> Any:
    r"""Rashomon Capacity of each sample, Definition 2 of Hsu and Calmon (2022).

    .. math::

        m_C(x) = 2^{C(x)}, \qquad
        C(x) = \max_{w} \min_{q} \sum_m w_m D_{KL}(h_m(x) \,\|\, q)

    with the divergence in bits. Two classes have a closed form in the smallest and the largest
    score. For more, Blahut-Arimoto steps start and Newton steps finish, for all samples at once,
    until the capacity is enclosed by two bounds that are at most ``tol`` apart; what is returned
    belongs to the lower one.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_samples) or (n_models, n_samples, n_classes)
        Probabilities: of the positive class of two, or of each class. Rows that sum to 1 within
        1e-6, or single precision's rounding, are rescaled. For decisions see `decisions`.
    return_weights : bool, default=False
        Whether to return the weights over models that attain the capacity.
    return_gap : bool, default=False
        Whether to return the distance between the bounds.
    tol : float, default=1e-9
        Largest accepted distance between the bounds, in bits.
    max_iter : int, default=100
        Most Newton steps; about ten are usual.
    n_jobs : int or None
        Threads over blocks of samples, as joblib takes it. The blocks and so the result do not
        depend on it.
    memory_budget : float, default=256
        Most MiB that one block may take.

    Returns
    -------
    capacity : ndarray of shape (n_samples,)
        m_C, in effective classes, from 1 to the number of classes. In bits it is ``log2`` of that.
    weights : ndarray of shape (n_models, n_samples)
        If ``return_weights``. At most as many models as there are classes have a weight in each
        sample (Proposition 2). Those of two classes are right to 1e-11. Of more, other weights
        are almost as good where the models nearly agree; what these attain is within the gap.
    gap : ndarray of shape (n_samples,)
        If ``return_gap``: the bits of ``capacity`` are no farther than this from the true ones,
        nor, if they are returned, what the weights attain; rounding included. 0 where all models
        agree.

    Raises
    ------
    TypeError
        If the scores are not numbers.
    ValueError
        If they are not probabilities, are missing, or have another shape.

    Warns
    -----
    ConvergenceWarning
        If a sample did not reach ``tol``. Its value is the lower bound.
    UserWarning
        If there is one model only. Its capacity is 1 (Definition 1, property 2), but more often
        than not a Rashomon set of one is a mistake. Scores without an axis of models are refused.

    Examples
    --------
    The smaller of the two sets of equation (7) has the larger capacity:

    >>> three = [[0.55], [0.50], [0.40]]
    >>> two = [[0.15], [0.90]]
    >>> print(rashomon_capacity(three).round(4), rashomon_capacity(two).round(4))
    [1.0114] [1.3745]

    Three models, one sample, three classes:

    >>> capacity, weights = rashomon_capacity(
    ...     [[[0.9, 0.1, 0.0]], [[0.1, 0.9, 0.0]], [[0.5, 0.5, 0.0]]], return_weights=True
    ... )
    >>> print(capacity.round(6), weights.T.round(6) + 0)
    [1.444935] [[0.5 0.5 0. ]]
    """
    array = as_scores(scores)
    check.flag("return_weights", return_weights)
    check.flag("return_gap", return_gap)
    check.n_jobs(n_jobs)
    tol = check.number("tol", tol, 1e-13)
    max_iter = check.integer("max_iter", max_iter, 1)
    budget = check.number("memory_budget", memory_budget, 1) * 2**20
    if len(array) == 1:
        warnings.warn("scores holds one model: its capacity is 1, by definition.", stacklevel=2)
    parts = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_block_capacity)(array[:, block], return_weights, tol, max_iter)
        for block in sample_blocks(array, budget)
    )
    bits, gap = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    warn_of_gaps(gap, tol, "bits", "rashomon_capacity")
    # What is returned is rounded once more; to 1 where fewer bits than that remain.
    gap = np.where(gap > 0, gap + 2 * _channel.EPS * (1 + bits), 0)
    found = [np.clip(np.exp2(bits), 1, n_classes(array))]
    if return_weights:
        found.append(np.concatenate([part[2] for part in parts], axis=1))
    if return_gap:
        found.append(gap)
    return found[0] if len(found) == 1 else tuple(found)


def _block_capacity(
    block: NDArray[Any], return_weights: bool, tol: float, max_iter: int
) -> tuple[Array, Array, Array | None]:
    """Return capacity and gap in bits, and the weights if asked for, of one block of samples."""
    if n_classes(block) == 2:
        return _block_capacity_two(positive_scores(block), return_weights)
    rows = np.ascontiguousarray(class_scores(block).swapaxes(0, 1))
    lower, upper, weights = _channel.many_class_capacity(rows, tol * LN2, max_iter)
    if return_weights:
        weights, attained = _channel.carry_on_few(rows, upper, weights, tol * LN2)
        return lower / LN2, np.maximum(upper - np.minimum(lower, attained), 0) / LN2, weights.T
    return lower / LN2, np.maximum(upper - lower, 0) / LN2, None


def _block_capacity_two(positive: Array, return_weights: bool) -> tuple[Array, Array, Array | None]:
    """Return the same for two classes."""
    low, high = positive.min(axis=0), positive.max(axis=0)
    capacity, weight, gap = _channel.two_class_capacity(low, high)
    weights = None
    if return_weights:
        samples = np.arange(positive.shape[1])
        weights = np.zeros(positive.shape)
        weights[positive.argmin(axis=0), samples] = 1 - weight
        weights[positive.argmax(axis=0), samples] += weight
    return capacity / LN2, gap / LN2, weights


def capacity_tail(capacity: ArrayLike, share: float) -> float:
    """Mean of the largest values, such as the top 1% or 5% of Fig. 3.

    Parameters
    ----------
    capacity : array-like of shape (n_samples,)
    share : float in (0, 1]
        Share of samples in the tail, rounded up to whole samples.

    Returns
    -------
    float

    Examples
    --------
    >>> capacity_tail([1.0, 1.1, 1.3, 1.5], 0.5)
    1.4
    """
    values = check.finite("capacity", capacity)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"capacity must have shape (n_samples,), got {values.shape}.")
    if check.number("share", share, 0, 1) == 0:
        raise ValueError(f"share must be above 0, got {share}.")
    size = int(np.ceil(share * values.size - 1e-9))
    return float(np.partition(values, values.size - size)[values.size - size :].mean())
