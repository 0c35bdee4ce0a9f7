"""Laws of flips and scores against enumeration and against drawn sets."""

import functools
import itertools

import numpy as np
import pandas as pd
import pytest
from exact_agreement import KINDS, agreement
from scipy import stats
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    OrdinalEncoder,
    SplineTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import pvf
from pvf import counts
from pvf.exact import ScoreLaw, counts_law, flip_probability, score_law

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(60, 2)), RNG.integers(3, size=60), RNG.integers(2, size=60)])
Y = (X[:, 0] + X[:, 2] + RNG.normal(size=60) > 1).astype(int)
MECHANISMS = {
    0: pvf.GaussianNoise(0.3),
    1: pvf.GaussianNoise(1.5),
    2: pvf.OrdinalShift(0.3, 0.5),
    3: pvf.NominalFlip(0.2),
}
NOISE = pvf.Perturbation(MECHANISMS).fit(X)
FEW = np.r_[np.flatnonzero(Y == 0)[:6], np.flatnonzero(Y == 1)[:5]]
MODELS = {
    "logistic": LogisticRegression().fit(X, Y),
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, Y),
    "deep tree": DecisionTreeClassifier(random_state=1).fit(X, Y),
}


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=list(KINDS))
def test_law_is_that_of_drawn_sets(kind):
    """3,000 drawn sets have each metric's scores as often as its law says, at two noise levels."""
    table = agreement([kind], 3000, factors=(0.5, 1.5))
    assert table["p"].min() > 1e-4
    assert table[["mean_z", "quartile_z"]].abs().max(axis=None) < 4


def test_law_of_flips_alone_is_enumerated():
    """With categories only, every perturbed set of two samples is listed."""
    x = np.array([[0, 1], [1, 0], [1, 1], [0, 0]])
    y = np.array([0, 1, 1, 0])
    flips = pvf.Perturbation(pvf.NominalFlip(0.3)).fit(x)
    tree = DecisionTreeClassifier(random_state=0).fit(x, [1, 1, 0, 0])
    law = score_law(tree, x[:2], y[:2], perturbation=flips, scoring="accuracy", n_replicas=1)
    chances = {}
    for change in itertools.product([0, 1], repeat=4):
        moved = x[:2] ^ np.reshape(change, (2, 2))
        chance = np.prod([0.3 if moves else 0.7 for moves in change])
        score = (tree.predict(moved) == y[:2]).mean()
        chances[score] = chances.get(score, 0) + chance
    assert dict(zip(law.support, law.probabilities, strict=True)) == pytest.approx(chances)


@pytest.mark.parametrize(("q", "n_sets"), [(0.25, 4), (0.25, 5), (0.5, 2), (1, 3), (0, 3)])
def test_quantile_of_few_sets_is_enumerated(q, n_sets):
    """The law of NumPy's quantile of M scores is that of all M-tuples of scores."""
    law = ScoreLaw(np.array([0.0, 1.0, 4.0]), np.array([0.2, 0.5, 0.3]))
    chances = {}
    for picked in itertools.product(range(3), repeat=n_sets):
        value = round(float(np.quantile(law.support[list(picked)], q)), 9)
        chances[value] = chances.get(value, 0) + law.probabilities[list(picked)].prod()
    found = law.of_quantile(q, n_sets)
    assert dict(zip(found.support.round(9), found.probabilities, strict=True)) == pytest.approx(
        chances, abs=1e-12
    )


def test_flips_by_counts_in_a_frame():
    """A frame with text levels needs numbers; drawn flips agree with exact ones elsewhere."""
    frame = pd.DataFrame(X, columns=list("abcd"))
    noise = pvf.Perturbation(dict(zip("abcd", MECHANISMS.values(), strict=True))).fit(frame)
    model = LogisticRegression().fit(frame, Y)
    exact = flip_probability(model, frame, noise, method="exact")
    drawn = flip_probability(model, frame, noise, method="sample", n_draws=4000, random_state=0)
    assert (np.abs(np.asarray(exact) - np.asarray(drawn)) < 5 * drawn.standard_error).all()
    assert "exact" in repr(exact)
    assert "standard error" in repr(drawn)
    other = flip_probability(model, frame, noise, pos_label=0)
    np.testing.assert_allclose(np.asarray(other), 1 - np.asarray(exact))


def test_strata_lessen_the_error_that_is_stated():
    """Over 20 seeds the error is below 0.6 of that of plain draws, and about what is stated."""
    model, few = MODELS["logistic"], X[:40]
    exact = np.asarray(flip_probability(model, few, NOISE))
    drawn = [
        flip_probability(model, few, NOISE, method="sample", n_draws=400, random_state=seed)
        for seed in range(20)
    ]
    errors = np.array([np.asarray(one) - exact for one in drawn])
    stated = np.array([one.standard_error for one in drawn])
    unsure = exact * (1 - exact) > 0.01
    plain = np.sqrt(exact * (1 - exact) / 400)
    assert (np.sqrt((errors**2).mean(axis=0)) / plain)[unsure].mean() < 0.6
    assert 0.8 < np.sqrt((errors**2).mean() / (stated**2).mean()) < 1.2
    assert np.abs(errors.mean(axis=0) / stated.mean(axis=0)).max() < 4 / np.sqrt(20)


def test_function_of_counts_and_many_samples():
    """A function of counts is taken; a large law keeps its mean and says its error."""
    many, labels = np.tile(X, (50, 1)), np.tile(Y, 50)
    law = score_law(MODELS["tree"], many, labels, perturbation=NOISE, scoring=counts.accuracy)
    chance = np.asarray(flip_probability(MODELS["tree"], many, NOISE))
    assert law.mean == pytest.approx(np.where(labels == 1, chance, 1 - chance).mean(), abs=1e-9)
    assert law.error < 1e-9
    assert "within" in repr(law)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scoring": "roc_auc"}, "scoring"),
        ({"scoring": "f1", "n_replicas": 0}, "n_replicas"),
        ({"scoring": "f1", "y": np.zeros(60)}, "two classes"),
    ],
)
def test_what_has_no_law_is_refused(settings, message):
    """Metrics beyond counts and labels of one class are refused by name."""
    arguments = {"X": X, "y": Y, "perturbation": NOISE} | settings
    with pytest.raises(ValueError, match=message):
        score_law(MODELS["tree"], **arguments)


def test_models_without_a_law():
    """Nearest neighbours are drawn by default, and refused where the law is demanded."""
    nearest = KNeighborsClassifier().fit(X, Y)
    assert not flip_probability(nearest, X, NOISE, n_draws=50).exact
    with pytest.raises(ValueError, match="no exact law is known for KNeighborsClassifier"):
        flip_probability(nearest, X, NOISE, method="exact")


def test_long_laws_keep_their_bound():
    """Laws by Fourier differ from plain sums over 300 samples by less than they say."""
    chances = np.random.default_rng(1).uniform(size=300) ** 3
    parts = stats.binom.pmf(np.arange(8), 7, chances[:, None])
    plain = functools.reduce(np.convolve, parts)
    law = counts_law(chances, 7)
    bound = pvf.exact._rounding(len(law))
    assert 0 < np.abs(law - plain).sum() < bound < 1e-11
    y = np.arange(600) % 2
    x = np.zeros((600, 1))
    x[:, 0] = stats.norm.ppf(np.repeat(chances, 2))
    model = LogisticRegression().fit([[-1.0], [1.0]], [0, 1])
    noise = pvf.Perturbation(pvf.GaussianNoise(1.0)).fit(x)
    found = score_law(model, x, y, perturbation=noise, scoring=counts.accuracy)
    right = np.convolve(plain, plain[::-1])  # flagged cases, and others that are not
    at = np.rint(found.support * 4200).astype(int)
    lost = 1 - right[at].sum()
    assert np.abs(found.probabilities - right[at]).sum() + lost < found.error < 1e-10
    assert "within" in repr(found)


# --- Behind transformers, and each sample's part ------------------------------------------------


@pytest.fixture(scope="module")
def mixed():
    """Make a mixed table, its labels, and a perturbation in the units of the table."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 10, 200),
            "site": rng.choice(["a", "b", "c"], 200),
            "grade": rng.integers(0, 4, 200),
            "other": rng.normal(size=200),
        }
    )
    noise = {"age": pvf.GaussianNoise(5), "site": pvf.NominalFlip(0.2)}
    perturbation = pvf.Perturbation(noise | {"grade": pvf.OrdinalShift(0.3, 0.5)}).fit(X)
    return X, ((X["age"] > 50) ^ (X["site"] == "b")).astype(int), perturbation


@pytest.mark.parametrize("kind", ["dummies", "ranks"])
def test_pipelines_are_seen_through(mixed, kind):
    """Encoders, scalers and imputers: within four standard errors of 20,000 copies."""
    X, y, perturbation = mixed
    if kind == "dummies":
        numbers = make_pipeline(SimpleImputer(), StandardScaler())
        encoder = make_column_transformer(
            (OneHotEncoder(), ["site"]), (numbers, ["age", "grade", "other"])
        )
        model = make_pipeline(encoder, LogisticRegression())
    else:
        encoder = make_column_transformer((OrdinalEncoder(), ["site"]), remainder="passthrough")
        model = make_pipeline(encoder, DecisionTreeClassifier(max_depth=4, random_state=0))
    model.fit(X, y)
    exact = pvf.flip_probability(model, X[:40], perturbation, method="exact")
    drawn = pvf.flip_probability(
        model, X[:40], perturbation, method="sample", n_draws=20_000, random_state=0
    )
    distance = np.abs(np.asarray(exact) - np.asarray(drawn)) / drawn.standard_error
    assert exact.exact
    assert distance.max() < 4


def test_what_bends_has_no_law(mixed):
    """A spline of a noisy column is named; "auto" draws, and the law of the score says so."""
    X, y, perturbation = mixed
    encoder = make_column_transformer((SplineTransformer(), ["age", "other"]))
    model = make_pipeline(encoder, LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match="SplineTransformer"):
        pvf.flip_probability(model, X, perturbation, method="exact")
    law = pvf.score_law(model, X, y, perturbation=perturbation, scoring="f1")
    assert "standard error" in repr(law)
    assert "exact" not in repr(law)


def test_each_sample_s_part_is_a_frame_and_a_plot():
    """The radius of a linear model is its distance from the border, by hand."""
    X = np.array([[-2.0, 0.0], [0.5, 0.0], [3.0, 0.0]])
    model = LogisticRegression(C=1e6).fit([[-1.0, 0.0], [1.0, 0.0]], [0, 1])
    noise = pvf.Perturbation(pvf.GaussianNoise(0.7)).fit(X)
    law = pvf.score_law(model, X, [0, 1, 1], perturbation=noise, scoring="accuracy")
    rows = law.samples(scale=0.7)
    border = np.abs(X @ model.coef_[0] + model.intercept_) / np.linalg.norm(model.coef_)
    assert rows["radius"].tolist() == pytest.approx(border.tolist())
    assert len(law.plot(samples=True).containers[0][0].get_xdata()) == 3
    assert law.plot().get_xlabel() == "score on a perturbed set"


@pytest.mark.parametrize("tiny", [5e-324, 1e-308, 3e-308, 1e-299])
def test_the_least_chances_have_a_law(tiny):
    """A sample that is flagged once in 10^300 copies counts as one that never is."""
    law = counts_law(np.array([tiny, 0.5]), 7)
    assert law[:8] == pytest.approx(stats.binom.pmf(np.arange(8), 7, 0.5))
    assert law[8:] == pytest.approx(0, abs=1e-290)
