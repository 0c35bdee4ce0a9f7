"""The three mechanisms against their formulas, and tables of every kind of column."""

import pickle
import warnings

import literal
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from scipy import stats
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from pvf import GaussianNoise, NominalFlip, OrdinalShift, Perturbation


def rng(seed=0):
    return np.random.default_rng(seed)


def test_of_frequencies(observed, probabilities):
    """Return the p-value of counts (by level) under probabilities; impossible levels must be 0."""
    observed, probabilities = np.asarray(observed), np.asarray(probabilities)
    assert observed[probabilities == 0].sum() == 0
    possible = probabilities > 0
    if possible.sum() == 1:
        return 1.0
    return stats.chisquare(
        observed[possible], observed.sum() * probabilities[possible] / probabilities.sum()
    ).pvalue


test_of_frequencies.__test__ = False


# --- One column: frequencies --------------------------------------------------------------------

N = 40_000


@pytest.mark.parametrize("probability", [0.05, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("levels", ["ab", "abc", "abcdefg"])
def test_nominal_flip_frequencies(probability, levels):
    """A category stays with 1 - ξ and goes to each other one with ξ/(|C| - 1)."""
    flip = NominalFlip(probability).fit(list(levels))
    for level in levels:
        copies = flip.sample([level] * 4, N // 4, rng(1)).ravel()
        expected = [
            1 - probability if other == level else probability / (len(levels) - 1)
            for other in levels
        ]
        observed = [(copies == other).sum() for other in levels]
        assert sum(observed) == N
        assert test_of_frequencies(observed, expected) > 1e-3


@pytest.mark.parametrize("decay", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("values", [None, [0, 1, 1.5, 6]], ids=["steps", "values"])
def test_ordinal_shift_frequencies(decay, values):
    """A value moves with ξ, to x' in proportion to exp(-λ d), d in steps or between values."""
    levels, probability = ["none", "mild", "severe", "critical"], 0.6
    shift = OrdinalShift(probability, decay, order=levels, values=values).fit(levels)
    position = np.arange(4) if values is None else np.array(values)
    for i, level in enumerate(levels):
        weight = np.exp(-decay * np.abs(position - position[i]))
        weight[i] = 0
        expected = probability * weight / weight.sum()
        expected[i] = 1 - probability
        copies = shift.sample([level], N, rng(2)).ravel()
        observed = [(copies == other).sum() for other in levels]
        assert sum(observed) == N
        assert test_of_frequencies(observed, expected) > 1e-3


def test_gaussian_noise_distribution():
    """The noise is N(0, σ²), whatever the value."""
    column = np.array([-3.0, 0.0, 250.0])
    noise = GaussianNoise(0.7).fit(column).sample(column, N // 4, rng(3)) - column
    for values in noise.T:
        assert stats.kstest(values, stats.norm(0, 0.7).cdf).pvalue > 1e-3


def test_cells_are_independent():
    """Replicas, rows and columns are perturbed independently, of the same kind or not."""
    n = 30
    X = pd.DataFrame(
        {
            "a": np.zeros(n),
            "b": np.zeros(n),
            "u": pd.Categorical(["x"] * n, categories=list("xy")),
            "v": pd.Categorical(["x"] * n, categories=list("xy")),
        }
    )
    mechanisms = {("a", "b"): GaussianNoise(1), ("u", "v"): NominalFlip(0.4)}
    k = 2000
    sample = Perturbation(mechanisms).fit(X).sample(X, k, rng(4))
    signs = (sample[["a", "b"]] > 0).assign(u=sample["u"] == "y", v=sample["v"] == "y")
    for j, first in enumerate(signs):
        for second in list(signs)[j + 1 :]:
            table = pd.crosstab(signs[first], signs[second])
            assert stats.chi2_contingency(table).pvalue > 1e-3
        cells = signs[first].to_numpy().reshape(k, n)
        for one, other in ((cells[:-1], cells[1:]), (cells[:, :-1], cells[:, 1:])):
            table = pd.crosstab(one.ravel(), other.ravel())
            assert stats.chi2_contingency(table).pvalue > 1e-3


# --- One column: properties ---------------------------------------------------------------------


@settings(deadline=None)
@given(
    st.lists(st.integers(-3, 3), min_size=2, max_size=30).filter(lambda v: len(set(v)) > 1),
    st.floats(0, 1),
    st.floats(0, 800),
    st.integers(0, 2**32),
)
def test_changes_stay_among_the_levels(column, probability, decay, seed):
    """Copies hold levels from fit only, in the column's type; ξ = 1 changes all, ξ = 0 none."""
    levels = set(column)
    for mechanism in (NominalFlip, lambda p: OrdinalShift(p, decay)):
        copies = mechanism(probability).fit(column).sample(column, 5, rng(seed))
        assert copies.shape == (5, len(column))
        assert copies.dtype == np.asarray(column).dtype
        assert set(copies.ravel().tolist()) <= levels
        assert (mechanism(1).fit(column).sample(column, 5, rng(seed)) != column).all()
        assert (mechanism(0).fit(column).sample(column, 5, rng(seed)) == column).all()


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("abcd"), min_size=2, max_size=20).filter(lambda v: len(set(v)) > 1),
    st.floats(0.01, 1),
    st.floats(0, 5),
    st.integers(0, 2**32),
)
def test_changes_equal_the_plain_formula(column, probability, decay, seed):
    """From the same random numbers the formulas, walked through plainly, give the same copies."""
    levels = sorted(set(column))
    for mechanism, plain in (
        (NominalFlip(probability), literal.flip(probability, levels)),
        (
            OrdinalShift(probability, decay, order=levels),
            literal.shift(probability, decay, levels),
        ),
    ):
        copies = mechanism.fit(column).sample(column, 7, rng(seed))
        np.testing.assert_array_equal(copies, plain(column, 7, rng(seed)))


def test_a_strong_decay_moves_to_the_nearest_level():
    """However strong the decay, the value moves to a nearest level and no weight vanishes."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shift = OrdinalShift(1, 1e9, order=[1, 2, 3, 4], values=[0, 1, 10, 1e6]).fit([1, 2, 3, 4])
        copies = shift.sample([1, 2, 3, 4], 50, rng())
    assert (copies == [2, 1, 2, 3]).all()
    ends = OrdinalShift(1, 1e9).fit([1, 2, 3]).sample([1, 2, 3], 400, rng())
    assert set(ends[:, 0]) == set(ends[:, 2]) == {2}
    assert set(ends[:, 1]) == {1, 3}


def test_no_decay_is_a_nominal_flip():
    """λ = 0 makes all other levels equally likely, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shift = OrdinalShift(0.5, 0).fit([1, 2, 3, 4])
    flip = NominalFlip(0.5).fit([1, 2, 3, 4])
    column = [1, 2, 3, 4] * 20
    np.testing.assert_array_equal(shift.sample(column, 9, rng()), flip.sample(column, 9, rng()))


LOW_TO_TOP = pd.CategoricalDtype(["low", "mid", "top"], ordered=True)


@pytest.mark.parametrize(
    ("column", "order", "levels"),
    [
        (pd.Series(["top", "low"], dtype=LOW_TO_TOP), None, ["low", "mid", "top"]),
        (["top", "low"], ["low", "mid", "top"], ["low", "mid", "top"]),
        (["top", "low"], ["top", "mid", "low"], ["top", "mid", "low"]),
        (pd.Series(["top", "low"], dtype=LOW_TO_TOP), ["top", "mid", "low"], ["top", "mid", "low"]),
        ([20, 10, 30], None, [10, 20, 30]),
        ([20.5, 10.5, 30.5], None, [10.5, 20.5, 30.5]),
        (pd.Series([2, 1, 3], dtype="Int64"), None, [1, 2, 3]),
    ],
    ids=["category", "given", "given downwards", "given for a category", "int", "float", "Int64"],
)
def test_the_order_that_an_ordinal_column_has(column, order, levels):
    """The order is the one given, else the category's own, else that of the numbers."""
    shift = OrdinalShift(1, 1e9, order=order).fit(column)
    assert shift.levels_.tolist() == levels
    moved = shift.sample([levels[0], levels[2]], 20, rng())
    assert (moved == levels[1]).all()  # one step, from either end


def test_gaussian_noise_keeps_floats_and_makes_whole_numbers_float():
    """float32 stays float32; integers become float64, so that small noise is not rounded away."""
    noise = GaussianNoise(1e-3)
    assert noise.sample(np.ones(3, np.float32), 2, rng()).dtype == np.float32
    arrow = pd.Series([1.0, 2.0], dtype="double[pyarrow]")
    for column in (np.ones(3), np.ones(3, int), pd.array([1, 2], dtype="Int64"), [1, 2], arrow):
        copies = noise.fit(column).sample(column, 2, rng())
        assert copies.dtype == np.float64
        assert (copies != np.round(copies)).all()
    zero = GaussianNoise(0).sample([1.5, 2.5], 3, rng())
    np.testing.assert_array_equal(zero, [[1.5, 2.5]] * 3)


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: GaussianNoise(-1), ValueError, r"scale must be finite and at least 0, got -1"),
        (lambda: GaussianNoise(np.nan), ValueError, r"scale must be finite .*got nan"),
        (lambda: GaussianNoise(np.inf), ValueError, r"scale must be finite .*got inf"),
        (lambda: GaussianNoise("1"), TypeError, r"scale must be a number, got '1'"),
        (lambda: GaussianNoise(True), TypeError, r"scale must be a number, got True"),  # noqa: FBT003
        (lambda: NominalFlip(1.1), ValueError, r"probability must .*\[0, 1\], got 1.1"),
        (lambda: NominalFlip(-0.1), ValueError, r"probability must .*\[0, 1\], got -0.1"),
        (lambda: NominalFlip(None), TypeError, r"probability must be a number, got None"),
        (lambda: OrdinalShift(2, 1), ValueError, r"probability must .*\[0, 1\], got 2"),
        (lambda: OrdinalShift(0.1, -1), ValueError, r"decay must be finite and at least 0, got -1"),
        (lambda: OrdinalShift(0.1, 1, order="ab"), TypeError, r"order must be an array, got 'ab'"),
        (lambda: OrdinalShift(0.1, 1, order=["a", None]), ValueError, r"order .* none missing"),
        (
            lambda: OrdinalShift(0.1, 1, order=["a", "a"]),
            ValueError,
            r"order must name each .*once",
        ),
        (lambda: OrdinalShift(0.1, 1, values=[1, np.nan]), ValueError, r"values must be finite"),
        (lambda: OrdinalShift(0.1, 1, values=["a", "b"]), TypeError, r"values must be numeric"),
        (
            lambda: OrdinalShift(0.1, 1, order=["a", "b"], values=[1]),
            ValueError,
            r"values must be one number for each of the 2 levels in order, got 1",
        ),
    ],
)
def test_errors_of_settings(make, error, says):
    """Each wrong setting is named, with what it got and what it takes."""
    with pytest.raises(error, match=says):
        make()


@pytest.mark.parametrize(
    ("mechanism", "column", "error", "says"),
    [
        (GaussianNoise(1), ["a", "b"], TypeError, r"takes a numeric column.*NominalFlip"),
        (GaussianNoise(1), [True, False], TypeError, r"takes a numeric column, got dtype bool"),
        (GaussianNoise(1), [1, np.nan], ValueError, r"1 missing or infinite.*finite numbers"),
        (GaussianNoise(1), [1, np.inf], ValueError, r"1 missing or infinite"),
        (GaussianNoise(1), pd.array([1, None], "Int64"), ValueError, r"1 missing or infinite"),
        (NominalFlip(0.1), ["a", None], ValueError, r"1 missing.*impute first"),
        (NominalFlip(0.1), pd.array([True, None], "boolean"), ValueError, r"1 missing"),
        (NominalFlip(0.1), [1.0, 2.0, np.inf], ValueError, r"1 missing or infinite"),
        (OrdinalShift(0.1, 1), [1.0, 2.0, -np.inf], ValueError, r"1 missing or infinite"),
        (NominalFlip(0.1), ["a", "a"], ValueError, r"one category \('a'\).*cannot flip"),
        (NominalFlip(0), [3, 3], ValueError, r"one category \(3\).*cannot flip"),
        (OrdinalShift(0.1, 1), [1.0, 1.0], ValueError, r"one category \(1.0\)"),
        (NominalFlip(0.1), pd.Series([1, "a"], dtype=object), TypeError, r"cannot be sorted"),
        (OrdinalShift(0.1, 1), ["a", "b"], ValueError, r"no order of its own.*as order"),
        (OrdinalShift(0.1, 1), pd.Categorical(["a", "b"]), ValueError, r"no order of its own"),
        (OrdinalShift(0.1, 1, order=["a"]), ["a", "b"], ValueError, r"\['b'\], which order does"),
        (OrdinalShift(0.1, 1, values=[1]), [1, 2], ValueError, r"values must be one number .*2 le"),
    ],
)
def test_errors_of_fit(mechanism, column, error, says):
    """A column that does not suit its mechanism is refused, and the table names it."""
    with pytest.raises(error, match=says):
        mechanism.fit(column)
    X = pd.DataFrame({"fine": range(len(column)), "odd one": column})
    with pytest.raises(error, match=f"(?s)Column 'odd one' of X: .*{says}"):
        Perturbation({"odd one": mechanism}, missing="refuse").fit(X)


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (["a", "q", "b"], r"holds \['q'\], not seen at fit; NominalFlip knows \['a', 'b'\]"),
        (["a", None, "b"], r"1 missing"),
        (pd.Categorical(["a", "q"]), r"categories \['a', 'q'\] lack \['b'\]"),
    ],
    ids=["unseen", "missing", "category without a level"],
)
def test_errors_of_sample(column, says):
    """A validation column with a category not seen at fit, or with a gap, is refused by name."""
    X = pd.DataFrame({"odd one": ["a", "b"]})
    perturbation = Perturbation({"odd one": NominalFlip(0.1)}, missing="refuse").fit(X)
    with pytest.raises(ValueError, match=f"Column 'odd one' of X: .*{says}"):
        perturbation.sample(pd.DataFrame({"odd one": column}), 2, rng())


def test_mechanisms_that_learn_must_be_fitted():
    """A flip or shift that has seen no data says so; noise has nothing to learn."""
    for mechanism in (NominalFlip(0.1), OrdinalShift(0.1, 1)):
        with pytest.raises(NotFittedError, match="call fit first"):
            mechanism.sample(["a"], 1, rng())
    assert GaussianNoise(1).sample([1.0], 1, rng()).shape == (1, 1)


class Always(np.random.Generator):
    """A generator that always draws one number."""

    def __init__(self, number):
        super().__init__(np.random.PCG64(0))
        self.number = number

    def random(self, size):
        """Return the number, everywhere."""
        return np.full(size, self.number)


@pytest.mark.parametrize("n_levels", range(2, 60))
def test_no_level_follows_itself_however_the_sums_are_rounded(n_levels):
    """The largest draw moves the last level to the one before it, and the others to the last."""
    levels = list(range(n_levels))
    source = Always(np.nextafter(1, 0))
    expected = [n_levels - 1] * (n_levels - 1) + [n_levels - 2]
    for mechanism in (NominalFlip(1.0), OrdinalShift(1.0, 0.0)):
        assert mechanism.fit(levels).sample(levels, 1, source)[0].tolist() == expected


def test_the_smallest_draw_changes_each_level_unless_none_may_change():
    """A draw of 0 moves the first level to the second, the others to the first; or nothing."""
    levels = [0, 1, 2]
    for mechanism in (NominalFlip, lambda probability: OrdinalShift(probability, 1.0)):
        for probability, expected in ((1.0, [1, 0, 0]), (1e-12, [1, 0, 0]), (0.0, levels)):
            copies = mechanism(probability).fit(levels).sample(levels, 1, Always(0.0))
            assert copies[0].tolist() == expected


# --- Tables -------------------------------------------------------------------------------------


@pytest.fixture
def mixed():
    """Return a frame with every kind of column, and a mechanism for each by name."""
    n = 40
    draw = rng(5)
    text = draw.choice(["x", "yy", "zzz"], n)
    index = [f"row {i}" for i in range(n)]
    frame = pd.DataFrame(
        {
            "float": draw.normal(size=n),
            "float32": draw.normal(size=n).astype(np.float32),
            "int": draw.integers(0, 9, n),
            "nullable float": pd.array(draw.normal(size=n), dtype="Float64"),
            "bool": draw.random(n) < 0.5,
            "boolean": pd.array(draw.random(n) < 0.5, dtype="boolean"),
            "Int64": pd.array(draw.integers(0, 4, n), dtype="Int64"),
            "int8": draw.integers(0, 4, n).astype(np.int8),
            "nominal": pd.Categorical(text, categories=["zzz", "x", "yy", "unused"]),
            "ordinal": pd.Categorical(text, categories=["zzz", "x", "yy"], ordered=True),
            "string": pd.array(text, dtype="string"),
            "str": pd.Series(text.tolist(), index=index),
            "object": pd.Series(text.tolist(), index=index, dtype=object),
            "untouched": np.arange(n),
            "gaps": np.where(np.arange(n) % 3 == 0, np.nan, 1.0),
        },
        index=index,
    )
    flip = NominalFlip(0.5)
    mechanisms = {
        ("float", "float32", "nullable float"): GaussianNoise(0.1),
        ("bool", "boolean", "nominal", "string", "str", "object", "int8"): flip,
        "Int64": OrdinalShift(0.5, 0.3),
        "ordinal": OrdinalShift(0.5, 0.3),
    }
    return frame, mechanisms


def test_mixed_frame_keeps_columns_dtypes_and_index(mixed):
    """Names, order, dtypes and repeated index survive; what nobody names is repeated as it is."""
    X, mechanisms = mixed
    X.columns.name = "features"
    k = 3
    sample = Perturbation(mechanisms).fit(X).sample(X, k, rng())
    assert sample.columns.equals(X.columns)
    assert sample.columns.name == "features"
    assert sample.dtypes.equals(X.dtypes)
    assert sample.index.tolist() == X.index.tolist() * k
    repeated = pd.concat([X] * k)
    named = [name for key in mechanisms for name in ([key] if isinstance(key, str) else key)]
    untouched = [name for name in X if name not in named]
    assert untouched == ["int", "untouched", "gaps"]
    assert_frame_equal(sample[untouched], repeated[untouched])
    for name in named:
        share = (sample[name].to_numpy() != repeated[name].to_numpy()).mean()
        assert share > (0.95 if "float" in name else 0.3), name
        assert not sample[name].isna().any()
    assert "unused" in set(sample["nominal"])  # a category that is declared is one to flip to


def test_mixed_frame_equals_the_plain_columns(mixed):
    """From the same generator, column after column, the plain formulas give the same table."""
    X, mechanisms = mixed
    noise, text = literal.add_noise(0.1), ["x", "yy", "zzz"]
    plain = {
        "float": noise,
        "bool": literal.flip(0.5, [False, True]),
        "boolean": literal.flip(0.5, [False, True]),
        "Int64": literal.shift(0.5, 0.3, [0, 1, 2, 3]),
        "int8": literal.flip(0.5, [0, 1, 2, 3]),
        "nominal": literal.flip(0.5, ["zzz", "x", "yy", "unused"]),
        "ordinal": literal.shift(0.5, 0.3, ["zzz", "x", "yy"]),
        "string": literal.flip(0.5, text),
        "str": literal.flip(0.5, text),
        "object": literal.flip(0.5, text),
        "nullable float": noise,
        "float32": noise,
    }
    perturbers = [plain.get(name) for name in X]
    expected, _ = literal.perturbed_set(X, np.zeros(len(X)), perturbers, 4, rng(6))
    sample = Perturbation(mechanisms).fit(X).sample(X, 4, rng(6))
    assert_frame_equal(sample.reset_index(drop=True), expected)


def test_rows_come_replica_by_replica():
    """Row j·n + i is replica j of row i, in arrays and frames."""
    X = np.arange(6.0).reshape(3, 2)
    perturbation = Perturbation({0: GaussianNoise(0)}).fit(X)
    np.testing.assert_array_equal(perturbation.sample(X, 4, rng()), np.tile(X, (4, 1)))
    frame = pd.DataFrame(X, columns=["a", "b"], index=[5, 5, 9])
    sample = Perturbation({"a": GaussianNoise(0)}).fit(frame).sample(frame, 4, rng())
    assert_frame_equal(sample, pd.concat([frame] * 4))


def test_arrays_by_index():
    """Indices pick an array's columns, from either end; the others stay as they are."""
    X = rng().normal(size=(50, 4))
    sample = Perturbation({(0, -1): GaussianNoise(1)}).fit(X).sample(X, 2, rng())
    changed = (sample != np.tile(X, (2, 1))).all(axis=0)
    assert changed.tolist() == [True, False, False, True]
    np.testing.assert_array_equal(sample[:, 1:3], np.tile(X, (2, 1))[:, 1:3])


def test_array_equals_the_plain_columns():
    """Noise on all columns of an array is drawn column after column."""
    X = rng().normal(size=(9, 5))
    sample = Perturbation(GaussianNoise(0.3)).fit(X).sample(X, 7, rng(7))
    expected, _ = literal.perturbed_set(X, np.zeros(9), [literal.add_noise(0.3)] * 5, 7, rng(7))
    np.testing.assert_array_equal(sample, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int8, object, list])
def test_dtypes_of_arrays(dtype):
    """Arrays keep their dtype, but that whole numbers under noise become float64."""
    X = [[1, 5], [2, 6], [3, 7]]
    X = X if dtype is list else np.array(X, dtype=dtype)
    noisy = Perturbation({0: GaussianNoise(0.1)}).fit(X).sample(X, 2, rng())
    flipped = Perturbation({0: NominalFlip(1)}).fit(X).sample(X, 2, rng())
    is_whole = dtype in {np.int64, np.int8, list}
    assert noisy.dtype == (np.float64 if is_whole else dtype)
    assert flipped.dtype == (np.int64 if dtype is list else dtype)
    assert (noisy[:, 0] != np.tile(np.array(X)[:, 0], 2)).all()
    assert (noisy[:, 1] == [5, 6, 7] * 2).all()
    assert set(flipped[:, 0].tolist()) <= {1, 2, 3}
    assert (flipped[:, 0] != [1, 2, 3] * 2).all()


def test_levels_of_training_data_reach_the_validation_data():
    """A level that only the training data hold is one to change to, whole and of its own value."""
    train, validation = np.array([["ab"], ["long name"]]), np.array([["ab"], ["ab"]])
    sample = Perturbation({0: NominalFlip(1)}).fit(train).sample(validation, 3, rng())
    assert set(sample.ravel().tolist()) == {"long name"}

    half = OrdinalShift(1, 0, order=[0, 0.5, 1])
    for X in (np.array([[0], [1]]), pd.DataFrame({"x": [0, 1]})):
        sample = np.asarray(Perturbation({0: half}).fit(X).sample(X, 50, rng()))
        assert 0.4 < (sample == 0.5).mean() < 0.6

    flags = Perturbation({0: NominalFlip(1)}).fit(pd.DataFrame({"x": [True, False]}))
    assert not flags.sample(pd.DataFrame({"x": [True, True]}), 2, rng())["x"].any()


def test_ways_to_name_columns(mixed):
    """A name, an index, a tuple, pairs with lists, and one mechanism for all mean the same."""
    X = mixed[0][["float", "float32", "int"]]
    noise = GaussianNoise(1)
    expected = Perturbation({"float": noise, "int": noise}).fit(X).sample(X, 2, rng())
    for mechanisms in (
        {("float", "int"): noise},
        {0: noise, 2: noise},
        {0: noise, -1: noise},
        [(["float", "int"], noise)],
        [("int", noise), ("float", noise)],
        [(np.array([0, 2]), noise)],
        [(X.columns[[0, 2]], noise)],
    ):
        assert_frame_equal(Perturbation(mechanisms).fit(X).sample(X, 2, rng()), expected)
    everything = Perturbation(noise).fit(X).sample(X, 2, rng())
    each = Perturbation(dict.fromkeys(X, noise)).fit(X).sample(X, 2, rng())
    assert_frame_equal(everything, each)
    nothing = Perturbation({}).fit(X).sample(X, 2, rng())
    assert_frame_equal(nothing, pd.concat([X, X]))


def test_names_that_are_tuples_or_numbers():
    """A tuple that is a name is that column; numbers that are names are no positions."""
    noise = GaussianNoise(1)
    deep = pd.DataFrame(np.zeros((2, 2)), columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]))
    sample = Perturbation({("b", 2): noise}).fit(deep).sample(deep, 1, rng())
    assert (sample != 0).all().tolist() == [False, True]
    assert sample.columns.equals(deep.columns)
    numbered = pd.DataFrame(np.zeros((2, 2)), columns=[1, 0])
    sample = Perturbation({0: noise}).fit(numbered).sample(numbered, 1, rng())
    assert (sample != 0).all().tolist() == [False, True]
    with pytest.raises(ValueError, match=r"column -1, which X lacks; X has \[1, 0\]"):
        Perturbation({-1: noise}).fit(numbered)


class Shuffle:
    """A user's mechanism: permute the column's values."""

    def fit(self, column):
        """Note how many rows there are."""
        self.seen_ = len(column)
        return self

    def sample(self, column, size, rng):
        """Return ``size`` orders of the column."""
        return np.array([rng.permutation(np.asarray(column)) for _ in range(size)])


@pytest.mark.parametrize("as_frame", [False, True], ids=["array", "frame"])
def test_a_mechanism_that_a_user_writes(as_frame):
    """Anything with fit and sample works, beside the package's own, from the same generator."""
    X = rng().normal(size=(20, 3))
    X = pd.DataFrame(X, columns=list("abc")) if as_frame else X
    shuffle = Shuffle()
    mechanisms = {0: GaussianNoise(0.1), 1: shuffle, 2: GaussianNoise(0.1)}
    sample = np.asarray(Perturbation(mechanisms).fit(X).sample(X, 2, rng(1)))
    draw, columns = rng(1), np.asarray(X)
    noise, permute = literal.add_noise(0.1), Shuffle()
    np.testing.assert_array_equal(sample[:, 0], noise(columns[:, 0], 2, draw).ravel())
    np.testing.assert_array_equal(sample[:, 1], permute.sample(columns[:, 1], 2, draw).ravel())
    np.testing.assert_array_equal(sample[:, 2], noise(columns[:, 2], 2, draw).ravel())
    assert not hasattr(shuffle, "seen_")  # the user's object is copied before it is fitted


class Counts:
    """A foreign mechanism that keeps the values it was fitted to, and returns how many."""

    def __init__(self):
        self.known = []

    def fit(self, column):
        """Add a column's values to those that are known."""
        self.known.extend(column)

    def sample(self, column, size, _):
        """Return the number of known values, and a half."""
        return np.full((size, len(column)), len(self.known) + 0.5)


def test_a_mechanism_learns_each_column_apart():
    """One object for two columns is fitted to each by a copy of its own, down to its lists."""
    counts = Counts()
    fitted = Perturbation({(0, 1): counts}).fit(np.arange(6).reshape(3, 2))
    assert {position: copy.known for position, copy in fitted.mechanisms_.items()} == {
        0: [0, 2, 4],
        1: [1, 3, 5],
    }
    assert counts.known == []


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.float64])
def test_fractions_in_an_array_are_kept(dtype):
    """An array of whole numbers or booleans becomes float where a column gets fractions."""
    X = np.array([[0, 1], [1, 1]], dtype=dtype)
    perturbed = Perturbation({0: Counts()}).fit(X).sample(X, 2, rng())
    assert perturbed.dtype == np.float64
    assert perturbed.tolist() == [[2.5, 1.0]] * 4


class Returns:
    """A user's mechanism that returns what it is told to."""

    def __init__(self, value):
        self.value = value

    def fit(self, _):
        """Learn nothing."""
        return self

    def sample(self, *_):
        """Return the value."""
        return self.value


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (
            np.zeros((3, 2)),
            r"Column 'c' of X: Returns.sample must return shape \(2, 3\), got \(3, 2\)",
        ),
        (np.zeros(6), r"got \(6,\)"),
        (np.full((2, 3), "q"), r"Column 'c' of X: The perturbed values \['q'\] are not among"),
    ],
    ids=["transposed", "flat", "unknown category"],
)
def test_errors_of_what_a_user_writes(value, says):
    """A mechanism that returns the wrong shape, or values that the column can't hold, is named."""
    X = pd.DataFrame({"c": pd.Categorical(["a", "b", "a"])})
    with pytest.raises(ValueError, match=says):
        Perturbation({"c": Returns(value)}).fit(X).sample(X, 2, rng())


@pytest.mark.parametrize(
    ("mechanisms", "error", "says"),
    [
        ({"zzz": GaussianNoise(1)}, ValueError, r"'zzz', which X lacks; X has \['a', 'b'\]"),
        ({2: GaussianNoise(1)}, ValueError, r"column 2, which X lacks"),
        ({-3: GaussianNoise(1)}, ValueError, r"column -3, which X lacks"),
        ({("a", "zzz"): GaussianNoise(1)}, ValueError, r"'zzz', which X lacks"),
        ({True: GaussianNoise(1)}, ValueError, r"column True, which X lacks"),
        ([("a", GaussianNoise(1)), (["a"], GaussianNoise(1))], ValueError, r"'a' twice"),
        ({"a": GaussianNoise(1), 0: GaussianNoise(1)}, ValueError, r"'a' twice"),
        ({"a": GaussianNoise}, TypeError, r"for 'a'; it takes objects with fit and sample"),
        ({"a": 0.1}, TypeError, r"mechanisms gives 0.1 for 'a'"),
        ({"a": None}, TypeError, r"mechanisms gives None for 'a'"),
        (GaussianNoise, TypeError, r"mechanisms must map columns to mechanisms.*GaussianNoise"),
        (0.1, TypeError, r"mechanisms must map columns.*got 0.1"),
        (None, TypeError, r"mechanisms must map columns.*got None"),
        (["a", "b"], TypeError, r"mechanisms must map columns"),
    ],
)
def test_errors_of_mechanisms(mechanisms, error, says):
    """A key that is no column, a column named twice and what is no mechanism are refused."""
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    with pytest.raises(error, match=says):
        Perturbation(mechanisms).fit(X)


def test_errors_of_tables():
    """Tables that are none, that are empty, or that differ from the one at fit are refused."""
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    perturbation = Perturbation({"a": GaussianNoise(1)})
    with pytest.raises(NotFittedError, match="call fit with training data"):
        perturbation.sample(X, 1, rng())
    perturbation.fit(X)
    for other in (X[["b", "a"]], X[["a"]], X.to_numpy(), X.assign(c=1)):
        with pytest.raises(ValueError, match=r"X must have the columns seen at fit, \['a', 'b'\]"):
            perturbation.sample(other, 1, rng())
    for other, name in (([1.0, 2.0], "list of 1"), (csr_array(np.eye(2)), "csr_array of 2")):
        with pytest.raises(ValueError, match=f"X must be a dense table .*got {name} dimensions"):
            Perturbation(GaussianNoise(1)).fit(other)
    for empty in (X[:0], X[[]], np.empty((0, 3))):
        with pytest.raises(ValueError, match="X must have at least one row and one column"):
            Perturbation(GaussianNoise(1)).fit(empty)
    with pytest.raises(ValueError, match="X has 2 columns named 'a'"):
        Perturbation({"a": GaussianNoise(1)}).fit(X.set_axis(["a", "a"], axis=1))


@pytest.mark.parametrize(
    ("n_replicas", "generator", "error", "says"),
    [
        (0, rng(), ValueError, r"n_replicas must be at least 1, got 0"),
        (1.5, rng(), TypeError, r"n_replicas must be a whole number, got 1.5"),
        (1, 0, TypeError, r"rng must be a numpy Generator, got 0"),
        (1, np.random.RandomState(0), TypeError, r"rng must be a numpy Generator"),
    ],
)
def test_errors_of_sample_settings(n_replicas, generator, error, says):
    """The number of replicas and the generator are checked."""
    X = np.ones((2, 1))
    with pytest.raises(error, match=says):
        Perturbation(GaussianNoise(1)).fit(X).sample(X, n_replicas, generator)


def test_columns_with_the_same_name_that_nobody_perturbs():
    """Equal names are allowed where no mechanism has to choose between them."""
    X = pd.DataFrame([[1.0, 2, 3], [4, 5, 6]], columns=["a", "a", "b"])
    sample = Perturbation({"b": GaussianNoise(1)}).fit(X).sample(X, 2, rng())
    assert sample.columns.tolist() == ["a", "a", "b"]
    np.testing.assert_array_equal(sample.iloc[:, :2], np.tile(X.iloc[:, :2], (2, 1)))


def test_sampling_is_reproducible_and_changes_no_input(mixed):
    """The generator decides all; the table, the mechanisms and the perturbation stay."""
    X, mechanisms = mixed
    before, perturbation = X.copy(deep=True), Perturbation(mechanisms).fit(X)
    state = pickle.dumps(perturbation)
    first, draw = perturbation.sample(X, 2, rng(1)), rng(1)
    assert_frame_equal(first, perturbation.sample(X, 2, draw))
    assert not first.equals(perturbation.sample(X, 2, draw))  # the generator has moved on
    assert_frame_equal(first, pickle.loads(state).sample(X, 2, rng(1)))
    assert_frame_equal(X, before)
    assert pickle.dumps(perturbation) == state
    flips = next(m for m in mechanisms.values() if isinstance(m, NominalFlip))
    assert not hasattr(flips, "levels_")
    first.iloc[:, 0] = 0  # nor does the sample share memory with the table
    assert_frame_equal(X, before)


def test_one_mechanism_learns_each_column_apart():
    """A mechanism that serves two columns keeps the categories of each to itself."""
    X = pd.DataFrame({"a": ["x", "y"], "b": ["p", "q"]})
    sample = Perturbation({("a", "b"): NominalFlip(1)}).fit(X).sample(X, 3, rng())
    assert sample["a"].tolist() == ["y", "x"] * 3
    assert sample["b"].tolist() == ["q", "p"] * 3


def test_printed_form():
    """Mechanisms and perturbations print their settings."""
    perturbation = Perturbation({"a": GaussianNoise(0.1), "b": OrdinalShift(0.2, 3)})
    assert (
        repr(perturbation) == "Perturbation({'a': GaussianNoise(0.1), 'b': OrdinalShift(0.2, 3)})"
    )
    assert repr(NominalFlip(0.25)) == "NominalFlip(0.25)"
