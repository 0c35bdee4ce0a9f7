"""From estimates to what a reader sees: numbers in words, tables, panels, points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pvf import plotting
from studies.kit.results import duration, read_result, resumed

#: One a series, so that series differ in more than their colour.
MARKERS = "osD^vPXd"
#: What a colour means, in every figure that shows one of these.
COLOURS = dict(
    zip(("pvf", "traditional", "best", "paper", "this run"), plotting.PALETTE, strict=False)
)


def interval_text(estimate: float, low: float, high: float, spec: str = ".2f") -> str:
    """Write an estimate with its interval, with a true minus sign.

    Examples
    --------
    >>> interval_text(-1.234, -2, -0.5, ".1f")
    '−1.2 (−2.0 to −0.5)'
    >>> interval_text(3.0, float("nan"), float("nan"), ".0f")
    '3'
    """
    text = f"{estimate:{spec}}"
    if not np.isnan(low):
        text += f" ({low:{spec}} to {high:{spec}})"
    return text.replace("-", "−")


def text_table(
    estimates: pd.DataFrame,
    index: str | Sequence[str],
    columns: str | Sequence[str] | None = "quantity",
    *,
    spec: str | Mapping[str, str] = ".2f",
    scale: float = 1.0,
    names: Mapping[Any, str] | None = None,
) -> pd.DataFrame:
    """Lay estimates out as a table of texts, in the order in which keys first occur.

    Parameters
    ----------
    estimates : DataFrame
        In the schema of `studies.kit.estimates`.
    index, columns : str or sequence of str
        Key columns that make the rows and the columns; no columns makes one, "estimate".
    spec : str or mapping
        Format of the numbers, or one for each ``quantity``.
    scale : float
        Factor of all numbers.
    names : mapping, optional
        The reader's words for keys and quantities.
    """
    index = [index] if isinstance(index, str) else list(index)
    columns = [columns] if isinstance(columns, str) else list(columns or ())
    specs = [
        spec if isinstance(spec, str) else spec.get(str(quantity), ".2f")
        for quantity in estimates["quantity"]
    ]
    numbers = (estimates[["estimate", "low", "high"]] * scale).to_numpy()
    texts = [
        interval_text(value, low, high, one)
        for (value, low, high), one in zip(numbers, specs, strict=True)
    ]
    long = estimates[[*index, *columns]].assign(text=texts)
    if not columns:
        table = long.set_index(index)[["text"]].rename(columns={"text": "estimate"})
    else:
        order = [pd.unique(estimates[name]) for name in (index[0], columns[0])]
        table = long.pivot_table(
            index=index, columns=columns, values="text", aggfunc="first", sort=False
        )
        if len(index) == 1 and len(columns) == 1:
            table = table.reindex(index=order[0], columns=order[1])
        table.columns.name = None
    words = dict(names or {})
    return table.rename(index=words, columns=words).fillna("–")


def clipped(estimates: pd.DataFrame, low: float, high: float) -> pd.DataFrame:
    """Cut the intervals of shares where shares end."""
    ends = estimates[["low", "high"]].clip(low, high)
    return estimates.assign(low=ends["low"], high=ends["high"])


def runs_shown(estimates: pd.DataFrame) -> pd.DataFrame:
    """Let the range of single runs stand as the interval, where runs differ at all."""
    differ = estimates["run_high"] - estimates["run_low"] > 1e-9
    ends = estimates[["run_low", "run_high"]].where(differ)
    return estimates.assign(low=ends["run_low"], high=ends["run_high"])


def beside_paper(
    ours: pd.DataFrame, index: Sequence[str], columns: Sequence[str], **options: Any
) -> pd.DataFrame:
    """Lay estimates beside what their column ``paper`` holds."""
    first = ours.assign(source="ours")
    second = first.assign(source="paper", estimate=ours["paper"], low=np.nan, high=np.nan)
    both = pd.concat([first, second]).sort_index(kind="stable")
    return text_table(both, index, [*columns, "source"], **options)


#: The reader's words for names of columns and their values, where a table has no own.
WORDS: dict[Any, str] = {
    True: "yes",
    False: "no",
    "n_samples": "people",
    "n_models": "models",
    "n_tied": "tied candidates",
    "tie_break": "ties go",
    "half_width": "margin of error",
    "group": "separability",
    "mu": "μ",
    "sigma": "σ",
    "n_sets": "perturbed sets",
}


def in_reader_words(value: Any) -> Any:
    """Return a name or a level as a reader would write it.

    Examples
    --------
    >>> in_reader_words("same_set_error"), in_reader_words(1e-06), in_reader_words("IE@0.1")
    ('same set error', '1e-6', 'IE@0.1')
    """
    if isinstance(value, str | bool | np.bool_) and value in WORDS:
        return WORDS[value]
    if isinstance(value, float):
        return f"{value:g}".replace("e-0", "e-")
    return value.replace("_", " ") if isinstance(value, str) else value


def show(table: pd.DataFrame, name: str, *, index: bool = True) -> Any:
    """Style a table for the page, in the reader's words; its name keeps the HTML the same."""
    named = table.rename(index=in_reader_words, columns=in_reader_words)
    for axis in (named.index, named.columns):
        axis.names = [in_reader_words(one) for one in axis.names]
    texts = [column for column, kind in named.dtypes.items() if kind.kind in "Ob"]
    named = named.astype(dict.fromkeys(texts, object))
    named[texts] = named[texts].map(
        lambda cell: WORDS.get(cell, cell) if isinstance(cell, bool | np.bool_) else cell
    )
    styled = named.style.set_uuid(name)
    return styled if index else styled.hide(axis="index")


def provenance_table(*names: str) -> pd.DataFrame:
    """Return where committed tables come from, one row a table."""
    rows = {}
    for name in names:
        facts = read_result(name)[1]
        commit, packages = facts["git"]["commit"], facts["packages"]
        rows[name] = {
            "commit": commit[:10] if commit else "unknown",
            "seed": str(facts["seed"]),
            "settings": ", ".join(f"{k} = {v}" for k, v in facts["settings"].items()) or "–",
            "wall time": f"{duration(facts['wall_time'])}. {resumed(facts)}".rstrip(". "),
            "machine": ", ".join(str(value) for value in facts["machine"].values()),
            "versions": ", ".join(f"{k} {v}" for k, v in packages.items()),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("table")


def panels(
    n: int,
    n_columns: int = 3,
    *,
    size: tuple[float, float] = (2.8, 2.6),
    titles: Sequence[str] = (),
    xlabel: str = "",
    ylabel: str = "",
    level: float | None = None,
    **shared: Any,
) -> tuple[Figure, list[Axes]]:
    """Make a figure of n panels in rows, in the house style; a level is a thin line in each."""
    n_columns = min(n, n_columns)
    n_rows = -(-n // n_columns)
    options: dict[str, Any] = {"sharex": True, "sharey": True, "squeeze": False} | shared
    with plotting.style():
        figure, grid = plt.subplots(
            n_rows, n_columns, figsize=(size[0] * n_columns, size[1] * n_rows + 0.4), **options
        )
    axes = list(grid.flat)
    for ax in axes[n:]:
        ax.remove()
    for ax, title in zip(axes, titles, strict=False):
        ax.set_title(title)
    if level is not None:
        for ax in axes[:n]:
            ax.axhline(level, color="0.35", linewidth=0.8)
    if xlabel:
        figure.supxlabel(xlabel, fontsize=10)
    if ylabel:
        figure.supylabel(ylabel, fontsize=10)
    return figure, axes[:n]


def finished(figure: Figure, *, legend_columns: int = 3) -> Figure:
    """Add one legend for all panels, and close the figure, which a notebook would show twice."""
    found: dict[str, Any] = {}
    for ax in figure.axes:
        handles, labels = ax.get_legend_handles_labels()
        found = dict(zip(labels, handles, strict=True)) | found
    if found:
        figure.legend(
            list(found.values()), list(found), loc="outside upper center", ncols=legend_columns
        )
    plt.close(figure)
    return figure


def points(
    ax: Axes,
    estimates: pd.DataFrame,
    places: Any,
    *,
    series: int = 0,
    label: str = "",
    horizontal: bool = False,
    scale: float = 1.0,
    pale: bool = False,
    **options: Any,
) -> None:
    """Draw estimates with their intervals; a pale series is the reference behind a run."""
    value = estimates["estimate"].to_numpy() * scale
    ends = np.abs(estimates[["low", "high"]].to_numpy().T * scale - value)
    drawn: dict[str, Any] = {
        "fmt": MARKERS[series % len(MARKERS)],
        "color": plotting.PALETTE[series % len(plotting.PALETTE)],
        "markersize": 4,
        "elinewidth": 1,
        "alpha": 0.35 if pale else 1.0,
        "zorder": 1 if pale else 2,
        "label": label or None,
    } | options
    drawn["xerr" if horizontal else "yerr"] = np.nan_to_num(ends)
    x, y = (value, places) if horizontal else (places, value)
    ax.errorbar(x, y, **drawn)


def level_axis(ax: Axes, levels: Sequence[Any]) -> None:
    """Space levels such as σ evenly, a number as plainly as it can be written."""
    ax.set_xticks(range(len(levels)), [in_reader_words(level) for level in levels], rotation=90)
