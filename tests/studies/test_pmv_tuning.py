"""Tuning by PMV and by grid search, against loops written out and curves with known answers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from pvf.pmv import PAPER_NOISE_LEVELS, perturbed_model_validation
from studies.data import datasets
from studies.pmv2019 import tuning

SEED = 20190524


@pytest.fixture(name="data", scope="module")
def _data():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:150, :6], y[:150]


@pytest.fixture
def part(monkeypatch, data):
    """Let the tuning experiments have a small data set."""
    monkeypatch.setattr(tuning, "tuning_data", lambda _: tuning.TuningData(*data))


def curves(**lines):
    """Accuracies for sizes of one run each: ``s3=[...]`` is size 3 over levels 0, 0.25, 0.5."""
    rows = [
        {"dataset": "made up", "size": int(name[1:]), "repeat": 0}
        | {f"at {level:g}": value for level, value in zip([0, 0.25, 0.5], values, strict=True)}
        for name, values in lines.items()
    ]
    return pd.DataFrame(rows)


def test_depths_hold_pmv_of_each_tree(part, data):
    """The accuracies of depth 3 are those of perturbed_model_validation with the same seed."""
    rows = pd.concat([tuning.depth_block(("part", run), tuning.TuningSettings()) for run in (0, 1)])
    result = perturbed_model_validation(
        DecisionTreeClassifier(max_depth=3),
        *data,
        noise_levels=PAPER_NOISE_LEVELS,
        n_repeats=2,
        random_state=SEED,
    )
    of_depth = rows[rows["size"] == 3]
    accuracies = of_depth.filter(like="at ").to_numpy()
    assert accuracies == pytest.approx(result.accuracies, abs=1e-6)
    assert tuning.slopes(of_depth) == pytest.approx(np.abs(result.slopes), abs=1e-5)
    # depth 20 on 150 rows memorises
    assert (tuning.slopes(rows[rows["size"] == 20]) < 0.02).all()
    ordered = tuning.DEPTHS.summarise(rows.iloc[::-1])
    assert ordered["size"].is_monotonic_increasing
    assert ordered["repeat"].tolist() == [0, 1] * 20


def test_of_equal_slopes_the_smallest_size_is_picked():
    """Equal curves tie, even where rounding tells them apart."""
    table = curves(s7=[0.9, 0.8, 0.7], s2=[1.0, 0.9, 0.8], s5=[0.8, 0.7, 0.6])
    assert tuning.picked_sizes(table).tolist() == [2]


def test_few_levels_use_those_levels_alone():
    """With levels 0 and 0.25 the early faller wins; with 0 and 0.5, and with all, the late one."""
    table = curves(s1=[1.0, 0.7, 0.7], s2=[1.0, 0.9, 0.5])
    assert tuning.picked_sizes(table, [0, 0.25]).tolist() == [1]
    assert tuning.picked_sizes(table, [0, 0.5]).tolist() == [2]
    assert tuning.picked_sizes(table).tolist() == [2]


def test_straight_and_bent_curves_are_told_apart():
    """A line leaves nothing; residuals of three points are 1 : -2 : 1."""
    table = curves(s1=[1.0, 0.8, 0.6], s2=[1.0, 0.7, 0.6])
    assert tuning.largest_residuals(table) == pytest.approx([0, 0.1 * 2 / 3])
    assert tuning.slopes(table)[1] == pytest.approx(
        -stats.linregress([0, 0.25, 0.5], [1.0, 0.7, 0.6]).slope
    )


def test_grid_search_picks_the_best_mean_of_ten_folds(part, data):
    """A run's depth is the argmax of cross_val_score with that run's seed."""
    depth = tuning.grid_block(("part", "shuffled", 1), tuning.TuningSettings())["depth"].item()
    key = np.random.SeedSequence(SEED).spawn(2)[1]
    tree_seed, fold_seed = (int(state) for state in key.generate_state(2))
    folds = StratifiedKFold(10, shuffle=True, random_state=fold_seed)
    means = [
        cross_val_score(
            DecisionTreeClassifier(max_depth=d, random_state=tree_seed), *data, cv=folds
        ).mean()
        for d in range(1, 21)
    ]
    assert depth == 1 + int(np.argmax(np.round(means, 12)))


@pytest.mark.parametrize(
    ("folds", "cut"), [("in order", KFold(10)), ("stratified", StratifiedKFold(10))], ids=str
)
def test_gap_of_an_unlimited_tree_is_its_test_error(part, data, folds, cut):
    """Training accuracy is 1, so the gap is one less the mean test accuracy."""
    gap = tuning.gap_block(("part", folds, 0), tuning.GapSettings())["gap"].item()
    key = np.random.SeedSequence(SEED).spawn(1)[0]
    tree = DecisionTreeClassifier(random_state=int(key.generate_state(2)[0]))
    assert gap == pytest.approx(1 - cross_val_score(tree, *data, cv=cut).mean(), abs=1e-6)


def test_network_errors_and_slopes_have_their_settings():
    """The network is scikit-learn's with the run's seed; errors are of a 70:30 split."""
    settings = tuning.NetworkSettings(n_digits_runs=1, sizes=(3,), max_iter=5)
    found = tuning.network_block(("digits 0 and 1", 3), settings)
    X, y = load_digits(n_class=2, return_X_y=True)
    with warnings.catch_warnings(action="ignore"):
        result = perturbed_model_validation(
            MLPClassifier((3,), max_iter=5),
            X / 16,
            y,
            noise_levels=PAPER_NOISE_LEVELS,
            random_state=SEED,
        )
    accuracies = found.filter(like="at ").to_numpy()
    assert accuracies == pytest.approx(result.accuracies, abs=1e-6)
    # 108 of 360 rows are tested, so errors are multiples of 1/108 and 1/252
    for name, size in (("test_error", 108), ("training_error", 252)):
        assert found[name].to_numpy() * size == pytest.approx(np.rint(found[name] * size), abs=1e-3)


def test_memorisers_are_flat_and_the_constant_falls_with_the_imbalance(part, data):
    """Slopes with a closed form: 0 for tree and 1-NN, −(2a − 1) for always the larger class."""
    settings = tuning.MemoriserSettings(noise_levels=(0.0, 0.5))
    names = ["tree, unlimited", "nearest neighbour", "tree, depth 5", "always the larger class"]
    rows = [tuning.memoriser_block(("part", name), settings) for name in names]
    table = pd.concat(rows).set_index("learner")
    for flat in names[:2]:
        assert table.loc[flat, ["slope", "first", "last"]].tolist() == [0, 1, 1]
    assert table.loc["tree, depth 5", "slope"] < -0.1
    y = data[1]
    # at one half rounding leaves the classes at most one apart
    constant = table.loc["always the larger class"]
    assert constant["first"] == pytest.approx(max(y.mean(), 1 - y.mean()), abs=1e-6)
    assert constant["last"] == pytest.approx(0.5, abs=1 / len(y))
    assert constant["slope"] == pytest.approx(
        (constant["last"] - constant["first"]) / 0.5, abs=1e-5
    )


def test_tuning_data_are_numbers_and_labels():
    """Breast cancer and the digits are scikit-learn's, grey values between 0 and 1."""
    X, y = tuning.tuning_data("breast-cancer")
    expected = load_breast_cancer()
    assert sorted(X.sum(axis=0)) == pytest.approx(sorted(expected.data.sum(axis=0)))
    assert sorted(np.bincount(y)) == sorted(np.bincount(expected.target))
    X, y = tuning.tuning_data("digits 0 and 1")
    assert np.array_equal(X * 16, load_digits(n_class=2).data)
    with pytest.raises(ValueError, match="iris"):
        tuning.tuning_data("iris")


def test_optional_data_are_left_out_where_they_are_absent(monkeypatch):
    """Absent Connect-4 leaves no block, and trees alone meet the data that are for trees."""

    def absent():
        raise datasets.DataUnavailableError("not here")

    monkeypatch.setattr(datasets, "load_connect4", absent)
    settings = tuning.GapSettings(where_present=("connect-4",), n_repeats=2)
    assert {key[0] for key in tuning.TREE_GAPS.blocks(settings)} == {"breast-cancer"}
    keys = tuning.MEMORISERS.blocks(tuning.MemoriserSettings(trees_only=("adult",)))
    assert [name for data, name in keys if data == "adult"] == ["tree, unlimited", "tree, depth 5"]


def test_mixed_tables_become_numbers():
    """Ordered categories keep their order, others go by the alphabet, a gap is -1."""
    frame = pd.DataFrame(
        {
            "age": [30, 40, 50],
            "school": pd.Categorical(["low", "high", "low"], ["low", "high"], ordered=True),
            "job": ["nurse", None, "cook"],
        }
    )
    assert tuning.as_numbers(frame).tolist() == [[30, 0, 1], [40, 1, -1], [50, 0, 0]]


def test_tops_of_a_tree_are_trees_of_their_own():
    """Without equally good splits, a tree cut at d predicts as one grown to d, on any data."""
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(400, 3)), rng.normal(size=(300, 3))
    y, y_new = rng.integers(2, size=400), rng.integers(2, size=300)
    whole = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    depths = [4, 1, 2, 3]
    for rows, labels in ((X, y), (X_new, y_new)):
        grown = [
            DecisionTreeClassifier(max_depth=d, random_state=1).fit(X, y).score(rows, labels)
            for d in depths
        ]
        assert tuning.nested_accuracies(whole, rows, labels, depths).tolist() == grown
    assert tuning.nested_accuracies(whole, X, y, [50])[0] == whole.score(X, y)
