"""One style for every figure: colours that the colour-blind can tell apart, quiet axes.

Matplotlib and seaborn are loaded when something is drawn, so that ``import pvf`` does without.
"""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pvf._text import one_line, shortened
from pvf._types import Axes

#: Each has a contrast of 3:1 or more with white. They differ in lightness as well as in hue, so
#: that any two are 25 or more apart in CIELAB, for usual sight and for each colour blindness.
PALETTE = [
    "#002fbd",  # blue
    "#e37300",  # orange
    "#12a677",  # green
    "#841a71",  # plum
    "#66501d",  # brown
    "#1a1a1a",  # black
]

STYLE: dict[Any, Any] = {
    "axes.prop_cycle": f"cycler(color={PALETTE})",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "figure.constrained_layout.use": True,
    "figure.dpi": 110,
    "figure.figsize": (6.8, 4.0),
    "font.size": 10,
    "legend.frameon": False,
    "svg.hashsalt": "pvf",  # the same picture gives the same bytes
}


@dataclass(frozen=True)
class Figure:
    """A drawn figure with the words that go with it.

    Attributes
    ----------
    picture : matplotlib Figure
    caption, alt : str
    """

    picture: Any
    caption: str
    alt: str

    def facts(self) -> dict[str, str]:
        """Return what a page shows: the words, and the picture as a PNG inside the page.

        Returns
        -------
        dict
            ``source``, ``caption``, ``alt``; the same figure gives the same bytes.
        """
        buffer = io.BytesIO()
        with warnings.catch_warnings():
            # Names in a script that the font lacks are boxes here; the tables beside have them.
            warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
            self.picture.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
        encoded = base64.b64encode(buffer.getvalue()).decode()
        source = f"data:image/png;base64,{encoded}"
        return {"source": source, "caption": self.caption, "alt": self.alt}


@contextmanager
def style() -> Iterator[None]:
    """Draw in the house style inside the ``with`` block.

    Examples
    --------
    >>> with style():
    ...     ax = new_axes()
    """
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415
        import seaborn as sns  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ImportError(
            f"Figures need {error.name}, which is not installed: pip install 'pvf[plot]'"
        ) from error
    with sns.axes_style("ticks"), plt.rc_context(STYLE):
        yield


def new_axes(**figure_kwargs: Any) -> Axes:
    """Return the axes of a new figure in the house style.

    Parameters
    ----------
    **figure_kwargs
        Passed on to `matplotlib.pyplot.subplots`.

    Returns
    -------
    matplotlib Axes
    """
    with style():
        import matplotlib.pyplot as plt  # noqa: PLC0415

        return plt.subplots(**figure_kwargs)[1]


def label(name: object) -> str:
    r"""Return a name that somebody else gave as it stands in a figure: one line, not too long.

    Parameters
    ----------
    name : object
        Shown by its `str`.

    Returns
    -------
    str
        At most 60 characters; a longer name is cut in the middle.

    Examples
    --------
    >>> label("income\n($)")
    'income ($)'
    """
    return shortened(one_line(str(name)), 60)


def as_written(texts: Iterable[Any]) -> None:
    """Draw texts that hold names as they are: ``$`` begins no mathematics in them.

    Parameters
    ----------
    texts : iterable of matplotlib Text
        Such as those of a legend, or tick labels.
    """
    for text in texts:
        text.set_parse_math(False)
