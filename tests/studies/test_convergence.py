"""Propositions B.1 to B.7: exact laws, limits, checks and verdicts."""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from threadpoolctl import threadpool_limits

from studies.kit.claims import claims, parts_of
from studies.kit.dots import Frames
from studies.kit.verdicts import judge_parts
from studies.pvf2026.convergence import CONVERGENCE
from studies.pvf2026.convergence import run as convergence
from studies.pvf2026.convergence.show import FIGURES, estimate

THE = [f"THE-{number}" for number in range(1, 8)]


@pytest.fixture(scope="module")
def table():
    """All checks at a small scale."""
    return convergence.run_checks(n_repetitions=20, seed=5)


def test_committed_numbers_do_not_hang_on_the_processor(table):
    """The table has twelve decimals: what a processor's own kernels change is below them."""
    committed, _ = CONVERGENCE.committed()
    assert committed.equals(committed.round(12))
    assert not table.equals(table.round(12))
    made = CONVERGENCE.table(CONVERGENCE.settings(n_repetitions=20, seed=5))
    assert made.equals(table.round(12))


def test_exact_law_by_listing_every_outcome():
    """Four people, two replicas each: all 2^8 outcomes with their probabilities."""
    x, y = np.array([0.1, 0.9, 1.4, 2.0]), np.array([False, True, False, True])
    chances = stats.norm.sf(1.2, x, 0.5)
    law: dict[float, float] = {}
    for outcome in product([0, 1], repeat=8):
        lands = np.array(outcome).reshape(2, 4)
        chance = np.prod(np.where(lands, chances, 1 - chances))
        tp, fp = lands[:, y].sum(), lands[:, ~y].sum()
        f1 = round(2 * tp / (tp + fp + 4), 9)
        law[f1] = law.get(f1, 0) + chance
    values, probabilities = convergence.exact_law(x, y, 1.2, 2)
    found = pd.Series(probabilities).groupby(values[-1].round(9)).sum()
    assert found.to_dict() == pytest.approx(law)


def test_drawn_scores_follow_the_exact_law():
    """Means of 20,000 drawn scores, by every metric, lie within 4 standard errors of the law's."""
    rng = np.random.default_rng(2)
    x, y = convergence.people(12, rng)
    drawn = convergence.drawn_scores(x, y, [0.6, 1.2], n_sets=20_000, n_replicas=3, rng=rng)
    for model, threshold in enumerate((0.6, 1.2)):
        values, chances = convergence.exact_law(x, y, threshold, 3)
        error = drawn[:, model].std(axis=1) / np.sqrt(20_000)
        assert (np.abs(drawn[:, model].mean(axis=1) - values @ chances) < 4 * error).all()


def test_limit_scores_are_those_of_expected_counts():
    """By F1: expected true and false positives put into its definition."""
    x, y = np.array([0.0, 0.5, 1.5]), np.array([False, True, True])
    tp, fp = stats.norm.sf(1.0, x[y], 0.5).sum(), stats.norm.sf(1.0, x[~y], 0.5).sum()
    found = convergence.limit_scores(x, y, [1.0])[-1, 0]
    assert found == pytest.approx(2 * tp / (tp + fp + 2))


@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_population_scores_by_integration(sigma):
    """Landing above the threshold, integrated over the cases' and the controls' normal laws."""

    def share(mean):
        inside = lambda z: stats.norm.pdf(z, mean) * stats.norm.sf(1.2, z, sigma)  # noqa: E731
        return integrate.quad(inside, -12, 14)[0]

    tp, fp = 0.3 * share(2), 0.7 * share(0)
    found = convergence.population_scores([1.2], sigma=sigma)[-1, 0]
    assert found == pytest.approx(2 * tp / (tp + fp + 0.3), rel=1e-6)


@pytest.mark.parametrize("level", [0.1, 0.25, 0.5])
def test_law_quantile_is_numpy_s_on_a_long_sample(level):
    """A law given by the counts of a sample has the sample's inverted quantile."""
    sample = np.random.default_rng(0).integers(0, 9, 997) / 8
    values, counts = np.unique(sample, return_counts=True)
    found = convergence.law_quantile(values[::-1], counts[::-1] / len(sample), level)
    assert found == np.quantile(sample, level, method="inverted_cdf")


def test_people_always_hold_both_classes():
    """Sets of two are drawn until each has a case and a control."""
    rng = np.random.default_rng(1)
    assert all(convergence.people(2, rng)[1].sum() == 1 for _ in range(50))


def test_distance_is_that_of_the_two_distribution_functions():
    """Against a literal loop over the points between the values."""
    scores, values = np.array([0.0, 0.5, 0.5, 1.0]), np.array([0.0, 0.5, 1.0])
    found = convergence._largest_distance(scores, values, np.array([0.5, 0.3, 0.2]))
    steps = [abs((scores < s).mean() - cumulated) for s, cumulated in ((0.2, 0.5), (0.7, 0.8))]
    assert found == pytest.approx(max(steps))


def test_threads_of_the_linear_algebra_change_no_bit():
    """OpenBLAS splits dot products of more than 10,000 numbers (here 12,000) by its threads."""
    tables = []
    for threads in (1, 2, 3):
        with threadpool_limits(limits=threads, user_api="blas"):
            tables.append(convergence.check_scores(240, np.random.default_rng(7)))
    for other in tables[1:]:
        pd.testing.assert_frame_equal(tables[0], other, check_exact=True)


def test_every_claim_has_rows_and_a_finding(table):
    """Each proposition has checks, and its function decides from them alone."""
    for claim in THE:
        assert (table["claim"] == claim).any()
        assert judge_parts(parts_of(claims()[claim], estimate(table))).label
    assert (table["low"] <= table["value"] + 1e-12).all()
    assert (table["value"] <= table["high"] + 1e-12)[table["claim"] != "THE-1"].all()


def test_selection_counts_every_model_that_is_best(table):
    """With twenty people either of two best models is chosen more often than the first alone."""
    rows = table[table["claim"] == "THE-6"].set_index(["part", "size"])["value"]
    assert rows["one best: it is chosen", 1280] == 1
    assert rows["two best: either is chosen", 1280] == 1
    assert 0 < rows["two best: the first of them, if either", 1280] < 1


def invented(changes=()):
    """Make a table in which every claim holds as stated, then change some last values."""
    parts = {
        "THE-2": {"first quartile": 0, "mean": 0, "exactly 1/4": 0},
        "THE-3": {"law": 0, "first quartile": 0, "mean": 0, "maximum": 0},
        "THE-4": {"limit in k": 0},
        "THE-5": {**dict.fromkeys(convergence.PATHS, 0), "maximum, M first": 0},
        "THE-6": {
            "one best: it is chosen": 1,
            "two best: either is chosen": 1,
            "two best: the first of them, if either": 1,
        },
        "THE-7": {"best under noise": 1, "best in reality": 0},
    }
    rows = [
        (claim, part, size, value, value - 0.02, value + 0.02)
        for claim, ends in parts.items()
        for part, end in ends.items()
        for size, value in ((20, 0.5), (80, dict(changes).get((claim, part), end)))
    ]
    for noise in ("own noise", "common noise"):
        rows.append(("THE-1", f"distance to the exact law, {noise}", 9, 0.01, 0.0, 0.02))
        wrong = dict(changes).get(("THE-1", noise), 0.0)
        rows.append(("THE-1", f"successive scores, {noise}", 9, wrong, wrong - 0.02, wrong + 0.02))
        rows.append(("THE-1", f"two models, {noise}", 9, 0.0, -0.1, 0.1))
    rows.append(("THE-1", "validation set not fixed", 9, 0.9, 0.8, 1.0))
    return pd.DataFrame(rows, columns=["claim", "part", "size", "value", "low", "high"])


def verdicts(table):
    """Judge all seven."""
    estimates = estimate(table)
    return {claim: judge_parts(parts_of(claims()[claim], estimates)).label for claim in THE}


def test_claims_hold_where_everything_converges():
    """Where all errors vanish and one model is chosen for good, all seven are reproduced."""
    assert set(verdicts(invented()).values()) == {"reproduced"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({("THE-1", "own noise"): 0.3}, {"THE-1": "in part"}),
        ({("THE-2", "first quartile"): 0.5}, {"THE-2": "in part"}),
        ({("THE-2", "mean"): 0.5}, {"THE-2": "in part"}),
        ({("THE-3", "maximum"): 0.5}, {"THE-3": "in part"}),
        ({("THE-3", "law"): 0.5}, {"THE-3": "in part"}),
        ({("THE-4", "limit in k"): 0.5}, {"THE-4": "not reproduced"}),
        ({("THE-5", "maximum, M first"): 0.5}, {"THE-5": "in part"}),
        ({("THE-5", "all three grow"): 0.5}, {"THE-5": "in part"}),
        (
            {("THE-6", "two best: the first of them, if either"): 0.5},
            {"THE-6": "in part", "THE-7": "in part"},
        ),
        ({("THE-6", "one best: it is chosen"): 0.5}, {"THE-6": "in part"}),
        ({("THE-7", "best under noise"): 0.5}, {"THE-7": "in part"}),
    ],
    ids=str,
)
def test_each_failure_costs_its_claim(change, expected):
    """One part that fails changes the verdict that rests on it, and no other."""
    found = verdicts(invented(change.items()))
    assert found == dict.fromkeys(found, "reproduced") | expected


@pytest.mark.parametrize("label", sorted(FIGURES))
def test_figures_are_labelled(table, label):
    """Each panel has a title, axis labels and a legend; the reference lies behind the run."""
    estimates = estimate(table)
    figure = FIGURES[label](Frames(estimates, estimates))
    for ax in figure.axes:
        assert ax.get_xlabel()
        assert ax.get_legend()
        assert ax.get_title()
        assert len(ax.containers) == 2 * len(ax.get_legend().get_texts())
    plt.close(figure)


def test_what_is_left_of_an_error_is_a_share_of_the_first(table):
    """By hand, and correlations' intervals shrink from 99% to 95%."""
    estimates = estimate(table).set_index(["claim", "part", "quantity"])
    rows = table[(table["claim"] == "THE-4")].sort_values("size")
    found = estimates.loc[("THE-4", "limit in k", "error left"), "estimate"]
    assert np.ravel(found)[0] == pytest.approx(rows["value"].iloc[-1] / rows["value"].iloc[0])
    given = table.set_index("part").loc["validation set not fixed"]
    ours = estimates.loc[("THE-1", "validation set not fixed", "value")]
    assert given["low"] < ours["low"] < given["value"] == ours["estimate"] < ours["high"]
