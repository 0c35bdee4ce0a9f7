"""The full-scale result tables of the PMV chapter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from studies.data import datasets
from studies.kit.results import results_folder
from studies.pmv2019 import rules as pmv_comparison
from studies.pmv2019 import table1 as pmv
from studies.pmv2019 import tuning as pmv_tuning

__all__ = [
    "DISTANCE_COLUMNS",
    "depths",
    "distances",
    "grid_depths",
    "hidden_sizes",
    "memorisers",
    "paper_table",
    "picks",
    "rules",
    "search_distances",
    "table1",
    "tree_gaps",
    "tuning_data",
    "wide",
]


class TuningData(NamedTuple):
    """Features as numbers, and labels."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]


def tuning_data(name: str) -> TuningData:
    """Load the data of a tuning experiment, coded for trees and networks.

    Parameters
    ----------
    name : str
        "breast-cancer", "adult" (the training part), "adult, 5%" (a stratified sample of it),
        "connect-4", "digits 0 and 1" (scikit-learn's, 8 × 8) or "MNIST 0 and 1" (the part of
        10,000 images); grey values run from 0 to 1.

    Returns
    -------
    TuningData

    Raises
    ------
    ValueError
        If there are no such data.
    DataUnavailableError
        If they are not on this machine and cannot be downloaded.

    Examples
    --------
    >>> tuning_data("digits 0 and 1").X.shape
    (360, 64)
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
    X, y = pmv_tuning.as_numbers(data.X), data.y.to_numpy()
    if name == "adult, 5%":
        X, _, y, _ = train_test_split(X, y, train_size=0.05, stratify=y, random_state=0)
    return TuningData(X, y)


def _present(names: Sequence[str], optional: Sequence[str]) -> list[tuple[str, TuningData]]:
    """Load all `names`, and of `optional` what is on this machine."""
    found = [(name, tuning_data(name)) for name in names]
    for name in optional:
        try:
            found.append((name, tuning_data(name)))
        except datasets.DataUnavailableError:
            continue
    return found


def paper_table() -> pd.DataFrame:
    """Return the paper's Table 1, as transcribed in ``book/results/paper``.

    Returns
    -------
    DataFrame
        From `pmv.read_paper_table`.
    """
    return pmv.read_paper_table(results_folder() / "paper" / "pmv_table1.csv")


def table1(*, n_repeats: int, n_repeats_today: int, **arguments: Any) -> pd.DataFrame:
    """Compute Table 1 at the closest setting, with both algorithms of AdaBoost.

    Parameters
    ----------
    n_repeats, n_repeats_today : int
        Runs; and runs of today's AdaBoost, which is slow.
    **arguments
        Of `pmv.tables`.

    Returns
    -------
    DataFrame
        As `pmv.table`, with the column ``boosting``; today's AdaBoost has rows of its own.
    """
    ours = pmv.table(n_repeats=n_repeats, **arguments).assign(boosting="SAMME.R")
    today = pmv.table(
        replace(pmv.CLOSEST, boosting="SAMME"),
        models=["AdaBoost"],
        n_repeats=n_repeats_today,
        **arguments,
    ).assign(boosting="SAMME")
    return pd.concat([ours, today], ignore_index=True).round(6)


#: What `distances` says of each setting, for seven models and for the six without the costly one.
DISTANCE_COLUMNS = ("distance", *pmv.MEASURES, "cells", "same_digits")


def search_distances(*, sizes: Sequence[int], **arguments: Any) -> pd.DataFrame:
    """Say how far Table 1 lies from the paper's under each likely setting.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of samples.
    **arguments
        Of `pmv.tables`.

    Returns
    -------
    DataFrame
        As `distances`.
    """
    ours = pmv.tables(pmv.settings_to_search(sizes), **arguments)
    return distances(ours, paper_table()).round(6)


def distances(ours: pd.DataFrame, paper: pd.DataFrame) -> pd.DataFrame:
    """Measure the distance over the cells of all models, and over those without Gaussian process.

    Parameters
    ----------
    ours : DataFrame
        From `pmv.tables`; large sizes have no Gaussian process.
    paper : DataFrame
        From `paper_table`.

    Returns
    -------
    DataFrame
        One row per setting, closest first by ``at_least``: its fields; `DISTANCE_COLUMNS` over the
        cells that were computed; ``distance_six``, the distance over the six models that every
        setting has; and ``at_least``, a distance over all cells that the setting cannot go below,
        whatever the cells hold that were not computed.
    """
    names = [column for column in ours.columns if column in pmv.TableSetting.__dataclass_fields__]
    rows = []
    six = [model for model in pmv.MODELS if model != "Gaussian Process"]
    n_cells = len(paper) * len(pmv.MEASURES)
    for _, table in ours.groupby(names, dropna=False, sort=False):
        present = [model for model in pmv.MODELS if model in set(table["model"])]
        row = pmv.distances(table, paper, models=present).iloc[0]
        rows.append(
            {
                **row[names].to_dict(),
                **row[list(DISTANCE_COLUMNS)].to_dict(),
                "distance_six": pmv.distances(table, paper, models=six)["distance"].iloc[0],
                "at_least": row["distance"] * row["cells"] / n_cells,
            }
        )
    found = pd.DataFrame(rows).sort_values("at_least", kind="stable", ignore_index=True)
    depth_columns = ["tree_depth", "forest_depth"]
    found[depth_columns] = found[depth_columns].astype(float)  # NaN: unlimited
    return found.astype({"cells": int, "same_digits": int})


def picks(**arguments: Any) -> pd.DataFrame:
    """Measure each classifier on many new data sets, rounded for the table.

    Parameters
    ----------
    **arguments
        Of `pmv.run_picks`.

    Returns
    -------
    DataFrame
    """
    return pmv.run_picks(**arguments).round(6)


def memorisers(
    *,
    data: Sequence[str],
    trees_only: Sequence[str],
    where_present: Sequence[str],
    seed: int,
    n_jobs: int | None = None,
    out: Any = None,
    **arguments: Any,
) -> pd.DataFrame:
    """Run PMV on learners that memorise, on several data sets.

    Parameters
    ----------
    data, trees_only, where_present : sequences of str
        Names for `tuning_data`: with all learners; with trees alone; the same, where the data are
        on this machine.
    seed, n_jobs
        As in `pmv_tuning.memoriser_slopes`.
    out
        Not used; it takes seconds.
    **arguments
        Of `pmv_tuning.memoriser_slopes`.

    Returns
    -------
    DataFrame
        Its columns after ``dataset``.
    """
    del out
    trees = [name for name in pmv_tuning.MEMORISERS if name.startswith("tree")]
    frames = []
    for name, (X, y) in _present([*data, *trees_only], where_present):
        found = pmv_tuning.memoriser_slopes(
            X,
            y,
            learners=None if name in data else trees,
            seed=seed,
            n_jobs=n_jobs,
            **arguments,
        )
        found.insert(0, "dataset", name)
        frames.append(found)
    return pd.concat(frames, ignore_index=True).round(6)


def tree_gaps(
    *, data: Sequence[str], where_present: Sequence[str], n_repeats: int, **arguments: Any
) -> pd.DataFrame:
    """Measure the gap of an unlimited tree, for each way to cut folds.

    Parameters
    ----------
    data, where_present : sequences of str
        Names for `tuning_data`, the latter where they are on this machine.
    n_repeats : int
        Runs.
    **arguments
        Of `pmv_tuning.tree_gaps`.

    Returns
    -------
    DataFrame
        ``dataset, folds, run, gap``.
    """
    rows = []
    for name, (X, y) in _present(data, where_present):
        for folds in ("in order", "stratified", "shuffled"):
            gaps = pmv_tuning.tree_gaps(
                X, y, dataset=name, folds=folds, n_repeats=n_repeats, **arguments
            )
            rows += [(name, folds, run, gap) for run, gap in enumerate(gaps)]
    return pd.DataFrame(rows, columns=["dataset", "folds", "run", "gap"]).round(6)


def wide(accuracies: pd.DataFrame) -> pd.DataFrame:
    """Put the noise levels side by side: one row per size and repeat.

    Parameters
    ----------
    accuracies : DataFrame
        From `pmv_tuning.run_depths` or `pmv_tuning.run_hidden_sizes`.

    Returns
    -------
    DataFrame
        ``size, repeat`` and one column per level, such as ``at 0.05``.
    """
    table = accuracies.pivot_table(
        index=["size", "repeat"], columns="noise_level", values="accuracy"
    )
    table.columns = [f"at {level:g}" for level in table.columns]
    return table.reset_index()


def depths(
    *, data: Sequence[str], where_present: Sequence[str], n_repeats: int, **arguments: Any
) -> pd.DataFrame:
    """Run PMV over depths of a tree on several data sets.

    Parameters
    ----------
    data, where_present : sequences of str
        Names for `tuning_data`, the latter where they are on this machine.
    n_repeats : int
        Runs.
    **arguments
        Of `pmv_tuning.run_depths`.

    Returns
    -------
    DataFrame
        ``dataset``, then as `wide`.
    """
    frames = []
    for name, (X, y) in _present(data, where_present):
        found = wide(pmv_tuning.run_depths(X, y, dataset=name, n_repeats=n_repeats, **arguments))
        found.insert(0, "dataset", name)
        frames.append(found)
    return pd.concat(frames, ignore_index=True).round(6)


def grid_depths(
    *, data: Sequence[str], where_present: Sequence[str], n_repeats: int, **arguments: Any
) -> pd.DataFrame:
    """Choose the depth of a tree by grid search on several data sets.

    Parameters
    ----------
    data, where_present : sequences of str
        Names for `tuning_data`, the latter where they are on this machine.
    n_repeats : int
        Runs for each way to cut folds.
    **arguments
        Of `pmv_tuning.grid_search_depths`.

    Returns
    -------
    DataFrame
        ``dataset, folds, run, depth``.
    """
    rows = []
    for name, (X, y) in _present(data, where_present):
        for folds in ("stratified", "shuffled"):
            picked = pmv_tuning.grid_search_depths(
                X, y, dataset=name, folds=folds, n_repeats=n_repeats, **arguments
            )
            rows += [(name, folds, run, depth) for run, depth in enumerate(picked)]
    return pd.DataFrame(rows, columns=["dataset", "folds", "run", "depth"])


def hidden_sizes(*, n_repeats: dict[str, int], **arguments: Any) -> pd.DataFrame:
    """Run PMV and the error curve over hidden sizes of a network on several data sets.

    Parameters
    ----------
    n_repeats : dict of str to int
        Runs for each name for `tuning_data`.
    **arguments
        Of `pmv_tuning.run_hidden_sizes`.

    Returns
    -------
    DataFrame
        ``dataset``, then as `wide`, then ``training_error`` and ``test_error``.
    """
    frames = []
    for name, n in n_repeats.items():
        X, y = tuning_data(name)
        accuracies, errors = pmv_tuning.run_hidden_sizes(
            X, y, dataset=name.split()[0].lower(), n_repeats=n, **arguments
        )
        found = wide(accuracies).merge(errors, on=["size", "repeat"], validate="one_to_one")
        found.insert(0, "dataset", name)
        frames.append(found)
    return pd.concat(frames, ignore_index=True).round(6)


def rules(*, problems: Sequence[str], **arguments: Any) -> pd.DataFrame:
    """Hold the rules for choosing a learner against each other on several problems.

    Parameters
    ----------
    problems : sequence of str
        Of `pmv_comparison.PROBLEMS`.
    **arguments
        Of `pmv_comparison.run_rules`.

    Returns
    -------
    DataFrame
        From `pmv_comparison.rule_table`, with ``n``, the number of data sets.
    """
    choices = [pmv_comparison.run_rules(problem, **arguments) for problem in problems]
    n = choices[0]["repetition"].nunique()
    return pmv_comparison.rule_table(pd.concat(choices, ignore_index=True)).round(6).assign(n=n)
