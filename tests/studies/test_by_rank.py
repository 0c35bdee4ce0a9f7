"""Choices by labels and by rank: efficiencies against the policy acted out, and the table."""

import numpy as np
import pytest

from studies.kit.results import read_result
from studies.pvf2026.efficiency import BY_RANK, by_rank


def acted_out(order, y, capacity, n=4000):
    """Return the cases reached over those by chance; ``order`` draws one order of the people."""
    rng = np.random.default_rng(3)
    room = capacity * len(y)
    reached = []
    for _ in range(n):
        people = order(rng)
        whole = int(room) + (rng.random() < room - int(room))
        reached.append(y[people[:whole]].sum())
    return np.mean(reached) / (room * y.mean())


def test_efficiencies_are_those_of_the_two_policies():
    """By labels the flagged come first in any order; by rank equal scores are shuffled."""
    rng = np.random.default_rng(1)
    y = rng.random(30) < 0.4
    scores = np.round(rng.random((3, 30)) * 0.6 + 0.4 * y, 1)
    found = by_rank.by_labels_and_rank(scores, y)
    for candidate, score in enumerate(scores):
        for place, capacity in enumerate(by_rank.CAPACITIES):
            by_label = acted_out(
                lambda r, s=score: np.lexsort((r.random(30), -(s > 0.5).astype(int))), y, capacity
            )
            ranked = acted_out(lambda r, s=score: np.lexsort((r.random(30), -s)), y, capacity)
            assert found["labels"][candidate, place] == pytest.approx(by_label, abs=0.06)
            assert found["rank"][candidate, place] == pytest.approx(ranked, abs=0.06)


def test_a_choice_is_judged_by_the_mean_over_what_ties():
    """Two candidates tie by labels, one is ahead by rank: the row says so."""
    y = np.array([True, False, False, False, False])
    validation = np.array([[0.9, 0.8, 0.1, 0.1, 0.1], [0.8, 0.9, 0.1, 0.1, 0.1]])
    external = np.array([[0.9, 0.1, 0.1, 0.1, 0.1], [0.1, 0.9, 0.1, 0.1, 0.1]])
    row = by_rank._choices(validation, y, external, y)[0]  # half a place of five
    assert (row["tied_labels"], row["tied_rank"], row["differs"]) == (2, 1, 0.5)
    assert row["labels_rank"] == pytest.approx((5 + 0) / 2)
    assert row["rank_rank"] == pytest.approx(5)


def test_reduced_blocks_give_rows_of_the_committed_table():
    """The first repetition of breast cancer comes out again."""
    table, _ = read_result("efficiency_by_rank")
    found = by_rank.block(("breast-cancer", 0), BY_RANK.settings()).round(5)
    rows = table[(table["problem"] == "breast-cancer") & (table["repetition"] == 0)]
    assert found.equals(rows[found.columns].reset_index(drop=True))
