"""The full-scale result tables that the book cites, and how each is made."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from studies.capacity2022 import bridge as candidate_sets
from studies.capacity2022 import run as multiplicity
from studies.kit.digest import table_code
from studies.kit.results import results_folder, resumed, write_result
from studies.kit.study import Study
from studies.pmv2019 import tables as pmv_tables
from studies.pmv2019.rules import PROBLEMS
from studies.pvf2026.clinical import run as clinical
from studies.pvf2026.convergence import run as convergence
from studies.pvf2026.efficiency import run as efficiency
from studies.pvf2026.synthetic import cost, label_noise
from studies.pvf2026.synthetic.run import run_sweep
from studies.rules import POWER, RULES_STUDY

__all__ = ["STUDIES", "TABLES", "FullTable", "entries", "make_table"]

#: Every study by its name, which is also its table's.
ALL: tuple[Study, ...] = (POWER, RULES_STUDY)
STUDIES = {study.name: study for study in ALL}


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
    sample : mapping
        Settings under which the table's function gives some of the table's rows, quickly.
    """

    make: Callable[..., pd.DataFrame]
    settings: Mapping[str, Any]
    seed: int
    notes: str
    measured: Sequence[str] = ()
    sample: Mapping[str, Any] = field(default_factory=dict)

    def full_table(
        self, *, n_jobs: int | None = None, out: Path | None = None, **changed: Any
    ) -> pd.DataFrame:
        """Compute the committed table, or what it would be with some settings changed."""
        return self.make(**{**self.settings, **changed}, seed=self.seed, n_jobs=n_jobs, out=out)

    def recorded(self) -> tuple[dict[str, Any], int | None]:
        """Return the settings and the seed, as the committed table's provenance has them."""
        return dict(self.settings), self.seed


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


def _alone(make: Callable[..., pd.DataFrame]) -> Callable[..., pd.DataFrame]:
    """Let a function that needs neither workers nor shards be called as the others are."""

    def call(*, n_jobs: int | None, out: Path | None, **arguments: Any) -> pd.DataFrame:
        del n_jobs, out
        return make(**arguments)

    return call


def _label_losses(*, seed: int, **settings: Any) -> pd.DataFrame:
    del seed  # nothing is drawn
    return label_noise.penalties(**settings)


def _breast_data(*, seed: int) -> pd.DataFrame:
    del seed
    return clinical.breast_arithmetic()


def _cervical_data(*, seed: int, n_jobs: int | None, out: Path | None) -> pd.DataFrame:
    del seed, n_jobs, out  # nothing is drawn and nothing takes long
    return clinical.cervical_arithmetic()


def _rounded(make: Callable[..., pd.DataFrame]) -> Callable[..., pd.DataFrame]:
    """Return a table with six decimals."""

    def rounded(**arguments: Any) -> pd.DataFrame:
        return make(**arguments).round(6)

    return rounded


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
        sample={"n_repetitions": 1},
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
        sample={"n_repetitions": 1},
        seed=20261127,
        notes=(
            "One row for each repetition of the cervical-cancer experiment, sigma, metric and "
            "tie rule: means over the 30 splits, rounded to six decimals."
        ),
    ),
    "cervical_choices": FullTable(
        make=_cervical_choices,
        settings={"n_repetitions": 10, "sigmas": [1e-2]},
        sample={"n_repetitions": 1},
        seed=20261127,
        notes=(
            "The cervical-cancer experiment with one choice changed at a time: one row for each "
            "variant, repetition, sigma and metric; the first of tied candidates is taken."
        ),
    ),
    "clinical_reached": FullTable(
        make=_clinical_reached,
        settings={"n_repetitions": 5},
        sample={"n_repetitions": 1},
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
            sample={"n_repetitions": 1, "n_datasets": 10},
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
        sample={"n_repetitions": 1, "n_datasets": 10},
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
    "breast_data": FullTable(
        make=_alone(_breast_data),
        settings={},
        seed=0,
        notes="Samples, positives and missing entries of the breast-cancer table.",
    ),
    "efficiency_checks": FullTable(
        make=_alone(efficiency.run_checks),
        settings={"n_repetitions": 200_000, "largest_population": 24},
        seed=20261127,
        notes=(
            "How many cases of each check of Proposition 3.1 agree: algebra, lists of all sets, "
            "exact sums, the policy acted out, and random validation sets."
        ),
    ),
    "label_gaps": FullTable(
        make=_alone(label_noise.compare_gaps),
        settings={"rates": [0.0, 0.05, 0.1, 0.2, 0.3], "n_draws": 20_000},
        seed=1,
        notes="Gaps between two models when validation labels are flipped, by rate and metric.",
    ),
    "label_losses": FullTable(
        make=_alone(_label_losses),
        settings={"rate": 0.1},
        seed=0,
        notes="What models of growing strength lose to flipped labels, by the closed form.",
    ),
    "cost_times": FullTable(
        make=_alone(cost.measure_times),
        settings={"factors": [1, 2, 4, 8, 16], "n_rounds": 5},
        seed=1,
        notes="Processor time of PVF while one size grows; of all rounds the fastest counts.",
        measured=("seconds",),
    ),
    "convergence": FullTable(
        make=_alone(convergence.run_checks),
        settings={"n_repetitions": 400},
        seed=20261128,
        notes=(
            "Propositions B.1 to B.7 in a population where every limit is known: one row for each "
            "claim, part, setting and size."
        ),
    ),
    "capacity_networks": FullTable(
        make=_rounded(multiplicity.run_networks),
        settings={"n_models": 100, "n_repetitions": 5, "n_perturbed": 150},
        sample={"n_repetitions": 1},
        seed=20261128,
        notes=(
            "Rashomon Capacity of networks trained from many seeds on Adult and COMPAS, and what "
            "ensembles and calibration make of it: one row for each data set, training, number of "
            "epochs, split, way and epsilon, rounded to six decimals."
        ),
        measured=("seconds",),
    ),
    "capacity_logistic": FullTable(
        make=_rounded(multiplicity.run_logistic),
        settings={"n_models": 100, "n_repetitions": 5, "n_perturbed": 150},
        sample={"n_repetitions": 1},
        seed=20261128,
        notes=(
            "Rashomon Capacity around one logistic regression, as four ways find it: one row for "
            "each data set, penalty, split, way and epsilon, rounded to six decimals."
        ),
        measured=("seconds",),
    ),
    "capacity_greedy": FullTable(
        make=_rounded(multiplicity.run_greedy),
        settings={"n_models": 180, "n_kept": 163, "n_repetitions": 3},
        sample={"n_repetitions": 1},
        seed=20261128,
        notes=(
            "How much of the capacity of a set of networks on COMPAS a few of them keep: one row "
            "for each training, split, first model, rule, half of the test part and number of "
            "models, rounded to six decimals."
        ),
    ),
    "capacity_awp": FullTable(
        make=_rounded(multiplicity.run_awp),
        settings={
            "n_repetitions": 5,
            "n_perturbed": 150,
            "n_repetitions_paper": 1,
            "n_perturbed_paper": 30,
        },
        sample={"n_repetitions": 1},
        seed=20261128,
        notes=(
            "Rashomon Capacity that adversarial weight perturbation finds around networks on Adult "
            "and COMPAS, with PyTorch: one row for each data set, network, split and epsilon, "
            "rounded to six decimals."
        ),
        measured=("seconds",),
    ),
    "pmv_table1": FullTable(
        make=pmv_tables.table1,
        settings={"n_repeats": 10, "n_repeats_today": 1},
        seed=20190524,
        notes=(
            "Table 1 of the PMV paper at the closest setting: means over runs on the same data "
            "and, as _low and _high, where one more run is expected (95%)."
        ),
    ),
    "pmv_distances": FullTable(
        make=pmv_tables.search_distances,
        settings={"sizes": [100, 200, 500, 1000, 2000], "n_repeats": 1},
        sample={"sizes": [100]},
        seed=20190524,
        notes="How far Table 1 of the PMV paper lies from ours under each likely setting.",
    ),
    "pmv_picks": FullTable(
        make=pmv_tables.picks,
        settings={"n_seeds": 200, "n_orders": 10},
        sample={"n_seeds": 2, "n_orders": 1},
        seed=20190524,
        notes=(
            "Seven classifiers on new data sets of each kind and noise level: PMV, ten-fold "
            "cross-validation, true accuracy. Without noise, moons and circles hold the same "
            "points every time; ten orders of them were run."
        ),
    ),
    "pmv_memorisers": FullTable(
        make=pmv_tables.memorisers,
        settings={
            "data": ["breast-cancer", "adult, 5%"],
            "trees_only": ["adult"],
            "where_present": ["connect-4"],
            "n_repeats": 3,
            "noise_levels": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5],
        },
        sample={"data": ["breast-cancer"], "trees_only": [], "where_present": []},
        seed=20190524,
        notes="PMV of learners that memorise, of the same held back, and of one that can't learn.",
    ),
    "pmv_tree_gaps": FullTable(
        make=pmv_tables.tree_gaps,
        settings={
            "data": ["breast-cancer", "adult"],
            "where_present": ["connect-4"],
            "n_repeats": 10,
        },
        seed=20190524,
        notes="Training less test accuracy of an unlimited tree, for three ways to cut ten folds.",
    ),
    "pmv_depths": FullTable(
        make=pmv_tables.depths,
        settings={
            "data": ["breast-cancer", "adult, 5%", "adult"],
            "where_present": ["connect-4"],
            "n_repeats": 50,
        },
        sample={"data": ["breast-cancer"], "where_present": [], "n_repeats": 5},
        seed=20190524,
        notes="Training accuracy of trees of depth 1 to 20 (size) at each noise level, 50 runs.",
    ),
    "pmv_grid_depths": FullTable(
        make=pmv_tables.grid_depths,
        settings={
            "data": ["breast-cancer", "adult, 5%", "adult"],
            "where_present": ["connect-4"],
            "n_repeats": 50,
        },
        seed=20190524,
        notes="Depth of a tree as grid search with ten folds picks it, 50 runs for each kind.",
    ),
    "pmv_hidden_sizes": FullTable(
        make=pmv_tables.hidden_sizes,
        settings={
            "n_repeats": {"digits 0 and 1": 2, "MNIST 0 and 1": 1},
            "max_iter": 50,
        },
        sample={"n_repeats": {"digits 0 and 1": 1}},
        seed=20190524,
        notes=(
            "Training accuracy of networks with one hidden layer (size: neurons) at each noise "
            "level, and the errors of a 70:30 split; 50 passes over the data."
        ),
    ),
    "pmv_rules": FullTable(
        make=pmv_tables.rules,
        settings={"problems": list(PROBLEMS), "n_repetitions": 20},
        sample={"problems": ["linear"]},
        seed=20190524,
        notes=(
            "Rules for choosing a learner: how often right, outside score lost against the best "
            "candidate with a 95% interval over data sets, how stable, seconds for one choice."
        ),
        measured=("seconds",),
    ),
}


def entries() -> dict[str, FullTable | Study]:
    """Return every table by its name: its study, or how it is made where there is none yet."""
    return {**TABLES, **STUDIES}


def make_table(
    name: str, *, n_jobs: int | None = None, out: Path | None = None, folder: Path | None = None
) -> Path:
    """Compute a full-scale table and write it with its provenance.

    Parameters
    ----------
    name : str
        A key of `entries`.
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
    known = entries()
    if name not in known:
        raise ValueError(f"name must be one of {sorted(known)}, got {name!r}.")
    table = known[name]
    folder = results_folder() if folder is None else folder  # fails before the work, not after
    start = time.perf_counter()
    frame = table.full_table(n_jobs=n_jobs, out=out)
    seconds = time.perf_counter() - start
    cost = frame.attrs.get("cost", {})
    if cost:  # of earlier calls, whose blocks were found
        seconds += cost["wall_time"] - cost["this_call"]
    told = resumed(cost)
    if not cost and out is not None:
        told = "Wall time is that of the last call, which may have found blocks finished before."
    settings, seed = table.recorded()
    return write_result(
        frame,
        name,
        settings=settings,
        seed=seed,
        wall_time=seconds,
        folder=folder,
        notes=f"{table.notes} {told}".strip(),
        cost=cost,
        code=_code(name),
    )


def _code(name: str) -> dict[str, str] | None:
    """Return digests of a table's code; None for one that was added while running."""
    try:
        return table_code(name)
    except ValueError:
        return None
