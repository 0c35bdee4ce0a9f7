"""Rashomon Capacity (Hsu and Calmon 2022), and the candidates of PVF as Rashomon sets."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import pandas as pd

from studies.capacity2022 import (
    authors,
    bridge,
    bridge_show,
    checks,
    near_optimal,
    run,
    searches,
    show,
)
from studies.kit.claims import parts_of
from studies.kit.results import read_result
from studies.kit.study import Study
from studies.kit.verdicts import Part

__all__ = [
    "AUTHORS",
    "AWP",
    "CHECKS",
    "GREEDY",
    "LOGISTIC",
    "NEAR",
    "NETWORKS",
    "PATIENTS",
    "SETS",
    "STUDIES",
]


def _rounded(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.round(6)


def _to_four(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.round(4)


@cache
def _committed_estimates(names: tuple[str, ...]) -> pd.DataFrame:
    tables = {name: read_result(name)[0] for name in names}
    found = [
        (authors.authors_estimates if name == "capacity_authors" else run.by_split)(table)
        for name, table in tables.items()
    ]
    if {"capacity_awp", "capacity_networks"} <= set(names):
        pair = tables["capacity_awp"], tables["capacity_networks"]
        found.append(searches.against_sampling(*pair))
    return pd.concat(found, ignore_index=True)


def _of_several_tables(_: pd.DataFrame, entry: Mapping[str, Any]) -> list[Part]:
    """Return the parts of a claim on estimates of all committed tables that its entry names."""
    return parts_of(entry, _committed_estimates(tuple(entry["tables"])))


CHECKS = Study(
    name="capacity_checks",
    settings=checks.Checks,
    blocks=checks.check_blocks,
    block=checks.check_block,
    estimate=checks.check_estimates,
    figures={"fig-rashomon-simplex": show.simplex},
    sample={"n_sets": 1000},
)

NETWORKS = Study(
    name="capacity_networks",
    settings=run.Networks,
    blocks=run.network_blocks,
    block=run.network_block,
    summarise=_rounded,
    estimate=run.by_split,
    figures={"fig-rashomon-epochs": show.epochs, "fig-rashomon-remedies": show.remedies},
    claims={"RC-10": _of_several_tables},
    sample={"n_repetitions": 1},
    measured=("seconds",),
)

LOGISTIC = Study(
    name="capacity_logistic",
    settings=searches.Logistic,
    blocks=searches.logistic_blocks,
    block=searches.logistic_block,
    summarise=_rounded,
    estimate=run.by_split,
    figures={"fig-rashomon-penalties": show.penalties},
    sample={"n_repetitions": 1},
    measured=("seconds",),
)

GREEDY = Study(
    name="capacity_greedy",
    settings=run.Greedy,
    blocks=run.greedy_blocks,
    block=run.greedy_block,
    summarise=_rounded,
    estimate=run.greedy_estimates,
    figures={"fig-bridge-greedy": show.greedy},
    sample={"n_repetitions": 1},
)

AWP = Study(
    name="capacity_awp",
    settings=searches.Awp,
    blocks=searches.awp_blocks,
    block=searches.awp_block,
    summarise=_rounded,
    estimate=run.by_split,
    figures={
        "fig-rashomon-tails": show.tails,
        "fig-rashomon-curves": show.curves,
        "fig-rashomon-decisions": show.in_decisions,
    },
    sample={"n_repetitions": 1},
    measured=("seconds",),
)

AUTHORS = Study(
    name="capacity_authors",
    settings=authors.Authors,
    blocks=authors.authors_blocks,
    block=authors.authors_block,
    summarise=authors.authors_summary,
    estimate=authors.authors_estimates,
    figures={"fig-rashomon-authors": show.authors, "fig-rashomon-leads": show.leads},
    claims=dict.fromkeys(("RC-6", "RC-7", "RC-8"), _of_several_tables),
    measured=("seconds",),
)

NEAR = Study(
    name="near_optimal",
    settings=near_optimal.NearOptimal,
    blocks=near_optimal.near_blocks,
    block=near_optimal.near_block,
    summarise=_to_four,
    estimate=near_optimal.near_estimates,
    figures={"fig-bridge-near": show.near_optimal},
    sample={"n_repetitions": 1},
)

#: The candidates of the clinical and synthetic experiments as sets, by the beginning of a
#: problem's name.
SETS = {
    problem: Study(
        name=f"candidate_sets_{problem.partition('-')[0]}",
        settings=bridge.CandidateSets,
        blocks=partial(bridge.candidate_blocks, problem),
        block=bridge.set_block,
        summarise=_to_four,
        estimate=bridge_show.set_estimates,
        figures={
            "fig-bridge-ranks": bridge_show.ranks,
            "fig-bridge-separation": bridge_show.separations,
        },
        sample={"n_repetitions": 1, "n_datasets": 10},
    )
    for problem, what, unit in [
        ("breast-cancer", "the breast-cancer splits", "split"),
        ("cervical-cancer", "the cervical-cancer splits", "split"),
        ("synthetic", "synthetic data sets", "data set"),
    ]
}

PATIENTS = Study(
    name="candidate_patients",
    settings=bridge.CandidateSets,
    blocks=partial(bridge.candidate_blocks, ""),
    block=bridge.patient_block,
    summarise=_to_four,
    estimate=bridge_show.patient_estimates,
    figures={
        "fig-bridge-conflicts": bridge_show.conflicts,
        "fig-bridge-decisions": bridge_show.in_decisions,
        "fig-bridge-carried": bridge_show.carried,
    },
    sample={"n_repetitions": 1, "n_datasets": 10},
)

STUDIES = (CHECKS, AUTHORS, NETWORKS, LOGISTIC, GREEDY, AWP, NEAR, *SETS.values(), PATIENTS)
