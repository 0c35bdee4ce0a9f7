"""How PVF's lead depends on σ: the sensitivity analysis of Appendix E, judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from studies.kit.claims import Finding, claims, judge, verdict
from studies.kit.show import interval_text
from studies.pvf2026.synthetic.show import (
    PAPER_METRICS,
    TIE_LABELS,
    differences,
    finding_by_rules,
    group_means,
)

__all__ = [
    "cost",
    "decide_curves",
    "leads",
    "near_best",
    "parts_table",
    "synthetic_verdicts",
]


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


def synthetic_verdicts(means: pd.DataFrame, tie_break: str) -> pd.DataFrame:
    """Judge SEN-1 to SEN-6 under one tie rule.

    Each claim has parts about the mean lead of a separability group over σ. "Positive" means that
    the 95% interval lies above zero.

    Parameters
    ----------
    means : DataFrame
        From `synthetic_report.group_means`.
    tie_break : {"first", "last", "even"}

    Returns
    -------
    DataFrame
        Indexed by claim: ``ours``, the parts that hold and the range of leads at the largest σ, as
        text; ``number``, the mean of these leads over metrics; ``low`` and ``high``, the lowest
        and the highest limit of their intervals; and ``verdict``: "reproduced" if all parts hold,
        "direction only" if some do, else "not reproduced".
    """
    rows = {claim: _judged_curves(means, claim, tie_break) for claim in _CURVES}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("claim")


def _judged_curves(means: pd.DataFrame, claim: str, tie_break: str) -> dict[str, Any]:
    """Return one row of `synthetic_verdicts`."""
    n_samples, group = _CURVES[claim]
    part = means[(means["n_samples"] == n_samples) & (means["group"] == group)]
    part = part[(part["tie_break"] == tie_break) & part["metric"].isin(PAPER_METRICS)]
    lead, low, high = (
        part.pivot_table(index="metric", columns="sigma", values=column)
        for column in ("difference", "low", "high")
    )
    holds, at_large = _parts_of_curves(claim, lead, low), lead[_LARGEST]
    return {
        "ours": (
            f"{sum(holds)} of {len(holds)} parts hold, {at_large.min():+.0f} to "
            f"{at_large.max():+.0f} of 5,000 at σ = {_LARGEST:g}"
        ),
        "number": at_large.mean(),
        "low": low[_LARGEST].min(),
        "high": high[_LARGEST].max(),
        "verdict": verdict(reproduced=all(holds), direction=any(holds)),
    }


#: People and separability group of each claim on the synthetic curves.
_CURVES = {
    "SEN-1": (50, "low"),
    "SEN-2": (50, "moderate"),
    "SEN-3": (50, "high"),
    "SEN-4": (100, "low"),
    "SEN-5": (100, "moderate"),
    "SEN-6": (100, "high"),
}
_SMALL, _LARGEST = [1e-6, 1e-5, 1e-4, 1e-3], 1e-1


def _parts_of_curves(claim: str, lead: pd.DataFrame, low: pd.DataFrame) -> list[bool]:
    """Tell which parts of a claim hold, from leads and their lower limits: metrics × σ."""
    positive = bool((low[_SMALL] > 0).all(axis=None))
    rises = bool((lead[_LARGEST] > lead[_SMALL].max(axis=1)).all())
    dips = rises and bool((lead[[1e-3, 1e-2]].min(axis=1) < lead[1e-6]).all())
    parts = {
        "SEN-1": [
            positive,
            bool((lead[1e-2] < lead[1e-3]).all()),
            bool(lead.loc["F1/accuracy", _LARGEST] < 0),
        ],
        "SEN-2": [positive, dips],
        "SEN-3": [rises],
        "SEN-4": [positive, bool((lead[_LARGEST] < 0).all())],
        "SEN-5": [dips, bool((lead.loc[["IE@0.7", "IE@0.9"]] < 0).all(axis=None))],
        "SEN-6": [rises],
    }
    return parts[claim]


def decide_curves(claim: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> Finding:
    """Judge one of SEN-1 to SEN-6 from the full sweep.

    Parameters
    ----------
    claim : mapping
        The ledger's entry.
    tables : mapping of str to DataFrame
        With ``synthetic_sweep``.

    Returns
    -------
    Finding
        The verdict and numbers where ties are split evenly; the sentence has the other tie rules.
    """
    means = group_means(differences(tables["synthetic_sweep"]))
    found = {rule: _judged_curves(means, claim["id"], rule) for rule in TIE_LABELS}
    return finding_by_rules(found)
