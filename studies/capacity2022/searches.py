"""Searches for extreme scores: around a logistic regression, where they can be exact, and AWP."""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier

from pvf.multiplicity import perturb_scores, rashomon_set
from studies.capacity2022 import run
from studies.capacity2022.run import DATASETS, EPSILONS, Array, Labels, Parts, rows_by_epsilon
from studies.kit.estimates import mean_estimates
from studies.kit.study import Settings, setting

#: How models near the best logistic regression are sought: stochastic gradient descent from many
#: seeds, fits to bootstrap samples, gradient steps on one model's weights, the exact optimum.
WAYS = ("seeds", "resamples", "AWP", "exact")
#: Inverse strengths C of the L2 penalty, in scikit-learn's sense for 1,000 training persons.
PENALTIES = (1e-5, 1e-4, 1e-3, 1.0)


@dataclass(frozen=True)
class Logistic(Settings):
    """Four ways to look for models near one logistic regression."""

    n_models: int = setting(10, "Sampled models of a split.", full=100, paper="100", low=1)
    n_repetitions: int = setting(1, "Splits.", full=5, paper="5", low=1)
    n_perturbed: int = setting(
        20, "Persons of the test part, at most.", full=150, paper="all", low=1
    )
    seed: int = setting(20261128, "Of splits and samples.", low=0)


@dataclass(frozen=True)
class Awp(Settings):
    """Adversarial weight perturbation of networks."""

    n_repetitions: int = setting(1, "Splits.", full=5, paper="5", low=1)
    n_perturbed: int = setting(
        20, "Persons of the test part, at most.", full=150, paper="all", low=1
    )
    seed: int = setting(20261128, "Of splits and networks.", low=0)


# --- logistic regression --------------------------------------------------------------------------


def logistic_blocks(settings: Logistic) -> list[tuple[str, int]]:
    """Return data set and split of every block."""
    run.ensure_data()
    return [(dataset, r) for dataset in DATASETS for r in range(settings.n_repetitions)]


def logistic_block(key: tuple[str, int], settings: Logistic) -> pd.DataFrame:
    """Hold sampling, resampling and AWP against the exact optimum of logistic regressions.

    The loss is what the model minimised, in the training part: mean log loss and penalty. All ways
    and epsilons are tried with the weakest penalty; stronger ones at the first epsilon only.
    """
    dataset, repetition = key
    parts = run.split_parts(dataset, settings.seed, repetition)
    weakest = max(PENALTIES)
    frames = [
        logistic_ways(
            parts,
            EPSILONS if penalty == weakest else EPSILONS[:1],
            C=penalty * len(parts.y_train) / 1000,
            seeds=run.network_seeds(settings.seed, repetition, settings.n_models),
            n_perturbed=settings.n_perturbed,
            ways=WAYS if penalty == weakest else ("resamples", "exact"),
        ).assign(penalty=penalty)
        for penalty in PENALTIES
    ]
    return pd.concat(frames, ignore_index=True).assign(dataset=dataset, repetition=repetition)


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

    Of "exact" there is also the largest ``gap`` of its certificates and ``n_open``, how many of the
    extreme scores are not certified to 1e-9.
    """
    X, y = parts.X_test[:n_perturbed], parts.y_test[:n_perturbed]
    start = time.perf_counter()
    best = LogisticRegression(C=C, tol=1e-8, max_iter=1000).fit(parts.X_train, parts.y_train)
    spent = time.perf_counter() - start
    frames = []
    for way in ways:
        if way in ("seeds", "resamples"):
            frames.append(_sampled(way, parts, best, epsilons, seeds, X, y))
        else:
            frames.append(_perturbed(way, parts, best, epsilons, spent, X, y))
    return pd.concat(frames, ignore_index=True)


def _sampled(
    way: str,
    parts: Parts,
    best: LogisticRegression,
    epsilons: Sequence[float],
    seeds: Sequence[int],
    X: Array,
    y: Labels,
) -> pd.DataFrame:
    """Train models and keep those within each epsilon; the best model is always one of them."""
    start = time.perf_counter()
    train = _from_seed if way == "seeds" else _from_resample
    models = [best, *(train(parts, best.C, seed) for seed in seeds)]
    spent = time.perf_counter() - start
    losses = [penalised_loss(model, parts.X_train, parts.y_train, best.C) for model in models]
    scores = np.array([model.predict_proba(X)[:, 1] for model in models])
    key = {"way": way, "n_trained": len(seeds), "seconds": spent, "gap": np.nan, "n_open": 0}
    found = {
        epsilon: {"loss": losses[0], **run.summary(scores[rashomon_set(losses, epsilon)], y)}
        for epsilon in epsilons
    }
    return rows_by_epsilon(key, found)


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
    """Return what scikit-learn minimises, over C·n: a linear model's mean log loss and penalty."""
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
    y: Labels,
) -> pd.DataFrame:
    """Look for each person's extreme scores; the time includes that of the one model."""
    rows = []
    loss = penalised_loss(best, parts.X_train, parts.y_train, best.C)
    data, own = (best, parts.X_train, parts.y_train, X), best.predict_proba(X)[:, 1]
    for epsilon in epsilons:
        start = time.perf_counter()
        gap = np.full(1, np.nan)
        if way == "exact":
            with warnings.catch_warnings():
                # said in the columns gap and n_open
                warnings.simplefilter("ignore", ConvergenceWarning)
                scores, gap = perturb_scores(*data, epsilon, return_gap=True)
        else:
            scores = perturb_scores(*data, epsilon, method="gradient")
        key = {
            "way": way,
            "n_trained": 1,
            "seconds": spent + time.perf_counter() - start,
            "gap": float(gap.max()),
            "n_open": int((gap > 1e-9).sum()),
        }
        rows.append(rows_by_epsilon(key, {epsilon: {"loss": loss, **extremes(scores, own, y)}}))
    return pd.concat(rows, ignore_index=True)


def extremes(scores: Array, own: Array, y: Labels) -> dict[str, float]:
    """Return the summary of extreme scores; accuracy is that of the model that was perturbed.

    There is no discrepancy: each person has extremes of their own.
    """
    alone = run.summary(own[None], y)
    kept = {name: alone[name] for name in ("accuracy", "calibration_error")}
    return {**run.summary(scores, y), **kept, "n_models": 2, "discrepancy": float("nan")}


def known_truth(*, n_models: int = 100, seed: int = 0) -> pd.DataFrame:
    """Run the four ways on a thousand simulated persons, for whom the best possible is known."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((1200, 5))
    logit = X @ [1.0, -0.7, 0.4, 0.0, 0.0] - 0.3
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-logit))).astype(int)
    parts = run.make_parts(X, y, 1 / 6, seed=seed, repetition=0, scaling="standard")
    seeds = [int(value) for value in np.random.SeedSequence(seed).generate_state(n_models)]
    table = logistic_ways(parts, EPSILONS[:1], C=1.0, seeds=seeds)
    return table.assign(dataset="simulated", penalty=1.0, repetition=0)


# --- AWP on networks ------------------------------------------------------------------------------


def need_torch() -> None:
    """Refuse at once, and not in a worker, without PyTorch."""
    if importlib.util.find_spec("torch") is None:
        raise ModuleNotFoundError(
            "PyTorch is not installed here (pip install 'pvf[torch]').", name="torch"
        )


def awp_blocks(settings: Awp) -> list[tuple[str, int]]:
    """Return data set and split of every block."""
    need_torch()
    run.ensure_data()
    return [(dataset, r) for dataset in DATASETS for r in range(settings.n_repetitions)]


def awp_block(key: tuple[str, int], settings: Awp) -> pd.DataFrame:
    """Perturb the weights of one network of a split (AWP), with PyTorch.

    As in the authors' code the loss is that in the test part, and the level is the perturbed
    model's own loss plus epsilon. The network is the first of those that `run.network_block`
    samples with standardised features. Seconds are those of one training and of all searches.
    """
    from studies.capacity2022 import networks  # noqa: PLC0415  PyTorch is optional

    dataset, repetition = key
    parts = run.split_parts(dataset, settings.seed, repetition)
    one = run.network_seeds(settings.seed, repetition, 1)
    start = time.perf_counter()
    last = run.TRAININGS["standardised"].epochs[dataset][-1]
    (trained,) = run.train_networks(parts, one, [last])[1]
    module = networks.as_module(trained)
    spent = time.perf_counter() - start
    X, y = parts.X_test[: settings.n_perturbed], parts.y_test[: settings.n_perturbed]
    loss = float(
        run.log_losses(networks.positive_scores(module, parts.X_test)[None], parts.y_test)[0]
    )
    own = networks.positive_scores(module, X)
    rows = []
    for epsilon in EPSILONS:
        before = time.perf_counter()
        scores = perturb_scores(module, parts.X_test, parts.y_test, X, epsilon)
        names = {
            "dataset": dataset,
            "training": "standardised",
            "repetition": repetition,
            "way": "AWP",
            "n_trained": 1,
            "seconds": spent + time.perf_counter() - before,
        }
        rows.append(rows_by_epsilon(names, {epsilon: {"loss": loss, **extremes(scores, own, y)}}))
    return pd.concat(rows, ignore_index=True)


def against_sampling(awp: pd.DataFrame, networks: pd.DataFrame) -> pd.DataFrame:
    """Return by how much AWP exceeds sampling on the same networks, persons and splits.

    ``lead`` is that of the top 5%, ``slower`` that of the seconds for the whole test part:
    searches are made for each person, training once.
    """
    pair = ["dataset", "training", "repetition", "epsilon"]
    sampled = networks[networks["way"] == "seeds, some samples"]
    whole = networks[networks["way"] == "seeds"].drop_duplicates(pair)
    rows = awp.merge(sampled, on=pair, suffixes=("", "_sampled"))
    rows = rows.merge(whole[[*pair, "n_samples"]], on=pair, suffixes=("", "_whole"))
    rows["lead"] = rows["tail5"] - rows["tail5_sampled"]
    rows["seconds_whole"] = rows["seconds"] * rows["n_samples_whole"] / rows["n_samples"]
    rows["slower"] = rows["seconds_whole"] - rows["seconds_sampled"]
    return lead_estimates(rows)


def lead_estimates(rows: pd.DataFrame) -> pd.DataFrame:
    """Return estimates of AWP's lead, and of its time and what that exceeds."""
    found = mean_estimates(
        rows, ["dataset", "training", "epsilon"], ["lead", "seconds_whole", "slower"]
    )
    found["unit"] = np.where(found["quantity"] == "lead", "effective classes", "s")
    return found
