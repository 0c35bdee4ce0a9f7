"""Propositions B.1 to B.7 in a population where every limit is known."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from studies.kit.study import Settings, Study, setting
from studies.pvf2026.convergence import show
from studies.pvf2026.convergence.run import run_checks

__all__ = ["CONVERGENCE", "STUDIES", "ConvergenceSettings"]


@dataclass(frozen=True)
class ConvergenceSettings(Settings):
    """What the checks can be told."""

    n_repetitions: int = setting(40, "repetitions of each simulation", full=400, low=2)
    seed: int = setting(20261128, "seed of all simulations", low=0)


def _all_checks(_: str, settings: ConvergenceSettings) -> pd.DataFrame:
    # The last digits of sums and of special functions are the processor's.
    return run_checks(n_repetitions=settings.n_repetitions, seed=settings.seed).round(12)


CONVERGENCE = Study(
    name="convergence",
    settings=ConvergenceSettings,
    blocks=lambda _: ["all checks"],
    block=_all_checks,
    estimate=show.estimate,
    figures=show.FIGURES,
)

STUDIES = (CONVERGENCE,)
