"""Every setting of `pvf select`, once: its default, what it takes, and its name as an option.

The command line makes its options of these fields, `select` and `load_own_data` take them as
keywords, and a report lists them. The texts of the options stand in ``pvf/templates``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import click
import numpy as np

from pvf import _checks as check
from pvf._checks import LARGEST
from pvf._cli import SEED, Number, PathTo
from pvf.select.columns import CENSORED

#: The rules that select, in the order of tables and figures.
RULES = ("traditional", "PVF", "PMV")
#: Splits of a table of up to so many rows; of larger ones fewer, but not below the fewest.
MOST_SPLITS, FEWEST_SPLITS, ROWS_OF_MOST = 20, 5, 2000
#: A run that would take longer, in minutes, is refused.
MOST_MINUTES = 15.0

ABOVE_0, SHARE = Number(0, min_open=True), Number(0, 1, min_open=True, max_open=True)
A_FILE, COUNT = PathTo(dir_okay=False, path_type=Path), click.IntRange(1)


def setting(default: Any, flag: str = "", **option: Any) -> Any:
    """Return a field with its option's name, and what else the command line is told of it."""
    return field(default=default, metadata={"flag": flag, **option})


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a file is written, as `pvf.select.read.read_csv_table` takes it."""

    separator: str | None = setting(None, "--separator")
    encoding: str | None = setting(None, "--encoding")


@dataclass(frozen=True, kw_only=True)
class Cells(Dialect):
    """How a file's cells are read, as `pvf.select.columns.guess_columns` takes it."""

    decimal: str | None = setting(None, "--decimal", type=click.Choice([".", ","]))
    missing: Any = setting((), "--missing", multiple=True)
    missing_spellings: Sequence[str] | None = setting(None, "--missing-spellings", metavar="A,B")
    censored: str = setting("limit", "--censored", type=click.Choice(list(CENSORED)))


@dataclass(frozen=True, kw_only=True)
class Reading(Cells):
    """What a reader says of a table.

    Attributes
    ----------
    positive : str, number or bool, optional
        The outcome's value that is a case. Needed unless the values say so themselves, as 0 and 1
        or no and yes do. Of more than two values all others count as none. False and True, which
        YAML makes of no and yes, stand for these where the outcome has them.
    group : str, optional
        The column that says whose row each is; ``"none"`` where every row is a person of its own.
        By default an identifier that repeats, found by its name or values.
    columns_file : path-like, optional
        Kinds of columns as `pvf.select.columns.columns_as_toml` writes them; those that are
        not what is guessed count as given, where ``kinds`` says nothing else.
    kinds : mapping, str or sequence of str, optional
        Kinds of columns that overrule the guess; see `parse_kinds` and `guess_columns`. A column
        whose kind is given is not checked for being a copy of the outcome.
    drop : str or sequence of str
        Columns to leave out.
    """

    positive: Any = setting(None, "--positive")
    group: Any = setting(None, "--group", metavar="COLUMN")
    columns_file: str | Path | None = setting(None, "--columns", type=A_FILE)
    kinds: Any = setting((), "--kind", multiple=True, metavar="COLUMN=KIND")
    drop: Any = setting((), "--drop", multiple=True, metavar="COLUMN")


@dataclass(frozen=True, kw_only=True)
class Choosing:
    """How a model is chosen: all that reproduces a result, checked.

    Attributes
    ----------
    capacity : float in (0, 1], optional
        Share γ of the patients that can receive the intervention. Without it ``places / per``.
    places, per : float, optional
        The capacity in people: so many places for so many, such as 20 for 150 a week.
    n_splits : int, optional
        By default 20 up to 2,000 rows, and fewer of more, five at least.
    pool : str, default="pairs,trees"
        Candidates, as in `pvf.select.candidates.make_pool`.
    rule : {"traditional", "PVF", "PMV"}, optional
        The rule that is followed; by default the one that `pvf.advice.advice` gives for the
        pool, the capacity and the cases that a split validates on.
    sigma : float, default=0.1
        Noise of numeric columns under PVF, in standard deviations of the training part.
    sigmas : sequence of float
        Other noise levels, whose effect on PVF's choice is shown.
    n_sets : int, default=100
        Perturbed sets, over all splits together; five a split at least.
    validation_share, test_share : float in (0, 1)
        As in `pvf.select.splits.split`.
    seed : int
        Of the split, the noise, the trees and the bootstrap.
    change_probability, shift_decay : float
        As in `pvf.select.splits.perturbation_of`.
    n_replicas, aggregate
        As in `pvf.perturbation_validation`; fewer replicas where a validation part is large.
    n_repeats : int, default=1
        How often PMV flips labels and refits, on the training part of each split.
    epsilon : float, default=0.05
        Candidates whose class-balanced log-loss on the validation parts is within this of the best
        are the good models that Rashomon Capacity is computed over.
    n_bootstraps : int, default=1000
        Resamples for intervals.
    """

    capacity: float | None = setting(None, "--capacity", type=Number(0, 1, min_open=True))
    places: float | None = setting(None, "--places", type=ABOVE_0)
    per: float | None = setting(None, "--per-week", type=ABOVE_0)
    n_splits: int | None = setting(None, "--splits", type=click.IntRange(2, 1000))
    pool: str = setting("pairs,trees", "--pool")
    rule: str | None = setting(None, "--rule", type=click.Choice(RULES, case_sensitive=False))
    sigma: float = setting(0.1, "--sigma", type=Number(0, 1e6))
    sigmas: Sequence[float] = (0.03, 0.1, 0.3)
    n_sets: int = setting(100, "--sets", type=click.IntRange(1, 10**6))
    validation_share: float = setting(0.2, "--validation-share", type=SHARE)
    test_share: float = setting(0.2, "--test-share", type=SHARE)
    seed: int = setting(0, "--seed", type=SEED)
    change_probability: float = 0.1
    shift_decay: float = 0.1
    n_replicas: int = setting(7, type=COUNT)
    aggregate: float = 0.25
    n_repeats: int = setting(1, type=COUNT)
    epsilon: float = 0.05
    n_bootstraps: int = setting(1000, type=COUNT)

    def __post_init__(self) -> None:
        """Refuse what a setting does not take, by its name."""
        for one in fields(self):
            value, takes = getattr(self, one.name), one.metadata.get("type")
            if value is None and one.default is None:
                continue
            if isinstance(takes, click.Choice):
                check.choice(one.name, value, tuple(takes.choices))
            elif isinstance(takes, click.IntRange):
                check.integer(one.name, value, int(takes.min or 0), int(takes.max or LARGEST))
            elif isinstance(takes, Number):
                low, high = takes.min or 0, takes.max or np.inf
                check.number(one.name, value, low, high, left_open=takes.min_open)
        for level in self.sigmas:
            check.number("sigmas", level, 0)
        per = self.per or 100
        if self.capacity is None and (self.places is None or self.per is None):
            raise ValueError("capacity must be given, or places and per.")
        share = float((self.capacity or 0) if self.places is None else self.places / per)
        if not np.isclose(share, float(self.capacity or share)):
            raise ValueError(
                f"places and per must be the capacity, got {self.places:g} for {per:g} beside it."
            )
        check.number("capacity", share, 0, 1, left_open=True)

    def completed(self, n_rows: int) -> dict[str, Any]:
        """Return all settings, those filled in that depend on others or on a table's rows."""
        per, sigma = float(self.per or 100), float(self.sigma)
        capacity = float(self.capacity or (self.places or 0) / per)
        return asdict(self) | {
            "capacity": capacity,
            "places": capacity * per,
            "per": per,
            "sigma": sigma,
            "sigmas": sorted({*map(float, self.sigmas), sigma}),
            "n_splits": self.n_splits or usual_splits(n_rows),
        }


def usual_splits(n_rows: int) -> int:
    """Return how many splits are made where nobody says."""
    return max(FEWEST_SPLITS, min(MOST_SPLITS, int(MOST_SPLITS * ROWS_OF_MOST / max(n_rows, 1))))
