"""PMV, PVF, the hold-out and cross-validation as rules for choosing one of several learners.

Every rule gets the same data set and chooses one learner, which is then trained on the whole data
set and judged on outside data. So each rule has its due: PMV spends nothing on validation; the
hold-out and PVF compare models trained on a part, but what they choose may learn from all. PVF
is also made to choose between models that are already trained, which PMV cannot, as it must
train them again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
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

from pvf._types import Array
from pvf.metrics import intervention_efficiency_score, intervention_efficiency_scorer
from pvf.perturbation import GaussianNoise, Perturbation
from pvf.pmv import pmv_scorer, with_random_states
from pvf.scorer import perturbation_scorer
from pvf.selection import Criterion, cross_validation_criterion, holdout_criterion
from pvf.validation import is_tied_best
from studies.data import datasets
from studies.kit.estimates import share_interval
from studies.kit.study import Settings, Study, setting
from studies.pmv2019 import show
from studies.pmv2019.table1 import CLOSEST, MODELS, comparison_classifier, fresh_data, steady_fits

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

#: Of PMV. Every positive one must flip a label of the smaller class.
_NOISE_LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)

#: Choices of each rule on one data set, with new flips, split, noise and folds.
_N_RERUNS = 2

#: Folds of cross-validation. Ten would leave folds of the cervical data without a case.
_N_SPLITS = 5

#: γ of the Intervention Efficiency by which rules choose and are judged.
_CAPACITY = 0.3

#: PVF's noise, in standard deviations of a feature; M = 100, k = 7.
_SIGMA = 0.1


class Problem(NamedTuple):
    """One data set, the learners to choose from, and outside data to judge the choice on."""

    X: Array
    y: NDArray[np.int64]
    X_outside: Array
    y_outside: NDArray[np.int64]
    candidates: dict[str, Any]
    #: The candidate that is known to be right, where one is.
    truth: str | None


def make_problem(
    name: str, key: np.random.SeedSequence, *, n_samples: int = 100, n_fresh: int = 5000
) -> Problem:
    """Draw one data set of a problem, standardised, with outside data to judge a choice on.

    Of clusters the candidates are the ten pairs of five features, each with SMOTE and logistic
    regression (App. C.1 of PVF-IE), and (x1, x2) is right. Elsewhere they are the seven classifiers
    of PMV's Table 1. Of clinical data, a stratified sample is taken, and all others are outside.
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
def _clinical(name: str) -> tuple[Array, NDArray[np.int64]]:
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


def _criteria(seed: int) -> dict[str, Criterion]:
    """Return each rule's criterion with a seed of its own flips, split, noise and folds."""
    scorers = {"F1": "f1", "IE": intervention_efficiency_scorer(_CAPACITY)}
    folds = partial(cross_validation_criterion, n_splits=_N_SPLITS, random_state=seed)
    noise = Perturbation(GaussianNoise(_SIGMA))
    criteria: dict[str, Criterion] = {
        "PMV": pmv_scorer(noise_levels=_NOISE_LEVELS, random_state=seed),
        "CV accuracy": folds("accuracy"),
    }
    for name, scorer in scorers.items():
        perturbed = perturbation_scorer(scorer, perturbation=noise, random_state=seed)
        criteria[f"hold-out {name}"] = holdout_criterion(scorer, random_state=seed)
        criteria[f"PVF {name}"] = holdout_criterion(perturbed, random_state=seed)
        criteria[f"CV {name}"] = folds(scorer)
    return {rule: criteria[rule] for rule in RULES}


@dataclass(frozen=True)
class RuleSettings(Settings):
    """Settings of the rules side by side."""

    problems: tuple = setting(("clusters 2.0", "breast-cancer"), "Problems.", full=PROBLEMS)
    n_repetitions: int = setting(2, "Data sets of each problem.", full=20, low=2)
    seed: int = setting(20190524, "Key of all that is drawn.", low=0)


def rule_block(key: tuple[str, int], settings: RuleSettings) -> pd.DataFrame:
    """Let every rule score every candidate on one data set, with new flips, split and folds.

    Each candidate, trained on the whole data set, is judged on outside data.
    """
    name, repetition = key
    place = np.random.SeedSequence(settings.seed, spawn_key=(PROBLEMS.index(name), repetition))
    data_key, model_key, *rerun_keys = place.spawn(2 + _N_RERUNS)
    problem = make_problem(name, data_key)
    rng = np.random.default_rng(model_key)
    rows = []
    with steady_fits():
        candidates = {
            candidate: with_random_states(model, rng)
            for candidate, model in problem.candidates.items()
        }
        outside = {
            candidate: _outside_scores(model, problem) for candidate, model in candidates.items()
        }
        for rerun, rerun_key in enumerate(rerun_keys):
            criteria = _criteria(int(rerun_key.generate_state(1)[0]))
            for (rule, criterion), candidate in product(criteria.items(), candidates):
                start = time.process_time()
                score = criterion(candidates[candidate], problem.X, problem.y)
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


def _outside_scores(model: Any, problem: Problem) -> dict[str, float]:
    predicted = model.fit(problem.X, problem.y).predict(problem.X_outside)
    y = problem.y_outside
    return {
        "accuracy": float(accuracy_score(y, predicted)),
        "F1": float(f1_score(y, predicted, zero_division=0)),
        "IE": float(intervention_efficiency_score(y, predicted, capacity=_CAPACITY)),
    }


def rule_table(choices: pd.DataFrame, *, near: float = 0.01) -> pd.DataFrame:
    """Say of each rule how often it is right, how good its choice is, how stable and how dear.

    A rule that leaves several candidates splits its choice evenly among them. Where none is known
    to be right, one counts as right if its outside accuracy is at most ``near`` below the best
    candidate's. ``regret`` is outside score lost against the best; intervals are over data sets
    (Student's t). ``stable``: chance that two reruns on one data set choose the same; ``tied``:
    candidates left; ``seconds`` for one choice. The rule "any" chooses blindly.
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
    degrees = grouped.size() - 1
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
    table["n"] = grouped.size()
    order = {name: i for i, name in enumerate((*RULES, "any", *PROBLEMS))}
    return table.reset_index().sort_values(
        ["problem", "rule"], key=lambda names: names.map(order), ignore_index=True
    )


def _agreement(every: pd.DataFrame) -> pd.Series:
    """Return the probability that two different reruns choose the same candidate."""
    data_set = ["problem", "rule", "repetition"]
    by_candidate = every.groupby([*data_set, "candidate"])["share"]
    # pairs of different reruns: the square of the sum, less the pairs of a rerun with itself
    crossed = by_candidate.sum() ** 2 - by_candidate.agg(lambda share: (share**2).sum())
    n = every.groupby(data_set)["rerun"].nunique()
    return crossed.groupby(data_set).sum() / (n * (n - 1))


def _summary(rows: pd.DataFrame) -> pd.DataFrame:
    return rule_table(rows).round(6)


def rule_estimates(table: pd.DataFrame) -> pd.DataFrame:
    """Return what the table says, in the schema; a share without an interval gets Wilson's."""
    stable = [share_interval(*row) for row in table[["stable", "n"]].to_numpy()]
    with_ends = table.assign(
        **{"stable low": [one.low for one in stable], "stable high": [one.high for one in stable]}
    )
    frames = [
        with_ends[["problem", "rule", "n"]].assign(
            quantity=name,
            estimate=with_ends[name],
            low=with_ends[f"{name} low"],
            high=with_ends[f"{name} high"],
            unit="",
        )
        for name in ("right", *(f"regret {metric}" for metric in METRICS), "stable")
    ]
    return pd.concat(frames, ignore_index=True)


SIDE_BY_SIDE = Study(
    name="pmv_rules",
    settings=RuleSettings,
    blocks=lambda settings: [*product(settings.problems, range(settings.n_repetitions))],
    block=rule_block,
    summarise=_summary,
    estimate=rule_estimates,
    figures={
        "fig-ways-lost": partial(show.draw_grid, "regret accuracy"),
        "fig-ways-right": partial(show.draw_grid, "right"),
        "fig-ways-losses": show.draw_losses,
    },
    sample={"problems": ("linear",)},
    measured=("seconds",),
)
