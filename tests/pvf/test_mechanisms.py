"""Mechanisms in units of the instrument, against their laws; settings, copies, gaps."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from scipy import stats
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import estimator_checks

import pvf
from pvf.mechanisms import CellMechanism, UnchangeableError

N = 20_000


def rng(seed=0):
    return np.random.default_rng(seed)


def matches(copies, law):
    return stats.kstest(np.ravel(copies), law.cdf).pvalue > 1e-3


# --- Laws ---------------------------------------------------------------------------------------


def test_relative_noise_has_a_spread_in_proportion_to_the_value():
    """X' is N(x, (share |x|)²): below zero too, and zero stays zero."""
    copies = pvf.RelativeNoise(0.1).sample([50.0, -2.0, 0.0], N, rng())
    assert matches(copies[:, 0], stats.norm(50, 5))
    assert matches(copies[:, 1], stats.norm(-2, 0.2))
    assert (copies[:, 2] == 0).all()


def test_rounding_error_is_uniform_around_the_recorded_value():
    """A value read to the nearest 5 lay anywhere within 2.5 of it."""
    copies = pvf.RoundingError(5).sample([120], N, rng())
    assert matches(copies, stats.uniform(117.5, 5))


@pytest.mark.parametrize(
    ("noise", "law"),
    [
        (pvf.GaussianNoise(3, low=0, at_bounds="truncate"), stats.truncnorm(-1 / 3, np.inf, 1, 3)),
        (pvf.GaussianNoise(3, high=2, at_bounds="truncate"), stats.truncnorm(-np.inf, 1 / 3, 1, 3)),
        (
            pvf.GaussianNoise(3, low=0, high=2, at_bounds="truncate"),
            stats.truncnorm(-1 / 3, 1 / 3, 1, 3),
        ),
        (pvf.RelativeNoise(3, low=0, at_bounds="truncate"), stats.truncnorm(-1 / 3, np.inf, 1, 3)),
        (pvf.RoundingError(6, low=0, at_bounds="truncate"), stats.uniform(0, 4)),
        (pvf.GaussianNoise(1, low=1), stats.halfnorm(1, 1)),
    ],
    ids=["low", "high", "both", "relative", "uniform", "reflected at the value"],
)
def test_bounded_noise_has_the_truncated_law(noise, law):
    """Truncated noise is the noise given that the value stays within its bounds."""
    assert matches(noise.sample([1.0], N, rng()), law)


def test_reflection_folds_the_law():
    """Reflected noise has the density of all images of the value: a literal walk finds it."""
    low, high, x = -1.0, 2.0, 0.5
    copies = pvf.GaussianNoise(4, low=low, high=high).sample([x], 2000, rng(3))[0:]
    free = x + 4 * rng(3).standard_normal((2000, 1))
    for value, copy in zip(free.ravel(), copies.ravel(), strict=True):
        walked = value
        while not low <= walked <= high:
            walked = 2 * low - walked if walked < low else 2 * high - walked
        assert copy == pytest.approx(walked, abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=8),
    st.floats(0, 1e7),
    st.sampled_from(["reflect", "truncate"]),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_no_value_leaves_its_bounds(column, scale, at_bounds, has_high, seed):
    """Whatever the noise, values stay finite and within bounds; no noise changes nothing."""
    bounds = {"low": 0, "high": 1e6 if has_high else None, "at_bounds": at_bounds}
    for noise in (
        pvf.GaussianNoise(scale, **bounds),
        pvf.RelativeNoise(scale, **bounds),
        pvf.RoundingError(scale, **bounds),
    ):
        copies = noise.sample(column, 5, rng(seed))
        assert np.isfinite(copies).all()
        assert copies.min() >= 0
        assert copies.max() <= (1e6 if has_high else np.inf)
        np.testing.assert_allclose(noise.scaled(0).sample(column, 1, rng(seed))[0], column)


def test_a_crp_is_never_negative():
    """Noise of 3 mg/l on small values of CRP: a pipeline that takes logarithms gets its scores."""
    crp = np.abs(rng().normal(12, 9, 200))
    plain = pvf.GaussianNoise(3).sample(crp, 50, rng())
    assert (plain < 0).mean() > 0.05
    for at_bounds in ("reflect", "truncate"):
        assert pvf.GaussianNoise(3, low=0, at_bounds=at_bounds).sample(crp, 50, rng()).min() >= 0


def test_correlated_noise_has_its_covariance():
    """Several columns are perturbed together, by N(0, covariance), also a singular one."""
    covariance = np.array([[4.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    X = pd.DataFrame({"a": [1.0], "b": [2.0], "c": [3.0], "d": [4]})
    noise = pvf.Perturbation([(["c", "a", "b"], pvf.CorrelatedNoise(covariance[::-1, ::-1]))])
    sample = noise.fit(X).sample(X, N, rng())
    moved = (sample - X.to_numpy()[0]).to_numpy(dtype=float)
    assert (moved[:, 2:] == 0).all()
    np.testing.assert_allclose(np.cov(moved[:, :2].T), covariance[:2, :2], atol=0.2)
    for direction, variance in ((np.array([1, 1]), 12), (np.array([1, -1]), 4)):
        assert matches(moved[:, :2] @ direction, stats.norm(0, np.sqrt(variance)))


def test_misclassification_follows_its_table():
    """Each level is recorded by its own row, impossible levels never."""
    matrix = pd.DataFrame(
        [[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.2, 0.2, 0.6]], index=list("abc"), columns=list("abc")
    )
    column = np.repeat(list("abc"), 10)
    arrays = pvf.Misclassification(matrix.to_numpy(), levels=list("abc"))
    for mechanism in (pvf.Misclassification(matrix), arrays):
        copies = mechanism.fit(column).sample(column, 2000, rng(2)).reshape(2000, 3, 10)
        for i, level in enumerate("abc"):
            seen = [(copies[:, i] == other).sum() for other in "abc"]
            expected = matrix.loc[level].to_numpy() * 20_000
            assert [n == 0 for n in seen] == [n == 0 for n in expected]
            if level != "b":
                possible = expected > 0
                test = stats.chisquare(np.array(seen)[possible], expected[possible])
                assert test.pvalue > 1e-3


def test_the_largest_draw_never_makes_what_is_impossible():
    """Rounding of sums (ten times 0.1 is less than 1) opens no level of probability 0."""

    class Largest(np.random.Generator):
        def random(self, size):
            return np.full(size, np.nextafter(1, 0))

    levels = list(range(11))
    rows = np.tile([0.1] * 10 + [0.0], (11, 1))
    mechanism = pvf.Misclassification(rows, levels=levels).fit(levels)
    assert mechanism.sample(levels, 1, Largest(np.random.PCG64(0))).tolist() == [[9] * 11]


@pytest.mark.parametrize(
    "column",
    [
        [1.5, 2.5],
        [1, 2],
        [True, False],
        ["a", "b"],
        pd.array([1, 2], dtype="Int64"),
        pd.array([True, False], dtype="boolean"),
        pd.Categorical(["a", "b"]),
    ],
    ids=["float", "int", "bool", "str", "Int64", "boolean", "category"],
)
def test_values_go_missing_at_their_rate_in_columns_of_any_kind(column):
    """The share that goes missing is the probability, and what stays has its value."""
    X = pd.DataFrame({"x": column})
    sample = pvf.Perturbation({"x": pvf.Missingness(0.3)}).fit(X).sample(X, N // 2, rng())
    gone = sample["x"].isna()
    assert stats.binomtest(int(gone.sum()), N, 0.3).pvalue > 1e-3
    expected = pd.concat([X] * (N // 2))["x"]
    assert (sample["x"][~gone].to_numpy() == expected[~gone].to_numpy()).all()


def test_values_go_missing_in_arrays():
    """Whole numbers and truth values of an array become floats, which can be missing."""
    for X in (np.array([[1], [0]]), np.array([[True], [False]])):
        sample = pvf.Perturbation({0: pvf.Missingness(0.5)}).fit(X).sample(X, 100, rng())
        assert sample.dtype == np.float64
        assert 0.3 < np.isnan(sample).mean() < 0.7
        assert set(sample[~np.isnan(sample)]) == {0.0, 1.0}
    with pytest.raises(TypeError, match=r"Column 0 of X: An array of dtype <U1 cannot hold"):
        pvf.Perturbation({0: pvf.Missingness(0.5)}).fit(np.array([["a"], ["b"]]))


# --- From what is known of instruments -----------------------------------------------------------


def test_from_measurement_error():
    """A number is a standard deviation, a percentage one relative to the value."""
    flip = pvf.NominalFlip(0.1)
    made = pvf.Perturbation.from_measurement_error(
        {"glucose": 5, "crp": " 10 %", "sex": flip}, bounds={"crp": (0, None)}
    )
    assert made == pvf.Perturbation(
        {"glucose": pvf.GaussianNoise(5), "crp": pvf.RelativeNoise(0.1, low=0), "sex": flip}
    )


@pytest.mark.parametrize(
    ("errors", "bounds", "error", "says"),
    [
        ({}, None, TypeError, r"errors must map columns to errors, got \{\}"),
        ("10%", None, TypeError, r"errors must map"),
        (
            {"a": "ten"},
            None,
            ValueError,
            r"errors, column 'a': must be a number, a percentage.*ten",
        ),
        (
            {"a": "10"},
            None,
            ValueError,
            r"errors, column 'a': must be a number, a percentage.*'10'",
        ),
        ({"a": "nan%"}, None, ValueError, r"errors, column 'a': share must be finite.*nan"),
        ({"a": -1}, None, ValueError, r"errors, column 'a': scale must be finite and at least 0"),
        ({"a": None}, None, TypeError, r"errors, column 'a': scale must be a number, got None"),
        ({"a": 1}, {"b": (0, 1)}, ValueError, r"bounds names \['b'\], which errors does not"),
        ({"a": 1}, {"a": 0}, ValueError, r"bounds must be \(low, high\) for 'a', got 0"),
        ({"a": 1}, {"a": (1, 0)}, ValueError, r"low must be below high, got 1 and 0"),
        ({"a": 1}, 3, TypeError, r"bounds must map"),
        (
            {"a": pvf.GaussianNoise(1)},
            {"a": (0, 1)},
            ValueError,
            r"bounds: 'a' has a mechanism, which takes bounds itself",
        ),
    ],
)
def test_errors_of_measurement_errors(errors, bounds, error, says):
    """What is no error of an instrument is refused by its column."""
    with pytest.raises(error, match=says):
        pvf.Perturbation.from_measurement_error(errors, bounds=bounds)


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: pvf.GaussianNoise(1, low=2, high=2), ValueError, r"low must be below high"),
        (lambda: pvf.GaussianNoise(1, low="0"), TypeError, r"low must be a number, got '0'"),
        (lambda: pvf.GaussianNoise(1, low=0, at_bounds="clip"), ValueError, r"at_bounds must be"),
        (lambda: pvf.GaussianNoise(1, low=0).fit([-1.0]), ValueError, r"holds -1, outside of Gau"),
        (lambda: pvf.CorrelatedNoise([[1, 2]]), ValueError, r"covariance must be a square matrix"),
        (lambda: pvf.CorrelatedNoise([[1, 2], [0, 1]]), ValueError, r"must be symmetric"),
        (lambda: pvf.CorrelatedNoise([[1, 2], [2, 1]]), ValueError, r"semi-definite.*-1"),
        (lambda: pvf.CorrelatedNoise([[1, np.nan], [0, 1]]), ValueError, r"must be finite"),
        (lambda: pvf.CorrelatedNoise(1.0).fit([[1.0]]), ValueError, r"must be a square matrix"),
        (lambda: pvf.CorrelatedNoise([[1]]).fit([[1, 2]]), ValueError, r"is for 1 columns.* 2"),
        (lambda: pvf.Misclassification([[1, 0], [0, 1]]), ValueError, r"levels must name"),
        (lambda: pvf.Misclassification([[1]], levels=["a", "b"]), ValueError, r"shape \(2, 2\)"),
        (
            lambda: pvf.Misclassification({"a": {"a": 0.5}}),
            ValueError,
            r"sum to 1, got 0.5 for 'a'",
        ),
        (lambda: pvf.Misclassification({"a": {"b": 1.0}}), ValueError, r"what is truly 'b'"),
        (lambda: pvf.Misclassification({"a": 1.0}), TypeError, r"matrix must map levels"),
        (lambda: pvf.Misclassification([[2, -1], [0, 1]], ["a", "b"]), ValueError, r"\[0, 1\]"),
        (lambda: pvf.Missingness(1.5), ValueError, r"probability must .*\[0, 1\], got 1.5"),
        (lambda: pvf.WhereObserved(3), TypeError, r"mechanism must turn one random number"),
        (lambda: pvf.Perturbation({}, missing="drop"), ValueError, r"missing must be one of"),
    ],
)
def test_errors_of_settings(make, error, says):
    """Each wrong setting is named, with what it got and what it takes."""
    with pytest.raises(error, match=says):
        make()


# --- Missing values ------------------------------------------------------------------------------

ABC = pd.CategoricalDtype(list("abc"), ordered=True)
PAIRED = {"a": {"a": 0.0, "b": 1.0, "c": 0.0}, "b": {"c": 1.0}, "c": {"a": 1.0}}


@pytest.mark.parametrize(
    ("column", "mechanism"),
    [
        ([1.0, np.nan, 3.0], pvf.GaussianNoise(1)),
        (np.array([1.0, np.nan, 3.0], np.float32), pvf.RelativeNoise(1)),
        (pd.array([1, None, 3], dtype="Int64"), pvf.RoundingError(5)),
        ([1.0, np.nan, 3.0], pvf.NominalFlip(1)),
        (pd.array([1, None, 3], dtype="Int64"), pvf.OrdinalShift(1, 1)),
        (pd.Categorical(["a", None, "c"], dtype=ABC), pvf.NominalFlip(1)),
        (pd.Categorical(["a", None, "c"], dtype=ABC), pvf.OrdinalShift(1, 1)),
        (pd.Categorical(["a", None, "c"], dtype=ABC), pvf.Misclassification(PAIRED)),
        (pd.Categorical([1.0, None, 2.0]), pvf.NominalFlip(1)),
        (pd.array(["a", None, "c"], dtype="string"), pvf.NominalFlip(1)),
        (pd.Series(["a", None, "c"], dtype=object), pvf.NominalFlip(1)),
        (pd.array([True, None, False], dtype="boolean"), pvf.NominalFlip(1)),
    ],
)
def test_missing_values_pass_through_untouched(column, mechanism):
    """A gap stays a gap, in the column's own dtype; what is there is perturbed as if alone."""
    X = pd.DataFrame({"x": column, "y": [1, 2, 3]})
    sample = pvf.Perturbation({"x": mechanism}).fit(X).sample(X, 40, rng())
    assert sample["x"].isna().tolist() == [False, True, False] * 40
    kept = sample["x"].dtype == X["x"].dtype
    assert kept or sample["x"].dtype == "Float64"  # whole numbers under noise
    assert (sample["x"][::3].astype(object) != X["x"][0]).all()
    if X["x"].dtype == object:
        assert sample["x"].iloc[1] is None
    alone = pvf.WhereObserved(clone(mechanism)).fit(X["x"]).sample(X["x"], 40, rng())
    seen = ~pd.isna(alone.ravel())
    assert (alone.ravel()[seen] == sample["x"].to_numpy(dtype=object)[seen]).all()


def test_a_gap_takes_its_random_number():
    """Which values are missing changes nothing for the others."""
    X = rng().normal(size=(10, 2))
    gaps = X.copy()
    gaps[::3, 0] = np.nan
    perturbation = pvf.Perturbation(pvf.GaussianNoise(1)).fit(X)
    whole, holey = (perturbation.sample(table, 3, rng(1)) for table in (X, gaps))
    seen = ~np.isnan(holey)
    assert np.isnan(holey).sum() == 12
    np.testing.assert_array_equal(whole[seen], holey[seen])


def test_columns_that_are_all_missing():
    """Noise needs no value; a flip needs levels, which a category declares and text does not."""
    X = pd.DataFrame({"n": [np.nan] * 3, "c": pd.Categorical([None] * 3, dtype=ABC)})
    sample = pvf.Perturbation({"n": pvf.GaussianNoise(1), "c": pvf.NominalFlip(1)}).fit(X)
    assert sample.sample(X, 2, rng()).isna().all(axis=None)
    with pytest.raises(UnchangeableError, match=r"Column 'n' of X: .*missing values only"):
        pvf.Perturbation({"n": pvf.NominalFlip(1)}).fit(X)


def test_refusing_missing_values_names_the_way_out():
    """missing='refuse' and a mechanism that stands alone say how gaps are left as they are."""
    X = pd.DataFrame({"x": [1.0, np.nan], "y": [1.0, 2.0]})
    says = r"1 missing or infinite.*WhereObserved\(GaussianNoise\(...\)\).*impute first"
    with pytest.raises(ValueError, match=says):
        pvf.GaussianNoise(1).fit(X["x"])
    with pytest.raises(ValueError, match=f"Column 'x' of X: {says}"):
        pvf.Perturbation({"x": pvf.GaussianNoise(1)}, missing="refuse").fit(X)
    joint = [(["x", "y"], pvf.CorrelatedNoise(np.eye(2)))]
    with pytest.raises(ValueError, match=r"Column \('x', 'y'\) of X: 1 missing"):
        pvf.Perturbation(joint, missing="refuse").fit(X)
    sample = pvf.Perturbation(joint).fit(X).sample(X, 5, rng())
    assert sample.isna().sum().tolist() == [5, 0]
    with pytest.raises(ValueError, match="1 missing or infinite"):
        pvf.Perturbation(pvf.GaussianNoise(1)).fit(np.array([[1.0], [np.inf]]))


def test_an_unfitted_perturbation_never_makes_a_fold_nan():
    """Where a rare level lacks in a fold, its column stays as it is, with a warning by name."""
    n = 60
    X = pd.DataFrame({"age": rng().normal(60, 9, n), "rare": ["no"] * (n - 1) + ["yes"]})
    y = (X["age"] + rng(1).normal(0, 5, n) > 60).astype(int)
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["rare"]), remainder="passthrough"
    )
    model = make_pipeline(encoder, LogisticRegression())
    scorer = pvf.perturbation_scorer(
        "f1",
        perturbation=pvf.Perturbation({"rare": pvf.NominalFlip(0.1), "age": pvf.GaussianNoise(1)}),
        n_sets=3,
    )
    with pytest.warns(UserWarning, match=r"Column 'rare' of X: .*one category .*stays as it is"):
        scores = cross_val_score(model, X, y, scoring=scorer, cv=10)
    assert np.isfinite(scores).all()


# --- Foreign perturbations -----------------------------------------------------------------------


class Shifted(pvf.Perturbation):
    """A perturbation whose sample is its own."""

    def sample(self, X, n_replicas, rng):
        """Return copies that are all far above zero."""
        return super().sample(X, n_replicas, rng) + 100


class Duck:
    """A whole table's perturbation that knows nothing of this package: it permutes the rows."""

    def fit(self, X):
        """Note that there was something to learn."""
        self.n_rows_ = len(X)

    def sample(self, X, n_replicas, rng):
        """Return rows in other orders."""
        rows = np.concatenate([rng.permutation(len(X)) for _ in range(n_replicas)])
        return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


class Doubling(pvf.GaussianNoise):
    """A mechanism whose sample is its own."""

    def sample(self, column, size, rng):  # noqa: ARG002
        """Return doubled copies."""
        return np.tile(2 * np.asarray(column), (size, 1))


class Together:
    """A joint mechanism by duck typing: swaps its two columns."""

    joint = True

    def fit(self, table):
        """Learn nothing."""
        assert table.shape[1] == 2

    def sample(self, table, size, rng):  # noqa: ARG002
        """Return the columns swapped."""
        return np.stack([np.asarray(table)[:, ::-1]] * size)


@pytest.fixture(scope="module")
def problem():
    X = rng(4).normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    return X, y, DecisionTreeClassifier(max_depth=1).fit(X, y)


@pytest.mark.parametrize("as_frame", [False, True], ids=["array", "frame"])
def test_a_perturbation_s_own_sample_is_used(problem, as_frame):
    """A subclass with its own sample, or anything with fit and sample, perturbs as it says."""
    X, y, _ = problem
    X = pd.DataFrame(X, columns=["a", "b"]) if as_frame else X
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y)
    settings = {"scoring": "accuracy", "n_sets": 4, "n_replicas": 2, "random_state": 0}
    noise = Shifted(pvf.GaussianNoise(0.1))
    shifted = pvf.perturbation_validation([tree], X, y, perturbation=noise, **settings)
    assert (shifted.scores == y.mean()).all()  # all of them lie above the threshold
    permuted = pvf.perturbation_validation([tree], X, y, perturbation=Duck(), **settings)
    expected = []
    for m in range(4):
        draw = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0, m)))
        rows = np.concatenate([draw.permutation(80) for _ in range(2)])
        expected.append((y[rows] == np.tile(y, 2)).mean())
    np.testing.assert_allclose(permuted.scores[0], expected)


def test_a_fitted_foreign_perturbation_is_not_fitted_again(problem):
    """What has learnt from training data keeps it."""
    X, y, tree = problem
    duck = Duck()
    duck.fit(X[:5])
    pvf.perturbation_validation([tree], X, y, perturbation=duck, scoring="f1", n_sets=2)
    assert duck.n_rows_ == 5


def test_a_foreign_perturbation_of_another_shape_is_refused(problem):
    """Copies must be as many as the rows times the replicas."""
    X, y, tree = problem

    class Short(Duck):
        def sample(self, X, *_):
            return X

    with pytest.raises(ValueError, match=r"Short.sample must return shape \(560, 2\), got \(80, 2"):
        pvf.perturbation_validation([tree], X, y, perturbation=Short(), scoring="f1", n_sets=2)


def test_a_mechanism_s_own_sample_is_used():
    """A subclass of a mechanism, or a joint mechanism by duck typing, samples as it says."""
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    doubled = pvf.Perturbation({"a": Doubling(1)}).fit(X).sample(X, 1, rng())
    assert doubled["a"].tolist() == [2, 4]
    swapped = pvf.Perturbation({("a", "b"): Together()}).fit(X).sample(X, 1, rng())
    assert_frame_equal(swapped, X[["b", "a"]].set_axis(["a", "b"], axis=1))


def test_joint_noise_in_parts_is_that_of_the_whole_table():
    """A set beyond the memory budget holds the same numbers."""
    X = rng().normal(size=(17, 3))
    noise = pvf.CorrelatedNoise([[1, 0.5], [0.5, 2]])
    fitted = pvf.Perturbation([((2, 0), noise), (1, pvf.GaussianNoise(1))]).fit(X)
    whole = fitted.sample(X, 3, rng(5)).reshape(3, 17, 3)
    for rows, part in fitted.prepare(X).parts(3, rng(5), 4):
        np.testing.assert_array_equal(part.reshape(3, -1, 3), whole[:, rows])


# --- Settings ------------------------------------------------------------------------------------

MECHANISMS = [
    pvf.GaussianNoise(1),
    pvf.GaussianNoise(2.5, low=0, high=9, at_bounds="truncate"),
    pvf.RelativeNoise(0.1),
    pvf.RoundingError(5, low=0),
    pvf.CorrelatedNoise([[1, 0], [0, 1]]),
    pvf.NominalFlip(0),
    pvf.OrdinalShift(0.1, 2, order=["a", "b"], values=np.array([0, 1])),
    pvf.Misclassification({"a": {"a": 0.9, "b": 0.1}, "b": {"b": 1}}),
    pvf.Misclassification(pd.DataFrame([[1.0, 0.0], [0.5, 0.5]], [0, 1], [0, 1])),
    pvf.Missingness(0.2),
    pvf.WhereObserved(pvf.NominalFlip(0.1), levels=["a", "b"]),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_mechanisms_can_be_cloned_compared_and_pickled(mechanism):
    """A clone has the same settings, equals the original and hashes alike; others differ."""
    for twin in (clone(mechanism), pickle.loads(pickle.dumps(mechanism))):
        assert twin is not mechanism
        assert twin == mechanism
        assert hash(twin) == hash(mechanism)
        assert repr(twin) == repr(mechanism)
    assert sum(mechanism == other for other in MECHANISMS) == 1
    assert (
        mechanism.scaled(1).get_params(deep=False).keys() == mechanism.get_params(deep=False).keys()
    )
    assert mechanism != "mechanism"


@pytest.mark.filterwarnings("ignore:.*set_params")  # values are checked at once, not in fit
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_mixin_order,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_set_params,
    ],
    ids=lambda check: check.__name__,
)
def test_scikit_learn_s_checks_of_settings(check):
    """Mechanisms and perturbations pass scikit-learn's checks that need no predictions."""
    for one in (*MECHANISMS, pvf.Perturbation(pvf.GaussianNoise(1))):
        check(type(one).__name__, one)


def test_perturbations_can_be_cloned_compared_and_set():
    """Perturbations are what they were given; nested settings can be searched and are checked."""
    for mechanisms in (
        {"age": pvf.GaussianNoise(1), ("a", "b"): pvf.NominalFlip(0.1)},
        [("age", pvf.GaussianNoise(1))],
        pvf.GaussianNoise(1),
    ):
        perturbation = pvf.Perturbation(mechanisms, missing="refuse")
        twin = clone(perturbation)
        assert twin == perturbation
        assert hash(twin) == hash(perturbation)
        assert twin != pvf.Perturbation(mechanisms)
        name = "mechanisms" if isinstance(mechanisms, pvf.GaussianNoise) else "age"
        assert twin.get_params()[f"{name}__scale"] == 1
        assert twin.set_params(**{f"{name}__scale": 3}) is twin
        assert twin != perturbation
        with pytest.raises(ValueError, match="scale must be finite"):
            twin.set_params(**{f"{name}__scale": -3})
        assert twin.get_params()[f"{name}__scale"] == 3  # what is refused changes nothing
    with pytest.raises(ValueError, match=r"Perturbation has no parameter 'scale'; it has"):
        pvf.Perturbation(pvf.GaussianNoise(1)).set_params(scale=1)
    a, b = pvf.GaussianNoise(1), pvf.NominalFlip(0.1)
    assert pvf.Perturbation({"a": a, "b": b}) == pvf.Perturbation({"b": b, "a": a})


def test_scaled_perturbations():
    """Twice as strong is twice the spread; probabilities end at 1."""
    matrix = {"a": {"a": 0.9, "b": 0.1}, "b": {"b": 1.0}}
    flips = pvf.Misclassification(matrix).scaled(3).fit(["a", "b"]).sample(["a", "b"], N, rng())
    assert stats.binomtest(int((flips[:, 0] == "b").sum()), N, 0.3).pvalue > 1e-3
    assert (flips[:, 1] == "b").all()
    assert pvf.NominalFlip(0.4).scaled(3) == pvf.NominalFlip(1)
    joint = pvf.CorrelatedNoise([[1, 0.5], [0.5, 1]]).scaled(2)
    np.testing.assert_array_equal(joint.covariance, [[4, 2], [2, 4]])
    where = pvf.WhereObserved(pvf.GaussianNoise(1)).scaled(2)
    assert where == pvf.WhereObserved(pvf.GaussianNoise(2))
    both = pvf.Perturbation({"a": pvf.GaussianNoise(1)}, missing="refuse").scaled(2)
    assert both == pvf.Perturbation([("a", pvf.GaussianNoise(2))], missing="refuse")
    with pytest.raises(TypeError, match="has no method scaled"):
        pvf.Perturbation([("a", Together())]).scaled(2)


def test_noise_can_be_searched_over():
    """A scorer's perturbation is cloned with its search."""
    X, y = rng().normal(size=(60, 2)), np.arange(60) % 2
    scorer = pvf.perturbation_scorer(
        "f1", perturbation=pvf.Perturbation(pvf.GaussianNoise(1)), n_sets=2
    )
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, scoring=scorer, cv=2)
    assert np.isfinite(clone(search).fit(X, y).best_score_)


def test_cells_are_made_of_one_number_each():
    """Every mechanism says which draws it takes, so that sets can be made in parts."""
    for mechanism in MECHANISMS:
        assert isinstance(mechanism, CellMechanism)
        assert mechanism.source in {"random", "standard_normal"}


# --- Tables that are no pandas frames ------------------------------------------------------------


def test_tables_of_other_kinds_are_refused_with_the_way_out():
    """Sparse matrices, sparse columns and foreign frames say what to pass instead."""
    sparse = pytest.importorskip("scipy.sparse")
    pyarrow = pytest.importorskip("pyarrow")
    noise = pvf.Perturbation(pvf.GaussianNoise(1))
    matrix = sparse.csr_matrix(np.eye(3))
    with pytest.raises(ValueError, match=r"X must be a dense table.*Pass X.toarray\(\)"):
        noise.fit(matrix)
    with pytest.raises(TypeError, match=r"X must be a dense table.*X.sparse.to_dense\(\)"):
        noise.fit(pd.DataFrame.sparse.from_spmatrix(matrix))
    with pytest.raises(TypeError, match=r"got pyarrow.lib.Table: pass X.to_pandas\(\)"):
        noise.fit(pyarrow.table({"age": [1.0, 2.0]}))
