"""Every interval of the book, and the one meaning of "agrees".

Estimates are frames of one schema: key columns, then ``quantity``, ``estimate``, ``low``, ``high``,
``n`` (how many units the interval is over) and ``unit``. Where single runs matter, ``run_low`` and
``run_high`` say between which values 95% of them fall.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from pvf._types import Array

#: Columns of a frame of estimates, behind its keys.
SCHEMA = ("quantity", "estimate", "low", "high", "n", "unit")


class Interval(NamedTuple):
    """An estimate, the ends of its interval, and the number of units behind it."""

    estimate: float
    low: float
    high: float
    n: float


def t_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Return the mean of independent units with Student's interval; NaN ends for fewer than two."""
    x = np.asarray(values, dtype=float)
    if len(x) < 2:
        return Interval(float(x.mean()) if len(x) else np.nan, np.nan, np.nan, len(x))
    mean = float(x.mean())
    quantile = special.stdtrit(len(x) - 1, (1 + level) / 2)  # what `stats.t.ppf` calls
    reach = float(quantile * x.std(ddof=1) / np.sqrt(len(x)))
    return Interval(mean, mean - reach, mean + reach, len(x))


def share_interval(share: float, n: float, level: float = 0.95) -> Interval:
    """Return a share of n independent trials with Wilson's interval; it may count in parts."""
    z = float(stats.norm.ppf((1 + level) / 2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return Interval(share, middle - float(half), middle + float(half), n)


def bootstrap_interval(
    units: ArrayLike,
    statistic: Callable[[NDArray], float] = np.mean,
    *,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Interval:
    """Return a statistic of whole units, each a row, with its percentile bootstrap interval."""
    x = np.asarray(units, dtype=float)
    rng = np.random.default_rng(seed)
    drawn = [statistic(x[rng.integers(len(x), size=len(x))]) for _ in range(n_resamples)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Interval(float(statistic(x)), float(low), float(high), len(x))


def simultaneous_level(n_intervals: int, level: float = 0.95) -> float:
    """Return the level of each of several intervals that hold jointly (Bonferroni)."""
    return 1 - (1 - level) / n_intervals


def single_run_range(values: ArrayLike) -> tuple[float, float]:
    """Return between which values the middle 95% of single runs fall."""
    low, high = np.quantile(np.asarray(values, dtype=float), [0.025, 0.975])
    return float(low), float(high)


def mean_estimates(
    rows: pd.DataFrame,
    keys: Sequence[str],
    quantities: Sequence[str],
    *,
    over: str = "repetition",
    unit: str = "",
    scale: float = 1.0,
) -> pd.DataFrame:
    """Return the means of some columns over independent units, in the schema of estimates.

    Rows of one unit depend on each other, so each unit counts once, by its mean.
    """
    once = rows.groupby([*keys, over], sort=False)[list(quantities)].mean() * scale
    long = once.melt(ignore_index=False, var_name="quantity", value_name="value").reset_index()
    groups = long.groupby([*keys, "quantity"], sort=False)["value"]
    table = groups.agg(["mean", "sem", "count"])
    reach = table["sem"] * stats.t.ppf(0.975, np.maximum(table["count"] - 1, 1))
    ends = groups.quantile([0.025, 0.975]).unstack().loc[table.index]  # noqa: PD010
    return pd.DataFrame(
        {
            "estimate": table["mean"],
            "low": table["mean"] - reach,
            "high": table["mean"] + reach,
            "n": table["count"],
            "unit": unit,
            "run_low": ends[0.025],
            "run_high": ends[0.975],
        }
    ).reset_index()


def holm(p_values: ArrayLike) -> Array:
    """Return p-values adjusted by Holm's method; NaN stays NaN."""
    p = np.asarray(p_values, dtype=float)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known])]
    adjusted = p.copy()
    steps = np.arange(len(order), 0, -1) * p[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def less_base(rows: pd.DataFrame, value: str, pairs: Sequence[str], base: pd.Series) -> pd.Series:
    """Return a value less that of the base row of the same pair; a mask says which are base."""
    known = rows.loc[base, [*pairs, value]]
    return rows[value] - rows[[*pairs]].merge(known, "left")[value].set_axis(rows.index)


def agrees(fresh: pd.DataFrame, reference: pd.DataFrame, level: float = 0.95) -> pd.Series:
    """Say for each estimate of a run whether it lies where the reference lets it lie.

    Two independent estimates differ by chance; they agree if they lie no further apart than both
    errors together explain at a joint level over all estimates. A run of a single unit has no
    error of its own: it agrees if it lies in the reference's range of single runs, where the
    reference has one.

    Parameters
    ----------
    fresh, reference : DataFrame
        In the schema of estimates, with the same keys.

    Returns
    -------
    Series of bool
        Indexed by keys and quantity; estimates that only one of the two has are left out.
    """
    found = {*SCHEMA, "run_low", "run_high"} - {"quantity"}
    keys = [name for name in reference if name not in found]
    both = fresh.merge(reference, on=keys, suffixes=("", "_reference")).set_index(keys)
    z = float(stats.norm.isf((1 - simultaneous_level(max(len(both), 1), level)) / 2))
    # 95% intervals give back standard errors, near enough for a joint limit
    errors = [
        (both["high" + end] - both["low" + end]) / (2 * stats.norm.ppf(0.975))
        for end in ("", "_reference")
    ]
    apart = (both["estimate"] - both["estimate_reference"]).abs()
    close = apart <= z * np.hypot(errors[0].fillna(0), errors[1].fillna(0)) + 1e-9
    close |= both[["estimate", "estimate_reference"]].isna().all(axis=1)
    if "run_low_reference" in both:
        inside = both["estimate"].between(
            both["run_low_reference"] - 1e-9, both["run_high_reference"] + 1e-9
        )
        close = close.where(both["n"] > 1, inside)
    return close.rename("agrees")
