"""Proposition 3.1 checked by algebra, by listing every case, and by acting the policy out.

The simulation shuffles people; it shares no code with the other two, nor with `pvf.metrics`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from pvf._types import Array, Flags
from studies.kit.study import Settings, Study, setting
from studies.pvf2026.efficiency.examples import compare_prevalences
from studies.pvf2026.efficiency.proof import (
    Identity,
    ample_efficiency,
    count_form,
    enumerate_efficiency,
    list_captures,
    scarce_efficiency,
    symbolic_identities,
)

#: A clinic, and the true and false positives of three models with the same F1 in it.
CLINIC = {"n_pos": 20, "n_neg": 180}
CLINIC_MODELS = {"cautious": (8, 4), "balanced": (10, 10), "eager": (15, 25)}

_BLOCK = 2_000_000  # people shuffled at a time: a few megabytes


# --- Simulation ---------------------------------------------------------------------------------


def simulate_captures(
    tp: int,
    fp: int,
    n_pos: int,
    n_neg: int,
    room: float,
    n_repetitions: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Act the policy out: shuffle the flagged, then the others, and reach people in that order.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> simulate_captures(2, 1, 3, 3, room=3, n_repetitions=4, rng=rng).tolist()  # the flagged
    [2, 2, 2, 2]
    """
    flagged = np.repeat(np.array([1, 0], dtype=np.int8), [tp, fp])
    rest = np.repeat(np.array([1, 0], dtype=np.int8), [n_pos - tp, n_neg - fp])
    per_block = max(1, _BLOCK // (n_pos + n_neg))
    return np.concatenate(
        [
            _reached(flagged, rest, room, min(per_block, n_repetitions - start), rng)
            for start in range(0, n_repetitions, per_block)
        ]
    )


def _reached(
    flagged: NDArray[np.int8],
    rest: NDArray[np.int8],
    room: float,
    n_repetitions: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    queue = np.hstack(
        [rng.permuted(np.tile(group, (n_repetitions, 1)), axis=1) for group in (flagged, rest)]
    )
    places = int(room) + (rng.random(n_repetitions) < room - int(room))
    is_reached = np.arange(queue.shape[1]) < places[:, None]
    return (queue * is_reached).sum(axis=1, dtype=np.int64)


def simulate_efficiency(
    models: Mapping[str, tuple[int, int]],
    capacities: Sequence[float],
    *,
    n_pos: int,
    n_neg: int,
    n_repetitions: int,
    level: float = 0.99,
    seed: int = 0,
) -> pd.DataFrame:
    """Simulate the guided and the uniform policy, for each model at each capacity.

    IE is a ratio of two means, so its interval is Fieller's; the intervals hold together at the
    given level (Bonferroni).
    """
    population = n_pos + n_neg
    cases = list(product(models.items(), capacities))
    critical = float(stats.norm.isf((1 - level) / 2 / len(cases)))
    streams = np.random.SeedSequence(seed).spawn(len(cases))
    rows = []
    for ((name, (tp, fp)), capacity), stream in zip(cases, streams, strict=True):
        rng = np.random.default_rng(stream)
        room = round(capacity * population, 9)  # 0.1 × 30 is not 3 in floating point
        guided = simulate_captures(tp, fp, n_pos, n_neg, room, n_repetitions, rng)
        uniform = simulate_captures(0, 0, n_pos, n_neg, room, n_repetitions, rng)
        rows.append(
            {
                "model": name,
                "capacity": capacity,
                "room": room,
                "tp": tp,
                "flagged": tp + fp,
                "regime": "scarce" if tp + fp > room else "ample",
                "formula": float(count_form(tp, tp + fp, n_pos, population, Fraction(room))),
                **_ratio_of_means(guided, uniform, critical),
                "critical": critical,
            }
        )
    simulated = pd.DataFrame(rows)
    return simulated.assign(z=z_scores(simulated, simulated["formula"]))


def _ratio_of_means(
    guided: NDArray[np.int64], uniform: NDArray[np.int64], critical: float
) -> dict[str, float]:
    """Ratio of two means with Fieller's interval, and the moments behind it."""
    x, y = guided.mean(), uniform.mean()
    vx, vy = (group.var(ddof=1) / len(group) for group in (guided, uniform))
    scale = y**2 - critical**2 * vy
    if not scale > 0:
        raise ValueError(
            f"n_repetitions must be larger: with {len(uniform)} the uniform policy's mean, {y:g}, "
            "is not clear of 0."
        )
    half = critical * np.sqrt(max(vx * y**2 + vy * x**2 - critical**2 * vx * vy, 0))
    return {
        "estimate": x / y,
        "low": (x * y - half) / scale,
        "high": (x * y + half) / scale,
        "guided_mean": x,
        "uniform_mean": y,
        "guided_variance": vx,
        "uniform_variance": vy,
    }


def z_scores(simulated: pd.DataFrame, efficiency: ArrayLike) -> Array:
    """How far the simulation is from a stated IE, in standard errors."""
    stated = np.asarray(efficiency, dtype=float)
    gap = (simulated["guided_mean"] - stated * simulated["uniform_mean"]).to_numpy()
    variance = simulated["guided_variance"] + stated**2 * simulated["uniform_variance"]
    error = np.sqrt(variance.to_numpy())
    exact = np.select([np.abs(gap) <= 1e-9, gap > 0], [0.0, np.inf], default=-np.inf)
    return np.where(error > 0, gap / np.where(error > 0, error, 1), exact)


# --- The study ----------------------------------------------------------------------------------


def check_identities(identities: Iterable[Identity]) -> pd.DataFrame:
    """Check the algebra: the cases are equations."""
    holds: dict[str, list[bool]] = {}
    for identity in identities:
        holds.setdefault(identity.claim, []).append(identity.holds)
    return pd.DataFrame(
        [_check(claim, "algebra", held, held) for claim, held in sorted(holds.items())]
    )


def check_enumeration(table: pd.DataFrame, name: str = "enumeration") -> pd.DataFrame:
    """Check the formulas against the enumerated policy: equal as fractions, case by case."""
    scarce = table["tp"] + table["fp"] > table["room"]
    defined = table[table["undefined"] == ""]
    pairs: dict[str, tuple[Sequence[Any], Sequence[Any]]] = {
        "IE-1": (defined["policy"].tolist(), defined["formula"].tolist()),
        "IE-2": (table["policy"][scarce].tolist(), _each(scarce_efficiency, table[scarce])),
        "IE-3": (table["policy"][~scarce].tolist(), _each(ample_efficiency, table[~scarce])),
        "IE-4": (_each(count_form, defined), defined["formula"].tolist()),
    }
    n_undefined = {"IE-1": len(table) - len(defined), "IE-4": len(table) - len(defined)}
    return pd.DataFrame(
        [
            _check(
                claim,
                name,
                [a == b for a, b in zip(left, right, strict=True)],
                _same_side(left, right),
                n_undefined.get(claim, 0),
            )
            for claim, (left, right) in pairs.items()
        ]
    )


def _each(efficiency: Callable[..., Fraction], table: pd.DataFrame) -> list[Fraction]:
    flagged = table["tp"] + table["fp"]
    columns = [table["tp"], flagged, table["n_pos"], table["population"], table["room"]]
    # Fraction takes Python's whole numbers, not NumPy's.
    return [efficiency(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def check_simulation(simulated: pd.DataFrame) -> pd.DataFrame:
    """Check the formulas against the policy acted out: inside the simultaneous intervals."""
    agrees = np.abs(simulated["z"]) <= simulated["critical"]
    same_side = agrees | _same_side(simulated["estimate"], simulated["formula"])
    scarce = simulated["regime"] == "scarce"
    parts = {"IE-1": scarce | True, "IE-2": scarce, "IE-3": ~scarce}
    return pd.DataFrame(
        [
            _check(claim, "simulation", agrees[part], same_side[part])
            for claim, part in parts.items()
        ]
    )


def check_samples(samples: pd.DataFrame, tolerance: float = 1e-9) -> pd.DataFrame:
    """Check that p, r and π of one set give the IE of its counts, in floating point."""
    with_positives = samples[samples["n_pos"] > 0]
    defined = with_positives.dropna(subset="same_set")
    agrees = np.abs(defined["same_set"] - defined["counts"]) <= tolerance
    same_side = agrees | _same_side(defined["same_set"], defined["counts"])
    n_undefined = len(with_positives) - len(defined)
    return pd.DataFrame([_check("IE-4", "random sets", agrees, same_side, n_undefined)])


@dataclass(frozen=True)
class EfficiencySettings(Settings):
    """Settings of the checks of Proposition 3.1."""

    n_repetitions: int = setting(
        2000, "of the simulation, and of each random validation set", full=200_000, low=2
    )
    largest_population: int = setting(
        12, "of those whose confusion tables are enumerated", full=24, low=1
    )
    seed: int = setting(20261127, "of the simulation and of the sets", low=0)


@cache
def every_table(largest_population: int) -> pd.DataFrame:
    """Enumerate all confusion tables up to a population, with whole numbers of interventions."""
    return enumerate_efficiency(range(1, largest_population + 1))


@cache
def every_set() -> pd.DataFrame:
    """Enumerate all tables of up to seven people by listing every set that may be reached."""
    return enumerate_efficiency(range(1, 8), room_step=Fraction(1, 2), captures=list_captures)


@cache
def simulated_clinic(n_repetitions: int, seed: int) -> pd.DataFrame:
    """Act the policy out in the clinic, for its models and two that get nobody right."""
    return simulate_efficiency(
        {**CLINIC_MODELS, "nobody flagged": (0, 0), "flags in vain": (0, 20)},
        capacities=[0.02, 0.05, 0.1, 0.2, 0.4, 0.8],
        **CLINIC,
        n_repetitions=n_repetitions,
        seed=seed,
    )


@cache
def random_sets(n_repetitions: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw validation sets from the clinic, for its models and one that flags everybody."""
    return compare_prevalences(
        {"flags everybody": (CLINIC["n_pos"], CLINIC["n_neg"]), **CLINIC_MODELS},
        sizes=[20, 50, 100, 500],
        **CLINIC,
        capacity=0.1,
        n_repetitions=n_repetitions,
        seed=seed,
    )


def _one_check(name: str, settings: EfficiencySettings) -> pd.DataFrame:
    """Run one kind of check on each claim that it can test."""
    drawn = settings.n_repetitions, settings.seed
    if name == "algebra":
        return check_identities(symbolic_identities())
    if name == "every set listed":
        return check_enumeration(every_set(), name)
    if name == "every table":
        return check_enumeration(every_table(settings.largest_population), name)
    if name == "simulation":
        return check_simulation(simulated_clinic(*drawn))
    return check_samples(random_sets(*drawn)[0])


def estimate(checks: pd.DataFrame) -> pd.DataFrame:
    """Return the share of cases that agree, by check and in all, and the enumerated 0/0 cases."""
    listed = checks["check"].str.startswith("every")
    undefined = checks[listed].groupby("claim")["undefined"].sum()
    whole = checks.groupby("claim")[["cases", "agree"]].sum().assign(check="all").reset_index()
    parts = pd.concat([whole, checks[["claim", "check", "cases", "agree"]]], ignore_index=True)
    share = 100 * parts["agree"] / parts["cases"]
    agree = parts[["claim", "check"]].assign(
        quantity="cases that agree", estimate=share, n=parts["cases"], unit="% of cases"
    )
    without = pd.DataFrame(
        {
            "claim": undefined.index,
            "check": "all",
            "quantity": "cases that are 0/0",
            "estimate": undefined.to_numpy(float),
            "unit": "enumerated cases",
        }
    )
    # the counts are what they are: a case that disagrees has no other error
    found = pd.concat([agree, without], ignore_index=True)
    return found.assign(low=found["estimate"], high=found["estimate"], n=found["n"].fillna(np.inf))


def _check(
    claim: str, name: str, agrees: ArrayLike, same_side: ArrayLike, n_undefined: int = 0
) -> dict[str, Any]:
    return {
        "claim": claim,
        "check": name,
        "cases": np.size(agrees),
        "agree": int(np.sum(agrees)),
        "same_side": int(np.sum(same_side)),
        "undefined": n_undefined,
    }


def _same_side(left: Iterable[Any], right: Iterable[Any]) -> Flags:
    """Whether both are above chance (1), at it, or below it."""
    return np.array(
        [(a > 1) == (b > 1) and (a < 1) == (b < 1) for a, b in zip(left, right, strict=True)],
        dtype=bool,
    )


EFFICIENCY = Study(
    name="efficiency_checks",
    settings=EfficiencySettings,
    blocks=lambda _: ["algebra", "every set listed", "every table", "simulation", "random sets"],
    block=_one_check,
    estimate=estimate,
)
