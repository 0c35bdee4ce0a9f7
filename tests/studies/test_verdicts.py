"""The one scale: regions, outcomes, labels, joint intervals, and printed numbers as a set."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from studies.kit.claims import judge_with, parts_of, rule_in_words
from studies.kit.study import Settings, Study
from studies.kit.verdicts import LABELS, Part, Region, compatible, judge_parts, widened

LEAD = Region.read("> 0")
LEVEL = Region.read("within 10 of 0")


@pytest.mark.parametrize(
    ("text", "low", "high", "outcome"),
    [
        ("> 0", 0.1, 3, "holds"),
        ("> 0", 0, 3, "undecided"),
        ("> 0", -3, 0, "fails"),
        (">= 0", 0, 3, "holds"),
        (">= 0", -3, 0, "undecided"),
        ("< -1", -3, -1.5, "holds"),
        ("<= 1e-6", 0, 1e-6, "holds"),
        ("0.85 to 0.95", 0.85, 0.95, "holds"),
        ("0.85 to 0.95", 0.96, 0.99, "fails"),
        ("within 10 of 0", -10, 10, "holds"),
        ("within 10 of 0", 5, 11, "undecided"),
        ("within 10 of 0", 19, 22, "fails"),
        ("> 0", np.nan, np.nan, "undecided"),
    ],
)
def test_outcome_of_an_interval(text, low, high, outcome):
    """An interval inside holds, one outside fails, anything else leaves it undecided."""
    assert Region.read(text).outcome(low, high) == outcome


def test_unreadable_regions_are_refused():
    """The error says what a region looks like and what it got."""
    with pytest.raises(ValueError, match=r"region must be like '> 0'.*got 'about 3'"):
        Region.read("about 3")


def part(low, high, region=LEAD, **more):
    return Part("a lead", (low + high) / 2, low, high, region=region, joint=True, **more)


HOLDS, FAILS, OPEN = part(1, 2), part(-2, -1), part(-1, 2)
GONE = Part("a lead elsewhere", untestable="no file")
SAME, OTHER = (
    part(1, 2, paper=(1.5,), run_low=1, run_high=2),
    part(1, 2, paper=(9.0,), run_low=1, run_high=2),
)


@pytest.mark.parametrize(
    ("parts", "label"),
    [
        ([HOLDS], "reproduced"),
        ([HOLDS, SAME], "reproduced"),
        ([HOLDS, OTHER], "holds, numbers differ"),
        ([HOLDS, FAILS], "in part"),
        ([HOLDS, FAILS, OPEN], "in part"),
        ([FAILS], "not reproduced"),
        ([FAILS, OPEN], "not reproduced"),
        ([OPEN], "undecided"),
        ([HOLDS, OPEN], "undecided"),
        ([GONE], "untestable"),
        ([HOLDS, GONE], "reproduced"),
        ([Part("a count", 5, paper=(5,))], "reproduced"),
        ([Part("a count", 5, paper=(6,))], "not reproduced"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_label(parts, label):
    """The table of the registered scale, row by row."""
    found = judge_parts(parts)
    assert found.label == label
    assert found.label in LABELS


def test_notes_say_what_a_label_leaves_out():
    """Which parts hold, what is missing, what one run could show, what would decide."""
    assert judge_parts([HOLDS, FAILS]).note == "holds: a lead; fails: a lead"
    assert judge_parts([HOLDS, GONE]).note == "on 1 of 2 parts: no file"
    fails = part(-2, -1, paper=(0.5,), run_low=-3, run_high=1)
    assert judge_parts([fails]).note == "one run could look so"
    # an interval of half width 2 around 1 takes 4 times its units to leave 0
    wide = Part("a lead", 1, -1, 3, n=50, region=LEAD)
    assert judge_parts([wide]).note == "about 200 units would decide"


def test_intervals_hold_jointly():
    """Two statements are judged at 97.5% each, by Student's quantiles; one part at 95%."""
    x = np.random.default_rng(0).normal(size=12)
    mean, error = x.mean(), x.std(ddof=1) / np.sqrt(12)
    reach = stats.t.ppf(0.975, 11) * error
    one = Part("level", mean, mean - reach, mean + reach, n=12, region=LEVEL)
    assert judge_parts([one]).parts[0].high == pytest.approx(mean + reach)
    both = judge_parts([one, one]).parts
    expected = stats.ttest_1samp(x, 0).confidence_interval(0.975)
    assert (both[0].low, both[0].high) == pytest.approx((expected.low, expected.high))
    assert widened(HOLDS, 0.999) == HOLDS


def test_printed_values_are_judged_as_a_set():
    """5% of sets from the runs' own law are called different, whatever the number of values."""
    rng = np.random.default_rng(1)
    mix = rng.normal(size=(4, 4))
    different = 0
    for _ in range(400):
        runs = rng.normal(size=(60, 4)) @ mix
        paper = [(value,) for value in rng.normal(size=4) @ mix]
        different += not compatible(paper, runs)
    assert stats.binomtest(different, 400, 0.05).pvalue > 0.001
    assert not compatible([(9.0,)], rng.normal(size=(60, 1)))
    assert compatible([(0.0, 9.0)], rng.normal(size=(60, 1)))
    with pytest.raises(ValueError, match="runs must be at least 20 rows of 1 values"):
        compatible([(0.0,)], np.zeros((5, 1)))


def test_detectable_lead():
    """The lead that one run finds with 80% power, by simulation."""
    spread = 7.0
    one = Part("lead", 0, run_low=-1.96 * spread, run_high=1.96 * spread)
    leads = np.random.default_rng(2).normal(one.detectable, spread, size=200_000)
    assert np.mean(np.abs(leads) > 1.96 * spread) == pytest.approx(0.8, abs=0.005)


ESTIMATES = pd.DataFrame(
    {
        "metric": ["F1", "F1", "accuracy"],
        "tie_break": ["first", "even", "even"],
        "quantity": "lead",
        "estimate": [-5.0, 5.0, 5.0],
        "low": [-6.0, 4.0, 4.0],
        "high": [-4.0, 6.0, 6.0],
        "n": 50,
        "unit": "points",
    }
)
ENTRY = {
    "id": "A-1",
    "ties": ["even", "first"],
    "parts": [
        {
            "says": "{metric}: ahead",
            "quantity": "lead",
            "where": {"metric": ["F1"], "tie_break": "even"},
            "region": "> 0",
        },
        {"says": "elsewhere", "untestable": "the file is missing"},
    ],
}


def test_a_rule_names_its_estimates():
    """A list among the keys is one part each; a rule that names none or several is refused."""
    entry = {**ENTRY, "parts": [dict(ENTRY["parts"][0])]}
    entry["parts"][0]["where"] = {"metric": ["F1", "accuracy"], "tie_break": "even"}
    parts = parts_of(entry, ESTIMATES)
    assert [part.says for part in parts] == ["F1: ahead", "accuracy: ahead"]
    assert [part.estimate for part in parts] == [5, 5]
    entry["parts"][0]["where"] = {"metric": "F1"}
    with pytest.raises(ValueError, match=r"A-1 must name one estimate .* got 2"):
        parts_of(entry, ESTIMATES)
    assert rule_in_words(ENTRY) == (
        "ahead: lead > 0 (metric = F1, tie_break = even). elsewhere: the file is missing"
    )


def test_a_label_that_depends_on_ties_says_so(monkeypatch):
    """The note names each rule's label; the claim's is that of its own rule."""
    monkeypatch.setattr(Study, "committed", lambda _: (ESTIMATES, {}))
    study = Study("a", Settings, blocks=list, block=print, estimate=lambda table: table)
    found = judge_with(ENTRY, study)
    assert found.verdict == "reproduced"
    assert (found.number, found.low, found.high) == (5, 4, 6)
    assert found.note == (
        "on 1 of 2 parts: the file is missing; "
        "depends on ties: even reproduced, first not reproduced"
    )
