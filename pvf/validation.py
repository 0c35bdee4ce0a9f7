"""Algorithm 1 of the paper: perturb the validation set, score, aggregate, select.

The speed comes from the order of work: many perturbed sets are stacked into one table, each model
predicts that table once, and a metric that depends on counts is computed for all sets at once.
"""

from __future__ import annotations

import hashlib
import itertools
import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Required, TypedDict, Unpack, overload

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.utils import gen_batches, gen_even_slices
from tqdm import tqdm

from pvf import _checks as check
from pvf._blocks import BlockScorer, PerturbedSets, one_number, scores_on
from pvf._checks import naming, shown
from pvf._people import check_weights
from pvf._seeds import Seed, child_seed, plain_seed, seed_sequence
from pvf._types import Array, ArrayLike, Flags, Indices, NDArray, Scorer
from pvf.exact import METHODS, Method, NoLawError, ScoreLaw, laws_where_known
from pvf.perturbation import JointPerturbation, fitted_perturbation, sampler_of
from pvf.validation_result import (
    TIE_BREAKS,
    PerturbationValidationResult,
    PerturbationValidationResults,
    TieBreak,
)

Scoring = str | Scorer
Aggregate = float | Callable[[Array], float]
Laws = tuple[ScoreLaw | None, ...]
Models = Sequence[Any] | Mapping[str, Any]


class _Settings(TypedDict, total=False):
    """What `perturbation_validation` takes for one scorer and for several alike."""

    perturbation: Required[JointPerturbation]
    n_sets: int
    n_replicas: int
    aggregate: Aggregate
    tie_break: TieBreak
    common_noise: bool
    method: Method
    random_state: Seed
    n_jobs: int | None
    memory_budget: float
    sample_weight: ArrayLike | None
    score_params: Mapping[str, Any] | None
    progress: bool


@overload
def perturbation_validation(
    models: Models, X: Any, y: ArrayLike, *, scoring: Scoring, **settings: Unpack[_Settings]
) -> PerturbationValidationResult: ...
@overload
def perturbation_validation(
    models: Models,
    X: Any,
    y: ArrayLike,
    *,
    scoring: Mapping[str, Scoring],
    **settings: Unpack[_Settings],
) -> PerturbationValidationResults: ...
def perturbation_validation(
    models: Models,
    X: Any,
    y: ArrayLike,
    *,
    perturbation: JointPerturbation,
    scoring: Scoring | Mapping[str, Scoring],
    n_sets: int = 100,
    n_replicas: int = 7,
    aggregate: Aggregate = 0.25,
    tie_break: TieBreak = "first",
    common_noise: bool = True,
    method: Method = "sample",
    random_state: Seed = None,
    n_jobs: int | None = None,
    memory_budget: float = 256,
    sample_weight: ArrayLike | None = None,
    score_params: Mapping[str, Any] | None = None,
    progress: bool = False,
) -> PerturbationValidationResult | PerturbationValidationResults:
    """Select the model whose score holds up best when the validation set is perturbed.

    Each of ``n_sets`` perturbed sets holds ``n_replicas`` perturbed copies of every validation
    sample, labels unchanged; each model is scored on each set, and the model with the best
    aggregated score is selected.

    Parameters
    ----------
    models : list of fitted estimators, or dict of names to fitted estimators
        The Q candidates: classifiers, regressors or pipelines, whatever ``scoring`` can score.
    X : frame or array of shape (n_samples, n_features)
        Validation samples, as the models take them.
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        Their labels, of at least two classes; or an indicator of several labels a sample.
    perturbation : Perturbation
        How samples are perturbed. Fit it on training data, so that it knows the categories that
        ``X`` lacks; if it is not fitted, a copy is fitted on ``X``. Any other object with
        ``fit(X)`` and ``sample(X, n_replicas, rng)`` is taken too.
    scoring : str, callable, or dict of names to them
        A scikit-learn scorer or its name, `intervention_efficiency_scorer`, or any callable
        ``(estimator, X, y) -> float``. Greater is better. With a dict, models predict once and are
        scored by all: each scorer has the result that it has alone.
    n_sets : int, default=100
        Number M of perturbed sets.
    n_replicas : int, default=7
        Number k of copies of each sample in a set.
    aggregate : float in [0, 1] or callable, default=0.25
        A quantile of the M scores, or a function from M scores to a number.
    tie_break : {"first", "last", "random"}, default="first"
        Which of the tied models is selected. Scores count as tied within 1e-9 of each other,
        relatively.
    common_noise : bool, default=True
        Whether all models see the same perturbed sets, which removes noise from their comparison.
        With False each model gets sets of its own, which is Algorithm 1 to the letter; they
        depend on the model's name in a dict, and on its place in a list.
    method : {"sample", "auto", "exact"}, default="sample"
        ``"sample"`` is Algorithm 1. ``"auto"`` draws nothing for a candidate whose law is known
        (see `flip_probability`) where ``scoring`` is a function of counts and ``aggregate`` a
        quantile: its aggregated score is then the law's quantile, to which Algorithm 1 tends as
        ``n_sets`` grows, and depends on no seed. ``"exact"`` refuses candidates without a law.
    random_state : int, SeedSequence, Generator, RandomState or None
        Set m is drawn by a generator of its own, and models predict blocks of one size, so the
        result depends on the seed alone, and not on ``n_jobs`` or ``memory_budget``.
    n_jobs : int or None
        Workers, as joblib takes them.
    memory_budget : float, default=256
        MiB for the stacked sets that a worker holds at one time. Blocks of sets are made for
        16 MiB, since larger ones are no faster. A set that does not fit is drawn, predicted and
        counted in parts, of the same numbers; where ``scoring`` is no count of right and wrong
        predictions of two classes, or a mechanism is not of this package, it is made whole all the
        same, with a warning that says its size. Below 16, and where a set is split, models that
        compute by matrix products may round the last bits differently.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples, handed to the scorer with each set; replicas weigh the same.
    score_params : dict, optional
        What else the scorer takes, by name; a value for each sample is repeated with its replicas.
    progress : bool, default=False
        Whether to show how far the run is, on standard error.

    Returns
    -------
    PerturbationValidationResult, or PerturbationValidationResults where ``scoring`` is a dict

    Raises
    ------
    ValueError, TypeError
        An argument is of the wrong kind or range, ``y`` has one class, sizes differ, a model is
        not fitted (`NotFittedError`), or a score is NaN. A score of minus infinity is allowed: it
        is below every other.

    References
    ----------
    Zhang, Tran and Weng (2026), section 3.2 and Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import pvf
    >>> X, y = make_classification(200, random_state=0)
    >>> trees = {
    ...     f"depth {depth}": DecisionTreeClassifier(max_depth=depth, random_state=0).fit(
    ...         X[:150], y[:150]
    ...     )
    ...     for depth in (1, 2, 8)
    ... }
    >>> result = pvf.perturbation_validation(
    ...     trees, X[150:], y[150:],
    ...     perturbation=pvf.Perturbation(pvf.GaussianNoise(0.2)),
    ...     scoring=pvf.intervention_efficiency_scorer(0.3), random_state=0,
    ... )
    >>> result.best_name
    'depth 2'
    >>> result.to_frame()[["aggregated", "unperturbed"]].round(2)  # doctest: +NORMALIZE_WHITESPACE
             aggregated  unperturbed
    model
    depth 1        1.84         1.85
    depth 2        2.06         2.06
    depth 8        2.03         2.06
    """
    names, candidates = _check_models(models)
    labels, given = check_validation_data(X, y, several=True), _named_scorings(scoring)
    check_sets(n_sets, n_replicas, aggregate, method, tie_break, common_noise)
    check.flag("progress", progress)
    check.n_jobs(n_jobs)
    budget = check.number("memory_budget", memory_budget, 1) * 2**20
    seed = seed_sequence(random_state)
    params = _score_params(sample_weight, score_params, len(labels))
    perturbation = fitted_perturbation(perturbation, X)
    scorers = tuple(BlockScorer(labels, check.scorer(one), params, one) for one in given.values())

    unperturbed = _unperturbed(scorers, candidates, names, X)
    laws: list[Laws] = [(None,) * len(names)] * len(given)
    if method != "sample":
        known = _known_laws(candidates, X, perturbation, scorers, n_replicas, aggregate)
        laws = [_laws(of_models, names, method) for of_models in known]
    scores = np.full((len(given), len(names), n_sets), np.nan)
    drawn = [q for q in range(len(names)) if any(law[q] is None for law in laws)]
    if drawn:
        sets = PerturbedSets(sampler_of(perturbation, X), n_replicas, scorers)
        sets = replace(sets, n_rows=sets.rows_per_part(budget))
        own = names if isinstance(models, Mapping) else range(len(names))
        keys = None if common_noise else [own[q] for q in drawn]
        some = [candidates[q] for q in drawn]
        scores[:, drawn] = _all_scores(sets, some, n_sets, seed, keys, n_jobs, budget, progress)
    results = PerturbationValidationResults()
    for s, (metric, one) in enumerate(given.items()):
        found = scores[s], unperturbed[s], laws[s], candidates, names
        results[metric] = _result(*found, aggregate, one, tie_break, seed)
    return results if isinstance(scoring, Mapping) else results[""]


def check_sets(
    n_sets: Any, n_replicas: Any, aggregate: Any, method: Any, tie_break: Any, common_noise: Any
) -> None:
    """Refuse what does not say how sets are made, aggregated and compared."""
    check.integer("n_sets", n_sets, 1)
    check.integer("n_replicas", n_replicas, 1)
    if not callable(aggregate) or isinstance(aggregate, type):
        takes = "be a quantile in [0, 1] or a function of the scores"
        check.number("aggregate", check.kind("aggregate", aggregate, numbers.Real, takes), 0, 1)
    check.choice("method", method, METHODS)
    check.choice("tie_break", tie_break, TIE_BREAKS)
    check.flag("common_noise", common_noise)


def _unperturbed(
    scorers: Sequence[BlockScorer], models: Sequence[Any], names: Sequence[str], X: Any
) -> Array:
    """Return scores of shape (n_scorers, n_models) on the validation set as it is."""
    # The scorers' own errors and warnings come first, and once.
    for scorer in scorers:
        one_number("scoring", _first_score(scorer, models[0], X))
    scores = scores_on(scorers, models, X, 1)[:, :, 0]
    for scorer, plain in zip(scorers, scores, strict=True):
        _refuse_nan(plain[:, None], scorer.given, names, "the validation set as it is")
    return scores


def _known_laws(
    models: Sequence[Any],
    X: Any,
    perturbation: JointPerturbation,
    scorers: Sequence[BlockScorer],
    n_replicas: int,
    aggregate: Aggregate,
) -> Sequence[Sequence[ScoreLaw | NoLawError]]:
    """Return each scorer's laws of all models, or why there are none."""
    if callable(aggregate):
        return [[NoLawError("aggregate is no quantile")] * len(models)] * len(scorers)
    metrics = [of.metric for of in scorers]
    return laws_where_known(models, X, scorers[0].y, perturbation, metrics, n_replicas)


def _laws(
    known: Sequence[ScoreLaw | NoLawError], names: Sequence[str], method: Method
) -> tuple[ScoreLaw | None, ...]:
    """Return the laws of all candidates, None for what has to be drawn."""
    for law, name in zip(known, names, strict=True):
        if method == "exact" and isinstance(law, NoLawError):
            raise ValueError(f"method='exact': {name!r}: {law}; take 'auto' or 'sample'.") from law
    return tuple(None if isinstance(law, NoLawError) else law for law in known)


def _result(
    scores: Array,
    unperturbed: Array,
    laws: Laws,
    models: Sequence[Any],
    names: Sequence[str],
    aggregate: Aggregate,
    scoring: Any,
    tie_break: TieBreak,
    seed: np.random.SeedSequence,
) -> PerturbationValidationResult:
    """Aggregate the laws, and the scores that were drawn, and select."""
    aggregated = np.empty(len(names))
    drawn = [q for q, law in enumerate(laws) if law is None]
    for q, law in enumerate(laws):
        if law is not None:
            scores[q] = np.nan  # drawn for another scorer
            aggregated[q] = law.quantile(float(aggregate))  # type: ignore[arg-type]
    if drawn:
        own = [names[q] for q in drawn]
        _refuse_nan(scores[drawn], scoring, own, "perturbed set {}")
        aggregated[drawn] = _aggregate(scores[drawn], aggregate, own, scoring)
    tied = tied_best(aggregated)
    return PerturbationValidationResult(
        scores=scores if drawn else None,
        aggregated=aggregated,
        tied=tied,
        best_index=break_tie(tied, tie_break, seed),
        unperturbed=unperturbed,
        models=tuple(models),
        names=tuple(names),
        tie_break=tie_break,
        seed=plain_seed(seed),
        law=laws,
    )


def _named_scorings(scoring: Any) -> dict[str, Any]:
    """Return scorers as given, by name; a single one has no name."""
    if not isinstance(scoring, Mapping):
        check.scorer(scoring)
        return {"": scoring}
    if not scoring or not all(isinstance(name, str) for name in scoring):
        raise ValueError(f"scoring must map one name or more to scorers, got {shown(scoring)}.")
    for name, one in scoring.items():
        with naming(f"scoring {name!r}"):
            check.scorer(one)
    return dict(scoring)


def _score_params(sample_weight: Any, score_params: Any, n_samples: int) -> dict[str, Any]:
    """Return what scorers are handed beside samples and labels."""
    check.kind("score_params", score_params, Mapping | None, "be a dict or None")
    params = dict(score_params or {})
    if sample_weight is not None:
        params["sample_weight"] = check_weights(sample_weight, n_samples)
    return params


def _first_score(one: BlockScorer, model: Any, X: Any) -> Any:
    try:
        return one.scorer(model, X, one.y, **one.params)
    except (TypeError, ValueError) as error:
        if not one.params:
            raise
        raise type(error)(
            f"scoring {shown(one.given)} must take {sorted(one.params)}, which are given as "
            f"sample_weight or score_params: {error}"
        ) from error


def _all_scores(
    sets: PerturbedSets,
    models: list[Any],
    n_sets: int,
    seed: np.random.SeedSequence,
    keys: list[Any] | None,
    n_jobs: int | None,
    budget: float,
    progress: bool,
) -> Array:
    """Return scores of shape (n_scorers, n_models, n_sets), from blocks of models and sets.

    Models have keys where each has noise of its own.
    """
    blocks = list(gen_batches(n_sets, sets.per_block(budget)))
    # A model's own noise has its own keys; common noise has one key a set, whatever the model, and
    # is drawn again by each group of models where there are fewer blocks than workers.
    n_groups = -(-effective_n_jobs(n_jobs) // len(blocks)) if keys is None else len(models)
    groups = gen_even_slices(len(models), min(n_groups, len(models)))
    tasks = list(itertools.product(groups, blocks))

    def seeds(group: slice, block: slice) -> list[np.random.SeedSequence]:
        model = None if keys is None else keys[group.start]
        return [set_seed(seed, model, m) for m in range(block.start, block.stop)]

    run = Parallel(n_jobs=n_jobs, return_as="generator" if progress else "list")
    parts = run(delayed(sets.scores)(models[group], seeds(group, block)) for group, block in tasks)
    scores = np.empty((len(sets.scorers), len(models), n_sets))
    shown_parts = tqdm(parts, total=len(tasks), desc="perturbed sets", disable=not progress)
    for (group, block), part in zip(tasks, shown_parts, strict=True):
        scores[:, group, block] = part
    return scores


def tied_best(aggregated: Array) -> Indices:
    """Return the indices of all scores within rounding (1e-9, relative) of the best.

    Parameters
    ----------
    aggregated : ndarray of shape (n_models,)

    Returns
    -------
    ndarray of int

    Examples
    --------
    >>> tied_best(np.array([0.3, 0.1 + 0.2, 0.2]))
    array([0, 1])
    """
    return np.flatnonzero(is_tied_best(aggregated))


def is_tied_best(aggregated: Array) -> Flags:
    """Mark the scores within rounding of the best along the last axis.

    Parameters
    ----------
    aggregated : ndarray of shape (..., n_models)

    Returns
    -------
    ndarray of bool of the same shape
    """
    best = aggregated.max(axis=-1, keepdims=True)
    return np.isclose(aggregated, best, rtol=1e-9, atol=1e-12)


def set_seed(
    seed: np.random.SeedSequence, model: int | str | None, m: int
) -> np.random.SeedSequence:
    """Return the seed of perturbed set ``m``: common to all models, or one model's own."""
    key: tuple[int, ...] = (0, m)
    if isinstance(model, str):
        name = np.frombuffer(hashlib.sha256(model.encode()).digest()[:16], dtype="<u4")
        key = (3, *name.tolist(), m)
    elif model is not None:
        key = (1, model, m)
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))


def break_tie(tied: Indices, tie_break: str, seed: np.random.SeedSequence) -> int:
    """Return the one of the tied models that the rule picks."""
    if tie_break == "random":
        return int(np.random.default_rng(child_seed(seed, 2)).choice(tied))
    return int(tied[0] if tie_break == "first" else tied[-1])


def _aggregate(scores: Array, aggregate: Aggregate, names: Sequence[str], scoring: Any) -> Array:
    if not callable(aggregate):
        return quantile_of_rows(scores, aggregate)
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        found = np.array([one_number("aggregate", aggregate(row.copy())) for row in scores])
    for q in np.flatnonzero(np.isnan(found)).tolist():
        n_lost = int(np.isneginf(scores[q]).sum())
        if not n_lost:
            raise ValueError(
                f"aggregate gave NaN for model {names[q]!r}, from finite scores of scoring "
                f"{shown(scoring)}; it must give a number."
            )
        warnings.warn(
            f"scoring {shown(scoring)} gave minus infinity for model {names[q]!r} on {n_lost} of "
            f"{scores.shape[1]} sets, of which aggregate makes no number: the model loses.",
            stacklevel=3,
        )
        found[q] = -np.inf
    return found


def quantile_of_rows(scores: Array, share: float) -> Array:
    """Return each row's quantile; next to an infinite score, which has no middle, that score."""
    with np.errstate(invalid="ignore"):
        found = np.quantile(scores, share, axis=1)
    infinite = np.isinf(scores).any(axis=1)
    if infinite.any():
        some = scores[infinite]
        low, high = (np.quantile(some, share, axis=1, method=m) for m in ("lower", "higher"))
        between = np.where(np.isinf(high), high, found[infinite])
        found[infinite] = np.where(np.isinf(low) | (low == high), low, between)
    return found


def _refuse_nan(scores: Array, scoring: Any, names: Sequence[str], where: str) -> None:
    if np.isnan(scores).any():
        q, m = np.argwhere(np.isnan(scores))[0]
        raise ValueError(
            f"scoring {shown(scoring)} gave NaN for model {names[q]!r} on {where.format(m)}; "
            "it must give a number."
        )


def _check_models(models: Any) -> tuple[list[str], list[Any]]:
    """Return names and fitted models."""
    if isinstance(models, Mapping):
        names, candidates = [str(name) for name in models], list(models.values())
    elif isinstance(models, list | tuple | np.ndarray):
        names, candidates = [f"model {q}" for q in range(len(models))], list(models)
    else:
        raise TypeError(
            f"models must be a list or a dict of fitted estimators, got {type(models).__name__}."
        )
    if not candidates:
        raise ValueError("models must hold at least one fitted estimator, got none.")
    for name, model in zip(names, candidates, strict=True):
        check.fitted(f"models: {name!r}", model)
    return names, candidates


def check_validation_data(X: Any, y: ArrayLike, *, several: bool = False) -> NDArray:
    """Return the labels; refuse those of one class or of another number than the samples.

    With ``several``, a sample may have several labels, each of them 0 or 1.
    """
    labels = check.array("y", y)
    is_indicator = labels.ndim == 2 and labels.shape[1] > 1 and labels.dtype.kind in "biuf"
    if not (several and is_indicator and np.isin(labels, (0, 1)).all()):
        labels = check.column("y", y)
    check.samples("X", X, len(labels))
    kinds = np.unique(labels, axis=0) if labels.ndim > 1 else pd.unique(labels)
    if len(kinds) < 2:
        raise ValueError(f"y must have at least two classes, got {kinds.tolist()}.")
    return labels
