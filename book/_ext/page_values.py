"""What pages show of numbers, lists and tables, made while the book is built.

On the page on methods an example that the library computes; on the page on status how each chapter
was run and each committed table made; the ledger and lists of what makes what.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from claims_page import Lazy, ledger_values
from figure_data import list_of_figures
from sphinx.application import Sphinx
from sphinx.config import Config

import pvf
from book.tools.markdown import markdown_table
from book.tools.project import Project
from studies.kit.results import commit_name, duration

PATIENTS, CASES = 200, 20
CALLS = (10, 60)
FLAGS = {"A": (15, 15), "B": (7, 3)}  # true and false positives of two models


def worked_example() -> dict[str, str]:
    """Two models whose order depends on the capacity, as values for the page on methods."""
    return {
        "n_patients": str(PATIENTS),
        "n_cases": str(CASES),
        "few_calls": str(CALLS[0]),
        "many_calls": str(CALLS[1]),
        "few_calls_by_chance": f"{CALLS[0] * CASES / PATIENTS:g}",
        "worked_example": markdown_table([_row(name, *flags) for name, flags in FLAGS.items()]),
    }


def _row(name: str, tp: int, fp: int) -> dict[str, str]:
    precision, recall = tp / (tp + fp), tp / CASES
    efficiency = {
        f"IE with room for {calls}": pvf.intervention_efficiency_counts(
            tp, fp, CASES, PATIENTS - CASES, calls / PATIENTS
        )
        for calls in CALLS
    }
    rates = {
        "Precision": precision,
        "Recall": recall,
        "F1": 2 * precision * recall / (precision + recall),
        **efficiency,
    }
    counts = {"Model": name, "Flagged": str(tp + fp), "Cases among them": str(tp)}
    return counts | {heading: f"{value:.2f}" for heading, value in rates.items()}


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
                "Made by": f"`python -m studies tables {path.stem}`",
                "SHA-256 begins": f"`{facts['sha256'][:8]}`",
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
    """Offer all of them to the pages as ``{{ name }}``."""
    tables = (chapters_table, results_table, list_of_figures)
    config.myst_substitutions = {
        **config.myst_substitutions,
        **worked_example(),
        **ledger_values(),
        **{make.__name__: Lazy(partial(make, Project(Path(app.srcdir)))) for make in tables},
    }


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", add_values)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
