"""Scores of many models on many perturbed sets, stacked into blocks that are predicted once."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pvf._checks import shown
from pvf._types import Array, ArrayLike, Flags, NDArray, Scorer
from pvf.metrics import count_metric
from pvf.perturbation import TableSampler

BLOCK_BYTES = 16 * 2**20


def perturbed_counts(
    models: Sequence[Any],
    sampler: TableSampler,
    is_case: Flags,
    case_label: Any,
    n_replicas: int,
    seeds: Sequence[np.random.SeedSequence],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return true and false positives of each model on each set, each of shape (Q, n_sets)."""
    block = _perturbed_block(sampler, n_replicas, seeds)
    counts = [
        _counts(np.asarray(model.predict(block)) == case_label, is_case, len(seeds))
        for model in models
    ]
    tp, fp = np.moveaxis(np.array(counts), 1, 0)
    return tp, fp


def _counts(
    flagged: Flags, is_case: Flags, n_sets: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return true and false positives of one model on each stacked set."""
    per_sample = flagged.reshape(n_sets, -1, len(is_case)).sum(axis=1)
    return per_sample[:, is_case].sum(axis=1), per_sample[:, ~is_case].sum(axis=1)


def _perturbed_block(
    sampler: TableSampler, n_replicas: int, seeds: Sequence[np.random.SeedSequence]
) -> Any:
    draws = [sampler.draw(n_replicas, np.random.default_rng(seed)) for seed in seeds]
    return sampler.assemble(draws, n_replicas)


@dataclass(frozen=True)
class BlockScorer:
    """How models are scored on sets that are stacked in one block."""

    y: NDArray
    scorer: Scorer
    params: Mapping[str, Any] = field(default_factory=dict)  # such as weights, as the scorer takes
    given: Any = None  # the scorer as it was given, by which errors name it

    @cached_property
    def metric(self) -> tuple[Any, Callable[..., NDArray]] | None:
        """The case label and the score as a function of counts, where it is one."""
        if self.params or self.y.ndim > 1:
            return None
        return count_metric(self.scorer, np.unique(self.y))

    @cached_property
    def is_case(self) -> Flags:
        return self.y == self.metric[0] if self.metric else np.zeros(len(self.y), dtype=bool)

    def scores(self, replay: Replay, X: Any, places: Sequence[slice]) -> Array | list[float]:
        """Return one model's scores, one for each of the sets that stand in X."""
        replay.part, replay.rows = X, slice(None)
        flagged = None if self.metric is None else self.flagged(replay.predict(X))
        if flagged is None:
            return self._set_by_set(replay, X, places)
        counts = _counts(flagged, self.is_case, len(places))
        return self.from_counts(*counts, flagged.size // len(places) // len(self.y))

    def flagged(self, predicted: ArrayLike) -> Flags | None:
        """Mark what is predicted a case; None if a prediction is neither of the two classes."""
        predicted = np.asarray(predicted)
        flagged = predicted == self.y[self.is_case][0]
        is_other = predicted == self.y[~self.is_case][0]
        return flagged if np.array_equal(~flagged, is_other) else None

    def from_counts(self, tp: NDArray, fp: NDArray, n_replicas: int) -> Array:
        assert self.metric is not None  # or nothing would be counted
        n_pos = n_replicas * int(self.is_case.sum())
        return self.metric[1](tp, fp, n_pos, n_replicas * len(self.y) - n_pos)

    def _set_by_set(self, replay: Replay, X: Any, places: Sequence[slice]) -> list[float]:
        """Return scores of any scorer, from one prediction of the whole block."""
        n_replicas = places[0].stop // len(self.y)
        y = np.concatenate([self.y] * n_replicas)
        params = {name: _replicated(v, len(self.y), n_replicas) for name, v in self.params.items()}
        scores = []
        for replay.rows in places:
            replay.part = X if len(places) == 1 else rows_of(X, replay.rows)
            scores.append(one_number("scoring", self.scorer(replay, replay.part, y, **params)))
        return scores


def _replicated(value: Any, n_samples: int, n_replicas: int) -> Any:
    """Return what is one value a sample for all replicas, and anything else as it is."""
    is_column = np.ndim(value) > 0 and len(value) == n_samples
    return np.concatenate([np.asarray(value)] * n_replicas) if is_column else value


def scores_of_models(models: Sequence[Any], X: Any, y: NDArray, scorer: Scorer) -> Array:
    """Return the score of each model on samples as they are, of shape (n_models,)."""
    return scores_on([BlockScorer(y, scorer)], models, X, 1)[0, :, 0]


def scores_on(scorers: Sequence[BlockScorer], models: Sequence[Any], X: Any, n_sets: int) -> Array:
    """Return scores of shape (n_scorers, n_models, n_sets), with one prediction a model."""
    n_rows = (X.shape[0] if hasattr(X, "shape") else len(X)) // n_sets
    places = [slice(m * n_rows, (m + 1) * n_rows) for m in range(n_sets)]
    scores = np.empty((len(scorers), len(models), n_sets))
    for q, model in enumerate(models):
        replay = Replay(model, X)
        for s, scorer in enumerate(scorers):
            scores[s, q] = scorer.scores(replay, X, places)
    return scores


@dataclass(frozen=True)
class PerturbedSets:
    """Perturbed sets of one validation set, and how models are scored on them."""

    sampler: TableSampler
    n_replicas: int
    scorers: tuple[BlockScorer, ...]
    n_rows: int | None = None  # of the table that a part of a set is made of; None for no parts

    def scores(self, models: Sequence[Any], seeds: Sequence[np.random.SeedSequence]) -> Array:
        """Return scores of shape (n_scorers, n_models, n_sets) on the sets of the seeds."""
        if self.n_rows is not None:
            parts = [self._scores_in_parts(models, seed, self.n_rows) for seed in seeds]
            return np.stack(parts, axis=2)
        block = _perturbed_block(self.sampler, self.n_replicas, seeds)
        return scores_on(self.scorers, models, block, len(seeds))

    def _scores_in_parts(
        self, models: Sequence[Any], seed: np.random.SeedSequence, n_rows: int
    ) -> Array:
        """Return scores on one set that is never whole: counts add up over its parts."""
        counts = np.zeros((2, len(self.scorers), len(models)), dtype=np.int64)
        rng = np.random.default_rng(seed)
        for rows, part in self.sampler.parts(self.n_replicas, rng, n_rows):
            for q, model in enumerate(models):
                predicted = model.predict(part)
                for s, scorer in enumerate(self.scorers):
                    flagged = scorer.flagged(predicted)
                    if flagged is None:  # a third class, which no count holds
                        self._warn_of_size()
                        return replace(self, n_rows=None).scores(models, [seed])[:, :, 0]
                    counts[:, s, q] += np.ravel(_counts(flagged, scorer.is_case[rows], 1))
            del part  # before the next one is made
        of_scorers = zip(self.scorers, *counts, strict=True)
        return np.stack([of.from_counts(tp, fp, self.n_replicas) for of, tp, fp in of_scorers])

    def per_block(self, budget: float) -> int:
        """Return how many sets fit into a block, or into ``budget`` bytes, at least one.

        A block has one size whatever the number of workers: the last bits of a matrix product, and
        with them the nearest neighbour among equally near ones, depend on how many rows it has.
        """
        size = self._row_bytes * self.sampler.table.n_samples
        return max(1, int(min(budget, BLOCK_BYTES) // size))

    @property
    def _row_bytes(self) -> int:
        """How many bytes one sample's replicas take in a set.

        A cell's random number, its perturbed value and the model's own copy of it; labels and
        probabilities a row.
        """
        return (24 * self.sampler.table.n_features + 64) * self.n_replicas

    def rows_per_part(self, budget: float) -> int | None:
        """Return how many samples a set beyond ``budget`` is split into; None for no split."""
        if self._row_bytes * self.sampler.table.n_samples <= budget:
            return None
        if self.sampler.can_be_split and all(of.metric is not None for of in self.scorers):
            return max(1, int(budget // (2 * self._row_bytes)))  # labels and scores take room too
        self._warn_of_size()
        return None

    def _warn_of_size(self) -> None:
        size = self._row_bytes * self.sampler.table.n_samples / 2**20
        warnings.warn(
            f"memory_budget is exceeded: one perturbed set takes about {size:,.0f} MiB. It is "
            "split only for scores that count right and wrong predictions of two classes, such as "
            "F1 or Intervention Efficiency, under this package's own mechanisms. Take fewer "
            "n_replicas or samples, or a larger memory_budget.",
            stacklevel=4,
        )


class Replay:
    """A model that predicts all rows at once, and hands out those of the ``part`` asked for.

    Everything but the predictions on that part is the model's.
    """

    _METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")

    def __init__(self, model: Any, X: Any) -> None:
        self._model, self._X = model, X
        self.part: Any = X
        self.rows: Any = slice(None)  # where the part's rows stand in X
        self._responses: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name in ("_model", "_X", "part", "rows", "_responses"):  # of a copy that is still empty
            raise AttributeError(name)
        attribute = getattr(self._model, name)
        if name not in self._METHODS:
            return attribute

        @functools.wraps(attribute)
        def respond(X: Any) -> Any:
            if X is not self.part:
                return attribute(X)
            if name not in self._responses:
                response = attribute(self._X)
                is_frame = isinstance(response, pd.Series | pd.DataFrame)
                self._responses[name] = response.to_numpy() if is_frame else response
            found, rows = self._responses[name], self.rows
            # several labels' probabilities are a list, one array a label
            return [one[rows] for one in found] if isinstance(found, list) else found[rows]

        return respond


def rows_of(X: Any, rows: Any) -> Any:
    """Return some rows of a frame or an array."""
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def one_number(name: str, value: Any) -> float:
    """Return what a user's function gave, if it is one number."""
    if np.ndim(value) != 0 or np.asarray(value).dtype.kind not in "biuf":
        raise ValueError(f"{name} must return one number, got {shown(value)}.")
    return float(value)
