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

from pvf._checks import check_integer, check_number
from pvf.metrics import intervention_efficiency, intervention_efficiency_counts
from studies.kit.claims import Finding, claims, verdict

if TYPE_CHECKING:
    import sympy

__all__ = [
    "CLAIMS",
    "CLINIC",
    "CLINIC_MODELS",
    "Identity",
    "best_model_by_room",
    "best_possible",
    "check_enumeration",
    "check_identities",
    "check_samples",
    "check_simulation",
    "closed_form",
    "compare_prevalences",
    "decide",
    "enriched_study",
    "enumerate_efficiency",
    "expected_captures",
    "float_differences",
    "list_captures",
    "ratio_form",
    "run_checks",
    "sample_efficiency",
    "simulate_captures",
    "simulate_efficiency",
    "summarise_samples",
    "symbolic_identities",
    "verdicts",
    "z_scores",
    "zero_cases",
]

#: The claims that this study decides.
CLAIMS = ("IE-1", "IE-2", "IE-3", "IE-4")

#: A clinic, and the true and false positives of three models with the same F1 in it.
CLINIC = {"n_pos": 20, "n_neg": 180}
CLINIC_MODELS = {"cautious": (8, 4), "balanced": (10, 10), "eager": (15, 25)}

_BLOCK = 2_000_000  # people shuffled at a time: a few megabytes


# --- Algebra ------------------------------------------------------------------------------------


def closed_form(precision: Any, recall: Any, prevalence: Any, capacity: Any) -> Any:
    r"""Proposition 3.1 as the paper prints it, in whatever arithmetic its arguments have.

    Unlike `pvf.intervention_efficiency`, it mends nothing: where the formula is 0/0, so is this.

    Parameters
    ----------
    precision, recall, prevalence, capacity : Fraction, float or sympy number
        p, r, π and γ.

    Returns
    -------
    Fraction, float or sympy number
        IE.

    Raises
    ------
    ZeroDivisionError
        Precision is 0, or everybody is flagged and reached (s = 1).

    Examples
    --------
    >>> closed_form(Fraction(1, 2), Fraction(4, 5), Fraction(1, 10), Fraction(1, 5))
    Fraction(85, 21)
    """
    share = min(capacity, prevalence * recall / precision)
    return ratio_form(share, precision, prevalence, capacity)


def ratio_form(share: Any, precision: Any, prevalence: Any, capacity: Any) -> Any:
    """Prop. 3.1 for a given share s of the population that the model's flags take up.

    Parameters
    ----------
    share : Fraction, float or sympy expression
        Share s.
    precision, prevalence, capacity : Fraction, float or sympy expression
        p, π and γ.

    Returns
    -------
    Fraction, float or sympy expression
        IE.

    Raises
    ------
    ZeroDivisionError
        The share is 1.

    Examples
    --------
    >>> ratio_form(Fraction(1, 5), Fraction(1, 2), Fraction(1, 10), Fraction(1, 5))
    Fraction(5, 1)
    """
    rest = (prevalence - share * precision) / (1 - share)
    return (share * precision + (capacity - share) * rest) / (capacity * prevalence)


@dataclass(frozen=True)
class Identity:
    """Two expressions that a claim says are equal.

    Parameters
    ----------
    claim : str
        Id of the claim.
    statement : str
        What is equal, in words.
    left, right : sympy expression
        The two sides.
    """

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

    Returns
    -------
    list of Identity

    References
    ----------
    Zhang, Tran and Weng (2026), Appendix A.

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

    Parameters
    ----------
    tp, fp : int
        Flagged positives and flagged negatives; 0 and 0 is the uniform policy.
    n_pos, n_neg : int
        Positives and negatives.
    room : Fraction or int
        Interventions c. Where c is not whole, the last one takes place with the probability that
        is left over.

    Returns
    -------
    Fraction
        Expected number of positives reached.

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

    Parameters
    ----------
    tp, fp, n_pos, n_neg, room
        As in `list_captures`.

    Returns
    -------
    Fraction
        Expected number of positives reached.

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

    Parameters
    ----------
    populations : iterable of int
        Population sizes β.
    captures : callable, default=expected_captures
        `expected_captures` or `list_captures`.
    room_step : Fraction or int, default=1
        Capacities are c = step, 2 step, ..., β.

    Returns
    -------
    DataFrame
        One row a table and capacity: ``population``, ``n_pos``, ``tp``, ``fp``, ``room``;
        ``captured`` (by the policy) and ``policy`` (its IE), both from the enumeration;
        ``formula``, Prop. 3.1 in p, r, π and γ, or None where it is 0/0; ``undefined``, the reason
        for that, or "". All are Fractions.

    Examples
    --------
    >>> table = enumerate_efficiency([4])
    >>> len(table), int((table["undefined"] == "").sum())
    (120, 76)
    """
    rows = []
    for population in populations:
        check_integer("populations", population, 1)
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


def float_differences(table: pd.DataFrame) -> pd.Series:
    """Largest difference between the library's floats and the exact numbers.

    Parameters
    ----------
    table : DataFrame
        From `enumerate_efficiency`.

    Returns
    -------
    Series
        ``from counts`` over all rows and ``from precision and recall`` over those with a positive
        flagged; as a share of IE where IE is above 1.

    Examples
    --------
    >>> bool(float_differences(enumerate_efficiency([5])).max() < 1e-12)
    True
    """
    flagged_right = table[table["tp"] > 0]
    differences = {
        "from counts": _float_difference(table, intervention_efficiency_counts, _counts),
        "from precision and recall": _float_difference(
            flagged_right, intervention_efficiency, _ratios
        ),
    }
    return pd.Series(differences)


def _float_difference(
    table: pd.DataFrame,
    metric: Callable[..., Any],
    arguments: Callable[[pd.DataFrame], tuple[pd.Series, ...]],
) -> float:
    gamma = (table["room"] / table["population"]).astype(float)
    exact = table["policy"].astype(float)
    difference = np.abs(metric(*arguments(table), gamma) - exact) / np.maximum(exact, 1)
    return float(np.max(difference))


def _counts(table: pd.DataFrame) -> tuple[pd.Series, ...]:
    return table["tp"], table["fp"], table["n_pos"], table["population"] - table["n_pos"]


def _ratios(table: pd.DataFrame) -> tuple[pd.Series, ...]:
    flagged = table["tp"] + table["fp"]
    return table["tp"] / flagged, table["tp"] / table["n_pos"], table["n_pos"] / table["population"]


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

    Parameters
    ----------
    tp, fp : int
        Flagged positives and flagged negatives; 0 and 0 is the uniform policy.
    n_pos, n_neg : int
        Positives and negatives.
    room : float
        Interventions c; a fractional one takes place with that probability.
    n_repetitions : int
        How often.
    rng : Generator
        Source of randomness.

    Returns
    -------
    ndarray of int, shape (n_repetitions,)
        Positives reached.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> simulate_captures(2, 1, 3, 3, room=3, n_repetitions=4, rng=rng).tolist()  # the flagged
    [2, 2, 2, 2]
    """
    check_integer("n_repetitions", n_repetitions, 1)
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

    Parameters
    ----------
    models : mapping of str to (int, int)
        TP and FP of each model.
    capacities : sequence of float in (0, 1]
        Capacities γ.
    n_pos, n_neg : int
        Positives and negatives in the population.
    n_repetitions : int
        Repetitions of each policy.
    level : float in (0, 1), default=0.99
        Probability that all intervals cover at once.
    seed : int, default=0
        Seed; each row has a stream of its own.

    Returns
    -------
    DataFrame
        One row a model and capacity: ``model``, ``capacity``, ``room``, ``tp``, ``flagged``,
        ``regime``, ``formula`` (Appendix A from counts), ``estimate``, ``low``, ``high``, ``z`` and
        ``critical`` (|z| above it is a disagreement), and the moments that `z_scores` needs.

    Raises
    ------
    ValueError
        So few repetitions that the uniform policy's mean is not clear of 0.
    """
    check_number("level", level, 0, 1)
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
    """How far the simulation is from a stated IE, in standard errors.

    Parameters
    ----------
    simulated : DataFrame
        From `simulate_efficiency`.
    efficiency : array-like of float, shape (n_rows,)
        IE as a formula has it.

    Returns
    -------
    ndarray of float, shape (n_rows,)
        (mean guided − IE · mean uniform) / its standard error. Where nothing is random it is 0 if
        the two agree and infinite if they don't.
    """
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

    Parameters
    ----------
    models : mapping of str to (int, int)
        TP and FP of each model.
    n_pos, n_neg : int
        Positives and negatives in the population.

    Returns
    -------
    DataFrame
        ``best`` (all names that share the highest IE, exactly), ``first`` and ``last``: the runs
        of interventions over which that holds.

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

    Parameters
    ----------
    table : DataFrame
        From `enumerate_efficiency`.

    Returns
    -------
    DataFrame
        One row a population, number of positives and capacity: ``highest`` and ``limit``, exact.

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

    Parameters
    ----------
    flagged_in_vain : sequence of int
        How many negatives each model flags; it flags no positive.
    capacities : sequence of float in (0, 1)
        Capacities γ.
    n_pos, n_neg : int
        Positives and negatives in the population.

    Returns
    -------
    DataFrame
        One row a model and capacity: ``flagged``, ``capacity``; ``precision`` and ``recall`` as
        scikit-learn gives them with ``zero_division=0``; ``share 0`` and ``share γ``, Prop. 3.1
        with the undefined s set to 0 or to γ; ``policy``, the IE of the enumerated policy.

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
    sizes: Sequence[int],
    *,
    recall: float,
    false_positive_rate: float,
    prevalence: float,
    capacity: float,
    n_repetitions: int,
    seed: int = 0,
) -> pd.DataFrame:
    """IE of one model on many validation sets, with π from the set and with π from elsewhere.

    Parameters
    ----------
    sizes : sequence of int
        Sizes of a validation set.
    recall, false_positive_rate : float in [0, 1]
        Probability that the model flags a positive, and a negative.
    prevalence : float in (0, 1]
        Prevalence π of the population that the sets are drawn from.
    capacity : float in (0, 1]
        Capacity γ.
    n_repetitions : int
        Number of sets of each size.
    seed : int, default=0
        Seed; each size has a stream of its own.

    Returns
    -------
    DataFrame
        One row a set: ``n_samples``, ``n_pos``, ``tp``, ``fp``; ``counts`` (IE from the set's
        counts), ``same_set`` (from its p, r and π) and ``mixed`` (its p and r, the population's
        π). The last two are NaN where no positive is flagged, all three where there is none.

    Examples
    --------
    A model that flags everybody is worth nothing, on any set of its own:

    >>> rates = {"recall": 1, "false_positive_rate": 1, "prevalence": 0.25}
    >>> sets = sample_efficiency([50], **rates, capacity=0.2, n_repetitions=9)
    >>> sets["same_set"].unique()
    array([1.])
    >>> np.allclose(sets["mixed"], sets["n_pos"] / 50 / 0.25)  # π of the set by the other π
    True
    """
    streams = np.random.SeedSequence(seed).spawn(len(sizes))
    return pd.concat(
        [
            _draw_sets(
                size,
                recall,
                false_positive_rate,
                prevalence,
                capacity,
                n_repetitions,
                np.random.default_rng(stream),
            )
            for size, stream in zip(sizes, streams, strict=True)
        ],
        ignore_index=True,
    )


def _draw_sets(
    size: int,
    recall: float,
    false_positive_rate: float,
    prevalence: float,
    capacity: float,
    n_repetitions: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
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
    """Spread and error of IE over validation sets, with π from the set and from elsewhere.

    Parameters
    ----------
    samples : DataFrame
        From `sample_efficiency`.
    truth : float
        IE in the population.

    Returns
    -------
    DataFrame
        One row a size: ``usable``, the share of sets on which p and r are defined and not 0;
        for ``same_set`` and ``mixed`` on these the mean, the 5% and 95% quantiles (``_low``,
        ``_high``) and the root mean squared error (``_error``); ``closer``, "set" or
        "population", whose π gives the smaller error, or "neither" where the 95% interval of the
        paired difference holds 0.
    """
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
    """Draw validation sets for several models, and sum up the errors of IE on them.

    Parameters
    ----------
    models : mapping of str to (int, int)
        TP and FP of each model in the population.
    sizes : sequence of int
        Sizes of a validation set.
    n_pos, n_neg : int
        Positives and negatives in the population.
    capacity : float in (0, 1]
        Capacity γ.
    n_repetitions : int
        Number of sets of each size, for each model.
    seed : int, default=0
        Seed; all models share it.

    Returns
    -------
    samples, errors : DataFrame
        As `sample_efficiency` and `summarise_samples` give them, with a column ``model`` in front;
        ``errors`` also has ``truth``, the model's IE in the population.
    """
    samples, errors = [], []
    for name, (tp, fp) in models.items():
        sets = sample_efficiency(
            sizes,
            recall=tp / n_pos,
            false_positive_rate=fp / n_neg,
            prevalence=n_pos / (n_pos + n_neg),
            capacity=capacity,
            n_repetitions=n_repetitions,
            seed=seed,
        )
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

    Parameters
    ----------
    tp, fp, n_pos, n_neg : int
        The model's counts in the clinic. The study has its recall and its false-positive rate.
    n_cases, n_controls : int
        Size of the study.
    capacity : float in (0, 1]
        Capacity γ.

    Returns
    -------
    dict of str to float
        IE with p, r and π of the ``study``; ``mixed``, p and r of the study and π of the clinic;
        ``weighted``, from the study's counts, each class weighted to the clinic's π; and with p, r
        and π of the ``clinic``.

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


# --- Verdicts -----------------------------------------------------------------------------------


def check_identities(identities: Iterable[Identity]) -> pd.DataFrame:
    """Check the algebra: the cases are equations.

    Parameters
    ----------
    identities : iterable of Identity

    Returns
    -------
    DataFrame
        One row a claim, as `verdicts` takes it.
    """
    holds: dict[str, list[bool]] = {}
    for identity in identities:
        holds.setdefault(identity.claim, []).append(identity.holds)
    return pd.DataFrame(
        [_check(claim, "algebra", held, held) for claim, held in sorted(holds.items())]
    )


def check_enumeration(table: pd.DataFrame, name: str = "enumeration") -> pd.DataFrame:
    """Check the formulas against the enumerated policy: equal as fractions, case by case.

    Parameters
    ----------
    table : DataFrame
        From `enumerate_efficiency`.
    name : str, default="enumeration"
        What to call the check.

    Returns
    -------
    DataFrame
        One row a claim, as `verdicts` takes it.
    """
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
    """Check the formulas against the policy acted out: inside the simultaneous intervals.

    Parameters
    ----------
    simulated : DataFrame
        From `simulate_efficiency`.

    Returns
    -------
    DataFrame
        One row a claim, as `verdicts` takes it.
    """
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
    """Check that p, r and π of one set give the IE of its counts, in floating point.

    Parameters
    ----------
    samples : DataFrame
        From `sample_efficiency`.
    tolerance : float, default=1e-9
        Largest difference that counts as equal.

    Returns
    -------
    DataFrame
        One row, as `verdicts` takes it.
    """
    with_positives = samples[samples["n_pos"] > 0]
    defined = with_positives.dropna(subset="same_set")
    agrees = np.abs(defined["same_set"] - defined["counts"]) <= tolerance
    same_side = agrees | _same_side(defined["same_set"], defined["counts"])
    n_undefined = len(with_positives) - len(defined)
    return pd.DataFrame([_check("IE-4", "random sets", agrees, same_side, n_undefined)])


def run_checks(*, n_repetitions: int, largest_population: int, seed: int = 0) -> pd.DataFrame:
    """Run every check of the chapter on Proposition 3.1.

    Parameters
    ----------
    n_repetitions : int
        Of the simulation, and of each random validation set.
    largest_population : int
        Of those whose confusion tables are enumerated.
    seed : int, default=0

    Returns
    -------
    DataFrame
        The rows of all ``check_...`` functions, as `verdicts` takes them.
    """
    half = Fraction(1, 2)
    listed = enumerate_efficiency(range(1, 8), room_step=half, captures=list_captures)
    enumerated = enumerate_efficiency(range(1, largest_population + 1))
    simulated = simulate_efficiency(
        {**CLINIC_MODELS, "nobody flagged": (0, 0), "flags in vain": (0, 20)},
        capacities=[0.02, 0.05, 0.1, 0.2, 0.4, 0.8],
        **CLINIC,
        n_repetitions=n_repetitions,
        seed=seed,
    )
    samples, _ = compare_prevalences(
        {"flags everybody": (CLINIC["n_pos"], CLINIC["n_neg"]), **CLINIC_MODELS},
        sizes=[20, 50, 100, 500],
        **CLINIC,
        capacity=0.1,
        n_repetitions=n_repetitions,
        seed=seed,
    )
    parts = [
        check_identities(symbolic_identities()),
        check_enumeration(listed, "every set listed"),
        check_enumeration(enumerated, "every table"),
        check_simulation(simulated),
        check_samples(samples),
    ]
    return pd.concat(parts, ignore_index=True)


def verdicts(checks: pd.DataFrame) -> pd.DataFrame:
    """Verdict on each of IE-1 to IE-4 from its checks.

    "reproduced": every case agrees. "direction only": not every case agrees, but in every case
    both sides are above chance, at it, or below it. "not reproduced": neither. "untestable": no
    case was checked.

    Parameters
    ----------
    checks : DataFrame
        Rows of the ``check_...`` functions: ``claim``, ``check``, ``cases``, ``agree``,
        ``same_side``, ``undefined``.

    Returns
    -------
    DataFrame
        ``claim``, ``statement``, ``verdict``, ``cases``, ``agree`` and ``undefined`` (cases where
        the formula has no value, which are not among the cases).

    Examples
    --------
    >>> table = verdicts(check_identities(symbolic_identities()))
    >>> table["verdict"].tolist()
    ['reproduced', 'reproduced', 'reproduced', 'reproduced']
    """
    columns = ["cases", "agree", "same_side", "undefined"]
    sums = checks.groupby("claim")[columns].sum().reindex(CLAIMS, fill_value=0)
    return pd.DataFrame(
        [
            {
                "claim": claim,
                "statement": claims()[claim]["statement"],
                "verdict": _verdict(*sums.loc[claim, ["cases", "agree", "same_side"]]),
                **sums.loc[claim, ["cases", "agree", "undefined"]],
            }
            for claim in CLAIMS
        ]
    )


def decide(claim: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> Finding:
    """Judge one of IE-1 to IE-4 by all its checks.

    Parameters
    ----------
    claim : mapping
        The ledger's entry.
    tables : mapping of str to DataFrame
        With ``efficiency_checks``, from `run_checks`.

    Returns
    -------
    Finding
        Its number is the share of cases that agree, in percent.
    """
    checks = tables["efficiency_checks"]
    row = verdicts(checks).set_index("claim").loc[claim["id"]]
    names = ", ".join(checks.loc[checks["claim"] == claim["id"], "check"])
    says = f"{row['agree']:,} of {row['cases']:,} cases agree ({names})"
    if row["undefined"]:
        says += f"; in {row['undefined']:,} more the formula is 0/0"
    return Finding(row["verdict"], says, 100 * float(row["agree"]) / max(float(row["cases"]), 1))


def _verdict(cases: int, agree: int, same_side: int) -> str:
    if cases == 0:
        return "untestable"
    return verdict(reproduced=agree == cases, direction=same_side == cases)


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
