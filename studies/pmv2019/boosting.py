"""AdaBoost as scikit-learn ran it by default until 2024 (the "SAMME.R" algorithm).

scikit-learn 1.6 removed this algorithm; ``AdaBoostClassifier`` now boosts class decisions (SAMME).
The papers of 2019 ran this one, which boosts class probabilities.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pvf._types import Array, Indices

_EPSILON = np.finfo(float).eps


class RealAdaBoostClassifier(ClassifierMixin, BaseEstimator):
    """Real AdaBoost for two classes, with stumps.

    Each stump splits one feature where the weighted Gini impurity falls most (the first of equally
    good splits), and gives half the log odds h(x) of class 1 from the weighted shares on its two
    sides. The weight of a sample with sign s = ±1 is then multiplied by exp(−s·h(x)). The sum of
    all h(x) decides. With two classes, SAMME.R is this algorithm.

    Parameters
    ----------
    n_estimators : int, default=50
        Number of stumps; boosting stops early once a stump makes no error.

    References
    ----------
    J. Friedman, T. Hastie, R. Tibshirani (2000), Additive logistic regression, Algorithm 2.
    J. Zhu, H. Zou, S. Rosset, T. Hastie (2009), Multi-class AdaBoost, Algorithm 4.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0)[:, None]
    >>> RealAdaBoostClassifier().fit(X, [0, 1, 1, 0, 0, 0]).predict(X).tolist()
    [0, 1, 1, 0, 0, 0]
    """

    def __init__(self, n_estimators: int = 50) -> None:
        self.n_estimators = n_estimators

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Boost stumps on X, of shape (n_samples, n_features), and y, with two classes."""
        rows: Any
        rows, y = validate_data(self, X, y, dtype=float)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size != 2:
            raise ValueError(f"y must hold two classes, got {self.classes_.tolist()}")
        signs = 2.0 * codes - 1
        weights = np.full(signs.size, 1 / signs.size)
        order = np.argsort(rows, axis=0, kind="stable")
        in_order = np.take_along_axis(rows, order, axis=0)
        self.stumps_ = []
        for _ in range(self.n_estimators):
            stump = _best_stump(in_order, order, np.array([weights * (1 - codes), weights * codes]))
            self.stumps_.append(stump)
            log_odds = stump(rows)
            if ((log_odds > 0) == (signs > 0)).all():
                break
            weights = np.maximum(weights * np.exp(-signs * log_odds), _EPSILON)
            weights /= weights.sum()
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Sum of the stumps' half log odds, shape (n_samples,); positive means class 1."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=float, reset=False)
        return np.sum([stump(X) for stump in self.stumps_], axis=0)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class of each row of X."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


class _Stump(NamedTuple):
    feature: int
    threshold: float
    low: float
    high: float

    def __call__(self, X: Any) -> Array:
        """Return half the log odds of class 1 for each row."""
        return np.where(X[:, self.feature] <= self.threshold, self.low, self.high)


def _best_stump(in_order: Array, order: Indices, weights: Array) -> _Stump:
    """Split where the weighted Gini impurity is least; weights have shape (2, n_samples)."""
    ordered = weights[:, order]  # class, rank of the sample, feature
    low = ordered.cumsum(axis=1)[:, :-1]
    # summed from the far end: a difference from the total would lose weights that are tiny
    high = ordered[:, ::-1].cumsum(axis=1)[:, -2::-1]
    impurity = low.prod(axis=0) / low.sum(axis=0) + high.prod(axis=0) / high.sum(axis=0)
    impurity[in_order[1:] <= in_order[:-1]] = np.inf  # equal values cannot be parted
    row, feature = (int(i) for i in np.unravel_index(impurity.argmin(), impurity.shape))
    if np.isinf(impurity[row, feature]):
        prior = _half_log_odds(weights.sum(axis=1))
        return _Stump(0, np.inf, prior, prior)
    return _Stump(
        feature,
        (in_order[row, feature] + in_order[row + 1, feature]) / 2,
        _half_log_odds(low[:, row, feature]),
        _half_log_odds(high[:, row, feature]),
    )


def _half_log_odds(weights: Array) -> float:
    shares = np.maximum(weights / weights.sum(), _EPSILON)  # one class alone has infinite odds
    return float(0.5 * np.log(shares[1] / shares[0]))
