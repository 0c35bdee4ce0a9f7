"""The tuning experiments of the PMV paper: depth of a tree, size of a network, few noise levels.

Every experiment keeps the training accuracies behind its slopes, so that questions about fewer
noise levels (section 4) and about the curve's shape (section 2.1) need no further fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_validate, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from pvf._types import Array
from pvf.pmv import (
    PAPER_NOISE_LEVELS,
    flip_labels,
    perturbed_model_validation,
    with_random_states,
)
from studies.data import datasets
from studies.kit.estimates import bootstrap_interval, mean_estimates, single_run_range, t_interval
from studies.kit.study import Settings, Study, setting
from studies.kit.verdicts import Part, Region
from studies.pmv2019 import show
from studies.pmv2019.table1 import steady_fits

#: Depths of the tree; the paper's figure 3 does not list its own.
_DEPTHS = tuple(range(1, 21))

#: Neurons in the hidden layer, as in section 3.3.2.
_SIZES = (*range(10, 101, 10), *range(200, 801, 100))

#: Columns of accuracies, one a noise level.
_AT = [f"at {level:g}" for level in PAPER_NOISE_LEVELS]

#: Learners that memorise, the same ones held back, and one that learns nothing.
LEARNERS: dict[str, Any] = {
    "tree, unlimited": DecisionTreeClassifier(),
    "tree, depth 5": DecisionTreeClassifier(max_depth=5),
    "forest of 100 unlimited trees": RandomForestClassifier(),
    "forest of 100 trees, depth 5": RandomForestClassifier(max_depth=5),
    "nearest neighbour": KNeighborsClassifier(1),
    "five nearest neighbours": KNeighborsClassifier(5),
    "always the larger class": DummyClassifier(),
}


# --- data ----------------------------------------------------------------------------------------


class TuningData(NamedTuple):
    """Features as numbers, and labels."""

    X: Array
    y: NDArray[np.int64]


def as_numbers(X: pd.DataFrame) -> Array:
    """Code categories by their order, or by the alphabet where they have none; missing is -1."""
    columns = [
        X[name] if pd.api.types.is_numeric_dtype(X[name]) else X[name].astype("category").cat.codes
        for name in X
    ]
    return np.column_stack([column.to_numpy(dtype=float) for column in columns])


@cache
def tuning_data(name: str) -> TuningData:
    """Load the data of a tuning experiment, coded for trees and networks.

    "adult" is its training part and "adult, 5%" a stratified sample of it; digits are
    scikit-learn's, 8 × 8, and MNIST's the part of 10,000 images, with grey values from 0 to 1.
    """
    if name == "digits 0 and 1":
        X, y = load_digits(n_class=2, return_X_y=True)
        return TuningData(X / 16, y)
    if name == "MNIST 0 and 1":
        data = datasets.load_mnist_pair()
        return TuningData(data.X.to_numpy() / 255, data.y.to_numpy())
    loaders = {
        "breast-cancer": datasets.load_breast_cancer,
        "adult": datasets.load_adult,
        "adult, 5%": datasets.load_adult,
        "connect-4": datasets.load_connect4,
    }
    if name not in loaders:
        raise ValueError(f"name must be one of {[*loaders]}, a pair of digits, got {name!r}.")
    data = loaders[name]()
    X, y = as_numbers(data.X), data.y.to_numpy()
    if name == "adult, 5%":
        X, _, y, _ = train_test_split(X, y, train_size=0.05, stratify=y, random_state=0)
    return TuningData(X, y)


def _at_hand(settings: Any) -> list[str]:
    """Name the data sets of a study, with those of the optional ones that are on this machine."""
    names = [*settings.data]
    for name in settings.where_present:
        try:
            tuning_data(name)
        except datasets.DataUnavailableError:
            continue
        names.append(name)
    return names


# --- blocks --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TuningSettings(Settings):
    """Settings of the experiments on trees."""

    data: tuple = setting(
        ("breast-cancer",), "Data sets.", full=("breast-cancer", "adult, 5%", "adult")
    )
    where_present: tuple = setting((), "Where they are on this machine.", full=("connect-4",))
    n_repeats: int = setting(5, "Runs.", full=50, paper="5", low=2)
    seed: int = setting(20190524, "Key of flips, trees and folds.", low=0)


@dataclass(frozen=True)
class GapSettings(TuningSettings):
    """Settings of the gaps of an unlimited tree."""

    data: tuple = setting(("breast-cancer",), "Data sets.", full=("breast-cancer", "adult"))
    n_repeats: int = setting(5, "Runs.", full=10, paper="5", low=2)


@dataclass(frozen=True)
class MemoriserSettings(TuningSettings):
    """Settings of the learners that memorise."""

    data: tuple = setting(("breast-cancer",), "Data sets.", full=("breast-cancer", "adult, 5%"))
    trees_only: tuple = setting((), "Data sets that meet trees alone.", full=("adult",))
    noise_levels: tuple = setting((0.0, 0.1, 0.2, 0.3, 0.4, 0.5), "Shares of flipped labels.")
    n_repeats: int = setting(2, "Runs.", full=3, paper="1", low=2)


@dataclass(frozen=True)
class NetworkSettings(Settings):
    """Settings of the networks with one hidden layer."""

    n_digits_runs: int = setting(2, "Runs on scikit-learn's digits.", paper="–", low=1)
    n_mnist_runs: int = setting(0, "Runs on MNIST.", full=1, paper="1", low=0)
    sizes: tuple = setting((10, 40, 100), "Neurons.", full=_SIZES, paper="10 to 800")
    max_iter: int = setting(50, "Passes over the data.", low=1)
    seed: int = setting(20190524, "Key of flips, splits and first weights.", low=0)


@steady_fits()
def depth_block(key: tuple[str, int], settings: TuningSettings) -> pd.DataFrame:
    """Run PMV over depths once: the top of one deep tree is the tree of a smaller depth.

    But for which of equally good splits a seed takes, that is.
    """
    dataset, repeat = key
    X, y = tuning_data(dataset)
    found = {"dataset": dataset, "size": _DEPTHS, "repeat": repeat}
    for i, (level, column) in enumerate(zip(PAPER_NOISE_LEVELS, _AT, strict=True)):
        # the keys of `perturbed_model_validation`
        place = repeat * len(_AT) + i
        keys = np.random.SeedSequence(settings.seed, spawn_key=(place,)).spawn(2)
        flip_rng, model_rng = (np.random.default_rng(child) for child in keys)
        labels = flip_labels(y, level, flip_rng)
        tree = with_random_states(DecisionTreeClassifier(max_depth=max(_DEPTHS)), model_rng)
        found[column] = nested_accuracies(tree.fit(X, labels), X, labels, _DEPTHS)
    return pd.DataFrame(found).round(6)


def nested_accuracies(tree: DecisionTreeClassifier, X: Any, y: Any, depths: Sequence[int]) -> Array:
    """Return the accuracies of the tops of a fitted tree, cut at some depths.

    Examples
    --------
    >>> X, y = [[0], [1], [2], [3]], [0, 1, 0, 0]
    >>> nested_accuracies(DecisionTreeClassifier().fit(X, y), X, y, [1, 9]).tolist()
    [0.75, 1.0]
    """
    grown = tree.tree_
    parent = np.zeros(grown.node_count, dtype=int)
    depth = np.zeros(grown.node_count, dtype=int)
    for node in np.flatnonzero(grown.children_left >= 0):  # parents come before their children
        for child in (grown.children_left[node], grown.children_right[node]):
            parent[child], depth[child] = node, depth[node] + 1
    says = tree.classes_[grown.value[:, 0].argmax(axis=1)]
    place = tree.apply(X)
    found = {}
    for cut in sorted({*depths}, reverse=True):
        while (depth[place] > cut).any():
            place = np.where(depth[place] > cut, parent[place], place)
        found[cut] = float(np.mean(says[place] == y))
    return np.array([found[cut] for cut in depths])


def _by_size(rows: pd.DataFrame) -> pd.DataFrame:
    """Order rows by data set, as they came, then by size and run."""
    place = rows["dataset"].map({name: i for i, name in enumerate(rows["dataset"].unique())})
    ordered = rows.assign(place=place).sort_values(["place", "size", "repeat"], ignore_index=True)
    return ordered.drop(columns="place")


def _seeds(seed: int, run: int) -> list[int]:
    """Return the seeds of a run's tree or split, and of its folds or weights."""
    return [int(s) for s in np.random.SeedSequence(seed, spawn_key=(run,)).generate_state(2)]


def ten_folds(folds: str, seed: int) -> KFold | StratifiedKFold:
    """Cut ten folds as `GridSearchCV` does, as runs of consecutive rows, or anew in each run."""
    if folds == "shuffled":
        return StratifiedKFold(10, shuffle=True, random_state=seed)
    return KFold(10) if folds == "in order" else StratifiedKFold(10)


@steady_fits()
def grid_block(key: tuple[str, str, int], settings: TuningSettings) -> pd.DataFrame:
    """Choose the depth by grid search; of equal mean accuracies the smallest."""
    dataset, folds, run = key
    X, y = tuning_data(dataset)
    tree_seed, fold_seed = _seeds(settings.seed, run)
    scores = []
    for train, test in ten_folds(folds, fold_seed).split(X, y):
        tree = DecisionTreeClassifier(max_depth=max(_DEPTHS), random_state=tree_seed)
        scores.append(nested_accuracies(tree.fit(X[train], y[train]), X[test], y[test], _DEPTHS))
    means = np.mean(scores, axis=0).round(12)  # means that differ by rounding alone are equal
    row = {"dataset": dataset, "folds": folds, "run": run, "depth": _DEPTHS[means.argmax()]}
    return pd.DataFrame([row])


@steady_fits()
def gap_block(key: tuple[str, str, int], settings: GapSettings) -> pd.DataFrame:
    """Measure the mean training less the mean test accuracy of an unlimited tree."""
    dataset, folds, run = key
    tree_seed, fold_seed = _seeds(settings.seed, run)
    scores = cross_validate(
        DecisionTreeClassifier(random_state=tree_seed),
        *tuning_data(dataset),
        cv=ten_folds(folds, fold_seed),
        return_train_score=True,
    )
    gap = scores["train_score"].mean() - scores["test_score"].mean()
    return pd.DataFrame([{"dataset": dataset, "folds": folds, "run": run, "gap": gap}]).round(6)


@steady_fits()
def network_block(key: tuple[str, int], settings: NetworkSettings) -> pd.DataFrame:
    """Run PMV on networks of one size, and measure their errors on splits of 70:30."""
    dataset, size = key
    X, y = tuning_data(dataset)
    n = settings.n_digits_runs if dataset.startswith("digits") else settings.n_mnist_runs
    network = MLPClassifier((size,), max_iter=settings.max_iter)
    result = perturbed_model_validation(
        network, X, y, noise_levels=PAPER_NOISE_LEVELS, n_repeats=n, random_state=settings.seed
    )
    found = pd.DataFrame(result.accuracies, columns=_AT)
    found.insert(0, "dataset", dataset)
    found.insert(1, "size", size)
    found.insert(2, "repeat", range(n))
    errors = []
    for repeat in range(n):
        split, weights = _seeds(settings.seed, repeat)
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=0.3, stratify=y, random_state=split
        )
        model = MLPClassifier((size,), max_iter=settings.max_iter, random_state=weights)
        model.fit(X_train, y_train)
        errors.append((1 - model.score(X_train, y_train), 1 - model.score(X_test, y_test)))
    found[["training_error", "test_error"]] = np.array(errors)
    return found.round(6)


def memoriser_block(key: tuple[str, str], settings: MemoriserSettings) -> pd.DataFrame:
    """Run PMV on one learner: slope, and training accuracy at the least and the most noise."""
    dataset, learner = key
    result = perturbed_model_validation(
        LEARNERS[learner],
        *tuning_data(dataset),
        noise_levels=settings.noise_levels,
        n_repeats=settings.n_repeats,
        random_state=settings.seed,
    )
    order = np.argsort(result.noise_levels)
    first, last = result.accuracies.mean(axis=0)[order[[0, -1]]]
    row = (dataset, learner, result.slope, *result.slope_interval, first, last)
    columns = ["dataset", "learner", "slope", "low", "high", "first", "last"]
    return pd.DataFrame([row], columns=columns).round(6)


def _memoriser_blocks(settings: MemoriserSettings) -> list[tuple[str, str]]:
    names = [*settings.data, *settings.trees_only]
    names += [name for name in _at_hand(settings) if name not in names]
    return [
        (name, learner)
        for name in names
        for learner in LEARNERS
        if name in settings.data or learner.startswith("tree")
    ]


def _depth_blocks(settings: TuningSettings) -> list[Any]:
    return [(name, run) for name in _at_hand(settings) for run in range(settings.n_repeats)]


def _fold_blocks(settings: TuningSettings, kinds: Sequence[str]) -> list[Any]:
    return [
        (name, folds, run)
        for name in _at_hand(settings)
        for folds in kinds
        for run in range(settings.n_repeats)
    ]


def _grid_blocks(settings: TuningSettings) -> list[Any]:
    return _fold_blocks(settings, ("stratified", "shuffled"))


def _gap_blocks(settings: GapSettings) -> list[Any]:
    return _fold_blocks(settings, ("in order", "stratified", "shuffled"))


def _network_blocks(settings: NetworkSettings) -> list[Any]:
    names = ["digits 0 and 1", *(["MNIST 0 and 1"] if settings.n_mnist_runs else [])]
    return [(name, size) for name in names for size in settings.sizes]


# --- estimates -----------------------------------------------------------------------------------


def _levels(table: pd.DataFrame) -> list[float]:
    return [float(name[3:]) for name in table if name.startswith("at ")]


def slopes(table: pd.DataFrame, levels: Sequence[float] | None = None) -> Array:
    """Fit the absolute slope of each row, from all noise levels or from some.

    Slopes that differ by rounding alone are equal.
    """
    levels = _levels(table) if levels is None else levels
    values = table[[f"at {level:g}" for level in levels]].to_numpy()
    return np.abs(np.polyfit(levels, values.T, 1)[0]).round(12)


def picked_sizes(table: pd.DataFrame, levels: Sequence[float] | None = None) -> NDArray[np.int64]:
    """Return the size that each run picks, the one with the largest slope, the smallest of equal.

    ``table`` holds one data set.
    """
    found = table[["size", "repeat"]].assign(slope=slopes(table, levels))
    found = found.sort_values(["repeat", "size"], ignore_index=True)
    return found.loc[found.groupby("repeat")["slope"].idxmax(), "size"].to_numpy()


def largest_residuals(table: pd.DataFrame) -> Array:
    """Return how far each row's curve leaves its fitted line, in accuracy."""
    levels = _levels(table)
    values = table[[f"at {level:g}" for level in levels]].to_numpy()
    slope, intercept = np.polyfit(levels, values.T, 1)
    return np.abs(values - slope[:, None] * levels - intercept[:, None]).max(axis=1)


def _alike(values: ArrayLike, reach: float = 0) -> float:
    """Return the share of pairs of different runs that lie within a reach of each other."""
    x = np.asarray(values, dtype=float).ravel()
    near = np.abs(x[:, None] - x) <= reach
    return float((near.sum() - len(x)) / (len(x) * (len(x) - 1)))


def _pick_rows(dataset: str, method: str, picked: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Describe the depths that runs pick: the share of each, the median, and pairs that agree."""
    rng = np.random.default_rng(0)
    n, few = len(picked), min(len(picked), 5)
    fives = [_alike(rng.choice(picked, few, replace=False)) for _ in range(2000)]
    low, high = np.quantile(picked, [0.025, 0.975], method="inverted_cdf")
    # a bootstrapped pair of one run with itself is no pair
    agree = _jackknife(picked)
    median = bootstrap_interval(picked, np.median, n_resamples=2000)
    key = {"dataset": dataset, "method": method, "size": 0, "noise": -1.0}
    least, most = single_run_range(fives)
    alike: dict[str, Any] = {"quantity": "pairs alike", "run_low": least, "run_high": most}
    picks = {size: float((picked == size).mean()) for size in _DEPTHS}
    return [
        {**key, "quantity": "depth", **median._asdict(), "run_low": low, "run_high": high},
        {**key, **alike, **agree},
        *({**key, "quantity": "picks", "size": s, "estimate": p, "n": n} for s, p in picks.items()),
    ]


def _jackknife(picked: NDArray[np.int64]) -> dict[str, float]:
    """Return the share of pairs that agree, with an interval from leaving out one run at a time."""
    n, share = len(picked), _alike(picked)
    if n < 3:
        return {"estimate": share, "low": np.nan, "high": np.nan, "n": n}
    without = np.array([_alike(np.delete(picked, i)) for i in range(n)])
    error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    half = float(stats.t.ppf(0.975, n - 1) * error)
    return {"estimate": share, "low": share - half, "high": share + half, "n": n}


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    keys = ["dataset", "method", "size", "noise", "quantity"]
    columns = [*keys, "estimate", "low", "high", "n", "unit", "run_low", "run_high"]
    return pd.DataFrame(rows).reindex(columns=columns).assign(unit="")


def depth_estimates(depths: pd.DataFrame) -> pd.DataFrame:
    """Return curves, slopes, picks and their agreement, and how straight the curves are."""
    table = depths.assign(slope=slopes(depths), straight=largest_residuals(depths) < 0.03)
    table["straight"] = table["straight"].astype(float)
    frames = [
        mean_estimates(table, ["dataset", "size"], ["slope"], over="repeat").assign(noise=-1.0)
    ]
    levels = [f"at {level:g}" for level in _levels(depths)]
    curves = mean_estimates(table, ["dataset", "size"], levels, over="repeat")
    curves["noise"] = curves["quantity"].str.removeprefix("at ").astype(float)
    frames.append(curves.assign(quantity="accuracy"))
    whole = mean_estimates(table, ["dataset"], ["straight"], over="repeat")
    every = mean_estimates(table.assign(dataset="all"), ["dataset"], ["straight"], over="repeat")
    frames += [whole.assign(size=0, noise=-1.0), every.assign(size=0, noise=-1.0)]
    rows: list[dict[str, Any]] = []
    for name, part in depths.groupby("dataset", sort=False):
        rows += _pick_rows(str(name), "PMV", picked_sizes(part)) + _level_rows(str(name), part)
    columns = pd.concat([frame.assign(method="PMV") for frame in frames], ignore_index=True)
    return pd.concat([columns, _frame(rows)], ignore_index=True)[[*_frame(rows).columns]]


def _level_rows(dataset: str, table: pd.DataFrame) -> list[dict[str, Any]]:
    """Say how often two noise levels above 0 pick what all pick, and two runs with all the same."""
    by_all, every = picked_sizes(table), _levels(table)
    pairs = [picked_sizes(table, [0.0, *chosen]) for chosen in combinations(every[1:], 2)]
    apart = np.abs(np.array(pairs) - by_all)
    shares = {
        "two levels: same": (apart == 0).mean(axis=0),
        "two levels: one apart": (apart <= 1).mean(axis=0),
        "two runs: same": [_alike(by_all)],
        "two runs: one apart": [_alike(by_all, 1)],
    }
    key = {"dataset": dataset, "method": "PMV", "size": 0, "noise": -1.0}
    return [
        {**key, "quantity": name, **t_interval(values)._asdict()} for name, values in shares.items()
    ]


def grid_estimates(grid: pd.DataFrame) -> pd.DataFrame:
    """Return the depths that grid search picks, for each way to cut folds."""
    methods = {"stratified": "grid search", "shuffled": "grid search, shuffled"}
    rows: list[dict[str, Any]] = []
    for (name, folds), runs in grid.groupby(["dataset", "folds"], sort=False):
        rows += _pick_rows(str(name), methods[str(folds)], runs["depth"].to_numpy())
    return _frame(rows)


def gap_estimates(gaps: pd.DataFrame) -> pd.DataFrame:
    """Return the mean gap for each way to cut folds, and where one more run is expected."""
    found = mean_estimates(gaps, ["dataset", "folds"], ["gap"], over="run")
    half = (found["high"] - found["estimate"]) * np.sqrt(found["n"] + 1)
    return found.assign(run_low=found["estimate"] - half, run_high=found["estimate"] + half)


def network_estimates(hidden: pd.DataFrame) -> pd.DataFrame:
    """Return the slope and the errors of networks of each size."""
    quantities = ["slope", "training_error", "test_error"]
    table = hidden.assign(slope=slopes(hidden))
    return mean_estimates(table, ["dataset", "size"], quantities, over="repeat")


def memoriser_estimates(found: pd.DataFrame) -> pd.DataFrame:
    """Return each learner's slope with its interval, and its training accuracies."""
    long = found.melt(
        ["dataset", "learner", "low", "high"], ["slope", "first", "last"], var_name="quantity"
    ).rename(columns={"value": "estimate"})
    long.loc[long["quantity"] != "slope", ["low", "high"]] = np.nan
    return long.assign(n=np.nan, unit="")


# --- claims --------------------------------------------------------------------------------------


def _with_grid(estimates: pd.DataFrame) -> pd.DataFrame:
    """Put the committed picks of grid search below those of PMV."""
    grid = GRID_DEPTHS.estimate(GRID_DEPTHS.committed()[0])
    both = pd.concat([estimates, grid], ignore_index=True)
    both = both[both["quantity"].isin(["depth", "pairs alike"])]
    return both.set_index(["quantity", "dataset", "method"])


def _apart(first: pd.Series, second: pd.Series) -> tuple[float, float, float, float]:
    """Return the difference of two independent estimates with its interval."""
    mean = first["estimate"] - second["estimate"]
    below = np.hypot(first["estimate"] - first["low"], second["high"] - second["estimate"])
    above = np.hypot(first["high"] - first["estimate"], second["estimate"] - second["low"])
    return float(mean), float(mean - below), float(mean + above), float(first["n"])


_NUMBERS = ["estimate", "low", "high", "n", "run_low", "run_high"]


def depth_parts(estimates: pd.DataFrame, entry: Mapping[str, Any]) -> list[Part]:
    """PMV-6: medians of PMV and grid search lie close; the printed depths occur among our runs."""
    both, parts = _with_grid(estimates), []
    for name in ("breast-cancer", "adult"):
        runs = [both.loc[("depth", name, method)] for method in ("PMV", "grid search")]
        mean, low, high, n = _apart(*runs)
        says = f"{name}: medians at most two levels apart"
        parts.append(Part(says, mean, low, high, n, region=Region(-2, 2)))
        for run, method in zip(runs, ("pmv", "grid"), strict=True):
            depth = entry["numbers"][method][name.replace("-", "_")]
            estimate, low, high, n, least, most = map(float, run[_NUMBERS])
            says = f"{name}: depth by {method}"
            part = Part(says, estimate, low, high, n, run_low=least, run_high=most)
            parts.append(replace(part, paper=(float(depth),)))
    return [*parts, Part("connect-4", untestable="the file of Connect-4 is not here")]


def stability_parts(estimates: pd.DataFrame, entry: Mapping[str, Any]) -> list[Part]:
    """PMV-7: more pairs of PMV runs pick one depth than of grid searches with shuffled folds."""
    both, parts = _with_grid(estimates), []
    printed = entry["numbers"]
    for name in ("breast-cancer", "adult, 5%"):
        first = both.loc[("pairs alike", name, "PMV")]
        second = both.loc[("pairs alike", name, "grid search, shuffled")]
        paper = (_alike(printed["pmv"]) - _alike(printed["grid"]),)
        parts.append(
            Part(
                f"{name}: pairs of PMV runs that agree, less pairs of grid searches",
                *_apart(first, second),
                region=Region.read("> 0"),
                paper=paper if name == "breast-cancer" else (),
                run_low=float(first["run_low"] - second["run_high"]),
                run_high=float(first["run_high"] - second["run_low"]),
            )
        )
    return parts


# --- studies -------------------------------------------------------------------------------------

MEMORISERS = Study(
    name="pmv_memorisers",
    settings=MemoriserSettings,
    blocks=_memoriser_blocks,
    block=memoriser_block,
    estimate=memoriser_estimates,
    figures={"fig-pmv-memorisers": show.draw_memorisers},
    sample={"data": ("breast-cancer",), "trees_only": (), "where_present": ()},
)

TREE_GAPS = Study(
    name="pmv_tree_gaps",
    settings=GapSettings,
    blocks=_gap_blocks,
    block=gap_block,
    estimate=gap_estimates,
    figures={"fig-pmv-gaps": show.draw_gaps},
)

GRID_DEPTHS = Study(
    name="pmv_grid_depths",
    settings=TuningSettings,
    blocks=_grid_blocks,
    block=grid_block,
    estimate=grid_estimates,
)

DEPTHS = Study(
    name="pmv_depths",
    settings=TuningSettings,
    blocks=_depth_blocks,
    block=depth_block,
    summarise=_by_size,
    estimate=depth_estimates,
    figures={"fig-ways-depths": show.draw_depths, "fig-ways-curves": show.draw_curves},
    claims={"PMV-6": depth_parts, "PMV-7": stability_parts},
    sample={"data": ("breast-cancer",), "where_present": (), "n_repeats": 5},
)

HIDDEN_SIZES = Study(
    name="pmv_hidden_sizes",
    settings=NetworkSettings,
    blocks=_network_blocks,
    block=network_block,
    summarise=_by_size,
    estimate=network_estimates,
    figures={"fig-ways-hidden": show.draw_hidden_sizes},
    sample={"n_digits_runs": 1, "n_mnist_runs": 0},
)
