"""Estimates as dots and lines: a run, and behind it, pale, the reference that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.kit.show import panels, points

#: A run's estimates and those of its reference, where there is one.
Frames = Sequence[pd.DataFrame | None]
#: Title of a panel to the labels of its series to the keys of their estimates.
Columns = Mapping[str, Mapping[str, Mapping[str, Any]]]


def at(estimates: pd.DataFrame, **where: Any) -> pd.DataFrame:
    """Return the estimates with these keys; a list lets a key be any of several."""
    chosen = np.ones(len(estimates), dtype=bool)
    for key, value in where.items():
        chosen &= estimates[key].isin(value if isinstance(value, list) else [value])
    return estimates[chosen]


def changed(
    frames: Frames, change: Callable[[pd.DataFrame], pd.DataFrame]
) -> list[pd.DataFrame | None]:
    """Return a run's estimates and its reference's, each changed by a function."""
    return [frame if frame is None else change(frame) for frame in frames]


#: How a run and its reference are drawn.
_PALE_BEHIND: tuple[Mapping[str, Any], ...] = ({}, {"pale": True, "label": ""})


def series(
    ax: Axes,
    frames: Frames,
    places: str,
    number: int,
    label: str,
    where: Mapping[str, Any],
    *,
    shift: float = 0.0,
    styles: Sequence[Mapping[str, Any]] = _PALE_BEHIND,
    **options: Any,
) -> None:
    """Draw one series of a run over a key, and behind it, pale, that of its reference."""
    for frame, style in zip(frames, styles, strict=True):
        if frame is not None:
            rows = at(frame, **where).sort_values(places)
            told = {"series": number, "label": label, **options, **style}
            points(ax, rows, rows[places] + shift, **told)


def dot_rows(
    frames: Frames,
    keys: Sequence[str],
    columns: Columns,
    xlabel: str,
    *,
    line: tuple[float, str] | None = None,
    xlim: tuple[float | None, float | None] = (None, None),
    styles: Sequence[Mapping[str, Any]] = _PALE_BEHIND,
    **shared: Any,
) -> tuple[Figure, list[Axes]]:
    """Draw panels with a row for each value of some keys, and the series of a row in its place.

    Parameters
    ----------
    frames : sequence of DataFrame or None
    keys : sequence of str
        Whose values, in the order of the reference, make the rows.
    columns : mapping
    xlabel : str
    line : tuple of float and str, optional
        A dashed line's place and what it means.
    xlim : tuple, optional
    styles : sequence of mapping
        How a run and its reference are drawn.
    **shared
        For `panels`.
    """
    whole = next(frame for frame in reversed(frames) if frame is not None)
    names = [*whole[list(keys)].drop_duplicates().itertuples(index=False, name=None)]
    place = {name: number for number, name in enumerate(names)}

    def with_row(frame: pd.DataFrame) -> pd.DataFrame:
        rows = zip(*(frame[key] for key in keys), strict=True)
        return frame.assign(row=[place[name] for name in rows])

    shared["size"] = (shared.pop("width", 3.1), 0.8 + 0.29 * len(names))
    figure, axes = panels(len(columns), titles=list(columns), xlabel=xlabel, **shared)
    placed = changed(frames, with_row)
    options: dict[str, Any] = {"styles": styles, "horizontal": True}
    for ax, shown in zip(axes, columns.values(), strict=True):
        for number, (label, where) in enumerate(shown.items()):
            shift = 0.7 / len(shown) * (number - (len(shown) - 1) / 2)
            series(ax, placed, "row", number, label, where, shift=shift, **options)
        if line is not None:
            ax.axvline(line[0], color="0.35", linewidth=0.8, linestyle="--", label=line[1])
    axes[0].set(xlim=xlim)
    axes[0].set_yticks(range(len(names)), [", ".join(map(str, name)) for name in names])
    axes[0].invert_yaxis()
    return figure, axes
