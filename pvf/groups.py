"""One capacity for several groups of people, and what its use is worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pvf import _checks as check
from pvf._people import POS_LABEL, check_people
from pvf._profile import shares_at, signed_root
from pvf._ranks import Unit, chances, check_one_room, share_of
from pvf._types import Array, ArrayLike
from pvf.intervals import table_of


def efficiency_by_group(
    y_true: ArrayLike,
    y_pred: ArrayLike | None = None,
    *,
    y_score: ArrayLike | None = None,
    groups: ArrayLike,
    capacity: float,
    capacity_unit: Unit = None,
    confidence: float = 0.95,
    pos_label: Any = POS_LABEL,
    sample_weight: ArrayLike | None = None,
) -> pd.DataFrame:
    """Who gets the places: Intervention Efficiency by group under one capacity for all.

    Parameters
    ----------
    y_true, y_pred, y_score, pos_label, sample_weight
        As in `intervention_efficiency_score`.
    groups : array-like of shape (n_samples,)
        The group of each person.
    capacity, capacity_unit
        As in `intervention_efficiency_interval`; places for all groups together.
    confidence : float in (0, 1), default=0.95
        Of the intervals.

    Returns
    -------
    DataFrame
        One row a group, in sorted order: ``people`` and ``cases`` (sums of weights), expected
        ``places``, ``share_of_list`` with ``share_low`` and ``share_high``, expected
        ``cases_reached``, and ``efficiency`` with ``low`` and ``high``: cases reached over those
        that the same capacity would reach in the group if everybody had the same chance. The mean
        of ``efficiency`` over groups, weighted by cases, is IE. It is missing without a case.

    Notes
    -----
    The intervals are Jeffreys intervals of one share, and hold it: of the group's people among
    those on the list, and of those on the list among the group's cases.

    Examples
    --------
    >>> y_true = [1, 1, 0, 0, 1, 0, 0, 0]
    >>> risk = [0.9, 0.5, 0.4, 0.1, 0.8, 0.7, 0.2, 0.1]
    >>> table = efficiency_by_group(y_true, y_score=risk, groups=list("aaaabbbb"), capacity=2)
    >>> print(table[["cases", "places", "cases_reached", "efficiency"]].reset_index())
      group  cases  places  cases_reached  efficiency
    0     a    2.0     1.0            1.0         2.0
    1     b    1.0     1.0            1.0         4.0
    """
    room = check_one_room(capacity, capacity_unit)
    level = check.fraction("confidence", confidence)
    people = check_people(y_true, y_pred, y_score, pos_label, sample_weight)
    names = check.column("groups", groups)
    if len(names) != len(people.case):
        raise ValueError(
            f"groups must name the group of each of the {len(people.case)} people, "
            f"got {len(names)}."
        )
    weight, case = people.weight, people.case
    share = float(share_of(room, weight.sum()))
    treated = weight * chances(people.score, weight, share)
    rows = {}
    for name in np.unique(names):
        of_group = names == name
        cases = float(weight[of_group & case].sum())
        reached = float(treated[of_group & case].sum())
        found, n_places = table_of(of_group, treated)
        list_share = _with_ends(found / n_places, n_places, level)
        n_cases = table_of(of_group & case, np.where(of_group & case, weight, 0.0))[1]
        recall = (np.nan,) * 3 if n_cases == 0 else _with_ends(reached / cases, n_cases, level)
        rows[name] = {
            "people": float(weight[of_group].sum()),
            "cases": cases,
            "places": float(treated[of_group].sum()),
            **dict(zip(("share_of_list", "share_low", "share_high"), list_share, strict=True)),
            "cases_reached": reached,
            **dict(zip(("efficiency", "low", "high"), np.array(recall) / share, strict=True)),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="group")


def _with_ends(share: float, total: float, level: float) -> tuple[float, float, float]:
    """Return a share of so many people with its Jeffreys interval."""
    root = signed_root(level)
    low, high = shares_at(share * total, total, np.array([-root, root]))
    return share, min(float(low), share), max(float(high), share)


def net_benefit(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    threshold: float,
    capacity: float = 1.0,
    capacity_unit: Unit = None,
    threshold_beyond: float | None = None,
    pos_label: Any = POS_LABEL,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Net benefit of treating those whose risk reaches a threshold, as far as capacity goes.

    .. math::

        \mathrm{NB} = \frac{\mathrm{TP}}{\beta} - \frac{\mathrm{FP}}{\beta} \frac{t}{1 - t}

    of those who are treated: with risk t or more, the highest first, ties at the edge in
    expectation. An absolute constraint treats nobody beyond the capacity. A relative one
    (``threshold_beyond``) goes on with those whose risk reaches a higher threshold, which makes
    up for what an extra place costs; their false positives weigh by that threshold.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_score : array-like of shape (n_samples,)
        Risks in [0, 1].
    threshold : float in [0, 1)
        Threshold probability t.
    capacity : float or int, default=1.0
        As in `intervention_efficiency_score`; 1.0 is no constraint.
    capacity_unit : {"share", "places"}, optional
        What ``capacity`` is.
    threshold_beyond : float in [threshold, 1), optional
        Threshold for places beyond the capacity.
    pos_label, sample_weight
        As in `intervention_efficiency_score`.

    Returns
    -------
    float
        True positives a person, net of false positives.

    Notes
    -----
    Where the capacity γ is filled, IE by rank says the rest: of those treated the share π IE are
    cases, so that NB = γ (π IE - (1 - π IE) t / (1 - t)).

    References
    ----------
    Vickers and Elkin (2006), Decision curve analysis: a novel method for evaluating prediction
    models.

    Examples
    --------
    >>> y_true, risk = [1, 0, 1, 0, 0], [0.9, 0.6, 0.5, 0.2, 0.1]
    >>> net_benefit(y_true, risk, threshold=0.2)
    0.3
    >>> net_benefit(y_true, risk, threshold=0.2, capacity=2)
    0.15
    """
    t = check.number("threshold", threshold, 0, 1, right_open=True)
    room = check_one_room(capacity, capacity_unit)
    people = check_people(y_true, None, y_score, pos_label, sample_weight)
    risk, weight = people.score, people.weight
    if (risk < 0).any() or (risk > 1).any():
        raise ValueError("y_score must lie in [0, 1] for a net benefit: it is a risk.")
    chance = chances(risk, weight, float(share_of(room, weight.sum())))
    within = weight * np.where(risk >= t, chance, 0.0)
    benefit = _benefit(people.case, within, t)
    if threshold_beyond is not None:
        beyond = check.number("threshold_beyond", threshold_beyond, t, 1, right_open=True)
        benefit += _benefit(people.case, weight * np.where(risk >= beyond, 1 - chance, 0.0), beyond)
    return float(benefit / weight.sum())


def _benefit(case: Any, treated: Array, threshold: float) -> float:
    return treated[case].sum() - treated[~case].sum() * threshold / (1 - threshold)
