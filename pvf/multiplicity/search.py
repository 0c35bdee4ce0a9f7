"""What a search for extreme scores is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pvf._types import Array, NDArray


@dataclass(frozen=True)
class Samples:
    """Training data that the loss is measured on, and samples whose scores are perturbed."""

    X_train: Any
    y_train: NDArray[Any]
    weight: Array
    X: Any


@dataclass(frozen=True)
class GradientSteps:
    """Gradient ascent with momentum, until a score is reached."""

    learning_rate: float
    momentum: float
    score_target: float
    max_iter: int
