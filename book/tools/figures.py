"""The data behind the book's figures: which tables each shows, and what a page's own run adds."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

import nbformat
import pandas as pd

from book.tools.pairs import read_source, source_stems
from book.tools.project import BookError, Project

NAME = "figure-data:"  # how the kept data of a figure are called among a notebook's outputs
KEPT = "application/papermill.record/text/csv"


@dataclass(frozen=True)
class ChapterFigure:
    """A figure of a chapter.

    Parameters
    ----------
    label : str
        What the book refers to it by, ``fig-<page>-<what>``.
    stem : str
        Its notebook.
    shows : str
        The first sentence of its caption.
    tables : tuple of str
        Committed tables behind it, by name.
    has_data : bool
        False for one that ``book/figures.toml`` lists without a table: it illustrates.
    """

    label: str
    stem: str
    shows: str
    tables: tuple[str, ...] = ()
    has_data: bool = True


class _Csv:
    """A frame that displays itself as CSV and nothing else."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/csv": self.frame.to_csv(index=False, lineterminator="\n")}


def keep_data(label: str, frame: pd.DataFrame | None) -> None:
    """Keep in a notebook the data that one of its figures shows; the book offers them as CSV.

    Parameters
    ----------
    label : str
        The figure's label.
    frame : DataFrame or None
        What it draws, one row an observation; index levels that have names become columns. None
        where this run has no such data: nothing is kept.

    Examples
    --------
    In a notebook, before the cell that draws ``fig-ie-zero``:

    >>> keep_data("fig-ie-zero", None)
    """
    if frame is None:
        return
    from myst_nb import glue  # noqa: PLC0415  needs the extra "book"

    named = [name for name in frame.index.names if name is not None]
    glue(NAME + label, _Csv(frame.reset_index(named) if named else frame), display=False)


def kept_data(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Return what `keep_data` kept in an executed notebook: CSV text by figure label.

    Parameters
    ----------
    notebook : NotebookNode
    """
    return {
        output.metadata["scrapbook"]["name"].removeprefix(NAME): output.data[KEPT]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if KEPT in output.get("data", {})
    }


def tables_of_figures(project: Project) -> dict[str, list[str]]:
    """Read ``book/figures.toml``: the committed tables that each figure shows, by label.

    Parameters
    ----------
    project : Project

    Returns
    -------
    dict of str to list of str
        Empty if the book has no such file.
    """
    path = project.root / "book" / "figures.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def chapter_figures(project: Project) -> list[ChapterFigure]:
    """List the figures that the notebooks label, in the order of the notebooks.

    Parameters
    ----------
    project : Project
    """
    tables = tables_of_figures(project)
    figures = []
    for stem in source_stems(project):
        for cell in read_source(project.notebooks / f"{stem}.py").cells:
            given = cell.metadata.get("mystnb", {}).get("figure", {})
            if "name" in given:
                label, shows = given["name"], first_sentence(given.get("caption", ""))
                behind = tuple(tables.get(label, ()))
                has_data = bool(behind) or label not in tables
                figures.append(ChapterFigure(label, stem, shows, behind, has_data))
    return figures


def first_sentence(text: str) -> str:
    """Return a text up to the full stop, colon or semicolon that ends its first part.

    Examples
    --------
    >>> first_sentence("IE at γ = 0.1, by model. Bars: intervals.")
    'IE at γ = 0.1, by model'
    """
    return re.split(r"[.;:](?=\s|$)", text, maxsplit=1)[0].strip()


def check_tables(project: Project, kept: Mapping[str, object]) -> None:
    """Refuse a figure without data, data without a figure, and tables that aren't there.

    Parameters
    ----------
    project : Project
    kept : mapping
        Labels of the figures whose data the executed notebooks keep.

    Raises
    ------
    BookError
        Naming the figure or the table.
    """
    listed = tables_of_figures(project)
    labels = {figure.label for figure in chapter_figures(project)}
    for label in sorted(labels - listed.keys() - kept.keys()):
        raise BookError(
            f"figure {label} has no data to download: name its tables in book/figures.toml, or "
            f'call keep_data("{label}", ...) in its notebook'
        )
    for label in sorted((listed.keys() | kept.keys()) - labels):
        raise BookError(f"there is no figure {label}, but data are named for it")
    for label, names in listed.items():
        for name in names:
            if not (project.results / f"{name}.csv").is_file():
                raise BookError(f"figure {label}: there is no book/results/{name}.csv")
