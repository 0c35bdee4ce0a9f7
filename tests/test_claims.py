"""The ledger of verdicts: complete, computed from the committed tables, and never typed."""

import pytest

import pvf.claims
from pvf.claims import Finding, judge, paper_numbers, verdict_table


def _largest(claim, tables):
    """Decide an invented claim: the number of rows of its table."""
    (table,) = tables.values()
    rows, facts = len(table), table.attrs["provenance"]
    assert facts["rows"] == rows
    kind = "reproduced" if rows == claim["numbers"]["rows"] else "not reproduced"
    return Finding(kind, f"{rows} rows", rows)


@pytest.fixture
def invented(monkeypatch):
    """Put two invented claims in the ledger's place, of which one holds."""
    entry = {"statement": "So many rows.", "decide": "test_claims._largest"}
    entry["tables"] = ["cervical_data"]
    entries = {
        "A-1": {**entry, "numbers": {"rows": 5}},
        "A-2": {**entry, "numbers": {"rows": 6}},
    }
    monkeypatch.setattr(pvf.claims, "claims", lambda: entries)


def test_verdict_table_says_what_judge_says(invented):
    """One row a claim in the order asked for: the paper's numbers, ours, and the verdict."""
    table = verdict_table(["A-2", "A-1"])
    assert table.index.tolist() == ["A-2", "A-1"]
    assert table["verdict"].tolist() == ["not reproduced", "reproduced"]
    assert table["paper"].tolist() == ["rows: 6", "rows: 5"]
    assert table["what we found"].tolist() == ["5 rows", "5 rows"]
    assert judge("A-1").number == 5


def test_unknown_claims_are_refused(invented):
    """A claim that the ledger lacks is named in the error."""
    with pytest.raises(ValueError, match="'B-1'"):
        judge("B-1")


def test_a_verdict_that_is_none_is_refused():
    """A finding takes one of the four verdicts."""
    with pytest.raises(ValueError, match="'plausible'"):
        Finding("plausible", "It may be so.")


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ({}, ""),
        ({"win": [43.3, 46.7], "tie": 20.0}, "win: 43.3, 46.7; tie: 20"),
        ({"minutes_50": 1642}, "minutes 50: 1642"),
    ],
    ids=["none", "range", "underscore"],
)
def test_paper_numbers_are_written_as_printed(numbers, text):
    """Names without underscores, lists with commas, whole floats without a point."""
    assert paper_numbers(numbers) == text
