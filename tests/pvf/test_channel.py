"""Capacity of two rows of two classes against 60 and more decimal digits, and of more rows."""

import literal_multiplicity as literal
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import rel_entr

import pvf
from pvf.multiplicity import _channel

#: Where the first of two rows lies, and what their difference is a share of.
PLACES = {
    "at the smallest number": (1e-322, 1e-322),
    "at 1e-300": (1e-300, 1e-300),
    "at 1e-10": (1e-10, 1e-10),
    "at 0.3": (0.3, 1.0),
    "at 0.5": (0.5, 1.0),
    "below 1": (1 - 2.0**-53, 1.0),
}
DIFFERENCES = [None, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.05, 0.3, 1.0, "to the other end"]
WEIGHT_ERROR = 1e-11  # at 1e-300; 1e-14 where the rows are next to each other


def precisely(low, high):
    """Work with 60 digits more than the smallest number at hand has zeros."""
    a, b = mpmath.mpf(low), mpmath.mpf(high)
    smallest = min(p for p in (a, b, 1 - a, 1 - b, b - a) if p > 0)
    return mpmath.workdps(60 - 3 * int(mpmath.log10(smallest)))


def exact(low, high):
    """Return capacity in nats and weight of the higher row, from the slope of the entropy."""
    with precisely(low, high):
        a, b = mpmath.mpf(low), mpmath.mpf(high)

        def entropy(p):
            return -sum(q * mpmath.log(q) for q in (p, 1 - p) if q > 0)

        slope = (entropy(b) - entropy(a)) / (b - a)
        centre = 1 / (1 + mpmath.exp(slope))
        capacity = a * slope + mpmath.log(1 + mpmath.exp(-slope)) - entropy(a)
        return capacity, (centre - a) / (b - a)


def information(low, high, weight):
    """Return what a weight of the higher row attains, in nats, from its definition."""
    with precisely(low, high):
        w = mpmath.mpf(weight)
        pairs = [(mpmath.mpf(low), mpmath.mpf(high))]
        pairs.append((1 - pairs[0][0], 1 - pairs[0][1]))

        def term(p, q):
            return p * mpmath.log(p / q) if p > 0 else 0

        centre = [(1 - w) * a + w * b for a, b in pairs]
        of_low = sum(term(a, q) for (a, _), q in zip(pairs, centre, strict=True))
        of_high = sum(term(b, q) for (_, b), q in zip(pairs, centre, strict=True))
        return (1 - w) * of_low + w * of_high


def pairs(place, unit, difference, n=15):
    """Draw pairs of rows near a place, a difference apart; None is the next float."""
    rng = np.random.default_rng(7)
    found = []
    for _ in range(n):
        p, way = (place, -1) if place > 0.9 else (place * rng.uniform(0.9, 1), 1)
        if difference is None:
            other = np.nextafter(p, way)
        elif difference == "to the other end":
            other = way
        else:
            other = p + way * unit * difference
        low, high = sorted((float(p), float(np.clip(other, 0, 1))))
        if low < high:
            found.append((low, high))
    return found


def solved(low, high):
    """Return capacity, weight and gap of one pair as floats."""
    found = _channel.two_class_capacity(np.array([low]), np.array([high]))
    return tuple(one.item() for one in found)


def check_pair(low, high):
    """Compare all three numbers of a pair with the true ones."""
    capacity, weight, gap = solved(low, high)
    truth, true_weight = exact(low, high)
    assert abs(capacity - truth) <= gap
    # A few units in the last place of the entropies, which are below 800 times the probability.
    assert gap <= 3e-15 * min(1, 800 * high) + 5e-324
    assert weight == pytest.approx(float(true_weight), abs=WEIGHT_ERROR)
    return capacity, weight, gap


@pytest.mark.parametrize("difference", DIFFERENCES)
@pytest.mark.parametrize("name", PLACES)
def test_two_class_capacity_weight_and_gap_are_right_to_rounding(name, difference):
    """All three numbers hold from one unit in the last place to one apart."""
    for low, high in pairs(*PLACES[name], difference):
        check_pair(low, high)


@settings(max_examples=150, deadline=None)
@given(st.floats(0, 1), st.floats(0, 1), st.sampled_from(["apart", "next", "from the end"]))
def test_any_two_rows_are_right_to_rounding(p, q, kind):
    """So they do for any two numbers, also next to each other and seen from 1."""
    q = {"apart": q, "next": float(np.nextafter(p, q)), "from the end": 1 - q / 2**52}[kind]
    low, high = sorted((p, q))
    if low < high:
        check_pair(low, high)


@pytest.mark.parametrize("name", ["at 1e-10", "at 0.3", "at 0.5"])
@pytest.mark.parametrize("difference", [None, 1e-9, 0.05])
def test_rows_next_to_each_other_keep_twelve_digits_of_a_tiny_capacity(name, difference):
    """The capacity of neighbours is as small as 1e-33 and right in its digits, as its gap says."""
    for low, high in pairs(*PLACES[name], difference):
        capacity, _, gap = solved(low, high)
        assert gap <= 1e-12 * capacity
        assert capacity == pytest.approx(float(exact(low, high)[0]), rel=1e-12)


def test_both_classes_give_the_same_three_numbers():
    """Exchanging the classes exchanges the rows: the weight is that of the other one."""
    low, high = np.random.default_rng(2).integers(1, 2**30, (2, 500)) / 2**31  # 1 - p is exact
    low, high = np.minimum(low, high), np.maximum(low, high)
    capacity, weight, gap = _channel.two_class_capacity(low, high)
    mirrored = _channel.two_class_capacity(1 - high, 1 - low)
    np.testing.assert_array_equal((capacity, gap), (mirrored[0], mirrored[2]))
    np.testing.assert_allclose(weight, 1 - mirrored[1], rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("n_axes", [2, 3])
def test_the_public_gap_is_a_certificate(name, n_axes):
    """The bits returned, and those that the weights attain, are within the gap of the truth."""
    for difference in DIFFERENCES:
        low, high = np.transpose(pairs(*PLACES[name], difference, n=3)).reshape(2, -1)
        scores = np.array([low, (low + high) / 2, high])
        if n_axes == 3:
            scores = np.stack([1 - scores, scores], axis=2)
        found = pvf.rashomon_capacity(scores, return_weights=True, return_gap=True)
        # A sum of two classes may be off 1 by rounding, so that three axes say a bit less.
        rounding = 1e-15 if n_axes == 3 else 0
        for a, b, capacity, of_low, gap in zip(
            low, high, found[0], found[1][0], found[2], strict=True
        ):
            bits = exact(a, b)[0] / mpmath.log(2)
            attained = information(a, b, 1 - of_low) / mpmath.log(2)
            assert abs(mpmath.log(capacity, 2) - bits) <= gap + rounding
            assert bits - attained <= gap + rounding
            assert gap <= 2e-14


def test_scores_that_differ_by_rounding_are_one_model():
    """One logistic model summed in two orders has a capacity of 1 wherever capacities are given."""
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(8, 300))
    scores = 1 / (1 + np.exp(-np.array([sum(parts), sum(parts[::-1])])))
    assert 1e-17 < np.ptp(scores, axis=0).max() < 1e-14
    table = pvf.multiplicity_table(scores)
    _, path = pvf.greedy_subset(scores, 2, return_path=True)
    display = pvf.MultiplicityDisplay.from_scores(scores)
    for capacity in (pvf.rashomon_capacity(scores), table["capacity"], path, display.capacity):
        np.testing.assert_allclose(capacity, 1, rtol=0, atol=1e-15)


def test_weights_of_lopsided_rows_are_not_even():
    """Of rows near 0 and far from it the far one gets less than half, and the mirror image too."""
    low, high = np.array([0.0, 0.5]), np.array([0.5, 1.0])
    _, weight, _ = _channel.two_class_capacity(low, high)
    np.testing.assert_allclose(weight, [0.4, 0.6], atol=1e-12)  # the Z channel's


def test_equal_rows_have_no_capacity_and_no_gap():
    """Nothing is certified about nothing."""
    p = np.array([0.0, 0.3, 1.0])
    for one in _channel.two_class_capacity(p, p):
        np.testing.assert_array_equal(one, np.zeros(3))


# --- more than two classes ------------------------------------------------------------------------


def exact_of_two(p, q):
    """Return the capacity of two rows of any classes, in nats, by bisection over the weight."""
    with mpmath.workdps(60):
        rows = [[mpmath.mpf(float(x)) for x in row] for row in (p, q)]
        rows = [[x / sum(row) for x in row] for row in rows]

        def distances(weight):
            centre = [(1 - weight) * a + weight * b for a, b in zip(*rows, strict=True)]
            return [
                sum(x * mpmath.log(x / y) for x, y in zip(row, centre, strict=True) if x > 0)
                for row in rows
            ]

        low, high = mpmath.mpf(0), mpmath.mpf(1)
        for _ in range(120):
            middle = (low + high) / 2
            of_p, of_q = distances(middle)
            low, high = (middle, high) if of_p < of_q else (low, middle)
        return of_p


@pytest.mark.parametrize("difference", [1e-16, 1e-12, 1e-8, 1e-4, 1.0], ids=str)
@pytest.mark.parametrize("n_classes", [3, 6])
def test_gap_of_many_classes_counts_rounding(n_classes, difference):
    """The true capacity of two rows is within the gap, however little they differ."""
    rng = np.random.default_rng(4)
    rows = rng.dirichlet(np.full(n_classes, 0.3), 30)
    others = rows * np.exp(difference * rng.standard_normal(rows.shape))
    others /= others.sum(axis=1, keepdims=True)
    capacity, gap = pvf.rashomon_capacity(np.stack([rows, others]), return_gap=True)
    for p, q, found, at_most in zip(rows, others, capacity, gap, strict=True):
        bits = exact_of_two(p, q) / mpmath.log(2)
        # rows that are equal once they are scaled to sum to 1 count as equal
        assert abs(mpmath.log(found, 2) - bits) <= at_most + 1e-30
    assert gap.max() <= 1e-9


def test_newton_reaches_its_aim_below_the_tolerance():
    """Twenty steps bring every channel's gap well below the tolerance, rare classes or not."""
    rng = np.random.default_rng(1)
    scores = rng.dirichlet(np.ones(5), (30, 300))
    _, gap = pvf.rashomon_capacity(scores, return_gap=True, tol=1e-9, max_iter=20)
    assert gap.max() <= 1.05 * _channel.AIM * 1e-9 / np.log(2)


def test_newton_centres_after_short_steps_where_it_would_cycle():
    """Rows almost at two vertices, with a class of 3e-15, are solved as plainly as any others."""
    rows = np.array(
        [
            [1, 0, 2.7e-7, 0],
            [0, 1, 3.9e-8, 3e-15],
            [0.43, 0.54, 1.5e-7, 0.03],
            [0, 1, 1.6e-10, 1.1e-6],
        ]
    )
    rows /= rows.sum(axis=1, keepdims=True)
    capacity, gap = pvf.rashomon_capacity(rows[:, None], return_gap=True, max_iter=30)
    assert gap[0] <= 1e-9
    # The loop's bounds close in slowly, but they enclose it.
    found, weights = literal.blahut_arimoto(rows, n_steps=3000, small_step=0)
    farthest = rel_entr(rows, weights @ rows).sum(axis=1).max() / np.log(2)
    assert found <= np.log2(capacity[0]) <= farthest
    assert farthest - found < 2e-4


def test_classes_below_the_smallest_number_count_as_absent():
    """Rows that differ in probabilities of 1e-200 are the same row."""
    tiny = 1e-200
    scores = np.array([[[1 - tiny, tiny, 0.0]], [[1.0, 0.0, 3 * tiny]], [[1.0, tiny, tiny]]])
    capacity, gap = pvf.rashomon_capacity(scores, return_gap=True)
    np.testing.assert_array_equal((capacity, gap), [[1.0], [0.0]])


def test_weights_of_equal_models_sum_to_one():
    """Where all models agree, one of them carries all."""
    _, weights = pvf.rashomon_capacity(np.full((3, 2), 0.4), return_weights=True)
    np.testing.assert_array_equal(weights.sum(axis=0), [1.0, 1.0])


def test_rows_that_sum_to_one_but_for_rounding_are_scaled():
    """A sum of 1 + 9e-7 changes nothing in twelve digits."""
    scores = np.random.default_rng(3).dirichlet(np.ones(3), (4, 6))
    np.testing.assert_allclose(
        pvf.rashomon_capacity(scores * (1 + 9e-7)), pvf.rashomon_capacity(scores), rtol=1e-9
    )


def test_half_precision_may_miss_a_sum_of_one_by_its_own_rounding():
    """What is rounding in float16 is a fault in float64."""
    scores = np.array([[[0.333, 0.333, 0.333]], [[0.25, 0.25, 0.5]]])
    assert pvf.rashomon_capacity(scores.astype(np.float16)).shape == (1,)
    with pytest.raises(ValueError, match="scores must sum to 1"):
        pvf.rashomon_capacity(scores)


def test_tail_of_seven_percent_of_a_hundred_is_seven():
    """0.07 times 100 is above 7 in floating point; the tail is not."""
    assert pvf.capacity_tail(np.arange(100.0), 0.07) == 96.0
