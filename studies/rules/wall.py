"""The table for practitioners as a sheet for the wall: one landscape A4 for each capacity."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pvf.plotting import PALETTE
from pvf.rules import SIGMAS
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
#: What a clinician reads of each rule.
MEANS = {
    "random": "any candidate",
    "holdout": "the score on the validation patients",
    "holdout_ties": "the score on the validation patients; of equal ones, the smaller log loss",
    "log_loss": "the log loss on the validation patients",
    "auc": "the area under the ROC curve of the validation patients",
    "bootstrap": "the first quartile of the score over bootstrap resamples of the validation "
    "patients",
    "shrunken": "the score on the validation patients, drawn towards the mean of the candidates",
    "oob": "the score on the validation patients and on the training patients that a tree did not "
    "see",
    "cv": "fit each candidate five times, each time without a fifth of all patients, and score it "
    "on these",
    "cv_repeated": "five-fold cross-validation with five divisions of the patients",
    "cv_1se": "of the candidates within one standard error of the best score in five-fold "
    "cross-validation, the simplest",
    **{f"pvf_{sigma:g}": "PVF of the validation patients" for sigma in SIGMAS},
    "pvf_nested": "PVF of the validation patients, with the σ that serves best inside the training "
    "part",
    "pvf_oob": "PVF (σ = 0.3) of the validation patients and of the training patients that a tree "
    "did not see",
    "pvf_cv": "PVF (σ = 0.3) of the patients left out in five-fold cross-validation",
    "pmv": "how fast the training accuracy falls when labels are flipped",
}
WORDS = (
    "Attainable share: of the way from a candidate at random (0) to the best one (1), on patients "
    "outside the study. Hold-out score: choose by the score on the validation patients, ties at "
    "random. How sure: where the interval of a lead holds 0 (hollow mark), the lead may be "
    "nothing, and the hold-out score is as good a choice by all that is known. Same rule: for how "
    "many of the data sets the rule named is also best on all others. Expectations are of data "
    "sets that had no say in the rule; intervals are over data sets, not corrected for their "
    "number."
)
PVF = (
    "PVF: perturb the patients (noise of σ standard deviations in numbers, one category in ten "
    "changed) and take the first quartile of the score; the largest is chosen."
)
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
    paragraphs = [WORDS, PVF, *rules, source]
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
