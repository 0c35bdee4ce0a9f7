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

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from pvf._checks import check_integer, check_interval
from pvf.multiplicity import rashomon_capacity, rashomon_set
from pvf.validation import is_tied_best
from studies.data.datasets import make_clusters
from studies.kit.results import run_blocks
from studies.pvf2026.clinical import run as clinical
from studies.pvf2026.synthetic import run as synthetic

__all__ = [
    "EPSILONS",
    "METRICS",
    "PROBLEMS",
    "Candidates",
    "Findings",
    "central_rank",
    "clinical_candidates",
    "patient_groups",
    "run_candidate_sets",
    "set_facts",
    "synthetic_candidates",
]

Array = NDArray[np.float64]

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

#: Raised whenever the code below computes something else, so that no old shard is read.
_VERSION = 1


@dataclass(frozen=True, eq=False)
class Candidates:
    """One selection problem, and what each candidate says about new patients.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates, n_patients)
        Score of each external patient; above 1/2 is a decision for "case".
    is_case : ndarray of bool of shape (n_patients,)
    distance : ndarray of shape (n_patients,)
        Distance from a decision boundary that is not any candidate's.
    scores_validation : ndarray of shape (n_candidates, n_validation)
    validation, external : ndarray of shape (n_metrics, n_candidates)
        Each metric on the validation sample and on the external patients.
    pvf, traditional : ndarray of bool of shape (n_metrics, n_candidates)
        The best candidates of each method, all that tie.
    """

    scores: Array
    is_case: NDArray[np.bool_]
    distance: Array
    scores_validation: Array
    validation: Array
    external: Array
    pvf: NDArray[np.bool_]
    traditional: NDArray[np.bool_]


class Findings(NamedTuple):
    """What `run_candidate_sets` returns.

    Parameters
    ----------
    sets : DataFrame
        One row for each split or data set, metric and ε: ``problem, repetition, subset, split,
        metric, epsilon`` and what `set_facts` tells.
    patients : DataFrame
        One row for each repetition (of synthetic data: batch of ten data sets), metric, ε and
        group of patients: ``problem, repetition, metric, epsilon`` and what `patient_groups` tells,
        averaged over the patients of all its splits.
    """

    sets: pd.DataFrame
    patients: pd.DataFrame


# --- the candidates -----------------------------------------------------------------------------


def clinical_candidates(
    split: clinical.Split, key: tuple[int, ...], settings: Mapping[str, Any]
) -> Candidates:
    """Return the trees of a split, as the clinical experiment selects among them.

    The distance from the boundary is the absolute logit of a logistic regression on the split's
    training part, scikit-learn's default on the scaled features.

    Parameters
    ----------
    split : clinical.Split
    key : tuple of int
        Names the split under the seed, as `clinical.judge` takes it.
    settings : mapping
        Arguments of `clinical.Experiment`, with one σ.

    Returns
    -------
    Candidates
    """
    problem = split.problem
    X = clinical.scaled_features(split.train, settings)
    y = clinical.outcomes(settings)
    boundary = LogisticRegression(max_iter=10_000).fit(X[split.train], y[split.train])
    values = clinical.validation_scores(problem)
    ((_, best),) = clinical.best_by_pvf(problem, key, settings)
    return Candidates(
        scores=_tree_scores(problem.trees, X[split.external]),
        is_case=y[split.external],
        distance=np.abs(boundary.decision_function(X[split.external])),
        scores_validation=_tree_scores(problem.trees, X[split.validation]),
        validation=values,
        external=problem.external,
        pvf=best,
        traditional=is_tied_best(values),
    )


def _tree_scores(trees: Sequence[Any], X: Array) -> Array:
    X = X.astype(np.float32)  # as every tree would itself
    return np.array([tree.predict_proba(X, check_input=False)[:, 1] for tree in trees])


def synthetic_candidates(
    n_samples: int, mu: float, sigma: float, repetition: int, *, n_external: int, seed: int
) -> Candidates:
    """Return the ten pair models of a data set of the sweep, and new samples of the same kind.

    The distance is that from the line halfway between the clusters, on which the best classifier
    for balanced classes decides.

    Parameters
    ----------
    n_samples, mu, sigma : int, float, float
        The configuration.
    repetition : int
        Its repetition, from 0.
    n_external : int
        New samples.
    seed : int
        Of the sweep and, with a key of its own, of the new samples.

    Returns
    -------
    Candidates
    """
    trace = synthetic.draw_repetition(n_samples, mu, sigma, repetition, seed=seed)
    key = (n_samples, *np.array([mu, sigma]).view(np.uint64).tolist(), repetition)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(*key, 1)))
    frame, labels = make_clusters(n_external, mu, rng)
    X, is_case = frame.to_numpy(), labels.to_numpy() == 1
    columns = np.array([[int(name[1:]) - 1 for name in pair] for pair in synthetic.PAIRS])
    margins = trace.models[:, :1] + np.einsum("qj,nqj->qn", trace.models[:, 1:], X[:, columns])
    flagged = margins > 0
    n_metrics = len(clinical.METRICS)
    best = (trace.best[:, :n_metrics, None] >> np.arange(len(columns))) & 1 == 1
    return Candidates(
        scores=expit(margins),
        is_case=is_case,
        distance=np.abs(X[:, :2].sum(axis=1) - mu) / np.sqrt(2),
        scores_validation=expit(trace.margins),
        validation=trace.traditional[:, :n_metrics].T,
        external=clinical.scores_from_counts(
            flagged[:, is_case].sum(axis=1),
            flagged[:, ~is_case].sum(axis=1),
            int(is_case.sum()),
            int((~is_case).sum()),
        ),
        pvf=best[0],
        traditional=best[1],
    )


# --- what is asked of a set ---------------------------------------------------------------------


def members(candidates: Candidates, metric: int, epsilon: float) -> NDArray[np.intp]:
    """Return the candidates within ε of the best in validation, relatively.

    Parameters
    ----------
    candidates : Candidates
    metric : int
        Position of the metric.
    epsilon : float
        From 0, those that tie, to 1, all.

    Returns
    -------
    ndarray of int
    """
    values = candidates.validation[metric]
    return rashomon_set(-values, epsilon * float(values.max()))


def central_rank(distance: Array, inside: NDArray[np.intp], choice: int) -> float:
    """Return the share of a set's other members that lie nearer to its middle than a choice does.

    Parameters
    ----------
    distance : ndarray of shape (n_candidates,)
        Distance of each candidate from the middle.
    inside : ndarray of int
        The set. The choice need not be in it.
    choice : int

    Returns
    -------
    float
        From 0, in the middle, to 1, at the edge; equal distances count half, so that a member
        taken at random has 1/2 on average. NaN where there is no other member.

    Examples
    --------
    >>> distance = np.array([0.1, 0.3, 0.2, 0.2])
    >>> [round(central_rank(distance, np.arange(4), q), 3) for q in range(4)]
    [0.0, 1.0, 0.5, 0.5]
    """
    others = distance[inside[inside != choice]]
    if not others.size:
        return np.nan
    nearer = others < distance[choice] - 1e-12
    equal = np.abs(others - distance[choice]) <= 1e-12
    return float((nearer + 0.5 * equal).mean())


def set_facts(candidates: Candidates, metric: int, epsilon: float) -> dict[str, float]:
    """Return what is known of one Rashomon set and of the two methods' choices.

    Parameters
    ----------
    candidates : Candidates
    metric : int
        Position of the metric.
    epsilon : float

    Returns
    -------
    dict of str to float
        ``n_models`` in the set; ``capacity_validation`` and ``capacity``, the mean Rashomon
        Capacity over the validation sample and over the external patients; ``conflict``, the share
        of the latter on whom the members' decisions conflict. ``rank_pvf`` and
        ``rank_traditional``: `central_rank` of each method's choice, by the mean absolute distance
        of its external scores from the set's mean scores; ``distance_pvf``,
        ``distance_traditional`` and ``distance_member``: that distance, the last one averaged over
        the members. Of tied candidates the first is taken, and for columns that end in ``_random``
        the mean over all. ``differs``: whether the two first ones differ; ``outside``: the share of
        PVF's tied candidates that don't tie under the traditional method; ``gain``: the external
        metric of PVF's first one less that of the traditional one.
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
    """Return how one set treats groups of external patients.

    Parameters
    ----------
    candidates : Candidates
    metric : int
        Position of the metric.
    epsilon : float

    Returns
    -------
    DataFrame
        One row a group: ``grouping`` and ``group``, which are "class" (0 others, 1 cases),
        "distance" (fifths, from 1 nearest the boundary to 5) and "capacity" (tenths, from 1
        smallest to 10); ``n`` patients; and over these the means of ``capacity``, ``conflict``
        (the members' decisions conflict), ``error_member`` (a member, taken at random, is wrong),
        ``error_pvf`` and ``error_traditional`` (the method's choice, the first of the tied, is
        wrong), and ``lost`` and ``won`` (PVF's choice is wrong and the traditional one right, and
        the other way round). Patients of equal capacity share their places among the tenths
        evenly.
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


def run_candidate_sets(
    problem: str = "breast-cancer",
    *,
    n_repetitions: int = 1,
    epsilons: Sequence[float] = EPSILONS,
    patient_epsilons: Sequence[float] = PATIENT_EPSILONS,
    n_candidates: int = 100,
    n_samples: int = 50,
    n_external: int = 500,
    seed: int = 20261127,
    n_jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> Findings:
    """Look at the candidates of one experiment as Rashomon sets.

    Parameters
    ----------
    problem : str
        A key of `PROBLEMS`, which also gives σ.
    n_repetitions : int, default=1
        Repetitions of a clinical experiment, of 25 or 30 splits each; or of a synthetic
        configuration, of one data set each.
    epsilons, patient_epsilons : sequence of float
        Tolerances ε for the sets, and for groups of patients.
    n_candidates : int, default=100
        Trees of a clinical split.
    n_samples, n_external : int
        Size of a synthetic data set, and new samples for it.
    seed : int
        The splits, trees and choices are those of `clinical.Experiment` with this seed and one
        σ; the synthetic data sets are those of `synthetic.run_sweep` with this seed.
    n_jobs : int or None
        Workers, as joblib takes them; the result is the same for any number.
    out : path, optional
        Folder of resumable shards.
    progress : bool or None
        Progress bar; by default only on a terminal.

    Returns
    -------
    Findings

    Raises
    ------
    ValueError, TypeError
        An argument is of the wrong kind or range.
    DataUnavailableError
        There is no copy of the data and none can be downloaded.

    Examples
    --------
    >>> found = run_candidate_sets("synthetic, μ = 1.5", n_repetitions=20)
    >>> found.sets.query("metric == 'F1' and epsilon == 1")["n_models"].unique()
    array([10.])
    >>> sorted(found.patients["grouping"].unique())
    ['capacity', 'class', 'distance']
    """
    if problem not in PROBLEMS:
        raise ValueError(f"problem must be one of {list(PROBLEMS)}, got {problem!r}.")
    check_integer("n_repetitions", n_repetitions, 1)
    check_integer("n_candidates", n_candidates, 1)
    check_integer("n_samples", n_samples, 8)
    check_integer("n_external", n_external, 2 * N_CAPACITIES)
    check_integer("seed", seed, 0)
    settings = {
        "problem": problem,
        "epsilons": [float(e) for e in check_interval("epsilons", epsilons, 0, 1)],
        "patient_epsilons": [
            float(e) for e in check_interval("patient_epsilons", patient_epsilons, 0, 1)
        ],
        "n_candidates": n_candidates,
        "n_samples": n_samples,
        "n_external": n_external,
        "seed": seed,
    }
    if problem in clinical.DATASETS:
        clinical.outcomes(_clinical_settings(settings))  # fails here, once, if there are no data
        blocks = [(r, r + 1) for r in range(n_repetitions)]
    else:
        blocks = [
            (start, min(start + BATCH, n_repetitions)) for start in range(0, n_repetitions, BATCH)
        ]
    table = run_blocks(
        _block,
        blocks,
        study="candidate_sets",
        settings=settings,
        version=_VERSION,
        out=out,
        n_jobs=n_jobs,
        description=problem,
        progress=progress,
    )
    is_set = table["grouping"] == ""
    return Findings(_part(table[is_set], "n_models"), _part(table[~is_set], "grouping"))


def _part(rows: pd.DataFrame, first: str) -> pd.DataFrame:
    """Return the rows of one kind, without the columns of the other."""
    if first == "n_models":
        rows = rows.drop(columns=["grouping", "group", "n", *_GROUP_ONLY])
    else:
        kept = ["problem", "repetition", "metric", "epsilon", "grouping", "group", "n"]
        rows = rows[[*kept, "capacity", "conflict", *_GROUP_ONLY]]
        rows = rows.astype({"group": int, "n": int})
    return rows.reset_index(drop=True)


_GROUP_ONLY = ("error_member", "error_pvf", "error_traditional", "lost", "won")


def _block(block: tuple[int, int], **settings: Any) -> pd.DataFrame:
    """Compute the sets of a block of repetitions one by one, and its patients together."""
    start, stop = block
    problem = settings["problem"]
    sets, groups = [], []
    for names, candidates in _candidates(range(start, stop), settings):
        for metric, m in METRICS.items():
            for epsilon in settings["epsilons"]:
                key = {"problem": problem, **names, "metric": metric, "epsilon": epsilon}
                sets.append(key | set_facts(candidates, m, epsilon))
            for epsilon in settings["patient_epsilons"]:
                part = patient_groups(candidates, m, epsilon)
                groups.append(part.assign(metric=metric, epsilon=epsilon))
    patients = _pooled(pd.concat(groups, ignore_index=True))
    first = start if problem in clinical.DATASETS else start // BATCH
    patients = patients.assign(problem=problem, repetition=first, subset=0, split=0)
    table = pd.concat([pd.DataFrame(sets).assign(grouping="", group=0, n=0), patients])
    return table.reset_index(drop=True)


def _candidates(repetitions: range, settings: Mapping[str, Any]) -> Any:
    """Yield the selection problems of some repetitions, each with the columns that name it."""
    problem = settings["problem"]
    sigma = PROBLEMS[problem]
    for repetition in repetitions:
        if problem not in clinical.DATASETS:
            names = {"repetition": repetition, "subset": 0, "split": 0}
            yield (
                names,
                synthetic_candidates(
                    settings["n_samples"],
                    float(problem.rpartition(" ")[2]),
                    sigma,
                    repetition,
                    n_external=settings["n_external"],
                    seed=settings["seed"],
                ),
            )
            continue
        experiment = _clinical_settings(settings)
        for split in clinical.splits(repetition, experiment):
            names = {"repetition": repetition, "subset": split.subset, "split": split.split}
            yield names, clinical_candidates(split, tuple(names.values()), experiment)


def _clinical_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `clinical.Experiment`, its defaults but for what is set here."""
    return asdict(clinical.Experiment()) | {
        "dataset": settings["problem"],
        "sigmas": [PROBLEMS[settings["problem"]]],
        "n_candidates": settings["n_candidates"],
        "seed": settings["seed"],
    }


def _pooled(groups: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over the patients of all sets, group by group."""
    keys = ["metric", "epsilon", "grouping", "group"]
    values = [column for column in groups if column not in [*keys, "n"]]
    weighted = groups[values].mul(groups["n"], axis=0).join(groups[[*keys, "n"]])
    total = weighted.groupby(keys, sort=False).sum()
    return total[values].div(total["n"], axis=0).join(total["n"]).reset_index()
