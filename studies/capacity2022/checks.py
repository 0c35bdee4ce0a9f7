"""What the paper claims about the measure itself, checked on random sets of scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pvf._types import Array
from pvf.multiplicity import ambiguity, decisions, discrepancy, rashomon_capacity
from studies.kit.study import Settings, setting

#: The paper's own examples: scores that several models give one sample.
EXAMPLES = {
    "equation (7), three models": [[0.45, 0.55], [0.50, 0.50], [0.60, 0.40]],
    "equation (7), two models": [[0.85, 0.15], [0.10, 0.90]],
    "section 3.3, three classes": [[0.49, 0.51, 0.0], [0.51, 0.49, 0.0]],
}
#: The four properties of Definition 1.
PROPERTIES = ("1 ≤ m ≤ c", "1 only for one score", "c only with all vertices", "monotone")
#: Models of a set in the check of Proposition 2.
N_MODELS = 12


@dataclass(frozen=True)
class Checks(Settings):
    """Random sets of scores."""

    n_sets: int = setting(100, "Random sets for each number of classes.", full=1000, low=1)
    seed: int = setting(20261128, "Of the random sets.", low=0)


def check_blocks(settings: Checks) -> list[tuple[str, int]]:
    """Return what is checked, and for how many classes."""
    del settings
    properties = [("properties", c) for c in (2, 3, 4, 5)]
    return [*properties, *[("support", c) for c in (2, 3, 5, 8)], ("examples", 0), ("older", 0)]


def check_block(key: tuple[str, int], settings: Checks) -> pd.DataFrame:
    """Check one thing for one number of classes."""
    check, classes = key
    rng = np.random.default_rng([settings.seed, classes])
    checks: dict[str, Callable[..., dict[tuple[str, str], float]]] = {
        "properties": _properties,
        "support": _support,
        "examples": _examples,
        "older": _older,
    }
    found = checks[check](rng, classes, settings.n_sets)
    rows = [
        {"check": name, "quantity": quantity, "value": float(value)}
        for (name, quantity), value in found.items()
    ]
    return pd.DataFrame(rows).assign(classes=classes, n_sets=settings.n_sets)


def _capacity(rows: ArrayLike) -> float:
    """Return the capacity of one sample from its scores, models × classes."""
    return float(rashomon_capacity(np.asarray(rows, dtype=float)[:, None, :])[0])


def broken_properties(rows: Array, capacity: Callable[[Array], float] = _capacity) -> list[bool]:
    """Tell which properties of Definition 1 a metric breaks on a set, its parts and additions."""
    n_classes = rows.shape[1]
    vertices = np.eye(n_classes)
    value, alone = capacity(rows), capacity(np.repeat(rows[:1], 3, axis=0))
    everything, nearly = (
        capacity(np.vstack([rows, corners])) for corners in (vertices, vertices[:-1])
    )
    small = 1e-7
    return [
        not 1 - small <= value <= n_classes + small,
        abs(alone - 1) > small or (np.ptp(rows, axis=0).max() > 1e-3 and value <= 1),
        abs(everything - n_classes) > small or nearly > n_classes - 1e-12,
        capacity(rows[:-1] if len(rows) > 2 else np.repeat(rows[:1], 2, axis=0)) > value + small,
    ]


def _properties(
    rng: np.random.Generator, classes: int, n_sets: int
) -> dict[tuple[str, str], float]:
    """Count random sets that break a property of Definition 1."""
    broke = np.zeros(len(PROPERTIES))
    for _ in range(n_sets):
        broke += broken_properties(rng.dirichlet(np.full(classes, 0.5), int(rng.integers(2, 7))))
    return {(name, "sets that break it"): n for name, n in zip(PROPERTIES, broke, strict=True)}


def _support(rng: np.random.Generator, classes: int, n_sets: int) -> dict[tuple[str, str], float]:
    """Compute the capacity again on the models that carry it (Proposition 2)."""
    scores = rng.dirichlet(np.full(classes, 0.7), (N_MODELS, n_sets))
    capacity, weights = rashomon_capacity(scores, return_weights=True)
    size = (weights > 0).sum(axis=0)
    lost = [np.log2(capacity[i] / _capacity(scores[weights[:, i] > 0, i])) for i in range(n_sets)]
    return {
        ("support", "models with a weight, at most"): size.max(),
        ("support", "beyond the number of classes"): size.max() - classes,
        ("support", "bits lost without the others"): np.abs(lost).max(),
    }


def _examples(*_: object) -> dict[tuple[str, str], float]:
    """Compute the examples that the paper gives."""
    found: dict[tuple[str, str], float] = {}
    for name, given in EXAMPLES.items():
        calls = decisions(np.array(given)[:, None, :])[:, 0]
        found |= {
            (name, "models"): len(given),
            (name, "in scores"): _capacity(given),
            (name, "in decisions"): _capacity(calls),
        }
    three, two = (found[name, "in scores"] for name in list(EXAMPLES)[:2])
    return found | {("equation (7)", "two models less three"): two - three}


def _older(rng: np.random.Generator, _: int, n_sets: int) -> dict[tuple[str, str], float]:
    """Hold ambiguity and discrepancy against the capacity of the same scores."""
    apart = np.array([[0.6], [0.9]])  # different scores, the same decision
    scores = rng.beta(2, 2, (5, 10 * n_sets))
    counted = ambiguity(scores)
    conflict, spread = (
        float((rashomon_capacity(part) > 1).mean()) for part in (decisions(scores), scores)
    )
    pair, sample = "scores 0.6 and 0.9", "five models at random"
    return {
        (pair, "ambiguity"): ambiguity(apart),
        (pair, "discrepancy"): discrepancy(apart),
        (pair, "capacity"): rashomon_capacity(apart)[0],
        (sample, "ambiguity"): counted,
        (sample, "ambiguity less capacity above 1 in decisions"): counted - conflict,
        (sample, "ambiguity less capacity above 1 in scores"): counted - spread,
    }


def check_estimates(table: pd.DataFrame) -> pd.DataFrame:
    """Return what was found for each number of classes and, as 0 classes, the largest of all.

    Nothing is estimated: the ends of an interval are the number itself.
    """
    keys = ["check", "classes", "quantity"]
    several = table[table["classes"] > 0]
    whole = several.groupby(["check", "quantity"], sort=False)["value"].max().reset_index()
    found = pd.concat([table, whole.assign(classes=0)], ignore_index=True)
    found = found[[*keys, "value"]].rename(columns={"value": "estimate"})
    ends = dict.fromkeys(("low", "high"), found["estimate"])
    return found.assign(**ends, n=float(table["n_sets"].iloc[0]), unit="")
