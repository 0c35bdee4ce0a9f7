"""People with an outcome: which of them are cases, and what a model says of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import type_of_target

from pvf import _checks as check
from pvf._ranks import captured, check_scores, levels_of
from pvf._types import Array, ArrayLike, Flags, NDArray


class DefaultPosLabel(int):
    """The integer 1 as a default, told apart from a 1 that the caller wrote."""


POS_LABEL = DefaultPosLabel(1)


@dataclass(frozen=True)
class People:
    """Each person's outcome, weight and worth, and the score by which places are given.

    Labels are scores too: the flagged come first, and among equals chance decides.
    """

    case: Flags
    weight: Array
    value: Array  # 1 for a case and 0 for others, where no values are given
    score: Array
    flagged: Flags | None  # by labels alone
    plain: bool  # no values: what is captured are cases

    @property
    def total(self) -> float:
        """What could be captured of all people."""
        return float((self.weight * self.value).sum())

    def efficiency(self, share: Array) -> Array:
        """Return what a share of the people captures over what it captures by chance."""
        n_people = self.weight.sum()
        room = share * n_people
        whole = np.round(room)
        room = np.where(np.abs(room - whole) <= 1e-12 * whole, whole, room)  # 0.07 · 100 is 7
        got = captured(levels_of(self.score), self.weight, self.value, room)
        return np.where(share == 1, 1.0, got * n_people / (room * self.total))


def check_people(
    y_true: Any, y_pred: Any, y_score: Any, pos_label: Any, sample_weight: Any, values: Any = None
) -> People:
    """Return people as they are given: by labels, or by scores."""
    if (y_pred is None) == (y_score is None):
        got = "neither" if y_pred is None else "both"
        raise ValueError(f"y_pred (labels) or y_score (ranks) must be given, got {got}.")
    if isinstance(values, dict):
        if not isinstance(pos_label, DefaultPosLabel):
            raise ValueError(
                f"pos_label must be left out where values has classes, got {pos_label!r}."
            )
        return _check_classes(y_true, y_pred, y_score, sample_weight, values)
    flagged = None
    if y_score is None:
        true, flagged = _check_labels(y_true, y_pred, pos_label)
        score = flagged.astype(np.float64)
    else:
        column = label_column("y_true", y_true)
        true = _cases(column, pd.unique(column).tolist(), pos_label, "y_true")
        score = check_scores("y_score", y_score, len(true))
    weight = check_weights(sample_weight, len(true))
    value = true.astype(np.float64)
    if values is not None:
        column = check.interval("values", values, 0, np.inf)
        check.shape("values", column, (len(true),))
        value *= column
    return People(true, weight, value, score, flagged if values is None else None, values is None)


def _check_classes(
    y_true: Any, y_pred: Any, y_score: Any, sample_weight: Any, values: dict[Any, Any]
) -> People:
    """Return people of two or more classes, of which each is worth something."""
    for label in values:
        check.label("values", label)
    worth = check.interval("values", list(values.values()), 0, np.inf)
    check.shape("values", worth, (-1,))
    table = dict(zip(values, worth.tolist(), strict=True))

    def of_classes(name: str, labels: ArrayLike) -> Array:
        column = label_column(name, labels)
        unknown = [label for label in pd.unique(column).tolist() if label not in table]
        if unknown:
            raise ValueError(f"values must have every class of {name}, got none for {unknown}.")
        return np.array([table[label] for label in column.tolist()])

    value = of_classes("y_true", y_true)
    if y_pred is not None:
        score = of_classes("y_pred", y_pred)
        check.shape("y_pred", score, value.shape, as_in="y_true")
    elif np.ndim(y_score) == 2 and np.shape(y_score)[1] > 1:
        expected = (len(value), len(table))
        chances = check.interval("y_score", y_score, 0, 1)
        check.shape("y_score", chances, expected, as_in="values")
        score = chances @ np.array([table[label] for label in sorted(table)])
    else:
        score = check_scores("y_score", y_score, len(value))
    weight = check_weights(sample_weight, len(value))
    return People(value > 0, weight, value, score, None, plain=False)


def _check_labels(y_true: ArrayLike, y_pred: Any, pos_label: Any) -> tuple[Flags, Flags]:
    """Truth and prediction as booleans."""
    check.label("pos_label", pos_label)
    true, pred = label_column("y_true", y_true), label_column("y_pred", y_pred)
    if len(true) != len(pred):
        raise ValueError(
            f"y_true and y_pred must have the same length, got {len(true)} and {len(pred)}."
        )
    if (true.dtype.kind in "OUST") != (pred.dtype.kind in "OUST"):
        raise ValueError(
            f"y_true and y_pred hold labels of different types: {true.dtype} and {pred.dtype}."
        )
    labels = pd.unique(np.concatenate([true, pred])).tolist()
    return _cases(true, labels, pos_label, "y_true and y_pred"), pred == pos_label


def _cases(true: NDArray, labels: list[Any], pos_label: Any, source: str) -> Flags:
    """Tell who is a case."""
    check.label("pos_label", pos_label)
    if len(labels) > 2:
        raise ValueError(f"{source} must hold two classes, got {len(labels)}: {labels}.")
    if pos_label not in labels and len(labels) == 2:
        raise ValueError(
            f"pos_label={pos_label!r} is not a valid label: it should be one of {labels}, "
            f"those of {source}."
        )
    if isinstance(pos_label, DefaultPosLabel) and any(label not in (-1, 0, 1) for label in labels):
        raise ValueError(
            f"The labels {labels} do not say which class is the case: pass pos_label (one of them)."
        )
    return true == pos_label


def check_weights(sample_weight: ArrayLike | None, n_samples: int) -> Array:
    """One weight a sample: 1 where none are given."""
    if sample_weight is None:
        return np.ones(n_samples)
    weight = check.interval("sample_weight", sample_weight, 0, np.inf)
    check.shape("sample_weight", weight, (n_samples,), as_in="y")
    if not weight.any():
        raise ValueError("sample_weight must be above 0 for one sample at least, got zeros.")
    return weight


def label_column(name: str, labels: ArrayLike) -> NDArray:
    """One column of class labels, without missing values."""
    column = check.column(name, labels)
    if column.dtype.kind in "OT":  # an object array hides what it holds; pandas finds out
        column = pd.Series(column, dtype=object).infer_objects().to_numpy()
    if type_of_target(column, input_name=name).startswith("continuous"):
        instead = " Pass risks as y_score." if name == "y_pred" else ""
        raise ValueError(f"{name} must hold class labels, got continuous values.{instead}")
    return column
