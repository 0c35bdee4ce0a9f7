"""The classifiers that PMV and cross-validation pick on new data, judged by fresh samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from pvf.pmv import PAPER_NOISE_LEVELS, perturbed_model_validation
from studies.kit.estimates import Interval, share_interval
from studies.kit.study import Settings, Study, setting
from studies.pmv2019 import show
from studies.pmv2019.table1 import (
    CLOSEST,
    DISTRIBUTIONS,
    MEASURES,
    MODELS,
    NOISES,
    comparison_classifier,
    fold_scores,
    fresh_data,
    steady_fits,
)

#: The model that the paper holds to fit each kind of data.
FITTING = {"moon": "RBF SVM", "circle": "Naive Bayes", "linear": "Linear SVM"}

#: Rules for choosing a model: the column that each goes by, and whether large is good.
_RULES = {
    "PMV": ("slope", True),
    "CV accuracy": ("test_accuracy", True),
    "CV gap": ("gap", False),
    "truth": ("true_accuracy", True),
}

#: A model counts as right if its true accuracy is at most this much below the best one's.
_NEAR = 0.005
_N_FRESH = 5000


@dataclass(frozen=True)
class PickSettings(Settings):
    """Settings of the picks on new data."""

    n_seeds: int = setting(2, "New data sets of each kind and noise.", full=200, paper="1", low=1)
    n_orders: int = setting(
        2, "Of moons and circles without noise, the same points in another order.", full=10, low=1
    )
    seed: int = setting(20190524, "Key of all that is drawn.", low=0)


@steady_fits()
def pick_block(key: int, settings: PickSettings) -> pd.DataFrame:
    """Measure each classifier in all ways, the truth among them, on one new data set of a kind.

    The linear data have no noise, so they stand at 0 only.
    """
    rows = []
    for i, distribution in enumerate(DISTRIBUTIONS):
        for j, noise in enumerate(NOISES if distribution != "linear" else (0.0,)):
            if noise == 0 and distribution != "linear" and key >= settings.n_orders:
                continue
            place = np.random.SeedSequence(settings.seed, spawn_key=(key, i, j))
            data_key, fold_key, flip_key = place.spawn(3)
            X, y, X_fresh, y_fresh = fresh_data(
                distribution,
                noise=noise,
                n_samples=CLOSEST.n_samples,
                n_fresh=_N_FRESH,
                key=data_key,
            )
            for model in MODELS:
                estimator = comparison_classifier(model, CLOSEST.option(model))
                rng = np.random.default_rng(fold_key)
                train, test = fold_scores(estimator, X, y, CLOSEST.folds, rng)
                slope = perturbed_model_validation(
                    estimator, X, y, noise_levels=PAPER_NOISE_LEVELS, random_state=flip_key
                ).decrease_rate
                true = estimator.fit(X, y).score(X_fresh, y_fresh)
                rows.append((key, distribution, noise, model, slope, test, abs(train - test), true))
    columns = ["seed", "distribution", "noise", "model", *MEASURES, "true_accuracy"]
    return pd.DataFrame(rows, columns=columns).round(6)


def pick_estimates(picks: pd.DataFrame) -> pd.DataFrame:
    """Return how often each rule picks each model, and how good its picks are.

    A rule that leaves several models splits a data set evenly among them. ``fitting`` is the share
    of picks of the model that the paper means, ``right`` that of models near the best, ``regret``
    the true accuracy lost, ``tied`` how many models are left. Below the kinds of data, "all" is
    their mean.
    """
    kind = ["distribution", "noise"]
    once = [picks[name] for name in ("seed", *kind)]
    lost = picks["true_accuracy"].groupby(once).transform("max") - picks["true_accuracy"]
    fits = picks["model"] == picks["distribution"].map(FITTING)
    frames = []
    for rule, (column, large) in _RULES.items():
        score = picks[column] if large else -picks[column]
        left = score >= score.groupby(once).transform("max") - 1e-12
        share = left / left.groupby(once).transform("sum")
        found = {
            "fitting": share * fits,
            "right": share * (lost <= _NEAR + 1e-12),
            "regret": share * lost,
            "tied": left.astype(float),
            **{model: share * (picks["model"] == model) for model in MODELS},
        }
        per_set = pd.DataFrame(found).groupby(once, sort=False).sum().reset_index()
        frames.append(per_set.melt(["seed", *kind], var_name="quantity").assign(rule=rule))
    long = pd.concat(frames, ignore_index=True)
    keys = [*kind, "rule", "quantity"]
    rows = [
        (*place, *_interval(str(place[-1]), values.to_numpy()))
        for place, values in long.groupby(keys, sort=False)["value"]
    ]
    table = pd.DataFrame(rows, columns=[*keys, "estimate", "low", "high", "n"])
    return pd.concat([table, _over_all(table)], ignore_index=True).assign(unit="")


def _interval(quantity: str, values: np.ndarray) -> Interval:
    """Return a share with Wilson's interval, or a mean with a normal one."""
    mean, n = float(values.mean()), len(values)
    if quantity not in {"regret", "tied"}:
        return share_interval(mean, n)
    half = 1.96 * values.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
    return Interval(mean, mean - half, mean + half, n)


def _over_all(table: pd.DataFrame) -> pd.DataFrame:
    """Average over the kinds of data, alike, with the error of independent kinds."""
    shares = table[table["quantity"].isin(["fitting", "right", "regret"])]
    n, p = shares["n"], shares["estimate"]
    errors = np.where(
        shares["quantity"] == "regret",
        (shares["high"] - shares["estimate"]) / stats.norm.ppf(0.975),
        np.sqrt(p * (1 - p) / n),
    )
    keys = ["rule", "quantity"]
    groups = shares.assign(square=errors**2).groupby(keys, sort=False)
    mean, size = groups["estimate"].mean(), groups.size()
    half = stats.norm.ppf(0.975) * np.sqrt(groups["square"].sum()) / size
    found = pd.DataFrame(
        {"estimate": mean, "low": mean - half, "high": mean + half, "n": groups["n"].sum()}
    )
    return found.reset_index().assign(distribution="all", noise=-1.0)


PICKS = Study(
    name="pmv_picks",
    settings=PickSettings,
    blocks=lambda settings: range(settings.n_seeds),
    block=pick_block,
    estimate=pick_estimates,
    figures={"fig-pmv-picks": show.draw_picks},
    sample={"n_seeds": 2, "n_orders": 1},
)
