"""Time of exact laws of scores, against sets that are drawn."""

from bench import Line, hundred_trees, timed
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import pvf
from pvf.exact import score_laws


def bench_exact():
    """Time the laws of 100 trees against drawing 100 sets, and one law of 100,000 samples."""
    trees, X, y = hundred_trees()
    settings = {
        "perturbation": pvf.Perturbation(pvf.GaussianNoise(0.2)).fit(X),
        "scoring": pvf.intervention_efficiency_scorer(0.3),
    }
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
