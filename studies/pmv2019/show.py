"""Tables, figures and verdicts of the PMV chapter, from the committed tables and from live runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from pvf import plotting
from studies.kit.claims import Finding, verdict
from studies.kit.results import read_result
from studies.pmv2019 import rules as pmv_comparison
from studies.pmv2019 import table1 as pmv
from studies.pmv2019 import tuning as pmv_tuning

__all__ = [
    "agreement",
    "beside_paper",
    "decide_cross_validation",
    "decide_depths",
    "decide_few_levels",
    "decide_hidden_sizes",
    "decide_linear",
    "decide_memoriser",
    "decide_picks",
    "decide_slopes",
    "decide_stability",
    "decide_tree_gaps",
    "depth_estimates",
    "figure_of_curves",
    "figure_of_depths",
    "figure_of_hidden_sizes",
    "figure_of_losses",
    "figure_of_rates",
    "figure_of_table1",
    "level_agreement",
    "narrow",
    "network_estimates",
    "of_setting",
    "overall",
    "pick_estimates",
    "picked_depths",
    "pooled_rates",
    "readable_boosting",
    "readable_depths",
    "readable_distances",
    "readable_gaps",
    "readable_levels",
    "readable_memorisers",
    "readable_origins",
    "readable_overall",
    "readable_picks",
    "readable_problems",
    "readable_table1",
    "rule_estimates",
    "run_agreement",
    "share_interval",
    "straightness",
    "table_estimates",
]

_MEASURE_LABELS = {
    "slope": "slope of PMV, absolute",
    "test_accuracy": "ten-fold test accuracy",
    "gap": "training less test accuracy, absolute",
}
_HALF_DIGIT = 0.005 + 1e-9
_RULE_COLOURS = {
    "PMV": plotting.PALETTE[0],
    "CV accuracy": plotting.PALETTE[1],
    "CV gap": plotting.PALETTE[2],
    "truth": plotting.PALETTE[5],
}
_MARKERS = "osD^vP"


# --- Table 1 ------------------------------------------------------------------------------------


def beside_paper(ours: pd.DataFrame, paper: pd.DataFrame) -> pd.DataFrame:
    """Set our cells of Table 1 beside the paper's.

    Parameters
    ----------
    ours : DataFrame
        From `pmv_tables.table1` or `pmv.table`.
    paper : DataFrame
        From `pmv_tables.paper_table`.

    Returns
    -------
    DataFrame
        One row for each ``distribution, model, noise, measure``: ``ours``, ``low`` and ``high``
        (where one more run is expected), ``paper``; ``same``, whether ours rounds to the paper's
        digits; ``inside``, whether the paper's, give or take half a digit, lies between.
    """
    keys = ["distribution", "model", "noise"]
    both = ours.merge(paper, on=keys, suffixes=("", "_paper"), validate="many_to_one")
    frames = []
    for measure in pmv.MEASURES:
        part = both[keys].assign(
            measure=measure,
            ours=both[measure],
            low=both[f"{measure}_low"],
            high=both[f"{measure}_high"],
            paper=both[f"{measure}_paper"],
        )
        frames.append(part)
    cells = pd.concat(frames, ignore_index=True)
    cells["same"] = (cells["ours"] - cells["paper"]).abs() <= _HALF_DIGIT
    cells["inside"] = cells["paper"].between(
        cells["low"] - _HALF_DIGIT, cells["high"] + _HALF_DIGIT
    )
    return cells


def readable_table1(cells: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return one measure of Table 1 as text, a model a row and a noise level a pair of columns.

    Parameters
    ----------
    cells : DataFrame
        From `beside_paper`.
    measure : str
        Of `pmv.MEASURES`.

    Returns
    -------
    DataFrame
        Ours with the range in which one more run is expected, where runs differ, and the paper's.
    """
    part = cells[cells["measure"] == measure]
    columns = {}
    for noise in pmv.NOISES:
        at = part[part["noise"] == noise].set_index(["distribution", "model"])
        columns[f"noise {noise:g}: ours"] = at.apply(_with_range, axis=1)
        columns[f"noise {noise:g}: paper"] = at["paper"].map("{:.2f}".format)
    order = pd.MultiIndex.from_product(
        [pmv.DISTRIBUTIONS, pmv.MODELS], names=["distribution", "model"]
    )
    return pd.DataFrame(columns).reindex(order)


def _with_range(cell: pd.Series) -> str:
    if cell["high"] - cell["low"] < 1e-9:
        return f"{cell['ours']:.2f}"
    # an absolute value is not below 0, and no share above 1
    low, high = max(cell["low"], 0.0), min(cell["high"], 1.0)
    return f"{cell['ours']:.2f} ({low:.2f} to {high:.2f})"


def readable_boosting(ours: pd.DataFrame, paper: pd.DataFrame) -> pd.DataFrame:
    """Return AdaBoost's rows of Table 1 with the algorithm of 2019 and with today's.

    Parameters
    ----------
    ours : DataFrame
        From `pmv_tables.table1`.
    paper : DataFrame
        From `pmv_tables.paper_table`.

    Returns
    -------
    DataFrame
        One row per measure and source: the mean distance from the paper's nine cells, and how many
        of them have the paper's digits.
    """
    rows = {}
    for boosting, table in ours[ours["model"] == "AdaBoost"].groupby("boosting", sort=False):
        cells = beside_paper(table, paper)
        for measure, part in cells.groupby("measure", sort=False):
            apart = (part["ours"] - part["paper"]).abs()
            rows[(_MEASURE_LABELS[str(measure)], str(boosting))] = {
                "mean difference from the paper": f"{apart.mean():.3f}",
                "same digits, of 9": int(part["same"].sum()),
                "mean of ours": f"{part['ours'].mean():.2f}",
                "mean of the paper's": f"{part['paper'].mean():.2f}",
            }
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = table.index.set_names(["measure", "algorithm"])
    return table.sort_index(level="measure", sort_remaining=False)


def readable_distances(found: pd.DataFrame) -> pd.DataFrame:
    """Return the settings that were searched in words, with their distances, closest first.

    Parameters
    ----------
    found : DataFrame
        From `pmv_tables.distances`.

    Returns
    -------
    DataFrame
    """
    closest = pd.Series(_fields(pmv.CLOSEST))
    rows = []
    for row in found.to_dict("records"):
        exact = "" if row["cells"] == 189 else "at least "
        rows.append(
            {
                "setting": _in_words(row, closest),
                "distance, 189 cells": f"{exact}{row['at_least']:.4f}",
                "distance, six models": f"{row['distance_six']:.4f}",
                "slopes": f"{row['slope']:.3f}",
                "test accuracies": f"{row['test_accuracy']:.4f}",
                "gaps": f"{row['gap']:.4f}",
                "same digits": f"{row['same_digits']} of {row['cells']}",
            }
        )
    return pd.DataFrame(rows)


def of_setting(found: pd.DataFrame, setting: pmv.TableSetting) -> pd.Series:
    """Return the row of `pmv_tables.distances` for one setting, with depths that are limited.

    Parameters
    ----------
    found : DataFrame
    setting : TableSetting

    Returns
    -------
    Series
    """
    wanted = _fields(setting)
    return found[np.all([found[name] == value for name, value in wanted.items()], axis=0)].iloc[0]


def _fields(setting: pmv.TableSetting) -> dict[str, Any]:
    return {name: getattr(setting, name) for name in pmv.TableSetting.__dataclass_fields__}


_FIELD_WORDS = {
    "n_samples": "{} samples",
    "noise_kind": "noise on {}",
    "folds": "folds {}",
    "flips": "flips {}",
    "tree_depth": "tree depth {}",
    "forest_depth": "forest depth {}",
    "boosting": "{}",
}


def _in_words(row: Mapping[str, Any], closest: pd.Series) -> str:
    """Say what a setting changes of the closest one, or that it is the script's."""
    values = {
        name: None if isinstance(row[name], float) and np.isnan(row[name]) else row[name]
        for name in closest.index
    }
    if values == _fields(pmv.TableSetting()):
        return "the script as it stands"
    changed = [name for name in closest.index if values[name] != closest[name]]
    if not changed:
        return "as in this chapter"
    return ", ".join(_one_change(name, values[name]) for name in changed)


def _one_change(name: str, value: Any) -> str:
    if name == "scaled":
        return "features standardised" if value else "features as they are"
    if value is None:
        value = "unlimited"
    return _FIELD_WORDS[name].format(f"{value:g}" if isinstance(value, float) else value)


@plotting.style()
def figure_of_table1(cells: pd.DataFrame) -> Figure:
    """Draw our cells over the paper's, one panel a measure.

    Parameters
    ----------
    cells : DataFrame
        From `beside_paper`.

    Returns
    -------
    matplotlib Figure
    """
    figure, axes = plt.subplots(1, 3, figsize=(9.2, 3.5))
    for ax, measure in zip(axes, pmv.MEASURES, strict=True):
        part = cells[cells["measure"] == measure]
        for i, distribution in enumerate(pmv.DISTRIBUTIONS):
            some = part[part["distribution"] == distribution]
            ax.errorbar(
                some["paper"],
                some["ours"],
                # an absolute value is not below 0
                yerr=[some["ours"] - some["low"].clip(0), some["high"] - some["ours"]],
                fmt=_MARKERS[i],
                color=plotting.PALETTE[i],
                markersize=4,
                elinewidth=0.7,
                alpha=0.8,
                label=distribution,
            )
        ends = [0.3, 1.02] if measure == "test_accuracy" else [-0.02, 0.92]
        ax.plot(ends, ends, color="0.35", linewidth=0.8, zorder=0)
        ax.set(xlabel="the paper", ylabel="ours", title=_MEASURE_LABELS[measure].split(",")[0])
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    plt.close(figure)  # a notebook would show it twice
    return figure


# --- who is picked ------------------------------------------------------------------------------


def share_interval(share: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share of n.

    Parameters
    ----------
    share : float in [0, 1]
        It may count split decisions in parts.
    n : float
        Trials.

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> low, high = share_interval(0.5, 100)
    >>> round(low, 3), round(high, 3)
    (0.404, 0.596)
    """
    z = float(stats.norm.ppf(0.975))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return middle - float(half), middle + float(half)


def _cells_of(picks: pd.DataFrame) -> pd.Series:
    """Return how many data sets each cell of the picks has."""
    return picks.groupby(["distribution", "noise"], sort=False)["seed"].nunique()


def pooled_rates(picks: pd.DataFrame) -> pd.DataFrame:
    """Return `pmv.pick_rates` with the number of data sets and Wilson intervals.

    Parameters
    ----------
    picks : DataFrame
        From `pmv.run_picks`.

    Returns
    -------
    DataFrame
        Columns of `pmv.pick_rates`, then ``n``, ``right_low``, ``right_high``, ``fitting_low`` and
        ``fitting_high``.
    """
    rates = pmv.pick_rates(picks)
    sizes = _cells_of(picks)
    rates["n"] = [
        int(sizes[(d, z)]) for d, z in zip(rates["distribution"], rates["noise"], strict=True)
    ]
    for name in ("right", "fitting"):
        ends = [share_interval(s, n) for s, n in zip(rates[name], rates["n"], strict=True)]
        rates[[f"{name}_low", f"{name}_high"]] = np.array(ends)
    return rates


def readable_picks(rates: pd.DataFrame) -> pd.DataFrame:
    """Return who is picked by which rule, as text.

    Parameters
    ----------
    rates : DataFrame
        From `pooled_rates`.

    Returns
    -------
    DataFrame
        Indexed by data, noise and rule: the models picked most often with their shares, the share
        of right picks with its interval, the accuracy lost, and how many models tie.
    """
    rows = {}
    for row in rates.to_dict("records"):
        shares = sorted(((row[m], m) for m in pmv.MODELS if m in row), reverse=True)
        picked = ", ".join(f"{model} {100 * share:.0f}%" for share, model in shares[:3] if share)
        rows[(row["distribution"], f"{row['noise']:g}", row["rule"])] = {
            "picked most": picked,
            "right (%)": _percent(row["right"], row["right_low"], row["right_high"]),
            "accuracy lost": (
                f"{row['regret']:.4f} ({row['regret_low']:.4f} to {row['regret_high']:.4f})"
            ),
            "models that tie": f"{row['tied']:.1f}",
        }
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = table.index.set_names(["data", "noise", "rule"])
    cells = dict.fromkeys((data, noise) for data, noise, _ in table.index)
    return pd.concat([table.loc[[row for row in table.index if row[:2] == cell]] for cell in cells])


def _percent(share: float, low: float, high: float) -> str:
    return f"{100 * share:.0f} ({100 * max(low, 0):.0f} to {100 * min(high, 1):.0f})"


@plotting.style()
def figure_of_rates(rates: pd.DataFrame, live: pd.DataFrame | None = None) -> Figure:
    """Draw how often each rule is right, and how often it picks the model that the paper means.

    Parameters
    ----------
    rates, live : DataFrame
        From `pooled_rates`; of the live run only the means are drawn.

    Returns
    -------
    matplotlib Figure
    """
    rules = [rule for rule in _RULE_COLOURS if rule != "truth"]
    cells = list(dict.fromkeys(zip(rates["distribution"], rates["noise"], strict=True)))
    figure, axes = plt.subplots(1, 2, figsize=(8.6, 4.2), sharey=True)
    panels = {
        "right": "right: within 0.005 of the best",
        "fitting": "the model that the paper means",
    }
    for ax, (what, title) in zip(axes, panels.items(), strict=True):
        for i, rule in enumerate(rules):
            of_rule = rates[rates["rule"] == rule]
            places = np.arange(len(cells)) + 0.22 * (i - 1)
            ends = np.abs(of_rule[[f"{what}_low", f"{what}_high"]].sub(of_rule[what], axis=0))
            ax.errorbar(
                100 * of_rule[what],
                places,
                xerr=100 * ends.to_numpy().T,
                fmt=_MARKERS[i],
                color=_RULE_COLOURS[rule],
                markersize=5,
                label=rule,
            )
            if live is not None:
                mine = live[live["rule"] == rule].set_index(["distribution", "noise"])[what]
                at = [place for place, cell in zip(places, cells, strict=True) if cell in mine]
                ax.plot(
                    [100 * mine[cell] for cell in cells if cell in mine],
                    at,
                    "x",
                    color=_RULE_COLOURS[rule],
                    markersize=5,
                    label="this run" if rule == rules[-1] else None,
                )
        ax.set(title=title, xlabel="share of data sets (%)", xlim=(-4, 104))
    axes[0].set_yticks(range(len(cells)), [f"{name}, noise {noise:g}" for name, noise in cells])
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    plt.close(figure)
    return figure


# --- trees and networks -------------------------------------------------------------------------


def readable_memorisers(found: pd.DataFrame) -> pd.DataFrame:
    """Return the slopes of learners that memorise, as text.

    Parameters
    ----------
    found : DataFrame
        From `pmv_tables.memorisers` or `pmv_tuning.memoriser_slopes`.

    Returns
    -------
    DataFrame
    """
    table = pd.DataFrame(
        {
            "learner": found["learner"],
            "slope (95% interval)": [
                f"{slope:.3f}" if high - low < 1e-9 else f"{slope:.3f} ({low:.3f} to {high:.3f})"
                for slope, low, high in found[["slope", "low", "high"]].to_numpy()
            ],
            "training accuracy, no noise": found["first"].map("{:.4f}".format),
            "training accuracy, most noise": found["last"].map("{:.4f}".format),
        }
    )
    if "dataset" in found:
        table.insert(0, "data", found["dataset"])
    return table


def readable_gaps(gaps: pd.DataFrame, paper: Mapping[str, float]) -> pd.DataFrame:
    """Return the gap of an unlimited tree for each way to cut folds, as text.

    Parameters
    ----------
    gaps : DataFrame
        From `pmv_tables.tree_gaps`.
    paper : mapping of str to float
        The paper's gap of each data set, its name with underscores.

    Returns
    -------
    DataFrame
        Mean gap with the range of single runs.
    """
    table = gaps.pivot_table(
        index="dataset",
        columns="folds",
        values="gap",
        aggfunc=lambda gap: f"{gap.mean():.3f} ({gap.min():.3f} to {gap.max():.3f})",
        sort=False,
    ).rename(columns=lambda folds: f"folds {folds}")
    table["paper"] = [f"{paper[name.replace('-', '_')]:.3f}" for name in table.index]
    return table.rename_axis(index="data", columns=None)


def narrow(table: pd.DataFrame) -> pd.DataFrame:
    """Put the noise levels of a committed table below each other again.

    Parameters
    ----------
    table : DataFrame
        Of one data set, as `pmv_tables.wide` made it.

    Returns
    -------
    DataFrame
        ``size, repeat, noise_level, accuracy``.

    Examples
    --------
    >>> narrow(pd.DataFrame({"size": [3], "repeat": [0], "at 0": [1.0], "at 0.5": [0.7]}))
       size  repeat  noise_level  accuracy
    0     3       0          0.0       1.0
    1     3       0          0.5       0.7
    """
    levels = [column for column in table if str(column).startswith("at ")]
    long = table.melt(["size", "repeat"], levels, var_name="noise_level", value_name="accuracy")
    long["noise_level"] = long["noise_level"].str.removeprefix("at ").astype(float)
    return long.sort_values(["size", "repeat", "noise_level"], ignore_index=True)


def picked_depths(depths: pd.DataFrame, grid: pd.DataFrame) -> pd.DataFrame:
    """Return the depth that each run picks: PMV's, and grid search's for each way to cut folds.

    Parameters
    ----------
    depths, grid : DataFrame
        From `pmv_tables.depths` and `pmv_tables.grid_depths`.

    Returns
    -------
    DataFrame
        ``dataset, method, run, depth``; the methods are "PMV", "grid search" (folds as
        `GridSearchCV` cuts them) and "grid search, shuffled".
    """
    frames = []
    for name, table in depths.groupby("dataset", sort=False):
        picked = pmv_tuning.slopes(narrow(table)).query("picked")
        frames.append(
            pd.DataFrame(
                {"dataset": name, "method": "PMV", "run": picked["repeat"], "depth": picked["size"]}
            )
        )
    methods = {"stratified": "grid search", "shuffled": "grid search, shuffled"}
    frames.append(
        grid.assign(method=grid["folds"].map(methods))[["dataset", "method", "run", "depth"]]
    )
    return pd.concat(frames, ignore_index=True)


def readable_depths(picked: pd.DataFrame, paper: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Return the depths picked, as text.

    Parameters
    ----------
    picked : DataFrame
        From `picked_depths`.
    paper : mapping of str to mapping of str to float
        The paper's depth by "pmv" and by "grid" for each data set.

    Returns
    -------
    DataFrame
        Indexed by data and method: the first five runs, the median and the central 95% of all, the
        chance that two runs agree, and the paper's depth.
    """
    rows = {}
    for (name, method), runs in picked.groupby(["dataset", "method"], sort=False):
        depth = runs.sort_values("run")["depth"]
        printed = paper["pmv" if method == "PMV" else "grid"].get(str(name).replace("-", "_"))
        low, high = _central(depth)
        rows[(name, method)] = {
            "first five runs": ", ".join(str(value) for value in depth.iloc[:5]),
            "median (central 95%)": f"{depth.median():g} ({low:g} to {high:g})",
            "runs": len(depth),
            "two runs agree (%)": f"{100 * _two_agree(depth):.0f}",
            "paper": "–" if printed is None else f"{printed:g}",
        }
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = table.index.set_names(["data", "method"])
    return table.sort_index(level="data", sort_remaining=False)


def run_agreement(picked: pd.DataFrame) -> pd.Series:
    """Return the chance (%) that two runs pick one depth.

    Parameters
    ----------
    picked : DataFrame
        From `picked_depths`.

    Returns
    -------
    Series
        Indexed by data set and method.
    """
    return 100 * picked.groupby(["dataset", "method"], sort=False)["depth"].agg(_two_agree)


def _central(values: pd.Series) -> tuple[float, float]:
    ends = np.quantile(values, [0.025, 0.975], method="inverted_cdf")
    return float(ends[0]), float(ends[1])


def _two_agree(values: pd.Series) -> float:
    """Return the share of pairs of different runs that have one value."""
    counts = values.value_counts().to_numpy()
    n = counts.sum()
    return float((counts * (counts - 1)).sum() / (n * (n - 1)))


@plotting.style()
def figure_of_depths(depths: pd.DataFrame, grid: pd.DataFrame) -> Figure:
    """Draw the slope over the depth of the tree, and below it the depths that are picked.

    Parameters
    ----------
    depths, grid : DataFrame
        From `pmv_tables.depths` and `pmv_tables.grid_depths`.

    Returns
    -------
    matplotlib Figure
    """
    names = list(dict.fromkeys(depths["dataset"]))
    picked = picked_depths(depths, grid)
    figure, axes = plt.subplots(
        2, len(names), figsize=(2.9 * len(names), 5.0), sharex=True, squeeze=False
    )
    for name, (above, below) in zip(names, axes.T, strict=True):
        runs = pmv_tuning.slopes(narrow(depths[depths["dataset"] == name]))
        by_size = runs.groupby("size")["slope"]
        above.fill_between(
            by_size.mean().index,
            by_size.quantile(0.025),
            by_size.quantile(0.975),
            alpha=0.25,
            linewidth=0,
        )
        above.plot(by_size.mean().index, by_size.mean())
        above.set(title=name, ylim=(0, None))
        for i, (method, part) in enumerate(
            picked[picked["dataset"] == name].groupby("method", sort=False)
        ):
            share = part["depth"].value_counts(normalize=True).sort_index() * 100
            below.plot(
                share.index + 0.15 * (i - 1),
                share,
                _MARKERS[i],
                color=plotting.PALETTE[i],
                markersize=4,
                label=method,
            )
            below.vlines(share.index + 0.15 * (i - 1), 0, share, plotting.PALETTE[i], linewidth=1)
        below.set(xlabel="depth of the tree", ylim=(0, 104))
        below.set_xticks(range(0, 21, 5))
    axes[0][0].set_ylabel("slope of PMV, absolute")
    axes[1][0].set_ylabel("runs that pick it (%)")
    figure.legend(*axes[1][0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    plt.close(figure)
    return figure


@plotting.style()
def figure_of_hidden_sizes(hidden: pd.DataFrame) -> Figure:
    """Draw slope and errors over the number of hidden neurons, single runs and their mean.

    Parameters
    ----------
    hidden : DataFrame
        From `pmv_tables.hidden_sizes`.

    Returns
    -------
    matplotlib Figure
    """
    names = list(dict.fromkeys(hidden["dataset"]))
    figure, axes = plt.subplots(
        2, len(names), figsize=(3.9 * len(names), 5.0), sharex=True, squeeze=False
    )
    for name, (above, below) in zip(names, axes.T, strict=True):
        table = hidden[hidden["dataset"] == name]
        runs = pmv_tuning.slopes(narrow(table))
        _runs_and_mean(above, runs, "slope", plotting.PALETTE[0], "o", None)
        for i, (part, label) in enumerate(
            {"training_error": "training error", "test_error": "test error"}.items(), start=1
        ):
            errors = table.assign(percent=100 * table[part])
            _runs_and_mean(below, errors, "percent", plotting.PALETTE[i], _MARKERS[i], label)
        above.set(title=name, ylim=(0, None))
        below.set(xlabel="hidden neurons", xscale="log")
        below.set_xticks(
            [10, 20, 40, 100, 200, 400, 800], ["10", "20", "40", "100", "200", "400", "800"]
        )
        below.minorticks_off()
    axes[0][0].set_ylabel("slope of PMV, absolute")
    axes[1][0].set_ylabel("error of a 70:30 split (%)")
    axes[1][0].legend()
    plt.close(figure)
    return figure


def _runs_and_mean(
    ax: Axes, runs: pd.DataFrame, value: str, colour: str, marker: str, label: str | None
) -> None:
    mean = runs.groupby("size")[value].mean()
    ax.plot(mean.index, mean, color=colour, label=label)
    ax.plot(runs["size"], runs[value], marker, color=colour, markersize=3.5, alpha=0.6)


def level_agreement(depths: pd.DataFrame, n_levels: int = 2) -> pd.DataFrame:
    """Say how often few noise levels pick what all of them pick, on each data set.

    Parameters
    ----------
    depths : DataFrame
        From `pmv_tables.depths`.
    n_levels : int, default=2
        Levels above 0.

    Returns
    -------
    DataFrame
        Indexed by data set: ``same`` and ``near`` (one depth apart at most), shares over all runs
        and all choices of levels; ``two runs``, ``two runs near``: the same shares for two runs
        that both use all levels, by which to judge the others; ``best`` and ``best_near``: the
        choice of levels that agrees most, and its share within one depth.
    """
    rows = {}
    for name, table in depths.groupby("dataset", sort=False):
        accuracies = narrow(table)
        picks = pmv_tuning.level_picks(accuracies, n_levels)
        apart = (picks["picked"] - picks["picked_by_all"]).abs()
        near = (apart <= 1).groupby(picks["levels"]).mean()
        all_levels = pmv_tuning.slopes(accuracies).query("picked")["size"].to_numpy()
        pairs = np.abs(all_levels[:, None] - all_levels)[np.triu_indices(len(all_levels), 1)]
        rows[name] = {
            "same": (apart == 0).mean(),
            "near": (apart <= 1).mean(),
            "two runs": float((pairs == 0).mean()),
            "two runs near": float((pairs <= 1).mean()),
            "best": near.idxmax(),
            "best_near": near.max(),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("data")


def readable_levels(found: pd.DataFrame) -> pd.DataFrame:
    """Return `level_agreement` as text.

    Parameters
    ----------
    found : DataFrame
        From `level_agreement`.

    Returns
    -------
    DataFrame
    """
    return pd.DataFrame(
        {
            "two levels pick the same depth (%)": (100 * found["same"]).map("{:.0f}".format),
            "one depth apart at most (%)": (100 * found["near"]).map("{:.0f}".format),
            "two runs with all levels: the same (%)": (100 * found["two runs"]).map(
                "{:.0f}".format
            ),
            "one apart at most (%)": (100 * found["two runs near"]).map("{:.0f}".format),
            "best two levels": [
                ", ".join(f"{level:g}" for level in best) for best in found["best"]
            ],
            "with them, one apart at most (%)": (100 * found["best_near"]).map("{:.0f}".format),
        },
        index=found.index,
    )


def straightness(depths: pd.DataFrame) -> pd.DataFrame:
    """Say how straight accuracy falls in the noise, for each data set and depth.

    Parameters
    ----------
    depths : DataFrame
        From `pmv_tables.depths`.

    Returns
    -------
    DataFrame
        Indexed by data set and ``size``: means over runs of what `pmv_tuning.line_fit` gives.
    """
    frames = {}
    for name, table in depths.groupby("dataset", sort=False):
        fits = pmv_tuning.line_fit(narrow(table)).drop(columns="repeat")
        frames[name] = fits.groupby("size").mean()
    return pd.concat(frames, names=["dataset"])


@plotting.style()
def figure_of_curves(depths: pd.DataFrame, sizes: Sequence[int] = (1, 3, 5, 10, 20)) -> Figure:
    """Draw training accuracy over the noise for some depths.

    Parameters
    ----------
    depths : DataFrame
        From `pmv_tables.depths`.
    sizes : sequence of int
        Six at most.

    Returns
    -------
    matplotlib Figure
    """
    names = list(dict.fromkeys(depths["dataset"]))
    figure, axes = plt.subplots(
        1, len(names), figsize=(2.9 * len(names), 3.4), sharey=True, squeeze=False
    )
    for name, ax in zip(names, axes[0], strict=True):
        accuracies = narrow(depths[depths["dataset"] == name])
        for i, size in enumerate(sizes):
            runs = accuracies[accuracies["size"] == size].groupby("noise_level")["accuracy"]
            mean = runs.mean()
            low, high = runs.quantile(0.025), runs.quantile(0.975)
            ax.errorbar(
                mean.index,
                mean,
                yerr=np.array([mean - low, high - mean]).clip(0),
                marker=_MARKERS[i],
                markersize=3,
                elinewidth=0.7,
                linewidth=1,
                label=f"depth {size}",
            )
        ax.set(title=name, xlabel="share of labels flipped")
    axes[0][0].set_ylabel("training accuracy")
    figure.legend(
        *axes[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=len(sizes)
    )
    plt.close(figure)
    return figure


# --- the rules side by side ---------------------------------------------------------------------


def _kind(problem: str) -> str:
    return "clinical" if problem.endswith("cancer") else "synthetic"


def overall(rules: pd.DataFrame) -> pd.DataFrame:
    """Average the rules' results over the synthetic problems and over the clinical ones.

    Parameters
    ----------
    rules : DataFrame
        From `pmv_tables.rules`.

    Returns
    -------
    DataFrame
        Indexed by ``kind`` and ``rule``: ``right``, ``regret accuracy``, ``regret F1``,
        ``regret IE`` with their intervals (data sets of the problems are independent), ``stable``,
        ``seconds``.
    """
    rows = {}
    for (kind, rule), part in rules.groupby([rules["problem"].map(_kind), "rule"], sort=False):
        row: dict[str, float] = {}
        for value in ("right", *(f"regret {metric}" for metric in pmv_comparison.METRICS)):
            mean = part[value].mean()
            halves = (part[f"{value} high"] - part[f"{value} low"]) / 2
            half = np.sqrt((halves**2).sum()) / len(part)
            row |= {value: mean, f"{value} low": mean - half, f"{value} high": mean + half}
        rows[(kind, rule)] = row | part[["stable", "seconds"]].mean().to_dict()
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = table.index.set_names(["kind", "rule"])
    return table.sort_index(level="kind", ascending=False, sort_remaining=False)


def readable_overall(rules: pd.DataFrame) -> pd.DataFrame:
    """Return the one table that holds the rules against each other, as text.

    Parameters
    ----------
    rules : DataFrame
        From `pmv_tables.rules`.

    Returns
    -------
    DataFrame
    """
    found = overall(rules)
    return pd.DataFrame(
        {
            "right (%)": [
                _percent(*row)
                for row in found[["right", "right low", "right high"]].to_numpy().tolist()
            ],
            **{
                f"{metric} lost": _losses(found, metric, sign=1 if metric == "IE" else 100)
                for metric in pmv_comparison.METRICS
            },
            "same again (%)": (100 * found["stable"]).map("{:.0f}".format),
            "seconds": found["seconds"].map("{:.2f}".format),
        },
        index=found.index,
    ).rename(columns={"accuracy lost": "accuracy lost (points)", "F1 lost": "F1 lost (points)"})


def _losses(found: pd.DataFrame, metric: str, *, sign: float) -> list[str]:
    digits = 2 if sign == 1 else 1
    names = [f"regret {metric}", f"regret {metric} low", f"regret {metric} high"]
    return [
        f"{mean:.{digits}f} ({max(low, 0):.{digits}f} to {high:.{digits}f})"
        for mean, low, high in (found[names] * sign).to_numpy()
    ]


def readable_problems(rules: pd.DataFrame) -> pd.DataFrame:
    """Return how often each rule is right on each problem, as text.

    Parameters
    ----------
    rules : DataFrame
        From `pmv_tables.rules`.

    Returns
    -------
    DataFrame
        A rule a row, a problem a column: share of right choices (%) with its interval.
    """
    texts = rules.assign(
        text=[
            _percent(*row)
            for row in rules[["right", "right low", "right high"]].to_numpy().tolist()
        ]
    )
    problems = list(dict.fromkeys(rules["problem"]))
    order = list(dict.fromkeys(rules["rule"]))
    table = texts.pivot_table(index="rule", columns="problem", values="text", aggfunc="first")
    return table.loc[order, problems].rename_axis(columns=None)


@plotting.style()
def figure_of_losses(rules: pd.DataFrame) -> Figure:
    """Draw how much outside score each rule's choice loses against the best candidate.

    Parameters
    ----------
    rules : DataFrame
        From `pmv_tables.rules`.

    Returns
    -------
    matplotlib Figure
    """
    found = overall(rules)
    kinds = list(dict.fromkeys(found.index.get_level_values("kind")))
    figure, axes = plt.subplots(1, 3, figsize=(9.2, 4.2), sharey=True)
    for ax, metric in zip(axes, pmv_comparison.METRICS, strict=True):
        scale = 1 if metric == "IE" else 100
        for i, kind in enumerate(kinds):
            part = found.loc[kind]
            mean = part[f"regret {metric}"]
            ends = np.array(
                [mean - part[f"regret {metric} low"], part[f"regret {metric} high"] - mean]
            )
            ax.errorbar(
                scale * mean,
                np.arange(len(part)) + 0.2 * (i - 0.5),
                xerr=scale * ends,
                fmt=_MARKERS[i],
                color=plotting.PALETTE[i],
                markersize=5,
                label=f"{kind} problems",
            )
        unit = "" if metric == "IE" else " (points)"
        ax.set(title=metric, xlabel=f"{metric} lost outside{unit}")
        ax.set_xlim(left=0)
    axes[0].set_yticks(range(len(part)), list(part.index))
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    plt.close(figure)
    return figure


# --- this run and the full results --------------------------------------------------------------


def pick_estimates(rates: pd.DataFrame) -> dict[str, tuple[float, float, float]]:
    """Return how often PMV and ten-fold accuracy pick well, over all kinds of data.

    Parameters
    ----------
    rates : DataFrame
        From `pooled_rates`.

    Returns
    -------
    dict of str to (share, low, high)
        In percent, kinds of data weighing alike; Wilson intervals.
    """
    found = {}
    for rule in ("PMV", "CV accuracy"):
        part = rates[rates["rule"] == rule]
        for what, words in (("right", "right"), ("fitting", "picks the paper's model")):
            share = float(part[what].mean())
            low, high = share_interval(share, part["n"].sum())
            found[f"{rule}: {words} (% of data sets)"] = (100 * share, 100 * low, 100 * high)
    return found


def depth_estimates(picked: pd.DataFrame) -> dict[str, tuple[float, float, float]]:
    """Return the mean depth that each method picks on the breast-cancer data.

    Parameters
    ----------
    picked : DataFrame
        From `picked_depths`.

    Returns
    -------
    dict of str to (mean, low, high)
        With t intervals over runs.
    """
    found = {}
    for method, runs in picked[picked["dataset"] == "breast-cancer"].groupby("method", sort=False):
        depth = runs["depth"]
        half = stats.t.ppf(0.975, len(depth) - 1) * depth.sem()
        mean = float(depth.mean())
        found[f"mean depth by {method}"] = (mean, mean - float(half), mean + float(half))
    return found


def network_estimates(
    hidden: pd.DataFrame, sizes: Sequence[int] | None = None
) -> dict[str, tuple[float, float, float]]:
    """Return the slope of networks on scikit-learn's digits.

    Parameters
    ----------
    hidden : DataFrame
        From `pmv_tables.hidden_sizes`, of two runs or more.
    sizes : sequence of int, optional
        Hidden neurons; all by default.

    Returns
    -------
    dict of str to (slope, low, high)
        With t intervals over runs.
    """
    runs = pmv_tuning.slopes(narrow(hidden[hidden["dataset"] == "digits 0 and 1"]))
    found = {}
    for size, part in runs.groupby("size"):
        if sizes is None or size in sizes:
            half = float(stats.t.ppf(0.975, len(part) - 1) * part["slope"].sem())
            mean = float(part["slope"].mean())
            found[f"digits, slope with {size} neurons"] = (mean, mean - half, mean + half)
    return found


def rule_estimates(
    rules: pd.DataFrame, problems: Sequence[str]
) -> dict[str, tuple[float, float, float]]:
    """Return the accuracy that each rule's choice loses on some problems.

    Parameters
    ----------
    rules : DataFrame
        From `pmv_tables.rules`.
    problems : sequence of str

    Returns
    -------
    dict of str to (points lost, low, high)
    """
    value = "regret accuracy"
    return {
        f"{row['problem']}, {row['rule']}: accuracy lost (points)": (
            100 * row[value],
            100 * row[f"{value} low"],
            100 * row[f"{value} high"],
        )
        for row in rules[rules["problem"].isin(problems)].to_dict("records")
    }


def table_estimates(
    ours: pd.DataFrame, models: Sequence[str] = ("Naive Bayes", "Linear SVM", "RBF SVM")
) -> dict[str, tuple[float, float, float]]:
    """Return each model's mean slope in Table 1, over kinds of data and noise levels.

    Parameters
    ----------
    ours : DataFrame
        From `pmv_tables.table1`, of two runs or more.
    models : sequence of str

    Returns
    -------
    dict of str to (slope, low, high)
        Between which one more table's mean is expected (95%): the cells' ranges taken as
        independent.
    """
    found = {}
    for model in models:
        cells = ours[ours["model"] == model]
        mean = float(cells["slope"].mean())
        halves = (cells["slope_high"] - cells["slope_low"]) / 2
        half = float(np.sqrt((halves**2).sum()) / len(cells))
        found[f"Table 1, mean slope of {model}"] = (mean, mean - half, mean + half)
    return found


def agreement(
    live: Mapping[str, tuple[float, float, float]], full: Mapping[str, tuple[float, float, float]]
) -> pd.DataFrame:
    """Say whether the estimates of a live run agree with the full ones.

    Parameters
    ----------
    live, full : mapping of str to (estimate, low, high)
        With 95% intervals.

    Returns
    -------
    DataFrame
        One row per estimate: ``this run`` and ``full results`` with their intervals, and ``agrees``
        ("yes" if the intervals overlap).

    Raises
    ------
    ValueError
        If the two do not name the same estimates.
    """
    if set(live) != set(full):
        raise ValueError(f"live and full must name the same, got {sorted(set(live) ^ set(full))}.")
    rows = {}
    for name, (value, low, high) in live.items():
        other, other_low, other_high = full[name]
        overlap = max(low, other_low) <= min(high, other_high) + 1e-9
        rows[name] = {
            "this run": f"{value:.2f} ({low:.2f} to {high:.2f})",
            "full results": f"{other:.2f} ({other_low:.2f} to {other_high:.2f})",
            "agrees": "yes" if overlap else "no",
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("estimate")


def readable_origins(names: Sequence[str]) -> pd.DataFrame:
    """Return where full-scale tables come from, one row a table.

    Parameters
    ----------
    names : sequence of str
        Of committed results.

    Returns
    -------
    DataFrame
    """
    rows = {}
    for name in names:
        facts = read_result(name)[1]
        rows[name] = {
            "rows": facts["rows"],
            "settings": ", ".join(f"{k} = {v}" for k, v in facts["settings"].items()),
            "minutes": f"{facts['wall_time'] / 60:.1f}",
            "commit": facts["git"]["commit"][:10],
            "day": facts["created"][:10],
            "scikit-learn": facts["packages"]["scikit-learn"],
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("table")


# --- verdicts -----------------------------------------------------------------------------------

Tables = Mapping[str, pd.DataFrame]


def _paper_cells(tables: Tables, measures: Sequence[str]) -> pd.DataFrame:
    from studies.pmv2019.tables import paper_table  # noqa: PLC0415  which imports the loaders

    ours = tables["pmv_table1"]
    cells = beside_paper(ours[ours["boosting"] == "SAMME.R"], paper_table())
    return cells[cells["measure"].isin(measures)]


def _judge_cells(cells: pd.DataFrame, *, direction: bool, more: str) -> Finding:
    share, apart = float(cells["inside"].mean()), (cells["ours"] - cells["paper"]).abs()
    low, high = share_interval(share, len(cells))
    return Finding(
        verdict(reproduced=share >= 0.95, direction=direction),
        f"{cells['inside'].sum()} of {len(cells)} lie where one more run of ours is expected, "
        f"{cells['same'].sum()} have the same two digits; mean difference {apart.mean():.3f}, "
        f"largest {apart.max():.2f}, rank correlation "
        f"{stats.spearmanr(cells['ours'], cells['paper']).statistic:.2f}.{more}",
        100 * share,
        100 * low,
        100 * high,
    )


def decide_slopes(claim: Mapping[str, Any], tables: Tables) -> Finding:
    """PMV-1: the 63 slopes of Table 1.

    Parameters
    ----------
    claim : mapping
    tables : mapping of str to DataFrame

    Returns
    -------
    Finding
        The number is the share (%) of printed slopes inside our range for one more run.
    """
    del claim
    cells = _paper_cells(tables, ["slope"])
    columns = cells.groupby(["distribution", "noise"])
    largest = cells.loc[columns["ours"].idxmax(), "model"].to_numpy()
    same = int((largest == cells.loc[columns["paper"].idxmax(), "model"].to_numpy()).sum())
    return _judge_cells(
        cells,
        direction=same >= 8,
        more=f" The same model has the largest slope in {same} of {len(columns)} columns.",
    )


def decide_cross_validation(claim: Mapping[str, Any], tables: Tables) -> Finding:
    """PMV-2: the 126 figures of ten-fold cross-validation in Table 1.

    Parameters
    ----------
    claim : mapping
    tables : mapping of str to DataFrame

    Returns
    -------
    Finding
        The number is the share (%) of printed figures inside our range for one more run.
    """
    del claim
    cells = _paper_cells(tables, ["test_accuracy", "gap"])
    apart = (cells["ours"] - cells["paper"]).abs()
    return _judge_cells(
        cells,
        direction=bool(apart.mean() <= 0.02),
        more=f" {int((apart <= 0.015 + 1e-9).sum())} differ by 0.015 at most, which two rounded "
        "figures and the difference between them can.",
    )


def decide_picks(claim: Mapping[str, Any], tables: Tables) -> Finding:
    """PMV-3: PMV picks the model that fits, at every noise level, and cross-validation does not.

    Parameters
    ----------
    claim : mapping
    tables : mapping of str to DataFrame

    Returns
    -------
    Finding
        The number is the share (%) of data sets on which PMV picks the model that the paper means,
        over the seven kinds alike.
    """
    del claim
    rates = pooled_rates(tables["pmv_picks"]).set_index("rule")
    by_pmv, by_cv = rates.loc["PMV"], rates.loc["CV accuracy"]
    in_each = (by_pmv["fitting_low"] > 0.5).all()
    more = by_pmv["fitting"].mean() > by_cv["fitting"].mean()
    weakest = by_pmv.loc[by_pmv["fitting"] == by_pmv["fitting"].min()].iloc[0]
    error = 1.96 * np.sqrt((by_pmv["fitting"] * (1 - by_pmv["fitting"]) / by_pmv["n"]).sum())
    share, half = 100 * by_pmv["fitting"].mean(), 100 * error / len(by_pmv)
    return Finding(
        verdict(reproduced=bool(in_each), direction=bool(more)),
        f"PMV picks the model that the paper means on {share:.0f}% of data sets (least on "
        f"{weakest['distribution']}, noise {weakest['noise']:g}: {100 * weakest['fitting']:.0f}%), "
        f"ten-fold accuracy on {100 * by_cv['fitting'].mean():.0f}%. By true accuracy PMV is right "
        f"on {100 * by_pmv['right'].mean():.0f}%, ten-fold accuracy on "
        f"{100 * by_cv['right'].mean():.0f}%.",
        float(share),
        float(share - half),
        float(share + half),
    )


_ABSENT = " Connect-4 is not here."


def _absent(names: Sequence[str]) -> str:
    return "" if "connect-4" in set(names) else _ABSENT


def decide_memoriser(claim: Mapping[str, Any], tables: Tables) -> Finding:
    """PMV-4: an unlimited tree has slope 0.

    Parameters
    ----------
    claim : mapping
        Its ``numbers`` hold the slope and the training accuracy (%).
    tables : mapping of str to DataFrame

    Returns
    -------
    Finding
        The number is the largest absolute slope.
    """
    found = tables["pmv_memorisers"]
    trees = found[found["learner"] == "tree, unlimited"].set_index("dataset")
    flat = ((trees["slope"] - claim["numbers"]["slope"]).abs() < _HALF_DIGIT).all()
    held_back = found[found["learner"] == "tree, depth 5"].set_index("dataset")["slope"].abs()
    slopes = ", ".join(f"{name} {slope:.4f}" for name, slope in trees["slope"].items())
    return Finding(
        verdict(reproduced=bool(flat), direction=bool((trees["slope"].abs() < held_back).all())),
        f"Slope of the unlimited tree: {slopes}; least training accuracy "
        f"{100 * trees['last'].min():.2f}%. At depth 5 the slope is {held_back.min():.2f} or more."
        + _absent(trees.index),
        float(trees["slope"].abs().max()),
    )


def decide_tree_gaps(claim: Mapping[str, Any], tables: Tables) -> Finding:
    """PMV-5: the gaps of an unlimited tree.

    Parameters
    ----------
    claim : mapping
        Its ``numbers`` hold one gap per data set.
    tables : mapping of str to DataFrame

    Returns
    -------
    Finding
    """
    gaps = tables["pmv_tree_gaps"]
    runs = gaps[gaps["folds"] == "in order"].groupby("dataset", sort=False)["gap"]
    parts, inside, close, ranges = [], [], [], []
    for name, values in runs:
        printed = claim["numbers"][str(name).replace("-", "_")]
        low, high = values.min(), values.max()
        inside.append(low - 0.0005 <= printed <= high + 0.0005)
        close.append(abs(values.mean() - printed) <= 0.02)
        ranges.append((float(values.mean()), float(low), float(high)))
        parts.append(f"{name} {values.mean():.3f} ({low:.3f} to {high:.3f} over runs)")
    return Finding(
        verdict(reproduced=all(inside), direction=all(close)),
        "Folds in order: " + ", ".join(parts) + "." + _absent([str(name) for name, _ in runs]),
        *ranges[0],
    )


def decide_depths(claim: Mapping[str, Any], tables: Tables) -> Finding:
    """PMV-6: the depth by PMV and by grid search.

    Parameters
    ----------
    claim : mapping
        Its ``numbers`` hold ``pmv`` and ``grid``, a depth per data set each.
    tables : mapping of str to DataFrame

    Returns
    -------
    Finding
    """
    picked = picked_depths(tables["pmv_depths"], tables["pmv_grid_depths"])
    inside, order, parts, ranges = [], [], [], []
    for name in dict.fromkeys(picked["dataset"]):
        key = str(name).replace("-", "_")
        if key not in claim["numbers"]["pmv"]:
            continue
        medians = {}
        for method, source in (("PMV", "pmv"), ("grid search", "grid")):
            runs = picked.query("dataset == @name and method == @method")["depth"]
            low, high = _central(runs)
            inside.append(low <= claim["numbers"][source][key] <= high)
            medians[method] = runs.median()
            ranges.append((float(runs.median()), low, high))
            parts.append(f"{name} by {method} {medians[method]:g} ({low:g} to {high:g})")
        order.append(medians["PMV"] < medians["grid search"])
    return Finding(
        verdict(reproduced=all(inside), direction=all(order)),
        "Median depth (central 95% of runs): "
        + ", ".join(parts)
        + "."
        + _absent(list(picked["dataset"])),
        *ranges[0],
    )


def decide_stability(claim: Mapping[str, Any], tables: Tables) -> Finding:
    """PMV-7: five grid searches differ, five PMV runs do not.

    Parameters
    ----------
    claim : mapping
        Its ``numbers`` hold ``grid``, five depths, and ``pmv``, five depths.
    tables : mapping of str to DataFrame

    Returns
    -------
    Finding
        The number is the chance (%) that two PMV runs pick one depth.
    """
    picked = picked_depths(tables["pmv_depths"], tables["pmv_grid_depths"])
    picked = picked[picked["dataset"] == "breast-cancer"]
    runs = {name: part["depth"] for name, part in picked.groupby("method", sort=False)}
    agree = {name: _two_agree(depths) for name, depths in runs.items()}
    spread = {name: float(depths.std()) for name, depths in runs.items()}
    five_alike = float((runs["PMV"].value_counts(normalize=True) ** 5).sum())
    wide = max(spread["grid search"], spread["grid search, shuffled"])
    span = float(np.std(claim["numbers"]["grid"], ddof=1))
    return Finding(
        verdict(
            reproduced=five_alike >= 0.05 and wide >= span / 2,
            direction=spread["PMV"] < min(spread["grid search"], spread["grid search, shuffled"]),
        ),
        "Two runs pick one depth: "
        + ", ".join(f"{name} {100 * share:.0f}%" for name, share in agree.items())
        + "; standard deviation of the depth: "
        + ", ".join(f"{name} {value:.1f}" for name, value in spread.items())
        + f". Five PMV runs pick one depth with a chance of {100 * five_alike:.1f}%.",
        100 * agree["PMV"],
    )


def decide_hidden_sizes(claim: Mapping[str, Any], tables: Tables) -> Finding:
    """PMV-8: the number of hidden neurons on MNIST.

    Parameters
    ----------
    claim : mapping
        Its ``numbers`` hold ``neurons``.
    tables : mapping of str to DataFrame

    Returns
    -------
    Finding
    """
    hidden = tables["pmv_hidden_sizes"]
    picks, interior = {}, {}
    for name, table in hidden.groupby("dataset", sort=False):
        mean = pmv_tuning.slopes(narrow(table)).groupby("size")["slope"].mean()
        picks[name] = int(mean.idxmax())
        interior[name] = mean.index.min() < picks[name] < mean.index.max()
    mnist = "MNIST 0 and 1"
    sizes = sorted(hidden["size"].unique())
    place = sizes.index(int(claim["numbers"]["neurons"]))
    near = sizes[max(place - 1, 0) : place + 2]
    return Finding(
        verdict(reproduced=picks[mnist] in near, direction=bool(interior[mnist])),
        "Largest slope at "
        + ", ".join(f"{size} neurons on {name}" for name, size in picks.items())
        + f". Of the paper's 14,780 images 2,115 are here, and its network is not described; "
        f"ours is scikit-learn's, {hidden.groupby('dataset')['repeat'].nunique()[mnist]} run.",
        float(picks[mnist]),
    )


def decide_few_levels(claim: Mapping[str, Any], tables: Tables) -> Finding:
    """PMV-9: two noise levels pick nearly what ten pick.

    Parameters
    ----------
    claim : mapping
    tables : mapping of str to DataFrame

    Returns
    -------
    Finding
        The number is the share (%) of choices one depth apart at most, on the data set where it is
        least.
    """
    del claim
    found = level_agreement(tables["pmv_depths"])
    least = float(found["near"].min())
    return Finding(
        verdict(reproduced=least >= 0.95, direction=bool((found["near"] > 0.5).all())),
        "Two levels pick a depth at most one from that of all ten: "
        + ", ".join(f"{name} {100 * share:.0f}%" for name, share in found["near"].items())
        + "; two runs with all ten: "
        + ", ".join(f"{name} {100 * share:.0f}%" for name, share in found["two runs near"].items())
        + "."
        + _absent(list(found.index)),
        100 * least,
    )


def decide_linear(claim: Mapping[str, Any], tables: Tables) -> Finding:
    """PMV-10: accuracy falls almost linearly in the noise.

    Parameters
    ----------
    claim : mapping
    tables : mapping of str to DataFrame

    Returns
    -------
    Finding
        The number is the median R² of the lines, over data sets and depths.
    """
    del claim
    fits = straightness(tables["pmv_depths"])
    share = float((fits["r_squared"] >= 0.95).mean())
    worst = fits["r_squared"].idxmin()
    steepest = [part["slope"].idxmin() for _, part in fits.groupby("dataset", sort=False)]
    return Finding(
        verdict(reproduced=share >= 0.95, direction=bool(fits["r_squared"].median() >= 0.9)),
        f"R² of the line is {fits.loc[steepest, 'r_squared'].min():.3f} or more at the depth with "
        f"the largest slope, {fits['r_squared'].median():.2f} at the median of all data sets and "
        f"depths, 0.95 or more for {100 * share:.0f}% of them, and {fits['r_squared'].min():.2f} "
        f"at worst ({worst[0]}, depth {worst[1]}). The curve leaves its chord by up to "
        f"{fits['bend'].abs().max():.2f} of accuracy." + _absent([str(n) for n, _ in fits.index]),
        float(fits["r_squared"].median()),
    )
