"""Laws of sums over trees against drawn copies, and against enumeration."""

import itertools

import numpy as np
import pytest
from drawn_copies import against_copies
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import pvf
from pvf import _ensembles
from pvf._ensembles import law_of_sum

RNG = np.random.default_rng(0)
X = np.column_stack(
    [RNG.normal(size=(200, 3)), RNG.integers(3, size=200), RNG.integers(2, size=200)]
)
Y = (X[:, 0] * X[:, 1] + X[:, 3] + RNG.normal(size=200) / 2 > 1).astype(int)
GAPS = X.copy()
GAPS[::7, 2] = np.nan
NOISE = pvf.Perturbation(
    {
        0: pvf.GaussianNoise(0.3),
        1: pvf.GaussianNoise(0.6),
        3: pvf.OrdinalShift(0.3, 0.5),
        4: pvf.NominalFlip(0.2),
    }
)
BY_DUMMIES = make_column_transformer((OneHotEncoder(), [3]), remainder="passthrough")
SEED = {"random_state": 0}
SMALL = DecisionTreeClassifier(max_depth=3)
MODELS = {
    "tree behind dummies": make_pipeline(BY_DUMMIES, DecisionTreeClassifier(max_depth=6, **SEED)),
    "forest": RandomForestClassifier(6, max_depth=3, **SEED),
    "extra trees": ExtraTreesClassifier(4, max_depth=4, **SEED),
    "bagging": BaggingClassifier(SMALL, 5, max_features=0.7, **SEED),
    "bagging on one input each": BaggingClassifier(SMALL, 5, max_features=1, **SEED),
    "boosted stumps": GradientBoostingClassifier(n_estimators=40, max_depth=1, **SEED),
    "boosting behind dummies": make_pipeline(
        BY_DUMMIES, GradientBoostingClassifier(n_estimators=20, max_depth=1, **SEED)
    ),
    "boosted trees": GradientBoostingClassifier(n_estimators=8, max_depth=2, **SEED),
    "histogram stumps": HistGradientBoostingClassifier(max_iter=40, max_depth=1, **SEED),
    "histogram trees": HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=4, **SEED),
    "AdaBoost of stumps": AdaBoostClassifier(n_estimators=30, **SEED),
    "AdaBoost of trees": AdaBoostClassifier(SMALL, n_estimators=4, **SEED),
}
GAPPED = {"forest", "histogram stumps", "histogram trees"}  # as these take them


@pytest.mark.parametrize("name", MODELS)
def test_law_is_that_of_drawn_copies(name):
    """Of 4,000 copies of each sample as many are flagged as the law says."""
    table = GAPS if name in GAPPED else X
    model = MODELS[name].fit(table[:170], Y[:170])
    few, noise = table[170:], NOISE.fit(table)
    flips = pvf.flip_probability(model, few, noise, method="exact")
    assert flips.exact
    assert flips.error < 1e-12
    z, off = against_copies(flips, model, noise, few)
    assert len(z) > 10
    assert np.abs(z).max() < 4
    assert (np.abs(off) < 25).all()
    assert 0.5 < (z**2).mean() < 2


@pytest.mark.parametrize("n_trees", [1, 2, 4])
def test_votes_of_levels_are_enumerated(n_trees):
    """With levels only all copies are listed; of trees that vote two against two the first wins."""
    rng = np.random.default_rng(2)
    table = rng.integers(3, size=(90, 4))
    labels = (table.sum(axis=1) + rng.normal(size=90) > 4).astype(int)
    noise = pvf.Perturbation(pvf.NominalFlip(0.3)).fit(table)
    forest = RandomForestClassifier(n_trees, max_features=1, random_state=1).fit(table, labels)
    flips = pvf.flip_probability(forest, table[:20], noise, method="exact")
    every = np.array(list(itertools.product(range(3), repeat=4)))
    flagged = forest.predict(every)
    chance = np.where(every == table[:20, None], 0.7, 0.15).prod(axis=2)
    np.testing.assert_allclose(np.asarray(flips), chance @ flagged, atol=1e-13)


def test_sum_of_terms_is_enumerated_or_bounded(monkeypatch):
    """Few values are listed; of many the bound holds the sum that is convolved on all of them."""
    rng = np.random.default_rng(3)
    terms = [(rng.normal(size=4), rng.dirichlet(np.ones(4), size=2)) for _ in range(6)]
    start = np.array([0.3, -0.4])
    expected = np.zeros(2)
    for picked in itertools.product(range(4), repeat=6):
        total = start + sum(v[k] for (v, _), k in zip(terms, picked, strict=True))
        chance = np.prod([p[:, k] for (_, p), k in zip(terms, picked, strict=True)], axis=0)
        expected += chance * (total > 0)
    found, error = law_of_sum(start, terms, 0.0)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    assert error.max() < 1e-14
    monkeypatch.setattr(_ensembles, "_MOST_SUMS", 32)
    found, error = law_of_sum(start, terms, 0.0)
    assert (np.abs(found - expected) <= error).all()
    assert 0 < error.max() < 0.2


def test_what_is_too_large_or_of_other_models_is_refused():
    """Boxes that are too many, and ensembles of no trees, are named; "auto" draws instead."""
    noise = NOISE.fit(X)
    large = RandomForestClassifier(30, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="RandomForestClassifier make more than 4096 boxes"):
        pvf.flip_probability(large, X, noise, method="exact")
    assert not pvf.flip_probability(large, X[:5], noise, n_draws=20).exact
    bagged = BaggingClassifier(LogisticRegression(), 3, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="BaggingClassifier of other models than trees"):
        pvf.flip_probability(bagged, X, noise, method="exact")
    levels = HistGradientBoostingClassifier(max_iter=3, max_depth=1, categorical_features=[4])
    with pytest.raises(ValueError, match="boosting with categorical features"):  # split on or not
        pvf.flip_probability(levels.fit(X, Y), X, noise, method="exact")
    clipped = make_pipeline(MinMaxScaler(clip=True), DecisionTreeClassifier(max_depth=2))
    with pytest.raises(ValueError, match="MinMaxScaler that clips"):
        pvf.flip_probability(clipped.fit(X, Y), X[:9], noise, method="exact")


def test_law_of_a_score_says_what_its_flips_may_be_off():
    """What a forest leaves out of its boxes is in the error of the score's law."""
    noise, forest = NOISE.fit(X), MODELS["forest"].fit(X, Y)
    law = pvf.score_law(forest, X[:40], Y[:40], perturbation=noise, scoring="accuracy")
    assert law.error >= 40 * 7 * law.flips.error > 0
    assert "within" in repr(law)
    assert "exact within" in repr(law.flips)
