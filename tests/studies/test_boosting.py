"""The boosting algorithm of 2019 against scikit-learn of that line, and against algebra."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_circles

from pvf.pmv import flip_labels
from studies.pmv2019.boosting import RealAdaBoostClassifier

REFERENCE = Path(__file__).parents[1] / "reference" / "adaboost_samme_r.csv"


def test_equals_scikit_learn_when_it_had_the_algorithm():
    """All 80 decisions equal those of scikit-learn 1.2's SAMME.R."""
    table = pd.read_csv(REFERENCE, comment="#")
    X = table[["x1", "x2"]].to_numpy()
    model = RealAdaBoostClassifier(50).fit(X, table["y"])
    # theirs is twice the mean of ours over stumps
    mean = 2 * model.decision_function(X) / len(model.stumps_)
    assert mean == pytest.approx(table["decision"], rel=1e-6, abs=1e-6)


def test_one_stump_gives_half_the_log_odds_of_its_leaves():
    """Leaves with shares 3/4 and 1/5 of class 1 give ½ log 3 and ½ log ¼."""
    X = np.r_[np.zeros(4), np.ones(5)][:, None]
    y = np.array(["no", "yes", "yes", "yes", "yes", "no", "no", "no", "no"])
    model = RealAdaBoostClassifier(1).fit(X, y)
    assert model.decision_function([[0], [1]]) == pytest.approx([np.log(3) / 2, np.log(1 / 4) / 2])
    assert model.predict([[0], [1]]).tolist() == ["yes", "no"]


def test_stops_once_a_stump_makes_no_error():
    """Separable data need one stump, and further ones would change nothing."""
    X = np.arange(10.0)[:, None]
    assert len(RealAdaBoostClassifier().fit(X, X[:, 0] > 4).stumps_) == 1


@pytest.mark.filterwarnings("error")
def test_tiny_weights_on_one_side_are_kept():
    """Here the samples beyond a split come to weigh less than the rounding of the total weight."""
    X, y = make_circles(100, factor=0.5, random_state=1)
    model = RealAdaBoostClassifier().fit(X, flip_labels(y, 0.1, 40))
    assert np.isfinite(model.decision_function(X)).all()


def test_constant_features_leave_the_prior():
    """Where nothing can be split, every row gets half the log odds of the whole."""
    model = RealAdaBoostClassifier(1).fit(np.ones((4, 2)), [0, 1, 1, 1])
    assert model.decision_function(np.ones((1, 2))) == pytest.approx([np.log(3) / 2])


def test_more_than_two_classes_are_refused():
    """Three classes end in a ValueError that lists them."""
    with pytest.raises(ValueError, match=r"y must hold two classes, got \[0, 1, 2\]"):
        RealAdaBoostClassifier().fit(np.eye(3), [0, 1, 2])
