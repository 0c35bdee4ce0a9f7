"""The study's three pools of candidates, fitted fast: a hundred trees, logistic regressions, a mix.

All see one coded matrix: numeric columns as they are, a category as the place of its level. Scaling
and encoding are learned wherever a pool is fitted, so folds never see their held-out rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr
from sklearn import config_context
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from pvf._types import Array, Flags
from pvf.perturbation import NominalFlip, OrdinalShift
from studies.data.datasets import Dataset
from studies.pvf2026.clinical.run import flag_probability, grow_trees

POOLS = ("trees", "logistic", "mixed")


@dataclass(frozen=True, eq=False)
class Coded:
    """A table as one matrix, and how each category changes.

    Parameters
    ----------
    X : ndarray of shape (n_people, n_columns)
        Numbers as they are (NaN where missing), categories as the places of their levels.
    y : ndarray of bool
    changes : mapping of int to mechanism
        The categorical columns, fitted on all their levels, which are the answers that a form
        allows and no outcome is needed to know.
    moves : mapping of int to ndarray of shape (n_levels, n_levels)
        Probability of each new level (column), given the old one (row).
    """

    X: Array
    y: Flags
    changes: dict[int, NominalFlip | OrdinalShift]
    moves: dict[int, Array]

    @property
    def numeric(self) -> list[int]:
        """Places of the numeric columns."""
        return [place for place in range(self.X.shape[1]) if place not in self.changes]

    @property
    def categories(self) -> list[int]:
        """Places of the categorical columns."""
        return list(self.changes)


def coded(data: Dataset, probability: float = 0.1, decay: float = 0.1) -> Coded:
    """Code a table; nominal columns flip and ordinal ones shift, as in the papers."""
    columns: list[Array] = []
    changes: dict[int, NominalFlip | OrdinalShift] = {}
    moves: dict[int, Array] = {}
    for place, (name, kind) in enumerate(data.kinds.items()):
        if kind == "numeric":
            columns.append(data.X[name].to_numpy(dtype=float))
            continue
        codes, levels = pd.factorize(data.X[name], sort=True)
        columns.append(np.where(codes < 0, np.nan, codes))
        if len(levels) < 2:
            continue
        change = NominalFlip(probability) if kind == "nominal" else OrdinalShift(probability, decay)
        changes[place] = change.fit(np.arange(len(levels)))
        moves[place] = _moves(len(levels), kind, probability, decay)
    return Coded(np.column_stack(columns), data.y.to_numpy() == 1, changes, moves)


def _moves(n_levels: int, kind: str, probability: float, decay: float) -> Array:
    """Return the law of a category's change (section 3.2 of the paper, mechanisms 2 and 3)."""
    places = np.arange(n_levels)
    apart = np.abs(places[:, None] - places)
    weight = np.exp(-decay * apart) if kind == "ordinal" else np.ones((n_levels, n_levels))
    np.fill_diagonal(weight, 0.0)
    weight /= weight.sum(axis=1, keepdims=True)
    return (1 - probability) * np.eye(n_levels) + probability * weight


class _Scaler:
    """Impute by median or most frequent level, and scale numbers, by the rows it is fitted on."""

    def __init__(self, table: Coded, X: Array) -> None:
        self.fill = np.array(
            [
                _middle(X[:, place], is_category=place in table.changes)
                for place in range(X.shape[1])
            ]
        )
        filled = np.where(np.isnan(X), self.fill, X)
        self.mean, self.spread = np.zeros(X.shape[1]), np.ones(X.shape[1])
        numeric = table.numeric
        self.mean[numeric] = filled[:, numeric].mean(axis=0)
        spread = filled[:, numeric].std(axis=0)
        self.spread[numeric] = np.where(np.ptp(filled[:, numeric], axis=0) == 0, 1.0, spread)

    def __call__(self, X: Array) -> Array:
        return (np.where(np.isnan(X), self.fill, X) - self.mean) / self.spread


def _middle(column: Array, *, is_category: bool) -> float:
    seen = column[~np.isnan(column)]
    if not len(seen):
        return 0.0
    if is_category:
        return float(np.bincount(seen.astype(int)).argmax())
    return float(np.median(seen))


class TreePool:
    """The paper's trees: depth 4, each grown on its own 70% of the training rows."""

    def __init__(self, table: Coded, n_candidates: int, *, depth: int = 4, share: float = 0.7):
        self.table, self.depth, self.share = table, depth, share
        self.complexity, self.flag_error = np.zeros(n_candidates), 0.0

    def fit(self, X: Array, y: Flags, seed: np.random.SeedSequence) -> Any:
        """Grow the trees; a subsample of one class is drawn anew."""
        rng, scale = np.random.default_rng(seed), _Scaler(self.table, X)
        n_trees, size = len(self.complexity), round(self.share * len(y))
        trees, seen, _ = grow_trees(scale(X), y, n_trees, size, self.depth, rng)
        return scale, trees, seen

    def probability(self, fitted: Any, X: Array) -> Array:
        """Return the share of cases in each person's leaf."""
        scale, trees, _ = fitted
        scaled = scale(X).astype(np.float32)
        found = np.empty((len(trees), len(X)))
        for mine, tree in zip(found, trees, strict=True):
            leaves = tree.tree_.value[:, 0, 1]
            mine[:] = leaves[tree.tree_.apply(scaled)]
        return found

    def flag_probability(
        self, fitted: Any, X: Array, sigma: float, seed: np.random.SeedSequence
    ) -> Array:
        """Return the exact probability that a perturbed person lands in a leaf of cases."""
        del seed  # nothing is drawn
        scale, trees, _ = fitted
        return flag_probability(trees, scale(X), sigma, self.table.changes)

    def trained_on(self, fitted: Any) -> Flags:
        """Return each tree's subsample."""
        return fitted[2]


class LogisticPool:
    """Penalised logistic regressions on seeded subsets of one to four columns.

    All are fitted at once by Newton's method; the penalty is scikit-learn's with C = 1, the
    intercept is free. Categories are one column a level.
    """

    def __init__(self, table: Coded, n_candidates: int, seed: np.random.SeedSequence) -> None:
        self.table, self.flag_error = table, 0.0
        self.subsets = _subsets(table.X.shape[1], n_candidates, np.random.default_rng(seed))
        self.complexity = np.array([len(one) for one in self.subsets], dtype=float)
        self.places, width = {}, 1  # 0 is a column of zeros, with which subsets are padded
        for place in range(table.X.shape[1]):
            n = len(table.moves[place]) if place in table.moves else 1
            self.places[place] = list(range(width, width + n))
            width += n
        wide = [[column for place in one for column in self.places[place]] for one in self.subsets]
        longest = max(map(len, wide))
        self.columns = np.array([one + [0] * (longest - len(one)) for one in wide])

    def _encoded(self, scaled: Array) -> Array:
        blocks = [np.zeros((len(scaled), 1))]
        for place in range(scaled.shape[1]):
            column = scaled[:, [place]]
            if place in self.table.moves:
                column = (column == np.arange(len(self.table.moves[place]))).astype(float)
            blocks.append(column)
        return np.hstack(blocks)

    def fit(self, X: Array, y: Flags, seed: np.random.SeedSequence) -> Any:
        """Fit all regressions."""
        del seed  # nothing is drawn
        scale = _Scaler(self.table, X)
        design = self._encoded(scale(X))[:, self.columns].transpose(1, 0, 2)
        return scale, *fit_logistic(design, y)

    def probability(self, fitted: Any, X: Array) -> Array:
        """Return probabilities of a case."""
        scale, coefficients, intercepts = fitted
        weights = np.zeros((len(self.columns), self.columns.max() + 1))
        rows = np.arange(len(weights))[:, None]
        np.add.at(weights, (rows, self.columns), coefficients)
        encoded = self._encoded(scale(X))[:, : weights.shape[1]]
        return expit(weights @ encoded.T + intercepts[:, None])

    def flag_probability(
        self, fitted: Any, X: Array, sigma: float, seed: np.random.SeedSequence
    ) -> Array:
        """Return the exact probability that a perturbed person's score is above 0.

        Given the levels of the categories the score is normal; the law of the levels is a product.
        """
        del seed  # nothing is drawn
        scale, coefficients, intercepts = fitted
        scaled = scale(X)
        return np.array(
            [
                self._one(subset, weights, float(intercept), scaled, sigma)
                for subset, weights, intercept in zip(
                    self.subsets, coefficients, intercepts, strict=True
                )
            ]
        )

    def _one(
        self, subset: Sequence[int], weights: Array, intercept: float, scaled: Array, sigma: float
    ) -> Array:
        mean, variance, start = np.full(len(scaled), intercept), 0.0, 0
        shift, law = np.zeros(1), np.ones((len(scaled), 1))
        for place in subset:
            n = len(self.places[place])
            mine, start = weights[start : start + n], start + n
            if place in self.table.moves:
                shift = (shift[:, None] + mine).ravel()
                moves = self.table.moves[place][scaled[:, place].astype(int)]
                law = (law[:, :, None] * moves[:, None, :]).reshape(len(scaled), -1)
            else:
                mean = mean + mine[0] * scaled[:, place]
                variance += float(mine[0]) ** 2
        above = mean[:, None] + shift
        if variance:
            above = ndtr(above / (sigma * np.sqrt(variance)))
        return np.einsum("rc,rc->r", law, above if variance else (above > 0).astype(float))

    def trained_on(self, fitted: Any) -> None:
        """Return None: every regression sees all rows."""
        del fitted


def _subsets(n_columns: int, n_most: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return different subsets of one to four columns; all of them where they are few."""
    sizes = range(1, min(4, n_columns) + 1)
    every = sum(
        1 for size in sizes for _ in itertools.combinations(range(min(n_columns, 12)), size)
    )
    if n_columns <= 12 and every <= n_most:
        return [one for size in sizes for one in itertools.combinations(range(n_columns), size)]
    found: dict[tuple[int, ...], None] = {}
    while len(found) < n_most:
        size = int(rng.integers(1, len(sizes) + 1))
        found[tuple(sorted(rng.choice(n_columns, size, replace=False).tolist()))] = None
    return list(found)


def fit_logistic(design: Array, y: Flags, *, penalty: float = 1.0) -> tuple[Array, Array]:
    """Fit many ridge-penalised logistic regressions at once, by Newton's method.

    Parameters
    ----------
    design : ndarray of shape (n_models, n_samples, n_columns)
    y : ndarray of bool of shape (n_samples,)
    penalty : float, default=1.0
        Of half the sum of squared coefficients, without the intercept.

    Returns
    -------
    coefficients : ndarray of shape (n_models, n_columns)
    intercepts : ndarray of shape (n_models,)
    """
    n_models, n_samples, n_columns = design.shape
    full = np.concatenate([design, np.ones((n_models, n_samples, 1))], axis=2)
    turned = full.transpose(0, 2, 1)
    ridge = penalty * np.eye(n_columns + 1)
    ridge[-1, -1] = 1e-9
    beta = np.zeros((n_models, n_columns + 1))
    beta[:, -1] = np.log(y.mean() / (1 - y.mean()))
    for _ in range(50):
        p = expit((full @ beta[:, :, None])[:, :, 0])
        gradient = (turned @ (p - y)[:, :, None])[:, :, 0] + beta @ ridge
        hessian = (turned * (p * (1 - p))[:, None, :]) @ full + ridge
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        beta = beta - step
        if np.abs(step).max() < 1e-8:
            break
    return beta[:, :-1], beta[:, -1]


class MixedPool:
    """Twenty settings of seven learners, from simple to complex within each kind."""

    def __init__(self, table: Coded, n_candidates: int = 20, *, n_draws: int = 100) -> None:
        self.table, self.n_draws = table, n_draws
        self.models = _mixed_models()[:n_candidates]
        self.complexity = np.arange(len(self.models), dtype=float)
        self.flag_error = 0.5 / float(np.sqrt(n_draws))

    def _encoded(self, scaled: Array) -> Array:
        blocks = [scaled[:, self.table.numeric]]
        for place, moves in self.table.moves.items():
            blocks.append((scaled[:, [place]] == np.arange(len(moves))).astype(float))
        return np.hstack(blocks)

    def fit(self, X: Array, y: Flags, seed: np.random.SeedSequence) -> Any:
        """Fit all models."""
        scale = _Scaler(self.table, X)
        encoded = self._encoded(scale(X))
        number = int(seed.generate_state(1)[0] >> 1)
        fitted = []
        for kind, options in self.models:
            known = {"random_state": number} if "random_state" in kind().get_params() else {}
            with config_context(skip_parameter_validation=True):
                fitted.append(kind(**options, **known).fit(encoded, y))
        return scale, fitted

    def probability(self, fitted: Any, X: Array) -> Array:
        """Return probabilities of a case; for support vectors, the logistic of the score."""
        scale, models = fitted
        return self._probability(models, self._encoded(scale(X)))

    @staticmethod
    def _probability(models: Sequence[Any], encoded: Array) -> Array:
        return np.array(
            [
                expit(model.decision_function(encoded))
                if isinstance(model, SVC)
                else model.predict_proba(encoded)[:, 1]
                for model in models
            ]
        )

    def flag_probability(
        self, fitted: Any, X: Array, sigma: float, seed: np.random.SeedSequence
    ) -> Array:
        """Estimate by stacked sampling, the same draws for all models."""
        scale, models = fitted
        rng, scaled = np.random.default_rng(seed), scale(X)
        stacked = np.repeat(scaled[None], self.n_draws, axis=0)
        numeric = self.table.numeric
        noise = rng.standard_normal((self.n_draws, len(X), len(numeric)))
        stacked[:, :, numeric] += sigma * noise
        for place, moves in self.table.moves.items():
            borders = np.cumsum(moves, axis=1)[scaled[:, place].astype(int), :-1]
            draws = rng.random((self.n_draws, len(X), 1))
            stacked[:, :, place] = (draws > borders).sum(axis=2)
        flat = self._encoded(stacked.reshape(-1, X.shape[1]))
        flagged = self._probability(models, flat) > 0.5
        return flagged.reshape(len(models), self.n_draws, len(X)).mean(axis=1)

    def trained_on(self, fitted: Any) -> None:
        """Return None: every model sees all rows."""
        del fitted


def _mixed_models() -> list[tuple[Any, dict[str, Any]]]:
    """Return the twenty settings, the simplest first."""
    return [
        *((LogisticRegression, {"C": c, "max_iter": 1000}) for c in (0.1, 1.0, 10.0)),
        *((GaussianNB, {"var_smoothing": v}) for v in (1e-1, 1e-9)),
        *((DecisionTreeClassifier, {"max_depth": depth}) for depth in (1, 2, 4, 8)),
        *((KNeighborsClassifier, {"n_neighbors": k}) for k in (15, 7, 3)),
        *((SVC, {"kernel": "linear", "C": c}) for c in (0.1, 1.0)),
        *((SVC, {"C": c}) for c in (1.0, 10.0)),
        *((RandomForestClassifier, {"n_estimators": 30, "min_samples_leaf": m}) for m in (5, 1)),
        *((GradientBoostingClassifier, {"n_estimators": 40, "max_depth": d}) for d in (1, 3)),
    ]


def make_pool(
    name: str, table: Coded, n_candidates: int, seed: np.random.SeedSequence
) -> TreePool | LogisticPool | MixedPool:
    """Make a pool of the study by its name."""
    if name == "trees":
        return TreePool(table, n_candidates)
    if name == "logistic":
        return LogisticPool(table, n_candidates, seed)
    if name == "mixed":
        return MixedPool(table, min(n_candidates, 20))
    raise ValueError(f"name must be one of {', '.join(POOLS)}, got {name!r}.")
