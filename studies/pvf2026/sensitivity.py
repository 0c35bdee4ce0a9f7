"""How PVF's lead depends on σ: the sensitivity analysis of Appendix E, judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from studies.kit.claims import claims, judge
from studies.kit.show import interval_text


def leads(runs: pd.DataFrame, metric: str, *, tie_break: str = "shared") -> pd.DataFrame:
    """Return the lead of each repetition at each σ, in percent of splits.

    Parameters
    ----------
    runs : DataFrame
        From `clinical.by_repetition`.
    metric : str
    tie_break : str, default="shared"

    Returns
    -------
    DataFrame of shape (n_repetitions, n_sigmas)
        Columns are σ in increasing order.
    """
    part = runs[(runs["metric"] == metric) & (runs["tie_break"] == tie_break)]
    part = part.assign(lead=100 * (part["win"] - part["loss"]))
    return part.pivot_table(index="repetition", columns="sigma", values="lead").sort_index(axis=1)


def near_best(table: pd.DataFrame, *, level: float = 0.95) -> list[float]:
    """Return all σ whose mean lead is not clearly below the largest.

    The differences are taken within repetitions, with t intervals at the level that Bonferroni's
    correction gives for the number of comparisons.

    Parameters
    ----------
    table : DataFrame of shape (n_repetitions, n_sigmas)
        From `leads`, with at least two repetitions.
    level : float, default=0.95

    Returns
    -------
    list of float

    Examples
    --------
    >>> near_best(pd.DataFrame({0.1: [0.0, 1.0, 0.0], 0.2: [50.0, 52.0, 51.0]}))
    [0.2]
    """
    n_runs, n_sigmas = table.shape
    best = table.mean().idxmax()
    below = table.rsub(table[best], axis=0)
    quantile = stats.t.ppf(1 - (1 - level) / max(n_sigmas - 1, 1), n_runs - 1)
    clear = below.mean() - quantile * below.sem() > 0
    return [float(sigma) for sigma in table.columns if sigma == best or not clear[sigma]]


def parts_table(*ids: str) -> pd.DataFrame:
    """Return the parts of claims with their outcomes, as the committed results decide them."""
    rows = [
        {
            "claim": claim,
            "part": part.says,
            "ours": interval_text(part.estimate, part.low, part.high, ".0f"),
            "outcome": part.outcome,
        }
        for claim in ids
        for part in getattr(judge(claim), "parts", ())
    ]
    return pd.DataFrame(rows)


def cost(provenances: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Set the paper's run time beside ours, for the experiment as the paper ran it: once.

    Parameters
    ----------
    provenances : mapping of str to mapping
        Data set to the provenance of its full results, from `studies.kit.results.read_result`.

    Returns
    -------
    DataFrame
        One row for each data set, their sum and the paper: ``minutes``, ``cores``,
        ``core-minutes``. A repetition's time is the mean over the full run.
    """
    rows = {
        name: (
            facts["wall_time"] / 60 / facts["settings"]["n_repetitions"],
            facts["machine"]["cores"],
        )
        for name, facts in provenances.items()
    }
    minutes = [value for value, _ in rows.values()]
    rows["both"] = (float(np.sum(minutes)), max(cores for _, cores in rows.values()))
    paper = claims()["REAL-1"]["numbers"]
    rows["the paper, both"] = (paper["minutes"], paper["cores"])
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["minutes", "cores"])
    return table.assign(**{"core-minutes": table["minutes"] * table["cores"]})
