"""All near-optimal models: against all trees listed by hand, and noise that is drawn."""

import importlib.util
import itertools

import numpy as np
import pytest

from studies.capacity2022 import near_optimal as near
from studies.kit.results import read_result

needs_trees = pytest.mark.skipif(
    importlib.util.find_spec("praxis") is None, reason="needs tree-praxis: pip install pvf[trees]"
)
DEPTH_TWO = {"LEAF_COST": 1 / 30, "DEPTH": 2}


@pytest.fixture
def table():
    """Return rows, labels that two of three features tell, and questions on them."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + 0.7 * X[:, 1] + 0.6 * rng.normal(size=60) > 0.2
    return X, y, near.Questions(X)


def leaves_of(tree, path=()):
    """Return (path, label) of the leaves of a nested (question, no, yes) tree."""
    if not isinstance(tree, tuple):
        return [(path, tree)]
    question, no, yes = tree
    return [*leaves_of(no, (*path, -question)), *leaves_of(yes, (*path, question))]


def trees_of(n_questions, depth):
    """Yield every tree up to a depth, as nested tuples; leaves are 0 and 1."""
    yield from (0, 1)
    if depth == 0:
        return
    below = list(trees_of(n_questions, depth - 1))
    for question in range(1, n_questions + 1):
        yield from ((question, no, yes) for no, yes in itertools.product(below, below))


def literal_flags(tree, answers):
    """Follow a tree row by row."""
    found = []
    for row in answers:
        node = tree
        while isinstance(node, tuple):
            node = node[2] if row[node[0] - 1] else node[1]
        found.append(node)
    return np.array(found)


@needs_trees
def test_the_list_is_whole(table, monkeypatch):
    """Of all trees of depth two, those within ε are listed, each once, with its loss."""
    for name, value in DEPTH_TWO.items():
        monkeypatch.setattr(near, name, value)
    X, y, questions = table
    answers = questions.answers(X)
    losses = {}
    for tree in trees_of(answers.shape[1], 2):
        leaves = leaves_of(tree)
        key = frozenset(leaves)
        losses[key] = (literal_flags(tree, answers) != y).mean() + len(leaves) / 30
    epsilon = 2 / 60
    within = {key for key, loss in losses.items() if loss <= min(losses.values()) + epsilon + 1e-9}
    listed, loss = near.list_trees(answers, y, epsilon)
    found = [
        frozenset((tuple(path), int(label)) for path, label in zip(*tree, strict=True))
        for tree in listed
    ]
    assert len(found) == len(set(found))
    # A split that leaves nobody on one side costs a leaf and changes nothing: none is listed.
    useful = {key for key in within if all(_inside(path, answers).any() for path, _ in key)}
    assert useful == set(found)
    assert loss == pytest.approx([losses[key] for key in found])


def test_trees_flag_and_score_as_they_would_one_by_one(table):
    """Flags follow the tree; a leaf's score is its share of cases, an empty leaf's its label."""
    X, y, questions = table
    answers = questions.answers(X)
    trees = [(1, 1, (5, 0, 1)), (4, (7, 1, 0), (2, 0, 1)), 0]
    leaves = [leaves_of(tree) for tree in trees]
    chosen = near.TreeSet(questions, [tuple(zip(*found, strict=True)) for found in leaves], X, y)
    flags = chosen.flag_probability(X, 0.0)
    for tree, row, score in zip(trees, flags, chosen.scores(X), strict=True):
        assert row.tolist() == literal_flags(tree, answers).tolist()
        where = [tuple(np.flatnonzero(_inside(path, answers))) for path, _ in leaves_of(tree)]
        for rows in where:
            if rows:
                assert score[list(rows)] == pytest.approx(y[list(rows)].mean())


def _inside(path, answers):
    found = np.ones(len(answers), dtype=bool)
    for step in path:
        found &= answers[:, abs(step) - 1] == (step > 0)
    return found


def test_noise_flags_as_often_as_when_it_is_drawn(table):
    """The flag probability is the share of 40,000 noisy copies that the tree flags."""
    X, y, questions = table
    tree = (4, (7, 1, 0), (2, 0, 1))
    chosen = near.TreeSet(questions, [tuple(zip(*leaves_of(tree), strict=True))], X, y)
    rng = np.random.default_rng(0)
    law = chosen.flag_probability(X[:5], 0.5)[0]
    noise = rng.normal(size=(40_000, *X[:5].shape)) * 0.5 * X.std(axis=0)
    copies = (X[:5] + noise).reshape(-1, X.shape[1])
    drawn = literal_flags(tree, questions.answers(copies)).reshape(-1, 5).mean(axis=0)
    assert np.abs(drawn - law).max() < 4 * 0.5 / np.sqrt(40_000)


@needs_trees
def test_the_first_split_of_the_committed_table_comes_out_again():
    """The block gives the table's rows, to its four decimals."""
    found = near.near_block(0, near.NearOptimal())
    table = read_result("near_optimal")[0].query("repetition == 0")
    assert found.round(4).equals(table[found.columns].reset_index(drop=True))
    assert (table["least"] <= table[["all", "holdout", "pvf"]].min(axis=1)).all()
    assert (table["most"] >= table[["all", "holdout", "pvf"]].max(axis=1)).all()
