"""Tables, figures and verdicts of the synthetic experiments, from the counts of the sweep."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from pvf import plotting
from pvf.claims import claims
from pvf.studies.synthetic import METRICS, SIGMAS

__all__ = [
    "GROUPS",
    "PAPER_METRICS",
    "TIE_LABELS",
    "agreement",
    "best_sigma",
    "cost_per_data_set",
    "differences",
    "figure_of_best_sigma",
    "figure_of_sensitivity",
    "figure_of_shares",
    "group_means",
    "halves",
    "metric_choice",
    "other_verdicts",
    "positive_shares",
    "readable_verdicts",
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
        From `pvf.studies.synthetic.run_sweep`.

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
    >>> from pvf.studies.synthetic import run_sweep
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


def _interval_text(part: pd.DataFrame) -> str:
    low, high = part["difference"].min(), part["difference"].max()
    return f"{low:+.0f}" if low == high else f"{low:+.0f} to {high:+.0f}"


def _judge(*, reproduced: bool, direction: bool) -> str:
    if reproduced:
        return "reproduced"
    return "direction only" if direction else "not reproduced"


def _shares_claim(shares: pd.DataFrame, metrics: Sequence[str], paper: float) -> tuple[str, str]:
    """Judge a share of configurations in percent, by a normal interval over the configurations."""
    part = shares[shares["metric"].isin(metrics)]["positive"]
    error = 1.96 * np.sqrt(part * (1 - part) / 180)
    covers = (part - error <= paper / 100) & (paper / 100 <= part + error)
    found = ", ".join(f"{value:.0%}" for value in part)
    return found, _judge(reproduced=covers.all(), direction=bool((part - error > 0.5).all()))


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
        One row a claim: ``claim``, ``statement``, ``ours`` and ``verdict``.
    """
    shares = positive_shares(rows)
    shares = shares[shares["tie_break"] == tie_break]
    best = best[best["tie_break"] == tie_break].set_index(["n_samples", "group", "metric"])
    best = best[["difference", "low", "high"]].sort_index()
    found: dict[str, tuple[str, str]] = {}
    found["SYN-1"] = _shares_claim(shares, ["IE@0.1", "IE@0.3"], _number("SYN-1", "share"))
    wide = shares[shares["metric"].isin(["IE@0.7", "IE@0.9"])]["positive"]
    narrow = shares[shares["metric"].isin(["IE@0.1", "IE@0.3"])]["positive"]
    clear = wide - 1.96 * np.sqrt(wide * (1 - wide) / 180) > 0.5
    found["SYN-2"] = (
        ", ".join(f"{value:.0%}" for value in wide),
        _judge(reproduced=bool(clear.all() and wide.max() < narrow.min()), direction=clear.all()),
    )

    low50 = best.loc[(50, "low")].loc[list(PAPER_METRICS)]
    least, most = _number("SYN-3", "least"), _number("SYN-3", "most")
    inside = (low50["low"] <= most) & (low50["high"] >= least)
    found["SYN-3"] = (
        _interval_text(low50),
        _judge(reproduced=inside.all(), direction=(low50["low"] > 0).all()),
    )
    moderate50 = best.loc[(50, "moderate")].loc[list(PAPER_METRICS)]
    larger = moderate50["difference"].loc[["IE@0.1", "IE@0.5", "IE@0.7"]].min()
    smaller = moderate50["difference"].loc[["IE@0.3", "IE@0.9"]].max()
    positive = (moderate50["low"] > 0).all()
    found["SYN-4"] = (
        _interval_text(moderate50),
        _judge(reproduced=positive and larger > smaller, direction=positive),
    )
    high50 = best.loc[(50, "high")].loc[list(PAPER_METRICS)]
    # Kendall below -0.79 lets one neighbouring pair be out of order ("almost monotonically").
    falling = stats.kendalltau(range(5), high50["difference"].iloc[:5] + 1e-9 * np.arange(5))
    positive = (high50["low"] > 0).all()
    keeps = high50["difference"].loc["F1/accuracy"] > high50["difference"].iloc[:5].median()
    found["SYN-5"] = (
        _interval_text(high50),
        _judge(reproduced=positive and keeps and falling.statistic < -0.79, direction=positive),
    )
    loses = best.loc[(100, "moderate")].loc[["IE@0.7", "IE@0.9"]]
    limit = -_number("SYN-6", "at_most")
    trails = (loses["high"] < 0).all()
    found["SYN-6"] = (
        _interval_text(loses),
        _judge(reproduced=trails and (loses["high"] >= limit).all(), direction=trails),
    )
    n100 = best.loc[100]
    others = n100.drop(index=[("moderate", "IE@0.7"), ("moderate", "IE@0.9")])
    others = others[others.index.get_level_values("metric").isin(PAPER_METRICS)]
    strong = ["IE@0.1", "IE@0.3", "IE@0.5", "F1/accuracy"]
    top = others.loc["high"].loc[strong, "difference"].min()
    rest = others.drop(index=[("high", metric) for metric in strong])["difference"].max()
    positive = (others["low"] > 0).all()
    found["SYN-7"] = (
        _interval_text(others),
        _judge(reproduced=positive and top > rest, direction=positive),
    )
    significant = (shares["significant"] + shares["reversed"]).mean()
    found["SYN-8"] = (
        f"{significant:.0%} of configurations",
        _judge(reproduced=significant == 1, direction=False),
    )
    return pd.DataFrame(
        [
            {
                "claim": claim,
                "statement": claims()[claim]["statement"],
                "ours": ours,
                "verdict": verdict,
            }
            for claim, (ours, verdict) in found.items()
        ]
    )


def metric_choice(table: pd.DataFrame) -> pd.DataFrame:
    """Return how often each plain metric finds the true pair by the traditional method (SYN-9).

    Parameters
    ----------
    table : DataFrame
        From `pvf.studies.synthetic.run_sweep`.

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


def readable_verdicts(rows: pd.DataFrame, best: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts of chapter 2 under each tie rule, one row a claim.

    Parameters
    ----------
    rows, best
        As in `verdicts`.
    table : DataFrame
        From `pvf.studies.synthetic.run_sweep`, for SYN-9.

    Returns
    -------
    DataFrame
        Indexed by claim: ``statement``; and what we found, with the verdict, for each tie rule.
    """
    columns = {}
    for rule, label in TIE_LABELS.items():
        part = verdicts(rows, best, rule).set_index("claim")
        columns["statement"] = part["statement"]
        columns[label] = part["verdict"] + " (" + part["ours"] + ")"
    result = pd.DataFrame(columns)
    choice = metric_choice(table)
    lead = choice["F1"] - choice["accuracy"]
    below, above = lead.xs("μ ≤ 2.5", level="range"), lead.xs("μ > 2.5", level="range")
    width = choice["half_width"]
    holds = (below > width.xs("μ ≤ 2.5", level="range")).all()
    holds = holds and (above < -width.xs("μ > 2.5", level="range")).all()
    verdict = _judge(reproduced=bool(holds), direction=bool((below > 0).all()))
    text = f"{verdict} (F1 less accuracy: {below.min():+.1f} to {below.max():+.1f} below, "
    text += f"{above.min():+.1f} to {above.max():+.1f} above)"
    result.loc["SYN-9"] = [claims()["SYN-9"]["statement"], "–", text, "–"]
    return result


def other_verdicts(found: dict[str, str], provenance: dict) -> pd.DataFrame:
    """Return SYN-10 and verdicts found elsewhere, one row a claim.

    Parameters
    ----------
    found : dict of str to str
        Verdicts by claim.
    provenance : dict
        Of the full sweep, for its wall time.

    Returns
    -------
    DataFrame
        Indexed by claim: ``statement``, ``ours``, ``verdict``. SYN-10 is *direction only* if the
        paper's seconds a data set follow from its minutes with the wrong number of
        configurations, and *reproduced* if with the right one.
    """
    seconds = cost_per_data_set()
    printed = _number("SYN-10", "seconds")
    right = round(seconds["corrected"], 1) == printed
    wrong = round(seconds["printed"], 1) == printed
    ours = f"{seconds['corrected']:.1f} s from the paper's minutes; the whole sweep took us "
    ours += f"{provenance['wall_time']:.0f} s"
    rows = {"SYN-10": (ours, _judge(reproduced=right, direction=wrong))}
    rows |= {claim: ("see above", verdict) for claim, verdict in found.items()}
    return pd.DataFrame(
        [
            {
                "claim": claim,
                "statement": claims()[claim]["statement"],
                "ours": ours_text,
                "verdict": verdict,
            }
            for claim, (ours_text, verdict) in rows.items()
        ]
    ).set_index("claim")


def _number(claim: str, key: str) -> float:
    return float(claims()[claim]["numbers"][key])
