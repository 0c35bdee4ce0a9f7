"""Tables and figures of the chapter on Proposition 3.1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from pandas.io.formats.style import Styler

from pvf import plotting
from pvf.efficiency_display import InterventionEfficiencyDisplay
from pvf.metrics import intervention_efficiency_counts
from studies.pvf2026.efficiency.run import Identity, z_scores

__all__ = [
    "figure_of_regimes",
    "figure_of_samples",
    "figure_of_zero_cases",
    "model_table",
    "readable",
    "readable_identities",
    "readable_study",
    "simulation_numbers",
    "tally_of_errors",
]

#: Column names of the study's tables, as a page shows them.
HEADINGS = {
    "p/π": "p/π",
    "undefined": "Formula 0/0",
    "first": "From calls",
    "last": "To calls",
    "flagged": "Flagged, none rightly",
    "capacity": "Capacity γ",
    "precision": "p",
    "recall": "r",
    "share 0": "Mended, s = 0",
    "share γ": "Mended, s = γ",
    "policy": "IE of the policy",
    "n_samples": "Patients",
    "same_set_error": "Error, π of the set",
    "mixed_error": "Error, π of the population",
    "closer": "Closer: π of the",
}
_MARKERS = ("o", "s", "D", "^", "v", "P")
_CAPACITY = "capacity γ (share of patients that can be called)"
_EFFICIENCY = "Intervention Efficiency\n(ratio to random choice)"


def readable(
    table: pd.DataFrame, name: str, columns: Sequence[str] | None = None, *, digits: int = 2
) -> Styler:
    """Set a table for a page: headings in words, no index, no text cut off.

    Parameters
    ----------
    table : DataFrame
    name : str
        Name of the table on its page; it makes the HTML the same on every run.
    columns : sequence of str, optional
        Columns to show; all by default.
    digits : int, default=2
        Decimals of numbers that are not whole.

    Returns
    -------
    Styler
    """
    shown = table if columns is None else table[list(columns)]
    shown = shown.rename(
        columns=lambda column: HEADINGS.get(column, column[:1].upper() + column[1:])
    )
    style = Styler(shown.reset_index(drop=True), uuid=name, cell_ids=False, precision=digits)
    numbers = shown.select_dtypes("number").columns
    padding = [{"selector": tag, "props": "padding: 0.2rem 0.6rem"} for tag in ("td", "th")]
    right = [{"selector": tag, "props": "text-align: right"} for tag in ("td", "th")]
    return (
        style.hide(axis="index")
        .set_table_attributes('class="dataframe"')
        .set_table_styles(padding)
        .set_table_styles(dict.fromkeys(numbers, right), overwrite=False)
    )


def readable_identities(identities: Iterable[Identity]) -> Styler:
    """Set the equations of the proof, with what sympy makes of them.

    Parameters
    ----------
    identities : iterable of Identity

    Returns
    -------
    Styler
    """
    rows = [
        {
            "claim": item.claim,
            "equation": item.statement,
            "left side, simplified": item.simplified,
            "holds": "yes" if item.holds else "no",
        }
        for item in identities
    ]
    return readable(pd.DataFrame(rows), "ie-algebra")


def readable_study(study: Mapping[str, float]) -> Styler:
    """Set the IE of a study in cases and controls, by where p, r and π come from.

    Parameters
    ----------
    study : mapping of str to float
        From `studies.pvf2026.efficiency.run.enriched_study`.

    Returns
    -------
    Styler
    """
    sources = {
        "study": "p, r and π of the study",
        "mixed": "p and r of the study, π of the clinic",
        "weighted": "counts of the study, weighted to the clinic's π",
        "clinic": "p, r and π of the clinic",
    }
    rows = [(text, study[key]) for key, text in sources.items()]
    return readable(pd.DataFrame(rows, columns=["from", "IE"]), "ie-study")


def model_table(models: Mapping[str, tuple[int, int]], *, n_pos: int, n_neg: int) -> pd.DataFrame:
    """Return counts, precision, recall, F1 and p/π of models given by their TP and FP.

    Parameters
    ----------
    models : mapping of str to (int, int)
        TP and FP of each model.
    n_pos, n_neg : int
        Positives and negatives in the population.

    Returns
    -------
    DataFrame
        One row a model.

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
    """How far the simulation is from the formula, and from two wrong ones.

    Parameters
    ----------
    simulated : DataFrame
        From `studies.pvf2026.efficiency.run.simulate_efficiency`.
    n_pos, n_neg : int
        Positives and negatives in the population.

    Returns
    -------
    dict of str to float
        ``n``, the number of cases; ``critical``, the |z| that would be a disagreement;
        ``largest``, the largest |z|; and the largest |z| in the ample regime of two wrong
        formulas: ``no_regimes``, p/π throughout, and ``no_second_stage``, nobody reached beyond
        the flagged.
    """
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
    """How often which prevalence gives the smaller error of IE, and the range of their ratio.

    Parameters
    ----------
    errors : DataFrame
        From `studies.pvf2026.efficiency.run.compare_prevalences`, for models whose error is not 0.

    Returns
    -------
    dict of str to float
        ``n`` comparisons; ``set``, ``population`` and ``neither``, how many go to the set's own π,
        to the population's, and to neither; ``ratio_low`` and ``ratio_high``, the range of the
        error with the population's π over the other.
    """
    closer = errors["closer"].value_counts()
    ratio = errors["mixed_error"] / errors["same_set_error"]
    return {
        "n": float(len(errors)),
        **{name: float(closer.get(name, 0)) for name in ("set", "population", "neither")},
        "ratio_low": float(ratio.min()),
        "ratio_high": float(ratio.max()),
    }


@plotting.style()
def figure_of_regimes(
    simulated: pd.DataFrame, models: Mapping[str, tuple[int, int]], *, n_pos: int, n_neg: int
) -> Figure:
    """Draw IE over capacity for several models, its kinks, its limit, and the simulated policy.

    Parameters
    ----------
    simulated : DataFrame
        From `simulate_efficiency`; rows of other models are left out.
    models : mapping of str to (int, int)
        TP and FP of each model.
    n_pos, n_neg : int
        Positives and negatives in the population.

    Returns
    -------
    matplotlib Figure
    """
    figure, (axes,) = _panels(1, (7.2, 4.6))
    for (name, counts), colour, marker in zip(
        models.items(), plotting.PALETTE, _MARKERS, strict=False
    ):
        _draw_model(axes, name, counts, n_pos, n_neg, colour, marker)
        points = simulated[simulated["model"] == name]
        axes.errorbar(
            points["capacity"],
            points["estimate"],
            [points["estimate"] - points["low"], points["high"] - points["estimate"]],
            fmt="o",
            color=colour,
            markerfacecolor="white",
            markersize=4.5,
        )
    ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:.0%}" for tick in ticks])
    axes.minorticks_off()
    axes.set(ylim=(0, None), xlabel=_CAPACITY, ylabel=_EFFICIENCY)
    _models_first(axes, models)
    return figure


def _draw_model(
    axes: Axes,
    name: str,
    counts: tuple[int, int],
    n_pos: int,
    n_neg: int,
    colour: str,
    marker: str,
) -> None:
    """Draw one model's line, thick while room is scarce, with a marker at its kink."""
    kink = sum(counts) / (n_pos + n_neg)
    gamma = np.union1d(np.geomspace(0.01, 1, 200), kink)
    values = np.asarray(intervention_efficiency_counts(*counts, n_pos, n_neg, gamma))
    display = InterventionEfficiencyDisplay(gamma, values, n_pos / (n_pos + n_neg), name=name)
    display.plot(axes, color=colour, linewidth=1.5, marker=marker, markevery=[])
    scarce = gamma <= kink
    axes.plot(gamma[scarce], values[scarce], color=colour, linewidth=3.5, solid_capstyle="butt")
    axes.plot(kink, values[scarce][-1], marker, color=colour, markersize=8)


def _models_first(axes: Axes, models: Iterable[str]) -> None:
    """Order the legend: models, then the limit and chance."""
    handles, labels = axes.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: labels[i] not in set(models))
    axes.legend([handles[i] for i in order], [labels[i] for i in order])


@plotting.style()
def figure_of_zero_cases(zero: pd.DataFrame, *, n_pos: int, n_neg: int) -> Figure:
    """Draw IE over capacity for models that get nobody right.

    Parameters
    ----------
    zero : DataFrame
        From `studies.pvf2026.efficiency.run.zero_cases`.
    n_pos, n_neg : int
        Positives and negatives in the population.

    Returns
    -------
    matplotlib Figure
    """
    figure, (axes,) = _panels(1, (7.2, 3.6))
    gamma = np.linspace(0.005, 1, 200)
    numbers = zero["flagged"].unique().tolist()
    for flagged, colour, dash in zip(
        numbers, plotting.PALETTE, ("-", "--", "-.", ":"), strict=False
    ):
        exact = zero[zero["flagged"] == flagged]
        values = intervention_efficiency_counts(0, flagged, n_pos, n_neg, gamma)
        label = f"{flagged} flagged in vain" if flagged else "nobody flagged"
        axes.plot(gamma, values, dash, color=colour, label=label)
        axes.plot(exact["capacity"], exact["policy"], "o", color=colour, markerfacecolor="white")
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.set(ylim=(-0.03, 1.1), xlabel=_CAPACITY, ylabel=_EFFICIENCY)
    axes.legend(loc="lower right")
    return figure


@plotting.style()
def figure_of_samples(errors: pd.DataFrame, models: Sequence[str]) -> Figure:
    """Draw the spread of IE over validation sets, with π from the set and from the population.

    Parameters
    ----------
    errors : DataFrame
        From `studies.pvf2026.efficiency.run.compare_prevalences`.
    models : sequence of str
        One panel each.

    Returns
    -------
    matplotlib Figure
    """
    figure, panels = _panels(len(models), (7.4, 3.6))
    for axes, name in zip(panels, models, strict=True):
        rows = errors[errors["model"] == name]
        where = np.arange(len(rows))
        axes.axhline(rows["truth"].iloc[0], color="0.35", linestyle="--", linewidth=1)
        _draw_spread(axes, rows, "same_set", where - 0.12, "o", "π of the set", 0)
        _draw_spread(axes, rows, "mixed", where + 0.12, "s", "π of the population", 1)
        axes.set_xticks(where, rows["n_samples"].astype(str))
        axes.set(title=name, xlabel="validation set (patients)", ylim=(0, None))
    panels[0].set_ylabel(_EFFICIENCY)
    panels[-1].legend()
    return figure


def _draw_spread(
    axes: Axes,
    rows: pd.DataFrame,
    column: str,
    where: np.ndarray,
    marker: str,
    label: str,
    colour: int,
) -> None:
    sides = [rows[column] - rows[f"{column}_low"], rows[f"{column}_high"] - rows[column]]
    # A mean of equal numbers can fall short of them by rounding, and no bar is negative.
    spread = [side.clip(lower=0) for side in sides]
    axes.errorbar(
        where,
        rows[column],
        spread,
        fmt=marker,
        color=plotting.PALETTE[colour],
        capsize=3,
        label=label,
    )


def _panels(n_panels: int, size: tuple[float, float]) -> tuple[Figure, list[Any]]:
    """Make a figure that a notebook shows once, where it is returned."""
    figure, panels = plt.subplots(1, n_panels, figsize=size, squeeze=False)
    plt.close(figure)
    return figure, list(panels[0])
