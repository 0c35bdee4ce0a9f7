"""Proposition 3.1 by algebra, as the appendix has it, and by listing every case.

The two share no code with `pvf.metrics` and none with each other: the algebra follows the paper
line by line, the enumeration averages over every set of people whom the policy may reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import comb
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    import sympy

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


def scarce_efficiency(tp: int, flagged: int, n_pos: int, population: int, _: Any) -> Fraction:
    """IE of Appendix A (ii): p/π."""
    return Fraction(tp, flagged) / Fraction(n_pos, population)


def ample_efficiency(tp: int, flagged: int, n_pos: int, population: int, room: Any) -> Fraction:
    """IE of Appendix A (iii), from counts."""
    others = population - flagged
    rest = (Fraction(room) - flagged) * Fraction(n_pos - tp, others) if others else Fraction(0)
    return (tp + rest) / (Fraction(room) * n_pos / population)


def count_form(tp: int, flagged: int, n_pos: int, population: int, room: Any) -> Fraction:
    """IE of Appendix A from counts, in the regime that the room puts it in."""
    regime = scarce_efficiency if flagged > room else ample_efficiency
    return regime(tp, flagged, n_pos, population, room)


def counts_of(table: pd.DataFrame) -> tuple[pd.Series, ...]:
    """Return TP, FP, positives and negatives of enumerated tables."""
    return table["tp"], table["fp"], table["n_pos"], table["population"] - table["n_pos"]


def capacity_of(table: pd.DataFrame) -> pd.Series:
    """Return γ of enumerated tables, as floats."""
    return (table["room"] / table["population"]).astype(float)
