"""The synthetic experiment as the paper words it: scikit-learn, imbalanced-learn, plain loops.

Nothing here is fast, and nothing is shared with the kernel of the sweep. Tests hold the two
together on the same data, and the benchmark divides the time of one by that of the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from imblearn.over_sampling import SMOTE
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from studies.data.datasets import make_clusters

__all__ = [
    "efficiency",
    "fit_models",
    "oversample",
    "perturbed_scores",
    "run_literally",
    "scores_of",
    "validation_scores",
]

PAIRS = list(itertools.combinations(range(5), 2))
CAPACITIES = (0.1, 0.3, 0.5, 0.7, 0.9)

Models = Sequence[LogisticRegression]
Noise = Callable[[int, int], NDArray[np.float64]]


def run_literally(
    n_samples: int,
    mu: float,
    sigma: float,
    rng: np.random.Generator,
    *,
    n_sets: int = 100,
    n_replicas: int = 7,
    aggregate: float = 0.25,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores of the ten models by both methods on one new data set (Appendix C.1, Algorithm 1).

    Parameters
    ----------
    n_samples : int
        Size n of the data set.
    mu : float
        Both coordinates of the positive cluster's centre.
    sigma : float
        Standard deviation of the perturbation.
    rng : numpy.random.Generator
        Source of all randomness.
    n_sets, n_replicas : int
        Perturbed validation sets M and replicas k in each.
    aggregate : float
        Quantile of the M scores.

    Returns
    -------
    pvf, traditional : ndarray of shape (10, 7)
        Scores by model and metric: IE at five capacities, F1, accuracy.

    Examples
    --------
    >>> pvf, traditional = run_literally(50, 2.9, 1e-6, np.random.default_rng(0), n_sets=2)
    >>> bool(np.allclose(pvf, traditional))
    True
    """
    X, y = make_clusters(n_samples, mu, rng)
    X_train, X_val, y_train, y_val = train_test_split(
        X.to_numpy(),
        y.to_numpy(),
        test_size=0.3,
        stratify=y,
        random_state=int(rng.integers(2**31)),
    )
    models = fit_models(*oversample(X_train, y_train, int(rng.integers(2**31))))
    pvf = perturbed_scores(
        models,
        X_val,
        y_val,
        sigma=sigma,
        n_sets=n_sets,
        n_replicas=n_replicas,
        aggregate=aggregate,
        noise=lambda _model, _m: rng.standard_normal((n_replicas, *X_val.shape)),
    )
    return pvf, validation_scores(models, X_val, y_val)


def oversample(
    X: NDArray[np.float64], y: NDArray[np.int64], random_state: int | np.random.RandomState
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Balance a training part with SMOTE; a single minority sample is duplicated.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    y : ndarray of shape (n_samples,)
        Labels 0 and 1, with 1 the minority.
    random_state : int or RandomState
        Source of randomness.

    Returns
    -------
    X, y : ndarray
        The samples given, then the new ones, all labelled 1.

    Examples
    --------
    >>> X, y = oversample(np.array([[0.0], [1.0], [5.0]]), np.array([0, 0, 1]), 0)
    >>> X.ravel().tolist(), y.tolist()
    ([0.0, 1.0, 5.0, 5.0], [0, 0, 1, 1])
    """
    n_minority = int((y == 1).sum())
    if n_minority < 2:
        n_new = int((y == 0).sum()) - n_minority
        return np.vstack([X, *[X[y == 1]] * n_new]), np.concatenate([y, np.ones(n_new, y.dtype)])
    smote = SMOTE(k_neighbors=min(5, n_minority - 1), random_state=random_state)
    return smote.fit_resample(X, y)


def fit_models(
    X: NDArray[np.float64], y: NDArray[np.int64], *, tol: float = 1e-4
) -> list[LogisticRegression]:
    """Logistic regression with scikit-learn's default penalty on each of the ten pairs.

    Parameters
    ----------
    X : ndarray of shape (n_samples, 5)
        Features.
    y : ndarray of shape (n_samples,)
        Labels.
    tol : float, default=1e-4
        The solver's tolerance. scikit-learn's default leaves errors of up to a hundredth in a
        coefficient; 1e-9 leaves none to speak of.

    Returns
    -------
    list of 10 LogisticRegression
    """
    return [LogisticRegression(tol=tol).fit(X[:, pair], y) for pair in PAIRS]


def validation_scores(
    models: Models, X: NDArray[np.float64], y: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Scores of each model on the validation set as it is: the traditional method.

    Parameters
    ----------
    models : sequence of 10 LogisticRegression
        Models of the pairs.
    X : ndarray of shape (n_validation, 5)
        Features.
    y : ndarray of shape (n_validation,)
        Labels.

    Returns
    -------
    ndarray of shape (10, 7)
    """
    return np.array(
        [scores_of(y, model.predict(X[:, pair])) for model, pair in zip(models, PAIRS, strict=True)]
    )


def perturbed_scores(
    models: Models,
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    *,
    sigma: float,
    n_sets: int,
    n_replicas: int,
    aggregate: float,
    noise: Noise,
) -> NDArray[np.float64]:
    """Return aggregated scores of each model by Algorithm 1.

    Parameters
    ----------
    models : sequence of 10 LogisticRegression
        Models of the pairs.
    X : ndarray of shape (n_validation, 5)
        Features.
    y : ndarray of shape (n_validation,)
        Labels.
    sigma : float
        Standard deviation of the perturbation.
    n_sets, n_replicas : int
        Perturbed sets M and replicas k in each.
    aggregate : float
        Quantile of the M scores.
    noise : callable
        ``noise(q, m)`` gives standard normal numbers of shape (n_replicas, n_validation, 5) for
        set m of model q.

    Returns
    -------
    ndarray of shape (10, 7)
    """
    labels = np.tile(y, n_replicas)
    aggregated = []
    for q, (model, pair) in enumerate(zip(models, PAIRS, strict=True)):
        scores = []
        for m in range(n_sets):
            perturbed = (X + sigma * noise(q, m)).reshape(-1, X.shape[1])
            scores.append(scores_of(labels, model.predict(perturbed[:, pair])))
        aggregated.append(np.quantile(scores, aggregate, axis=0))
    return np.array(aggregated)


def scores_of(y: NDArray[np.int64], predicted: NDArray[np.int64]) -> list[float]:
    """All scores of one set of predictions: IE at five capacities, F1, accuracy.

    Parameters
    ----------
    y, predicted : ndarray of shape (n_samples,)
        True and predicted labels, 0 or 1.

    Returns
    -------
    list of 7 float

    Examples
    --------
    >>> scores_of(np.array([1, 0, 0, 0, 0]), np.array([1, 1, 0, 0, 0]))[-2:]
    [0.6666666666666666, 0.8]
    """
    n_flagged = int(predicted.sum())
    n_positives = int(y.sum())
    n_hits = int((predicted & y).sum())
    f1 = 2 * n_hits / (n_flagged + n_positives)
    accuracy = float((predicted == y).mean())
    efficiencies = [efficiency(n_hits, n_flagged, n_positives, len(y), c) for c in CAPACITIES]
    return [*efficiencies, f1, accuracy]


def efficiency(
    n_hits: int, n_flagged: int, n_positives: int, n_samples: int, capacity: float
) -> float:
    """Intervention Efficiency from what it means (section 3.1).

    Expected true positives among the interventions, those flagged first and the rest at random,
    over the same number at random.

    Parameters
    ----------
    n_hits, n_flagged, n_positives, n_samples : int
        True positives, all flagged, all positives, all samples.
    capacity : float in (0, 1]
        Share γ that can receive an intervention.

    Returns
    -------
    float

    Examples
    --------
    >>> efficiency(1, 1, 2, 10, 0.5)  # one sure hit, four of nine others that hold one more
    1.4444444444444444
    """
    room = capacity * n_samples
    if n_flagged > room:
        found = room * n_hits / n_flagged
    elif n_flagged == n_samples:
        found = float(n_hits)
    else:
        found = n_hits + (room - n_flagged) * (n_positives - n_hits) / (n_samples - n_flagged)
    return found / (room * n_positives / n_samples)
