"""Metrics of counts against scikit-learn's own, on every table of up to six cases and others."""

import functools
import itertools

import numpy as np
import pytest
from sklearn import metrics

from pvf import counts, intervention_efficiency_score

TABLES = [
    (tp, fp, n_pos, n_neg)
    for n_pos, n_neg in itertools.product(range(1, 5), repeat=2)
    for tp, fp in itertools.product(range(n_pos + 1), range(n_neg + 1))
]
PAIRS = {
    "accuracy": (counts.accuracy, metrics.accuracy_score, {}),
    "balanced_accuracy": (counts.balanced_accuracy, metrics.balanced_accuracy_score, {}),
    "precision": (counts.precision, metrics.precision_score, {"zero_division": 0.0}),
    "precision, 1": (counts.precision, metrics.precision_score, {"zero_division": 1.0}),
    "recall": (counts.recall, metrics.recall_score, {}),
    "f1": (counts.f1, metrics.f1_score, {}),
    "f2": (counts.fbeta, metrics.fbeta_score, {"beta": 2.0}),
    "f half": (counts.fbeta, metrics.fbeta_score, {"beta": 0.5}),
    "efficiency": (
        counts.intervention_efficiency,
        intervention_efficiency_score,
        {"capacity": 0.3},
    ),
}


def labels(tp, fp, n_pos, n_neg):
    """Return true and predicted labels that have these counts."""
    predicted = [1] * tp + [0] * (n_pos - tp) + [1] * fp + [0] * (n_neg - fp)
    return [1] * n_pos + [0] * n_neg, predicted


@pytest.mark.parametrize("name", PAIRS)
def test_every_table_gives_what_the_metric_of_labels_gives(name):
    """All tables at once have the values that labels with these counts have one by one."""
    function, metric, settings = PAIRS[name]
    found = function(*np.array(TABLES).T, **settings)
    expected = [metric(*labels(*table), **settings) for table in TABLES]
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("value", [0.0, 1.0, np.nan])
@pytest.mark.parametrize("name", ["recall", "f1"])
def test_no_case_and_nobody_flagged(name, value):
    """Where the quotient is 0/0, the value is the one asked for, as in scikit-learn."""
    function, metric, _ = PAIRS[name]
    found = function(0, 0, 0, 5, zero_division=value)
    np.testing.assert_equal(found, metric(*labels(0, 0, 0, 5), zero_division=value))


@pytest.mark.parametrize("name", PAIRS)
def test_lists_broadcast_and_single_numbers_stay_single(name):
    """Lists are taken as arrays; counts broadcast against each other."""
    function, _, settings = PAIRS[name]
    function = functools.partial(function, **settings)
    many = np.broadcast_to(function([1, 2], [[1], [3]], 4, 6), (2, 2))  # recall has no use for fp
    assert many[1, 0] == function(1, 3, 4, 6)
    assert np.ndim(function(1, 3, 4, 6)) == 0
