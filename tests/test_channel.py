"""Capacity of two rows of two classes against 60 and more decimal digits."""

import mpmath
import numpy as np
import pytest

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
