"""AdaBoost as scikit-learn ran it by default until 2024 (the "SAMME.R" algorithm).

scikit-learn 1.6 removed this algorithm; ``AdaBoostClassifier`` now boosts class decisions (SAMME).
The papers of 2019 ran this one, which boosts class probabilities.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["RealAdaBoostClassifier"]


class RealAdaBoostClassifier(ClassifierMixin, BaseEstimator):
    """Real AdaBoost for two classes, with stumps.

    Each stump gives half the log odds h(x) of class 1 from the weighted shares in its leaves; the
    weight of a sample with sign s = ±1 is then multiplied by exp(−s·h(x)). The sum of all h(x)
    decides. With two classes, SAMME.R is this algorithm.

    Parameters
    ----------
    n_estimators : int, default=50
        Number of stumps; boosting stops early once a stump makes no error.
    random_state : int, RandomState or None
        Breaks ties between equally good splits.

    References
    ----------
    J. Friedman, T. Hastie, R. Tibshirani (2000), Additive logistic regression, Algorithm 2.
    J. Zhu, H. Zou, S. Rosset, T. Hastie (2009), Multi-class AdaBoost, Algorithm 4.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0)[:, None]
    >>> RealAdaBoostClassifier(random_state=0).fit(X, [0, 1, 1, 0, 0, 0]).predict(X).tolist()
    [0, 1, 1, 0, 0, 0]
    """

    def __init__(self, n_estimators: int = 50, random_state: Any = None) -> None:
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Boost stumps on X, of shape (n_samples, n_features), and y, with two classes."""
        X, y = validate_data(self, X, y, dtype=np.float32)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size != 2:
            raise ValueError(f"y must hold two classes, got {self.classes_.tolist()}")
        rng = check_random_state(self.random_state)
        signs = 2.0 * codes - 1
        weights = np.full(signs.size, 1 / signs.size)
        self.estimators_ = []
        for _ in range(self.n_estimators):
            stump = DecisionTreeClassifier(max_depth=1, random_state=rng.randint(2**31 - 1))
            stump.fit(X, codes, sample_weight=weights, check_input=False)
            self.estimators_.append(stump)
            log_odds = _half_log_odds(stump, X)
            if ((log_odds > 0) == (signs > 0)).all():
                break
            weights = np.maximum(weights * np.exp(-signs * log_odds), np.finfo(float).eps)
            weights /= weights.sum()
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Sum of the stumps' half log odds, shape (n_samples,); positive means class 1."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, reset=False)
        return np.sum([_half_log_odds(stump, X) for stump in self.estimators_], axis=0)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class of each row of X."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


def _half_log_odds(stump: DecisionTreeClassifier, X: Any) -> NDArray[np.float64]:
    shares = stump.tree_.predict(X)
    # a pure leaf has infinite odds
    shares = np.maximum(shares.reshape(len(X), -1), np.finfo(float).eps)
    return 0.5 * np.log(shares[:, 1] / shares[:, 0])
