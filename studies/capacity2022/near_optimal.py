"""All near-optimal models of two classes: trees of depth three, and additive step functions.

Both classes see the same yes/no questions, "is this feature at most its quartile?". Trees within a
level of the best objective are listed one by one by `tree-praxis`. An additive model of steps with
a ridge penalty is a logistic regression on the answers, so that `pvf.perturb_scores` bounds the
scores of all its near-optimal models without listing any.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from pvf._types import Array, Flags
from pvf.counts import intervention_efficiency
from pvf.multiplicity import perturb_scores, rashomon_capacity
from pvf.rules import law_quantile
from pvf.validation import is_tied_best
from studies.data.datasets import load_breast_cancer
from studies.kit.estimates import mean_estimates
from studies.kit.study import Settings, setting

#: What a model's loss may exceed its class's least by, as in the paper: of trees the share of wrong
#: training persons with the cost of leaves, of additive models the penalised log loss.
EPSILONS = (0.005, 0.01, 0.015)
CAPACITIES = (0.1, 0.5)
N_FEATURES, QUARTILES, DEPTH = 10, (0.25, 0.5, 0.75), 3
#: What a leaf costs, in shares of the training persons (of whom it must be a whole number, for
#: losses are counted in persons), and the inverse strength of the ridge.
LEAF_COST, RIDGE = 0.01, 1.0
N_TRAINED, N_VALIDATED = 200, 40
#: PVF: noise in standard deviations, copies of each person; trees whose laws are held at once.
SIGMA, N_REPLICAS, AT_ONCE = 0.3, 7, 500


@dataclass(frozen=True)
class NearOptimal(Settings):
    """All near-optimal models on the ten mean features of breast cancer."""

    n_repetitions: int = setting(5, "Splits.", full=20, low=1)
    seed: int = setting(20261129, "Of the splits.", low=0)


class Questions:
    """Yes/no questions on features, whether one is at most a quartile of its training rows."""

    def __init__(self, X_train: Array) -> None:
        self.spread = X_train.std(axis=0)
        self.asked = [
            (feature, float(cut))
            for feature in range(X_train.shape[1])
            for cut in np.unique(np.quantile(X_train[:, feature], QUARTILES))
        ]

    def answers(self, X: Array) -> NDArray[np.uint8]:
        """Return one column a question, 1 for yes."""
        return np.column_stack([X[:, at] <= cut for at, cut in self.asked]).astype(np.uint8)

    def chance(self, path: Sequence[int], X: Array, sigma: float) -> Array:
        """Return how probably each row with noise gives the answers of a path; with 0, whether.

        A path holds numbers of questions from 1 on, negative where the answer is no.
        """
        found = np.ones(len(X))
        for feature, steps in itertools.groupby(
            sorted(path, key=lambda step: self.asked[abs(step) - 1]),
            key=lambda step: self.asked[abs(step) - 1][0],
        ):
            signed = [(self.asked[abs(step) - 1][1], step > 0) for step in steps]
            high = min((cut for cut, yes in signed if yes), default=np.inf)
            low = max((cut for cut, yes in signed if not yes), default=-np.inf)
            value = X[:, feature]
            if sigma == 0:
                found *= (value <= high) & (value > low)
            else:
                scale = sigma * self.spread[feature]
                found *= np.maximum(
                    norm.cdf((high - value) / scale) - norm.cdf((low - value) / scale), 0
                )
        return found


class TreeSet:
    """Many trees that share their leaves: each leaf is looked up once for all of them.

    Parameters
    ----------
    questions : Questions
    trees : sequence of (paths, labels)
        For each tree the paths to its leaves, see `Questions.chance`, and the leaves' labels.
    X_train, y_train
        A leaf's score is the share of cases among its training rows; without any, its label.
    """

    def __init__(
        self,
        questions: Questions,
        trees: Sequence[tuple[Sequence[Sequence[int]], Sequence[int]]],
        X_train: Array,
        y_train: Flags,
    ) -> None:
        self.questions = questions
        places: dict[tuple[int, ...], int] = {}
        entries = [
            (number, places.setdefault(tuple(sorted(path)), len(places)), int(label))
            for number, (paths, labels) in enumerate(trees)
            for path, label in zip(paths, labels, strict=True)
        ]
        tree, leaf, label = np.array(entries).T
        self.paths, shape = list(places), (len(trees), len(places))
        inside = self._inside(X_train, 0.0)
        n_inside = inside.sum(axis=1)
        share = inside @ y_train / np.maximum(n_inside, 1)
        score = np.where(n_inside[leaf] > 0, share[leaf], label)
        self._labels = csr_array((label.astype(float), (tree, leaf)), shape=shape)
        self._scores = csr_array((score, (tree, leaf)), shape=shape)

    def _inside(self, X: Array, sigma: float) -> Array:
        return np.array([self.questions.chance(path, X, sigma) for path in self.paths])

    def flag_probability(self, X: Array, sigma: float) -> Array:
        """Return how probably each tree flags each row with noise, of shape (trees, rows)."""
        return np.clip(self._labels @ self._inside(X, sigma), 0, 1)

    def scores(self, X: Array) -> Array:
        """Return each tree's probability of a case, of shape (trees, rows)."""
        return self._scores @ self._inside(X, 0.0)


def list_trees(
    answers: NDArray[np.uint8], y: Flags, epsilon: float
) -> tuple[list[tuple[list[list[int]], list[int]]], Array]:
    """List all trees within epsilon of the least loss, and their losses.

    The loss is the share of wrong training persons plus `LEAF_COST` a leaf.
    """
    from praxis import PRAXIS  # noqa: PLC0415  an extra

    # With as many steps to look ahead as the trees are deep, nothing is left to a guess.
    how = {"lambda_reg": LEAF_COST, "depth_budget": DEPTH, "lookahead_k": DEPTH}
    search, share = PRAXIS(), 0.0
    for _ in range(2):  # first for the least loss
        with _silent():
            search.fit(answers, y.astype(int), rashomon_mult=share, **how)
        share = epsilon * len(y) / search.get_min_objective()
    numbers = range(search.count_trees())
    loss = np.array([search.get_tree_objective(number)[1] for number in numbers])
    return [search.get_tree_paths(number) for number in numbers], loss


@contextmanager
def _silent() -> Iterator[None]:
    """Keep what compiled code writes to the standard output out of a page."""
    kept = os.dup(1)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def near_blocks(settings: NearOptimal) -> list[int]:
    """Return the splits; refuse at once, and not in a worker, without what lists trees."""
    if importlib.util.find_spec("praxis") is None:
        raise ModuleNotFoundError(
            "tree-praxis is not installed here (pip install 'pvf[trees]').", name="praxis"
        )
    return list(range(settings.n_repetitions))


def near_block(repetition: int, settings: NearOptimal) -> pd.DataFrame:
    """List the trees of a split and bound the additive models; one row an ε and capacity."""
    data = load_breast_cancer()
    X, y = data.X.to_numpy(dtype=float)[:, :N_FEATURES], data.y.to_numpy() == 1
    cut = partial(train_test_split, random_state=settings.seed + repetition)
    X_train, X_rest, y_train, y_rest = cut(X, y, train_size=N_TRAINED, stratify=y)
    parts = cut(X_rest, y_rest, train_size=N_VALIDATED, stratify=y_rest)
    X_test, questions = parts[1], Questions(X_train)
    listed, loss = list_trees(questions.answers(X_train), y_train, max(EPSILONS))
    trees = TreeSet(questions, listed, X_train, y_train)
    scores, judged = trees.scores(X_test), _judged(trees, *parts)
    asked = [questions.answers(part).astype(float) for part in (X_train, X_test)]
    additive = LogisticRegression(C=RIDGE, tol=1e-8, max_iter=10_000).fit(asked[0], y_train)
    rows = []
    for epsilon in EPSILONS:
        near = loss <= loss.min() + epsilon + 1e-9
        bounds = perturb_scores(additive, asked[0], y_train, asked[1], epsilon)
        facts = _conflicts(scores[near], "trees") | _conflicts(bounds, "additive")
        facts |= {"n_trees": float(near.sum()), "epsilon": epsilon}
        rows += [facts | _choices(by_tree[near], capacity) for capacity, by_tree in judged.items()]
    return pd.DataFrame(rows).assign(repetition=repetition)


def _judged(
    trees: TreeSet, X_val: Array, X_test: Array, y_val: Flags, y_test: Flags
) -> dict[float, pd.DataFrame]:
    """Return for each capacity the criteria of two rules, and what each tree reaches."""
    flags, noisy = (trees.flag_probability(X_val, sigma) for sigma in (0.0, SIGMA))
    blocks = np.array_split(noisy, -(-len(noisy) // AT_ONCE))
    flagged = trees.flag_probability(X_test, 0.0)

    def plain(score: Any, flags: Array, y: Flags) -> Any:
        return score(flags @ y, flags @ ~y, int(y.sum()), int((~y).sum()))

    found = {}
    for capacity in CAPACITIES:
        score = partial(intervention_efficiency, capacity=capacity)
        laws = [law_quantile(score, part, y_val, N_REPLICAS) for part in blocks]
        columns = {"holdout": plain(score, flags, y_val), "pvf": np.concatenate(laws)}
        found[capacity] = pd.DataFrame(columns | {"reached": plain(score, flagged, y_test)})
    return found


def _choices(by_tree: pd.DataFrame, capacity: float) -> dict[str, float]:
    """Return the efficiency on test persons of all trees, and of those that rules choose."""
    reached = by_tree["reached"].to_numpy()
    found = {"capacity": capacity, "least": reached.min(), "all": reached.mean()}
    found["most"] = reached.max()
    for rule in ("holdout", "pvf"):
        tied = is_tied_best(by_tree[rule].to_numpy())
        found |= {rule: reached[tied].mean(), f"tied_{rule}": float(tied.sum())}
    return found


def _conflicts(scores: Array, models: str) -> dict[str, float]:
    """Return the mean capacity of scores of a case, (models, samples), and who is contested."""
    contested = (scores > 0.5).any(axis=0) & (scores < 0.5).any(axis=0)
    mean = float(rashomon_capacity(scores).mean()) if len(scores) > 1 else 1.0
    return {f"mean_{models}": mean, f"contested_{models}": 100 * float(contested.mean())}


def near_estimates(table: pd.DataFrame) -> pd.DataFrame:
    """Return means over splits; ``lead`` is what PVF's choice reaches more than hold-out's."""
    table = table.assign(lead=table["pvf"] - table["holdout"])
    keys = ["epsilon", "capacity"]
    return mean_estimates(table, keys, table.columns.drop([*keys, "repetition"]).tolist())
