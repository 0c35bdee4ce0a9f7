"""The ledger of verdicts: complete, computed from the committed tables, and never typed."""

import html
import io
import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

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
from studies.catalogue import STUDIES
from studies.kit.claims import (
    Finding,
    claims,
    in_words,
    judge,
    judge_with,
    ledger,
    ledger_text,
    paper_numbers,
    rule_in_words,
    verdict_table,
)
from studies.kit.results import read_result, results_folder
from studies.kit.verdicts import LABELS
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


@pytest.fixture
def invented(monkeypatch):
    """Put two invented claims in the ledger's place, of which one holds."""
    study = replace(
        STUDIES["cervical_data"],
        estimate=lambda table: pd.DataFrame(
            [("rows", float(len(table)), float(len(table)), float(len(table)), np.inf, "")],
            columns=["quantity", "estimate", "low", "high", "n", "unit"],
        ),
        runs=lambda _: None,
    )
    monkeypatch.setitem(STUDIES, "cervical_data", study)
    entries = {
        claim: {"id": claim, "statement": "So many rows.", "study": "cervical_data"}
        | {"paper": "doe", "place": "§1", "chapter": "01_one", "figure": ""}
        | {"numbers": {"rows": rows}}
        | {"parts": [{"says": "rows", "quantity": "rows", "region": f"within 0 of {rows}"}]}
        for claim, rows in {"A-1": 5, "A-2": 6}.items()
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
    assert table["what we found"].tolist() == ["rows: fails, 5 (5 to 5)", "rows: holds, 5 (5 to 5)"]
    assert judge("A-1").number == 5


def test_unknown_claims_are_refused(invented):
    """A claim that the ledger lacks is named in the error."""
    with pytest.raises(ValueError, match="'B-1'"):
        judge("B-1")
    with pytest.raises(ValueError, match="must be claims of the ledger, got B-1, C-1"):
        ledger_text("table", ["C-1", "A-1", "B-1"])


@pytest.fixture
def typed(monkeypatch):
    """Put three invented claims in the ledger's place, with and without numbers."""
    common = {"paper": "doe", "statement": "σ is so.", "chapter": "01_one"}
    common |= {"parts": [{"says": "ahead", "quantity": "lead", "region": "> 0"}]}
    entries = {
        "Z-1": {"place": "p. 1", "numbers": {"win": 52.0}, "unit": "%", "figure": "fig-z"}
        | {"study": "sweep"},
        "A-1": {"place": "p. 2", "figure": "fig-a", "study": "counts"},
        "M-1": {"place": "p. 3", "unit": "min", "figure": "fig-m", "study": "counts"},
    }
    findings = {
        "Z-1": Finding("in part", "40 of 99", 40.25, 30.5, 1234.5),
        "A-1": Finding("untestable", "no data"),
        "M-1": Finding("in part", "7 minutes", 7),
    }
    entries = {claim: common | entry for claim, entry in entries.items()}
    monkeypatch.setattr(studies.kit.claims, "claims", lambda: entries)
    monkeypatch.setattr(studies.kit.claims, "judge", findings.__getitem__)


def test_ledger_has_a_row_a_claim(typed):
    """Entry and finding stand side by side; what is missing is missing, and units are text."""
    table = ledger()
    assert table.index.name == "claim"
    assert table.index.tolist() == ["Z-1", "A-1", "M-1"]
    assert table.loc["Z-1"].to_dict() == {
        "paper": "doe",
        "place": "p. 1",
        "statement": "σ is so.",
        "verdict": "in part",
        "paper_numbers": "win: 52",
        "note": "",
        "number": 40.25,
        "low": 30.5,
        "high": 1234.5,
        "unit": "%",
        "says": "40 of 99",
        "tolerance": "ahead: lead > 0",
        "chapter": "01_one",
        "figure": "fig-z",
        "tables": "sweep",
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
        *("Z-1", "doe", "p. 1", "in part", "win: 52", "40.2 (30.5 to 1,234) %", "01_one")
    ]
    assert cells[1] == ["A-1", "doe", "p. 2", "untestable", "–", "–", "01_one"]
    assert cells[2] == ["M-1", "doe", "p. 3", "in part", "–", "7 min", "01_one"]
    counts = (
        "0 reproduced, 0 holds, numbers differ, 2 in part, 0 not reproduced, 0 undecided, "
        "1 untestable"
    )
    assert lines[5:] == ["", f"3 claims: {counts}"]
    records = json.loads(ledger_text("json", ["M-1", "A-1"]))
    assert [record["claim"] for record in records] == ["M-1", "A-1"]
    assert [record["number"] for record in records] == [7.0, None]
    text = ledger_text("csv", ["A-1"])
    assert text.splitlines()[1] == (
        "A-1,doe,p. 2,σ is so.,untestable,,,,,,,no data,ahead: lead > 0,01_one,fig-a,counts"
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
    """Its study's table is committed, its parts speak, its chapter shows it under its label."""
    entry = claims()[claim]
    assert (results_folder() / f"{STUDIES[entry['study']].name}.csv").is_file()
    assert "tolerance" in entry or all(rule["says"].strip() for rule in entry["parts"])
    for key in ("place", "statement"):
        assert len(entry[key].split()) >= 2, key
    source = CHAPTERS[entry["chapter"]]
    label = re.escape(entry["figure"])
    assert re.search(rf'"name": "{label}"|^# \({label}\)=$', source, re.MULTILINE), entry["figure"]


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


def test_a_changed_rule_has_an_entry():
    """The rule of each claim is what the last of its changes says it became, both labels too."""
    text = (Path(studies.__file__).parent / "rule_changes.toml").read_text(encoding="utf-8")
    changes = tomllib.loads(text)["change"]
    last = {change["claim"]: change for change in changes}
    assert set(last) == set(claims())
    for claim, change in last.items():
        assert change["became"] == rule_in_words(claims()[claim]), f"{claim}: add a change"
        assert change["new"] == judge(claim).verdict, f"{claim}: its label is another"
        assert change["was"] != change["became"]
        assert len(change["why"].split()) > 4
    assert [change["date"] for change in changes] == sorted(change["date"] for change in changes)


# --- Verdicts are derived -----------------------------------------------------------------------


def test_every_verdict_comes_with_what_we_found(whole):
    """Each claim has one of the six labels, a sentence with numbers, and an ordered interval."""
    assert set(whole["verdict"]) <= set(LABELS)
    testable = whole[whole["verdict"] != "untestable"]
    assert testable["says"].str.contains(r"\d").all()
    assert whole["says"].str.len().gt(0).all()
    held = whole.dropna(subset=["low"])
    assert ((held["low"] <= held["number"]) & (held["number"] <= held["high"])).all()
    assert whole.loc[whole["verdict"] != "untestable", "number"].notna().all()


@pytest.mark.parametrize(
    ("claim", "table", "sigma", "metric"),
    [
        ("BRE-1", "breast_cancer", 0.3, "IE@0.1"),
        ("BRE-4", "breast_cancer", 0.2, "F1"),
        ("CER-1", "cervical_cancer", 0.01, "IE@0.1"),
    ],
)
def test_shares_of_wins_by_hand(claim, table, sigma, metric):
    """From the CSV alone: the lead's mean and sign, and how far single runs reach."""
    runs, _ = read_result(table)
    runs = runs[(runs["sigma"] == sigma) & (runs["metric"] == metric)]
    part = 100 * runs[runs["tie_break"] == "shared"][["win", "loss", "tie"]]
    lead = part["win"] - part["loss"]
    found = judge(claim)
    assert found.number == pytest.approx(lead.mean())
    low, high = stats.t.interval(0.95, len(lead) - 1, lead.mean(), stats.sem(lead))
    assert found.low <= low < high <= found.high  # joint intervals are the wider ones
    assert (found.parts[0].outcome == "holds") == (found.low > 0)
    spread = {
        key: abs(claims()[claim]["numbers"][key] - part[key].mean()) / part[key].std()
        for key in ("win", "loss", "tie")
    }
    if max(spread.values()) > 4:
        assert found.numbers == "different"
    if max(spread.values()) < 1:
        assert found.numbers == "compatible"


def test_shares_of_configurations_by_hand():
    """SYN-1 and SYN-2: leads of one choice of 5,000 or more, from the CSV alone."""
    table, _ = read_result("synthetic_sweep")
    table = table[table["tie_break"] == "even"]
    counts = table.pivot_table(
        index=["metric", "n_samples", "mu", "sigma"], columns="method", values="n_selected"
    )
    lead = (counts["pvf"] - counts["traditional"]) * 5000 / table["n_repetitions"].iloc[0]
    ahead = (lead.round(9) >= 1).groupby("metric").agg(["mean", "size"])
    assert (ahead["size"] == 180).all()
    for claim, metrics in (("SYN-1", ["IE@0.1", "IE@0.3"]), ("SYN-2", ["IE@0.7", "IE@0.9"])):
        shares = [part.estimate for part in judge(claim).parts[:2]]
        assert shares == pytest.approx((100 * ahead.loc[metrics, "mean"]).tolist())


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
        found = [part.estimate for part in judge(claim).parts if "leads" in part.says]
        assert found == pytest.approx(chosen[list(PAPER_METRICS)].tolist())
    rises = [stats.kendalltau(means.columns, means.loc[m]).statistic for m in PAPER_METRICS]
    found = [part.estimate for part in judge("SEN-3").parts if "grows" in part.says]
    assert found == pytest.approx(rises, abs=1e-9)


def test_exact_claims_by_hand():
    """Counts of the data, the cost of a data set, and the checks of the formula."""
    steps = read_result("cervical_data")[0].set_index("step")["rows"]
    assert judge("CER-4").number == steps["as published"] == 858
    assert judge("CER-4").verdict == "not reproduced"
    assert judge("SYN-10").number == pytest.approx(1642 * 60 * 11 / 5000 / 90)
    assert judge("SYN-10").verdict == "not reproduced"
    assert judge("REAL-1").verdict == "untestable"


@pytest.mark.parametrize("claim", ["BRE-1", "CER-1"])
def test_a_changed_table_changes_the_verdict(claim):
    """Verdicts hang on the tables: with the opposite results each claim on wins falls."""
    study = STUDIES[claims()[claim]["study"]]
    table, facts = study.committed()
    turned = table.rename(columns={"win": "loss", "loss": "win"})
    other = replace(study)
    object.__setattr__(other, "committed", lambda: (turned, facts))
    found = judge_with(claims()[claim], other)
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
