"""How likely a noisy copy of a sample is flagged: the laws of linear models and trees."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from pvf._checks import check_table
from pvf.perturbation import GaussianNoise, NominalFlip, OrdinalShift, Perturbation

Array = NDArray[np.float64]
MOST_LEVELS = 2**14  # combinations of levels that a linear model's law may sum over

LINEAR = (
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
TREES = (DecisionTreeClassifier, ExtraTreeClassifier)


class NoLawError(ValueError):
    """No exact law is known for a model, a mechanism or a metric."""


class Noise:
    """What a fitted perturbation does to each column of a table."""

    def __init__(self, perturbation: Perturbation, X: Any) -> None:
        perturbation.prepare(X)  # whose errors name the column
        table = check_table("X", X)
        n_features = table.shape[1]
        self.scale = np.zeros(n_features)
        self.levels: dict[int, tuple[NDArray[Any], Array]] = {}
        for position, mechanism in perturbation.mechanisms_.items():
            kind, bounds = type(mechanism), ("low", "high")
            bounded = any(getattr(mechanism, end, None) is not None for end in bounds)
            if isinstance(mechanism, GaussianNoise) and kind is GaussianNoise and not bounded:
                self.scale[position] = mechanism.scale
            elif isinstance(mechanism, NominalFlip | OrdinalShift) and kind in (
                NominalFlip,
                OrdinalShift,
            ):
                column = pd.Series(
                    table.iloc[:, position]
                    if isinstance(table, pd.DataFrame)
                    else table[:, position]
                ).astype(object)
                codes = mechanism.levels_.get_indexer(pd.Index(column))
                levels = mechanism.levels_.to_numpy()
                self.levels[position] = levels, mechanism.transition_probabilities()[codes]
            else:
                raise NoLawError(f"no exact law is known for the mechanism {mechanism!r}")
        self._table = table

    def inputs(self) -> tuple[Array, dict[int, tuple[Array, Array]]]:
        """Return the table and the levels as numbers."""
        try:
            values = np.asarray(self._table, dtype=np.float64)
            levels = {j: (v.astype(np.float64), p) for j, (v, p) in self.levels.items()}
        except (TypeError, ValueError) as error:
            raise NoLawError("no exact law is known for inputs that are no numbers") from error
        if (
            any(np.isnan(values[:, j]).any() for j in self.levels)
            or np.isnan(values[:, self.scale > 0]).any()
        ):
            raise NoLawError("no exact law is known for columns with missing values")
        return values, levels


def law_of_flags(model: Any, noise: Noise) -> Array:
    """Return each sample's probability that a perturbed copy is predicted the second class."""
    kind = type(model)
    if kind in LINEAR or (kind is SVC and model.kernel == "linear"):
        return _linear(model, *noise.inputs(), noise.scale)
    if kind in TREES:
        if np.ndim(model.n_classes_) or model.n_classes_ != 2:
            raise NoLawError("no exact law is known for a tree of other than two classes")
        return _Tree(model.tree_, *noise.inputs(), noise.scale).probability()
    raise NoLawError(f"no exact law is known for {kind.__name__}")


def _linear(
    model: Any, values: Array, levels: dict[int, tuple[Array, Array]], scale: Array
) -> Array:
    if np.shape(model.coef_)[0] != 1:
        raise NoLawError("no exact law is known for a linear model of other than two classes")
    weight = np.asarray(model.coef_, dtype=np.float64).ravel()
    moved = {j: law for j, law in levels.items() if weight[j] != 0}
    fixed = weight.copy()
    fixed[list(moved)] = 0
    margin = values @ fixed + float(np.ravel(model.intercept_)[0])
    spread = float(np.linalg.norm(weight * scale))
    n_combinations = int(np.prod([len(v) for v, _ in moved.values()], dtype=object))
    if n_combinations > MOST_LEVELS:
        raise NoLawError(
            f"{n_combinations} combinations of levels are more than the {MOST_LEVELS} that a "
            "linear model's law is summed over"
        )
    found = np.zeros(len(values))
    for picked in itertools.product(*(range(len(v)) for v, _ in moved.values())):
        chance, shifted = np.ones(len(values)), margin
        for (j, (level, probability)), k in zip(moved.items(), picked, strict=True):
            chance = chance * probability[:, k]
            shifted = shifted + weight[j] * level[k]
        found += chance * (ndtr(shifted / spread) if spread else shifted > 0)
    return np.clip(found, 0, 1)


class _Tree:
    """A tree of two classes whose leaves are boxes of independent inputs."""

    def __init__(
        self,
        tree: Any,
        values: Array,
        levels: dict[int, tuple[Array, Array]],
        scale: Array,
    ) -> None:
        self.left, self.right = tree.children_left, tree.children_right
        self.feature, self.threshold = tree.feature, tree.threshold
        self.missing_left = tree.missing_go_to_left
        share = tree.value[:, 0, :]
        self.is_flagged = share[:, 1] > share[:, 0]  # of equal shares the first class is predicted
        self.values, self.levels, self.scale = values, levels, scale
        # A subtree whose leaves agree is a leaf.
        self.uniform = np.ones(len(self.left), dtype=bool)
        for node in range(len(self.left) - 1, -1, -1):
            a, b = self.left[node], self.right[node]
            if a >= 0:
                agree = self.is_flagged[a] == self.is_flagged[b]
                self.uniform[node] = self.uniform[a] and self.uniform[b] and agree
                self.is_flagged[node] = self.is_flagged[a]

    def probability(self) -> Array:
        """Return the total probability of the boxes that are flagged."""
        found = np.zeros(len(self.values))
        stack: list[tuple[int, dict[int, Any]]] = [(0, {})]
        while stack:
            node, box = stack.pop()
            if not self.uniform[node]:
                stack.extend(self._children(node, box))
            elif self.is_flagged[node]:
                found += self._mass(box)
        return np.clip(found, 0, 1)

    def _children(self, node: int, box: dict[int, Any]) -> Iterator[tuple[int, dict[int, Any]]]:
        j, left, right = self.feature[node], self.left[node], self.right[node]
        if j in self.levels:
            goes = self.levels[j][0].astype(np.float32) <= self.threshold[node]
            allowed = box.get(j, True)
            yield left, {**box, j: allowed & goes}
            yield right, {**box, j: allowed & ~goes}
            return
        low, high = box.get(j, (0.0, 1.0))
        below = self._below(j, node)
        yield left, {**box, j: (low, np.minimum(high, below))}
        yield right, {**box, j: (np.maximum(low, below), high)}

    def _below(self, j: int, node: int) -> Array:
        """Return the probability that an input goes left, from the start."""
        value, scale = self.values[:, j], self.scale[j]
        if not scale:
            goes = value.astype(np.float32) <= self.threshold[node]
            return np.where(np.isnan(value), bool(self.missing_left[node]), goes).astype(float)
        # Trees round inputs to float32: what rounds to the threshold or less goes left.
        last = np.float32(self.threshold[node])
        if last > self.threshold[node]:
            last = np.nextafter(last, np.float32(-np.inf))
        cut = (float(last) + float(np.nextafter(last, np.float32(np.inf)))) / 2
        return ndtr((cut - value) / scale)

    def _mass(self, box: dict[int, Any]) -> Array:
        mass = np.ones(len(self.values))
        for j, part in box.items():
            if j in self.levels:
                mass *= self.levels[j][1] @ part
            else:
                mass *= np.maximum(part[1] - part[0], 0)
        return mass
