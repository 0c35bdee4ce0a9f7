"""The ledger of verdicts: complete, computed from the committed tables, and never typed."""

import html
import io
import json
import re
from dataclasses import FrozenInstanceError
from pkgutil import resolve_name

import nbformat
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from conftest import REPOSITORY
from scipy import stats

import studies.kit.claims
from book.tools.build import chapter_stems
from studies.__main__ import main
from studies.kit.claims import (
    VERDICTS,
    Finding,
    claims,
    in_words,
    judge,
    ledger,
    ledger_text,
    paper_numbers,
    verdict,
    verdict_on_numbers,
    verdict_table,
)
from studies.kit.results import read_result, results_folder
from studies.pvf2026.synthetic.show import GROUPS, PAPER_METRICS

#: Every statement of the three papers that the book sets out to check.
PAPERS = {
    "zhang2026pvf": [
        *(f"IE-{n}" for n in range(1, 5)),
        *(f"SYN-{n}" for n in range(1, 11)),
        *(f"SEN-{n}" for n in range(1, 10)),
        *(f"CER-{n}" for n in range(1, 5)),
        *(f"BRE-{n}" for n in range(1, 6)),
        "REAL-1",
        *(f"THE-{n}" for n in range(1, 8)),
        "LAB-1",
        "CPX-1",
    ],
    "hsu2022rashomon": [f"RC-{n}" for n in range(1, 11)],
    "zhang2019pmv": [f"PMV-{n}" for n in range(1, 11)],
}
ALL = [claim for ids in PAPERS.values() for claim in ids]
#: Text of each chapter's script.
CHAPTERS = {
    stem: (REPOSITORY.notebooks / f"{stem}.py").read_text(encoding="utf-8")
    for stem in chapter_stems(REPOSITORY)
}


@pytest.fixture(scope="module")
def whole():
    """Judge every claim once."""
    return ledger()


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
    monkeypatch.setattr(studies.kit.claims, "claims", lambda: entries)
    judge.cache_clear()
    yield
    judge.cache_clear()


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
    with pytest.raises(ValueError, match="must be claims of the ledger, got B-1, C-1"):
        ledger_text("table", ["C-1", "A-1", "B-1"])


def _typed(claim, tables):
    """Decide an invented claim: what its entry says."""
    assert list(tables) == claim["tables"]
    return Finding(*claim["finding"])


@pytest.fixture
def typed(monkeypatch):
    """Put three invented claims in the ledger's place, with and without numbers."""
    common = {"paper": "doe", "statement": "σ is so.", "decide": "test_claims._typed"}
    common |= {"tolerance": "a tenth", "chapter": "01_one"}
    entries = {
        "Z-1": {"place": "p. 1", "numbers": {"win": 52.0}, "unit": "%", "figure": "fig-z"}
        | {"finding": ("direction only", "40 of 99", 40.25, 30.5, 1234.5)}
        | {"tables": ["cervical_data", "efficiency_checks"]},
        "A-1": {"place": "p. 2", "figure": "fig-a", "tables": ["cervical_data"]}
        | {"finding": ("untestable", "no data")},
        "M-1": {"place": "p. 3", "unit": "min", "figure": "fig-m", "tables": ["cervical_data"]}
        | {"finding": ("direction only", "7 minutes", 7)},
    }
    entries = {claim: common | entry for claim, entry in entries.items()}
    monkeypatch.setattr(studies.kit.claims, "claims", lambda: entries)
    judge.cache_clear()
    yield
    judge.cache_clear()


def test_ledger_has_a_row_a_claim(typed):
    """Entry and finding stand side by side; what is missing is missing, and units are text."""
    table = ledger()
    assert table.index.name == "claim"
    assert table.index.tolist() == ["Z-1", "A-1", "M-1"]
    assert table.loc["Z-1"].to_dict() == {
        "paper": "doe",
        "place": "p. 1",
        "statement": "σ is so.",
        "verdict": "direction only",
        "paper_numbers": "win: 52",
        "note": "",
        "number": 40.25,
        "low": 30.5,
        "high": 1234.5,
        "unit": "%",
        "says": "40 of 99",
        "tolerance": "a tenth",
        "chapter": "01_one",
        "figure": "fig-z",
        "tables": "cervical_data, efficiency_checks",
    }
    assert table["paper_numbers"].tolist() == ["win: 52", "", ""]
    assert table["unit"].tolist() == ["%", "", "min"]
    np.testing.assert_array_equal(table["number"], [40.25, np.nan, 7])
    np.testing.assert_array_equal(table["low"], [30.5, np.nan, np.nan])
    assert set(table[["number", "low", "high"]].dtypes) == {np.dtype(float)}


def test_ledger_without_any_number_has_columns_of_numbers(typed, monkeypatch):
    """Claims that no number decides leave gaps, not None."""
    entries = {"A-1": studies.kit.claims.claims()["A-1"]}
    monkeypatch.setattr(studies.kit.claims, "claims", lambda: entries)
    numbers = ledger()[["number", "low", "high"]]
    assert set(numbers.dtypes) == {np.dtype(float)}
    assert numbers.isna().all(axis=None)


def test_ledger_is_written_for_people_and_programs(typed):
    """People get a line a claim and counts; JSON has null and CSV nothing where no number is."""
    lines = ledger_text("table").splitlines()
    cells = [re.split(r" {2,}", line.strip()) for line in lines[2:5]]
    header = ["paper", "place", "verdict", "paper's", "number", "ours", "chapter"]
    assert lines[0].split() == header
    assert cells[0] == [
        *("Z-1", "doe", "p. 1", "direction only", "win: 52", "40.2 (30.5 to 1,234) %", "01_one")
    ]
    assert cells[1] == ["A-1", "doe", "p. 2", "untestable", "–", "–", "01_one"]
    assert cells[2] == ["M-1", "doe", "p. 3", "direction only", "–", "7 min", "01_one"]
    counts = "0 reproduced, 2 direction only, 0 not reproduced, 1 untestable"
    assert lines[5:] == ["", f"3 claims: {counts}"]
    records = json.loads(ledger_text("json", ["M-1", "A-1"]))
    assert [record["claim"] for record in records] == ["M-1", "A-1"]
    assert [record["number"] for record in records] == [7.0, None]
    text = ledger_text("csv", ["A-1"])
    assert text.splitlines()[1] == (
        "A-1,doe,p. 2,σ is so.,untestable,,,,,,,no data,a tenth,01_one,fig-a,cervical_data"
    )
    assert text.endswith("\n")
    assert "\r" not in text
    assert '\n  {\n    "claim"' in ledger_text("json")
    assert "–" not in ledger_text("json")
    assert ledger_text("json").count('"σ is so."') == 3


def test_verdict_table_marks_a_claim_without_numbers(typed):
    """A dash stands where the paper prints no number."""
    table = verdict_table(["A-1", "Z-1"])
    assert table.index.name == "claim"
    assert table["paper"].tolist() == ["–", "win: 52"]
    assert table["statement"].tolist() == ["σ is so."] * 2
    assert table["what we found"].tolist() == ["no data", "40 of 99"]


def test_a_verdict_that_is_none_is_refused():
    """A finding takes one of the four verdicts."""
    with pytest.raises(ValueError, match="'plausible'"):
        Finding("plausible", "It may be so.")
    finding = Finding("untestable", "No data.")
    with pytest.raises(FrozenInstanceError):
        finding.verdict = "reproduced"


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ({}, ""),
        ({"win": [43.3, 46.7], "tie": 20.0}, "win: 43.3, 46.7; tie: 20"),
        ({"minutes_50": 1642}, "minutes 50: 1642"),
        ({"a_b_c": [1.5, 2], "who": "nobody"}, "a b c: 1.5, 2; who: nobody"),
        (20.0, "20"),
        ([0.1, 1234567], "0.1, 1234567"),
    ],
    ids=["none", "range", "underscore", "words", "scalar", "list"],
)
def test_paper_numbers_are_written_as_printed(numbers, text):
    """Names without underscores, lists with commas, whole floats without a point."""
    assert paper_numbers(numbers) == text


@pytest.mark.parametrize(
    ("reproduced", "direction", "expected"),
    [
        (True, True, "reproduced"),
        (True, False, "reproduced"),
        (False, True, "direction only"),
        (False, False, "not reproduced"),
    ],
)
def test_verdict_asks_for_the_direction_only_if_the_rest_fails(reproduced, direction, expected):
    """All four cases, written down."""
    assert verdict(reproduced=reproduced, direction=direction) == expected


@pytest.mark.parametrize(
    ("number", "covered"),
    [(39.9, False), (40.0, True), (50.0, True), (60.0, True), (60.1, False)],
)
def test_a_number_on_the_border_of_an_interval_is_covered(number, covered):
    """An interval has its ends; one number outside its own is enough to fail."""
    intervals = {"win": (40.0, 60.0), "tie": (5.0, 5.0), "unused": (0.0, 0.0)}
    for same_direction, else_ in ((True, "direction only"), (False, "not reproduced")):
        for paper in ({"win": number}, {"win": number, "tie": 5.0}, {"tie": 5.0, "win": number}):
            found = verdict_on_numbers(paper, intervals, same_direction=same_direction)
            assert found == ("reproduced" if covered else else_)


def test_a_number_without_an_interval_is_refused():
    """The error lists the numbers, and those that no interval is given for."""
    paper = dict.fromkeys("gfdecba", 52.0)
    lacking = r"\['b', 'c', 'd', 'e', 'f', 'g'\]"
    message = rf"intervals must cover \['a', 'b', 'c', .*'g'\], got none for {lacking}"
    for interval in ((40.0, 60.0), (70.0, 90.0)):
        with pytest.raises(ValueError, match=message):
            verdict_on_numbers(paper, {"a": interval}, same_direction=True)


# --- The ledger is whole ------------------------------------------------------------------------


@pytest.mark.parametrize("claim", ALL)
def test_claim_of_the_papers_is_in_the_ledger(claim):
    """Each statement has an entry, under the paper that makes it."""
    assert claim in claims(), f"the ledger lacks {claim}"
    assert claim in PAPERS[claims()[claim]["paper"]]


def test_ledger_holds_nothing_else():
    """No claim is in the ledger that no paper makes, and each knows its id."""
    assert set(claims()) <= set(ALL)
    assert [entry["id"] for entry in claims().values()] == list(claims())


@pytest.mark.parametrize("claim", sorted(claims()))
def test_entry_is_complete(claim):
    """Its function exists, its tables are committed, its chapter shows it under its label."""
    entry = claims()[claim]
    assert callable(resolve_name(entry["decide"]))
    for name in entry["tables"]:
        assert (results_folder() / f"{name}.csv").is_file(), name
    for key in ("place", "statement", "tolerance"):
        assert len(entry[key].split()) >= 2, key
    source = CHAPTERS[entry["chapter"]]
    label = re.escape(entry["figure"])
    assert re.search(rf'"name": "{label}"|^# \({label}\)=$', source, re.MULTILINE), entry["figure"]


@pytest.mark.parametrize("claim", sorted(claims()))
def test_chapter_opens_with_its_claim_and_closes_with_its_verdict(claim):
    """The chapter's first cell names the claim; its verdict table comes from the ledger."""
    source = CHAPTERS[claims()[claim]["chapter"]]
    opening = source.split('tags=["parameters"]')[0]
    assert re.search(rf"\b{claim}\b", opening), f"{claim} is not among the claims checked here"
    assert "verdict_table(" in source


@pytest.mark.parametrize("stem", sorted(CHAPTERS))
def test_chapter_has_a_claim(stem):
    """No chapter on a paper is without a claim; from 11 on stand the book's own study and tools."""
    if int(stem[:2]) >= 11:
        pytest.skip("the book's own study, or a tool for readers: not a chapter on a paper")
    assert any(entry["chapter"] == stem for entry in claims().values())


@pytest.mark.parametrize("stem", sorted(CHAPTERS))
def test_chapter_shows_the_verdict_on_each_of_its_claims(built_book, stem):
    """The executed chapter's verdict table holds each of its claims with the ledger's verdict."""
    own = [claim for claim, entry in claims().items() if entry["chapter"] == stem]
    notebook = nbformat.read(built_book.chapters / f"{stem}.ipynb", as_version=4)
    pages = [
        output["data"].get("text/html", "")
        for cell in notebook.cells
        if "verdict_table(" in cell.source
        for output in cell.get("outputs", [])
        if "data" in output
    ]
    rows = [
        [html.unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in cells]
        for page in pages
        for row in re.findall(r"<tr>.*?</tr>", page, re.DOTALL)
        if (cells := re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL))
    ]
    shown = {row[0]: row[-1] for row in rows}
    assert {claim: shown.get(claim) for claim in own} == {c: judge(c).verdict for c in own}


# --- Verdicts are derived -----------------------------------------------------------------------


def test_every_verdict_comes_with_what_we_found(whole):
    """Each claim has one of the four verdicts, a sentence with numbers, and an ordered interval."""
    assert set(whole["verdict"]) <= set(VERDICTS)
    assert whole["says"].str.contains(r"\d").all()
    held = whole.dropna(subset=["low"])
    assert ((held["low"] <= held["number"]) & (held["number"] <= held["high"])).all()
    assert whole.loc[whole["verdict"] != "untestable", "number"].notna().all()


def test_shares_of_wins_by_hand():
    """BRE and CER: the paper's shares against percentiles of the committed runs, from the CSV."""
    for claim in ("BRE-1", "BRE-2", "BRE-4", "CER-1", "CER-3"):
        entry = claims()[claim]
        runs, _ = read_result(entry["dataset"].replace("-", "_"))
        part = runs[(runs["sigma"] == entry["sigma"]) & (runs["metric"] == entry["metrics"][0])]
        part = 100 * part[part["tie_break"] == "first"][["win", "loss", "tie"]]
        covered = all(
            np.percentile(part[key], 2.5) <= value <= np.percentile(part[key], 97.5)
            for key, value in entry["numbers"].items()
        )
        lead = part["win"] - part["loss"]
        low, high = stats.t.interval(0.95, len(lead) - 1, lead.mean(), stats.sem(lead))
        expected = "reproduced" if covered else "direction only" if low > 0 else "not reproduced"
        finding = judge(claim)
        assert finding.verdict == expected
        assert (finding.low, finding.number, finding.high) == pytest.approx(
            (low, lead.mean(), high)
        )


def test_shares_of_configurations_by_hand():
    """SYN-1 and SYN-2: counts of positive differences, from the CSV alone."""
    table, _ = read_result("synthetic_sweep")
    table = table[table["tie_break"] == "even"]
    counts = table.pivot_table(
        index=["metric", "n_samples", "mu", "sigma"], columns="method", values="n_selected"
    )
    ahead = (counts["pvf"] - counts["traditional"] > 1e-9).groupby("metric").agg(["mean", "size"])
    assert (ahead["size"] == 180).all()
    for claim, metrics in (("SYN-1", ["IE@0.1", "IE@0.3"]), ("SYN-2", ["IE@0.7", "IE@0.9"])):
        assert judge(claim).number == pytest.approx(100 * ahead.loc[metrics, "mean"].mean())
    share = ahead.loc[["IE@0.1", "IE@0.3"], "mean"]
    reach = 1.96 * np.sqrt(share * (1 - share) / 180)
    if (share + reach < 0.9).any():
        assert judge("SYN-1").verdict != "reproduced"
    if (share - reach > 0.5).all():
        assert judge("SYN-1").verdict != "not reproduced"


def test_leads_on_synthetic_data_by_hand():
    """SYN-3 and SEN-3: group means of differences at the best and at the largest σ."""
    table, _ = read_result("synthetic_sweep")
    table = table[(table["tie_break"] == "even") & (table["n_samples"] == 50)]
    counts = table.pivot_table(
        index=["metric", "mu", "sigma"], columns="method", values="n_selected"
    )
    lead = (counts["pvf"] - counts["traditional"]).loc[list(PAPER_METRICS)]
    mu = lead.index.get_level_values("mu")
    for claim, group in {"SYN-3": mu <= GROUPS["low"], "SEN-3": mu > GROUPS["moderate"]}.items():
        means = lead[group].groupby(["metric", "sigma"]).mean().reset_index(name="lead")
        means = means.pivot_table(index="metric", columns="sigma", values="lead")
        chosen = means.max(axis=1) if claim == "SYN-3" else means[0.1]
        assert judge(claim).number == pytest.approx(chosen.mean())
        if claim == "SEN-3":
            rises = (means[0.1] > means[[1e-6, 1e-5, 1e-4, 1e-3]].max(axis=1)).all()
            assert (judge(claim).verdict == "reproduced") == rises


def test_exact_claims_by_hand():
    """Counts of the data, the cost of a data set, and the checks of the formula."""
    steps = read_result("cervical_data")[0].set_index("step")["rows"]
    assert judge("CER-4").number == steps["as published"] == 858
    assert judge("CER-4").verdict == "not reproduced"
    assert judge("SYN-10").number == pytest.approx(1642 * 60 * 11 / 5000 / 90)
    assert judge("SYN-10").verdict == "direction only"
    checks, _ = read_result("efficiency_checks")
    for claim, part in checks.groupby("claim"):
        whole = (part["cases"] == part["agree"]).all()
        assert (judge(claim).verdict == "reproduced") == whole
    assert judge("REAL-1").verdict == "untestable"


def test_a_changed_table_changes_the_verdict():
    """Verdicts hang on the tables: with the opposite results each claim on wins falls."""
    for claim in ("BRE-1", "CER-1"):
        entry = claims()[claim]
        (name,) = entry["tables"]
        runs, _ = read_result(name)
        turned = runs.rename(columns={"win": "loss", "loss": "win"})
        found = resolve_name(entry["decide"])(entry, {name: turned})
        assert found.number == pytest.approx(-judge(claim).number)
        assert found.verdict != judge(claim).verdict


# --- The ledger in words ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((None,), ""),
        ((np.nan, 1.0, 2.0), ""),
        ((45.123, 40.2, 50.08), "45.1 (40.2 to 50.1)"),
        ((2.406, None, None), "2.41"),
        ((12345.6,), "12,346"),
        ((2.406, 1.0, None), "2.41"),
        ((2.406, np.nan, 3.0), "2.41"),
        ((2.406, 1.0, np.nan), "2.41"),
        ((2.406, None, 3.0), "2.41"),
        ((0.0, -0.5, 0.0), "0 (-0.5 to 0)"),
        ((999.4,), "999"),
        ((999.5,), "1,000"),
        ((1000,), "1,000"),
        ((-1000.0, -1000.6, -999.4), "-1,000 (-1,001 to -999)"),
        ((0.00012345,), "0.000123"),
    ],
    ids=str,
)
def test_numbers_are_written_with_three_digits(numbers, text):
    """A number with its interval, or alone, or nothing."""
    assert in_words(*numbers) == text


def test_command_prints_the_ledger_for_programs(whole):
    """JSON and CSV hold every claim with the verdict and numbers of the ledger."""
    shown = CliRunner().invoke(main, ["claims", "--format", "json"])
    records = {record["claim"]: record for record in json.loads(shown.output)}
    sheet = pd.read_csv(
        io.StringIO(CliRunner().invoke(main, ["claims", "--format", "csv"]).output), index_col=0
    )
    assert list(records) == sheet.index.tolist() == whole.index.tolist()
    for claim, row in whole.iterrows():
        assert records[claim]["verdict"] == sheet.loc[claim, "verdict"] == row["verdict"]
        if np.isnan(row["number"]):
            assert records[claim]["number"] is None
        else:
            assert records[claim]["number"] == sheet.loc[claim, "number"] == row["number"]


def test_command_prints_the_ledger_for_people(whole):
    """The table has place, verdict, numbers and chapter; counts stand below it."""
    result = CliRunner().invoke(main, ["claims", "SYN-10", "CER-1"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[-1].startswith("2 claims: ")
    (line,) = (line for line in lines if line.startswith("SYN-10"))
    for part in ("zhang2026pvf", "Appendix C.1", "minutes 50: 1642", "2.41", "02_synthetic_sweep"):
        assert part in line
    assert whole.loc["SYN-10", "verdict"] in line


def test_command_names_a_claim_that_is_none():
    """An unknown id ends with exit code 1 and its name."""
    result = CliRunner().invoke(main, ["claims", "SYN-99"])
    assert result.exit_code == 1
    assert "SYN-99" in result.output
