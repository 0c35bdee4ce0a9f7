"""PMV, PVF, the hold-out and cross-validation as rules for choosing one of several learners.

Every rule gets the same data set and chooses one learner, which is then trained on the whole data
set and judged on outside data. So each rule has its due: PMV spends nothing on validation; the
hold-out and PVF compare models trained on a part, but what they choose may learn from all. PVF
is also made to choose between models that are already trained, which PMV cannot, as it must
train them again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from imblearn.over_sampling import SMOTE
from imblearn.pipeline import make_pipeline
from numpy.typing import NDArray
from scipy import stats
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from pvf.metrics import intervention_efficiency_score, intervention_efficiency_scorer
from pvf.perturbation import GaussianNoise, Perturbation
from pvf.pmv import pmv_scorer, with_random_states
from pvf.scorer import perturbation_scorer
from pvf.selection import Criterion, cross_validation_criterion, holdout_criterion
from pvf.validation import is_tied_best
from studies.data import datasets
from studies.kit.results import run_blocks
from studies.pmv2019.table1 import CLOSEST, MODELS, comparison_classifier, fresh_data, steady_fits

__all__ = ["METRICS", "PROBLEMS", "RULES", "Problem", "make_problem", "rule_table", "run_rules"]

#: Synthetic problems (clusters with the distance of their centres, shapes with noise 0.2), and
#: clinical ones.
PROBLEMS = (
    "clusters 1.0",
    "clusters 2.0",
    "moon",
    "circle",
    "linear",
    "breast-cancer",
    "cervical-cancer",
)

#: What a chosen learner is judged by on outside data.
METRICS = ("accuracy", "F1", "IE")

#: The rules, in the order of the table.
RULES = ("PMV", "hold-out F1", "hold-out IE", "PVF F1", "PVF IE", "CV F1", "CV IE", "CV accuracy")

#: Raised whenever the code below computes something else, so that no old shard is read.
_VERSION = 1


class Problem(NamedTuple):
    """One data set, the learners to choose from, and outside data to judge the choice on."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    X_outside: NDArray[np.float64]
    y_outside: NDArray[np.int64]
    candidates: dict[str, Any]
    #: The candidate that is known to be right, where one is.
    truth: str | None


def make_problem(
    name: str, key: np.random.SeedSequence, *, n_samples: int = 100, n_fresh: int = 5000
) -> Problem:
    """Draw one data set of a problem.

    Parameters
    ----------
    name : str
        One of `PROBLEMS`. For clusters, the candidates are the ten pairs of five features, each
        with SMOTE and logistic regression (App. C.1 of PVF-IE), and (x1, x2) is right. Elsewhere
        they are the seven classifiers of PMV's Table 1.
    key : SeedSequence
        Of everything that is drawn.
    n_samples : int, default=100
        Size of the data set. From clinical data, a stratified sample without replacement.
    n_fresh : int, default=5000
        Size of the outside data where they are drawn; of clinical data it is all the others.

    Returns
    -------
    Problem
        Features standardised by the data set.

    Raises
    ------
    ValueError
        If there is no such problem.
    """
    if name not in PROBLEMS:
        raise ValueError(f"name must be one of {PROBLEMS}, got {name!r}.")
    truth, candidates = None, _shapes_candidates()
    if name.startswith("clusters"):
        mu, rng = float(name.split()[1]), np.random.default_rng(key)
        parts = [datasets.make_clusters(n, mu, rng) for n in (n_samples, n_fresh)]
        (X, y), (X_out, y_out) = ((part.to_numpy(), labels.to_numpy()) for part, labels in parts)
        truth, candidates = "x1, x2", _pair_candidates()
    elif name in _CLINICAL:
        data = _clinical(name)
        X, X_out, y, y_out = train_test_split(
            *data,
            train_size=n_samples,
            stratify=data[1],
            random_state=int(key.generate_state(1)[0]),
        )
    else:
        X, y, X_out, y_out = fresh_data(
            name, noise=0.2, n_samples=n_samples, n_fresh=n_fresh, key=key
        )
    scaler = StandardScaler().fit(X)
    return Problem(scaler.transform(X), y, scaler.transform(X_out), y_out, candidates, truth)


_CLINICAL: dict[str, Callable[[], datasets.Dataset]] = {
    "breast-cancer": datasets.load_breast_cancer,
    "cervical-cancer": datasets.load_cervical_cancer,
}


@cache
def _clinical(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    data = _CLINICAL[name]()
    return data.X.to_numpy(dtype=float), data.y.to_numpy()


def _shapes_candidates() -> dict[str, Any]:
    return {model: comparison_classifier(model, CLOSEST.option(model)) for model in MODELS}


def _pair_candidates() -> dict[str, Any]:
    pairs = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    return {
        f"x{i + 1}, x{j + 1}": make_pipeline(
            ColumnTransformer([("pair", "passthrough", [i, j])]), SMOTE(), LogisticRegression()
        )
        for i, j in pairs
    }


def _criteria(
    *, noise_levels: Sequence[float], n_splits: int, capacity: float, sigma: float, seed: int
) -> dict[str, Criterion]:
    """Return each rule's criterion with a seed of its own flips, split, noise and folds."""
    scorers = {"F1": "f1", "IE": intervention_efficiency_scorer(capacity)}
    noise = Perturbation(GaussianNoise(sigma))
    criteria: dict[str, Criterion] = {
        "PMV": pmv_scorer(noise_levels=noise_levels, random_state=seed),
        "CV accuracy": cross_validation_criterion("accuracy", n_splits=n_splits, random_state=seed),
    }
    for name, scorer in scorers.items():
        perturbed = perturbation_scorer(scorer, perturbation=noise, random_state=seed)
        criteria[f"hold-out {name}"] = holdout_criterion(scorer, random_state=seed)
        criteria[f"PVF {name}"] = holdout_criterion(perturbed, random_state=seed)
        criteria[f"CV {name}"] = cross_validation_criterion(
            scorer, n_splits=n_splits, random_state=seed
        )
    return {rule: criteria[rule] for rule in RULES}


def run_rules(
    problem: str,
    *,
    n_repetitions: int = 20,
    n_reruns: int = 2,
    n_samples: int = 100,
    n_fresh: int = 5000,
    noise_levels: Sequence[float] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    n_splits: int = 5,
    capacity: float = 0.3,
    sigma: float = 0.1,
    seed: int = 20190524,
    n_jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Let every rule choose a learner on many data sets of one problem.

    Parameters
    ----------
    problem : str
        One of `PROBLEMS`.
    n_repetitions : int, default=20
        Data sets.
    n_reruns : int, default=2
        How often each rule chooses on one data set, with new flips, split, noise and folds.
    n_samples, n_fresh : int
        As in `make_problem`.
    noise_levels : sequence of float
        Of PMV. Every positive one must flip a label of the smaller class.
    n_splits : int, default=5
        Folds of cross-validation. Ten would leave folds of the cervical data without a case.
    capacity : float, default=0.3
        γ of the Intervention Efficiency that rules and judgement use.
    sigma : float, default=0.1
        Standard deviation of PVF's noise, in standard deviations of a feature. M = 100, k = 7.
    seed : int
    n_jobs, out, progress
        As in `studies.kit.results.run_blocks`.

    Returns
    -------
    DataFrame
        One row for each ``repetition, rule, rerun, candidate``: the rule's ``score`` and its
        ``seconds`` of processor time; then ``accuracy``, ``F1`` and ``IE`` on outside data of the
        candidate trained on the whole data set; and ``truth``, whether it is known to be right.
    """
    return run_blocks(
        _rule_block,
        [(problem, repetition) for repetition in range(n_repetitions)],
        study="pmv-rules",
        settings={
            "n_reruns": n_reruns,
            "n_samples": n_samples,
            "n_fresh": n_fresh,
            "noise_levels": list(noise_levels),
            "n_splits": n_splits,
            "capacity": capacity,
            "sigma": sigma,
            "seed": seed,
        },
        version=_VERSION,
        out=out,
        n_jobs=n_jobs,
        progress=progress,
    )


def _rule_block(
    block: tuple[str, int],
    *,
    n_reruns: int,
    n_samples: int,
    n_fresh: int,
    seed: int,
    **rule_settings: Any,
) -> pd.DataFrame:
    name, repetition = block
    key = np.random.SeedSequence(seed, spawn_key=(PROBLEMS.index(name), repetition))
    data_key, model_key, *rerun_keys = key.spawn(2 + n_reruns)
    problem = make_problem(name, data_key, n_samples=n_samples, n_fresh=n_fresh)
    rng = np.random.default_rng(model_key)
    rows = []
    with steady_fits():
        candidates = {
            candidate: with_random_states(model, rng)
            for candidate, model in problem.candidates.items()
        }
        outside = {
            candidate: _outside_scores(model, problem, rule_settings["capacity"])
            for candidate, model in candidates.items()
        }
        for rerun, rerun_key in enumerate(rerun_keys):
            criteria = _criteria(seed=int(rerun_key.generate_state(1)[0]), **rule_settings)
            for rule, criterion in criteria.items():
                for candidate, model in candidates.items():
                    start = time.process_time()
                    score = criterion(model, problem.X, problem.y)
                    rows.append(
                        {
                            "problem": name,
                            "repetition": repetition,
                            "rule": rule,
                            "rerun": rerun,
                            "candidate": candidate,
                            "score": score,
                            "seconds": time.process_time() - start,
                            **outside[candidate],
                            "truth": candidate == problem.truth,
                        }
                    )
    return pd.DataFrame(rows)


def _outside_scores(model: Any, problem: Problem, capacity: float) -> dict[str, float]:
    predicted = model.fit(problem.X, problem.y).predict(problem.X_outside)
    y = problem.y_outside
    return {
        "accuracy": float(accuracy_score(y, predicted)),
        "F1": float(f1_score(y, predicted, zero_division=0)),
        "IE": float(intervention_efficiency_score(y, predicted, capacity=capacity)),
    }


def rule_table(choices: pd.DataFrame, *, near: float = 0.01) -> pd.DataFrame:
    """Say of each rule how often it is right, how good its choice is, how stable and how dear.

    Parameters
    ----------
    choices : DataFrame
        From `run_rules`, of one problem or several.
    near : float, default=0.01
        Where no candidate is known to be right, one counts as right if its outside accuracy is at
        most this much below the best candidate's.

    Returns
    -------
    DataFrame
        One row for each ``problem`` and ``rule``. A rule that leaves several candidates splits its
        choice evenly among them. ``right``: share of right choices; for each metric
        the mean ``regret``, outside score lost against the best candidate; both with a 95% interval
        over data sets (Student's t); ``stable``: probability that two reruns on one data set choose
        the same; ``tied``: candidates left; ``seconds`` for one choice. The rule "any" chooses
        blindly.
    """
    blind = choices[choices["rule"] == choices["rule"].iloc[0]].assign(rule="any", score=0.0)
    every = pd.concat([choices, blind.assign(seconds=0.0)], ignore_index=True)
    data_set = ["problem", "rule", "repetition"]
    one_choice = [*data_set, "rerun"]
    every["share"] = every.groupby(one_choice)["score"].transform(
        lambda scores: is_tied_best(scores.to_numpy()) / is_tied_best(scores.to_numpy()).sum()
    )
    for metric in METRICS:
        best = every.groupby(one_choice)[metric].transform("max")
        every[f"lost {metric}"] = every["share"] * (best - every[metric])
    known = every.groupby("problem")["truth"].transform("any")
    close = (
        every.groupby(one_choice)["accuracy"].transform("max") - every["accuracy"] <= near + 1e-12
    )
    every["hit"] = every["share"] * np.where(known, every["truth"], close)
    every["left"] = every["share"] > 0
    sums = every.groupby(one_choice)[
        ["hit", "left", "seconds", *(f"lost {metric}" for metric in METRICS)]
    ].sum()
    per_set = sums.groupby(data_set).mean().assign(stable=_agreement(every))
    grouped = per_set.groupby(["problem", "rule"], sort=False)
    degrees = per_set.groupby(["problem", "rule"], sort=False).size() - 1
    factor = pd.Series(stats.t.ppf(0.975, degrees), index=degrees.index)
    mean, error = grouped.mean(), grouped.sem().mul(factor, axis=0)
    table = pd.DataFrame(
        {
            "right": mean["hit"],
            "right low": (mean["hit"] - error["hit"]).clip(lower=0),
            "right high": (mean["hit"] + error["hit"]).clip(upper=1),
            "stable": mean["stable"],
            "tied": mean["left"],
        },
        index=mean.index,
    )
    for metric in METRICS:
        lost = f"lost {metric}"
        table[f"regret {metric}"] = mean[lost]
        table[f"regret {metric} low"] = mean[lost] - error[lost]
        table[f"regret {metric} high"] = mean[lost] + error[lost]
    table["seconds"] = mean["seconds"]
    order = {rule: i for i, rule in enumerate((*RULES, "any"))}
    problems = {name: i for i, name in enumerate(PROBLEMS)}
    return table.reset_index().sort_values(
        ["problem", "rule"], key=lambda names: names.map({**order, **problems}), ignore_index=True
    )


def _agreement(every: pd.DataFrame) -> pd.Series:
    """Return the probability that two different reruns choose the same candidate."""
    data_set = ["problem", "rule", "repetition"]
    by_candidate = every.groupby([*data_set, "candidate"])["share"]
    # pairs of different reruns: the square of the sum, less the pairs of a rerun with itself
    crossed = by_candidate.sum() ** 2 - by_candidate.agg(lambda share: (share**2).sum())
    n = every.groupby(data_set)["rerun"].nunique()
    return crossed.groupby(data_set).sum() / (n * (n - 1))
