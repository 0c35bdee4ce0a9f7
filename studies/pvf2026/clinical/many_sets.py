"""How much of PVF's choice is chance: Algorithm 1 with M sets beside its limit, without drawing.

A set's score is a function of its true and false positives, whose laws are known for trees. The
lower quartile of M scores is an order statistic where (M − 1)/4 is whole, so its law is known too;
and since Algorithm 1 draws the sets of each tree for itself, so is the law of its choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import betainc, betaincinv

from pvf._types import Array, Flags
from pvf.exact import counts_law
from pvf.validation import is_tied_best
from studies.kit.dots import Frames, changed, crossed, lines
from studies.kit.estimates import less_base, mean_estimates
from studies.kit.show import finished
from studies.kit.study import Settings, Study, setting
from studies.pvf2026.clinical import run

#: Numbers of sets whose lower quartile is one of the scores; 101 stands for the paper's 100.
N_SETS = (5, 21, 101, 401, 1001, 4001)
METRICS = ("IE@0.1", "IE@0.5", "F1")
_SHARE = 0.25


@dataclass(frozen=True)
class ManySetsSettings(Settings):
    """What the study can be told."""

    datasets: tuple[str, ...] = setting(tuple(run.DATASETS), "data sets")
    n_repetitions: int = setting(1, "runs of the whole experiment", full=4, low=1)
    n_subsets: int = setting(1, "subsets of each run", full=6, low=1)
    sigmas: tuple[float, ...] = setting((0.1, 0.3), "noise σ", full=(0.01, 0.1, 0.3, 0.5))
    seed: int = setting(20261127, "seed of all repetitions", low=0)


def laws_of_scores(flags: Array, is_case: Flags, n_replicas: int, *places: int) -> list[Array]:
    """Return the cdf of every tree's score on one set, for each metric on a grid of its scores.

    Parameters
    ----------
    flags : ndarray of shape (n_trees, n_samples)
        How likely each tree flags a perturbed copy of each sample.
    is_case : ndarray of shape (n_samples,)
    n_replicas : int
        Copies of each sample.
    *places : int
        The metrics' places in `run.METRICS`.

    Returns
    -------
    list of ndarray of shape (n_trees, n_scores)
        Scores ascend.
    """
    n_pos, n_neg = (n_replicas * int(group.sum()) for group in (is_case, ~is_case))
    tp, fp = np.ogrid[: n_pos + 1, : n_neg + 1]
    scores = run.scores_from_counts(tp, fp, n_pos, n_neg)
    laws = [
        np.outer(*(counts_law(tree[group], n_replicas) for group in (is_case, ~is_case)))
        for tree in flags
    ]
    found = []
    for m in places:
        of_counts = np.broadcast_to(scores[m], (n_pos + 1, n_neg + 1)).round(12)
        values, place = np.unique(of_counts, return_inverse=True)
        chances = [np.bincount(place.ravel(), law.ravel(), len(values)) for law in laws]
        found.append(np.minimum(np.cumsum(chances, axis=1), 1.0))
    return found


def best_of_endless_sets(cdf: Array) -> Flags:
    """Return which models have the best lower quartile of the law itself."""
    quartile = (cdf < _SHARE - 1e-12).sum(axis=1)
    return quartile == quartile.max()


def _laws_of_quartiles(cdf: Array, n_sets: int) -> tuple[Array, Array]:
    """Return how likely each quartile of ``n_sets`` scores is below each score, and up to it."""
    rank = (n_sets - 1) // 4 + 1
    ends = rank, n_sets - rank + 1
    low, high = betaincinv(*ends, 1e-17), 1 - betaincinv(*ends[::-1], 1e-17)
    some = (cdf > low) & (cdf < high)  # outside the quartile's cdf is 0 or 1 to the last digit
    upto = np.where(cdf >= high, 1.0, 0.0)
    upto[some] = betainc(*ends, cdf[some])
    return np.hstack([np.zeros((len(cdf), 1)), upto[:, :-1]]), upto


def choices_of_few_sets(cdf: Array, n_sets: int) -> Array:
    """Return how likely each model is chosen by the lower quartile of its own ``n_sets`` scores.

    Of models that tie the first is taken.
    """
    below, upto = _laws_of_quartiles(cdf, n_sets)
    return ((upto - below) * _others(below, upto)).sum(axis=1)


def choices_by_lot(cdf: Array, n_sets: int) -> Array:
    """Return the same where models that tie draw lots.

    Where every other model beats lot z with probability z if it ties, the chance to win is a
    polynomial in z, whose mean over all lots is summed at Gauss's nodes, without error.
    """
    below, upto = _laws_of_quartiles(cdf, n_sets)
    nodes, weights = np.polynomial.legendre.leggauss(len(cdf) // 2 + 1)
    won = [_others(lower, lower) for lower in (below + z * (upto - below) for z in (nodes + 1) / 2)]
    return ((upto - below) * np.tensordot(weights / 2, won, axes=1)).sum(axis=1)


def _others(earlier: Array, later: Array) -> Array:
    """Return the products of all rows before each, of one table, and after it, of another."""
    ones = np.ones((1, earlier.shape[1]))
    before = np.vstack([ones, np.cumprod(earlier, axis=0)[:-1]])
    return before * np.vstack([np.cumprod(later[::-1], axis=0)[::-1][1:], ones])


def _blocks(settings: ManySetsSettings) -> list[tuple[str, int]]:
    run.need_data(*settings.datasets)
    return [*product(settings.datasets, range(settings.n_repetitions))]


def _block(key: tuple[str, int], settings: ManySetsSettings) -> pd.DataFrame:
    """Return one repetition's means over its splits."""
    dataset, block = key
    experiment = asdict(run.Experiment(dataset=dataset, seed=settings.seed))
    rows: list[dict[str, Any]] = []
    for part in run.splits(block, experiment):
        if part.subset >= settings.n_subsets:
            break
        rows += _of_split(part.problem, experiment["n_replicas"], settings.sigmas)
    table = pd.DataFrame(rows).groupby(["sigma", "metric", "n_sets"], sort=False).mean()
    table = table.round(6).reset_index()
    table.insert(0, "dataset", dataset)
    table.insert(1, "repetition", block)
    return table


def _of_split(
    problem: run.Problem, n_replicas: int, sigmas: tuple[float, ...]
) -> Iterator[dict[str, Any]]:
    """Yield how Algorithm 1's choice of M sets compares with its limit's; 0 stands for no end.

    ``same`` is the probability that it is the limit's or ties with it, ``win`` and ``loss`` those
    that it is externally better and worse than the first of the trees that tie traditionally.
    """
    places = [run.METRICS.index(metric) for metric in METRICS]
    traditional = is_tied_best(run.validation_scores(problem))
    for sigma in sigmas:
        flags = run.flag_probability(problem.trees, problem.X_validation, sigma, problem.categories)
        laws = laws_of_scores(flags, problem.y_validation, n_replicas, *places)
        for metric, m, cdf in zip(METRICS, places, laws, strict=True):
            best = best_of_endless_sets(cdf)
            gain = problem.external[m] - problem.external[m][traditional[m].argmax()]
            chances = {0: np.eye(len(best))[best.argmax()]}
            chances |= {n_sets: choices_of_few_sets(cdf, n_sets) for n_sets in N_SETS}
            for n_sets, chance in chances.items():
                yield {
                    "sigma": sigma,
                    "metric": metric,
                    "n_sets": n_sets,
                    "same": chance @ best,
                    "win": chance @ (gain > 1e-12),
                    "loss": chance @ (gain < -1e-12),
                }


def estimate(table: pd.DataFrame) -> pd.DataFrame:
    """Return the share of same choices and the lead over the traditional one, in percent."""
    rows = table.assign(lead=table["win"] - table["loss"])
    pairs = ["dataset", "repetition", "sigma", "metric"]
    rows["lost"] = -less_base(rows, "lead", pairs, rows["n_sets"] == 0)
    keys = ["dataset", "sigma", "metric", "n_sets"]
    return mean_estimates(rows, keys, ["same", "lead", "lost"], unit="% of splits", scale=100)


def sets_needed(estimates: pd.DataFrame, share: float = 95.0) -> pd.DataFrame:
    """Return the smallest M of those tried by which the choice is the limit's in 95% of runs.

    Where there are several configurations, it is so in each.

    Returns
    -------
    DataFrame
        Indexed by σ, one column a metric; a text, "more than 4001" where none is enough.
    """
    rows = estimates[(estimates["quantity"] == "same") & (estimates["n_sets"] > 0)]
    least = rows.groupby(["sigma", "metric", "n_sets"])["estimate"].min().reset_index()
    enough = least[least["estimate"] >= share].groupby(["sigma", "metric"])["n_sets"].min()
    table = enough.unstack().reindex(  # noqa: PD010
        index=sorted(rows["sigma"].unique()), columns=list(METRICS)
    )
    most = rows["n_sets"].max()
    return table.map(lambda n: f"more than {most}" if np.isnan(n) else f"{n:.0f}")


def figure_of_sets(frames: Frames, *, low: float = 0, **where: Any) -> Figure:
    """Draw how often M sets lead to the limit's choice, in percent from a lowest on."""
    sigmas = {f"σ = {one:g}": {"sigma": one} for one in sorted(frames.run["sigma"].unique())}
    metrics = {metric: {"metric": metric} for metric in METRICS}
    columns = crossed(metrics, sigmas, quantity="same", **where)
    figure, axes = lines(
        changed(frames, lambda rows: rows[rows["n_sets"] > 0]),
        "n_sets",
        columns,
        line="-",
        size=(2.9, 3.2),
        xlabel="perturbed sets M",
        ylabel="runs with the choice\nof endless sets (%)",
    )
    for ax in axes:
        ax.axhline(95, color="0.35", linewidth=0.8, linestyle="--")
    axes[0].set(xscale="log", ylim=(low, 103))
    return finished(figure, legend_columns=4)


MANY_SETS = Study(
    name="many_sets",
    settings=ManySetsSettings,
    blocks=_blocks,
    block=_block,
    estimate=estimate,
    figures={
        "fig-breast-sets": partial(figure_of_sets, dataset="breast-cancer"),
        "fig-cervical-sets": partial(figure_of_sets, dataset="cervical-cancer"),
    },
    sample={"n_repetitions": 1, "datasets": ("breast-cancer",), "sigmas": (0.3,)},
)
