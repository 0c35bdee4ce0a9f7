"""The pieces of a report and how they are written: as HTML or as Markdown."""

from __future__ import annotations

import base64
import io
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pvf.model_card import ModelCard
from pvf.render import in_html, in_markdown

__all__ = ["PAGE", "STYLE", "Figure", "HtmlWriter", "MarkdownWriter", "Writer"]


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

    def to_png(self) -> bytes:
        """Return the picture; the same figure gives the same bytes."""
        buffer = io.BytesIO()
        with warnings.catch_warnings():
            # Names in a script that the font lacks are boxes here; the tables beside have them.
            warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
            self.picture.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
        return buffer.getvalue()


class Writer(ABC):
    """Collects the pieces of a document; texts are plain, and are escaped here."""

    def __init__(self) -> None:
        self.pieces: list[str] = []

    def text(self) -> str:
        """Return the whole document."""
        return "\n\n".join(self.pieces) + "\n"

    def add(self, piece: str) -> None:
        """Add markup as it is."""
        self.pieces.append(piece)

    @abstractmethod
    def heading(self, level: int, text: str) -> None:
        """Add a heading."""

    @abstractmethod
    def paragraph(self, text: str) -> None:
        """Add a paragraph."""

    @abstractmethod
    def strong(self, text: str) -> None:
        """Add a paragraph that stands out."""

    @abstractmethod
    def points(self, texts: Sequence[str]) -> None:
        """Add a list."""

    @abstractmethod
    def table(self, frame: pd.DataFrame, caption: str) -> None:
        """Add a table, whose index names the rows."""

    @abstractmethod
    def figure(self, figure: Figure) -> None:
        """Add a figure, inside the document."""

    @abstractmethod
    def card(self, card: ModelCard) -> None:
        """Add a model card, below a heading of its own."""


class HtmlWriter(Writer):
    """Writes the body of an HTML page."""

    def heading(self, level: int, text: str) -> None:
        """Add a heading."""
        self.add(f"<h{level}>{in_html(text)}</h{level}>")

    def paragraph(self, text: str) -> None:
        """Add a paragraph."""
        self.add(f"<p>{in_html(text)}</p>")

    def strong(self, text: str) -> None:
        """Add a paragraph that stands out."""
        self.add(f'<p class="headline">{in_html(text)}</p>')

    def points(self, texts: Sequence[str]) -> None:
        """Add a list."""
        self.add("<ul>" + "".join(f"<li>{in_html(text)}</li>" for text in texts) + "</ul>")

    def table(self, frame: pd.DataFrame, caption: str) -> None:
        """Add a table."""
        head = "".join(f'<th scope="col">{_cell(name)}</th>' for name in _names(frame))
        rows = "".join(
            f'<tr><th scope="row">{_cell(row[0])}</th>'
            + "".join(f"<td>{_cell(value)}</td>" for value in row[1:])
            + "</tr>"
            for row in frame.itertuples()
        )
        self.add(
            f'<div class="table" tabindex="0" role="region" aria-label="{in_html(caption)}">'
            f"<table><caption>{in_html(caption)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )

    def figure(self, figure: Figure) -> None:
        """Add a figure."""
        self.add(
            f'<figure><img src="{_data_uri(figure)}" alt="{in_html(figure.alt)}">'
            f"<figcaption>{in_html(figure.caption)}</figcaption></figure>"
        )

    def card(self, card: ModelCard) -> None:
        """Add a card."""
        self.heading(2, "Model card")
        self.add(card._repr_html_())


class MarkdownWriter(Writer):
    """Writes CommonMark with tables."""

    def heading(self, level: int, text: str) -> None:
        """Add a heading."""
        self.add(f"{'#' * level} {in_markdown(text)}")

    def paragraph(self, text: str) -> None:
        """Add a paragraph."""
        self.add(in_markdown(text))

    def strong(self, text: str) -> None:
        """Add a paragraph that stands out."""
        self.add(f"**{in_markdown(text)}**")

    def points(self, texts: Sequence[str]) -> None:
        """Add a list."""
        self.add("\n".join(f"- {in_markdown(text)}" for text in texts))

    def table(self, frame: pd.DataFrame, caption: str) -> None:
        """Add a table."""
        names = _names(frame)
        rows = [names, ["---"] * len(names), *(list(row) for row in frame.itertuples())]
        lines = [
            "| "
            + " | ".join(in_markdown(str(cell)) if cell != "---" else cell for cell in row)
            + " |"
            for row in rows
        ]
        self.add(f"*{in_markdown(caption)}*")
        self.add("\n".join(lines))

    def figure(self, figure: Figure) -> None:
        """Add a figure."""
        self.add(f"![{in_markdown(figure.alt)}]({_data_uri(figure)})")
        self.add(f"*{in_markdown(figure.caption)}*")

    def card(self, card: ModelCard) -> None:
        """Add a card, its headings two levels down."""
        self.heading(2, "Model card")
        self.add(re.sub(r"^#", "###", card.to_markdown().strip(), flags=re.MULTILINE))


def _names(frame: pd.DataFrame) -> list[str]:
    return [str(frame.index.name or ""), *map(str, frame.columns)]


def _cell(value: Any) -> str:
    return in_html(str(value))


def _data_uri(figure: Figure) -> str:
    return "data:image/png;base64," + base64.b64encode(figure.to_png()).decode("ascii")


STYLE = """
:root { color-scheme: light dark; --text: #1a1a1a; --page: #fff; --line: #767676; --soft: #f2f4f8 }
@media (prefers-color-scheme: dark) {
  :root { --text: #e8e8e8; --page: #16181c; --line: #8a8f98; --soft: #23262d }
}
body { margin: 0 auto; max-width: 60rem; padding: 1rem; color: var(--text);
  background: var(--page); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word }
.headline { font-size: 1.2rem; font-weight: 600; border-left: 4px solid #e37300;
  padding: .5rem 1rem; background: var(--soft) }
.table { overflow-x: auto; margin: 1rem 0 }
table { border-collapse: collapse; font-size: .9rem }
caption { text-align: left; font-weight: 600; padding: .25rem 0 }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: left;
  vertical-align: top }
figure { margin: 1rem 0 } img { max-width: 100%; height: auto; background: #fff }
figcaption { font-size: .9rem }
@media print { body { max-width: none } figure, tr { break-inside: avoid } }
"""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{policy}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}</main>
</body>
</html>
"""
