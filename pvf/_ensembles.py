"""How likely a noisy copy is flagged by sums over trees."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from pvf._types import Array, Flags, Indices

#: For the features that one column's levels make: these, level by level, and the levels' chances.
Levels = dict[tuple[int, ...], tuple[Array, Array]]
#: Features of all samples as they are, of the levels, and each feature's noise.
Inputs = tuple[Array, Levels, Array]
#: Probabilities, and how far each of them may be off.
Law = tuple[Array, Array]
#: Where an input may be: the levels that are left, or the limits of Gaussian noise.
Ranges = dict[tuple[int, ...], Any]

TREES = (DecisionTreeClassifier, ExtraTreeClassifier)
FORESTS = (RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier)
BOOSTED = (AdaBoostClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier)
MOST_ERROR = 1e-3  # of a probability that counts as known
_MOST_BOXES = 2**12  # that are visited for one model
_FIRST_BOXES = 2**8  # after which it is guessed whether the others will be few enough
_MOST_SUMS = 2**14  # of the values of half of the terms
_NEGLIGIBLE = 1e-14  # chance of a box or of a term's value that is left out, and said


class NoLawError(ValueError):
    """No exact law is known for a model, a mechanism or a metric."""


def combinations(levels: Sequence[tuple[Array, Array]], start: Array) -> Iterator[Law]:
    """Yield each sample's chance of each combination of levels, and its sum with their values."""
    for picked in itertools.product(*(range(len(values)) for values, _ in levels)):
        chance, total = np.ones(len(start)), start
        for (values, chances), k in zip(levels, picked, strict=True):
            chance, total = chance * chances[:, k], total + values[k]
        yield chance, total


@dataclass(frozen=True)
class Trees:
    """Trees whose values are summed: above 0 flags. Nodes of all trees are numbered in one row.

    A leaf's ``feature`` is -1. ``ties`` decides what is 0 to rounding, given the trees' leaves in
    their order; None where nothing does.
    """

    root: Indices
    left: Indices
    right: Indices
    feature: Indices
    threshold: Array
    missing_left: Flags
    value: Array
    start: float = 0.0
    is_rounded: bool = True  # inputs to float32
    ties: Callable[[Indices], bool] | None = None

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Least and largest value of the leaves below each node."""
        low, high = self.value.tolist(), self.value.tolist()
        inner = np.flatnonzero(self.feature >= 0)[::-1]  # children come after their parent
        for node, left, right in np.stack([inner, self.left[inner], self.right[inner]], 1).tolist():
            low[node] = min(low[left], low[right])
            high[node] = max(high[left], high[right])
        return np.array(low), np.array(high)

    @cached_property
    def rounding(self) -> float:
        """How far two orders of summing may be apart."""
        low, high = self.bounds
        most = np.maximum(np.abs(low), np.abs(high))[self.root].sum() + abs(self.start)
        return float(1e-12 * most)


def trees_of(model: Any, values: Array) -> Trees:
    """Return a fitted ensemble's trees; ``values`` are samples that it can predict."""
    kind = type(model)
    if len(model.classes_) != 2 or np.ndim(model.classes_[0]):
        raise NoLawError("no exact law is known for trees of other than two classes")
    if kind in (*TREES, *FORESTS):
        return _votes(model, kind)
    if kind is AdaBoostClassifier:
        if any(type(one) not in TREES or len(one.classes_) < 2 for one in model.estimators_):
            raise NoLawError("no exact law is known for boosting of other models than trees")
        parts = [one.tree_ for one in model.estimators_]
        weights = model.estimator_weights_[: len(parts)]
        found = [
            w * np.where(tree.value[:, 0, 1] > tree.value[:, 0, 0], 1.0, -1.0)
            for tree, w in zip(parts, weights, strict=True)
        ]
        return _joined(parts, found)
    if kind is GradientBoostingClassifier:
        if not isinstance(model.init_, DummyClassifier | str):
            raise NoLawError("no exact law is known for boosting from a model of its own")
        parts = [one.tree_ for one in model.estimators_[:, 0]]
        found = [model.learning_rate * tree.value[:, 0, 0] for tree in parts]
        return _started(_joined(parts, found), model, values)
    if model.is_categorical_ is not None and model.is_categorical_.any():
        # it moves these columns to the front, so that its trees count in another order
        raise NoLawError("no exact law is known for boosting with categorical features")
    parts = [iteration[0].nodes for iteration in model._predictors]
    names = "left", "right", "feature_idx", "num_threshold", "missing_go_to_left", "value"
    columns = [[nodes[name] for nodes in parts] for name in names]
    columns[0] = [np.where(nodes["is_leaf"], -1, nodes["left"].astype(int)) for nodes in parts]
    return _started(_numbered(*columns, is_rounded=False), model, values)


def _votes(model: Any, kind: type) -> Trees:
    members = [model] if kind in TREES else list(model.estimators_)
    if any(type(one) not in TREES or len(one.classes_) < 2 for one in members):
        raise NoLawError(f"no exact law is known for {kind.__name__} of other models than trees")
    parts = [one.tree_ for one in members]
    shares = [tree.value[:, 0, :] for tree in parts]
    features = getattr(model, "estimators_features_", None)
    share = np.concatenate(shares)

    def ties(leaves: Indices) -> bool:
        # As the mean of the trees' probabilities is computed; of equal ones the first class.
        first, second = (sum(share[leaves, c].tolist()) / len(leaves) for c in (0, 1))
        return second > first

    return _joined(parts, [one[:, 1] - one[:, 0] for one in shares], features, ties=ties)


def _joined(
    parts: Sequence[Any], values: Sequence[Array], features: Any = None, **settings: Any
) -> Trees:
    """Return scikit-learn's trees, whose features may be numbers of a list."""
    own = [tree.feature for tree in parts]
    if features is not None:
        own = [
            np.asarray(names)[np.maximum(tree.feature, 0)]  # leaves, which have none, are below 0
            for names, tree in zip(features, parts, strict=True)
        ]
    left, right, threshold, missing = (
        [getattr(tree, name) for tree in parts]
        for name in ("children_left", "children_right", "threshold", "missing_go_to_left")
    )
    return _numbered(left, right, own, threshold, missing, values, **settings)


def _numbered(*columns: Sequence[NDArray[Any]], **settings: Any) -> Trees:
    """Return trees of the columns of their nodes, from ``left`` on, each given tree by tree."""
    sizes = [len(one) for one in columns[0]]
    root = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
    shift = np.repeat(root, sizes)
    left, right, feature, threshold, missing_left, value = map(np.concatenate, columns)
    children = left.astype(np.intp)
    return Trees(
        root,
        children + shift,
        right.astype(np.intp) + shift,
        np.where(children < 0, -1, feature.astype(np.intp)),
        threshold.astype(np.float64),
        missing_left.astype(bool),
        value.astype(np.float64),
        **settings,
    )


def _started(trees: Trees, model: Any, values: Array) -> Trees:
    """Return boosted trees with what the sum starts from."""
    row = values[:1]
    leaves = _leaves(trees, trees.root, row[0].astype(np.float32) if trees.is_rounded else row[0])
    names = getattr(model, "feature_names_in_", None)
    known = row if names is None else pd.DataFrame(row, columns=names)
    start = float(model.decision_function(known)[0]) - float(trees.value[leaves].sum())
    return replace(trees, start=start)


def _leaves(trees: Trees, nodes: Indices, x: NDArray[Any]) -> Indices:
    """Return the leaves to which one sample comes from some nodes."""
    nodes = nodes.copy()
    while (inner := trees.feature[nodes] >= 0).any():
        at = nodes[inner]
        value = x[trees.feature[at]]
        goes = np.where(np.isnan(value), trees.missing_left[at], value <= trees.threshold[at])
        nodes[inner] = np.where(goes, trees.left[at], trees.right[at])
    return nodes


def law_of_trees(model: Any, inputs: Inputs) -> Law:
    """Return the law of an ensemble: term by term where each has one input, else box by box."""
    trees = trees_of(model, inputs[0])
    moves = _Moves(trees, *inputs)
    terms = moves.terms() if type(model) in BOOSTED else None
    if terms is not None:
        chance, error = law_of_sum(*terms, slack=trees.rounding)
        if error.max() <= MOST_ERROR:
            return chance, error
    is_one = len(trees.root) == 1
    chance, error = moves.in_parts() if is_one else moves.in_boxes(type(model).__name__)
    if error.max() > MOST_ERROR:
        raise NoLawError(f"the law of {type(model).__name__} is known to {error.max():.1g} only")
    return chance, error


class _Moves:
    """Where the noisy copies of each sample go in trees."""

    def __init__(self, trees: Trees, values: Array, levels: Levels, scale: Array) -> None:
        self.trees, self.values, self.levels, self.scale = trees, values, levels, scale
        #: Which column's levels make a feature; of Gaussian noise, each feature is its own.
        self.group = {j: features for features in levels for j in features}
        self._known: dict[tuple[int, float], Array] = {}
        self._ends = np.zeros(len(values)), np.ones(len(values))

    def _upto(self, j: int, threshold: float) -> Array:
        """Return how likely each sample's copies have a noisy feature up to a threshold."""
        if np.isinf(threshold):
            return self._ends[int(threshold > 0)]
        if (j, threshold) not in self._known:
            found = ndtr((self._cut(threshold) - self.values[:, j]) / self.scale[j])
            self._known[j, threshold] = found
        return self._known[j, threshold]

    def _rounded(self, value: Array) -> NDArray[Any]:
        return value.astype(np.float32) if self.trees.is_rounded else value

    def _cut(self, threshold: float) -> float:
        """Return up to which number an input is rounded to the threshold or less."""
        if not self.trees.is_rounded:
            return threshold
        last = np.float32(threshold)
        if last > threshold:
            last = np.nextafter(last, np.float32(-np.inf))
        return (float(last) + float(np.nextafter(last, np.float32(np.inf)))) / 2

    def goes(self, node: int) -> Flags:
        """Return which levels go left at a node."""
        j = int(self.trees.feature[node])
        features = self.group[j]
        level = self.levels[features][0][:, features.index(j)]
        return self._rounded(level) <= self.trees.threshold[node]

    # --- One input a tree -------------------------------------------------------------------

    def terms(self) -> tuple[Array, list[tuple[Array, Array]]] | None:
        """Return constants, and values and chances of each input's term; None where inputs mix."""
        trees = self.trees
        ends = np.append(trees.root[1:], len(trees.left))
        of_input: dict[tuple[int, ...], list[int]] = {}
        constant = np.full(len(self.values), trees.start)
        for root, end in zip(trees.root, ends, strict=True):
            used = np.unique(trees.feature[root:end])
            inputs = {self.group.get(j, (j,)) for j in used[used >= 0].tolist()}
            if len(inputs) > 1:
                return None
            if inputs:
                of_input.setdefault(inputs.pop(), []).append(int(root))
            else:
                constant += trees.value[root]
        found = []
        for features, roots in of_input.items():
            nodes = np.array(roots, dtype=np.intp)
            if features in self.levels:
                levels, chances = self.levels[features]
                found.append((self._values(nodes, features, levels), chances))
            elif self.scale[features[0]]:
                found.append(self._steps(nodes, features[0]))
            else:
                constant += self._values(nodes, features, self.values[:, list(features)])
        return constant, found

    def _values(self, roots: Indices, features: tuple[int, ...], at: Array) -> Array:
        """Return the sum of some trees where their features have given values."""
        x = np.zeros((len(at), self.values.shape[1]))
        x[:, list(features)] = at
        rows = self._rounded(x)
        return np.array([self.trees.value[_leaves(self.trees, roots, row)].sum() for row in rows])

    def _steps(self, roots: Indices, j: int) -> tuple[Array, Array]:
        """Return the values of a step function of one feature, and their chances."""
        trees = self.trees
        cuts = np.unique(trees.threshold[trees.feature == j])
        x = np.zeros((len(cuts) + 1, self.values.shape[1]))
        x[:, j] = np.append(cuts, np.inf)
        values = [trees.value[_leaves(trees, roots, row)].sum() for row in x]
        upto = np.stack([self._upto(j, cut) for cut in cuts], 1)
        ends = np.zeros((len(upto), 1)), np.ones((len(upto), 1))
        return np.array(values), np.maximum(np.diff(np.hstack([ends[0], upto, ends[1]])), 0)

    # --- Several inputs a tree --------------------------------------------------------------

    def in_parts(self) -> Law:
        """Return the total probability of the parts of a lone tree in which it flags."""
        trees, n_samples = self.trees, len(self.values)
        low, high = (end + trees.start for end in trees.bounds)
        found, missed = np.zeros((2, n_samples))
        stack: list[tuple[int, Indices, Ranges]] = [(0, np.arange(n_samples), {})]
        while stack:
            node, rows, ranges = stack.pop()
            sign = self._sign(np.array([node]), low[node], high[node])
            if sign is None:
                stack += self._below(node, rows, ranges)
            elif sign >= 0:
                mass = np.ones(len(rows))
                for key, limits in ranges.items():
                    mass *= self._chance(key, limits, rows)
                (found if sign else missed)[rows] += mass
        return np.clip(found, 0, 1), missed

    def _below(
        self, node: int, rows: Indices, ranges: Ranges
    ) -> Iterator[tuple[int, Indices, Ranges]]:
        """Yield a node's two children, the samples that come there and where inputs may be."""
        children = self.trees.left[node], self.trees.right[node]
        if self._is_fixed(node):
            goes = self._goes_as_it_is(node, rows)
            for child, some in zip(children, (rows[goes], rows[~goes]), strict=True):
                yield child, some, ranges
            return
        key, sides = self._sides(node, ranges)
        for child, side in zip(children, sides, strict=True):
            yield child, rows, {**ranges, key: side}

    def in_boxes(self, name: str) -> Law:
        """Return the total probability of the boxes in which the sum flags.

        A box is split by the tree whose value is the least certain, until the sum's sign is sure.
        Samples leave a box that they hardly ever come to.
        """
        trees, n_samples = self.trees, len(self.values)
        low, high = trees.bounds
        found, missed, n_boxes, done = np.zeros(n_samples), np.zeros(n_samples), 0, 0.0
        stack = [_Box(trees.root, np.arange(n_samples), np.ones(n_samples))]
        while stack:
            box = stack.pop()
            n_boxes += 1
            is_slow = n_boxes == _FIRST_BOXES and done * _MOST_BOXES < n_boxes * n_samples
            if n_boxes > _MOST_BOXES or is_slow:
                raise NoLawError(f"the trees of {name} make more than {_MOST_BOXES} boxes")
            least, most = (end[box.nodes].sum() + trees.start for end in (low, high))
            sign = self._sign(box.nodes, least, most)
            if sign is None:  # the likelier part first, so that a hopeless case is known early
                parts = [self._without_strays(part, missed) for part in self._split(box)]
                parts.sort(key=lambda part: float(part.mass.sum()))
                stack += [part for part in parts if len(part.rows)]
                continue
            done += box.mass.sum()
            if sign >= 0:
                (found if sign else missed)[box.rows] += box.mass
        return np.clip(found, 0, 1), missed

    def _sign(self, nodes: Indices, least: float, most: float) -> int | None:
        """Return the sum's sign where trees stand; 0 if nothing decides, None if they go on."""
        trees = self.trees
        if max(least, -most) > trees.rounding:
            return 1 if least > 0 else -1
        if most - least > trees.rounding:
            return None
        if trees.ties is None:
            return 0
        lowest = np.full(self.values.shape[1], -np.inf)  # goes left: any leaf will do in a tie
        return 1 if trees.ties(_leaves(trees, nodes, lowest)) else -1

    def _sides(self, node: int, ranges: Ranges) -> tuple[tuple[int, ...], tuple[Any, Any]]:
        """Return which input a node asks for, and its range on the left and on the right."""
        j, threshold = int(self.trees.feature[node]), float(self.trees.threshold[node])
        if j in self.group:
            goes, key = self.goes(node), self.group[j]
            allowed = ranges.get(key, np.ones(len(goes), dtype=bool))
            return key, (allowed & goes, allowed & ~goes)
        start, end = ranges.get((j,), (-np.inf, np.inf))
        middle = min(max(start, threshold), end)
        return (j,), ((start, middle), (middle, end))

    def _chance(self, key: tuple[int, ...], limits: Any, rows: Indices) -> Array:
        """Return how likely samples' copies have an input in a range."""
        if key in self.levels:
            return self.levels[key][1][rows] @ limits
        start, end = (self._upto(key[0], limit)[rows] for limit in limits)
        return end - start

    def _is_fixed(self, node: int) -> bool:
        j = int(self.trees.feature[node])
        return j not in self.group and not self.scale[j]

    def _goes_as_it_is(self, node: int, rows: Indices) -> Flags:
        """Return which samples go left at a node whose input is not perturbed."""
        value = self.values[rows, self.trees.feature[node]]
        is_missing = np.isnan(value) & self.trees.missing_left[node]
        return is_missing | (self._rounded(value) <= self.trees.threshold[node])

    def _without_strays(self, box: _Box, missed: Array) -> _Box:
        """Return a box without the samples that hardly ever come there, which are noted."""
        stays = box.mass > _NEGLIGIBLE
        if stays.all():
            return box
        missed[box.rows[~stays]] += box.mass[~stays]
        return box.of(stays)

    def _split(self, box: _Box) -> Iterator[_Box]:
        """Yield the two parts of a box at the node of the tree whose value is the least certain."""
        low, high = self.trees.bounds
        which = int((high[box.nodes] - low[box.nodes]).argmax())
        node = int(box.nodes[which])
        if self._is_fixed(node):  # each sample goes one way, whatever the box
            goes = self._goes_as_it_is(node, box.rows)
            for some, child in ((goes, self.trees.left), (~goes, self.trees.right)):
                part = box.of(some)
                part.nodes = np.where(np.arange(len(box.nodes)) == which, child[node], box.nodes)
                yield part
            return
        key, sides = self._sides(node, box.ranges)
        for side in sides:
            yield self._moved(box.within(key, side, self._chance(key, side, box.rows)), key)

    def _moved(self, box: _Box, key: tuple[int, ...]) -> _Box:
        """Let all trees go on as far as one input's range makes sure."""
        trees, limits = self.trees, box.ranges[key]
        at = trees.feature[box.nodes]
        waiting = np.flatnonzero(at == key[0] if len(key) == 1 else np.isin(at, key)).tolist()
        box.nodes = box.nodes.copy()
        while waiting:
            t = waiting.pop()
            node = int(box.nodes[t])
            if key in self.levels:
                left = self.goes(node)[limits]
                is_left, is_right = bool(left.all()), not left.any()
            else:
                is_left = limits[1] <= trees.threshold[node]
                is_right = limits[0] >= trees.threshold[node]
            if is_left or is_right:
                box.nodes[t] = (trees.left if is_left else trees.right)[node]
                if trees.feature[box.nodes[t]] in key:
                    waiting.append(t)
        return box


@dataclass
class _Box:
    """Where trees stand, the samples that may come there, and the range of each narrowed input.

    A range is the levels that are left, or the limits of Gaussian noise.
    """

    nodes: Indices
    rows: Indices
    mass: Array  # how likely each sample comes there
    ranges: Ranges = field(default_factory=dict)
    chances: dict[tuple[int, ...], Array] = field(default_factory=dict)

    def within(self, key: tuple[int, ...], limits: Any, chances: Array) -> _Box:
        """Return the part in which an input has a range."""
        ranges, of_ranges = {**self.ranges, key: limits}, {**self.chances, key: chances}
        mass = reduce(np.multiply, of_ranges.values())
        return _Box(self.nodes, self.rows, mass, ranges, of_ranges)

    def of(self, some: Flags) -> _Box:
        """Return the box of some of its samples."""
        chances = {key: chance[some] for key, chance in self.chances.items()}
        rows, mass = self.rows[some], self.mass[some]
        return _Box(self.nodes, rows, mass, self.ranges, chances)


# --- Sums of independent terms ----------------------------------------------------------------


def law_of_sum(constant: Array, terms: list[tuple[Array, Array]], slack: float) -> Law:
    """Return how likely each sample's sum of independent terms is above 0, and within what.

    Parameters
    ----------
    constant : ndarray of shape (n_samples,)
    terms : list of (ndarray of shape (n_values,), ndarray of shape (n_samples, n_values))
        A term's values, and each sample's chances of them.
    slack : float
        Sums of up to this are 0 to rounding: they count as not known.
    """
    found, error = np.empty(len(constant)), np.empty(len(constant))
    for i, start in enumerate(constant):
        some = [(values[p[i] > _NEGLIGIBLE], p[i][p[i] > _NEGLIGIBLE]) for values, p in terms]
        missed = sum(float(p[i][p[i] <= _NEGLIGIBLE].sum()) for _, p in terms)
        least, most = _sign_of_sum(float(start), some, slack)
        found[i], error[i] = (least + most) / 2, (most - least) / 2 + missed
    return np.clip(found, 0, 1), error


#: Least and largest values that a sum may have, and their chances.
_Sums = tuple[Array, Array, Array]


def _sign_of_sum(
    start: float, terms: list[tuple[Array, Array]], slack: float
) -> tuple[float, float]:
    """Return bounds of the probability that a sum is above 0: each half's values are listed."""
    one = np.ones(1)
    halves = [(start * one, start * one, one), (0 * one, 0 * one, one)]
    for values, chances in sorted(terms, key=lambda term: len(term[0])):
        halves.sort(key=lambda half: len(half[0]))
        low, high, chance = halves[0]
        least, most = (np.add.outer(end, values).ravel() for end in (low, high))
        halves[0] = _fewer(least, most, np.outer(chance, chances).ravel())
    (low, high, chance), other = halves
    return _tail(low - slack, chance, other[0], other[2]), _tail(high + slack, chance, *other[1:])


def _fewer(low: Array, high: Array, chance: Array) -> _Sums:
    """Return no more sums than can be listed: neighbours become one that may have all values."""
    if len(chance) <= _MOST_SUMS:
        return low, high, chance
    width = (high.max() - low.min()) / _MOST_SUMS
    place = np.minimum(((low - low.min()) / width).astype(np.intp), _MOST_SUMS - 1)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    return (
        np.minimum.reduceat(low[order], starts),
        np.maximum.reduceat(high[order], starts),
        np.add.reduceat(chance[order], starts),
    )


def _tail(first: Array, chance: Array, second: Array, other: Array) -> float:
    """Return how likely the sum of two independent values is above 0."""
    order = np.argsort(second)
    above = np.append(np.cumsum(other[order][::-1])[::-1], 0.0)
    return float(chance @ above[np.searchsorted(second[order], -first, side="right")])
