"""Figures and tables of the two PMV chapters: this run's estimates before the committed ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure

from pvf import plotting
from studies.kit.show import band, finished, panels, points, text_table

_TITLES = {"slope": "slope of PMV", "test_accuracy": "test accuracy", "gap": "gap"}


def runs_shown(estimates: pd.DataFrame) -> pd.DataFrame:
    """Let the range of single runs stand as the interval, where runs differ at all."""
    differ = estimates["run_high"] - estimates["run_low"] > 1e-9
    # an absolute value is not below 0, and no share above 1
    ends = estimates[["run_low", "run_high"]].clip(0, 1).where(differ)
    return estimates.assign(low=ends["run_low"], high=ends["run_high"])


def _behind(
    draw: Callable[..., None], estimates: pd.DataFrame, reference: pd.DataFrame | None
) -> None:
    """Draw the committed estimates, pale, and then this run's."""
    if reference is not None:
        draw(reference, pale=True)
    draw(estimates, pale=False)


def _only(estimates: pd.DataFrame, **where: Any) -> pd.DataFrame:
    chosen = np.all([estimates[key] == value for key, value in where.items()], axis=0)
    return estimates[chosen]


def table_beside_paper(cells: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return one measure of Table 1 as text: ours with the range of single runs, and the paper's.

    ``cells`` comes from `table1.beside_paper`.
    """
    ours = runs_shown(_only(cells, quantity=measure)).assign(source="ours")
    paper = ours.assign(source="paper", estimate=ours["paper"], low=np.nan, high=np.nan)
    both = pd.concat([ours, paper]).sort_values(["noise", "source"], kind="stable")
    both["noise"] = both["noise"].map("noise {:g}".format)
    return text_table(both, ["distribution", "model"], ["noise", "source"])


def draw_table1(
    estimates: pd.DataFrame, reference: pd.DataFrame | None, paper: pd.DataFrame
) -> Figure:
    """Draw our cells over the paper's, one panel a measure."""
    figure, axes = panels(
        3,
        titles=[*_TITLES.values()],
        xlabel="the paper",
        ylabel="ours",
        sharex=False,
        sharey=False,
    )
    for ax, measure in zip(axes, _TITLES, strict=True):

        def draw(found: pd.DataFrame, *, pale: bool, ax: Axes = ax, measure: str = measure) -> None:
            cells = _only(found, quantity=measure, boosting="SAMME.R").merge(paper)
            for i, (name, some) in enumerate(cells.groupby("distribution", sort=False)):
                label = "" if pale else str(name)
                points(ax, runs_shown(some), some["paper"], series=i, label=label, pale=pale)

        _behind(draw, estimates, reference)
        ends = [0.3, 1.02] if measure == "test_accuracy" else [-0.02, 0.92]
        ax.plot(ends, ends, color="0.35", linewidth=0.8, zorder=0)
    return finished(figure)


def percent_table(
    estimates: pd.DataFrame, index: str | Sequence[str], columns: str = "quantity"
) -> pd.DataFrame:
    """Return shares as text, in percent, cut at 0 and 1."""
    ends = estimates[["low", "high"]].clip(0, 1)
    cut = estimates.assign(low=ends["low"], high=ends["high"])
    return text_table(cut, index, columns, spec=".0f", scale=100)


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
    table = percent_table(_only(found, quantity="right"), index)
    table.insert(0, "picked most", picked.reindex(table.index))
    lost = text_table(_only(found, quantity="regret"), index, spec=".4f")
    ties = text_table(
        _only(found, quantity="tied").assign(low=np.nan, high=np.nan), index, spec=".1f"
    )
    table["accuracy lost"], table["models that tie"] = lost["regret"], ties["tied"]
    return table.rename(columns={"right": "right (%)"})


def draw_picks(estimates: pd.DataFrame, reference: pd.DataFrame | None) -> Figure:
    """Draw how often each rule is right, and how often it picks the model that the paper means."""
    titles = {
        "right": "right: within 0.005 of the best",
        "fitting": "the model that the paper means",
    }
    figure, axes = panels(
        2, size=(4.3, 3.8), titles=[*titles.values()], xlabel="share of data sets (%)"
    )
    kinds = estimates[estimates["distribution"] != "all"][["distribution", "noise"]]
    kinds = kinds.drop_duplicates().reset_index(drop=True)
    for ax, quantity in zip(axes, titles, strict=True):

        def draw(found: pd.DataFrame, *, pale: bool, ax: Axes = ax, what: str = quantity) -> None:
            for i, rule in enumerate(("PMV", "CV accuracy", "CV gap")):
                rows = kinds.merge(_only(found, rule=rule, quantity=what))
                places = rows.index + 0.22 * (i - 1)
                label = "" if pale else rule
                options: dict[str, Any] = {"series": i, "label": label, "pale": pale}
                points(ax, rows, places, horizontal=True, scale=100, **options)

        _behind(draw, estimates, reference)
        ax.set_xlim(-4, 104)
    names = [f"{name}, noise {noise:g}" for name, noise in kinds.to_numpy()]
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    return finished(figure)


def draw_memorisers(estimates: pd.DataFrame, reference: pd.DataFrame | None) -> Figure:
    """Draw the slope of learners that memorise, and of others, one series a data set."""
    figure, axes = panels(
        1, size=(6.2, 3.0), titles=["slope of PMV"], xlabel="0 where flips are learned by heart"
    )
    whole = estimates if reference is None else reference
    learners, names = (list(pd.unique(whole[key])) for key in ("learner", "dataset"))

    def draw(found: pd.DataFrame, *, pale: bool) -> None:
        for i, name in enumerate(names):
            rows = _only(found, quantity="slope", dataset=name)
            places = np.array([learners.index(one) for one in rows["learner"]]) + 0.2 * (i - 1)
            label = "" if pale else name
            points(axes[0], rows, places, series=i, label=label, horizontal=True, pale=pale)

    _behind(draw, estimates, reference)
    axes[0].set_yticks(range(len(learners)), learners)
    axes[0].invert_yaxis()
    return finished(figure)


def draw_gaps(
    estimates: pd.DataFrame,
    reference: pd.DataFrame | None,
    *,
    paper: Mapping[str, float] | None = None,
) -> Figure:
    """Draw the unlimited tree's gap for each way to cut folds, and what the paper prints.

    ``paper`` maps a data set, written with an underscore, to its gap.
    """
    whole = estimates if reference is None else reference
    names = list(pd.unique(whole["dataset"]))
    figure, axes = panels(
        len(names), size=(3.4, 2.0), titles=names, xlabel="training less test accuracy"
    )
    ways = list(pd.unique(whole["folds"]))
    for name, ax in zip(names, axes, strict=True):

        def draw(found: pd.DataFrame, *, pale: bool, ax: Axes = ax, name: str = name) -> None:
            rows = runs_shown(_only(found, dataset=name))
            places = [ways.index(one) for one in rows["folds"]]
            label = "ours, committed" if pale else "ours, this run"
            points(ax, rows, places, label=label, horizontal=True, pale=pale)

        _behind(draw, estimates, reference)
        printed = (paper or {}).get(name.replace("-", "_"))
        if printed is not None:
            orange = plotting.PALETTE[1]
            ax.plot(printed, -0.25, "D", color=orange, markersize=5, label="the paper")
        ax.set(xlim=(0, 0.25), ylim=(-0.5, len(ways) - 0.5))
    axes[0].set_yticks(range(len(ways)), [f"folds {way}" for way in ways])
    axes[0].invert_yaxis()
    return finished(figure)


def draw_depths(
    estimates: pd.DataFrame,
    reference: pd.DataFrame | None,
    grid: pd.DataFrame,
) -> Figure:
    """Draw the slope over the depth of the tree, and below it the depths that are picked.

    ``grid`` holds this run's grid searches.
    """
    names = pd.unique(_only(estimates, quantity="depth")["dataset"])
    figure, axes = panels(
        2 * len(names),
        len(names),
        titles=names,
        xlabel="depth of the tree",
        sharey="row",
        size=(max(2.9, 5.8 / len(names)), 2.3),
    )
    for name, above, below in zip(names, axes[: len(names)], axes[len(names) :], strict=True):
        curve = _only(estimates, quantity="slope", dataset=name)
        if reference is not None:
            behind = _only(reference, quantity="slope", dataset=name)
            ends = ("run_low", "run_high")
            band(above, behind, behind["size"], ends=ends, label="95% of full runs")
        points(above, curve, curve["size"], label="this run", fmt="o-")
        picked = pd.concat([estimates, grid])
        picked = _only(picked, quantity="picks", dataset=name)
        for i, (method, rows) in enumerate(picked.groupby("method", sort=False)):
            places = rows["size"] + 0.2 * (i - 1)
            kept = rows["estimate"] > 0
            points(below, rows[kept], places[kept], series=i, label=str(method), scale=100)
        above.set_ylim(0, None)
        below.set_xticks(range(0, 21, 5))
    axes[0].set_ylabel("slope of PMV, absolute")
    axes[len(names)].set_ylabel("runs that pick it (%)")
    return finished(figure, legend_columns=5)


def draw_curves(
    estimates: pd.DataFrame,
    reference: pd.DataFrame | None,
    sizes: Sequence[int] = (1, 3, 5, 10, 20),
) -> Figure:
    """Draw training accuracy over the noise for some depths."""
    curves = _only(estimates, quantity="accuracy")
    names = pd.unique(curves["dataset"])
    figure, axes = panels(
        len(names),
        titles=names,
        xlabel="share of labels flipped",
        ylabel="training accuracy",
        size=(max(2.9, 5.8 / len(names)), 3.2),
    )
    for name, ax in zip(names, axes, strict=True):
        for i, size in enumerate(sizes):
            where = {"quantity": "accuracy", "dataset": name, "size": size}
            if reference is not None:
                behind = _only(reference, **where)
                band(ax, behind, behind["noise"], series=i, ends=("run_low", "run_high"))
            mean = _only(curves, **where)
            points(ax, mean, mean["noise"], series=i, label=f"depth {size}", linewidth=1)
    return finished(figure, legend_columns=5)


def draw_hidden_sizes(estimates: pd.DataFrame, reference: pd.DataFrame | None) -> Figure:
    """Draw slope and errors over the number of hidden neurons, with the range of runs."""
    whole = estimates if reference is None else reference
    names = pd.unique(whole["dataset"])
    figure, axes = panels(
        2 * len(names),
        len(names),
        size=(3.9, 2.4),
        titles=names,
        xlabel="hidden neurons",
        sharey="row",
    )
    series = {"slope": "slope", "training_error": "training error", "test_error": "test error"}
    for i, name in enumerate(names):

        def draw(found: pd.DataFrame, *, pale: bool, i: int = i, name: str = name) -> None:
            for j, (quantity, label) in enumerate(series.items()):
                rows = _only(found, quantity=quantity, dataset=name)
                # two runs' interval would fill the panel: the runs themselves
                ends = rows.assign(low=rows["run_low"], high=rows["run_high"])
                ax = axes[i + len(names) * (j > 0)]
                options: dict[str, Any] = {"series": j, "pale": pale, "fmt": "sDo"[j] + "-"}
                options |= {"scale": 100 if j else 1, "label": label + ", committed" * pale}
                points(ax, ends, rows["size"], **options)

        _behind(draw, estimates, reference)
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


def glued_means(estimates: pd.DataFrame) -> dict[str, float]:
    """Return the means that the chapter's text names, in percent, by kind, rule and quantity."""
    words = {"right": "right", "regret accuracy": "lost", "regret F1": "lost_f1"}
    means = kind_means(estimates)
    found = {
        f"{row.kind}_{row.rule}_{words[row.quantity]}": float(100 * row.estimate)
        for row in means[means["quantity"].isin(words)].itertuples()
    }
    named = {re.sub("[ -]", "_", name): value for name, value in found.items()}
    return named | {"n_rules": float(estimates["n"].iloc[0])}


def draw_losses(estimates: pd.DataFrame, reference: pd.DataFrame | None) -> Figure:
    """Draw how much outside score each rule's choice loses against the best candidate."""
    scales = {"accuracy": 100, "F1": 100, "IE": 1}
    titles = [f"{name} lost{' (points)' if scale > 1 else ''}" for name, scale in scales.items()]
    figure, axes = panels(3, size=(3.0, 3.8), titles=titles, sharex=False)
    rules = pd.unique(estimates["rule"])
    for ax, (metric, scale) in zip(axes, scales.items(), strict=True):

        def draw(
            found: pd.DataFrame,
            *,
            pale: bool,
            ax: Axes = ax,
            what: str = f"regret {metric}",
            scale: float = scale,
        ) -> None:
            for i, kind in enumerate(("synthetic", "clinical")):
                rows = _only(kind_means(found), kind=kind, quantity=what).set_index("rule")
                rows = rows.reindex(rules)
                label = "" if pale else f"{kind} problems"
                options: Mapping[str, Any] = {"series": i, "label": label, "pale": pale}
                places = np.arange(len(rules)) + 0.2 * (i - 0.5)
                points(ax, rows, places, horizontal=True, scale=scale, **options)

        _behind(draw, estimates, reference)
        ax.set_xlabel("lost outside")
    axes[0].set_yticks(range(len(rules)), rules)
    axes[0].invert_yaxis()
    return finished(figure)


#: From white to the blue of the palette: lightness alone tells cells apart.
_PALE_TO_DARK = LinearSegmentedColormap.from_list("pale to dark", ["white", plotting.PALETTE[0]])

_IN_A_CELL: dict[str, Any] = {"ha": "center", "va": "center", "size": 7.5, "linespacing": 1.1}


def draw_lost(estimates: pd.DataFrame, reference: pd.DataFrame | None) -> Figure:
    """Draw the outside accuracy that each rule's choice loses, problem by problem."""
    return _heat_map(estimates, reference, "regret accuracy", "accuracy lost (points)", ".1f")


def draw_right(estimates: pd.DataFrame, reference: pd.DataFrame | None) -> Figure:
    """Draw how often each rule is right, problem by problem."""
    return _heat_map(estimates, reference, "right", "right (% of choices)", ".0f")


def _heat_map(
    estimates: pd.DataFrame, reference: pd.DataFrame | None, quantity: str, title: str, spec: str
) -> Figure:
    """Draw rules × problems: the full results, and in a cell's last line those of a smaller run."""
    full = _only(estimates if reference is None else reference, quantity=quantity)
    own = _only(estimates, quantity=quantity).set_index(["problem", "rule"])["estimate"]
    own = {} if own.to_list() == full["estimate"].to_list() else own.to_dict()
    rules, problems = (list(pd.unique(full[key])) for key in ("rule", "problem"))
    values = 100 * full.pivot_table("estimate", "rule", "problem")
    shade = PowerNorm(0.5, vmin=0, vmax=float(values.to_numpy().max()))
    figure, (ax,) = panels(1, size=(1.2 + 0.66 * len(problems), 0.6 + 0.47 * len(rules)))
    ax.imshow(values.loc[rules, problems], cmap=_PALE_TO_DARK, norm=shade, aspect="auto")
    for row in full.itertuples():
        error = 100 * max(row.high - row.estimate, row.estimate - row.low)
        lines = [f"{100 * row.estimate:{spec}}", f"±{error:{spec}}"]
        if (row.problem, row.rule) in own:
            lines.append(f"run {100 * own[row.problem, row.rule]:{spec}}")
        ax.annotate(
            "\n".join(lines),
            (problems.index(row.problem), rules.index(row.rule)),
            color="white" if shade(100 * row.estimate) > 0.7 else "black",
            **_IN_A_CELL,
        )
    ax.set_xticks(range(len(problems)), [re.sub("[ -]", "\n", name) for name in problems])
    ax.set_yticks(range(len(rules)), rules)
    ax.tick_params(length=0)
    ax.set_title(title)
    return finished(figure)
