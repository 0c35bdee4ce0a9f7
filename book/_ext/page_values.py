"""What pages show of numbers, lists and tables, made while the book is built.

On the page on methods an example that the library computes; on the page on status how each chapter
was run and each committed table made; the ledger and lists of what makes what.
"""

import json
from functools import partial
from pathlib import Path

import nbformat
from claims_page import Lazy, ledger_values
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sphinx.application import Sphinx
from sphinx.config import Config

import pvf
from book.tools.figures import chapter_figures
from book.tools.project import Project
from studies.kit.results import commit_name, duration

#: Two models whose order depends on the capacity: their true and false positives.
EXAMPLE = {"n_patients": 200, "n_cases": 20, "calls": (10, 60)}
FLAGS = {"A": (15, 15), "B": (7, 3)}


def table(name: str, project: Project) -> str:
    """Return a table of ``tables.md.j2``: of chapters' runs, results, figures, or an example."""
    pages = Environment(loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined)
    provenance = sorted(project.results.glob("*.json"))
    facts = {
        "chapters": [_run(project, path) for path in sorted(project.chapters.glob("*.ipynb"))],
        "results": [(path.stem, json.loads(path.read_text("utf-8"))) for path in provenance],
        "figures": chapter_figures(project),
        "packages": ("python", "numpy", "scipy", "pandas", "scikit-learn"),
        "duration": duration,
        "commit_name": commit_name,
        "flags": FLAGS,
        "efficiency": pvf.intervention_efficiency_counts,
        **EXAMPLE,
    }
    return str(getattr(pages.get_template("tables.md.j2").make_module(facts), name)()).strip()


def _run(project: Project, path: Path) -> tuple[str, dict, dict, dict]:
    """Return what the runner noted of a chapter; when it ran, if it was run on this machine."""
    metadata = nbformat.read(path, as_version=4).metadata
    times = project.logs / f"{path.stem}.times.json"
    ran = json.loads(times.read_text(encoding="utf-8")) if times.is_file() else {}
    return path.stem, metadata["pvf"], metadata["papermill"]["parameters"], ran


def add_values(app: Sphinx, config: Config) -> None:
    """Offer all of them to the pages as ``{{ name }}``."""
    project = Project(Path(app.srcdir))
    tables = ("chapters_table", "results_table", "list_of_figures", "worked_example")
    config.myst_substitutions = {
        **config.myst_substitutions,
        **EXAMPLE,
        **ledger_values(),
        **{name: Lazy(partial(table, name, project)) for name in tables},
    }


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", add_values)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
