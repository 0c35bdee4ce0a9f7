"""Tables and figures of the chapter on Proposition 3.1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from pvf import plotting
from pvf.efficiency_display import InterventionEfficiencyDisplay
from pvf.metrics import intervention_efficiency_counts
from studies.kit.show import MARKERS, finished, panels, points
from studies.pvf2026.efficiency.proof import Identity
from studies.pvf2026.efficiency.run import z_scores

#: Where the numbers of a study in cases and controls come from.
SOURCES = {
    "study": "p, r and π of the study",
    "mixed": "p and r of the study, π of the clinic",
    "weighted": "counts of the study, weighted to the clinic's π",
    "clinic": "p, r and π of the clinic",
}
_CAPACITY = "capacity γ (share of patients that can be called)"
_EFFICIENCY = "Intervention Efficiency\n(ratio to random choice)"


def identity_table(identities: Iterable[Identity]) -> pd.DataFrame:
    """Return the equations of the proof, with what sympy makes of them."""
    return pd.DataFrame(
        [
            {
                "claim": item.claim,
                "equation": item.statement,
                "left side, simplified": item.simplified,
                "holds": "yes" if item.holds else "no",
            }
            for item in identities
        ]
    )


def model_table(models: Mapping[str, tuple[int, int]], *, n_pos: int, n_neg: int) -> pd.DataFrame:
    """Return counts, precision, recall, F1 and p/π of models given by their TP and FP.

    Examples
    --------
    >>> model_table({"half": (5, 5)}, n_pos=10, n_neg=90).drop(columns="model")
       TP  FP  people flagged  precision p  recall r   F1  p/π
    0   5   5              10          0.5       0.5  0.5  5.0
    """
    table = pd.DataFrame(
        [(name, tp, fp, tp + fp) for name, (tp, fp) in models.items()],
        columns=["model", "TP", "FP", "people flagged"],
    )
    table["precision p"] = table["TP"] / table["people flagged"]
    table["recall r"] = table["TP"] / n_pos
    table["F1"] = 2 * table["TP"] / (table["people flagged"] + n_pos)
    return table.assign(**{"p/π": table["precision p"] * (n_pos + n_neg) / n_pos})


def simulation_numbers(simulated: pd.DataFrame, *, n_pos: int, n_neg: int) -> dict[str, float]:
    """How far the simulation is from the formula, and from two wrong ones."""
    ample = simulated[(simulated["regime"] == "ample") & (simulated["tp"] > 0)]
    wrong = {
        "no_regimes": ample["tp"] / ample["flagged"] * (n_pos + n_neg) / n_pos,
        "no_second_stage": ample["tp"] / (n_pos * ample["capacity"]),
    }
    return {
        "n": float(len(simulated)),
        "critical": float(simulated["critical"].iloc[0]),
        "largest": float(simulated["z"].abs().max()),
        **{name: float(np.abs(z_scores(ample, value)).max()) for name, value in wrong.items()},
    }


def tally_of_errors(errors: pd.DataFrame) -> dict[str, float]:
    """How often which prevalence gives the smaller error of IE, and the range of their ratio."""
    closer = errors["closer"].value_counts()
    ratio = errors["mixed_error"] / errors["same_set_error"]
    return {
        "n": float(len(errors)),
        **{name: float(closer.get(name, 0)) for name in ("set", "population", "neither")},
        "ratio_low": float(ratio.min()),
        "ratio_high": float(ratio.max()),
    }


def figure_of_regimes(
    simulated: pd.DataFrame, models: Mapping[str, tuple[int, int]], *, n_pos: int, n_neg: int
) -> Figure:
    """Draw IE over capacity for several models, its kinks, its limit, and the simulated policy."""
    figure, (axes,) = panels(1, size=(7.2, 4.2))
    for series, (name, counts) in enumerate(models.items()):
        _draw_model(axes, name, counts, n_pos, n_neg, series)
        part = simulated[simulated["model"] == name]
        points(axes, part, part["capacity"], series=series, fmt="o", markerfacecolor="white")
    ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:.0%}" for tick in ticks])
    axes.minorticks_off()
    axes.set(ylim=(0, None), xlabel=_CAPACITY, ylabel=_EFFICIENCY)
    axes.legend().remove()  # the display's own
    return finished(figure, legend_columns=5)


def _draw_model(
    axes: Axes, name: str, counts: tuple[int, int], n_pos: int, n_neg: int, series: int
) -> None:
    """Draw one model's line, thick while room is scarce, with a marker at its kink."""
    colour, marker = plotting.PALETTE[series], MARKERS[series]
    kink = sum(counts) / (n_pos + n_neg)
    gamma = np.union1d(np.geomspace(0.01, 1, 200), kink)
    values = np.asarray(intervention_efficiency_counts(*counts, n_pos, n_neg, gamma))
    display = InterventionEfficiencyDisplay(gamma, values, n_pos / (n_pos + n_neg), name=name)
    display.plot(axes, color=colour, linewidth=1.5, marker=marker, markevery=[])
    scarce = gamma <= kink
    axes.plot(gamma[scarce], values[scarce], color=colour, linewidth=3.5, solid_capstyle="butt")
    axes.plot(kink, values[scarce][-1], marker, color=colour, markersize=8)


def figure_of_zero_cases(zero: pd.DataFrame, *, n_pos: int, n_neg: int) -> Figure:
    """Draw IE over capacity for models that get nobody right."""
    figure, (axes,) = panels(1, size=(7.2, 3.2))
    gamma = np.linspace(0.005, 1, 200)
    for series, flagged in enumerate(zero["flagged"].unique().tolist()):
        exact = zero[zero["flagged"] == flagged]
        colour, dash = plotting.PALETTE[series], ("-", "--", "-.", ":")[series]
        values = intervention_efficiency_counts(0, flagged, n_pos, n_neg, gamma)
        label = f"{flagged} flagged in vain" if flagged else "nobody flagged"
        axes.plot(gamma, values, dash, color=colour, label=label)
        axes.plot(exact["capacity"], exact["policy"], "o", color=colour, markerfacecolor="white")
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.set(ylim=(-0.03, 1.1), xlabel=_CAPACITY, ylabel=_EFFICIENCY)
    return finished(figure)


def figure_of_samples(errors: pd.DataFrame, models: Sequence[str]) -> Figure:
    """Draw the spread of IE over validation sets, with π from the set and from the population."""
    size, x = (3.7, 3.2), "validation set (patients)"
    figure, axes = panels(len(models), size=size, titles=models, xlabel=x, sharey=False)
    for ax, name in zip(axes, models, strict=True):
        rows = errors[errors["model"] == name]
        where = np.arange(len(rows))
        ax.axhline(rows["truth"].iloc[0], color="0.35", linestyle="--", linewidth=1)
        for series, (source, label) in enumerate(
            {"same_set": "π of the set", "mixed": "π of the population"}.items()
        ):
            ends = {f"{source}_low": "low", f"{source}_high": "high", source: "estimate"}
            spread = rows.rename(columns=ends)
            points(ax, spread, where + 0.24 * series - 0.12, series=series, label=label, capsize=3)
        ax.set_xticks(where, rows["n_samples"].astype(str))
        ax.set(ylim=(0, None))
    axes[0].set_ylabel(_EFFICIENCY)
    return finished(figure)
