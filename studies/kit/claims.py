"""The papers' claims, and how a verdict on one follows from results."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from studies.kit.verdicts import LABELS, Part, Region, Verdict, judge_parts

if TYPE_CHECKING:
    from studies.kit.study import Study

#: The claims' prefixes in the order of the ledger.
ORDER = ("IE", "SYN", "SEN", "CER", "BRE", "REAL", "THE", "LAB", "CPX", "RC", "PMV")


@dataclass(frozen=True)
class Finding:
    """What our committed results say about a claim.

    Parameters
    ----------
    verdict : str
        One of `studies.kit.verdicts.LABELS`.
    says : str
        Our result in a sentence, with its numbers; of an untestable claim, what is missing.
    number, low, high : float or None
        Our main number and its interval, in the unit of the paper's, where there is one number.
    parts : sequence of Part
        What the verdict follows from, with joint intervals.
    numbers : str
        Whether the paper's numbers are ``compatible`` with single runs, ``different``, or
        ``none``.
    note : str
        What the verdict leaves out.
    """

    verdict: str
    says: str
    number: float | None = None
    low: float | None = None
    high: float | None = None
    parts: Sequence[Part] = ()
    numbers: str = "none"
    note: str = ""


@cache
def judge(claim: str) -> Finding:
    """Return what the committed full-scale results say about a claim, given by its id.

    Raises
    ------
    ValueError
        There is no such claim.
    """
    if claim not in claims():
        raise ValueError(f"claim must be an id of the ledger, got {claim!r}.")
    from studies.catalogue import STUDIES  # noqa: PLC0415  the studies import this module

    return judge_with(claims()[claim], STUDIES[claims()[claim]["study"]])


def judge_with(entry: Mapping[str, Any], study: Study) -> Finding:
    """Judge a claim by its rule and the committed results of its study.

    Where the entry names tie rules (``ties``), it is judged under each; the label is that of the
    rule that its parts name, and the note says if another rule changes it.
    """
    estimates, runs = study.reference, study.reference_runs
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
    says = entry.get("found") or "; ".join(_in_families(found.parts))
    return Finding(found.label, says, number, low, high, found.parts, found.numbers, note)


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
    named = {rule["quantity"] for rule in entry["parts"] if "quantity" in rule}
    known = estimates[estimates["quantity"].isin(named)].to_dict("records")
    parts = []
    for rule in entry["parts"]:
        if "untestable" in rule:
            parts.append(Part(rule["says"], untestable=rule["untestable"]))
            continue
        paper = rule.get("paper", [])
        rows = [row for row in known if row["quantity"] == rule["quantity"]]
        for where in _settings(rule):
            found = [row for row in rows if all(row[key] == where[key] for key in where)]
            if len(found) != 1:
                raise ValueError(
                    f"{entry['id']} must name one estimate by {rule['quantity']!r} and {where}, "
                    f"got {len(found)}."
                )
            row = found[0]
            parts.append(
                Part(
                    rule["says"].format(**where),
                    *(float(row[key]) for key in ("estimate", "low", "high", "n")),
                    region=Region.read(rule["region"]) if "region" in rule else None,
                    paper=tuple(map(float, paper if isinstance(paper, list) else [paper])),
                    run_low=float(row.get("run_low", float("nan"))),
                    run_high=float(row.get("run_high", float("nan"))),
                    family=_family(rule["says"]),
                )
            )
    return parts


def _family(says: str) -> str:
    """Return the statement that a template makes in every setting, or "" if it is no template.

    >>> _family("{metric}, σ = {sigma:g}: PVF leads"), _family("{metric}: no gain for {dataset}")
    ('each σ: PVF leads', 'no gain for each dataset')
    """
    if "{" not in says:
        return ""
    text = re.sub(r"^\{metric\}(, |: )", "", says)
    return re.sub(r"\{(\w+)[^}]*\}", r"each \1", re.sub(r"σ = \{sigma[^}]*\}", "each σ", text))


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


def _in_families(parts: Sequence[Part]) -> Iterator[str]:
    """Say what was found on parts, those that make one statement in many settings together."""
    for family, group in groupby(parts, key=lambda part: part.family or part.says):
        members = list(group)
        if len(members) == 1:
            yield _part_in_words(members[0])
            continue
        counts = Counter(part.outcome for part in members if part.outcome)
        told = ", ".join(f"{outcome} in {n} of {len(members)}" for outcome, n in counts.items())
        found = [part.estimate for part in members if not pd.isna(part.estimate)]
        ends = f"{_digits(min(found))} to {_digits(max(found))}" if found else ""
        yield f"{family}: " + ", ".join(filter(None, [told, ends]))


def _part_in_words(part: Part) -> str:
    """Say what was found on a part."""
    if part.untestable:
        return f"{part.says}: untestable ({part.untestable})"
    outcome = f": {part.outcome}" if part.outcome else ""
    number = in_words(part.estimate, part.low, part.high)
    return f"{part.says}{outcome}" + (f", {number}" if number else "")


def part_lines(parts: Sequence[Part]) -> Iterator[str]:
    """Say of each part what was found, where `Finding.says` has them together."""
    if any(part.family for part in parts):
        yield from map(_part_in_words, parts)


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
        words.append(
            f"{_family(rule['says']) or rule['says']}: {rest}" + (f" ({where})" if where else "")
        )
    return ". ".join(words)


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


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
            "note": finding.note,
            **{key: getattr(finding, key) for key in ("number", "low", "high")},
            "unit": entry.get("unit", ""),
            "says": finding.says,
            "tolerance": rule_in_words(entry),
            **{key: entry[key] for key in ("chapter", "figure")},
            "tables": entry["study"],
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
    counts = ", ".join(f"{(table['verdict'] == kind).sum()} {kind}" for kind in LABELS)
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
