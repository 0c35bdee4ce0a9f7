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
from typing import Any, Literal

import joblib
import numpy as np
from sklearn import metrics

from pvf import _checks as check
from pvf import counts
from pvf._checks import shown
from pvf._people import POS_LABEL, People, check_people
from pvf._ranks import Unit, check_one_room, check_room, scalar_or_array, share_of
from pvf._types import Array, ArrayLike, NDArray, Scorer


def intervention_efficiency(
    precision: ArrayLike, recall: ArrayLike, prevalence: ArrayLike, capacity: ArrayLike
) -> Array | float:
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
    p = check.interval("precision", precision, 0, 1)
    r = check.interval("recall", recall, 0, 1)
    pi = check.interval("prevalence", prevalence, 0, 1, left_open=True)
    gamma = check.capacity(capacity)
    p, r, pi, gamma = check.broadcast(precision=p, recall=r, prevalence=pi, capacity=gamma)

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
    return scalar_or_array(value)


def intervention_efficiency_counts(
    tp: ArrayLike, fp: ArrayLike, n_pos: ArrayLike, n_neg: ArrayLike, capacity: ArrayLike
) -> Array | float:
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
    table = {"tp": tp, "fp": fp, "n_pos": n_pos, "n_neg": n_neg}
    finite = {name: check.finite(name, count) for name, count in table.items()}
    gamma = check.capacity(capacity)
    tp, fp, n_pos, n_neg, gamma = check.broadcast(**finite, capacity=gamma)
    if (n_pos <= 0).any():
        raise ValueError(
            f"n_pos must be above 0 (Intervention Efficiency needs a positive), got {n_pos.min()}."
        )
    if (n_neg < 0).any():
        raise ValueError(f"n_neg must be 0 or more, got {n_neg.min()}.")
    for name, some, of, whole in (("tp", tp, "n_pos", n_pos), ("fp", fp, "n_neg", n_neg)):
        outside = (some < 0) | (some > whole * (1 + 1e-12))  # sums of weights are rounded
        if outside.any():
            raise ValueError(
                f"{name} must lie between 0 and {of}, got {name}={some[outside][0]:g} "
                f"and {of}={whole[outside][0]:g}."
            )
    return scalar_or_array(counts.intervention_efficiency(tp, fp, n_pos, n_neg, gamma))


def intervention_efficiency_score(
    y_true: ArrayLike,
    y_pred: ArrayLike | None = None,
    *,
    y_score: ArrayLike | None = None,
    capacity: ArrayLike,
    capacity_unit: Unit = None,
    pos_label: Any = POS_LABEL,
    sample_weight: ArrayLike | None = None,
    values: Any = None,
    zero_division: str | float = "warn",
) -> Array | float:
    r"""Intervention Efficiency of predicted labels, or of a ranking, as a scikit-learn metric.

    By labels (``y_pred``), as in the paper's proposition: among the flagged, and then among the
    others, chance decides who is treated. By rank (``y_score``): the highest scores are treated;
    those on the same level at the edge of the capacity share the places left in expectation, and
    a fraction of a place is that fraction of the next person. Scores that differ by rounding alone
    (:math:`4 \cdot 10^{-15}` of their size) are on one level.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels, of two classes (of more with ``values``).
    y_score : array-like of shape (n_samples,)
        Instead of ``y_pred``: risks, or any number that is higher for who goes first. With a dict
        of ``values`` also of shape (n_samples, n_classes): probabilities of the sorted classes,
        which rank people by their expected value.
    capacity : float, int or array-like
        A share γ of the population in (0, 1], or a whole number of places (an int of 2 or more).
    capacity_unit : {"share", "places"}, optional
        What ``capacity`` is; an int of 1 needs it. Places may be fractional where it is "places".
        With weights a place is a weight of 1.
    pos_label : int, float, bool or str, default=1
        The label of a case. Labels such as {1, 2}, of which either could be the case, need it
        written out.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, 0 or more.
    values : dict or array-like of shape (n_samples,), optional
        What treating a person is worth, 0 or more: of each class, or of each person, who is worth
        nothing where he is no case. The score then is the value captured over the value captured
        by chance. By labels, the predicted classes go in the order of their values.
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
        Both or neither of ``y_pred`` and ``y_score``; more than two labels, ``pos_label`` not
        among them or left to its default where the labels are ambiguous; no positive; missing
        values; negative weights or values; a capacity that is no share, more places than people,
        or an int of 1 without a unit.

    See Also
    --------
    intervention_efficiency_counts : The same from counts.
    intervention_efficiency_interval : How sure it is.

    References
    ----------
    Zhang, Tran and Weng (2026), section 3.1.

    Examples
    --------
    >>> y_true = ["M", "B", "B", "M", "B"]
    >>> y_pred = ["M", "B", "M", "B", "B"]
    >>> float(intervention_efficiency_score(y_true, y_pred, capacity=0.4, pos_label="M"))
    1.25

    By rank, for two places; the last two of the first three share one:

    >>> risk = [0.9, 0.6, 0.6, 0.2, 0.1]
    >>> intervention_efficiency_score([1, 1, 0, 1, 0], y_score=risk, capacity=2)
    1.25

    For model selection, see `intervention_efficiency_scorer`.
    """
    room = check_room(capacity, capacity_unit)
    _check_zero_division(zero_division)
    people = check_people(y_true, y_pred, y_score, pos_label, sample_weight, values)
    share = share_of(room, people.weight.sum())
    if people.total == 0:
        if zero_division == "warn":
            what = "weight" if people.plain else "weight or value"
            raise ValueError(
                f"y_true has no positive (pos_label={pos_label!r}"
                + (f", all of its {what} is 0" if people.case.any() else "")
                + "): Intervention Efficiency is not defined there. Pass zero_division to get a "
                "number all the same."
            )
        return scalar_or_array(np.full(share.shape, float(zero_division)))
    return scalar_or_array(efficiency_of(people, share))


def efficiency_of(people: People, share: Array) -> Array:
    """Return IE of people at shares of them; by labels it comes from the counts."""
    true, weight, flagged = people.case, people.weight, people.flagged
    if flagged is None:
        return people.efficiency(share)
    tp, fp = weight[flagged & true].sum(), weight[flagged & ~true].sum()
    return counts.intervention_efficiency(tp, fp, weight[true].sum(), weight[~true].sum(), share)


def intervention_efficiency_scorer(
    capacity: float,
    *,
    by: Literal["labels", "rank"] = "labels",
    capacity_unit: Unit = None,
    pos_label: Any = POS_LABEL,
) -> Any:
    """Return a scikit-learn scorer of Intervention Efficiency at one capacity.

    Parameters
    ----------
    capacity : float or int
        Share γ of the population in (0, 1], or a whole number of places (an int of 2 or more),
        which is then out of the samples that are scored.
    by : {"labels", "rank"}, default="labels"
        Whether ``predict`` says who is treated, or the order of ``decision_function`` or
        ``predict_proba``, as in `intervention_efficiency_score`.
    capacity_unit : {"share", "places"}, optional
        What ``capacity`` is; an int of 1 needs it.
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
    >>> by_rank = intervention_efficiency_scorer(0.1, by="rank", pos_label=0)
    >>> cross_val_score(tree, X, y, scoring=by_rank).round(2)
    array([2.34, 2.5 , 2.63, 2.55, 2.55])
    """
    _, are_places = check_one_room(capacity, capacity_unit)
    check.choice("by", by, ("labels", "rank"))
    check.label("pos_label", pos_label)
    settings: dict[str, Any] = {"capacity": float(capacity), "pos_label": pos_label}
    if are_places:
        settings["capacity_unit"] = "places"
    if by == "labels":
        return metrics.make_scorer(intervention_efficiency_score, **settings)
    methods = ("decision_function", "predict_proba")
    return metrics.make_scorer(efficiency_by_rank, response_method=methods, **settings)


def efficiency_by_rank(y_true: ArrayLike, y_score: ArrayLike, **settings: Any) -> Any:
    """Intervention Efficiency of a ranking, in the order of arguments that a scorer calls with."""
    return intervention_efficiency_score(y_true, y_score=y_score, **settings)


def _counts_at(
    tp: Any, fp: Any, n_pos: Any, n_neg: Any, *, capacity: Any, capacity_unit: Unit = None
) -> Array:
    """Return IE of counts at a capacity in either unit."""
    n_people = np.add(n_pos, n_neg)
    share = share_of(check_room(capacity, capacity_unit), n_people)
    return counts.intervention_efficiency(tp, fp, n_pos, n_neg, share)


#: Metrics that depend on counts alone, each as a function of counts and with its settings.
_OF_COUNTS: dict[Callable[..., Any], tuple[Callable[..., Any], frozenset[str]]] = {
    metrics.accuracy_score: (counts.accuracy, frozenset()),
    metrics.balanced_accuracy_score: (counts.balanced_accuracy, frozenset()),
    metrics.precision_score: (counts.precision, frozenset({"zero_division"})),
    metrics.recall_score: (counts.recall, frozenset({"zero_division"})),
    metrics.f1_score: (counts.f1, frozenset({"zero_division"})),
    metrics.fbeta_score: (counts.fbeta, frozenset({"beta", "zero_division"})),
    intervention_efficiency_score: (_counts_at, frozenset({"capacity", "capacity_unit"})),
}
_SCORER = re.compile(
    r"make_scorer\((\w+)(, greater_is_better=False)?, response_method='predict'(.*)\)"
)


def count_metric(scorer: Scorer, classes: NDArray) -> tuple[Any, Callable[..., Array]] | None:
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
    if settings.get("zero_division") == "warn" or function is _counts_at:
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
    yield from (label for label in (POS_LABEL, *classes) if str(label) == text)


def _check_zero_division(value: Any) -> None:
    is_nan = isinstance(value, float | np.floating) and np.isnan(value)
    if is_nan or (isinstance(value, str) and value == "warn"):
        return
    try:
        check.number("zero_division", value, -np.inf)
    except (TypeError, ValueError) as error:
        message = f"zero_division must be 'warn' or a number, got {shown(value)}."
        raise ValueError(message) from error
