"""Laws of scores beside drawn sets: ``python tests/exact_agreement.py`` prints the whole table.

Random models on a table of numbers, grades and categories are drawn on many perturbed sets; each
metric's law is held against the scores seen by a chi-square test of the whole law, by the mean and
by the share of scores up to the law's quartile.
"""

import functools
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pvf
from pvf import counts
from pvf.exact import laws_where_known

N_CASES, N_OTHERS, N_REPLICAS = 5, 7, 2
NOISE = {
    0: pvf.GaussianNoise(0.5),
    1: pvf.GaussianNoise(0.8),
    3: pvf.OrdinalShift(0.2, 0.5),
    4: pvf.NominalFlip(0.15),
}
METRICS = {
    "accuracy": counts.accuracy,
    "balanced accuracy": counts.balanced_accuracy,
    "precision": counts.precision,
    "recall": counts.recall,
    "F1": counts.f1,
    "IE@0.3": functools.partial(counts.intervention_efficiency, capacity=0.3),
}
KINDS = {
    "logistic": LogisticRegression(),
    "tree": DecisionTreeClassifier(max_depth=4),
    "forest": RandomForestClassifier(5, max_depth=3),
    "bagging": BaggingClassifier(DecisionTreeClassifier(max_depth=2), 5),
    "gradient stumps": GradientBoostingClassifier(n_estimators=30, max_depth=1),
    "histogram stumps": HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=2),
    "AdaBoost stumps": AdaBoostClassifier(n_estimators=21),
    "naive Bayes": GaussianNB(),
}


def agreement(models, n_sets, factors=(0.3, 1.0, 2.0), seed=0):
    """Return one row for each model, noise level and metric: chi-square p, z of mean and quartile.

    Models are numbers: they take turns over the kinds, each on data of its own.
    """
    rows = []
    for i in models:
        name = list(KINDS)[i % len(KINDS)]
        rng = np.random.default_rng([seed, i])
        X, y = _data(rng, 150)
        model = clone(KINDS[name])
        if "random_state" in model.get_params():
            model.set_params(random_state=i)
        model.fit(X, y)
        few = np.r_[np.flatnonzero(y == 1)[:N_CASES], np.flatnonzero(y == 0)[:N_OTHERS]]
        for factor in factors:
            noise = pvf.Perturbation(NOISE).scaled(factor).fit(X)
            table = drawn_counts(model, X[few], noise, n_sets, rng)
            n_pos, n_neg = N_REPLICAS * N_CASES, N_REPLICAS * N_OTHERS
            grid = np.ogrid[: n_pos + 1, : n_neg + 1]
            metrics = [(1, score) for score in METRICS.values()]
            laws = laws_where_known([model], X[few], y[few], noise, metrics, N_REPLICAS)
            for (metric, score), (law,) in zip(METRICS.items(), laws, strict=True):
                scores = np.broadcast_to(score(*grid, n_pos, n_neg), table.shape)
                rows.append(
                    {"kind": name, "model": i, "noise": factor, "metric": metric}
                    | _compared(law, scores[table > 0], table[table > 0])
                )
    return pd.DataFrame(rows)


def drawn_counts(model, X, noise, n_sets, rng):
    """Return how many sets have each number of true and of false positives."""
    table = np.zeros((N_REPLICAS * N_CASES + 1, N_REPLICAS * N_OTHERS + 1), dtype=int)
    for start in range(0, n_sets, 5000):
        size = min(5000, n_sets - start)
        flagged = model.predict(noise.sample(X, size * N_REPLICAS, rng)) == 1
        flagged = flagged.reshape(size, -1, len(X)).sum(axis=1)
        np.add.at(table, (flagged[:, :N_CASES].sum(axis=1), flagged[:, N_CASES:].sum(axis=1)), 1)
    return table


def _data(rng, n):
    levels = np.stack([rng.integers(4, size=n), rng.integers(3, size=n)], axis=1)
    X = np.hstack([rng.normal(size=(n, 3)), levels])
    weights = rng.normal(size=5)
    odds = X @ weights + 2 * (X[:, 0] * X[:, 1]) + (X[:, 4] == 1) + rng.normal(size=n)
    return X, (odds > np.quantile(odds, 0.6)).astype(int)


def _compared(law, scores, seen):
    """Return the chi-square test of the law, and how many standard errors two summaries are off."""
    n = seen.sum()
    place = np.abs(law.support - scores[:, None]).argmin(axis=1)
    assert np.allclose(law.support[place], scores, rtol=1e-9)  # nothing is seen beside the support
    found = np.bincount(place, seen, len(law.support))
    often = law.probabilities * n >= 5
    observed = np.append(found[often], found[~often].sum())
    expected = np.append(law.probabilities[often], law.probabilities[~often].sum()) * n
    if expected[-1] < 5:  # too few for a cell of their own
        observed[-2] += observed[-1]
        expected[-2] += expected[-1]
        observed, expected = observed[:-1], expected[:-1]
    p = 1.0
    if len(observed) > 1:
        p = stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue
    upto = float(law.cdf(law.quantile(0.25)))
    share = found[law.support <= law.quantile(0.25) + 1e-12].sum() / n
    spread = np.sqrt(max(upto * (1 - upto), 1e-300) / n)
    error = law.sd / np.sqrt(n)
    return {
        "p": p,
        "mean_z": ((found @ law.support) / n - law.mean) / error if error else 0.0,
        "quartile_z": (share - upto) / spread if 1e-12 < upto < 1 - 1e-12 else 0.0,
    }


def summary(table):
    """Return how many tests there are of each kind and noise, and how extreme their ends are."""
    grouped = table.groupby(["kind", "noise"], sort=False)
    return pd.DataFrame(
        {
            "laws": grouped.size(),
            "least p": grouped["p"].min(),
            "share p < 0.05": grouped["p"].agg(lambda p: (p < 0.05).mean()),
            "largest |z| of means": grouped["mean_z"].agg(lambda z: z.abs().max()),
            "largest |z| of quartiles": grouped["quartile_z"].agg(lambda z: z.abs().max()),
        }
    ).round(4)


if __name__ == "__main__":
    found = agreement(range(40), int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
    print(summary(found).to_string())
    print(len(found), "laws; p below 0.05:", round((found["p"] < 0.05).mean(), 4))
    print("least p:", found["p"].min(), " times the number of laws:", found["p"].min() * len(found))
