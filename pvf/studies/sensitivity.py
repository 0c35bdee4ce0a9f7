"""How PVF's lead depends on σ: the sensitivity analysis of Appendix E, judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from pvf.claims import claims
from pvf.studies import clinical
from pvf.studies.synthetic_report import PAPER_METRICS, TIE_LABELS

__all__ = ["cost", "leads", "near_best", "parts_of_real_claims", "real_verdicts"]

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


def real_verdicts(parts: pd.DataFrame) -> pd.DataFrame:
    """Return one verdict a claim.

    A claim is "reproduced" if all its parts hold, "direction only" if its main part does, else
    "not reproduced". The cost, REAL-1, is "untestable": it needs the authors' machine.

    Parameters
    ----------
    parts : DataFrame
        From `parts_of_real_claims`.

    Returns
    -------
    DataFrame
        Indexed by claim: ``statement``, ``place``, ``parts that hold`` and ``verdict``.
    """
    rows = {}
    for claim_id, part in parts.groupby("claim", sort=False):
        claim = claims()[str(claim_id)]
        holds = part["holds"].astype(bool)
        main = bool((holds & part["main"].astype(bool)).any())
        verdict = "reproduced" if holds.all() else "direction only" if main else "not reproduced"
        rows[claim_id] = {
            "statement": claim["statement"],
            "place": claim["place"],
            "parts that hold": f"{holds.sum()} of {len(holds)}",
            "verdict": verdict,
        }
    cost_claim = claims()["REAL-1"]
    rows["REAL-1"] = {
        "statement": cost_claim["statement"],
        "place": cost_claim["place"],
        "parts that hold": "–",
        "verdict": "untestable",
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("claim")


def cost(provenances: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Set the paper's run time beside ours, for the experiment as the paper ran it: once.

    Parameters
    ----------
    provenances : mapping of str to mapping
        Data set to the provenance of its full results, from `pvf.store.read_result`.

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

    Each claim has parts about the mean lead of a separability group over σ. A lead is *clear* if
    its 95% interval does not hold zero; "level" means that the intervals of all σ up to 1e-3
    overlap.

    Parameters
    ----------
    means : DataFrame
        From `synthetic_report.group_means`.
    tie_break : {"first", "last", "even"}

    Returns
    -------
    DataFrame
        One row a claim: ``claim``, ``statement``, ``parts that hold`` and ``verdict``:
        "reproduced" if all parts hold, "direction only" if some do, else "not reproduced".
    """
    table = means[(means["tie_break"] == tie_break) & means["metric"].isin(PAPER_METRICS)]
    table = table.set_index(["n_samples", "group", "metric", "sigma"]).sort_index()
    small, large = [1e-6, 1e-5, 1e-4, 1e-3], 1e-1

    def values(n_samples: int, group: str, column: str = "difference") -> pd.DataFrame:
        part = table.loc[(n_samples, group), column]
        return part.reset_index().pivot_table(index="metric", columns="sigma", values=column)

    def positive_at_small(n_samples: int, group: str) -> bool:
        return bool((values(n_samples, group, "low")[small] > 0).all(axis=None))

    def rises(n_samples: int, group: str) -> bool:
        lead = values(n_samples, group)
        return bool((lead[large] > lead[small].max(axis=1)).all())

    def dips(n_samples: int, group: str) -> bool:
        lead = values(n_samples, group)
        return bool((lead[[1e-3, 1e-2]].min(axis=1) < lead[1e-6]).all() and rises(n_samples, group))

    late = ["IE@0.7", "IE@0.9"]
    low50, low100, moderate100 = (
        values(*key) for key in ((50, "low"), (100, "low"), (100, "moderate"))
    )
    parts: dict[str, list[bool]] = {
        "SEN-1": [
            positive_at_small(50, "low"),
            bool((low50[1e-2] < low50[1e-3]).all()),
            bool(low50.loc["F1/accuracy", large] < 0),
        ],
        "SEN-2": [positive_at_small(50, "moderate"), dips(50, "moderate")],
        "SEN-3": [rises(50, "high")],
        "SEN-4": [positive_at_small(100, "low"), bool((low100[large] < 0).all())],
        "SEN-5": [
            dips(100, "moderate"),
            bool((moderate100.loc[late] < 0).all(axis=None)),
        ],
        "SEN-6": [rises(100, "high")],
    }
    rows = []
    for claim, holds in parts.items():
        verdict = "direction only" if any(holds) else "not reproduced"
        rows.append(
            {
                "claim": claim,
                "statement": claims()[claim]["statement"],
                "parts that hold": f"{sum(holds)} of {len(holds)}",
                "verdict": "reproduced" if all(holds) else verdict,
            }
        )
    return pd.DataFrame(rows)


def readable_synthetic_verdicts(means: pd.DataFrame) -> pd.DataFrame:
    """Return `synthetic_verdicts` under the three tie rules side by side, one row a claim.

    Parameters
    ----------
    means : DataFrame
        From `synthetic_report.group_means`.

    Returns
    -------
    DataFrame
    """
    columns: dict[str, pd.Series] = {}
    for rule, label in TIE_LABELS.items():
        part = synthetic_verdicts(means, rule).set_index("claim")
        columns["statement"] = part["statement"]
        columns[label] = part["verdict"] + " (" + part["parts that hold"] + " parts)"
    return pd.DataFrame(columns)
