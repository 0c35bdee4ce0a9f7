"""Perturbation validation by laws: against the laws, against many sets, and beside drawn ones."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import pvf

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] + RNG.normal(size=80) > 0.5).astype(int)
X_VAL, Y_VAL = X[50:], Y[50:]
NOISE = pvf.Perturbation(pvf.GaussianNoise(0.4)).fit(X)
TREES = {
    f"depth {depth}": DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X[:50], Y[:50])
    for depth in (1, 3, 6)
}
MIXED = TREES | {
    "neighbours": KNeighborsClassifier().fit(X[:50], Y[:50]),
    "logistic": LogisticRegression().fit(X[:50], Y[:50]),
}
DRAWN = list(MIXED).index("neighbours")


def validate(models=TREES, **settings):
    settings = {"scoring": "f1", "perturbation": NOISE, "random_state": 0} | settings
    return pvf.perturbation_validation(models, X_VAL, Y_VAL, **settings)


@pytest.mark.parametrize("aggregate", [0, 0.25, 0.5, 1])
def test_exact_score_is_the_quantile_of_each_law(aggregate):
    """Nothing is drawn, no seed matters, and drawn scores tend to the exact ones."""
    result = validate(method="exact", aggregate=aggregate, random_state=1)
    laws = [
        pvf.score_law(tree, X_VAL, Y_VAL, perturbation=NOISE, scoring="f1")
        for tree in TREES.values()
    ]
    assert result.aggregated.tolist() == [law.quantile(aggregate) for law in laws]
    assert result.scores is None
    assert result.n_sets is None
    assert result.exact.all()
    other = validate(method="exact", aggregate=aggregate, random_state=2, n_sets=3)
    assert other.aggregated.tolist() == result.aggregated.tolist()
    assert other.best_index == result.best_index == result.aggregated.argmax()


def test_many_drawn_sets_come_to_the_exact_score():
    """The quartile of 4,000 sets lies where the law of that quartile is expected."""
    drawn, exact = validate(n_sets=2000, n_replicas=2), validate(method="exact", n_replicas=2)
    for score, law, rows in zip(drawn.aggregated, exact.law, drawn.scores, strict=True):
        quartile = law.of_quantile(0.25, 2000)
        assert quartile.quantile(1e-5) <= score <= quartile.quantile(1 - 1e-5)
        assert abs(rows.mean() - law.mean) < 5 * law.sd / np.sqrt(2000)
        assert rows.std() == pytest.approx(law.sd, rel=0.15)


@pytest.mark.parametrize("common_noise", [True, False])
@pytest.mark.parametrize("models", [MIXED, list(MIXED.values())])
def test_auto_draws_only_what_has_no_law(common_noise, models):
    """The neighbours' scores are those that it has where all are drawn; the others' are exact."""
    settings = {"models": models, "common_noise": common_noise, "n_sets": 20}
    auto, drawn = validate(method="auto", **settings), validate(**settings)
    assert auto.exact.tolist() == [True, True, True, False, True]
    assert not drawn.exact.any()
    assert auto.scores[DRAWN].tolist() == drawn.scores[DRAWN].tolist()
    assert np.isnan(np.delete(auto.scores, DRAWN, axis=0)).all()
    assert auto.aggregated[DRAWN] == drawn.aggregated[DRAWN]
    assert auto.law[DRAWN] is None
    exact = validate(models=TREES, method="exact")
    assert auto.aggregated[:3].tolist() == exact.aggregated.tolist()


def test_each_scorer_takes_what_it_can():
    """F1 has laws and AUC has none, in one run; each result is the one of its scorer alone."""
    result = validate(MIXED, scoring={"f1": "f1", "auc": "roc_auc"}, method="auto", n_sets=20)
    assert result["f1"].exact.sum() == 4
    assert not result["auc"].exact.any()
    for name, scoring in {"f1": "f1", "auc": "roc_auc"}.items():
        alone = validate(MIXED, scoring=scoring, method="auto", n_sets=20)
        assert alone.aggregated.tolist() == result[name].aggregated.tolist()
        np.testing.assert_array_equal(alone.scores, result[name].scores)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"models": MIXED}, "'neighbours': no exact law is known for KNeighborsClassifier"),
        ({"scoring": "roc_auc"}, "'depth 1': scoring is no known function"),
        ({"aggregate": np.mean}, "'depth 1': aggregate is no quantile"),
        ({"sample_weight": np.ones(30)}, "'depth 1': scoring is no known function"),
        ({"method": "often"}, "method must be one of"),
    ],
)
def test_exact_refuses_what_has_no_law(settings, message):
    """The error names the candidate and the reason, and what would do; "auto" draws instead."""
    with pytest.raises(ValueError, match=message):
        validate(**({"method": "exact"} | settings))
    if "method" not in settings:
        drawn = validate(**settings, method="auto", n_sets=5)
        assert not drawn.exact.all()
        scores = drawn.scores[~drawn.exact]
        assert scores.tolist() == validate(**settings, n_sets=5).scores[~drawn.exact].tolist()


def test_three_classes_and_foreign_noise_are_drawn():
    """A model of three classes has no law for two, and neither has noise of another's making."""

    class Shift(pvf.Perturbation):
        def sample(self, X, n_replicas, rng):
            return np.concatenate([X] * n_replicas) + rng.normal()

    three = DecisionTreeClassifier().fit(X[:50], Y[:50] + (X[:50, 1] > 1))
    assert not validate([three], scoring="accuracy", method="auto", n_sets=4).exact.any()
    own = Shift(pvf.GaussianNoise(0.4)).fit(X)
    assert not validate(perturbation=own, method="auto", n_sets=4).exact.any()
    with pytest.raises(ValueError, match=r"no exact law is known for Shift\.sample"):
        validate(perturbation=own, method="exact")


def test_result_shows_laws():
    """The summary, the frame, the plot and the samples of exact and mixed results."""
    exact, mixed = validate(method="exact"), validate(MIXED, method="auto", n_sets=20)
    assert "3 models by exact laws" in repr(exact)
    assert "5 models 4 by exact laws, others on 20 sets" in repr(mixed)
    frame, law = exact.to_frame(), exact.law[1]
    assert frame["mean"].iloc[1] == law.mean
    assert frame["sd"].iloc[1] == law.sd
    assert frame[["min", "max"]].iloc[1].tolist() == [law.support[0], law.support[-1]]
    assert mixed.to_frame()["mean"].iloc[DRAWN] == mixed.scores[DRAWN].mean()
    assert not mixed.to_frame().isna().any(axis=None)
    assert len(mixed.plot().get_yticklabels()) == 5
    flips = pvf.flip_probability(exact.best_model, X_VAL, NOISE)
    assert exact.samples(0.4)["flip_probability"].tolist() == flips.probability.tolist()
    with pytest.raises(ValueError, match="was judged by drawn sets"):
        validate(n_sets=3).samples()


def test_search_by_exact_scores_needs_no_seed():
    """Grid search over depths gives the same scores whatever the seed."""
    found = [
        GridSearchCV(
            DecisionTreeClassifier(random_state=0),
            {"max_depth": [1, 3]},
            scoring=pvf.perturbation_scorer(
                "f1", perturbation=NOISE, method="exact", random_state=seed
            ),
            cv=2,
            error_score="raise",
        )
        .fit(X, Y)
        .cv_results_["mean_test_score"]
        .tolist()
        for seed in (0, 1)
    ]
    assert found[0] == found[1]
    with pytest.raises(ValueError, match="method must be one of"):
        pvf.perturbation_scorer("f1", perturbation=NOISE, method="law")
