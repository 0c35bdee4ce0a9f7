"""Tuning by PMV and by grid search, against loops written out and curves with known answers."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from pvf.pmv import perturbed_model_validation
from studies.pmv2019 import tuning

LEVELS = [0.0, 0.2, 0.5]


@pytest.fixture(name="data", scope="module")
def _data():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:150, :6], y[:150]


@pytest.fixture(name="depths", scope="module")
def _depths(data):
    return tuning.run_depths(
        *data, dataset="part", depths=[1, 3, 30], noise_levels=LEVELS, n_repeats=4
    )


def curves(**lines):
    """Accuracies for sizes of one repeat each: ``s3=[...]`` is size 3 over levels 0, 0.25, 0.5."""
    rows = [
        (int(name[1:]), 0, level, value)
        for name, values in lines.items()
        for level, value in zip([0.0, 0.25, 0.5], values, strict=True)
    ]
    return pd.DataFrame(rows, columns=["size", "repeat", "noise_level", "accuracy"])


def test_depths_hold_pmv_of_each_tree(depths, data):
    """The accuracies of depth 3 are those of perturbed_model_validation with the same seed."""
    result = perturbed_model_validation(
        DecisionTreeClassifier(max_depth=3),
        *data,
        noise_levels=LEVELS,
        n_repeats=4,
        random_state=20190524,
    )
    of_depth = depths[depths["size"] == 3]
    assert of_depth["accuracy"].tolist() == result.accuracies.ravel().tolist()
    fitted = tuning.slopes(depths).query("size == 3").sort_values("repeat")["slope"]
    assert fitted.tolist() == pytest.approx(np.abs(result.slopes), abs=1e-10)


def test_an_unlimited_tree_is_flat(depths):
    """Depth 30 on 150 rows memorises: slope 0 in every repeat."""
    assert (tuning.slopes(depths).query("size == 30")["slope"] == 0).all()


def test_the_largest_slope_is_picked_once_a_repeat(depths):
    """Each repeat picks one size, the one with the largest slope."""
    table = tuning.slopes(depths)
    for _, run in table.groupby("repeat"):
        assert run["picked"].sum() == 1
        assert run.loc[run["picked"], "slope"].item() == run["slope"].max()


def test_of_equal_slopes_the_smallest_size_is_picked():
    """Equal curves tie, even where rounding tells them apart."""
    table = tuning.slopes(curves(s7=[0.9, 0.8, 0.7], s2=[1.0, 0.9, 0.8], s5=[0.8, 0.7, 0.6]))
    assert table.loc[table["picked"], "size"].tolist() == [2]


def test_few_levels_use_those_levels_alone():
    """With levels 0 and 0.25 the early faller wins; with 0 and 0.5 the late one."""
    accuracies = curves(s1=[1.0, 0.7, 0.7], s2=[1.0, 0.9, 0.5])
    one = tuning.level_picks(accuracies, n_levels=1).set_index("levels")
    assert one.loc[[(0.25,)], "picked"].tolist() == [1]
    assert one.loc[[(0.5,)], "picked"].tolist() == [2]
    assert (one["picked_by_all"] == 2).all()
    both = tuning.level_picks(accuracies, n_levels=2)
    assert both["picked"].tolist() == [2]


def test_few_levels_need_the_data_as_they_are():
    """Without level 0 there is nothing to fall from."""
    with pytest.raises(
        ValueError, match=r"accuracies must hold noise level 0, got \[0\.25, 0\.5\]"
    ):
        tuning.level_picks(curves(s1=[1, 1, 1]).query("noise_level > 0"))


def test_straight_and_bent_curves_are_told_apart():
    """A line has no bend; a parabola's bend is its depth below the chord; flat has no R²."""
    table = tuning.line_fit(
        curves(s1=[1.0, 0.8, 0.6], s2=[1.0, 0.7, 0.6], s3=[1.0, 1.0, 1.0])
    ).set_index("size")
    assert table.loc[1, ["slope", "r_squared", "bend"]].tolist() == pytest.approx([-0.8, 1, 0])
    # chord at the middle 0.8, curve 0.7
    assert table.loc[2, "bend"] == pytest.approx(0.1)
    expected = stats.linregress([0, 0.25, 0.5], [1.0, 0.7, 0.6])
    assert table.loc[2, "r_squared"] == pytest.approx(expected.rvalue**2)
    # residuals of three points are 1 : -2 : 1
    assert table.loc[2, "largest_residual"] == pytest.approx(0.1 * 2 / 3)
    assert np.isnan(table.loc[3, "r_squared"])
    assert table.loc[3, "bend"] == pytest.approx(0)


def test_grid_search_picks_the_best_mean_of_ten_folds(data):
    """Each run's depth is the argmax of cross_val_score with that run's seed."""
    picked = tuning.grid_search_depths(
        *data, dataset="part", depths=[1, 2, 4], n_repeats=3, folds="shuffled"
    )
    for key, depth in zip(np.random.SeedSequence(20190524).spawn(3), picked, strict=True):
        tree_seed, fold_seed = (int(state) for state in key.generate_state(2))
        folds = StratifiedKFold(10, shuffle=True, random_state=fold_seed)
        means = [
            cross_val_score(
                DecisionTreeClassifier(max_depth=d, random_state=tree_seed), *data, cv=folds
            ).mean()
            for d in (1, 2, 4)
        ]
        assert depth == (1, 2, 4)[int(np.argmax(means))]


@pytest.mark.parametrize(
    ("folds", "cut"), [("in order", KFold(10)), ("stratified", StratifiedKFold(10))], ids=str
)
def test_gap_of_an_unlimited_tree_is_its_test_error(data, folds, cut):
    """Training accuracy is 1, so the gap is one less the mean test accuracy."""
    gaps = tuning.tree_gaps(*data, dataset="part", n_repeats=2, folds=folds)
    for key, gap in zip(np.random.SeedSequence(20190524).spawn(2), gaps, strict=True):
        tree = DecisionTreeClassifier(random_state=int(key.generate_state(2)[0]))
        scores = cross_val_score(tree, *data, cv=cut)
        assert gap == pytest.approx(1 - scores.mean(), abs=1e-12)


def test_breast_cancer_has_the_papers_gap():
    """Over folds in order the paper's 0.068 lies among ten runs of the unlimited tree."""
    gaps = tuning.tree_gaps(*load_breast_cancer(return_X_y=True), dataset="b", n_repeats=10)
    assert gaps.min() <= 0.068 <= gaps.max()


def test_unknown_folds_are_named(data):
    """A way of cutting folds that is not there ends in a ValueError."""
    with pytest.raises(ValueError, match=r"folds must be one of .*got 'random'"):
        tuning.tree_gaps(*data, dataset="part", folds="random")


def test_network_errors_and_slopes_have_their_settings():
    """Sizes reach the network, and the error curve is of a 70:30 split."""
    X, y = load_digits(n_class=2, return_X_y=True)
    arguments = {"dataset": "digits", "sizes": [2, 5], "noise_levels": LEVELS, "max_iter": 10}
    accuracies, errors = tuning.run_hidden_sizes(X / 16, y, **arguments)
    assert accuracies.groupby("size").size().to_dict() == {2: 3, 5: 3}
    assert errors["size"].tolist() == [2, 5]
    again, _ = tuning.run_hidden_sizes(X / 16, y, **arguments, n_jobs=2)
    pd.testing.assert_frame_equal(accuracies, again, check_exact=True)
    # 108 of 360 rows are tested, so errors are multiples of 1/108 and 1/252
    for part, size in (("test_error", 108), ("training_error", 252)):
        assert errors[part].to_numpy() * size == pytest.approx(np.rint(errors[part] * size))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_network_is_scikit_learns(data):
    """One accuracy equals a network fitted by hand with the seeds of the run."""
    X, y = data
    X = X / X.max(axis=0)
    accuracies, _ = tuning.run_hidden_sizes(
        X, y, dataset="part", sizes=[4], noise_levels=LEVELS, max_iter=15, seed=5
    )
    result = perturbed_model_validation(
        MLPClassifier((4,), max_iter=15), X, y, noise_levels=LEVELS, random_state=5
    )
    assert accuracies["accuracy"].tolist() == result.accuracies.ravel().tolist()


def test_memorisers_are_flat_and_the_constant_falls_with_the_imbalance(data):
    """Slopes with a closed form: 0 for tree and 1-NN, −(2a − 1) for always the larger class."""
    X, y = data
    table = tuning.memoriser_slopes(X, y, noise_levels=[0, 0.5], n_repeats=2).set_index("learner")
    for flat in ("tree, unlimited", "nearest neighbour"):
        assert table.loc[flat, ["slope", "first", "last"]].tolist() == [0, 1, 1]
    assert table.loc["forest of 100 unlimited trees", "slope"] > -0.05
    assert table.loc["tree, depth 5", "slope"] < -0.1
    larger = max(y.mean(), 1 - y.mean())
    # at one half rounding leaves the classes at most one apart
    constant = table.loc["always the larger class"]
    assert constant["first"] == pytest.approx(larger)
    assert constant["last"] == pytest.approx(0.5, abs=1 / len(y))
    assert constant["slope"] == pytest.approx((constant["last"] - constant["first"]) / 0.5)


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


def test_learners_can_be_chosen(data):
    """Only the learners named are run."""
    found = tuning.memoriser_slopes(*data, learners=["nearest neighbour"], n_repeats=2)
    assert found["learner"].tolist() == ["nearest neighbour"]
