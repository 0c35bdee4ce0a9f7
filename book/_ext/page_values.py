"""Numbers that pages show in running text, computed by the library while the book is built."""

from sphinx.application import Sphinx
from sphinx.config import Config

import pvf
from book.tools.markdown import markdown_table

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


def add_values(_: Sphinx, config: Config) -> None:
    """Offer the values to the pages as ``{{ name }}``."""
    config.myst_substitutions = {**config.myst_substitutions, **worked_example()}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", add_values)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
