"""Tables and figures on the candidates as Rashomon sets, from `candidate_sets`.

Each estimate has an interval over whole repetitions: a t interval for means; for shares of errors
and measures of separation, resamples of whole repetitions with all their splits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import stats

from pvf import plotting
from pvf._checks import check_integer
from studies.capacity2022.bridge import METRICS, N_CAPACITIES, N_DISTANCES, PROBLEMS, Findings
from studies.kit.results import read_result

__all__ = [
    "answers",
    "capacity_of_groups",
    "central_ranks",
    "conclusions",
    "error_shares",
    "figure_of_central_ranks",
    "figure_of_conflicts",
    "figure_of_error_shares",
    "figure_of_separation",
    "full_findings",
    "live_agreement",
    "readable_answers",
    "readable_central_ranks",
    "readable_conflicts",
    "readable_errors",
    "readable_provenances",
    "readable_separation",
    "separation",
    "weighted_auc",
]

Array = NDArray[np.float64]

#: The tolerance that the chapter shows.
EPSILON = 0.1

#: What may tell that the choices differ, and in which words.
PREDICTORS = {
    "capacity_validation": "capacity on the validation sample",
    "capacity": "capacity on the external patients",
    "n_models": "number of candidates in the set",
}

#: What is to be told.
OUTCOMES = {
    "differs": "the two choices differ (first of the tied)",
    "outside": "PVF's choice does not tie under the traditional method",
}

_FILES = ("candidate_sets_breast", "candidate_sets_cervical", "candidate_sets_synthetic")


def full_findings() -> tuple[Findings, dict[str, dict]]:
    """Read the committed results.

    Returns
    -------
    findings : Findings
        Of all problems.
    provenance : dict of str to dict
        Of each table, by its name.
    """
    names = (*_FILES, "candidate_patients")
    read = {name: read_result(name) for name in names}
    sets = pd.concat([read[name][0] for name in _FILES], ignore_index=True)
    provenance = {name: facts for name, (_, facts) in read.items()}
    return Findings(sets, read["candidate_patients"][0]), provenance


def _over_repetitions(
    table: pd.DataFrame, keys: Sequence[str], limits: Mapping[str, tuple[float, float]]
) -> pd.DataFrame:
    """Return means with 95% t intervals over the repetitions, which may hold several rows each.

    An interval does not reach beyond what the number can be.
    """
    values = list(limits)
    once = table.groupby([*keys, "repetition"], sort=False)[values].mean()
    groups = once.groupby(list(keys), sort=False)
    mean, error, n = groups.mean(), groups.sem(), groups.count()
    columns = {}
    for value in values:
        reach = error[value] * stats.t.ppf(0.975, np.maximum(n[value] - 1, 1))
        columns[value] = mean[value]
        columns[f"{value}_low"] = (mean[value] - reach).clip(*limits[value])
        columns[f"{value}_high"] = (mean[value] + reach).clip(*limits[value])
    return pd.DataFrame(columns).assign(n_repetitions=n[values[0]]).reset_index()


def _with_interval(table: pd.DataFrame, value: str, spec: str, scale: float = 1) -> list[str]:
    """Return an estimate with its interval as text, which it lacks in a single repetition."""
    columns = table[[value, f"{value}_low", f"{value}_high"]].to_numpy() * scale
    return [
        f"{mean:{spec}}" + ("" if np.isnan(low) else f" ({low:{spec}} to {high:{spec}})")
        for mean, low, high in columns
    ]


# --- who gets conflicting scores ----------------------------------------------------------------


def capacity_of_groups(patients: pd.DataFrame, *, epsilon: float = EPSILON) -> pd.DataFrame:
    """Return how much the members of the sets disagree about each group of patients.

    Parameters
    ----------
    patients : DataFrame
        From `candidate_sets.run_candidate_sets`.
    epsilon : float, default=0.1

    Returns
    -------
    DataFrame
        One row for each problem, metric, grouping ("class" or "distance") and group: ``capacity``
        (effective classes) and ``conflict`` (share of patients), each with ``_low`` and ``_high``,
        and ``n_repetitions``.

    Examples
    --------
    >>> from studies.capacity2022.bridge import run_candidate_sets
    >>> patients = run_candidate_sets("synthetic, μ = 2.5", n_repetitions=20).patients
    >>> table = capacity_of_groups(patients).query("metric == 'F1' and grouping == 'distance'")
    >>> bool(table["capacity"].iloc[0] > table["capacity"].iloc[-1])
    True
    """
    part = patients[(patients["epsilon"] == epsilon) & (patients["grouping"] != "capacity")]
    keys = ["problem", "metric", "grouping", "group"]
    return _over_repetitions(part, keys, {"capacity": (1, 2), "conflict": (0, 1)})


def readable_conflicts(patients: pd.DataFrame, *, epsilon: float = EPSILON) -> pd.DataFrame:
    """Return who gets conflicting decisions as text, one row for each problem and metric.

    Parameters
    ----------
    patients : DataFrame
        From `candidate_sets.run_candidate_sets`.
    epsilon : float, default=0.1

    Returns
    -------
    DataFrame
        Percentages of patients on whom the members' decisions conflict.
    """
    table = capacity_of_groups(patients, epsilon=epsilon)
    columns = {
        "cases (%)": ("class", 1),
        "others (%)": ("class", 0),
        "fifth nearest the boundary (%)": ("distance", 1),
        "fifth farthest (%)": ("distance", N_DISTANCES),
    }
    shown = {}
    for label, (grouping, group) in columns.items():
        part = table[(table["grouping"] == grouping) & (table["group"] == group)]
        shown[label] = _with_interval(part, "conflict", ".1f", 100)
    index = pd.MultiIndex.from_frame(part[["problem", "metric"]])
    return pd.DataFrame(shown, index=index)


@plotting.style()
def figure_of_conflicts(
    patients: pd.DataFrame, *, epsilon: float = EPSILON, metric: str = "F1"
) -> Figure:
    """Draw the capacity by class and by distance to the boundary, one panel a problem.

    Parameters
    ----------
    patients : DataFrame
        From `candidate_sets.run_candidate_sets`.
    epsilon : float, default=0.1
    metric : str, default="F1"

    Returns
    -------
    matplotlib Figure
    """
    table = capacity_of_groups(patients, epsilon=epsilon)
    table = table[table["metric"] == metric]
    problems = _problems(table)
    figure, axes = _panels(len(problems), sharey=False)
    for ax, problem in zip(axes, problems, strict=True):
        part = table[table["problem"] == problem]
        by_distance = part[part["grouping"] == "distance"]
        _errorbars(ax, by_distance["group"], by_distance, "capacity", "by distance", "o-", 0)
        by_class = part[part["grouping"] == "class"]
        _errorbars(
            ax, N_DISTANCES + 1.5 + by_class["group"], by_class, "capacity", "by class", "s", 1
        )
        ticks = [1, N_DISTANCES, N_DISTANCES + 1.5, N_DISTANCES + 2.5]
        ax.set_xticks(ticks, ["near", "far", "others", "cases"], rotation=45)
        ax.set_ylim(bottom=1)
        ax.set_title(problem)
    _finish(
        figure,
        axes,
        "fifths by distance to the boundary, and the two classes",
        "mean Rashomon Capacity\n(effective classes)",
    )
    return figure


# --- the middle or the edge ---------------------------------------------------------------------


def central_ranks(sets: pd.DataFrame) -> pd.DataFrame:
    """Return where in the set the two methods' choices lie.

    Parameters
    ----------
    sets : DataFrame
        From `candidate_sets.run_candidate_sets`.

    Returns
    -------
    DataFrame
        One row for each problem, metric, ε and tie rule ("first", "random"): the mean ranks
        ``pvf`` and ``traditional``, from 0, the member nearest to the set's mean scores, to 1, the
        farthest, a member at random having 1/2; ``nearer``, how much nearer to the middle PVF's
        choice is (traditional less PVF); each with ``_low`` and ``_high``; and ``n_repetitions``.
        Sets of one model have no rank and do not count.
    """
    frames = []
    for rule, suffix in {"first": "", "random": "_random"}.items():
        renamed = sets.assign(
            pvf=sets[f"rank_pvf{suffix}"], traditional=sets[f"rank_traditional{suffix}"]
        )
        renamed["nearer"] = renamed["traditional"] - renamed["pvf"]
        table = _over_repetitions(
            renamed,
            ["problem", "metric", "epsilon"],
            {"pvf": (0, 1), "traditional": (0, 1), "nearer": (-1, 1)},
        )
        frames.append(table.assign(tie_break=rule))
    return pd.concat(frames, ignore_index=True)


def readable_central_ranks(
    sets: pd.DataFrame, *, epsilon: float = 1.0, tie_break: str = "first"
) -> pd.DataFrame:
    """Return `central_ranks` as text, one row for each problem and metric.

    Parameters
    ----------
    sets : DataFrame
        From `candidate_sets.run_candidate_sets`.
    epsilon : float, default=1
    tie_break : str, default="first"

    Returns
    -------
    DataFrame
    """
    table = central_ranks(sets)
    table = table[(table["epsilon"] == epsilon) & (table["tie_break"] == tie_break)]
    columns = {
        "PVF's choice": "pvf",
        "traditional choice": "traditional",
        "traditional less PVF": "nearer",
    }
    index = pd.MultiIndex.from_frame(table[["problem", "metric"]])
    return pd.DataFrame(
        {label: _with_interval(table, value, ".2f") for label, value in columns.items()},
        index=index,
    ).assign(**{"a member at random": "0.50"})


@plotting.style()
def figure_of_central_ranks(sets: pd.DataFrame, *, tie_break: str = "first") -> Figure:
    """Draw where in the set the two choices lie, for near-best candidates and for all.

    Parameters
    ----------
    sets : DataFrame
        From `candidate_sets.run_candidate_sets`.
    tie_break : str, default="first"

    Returns
    -------
    matplotlib Figure
    """
    table = central_ranks(sets)
    table = table[table["tie_break"] == tie_break]
    problems = _problems(table)
    rows = [(problem, metric) for problem in problems for metric in METRICS]
    figure, axes = plt.subplots(
        1, 2, figsize=(8.2, 0.28 * len(rows) + 1.4), sharex=True, sharey=True
    )
    titles = {EPSILON: f"candidates within {EPSILON:.0%} of the best", 1.0: "all candidates"}
    for ax, (epsilon, title) in zip(axes, titles.items(), strict=True):
        part = table[table["epsilon"] == epsilon].set_index(["problem", "metric"]).loc[rows]
        y = np.arange(len(rows))
        for number, (method, label, marker) in enumerate(
            [("pvf", "PVF", "o"), ("traditional", "traditional", "D")]
        ):
            _errorbars(ax, y + 0.15 - 0.3 * number, part, method, label, marker, number, flat=True)
        ax.axvline(0.5, color="0.35", linewidth=0.8, linestyle="--", label="a member at random")
        ax.set_title(title)
    axes[0].set_yticks(range(len(rows)), [f"{problem}, {metric}" for problem, metric in rows])
    axes[0].invert_yaxis()
    axes[0].set_xlim(0, 1)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    figure.supxlabel("rank of the choice in the set: 0 in the middle, 1 at the edge", fontsize=10)
    plt.close(figure)  # a notebook would show it twice
    return figure


# --- who carries the errors ---------------------------------------------------------------------

_ERRORS = {
    "error_pvf": "errors of PVF's choice",
    "error_traditional": "errors of the traditional choice",
    "error_member": "errors of a member at random",
    "lost": "PVF's choice wrong, traditional right",
    "won": "PVF's choice right, traditional wrong",
}


def error_shares(
    patients: pd.DataFrame,
    *,
    epsilon: float = EPSILON,
    n_resamples: int = 999,
    seed: int = 20261127,
) -> pd.DataFrame:
    """Return which share of all errors each tenth of patients by capacity carries.

    Parameters
    ----------
    patients : DataFrame
        From `candidate_sets.run_candidate_sets`.
    epsilon : float, default=0.1
    n_resamples : int, default=999
        Resamples of whole repetitions.
    seed : int

    Returns
    -------
    DataFrame
        One row for each problem, metric, kind of error and tenth: ``share`` of the errors of all
        repetitions; ``share_low`` and ``share_high``, the middle 95% of the resamples; and
        ``n_repetitions``. A further group, 0, holds the two tenths with the largest capacity.

    Examples
    --------
    >>> from studies.capacity2022.bridge import run_candidate_sets
    >>> patients = run_candidate_sets("synthetic, μ = 2.5", n_repetitions=20).patients
    >>> table = error_shares(patients).query("metric == 'F1' and error == 'error_pvf'")
    >>> bool(table.loc[table["group"] == 10, "share"].item() > 0.1)
    True
    """
    check_integer("n_resamples", n_resamples, 1)
    part = patients[(patients["epsilon"] == epsilon) & (patients["grouping"] == "capacity")]
    rows = []
    for (problem, metric), group in part.groupby(["problem", "metric"], sort=False):
        for error in _ERRORS:
            counts = (
                group.assign(wrong=group[error] * group["n"])
                .pivot_table("wrong", "repetition", "group", aggfunc="sum")
                .to_numpy()  # repetitions × tenths
            )
            weights = _resampled_units(len(counts), n_resamples, seed)
            total = weights @ counts
            total = np.column_stack([total[:, -2:].sum(axis=1), total])
            everything = weights @ counts.sum(axis=1)
            share = np.full(total.shape, np.nan)
            np.divide(total, everything[:, None], out=share, where=everything[:, None] > 0)
            low, high = _middle(share[1:], len(counts))
            rows += [
                {
                    "problem": problem,
                    "metric": metric,
                    "error": error,
                    "group": tenth,
                    "share": share[0, tenth],
                    "share_low": low[tenth],
                    "share_high": high[tenth],
                    "n_repetitions": len(counts),
                }
                for tenth in range(N_CAPACITIES + 1)
            ]
    return pd.DataFrame(rows)


def _resampled_units(n_units: int, n_resamples: int, seed: int) -> Array:
    """Return how often each repetition counts: once, and then in each resample."""
    rng = np.random.default_rng(seed)
    draws = rng.multinomial(n_units, np.full(n_units, 1 / n_units), size=n_resamples)
    return np.vstack([np.ones(n_units), draws])


def _middle(resampled: Array, n_units: int) -> tuple[Array, Array]:
    """Return the ends of the middle 95% of each column; NaN where nothing was resampled."""
    ends = np.full((2, resampled.shape[1]), np.nan)
    # a resample without such an error, or without both outcomes, says nothing
    said = ~np.isnan(resampled).any(axis=1)
    if n_units > 1 and said.any():
        ends = np.quantile(resampled[said], [0.025, 0.975], axis=0)
    return ends[0], ends[1]


def readable_errors(patients: pd.DataFrame, *, epsilon: float = EPSILON) -> pd.DataFrame:
    """Return the share of errors that the fifth of patients with the largest capacity carries.

    Parameters
    ----------
    patients : DataFrame
        From `candidate_sets.run_candidate_sets`.
    epsilon : float, default=0.1

    Returns
    -------
    DataFrame
        Percentages as text, one row for each problem and metric; 20 would be their share of the
        patients.
    """
    table = error_shares(patients, epsilon=epsilon)
    table = table[table["group"] == 0]
    columns = {}
    for error, label in _ERRORS.items():
        part = table[table["error"] == error].set_index(["problem", "metric"])
        columns[f"{label} (%)"] = pd.Series(
            _with_interval(part, "share", ".0f", 100), index=part.index
        )
    return pd.DataFrame(columns)


@plotting.style()
def figure_of_error_shares(
    patients: pd.DataFrame, *, epsilon: float = EPSILON, metric: str = "F1"
) -> Figure:
    """Draw the share of errors by tenths of capacity, one panel a problem.

    Parameters
    ----------
    patients : DataFrame
        From `candidate_sets.run_candidate_sets`.
    epsilon : float, default=0.1
    metric : str, default="F1"

    Returns
    -------
    matplotlib Figure
    """
    table = error_shares(patients, epsilon=epsilon)
    table = table[(table["metric"] == metric) & (table["group"] > 0)]
    problems = _problems(table)
    figure, axes = _panels(len(problems), sharey=True)
    shown = {"error_pvf": "o-", "error_traditional": "D--", "lost": "s:"}
    for ax, problem in zip(axes, problems, strict=True):
        for number, (error, style) in enumerate(shown.items()):
            part = table[(table["problem"] == problem) & (table["error"] == error)]
            x = part["group"] + 0.12 * (number - 1)
            _errorbars(ax, x, part, "share", _ERRORS[error], style, number, scale=100)
        ax.axhline(100 / N_CAPACITIES, color="0.35", linewidth=0.8, label="share of patients")
        ax.set_xticks([1, 5, N_CAPACITIES])
        ax.set_title(problem)
    _finish(figure, axes, "tenths of patients by Rashomon Capacity", "share of all errors (%)")
    return figure


# --- does the capacity tell when the choices differ ---------------------------------------------


def weighted_auc(predictor: Array, outcome: NDArray[np.bool_], weights: Array) -> Array:
    """Return the area under the ROC curve of one predictor under many sets of weights.

    Parameters
    ----------
    predictor : ndarray of shape (n,)
    outcome : ndarray of bool of shape (n,)
    weights : ndarray of shape (n_sets, n)

    Returns
    -------
    ndarray of shape (n_sets,)
        The chance that a positive has the larger value than a negative, equal values counting
        half; NaN where one of the two is missing.

    Examples
    --------
    >>> predictor, outcome = np.array([1.0, 2.0, 2.0, 3.0]), np.array([False, False, True, True])
    >>> weighted_auc(predictor, outcome, np.ones((1, 4)))
    array([0.875])
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


def separation(
    sets: pd.DataFrame,
    *,
    epsilon: float = EPSILON,
    n_resamples: int = 999,
    seed: int = 20261127,
) -> pd.DataFrame:
    """Return how well a set's capacity tells splits in which the methods' choices differ.

    Parameters
    ----------
    sets : DataFrame
        From `candidate_sets.run_candidate_sets`.
    epsilon : float, default=0.1
    n_resamples : int, default=999
        Resamples of whole repetitions, with all their splits.
    seed : int

    Returns
    -------
    DataFrame
        One row for each problem, metric, outcome (keys of `OUTCOMES`) and predictor (keys of
        `PREDICTORS`): ``auc``, the chance that a split with the outcome has the larger value than
        one without; ``auc_low`` and ``auc_high``, the middle 95% of the resamples; ``share`` of
        splits with the outcome, ``n_splits`` and ``n_repetitions``. NaN where all splits agree.
    """
    check_integer("n_resamples", n_resamples, 1)
    rows = []
    part = sets[sets["epsilon"] == epsilon]
    for (problem, metric), group in part.groupby(["problem", "metric"], sort=False):
        units, unit = np.unique(group["repetition"], return_inverse=True)
        weights = _resampled_units(len(units), n_resamples, seed)[:, unit]
        for outcome in OUTCOMES:
            found = group[outcome].to_numpy() > 0.5
            for predictor in PREDICTORS:
                auc = weighted_auc(group[predictor].to_numpy(), found, weights)
                low, high = _middle(auc[1:, None], len(units))
                rows.append(
                    {
                        "problem": problem,
                        "metric": metric,
                        "outcome": outcome,
                        "predictor": predictor,
                        "auc": auc[0],
                        "auc_low": low[0],
                        "auc_high": high[0],
                        "share": found.mean(),
                        "n_splits": len(group),
                        "n_repetitions": len(units),
                    }
                )
    return pd.DataFrame(rows)


def readable_separation(table: pd.DataFrame, *, outcome: str = "differs") -> pd.DataFrame:
    """Return `separation`'s table as text, one row for each problem and metric.

    Parameters
    ----------
    table : DataFrame
        From `separation`.
    outcome : str, default="differs"

    Returns
    -------
    DataFrame
    """
    part = table[table["outcome"] == outcome]
    first = part[part["predictor"] == "n_models"].set_index(["problem", "metric"])
    columns = {
        "splits": first["n_splits"].map("{:d}".format),
        "with the outcome (%)": first["share"].map("{:.1%}".format).str.rstrip("%"),
    }
    for predictor, label in PREDICTORS.items():
        rows = part[part["predictor"] == predictor].set_index(["problem", "metric"])
        columns[f"AUC: {label}"] = pd.Series(
            [text.replace("nan", "–") for text in _with_interval(rows, "auc", ".2f")],
            index=rows.index,
        )
    return pd.DataFrame(columns)


@plotting.style()
def figure_of_separation(table: pd.DataFrame) -> Figure:
    """Draw the areas under the curve for both outcomes.

    Parameters
    ----------
    table : DataFrame
        From `separation`.

    Returns
    -------
    matplotlib Figure
    """
    problems = _problems(table)
    rows = [(problem, metric) for problem in problems for metric in METRICS]
    figure, axes = plt.subplots(
        1, len(OUTCOMES), figsize=(8.2, 0.32 * len(rows) + 1.8), sharex=True, sharey=True
    )
    for ax, (outcome, title) in zip(axes, OUTCOMES.items(), strict=True):
        for number, (predictor, label) in enumerate(PREDICTORS.items()):
            chosen = (table["outcome"] == outcome) & (table["predictor"] == predictor)
            part = table[chosen].set_index(["problem", "metric"]).loc[rows]
            y = np.arange(len(rows)) + 0.22 * (number - 1)
            _errorbars(ax, y, part, "auc", label, "oDs"[number], number, flat=True)
        ax.axvline(0.5, color="0.35", linewidth=0.8, linestyle="--", label="tells nothing")
        ax.set_title(title.replace(" (", "\n(").replace(" tie ", "\ntie "), fontsize="small")
    axes[0].set_yticks(range(len(rows)), [f"{problem}, {metric}" for problem, metric in rows])
    axes[0].invert_yaxis()
    axes[0].set_xlim(0, 1)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    figure.supxlabel("area under the ROC curve, over splits or data sets", fontsize=10)
    plt.close(figure)  # a notebook would show it twice
    return figure


# --- all four answers ---------------------------------------------------------------------------


def answers(
    findings: Findings, *, metric: str = "IE@0.1", epsilon: float = EPSILON
) -> pd.DataFrame:
    """Return one number for each of the four questions, one row a problem.

    Parameters
    ----------
    findings : Findings
        From `candidate_sets.run_candidate_sets` or `full_findings`.
    metric : str, default="IE@0.1"
    epsilon : float, default=0.1

    Returns
    -------
    DataFrame
        Each number with ``_low`` and ``_high``: ``conflict``, the share of external patients on
        whom the set's decisions conflict; ``nearer``, by how much of the ranks PVF's choice lies
        nearer to the set's middle than the traditional one; ``top_fifth``, the share of PVF's
        errors that the fifth of patients with the largest capacity carries; ``auc``, how well the
        capacity on the validation sample tells whether the choices differ. ``n_repetitions`` (of
        synthetic data: data sets) and ``n_splits``. Of tied candidates the first is taken.
    """
    sets = findings.sets[findings.sets["epsilon"] == epsilon]
    sets = sets[sets["metric"] == metric]
    patients = findings.patients[findings.patients["metric"] == metric]
    conflict = _over_repetitions(sets, ["problem"], {"conflict": (0, 1)}).set_index("problem")
    ranks = central_ranks(sets)
    nearer = ranks[ranks["tie_break"] == "first"].set_index("problem")
    errors = error_shares(patients, epsilon=epsilon)
    errors = errors[(errors["group"] == 0) & (errors["error"] == "error_pvf")].set_index("problem")
    told = separation(sets, epsilon=epsilon)
    told = told[(told["outcome"] == "differs") & (told["predictor"] == "capacity_validation")]
    parts = {
        "conflict": conflict.filter(regex="^conflict"),
        "nearer": nearer.filter(regex="^nearer"),
        "top_fifth": errors.filter(regex="^share").rename(
            columns=lambda name: name.replace("share", "top_fifth")
        ),
        "auc": told.set_index("problem")[["auc", "auc_low", "auc_high"]],
        "counts": told.set_index("problem")[["n_repetitions", "n_splits"]],
    }
    return pd.concat(list(parts.values()), axis=1)


def readable_answers(table: pd.DataFrame) -> pd.DataFrame:
    """Return `answers`'s table as text.

    Parameters
    ----------
    table : DataFrame
        From `answers`.

    Returns
    -------
    DataFrame
    """
    columns = {
        "1. patients with conflicting decisions (%)": ("conflict", ".0f", 100),
        "2. PVF nearer to the middle than the traditional choice (rank)": ("nearer", "+.2f", 1),
        "3. share of PVF's errors in the fifth with most capacity (%)": ("top_fifth", ".0f", 100),
        "4. AUC of the capacity for differing choices": ("auc", ".2f", 1),
    }
    shown = {name: _with_interval(table, *how) for name, how in columns.items()}
    counts = {
        "repetitions": table["n_repetitions"].astype(str),
        "splits or data sets": table["n_splits"].astype(str),
    }
    return pd.DataFrame(shown | counts, index=table.index)


def conclusions(findings: Findings) -> list[str]:
    """Say in one sentence a question what the numbers show, over all problems and metrics.

    A difference counts where its 95% interval leaves zero out, and an area under the curve where
    its interval leaves one half out.

    Parameters
    ----------
    findings : Findings
        From `full_findings`.

    Returns
    -------
    list of str
        Four sentences, or short groups of them, in Markdown.
    """
    return [
        _on_conflicts(findings.patients),
        _on_ranks(findings.sets),
        _on_errors(findings.patients),
        _on_separation(findings.sets),
    ]


def _is_clinical(table: pd.DataFrame) -> pd.Series:
    return ~table["problem"].str.startswith("synthetic")


def _signs(table: pd.DataFrame, value: str, middle: float = 0) -> pd.Series:
    """Return +1 and -1 where an interval lies above and below a value, 0 where it holds it."""
    above = (table[f"{value}_low"] > middle).astype(int)
    return above - (table[f"{value}_high"] < middle).astype(int)


def _counted(signs: pd.Series, words: Mapping[int, str]) -> str:
    """Return how many of the signs are of each kind."""
    return ", ".join(f"{word} in {(signs == sign).sum()}" for sign, word in words.items())


def _percent(values: pd.Series) -> str:
    low, high = f"{100 * values.min():.0f}", f"{100 * values.max():.0f}"
    return f"{low}%" if low == high else f"{low} to {high}%"


def _difference(
    patients: pd.DataFrame, grouping: str, first: int, second: int, value: str
) -> pd.DataFrame:
    """Return one group's value less another's, repetition by repetition."""
    part = patients[(patients["grouping"] == grouping) & (patients["epsilon"] == EPSILON)]
    keys = ["problem", "metric", "repetition"]
    a, b = (part[part["group"] == group].set_index(keys)[value] for group in (first, second))
    table = (a - b).rename("difference").reset_index()
    return _over_repetitions(table, ["problem", "metric"], {"difference": (-1, 1)})


def _on_conflicts(patients: pd.DataFrame) -> str:
    groups = capacity_of_groups(patients)
    nearest = groups[(groups["grouping"] == "distance") & (groups["group"] == 1)]
    farthest = groups[(groups["grouping"] == "distance") & (groups["group"] == N_DISTANCES)]
    cases = _difference(patients, "class", 1, 0, "conflict")
    words = {1: "more often of cases than of others", -1: "less often", 0: "no clear difference"}
    return (
        f"Decisions conflict about {_percent(nearest['conflict'])} of the fifth of patients "
        f"nearest to the boundary, and about {_percent(farthest['conflict'])} of the fifth "
        f"farthest from it, over {len(nearest)} combinations of problem and metric; "
        f"{_counted(_signs(cases, 'difference'), words)}."
    )


def _on_ranks(sets: pd.DataFrame) -> str:
    ranks = central_ranks(sets)
    ranks = ranks[(ranks["epsilon"] == EPSILON) & (ranks["tie_break"] == "first")]
    words = {-1: "nearer to the edge", 1: "nearer to the middle", 0: "no clear difference"}
    parts = []
    for name, part in {
        "clinical": ranks[_is_clinical(ranks)],
        "synthetic": ranks[~_is_clinical(ranks)],
    }.items():
        if len(part):
            found = _counted(_signs(part, "nearer"), words)
            parts.append(f"of {len(part)} {name} combinations {found}")
    return f"PVF's choice beside the traditional one: {'; '.join(parts)}."


def _on_errors(patients: pd.DataFrame) -> str:
    shares = error_shares(patients)
    top = shares[shares["group"] == 0]
    parts = []
    for name, part in {
        "clinical": top[_is_clinical(top)],
        "synthetic": top[~_is_clinical(top)],
    }.items():
        if len(part):
            by_error = {error: rows["share"] for error, rows in part.groupby("error")}
            parts.append(
                f"{_percent(by_error['error_pvf'])} of the errors of PVF's choice in the {name} "
                f"problems, and {_percent(by_error['lost'])} of those that the traditional choice "
                "does not make"
            )
    return f"The fifth of patients with the largest capacity carries {'; '.join(parts)}."


def _on_separation(sets: pd.DataFrame) -> str:
    told = separation(sets)
    told = told[told["predictor"] == "capacity_validation"]
    words = {1: "above one half", -1: "below", 0: "not clearly either"}
    parts = []
    for outcome, label in OUTCOMES.items():
        part = told[(told["outcome"] == outcome) & told["auc_low"].notna()]
        found = _counted(_signs(part, "auc", 0.5), words)
        parts.append(f"for “{label}” its area under the curve is {found} of {len(part)}")
    return f"The capacity on the validation sample: {'; '.join(parts)}."


def readable_provenances(provenance: Mapping[str, Mapping]) -> pd.DataFrame:
    """Return where the full tables come from, one row a table.

    Parameters
    ----------
    provenance : mapping of str to mapping
        From `full_findings`.

    Returns
    -------
    DataFrame
    """
    rows = {
        name: {
            "commit": facts["git"]["commit"][:10],
            "seed": facts["seed"],
            "clinical repetitions": facts["settings"]["n_repetitions"],
            "synthetic data sets for each μ": facts["settings"]["n_datasets"],
            "rows": facts["rows"],
            "scikit-learn": facts["packages"]["scikit-learn"],
        }
        for name, facts in provenance.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index")


# --- the run on the page beside the full results ------------------------------------------------


def live_agreement(live: Findings, full: Findings) -> pd.DataFrame:
    """Say whether a short run lies where the full results' repetitions lie.

    Parameters
    ----------
    live, full : Findings
        The short run has one problem or more of the full one.

    Returns
    -------
    DataFrame
        One row for each problem, metric, ε and number (``capacity``, ``conflict``, ``differs``):
        ``live``, the mean of the short run; ``low`` and ``high``, between which 95% of the means
        of as many of the full run's repetitions would fall, by the normal distribution; and
        ``agrees``.
    """
    keys = ["problem", "metric", "epsilon"]
    values = ["capacity", "conflict", "differs"]
    once = full.sets.groupby([*keys, "repetition"], sort=False)[values].mean()
    mean, sd = once.groupby(keys).mean(), once.groupby(keys).std()
    short = live.sets.groupby([*keys, "repetition"], sort=False)[values].mean().groupby(keys)
    n = short.size()
    rows = []
    for key in n.index:
        for value in values:
            reach = 1.96 * sd.loc[key, value] / np.sqrt(n[key])
            middle, found = mean.loc[key, value], short.mean().loc[key, value]
            rows.append(
                dict(zip(keys, key, strict=True))
                | {"number": value, "live": found, "low": middle - reach, "high": middle + reach}
            )
    table = pd.DataFrame(rows)
    return table.assign(agrees=table["live"].between(table["low"] - 1e-9, table["high"] + 1e-9))


# --- drawing ------------------------------------------------------------------------------------


def _problems(table: pd.DataFrame) -> list[str]:
    return [problem for problem in PROBLEMS if (table["problem"] == problem).any()]


def _panels(n: int, *, sharey: bool) -> tuple[Figure, list[Axes]]:
    columns = min(n, 3)
    n_rows = -(-n // columns)
    figure, grid = plt.subplots(
        n_rows, columns, figsize=(8.2, 2.5 * n_rows + 0.8), sharey=sharey, squeeze=False
    )
    for ax in grid.flat[n:]:
        ax.set_axis_off()
    return figure, list(grid.flat[:n])


def _errorbars(
    ax: Axes,
    position: Array | pd.Series,
    table: pd.DataFrame,
    value: str,
    label: str,
    style: str,
    color: int,
    *,
    flat: bool = False,
    scale: float = 1,
) -> None:
    """Draw estimates with their intervals, upright or lying."""
    middle = scale * table[value].to_numpy()
    ends = scale * table[[f"{value}_low", f"{value}_high"]].to_numpy()
    reach = np.nan_to_num(np.abs(ends.T - middle))
    where = {"x": middle, "y": position, "xerr": reach}
    if not flat:
        where = {"x": position, "y": middle, "yerr": reach}
    ax.errorbar(
        **where, fmt=style, color=plotting.PALETTE[color], label=label, markersize=4, capsize=2
    )


def _finish(figure: Figure, axes: Sequence[Axes], xlabel: str, ylabel: str) -> None:
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=min(3, len(handles[1])))
    figure.supxlabel(xlabel, fontsize=10)
    figure.supylabel(ylabel, fontsize=10)
    plt.close(figure)  # a notebook would show it twice
