"""Places filled by score: literal lots, the library's efficiency, intervals with a width."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pvf import counts
from pvf.select.places import Judge, reached_share


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=40),
    st.sampled_from([0.05, 0.2, 0.5, 0.9, 1.0]),
)
def test_labels_with_lots_are_intervention_efficiency(people, capacity):
    """A score of two values gives the formula of counts."""
    flagged, case = (np.array(column) for column in zip(*people, strict=True))
    if case.all() or not case.any():
        return
    tp, fp = (flagged & case).sum(), (flagged & ~case).sum()
    expected = counts.intervention_efficiency(tp, fp, case.sum(), (~case).sum(), capacity)
    share = reached_share(flagged.astype(float), case, capacity)
    assert share / capacity == pytest.approx(float(expected))


def test_equal_scores_draw_lots():
    """The mean of many literal draws, one place at a time, is the expectation."""
    rng = np.random.default_rng(0)
    score, case = rng.integers(0, 4, 30).astype(float), rng.random(30) < 0.3
    reached = []
    for _ in range(4000):
        order = np.lexsort([rng.random(30), -score])
        reached.append(case[order[:9]].sum() / case.sum())
    standard_error = np.std(reached) / np.sqrt(4000)
    assert abs(np.mean(reached) - reached_share(score, case, 0.3)[0]) < 4 * standard_error + 1e-12


def test_weight_of_two_is_the_person_twice():
    """Weights count persons."""
    rng = np.random.default_rng(1)
    score, case = rng.random(12), np.arange(12) % 3 == 0
    twice = np.repeat(np.arange(12), np.arange(12) % 2 + 1)
    weight = (np.arange(12) % 2 + 1.0)[None]
    by_weight = reached_share(score, case, 0.25, weight)
    assert by_weight == pytest.approx(reached_share(score[twice], case[twice], 0.25))


def judge_of(rng, n=200, prevalence=0.2, n_splits=4):
    """Return a judge of persons in test parts of a fifth, and all persons' outcomes."""
    case = rng.random(n) < prevalence
    rows = [rng.permutation(n)[: n // 5] for _ in range(n_splits)]
    return (
        Judge(rows, [case[r] for r in rows], capacity=0.1, per=50, n_draws=400, seed=0),
        rows,
        case,
    )


def test_faultless_choice_has_an_interval_with_a_width():
    """Where all that are reached are cases, the bootstrap alone would see no doubt."""
    judge, rows, case = judge_of(np.random.default_rng(2))
    facts = judge.of(judge.way([case[r].astype(float) for r in rows]))
    assert facts["IE"] == judge.best_possible()["IE"]
    assert facts["low"] < facts["high"]


@pytest.mark.parametrize("prevalence", [0.15, 0.5, 0.8])
def test_places_reach_no_more_cases_than_there_are_places(prevalence):
    """Five places for fifty reach the mean of what they reach in each part, counted by hand."""
    rng = np.random.default_rng(5)
    judge, rows, case = judge_of(rng, prevalence=prevalence)
    by_hand = [min(0.1, case[r].mean()) * 50 for r in rows]
    best, chance = judge.best_possible(), judge.by_chance()
    assert best["reached"] == pytest.approx(np.mean(by_hand))
    assert best["reached"] <= 5 + 1e-9
    assert (chance["IE"], chance["low"], chance["high"]) == (1, 1, 1)
    assert chance["reached"] == pytest.approx(5 * np.mean([case[r].mean() for r in rows]))
    for scores in ([rng.random(len(r)) for r in rows], [case[r].astype(float) for r in rows]):
        facts = judge.of(judge.way(scores))
        assert facts["reached_low"] <= facts["reached"] <= facts["reached_high"] <= 5 + 1e-9


def test_choice_differs_from_itself_by_nothing_and_says_so():
    """The same order is told from a small difference, whatever the scores' scale."""
    rng = np.random.default_rng(3)
    judge, rows, _ = judge_of(rng)
    scores = [rng.random(len(r)) for r in rows]
    one = judge.way(scores)
    assert judge.difference(one, judge.way([np.exp(5 * s) for s in scores]))["same"]
    assert not judge.difference(one, judge.way([rng.random(len(r)) for r in rows]))["same"]


def test_interval_of_chance_holds_one_in_most_worlds():
    """Scores of no use have an efficiency of 1, which 95% intervals hold."""
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(100):
        judge, rows, case = judge_of(rng, n=300, n_splits=10)
        score = rng.random(len(case))
        facts = judge.of(judge.way([score[r] for r in rows]))
        held += facts["low"] <= 1 <= facts["high"]
    assert held >= 88
