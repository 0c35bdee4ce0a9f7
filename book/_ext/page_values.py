"""Numbers that pages show in running text, computed by the library while the book is built."""

from sphinx.application import Sphinx
from sphinx.config import Config

import pvf

PATIENTS, CASES = 200, 20
CALLS = (10, 60)
FLAGS = {"A": (15, 15), "B": (7, 3)}  # true and false positives of two models


def worked_example() -> dict[str, str]:
    """Two models whose order depends on the capacity, as values for the page on methods."""
    head = "| Model | Flagged | Cases among them | Precision | Recall | F1 |"
    head += "".join(f" IE with room for {calls} |" for calls in CALLS)
    rows = [head, "| --- " * (6 + len(CALLS)) + "|"]
    rows += [_row(name, tp, fp) for name, (tp, fp) in FLAGS.items()]
    return {
        "n_patients": str(PATIENTS),
        "n_cases": str(CASES),
        "few_calls": str(CALLS[0]),
        "many_calls": str(CALLS[1]),
        "few_calls_by_chance": f"{CALLS[0] * CASES / PATIENTS:g}",
        "worked_example": "\n".join(rows),
    }


def _row(name: str, tp: int, fp: int) -> str:
    precision, recall = tp / (tp + fp), tp / CASES
    f1 = 2 * precision * recall / (precision + recall)
    efficiency = [
        pvf.intervention_efficiency_counts(tp, fp, CASES, PATIENTS - CASES, calls / PATIENTS)
        for calls in CALLS
    ]
    cells = [name, str(tp + fp), str(tp), *(f"{v:.2f}" for v in (precision, recall, f1))]
    return "| " + " | ".join([*cells, *(f"{value:.2f}" for value in efficiency)]) + " |"


def add_values(_: Sphinx, config: Config) -> None:
    """Offer the values to the pages as ``{{ name }}``."""
    config.myst_substitutions = {**config.myst_substitutions, **worked_example()}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", add_values)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
