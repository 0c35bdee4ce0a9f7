"""Rules for choosing a model, each against a loop written out."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import pvf
from pvf.selection import cross_validation_criterion, holdout_criterion, rank_models


@pytest.fixture(name="data", scope="module")
def _data():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:200, :5], y.iloc[:200]


def test_cross_validation_is_the_mean_over_stratified_folds(data):
    """The criterion equals a loop over folds with f1_score."""
    X, y = data
    scores = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=3).split(X, y):
        model = GaussianNB().fit(X.iloc[train], y.iloc[train])
        scores.append(f1_score(y.iloc[test], model.predict(X.iloc[test])))
    criterion = cross_validation_criterion("f1", n_splits=5, random_state=3)
    assert criterion(GaussianNB(), X, y) == pytest.approx(np.mean(scores), rel=1e-12)


def test_holdout_scores_the_validation_part_only(data):
    """Without perturbation it is one split; with PVF's scorer, PVF on that split."""
    X, y = data
    X_train, X_val, y_train, y_val = train_test_split(
        X, y, test_size=0.25, stratify=y, random_state=7
    )
    fitted = GaussianNB().fit(X_train, y_train)
    settings = {"validation_share": 0.25, "random_state": 7}
    plain = holdout_criterion("f1", **settings)(GaussianNB(), X, y)
    assert plain == pytest.approx(f1_score(y_val, fitted.predict(X_val)), rel=1e-12)
    noise = pvf.Perturbation(pvf.GaussianNoise(0.5))
    scorer = pvf.perturbation_scorer("f1", perturbation=noise, n_sets=20)
    perturbed = holdout_criterion(scorer, **settings)(GaussianNB(), X, y)
    selected = pvf.perturbation_validation(
        [fitted], X_val, y_val, perturbation=noise, scoring="f1", n_sets=20, random_state=0
    )
    assert perturbed == selected.aggregated[0]


def test_ranking_holds_each_score_and_its_rank(data):
    """Scores are the criteria's own; ranks count better models; models stay unfitted."""
    X, y = data
    models = {
        "stump": DecisionTreeClassifier(max_depth=1, random_state=0),
        "linear": make_pipeline(StandardScaler(), LogisticRegression()),
        "naive Bayes": GaussianNB(),
    }
    criteria = {
        "PMV": pvf.pmv_scorer(noise_levels=[0, 0.2, 0.4]),
        "CV": cross_validation_criterion(n_splits=4),
        "constant": lambda *_: 1.0,
    }
    table = rank_models(models, X, y, criteria=criteria)
    assert len(table) == 9
    for row in table.itertuples():
        assert row.score == criteria[row.criterion](models[row.model], X, y)
        rivals = table[table["criterion"] == row.criterion]["score"]
        assert row.rank == 1 + (rivals > row.score).sum()
        assert row.seconds >= 0
    assert not hasattr(models["stump"], "tree_")


class _RefusesMarked(GaussianNB):
    """Cannot be fitted to rows with a marked one among them."""

    def fit(self, X, y):
        """Fit, or fail."""
        if np.max(X) > 1e6:
            raise ArithmeticError("a marked row")
        return super().fit(X, y)


def test_fold_that_fails_is_no_score(data):
    """One fold's fit fails, and so does the criterion, with that error and no NaN."""
    X, y = data
    marked = X.copy()
    marked.iloc[0, 0] = 1e7  # in the training part of all folds but one
    with pytest.raises(ArithmeticError, match="a marked row"):
        cross_validation_criterion(n_splits=4)(_RefusesMarked(), marked, y)


def test_criterion_that_fits_in_place_leaves_the_models_alone(data):
    """Each criterion gets a copy of its own, so none sees what another has fitted."""
    X, y = data
    models, seen = {"naive Bayes": GaussianNB()}, []

    def fits_in_place(model, X, y):
        seen.append(hasattr(model, "theta_"))
        return model.fit(X, y).score(X, y)

    rank_models(models, X, y, criteria={"one": fits_in_place, "two": fits_in_place})
    assert seen == [False, False]
    assert not hasattr(models["naive Bayes"], "theta_")


def test_criteria_can_be_pickled():
    """Workers can be sent a criterion."""
    for criterion in (cross_validation_criterion("f1"), holdout_criterion("f1")):
        assert pickle.loads(pickle.dumps(criterion)) == criterion


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: cross_validation_criterion(n_splits=1), ValueError, "n_splits must be at least 2"),
        (lambda: holdout_criterion(validation_share=0), ValueError, "validation_share must lie"),
        (lambda: holdout_criterion(validation_share=1), ValueError, "validation_share must be be"),
        (lambda: holdout_criterion(random_state=None), TypeError, "random_state must be a whole"),
        (lambda: rank_models([], [[0]], [0], criteria={"a": len}), ValueError, "models must be"),
        (
            lambda: rank_models([GaussianNB(), GaussianNB()], [[0]], [0], criteria={"a": len}),
            ValueError,
            "models must be one or more, of different names",
        ),
        (lambda: rank_models([GaussianNB()], [[0]], [0], criteria={}), ValueError, "criteria must"),
        (
            lambda: rank_models(
                [GaussianNB()], [[0]], [0], criteria={"a": lambda *_: float("nan")}
            ),
            ValueError,
            "criteria: 'a' gave NaN",
        ),
    ],
    ids=["folds", "no share", "whole share", "seed", "no models", "twins", "no criteria", "nan"],
)
def test_bad_arguments_are_named(call, error, message):
    """A bad argument ends in an error with its name."""
    with pytest.raises(error, match=message):
        call()
