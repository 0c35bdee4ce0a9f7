"""Estimates and figures of the checks of Propositions B.1 to B.7."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from studies.kit.dots import Frames, at, lines
from studies.kit.estimates import SCHEMA
from studies.kit.show import finished

_KEYS = ["claim", "part", "size"]
#: Correlations have 99% intervals in the table.
_TO_95 = stats.norm.ppf(0.975) / stats.norm.ppf(0.995)
_PANELS = {"THE-2": "sets M", "THE-3": "replicas k", "THE-4": "people n", "THE-5": "n · k · M"}


def estimate(table: pd.DataFrame) -> pd.DataFrame:
    """Return every check's value, and what is made of the largest size.

    ``error left`` is the error at the largest size as a share of that at the smallest, ``share at
    the end`` a share at the largest size, ``usual choice`` the share of the one of two that is
    chosen more often, and ``distance less chance`` a law's distance beyond what chance exceeds once
    in a hundred times.
    """
    rows = table.rename(columns={"value": "estimate"}).assign(quantity="value", n=np.inf, unit="")
    correlations = rows["low"].lt(0) & (rows["claim"] == "THE-1") | rows["part"].isin(
        ["two models, common noise", "validation set not fixed"]
    )
    for end in ("low", "high"):
        nearer = rows["estimate"] + _TO_95 * (rows[end] - rows["estimate"])
        rows[end] = rows[end].where(~correlations, nearer)
    law = rows[rows["part"].str.startswith("distance")]
    beyond = law["estimate"] - law["high"]
    laws = law.assign(
        quantity="distance less chance",
        estimate=beyond,
        low=beyond,
        high=beyond,
        unit="probability",
    )
    rows.loc[law.index, ["low", "high"]] = np.nan  # the bound is no interval
    ends = [
        _end(part)
        for (claim, _), part in rows.groupby(["claim", "part"], sort=False)
        if claim != "THE-1"
    ]
    return pd.concat([rows, laws, *ends], ignore_index=True)[[*_KEYS, *SCHEMA]]


def _end(part: pd.DataFrame) -> pd.DataFrame:
    """Return what a part comes to at its largest size."""
    part = part.sort_values("size", kind="stable")
    last = part.iloc[[-1]].assign(size=np.nan)
    values = ["estimate", "low", "high"]
    if last["claim"].iloc[0] not in ("THE-6", "THE-7"):
        first = part["estimate"].iloc[0]
        return last.assign(quantity="error left", **{v: last[v] / first for v in values})
    if not last["part"].iloc[0].startswith("two best: the first"):
        return last.assign(quantity="share at the end")
    if last["estimate"].iloc[0] >= 0.5:
        return last.assign(quantity="usual choice")
    turned = {"estimate": 1 - last["estimate"], "low": 1 - last["high"], "high": 1 - last["low"]}
    return last.assign(quantity="usual choice", **turned)


def _figure(
    frames: Frames, claims: Sequence[str], scale: float, **shared: Any
) -> tuple[Figure, list[Axes]]:
    """Draw a panel for each claim with a line for each of its parts."""
    values = at(frames.run, quantity="value")
    columns = {
        claim: {
            str(part): {"claim": claim, "quantity": "value", "part": part}
            for part in pd.unique(at(values, claim=claim)["part"])
        }
        for claim in claims
    }
    options = {"linewidth": 1, "scale": scale}
    figure, axes = lines(frames, "size", columns, line="-", options=options, **shared)
    for ax in axes:
        ax.legend(
            fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=len(claims) // 2
        )
    return figure, axes


def figure_of_errors(frames: Frames) -> Figure:
    """Draw errors over what grows, for THE-2 to THE-5."""
    how: dict[str, Any] = {"size": (4.1, 3.4), "n_columns": 2, "sharex": False, "sharey": False}
    figure, axes = _figure(frames, list(_PANELS), 1.0, **how)
    for label, ax in zip(_PANELS.values(), axes, strict=True):
        ax.set(xscale="log", yscale="log", xlabel=label, ylabel="mean error of a score")
    return _without_common_legend(figure)


def figure_of_selection(frames: Frames) -> Figure:
    """Draw how often which model is chosen over n, for THE-6 and THE-7."""
    how: dict[str, Any] = {"size": (4.1, 4.2), "ylabel": "repetitions (%)"}
    figure, axes = _figure(frames, ("THE-6", "THE-7"), 100.0, **how)
    for ax in axes:
        ax.set(xscale="log", ylim=(-3, 103), xlabel="validation set (people)")
    return _without_common_legend(figure)


def _without_common_legend(figure: Figure) -> Figure:
    """Close a figure whose panels have legends of their own."""
    closed = finished(figure)
    for legend in list(closed.legends):
        legend.remove()
    return closed


FIGURES: dict[str, Callable[..., Figure]] = {
    "fig-convergence-errors": figure_of_errors,
    "fig-convergence-selection": figure_of_selection,
}
