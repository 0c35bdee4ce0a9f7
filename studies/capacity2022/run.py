"""The experiments of Hsu and Calmon (2022) on Adult and COMPAS, and what they leave out.

How much do equally good models disagree about one person? Four ways to look for such models stand
side by side: training again from other seeds, training again on resampled data, perturbing the
weights of one model by gradient steps (AWP), and, for logistic regression, the exact optimum, which
says how far the others fall short.

The paper's text leaves preprocessing, networks and splits to its supplement. Where they are not
said otherwise, they are those of the authors' published code (commit 101abd4).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from scipy.stats import ks_2samp
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from pvf.multiplicity import (
    ambiguity,
    capacity_tail,
    decisions,
    discrepancy,
    greedy_subset,
    perturb_scores,
    rashomon_capacity,
    rashomon_set,
)
from studies.data.datasets import load_adult, load_compas
from studies.kit.results import run_blocks

__all__ = [
    "DATASETS",
    "EPSILONS",
    "PAPER_NETWORKS",
    "QUANTILES",
    "TRAININGS",
    "WAYS",
    "Parts",
    "Training",
    "calibration_error",
    "extremes",
    "isotonic",
    "kept_shares",
    "log_losses",
    "logistic_ways",
    "make_parts",
    "paper_data",
    "penalised_loss",
    "platt",
    "run_awp",
    "run_greedy",
    "run_logistic",
    "run_networks",
    "summary",
    "train_networks",
]

Array = NDArray[np.float64]

#: Rashomon parameters of Fig. 3.
EPSILONS = (0.01, 0.02, 0.05, 0.1)
#: The data sets of the paper that can be had, with the share of persons in the test part.
DATASETS = {"adult": 0.05, "compas": 0.3}
#: Where the distribution of the capacity is kept.
QUANTILES = (*range(0, 100, 5), 99, 100)
#: A capacity clearly above 1: that of two models whose scores are 0.43 and 0.57.
ABOVE = 1.01


class Parts(NamedTuple):
    """A data set cut in two."""

    X_train: Array
    y_train: NDArray[np.int64]
    X_test: Array
    y_test: NDArray[np.int64]


class Training(NamedTuple):
    """How networks are trained.

    Parameters
    ----------
    scaling : {"standard", "none"}
        Whether features are brought to mean 0 and standard deviation 1 by the training part.
    solver : {"adam", "sgd"}
        Of `sklearn.neural_network.MLPClassifier`; both with a learning rate of 0.001.
    epochs : mapping of str to sequence of int
        For each data set, after how many passes through the training part scores are taken.
    n_models : int
        Most models.
    n_repetitions : int
        Most splits.
    """

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

#: Hidden layers and units of the paper's networks, and their full-batch steps.
PAPER_NETWORKS = {
    "adult": {"n_layers": 5, "n_units": 100, "n_steps": 100},
    "compas": {"n_layers": 5, "n_units": 200, "n_steps": 200},
}

_HIDDEN = (50, 50)


# --- data -----------------------------------------------------------------------------------------


def paper_data(dataset: str, *, download: bool = True) -> tuple[pd.DataFrame, pd.Series]:
    """Adult or COMPAS with the preprocessing of the authors' code.

    Adult: both parts; persons recorded as White or Black; age, years of schooling, race, sex,
    gains, losses and hours as numbers, marital status and relationship in 0/1 columns. COMPAS:
    ProPublica's selection; persons recorded as African-American or Caucasian; age, degree of the
    charge (±1), race, sex, earlier charges and days in jail; charged again at any time or not.

    Parameters
    ----------
    dataset : {"adult", "compas"}
    download : bool, default=True
        Whether to download what is not on this machine.

    Returns
    -------
    X : DataFrame
        46,447 × 20 or 5,278 × 6 floats.
    y : Series
        0 and 1.

    Raises
    ------
    ValueError
        If there is no such data set.
    DataUnavailableError
        If there is no copy and none can be downloaded.
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


def make_parts(
    X: ArrayLike, y: ArrayLike, test_share: float, *, seed: int, repetition: int, scaling: str
) -> Parts:
    """Cut a data set into a training and a test part at random.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
    y : array-like of shape (n,)
    test_share : float
        Share of the test part.
    seed, repetition : int
        Key of the cut.
    scaling : {"standard", "none"}
        Whether the training part's means and standard deviations are taken out.

    Returns
    -------
    Parts
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=np.int64)
    order = np.random.default_rng([seed, repetition]).permutation(len(X))
    n_test = round(test_share * len(X))
    test, train = order[:n_test], order[n_test:]
    scaler = StandardScaler(with_mean=scaling == "standard", with_std=scaling == "standard").fit(
        X[train]
    )
    return Parts(scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])


def _parts_of(dataset: str, seed: int, repetition: int, *, scaling: str = "standard") -> Parts:
    X, y = paper_data(dataset)
    return make_parts(X, y, DATASETS[dataset], seed=seed, repetition=repetition, scaling=scaling)


# --- what is said of a set of models --------------------------------------------------------------


def log_losses(scores: ArrayLike, y: ArrayLike) -> Array:
    """Mean cross-entropy of each model.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_samples)
        Probabilities of class 1.
    y : array-like of shape (n_samples,)
        0 and 1.

    Returns
    -------
    ndarray of shape (n_models,)

    Examples
    --------
    >>> log_losses([[0.5, 0.5], [0.9, 0.2]], [1, 0]).round(4)
    array([0.6931, 0.1643])
    """
    positive = np.clip(np.asarray(scores, dtype=float), 1e-15, 1 - 1e-15)
    return -np.log(np.where(np.asarray(y) == 1, positive, 1 - positive)).mean(axis=1)


def calibration_error(scores: ArrayLike, y: ArrayLike, n_bins: int = 10) -> float:
    """Mean distance between a model's scores and the share of positives, in bins of equal size.

    Parameters
    ----------
    scores : array-like of shape (n_samples,)
        Probabilities of class 1.
    y : array-like of shape (n_samples,)
        0 and 1.
    n_bins : int, default=10

    Returns
    -------
    float

    Examples
    --------
    >>> calibration_error([0.25, 0.25, 0.25, 0.25], [1, 0, 0, 0], n_bins=1)
    0.0
    """
    scores, truth = np.asarray(scores, dtype=float), np.asarray(y, dtype=float)
    bins = np.array_split(np.argsort(scores, kind="stable"), n_bins)
    gaps = [abs(scores[b].mean() - truth[b].mean()) * len(b) for b in bins if len(b)]
    return float(np.sum(gaps) / len(scores))


def summary(scores: ArrayLike, y: ArrayLike) -> dict[str, float]:
    """Capacity, in scores and in decisions, of a set of models.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_samples)
        Probabilities of class 1. One model alone has no multiplicity: capacity 1.
    y : array-like of shape (n_samples,)
        0 and 1.

    Returns
    -------
    dict of str to float
        ``n_models``, ``n_samples``; ``accuracy`` and ``calibration_error``, means over the models;
        of the capacity ``mean``, ``tail1`` and ``tail5`` (mean of the largest 1% and 5%),
        ``above`` (share of samples above 1.01) and quantiles ``q0`` to ``q100``; ``ambiguity``,
        the share of samples whose decision depends on the model; ``discrepancy`` from the first.

    Examples
    --------
    >>> found = summary([[0.4, 0.9], [0.6, 0.9]], [1, 1])
    >>> found["ambiguity"], round(found["tail1"], 4), found["q0"]
    (0.5, 1.0203, 1.0)
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


def _rows(key: Mapping[str, Any], by_epsilon: Mapping[float, Mapping[str, Any]]) -> pd.DataFrame:
    """Return one row an epsilon."""
    rows = [{**key, "epsilon": epsilon, **found} for epsilon, found in by_epsilon.items()]
    return pd.DataFrame(rows)


def _within(
    scores: Array, y: NDArray[np.int64], epsilons: Sequence[float], *, n_judged: int | None = None
) -> dict[float, dict[str, Any]]:
    """Return the summary of the models within each epsilon of the best, by their loss on ``y``."""
    losses = log_losses(scores, y)
    found = {}
    for epsilon in epsilons:
        inside = scores[rashomon_set(losses, epsilon), :n_judged]
        found[epsilon] = {"loss": float(losses.min()), **summary(inside, y[:n_judged])}
    return found


# --- networks -------------------------------------------------------------------------------------


def train_networks(
    parts: Parts, seeds: Sequence[int], epochs: Sequence[int], *, solver: str = "adam"
) -> tuple[Array, list[MLPClassifier], list[float]]:
    """Train networks of two hidden layers of 50 units, the authors' own, from several seeds.

    Parameters
    ----------
    parts : Parts
    seeds : sequence of int
        Of the initial weights and of the order of the training rows.
    epochs : sequence of int
        After how many passes scores are taken, in increasing order.
    solver : {"adam", "sgd"}, default="adam"

    Returns
    -------
    scores : ndarray of shape (n_epochs, n_models, n_test)
        Probabilities of class 1 in the test part.
    networks : list of MLPClassifier
        As they are after the last epoch.
    seconds : list of float
        Time that training took up to each of the epochs, all models together.
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


def _seeds(seed: int, repetition: int, n_models: int) -> list[int]:
    """Return seeds of the networks of a repetition; the first ones are those of a smaller run."""
    state = np.random.SeedSequence([seed, repetition, 1]).generate_state(max(n_models, 1))
    return [int(value) for value in state]


def run_networks(
    *,
    datasets: Sequence[str] = tuple(DATASETS),
    trainings: Sequence[str] = tuple(TRAININGS),
    epsilons: Sequence[float] = EPSILONS,
    n_models: int = 100,
    n_repetitions: int = 5,
    n_perturbed: int = 150,
    seed: int = 0,
    n_jobs: int | None = None,
    out: Path | None = None,
) -> pd.DataFrame:
    """Sample networks by training from many seeds, and try three remedies on them.

    The set is that of equation (8): models whose loss in the test part, as in the authors' code, is
    at most the best one's plus epsilon.

    Parameters
    ----------
    datasets, trainings : sequence of str
        Keys of `DATASETS` and `TRAININGS`.
    epsilons : sequence of float
    n_models, n_repetitions : int
        Models a split, and splits; the paper: 100 and 5. A training may have fewer.
    n_perturbed : int
        Size of the part of the test samples on which the set is judged once more, for
        comparison with `run_awp`.
    seed : int
    n_jobs, out
        As in `studies.kit.results.run_blocks`.

    Returns
    -------
    DataFrame
        One row a data set, training, number of epochs, repetition, epsilon and ``way``: "seeds";
        of the last epochs of the standardised training also "seeds, some samples" (the first
        ``n_perturbed``), "n alone" and "ensembles of k" (as many single models as ensembles), and,
        on one half of the test part, "as trained", "Platt" and "isotonic": the same models,
        calibrated on the other half. ``n_trained`` models took ``seconds``. The other columns are
        those of `summary`, and
        ``loss``, the smallest.

    Raises
    ------
    DataUnavailableError
        If the data are not to be had.
    """
    blocks = [
        (dataset, training, repetition)
        for dataset in datasets
        for training in trainings
        if dataset in TRAININGS[training].epochs
        for repetition in range(min(n_repetitions, TRAININGS[training].n_repetitions))
    ]
    _ensure_data(datasets)
    settings = {
        "epsilons": list(epsilons),
        "n_models": n_models,
        "n_perturbed": n_perturbed,
        "seed": seed,
    }
    return run_blocks(
        _network_block, blocks, study="capacity-networks", settings=settings, n_jobs=n_jobs, out=out
    )


def _ensure_data(datasets: Sequence[str]) -> None:
    """Raise here, and not in a worker, what is the matter with the data."""
    for dataset in datasets:
        paper_data(dataset)


def _network_block(
    block: tuple[str, str, int],
    *,
    epsilons: Sequence[float],
    n_models: int,
    n_perturbed: int,
    seed: int,
) -> pd.DataFrame:
    dataset, name, repetition = block
    training = TRAININGS[name]
    n_models = min(n_models, training.n_models)
    parts = _parts_of(dataset, seed, repetition, scaling=training.scaling)
    epochs = training.epochs[dataset]
    seeds = _seeds(seed, repetition, n_models)
    scores, _, seconds = train_networks(parts, seeds, epochs, solver=training.solver)
    key = {"dataset": dataset, "training": name, "repetition": repetition}
    frames = [
        _rows(
            {**key, "epochs": mark, "way": "seeds", "n_trained": n_models, "seconds": spent},
            _within(part, parts.y_test, epsilons),
        )
        for mark, part, spent in zip(epochs, scores, seconds, strict=True)
    ]
    if name == "standardised":
        key |= {"epochs": epochs[-1], "n_trained": n_models, "seconds": seconds[-1]}
        some = _within(scores[-1], parts.y_test, epsilons, n_judged=n_perturbed)
        frames.append(_rows({**key, "way": "seeds, some samples"}, some))
        for way, changed in _ensembles(scores[-1]).items():
            frames.append(_rows({**key, "way": way}, _within(changed, parts.y_test, epsilons)))
        for way, found in _calibrated(scores[-1], parts.y_test, epsilons).items():
            frames.append(_rows({**key, "way": way}, found))
    return pd.concat(frames, ignore_index=True)


def _ensembles(scores: Array) -> dict[str, Array]:
    """Return means of several models' scores, beside as many single models."""
    found = {}
    for size in (2, 5, 10):
        n = len(scores) // size
        if n > 1:
            found[f"{n} alone"] = scores[:n]
            found[f"ensembles of {size}"] = scores[: n * size].reshape(n, size, -1).mean(axis=1)
    return found


def _calibrated(
    scores: Array, y: NDArray[np.int64], epsilons: Sequence[float]
) -> dict[str, dict[float, dict[str, Any]]]:
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
            for epsilon in epsilons
        }
    return found


def platt(scores: Array, y: NDArray[np.int64], new: Array) -> Array:
    """Calibrate scores by a logistic regression on their logit.

    Parameters
    ----------
    scores, y : ndarray of shape (n,)
        What is fitted to.
    new : ndarray of shape (m,)
        Scores to calibrate.

    Returns
    -------
    ndarray of shape (m,)
    """
    z, new_z = (logit(np.clip(part, 1e-12, 1 - 1e-12)) for part in (scores, new))
    line = LogisticRegression(C=np.inf).fit(z[:, None], y)
    return line.predict_proba(new_z[:, None])[:, 1]


def isotonic(scores: Array, y: NDArray[np.int64], new: Array) -> Array:
    """Calibrate scores by the best increasing step function.

    Parameters
    ----------
    scores, y : ndarray of shape (n,)
        What is fitted to.
    new : ndarray of shape (m,)
        Scores to calibrate.

    Returns
    -------
    ndarray of shape (m,)
    """
    steps = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(scores, y)
    return steps.predict(new)


# --- greedy subset --------------------------------------------------------------------------------


def run_greedy(
    *,
    dataset: str = "compas",
    trainings: Sequence[str] = ("standardised", "unscaled"),
    n_models: int = 180,
    n_kept: int = 163,
    n_chosen: int = 30,
    epsilon: float = 0.05,
    n_repetitions: int = 3,
    n_starts: int = 5,
    seed: int = 0,
    n_jobs: int | None = None,
    out: Path | None = None,
) -> pd.DataFrame:
    """How much of a set's capacity a few of its models keep, chosen greedily or at random.

    Models are chosen on one half of the test part and judged on both.

    Parameters
    ----------
    dataset : str
    trainings : sequence of str
        Keys of `TRAININGS`.
    n_models, n_kept : int
        Networks that are trained; of those within ``epsilon`` of the best, the first ``n_kept`` are
        the set. The paper's has 163.
    n_chosen : int
        Most models to choose.
    epsilon : float
    n_repetitions, n_starts : int
        Splits, and first models for each.
    seed : int
    n_jobs, out
        As in `studies.kit.results.run_blocks`.

    Returns
    -------
    DataFrame
        One row a ``training``, repetition, start, ``rule`` ("greedy" or "random"), ``judged``
        ("same samples" or "other samples") and ``size``: ``share``, what of the mean capacity above
        1 is kept, the same of the largest 5% (``share_tail``), ``distance`` (largest distance
        between the two cumulative distributions), and the ``set_size``.
    """
    _ensure_data([dataset])
    settings = {
        "dataset": dataset,
        "n_models": n_models,
        "n_kept": n_kept,
        "n_chosen": n_chosen,
        "epsilon": epsilon,
        "n_starts": n_starts,
        "seed": seed,
    }
    return run_blocks(
        _greedy_block,
        [(training, repetition) for training in trainings for repetition in range(n_repetitions)],
        study="capacity-greedy",
        settings=settings,
        n_jobs=n_jobs,
        out=out,
    )


def _greedy_block(
    block: tuple[str, int],
    *,
    dataset: str,
    n_models: int,
    n_kept: int,
    n_chosen: int,
    epsilon: float,
    n_starts: int,
    seed: int,
) -> pd.DataFrame:
    name, repetition = block
    training = TRAININGS[name]
    parts = _parts_of(dataset, seed, repetition, scaling=training.scaling)
    seeds, last = _seeds(seed, repetition, n_models), training.epochs[dataset][-1]
    scores = train_networks(parts, seeds, [last], solver=training.solver)[0][0]
    inside = rashomon_set(log_losses(scores, parts.y_test), epsilon)[:n_kept]
    scores, half = scores[inside], len(parts.y_test) // 2
    halves = {"same samples": slice(half), "other samples": slice(half, None)}
    rng = np.random.default_rng([seed, repetition, 2])
    frames = []
    for start in rng.choice(len(scores), n_starts, replace=False):
        chosen = greedy_subset(scores[:, :half], n_chosen, start=int(start))
        others = rng.permutation(np.setdiff1d(np.arange(len(scores)), [start]))
        orders = {"greedy": chosen, "random": np.append(start, others[: n_chosen - 1])}
        for rule, order in orders.items():
            for judged, part in halves.items():
                key = {"start": int(start), "rule": rule, "judged": judged}
                frames.append(kept_shares(scores[:, part], order).assign(**key))
    table = pd.concat(frames, ignore_index=True)
    return table.assign(training=name, repetition=repetition, set_size=len(scores))


def kept_shares(scores: Array, order: ArrayLike) -> pd.DataFrame:
    """Return what the first one, two, ... models of an order keep of the capacity of all.

    Parameters
    ----------
    scores : ndarray of shape (n_models, n_samples)
        Probabilities of class 1, of all models.
    order : array-like of int
        Models in the order of their choice.

    Returns
    -------
    DataFrame
        ``size``, ``share``, ``share_tail`` and ``distance``, as in `run_greedy`.

    Examples
    --------
    >>> kept_shares(np.array([[0.1, 0.5], [0.9, 0.5], [0.5, 0.5]]), [0, 2, 1])["share"].round(3)
    0    0.000
    1    0.242
    2    1.000
    Name: share, dtype: float64
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


# --- logistic regression --------------------------------------------------------------------------


def run_logistic(
    *,
    datasets: Sequence[str] = tuple(DATASETS),
    epsilons: Sequence[float] = EPSILONS,
    penalties: Sequence[float] = (1e-5, 1e-4, 1e-3, 1.0),
    n_models: int = 100,
    n_repetitions: int = 5,
    n_perturbed: int = 150,
    seed: int = 0,
    n_jobs: int | None = None,
    out: Path | None = None,
) -> pd.DataFrame:
    """Hold sampling, resampling and AWP against the exact optimum of logistic regressions.

    Here the set is a convex one and its extremes can be computed, so that the reader sees how far
    each way falls short. The loss is what the model minimised, in the training part: mean log loss
    and penalty.

    Parameters
    ----------
    datasets : sequence of str
        Keys of `DATASETS`.
    epsilons : sequence of float
    penalties : sequence of float
        Inverse strengths C of the L2 penalty, in scikit-learn's sense for 1,000 training persons.
    n_models, n_repetitions : int
        Models a split, and splits.
    n_perturbed : int
        Persons of the test part, at most, whose scores are looked at.
    seed : int
    n_jobs, out
        As in `studies.kit.results.run_blocks`.

    Returns
    -------
    DataFrame
        One row a data set, ``penalty``, repetition, epsilon and ``way``: "seeds" (stochastic
        gradient descent from 100 seeds), "resamples" (fits to bootstrap samples), "AWP" (gradient
        steps on one model's weights) and "exact"; stronger penalties than the weakest at the first
        epsilon only, by "resamples" and "exact". Other columns as in `run_networks`; of "exact"
        also the largest ``gap`` of its certificates and ``n_open``, how many of the extreme scores
        are not certified to 1e-9.

    Raises
    ------
    DataUnavailableError
        If the data are not to be had.
    """
    _ensure_data(datasets)
    settings = {
        "epsilons": list(epsilons),
        "penalties": list(penalties),
        "n_models": n_models,
        "n_perturbed": n_perturbed,
        "seed": seed,
    }
    return run_blocks(
        _logistic_block,
        [(dataset, repetition) for dataset in datasets for repetition in range(n_repetitions)],
        study="capacity-logistic",
        settings=settings,
        n_jobs=n_jobs,
        out=out,
    )


def _logistic_block(
    block: tuple[str, int],
    *,
    epsilons: Sequence[float],
    penalties: Sequence[float],
    n_models: int,
    n_perturbed: int,
    seed: int,
) -> pd.DataFrame:
    dataset, repetition = block
    parts = _parts_of(dataset, seed, repetition)
    seeds = _seeds(seed, repetition, n_models)
    frames = [
        logistic_ways(
            parts,
            epsilons if penalty == max(penalties) else epsilons[:1],
            C=penalty * len(parts.y_train) / 1000,
            seeds=seeds,
            n_perturbed=n_perturbed,
            ways=WAYS if penalty == max(penalties) else ("resamples", "exact"),
        ).assign(penalty=penalty)
        for penalty in penalties
    ]
    return pd.concat(frames, ignore_index=True).assign(dataset=dataset, repetition=repetition)


#: How models near the best logistic regression are found.
WAYS = ("seeds", "resamples", "AWP", "exact")


def logistic_ways(
    parts: Parts,
    epsilons: Sequence[float],
    *,
    C: float,
    seeds: Sequence[int],
    n_perturbed: int | None = None,
    ways: Sequence[str] = WAYS,
) -> pd.DataFrame:
    """Look for the capacity around one logistic regression in several ways.

    Parameters
    ----------
    parts : Parts
    epsilons : sequence of float
    C : float
        Inverse strength of the L2 penalty, as scikit-learn takes it.
    seeds : sequence of int
        One a sampled model.
    n_perturbed : int, optional
        Persons of the test part, at most, whose scores are looked at.
    ways : sequence of str
        Of `WAYS`.

    Returns
    -------
    DataFrame
        As in `run_logistic`, without the key's columns.
    """
    X, y = parts.X_test[:n_perturbed], parts.y_test[:n_perturbed]
    start = time.perf_counter()
    best = LogisticRegression(C=C, tol=1e-8, max_iter=1000).fit(parts.X_train, parts.y_train)
    spent = time.perf_counter() - start
    frames = []
    for way in ways:
        if way in ("seeds", "resamples"):
            frames.append(_sampled(way, parts, best, epsilons, C, seeds, X, y))
        else:
            frames.append(_perturbed(way, parts, best, epsilons, spent, X, y))
    return pd.concat(frames, ignore_index=True)


def _sampled(
    way: str,
    parts: Parts,
    best: LogisticRegression,
    epsilons: Sequence[float],
    C: float,
    seeds: Sequence[int],
    X: Array,
    y: NDArray[np.int64],
) -> pd.DataFrame:
    """Train models and keep those within each epsilon; the best model is always one of them."""
    start = time.perf_counter()
    train = _from_seed if way == "seeds" else _from_resample
    models = [best, *(train(parts, C, seed) for seed in seeds)]
    spent = time.perf_counter() - start
    losses = [penalised_loss(model, parts.X_train, parts.y_train, C) for model in models]
    scores = np.array([model.predict_proba(X)[:, 1] for model in models])
    key = {"way": way, "n_trained": len(seeds), "seconds": spent, "gap": np.nan, "n_open": 0}
    found = {
        epsilon: {"loss": losses[0], **summary(scores[rashomon_set(losses, epsilon)], y)}
        for epsilon in epsilons
    }
    return _rows(key, found)


def _from_seed(parts: Parts, C: float, seed: int) -> SGDClassifier:
    """Train by stochastic gradient descent; the order of the persons is what the seed decides."""
    alpha = 1 / (C * len(parts.y_train))
    # No tol: every seed gets the same ten passes, and the paper's learning rate.
    model = SGDClassifier(
        loss="log_loss",
        alpha=alpha,
        learning_rate="constant",
        eta0=1e-3,
        max_iter=10,
        tol=None,
        random_state=seed,
    )
    return model.fit(parts.X_train, parts.y_train)


def _from_resample(parts: Parts, C: float, seed: int) -> LogisticRegression:
    n = len(parts.y_train)
    drawn = np.random.default_rng(seed).integers(n, size=n)
    return LogisticRegression(C=C, max_iter=1000).fit(parts.X_train[drawn], parts.y_train[drawn])


def penalised_loss(model: Any, X: Array, y: ArrayLike, C: float) -> float:
    """Mean log loss of a linear model with its L2 penalty, what scikit-learn minimises over C·n.

    Parameters
    ----------
    model : fitted linear classifier
    X : ndarray of shape (n, n_features)
    y : array-like of shape (n,)
    C : float

    Returns
    -------
    float
    """
    z = X @ np.ravel(model.coef_) + model.intercept_
    loss = np.logaddexp(0, np.where(np.asarray(y) == 1, -z, z)).mean()
    return float(loss + np.sum(model.coef_**2) / (2 * C * len(z)))


def _perturbed(
    way: str,
    parts: Parts,
    best: LogisticRegression,
    epsilons: Sequence[float],
    spent: float,
    X: Array,
    y: NDArray[np.int64],
) -> pd.DataFrame:
    """Look for each person's extreme scores; the time includes that of the one model."""
    rows = []
    for epsilon in epsilons:
        start = time.perf_counter()
        if way == "exact":
            with warnings.catch_warnings():
                # said in the columns gap and n_open
                warnings.simplefilter("ignore", ConvergenceWarning)
                scores, gap = perturb_scores(
                    best, parts.X_train, parts.y_train, X, epsilon, return_gap=True
                )
        else:
            gap = np.full(1, np.nan)
            scores = perturb_scores(
                best, parts.X_train, parts.y_train, X, epsilon, method="gradient"
            )
        key = {
            "way": way,
            "n_trained": 1,
            "seconds": spent + time.perf_counter() - start,
            "gap": float(gap.max()),
            "n_open": int((gap > 1e-9).sum()),
        }
        loss = penalised_loss(best, parts.X_train, parts.y_train, best.C)
        rows.append(_rows(key, {epsilon: {"loss": loss, **extremes(scores, best, X, y)}}))
    return pd.concat(rows, ignore_index=True)


def extremes(scores: Array, base: Any, X: Array, y: NDArray[np.int64]) -> dict[str, float]:
    """Summary of extreme scores; accuracy and the decisions' base are those of the base model.

    Parameters
    ----------
    scores : ndarray of shape (2, n_samples)
        Smallest and largest probability of class 1 that `perturb_scores` found.
    base : fitted classifier
        The model that was perturbed.
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)

    Returns
    -------
    dict of str to float
        As `summary`. There is no discrepancy: each person has extremes of their own.
    """
    own = base.predict_proba(X)[:, 1]
    alone = summary(own[None], y)
    kept = {name: alone[name] for name in ("accuracy", "calibration_error")}
    return {**summary(scores, y), **kept, "n_models": 2, "discrepancy": float("nan")}


# --- AWP on networks ------------------------------------------------------------------------------


def run_awp(
    *,
    datasets: Sequence[str] = tuple(DATASETS),
    networks: Sequence[str] = ("standardised", "paper"),
    epsilons: Sequence[float] = EPSILONS,
    n_repetitions: int = 5,
    n_perturbed: int = 150,
    n_repetitions_paper: int = 1,
    n_perturbed_paper: int = 30,
    seed: int = 0,
    n_jobs: int | None = None,
    out: Path | None = None,
) -> pd.DataFrame:
    """Perturb the weights of networks (AWP); needs PyTorch, ``pip install pvf[torch]``.

    As in the authors' code the loss is that in the test part, and the level is the perturbed
    model's own loss plus epsilon.

    Parameters
    ----------
    datasets : sequence of str
        Keys of `DATASETS`.
    networks : sequence of str
        "standardised": the first of the networks that `run_networks` samples with that training.
        "paper": five hidden layers, trained by full-batch steps on unscaled features
        (`PAPER_NETWORKS`).
    epsilons : sequence of float
    n_repetitions, n_perturbed : int
        Splits, and persons of the test part for whom models are sought; the paper: 5, and all.
    n_repetitions_paper, n_perturbed_paper : int
        The same for the paper's networks, which take longer.
    seed : int
    n_jobs, out
        As in `studies.kit.results.run_blocks`.

    Returns
    -------
    DataFrame
        One row a data set, network, repetition and epsilon, with ``way`` "AWP" and the columns of
        `run_networks`; ``seconds`` are those of one training and of all searches.

    Raises
    ------
    ModuleNotFoundError
        If PyTorch is not installed.
    DataUnavailableError
        If the data are not to be had.
    """
    import torch  # noqa: F401, PLC0415  absent: say so here, not in a worker

    _ensure_data(datasets)
    settings = {
        "epsilons": list(epsilons),
        "n_perturbed": {"standardised": n_perturbed, "paper": n_perturbed_paper},
        "seed": seed,
    }
    blocks = [
        (dataset, network, repetition)
        for dataset in datasets
        for network in networks
        for repetition in range(n_repetitions_paper if network == "paper" else n_repetitions)
    ]
    return run_blocks(
        _awp_block, blocks, study="capacity-awp", settings=settings, n_jobs=n_jobs, out=out
    )


def _awp_block(
    block: tuple[str, str, int],
    *,
    epsilons: Sequence[float],
    n_perturbed: Mapping[str, int],
    seed: int,
) -> pd.DataFrame:
    from studies.capacity2022 import networks as _torch_networks  # noqa: PLC0415  PyTorch is optional

    dataset, network, repetition = block
    parts = _parts_of(
        dataset, seed, repetition, scaling="none" if network == "paper" else "standard"
    )
    one = _seeds(seed, repetition, 1)
    start = time.perf_counter()
    if network == "paper":
        module = _torch_networks.paper_network(parts, seed=one[0], **PAPER_NETWORKS[dataset])
    else:
        last = TRAININGS[network].epochs[dataset][-1]
        (trained,) = train_networks(parts, one, [last])[1]
        module = _torch_networks.as_module(trained)
    spent = time.perf_counter() - start
    base = _torch_networks.Scorer(module)
    n = n_perturbed[network]
    X, y = parts.X_test[:n], parts.y_test[:n]
    loss = log_losses(base.predict_proba(parts.X_test)[:, 1][None], parts.y_test)[0]
    rows = []
    for epsilon in epsilons:
        before = time.perf_counter()
        scores = perturb_scores(module, parts.X_test, parts.y_test, X, epsilon)
        key = {
            "dataset": dataset,
            "training": network,
            "repetition": repetition,
            "way": "AWP",
            "n_trained": 1,
            "seconds": spent + time.perf_counter() - before,
        }
        rows.append(_rows(key, {epsilon: {"loss": float(loss), **extremes(scores, base, X, y)}}))
    return pd.concat(rows, ignore_index=True)
