"""Which rule the study of rules advises: the default, by validated cases and kind of pool.

The lines of the study's table lie in ``pvf/templates/advice.json``, as ``python -m
studies.rules.advice`` writes them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from pvf import _checks as check
from pvf.render import environment

FILE = "advice.json"


@dataclass(frozen=True)
class Advice:
    """One line of the study's table.

    Attributes
    ----------
    outcome : str
        What is chosen for, such as ``"IE@0.1"``.
    cases : str
        How many cases a split validates on.
    pool : str
        ``"trees"``, ``"logistic"`` or ``"mixed"``.
    advised : str
        The study's best rule.
    share, lead : (float, float, float)
        The attainable share to expect, and how much more that is than the hold-out score's, with
        95% intervals over ``tables`` data sets.
    tables : int
    """

    outcome: str
    cases: str
    pool: str
    advised: str
    share: tuple[float, float, float]
    lead: tuple[float, float, float]
    tables: int

    @property
    def rule(self) -> str:
        """The rule of `pvf.select.choose.RULES` that comes nearest.

        Over many splits PVF is PVF inside cross-validation, and the traditional rule, whose scores
        are means over the splits, is cross-validation.
        """
        return "PVF" if self.advised.startswith("PVF") else "traditional"

    def __str__(self) -> str:
        text = environment("markdown").get_template("advice.j2").render(vars(self))
        return " ".join(text.split())


def kind_of_pool(models: Sequence[Any]) -> str:
    """Return which of the study's pools such models are most like: trees, logistic or mixed."""
    last = {type(getattr(model, "steps", [("", model)])[-1][1]).__name__ for model in models}
    kinds = {"DecisionTreeClassifier": "trees", "LogisticRegression": "logistic"}
    return kinds.get(last.pop(), "mixed") if len(last) == 1 else "mixed"


def advice(pool: str, capacity: float, n_cases: float) -> Advice:
    """Return the line of the study's table for a pool, a capacity and a number of cases.

    Parameters
    ----------
    pool : {"trees", "logistic", "mixed"}
        As `kind_of_pool` tells it.
    capacity : float
        The line of the nearest capacity is taken.
    n_cases : float
        Cases that a split validates on, on average.

    Returns
    -------
    Advice

    Examples
    --------
    >>> advice("trees", 0.12, 5).advised
    'PVF, σ = 0.3'
    """
    check.choice("pool", pool, ("trees", "logistic", "mixed"))
    capacity = check.number("capacity", capacity, 0, 1, left_open=True)
    n_cases = check.number("n_cases", n_cases, 0)
    lines = json.loads((files("pvf") / "templates" / FILE).read_text(encoding="utf-8"))
    lines = [
        line
        for line in lines
        if line["pool"] == pool and line["least"] <= n_cases < (line["below"] or float("inf"))
    ]
    line = min(lines, key=lambda one: (round(abs(one["capacity"] - capacity), 9), one["capacity"]))
    return Advice(
        outcome=f"IE@{line['capacity']:g}",
        cases=line["cases"],
        pool=pool,
        advised=line["advised"],
        share=tuple(line["share"]),
        lead=tuple(line["lead"]),
        tables=line["tables"],
    )


def advice_of(
    models: Sequence[Any], capacity: float | None, n_cases: int | None
) -> dict[str, str] | None:
    """Return the line for some models in words; None where too little is known of them."""
    if len(models) < 2 or capacity is None or n_cases is None:
        return None
    line = advice(kind_of_pool(models), capacity, n_cases)
    return {"advised": line.advised, "rule": line.rule, "says": str(line)}
