"""Tables, figures and verdicts of the clinical chapters, from the experiment's results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from pvf import plotting
from pvf._checks import check_integer
from studies.data import datasets
from studies.data.tables import registry
from studies.kit.claims import claims, judge
from studies.kit.results import read_result
from studies.kit.show import COLOURS, interval_text
from studies.pvf2026.clinical import run as clinical

_SHARES = ("win", "loss", "tie")
_RULE_LABELS = {
    "first": "first of the tied",
    "last": "last of the tied",
    "random": "random, each method for itself",
    "shared": "random, one order for both",
}


def simulated_problems(
    n_problems: int = 200, *, sigma: float = 0.3, seed: int = 20261127
) -> pd.DataFrame:
    """Select among thresholds whose true quality is known, as a check of the whole procedure.

    One feature is standard normal among controls and normal around 3 among cases; 30% are cases.
    A validation set has 20 people; the candidates are 41 decision stumps with thresholds from
    -1 to 4, and each one's true score follows from the normal distribution, so no external test is
    needed.

    Parameters
    ----------
    n_problems : int, default=200
        Independent validation sets.
    sigma : float, default=0.3
        Standard deviation of PVF's noise.
    seed : int

    Returns
    -------
    DataFrame
        Columns of `clinical.run_experiment`'s result without the repetition; ``subset`` numbers
        the problems.

    Examples
    --------
    >>> table = simulated_problems(3)
    >>> sorted(table["metric"].unique())[:2]
    ['F1', 'IE@0.1']
    """
    check_integer("n_problems", n_problems, 1)
    thresholds = np.linspace(-1, 4, 41)
    stumps = [
        DecisionTreeClassifier(max_depth=1).fit([[t - 1], [t + 1]], [False, True])
        for t in thresholds
    ]
    # The population's counts, per thousand people.
    n_pos, n_neg = 300.0, 700.0
    truth = clinical.scores_from_counts(
        n_pos * stats.norm.sf(thresholds, loc=3), n_neg * stats.norm.sf(thresholds), n_pos, n_neg
    )
    settings = {"sigmas": [sigma], "n_sets": 100, "n_replicas": 7, "aggregate": 0.25}
    y = np.repeat([True, False], [6, 14])
    frames = []
    for problem in range(n_problems):
        key = np.random.SeedSequence(seed, spawn_key=(problem, 0))
        X = np.random.default_rng(key).normal(np.where(y, 3.0, 0.0))[:, None]
        part = clinical.Problem(X, y, truth, stumps, 0)
        settings["seed"] = seed
        frames.append(clinical.judge(part, (problem, 1), settings).assign(subset=problem))
    return pd.concat(frames, ignore_index=True).assign(repetition=0)


def cervical_counts() -> tuple[pd.DataFrame, dict[str, int], str]:
    """Count the cervical table step by step, or read the committed counts where it is absent.

    Returns
    -------
    steps : DataFrame
        From `clinical.cervical_arithmetic`.
    found : dict of str to int
        Our numbers for CER-4: ``samples``, ``usable`` and ``features``.
    origin : str
        One sentence in Markdown on where the counts come from.
    """
    try:
        steps, origin = clinical.cervical_arithmetic(), "Counted on this machine."
    except datasets.DataUnavailableError:
        steps, facts = read_result("cervical_data")
        origin = (
            "**The data are not on this machine**; these are the committed counts of "
            f"{facts['created'][:10]}."
        )
    return steps, found_counts(steps), origin


def found_counts(steps: pd.DataFrame) -> dict[str, int]:
    """Return our numbers for CER-4.

    Parameters
    ----------
    steps : DataFrame
        From `clinical.cervical_arithmetic`.

    Returns
    -------
    dict of str to int
        ``samples``, ``usable`` and ``features``.
    """
    rows = steps.set_index("step")
    complete = rows.loc["of these, complete rows"]
    return {
        "samples": int(rows.loc["as published", "rows"]),
        "usable": int(complete["rows"]),
        "features": int(complete["features"]),
    }


def cervical_columns() -> pd.DataFrame:
    """Return each feature's kind and meaning, as published; no data are needed.

    Returns
    -------
    DataFrame
        Indexed by column; ``kind`` and ``meaning, and why this kind``.

    Examples
    --------
    >>> cervical_columns()["kind"].value_counts().to_dict()
    {'nominal': 20, 'numeric': 8, 'ordinal': 4}
    """
    columns = registry()["cervical_cancer"]["columns"]
    table = pd.DataFrame.from_dict(
        columns, orient="index", columns=["kind", "meaning, and why this kind"]
    )
    return table.drop(index=list(datasets.CERVICAL_TARGETS)).rename_axis("column")


def agreement(reduced: pd.DataFrame, full: pd.DataFrame) -> pd.DataFrame:
    """Say for each σ, metric and tie rule whether a run agrees with the full results.

    Parameters
    ----------
    reduced, full : DataFrame
        From `clinical.by_repetition`.

    Returns
    -------
    DataFrame
        ``low`` and ``high``, the range in which 95% of the single full runs' leads fall;
        ``lead``, the mean of the reduced run; and ``agrees``, whether it falls into the range,
        give or take the rounding of one split.

    Examples
    --------
    >>> runs = clinical.by_repetition(
    ...     clinical.run_experiment(n_repetitions=3, sigmas=[0.2], n_candidates=10, n_sets=20)
    ... )
    >>> bool(agreement(runs[runs["repetition"] == 1], runs)["agrees"].mean() > 0.5)
    True
    """
    keys = ["sigma", "metric", "tie_break"]
    lead = _with_lead(full).groupby(keys, sort=False)["lead"]
    table = pd.DataFrame({"low": lead.quantile(0.025), "high": lead.quantile(0.975)})
    table["lead"] = _with_lead(reduced).groupby(keys, sort=False)["lead"].mean()
    table = table.dropna().reset_index()
    rounding = 0.04 + 1e-9
    table["agrees"] = table["lead"].between(table["low"] - rounding, table["high"] + rounding)
    return table


def beside_paper(runs: pd.DataFrame, ids: Sequence[str]) -> pd.DataFrame:
    """Set our shares beside the paper's, at the paper's σ, for every tie rule.

    Parameters
    ----------
    runs : DataFrame
        From `clinical.by_repetition`, with at least two repetitions.
    ids : sequence of str
        Claims that have ``metrics``, ``sigma`` and ``numbers`` of win, loss and tie.

    Returns
    -------
    DataFrame
        One row for each claim, metric and tie rule. For win, loss and tie, in percent: ``paper``;
        ``mean`` over our runs; ``low`` and ``high``, between which 95% of single runs fall (the
        paper made one run); ``lead``, ``lead_low`` and ``lead_high``, the mean of win less loss
        with its 95% interval.

    Examples
    --------
    >>> runs = clinical.by_repetition(
    ...     clinical.run_experiment(n_repetitions=3, sigmas=[0.2], n_candidates=10, n_sets=20)
    ... )
    >>> beside_paper(runs, ["BRE-4"])["paper_win"].tolist()
    [52.0, 52.0, 52.0, 52.0]
    """
    rows = []
    summary = clinical.shares(runs).set_index(["sigma", "metric", "tie_break"])
    for claim_id in ids:
        claim = claims()[claim_id]
        for metric in claim["metrics"]:
            for rule in clinical.TIE_RULES:
                part = runs.query("sigma == @claim['sigma'] and metric == @metric")
                part = part[part["tie_break"] == rule]
                lead = summary.loc[
                    (claim["sigma"], metric, rule), ["lead", "lead_low", "lead_high"]
                ]
                rows.append(
                    {"claim": claim_id, "metric": metric, "sigma": claim["sigma"]}
                    | {"tie_break": rule}
                    | _row(_printed(claim), part[list(_SHARES)] * 100, lead * 100)
                )
    return pd.DataFrame(rows)


def _printed(claim: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the paper's shares as ranges; most have one number, which is both ends."""
    return {
        share: (float(np.min(value)), float(np.max(value)))
        for share, value in claim["numbers"].items()
    }


def _middle(printed: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    return {share: (low + high) / 2 for share, (low, high) in printed.items()}


def _paper_lead(claim: Mapping[str, Any]) -> float:
    middle = _middle(_printed(claim))
    return middle["win"] - middle["loss"]


def _row(
    printed: Mapping[str, tuple[float, float]], runs: pd.DataFrame, lead: pd.Series
) -> dict[str, object]:
    """Return one row of `beside_paper`."""
    row: dict[str, object] = {}
    paper = _middle(printed)
    for share in _SHARES:
        low, high = runs[share].quantile([0.025, 0.975])
        row |= {f"paper_{share}": paper[share], f"mean_{share}": runs[share].mean()}
        row |= {f"low_{share}": low, f"high_{share}": high}
    return row | lead.to_dict()


@plotting.style()
def figure_of_leads(
    full: pd.DataFrame,
    reduced: pd.DataFrame | None = None,
    ids: Sequence[str] = (),
    *,
    tie_break: str = "shared",
) -> Figure:
    """Draw PVF's lead over σ, one panel a metric, with the paper's numbers.

    Parameters
    ----------
    full, reduced : DataFrame
        From `clinical.by_repetition`; the band holds 95% of the full results' single runs.
    ids : sequence of str
        Claims whose numbers are marked.
    tie_break : str, default="shared"

    Returns
    -------
    matplotlib Figure
    """
    figure, panels = _panels()
    sigmas = sorted(full["sigma"].unique())
    for metric, ax in zip(clinical.METRICS, panels, strict=True):
        lead = _part(full, metric, tie_break).groupby("sigma")["lead"]
        lead = lead.agg(["mean", _low, _high]) * 100
        places = list(range(len(sigmas)))
        ax.fill_between(
            places, lead["_low"], lead["_high"], alpha=0.2, linewidth=0, label="95% of single runs"
        )
        ax.plot(places, lead["mean"], label="mean of all runs")
        if reduced is not None:
            live = _part(reduced, metric, tie_break).groupby("sigma")["lead"].mean() * 100
            live_places = [sigmas.index(sigma) for sigma in live.index]
            ax.plot(
                live_places, live, "o", color=COLOURS["this run"], markersize=4, label="this run"
            )
        for claim in (claims()[claim_id] for claim_id in ids):
            if metric in claim["metrics"]:
                place = sigmas.index(claim["sigma"])
                ax.plot(place, _paper_lead(claim), "D", color=COLOURS["paper"], label="the paper")
        ax.set_title(metric)
    figure.legend(*panels[-1].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return _finish(figure, sigmas, "lead of PVF: wins less losses (% of splits)")


@plotting.style()
def figure_of_tie_rules(full: pd.DataFrame, live: pd.DataFrame | None = None) -> Figure:
    """Draw PVF's mean lead over σ under each tie rule, with 95% intervals, one panel a metric.

    Parameters
    ----------
    full : DataFrame
        From `clinical.by_repetition`, with at least two repetitions.

    Returns
    -------
    matplotlib Figure
    """
    return _by_rule(
        clinical.shares(full), live, "lead", 100, "lead of PVF: wins less losses (% of splits)"
    )


@plotting.style()
def figure_of_gains(full: pd.DataFrame, live: pd.DataFrame | None = None) -> Figure:
    """Draw the mean change of the external metric over σ under each tie rule.

    Parameters
    ----------
    full : DataFrame
        From `clinical.by_repetition`, with at least two repetitions.

    Returns
    -------
    matplotlib Figure
    """
    label = "gain: external metric, PVF less traditional"
    return _by_rule(clinical.shares(full), live, "gain", 1, label, sharey=False)


def _by_rule(
    summary: pd.DataFrame,
    live: pd.DataFrame | None,
    value: str,
    scale: float,
    label: str,
    *,
    sharey: bool = True,
) -> Figure:
    figure, panels = _panels(sharey=sharey)
    sigmas = sorted(summary["sigma"].unique())
    for metric, ax in zip(clinical.METRICS, panels, strict=True):
        for position, (rule, marker) in enumerate(zip(clinical.TIE_RULES, "osD^", strict=True)):
            chosen = (summary["metric"] == metric) & (summary["tie_break"] == rule)
            part = summary[chosen].sort_values("sigma")
            below, above = part[value] - part[f"{value}_low"], part[f"{value}_high"] - part[value]
            ax.errorbar(
                np.arange(len(sigmas)) + 0.14 * (position - 1.5),
                part[value] * scale,
                yerr=np.array([below, above]) * scale,
                marker=marker,
                markersize=3,
                linewidth=1,
                label=_RULE_LABELS[rule],
            )
            if live is not None:
                seen = _part(live, metric, rule).groupby("sigma")[value].mean() * scale
                places = [sigmas.index(sigma) for sigma in seen.index]
                color = plotting.PALETTE[position]
                ax.plot(places, seen, marker, color=color, markerfacecolor="none", markersize=3)
        ax.set_title(metric)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return _finish(figure, sigmas, label)


def _panels(*, sharey: bool = True) -> tuple[Figure, Sequence[Axes]]:
    figure, grid = plt.subplots(2, 3, figsize=(8.2, 5.6), sharex=True, sharey=sharey)
    for ax in grid.flat:
        ax.axhline(0, color="0.35", linewidth=0.8)
    return figure, list(grid.flat)


def _finish(figure: Figure, sigmas: Sequence[float], label: str) -> Figure:
    for ax in figure.axes:
        ax.set_xticks(range(len(sigmas)), [f"{sigma:g}" for sigma in sigmas], rotation=90)
    figure.supxlabel("noise σ (standard deviations of the training part)", fontsize=10)
    figure.supylabel(label, fontsize=10)
    plt.close(figure)  # a notebook would show it twice
    return figure


def _with_lead(runs: pd.DataFrame) -> pd.DataFrame:
    return runs.assign(lead=runs["win"] - runs["loss"])


def _part(runs: pd.DataFrame, metric: str, tie_break: str) -> pd.DataFrame:
    chosen = (runs["metric"] == metric) & (runs["tie_break"] == tie_break)
    return _with_lead(runs[chosen])


def _low(values: pd.Series) -> float:
    return values.quantile(0.025)


def _high(values: pd.Series) -> float:
    return values.quantile(0.975)


def choices_within_ties(runs: pd.DataFrame, *, sigma: float) -> pd.DataFrame:
    """Show how PVF's choices relate to the candidates that tie under the traditional method.

    Parameters
    ----------
    runs : DataFrame
        From `clinical.by_repetition`.
    sigma : float
        The noise level.

    Returns
    -------
    DataFrame
        Indexed by metric, under a random tie rule: the share (%) of PVF's choices that are among
        the traditional method's ties; the mean gain; and the part of it that comes from choosing
        among these ties better than at random.
    """
    chosen = runs[(runs["sigma"] == sigma) & (runs["tie_break"] == "random")]
    means = chosen.groupby("metric", sort=False)[["within", "gain", "gain_within"]].mean()
    return pd.DataFrame(
        {
            "PVF's choice ties (%)": (100 * means["within"]).round(1),
            "mean gain": means["gain"].round(4),
            "of it, from choosing among the ties": means["gain_within"].round(4),
        }
    )


def tied_candidates(runs: pd.DataFrame, *, sigma: float) -> pd.DataFrame:
    """Count the candidates that tie under each method, beside `choices_within_ties`.

    Parameters
    ----------
    runs : DataFrame
        From `clinical.by_repetition`.
    sigma : float
        The noise level.

    Returns
    -------
    DataFrame
        Indexed by metric.
    """
    chosen = runs[(runs["sigma"] == sigma) & (runs["tie_break"] == "first")]
    ties = chosen.groupby("metric", sort=False)[["n_tied_traditional", "n_tied_pvf"]].mean()
    ties.columns = ["trees that tie: traditional", "trees that tie: PVF"]
    return ties.round(1).join(choices_within_ties(runs, sigma=sigma))


def readable_shares(summary: pd.DataFrame, *, metric: str) -> pd.DataFrame:
    """Return one metric's shares with their intervals as text, one row a tie rule.

    Parameters
    ----------
    summary : DataFrame
        From `clinical.shares`, at one σ.
    metric : str

    Returns
    -------
    DataFrame
    """
    part = summary[summary["metric"] == metric].set_index("tie_break")
    columns = {}
    for value in _SHARES:
        columns[f"{value} (%)"] = _with_interval(part, value, 100, ".0f")
    columns["gain"] = _with_interval(part, "gain", 1, ".3f")
    table = pd.DataFrame(columns, index=part.index)
    return table.rename(index=_RULE_LABELS).rename_axis("tie rule")


def readable_comparison(table: pd.DataFrame) -> pd.DataFrame:
    """Return `beside_paper`'s table as text, one row for each claim, metric and tie rule.

    Parameters
    ----------
    table : DataFrame
        From `beside_paper`.

    Returns
    -------
    DataFrame
        Each share as "paper | mean (range of single runs)", in percent.
    """
    columns = {"σ": table["sigma"].map("{:g}".format)}
    for share in _SHARES:
        columns[f"{share}: paper"] = table[f"paper_{share}"].map("{:.0f}".format)
        columns[f"{share}: ours"] = [
            f"{mean:.0f} ({low:.0f} to {high:.0f})"
            for mean, low, high in table[
                [f"mean_{share}", f"low_{share}", f"high_{share}"]
            ].to_numpy()
        ]
    index = pd.MultiIndex.from_frame(
        pd.DataFrame(
            {
                "claim": table["claim"],
                "metric": table["metric"],
                "tie rule": table["tie_break"],
            }
        )
    )
    return pd.DataFrame({k: list(v) for k, v in columns.items()}, index=index)


def readable_tuning(picked: pd.DataFrame, *, tie_break: str = "shared") -> pd.DataFrame:
    """Return what choosing σ on the reported results is worth, one row a metric.

    Parameters
    ----------
    picked : DataFrame
        From `clinical.tuned`.
    tie_break : str, default="shared"

    Returns
    -------
    DataFrame
        Mean lead (%) with its 95% interval over repetitions, and the median σ, for both ways to
        choose; and the difference.
    """
    part = _with_lead(picked[picked["tie_break"] == tie_break])
    leads = part.pivot_table(
        index=["metric", "repetition"], columns="chosen_on", values="lead", sort=False
    ).mul(100)
    leads["optimism"] = leads["same"] - leads["others"]
    groups = leads.groupby("metric", sort=False)
    reach = groups.sem() * stats.t.ppf(0.975, groups.size().iloc[0] - 1)
    means = groups.mean()
    names = {
        "same": "lead, σ chosen on the same run (%)",
        "others": "lead, σ chosen on the other runs (%)",
        "optimism": "difference",
    }
    columns = {
        label: [
            f"{mean:.0f} ({mean - half:.0f} to {mean + half:.0f})"
            for mean, half in zip(means[key], reach[key], strict=True)
        ]
        for key, label in names.items()
    }
    sigma = part[part["chosen_on"] == "others"].groupby("metric", sort=False)["sigma"].median()
    return pd.DataFrame(columns, index=means.index).assign(
        **{"σ chosen on the others, median": sigma}
    )


def readable_provenance(provenance: dict) -> pd.DataFrame:
    """Return where a full-scale table comes from, one row a fact.

    Parameters
    ----------
    provenance : dict
        From `studies.kit.results.read_result`.

    Returns
    -------
    DataFrame
    """
    machine, versions = provenance["machine"], provenance["packages"]
    facts = {
        "commit": provenance["git"]["commit"],
        "seed": provenance["seed"],
        "settings": ", ".join(f"{k} = {v}" for k, v in provenance["settings"].items()),
        "wall time": f"{provenance['wall_time'] / 60:.1f} minutes",
        "machine": ", ".join(str(value) for value in machine.values()),
        "versions": ", ".join(f"{k} {v}" for k, v in versions.items()),
    }
    return pd.DataFrame({"full results": facts})


def _with_interval(table: pd.DataFrame, value: str, scale: float, spec: str) -> list[str]:
    columns = table[[value, f"{value}_low", f"{value}_high"]] * scale
    return [
        f"{mean:{spec}} ({low:{spec}} to {high:{spec}})" for mean, low, high in columns.to_numpy()
    ]


def lead_tests(
    runs: pd.DataFrame,
    ids: Sequence[str],
    *,
    tie_break: str = "shared",
    n_resamples: int = 9999,
    seed: int = 20261127,
) -> pd.DataFrame:
    r"""Test whether PVF wins more often than it loses, and what the paper's count is worth.

    The splits of a repetition share patients and external tests, so they are no independent
    trials. If it made no difference which method is called which, a whole repetition's lead would
    be as likely as its opposite: the test flips the signs of whole repetitions, and so keeps all
    dependence inside them. It speaks of new subsets, splits and trees, given these patients.

    Parameters
    ----------
    runs : DataFrame
        From `clinical.by_repetition`, with at least two repetitions.
    ids : sequence of str
        Claims on shares.
    tie_break : str, default="shared"
    n_resamples : int, default=9999
        Random sign patterns; all of them where there are not more.
    seed : int

    Returns
    -------
    DataFrame
        One row for each claim and metric: ``lead``, the mean (%); ``p_value``, two-sided, of the
        sign-flip test; ``paper_lead`` (%); ``below``, ``same`` and ``above``, the shares (%) of
        our single runs with a smaller, equal (within half a split) and larger lead than the
        paper's; ``naive_p``, what a sign test makes of the paper's wins and losses as if the
        splits were independent; ``smallest_p``, the smallest that flipping the signs of the
        paper's few subsets could give; and ``inflation``, the variance of our runs' leads over
        that of independent splits.

    Examples
    --------
    >>> runs = clinical.by_repetition(
    ...     clinical.run_experiment(n_repetitions=3, sigmas=[0.2], n_candidates=10, n_sets=20)
    ... )
    >>> float(lead_tests(runs, ["BRE-4"]).loc[0, "smallest_p"])
    0.0625
    """
    rows = []
    for claim_id in ids:
        claim = claims()[claim_id]
        n_subsets = clinical.DATASETS[claim["dataset"]]
        n_splits = 5 * n_subsets
        for metric in claim["metrics"]:
            part = _part(runs[runs["sigma"] == claim["sigma"]], metric, tie_break)
            lead = part["lead"].to_numpy()
            test = stats.permutation_test(
                (lead,),
                np.mean,
                permutation_type="samples",
                n_resamples=n_resamples,
                rng=np.random.default_rng(seed),
            )
            independent = (part["win"] + part["loss"] - part["lead"] ** 2).mean() / n_splits
            paper = _paper_lead(claim) / 100
            counts = {k: round(v * n_splits / 100) for k, v in _middle(_printed(claim)).items()}
            half = 0.5 / n_splits
            rows.append(
                {
                    "claim": claim_id,
                    "metric": metric,
                    "sigma": claim["sigma"],
                    "lead": 100 * lead.mean(),
                    "p_value": test.pvalue,
                    "paper_lead": 100 * paper,
                    "below": 100 * (lead < paper - half).mean(),
                    "same": 100 * (np.abs(lead - paper) <= half).mean(),
                    "above": 100 * (lead > paper + half).mean(),
                    "naive_p": stats.binomtest(
                        counts["win"], counts["win"] + counts["loss"]
                    ).pvalue,
                    "smallest_p": 2.0 ** (1 - n_subsets),
                    "inflation": lead.var(ddof=1) / independent,
                }
            )
    return pd.DataFrame(rows)


def power_table(ids: Sequence[str]) -> pd.DataFrame:
    """Return our lead on each claim, and the smallest that one run detects with 80% power."""
    parts = [
        (claim, part)
        for claim in ids
        for part in getattr(judge(claim), "parts", ())
        if part.region is not None and np.isfinite(part.detectable) and "tie" not in part.says
    ]
    rows = {
        (claim, part.says): {
            "ours (%)": interval_text(part.estimate, part.low, part.high, ".0f"),
            "outcome": part.outcome,
            "smallest that one run detects": f"{part.detectable:.0f}",
        }
        for claim, part in parts
    }
    index = pd.MultiIndex.from_tuples(rows, names=["claim", "part"])
    return pd.DataFrame(list(rows.values()), index=index)


def readable_tests(table: pd.DataFrame) -> pd.DataFrame:
    """Return `lead_tests`'s table as text, one row for each claim and metric.

    Parameters
    ----------
    table : DataFrame
        From `lead_tests`.

    Returns
    -------
    DataFrame
    """
    columns = {
        "our mean lead (%)": table["lead"].map("{:.1f}".format),
        "p, sign flips of repetitions": table["p_value"].map("{:.2g}".format),
        "paper's lead (%)": table["paper_lead"].map("{:.0f}".format),
        "our runs below | at | above it (%)": [
            f"{row.below:.0f} | {row.same:.0f} | {row.above:.0f}" for row in table.itertuples()
        ],
        "p of the paper's count, splits as independent": table["naive_p"].map("{:.2g}".format),
        "smallest p that its subsets allow": table["smallest_p"].map("{:.2g}".format),
        "variance, times independent splits": table["inflation"].map("{:.1f}".format),
    }
    index = pd.MultiIndex.from_frame(table[["claim", "metric"]])
    return pd.DataFrame({name: list(values) for name, values in columns.items()}, index=index)


@plotting.style()
def figure_of_single_runs(
    full: pd.DataFrame,
    ids: Sequence[str],
    live: pd.DataFrame | None = None,
    *,
    tie_break: str = "shared",
) -> Figure:
    """Draw how the leads of single runs spread, one panel a metric, with the paper's run.

    Parameters
    ----------
    full : DataFrame
        From `clinical.by_repetition`.
    ids : sequence of str
        Claims on shares, which together name each metric once.
    tie_break : str, default="shared"

    Returns
    -------
    matplotlib Figure
    """
    claim_of = {
        metric: claims()[claim_id] for claim_id in ids for metric in claims()[claim_id]["metrics"]
    }
    figure, grid = plt.subplots(2, 3, figsize=(8.2, 5.0), sharex=True, sharey=True)
    for metric, ax in zip(clinical.METRICS, grid.flat, strict=True):
        claim = claim_of[metric]
        lead = 100 * _part(full[full["sigma"] == claim["sigma"]], metric, tie_break)["lead"]
        ax.hist(lead, bins=np.arange(-102.5, 103, 5), alpha=0.5, label="our single runs")
        ax.axvline(0, color="0.35", linewidth=0.8)
        mark = {"color": COLOURS["paper"], "linewidth": 2, "linestyle": "--"}
        ax.axvline(_paper_lead(claim), label="the paper's run", **mark)
        if live is not None:
            seen = _part(live[live["sigma"] == claim["sigma"]], metric, tie_break)["lead"]
            ax.axvline(100 * seen.mean(), color=COLOURS["this run"], label="this run")
        ax.set_title(f"{metric}, σ = {claim['sigma']:g}")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    leads = 100 * _with_lead(full)["lead"]
    ax.set_xlim(leads.min() - 5, leads.max() + 5)
    figure.supxlabel("lead of PVF in one run: wins less losses (% of splits)", fontsize=10)
    figure.supylabel("runs", fontsize=10)
    plt.close(figure)  # a notebook would show it twice
    return figure


_REACHED = {
    "chance": "by chance",
    "average": "any tree",
    "traditional": "traditional tree",
    "pvf": "PVF’s tree",
    "best": "best of 100 trees",
}


@plotting.style()
def figure_of_reached_cases(
    reached: pd.DataFrame, *, sigma: float, capacity: float = 0.1
) -> Figure:
    """Draw how many cases are reached among a hundred patients with a given number of places.

    Parameters
    ----------
    reached : DataFrame
        From `clinical.reached_cases`, with at least two repetitions.
    sigma, capacity : float
        Noise level of PVF, and capacity γ.

    Returns
    -------
    matplotlib Figure
        One row of places a method, of which as many are filled as cases are reached on average.
    """
    part = reached[(reached["sigma"] == sigma) & (reached["capacity"] == capacity)]
    places = round(100 * capacity)
    figure, ax = plt.subplots(figsize=(8.2, 3.0))
    slots, names = np.arange(places), []
    for row, column in enumerate(_REACHED):
        mean = part[column].mean()
        low, high = stats.t.interval(
            0.95, len(part) - 1, loc=mean, scale=max(stats.sem(part[column]), 1e-12)
        )
        filled = np.clip(mean - slots, 0, 1) * 0.8
        color = COLOURS.get(column, "0.5")
        ax.barh(row, 0.8, left=slots, height=0.6, color="0.9", edgecolor="0.6", linewidth=0.6)
        ax.barh(row, filled, left=slots, height=0.6, color=color)
        names.append(f"{_REACHED[column]}\n{mean:.2f} ({low:.2f} to {high:.2f})")
    ax.set_yticks(range(len(_REACHED)), names)
    ax.invert_yaxis()
    ax.set_xlim(0, places)
    named = slots[[0, *range(4, places, 5)]]
    ax.set_xticks(named + 0.4, [str(slot + 1) for slot in named])
    ax.set_xlabel(
        f"cases reached by {places} places; of 100 patients {part['cases'].mean():.1f} are cases"
    )
    plt.close(figure)  # a notebook would show it twice
    return figure


def effects_of_choices(choices: pd.DataFrame, *, sigma: float) -> pd.DataFrame:
    """Return each variant's means with half-widths, and how its lead differs from the first's."""
    part = _with_lead(choices[choices["sigma"] == sigma])
    part["lead"] *= 100
    groups = part.groupby(["variant", "metric"], sort=False)
    values = ["lead", "gain", "external_traditional"]
    mean, error, n = groups[values].mean(), groups[values].sem(), groups.size()
    table = mean.join(error.mul(stats.t.ppf(0.975, n - 1), axis=0).add_suffix("_reach"))
    first = part["variant"].iloc[0]
    rows = []
    for variant, metric in table.index:
        ours, base = (groups.get_group((name, metric))["lead"] for name in (variant, first))
        interval = stats.ttest_ind(ours, base, equal_var=False).confidence_interval()
        same = variant == first
        rows.append(
            {
                "change": ours.mean() - base.mean(),
                "change_reach": 0.0 if same else (interval.high - interval.low) / 2,
            }
        )
    return table.assign(**pd.DataFrame(rows, index=table.index)).reset_index()


def readable_choices(effects: pd.DataFrame, *, metric: str) -> pd.DataFrame:
    """Return one metric's rows of `effects_of_choices` as text.

    Parameters
    ----------
    effects : DataFrame
        From `effects_of_choices`.
    metric : str

    Returns
    -------
    DataFrame
    """
    part = effects[effects["metric"] == metric].set_index("variant")
    columns = {
        "lead (%)": ("lead", ".0f"),
        "change of the lead": ("change", "+.0f"),
        "gain": ("gain", ".4f"),
        f"external {metric} of the traditional choice": ("external_traditional", ".3f"),
    }
    return pd.DataFrame(
        {
            label: [
                f"{mean:{spec}} ± {reach:{spec.lstrip('+')}}"
                for mean, reach in part[[value, f"{value}_reach"]].to_numpy()
            ]
            for label, (value, spec) in columns.items()
        },
        index=part.index,
    )
