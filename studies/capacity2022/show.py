"""Figures of the chapters on Rashomon Capacity, and the words of their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from pvf import plotting
from pvf.multiplicity import rashomon_capacity
from studies.capacity2022.run import QUANTILES
from studies.capacity2022.searches import WAYS
from studies.kit.results import results_folder
from studies.kit.show import finished, panels, points

Array = NDArray[np.float64]

_DATASETS = {"adult": "Adult", "compas": "COMPAS"}
_WAYS = {
    "seeds": "sampling, other seeds",
    "seeds, some samples": "sampling, other seeds",
    "resamples": "sampling, resampled data",
    "AWP": "AWP, gradient steps",
    "exact": "exact optimum",
}
#: The reader's words for keys and quantities.
NAMES = {
    **_DATASETS,
    **_WAYS,
    "mean": "mean capacity",
    "tail5": "top 5%",
    "tail1": "top 1%",
    "share": "of the possible (%)",
    "above": "above 1.01 (%)",
    "ambiguity": "ambiguity: decisions in conflict (%)",
    "n_models": "models in the set",
    "n_trained": "models trained",
    "calibration_error": "calibration error",
    "authors": "the authors'",
    "n_trees": "trees",
    "tied_holdout": "tied by hold-out",
    "tied_pvf": "tied by PVF",
    "mean_trees": "mean capacity, trees",
    "mean_additive": "mean capacity, additive",
    "contested_trees": "in conflict, trees (%)",
    "contested_additive": "in conflict, additive (%)",
}
#: Formats of the tables' numbers.
SPECS = {
    **dict.fromkeys(("mean", "calibration_error", "change"), ".4f"),
    **dict.fromkeys(("tail5", "tail1", "loss", "accuracy"), ".3f"),
    **dict.fromkeys(("share", "above", "ambiguity", "seconds"), ".1f"),
    **dict.fromkeys(("n_models", "n_trained"), ".0f"),
    **dict.fromkeys(("n_trees", "tied_holdout", "tied_pvf"), ".0f"),
    **dict.fromkeys(("contested_trees", "contested_additive"), ".1f"),
}


# --- choosing estimates -------------------------------------------------------------------------


def at(estimates: pd.DataFrame, **where: Any) -> pd.DataFrame:
    """Return the estimates with these keys; a list lets a key be any of several."""
    chosen = np.ones(len(estimates), dtype=bool)
    for key, value in where.items():
        chosen &= estimates[key].isin(value if isinstance(value, list) else [value])
    return estimates[chosen]


def trained(estimates: pd.DataFrame) -> pd.DataFrame:
    """Return the estimates of networks after the last of their epochs, and all that have none."""
    last = estimates.groupby(["dataset", "training"])["epochs"].transform("max")
    return estimates[estimates["epochs"].isna() | (estimates["epochs"] == last)]


def together(
    estimates: pd.DataFrame, reference: pd.DataFrame | None, beside: Sequence[Any]
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Add the estimates of runs beside this one, and the references of those that could run."""
    known = [] if reference is None else [reference]
    known += [run.reference for run in beside if run.table is not None]
    everything = pd.concat([estimates, *(run.estimates for run in beside)], ignore_index=True)
    return everything, pd.concat(known, ignore_index=True) if known else None


def series(
    ax: Axes,
    frames: Sequence[pd.DataFrame | None],
    places: str,
    number: int,
    label: str,
    where: Mapping[str, Any],
    *,
    shift: float = 0.0,
    **options: Any,
) -> None:
    """Draw one series of a run over a key, and behind it, pale, that of its reference."""
    for frame, pale in zip(frames, (False, True), strict=True):
        if frame is not None:
            rows = at(frame, **where).sort_values(places)
            name = "" if pale else label
            points(ax, rows, rows[places] + shift, series=number, label=name, pale=pale, **options)


# --- figures ------------------------------------------------------------------------------------


def simplex(*_: object) -> Figure:
    """Draw three sets of scores on the simplex of three classes, with their centroids."""
    sets = {
        "nearly one score": [[0.5, 0.3, 0.2], [0.45, 0.33, 0.22], [0.52, 0.25, 0.23]],
        "two classes in conflict": [[0.9, 0.05, 0.05], [0.06, 0.88, 0.06], [0.5, 0.4, 0.1]],
        "every class given": [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0.4, 0.3, 0.3]],
    }
    figure, axes = panels(len(sets), size=(2.5, 2.2))
    for ax, (title, given) in zip(axes, sets.items(), strict=True):
        _draw_simplex(ax, title, np.array(given))
    return finished(figure)


#: Where the corners of the simplex lie on the page.
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


def _draw_simplex(ax: Axes, title: str, rows: Array) -> None:
    capacity, weights = rashomon_capacity(rows[:, None, :], return_weights=True)
    weight = weights[:, 0]
    ax.plot(*np.vstack([_CORNERS, _CORNERS[:1]]).T, color="0.5", linewidth=1)
    centre = weight @ rows @ _CORNERS
    for point, share in zip(rows @ _CORNERS, weight, strict=True):
        face = plotting.PALETTE[0] if share > 0 else "white"
        if share > 0:
            ax.plot(*np.vstack([point, centre]).T, color="0.75", linewidth=1, zorder=1)
        ax.plot(*point, "o", color=plotting.PALETTE[0], markerfacecolor=face, markersize=7)
    ax.plot(*centre, "+", color=plotting.PALETTE[1], markersize=13, markeredgewidth=2.5)
    away = ((-8, -10), (8, -10), (0, 6))
    for number, (corner, offset) in enumerate(zip(_CORNERS, away, strict=True), start=1):
        ax.annotate(
            f"class {number}", corner, offset, textcoords="offset points", ha="center", size=8
        )
    ax.set_title(f"{title}\n{capacity[0]:.3f} effective classes", size=9, loc="center")
    ax.set(aspect="equal", xlim=(-0.15, 1.15), ylim=(-0.15, 1.0))
    ax.axis("off")


#: The two ways to look for models that see the same networks and persons.
_PAIR = {"seeds, some samples": "sampling", "AWP": "AWP"}


def tails(
    estimates: pd.DataFrame, reference: pd.DataFrame | None, *, beside: Sequence[Any] = ()
) -> Figure:
    """Draw the mean capacity of the top 1% and 5% over epsilon, as the paper's Fig. 3 does."""
    frames = together(estimates, reference, beside)
    figure, axes = panels(2, size=(3.7, 3.2), titles=list(_DATASETS.values()))
    for ax, dataset in zip(axes, _DATASETS, strict=True):
        for number, (way, name) in enumerate(_PAIR.items()):
            for quantity, style in (("tail1", "-"), ("tail5", "--")):
                where = {"dataset": dataset, "way": way, "training": "standardised"}
                label = f"{name}, top {quantity[-1]}%"
                fmt = "os"[number] + style
                series(
                    ax, frames, "epsilon", number, label, where | {"quantity": quantity}, fmt=fmt
                )
        ax.set(xlabel="Rashomon parameter ε (nats of loss)", ylim=(0.98, 2.02), xlim=(0, 0.105))
    axes[0].set_ylabel("Mean capacity (effective classes)")
    return finished(figure, legend_columns=2)


def paper_tails() -> pd.DataFrame:
    """Return what Fig. 3 of the paper shows, read off its drawing, in the schema of estimates."""
    printed = pd.read_csv(results_folder() / "paper" / "rashomon_figure3.csv", comment="#")
    return printed.melt(["dataset", "way", "epsilon"], var_name="quantity", value_name="estimate")


def authors(estimates: pd.DataFrame, reference: pd.DataFrame | None) -> Figure:
    """Draw the largest 1% and 5% over epsilon under the authors' condition, and the paper's."""
    figure, axes = panels(2, size=(3.7, 3.2), titles=list(_DATASETS.values()))
    printed = paper_tails()
    for ax, dataset in zip(axes, _DATASETS, strict=True):
        for number, (way, name) in enumerate({"seeds": "sampling", "AWP": "AWP"}.items()):
            for quantity, style in (("tail1", "-"), ("tail5", "--")):
                where = {"dataset": dataset, "way": way, "quantity": quantity}
                label, fmt = f"{name}, top {quantity[-1]}%", "os"[number] + style
                series(ax, (estimates, reference), "epsilon", number, label, where, fmt=fmt)
                read = at(printed, **where)
                ax.plot(read["epsilon"], read["estimate"], "x", color=plotting.PALETTE[number])
        ax.set(xlabel="Rashomon parameter ε (nats of loss)", ylim=(0.98, 2.02), xlim=(0, 0.105))
    axes[0].set_ylabel("Mean capacity (effective classes)")
    return finished(figure, legend_columns=2)


def leads(estimates: pd.DataFrame, reference: pd.DataFrame | None) -> Figure:
    """Draw by how much AWP exceeds sampling over epsilon: in capacity, and in time."""
    shown = {"lead": "Top 5%: effective classes more", "slower": "All persons: seconds more"}
    figure, axes = panels(
        2, size=(3.7, 2.8), sharey=False, xlabel="Rashomon parameter ε (nats of loss)"
    )
    for ax, (quantity, text) in zip(axes, shown.items(), strict=True):
        for number, (dataset, name) in enumerate(_DATASETS.items()):
            where, shift = {"dataset": dataset, "quantity": quantity}, 0.001 * (2 * number - 1)
            options: dict[str, Any] = {"shift": shift, "fmt": "os"[number] + "-"}
            series(ax, (estimates, reference), "epsilon", number, name, where, **options)
        ax.axhline(0, color="0.35", linewidth=0.8)
        ax.set(ylabel=text, xlim=(0, 0.105))
    return finished(figure)


#: Shares of persons: in scores, and two in decisions.
_SHARES = {"above": "scores above 1.01", "ambiguity": "ambiguity", "discrepancy": "discrepancy"}


def in_decisions(
    estimates: pd.DataFrame, reference: pd.DataFrame | None, *, beside: Sequence[Any] = ()
) -> Figure:
    """Draw whom the networks contradict each other about, in scores and in decisions."""
    frames = [
        frame if frame is None else trained(frame)
        for frame in together(estimates, reference, beside)
    ]
    figure, axes = panels(2, size=(3.7, 3.2), titles=list(_DATASETS.values()))
    for ax, dataset in zip(axes, _DATASETS, strict=True):
        for number, (way, name) in enumerate({"seeds": "sampling", "AWP": "AWP"}.items()):
            for (quantity, words), style in zip(_SHARES.items(), ("-", "--", ":"), strict=True):
                if (way, quantity) == ("AWP", "discrepancy"):
                    continue  # each person has extreme models of their own
                where = {"dataset": dataset, "training": "standardised", "quantity": quantity}
                label, fmt = f"{name}: {words}", "os"[number] + style
                series(ax, frames, "epsilon", number, label, where | {"way": way}, fmt=fmt)
        ax.set(xlabel="Rashomon parameter ε (nats of loss)", ylim=(-2, 104), xlim=(0, 0.105))
    axes[0].set_ylabel("Persons (%)")
    return finished(figure, legend_columns=2)


def remedies(estimates: pd.DataFrame, reference: pd.DataFrame | None) -> Figure:
    """Draw the capacity of ensembles and calibrated networks, beside those that they are of."""
    sizes = ("2", "5", "10")
    rows = [name for n in sizes for name in (f"single ones for {n}", f"ensembles of {n}")]
    rows += ["as trained", "Platt", "isotonic"]
    figure, axes = panels(
        2, size=(3.7, 3.4), titles=list(_DATASETS.values()), xlabel="Mean capacity above 1"
    )
    for ax, dataset in zip(axes, _DATASETS, strict=True):
        where = {"dataset": dataset, "training": "standardised", "epsilon": 0.05}
        for frame, pale in zip((estimates, reference), (False, True), strict=True):
            if frame is None:
                continue
            found = at(trained(frame), **where, quantity="mean").set_index("way")
            counts = sorted(int(way.split()[0]) for way in found.index if "alone" in way)[::-1]
            single = [f"{n} alone" for n in counts]
            found = found.rename(index=dict(zip(single, rows[::2], strict=False))).reindex(rows)
            above = found[["estimate", "low", "high"]] - 1
            points(ax, above, range(len(rows)), horizontal=True, pale=pale)
        ax.set_xlim(left=0)
    axes[0].set_yticks(range(len(rows)), [row.split(" for")[0] for row in rows])
    axes[0].invert_yaxis()
    return finished(figure)


def penalties(estimates: pd.DataFrame, reference: pd.DataFrame | None) -> Figure:
    """Draw what a logistic regression's penalty does to capacity and to decisions in conflict."""
    shown = {"mean": "Mean capacity (effective classes)", "ambiguity": "Decisions in conflict (%)"}
    figure, axes = panels(
        2, size=(3.7, 2.8), sharey=False, xlabel="C for 1,000 persons: small is a strong penalty"
    )
    for ax, (quantity, text) in zip(axes, shown.items(), strict=True):
        for number, (dataset, name) in enumerate(_DATASETS.items()):
            where = {"dataset": dataset, "way": "exact", "epsilon": 0.01, "quantity": quantity}
            fmt = "os"[number] + "-"
            series(ax, (estimates, reference), "penalty", number, name, where, fmt=fmt)
        ax.set(xscale="log", ylabel=text)
    return finished(figure)


def curves(
    estimates: pd.DataFrame, reference: pd.DataFrame | None, *, beside: Sequence[Any] = ()
) -> Figure:
    """Draw the cumulative distribution of the capacity that AWP finds, one line an epsilon."""
    frames = together(estimates, reference, beside)
    figure, axes = panels(2, size=(3.7, 3.2), titles=list(_DATASETS.values()))
    for ax, dataset in zip(axes, _DATASETS, strict=True):
        for frame, pale in zip(frames, (False, True), strict=True):
            if frame is not None:
                _draw_curves(ax, at(frame, dataset=dataset, training="standardised"), pale=pale)
        ax.yaxis.set_major_formatter(PercentFormatter(1))
        ax.set(xlabel="Rashomon Capacity (effective classes)", xlim=(0.98, 2.02), ylim=(0, 1.02))
    axes[0].set_ylabel("Share of persons at or below")
    return finished(figure)


def _draw_curves(ax: Axes, frame: pd.DataFrame, *, pale: bool) -> None:
    """Draw the curves of a run with bands, or of its reference as pale lines."""
    epsilons = sorted(frame["epsilon"].unique())
    shown = [("AWP", epsilon) for epsilon in epsilons] + [("seeds, some samples", epsilons[0])]
    shares = np.array(QUANTILES) / 100
    for number, (way, epsilon) in enumerate(shown):
        rows = at(frame, way=way, epsilon=epsilon).set_index("quantity")
        rows = rows.reindex([f"q{q}" for q in QUANTILES])
        color, label = plotting.PALETTE[number], f"{_PAIR[way]}, ε = {epsilon:g}"
        style: dict[str, Any] = {"color": color, "linestyle": "-" if way == "AWP" else ":"}
        ax.plot(
            rows["estimate"],
            shares,
            alpha=0.35 if pale else 1,
            label="" if pale else label,
            **style,
        )
        if not pale:
            low, high = (rows[end].clip(1, 2) for end in ("low", "high"))
            ax.fill_betweenx(shares, low, high, color=color, alpha=0.15, linewidth=0)


def epochs(estimates: pd.DataFrame, reference: pd.DataFrame | None) -> Figure:
    """Draw loss, and capacity of the sampled set, over the epochs of training on COMPAS."""
    labels = {"slow": "the paper's optimiser (SGD)", "standardised": "Adam"}
    shown = {"loss": "Loss of the best model (nats)", "mean": "Mean capacity (effective classes)"}
    figure, axes = panels(2, size=(3.7, 3.0), sharey=False, xlabel="Epochs of training")
    where: dict[str, Any] = {"dataset": "compas", "way": "seeds", "epsilon": 0.01}
    for ax, (quantity, text) in zip(axes, shown.items(), strict=True):
        for number, (training, label) in enumerate(labels.items()):
            only = {**where, "training": training, "quantity": quantity}
            fmt = "os"[number] + "-"
            series(ax, (estimates, reference), "epochs", number, label, only, fmt=fmt)
        ax.set(xscale="log", ylabel=text)
        marks = sorted(at(estimates, **where, training=list(labels))["epochs"].unique())
        ax.set_xticks(marks, [f"{mark:g}" for mark in marks])
        ax.minorticks_off()
    axes[0].axhline(np.log(2), color="0.5", linestyle=":", linewidth=1)
    axes[0].annotate("a coin", (1, np.log(2)), (0, 3), textcoords="offset points", size=8)
    return finished(figure)


def costs(
    estimates: pd.DataFrame, reference: pd.DataFrame | None, *, beside: Sequence[Any] = ()
) -> Figure:
    """Draw the capacity that each way finds at ε = 0.01 against the time that it takes."""
    frames = together(estimates, reference, beside)
    ways = {f"logistic: {_WAYS[way]}": {"way": way, "penalty": 1.0} for way in WAYS}
    ways |= {f"network: {_WAYS[way]}": {"way": way, "training": "standardised"} for way in _PAIR}
    figure, axes = panels(2, size=(3.7, 3.4), titles=list(_DATASETS.values()))
    for ax, dataset in zip(axes, _DATASETS, strict=True):
        for number, (label, where) in enumerate(ways.items()):
            color = plotting.PALETTE[label.startswith("network")]
            for frame, pale in zip(frames, (False, True), strict=True):
                if frame is None:
                    continue
                rows = at(trained(frame), dataset=dataset, epsilon=0.01, **where)
                above = at(rows, quantity="mean")
                above = above.assign(**{end: above[end] - 1 for end in ("estimate", "low", "high")})
                places = at(rows, quantity="seconds")["estimate"]
                name = "" if pale else label
                points(ax, above, places, series=number, label=name, pale=pale, color=color)
        ax.set(xscale="log", yscale="log", xlabel="Time (seconds)")
    axes[0].set_ylabel("Mean capacity above 1, ε = 0.01")
    return finished(figure, legend_columns=2)


def greedy(estimates: pd.DataFrame, reference: pd.DataFrame | None) -> Figure:
    """Draw what part of the capacity a subset keeps, over its size."""
    titles = {"standardised": "Standardised features", "unscaled": "Features as they are"}
    shown = [
        ("greedy", "same samples", "greedy, on the persons it saw", "-"),
        ("greedy", "other samples", "greedy, on other persons", "--"),
        ("random", "other samples", "at random", ":"),
    ]
    figure, axes = panels(2, size=(3.7, 3.0), titles=list(titles.values()), xlabel="Models chosen")
    for ax, training in zip(axes, titles, strict=True):
        for number, (rule, judged, label, style) in enumerate(shown):
            where = {"training": training, "rule": rule, "judged": judged, "quantity": "share"}
            fmt = "osD"[number] + style
            series(ax, (estimates, reference), "size", number, label, where, fmt=fmt)
        ax.axvline(10, color="0.5", linestyle=":", linewidth=1)
        ax.set_ylim(0, 102)
    axes[0].set_ylabel("Mean capacity above 1 kept (%)")
    return finished(figure)


def near_optimal(estimates: pd.DataFrame, reference: pd.DataFrame | None) -> Figure:
    """Draw what all near-optimal trees reach, what two rules choose, and how far models differ."""
    chosen = {"least": "the worst tree", "all": "all trees, on average", "most": "the best tree"}
    chosen |= {"holdout": "chosen by hold-out", "pvf": "chosen by PVF"}
    classes = {"mean_trees": "trees, listed", "mean_additive": "additive models, bounded"}
    figure, axes = panels(2, size=(3.9, 3.4), sharey=False, xlabel="Rashomon parameter ε")
    for ax, shown in zip(axes, (chosen, classes), strict=True):
        for number, (quantity, label) in enumerate(shown.items(), start=0 if ax is axes[0] else 5):
            where = {"quantity": quantity, "capacity": 0.1}
            drawn: dict[str, Any] = {"shift": 0.0003 * (number % 5 - 2)}
            if number > 5:
                drawn["color"] = "0.6"
            series(ax, (estimates, reference), "epsilon", number, label, where, **drawn)
        ax.set_xticks(sorted(estimates["epsilon"].unique()))
    axes[0].set_ylabel("Intervention Efficiency, capacity 10%")
    axes[1].set_ylabel("Mean capacity (effective classes)")
    return finished(figure)


def missing_data() -> pd.DataFrame:
    """Return what the paper shows on data that are not to be had freely, and what would run."""
    rows = {
        "HSLS:09": {
            "missing here": "the public-use student file of the US National Center for Education "
            "Statistics, which has to be asked for; the authors' imputed copy is not published",
            "loader": "studies.data.datasets.load_hsls()",
            "what would run": "all of this chapter on its features, as for COMPAS",
        },
        "CIFAR-10": {
            "missing here": "60,000 pictures, ten classes, a pretrained VGG16, and the graphics "
            "card to perturb it",
            "loader": "studies.data.datasets.load_cifar10()",
            "what would run": "perturb_scores on the network and rashomon_capacity of ten classes, "
            "both of which take any number of classes",
        },
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("data set")
