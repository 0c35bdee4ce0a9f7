"""The law of Algorithm 1's choice against drawn choices, and against enumeration."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pvf import counts
from studies.pvf2026.clinical.many_sets import (
    METRICS,
    N_SETS,
    choices_by_lot,
    choices_of_few_sets,
    estimate,
    laws_of_scores,
    sets_needed,
)
from studies.pvf2026.clinical.run import METRICS as ALL_METRICS
from studies.pvf2026.synthetic import SYNTHETIC_SETS
from studies.pvf2026.synthetic.grid import SCORES
from studies.pvf2026.synthetic.run import draw_repetition

IS_CASE = np.array([True, True, False, False, False])
RNG = np.random.default_rng(0)
FLAGS = np.clip(np.array([0.8, 0.6, 0.1, 0.3, 0]) + RNG.normal(0, 0.02, (4, 5)), 0, 1)
FLAGS[1, 0] = 1.0


@pytest.mark.parametrize("n_sets", [5, 21, 101])
def test_choices_are_those_of_drawn_sets(n_sets):
    """4,000 runs of Algorithm 1 with binomial counts choose each tree as often as the law says."""
    m = ALL_METRICS.index("IE@0.1")
    chance = choices_of_few_sets(laws_of_scores(FLAGS, IS_CASE, 7, m)[0], n_sets)
    assert chance.sum() == pytest.approx(1)
    rng, found = np.random.default_rng(1), np.zeros(len(FLAGS))
    n_runs = 4000
    for _ in range(n_runs):
        flagged = rng.binomial(7, FLAGS[:, None, :], (len(FLAGS), n_sets, 5))
        tp, fp = flagged[..., IS_CASE].sum(axis=-1), flagged[..., ~IS_CASE].sum(axis=-1)
        scores = counts.intervention_efficiency(tp, fp, 14, 21, 0.1)
        quartiles = np.quantile(scores, 0.25, axis=1)
        found[np.isclose(quartiles, quartiles.max()).argmax()] += 1
    likely = chance * n_runs >= 5
    assert likely.sum() > 1
    seen, expected = found[likely], chance[likely] * n_runs
    assert stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > 1e-4


def test_choices_of_equal_laws_are_enumerated():
    """Two scores, three trees, five sets: every outcome of fifteen scores is listed by counts."""
    below = np.array([0.3, 0.5, 0.5])  # how likely the lower score is
    cdf = np.column_stack([below, np.ones(3)])
    first, by_lot = np.zeros(3), np.zeros(3)
    for lows in itertools.product(range(6), repeat=3):  # how many of five scores are the lower
        chance = stats.binom.pmf(lows, 5, below).prod()
        is_high = np.array(lows) < 2  # the second smallest of five is the quartile
        best = is_high if is_high.any() else ~is_high
        first[best.argmax()] += chance
        by_lot += chance * best / best.sum()
    assert choices_of_few_sets(cdf, 5) == pytest.approx(first, abs=1e-14)
    assert choices_by_lot(cdf, 5) == pytest.approx(by_lot, abs=1e-14)


@pytest.mark.parametrize("metric", METRICS)
def test_laws_have_the_mean_of_their_counts(metric):
    """The mean score is the sum over all counts of score times chance."""
    m = ALL_METRICS.index(metric)
    tree = FLAGS[:1]
    cdf = laws_of_scores(tree, IS_CASE, 2, m)[0][0]
    drawn = np.random.default_rng(2).binomial(2, tree, (200_000, 5))
    tp, fp = drawn[:, IS_CASE].sum(axis=1), drawn[:, ~IS_CASE].sum(axis=1)
    gamma = float(metric.partition("@")[2] or 1)
    score = (
        counts.f1(tp, fp, 4, 6)
        if metric == "F1"
        else counts.intervention_efficiency(tp, fp, 4, 6, gamma)
    )
    values, seen = np.unique(score.round(12), return_counts=True)
    assert np.diff(np.append(0, cdf[np.diff(np.append(0, cdf)) > 0]))[: len(values)] == (
        pytest.approx(seen / len(score), abs=0.006)
    )


def test_more_sets_choose_as_endless_ones_do():
    """A tree that is best by its limit is chosen ever more often, until always."""
    cdf = laws_of_scores(FLAGS, IS_CASE, 7, ALL_METRICS.index("F1"))[0]
    best = (cdf < 0.25).sum(axis=1).argmax()
    chances = [choices_of_few_sets(cdf, n_sets)[best] for n_sets in (101, 1001, 100_001)]
    assert chances == sorted(chances)
    assert chances[-1] > 0.999


def test_estimates_and_the_smallest_number_that_is_enough():
    """Leads are wins less losses in percent; the table holds the first M above 95%."""
    rows = [
        ("breast-cancer", r, 0.3, metric, n, same, win, 0.1)
        for r in (0, 1)
        for metric in METRICS
        for n, same, win in [(0, 1.0, 0.5), (5, 0.4, 0.2), (101, 0.94 + 0.04 * r, 0.4)]
    ]
    names = ["dataset", "repetition", "sigma", "metric", "n_sets", "same", "win", "loss"]
    found = estimate(pd.DataFrame(rows, columns=names))
    row = found.query("metric == 'F1' and n_sets == 5").set_index("quantity")["estimate"]
    assert row["same"] == pytest.approx(40)
    assert row["lead"] == pytest.approx(10)
    assert row["lost"] == pytest.approx(30)
    lost = found.query("quantity == 'lost' and n_sets == 101")["estimate"]
    assert lost.tolist() == pytest.approx([10] * 3)
    assert sets_needed(found).loc[0.3].tolist() == ["101"] * 3
    assert sets_needed(found, 99).loc[0.3].tolist() == ["more than 101"] * 3


def test_synthetic_choices_are_those_of_drawn_sets():
    """In 300 draws of a hundred and one sets the true pair is found as often as the law says."""
    settings = {"n_samples": (50,), "mus": (0.5,), "sigmas": (0.1,), "n_repetitions": 1}
    table = SYNTHETIC_SETS.table(SYNTHETIC_SETS.settings(**settings))
    law = table.query("n_sets == 101").set_index("metric")["found"]
    places = [SCORES.index(metric) for metric in METRICS]
    rng, found = np.random.default_rng(5), []
    for number in range(10):
        one = draw_repetition(50, 0.5, 0.1, number)
        spread = 0.1 * np.linalg.norm(one.models[:, 1:], axis=1)
        chances = stats.norm.cdf(one.margins / spread[:, None])
        flagged = rng.binomial(7, chances[:, None], (10, 300 * 101, 15))
        tp, fp = flagged[..., 12:].sum(axis=-1), flagged[..., :12].sum(axis=-1)
        scores = [
            counts.f1(tp, fp, 21, 84)
            if SCORES[place] == "F1"
            else counts.intervention_efficiency(tp, fp, 21, 84, float(SCORES[place][3:]))
            for place in places
        ]
        quartiles = np.quantile(np.reshape(scores, (3, 10, 300, 101)), 0.25, axis=-1)
        best = np.isclose(quartiles, quartiles.max(axis=1, keepdims=True), rtol=0, atol=1e-12)
        found.append((best[:, 0] / best.sum(axis=1)).mean(axis=-1))
    assert law[list(METRICS)].to_numpy() == pytest.approx(np.mean(found, axis=0), abs=0.015)


def test_small_noise_changes_no_choice():
    """Where no copy crosses a boundary, five sets choose as endless ones do."""
    settings = {"n_samples": (50,), "mus": (2.5,), "sigmas": (1e-9,), "n_repetitions": 1}
    table = SYNTHETIC_SETS.table(SYNTHETIC_SETS.settings(**settings))
    assert sorted(set(table["n_sets"])) == [0, *N_SETS]
    assert (table["same"] == 1).all()
    assert (table["lead"] == 0).all()
