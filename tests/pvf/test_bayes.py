"""Laws of Gaussian naive Bayes against noncentral chi-square laws, and against drawn copies."""

import numpy as np
import pytest
from drawn_copies import against_copies
from scipy import stats
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pvf

RNG = np.random.default_rng(0)
LEVELS = np.stack([RNG.integers(3, size=200), RNG.integers(2, size=200)], axis=1)
X = np.hstack([RNG.normal(size=(200, 3)) * [1, 2, 0.5], LEVELS])
Y = (X[:, 0] * X[:, 1] + X[:, 3] + RNG.normal(size=200) / 2 > 1).astype(int)
MODEL = GaussianNB().fit(X, Y)
FEW = X[:60]
FLIPS = {3: pvf.OrdinalShift(0.3, 0.5), 4: pvf.NominalFlip(0.2)}


def odds_of(x):
    """Return the log odds of each feature's values, and the prior ones."""
    one, two = (stats.norm.logpdf(x, MODEL.theta_[c], np.sqrt(MODEL.var_[c])) for c in (0, 1))
    return two - one, np.log(MODEL.class_prior_[1] / MODEL.class_prior_[0])


def above(odds, j, scale, x):
    """Return how likely noise on feature j brings the log odds above 0, by a chi-square law."""
    bend = (1 / MODEL.var_[0, j] - 1 / MODEL.var_[1, j]) / 2
    vertex = -(MODEL.theta_[1, j] / MODEL.var_[1, j] - MODEL.theta_[0, j] / MODEL.var_[0, j]) / (
        2 * bend
    )
    at_vertex = odds_of(np.full(X.shape[1], vertex))[0][j]
    # odds = others + at_vertex + bend (x + scale z - vertex)²
    reach = -(odds + at_vertex) / bend / scale**2
    centre = ((x - vertex) / scale) ** 2
    beyond = stats.ncx2.sf(np.maximum(reach, 0), 1, centre)
    beyond = np.where(reach <= 0, 1.0, beyond)
    return beyond if bend > 0 else 1 - beyond


def test_one_noisy_feature_has_a_chi_square_law():
    """The law of one quadratic is that of a noncentral chi-square."""
    noise = pvf.Perturbation({1: pvf.GaussianNoise(0.7)}).fit(X)
    flips = pvf.flip_probability(MODEL, FEW, noise, method="exact")
    parts, prior = odds_of(FEW)
    others = parts.sum(axis=1) - parts[:, 1] + prior
    expected = above(others, 1, 0.7, FEW[:, 1])
    np.testing.assert_allclose(np.asarray(flips), expected, atol=1e-9)
    assert flips.error == 0


def test_two_noisy_features_are_integrated():
    """The inversion is as near to the integral over one of two features as it says."""
    noise = pvf.Perturbation({0: pvf.GaussianNoise(0.5), 1: pvf.GaussianNoise(0.7)}).fit(X)
    flips = pvf.flip_probability(MODEL, FEW[:8], noise, method="exact")
    parts, prior = odds_of(FEW[:8])
    z = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    for i, x in enumerate(FEW[:8]):
        moved = odds_of(np.where(np.arange(5) == 0, x[0] + 0.5 * z[:, None], x))[0][:, 0]
        others = parts[i, 2:].sum() + prior + moved
        expected = above(others, 1, 0.7, x[1]).mean()
        assert abs(expected - np.asarray(flips)[i]) <= flips.error + 1e-5
    assert flips.error < 1e-3
    assert "exact within" in repr(flips)


@pytest.mark.parametrize("kind", ["numbers", "levels", "both", "one and levels", "scaled"])
def test_law_is_that_of_drawn_copies(kind):
    """Of 4,000 copies of each sample as many are flagged as the law says."""
    numbers = {j: pvf.GaussianNoise(0.3 + 0.2 * j) for j in range(3)}
    chosen = {
        "numbers": numbers,
        "levels": FLIPS,
        "one and levels": {1: pvf.GaussianNoise(0.7)} | FLIPS,
    }
    noise = pvf.Perturbation(chosen.get(kind, numbers | FLIPS)).fit(X)
    model = make_pipeline(StandardScaler(), GaussianNB()).fit(X, Y) if kind == "scaled" else MODEL
    flips = pvf.flip_probability(model, FEW, noise, method="exact")
    z, off = against_copies(flips, model, noise, FEW)
    assert len(z) > 20
    assert np.abs(z).max() < 4
    assert 0.5 < (z**2).mean() < 1.6
    assert (np.abs(off) < 25).all()
