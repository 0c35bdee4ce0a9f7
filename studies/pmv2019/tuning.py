"""The tuning experiments of the PMV paper: depth of a tree, size of a network, few noise levels.

Every experiment keeps the training accuracies behind its slopes, so that questions about fewer
noise levels (section 4) and about the curve's shape (section 2.1) need no further fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import (
    KFold,
    StratifiedKFold,
    cross_validate,
    train_test_split,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from pvf.pmv import (
    PAPER_NOISE_LEVELS,
    flip_labels,
    perturbed_model_validation,
    with_random_states,
)
from studies.kit.results import run_blocks
from studies.pmv2019.table1 import steady_fits

__all__ = [
    "DEPTHS",
    "HIDDEN_SIZES",
    "MEMORISERS",
    "as_numbers",
    "grid_search_depths",
    "level_picks",
    "line_fit",
    "memoriser_slopes",
    "nested_accuracies",
    "run_depths",
    "run_hidden_sizes",
    "slopes",
    "tree_gaps",
]

#: Depths of the tree; the paper's figure 3 does not list its own.
DEPTHS = tuple(range(1, 21))

#: Neurons in the hidden layer, as in section 3.3.2.
HIDDEN_SIZES = (*range(10, 101, 10), *range(200, 801, 100))

#: Raised whenever the code below computes something else, so that no old shard is read.
_VERSION = 2
_NETWORK_VERSION = 1


def as_numbers(X: pd.DataFrame) -> NDArray[np.float64]:
    """Code a mixed table for trees.

    Parameters
    ----------
    X : DataFrame of shape (n_samples, n_features)
        A column that is not numeric becomes the numbers of its categories, in their order if it
        has one and alphabetically if not; missing is -1.

    Returns
    -------
    ndarray of shape (n_samples, n_features)

    Examples
    --------
    >>> as_numbers(pd.DataFrame({"age": [30, 40], "job": ["nurse", "cook"]})).tolist()
    [[30.0, 1.0], [40.0, 0.0]]
    """
    columns = [
        X[name] if pd.api.types.is_numeric_dtype(X[name]) else X[name].astype("category").cat.codes
        for name in X
    ]
    return np.column_stack([column.to_numpy(dtype=float) for column in columns])


def memoriser_slopes(
    X: Any,
    y: Any,
    *,
    learners: Sequence[str] | None = None,
    noise_levels: Sequence[float] = PAPER_NOISE_LEVELS,
    n_repeats: int = 5,
    seed: int = 20190524,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Run PMV on learners that memorise, and on one that learns nothing (section 3.2).

    Parameters
    ----------
    X, y : arrays of shape (n_samples, n_features) and (n_samples,)
    learners : sequence of str, optional
        Keys of `MEMORISERS`; all by default.
    noise_levels : sequence of float
    n_repeats : int, default=5
    seed : int
    n_jobs : int or None
        Workers of each PMV run.

    Returns
    -------
    DataFrame
        One row per ``learner``: ``slope`` (signed), ``low`` and ``high`` (95%), and the mean
        training accuracy at the least and the largest noise, ``first`` and ``last``.
    """
    rows = []
    for name in MEMORISERS if learners is None else learners:
        result = perturbed_model_validation(
            MEMORISERS[name],
            X,
            y,
            noise_levels=noise_levels,
            n_repeats=n_repeats,
            random_state=seed,
            n_jobs=n_jobs,
        )
        low, high = result.slope_interval
        order = np.argsort(result.noise_levels)
        first, last = result.accuracies.mean(axis=0)[order[[0, -1]]]
        rows.append((name, result.slope, low, high, first, last))
    return pd.DataFrame(rows, columns=["learner", "slope", "low", "high", "first", "last"])


#: Learners that memorise, the same ones held back, and one that learns nothing.
MEMORISERS: dict[str, Any] = {
    "tree, unlimited": DecisionTreeClassifier(),
    "tree, depth 5": DecisionTreeClassifier(max_depth=5),
    "forest of 100 unlimited trees": RandomForestClassifier(),
    "forest of 100 trees, depth 5": RandomForestClassifier(max_depth=5),
    "nearest neighbour": KNeighborsClassifier(1),
    "five nearest neighbours": KNeighborsClassifier(5),
    "always the larger class": DummyClassifier(),
}


def run_depths(
    X: Any,
    y: Any,
    *,
    dataset: str,
    depths: Sequence[int] = DEPTHS,
    noise_levels: Sequence[float] = PAPER_NOISE_LEVELS,
    n_repeats: int = 5,
    seed: int = 20190524,
    n_jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Run PMV over depths of a decision tree (section 3.3.1).

    Parameters
    ----------
    X, y : arrays of shape (n_samples, n_features) and (n_samples,)
    dataset : str
        Name of the data; shards of one name must hold one data set.
    depths, noise_levels : sequences
    n_repeats : int, default=5
        Runs, each with new flips; in one run every depth meets the same ones.
    seed : int
    n_jobs, out, progress
        As in `studies.kit.results.run_blocks`.

    Returns
    -------
    DataFrame
        One row for each ``size`` (the depth), ``repeat`` and ``noise_level``: ``accuracy``.

    Notes
    -----
    A tree of depth d is the top of a deeper tree on the same data, but for which of equally good
    splits a seed takes, so one deep tree answers for all depths.
    """
    accuracies = run_blocks(
        partial(_depth_block, X=X, y=y),
        range(n_repeats),
        study="pmv-depths",
        settings={"depths": list(depths), "noise_levels": list(noise_levels), "seed": seed},
        version=[_VERSION, dataset, list(np.shape(X))],
        out=out,
        n_jobs=n_jobs,
        progress=progress,
    )
    return accuracies.sort_values(["size", "repeat"], kind="stable", ignore_index=True)


def run_hidden_sizes(
    X: Any,
    y: Any,
    *,
    dataset: str,
    sizes: Sequence[int] = HIDDEN_SIZES,
    noise_levels: Sequence[float] = PAPER_NOISE_LEVELS,
    n_repeats: int = 1,
    max_iter: int = 200,
    seed: int = 20190524,
    n_jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Run PMV and the error curve over hidden sizes of a network (section 3.3.2).

    Parameters
    ----------
    X, y : arrays of shape (n_samples, n_features) and (n_samples,)
        Features should lie about 0 to 1.
    dataset : str
        Name of the data; shards of one name must hold one data set.
    sizes, noise_levels : sequences
    n_repeats : int, default=1
        Runs with new flips, splits and initial weights.
    max_iter : int, default=200
        Passes over the data, scikit-learn's default.
    seed : int
    n_jobs, out, progress
        As in `studies.kit.results.run_blocks`.

    Returns
    -------
    accuracies : DataFrame
        As `run_depths`; ``size`` is the number of neurons.
    errors : DataFrame
        One row for each ``size`` and ``repeat``: ``training_error`` and ``test_error`` of a network
        trained on 70% and tested on 30%.
    """
    shared: dict[str, Any] = {
        "version": [_NETWORK_VERSION, dataset, list(np.shape(X)), max_iter],
        "out": out,
        "n_jobs": n_jobs,
        "progress": progress,
    }
    settings = {"n_repeats": n_repeats, "seed": seed}
    make = partial(_network, max_iter=max_iter)
    accuracies = run_blocks(
        partial(_size_block, X=X, y=y, make=make),
        list(sizes),
        study="pmv-hidden-sizes",
        settings={**settings, "noise_levels": list(noise_levels)},
        **shared,
    )
    errors = run_blocks(
        partial(_error_block, X=X, y=y, make=make),
        list(sizes),
        study="pmv-error-curve",
        settings=settings,
        **shared,
    )
    return accuracies, errors


@steady_fits()
def _depth_block(
    block: int,
    *,
    X: Any,
    y: Any,
    depths: Sequence[int],
    noise_levels: Sequence[float],
    seed: int,
) -> pd.DataFrame:
    rows = []
    for i, level in enumerate(noise_levels):
        # the keys of `perturbed_model_validation`
        key = np.random.SeedSequence(seed, spawn_key=(block * len(noise_levels) + i,))
        flip_rng, model_rng = (np.random.default_rng(child) for child in key.spawn(2))
        labels = flip_labels(y, level, flip_rng)
        tree = with_random_states(DecisionTreeClassifier(max_depth=max(depths)), model_rng)
        scores = nested_accuracies(tree.fit(X, labels), X, labels, depths)
        rows += [(d, block, level, score) for d, score in zip(depths, scores, strict=True)]
    return pd.DataFrame(rows, columns=["size", "repeat", "noise_level", "accuracy"])


def nested_accuracies(
    tree: DecisionTreeClassifier, X: Any, y: Any, depths: Sequence[int]
) -> NDArray[np.float64]:
    """Return the accuracies of the tops of a tree.

    Parameters
    ----------
    tree : DecisionTreeClassifier
        Fitted.
    X, y : arrays of shape (n_samples, n_features) and (n_samples,)
    depths : sequence of int
        Where the tree is cut; a cut below its leaves leaves it whole.

    Returns
    -------
    ndarray of shape (n_depths,)

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


def _network(size: int, *, max_iter: int) -> MLPClassifier:
    return MLPClassifier((size,), max_iter=max_iter)


@steady_fits()
def _size_block(
    block: int,
    *,
    X: Any,
    y: Any,
    make: Any,
    noise_levels: Sequence[float],
    n_repeats: int,
    seed: int,
) -> pd.DataFrame:
    result = perturbed_model_validation(
        make(block),
        X,
        y,
        noise_levels=noise_levels,
        n_repeats=n_repeats,
        random_state=seed,
    )
    frame = result.to_frame()
    frame.insert(0, "size", block)
    return frame


@steady_fits()
def _error_block(
    block: int, *, X: Any, y: Any, make: Any, n_repeats: int, seed: int
) -> pd.DataFrame:
    rows = []
    for repeat in range(n_repeats):
        split, weights = np.random.SeedSequence(seed, spawn_key=(repeat,)).generate_state(2)
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=0.3, stratify=y, random_state=int(split)
        )
        model = make(block).set_params(random_state=int(weights))
        model.fit(X_train, y_train)
        errors = 1 - model.score(X_train, y_train), 1 - model.score(X_test, y_test)
        rows.append((block, repeat, *errors))
    return pd.DataFrame(rows, columns=["size", "repeat", "training_error", "test_error"])


def slopes(accuracies: pd.DataFrame, levels: Sequence[float] | None = None) -> pd.DataFrame:
    """Fit the slope of each size and repeat, from all noise levels or from some.

    Parameters
    ----------
    accuracies : DataFrame
        From `run_depths` or `run_hidden_sizes`.
    levels : sequence of float, optional
        Two or more of its noise levels; all by default.

    Returns
    -------
    DataFrame
        ``size``, ``repeat``, ``slope`` (absolute), and ``picked``: whether it is the largest of
        its repeat. Of equal slopes the smallest size is picked.
    """
    used = accuracies if levels is None else accuracies[accuracies["noise_level"].isin(levels)]
    wide = used.pivot_table(index="noise_level", columns=["size", "repeat"], values="accuracy")
    fitted = np.abs(np.polyfit(wide.index.to_numpy(), wide.to_numpy(), 1)[0])
    # slopes that differ by rounding alone are equal
    table = pd.DataFrame({"slope": fitted.round(12)}, index=wide.columns).reset_index()
    table = table.sort_values(["repeat", "size"], ignore_index=True)
    table["picked"] = table.index.isin(table.groupby("repeat")["slope"].idxmax())
    return table


def grid_search_depths(
    X: Any,
    y: Any,
    *,
    dataset: str,
    depths: Sequence[int] = DEPTHS,
    n_repeats: int = 5,
    folds: str = "stratified",
    seed: int = 20190524,
    n_jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> list[int]:
    """Choose the depth by grid search with ten folds, again and again.

    Parameters
    ----------
    X, y : arrays of shape (n_samples, n_features) and (n_samples,)
    dataset : str
        Name of the data; shards of one name must hold one data set.
    depths : sequence of int
    n_repeats : int, default=5
    folds : {"stratified", "in order", "shuffled"}, default="stratified"
        How the ten folds are cut: as `GridSearchCV` does by itself; as runs of consecutive rows; or
        anew in each run, stratified. Only with the last do runs differ by more than the trees'
        seeds.
    seed : int
    n_jobs, out, progress
        As in `studies.kit.results.run_blocks`.

    Returns
    -------
    list of int
        The depth that each run picks: of equal mean accuracies the smallest, as `GridSearchCV`
        does. One deep tree a fold answers for all depths, see `run_depths`.
    """
    return run_blocks(
        partial(_grid_block, X=X, y=y),
        range(n_repeats),
        study="pmv-grid-search",
        settings={"depths": list(depths), "folds": folds, "seed": seed},
        version=[_VERSION, dataset, list(np.shape(X))],
        out=out,
        n_jobs=n_jobs,
        progress=progress,
    )["depth"].tolist()


@steady_fits()
def _grid_block(
    block: int, *, X: Any, y: Any, depths: Sequence[int], folds: str, seed: int
) -> pd.DataFrame:
    tree_seed, fold_seed = _grid_seeds(seed, block)
    scores = []
    for train, test in _ten_folds(folds, fold_seed).split(X, y):
        tree = DecisionTreeClassifier(max_depth=max(depths), random_state=tree_seed)
        tree.fit(X[train], y[train])
        scores.append(nested_accuracies(tree, X[test], y[test], depths))
    means = np.mean(scores, axis=0).round(12)  # means that differ by rounding alone are equal
    best = min(depth for depth, mean in zip(depths, means, strict=True) if mean == means.max())
    return pd.DataFrame({"run": [block], "depth": [best]})


def _grid_seeds(seed: int, run: int) -> tuple[int, int]:
    tree_seed, fold_seed = np.random.SeedSequence(seed, spawn_key=(run,)).generate_state(2)
    return int(tree_seed), int(fold_seed)


def tree_gaps(
    X: Any,
    y: Any,
    *,
    dataset: str,
    n_repeats: int = 5,
    folds: str = "in order",
    seed: int = 20190524,
    n_jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> NDArray[np.float64]:
    """Measure the gap of an unlimited tree under ten-fold cross-validation, again and again.

    Parameters
    ----------
    X, y : arrays of shape (n_samples, n_features) and (n_samples,)
    dataset : str
        Name of the data; shards of one name must hold one data set.
    n_repeats : int, default=5
    folds : {"in order", "stratified", "shuffled"}, default="in order"
        As in `grid_search_depths`; the paper's Table 1 was made with folds in order.
    seed : int
    n_jobs, out, progress
        As in `studies.kit.results.run_blocks`.

    Returns
    -------
    ndarray of shape (n_repeats,)
        Mean training less mean test accuracy.
    """
    return run_blocks(
        partial(_gap_block, X=X, y=y),
        range(n_repeats),
        study="pmv-tree-gaps",
        settings={"folds": folds, "seed": seed},
        version=[_VERSION, dataset, list(np.shape(X))],
        out=out,
        n_jobs=n_jobs,
        progress=progress,
    )["gap"].to_numpy()


@steady_fits()
def _gap_block(block: int, *, X: Any, y: Any, folds: str, seed: int) -> pd.DataFrame:
    tree_seed, fold_seed = _grid_seeds(seed, block)
    scores = cross_validate(
        DecisionTreeClassifier(random_state=tree_seed),
        X,
        y,
        cv=_ten_folds(folds, fold_seed),
        return_train_score=True,
    )
    gap = scores["train_score"].mean() - scores["test_score"].mean()
    return pd.DataFrame({"run": [block], "gap": [gap]})


def _ten_folds(folds: str, seed: int) -> KFold | StratifiedKFold:
    if folds == "shuffled":
        return StratifiedKFold(10, shuffle=True, random_state=seed)
    if folds not in {"in order", "stratified"}:
        raise ValueError(
            f"folds must be one of 'in order', 'stratified', 'shuffled', got {folds!r}."
        )
    return KFold(10) if folds == "in order" else StratifiedKFold(10)


def level_picks(accuracies: pd.DataFrame, n_levels: int = 2) -> pd.DataFrame:
    """Say which size each choice of few noise levels picks (section 4).

    Parameters
    ----------
    accuracies : DataFrame
        From `run_depths` or `run_hidden_sizes`; level 0 must be among its levels.
    n_levels : int, default=2
        How many levels above 0 are used beside the data as they are.

    Returns
    -------
    DataFrame
        One row for each choice of levels and ``repeat``: ``levels``, ``picked``, and
        ``picked_by_all``, the size that all levels pick.

    Raises
    ------
    ValueError
        If level 0 is not there.
    """
    every = sorted(set(accuracies["noise_level"].tolist()))
    if every[0] != 0:
        raise ValueError(f"accuracies must hold noise level 0, got {every}.")
    by_all = _picked(slopes(accuracies))
    rows = []
    for chosen in combinations(every[1:], n_levels):
        picked = _picked(slopes(accuracies, [0.0, *chosen]))
        rows += [
            (tuple(float(level) for level in chosen), repeat, size, by_all[repeat])
            for repeat, size in picked.items()
        ]
    return pd.DataFrame(rows, columns=["levels", "repeat", "picked", "picked_by_all"])


def _picked(table: pd.DataFrame) -> dict[int, int]:
    chosen = table[table["picked"]]
    return dict(zip(chosen["repeat"], chosen["size"], strict=True))


def line_fit(accuracies: pd.DataFrame) -> pd.DataFrame:
    """Say how straight accuracy falls in the noise (section 2.1).

    Parameters
    ----------
    accuracies : DataFrame
        From `run_depths` or `run_hidden_sizes`.

    Returns
    -------
    DataFrame
        One row for each ``size`` and ``repeat``: ``slope`` (signed), ``r_squared`` of the line,
        ``largest_residual`` from it, and ``bend``, how far the fitted parabola lies below its own
        chord at the middle of the range, in accuracy (negative: above).
    """
    rows = []
    for (size, repeat), run in accuracies.groupby(["size", "repeat"]):
        levels, values = run["noise_level"].to_numpy(), run["accuracy"].to_numpy()
        slope, intercept = np.polyfit(levels, values, 1)
        residuals = values - slope * levels - intercept
        spread = ((values - values.mean()) ** 2).sum()
        curvature = np.polyfit(levels, values, 2)[0]
        rows.append(
            {
                "size": size,
                "repeat": repeat,
                "slope": slope,
                "r_squared": 1 - (residuals**2).sum() / spread if spread > 0 else np.nan,
                "largest_residual": np.abs(residuals).max(),
                "bend": curvature * np.ptp(levels) ** 2 / 4,
            }
        )
    return pd.DataFrame(rows)
