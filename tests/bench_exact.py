"""Time of exact laws of scores, against sets that are drawn."""

import numpy as np
from bench import Line, timed
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import pvf
from pvf.exact import score_laws


def bench_exact():
    """Time the laws of 100 trees against drawing 100 sets, and one law of 100,000 samples."""
    rng = np.random.default_rng(0)
    X, y = make_classification(120, 30, n_informative=6, weights=[0.6], random_state=0)
    trees = []
    for _ in range(100):
        rows = rng.choice(100, 70, replace=False)
        tree = DecisionTreeClassifier(max_depth=4, random_state=int(rng.integers(2**31)))
        trees.append(tree.fit(X[rows], y[rows]))
    settings = {
        "perturbation": pvf.Perturbation(pvf.GaussianNoise(0.2)).fit(X),
        "scoring": pvf.intervention_efficiency_scorer(0.3),
    }
    X, y = X[100:], y[100:]
    score_laws(trees[:1], X, y, **settings)
    drawn, _ = timed(lambda: pvf.perturbation_validation(trees, X, y, random_state=0, **settings))
    exact, _ = timed(lambda: score_laws(trees, X, y, **settings))
    X, y = make_classification(100_000, 30, random_state=0)
    model = LogisticRegression().fit(X[:2000], y[:2000])
    large, _ = timed(lambda: score_laws([model], X, y, **settings))
    return [
        Line("exact laws: 100 trees, 20 rows, 30 features, k=7", exact, "s"),
        Line("    times faster than drawing M=100 sets", drawn / exact, "x", at_least=1),
        Line("exact law: logistic regression, 100,000 rows", large, "s", at_most=5),
    ]


BENCHES = [bench_exact]
