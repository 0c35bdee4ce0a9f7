"""How PVF's lead depends on σ: the sensitivity analysis of Appendix E, judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from studies.kit.claims import Finding, claims, verdict
from studies.pvf2026.clinical import run as clinical
from studies.pvf2026.synthetic.show import (
    PAPER_METRICS,
    TIE_LABELS,
    differences,
    finding_by_rules,
    group_means,
)

__all__ = [
    "cost",
    "decide",
    "decide_cost",
    "decide_curves",
    "leads",
    "near_best",
    "parts_of_real_claims",
    "synthetic_verdicts",
]

_LARGE = ("IE@0.3", "IE@0.5", "IE@0.7", "IE@0.9")


def leads(runs: pd.DataFrame, metric: str, *, tie_break: str = "first") -> pd.DataFrame:
    """Return the lead of each repetition at each σ, in percent of splits.

    Parameters
    ----------
    runs : DataFrame
        From `clinical.by_repetition`.
    metric : str
    tie_break : str, default="first"

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


def _interval(values: pd.Series) -> tuple[float, float, float]:
    """Return mean, low and high of the 95% t interval over repetitions."""
    mean, reach = values.mean(), stats.t.ppf(0.975, len(values) - 1) * values.sem()
    return mean, mean - reach, mean + reach


def _in_words(interval: tuple[float, float, float]) -> str:
    return "{:.0f} ({:.0f} to {:.0f})".format(*interval)


def _peak(
    runs: pd.DataFrame, metrics: Sequence[str], places: Sequence[float], level: float
) -> tuple[str, bool]:
    """Say which σ are near-best for each metric, and whether the paper's are among them.

    A peak that is not clear of zero is none.
    """
    said, holds = [], True
    for metric in metrics:
        table = leads(runs, metric)
        near, best = near_best(table, level=level), table.mean().idxmax()
        top = _interval(table[best])
        listed = ", ".join(f"{sigma:g}" for sigma in near)
        said.append(f"{metric}: {_in_words(top)}% at {best:g}; not clearly worse: {listed}")
        holds = holds and bool(set(near) & set(places)) and top[1] > 0
    return "; ".join(said), holds


def _positive(runs: pd.DataFrame, metrics: Sequence[str], sigma: float) -> tuple[str, bool]:
    """Say each metric's lead at one σ, and whether all are clear of zero."""
    found = {metric: _interval(leads(runs, metric)[sigma]) for metric in metrics}
    said = "; ".join(f"{metric}: {_in_words(interval)}%" for metric, interval in found.items())
    return said, all(low > 0 for _, low, _ in found.values())


def parts_of_real_claims(
    cervical: pd.DataFrame, breast: pd.DataFrame, *, level: float = 0.95
) -> pd.DataFrame:
    """Judge each part of the claims on the clinical data.

    Parameters
    ----------
    cervical, breast : DataFrame
        The full results, from `clinical.by_repetition`.
    level : float, default=0.95
        Of the comparisons between noise levels, see `near_best`.

    Returns
    -------
    DataFrame
        One row a part: ``claim``, ``part``, ``ours``, ``holds``, and ``main``: whether the claim's
        direction stands or falls with it.
    """
    rows: list[dict[str, Any]] = []

    def add(claim: str, part: str, found: tuple[str, bool], *, main: bool = False) -> None:
        rows.append(
            {"claim": claim, "part": part, "ours": found[0], "holds": found[1], "main": main}
        )

    smallest = leads(cervical, "IE@0.1")
    each = {sigma: _interval(smallest[sigma]) for sigma in smallest}
    clear = [sigma for sigma, (_, low, _) in each.items() if low > 0]
    add(
        "SEN-7",
        "γ = 0.1: positive at every σ",
        (f"clear of zero at {len(clear)} of {len(each)} σ", len(clear) == len(each)),
    )
    add("SEN-7", "γ = 0.1: best at σ = 1e-2", _peak(cervical, ["IE@0.1"], [0.01], level), main=True)
    gains = [
        f"{metric} at {sigma:g}"
        for metric in _LARGE
        for sigma, column in leads(cervical, metric).items()
        if float(str(sigma)) >= 0.1 and _interval(column)[1] > 0
    ]
    said = f"clear gain: {', '.join(gains)}" if gains else "no clear gain"
    add("SEN-7", "γ ≥ 0.3: no gain, or a loss, for σ ≥ 0.1", (said, not gains))

    small = breast[(breast["sigma"] <= 1e-4) & (breast["tie_break"] == "first")]
    ties = 100 * small.groupby(["metric", "sigma"])["tie"].mean()
    said = f"ties: {ties.min():.1f}% of splits or more"
    add("SEN-8", "ties for σ ≤ 1e-4", (said, bool(ties.min() >= 95)))
    add(
        "SEN-8",
        "γ = 0.1, 0.3 and F1: best at σ = 0.3 to 0.4",
        _peak(breast, ["IE@0.1", "IE@0.3", "F1"], [0.3, 0.4], level),
        main=True,
    )
    add("SEN-8", "γ ≥ 0.5: best at σ = 1e-2", _peak(breast, _LARGE[1:], [0.01], level))

    for name, runs in (("cervical", cervical), ("breast", breast)):
        found = _positive(runs, clinical.METRICS, 0.01)
        add("SEN-9", f"{name}: a lead at σ = 1e-2 by every metric", found)
    return pd.DataFrame(rows)


def decide(claim: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> Finding:
    """Judge one of SEN-7 to SEN-9 from the full clinical results.

    Parameters
    ----------
    claim : mapping
        The ledger's entry, with the ``metric`` and the ``sigma`` of its main number.
    tables : mapping of str to DataFrame
        With ``cervical_cancer`` and ``breast_cancer``.

    Returns
    -------
    Finding
        "reproduced" if all the claim's parts hold, "direction only" if its main part does, else
        "not reproduced". Its number is the mean lead in percent at that σ by that metric.
    """
    parts = parts_of_real_claims(tables["cervical_cancer"], tables["breast_cancer"])
    part = parts[parts["claim"] == claim["id"]]
    holds = part["holds"].astype(bool)
    kind = verdict(
        reproduced=bool(holds.all()), direction=bool((holds & part["main"].astype(bool)).any())
    )
    listed = ". ".join(
        f"{row.part}: {'holds' if row.holds else 'does not hold'} ({row.ours})"
        for row in part.itertuples()
    )
    says = f"{holds.sum()} of {len(holds)} parts hold. {listed}"
    lead = leads(tables[claim["dataset"].replace("-", "_")], claim["metric"])[claim["sigma"]]
    return Finding(kind, says, *map(float, _interval(lead)))


def decide_cost(claim: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> Finding:
    """Say what REAL-1 would need, and what the experiments cost here.

    Parameters
    ----------
    claim : mapping
        The ledger's entry.
    tables : mapping of str to DataFrame
        Full results whose provenance holds their times.

    Returns
    -------
    Finding
        "untestable".
    """
    del claim
    table = cost({name: frame.attrs["provenance"] for name, frame in tables.items()})
    both = table.loc["both"]
    says = (
        "Needs the authors' machine and code. Here one run of both experiments takes "
        f"{both['minutes']:.1f} minutes on {both['cores']:.0f} cores"
    )
    return Finding("untestable", says, float(both["minutes"]))


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
