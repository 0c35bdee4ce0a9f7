"""Measure the synthetic sweep: against the literal loop, at full scale, and where its time goes.

``python tests/bench.py synthetic`` runs these alone. Everything is timed on one core except the
full sweep, which is what a reader waits for.
"""

import time

import numpy as np
import synthetic_literal
from bench import Line
from numba import njit
from threadpoolctl import threadpool_limits

from studies.pvf2026.synthetic import fits, kernel
from studies.pvf2026.synthetic import run as synthetic
from studies.pvf2026.synthetic.grid import METRICS, MUS, SIGMAS

SIZES = (50, 100)
SETTINGS = synthetic.SweepSettings()


def seconds_of(function, *arguments, repeats=5):
    """Shortest processor time of several calls, after one that compiles."""
    function(*arguments)
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function(*arguments)
        times.append(time.process_time() - start)
    return min(times)


def kernel_seconds(n_samples, sigma, n_repetitions=300):
    """Mean processor time of the kernel for one data set, over all μ."""
    total = 0.0
    for mu in MUS:
        block = (n_samples, mu, sigma, 0, n_repetitions)
        total += seconds_of(lambda b: synthetic.best_sets(b, SETTINGS), block)
    return total / len(MUS) / n_repetitions


def literal_seconds(n_samples, sigma, n_repetitions=1):
    """Mean processor time of the literal loop for one data set, over three μ."""
    rng = np.random.default_rng(0)
    start = time.process_time()
    for mu in (0.5, 1.5, 2.5):
        for _ in range(n_repetitions):
            synthetic_literal.run_literally(n_samples, mu, sigma, rng)
    return (time.process_time() - start) / (3 * n_repetitions)


def bench_synthetic_against_literal():
    """Time one data set in the kernel and in scikit-learn, on one core, over all σ."""
    fast = np.mean([kernel_seconds(n, s) for n in SIZES for s in SIGMAS])
    with threadpool_limits(1):
        literal_seconds(50, 0.1)
        slow = np.mean([literal_seconds(n, s) for n in SIZES for s in SIGMAS])
    return [
        Line("synthetic sweep: one data set, scikit-learn in plain loops", slow * 1e3, "ms"),
        Line("synthetic sweep: one data set, kernel", fast * 1e6, "µs"),
        Line("synthetic sweep: kernel against plain loops", slow / fast, "x", at_least=3000),
    ]


def bench_synthetic_full():
    """Time the paper's whole sweep, 900,000 data sets, on two workers, and the probe's estimate."""
    estimate = synthetic.estimate_sweep(n_jobs=2)
    synthetic.run_sweep(n_repetitions=2, block_size=1, n_jobs=2)  # starts the workers
    start = time.perf_counter()
    table = synthetic.run_sweep(n_jobs=2, block_size=2500)
    elapsed = time.perf_counter() - start
    n_datasets = int(table["n_repetitions"].sum() / (len(METRICS) * 2 * 3))
    return [
        Line("synthetic sweep: data sets in the full sweep", n_datasets, "", at_least=900_000),
        Line("synthetic sweep: the probe's estimate for 2 workers", estimate.seconds, "s"),
        Line("synthetic sweep: full sweep, 2 workers", elapsed, "s", at_most=90),
    ]


@njit(error_model="numpy")
def _many_oversampled(train, n_majority, n_minority, neighbours, uniforms, n):
    for i in range(n):
        kernel.oversample(train, n_majority, n_minority, neighbours, uniforms[i])


@njit(error_model="numpy")
def _many_fits(trains, n_majority, labels, residuals, weights, models, n):
    for i in range(n):
        fits.fit_pairs(trains[i % len(trains)], n_majority, labels, residuals, weights, models)


def parts_seconds(n_samples, n=500):
    """Processor time for one data set of generation, oversampling and the ten fits."""
    sizes = synthetic.class_sizes(n_samples)
    n_majority, n_minority = sizes[0] - sizes[2], sizes[1] - sizes[3]
    key = synthetic.configuration_key(1, n_samples, 1.5, 0.1)
    plan = synthetic._plan(SETTINGS)
    drawing = (key, 0, n, 1.5, sizes, plan)
    oversampling_draws = synthetic.draw_numbers(*drawing)[kernel.OVERSAMPLING]
    drawn = [
        synthetic.draw_repetition(n_samples, mu, 0.1, r, n_sets=1) for mu in MUS for r in range(4)
    ]
    trains = np.array([np.ascontiguousarray(one.X_train.T) for one in drawn])
    labels = drawn[0].y_train.astype(float)
    neighbours = np.empty((sizes[1], 5), dtype=np.int64)
    scratch = np.empty(len(labels)), np.empty(len(labels)), np.empty((10, 3))
    oversampling = (trains[0].copy(), n_majority, n_minority, neighbours, oversampling_draws, n)
    return [
        seconds_of(synthetic.draw_numbers, *drawing) / n,
        seconds_of(_many_oversampled, *oversampling) / n,
        seconds_of(_many_fits, trains, n_majority, labels, *scratch, n) / n,
    ]


def bench_synthetic_parts():
    """Where the kernel's time goes, and how far it is above the ten logistic fits alone."""
    data, oversampling, fits = np.mean([parts_seconds(n) for n in SIZES], axis=0)
    by_sigma = [np.mean([kernel_seconds(n, s, 200) for n in SIZES]) for s in SIGMAS]
    whole = np.mean(by_sigma)
    name = "synthetic sweep, one data set: "
    parts = [Line(f"{name}generation and split", data * 1e6, "µs")]
    parts += [Line(f"{name}oversampling", oversampling * 1e6, "µs")]
    parts += [Line(f"{name}ten logistic fits", fits * 1e6, "µs")]
    parts += [
        Line(f"{name}all of it at σ = {sigma:g}", seconds * 1e6, "µs")
        for sigma, seconds in zip(SIGMAS, by_sigma, strict=True)
    ]
    return [*parts, Line("synthetic sweep: kernel over its ten logistic fits", whole / fits, "x")]


BENCHES = [bench_synthetic_against_literal, bench_synthetic_full, bench_synthetic_parts]
