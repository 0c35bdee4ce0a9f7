"""The full-scale result tables that the book cites, and how each is made."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from pvf.store import results_folder, write_result
from pvf.studies import candidate_sets, clinical
from pvf.studies.synthetic import run_sweep

__all__ = ["TABLES", "FullTable", "make_table"]


@dataclass(frozen=True)
class FullTable:
    """A result table: the function that makes it, and its settings.

    Parameters
    ----------
    make : callable
        Takes ``settings`` and ``seed``, ``n_jobs`` and ``out`` as keywords; returns the table.
    settings : mapping
        What differs from the function's defaults, or deserves to be on record.
    seed : int
    notes : str
        What a reader of the table should know.
    measured : sequence of str
        Columns that hold measured times, which no second run repeats.
    """

    make: Callable[..., pd.DataFrame]
    settings: Mapping[str, Any]
    seed: int
    notes: str
    measured: Sequence[str] = ()


def _breast_cancer(**arguments: Any) -> pd.DataFrame:
    return clinical.by_repetition(clinical.run_experiment("breast-cancer", **arguments)).round(6)


def _cervical_cancer(**arguments: Any) -> pd.DataFrame:
    return clinical.by_repetition(clinical.run_experiment("cervical-cancer", **arguments)).round(6)


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


def _cervical_choices(**arguments: Any) -> pd.DataFrame:
    frames = []
    for variant, changed in CERVICAL_VARIANTS.items():
        table = clinical.run_experiment("cervical-cancer", **arguments, **changed)
        runs = clinical.by_repetition(
            table[table["tie_break"] == "first"],
            extra=["external_traditional", "external_average"],
        )
        frames.append(runs.round(6).assign(variant=variant))
    kept = ["variant", "repetition", "sigma", "metric", "tie_break", "win", "loss", "tie", "gain"]
    return pd.concat(frames, ignore_index=True)[[*kept, "external_traditional", "external_average"]]


def _clinical_reached(**arguments: Any) -> pd.DataFrame:
    frames = [
        clinical.reached_cases(clinical.run_experiment(dataset, **arguments))
        .round(6)
        .assign(dataset=dataset)
        for dataset in clinical.DATASETS
    ]
    return pd.concat(frames, ignore_index=True)


def _cervical_data(*, seed: int, n_jobs: int | None, out: Path | None) -> pd.DataFrame:
    del seed, n_jobs, out  # nothing is drawn and nothing takes long
    return clinical.cervical_arithmetic()


#: Repetitions of each problem in the tables of candidate sets: one is 25 or 30 splits of clinical
#: data, or one synthetic data set.
_CANDIDATE_REPETITIONS = {"n_repetitions": 20, "n_datasets": 200}


def _candidate_findings(
    problem: str, n_repetitions: int, n_datasets: int, **arguments: Any
) -> candidate_sets.Findings:
    n = n_repetitions if problem in clinical.DATASETS else n_datasets
    return candidate_sets.run_candidate_sets(problem, n_repetitions=n, **arguments)


def _candidate_sets(problem: str, **arguments: Any) -> pd.DataFrame:
    """Return the sets of one clinical problem, or of all synthetic ones."""
    frames = [
        _candidate_findings(name, **arguments).sets
        for name in candidate_sets.PROBLEMS
        if name.startswith(problem)
    ]
    return pd.concat(frames, ignore_index=True).round(4)


def _candidate_patients(**arguments: Any) -> pd.DataFrame:
    frames = [_candidate_findings(name, **arguments).patients for name in candidate_sets.PROBLEMS]
    return pd.concat(frames, ignore_index=True).round(4)


#: All full-scale tables by name, which is also the name of the file in ``book/results``.
TABLES = {
    "breast_cancer": FullTable(
        make=_breast_cancer,
        settings={"n_repetitions": 50},
        seed=20261127,
        notes=(
            "One row for each repetition of the breast-cancer experiment, sigma, metric and tie "
            "rule: means over the 25 splits, rounded to six decimals."
        ),
    ),
    "synthetic_sweep": FullTable(
        make=run_sweep,
        settings={"n_repetitions": 5000},
        seed=1,
        notes="The synthetic sweep at the paper's scale, every configuration, metric and tie rule.",
    ),
    "synthetic_half": FullTable(
        make=run_sweep,
        settings={"n_repetitions": 2500},
        seed=1,
        notes="The first half of the repetitions of synthetic_sweep.",
    ),
    "cervical_cancer": FullTable(
        make=_cervical_cancer,
        settings={"n_repetitions": 50},
        seed=20261127,
        notes=(
            "One row for each repetition of the cervical-cancer experiment, sigma, metric and "
            "tie rule: means over the 30 splits, rounded to six decimals."
        ),
    ),
    "cervical_choices": FullTable(
        make=_cervical_choices,
        settings={"n_repetitions": 10, "sigmas": [1e-2]},
        seed=20261127,
        notes=(
            "The cervical-cancer experiment with one choice changed at a time: one row for each "
            "variant, repetition, sigma and metric; the first of tied candidates is taken."
        ),
    ),
    "clinical_reached": FullTable(
        make=_clinical_reached,
        settings={"n_repetitions": 5},
        seed=20261127,
        notes=(
            "Cases that the chosen models reach among a hundred external patients: one row for "
            "each data set, repetition, sigma and capacity; the first of tied candidates is taken."
        ),
    ),
    **{
        f"candidate_sets_{name}": FullTable(
            make=partial(_candidate_sets, problem),
            settings=_CANDIDATE_REPETITIONS,
            seed=20261127,
            notes=(
                f"The candidates of {what} as Rashomon sets: one row for each {unit}, metric and "
                "epsilon, rounded to four decimals; of tied candidates the first is taken, and in "
                "columns that end in _random the mean over all."
            ),
        )
        for name, problem, what, unit in [
            ("breast", "breast-cancer", "the breast-cancer splits", "split"),
            ("cervical", "cervical-cancer", "the cervical-cancer splits", "split"),
            ("synthetic", "synthetic", "synthetic data sets", "data set"),
        ]
    },
    "candidate_patients": FullTable(
        make=_candidate_patients,
        settings=_CANDIDATE_REPETITIONS,
        seed=20261127,
        notes=(
            "How the candidates' Rashomon sets treat external patients: one row for each problem, "
            "repetition (of synthetic data: ten data sets), metric, epsilon and group of patients, "
            "rounded to four decimals; of tied candidates the first is taken."
        ),
    ),
    "cervical_data": FullTable(
        make=_cervical_data,
        settings={},
        seed=0,
        notes="The arithmetic of the cervical-cancer table, step by step.",
    ),
}


def make_table(
    name: str, *, n_jobs: int | None = None, out: Path | None = None, folder: Path | None = None
) -> Path:
    """Compute a full-scale table and write it with its provenance.

    Parameters
    ----------
    name : str
        A key of `TABLES`.
    n_jobs : int or None
        Workers, as joblib takes them.
    out : path, optional
        Folder of resumable shards.
    folder : path, optional
        Where to write the table; ``book/results`` of the repository by default.

    Returns
    -------
    Path
        Of the CSV file.

    Raises
    ------
    ValueError
        There is no such table.
    """
    if name not in TABLES:
        raise ValueError(f"name must be one of {sorted(TABLES)}, got {name!r}.")
    table = TABLES[name]
    folder = results_folder() if folder is None else folder  # fails before the work, not after
    notes = table.notes
    if out is not None:
        notes += " Wall time is that of the last call, which may have found blocks finished before."
    start = time.perf_counter()
    frame = table.make(**table.settings, seed=table.seed, n_jobs=n_jobs, out=out)
    return write_result(
        frame,
        name,
        settings=dict(table.settings),
        seed=table.seed,
        wall_time=time.perf_counter() - start,
        folder=folder,
        notes=notes,
    )
