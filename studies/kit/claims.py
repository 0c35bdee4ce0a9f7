"""The papers' claims, and how a verdict on one follows from results."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import pandas as pd

from studies.kit.results import read_result
from studies.kit.verdicts import LABELS, Part, Region, Verdict, judge_parts

if TYPE_CHECKING:
    from studies.kit.study import Study

__all__ = [
    "VERDICTS",
    "Finding",
    "Judged",
    "claims",
    "in_words",
    "judge",
    "judge_with",
    "ledger",
    "ledger_text",
    "paper_numbers",
    "parts_of",
    "rule_in_words",
    "tables_of",
    "verdict",
    "verdict_on_numbers",
    "verdict_table",
]

#: All verdicts that the ledger's claims get, which are judged by functions of their own.
VERDICTS = ("reproduced", "direction only", "not reproduced", "untestable")

#: The claims' prefixes in the order of the ledger.
ORDER = ("IE", "SYN", "SEN", "CER", "BRE", "REAL", "THE", "LAB", "CPX", "RC", "PMV")


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
        known = dict.fromkeys((*VERDICTS, *LABELS))
        if self.verdict not in known:
            raise ValueError(f"verdict must be one of {list(known)}, got {self.verdict!r}.")


@dataclass(frozen=True)
class Judged(Finding):
    """A finding with the parts that it follows from, whether numbers fit, and what it leaves out.

    Parameters
    ----------
    parts : sequence of Part
        With joint intervals.
    numbers : str
        Whether the paper's numbers are ``compatible`` with single runs, ``different``, or
        ``none``.
    note : str
        What the verdict leaves out.
    """

    parts: Sequence[Part] = ()
    numbers: str = "none"
    note: str = ""


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
    if "decide" not in entry:
        from studies.catalogue import STUDIES  # noqa: PLC0415  the studies import this module

        return judge_with(entry, STUDIES[entry["study"]])
    decide: Callable[[Mapping[str, Any], Mapping[str, pd.DataFrame]], Finding]
    decide = resolve_name(entry["decide"])
    return decide(entry, {name: _committed(name) for name in entry["tables"]})


def judge_with(entry: Mapping[str, Any], study: Study) -> Judged:
    """Judge a claim by its rule and the committed results of its study.

    Where the entry names tie rules (``ties``), it is judged under each; the label is that of the
    rule that its parts name, and the note says if another rule changes it.
    """
    table = _committed(study.name)
    estimates, runs = study.estimate(table), study.runs(table)
    found = _verdict(entry, study, estimates, runs)
    note = found.note
    labels = {
        rule: _verdict(_under(entry, rule), study, estimates, runs).label
        for rule in entry.get("ties", ())
    }
    if len({found.label, *labels.values()}) > 1:
        by_rule = ", ".join(f"{rule} {label}" for rule, label in labels.items())
        note = "; ".join(filter(None, [note, f"depends on ties: {by_rule}"]))
    main = found.parts[entry.get("main", 0)]
    number, low, high = (
        None if pd.isna(value) else value for value in (main.estimate, main.low, main.high)
    )
    says = entry.get("found") or "; ".join(map(_part_in_words, found.parts))
    return Judged(found.label, says, number, low, high, found.parts, found.numbers, note)


def _verdict(
    entry: Mapping[str, Any], study: Study, estimates: pd.DataFrame, runs: pd.DataFrame | None
) -> Verdict:
    if entry["id"] in study.claims:
        return judge_parts(study.claims[entry["id"]](estimates, entry))
    return judge_parts(parts_of(entry, estimates), _printed_runs(entry, runs))


def _under(entry: Mapping[str, Any], rule: str) -> dict[str, Any]:
    """Return a claim's entry with all its parts under another tie rule."""
    parts = [
        {**part, "where": {**part.get("where", {}), "tie_break": rule}} for part in entry["parts"]
    ]
    return {**entry, "parts": parts}


def _settings(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield each setting of a part; a list among its keys stands for one part each."""
    where = part.get("where", {})
    values = [value if isinstance(value, list) else [value] for value in where.values()]
    yield from (dict(zip(where, combination, strict=True)) for combination in product(*values))


def _rows(frame: pd.DataFrame, quantity: str, where: Mapping[str, Any]) -> pd.DataFrame:
    chosen = frame["quantity"] == quantity
    for key, value in where.items():
        chosen &= frame[key] == value
    return frame[chosen]


def parts_of(entry: Mapping[str, Any], estimates: pd.DataFrame) -> list[Part]:
    """Return the parts of a claim, each with the one estimate that its rule names.

    Parameters
    ----------
    entry : mapping
        Of `claims`, with ``parts``: each has ``says``, and ``quantity``, ``where`` (keys of the
        estimates), ``region`` and ``paper`` (a number or a range), or ``untestable``.
    estimates : DataFrame
        In the schema of `studies.kit.estimates`.

    Returns
    -------
    list of Part

    Raises
    ------
    ValueError
        A part does not name one estimate.
    """
    parts = []
    for rule in entry["parts"]:
        if "untestable" in rule:
            parts.append(Part(rule["says"], untestable=rule["untestable"]))
            continue
        paper = rule.get("paper", [])
        for where in _settings(rule):
            rows = _rows(estimates, rule["quantity"], where)
            if len(rows) != 1:
                raise ValueError(
                    f"{entry['id']} must name one estimate by {rule['quantity']!r} and {where}, "
                    f"got {len(rows)}."
                )
            row = rows.iloc[0]
            estimate, low, high, n = map(float, row[["estimate", "low", "high", "n"]])
            parts.append(
                Part(
                    rule["says"].format(**where),
                    *(estimate, low, high, n),
                    region=Region.read(rule["region"]) if "region" in rule else None,
                    paper=tuple(map(float, paper if isinstance(paper, list) else [paper])),
                    run_low=float(row.get("run_low", float("nan"))),
                    run_high=float(row.get("run_high", float("nan"))),
                )
            )
    return parts


def _printed_runs(entry: Mapping[str, Any], runs: pd.DataFrame | None) -> Any:
    """Return single runs of a claim's printed values, one column each, or None."""
    rules = [rule for rule in entry["parts"] if "paper" in rule and "untestable" not in rule]
    if runs is None or not rules:
        return None
    columns = [
        _rows(runs, rule["quantity"], where).set_index("run")["value"]
        for rule in rules
        for where in _settings(rule)
    ]
    return pd.concat(columns, axis=1).to_numpy()


def _part_in_words(part: Part) -> str:
    """Say what was found on a part."""
    if part.untestable:
        return f"{part.says}: untestable ({part.untestable})"
    outcome = f": {part.outcome}" if part.outcome else ""
    number = in_words(part.estimate, part.low, part.high)
    return f"{part.says}{outcome}" + (f", {number}" if number else "")


def rule_in_words(entry: Mapping[str, Any]) -> str:
    """Say how a claim is judged.

    Examples
    --------
    >>> rule_in_words({"parts": [{"says": "wins", "quantity": "lead", "region": "> 0"}]})
    'wins: lead > 0'
    """
    if "tolerance" in entry:
        return str(entry["tolerance"])
    words = []
    for rule in entry["parts"]:
        where = ", ".join(
            f"{key} = {_listed(value)}" for key, value in rule.get("where", {}).items()
        )
        test = f"{rule['quantity']} {rule['region']}" if "region" in rule else ""
        paper = f"the paper prints {_listed(rule['paper'])}" if "paper" in rule else ""
        rest = "; ".join(filter(None, [test, paper, rule.get("untestable", "")]))
        words.append(f"{rule['says']}: {rest}" + (f" ({where})" if where else ""))
    return ". ".join(words)


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


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
        ``verdict``, ``paper_numbers`` (text, "" if it prints none), ``note`` (what the verdict
        leaves out), our ``number`` with its interval ``low`` to ``high`` (missing where there is
        none) and its ``unit``, ``says`` (our result in a sentence), ``tolerance`` (how it is
        judged), ``chapter``, ``figure`` (the label of what shows it there) and ``tables`` (those
        that decide it, by commas).
    """
    rows = {}
    for claim, entry in claims().items():
        finding = judge(claim)
        rows[claim] = {
            **{key: entry[key] for key in ("paper", "place", "statement")},
            "verdict": finding.verdict,
            "paper_numbers": paper_numbers(entry.get("numbers", {})),
            "note": getattr(finding, "note", ""),
            **{key: getattr(finding, key) for key in ("number", "low", "high")},
            "unit": entry.get("unit", ""),
            "says": finding.says,
            "tolerance": rule_in_words(entry),
            **{key: entry[key] for key in ("chapter", "figure")},
            "tables": ", ".join(tables_of(claim)),
        }
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("claim")
    return table.astype(dict.fromkeys(("number", "low", "high"), float))


def tables_of(claim: str) -> list[str]:
    """Name the committed tables that decide a claim."""
    entry = claims()[claim]
    return list(entry["tables"]) if "tables" in entry else [entry["study"]]


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
    entries: dict[str, dict[str, Any]] = {}
    for path in sorted(Path(__file__).parents[1].rglob("claims.toml")):
        entries |= tomllib.loads(path.read_text(encoding="utf-8"))
    return {claim: {"id": claim, **entries[claim]} for claim in sorted(entries, key=_in_order)}


def _in_order(claim: str) -> tuple[int, int]:
    """Order claims by paper and chapter, then by number."""
    prefix, number = claim.rsplit("-", 1)
    return ORDER.index(prefix), int(number)


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
