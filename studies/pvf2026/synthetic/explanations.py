"""Why PVF seems to win: each explanation of the synthetic results, put to the test."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from studies.kit.claims import claims
from studies.pvf2026.synthetic.run import run_sweep
from studies.pvf2026.synthetic.show import PAPER_METRICS, best_sigma, group_means, with_groups


def unchanged(rows: pd.DataFrame) -> pd.DataFrame:
    """Count configurations in which both methods chose alike in every repetition."""
    shown = rows[rows["metric"].isin(PAPER_METRICS)]
    zero = shown.assign(zero=shown["difference"].abs() < 1e-9)
    table = zero.pivot_table(index="sigma", columns="tie_break", values="zero") * 100
    largest = shown.groupby("sigma")["difference"].agg(lambda d: d.abs().max())
    return table.assign(**{"largest difference": largest})


def chance_of_best(table: pd.DataFrame, *, n_repetitions: int = 5000) -> pd.DataFrame:
    """Return the lead that chance alone gives the best of six σ, were both methods the same.

    If the two methods' models are fitted to training sets of their own, or oversampled by draws of
    their own, their choices differ even where the methods don't. At most, they are independent:
    the difference of two counts of n choices with probability p then has variance 2np(1 − p). The
    mean over a separability group is nearly normal, and the best of six σ is the largest of six
    such means.
    """
    part = table[(table["method"] == "traditional") & (table["tie_break"] == "even")]
    part = part[part["metric"].isin(PAPER_METRICS)]
    part = with_groups(part)
    keys = ["n_samples", "group", "metric"]
    sums = part.groupby([*keys, "mu"])[["n_selected", "n_repetitions"]].sum()
    p = sums["n_selected"] / sums["n_repetitions"]
    variance = (2 * n_repetitions * p * (1 - p)).groupby(level=keys)
    sd = np.sqrt(variance.sum()) / variance.size()
    n_sigmas = len(table["sigma"].unique())
    # The expectation of the largest of k standard normals, by its quantile function.
    grid = (np.arange(200_000) + 0.5) / 200_000
    expected = stats.norm.ppf(grid ** (1 / n_sigmas)).mean()
    high = stats.norm.ppf(0.975 ** (1 / n_sigmas))
    return pd.DataFrame({"sd": sd, "best": expected * sd, "best_high": high * sd}).reset_index()


def optimism_of_best_sigma(
    whole: pd.DataFrame, first: pd.DataFrame, others: pd.DataFrame
) -> pd.DataFrame:
    """Compare the lead at the best σ, chosen where it is reported, with one chosen elsewhere."""
    keys = ["n_samples", "group", "metric", "tie_break"]
    means = [group_means(rows) for rows in (whole, first, others)]
    same = best_sigma(means[0], means[0]).set_index(keys)["difference"]
    one = best_sigma(means[1], means[2]).set_index(keys)
    two = best_sigma(means[2], means[1]).set_index(keys).loc[one.index]
    split = (one["difference"] + two["difference"]) / 2
    half_width = np.hypot(one["high"] - one["difference"], two["high"] - two["difference"]) / 2
    return pd.DataFrame(
        {
            "same": same.loc[one.index],
            "split": split,
            "split_low": split - half_width,
            "split_high": split + half_width,
        }
    ).reset_index()


def mixtures(rows: pd.DataFrame) -> pd.DataFrame:
    """Set every pair of tie rules beside the paper's lead at low separability (SYN-3)."""
    numbers = claims()["SYN-3"]["numbers"]
    part = rows[(rows["n_samples"] == 50) & (rows["mu"] < 1) & rows["metric"].isin(PAPER_METRICS)]
    chosen = part.groupby(["method", "tie_break", "metric", "sigma"])["n_selected"].mean()
    found = []
    for ours, theirs in itertools.product(["first", "even", "last"], repeat=2):
        lead = (chosen.loc["pvf", ours] - chosen.loc["traditional", theirs]).unstack("sigma")  # noqa: PD010
        best = lead.max(axis=1)
        distance = np.maximum(numbers["least"] - best, best - numbers["most"]).clip(lower=0).max()
        found.append(
            {
                "PVF's ties": ours,
                "traditional ties": theirs,
                "at σ = 1e-6, least": lead[1e-6].min(),
                "at σ = 1e-6, most": lead[1e-6].max(),
                "at the best σ, least": best.min(),
                "at the best σ, most": best.max(),
                "distance": distance,
            }
        )
    return pd.DataFrame(found).sort_values("distance", kind="stable", ignore_index=True)


def needed_leak(mixed: pd.DataFrame) -> tuple[float, float]:
    """Return which share of ties would have to go to PVF's true pair to give the paper's lead."""
    numbers = claims()["SYN-3"]["numbers"]
    row = mixed[(mixed["PVF's ties"] == "first") & (mixed["traditional ties"] == "even")].iloc[0]
    return (
        numbers["least"] / row["at σ = 1e-6, most"],
        numbers["most"] / row["at σ = 1e-6, least"],
    )


def common_noise_effect(
    n_repetitions: int = 100,
    *,
    mus: Sequence[float] = (0.5, 1.5, 2.5),
    sigma: float = 0.1,
    seed: int = 1,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Compare noise that all candidates share with noise of their own, on the same data sets."""
    shares = {}
    for name, common in (("separate", False), ("common", True)):
        table = run_sweep(
            mus=mus,
            sigmas=[sigma],
            n_repetitions=n_repetitions,
            common_noise=common,
            seed=seed,
            n_jobs=n_jobs,
        )
        part = table[(table["method"] == "pvf") & (table["tie_break"] == "even")]
        part = part[part["metric"].isin(PAPER_METRICS)]
        part = part.set_index(["n_samples", "mu", "metric"])
        shares[name] = 100 * part["n_selected"] / part["n_repetitions"]
    frame = pd.DataFrame(shares)
    p = frame.mean(axis=1) / 100
    return frame.assign(half_width=196 * np.sqrt(p * (1 - p) / n_repetitions)).reset_index()
