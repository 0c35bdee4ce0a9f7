"""Algorithm 1 against its literal loop, and as a scikit-learn scorer."""

import pickle
import tracemalloc
import warnings

import joblib
import literal
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from scipy import stats
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification, make_regression
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import fbeta_score, get_scorer, make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pvf import (
    GaussianNoise,
    NominalFlip,
    OrdinalShift,
    Perturbation,
    PerturbationValidationResult,
    intervention_efficiency_score,
    intervention_efficiency_scorer,
    perturbation_scorer,
    perturbation_validation,
)
from pvf._blocks import perturbed_counts
from pvf.metrics import count_metric
from pvf.validation import quantile_of_rows, set_seed, tied_best

STRICT = Perturbation(GaussianNoise(1), missing="refuse")
NOISE = Perturbation(GaussianNoise(0.4))
SMALL = {"n_sets": 12, "n_replicas": 3, "random_state": 0}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def generator_of(seed, *, common_noise):
    """Return the generator that draws set m for model q."""

    def generator(q, m):
        key = (0, m) if common_noise else (1, q, m)
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))

    return generator


@pytest.fixture(scope="module")
def problem():
    """Return training and validation data, 30% cases, and eight trees of different depth."""
    X, y = make_classification(160, 6, n_informative=4, weights=[0.7], flip_y=0.1, random_state=1)
    rng = np.random.default_rng(0)
    trees = []
    for depth in (1, 2, 3, 4) * 2:
        rows = rng.choice(120, 80, replace=False)
        tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
        trees.append(tree.fit(X[rows], y[rows]))
    return X[:120], y[:120], X[120:], y[120:], trees


# --- Against the literal loop -------------------------------------------------------------------


@pytest.mark.parametrize("common_noise", [True, False], ids=["common", "separate"])
@pytest.mark.parametrize(
    ("scoring", "metric"),
    [
        (intervention_efficiency_scorer(0.2), literal.efficiency(0.2)),
        ("f1", metrics.f1_score),
        ("accuracy", metrics.accuracy_score),
        ("matthews_corrcoef", metrics.matthews_corrcoef),
    ],
    ids=["ie", "f1", "accuracy", "set by set"],
)
def test_equals_the_literal_loop(problem, common_noise, scoring, metric):
    """Every score of every model on every set, the aggregates and the choice are the loop's."""
    _, _, X, y, trees = problem
    result = perturbation_validation(
        trees, X, y, perturbation=NOISE, scoring=scoring, common_noise=common_noise, **SMALL
    )
    scores, aggregated, best = literal.validate(
        trees,
        X,
        y,
        [literal.add_noise(0.4)] * X.shape[1],
        metric,
        12,
        3,
        lambda row: np.quantile(row, 0.25),
        generator_of(0, common_noise=common_noise),
    )
    np.testing.assert_allclose(result.scores, scores, rtol=1e-12)
    np.testing.assert_allclose(result.aggregated, aggregated, rtol=1e-12)
    assert best in result.tied
    assert result.scores.shape == (8, 12)
    assert result.scores.std(axis=1).min() > 0


def test_equals_the_literal_loop_on_a_mixed_frame():
    """The same holds for pipelines on frames with categories and whole numbers."""
    rng = np.random.default_rng(2)
    n = 150
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "stage": pd.Categorical(
                rng.choice(["I", "II", "III"], n), categories=["I", "II", "III"], ordered=True
            ),
            "clinic": rng.choice(["north", "south", "west"], n),
            "smokes": rng.random(n) < 0.3,
            "visits": rng.integers(0, 5, n),
        },
        index=rng.permutation(n),
    )
    risk = (X["age"] - 50) / 10 + (X["stage"] == "III") + X["smokes"] + rng.normal(size=n)
    y = pd.Series(np.where(risk > 1, "ill", "well"), index=X.index)
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="error"), ["stage", "clinic"]), remainder="passthrough"
    )
    models = {
        depth: make_pipeline(encode, DecisionTreeClassifier(max_depth=depth, random_state=0)).fit(
            X[:100], y[:100]
        )
        for depth in (1, 3, 5)
    }
    perturbation = Perturbation(
        {
            "age": GaussianNoise(3),
            "stage": OrdinalShift(0.3, 1),
            ("clinic", "smokes"): NominalFlip(0.2),
        }
    ).fit(X[:100])
    result = perturbation_validation(
        models,
        X[100:],
        y[100:],
        perturbation=perturbation,
        scoring=make_scorer(metrics.f1_score, pos_label="ill"),
        **SMALL,
    )
    scores, aggregated, best = literal.validate(
        list(models.values()),
        X[100:],
        y[100:],
        [
            literal.add_noise(3),
            literal.shift(0.3, 1, ["I", "II", "III"]),
            literal.flip(0.2, ["north", "south", "west"]),
            literal.flip(0.2, [False, True]),
            None,
        ],
        lambda truth, predicted: metrics.f1_score(truth, predicted, pos_label="ill"),
        12,
        3,
        lambda row: np.quantile(row, 0.25),
        generator_of(0, common_noise=True),
    )
    np.testing.assert_allclose(result.scores, scores, rtol=1e-12)
    np.testing.assert_allclose(result.aggregated, aggregated, rtol=1e-12)
    assert result.best_index == best
    assert result.names == ("1", "3", "5")


def test_equals_the_literal_loop_in_distribution(problem):
    """With noise of its own the literal loop draws scores from the same distribution."""
    _, _, X, y, trees = problem
    n_sets = 200
    result = perturbation_validation(
        trees[3:5],
        X,
        y,
        perturbation=NOISE,
        scoring="f1",
        n_sets=n_sets,
        n_replicas=2,
        random_state=1,
    )
    rng = np.random.default_rng(99)
    scores, _, _ = literal.validate(
        trees[3:5],
        X,
        y,
        [lambda column, k, rng: rng.normal(column, 0.4, (k, len(column)))] * X.shape[1],
        metrics.f1_score,
        n_sets,
        2,
        np.mean,
        lambda *_: rng,
    )
    for ours, theirs in zip(result.scores, scores, strict=True):
        assert stats.ks_2samp(ours, theirs).pvalue > 1e-3


def test_sets_are_those_of_perturbation_sample(problem):
    """Set m is what Perturbation.sample draws from the seed's own key for m (and for the model)."""
    _, _, X, y, trees = problem
    seen = []

    class Spy(ClassifierMixin, BaseEstimator):  # without fit there is nothing to be fitted
        classes_ = np.array([0, 1])

        def predict(self, X):
            """Keep what is to be predicted."""
            seen.append(np.array(X))
            return trees[0].predict(X)

    fitted = Perturbation(GaussianNoise(0.4)).fit(X)
    for common_noise in (True, False):
        seen.clear()
        perturbation_validation(
            [Spy(), Spy()],
            X,
            y,
            perturbation=fitted,
            scoring="f1",
            common_noise=common_noise,
            **SMALL,
        )
        blocks = [rows for rows in seen if len(rows) > len(X)]
        assert len(blocks) == 2
        generator = generator_of(0, common_noise=common_noise)
        for q, block in enumerate(blocks):
            sets = [fitted.sample(X, 3, generator(q, m)) for m in range(12)]
            np.testing.assert_array_equal(block, np.concatenate(sets))


# --- σ → 0 --------------------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["f1", "accuracy", "roc_auc", "precision"])
def test_vanishing_noise_gives_the_plain_score(problem, scoring):
    """With σ = 1e-12 the aggregate is the plain score of every model, whatever the aggregate."""
    _, _, X, y, trees = problem
    plain = [get_scorer(scoring)(tree, X, y) for tree in trees]
    for aggregate, common_noise in (
        (0.25, True),
        (0.25, False),
        (0, True),
        (1, True),
        (np.mean, True),
    ):
        result = perturbation_validation(
            trees,
            X,
            y,
            perturbation=Perturbation(GaussianNoise(1e-12)),
            scoring=scoring,
            aggregate=aggregate,
            common_noise=common_noise,
            n_sets=4,
            n_replicas=3,
            random_state=0,
        )
        np.testing.assert_allclose(result.aggregated, plain, rtol=1e-12)
        np.testing.assert_allclose(result.unperturbed, plain, rtol=1e-12)


@pytest.mark.parametrize("tie_break", ["first", "last", "random"])
@pytest.mark.parametrize("capacity", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_vanishing_noise_selects_as_the_traditional_method(problem, tie_break, capacity):
    """With σ = 1e-12 the choice is the plain argmax under the same tie rule."""
    _, _, X, y, trees = problem
    models = [*trees, *trees, trees[0]]  # plenty of ties
    score = literal.efficiency(capacity)
    plain = np.array([score(y, model.predict(X)) for model in models])
    best = np.flatnonzero(np.isclose(plain, plain.max(), rtol=1e-9))
    assert len(best) >= 2
    chosen = set()
    for seed in range(15 if tie_break == "random" else 1):
        result = perturbation_validation(
            models,
            X,
            y,
            perturbation=Perturbation(GaussianNoise(1e-12)),
            scoring=intervention_efficiency_scorer(capacity),
            tie_break=tie_break,
            n_sets=2,
            n_replicas=2,
            random_state=seed,
        )
        np.testing.assert_array_equal(result.tied, best)
        chosen.add(result.best_index)
    if tie_break == "random":
        assert chosen <= set(best)
        assert len(chosen) > 1
    else:
        assert chosen == {best[0] if tie_break == "first" else best[-1]}


# --- Ties ---------------------------------------------------------------------------------------


def constant(label, y):
    return DummyClassifier(strategy="constant", constant=label).fit(np.zeros((len(y), 6)), y)


def test_random_ties_are_broken_uniformly(problem):
    """Over seeds each of the tied models is chosen equally often, no other ever."""
    _, _, X, y, _ = problem
    models = [constant(1, y), constant(0, y), constant(0, y), constant(1, y), constant(0, y)]
    chosen = np.zeros(5)
    for seed in range(300):
        result = perturbation_validation(
            models,
            X,
            y,
            perturbation=NOISE,
            scoring="accuracy",
            tie_break="random",
            n_sets=1,
            n_replicas=1,
            random_state=seed,
        )
        assert result.tied.tolist() == [1, 2, 4]
        chosen[result.best_index] += 1
    assert chosen[[0, 3]].sum() == 0
    assert stats.chisquare(chosen[[1, 2, 4]]).pvalue > 1e-3


def test_ties_within_rounding():
    """Scores that differ by rounding tie; scores that differ by more do not."""
    assert tied_best(np.array([0.3, 0.1 + 0.2, 0.3 - 1e-6])).tolist() == [0, 1]
    assert tied_best(np.array([0.0, 1e-13, -1.0])).tolist() == [0, 1]
    assert tied_best(np.array([-5e6, -5e6 - 1e-4, -6e6])).tolist() == [0, 1]
    assert tied_best(np.array([2.0])).tolist() == [0]


@pytest.mark.parametrize(("tie_break", "expected"), [("first", 1), ("last", 3)])
def test_first_and_last(problem, tie_break, expected):
    """The first or last of the tied models is selected, and the result lists them all."""
    _, _, X, y, trees = problem
    models = {"a": constant(1, y), "b": trees[3], "c": constant(1, y), "d": trees[3]}
    result = perturbation_validation(
        models, X, y, perturbation=NOISE, scoring="accuracy", tie_break=tie_break, **SMALL
    )
    assert result.tied.tolist() == [1, 3]
    assert result.best_index == expected
    assert result.best_name == "abcd"[expected]
    assert result.best_model is trees[3]
    assert result.tie_break == tie_break


# --- Noise --------------------------------------------------------------------------------------


def test_common_noise_gives_equal_models_equal_scores(problem):
    """The same model twice gets the same scores with common noise, and others without."""
    _, _, X, y, trees = problem
    for common_noise in (True, False):
        scores = perturbation_validation(
            [trees[3]] * 2,
            X,
            y,
            perturbation=NOISE,
            scoring="accuracy",
            common_noise=common_noise,
            **SMALL,
        ).scores
        assert np.array_equal(*scores) == common_noise


def test_a_model_keeps_its_scores_whatever_stands_beside_it(problem):
    """With common noise a model's scores do not depend on the other candidates."""
    _, _, X, y, trees = problem
    settings = {"perturbation": NOISE, "scoring": "f1", **SMALL}
    together = perturbation_validation(trees, X, y, **settings).scores
    for q, tree in enumerate(trees):
        alone = perturbation_validation([tree], X, y, **settings).scores
        np.testing.assert_array_equal(alone[0], together[q])


def test_sets_differ_and_replicas_too(problem):
    """No two sets are the same, and the first sets stay when more are asked for."""
    _, _, X, y, _ = problem
    regression = LinearRegression().fit(X, y)
    settings = {"perturbation": NOISE, "scoring": "neg_mean_squared_error", "random_state": 3}
    many = perturbation_validation([regression], X, y, n_sets=40, n_replicas=2, **settings).scores
    few = perturbation_validation([regression], X, y, n_sets=15, n_replicas=2, **settings).scores
    assert len(np.unique(many)) == 40
    np.testing.assert_allclose(many[:, :15], few, rtol=1e-12)


# --- Scorers ------------------------------------------------------------------------------------


COUNT_SCORERS = {
    "accuracy": get_scorer("accuracy"),
    "balanced_accuracy": get_scorer("balanced_accuracy"),
    "precision": get_scorer("precision"),
    "precision 1": make_scorer(metrics.precision_score, zero_division=1),
    "precision of 0": make_scorer(metrics.precision_score, pos_label=0),
    "recall": get_scorer("recall"),
    "recall of 0": make_scorer(metrics.recall_score, pos_label=0),
    "f1": get_scorer("f1"),
    "f1 of 0": make_scorer(metrics.f1_score, pos_label=0),
    "minus f1": make_scorer(metrics.f1_score, greater_is_better=False),
    "f2": make_scorer(fbeta_score, beta=2),
    "f half": make_scorer(fbeta_score, beta=0.5, zero_division=0.0),
    "ie": intervention_efficiency_scorer(0.2),
    "ie of 0": intervention_efficiency_scorer(0.3, pos_label=0),
    "ie with zero_division": make_scorer(
        intervention_efficiency_score, capacity=0.4, zero_division=0
    ),
}
OTHER_SCORERS = {
    "f1 macro": make_scorer(metrics.f1_score, average="macro"),
    "f1 weighted": get_scorer("f1_weighted"),
    "f infinity": make_scorer(fbeta_score, beta=np.inf),
    "balanced, adjusted": make_scorer(metrics.balanced_accuracy_score, adjusted=True),
    "accuracy, a count": make_scorer(metrics.accuracy_score, normalize=False),
    "jaccard": get_scorer("jaccard"),
    "kappa": make_scorer(metrics.cohen_kappa_score),
    "roc_auc": get_scorer("roc_auc"),
    "average_precision": get_scorer("average_precision"),
    "neg_log_loss": get_scorer("neg_log_loss"),
    "neg_brier_score": get_scorer("neg_brier_score"),
    "own callable": lambda model, X, y: float(np.mean((model.predict_proba(X)[:, 1] > 0.3) == y)),
    "own, of the model": lambda model, X, y: model.score(X, y) - 0.01 * model.get_depth(),
    "own, on other rows": lambda model, X, y: float(model.predict(X[y == 1]).mean()),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, id=name) for name in {**COUNT_SCORERS, **OTHER_SCORERS}]
)
def test_scorers_give_what_they_give_set_by_set(problem, name):
    """From counts or set by set, each score is what the scorer itself gives on that set."""
    _, _, X, y, trees = problem
    scorer = {**COUNT_SCORERS, **OTHER_SCORERS}[name]
    models = [*trees[:4], constant(0, y)] if "own, of" not in name else trees[:4]
    result = perturbation_validation(models, X, y, perturbation=NOISE, scoring=scorer, **SMALL)
    generator, fitted = generator_of(0, common_noise=True), Perturbation(NOISE.mechanisms).fit(X)
    with warnings.catch_warnings(record=True):  # a model that flags nobody has no precision
        for m in (0, 4, 7, 11):
            perturbed = fitted.sample(X, 3, generator(0, m))
            for q, model in enumerate(models):
                expected = scorer(model, perturbed, np.tile(y, 3))
                assert result.scores[q, m] == pytest.approx(expected, rel=1e-12, abs=1e-15)
        plain = [scorer(model, X, y) for model in models]
    np.testing.assert_allclose(result.unperturbed, plain, rtol=1e-12)


@pytest.mark.parametrize("name", COUNT_SCORERS)
def test_count_scorers_never_score_set_by_set(problem, name, monkeypatch):
    """Scorers that depend on counts are called once in all, for their own checks."""
    _, _, X, y, trees = problem
    scorer, calls = COUNT_SCORERS[name], []
    kind = type(scorer)
    score = kind.__call__
    monkeypatch.setattr(kind, "__call__", lambda *args: calls.append(args) or score(*args))
    perturbation_validation(trees, X, y, perturbation=NOISE, scoring=scorer, **SMALL)
    assert len(calls) == 1


@pytest.mark.parametrize("name", OTHER_SCORERS)
def test_other_scorers_are_not_taken_for_counts(name):
    """What depends on more than counts, or has unknown settings, is left to the scorer."""
    assert count_metric(OTHER_SCORERS[name], np.array([0, 1])) is None


def test_a_users_metric_of_a_known_name_is_the_users():
    """A metric that is only called like scikit-learn's is not taken for it."""

    def f1_score(y_true, y_pred):
        return 0.5

    assert count_metric(make_scorer(f1_score), np.array([0, 1])) is None


@pytest.mark.parametrize("label", ["1", 1, "M, B", np.str_("M"), np.int64(1), True], ids=repr)
def test_case_label_is_read_as_it_was_given(label):
    """The text that a scorer prints of its label does not hide what the label is."""
    scorer = make_scorer(metrics.f1_score, pos_label=label)
    classes = np.array(["0", label] if isinstance(label, str) else [0, label])
    found, score = count_metric(scorer, classes)
    assert found == label
    assert isinstance(found, str) == isinstance(label, str)
    assert score(3, 1, 4, 6) == pytest.approx(0.75)


def test_names_and_scorers_are_the_same(problem):
    """A scorer's name, the scorer and an equal function give the same result."""
    _, _, X, y, trees = problem

    def by_hand(model, X, y):
        return metrics.f1_score(y, model.predict(X))

    results = [
        perturbation_validation(trees, X, y, perturbation=NOISE, scoring=scoring, **SMALL).scores
        for scoring in ("f1", get_scorer("f1"), by_hand)
    ]
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0], results[2], rtol=1e-12)


@pytest.mark.parametrize("labels", [("B", "M"), (False, True), (1, 2), (-1, 1)], ids=str)
def test_labels_of_any_kind(problem, labels):
    """Strings, booleans, {1, 2} and {-1, 1} give the scores of {0, 1}, as arrays or series."""
    X_train, y_train, X, y, _ = problem
    other, case = labels
    expected = None
    for container in (np.array, list, pd.Series, lambda v: pd.Series(v, dtype="category")):
        kinds = [np.where(part == 1, case, other).tolist() for part in (y_train, y)]
        tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X_train, kinds[0])
        for plain_scoring, scoring in (
            (
                intervention_efficiency_scorer(0.2),
                intervention_efficiency_scorer(0.2, pos_label=case),
            ),
            ("f1", make_scorer(metrics.f1_score, pos_label=case)),
        ):
            scores = perturbation_validation(
                [tree], X, container(kinds[1]), perturbation=NOISE, scoring=scoring, **SMALL
            ).scores
            plain = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X_train, y_train)
            expected = perturbation_validation(
                [plain],
                X,
                y,
                perturbation=NOISE,
                scoring=plain_scoring,
                **SMALL,
            ).scores
            np.testing.assert_array_equal(scores, expected)


def test_nullable_labels(problem):
    """Labels in pandas' nullable dtypes are as good as plain ones."""
    _, _, X, y, trees = problem
    settings = {"perturbation": NOISE, "scoring": "f1", **SMALL}
    expected = perturbation_validation(trees, X, y, **settings).scores
    for labels in (pd.array(y, dtype="Int64"), pd.Series(y, dtype="Int64"), pd.DataFrame({"y": y})):
        scores = perturbation_validation(trees, X, labels, **settings).scores
        np.testing.assert_array_equal(scores, expected)


def test_more_than_two_classes():
    """Several classes work with any scorer that takes them, labels and probabilities."""
    X, y = make_classification(150, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    models = [
        DecisionTreeClassifier(max_depth=d, random_state=0).fit(X[:90], y[:90]) for d in (2, 5)
    ]
    generator = generator_of(0, common_noise=True)
    fitted = Perturbation(NOISE.mechanisms).fit(X[90:])
    for scoring in ("accuracy", "f1_macro", "roc_auc_ovr", "neg_log_loss"):
        result = perturbation_validation(
            models, X[90:], y[90:], perturbation=NOISE, scoring=scoring, **SMALL
        )
        for m in (0, 11):
            expected = [
                get_scorer(scoring)(
                    model, fitted.sample(X[90:], 3, generator(0, m)), np.tile(y[90:], 3)
                )
                for model in models
            ]
            np.testing.assert_allclose(result.scores[:, m], expected, rtol=1e-12)


def test_a_third_class_that_only_a_model_knows(problem):
    """Where a model may name a class that the validation set lacks, it counts as a mistake."""
    X_train, y_train, X, y, _ = problem
    three = np.where(X_train[:, 0] > 1, 2, y_train)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X_train, three)
    assert 2 in model.predict(X)
    result = perturbation_validation([model], X, y, perturbation=NOISE, scoring="accuracy", **SMALL)
    fitted = Perturbation(NOISE.mechanisms).fit(X)
    perturbed = fitted.sample(X, 3, generator_of(0, common_noise=True)(0, 4))
    assert result.scores[0, 4] == np.mean(model.predict(perturbed) == np.tile(y, 3))


def test_regressors():
    """Regressors and their scorers work; each score is the scorer's own."""
    X, y = make_regression(120, 4, noise=5, random_state=0)
    models = {
        "ridge": Ridge().fit(X[:80], y[:80]),
        "tree": DecisionTreeRegressor(max_depth=3).fit(X[:80], y[:80]),
    }
    result = perturbation_validation(
        models, X[80:], y[80:], perturbation=NOISE, scoring="neg_mean_absolute_error", **SMALL
    )
    fitted = Perturbation(NOISE.mechanisms).fit(X[80:])
    for m in (0, 11):
        perturbed = fitted.sample(X[80:], 3, generator_of(0, common_noise=True)(0, m))
        for q, model in enumerate(models.values()):
            error = np.abs(model.predict(perturbed) - np.tile(y[80:], 3)).mean()
            assert result.scores[q, m] == pytest.approx(-error, rel=1e-12)
    assert result.best_name == "ridge"


def test_models_without_probabilities_and_meta_models(problem):
    """Decision functions, pipelines and fitted searches are models like any other."""
    X_train, y_train, X, y, _ = problem
    models = {
        "svc": SVC().fit(X_train, y_train),
        "pipeline": make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train),
        "search": GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}).fit(
            X_train, y_train
        ),
    }
    for scoring in ("roc_auc", "f1"):
        result = perturbation_validation(models, X, y, perturbation=NOISE, scoring=scoring, **SMALL)
        fitted = Perturbation(NOISE.mechanisms).fit(X)
        perturbed = fitted.sample(X, 3, generator_of(0, common_noise=True)(0, 0))
        expected = [
            get_scorer(scoring)(model, perturbed, np.tile(y, 3)) for model in models.values()
        ]
        np.testing.assert_allclose(result.scores[:, 0], expected, rtol=1e-12)


# --- Aggregates ---------------------------------------------------------------------------------


@pytest.mark.parametrize("aggregate", [0, 0.25, 0.5, 1, np.float32(0.5)], ids=str)
def test_quantiles(problem, aggregate):
    """A number is the quantile of the M scores."""
    _, _, X, y, trees = problem
    result = perturbation_validation(
        trees, X, y, perturbation=NOISE, scoring="f1", aggregate=aggregate, **SMALL
    )
    expected = [np.quantile(row, aggregate) for row in result.scores]
    np.testing.assert_allclose(result.aggregated, expected, rtol=1e-12)


def test_callables(problem):
    """A function of the M scores is taken, and can't change them."""
    _, _, X, y, trees = problem

    def mean_less_deviation(scores):
        assert scores.shape == (12,)
        value = scores.mean() - scores.std()
        scores[:] = -1
        return value

    settings = {"perturbation": NOISE, "scoring": "f1", **SMALL}
    plain = perturbation_validation(trees, X, y, **settings)
    result = perturbation_validation(trees, X, y, aggregate=mean_less_deviation, **settings)
    np.testing.assert_array_equal(result.scores, plain.scores)
    expected = plain.scores.mean(axis=1) - plain.scores.std(axis=1)
    np.testing.assert_allclose(result.aggregated, expected, rtol=1e-12)
    assert result.best_index == expected.argmax()


# --- Bits and work ------------------------------------------------------------------------------


class CountsCalls(ClassifierMixin, BaseEstimator):
    """A model that counts how often, and for how many rows, it is asked."""

    def __init__(self, model):
        self.model = model

    def fit(self, _, y):
        """Fit nothing: the model inside is fitted."""
        self.classes_, self.calls_ = np.unique(y), []
        return self

    def predict(self, X):
        """Count and predict."""
        self.calls_.append(("predict", len(X)))
        return self.model.predict(X)

    def predict_proba(self, X):
        """Count and predict."""
        self.calls_.append(("predict_proba", len(X)))
        return self.model.predict_proba(X)


@pytest.mark.parametrize(
    ("scoring", "method"),
    [("f1", "predict"), ("matthews_corrcoef", "predict"), ("roc_auc", "predict_proba")],
)
@pytest.mark.parametrize("common_noise", [True, False], ids=["common", "separate"])
@pytest.mark.parametrize("n_blocks", [1, 4])
def test_one_prediction_for_each_model_and_block(problem, scoring, method, common_noise, n_blocks):
    """Each model predicts the plain set once (the first one twice) and each block once."""
    _, _, X, y, trees = problem
    models = [CountsCalls(tree).fit(X, y) for tree in trees[:3]]
    n_replicas, n_sets = 5, 12
    row = 24 * X.shape[1] + 64
    per_block = n_sets // n_blocks
    budget = max(1, row * n_replicas * len(X) * per_block / 2**20)
    if n_blocks > 1:  # blocks of three sets need large sets, since 1 MiB is the least budget
        X, y = np.tile(X, (50, 1)), np.tile(y, 50)
        budget = row * n_replicas * len(X) * per_block / 2**20
        assert 1 < budget < 16
    perturbation_validation(
        models,
        X,
        y,
        perturbation=NOISE,
        scoring=scoring,
        n_sets=n_sets,
        n_replicas=n_replicas,
        common_noise=common_noise,
        random_state=0,
        memory_budget=budget,
    )
    for q, model in enumerate(models):
        plain = [(method, len(X))] * (2 if q == 0 else 1)
        blocks = [(method, len(X) * n_replicas * per_block)] * n_blocks
        assert model.calls_ == plain + blocks


@pytest.fixture(scope="module")
def many_models(problem):
    X_train, y_train, _, _, trees = problem
    return [
        *trees[:3],
        LogisticRegression().fit(X_train, y_train),
        MLPClassifier((10,), tol=1, random_state=0).fit(X_train, y_train),
    ]


@pytest.mark.parametrize("common_noise", [True, False], ids=["common", "separate"])
@pytest.mark.parametrize("scoring", ["f1", "neg_log_loss"])
def test_bits_depend_on_the_seed_alone(problem, many_models, common_noise, scoring):
    """One worker or two, threads or processes, a budget of 16 MiB or more: the same bits."""
    _, _, X, y, _ = problem
    X, y = np.tile(X, (25, 1)), np.tile(y, 25)  # blocks of eleven sets

    def run(**changes):
        return perturbation_validation(
            many_models,
            X,
            y,
            perturbation=NOISE,
            scoring=scoring,
            n_sets=14,
            n_replicas=7,
            common_noise=common_noise,
            random_state=5,
            **changes,
        )

    first = run()
    results = [run(memory_budget=16), run(memory_budget=1e5), run(n_jobs=2)]
    with joblib.parallel_config(backend="threading", n_jobs=2):
        results.append(run(memory_budget=16))
    for result in results:
        np.testing.assert_array_equal(result.scores, first.scores)
        np.testing.assert_array_equal(result.aggregated, first.aggregated)
        assert result.best_index == first.best_index


SPLIT = {
    "noise on an array": (NOISE, lambda X: X),
    "every kind on a frame": (
        Perturbation(
            {
                "a": GaussianNoise(0.4),
                ("b", "c"): NominalFlip(0.3),
                "d": OrdinalShift(0.5, 0.2),
                "e": GaussianNoise(0.1),
            }
        ),
        lambda X: pd.DataFrame(X, columns=list("abcdef")).assign(
            b=np.where(X[:, 1] > 0, "up", "down"), c=X[:, 2] > 0, d=np.round(X[:, 3])
        ),
    ),
}


@pytest.mark.parametrize("n_rows", [1, 7, 39, 40, 100])
@pytest.mark.parametrize(("perturbation", "table"), SPLIT.values(), ids=SPLIT)
def test_parts_of_a_set_hold_the_set_s_own_numbers(problem, perturbation, table, n_rows):
    """Whatever the size of the parts, each cell of a set is the same bit by bit."""
    X = table(problem[2])
    fitted = Perturbation(perturbation.mechanisms).fit(X)
    whole = pd.DataFrame(fitted.sample(X, 3, np.random.default_rng(4)))
    parts = fitted.prepare(X).parts(3, np.random.default_rng(4), n_rows)
    seen = 0
    for rows, part in parts:
        places = [j * len(X) + i for j in range(3) for i in range(len(X))[rows]]
        assert pd.DataFrame(part).to_numpy().tolist() == whole.to_numpy()[places].tolist()
        seen += len(places)
    assert seen == len(whole)


@pytest.mark.parametrize("common_noise", [True, False], ids=["common", "separate"])
@pytest.mark.parametrize("scoring", ["f1", "accuracy", intervention_efficiency_scorer(0.2)])
def test_a_set_beyond_the_budget_is_split(problem, common_noise, scoring):
    """Scores are the same, no model predicts a set at once, and memory stays within the budget."""
    _, _, X, y, trees = problem
    X, y = np.tile(X, (500, 1)), np.tile(y, 500)
    models = [CountsCalls(tree).fit(X, y) for tree in trees[:2]]
    settings = {"perturbation": NOISE, "scoring": scoring, "common_noise": common_noise, **SMALL}
    whole = perturbation_validation(models, X, y, **settings).scores
    for model in models:
        model.calls_.clear()
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        split = perturbation_validation(models, X, y, **settings, memory_budget=4)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(split.scores, whole)
    one_set = 3 * len(X)
    assert max(rows for _, rows in models[1].calls_ if rows != len(X)) < one_set / 2
    assert sum(rows for _, rows in models[1].calls_) == len(X) + 12 * one_set
    assert peak < 4 * 2**20 + 8 * X.nbytes / 4  # the budget, and what scoring the plain set takes


class AlwaysThird(BaseEstimator):
    """A model that predicts a class that the labels lack."""

    def predict(self, X):
        """Return the third class for rows above 0, and the first for others."""
        return np.where(np.asarray(X)[:, 0] > 0, 2, 0)


class Foreign:
    """A mechanism of a user's own: noise."""

    def fit(self, column):
        """Learn nothing."""

    def sample(self, column, size, rng):
        """Return the column with noise."""
        return np.asarray(column) + rng.normal(size=(size, len(column)))


@pytest.mark.parametrize(
    "changes",
    [
        {"scoring": "matthews_corrcoef"},
        {"perturbation": Perturbation(Foreign())},
        {"models": [AlwaysThird()]},
    ],
    ids=["no count", "foreign mechanism", "a third class"],
)
def test_a_set_that_cannot_be_split_is_told_with_its_size(problem, changes):
    """It is made whole, as with a budget that is large enough, and a warning says how large."""
    _, _, X, y, trees = problem
    X, y = np.tile(X, (100, 1)), np.tile(y, 100)
    arguments = {"models": trees[:1], "perturbation": NOISE, "scoring": "accuracy", **changes}
    models = arguments.pop("models")
    size = 3 * len(X) * (24 * X.shape[1] + 64) / 2**20
    with pytest.warns(UserWarning, match=rf"memory_budget .* about {size:,.0f} MiB"):
        small = perturbation_validation(models, X, y, **arguments, **SMALL, memory_budget=1)
    large = perturbation_validation(models, X, y, **arguments, **SMALL, memory_budget=64)
    np.testing.assert_array_equal(small.scores, large.scores)


INF = np.inf


@pytest.mark.parametrize(
    ("row", "share", "expected"),
    [
        ([-INF, -INF, -INF, -INF], 0.25, -INF),
        ([-INF, 1, 2, 3], 0.25, -INF),  # three quarters of the way from -inf to 1
        ([-INF, 1, 2, 3], 0.5, 1.5),
        ([-INF, 1, 2, 3], 1 / 3, 1),  # at 1
        ([-INF, 1, 2, 3], 1, 3),
        ([1, 2, 3, INF], 0.5, 2.5),
        ([1, 2, 3, INF], 0.9, INF),
        ([1, 2, INF, INF], 1 / 3, 2),
        ([-INF, -INF, INF, INF], 0.5, -INF),
    ],
)
def test_quantiles_next_to_infinite_scores(row, share, expected):
    """Between a number and an infinite score every point is infinite; the numbers stay."""
    finite = [0.1, 0.4, 0.2, 0.9]
    found = quantile_of_rows(np.array([finite, row[::-1]]), share)
    assert found[0] == np.quantile(finite, share)
    assert found[1] == pytest.approx(expected)


def test_a_model_of_minus_infinite_score_loses(problem):
    """The others keep their scores, and tables and plots are made all the same."""
    _, _, X, y, trees = problem
    values = {id(trees[0]): -np.inf, id(trees[1]): 1.0, id(trees[2]): 2.0}

    def scorer(model, X, _):
        return values[id(getattr(model, "_model", model))]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = perturbation_validation(
            trees[:3], X, y, perturbation=NOISE, scoring=scorer, **SMALL
        )
        frame = result.to_frame()
        result.plot()
    assert result.aggregated.tolist() == [-np.inf, 1, 2]
    assert result.best_index == 2
    assert result.tied.tolist() == [2]
    assert frame["min"].tolist() == [-np.inf, 1, 2]
    values = dict.fromkeys(values, -np.inf)
    lost = perturbation_validation(trees[:3], X, y, perturbation=NOISE, scoring=scorer, **SMALL)
    assert lost.tied.tolist() == [0, 1, 2]


def test_nan_scores_name_the_scorer_the_model_and_the_set(problem):
    """The first NaN is told with its place, on a perturbed set or on the plain one."""
    _, _, X, y, trees = problem
    calls = {"of the second": 0}

    def sometimes(model, X, _):
        if getattr(model, "_model", model) is not trees[1]:
            return 0.5
        calls["of the second"] += 1
        return np.nan if calls["of the second"] == at else 0.5

    settings = {"perturbation": NOISE, "scoring": sometimes, **SMALL}
    models = {"fine": trees[0], "odd one": trees[1]}
    at = 6  # the first is on the plain set
    says = r"scoring .*sometimes.* gave NaN for model 'odd one' on perturbed set 4"
    with pytest.raises(ValueError, match=says):
        perturbation_validation(models, X, y, **settings)
    calls["of the second"], at = 0, 1
    says = r"scoring .*sometimes.* gave NaN for model 'odd one' on the validation set as it is"
    with pytest.raises(ValueError, match=says):
        perturbation_validation(models, X, y, **settings)


def test_an_aggregate_of_nan_for_one_model_is_refused(problem):
    """One model without a number is enough, and it is named."""
    _, _, X, y, trees = problem
    means = iter([0.5, np.nan, 0.5])
    with pytest.raises(ValueError, match="aggregate gave NaN for model 'model 1'"):
        perturbation_validation(
            trees[:3],
            X,
            y,
            perturbation=NOISE,
            scoring="f1",
            aggregate=lambda _: next(means),
            **SMALL,
        )


def test_random_ties_follow_a_spawned_seed_s_own_key(problem):
    """Children of one seed break ties differently: each of two twins wins about half of them."""
    _, _, X, y, trees = problem
    picks = [
        perturbation_validation(
            [trees[0]] * 2,
            X,
            y,
            perturbation=NOISE,
            scoring="f1",
            n_sets=1,
            n_replicas=1,
            tie_break="random",
            random_state=child,
        ).best_index
        for child in np.random.SeedSequence(1).spawn(60)
    ]
    assert stats.binomtest(sum(picks), 60).pvalue > 0.001


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"tied": np.array([2])}, "tied must hold indices below 2"),
        ({"tied": np.array([-1])}, "tied must hold indices below 2"),
        ({"tied": np.array([0.0])}, "tied must hold indices below 2"),
        ({"best_index": 2}, "best_index must be at most 1"),
        ({"names": ("a",)}, "names must be a tuple of 2"),
        ({"names": ("a", 1)}, "names must be texts"),
        ({"aggregated": np.array([0.5])}, "aggregated must have shape .2,. as scores says"),
        ({"scores": np.array([[0.5], [np.nan]])}, "scores must not be NaN"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_a_result_by_hand_must_fit_together(change, says):
    """Parts of a result that are not of one set of models are refused."""
    parts = {
        "scores": np.array([[0.5], [0.6]]),
        "aggregated": np.array([0.5, 0.6]),
        "tied": np.array([1]),
        "best_index": 1,
        "unperturbed": np.array([0.5, 0.7]),
        "models": ("one", "two"),
        "names": ("a", "b"),
        "tie_break": "first",
        "seed": 0,
    }
    assert PerturbationValidationResult(**parts).best_name == "b"
    with pytest.raises((TypeError, ValueError), match=says):
        PerturbationValidationResult(**parts | change)


class KnowsItsRows(BaseEstimator):
    """A model whose prediction is how many rows it was given at once."""

    def predict(self, X):
        """Return the number of rows, for each of them."""
        return np.full(len(X), float(len(X)))


def mean_prediction(model, X, _):
    return model.predict(X).mean()


@pytest.mark.parametrize("common_noise", [True, False], ids=["common", "separate"])
def test_blocks_have_one_size(problem, common_noise):
    """Neither the workers nor a budget of 16 MiB or more change how many rows a model is given."""
    _, _, X, y, _ = problem
    X, y = np.tile(X, (25, 1)), np.tile(y, 25)
    rows = 7 * len(X)
    for changes in ({}, {"n_jobs": 2}, {"memory_budget": 16}, {"memory_budget": 1e5}):
        scores = perturbation_validation(
            [KnowsItsRows()] * 3,
            X,
            y,
            perturbation=NOISE,
            scoring=mean_prediction,
            n_sets=14,
            n_replicas=7,
            common_noise=common_noise,
            random_state=0,
            **changes,
        ).scores
        np.testing.assert_array_equal(scores, [[11 * rows] * 11 + [3 * rows] * 3] * 3)


def test_nearest_neighbours_that_tie_give_the_same_bits():
    """Which of equally near neighbours comes first hangs on rounding, and not on the workers."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (360, 17)) / 10
    y = rng.integers(0, 2, 360)
    model = KNeighborsClassifier(3, algorithm="brute").fit(X[:300], y[:300])
    settings = {
        "perturbation": Perturbation(NominalFlip(0.3)).fit(X),
        "scoring": "accuracy",
        "n_sets": 30,
        "n_replicas": 7,
        "random_state": 0,
    }
    results = [
        perturbation_validation([model] * 3, X[300:], y[300:], **settings, **changes).scores
        for changes in ({}, {"n_jobs": 2}, {"memory_budget": 16}, {"memory_budget": 1e4})
    ]
    for scores in results[1:]:
        np.testing.assert_array_equal(scores, results[0])


def test_blocks_below_sixteen_mebibytes_change_rounding_at_most(problem, many_models):
    """A budget below the usual block gives the same trees' bits, and rounding elsewhere."""
    _, _, X, y, _ = problem
    X, y = np.tile(X, (10, 1)), np.tile(y, 10)
    small, usual = (
        perturbation_validation(
            many_models,
            X,
            y,
            perturbation=NOISE,
            scoring="neg_log_loss",
            n_sets=20,
            n_replicas=7,
            random_state=5,
            memory_budget=budget,
        )
        for budget in (1, 256)
    )
    np.testing.assert_array_equal(small.scores[:3], usual.scores[:3])
    np.testing.assert_allclose(small.scores, usual.scores, rtol=1e-12)
    np.testing.assert_array_equal(small.tied, usual.tied)


def test_seeds(problem):
    """None draws a new seed; the result's seed, whatever kind was given, reproduces it."""
    _, _, X, y, trees = problem

    def run(random_state):
        return perturbation_validation(
            trees,
            X,
            y,
            perturbation=NOISE,
            scoring="accuracy",
            tie_break="random",
            n_sets=8,
            n_replicas=2,
            random_state=random_state,
        )

    assert not np.array_equal(run(None).scores, run(None).scores)
    assert not np.array_equal(run(1).scores, run(2).scores)
    assert run(7).seed == 7
    child = np.random.SeedSequence(3).spawn(2)[1]
    for random_state in (
        None,
        0,
        np.int64(4),
        2**100,
        np.random.SeedSequence(3),
        np.random.SeedSequence([1, 2]),
        child,
        np.random.default_rng(3),
        np.random.RandomState(3),
    ):
        result = run(random_state)
        np.testing.assert_array_equal(run(result.seed).scores, result.scores)
        assert run(result.seed).best_index == result.best_index
    assert not np.array_equal(run(child).scores, run(np.random.SeedSequence(3)).scores)
    np.testing.assert_array_equal(run(np.random.SeedSequence(3)).scores, run(3).scores)
    generator = np.random.default_rng(3)
    assert not np.array_equal(run(generator).scores, run(generator).scores)  # it moves on
    np.testing.assert_array_equal(
        run(np.random.default_rng(3)).scores, run(np.random.default_rng(3)).scores
    )


def test_perturbed_counts_are_the_confusion_matrix(problem):
    """The counts that the studies build on are those of scikit-learn's confusion matrix."""
    _, _, X, y, trees = problem
    fitted = Perturbation(NOISE.mechanisms).fit(X)
    seeds = [set_seed(np.random.SeedSequence(0), None, m) for m in range(5)]
    tp, fp = perturbed_counts(trees, fitted.prepare(X), y == 1, 1, 3, seeds)
    assert tp.shape == fp.shape == (8, 5)
    for m, seed in enumerate(seeds):
        perturbed = fitted.sample(X, 3, np.random.default_rng(seed))
        for q, tree in enumerate(trees):
            table = metrics.confusion_matrix(np.tile(y, 3), tree.predict(perturbed))
            assert (tp[q, m], fp[q, m]) == (table[1, 1], table[0, 1])


# --- Inputs -------------------------------------------------------------------------------------


def test_inputs_stay_as_they_are(problem):
    """Samples, labels, models and the perturbation are as before, fitted or not."""
    _, _, X, y, trees = problem
    frame = pd.DataFrame(X, columns=list("abcdef"))
    by_name = [clone(tree).fit(frame, y) for tree in trees]
    copies = X.copy(), y.copy(), frame.copy(deep=True)
    fitted, unfitted = Perturbation(NOISE.mechanisms).fit(X), Perturbation(GaussianNoise(0.4))
    before = [pickle.dumps(part) for part in (trees, by_name, fitted, unfitted)]
    for models, table, perturbation in (
        (trees, X, fitted),
        (trees, X, unfitted),
        (by_name, frame, unfitted),
    ):
        for scoring in ("f1", "roc_auc"):
            perturbation_validation(
                models, table, y, perturbation=perturbation, scoring=scoring, **SMALL
            )
    np.testing.assert_array_equal(X, copies[0])
    np.testing.assert_array_equal(y, copies[1])
    assert_frame_equal(frame, copies[2])
    assert [pickle.dumps(part) for part in (trees, by_name, fitted, unfitted)] == before
    assert not hasattr(unfitted, "mechanisms_")


def test_arrays_lists_and_frames_are_alike(problem):
    """The same numbers as an array, a list of lists or a frame give the same scores."""
    X_train, y_train, X, y, _ = problem
    names = list("abcdef")
    by_array = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X_train, y_train)
    by_name = clone(by_array).fit(pd.DataFrame(X_train, columns=names), y_train)
    settings = {"perturbation": NOISE, "scoring": "f1", **SMALL}
    expected = perturbation_validation([by_array], X, y, **settings).scores
    as_list = perturbation_validation([by_array], X.tolist(), y.tolist(), **settings).scores
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn warns where names are lost
        frame = pd.DataFrame(X, columns=names, index=range(90, 50, -1))
        as_frame = perturbation_validation([by_name], frame, pd.Series(y), **settings).scores
    np.testing.assert_array_equal(as_list, expected)
    np.testing.assert_array_equal(as_frame, expected)


@pytest.mark.parametrize("container", [list, tuple, dict, lambda v: np.array(v, dtype=object)])
def test_containers_of_models(problem, container):
    """Models come in a list, tuple, array or dict, whose keys are their names."""
    _, _, X, y, trees = problem
    pairs = [("shallow", trees[0]), ("deep", trees[3])]
    models = container(pairs if container is dict else [tree for _, tree in pairs])
    result = perturbation_validation(models, X, y, perturbation=NOISE, scoring="f1", **SMALL)
    assert result.names == (("shallow", "deep") if container is dict else ("model 0", "model 1"))
    assert result.models == (trees[0], trees[3])


# --- Errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"models": []}, ValueError, r"models must hold at least one fitted estimator"),
        ({"models": {}}, ValueError, r"models must hold at least one fitted estimator"),
        ({"models": LogisticRegression()}, TypeError, r"models must be a list or a dict.*Logistic"),
        ({"models": [LogisticRegression]}, TypeError, r"models: 'model 0' must be an estimator"),
        ({"models": {"a": 1}}, TypeError, r"models: 'a' must be an estimator with predict, got 1"),
        ({"models": {"a": LogisticRegression()}}, NotFittedError, r"models: 'a' .*not fitted"),
        (
            {"models": [make_pipeline(StandardScaler(), SVC())]},
            NotFittedError,
            r"models: 'model 0' \(Pipeline\) is not fitted",
        ),
        ({"y": np.zeros(40)}, ValueError, r"y must have at least two classes, got \[0.0\]"),
        ({"y": ["B"] * 40}, ValueError, r"y must have at least two classes, got \['B'\]"),
        ({"y": [0, 1]}, ValueError, r"X and y must have the same length, got 40 and 2"),
        ({"y": [0, 1, np.nan, 1] * 10}, ValueError, r"y must have no missing values, got 10"),
        ({"y": ["a", "b", None, "a"] * 10}, ValueError, r"y must have no missing values, got 10"),
        ({"y": [0, 1, np.inf, 1] * 10}, ValueError, r"y must be finite"),
        ({"y": np.full((40, 2), 2)}, ValueError, r"y must be one column.*\(40, 2\)"),
        ({"y": np.zeros((40, 2))}, ValueError, r"y must have at least two classes"),
        ({"X": np.full((40, 6), np.nan), "perturbation": STRICT}, ValueError, r"Column 0 .*40 mis"),
        ({"X": np.full((40, 6), np.inf)}, ValueError, r"Column 0 of X: 40 missing or infinite"),
        ({"X": np.zeros(40)}, ValueError, r"X must be a dense table"),
        ({"perturbation": GaussianNoise(1)}, TypeError, r"perturbation must be a Perturbation"),
        ({"perturbation": None}, TypeError, r"perturbation must be a Perturbation, got None"),
        ({"perturbation": Perturbation({9: GaussianNoise(1)})}, ValueError, r"column 9, which X"),
        (
            {"perturbation": Perturbation(GaussianNoise(1)).fit(np.zeros((3, 2)))},
            ValueError,
            r"X must have the columns seen at fit",
        ),
        ({"scoring": "f3"}, ValueError, r"scoring must be the name .*'f3'"),
        ({"scoring": None}, TypeError, r"scoring must be the name of a scikit-learn scorer.*None"),
        ({"scoring": ["f1", "recall"]}, TypeError, r"scoring must be the name"),
        (
            {"scoring": metrics.f1_score},
            ValueError,
            r"scoring got the metric f1_score.*make_scorer",
        ),
        (
            {"scoring": intervention_efficiency_score},
            ValueError,
            r"scoring got the metric intervention_efficiency_score.*intervention_efficiency_scorer",
        ),
        ({"scoring": lambda *_: [0.1, 0.2]}, ValueError, r"scoring must return one number, got \["),
        ({"scoring": lambda *_: {"f1": 1}}, ValueError, r"scoring must return one number, got \{"),
        ({"scoring": lambda *_: None}, ValueError, r"scoring must return one number, got None"),
        (
            {"scoring": make_scorer(intervention_efficiency_score, capacity=[0.1, 0.2])},
            ValueError,
            r"scoring must return one number",
        ),
        ({"scoring": lambda *_: np.nan}, ValueError, r"scoring .*gave NaN for model 'model 0'"),
        ({"n_sets": 0}, ValueError, r"n_sets must be at least 1, got 0"),
        ({"n_sets": 2.0}, TypeError, r"n_sets must be a whole number, got 2.0"),
        ({"n_sets": True}, TypeError, r"n_sets must be a whole number, got True"),
        ({"n_replicas": 0}, ValueError, r"n_replicas must be at least 1, got 0"),
        ({"n_replicas": "7"}, TypeError, r"n_replicas must be a whole number, got '7'"),
        ({"aggregate": 1.5}, ValueError, r"aggregate must .*\[0, 1\], got 1.5"),
        ({"aggregate": -0.1}, ValueError, r"aggregate must .*\[0, 1\], got -0.1"),
        ({"aggregate": np.nan}, ValueError, r"aggregate must .*got nan"),
        ({"aggregate": "mean"}, TypeError, r"aggregate must be a quantile .*function.*'mean'"),
        ({"aggregate": [0.1, 0.5]}, TypeError, r"aggregate must be a quantile .*\[0.1, 0.5\]"),
        ({"aggregate": np.sort}, ValueError, r"aggregate must return one number, got array"),
        ({"aggregate": lambda _: None}, ValueError, r"aggregate must return one number, got None"),
        ({"aggregate": lambda _: np.nan}, ValueError, r"aggregate gave NaN for model 'model 0'"),
        ({"tie_break": "best"}, ValueError, r"tie_break must be one of .*'first'.*got 'best'"),
        ({"random_state": -1}, ValueError, r"random_state must be at least 0, got -1"),
        ({"random_state": "0"}, TypeError, r"random_state must be a whole number.* got '0'"),
        ({"memory_budget": 0}, ValueError, r"memory_budget must be finite and at least 1, got 0"),
        ({"memory_budget": "1G"}, TypeError, r"memory_budget must be a number, got '1G'"),
    ],
)
def test_errors(problem, change, error, says):
    """Each wrong argument is named, with what it got and what it takes."""
    _, _, X, y, trees = problem
    arguments = {
        "models": trees,
        "X": X,
        "y": y,
        "perturbation": NOISE,
        "scoring": "f1",
        **SMALL,
        **change,
    }
    with pytest.raises(error, match=says):
        perturbation_validation(
            arguments.pop("models"), arguments.pop("X"), arguments.pop("y"), **arguments
        )


def test_errors_of_categories_name_the_column():
    """A category that the training data lack is named, and so is a column with one category."""
    X = pd.DataFrame({"smokes": ["yes", "no"] * 10, "age": np.arange(20.0)})
    y = [0, 1] * 10
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["smokes"])),
        LogisticRegression(),
    ).fit(X, y)
    perturbation = Perturbation({"smokes": NominalFlip(0.1)}).fit(X)
    unseen = X.assign(smokes=["yes", "no", "often", "no"] * 5)
    with pytest.raises(ValueError, match=r"Column 'smokes' of X: .*\['often'\], not seen at fit"):
        perturbation_validation([model], unseen, y, perturbation=perturbation, scoring="f1")
    with pytest.raises(ValueError, match=r"Column 'smokes' of X: .*one category \('no'\)"):
        perturbation_validation(
            [model],
            X.assign(smokes="no"),
            y,
            perturbation=Perturbation({"smokes": NominalFlip(0.1)}),
            scoring="f1",
        )


def test_the_scorers_own_errors_come_through(problem):
    """What the scorer itself refuses, it refuses in its own words."""
    _, _, X, y, trees = problem
    settings = {"perturbation": NOISE, **SMALL}
    with pytest.raises(ValueError, match="pos_label"):
        perturbation_validation(
            trees, X, y, scoring=intervention_efficiency_scorer(0.1, pos_label=7), **settings
        )
    with pytest.raises(ValueError, match="beta"):
        perturbation_validation(trees, X, y, scoring=make_scorer(fbeta_score, beta=-1), **settings)
    with pytest.raises(AttributeError, match="predict_proba"):
        perturbation_validation([SVC().fit(X, y)], X, y, scoring="neg_log_loss", **settings)
    with pytest.raises(ValueError, match="do not say which class is the case"):
        perturbation_validation(
            [DecisionTreeClassifier().fit(X, y + 1)],
            X,
            y + 1,
            scoring=intervention_efficiency_scorer(0.1),
            **settings,
        )


# --- The result ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result(problem):
    _, _, X, y, trees = problem
    models = {f"depth {tree.max_depth} {i}": tree for i, tree in enumerate(trees)}
    return perturbation_validation(
        models, X, y, perturbation=NOISE, scoring="f1", n_sets=20, random_state=0
    )


def test_to_frame(result):
    """One row a model, with its scores in summary, its ties and whether it is selected."""
    frame = result.to_frame()
    assert frame.index.tolist() == list(result.names)
    np.testing.assert_array_equal(frame["aggregated"], result.aggregated)
    np.testing.assert_array_equal(frame["unperturbed"], result.unperturbed)
    np.testing.assert_allclose(frame["mean"], [row.mean() for row in result.scores])
    np.testing.assert_allclose(frame["sd"], [np.std(row, ddof=1) for row in result.scores])
    np.testing.assert_array_equal(frame["min"], [row.min() for row in result.scores])
    np.testing.assert_array_equal(frame["max"], [row.max() for row in result.scores])
    assert np.flatnonzero(frame["tied"]).tolist() == result.tied.tolist()
    assert np.flatnonzero(frame["selected"]).tolist() == [result.best_index]


def test_to_frame_of_a_single_set(problem):
    """One set has no standard deviation, which is no error."""
    _, _, X, y, trees = problem
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        single = perturbation_validation(
            trees, X, y, perturbation=NOISE, scoring="accuracy", n_sets=1, random_state=0
        )
        assert single.to_frame()["sd"].isna().all()
        single.plot()


def test_plot(result):
    """The leading models are shown from the top, with their aggregated and unperturbed scores."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = result.plot(n_models=5)
    order = np.argsort(-result.aggregated, kind="stable")[:5]
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert labels[0] == f"{result.names[order[0]]} (selected)"
    assert labels[1:] == [result.names[q] for q in order[1:]]
    lines = {line.get_label(): line for line in ax.lines}
    np.testing.assert_array_equal(lines["aggregated"].get_xdata(), result.aggregated[order])
    np.testing.assert_array_equal(lines["unperturbed"].get_xdata(), result.unperturbed[order])
    np.testing.assert_array_equal(lines["aggregated"].get_ydata(), ax.get_yticks())
    assert lines["aggregated"].get_ydata()[0] == max(ax.get_yticks())
    assert "score" in ax.get_xlabel()
    _, own = plt.subplots()
    assert result.plot(own) is own
    with pytest.raises(ValueError, match="n_models must be at least 1, got 0"):
        result.plot(n_models=0)


def test_plot_shows_the_selected_model_among_many_ties(problem):
    """However many models tie, the selected one stands on top."""
    _, _, X, y, trees = problem
    last = perturbation_validation(
        [trees[3]] * 20, X, y, perturbation=NOISE, scoring="f1", tie_break="last", **SMALL
    )
    labels = [text.get_text() for text in last.plot(n_models=3).get_yticklabels()]
    assert labels == ["model 19 (selected)", "model 0", "model 1"]


def test_result_is_frozen_and_picklable(result):
    """A result can't be changed by accident, and survives a trip through a file."""
    with pytest.raises(AttributeError):
        result.best_index = 0
    copy = pickle.loads(pickle.dumps(result))
    assert_frame_equal(copy.to_frame(), result.to_frame())
    assert result in {result}
    assert copy != result


def test_pairs_from_an_iterator_perturb_a_second_time(problem):
    """A perturbation made from pairs that can be read once only perturbs each time it is used."""
    _, _, X, y, trees = problem
    once = Perturbation(zip([0, 3], [GaussianNoise(1)] * 2, strict=True))
    listed = Perturbation({(0, 3): GaussianNoise(1)})
    for _ in range(2):
        scores = [
            perturbation_validation(trees, X, y, perturbation=p, scoring="f1", **SMALL).scores
            for p in (once, listed)
        ]
        np.testing.assert_array_equal(*scores)


# --- As a scorer --------------------------------------------------------------------------------


def test_scorer_equals_validation(problem):
    """The scorer gives the aggregated score of perturbation_validation with the same settings."""
    _, _, X, y, trees = problem
    settings = {"perturbation": NOISE, "n_sets": 9, "n_replicas": 2, "aggregate": 0.1}
    scorer = perturbation_scorer("f1", random_state=4, **settings)
    expected = perturbation_validation(
        trees, X, y, scoring="f1", random_state=4, **settings
    ).aggregated
    assert [scorer(tree, X, y) for tree in trees] == expected.tolist()
    assert [scorer(tree, X, y) for tree in trees] == expected.tolist()  # a second time
    assert type(scorer(trees[0], X, y)) is float
    assert pickle.loads(pickle.dumps(scorer))(trees[0], X, y) == expected[0]
    other = perturbation_scorer("f1", random_state=5, **settings)
    assert other(trees[3], X, y) != expected[3]
    for part in ("'f1'", "GaussianNoise(0.4)", "n_sets=9", "n_replicas=2", "random_state=4"):
        assert part in repr(scorer)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_scorer_in_searches(problem, n_jobs):
    """GridSearchCV and cross_validate give what the scorer gives by hand, on one core or two."""
    X, y, _, _, _ = problem
    perturbation = Perturbation({(0, 1, 2): GaussianNoise(0.3)}).fit(X)
    scorer = perturbation_scorer(
        intervention_efficiency_scorer(0.3), perturbation=perturbation, n_sets=6, n_replicas=2
    )
    folds, model = StratifiedKFold(3), DecisionTreeClassifier(random_state=0)
    grid = GridSearchCV(
        model,
        {"max_depth": [1, 2, 4]},
        scoring=scorer,
        cv=folds,
        n_jobs=n_jobs,
        error_score="raise",
    ).fit(X, y)
    for depth, mean in zip((1, 2, 4), grid.cv_results_["mean_test_score"], strict=True):
        by_hand = []
        for train, test in folds.split(X, y):
            tree = clone(model).set_params(max_depth=depth).fit(X[train], y[train])
            by_hand.append(scorer(tree, X[test], y[test]))
        assert mean == pytest.approx(np.mean(by_hand), rel=1e-12)
    scores = cross_validate(
        make_pipeline(StandardScaler(), LogisticRegression()),
        X,
        y,
        scoring={"robust": scorer, "plain": "f1"},
        cv=folds,
        n_jobs=n_jobs,
        error_score="raise",
    )
    assert set(scores) >= {"test_robust", "test_plain"}
    assert np.isfinite(scores["test_robust"]).all()


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_scorer_on_frames_with_categories(n_jobs):
    """A perturbation fitted on the whole table serves every fold of frames, in pipelines too."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.normal(size=90),
            "clinic": pd.Categorical(rng.choice(list("abc"), 90)),
            "fever": pd.array(rng.random(90) < 0.4, dtype="boolean"),
        }
    )
    y = pd.Series(np.where(X["age"] + X["fever"].astype(float) > 0.5, "ill", "well"))
    perturbation = Perturbation(
        {"age": GaussianNoise(0.2), ("clinic", "fever"): NominalFlip(0.1)}
    ).fit(X)
    scorer = perturbation_scorer(
        make_scorer(metrics.f1_score, pos_label="ill"),
        perturbation=perturbation,
        n_sets=5,
        n_replicas=2,
    )
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["clinic", "fever"]), remainder="passthrough"
    ).set_output(transform="pandas")  # which aligns by index, and rows repeat it
    model = make_pipeline(encode, DecisionTreeClassifier(random_state=0))
    grid = GridSearchCV(
        model,
        {"decisiontreeclassifier__max_depth": [1, 3]},
        scoring=scorer,
        cv=3,
        n_jobs=n_jobs,
        error_score="raise",
    ).fit(X, y)
    scores = grid.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert grid.best_params_ == {"decisiontreeclassifier__max_depth": [1, 3][scores.argmax()]}


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"scoring": "f3"}, ValueError, r"scoring must be the name .*'f3'"),
        ({"scoring": metrics.f1_score}, ValueError, r"scoring got the metric f1_score"),
        ({"scoring": None}, TypeError, r"scoring must be"),
        ({"perturbation": GaussianNoise(1)}, TypeError, r"perturbation must be a Perturbation"),
        ({"n_sets": 0}, ValueError, r"n_sets must be at least 1"),
        ({"n_replicas": -1}, ValueError, r"n_replicas must be at least 1"),
        ({"aggregate": 2}, ValueError, r"aggregate must"),
        ({"aggregate": "mean"}, TypeError, r"aggregate must be a quantile"),
        ({"random_state": None}, TypeError, r"random_state must be a whole number.* got None"),
        ({"random_state": -3}, ValueError, r"random_state must be at least 0, got -3"),
    ],
)
def test_errors_of_the_scorer(change, error, says):
    """A scorer's settings are checked when it is made, before any search begins."""
    arguments = {"scoring": "f1", "perturbation": NOISE, **change}
    with pytest.raises(error, match=says):
        perturbation_scorer(arguments.pop("scoring"), **arguments)
