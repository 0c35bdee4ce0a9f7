"""The full-scale tables of the PMV chapter: how they are made, and whether they come out again."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

from studies import catalogue as tables
from studies.data import datasets
from studies.kit.results import read_result
from studies.pmv2019 import rules as pmv_comparison
from studies.pmv2019 import show as pmv_report
from studies.pmv2019 import table1 as pmv
from studies.pmv2019 import tables as pmv_tables
from studies.pmv2019 import tuning as pmv_tuning

SMALL = {"data": ["breast-cancer"], "where_present": [], "seed": 7}


def test_tuning_data_are_numbers_and_labels():
    """Breast cancer and the digits are scikit-learn's, grey values between 0 and 1."""
    X, y = pmv_tables.tuning_data("breast-cancer")
    expected = load_breast_cancer()
    assert sorted(X.sum(axis=0)) == pytest.approx(sorted(expected.data.sum(axis=0)))
    assert sorted(np.bincount(y)) == sorted(np.bincount(expected.target))
    X, y = pmv_tables.tuning_data("digits 0 and 1")
    assert np.array_equal(X * 16, load_digits(n_class=2).data)
    with pytest.raises(ValueError, match="iris"):
        pmv_tables.tuning_data("iris")


def absent(*_, **__):
    """Stand in for a loader whose data are not on this machine."""
    raise datasets.DataUnavailableError("not here")


def test_optional_data_are_left_out_and_demanded_data_are_missed(monkeypatch):
    """Absent Connect-4 leaves no row where it is optional, and raises where it is not."""
    monkeypatch.setattr(datasets, "load_connect4", absent)
    arguments = {**SMALL, "where_present": ["connect-4"], "n_repeats": 1, "depths": [1, 2]}
    found = pmv_tables.depths(**arguments)
    assert set(found["dataset"]) == {"breast-cancer"}
    with pytest.raises(datasets.DataUnavailableError):
        pmv_tables.depths(**{**arguments, "data": ["connect-4"]})


def test_depth_tables_hold_what_the_studies_return():
    """Accuracies, grid searches and gaps of the breast data, run by themselves."""
    X, y = pmv_tables.tuning_data("breast-cancer")
    some = {"depths": [1, 3], "seed": 7, "n_repeats": 2}
    alone = pmv_tuning.run_depths(X, y, dataset="b", **some)
    found = pmv_tables.depths(**SMALL, n_repeats=2, depths=[1, 3])
    again = pmv_report.narrow(found)["accuracy"]
    assert again.tolist() == pytest.approx(alone["accuracy"].tolist(), abs=1e-6)
    grid = pmv_tables.grid_depths(**SMALL, n_repeats=2, depths=[1, 3])
    for folds in ("stratified", "shuffled"):
        picked = pmv_tuning.grid_search_depths(X, y, dataset="b", folds=folds, **some)
        assert grid[grid["folds"] == folds]["depth"].tolist() == picked
    gaps = pmv_tables.tree_gaps(**SMALL, n_repeats=2)
    alone = pmv_tuning.tree_gaps(X, y, dataset="b", n_repeats=2, seed=7)
    assert gaps[gaps["folds"] == "in order"]["gap"].tolist() == pytest.approx(alone, abs=1e-6)


def test_trees_only_means_trees_only():
    """The second list of data meets trees alone."""
    found = pmv_tables.memorisers(
        data=[],
        trees_only=["breast-cancer"],
        where_present=[],
        noise_levels=[0, 0.5],
        n_repeats=2,
        seed=0,
    )
    assert found["learner"].tolist() == ["tree, unlimited", "tree, depth 5"]


def test_rules_table_counts_its_data_sets():
    """Nine rows for one problem, and the number of data sets."""
    found = pmv_tables.rules(problems=["moon"], n_repetitions=2, n_reruns=2, n_fresh=200, seed=3)
    assert found["rule"].tolist() == [*pmv_comparison.RULES, "any"]
    assert (found["n"] == 2).all()


def test_some_of_table1_comes_out_again():
    """Naive Bayes and the RBF SVM of the committed table, computed anew."""
    committed, facts = read_result("pmv_table1")
    models = ["Naive Bayes", "RBF SVM"]
    again = pmv.table(models=models, n_repeats=facts["settings"]["n_repeats"], seed=facts["seed"])
    keys = ["distribution", "model", "noise"]
    both = committed.merge(again, on=keys, suffixes=("", "_again"))
    assert len(both) == len(again) == 18
    for measure in pmv.MEASURES:
        assert both[measure].to_numpy() == pytest.approx(both[f"{measure}_again"], abs=0.002)


def test_first_data_sets_of_the_committed_picks_come_out_again():
    """The first seed, by naive Bayes, computed anew."""
    committed, facts = read_result("pmv_picks")
    orders = facts["settings"]["n_orders"]
    again = pmv.run_picks(n_seeds=1, n_orders=orders, models=["Naive Bayes"], seed=facts["seed"])
    keys = ["seed", "distribution", "noise", "model"]
    both = committed.merge(again, on=keys, suffixes=("", "_again"))
    assert len(both) == len(again) == 7
    for value in (*pmv.MEASURES, "true_accuracy"):
        assert both[value].to_numpy() == pytest.approx(both[f"{value}_again"], abs=1e-3)


def test_every_pmv_table_is_registered_and_small():
    """Nine tables are in the registry, and each file has less than a megabyte."""
    names = [name for name in tables.TABLES if name.startswith("pmv_")]
    assert len(names) == 9
    for name in names:
        frame, _ = read_result(name)
        assert len(frame.to_csv()) < 1e6
        assert not frame.isna().all(axis=None)
        assert isinstance(frame, pd.DataFrame)


def test_what_the_pmv_chapter_concludes_holds_in_the_tables():
    """The chapter's sentences on picks, rules, networks and depths, each checked on the results."""
    rates = pmv_report.pooled_rates(read_result("pmv_picks")[0]).groupby("rule")
    means = rates[["fitting", "right", "regret"]].mean()
    assert means.loc["PMV", "fitting"] > 0.8
    assert means.loc["CV accuracy", "fitting"] < 0.5
    assert means.loc["PMV", "right"] < means.loc["CV accuracy", "right"]
    assert means.loc["PMV", "regret"] > means.loc["CV accuracy", "regret"]
    rules = pmv_report.overall(read_result("pmv_rules")[0])
    lost = rules.loc["synthetic", "regret accuracy"]
    assert lost["CV accuracy"] < lost["PVF F1"] < lost["hold-out F1"] < lost["PMV"]
    right = rules.loc["synthetic", "right"]
    assert right["PVF F1"] > right["hold-out F1"]
    clinical = rules.loc["clinical"].drop("any")
    assert clinical["regret F1"].idxmin() == "PMV", "loses the fewest points of F1"
    assert clinical["stable"].idxmax() == "PMV", "repeats its choice most often"
    assert clinical["right"].idxmax() == "CV accuracy", "mostly right by accuracy"
    hidden = read_result("pmv_hidden_sizes")[0]
    for _, table in hidden.groupby("dataset"):
        slopes = pmv_tuning.slopes(pmv_report.narrow(table)).groupby("size")["slope"].mean()
        assert slopes.idxmax() == 10
    cells = read_result("pmv_table1")[0].groupby("boosting")
    assert set(cells.groups) == {"SAMME", "SAMME.R"}
