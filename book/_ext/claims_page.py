"""The ledger as values for the pages: its table, its counts, and each claim's numbers.

All are computed when a page asks for them, from the committed tables.
"""

import re
import tomllib
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import FileSystemLoader
from sphinx.application import Sphinx

import studies
from book.tools.markdown import markdown_table
from pvf._outputs import write_whole
from pvf.render import environment
from studies.kit.claims import Finding, claims, in_words, judge, ledger, ledger_text, part_lines
from studies.kit.results import results_folder
from studies.kit.verdicts import LABELS, Part
from studies.pvf2026.clinical import REACHED
from studies.rules import POWER, RULES_STUDY
from studies.rules.show import numbers, wall_table
from studies.rules.wall import write_sheets

PAPERS = {
    "zhang2026pvf": "Zhang, Tran and Weng (2026)",
    "hsu2022rashomon": "Hsu and Calmon (2022)",
    "zhang2019pmv": "Zhang et al. (2019)",
}
SHORT = {"zhang2026pvf": "PVF", "hsu2022rashomon": "Capacity", "zhang2019pmv": "PMV"}
MARKS = dict(zip(LABELS, "●◕◐○?–", strict=True))
CLASSES = {kind: f"verdict-{re.sub(r'[ ,]+', '-', kind)}" for kind in LABELS}


#: What people type for the letters of the papers.
LETTERS = {"σ": "sigma", "γ": "gamma", "ε": "epsilon", "μ": "mu", "π": "pi", "λ": "lambda"}


class Lazy:
    """A text that is made when a page shows it."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make

    def __str__(self) -> str:
        return self._make()


class Asked(dict):
    """What a page asks for by its name is made then, and kept; Sphinx keeps it with the pages."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, name: str) -> Any:
        self[name] = self._make(name)
        return self[name]


def finding(name: str) -> Finding:
    """Return what we found on a claim, given its id with an underscore: ``finding.SYN_10.low``."""
    return judge(name.replace("_", "-"))


def printed(name: str) -> dict[str, Any]:
    """Return what the paper prints: ``paper.SYN_10.seconds``."""
    return claims()[name.replace("_", "-")]["numbers"]


def rule_number(name: str) -> Any:
    """Return a number of the study of rules, as its chapter has it."""
    return _rule_numbers()[name]


@cache
def _rule_numbers() -> dict[str, Any]:
    n_cohorts = RULES_STUDY.settings.full().n_primary
    found = numbers(RULES_STUDY.reference, POWER.reference, n_cohorts)
    return {**found, "minutes": RULES_STUDY.committed()[1]["wall_time"] / 60}


def wall(capacity: float) -> str:
    """Return the table for practitioners in Markdown, for a capacity."""
    table = wall_table(RULES_STUDY.reference, f"IE@{capacity:g}")
    return markdown_table(table.to_dict("records"))


def accuracy_change(distribution: str) -> str:
    """Return by how much PMV's printed test accuracies change with the noise, at most."""
    table = pd.read_csv(results_folder() / "paper" / "pmv_table1.csv", comment="#")
    table = table[table["distribution"] == distribution]
    by_model = table.groupby("model")["test_accuracy"]
    return f"{(by_model.max() - by_model.min()).max():.2f}"


def count(name: str) -> int:
    """Return how many claims there are: all, a paper's, those with a verdict, or both."""
    table, (first, _, rest) = ledger(), name.partition(" ")
    if first in PAPERS:
        table, name = table[table["paper"] == first], rest
    if name in ("claims", ""):
        return len(table)
    if name not in LABELS:
        raise KeyError(f"no count of the ledger is called {name!r}")
    return int((table["verdict"] == name).sum())


def natural(claim: str) -> tuple[str, int]:
    """Return what orders claims: SYN-2 before SYN-10."""
    prefix, number = claim.rsplit("-", 1)
    return prefix, int(number)


def _reached() -> dict[tuple, dict[str, float]]:
    """Return the cases that ten places reach in a hundred patients, by data set, σ and way."""
    found = REACHED.reference.query("capacity == 0.1").rename(columns={"estimate": "number"})
    found = found.set_index(["dataset", "sigma", "quantity"])
    return found[["number", "low", "high"]].to_dict("index")


def html(part: str, template: str = "claims.html.j2", *, of: str | None = None) -> str:
    """Return a part of a template beside this file, filled from the ledger; of a chapter or all."""
    facts = {
        "kinds": LABELS,
        "marks": MARKS,
        "classes": CLASSES,
        "verdicts": {kind: kind for kind in LABELS},
        "papers": PAPERS,
        "short": SHORT,
        "short_papers": {key: f"{SHORT[key]}: {name}" for key, name in PAPERS.items()},
        "count": count,
        "rows": _rows(),
        "change_rows": rule_changes(),
        "reached_cases": _reached(),
        "in_words": in_words,
    }
    pages = environment("html").overlay(loader=FileSystemLoader(Path(__file__).parent))
    pages.filters["in_words"] = in_words
    module = pages.get_template(template).make_module(facts)
    return str(getattr(module, part)(*filter(None, [of])))


def verdict_chips(stem: str) -> str:
    """Return links to a chapter's claims in the ledger, each with its verdict."""
    return html("chips", of=stem)


def _printed(entry: dict[str, Any], part: Part) -> tuple[float, ...]:
    """Return what the paper prints in the unit of a claim's number; of shares, the lead."""
    numbers = entry.get("numbers", {})
    if part.paper or not {"win", "loss"} <= set(numbers):
        return part.paper
    ends = [np.ravel(numbers[share]) for share in ("win", "loss")]
    return tuple(
        sorted({float(ends[0].min() - ends[1].max()), float(ends[0].max() - ends[1].min())})
    )


def _axis(part: Part, paper: Sequence[float]) -> dict[str, Any] | None:
    """Return where a claim's main part stands on one axis, from the least to the largest value."""
    ours = [part.low, part.estimate, part.high] if part.low == part.low else [part.estimate] * 3
    run = [] if np.isnan(part.run_low) else [part.run_low, part.run_high]
    marks = [end for end in (part.region or ())[:2] if np.isfinite(end)]
    known = [*ours, *run, *marks, *paper]
    least, most = min(known), max(known)
    if np.isnan(least) or least == most:
        return None
    told = in_words(part.estimate, part.low, part.high)
    shown = {"ours": ours, "run": run, "marks": marks, "paper": paper}
    return {"says": part.says, "told": told, "least": least, "most": most, **shown}


def rule_changes() -> list[dict[str, Any]]:
    """Return every change of a rule, as its file lists them."""
    path = Path(studies.__file__).parent / "rule_changes.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))["change"]


@cache
def _rows() -> list[dict[str, Any]]:
    """Return what each claim's row shows, paper by paper, with what orders it."""
    table = ledger()
    ranks = {claim: rank for rank, claim in enumerate(sorted(table.index, key=natural))}
    rows = []
    for claim, row in sorted(table.iterrows(), key=lambda item: list(PAPERS).index(item[1].paper)):
        finding, entry = judge(claim), claims()[claim]
        main = finding.parts[entry.get("main", 0)]
        letters = [word for letter, word in LETTERS.items() if letter in str(row.to_list())]
        ours = in_words(row["number"], row["low"], row["high"])
        rows.append(
            {
                **row,
                "claim": claim,
                "study": entry["study"],
                "axis": None if main.untestable else _axis(main, _printed(entry, main)),
                "parts": [*part_lines(finding.parts)],
                "words": " ".join([row["chapter"].replace("_", " "), *letters]),
                "number_sort": f"{row['number'] + 1e9:020.6f}" if ours else "",
                "rank": f"{ranks[claim]:04d}",
                "ours": f"{ours} {row['unit']}".strip(),
            }
        )
    return rows


def ledger_values() -> dict[str, Any]:
    """Return what pages show of the ledger: ``{{ claims_table }}``, ``{{ rules.tables }}``."""
    return {
        "start_reached": Lazy(partial(html, "reached", "start.html.j2")),
        "start_bars": Lazy(partial(html, "bars", "start.html.j2")),
        "rule_changes": Lazy(partial(html, "changes")),
        "claims_table": Lazy(partial(html, "table")),
        "claims_counts": Lazy(partial(html, "counts")),
        "count": Asked(count),
        "finding": Asked(finding),
        "rules": Asked(rule_number),
        "wall": Asked(wall),
        "paper": Asked(printed),
        "pmv_change": Asked(accuracy_change),
    }


def write_files(app: Sphinx) -> None:
    """Write what pages offer to download, which takes seconds, where there are such pages."""
    pages, made = Path(app.srcdir) / "book", Path(app.outdir) / "book"
    if (pages / "claims.md").is_file():
        made.mkdir(parents=True, exist_ok=True)
        for layout in ("csv", "json"):
            write_whole(made / f"claims.{layout}", ledger_text(layout).encode())
    if (pages / "wall.md").is_file():  # the sheets have to be there before their page is read
        sheets = Path(app.srcdir) / "_build" / "wall"
        write_sheets(sheets, RULES_STUDY.reference, RULES_STUDY.committed()[1])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", write_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
