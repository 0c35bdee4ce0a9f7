"""The papers' claims, and how a verdict on one follows from results."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pkgutil import resolve_name
from typing import Any

import pandas as pd

from studies.kit.results import read_result

__all__ = [
    "VERDICTS",
    "Finding",
    "claims",
    "in_words",
    "judge",
    "ledger",
    "ledger_text",
    "paper_numbers",
    "verdict",
    "verdict_on_numbers",
    "verdict_table",
]

#: All verdicts that a claim can get.
VERDICTS = ("reproduced", "direction only", "not reproduced", "untestable")


@dataclass(frozen=True)
class Finding:
    """What our results say about a claim.

    Parameters
    ----------
    verdict : str
        One of `VERDICTS`.
    says : str
        Our result in a sentence, with its numbers; of an untestable claim, what is missing.
    number, low, high : float or None
        Our main number and its interval, in the unit of the paper's, where there is one number.
    """

    verdict: str
    says: str
    number: float | None = None
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        """Refuse a verdict that is none."""
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {VERDICTS}, got {self.verdict!r}.")


@cache
def judge(claim: str) -> Finding:
    """Return what the committed full-scale results say about a claim.

    The claim's ``decide`` names a function that takes the claim, as `claims` returns it, and the
    tables that its ``tables`` name, as a mapping. Each table carries its provenance as
    ``attrs["provenance"]``.

    Parameters
    ----------
    claim : str
        Its id.

    Returns
    -------
    Finding

    Raises
    ------
    ValueError
        There is no such claim.
    """
    if claim not in claims():
        raise ValueError(f"claim must be an id of the ledger, got {claim!r}.")
    entry = claims()[claim]
    decide: Callable[[Mapping[str, Any], Mapping[str, pd.DataFrame]], Finding]
    decide = resolve_name(entry["decide"])
    return decide(entry, {name: _committed(name) for name in entry["tables"]})


@cache
def _committed(name: str) -> pd.DataFrame:
    """Read a committed table once, with its provenance among its attributes."""
    table, facts = read_result(name)
    table.attrs["provenance"] = facts
    return table


def ledger() -> pd.DataFrame:
    """Return every claim with its verdict, one row a claim.

    Returns
    -------
    DataFrame
        Indexed by claim: ``paper`` (a key of the bibliography), ``place``, ``statement``,
        ``verdict``, ``paper_numbers`` (text, "" if it prints none), our ``number`` with its
        interval ``low`` to ``high`` (missing where there is none) and its ``unit``, ``says`` (our
        result in a sentence), ``tolerance`` (what counts as reproduced), ``chapter``, ``figure``
        (the label of what shows it there) and ``tables`` (those that decide it, by commas).
    """
    rows = {}
    for claim, entry in claims().items():
        finding = judge(claim)
        rows[claim] = {
            **{key: entry[key] for key in ("paper", "place", "statement")},
            "verdict": finding.verdict,
            "paper_numbers": paper_numbers(entry.get("numbers", {})),
            **{key: getattr(finding, key) for key in ("number", "low", "high")},
            "unit": entry.get("unit", ""),
            "says": finding.says,
            **{key: entry[key] for key in ("tolerance", "chapter", "figure")},
            "tables": ", ".join(entry["tables"]),
        }
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("claim")
    return table.astype(dict.fromkeys(("number", "low", "high"), float))


def ledger_text(layout: str, ids: Sequence[str] = ()) -> str:
    """Write the ledger, or some claims of it, as text.

    Parameters
    ----------
    layout : {"table", "json", "csv"}
        A table to read, with a line of counts below; or all columns of `ledger`.
    ids : sequence of str
        Claims; all if there are none.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        There is no such claim.
    """
    unknown = sorted(set(ids) - set(claims()))
    if unknown:
        raise ValueError(f"ids must be claims of the ledger, got {', '.join(unknown)}.")
    table = ledger()
    table = table.loc[list(ids)] if ids else table
    if layout == "csv":
        return table.to_csv(lineterminator="\n")
    if layout == "json":
        records = table.reset_index().astype(object).where(table.reset_index().notna(), None)
        return json.dumps(records.to_dict("records"), indent=2, ensure_ascii=False)
    shown = pd.DataFrame(
        {
            "paper": table["paper"],
            "place": table["place"],
            "verdict": table["verdict"],
            "paper's number": table["paper_numbers"].replace("", "–"),
            "ours": [
                f"{in_words(*row)} {unit}".strip() or "–"
                for *row, unit in table[["number", "low", "high", "unit"]].itertuples(index=False)
            ],
            "chapter": table["chapter"],
        }
    )
    counts = ", ".join(f"{(table['verdict'] == kind).sum()} {kind}" for kind in VERDICTS)
    return f"{shown.to_string()}\n\n{len(table)} claims: {counts}"


def in_words(number: float | None, low: float | None = None, high: float | None = None) -> str:
    """Write a number with its interval in a few digits, or "" if there is none.

    Parameters
    ----------
    number, low, high : float or None
        None and NaN both mean that there is none.

    Returns
    -------
    str

    Examples
    --------
    >>> in_words(45.123, 40.2, 50.08), in_words(0.00903), in_words(None)
    ('45.1 (40.2 to 50.1)', '0.00903', '')
    """
    if number is None or pd.isna(number):
        return ""
    value = _digits(number)
    if low is None or high is None or pd.isna(low) or pd.isna(high):
        return value
    return f"{value} ({_digits(low)} to {_digits(high)})"


def _digits(number: float) -> str:
    # From 999.5, three digits are 1000, which "g" writes as 1e+03.
    return f"{number:,.0f}" if abs(number) >= 999.5 else f"{number:.3g}"


def verdict_table(ids: Iterable[str]) -> pd.DataFrame:
    """Return the ledger's verdicts on some claims, as a chapter shows them.

    Parameters
    ----------
    ids : iterable of str
        Claims, in the order of the rows.

    Returns
    -------
    DataFrame
        Indexed by claim: ``statement``, ``paper`` (its numbers, or "–"), ``what we found`` and
        ``verdict``. All texts.
    """
    rows = {}
    for claim in ids:
        finding = judge(claim)
        rows[claim] = {
            "statement": claims()[claim]["statement"],
            "paper": paper_numbers(claims()[claim].get("numbers", {})) or "–",
            "what we found": finding.says,
            "verdict": finding.verdict,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("claim")


def paper_numbers(numbers: Any) -> str:
    """Write the numbers that a paper prints as one line of text.

    Parameters
    ----------
    numbers : mapping, list or scalar
        As in the ledger.

    Returns
    -------
    str

    Examples
    --------
    >>> paper_numbers({"win": [43.3, 46.7], "tie": 20.0, "cores_used": 11})
    'win: 43.3, 46.7; tie: 20; cores used: 11'
    """
    if isinstance(numbers, Mapping):
        parts = (f"{str(k).replace('_', ' ')}: {paper_numbers(v)}" for k, v in numbers.items())
        return "; ".join(parts)
    if isinstance(numbers, list):
        return ", ".join(paper_numbers(value) for value in numbers)
    return f"{numbers:g}" if isinstance(numbers, float) else str(numbers)


@cache
def claims() -> dict[str, dict[str, Any]]:
    """Return every claim by its id: paper, place, statement, how it is decided, and its chapter.

    Each entry also has its ``id``.

    Returns
    -------
    dict of str to dict

    Examples
    --------
    >>> claims()["BRE-1"]["numbers"]
    {'win': 52.0, 'loss': 20.0, 'tie': 28.0}
    """
    entries = tomllib.loads(files("studies").joinpath("claims.toml").read_text(encoding="utf-8"))
    return {claim: {"id": claim, **entry} for claim, entry in entries.items()}


def verdict(*, reproduced: bool, direction: bool) -> str:
    """Return the verdict on a claim that can be tested.

    Parameters
    ----------
    reproduced : bool
        Whether all that the claim says holds.
    direction : bool
        Whether, if not all, its direction does.

    Returns
    -------
    str
        One of `VERDICTS`.

    Examples
    --------
    >>> verdict(reproduced=False, direction=True)
    'direction only'
    """
    if reproduced:
        return "reproduced"
    return "direction only" if direction else "not reproduced"


def verdict_on_numbers(
    paper: Mapping[str, float],
    intervals: Mapping[str, tuple[float, float]],
    *,
    same_direction: bool,
) -> str:
    """Judge a claim's numbers by our intervals.

    Parameters
    ----------
    paper : mapping of str to float
        The paper's numbers.
    intervals : mapping of str to (low, high)
        Our interval for each of them, in the same unit.
    same_direction : bool
        Whether our results have the paper's sign, with their interval clear of the opposite.

    Returns
    -------
    str
        "reproduced" if every interval covers the paper's number, else "direction only" if the
        direction is the same, else "not reproduced".

    Raises
    ------
    ValueError
        A number has no interval.

    Examples
    --------
    >>> verdict_on_numbers({"win": 52.0}, {"win": (40.0, 60.0)}, same_direction=True)
    'reproduced'
    >>> verdict_on_numbers({"win": 52.0}, {"win": (70.0, 90.0)}, same_direction=True)
    'direction only'
    """
    missing = sorted(set(paper) - set(intervals))
    if missing:
        raise ValueError(f"intervals must cover {sorted(paper)}, got none for {missing}.")
    covered = all(intervals[key][0] <= value <= intervals[key][1] for key, value in paper.items())
    return verdict(reproduced=covered, direction=same_direction)
