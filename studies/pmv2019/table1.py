"""The model-selection experiment of the PMV paper: its Table 1, and who is picked.

Seven classifiers meet three kinds of two-dimensional data at three noise levels. The paper says
that the data and classifiers are those of scikit-learn's classifier comparison, but not how many
samples there were, what "noise" was, or which settings were changed; `DISTANCES` says how far
Table 1 lies from the printed cells under each of the likely settings.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from itertools import product
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
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from pvf._types import Array
from pvf.pmv import (
    PAPER_NOISE_LEVELS,
    flip_labels,
    perturbed_model_validation,
    with_random_states,
)
from studies.kit.estimates import t_interval
from studies.kit.results import results_folder
from studies.kit.study import Settings, Study, setting
from studies.kit.verdicts import Part, Region
from studies.pmv2019 import show
from studies.pmv2019.boosting import RealAdaBoostClassifier

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

#: What Table 1 prints for each model, kind of data and noise level.
MEASURES = ("slope", "test_accuracy", "gap")

#: Larger data get no Gaussian process, whose cost grows with the cube of their size.
_LARGEST_GAUSSIAN_PROCESS = 200

#: Models whose fit depends on a seed.
_RANDOM = frozenset({"Decision Tree", "AdaBoost", "Random Forest"})

#: Seeds of scikit-learn's comparison script.
_SCRIPT_SEEDS = {"moon": 0, "circle": 1, "linear": 1}


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
    distribution: str, *, noise: float = 0.0, n_samples: int = 100, seed: int | None = None
) -> tuple[Array, NDArray[np.int64]]:
    """Make one data set of scikit-learn's classifier comparison, by its seed or another."""
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
    """Make one classifier of the script as of May 2019, with its depth or boosting algorithm."""
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


def fresh_data(
    distribution: str, *, noise: float, n_samples: int, n_fresh: int, key: np.random.SeedSequence
) -> tuple[Array, NDArray[np.int64], Array, NDArray[np.int64]]:
    """Draw a data set of the comparison, and fresh data of the same distribution."""
    first, second = (int(state) for state in key.generate_state(2) % 2**31)
    if distribution == "linear":  # every seed has clusters of its own
        X, y = comparison_data(distribution, n_samples=n_samples + n_fresh, seed=first)
        return X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:]
    X, y = comparison_data(distribution, noise=noise, n_samples=n_samples, seed=first)
    fresh = comparison_data(distribution, noise=noise, n_samples=n_fresh, seed=second)
    return X, y, *fresh


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


#: Where a cell of Table 1 stands, and what a setting is told apart by.
CELL = ["distribution", "model", "noise"]
FIELDS = [field.name for field in fields(TableSetting)]
_ROWS = ["block", "n_samples", "distribution", "noise", "quantity", "run", "value"]
_HALF_DIGIT = 0.005 + 1e-9


@cache
def paper_table() -> pd.DataFrame:
    """Return the cells that the paper prints, one row for each cell and measure."""
    printed = pd.read_csv(results_folder() / "paper" / "pmv_table1.csv", comment="#")
    return printed.melt(CELL, MEASURES, var_name="quantity", value_name="paper")


def settings_to_search(sizes: Sequence[int]) -> list[TableSetting]:
    """List the script's own setting, then `CLOSEST` with one or two things changed at a time."""
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


# --- blocks: the flips or the folds of one classifier on the nine data sets ----------------------


def block_of(what: str, chosen: TableSetting, model: str) -> tuple[Any, ...]:
    """Return all that decides one part of the table: the flips' or the folds'."""
    data = (chosen.n_samples, chosen.noise_kind, chosen.scaled)
    return (what, *data, getattr(chosen, what), model, chosen.option(model))


def blocks_of(settings: Iterable[TableSetting], models: Sequence[str] = MODELS) -> list[Any]:
    """List the parts of several tables, each part that they share once."""
    parts = [
        block_of(what, chosen, model)
        for what in ("flips", "folds")
        for chosen in settings
        for model in models
        if model != "Gaussian Process" or chosen.n_samples <= _LARGEST_GAUSSIAN_PROCESS
    ]
    return list(dict.fromkeys(parts))


@steady_fits()
def part_of_table(block: tuple[Any, ...], n_repeats: int, seed: int) -> pd.DataFrame:
    """Measure one classifier on the nine data sets, by flips or by folds, run by run."""
    what, *data, how, model, option = block
    estimator = comparison_classifier(model, option)
    rows: list[tuple[Any, ...]] = []
    for distribution, noise, X, y, key in cells(data, seed):
        if what == "flips":
            measures = {"slope": np.abs(_slopes(estimator, X, y, how, n_repeats, key))}
        else:
            rng = np.random.default_rng(key.spawn(2)[1])
            runs = range(n_repeats if model in _RANDOM else 1)
            train, test = np.transpose([fold_scores(estimator, X, y, how, rng) for _ in runs])
            measures = {"test_accuracy": test, "gap": np.abs(train - test)}
        place = (str(block), data[0], distribution, noise)
        rows += [
            (*place, measure, run, value)
            for measure, values in measures.items()
            for run, value in enumerate(values)
        ]
    return pd.DataFrame(rows, columns=_ROWS)


def cells(
    data: Sequence[Any], seed: int
) -> Iterator[tuple[str, float, Array, NDArray[np.int64], np.random.SeedSequence]]:
    """Yield each data set of the table, with a key that all models share."""
    n_samples, noise_kind, scaled = data
    for (i, distribution), (j, noise) in product(enumerate(DISTRIBUTIONS), enumerate(NOISES)):
        key = np.random.SeedSequence(seed, spawn_key=(i, j))
        X, y = comparison_data(
            distribution, noise=noise if noise_kind != "labels" else 0.0, n_samples=n_samples
        )
        if noise_kind != "features" and noise > 0:
            y = flip_labels(y, noise, np.random.default_rng(key.spawn(1)[0]))
        yield distribution, noise, StandardScaler().fit_transform(X) if scaled else X, y, key


def _slopes(
    estimator: Any, X: Any, y: Any, flips: str, n_repeats: int, key: np.random.SeedSequence
) -> Array:
    """Return the slopes of several runs, under the library's flips or others."""
    levels = PAPER_NOISE_LEVELS
    if flips == "by class":
        return perturbed_model_validation(
            estimator, X, y, noise_levels=levels, n_repeats=n_repeats, random_state=key
        ).slopes
    rng = np.random.default_rng(key)
    accuracies = np.empty((len(levels), n_repeats))
    for repeat, (i, level) in product(range(n_repeats), enumerate(levels)):
        labels = other_flips(y, level, flips, rng)
        model = with_random_states(clone(estimator), rng)
        accuracies[i, repeat] = model.fit(X, labels).score(X, labels)
    return np.polyfit(levels, accuracies, 1)[0]


def other_flips(
    y: NDArray[np.int64], level: float, flips: str, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Flip labels in the two ways that the library does not offer."""
    labels = y.copy()
    if flips == "any":
        chosen = rng.choice(labels.size, round(level * labels.size), replace=False)
        labels[chosen] = 1 - labels[chosen]
        return labels
    for k in (1, 0):
        carriers = np.flatnonzero(labels == k)
        labels[rng.choice(carriers, round(level * carriers.size), replace=False)] = 1 - k
    return labels


def fold_scores(
    estimator: Any, X: Any, y: Any, folds: str, rng: np.random.Generator
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


# --- tables --------------------------------------------------------------------------------------


def _summary(name: str, values: Array) -> dict[str, float]:
    """Return the mean, and the interval in which one more value is expected (95%)."""
    mean, half_width = float(values.mean()), 0.0
    if values.size > 1:
        spread = values.std(ddof=1) * np.sqrt(1 + 1 / values.size)
        half_width = float(stats.t.ppf(0.975, values.size - 1) * spread)
    return {name: mean, f"{name}_low": mean - half_width, f"{name}_high": mean + half_width}


def assembled(rows: pd.DataFrame, settings: Iterable[TableSetting]) -> pd.DataFrame:
    """Put the runs of several tables together from their parts, one row a cell."""
    parts = dict(tuple(rows.groupby("block", sort=False)))
    found = []
    for chosen, model in product(settings, MODELS):
        blocks = [str(block_of(what, chosen, model)) for what in ("flips", "folds")]
        if not all(block in parts for block in blocks):
            continue
        runs = pd.concat([parts[block] for block in blocks])
        for (distribution, noise), cell in runs.groupby(["distribution", "noise"], sort=False):
            row = {**asdict(chosen), "distribution": distribution, "model": model, "noise": noise}
            for measure, values in cell.groupby("quantity", sort=False)["value"]:
                row |= _summary(str(measure), values.to_numpy())
            found.append(row)
    return pd.DataFrame(found)


#: Table 1 is made with AdaBoost as it was and as it is.
_BOTH = (CLOSEST, replace(CLOSEST, boosting="SAMME"))


def table_of_means(rows: pd.DataFrame) -> pd.DataFrame:
    """Return Table 1 at the closest setting; today's AdaBoost has rows of its own."""
    found = assembled(rows, _BOTH)
    kept = (found["boosting"] == "SAMME.R") | (found["model"] == "AdaBoost")
    measures = [name for name in found if name not in {*FIELDS, *CELL}]
    return found[kept][[*CELL, *measures, "boosting"]].reset_index(drop=True).round(6)


def table_of_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the single runs behind Table 1."""
    named = {
        str(block_of(what, chosen, model)): (model, chosen.boosting)
        for chosen, model, what in product(_BOTH[::-1], MODELS, ("flips", "folds"))
    }
    models = pd.DataFrame(rows["block"].map(named).tolist(), columns=["model", "boosting"])
    return pd.concat([rows, models], axis=1)[
        ["distribution", "model", "noise", "boosting", "quantity", "run", "value"]
    ].round(6)


def distance_table(ours: pd.DataFrame) -> pd.DataFrame:
    """Say how far tables lie from the paper's, closest first, by what they cannot go below.

    A large size has no Gaussian process: ``distance_six`` leaves it out of all, and ``at_least``
    takes its cells for equal to the paper's.
    """
    names = [*FIELDS, *CELL]
    both = ours.melt(names, MEASURES, var_name="quantity").merge(paper_table())
    both["apart"] = (both["value"] - both["paper"]).abs()
    rows = []
    for values, table in both.groupby(FIELDS, dropna=False, sort=False):
        apart, six = table["apart"], table["model"] != "Gaussian Process"
        rows.append(
            {
                **dict(zip(FIELDS, values, strict=True)),
                "distance": apart.mean(),
                **apart.groupby(table["quantity"]).mean()[list(MEASURES)],
                "cells": len(table),
                "same_digits": int((apart <= _HALF_DIGIT).sum()),
                "distance_six": apart[six].mean(),
                "at_least": apart.sum() / len(paper_table()),
            }
        )
    found = pd.DataFrame(rows).sort_values("at_least", kind="stable", ignore_index=True)
    return found.astype({"tree_depth": float, "forest_depth": float}).round(6)  # NaN: unlimited


def _distances(rows: pd.DataFrame) -> pd.DataFrame:
    sizes = rows["n_samples"].unique().tolist()
    return distance_table(assembled(rows, settings_to_search(sizes)))


# --- estimates -----------------------------------------------------------------------------------


def cell_estimates(table: pd.DataFrame) -> pd.DataFrame:
    """Return each cell with the range in which one more run is expected."""
    keys = [*CELL, "boosting"]
    long = [
        table[keys].assign(
            quantity=measure,
            estimate=table[measure],
            **dict.fromkeys(("low", "high", "n"), np.nan),
            unit="",
            run_low=table[f"{measure}_low"],
            run_high=table[f"{measure}_high"],
        )
        for measure in MEASURES
    ]
    return pd.concat(long, ignore_index=True)


def run_estimates(runs: pd.DataFrame) -> pd.DataFrame:
    """Return each cell by its runs, and how many of its runs lie in the range of the others."""
    rows = []
    keys = [*CELL, "boosting", "quantity"]
    for place, values in runs.groupby(keys, sort=False)["value"]:
        x = values.to_numpy()
        found = _summary("run", x)
        others = [_summary("run", np.delete(x, i)) for i in range(len(x) if len(x) > 2 else 0)]
        within = [
            one["run_low"] <= value <= one["run_high"]
            for one, value in zip(others, np.round(x, 2), strict=False)
        ]
        ranges = {"run_low": found["run_low"], "run_high": found["run_high"]}
        share = np.mean(within) if within else 1.0
        mean = dict(zip(("estimate", "low", "high", "n"), t_interval(x), strict=True))
        rows.append(dict(zip(keys, place, strict=True)) | mean | ranges | {"within": share})
    return pd.DataFrame(rows).assign(unit="")


def beside_paper(estimates: pd.DataFrame) -> pd.DataFrame:
    """Set our cells beside the paper's: whether the digits are equal, and whether runs reach it."""
    both = estimates[estimates["boosting"] == "SAMME.R"].merge(paper_table())
    both["same"] = (both["estimate"] - both["paper"]).abs() <= _HALF_DIGIT
    both["inside"] = both["paper"].between(
        both["run_low"] - _HALF_DIGIT, both["run_high"] + _HALF_DIGIT
    )
    return both


def cell_parts(estimates: pd.DataFrame, entry: Mapping[str, Any]) -> list[Part]:
    """Judge how many printed cells lie inside our single-run ranges; PMV-1 by their order as well.

    One more run of ours lies in each cell's range with a chance of 95%, or always where runs are
    equal; so many cells, less than which 5% of perfect replications have, are called for.
    """
    found = beside_paper(estimates)
    cells = found[found["quantity"].isin(entry["measures"])]
    one_in = cells.get("within", pd.Series(0.95, index=cells.index))
    chances = one_in.where(cells["run_high"] - cells["run_low"] > 1e-9, 1.0).to_numpy()
    drawn = np.random.default_rng(0).random((9999, len(chances))) < chances
    least, most = np.quantile(drawn.sum(axis=1), [0.05, 1])
    parts = [
        Part(
            f"{len(cells)} cells inside our single-run ranges as often as our own runs are",
            float(chances.sum()),
            paper=(float(cells["inside"].sum()),),
            run_low=float(least),
            run_high=float(most),
        )
    ]
    return [*_order(cells, entry), *parts]


def _order(cells: pd.DataFrame, entry: Mapping[str, Any]) -> list[Part]:
    """Judge the rank correlation with the printed cells; its interval is over our runs."""
    if "rank" not in entry:
        return []
    n = int(entry["n_runs"])
    # the range of one more run is t · s · sqrt(1 + 1 / n) to each side, and the mean's error s / √n
    reach = stats.t.ppf(0.975, n - 1) * np.sqrt(n + 1)
    errors = (cells["run_high"] - cells["run_low"]).to_numpy() / 2 / reach
    normal = np.random.default_rng(0).normal(size=(2000, len(cells)))
    drawn = cells["estimate"].to_numpy() + errors * normal
    ranks = [stats.spearmanr(values, cells["paper"]).statistic for values in drawn]
    rank, half = stats.spearmanr(cells["estimate"], cells["paper"]).statistic, 1.96 * np.std(ranks)
    says = "rank correlation with the printed cells is 0.9 or more"
    region = Region.read(entry["rank"])
    return [Part(says, float(rank), float(rank - half), float(rank + half), n, region=region)]


def distance_estimates(table: pd.DataFrame) -> pd.DataFrame:
    """Return the distances of each setting, which is named by what it changes."""
    named = table.assign(setting=[setting_in_words(row) for row in table.to_dict("records")])
    long = named.melt(["setting"], [*table.columns.drop(FIELDS)], var_name="quantity")
    return long.rename(columns={"value": "estimate"}).assign(
        low=np.nan, high=np.nan, n=np.nan, unit=""
    )


_FIELD_WORDS = {
    "scaled": "{}",
    "n_samples": "{} samples",
    "noise_kind": "noise on {}",
    "folds": "folds {}",
    "flips": "flips {}",
    "tree_depth": "tree depth {}",
    "forest_depth": "forest depth {}",
    "boosting": "{}",
}


def setting_in_words(row: Mapping[str, Any]) -> str:
    """Say what a setting changes of the closest one, or that it is the script's."""
    values = {name: None if row[name] != row[name] else row[name] for name in FIELDS}
    if values == asdict(TableSetting()):
        return "the script as it stands"
    words = []
    for name, value in asdict(CLOSEST).items():
        if values[name] == value:
            continue
        plain = values[name] if isinstance(values[name], str | None) else f"{values[name]:g}"
        word = _FIELD_WORDS[name].format("unlimited" if plain is None else plain)
        words.append("features standardised" if name == "scaled" else word)
    return ", ".join(words) or "as in this chapter"


# --- studies -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableSettings(Settings):
    """Settings of Table 1."""

    n_repeats: int = setting(2, "Runs on the same data.", full=10, paper="1", low=1)
    n_repeats_today: int = setting(1, "Runs of today's AdaBoost, which is slow.", low=1)
    seed: int = setting(20190524, "Key of flips and estimators; the data have the script's.", low=0)


@dataclass(frozen=True)
class SearchSettings(Settings):
    """Settings of the search for the paper's setting."""

    sizes: tuple = setting((100,), "Numbers of samples.", full=(100, 200, 500, 1000, 2000))
    n_repeats: int = setting(1, "Runs on the same data.", paper="1", low=1)
    seed: int = setting(20190524, "Key of flips and estimators; the data have the script's.", low=0)


def _table_blocks(settings: TableSettings) -> list[Any]:
    del settings  # every part is run as often as they say
    return [*blocks_of(_BOTH[:1]), *blocks_of(_BOTH[1:], ["AdaBoost"])]


def _table_block(key: tuple[Any, ...], settings: TableSettings) -> pd.DataFrame:
    runs = settings.n_repeats_today if key[-1] == "SAMME" else settings.n_repeats
    return part_of_table(key, runs, settings.seed)


def _search_blocks(settings: SearchSettings) -> list[Any]:
    return blocks_of(settings_to_search(settings.sizes))


def _search_block(key: tuple[Any, ...], settings: SearchSettings) -> pd.DataFrame:
    return part_of_table(key, settings.n_repeats, settings.seed)


TABLE1 = Study(
    name="pmv_table1",
    settings=TableSettings,
    blocks=_table_blocks,
    block=_table_block,
    summarise=table_of_means,
    estimate=cell_estimates,
    figures={"fig-pmv-table1": lambda frames: show.draw_table1(frames, paper_table())},
)

#: Judges PMV-1 and PMV-2: how often one of our own runs lies where the others let it lie.
TABLE1_RUNS = replace(
    TABLE1,
    name="pmv_table1_runs",
    summarise=table_of_runs,
    estimate=run_estimates,
    claims={"PMV-1": cell_parts, "PMV-2": cell_parts},
)

DISTANCES = Study(
    name="pmv_distances",
    settings=SearchSettings,
    blocks=_search_blocks,
    block=_search_block,
    summarise=_distances,
    estimate=distance_estimates,
    sample={"sizes": (100,)},
)
