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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest
from sklearn import config_context
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import type_of_target

import pvf
from pvf import render as _card_pages
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
from pvf.metrics import (
    count_metric,
    intervention_efficiency_counts,
    intervention_efficiency_score,
)
from pvf.multiplicity import (
    ambiguity,
    capacity_tail,
    discrepancy,
    multiplicity_table,
    rashomon_set,
)
from pvf.render import Section, Table
from pvf.validation import (
    PerturbationValidationResult,
    break_tie,
    check_validation_data,
    scores_of_models,
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
    sections : tuple
        The card's parts, in order.

    Examples
    --------
    See `model_card`.
    """

    title: str
    facts: Mapping[str, Any]
    sections: tuple[Section, ...] = field(repr=False)

    def __post_init__(self) -> None:
        """Check the parts, which `model_card` makes."""
        _check_text("title", self.title)
        if not isinstance(self.facts, Mapping):
            raise TypeError(f"facts must be a mapping, got {shown(self.facts)}.")
        if not isinstance(self.sections, tuple) or not all(
            isinstance(section, Section) for section in self.sections
        ):
            raise TypeError(f"sections must be a tuple of sections, got {shown(self.sections)}.")

    def to_markdown(self) -> str:
        """Return the card as Markdown (CommonMark with tables).

        Returns
        -------
        str
        """
        return _card_pages.as_markdown(self.title, self.sections)

    def to_html(self) -> str:
        """Return the card as one HTML page that needs no other file and no network.

        Returns
        -------
        str
        """
        return _card_pages.as_page(self.title, self.sections)

    def _repr_html_(self) -> str:
        """Show the card in a notebook, in the notebook's colours."""
        return _card_pages.as_fragment(self.title, self.sections)

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
    if not isinstance(result, PerturbationValidationResult):
        raise TypeError(
            "result must be a PerturbationValidationResult, as perturbation_validation returns, "
            f"got {type(result).__name__}."
        )
    texts = {"title": title, "unit": unit}
    optional = {"metric": metric, "intended_use": intended_use, "data_name": data_name}
    for name, text in (texts | {k: v for k, v in optional.items() if v is not None}).items():
        _check_text(name, text)
    if not isinstance(limits, list | tuple) or not all(isinstance(text, str) for text in limits):
        raise TypeError(f"limits must be a sequence of texts, got {shown(limits)}.")
    for name, mapping in {"data": data, "kinds": kinds}.items():
        if mapping is not None and not isinstance(mapping, Mapping):
            raise TypeError(f"{name} must be a mapping, got {type(mapping).__name__}.")
    check_number("confidence_level", confidence_level, 0, 1, left_open=True)
    if confidence_level == 1:
        raise ValueError("confidence_level must be below 1, got 1.")
    if not np.isfinite(result.aggregated.max()):
        raise ValueError(
            f"result must have a best score that is finite, got {result.aggregated.max()}."
        )
    epsilon = _epsilon(result, epsilon)
    scorer = None if scoring is None else check_scorer(scoring)
    if pos_label is not None:
        check_label("pos_label", pos_label)
    groups, stated = _groups(result, X, y, external, kinds, pos_label, scorer)
    subject = _Subject(
        result=result,
        groups=groups,
        scorer=scorer,
        metric=metric or _metric_name(scoring),
        capacity=_capacity(capacity, scorer),
        members=_members(result, epsilon),
        epsilon=epsilon,
        threshold=check_number("threshold", threshold, 0, 1),
        unit=unit,
        level=float(confidence_level),
        n_resamples=check_integer("n_resamples", n_resamples, 100),
        seed=seed_sequence(random_state),
        n_contested=check_integer("n_contested", n_contested, 0),
        stated=stated,
    )
    facts: dict[str, Any] = {}
    sections = (
        _about_model(subject, facts, intended_use),
        _about_data(subject, facts, data_name, data or {}, kinds),
        _about_metric(subject, facts),
        _about_selection(subject, facts),
        _about_difference(subject, facts),
        _about_multiplicity(subject, facts),
        _about_performance(subject, facts),
        _about_limits(subject, facts, limits),
    )
    return ModelCard(title, MappingProxyType(facts), sections)


# --- what the card is about ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Group:
    """Samples that the card looks at, and the classes of the problem."""

    name: str
    X: Any
    y: NDArray[Any]
    names: Sequence[Any]
    classes: Any  # sorted; None where the problem has no classes
    case: Any  # the case label of two classes; None with more

    @property
    def is_case(self) -> NDArray[np.bool_]:
        return self.y == self.case


@dataclass(frozen=True)
class _Subject:
    """All that the sections are written from."""

    result: PerturbationValidationResult
    groups: tuple[_Group, ...]
    scorer: Any
    metric: str | None
    capacity: float | None
    members: NDArray[np.intp]
    epsilon: float
    threshold: float
    unit: str
    level: float
    n_resamples: int
    seed: np.random.SeedSequence
    n_contested: int
    stated: Mapping[str, Any]

    @functools.cached_property
    def traditional(self) -> int:
        """Candidate that the same tie rule picks by the unperturbed scores."""
        tied = tied_best(self.result.unperturbed)
        return break_tie(tied, self.result.tie_break, seed_sequence(self.result.seed))

    def rng(self, *key: int) -> np.random.Generator:
        """Return a generator of its own for each use, so that no use moves another."""
        key = (*self.seed.spawn_key, *key)
        return np.random.default_rng(np.random.SeedSequence(self.seed.entropy, spawn_key=key))

    @property
    def per_cent(self) -> str:
        return f"{100 * self.level:g}%"


def _check_text(name: str, value: Any) -> None:
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"{name} must be a text that is not empty, got {value!r}.")


def _groups(
    result: PerturbationValidationResult,
    X: Any,
    y: ArrayLike | None,
    external: Any,
    kinds: Mapping[Any, str] | None,
    pos_label: Any,
    scorer: Callable[..., float] | None,
) -> tuple[tuple[_Group, ...], Mapping[str, Any]]:
    """Return the validation and the external samples, if given, and what is stated instead."""
    if (X is None) != (y is None):
        given, missing = ("X", "y") if y is None else ("y", "X")
        raise ValueError(f"X and y must be given together, got {given} without {missing}.")
    if isinstance(external, Mapping):
        samples, stated = None, external
    else:
        samples, stated = external, {}
        if samples is not None and (not isinstance(samples, tuple | list) or len(samples) != 2):
            raise TypeError(
                "external must be a pair (X, y) of samples or a mapping of names to numbers, "
                f"got {type(external).__name__}."
            )
    if samples is not None and X is None:
        raise ValueError("external samples need the validation samples: give X and y too.")
    if samples is not None and scorer is None:
        raise ValueError("external samples need scoring: give the one that the result has.")
    if X is None:
        if pos_label is not None or kinds is not None:
            raise ValueError("pos_label and kinds describe X and y, which are not given.")
        return (), stated
    pairs = {"validation": (X, y)} | ({} if samples is None else {"external": tuple(samples)})
    labels = {"validation": check_validation_data(*pairs["validation"])}
    if samples is not None:
        with naming("external"):
            labels["external"] = check_validation_data(*samples)
    classes = _classes(result, labels)
    case = _case_label(classes, pos_label, scorer)
    groups = tuple(
        _Group(name, pairs[name][0], labels[name], _row_names(pairs[name][0]), classes, case)
        for name in pairs
    )
    if scorer is not None:
        _check_same_scores(result, groups[0], scorer)
    if kinds is not None and list(kinds) != list(_frame(X).columns):
        raise ValueError(f"kinds must name the columns of X in order, {list(_frame(X).columns)}.")
    return groups, stated


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
        scores = scores_of_models(result.models, group.X, group.y, scorer)
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


def _members(result: PerturbationValidationResult, epsilon: float) -> NDArray[np.intp]:
    """Return the Rashomon set; a candidate of infinitely bad score is never in it."""
    able = np.flatnonzero(np.isfinite(result.aggregated))
    return able[rashomon_set(-result.aggregated[able], epsilon)]


def _metric_name(scoring: Any) -> str | None:
    if scoring is None or isinstance(scoring, str):
        return scoring
    function = getattr(scoring, "_score_func", scoring)
    if function is intervention_efficiency_score:
        return "Intervention Efficiency"
    return getattr(function, "__name__", type(function).__name__).replace("_", " ")


def _frame(X: Any) -> pd.DataFrame:
    return X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))


def _row_names(X: Any) -> Sequence[Any]:
    return list(X.index) if isinstance(X, pd.DataFrame) else range(len(X))


# --- numbers as text ----------------------------------------------------------------------------


def _number(value: float) -> str:
    """Return a score with three decimals."""
    return f"{value + 0.0:.3f}" if abs(value) >= 5e-4 or value == 0 else f"{value:.1g}"


def _share(count: float, total: float) -> str:
    return f"{count:g} of {total:g} ({100 * count / total:.1f}%)"


def _range(low: float, high: float) -> str:
    return f"{_number(low)} to {_number(high)}"


def _count(n: int, noun: str, plural: str | None = None) -> str:
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


# --- sections -----------------------------------------------------------------------------------


def _about_model(subject: _Subject, facts: dict[str, Any], intended_use: str | None) -> Section:
    result = subject.result
    facts |= {
        "selected": result.best_name,
        "n_candidates": len(result.models),
        "pvf_version": pvf.__version__,
    }
    shown = [
        ("Selected model", result.best_name),
        ("Kind of model", _kind_of_model(result.best_model)),
        ("Selected from", _count(len(result.models), "candidate")),
    ]
    if intended_use is not None:
        shown.append(("Intended use", intended_use))
    shown.append(("Card made by", f"pvf {pvf.__version__}, from the result and the data"))
    return Section("model", "Model", facts=tuple(shown))


def _kind_of_model(model: Any) -> str:
    if isinstance(model, Pipeline):
        return ", then ".join(type(step).__name__ for _, step in model.steps)
    return type(model).__name__


def _about_data(
    subject: _Subject,
    facts: dict[str, Any],
    data_name: str | None,
    data: Mapping[str, Any],
    kinds: Mapping[Any, str] | None,
) -> Section:
    shown = [("Data", data_name)] if data_name is not None else []
    shown += [(f"{label} (as stated)", f"{value}") for label, value in data.items()]
    paragraphs: tuple[str, ...] = ()
    if not subject.groups:
        paragraphs = (f"The card was made without the {subject.unit} themselves.",)
    columns = {group.name: _data_facts(subject, group, facts, kinds) for group in subject.groups}
    tables: tuple[Table, ...] = ()
    if columns:
        names = list(columns)
        rows = tuple(
            (label, *(columns[name][label] for name in names)) for label in columns[names[0]]
        )
        tables = (Table("What the data hold", ("quantity", *names), rows),)
    return Section("data", "Data", paragraphs, tuple(shown), tables)


def _data_facts(
    subject: _Subject, group: _Group, facts: dict[str, Any], kinds: Mapping[Any, str] | None
) -> dict[str, str]:
    """Return the column of the data table for one group."""
    frame = _frame(group.X)
    missing = frame.isna().to_numpy()
    facts |= {
        f"{group.name}_rows": len(frame),
        f"{group.name}_columns": frame.shape[1],
        f"{group.name}_missing": int(missing.sum()),
    }
    shown = {
        f"{subject.unit} (rows)": f"{len(frame)}",
        "features (columns)": f"{frame.shape[1]}",
        "kinds of features": _kinds_of_columns(frame, kinds),
        "missing values": _missing(frame, missing),
    }
    if group.case is not None:
        n = int(group.is_case.sum())
        interval = binomtest(n, len(frame)).proportion_ci(subject.level, method="wilson")
        facts |= {
            f"{group.name}_cases": n,
            f"{group.name}_prevalence": n / len(frame),
            f"{group.name}_prevalence_low": float(interval.low),
            f"{group.name}_prevalence_high": float(interval.high),
        }
        shown[f"cases (label {group.case})"] = f"{n}"
        shown[f"prevalence, with {subject.per_cent} interval"] = (
            f"{100 * n / len(frame):.1f}% ({100 * interval.low:.1f}% to {100 * interval.high:.1f}%)"
        )
    elif group.classes is not None:
        for label in group.classes:
            shown[f"class {label}"] = _share(int((group.y == label).sum()), len(frame))
    return shown


def _kinds_of_columns(frame: pd.DataFrame, kinds: Mapping[Any, str] | None) -> str:
    if kinds is None:
        kind = ["numeric" if pd.api.types.is_numeric_dtype(t) else "other" for t in frame.dtypes]
    else:
        kind = [str(value) for value in kinds.values()]
    counts = pd.Series(kind).value_counts(sort=False)
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _missing(frame: pd.DataFrame, missing: NDArray[np.bool_]) -> str:
    if not missing.any():
        return "none"
    columns = [str(name) for name in frame.columns[missing.any(axis=0)]]
    named = ", ".join(columns[:5]) + (f" and {len(columns) - 5} more" if len(columns) > 5 else "")
    return f"{_share(int(missing.sum()), missing.size)}, in {named}"


def _about_metric(subject: _Subject, facts: dict[str, Any]) -> Section:
    facts |= {"metric": subject.metric, "capacity": subject.capacity}
    shown = [("Metric", subject.metric or "not stated")]
    capacity = subject.capacity
    if capacity is None:
        return Section("metric", "Metric", facts=tuple(shown))
    shown.append(("Capacity γ", f"{capacity:g}: this share of all can receive an intervention"))
    tables: tuple[Table, ...] = ()
    if subject.groups and subject.groups[0].case is not None:
        columns = [_places(subject, capacity, group, facts) for group in subject.groups]
        rows = tuple((label, *(column[label] for column in columns)) for label in columns[0])
        names = tuple(group.name for group in subject.groups)
        tables = (
            Table("The capacity at work, for the selected model", ("quantity", *names), rows),
        )
    meaning = (
        "Intervention Efficiency is the number of cases reached with the capacity, divided by the "
        "number reached by taking people at random: 1 is no better than chance."
    )
    return Section("metric", "Metric and capacity", (meaning,), tuple(shown), tables)


def _places(
    subject: _Subject, gamma: float, group: _Group, facts: dict[str, Any]
) -> dict[str, str]:
    """Return what the selected model makes of the capacity in one group."""
    flagged = np.asarray(subject.result.best_model.predict(group.X)) == group.case
    is_case, n = group.is_case, len(flagged)
    tp, fp = int(flagged[is_case].sum()), int(flagged[~is_case].sum())
    n_pos, n_neg = int(is_case.sum()), int((~is_case).sum())
    efficiency = float(intervention_efficiency_counts(tp, fp, n_pos, n_neg, gamma))
    by_chance = 100 * gamma * is_case.mean()
    facts |= {
        f"{group.name}_flagged": tp + fp,
        f"{group.name}_efficiency": efficiency,
        f"{group.name}_reached_per_hundred": float(efficiency * by_chance),
    }
    return {
        f"places, γ times {subject.unit}": f"{gamma * n:g} of {n}",
        "flagged as cases": _share(tp + fp, n),
        "of these, true cases": f"{tp}",
        "Intervention Efficiency at γ": _number(efficiency),
        "largest possible at this prevalence": _number(min(1 / gamma, 1 / is_case.mean())),
        "cases reached per hundred": f"{efficiency * by_chance:.1f}",
        "reached at random per hundred": f"{by_chance:.1f}",
    }


def _about_selection(subject: _Subject, facts: dict[str, Any]) -> Section:
    result = subject.result
    n_sets = result.scores.shape[1]
    able = np.isfinite(result.scores).all(axis=1)  # infinite scores have no mean to tell by
    aggregate = next(
        (
            name
            for name, f in _AGGREGATES.items()
            if able.any() and np.allclose(f(result.scores[able]), result.aggregated[able])
        ),
        None,
    )
    facts |= {
        "n_sets": n_sets,
        "aggregate": aggregate,
        "best_score": float(result.aggregated.max()),
        "n_tied": len(result.tied),
        "tied": tuple(result.names[i] for i in result.tied),
        "tie_break": result.tie_break,
    }
    shown = [
        ("Perturbed sets", f"{n_sets}"),
        ("PVF score", f"{aggregate or 'an aggregate'} of the scores on the perturbed sets"),
        ("Best PVF score", _number(result.aggregated.max())),
        ("Candidates that share it", _share(len(result.tied), len(result.models))),
        ("Tie rule", _tie_rule(result)),
    ]
    if len(result.tied) > 1:
        names = [result.names[i] for i in result.tied]
        more = f" and {len(names) - 10} more" if len(names) > 10 else ""
        shown.append(("Tied candidates", ", ".join(names[:10]) + more))
    shown.append(("Seed", _seed_text(result.seed)))
    return Section("selection", "Selection", facts=tuple(shown), tables=(_choices(subject),))


def _tie_rule(result: PerturbationValidationResult) -> str:
    rules = {
        "first": "the first of the tied in the order given",
        "last": "the last of the tied in the order given",
        "random": "one of the tied at random, by the seed",
    }
    return rules.get(result.tie_break, result.tie_break)


def _seed_text(seed: Any) -> str:
    if isinstance(seed, np.random.SeedSequence):
        return f"entropy {seed.entropy}, key {list(seed.spawn_key)}"
    return f"{seed}"


def _choices(subject: _Subject) -> Table:
    """Return the table of the two choices and the best candidate that does not tie."""
    result = subject.result
    choices = {
        "selected by PVF": result.best_index,
        "selected without perturbation": subject.traditional,
    }
    others = np.setdiff1d(np.arange(len(result.models)), result.tied)
    if others.size:
        choices["best candidate that does not tie"] = int(
            others[result.aggregated[others].argmax()]
        )
    rows = tuple(
        (
            role,
            result.names[i],
            _number(result.aggregated[i]),
            _range(result.scores[i].min(), result.scores[i].max()),
            _number(result.unperturbed[i]),
        )
        for role, i in choices.items()
    )
    columns = ("choice", "candidate", "PVF score", "range over perturbed sets", "unperturbed score")
    return Table("Candidates by both criteria", columns, rows)


def _about_difference(subject: _Subject, facts: dict[str, Any]) -> Section:
    result, other = subject.result, subject.traditional
    best = result.best_index
    tied = tied_best(result.unperturbed)
    facts |= {
        "traditional": result.names[other],
        "n_tied_traditional": len(tied),
        "same_choice": best == other,
        "selected_ties_traditionally": bool(best in tied),
        "score_gain": float(result.aggregated[best] - result.aggregated[other]),
        "unperturbed_loss": float(result.unperturbed[other] - result.unperturbed[best]),
    }
    shown = [
        ("Choice without perturbation", result.names[other]),
        ("Same model", "yes" if best == other else "no"),
        ("Candidates that tie without perturbation", _share(len(tied), len(result.models))),
        ("PVF's choice is among these", "yes" if best in tied else "no"),
        ("PVF score gained by PVF's choice", _number(facts["score_gain"])),
        ("Unperturbed score given up for it", _number(facts["unperturbed_loss"])),
    ]
    for group in subject.groups:
        mine, theirs = (np.asarray(result.models[i].predict(group.X)) for i in (best, other))
        n = int((mine != theirs).sum())
        facts[f"{group.name}_changed_predictions"] = n
        shown.append((f"Predictions that differ, {group.name}", _share(n, len(mine))))
    return Section(
        "difference", "How far the choice without perturbation differs", facts=tuple(shown)
    )


def _about_multiplicity(subject: _Subject, facts: dict[str, Any]) -> Section:
    heading = "Multiplicity"
    members = subject.members
    facts |= {"epsilon": subject.epsilon, "set_size": len(members)}
    which = "tie for the best PVF score"
    if subject.epsilon:
        which = f"have a PVF score at most {_number(subject.epsilon)} below the best"
    size = f"{_count(len(members), 'candidate')}: those that {which}"
    shown = [("Rashomon set", size)]
    if not subject.groups or subject.groups[0].classes is None:
        why = f"It was not computed: it needs the {subject.unit} and candidates with classes."
        return Section("multiplicity", heading, (why,), tuple(shown))
    if len(members) == 1:
        return Section("multiplicity", heading, ("No other model to disagree with.",), tuple(shown))
    scores = {group.name: _member_scores(subject, group) for group in subject.groups}
    if not scores["validation"][1]:
        shown.append(("Scores", "decisions, since some candidate gives no probabilities"))
    meaning = (
        "Rashomon Capacity is the number of classes that the set's models effectively give to one "
        f"of the {subject.unit}: 1 where they all agree, {len(subject.groups[0].classes)} where "
        "every class is given with certainty."
    )
    overall, by_class, contested = [], [], []
    for group in subject.groups:
        table = _multiplicity_of(subject, scores[group.name][0], group)
        overall.append(_overall(subject, scores[group.name][0], table, group, facts))
        by_class.append(_by_class(subject, table, group, facts))
        contested.append(_contested(subject, table, group))
    names = tuple(group.name for group in subject.groups)
    rows = tuple((label, *(column[label] for column in overall)) for label in overall[0])
    tables = (Table("How much the set's models disagree", ("quantity", *names), rows), *by_class)
    if subject.n_contested:
        tables += tuple(table for table in contested if table.rows)
    return Section("multiplicity", heading, (meaning,), tuple(shown), tables)


def _member_scores(subject: _Subject, group: _Group) -> tuple[NDArray[np.float64], bool]:
    """Return the set's scores as `rashomon_capacity` takes them; whether they are probabilities."""
    models = [subject.result.models[i] for i in subject.members]
    soft = all(hasattr(model, "predict_proba") for model in models)
    scores = np.zeros((len(models), len(group.y), len(group.classes)))
    for q, model in enumerate(models):
        if soft:
            scores[q][:, np.searchsorted(group.classes, model.classes_)] = model.predict_proba(
                group.X
            )
        else:
            decided = np.searchsorted(group.classes, model.predict(group.X))
            scores[q][np.arange(len(group.y)), decided] = 1
    if group.case is None:
        return scores, soft
    return scores[:, :, int(np.flatnonzero(group.classes == group.case)[0])], soft


def _base(subject: _Subject) -> int:
    """Return the selected model's position in the set."""
    return int(np.flatnonzero(subject.members == subject.result.best_index)[0])


def _multiplicity_of(subject: _Subject, scores: NDArray[np.float64], group: _Group) -> pd.DataFrame:
    return multiplicity_table(
        scores,
        base=_base(subject),
        threshold=subject.threshold,
        index=pd.Index(group.names, dtype=object),
    )


def _overall(
    subject: _Subject,
    scores: NDArray[np.float64],
    table: pd.DataFrame,
    group: _Group,
    facts: dict[str, Any],
) -> dict[str, str]:
    capacity = table["capacity"].to_numpy()
    conflicts = int((table["n_decisions"] > 1).sum())
    how: dict[str, Any] = {"base": _base(subject), "threshold": subject.threshold}
    found = {
        "capacity_mean": float(capacity.mean()),
        "capacity_max": float(capacity.max()),
        "capacity_tail": capacity_tail(capacity, 0.05),
        "ambiguity": ambiguity(scores, **how),
        "discrepancy": discrepancy(scores, **how),
        "conflicts": conflicts,
    }
    facts |= {f"{group.name}_{name}": value for name, value in found.items()}
    return {
        "mean Rashomon Capacity": _number(found["capacity_mean"]),
        "mean of the largest 5%": _number(found["capacity_tail"]),
        "largest": _number(found["capacity_max"]),
        f"{subject.unit} with conflicting decisions": f"{conflicts} of {len(capacity)}",
        "ambiguity: some model decides otherwise": f"{100 * found['ambiguity']:.1f}%",
        "discrepancy: the most that one model changes": f"{100 * found['discrepancy']:.1f}%",
    }


def _by_class(
    subject: _Subject, table: pd.DataFrame, group: _Group, facts: dict[str, Any]
) -> Table:
    """Return who gets conflicting scores, class by class."""
    rows = []
    for label in group.classes if group.case is None else _cases_first(group):
        part = table[group.y == label]
        if part.empty:
            continue
        conflicts = int((part["n_decisions"] > 1).sum())
        name = f"class {label}"
        if group.case is not None:
            name = "cases" if label == group.case else "others"
            facts[f"{group.name}_conflicts_{name}"] = conflicts
            facts[f"{group.name}_capacity_mean_{name}"] = float(part["capacity"].mean())
        mean, largest = part["capacity"].mean(), part["capacity"].max()
        rows.append(
            (name, f"{len(part)}", _number(mean), _number(largest), _share(conflicts, len(part)))
        )
    columns = ("class", subject.unit, "mean capacity", "largest capacity", "conflicting decisions")
    return Table(f"Who gets conflicting scores: {group.name}", columns, tuple(rows))


def _cases_first(group: _Group) -> list[Any]:
    return sorted(group.classes, key=lambda label: label != group.case)


def _contested(subject: _Subject, table: pd.DataFrame, group: _Group) -> Table:
    capacity = table["capacity"].to_numpy()
    order = np.argsort(-capacity, kind="stable")[: min(subject.n_contested, (capacity > 1).sum())]
    rows = tuple(
        (
            f"{row.Index}",
            f"{group.y[i]}",
            _number(row.capacity),
            _range(row.lowest, row.highest),
            f"{100 * row.conflict_share:.0f}%",
        )
        for i, row in zip(order, table.iloc[order].itertuples(), strict=True)
    )
    score = "range of scores" + ("" if group.case is not None else ", most contested class")
    name = "name" if isinstance(group.X, pd.DataFrame) else "row"
    columns = (name, "true label", "capacity", score, "models that decide otherwise")
    return Table(f"The most contested {subject.unit}: {group.name}", columns, rows)


# --- performance --------------------------------------------------------------------------------


def _about_performance(subject: _Subject, facts: dict[str, Any]) -> Section:
    heading = "Performance"
    shown = tuple((f"{name} (as stated)", f"{value}") for name, value in subject.stated.items())
    if subject.scorer is None or not subject.groups:
        row = ("Unperturbed validation score", _number(subject.result.unperturbed[_best(subject)]))
        return Section("performance", heading, facts=(row, *shown))
    columns = [_performance(subject, g, group, facts) for g, group in enumerate(subject.groups)]
    names = tuple(group.name for group in subject.groups)
    rows = tuple((label, *(column[label] for column in columns)) for label in columns[0])
    bayes = _from_counts(subject.groups[0], subject.scorer) is not None
    how = "Jeffreys prior" if bayes else "bootstrap"
    caption = f"{subject.metric}, with {subject.per_cent} intervals ({how})"
    return Section("performance", heading, (), shown, (Table(caption, ("quantity", *names), rows),))


def _best(subject: _Subject) -> int:
    return subject.result.best_index


def _performance(
    subject: _Subject, key: int, group: _Group, facts: dict[str, Any]
) -> dict[str, str]:
    """Return the column of the performance table for one group."""
    result, scorer = subject.result, subject.scorer
    best, other = result.best_index, subject.traditional
    if group.name == "validation":
        scores = result.unperturbed
    else:
        scores = scores_of_models(result.models, group.X, group.y, scorer)
    rng = subject.rng(key)
    models = [result.models[i] for i in dict.fromkeys((best, other))]  # once where they agree
    drawn = _score_draws(models, group, scorer, subject.n_resamples, rng)
    tail = (1 - subject.level) / 2
    gain = float(scores[best] - scores[other])
    low, high = _interval(drawn[0], tail, scores[best])
    gain_low, gain_high = _interval(drawn[0] - drawn[-1], tail, gain)
    found = {
        "score": float(scores[best]),
        "score_low": low,
        "score_high": high,
        "gain": gain,
        "gain_low": gain_low,
        "gain_high": gain_high,
        "score_mean": float(scores.mean()),
        "score_best": float(scores.max()),
    }
    facts |= {f"{group.name}_{name}": value for name, value in found.items()}
    return {
        "selected model": f"{_number(scores[best])} ({_range(low, high)})",
        "choice without perturbation": _number(scores[other]),
        "selected less that choice": f"{_number(gain)} ({_range(gain_low, gain_high)})",
        "mean of all candidates": _number(scores.mean()),
        "best of all candidates": _number(scores.max()),
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
    return None if group.case is None else count_metric(scorer, group.classes)


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
            X, y = _safe_indexing(group.X, rows), group.y[rows]
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


def _about_limits(subject: _Subject, facts: dict[str, Any], limits: Sequence[str]) -> Section:
    points = [
        *_limits_of_ties(subject, facts),
        *_limits_of_samples(subject, facts),
        *_limits_of_new_samples(subject, facts),
    ]
    paragraphs = () if points or limits else ("None that the data given could tell.",)
    points += [f"{limit} (as stated)" for limit in limits]
    facts["n_limits"] = len(points)
    return Section("limits", "Limits", paragraphs, points=tuple(points))


def _limits_of_ties(subject: _Subject, facts: dict[str, Any]) -> list[str]:
    result = subject.result
    points = []
    if len(result.tied) > 1:
        points.append(
            f"{len(result.tied)} of {len(result.models)} candidates share the best PVF score: "
            f"which of them is used was decided by the tie rule ({result.tie_break}), not by the "
            "data."
        )
    for group in subject.groups:
        conflicts = facts.get(f"{group.name}_conflicts")
        if conflicts:
            points.append(
                f"For {conflicts} of {len(group.y)} {group.name} {subject.unit} the decision "
                f"depends on which of the set's {_count(len(subject.members), 'model')} is used."
            )
    return points


def _limits_of_samples(subject: _Subject, facts: dict[str, Any]) -> list[str]:
    result, points = subject.result, []
    for group in subject.groups:
        if group.case is not None and facts[f"{group.name}_cases"] < FEW_CASES:
            n = facts[f"{group.name}_cases"]
            points.append(
                f"The {group.name} data hold {_count(n, 'case')}, fewer than the {FEW_CASES} that "
                f"are advised for judging a model; one case more or less found changes the "
                f"sensitivity by {100 / n:.1f} percentage points."
            )
    if "validation_score_low" not in facts:
        points.append("No interval could be given: the samples or the scoring were not given.")
        return points
    low, high = facts["validation_score_low"], facts["validation_score_high"]
    others = np.delete(result.unperturbed, result.best_index)
    inside = int(((others >= low) & (others <= high)).sum())
    facts["n_within_interval"] = inside
    if others.size:
        points.append(
            f"The {subject.per_cent} interval of the selected model's validation score, "
            f"{_range(low, high)}, holds the scores of {inside} of the {len(others)} other "
            "candidates."
        )
        points.append(
            f"The validation score {_number(facts['validation_score'])} is that of a model chosen "
            f"among {len(result.models)} on the same {subject.unit}, so it is likely to be too "
            "high."
        )
    return points


def _limits_of_new_samples(subject: _Subject, facts: dict[str, Any]) -> list[str]:
    if "external_score" in facts:
        drop = facts["validation_score"] - facts["external_score"]
        if drop <= 0:
            return []
        score = _number(facts["external_score"])
        return [
            f"On external {subject.unit} the score is {score}, {_number(drop)} below validation's."
        ]
    if subject.stated:
        return [f"Performance on new {subject.unit} is stated by the author, not computed here."]
    return [f"The model was not tested on new {subject.unit}: no external samples were given."]
