"""Estimates and figures of the synthetic sweep, from the paired counts of both methods.

Leads are in choices of 5,000. Where ties are split evenly, the counts are expected counts given the
ties; the table holds the cells of a drawn tie-break, whose variance bounds theirs from above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from studies.kit.claims import claims
from studies.kit.dots import Frames, crossed, lines
from studies.kit.estimates import SCHEMA, holm, t_interval
from studies.kit.show import COLOURS, finished
from studies.kit.verdicts import Part, Region
from studies.pvf2026.synthetic.grid import GROUPS, METRICS, PAPER_METRICS, SIGMAS, TIE_LABELS

_KEYS = ["n_samples", "mu", "sigma", "metric", "tie_break"]
_CASE = ["n_samples", "group", "metric", "tie_break"]
_LEAD = "PVF less traditional\n(choices of 5,000)"
_PAPER_REPETITIONS = 5000
_N_RUNS = 400


def differences(table: pd.DataFrame) -> pd.DataFrame:
    """Return how many more times PVF chose the true pair, one row a configuration.

    ``variance`` of the difference and McNemar's ``p_value`` (normal, two-sided) follow from the
    paired cells; ``p_corrected`` is after Holm over the paper's configurations and metrics under
    the same tie rule; ``tied`` candidates share the best traditional score on average.
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
    rows["z"] = np.divide(difference.to_numpy(), root, out=np.zeros(len(rows)), where=root > 0)
    rows["p_value"] = 2 * stats.norm.sf(rows["z"].abs())
    shown = rows["metric"].isin(PAPER_METRICS)
    rows["p_corrected"] = rows[shown].groupby("tie_break")["p_value"].transform(holm)
    return with_groups(rows)


def with_groups(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the separability group of each μ as a column ``group``."""
    edges = [0.0, *GROUPS.values()]
    return table.assign(group=pd.cut(table["mu"], edges, labels=list(GROUPS)).astype(str))


def group_means(rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean leads over each separability group, of 5,000, with 95% normal intervals."""
    parts = rows.groupby(["n_samples", "group", "sigma", "metric", "tie_break"], sort=False)
    n_repetitions = parts["n_repetitions"].first()
    scale = _PAPER_REPETITIONS / n_repetitions
    mean = scale * parts["difference"].mean()
    reach = stats.norm.ppf(0.975) * scale * np.sqrt(parts["variance"].sum()) / parts.size()
    return pd.DataFrame(
        {
            "difference": mean,
            "low": mean - reach,
            "high": mean + reach,
            "n_repetitions": n_repetitions,
        }
    ).reset_index()


def halves(first: pd.DataFrame, whole: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split a sweep's counts into those of its first repetitions and of the others."""
    keys = [*_KEYS, "method"]
    counts = ["n_selected", "both", "pvf_only", "traditional_only", "neither", "n_repetitions"]
    a, b = first.set_index(keys), whole.set_index(keys)
    others = (b[counts] - a.loc[b.index, counts]).assign(mean_tied=b["mean_tied"])
    return first, others.reset_index()


def best_sigma(choose: pd.DataFrame, report: pd.DataFrame) -> pd.DataFrame:
    """Return group means at the σ with the largest mean difference."""
    keys = ["n_samples", "group", "metric", "tie_break"]
    best = choose.loc[choose.groupby(keys, sort=False)["difference"].idxmax(), [*keys, "sigma"]]
    return best.merge(report, on=[*keys, "sigma"])


# --- Estimates ----------------------------------------------------------------------------------


def estimate(table: pd.DataFrame) -> pd.DataFrame:
    """Return all that the chapter shows and judges.

    Over the fixed grid of configurations there is simulation error only. Errors of shares, of best
    leads and of what is made of them are the spread over sweeps drawn around this one's leads;
    metrics are drawn independently.
    """
    rows = differences(table)
    shown = rows[rows["metric"].isin(PAPER_METRICS)]
    scale = (_PAPER_REPETITIONS / shown["n_repetitions"]).to_numpy()
    ours = _quantities(shown, (shown["difference"] * scale).to_numpy()[:, None])
    own = _quantities(shown, _drawn(shown, error=scale))
    single = _quantities(shown, _drawn(shown, error=np.sqrt(scale)))
    reach = stats.norm.ppf(0.975) * own.std(axis=1, ddof=1)
    drawn = pd.DataFrame(
        {
            "estimate": ours[0],
            "low": ours[0] - reach,
            "high": ours[0] + reach,
            "run_low": single.quantile(0.025, axis=1),
            "run_high": single.quantile(0.975, axis=1),
        }
    ).reset_index()
    n = float(shown["n_repetitions"].iloc[0])
    parts = [drawn, _significance(shown), _mean_leads(shown), _tied(shown), _metric_choice(table)]
    whole = pd.concat(parts, ignore_index=True)
    shares = whole["quantity"].str.startswith("share")
    units = np.where(shares, "% of configurations", "choices of 5,000")
    filled = whole.assign(n=whole["n"].fillna(n), unit=whole["unit"].fillna(pd.Series(units)))
    keys = ["n_samples", "group", "sigma", "metric", "tie_break", "range"]
    return filled[[*keys, *SCHEMA, "run_low", "run_high"]]


def single_runs(table: pd.DataFrame) -> pd.DataFrame:
    """Return sweeps of the paper's size, drawn around the table's leads, in long form."""
    rows = differences(table)
    shown = rows[rows["metric"].isin(PAPER_METRICS)]
    scale = np.sqrt(_PAPER_REPETITIONS / shown["n_repetitions"].to_numpy())
    drawn = _quantities(shown, _drawn(shown, error=scale))
    wanted = drawn.index.get_level_values("quantity").isin(["share ahead", "best lead"])
    long = drawn[wanted].melt(ignore_index=False, var_name="run", value_name="value")
    return long.reset_index()


def _drawn(rows: pd.DataFrame, *, error: np.ndarray) -> np.ndarray:
    """Draw leads of 5,000 (rows × runs) with the stated multiple of the counts' error."""
    lead = rows["difference"] * (_PAPER_REPETITIONS / rows["n_repetitions"])
    spread = np.sqrt(rows["variance"].to_numpy()) * error
    noise = np.random.default_rng(0).standard_normal((len(rows), _N_RUNS))
    return lead.to_numpy()[:, None] + spread[:, None] * noise


def _quantities(rows: pd.DataFrame, leads: np.ndarray) -> pd.DataFrame:
    """Return every quantity that leads (rows × runs) give, one column a run."""
    index = pd.MultiIndex.from_frame(rows[["n_samples", "group", "sigma", "metric", "tie_break"]])
    frame = pd.DataFrame(leads, index=index)
    ahead = 100.0 * (frame.round(9) >= 1)
    behind = 100.0 * (frame.round(9) <= -1)
    means = frame.groupby(level=list(index.names), sort=False).mean()
    share = ahead.groupby(level=["metric", "tie_break"], sort=False).mean()
    best = means.groupby(level=_CASE, sort=False).max()
    found = {
        "share ahead": share,
        "share behind": behind.groupby(level=["metric", "tie_break"], sort=False).mean(),
        "share ahead by σ": ahead.groupby(
            level=["sigma", "metric", "tie_break"], sort=False
        ).mean(),
        "lead": means,
        "best lead": best,
        **courses_over_sigma(means),
        **_contrasts(share, best),
    }
    whole = pd.concat([part.reset_index().assign(quantity=name) for name, part in found.items()])
    return whole.set_index(["n_samples", "group", "sigma", "metric", "tie_break", "quantity"])


def courses_over_sigma(means: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Compare mean leads at small, middle and large σ, case by case, where all σ are there."""
    at = {sigma: means.xs(sigma, level="sigma") for sigma in means.index.unique("sigma")}
    if set(at) != set(SIGMAS):
        return {}
    values, (less, more) = np.array(list(at.values())), np.triu_indices(len(at), 1)
    middle = np.minimum(at[1e-3], at[1e-2])
    return {
        "drop to σ = 0.01": at[1e-3] - at[1e-2],
        "dip at middle σ": at[1e-6] - middle,
        "recovery at σ = 0.1": at[1e-1] - middle,
        "Kendall's tau over σ": pd.DataFrame(
            np.sign(values[more] - values[less]).mean(axis=0), middle.index, middle.columns
        ),
    }


def _contrasts(share: pd.DataFrame, best: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Compare shares and best leads with each other, as the paper does, under each tie rule."""
    found: dict[str, dict[str, Any]] = {}
    efficiencies = list(METRICS[:5])
    strong = ["IE@0.1", "IE@0.3", "IE@0.5", "F1/accuracy"]
    for rule in share.index.unique("tie_break"):
        shares = share.xs(rule, level="tie_break")
        narrow, wide = shares.loc[["IE@0.1", "IE@0.3"]], shares.loc[["IE@0.7", "IE@0.9"]]
        found.setdefault("share less at large γ", {})[rule] = narrow.min() - wide.max()
        cases = best.xs(rule, level="tie_break")
        if (50, "moderate") in cases.index.droplevel("metric"):
            middle, high = cases.loc[(50, "moderate")], cases.loc[(50, "high")]
            named, rest = ["IE@0.1", "IE@0.5", "IE@0.7"], ["IE@0.3", "IE@0.9"]
            found.setdefault("named γ less others", {})[rule] = (
                middle.loc[named].min() - middle.loc[rest].max()
            )
            values, (left, right) = high.loc[efficiencies].to_numpy(), np.triu_indices(5, 1)
            rising = pd.Series(np.sign(values[right] - values[left]).mean(axis=0))
            found.setdefault("Kendall's tau over γ", {})[rule] = rising
            found.setdefault("F1/accuracy less median", {})[rule] = (
                high.loc["F1/accuracy"] - high.loc[efficiencies].median()
            )
        if (100, "high") in cases.index.droplevel("metric"):
            all_100 = cases.loc[100]
            top = [("high", metric) for metric in strong]
            out = [*top, ("moderate", "IE@0.7"), ("moderate", "IE@0.9")]
            found.setdefault("named cases less others", {})[rule] = (
                all_100.loc[top].min() - all_100.drop(index=out).max()
            )
    return {
        name: pd.DataFrame(by_rule).T.rename_axis("tie_break") for name, by_rule in found.items()
    }


def _significance(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the share of configurations whose own test is significant at 5%, and by Holm."""
    found = []
    tests = {"uncorrected": rows["p_value"] < 0.05, "by Holm": rows["p_corrected"] < 0.05}
    for name, clear in tests.items():
        # Holm's next step after those that he rejected
        left = (~clear).groupby(rows["tie_break"]).transform("sum").clip(lower=1)
        limit = stats.norm.isf(0.025 / left) if name == "by Holm" else stats.norm.isf(0.025)
        again = stats.norm.sf(limit - rows["z"].abs()) + stats.norm.sf(limit + rows["z"].abs())
        again = np.minimum(again, 1)
        parts = rows.assign(share=100.0 * clear, variance=again * (1 - again))
        groups = parts.groupby(["metric", "tie_break"], sort=False)
        share = groups["share"].mean()
        reach = 196 * np.sqrt(groups["variance"].sum()) / groups.size()
        ends = {"estimate": share, "low": share - reach, "high": share + reach}
        found.append(pd.DataFrame(ends).assign(quantity=f"share significant, {name}"))
    return pd.concat(found).reset_index().assign(n=np.nan, unit=None)


def _mean_leads(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each metric's mean lead over all configurations, as one paired t-test has it."""
    leads = rows["difference"] * (_PAPER_REPETITIONS / rows["n_repetitions"])
    found = [
        {"metric": metric, "tie_break": rule, **t_interval(part)._asdict()}
        for (metric, rule), part in leads.groupby([rows["metric"], rows["tie_break"]], sort=False)
    ]
    return pd.DataFrame(found).assign(quantity="mean lead")


def _tied(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how many of the ten candidates share the traditional method's best score."""
    even = rows[rows["tie_break"] == "even"]
    tied = even.groupby(_CASE, sort=False)["tied"].mean().rename("estimate").reset_index()
    return tied.assign(quantity="tied candidates", unit="candidates")


def _metric_choice(table: pd.DataFrame) -> pd.DataFrame:
    """Return the lead of F1 over accuracy for the traditional method, in percentage points.

    Both are counted on the same data sets, and the table does not hold their joint counts, so the
    errors are added up, the most that any dependence allows. Expected counts vary no more than
    drawn ones.
    """
    part = table[(table["method"] == "traditional") & table["metric"].isin(["F1", "accuracy"])]
    part = part.assign(range=np.where(part["mu"] <= 2.5, "μ ≤ 2.5", "μ > 2.5"))
    sums = part.groupby(["n_samples", "range", "tie_break", "metric"])[
        ["n_selected", "n_repetitions"]
    ].sum()
    share = (sums["n_selected"] / sums["n_repetitions"]).unstack("metric")  # noqa: PD010
    n = sums["n_repetitions"].unstack("metric")  # noqa: PD010
    error = np.sqrt(share * (1 - share) / n).sum(axis=1)
    lead, reach = 100 * (share["F1"] - share["accuracy"]), 100 * stats.norm.ppf(0.975) * error
    run = reach * np.sqrt(part["n_repetitions"].iloc[0] / _PAPER_REPETITIONS)
    ends = {
        "low": lead - reach,
        "high": lead + reach,
        "run_low": lead - run,
        "run_high": lead + run,
    }
    named = {"quantity": "F1 less accuracy", "unit": "percentage points", "n": n["F1"]}
    return pd.DataFrame({"estimate": lead, **ends, **named}).reset_index()


def cost_per_data_set() -> dict[str, float]:
    """Return the paper's seconds a data set, as printed and with the configurations of one size.

    Examples
    --------
    >>> {name: round(value, 2) for name, value in cost_per_data_set().items()}
    {'printed': 1.2, 'corrected': 2.41}
    """
    numbers = claims()["SYN-10"]["numbers"]
    core_seconds = numbers["minutes_50"] * 60 * numbers["cores"]
    return {"printed": core_seconds / (5000 * 180), "corrected": core_seconds / (5000 * 90)}


def _cost_parts(_: pd.DataFrame, claim: Mapping[str, Any]) -> Sequence[Part]:
    """Judge SYN-10: the minutes are another machine's, the seconds are arithmetic."""
    seconds, printed = cost_per_data_set()["corrected"], claim["numbers"]["seconds"]
    says = "the seconds follow from the minutes, one size having 90 configurations"
    region = Region(printed - 0.05, printed + 0.05)
    return (
        Part(says, seconds, seconds, seconds, region=region, joint=True),
        Part("the minutes on 11 cores", untestable="it is another machine"),
    )


#: The rules that are more than a region for an estimate.
CLAIMS = {"SYN-10": _cost_parts}


# --- Figures ------------------------------------------------------------------------------------


_RULES = {label: {"tie_break": rule} for rule, label in TIE_LABELS.items()}
_GROUPS = {f"{group} separability": {"group": group} for group in GROUPS}


def figure_of_shares(frames: Frames) -> Figure:
    """Draw the share of configurations in which PVF leads, as in the paper's Figure 3."""
    columns = crossed({"": {}}, _RULES, quantity="share ahead")
    how: dict[str, Any] = {"size": (6.8, 3.8), "xlabel": "metric"}
    figure, (ax,) = lines(frames, "metric", columns, levels=PAPER_METRICS, spread=0.6, **how)
    printed, colour = claims()["SYN-1"]["numbers"]["share"], COLOURS["paper"]
    ax.plot(range(2), [printed] * 2, "D", color=colour, fillstyle="none", label="the paper")
    ax.axhline(50, color="0.35", linewidth=0.8, linestyle=":")
    ax.set(ylim=(0, 100), ylabel="configurations in which PVF leads (%)")
    return finished(figure)


def figure_of_best_sigma(frames: Frames, *, n_samples: int) -> Figure:
    """Draw mean leads at the best σ, one panel a separability group (Figures 6 to 11)."""
    columns = crossed(_GROUPS, _RULES, quantity="best lead", n_samples=n_samples)
    how: dict[str, Any] = {"size": (2.8, 3.4), "ylabel": _LEAD, "level": 0}
    figure, _ = lines(frames, "metric", columns, levels=PAPER_METRICS, spread=0.6, **how)
    return finished(figure)


def figure_of_sensitivity(frames: Frames, *, n_samples: int) -> Figure:
    """Draw mean leads over σ with ties split evenly, a panel a group (Figures 12 to 17)."""
    metrics = {metric: {"metric": metric} for metric in PAPER_METRICS}
    where = {"quantity": "lead", "n_samples": n_samples, "tie_break": "even"}
    columns = crossed(_GROUPS, metrics, **where)
    how: dict[str, Any] = {"size": (2.8, 3.2), "xlabel": "noise σ", "ylabel": _LEAD, "level": 0}
    thin = {"linewidth": 1}
    figure, _ = lines(frames, "sigma", columns, levels=SIGMAS, line="-", options=thin, **how)
    return finished(figure, legend_columns=6)


FIGURES: dict[str, Callable[..., Figure]] = {
    "fig-syn-shares": figure_of_shares,
    "fig-syn-best-50": partial(figure_of_best_sigma, n_samples=50),
    "fig-syn-best-100": partial(figure_of_best_sigma, n_samples=100),
    "fig-sensitivity-50": partial(figure_of_sensitivity, n_samples=50),
    "fig-sensitivity-100": partial(figure_of_sensitivity, n_samples=100),
}
