"""The networks of Hsu and Calmon (2022) on Adult and COMPAS: seeds, remedies, greedy subsets.

The paper's text leaves preprocessing, networks and splits to its supplement. Where they are not
said otherwise, they are those of the authors' published code (commit 101abd4).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from scipy.stats import ks_2samp
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from pvf.multiplicity import (
    ambiguity,
    capacity_tail,
    decisions,
    discrepancy,
    greedy_subset,
    rashomon_capacity,
    rashomon_set,
)
from studies.data.datasets import load_adult, load_compas
from studies.kit.estimates import mean_estimates
from studies.kit.study import Settings, setting

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

#: Rashomon parameters of Fig. 3.
EPSILONS = (0.01, 0.02, 0.05, 0.1)
#: The data sets of the paper that can be had, with the share of persons in the test part.
DATASETS = {"adult": 0.05, "compas": 0.3}
#: Where the distribution of the capacity is kept.
QUANTILES = (*range(0, 100, 5), 99, 100)
#: A capacity clearly above 1: that of two models whose scores are 0.43 and 0.57.
ABOVE = 1.01

_HIDDEN = (50, 50)


class Parts(NamedTuple):
    """A data set cut in two."""

    X_train: Array
    y_train: Labels
    X_test: Array
    y_test: Labels


class Training(NamedTuple):
    """How networks are trained, and after how many passes through the data scores are taken."""

    scaling: str
    solver: str
    epochs: Mapping[str, Sequence[int]]
    n_models: int = 100
    n_repetitions: int = 5


#: The chapter's own networks; the same on features as they are, which is the authors' code; and
#: the paper's optimiser from the first steps on.
TRAININGS = {
    "standardised": Training("standard", "adam", {"adult": (1, 2, 4), "compas": (1, 2, 5, 10)}),
    "unscaled": Training("none", "adam", {"adult": (4,), "compas": (10,)}, 20, 3),
    "slow": Training("standard", "sgd", {"compas": (1, 2, 5, 10, 20, 50, 100)}, 20, 3),
}


@dataclass(frozen=True)
class Networks(Settings):
    """Networks trained from many seeds."""

    n_models: int = setting(
        10, "Networks of a split; two trainings have 20 at most.", full=100, paper="100", low=2
    )
    n_repetitions: int = setting(
        1, "Splits; two trainings have 3 at most.", full=5, paper="5", low=1
    )
    n_perturbed: int = setting(
        20, "Persons on whom AWP looks for scores too.", full=150, paper="all", low=1
    )
    seed: int = setting(20261128, "Of splits and networks.", low=0)


@dataclass(frozen=True)
class Greedy(Settings):
    """A few networks that stand for many."""

    n_models: int = setting(30, "Networks trained on COMPAS.", full=180, low=2)
    n_kept: int = setting(
        25, "Of those near the best, how many make the set.", full=163, paper="163", low=2
    )
    n_chosen: int = setting(15, "Most models to choose.", full=30, paper="10", low=1)
    n_repetitions: int = setting(1, "Splits.", full=3, low=1)
    n_starts: int = setting(5, "First models in each split.", low=1)
    epsilon: float = setting(0.05, "By how much a loss may exceed the smallest.", low=0)
    seed: int = setting(20261128, "Of splits and networks.", low=0)


# --- data -----------------------------------------------------------------------------------------


def paper_data(dataset: str, *, download: bool = True) -> tuple[pd.DataFrame, pd.Series]:
    """Return Adult or COMPAS, features and labels, with the preprocessing of the authors' code.

    Adult: both parts; persons recorded as White or Black; age, years of schooling, race, sex,
    gains, losses and hours as numbers, marital status and relationship in 0/1 columns. COMPAS:
    ProPublica's selection; persons recorded as African-American or Caucasian; age, degree of the
    charge (±1), race, sex, earlier charges and days in jail; charged again at any time or not.
    """
    if dataset == "adult":
        return _adult(load_adult("all", download=download))
    if dataset == "compas":
        return _compas(load_compas("all", "is_recid", download=download))
    raise ValueError(f"dataset must be one of {sorted(DATASETS)}, got {dataset!r}.")


def _adult(data: Any) -> tuple[pd.DataFrame, pd.Series]:
    kept = data.X["race"].isin(["White", "Black"])
    X = data.X[kept]
    numbers = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    frame = X[numbers].astype(float)
    frame = frame.assign(white=(X["race"] == "White") * 1.0, male=(X["sex"] == "Male") * 1.0)
    groups = pd.get_dummies(X[["marital-status", "relationship"]].astype(str), dtype=float)
    return frame.join(groups).reset_index(drop=True), data.y[kept].reset_index(drop=True)


def _compas(data: Any) -> tuple[pd.DataFrame, pd.Series]:
    X = data.X
    kept = (
        X["days_b_screening_arrest"].between(-30, 30)
        & (data.y != -1)
        & (X["c_charge_degree"] != "O")
        & X["race"].isin(["African-American", "Caucasian"])
    )
    X = X[kept]
    frame = X[["age", "priors_count", "length_of_stay"]].astype(float)
    frame = frame.assign(
        felony=np.where(X["c_charge_degree"] == "F", 1.0, -1.0),
        caucasian=(X["race"] == "Caucasian") * 1.0,
        male=(X["sex"] == "Male") * 1.0,
    )
    return frame.reset_index(drop=True), data.y[kept].reset_index(drop=True)


def ensure_data() -> None:
    """Say at once, and not in a worker, that a data set is missing."""
    for dataset in DATASETS:
        paper_data(dataset)


def make_parts(
    X: ArrayLike, y: ArrayLike, test_share: float, *, seed: int, repetition: int, scaling: str
) -> Parts:
    """Cut a data set in two at random; "standard" scaling is by the training part."""
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=np.int64)
    order = np.random.default_rng([seed, repetition]).permutation(len(X))
    n_test = round(test_share * len(X))
    test, train = order[:n_test], order[n_test:]
    scaler = StandardScaler(with_mean=scaling == "standard", with_std=scaling == "standard").fit(
        X[train]
    )
    return Parts(scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])


def split_parts(dataset: str, seed: int, repetition: int, scaling: str = "standard") -> Parts:
    """Return one split of a data set of the paper."""
    X, y = paper_data(dataset)
    return make_parts(X, y, DATASETS[dataset], seed=seed, repetition=repetition, scaling=scaling)


# --- what is said of a set of models --------------------------------------------------------------


def log_losses(scores: ArrayLike, y: ArrayLike) -> Array:
    """Return the mean cross-entropy of each model, each a row of probabilities of class 1."""
    positive = np.clip(np.asarray(scores, dtype=float), 1e-15, 1 - 1e-15)
    return -np.log(np.where(np.asarray(y) == 1, positive, 1 - positive)).mean(axis=1)


def calibration_error(scores: ArrayLike, y: ArrayLike, n_bins: int = 10) -> float:
    """Return the mean distance of scores from the share of positives, in bins of equal size."""
    scores, truth = np.asarray(scores, dtype=float), np.asarray(y, dtype=float)
    bins = np.array_split(np.argsort(scores, kind="stable"), n_bins)
    gaps = [abs(scores[b].mean() - truth[b].mean()) * len(b) for b in bins if len(b)]
    return float(np.sum(gaps) / len(scores))


def summary(scores: ArrayLike, y: ArrayLike) -> dict[str, float]:
    """Return what a set of models (rows of probabilities of class 1) says about persons.

    Accuracy and calibration error are means over the models. Of the capacity there are the mean,
    the means of the largest 1% and 5%, the share of persons above 1.01, and quantiles. One model
    alone has no multiplicity: capacity 1.
    """
    scores, y = np.atleast_2d(np.asarray(scores, dtype=float)), np.asarray(y)
    capacity = rashomon_capacity(scores) if len(scores) > 1 else np.ones(len(y))
    calls = decisions(scores) == 1
    quantiles = np.percentile(capacity, QUANTILES, method="inverted_cdf")
    return {
        "n_models": len(scores),
        "n_samples": len(y),
        "accuracy": float((calls == (y == 1)).mean()),
        "calibration_error": float(np.mean([calibration_error(row, y) for row in scores])),
        "mean": float(capacity.mean()),
        "tail1": capacity_tail(capacity, 0.01),
        "tail5": capacity_tail(capacity, 0.05),
        "above": float((capacity > ABOVE).mean()),
        "ambiguity": ambiguity(scores),
        "discrepancy": discrepancy(scores),
        **{f"q{q}": float(value) for q, value in zip(QUANTILES, quantiles, strict=True)},
    }


def rows_by_epsilon(
    key: Mapping[str, Any], by_epsilon: Mapping[float, Mapping[str, Any]]
) -> pd.DataFrame:
    """Return one row an epsilon."""
    rows = [{**key, "epsilon": epsilon, **found} for epsilon, found in by_epsilon.items()]
    return pd.DataFrame(rows)


#: What names an estimate, in the tables that have it.
_KEYS = ("dataset", "training", "penalty", "epochs", "way", "epsilon")
#: Numbers of a row that are averaged over splits; shares are shown in percent.
_SHARES = ("above", "ambiguity", "discrepancy")
_NUMBERS = ("loss", "accuracy", "calibration_error", "n_models", "n_trained", "seconds")
_CAPACITIES = ("mean", "tail1", "tail5", *(f"q{q}" for q in QUANTILES))


def by_split(table: pd.DataFrame) -> pd.DataFrame:
    """Return estimates over the splits, and what changes from one row of a split to another.

    Beside the columns: ``growth``, of the top 5% from the smallest epsilon on; ``change``, of the
    mean capacity from the models that a way starts from; ``share``, of the capacity above 1 that
    the exact optimum finds, in percent.
    """
    keys = [name for name in _KEYS if name in table]
    split = [name for name in keys if name not in ("way", "epsilon")] + ["repetition"]
    first = table.groupby([*split, "way"])["tail5"].transform("first")
    rows = table.assign(
        growth=(table["tail5"] - first).where(table["epsilon"] > EPSILONS[0]),
        change=table["mean"] - _starting_mean(table, split),
        share=100 * (table["mean"] - 1) / (_mean_of(table, "exact", [*split, "epsilon"]) - 1),
        **{name: 100 * table[name] for name in _SHARES},
    )
    found = mean_estimates(
        rows, keys, [*_CAPACITIES, *_NUMBERS, *_SHARES, "growth", "change", "share"]
    )
    percent = found["quantity"].isin([*_SHARES, "share"])
    found["unit"] = np.where(percent, "%", np.where(found["quantity"] == "seconds", "s", ""))
    return found.dropna(subset="estimate").reset_index(drop=True)


def _mean_of(table: pd.DataFrame, way: Any, split: Sequence[str]) -> pd.Series:
    """Return for each row the mean capacity of another way in the same split."""
    known = table[[*split, "way", "mean"]].drop_duplicates([*split, "way"])
    return table[[*split]].assign(way=way).merge(known, how="left")["mean"].set_axis(table.index)


def _starting_mean(table: pd.DataFrame, split: Sequence[str]) -> pd.Series:
    """Return for each row the mean capacity that a remedy starts from."""
    if "penalty" in table:
        others = [name for name in split if name != "penalty"]
        weakest = table[table["penalty"] == table["penalty"].max()]
        known = weakest[[*others, "way", "epsilon", "mean"]]
        merged = table[[*others, "way", "epsilon"]].merge(known, how="left")
        return merged["mean"].set_axis(table.index)
    size = table["way"].str.extract(r"ensembles of (\d+)", expand=False).astype(float)
    alone = (table["n_trained"] // size).map("{:.0f} alone".format)
    start = alone.mask(table["way"].isin(["Platt", "isotonic"]), "as trained")
    return _mean_of(table, start, [*split, "epsilon"])


# --- networks -------------------------------------------------------------------------------------


def train_networks(
    parts: Parts, seeds: Sequence[int], epochs: Sequence[int], *, solver: str = "adam"
) -> tuple[Array, list[MLPClassifier], list[float]]:
    """Train networks of two hidden layers of 50 units, the authors' own, from several seeds.

    A seed is that of the initial weights and of the order of the training rows. Returned are the
    scores in the test part after each number of ``epochs`` (epochs × models × persons), the
    networks as they are at the end, and the time of all models up to each.
    """
    scores = np.empty((len(epochs), len(seeds), len(parts.y_test)))
    seconds, networks = np.zeros(len(epochs)), []
    for i, seed in enumerate(seeds):
        network = MLPClassifier(
            _HIDDEN,
            solver=solver,
            random_state=np.random.RandomState(seed),
            nesterovs_momentum=False,
        )
        spent = 0.0
        for mark, (start, stop) in enumerate(zip((0, *epochs), epochs, strict=False)):
            before = time.perf_counter()
            for _ in range(start, stop):
                network.partial_fit(parts.X_train, parts.y_train, classes=[0, 1])
            spent += time.perf_counter() - before
            seconds[mark] += spent
            scores[mark, i] = network.predict_proba(parts.X_test)[:, 1]
        networks.append(network)
    return scores, networks, seconds.tolist()


def network_seeds(seed: int, repetition: int, n_models: int) -> list[int]:
    """Return seeds of the networks of a split; the first ones are those of a smaller run."""
    state = np.random.SeedSequence([seed, repetition, 1]).generate_state(max(n_models, 1))
    return [int(value) for value in state]


def network_blocks(settings: Networks) -> list[tuple[str, str, int]]:
    """Return data set, training and split of every block."""
    ensure_data()
    return [
        (dataset, name, repetition)
        for dataset in DATASETS
        for name, training in TRAININGS.items()
        if dataset in training.epochs
        for repetition in range(min(settings.n_repetitions, training.n_repetitions))
    ]


def network_block(key: tuple[str, str, int], settings: Networks) -> pd.DataFrame:
    """Sample networks of one split by training from many seeds, and try three remedies on them.

    The set is that of equation (8): models whose loss in the test part, as in the authors' code, is
    at most the best one's plus epsilon. A ``way`` is "seeds", after each number of epochs; and
    after the last of the standardised training "seeds, some samples" (the first ``n_perturbed``
    persons), "n alone" and "ensembles of k" (as many single models as ensembles), and, on one half
    of the test part, "as trained", "Platt" and "isotonic": the same models, calibrated on the other
    half.
    """
    dataset, name, repetition = key
    training = TRAININGS[name]
    n_models = min(settings.n_models, training.n_models)
    parts = split_parts(dataset, settings.seed, repetition, training.scaling)
    y, epochs = parts.y_test, training.epochs[dataset]
    seeds = network_seeds(settings.seed, repetition, n_models)
    scores, _, seconds = train_networks(parts, seeds, epochs, solver=training.solver)
    names: dict[str, Any] = {"dataset": dataset, "training": name, "repetition": repetition}
    frames = [
        rows_by_epsilon(
            {**names, "epochs": mark, "way": "seeds", "n_trained": n_models, "seconds": spent},
            _within(part, y),
        )
        for mark, part, spent in zip(epochs, scores, seconds, strict=True)
    ]
    if name == "standardised":
        names |= {"epochs": epochs[-1], "n_trained": n_models, "seconds": seconds[-1]}
        ways = {"seeds, some samples": _within(scores[-1], y, n_judged=settings.n_perturbed)}
        ways |= {way: _within(changed, y) for way, changed in _ensembles(scores[-1]).items()}
        ways |= _calibrated(scores[-1], y)
        frames += [rows_by_epsilon({**names, "way": way}, found) for way, found in ways.items()]
    return pd.concat(frames, ignore_index=True)


def _within(
    scores: Array, y: Labels, *, n_judged: int | None = None
) -> dict[float, dict[str, Any]]:
    """Return the summary of the models within each epsilon of the best, by their loss on ``y``."""
    losses = log_losses(scores, y)
    found = {}
    for epsilon in EPSILONS:
        inside = scores[rashomon_set(losses, epsilon), :n_judged]
        found[epsilon] = {"loss": float(losses.min()), **summary(inside, y[:n_judged])}
    return found


def _ensembles(scores: Array) -> dict[str, Array]:
    """Return means of several models' scores, beside as many single models."""
    found = {}
    for size in (2, 5, 10):
        n = len(scores) // size
        if n > 1:
            found[f"{n} alone"] = scores[:n]
            found[f"ensembles of {size}"] = scores[: n * size].reshape(n, size, -1).mean(axis=1)
    return found


def _calibrated(scores: Array, y: Labels) -> dict[str, dict[float, dict[str, Any]]]:
    """Return what calibration on one half makes of the same models' capacity on the other."""
    losses, half = log_losses(scores, y), len(y) // 2
    ways = {"as trained": lambda _, __, new: new, "Platt": platt, "isotonic": isotonic}
    found: dict[str, dict[float, dict[str, Any]]] = {}
    for way, calibrate in ways.items():
        changed = np.array([calibrate(row[:half], y[:half], row[half:]) for row in scores])
        found[way] = {
            epsilon: {
                "loss": float(losses.min()),
                **summary(changed[rashomon_set(losses, epsilon)], y[half:]),
            }
            for epsilon in EPSILONS
        }
    return found


def platt(scores: Array, y: Labels, new: Array) -> Array:
    """Calibrate new scores by a logistic regression of labels on the logit of scores."""
    z, new_z = (logit(np.clip(part, 1e-12, 1 - 1e-12)) for part in (scores, new))
    line = LogisticRegression(C=np.inf).fit(z[:, None], y)
    return line.predict_proba(new_z[:, None])[:, 1]


def isotonic(scores: Array, y: Labels, new: Array) -> Array:
    """Calibrate new scores by the best increasing step function of scores."""
    steps = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(scores, y)
    return steps.predict(new)


# --- greedy subset --------------------------------------------------------------------------------


def greedy_blocks(settings: Greedy) -> list[tuple[str, int]]:
    """Return training and split of every block."""
    ensure_data()
    return [
        (training, repetition)
        for training in ("standardised", "unscaled")
        for repetition in range(settings.n_repetitions)
    ]


def greedy_block(key: tuple[str, int], settings: Greedy) -> pd.DataFrame:
    """Return how much of a set's capacity a few of its models keep, by how they are chosen.

    Models are chosen on one half of the test part of COMPAS, greedily or at random, and judged on
    both halves.
    """
    name, repetition = key
    training, seed = TRAININGS[name], settings.seed
    parts = split_parts("compas", seed, repetition, training.scaling)
    seeds, last = network_seeds(seed, repetition, settings.n_models), training.epochs["compas"][-1]
    scores = train_networks(parts, seeds, [last], solver=training.solver)[0][0]
    near = rashomon_set(log_losses(scores, parts.y_test), settings.epsilon)
    scores, half = scores[near[: settings.n_kept]], len(parts.y_test) // 2
    halves = {"same samples": slice(half), "other samples": slice(half, None)}
    n_chosen = min(settings.n_chosen, len(scores))
    rng = np.random.default_rng([seed, repetition, 2])
    frames = []
    for start in rng.choice(len(scores), min(settings.n_starts, len(scores)), replace=False):
        chosen = greedy_subset(scores[:, :half], n_chosen, start=int(start))
        others = rng.permutation(np.setdiff1d(np.arange(len(scores)), [start]))
        orders = {"greedy": chosen, "random": np.append(start, others[: n_chosen - 1])}
        for rule, order in orders.items():
            for judged, part in halves.items():
                names = {"start": int(start), "rule": rule, "judged": judged}
                frames.append(kept_shares(scores[:, part], order).assign(**names))
    table = pd.concat(frames, ignore_index=True)
    return table.assign(training=name, repetition=repetition, set_size=len(scores))


def kept_shares(scores: Array, order: ArrayLike) -> pd.DataFrame:
    """Return what the first one, two, ... models of an order keep of the capacity of all.

    ``share`` is of the mean capacity above 1, ``share_tail`` of that of the largest 5%, and
    ``distance`` the largest distance between the two cumulative distributions.
    """
    order = np.asarray(order)
    full = rashomon_capacity(scores)
    rows = []
    for size in range(1, len(order) + 1):
        few = rashomon_capacity(scores[order[:size]]) if size > 1 else np.ones(len(full))
        rows.append(
            {
                "size": size,
                "share": (few.mean() - 1) / (full.mean() - 1),
                "share_tail": (capacity_tail(few, 0.05) - 1) / (capacity_tail(full, 0.05) - 1),
                "distance": float(ks_2samp(few, full).statistic),
            }
        )
    return pd.DataFrame(rows)


def greedy_estimates(table: pd.DataFrame) -> pd.DataFrame:
    """Return shares and distances in percent, over splits with all their first models."""
    keys = ["training", "rule", "judged", "size"]
    return mean_estimates(table, keys, ["share", "share_tail", "distance"], unit="%", scale=100.0)
