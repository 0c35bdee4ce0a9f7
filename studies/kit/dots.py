"""Estimates as dots and lines: a run, and behind it, pale, the reference that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.kit.show import level_axis, panels, points

#: Title of a panel to the labels of its series to the keys of their estimates.
Columns = Mapping[str, Mapping[str, Mapping[str, Any]]]
#: How a run and its reference are drawn.
Styles = Sequence[Mapping[str, Any]]


class Frames(NamedTuple):
    """A run's estimates and those of the full results, where these are another table."""

    run: pd.DataFrame
    full: pd.DataFrame | None = None

    @property
    def whole(self) -> pd.DataFrame:
        """The full results; the run where there are no others."""
        return self.run if self.full is None else self.full


_PALE_BEHIND: Styles = ({}, {"pale": True, "label": ""})
_OPEN: dict[str, Any] = {"fillstyle": "none", "color": "black", "zorder": 3, "markersize": 5}
_OPEN |= {"label": "this run", "linestyle": "none"}


def crossed(
    panels: Mapping[str, Mapping[str, Any]], shown: Mapping[str, Mapping[str, Any]], **common: Any
) -> Columns:
    """Return columns in which every panel shows the same series; all have some keys in common."""
    return {
        title: {label: {**common, **where, **keys} for label, keys in shown.items()}
        for title, where in panels.items()
    }


def at(estimates: pd.DataFrame, **where: Any) -> pd.DataFrame:
    """Return the estimates with these keys; a list lets a key be any of several."""
    chosen = np.ones(len(estimates), dtype=bool)
    for key, value in where.items():
        chosen &= estimates[key].isin(value if isinstance(value, list) else [value])
    return estimates[chosen]


def changed(frames: Frames, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Frames:
    """Return a run's estimates and the full ones, each changed by a function."""
    return Frames(*(change(frame) for frame in frames if frame is not None))


def open_before(frames: Frames) -> tuple[Frames, Styles]:
    """Return a small run, for open marks without intervals, before the full results."""
    if frames.full is None:
        return frames, ({}, {})
    return frames._replace(run=frames.run.assign(low=np.nan, high=np.nan)), (_OPEN, {})


def placed(frames: Frames, keys: Sequence[str], levels: Sequence[Any]) -> Frames:
    """Give estimates their ``place``: the number of their keys, a tuple, among the levels."""
    order = {level: number for number, level in enumerate(levels)}

    def with_place(rows: pd.DataFrame) -> pd.DataFrame:
        names = zip(*(rows[key] for key in keys), strict=True)
        found = rows.assign(place=[order.get(name, np.nan) for name in names])
        return found.dropna(subset="place")

    return changed(frames, with_place)


def series(
    ax: Axes,
    frames: Frames,
    places: str,
    number: int,
    label: str,
    where: Mapping[str, Any],
    *,
    shift: float = 0.0,
    styles: Styles = _PALE_BEHIND,
    **options: Any,
) -> None:
    """Draw one series of a run over a key, and behind it, pale, that of its reference."""
    for frame, style in zip(frames, styles, strict=True):
        if frame is not None:
            rows = at(frame, **where).sort_values(places)
            told = {"series": number, "label": label, **options, **style}
            points(ax, rows, rows[places] + shift, **told)


def lines(
    frames: Frames,
    key: str,
    columns: Columns,
    *,
    levels: Sequence[Any] = (),
    spread: float = 0.0,
    line: str = "",
    styles: Styles = _PALE_BEHIND,
    options: Mapping[str, Any] | None = None,
    looks: Sequence[Mapping[str, Any]] = (),
    **shared: Any,
) -> tuple[Figure, list[Axes]]:
    """Draw panels with series over a key.

    Parameters
    ----------
    frames : Frames
    key : str
    columns : mapping
    levels : sequence
        Values of the key that stand evenly beside each other; by default the key is a number.
    spread : float
        Width that the series of a place share.
    line : str
        Style of the line that joins a series; none by default.
    styles : sequence of mapping
        How a run and its reference are drawn.
    options : mapping, optional
        For every series.
    looks : sequence of mapping
        For each series by its number.
    **shared
        For `panels`.
    """
    if levels:
        frames, key = placed(frames, [key], [(level,) for level in levels]), "place"
    figure, axes = panels(len(columns), titles=list(columns), **shared)
    for ax, shown in zip(axes, columns.values(), strict=True):
        for number, (label, where) in enumerate(shown.items()):
            shift = spread / len(shown) * (number - (len(shown) - 1) / 2)
            look = {"linestyle": line or "none"} | (dict(looks[number]) if looks else {})
            drawn = {**(options or {}), **look}
            series(ax, frames, key, number, label, where, shift=shift, styles=styles, **drawn)
        if levels:
            level_axis(ax, levels)
    return figure, axes


def dot_rows(
    frames: Frames,
    keys: Sequence[str],
    columns: Columns,
    xlabel: str,
    *,
    line: tuple[float, str] | None = None,
    xlim: tuple[float | None, float | None] = (None, None),
    width: float = 3.1,
    **shared: Any,
) -> tuple[Figure, list[Axes]]:
    """Draw panels with a row for each value of some keys, and the series of a row in its place.

    Parameters
    ----------
    frames : Frames
    keys : sequence of str
        Whose values, in the order of the reference, make the rows.
    columns : mapping
    xlabel : str
    line : tuple of float and str, optional
        A dashed line's place and what it means.
    xlim : tuple, optional
    width : float
        Of a panel.
    **shared
        For `lines`.
    """
    names = [*frames.whole[list(keys)].drop_duplicates().itertuples(index=False, name=None)]
    shared |= {"size": (width, 0.8 + 0.29 * len(names)), "xlabel": xlabel}
    options = {"horizontal": True}
    rows = placed(frames, keys, names)
    figure, axes = lines(rows, "place", columns, spread=0.7, options=options, **shared)
    if line is not None:
        for ax in axes:
            ax.axvline(line[0], color="0.35", linewidth=0.8, linestyle="--", label=line[1])
    axes[0].set(xlim=xlim)
    axes[0].set_yticks(range(len(names)), [", ".join(map(str, name)) for name in names])
    axes[0].invert_yaxis()
    return figure, axes
