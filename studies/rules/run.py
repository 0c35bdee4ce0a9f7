"""The comparison itself: cohorts, pools, rules, and what their choices are worth outside.

Registered before anything of it was computed; the chapter lists every change. A block is one
table, size and pool; its cohorts have keys of their own under the seed. Each candidate is fitted
once a cohort and all rules look at the same `pvf.rules.Evidence`.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from pvf import counts, intervention_efficiency_scorer
from pvf._types import Array, Flags, Indices
from pvf.rules import (
    SIGMAS,
    BootstrapQuartile,
    Evidence,
    HoldOut,
    OneStandardError,
    OutOfBag,
    PerturbationValidation,
    PMVRule,
    PVFInsideCV,
    RepeatedCV,
    Rule,
    Shrunken,
    mean_log_loss,
)
from studies.data.keel import TABLES, load_table
from studies.kit.study import Settings, setting
from studies.pvf2026.clinical.run import counted
from studies.rules.pools import POOLS, Coded, coded, make_pool

CAPACITIES = (0.1, 0.3, 0.5)
SIZES = (60, 120, 240)
#: The size at which the mixed pool and PMV are run.
MIDDLE = 120
#: Where the primary question is asked.
PRIMARY = ("trees", MIDDLE)
FEWEST_CASES, FEWEST_OUTSIDE = 6, 100

#: What is measured outside, with the score that rules choose by: for each capacity by labels and by
#: rank, F1, and log loss (with its sign changed), for which they choose by F1.
OUTCOMES = {
    **{f"IE@{gamma}": f"IE@{gamma}" for gamma in CAPACITIES},
    **{f"IE by rank@{gamma}": f"IE@{gamma}" for gamma in CAPACITIES},
    "F1": "F1",
    "log loss": "F1",
}
SCORINGS = {
    **{f"IE@{gamma}": intervention_efficiency_scorer(gamma) for gamma in CAPACITIES},
    "F1": "f1",
}

#: Rules by the protocol's order, with the reader's words.
RULES = {
    "random": "one at random",
    "holdout": "hold-out, ties shared",
    "holdout_ties": "hold-out, ties by log loss",
    "log_loss": "hold-out by log loss",
    "auc": "hold-out by AUC",
    "bootstrap": "bootstrap quartile",
    "shrunken": "shrunken hold-out",
    "oob": "validation and out-of-bag",
    "cv": "five-fold cross-validation",
    "cv_repeated": "cross-validation, repeated five times",
    "cv_1se": "cross-validation, one standard error",
    **{f"pvf_{sigma:g}": f"PVF, σ = {sigma:g}" for sigma in SIGMAS},
    "pvf_nested": "PVF, σ chosen inside",
    "pvf_oob": "PVF and out-of-bag",
    "pvf_cv": "PVF inside cross-validation",
    "pmv": "PMV",
}
#: Beside them, not rules of choice.
BESIDE = {"average_tied": "average of the tied best", "average_pool": "average of the pool"}


@dataclass(frozen=True)
class RulesSettings(Settings):
    """What the study can be told."""

    tables: tuple[str, ...] = setting(
        ("haberman", "wdbc"), "names of the tables", full=TABLES, paper=""
    )
    sizes: tuple[int, ...] = setting((60, 120), "people in a cohort", full=SIZES)
    pools: tuple[str, ...] = setting(POOLS, "pools of candidates")
    n_primary: int = setting(2, "cohorts a table for the primary question", full=40, low=2)
    n_cohorts: int = setting(2, "cohorts a table, size and pool elsewhere", full=14, low=2)
    n_cohorts_mixed: int = setting(2, "cohorts a table with the mixed pool", full=6, low=2)
    n_candidates: int = setting(20, "candidates in a pool (mixed: 20 at most)", full=100, low=2)
    seed: int = setting(20261128, "every cohort has a key of its own under it", low=0)


def blocks(settings: RulesSettings) -> list[tuple[str, int, str]]:
    """Return the keys: table, size and pool, without sizes that leave too few people outside."""
    return [
        (name, size, pool)
        for name in settings.tables
        for size in settings.sizes
        for pool in settings.pools
        if (pool != "mixed" or size == MIDDLE) and is_possible(_table(name), size)
    ]


def one_block(key: tuple[str, int, str], settings: RulesSettings) -> pd.DataFrame:
    """Return the rows of one table, size and pool."""
    name, size, pool = key
    n_cohorts = settings.n_cohorts_mixed if pool == "mixed" else settings.n_cohorts
    if (pool, size) == PRIMARY:
        n_cohorts = settings.n_primary
    return cohort_rows(_table(name), *key, range(n_cohorts), settings)


@cache
def _table(name: str) -> Coded:
    return coded(load_table(name))


def is_possible(table: Coded, size: int) -> bool:
    """Whether enough people, cases among them, and some cases outside are left."""
    return len(table.y) - size >= FEWEST_OUTSIDE and int(table.y.sum()) > FEWEST_CASES


def cohort_rows(
    table: Coded,
    name: str,
    size: int,
    pool: str,
    cohorts: Sequence[int],
    settings: RulesSettings,
) -> pd.DataFrame:
    """Return one row a cohort and outcome: what each rule's choice is worth.

    Parameters
    ----------
    table : Coded
    name, size, pool
        Which table, how many people, which pool.
    cohorts : sequence of int
        Numbers of the cohorts; each is the same whatever others are computed.
    settings : RulesSettings

    Returns
    -------
    DataFrame
        Keys ``table, size, pool, cohort, outcome``; facts of the cohort; then one column a rule:
        the attainable share of its choice (in expectation over ties), or, in rows of outcome
        "reached@γ", cases among a hundred places. NaN where the pool does not take the rule or
        all candidates are worth the same.
    """
    with threadpool_limits(limits=1):  # sums run in another order on another number of threads
        frames = [_one_cohort(table, name, size, pool, number, settings) for number in cohorts]
    return pd.concat(frames, ignore_index=True)


def _one_cohort(
    table: Coded, name: str, size: int, pool: str, number: int, settings: RulesSettings
) -> pd.DataFrame:
    key = (zlib.crc32(name.encode()), size, number)
    train, validation, rest = draw_cohort(table.y, size, _seed(settings, *key))
    mine = _seed(settings, *key, 1 + POOLS.index(pool))
    candidates = make_pool(pool, table, settings.n_candidates, _seed(settings, *key, 9))
    X, y = table.X, table.y
    evidence = Evidence(
        candidates, X[train], y[train], X[validation], y[validation], random_state=mine
    )
    probability = candidates.probability(evidence.fitted, X[rest])
    tied, sigma = _choices(evidence, pool, size)
    averages = [probability[tied[scoring]["holdout"]].mean(axis=0) for scoring in SCORINGS]
    everyone = np.vstack([probability, *averages, probability.mean(axis=0)])
    worth = outside(everyone, y[rest])
    facts = {
        "table": name,
        "size": size,
        "pool": pool,
        "cohort": number,
        "cases": int(y[validation].sum()),
        "prevalence": float(y.mean()),
        "columns": X.shape[1],
        "categorical": len(table.changes) / X.shape[1],
    }
    rows = []
    for outcome, values in worth.items():
        scoring = OUTCOMES.get(outcome, outcome.replace("reached", "IE"))
        place = list(SCORINGS).index(scoring)
        beside = values[[len(probability) + place, -1]]
        found = _worth_of(tied[scoring], values[: len(probability)], beside)
        if outcome in OUTCOMES:
            found = _shares(found)
        share_tied = len(tied[scoring]["holdout"]) / len(probability)
        told = {"outcome": outcome, "tied": share_tied, "sigma": sigma[scoring]}
        rows.append({**facts, **told, **found})
    return pd.DataFrame(rows)


def _seed(settings: RulesSettings, *key: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(settings.seed, spawn_key=key)


def draw_cohort(
    y: Flags, size: int, seed: np.random.SeedSequence
) -> tuple[Indices, Indices, Indices]:
    """Draw a cohort without replacement, at least six of it cases, and split it 80 to 20.

    The number of cases is drawn first, again until there are six: the same as drawing cohorts
    until one has six, in a fraction of the time where cases are rare.

    Returns
    -------
    train, validation, rest : ndarray of int
        Rows of the two parts, and everybody else.
    """
    rng = np.random.default_rng(seed)
    cases, others = np.flatnonzero(y), np.flatnonzero(~y)
    most = len(cases) - 1  # somebody outside must be a case
    n_cases = 0
    while not FEWEST_CASES <= n_cases <= most:
        n_cases = int(rng.hypergeometric(len(cases), len(others), size))
    inside = np.concatenate(
        [
            rng.choice(cases, n_cases, replace=False),
            rng.choice(others, size - n_cases, replace=False),
        ]
    )
    train, validation = train_test_split(
        np.sort(inside),
        test_size=0.2,
        stratify=y[np.sort(inside)],
        random_state=int(rng.integers(2**31)),
    )
    return train, validation, np.setdiff1d(np.arange(len(y)), inside)


@cache
def rules_of(pool: str, size: int, scoring: str) -> dict[str, Rule]:
    """Return the rules that a pool and size take, by name, choosing by one score."""
    score = SCORINGS[scoring]
    rules: dict[str, Rule] = {
        "holdout": HoldOut(score),
        "holdout_ties": HoldOut(score, ties="log_loss"),
        "log_loss": HoldOut("neg_log_loss"),
        "auc": HoldOut("roc_auc"),
        "bootstrap": BootstrapQuartile(score),
        "shrunken": Shrunken(score),
    }
    if pool == "trees":
        rules["oob"] = OutOfBag(score)
    else:
        rules["cv"] = RepeatedCV(score)
        if size == min(SIZES):
            rules["cv_repeated"] = RepeatedCV(score, n_repeats=5)
        rules["cv_1se"] = OneStandardError(score)
    for sigma in SIGMAS:
        rules[f"pvf_{sigma:g}"] = PerturbationValidation(score, sigma=sigma)
    rules["pvf_nested"] = PerturbationValidation(score, sigma="nested")
    if pool == "trees":
        rules["pvf_oob"] = PerturbationValidation(score, sigma=max(SIGMAS), out_of_bag=True)
    else:
        rules["pvf_cv"] = PVFInsideCV(score, sigma=max(SIGMAS))
        if size == MIDDLE:
            rules["pmv"] = PMVRule()
    return rules


def _choices(
    evidence: Evidence, pool: str, size: int
) -> tuple[dict[str, dict[str, Indices]], dict[str, float]]:
    """Return for each score the tied candidates of every rule, and the σ chosen inside."""
    tied, sigma = {}, {}
    for scoring in SCORINGS:
        rules = rules_of(pool, size, scoring)
        tied[scoring] = {name: rule.tied(evidence) for name, rule in rules.items()}
        nested = rules["pvf_nested"]
        assert isinstance(nested, PerturbationValidation)  # for the type checker
        sigma[scoring] = nested.chosen_sigma(evidence)
    return tied, sigma


def _worth_of(tied: dict[str, Indices], values: Array, beside: Array) -> dict[str, float]:
    """Return what each rule's choice is worth, in expectation over its ties."""
    found = dict.fromkeys([*RULES, *BESIDE, "best"], np.nan)
    found |= {name: float(values[among].mean()) for name, among in tied.items()}
    found |= dict(zip(BESIDE, map(float, beside), strict=True))
    return found | {"random": float(values.mean()), "best": float(values.max())}


def _shares(worth: dict[str, float]) -> dict[str, float]:
    """Return worth as a share of what is attainable: 0 is one at random, 1 the best."""
    apart = worth["best"] - worth["random"]
    if apart < 1e-9:
        return dict.fromkeys(worth, np.nan)
    return {name: (value - worth["random"]) / apart for name, value in worth.items()}


def outside(probability: Array, y: Flags) -> dict[str, Array]:
    """Return what each candidate is worth in the external population, for every outcome.

    Parameters
    ----------
    probability : ndarray of shape (n_candidates, n_people)
    y : ndarray of bool of shape (n_people,)

    Returns
    -------
    dict of str to ndarray of shape (n_candidates,)
        The keys of `OUTCOMES`, the largest best, and ``reached@γ``: cases among a hundred places.
    """
    table = counted(probability > 0.5, y)
    labels = {g: counts.intervention_efficiency(*table, g) for g in CAPACITIES}
    return {
        **{f"IE@{g}": labels[g] for g in CAPACITIES},
        **{f"IE by rank@{g}": _by_rank(probability, y, g) for g in CAPACITIES},
        "F1": counts.f1(*table),
        "log loss": -mean_log_loss(probability, y),
        **{f"reached@{g}": 100 * labels[g] * y.mean() for g in CAPACITIES},
    }


def _by_rank(probability: Array, y: Flags, capacity: float) -> Array:
    """Return Intervention Efficiency where the highest probabilities get the places.

    Places left for people of equal probability are shared among them at random.
    """
    room = capacity * len(y)
    whole = int(np.ceil(room - 1e-9))
    edge = -np.partition(-probability, whole - 1, axis=1)[:, whole - 1][:, None]
    above, level = probability > edge, probability == edge
    cases = above[:, y].sum(axis=1)
    left = (room - above.sum(axis=1)) / level.sum(axis=1)
    return (cases + left * level[:, y].sum(axis=1)) / (room * y.mean())


KEYS = ["table", "size", "pool", "half", "outcome"]
FACTS = ["cases", "prevalence", "columns", "categorical", "tied", "sigma"]


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Return means over the odd and the even cohorts of each table, size, pool and outcome.

    Halves let one choose on one half of the cohorts and judge on the other.
    """
    halves = rows.assign(half=rows["cohort"] % 2)
    groups = halves.groupby(KEYS, sort=False)
    columns = [*FACTS, *RULES, *BESIDE, "best"]
    means = groups[columns].mean().round(5)
    means.insert(0, "cohorts", groups["random"].count())
    return means.reset_index()
