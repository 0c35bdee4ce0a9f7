"""Perturbed Model Validation against algebra, counts, and a literal loop."""

import dataclasses
import pickle
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_moons
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_info, threadpool_limits

from pvf.pmv import (
    PAPER_NOISE_LEVELS,
    PerturbedModelValidationResult,
    flip_labels,
    perturbed_model_validation,
    pmv_scorer,
)

LEVELS = [0.0, 0.1, 0.25, 0.5]


class Recorder(ClassifierMixin, BaseEstimator):
    """Keeps every label vector it was fitted to, and predicts its first class."""

    seen: list[np.ndarray] = []  # noqa: RUF012  (shared by clones on purpose)

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):  # noqa: ARG002, D102
        Recorder.seen.append(y.copy())
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):  # noqa: D102
        return np.full(len(X), self.classes_[0])


@pytest.fixture(name="moons")
def _moons():
    return make_moons(200, noise=0.2, random_state=0)


@pytest.fixture(name="recorded")
def _recorded():
    Recorder.seen.clear()
    yield Recorder.seen
    Recorder.seen.clear()


# What is flipped


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(10, 60), min_size=2, max_size=5),
    level=st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.5]),
    seed=st.integers(0, 2**32 - 1),
)
def test_each_class_loses_exactly_its_quota(sizes, level, seed):
    """Of each class, round(level × size) labels change, and no others."""
    y = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    flipped = flip_labels(y, level, seed)
    changed = Counter(y[flipped != y].tolist())
    # tenths as integers: the quota in exact arithmetic, halves to even
    tenths = round(level * 10)
    for k, size in enumerate(sizes):
        whole, rest = divmod(tenths * size, 10)
        expected = whole + (rest > 5 or (rest == 5 and whole % 2 == 1))
        assert changed[k] == expected


def test_halves_survive_floating_point():
    """0.35 of 90 is 31.5, which rounds to 32, although the float product is below 31.5."""
    assert 0.35 * 90 < 31.5
    y = np.repeat([0, 1], [90, 90])
    assert (flip_labels(y, 0.35, 0) != y)[:90].sum() == 32


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (["B", "M"], "<U1"),
        ([0, 1], "int64"),
        ([-1, 1], "int64"),
        ([False, True], "bool"),
        (["no", "maybe", "yes"], "<U5"),
    ],
    ids=["letters", "ints", "signs", "booleans", "three words"],
)
def test_labels_keep_their_type_and_set(labels, dtype):
    """Flipped labels come from the same classes and have the same dtype."""
    y = np.tile(labels, 20)
    flipped = flip_labels(y, 0.3, 1)
    assert flipped.dtype == dtype
    assert set(flipped.tolist()) == set(labels)


@pytest.mark.parametrize(
    "container",
    [list, np.array, pd.Series, pd.Categorical, lambda v: pd.Series(v, dtype="string")],
    ids=["list", "array", "series", "categorical", "pandas strings"],
)
def test_container_of_the_labels_does_not_matter(container):
    """Any container of the same labels gives the same flips, and is left as it was."""
    values = ["M", "B"] * 25
    y = container(values)
    assert flip_labels(y, 0.2, 3).tolist() == flip_labels(values, 0.2, 3).tolist()
    assert list(y) == values


def test_chosen_labels_are_uniform_within_the_class():
    """Which labels flip is hypergeometric: each is flipped equally often (chi-square)."""
    y = np.repeat([0, 1], [10, 30])
    rng = np.random.default_rng(5)
    counts = sum((flip_labels(y, 0.3, rng) != y).astype(int) for _ in range(1500))
    # Each class flips 30%; quotas are fixed, so the counts are a little less spread than
    # multinomial ones and the chi-square is conservative by the factor 1 - 0.3.
    for k in (0, 1):
        mine = counts[y == k]
        assert mine.sum() == 1500 * 0.3 * mine.size
        chi2 = ((mine - 450) ** 2 / (450 * 0.7)).sum() * (mine.size - 1) / mine.size
        assert 0.001 < stats.chi2.sf(chi2, mine.size - 1) < 0.999


def test_more_than_two_classes_are_swapped_uniformly():
    """A flipped label of three classes becomes either of the others equally often."""
    y = np.repeat(["a", "b", "c"], 40)
    rng = np.random.default_rng(0)
    to = Counter()
    for _ in range(500):
        flipped = flip_labels(y, 0.25, rng)
        to.update(zip(y[flipped != y].tolist(), flipped[flipped != y].tolist(), strict=True))
    assert sum(to.values()) == 500 * 30
    for source, others in (("a", "bc"), ("b", "ac"), ("c", "ab")):
        counts = [to[source, other] for other in others]
        assert stats.binomtest(counts[0], sum(counts)).pvalue > 0.001


def test_fits_see_flips_of_the_stated_size(recorded, moons):
    """Every fit gets labels that differ from y in exactly level × n places per class."""
    X, y = moons
    before = y.copy(), X.copy()
    perturbed_model_validation(Recorder(), X, y, noise_levels=LEVELS, n_repeats=3, random_state=0)
    assert len(recorded) == 12
    for i, labels in enumerate(recorded):
        changed = labels != y
        assert [int(changed[y == k].sum()) for k in (0, 1)] == [round(100 * LEVELS[i % 4])] * 2
    assert (y == before[0]).all()
    assert (before[1] == X).all()
    # flips are drawn anew: no two noisy label vectors are the same
    noisy = [labels.tobytes() for i, labels in enumerate(recorded) if i % 4]
    assert len(set(noisy)) == len(noisy)


class SeedRecorder(Recorder):
    """Keeps the seeds too."""

    seeds: list[int] = []  # noqa: RUF012  (shared by clones on purpose)

    def fit(self, X, y):
        """Keep the seed and the labels."""
        SeedRecorder.seeds.append(self.random_state)
        return super().fit(X, y)


def test_flips_and_estimators_have_seeds_of_their_own(recorded, moons):
    """Fit i flips by the first child of the seed's child i, and seeds its model by the second."""
    SeedRecorder.seeds.clear()
    X, y = moons
    perturbed_model_validation(SeedRecorder(), X, y, noise_levels=LEVELS, random_state=3)
    children = [child.spawn(2) for child in np.random.SeedSequence(3).spawn(4)]
    for i, (flips, model) in enumerate(children):
        expected = flip_labels(y, LEVELS[i], np.random.default_rng(flips))
        assert recorded[i].tolist() == expected.tolist()
        assert SeedRecorder.seeds[i] == np.random.default_rng(model).integers(2**31)


def test_seeds_of_every_kind_are_taken(moons):
    """A generator gives new noise at each use, and the same from the same start."""
    model = GaussianNB()
    kinds = {
        "generator": np.random.default_rng,
        "random state": np.random.RandomState,
        "sequence": np.random.SeedSequence,
    }
    for make in kinds.values():
        once, again = (
            perturbed_model_validation(model, *moons, noise_levels=LEVELS, random_state=make(5))
            for _ in range(2)
        )
        assert once.accuracies.tolist() == again.accuracies.tolist()
    generator = np.random.default_rng(5)
    first, second = (
        perturbed_model_validation(model, *moons, noise_levels=LEVELS, random_state=generator)
        for _ in range(2)
    )
    assert first.accuracies.tolist() != second.accuracies.tolist()


# What is returned


def test_equals_a_literal_loop(recorded, moons):
    """Refitting by hand on the recorded labels, with scipy's regression, gives the same."""
    X, y = moons
    kwargs = {"noise_levels": LEVELS, "n_repeats": 2, "random_state": 11}
    perturbed_model_validation(Recorder(), X, y, **kwargs)
    result = perturbed_model_validation(GaussianNB(), X, y, **kwargs)
    by_hand = [
        accuracy_score(labels, GaussianNB().fit(X, labels).predict(X)) for labels in recorded
    ]
    assert result.accuracies.ravel().tolist() == pytest.approx(by_hand, abs=1e-15)
    line = stats.linregress(LEVELS * 2, by_hand)
    assert result.slope == pytest.approx(line.slope, rel=1e-12)
    assert result.intercept == pytest.approx(line.intercept, rel=1e-12)
    assert result.decrease_rate == abs(result.slope)
    frame = result.to_frame()
    assert frame["accuracy"].tolist() == result.accuracies.ravel().tolist()
    assert frame["noise_level"].tolist() == LEVELS * 2
    assert frame["repeat"].tolist() == [0] * 4 + [1] * 4


@settings(deadline=None)
@given(
    accuracies=st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=2, max_size=6),
)
def test_slope_and_interval_follow_the_textbook(accuracies):
    """Slopes are polyfit's; the interval is Student's over repeats."""
    result = PerturbedModelValidationResult(np.array(LEVELS), np.array(accuracies))
    slopes = [np.polyfit(LEVELS, row, 1)[0] for row in accuracies]
    pooled = np.polyfit(LEVELS * len(accuracies), np.ravel(accuracies), 1)[0]
    assert result.slopes.tolist() == pytest.approx(slopes, abs=1e-9)
    assert result.slope == pytest.approx(pooled, abs=1e-9)
    low, high = result.slope_interval
    spread = np.std(slopes, ddof=1) / np.sqrt(len(slopes))
    t = {2: 12.7062, 3: 4.30265, 4: 3.18245, 5: 2.77645, 6: 2.57058}[len(slopes)]
    assert high - low == pytest.approx(2 * t * spread, rel=1e-4, abs=1e-9)
    assert (low + high) / 2 == pytest.approx(pooled, abs=1e-9)


def test_decrease_rate_has_no_sign():
    """A rise counts like a fall: the measure is the absolute slope of equation (1)."""
    rising = PerturbedModelValidationResult([0, 0.5], [[0.4, 0.6]])
    falling = PerturbedModelValidationResult([0, 0.5], [[0.6, 0.4]])
    assert rising.slope == pytest.approx(0.4)
    assert falling.slope == pytest.approx(-0.4)
    assert rising.decrease_rate == pytest.approx(0.4)
    assert falling.decrease_rate == pytest.approx(0.4)


def test_one_repeat_has_no_interval(moons):
    """A single repeat says nothing of its spread."""
    result = perturbed_model_validation(GaussianNB(), *moons, noise_levels=[0.1, 0.4])
    assert np.isnan(result.slope_interval).all()


def test_result_is_frozen(moons):
    """Neither the fields nor the arrays in them can be changed."""
    result = perturbed_model_validation(GaussianNB(), *moons, noise_levels=[0.1, 0.4])
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.accuracies = 1
    with pytest.raises(ValueError, match="read-only"):
        result.accuracies[0, 0] = 1


@pytest.mark.parametrize(
    "estimator",
    [DecisionTreeClassifier(), KNeighborsClassifier(1)],
    ids=["unlimited tree", "1-NN"],
)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_learners_that_memorise_have_slope_zero(estimator, n_classes):
    """With all rows different, such a learner keeps accuracy 1 at any noise: slope exactly 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.tile(np.arange(n_classes), 120 // n_classes)
    result = perturbed_model_validation(
        estimator, X, y, noise_levels=PAPER_NOISE_LEVELS, n_repeats=2, random_state=0
    )
    assert (result.accuracies == 1).all()
    assert result.slope == 0
    assert result.slope_interval == (0, 0)


def test_repeated_rows_stop_a_tree_from_memorising():
    """With m copies of each row a tree can at best take each row's majority label."""
    X = np.repeat(np.arange(40.0), 5)[:, None]
    y = np.repeat(np.tile([0, 1], 20), 5)
    result = perturbed_model_validation(
        DecisionTreeClassifier(), X, y, noise_levels=[0, 0.5], random_state=0, n_repeats=20
    )
    assert (result.accuracies[:, 0] == 1).all()
    # five copies, hypergeometric flips, binomial to three digits: E max(B, 5 - B) / 5
    copies = np.arange(6)
    expected = stats.hypergeom(100, 50, 5).pmf(copies) @ np.maximum(copies, 5 - copies) / 5
    assert result.accuracies[:, 1].mean() == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(("larger", "smaller"), [(180, 20), (120, 80), (100, 100)])
def test_constant_model_falls_with_the_imbalance(larger, smaller):
    """Always answering the larger class: accuracy a − r(2a − 1), slope −(2a − 1), exactly."""
    y = np.repeat(["well", "ill"], [larger, smaller])
    result = perturbed_model_validation(
        DummyClassifier(), np.zeros((200, 1)), y, noise_levels=[0, 0.1, 0.2, 0.4], n_repeats=2
    )
    share = larger / 200
    expected = share - np.array([0, 0.1, 0.2, 0.4]) * (2 * share - 1)
    assert result.accuracies == pytest.approx(np.tile(expected, (2, 1)))
    assert result.slope == pytest.approx(-(larger - smaller) / 200)


def test_model_that_cannot_be_moved_falls_at_rate_one():
    """A model that finds the true boundary at every level has accuracy 1 − r and slope −1."""
    y = np.tile([0, 1], 100)
    X = y[:, None].astype(float)
    result = perturbed_model_validation(
        GaussianNB(), X, y, noise_levels=[0.0, 0.1, 0.2, 0.4], random_state=0
    )
    assert result.accuracies[0] == pytest.approx([1, 0.9, 0.8, 0.6])
    assert result.slope == pytest.approx(-1)
    assert result.decrease_rate == pytest.approx(1)


# Seeds and workers


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(5, max_depth=3),
        make_pipeline(StandardScaler(), MLPClassifier((30,), max_iter=5)),
    ],
    ids=["forest", "network in a pipeline"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_same_bits_for_any_number_of_workers(estimator, moons):
    """One seed gives the same accuracies, bit for bit, with one worker or two."""
    kwargs = {"noise_levels": [0.0, 0.3], "n_repeats": 2, "random_state": 7}
    results = [
        perturbed_model_validation(estimator, *moons, n_jobs=n, **kwargs).accuracies.tobytes()
        for n in (None, 2)
    ]
    assert len(set(results)) == 1


def test_fits_run_on_one_thread(moons):
    """Inside a fit every BLAS and OpenMP pool has one thread, so sums keep their order."""
    sizes = []

    class Spy(GaussianNB):
        def fit(self, X, y):
            sizes.extend(pool["num_threads"] for pool in threadpool_info())
            return super().fit(X, y)

    with threadpool_limits(limits=2):
        perturbed_model_validation(Spy(), *moons, noise_levels=[0.1, 0.4])
        assert max(pool["num_threads"] for pool in threadpool_info()) == 2
    assert set(sizes) == {1}


def test_seed_reaches_nested_estimators_and_the_original_stays(moons):
    """A pipeline's forest is seeded, differently per fit; the given one stays as it is."""
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(3, max_depth=2))
    seeds = []

    class Spy(RandomForestClassifier):
        def fit(self, X, y):
            seeds.append(self.random_state)
            return super().fit(X, y)

    pipeline.steps[-1] = ("forest", Spy(3, max_depth=2))
    first = perturbed_model_validation(pipeline, *moons, noise_levels=LEVELS, random_state=1)
    again = perturbed_model_validation(pipeline, *moons, noise_levels=LEVELS, random_state=1)
    other = perturbed_model_validation(pipeline, *moons, noise_levels=LEVELS, random_state=2)
    assert seeds[:4] == seeds[4:8]
    assert len(set(seeds[:4])) == 4
    assert not set(seeds[:4]) & set(seeds[8:])
    assert first.accuracies.tobytes() == again.accuracies.tobytes()
    assert first.accuracies.tobytes() != other.accuracies.tobytes()
    assert pipeline.named_steps["forest"].random_state is None
    assert not hasattr(pipeline.named_steps["forest"], "estimators_")


def test_global_random_state_is_neither_used_nor_changed(moons):
    """NumPy's global generator is left alone."""
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    perturbed_model_validation(
        RandomForestClassifier(3), *moons, noise_levels=LEVELS, random_state=1
    )
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_seed_sequence_can_be_used_again(moons):
    """A SeedSequence gives the same result each time and matches the integer it holds."""
    sequence = np.random.SeedSequence(4)
    runs = [
        perturbed_model_validation(
            RandomForestClassifier(3), *moons, noise_levels=LEVELS, random_state=seed
        ).accuracies.tobytes()
        for seed in (sequence, sequence, 4)
    ]
    assert len(set(runs)) == 1


def test_repeats_are_a_prefix_of_more_repeats(moons):
    """Asking for more repeats keeps the first ones."""
    few, many = (
        perturbed_model_validation(
            GaussianNB(), *moons, noise_levels=LEVELS, n_repeats=n, random_state=0
        )
        for n in (2, 5)
    )
    assert few.accuracies.tolist() == many.accuracies[:2].tolist()


# Inputs of all kinds


def test_pipeline_on_a_frame_with_gaps_and_three_classes():
    """Column names, missing values and string classes pass through to the pipeline."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    names = y.map({0: "setosa", 1: "versicolor", 2: "virginica"})
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())
    result = perturbed_model_validation(
        model, X, names, noise_levels=LEVELS, n_repeats=3, random_state=0
    )
    assert result.accuracies[:, 0] == pytest.approx(clone(model).fit(X, names).score(X, names))
    assert all(a > b for a, b in pairwise(result.accuracies.mean(axis=0)))


def test_scorer_is_the_decrease_rate_and_drops_into_a_search(moons):
    """GridSearchCV with the scorer ranks depths as separate calls do."""
    X, y = moons
    scorer = pmv_scorer(noise_levels=LEVELS, n_repeats=3, random_state=5)
    everything = np.arange(len(y))
    depths = [1, 3, 8]
    search = GridSearchCV(
        DecisionTreeClassifier(),
        {"max_depth": depths},
        scoring=scorer,
        cv=[(everything, everything)],
    ).fit(X, y)
    separate = [
        perturbed_model_validation(
            DecisionTreeClassifier(max_depth=depth),
            X,
            y,
            noise_levels=LEVELS,
            n_repeats=3,
            random_state=5,
        ).decrease_rate
        for depth in depths
    ]
    assert search.cv_results_["mean_test_score"].tolist() == pytest.approx(separate, abs=1e-12)
    assert search.best_params_["max_depth"] == depths[int(np.argmax(separate))]


def test_plot_draws_the_fitted_line_and_every_point(moons):
    """The line runs through the fitted values; there is a point for each accuracy."""
    result = perturbed_model_validation(
        GaussianNB(), *moons, noise_levels=LEVELS, n_repeats=2, random_state=0
    )
    ax = result.plot(label="naive Bayes")
    x, line = ax.lines[0].get_data()
    assert line == pytest.approx(result.intercept + result.slope * np.asarray(x))
    assert len(ax.collections[0].get_offsets()) == 8
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    ax.figure.clear()


# Errors


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"noise_levels": [0.1]}, r"noise_levels must be 2 or more"),
        ({"noise_levels": []}, r"noise_levels must be 2 or more"),
        ({"noise_levels": 0.1}, r"noise_levels must be 2 or more"),
        ({"noise_levels": [0.1, 0.6]}, r"noise_levels must lie in \[0, 0\.5\], got 0\.6"),
        ({"noise_levels": [-0.1, 0.2]}, r"noise_levels must lie in \[0, 0\.5\], got -0\.1"),
        ({"noise_levels": [0.1, np.nan]}, r"noise_levels must be finite, got nan"),
        ({"noise_levels": [0.1, 0.1]}, r"noise_levels must differ"),
        ({"noise_levels": [0, 0.001]}, r"noise_levels: 0\.001 of y's class .*rounds to no flipped"),
        ({"n_repeats": 0}, r"n_repeats must be at least 1, got 0"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_bad_settings_are_named(kwargs, message, moons):
    """A bad setting ends in a ValueError with its name and what it got."""
    with pytest.raises(ValueError, match=message):
        perturbed_model_validation(
            GaussianNB(), *moons, **{"noise_levels": LEVELS, "random_state": 0, **kwargs}
        )


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"noise_levels": ["a", "b"]}, r"noise_levels must be numeric"),
        ({"n_repeats": 1.5}, r"n_repeats must be a whole number, got 1\.5"),
        ({"n_repeats": True}, r"n_repeats must be a whole number, got True"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_settings_of_the_wrong_kind_are_named(kwargs, message, moons):
    """A setting of the wrong kind ends in a TypeError with its name and what it got."""
    with pytest.raises(TypeError, match=message):
        perturbed_model_validation(GaussianNB(), *moons, **{"noise_levels": LEVELS, **kwargs})


def test_scorer_checks_its_settings_at_once_and_can_be_pickled():
    """A bad setting is refused when the scorer is made, and workers can be sent one."""
    with pytest.raises(ValueError, match="noise_levels must lie in"):
        pmv_scorer(noise_levels=[0.1, 0.7])
    with pytest.raises(TypeError, match=r"random_state must be a whole number.* got None"):
        pmv_scorer(random_state=None)
    scorer = pmv_scorer(n_repeats=2)
    assert pickle.loads(pickle.dumps(scorer)) == scorer


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1] * 10, r"y must hold at least two classes, got \[1\]"),
        ([0.1, 0.7] * 5, r"y must hold class labels, got a target of type 'continuous'"),
        ([0, np.nan] * 5, r"y must have no missing values, got 5"),
        (["a", None] * 5, r"y must have no missing values, got 5"),
        ([[0, 1]] * 10, r"y must be one column"),
        (np.array(["a", 1] * 5, dtype=object), r"y must hold labels of one type"),
        ([0, 1] * 4, r"X and y must have the same length, got 10 and 8"),
        ([0] * 9 + [1], r"of y's class .*1.* \(1 samples\) rounds to no flipped label"),
    ],
    ids=["one class", "numbers", "nan", "none", "2-d", "mixed", "length", "singleton"],
)
def test_bad_labels_are_named(y, message):
    """Labels that cannot be flipped end in a ValueError that says why."""
    with pytest.raises(ValueError, match=message):
        perturbed_model_validation(GaussianNB(), np.eye(10), y, noise_levels=[0.2, 0.5])


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LinearRegression(), "must be a classifier"),
        (GaussianNB, "is a class, not an instance"),
        (StandardScaler(), "has no predict"),
        (object(), "has no fit, predict, get_params"),
    ],
    ids=["regressor", "class", "transformer", "object"],
)
def test_bad_estimators_are_named(estimator, message, moons):
    """What is not a classifier ends in a TypeError."""
    with pytest.raises(TypeError, match=message):
        perturbed_model_validation(estimator, *moons, noise_levels=LEVELS)


def test_models_that_are_not_refitted_are_refused(moons):
    """PMV refits on flipped labels, which a frozen model does not, wherever it stands."""
    X, y = moons
    frozen = FrozenEstimator(DecisionTreeClassifier().fit(X, y))
    for model in (frozen, CalibratedClassifierCV(frozen), make_pipeline(StandardScaler(), frozen)):
        with pytest.raises(TypeError, match=r"estimator must be refitted.*FrozenEstimator"):
            perturbed_model_validation(model, X, y, noise_levels=[0, 0.2])


def test_scorer_refuses_weights_and_takes_generators(moons):
    """Weights are refused, not dropped; a generator is asked once."""
    X, y = moons
    tree = DecisionTreeClassifier(max_depth=2)
    with pytest.raises(ValueError, match="sample_weight must be None: PMV"):
        pmv_scorer()(tree, X, y, sample_weight=np.ones(len(y)))
    scorer = pmv_scorer(noise_levels=[0, 0.3], random_state=np.random.default_rng(3))
    assert scorer(tree, X, y) == scorer(tree, X, y)
    assert "slope" in repr(perturbed_model_validation(tree, X, y, noise_levels=[0, 0.3]))
