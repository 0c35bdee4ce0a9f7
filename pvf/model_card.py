"""A model card for a model selected by perturbation validation, as Markdown or as an HTML page.

The card says what a reader needs to judge the selection: on which data and by which metric the
model was chosen, how many candidates did just as well, for whom these disagree, how good the model
is on other samples, and what all this does not tell. Every number in it is computed from the
result and the data given, or is marked as stated by the author.
"""

from __future__ import annotations

import functools
import itertools
import numbers
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest
from sklearn import config_context
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import type_of_target

import pvf
from pvf import render
from pvf._checks import (
    check_capacity,
    check_integer,
    check_label,
    check_number,
    check_scorer,
    naming,
    shown,
)
from pvf._outputs import write_whole
from pvf._seeds import seed_sequence
from pvf.metrics import intervention_efficiency_counts, intervention_efficiency_score
from pvf.multiplicity import (
    ambiguity,
    capacity_tail,
    discrepancy,
    multiplicity_table,
    rashomon_set,
)
from pvf.render import counted, number, span
from pvf.validation import (
    PerturbationValidationResult,
    _break_tie,
    _check_labels_of_validation,
    _count_metric,
    _scores_of_sets,
    tied_best,
)

__all__ = ["ModelCard", "model_card"]

#: Cases below which a validation sample is called small: Collins, Ogundimu and Altman (2016).
FEW_CASES = 100

#: Names of aggregates that are recognised from the scores.
_AGGREGATES: Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "lower quartile": lambda scores: np.quantile(scores, 0.25, axis=1),
    "median": lambda scores: np.median(scores, axis=1),
    "mean": lambda scores: scores.mean(axis=1),
    "minimum": lambda scores: scores.min(axis=1),
}


#: The file in ``pvf/templates`` by which a card is written.
_TEMPLATE = "model_card.j2"


@dataclass(frozen=True)
class ModelCard:
    """A model card; made by `model_card`.

    Attributes
    ----------
    title : str
    facts : mapping of str to str, int, float or bool
        The numbers that the card shows, unrounded, such as ``n_tied``, ``best_score``,
        ``validation_capacity_mean``, ``validation_ambiguity`` and, with external samples,
        ``external_score`` with ``external_score_low`` and ``external_score_high``.
    details : mapping
        What the card shows besides: texts, limits and tables.

    Examples
    --------
    See `model_card`.
    """

    title: str
    facts: Mapping[str, Any]
    details: Mapping[str, Any] = field(repr=False)

    def __post_init__(self) -> None:
        """Check the parts, which `model_card` makes."""
        _check_texts(title=self.title)
        _check_mappings(facts=self.facts, details=self.details)

    @property
    def page(self) -> dict[str, Any]:
        """What the template of cards shows."""
        card = {"title": self.title, "facts": self.facts, **self.details}
        return {"title": self.title, "card": card}

    def to_markdown(self) -> str:
        """Return the card as Markdown (CommonMark with tables).

        Returns
        -------
        str
        """
        return render.as_markdown(_TEMPLATE, self.page)

    def to_html(self) -> str:
        """Return the card as one HTML page that needs no other file and no network.

        Returns
        -------
        str
        """
        return render.as_page(_TEMPLATE, self.page)

    def _repr_html_(self) -> str:
        """Show the card in a notebook, in the notebook's colours."""
        return render.as_fragment(_TEMPLATE, self.page)

    def save(self, path: str | Path) -> Path:
        """Write the card to a file; a file of that name is replaced in one step, or not at all.

        Parameters
        ----------
        path : path-like
            Ends in ``.md`` or ``.html``, which says what is written. The folder must exist.

        Returns
        -------
        pathlib.Path

        Raises
        ------
        ValueError
            The name ends otherwise.
        OSError
            The file cannot be written.
        """
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"path must be a path, got {shown(path)}.")
        path = Path(path)
        writers = {".md": self.to_markdown, ".html": self.to_html}
        if path.suffix.lower() not in writers:
            raise ValueError(f"path must end in .md or .html, got {path.name!r}.")
        write_whole(path, writers[path.suffix.lower()]().encode())
        return path


def model_card(
    result: PerturbationValidationResult,
    *,
    X: Any = None,
    y: ArrayLike | None = None,
    scoring: str | Callable[..., float] | None = None,
    capacity: float | None = None,
    metric: str | None = None,
    pos_label: Any = None,
    external: tuple[Any, ArrayLike] | Mapping[str, Any] | None = None,
    epsilon: float | None = None,
    threshold: float = 0.5,
    title: str = "Model card",
    intended_use: str | None = None,
    data_name: str | None = None,
    data: Mapping[str, Any] | None = None,
    kinds: Mapping[Any, str] | None = None,
    unit: str = "samples",
    limits: Sequence[str] = (),
    n_contested: int = 5,
    n_resamples: int = 1000,
    confidence_level: float = 0.95,
    random_state: Any = 0,
) -> ModelCard:
    """Describe a selected model: data, metric, ties, multiplicity, performance and limits.

    Parameters
    ----------
    result : PerturbationValidationResult
        From `perturbation_validation`.
    X : frame or array of shape (n_samples, n_features), optional
        The validation samples that the result was computed on. Without them the card has no
        multiplicity and no performance.
    y : array-like of shape (n_samples,), optional
        Their labels; given together with ``X``.
    scoring : str or callable, optional
        What the result was computed with. It names the metric, gives intervals and scores the
        external samples; with ``X`` and ``y`` it must give the result's unperturbed scores.
    capacity : float in (0, 1], optional
        Capacity γ; by default that of ``scoring``, where it has one.
    metric : str, optional
        Name of the metric; by default that of ``scoring``.
    pos_label : label, optional
        The label of a case where there are two classes; by default that of ``scoring``, or the
        larger one.
    external : tuple (X, y) or mapping, optional
        Samples that had no part in training or selection, which are then scored; or numbers that
        are known from elsewhere, by name, which are shown as stated.
    epsilon : float, optional
        The Rashomon set whose multiplicity is shown has all candidates whose PVF score is at most
        this much below the best; 0 for those that tie. By default a twentieth of the best score's
        size.
    threshold : float in [0, 1], default=0.5
        A candidate decides "case" where its score is above it. Two classes only.
    title : str, default="Model card"
    intended_use : str, optional
        What the model is for, and what not.
    data_name : str, optional
    data : mapping, optional
        More that a reader should know about the data, such as the source or the number of training
        samples: values by label, shown as stated.
    kinds : mapping of column to str, optional
        Kind of each column of ``X``, such as "numeric", "nominal" or "ordinal"; by default told
        from the types of the columns.
    unit : str, default="samples"
        What a row is called, in the plural: "patients", for example.
    limits : sequence of str, optional
        Known limits, shown after those that the data tell.
    n_contested : int, default=5
        How many samples with the largest capacity are listed by name (the frame's index, or the
        row number). 0 where names must not be shown.
    n_resamples : int, default=1000
        Draws for the intervals of scores: from the posterior of true and false positive rates
        under Jeffreys' prior where the score depends on these alone; resamples of the samples
        within each class for any other score.
    confidence_level : float, default=0.95
        Level of all intervals.
    random_state : int, SeedSequence, Generator, RandomState or None, default=0
        What draws them.

    Returns
    -------
    ModelCard

    Raises
    ------
    ValueError, TypeError
        An argument is of the wrong kind or range, or ``X``, ``y`` and ``scoring`` are not what the
        result was computed with.

    See Also
    --------
    perturbation_validation : Selects the model.
    rashomon_capacity : How much the tied candidates disagree about a sample.

    References
    ----------
    Mitchell et al. (2019), Model cards for model reporting.
    Collins, Ogundimu and Altman (2016), Sample size considerations for the external validation of a
    multivariable prognostic model: at least 100 events.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import pvf
    >>> X, y = make_classification(500, random_state=0)
    >>> trees = [
    ...     DecisionTreeClassifier(max_depth=4, max_features=5, random_state=seed).fit(
    ...         X[:100], y[:100]
    ...     )
    ...     for seed in range(20)
    ... ]
    >>> scoring = pvf.intervention_efficiency_scorer(0.3)
    >>> result = pvf.perturbation_validation(
    ...     trees, X[100:140], y[100:140], perturbation=pvf.Perturbation(pvf.GaussianNoise(0.2)),
    ...     scoring=scoring, random_state=0,
    ... )
    >>> card = pvf.model_card(
    ...     result, X=X[100:140], y=y[100:140], scoring=scoring, external=(X[140:], y[140:]),
    ...     epsilon=0.05, data_name="simulated",
    ... )
    >>> card.facts["selected"], card.facts["set_size"], round(card.facts["external_score"], 2)
    ('model 10', 2, 1.69)
    >>> print(card.to_markdown().splitlines()[6])
    | Selected model | model 10 |
    """
    optional = {"metric": metric, "intended_use": intended_use, "data_name": data_name}
    _check_texts(title=title, unit=unit, **_given(optional))
    _check_mappings(**_given({"data": data, "kinds": kinds}))
    if not isinstance(limits, list | tuple) or not all(isinstance(text, str) for text in limits):
        raise TypeError(f"limits must be a sequence of texts, got {shown(limits)}.")
    _check_result(result)
    scorer = None if scoring is None else check_scorer(scoring)
    samples, stated = (None, external) if isinstance(external, Mapping) else (external, {})
    subject = _Subject(
        result=result,
        groups=_groups(result, X, y, samples, kinds, pos_label, scorer),
        kinds=kinds,
        scorer=scorer,
        metric=metric or _metric_name(scoring),
        capacity=_capacity(capacity, scorer),
        epsilon=_epsilon(result, epsilon),
        threshold=check_number("threshold", threshold, 0, 1),
        level=_confidence_level(confidence_level),
        n_resamples=check_integer("n_resamples", n_resamples, 100),
        seed=seed_sequence(random_state),
        n_contested=check_integer("n_contested", n_contested, 0),
        unit=unit,
    )
    stated_texts = {"intended_use": intended_use, "data_name": data_name, "data": data or {}}
    return _card(title, subject, stated_texts | {"stated": stated}, limits)


def _card(
    title: str, subject: _Subject, stated: dict[str, Any], limits: Sequence[str]
) -> ModelCard:
    """Compute all that a card shows."""
    groups = [_group_facts(subject, place, group) for place, group in enumerate(subject.groups)]
    facts = _selection_facts(subject) | {
        f"{group['name']}_{name}": value
        for group in groups
        for name, value in group.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    said = [
        *_limits_of_ties(subject, facts),
        *_limits_of_samples(subject, facts),
        *_limits_of_new_samples(subject, facts, bool(stated["stated"])),
        *(f"{limit} (as stated)" for limit in limits),
    ]
    facts["n_limits"] = len(said)
    first = subject.groups[0] if subject.groups else None
    lists = {name: list(stated[name].items()) for name in ("data", "stated")}
    details = {
        **(stated | lists),
        "kind_of_model": _kind_of_model(subject.result.best_model),
        "unit": subject.unit,
        "level_of_intervals": subject.per_cent,
        "seed": _seed_text(subject.result.seed),
        "case": first.case if first else None,
        "n_classes": 0 if first is None or first.classes is None else len(first.classes),
        "groups": groups,
        "choices": _choices(subject),
        "limits": said,
    }
    return ModelCard(title, MappingProxyType(facts), MappingProxyType(details))


# --- what the card is about ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Group:
    """Samples that the card looks at, and the classes of the problem."""

    name: str
    X: Any
    y: NDArray[Any]
    classes: Any  # sorted; None where the problem has no classes
    case: Any  # the case label of two classes; None with more

    @property
    def is_case(self) -> NDArray[np.bool_]:
        return self.y == self.case


@dataclass(frozen=True)
class _Subject:
    """All that a card is computed from."""

    result: PerturbationValidationResult
    groups: tuple[_Group, ...]
    kinds: Mapping[Any, str] | None
    scorer: Any
    metric: str | None
    capacity: float | None
    epsilon: float
    threshold: float
    level: float
    n_resamples: int
    seed: np.random.SeedSequence
    n_contested: int
    unit: str

    @functools.cached_property
    def members(self) -> NDArray[np.intp]:
        """The Rashomon set; a candidate of infinitely bad score is never in it."""
        able = np.flatnonzero(np.isfinite(self.result.aggregated))
        return able[rashomon_set(-self.result.aggregated[able], self.epsilon)]

    @functools.cached_property
    def traditional(self) -> int:
        """Candidate that the same tie rule picks by the unperturbed scores."""
        tied = tied_best(self.result.unperturbed)
        return _break_tie(tied, self.result.tie_break, seed_sequence(self.result.seed))

    def rng(self, *key: int) -> np.random.Generator:
        """Return a generator of its own for each use, so that no use moves another."""
        key = (*self.seed.spawn_key, *key)
        return np.random.default_rng(np.random.SeedSequence(self.seed.entropy, spawn_key=key))

    @property
    def per_cent(self) -> str:
        return f"{100 * self.level:g}%"


def _check_texts(**texts: Any) -> None:
    for name, value in texts.items():
        if not isinstance(value, str) or not value.strip():
            raise TypeError(f"{name} must be a text that is not empty, got {value!r}.")


def _given(optional: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in optional.items() if value is not None}


def _check_mappings(**mappings: Any) -> None:
    for name, value in mappings.items():
        if not isinstance(value, Mapping):
            raise TypeError(f"{name} must be a mapping, got {shown(value)}.")


def _check_result(result: Any) -> None:
    if not isinstance(result, PerturbationValidationResult):
        raise TypeError(
            "result must be a PerturbationValidationResult, as perturbation_validation returns, "
            f"got {type(result).__name__}."
        )
    best = result.aggregated.max()
    if not np.isfinite(best):
        raise ValueError(f"result must have a best score that is finite, got {best}.")


def _groups(
    result: PerturbationValidationResult,
    X: Any,
    y: ArrayLike | None,
    samples: Any,
    kinds: Mapping[Any, str] | None,
    pos_label: Any,
    scorer: Callable[..., float] | None,
) -> tuple[_Group, ...]:
    """Return the validation and the external samples, if given."""
    if (X is None) != (y is None):
        given, missing = ("X", "y") if y is None else ("y", "X")
        raise ValueError(f"X and y must be given together, got {given} without {missing}.")
    if samples is not None:
        _check_external(samples, X, scorer)
    if X is None:
        if pos_label is not None or kinds is not None:
            raise ValueError("pos_label and kinds describe X and y, which are not given.")
        return ()
    pairs = {"validation": (X, y)} | ({} if samples is None else {"external": tuple(samples)})
    labels = {"validation": _check_labels_of_validation(X, cast("ArrayLike", y))}
    if samples is not None:
        with naming("external"):
            labels["external"] = _check_labels_of_validation(*samples)
    if pos_label is not None:
        check_label("pos_label", pos_label)
    classes = _classes(result, labels)
    case = _case_label(classes, pos_label, scorer)
    groups = tuple(_Group(name, pairs[name][0], labels[name], classes, case) for name in pairs)
    if scorer is not None:
        _check_same_scores(result, groups[0], scorer)
    if kinds is not None and list(kinds) != list(_frame(X).columns):
        raise ValueError(f"kinds must name the columns of X in order, {list(_frame(X).columns)}.")
    return groups


def _check_external(samples: Any, X: Any, scorer: Callable[..., float] | None) -> None:
    if not isinstance(samples, tuple | list) or len(samples) != 2:
        raise TypeError(
            "external must be a pair (X, y) of samples or a mapping of names to numbers, "
            f"got {type(samples).__name__}."
        )
    if X is None:
        raise ValueError("external samples need the validation samples: give X and y too.")
    if scorer is None:
        raise ValueError("external samples need scoring: give the one that the result has.")


def _classes(
    result: PerturbationValidationResult, labels: Mapping[str, NDArray[Any]]
) -> NDArray[Any] | None:
    """Return the classes of the problem, sorted; None if it is a regression."""
    if type_of_target(labels["validation"]) not in ("binary", "multiclass"):
        return None
    if not all(hasattr(model, "classes_") for model in result.models):
        return None
    known = [model.classes_ for model in result.models]
    classes = np.unique(np.concatenate([labels["validation"], *known]))
    for name, values in labels.items():
        unknown = np.setdiff1d(values, classes)
        if unknown.size:
            raise ValueError(
                f"The {name} y must have labels of {classes.tolist()}, got {unknown.tolist()[0]!r}."
            )
    return classes


def _case_label(
    classes: NDArray[Any] | None, pos_label: Any, scorer: Callable[..., float] | None
) -> Any:
    if classes is None or len(classes) != 2:
        if pos_label is not None:
            raise ValueError(f"pos_label is for two classes, got {pos_label!r}.")
        return None
    if pos_label is None:
        pos_label = getattr(scorer, "_kwargs", {}).get("pos_label", classes[1])
        return pos_label if pos_label in classes else classes[1]
    if pos_label not in classes:
        raise ValueError(f"pos_label must be one of {classes.tolist()}, got {pos_label!r}.")
    return pos_label


def _check_same_scores(
    result: PerturbationValidationResult, group: _Group, scorer: Callable[..., float]
) -> None:
    with naming("X"):
        scores = _scores_of_sets(result.models, group.X, group.y, scorer, 1)[:, 0]
    if not np.allclose(scores, result.unperturbed, rtol=1e-9, atol=1e-12):
        worst = int(np.abs(scores - result.unperturbed).argmax())
        raise ValueError(
            "X, y and scoring must be those of the result, got others: they give "
            f"{result.names[worst]!r} the score {scores[worst]:.6g}, and the result has "
            f"{result.unperturbed[worst]:.6g}."
        )


def _capacity(capacity: float | None, scorer: Callable[..., float] | None) -> float | None:
    of_scorer = getattr(scorer, "_kwargs", {}).get("capacity")
    if of_scorer is not None and not isinstance(of_scorer, numbers.Real):
        of_scorer = None
    if capacity is None:
        return None if of_scorer is None else float(of_scorer)
    check_capacity(check_number("capacity", capacity, 0, 1))
    if of_scorer is not None and capacity != of_scorer:
        raise ValueError(f"capacity must be that of scoring, {of_scorer}, got {capacity}.")
    return float(capacity)


def _epsilon(result: PerturbationValidationResult, epsilon: float | None) -> float:
    if epsilon is None:
        return 0.05 * abs(float(result.aggregated.max()))
    return check_number("epsilon", epsilon, 0)


def _confidence_level(level: float) -> float:
    check_number("confidence_level", level, 0, 1, left_open=True)
    if level == 1:
        raise ValueError("confidence_level must be below 1, got 1.")
    return float(level)


def _metric_name(scoring: Any) -> str | None:
    if scoring is None or isinstance(scoring, str):
        return scoring
    function = getattr(scoring, "_score_func", scoring)
    if function is intervention_efficiency_score:
        return "Intervention Efficiency"
    return getattr(function, "__name__", type(function).__name__).replace("_", " ")


def _frame(X: Any) -> pd.DataFrame:
    return X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))


# --- the selection ------------------------------------------------------------------------------


def _kind_of_model(model: Any) -> str:
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    return ", then ".join(type(step).__name__ for step in steps)


def _seed_text(seed: Any) -> str:
    if isinstance(seed, np.random.SeedSequence):
        return f"entropy {seed.entropy}, key {list(seed.spawn_key)}"
    return f"{seed}"


def _selection_facts(subject: _Subject) -> dict[str, Any]:
    """Return the facts that belong to no sample: the choices, with and without perturbation."""
    result, best, other = subject.result, subject.result.best_index, subject.traditional
    tied = tied_best(result.unperturbed)
    return {
        "selected": result.best_name,
        "n_candidates": len(result.models),
        "pvf_version": pvf.__version__,
        "metric": subject.metric,
        "capacity": subject.capacity,
        "n_sets": result.scores.shape[1],
        "aggregate": _aggregate_name(result),
        "best_score": float(result.aggregated.max()),
        "n_tied": len(result.tied),
        "tied": tuple(result.names[i] for i in result.tied),
        "tie_break": result.tie_break,
        "traditional": result.names[other],
        "n_tied_traditional": len(tied),
        "same_choice": best == other,
        "selected_ties_traditionally": bool(best in tied),
        "score_gain": float(result.aggregated[best] - result.aggregated[other]),
        "unperturbed_loss": float(result.unperturbed[other] - result.unperturbed[best]),
        "epsilon": subject.epsilon,
        "set_size": len(subject.members),
    }


def _aggregate_name(result: PerturbationValidationResult) -> str | None:
    """Return the aggregate by which the scores on the sets give the result's, if it is known."""
    able = np.isfinite(result.scores).all(axis=1)  # infinite scores have no mean to tell by
    scores, aggregated = result.scores[able], result.aggregated[able]
    names = (name for name, f in _AGGREGATES.items() if np.allclose(f(scores), aggregated))
    return next(names, None) if able.any() else None


def _choices(subject: _Subject) -> list[dict[str, Any]]:
    """Return the two choices and the best candidate that does not tie."""
    result = subject.result
    choices = {
        "selected by PVF": result.best_index,
        "selected without perturbation": subject.traditional,
    }
    others = np.setdiff1d(np.arange(len(result.models)), result.tied)
    if others.size:
        choices["best candidate that does not tie"] = others[result.aggregated[others].argmax()]
    return [
        {
            "choice": choice,
            "candidate": result.names[i],
            "score": result.aggregated[i],
            "low": result.scores[i].min(),
            "high": result.scores[i].max(),
            "unperturbed": result.unperturbed[i],
        }
        for choice, i in choices.items()
    ]


# --- one group of samples -----------------------------------------------------------------------


def _group_facts(subject: _Subject, place: int, group: _Group) -> dict[str, Any]:
    """Return what the card's tables say about one group of samples."""
    models = subject.result.models
    chosen = [models[i].predict(group.X) for i in (subject.result.best_index, subject.traditional)]
    mine, theirs = map(np.asarray, chosen)
    facts = {"name": group.name} | _data_facts(subject, group)
    facts["changed_predictions"] = int((mine != theirs).sum())
    if subject.capacity is not None and group.case is not None:
        facts |= _capacity_facts(mine == group.case, group.is_case, subject.capacity)
    if group.classes is not None and len(subject.members) > 1:
        facts |= _multiplicity_facts(subject, group)
    if subject.scorer is not None:
        facts |= _performance_facts(subject, place, group)
    return facts


def _data_facts(subject: _Subject, group: _Group) -> dict[str, Any]:
    """Return what the samples hold."""
    frame = _frame(group.X)
    missing = frame.isna().to_numpy()
    numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]
    kinds = ["numeric" if is_numeric else "other" for is_numeric in numeric]
    if subject.kinds is not None:
        kinds = [str(kind) for kind in subject.kinds.values()]
    facts = {
        "rows": len(frame),
        "columns": frame.shape[1],
        "missing": int(missing.sum()),
        "incomplete": [str(name) for name in frame.columns[missing.any(axis=0)]],
        "kinds": list(pd.Series(kinds, dtype=object).value_counts(sort=False).items()),
    }
    if group.case is None:
        labels = () if group.classes is None else group.classes
        return facts | {"class_sizes": [(c, int((group.y == c).sum())) for c in labels]}
    n = int(group.is_case.sum())
    interval = binomtest(n, len(frame)).proportion_ci(subject.level, method="wilson")
    return facts | {
        "cases": n,
        "prevalence": n / len(frame),
        "prevalence_low": float(interval.low),
        "prevalence_high": float(interval.high),
    }


def _capacity_facts(
    flagged: NDArray[np.bool_], is_case: NDArray[np.bool_], gamma: float
) -> dict[str, float]:
    """Return what the selected model makes of the capacity."""
    tp, fp = int(flagged[is_case].sum()), int(flagged[~is_case].sum())
    n_pos, n_neg = int(is_case.sum()), int((~is_case).sum())
    efficiency = float(intervention_efficiency_counts(tp, fp, n_pos, n_neg, gamma))
    by_chance = float(100 * gamma * is_case.mean())
    return {
        "flagged": tp + fp,
        "flagged_cases": tp,
        "efficiency": efficiency,
        "largest_efficiency": float(min(1 / gamma, 1 / is_case.mean())),
        "reached_per_hundred": efficiency * by_chance,
        "by_chance_per_hundred": by_chance,
    }


# --- multiplicity -------------------------------------------------------------------------------


def _multiplicity_facts(subject: _Subject, group: _Group) -> dict[str, Any]:
    """Return how much, for whom and about whom the set's models disagree."""
    scores, soft = _member_scores(subject, group)
    base = int(np.flatnonzero(subject.members == subject.result.best_index)[0])
    how: dict[str, Any] = {"base": base, "threshold": subject.threshold}
    names = group.X.index if isinstance(group.X, pd.DataFrame) else range(len(group.y))
    table = multiplicity_table(scores, **how, index=pd.Index(list(names), dtype=object))
    table["conflict"], table["label"] = table["n_decisions"] > 1, group.y
    capacity = table["capacity"].to_numpy()
    worst = table[capacity > 1].sort_values("capacity", ascending=False, kind="stable")
    by_class = _by_class(table, group)
    facts = {
        "soft": soft,
        "capacity_mean": float(capacity.mean()),
        "capacity_max": float(capacity.max()),
        "capacity_tail": capacity_tail(capacity, 0.05),
        "ambiguity": ambiguity(scores, **how),
        "discrepancy": discrepancy(scores, **how),
        "conflicts": int(table["conflict"].sum()),
        "by_class": by_class,
        "name_of_row": "name" if isinstance(group.X, pd.DataFrame) else "row",
        "contested": worst.head(subject.n_contested).reset_index(names="name").to_dict("records"),
    }
    for row in by_class if group.case is not None else ():
        facts[f"conflicts_{row['label']}"] = row["conflicts"]
        facts[f"capacity_mean_{row['label']}"] = row["mean"]
    return facts


def _member_scores(subject: _Subject, group: _Group) -> tuple[NDArray[np.float64], bool]:
    """Return the set's scores as `rashomon_capacity` takes them; whether they are probabilities."""
    models = [subject.result.models[i] for i in subject.members]
    soft = all(hasattr(model, "predict_proba") for model in models)
    scores = np.zeros((len(models), len(group.y), len(group.classes)))
    for q, model in enumerate(models):
        if soft:
            places = np.searchsorted(group.classes, model.classes_)
            scores[q][:, places] = model.predict_proba(group.X)
        else:
            decided = np.searchsorted(group.classes, model.predict(group.X))
            scores[q][np.arange(len(group.y)), decided] = 1
    if group.case is None:
        return scores, soft
    return scores[:, :, int(np.flatnonzero(group.classes == group.case)[0])], soft


def _by_class(table: pd.DataFrame, group: _Group) -> list[dict[str, Any]]:
    """Return who gets conflicting scores, class by class, cases first."""
    names = {label: f"class {label}" for label in group.classes}
    if group.case is not None:
        others = [label for label in group.classes if label != group.case]
        names = {group.case: "cases", others[0]: "others"}
    parts = [(name, table[group.y == label]) for label, name in names.items()]
    return [
        {
            "label": name,
            "n": len(part),
            "mean": float(part["capacity"].mean()),
            "max": float(part["capacity"].max()),
            "conflicts": int(part["conflict"].sum()),
        }
        for name, part in parts
        if len(part)
    ]


# --- performance --------------------------------------------------------------------------------


def _performance_facts(subject: _Subject, place: int, group: _Group) -> dict[str, Any]:
    """Return the selected model's score and its lead over the choice without perturbation."""
    result, scorer = subject.result, subject.scorer
    best, other = result.best_index, subject.traditional
    scores = result.unperturbed
    if group.name != "validation":
        scores = _scores_of_sets(result.models, group.X, group.y, scorer, 1)[:, 0]
    models = [result.models[i] for i in dict.fromkeys((best, other))]  # once where they agree
    drawn = _score_draws(models, group, scorer, subject.n_resamples, subject.rng(place))
    tail = (1 - subject.level) / 2
    gain = float(scores[best] - scores[other])
    low, high = _interval(drawn[0], tail, scores[best])
    gain_low, gain_high = _interval(drawn[0] - drawn[-1], tail, gain)
    return {
        "bayes": _from_counts(group, scorer) is not None,
        "score": float(scores[best]),
        "score_low": low,
        "score_high": high,
        "score_traditional": float(scores[other]),
        "gain": gain,
        "gain_low": gain_low,
        "gain_high": gain_high,
        "score_mean": float(scores.mean()),
        "score_best": float(scores.max()),
    }


def _interval(draws: NDArray[np.float64], tail: float, estimate: float) -> tuple[float, float]:
    """Return the middle of the draws, stretched to the estimate where that is an extreme."""
    low, high = np.quantile(draws, [tail, 1 - tail])
    return min(float(low), float(estimate)), max(float(high), float(estimate))


def _score_draws(
    models: Sequence[Any],
    group: _Group,
    scorer: Callable[..., float],
    n_draws: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return scores of shape (n_models, n_draws) that show how certain they are, drawn together."""
    from_counts = _from_counts(group, scorer)
    if from_counts is None:
        return _resampled_row_by_row(models, group, scorer, n_draws, rng)
    label, function = from_counts
    is_case = group.y == label
    flagged = np.array([np.asarray(model.predict(group.X)) == label for model in models])
    tp, fp = (_count_draws(flagged[:, part], n_draws, rng) for part in (is_case, ~is_case))
    return function(tp, fp, int(is_case.sum()), int((~is_case).sum()))


def _from_counts(group: _Group, scorer: Callable[..., float]) -> Any:
    """Return the case label and the score as a function of counts, where it is one."""
    return None if group.case is None else _count_metric(scorer, group.classes)


def _count_draws(
    flagged: NDArray[np.bool_], n_draws: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return plausible numbers of flagged samples of one class, of shape (n_models, n_draws).

    Each sample has one pattern of flags, one flag a model. The patterns' shares are drawn from
    their posterior distribution, a Dirichlet whose prior gives every model's share of flags
    Jeffreys' prior, Beta(1/2, 1/2); a bootstrap would call a faultless score certain.
    """
    n_models, n_samples = flagged.shape
    patterns = np.array(list(itertools.product([0, 1], repeat=n_models)))
    code = 2 ** np.arange(n_models)[::-1]
    sizes = np.bincount(code @ flagged, minlength=len(patterns))
    shares = rng.dirichlet(sizes + 1 / len(patterns), size=n_draws)
    return n_samples * (shares @ patterns).T


def _rows(X: Any, rows: NDArray[np.intp]) -> Any:
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else np.asarray(X)[rows]


def _resampled_row_by_row(
    models: Sequence[Any],
    group: _Group,
    scorer: Callable[..., float],
    n_resamples: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    classes = [np.arange(len(group.y))]
    if group.classes is not None:
        classes = [np.flatnonzero(group.y == label) for label in np.unique(group.y)]
    remembering = [_Remembered(model, group.X) for model in models]
    scores = np.empty((len(models), n_resamples))
    with config_context(assume_finite=True, skip_parameter_validation=True):  # checked before
        for b in range(n_resamples):
            rows = np.concatenate([rng.choice(part, len(part)) for part in classes])
            X, y = _rows(group.X, rows), group.y[rows]
            for q, model in enumerate(remembering):
                model.rows = rows
                scores[q, b] = scorer(model, X, y)
    return scores


class _Remembered:
    """A model that predicts all samples once and hands out the rows of the current resample."""

    _METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")

    def __init__(self, model: Any, X: Any) -> None:
        self._model, self._X = model, X
        self._responses: dict[str, Any] = {}
        self.rows: NDArray[np.intp] = np.arange(0)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._model, name)
        if name not in self._METHODS:
            return attribute

        @functools.wraps(attribute)
        def respond(X: Any) -> Any:  # noqa: ARG001  the rows are known
            if name not in self._responses:
                self._responses[name] = np.asarray(attribute(self._X))
            return self._responses[name][self.rows]

        return respond


# --- limits -------------------------------------------------------------------------------------


def _limits_of_ties(subject: _Subject, facts: Mapping[str, Any]) -> Iterator[str]:
    if facts["n_tied"] > 1:
        yield (
            f"{facts['n_tied']} of {facts['n_candidates']} candidates share the best PVF score: "
            f"which of them is used was decided by the tie rule ({facts['tie_break']}), not by the "
            "data."
        )
    for group in subject.groups:
        conflicts = facts.get(f"{group.name}_conflicts")
        if conflicts:
            yield (
                f"For {conflicts} of {len(group.y)} {group.name} {subject.unit} the decision "
                f"depends on which of the set's {counted(facts['set_size'], 'model')} is used."
            )


def _limits_of_samples(subject: _Subject, facts: dict[str, Any]) -> Iterator[str]:
    for group in subject.groups:
        n = facts.get(f"{group.name}_cases", FEW_CASES)
        if n < FEW_CASES:
            yield (
                f"The {group.name} data hold {counted(n, 'case')}, fewer than the {FEW_CASES} that "
                f"are advised for judging a model; one case more or less found changes the "
                f"sensitivity by {100 / n:.1f} percentage points."
            )
    if "validation_score_low" not in facts:
        yield "No interval could be given: the samples or the scoring were not given."
        return
    low, high = facts["validation_score_low"], facts["validation_score_high"]
    others = np.delete(subject.result.unperturbed, subject.result.best_index)
    facts["n_within_interval"] = int(((others >= low) & (others <= high)).sum())
    if others.size:
        yield (
            f"The {subject.per_cent} interval of the selected model's validation score, "
            f"{span(low, high)}, holds the scores of {facts['n_within_interval']} of the "
            f"{len(others)} other candidates."
        )
        yield (
            f"The validation score {number(facts['validation_score'])} is that of a model chosen "
            f"among {len(others) + 1} on the same {subject.unit}, so it is likely to be too high."
        )


def _limits_of_new_samples(
    subject: _Subject, facts: Mapping[str, Any], is_stated: bool
) -> Iterator[str]:
    score = facts.get("external_score")
    if score is not None:
        drop = facts["validation_score"] - score
        if drop > 0:
            yield (
                f"On external {subject.unit} the score is {number(score)}, {number(drop)} below "
                "validation's."
            )
    elif is_stated:
        yield f"Performance on new {subject.unit} is stated by the author, not computed here."
    else:
        yield f"The model was not tested on new {subject.unit}: no external samples were given."
