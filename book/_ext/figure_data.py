"""Below each chapter's figure, links to the data behind it."""

from pathlib import Path

import nbformat
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from book.tools.figures import check_tables, kept_data, tables_of_figures
from book.tools.project import Project

FOLDER = "_build/figure_data"  # where the data of the pages' own runs are put


def write_kept_data(app: Sphinx) -> None:
    """Write what the executed notebooks keep, and check that each figure has data."""
    project = Project(Path(app.srcdir))
    folder = project.root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.csv"):
        old.unlink()
    kept = {}
    for path in sorted(project.chapters.glob("*.ipynb")):
        kept |= kept_data(nbformat.read(path, as_version=4))
    for label, text in kept.items():
        (folder / f"{label}.csv").write_text(text, encoding="utf-8")
    check_tables(project, kept)


def add_links(app: Sphinx, doctree: nodes.document) -> None:
    """Add a line of links to each figure that has data."""
    project = Project(Path(app.srcdir))
    tables = tables_of_figures(project)
    for figure in doctree.findall(nodes.figure):
        line = nodes.paragraph("", "Data: ", classes=["figure-data"])
        for label in figure["names"]:
            for name in tables.get(label, ()):
                line += _link(project, f"book/results/{name}.csv")
                line += _link(project, f"book/results/{name}.json", f"how {name} was made")
            if (project.root / FOLDER / f"{label}.csv").is_file():
                line += _link(project, f"{FOLDER}/{label}.csv", "this page’s run")
        if len(line) > 1:
            line.pop()
            figure.append(nodes.legend("", line))


def _link(project: Project, path: str, text: str = "") -> list[nodes.Node]:
    """Link to a file of the repository, with its name and size as text."""
    file = project.root / path
    size = f" ({max(round(file.stat().st_size / 1000), 1):,} kB)" if file.suffix == ".csv" else ""
    link = addnodes.download_reference("", (text or file.name) + size, reftarget=f"/{path}")
    return [link, nodes.Text(", ")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", write_kept_data)
    app.connect("doctree-read", add_links, priority=400)  # before Sphinx collects downloads
    return {"parallel_read_safe": True, "parallel_write_safe": True}
