"""Figures of the chapters on Rashomon Capacity, and the words of their tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pvf import plotting
from pvf._types import Array
from pvf.multiplicity import rashomon_capacity
from studies.capacity2022.run import QUANTILES
from studies.kit.dots import Frames, at, changed, crossed, dot_rows, lines, series
from studies.kit.results import results_folder
from studies.kit.show import finished, panels

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


def trained(estimates: pd.DataFrame) -> pd.DataFrame:
    """Return the estimates of networks after the last of their epochs, and all that have none."""
    last = estimates.groupby(["dataset", "training"])["epochs"].transform("max")
    return estimates[estimates["epochs"].isna() | (estimates["epochs"] == last)]


def together(frames: Frames, beside: Sequence[Any]) -> Frames:
    """Add the estimates of runs beside this one, and the full ones of those that could run."""
    full = [] if frames.full is None else [frames.full]
    full += [run.reference for run in beside if run.table is not None]
    everything = pd.concat([frames.run, *(run.estimates for run in beside)], ignore_index=True)
    return Frames(everything, pd.concat(full, ignore_index=True) if full else None)


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


#: A panel or a line for each data set, and what the figures over epsilon share.
_OF_DATASETS = {name: {"dataset": key} for key, name in _DATASETS.items()}
_SIZE = (3.7, 3.0)
_EPSILON: dict[str, Any] = {"size": _SIZE, "xlabel": "Rashomon parameter ε (nats of loss)"}


def _looks(*styles: Sequence[str]) -> list[dict[str, Any]]:
    """Return the looks of lines: a colour and a marker for each way, with styles of its own."""
    return [
        {"series": number, "linestyle": style}
        for number, some in enumerate(styles)
        for style in some
    ]


def _tails(frames: Frames, ways: Sequence[str], training: str) -> tuple[Figure, list[Axes]]:
    shown = {
        f"{name}, top {quantity[-1]}%": {"way": way, "quantity": quantity, "training": training}
        for way, name in zip(ways, ("sampling", "AWP"), strict=True)
        for quantity in ("tail1", "tail5")
    }
    columns, looks = crossed(_OF_DATASETS, shown), _looks(("-", "--"), ("-", "--"))
    figure, axes = lines(frames, "epsilon", columns, looks=looks, **_EPSILON)
    text = "Mean capacity (effective classes)"
    axes[0].set(ylabel=text, ylim=(0.98, 2.02), xlim=(0, 0.105))
    return figure, axes


def tails(frames: Frames, *, beside: Sequence[Any] = ()) -> Figure:
    """Draw the mean capacity of the top 1% and 5% over epsilon, as the paper's Fig. 3 does."""
    frames = together(frames, beside)
    return finished(_tails(frames, list(_PAIR), "standardised")[0], legend_columns=2)


def paper_tails() -> pd.DataFrame:
    """Return what Fig. 3 of the paper shows, read off its drawing, in the schema of estimates."""
    printed = pd.read_csv(results_folder() / "paper" / "rashomon_figure3.csv", comment="#")
    return printed.melt(["dataset", "way", "epsilon"], var_name="quantity", value_name="estimate")


def authors(frames: Frames) -> Figure:
    """Draw the largest 1% and 5% over epsilon under the authors' condition, and the paper's."""
    ways, printed = ["seeds", "AWP"], paper_tails()
    figure, axes = _tails(frames, ways, "authors")
    for ax, dataset in zip(axes, _DATASETS, strict=True):
        for color, way in zip(plotting.PALETTE, ways, strict=False):
            read = at(printed, dataset=dataset, way=way, quantity=["tail1", "tail5"])
            ax.plot(read["epsilon"], read["estimate"], "x", color=color)
    return finished(figure, legend_columns=2)


def leads(frames: Frames) -> Figure:
    """Draw by how much AWP exceeds sampling over epsilon: in capacity, and in time."""
    words = {"lead": "Top 5%: effective classes more", "slower": "All persons: seconds more"}
    columns = crossed({text: {"quantity": key} for key, text in words.items()}, _OF_DATASETS)
    how: dict[str, Any] = {"line": "-", "level": 0, "sharey": False}
    return finished(lines(frames, "epsilon", columns, **how, **_EPSILON)[0])


def in_decisions(frames: Frames, *, beside: Sequence[Any] = ()) -> Figure:
    """Draw whom the networks contradict each other about, in scores and in decisions."""
    frames = changed(together(frames, beside), trained)
    shares = {"above": "scores above 1.01", "ambiguity": "ambiguity", "discrepancy": "discrepancy"}
    shown = {
        f"{name}: {words}": {"way": way, "quantity": quantity, "training": "standardised"}
        for way, name in {"seeds": "sampling", "AWP": "AWP"}.items()
        for quantity, words in shares.items()
        if (way, quantity) != ("AWP", "discrepancy")  # each person has extreme models of their own
    }
    columns, looks = crossed(_OF_DATASETS, shown), _looks(("-", "--", ":"), ("-", "--"))
    figure, axes = lines(frames, "epsilon", columns, looks=looks, **_EPSILON)
    axes[0].set(ylabel="Persons (%)", ylim=(-2, 104))
    return finished(figure, legend_columns=2)


def remedies(frames: Frames) -> Figure:
    """Draw the capacity of ensembles and calibrated networks, beside those that they are of."""
    where = {"training": "standardised", "epsilon": 0.05, "quantity": "mean"}

    def named(frame: pd.DataFrame) -> pd.DataFrame:
        rows = _above_one(at(trained(frame), **where))
        rows = rows[~rows["way"].isin([*_PAIR, "seeds"])]
        alone = [way for way in pd.unique(rows["way"]) if "alone" in way]
        single = {way: f"single, for {n}" for way, n in zip(alone, (2, 5, 10), strict=False)}
        return rows.replace({"way": single})

    frames = changed(frames, named)
    columns, xlabel = crossed(_OF_DATASETS, {"": {}}), "Mean capacity above 1"
    return finished(dot_rows(frames, ["way"], columns, xlabel, xlim=(0, None))[0])


def penalties(frames: Frames) -> Figure:
    """Draw what a logistic regression's penalty does to capacity and to decisions in conflict."""
    words = {"mean": "Mean capacity (effective classes)", "ambiguity": "Decisions in conflict (%)"}
    texts = {text: {"quantity": key} for key, text in words.items()}
    columns = crossed(texts, _OF_DATASETS, way="exact", epsilon=0.01)
    how: dict[str, Any] = {"line": "-", "sharey": False, "size": _SIZE}
    how["xlabel"] = "C for 1,000 persons: small is a strong penalty"
    figure, axes = lines(frames, "penalty", columns, **how)
    axes[0].set(xscale="log")
    return finished(figure)


def curves(frames: Frames, *, beside: Sequence[Any] = ()) -> Figure:
    """Draw the cumulative distribution of the capacity that AWP finds, one line an epsilon."""
    frames = changed(
        together(frames, beside),
        lambda rows: rows.assign(share=rows["quantity"].str.extract(r"^q(\d+)$")[0].astype(float)),
    )
    epsilons = sorted(frames.run["epsilon"].unique())
    ways = [("AWP", epsilon) for epsilon in epsilons] + [("seeds, some samples", epsilons[0])]
    shown = {f"{_PAIR[way]}, ε = {e:g}": {"way": way, "epsilon": e} for way, e in ways}
    quantities = [f"q{q}" for q in QUANTILES]
    columns = crossed(_OF_DATASETS, shown, training="standardised", quantity=quantities)
    looks = [{"fmt": "", "linestyle": "-" if way == "AWP" else ":"} for way, _ in ways]
    how: dict[str, Any] = {"options": {"horizontal": True}, "looks": looks, "size": (3.7, 3.2)}
    how["xlabel"] = "Rashomon Capacity (effective classes)"
    figure, axes = lines(frames, "share", columns, **how)
    axes[0].set(ylabel="Persons at or below (%)", xlim=(0.98, 2.02), ylim=(0, 102))
    return finished(figure)


def epochs(frames: Frames) -> Figure:
    """Draw loss, and capacity of the sampled set, over the epochs of training on COMPAS."""
    labels = {"slow": "the paper's optimiser (SGD)", "standardised": "Adam"}
    words = {"loss": "Loss of the best model (nats)", "mean": "Mean capacity (effective classes)"}
    where: dict[str, Any] = {"dataset": "compas", "way": "seeds", "epsilon": 0.01}
    texts = {text: {"quantity": key} for key, text in words.items()}
    shown = {label: {"training": key} for key, label in labels.items()}
    how: dict[str, Any] = {"line": "-", "sharey": False, "size": _SIZE}
    how["xlabel"] = "Epochs of training"
    figure, axes = lines(frames, "epochs", crossed(texts, shown, **where), **how)
    axes[0].set(xscale="log")
    marks = sorted(at(frames.run, **where, training=list(labels))["epochs"].unique())
    for ax in axes:
        ax.set_xticks(marks, [f"{mark:g}" for mark in marks])
        ax.minorticks_off()
    axes[0].axhline(np.log(2), color="0.5", linestyle=":", linewidth=1)
    axes[0].annotate("a coin", (1, np.log(2)), (0, 3), textcoords="offset points", size=8)
    return finished(figure)


def _above_one(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(**{end: rows[end] - 1 for end in ("estimate", "low", "high")})


def greedy(frames: Frames) -> Figure:
    """Draw what part of the capacity a subset keeps, over its size."""
    titles = {"standardised": "Standardised features", "unscaled": "Features as they are"}
    shown = {
        "greedy, on the persons it saw": {"rule": "greedy", "judged": "same samples"},
        "greedy, on other persons": {"rule": "greedy", "judged": "other samples"},
        "at random": {"rule": "random", "judged": "other samples"},
    }
    named = {title: {"training": key} for key, title in titles.items()}
    columns, looks = crossed(named, shown, quantity="share"), _looks("-", ("--",), ":")
    how: dict[str, Any] = {"size": _SIZE, "xlabel": "Models chosen"}
    figure, axes = lines(frames, "size", columns, looks=looks, **how)
    for ax in axes:
        ax.axvline(10, color="0.5", linestyle=":", linewidth=1)
    axes[0].set(ylabel="Mean capacity above 1 kept (%)", ylim=(0, 102))
    return finished(figure)


def near_optimal(frames: Frames) -> Figure:
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
            series(ax, frames, "epsilon", number, label, where, **drawn)
        ax.set_xticks(sorted(frames.run["epsilon"].unique()))
    axes[0].set_ylabel("Intervention Efficiency, capacity 10%")
    axes[1].set_ylabel("Mean capacity (effective classes)")
    return finished(figure)
