"""Tables and figures of the clinical chapters, from the experiment's estimates and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from pvf import _checks as check
from studies.kit.claims import claims, parts_table
from studies.kit.dots import Frames, at, changed, crossed, lines, open_before, placed
from studies.kit.estimates import mean_estimates
from studies.kit.show import (
    COLOURS,
    beside_paper,
    finished,
    level_axis,
    panels,
    runs_shown,
    text_table,
)
from studies.pvf2026.clinical import run as clinical

_RULES = {
    "first": "first of the tied",
    "last": "last of the tied",
    "random": "random, each method for itself",
    "shared": "random, one order for both",
}
_SHARES = ["win", "loss", "tie"]
LEAD = "lead of PVF: wins less losses (% of splits)"
GAIN = "gain: external metric, PVF less traditional"
_NOISE = "noise σ (standard deviations of the training part)"
#: The reader's words for keys and quantities.
NAMES = {
    **_RULES,
    **{share: f"{share} (%)" for share in (*_SHARES, "lead")},
    "change": "change of the lead",
    "within": "PVF's choice ties (%)",
    "gain_within": "of the gain, from choosing among the ties",
    "n_tied_traditional": "trees that tie: traditional",
    "n_tied_pvf": "trees that tie: PVF",
    "external_traditional": "external score of the traditional choice",
    "same": "lead, σ chosen on the same run (%)",
    "others": "lead, σ chosen on the other runs (%)",
    "optimism": "difference",
}
#: Formats of the tables' numbers.
SPECS = {
    **dict.fromkeys((*_SHARES, "lead", "within", "same", "others", "optimism"), ".0f"),
    **dict.fromkeys(("gain", "gain_within", "external_traditional"), ".3f"),
    **dict.fromkeys(("n_tied_traditional", "n_tied_pvf"), ".1f"),
    "change": "+.0f",
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
        Columns of `clinical.run_experiment`'s result without subsets and splits; ``repetition``
        numbers the problems.

    Examples
    --------
    >>> table = simulated_problems(3)
    >>> sorted(table["metric"].unique())[:2]
    ['F1', 'IE@0.1']
    """
    check.integer("n_problems", n_problems, 1)
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
    settings = {"sigmas": [sigma], "n_sets": 100, "n_replicas": 7, "aggregate": 0.25, "seed": seed}
    y = np.repeat([True, False], [6, 14])
    frames = []
    for problem in range(n_problems):
        key = np.random.SeedSequence(seed, spawn_key=(problem, 0))
        X = np.random.default_rng(key).normal(np.where(y, 3.0, 0.0))[:, None]
        part = clinical.Problem(X, y, truth, stumps, 0)
        frames.append(clinical.judge(part, (problem, 1), settings).assign(repetition=problem))
    return pd.concat(frames, ignore_index=True)


def printed_beside_ours(estimates: pd.DataFrame, ids: Sequence[str]) -> pd.DataFrame:
    """Set the wins, losses and ties that claims print beside ours, with the range of single runs.

    A printed range stands by its middle.
    """
    parts = []
    for claim in _entries(ids):
        rows = at(estimates, sigma=claim["sigma"], metric=claim["metrics"], quantity=_SHARES)
        parts.append(rows.assign(claim=claim["id"], paper=rows["quantity"].map(_printed(claim))))
    ours = runs_shown(pd.concat(parts, ignore_index=True))
    index = ["claim", "metric", "sigma", "tie_break"]
    return beside_paper(ours, index, ["quantity"], spec=".0f", names=NAMES)


def _entries(ids: Sequence[str]) -> list[dict[str, Any]]:
    return [claims()[claim] for claim in ids]


def _printed(claim: Mapping[str, Any]) -> dict[str, float]:
    return {share: float(np.mean(value)) for share, value in claim["numbers"].items()}


def _paper_lead(claim: Mapping[str, Any]) -> float:
    printed = _printed(claim)
    return printed["win"] - printed["loss"]


#: What the figures over σ share.
_OVER_SIGMA: dict[str, Any] = {"size": (2.7, 2.6), "level": 0, "xlabel": _NOISE}


def figure_of_leads(frames: Frames, *, ids: Sequence[str]) -> Figure:
    """Draw PVF's lead over σ with the range of single runs, and what claims print, by metric."""
    sigmas = sorted(frames.whole["sigma"].unique())
    figure, axes = panels(6, titles=clinical.METRICS, ylabel=LEAD, **_OVER_SIGMA)
    leads = changed(frames, lambda rows: at(rows, quantity="lead", tie_break="shared"))
    leads = placed(leads, ["sigma"], [(sigma,) for sigma in sigmas])
    for metric, ax in zip(clinical.METRICS, axes, strict=True):
        rows = at(leads.whole, metric=metric).sort_values("place")
        ends = rows["run_low"], rows["run_high"]
        ax.fill_between(rows["place"], *ends, alpha=0.2, linewidth=0, label="95% of single runs")
        ax.plot(rows["place"], rows["estimate"], label="mean of all runs")
        if frames.full is not None:
            rows, colour = at(leads.run, metric=metric), COLOURS["this run"]
            points = rows["place"], rows["estimate"], "o"
            ax.plot(*points, color=colour, markersize=4, label="this run")
        for claim in _entries(ids):
            if metric in claim["metrics"]:
                place = sigmas.index(claim["sigma"])
                ax.plot(place, _paper_lead(claim), "D", color=COLOURS["paper"], label="the paper")
        level_axis(ax, sigmas)
    return finished(figure, legend_columns=4)


def figure_by_rule(quantity: str, label: str, frames: Frames, **shared: Any) -> Figure:
    """Draw a quantity over σ under each tie rule, by metric; open marks are a smaller run's."""
    frames, styles = open_before(frames)
    metrics = {metric: {"metric": metric} for metric in clinical.METRICS}
    rules = {words: {"tie_break": rule} for rule, words in _RULES.items()}
    columns = crossed(metrics, rules, quantity=quantity)
    sigmas = sorted(frames.whole["sigma"].unique())
    how: dict[str, Any] = {"levels": sigmas, "spread": 0.56, "line": "-", "styles": styles}
    figure, _ = lines(frames, "sigma", columns, **how, ylabel=label, **_OVER_SIGMA, **shared)
    return finished(figure, legend_columns=2)


def tuned(runs: pd.DataFrame) -> pd.DataFrame:
    """Return each repetition's shares at the σ with the largest lead, chosen in two ways.

    Parameters
    ----------
    runs : DataFrame
        From `clinical.by_repetition`, with at least two repetitions.

    Returns
    -------
    DataFrame
        Rows of ``runs``, with a column ``chosen_on``: "same" picks σ on the repetition that it is
        reported on, as the paper does; "others" on all other repetitions, so that the report is
        of data that the choice has not seen. Of equal leads the smallest σ is taken.

    Examples
    --------
    >>> runs = clinical.by_repetition(
    ...     clinical.run_experiment(n_repetitions=2, sigmas=[1e-6, 0.2], n_candidates=10)
    ... )
    >>> tuned(runs).groupby("chosen_on").size().to_dict()
    {'others': 48, 'same': 48}
    """
    n_repetitions = runs["repetition"].nunique()
    if n_repetitions < 2:
        raise ValueError(f"runs must hold at least two repetitions, got {n_repetitions}.")
    runs = runs.assign(lead=runs["win"] - runs["loss"]).sort_values("sigma", kind="stable")
    group = ["metric", "tie_break"]
    total = runs.groupby([*group, "sigma"])["lead"].transform("sum")
    criteria = {"same": runs["lead"], "others": total - runs["lead"]}
    picked = []
    for chosen_on, criterion in criteria.items():
        best = criterion.round(12).groupby([runs[c] for c in (*group, "repetition")]).idxmax()
        picked.append(runs.loc[best].assign(chosen_on=chosen_on))
    return pd.concat(picked, ignore_index=True).drop(columns="lead")


def tuned_leads(runs: pd.DataFrame) -> pd.DataFrame:
    """Return as texts what choosing σ on the reported results is worth, by metric; shared ties."""
    picked = clinical.in_percent(at(tuned(runs), tie_break="shared"))
    leads = picked.pivot_table("lead", ["metric", "repetition"], "chosen_on", sort=False)
    leads["optimism"] = leads["same"] - leads["others"]
    found = mean_estimates(leads.reset_index(), ["metric"], ["same", "others", "optimism"])
    sigma = at(picked, chosen_on="others").groupby("metric", sort=False)["sigma"].median()
    table = text_table(found, "metric", spec=SPECS, names=NAMES)
    return table.assign(**{"σ chosen on the others, median": sigma})


def lead_tests(
    runs: pd.DataFrame, ids: Sequence[str], *, n_resamples: int = 9999, seed: int = 20261127
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
    shared = at(clinical.in_percent(runs), tie_break="shared")
    for claim in _entries(ids):
        for metric in claim["metrics"]:
            part = at(shared, sigma=claim["sigma"], metric=metric)
            found = stats.permutation_test(
                (part["lead"].to_numpy(),),
                np.mean,
                permutation_type="samples",
                n_resamples=n_resamples,
                rng=np.random.default_rng(seed),
            )
            names = {"claim": claim["id"], "metric": metric, "lead": part["lead"].mean()}
            rows.append(names | {"p_value": found.pvalue} | _beside_printed(part, claim))
    return pd.DataFrame(rows)


def _beside_printed(runs: pd.DataFrame, claim: Mapping[str, Any]) -> dict[str, float]:
    """Return where the paper's lead lies among single runs, and what its counts can say."""
    n_subsets = clinical.DATASETS[claim["dataset"]]
    n_splits, paper, lead = 5 * n_subsets, _paper_lead(claim), runs["lead"]
    half = 50 / n_splits
    wins, losses = (round(_printed(claim)[share] * n_splits / 100) for share in ("win", "loss"))
    independent = (100 * (runs["win"] + runs["loss"]) - lead**2).mean() / n_splits
    return {
        "paper_lead": paper,
        "below": 100 * (lead < paper - half).mean(),
        "same": 100 * ((lead - paper).abs() <= half).mean(),
        "above": 100 * (lead > paper + half).mean(),
        "naive_p": stats.binomtest(wins, wins + losses).pvalue,
        "smallest_p": 2.0 ** (1 - n_subsets),
        "inflation": lead.var(ddof=1) / independent,
    }


def detectable_leads(ids: Sequence[str]) -> pd.DataFrame:
    """Return the smallest lead that one run detects beside ours, on the parts of claims."""
    parts = parts_table(*ids)
    return parts[~parts["part"].str.contains("tie")]


def lost_to_chance(sets: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Return what 101 sets lose against endless ones, and who chooses otherwise at σ = 0.3 (%)."""
    of_101 = at(sets, n_sets=101)
    same = at(of_101, quantity="same", sigma=0.3).set_index("metric")["estimate"]
    lost = text_table(at(of_101, quantity="lost"), "sigma", "metric", spec="+.1f")
    return lost, 100 - same


#: The reader's words for the columns of `lead_tests`, and their formats.
_TESTS = {
    "lead": ("our mean lead (%)", ".1f"),
    "p_value": ("p, sign flips of repetitions", ".2g"),
    "paper_lead": ("paper's lead (%)", ".0f"),
    "below": ("our runs below it (%)", ".0f"),
    "same": ("at it (%)", ".0f"),
    "above": ("above it (%)", ".0f"),
    "naive_p": ("p of the paper's count, splits as independent", ".2g"),
    "smallest_p": ("smallest p that its subsets allow", ".2g"),
    "inflation": ("variance, times independent splits", ".1f"),
}


def tests_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return `lead_tests`'s table as texts."""
    named = table.set_index(["claim", "metric"])
    return pd.DataFrame(
        {words: named[name].map(f"{{:{spec}}}".format) for name, (words, spec) in _TESTS.items()}
    )


_REACHED = {
    "chance": "by chance",
    "average": "any tree",
    "traditional": "traditional tree",
    "pvf": "PVF’s tree",
    "best": "best of 100 trees",
}


def figure_of_reached_cases(frames: Frames, *, dataset: str, sigma: float) -> Figure:
    """Draw how many cases ten places in a hundred reach, a row of places a way to choose."""
    places = 10
    rows = at(frames.whole, dataset=dataset, sigma=sigma, capacity=places / 100)
    mean, texts = rows.set_index("quantity")["estimate"], text_table(rows, "quantity", None)
    figure, (ax,) = panels(1, size=(8.2, 2.6))
    slots = np.arange(places)
    for row, way in enumerate(_REACHED):
        filled = np.clip(mean[way] - slots, 0, 1) * 0.8
        ax.barh(row, 0.8, left=slots, height=0.6, color="0.9", edgecolor="0.6", linewidth=0.6)
        ax.barh(row, filled, left=slots, height=0.6, color=COLOURS.get(way, "0.5"))
    names = [f"{name}\n{texts.loc[way, 'estimate']}" for way, name in _REACHED.items()]
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    named = slots[[0, *range(4, places, 5)]]
    ax.set_xticks(named + 0.4, [str(slot + 1) for slot in named])
    told = f"cases reached by {places} places; of 100 patients {mean['cases']:.1f} are cases"
    ax.set(xlim=(0, places), xlabel=told)
    return finished(figure)
