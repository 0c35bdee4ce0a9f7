"""Perturbed Model Validation: refit on noisier and noisier labels, watch training accuracy fall.

The method is that of Zhang, Barr, Guedj, Harman and Shawe-Taylor (2019), "Perturbed Model
Validation: A New Framework to Validate Model Relevance". A model that suits the data cannot
follow labels that were flipped at random, so its accuracy on the labels it was trained on falls
as more are flipped. A model that is too flexible learns the flipped labels as well, and one that
is too stiff had little accuracy to lose; both fall slowly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs
from scipy import stats
from sklearn.base import clone, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils import gen_even_slices
from sklearn.utils.multiclass import type_of_target
from threadpoolctl import threadpool_limits

from pvf import _checks as check
from pvf import plotting
from pvf._checks import naming, shown
from pvf._seeds import Seed, generator_of, scorer_seed, seed_sequence
from pvf._types import Array, ArrayLike, Axes, Indices, NDArray, Scorer

__all__ = [
    "PAPER_NOISE_LEVELS",
    "PerturbedModelValidationResult",
    "flip_labels",
    "perturbed_model_validation",
    "pmv_scorer",
    "with_random_states",
]

PAPER_NOISE_LEVELS: tuple[float, ...] = tuple(np.round(np.arange(11) * 0.05, 2).tolist())
"""The paper's levels: the data as they are, then 0.05 to 0.50 in steps of 0.05."""


@dataclass(frozen=True, eq=False, repr=False)
class PerturbedModelValidationResult:
    """Training accuracies under label noise, and the rate at which they fall.

    Parameters
    ----------
    noise_levels : ndarray of shape (n_levels,)
        Share of each class whose labels were flipped.
    accuracies : ndarray of shape (n_repeats, n_levels)
        Accuracy on the perturbed labels that the model was trained on.

    See Also
    --------
    perturbed_model_validation : Makes one.
    """

    noise_levels: Array
    accuracies: Array

    def __post_init__(self) -> None:
        """Check the arrays, and freeze them too."""
        levels = _checked_noise_levels(self.noise_levels)
        accuracies = check.interval("accuracies", self.accuracies, 0, 1)
        check.shape("accuracies", accuracies, (-1, levels.size), as_in="noise_levels")
        for name, array in (("noise_levels", levels), ("accuracies", accuracies)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        low, high = self.slope_interval
        n_repeats, n_levels = self.accuracies.shape
        interval = f" ({low:.3g} to {high:.3g})" if n_repeats > 1 else ""
        return (
            f"<PerturbedModelValidationResult of {n_repeats} repeats at {n_levels} noise levels: "
            f"slope {self.slope:.3g}{interval}>"
        )

    @property
    def slopes(self) -> Array:
        """Least-squares slope of each repeat, shape (n_repeats,)."""
        centred = self.noise_levels - self.noise_levels.mean()
        falls = self.accuracies - self.accuracies.mean(axis=1, keepdims=True)
        return falls @ centred / (centred @ centred)

    @property
    def slope(self) -> float:
        """Least-squares slope over all points, the paper's k (eq. 1); negative when falling.

        All repeats share their levels, so this is also the mean of `slopes`.
        """
        return float(self.slopes.mean())

    @property
    def slope_interval(self) -> tuple[float, float]:
        """95% t interval for `slope` over repeats; both ends NaN when there is one repeat."""
        slopes = self.slopes
        if slopes.size < 2:
            return (float("nan"), float("nan"))
        half_width = stats.t.ppf(0.975, slopes.size - 1) * stats.sem(slopes)
        return (self.slope - float(half_width), self.slope + float(half_width))

    @property
    def decrease_rate(self) -> float:
        """The paper's measure, the absolute value of `slope`; the largest is preferred."""
        return abs(self.slope)

    @property
    def intercept(self) -> float:
        """Accuracy of the fitted line at no noise."""
        return float(self.accuracies.mean() - self.slope * self.noise_levels.mean())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per repeat and level: `repeat`, `noise_level`, `accuracy`."""
        n_repeats, n_levels = self.accuracies.shape
        return pd.DataFrame(
            {
                "repeat": np.repeat(np.arange(n_repeats), n_levels),
                "noise_level": np.tile(self.noise_levels, n_repeats),
                "accuracy": self.accuracies.ravel(),
            }
        )

    def plot(self, ax: Axes | None = None, *, label: str | None = None, **line: Any) -> Axes:
        """Draw every accuracy as a point and the fitted line through them.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        label : str, optional
            Name of the model in a legend.
        **line
            Passed to ``Axes.plot`` for the line; its colour is used for the points too.

        Returns
        -------
        matplotlib Axes
        """
        check.text("label", label)
        ax = check.axes(ax) or plotting.new_axes()
        ends = np.array([self.noise_levels.min(), self.noise_levels.max()])
        (drawn,) = ax.plot(ends, self.intercept + self.slope * ends, label=label, **line)
        points = self.to_frame()
        ax.scatter(
            points["noise_level"], points["accuracy"], s=12, alpha=0.5, color=drawn.get_color()
        )
        ax.set(xlabel="share of labels flipped", ylabel="training accuracy")
        return ax


def flip_labels(y: ArrayLike, noise_level: float, random_state: Seed = None) -> NDArray[Any]:
    """Flip a share of the labels of each class.

    From each class of size n exactly ``round(noise_level * n)`` labels (halves to even) are
    chosen without replacement. Each becomes another class: the other one where there are two,
    one of the others with equal probability where there are more.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of any kind, two classes or more.
    noise_level : float in [0, 0.5]
        Share of each class to flip.
    random_state : int, SeedSequence, Generator, RandomState or None
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_samples,)
        A copy of `y` with the chosen labels changed.

    Raises
    ------
    ValueError
        If `y` has fewer than two classes, if `noise_level` is outside [0, 0.5], or if it is
        positive and so small that a class would have no label flipped.

    Examples
    --------
    >>> flip_labels(["a", "a", "a", "a", "b", "b", "b", "b"], 0.25, random_state=0)
    array(['a', 'a', 'a', 'b', 'b', 'b', 'a', 'b'], dtype='<U1')
    """
    classes, codes = _encoded_labels(y)
    level = check.number("noise_level", noise_level, 0, 0.5)
    quotas = _flip_quotas("noise_level", classes, codes, level)
    flipped = _flipped_codes(codes, quotas, generator_of(random_state))
    return classes[flipped]


def perturbed_model_validation(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    noise_levels: Sequence[float],
    n_repeats: int = 1,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> PerturbedModelValidationResult:
    """Measure how fast training accuracy falls when labels are flipped (PMV, Definition 1).

    For each noise level r, the share r of the labels of each class is flipped, the estimator is
    cloned and fitted to the perturbed labels, and its accuracy on those same labels is taken.
    The result is the least-squares slope of accuracy over r. The paper prefers the model with
    the largest absolute slope.

    Parameters
    ----------
    estimator : scikit-learn classifier or pipeline
        Cloned for each fit, so it is left as it is, fitted or not. Every parameter called
        ``random_state``, in nested estimators too, is set from `random_state`.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Handed to the estimator as it is.
    y : array-like of shape (n_samples,)
        Labels of any kind, two classes or more; see `flip_labels` for what happens to them.
    noise_levels : sequence of float
        Two or more different shares in [0, 0.5]; 0 means the data as they are. Definition 1
        takes 0 and the levels above it; `PAPER_NOISE_LEVELS` are those of its experiments.
    n_repeats : int, default=1
        How often the whole sequence is run, with new flips and new estimator seeds. The paper
        runs once; two or more give an interval.
    random_state : int, SeedSequence, Generator, RandomState or None
        Two calls with one seed flip the same labels whatever the estimator, so candidates are
        compared on the same noise.
    n_jobs : int or None
        Number of joblib workers. The result has the same bits for any value: each fit has its
        own seed and runs on one thread.

    Returns
    -------
    PerturbedModelValidationResult

    Raises
    ------
    TypeError
        If the estimator cannot be cloned, fitted and asked for predictions, or is a regressor; if
        `n_repeats` is not a whole number or `noise_levels` are not numbers.
    ValueError
        If `y` does not hold two or more classes or differs from `X` in length, if
        `noise_levels` are fewer than two, repeated or outside [0, 0.5], if rounding leaves a
        class without a flipped label at a positive level, or if `n_repeats` is below 1.

    Notes
    -----
    The slope is comparable between models on one data set, not between data sets: where one
    class is larger, even a model that always answers the larger class falls with slope
    ``-(n_larger - n_smaller) / n_samples``.

    Examples
    --------
    An unlimited tree learns any labels, so nothing falls; a shallow one cannot.

    >>> from sklearn.datasets import make_moons
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> levels = [0.0, 0.1, 0.3, 0.5]
    >>> for depth in (None, 3):
    ...     tree = DecisionTreeClassifier(max_depth=depth)
    ...     result = perturbed_model_validation(
    ...         tree, X, y, noise_levels=levels, n_repeats=5, random_state=0
    ...     )
    ...     print(depth, round(result.decrease_rate, 1))
    None 0.0
    3 0.7
    """
    _check_estimator(estimator)
    classes, codes = _encoded_labels(y)
    check.samples("X", X, len(codes))
    levels = _checked_noise_levels(noise_levels)
    check.integer("n_repeats", n_repeats, 1)
    check.n_jobs(n_jobs)
    quotas = [_flip_quotas("noise_levels", classes, codes, level) for level in levels]
    seeds = seed_sequence(random_state).spawn(int(n_repeats) * levels.size)
    fits = [(quotas[i % levels.size], seed) for i, seed in enumerate(seeds)]
    workers = effective_n_jobs(n_jobs)
    n_parts = min(len(fits), 4 * workers if workers > 1 else 1)
    accuracies = Parallel(n_jobs=n_jobs)(
        delayed(_training_accuracies)(estimator, X, classes, codes, fits[part])
        for part in gen_even_slices(len(fits), n_parts)
    )
    accuracies = np.concatenate(accuracies).reshape(-1, levels.size)
    return PerturbedModelValidationResult(levels, accuracies)


def pmv_scorer(
    *,
    noise_levels: Sequence[float] = PAPER_NOISE_LEVELS,
    n_repeats: int = 1,
    random_state: int | np.random.SeedSequence | np.random.Generator | np.random.RandomState = 0,
) -> Scorer:
    """Make a scorer ``(estimator, X, y) -> absolute slope``, larger being preferred.

    PMV refits the estimator on the rows it is given and needs no held-out part. To search a
    grid with it, hand every row to both sides of one "split", as in the example.

    Parameters
    ----------
    noise_levels, n_repeats
        As in `perturbed_model_validation`.
    random_state : int, SeedSequence, Generator or RandomState, default=0
        Seed. A generator is asked once, so that every candidate meets the same noise.

    Returns
    -------
    callable
        Fit for ``scoring=`` of scikit-learn's searches, and for `pvf.selection.rank_models`. It
        refuses weights: PMV counts labels, and a weighted form is not defined.

    Raises
    ------
    ValueError, TypeError
        If an argument is of the wrong kind or range.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> everything = np.arange(len(y))
    >>> search = GridSearchCV(
    ...     DecisionTreeClassifier(),
    ...     {"max_depth": [1, 5, 20]},
    ...     scoring=pmv_scorer(n_repeats=5),
    ...     cv=[(everything, everything)],
    ... )
    >>> search.fit(X, y).best_params_
    {'max_depth': 5}
    """
    levels = _checked_noise_levels(noise_levels)
    check.integer("n_repeats", n_repeats, 1)
    seed = scorer_seed(random_state)
    return _PMVScorer(tuple(levels.tolist()), int(n_repeats), seed)


@dataclass(frozen=True)
class _PMVScorer:
    """A scorer that is picklable and prints its settings."""

    noise_levels: tuple[float, ...]
    n_repeats: int
    random_state: int | np.random.SeedSequence

    def __call__(self, estimator: Any, X: Any, y: ArrayLike, sample_weight: Any = None) -> float:
        if sample_weight is not None:
            raise ValueError(
                "sample_weight must be None: PMV flips a share of each class's labels, and has no "
                "weighted form."
            )
        return perturbed_model_validation(estimator, X, y, **vars(self)).decrease_rate


def _check_estimator(estimator: Any) -> None:
    missing = [name for name in ("fit", "predict", "get_params") if not hasattr(estimator, name)]
    if isinstance(estimator, type) or missing:
        lacks = "is a class, not an instance" if not missing else f"has no {', '.join(missing)}"
        raise TypeError(f"estimator must be a scikit-learn classifier; {estimator!r} {lacks}.")
    if is_regressor(estimator):
        raise TypeError(f"estimator must be a classifier, got the regressor {estimator!r}.")
    parts = [estimator, *estimator.get_params(deep=True).values()]
    frozen = [part for part in parts if isinstance(part, FrozenEstimator)]
    if frozen:
        raise TypeError(
            "estimator must be refitted, on labels that were flipped, which a FrozenEstimator "
            f"refuses: give the model itself, got {shown(frozen[0])}."
        )


def _encoded_labels(y: ArrayLike) -> tuple[NDArray[Any], Indices]:
    labels = check.column("y", y)
    if labels.dtype == object:  # how pandas hands strings over
        kinds = sorted({type(label).__name__ for label in labels})
        if len(kinds) > 1:
            raise ValueError(f"y must hold labels of one type, got {kinds}.")
        labels = np.array(labels.tolist())
    kind = type_of_target(labels, input_name="y")
    classes, codes = np.unique(labels, return_inverse=True)
    if kind not in {"binary", "multiclass"}:
        raise ValueError(f"y must hold class labels, got a target of type {kind!r}.")
    if classes.size < 2:
        raise ValueError(f"y must hold at least two classes, got {classes.tolist()}.")
    return classes, codes


def _checked_noise_levels(noise_levels: ArrayLike) -> Array:
    levels = check.finite("noise_levels", noise_levels)
    if levels.ndim != 1 or levels.size < 2:
        raise ValueError(f"noise_levels must be 2 or more shares, got {shown(noise_levels)}.")
    check.interval("noise_levels", levels, 0, 0.5)
    if np.unique(levels).size < levels.size:
        raise ValueError(f"noise_levels must differ from each other, got {levels.tolist()}.")
    return levels


def _flip_quotas(name: str, classes: NDArray[Any], codes: Indices, level: float) -> Indices:
    sizes = np.bincount(codes)
    # 0.35 * 90 is 31.499999999999996 in floats, and 31.5 is meant
    quotas = np.rint(np.round(level * sizes, 9)).astype(np.intp)
    if level > 0 and (quotas == 0).any():
        k = int(np.argmin(quotas))
        raise ValueError(
            f"{name}: {level:g} of y's class {classes.tolist()[k]!r} ({sizes[k]} samples) rounds "
            "to no flipped label; give larger levels or more samples of that class."
        )
    return quotas


def _flipped_codes(codes: Indices, quotas: Indices, rng: np.random.Generator) -> Indices:
    flipped = codes.copy()
    for k, quota in enumerate(quotas):
        chosen = rng.choice(np.flatnonzero(codes == k), size=quota, replace=False)
        flipped[chosen] = (k + rng.integers(1, quotas.size, size=quota)) % quotas.size
    return flipped


def with_random_states(estimator: Any, rng: np.random.Generator) -> Any:
    """Set every ``random_state`` of an estimator, in nested ones too.

    Parameters
    ----------
    estimator : estimator or pipeline
        Changed in place.
    rng : numpy Generator
        Gives the seeds, to parameters in alphabetical order.

    Returns
    -------
    estimator
        The same object.

    Examples
    --------
    >>> from sklearn.linear_model import SGDClassifier
    >>> seeded = with_random_states(SGDClassifier(), np.random.default_rng(0))
    >>> seeded.random_state is None
    False
    """
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise TypeError(f"estimator must be a scikit-learn estimator, got {shown(estimator)}.")
    check.rng(rng)
    names = sorted(
        name
        for name in estimator.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    )
    return estimator.set_params(**{name: int(rng.integers(2**31)) for name in names})


def _training_accuracies(
    estimator: Any,
    X: Any,
    classes: NDArray[Any],
    codes: Indices,
    fits: list[tuple[Indices, np.random.SeedSequence]],
) -> list[float]:
    accuracies = []
    # sums run in another order on another number of threads, and workers get fewer
    with threadpool_limits(limits=1):
        for quotas, seed in fits:
            flip_rng, model_rng = (np.random.default_rng(child) for child in seed.spawn(2))
            y = classes[_flipped_codes(codes, quotas, flip_rng)]
            model = with_random_states(clone(estimator), model_rng)
            with naming("estimator, fitted to X"):
                model.fit(X, y)
                predicted = model.predict(X)
            accuracies.append(float(np.mean(np.asarray(predicted) == y)))
    return accuracies
