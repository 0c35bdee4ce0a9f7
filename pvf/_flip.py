"""How likely a noisy copy of a sample is flagged: the laws of linear models, and behind what."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn import linear_model, preprocessing, svm
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline

from pvf._bayes import law_of_bayes
from pvf._ensembles import (
    BOOSTED,
    FORESTS,
    TREES,
    Inputs,
    Law,
    Levels,
    NoLawError,
    combinations,
    law_of_trees,
)
from pvf._types import Array, Indices
from pvf.categories import Misclassification, NominalFlip, OrdinalShift
from pvf.mechanisms import GaussianNoise
from pvf.perturbation import JointPerturbation, Perturbation

MOST_LEVELS = 2**14  # combinations of levels that a linear model's law may sum over

LINEAR = (
    LinearDiscriminantAnalysis,
    svm.LinearSVC,
    linear_model.LogisticRegression,
    linear_model.LogisticRegressionCV,
    linear_model.Perceptron,
    linear_model.RidgeClassifier,
    linear_model.RidgeClassifierCV,
    linear_model.SGDClassifier,
)
#: Transformers that make each feature of one column only.
SEEN_THROUGH = (
    preprocessing.MaxAbsScaler,
    preprocessing.MinMaxScaler,
    preprocessing.OneHotEncoder,
    preprocessing.OrdinalEncoder,
    preprocessing.RobustScaler,
    SimpleImputer,
    preprocessing.StandardScaler,
)
CHANGES = (NominalFlip, OrdinalShift, Misclassification)


class Noise:
    """What a fitted perturbation does to each column of a table."""

    def __init__(self, perturbation: JointPerturbation, X: Any) -> None:
        own = getattr(perturbation.sample, "__func__", None)
        if not isinstance(perturbation, Perturbation) or own is not Perturbation.sample:
            raise NoLawError(f"no exact law is known for {type(perturbation).__name__}.sample")
        self._table = perturbation.prepare(X).table  # whose errors name the column
        self.scale = np.zeros(self._table.n_features)
        self.levels: dict[int, tuple[NDArray[Any], Array]] = {}
        for position, mechanism in perturbation.mechanisms_.items():
            kind, bounds = type(mechanism), ("low", "high")
            bounded = any(getattr(mechanism, end, None) is not None for end in bounds)
            if isinstance(mechanism, GaussianNoise) and kind is GaussianNoise and not bounded:
                self.scale[position] = mechanism.scale
            elif isinstance(mechanism, CHANGES) and kind in CHANGES:
                column = pd.Series(self._table.column(position)).astype(object)
                codes = mechanism.levels_.get_indexer(pd.Index(column))
                levels = mechanism.levels_.to_numpy()
                self.levels[position] = levels, mechanism.transition_probabilities()[codes]
            else:
                raise NoLawError(f"no exact law is known for the mechanism {mechanism!r}")

    def behind(self, steps: list[Any]) -> Inputs:
        """Return inputs and scales as a model sees them that stands behind transformers.

        Each perturbed column is moved by itself: through its levels, or from its least to beyond
        its largest value, in which its features must be linear. Where levels make several
        features, only a sum of these has a law, see `_linear`.
        """
        for step in steps:
            _check_seen_through(step)
        values = _features(steps, self._table.X)
        found: Levels = {}
        scale, taken = np.zeros(values.shape[1]), np.zeros(values.shape[1], dtype=bool)
        for position in sorted({*np.flatnonzero(self.scale), *self.levels}):
            if position in self.levels:
                levels, chances = self.levels[position]
                moved = np.stack([_features(steps, self._with(position, v))[0] for v in levels])
                features = np.flatnonzero((moved != moved[0]).any(axis=0))
                if len(features):
                    found[tuple(features.tolist())] = moved[:, features], chances
            else:
                features, slope = self._slopes(steps, position, values)
                scale[features] = np.abs(slope) * self.scale[position]
                if len(features) > 1:
                    raise NoLawError("no exact law is known for noise on several features")
            if taken[features].any():
                raise NoLawError("no exact law is known for a feature of two perturbed columns")
            taken[features] = True
        return values, found, scale

    def _with(self, position: int, value: Any) -> Any:
        """Return the first row with another value in one column."""
        if self._table.is_frame:
            row = self._table.X.iloc[:1].copy()
            column = pd.Series([value], index=row.index)
            kind = row.dtypes.iloc[position]
            is_category = isinstance(kind, pd.CategoricalDtype)
            row.isetitem(position, column.astype(kind) if is_category else column)
            return row
        row = np.array(self._table.X[:1])
        row[:, position] = value
        return row

    def _slopes(self, steps: list[Any], position: int, values: Array) -> tuple[Indices, Array]:
        raw = np.asarray(self._table.column(position), dtype=np.float64)
        if np.isnan(raw).any():
            raise NoLawError("no exact law is known for columns with missing values")
        low, high = raw.min(), raw.max() + max(1.0, float(np.ptp(raw)))
        at = [_features(steps, self._with(position, end))[0] for end in (low, high)]
        slope = (at[1] - at[0]) / (high - low)
        features = np.flatnonzero(slope)
        expected = at[0][features] + slope[features] * (raw[:, None] - low)
        if not np.allclose(values[:, features], expected, rtol=1e-6, atol=1e-9):
            raise NoLawError("no exact law is known for features that bend")
        return features, slope[features]

    @cached_property
    def inputs(self) -> Inputs:
        """Inputs and scales as a model sees them that stands alone; the same for all models."""
        try:
            values = np.asarray(self._table.X, dtype=np.float64)
            levels: Levels = {
                (j,): (v.astype(np.float64)[:, None], p) for j, (v, p) in self.levels.items()
            }
        except (TypeError, ValueError) as error:
            raise NoLawError("no exact law is known for inputs that are no numbers") from error
        if (
            any(np.isnan(values[:, j]).any() for j in self.levels)
            or np.isnan(values[:, self.scale > 0]).any()
        ):
            raise NoLawError("no exact law is known for columns with missing values")
        return values, levels, self.scale


def law_of_flags(model: Any, noise: Noise) -> Law:
    """Return how likely a copy of each sample is predicted the second class, and within what."""
    steps, last = _steps(model)
    kind = type(last)
    is_linear = kind in LINEAR or (kind is svm.SVC and last.kernel == "linear")
    if not is_linear and kind not in (*TREES, *FORESTS, *BOOSTED, GaussianNB):
        raise NoLawError(f"no exact law is known for {kind.__name__}")
    inputs = noise.behind(steps) if steps else noise.inputs
    if kind is GaussianNB:
        return law_of_bayes(last, *inputs)
    if not is_linear:
        return law_of_trees(last, inputs)
    found = _linear(last, *inputs)
    return found, np.zeros_like(found)


def _steps(model: Any) -> tuple[list[Any], Any]:
    """Return the transformers of a pipeline, and what stands behind them."""
    if not isinstance(model, Pipeline):
        return [], model
    before = [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
    inner, last = _steps(model.steps[-1][1])
    return before + inner, last


def _check_seen_through(step: Any) -> None:
    """Refuse a transformer that may make a feature of several columns."""
    inner: list[Any] = []
    if isinstance(step, Pipeline):
        inner = [one for _, one in step.steps]
    elif type(step) is ColumnTransformer:
        inner = [one for _, one, _ in step.transformers_]
    elif type(step) is preprocessing.FunctionTransformer and step.func is None:
        return  # what a remainder that is passed on becomes
    elif step not in ("passthrough", "drop", None) and type(step) not in SEEN_THROUGH:
        raise NoLawError(f"no exact law is known behind {type(step).__name__}")
    if getattr(step, "clip", False):
        raise NoLawError(f"no exact law is known behind {type(step).__name__} that clips")
    for one in inner:
        _check_seen_through(one)


def _features(steps: list[Any], table: Any) -> Array:
    for step in steps:
        table = step.transform(table)
    dense = table.toarray() if hasattr(table, "toarray") else np.asarray(table)
    try:
        return dense.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise NoLawError("no exact law is known for inputs that are no numbers") from error


def _linear(model: Any, values: Array, levels: Levels, scale: Array) -> Array:
    if np.shape(model.coef_)[0] != 1:
        raise NoLawError("no exact law is known for a linear model of other than two classes")
    weight = np.asarray(model.coef_, dtype=np.float64).ravel()
    moved = {f: (v @ weight[list(f)], p) for f, (v, p) in levels.items() if weight[list(f)].any()}
    fixed = weight.copy()
    fixed[[j for features in moved for j in features]] = 0
    margin = values @ fixed + float(np.ravel(model.intercept_)[0])
    spread = float(np.linalg.norm(weight * scale))
    n_combinations = int(np.prod([len(v) for v, _ in moved.values()], dtype=object))
    if n_combinations > MOST_LEVELS:
        raise NoLawError(
            f"{n_combinations} combinations of levels are more than the {MOST_LEVELS} that a "
            "linear model's law is summed over"
        )
    found = np.zeros(len(values))
    for chance, shifted in combinations(list(moved.values()), margin):
        found += chance * (ndtr(shifted / spread) if spread else shifted > 0)
    return np.clip(found, 0, 1)
