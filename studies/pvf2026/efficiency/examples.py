"""What follows from Proposition 3.1: the best model by room, 0/0 cases, and mixed sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.metrics import precision_score, recall_score

from pvf.metrics import intervention_efficiency, intervention_efficiency_counts
from studies.pvf2026.efficiency.proof import count_form, expected_captures, ratio_form


def best_model_by_room(
    models: Mapping[str, tuple[int, int]], *, n_pos: int, n_neg: int
) -> pd.DataFrame:
    """Which model has the highest IE, for every whole number of interventions.

    Examples
    --------
    >>> best_model_by_room({"narrow": (2, 0), "wide": (4, 4)}, n_pos=4, n_neg=12)
               best  first  last
    0        narrow      1     4
    1          wide      5    15
    2  narrow, wide     16    16
    """
    population = n_pos + n_neg
    best = []
    for room in range(1, population + 1):
        values = {
            name: count_form(tp, tp + fp, n_pos, population, room)
            for name, (tp, fp) in models.items()
        }
        highest = max(values.values())
        best.append(", ".join(name for name, value in values.items() if value == highest))
    runs = pd.DataFrame({"best": best, "room": range(1, population + 1)})
    run = (runs["best"] != runs["best"].shift()).cumsum()
    return (
        runs.groupby(run)
        .agg(best=("best", "first"), first=("room", "min"), last=("room", "max"))
        .reset_index(drop=True)
    )


def best_possible(table: pd.DataFrame) -> pd.DataFrame:
    """Highest IE that any table reaches, beside the limit min(1/γ, 1/π).

    Examples
    --------
    >>> from studies.pvf2026.efficiency.proof import enumerate_efficiency
    >>> limits = best_possible(enumerate_efficiency([6]))
    >>> bool((limits["highest"] == limits["limit"]).all())
    True
    """
    cases = table.groupby(["population", "n_pos", "room"])["policy"]
    best = cases.max().rename("highest").reset_index()
    whole = best["population"].map(Fraction)
    return best.assign(limit=whole / np.maximum(best["n_pos"], best["room"]))


def zero_cases(
    flagged_in_vain: Sequence[int], capacities: Sequence[float], *, n_pos: int, n_neg: int
) -> pd.DataFrame:
    """Models that get nobody right: what precision and recall show of them, and what counts do.

    Examples
    --------
    >>> zero_cases([0, 5], [0.4], n_pos=2, n_neg=8).round(3)
       flagged  capacity  precision  recall  share 0  share γ  policy
    0        0       0.4        0.0     0.0      1.0      0.0     1.0
    1        5       0.4        0.0     0.0      1.0      0.0     0.0
    """
    y_true = np.repeat([1, 0], [n_pos, n_neg])
    prevalence = n_pos / (n_pos + n_neg)
    rows = []
    for flagged, capacity in product(flagged_in_vain, capacities):
        y_pred = np.repeat([0, 1, 0], [n_pos, flagged, n_neg - flagged])
        precision = precision_score(y_true, y_pred, zero_division=0)
        room = Fraction(round(capacity * (n_pos + n_neg), 9))
        captured, by_chance = (expected_captures(0, fp, n_pos, n_neg, room) for fp in (flagged, 0))
        rows.append(
            {
                "flagged": flagged,
                "capacity": capacity,
                "precision": precision,
                "recall": recall_score(y_true, y_pred, zero_division=0),
                "share 0": ratio_form(0, precision, prevalence, capacity),
                "share γ": ratio_form(capacity, precision, prevalence, capacity),
                "policy": float(captured / by_chance),
            }
        )
    return pd.DataFrame(rows)


def sample_efficiency(
    size: int,
    *,
    recall: float,
    false_positive_rate: float,
    prevalence: float,
    capacity: float,
    n_repetitions: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return IE of one model on many validation sets, with π from the set and from elsewhere.

    ``counts`` is IE from the set's counts, ``same_set`` from its p, r and π, ``mixed`` from its p
    and r and the population's π. The last two are NaN where no positive is flagged, all three where
    there is none.
    """
    n_pos = rng.binomial(size, prevalence, size=n_repetitions)
    tp = rng.binomial(n_pos, recall)
    fp = rng.binomial(size - n_pos, false_positive_rate)
    sets = pd.DataFrame({"n_samples": size, "n_pos": n_pos, "tp": tp, "fp": fp})
    some, right = n_pos > 0, tp > 0
    sets.loc[some, "counts"] = intervention_efficiency_counts(
        tp[some], fp[some], n_pos[some], size - n_pos[some], capacity
    )
    p, r = tp[right] / (tp + fp)[right], tp[right] / n_pos[right]
    sets.loc[right, "same_set"] = intervention_efficiency(p, r, n_pos[right] / size, capacity)
    sets.loc[right, "mixed"] = intervention_efficiency(p, r, prevalence, capacity)
    return sets


def summarise_samples(samples: pd.DataFrame, truth: float) -> pd.DataFrame:
    """Spread and error of IE over validation sets, with π from the set and from elsewhere."""
    rows = []
    for size, sets in samples.groupby("n_samples"):
        usable = sets.dropna(subset="same_set")
        row: dict[str, Any] = {"n_samples": size, "usable": len(usable) / len(sets)}
        for name in ("same_set", "mixed"):
            values = usable[name]
            row[name] = values.mean()
            row[f"{name}_low"], row[f"{name}_high"] = values.quantile([0.05, 0.95])
            row[f"{name}_error"] = float(np.sqrt(((values - truth) ** 2).mean()))
        excess = (usable["mixed"] - truth) ** 2 - (usable["same_set"] - truth) ** 2
        reach = stats.norm.isf(0.025) * excess.sem()
        mean = excess.mean()
        row["closer"] = "neither" if abs(mean) <= reach else "set" if mean > 0 else "population"
        rows.append(row)
    return pd.DataFrame(rows)


def compare_prevalences(
    models: Mapping[str, tuple[int, int]],
    sizes: Sequence[int],
    *,
    n_pos: int,
    n_neg: int,
    capacity: float,
    n_repetitions: int,
    seed: int = 0,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw validation sets for several models, and sum up the errors of IE on them."""
    samples, errors = [], []
    for name, (tp, fp) in models.items():
        streams = np.random.SeedSequence(seed).spawn(len(sizes))
        drawn = [
            sample_efficiency(
                size,
                recall=tp / n_pos,
                false_positive_rate=fp / n_neg,
                prevalence=n_pos / (n_pos + n_neg),
                capacity=capacity,
                n_repetitions=n_repetitions,
                rng=np.random.default_rng(stream),
            )
            for size, stream in zip(sizes, streams, strict=True)
        ]
        sets = pd.concat(drawn, ignore_index=True)
        truth = float(intervention_efficiency_counts(tp, fp, n_pos, n_neg, capacity))
        samples.append(sets.assign(model=name))
        errors.append(summarise_samples(sets, truth).assign(model=name, truth=truth))
    tables = (pd.concat(parts, ignore_index=True) for parts in (samples, errors))
    first, second = (table[["model", *table.columns.drop("model")]] for table in tables)
    return first, second


def enriched_study(
    tp: int, fp: int, n_pos: int, n_neg: int, *, n_cases: int, n_controls: int, capacity: float
) -> dict[str, float]:
    """IE of a model studied in cases and controls, by four ways of putting the numbers together.

    Examples
    --------
    >>> study = enriched_study(8, 9, 10, 90, n_cases=50, n_controls=50, capacity=0.1)
    >>> {name: round(value, 2) for name, value in study.items()}
    {'study': 1.78, 'mixed': 8.02, 'weighted': 4.71, 'clinic': 4.71}
    """
    prevalence = n_pos / (n_pos + n_neg)
    recall, found, in_vain = tp / n_pos, n_cases * tp / n_pos, n_controls * fp / n_neg
    precision = found / (found + in_vain)
    own = n_cases / (n_cases + n_controls)
    values = {
        "study": intervention_efficiency(precision, recall, own, capacity),
        "mixed": intervention_efficiency(precision, recall, prevalence, capacity),
        "weighted": intervention_efficiency_counts(
            found * prevalence / n_cases,
            in_vain * (1 - prevalence) / n_controls,
            prevalence,
            1 - prevalence,
            capacity,
        ),
        "clinic": intervention_efficiency(tp / (tp + fp), recall, prevalence, capacity),
    }
    return {name: float(value) for name, value in values.items()}
