"""The two diagrams of the page on methods, drawn with Matplotlib while the book is built."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from sphinx.application import Sphinx

BLUE, GREEN, ORANGE, GREY, INK = "#d6e6f2", "#d3ebe3", "#f6e0cc", "#ececec", "#222222"
FOLDER = "_build/diagrams"


def blank_axes(width: float, height: float) -> Axes:
    """Make axes without ticks whose units are inches."""
    figure = Figure(figsize=(width, height))
    FigureCanvasSVG(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    return axes


def box(axes: Axes, x: float, y: float, text: str, colour: str, size: tuple[float, float]) -> None:
    """Draw a rounded box with text, centred at (x, y)."""
    width, height = size
    axes.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - height / 2),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.08",
            facecolor=colour,
            edgecolor=INK,
            linewidth=0.8,
        )
    )
    axes.text(x, y, text, ha="center", va="center", color=INK, fontsize=10, linespacing=1.35)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draw an arrow from one point to another."""
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=11,
            color=INK,
            linewidth=1,
            shrinkA=0,
            shrinkB=0,
        )
    )


def draw_one_model() -> Figure:
    """How PVF turns one trained model and one validation set into one number (Figure 1)."""
    axes = blank_axes(8.2, 4.3)
    box(axes, 1.05, 3.75, "Training rows", GREY, (1.7, 0.62))
    box(axes, 1.05, 2.15, "Validation rows\n$n$ patients", GREY, (1.7, 0.74))
    box(axes, 3.2, 3.75, "Trained model $f$", ORANGE, (1.8, 0.62))
    arrow(axes, (1.9, 3.75), (2.3, 3.75))
    sets = {"1": 3.0, "2": 2.15, "$M$": 0.8}
    for name, y in sets.items():
        box(axes, 3.2, y, f"Perturbed set {name}\n$k\\,n$ rows", BLUE, (1.8, 0.66))
        arrow(axes, (1.9, 2.15), (2.3, y))
        box(axes, 5.25, y, f"Score {name}\n$P_f^{{({name.strip('$')})}}$", GREEN, (1.2, 0.66))
        arrow(axes, (4.1, y), (4.65, y))
        arrow(axes, (5.85, y), (6.35, 2.15 + (y - 2.15) / 9))
    for x in (3.2, 5.25):
        axes.text(x, 1.48, "⋮", ha="center", va="center", fontsize=15, color=INK)
    axes.plot([4.1, 5.25], [3.75, 3.75], color=INK, linewidth=1)
    arrow(axes, (5.25, 3.75), (5.25, 3.33))
    axes.text(5.4, 3.75, "the same model\nscores every set", va="center", fontsize=9, color=INK)
    box(axes, 7.2, 2.15, "Aggregate, such as\nthe lower quartile\n$A_f$", GREEN, (1.7, 0.98))
    axes.text(
        1.05,
        1.52,
        "noise on numbers,\nflips of categories,\nshifts along an order",
        ha="center",
        va="top",
        fontsize=9,
        color=INK,
        linespacing=1.35,
    )
    axes.text(
        4.7,
        0.2,
        "labels stay as they are; nothing is retrained",
        ha="center",
        fontsize=9,
        color=INK,
    )
    return axes.figure


def draw_selection() -> Figure:
    """How the model is chosen: the largest aggregate wins (Figure 2)."""
    axes = blank_axes(7.0, 2.9)
    models = {"$f_1$": 2.45, "$f_2$": 1.7, "$f_Q$": 0.45}
    for name, y in models.items():
        box(axes, 0.95, y, f"Candidate {name}", ORANGE, (1.6, 0.5))
        box(axes, 3.2, y, f"PVF: $A_{{{name.strip('$')}}}$", GREEN, (1.5, 0.5))
        arrow(axes, (1.75, y), (2.45, y))
        arrow(axes, (3.95, y), (4.75, 1.45 + (y - 1.45) / 6))
    for x in (0.95, 3.2):
        axes.text(x, 1.08, "⋮", ha="center", va="center", fontsize=15, color=INK)
    box(axes, 5.75, 1.45, "Select the largest\n$f^*=\\arg\\max_f A_f$", BLUE, (2.0, 0.8))
    return axes.figure


DIAGRAMS = {"one_model": draw_one_model, "selection": draw_selection}


def write_diagrams(folder: Path) -> list[Path]:
    """Draw both into a folder; the same code gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "pvf", "svg.fonttype": "path"}):
        for name, draw in DIAGRAMS.items():
            draw().savefig(folder / f"{name}.svg", metadata={"Date": None}, facecolor="white")
    return [folder / f"{name}.svg" for name in DIAGRAMS]


def draw_before_reading(app: Sphinx) -> None:
    """Have the pictures in place before Sphinx reads the pages that show them."""
    write_diagrams(Path(app.srcdir) / FOLDER)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", draw_before_reading)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
