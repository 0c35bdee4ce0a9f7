"""The model-selection experiment of the PMV paper: its Table 1, and who is picked.

Seven classifiers meet three kinds of two-dimensional data at three noise levels. The paper says
that the data and classifiers are those of scikit-learn's classifier comparison, but not how many
samples there were, what "noise" was, or which settings were changed. `tables` computes Table 1
under any of the likely settings and `distances` says how far each lies from the printed cells.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_circles, make_classification, make_moons
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import KFold, StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from pvf.pmv import (
    PAPER_NOISE_LEVELS,
    flip_labels,
    perturbed_model_validation,
    with_random_states,
)
from studies.kit.results import run_blocks
from studies.pmv2019.boosting import RealAdaBoostClassifier

__all__ = [
    "CLOSEST",
    "DISTRIBUTIONS",
    "FITTING",
    "MEASURES",
    "MODELS",
    "NOISES",
    "TableSetting",
    "comparison_classifier",
    "comparison_data",
    "distances",
    "fresh_data",
    "pick_rates",
    "read_paper_table",
    "run_picks",
    "settings_to_search",
    "steady_fits",
    "table",
    "tables",
]

#: The three kinds of data.
DISTRIBUTIONS = ("moon", "circle", "linear")

#: The seven classifiers, in the order of Table 1.
MODELS = (
    "Gaussian Process",
    "Decision Tree",
    "Naive Bayes",
    "Linear SVM",
    "RBF SVM",
    "AdaBoost",
    "Random Forest",
)

#: The three noise levels of the data.
NOISES = (0.0, 0.1, 0.2)

#: The model that the paper holds to fit each kind of data.
FITTING = {"moon": "RBF SVM", "circle": "Naive Bayes", "linear": "Linear SVM"}

#: What Table 1 prints for each model, kind of data and noise level.
MEASURES = ("slope", "test_accuracy", "gap")

#: Models whose fit depends on a seed.
_RANDOM = frozenset({"Decision Tree", "AdaBoost", "Random Forest"})

#: Seeds of scikit-learn's comparison script.
_SCRIPT_SEEDS = {"moon": 0, "circle": 1, "linear": 1}

#: Raised whenever the code below computes something else, so that no old shard is read.
_VERSION = 1


@dataclass(frozen=True)
class TableSetting:
    """What the paper leaves open about Table 1.

    Parameters
    ----------
    n_samples : int
        Size of each data set; the script's is 100.
    noise_kind : {"features", "labels", "both"}
        What the data's noise level means: the standard deviation of the generator's noise on the
        features (the linear data have no such parameter), a share of labels flipped beforehand,
        or both.
    scaled : bool
        Whether features are standardised first, as the script does.
    folds : {"in order", "stratified"}
        How the ten folds are cut: ten runs of consecutive rows, or balanced by class.
    flips : {"by class", "any", "in sequence"}
        How PMV flips: exact shares of each class (the paper's words); a share of all labels; or
        first of one class and then of what carries the other label by then.
    tree_depth, forest_depth : int or None
        Largest depth of the tree and of the forest's trees; the script's is 5.
    boosting : {"SAMME.R", "SAMME"}
        AdaBoost's algorithm: scikit-learn's default in 2019, or today's only one.
    """

    n_samples: int = 100
    noise_kind: str = "features"
    scaled: bool = True
    folds: str = "stratified"
    flips: str = "by class"
    tree_depth: int | None = 5
    forest_depth: int | None = 5
    boosting: str = "SAMME.R"

    def __post_init__(self) -> None:
        """Refuse words that mean nothing."""
        for name, words in _WORDS.items():
            if getattr(self, name) not in words:
                raise ValueError(f"{name} must be one of {words}, got {getattr(self, name)!r}.")

    def option(self, model: str) -> int | str | None:
        """Return the one part of the setting that changes `model`, or None."""
        parts: dict[str, int | str | None] = {
            "Decision Tree": self.tree_depth,
            "Random Forest": self.forest_depth,
            "AdaBoost": self.boosting,
        }
        return parts.get(model)


_WORDS = {
    "noise_kind": ("features", "labels", "both"),
    "folds": ("in order", "stratified"),
    "flips": ("by class", "any", "in sequence"),
    "boosting": ("SAMME.R", "SAMME"),
}

#: The setting closest to the paper's cells among those of `settings_to_search`.
CLOSEST = TableSetting(scaled=False, folds="in order", tree_depth=10, forest_depth=10)


def comparison_data(
    distribution: str,
    *,
    noise: float = 0.0,
    n_samples: int = 100,
    seed: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Make one data set of scikit-learn's classifier comparison.

    Parameters
    ----------
    distribution : {"moon", "circle", "linear"}
        Two half circles; a circle in a circle of twice its size; or two Gaussian clusters.
    noise : float, default=0
        Standard deviation of the noise on the features of moons and circles. The linear data
        have none.
    n_samples : int, default=100
        Number of samples.
    seed : int, optional
        The script's own seed by default.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        If there is no such distribution.

    Examples
    --------
    >>> X, y = comparison_data("circle", noise=0.1)
    >>> X.shape, y.mean()
    ((100, 2), np.float64(0.5))
    """
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"distribution must be one of {DISTRIBUTIONS}, got {distribution!r}.")
    seed = _SCRIPT_SEEDS[distribution] if seed is None else seed
    if distribution == "moon":
        return make_moons(n_samples, noise=noise, random_state=seed)
    if distribution == "circle":
        return make_circles(n_samples, noise=noise, factor=0.5, random_state=seed)
    X, y = make_classification(
        n_samples,
        n_features=2,
        n_redundant=0,
        n_informative=2,
        n_clusters_per_class=1,
        random_state=seed,
    )
    # the script moves the clusters with the seed that follows
    return X + 2 * np.random.RandomState(seed + 1).uniform(size=X.shape), y


def comparison_classifier(model: str, option: int | str | None = None) -> Any:
    """Make one classifier of scikit-learn's comparison script as of May 2019.

    Parameters
    ----------
    model : str
        One of `MODELS`.
    option : int, str or None
        Depth of "Decision Tree" and "Random Forest" (None: unlimited); algorithm of "AdaBoost".

    Returns
    -------
    estimator

    Raises
    ------
    ValueError
        If there is no such model.
    """
    makers = {
        "Gaussian Process": lambda: GaussianProcessClassifier(1.0 * RBF(1.0)),
        "Decision Tree": lambda: DecisionTreeClassifier(max_depth=option),
        "Naive Bayes": GaussianNB,
        "Linear SVM": lambda: SVC(kernel="linear", C=0.025),
        "RBF SVM": lambda: SVC(gamma=2, C=1),
        "AdaBoost": AdaBoostClassifier if option == "SAMME" else RealAdaBoostClassifier,
        "Random Forest": lambda: RandomForestClassifier(10, max_depth=option, max_features=1),
    }
    if model not in makers:
        raise ValueError(f"model must be one of {MODELS}, got {model!r}.")
    return makers[model]()


def read_paper_table(path: str | Path) -> pd.DataFrame:
    """Read the paper's Table 1: one row per distribution, model and noise level.

    Parameters
    ----------
    path : path
        Of ``pmv_table1.csv``, whose first lines say where it comes from.

    Returns
    -------
    DataFrame
        Columns ``distribution, model, noise, slope, test_accuracy, gap``, 63 rows.
    """
    return pd.read_csv(path, comment="#")


def table(setting: TableSetting = CLOSEST, **kwargs: Any) -> pd.DataFrame:
    """Compute Table 1 under one setting; see `tables` for the arguments and the columns."""
    return tables([setting], **kwargs).drop(columns=[field.name for field in fields(setting)])


def tables(
    settings: Iterable[TableSetting],
    *,
    models: Sequence[str] = MODELS,
    noises: Sequence[float] = NOISES,
    n_repeats: int = 20,
    largest_gaussian_process: int = 200,
    seed: int = 20190524,
    n_jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Compute Table 1 under several settings, each part that they share once.

    Parameters
    ----------
    settings : iterable of TableSetting
    models, noises : sequences
        Rows and columns of the table.
    n_repeats : int, default=20
        Runs of PMV, and of cross-validation for models with a seed, on the same data. The
        paper's table is one run.
    largest_gaussian_process : int, default=200
        Larger data get no Gaussian process, whose cost grows with the cube of their size.
    seed : int
        Key of flips and estimators; the data have the script's seeds.
    n_jobs, out, progress
        As in `studies.kit.results.run_blocks`.

    Returns
    -------
    DataFrame
        The setting's fields, ``distribution, model, noise``, then for each of ``slope`` (absolute),
        ``test_accuracy`` and ``gap`` (training less test accuracy, absolute) the mean over runs
        and, as ``_low`` and ``_high``, the 95% interval in which one more run is expected.
    """
    settings = list(settings)
    rows = [
        (setting, model)
        for setting in settings
        for model in models
        if model != "Gaussian Process" or setting.n_samples <= largest_gaussian_process
    ]
    arguments = {"noises": list(noises), "n_repeats": n_repeats, "seed": seed}
    parts = {
        what: run_blocks(
            compute,
            dict.fromkeys(_block(what, *row) for row in rows),
            study=f"pmv-{what}",
            settings=arguments,
            version=_VERSION,
            out=out,
            n_jobs=n_jobs,
            progress=progress,
        )
        for what, compute in (("flips", _slope_block), ("folds", _fold_block))
    }
    keys = ["distribution", "noise"]
    found = []
    for setting, model in rows:
        slopes, folds = (
            part[part["block"] == str(_block(what, setting, model))].drop(columns="block")
            for what, part in parts.items()
        )
        cells = slopes.merge(folds, on=keys, validate="one_to_one")
        found.append(cells.assign(model=model, **asdict(setting)))
    order = [field.name for field in fields(TableSetting)] + ["distribution", "model", "noise"]
    result = pd.concat(found, ignore_index=True)
    return result[order + [column for column in result.columns if column not in order]]


def _block(what: str, setting: TableSetting, model: str) -> tuple[Any, ...]:
    """Return all that decides one part of the table: the flips' or the folds'."""
    return (
        setting.n_samples,
        setting.noise_kind,
        setting.scaled,
        getattr(setting, what),
        model,
        setting.option(model),
    )


def _cells(
    data: Sequence[Any], noises: Sequence[float], seed: int
) -> Iterator[tuple[str, float, NDArray[np.float64], NDArray[np.int64], np.random.SeedSequence]]:
    """Yield each data set of the table, with a key that all models share."""
    n_samples, noise_kind, scaled = data
    for (i, distribution), (j, noise) in product(enumerate(DISTRIBUTIONS), enumerate(noises)):
        key = np.random.SeedSequence(seed, spawn_key=(i, j))
        X, y = comparison_data(
            distribution, noise=noise if noise_kind != "labels" else 0.0, n_samples=n_samples
        )
        if noise_kind != "features" and noise > 0:
            y = flip_labels(y, noise, np.random.default_rng(key.spawn(1)[0]))
        yield distribution, noise, StandardScaler().fit_transform(X) if scaled else X, y, key


@contextmanager
def steady_fits() -> Iterator[None]:
    """Fit on one thread, for the same bits anywhere, and pass over what noise makes models say.

    A Gaussian process ends at a bound of its kernel's width, and a step of its search overflows.
    Small fits spend a good part of their time on checks of what is known to be right here.
    """
    with (
        threadpool_limits(limits=1),
        config_context(assume_finite=True, skip_parameter_validation=True),
        warnings.catch_warnings(action="ignore", category=ConvergenceWarning),
        np.errstate(over="ignore"),
    ):
        yield


@steady_fits()
def _slope_block(
    block: tuple[Any, ...], noises: Sequence[float], n_repeats: int, seed: int
) -> pd.DataFrame:
    *data, flips, model, option = block
    estimator = comparison_classifier(model, option)
    rows = []
    for distribution, noise, X, y, key in _cells(data, noises, seed):
        if flips == "by class":
            slopes = perturbed_model_validation(
                estimator,
                X,
                y,
                noise_levels=PAPER_NOISE_LEVELS,
                n_repeats=n_repeats,
                random_state=key,
            ).slopes
        else:
            rng = np.random.default_rng(key)
            slopes = _slopes_under(flips, estimator, (X, y), n_repeats=n_repeats, rng=rng)
        rows.append(_cell(block, distribution, noise, slope=np.abs(slopes)))
    return pd.DataFrame(rows)


def _slopes_under(
    flips: str, estimator: Any, data: tuple[Any, Any], *, n_repeats: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return slopes under flips that the library does not offer."""
    X, y = data
    accuracies = np.empty((len(PAPER_NOISE_LEVELS), n_repeats))
    for repeat, (i, level) in product(range(n_repeats), enumerate(PAPER_NOISE_LEVELS)):
        labels = _other_flips(y, level, flips, rng)
        model = with_random_states(clone(estimator), rng)
        accuracies[i, repeat] = model.fit(X, labels).score(X, labels)
    return np.polyfit(PAPER_NOISE_LEVELS, accuracies, 1)[0]


def _other_flips(
    y: NDArray[np.int64], level: float, flips: str, rng: np.random.Generator
) -> NDArray[np.int64]:
    labels = y.copy()
    if flips == "any":
        chosen = rng.choice(labels.size, round(level * labels.size), replace=False)
        labels[chosen] = 1 - labels[chosen]
        return labels
    for k in (1, 0):
        carriers = np.flatnonzero(labels == k)
        labels[rng.choice(carriers, round(level * carriers.size), replace=False)] = 1 - k
    return labels


@steady_fits()
def _fold_block(
    block: tuple[Any, ...], noises: Sequence[float], n_repeats: int, seed: int
) -> pd.DataFrame:
    *data, folds, model, option = block
    rows = []
    for distribution, noise, X, y, key in _cells(data, noises, seed):
        rng = np.random.default_rng(key.spawn(2)[1])
        scores = np.array(
            [
                _fold_scores(comparison_classifier(model, option), X, y, folds, rng)
                for _ in range(n_repeats if model in _RANDOM else 1)
            ]
        )
        train, test = scores.T
        gap = np.abs(train - test)
        rows.append(_cell(block, distribution, noise, test_accuracy=test, gap=gap))
    return pd.DataFrame(rows)


def _fold_scores(
    estimator: Any,
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    folds: str,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Return mean training and mean test accuracy over ten folds."""
    scores = cross_validate(
        with_random_states(estimator, rng),
        X,
        y,
        cv=KFold(10) if folds == "in order" else StratifiedKFold(10),
        return_train_score=True,
    )
    return scores["train_score"].mean(), scores["test_score"].mean()


def _cell(
    block: tuple[Any, ...], distribution: str, noise: float, **measures: NDArray[np.float64]
) -> dict[str, Any]:
    """Return one row of a block: where it stands, and a summary of each measure's runs."""
    row: dict[str, Any] = {
        "block": str(tuple(block)),
        "distribution": distribution,
        "noise": noise,
    }
    for name, values in measures.items():
        row |= _summary(name, values)
    return row


def _summary(name: str, values: NDArray[np.float64]) -> dict[str, float]:
    """Return the mean, and the interval in which one more value is expected (95%)."""
    mean, half_width = float(values.mean()), 0.0
    if values.size > 1:
        spread = values.std(ddof=1) * np.sqrt(1 + 1 / values.size)
        half_width = float(stats.t.ppf(0.975, values.size - 1) * spread)
    return {name: mean, f"{name}_low": mean - half_width, f"{name}_high": mean + half_width}


def settings_to_search(
    sizes: Sequence[int] = (100, 200, 500, 1000, 2000),
) -> list[TableSetting]:
    """List the likely settings: `CLOSEST` with one or two things changed at a time.

    Sizes are crossed with kinds of noise, and scaling with folds. Then the depth of the tree, the
    depth of the forest, the boosting algorithm and PMV's flips are changed one at a time. The
    script's own setting, with nothing fitted to the paper's numbers, comes first.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of samples.

    Returns
    -------
    list of TableSetting
    """
    depths = (5, 6, 8, 10, 12, None)
    changes: list[dict[str, Any]] = [
        *({"n_samples": n, "noise_kind": k} for n, k in product(sizes, _WORDS["noise_kind"])),
        *({"scaled": s, "folds": f} for s, f in product((True, False), _WORDS["folds"])),
        *({"tree_depth": depth} for depth in depths),
        *({"forest_depth": depth} for depth in depths),
        *({"boosting": boosting} for boosting in _WORDS["boosting"]),
        *({"flips": flips} for flips in _WORDS["flips"]),
    ]
    return list(
        dict.fromkeys([TableSetting(), *(replace(CLOSEST, **change) for change in changes)])
    )


def distances(
    ours: pd.DataFrame, paper: pd.DataFrame, *, models: Sequence[str] = MODELS
) -> pd.DataFrame:
    """Say how far tables lie from the paper's.

    Parameters
    ----------
    ours : DataFrame
        From `tables`.
    paper : DataFrame
        From `read_paper_table`.
    models : sequence of str
        Rows that count. A setting that lacks one of them is left out.

    Returns
    -------
    DataFrame
        One row per setting, closest first: its fields; ``distance``, the mean absolute difference
        over all cells; the same for ``slope``, ``test_accuracy`` and ``gap`` alone; ``cells``,
        their number; ``same_digits``, how many equal the paper's when rounded as it rounds; and
        ``inside``, how many of the paper's are where one more run is expected to fall.

    Raises
    ------
    ValueError
        If no setting holds all the models.
    """
    names = [field.name for field in fields(TableSetting)]
    keys = ["distribution", "model", "noise"]
    both = ours[ours["model"].isin(models)].merge(
        paper, on=keys, suffixes=("", "_paper"), validate="many_to_one"
    )
    rows = []
    for values, cells in both.groupby(names, dropna=False, sort=False):
        if set(cells["model"]) != set(models):
            continue
        rows.append({**dict(zip(names, values, strict=True)), **_distance(cells)})
    if not rows:
        raise ValueError(f"no setting in ours holds all of {tuple(models)}.")
    found = pd.DataFrame(rows).sort_values("distance", kind="stable", ignore_index=True)
    return found.astype({"tree_depth": "Int64", "forest_depth": "Int64"})


def _distance(cells: pd.DataFrame) -> dict[str, float]:
    half_digit = 0.005 + 1e-9
    apart, inside = {}, 0
    for measure in MEASURES:
        printed = cells[f"{measure}_paper"]
        apart[measure] = (cells[measure] - printed).abs()
        low, high = cells[f"{measure}_low"] - half_digit, cells[f"{measure}_high"] + half_digit
        inside += int(printed.between(low, high).sum())
    every = pd.concat(apart.values())
    return {
        "distance": every.mean(),
        **{measure: differences.mean() for measure, differences in apart.items()},
        "cells": len(every),
        "same_digits": int((every <= half_digit).sum()),
        "inside": inside,
    }


def run_picks(
    *,
    n_seeds: int = 200,
    n_orders: int | None = None,
    setting: TableSetting = CLOSEST,
    models: Sequence[str] = MODELS,
    noises: Sequence[float] = NOISES,
    n_fresh: int = 5000,
    seed: int = 20190524,
    n_jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Draw new data many times and measure each classifier in all ways, the truth among them.

    Parameters
    ----------
    n_seeds : int, default=200
        Data sets of each kind and noise level.
    n_orders : int, optional
        Data sets of moons and of circles without noise: they hold the same points every time, in
        another order, so fewer will do. `n_seeds` by default.
    setting : TableSetting
        Size, scaling, folds and classifiers. Noise is the generator's, flips are by class.
    models, noises : sequences
    n_fresh : int, default=5000
        Fresh samples of the same distribution on which true accuracy is taken.
    seed : int
        Key of everything that is drawn.
    n_jobs, out, progress
        As in `studies.kit.results.run_blocks`.

    Returns
    -------
    DataFrame
        One row for each ``seed, distribution, noise, model``: ``slope`` (absolute),
        ``test_accuracy`` and ``gap`` (absolute) of ten-fold cross-validation, ``true_accuracy``.
        The linear data have no noise, so they stand at 0 only.
    """
    return run_blocks(
        _pick_block,
        range(n_seeds),
        study="pmv-picks",
        settings={
            "setting": asdict(setting),
            "models": list(models),
            "noises": list(noises),
            "n_orders": n_seeds if n_orders is None else n_orders,
            "n_fresh": n_fresh,
            "seed": seed,
        },
        version=_VERSION,
        out=out,
        n_jobs=n_jobs,
        progress=progress,
    )


@steady_fits()
def _pick_block(
    block: int,
    *,
    setting: dict[str, Any],
    models: Sequence[str],
    noises: Sequence[float],
    n_orders: int,
    n_fresh: int,
    seed: int,
) -> pd.DataFrame:
    chosen = TableSetting(**setting)
    rows = []
    for i, distribution in enumerate(DISTRIBUTIONS):
        for j, noise in enumerate(noises if distribution != "linear" else (0.0,)):
            if noise == 0 and distribution != "linear" and block >= n_orders:
                continue
            key = np.random.SeedSequence(seed, spawn_key=(block, i, j))
            data_key, fold_key, flip_key = key.spawn(3)
            X, y, X_fresh, y_fresh = fresh_data(
                distribution,
                noise=noise,
                n_samples=chosen.n_samples,
                n_fresh=n_fresh,
                key=data_key,
            )
            for model in models:
                estimator = comparison_classifier(model, chosen.option(model))
                if chosen.scaled:
                    estimator = make_pipeline(StandardScaler(), estimator)
                rng = np.random.default_rng(fold_key)
                train, test = _fold_scores(estimator, X, y, chosen.folds, rng)
                slope = perturbed_model_validation(
                    estimator, X, y, noise_levels=PAPER_NOISE_LEVELS, random_state=flip_key
                ).decrease_rate
                true = estimator.fit(X, y).score(X_fresh, y_fresh)
                rows.append(
                    (block, distribution, noise, model, slope, test, abs(train - test), true)
                )
    columns = ["seed", "distribution", "noise", "model", *MEASURES, "true_accuracy"]
    return pd.DataFrame(rows, columns=columns)


def fresh_data(
    distribution: str, *, noise: float, n_samples: int, n_fresh: int, key: np.random.SeedSequence
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Draw a data set of the comparison, and fresh data of the same distribution.

    Parameters
    ----------
    distribution, noise, n_samples
        As in `comparison_data`.
    n_fresh : int
        Number of fresh samples.
    key : SeedSequence
        Of both draws.

    Returns
    -------
    X, y, X_fresh, y_fresh : ndarrays
    """
    first, second = (int(state) for state in key.generate_state(2) % 2**31)
    if distribution == "linear":  # every seed has clusters of its own
        X, y = comparison_data(distribution, n_samples=n_samples + n_fresh, seed=first)
        return X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:]
    X, y = comparison_data(distribution, noise=noise, n_samples=n_samples, seed=first)
    fresh = comparison_data(distribution, noise=noise, n_samples=n_fresh, seed=second)
    return X, y, *fresh


#: Rules for choosing a model from the columns of `run_picks`: column, and whether large is good.
_RULES = {
    "PMV": ("slope", True),
    "CV accuracy": ("test_accuracy", True),
    "CV gap": ("gap", False),
    "truth": ("true_accuracy", True),
}


def pick_rates(picks: pd.DataFrame, *, near: float = 0.005) -> pd.DataFrame:
    """Say how often each rule picks each model, and how good the picks are.

    Parameters
    ----------
    picks : DataFrame
        From `run_picks`.
    near : float, default=0.005
        A model counts as right if its true accuracy is at most this much below the best one's.

    Returns
    -------
    DataFrame
        One row for each ``distribution, noise, rule``: the share of data sets on which the rule
        picks each model (rules that leave several split the data set evenly); ``tied``, the mean
        number that it leaves; ``fitting``, the share that goes to the model that the paper holds
        to fit; ``right``, the share that goes to a model near the best; and ``regret``, how much
        true accuracy is lost on average, with ``regret_low`` and ``regret_high`` (95%, normal).
    """
    data_set = ["seed", "distribution", "noise"]
    best = picks.groupby(data_set)["true_accuracy"].transform("max")
    lost = best - picks["true_accuracy"]
    rows = []
    for rule, (column, large) in _RULES.items():
        score = picks[column] if large else -picks[column]
        top = score.groupby([picks[name] for name in data_set]).transform("max")
        share = (score >= top - 1e-12).astype(float)
        share /= share.groupby([picks[name] for name in data_set]).transform("sum")
        weighted = picks.assign(
            share=share, right=share * (lost <= near + 1e-12), regret=share * lost
        )
        for (distribution, noise), cell in weighted.groupby(["distribution", "noise"], sort=False):
            n = cell["seed"].nunique()
            by_model = cell.groupby("model")["share"].sum() / n
            regrets = cell.groupby("seed")["regret"].sum()
            half_width = 1.96 * regrets.std(ddof=1) / np.sqrt(n)
            rows.append(
                {
                    "distribution": distribution,
                    "noise": noise,
                    "rule": rule,
                    **{model: by_model[model] for model in MODELS if model in by_model},
                    "tied": (cell["share"] > 0).sum() / n,
                    "fitting": by_model.get(FITTING[str(distribution)], 0.0),
                    "right": cell["right"].sum() / n,
                    "regret": regrets.mean(),
                    "regret_low": regrets.mean() - half_width,
                    "regret_high": regrets.mean() + half_width,
                }
            )
    return pd.DataFrame(rows)
