"""Estimates and figures on the candidate sets: each interval against another way."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from studies.capacity2022 import PATIENTS, SETS
from studies.capacity2022 import bridge_show as report
from studies.capacity2022.bridge import METRICS, PROBLEMS
from studies.capacity2022.show import at
from studies.kit.show import text_table
from studies.kit.study import Run


@pytest.fixture(scope="module")
def sets():
    """Read all committed sets."""
    return pd.concat([study.committed()[0] for study in SETS.values()], ignore_index=True)


@pytest.fixture(scope="module")
def patients():
    return PATIENTS.committed()[0]


@pytest.fixture(scope="module")
def of_sets(sets):
    """Estimate once."""
    return report.set_estimates(sets)


@pytest.fixture(scope="module")
def of_patients(patients):
    """Estimate once."""
    return report.patient_estimates(patients)


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


def test_separation_resamples_whole_repetitions(sets, of_sets):
    """The interval is that of a plain bootstrap that copies all splits of the drawn repetitions."""
    where = {"problem": "cervical-cancer", "metric": "F1", "epsilon": 0.1}
    part = at(sets, **where)
    (row,) = at(of_sets, **where, quantity="differs: capacity").to_dict("records")
    assert row["estimate"] == pytest.approx(roc_auc_score(part["differs"], part["capacity"]))
    groups = [group for _, group in part.groupby("repetition")]
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(200):
        chosen = pd.concat([groups[i] for i in rng.integers(len(groups), size=len(groups))])
        draws.append(roc_auc_score(chosen["differs"], chosen["capacity"]))
    low, high = np.quantile(draws, [0.025, 0.975])
    assert row["low"] == pytest.approx(low, abs=0.015)
    assert row["high"] == pytest.approx(high, abs=0.015)
    single = [roc_auc_score(group["differs"], group["capacity"]) for group in groups]
    expected = np.quantile(single, [0.025, 0.975])
    assert (row["run_low"], row["run_high"]) == pytest.approx(tuple(expected))
    assert row["n"] == 20


# --- Means over repetitions ---------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", "_random"])
def test_intervals_of_ranks_are_t_intervals_of_repetitions(sets, of_sets, suffix):
    """Each repetition counts once; sets of one model, which have no rank, don't count."""
    where = {"problem": "breast-cancer", "metric": "F1", "epsilon": 0.0}
    part = at(sets, **where)
    assert part["rank_pvf"].isna().any()
    column = f"rank_pvf{suffix}"
    means = [group[column].dropna().mean() for _, group in part.groupby("repetition")]
    expected = stats.ttest_1samp(means, 0).confidence_interval()
    row = at(of_sets, **where, quantity=column).iloc[0]
    assert row["estimate"] == pytest.approx(np.mean(means))
    assert (row["low"], row["high"]) == pytest.approx(tuple(expected))


def test_data_sets_without_a_rank_do_not_count(sets, of_sets):
    """Of synthetic data sets only those with a set of several models are units."""
    where = {"problem": "synthetic, μ = 2.5", "metric": "F1", "epsilon": 0.0}
    present = at(sets, **where)["rank_pvf"].notna().sum()
    assert 0 < present < 200
    assert at(of_sets, **where, quantity="rank_pvf")["n"].item() == present


def test_traditional_choice_at_random_is_a_member_at_random(of_sets):
    """Among those that tie in validation, the mean rank over the tied is one half."""
    ranks = at(of_sets, epsilon=0.0, quantity="rank_traditional_random")
    np.testing.assert_allclose(ranks["estimate"], 0.5, atol=1e-3)


def test_groups_have_the_intervals_of_their_repetitions(patients, of_patients):
    """Capacity near the boundary, and cases less others, from the committed rows by hand."""
    where = {"problem": "breast-cancer", "metric": "IE@0.5", "epsilon": 0.1}
    rows = at(patients, **where, grouping="distance", group=1)
    expected = stats.ttest_1samp(rows["capacity"], 0).confidence_interval()
    found = at(of_patients, **where, grouping="distance", group=1, quantity="capacity").iloc[0]
    assert found["estimate"] == pytest.approx(rows["capacity"].mean())
    assert (found["low"], found["high"]) == pytest.approx(tuple(expected))
    wide = at(patients, **where, grouping="class").pivot_table("conflict", "repetition", "group")
    expected = stats.ttest_rel(100 * wide[1], 100 * wide[0]).confidence_interval()
    found = at(of_patients, **where, grouping="class", group=1, quantity="beyond").iloc[0]
    assert (found["low"], found["high"]) == pytest.approx(tuple(expected))


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
    found = at(table, quantity="error_pvf").set_index("group")
    assert found["estimate"].round(9).to_dict() == {
        0: 90, 1: 10, 9: 30, 10: 60, **dict.fromkeys(range(2, 9), 0.0),
    }  # fmt: skip
    assert found[["low", "high"]].isna().all(axis=None)
    assert at(table, quantity="lost")["estimate"].isna().all()


def test_error_shares_resample_repetitions():
    """Of two repetitions, each resample holds both or one of them twice."""
    one, two = [0] * 9 + [4], [12] + [0] * 9
    table = report.error_shares(patients_by_hand([one, two], 2))
    row = at(table, quantity="error_pvf", group=10).iloc[0]
    assert (row["estimate"], row["low"], row["high"]) == (25, 0, 100)


def test_shares_of_all_tenths_add_up(of_patients):
    """The tenths carry all errors, and the top fifth is the last two."""
    table = at(of_patients, grouping="capacity")
    keys = ["problem", "metric", "quantity"]
    tenths = table[table["group"] > 0]
    np.testing.assert_allclose(tenths.groupby(keys)["estimate"].sum(), 100)
    top = tenths[tenths["group"] > 8].groupby(keys)["estimate"].sum()
    whole = table[table["group"] == 0].set_index(keys)["estimate"]
    np.testing.assert_allclose(whole.loc[top.index], top)


# --- What the page shows ------------------------------------------------------------------------


def test_signs_count_intervals_clear_of_a_value():
    """Above, below, and all."""
    table = pd.DataFrame({"low": [0.1, -2.0, -1.0, 0.0], "high": [1.0, -1.0, 1.0, 1.0]})
    assert report.signs(table) == (1, 1, 4)
    assert report.signs(table, -0.5) == (2, 1, 4)


def test_tables_have_a_row_for_each_problem_and_metric(of_sets, of_patients):
    """No problem or metric is left out."""
    for estimates in (
        at(of_sets, epsilon=0.1, quantity=["nearer_random", "differs"]),
        at(of_patients, grouping="capacity", group=0),
    ):
        table = text_table(estimates, ["problem", "metric"], names=report.NAMES)
        assert list(table.index) == [(p, m) for p in PROBLEMS for m in METRICS]


def run_of(study, n):
    """Return a run that found the first repetitions of the committed table."""
    table, facts = study.committed()
    return Run(study, study.settings(), table[table["repetition"] < n], table, facts)


def test_figures_draw_the_run_before_the_reference(of_sets, of_patients):
    """Each problem has its panel or row; points are the run's, pale ones the committed numbers."""
    run = run_of(PATIENTS, 2)
    figure = run.figure("fig-bridge-conflicts")
    assert [ax.get_title() for ax in figure.axes] == list(PROBLEMS)
    where = {"problem": "breast-cancer", "metric": "F1", "epsilon": 0.1, "grouping": "distance"}
    for frame, alpha in ((run.estimates, 1), (of_patients, 0.35)):
        expected = at(frame, **where, quantity="capacity")["estimate"]
        lines = [line for line in figure.axes[0].lines if line.get_alpha() == alpha]
        assert any(np.array_equal(line.get_ydata(), expected) for line in lines)
    for label, where in {
        "fig-bridge-decisions": {"quantity": "conflict", "epsilon": 0.1, "grouping": "class"},
        "fig-bridge-carried": {"quantity": "error_pvf", "grouping": "capacity"},
    }.items():
        expected = at(of_patients, **where, group=0)["estimate"]
        assert len(expected) == len(PROBLEMS) * len(METRICS)
        lines = run.figure(label).axes[0].lines
        assert any(np.array_equal(line.get_xdata(), expected) for line in lines)
    first, *others = (run_of(study, 2) for study in SETS.values())
    figure = first.figure("fig-bridge-ranks", beside=others)
    expected = at(of_sets, epsilon=1.0, quantity="rank_pvf")["estimate"]
    assert any(np.array_equal(line.get_xdata(), expected) for line in figure.axes[1].lines)
    figure = first.figure("fig-bridge-separation", beside=others)
    assert len(figure.axes[0].get_yticklabels()) == len(PROBLEMS) * len(METRICS)


def test_short_run_agrees_with_the_full_one_and_another_does_not():
    """The first repetitions lie where they should; a run with all capacities raised does not."""
    run = run_of(SETS["synthetic"], 20)
    agree, n = (int(word.replace(",", "")) for word in run.says().split() if word[0].isdigit())
    assert agree > 0.9 * n
    wrong = run.table.assign(capacity=run.table["capacity"] + 0.5)
    worse = Run(run.study, run.settings, wrong, run.committed, run.provenance)
    fewer = int(worse.says().split(" of ")[0].split()[-1].replace(",", ""))
    assert fewer < agree - 20


def test_committed_results_are_clean():
    """All four tables come from one clean commit."""
    facts = [study.committed()[1] for study in (*SETS.values(), PATIENTS)]
    assert {fact["git"]["dirty"] for fact in facts} == {False}
    assert len({fact["git"]["commit"] for fact in facts}) == 1
