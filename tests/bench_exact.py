"""Time of exact laws of scores, against sets that are drawn."""

import functools

import numpy as np
from bench import Line, hundred_trees, timed
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import pvf


def bench_exact():
    """Time the laws of 100 trees against drawing 100 sets."""
    trees, X, y = hundred_trees()
    settings = _settings(X)
    _laws(trees[:1], X, y, **settings)
    drawn, _ = timed(lambda: pvf.perturbation_validation(trees, X, y, random_state=0, **settings))
    exact, _ = timed(lambda: _laws(trees, X, y, **settings))
    return [
        Line("exact laws: 100 trees, 20 rows, 30 features, k=7", exact, "s"),
        Line("    times faster than drawing M=100 sets", drawn / exact, "x", at_least=1),
    ]


def bench_exact_linear():
    """Time the laws of 1,000 logistic regressions, and one law of 100,000 samples."""
    X, y = make_classification(100_000, 30, random_state=0)
    rng = np.random.default_rng(0)
    models = [LogisticRegression().fit(X[rows], y[rows]) for rows in rng.choice(5000, (1000, 300))]
    settings = _settings(X)
    few = X[:1000], y[:1000]
    _laws(models[:1], *few, **settings)
    exact, _ = timed(lambda: _laws(models, *few, **settings))
    draw = functools.partial(pvf.perturbation_validation, models, *few, random_state=0, **settings)
    tenth, _ = timed(lambda: draw(n_sets=10))
    large, law = timed(lambda: _laws(models[:1], X, y, **settings)[0])
    return [
        Line("exact laws: 1,000 logistic regressions, 1,000 rows, k=7", exact, "s"),
        Line("    drawing M=1,000 sets, a hundred times what M=10 takes", 100 * tenth, "s"),
        Line("    times faster", 100 * tenth / exact, "x", at_least=50),
        Line("exact law: logistic regression, 100,000 rows", large, "s", at_most=5),
        Line("    bound on the error of its cdf, in 1e-9", 1e9 * law.error, "", at_most=10),
    ]


def _laws(models, X, y, **settings):
    """Return the law of each model's score; checks and metric are done once for all."""
    return pvf.perturbation_validation(models, X, y, method="exact", **settings).law


def _settings(X):
    return {
        "perturbation": pvf.Perturbation(pvf.GaussianNoise(0.2)).fit(X),
        "scoring": pvf.intervention_efficiency_scorer(0.3),
    }


BENCHES = [bench_exact, bench_exact_linear]
