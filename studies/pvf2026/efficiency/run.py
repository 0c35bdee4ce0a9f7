"""Proposition 3.1 checked by algebra, by listing every case, and by acting the policy out.

The three ways share no code with `pvf.metrics` and none with each other: the algebra follows the
appendix of the paper line by line, the enumeration averages over every set of people whom the
policy may reach, and the simulation shuffles people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.metrics import precision_score, recall_score

from pvf.metrics import intervention_efficiency, intervention_efficiency_counts
from studies.kit.study import Settings, Study, setting

if TYPE_CHECKING:
    import sympy

__all__ = [
    "CLINIC",
    "CLINIC_MODELS",
    "EFFICIENCY",
    "EfficiencySettings",
    "Identity",
    "best_model_by_room",
    "best_possible",
    "capacity_of",
    "counts_of",
    "enriched_study",
    "enumerate_efficiency",
    "every_table",
    "list_captures",
    "random_sets",
    "simulated_clinic",
    "symbolic_identities",
    "zero_cases",
]

#: A clinic, and the true and false positives of three models with the same F1 in it.
CLINIC = {"n_pos": 20, "n_neg": 180}
CLINIC_MODELS = {"cautious": (8, 4), "balanced": (10, 10), "eager": (15, 25)}

_BLOCK = 2_000_000  # people shuffled at a time: a few megabytes


# --- Algebra ------------------------------------------------------------------------------------


def closed_form(precision: Any, recall: Any, prevalence: Any, capacity: Any) -> Any:
    r"""Proposition 3.1 as the paper prints it, in whatever arithmetic its arguments have.

    Unlike `pvf.intervention_efficiency`, it mends nothing: where the formula is 0/0, so is this.

    Examples
    --------
    >>> closed_form(Fraction(1, 2), Fraction(4, 5), Fraction(1, 10), Fraction(1, 5))
    Fraction(85, 21)
    """
    share = min(capacity, prevalence * recall / precision)
    return ratio_form(share, precision, prevalence, capacity)


def ratio_form(share: Any, precision: Any, prevalence: Any, capacity: Any) -> Any:
    """Prop. 3.1 for a given share s of the population that the model's flags take up.

    Examples
    --------
    >>> ratio_form(Fraction(1, 5), Fraction(1, 2), Fraction(1, 10), Fraction(1, 5))
    Fraction(5, 1)
    """
    rest = (prevalence - share * precision) / (1 - share)
    return (share * precision + (capacity - share) * rest) / (capacity * prevalence)


@dataclass(frozen=True)
class Identity:
    """Two expressions that a claim says are equal."""

    claim: str
    statement: str
    left: sympy.Expr
    right: sympy.Expr

    @property
    def holds(self) -> bool:
        """Whether sympy reduces the difference of the two sides to zero."""
        import sympy  # noqa: PLC0415  comes with the extra "book"

        return sympy.simplify(self.left - self.right) == 0

    @property
    def simplified(self) -> str:
        """The left side, reduced to its simplest form."""
        import sympy  # noqa: PLC0415

        return str(sympy.factor(self.left))


def symbolic_identities() -> list[Identity]:
    """List the steps of the paper's proof, each as an equation.

    The starting point is the policy: of F flagged people, TP of them positive, c are reached at
    random (scarce), or all F and then c − F of the rest at random (ample).

    Examples
    --------
    >>> all(identity.holds for identity in symbolic_identities())
    True
    """
    import sympy  # noqa: PLC0415

    tp, flagged, alpha, beta, c = sympy.symbols("TP F α β c", positive=True)
    p, r, pi, gamma = tp / flagged, tp / alpha, alpha / beta, c / beta
    by_chance = c * alpha / beta
    scarce = c * tp / flagged / by_chance
    ample = (tp + (c - flagged) * (alpha - tp) / (beta - flagged)) / by_chance

    def unified(reached: sympy.Expr) -> sympy.Expr:
        return (reached * p + (c - reached) * (alpha - reached * p) / (beta - reached)) / by_chance

    at_flagged_share = [expression.subs(c, flagged) for expression in (scarce, ample)]
    at_full_capacity = ratio_form(pi * r / p, p, pi, sympy.Integer(1))
    return [
        Identity("IE-1", "flagged people: TP + FP = αr/p", flagged, alpha * r / p),
        Identity("IE-2", "scarce, from counts: βp/α = p/π", scarce, p / pi),
        Identity("IE-2", "unified form with c′ = c is the scarce regime", unified(c), scarce),
        Identity(
            "IE-3", "unified form with c′ = αr/p is the ample regime", unified(flagged), ample
        ),
        Identity("IE-1", "the regimes meet where αr/p = c", *at_flagged_share),
        Identity("IE-1", "ratio form with s = γ", ratio_form(gamma, p, pi, gamma), scarce),
        Identity("IE-1", "ratio form with s = πr/p", ratio_form(pi * r / p, p, pi, gamma), ample),
        Identity(
            "IE-4",
            "ratio form equals count form, s = γ",
            ratio_form(gamma, p, pi, gamma),
            unified(c),
        ),
        Identity(
            "IE-4",
            "ratio form equals count form, s = πr/p",
            ratio_form(pi * r / p, p, pi, gamma),
            unified(flagged),
        ),
        Identity("IE-1", "room for everybody (γ = 1) is worth nothing", at_full_capacity, 1),
    ]


# --- Enumeration --------------------------------------------------------------------------------


def list_captures(tp: int, fp: int, n_pos: int, n_neg: int, room: Fraction | int) -> Fraction:
    """Positives that the policy reaches, averaged over every set of people that it may reach.

    People are listed one by one, so this is for populations of up to about ten.

    Examples
    --------
    >>> list_captures(tp=2, fp=1, n_pos=3, n_neg=3, room=2)
    Fraction(4, 3)
    """
    flagged = [1] * tp + [0] * fp
    rest = [1] * (n_pos - tp) + [0] * (n_neg - fp)

    def captures(whole_room: int) -> Fraction:
        if whole_room <= len(flagged):
            return _mean_over_sets(flagged, whole_room)
        return sum(flagged) + _mean_over_sets(rest, whole_room - len(flagged))

    return _mix_whole_rooms(captures, room)


def _mean_over_sets(people: Sequence[int], size: int) -> Fraction:
    """Mean sum over all subsets of ``size`` people."""
    sums = [sum(chosen) for chosen in combinations(people, size)]
    return Fraction(sum(sums), len(sums))


def expected_captures(tp: int, fp: int, n_pos: int, n_neg: int, room: Fraction | int) -> Fraction:
    """Positives that the policy reaches, summed over the hypergeometric distribution.

    The same as `list_captures`, for populations too large to list.

    Examples
    --------
    >>> expected_captures(tp=8, fp=8, n_pos=10, n_neg=90, room=20)
    Fraction(170, 21)
    """
    flagged = tp + fp

    def captures(whole_room: int) -> Fraction:
        if whole_room <= flagged:
            return _mean_of_draws(flagged, tp, whole_room)
        others = n_pos + n_neg - flagged
        return tp + _mean_of_draws(others, n_pos - tp, whole_room - flagged)

    return _mix_whole_rooms(captures, room)


@cache
def _mean_of_draws(population: int, positives: int, draws: int) -> Fraction:
    """Mean number of positives among ``draws`` people, from the probability of each number."""
    numbers = range(max(0, draws - (population - positives)), min(draws, positives) + 1)
    ways = [comb(positives, k) * comb(population - positives, draws - k) for k in numbers]
    return Fraction(sum(k * way for k, way in zip(numbers, ways, strict=True)), sum(ways))


def _mix_whole_rooms(captures: Callable[[int], Fraction], room: Fraction | int) -> Fraction:
    """Average over a room that is rounded up with the probability of its fractional part."""
    whole = int(room)
    up = Fraction(room) - whole
    return captures(whole) if up == 0 else (1 - up) * captures(whole) + up * captures(whole + 1)


def enumerate_efficiency(
    populations: Iterable[int],
    *,
    captures: Callable[..., Fraction] = expected_captures,
    room_step: Fraction | int = 1,
) -> pd.DataFrame:
    """Every confusion table with a positive and every capacity, in exact arithmetic.

    Examples
    --------
    >>> table = enumerate_efficiency([4])
    >>> len(table), int((table["undefined"] == "").sum())
    (120, 76)
    """
    rows = []
    for population in populations:
        rooms = [room_step * (step + 1) for step in range(int(population / Fraction(room_step)))]
        for n_pos in range(1, population + 1):
            tables = product(range(n_pos + 1), range(population - n_pos + 1), rooms)
            rows += [
                _exact_row(tp, fp, n_pos, population, room, captures) for tp, fp, room in tables
            ]
    return pd.DataFrame(rows)


def _exact_row(
    tp: int,
    fp: int,
    n_pos: int,
    population: int,
    room: Fraction | int,
    captures: Callable[..., Fraction],
) -> dict[str, Any]:
    captured = captures(tp, fp, n_pos, population - n_pos, room)
    try:
        formula = closed_form(
            Fraction(tp, tp + fp),
            Fraction(tp, n_pos),
            Fraction(n_pos, population),
            Fraction(room) / population,
        )
    except ZeroDivisionError:
        formula = None
    return {
        "population": population,
        "n_pos": n_pos,
        "tp": tp,
        "fp": fp,
        "room": Fraction(room),
        "captured": captured,
        "policy": captured / captures(0, 0, n_pos, population - n_pos, room),
        "formula": formula,
        "undefined": "" if formula is not None else _why_undefined(tp, fp, population),
    }


def _why_undefined(tp: int, fp: int, population: int) -> str:
    if tp + fp == 0:
        return "nobody flagged"
    if tp == 0:
        return "only negatives flagged"
    return "everybody flagged and reached" if tp + fp == population else "unexplained"


def _scarce_efficiency(tp: int, flagged: int, n_pos: int, population: int, _: Any) -> Fraction:
    """IE of Appendix A (ii): p/π."""
    return Fraction(tp, flagged) / Fraction(n_pos, population)


def _ample_efficiency(tp: int, flagged: int, n_pos: int, population: int, room: Any) -> Fraction:
    """IE of Appendix A (iii), from counts."""
    others = population - flagged
    rest = (Fraction(room) - flagged) * Fraction(n_pos - tp, others) if others else Fraction(0)
    return (tp + rest) / (Fraction(room) * n_pos / population)


def _count_form(tp: int, flagged: int, n_pos: int, population: int, room: Any) -> Fraction:
    """IE of Appendix A from counts, in the regime that the room puts it in."""
    regime = _scarce_efficiency if flagged > room else _ample_efficiency
    return regime(tp, flagged, n_pos, population, room)


def counts_of(table: pd.DataFrame) -> tuple[pd.Series, ...]:
    """Return TP, FP, positives and negatives of enumerated tables."""
    return table["tp"], table["fp"], table["n_pos"], table["population"] - table["n_pos"]


def capacity_of(table: pd.DataFrame) -> pd.Series:
    """Return γ of enumerated tables, as floats."""
    return (table["room"] / table["population"]).astype(float)


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
                "formula": float(_count_form(tp, tp + fp, n_pos, population, Fraction(room))),
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


def z_scores(simulated: pd.DataFrame, efficiency: ArrayLike) -> NDArray[np.float64]:
    """How far the simulation is from a stated IE, in standard errors."""
    stated = np.asarray(efficiency, dtype=float)
    gap = (simulated["guided_mean"] - stated * simulated["uniform_mean"]).to_numpy()
    variance = simulated["guided_variance"] + stated**2 * simulated["uniform_variance"]
    error = np.sqrt(variance.to_numpy())
    exact = np.select([np.abs(gap) <= 1e-9, gap > 0], [0.0, np.inf], default=-np.inf)
    return np.where(error > 0, gap / np.where(error > 0, error, 1), exact)


# --- What follows from the formula --------------------------------------------------------------


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
            name: _count_form(tp, tp + fp, n_pos, population, room)
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
        "IE-2": (table["policy"][scarce].tolist(), _each(_scarce_efficiency, table[scarce])),
        "IE-3": (table["policy"][~scarce].tolist(), _each(_ample_efficiency, table[~scarce])),
        "IE-4": (_each(_count_form, defined), defined["formula"].tolist()),
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


def _same_side(left: Iterable[Any], right: Iterable[Any]) -> NDArray[np.bool_]:
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
    notes=(
        "How many cases of each check of Proposition 3.1 agree: algebra, lists of all sets, "
        "exact sums, the policy acted out, and random validation sets."
    ),
)
