"""How the time of perturbation validation grows with each of its sizes (CPX-1)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from pvf.perturbation import GaussianNoise, Perturbation
from pvf.validation import perturbation_validation
from studies.kit.dots import Frames, changed, lines
from studies.kit.show import finished
from studies.kit.study import Settings, Study, setting

#: The sizes of Algorithm 1, their value at the start, and what the letters mean. What does not grow
#: with a size takes less than a tenth of the time at its start.
SIZES: dict[str, tuple[int, str]] = {
    "Q": (5, "models"),
    "M": (20, "perturbed sets"),
    "k": (7, "replicas"),
    "n": (200, "samples"),
    "d": (20, "features"),
}


@dataclass(frozen=True)
class CostSettings(Settings):
    """Settings of the measurement of time."""

    factors: tuple[int, ...] = setting(
        (1, 2, 4, 8), "what each size is multiplied by", full=(1, 2, 4, 8, 16)
    )
    n_rounds: int = setting(1, "measurements of each setting; the fastest counts", full=5, low=1)
    seed: int = setting(1, "of data, models and noise", low=0)


def measure_times(size: str, settings: CostSettings) -> pd.DataFrame:
    """Time `pvf.perturbation_validation` while one size grows and the others stay.

    As in Algorithm 1, each model is perturbed with noise of its own.
    """
    rows = []
    for factor in settings.factors:
        values = {name: start for name, (start, _) in SIZES.items()}
        values[size] *= factor
        seconds = min(_seconds(values, settings.seed) for _ in range(settings.n_rounds))
        rows.append({"size": size, "value": values[size], "seconds": seconds})
    return pd.DataFrame(rows)


def _seconds(values: dict[str, int], seed: int) -> float:
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
        common_noise=False,
        random_state=seed,
    )
    return time.process_time() - start


def estimate_slopes(times: pd.DataFrame) -> pd.DataFrame:
    """Return the times, and the slope of log time over the log of each size; 1 is linear."""
    found = [
        times.rename(columns={"seconds": "estimate"}).assign(
            quantity="time", low=np.nan, high=np.nan, n=1, unit="s"
        )
    ]
    for size, part in times.groupby("size", sort=False):
        fit = stats.linregress(np.log(part["value"]), np.log(part["seconds"]))
        reach = stats.t.ppf(0.975, len(part) - 2) * fit.stderr
        ends = {"low": fit.slope - reach, "high": fit.slope + reach, "n": len(part) - 1}
        row = {"size": size, "quantity": "slope", "estimate": fit.slope, **ends, "unit": "slope"}
        found.append(pd.DataFrame([row]))
    return pd.concat(found, ignore_index=True)


def figure_of_cost(frames: Frames) -> Figure:
    """Draw time over each size on logarithmic axes, with the committed times behind."""
    slopes = frames.run[frames.run["quantity"] == "slope"].set_index("size")["estimate"]
    series = {
        f"{size}, {name}: slope {slopes[size]:.2f}": {"size": size, "quantity": "time"}
        for size, (_, name) in SIZES.items()
    }
    start = {size: value for size, (value, _) in SIZES.items()}
    frames = changed(
        frames,
        lambda rows: rows.assign(times=rows["value"] / rows["size"].map(start)),
    )
    how: dict[str, Any] = {"size": (5.4, 3.8), "xlabel": "growth of the size (times)"}
    figure, (ax,) = lines(frames, "times", {"": series}, line="-", **how)
    ax.set(xscale="log", yscale="log", ylabel="processor time (s)")
    ticks = sorted({line for line in (1, 2, 4, 8, 16) if line <= ax.get_xlim()[1]})
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    return finished(figure, legend_columns=2)


COST = Study(
    name="cost_times",
    settings=CostSettings,
    blocks=lambda _: list(SIZES),
    block=measure_times,
    estimate=estimate_slopes,
    figures={"fig-syn-cost": figure_of_cost},
    measured=("seconds",),
)
