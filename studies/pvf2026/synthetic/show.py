"""Tables, figures and verdicts of the synthetic experiments, from the counts of the sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from pvf import plotting
from studies.kit.claims import Finding, claims
from studies.kit.claims import verdict as judge
from studies.pvf2026.synthetic.run import METRICS, SIGMAS

__all__ = [
    "GROUPS",
    "PAPER_METRICS",
    "TIE_LABELS",
    "agreement",
    "best_sigma",
    "cost_per_data_set",
    "decide",
    "decide_cost",
    "decide_metric_choice",
    "differences",
    "figure_of_best_sigma",
    "figure_of_sensitivity",
    "figure_of_shares",
    "finding_by_rules",
    "group_means",
    "halves",
    "metric_choice",
    "positive_shares",
    "scale_to_paper",
    "verdicts",
    "with_groups",
]

#: The paper's groups of separability μ (Appendix C.2), by their largest μ.
GROUPS = {"low": 0.9, "moderate": 1.9, "high": 2.9}

#: The metrics that the paper's figures show.
PAPER_METRICS = METRICS[:6]

#: What each tie rule means for the true pair.
TIE_LABELS = {
    "first": "ties to the true pair",
    "even": "ties split evenly",
    "last": "ties against the true pair",
}
_KEYS = ["n_samples", "mu", "sigma", "metric", "tie_break"]


def differences(table: pd.DataFrame) -> pd.DataFrame:
    """Return how many more times PVF chose the true pair, one row a configuration.

    Parameters
    ----------
    table : DataFrame
        From `studies.pvf2026.synthetic.run.run_sweep`.

    Returns
    -------
    DataFrame
        ``n_samples, mu, group, sigma, metric, tie_break, n_repetitions``; ``difference``, the
        paper's d_h; ``variance`` of it, from the paired cells; ``p_value`` of McNemar's test
        (normal, two-sided) and ``p_corrected`` after Holm over the paper's configurations and
        metrics under the same tie rule; ``tied``: how many candidates share the best traditional
        score on average.

    References
    ----------
    Zhang, Tran and Weng (2026), Appendix C.1.

    Examples
    --------
    >>> from studies.pvf2026.synthetic.run import run_sweep
    >>> table = run_sweep(n_samples=[50], mus=[2.9], sigmas=[0.1], n_repetitions=100)
    >>> rows = differences(table)
    >>> rows.query("metric == 'F1' and tie_break == 'last'")["difference"].item() > 0
    True
    """
    pvf = table[table["method"] == "pvf"].set_index(_KEYS)
    other = table[table["method"] == "traditional"].set_index(_KEYS).loc[pvf.index]
    discordant = pvf["pvf_only"] + pvf["traditional_only"]
    difference = pvf["n_selected"] - other["n_selected"]
    variance = discordant - difference**2 / pvf["n_repetitions"]
    rows = pd.DataFrame(
        {
            "n_repetitions": pvf["n_repetitions"],
            "difference": difference,
            "variance": variance.clip(lower=0),
            "tied": other["mean_tied"],
        }
    ).reset_index()
    root = np.sqrt(discordant.to_numpy())
    z = np.divide(difference.to_numpy(), root, out=np.zeros(len(rows)), where=root > 0)
    rows["p_value"] = 2 * stats.norm.sf(np.abs(z))
    shown = rows["metric"].isin(PAPER_METRICS)
    rows["p_corrected"] = rows[shown].groupby("tie_break")["p_value"].transform(_holm)
    return with_groups(rows)


def with_groups(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the separability group of each μ as a column ``group``.

    Parameters
    ----------
    table : DataFrame
        With a column ``mu``.

    Returns
    -------
    DataFrame
    """
    edges = [0.0, *GROUPS.values()]
    return table.assign(group=pd.cut(table["mu"], edges, labels=list(GROUPS)).astype(str))


def _holm(p_values: pd.Series) -> pd.Series:
    """Return p-values corrected by Holm's step-down procedure."""
    order = np.argsort(p_values.to_numpy(), kind="stable")
    steps = np.arange(len(order), 0, -1)
    corrected = np.empty(len(order))
    corrected[order] = np.maximum.accumulate(np.minimum(p_values.to_numpy()[order] * steps, 1))
    return pd.Series(corrected, index=p_values.index)


def group_means(rows: pd.DataFrame, *, confidence_level: float = 0.95) -> pd.DataFrame:
    """Return mean differences over each separability group, with normal intervals.

    Parameters
    ----------
    rows : DataFrame
        From `differences`.
    confidence_level : float, default=0.95

    Returns
    -------
    DataFrame
        ``n_samples, group, sigma, metric, tie_break, difference, low, high, n_repetitions``.
    """
    keys = ["n_samples", "group", "sigma", "metric", "tie_break"]
    parts = rows.groupby(keys, sort=False)
    mean = parts["difference"].mean()
    error = np.sqrt(parts["variance"].sum()) / parts.size()
    reach = stats.norm.ppf((1 + confidence_level) / 2) * error
    return pd.DataFrame(
        {
            "difference": mean,
            "low": mean - reach,
            "high": mean + reach,
            "n_repetitions": parts["n_repetitions"].first(),
        }
    ).reset_index()


def scale_to_paper(means: pd.DataFrame, n_repetitions: int = 5000) -> pd.DataFrame:
    """Return differences and their limits per as many repetitions as the paper made.

    Parameters
    ----------
    means : DataFrame
        With ``difference``, ``low``, ``high`` and ``n_repetitions``.
    n_repetitions : int, default=5000

    Returns
    -------
    DataFrame
    """
    factor = n_repetitions / means["n_repetitions"]
    scaled = {column: means[column] * factor for column in ("difference", "low", "high")}
    return means.assign(**scaled, n_repetitions=n_repetitions)


def agreement(live: pd.DataFrame, full: pd.DataFrame) -> pd.Series:
    """Say for each group mean of a run whether the full result lies in its interval.

    Parameters
    ----------
    live : DataFrame
        From `group_means`, not scaled.
    full : DataFrame
        From `group_means`, of the full results.

    Returns
    -------
    Series of bool
        A mean without any discordant pair has no width; it agrees if the full one is below one
        choice in its repetitions.
    """
    keys = ["n_samples", "group", "sigma", "metric", "tie_break"]
    both = live.merge(full, on=keys, suffixes=("", "_full"))
    expected = both["difference_full"] * both["n_repetitions"] / both["n_repetitions_full"]
    slack = 1.0 / 5 + 1e-9  # one choice in one of a group's five configurations
    return expected.between(both["low"] - slack, both["high"] + slack)


def cost_per_data_set() -> dict[str, float]:
    """Return the paper's seconds a data set, as printed and with the configurations of one size.

    Returns
    -------
    dict
        ``printed`` and ``corrected``, in seconds of one core (SYN-10).

    Examples
    --------
    >>> {name: round(value, 2) for name, value in cost_per_data_set().items()}
    {'printed': 1.2, 'corrected': 2.41}
    """
    numbers = claims()["SYN-10"]["numbers"]
    core_seconds = numbers["minutes_50"] * 60 * numbers["cores"]
    return {"printed": core_seconds / (5000 * 180), "corrected": core_seconds / (5000 * 90)}


def halves(first: pd.DataFrame, whole: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split a sweep's counts into those of its first repetitions and of the others.

    Parameters
    ----------
    first : DataFrame
        `run_sweep` with fewer repetitions, which are the first of the whole.
    whole : DataFrame
        `run_sweep` with the same settings and more repetitions.

    Returns
    -------
    first, others : DataFrame
        In the form of `run_sweep`'s result; ``mean_tied`` is that of the whole in both.
    """
    keys = [*_KEYS, "method"]
    counts = ["n_selected", "both", "pvf_only", "traditional_only", "neither", "n_repetitions"]
    a, b = first.set_index(keys), whole.set_index(keys)
    others = (b[counts] - a.loc[b.index, counts]).assign(mean_tied=b["mean_tied"])
    return first, others.reset_index()


def positive_shares(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the share of configurations in which PVF leads, the paper's Figure 3.

    Parameters
    ----------
    rows : DataFrame
        From `differences`.

    Returns
    -------
    DataFrame
        One row a tie rule and metric: ``positive``, ``negative`` and ``equal`` shares of the
        configurations; ``significant``: PVF leads at the corrected 5% level; and ``reversed``: it
        trails at that level.
    """
    shown = rows[rows["metric"].isin(PAPER_METRICS)]
    sign = np.sign(shown["difference"].round(9))
    clear = shown["p_corrected"] < 0.05
    flags = shown[["tie_break", "metric"]].assign(
        positive=sign > 0,
        negative=sign < 0,
        equal=sign == 0,
        significant=clear & (sign > 0),
        reversed=clear & (sign < 0),
    )
    return flags.groupby(["tie_break", "metric"], sort=False).mean().reset_index()


def best_sigma(choose: pd.DataFrame, report: pd.DataFrame) -> pd.DataFrame:
    """Return group means at the σ with the largest mean difference.

    Parameters
    ----------
    choose, report : DataFrame
        From `group_means`: σ is chosen on the first and reported on the second. The paper chooses
        and reports on the same repetitions.

    Returns
    -------
    DataFrame
        Rows of ``report``, one for each size, group, metric and tie rule.
    """
    keys = ["n_samples", "group", "metric", "tie_break"]
    best = choose.loc[choose.groupby(keys, sort=False)["difference"].idxmax(), [*keys, "sigma"]]
    return best.merge(report, on=[*keys, "sigma"])


@plotting.style()
def figure_of_shares(shares: pd.DataFrame) -> Figure:
    """Draw the share of configurations in which PVF leads, as in the paper's Figure 3.

    Parameters
    ----------
    shares : DataFrame
        From `positive_shares`.

    Returns
    -------
    matplotlib Figure
    """
    figure, ax = plt.subplots(figsize=(6.8, 3.8))
    places = np.arange(len(PAPER_METRICS))
    for position, (rule, label) in enumerate(TIE_LABELS.items()):
        part = shares[shares["tie_break"] == rule].set_index("metric").loc[list(PAPER_METRICS)]
        x, colour = places + 0.27 * (position - 1), plotting.PALETTE[position]
        ax.bar(x, part["positive"] * 100, 0.25, color=colour, alpha=0.35, label=label)
        ax.bar(x, part["significant"] * 100, 0.25, color=colour)
    ax.axhline(50, color="0.35", linewidth=0.8, linestyle=":")
    ax.set_xticks(places, PAPER_METRICS)
    ax.set(ylim=(0, 100), ylabel="configurations in which PVF leads (%)", xlabel="metric")
    figure.legend(loc="outside upper center", ncols=3)
    plt.close(figure)
    return figure


@plotting.style()
def figure_of_best_sigma(best: pd.DataFrame, n_samples: int) -> Figure:
    """Draw mean differences at the best σ, one panel a separability group (Figures 6 to 11).

    Parameters
    ----------
    best : DataFrame
        From `best_sigma`, scaled by `scale_to_paper`.
    n_samples : int

    Returns
    -------
    matplotlib Figure
    """
    figure, panels = plt.subplots(1, 3, figsize=(8.2, 3.8), sharey=True)
    for group, ax in zip(GROUPS, panels, strict=True):
        for position, (rule, label) in enumerate(TIE_LABELS.items()):
            chosen = best[(best["group"] == group) & (best["n_samples"] == n_samples)]
            part = chosen[chosen["tie_break"] == rule].set_index("metric").loc[list(PAPER_METRICS)]
            ax.errorbar(
                np.arange(len(part)) + 0.2 * (position - 1),
                part["difference"],
                yerr=[part["difference"] - part["low"], part["high"] - part["difference"]],
                fmt="osD"[position],
                markersize=4,
                label=label,
            )
        ax.axhline(0, color="0.35", linewidth=0.8)
        ax.set_xticks(range(len(PAPER_METRICS)), PAPER_METRICS, rotation=90)
        ax.set_title(f"{group} separability")
    panels[0].set_ylabel("PVF less traditional\n(choices of 5,000)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    plt.close(figure)
    return figure


@plotting.style()
def figure_of_sensitivity(means: pd.DataFrame, n_samples: int, tie_break: str) -> Figure:
    """Draw mean differences over σ, one panel a separability group (Figures 12 to 17).

    Parameters
    ----------
    means : DataFrame
        From `group_means`, scaled by `scale_to_paper`.
    n_samples : int
    tie_break : {"first", "last", "even"}

    Returns
    -------
    matplotlib Figure
    """
    figure, panels = plt.subplots(1, 3, figsize=(8.2, 3.6), sharey=True)
    for group, ax in zip(GROUPS, panels, strict=True):
        for metric, marker in zip(PAPER_METRICS, "osD^vx", strict=True):
            chosen = (means["group"] == group) & (means["n_samples"] == n_samples)
            chosen &= (means["metric"] == metric) & (means["tie_break"] == tie_break)
            part = means[chosen].sort_values("sigma")
            ax.errorbar(
                range(len(part)),
                part["difference"],
                yerr=[part["difference"] - part["low"], part["high"] - part["difference"]],
                marker=marker,
                markersize=3,
                linewidth=1,
                label=metric,
            )
        ax.axhline(0, color="0.35", linewidth=0.8)
        ax.set_xticks(range(len(SIGMAS)), [f"{sigma:g}" for sigma in SIGMAS], rotation=90)
        ax.set_title(f"{group} separability")
    panels[0].set_ylabel("PVF less traditional\n(choices of 5,000)")
    figure.supxlabel("noise σ", fontsize=10)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    plt.close(figure)
    return figure


#: What we found on a claim: a row for each share or mean, in the paper's unit, and a verdict.
_Found = tuple[pd.DataFrame, str]


def _shares_claim(shares: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Return shares of configurations in percent, with a normal interval over configurations."""
    part = shares[shares["metric"].isin(metrics)].set_index("metric")["positive"]
    error = 1.96 * np.sqrt(part * (1 - part) / 180)
    return 100 * pd.DataFrame({"difference": part, "low": part - error, "high": part + error})


def _judged(rows: pd.DataFrame, best: pd.DataFrame, tie_break: str) -> dict[str, _Found]:
    """Judge SYN-1 to SYN-8 under one tie rule."""
    shares = positive_shares(rows)
    shares = shares[shares["tie_break"] == tie_break]
    best = best[best["tie_break"] == tie_break].set_index(["n_samples", "group", "metric"])
    best = best[["difference", "low", "high"]].sort_index()
    found: dict[str, _Found] = {}

    narrow, wide = (
        _shares_claim(shares, metrics) for metrics in (["IE@0.1", "IE@0.3"], ["IE@0.7", "IE@0.9"])
    )
    paper = _number("SYN-1", "share")
    covers = ((narrow["low"] <= paper) & (paper <= narrow["high"])).all()
    most = (narrow["low"] > 50).all()
    found["SYN-1"] = narrow, judge(reproduced=bool(covers), direction=bool(most))
    clear = bool((wide["low"] > _number("SYN-2", "share")).all())
    less = bool(wide["difference"].max() < narrow["difference"].min())
    found["SYN-2"] = wide, judge(reproduced=clear and less, direction=clear)

    low50 = best.loc[(50, "low")].loc[list(PAPER_METRICS)]
    least, largest = _number("SYN-3", "least"), _number("SYN-3", "most")
    inside = (low50["low"] <= largest) & (low50["high"] >= least)
    leads = bool((low50["low"] > 0).all())
    found["SYN-3"] = low50, judge(reproduced=bool(inside.all()), direction=leads)
    moderate50 = best.loc[(50, "moderate")].loc[list(PAPER_METRICS)]
    larger = moderate50["difference"].loc[["IE@0.1", "IE@0.5", "IE@0.7"]].min()
    smaller = moderate50["difference"].loc[["IE@0.3", "IE@0.9"]].max()
    leads = bool((moderate50["low"] > 0).all())
    found["SYN-4"] = moderate50, judge(reproduced=leads and larger > smaller, direction=leads)
    high50 = best.loc[(50, "high")].loc[list(PAPER_METRICS)]
    # Kendall below -0.79 lets one neighbouring pair be out of order ("almost monotonically").
    falling = stats.kendalltau(range(5), high50["difference"].iloc[:5] + 1e-9 * np.arange(5))
    leads = bool((high50["low"] > 0).all())
    keeps = high50["difference"].loc["F1/accuracy"] > high50["difference"].iloc[:5].median()
    found["SYN-5"] = (
        high50,
        judge(reproduced=leads and keeps and falling.statistic < -0.79, direction=leads),
    )

    loses = best.loc[(100, "moderate")].loc[["IE@0.7", "IE@0.9"]]
    trails = bool((loses["high"] < 0).all())
    little = bool((loses["high"] >= -_number("SYN-6", "at_most")).all())
    found["SYN-6"] = loses, judge(reproduced=trails and little, direction=trails)
    n100 = best.loc[100]
    others = n100.drop(index=[("moderate", "IE@0.7"), ("moderate", "IE@0.9")])
    others = others[others.index.get_level_values("metric").isin(PAPER_METRICS)]
    strong = ["IE@0.1", "IE@0.3", "IE@0.5", "F1/accuracy"]
    top = others.loc["high"].loc[strong, "difference"].min()
    rest = others.drop(index=[("high", metric) for metric in strong])["difference"].max()
    leads = bool((others["low"] > 0).all())
    found["SYN-7"] = others, judge(reproduced=leads and top > rest, direction=leads)

    significant = 100 * (shares["significant"] + shares["reversed"]).mean()
    every = pd.DataFrame({"difference": [significant], "low": np.nan, "high": np.nan})
    found["SYN-8"] = every, judge(reproduced=significant == 100, direction=False)
    return found


def verdicts(rows: pd.DataFrame, best: pd.DataFrame, tie_break: str) -> pd.DataFrame:
    """Judge SYN-1 to SYN-8 under one tie rule.

    Parameters
    ----------
    rows : DataFrame
        From `differences`, at the paper's scale.
    best : DataFrame
        From `best_sigma`, chosen and reported on the same repetitions as the paper does, scaled by
        `scale_to_paper`.
    tie_break : {"first", "last", "even"}

    Returns
    -------
    DataFrame
        Indexed by claim: ``ours``, the range over the claim's cases as text; ``number``, their
        mean; ``low`` and ``high``, the lowest and the highest limit of their 95% intervals; and
        ``verdict``. The unit is percent of configurations for SYN-1, SYN-2 and SYN-8, choices of
        5,000 for the others.
    """
    table = {}
    for claim, (cases, kind) in _judged(rows, best, tie_break).items():
        spec, unit = (".0f", "%") if claim in _SHARES else ("+.0f", "")
        ends = dict.fromkeys(
            f"{value:{spec}}{unit}" for value in cases["difference"].agg(["min", "max"])
        )
        table[claim] = {
            "ours": " to ".join(ends),
            "number": cases["difference"].mean(),
            "low": cases["low"].min(),
            "high": cases["high"].max(),
            "verdict": kind,
        }
    return pd.DataFrame.from_dict(table, orient="index").rename_axis("claim")


_SHARES = ("SYN-1", "SYN-2", "SYN-8")


def decide(claim: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> Finding:
    """Judge one of SYN-1 to SYN-8 from the full sweep.

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
    rows = differences(tables["synthetic_sweep"])
    means = scale_to_paper(group_means(rows))
    best = best_sigma(means, means)
    found = {rule: verdicts(rows, best, rule).loc[claim["id"]].to_dict() for rule in TIE_LABELS}
    return finding_by_rules(found, " of configurations" if claim["id"] in _SHARES else " of 5,000")


def finding_by_rules(found: Mapping[str, Mapping[str, Any]], unit: str = "") -> Finding:
    """Return a finding whose verdict is that of evenly split ties, and which names all rules.

    Parameters
    ----------
    found : mapping of str to mapping
        For each tie rule of `TIE_LABELS`: ``ours``, ``number``, ``low``, ``high``, ``verdict``.
    unit : str
        What to write after the first rule's numbers.

    Returns
    -------
    Finding
    """
    even = found["even"]
    others = "; ".join(
        f"{label}: {found[rule]['ours']}, {found[rule]['verdict']}"
        for rule, label in TIE_LABELS.items()
        if rule != "even"
    )
    says = f"{even['ours']}{unit}, {TIE_LABELS['even']}. With {others}"
    low, high = (None if np.isnan(even[key]) else float(even[key]) for key in ("low", "high"))
    return Finding(even["verdict"], says, float(even["number"]), low, high)


def decide_metric_choice(claim: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> Finding:
    """Judge SYN-9: F1 finds the true pair more often up to μ = 2.5, accuracy above.

    Parameters
    ----------
    claim : mapping
        The ledger's entry.
    tables : mapping of str to DataFrame
        With ``synthetic_sweep``.

    Returns
    -------
    Finding
        Its number is the smallest lead of F1 up to μ = 2.5, in percentage points.
    """
    del claim
    choice = metric_choice(tables["synthetic_sweep"])
    lead = choice["F1"] - choice["accuracy"]
    parts = {}
    for name in ("μ ≤ 2.5", "μ > 2.5"):
        middle, width = (part.xs(name, level="range") for part in (lead, choice["half_width"]))
        parts[name] = pd.DataFrame({"lead": middle, "low": middle - width, "high": middle + width})
    below, above = parts.values()
    holds = bool((below["low"] > 0).all() and (above["high"] < 0).all())
    says = "F1 less accuracy, in points: " + "; ".join(
        f"{part['lead'].min():+.1f} to {part['lead'].max():+.1f} for {name}"
        for name, part in parts.items()
    )
    smallest = below.loc[below["lead"].idxmin()]
    kind = judge(reproduced=holds, direction=bool((below["lead"] > 0).all()))
    return Finding(kind, says, *(float(smallest[key]) for key in ("lead", "low", "high")))


def decide_cost(claim: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> Finding:
    """Judge SYN-10: whether the paper's seconds a data set follow from its minutes.

    Parameters
    ----------
    claim : mapping
        The ledger's entry.
    tables : mapping of str to DataFrame
        With ``synthetic_sweep``, whose provenance holds our time.

    Returns
    -------
    Finding
        "reproduced" if the seconds follow with the right number of configurations, "direction
        only" if with the wrong one. Its number is the former, in seconds.
    """
    seconds, printed = cost_per_data_set(), claim["numbers"]["seconds"]
    ours = tables["synthetic_sweep"].attrs["provenance"]["wall_time"]
    says = (
        f"{claim['numbers']['minutes_50']:,} minutes on {claim['numbers']['cores']} cores are "
        f"{seconds['corrected']:.1f} s a data set, since one size has 90 configurations; the "
        f"paper's {printed:g} s come from dividing by the 180 of both. Our whole sweep took "
        f"{ours:.0f} s"
    )
    right, wrong = (round(seconds[key], 1) == printed for key in ("corrected", "printed"))
    return Finding(judge(reproduced=right, direction=wrong), says, seconds["corrected"])


def metric_choice(table: pd.DataFrame) -> pd.DataFrame:
    """Return how often each plain metric finds the true pair by the traditional method (SYN-9).

    Parameters
    ----------
    table : DataFrame
        From `studies.pvf2026.synthetic.run.run_sweep`.

    Returns
    -------
    DataFrame
        Indexed by size and by whether μ ≤ 2.5: choices of the true pair (ties split evenly) by F1
        and by accuracy, in percent of the repetitions, and the half-width of a 95% interval of
        their difference, taken as independent.
    """
    part = table[(table["method"] == "traditional") & (table["tie_break"] == "even")]
    part = part[part["metric"].isin(["F1", "accuracy"])]
    part = part.assign(range=np.where(part["mu"] <= 2.5, "μ ≤ 2.5", "μ > 2.5"))
    sums = part.groupby(["n_samples", "range", "metric"])[["n_selected", "n_repetitions"]].sum()
    sums["share"] = sums["n_selected"] / sums["n_repetitions"]
    keys = {"index": ["n_samples", "range"], "columns": "metric"}
    share = sums.pivot_table(values="share", **keys)
    size = sums.pivot_table(values="n_repetitions", **keys)
    error = np.sqrt((share * (1 - share) / size).sum(axis=1))
    return (share * 100).assign(half_width=1.96 * error * 100)


def _number(claim: str, key: str) -> float:
    return float(claims()[claim]["numbers"][key])
