"""Figures and tables of the two PMV chapters: this run's estimates before the committed ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure

from pvf import plotting
from studies.kit.dots import Frames, at, changed, crossed, dot_rows, lines, series
from studies.kit.show import (
    COLOURS,
    beside_paper,
    clipped,
    finished,
    panels,
    runs_shown,
    text_table,
)

_TITLES = {"slope": "slope of PMV", "test_accuracy": "test accuracy", "gap": "gap"}


def _in_unit(estimates: pd.DataFrame) -> pd.DataFrame:
    """Let the range of single runs stand as the interval, cut where shares end."""
    return clipped(runs_shown(estimates), 0, 1)


def table_beside_paper(cells: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return one measure of Table 1 as text: ours with the range of single runs, and the paper's.

    ``cells`` comes from `table1.beside_paper`.
    """
    ours = _in_unit(at(cells, quantity=measure)).sort_values("noise", kind="stable")
    ours = ours.assign(noise=ours["noise"].map("noise {:g}".format)).reset_index(drop=True)
    return beside_paper(ours, ["distribution", "model"], ["noise"])


def draw_table1(frames: Frames, paper: pd.DataFrame) -> Figure:
    """Draw our cells over the paper's, one panel a measure."""
    figure, axes = panels(
        3,
        titles=[*_TITLES.values()],
        xlabel="the paper",
        ylabel="ours",
        sharex=False,
        sharey=False,
    )
    frames = changed(frames, lambda rows: _in_unit(at(rows, boosting="SAMME.R").merge(paper)))
    for ax, measure in zip(axes, _TITLES, strict=True):
        for i, name in enumerate(pd.unique(paper["distribution"])):
            series(ax, frames, "paper", i, name, {"quantity": measure, "distribution": name})
        ends = [0.3, 1.02] if measure == "test_accuracy" else [-0.02, 0.92]
        ax.plot(ends, ends, color="0.35", linewidth=0.8, zorder=0)
    return finished(figure)


def percent_table(
    estimates: pd.DataFrame, index: str | Sequence[str], columns: str = "quantity"
) -> pd.DataFrame:
    """Return shares as text, in percent, cut at 0 and 1."""
    return text_table(clipped(estimates, 0, 1), index, columns, spec=".0f", scale=100)


def shown_picks(estimates: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Return who is picked by which rule, as text: a kind of data and a rule a row."""
    found = estimates[estimates["distribution"] != "all"]
    index = ["distribution", "noise", "rule"]
    shares = found[found["quantity"].isin(models) & (found["estimate"] > 0)]
    most = shares.sort_values("estimate", ascending=False, kind="stable").groupby(index, sort=False)
    picked = most.apply(
        lambda rows: ", ".join(
            f"{model} {100 * share:.0f}%"
            for model, share in rows[["quantity", "estimate"]].head(3).to_numpy()
        ),
        include_groups=False,
    )
    table = percent_table(at(found, quantity="right"), index)
    table.insert(0, "picked most", picked.reindex(table.index))
    lost = text_table(at(found, quantity="regret"), index, spec=".4f")
    ties = text_table(at(found, quantity="tied").assign(low=np.nan, high=np.nan), index, spec=".1f")
    table["accuracy lost"], table["models that tie"] = lost["regret"], ties["tied"]
    return table.rename(columns={"right": "right (%)"})


def draw_picks(frames: Frames) -> Figure:
    """Draw how often each rule is right, and how often it picks the model that the paper means."""
    titles = {
        "right": "right: within 0.005 of the best",
        "fitting": "the model that the paper means",
    }
    rules = {rule: {"rule": rule} for rule in ("PMV", "CV accuracy", "CV gap")}
    columns = crossed({title: {"quantity": key} for key, title in titles.items()}, rules)
    frames = changed(frames, lambda rows: _in_percent(rows[rows["distribution"] != "all"]))
    options: dict[str, Any] = {"xlim": (-4, 104), "width": 4.3}
    keys, xlabel = ["distribution", "noise"], "share of data sets (%)"
    return finished(dot_rows(frames, keys, columns, xlabel, **options)[0])


def _in_percent(rows: pd.DataFrame) -> pd.DataFrame:
    """Return estimates with their ends in percent, but for those of IE."""
    scale = rows["quantity"].ne("regret IE").map({True: 100, False: 1})
    return rows.assign(**{end: rows[end] * scale for end in ("estimate", "low", "high")})


def draw_memorisers(frames: Frames) -> Figure:
    """Draw the slope of learners that memorise, and of others, one series a data set."""
    names = pd.unique(frames.whole["dataset"])
    columns = {"slope of PMV": {name: {"quantity": "slope", "dataset": name} for name in names}}
    xlabel = "0 where flips are learned by heart"
    return finished(dot_rows(frames, ["learner"], columns, xlabel, width=6.2)[0])


def draw_gaps(frames: Frames, *, paper: Mapping[str, float] | None = None) -> Figure:
    """Draw the unlimited tree's gap for each way to cut folds, and what the paper prints.

    ``paper`` maps a data set, written with an underscore, to its gap.
    """
    frames = changed(frames, _in_unit)
    names = pd.unique(frames.whole["dataset"])
    columns = {name: {"ours": {"dataset": name}} for name in names}
    figure, axes = dot_rows(frames, ["folds"], columns, "gap", xlim=(0, 0.25), width=3.4)
    for name, ax in zip(names, axes, strict=True):
        printed = (paper or {}).get(name.replace("-", "_"), np.nan)
        ax.plot(printed, -0.25, "D", color=COLOURS["paper"], label="the paper")
        ax.set_ylim(2.5, -0.5)
    return finished(figure)


def draw_depths(frames: Frames, grid: pd.DataFrame) -> Figure:
    """Draw the slope over the depth of the tree, and below it the depths that are picked.

    ``grid`` holds this run's grid searches.
    """
    names = pd.unique(at(frames.run, quantity="depth")["dataset"])
    figure, axes = panels(
        2 * len(names),
        len(names),
        titles=names,
        xlabel="depth of the tree",
        sharey="row",
        size=(max(2.9, 5.8 / len(names)), 2.3),
    )
    picks, shown = pd.concat([frames.run, grid]), _range_behind(frames)
    for name, above, below in zip(names, axes[: len(names)], axes[len(names) :], strict=True):
        where = {"dataset": name, "quantity": "slope"}
        series(above, shown, "size", 0, "slope", where, fmt="o-")
        for i, method in enumerate(pd.unique(at(picks, quantity="picks")["method"])):
            where = {"dataset": name, "quantity": "picks", "method": method}
            taken = Frames(picks[picks["estimate"] > 0])
            options: dict[str, Any] = {"shift": 0.2 * (i - 1), "scale": 100}
            series(below, taken, "size", i, str(method), where, **options)
        above.set_ylim(0, None)
        below.set_xticks(range(0, 21, 5))
    axes[0].set_ylabel("slope of PMV, absolute")
    axes[len(names)].set_ylabel("runs that pick it (%)")
    return finished(figure, legend_columns=5)


def draw_curves(frames: Frames, sizes: Sequence[int] = (1, 3, 5, 10, 20)) -> Figure:
    """Draw training accuracy over the noise for some depths."""
    names = pd.unique(at(frames.run, quantity="accuracy")["dataset"])
    depths = {f"depth {size}": {"size": size} for size in sizes}
    columns = crossed({name: {"dataset": name} for name in names}, depths, quantity="accuracy")
    figure, _ = lines(
        _range_behind(frames),
        "noise",
        columns,
        options={"linewidth": 1},
        xlabel="share of labels flipped",
        ylabel="training accuracy",
        size=(max(2.9, 5.8 / len(names)), 3.2),
    )
    return finished(figure, legend_columns=5)


def _range_of_runs(found: pd.DataFrame) -> pd.DataFrame:
    return found.assign(low=found["run_low"], high=found["run_high"])


def _range_behind(frames: Frames) -> Frames:
    """Let the range of single runs stand as the interval of the full results."""
    return frames._replace(full=None if frames.full is None else _range_of_runs(frames.full))


def draw_hidden_sizes(frames: Frames) -> Figure:
    """Draw slope and errors over the number of hidden neurons, with the range of runs."""
    names = pd.unique(frames.whole["dataset"])
    figure, axes = panels(
        2 * len(names),
        len(names),
        size=(3.9, 2.4),
        titles=names,
        xlabel="hidden neurons",
        sharey="row",
    )
    shown = {"slope": "slope", "training_error": "training error", "test_error": "test error"}
    # two runs' interval would fill the panel: the runs themselves
    frames = changed(frames, _range_of_runs)
    for i, name in enumerate(names):
        for j, (quantity, label) in enumerate(shown.items()):
            where = {"quantity": quantity, "dataset": name}
            options: dict[str, Any] = {"fmt": "sDo"[j] + "-", "scale": 100 if j else 1}
            series(axes[i + len(names) * (j > 0)], frames, "size", j, label, where, **options)
        lower = axes[i + len(names)]
        lower.set_xscale("log")
        lower.set_xticks(
            [10, 20, 40, 100, 200, 400, 800], ["10", "20", "40", "100", "200", "400", "800"]
        )
        lower.minorticks_off()
    axes[0].set_ylabel("slope of PMV, absolute")
    axes[len(names)].set_ylabel("error of a 70:30 split (%)")
    return finished(figure)


def kind_means(estimates: pd.DataFrame) -> pd.DataFrame:
    """Average the rules over problems of one kind; independent errors add in squares."""
    clinical = estimates["problem"].str.endswith("cancer")
    rows = estimates.assign(
        kind=clinical.map({True: "clinical", False: "synthetic"}),
        square=((estimates["high"] - estimates["low"]) / 2) ** 2,
    )
    groups = rows.groupby(["kind", "rule", "quantity"], sort=False)
    mean, half = groups["estimate"].mean(), np.sqrt(groups["square"].sum()) / groups.size()
    ends = {"low": mean - half, "high": mean + half, "n": groups["n"].sum()}
    return pd.DataFrame({"estimate": mean, **ends, "unit": ""}).reset_index()


def draw_losses(frames: Frames) -> Figure:
    """Draw how much outside score each rule's choice loses against the best candidate."""
    titles = {"accuracy": "accuracy lost (points)", "F1": "F1 lost (points)", "IE": "IE lost"}
    named = {title: {"quantity": f"regret {metric}"} for metric, title in titles.items()}
    kinds = {f"{kind} problems": {"kind": kind} for kind in ("synthetic", "clinical")}
    columns = crossed(named, kinds)
    frames = changed(frames, lambda rows: _in_percent(kind_means(rows)))
    return finished(dot_rows(frames, ["rule"], columns, "lost outside", sharex=False)[0])


#: From white to the blue of the palette: lightness alone tells cells apart.
_PALE_TO_DARK = LinearSegmentedColormap.from_list("pale to dark", ["white", plotting.PALETTE[0]])

_IN_A_CELL: dict[str, Any] = {"ha": "center", "va": "center", "size": 8, "linespacing": 1.05}


#: What a grid shows, and the format of its numbers.
_GRIDS = {
    "regret accuracy": ("accuracy lost (points)", ".1f"),
    "right": ("right (% of choices)", ".0f"),
}


def draw_grid(quantity: str, frames: Frames) -> Figure:
    """Draw rules × problems: the full results, and in a cell's last line those of a smaller run."""
    run, full = (_in_percent(at(frame, quantity=quantity)) for frame in (frames.run, frames.whole))
    (title, spec), keys = _GRIDS[quantity], ["problem", "rule"]
    own = run.set_index(keys)["estimate"]
    smaller = own.to_list() != full["estimate"].to_list()
    problems, rules = ([*pd.unique(full[key])] for key in keys)
    values = full.pivot_table("estimate", "rule", "problem").loc[rules, problems]
    shade = PowerNorm(0.5, vmin=0, vmax=full["estimate"].max())
    figure, (ax,) = panels(1, size=(1.2 + 0.66 * len(problems), 0.6 + 0.47 * len(rules)))
    ax.imshow(values, cmap=_PALE_TO_DARK, norm=shade, aspect="auto")
    for row in full.itertuples():
        error = max(row.high - row.estimate, row.estimate - row.low)
        text = f"{row.estimate:{spec}}\n±{error:{spec}}"
        if smaller and (row.problem, row.rule) in own:
            text += f"\nrun {own[row.problem, row.rule]:{spec}}"
        color = "white" if shade(row.estimate) > 0.7 else "black"
        place = (problems.index(row.problem), rules.index(row.rule))
        ax.annotate(text, place, color=color, **_IN_A_CELL)
    ax.set_xticks(range(len(problems)), [re.sub("[ -]", "\n", name) for name in problems])
    ax.set_yticks(range(len(rules)), rules)
    ax.tick_params(length=0)
    ax.set_title(title)
    return finished(figure)
