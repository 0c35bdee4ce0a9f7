r"""The candidates of the PVF experiments as Rashomon sets.

PVF chooses among candidates that the validation sample can hardly tell apart: a hundred trees in
each clinical split, ten pairs of features in each synthetic data set. Those of them that are nearly
as good as the best in validation are a Rashomon set, and Rashomon Capacity says how much its
members disagree about each patient. Four questions follow, on patients that had no part in the
choice: who gets conflicting scores; whether PVF's choice lies in the middle of the set or at its
edge; whether the patients with a high capacity carry the errors; and whether the capacity, which is
known before anybody chooses, tells when PVF's choice will differ from the traditional one.

The set at tolerance ε holds all candidates whose validation score is at least (1 - ε) times the
best: those that tie at ε = 0, all at ε = 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from pvf._types import Array, Flags, Indices
from pvf.multiplicity import rashomon_capacity, rashomon_set
from pvf.validation import is_tied_best
from studies.data.datasets import make_clusters
from studies.kit.study import Settings, setting
from studies.pvf2026.clinical import run as clinical
from studies.pvf2026.synthetic import run as synthetic

#: Tolerances ε, relative to the best validation score.
EPSILONS = (0.0, 0.1, 1.0)

#: Tolerances at which single patients are looked at.
PATIENT_EPSILONS = (0.1, 1.0)

#: Metrics, each with its position in the studies' arrays of scores.
METRICS: Mapping[str, int] = MappingProxyType({"IE@0.1": 0, "IE@0.5": 2, "F1": 5})

#: Standard deviation σ of PVF's noise in each problem: the paper's, tuned for γ = 0.1; the largest
#: of the synthetic sweep.
PROBLEMS: Mapping[str, float] = MappingProxyType(
    {
        "breast-cancer": 0.3,
        "cervical-cancer": 0.01,
        "synthetic, μ = 0.5": 0.1,
        "synthetic, μ = 1.5": 0.1,
        "synthetic, μ = 2.5": 0.1,
    }
)

#: Synthetic data sets whose patients are counted together, as those of a clinical repetition are.
BATCH = 10

#: Groups of patients: by distance to the boundary, and by capacity.
N_DISTANCES, N_CAPACITIES = 5, 10

#: Size of a synthetic data set, and new samples for it.
N_SAMPLES, N_EXTERNAL = 50, 500


@dataclass(frozen=True, eq=False)
class Candidates:
    """One selection problem, and what each candidate says about new patients.

    ``scores`` (candidates × patients) above 1/2 are decisions for "case"; ``distance`` is from a
    boundary that is not any candidate's; ``validation`` and ``external`` are metrics × candidates,
    as are ``pvf`` and ``traditional``: the best candidates of each method, all that tie.
    """

    scores: Array
    is_case: Flags
    distance: Array
    scores_validation: Array
    validation: Array
    external: Array
    pvf: Flags
    traditional: Flags


@dataclass(frozen=True)
class CandidateSets(Settings):
    """Repetitions of the selection problems."""

    n_repetitions: int = setting(
        1, "Repetitions of a clinical experiment, of 25 or 30 splits.", full=20, low=1
    )
    n_datasets: int = setting(20, "Data sets of a synthetic configuration.", full=200, low=1)
    n_candidates: int = setting(100, "Trees of a clinical split.", low=1)
    seed: int = setting(20261127, "Of the experiments and data sets.", low=0)


# --- the candidates -----------------------------------------------------------------------------


def clinical_candidates(
    split: clinical.Split, key: tuple[int, ...], settings: Mapping[str, Any]
) -> Candidates:
    """Return the trees of a split, as the clinical experiment selects among them.

    The distance from the boundary is the absolute logit of a logistic regression on the split's
    training part, scikit-learn's default on the scaled features.
    """
    problem = split.problem
    X = clinical.scaled_features(split.train, settings)
    y = clinical.outcomes(settings)
    boundary = LogisticRegression(max_iter=10_000).fit(X[split.train], y[split.train])
    values = clinical.validation_scores(problem)
    ((_, best),) = clinical.best_by_pvf(problem, key, settings)
    return Candidates(
        scores=clinical.tree_scores(problem.trees, X[split.external]),
        is_case=y[split.external],
        distance=np.abs(boundary.decision_function(X[split.external])),
        scores_validation=clinical.tree_scores(problem.trees, X[split.validation]),
        validation=values,
        external=problem.external,
        pvf=best,
        traditional=is_tied_best(values),
    )


def synthetic_candidates(
    n_samples: int, mu: float, sigma: float, repetition: int, *, n_external: int, seed: int
) -> Candidates:
    """Return the ten pair models of a data set of the sweep, and new samples of the same kind.

    The distance is that from the line halfway between the clusters, on which the best classifier
    for balanced classes decides.
    """
    trace = synthetic.draw_repetition(n_samples, mu, sigma, repetition, seed=seed)
    key = (n_samples, *np.array([mu, sigma]).view(np.uint64).tolist(), repetition)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(*key, 1)))
    frame, labels = make_clusters(n_external, mu, rng)
    X, is_case = frame.to_numpy(), labels.to_numpy() == 1
    margins = synthetic.pair_margins(trace.models, X)
    n_metrics = len(clinical.METRICS)
    best = (trace.best[:, :n_metrics, None] >> np.arange(len(synthetic.PAIRS))) & 1 == 1
    return Candidates(
        scores=expit(margins),
        is_case=is_case,
        distance=np.abs(X[:, :2].sum(axis=1) - mu) / np.sqrt(2),
        scores_validation=expit(trace.margins),
        validation=trace.traditional[:, :n_metrics].T,
        external=clinical.scores_from_counts(*clinical.counted(margins > 0, is_case)),
        pvf=best[0],
        traditional=best[1],
    )


# --- what is asked of a set ---------------------------------------------------------------------


def members(candidates: Candidates, metric: int, epsilon: float) -> Indices:
    """Return the candidates within ε of the best in validation, relatively: 0 ties, 1 all."""
    values = candidates.validation[metric]
    return rashomon_set(-values, epsilon * float(values.max()))


def central_rank(distance: Array, inside: Indices, choice: int) -> float:
    """Return the share of a set's other members that lie nearer to its middle than a choice does.

    Equal distances count half, so that a member taken at random has 1/2 on average. The choice need
    not be in the set; without another member there is no rank (NaN).
    """
    others = distance[inside[inside != choice]]
    if not others.size:
        return np.nan
    nearer = others < distance[choice] - 1e-12
    equal = np.abs(others - distance[choice]) <= 1e-12
    return float((nearer + 0.5 * equal).mean())


def set_facts(candidates: Candidates, metric: int, epsilon: float) -> dict[str, float]:
    """Return what is known of one Rashomon set and of the two methods' choices.

    ``capacity`` is over the external patients; ``conflict`` the share of them on whom the members'
    decisions conflict. Ranks (`central_rank`) and distances are of the mean absolute distance of
    external scores from the set's mean scores. Of tied candidates the first is taken, and for
    columns that end in ``_random`` the mean over all. ``differs``: whether the two first ones
    differ; ``outside``: the share of PVF's tied candidates that don't tie under the traditional
    method; ``gain``: the external metric of PVF's first one less that of the traditional one.
    """
    inside = members(candidates, metric, epsilon)
    scores = candidates.scores[inside]
    decisions = scores > 0.5
    distance = np.abs(candidates.scores - scores.mean(axis=0)).mean(axis=1)
    facts = {
        "n_models": float(len(inside)),
        "capacity_validation": _mean_capacity(candidates.scores_validation[inside]),
        "capacity": _mean_capacity(scores),
        "conflict": float((decisions.any(axis=0) != decisions.all(axis=0)).mean()),
        "distance_member": float(distance[inside].mean()),
    }
    best = {
        "pvf": np.flatnonzero(candidates.pvf[metric]),
        "traditional": np.flatnonzero(candidates.traditional[metric]),
    }
    for method, tied in best.items():
        ranks = [central_rank(distance, inside, int(q)) for q in tied]
        facts |= {
            f"rank_{method}": ranks[0],
            f"rank_{method}_random": float(np.mean(ranks)),
            f"distance_{method}": float(distance[tied[0]]),
        }
    first = {method: tied[0] for method, tied in best.items()}
    external = candidates.external[metric]
    return facts | {
        "differs": float(first["pvf"] != first["traditional"]),
        "outside": float(np.mean(~candidates.traditional[metric][best["pvf"]])),
        "gain": float(external[first["pvf"]] - external[first["traditional"]]),
    }


def _capacity(scores: Array) -> Array:
    """Return each sample's capacity, which is 1 by definition where there is one model."""
    return np.ones(scores.shape[1]) if len(scores) == 1 else rashomon_capacity(scores)


def _mean_capacity(scores: Array) -> float:
    return float(_capacity(scores).mean())


def patient_groups(candidates: Candidates, metric: int, epsilon: float) -> pd.DataFrame:
    """Return how one set treats groups of external patients, as means over each group.

    The groups are "class" (0 others, 1 cases), "distance" (fifths, from 1 nearest the boundary to
    5) and "capacity" (tenths, from 1 smallest to 10). A member taken at random (``error_member``)
    or a method's choice, the first of the tied, is wrong; ``lost`` and ``won``: PVF's choice is
    wrong and the traditional one right, and the other way round. Patients of equal capacity share
    their places among the tenths evenly.
    """
    inside = members(candidates, metric, epsilon)
    wrong = (candidates.scores > 0.5) != candidates.is_case
    decisions = candidates.scores[inside] > 0.5
    pvf, traditional = (
        wrong[int(np.flatnonzero(best[metric])[0])]
        for best in (candidates.pvf, candidates.traditional)
    )
    columns = {
        "capacity": _capacity(candidates.scores[inside]),
        "conflict": decisions.any(axis=0) != decisions.all(axis=0),
        "error_member": wrong[inside].mean(axis=0),
        "error_pvf": pvf,
        "error_traditional": traditional,
        "lost": pvf & ~traditional,
        "won": traditional & ~pvf,
    }
    values = np.column_stack(list(columns.values())).astype(float)
    order = np.argsort(values[:, 0], kind="stable")
    shared = _shared_among_equals(values)
    near = np.argsort(candidates.distance, kind="stable")
    parts = {
        "class": [values[~candidates.is_case], values[candidates.is_case]],
        "distance": [values[rows] for rows in np.array_split(near, N_DISTANCES)],
        "capacity": [shared[rows] for rows in np.array_split(order, N_CAPACITIES)],
    }
    rows = [
        (grouping, number, len(part), *part.mean(axis=0))
        for grouping, groups in parts.items()
        for number, part in enumerate(groups, start=0 if grouping == "class" else 1)
    ]
    return pd.DataFrame(rows, columns=["grouping", "group", "n", *columns])


def _shared_among_equals(values: Array) -> Array:
    """Give every row of equal capacity the mean of them all, so that their order is no matter."""
    _, level, counts = np.unique(values[:, 0].round(12), return_inverse=True, return_counts=True)
    sums = np.zeros((len(counts), values.shape[1]))
    np.add.at(sums, level, values)
    return (sums / counts[:, None])[level]


# --- the study ----------------------------------------------------------------------------------


def candidate_blocks(problem: str, settings: CandidateSets) -> list[tuple[str, int, int]]:
    """Return the blocks of all problems that begin so: problem, first repetition, end.

    A block is one repetition of a clinical experiment, or ten synthetic data sets.
    """
    blocks = []
    for name in PROBLEMS:
        if not name.startswith(problem):
            continue
        n, size = settings.n_datasets, BATCH
        if name in clinical.DATASETS:
            clinical.outcomes(clinical_settings(name, settings))  # says at once if data are missing
            n, size = settings.n_repetitions, 1
        blocks += [(name, start, min(start + size, n)) for start in range(0, n, size)]
    return blocks


def set_block(key: tuple[str, int, int], settings: CandidateSets) -> pd.DataFrame:
    """Return a row for each split or data set of a block, metric and ε."""
    rows = [
        {"problem": key[0], **names, "metric": metric, "epsilon": epsilon}
        | set_facts(candidates, m, epsilon)
        for names, candidates in _problems_of(key, settings)
        for metric, m in METRICS.items()
        for epsilon in EPSILONS
    ]
    return pd.DataFrame(rows)


def patient_block(key: tuple[str, int, int], settings: CandidateSets) -> pd.DataFrame:
    """Return a row for each metric, ε and group of patients, over all patients of a block."""
    problem, start, _ = key
    groups = [
        patient_groups(candidates, m, epsilon).assign(metric=metric, epsilon=epsilon)
        for _, candidates in _problems_of(key, settings)
        for metric, m in METRICS.items()
        for epsilon in PATIENT_EPSILONS
    ]
    number = start if problem in clinical.DATASETS else start // BATCH
    table = _pooled(pd.concat(groups, ignore_index=True))
    table = table.assign(problem=problem, repetition=number)
    first = ["problem", "repetition", "metric", "epsilon", "grouping", "group", "n"]
    return table[[*first, *table.columns.drop(first)]]


def _problems_of(
    key: tuple[str, int, int], settings: CandidateSets
) -> Iterator[tuple[dict[str, int], Candidates]]:
    """Yield the selection problems of a block, each with the columns that name it."""
    problem, start, stop = key
    for repetition in range(start, stop):
        if problem not in clinical.DATASETS:
            mu, sigma = float(problem.rpartition(" ")[2]), PROBLEMS[problem]
            yield (
                {"repetition": repetition, "subset": 0, "split": 0},
                synthetic_candidates(
                    N_SAMPLES, mu, sigma, repetition, n_external=N_EXTERNAL, seed=settings.seed
                ),
            )
            continue
        experiment = clinical_settings(problem, settings)
        for split in clinical.splits(repetition, experiment):
            names = {"repetition": repetition, "subset": split.subset, "split": split.split}
            yield names, clinical_candidates(split, tuple(names.values()), experiment)


def clinical_settings(problem: str, settings: CandidateSets) -> dict[str, Any]:
    """Return the settings of the clinical experiment, its defaults but for what is set here."""
    return asdict(clinical.Experiment()) | {
        "dataset": problem,
        "sigmas": [PROBLEMS[problem]],
        "n_candidates": settings.n_candidates,
        "seed": settings.seed,
    }


def _pooled(groups: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over the patients of all sets, group by group."""
    keys = ["metric", "epsilon", "grouping", "group"]
    values = [column for column in groups if column not in [*keys, "n"]]
    weighted = groups[values].mul(groups["n"], axis=0).join(groups[[*keys, "n"]])
    total = weighted.groupby(keys, sort=False).sum()
    return total[values].div(total["n"], axis=0).join(total["n"]).reset_index()
