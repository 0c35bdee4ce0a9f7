"""How much of PVF's choice among the ten pairs is chance: M perturbed sets beside endless ones.

A linear model flags a noisy copy of a sample with probability Φ(m / (σ‖w‖)), m its margin, so that
the law of its score is known, and with it that of Algorithm 1's choice (`clinical.many_sets`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from pvf.validation import is_tied_best
from studies.kit.estimates import less_base, mean_estimates
from studies.kit.study import Settings, Study, setting
from studies.pvf2026.clinical.many_sets import (
    METRICS,
    N_SETS,
    best_of_endless_sets,
    choices_by_lot,
    figure_of_sets,
    laws_of_scores,
)
from studies.pvf2026.clinical.run import METRICS as ALL_METRICS
from studies.pvf2026.synthetic.grid import SCORES
from studies.pvf2026.synthetic.run import Repetition, draw_repetition
from studies.pvf2026.synthetic.show import with_groups

_N_REPLICAS = 7
_TEN = 10  # data sets of a repetition
_CONFIGURATION = ["n_samples", "mu", "sigma"]


@dataclass(frozen=True)
class SyntheticSetsSettings(Settings):
    """What the study can be told."""

    n_repetitions: int = setting(5, "tens of data sets in each configuration", full=30, low=1)
    n_samples: tuple[int, ...] = setting((50,), "sizes n", full=(50, 100), paper="50, 100")
    mus: tuple[float, ...] = setting((0.5, 1.5, 2.5), "separabilities μ, one of each group")
    sigmas: tuple[float, ...] = setting((1e-3, 1e-2, 1e-1), "noise σ")
    seed: int = setting(1, "of the sweep, whose first data sets these are", low=0)


def _block(key: tuple[int, float, float], settings: SyntheticSetsSettings) -> pd.DataFrame:
    """Return the mean choices on each ten data sets of one configuration."""
    rows = [
        {**dict(zip(_CONFIGURATION, key, strict=True)), "repetition": number // _TEN, **row}
        for number in range(_TEN * settings.n_repetitions)
        for row in _of_data_set(draw_repetition(*key, number, seed=settings.seed), key[-1])
    ]
    keys = [*_CONFIGURATION, "repetition", "metric", "n_sets"]
    return pd.DataFrame(rows).groupby(keys, sort=False).mean().round(5).reset_index()


def _of_data_set(one: Repetition, sigma: float) -> Iterator[dict[str, Any]]:
    """Yield how the choice by M sets compares with that by endless ones; 0 stands for no end.

    ``same`` is the probability that it is one of the limit's best, ``found`` that it is the true
    pair, ``lead`` that less the traditional method's; ties are split evenly in all of them.
    """
    spread = sigma * np.linalg.norm(one.models[:, 1:], axis=1, keepdims=True)
    flags = ndtr(one.margins / spread)
    is_case = one.y[one.validation_rows] == 1
    laws = laws_of_scores(flags, is_case, _N_REPLICAS, *map(ALL_METRICS.index, METRICS))
    traditional = is_tied_best(one.traditional[:, [SCORES.index(m) for m in METRICS]].T)
    for metric, cdf, tied in zip(METRICS, laws, traditional, strict=True):
        best = best_of_endless_sets(cdf)
        chances = {0: best / best.sum()}
        chances |= {n_sets: choices_by_lot(cdf, n_sets) for n_sets in N_SETS}
        for n_sets, chance in chances.items():
            yield {
                "metric": metric,
                "n_sets": n_sets,
                "same": chance @ best,
                "found": chance[0],
                "lead": chance[0] - tied[0] / tied.sum(),
            }


def estimate(table: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of same choices and of the true pair, and the lead, in percent."""
    keys = [*_CONFIGURATION, "metric"]
    lost = -less_base(table, "lead", [*keys, "repetition"], table["n_sets"] == 0)
    rows = table.assign(changed=1 - table["same"], lost=lost)
    quantities = ["same", "changed", "found", "lead", "lost"]
    unit = "% of data sets"
    return with_groups(mean_estimates(rows, [*keys, "n_sets"], quantities, unit=unit, scale=100))


SYNTHETIC_SETS = Study(
    name="synthetic_sets",
    settings=SyntheticSetsSettings,
    blocks=lambda given: [*product(given.n_samples, given.mus, given.sigmas)],
    block=_block,
    estimate=estimate,
    figures={"fig-syn-sets": partial(figure_of_sets, low=80, n_samples=50, group="low")},
    sample={"n_samples": (50,), "mus": (1.5,), "sigmas": (0.1,)},
)
