"""Intervention Efficiency: how many more cases a model reaches than chance, at a given capacity.

Three forms of the same number: the closed form in precision and recall
(`intervention_efficiency`), the form in counts (`intervention_efficiency_counts`), which is
defined wherever there is a positive, and a scikit-learn metric (`intervention_efficiency_score`).
"""

from __future__ import annotations

import ast
import functools
import itertools
import pickle
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn import metrics
from sklearn.exceptions import NotFittedError
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from pvf import counts, plotting
from pvf._checks import (
    check_axes,
    check_broadcast,
    check_capacity,
    check_column,
    check_finite,
    check_integer,
    check_interval,
    check_label,
    check_number,
    check_numeric,
    check_samples,
    check_shape,
    check_text,
    naming,
    shown,
)
from pvf._seeds import Seed, generator_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _DefaultPosLabel(int):
    """The integer 1 as a default, told apart from a 1 that the caller wrote."""


_POS_LABEL = _DefaultPosLabel(1)


def intervention_efficiency(
    precision: ArrayLike, recall: ArrayLike, prevalence: ArrayLike, capacity: ArrayLike
) -> NDArray[np.float64] | float:
    r"""Intervention Efficiency from precision, recall, prevalence and capacity.

    .. math::

        \mathrm{IE}_\gamma = \frac{s p + (\gamma - s)\frac{\pi - s p}{1 - s}}{\gamma \pi},
        \qquad s = \min\left(\gamma, \frac{\pi r}{p}\right)

    The four arguments broadcast against each other. Precision, recall and prevalence belong to
    the same set of samples (section 3.1 of the paper).

    Parameters
    ----------
    precision, recall : array-like of float in [0, 1]
        Precision p and recall r of the model.
    prevalence : array-like of float in (0, 1]
        Share π of positives.
    capacity : array-like of float in (0, 1]
        Share γ of the population that can receive an intervention.

    Returns
    -------
    float or ndarray
        IE: 1 is as good as chance. NaN, with a `RuntimeWarning`, where precision and recall are
        both 0 and capacity is below 1: the formula is 0/0 there, since it cannot tell a model
        that flags nobody (IE = 1) from one that flags only negatives (IE < 1). The counts can:
        see `intervention_efficiency_counts`.

    Raises
    ------
    ValueError
        An argument is NaN, infinite or outside its interval.

    References
    ----------
    Zhang, Tran and Weng (2026), Proposition 3.1.

    Examples
    --------
    A model that finds 8 of 10 cases among 16 flagged, 100 people, room for 20 interventions:

    >>> float(round(intervention_efficiency(0.5, 0.8, 0.1, 0.2), 4))
    4.0476
    >>> intervention_efficiency(0.5, 0.8, 0.1, [0.1, 0.2, 1.0]).round(4)
    array([5.    , 4.0476, 1.    ])
    """
    p = check_interval("precision", precision, 0, 1)
    r = check_interval("recall", recall, 0, 1)
    pi = check_interval("prevalence", prevalence, 0, 1, left_open=True)
    gamma = check_capacity(capacity)
    p, r, pi, gamma = check_broadcast(precision=p, recall=r, prevalence=pi, capacity=gamma)

    undefined = (p == 0) & (r == 0) & (gamma < 1)
    if undefined.any():
        warnings.warn(
            "Intervention Efficiency is 0/0 where precision and recall are both 0: it cannot be "
            "told whether nobody or only negatives were flagged. NaN is returned there; use "
            "intervention_efficiency_counts.",
            RuntimeWarning,
            stacklevel=2,
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.minimum(gamma, pi * r / p)  # s, the share that the model's flags take up
        rest = np.where(share < 1, (gamma - share) * (pi - share * p) / (1 - share), 0.0)
        value = (share * p + rest) / (gamma * pi)
    value = np.where(gamma == 1, 1.0, np.where(undefined, np.nan, value))
    return _scalar_or_array(value)


def intervention_efficiency_counts(
    tp: ArrayLike, fp: ArrayLike, n_pos: ArrayLike, n_neg: ArrayLike, capacity: ArrayLike
) -> NDArray[np.float64] | float:
    r"""Intervention Efficiency from counts; defined wherever there is a positive.

    With F = TP + FP flagged, β people, α positives and room for c = γβ interventions,

    .. math::

        \mathrm{IE}_\gamma = \frac{\mathrm{TP}\,\beta}{F \alpha}\quad (F > c), \qquad
        \mathrm{IE}_\gamma =
        \frac{\mathrm{TP} + (c - F)\frac{\alpha - \mathrm{TP}}{\beta - F}}{\gamma \alpha}
        \quad (F \le c).

    Where c is not whole, IE is the ratio of expectations with a fractional last intervention.
    Nobody flagged gives 1, everybody flagged gives 1, and γ = 1 gives 1.

    Parameters
    ----------
    tp, fp : array-like of float
        Flagged positives and flagged negatives: whole numbers, or sums of sample weights.
    n_pos, n_neg : array-like of float
        Positives (above 0) and negatives (0 or more).
    capacity : array-like of float in (0, 1]
        Share γ of the population that can receive an intervention.

    Returns
    -------
    float or ndarray
        IE, of the shape that the five arguments broadcast to.

    Raises
    ------
    ValueError
        An argument is NaN or infinite, there is no positive, ``tp`` is outside [0, n_pos], ``fp``
        is outside [0, n_neg], or ``capacity`` is outside (0, 1].

    References
    ----------
    Zhang, Tran and Weng (2026), Appendix A (ii) to (iv).

    Examples
    --------
    >>> intervention_efficiency_counts(tp=8, fp=8, n_pos=10, n_neg=90, capacity=[0.1, 0.2]).round(4)
    array([5.    , 4.0476])
    >>> intervention_efficiency_counts(tp=0, fp=0, n_pos=10, n_neg=90, capacity=0.1)
    1.0
    """
    tp, fp = check_finite("tp", tp), check_finite("fp", fp)
    n_pos, n_neg = check_finite("n_pos", n_pos), check_finite("n_neg", n_neg)
    gamma = check_capacity(capacity)
    tp, fp, n_pos, n_neg, gamma = check_broadcast(
        tp=tp, fp=fp, n_pos=n_pos, n_neg=n_neg, capacity=gamma
    )
    if (n_pos <= 0).any():
        raise ValueError(
            f"n_pos must be above 0 (Intervention Efficiency needs a positive), got {n_pos.min()}."
        )
    if (n_neg < 0).any():
        raise ValueError(f"n_neg must be 0 or more, got {n_neg.min()}.")
    for name, flagged, whole_name, whole in (
        ("tp", tp, "n_pos", n_pos),
        ("fp", fp, "n_neg", n_neg),
    ):
        outside = (flagged < 0) | (flagged > whole * (1 + 1e-12))  # sums of weights are rounded
        if outside.any():
            raise ValueError(
                f"{name} must lie between 0 and {whole_name}, got {name}={flagged[outside][0]:g} "
                f"and {whole_name}={whole[outside][0]:g}."
            )
    return _scalar_or_array(counts.intervention_efficiency(tp, fp, n_pos, n_neg, gamma))


def intervention_efficiency_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    capacity: ArrayLike,
    pos_label: Any = _POS_LABEL,
    sample_weight: ArrayLike | None = None,
    zero_division: str | float = "warn",
) -> NDArray[np.float64] | float:
    """Intervention Efficiency of predicted labels, as a scikit-learn metric.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels, of two classes.
    capacity : float or array-like of float in (0, 1]
        Share γ of the population that can receive an intervention.
    pos_label : int, float, bool or str, default=1
        The label of a case. Labels such as {1, 2}, of which either could be the case, need it
        written out.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, 0 or more.
    zero_division : "warn" or float, default="warn"
        What to return when ``y_true`` holds no positive, where IE has no value. "warn" refuses
        with a `ValueError`, the strongest warning, since a number there would be made up. (A
        model that flags nobody is no zero division here: its IE is 1, without a warning.)

    Returns
    -------
    float or ndarray
        A float for a scalar ``capacity``, else an array of its shape.

    Raises
    ------
    ValueError
        More than two labels, ``pos_label`` not among them or left to its default where the labels
        are ambiguous, no positive, missing values, negative weights, capacity outside (0, 1].

    See Also
    --------
    intervention_efficiency_counts : The same from counts.

    References
    ----------
    Zhang, Tran and Weng (2026), section 3.1.

    Examples
    --------
    >>> y_true = ["M", "B", "B", "M", "B"]
    >>> y_pred = ["M", "B", "M", "B", "B"]
    >>> float(intervention_efficiency_score(y_true, y_pred, capacity=0.4, pos_label="M"))
    1.25

    For model selection, see `intervention_efficiency_scorer`.
    """
    gamma = check_capacity(capacity)
    _check_zero_division(zero_division)
    true, pred, weight = _check_labels(y_true, y_pred, pos_label, sample_weight)
    n_pos, n_neg = weight[true].sum(), weight[~true].sum()
    if n_pos == 0:
        if zero_division == "warn":
            raise ValueError(
                f"y_true has no positive (pos_label={pos_label!r}"
                + (", all of its weight is 0" if true.any() else "")
                + "): Intervention Efficiency is not defined there. Pass zero_division to get a "
                "number all the same."
            )
        return _scalar_or_array(np.full(gamma.shape, float(zero_division)))
    tp, fp = weight[pred & true].sum(), weight[pred & ~true].sum()
    return _scalar_or_array(counts.intervention_efficiency(tp, fp, n_pos, n_neg, gamma))


def intervention_efficiency_scorer(capacity: float, *, pos_label: Any = _POS_LABEL) -> Any:
    """Return a scikit-learn scorer of Intervention Efficiency at one capacity.

    Parameters
    ----------
    capacity : float in (0, 1]
        Share γ of the population that can receive an intervention.
    pos_label : int, float, bool or str, default=1
        The label of a case.

    Returns
    -------
    callable
        A scorer ``(estimator, X, y) -> float``, for ``scoring=`` wherever scikit-learn takes one.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> scorer = intervention_efficiency_scorer(0.1, pos_label=0)  # 0 is malignant there
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    >>> cross_val_score(tree, X, y, scoring=scorer).round(2)
    array([2.34, 2.45, 2.46, 2.46, 2.55])
    """
    check_number("capacity", capacity, 0, 1, left_open=True)
    check_label("pos_label", pos_label)
    return metrics.make_scorer(
        intervention_efficiency_score, capacity=float(capacity), pos_label=pos_label
    )


#: Metrics that depend on counts alone, each as a function of counts and with its settings.
_OF_COUNTS: dict[Callable[..., Any], tuple[Callable[..., Any], frozenset[str]]] = {
    metrics.accuracy_score: (counts.accuracy, frozenset()),
    metrics.balanced_accuracy_score: (counts.balanced_accuracy, frozenset()),
    metrics.precision_score: (counts.precision, frozenset({"zero_division"})),
    metrics.recall_score: (counts.recall, frozenset({"zero_division"})),
    metrics.f1_score: (counts.f1, frozenset({"zero_division"})),
    metrics.fbeta_score: (counts.fbeta, frozenset({"beta", "zero_division"})),
    intervention_efficiency_score: (counts.intervention_efficiency, frozenset({"capacity"})),
}
_SCORER = re.compile(
    r"make_scorer\((\w+)(, greater_is_better=False)?, response_method='predict'(.*)\)"
)


def count_metric(
    scorer: Callable[..., float], classes: NDArray
) -> tuple[Any, Callable[..., NDArray[np.float64]]] | None:
    """Return a scorer's case label and its score as a function of counts, where it is one.

    Parameters
    ----------
    scorer : callable
        Made by `sklearn.metrics.make_scorer`, by name, or by `intervention_efficiency_scorer`.
    classes : ndarray
        The labels that occur.

    Returns
    -------
    (label, function) or None
        The function takes true positives, false positives, cases and others. None for scores that
        depend on more, for settings that are not known here, and where there are not two classes.

    Examples
    --------
    >>> label, score = count_metric(metrics.get_scorer("precision"), np.array([0, 1]))
    >>> print(label, score(np.array([8, 0]), np.array([8, 0]), 10, 90))
    1 [0.5 0. ]
    """
    made = _made_of(scorer, classes) if len(classes) == 2 else None
    if made is None:
        return None
    metric, sign, settings = made
    function, known = _OF_COUNTS[metric]
    case_label = settings.pop("pos_label", 1)
    if settings.pop("average", "binary") != "binary":
        return None
    if settings.get("zero_division") == "warn" or function is counts.intervention_efficiency:
        settings.pop("zero_division", None)  # which says what to give where there is no case
    if function in (counts.accuracy, counts.balanced_accuracy):
        case_label = classes[1]
    if case_label not in classes or settings.keys() - known:
        return None
    if not np.isfinite(settings.get("beta", 1.0)):  # recall, in the limit
        return None
    return case_label, functools.partial(_signed, sign, function, settings)


def _signed(
    sign: int, function: Callable[..., NDArray], settings: dict[str, Any], *table: Any
) -> NDArray:
    return sign * function(*table, **settings)


def _made_of(
    scorer: Any, classes: NDArray
) -> tuple[Callable[..., Any], int, dict[str, Any]] | None:
    """Return the metric, the sign and the settings that a scorer was made of, if it is known.

    A scorer prints them; that they are read rightly is seen from a scorer made of them, which has
    the same hash.
    """
    match = _SCORER.fullmatch(repr(scorer))
    metric = {known.__name__: known for known in _OF_COUNTS}.get(match[1]) if match else None
    if match is None or metric is None:
        return None
    try:
        known_by = joblib.hash(scorer)
    except pickle.PicklingError:  # a metric of the user's own, of a known name
        return None
    sign = -1 if match[2] else 1
    texts = dict(re.findall(r", (\w+)=(.*?)(?=, \w+=|$)", match[3]))
    for values in itertools.product(*(_readings(text, classes) for text in texts.values())):
        settings = dict(zip(texts, values, strict=True))
        twin = metrics.make_scorer(metric, greater_is_better=sign > 0, **settings)
        if joblib.hash(twin) == known_by:
            return metric, sign, settings
    return None


def _readings(text: str, classes: NDArray) -> Iterator[Any]:
    """Give the values that are printed like this."""
    with suppress(ValueError, SyntaxError):
        yield ast.literal_eval(text)
    with suppress(ValueError):
        yield float(text)
    yield text
    yield from (label for label in (_POS_LABEL, *classes) if str(label) == text)


def _check_labels(
    y_true: ArrayLike, y_pred: ArrayLike, pos_label: Any, sample_weight: ArrayLike | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64]]:
    """Truth and prediction as booleans, and the weights."""
    check_label("pos_label", pos_label)
    true, pred = _label_column("y_true", y_true), _label_column("y_pred", y_pred)
    if len(true) != len(pred):
        raise ValueError(
            f"y_true and y_pred must have the same length, got {len(true)} and {len(pred)}."
        )
    if (true.dtype.kind in "OUST") != (pred.dtype.kind in "OUST"):
        raise ValueError(
            f"y_true and y_pred hold labels of different types: {true.dtype} and {pred.dtype}."
        )
    labels = pd.unique(np.concatenate([true, pred])).tolist()
    if len(labels) > 2:
        raise ValueError(f"y_true and y_pred must hold two classes, got {len(labels)}: {labels}.")
    if pos_label not in labels and len(labels) == 2:
        raise ValueError(
            f"pos_label={pos_label!r} is not a valid label: it should be one of {labels}."
        )
    if isinstance(pos_label, _DefaultPosLabel) and any(label not in (-1, 0, 1) for label in labels):
        raise ValueError(
            f"The labels {labels} do not say which class is the case: pass pos_label (one of them)."
        )
    return true == pos_label, pred == pos_label, _weights(sample_weight, len(true))


def _weights(sample_weight: ArrayLike | None, n_samples: int) -> NDArray[np.float64]:
    """One weight a sample: 1 where none are given."""
    if sample_weight is None:
        return np.ones(n_samples)
    weight = check_interval("sample_weight", sample_weight, 0, np.inf)
    check_shape("sample_weight", weight, (n_samples,))
    if not weight.any():
        raise ValueError("sample_weight must be above 0 for some sample, got 0 for all.")
    return weight


def _label_column(name: str, labels: ArrayLike) -> NDArray:
    """One column of class labels, without missing values."""
    column = check_column(name, labels)
    if column.dtype.kind in "OT":  # an object array hides what it holds; pandas finds out
        column = pd.Series(column, dtype=object).infer_objects().to_numpy()
    if type_of_target(column, input_name=name).startswith("continuous"):
        raise ValueError(f"{name} must hold class labels, got continuous values.")
    return column


def _check_zero_division(value: Any) -> None:
    is_nan = isinstance(value, float | np.floating) and np.isnan(value)
    if is_nan or (isinstance(value, str) and value == "warn"):
        return
    try:
        check_number("zero_division", value, -np.inf)
    except (TypeError, ValueError) as error:
        message = f"zero_division must be 'warn' or a number, got {shown(value)}."
        raise ValueError(message) from error


def _check_fitted_classifier(estimator: Any) -> None:
    if isinstance(estimator, type) or not hasattr(estimator, "predict"):
        raise TypeError(
            f"estimator must be a fitted classifier with predict, got {shown(estimator)}."
        )
    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise NotFittedError(
            f"estimator ({type(estimator).__name__}) is not fitted: call fit with training data."
        ) from error


def _curve(name: str, value: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """One number at each capacity; NaN where there is none, which leaves a gap."""
    array = check_numeric(name, value)
    check_shape(name, array, shape, as_in="capacity")
    if np.isinf(array).any():
        raise ValueError(f"{name} must not be infinite.")
    return array


def _scalar_or_array(value: NDArray[np.float64]) -> NDArray[np.float64] | float:
    return float(value) if np.ndim(value) == 0 else value


@dataclass(eq=False)
class InterventionEfficiencyDisplay:
    """Intervention Efficiency over capacity, between its upper limit and chance.

    Made by `from_predictions` or `from_estimator`.

    Parameters
    ----------
    capacity : ndarray of shape (n_capacities,)
        Capacities γ, as shares of the population.
    efficiency : ndarray of shape (n_capacities,)
        IE at each capacity.
    prevalence : float
        Share of positives; the upper limit is min(1/γ, 1/π).
    band : tuple of two ndarray of shape (n_capacities,), optional
        Lower and upper end of the bootstrap interval.
    confidence_level : float, default=0.95
        Level of the band.
    name : str, optional
        What the legend calls the model.

    Attributes
    ----------
    ax_, figure_, line_
        The Matplotlib objects, once plotted.

    Examples
    --------
    >>> display = InterventionEfficiencyDisplay.from_predictions(
    ...     [1, 0, 0, 1, 0], [1, 0, 1, 0, 0], capacity=[0.2, 0.4, 1.0], name="tree"
    ... )
    >>> display.efficiency
    array([1.25, 1.25, 1.  ])
    """

    capacity: NDArray[np.float64]
    efficiency: NDArray[np.float64]
    prevalence: float
    band: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    confidence_level: float = 0.95
    name: str | None = None
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)
    line_: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check what was given, so that a slip isn't found only when it is drawn."""
        self.capacity = check_capacity(self.capacity)
        check_shape("capacity", self.capacity, (-1,))
        self.efficiency = _curve("efficiency", self.efficiency, self.capacity.shape)
        self.prevalence = check_number("prevalence", self.prevalence, 0, 1, left_open=True)
        check_number("confidence_level", self.confidence_level, 0, 1, left_open=True)
        check_text("name", self.name)
        if self.band is not None:
            if not isinstance(self.band, tuple | list | np.ndarray) or len(self.band) != 2:
                raise TypeError(f"band must be a pair of arrays or None, got {shown(self.band)}.")
            low, high = (_curve("band", end, self.capacity.shape) for end in self.band)
            self.band = (low, high)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        capacity: ArrayLike | None = None,
        pos_label: Any = _POS_LABEL,
        sample_weight: ArrayLike | None = None,
        n_bootstraps: int = 0,
        confidence_level: float = 0.95,
        random_state: Seed = None,
        name: str | None = None,
        ax: Axes | None = None,
        **line_kwargs: Any,
    ) -> InterventionEfficiencyDisplay:
        """Draw IE over capacity for predicted labels.

        Parameters
        ----------
        y_true, y_pred, pos_label, sample_weight
            As in `intervention_efficiency_score`.
        capacity : array-like of float in (0, 1], optional
            Where to draw; 0.01, 0.02, ... 1 by default.
        n_bootstraps : int, default=0
            Resamples for the band, drawn within each class, so that the prevalence stays; 0 draws
            no band.
        confidence_level : float in (0, 1], default=0.95
            Level of the percentile band.
        random_state : int, SeedSequence, Generator, RandomState or None
            Seed of the bootstrap.
        name : str, optional
            Name in the legend.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **line_kwargs
            Passed on to the line.

        Returns
        -------
        InterventionEfficiencyDisplay
        """
        gamma = np.linspace(0.01, 1, 100) if capacity is None else check_capacity(capacity)
        gamma = np.atleast_1d(gamma)
        check_integer("n_bootstraps", n_bootstraps, 0)
        check_number("confidence_level", confidence_level, 0, 1, left_open=True)
        check_text("name", name)
        check_axes(ax)
        rng = generator_of(random_state)
        efficiency = intervention_efficiency_score(
            y_true, y_pred, capacity=gamma, pos_label=pos_label, sample_weight=sample_weight
        )
        true, pred, weight = _check_labels(y_true, y_pred, pos_label, sample_weight)
        band = None
        if n_bootstraps:
            resampled = bootstrap_efficiency(true, pred, weight, gamma, n_bootstraps, rng)
            tail = (1 - confidence_level) / 2
            low, high = np.quantile(resampled, [tail, 1 - tail], axis=0)
            band = (low, high)
        display = cls(
            capacity=gamma,
            efficiency=np.asarray(efficiency),
            prevalence=float(weight[true].sum() / weight.sum()),
            band=band,
            confidence_level=confidence_level,
            name=name,
        )
        return display.plot(ax=ax, **line_kwargs)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, name: str | None = None, **kwargs: Any
    ) -> InterventionEfficiencyDisplay:
        """Draw IE over capacity for a fitted classifier's ``predict``.

        Parameters
        ----------
        estimator : fitted classifier or pipeline
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        name : str, optional
            Name in the legend; the estimator's class by default.
        **kwargs
            As in `from_predictions`.

        Returns
        -------
        InterventionEfficiencyDisplay
        """
        _check_fitted_classifier(estimator)
        check_samples("X", X, len(_label_column("y", y)))
        check_text("name", name)
        name = type(estimator).__name__ if name is None else name
        with naming("X"):
            predicted = estimator.predict(X)
        return cls.from_predictions(y, predicted, name=name, **kwargs)

    @property
    def upper_limit(self) -> NDArray[np.float64]:
        """IE of a perfect model at each capacity: min(1/γ, 1/π)."""
        return np.minimum(1 / self.capacity, 1 / self.prevalence)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **line_kwargs: Any
    ) -> InterventionEfficiencyDisplay:
        """Draw onto ``ax``, or onto a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        name : str, optional
            Name in the legend.
        **line_kwargs
            Passed on to the line.

        Returns
        -------
        InterventionEfficiencyDisplay
            Itself, with ``ax_``, ``figure_`` and ``line_``.
        """
        check_text("name", name)
        ax = check_axes(ax) or plotting.new_axes()
        (line,) = ax.plot(
            self.capacity, self.efficiency, **{"label": name or self.name or "model", **line_kwargs}
        )
        if self.band is not None:
            ax.fill_between(
                self.capacity,
                *self.band,
                color=line.get_color(),
                alpha=0.2,
                linewidth=0,
                label=f"{100 * self.confidence_level:g}% bootstrap interval",
            )
        # Models on the same axes share the line of chance and, at one prevalence, the limit.
        drawn = {other.get_gid() for other in ax.lines}
        limit = f"limit {self.prevalence:.9g} {self.capacity.min():.9g} {self.capacity.max():.9g}"
        grey: dict[str, Any] = {"color": "0.35", "linewidth": 1}
        if limit not in drawn:
            ax.plot(self.capacity, self.upper_limit, "--", label="perfect model", gid=limit, **grey)
        if "chance" not in drawn:
            ax.axhline(1, linestyle=":", label="random choice", gid="chance", **grey)
        ax.set(
            xlabel="capacity γ (share of the population)",
            ylabel="Intervention Efficiency (ratio to random choice)",
        )
        plotting.as_written(ax.legend(frameon=False).get_texts())
        self.ax_, self.figure_, self.line_ = ax, ax.figure, line
        return self


def bootstrap_efficiency(
    true: NDArray[np.bool_],
    pred: NDArray[np.bool_],
    weight: NDArray[np.float64],
    gamma: NDArray[np.float64],
    n_bootstraps: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """IE of resamples within each class, of shape (n_bootstraps, n_capacities)."""
    totals = []
    for is_class in (true & (weight > 0), ~true & (weight > 0)):
        flagged, whole = (weight * pred)[is_class], weight[is_class]
        draws = (rng.integers(max(len(whole), 1), size=len(whole)) for _ in range(n_bootstraps))
        totals.append([(flagged[draw].sum(), whole[draw].sum()) for draw in draws])
    (tp, n_pos), (fp, n_neg) = np.moveaxis(np.array(totals, dtype=float), 2, 1)[..., None]
    return counts.intervention_efficiency(tp, fp, n_pos, n_neg, gamma)
