"""The synthetic sweep of the PVF-IE paper (Appendix C), at its full scale in a minute.

How often does a selection method find the truly informative pair of features? Each configuration
is a size n, a separability μ and a perturbation σ. Each of its repetitions draws a data set, splits
it, oversamples the training part, fits ten logistic models on pairs of five features, and lets both
methods choose one under seven metrics: the traditional one by the score on the validation set, PVF
by the lower quartile of the scores on perturbed copies of it. The work is done by a compiled
kernel; among the tests, `sweep_numpy` is the same in plain NumPy, and `synthetic_literal` is the
paper's procedure in scikit-learn and imbalanced-learn.

A linear model with margin m = w₀ + w·x puts a replica of x on its positive side with probability
Φ(m / (σ‖w‖)), independently of all others. The true and the false positives of a perturbed set are
therefore two independent sums of binomials, which are drawn from their exact distributions.
"""

from __future__ import annotations

import functools
import itertools
import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pvf._types import Array
from pvf.metrics import intervention_efficiency_counts
from studies.kit.results import duration
from studies.kit.study import Settings, Study, setting
from studies.pvf2026.synthetic import kernel, show
from studies.pvf2026.synthetic.grid import (
    CAPACITIES,
    METHODS,
    METRICS,
    MUS,
    SCORES,
    SIGMAS,
    TIE_BREAKS,
)

PAIRS = tuple((f"x{a + 1}", f"x{b + 1}") for a, b in itertools.combinations(range(5), 2))
"""The ten candidates; the first is the true pair."""

CUTOFF = 8.3
"""Margins of more standard deviations than this are certain: Φ(−8.3) = 5e-17 is below the
rounding of 1, and in the whole sweep's 1.4e11 replicas none is expected to cross."""

_PARTS = math.lcm(*range(1, len(PAIRS) + 1))
"""Choices are counted in 2520ths, which hold every 1/t exactly, so that sums have no order."""

_CHUNK = 2**20  # random numbers that a worker holds at a time
_CONFIGURATION = ["n_samples", "mu", "sigma"]


# --- the sweep ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SweepSettings(Settings):
    """Settings of the synthetic sweep."""

    n_repetitions: int = setting(
        100, "data sets in each configuration", full=5000, paper="5000", low=1
    )
    n_samples: tuple[int, ...] = setting((50, 100), "sizes n, each 8 or more", paper="50, 100")
    mus: tuple[float, ...] = setting(MUS, "coordinates μ of the positive cluster's centre")
    sigmas: tuple[float, ...] = setting(SIGMAS, "standard deviations σ of the perturbation")
    n_sets: int = setting(100, "perturbed validation sets M", paper="100", low=1)
    # binomial coefficients are exact in floats up to 50
    n_replicas: int = setting(7, "replicas k of each sample", paper="7", low=1, high=50)
    aggregate: float = setting(
        0.25, "quantile of the scores that PVF maximises", paper="0.25", low=0, high=1
    )
    common_noise: bool = setting(
        default=False, meaning="whether all models see the same perturbed sets"
    )
    draw_noise: bool = setting(
        default=False, meaning="whether to draw noise where counts could be drawn: slow"
    )
    seed: int = setting(1, "of all random streams", low=0)
    block_size: int = setting(5000, "repetitions that a worker runs at once", low=1)

    def __post_init__(self) -> None:
        """Refuse axes that are empty, hold a value twice, or one that is impossible."""
        super().__post_init__()
        for name, kind, low in (
            ("n_samples", int, 8),
            ("mus", float, -math.inf),
            ("sigmas", float, 0),
        ):
            axis = tuple(kind(one) if type(one) is int else one for one in getattr(self, name))
            object.__setattr__(self, name, axis)
            if not axis or len(set(axis)) < len(axis):
                raise ValueError(f"{name} must hold one value or more, each once, got {axis}.")
            for one in axis:
                if type(one) is not kind or not (math.isfinite(one) and one >= low):
                    raise ValueError(
                        f"{name} must be finite {kind.__name__} of at least {low:g}, got {one!r}."
                    )


@dataclass(frozen=True)
class HalfSettings(SweepSettings):
    """Settings of the first half of the synthetic sweep."""

    n_repetitions: int = setting(50, "data sets in each configuration", full=2500, low=1)


def run_sweep(
    *,
    n_jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Count how often both methods choose the true pair, at the paper's scale by default.

    The table has one row per configuration, metric, method (``pvf`` or ``traditional``) and tie
    rule: among t candidates with the best score, ``first`` takes the first, so that the true pair
    wins every tie; ``last`` the last, so that it wins none; ``even`` counts 1/t. ``n_selected`` of
    ``n_repetitions`` chose the true pair; ``both``, ``pvf_only``, ``traditional_only`` and
    ``neither`` are the same by which method did, where under ``even`` one random order breaks the
    ties of both; ``mean_tied`` candidates share the best score on average.

    Fewer repetitions are the first of more, whatever the workers and the size of blocks.

    Examples
    --------
    >>> table = run_sweep(n_samples=[50], mus=[2.9], sigmas=[0.1], n_repetitions=200)
    >>> rows = table.query("metric == 'F1' and tie_break == 'even'")
    >>> dict(zip(rows["method"], rows["n_selected"].round(1).tolist()))
    {'pvf': 91.1, 'traditional': 72.6}
    """
    chosen = SweepSettings.full(**settings)
    return SWEEP.table(chosen, n_jobs=n_jobs, out=out, progress=progress)


def blocks_of(settings: SweepSettings) -> list[tuple[int, float, float, int, int]]:
    """Return each block's n, μ, σ, first repetition, and the one after the last."""
    n, size = settings.n_repetitions, settings.block_size
    return [
        (*configuration, first, min(first + size, n))
        for configuration in itertools.product(settings.n_samples, settings.mus, settings.sigmas)
        for first in range(0, n, size)
    ]


def count_choices(
    block: tuple[int, float, float, int, int], settings: SweepSettings
) -> pd.DataFrame:
    """Count the choices in one block, in whole 2520ths, so that blocks add up in any order."""
    best = best_sets(block, settings)
    n, mu, sigma, first, stop = block
    rows = [
        {
            "n_samples": n,
            "mu": mu,
            "sigma": sigma,
            "metric": score,
            "tie_break": tie_break,
            "n_repetitions": stop - first,
            **_paired_cells(best[:, 0, column], best[:, 1, column], tie_break),
        }
        for column, score in enumerate(SCORES)
        for tie_break in TIE_BREAKS
    ]
    return pd.DataFrame(rows)


def best_sets(
    block: tuple[int, float, float, int, int], settings: SweepSettings
) -> NDArray[np.uint16]:
    """Return, by repetition, method and score, the models that share the best score.

    They are bits in the order of `PAIRS`: bit 0 is the true pair.
    """
    n, mu, sigma, first, stop = block
    best = np.empty((stop - first, len(METHODS), len(SCORES)), dtype=np.uint16)
    key = configuration_key(settings.seed, n, mu, sigma)
    sizes, plan = class_sizes(n), _plan(settings)
    at_once = max(1, _CHUNK // _noise_size(sizes, plan))
    for start in range(first, stop, at_once):
        end = min(start + at_once, stop)
        kernel.run_repetitions(
            draw_numbers(key, start, end, mu, sizes, plan),
            sizes,
            sigma,
            plan,
            _tables(sizes, settings.n_replicas),
            best[start - first : end - first],
        )
    return best


def draw_numbers(
    key: NDArray[np.uint64],
    first: int,
    stop: int,
    mu: float,
    sizes: tuple[int, int, int, int],
    plan: tuple[int, int, float, int, float],
) -> tuple[Array, ...]:
    """Draw the data of some repetitions, and all numbers that the kernel needs for each."""
    n_negatives, n_positives, *validated = sizes
    n_new = n_negatives - validated[0] - (n_positives - validated[1])
    n = stop - first
    draws = {
        kernel.DATA: np.empty((n, n_negatives + n_positives, 5)),
        kernel.SPLIT: np.empty((n, sum(validated))),
        kernel.OVERSAMPLING: np.empty((n, n_new, 2)),
        kernel.NOISE: np.empty((n, _noise_size(sizes, plan))),
    }
    bits = np.random.Philox(key=key)
    stream, state = np.random.Generator(bits), bits.state
    for purpose, numbers in draws.items():
        normal = purpose == kernel.DATA or (purpose == kernel.NOISE and plan[3] != kernel.COUNTS)
        fill = stream.standard_normal if normal else stream.random
        for repetition in range(first, stop):
            state["state"]["counter"][:] = 0, repetition, purpose, 0
            bits.state = state
            fill(out=numbers[repetition - first])
    draws[kernel.DATA][:, n_negatives:, :2] += mu
    return tuple(draws.values())


def _noise_size(sizes: tuple[int, int, int, int], plan: tuple[int, int, float, int, float]) -> int:
    """Return how many random numbers one repetition's perturbation takes at most."""
    n_sets, n_replicas, _, how, _ = plan
    if how == kernel.COUNTS:
        return 2 * n_sets * len(PAIRS)
    shared = n_sets * n_replicas * sum(sizes[2:]) * 5
    return shared if how == kernel.COMMON_NOISE else shared * len(PAIRS)


def _paired_cells(
    pvf: NDArray[np.uint16], traditional: NDArray[np.uint16], tie_break: str
) -> dict[str, int]:
    """Cells of the paired comparison in 2520ths, from the best sets of both methods."""
    sizes = [np.bitwise_count(sets).astype(np.int64) for sets in (pvf, traditional)]
    if tie_break == "first":
        chosen = [(sets & 1) * _PARTS for sets in (pvf.astype(np.int64), traditional)]
        both = np.minimum(*chosen)
    elif tie_break == "last":
        chosen = [np.where(sets == 1, _PARTS, 0) for sets in (pvf, traditional)]
        both = np.minimum(*chosen)
    else:
        chosen = [
            np.where(sets & 1, _PARTS // size, 0)
            for sets, size in zip((pvf, traditional), sizes, strict=True)
        ]
        # Both choose the true pair when it comes first of all that either of them would take.
        union = np.bitwise_count(pvf | traditional).astype(np.int64)
        both = np.where(pvf & traditional & 1, _PARTS // union, 0)
    totals = [int(choices.sum(dtype=np.int64)) for choices in (*chosen, both)]
    return {
        "both": totals[2],
        "pvf_only": totals[0] - totals[2],
        "traditional_only": totals[1] - totals[2],
        "pvf_tied": int(sizes[0].sum()),
        "traditional_tied": int(sizes[1].sum()),
    }


def tidy(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the sweep's table from the cells of all blocks."""
    keys = [*_CONFIGURATION, "metric", "tie_break"]
    totals = cells.groupby(keys, sort=False).sum().reset_index()
    is_f1 = (totals["metric"] == "F1") & (totals["mu"] <= 2.5)
    is_accuracy = (totals["metric"] == "accuracy") & (totals["mu"] > 2.5)
    chosen = totals[is_f1 | is_accuracy].assign(metric="F1/accuracy")
    totals = pd.concat([totals, chosen], ignore_index=True)
    n = totals["n_repetitions"]
    shares = ["both", "pvf_only", "traditional_only", "neither"]
    totals["neither"] = _PARTS * n - totals[shares[:3]].sum(axis=1)
    tables = [
        totals.assign(
            method=method,
            n_selected=(totals["both"] + totals[f"{method}_only"]) / _PARTS,
            mean_tied=totals[f"{method}_tied"] / n,
        ).assign(**{share: totals[share] / _PARTS for share in shares})
        for method in METHODS
    ]
    table = pd.concat(tables, ignore_index=True)
    places = [table.groupby(_CONFIGURATION, sort=False).ngroup()]
    orders = {"metric": METRICS, "method": METHODS, "tie_break": TIE_BREAKS}
    places += [table[name].map(order.index) for name, order in orders.items()]
    columns = [*_CONFIGURATION, *orders, "n_selected", "n_repetitions", *shares, "mean_tied"]
    return table.loc[np.lexsort(places[::-1]), columns].reset_index(drop=True)


SWEEP = Study(
    name="synthetic_sweep",
    settings=SweepSettings,
    blocks=blocks_of,
    block=count_choices,
    summarise=tidy,
    estimate=show.estimate,
    runs=show.single_runs,
    figures=show.FIGURES,
    claims=show.CLAIMS,
    sample={"n_samples": (50,), "mus": (2.9,), "sigmas": (0.1,)},
)

HALF = replace(
    SWEEP,
    name="synthetic_half",
    settings=HalfSettings,
)


# --- sizes, keys, tables ------------------------------------------------------------------------


def class_sizes(n_samples: int) -> tuple[int, int, int, int]:
    """Negatives, positives, validated negatives and validated positives of a data set.

    A fifth are positive; three tenths, rounded up as scikit-learn does, are validated, with the
    classes' shares kept as closely as whole numbers allow, and one positive on each side at least.

    Examples
    --------
    >>> class_sizes(50), class_sizes(100)
    ((40, 10, 12, 3), (80, 20, 24, 6))
    """
    n_positives = round(0.2 * n_samples)
    n_validation = math.ceil(0.3 * n_samples)
    share = round(n_validation * n_positives / n_samples)
    n_validation_positives = min(max(share, 1), n_positives - 1)
    return (
        n_samples - n_positives,
        n_positives,
        n_validation - n_validation_positives,
        n_validation_positives,
    )


def configuration_key(seed: int, n_samples: int, mu: float, sigma: float) -> NDArray[np.uint64]:
    """Philox's key of one configuration: two words drawn from its own `SeedSequence`.

    The bits of μ and σ enter, not their place in a grid.

    Examples
    --------
    >>> key = configuration_key(1, 50, 0.1, 1e-6)
    >>> rng = np.random.Generator(np.random.Philox(key=key, counter=[0, 12, 0, 0]))
    >>> bool((rng.standard_normal((50, 5)) == draw_repetition(50, 0.0, 0.0, 12, key=key).X).all())
    True
    """
    bits = np.array([mu, sigma], dtype=np.float64).view(np.uint64)
    sequence = np.random.SeedSequence(seed, spawn_key=(int(n_samples), *map(int, bits)))
    return sequence.generate_state(2, np.uint64).astype(np.uint64)


def _score_table(sizes: tuple[int, int, int, int], n_replicas: int) -> Array:
    """Scores by true positives, false positives and metric, on a k-fold validation set."""
    n_negatives, n_positives = n_replicas * sizes[2], n_replicas * sizes[3]
    tp, fp = np.mgrid[0 : n_positives + 1, 0 : n_negatives + 1]
    columns = [
        intervention_efficiency_counts(tp, fp, n_positives, n_negatives, capacity)
        for capacity in CAPACITIES
    ]
    columns.append(2 * tp / (tp + fp + n_positives))
    columns.append((tp + n_negatives - fp) / (n_positives + n_negatives))
    return np.ascontiguousarray(np.stack(columns, axis=-1))


@functools.lru_cache(maxsize=8)
def _tables(
    sizes: tuple[int, int, int, int], n_replicas: int
) -> tuple[Array, NDArray[np.int32], Array]:
    """Scores on the validation set, ranks of those on its k-fold, and the score of each rank."""
    scores = _score_table(sizes, n_replicas)
    ranks = np.empty(scores.shape, dtype=np.int32)
    values = np.zeros((scores.shape[2], scores[..., 0].size))
    for metric in range(scores.shape[2]):
        unique, inverse = np.unique(scores[..., metric], return_inverse=True)
        ranks[..., metric] = inverse.reshape(scores.shape[:2])
        values[metric, : len(unique)] = unique
    return _score_table(sizes, 1), ranks, values


def _plan(settings: SweepSettings) -> tuple[int, int, float, int, float]:
    """Return what the kernel needs to know about the perturbation."""
    how, cutoff = kernel.COUNTS, CUTOFF
    if settings.common_noise:
        how, cutoff = kernel.COMMON_NOISE, math.inf if settings.draw_noise else CUTOFF
    elif settings.draw_noise:
        how, cutoff = kernel.SEPARATE_NOISE, math.inf
    return settings.n_sets, settings.n_replicas, settings.aggregate, how, cutoff


# --- one repetition to look at ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Repetition:
    """All that happens in one repetition.

    Parameters
    ----------
    X : ndarray of shape (n_samples, 5)
        Features; negatives come first.
    y : ndarray of shape (n_samples,)
        Labels.
    train_rows, validation_rows : ndarray of int
        Rows of both parts; in each, negatives come first.
    X_train : ndarray of shape (n_balanced, 5)
        Training part with its oversampled rows at the end.
    y_train : ndarray of shape (n_balanced,)
        Labels of `X_train`.
    models : ndarray of shape (10, 3)
        Intercept and two coefficients of the model of each pair, in the order of `PAIRS`.
    margins : ndarray of shape (10, n_validation)
        w₀ + w·x of each validation sample; a model flags it if this is above 0.
    traditional, pvf : ndarray of shape (10, 7)
        Scores of each model by both methods, in the order of `SCORES`.
    tp, fp : ndarray of shape (10, n_sets)
        True and false positives of each model on each perturbed set.
    best : ndarray of shape (2, 7)
        Best models of PVF and of the traditional method as sets of bits: bit 0 is the true pair.
    """

    X: Array
    y: NDArray[np.int64]
    train_rows: NDArray[np.int64]
    validation_rows: NDArray[np.int64]
    X_train: Array
    y_train: NDArray[np.int64]
    models: Array
    margins: Array
    traditional: Array
    pvf: Array
    tp: NDArray[np.int64]
    fp: NDArray[np.int64]
    best: NDArray[np.uint16]


def draw_repetition(
    n_samples: int,
    mu: float,
    sigma: float,
    repetition: int,
    *,
    key: NDArray[np.uint64] | None = None,
    **settings: Any,
) -> Repetition:
    """Run one repetition of the sweep and show everything that happens in it.

    A `key` of Philox in place of the configuration's own gives the same data under another
    configuration.

    Examples
    --------
    >>> draw_repetition(50, mu=2.9, sigma=0.1, repetition=0).models.shape
    (10, 3)
    """
    checked = SweepSettings(n_samples=(n_samples,), mus=(mu,), sigmas=(sigma,), **settings)
    sizes, plan = class_sizes(n_samples), _plan(checked)
    best = np.empty((1, len(METHODS), len(SCORES)), dtype=np.uint16)
    key = configuration_key(checked.seed, n_samples, mu, sigma) if key is None else key
    draws = draw_numbers(key, repetition, repetition + 1, mu, sizes, plan)
    arrays = kernel.run_repetitions(
        draws, sizes, sigma, plan, _tables(sizes, checked.n_replicas), best
    )
    rows, train, validation, labels, models, margins, plain, perturbed, tp, fp = arrays
    return Repetition(
        X=draws[0][0],
        y=np.repeat([0, 1], sizes[:2]),
        train_rows=rows[~np.isin(rows, validation)],
        validation_rows=validation,
        X_train=train.T.copy(),
        y_train=labels.astype(np.int64),
        models=models,
        margins=margins,
        traditional=plain,
        pvf=perturbed,
        tp=tp,
        fp=fp,
        best=best[0],
    )


def pair_margins(models: Array, X: Array) -> Array:
    """Return the margins of a repetition's ten models on samples, (n_models, n_samples)."""
    columns = np.array([[int(name[1:]) - 1 for name in pair] for pair in PAIRS])
    return models[:, :1] + np.einsum("qj,nqj->qn", models[:, 1:], X[:, columns])


# --- time ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SweepEstimate:
    """Time that a sweep would take, from a probe.

    Parameters
    ----------
    n_datasets : int
        Data sets of the whole sweep.
    n_probed : int
        Data sets of the probe.
    seconds_per_dataset : float
        Mean time for one data set on one worker.
    n_workers : int
        Workers.
    """

    n_datasets: int
    n_probed: int
    seconds_per_dataset: float
    n_workers: int

    @property
    def seconds(self) -> float:
        """Wall time of the whole sweep, if all workers are busy throughout."""
        return self.n_datasets * self.seconds_per_dataset / self.n_workers

    def __str__(self) -> str:
        workers = "1 worker" if self.n_workers == 1 else f"{self.n_workers} workers"
        return (
            f"{self.n_datasets:,} data sets take about {duration(self.seconds)} on {workers} "
            f"({self.seconds_per_dataset * 1e6:.0f} µs each, from a probe of {self.n_probed:,})"
        )


def estimate_sweep(
    *, n_jobs: int | None = None, n_probe: int = 20, **settings: Any
) -> SweepEstimate:
    """Estimate how long a sweep takes, by running a few repetitions of each configuration.

    Examples
    --------
    >>> estimate = estimate_sweep(n_samples=[50], mus=[1.5], n_repetitions=5000)
    >>> estimate.n_datasets, estimate.n_probed, 0 < estimate.seconds < 3600
    (30000, 120, True)
    """
    wanted = SweepSettings.full(**settings)
    probe = replace(wanted, n_repetitions=n_probe, block_size=n_probe)
    blocks = blocks_of(probe)
    for n in wanted.n_samples:  # compile, make the tables
        best_sets((n, *blocks[0][1:3], 0, 1), probe)
    start = time.perf_counter()
    for block in blocks:
        best_sets(block, probe)
    elapsed = time.perf_counter() - start
    return SweepEstimate(
        n_datasets=len(blocks) * wanted.n_repetitions,
        n_probed=len(blocks) * n_probe,
        seconds_per_dataset=elapsed / (len(blocks) * n_probe),
        n_workers=joblib.effective_n_jobs(n_jobs),
    )
