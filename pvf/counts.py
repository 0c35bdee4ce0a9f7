"""Metrics of two classes as functions of true and false positives.

Each takes the flagged cases ``tp``, the flagged non-cases ``fp`` and the numbers of cases and of
others, all of which broadcast against each other, and gives what scikit-learn's metric of the same
name gives for such a table. A whole array of tables takes one call. Arguments are not checked.
"""

from __future__ import annotations

import numpy as np

from pvf._types import Array, ArrayLike


def accuracy(tp: ArrayLike, fp: ArrayLike, n_pos: ArrayLike, n_neg: ArrayLike) -> Array:
    """Share of right predictions.

    Parameters
    ----------
    tp, fp : array-like
        True and false positives.
    n_pos, n_neg : array-like
        Cases and others.

    Returns
    -------
    ndarray, or a float where all are single numbers

    Examples
    --------
    >>> accuracy([8, 0], [8, 0], 10, 90)
    array([0.9, 0.9])
    """
    tp, fp, n_pos, n_neg = map(np.asarray, (tp, fp, n_pos, n_neg))
    return (tp + n_neg - fp) / (n_pos + n_neg)


def balanced_accuracy(tp: ArrayLike, fp: ArrayLike, n_pos: ArrayLike, n_neg: ArrayLike) -> Array:
    """Mean of the two classes' shares of right predictions.

    Parameters
    ----------
    tp, fp : array-like
        True and false positives.
    n_pos, n_neg : array-like
        Cases and others, of which there is one at least.

    Returns
    -------
    ndarray, or a float where all are single numbers

    Examples
    --------
    >>> balanced_accuracy([8, 0], [9, 0], 10, 90)
    array([0.85, 0.5 ])
    """
    tp, fp, n_pos, n_neg = map(np.asarray, (tp, fp, n_pos, n_neg))
    return (tp / n_pos + (n_neg - fp) / n_neg) / 2


def precision(
    tp: ArrayLike, fp: ArrayLike, n_pos: ArrayLike, n_neg: ArrayLike, *, zero_division: float = 0.0
) -> Array:
    """Share of cases among the flagged.

    Parameters
    ----------
    tp, fp, n_pos, n_neg : array-like
        True and false positives, cases and others.
    zero_division : float, default=0.0
        The value where nobody is flagged.

    Returns
    -------
    ndarray, or a float where all are single numbers

    Examples
    --------
    >>> precision([8, 0], [8, 0], 10, 90)
    array([0.5, 0. ])
    """
    return _ratio(tp, np.add(tp, fp), zero_division)


def recall(
    tp: ArrayLike, fp: ArrayLike, n_pos: ArrayLike, n_neg: ArrayLike, *, zero_division: float = 0.0
) -> Array:
    """Share of the cases that are flagged.

    Parameters
    ----------
    tp, fp, n_pos, n_neg : array-like
        True and false positives, cases and others.
    zero_division : float, default=0.0
        The value where there is no case.

    Returns
    -------
    ndarray, or a float where all are single numbers

    Examples
    --------
    >>> recall([8, 0], [8, 0], 10, 90)
    array([0.8, 0. ])
    """
    return _ratio(tp, n_pos, zero_division)


def fbeta(
    tp: ArrayLike,
    fp: ArrayLike,
    n_pos: ArrayLike,
    n_neg: ArrayLike,
    *,
    beta: float = 1.0,
    zero_division: float = 0.0,
) -> Array:
    """Weighted harmonic mean of precision and recall.

    Parameters
    ----------
    tp, fp, n_pos, n_neg : array-like
        True and false positives, cases and others.
    beta : float, default=1.0
        How many times as much recall counts as precision.
    zero_division : float, default=0.0
        The value where there is no case and nobody is flagged.

    Returns
    -------
    ndarray, or a float where all are single numbers

    Examples
    --------
    >>> fbeta([8, 0], [8, 0], 10, 90, beta=2).round(3)
    array([0.714, 0.   ])
    """
    weight = beta**2
    flagged_and_cases = np.add(tp, fp) + weight * np.asarray(n_pos)
    return _ratio(np.multiply(1 + weight, tp), flagged_and_cases, zero_division)


def f1(
    tp: ArrayLike, fp: ArrayLike, n_pos: ArrayLike, n_neg: ArrayLike, *, zero_division: float = 0.0
) -> Array:
    """Harmonic mean of precision and recall.

    Parameters
    ----------
    tp, fp, n_pos, n_neg : array-like
        True and false positives, cases and others.
    zero_division : float, default=0.0
        The value where there is no case and nobody is flagged.

    Returns
    -------
    ndarray, or a float where all are single numbers

    Examples
    --------
    >>> f1([8, 0], [8, 0], 10, 90).round(3)
    array([0.615, 0.   ])
    """
    return fbeta(tp, fp, n_pos, n_neg, zero_division=zero_division)


def intervention_efficiency(
    tp: ArrayLike, fp: ArrayLike, n_pos: ArrayLike, n_neg: ArrayLike, capacity: ArrayLike
) -> Array:
    """Intervention Efficiency; `pvf.intervention_efficiency_counts` with unchecked arguments.

    Parameters
    ----------
    tp, fp, n_pos, n_neg : array-like
        True and false positives, cases (at least one) and others.
    capacity : array-like of float in (0, 1]
        Share γ of the population that can receive an intervention.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> intervention_efficiency([8, 0], [8, 0], 10, 90, 0.1)
    array([5., 1.])
    """
    tp, fp, n_pos, n_neg, gamma = map(np.asarray, (tp, fp, n_pos, n_neg, capacity))
    flagged, population = tp + fp, n_pos + n_neg
    room = gamma * population
    with np.errstate(divide="ignore", invalid="ignore"):
        scarce = (tp * population) / (flagged * n_pos)
        by_chance = (room - flagged) * (n_pos - tp) / (population - flagged)
        ample = (tp + by_chance) / (gamma * n_pos)
    value = np.where(flagged > room, scarce, ample)
    same_as_chance = (flagged == 0) | (flagged == population) | (gamma == 1)
    return np.where(same_as_chance, 1.0, value)


def _ratio(numerator: ArrayLike, denominator: ArrayLike, zero_division: float) -> Array:
    """Return a quotient, and ``zero_division`` where its denominator is 0."""
    result = np.full(np.broadcast(numerator, denominator).shape, float(zero_division))
    return np.divide(numerator, denominator, out=result, where=np.asarray(denominator) != 0)[()]
