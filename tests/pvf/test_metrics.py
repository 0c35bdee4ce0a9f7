"""Intervention Efficiency against the policy that defines it, and beside scikit-learn's metrics."""

import math
import pickle
import warnings
from fractions import Fraction

import literal
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import make_scorer, precision_score, recall_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from pvf import (
    InterventionEfficiencyDisplay,
    intervention_efficiency,
    intervention_efficiency_counts,
    intervention_efficiency_score,
    intervention_efficiency_scorer,
)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@st.composite
def small_populations(draw):
    """Draw who is a case, who is flagged, and how many can be reached, for listing all choices."""
    n = draw(st.integers(1, 8))
    truth = draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(any))
    flagged = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    room = draw(st.integers(1, 4 * n).map(lambda quarters: Fraction(quarters, 4)))
    return truth, flagged, room


@st.composite
def counts(draw):
    """Draw (tp, fp, n_pos, n_neg) and a capacity."""
    n_pos, n_neg = draw(st.integers(1, 500)), draw(st.integers(0, 500))
    tp, fp = draw(st.integers(0, n_pos)), draw(st.integers(0, n_neg))
    capacity = draw(st.floats(1e-6, 1, exclude_min=True))
    return tp, fp, n_pos, n_neg, capacity


def labels_from_counts(tp, fp, n_pos, n_neg):
    truth = np.repeat([1, 0], [n_pos, n_neg])
    flagged = np.repeat([1, 0, 1, 0], [tp, n_pos - tp, fp, n_neg - fp])
    return truth, flagged


# --- The definition -----------------------------------------------------------------------------


@settings(deadline=None)
@given(small_populations())
def test_counts_equal_the_listing_of_all_choices(population):
    """IE is the expected number of cases of the policy over that of chance, at any capacity."""
    truth, flagged, room = population
    expected = literal.efficiency_by_enumeration(truth, flagged, room)
    truth, flagged = np.array(truth), np.array(flagged)
    value = intervention_efficiency_counts(
        (truth & flagged).sum(),
        (~truth & flagged).sum(),
        truth.sum(),
        (~truth).sum(),
        float(room / len(truth)),
    )
    assert value == pytest.approx(float(expected), rel=1e-12, abs=1e-12)
    score = intervention_efficiency_score(truth, flagged, capacity=float(room / len(truth)))
    assert score == value


@pytest.mark.parametrize(
    ("tp", "fp", "room"),
    [(8, 8, 10), (8, 8, 16), (8, 8, 30), (0, 5, 20), (0, 0, 20), (2, 10, 60), (10, 40, 25)],
    ids=["scarce", "exactly c", "ample", "nobody right", "nobody flagged", "poor", "too many"],
)
def test_counts_equal_the_simulated_policy(tp, fp, room):
    """The mean of many runs of the policy lies within its error of IE times that of chance."""
    truth, flagged = labels_from_counts(tp, fp, 10, 90)
    reached = literal.simulated_cases(truth, flagged, room, 4000, np.random.default_rng(room))
    by_chance = room * 10 / 100
    expected = intervention_efficiency_counts(tp, fp, 10, 90, room / 100) * by_chance
    assert abs(reached.mean() - expected) <= 4 * reached.std() / np.sqrt(4000) + 1e-9


@settings(deadline=None)
@given(counts())
def test_precision_recall_form_equals_counts_form(drawn):
    """The closed form of Proposition 3.1 gives the same number wherever it is defined."""
    tp, fp, n_pos, n_neg, capacity = drawn
    assume(tp > 0)
    truth, flagged = labels_from_counts(tp, fp, n_pos, n_neg)
    value = intervention_efficiency(
        precision_score(truth, flagged),
        recall_score(truth, flagged),
        n_pos / (n_pos + n_neg),
        capacity,
    )
    expected = intervention_efficiency_counts(tp, fp, n_pos, n_neg, capacity)
    # Near capacity 1 with nearly everybody flagged, 1 - s loses digits in the closed form.
    assert value == pytest.approx(expected, rel=1e-9)


@settings(deadline=None)
@given(counts())
def test_counts_equal_the_two_regimes(drawn):
    """The counts form, the score and Appendix A's regimes written out agree."""
    tp, fp, n_pos, n_neg, capacity = drawn
    truth, flagged = labels_from_counts(tp, fp, n_pos, n_neg)
    value = intervention_efficiency_counts(tp, fp, n_pos, n_neg, capacity)
    assert value == pytest.approx(literal.efficiency(capacity)(truth, flagged), rel=1e-10)
    assert intervention_efficiency_score(truth, flagged, capacity=capacity) == value


@settings(deadline=None)
@given(counts())
def test_bounds(drawn):
    """IE lies between 0 and min(1/γ, 1/π)."""
    tp, fp, n_pos, n_neg, capacity = drawn
    value = intervention_efficiency_counts(tp, fp, n_pos, n_neg, capacity)
    prevalence = n_pos / (n_pos + n_neg)
    assert 0 <= value <= min(1 / capacity, 1 / prevalence) * (1 + 1e-12)


@settings(deadline=None)
@given(counts())
def test_a_perfect_model_reaches_the_limit(drawn):
    """Flagging the cases and nobody else gives min(1/γ, 1/π)."""
    _, _, n_pos, n_neg, capacity = drawn
    value = intervention_efficiency_counts(n_pos, 0, n_pos, n_neg, capacity)
    prevalence = n_pos / (n_pos + n_neg)
    assert value == pytest.approx(min(1 / capacity, 1 / prevalence), rel=1e-9)


@settings(deadline=None)
@given(counts())
def test_monotone_in_counts(drawn):
    """One more case flagged never lowers IE; one more negative flagged never raises it."""
    tp, fp, n_pos, n_neg, capacity = drawn
    value = intervention_efficiency_counts(tp, fp, n_pos, n_neg, capacity)
    slack = 1e-9 * max(value, 1)
    if tp < n_pos:
        assert intervention_efficiency_counts(tp + 1, fp, n_pos, n_neg, capacity) >= value - slack
    if fp < n_neg:
        assert intervention_efficiency_counts(tp, fp + 1, n_pos, n_neg, capacity) <= value + slack


@settings(deadline=None)
@given(counts(), st.floats(1e-6, 1, exclude_min=True))
def test_more_capacity_never_reaches_fewer(drawn, other):
    """The cases reached, γ · IE, do not fall as capacity grows."""
    tp, fp, n_pos, n_neg, capacity = drawn
    low, high = sorted([capacity, other])
    few, many = intervention_efficiency_counts(tp, fp, n_pos, n_neg, [low, high]) * [low, high]
    assert few <= many * (1 + 1e-9)


@settings(deadline=None)
@given(counts(), st.randoms(use_true_random=False))
def test_row_order_does_not_matter(drawn, random):
    """The score is that of the counts, in whatever order the people stand, also at a tie at c."""
    tp, fp, n_pos, n_neg, capacity = drawn
    truth, flagged = labels_from_counts(tp, fp, n_pos, n_neg)
    order = random.sample(range(len(truth)), len(truth))
    value = intervention_efficiency_score(truth[order], flagged[order], capacity=capacity)
    assert value == intervention_efficiency_counts(tp, fp, n_pos, n_neg, capacity)


@settings(deadline=None)
@given(st.lists(st.integers(0, 1), min_size=1).filter(any), st.floats(0.01, 1), st.booleans())
def test_a_constant_model_is_chance(truth, capacity, flags_everybody):
    """A model that flags everybody, or nobody, scores 1 whatever the order of rows."""
    predicted = [int(flags_everybody)] * len(truth)
    assert intervention_efficiency_score(truth, predicted, capacity=capacity) == 1
    reversed_score = intervention_efficiency_score(truth[::-1], predicted, capacity=capacity)
    assert reversed_score == 1


# --- Edges --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tp", "fp", "n_pos", "n_neg", "capacity", "expected"),
    [
        (0, 0, 10, 90, 0.1, 1.0),
        (10, 90, 10, 90, 0.1, 1.0),
        (10, 90, 10, 90, 1.0, 1.0),
        (3, 7, 10, 90, 1.0, 1.0),
        (0, 5, 10, 90, 1.0, 1.0),
        (0, 0, 10, 90, 1.0, 1.0),
        # 5 wrongly flagged, room for 20: 15 left for the other 95 people with all 10 cases.
        (0, 5, 10, 90, 0.2, 15 * 10 / 95 / 2),
        (0, 30, 10, 90, 0.2, 0.0),
        (8, 8, 10, 90, 0.16, 8 / 1.6),
        (1, 0, 1, 99, 0.01, 100.0),
        (1, 0, 1, 99, 0.5, 2.0),
        (0, 1, 1, 99, 0.01, 0.0),
        (5, 0, 5, 0, 0.4, 1.0),
        (2, 0, 5, 0, 0.2, 1.0),
        (3, 2, 4, 6, 0.25, 3 / 5 / 0.4),
    ],
    ids=[
        "nobody flagged",
        "everybody flagged",
        "everybody flagged at capacity 1",
        "capacity 1",
        "capacity 1, nobody right",
        "capacity 1, nobody flagged",
        "nobody right, ample",
        "nobody right, scarce",
        "flagged exactly c",
        "one positive, found, one intervention",
        "one positive, found, ample",
        "one positive, missed",
        "everybody positive and flagged",
        "everybody positive, some flagged",
        "room of two and a half",
    ],
)
def test_edges(tp, fp, n_pos, n_neg, capacity, expected):
    """Each edge has the value that the policy gives, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value = intervention_efficiency_counts(tp, fp, n_pos, n_neg, capacity)
        truth, flagged = labels_from_counts(tp, fp, n_pos, n_neg)
        score = intervention_efficiency_score(truth, flagged, capacity=capacity)
    assert value == pytest.approx(expected, rel=1e-12)
    assert score == value


def test_closed_form_is_undefined_where_nobody_flagged_is_a_case():
    """Precision and recall 0 give NaN and a warning that names the counts, except at capacity 1."""
    with pytest.warns(RuntimeWarning, match="intervention_efficiency_counts"):
        value = intervention_efficiency(0, 0, 0.1, [0.2, 1])
    assert np.isnan(value[0])
    assert value[1] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert intervention_efficiency(0, 0, 0.1, 1) == 1
        assert intervention_efficiency(0.1, 1, 0.1, 1) == 1  # everybody flagged


def test_closed_form_without_true_positives_reaches_nobody():
    """Precision 0 with a recall above 0 is the formula's limit: everybody reached is negative."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value = intervention_efficiency(0, 0.5, 0.1, 0.2)
    assert value == 0
    assert intervention_efficiency(1e-9, 0.5, 0.1, 0.2) == pytest.approx(0, abs=1e-7)


def test_counts_may_exceed_their_whole_by_rounding():
    """Sums of the same weights in another order differ in the last bits, and are taken."""
    weights = [0.1] * 10
    n_pos, tp = sum(weights), math.fsum(weights)
    assert tp > n_pos
    assert intervention_efficiency_counts(tp, 0, n_pos, 9, 0.05) == pytest.approx(10, rel=1e-12)
    n_neg, fp = 9 * sum(weights), 9 * math.fsum(weights)
    assert intervention_efficiency_counts(1, fp, 1, n_neg, 0.5) == pytest.approx(1, rel=1e-12)
    with pytest.raises(ValueError, match="tp must lie between 0 and n_pos"):
        intervention_efficiency_counts(1 + 1e-9, 0, 1, 9, 0.5)


def test_everybody_flagged_is_chance_at_any_capacity():
    """It is 1 to the last bit, also where the positives' weights are summed in another order."""
    population = np.arange(2, 200)
    for tp in (1, 1 + 5e-13):
        value = intervention_efficiency_counts(tp, population + 1e6, 1, population + 1e6, 0.5)
        assert (value == 1).all()


def test_flagged_exactly_c_is_the_same_in_both_regimes():
    """Where the flagged just fill the capacity, its rounding does not show."""
    for room in range(1, 100):
        tp, fp = room // 2, room - room // 2
        value = intervention_efficiency_counts(tp, fp, 50, 50, room / 100)
        assert value == pytest.approx(tp / room / 0.5, rel=1e-12)


def test_broadcasting():
    """The arguments broadcast; scalars give a float, arrays an array of the joint shape."""
    tp, capacity = np.arange(4)[:, None], [0.1, 0.2, 1.0]
    values = intervention_efficiency_counts(tp, 2, 5, 20, capacity)
    assert values.shape == (4, 3)
    for i in range(4):
        for j, gamma in enumerate(capacity):
            assert values[i, j] == intervention_efficiency_counts(i, 2, 5, 20, gamma)
    assert type(intervention_efficiency_counts(1, 2, 5, 20, 0.1)) is float
    assert type(intervention_efficiency(0.5, 0.5, 0.5, 0.1)) is float
    assert intervention_efficiency([0.5, 0.4], 0.5, [[0.5], [0.2]], 0.1).shape == (2, 2)
    assert intervention_efficiency_counts([], [], 5, 20, 0.1).shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ((1, 1, 0, 5, 0.5), ValueError, r"n_pos must be above 0 .*got 0"),
        ((1, 1, 5, -1, 0.5), ValueError, r"n_neg must be 0 or more, got -1"),
        ((6, 1, 5, 5, 0.5), ValueError, r"tp must lie between 0 and n_pos, got tp=6 and n_pos=5"),
        ((-1, 1, 5, 5, 0.5), ValueError, r"tp must lie between 0 and n_pos, got tp=-1"),
        ((1, 6, 5, 5, 0.5), ValueError, r"fp must lie between 0 and n_neg, got fp=6 and n_neg=5"),
        ((np.arange(9), 1, 5, 5, 0.5), ValueError, r"got tp=6 and n_pos=5"),
        ((np.nan, 1, 5, 5, 0.5), ValueError, r"tp must be finite, got nan"),
        ((1, np.inf, 5, 5, 0.5), ValueError, r"fp must be finite, got inf"),
        ((1, 1, 5, 5, 0), ValueError, r"capacity must lie in \(0, 1\], got 0"),
        ((1, 1, 5, 5, 1.5), ValueError, r"capacity must lie in \(0, 1\], got 1.5"),
        ((1, 1, 5, 5, -0.1), ValueError, r"capacity must lie in \(0, 1\], got -0.1"),
        ((1, 1, 5, 5, np.nan), ValueError, r"capacity must be finite, got nan"),
        (("1", 1, 5, 5, 0.5), TypeError, r"tp must be numeric, got '1'"),
        ((1, 1, 5, 5, ["0.5"]), TypeError, r"capacity must be numeric"),
        ((1, 1, 5, 5, 0.5 + 1j), TypeError, r"capacity must be numeric"),
        (([1, 2], [1, 2, 3], 5, 5, 0.5), ValueError, r"tp \(2,\), fp \(3,\)"),
    ],
)
def test_errors_of_counts(arguments, error, says):
    """Each wrong argument is named, with what it got and what it takes."""
    with pytest.raises(error, match=says):
        intervention_efficiency_counts(*arguments)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((1.2, 0.5, 0.5, 0.5), r"precision must lie in \[0, 1\], got 1.2"),
        ((0.5, -0.5, 0.5, 0.5), r"recall must lie in \[0, 1\], got -0.5"),
        ((0.5, 0.5, 0, 0.5), r"prevalence must lie in \(0, 1\], got 0"),
        ((0.5, 0.5, 0.5, 0), r"capacity must lie in \(0, 1\], got 0"),
        ((0.5, np.nan, 0.5, 0.5), r"recall must be finite, got nan"),
        (([0.1, 0.2], [0.1] * 3, 0.5, 0.5), r"precision \(2,\), recall \(3,\)"),
    ],
)
def test_errors_of_the_closed_form(arguments, says):
    """Each wrong argument is named, with what it got and what it takes."""
    with pytest.raises(ValueError, match=says):
        intervention_efficiency(*arguments)


# --- As a scikit-learn metric -------------------------------------------------------------------

TRUTH, PREDICTED = [1, 0, 0, 1, 0], [1, 0, 1, 0, 0]  # 2 of 5 are cases; flagged 2, one right: 1.25


@pytest.mark.parametrize(
    "container",
    [
        pytest.param(list, id="list"),
        pytest.param(tuple, id="tuple"),
        pytest.param(np.array, id="array"),
        pytest.param(lambda v: np.array(v, dtype=float), id="floats"),
        pytest.param(lambda v: np.array(v, dtype=bool), id="booleans"),
        pytest.param(lambda v: np.array(v, dtype=object), id="object integers"),
        pytest.param(lambda v: np.array([bool(x) for x in v], dtype=object), id="object booleans"),
        pytest.param(lambda v: np.array(v)[:, None], id="column"),
        pytest.param(lambda v: pd.Series(v, index=[9, 7, 5, 3, 1]), id="series"),
        pytest.param(lambda v: pd.DataFrame({"y": v}), id="frame"),
        pytest.param(lambda v: pd.Series(v, dtype="Int64"), id="Int64"),
        pytest.param(lambda v: pd.Series(v, dtype="Float64"), id="Float64"),
        pytest.param(lambda v: pd.Series(v, dtype="boolean"), id="boolean"),
        pytest.param(lambda v: pd.Series(v, dtype="category"), id="category"),
        pytest.param(lambda v: np.where(np.array(v) == 1, 1, -1), id="-1 and 1"),
    ],
)
def test_containers_and_dtypes(container):
    """Whatever scikit-learn's metrics take works, alone and beside a plain list or array."""
    for truth, predicted in (
        (container(TRUTH), container(PREDICTED)),
        (container(TRUTH), np.asarray(container(PREDICTED)).ravel()),
    ):
        value = intervention_efficiency_score(truth, predicted, capacity=0.4)
        assert value == 1.25
        assert type(value) is float


@pytest.mark.parametrize(
    "dtype",
    [None, object, "category", "string", np.dtypes.StringDType()],
    ids=["list", "object", "category", "string", "StringDType"],
)
def test_string_labels(dtype):
    """Labels may be strings; pos_label says which of the two is the case."""
    truth, predicted = (np.where(np.array(v) == 1, "M", "B").tolist() for v in (TRUTH, PREDICTED))
    if isinstance(dtype, np.dtypes.StringDType):
        truth = np.array(truth, dtype=dtype)
    elif dtype is not None:
        truth = pd.Series(truth, dtype=dtype)
    score = intervention_efficiency_score
    assert score(truth, predicted, capacity=0.4, pos_label="M") == 1.25
    # The other way about: 3 of 5 are cases, 3 flagged, 2 right, room for 2.
    assert score(truth, predicted, capacity=0.4, pos_label="B") == pytest.approx(2 / 3 / 0.6)
    with pytest.raises(ValueError, match=r"pos_label=1 is not a valid label.*\['M', 'B'\]"):
        score(truth, predicted, capacity=0.4)
    with pytest.raises(ValueError, match=r"pos_label='C' is not a valid label"):
        score(truth, predicted, capacity=0.4, pos_label="C")


@pytest.mark.parametrize("labels", [(1, 2), (2, 1), (1, 5)], ids=str)
def test_ambiguous_labels_need_pos_label(labels):
    """Of {1, 2} either could be the case, so the default is refused and a written 1 is taken."""
    other, case = labels
    truth, predicted = (np.where(np.array(v) == 1, case, other) for v in (TRUTH, PREDICTED))
    with pytest.raises(ValueError, match=r"do not say which class is the case: pass pos_label"):
        intervention_efficiency_score(truth, predicted, capacity=0.4)
    value = intervention_efficiency_score(truth, predicted, capacity=0.4, pos_label=case)
    assert value == 1.25
    flipped = intervention_efficiency_score(truth, predicted, capacity=0.4, pos_label=other)
    assert flipped == pytest.approx(2 / 3 / 0.6)


@settings(deadline=None)
@given(st.data())
def test_whole_weights_are_repetitions(data):
    """A weight of w counts as w people; scaling all weights changes nothing."""
    n = data.draw(st.integers(2, 12))
    truth = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    flagged = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    weight = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    capacity = data.draw(st.floats(0.05, 1))
    assume((truth * weight).any())
    repeated = intervention_efficiency_score(
        np.repeat(truth, weight), np.repeat(flagged, weight), capacity=capacity
    )
    for factor in (1, 0.1, 7.3):
        weighted = intervention_efficiency_score(
            truth, flagged, capacity=capacity, sample_weight=factor * weight
        )
        # A capacity that the flagged just fill may fall on either side; IE has no jump there.
        assert weighted == pytest.approx(repeated, rel=1e-9)


def test_weights_of_one_are_no_weights():
    """Unit weights give the unweighted score to the last bit."""
    values = [
        intervention_efficiency_score(TRUTH, PREDICTED, capacity=0.3, sample_weight=weight)
        for weight in (None, [1] * 5, np.ones(5), pd.Series(np.ones(5)))
    ]
    assert len(set(values)) == 1


def test_capacity_as_a_vector():
    """An array-like of capacities gives an array of the same shape, each as if alone."""
    for capacity in ([0.1, 0.4, 1.0], np.array([[0.2], [0.7]]), pd.Series([0.3]), (0.5,)):
        values = intervention_efficiency_score(TRUTH, PREDICTED, capacity=capacity)
        assert isinstance(values, np.ndarray)
        assert values.shape == np.shape(capacity)
        for value, gamma in zip(values.flat, np.asarray(capacity).flat, strict=True):
            assert value == intervention_efficiency_score(TRUTH, PREDICTED, capacity=gamma)
    for capacity in (0.4, np.float32(0.5), np.array(0.4), 1.0):
        assert type(intervention_efficiency_score(TRUTH, PREDICTED, capacity=capacity)) is float


@pytest.mark.parametrize(
    ("truth", "predicted", "settings", "error", "says"),
    [
        ([0, 0], [0, 1], {}, ValueError, r"y_true has no positive \(pos_label=1\)"),
        ([1, 0], [1, 0], {"sample_weight": [0, 1]}, ValueError, r"no positive.*weight is 0"),
        ([1, 0], [1, 0], {"capacity": 0}, ValueError, r"capacity must lie in \(0, 1\], got 0"),
        ([1, 0], [1, 0], {"capacity": [0.5, 2]}, ValueError, r"capacity must lie in .*got 2"),
        ([1, 0], [1, 0], {"capacity": "all"}, TypeError, r"capacity must be numeric, got 'all'"),
        ([1, 0, 2], [1, 0, 2], {}, ValueError, r"must hold two classes, got 3: \[1, 0, 2\]"),
        ([1, 0], [1, 2], {}, ValueError, r"must hold two classes, got 3"),
        ([1, np.nan], [1, 0], {}, ValueError, r"y_true must have no missing values, got 1"),
        (
            ["a", None],
            ["a", "b"],
            {"pos_label": "a"},
            ValueError,
            r"y_true must have no missing values, got 1",
        ),
        (
            pd.array([1, None], dtype="Int64"),
            [1, 0],
            {},
            ValueError,
            r"y_true must have no missing values, got 1",
        ),
        ([1, 0], [np.nan, 0], {}, ValueError, r"y_pred must have no missing values, got 1"),
        ([1, 0], [0.3, 0.8], {}, ValueError, r"got continuous values. Pass risks as y_score"),
        ([1, 0], ["1", "0"], {}, ValueError, r"y_true and y_pred hold labels of different types"),
        ([1, 0], [1, 0, 1], {}, ValueError, r"y_true and y_pred .*same length, got 2 and 3"),
        ([[1, 0], [0, 1]], [1, 0], {}, ValueError, r"y_true must be one column.*\(2, 2\)"),
        ([], [], {}, ValueError, r"y_true is empty"),
        (
            [1, 0],
            [1, 0],
            {"sample_weight": [1, -1]},
            ValueError,
            r"sample_weight must lie in \[0, inf\], got -1",
        ),
        (
            [1, 0],
            [1, 0],
            {"sample_weight": [1, np.nan]},
            ValueError,
            r"sample_weight must be finite, got nan",
        ),
        ([1, 0], [1, 0], {"sample_weight": [1]}, ValueError, r"sample_weight"),
        ([1, 0], [1, 0], {"zero_division": "0"}, ValueError, r"zero_division must be 'warn' or"),
    ],
)
def test_errors_of_the_score(truth, predicted, settings, error, says):
    """Each wrong argument is named, with what it got and what it takes."""
    with pytest.raises(error, match=says):
        intervention_efficiency_score(truth, predicted, **{"capacity": 0.5, **settings})


def test_zero_division_replaces_the_error():
    """Without a positive, a number given for the case is returned, in the shape of capacity."""
    score = intervention_efficiency_score
    assert score([0, 0], [1, 0], capacity=0.5, zero_division=0) == 0
    assert np.isnan(score([0, 0], [1, 0], capacity=0.5, zero_division=np.nan))
    assert score([0, 0], [0, 0], capacity=[0.5, 1], zero_division=1.0).tolist() == [1, 1]
    assert score(["B"], ["B"], capacity=0.5, pos_label="M", zero_division=0) == 0
    # Where there is a positive it plays no part, also where nobody is flagged.
    assert score([1, 0], [0, 0], capacity=0.5, zero_division=0) == 1


def test_inputs_stay_as_they_are():
    """The score changes neither labels nor weights nor capacities."""
    given_values = [np.array(TRUTH), np.array(PREDICTED), np.ones(5), np.array([0.1, 0.4])]
    before = [value.copy() for value in given_values]
    truth, predicted, weight, capacity = given_values
    intervention_efficiency_score(truth, predicted, capacity=capacity, sample_weight=weight)
    for value, old in zip(given_values, before, strict=True):
        np.testing.assert_array_equal(value, old)


@pytest.fixture(scope="module")
def data():
    return make_classification(200, weights=[0.8], random_state=0)


@pytest.mark.parametrize(
    "scorer",
    [
        make_scorer(intervention_efficiency_score, capacity=0.2),
        intervention_efficiency_scorer(0.2),
        make_scorer(intervention_efficiency_score, capacity=0.2, pos_label=1, zero_division=0),
    ],
    ids=["make_scorer", "own", "settings"],
)
def test_as_a_scorer(data, scorer):
    """It scores in cross_validate and GridSearchCV as computed by hand on the same folds."""
    X, y = data
    folds = StratifiedKFold(3)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    by_hand = [
        literal.efficiency(0.2)(y[test], clone(tree).fit(X[train], y[train]).predict(X[test]))
        for train, test in folds.split(X, y)
    ]
    scores = cross_validate(tree, X, y, scoring={"ie": scorer, "f1": "f1"}, cv=folds)["test_ie"]
    np.testing.assert_allclose(scores, by_hand, rtol=1e-12)
    grid = GridSearchCV(tree, {"max_depth": [1, 3]}, scoring=scorer, cv=folds).fit(X, y)
    np.testing.assert_allclose(grid.cv_results_["mean_test_score"][1], np.mean(by_hand))
    copied = pickle.loads(pickle.dumps(scorer))
    assert copied(grid, X, y) == scorer(grid, X, y)
    assert "capacity=0.2" in repr(scorer)


def test_scorer_takes_weights_and_labels(data):
    """The scorer passes sample weights on, and pos_label picks the case among strings or {1, 2}."""
    X, y = data
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    weight = np.linspace(0, 2, len(y))
    assert intervention_efficiency_scorer(0.2)(
        tree, X, y, sample_weight=weight
    ) == intervention_efficiency_score(y, tree.predict(X), capacity=0.2, sample_weight=weight)
    expected = intervention_efficiency_score(y, tree.predict(X), capacity=0.2)
    for other, case in (("healthy", "ill"), (2, 1), (1, 2)):
        labels = np.where(y == 1, case, other)
        model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, labels)
        assert intervention_efficiency_scorer(0.2, pos_label=case)(model, X, labels) == expected


@pytest.mark.parametrize(
    ("capacity", "error", "says"),
    [
        (0, ValueError, r"capacity must be finite and at least 0, got 0"),
        (0.0, ValueError, r"capacity must be finite and in \(0, 1\], got 0"),
        (1, ValueError, r"capacity=1 may mean everybody or one place"),
        (-0.1, ValueError, r"in \(0, 1\], got -0.1"),
        (1.1, ValueError, r"in \(0, 1\], got 1.1"),
        (np.nan, ValueError, r"got nan"),
        ([0.1, 0.2], TypeError, r"capacity must be a number, got \[0.1, 0.2\]"),
        ("0.1", TypeError, r"capacity must be a number, got '0.1'"),
    ],
)
def test_errors_of_the_scorer(capacity, error, says):
    """A scorer's capacity is checked when it is made: one number in (0, 1]."""
    with pytest.raises(error, match=says):
        intervention_efficiency_scorer(capacity)


# --- The display --------------------------------------------------------------------------------


def lines_by_label(ax):
    return {line.get_label(): line for line in ax.lines}


def test_display_shows_ie_its_limit_and_chance():
    """The curve is the score at each capacity, between min(1/γ, 1/π) and the line at 1."""
    capacity = [0.2, 0.4, 1.0]
    display = InterventionEfficiencyDisplay.from_predictions(
        TRUTH, PREDICTED, capacity=capacity, name="tree", color="k"
    )
    np.testing.assert_array_equal(
        display.efficiency, intervention_efficiency_score(TRUTH, PREDICTED, capacity=capacity)
    )
    assert display.prevalence == 0.4
    lines = lines_by_label(display.ax_)
    assert set(lines) == {"tree", "perfect model", "random choice"}
    np.testing.assert_array_equal(lines["tree"].get_xydata(), np.c_[capacity, display.efficiency])
    np.testing.assert_allclose(lines["perfect model"].get_ydata(), [2.5, 2.5, 1])
    assert set(lines["random choice"].get_ydata()) == {1}
    assert display.line_ is lines["tree"]
    assert display.line_.get_color() == "k"
    assert display.figure_ is display.ax_.figure
    assert "γ" in display.ax_.get_xlabel()
    assert "share" in display.ax_.get_xlabel()
    assert "ratio" in display.ax_.get_ylabel()
    labels = {text.get_text() for text in display.ax_.get_legend().get_texts()}
    assert labels == set(lines)


def test_display_default_capacities_reach_from_one_percent_to_all():
    """Without a choice of capacities the curve runs over 0.01, 0.02, ... 1."""
    display = InterventionEfficiencyDisplay.from_predictions(TRUTH, PREDICTED)
    np.testing.assert_allclose(display.capacity, np.arange(1, 101) / 100)
    assert display.band is None
    assert len(display.ax_.collections) == 0


def test_display_of_two_models_on_the_same_axes():
    """Two models on one set share limit and chance; another prevalence brings its own limit."""
    first = InterventionEfficiencyDisplay.from_predictions(TRUTH, PREDICTED, name="a")
    second = InterventionEfficiencyDisplay.from_predictions(TRUTH, TRUTH, name="b", ax=first.ax_)
    assert second.ax_ is first.ax_
    labels = [line.get_label() for line in first.ax_.lines]
    assert labels == ["a", "perfect model", "random choice", "b"]
    InterventionEfficiencyDisplay.from_predictions([1, 0, 0], [1, 0, 1], name="c", ax=first.ax_)
    labels = [line.get_label() for line in first.ax_.lines]
    assert labels[4:] == ["c", "perfect model"]


def test_display_from_estimator(data):
    """A fitted model or pipeline is drawn as its predictions are, named by its class."""
    X, y = data
    for model in (DecisionTreeClassifier(max_depth=2), make_pipeline(StandardScaler(), SVC())):
        model.fit(X, y)
        display = InterventionEfficiencyDisplay.from_estimator(model, X, y, capacity=[0.1, 0.3])
        expected = intervention_efficiency_score(y, model.predict(X), capacity=[0.1, 0.3])
        np.testing.assert_array_equal(display.efficiency, expected)
        assert display.line_.get_label() == type(model).__name__
    named = InterventionEfficiencyDisplay.from_estimator(model, X, y, name="mine")
    assert named.line_.get_label() == "mine"


def test_display_takes_labels_and_weights():
    """String labels and sample weights reach curve, prevalence and band."""
    truth = np.where(np.array(TRUTH) == 1, "M", "B")
    predicted = np.where(np.array(PREDICTED) == 1, "M", "B")
    settings = {"pos_label": "M", "sample_weight": [1, 2, 0, 0, 1]}
    display = InterventionEfficiencyDisplay.from_predictions(
        truth, predicted, capacity=[0.4, 0.8], n_bootstraps=50, random_state=0, **settings
    )
    expected = intervention_efficiency_score(truth, predicted, capacity=[0.4, 0.8], **settings)
    np.testing.assert_array_equal(display.efficiency, expected)
    assert display.prevalence == 0.25
    # Of those who weigh something, the one case is flagged and no negative is: always the same.
    np.testing.assert_array_equal(display.band, [expected, expected])


def exact_distribution(tp, fp, n_pos, n_neg, capacity):
    """Return every value of IE over resamples within each class, with its probability."""
    values, probabilities = [], []
    for a in range(n_pos + 1):
        for b in range(n_neg + 1):
            truth, flagged = labels_from_counts(a, b, n_pos, n_neg)
            values.append(literal.efficiency(capacity)(truth, flagged))
            probabilities.append(
                stats.binom.pmf(a, n_pos, tp / n_pos) * stats.binom.pmf(b, n_neg, fp / n_neg)
            )
    return np.array(values), np.array(probabilities)


@pytest.mark.parametrize("level", [0.95, 0.5])
def test_band_covers_the_exact_binomial_quantiles(level):
    """The bootstrap band ends at the exact quantiles, up to the error of its resamples."""
    n_bootstraps = 4000
    truth, flagged = labels_from_counts(6, 5, 9, 20)
    capacity = [0.1, 0.35, 0.8]
    display = InterventionEfficiencyDisplay.from_predictions(
        truth,
        flagged,
        capacity=capacity,
        n_bootstraps=n_bootstraps,
        confidence_level=level,
        random_state=0,
    )
    tail = (1 - level) / 2
    slack = 4 * np.sqrt(tail * (1 - tail) / n_bootstraps)
    for j, gamma in enumerate(capacity):
        values, probabilities = exact_distribution(6, 5, 9, 20, gamma)
        low, high = display.band[0][j], display.band[1][j]
        assert low < high
        assert probabilities[values < low - 1e-9].sum() <= tail + slack
        assert probabilities[values <= low + 1e-9].sum() >= tail - slack
        assert probabilities[values > high + 1e-9].sum() <= tail + slack
        assert probabilities[values >= high - 1e-9].sum() >= tail - slack
    (area,) = display.ax_.collections
    assert area.get_label() == f"{100 * level:g}% bootstrap interval"


def test_band_is_reproducible_and_needs_its_seed():
    """The same seed gives the same band, another one another; a Generator is taken, too."""
    truth, flagged = labels_from_counts(6, 5, 9, 20)

    def band(random_state):
        return InterventionEfficiencyDisplay.from_predictions(
            truth, flagged, capacity=[0.3], n_bootstraps=99, random_state=random_state
        ).band

    np.testing.assert_array_equal(band(1), band(1))
    np.testing.assert_array_equal(band(1), band(np.random.default_rng(1)))
    assert not np.array_equal(band(1), band(2))


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"capacity": [0, 0.5]}, ValueError, r"capacity must lie in \(0, 1\], got 0"),
        ({"n_bootstraps": -1}, ValueError, r"n_bootstraps must be at least 0, got -1"),
        ({"n_bootstraps": 2.5}, TypeError, r"n_bootstraps must be a whole number, got 2.5"),
        ({"confidence_level": 95}, ValueError, r"confidence_level must .*\(0, 1\], got 95"),
        ({"confidence_level": 0}, ValueError, r"confidence_level must .*\(0, 1\], got 0"),
        ({"pos_label": 2}, ValueError, r"pos_label=2 is not a valid label"),
    ],
)
def test_errors_of_the_display(settings, error, says):
    """Each wrong argument is named, and nothing is drawn."""
    with pytest.raises(error, match=says):
        InterventionEfficiencyDisplay.from_predictions(TRUTH, PREDICTED, **settings)
    assert plt.get_fignums() == []


def test_display_refuses_models_that_are_not_fitted_or_do_not_classify(data):
    """An unfitted model is told to be fitted; predicted numbers are no labels."""
    X, y = data
    with pytest.raises(NotFittedError, match="not fitted"):
        InterventionEfficiencyDisplay.from_estimator(DecisionTreeClassifier(), X, y)
    ridge = Ridge().fit(X, y)
    with pytest.raises(ValueError, match="y_pred must hold class labels, got continuous"):
        InterventionEfficiencyDisplay.from_estimator(ridge, X, y)


def test_display_by_hand():
    """A display made from stored numbers draws itself, onto given axes, under a new name."""
    _, ax = plt.subplots()
    display = InterventionEfficiencyDisplay(np.array([0.5, 1]), np.array([1.5, 1]), 0.25)
    assert display.plot(ax, name="stored") is display
    assert display.ax_ is ax
    np.testing.assert_array_equal(display.upper_limit, [2, 1])
    assert "stored" in lines_by_label(ax)
    display.name = "own name"
    assert "own name" in lines_by_label(display.plot().ax_)
    assert "given name" in lines_by_label(display.plot(name="given name").ax_)


def test_constant_model_from_scikit_learn(data):
    """DummyClassifier scores 1 at every capacity, whichever class it always names."""
    X, y = data
    for constant in (0, 1):
        model = DummyClassifier(strategy="constant", constant=constant).fit(X, y)
        for capacity in (0.05, 0.5, 1.0):
            assert intervention_efficiency_scorer(capacity)(model, X, y) == 1


def test_capacity_that_is_not_whole(data):
    """With room for two and a half people, IE lies on the line between two and three people."""
    truth, flagged = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    reached = {
        room: intervention_efficiency_score(truth, flagged, capacity=room / 10) * room * 0.2
        for room in (2, 2.5, 3)
    }
    assert reached[2.5] == pytest.approx((reached[2] + reached[3]) / 2, rel=1e-12)
    model = LogisticRegression().fit(*data)
    assert 1 < intervention_efficiency_scorer(0.123)(model, *data) <= 1 / 0.2
