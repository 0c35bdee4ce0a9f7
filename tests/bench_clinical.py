"""Time of the clinical experiments at the paper's scale, and of a literal loop, scaled up."""

import functools
import os

import literal
import numpy as np
from bench import Line, timed

from studies.data.datasets import DataUnavailableError
from studies.kit.claims import claims
from studies.pvf2026.clinical import run as clinical


def bench_clinical():
    """Run both data sets once, at every σ, and a literal loop over a part of it."""
    lines, total = [], 0.0
    for dataset in clinical.DATASETS:
        run = functools.partial(clinical.run_experiment, dataset)
        try:
            run(sigmas=[0.1], n_candidates=2, n_sets=2)  # imports and reads the data
        except DataUnavailableError:
            print(f"{dataset}: the data are not here; not measured")
            return []
        seconds, _ = timed(run)
        name = f"{dataset}, one run as in the paper, all σ, {os.cpu_count()} cores"
        lines.append(Line(name, seconds, "s"))
        total += seconds
    paper = claims()["REAL-1"]["numbers"]
    literal_seconds = sum(_literal_seconds(dataset) for dataset in clinical.DATASETS)
    return [
        *lines,
        Line("    both", total, "s", at_most=60),
        Line("    the paper: both, 12 cores", 60 * paper["minutes"], "s"),
        Line("    the paper, in core-seconds", 60 * paper["minutes"] * paper["cores"], "s"),
        Line("    a literal loop here, one core, SCALED UP from a part", literal_seconds, "s"),
        Line("    times faster than the literal loop", literal_seconds / total, "x"),
    ]


def _literal_seconds(dataset):
    """Time a literal Algorithm 1 on 2 trees, 1 split, 1 σ, 1 metric, 25 sets; scale it up.

    Growing the trees is left out. The full experiment has 100 trees, 5 splits of each subset,
    10 σ, 6 metrics and 100 sets.
    """
    part = {"n_candidates": 2, "max_depth": 4, "subsample": 0.7}
    part |= {"change_probability": 0.1, "shift_decay": 0.1}
    cohort = clinical._cohort(dataset)
    rows = np.random.default_rng(0).permutation(len(cohort.y))
    while not 2 <= cohort.y[rows[80:100]].sum() <= 18:
        rows = np.random.default_rng(rows[0]).permutation(len(cohort.y))
    rng = np.random.default_rng(1)
    problem = clinical._make_split(cohort, rows[:80], rows[80:100], rows[100:], rng, part)
    perturbers = [
        _perturber(kind, problem.categories.get(f)) for f, kind in enumerate(cohort.kinds)
    ]
    seconds, _ = timed(
        functools.partial(
            literal.validate,
            problem.trees,
            problem.X_validation,
            problem.y_validation,
            perturbers,
            literal.efficiency(0.3),
            25,
            7,
            functools.partial(np.quantile, q=0.25),
            lambda q, m: np.random.default_rng((q, m)),
        )
    )
    scale = (100 / 2) * (100 / 25) * 5 * clinical.DATASETS[dataset]
    return seconds * scale * len(clinical.SIGMAS) * len(clinical.METRICS)


def _perturber(kind, change):
    """Return the literal mechanism of a column."""
    if kind == "numeric":
        return literal.add_noise(0.2)
    if change is None:
        return None
    levels = change.levels_.tolist()
    return literal.flip(0.1, levels) if kind == "nominal" else literal.shift(0.1, 0.1, levels)


BENCHES = [bench_clinical]
