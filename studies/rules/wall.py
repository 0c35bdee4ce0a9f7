"""The table for practitioners as a sheet for the wall: one landscape A4 for each capacity."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pvf.plotting import PALETTE
from studies.data.keel import MEDICAL, TABLES
from studies.kit.show import interval_text
from studies.rules.questions import wall_lines
from studies.rules.run import CAPACITIES, RULES, SIZES

A4 = (11.69, 8.27)
POOL_WORDS = {
    "trees": "decision trees",
    "logistic": "logistic regressions",
    "mixed": "mixed learners",
}
_TEXTS = tomllib.loads(files("studies.rules").joinpath("wall.toml").read_text(encoding="utf-8"))
#: What a clinician reads of each rule, and what stands below the table.
MEANS, LEGEND = _TEXTS["means"], (_TEXTS["words"], _TEXTS["pvf"])
#: Where the columns begin, in inches from the left edge, and what stands above them.
COLUMNS = {
    0.5: "Validated\ncases",
    1.45: "Candidates",
    3.05: "Choose by",
    5.15: "Expect this attainable share\n(95% interval)",
    7.75: "More than the hold-out score\n(95% interval)",
    10.0: "How sure",
}
#: Where the intervals are drawn: left edge and width in inches, and what the axis spans.
PLOTS = ((6.62, 0.98, 0.0, 1.0), (9.2, 0.7, -0.3, 0.8))
TOP, ROW = 6.15, 0.41


def how_sure(lead: Mapping[str, Any] | pd.Series, same: Mapping[str, Any] | pd.Series) -> str:
    """Say in words what a line's lead over the hold-out score means, and how firm its rule is."""
    n = round(same["n"])
    says = "a lead is shown" if lead["low"] > 0 else "may be nothing"
    return f"{says};\nsame rule {round(same['estimate'] * n)} of {n}"


def sheet(estimates: pd.DataFrame, capacity: float, provenance: Mapping[str, Any]) -> Figure:
    """Draw the table for practitioners for one capacity, with its legend and its source.

    Parameters
    ----------
    estimates : DataFrame
        Of `studies.rules.questions.estimate`.
    capacity : float
        γ, the share of all patients who can be treated.
    provenance : mapping
        Of the committed table: ``sha256`` and ``created``.

    Returns
    -------
    Figure
        Landscape A4.
    """
    figure = Figure(figsize=A4)
    page = figure.add_axes((0, 0, 1, 1), xlim=(0, A4[0]), ylim=(0, A4[1]))
    page.axis("off")
    lines = list(wall_lines(estimates, f"IE@{capacity:g}"))
    _heading(page, capacity)
    for left, text in COLUMNS.items():
        page.text(left, TOP + 0.42, text, va="bottom", weight="bold", fontsize=9)
    above = None
    for number, (cases, pool, share, lead, same) in enumerate(lines):
        y = TOP - ROW * number
        texts = ["" if cases == above else cases, POOL_WORDS[pool], fill(RULES[share["rule"]], 26)]
        texts += [interval_text(*one[["estimate", "low", "high"]]) for one in (share, lead)]
        for left, text in zip(COLUMNS, [*texts, how_sure(lead, same)], strict=True):
            page.text(left, y, text, va="center_baseline", fontsize=9, linespacing=1.1)
        if cases != above:
            page.axhline(y + ROW / 2, 0.04, 0.965, color="black", linewidth=0.8)
        above = cases
    for number, plot in enumerate(PLOTS):
        _intervals(figure, plot, [line[2 + number] for line in lines])
    advised = list(dict.fromkeys(str(line[2]["rule"]) for line in lines))
    _legend(page, TOP - ROW * len(lines) - 0.15, advised, provenance)
    return figure


def _heading(page: Axes, capacity: float) -> None:
    page.text(0.5, 7.72, "Which rule should choose the model?", fontsize=19, weight="bold")
    told = (
        f"Many candidates, few validation patients, and room to treat {capacity:.0%} of all "
        f"(Intervention Efficiency at γ = {capacity:g}): by the number of cases among the "
        "validation patients and the kind of candidates, the rule that chose best in our study."
    )
    page.text(0.5, 7.6, fill(told, 140), va="top", fontsize=10)


def _intervals(
    figure: Figure, plot: tuple[float, float, float, float], found: list[pd.Series]
) -> None:
    """Draw a column's intervals, each at the height of its line; hollow where they hold 0."""
    left, width, low, high = plot
    bottom = TOP - ROW * (len(found) - 0.5)
    box = (left / A4[0], bottom / A4[1], width / A4[0], ROW * len(found) / A4[1])
    ax = figure.add_axes(box, facecolor="none", xlim=(low, high), ylim=(len(found) - 0.5, -0.5))
    ax.axvline(0, color="grey", linewidth=0.8)
    for place, one in enumerate(found):
        known = one["low"] > 0
        ends = max(one["low"], low), min(one["high"], high)
        ax.plot(ends, (place, place), color=PALETTE[0], linewidth=1.6 if known else 0.8)
        ax.plot(
            one["estimate"], place, "o", color=PALETTE[0], fillstyle="full" if known else "none"
        )
    for side in ax.spines.values():
        side.set_visible(False)
    ax.tick_params(left=False, labelleft=False, labelsize=8, top=True, labeltop=True, bottom=False)
    ax.tick_params(labelbottom=False, pad=1, length=2)
    ax.set_xticks([0, 0.5, 1] if high == 1 else [0, 0.5])


def _legend(page: Axes, y: float, advised: list[str], provenance: Mapping[str, Any]) -> None:
    """Write below the table what its words mean, what it does not tell, and where it is from."""
    source = (
        f"From {len(TABLES)} public data sets, {len(MEDICAL)} of them medical (KEEL, UCI); cohorts "
        f"of {min(SIZES)} to {max(SIZES)}, 80% train, 20% validate. Nothing here speaks of "
        f"patients of another hospital. Computed {provenance['created'][:10]}, table rules.csv, "
        f"SHA-256 begins {provenance['sha256'][:8]}. Reproducible model selection under the "
        "Rashomon effect, chapter 11."
    )
    rules = [f"{RULES[rule]}: {MEANS[rule]}." for rule in advised]
    paragraphs = [*LEGEND, *rules, source]
    text = "\n".join(fill(one, 168) for one in paragraphs)
    page.text(0.5, y, text, va="top", fontsize=8.2, linespacing=1.3)


def sheet_name(capacity: float) -> str:
    """Return the file name of a capacity's sheet, without a suffix."""
    return f"which_rule_{capacity:g}"


def write_sheets(folder: Path, estimates: pd.DataFrame, provenance: Mapping[str, Any]) -> None:
    """Draw all sheets into a folder as PDF and SVG; the same table gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "pvf", "svg.fonttype": "path"}):
        for capacity in CAPACITIES:
            figure = sheet(estimates, capacity, provenance)
            for suffix, undated in (("pdf", "CreationDate"), ("svg", "Date")):
                path = folder / f"{sheet_name(capacity)}.{suffix}"
                figure.savefig(path, metadata={undated: None}, facecolor="white")
