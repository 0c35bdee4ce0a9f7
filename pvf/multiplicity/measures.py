"""Rashomon sets, what their models decide, and how much the decisions differ."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd

from pvf import _checks as check
from pvf._checks import naming
from pvf._ranks import Unit, chances, check_one_room, check_scores, check_unit, share_of
from pvf._types import Array, ArrayLike, Indices, NDArray
from pvf.multiplicity.capacity import rashomon_capacity
from pvf.multiplicity.scores import (
    as_scores,
    check_sample_names,
    class_scores,
    n_classes,
    numbers_of,
    positive_scores,
    widest_range,
)


def rashomon_set(
    losses: ArrayLike, epsilon: float, reference: int | float | Literal["best"] = "best"
) -> Indices:
    """Models whose loss is at most the reference's plus epsilon, equation (8).

    Parameters
    ----------
    losses : array-like of shape (n_models,)
        Loss of each model; smaller is better.
    epsilon : float
        How much worse than the reference a model may be; at least 0.
    reference : "best", int or float, default="best"
        The best of the models; or the index of a base model, a whole number; or a loss, a float,
        for instance 0.0 to let ``epsilon`` be the level itself as in equation (1).

    Returns
    -------
    indices : ndarray of int
        In increasing order. The reference model is always among them; losses equal to the level
        within rounding count as inside.

    Raises
    ------
    ValueError
        If no model is inside, which takes a loss as reference.

    Examples
    --------
    >>> rashomon_set([0.30, 0.31, 0.35, 0.29], 0.02)
    array([0, 1, 3])
    >>> rashomon_set([0.30, 0.31, 0.35, 0.29], 0.0, reference=2)
    array([0, 1, 2, 3])
    """
    losses = check.finite("losses", losses)
    if losses.ndim != 1 or not losses.size:
        raise ValueError(f"losses must have shape (n_models,), n_models > 0, got {losses.shape}.")
    epsilon = check.number("epsilon", epsilon, 0)
    level = _reference_loss(losses, reference) + epsilon
    rounding = 4 * np.spacing(max(abs(level), epsilon))
    inside = np.flatnonzero(losses <= level + rounding)
    if not inside.size:
        raise ValueError(
            f"reference must leave a model inside, got {reference!r} with epsilon={epsilon:g} "
            f"while the smallest loss is {losses.min():g}."
        )
    return inside


def _reference_loss(losses: Array, reference: Any) -> float:
    """Return the loss that the level is counted from."""
    if isinstance(reference, str) and reference == "best":
        return float(losses.min())
    if check.is_whole(reference):
        index = int(reference)
        if not -len(losses) <= index < len(losses):
            raise ValueError(
                f"reference must be an index below {len(losses)}, got {index}; "
                "a loss is given as a float."
            )
        return float(losses[index])
    if isinstance(reference, str):
        raise ValueError(f"reference must be 'best', an index or a loss, got {reference!r}.")
    return check.number("reference", reference, -np.inf)


def decisions(scores: ArrayLike, *, threshold: float = 0.5) -> Array:
    """Scores turned into decisions, in the shape that `rashomon_capacity` takes.

    A decision is a vertex of the simplex, so that the capacity of decisions counts the conflicting
    classes (section 3.3).

    Parameters
    ----------
    scores : array-like of shape (n_models, n_samples) or (n_models, n_samples, n_classes)
        Probabilities.
    threshold : float, default=0.5
        A sample is positive where its score is above it. Two classes only; more are decided by the
        largest score, the first one where several are.

    Returns
    -------
    decisions : ndarray of the scores' shape
        0 and 1.

    Examples
    --------
    >>> scores = [[[0.49, 0.51, 0]], [[0.51, 0.49, 0]]]
    >>> print(rashomon_capacity(scores).round(4), rashomon_capacity(decisions(scores)).round(4))
    [1.0002] [2.]
    """
    array = as_scores(scores)
    labels = _labels(array, threshold)
    if array.ndim == 2:
        return labels.astype(np.float64)
    return np.eye(array.shape[2])[labels]


def _labels(array: NDArray[Any], threshold: float) -> Indices:
    """Return the class that each model assigns to each sample, (models × samples)."""
    threshold = check.number("threshold", threshold, 0, 1)
    if n_classes(array) == 2:
        return (positive_scores(array) > threshold).astype(np.intp)
    if threshold != 0.5:
        raise ValueError(
            f"threshold must be left at 0.5 for more than two classes, got {threshold}."
        )
    return class_scores(array).argmax(axis=2)


def _base_row(table: NDArray[Any], base: Any, losses: ArrayLike | None) -> int | None:
    """Return which model is the base, or None where its scores are given."""
    if losses is not None:
        of_models = check.finite("losses", losses)
        check.shape("losses", of_models, (len(table),), as_in="scores")
        if base is None:
            return int(of_models.argmin())
    base = 0 if base is None else base
    if not check.is_whole(base):
        return None
    row = int(base)
    if not -len(table) <= row < len(table):
        raise ValueError(f"base must be an index below {len(table)}, got {row}.")
    return row


def _differing(
    scores: ArrayLike,
    base: int | ArrayLike | None,
    threshold: float = 0.5,
    losses: ArrayLike | None = None,
    capacity: float | None = None,
    capacity_unit: Unit = None,
) -> NDArray[Any]:
    """Return how far a model's decision is from the base model's, 0 to 1, (models × samples)."""
    check_unit(capacity_unit)
    if capacity is not None:
        if threshold != 0.5:
            raise ValueError(f"threshold must be left out with a capacity, got {threshold}.")
        found = _list_chances(scores, capacity, capacity_unit)
        row = _base_row(found, base, losses)
        if row is None:
            with naming("base"):
                of_base = _list_chances(np.asarray(base)[None], capacity, capacity_unit)
                check.shape("base", of_base[0], (found.shape[1],), as_in="scores")
        away = np.abs(found - (of_base if row is None else found[row]))
        return np.where(away > 1e-9, away, 0.0)
    array = as_scores(scores)
    labels = _labels(array, threshold)
    row = _base_row(labels, base, losses)
    if row is not None:
        return labels != labels[row]
    of_base = numbers_of("base", base)  # type: ignore[arg-type]
    if of_base.shape != array.shape[1:]:
        raise ValueError(
            f"base must be an index or scores of shape {array.shape[1:]}, got {of_base.shape}."
        )
    with naming("base"):
        return labels != _labels(of_base[None], threshold)


def _list_chances(scores: ArrayLike, capacity: Any, unit: Unit) -> Array:
    """Return each person's chance of a place on each model's list, (models × samples)."""
    room = check_one_room(capacity, unit)
    array = check.numeric("scores", scores)
    if array.ndim == 3 and array.shape[2] == 2:
        array = array[:, :, 1]
    check.shape("scores", array, (-1, -1))
    rows = [check_scores("scores", row, array.shape[1]) for row in array]
    weight = np.ones(array.shape[1])
    share = float(share_of(room, array.shape[1]))
    return np.array([chances(row, weight, share) for row in rows])


def capacity_lists(
    scores: ArrayLike, capacity: float, *, capacity_unit: Unit = None, index: Any = None
) -> pd.DataFrame:
    """Who is on every model's list of limited length, on some, on none.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_samples) or (n_models, n_samples, 2)
        Any numbers that are higher for who goes first.
    capacity : float or int
        A share of the people in (0, 1], or a whole number of places (an int of 2 or more).
    capacity_unit : {"share", "places"}, optional
        What ``capacity`` is; an int of 1 needs it.
    index : array-like of shape (n_samples,), optional
        Names of the samples.

    Returns
    -------
    DataFrame
        One row a sample: ``lists``, which is "every", "some" or "none"; ``share``, the mean over
        the models of the chance of a place; ``lowest`` and ``highest`` such chance. Ties at the
        edge of a list share its places, so that a chance may lie between 0 and 1.

    Examples
    --------
    >>> scores = [[0.9, 0.8, 0.3, 0.1], [0.9, 0.2, 0.7, 0.1]]
    >>> print(capacity_lists(scores, 2, index=["ann", "bob", "cat", "dan"]))
         lists  share  lowest  highest
    ann  every    1.0     1.0      1.0
    bob   some    0.5     0.0      1.0
    cat   some    0.5     0.0      1.0
    dan   none    0.0     0.0      0.0
    """
    found = _list_chances(scores, capacity, capacity_unit)
    if index is not None:
        check_sample_names("index", index, found.shape[1])
    lowest, highest = found.min(axis=0), found.max(axis=0)
    lists = np.where(lowest > 1 - 1e-9, "every", np.where(highest < 1e-9, "none", "some"))
    columns = {"lists": lists, "share": found.mean(axis=0), "lowest": lowest, "highest": highest}
    table = pd.DataFrame(columns, index=index)
    return table.rename_axis(index="sample") if index is None else table


def ambiguity(
    scores: ArrayLike,
    *,
    base: int | ArrayLike | None = None,
    threshold: float = 0.5,
    losses: ArrayLike | None = None,
    capacity: float | None = None,
    capacity_unit: Unit = None,
) -> float:
    """Share of samples that some model decides differently from the base model, equation (2).

    Parameters
    ----------
    scores : array-like of shape (n_models, n_samples) or (n_models, n_samples, n_classes)
        Probabilities; with a capacity any numbers that are higher for who goes first.
    base : int or array-like, optional
        Index of the base model, or the scores of one that is not in the set; by default the one
        of the smallest loss, or the first where no losses are given. Any model of the set gives
        the same ambiguity: it is the share of samples without a unanimous decision.
    threshold : float, default=0.5
        As in `decisions`.
    losses : array-like of shape (n_models,), optional
        Loss of each model, of which the best is the base.
    capacity : float or int, optional
        Decide by rank: who is on the list of so many, as in `capacity_lists`.
    capacity_unit : {"share", "places"}, optional
        What ``capacity`` is.

    Returns
    -------
    float
        From 0 to 1. By rank a sample counts where its chance of a place differs.

    Examples
    --------
    >>> ambiguity([[0.2, 0.6, 0.9], [0.4, 0.4, 0.8], [0.3, 0.7, 0.3]])
    0.6666666666666666
    >>> ambiguity([[0.2, 0.6, 0.9], [0.4, 0.3, 0.8], [0.3, 0.7, 0.5]], capacity=2)
    0.6666666666666666
    """
    differs = _differing(scores, base, threshold, losses, capacity, capacity_unit)
    return float((differs > 0).any(axis=0).mean())


def discrepancy(
    scores: ArrayLike,
    *,
    base: int | ArrayLike | None = None,
    threshold: float = 0.5,
    losses: ArrayLike | None = None,
    capacity: float | None = None,
    capacity_unit: Unit = None,
) -> float:
    """Largest share of decisions that change when one model replaces the base, equation (2).

    Parameters
    ----------
    scores, threshold, losses, capacity, capacity_unit
        As in `ambiguity`.
    base : int or array-like, optional
        Index of the base model, or the scores of one that is not in the set; by default the one
        of the smallest loss, or the first where no losses are given.

    Returns
    -------
    float
        From 0 to 1, at most the ambiguity. By rank a sample counts by how much its chance of a
        place changes; each place that changes hands changes two.

    Examples
    --------
    >>> scores = [[0.2, 0.6, 0.9], [0.4, 0.4, 0.8], [0.3, 0.7, 0.3]]
    >>> discrepancy(scores)
    0.3333333333333333
    >>> discrepancy(scores, losses=[0.3, 0.2, 0.4])
    0.6666666666666666
    """
    differs = _differing(scores, base, threshold, losses, capacity, capacity_unit)
    return float(differs.mean(axis=1).max())


def multiplicity_table(
    scores: ArrayLike,
    *,
    base: int | ArrayLike | None = None,
    threshold: float = 0.5,
    index: Any = None,
    tol: float = 1e-9,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """One row per sample: how much the models disagree about it, in scores and in decisions.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_samples) or (n_models, n_samples, n_classes)
        Probabilities.
    base : int or array-like, optional
        The base model, as in `ambiguity`; the first by default.
    threshold : float, default=0.5
        As in `decisions`.
    index : array-like of shape (n_samples,), optional
        Names of the samples.
    tol, n_jobs
        As in `rashomon_capacity`.

    Returns
    -------
    DataFrame
        ``capacity`` of the scores and ``decision_capacity``, in effective classes;
        ``contested_class``, the class whose scores spread most (the positive one of two), with its
        ``lowest`` and ``highest`` score; ``n_decisions``, how many classes are assigned; and
        ``conflict_share``, the share of models that decide differently from the base.

    Examples
    --------
    >>> table = multiplicity_table([[0.2, 0.6], [0.4, 0.3]], index=["ann", "bob"])
    >>> print(table.T.round(3))
                         ann    bob
    capacity           1.024  1.047
    decision_capacity  1.000  2.000
    contested_class    1.000  1.000
    lowest             0.200  0.300
    highest            0.400  0.600
    n_decisions        1.000  2.000
    conflict_share     0.000  0.500
    """
    array = as_scores(scores)
    labels = _labels(array, threshold)
    if index is not None:
        check_sample_names("index", index, array.shape[1])
    check.n_jobs(n_jobs)
    contested, lowest, highest = widest_range(array)
    table = pd.DataFrame(
        {
            "capacity": rashomon_capacity(array, tol=tol, n_jobs=n_jobs),
            # Decisions are vertices of the simplex, whose capacity is their number.
            "decision_capacity": _n_distinct(labels).astype(float),
            "contested_class": contested,
            "lowest": lowest,
            "highest": highest,
            "n_decisions": _n_distinct(labels),
            "conflict_share": _differing(array, base, threshold).mean(axis=0),
        },
        index=index,
    )
    return table.rename_axis(index="sample") if index is None else table


def _n_distinct(labels: Indices) -> Indices:
    """Return the number of different labels in each column."""
    return 1 + np.count_nonzero(np.diff(np.sort(labels, axis=0), axis=0), axis=0)
