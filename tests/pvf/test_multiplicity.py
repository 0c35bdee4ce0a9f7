"""Tests of Rashomon Capacity, decisions, greedy subsets and the exact Rashomon set."""

import decimal
import tracemalloc
import warnings
from decimal import Decimal

import literal_multiplicity as literal
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from imblearn.over_sampling import RandomOverSampler
from imblearn.pipeline import make_pipeline as imblearn_pipeline
from scipy.optimize import brentq, minimize_scalar
from scipy.special import entr, expit, rel_entr
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import pvf
from pvf.multiplicity import capacity_tail, decisions, multiplicity_table

TOL = 2e-9


def dirichlet_scores(n_models, n_samples, n_classes, concentration, seed=0):
    """Scores that agree the more, the larger the concentration."""
    rng = np.random.default_rng(seed)
    centre = rng.dirichlet(np.ones(n_classes), n_samples)
    gamma = rng.standard_gamma(
        np.broadcast_to(concentration * n_classes * centre, (n_models, n_samples, n_classes))
    )
    gamma += 1e-300
    return gamma / gamma.sum(axis=2, keepdims=True)


def simplex_points(n_models, n_classes):
    """Hypothesis strategy: one sample's scores, with zeros and ones among them."""
    weight = st.one_of(st.just(0.0), st.floats(1e-9, 1.0))
    return (
        arrays(float, (n_models, n_classes), elements=weight)
        .filter(lambda a: (a.sum(axis=1) > 0).all())
        .map(lambda a: a / a.sum(axis=1, keepdims=True))
    )


def capacity_of_one(rows):
    """Capacity of a single sample given as (models × classes)."""
    return pvf.rashomon_capacity(np.asarray(rows)[:, None])[0]


# --- the number -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_models", "n_classes", "concentration"),
    [(3, 3, 1), (10, 3, 50), (25, 4, 3), (8, 6, 200), (40, 5, 2000)],
    ids=str,
)
def test_many_classes_agree_with_a_general_solver(n_models, n_classes, concentration):
    """Many-class capacity is the smallest largest divergence that SLSQP finds, to 1e-8 bits."""
    scores = dirichlet_scores(n_models, 6, n_classes, concentration)
    scores = 0.99 * scores + 0.01 / n_classes  # SLSQP needs the interior
    expected = [literal.smallest_radius(scores[:, i]) for i in range(6)]
    np.testing.assert_allclose(np.log2(pvf.rashomon_capacity(scores)), expected, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_two_classes_agree_with_maximised_information(seed):
    """The closed form is the mutual information of the extreme scores at the best weights."""
    rng = np.random.default_rng(seed)
    scores = rng.uniform(0, 10.0 ** -rng.integers(0, 5), (7, 20))

    def lost(weight, low, high):
        centre = weight * high + (1 - weight) * low
        entropy = [entr(p) + entr(1 - p) for p in (centre, low, high)]
        return -(entropy[0] - (1 - weight) * entropy[1] - weight * entropy[2]) / np.log(2)

    expected = [
        -minimize_scalar(
            lost, bounds=(0, 1), args=(s.min(), s.max()), method="bounded", options={"xatol": 1e-9}
        ).fun
        for s in scores.T
    ]
    np.testing.assert_allclose(pvf.rashomon_capacity(scores), np.exp2(expected), rtol=1e-13)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, 2.0),
        (0.0, 0.5, 1.25),  # the Z channel
        (0.11, 0.89, 2 ** (1 + 0.11 * np.log2(0.11) + 0.89 * np.log2(0.89))),  # symmetric
        (0.0, 0.25, 1 + 0.75 * 0.25 ** (1 / 3)),  # Z channel: 1 + (1 - p) p^(p / (1 - p))
        (0.3, 0.3, 1.0),
        (0.0, 0.0, 1.0),
        (1.0, 1.0, 1.0),
    ],
)
def test_two_classes_known_channels(low, high, expected):
    """Channels with a textbook capacity have it."""
    if (low, high) == (0.0, 0.25):
        # A Z channel that turns ones into zeros with probability p = 0.75.
        p = 0.75
        expected = 1 + (1 - p) * p ** (p / (1 - p))
    assert pvf.rashomon_capacity([[low], [high]])[0] == pytest.approx(expected, abs=1e-15)


def test_symmetric_channel_of_many_classes():
    """C rows with 1 - p on the diagonal have capacity log c - h(p) - p log(c - 1)."""
    c, p = 5, 0.2
    rows = np.full((c, c), p / (c - 1)) + (1 - p - p / (c - 1)) * np.eye(c)
    expected = np.log2(c) + p * np.log2(p) + (1 - p) * np.log2(1 - p) - p * np.log2(c - 1)
    assert np.log2(capacity_of_one(rows)) == pytest.approx(expected, abs=TOL)


def test_tiny_scores_keep_their_accuracy():
    """Near 0, scores that differ by a millionth have the capacity of the quadratic expansion."""
    low = np.random.default_rng(0).uniform(1e-11, 1e-7, 300)
    width = 1e-7 * low
    bits = width**2 / (8 * low * np.log(2))  # below 1e-23
    capacity = pvf.rashomon_capacity([low, low + width])
    assert (capacity - 1 <= 2 * bits + 1e-15).all()


def test_a_class_that_nobody_gives_changes_nothing():
    """Two classes plus an empty third one: the many-class solver agrees with the closed form."""
    two = np.random.default_rng(0).random((30, 50))
    three = np.stack([1 - two, two, np.zeros_like(two)], axis=2)
    np.testing.assert_allclose(
        pvf.rashomon_capacity(three), pvf.rashomon_capacity(two), rtol=0, atol=TOL
    )


def test_both_shapes_of_two_classes_agree():
    """Scores of the positive class and of both classes give the same bits."""
    two = np.random.default_rng(0).random((6, 40))
    both = np.stack([1 - two, two], axis=2)
    np.testing.assert_allclose(pvf.rashomon_capacity(both), pvf.rashomon_capacity(two), rtol=1e-14)


@pytest.mark.parametrize("concentration", [0.02, 1, 100, 1e6], ids=str)
@pytest.mark.parametrize("n_classes", [3, 10])
def test_the_gap_is_a_certificate(n_classes, concentration):
    """No row is farther from the weights' centre than capacity plus gap, and gap <= 1e-9 bits."""
    scores = dirichlet_scores(60, 100, n_classes, concentration)
    capacity, weights, gap = pvf.rashomon_capacity(scores, return_weights=True, return_gap=True)
    bits = np.log2(capacity)
    assert gap.max() <= 1e-9
    for i in range(100):
        attained = literal.mutual_information(scores[:, i], weights[:, i])
        assert bits[i] - gap[i] - 1e-13 <= attained <= bits[i] + gap[i] + 1e-13
    # From the other side: a literal run's bounds enclose the value as well.
    for i in range(0, 100, 20):
        found, literal_weights = literal.blahut_arimoto(scores[:, i], n_steps=300, small_step=0)
        centre = literal_weights @ scores[:, i]
        farthest = rel_entr(scores[:, i], centre).sum(axis=1).max() / np.log(2)
        assert found - 1e-12 <= bits[i] + gap[i]
        assert bits[i] <= farthest + 1e-12


def test_a_loose_gap_encloses_the_tight_value():
    """Stopped early, the value is a lower bound and value plus gap an upper one."""
    for concentration in (0.1, 3, 300):
        scores = dirichlet_scores(30, 60, 4, concentration)
        exact = np.log2(pvf.rashomon_capacity(scores))
        for tol in (0.3, 0.01, 1e-4):
            capacity, gap = pvf.rashomon_capacity(scores, return_gap=True, tol=tol)
            assert gap.max() <= tol
            assert (np.log2(capacity) <= exact + TOL).all()
            assert (np.log2(capacity) + gap >= exact - TOL).all()


def test_stopping_on_small_steps_is_wrong_where_ours_is_right():
    """Rows .50/.51/.52: a literal stop on small steps says 0.000205 bits, 0.000289 is right."""
    rows = np.array([[0.5, 0.5], [0.49, 0.51], [0.48, 0.52]])
    stopped, _ = literal.blahut_arimoto(rows)
    assert stopped == pytest.approx(0.000205, abs=2e-5)
    three_classes = np.c_[rows, np.zeros(3)]
    for value in (rows, three_classes):
        capacity, gap = pvf.rashomon_capacity(value[:, None], return_gap=True)
        assert np.log2(capacity[0]) == pytest.approx(0.000289, abs=5e-7)
        assert gap[0] <= 1e-9


def test_the_unit_is_effective_classes():
    """Identical rows 1, opposite one-hots 2, one model 1: 2 to the power of bits."""
    assert pvf.rashomon_capacity([[0.3], [0.3]])[0] == 1
    assert capacity_of_one([[0.2, 0.3, 0.5]] * 4) == 1
    assert pvf.rashomon_capacity([[0.0], [1.0]])[0] == 2
    assert capacity_of_one([[1, 0, 0], [0, 1, 0]]) == pytest.approx(2, abs=1e-9)
    for one in ([[0.3, 0.9]], [[[0.2, 0.3, 0.5]] * 2]):
        with pytest.warns(UserWarning, match="one model"):
            assert (pvf.rashomon_capacity(one) == 1).all()


def test_equation_7():
    """Three models of similar scores have less capacity than two that contradict each other."""
    three = capacity_of_one([[0.45, 0.55], [0.50, 0.50], [0.60, 0.40]])
    two = capacity_of_one([[0.85, 0.15], [0.10, 0.90]])
    assert 1 < three < 1.02 < two < 2


def test_ternary_example():
    """[.49, .51, 0] and [.51, .49, 0] are near 1 as scores and 2 as decisions."""
    scores = np.array([[[0.49, 0.51, 0]], [[0.51, 0.49, 0]]])
    assert 1 < pvf.rashomon_capacity(scores)[0] < 1.001
    assert pvf.rashomon_capacity(decisions(scores))[0] == pytest.approx(2, abs=1e-9)


# --- Definition 1 -----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(rows=st.one_of(simplex_points(2, 2), simplex_points(4, 3), simplex_points(5, 4)))
def test_property_1_bounds(rows):
    """The capacity lies between 1 and the number of classes."""
    assert 1 <= capacity_of_one(rows) <= rows.shape[1]


@settings(max_examples=60, deadline=None)
@given(rows=st.one_of(simplex_points(3, 2), simplex_points(3, 3)))
def test_property_2_one_only_for_identical_scores(rows):
    """Identical scores give exactly 1; scores that differ visibly give more."""
    assert capacity_of_one(np.repeat(rows[:1], 4, axis=0)) == 1
    if np.ptp(rows, axis=0).max() > 1e-3:
        assert capacity_of_one(rows) > 1 + 1e-7


@settings(max_examples=60, deadline=None)
@given(rows=simplex_points(4, 3))
def test_property_3_all_classes_only_with_all_vertices(rows):
    """With the vertices it is c; without one of them less."""
    assert capacity_of_one(np.vstack([rows, np.eye(3)])) == pytest.approx(3, abs=3e-9)
    inside = rows * 0.99 + 0.01 / 3
    assert capacity_of_one(np.vstack([inside, np.eye(3)[:2]])) < 3 - 1e-4


@settings(max_examples=60, deadline=None)
@given(rows=st.one_of(simplex_points(5, 2), simplex_points(6, 3), simplex_points(6, 5)))
def test_property_4_monotone(rows):
    """Adding models never lowers it."""
    sizes = range(2, len(rows) + 1)
    values = np.array([capacity_of_one(rows[:size]) for size in sizes])
    assert (np.diff(values) >= -TOL * rows.shape[1]).all()


@settings(max_examples=40, deadline=None)
@given(rows=simplex_points(5, 3), data=st.data())
def test_order_of_models_and_classes_does_not_matter(rows, data):
    """Permuted models and classes give the same capacity."""
    models = data.draw(st.permutations(range(5)))
    classes = data.draw(st.permutations(range(3)))
    shuffled = rows[models][:, classes]
    assert capacity_of_one(shuffled) == pytest.approx(capacity_of_one(rows), abs=1e-8)


# --- weights ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scores",
    [
        np.random.default_rng(0).random((40, 60)),
        dirichlet_scores(60, 60, 3, 2),
        dirichlet_scores(60, 60, 6, 300),
        np.eye(4)[np.random.default_rng(1).integers(0, 4, (50, 60))],  # many equal rows
        np.repeat(dirichlet_scores(5, 60, 4, 1), 8, axis=0),
        1e-7 * dirichlet_scores(40, 20, 3, 1) + (1 - 1e-7) * dirichlet_scores(1, 20, 3, 1),
    ],
    ids=["two", "three", "six", "one-hot", "repeated", "nearly equal"],
)
def test_at_most_c_models_carry_the_capacity(scores):
    """Proposition 2: the weights' support, computed on its own, has the whole capacity."""
    n_classes = 2 if scores.ndim == 2 else scores.shape[2]
    capacity, weights = pvf.rashomon_capacity(scores, return_weights=True)
    assert weights.shape == scores.shape[:2]
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=0), 1, rtol=1e-12)
    assert (np.count_nonzero(weights, axis=0) <= n_classes).all()
    for i in range(scores.shape[1]):
        support = scores[weights[:, i] > 0, i]
        if len(support) > 1:
            assert pvf.rashomon_capacity(support[:, None])[0] == pytest.approx(
                capacity[i], abs=TOL * n_classes
            )
        else:
            assert capacity[i] <= 1 + TOL


def test_weights_are_those_of_the_models_that_have_them():
    """In a symmetric example the two extreme models get one half each."""
    scores = np.array([[0.5], [0.2], [0.6], [0.8]])
    _, weights = pvf.rashomon_capacity(scores, return_weights=True)
    np.testing.assert_allclose(weights[:, 0], [0, 0.5, 0, 0.5], atol=1e-15)


# --- failures that are said -------------------------------------------------------------------


def test_a_sample_that_does_not_converge_is_reported():
    """With one step, a warning counts the samples and the gap tells which."""
    scores = dirichlet_scores(30, 20, 4, 1)
    scores[:, 0] = scores[0, 0]  # this one is finished at once
    with pytest.warns(ConvergenceWarning, match="19 of 20"):
        capacity, gap = pvf.rashomon_capacity(scores, return_gap=True, max_iter=1)
    assert gap[0] <= 1e-9
    assert (gap[1:] > 1e-9).all()
    exact = np.log2(pvf.rashomon_capacity(scores))
    assert (np.log2(capacity) <= exact + TOL).all()
    assert (np.log2(capacity) + gap >= exact - TOL).all()


NAN = float("nan")


@pytest.mark.parametrize(
    ("scores", "error", "match"),
    [
        ([[0.2], [NAN]], ValueError, "scores must not be missing"),
        ([[[0.2, 0.8, NAN]], [[0.2, 0.8, 0.0]]], ValueError, "scores must not be missing"),
        (np.ma.masked_array([[0.2], [0.3]], [[0], [1]]), ValueError, "must not be missing"),
        ([[0.2], [1.3]], ValueError, r"scores must be probabilities in \[0, 1\], got 1.3"),
        ([[0.2], [np.inf]], ValueError, "scores must be probabilities"),
        ([[-0.2], [0.3]], ValueError, "got -0.2"),
        ([[[0.2, 0.3, 0.4]], [[0.2, 0.4, 0.4]]], ValueError, "sum to 1 over the classes, got 0.9"),
        ([[[0.2, 0.3]], [[0.2, 0.8]]], ValueError, "sum to 1 over the classes, got 0.5"),
        ([0.2, 0.3], ValueError, r"scores must have shape .* got \(2,\): one model"),
        ([[[0.2]], [[0.3]]], ValueError, r"scores must have shape .* got \(2, 1, 1\)"),
        (np.empty((0, 5)), ValueError, "empty Rashomon set"),
        ([["a"], ["b"]], TypeError, "scores must be numeric"),
        ([[None], [0.3]], ValueError, "must not be missing"),
    ],
)
def test_wrong_scores_are_refused(scores, error, match):
    """Each error names the argument, what it got and what it takes."""
    with pytest.raises(error, match=match):
        pvf.rashomon_capacity(scores)


@pytest.mark.parametrize(
    ("settings", "match"), [({"tol": 0.0}, "tol"), ({"max_iter": 0}, "max_iter")], ids=str
)
def test_wrong_settings_are_refused(settings, match):
    """A tolerance of 0 and no steps at all are refused by name."""
    with pytest.raises(ValueError, match=match):
        pvf.rashomon_capacity([[0.1], [0.2]], **settings)


# --- what goes in and how it is cut -------------------------------------------------------------


@pytest.mark.parametrize("shape", [(20, 3000), (12, 700, 4)], ids=str)
def test_blocks_and_workers_change_no_bit(shape):
    """Two workers give the same bits as one; blocks of another size the same within rounding."""
    rng = np.random.default_rng(0)
    scores = rng.random(shape)
    if len(shape) == 3:
        scores /= scores.sum(axis=2, keepdims=True)
    alone = pvf.rashomon_capacity(scores, return_weights=True, memory_budget=1)
    together = pvf.rashomon_capacity(scores, return_weights=True, memory_budget=1, n_jobs=2)
    for one, two in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(pvf.rashomon_capacity(scores), alone[0], rtol=0, atol=TOL)


@pytest.mark.parametrize("kind", [np.float32, np.float16, list, pd.DataFrame])
def test_other_containers_and_precisions(kind):
    """Narrow floats, lists and frames work; their values stay as they are."""
    scores = np.random.default_rng(0).random((5, 8))
    converted = scores.astype(kind) if kind in (np.float32, np.float16) else kind(scores)
    before = np.array(converted, copy=True)
    expected = pvf.rashomon_capacity(np.array(converted, dtype=float))
    np.testing.assert_array_equal(pvf.rashomon_capacity(converted), expected)
    np.testing.assert_array_equal(np.asarray(converted), before)


def test_single_precision_softmax_is_rescaled():
    """Rows that sum to 1 in single precision only are taken."""
    logits = np.random.default_rng(0).normal(size=(6, 50, 7)).astype(np.float32)
    exponential = np.exp(logits)
    scores = exponential / exponential.sum(axis=2, keepdims=True)
    exact = np.exp(logits.astype(float))
    exact /= exact.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(
        pvf.rashomon_capacity(scores), pvf.rashomon_capacity(exact), atol=1e-5
    )


def test_whole_numbers_are_decisions():
    """Decisions given as booleans or integers count conflicting classes."""
    assert pvf.rashomon_capacity(np.array([[True], [False]]))[0] == 2
    one_hot = np.eye(3, dtype=int)[np.array([[0], [1], [2]])]
    assert pvf.rashomon_capacity(one_hot)[0] == pytest.approx(3, abs=1e-8)


def test_no_samples_give_no_capacities():
    """An empty set of samples is no error."""
    assert pvf.rashomon_capacity(np.empty((3, 0))).shape == (0,)
    assert pvf.rashomon_capacity(np.empty((3, 0, 4))).shape == (0,)


@pytest.mark.parametrize("shape", [(100, 40_000), (40, 3000, 5)], ids=str)
def test_memory_stays_bounded(shape):
    """Peak memory beyond the scores and the answer stays within the budget."""
    rng = np.random.default_rng(0)
    scores = rng.random(shape)
    if len(shape) == 3:
        scores /= scores.sum(axis=2, keepdims=True)
    tracemalloc.start()
    pvf.rashomon_capacity(scores, memory_budget=8)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20 + 4 * 8 * shape[1]


# --- the Rashomon set -------------------------------------------------------------------------


def test_rashomon_set_is_the_literal_comparison():
    """Indices of the losses up to the level, for each kind of reference."""
    losses = np.random.default_rng(0).random(50)
    for reference, level in (("best", losses.min()), (7, losses[7]), (0.4, 0.4)):
        expected = [i for i, loss in enumerate(losses) if loss <= level + 0.1]
        assert pvf.rashomon_set(losses, 0.1, reference=reference).tolist() == expected


def test_base_model_is_always_inside():
    """With epsilon 0 the reference itself is in its set; the level belongs to the set."""
    losses = [0.3, 0.2, 0.5, 0.2]
    assert pvf.rashomon_set(losses, 0).tolist() == [1, 3]
    assert 2 in pvf.rashomon_set(losses, 0, reference=2)
    assert pvf.rashomon_set(losses, 0, reference=np.int64(-2)).tolist() == [0, 1, 2, 3]
    # 0.7 + 0.1 is less than 0.8 in floating point.
    assert pvf.rashomon_set([0.7, 0.8], 0.1).tolist() == [0, 1]


def test_level_alone_as_in_equation_1():
    """A loss of 0.0 as reference makes epsilon the level."""
    assert pvf.rashomon_set([0.3, 0.2, 0.5], 0.3, reference=0.0).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        (([0.3, 0.2], 0.1, 0.0), ValueError, "reference must leave a model inside"),
        (([0.3, 0.2], -0.1), ValueError, "epsilon must be finite and at least 0"),
        (([0.3, NAN], 0.1), ValueError, "losses must be finite"),
        (([], 0.1), ValueError, "losses must have shape"),
        (([[0.3]], 0.1), ValueError, "losses must have shape"),
        (([0.3, 0.2], 0.1, 2), ValueError, "reference must be an index below 2"),
        (([0.3, 0.2], 0.1, "worst"), ValueError, "reference must be 'best'"),
        (([0.3, 0.2], 0.1, None), TypeError, "reference must be a number"),
    ],
)
def test_wrong_losses_are_refused(arguments, error, match):
    """An empty set is an error, never a silent nothing; so are wrong arguments."""
    with pytest.raises(error, match=match):
        pvf.rashomon_set(*arguments)


# --- decisions --------------------------------------------------------------------------------


def literal_decision(score, threshold=0.5):
    """Class of one score, or of one vector of scores."""
    return int(score > threshold) if np.ndim(score) == 0 else int(np.argmax(score))


@pytest.mark.parametrize(
    ("scores", "threshold"),
    [
        (np.random.default_rng(0).random((6, 40)), 0.5),
        (np.random.default_rng(1).random((6, 40)), 0.8),
        (dirichlet_scores(6, 40, 4, 3), 0.5),
    ],
    ids=["two", "threshold", "four"],
)
def test_ambiguity_and_discrepancy_are_equation_2(scores, threshold):
    """Both agree with the literal maxima over models, for a base inside and outside the set."""
    outside = np.roll(scores[0], 1, axis=0)
    for base, of_base in ((0, scores[0]), (3, scores[3]), (outside, outside)):
        differs = np.array(
            [
                [
                    literal_decision(score, threshold) != literal_decision(reference, threshold)
                    for score, reference in zip(model, of_base, strict=True)
                ]
                for model in scores
            ]
        )
        setting = {"base": base, "threshold": threshold}
        assert pvf.ambiguity(scores, **setting) == differs.max(axis=0).mean()
        assert pvf.discrepancy(scores, **setting) == differs.mean(axis=1).max()


def test_ambiguity_counts_conflicting_decisions():
    """Ambiguity is the share of samples whose decisions have a capacity above 1 (RC-5)."""
    scores = np.random.default_rng(0).uniform(0.3, 0.6, (5, 200))
    in_decisions = pvf.rashomon_capacity(decisions(scores))
    assert set(in_decisions) == {1.0, 2.0}
    assert pvf.ambiguity(scores) == (in_decisions > 1).mean()
    assert pvf.ambiguity(scores) == pvf.ambiguity(scores, base=4)
    assert pvf.discrepancy(scores) < pvf.ambiguity(scores)


def test_ambiguity_fails_definition_1():
    """Scores that differ can have ambiguity 0, and nearly equal ones 1: not a metric (RC-5)."""
    assert pvf.ambiguity([[0.6], [0.9]]) == pvf.discrepancy([[0.6], [0.9]]) == 0
    assert pvf.ambiguity([[0.499], [0.501]]) == pvf.discrepancy([[0.499], [0.501]]) == 1


def test_decisions_keep_the_shape():
    """Two classes stay 0 and 1; ties go to the first class, as argmax has it."""
    np.testing.assert_array_equal(decisions([[0.5, 0.6]]), [[0, 1]])
    np.testing.assert_array_equal(decisions([[[0.5, 0.5], [0.4, 0.6]]]), [[[1, 0], [0, 1]]])
    np.testing.assert_array_equal(decisions([[[0.4, 0.4, 0.2]]]), [[[1, 0, 0]]])


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: pvf.ambiguity([[0.1], [0.2]], base=2), "base must be an index below 2"),
        (lambda: pvf.discrepancy([[0.1], [0.2]], base=[0.1, 0.3]), "base must be an index or"),
        (lambda: decisions([[0.1]], threshold=1.2), "threshold"),
        (lambda: decisions([[[0.1, 0.2, 0.7]]], threshold=0.3), "threshold must be left"),
        (lambda: capacity_tail([1.0, 2.0], 0), "share"),
        (lambda: capacity_tail([], 0.5), "capacity must have shape"),
    ],
    ids=["index", "shape", "range", "classes", "share", "empty"],
)
def test_wrong_bases_and_thresholds_are_refused(call, match):
    """Errors name the argument."""
    with pytest.raises(ValueError, match=match):
        call()


# --- greedy subset ----------------------------------------------------------------------------


def literal_greedy(scores, size, start):
    """Add, again and again, the model with the largest mean capacity of the whole subset."""
    chosen, path = [start], [1.0]
    while len(chosen) < size:
        means = {
            m: pvf.rashomon_capacity(scores[[*chosen, m]]).mean()
            for m in range(len(scores))
            if m not in chosen
        }
        best = max(means, key=lambda m: (means[m], -m))
        chosen.append(best)
        path.append(means[best])
    return chosen, path


@pytest.mark.parametrize(
    "scores",
    [
        np.random.default_rng(3).beta(2, 2, (12, 30)),
        dirichlet_scores(10, 15, 3, 2),
        dirichlet_scores(8, 10, 5, 0.05),
        np.repeat(dirichlet_scores(6, 8, 4, 0.3), 3, axis=0),
    ],
    ids=["two", "three", "five, some zeros", "four, each model three times"],
)
@pytest.mark.parametrize("start", [0, 4])
def test_greedy_subset_is_the_literal_one(scores, start):
    """Incremental gains select the same models with the same means as recomputing everything."""
    expected, means = literal_greedy(scores, 5, start)
    indices, path = pvf.greedy_subset(scores, 5, start=start, return_path=True)
    assert indices.tolist() == expected
    np.testing.assert_allclose(path, means, atol=1e-8)


def test_greedy_subset_of_all_models_has_everything():
    """The path rises to the mean capacity of all models, which two extreme models share."""
    scores = np.random.default_rng(0).random((9, 25))
    indices, path = pvf.greedy_subset(scores, 9, return_path=True)
    assert sorted(indices) == list(range(9))
    assert (np.diff(path) >= 0).all()
    assert path[-1] == pytest.approx(pvf.rashomon_capacity(scores).mean(), rel=1e-12)


def test_random_start_is_reproducible():
    """A seed fixes the random start, and starts vary with it."""
    scores = np.random.default_rng(0).random((9, 25))
    one, two = (pvf.greedy_subset(scores, 3, start="random", random_state=5) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    starts = {
        int(pvf.greedy_subset(scores, 1, start="random", random_state=s)[0]) for s in range(20)
    }
    assert len(starts) > 3


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"size": 4}, "size must be at most the 3 models"),
        ({"size": 0}, "size must be at least 1"),
        ({"size": 1, "start": 3}, "start must be an index below 3"),
        ({"size": 1, "start": "best"}, "start must be an index or 'random'"),
    ],
    ids=str,
)
def test_wrong_subsets_are_refused(arguments, match):
    """Errors name the argument."""
    with pytest.raises(ValueError, match=match):
        pvf.greedy_subset(np.random.default_rng(0).random((3, 4)), **arguments)


# --- table and display ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scores",
    [np.random.default_rng(0).random((6, 20)), dirichlet_scores(6, 20, 4, 3)],
    ids=["two", "four"],
)
def test_table_says_what_the_functions_say(scores):
    """Each column agrees with its definition, computed sample by sample."""
    table = multiplicity_table(scores, index=[f"s{i}" for i in range(20)])
    np.testing.assert_array_equal(table["capacity"], pvf.rashomon_capacity(scores))
    np.testing.assert_allclose(
        table["decision_capacity"], pvf.rashomon_capacity(decisions(scores)), atol=1e-8
    )
    assert pvf.ambiguity(scores) == (table["n_decisions"] > 1).mean()
    for i, row in enumerate(table.itertuples()):
        of_class = scores[:, i] if scores.ndim == 2 else scores[:, i, row.contested_class]
        assert (row.lowest, row.highest) == pytest.approx((of_class.min(), of_class.max()))
        if scores.ndim == 3:
            assert row.highest - row.lowest == pytest.approx(np.ptp(scores[:, i], axis=0).max())
        labels = [literal_decision(score) for score in scores[:, i]]
        assert row.n_decisions == len(set(labels))
        assert row.conflict_share == np.mean([label != labels[0] for label in labels])
    assert table.index[3] == "s3"


def test_tail_is_the_mean_of_the_largest():
    """The top share is rounded up to whole samples."""
    values = np.random.default_rng(0).random(250) + 1
    assert capacity_tail(values, 0.01) == pytest.approx(np.sort(values)[-3:].mean())
    assert capacity_tail(values, 0.02) == pytest.approx(np.sort(values)[-5:].mean())
    assert capacity_tail(values, 1) == pytest.approx(values.mean())


def test_display_draws_the_distribution():
    """The step curve is the empirical distribution function."""
    scores = np.random.default_rng(0).random((5, 30))
    display = pvf.MultiplicityDisplay.from_scores(scores, name="trees").plot()
    x, y = display.ax_.lines[0].get_data()
    np.testing.assert_allclose(x[1:], np.sort(pvf.rashomon_capacity(scores)))
    assert (x[0], y[0], y[-1]) == (1, 0, 1)
    assert "effective classes" in display.ax_.get_xlabel()
    assert display.ax_.get_legend().get_texts()[0].get_text() == "trees"


def test_display_draws_the_tail():
    """The curve ends at the mean of all; the marks are the top 1% and 5%."""
    capacity = pvf.rashomon_capacity(np.random.default_rng(0).random((5, 400)))
    ax = pvf.MultiplicityDisplay(capacity).plot(kind="tail").ax_
    share, mean = ax.lines[0].get_data()
    assert (share[-1], mean[-1]) == (100, pytest.approx(capacity.mean()))
    np.testing.assert_allclose(
        ax.lines[1].get_ydata(), [capacity_tail(capacity, 0.01), capacity_tail(capacity, 0.05)]
    )


@pytest.mark.parametrize(
    "scores",
    [np.random.default_rng(0).random((5, 30)), dirichlet_scores(5, 30, 3, 2)],
    ids=["two", "three"],
)
def test_display_draws_the_worst_samples(scores):
    """Each row shows one mark a model, for the samples of the largest capacity."""
    display = pvf.MultiplicityDisplay.from_scores(scores).plot(kind="worst", n_worst=4)
    worst = np.argsort(-pvf.rashomon_capacity(scores))[:4]
    for row, sample in enumerate(worst):
        of_class = scores[:, sample]
        if scores.ndim == 3:
            of_class = of_class[:, np.ptp(of_class, axis=0).argmax()]
        x, y = display.ax_.lines[row].get_data()
        np.testing.assert_allclose(x, of_class)
        assert set(y) == {row}
        assert display.ax_.get_yticklabels()[row].get_text().startswith(f"{sample}, ")


def test_display_refuses_what_it_cannot_draw():
    """An unknown kind, and worst samples without their scores, are errors."""
    display = pvf.MultiplicityDisplay(np.array([1.0, 1.5]))
    with pytest.raises(ValueError, match="kind must be"):
        display.plot(kind="violin")
    with pytest.raises(ValueError, match="scores must be given"):
        display.plot(kind="worst")


# --- weight perturbation of a logistic regression ---------------------------------------------


def clinical_like(n=120, n_features=4, seed=0, scale=1.0):
    """Correlated features on different scales, and labels that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_features)) @ rng.standard_normal((n_features, n_features))
    X *= rng.lognormal(size=n_features)
    logit = scale * X @ rng.standard_normal(n_features) / X.std(axis=0).mean()
    return X, (logit + rng.logistic(size=n) > 0).astype(int)


def with_ones(X):
    return np.column_stack([X, np.ones(len(X))])


def ridge_of(model, n_features, total, *, intercept=True):
    """Curvature of each coefficient's penalty, per unit of total weight."""
    strength = 0 if np.inf == model.C else 1 / (model.C * total)
    return np.append(np.full(n_features, strength), [0] if intercept else [])


def general_extremes(X, y, share, ridge, samples, epsilon):
    """Smallest and largest score of each sample by SLSQP."""
    return np.array(
        [
            [expit(-literal.largest_logit(-x, X, y, ridge, share, epsilon)) for x in samples],
            [expit(literal.largest_logit(x, X, y, ridge, share, epsilon)) for x in samples],
        ]
    )


@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 0.1, 0.6], ids=str)
@pytest.mark.parametrize("C", [0.05, 1.0, np.inf], ids=str)
def test_extreme_scores_agree_with_a_general_solver(C, epsilon):
    """Smallest and largest scores are those that SLSQP finds on the constrained problem."""
    X, y = clinical_like()
    X = StandardScaler().fit_transform(X)
    model = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, y)
    scores, gap = pvf.perturb_scores(model, X, y, X[:4], epsilon, return_gap=True)
    ridge, share = ridge_of(model, 4, len(y)), np.full(len(y), 1 / len(y))
    expected = general_extremes(with_ones(X), y, share, ridge, with_ones(X[:4]), epsilon)
    np.testing.assert_allclose(scores, expected, atol=2e-6)
    assert gap.max() <= 1e-9


@pytest.mark.parametrize(
    "options",
    [
        {"class_weight": "balanced"},
        {"class_weight": {0: 1.0, 1: 3.0}},
        {"fit_intercept": False},
        {"solver": "liblinear"},
        {"solver": "liblinear", "intercept_scaling": 5.0},
    ],
    ids=str,
)
def test_the_loss_is_what_the_model_minimised(options):
    """Class weights, sample weights, and penalised or missing intercepts enter the level."""
    X, y = clinical_like(80, 3, seed=1)
    X = StandardScaler().fit_transform(X)
    sample_weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = LogisticRegression(C=0.3, tol=1e-10, max_iter=10_000, **options)
    model.fit(X, y, sample_weight=sample_weight)
    weight = sample_weight.copy()
    if options.get("class_weight") == "balanced":
        of_positives = sample_weight[y == 1].sum()
        half = sample_weight.sum() / 2
        weight *= np.where(y, half / of_positives, half / (2 * half - of_positives))
    elif "class_weight" in options:
        weight *= np.where(y, 3.0, 1.0)
    intercept = model.fit_intercept
    ridge = ridge_of(model, 3, weight.sum(), intercept=intercept)
    if model.solver == "liblinear":
        ridge[-1] = ridge[0] / model.intercept_scaling**2
    design = with_ones(X) if intercept else X
    # The fitted model is the minimum of this loss, so that the test measures the right one.
    coef = np.append(model.coef_[0], model.intercept_ if intercept else [])
    share = weight / weight.sum()
    assert np.abs(literal.penalised_loss(coef, design, y, ridge, share)[1]).max() < 1e-5
    scores = pvf.perturb_scores(model, X, y, X[:3], 0.02, sample_weight=sample_weight)
    expected = general_extremes(design, y, share, ridge, design[:3], 0.02)
    np.testing.assert_allclose(scores, expected, atol=2e-6)


def interval_within(X, y, C, epsilon, digits=40):
    """Return the ends of one coefficient's interval within the level, in decimal arithmetic."""
    with decimal.localcontext(prec=digits):
        n = len(y)
        margins = [Decimal(x if label else -x) for x, label in zip(X, y, strict=True)]
        ridge = 1 / (Decimal(C) * n)

        def loss(w):
            return sum((1 + (-w * m).exp()).ln() for m in margins) / n + ridge * w * w / 2

        def slope(w):
            return sum(-m / (1 + (w * m).exp()) for m in margins) / n + ridge * w

        def root(function, low, high):
            rises = function(high) > 0
            for _ in range(3 * digits):
                middle = (low + high) / 2
                low, high = (low, middle) if (function(middle) > 0) == rises else (middle, high)
            return low

        best = root(slope, Decimal(-50), Decimal(50))
        level = loss(best) + Decimal(epsilon)
        return [float(root(lambda w: loss(w) - level, best, best + far)) for far in (-400, 400)]


@pytest.mark.parametrize("C", [0.1, 10.0], ids=str)
@pytest.mark.parametrize("epsilon", [1e-15, 1e-12, 1e-8, 1e-3, 0.3, 3.0], ids=str)
def test_one_coefficient_is_an_interval(C, epsilon):
    """With one coefficient the level's ends are roots, found in decimal arithmetic: to 1e-9."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal(12)
    y = (X + rng.logistic(size=12) > 0).astype(int)
    model = LogisticRegression(C=C, fit_intercept=False, tol=1e-14, max_iter=10_000)
    model.fit(X[:, None], y)
    x = np.array([[0.7], [-1.3]])
    ends = interval_within(X, y, C, epsilon)
    expected = np.sort(expit(np.outer(ends, x[:, 0])), axis=0)
    scores, gap = pvf.perturb_scores(model, X[:, None], y, x, epsilon, return_gap=True, tol=1e-11)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=2e-11)
    assert gap.max() <= 1e-11


def test_small_epsilon_is_an_ellipsoid():
    """For small epsilon the logits move by sqrt(2 epsilon x' H^-1 x)."""
    X, y = clinical_like(300)
    model = LogisticRegression(tol=1e-12, max_iter=10_000).fit(X, y)
    design, epsilon = with_ones(X), 1e-6
    p = model.predict_proba(X)[:, 1]
    hessian = (design.T * p * (1 - p)) @ design / len(y) + np.diag(ridge_of(model, 4, len(y)))
    low, high = pvf.perturb_scores(model, X, y, X[:20], epsilon)
    quadratic = (design[:20] * np.linalg.solve(hessian, design[:20].T).T).sum(axis=1)
    logits = np.log(high / (1 - high)) - np.log(low / (1 - low))
    np.testing.assert_allclose(logits, 2 * np.sqrt(2 * epsilon * quadratic), rtol=1e-3)


def test_a_loose_certificate_encloses_the_tight_score():
    """Stopped early, a score is one that a model within the level gives, and the gap is true."""
    X, y = clinical_like(100, 4, seed=5)
    X = StandardScaler().fit_transform(X)
    model = LogisticRegression(C=5.0, tol=1e-10).fit(X, y)
    loose_gaps = 0
    for epsilon in (0.003, 0.05, 0.3):
        exact = pvf.perturb_scores(model, X, y, X, epsilon)
        for tol in (0.1, 0.01, 1e-4):
            scores, gap = pvf.perturb_scores(model, X, y, X, epsilon, return_gap=True, tol=tol)
            assert gap.max() <= tol
            assert (scores[0] >= exact[0] - 3e-9).all()
            assert (scores[1] <= exact[1] + 3e-9).all()
            assert (scores[0] - gap[0] <= exact[0] + 3e-9).all()
            assert (scores[1] + gap[1] >= exact[1] - 3e-9).all()
            loose_gaps += (gap > 1e-3).sum()
    assert loose_gaps > 100  # the bounds were far apart often enough to matter


def test_no_model_within_the_level_is_beyond_the_gap():
    """Random models on the boundary of the set never give a more extreme score."""
    X, y = clinical_like(100, 5, seed=3)
    X = StandardScaler().fit_transform(X)
    model = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(X, y)
    epsilon, design = 0.05, with_ones(X)
    (low, high), gap = pvf.perturb_scores(model, X, y, X, epsilon, return_gap=True)
    ridge, share = ridge_of(model, 5, len(y)), np.full(len(y), 1 / len(y))
    best, smallest = literal.smallest_loss(design, y, ridge, share)
    rng = np.random.default_rng(0)
    for direction in rng.standard_normal((300, 6)):
        length = brentq(
            lambda t, d=direction: (
                literal.penalised_loss(best + t * d, design, y, ridge, share)[0]
                - smallest
                - epsilon
            ),
            0,
            1e4,
        )
        score = expit(design @ (best + length * direction))
        assert (score <= high + gap[1] + 1e-10).all()
        assert (score >= low - gap[0] - 1e-10).all()


def test_base_model_lies_between_and_epsilon_widens():
    """The model's own scores are inside for every epsilon, and the range grows with it."""
    X, y = clinical_like()
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-3)).fit(X, y)
    own = model.predict_proba(X)[:, 1]
    previous = np.stack([np.ones(len(y)), np.zeros(len(y))])
    for epsilon in (0.0, 1e-6, 0.01, 0.1):
        scores = pvf.perturb_scores(model, X, y, X, epsilon)
        assert (scores[0] <= own + 1e-8).all()
        assert (scores[1] >= own - 1e-8).all()
        assert (scores[0] <= previous[0] + 1e-8).all()
        assert (scores[1] >= previous[1] - 1e-8).all()
        previous = scores


def test_epsilon_zero_and_zero_gradients_end():
    """With epsilon 0 the scores are the optimum's; a sample of zeros without intercept is 0.5."""
    X, y = clinical_like()
    X = StandardScaler().fit_transform(X)
    model = LogisticRegression(C=1.0, tol=1e-12, max_iter=10_000).fit(X, y)
    own = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(pvf.perturb_scores(model, X, y, X, 0), [own, own], atol=1e-5)
    model = LogisticRegression(fit_intercept=False).fit(X, y)
    for method in ("exact", "gradient"):
        scores = pvf.perturb_scores(model, X, y, np.zeros((2, 4)), 0.1, method=method)
        np.testing.assert_array_equal(scores, 0.5)
        assert np.isfinite(pvf.perturb_scores(model, X, y, X, 0, method=method)).all()


def test_large_epsilon_needs_the_path_and_stays_certified():
    """Several times the smallest loss, on badly scaled data: all gaps below the tolerance."""
    X, y = clinical_like(60, 5, seed=1, scale=3)
    model = LogisticRegression(C=1e3, max_iter=10_000).fit(X, y)
    for epsilon in (0.3, 2.0):
        scores, gap = pvf.perturb_scores(model, X, y, X[:20], epsilon, return_gap=True)
        assert gap.max() <= 1e-9
        assert (scores[0] < scores[1]).all()


def test_path_agrees_with_the_quick_steps(monkeypatch):
    """Following the path, without any quasi-Newton step, gives the same scores."""
    X, y = clinical_like(80, 3, seed=4)
    X = StandardScaler().fit_transform(X)
    model = LogisticRegression(C=1.0, tol=1e-10).fit(X, y)
    quick = pvf.perturb_scores(model, X, y, X[:10], 0.05)
    calls = []
    follow = pvf.multiplicity.logistic._follow_path
    monkeypatch.setattr(
        "pvf.multiplicity.logistic._follow_path", lambda *a: calls.append(1) or follow(*a)
    )
    slow = pvf.perturb_scores(model, X, y, X[:10], 0.05, max_iter=1)
    assert len(calls) > 10
    np.testing.assert_allclose(slow, quick, atol=3e-9)


def test_capacity_of_the_whole_set_bounds_every_subset():
    """The exact extremes have at least the capacity of any models that were sampled."""
    X, y = clinical_like(150)
    X = StandardScaler().fit_transform(X)
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    ridge, share = np.zeros(5), np.full(len(y), 1 / len(y))
    design = with_ones(X)
    coef = np.append(model.coef_[0], model.intercept_)
    smallest = literal.smallest_loss(design, y, ridge, share)[1]
    others = coef + 0.2 * np.random.default_rng(0).standard_normal((200, 5))
    losses = [literal.penalised_loss(w, design, y, ridge, share)[0] for w in others]
    members = others[pvf.rashomon_set(losses, 0.02, reference=float(smallest))]
    assert len(members) > 20
    sampled = pvf.rashomon_capacity(expit(members @ design.T))
    exact = pvf.rashomon_capacity(pvf.perturb_scores(model, X, y, X, 0.02))
    assert (exact >= sampled - 1e-9).all()
    assert exact.mean() - 1 > 1.2 * (sampled.mean() - 1)


def test_workers_change_no_bit(monkeypatch):
    """Two workers give the same bits as one, over several blocks."""
    monkeypatch.setattr("pvf.multiplicity.logistic.BLOCK", 2000)
    X, y = clinical_like(200)
    model = LogisticRegression(max_iter=10_000).fit(X, y)
    one, two = (pvf.perturb_scores(model, X, y, X, 0.02, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_equal_rows_are_merged_without_a_trace():
    """Repeated training rows and samples give what their weights give."""
    X, y = clinical_like(50)
    model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(np.tile(X, (3, 1)), np.tile(y, 3))
    repeated = pvf.perturb_scores(model, np.tile(X, (3, 1)), np.tile(y, 3), X[[0, 1, 0]], 0.01)
    weighted = pvf.perturb_scores(model, X, y, X[:2], 0.01, sample_weight=np.full(50, 3.0))
    np.testing.assert_allclose(repeated[:, :2], weighted, atol=3e-9)
    np.testing.assert_array_equal(repeated[:, 0], repeated[:, 2])


def test_text_labels_frames_and_sparse_columns():
    """A pipeline on a frame with text labels: the positive class is the second one."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"site": rng.choice(list("abc"), 200), "sex": rng.choice(["f", "m"], 200)})
    y = np.where(rng.random(200) < np.where(frame["site"] == "a", 0.7, 0.3), "M", "B")
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(frame, y)
    scores = pvf.perturb_scores(model, frame, y, frame, 0.01)
    own = model.predict_proba(frame)[:, 1]
    assert ((scores[0] < own) & (own < scores[1])).all()
    flipped = LogisticRegression().fit(
        OneHotEncoder().fit_transform(frame), np.where(y == "M", "a", "b")
    )
    mirrored = pvf.perturb_scores(
        make_pipeline(model[0], flipped), frame, np.where(y == "M", "a", "b"), frame, 0.01
    )
    np.testing.assert_allclose(mirrored, 1 - scores[::-1], atol=1e-6)


def test_pipelines_of_one_step_and_of_resampling_steps():
    """A lone model in a pipeline is that model; a resampler before it leaves the samples alone."""
    X, y = clinical_like()
    model = LogisticRegression(tol=1e-10).fit(X, y)
    expected = pvf.perturb_scores(model, X, y, X, 0.02)
    np.testing.assert_array_equal(pvf.perturb_scores(make_pipeline(model), X, y, X, 0.02), expected)
    resampled = imblearn_pipeline(RandomOverSampler(random_state=0), LogisticRegression())
    resampled.fit(X, y)
    with pytest.warns(ConvergenceWarning, match="above the smallest"):
        low, high = pvf.perturb_scores(resampled, X, y, X, 0.0)
    own = resampled.predict_proba(X)[:, 1]
    assert ((low <= own + 1e-8) & (own <= high + 1e-8)).all()


def test_rows_of_weight_zero_do_not_count():
    """Training rows without weight change nothing."""
    X, y = clinical_like()
    far = np.vstack([X, 100 + X[:3]])
    weight = np.append(np.ones(len(X)), np.zeros(3))
    model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(
        pvf.perturb_scores(model, far, np.append(y, [0, 1, 0]), X, 0.02, sample_weight=weight),
        pvf.perturb_scores(model, X, y, X, 0.02),
        atol=3e-9,
    )


def test_cross_validated_model_uses_its_chosen_penalty():
    """LogisticRegressionCV is perturbed like LogisticRegression with the C that it chose."""
    X, y = clinical_like()
    X = StandardScaler().fit_transform(X)
    settings = {"tol": 1e-10, "max_iter": 10_000}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # its defaults are about to change
        chosen = LogisticRegressionCV(Cs=[0.01, 0.1, 1], **settings).fit(X, y)
    C = float(np.ravel(chosen.C_)[0])
    plain = LogisticRegression(C=C, **settings).fit(X, y)
    np.testing.assert_allclose(
        pvf.perturb_scores(chosen, X, y, X, 0.01),
        pvf.perturb_scores(plain, X, y, X, 0.01),
        atol=1e-8,
    )


def test_without_penalty_a_free_direction_goes_all_the_way():
    """A coefficient that no training row depends on is free; samples inside the span are not."""
    X, y = clinical_like(100, 2)
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.zeros(100)])
    model = LogisticRegression(C=np.inf, max_iter=10_000).fit(X, y)
    reduced = LogisticRegression(C=np.inf, max_iter=10_000).fit(X[:, :2], y)
    free = X[:2] + np.eye(4)[2:]
    scores = pvf.perturb_scores(model, X, y, np.vstack([X[:5], free]), 0.01)
    np.testing.assert_allclose(
        scores[:, :5], pvf.perturb_scores(reduced, X[:, :2], y, X[:5, :2], 0.01), atol=1e-6
    )
    np.testing.assert_array_equal(scores[:, 5:], [[0, 0], [1, 1]])


def test_a_model_from_elsewhere_is_said():
    """A model that is far from the minimum raises the level to its own loss, with a warning."""
    X, y = clinical_like()
    X = StandardScaler().fit_transform(X)
    model = LogisticRegression().fit(X, 1 - y)
    with pytest.warns(ConvergenceWarning, match="above the smallest"):
        low, high = pvf.perturb_scores(model, X, y, X, 0.001)
    own = model.predict_proba(X)[:, 1]
    assert ((low <= own + 1e-8) & (own <= high + 1e-8)).all()


def fitted(**options):
    """Return a fitted logistic regression with its data."""
    X, y = clinical_like(60, 2)
    return LogisticRegression(**options).fit(X, y), X, y


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (
            lambda _, X, y: pvf.perturb_scores(
                LogisticRegression(l1_ratio=1.0, solver="liblinear").fit(X, y), X, y, X, 0.1
            ),
            ValueError,
            "L2 penalty or none",
        ),
        (
            lambda _, X, y: pvf.perturb_scores(
                LogisticRegression().fit(X, np.arange(60) % 3), X, y, X, 0.1
            ),
            ValueError,
            "model must have two classes, got 3",
        ),
        (
            lambda _, X, __: pvf.perturb_scores(
                LogisticRegression(C=np.inf).fit(X, X[:, 0] > 0), X, X[:, 0] > 0, X, 0.1
            ),
            ValueError,
            "must not separate the classes",
        ),
        (lambda m, X, y: pvf.perturb_scores(m, X, y, X, -0.1), ValueError, "epsilon"),
        (lambda m, X, y: pvf.perturb_scores(m, X, y + 5, X, 0.1), ValueError, "y_train must hold"),
        (lambda m, X, y: pvf.perturb_scores(m, X, y[:5], X, 0.1), ValueError, "y_train must have"),
        (lambda m, X, y: pvf.perturb_scores(m, X, y, X[:, :1], 0.1), ValueError, "1 features"),
        (lambda m, X, y: pvf.perturb_scores(m, X, y, X * NAN, 0.1), ValueError, "NaN"),
        (
            lambda m, X, y: pvf.perturb_scores(m, X, y, X, 0.1, sample_weight=-np.ones(60)),
            ValueError,
            "sample_weight",
        ),
        (
            lambda _, X, y: pvf.perturb_scores(DecisionTreeClassifier().fit(X, y), X, y, X, 0.1),
            TypeError,
            "model must be a LogisticRegression",
        ),
        (
            lambda m, X, y: pvf.perturb_scores(m, X, y, X, 0.1, method="sgd"),
            ValueError,
            "method must be",
        ),
        (
            lambda m, X, y: pvf.perturb_scores(m, X, y, X, 0.1, method="gradient", return_gap=True),
            ValueError,
            "return_gap",
        ),
    ],
    ids=[
        "lasso",
        "three classes",
        "separable",
        "epsilon",
        "labels",
        "length",
        "features",
        "missing",
        "weights",
        "tree",
        "method",
        "gap",
    ],
)
def test_wrong_models_and_data_are_refused(call, error, match):
    """Each error names what is wrong."""
    with pytest.raises(error, match=match):
        call(*fitted())


@pytest.mark.parametrize("n_steps", [0 + 1, 40, 1000])
@pytest.mark.parametrize("epsilon", [0.0, 0.003, 0.05], ids=str)
def test_counted_gradient_steps_are_the_literal_ones(epsilon, n_steps):
    """Bisection over the number of steps finds what stepping one by one finds."""
    X, y = clinical_like(70, 3, seed=2)
    X = StandardScaler().fit_transform(X)
    model = LogisticRegression(C=0.7, tol=1e-10).fit(X, y)
    options = {"learning_rate": 0.004, "momentum": 0.9, "max_iter": n_steps}
    scores = pvf.perturb_scores(model, X, y, X[:6], epsilon, method="gradient", **options)
    coef = np.append(model.coef_[0], model.intercept_)
    ridge, share = ridge_of(model, 3, len(y)), np.full(len(y), 1 / len(y))
    for row, sign in enumerate((-1, 1)):
        expected = [
            literal.gradient_ascent(
                x,
                with_ones(X),
                y,
                ridge,
                share,
                coef,
                epsilon=epsilon,
                rate=0.004,
                momentum=0.9,
                n_steps=n_steps,
                sign=sign,
            )
            for x in with_ones(X[:6])
        ]
        np.testing.assert_allclose(scores[row], expit(expected), rtol=1e-9)


def test_gradient_steps_fall_short_of_the_exact_extremes():
    """Steps along the sample stay inside the exact range, and stop at a target score."""
    X, y = clinical_like(200, 5, seed=6)
    X = StandardScaler().fit_transform(X)
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, y)
    exact = pvf.perturb_scores(model, X, y, X, 0.02)
    steps = pvf.perturb_scores(model, X, y, X, 0.02, method="gradient")
    assert (steps[0] >= exact[0] - 1e-9).all()
    assert (steps[1] <= exact[1] + 1e-9).all()
    assert (np.ptp(steps, axis=0) < 0.98 * np.ptp(exact, axis=0)).mean() > 0.5
    held = pvf.perturb_scores(model, X, y, X, 0.02, method="gradient", score_target=0.9)
    own = model.predict_proba(X)[:, 1]
    assert (held[1] <= np.maximum(own, 0.93)).all()
    np.testing.assert_allclose(held[1][own >= 0.9], own[own >= 0.9])


def test_display_of_estimators_keeps_those_near_the_best_log_loss():
    """Of fitted trees those within epsilon of the least mean -log p(label), whose range is told."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), index=[f"row {k}" for k in range(80)])
    y = np.where(X[0] + rng.normal(size=80) > 0, "ill", "well")
    trees = [
        DecisionTreeClassifier(max_depth=2, min_samples_leaf=9, max_features=1, random_state=s)
        for s in range(8)
    ]
    scores = np.array([tree.fit(X, y).predict_proba(X) for tree in trees])
    of_label = scores[:, np.arange(80), (y == "well").astype(int)]
    losses = -np.log(of_label).mean(axis=1)
    epsilon = np.sort(losses)[4] - min(losses) + 1e-9
    near = scores[np.array(losses) <= min(losses) + epsilon]
    assert len(near) == 5
    table = pvf.MultiplicityDisplay.from_estimators(trees, X, y, epsilon=epsilon).to_frame()
    assert table.index.tolist() == X.index.tolist()
    np.testing.assert_allclose(table["capacity"], pvf.rashomon_capacity(near), rtol=1e-12)
    np.testing.assert_allclose(table["lowest"], near[:, :, 1].min(axis=0))
    np.testing.assert_allclose(table["highest"], near[:, :, 1].max(axis=0))
