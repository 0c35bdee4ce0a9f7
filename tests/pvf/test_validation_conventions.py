"""Perturbation validation and scikit-learn: weights, metadata, several metrics, labels, display."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import pvf

NOISE = pvf.Perturbation(pvf.GaussianNoise(0.2))
NONE = pvf.Perturbation(pvf.GaussianNoise(0))
SMALL = {"n_sets": 4, "n_replicas": 3, "random_state": 0}


@pytest.fixture(scope="module")
def problem():
    X, y = make_classification(240, 5, weights=[0.7], flip_y=0.1, random_state=0)
    models = {
        f"depth {depth}": DecisionTreeClassifier(max_depth=depth, random_state=0).fit(
            X[:120], y[:120]
        )
        for depth in (1, 2, 4)
    }
    return models, X[120:], y[120:], np.random.default_rng(0).uniform(0, 2, 120)


# --- Weights and other metadata ------------------------------------------------------------------


@pytest.mark.parametrize(
    "scoring", ["f1", "roc_auc", pvf.intervention_efficiency_scorer(0.2)], ids=str
)
def test_without_noise_a_weighted_score_is_the_weighted_score(problem, scoring):
    """Weights go to the scorer, once for each replica."""
    models, X, y, weight = problem
    scorer = metrics.get_scorer(scoring) if isinstance(scoring, str) else scoring
    result = pvf.perturbation_validation(
        models, X, y, perturbation=NONE, scoring=scoring, sample_weight=weight, **SMALL
    )
    expected = [scorer(model, X, y, sample_weight=weight) for model in models.values()]
    np.testing.assert_allclose(result.unperturbed, expected, rtol=1e-12)
    np.testing.assert_allclose(result.scores, np.tile(expected, (4, 1)).T, rtol=1e-12)
    unweighted = [scorer(model, X, y) for model in models.values()]
    assert not np.allclose(expected, unweighted)


def test_equal_weights_change_nothing(problem):
    """With noise, weights of one give the unweighted scores."""
    models, X, y, _ = problem
    run = {"perturbation": NOISE, "scoring": "f1", **SMALL}
    plain = pvf.perturbation_validation(models, X, y, **run)
    ones = pvf.perturbation_validation(models, X, y, sample_weight=np.ones(120), **run)
    np.testing.assert_allclose(ones.scores, plain.scores, rtol=1e-12)


def test_whole_weights_repeat_samples(problem):
    """A weight of 2 is a sample that is there twice, in the unperturbed score and without noise."""
    models, X, y, _ = problem
    weight = np.arange(120) % 3
    rows = np.repeat(np.arange(120), weight)
    run = {"perturbation": NONE, "scoring": "precision", **SMALL}
    weighted = pvf.perturbation_validation(models, X, y, sample_weight=weight, **run)
    repeated = pvf.perturbation_validation(models, X[rows], y[rows], **run)
    np.testing.assert_allclose(weighted.aggregated, repeated.aggregated, rtol=1e-12)


def test_weights_in_a_routed_cross_validation(problem):
    """A request of the scorer inside is the scorer's request; its weights are used."""
    _, X, y, weight = problem
    efficiency = pvf.intervention_efficiency_scorer(0.2)
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        inside = efficiency.set_score_request(sample_weight=True)
        outside = pvf.perturbation_scorer(
            pvf.intervention_efficiency_scorer(0.2), perturbation=NONE, n_sets=2
        ).set_score_request(sample_weight=True)
        run = {"params": {"sample_weight": weight}, "cv": 3, "error_score": "raise"}
        expected = cross_validate(model, X, y, scoring=inside, **run)["test_score"]
        for scorer in (pvf.perturbation_scorer(inside, perturbation=NONE, n_sets=2), outside):
            got = cross_validate(model, X, y, scoring=scorer, **run)["test_score"]
            np.testing.assert_allclose(got, expected, rtol=1e-12)
        ignoring = pvf.perturbation_scorer(
            pvf.intervention_efficiency_scorer(0.2).set_score_request(sample_weight=False),
            perturbation=NONE,
            n_sets=2,
        )
        unweighted = cross_validate(model, X, y, scoring=ignoring, **run)["test_score"]
        assert not np.allclose(unweighted, expected)


def test_weights_in_a_search_without_routing(problem):
    """A search hands its weights to the scorer too, as it does with scikit-learn's own."""
    _, X, y, weight = problem
    grid = {"max_depth": [1, 3]}
    tree = DecisionTreeClassifier(random_state=0)
    scorer = pvf.perturbation_scorer("f1", perturbation=NONE, n_sets=2)
    ours = GridSearchCV(tree, grid, scoring=scorer, cv=3).fit(X, y, sample_weight=weight)
    plain = GridSearchCV(tree, grid, scoring="f1", cv=3).fit(X, y, sample_weight=weight)
    scores = "mean_test_score"
    np.testing.assert_allclose(ours.cv_results_[scores], plain.cv_results_[scores], rtol=1e-12)


def test_other_metadata_reach_the_scorer_with_their_replicas(problem):
    """A value for each sample is repeated, anything else is handed on as it is."""
    models, X, y, _ = problem
    seen = []

    def scorer(model, X, y, ward, note):
        seen.append((len(X) // 120, np.asarray(ward), note))
        return 1.0

    ward = np.arange(120) % 7
    pvf.perturbation_validation(
        models,
        X,
        y,
        perturbation=NOISE,
        scoring=scorer,
        score_params={"ward": ward, "note": "as it is"},
        **SMALL,
    )
    assert {k for k, *_ in seen} == {1, 3}
    for n_replicas, wards, note in seen:
        np.testing.assert_array_equal(wards, np.tile(ward, n_replicas))
        assert note == "as it is"


def three_arguments(_model, _X, _y):
    return 0.5


@pytest.mark.parametrize(
    ("weight", "scoring", "error", "says"),
    [
        (np.ones(3), "f1", ValueError, r"sample_weight must have shape \(120,\).*got \(3,\)"),
        (np.zeros(120), "f1", ValueError, r"sample_weight must be above 0 for one sample"),
        (-np.ones(120), "f1", ValueError, r"sample_weight must lie in \[0, inf\], got -1"),
        (np.full(120, np.nan), "f1", ValueError, r"sample_weight must be finite"),
        (["a"] * 120, "f1", TypeError, r"sample_weight must be numeric"),
        (
            np.ones(120),
            three_arguments,
            TypeError,
            r"scoring .*three_arguments.* must take \['sample_weight'\], which are given",
        ),
    ],
)
def test_weights_that_cannot_be_used_are_refused(problem, weight, scoring, error, says):
    """Weights are used or refused, never dropped."""
    models, X, y, _ = problem
    run = {"perturbation": NOISE, "scoring": scoring}
    with pytest.raises(error, match=says):
        pvf.perturbation_validation(models, X, y, sample_weight=weight, **run, **SMALL)
    with pytest.raises(error, match=says):
        pvf.perturbation_scorer(scoring, perturbation=NOISE)(
            models["depth 1"], X, y, sample_weight=weight
        )


# --- Several scorers -----------------------------------------------------------------------------


class Counting(ClassifierMixin, BaseEstimator):
    """A model that counts its predictions."""

    def fit(self, X, y):
        """Fit a tree."""
        self.tree_ = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
        self.classes_ = self.tree_.classes_
        self.calls_ = []
        return self

    def predict(self, X):
        """Predict, and count it."""
        self.calls_.append("predict")
        return self.tree_.predict(X)

    def predict_proba(self, X):
        """Predict probabilities, and count it."""
        self.calls_.append("predict_proba")
        return self.tree_.predict_proba(X)


def test_a_dict_of_scorers_is_one_run(problem):
    """Each scorer has the result that it has alone, and a model predicts once for all of them."""
    models, X, y, _ = problem
    scorers = {
        "f1": "f1",
        "IE at 5%": pvf.intervention_efficiency_scorer(0.05),
        "IE at 20%": pvf.intervention_efficiency_scorer(0.2),
        "AUC": "roc_auc",
        "MCC": "matthews_corrcoef",
    }
    run = {"perturbation": NOISE, **SMALL}
    together = pvf.perturbation_validation(models, X, y, scoring=scorers, **run)
    assert list(together) == list(scorers)
    for name, scorer in scorers.items():
        alone = pvf.perturbation_validation(models, X, y, scoring=scorer, **run)
        np.testing.assert_array_equal(together[name].scores, alone.scores)
        np.testing.assert_array_equal(together[name].unperturbed, alone.unperturbed)
        assert together[name].best_index == alone.best_index
    frame = together.to_frame()
    assert frame.index.names == ["metric", "model"]
    assert frame.loc[("AUC", "depth 2"), "aggregated"] == together["AUC"].aggregated[1]
    assert "IE at 5%" in repr(together)
    assert "<h4>IE at 5%</h4>" in together._repr_html_()
    counting = Counting().fit(X, y)
    pvf.perturbation_validation([counting], X, y, scoring=scorers, **run)
    # one trial a scorer, then one response of each kind for the plain set and for the one block
    assert counting.calls_[len(scorers) :].count("predict") == 2
    assert counting.calls_[len(scorers) :].count("predict_proba") == 2


def test_a_dict_of_scorers_beyond_the_budget(problem):
    """A set in parts is counted by all scorers; one that is no count makes it whole."""
    models, X, y, _ = problem
    X, y = np.tile(X, (40, 1)), np.tile(y, 40)
    run = {"perturbation": NOISE, **SMALL}
    counts = {"f1": "f1", "accuracy": "accuracy"}
    small = pvf.perturbation_validation(models, X, y, scoring=counts, memory_budget=1, **run)
    whole = pvf.perturbation_validation(models, X, y, scoring=counts, **run)
    for name in counts:
        np.testing.assert_array_equal(small[name].scores, whole[name].scores)


@pytest.mark.parametrize(
    ("scoring", "error", "says"),
    [
        ({}, ValueError, r"scoring must map one name or more to scorers, got \{\}"),
        ({1: "f1"}, ValueError, r"scoring must map one name"),
        (
            {"a": "f9"},
            ValueError,
            r"scoring 'a': scoring must be the name of a scikit-learn scorer",
        ),
        ({"a": 1}, TypeError, r"scoring 'a': scoring must be"),
        (
            {"a": "f1", "bad": lambda *_: np.nan},
            ValueError,
            r"scoring .*lambda.* gave NaN for model",
        ),
    ],
)
def test_errors_of_several_scorers(problem, scoring, error, says):
    """The scorer that cannot be used is named."""
    models, X, y, _ = problem
    with pytest.raises(error, match=says):
        pvf.perturbation_validation(models, X, y, perturbation=NOISE, scoring=scoring, **SMALL)


# --- Labels of several classes and of several kinds ----------------------------------------------


@pytest.mark.parametrize("scoring", ["f1_macro", "roc_auc_ovr", "neg_log_loss", "accuracy"])
def test_multi_class_scorers(scoring):
    """Any multi-class scorer is that of each set by itself."""
    X, y = make_classification(150, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    model = LogisticRegression().fit(X, y)
    result = pvf.perturbation_validation(
        [model], X, y, perturbation=NOISE, scoring=scoring, **SMALL
    )
    fitted = pvf.Perturbation(pvf.GaussianNoise(0.2)).fit(X)
    for m in range(4):
        seed = np.random.SeedSequence(0, spawn_key=(0, m))
        sample = fitted.sample(X, 3, np.random.default_rng(seed))
        expected = metrics.get_scorer(scoring)(model, sample, np.tile(y, 3))
        assert result.scores[0, m] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("scoring", ["f1_samples", "f1_micro", "roc_auc", "accuracy"])
@pytest.mark.parametrize(
    "model", [RandomForestClassifier(5, random_state=0), KNeighborsClassifier()]
)
def test_multilabel_scorers(scoring, model):
    """Several labels a sample, also where probabilities are one array a label."""
    X, y = make_multilabel_classification(80, 5, n_classes=3, random_state=0)
    X = StandardScaler().fit_transform(X)
    fitted = clone(model).fit(X, y)
    if scoring == "roc_auc" and isinstance(model, KNeighborsClassifier):
        scoring = "f1_macro"
    warnings.simplefilter("ignore", UndefinedMetricWarning)
    noise = pvf.Perturbation(pvf.GaussianNoise(0.2)).fit(X)
    result = pvf.perturbation_validation(
        [fitted], X, y, perturbation=noise, scoring=scoring, **SMALL
    )
    for m in range(4):
        seed = np.random.SeedSequence(0, spawn_key=(0, m))
        sample = noise.sample(X, 3, np.random.default_rng(seed))
        expected = metrics.get_scorer(scoring)(fitted, sample, np.tile(y, (3, 1)))
        assert result.scores[0, m] == pytest.approx(expected, rel=1e-12)


# --- Noise of a model's own ----------------------------------------------------------------------


def test_a_model_s_own_noise_belongs_to_its_name(problem):
    """With common_noise=False a named model's scores do not depend on its neighbours."""
    models, X, y, _ = problem
    run = {"perturbation": NOISE, "scoring": "f1", "common_noise": False, **SMALL}
    everyone = pvf.perturbation_validation(models, X, y, **run)
    backwards = pvf.perturbation_validation(dict(reversed(models.items())), X, y, **run)
    np.testing.assert_array_equal(everyone.scores, backwards.scores[::-1])
    for q, name in enumerate(models):
        alone = pvf.perturbation_validation({name: models[name]}, X, y, **run)
        np.testing.assert_array_equal(alone.scores[0], everyone.scores[q])
    tree = models["depth 1"]
    twins = pvf.perturbation_validation({"a": tree, "b": tree}, X, y, **run)
    assert (twins.scores[0] != twins.scores[1]).any()


# --- Scores that are no numbers ------------------------------------------------------------------


def test_minus_infinity_loses_whatever_the_aggregate(problem):
    """An aggregate that makes no number of it costs that model the choice, and no other."""
    models, X, y, _ = problem
    bad = models["depth 2"]

    def scorer(model, X, y):
        is_bad = getattr(model, "_model", model) is bad
        return -np.inf if is_bad else metrics.f1_score(y, model.predict(X))

    for aggregate in (lambda s: s.mean() - s.std(), lambda s: np.quantile(s, 0.25)):
        with pytest.warns(
            UserWarning, match=r"scoring .*scorer.* minus infinity for model 'depth 2'"
        ):
            result = pvf.perturbation_validation(
                models, X, y, perturbation=NOISE, scoring=scorer, aggregate=aggregate, **SMALL
            )
        assert result.aggregated[1] == -np.inf
        assert np.isfinite(result.aggregated[[0, 2]]).all()
        assert result.best_index != 1


def test_an_aggregate_without_a_number_names_the_scorer_and_the_model(problem):
    """NaN from finite scores is an error that says whose they are."""
    models, X, y, _ = problem
    with pytest.raises(ValueError, match=r"aggregate gave NaN for model 'depth 1', .* 'f1'"):
        pvf.perturbation_validation(
            models, X, y, perturbation=NOISE, scoring="f1", aggregate=lambda _: np.nan, **SMALL
        )


# --- Seeds, thresholds, progress -----------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [np.random.default_rng, np.random.RandomState, np.random.SeedSequence]
)
def test_scorers_take_generators(problem, make):
    """A generator is asked once: every candidate meets the same noise, a second call too."""
    models, X, y, _ = problem
    scorer = pvf.perturbation_scorer("f1", perturbation=NOISE, n_sets=3, random_state=make(5))
    again = pvf.perturbation_scorer("f1", perturbation=NOISE, n_sets=3, random_state=make(5))
    model = models["depth 2"]
    assert scorer(model, X, y) == scorer(model, X, y) == again(model, X, y)
    assert pickle.loads(pickle.dumps(scorer))(model, X, y) == scorer(model, X, y)
    with pytest.raises(TypeError, match=r"random_state must be a whole number.*None"):
        pvf.perturbation_scorer("f1", perturbation=NOISE, random_state=None)


def test_tuned_thresholds_are_refused_with_the_way_out(problem):
    """A scorer of predictions alone has no samples to perturb; a search over thresholds has."""
    _, X, y, _ = problem
    scorer = pvf.perturbation_scorer("f1", perturbation=NOISE, n_sets=2)
    with pytest.raises(AttributeError, match=r"GridSearchCV\(FixedThresholdClassifier"):
        TunedThresholdClassifierCV(LogisticRegression(), scoring=scorer).fit(X, y)
    thresholds = FixedThresholdClassifier(LogisticRegression())
    search = GridSearchCV(thresholds, {"threshold": [0.2, 0.5]}, scoring=scorer, cv=2).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    efficiency = pvf.intervention_efficiency_scorer(0.2)
    tuned = TunedThresholdClassifierCV(LogisticRegression(), scoring=efficiency, cv=2).fit(X, y)
    assert 0 < tuned.best_threshold_ < 1


def test_progress_changes_no_number(problem, capsys):
    """The bar goes to standard error; scores are the same, whatever the workers."""
    models, X, y, _ = problem
    run = {"perturbation": NOISE, "scoring": "f1", **SMALL}
    quiet = pvf.perturbation_validation(models, X, y, **run)
    assert capsys.readouterr().err == ""
    shown = pvf.perturbation_validation(models, X, y, progress=True, **run)
    assert "perturbed sets: 100%" in capsys.readouterr().err
    np.testing.assert_array_equal(quiet.scores, shown.scores)


# --- Display -------------------------------------------------------------------------------------


def test_a_result_of_forty_pipelines_fits_a_screen(problem):
    """Text and HTML show the leaders, the selected model on top, with names cut and escaped."""
    _, X, y, _ = problem
    tree = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3)).fit(X, y)
    names = [f"pipeline {q}: <b>scaled</b> {'and long ' * 30}" for q in range(40)]
    result = pvf.perturbation_validation(
        dict.fromkeys(names, tree), X, y, perturbation=NOISE, scoring="f1", **SMALL
    )
    lines = repr(result).splitlines()
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 160
    assert "of 40 models on 4 sets" in lines[0]
    assert "tied with 39 more" in lines[0]
    assert lines[-1] == "... and 34 more"
    page = result._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;scaled" in page
    assert len(re.findall("<tr", page)) <= 18
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == 40
