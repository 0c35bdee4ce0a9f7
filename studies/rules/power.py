"""Before anything else: how small a difference the primary question can tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from studies.data.keel import TABLES, load_table
from studies.kit.estimates import t_interval
from studies.kit.study import Settings, Study, setting
from studies.rules.pools import coded
from studies.rules.run import PRIMARY, RulesSettings, cohort_rows

#: The two tables that may be looked at before the others are computed.
PILOTS = ("haberman", "wdbc")
#: The smallest difference of interest, in attainable share.
MARGIN = 0.05
#: Cohorts a table, and standard deviations of the true difference between tables, to simulate.
COHORTS, SPREADS = (10, 20, 40), (0.0, 0.05, 0.1, 0.2)


@dataclass(frozen=True)
class PowerSettings(Settings):
    """What the simulation can be told."""

    n_cohorts: int = setting(4, "cohorts of each pilot table", full=40, low=2)
    n_candidates: int = setting(20, "trees in a pool", full=100, low=2)
    seed: int = setting(20261129, "another one than the study's", low=0)


def pilot_rows(name: str, settings: PowerSettings) -> pd.DataFrame:
    """Return the primary difference of each cohort of one pilot table."""
    told = RulesSettings(n_candidates=settings.n_candidates, seed=settings.seed)
    pool, size = PRIMARY
    rows = cohort_rows(
        coded(load_table(name)), name, size, pool, range(settings.n_cohorts), told
    ).query("outcome == 'IE@0.1'")
    difference = rows["pvf_0.3"] - rows["holdout"]
    return pd.DataFrame({"table": name, "difference": difference.to_numpy()})


def simulate_power(
    rows: pd.DataFrame, *, n_tables: int = len(TABLES), n_simulations: int = 4000, seed: int = 0
) -> pd.DataFrame:
    """Simulate the primary interval from the pilots' scatter.

    Parameters
    ----------
    rows : DataFrame
        ``table`` and ``difference``, one row a cohort.
    n_tables, n_simulations, seed : int

    Returns
    -------
    DataFrame
        For each number of cohorts and each spread of the true difference between tables:
        ``detected``, the smallest mean difference whose interval leaves 0 out in 80% of
        simulations, and ``equivalent``, how often an interval lies within the margin where there
        is no difference.
    """
    rng = np.random.default_rng(seed)
    pilots = [
        part["difference"].dropna().to_numpy() - part["difference"].mean()
        for _, part in rows.groupby("table", sort=False)
    ]
    found = []
    for n_cohorts in COHORTS:
        for spread in SPREADS:
            means = rng.normal(0.0, spread, (n_simulations, n_tables))
            which = rng.integers(len(pilots), size=means.shape)
            for number, scatter in enumerate(pilots):
                here = which == number
                drawn = rng.choice(scatter, (int(here.sum()), n_cohorts))
                means[here] += drawn.mean(axis=1)
            ends = np.array([t_interval(one)[1:3] for one in means])
            found.append(
                {
                    "n_cohorts": n_cohorts,
                    "spread": spread,
                    "detected": float(np.quantile(-ends[:, 0], 0.8)),
                    "equivalent": float((np.abs(ends) < MARGIN).all(axis=1).mean()),
                    "n_simulations": n_simulations,
                }
            )
    return pd.DataFrame(found).round(5)


def estimate(table: pd.DataFrame) -> pd.DataFrame:
    """Return the simulated powers in the schema of estimates."""
    long = table.melt(
        ["n_cohorts", "spread", "n_simulations"], var_name="quantity", value_name="estimate"
    )
    long = long.rename(columns={"n_simulations": "n"})
    return long.assign(low=np.nan, high=np.nan, unit="simulated studies")


POWER = Study(
    name="rules_power",
    settings=PowerSettings,
    blocks=lambda settings: PILOTS,  # noqa: ARG005
    block=pilot_rows,
    estimate=estimate,
    summarise=simulate_power,
)
