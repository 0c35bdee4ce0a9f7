"""A model card for a model selected by perturbation validation, as Markdown or as an HTML page.

The card says what a reader needs to judge the selection: on which data and by which metric the
model was chosen, how many candidates did just as well, for whom these disagree, how good the model
is on other samples, and what all this does not tell. Every number in it is computed from the
result and the data given, or is marked as stated by the author.
"""

from __future__ import annotations

import functools
import numbers
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import pandas as pd
from scipy.stats import binomtest
from sklearn.utils.multiclass import type_of_target

import pvf
from pvf import _checks as check
from pvf import metrics, multiplicity, render
from pvf._blocks import scores_of_models
from pvf._checks import naming, shown
from pvf._score_draws import interval, plausible_scores
from pvf._seeds import child_seed, seed_sequence
from pvf._types import Array, ArrayLike, Flags, Indices, NDArray, Scorer
from pvf.advice import advice_of
from pvf.validation import PerturbationValidationResult, break_tie, check_validation_data, tied_best

#: Cases below which a validation sample is called small: Collins, Ogundimu and Altman (2016).
ADVISED_CASES = 100

#: Quantiles that are recognised from the scores.
_QUANTILES = {"lower quartile": 0.25, "median": 0.5, "minimum": 0.0}

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
        check.kind("facts", self.facts, Mapping, "be a mapping")
        check.kind("details", self.details, Mapping, "be a mapping")

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
        check.kind("path", path, str | os.PathLike, "be a path")
        return render.save(path, {".md": self.to_markdown, ".html": self.to_html})


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
    texts = {"title": title, "unit": unit, "intended_use": intended_use, "data_name": data_name}
    _check_texts(**texts, metric=metric)
    check.kind("data", data, Mapping | None, "be a mapping")
    if not isinstance(limits, list | tuple) or not all(isinstance(text, str) for text in limits):
        raise TypeError(f"limits must be a sequence of texts, got {shown(limits)}.")
    _check_result(result)
    scorer = None if scoring is None else check.scorer(scoring)
    samples, stated = (None, external) if isinstance(external, Mapping) else (external, {})
    subject = _Subject(
        result=result,
        groups=_groups(result, X, y, samples, kinds, pos_label, scorer),
        kinds=kinds,
        scorer=scorer,
        metric=metric or _metric_name(scoring),
        capacity=_capacity(capacity, scorer),
        epsilon=0.05 * abs(float(result.aggregated.max()))
        if epsilon is None
        else check.number("epsilon", epsilon, 0),
        threshold=check.number("threshold", threshold, 0, 1),
        level=check.fraction("confidence_level", confidence_level),
        n_resamples=check.integer("n_resamples", n_resamples, 100),
        seed=seed_sequence(random_state),
        n_contested=check.integer("n_contested", n_contested, 0),
    )
    lists = {"data": list((data or {}).items()), "limits": limits, "stated": list(stated.items())}
    return _card(subject, texts | lists)


def _card(subject: _Subject, statements: dict[str, Any]) -> ModelCard:
    """Compute all that a card shows beside what its author states."""
    groups = [_group_facts(subject, place, group) for place, group in enumerate(subject.groups)]
    facts = _selection_facts(subject) | {
        f"{group['name']}_{name}": value
        for group in groups
        for name, value in group.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    if "validation_score" in facts:
        low, high = facts["validation_score_low"], facts["validation_score_high"]
        others = np.delete(subject.result.unperturbed, subject.result.best_index)
        facts["n_within_interval"] = int(((others >= low) & (others <= high)).sum())
    details = statements | {
        "kind_of_model": _kind_of_model(subject.result.best_model),
        "level_of_intervals": f"{100 * subject.level:g}%",
        "seed": _seed_text(subject.result.seed),
        "groups": groups,
        "choices": _choices(subject),
        "advice": advice_of(
            subject.result.models, facts["capacity"], facts.get("validation_cases")
        ),
        "advised_cases": ADVISED_CASES,
    }
    return ModelCard(statements["title"], MappingProxyType(facts), MappingProxyType(details))


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
    def is_case(self) -> Flags:
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

    @functools.cached_property
    def members(self) -> Indices:
        """The Rashomon set; a candidate of infinitely bad score is never in it."""
        able = np.flatnonzero(np.isfinite(self.result.aggregated))
        return able[multiplicity.rashomon_set(-self.result.aggregated[able], self.epsilon)]

    @functools.cached_property
    def traditional(self) -> int:
        """Candidate that the same tie rule picks by the unperturbed scores."""
        tied = tied_best(self.result.unperturbed)
        return break_tie(tied, self.result.tie_break, seed_sequence(self.result.seed))

    @property
    def by_pvf(self) -> bool:
        """Whether PVF selects the card's model, or another rule does."""
        return self.result.best_index in self.result.tied

    @functools.cached_property
    def in_set(self) -> bool:
        """Whether the selected model is near enough to the best to be in the Rashomon set."""
        return self.result.best_index in self.members


def _check_texts(**texts: Any) -> None:
    for name, value in texts.items():
        if value is None and name not in ("title", "unit"):
            continue
        if not isinstance(value, str) or not value.strip():
            raise TypeError(f"{name} must be a text that is not empty, got {value!r}.")


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
    scorer: Scorer | None,
) -> tuple[_Group, ...]:
    """Return the validation and the external samples, if given."""
    check.kind("kinds", kinds, Mapping | None, "be a mapping")
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
    labels = {"validation": check_validation_data(X, cast("ArrayLike", y))}
    if samples is not None:
        with naming("external"):
            labels["external"] = check_validation_data(*samples)
    if pos_label is not None:
        check.label("pos_label", pos_label)
    classes = _classes(result, labels)
    case = _case_label(classes, pos_label, scorer)
    groups = tuple(_Group(name, pairs[name][0], labels[name], classes, case) for name in pairs)
    if scorer is not None:
        _check_same_scores(result, groups[0], scorer)
    if kinds is not None and list(kinds) != list(_frame(X).columns):
        raise ValueError(f"kinds must name the columns of X in order, {list(_frame(X).columns)}.")
    return groups


def _check_external(samples: Any, X: Any, scorer: Scorer | None) -> None:
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


def _case_label(classes: NDArray[Any] | None, pos_label: Any, scorer: Scorer | None) -> Any:
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


def _check_same_scores(result: PerturbationValidationResult, group: _Group, scorer: Scorer) -> None:
    with naming("X"):
        scores = scores_of_models(result.models, group.X, group.y, scorer)
    if not np.allclose(scores, result.unperturbed, rtol=1e-9, atol=1e-12):
        worst = int(np.abs(scores - result.unperturbed).argmax())
        raise ValueError(
            "X, y and scoring must be those of the result, got others: they give "
            f"{result.names[worst]!r} the score {scores[worst]:.6g}, and the result has "
            f"{result.unperturbed[worst]:.6g}."
        )


def _capacity(capacity: float | None, scorer: Scorer | None) -> float | None:
    settings = getattr(scorer, "_kwargs", {})
    of_scorer = None if "capacity_unit" in settings else settings.get("capacity")
    of_scorer = of_scorer if isinstance(of_scorer, numbers.Real) else None
    if capacity is None:
        return None if of_scorer is None else float(of_scorer)
    check.capacity(check.number("capacity", capacity, 0, 1))
    if of_scorer is not None and capacity != of_scorer:
        raise ValueError(f"capacity must be that of scoring, {of_scorer}, got {capacity}.")
    return float(capacity)


def _metric_name(scoring: Any) -> str | None:
    if scoring is None or isinstance(scoring, str):
        return scoring
    function = getattr(scoring, "_score_func", scoring)
    if function is metrics.intervention_efficiency_score:
        return "Intervention Efficiency"
    return getattr(function, "__name__", type(function).__name__).replace("_", " ")


def _frame(X: Any) -> pd.DataFrame:
    return X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))


# --- the selection ------------------------------------------------------------------------------


def _kind_of_model(model: Any) -> str:
    steps = getattr(model, "steps", [("", model)])
    return ", then ".join(type(step).__name__ for _, step in steps)


def _seed_text(seed: Any) -> str:
    is_sequence = isinstance(seed, np.random.SeedSequence)
    return f"entropy {seed.entropy}, key {list(seed.spawn_key)}" if is_sequence else f"{seed}"


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
        "n_sets": result.n_sets,
        "aggregate": _aggregate_name(result),
        "best_score": float(result.aggregated.max()),
        "n_tied": len(result.tied),
        "by_pvf": subject.by_pvf,
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
        "selected_in_set": subject.in_set,
    }


def _aggregate_name(result: PerturbationValidationResult) -> str | None:
    """Return the aggregate by which the scores on the sets give the result's, if it is known."""
    able: Any
    found: dict[str, Any]
    if result.scores is None:
        able = np.full(len(result.models), fill_value=True)
        laws = [law for law in result.law if law is not None]
        found = {name: [law.quantile(q) for law in laws] for name, q in _QUANTILES.items()}
    else:
        able = np.isfinite(result.scores).all(axis=1)  # infinite scores have no mean to tell by
        scores = result.scores[able]
        found = {name: np.quantile(scores, q, axis=1) for name, q in _QUANTILES.items()}
        found["mean"] = scores.mean(axis=1)
    names = (name for name, f in found.items() if np.allclose(f, result.aggregated[able]))
    return next(names, None) if able.any() else None


def _choices(subject: _Subject) -> list[dict[str, Any]]:
    """Return the two choices and the best candidate that does not tie."""
    result = subject.result
    choices = {"selected by PVF": result.best_index}
    if not subject.by_pvf:
        choices = {"selected otherwise": result.best_index, "best by PVF": int(result.tied[0])}
    choices["selected without perturbation"] = subject.traditional
    others = np.setdiff1d(np.arange(len(result.models)), result.tied)
    if others.size:
        choices["best candidate that does not tie"] = others[result.aggregated[others].argmax()]
    names = {"model": "candidate", "aggregated": "score", "min": "low", "max": "high"}
    candidates = result.to_frame().reset_index().rename(columns=names)
    candidates = candidates[[*names.values(), "unperturbed"]]
    shown = candidates.iloc[list(choices.values())].assign(choice=list(choices))
    return shown.to_dict("records")


# --- one group of samples -----------------------------------------------------------------------


def _group_facts(subject: _Subject, place: int, group: _Group) -> dict[str, Any]:
    """Return what the card's tables say about one group of samples."""
    result = subject.result
    chosen = (result.models[i] for i in (result.best_index, subject.traditional))
    mine, theirs = (np.asarray(model.predict(group.X)) for model in chosen)
    n_classes = 0 if group.classes is None else len(group.classes)
    facts = {"name": group.name, "case": group.case, "n_classes": n_classes}
    facts |= _data_facts(subject, group)
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
    kinds = ["numeric" if pd.api.types.is_numeric_dtype(t) else "other" for t in frame.dtypes]
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


def _capacity_facts(flagged: Flags, is_case: Flags, gamma: float) -> dict[str, float]:
    """Return what the selected model makes of the capacity."""
    tp, fp = int(flagged[is_case].sum()), int(flagged[~is_case].sum())
    n_pos, n_neg = int(is_case.sum()), int((~is_case).sum())
    efficiency = float(metrics.intervention_efficiency_counts(tp, fp, n_pos, n_neg, gamma))
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
    best, members = subject.result.best_index, subject.members.tolist()
    with_best = members if subject.in_set else [*members, best]
    scores, soft = _scores([subject.result.models[i] for i in with_best], group)
    base, scores = scores[with_best.index(best)], scores[: len(members)]
    how: dict[str, Any] = {"base": base, "threshold": subject.threshold}
    names = pd.Index(list(_frame(group.X).index), dtype=object)
    table = multiplicity.multiplicity_table(scores, **how, index=names)
    table["conflict"], table["label"] = table["n_decisions"] > 1, group.y
    capacity = table["capacity"].to_numpy()
    worst = table[capacity > 1].sort_values("capacity", ascending=False, kind="stable")
    by_class = _by_class(table, group)
    facts = {
        "soft": soft,
        "capacity_mean": float(capacity.mean()),
        "capacity_max": float(capacity.max()),
        "capacity_tail": multiplicity.capacity_tail(capacity, 0.05),
        "ambiguity": multiplicity.ambiguity(scores, **how),
        "discrepancy": multiplicity.discrepancy(scores, **how),
        "conflicts": int(table["conflict"].sum()),
        "by_class": by_class,
        "name_of_row": "name" if isinstance(group.X, pd.DataFrame) else "row",
        "contested": worst.head(subject.n_contested).reset_index(names="name").to_dict("records"),
    }
    for row in by_class if group.case is not None else ():
        facts[f"conflicts_{row['label']}"] = row["conflicts"]
        facts[f"capacity_mean_{row['label']}"] = row["mean"]
    return facts


def _scores(models: Sequence[Any], group: _Group) -> tuple[Array, bool]:
    """Return scores as `rashomon_capacity` takes them, and whether they are probabilities."""
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
        names = {group.case: "cases"} | {c: "others" for c in names if c != group.case}
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
    result, scorer, level = subject.result, subject.scorer, subject.level
    best, other = result.best_index, subject.traditional
    scores = result.unperturbed
    if group.name != "validation":
        scores = scores_of_models(result.models, group.X, group.y, scorer)
    metric = None if group.case is None else metrics.count_metric(scorer, group.classes)
    drawn = plausible_scores(
        [result.models[i] for i in dict.fromkeys((best, other))],  # once where they agree
        group.X,
        group.y,
        scorer,
        from_counts=metric,
        by_class=group.classes is not None,
        n_draws=subject.n_resamples,
        rng=np.random.default_rng(child_seed(subject.seed, place)),
    )
    gain = float(scores[best] - scores[other])
    low, high = interval(drawn[0], level, scores[best])
    gain_low, gain_high = interval(drawn[0] - drawn[-1], level, gain)
    return {
        "bayes": metric is not None,
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
