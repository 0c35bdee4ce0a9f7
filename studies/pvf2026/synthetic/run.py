"""The synthetic sweep of the PVF-IE paper (Appendix C), at its full scale in seconds.

How often does a selection method find the truly informative pair of features? Each configuration
is a size n, a separability μ and a perturbation σ. Each of its repetitions draws a data set, splits
it, oversamples the training part, fits ten logistic models on pairs of five features, and lets both
methods choose one under seven metrics: the traditional one by the score on the validation set, PVF
by the lower quartile of the scores on perturbed copies of it.

:func:`run_sweep` counts the choices of (x1, x2), the true pair. Its work is done by a compiled
kernel, `studies.pvf2026.synthetic.kernel`; `sweep_numpy` is the same in plain NumPy, and
`synthetic_literal` is the paper's procedure in scikit-learn and imbalanced-learn.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pvf._checks import check_integer, check_number
from pvf.metrics import intervention_efficiency_counts
from studies.kit.results import run_blocks
from studies.pvf2026.synthetic import kernel

__all__ = [
    "CAPACITIES",
    "METRICS",
    "MUS",
    "PAIRS",
    "SIGMAS",
    "Repetition",
    "SweepEstimate",
    "best_sets",
    "count_choices",
    "draw_repetition",
    "estimate_sweep",
    "run_sweep",
]

CAPACITIES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Intervention capacities γ."""

SCORES = (*(f"IE@{capacity}" for capacity in CAPACITIES), "F1", "accuracy")
"""Scores that are computed, in the order of the kernel's arrays."""

METRICS = (*SCORES[:5], "F1/accuracy", "F1", "accuracy")
"""Metrics of the table: F1/accuracy is F1 for μ ≤ 2.5 and accuracy above, as in the paper."""

MUS = tuple(round(0.1 + 0.2 * i, 1) for i in range(15))
"""The paper's separabilities μ: 0.1, 0.3, … 2.9."""

SIGMAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
"""The paper's standard deviations σ of the perturbation."""

PAIRS = tuple((f"x{a + 1}", f"x{b + 1}") for a, b in itertools.combinations(range(5), 2))
"""The ten candidates; the first is the true pair."""

METHODS = ("pvf", "traditional")
TIE_BREAKS = ("first", "last", "even")

SWEEP_VERSION = 1
"""Raised when the sweep computes something else, so that older shards are not read."""

CUTOFF = 8.3
"""Margins of more standard deviations than this are certain: Φ(−8.3) = 5e-17 is below the
rounding of 1, and in the whole sweep's 1.4e11 replicas none is expected to cross."""

_PARTS = math.lcm(*range(1, len(PAIRS) + 1))
"""Choices are counted in 2520ths, which hold every 1/t exactly, so that sums have no order."""


# --- the sweep ----------------------------------------------------------------------------------


def run_sweep(
    *,
    n_samples: Sequence[int] = (50, 100),
    mus: Sequence[float] = MUS,
    sigmas: Sequence[float] = SIGMAS,
    n_repetitions: int = 5000,
    n_sets: int = 100,
    n_replicas: int = 7,
    aggregate: float = 0.25,
    common_noise: bool = False,
    draw_noise: bool = False,
    seed: int = 1,
    block_size: int = 5000,
    n_jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    r"""Count how often PVF and the traditional method choose the true pair of features.

    Every repetition of every configuration (n, μ, σ) has a data set of its own, drawn from a
    random stream of its own, so that the result depends neither on the number of workers nor on
    the size of the blocks, and fewer repetitions are the first of more.

    With `common_noise` off no noise needs drawing. A linear model with margin m = w₀ + w·x puts a
    replica of x on its positive side with probability Φ(m / (σ‖w‖)), independently of all others,
    so the true and the false positives of a perturbed set are two independent sums of binomials;
    they are drawn from the exact distributions of these sums.

    Parameters
    ----------
    n_samples : sequence of int, default=(50, 100)
        Sizes n of the data sets, each 8 or more.
    mus : sequence of float, default=0.1, 0.3, … 2.9
        Coordinates μ of the positive cluster's centre.
    sigmas : sequence of float, default=1e-6, 1e-5, … 0.1
        Standard deviations σ ≥ 0 of the perturbation.
    n_repetitions : int, default=5000
        Data sets per configuration.
    n_sets : int, default=100
        Perturbed validation sets M.
    n_replicas : int, default=7
        Replicas k of each validation sample in a perturbed set.
    aggregate : float in [0, 1], default=0.25
        Quantile of the M scores that PVF maximises.
    common_noise : bool, default=False
        Whether all ten models see the same perturbed sets. Otherwise each model has its own, as
        in Algorithm 1. Takes several times as long, since noise is drawn.
    draw_noise : bool, default=False
        Whether to draw noise also where counts could be drawn. The distribution is the same, and
        it takes some hundred times as long: for tests.
    seed : int, default=1
        Seed of all random streams.
    block_size : int, default=5000
        Repetitions that a worker runs at once.
    n_jobs : int, optional
        Workers, as joblib counts them; see :func:`studies.kit.results.run_blocks`.
    out : path-like, optional
        Folder for shards, so that a run that was killed goes on where it stopped.
    progress : bool, optional
        Whether to show progress and an estimate of the time left; None: on a terminal.

    Returns
    -------
    DataFrame
        One row per configuration, metric, method and tie rule:

        n_samples, mu, sigma
            The configuration.
        metric
            ``IE@0.1`` … ``IE@0.9``, ``F1/accuracy``, ``F1``, ``accuracy``.
        method
            ``pvf`` or ``traditional``.
        tie_break
            Who wins if t candidates share the best score: ``first`` is the first of them, so that
            the true pair wins every tie; ``last`` is the last, so that it wins none; ``even``
            splits the choice, and counts 1/t.
        n_selected
            Repetitions in which the method chose the true pair.
        n_repetitions
            Repetitions in all.
        both, pvf_only, traditional_only, neither
            The same, by which of the two methods chose it. Under ``even`` one random order of the
            candidates breaks the ties of both methods: the same best set gives the same choice.
        mean_tied
            Mean number of candidates that share the method's best score.

    Raises
    ------
    TypeError, ValueError
        If an argument is not of the kind described.

    Notes
    -----
    Data set r of a configuration comes from ``numpy.random.Philox(key, counter=[0, r, 0, 0])``,
    where ``key`` is drawn from ``SeedSequence(seed, spawn_key=(n, bits of μ, bits of σ))``. A
    counter-based generator needs no seeding for each of 900,000 data sets, and gives any one of
    them alone. It does not depend on `n_sets` and what follows, so that runs with other values
    are paired data set by data set.

    References
    ----------
    Zhang, Tran and Weng (2026), Appendix C.

    Examples
    --------
    >>> table = run_sweep(n_samples=[50], mus=[2.9], sigmas=[0.1], n_repetitions=200)
    >>> rows = table.query("metric == 'F1' and tie_break == 'even'")
    >>> dict(zip(rows["method"], rows["n_selected"].round(1).tolist()))
    {'pvf': 91.1, 'traditional': 72.6}
    """
    settings = _checked_settings(
        n_sets=n_sets,
        n_replicas=n_replicas,
        aggregate=aggregate,
        common_noise=common_noise,
        draw_noise=draw_noise,
        seed=seed,
    )
    configurations = _checked_configurations(n_samples, mus, sigmas)
    check_integer("n_repetitions", n_repetitions, 1)
    check_integer("block_size", block_size, 1)
    cells = run_blocks(
        count_choices,
        _blocks(configurations, n_repetitions, block_size),
        study="synthetic_sweep",
        settings=settings,
        version=SWEEP_VERSION,
        out=out,
        n_jobs=n_jobs,
        description="synthetic sweep",
        progress=progress,
    )
    return _tidy(cells, configurations)


def count_choices(
    block: tuple[int, float, float, int, int],
    *,
    n_sets: int,
    n_replicas: int,
    aggregate: float,
    common_noise: bool,
    draw_noise: bool,
    seed: int,
) -> pd.DataFrame:
    """Count the choices in one block of repetitions of one configuration.

    Parameters
    ----------
    block : tuple of (int, float, float, int, int)
        n, μ, σ, first repetition, and the one after the last.
    n_sets, n_replicas, aggregate, common_noise, draw_noise, seed
        See :func:`run_sweep`.

    Returns
    -------
    DataFrame
        One row per score and tie rule; cells in whole 2520ths, so that blocks can be added up in
        any order: ``both``, ``pvf_only``, ``traditional_only``, and ``pvf_tied``,
        ``traditional_tied``, the total sizes of the best sets.
    """
    best = best_sets(
        block,
        n_sets=n_sets,
        n_replicas=n_replicas,
        aggregate=aggregate,
        common_noise=common_noise,
        draw_noise=draw_noise,
        seed=seed,
    )
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
    block: tuple[int, float, float, int, int], *, seed: int, n_replicas: int, **settings: Any
) -> NDArray[np.uint16]:
    """Find the best models in one block of repetitions of one configuration.

    Parameters
    ----------
    block : tuple of (int, float, float, int, int)
        n, μ, σ, first repetition, and the one after the last.
    seed, n_replicas, **settings
        See :func:`count_choices`.

    Returns
    -------
    ndarray of shape (n_repetitions, 2, 7)
        By repetition, method and score, the models that share the best score, as bits in the
        order of `PAIRS`: bit 0 is the true pair.

    Examples
    --------
    >>> settings = {"n_sets": 100, "aggregate": 0.25, "common_noise": False, "draw_noise": False}
    >>> sets = best_sets((50, 2.9, 1e-6, 0, 4), seed=1, n_replicas=7, **settings)
    >>> bool((sets[:, 0] == sets[:, 1]).all())
    True
    """
    n, mu, sigma, first, stop = block
    best = np.empty((stop - first, len(METHODS), len(SCORES)), dtype=np.uint16)
    sizes = class_sizes(n)
    kernel.run_repetitions(
        configuration_key(seed, n, mu, sigma),
        first,
        stop,
        sizes,
        mu,
        sigma,
        _plan(n_replicas=n_replicas, **settings),
        _tables(sizes, n_replicas),
        best,
    )
    return best


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


def _tidy(cells: pd.DataFrame, configurations: list[tuple[int, float, float]]) -> pd.DataFrame:
    """Table of :func:`run_sweep` from the cells of all blocks."""
    keys = ["n_samples", "mu", "sigma", "metric", "tie_break"]
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
    columns = ["n_samples", "mu", "sigma", "metric", "method", "tie_break", "n_selected"]
    columns += ["n_repetitions", *shares, "mean_tied"]
    orders = [
        {configuration: i for i, configuration in enumerate(configurations)},
        {metric: i for i, metric in enumerate(METRICS)},
        {method: i for i, method in enumerate(METHODS)},
        {tie_break: i for i, tie_break in enumerate(TIE_BREAKS)},
    ]
    table = pd.concat(tables, ignore_index=True)
    configuration = pd.MultiIndex.from_frame(table[["n_samples", "mu", "sigma"]]).map(orders[0])
    order = np.lexsort(
        [
            table["tie_break"].map(orders[3]),
            table["method"].map(orders[2]),
            table["metric"].map(orders[1]),
            configuration,
        ]
    )
    return table.loc[order, columns].reset_index(drop=True)


# --- sizes, keys, tables ------------------------------------------------------------------------


def class_sizes(n_samples: int) -> tuple[int, int, int, int]:
    """Negatives, positives, validated negatives and validated positives of a data set.

    A fifth are positive; three tenths, rounded up as scikit-learn does, are validated, with the
    classes' shares kept as closely as whole numbers allow, and one positive on each side at least.

    Parameters
    ----------
    n_samples : int
        Size n of the data set, 8 or more.

    Returns
    -------
    tuple of 4 int

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

    Parameters
    ----------
    seed : int
        Seed of the sweep.
    n_samples : int
        Size n.
    mu, sigma : float
        Separability and perturbation; their bits enter, not their place in a grid.

    Returns
    -------
    ndarray of 2 uint64

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


def _score_table(sizes: tuple[int, int, int, int], n_replicas: int) -> NDArray[np.float64]:
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
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
    """Scores on the validation set, ranks of those on its k-fold, and the score of each rank."""
    scores = _score_table(sizes, n_replicas)
    ranks = np.empty(scores.shape, dtype=np.int32)
    values = np.zeros((scores.shape[2], scores[..., 0].size))
    for metric in range(scores.shape[2]):
        unique, inverse = np.unique(scores[..., metric], return_inverse=True)
        ranks[..., metric] = inverse.reshape(scores.shape[:2])
        values[metric, : len(unique)] = unique
    return _score_table(sizes, 1), ranks, values


def _plan(
    n_sets: int, n_replicas: int, aggregate: float, common_noise: bool, draw_noise: bool
) -> tuple[int, int, float, int, float]:
    """Return what the kernel needs to know about the perturbation."""
    if common_noise:
        how, cutoff = kernel.COMMON_NOISE, math.inf if draw_noise else CUTOFF
    else:
        how, cutoff = (kernel.SEPARATE_NOISE, math.inf) if draw_noise else (kernel.COUNTS, CUTOFF)
    return n_sets, n_replicas, float(aggregate), how, cutoff


def _blocks(
    configurations: Iterable[tuple[int, float, float]], n_repetitions: int, block_size: int
) -> Iterator[tuple[int, float, float, int, int]]:
    """All blocks of the sweep."""
    for configuration in configurations:
        for first in range(0, n_repetitions, block_size):
            yield (*configuration, first, min(first + block_size, n_repetitions))


def _checked_settings(**settings: Any) -> dict[str, Any]:
    """Return the settings of a block, or raise an error that names the wrong one."""
    check_integer("n_sets", settings["n_sets"], 1)
    check_integer("n_replicas", settings["n_replicas"], 1)
    check_integer("seed", settings["seed"], 0)
    check_number("aggregate", settings["aggregate"], 0, 1)
    for name in ("common_noise", "draw_noise"):
        if not isinstance(settings[name], bool | np.bool_):
            raise TypeError(f"{name} must be True or False, got {settings[name]!r}.")
    if settings["n_replicas"] > 50:
        # Binomial coefficients are exact in floats up to there.
        raise ValueError(f"n_replicas must be at most 50, got {settings['n_replicas']}.")
    return {
        "n_sets": int(settings["n_sets"]),
        "n_replicas": int(settings["n_replicas"]),
        "aggregate": float(settings["aggregate"]),
        "common_noise": bool(settings["common_noise"]),
        "draw_noise": bool(settings["draw_noise"]),
        "seed": int(settings["seed"]),
    }


def _checked_configurations(
    n_samples: Sequence[int], mus: Sequence[float], sigmas: Sequence[float]
) -> list[tuple[int, float, float]]:
    """All configurations, or an error that names the wrong axis."""
    sizes = [check_integer("n_samples", n, 8) for n in _listed("n_samples", n_samples)]
    centres = [check_number("mus", mu, -math.inf) for mu in _listed("mus", mus)]
    scales = [check_number("sigmas", sigma, 0) for sigma in _listed("sigmas", sigmas)]
    return list(itertools.product(sizes, centres, scales))


def _listed(name: str, values: Any) -> list[Any]:
    """List of an axis's values, of which none stands twice."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a sequence of numbers, got {values!r}.")
    values = list(values)
    if not values or len(set(values)) < len(values):
        raise ValueError(f"{name} must hold one value or more, each once, got {values}.")
    return values


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

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    train_rows: NDArray[np.int64]
    validation_rows: NDArray[np.int64]
    X_train: NDArray[np.float64]
    y_train: NDArray[np.int64]
    models: NDArray[np.float64]
    margins: NDArray[np.float64]
    traditional: NDArray[np.float64]
    pvf: NDArray[np.float64]
    tp: NDArray[np.int64]
    fp: NDArray[np.int64]
    best: NDArray[np.uint16]


def draw_repetition(
    n_samples: int,
    mu: float,
    sigma: float,
    repetition: int,
    *,
    n_sets: int = 100,
    n_replicas: int = 7,
    aggregate: float = 0.25,
    common_noise: bool = False,
    draw_noise: bool = False,
    seed: int = 1,
    key: NDArray[np.uint64] | None = None,
) -> Repetition:
    """Run one repetition of the sweep and show everything that happens in it.

    Parameters
    ----------
    n_samples, mu, sigma : int, float, float
        The configuration.
    repetition : int
        Its repetition, from 0.
    n_sets, n_replicas, aggregate, common_noise, draw_noise, seed
        See :func:`run_sweep`.
    key : ndarray of 2 uint64, optional
        Philox's key in place of the configuration's own, for the same data under another
        configuration.

    Returns
    -------
    Repetition

    Examples
    --------
    >>> draw_repetition(50, mu=2.9, sigma=0.1, repetition=0).models.shape
    (10, 3)
    """
    settings = _checked_settings(
        n_sets=n_sets,
        n_replicas=n_replicas,
        aggregate=aggregate,
        common_noise=common_noise,
        draw_noise=draw_noise,
        seed=seed,
    )
    ((n, mu, sigma),) = _checked_configurations([n_samples], [mu], [sigma])
    check_integer("repetition", repetition, 0)
    del settings["seed"]
    sizes = class_sizes(n)
    best = np.empty((len(METHODS), len(SCORES)), dtype=np.uint16)
    arrays = kernel.trace_repetition(
        configuration_key(seed, n, mu, sigma) if key is None else key,
        repetition,
        sizes,
        mu,
        sigma,
        _plan(**settings),
        _tables(sizes, n_replicas),
        best,
    )
    X, rows, train, validation, labels, models, margins, plain, perturbed, tp, fp = arrays
    return Repetition(
        X=X,
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
        best=best,
    )


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
            f"{self.n_datasets:,} data sets take about {_duration(self.seconds)} on {workers} "
            f"({self.seconds_per_dataset * 1e6:.0f} µs each, from a probe of {self.n_probed:,})"
        )


def _duration(seconds: float) -> str:
    """Duration in the unit that reads best."""
    if seconds < 90:
        return f"{seconds:.1f} s"
    if seconds < 5400:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"


def estimate_sweep(
    *,
    n_samples: Sequence[int] = (50, 100),
    mus: Sequence[float] = MUS,
    sigmas: Sequence[float] = SIGMAS,
    n_repetitions: int = 5000,
    n_jobs: int | None = None,
    n_probe: int = 20,
    **settings: Any,
) -> SweepEstimate:
    """Estimate how long a sweep takes, by running a few repetitions of each configuration.

    Parameters
    ----------
    n_samples, mus, sigmas, n_repetitions, n_jobs
        The sweep in question; see :func:`run_sweep`.
    n_probe : int, default=20
        Repetitions of each configuration that are run to measure the time.
    **settings
        Other settings of :func:`run_sweep` that change its cost: ``n_sets``, ``n_replicas``,
        ``aggregate``, ``common_noise``, ``draw_noise``, ``seed``.

    Returns
    -------
    SweepEstimate
        With ``seconds``; as text it says all of it in one line.

    Examples
    --------
    >>> estimate = estimate_sweep(n_samples=[50], mus=[1.5], n_repetitions=5000)
    >>> estimate.n_datasets, estimate.n_probed, 0 < estimate.seconds < 3600
    (30000, 120, True)
    """
    defaults = {"n_sets": 100, "n_replicas": 7, "aggregate": 0.25, "seed": 1}
    defaults |= {"common_noise": False, "draw_noise": False}
    unknown = settings.keys() - defaults.keys()
    if unknown:
        raise TypeError(f"estimate_sweep takes no setting {sorted(unknown)[0]!r}.")
    checked = _checked_settings(**(defaults | settings))
    configurations = _checked_configurations(n_samples, mus, sigmas)
    check_integer("n_repetitions", n_repetitions, 1)
    check_integer("n_probe", n_probe, 1)
    for n in {configuration[0] for configuration in configurations}:  # compile, make the tables
        best_sets((n, *configurations[0][1:], 0, 1), **checked)
    start = time.perf_counter()
    for configuration in configurations:
        best_sets((*configuration, 0, n_probe), **checked)
    elapsed = time.perf_counter() - start
    n_probed = len(configurations) * n_probe
    return SweepEstimate(
        n_datasets=len(configurations) * n_repetitions,
        n_probed=n_probed,
        seconds_per_dataset=elapsed / n_probed,
        n_workers=joblib.effective_n_jobs(n_jobs),
    )
