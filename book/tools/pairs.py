"""Notebook pairs: the percent script is the source, the ``.ipynb`` is made from it."""

import hashlib
import re
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from book.tools.project import BookError, Project, differs

KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}


def source_stems(project: Project) -> list[str]:
    """Names of all notebooks that have a source, in order.

    Raises
    ------
    BookError
        If an ``.ipynb`` in ``notebooks/`` has no ``.py`` beside it.
    """
    stems = sorted(path.stem for path in project.notebooks.glob("*.py"))
    made = {path.stem for path in project.notebooks.glob("*.ipynb")}
    orphans = sorted(made - set(stems))
    if orphans:
        raise BookError(
            f"notebooks/{orphans[0]}.ipynb has no notebooks/{orphans[0]}.py beside it; "
            "the .py is the source of a pair"
        )
    return stems


def read_source(path: Path) -> NotebookNode:
    """Read a percent script as a notebook without outputs whose bytes depend on the script alone.

    Parameters
    ----------
    path : Path
        A ``.py`` file in jupytext's percent format.

    Returns
    -------
    NotebookNode
        Kernel ``python3``; cell ids come from the cells' content.

    Raises
    ------
    BookError
        If the script's header records the version of jupytext that wrote it, which would change
        with every release without any change to the notebook.
    """
    text = path.read_text(encoding="utf-8")
    if re.search(r"^#\s+jupytext_version:", text, flags=re.MULTILINE):
        raise BookError(
            f"notebooks/{path.name}: the header has a jupytext_version line; delete it "
            "(jupytext.toml keeps jupytext from writing it)"
        )
    notebook = jupytext.reads(text, fmt="py:percent")
    notebook.metadata["kernelspec"] = dict(KERNELSPEC)
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.metadata["jupytext"] = {"formats": "ipynb,py:percent"}
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    _number_cells(notebook)
    return notebook


def _number_cells(notebook: NotebookNode) -> None:
    """Give each cell an id made from its content, so that an edit changes one id only."""
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        seen[digest] = seen.get(digest, 0) + 1
        cell["id"] = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"


def render_pair(path: Path) -> str:
    """Text of the ``.ipynb`` that belongs to a percent script."""
    notebook = read_source(path)
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def stale_pairs(project: Project) -> list[str]:
    """Names of the notebooks whose ``.ipynb`` is missing or isn't what the script makes."""
    folder = project.notebooks
    return [
        stem
        for stem in source_stems(project)
        if differs(folder / f"{stem}.ipynb", render_pair(folder / f"{stem}.py"))
    ]


def write_pairs(project: Project) -> list[str]:
    """Regenerate every ``.ipynb`` that is out of step, and name those that were."""
    stale = stale_pairs(project)
    for stem in stale:
        text = render_pair(project.notebooks / f"{stem}.py")
        (project.notebooks / f"{stem}.ipynb").write_bytes(text.encode())
    return stale


def check_pairs(project: Project) -> None:
    """Compare each pair by content, whatever the files' times.

    Raises
    ------
    BookError
        If a pair is out of step; names each.
    """
    stale = stale_pairs(project)
    if stale:
        names = ", ".join(f"notebooks/{stem}.ipynb" for stem in stale)
        raise BookError(
            f"out of step with the .py beside it: {names}; "
            "edit the .py, then run `python -m book.tools pairs`"
        )
