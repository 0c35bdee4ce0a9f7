"""Figures, tables and sentences of the study of rules; each sentence follows from the estimates."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pvf.rules import SIGMAS
from studies.data.keel import data_table
from studies.data.tables import DataUnavailableError
from studies.kit.dots import Frames, at, changed, dot_rows, lines, open_before
from studies.kit.show import finished, interval_text, panels, points
from studies.kit.study import Run
from studies.rules.pools import POOLS
from studies.rules.power import MARGIN
from studies.rules.questions import CELL, PRIMARY_CELL, answer, per_table, verdict, wall_lines
from studies.rules.run import BESIDE, OUTCOMES, PRIMARY, RULES, SIZES

WORDS = {**RULES, **BESIDE}
#: Outcomes of the smaller figures.
FEW = ("IE@0.1", "IE@0.3", "IE@0.5", "F1")
MAIN = FEW[0]
_ORDER = {key: place for place, key in enumerate((*POOLS, *WORDS, *OUTCOMES, *SIZES))}
LEVEL = 0.05
ANSWERS = {
    "better": "Perturbing the validation patients (PVF) chooses better models than the hold-out "
    "score",
    "worse": "Perturbing the validation patients (PVF) chooses worse models than the hold-out "
    "score: it does not help",
    "equivalent": "Perturbing the validation patients (PVF) and the hold-out score choose equally "
    "good models, within the smallest difference of interest: it does not help",
    "undecided": "Whether perturbing the validation patients (PVF) chooses better models than the "
    "hold-out score is undecided: a help is not shown",
}


# --- figures ------------------------------------------------------------------------------------


def _cells(rows: pd.DataFrame) -> pd.Series:
    return rows["pool"] + rows["size"].map(", {} people".format)


def cliques(ranks: Sequence[float], width: float) -> list[tuple[int, int]]:
    """Return first and last place of each largest group that lies within a critical difference.

    Examples
    --------
    >>> cliques([1.0, 1.5, 2.4, 5.0], 1.0)
    [(0, 1), (1, 2)]
    """
    found: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = max(place for place, other in enumerate(ranks) if other - rank <= width)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def figure_of_ranks(frames: Frames) -> Figure:
    """Draw critical-difference diagrams: mean ranks, and bars over rules not told apart."""
    rows = at(frames.whole, question=3, outcome=MAIN)
    cells = dict(iter(rows.groupby(_cells(rows), sort=False)))
    figure, axes = panels(
        len(cells),
        2,
        titles=list(cells),
        size=(4.2, 3.2),
        xlabel="mean rank over tables (1: best)",
        sharey=False,
    )
    for ax, part in zip(axes, cells.values(), strict=True):
        ranks = part[part["quantity"] == "rank"].sort_values("estimate", kind="stable")
        width = part.loc[part["quantity"] == "critical difference", "estimate"].item()
        values = ranks["estimate"].tolist()
        points(ax, ranks, range(len(ranks)), horizontal=True)
        for number, (first, last) in enumerate(cliques(values, width)):
            place = max(values) + 0.4 * (number + 1)
            ax.plot([place, place], [first - 0.2, last + 0.2], color="black", linewidth=2)
        ax.set_yticks(range(len(ranks)), [WORDS[name] for name in ranks["rule"]], fontsize=8)
        ax.invert_yaxis()
    return finished(figure)


def _figure_of_series(
    frames: Frames,
    *,
    query: str,
    keys: tuple[str, str, str],
    xlabel: str,
    margin: float = 0.0,
    alone: bool = False,
) -> Figure:
    """Draw panels, places down each panel, and series beside each other at each place.

    A smaller run stands before the full results as open marks, or these stand alone.
    """
    chosen = changed(
        Frames(frames.whole) if alone else frames,
        lambda rows: rows.assign(cell=_cells(rows)).query(query),
    )
    shown, places, names = (
        sorted(pd.unique(chosen.whole[key]), key=lambda one: _ORDER.get(one, 0)) for key in keys
    )
    panel, place, series = keys
    columns = {
        _said(one): {_said(name): {panel: one, series: name} for name in names} for one in shown
    }

    def placed(rows: pd.DataFrame) -> pd.DataFrame:
        rows = rows.sort_values(place, key=lambda of: of.map(places.index), kind="stable")
        return rows.assign(place=rows[place].map(_said))

    frames, styles = open_before(changed(chosen, placed))
    options: dict[str, Any] = {"n_columns": 2 if len(shown) in (2, 4) else 3, "width": 2.8}
    figure, axes = dot_rows(frames, ["place"], columns, xlabel, styles=styles, **options)
    for ax in axes:
        ax.axvline(0, color="grey", linewidth=0.8)
        ax.axvspan(-margin, margin, color="grey", alpha=0.15, linewidth=0)
    return finished(figure)


def _said(key: Any) -> str:
    """Return the reader's word for a rule, a fact, a size or what else stands in a figure."""
    known: dict[Any, str] = {
        **WORDS,
        "share": "full results",
        **{size: f"{size} people" for size in SIZES},
    }
    return known.get(key, _fact(str(key)))


def figure_of_power(estimates: pd.DataFrame) -> Figure:
    """Draw the smallest difference that 80% of simulated studies tell, over cohorts a table."""
    spreads = pd.unique(estimates["spread"])
    series = {
        f"spread between tables {one:g}": {"spread": one, "quantity": "detected"}
        for one in sorted(spreads)
    }
    how: dict[str, Any] = {"xlabel": "cohorts a table", "ylabel": "smallest difference told"}
    frames = Frames(estimates)
    figure, axes = lines(frames, "n_cohorts", {"": series}, line="-", size=(5.0, 3.2), **how)
    axes[0].axhline(MARGIN, color="grey", linestyle="--", linewidth=0.8)
    axes[0].set_ylim(bottom=0)
    return finished(figure, legend_columns=2)


#: Each figure of the chapter; of the outcomes most show the first.
FIGURES: dict[str, Callable[[Frames], Figure]] = {
    "fig-rules-primary": partial(
        _figure_of_series,
        query="question == 1 and quantity == 'difference' and group == 'all'",
        keys=("pool", "outcome", "size"),
        xlabel="PVF (σ = 0.3) less hold-out, attainable share",
        margin=MARGIN,
    ),
    "fig-rules-noise": partial(
        _figure_of_series,
        query="question == 2 and quantity == 'difference' and group == 'all' and "
        f"outcome == '{MAIN}'",
        keys=("pool", "versus", "size"),
        xlabel="PVF (σ chosen inside) less this rule, attainable share",
        margin=MARGIN,
        alone=True,
    ),
    "fig-rules-shares": partial(
        _figure_of_series,
        query=f"question == 3 and quantity == 'share' and outcome == '{MAIN}'",
        keys=("cell", "rule", "quantity"),
        xlabel=f"attainable share of {MAIN} (0: one at random, 1: the best)",
    ),
    "fig-rules-ranks": figure_of_ranks,
    "fig-rules-when": partial(
        _figure_of_series,
        query=f"question == 4 and outcome in {FEW}",
        keys=("outcome", "quantity", "pool"),
        xlabel="change of (PVF less hold-out) with one standard deviation of …",
    ),
    "fig-rules-sigma": partial(
        _figure_of_series,
        query=f"question == 5 and quantity == 'loss' and outcome in {FEW}",
        keys=("cell", "rule", "outcome"),
        xlabel="loss against the σ that suits the table, attainable share",
        alone=True,
    ),
}


# --- tables -------------------------------------------------------------------------------------


def _interval(row: Any) -> str:
    return interval_text(row.estimate, row.low, row.high)


def wall_table(estimates: pd.DataFrame, outcome: str = MAIN) -> pd.DataFrame:
    """Return the table for practitioners: by validated cases and pool, what to choose by.

    Parameters
    ----------
    estimates : DataFrame
        Of `studies.rules.questions.estimate`.
    outcome : str, default="IE@0.1"

    Returns
    -------
    DataFrame
        Of texts, one row a band of cases and a pool that at least three tables have.
    """
    return pd.DataFrame(
        [
            {
                "validated cases": cases,
                "pool": pool,
                "choose by": RULES[share["rule"]],
                "expect an attainable share of": _interval(share),
                "more than hold-out": _interval(lead),
                "same rule without one table": f"{same['estimate']:.0%} of {same['n']:.0f}",
            }
            for cases, pool, share, lead, same in wall_lines(estimates, outcome)
        ]
    )


def best_rules(estimates: pd.DataFrame) -> pd.DataFrame:
    """Return the best rule by mean share for each pool, size and outcome, and who is not worse.

    Not told apart are the rules whose Holm-corrected p-value is not below 0.05.
    """
    rows = estimates[estimates["question"] == 3]
    found = []
    for (pool, size, outcome), part in rows.groupby(["pool", "size", "outcome"], sort=False):
        share = part[(part["quantity"] == "share") & part["rule"].isin(list(RULES))]
        if share["estimate"].isna().all():
            continue
        best = share.loc[share["estimate"].idxmax()]
        p = part[(part["quantity"] == "p (Holm)") & (part["rule"] != best["rule"])]
        apart = int((p["estimate"] < LEVEL).sum())
        found.append(
            {
                "pool": pool,
                "people": size,
                "outcome": outcome,
                "best rule": RULES[best["rule"]],
                "attainable share": _interval(best),
                "not told apart": f"{len(p) - apart} of {len(p)} others",
            }
        )
    return pd.DataFrame(found)


def comparisons(
    estimates: pd.DataFrame, question: int, *, outcome: str | None = None, group: str = "all"
) -> pd.DataFrame:
    """Return a question's differences with Holm-corrected p-values and what they mean.

    Parameters
    ----------
    estimates : DataFrame
    question : int
        1 or 2.
    outcome : str, optional
        One outcome; all by default.
    group : {"all", "medical"}, default="all"
    """
    rows = estimates[(estimates["question"] == question) & (estimates["group"] == group)]
    if outcome is not None:
        rows = rows[rows["outcome"] == outcome]
    keys = ["pool", "size", "outcome", "versus"]
    p = rows[rows["quantity"] == "p (Holm)"].set_index(keys)["estimate"]
    found = []
    for row in rows[rows["quantity"] == "difference"].itertuples():
        cell = (row.pool, row.size, row.outcome)
        mine = float(p.loc[(*cell, row.versus)])
        is_primary = (question, group, cell) == (1, "all", PRIMARY_CELL)
        found.append(
            {
                "pool": row.pool,
                "people": row.size,
                "outcome": row.outcome,
                "compared with": RULES[str(row.versus)],
                "difference": interval_text(row.estimate, row.low, row.high, ".3f"),
                "tables": int(row.n),
                "p (Holm)": "–" if np.isnan(mine) else f"{mine:.3f}",
                "PVF is": (
                    f"{verdict(row.low, row.high)} (primary)"
                    if is_primary
                    else corrected(row.low, row.high, mine)
                ),
            }
        )
    return pd.DataFrame(found)


def corrected(low: float, high: float, p: float) -> str:
    """Say what a secondary difference means: better or worse only where its corrected p says so."""
    found = verdict(low, high)
    return "undecided" if found in ("better", "worse") and not p < LEVEL else found


def data_rows(committed: pd.DataFrame) -> pd.DataFrame:
    """Return the data page's table; where the archive is missing, what the results know of it."""
    try:
        return data_table()
    except DataUnavailableError:
        cells = per_table(committed).groupby("table", sort=False)
        return cells[["prevalence", "columns", "categorical"]].first()


# --- sentences ----------------------------------------------------------------------------------


def numbers(estimates: pd.DataFrame, power: pd.DataFrame, n_cohorts: int) -> dict[str, Any]:
    """Return what the page's text is glued from: the primary answer, and the power before it.

    Parameters
    ----------
    estimates : DataFrame
        Of the committed table.
    power : DataFrame
        Estimates of the power simulation.
    n_cohorts : int
        Cohorts a table for the primary question.
    """
    primary = answer(estimates)
    told = power[(power["quantity"] == "detected") & (power["n_cohorts"] == n_cohorts)]
    told = told.sort_values("spread")
    keys = [*CELL, "question", "versus", "quantity"]
    beside = estimates[estimates["group"] == "all"].set_index(keys).sort_index().loc[PRIMARY_CELL]
    bags = beside.loc[(2, "oob", "difference")]
    return {
        "answer": ANSWERS[primary["verdict"]],
        "verdict": primary["verdict"],
        "difference": interval_text(primary["estimate"], primary["low"], primary["high"], ".3f"),
        "tables": float(primary["n"]),
        "margin": MARGIN,
        "cohorts": float(n_cohorts),
        "told": float(told["estimate"].iloc[0]),
        "told_apart": float(told["estimate"].iloc[-1]),
        "spread": float(told["spread"].iloc[-1]),
        "ahead": float(beside.loc[(1, "holdout", "tables ahead"), "estimate"]),
        "median": float(beside.loc[(1, "holdout", "median"), "estimate"]),
        "bags": interval_text(bags["estimate"], bags["low"], bags["high"], ".3f"),
    }


def says(run: Run) -> str:
    """Say in Markdown what the page's own run shows."""
    if run.table is None or run.settings == run.study.settings.full():
        return run.says()
    here, there = (frame["table"].nunique() for frame in (run.table, run.committed))
    return (
        f"This page computes {here} of the {there} tables anew, with fewer cohorts and smaller "
        "pools. So small a run decides nothing; it stands in the figures as open marks before the "
        "committed results, from which all numbers in the text are taken."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)


def noise_in_words(estimates: pd.DataFrame) -> str:
    """Say for the primary pool, size and outcome whether the noise is needed."""
    table = comparisons(estimates, 2, outcome=MAIN)
    pool, size = PRIMARY
    table = table[(table["pool"] == pool) & (table["people"] == size)]
    phrases = {
        "better": "better than",
        "worse": "worse than",
        "equivalent": "equivalent to",
        "undecided": "not told apart from",
    }
    parts = []
    for outcome, words in phrases.items():
        names = table.loc[table["PVF is"] == outcome, "compared with"]
        if len(names):
            parts.append(f"{words} {_listed([f'*{name}*' for name in names])}")
    return (
        f"With {pool}, {size} people and {MAIN}, PVF with σ chosen inside is " + "; ".join(parts)
    ) + "."


def _fact(quantity: str) -> str:
    words = {
        "log2 cases": "validated cases (log)",
        "tied": "share of tied candidates",
        "log2 columns": "number of columns (log)",
        "categorical": "share of categories",
        "mean cell": "(mean difference)",
    }
    name = quantity.removeprefix("slope: ")
    return words.get(name, name)


def when_in_words(estimates: pd.DataFrame) -> str:
    """Say which facts of a table the difference goes with, in the primary pool and outcome."""
    pool = PRIMARY[0]
    rows = estimates[(estimates["question"] == 4) & (estimates["pool"] == pool)]
    rows = rows[(rows["outcome"] == MAIN) & (rows["quantity"] != "slope: mean cell")]
    if rows.empty:
        return "There are too few tables for this question."
    grows = [_fact(name) for name in rows.loc[rows["low"] > 0, "quantity"]]
    falls = [_fact(name) for name in rows.loc[rows["high"] < 0, "quantity"]]
    parts = [f"grows with {_listed(grows)}"] if grows else []
    parts += [f"falls with {_listed(falls)}"] if falls else []
    if not parts:
        return (
            f"With {pool} and {MAIN}, the interval of none of {len(rows)} facts leaves 0 out: "
            "these tables don't say when PVF helps more."
        )
    rest = len(rows) - len(grows) - len(falls)
    return (
        f"With {pool} and {MAIN}, PVF's lead over the hold-out {' and '.join(parts)}; the other "
        f"{rest} of {len(rows)} intervals hold 0. These intervals are not corrected for their "
        "number."
    )


def sigmas_in_words(estimates: pd.DataFrame) -> str:
    """Say which σ suited most tables, and what the others lose, in the primary cell."""
    pool, size = PRIMARY
    rows = at(estimates, question=5, outcome=MAIN, pool=pool, size=size)
    best = rows[rows["quantity"] == "best in"].set_index("rule")["estimate"]
    loss = rows[rows["quantity"] == "loss"].set_index("rule")
    top = str(best.idxmax())
    thumb = f"pvf_{max(SIGMAS):g}"
    texts = {name: _interval(loss.loc[name]) for name in ("pvf_nested", thumb)}
    return (
        f"With {pool}, {size} people and {MAIN}, {RULES[top]} is the best of {len(best)} in "
        f"{best[top]:.0%} of the tables. Against the σ that suits a table, chosen on one half of "
        f"its cohorts and judged on the other, {RULES['pvf_nested']} loses {texts['pvf_nested']} "
        f"of the attainable share, and a fixed {RULES[thumb]} loses {texts[thumb]}."
    )


def deviations() -> str:
    """List in Markdown every change to the protocol, and every choice that its words left."""
    text = files("studies.rules").joinpath("deviations.toml").read_text(encoding="utf-8")
    found = tomllib.loads(text)
    lines = []
    for kind, title in (("change", "Changed"), ("choice", "Left open by the protocol, and chosen")):
        lines += [f"**{title}**", ""]
        lines += [f"- {one['date']}: {one['what']} *{one['why']}*" for one in found.get(kind, [])]
        lines.append("")
    return "\n".join(lines)
