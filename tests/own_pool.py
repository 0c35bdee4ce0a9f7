"""Pools of candidates as a reader would write them, for `package.module:callable`."""

import time
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_info

from pvf.select.candidates import encoder


def numbers_only():
    """Return pipelines of scikit-learn alone, which take numbers and gaps."""
    trees = {
        f"depth {depth}": make_pipeline(
            SimpleImputer(strategy="median"),
            DecisionTreeClassifier(max_depth=depth, random_state=1),
        )
        for depth in (1, 2, 3, 5)
    }
    scaled = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=500))
    return {**trees, "logistic": scaled, "again": scaled}


def small(columns):
    """Return a list made for the columns at hand."""
    return [
        make_pipeline(encoder(columns), LogisticRegression(C=c, class_weight="balanced"))
        for c in (0.01, 1.0)
    ] + [
        make_pipeline(
            encoder(columns),
            DecisionTreeClassifier(max_depth=2, class_weight="balanced", random_state=0),
        )
    ]


def stumps(columns):
    """Return two trees."""
    return [
        make_pipeline(encoder(columns), DecisionTreeClassifier(max_depth=depth, random_state=0))
        for depth in (1, 2)
    ]


class Witness(ClassifierMixin, BaseEstimator):
    """Flag by the first column; note how many threads sums may run on meanwhile."""

    threads: ClassVar[set[int]] = set()

    def fit(self, X, y):
        """Learn the column's middle."""
        self.classes_, self.middle_ = np.unique(y), X.iloc[:, 0].median()
        return self

    def predict(self, X):
        """Flag what lies above the middle."""
        self.threads.update(pool["num_threads"] for pool in threadpool_info())
        return (X.iloc[:, 0] > self.middle_).astype(int).to_numpy()


def witness():
    """Return a model that sees how it is called."""
    return [Witness()]


class Sleepy(ClassifierMixin, BaseEstimator):
    """Flag every other row; take a set time to fit and to predict."""

    fits = 0

    def __init__(self, to_fit=0.05, to_predict=0.02):
        self.to_fit, self.to_predict = to_fit, to_predict

    def fit(self, X, y):
        """Sleep, and count how often that was asked for."""
        Sleepy.fits += 1
        time.sleep(self.to_fit)
        self.n_features_in_, self.classes_ = X.shape[1], np.unique(y)
        return self

    def predict(self, X):
        """Sleep."""
        time.sleep(self.to_predict)
        return np.arange(len(X)) % 2


def sleepy():
    """Return twelve models of which each takes its time."""
    return [Sleepy() for _ in range(12)]


def without_probabilities(columns):
    """Return models that only decide."""
    return {f"svm {c:g}": make_pipeline(encoder(columns), LinearSVC(C=c)) for c in (0.01, 1.0)}


def flags_nobody():
    """Return a model that flags nobody where the outcome is rare."""
    return [make_pipeline(SimpleImputer(), DecisionTreeClassifier(max_depth=1, max_features=1))]


def regressors():
    """Return what cannot classify."""
    return [LinearRegression()]


def classes():
    """Return a class where an instance is wanted."""
    return {"tree": DecisionTreeClassifier}


def nothing():
    """Return no candidate."""
    return []


def fails():
    """Fail."""
    raise RuntimeError("out of luck")


numbers = [1, 2]
