"""How each chapter was run and each committed table made, as values for the status page."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from claims_page import Lazy
from sphinx.application import Sphinx
from sphinx.config import Config

from book.tools.markdown import markdown_table
from book.tools.project import Project
from studies.kit.results import commit_name, duration

SHOWN = ("python", "numpy", "scipy", "pandas", "scikit-learn")
SCALES = {"full": "full", "reduced": "reduced", "other": "values chosen by hand"}


def chapters_table(project: Project) -> str:
    """Markdown table of the executed notebooks, from what papermill and the runner noted."""
    rows = []
    for path in sorted(project.chapters.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        noted, papermill = notebook.metadata["pvf"], notebook.metadata["papermill"]
        times = _times(project, path.stem)
        versions = {name: noted["inputs"].get(name) for name in SHOWN}
        rows.append(
            {
                "Chapter": f"[](chapters/{path.name})",
                "Run": SCALES[noted["scale"]],
                "Commit": noted["commit"].removeprefix("commit "),
                "Wall time": duration(times["duration"]) if times else "–",
                "Parameters": _pairs(papermill["parameters"]),
                "Run at": times.get("start_time", "–")[:16].replace("T", " "),
                "Versions": ", ".join(f"{name} {v}" for name, v in versions.items() if v),
            }
        )
    return markdown_table(rows)


def _times(project: Project, stem: str) -> dict[str, Any]:
    """Return when a chapter was run and how long it took, if it was run on this machine."""
    path = project.logs / f"{stem}.times.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def results_table(project: Project) -> str:
    """Markdown table of the committed tables, from their provenance."""
    rows = []
    for path in sorted(project.results.glob("*.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        settings = dict(facts["settings"])
        repetitions = settings.pop("n_repetitions", "–")
        machine = facts["machine"]
        rows.append(
            {
                "Table": (
                    f"`{path.stem}`: {{download}}`CSV <results/{path.stem}.csv>`, "
                    f"{{download}}`provenance <results/{path.name}>`"
                ),
                "Holds": facts["notes"],
                "Rows": f"{facts['rows']:,}",
                "Commit": commit_name(facts["git"]),
                "Seed": facts["seed"],
                "Repetitions": f"{repetitions:,}" if isinstance(repetitions, int) else repetitions,
                "Other settings": _pairs(settings) or "–",
                "Wall time": duration(facts["wall_time"]),
                "Machine": f"{machine['cpu']}, {machine['cores']} cores, {machine['platform']}",
                "Made": facts["created"][:10],
            }
        )
    return markdown_table(rows)


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"`{name} = {value}`" for name, value in values.items())


def add_values(app: Sphinx, config: Config) -> None:
    """Offer the tables to the page as ``{{ chapters_table }}`` and ``{{ results_table }}``."""
    project = Project(Path(app.srcdir))
    config.myst_substitutions = {
        **config.myst_substitutions,
        "chapters_table": Lazy(partial(chapters_table, project)),
        "results_table": Lazy(partial(results_table, project)),
    }


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", add_values)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
