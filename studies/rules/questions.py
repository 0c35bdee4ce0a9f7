"""The protocol's five questions, asked of the committed table, as estimates of one schema.

The table of data is the unit: whatever is averaged within one counts once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from pvf._types import Array
from pvf.rules import SIGMAS
from studies.data.keel import MEDICAL
from studies.kit.estimates import Interval, holm, t_interval
from studies.rules.power import MARGIN
from studies.rules.run import BESIDE, FACTS, OUTCOMES, PRIMARY, RULES

CELL = ["pool", "size", "outcome"]
#: The cell of the primary question, which needs no correction.
PRIMARY_CELL = (*PRIMARY, "IE@0.1")
#: What the noise is compared with: a rule that needs none.
CHEAPER = ("holdout_ties", "bootstrap", "oob", "cv")
#: PVF's fixed levels of noise, by rule.
FIXED = tuple(f"pvf_{sigma:g}" for sigma in SIGMAS)
#: Covariates of the question "when", each by its standard deviation over cells.
WHEN = {"log2 cases": "cases", "tied": "tied", "prevalence": "prevalence"} | {
    "log2 columns": "columns",
    "categorical": "categorical",
}
#: Validated cases, by the mean over a cell's cohorts, in the table for practitioners.
BANDS = {"up to 3": (0.0, 3.5), "4 to 7": (3.5, 7.5), "8 or more": (7.5, np.inf)}


def per_table(table: pd.DataFrame) -> pd.DataFrame:
    """Join the halves: one row a data table, size, pool and outcome."""
    worth = [name for name in (*FACTS, *RULES, *BESIDE, "best") if name in table]
    keys = ["table", *CELL]
    weight = table["cohorts"].to_numpy()[:, None]
    known = table[worth].notna()
    sums = table[keys].join(table[worth].fillna(0.0) * weight).groupby(keys, sort=False).sum()
    weights = table[keys].join(known * weight).groupby(keys, sort=False).sum()
    return (sums / weights.where(weights > 0)).reset_index()


def estimate(table: pd.DataFrame) -> pd.DataFrame:
    """Return the answers to all questions, in the schema of estimates."""
    cells = per_table(table)
    shares = cells[cells["outcome"].isin(list(OUTCOMES))]
    rows = [
        *_primary(shares),
        *_noise_needed(shares),
        *_best(shares),
        *_when(shares),
        *_sigmas(table[table["outcome"].isin(list(OUTCOMES))]),
        *_reached(cells),
        *_wall(shares),
    ]
    return pd.DataFrame(rows)


def wall_lines(
    estimates: pd.DataFrame, outcome: str
) -> Iterator[tuple[str, str, pd.Series, pd.Series, pd.Series]]:
    """Yield the lines of the table for practitioners: cases, pool, share, lead and same rule."""
    rows = estimates[(estimates["question"] == 7) & (estimates["outcome"] == outcome)]
    for band in BANDS:
        for pool in ("trees", "logistic", "mixed"):
            part = rows[(rows["group"] == band) & (rows["pool"] == pool)].set_index("quantity")
            if len(part):
                yield band, pool, part.loc["share"], part.loc["difference"], part.loc["same rule"]


def verdict(low: float, high: float, margin: float = MARGIN) -> str:
    """Say what an interval of a difference means by the protocol."""
    if np.isnan(low):
        return "undecided"
    if -margin < low and high < margin:
        return "equivalent"
    if low > 0:
        return "better"
    return "worse" if high < 0 else "undecided"


def answer(estimates: pd.DataFrame) -> pd.Series:
    """Return the primary estimate, with its verdict."""
    row = estimates.query("question == 1 and group == 'all' and quantity == 'difference'")
    row = row[(row[CELL] == list(PRIMARY_CELL)).all(axis=1)]
    primary = row.iloc[0]
    return pd.concat([primary, pd.Series({"verdict": verdict(primary["low"], primary["high"])})])


def critical_difference(n_rules: int, n_tables: int, level: float = 0.95) -> float:
    """Return how far two mean ranks must lie apart (Nemenyi; Demšar 2006)."""
    q = float(stats.studentized_range.ppf(level, n_rules, np.inf)) / np.sqrt(2)
    return q * float(np.sqrt(n_rules * (n_rules + 1) / (6 * n_tables)))


def _row(
    question: int,
    cell: Sequence[Any],
    rule: str,
    versus: str,
    quantity: str,
    found: Interval,
    *,
    group: str = "all",
    unit: str = "tables",
) -> dict[str, Any]:
    keys = dict(zip(CELL, cell, strict=True))
    told = {"question": question, **keys, "group": group, "rule": rule, "versus": versus}
    return {**told, "quantity": quantity, **found._asdict(), "unit": unit}


def _single(value: float, n: float) -> Interval:
    return Interval(float(value), np.nan, np.nan, n)


def _p_value(values: pd.Series) -> float:
    known = values.dropna().to_numpy()
    if len(known) < 2 or np.ptp(known) == 0:
        return np.nan
    return float(stats.ttest_1samp(known, 0.0).pvalue)


def _differences(
    cells: pd.DataFrame, question: int, pairs: Sequence[tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    """Yield mean differences over tables, with p-values corrected over all of a question."""
    rows, p_values = [], []
    for cell, part in cells.groupby(CELL, sort=False):
        for rule, versus in pairs:
            difference = (part[rule] - part[versus]).set_axis(part["table"]).dropna()
            if difference.empty:
                continue
            for group in ("all", "medical"):
                values = (
                    difference if group == "all" else difference[difference.index.isin(MEDICAL)]
                )
                rows.append((question, cell, rule, versus, t_interval(values), group))
                is_primary = (question, cell, group) == (1, PRIMARY_CELL, "all")
                p_values.append(np.nan if is_primary else _p_value(values))
    for row, p in zip(rows, holm(p_values), strict=True):
        question, cell, rule, versus, found, group = row
        keys = (question, cell, rule, versus)
        yield _row(*keys, "difference", found, group=group)
        yield _row(*keys, "p (Holm)", _single(p, found.n), group=group)


def _primary(cells: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """PVF at σ = 0.3 less the hold-out with shared ties; beside the primary cell all others."""
    yield from _differences(cells, 1, [("pvf_0.3", "holdout")])
    for cell, part in cells.groupby(CELL, sort=False):
        difference = (part["pvf_0.3"] - part["holdout"]).dropna()
        beside = {"tables ahead": (difference > 0).sum(), "median": difference.median()}
        for quantity, value in beside.items():
            found = _single(value, len(difference))
            yield _row(1, cell, "pvf_0.3", "holdout", quantity, found)


def _noise_needed(cells: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """PVF with σ chosen inside, less rules without noise."""
    yield from _differences(cells, 2, [("pvf_nested", cheaper) for cheaper in CHEAPER])


def _best(cells: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Mean share and mean rank of each rule, and its distance to the best one's."""
    rows, p_values = [], []
    for cell, part in cells.groupby(CELL, sort=False):
        known = [name for name in (*RULES, *BESIDE) if part[name].notna().any()]
        values = part[known].dropna()
        rules = [name for name in known if name in RULES]
        ranks = values[rules].rank(axis=1, ascending=False).mean()
        best = str(values[rules].mean().idxmax()) if len(values) else rules[0]
        for rule in known:
            yield _row(3, cell, rule, "", "share", t_interval(values[rule]))
            if rule in rules:
                yield _row(3, cell, rule, "", "rank", _single(ranks[rule], len(values)))
                rows.append((cell, rule, best, t_interval(values[rule] - values[best])))
                p_values.append(_p_value(values[rule] - values[best]))
        width = critical_difference(len(rules), len(values)) if len(values) else np.nan
        yield _row(3, cell, "", "", "critical difference", _single(width, len(values)))
    for row, p in zip(rows, holm(p_values), strict=True):
        cell, rule, best, found = row
        yield _row(3, cell, rule, best, "less the best", found)
        yield _row(3, cell, rule, best, "p (Holm)", _single(p, found.n))


def _when(cells: pd.DataFrame, n_resamples: int = 999) -> Iterator[dict[str, Any]]:
    """Slopes of PVF's difference on five facts of a cell; whole tables are resampled."""
    for (pool, outcome), all_rows in cells.groupby(["pool", "outcome"], sort=False):
        part = all_rows.dropna(subset=["pvf_0.3", "holdout"])
        names = part["table"].unique()
        if len(names) < len(WHEN) + 2:
            continue
        columns = [
            np.log2(part[column]) if name.startswith("log2") else part[column]
            for name, column in WHEN.items()
        ]
        x = np.column_stack(columns)
        spread = x.std(axis=0)
        x = np.column_stack([np.ones(len(x)), (x - x.mean(axis=0)) / np.where(spread, spread, 1)])
        y = (part["pvf_0.3"] - part["holdout"]).to_numpy()
        of_table = [part["table"].to_numpy() == name for name in names]
        left = np.array([x[rows].T @ x[rows] for rows in of_table])
        right = np.array([x[rows].T @ y[rows] for rows in of_table])
        counts = np.random.default_rng(0).multinomial(
            len(names), np.full(len(names), 1 / len(names)), n_resamples
        )
        slopes, *found = _solved(np.vstack([np.ones_like(counts[:1]), counts]), left, right)
        low, high = np.quantile(found, [0.025, 0.975], axis=0)
        for place, name in enumerate(["mean cell", *WHEN]):
            interval = Interval(slopes[place], low[place], high[place], len(names))
            quantity = f"slope: {name}"
            yield _row(4, (pool, 0, outcome), "pvf_0.3", "holdout", quantity, interval)


def _solved(weights: NDArray, left: NDArray, right: NDArray) -> Array:
    """Return the least-squares slopes of weighted tables, the shortest where there are many."""
    sides = np.tensordot(weights, left, 1), np.tensordot(weights, right, 1)
    inverse = np.linalg.pinv(sides[0], rcond=1e-10, hermitian=True)
    return (inverse @ sides[1][:, :, None])[:, :, 0]


def _sigmas(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield what each σ, and σ chosen inside, loses against the σ that suits the table.

    The σ that suits is chosen on one half of a table's cohorts and judged on the other, and the
    other way round.
    """
    keys = ["table", *CELL]
    halves = [table[table["half"] == half].set_index(keys) for half in (0, 1)]
    both = halves[0].index.intersection(halves[1].index, sort=False)
    halves = [half.loc[both] for half in halves]
    shares = [half[list(FIXED)].to_numpy() for half in halves]
    rows = np.arange(len(both))
    known = ~(np.isnan(shares[0]).any(axis=1) | np.isnan(shares[1]).any(axis=1))
    chosen = [np.nan_to_num(part, nan=-np.inf).argmax(axis=1) for part in shares]
    suits = (shares[1][rows, chosen[0]] + shares[0][rows, chosen[1]]) / 2
    whole = pd.DataFrame(
        {name: (halves[0][name] + halves[1][name]) / 2 for name in (*FIXED, "pvf_nested", "sigma")}
    )
    whole = whole.assign(suits=suits, best=np.argmax((shares[0] + shares[1]) / 2, axis=1))[known]
    for cell, part in whole.groupby(CELL, sort=False):
        yield _row(5, cell, "pvf_nested", "", "σ chosen", t_interval(part["sigma"]))
        for place, name in enumerate(FIXED):
            yield _row(
                5, cell, name, "", "best in", _single((part["best"] == place).mean(), len(part))
            )
        for name in (*FIXED, "pvf_nested"):
            loss = t_interval(part["suits"] - part[name])
            yield _row(5, cell, name, "suits", "loss", loss)


def _reached(cells: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Cases that a hundred places reach, by each rule, and the mean difference to chance."""
    for cell, part in cells[~cells["outcome"].isin(list(OUTCOMES))].groupby(CELL, sort=False):
        for rule in (*RULES, *BESIDE, "best"):
            values = part[rule].dropna()
            if len(values):
                yield _row(6, cell, rule, "", "cases", t_interval(values))


def _wall(cells: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the best rule by validated cases, and its worth on tables that did not choose it.

    A share of the rule that is best on all tables would flatter it: so for each table the rule is
    chosen that is best on all others.
    """
    known = cells.dropna(subset=["random"])
    for band, (low, high) in BANDS.items():
        inside = known[known["cases"].between(low, high, inclusive="left")]
        for (pool, outcome), part in inside.groupby(["pool", "outcome"], sort=False):
            rules = [rule for rule in RULES if part[rule].notna().all()]
            values = part.groupby("table", sort=False)[rules].mean()
            if len(values) < 3:
                continue
            without = ((values.sum() - values) / (len(values) - 1)).to_numpy().argmax(axis=1)
            found = values.to_numpy()[np.arange(len(values)), without]
            best = str(values.mean().idxmax())
            same = (np.array(rules)[without] == best).mean()
            gain = t_interval(found - values["holdout"])
            keys = (7, (pool, 0, outcome), best)
            yield _row(*keys, "", "share", t_interval(found), group=band)
            yield _row(*keys, "holdout", "difference", gain, group=band)
            yield _row(*keys, "", "same rule", _single(same, len(values)), group=band)
