"""Estimates and figures on the candidates as Rashomon sets.

Each interval is over whole repetitions: a t interval for means; for shares of errors and areas
under curves, resamples of whole repetitions with all their splits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pvf._types import Array, Flags, Indices
from studies.capacity2022.bridge import N_DISTANCES, PROBLEMS
from studies.capacity2022.show import together
from studies.kit.dots import Columns, Frames, changed, crossed, dot_rows, lines
from studies.kit.estimates import mean_estimates, single_run_range
from studies.kit.show import finished

#: The tolerance that the chapter shows.
EPSILON = 0.1
#: Resamples of whole repetitions, and what draws them.
_RESAMPLES, _SEED = 999, 20261127
#: What is to be told, what may tell it, and kinds of errors, in the reader's words.
_OUTCOMES = {
    "differs": "the two choices differ\n(first of the tied)",
    "outside": "PVF's choice does not\ntie under the traditional method",
}
_PREDICTORS = {
    "capacity_validation": "capacity on the validation sample",
    "capacity": "capacity on the external patients",
    "n_models": "number of candidates in the set",
}
_ERRORS = {
    "error_pvf": "errors of PVF's choice",
    "error_traditional": "errors of the traditional choice",
    "error_member": "errors of a member at random",
    "lost": "only PVF's choice errs",
    "won": "only the traditional choice errs",
}
#: The reader's words for quantities.
NAMES = {
    **_ERRORS,
    **{f"differs: {key}": f"AUC: {name}" for key, name in _PREDICTORS.items()},
    "differs": "choices differ (%)",
    "conflict": "decisions conflict (%)",
    "rank_pvf_random": "PVF's choice",
    "rank_traditional_random": "traditional choice",
    "nearer": "PVF's choice nearer to the middle (rank)",
    "nearer_random": "traditional less PVF",
}


# --- estimates ----------------------------------------------------------------------------------


def set_estimates(table: pd.DataFrame) -> pd.DataFrame:
    """Return means over the repetitions of all sets, and how well sets tell differing choices.

    ``nearer``: by how much of the ranks PVF's choice lies nearer to the middle than the traditional
    one. Sets of one model have no rank and do not count.
    """
    rows = table.assign(
        nearer=table["rank_traditional"] - table["rank_pvf"],
        nearer_random=table["rank_traditional_random"] - table["rank_pvf_random"],
        conflict=100 * table["conflict"],
        differs=100 * table["differs"],
    )
    named = ["problem", "repetition", "subset", "split", "metric", "epsilon"]
    quantities = [name for name in rows if name not in named]
    means = mean_estimates(rows, ["problem", "metric", "epsilon"], quantities)
    told = separation(table[table["epsilon"] == EPSILON])
    return pd.concat([means, told], ignore_index=True).dropna(subset="estimate")


def patient_estimates(table: pd.DataFrame) -> pd.DataFrame:
    """Return how the sets treat groups of patients, and which share of all errors these carry.

    ``beyond``: conflict less that of the first group: of cases less that of others. Group 0 of the
    capacities holds the two tenths with the largest capacity.
    """
    keys = ["problem", "metric", "epsilon", "grouping", "group"]
    rows = table[table["grouping"] != "capacity"]
    rows = rows.assign(conflict=100 * rows["conflict"])
    first = rows.groupby([*keys[:-1], "repetition"])["conflict"].transform("first")
    rows = rows.assign(beyond=rows["conflict"] - first)
    means = mean_estimates(rows, keys, ["capacity", "conflict", "beyond"])
    carried = error_shares(table[table["epsilon"] == EPSILON])
    return pd.concat([means, carried], ignore_index=True).dropna(subset="estimate")


@cache
def _weights(n_units: int) -> Array:
    """Return how often each repetition counts: once; in each resample; and each one alone."""
    rng = np.random.default_rng(_SEED)
    draws = rng.multinomial(n_units, np.full(n_units, 1 / n_units), size=_RESAMPLES)
    return np.vstack([np.ones(n_units), draws, np.eye(n_units)])


def _resampled(n_units: int, statistic: Callable[[Array], Array]) -> dict[str, Any]:
    """Return a statistic of weighted repetitions with its interval and its range of single runs."""
    values = statistic(_weights(n_units))
    # a resample without such an error, or without both outcomes, says nothing
    drawn, single = (part[~np.isnan(part)] for part in np.split(values[1:], [_RESAMPLES]))
    ends = np.full((2, 2), np.nan)
    if n_units > 1 and len(drawn) and len(single):
        ends = np.array([single_run_range(drawn), single_run_range(single)])
    return {
        "estimate": values[0],
        **dict(zip(("low", "high", "run_low", "run_high"), ends.ravel(), strict=True)),
        "n": n_units,
    }


def _percent(carried: Array, errors_: Array, weights: Array) -> Array:
    total = weights @ errors_
    return np.divide(
        100 * (weights @ carried), total, out=np.full(len(total), np.nan), where=total > 0
    )


def error_shares(patients: pd.DataFrame) -> pd.DataFrame:
    """Return which share of all errors, in percent, each tenth of patients by capacity carries."""
    part = patients[patients["grouping"] == "capacity"]
    rows = []
    for (problem, metric, epsilon), group in part.groupby(
        ["problem", "metric", "epsilon"], sort=False
    ):
        key = {"problem": problem, "metric": metric, "epsilon": epsilon, "grouping": "capacity"}
        for error in _ERRORS:
            counts = (
                group.assign(wrong=group[error] * group["n"])
                .pivot_table("wrong", "repetition", "group", aggfunc="sum")
                .to_numpy()  # repetitions × tenths
            )
            parts = np.column_stack([counts[:, -2:].sum(axis=1), counts])
            for number, carried in enumerate(parts.T):
                found = _resampled(len(counts), partial(_percent, carried, counts.sum(axis=1)))
                rows.append({**key, "group": number, "quantity": error, **found, "unit": "%"})
    return pd.DataFrame(rows)


def weighted_auc(predictor: Array, outcome: Flags, weights: Array) -> Array:
    """Return the area under the ROC curve of one predictor under many sets of weights, each a row.

    It is the chance that a positive has the larger value than a negative, equal values counting
    half; NaN where one of the two is missing.
    """
    order = np.argsort(predictor, kind="stable")
    _, starts = np.unique(predictor[order], return_index=True)
    ordered, is_positive = weights[:, order], outcome[order]
    positive = np.add.reduceat(ordered * is_positive, starts, axis=1)
    negative = np.add.reduceat(ordered * ~is_positive, starts, axis=1)
    below = np.cumsum(negative, axis=1) - negative / 2
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    found = (positive * below).sum(axis=1)
    return np.divide(found, pairs, out=np.full(len(found), np.nan), where=pairs > 0)


def _auc_of_units(predictor: Array, outcome: Flags, unit: Indices, weights: Array) -> Array:
    return weighted_auc(predictor, outcome, weights[:, unit])


def separation(sets: pd.DataFrame) -> pd.DataFrame:
    """Return how well a set's size and capacity tell splits in which the choices differ."""
    rows = []
    for (problem, metric, epsilon), group in sets.groupby(
        ["problem", "metric", "epsilon"], sort=False
    ):
        units, unit = np.unique(group["repetition"], return_inverse=True)
        for outcome in _OUTCOMES:
            told = group[outcome].to_numpy() > 0.5
            for predictor in _PREDICTORS:
                values = group[predictor].to_numpy(dtype=float)
                found = _resampled(len(units), partial(_auc_of_units, values, told, unit))
                key = {"problem": problem, "metric": metric, "epsilon": epsilon}
                rows.append({**key, "quantity": f"{outcome}: {predictor}", **found, "unit": "AUC"})
    return pd.DataFrame(rows)


def signs(estimates: pd.DataFrame, middle: float = 0.0) -> tuple[int, int, int]:
    """Count estimates whose interval lies above a value and below it, and all estimates."""
    above, below = estimates["low"] > middle, estimates["high"] < middle
    return int(above.sum()), int(below.sum()), len(estimates)


# --- figures ------------------------------------------------------------------------------------


def conflicts(frames: Frames) -> Figure:
    """Draw the capacity by class and by distance to the boundary, one panel a problem."""
    behind = N_DISTANCES + 1.5
    frames = changed(
        frames,
        lambda rows: rows.assign(at=rows["group"] + behind * (rows["grouping"] == "class")),
    )
    problems = [name for name in PROBLEMS if name in set(frames.run["problem"])]
    columns = crossed(
        {name: {"problem": name} for name in problems},
        {f"by {name}": {"grouping": name} for name in ("distance", "class")},
        metric="F1",
        epsilon=EPSILON,
        quantity="capacity",
    )
    figure, axes = lines(
        frames,
        "at",
        columns,
        xlabel="fifths by distance to the boundary, and the two classes",
        ylabel="mean Rashomon Capacity\n(effective classes)",
        sharey=False,
    )
    for ax in axes:
        ticks = [1, N_DISTANCES, behind, behind + 1]
        ax.set_xticks(ticks, ["near", "far", "others", "cases"], rotation=45)
        ax.set_ylim(bottom=1)
    return finished(figure)


_KEYS = ("problem", "metric")


def in_decisions(frames: Frames) -> Figure:
    """Draw on whom members of the set decide differently: by class, and near and far."""
    groups = {"others": ("class", 0), "cases": ("class", 1)}
    groups |= {"nearest fifth": ("distance", 1), "farthest fifth": ("distance", N_DISTANCES)}
    where = {"epsilon": EPSILON, "quantity": "conflict"}
    shown = {
        name: {**where, "grouping": grouping, "group": group}
        for name, (grouping, group) in groups.items()
    }
    xlabel = "external patients with conflicting decisions (%)"
    return _lying(frames, {"": shown}, xlabel, xlim=(0, 100), width=5.6)


def carried(frames: Frames) -> Figure:
    """Draw the share of errors that the fifth of patients with the largest capacity carries."""
    where = {"grouping": "capacity", "group": 0}
    shown = {name: {**where, "quantity": error} for error, name in _ERRORS.items()}
    options = {"line": (20.0, "their share of the patients"), "xlim": (0, 100), "width": 5.6}
    xlabel = "errors carried by the fifth with the largest capacity (%)"
    return _lying(frames, {"": shown}, xlabel, **options)


def _lying(frames: Frames, columns: Columns, xlabel: str, **options: Any) -> Figure:
    """Draw panels with a row for each problem and metric."""
    return finished(dot_rows(frames, _KEYS, columns, xlabel, **options)[0], legend_columns=2)


def ranks(frames: Frames, *, beside: Sequence[Any] = ()) -> Figure:
    """Draw where the two choices lie among near-best candidates and all, by two rules for ties."""
    near = f"within {EPSILON:.0%} of the best"
    titles = {
        f"{near},\nfirst of the tied": (EPSILON, ""),
        "all candidates,\nfirst of the tied": (1.0, ""),
        f"{near},\na random one of the tied": (EPSILON, "_random"),
    }
    methods = {"PVF": "rank_pvf", "traditional": "rank_traditional"}
    columns = {
        title: {name: {"epsilon": e, "quantity": q + end} for name, q in methods.items()}
        for title, (e, end) in titles.items()
    }
    frames = together(frames, beside)
    xlabel = "rank of the choice in the set: 0 in the middle, 1 at the edge"
    return _lying(frames, columns, xlabel, line=(0.5, "a member at random"), xlim=(0, 1))


def separations(frames: Frames, *, beside: Sequence[Any] = ()) -> Figure:
    """Draw the areas under the curve for both outcomes."""
    columns = {
        title: {name: {"quantity": f"{outcome}: {p}"} for p, name in _PREDICTORS.items()}
        for outcome, title in _OUTCOMES.items()
    }
    frames = together(frames, beside)
    xlabel = "area under the ROC curve, over splits or data sets"
    options = {"line": (0.5, "tells nothing"), "xlim": (0, 1), "width": 4.1}
    return _lying(frames, columns, xlabel, **options)
