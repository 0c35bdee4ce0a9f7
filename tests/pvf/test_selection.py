"""Rules for choosing a model, each against a loop written out."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
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


CV_RESULTS = {
    "params": [{"depth": depth} for depth in (9, 1, 3, None)],
    "mean_test_score": None,
    "split0_test_score": np.array([0.90, 0.70, 0.91, np.nan]),
    "split1_test_score": np.array([0.80, 0.72, 0.77, 0.9]),
    "split2_test_score": np.array([0.95, 0.71, 0.93, 0.9]),
}
# means 0.8833, 0.71, 0.87, nan; the best one's standard error is 0.0441


@pytest.mark.parametrize(
    ("rule", "complexity", "expected"),
    [
        ("pvf", None, 0),
        ("one_standard_error", "depth", 2),
        ("one_standard_error", lambda params: -(params["depth"] or 99), 0),
        ("most_stable", None, 0),
    ],
)
def test_rules_of_refitting_by_hand(rule, complexity, expected):
    """Each rule takes the candidate that arithmetic by hand says; one that failed loses."""
    chooses = pvf.refit_by(rule, complexity=complexity)
    assert chooses(CV_RESULTS) == expected
    twins = {name: np.tile(value, 2) for name, value in CV_RESULTS.items() if "split" in name}
    doubled = {**CV_RESULTS, **twins, "params": CV_RESULTS["params"] * 2}
    assert chooses(doubled) == expected  # the first of equals


def test_refitting_ties_go_to_the_simplest_and_stability_is_among_the_good():
    """PVF's ties within rounding go to the simplest; the steadiest of all may be too poor."""
    tied = {**CV_RESULTS, "params": [{"depth": depth} for depth in (9, 1, 3, 2)]}
    for split in range(3):
        tied[f"split{split}_test_score"] = np.array([0.3, 0.1 + 0.2, 0.2, 0.3])
    assert pvf.refit_by("pvf")(tied) == 0
    assert pvf.refit_by("pvf", complexity="depth")(tied) == 1
    steady = {**CV_RESULTS, "split1_test_score": np.array([0.80, 0.72, 0.90, 0.9])}
    steady["split2_test_score"] = np.array([0.97, 0.71, 0.90, 0.9])
    assert pvf.refit_by("most_stable")(steady) == 2


def test_refit_by_in_a_search_with_pvf(data):
    """In a search of several metrics the named one decides."""
    X, y = data
    noise = pvf.Perturbation(pvf.GaussianNoise(0.3))
    scoring = {"f1": "f1_macro", "pvf": pvf.perturbation_scorer("f1_macro", perturbation=noise)}
    rule = pvf.refit_by("pvf", metric="pvf")
    tree = DecisionTreeClassifier(random_state=0)
    search = GridSearchCV(tree, {"max_depth": [1, 3]}, scoring=scoring, refit=rule, cv=2).fit(X, y)
    assert search.best_index_ == search.cv_results_["mean_test_pvf"].argmax()
    with pytest.raises(ValueError, match=r"metric must be one of the search's \['f1', 'pvf'\]"):
        pvf.refit_by("pvf")(search.cv_results_)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"rule": "best"}, ValueError, "rule must be one of"),
        ({"rule": "one_standard_error"}, ValueError, "complexity must say which"),
        ({"rule": "pvf", "complexity": 3}, TypeError, "complexity must be a parameter's name"),
        ({"rule": "pvf", "metric": 3}, TypeError, "metric must be a text"),
    ],
)
def test_bad_rules_of_refitting_are_named(arguments, error, says):
    """A rule that cannot work is refused before the search."""
    with pytest.raises(error, match=says):
        pvf.refit_by(**arguments)


def test_refitting_without_what_it_needs():
    """No such parameter, a single split, or no score at all."""
    with pytest.raises(ValueError, match=r"complexity must be one of the parameters \['depth'\]"):
        pvf.refit_by("one_standard_error", complexity="width")(CV_RESULTS)
    single = {
        name: v
        for name, v in CV_RESULTS.items()
        if name not in ("split1_test_score", "split2_test_score")
    }
    with pytest.raises(ValueError, match="needs two splits or more"):
        pvf.refit_by("most_stable")(single)
    lost = {**CV_RESULTS, "split0_test_score": np.full(4, np.nan)}
    with pytest.raises(ValueError, match="no candidate has a finite mean"):
        pvf.refit_by("pvf")(lost)
