"""Capacity of two rows of two classes against 60 and more decimal digits."""

import mpmath
import numpy as np
import pytest

import pvf
from pvf import _channel

PLACES = {
    "at 1e-300": (1e-300, 1e-300),
    "at 1e-10": (1e-10, 1e-10),
    "at 0.3": (0.3, 1.0),
    "at 0.5": (0.5, 1.0),
    "below 1": (1 - 2.0**-53, 1.0),
}
DIFFERENCES = [None, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.05, 0.3, 1.0]


def exact(low, high):
    """Return capacity in nats and weight of the higher row, from the slope of the entropy."""
    with mpmath.workdps(700 if low < 1e-100 else 80):
        a, b = mpmath.mpf(low), mpmath.mpf(high)

        def entropy(p):
            return -sum(q * mpmath.log(q) for q in (p, 1 - p) if q > 0)

        slope = (entropy(b) - entropy(a)) / (b - a)
        centre = 1 / (1 + mpmath.exp(slope))
        capacity = a * slope + mpmath.log(1 + mpmath.exp(-slope)) - entropy(a)
        return capacity, (centre - a) / (b - a)


def pairs(place, unit, difference, n=25):
    """Draw pairs of rows near a place, a difference apart; None is the next float."""
    rng = np.random.default_rng(7)
    found = []
    for _ in range(n):
        p = place if place > 0.9 else place * rng.uniform(0.9, 1)
        if difference is None:
            other = np.nextafter(p, 0 if place > 0.9 else 1)
        else:
            other = p + unit * difference * (-1 if place > 0.9 else 1)
        low, high = sorted((p, float(np.clip(other, 0, 1))))
        if low < high:
            found.append((low, high))
    return found


@pytest.mark.parametrize("difference", DIFFERENCES)
@pytest.mark.parametrize("name", PLACES)
def test_two_class_capacity_weight_and_gap_are_right_to_rounding(name, difference):
    """All three numbers hold from one unit in the last place to one apart."""
    for low, high in pairs(*PLACES[name], difference):
        capacity, weight, gap = (
            one.item() for one in _channel.two_class_capacity(np.array([low]), np.array([high]))
        )
        truth, true_weight = exact(low, high)
        assert abs(capacity - truth) <= gap, (low, high)
        assert gap < 1e-14
        # The slope of rows at 1e-300 is only known to 1e-13; the capacity does not notice.
        assert weight == pytest.approx(float(true_weight), abs=1e-11), (low, high)


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


def test_newton_reaches_its_aim_below_the_tolerance():
    """Twenty steps bring every channel's gap well below the tolerance, rare classes or not."""
    rng = np.random.default_rng(1)
    scores = rng.dirichlet(np.ones(5), (30, 300))
    _, gap = pvf.rashomon_capacity(scores, return_gap=True, tol=1e-9, max_iter=20)
    assert gap.max() <= 1.05 * _channel.AIM * 1e-9 / np.log(2)


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
