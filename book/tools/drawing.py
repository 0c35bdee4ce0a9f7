"""Figures of the book's pages: SVG with real text, once for a screen and once for a phone.

The runner of the notebooks has each kernel call `install`. Whoever opens a notebook by other means
sees Matplotlib's usual pictures.
"""

import io
import itertools
import re
import textwrap
from html import escape
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from IPython import get_ipython
from matplotlib.axis import Axis
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter

PHONE, LEAST = 3.25, 2.0  # inches: what a phone of 360 pixels shows, and what a panel needs
LONG = 440  # letters that fit into a line of a phone, times their size in points
SETTINGS: dict[Any, Any] = {"svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"]}
_numbers = itertools.count()


def install() -> None:
    """Have this kernel show each figure as `two_layouts`."""
    plt.rcParams["legend.frameon"] = False
    shell = get_ipython()
    shell.run_line_magic("matplotlib", "inline")
    for formatter in shell.display_formatter.formatters.values():
        formatter.pop(Figure, None)
    shell.display_formatter.formatters["text/html"].for_type(Figure, two_layouts)


def two_layouts(figure: Figure) -> str:
    """Return a figure as it is and with its panels stacked; a style sheet shows one of them."""
    number = next(_numbers)
    wide = svg(figure, "wide", number)
    stack(figure)
    return f'<div class="drawn">{wide}{svg(figure, "narrow", number)}</div>'


def stack(figure: Figure) -> None:
    """Put a figure's panels below each other, each as high as it was, for a phone.

    A figure whose labels leave no room for a panel stays wider, and its page scrolls it.
    """
    panels: list[Any] = [ax for ax in figure.axes if ax.get_subplotspec()]
    if not all(
        ax.get_title() or ax.get_title("left") for ax in panels
    ):  # one stands for those below
        panels.sort(key=lambda ax: ax.get_subplotspec().colspan.start)
    if panels:
        beside = max(ax.get_tightbbox().width - ax.bbox.width for ax in panels) / figure.dpi
        height = figure.get_figheight() / panels[0].get_subplotspec().get_gridspec().nrows
        grid = GridSpec(len(panels), 1, figure=figure)
        for place, ax in enumerate(panels):
            ax.set_subplotspec(grid[place])
            ax.tick_params(labelbottom=True, labelleft=True)
        figure.set_size_inches(max(PHONE, beside + LEAST), height * len(panels))
    titles = [title for ax in panels for title in (ax.title, ax._left_title)]
    label: Any
    for label in figure.findobj(Text):
        if "$" not in label.get_text():
            lines = label.get_text().splitlines()
            n_letters = int((LONG / 2 if label in titles else LONG) / label.get_fontsize())
            label.set_text("\n".join(textwrap.fill(line, n_letters) for line in lines))
    for legend in figure.legends:
        if legend.get_window_extent().width > figure.bbox.width:
            _one_column(legend)


def _one_column(legend: Any) -> None:
    columns = legend._legend_handle_box.get_children()
    columns[0]._children = [entry for column in columns for entry in column.get_children()]
    del columns[1:]


def svg(figure: Figure, layout: str, number: int) -> str:
    """Draw a figure for the inside of a page; its values show where a reader points.

    Layout and number keep its ids apart from those of other figures.
    """
    lines: list[Any] = [line for ax in figure.axes for line in ax.lines]
    marked = {f"{layout}-{number}-{n}": line for n, line in enumerate(lines)}
    for name, line in marked.items():
        line.set_gid(name)
    buffer = io.StringIO()
    with mpl.rc_context({**SETTINGS, "svg.hashsalt": f"{layout} {number}"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = re.sub(r"\s*<(metadata|defs>\s*<style).*?</(metadata|defs)>", "", text, flags=re.DOTALL)
    text = re.sub(r' id="[\w.]+_\d+"', "", text[text.index("<svg") :])
    for name, line in marked.items():
        text = _with_values(text, f'<g id="{name}">', values(line))
    return text.replace("<svg", f'<svg class="{layout}" role="img"', 1)


def _with_values(text: str, start: str, told: list[str]) -> str:
    """Add what a line's points say to their marks."""
    before, _, rest = text.partition(start)
    marks, _, after = rest.partition("</g>")
    parts = re.split(r"(<use [^>]*)/>", marks)
    if len(parts) != 2 * len(told) + 1:  # a line without marks, or one outside its panel
        return text
    for place, words in enumerate(told):
        parts[2 * place + 1] += f"><title>{escape(words)}</title></use>"
    return "".join([before, start, *parts, "</g>", after])


def values(line: Any) -> list[str]:
    """Say each point's place and value in the figure's own words, with the interval around it."""
    bars = [b for b in line.axes.containers if isinstance(b, ErrorbarContainer) and b[0] is line]
    label = str([*bars, line][0].get_label())
    points = line.get_xydata()
    ends = np.full((len(points), 2), np.nan)
    if bars and bars[0].lines[2]:
        segments = np.reshape(bars[0].lines[2][0].get_segments(), (-1, 2, 2))
        ends = segments[:, :, int(bars[0].has_yerr)]
    told = []
    for (x, y), (low, high) in zip(points, ends, strict=True):
        if np.isfinite([x, y]).all():
            words = f"{_told(line.axes.xaxis, x)}, {_told(line.axes.yaxis, y)}"
            words += f" ({_number(low)} to {_number(high)})" if high > low else ""
            told.append(words if label.startswith("_") else f"{label}: {words}")
    return told


def _told(axis: Axis, value: float) -> str:
    """Write a place on an axis: the name that stands there, or the number."""
    write = axis.get_major_formatter()
    name = write(round(value)) if isinstance(write, FuncFormatter) else ""
    return " ".join(name.split()) or _number(value)


def _number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")
