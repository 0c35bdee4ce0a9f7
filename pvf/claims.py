"""The papers' claims, and how a verdict on one follows from results."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pkgutil import resolve_name
from typing import Any

import pandas as pd

from pvf.store import read_result

__all__ = [
    "VERDICTS",
    "Finding",
    "claims",
    "judge",
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
    """Return every claim by its id: paper, place, statement, chapter, and the paper's numbers.

    Returns
    -------
    dict of str to dict

    Examples
    --------
    >>> claims()["BRE-1"]["numbers"]
    {'win': 52.0, 'loss': 20.0, 'tie': 28.0}
    """
    return tomllib.loads(files("pvf").joinpath("claims.toml").read_text(encoding="utf-8"))


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
