"""By labels or by rank: how the two efficiencies change what is chosen, and what a ward gets.

By labels, people are drawn at random among those whom a model flags; by rank, those with the
highest scores come first. The candidates are those of the clinical and the synthetic experiment;
the traditional method chooses among them by either efficiency on the validation part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import expit

from pvf._types import Array, Flags
from pvf.metrics import intervention_efficiency_counts, intervention_efficiency_score
from pvf.validation import is_tied_best
from studies.data.datasets import make_clusters
from studies.kit.dots import Frames, dot_rows
from studies.kit.estimates import mean_estimates
from studies.kit.show import finished
from studies.kit.study import Settings, Study, setting
from studies.pvf2026.clinical import run as clinical
from studies.pvf2026.synthetic import run as synthetic

#: Scores of all candidates and who is a case, in the validation part and among external people.
Scored = tuple[Array, Flags, Array, Flags]

CAPACITIES = (0.1, 0.3, 0.5)
#: Separability μ of the synthetic data sets, by the problem's name.
SYNTHETIC = {f"synthetic, μ = {mu}": mu for mu in (0.5, 1.5, 2.5)}
PROBLEMS = (*clinical.DATASETS, *SYNTHETIC)
N_SAMPLES, N_EXTERNAL, BATCH = 50, 500, 10


@dataclass(frozen=True)
class ByRank(Settings):
    """Repetitions of the selection problems."""

    n_repetitions: int = setting(
        2, "Repetitions of a clinical experiment, of 25 or 30 splits.", full=20, low=1
    )
    n_batches: int = setting(4, "Times ten synthetic data sets of each kind.", full=50, low=1)
    seed: int = setting(20261129, "Of the experiments and data sets.", low=0)


def blocks(settings: ByRank) -> list[tuple[str, int]]:
    """Return each problem with the number of its repetition, or of ten data sets."""
    clinical.need_data(*clinical.DATASETS)
    return [
        (problem, number)
        for problem in PROBLEMS
        for number in range(settings.n_batches if problem in SYNTHETIC else settings.n_repetitions)
    ]


def block(key: tuple[str, int], settings: ByRank) -> pd.DataFrame:
    """Choose in each problem of a block by labels and by rank; return means over its problems."""
    problem, number = key
    scored = _synthetic if problem in SYNTHETIC else _clinical
    rows = [row for parts in scored(problem, number, settings.seed) for row in _choices(*parts)]
    means = pd.DataFrame(rows).groupby("capacity", as_index=False).mean()
    return means.assign(problem=problem, repetition=number)


def _clinical(problem: str, repetition: int, seed: int) -> Iterator[Scored]:
    given = asdict(clinical.Experiment(dataset=problem, seed=seed))
    y = clinical.outcomes(given)
    for split in clinical.splits(repetition, given):
        X = clinical.scaled_features(split.train, given)
        scores = clinical.tree_scores(split.problem.trees, X)
        validation, external = split.validation, split.external
        yield scores[:, validation], y[validation], scores[:, external], y[external]


def _synthetic(problem: str, batch: int, seed: int) -> Iterator[Scored]:
    mu = SYNTHETIC[problem]
    for number in range(batch * BATCH, (batch + 1) * BATCH):
        trace = synthetic.draw_repetition(N_SAMPLES, mu, 0.1, number, seed=seed)
        rng = np.random.default_rng([seed, number, int(10 * mu)])
        frame, labels = make_clusters(N_EXTERNAL, mu, rng)
        external = expit(synthetic.pair_margins(trace.models, frame.to_numpy()))
        is_case = trace.y[trace.validation_rows] == 1
        yield expit(trace.margins), is_case, external, labels.to_numpy() == 1


def _choices(
    validation: Array, y_validation: Flags, external: Array, y_external: Flags
) -> list[dict[str, float]]:
    """Return one row a capacity: what is reached by the choice of each efficiency, and the ties."""
    chosen = by_labels_and_rank(validation, y_validation)
    reached = by_labels_and_rank(external, y_external)
    rows = []
    for place, capacity in enumerate(CAPACITIES):
        tied = {how: is_tied_best(values[:, place]) for how, values in chosen.items()}
        row = {"capacity": capacity, "differs": 1 - tied["rank"][tied["labels"]].mean()}
        for how, best in tied.items():
            row[f"tied_{how}"] = float(best.sum())
            row |= {f"{how}_{by}": found[best, place].mean() for by, found in reached.items()}
        rows.append(row)
    return rows


def by_labels_and_rank(scores: Array, y: Flags) -> dict[str, Array]:
    """Return the efficiency of each candidate at each capacity, by its labels and by its scores."""
    counted = clinical.counted(scores > 0.5, y)
    by_labels = [intervention_efficiency_counts(*counted, capacity) for capacity in CAPACITIES]
    by_rank = [intervention_efficiency_score(y, y_score=s, capacity=CAPACITIES) for s in scores]
    return {"labels": np.column_stack(by_labels), "rank": np.array(by_rank)}


def estimate(table: pd.DataFrame) -> pd.DataFrame:
    """Return means over repetitions; leads are of the choice by rank over that by labels."""
    leads = {f"lead_{by}": table[f"rank_{by}"] - table[f"labels_{by}"] for by in ("labels", "rank")}
    rows = table.assign(differs=100 * table["differs"], **leads)
    keys = ["problem", "capacity"]
    return mean_estimates(rows, keys, rows.columns.drop([*keys, "repetition"]).tolist())


def figure(frames: Frames) -> Figure:
    """Draw what choosing by rank reaches more than choosing by labels, where ranks are followed."""
    columns = {
        f"{100 * c:.0f} places in 100": {"": {"capacity": c, "quantity": "lead_rank"}}
        for c in CAPACITIES
    }
    xlabel = "Efficiency by rank, choice by rank less choice by labels"
    return finished(dot_rows(frames, ["problem"], columns, xlabel, line=(0.0, ""))[0])


BY_RANK = Study(
    name="efficiency_by_rank",
    settings=ByRank,
    blocks=blocks,
    block=block,
    estimate=estimate,
    summarise=lambda rows: rows.round(5),
    figures={"fig-ie-by-rank": figure},
    sample={"n_repetitions": 1, "n_batches": 1},
)
