"""Breast and cervical cancer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from studies.kit.claims import parts_of
from studies.kit.estimates import less_base, mean_estimates
from studies.kit.study import Settings, Study, setting
from studies.kit.verdicts import Part
from studies.pvf2026.clinical import run, show
from studies.pvf2026.clinical.counts import BREAST_COUNTS, COUNTS

__all__ = ["BREAST", "BREAST_COUNTS", "CERVICAL", "CHOICES", "COUNTS", "REACHED", "STUDIES"]

#: What else the paper's words on the cervical data can mean, one change at a time.
CERVICAL_VARIANTS: dict[str, dict[str, Any]] = {
    "as in this chapter": {},
    "missing: 5-NN on the whole table": {"missing": "knn"},
    "missing: 5-NN inside each training part": {"missing": "knn-inside"},
    "other targets: kept as features": {"other_targets": "keep"},
    "earlier diagnoses: dropped": {"earlier_diagnoses": "drop"},
    "scaling: by the whole table": {"scaling": "all"},
    "scaling: none": {"scaling": "none"},
    "subsets: stratified": {"subsets": "stratified"},
    "categories: noise as for numbers": {"mixed": False},
}

_KEYS = ["sigma", "metric", "tie_break"]
_SHARES = ["win", "loss", "tie", "lead", "within"]  # in percent of splits


def _shares(block: int, settings: run.Experiment) -> pd.DataFrame:
    """Return what one run of the paper's experiment would report."""
    return run.by_repetition(run.one_repetition(block, settings)).round(6)


def compared(table: pd.DataFrame) -> pd.DataFrame:
    """Add each repetition's lead less that at the best σ, and that at γ = 0.1 less it."""
    rows, group = run.in_percent(table), ["metric", "tie_break"]
    means = rows.groupby([*group, "sigma"], sort=False)["lead"].mean().reset_index()
    best = means.sort_values("lead", ascending=False, kind="stable").drop_duplicates(group)
    at_best = rows.merge(best[[*group, "sigma"]])[[*group, "repetition", "lead"]]
    smallest = rows[rows["metric"] == "IE@0.1"][["sigma", "tie_break", "repetition", "lead"]]
    rows = rows.merge(at_best, "left", on=[*group, "repetition"], suffixes=("", "_at_best")).merge(
        smallest, "left", on=["sigma", "tie_break", "repetition"], suffixes=("", "_smallest")
    )
    return rows.assign(
        behind_best=rows["lead"] - rows["lead_at_best"],
        below_smallest=rows["lead_smallest"] - rows["lead"],
    )


def estimate(table: pd.DataFrame) -> pd.DataFrame:
    """Return means over repetitions: new subsets, splits, trees and noise, the same patients."""
    in_points = [*_SHARES, "behind_best", "below_smallest"]
    others = ["gain", "gain_within", "n_tied_pvf", "n_tied_traditional"]
    rows = compared(table)
    return pd.concat(
        [
            mean_estimates(rows, _KEYS, in_points, unit="% of splits"),
            mean_estimates(rows, _KEYS, others),
        ],
        ignore_index=True,
    )


def single_runs(table: pd.DataFrame) -> pd.DataFrame:
    """Return every repetition's shares; each is a run of the paper's size."""
    long = run.in_percent(table).rename(columns={"repetition": "run"})
    return long.melt([*_KEYS, "run"], _SHARES, var_name="quantity", value_name="value")


@dataclass(frozen=True)
class Choices(Settings):
    """What the comparison of open choices can be told."""

    n_repetitions: int = setting(1, "runs of each variant", full=10, low=1)
    sigmas: tuple[float, ...] = setting((1e-2,), "noise σ")
    seed: int = setting(20261127, "seed of all repetitions", low=0)


def _variants(settings: Choices) -> list[tuple[str, int]]:
    run.need_data("cervical-cancer")
    return [*product(CERVICAL_VARIANTS, range(settings.n_repetitions))]


def _variant(key: tuple[str, int], settings: Choices) -> pd.DataFrame:
    variant, block = key
    experiment = run.CervicalExperiment(
        sigmas=settings.sigmas, seed=settings.seed, **CERVICAL_VARIANTS[variant]
    )
    table = run.one_repetition(block, experiment)
    external = ["external_traditional", "external_average"]
    runs = run.by_repetition(table[table["tie_break"] == "first"], extra=external)
    kept = ["repetition", *_KEYS, "win", "loss", "tie", "gain", *external]
    runs = runs[kept].round(6)
    runs.insert(0, "variant", variant)
    return runs


def estimate_choices(table: pd.DataFrame) -> pd.DataFrame:
    """Return means over repetitions; of "change", a lead less that as in the chapter, in pairs."""
    rows = run.in_percent(table)
    base = rows["variant"] == next(iter(CERVICAL_VARIANTS))
    rows["change"] = less_base(rows, "lead", ["repetition", *_KEYS], base)
    values = ["lead", "change", "gain", "external_traditional", "external_average"]
    return mean_estimates(rows, ["variant", *_KEYS], values)


@dataclass(frozen=True)
class Reached(Settings):
    """What the count of reached cases can be told."""

    datasets: tuple[str, ...] = setting(tuple(run.DATASETS), "data sets")
    n_repetitions: int = setting(1, "runs of each experiment", full=5, low=1)
    sigmas: tuple[float, ...] = setting(run.SIGMAS, "noise σ")
    seed: int = setting(20261127, "seed of all repetitions", low=0)


def _experiments(settings: Reached) -> list[tuple[str, int]]:
    run.need_data(*settings.datasets)
    return [*product(settings.datasets, range(settings.n_repetitions))]


def _reached(key: tuple[str, int], settings: Reached) -> pd.DataFrame:
    dataset, block = key
    experiment = run.Experiment(dataset=dataset, sigmas=settings.sigmas, seed=settings.seed)
    reached = run.reached_cases(run.one_repetition(block, experiment))
    return reached.round(6).assign(dataset=dataset)


def estimate_reached(table: pd.DataFrame) -> pd.DataFrame:
    """Return means over repetitions of the cases that each way to choose reaches."""
    ways = ["chance", "average", "traditional", "pvf", "best", "cases"]
    return mean_estimates(table, ["dataset", "sigma", "capacity"], ways, unit="of 100 patients")


def _figures(name: str, *claims: str) -> dict[str, Callable[..., Figure]]:
    """Return the figures of one data set's chapter, and of the chapter on σ."""
    leads = partial(show.figure_of_leads, ids=claims)
    return {
        f"fig-{name}-leads": leads,
        f"fig-sensitivity-{name}": leads,
        f"fig-{name}-ties": partial(show.figure_by_rule, "lead", show.LEAD),
        f"fig-{name}-gains": partial(show.figure_by_rule, "gain", show.GAIN, sharey=False),
    }


BREAST = Study(
    name="breast_cancer",
    settings=run.Experiment,
    blocks=run.repetitions,
    block=_shares,
    estimate=estimate,
    runs=single_runs,
    figures=_figures("breast", "BRE-1", "BRE-2", "BRE-3", "BRE-4"),
    sample={"n_repetitions": 1},
)


def fair_start(cervical: pd.DataFrame, entry: Mapping[str, Any]) -> list[Part]:
    """Return the parts of SEN-9: the same of both data sets."""
    breast = {
        **entry,
        "parts": [
            {**part, "says": part["says"].replace("cervical", "breast")} for part in entry["parts"]
        ],
    }
    return parts_of(entry, cervical) + parts_of(breast, estimate(BREAST.committed()[0]))


CERVICAL = Study(
    name="cervical_cancer",
    settings=run.CervicalExperiment,
    blocks=run.repetitions,
    block=_shares,
    estimate=estimate,
    runs=single_runs,
    figures=_figures("cervical", "CER-1", "CER-2", "CER-3"),
    sample={"n_repetitions": 1},
    claims={"SEN-9": fair_start},
)
CHOICES = Study(
    name="cervical_choices",
    settings=Choices,
    blocks=_variants,
    block=_variant,
    estimate=estimate_choices,
    sample={"n_repetitions": 1},
)
REACHED = Study(
    name="clinical_reached",
    settings=Reached,
    blocks=_experiments,
    block=_reached,
    estimate=estimate_reached,
    figures={
        f"fig-{name}-reached": partial(
            show.figure_of_reached_cases, dataset=f"{name}-cancer", sigma=sigma
        )
        for name, sigma in {"breast": 0.3, "cervical": 0.01}.items()
    },
    sample={"n_repetitions": 1},
)
STUDIES: tuple[Study, ...] = (BREAST, CERVICAL, CHOICES, REACHED, BREAST_COUNTS, COUNTS)
