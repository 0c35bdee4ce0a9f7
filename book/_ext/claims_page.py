"""The ledger as values for the pages: its table, its counts, and each claim's numbers.

All are computed when a page asks for them, from the committed tables.
"""

import re
from collections.abc import Callable
from html import escape
from typing import Any

import pandas as pd
from sphinx.application import Sphinx
from sphinx.config import Config

from studies.kit.claims import VERDICTS, claims, in_words, judge, ledger
from studies.kit.results import results_folder

PAPERS = {
    "zhang2026pvf": "Zhang, Tran and Weng (2026)",
    "hsu2022rashomon": "Hsu and Calmon (2022)",
    "zhang2019pmv": "Zhang et al. (2019)",
}
SHORT = {"zhang2026pvf": "PVF", "hsu2022rashomon": "Capacity", "zhang2019pmv": "PMV"}
MARKS = {
    "reproduced": "●",
    "holds, numbers differ": "◕",
    "direction only": "◐",
    "in part": "◐",
    "not reproduced": "○",
    "undecided": "?",
    "untestable": "–",
}
CLASSES = {kind: f"verdict-{re.sub(r'[ ,]+', '-', kind)}" for kind in VERDICTS}


class Lazy:
    """A text that is made when a page shows it."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make

    def __str__(self) -> str:
        return self._make()


class Findings(dict):
    """What we found on each claim, under its id with an underscore: ``finding.SYN_10.number``."""

    def __missing__(self, name: str) -> Any:
        self[name] = judge(name.replace("_", "-"))
        return self[name]


class Printed(dict):
    """What the papers print, under the id with an underscore: ``paper.SYN_10.seconds``."""

    def __missing__(self, name: str) -> Any:
        self[name] = claims()[name.replace("_", "-")]["numbers"]
        return self[name]


class Changes(dict):
    """By how much PMV's printed test accuracies change with the noise, at most, by data set."""

    def __missing__(self, name: str) -> str:
        table = pd.read_csv(results_folder() / "paper" / "pmv_table1.csv", comment="#")
        table = table[table["distribution"] == name]
        by_model = table.groupby("model")["test_accuracy"]
        self[name] = f"{(by_model.max() - by_model.min()).max():.2f}"
        return self[name]


class Counts(dict):
    """How many claims have a verdict; ``claims`` is all of them, and a paper's key its own."""

    def __missing__(self, name: str) -> int:
        table = ledger()
        self |= {"claims": len(table)}
        self |= {kind: int((table["verdict"] == kind).sum()) for kind in VERDICTS}
        self |= {paper: int((table["paper"] == paper).sum()) for paper in PAPERS}
        self |= {
            f"{paper} {kind}": int(((table["paper"] == paper) & (table["verdict"] == kind)).sum())
            for paper in PAPERS
            for kind in VERDICTS
        }
        if name not in self:
            raise KeyError(f"no count of the ledger is called {name!r}")
        return self[name]


def natural(claim: str) -> tuple[str, int]:
    """Return what orders claims: SYN-2 before SYN-10."""
    prefix, number = claim.rsplit("-", 1)
    return prefix, int(number)


def counts_table() -> str:
    """Return the number of claims by paper and verdict, as HTML."""
    table = ledger()
    papers = [paper for paper in PAPERS if (table["paper"] == paper).any()]
    head = "".join(f'<th scope="col">{badge(kind)}</th>' for kind in VERDICTS)
    rows = []
    for paper in [*papers, None]:
        part = table if paper is None else table[table["paper"] == paper]
        numbers = [(part["verdict"] == kind).sum() for kind in VERDICTS]
        cells = "".join(f"<td>{number}</td>" for number in [*numbers, len(part)])
        name = "All" if paper is None else escape(PAPERS[paper])
        rows.append(f'<tr><th scope="row">{name}</th>{cells}</tr>')
    return (
        '<div class="claims-counts" role="region" tabindex="0" aria-label="Counts of verdicts">'
        '<table class="table"><thead><tr><td></td>'
        f'{head}<th scope="col">all</th></tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def badge(kind: str) -> str:
    """Return a verdict with its mark, so that it does not depend on colour."""
    mark = f'<span aria-hidden="true">{MARKS[kind]}</span>'
    return f'<span class="verdict {CLASSES[kind]}">{mark} {kind}</span>'


#: Heading of each column, and whether it can be sorted.
COLUMNS = {
    "Claim": True,
    "What the paper says": False,
    "Where": True,
    "Verdict": True,
    "Paper’s number": False,
    "Ours": False,
    "Shown in": True,
}


def claims_table() -> str:
    """Return the ledger as one HTML table, in an order by claim; a script adds sort and filter."""
    table = ledger()
    order = sorted(table.index, key=lambda claim: list(PAPERS).index(table.loc[claim, "paper"]))
    ranks = {claim: rank for rank, claim in enumerate(sorted(table.index, key=natural))}
    head = "".join(_heading(name, sortable) for name, sortable in COLUMNS.items())
    rows = "".join(_row(claim, table.loc[claim], ranks[claim]) for claim in order)
    options = {
        "verdict": {kind: kind for kind in VERDICTS},
        "paper": {
            key: f"{SHORT[key]}: {name}"
            for key, name in PAPERS.items()
            if (table["paper"] == key).any()
        },
    }
    return (
        f'<div class="claims">{_controls(options, len(table))}'
        '<div class="claims-frame" role="region" tabindex="0" aria-label="Claims and verdicts">'
        '<table class="claims-table" role="table">'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead>'
        f'<tbody role="rowgroup">{rows}</tbody></table></div></div>'
    )


def _controls(options: dict[str, dict[str, str]], n_claims: int) -> str:
    selects = "".join(
        f'<label>{name.capitalize()} <select name="{name}"><option value="">all</option>'
        + "".join(f'<option value="{key}">{escape(text)}</option>' for key, text in found.items())
        + "</select></label>"
        for name, found in options.items()
    )
    return (
        '<form class="claims-controls" hidden>'
        '<label>Search <input type="search" name="words" autocomplete="off"></label>'
        f'{selects}<button type="reset">Show all</button>'
        f'<output role="status">{n_claims} of {n_claims} claims</output></form>'
    )


def _heading(name: str, sortable: bool) -> str:
    inner = f'<button type="button" disabled>{name}</button>' if sortable else name
    return f'<th scope="col" role="columnheader">{inner}</th>'


def _row(claim: str, row: pd.Series, rank: int) -> str:
    """Return one claim's row; ``data-sort`` orders its sortable cells."""
    numbers = in_words(row["number"], row["low"], row["high"])
    details = (
        f"<details><summary>What we found</summary><p>{escape(row['says'])}.</p>"
        f"<p>How it is judged: {escape(row['tolerance'])}.</p></details>"
    )
    note = f"<p>{escape(row['note'])}</p>" if row["note"] else ""
    chapter = re.match(r"\d+", row["chapter"])
    number = chapter.group() if chapter else "0"
    shown = f'chapter {int(number)}<span class="visually-hidden">, what shows {claim}</span>'
    link = f"chapters/{row['chapter']}.html#{row['figure'].replace('_', '-').lower()}"
    cells = {
        "What the paper says": (f"<p>{escape(row['statement'])}</p>{details}", ""),
        "Where": (
            f"{SHORT[row['paper']]}, {escape(row['place'])}",
            f"{row['paper']} {rank:04d}",
        ),
        "Verdict": (badge(row["verdict"]) + note, str(VERDICTS.index(row["verdict"]))),
        "Paper’s number": (escape(row["paper_numbers"]) or "–", ""),
        "Ours": (f"{numbers} {escape(row['unit'])}".strip() or "–", ""),
        "Shown in": (f'<a href="{link}">{shown}</a>', f"{number} {rank:04d}"),
    }
    text = "".join(
        f'<td role="cell" data-label="{name}" data-sort="{escape(key)}">{cell}</td>'
        for name, (cell, key) in cells.items()
    )
    first = f'<th scope="row" role="rowheader" data-sort="{rank:04d}">{claim}</th>'
    return (
        f'<tr role="row" id="claim-{claim.lower()}" data-verdict="{row["verdict"]}" '
        f'data-paper="{row["paper"]}">{first}{text}</tr>'
    )


def add_values(_: Sphinx, config: Config) -> None:
    """Offer the ledger to the pages as ``{{ claims_table }}`` and so on."""
    config.myst_substitutions = {
        **config.myst_substitutions,
        "claims_table": Lazy(claims_table),
        "claims_counts": Lazy(counts_table),
        "count": Counts(),
        "finding": Findings(),
        "paper": Printed(),
        "pmv_change": Changes(),
    }


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", add_values)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
