"""Tables and figures on the candidate sets: each estimate and interval against another way."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from studies.capacity2022 import bridge_show as report
from studies.capacity2022.bridge import METRICS, PROBLEMS, Findings, run_candidate_sets

INTERVAL = ("", "_low", "_high")


@pytest.fixture(scope="module")
def full():
    return report.full_findings()[0]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


# --- Areas under the curve ----------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.booleans(), st.integers(0, 3)), min_size=2, max_size=30
    )
)
def test_auc_is_scikit_learns(rows):
    """With any ties and weights the area is that of roc_auc_score, and of counting pairs."""
    predictor, outcome, weights = (np.array(column) for column in zip(*rows, strict=True))
    assume(0 < (weights * outcome).sum() < weights.sum())
    (found,) = report.weighted_auc(predictor.astype(float), outcome, weights[None].astype(float))
    assert found == pytest.approx(roc_auc_score(outcome, predictor, sample_weight=weights))
    pairs = [
        (v * w, (p > n) + 0.5 * (p == n)) for p, a, v in rows if a for n, b, w in rows if not b
    ]
    assert found == pytest.approx(sum(w * x for w, x in pairs) / sum(w for w, _ in pairs))


def test_auc_is_missing_where_all_agree():
    """Without both outcomes there is nothing to separate."""
    weights = np.ones((1, 3))
    assert np.isnan(report.weighted_auc(np.arange(3.0), np.ones(3, bool), weights)).all()


def test_separation_resamples_whole_repetitions(full):
    """The interval is that of a plain bootstrap that copies all splits of the drawn repetitions."""
    part = full.sets.query("problem == 'cervical-cancer' and metric == 'F1'")
    row = report.separation(part).query("outcome == 'differs' and predictor == 'capacity'")
    part = part[part["epsilon"] == 0.1]
    assert row["auc"].item() == pytest.approx(roc_auc_score(part["differs"], part["capacity"]))
    groups = [group for _, group in part.groupby("repetition")]
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(200):
        chosen = pd.concat([groups[i] for i in rng.integers(len(groups), size=len(groups))])
        draws.append(roc_auc_score(chosen["differs"], chosen["capacity"]))
    low, high = np.quantile(draws, [0.025, 0.975])
    assert row["auc_low"].item() == pytest.approx(low, abs=0.015)
    assert row["auc_high"].item() == pytest.approx(high, abs=0.015)
    assert row["n_splits"].item() == 600
    assert row["n_repetitions"].item() == 20
    assert row["share"].item() == pytest.approx(part["differs"].mean())


# --- Means over repetitions ---------------------------------------------------------------------


def test_intervals_of_ranks_are_t_intervals_of_repetitions(full):
    """Each repetition counts once; sets of one model, which have no rank, don't count."""
    part = full.sets.query("problem == 'breast-cancer' and metric == 'F1' and epsilon == 0")
    assert part["rank_pvf"].isna().any()
    for rule, column in (("first", "rank_pvf"), ("random", "rank_pvf_random")):
        means = [group[column].dropna().mean() for _, group in part.groupby("repetition")]
        expected = stats.ttest_1samp(means, 0).confidence_interval()
        row = report.central_ranks(part).set_index("tie_break").loc[rule]
        assert row["pvf"] == pytest.approx(np.mean(means))
        assert (row["pvf_low"], row["pvf_high"]) == pytest.approx(tuple(expected))


def test_traditional_choice_at_random_is_a_member_at_random(full):
    """Among those that tie in validation, the mean rank over the tied is one half."""
    ranks = report.central_ranks(full.sets).query("epsilon == 0 and tie_break == 'random'")
    np.testing.assert_allclose(ranks["traditional"], 0.5, atol=1e-3)


def test_groups_have_the_intervals_of_their_repetitions(full):
    """Capacity of the patients nearest the boundary, from the committed rows by hand."""
    rows = full.patients.query(
        "problem == 'breast-cancer' and metric == 'IE@0.5' and epsilon == 0.1"
        " and grouping == 'distance' and group == 1"
    )
    expected = stats.ttest_1samp(rows["capacity"], 0).confidence_interval()
    found = report.capacity_of_groups(full.patients).query(
        "problem == 'breast-cancer' and metric == 'IE@0.5' and grouping == 'distance'"
        " and group == 1"
    )
    assert found["capacity"].item() == pytest.approx(rows["capacity"].mean())
    assert found["capacity_low"].item() == pytest.approx(expected.low)
    assert found["capacity_high"].item() == pytest.approx(expected.high)


def test_intervals_stay_within_what_is_possible(full):
    """Shares lie in [0, 1] and capacities in [1, 2], with their intervals."""
    groups = report.capacity_of_groups(full.patients)
    assert groups[[f"conflict{end}" for end in INTERVAL]].stack().between(0, 1).all()  # noqa: PD013
    assert groups[[f"capacity{end}" for end in INTERVAL]].stack().between(1, 2).all()  # noqa: PD013


# --- Errors -------------------------------------------------------------------------------------


def patients_by_hand(errors, repetitions=1):
    """Return a patients table with ten patients a tenth and the given errors of PVF's choice."""
    rows = [
        {
            "problem": "breast-cancer",
            "repetition": r,
            "metric": "F1",
            "epsilon": 0.1,
            "grouping": "capacity",
            "group": tenth,
            "n": 10,
            "error_pvf": errors[r][tenth - 1] / 10,
            **dict.fromkeys(("error_traditional", "error_member", "lost", "won"), 0.0),
        }
        for r in range(repetitions)
        for tenth in range(1, 11)
    ]
    return pd.DataFrame(rows)


def test_error_shares_of_a_case_by_hand():
    """Of ten errors one lies in the first tenth, three in the ninth and six in the tenth."""
    table = report.error_shares(patients_by_hand([[1, 0, 0, 0, 0, 0, 0, 0, 3, 6]]))
    found = table[table["error"] == "error_pvf"].set_index("group")
    assert found["share"].round(9).to_dict() == {
        0: 0.9, 1: 0.1, 9: 0.3, 10: 0.6, **dict.fromkeys(range(2, 9), 0.0),
    }  # fmt: skip
    assert found[["share_low", "share_high"]].isna().all(axis=None)
    assert table.loc[table["error"] == "lost", "share"].isna().all()


def test_error_shares_resample_repetitions():
    """Of two repetitions, each resample holds both or one of them twice."""
    one, two = [0] * 9 + [4], [12] + [0] * 9
    table = report.error_shares(patients_by_hand([one, two], 2))
    row = table[(table["error"] == "error_pvf") & (table["group"] == 10)].iloc[0]
    assert (row["share"], row["share_low"], row["share_high"]) == (0.25, 0.0, 1.0)


def test_shares_of_all_tenths_add_up(full):
    """The tenths carry all errors, and the top fifth is the last two."""
    table = report.error_shares(full.patients)
    keys = ["problem", "metric", "error"]
    tenths = table[table["group"] > 0]
    np.testing.assert_allclose(tenths.groupby(keys)["share"].sum(), 1)
    top = tenths[tenths["group"] > 8].groupby(keys)["share"].sum()
    whole = table[table["group"] == 0].set_index(keys)["share"]
    np.testing.assert_allclose(whole.loc[top.index], top)


# --- What the page shows ------------------------------------------------------------------------


def test_conclusions_count_what_the_tables_show(full):
    """The counts and ranges in the sentences come again from the tables, row by row."""
    conflicts, ranks, errors, told = report.conclusions(full)
    cases = 0
    for _, part in full.patients.query("grouping == 'class' and epsilon == 0.1").groupby(
        ["problem", "metric"]
    ):
        wide = part.pivot_table("conflict", "repetition", "group")
        interval = stats.ttest_rel(wide[1], wide[0]).confidence_interval()
        cases += interval.low > 0
    assert f"more often of cases than of others in {cases}," in conflicts
    edge = middle = 0
    clinical = full.sets[~full.sets["problem"].str.startswith("synthetic")]
    for _, part in clinical.query("epsilon == 0.1").groupby(["problem", "metric"]):
        difference = part["rank_traditional"] - part["rank_pvf"]
        means = difference.groupby(part["repetition"]).mean()
        interval = stats.ttest_1samp(means, 0).confidence_interval()
        edge += interval.high < 0
        middle += interval.low > 0
    assert (
        f"6 clinical combinations nearer to the edge in {edge}, nearer to the middle in {middle}"
        in ranks
    )
    table = report.error_shares(full.patients).query("group == 0 and error == 'error_pvf'")
    shares = 100 * table.loc[~table["problem"].str.startswith("synthetic"), "share"]
    assert f"carries {shares.min():.0f} to {shares.max():.0f}% of the errors of PVF's" in errors
    auc = report.separation(full.sets).query(
        "outcome == 'differs' and predictor == 'capacity_validation'"
    )
    assert f"is above one half in {(auc['auc_low'] > 0.5).sum()}," in told


def test_answers_repeat_the_tables(full):
    """Each of the four numbers is that of its own table."""
    table = report.answers(full, metric="F1")
    assert list(table.index) == list(PROBLEMS)
    problem = "cervical-cancer"
    errors = report.error_shares(full.patients).query(
        "problem == @problem and metric == 'F1' and error == 'error_pvf' and group == 0"
    )
    ranks = report.central_ranks(full.sets).query(
        "problem == @problem and metric == 'F1' and tie_break == 'first' and epsilon == 0.1"
    )
    told = report.separation(full.sets).query(
        "problem == @problem and metric == 'F1' and outcome == 'differs'"
        " and predictor == 'capacity_validation'"
    )
    sources = {"top_fifth": (errors, "share"), "nearer": (ranks, "nearer"), "auc": (told, "auc")}
    for name, (source, column) in sources.items():
        for end in INTERVAL:
            assert table.loc[problem, name + end] == source[column + end].item()
    text = report.readable_answers(table)
    assert text.loc[problem].iloc[-2:].tolist() == ["20", "600"]
    assert text.iloc[:, 0].str.fullmatch(r"\d+ \(\d+ to \d+\)").all()


@pytest.mark.parametrize(
    "readable",
    [
        pytest.param(lambda f: report.readable_conflicts(f.patients), id="conflicts"),
        pytest.param(lambda f: report.readable_central_ranks(f.sets), id="ranks"),
        pytest.param(lambda f: report.readable_errors(f.patients), id="errors"),
        pytest.param(lambda f: report.readable_separation(report.separation(f.sets)), id="auc"),
    ],
)
def test_readable_tables_have_a_row_for_each_problem_and_metric(full, readable):
    """No problem or metric is left out, no cell is empty, and a short run has a table too."""
    table = readable(full)
    assert list(table.index) == [(p, m) for p in PROBLEMS for m in METRICS]
    assert not table.isna().any(axis=None)
    assert not table.astype(str).map(lambda cell: "nan" in cell).any(axis=None)
    short = Findings(*(part[part["problem"] == "breast-cancer"] for part in full))
    short = Findings(*(part[part["repetition"] == 0] for part in short))
    table = readable(short)
    assert len(table) == len(METRICS)
    assert not table.astype(str).map(lambda cell: "nan" in cell).any(axis=None)


def test_figures_draw_the_tables(full):
    """Each problem has its panel or row, and the points are the tables' numbers."""
    figure = report.figure_of_conflicts(full.patients)
    shown = [ax for ax in figure.axes if ax.get_title(loc="left")]
    assert [ax.get_title(loc="left") for ax in shown] == list(PROBLEMS)
    table = report.capacity_of_groups(full.patients)
    near = table.query("problem == 'breast-cancer' and metric == 'F1' and grouping == 'distance'")
    np.testing.assert_allclose(shown[0].lines[0].get_ydata(), near["capacity"])
    figure = report.figure_of_error_shares(full.patients)
    assert sum(ax.get_title(loc="left") != "" for ax in figure.axes) == len(PROBLEMS)
    figure = report.figure_of_central_ranks(full.sets)
    ranks = report.central_ranks(full.sets).query("epsilon == 1 and tie_break == 'first'")
    np.testing.assert_allclose(figure.axes[1].lines[0].get_xdata(), ranks["pvf"])
    figure = report.figure_of_separation(report.separation(full.sets))
    assert len(figure.axes[0].get_yticklabels()) == len(PROBLEMS) * len(METRICS)


def test_short_run_agrees_with_the_full_one_and_another_does_not(full):
    """The first data sets lie where they should; a run with all capacities raised does not."""
    problem = "synthetic, μ = 2.5"
    live = run_candidate_sets(problem, n_repetitions=20)
    table = report.live_agreement(live, full)
    assert len(table) == len(METRICS) * 3 * 3
    assert table["agrees"].mean() > 0.8
    wrong = Findings(live.sets.assign(capacity=live.sets["capacity"] + 0.5), live.patients)
    worse = report.live_agreement(wrong, full).query("number == 'capacity'")
    assert not worse["agrees"].any()


def test_committed_results_are_clean_and_small(full):
    """All four tables come from one clean commit and are below a megabyte."""
    findings, provenance = report.full_findings()
    assert len(provenance) == 4
    assert {facts["git"]["dirty"] for facts in provenance.values()} == {False}
    assert len({facts["git"]["commit"] for facts in provenance.values()}) == 1
    assert findings.sets.equals(full.sets)
