"""How the time of perturbation validation grows with each of its sizes (CPX-1)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from pvf import plotting
from pvf.perturbation import GaussianNoise, Perturbation
from pvf.validation import perturbation_validation
from studies.kit.claims import Finding

__all__ = ["SIZES", "decide", "figure_of_cost", "fit_slopes", "measure_times", "verdict"]

#: The sizes of Algorithm 1, their value at the start, and what the letters mean.
SIZES: dict[str, tuple[int, str]] = {
    "Q": (10, "models"),
    "M": (100, "perturbed sets"),
    "k": (7, "replicas"),
    "n": (100, "samples"),
    "d": (20, "features"),
}


def measure_times(
    factors: Sequence[int] = (1, 2, 4, 8), *, n_rounds: int = 3, seed: int = 1
) -> pd.DataFrame:
    """Time `pvf.perturbation_validation` while one size grows and the others stay.

    Parameters
    ----------
    factors : sequence of int
        What each size is multiplied by.
    n_rounds : int, default=3
        Measurements of each setting; the fastest counts.
    seed : int

    Returns
    -------
    DataFrame
        ``size`` (Q, M, k, n or d), ``value`` and ``seconds`` of processor time.
    """
    rows = []
    for size in SIZES:
        for factor in factors:
            values = {name: start for name, (start, _) in SIZES.items()}
            values[size] *= factor
            seconds = min(_seconds(values, seed) for _ in range(n_rounds))
            rows.append({"size": size, "value": values[size], "seconds": seconds})
    return pd.DataFrame(rows)


def _seconds(values: Mapping[str, int], seed: int) -> float:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(values["n"], values["d"]))
    y = np.arange(values["n"]) % 4 == 0
    trees = [
        DecisionTreeClassifier(max_depth=4, random_state=q).fit(X, rng.permutation(y))
        for q in range(values["Q"])
    ]
    perturbation = Perturbation(GaussianNoise(0.1)).fit(X)
    start = time.process_time()  # what else runs on the machine does not count
    perturbation_validation(
        trees,
        X,
        y,
        perturbation=perturbation,
        scoring="f1",
        n_sets=values["M"],
        n_replicas=values["k"],
        random_state=seed,
    )
    return time.process_time() - start


def fit_slopes(times: pd.DataFrame) -> pd.DataFrame:
    """Return the slope of log time over the log of each size, with a 95% interval.

    Parameters
    ----------
    times : DataFrame
        Columns ``size``, ``value``, ``seconds``; at least three values a size.

    Returns
    -------
    DataFrame
        Indexed by size: ``slope``, ``low``, ``high``. A slope of 1 is linear growth.

    Examples
    --------
    >>> times = pd.DataFrame({"size": "n", "value": [1, 2, 4], "seconds": [3.0, 6.0, 12.0]})
    >>> fit_slopes(times).round(6).loc["n"].tolist()
    [1.0, 1.0, 1.0]
    """
    rows = {}
    for size, part in times.groupby("size", sort=False):
        fit = stats.linregress(np.log(part["value"]), np.log(part["seconds"]))
        reach = stats.t.ppf(0.975, len(part) - 2) * fit.stderr
        rows[size] = {"slope": fit.slope, "low": fit.slope - reach, "high": fit.slope + reach}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("size")


def verdict(slopes: pd.DataFrame) -> str:
    """Judge CPX-1, cost O(Q M k n d): no size makes the time grow faster than linearly.

    Parameters
    ----------
    slopes : DataFrame
        From `fit_slopes`.

    Returns
    -------
    str
        "reproduced" unless a slope lies above 1 with its whole interval.
    """
    return "not reproduced" if (slopes["low"] > 1).any() else "reproduced"


def decide(claim: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> Finding:
    """Judge CPX-1 from the committed times.

    Parameters
    ----------
    claim : mapping
        The ledger's entry.
    tables : mapping of str to DataFrame
        With ``cost_times``, from `measure_times`.

    Returns
    -------
    Finding
        Its number is the steepest slope.
    """
    del claim
    slopes = fit_slopes(tables["cost_times"])
    listed = ", ".join(f"{size} {slope:.2f}" for size, slope in slopes["slope"].items())
    steepest = slopes.loc[slopes["slope"].idxmax()]
    says = f"Slopes of log time over log size, where 1 is linear growth: {listed}"
    number, low, high = (float(steepest[key]) for key in ("slope", "low", "high"))
    return Finding(verdict(slopes), says, number, low, high)


@plotting.style()
def figure_of_cost(times: pd.DataFrame, slopes: pd.DataFrame) -> Figure:
    """Draw time over each size on logarithmic axes.

    Parameters
    ----------
    times : DataFrame
        From `measure_times`.
    slopes : DataFrame
        From `fit_slopes`.

    Returns
    -------
    matplotlib Figure
    """
    figure, ax = plt.subplots()
    for (size, part), marker in zip(times.groupby("size", sort=False), "osD^v", strict=False):
        label = f"{size}, {SIZES[size][1]}: slope {slopes.loc[size, 'slope']:.2f}"
        growth = part["value"] / part["value"].iloc[0]
        ax.plot(growth, part["seconds"], marker=marker, markersize=4, label=label)
    ax.set(
        xscale="log", yscale="log", xlabel="growth of the size (times)", ylabel="processor time (s)"
    )
    growth = times["value"] / times.groupby("size")["value"].transform("min")
    factors = sorted(set(growth.astype(float)))
    ax.set_xticks(factors, [f"{factor:g}" for factor in factors])
    ax.legend()
    plt.close(figure)
    return figure
