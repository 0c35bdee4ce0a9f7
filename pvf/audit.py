"""What a choice among candidates is worth: ranking, ties, differences, stability, multiplicity.

`audit` repeats the whole choice, fitting included, on random splits of the data and on bootstrap
samples, and puts what it finds together. The quantities that repeated choices give are defined
here, for `audit` and for `pvf.select` alike.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import resample
from tqdm import tqdm

from pvf import _checks as check
from pvf._blocks import rows_of
from pvf._checks import shown
from pvf._seeds import Seed, child_seed, plain_seed, seed_sequence
from pvf._text import shortened
from pvf._types import Array, ArrayLike, Flags, Indices, NDArray
from pvf.model_card import ModelCard, model_card
from pvf.multiplicity import ambiguity, capacity_lists, discrepancy, multiplicity_table
from pvf.perturbation import Perturbation, fitted_perturbation
from pvf.selection import named_models
from pvf.validation import (
    PerturbationValidationResult,
    Scoring,
    check_validation_data,
    perturbation_validation,
    quantile_of_rows,
    tied_best,
)

Rows = tuple[Indices, Indices]  # to fit on, and to choose on


@dataclass(frozen=True, eq=False, repr=False)
class AuditResult:
    """What `audit` found; every frame is by candidate, split or sample.

    Attributes
    ----------
    validation : PerturbationValidationResult
        PVF over the perturbed sets of all splits; its models are fitted on all rows.
    ranking : DataFrame
        Indexed by model, the selected one first: ``aggregated`` and ``rank`` by PVF,
        ``unperturbed`` (mean over the splits) and ``unperturbed_rank``, ``tied``, ``selected``;
        ``in_splits`` and ``in_bootstraps``, the shares of them in which PVF selects the model.
    differences : DataFrame
        Indexed by every other model: by how much the selected one scores more, unperturbed
        (``difference``, ``low``, ``high``) and under perturbation (``pvf_difference``,
        ``pvf_low``, ``pvf_high``), by `resampled_interval` over the splits. The selected one was
        selected on the same splits, which flatters it.
    choices : DataFrame
        Indexed by ``kind`` ("split" or "bootstrap") and number: ``pvf`` and ``unperturbed``, the
        model that each rule selects there, and ``n_tied``, how many tie by PVF.
    factors : DataFrame
        Indexed by ``factor``, how many times as strong the perturbation is: ``choice``,
        ``score``, ``n_tied``.
    multiplicity : DataFrame or None
        Indexed by sample: `multiplicity_table` of the good models' mean scores where they had no
        part in fitting; with a capacity also who is on whose list, by `capacity_lists`. None
        where fewer than two models are good, or one gives no probabilities.
    summary : dict of str to float
        ``n_models``, ``n_tied``, ``n_good``; ``agreement_of_splits`` and ``_of_bootstraps``, the
        chance that two of them select the same model; what goes with ``multiplicity``.
    card : ModelCard
    """

    validation: PerturbationValidationResult
    ranking: pd.DataFrame
    differences: pd.DataFrame
    choices: pd.DataFrame
    factors: pd.DataFrame
    multiplicity: pd.DataFrame | None
    summary: dict[str, float]
    card: ModelCard

    def __post_init__(self) -> None:
        """Check the parts, which `audit` makes."""
        frames = ("ranking", "differences", "choices", "factors", "multiplicity")
        kinds: dict[str, type] = dict.fromkeys(frames, pd.DataFrame)
        kinds |= {"validation": PerturbationValidationResult, "card": ModelCard, "summary": dict}
        for name, kind in kinds.items():
            taken = kind | None if name == "multiplicity" else kind
            check.kind(name, getattr(self, name), taken, f"be a {kind.__name__}")

    @property
    def best_name(self) -> str:
        """The selected model's name."""
        return self.validation.best_name

    @property
    def best_model(self) -> Any:
        """The selected model, fitted on all rows."""
        return self.validation.best_model

    def to_frame(self) -> pd.DataFrame:
        """Return the ranking.

        Returns
        -------
        DataFrame
            As in the attributes.
        """
        return self.ranking.copy()

    def __repr__(self) -> str:
        parts = []
        for title, frame in self._tables(6).items():
            text = frame.rename(index=lambda name: shortened(str(name), 28)).to_string()
            parts.append(f"{title}\n{text}")
        return "\n\n".join([f"<{self._summary()}>", *parts])

    def _repr_html_(self) -> str:
        tables = self._tables(15).items()
        parts = (f"<h4>{html.escape(title)}</h4>{f.to_html(border=0)}" for title, f in tables)
        return f"<p>{html.escape(self._summary())}</p>{''.join(parts)}"

    def _summary(self) -> str:
        found = self.summary
        more = [f"{found[n]:.0%} {n.replace('_', ' ')}" for n in found if "agreement" in n]
        if "ambiguity" in found:
            who = f"the {found['n_good']} good models disagree about"
            more.append(f"{who} {found['ambiguity']:.0%} of the samples")
        best, n = shortened(self.best_name, 60), found["n_tied"]
        tied = f", tied with {n - 1} more" if n > 1 else ""
        chosen = f"AuditResult of {found['n_models']} models: {best!r} is selected{tied}"
        return f"{chosen}; {', '.join(more)}"

    def _tables(self, most: int) -> dict[str, pd.DataFrame]:
        """Return what fits a screen, to three digits."""
        n_more = len(self.ranking) - most
        rest = f" (the first {most} of {len(self.ranking)})" if n_more > 0 else ""
        factors = self.factors.assign(choice=[shortened(c, 28) for c in self.factors["choice"]])
        scores = ["aggregated", "unperturbed", "tied", "in_splits", "in_bootstraps"]
        return {
            f"Ranking{rest}": self.ranking[scores].head(most).round(3),
            "The selected model's lead": self.differences.head(most).round(3),
            "Choice by the strength of the perturbation": factors.head(most).round(3),
        }


def audit(
    models: Sequence[Any] | Mapping[str, Any],
    X: Any,
    y: ArrayLike,
    *,
    scoring: Scoring,
    perturbation: Perturbation,
    factors: Sequence[float] = (0.3, 1.0, 3.0),
    n_splits: int = 20,
    validation_share: float = 0.3,
    splits: Iterable[tuple[ArrayLike, ArrayLike]] | None = None,
    n_bootstraps: int = 20,
    n_sets: int = 100,
    n_replicas: int = 7,
    aggregate: float = 0.25,
    epsilon: float | None = None,
    capacity: float | None = None,
    confidence: float = 0.95,
    random_state: Seed = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> AuditResult:
    """Choose among candidates by PVF, and find out what the choice is worth, in one call.

    The whole choice, fitting included, is repeated on random splits and on bootstrap samples of
    the rows, where the rows that were not drawn validate.

    Parameters
    ----------
    models : list of estimators, or dict of names to estimators
        Candidate classifiers. They are cloned, never fitted in place.
    X : array-like or frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of two classes or more.
    scoring : str or callable
        As in `perturbation_validation`.
    perturbation : Perturbation
        As in `perturbation_validation`; an unfitted one is fitted on ``X``.
    factors : sequence of float, default=(0.3, 1.0, 3.0)
        How many times as strong a perturbation to choose by besides; 1 is always among them.
    n_splits : int, default=20
        Random splits into a training and a validation part, stratified by class.
    validation_share : float in (0, 1), default=0.3
        Share of the rows that validate.
    splits : iterable of pairs of row numbers, optional
        Splits of one's own, (training, validation), as every splitter of scikit-learn gives: by
        person, for example ``GroupShuffleSplit(20).split(X, y, person)``, together with
        ``n_bootstraps=0``, since a bootstrap sample keeps no persons together.
    n_bootstraps : int, default=20
        Bootstrap samples, drawn within each class.
    n_sets : int, default=100
        Perturbed sets over all splits; each split has its share, rounded up.
    n_replicas : int, default=7
        As in `perturbation_validation`.
    aggregate : float in [0, 1], default=0.25
        The quantile of the scores on all sets.
    epsilon : float, optional
        How far below the best aggregated score a model counts as good, as in `model_card`.
    capacity : float in (0, 1], optional
        Share of the people who can be treated; by default that of ``scoring``, where it has one.
    confidence : float in (0, 1), default=0.95
        Of the intervals.
    random_state : int, SeedSequence, Generator, RandomState or None, default=0
        Each split and bootstrap sample is drawn by a key of its own, whatever ``n_jobs``.
    n_jobs : int or None
        Workers, as joblib takes them.
    progress : bool, default=False
        Whether to show how far the run is, on standard error.

    Returns
    -------
    AuditResult

    Raises
    ------
    ValueError, TypeError
        An argument is of the wrong kind or range, or a class is too small to split.

    See Also
    --------
    perturbation_validation : Choose among fitted models on one validation set.
    pvf.selection.rank_models : Rules of choice side by side.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import pvf
    >>> X, y = make_classification(200, random_state=0)
    >>> trees = {
    ...     f"depth {depth}": DecisionTreeClassifier(max_depth=depth, random_state=0)
    ...     for depth in (1, 2, 8)
    ... }
    >>> result = pvf.audit(
    ...     trees, X, y, scoring="f1", perturbation=pvf.Perturbation(pvf.GaussianNoise(0.2)),
    ...     n_splits=5, n_bootstraps=5, n_sets=20,
    ... )
    >>> result.best_name
    'depth 1'
    >>> result.ranking[["rank", "in_splits", "in_bootstraps"]]  # doctest: +NORMALIZE_WHITESPACE
             rank  in_splits  in_bootstraps
    model
    depth 1     1        0.8            0.6
    depth 2     2        0.2            0.2
    depth 8     3        0.0            0.2
    """
    pool = _pool(models)
    labels = check_validation_data(X, y)
    X = check.table("X", X)
    strengths = _strengths(perturbation, factors, X)
    check.fraction("confidence", confidence)
    if epsilon is not None:
        check.number("epsilon", epsilon, 0)
    if capacity is not None:
        check.number("capacity", capacity, 0, 1, left_open=True)
    of_card = {"scoring": scoring, "epsilon": epsilon, "capacity": capacity}
    seed = seed_sequence(random_state)
    if splits is None:
        parts = _random_splits(labels, n_splits, validation_share, seed)
    else:
        parts = _given_splits(splits, len(labels))
    rows = parts + _bootstraps(labels, n_bootstraps, seed)
    settings = _of_one(scoring, n_sets, n_replicas, aggregate, len(parts))
    tasks = (
        delayed(_one_choice)(pool, X, labels, part, strengths, settings, child_seed(seed, 2, place))
        for place, part in enumerate(rows)
    )
    silent = not check.flag("progress", progress)
    run = Parallel(n_jobs=check.n_jobs(n_jobs), return_as="generator")(tasks)
    found = list(tqdm(run, total=len(rows), desc="splits and bootstraps", disable=silent))
    fitted = {name: clone(model).fit(X, labels) for name, model in pool.items()}
    return _put_together(found, parts, fitted, X, labels, aggregate, confidence, seed, of_card)


@dataclass(frozen=True, eq=False)
class _OneChoice:
    """The choice on one split or bootstrap sample."""

    by_factor: dict[float, PerturbationValidationResult]
    probabilities: Array | None  # (n_models, n_validation, n_classes)

    @property
    def main(self) -> PerturbationValidationResult:
        return self.by_factor[1.0]


def _one_choice(
    pool: Mapping[str, Any],
    X: Any,
    y: NDArray[Any],
    rows: Rows,
    strengths: Mapping[float, Any],
    settings: Mapping[str, Any],
    seed: np.random.SeedSequence,
) -> _OneChoice:
    """Fit the candidates on some rows, and score them on others at each strength."""
    (X_train, y_train), (X_val, y_val) = ((rows_of(X, part), y[part]) for part in rows)
    models = {name: clone(model).fit(X_train, y_train) for name, model in pool.items()}
    found = {
        factor: perturbation_validation(
            models, X_val, y_val, perturbation=noise, random_state=seed, **settings
        )
        for factor, noise in strengths.items()
    }
    classes, able = np.unique(y), all(hasattr(m, "predict_proba") for m in models.values())
    if not able or len(np.unique(y_train)) < len(classes):
        return _OneChoice(found, None)
    return _OneChoice(found, np.array([m.predict_proba(X_val) for m in models.values()]))


def _put_together(
    found: Sequence[_OneChoice],
    parts: Sequence[Rows],
    fitted: Mapping[str, Any],
    X: Any,
    y: NDArray[Any],
    aggregate: float,
    confidence: float,
    seed: np.random.SeedSequence,
    of_card: Mapping[str, Any],
) -> AuditResult:
    in_splits = found[: len(parts)]
    plain, pvf = (
        np.array([getattr(one.main, what) for one in in_splits])
        for what in ("unperturbed", "aggregated")
    )
    by_factor = {
        factor: np.hstack([one.by_factor[factor].scores for one in in_splits])  # type: ignore[misc]
        for factor in found[0].by_factor
    }
    result, factors = result_over_splits(
        by_factor, plain.mean(axis=0), fitted, main=1.0, aggregate=aggregate, seed=seed
    )
    choices = _choices(found, len(parts))
    ranking = _ranking(result, choices)
    stated = {"Samples": len(y)} | {
        f"Selected {kind.replace('_', ' ')}": f"{ranking[kind].iloc[0]:.0%}"
        for kind in ("in_splits", "in_bootstraps")[: 1 + (len(found) > len(parts))]
    }
    card = model_card(
        result, data=stated, confidence_level=confidence, random_state=seed, **of_card
    )
    summary: dict[str, float] = {"n_models": len(fitted), "n_tied": len(result.tied)}
    for kind, chosen in choices["pvf"].groupby(level="kind", sort=False):
        counts, n = chosen.value_counts(), len(chosen)
        if n > 1:  # pairs of two choices, none with itself
            summary[f"agreement_of_{kind}s"] = float((counts * (counts - 1)).sum() / (n * (n - 1)))
    good = result.aggregated >= result.aggregated.max() - card.facts["epsilon"] * (1 + 1e-9)
    table, more = _multiplicity(in_splits, parts, good, result.best_index, X, card.facts)
    ratio = float(np.mean([len(validation) / len(train) for train, validation in parts]))
    return AuditResult(
        validation=result,
        ranking=ranking,
        differences=_differences(plain, pvf, result, ratio, confidence),
        choices=choices,
        factors=factors.rename_axis("factor"),
        multiplicity=table,
        summary=summary | {"n_good": int(good.sum())} | more,
        card=card,
    )


def _multiplicity(
    in_splits: Sequence[_OneChoice],
    parts: Sequence[Rows],
    good: Flags,
    best: int,
    X: Any,
    facts: Mapping[str, Any],
) -> tuple[pd.DataFrame | None, dict[str, float]]:
    """Return how the good models' mean scores differ where they had no part in fitting."""
    known = [one.probabilities for one in in_splits if one.probabilities is not None]
    if len(known) < len(parts) or good.sum() < 2:
        return None, {}
    scores = mean_held_out(known, [validation for _, validation in parts], len(X))[good]
    seen = ~np.isnan(scores[0, :, 0])
    scores = scores[:, seen, 1] if scores.shape[2] == 2 else scores[:, seen]
    index = pd.Index(getattr(X, "index", np.arange(len(X)))[seen], name="sample")
    return disagreement(scores, int(good[:best].sum()), index, facts["capacity"])


def _choices(found: Sequence[_OneChoice], n_splits: int) -> pd.DataFrame:
    n_each = {"split": n_splits, "bootstrap": len(found) - n_splits}
    index = [(kind, place) for kind, n in n_each.items() for place in range(n)]
    rows = [
        (one.main.best_name, one.main.names[tied_best(one.main.unperturbed)[0]], len(one.main.tied))
        for one in found
    ]
    names = pd.MultiIndex.from_tuples(index, names=["kind", "number"])
    return pd.DataFrame(rows, columns=["pvf", "unperturbed", "n_tied"], index=names)


def _ranking(result: PerturbationValidationResult, choices: pd.DataFrame) -> pd.DataFrame:
    table = result.to_frame()[["aggregated", "unperturbed", "tied", "selected"]]
    scores = table[["aggregated", "unperturbed"]].round(9)
    ranks = scores.rank(ascending=False, method="min").astype(int)
    table.insert(1, "rank", ranks["aggregated"])
    table.insert(3, "unperturbed_rank", ranks["unperturbed"])
    for kind in ("split", "bootstrap"):
        chosen = choices["pvf"][choices.index.get_level_values("kind") == kind]
        table[f"in_{kind}s"] = [float((chosen == name).mean()) for name in table.index]
    order = np.lexsort((-table["aggregated"], ~table["selected"]))
    return table.iloc[order]


def _differences(
    plain: Array, pvf: Array, result: PerturbationValidationResult, ratio: float, confidence: float
) -> pd.DataFrame:
    """Return the selected model's lead over each other, the closest first."""
    found: dict[str, Array] = {}
    for prefix, scores in (("", plain), ("pvf_", pvf)):
        lead = scores[:, [result.best_index]] - scores
        found[f"{prefix}difference"] = lead.mean(axis=0)
        ends = resampled_interval(lead, ratio, confidence)
        found[f"{prefix}low"], found[f"{prefix}high"] = ends
    table = pd.DataFrame(found, index=pd.Index(result.names, name="model"))
    order = np.argsort(-result.aggregated, kind="stable")
    return table.iloc[order[order != result.best_index]]


def result_over_splits(
    scores: Mapping[float, Array],
    unperturbed: Array,
    models: Mapping[str, Any],
    *,
    main: float,
    aggregate: float,
    seed: int | np.random.SeedSequence,
) -> tuple[PerturbationValidationResult, pd.DataFrame]:
    """Return PVF's result over the perturbed sets of all splits, and its choice at each level.

    ``scores`` has for each level of perturbation the scores of all models on all sets, of which
    those of the level ``main`` make the result.
    """
    names = list(models)
    by_level = {level: quantile_of_rows(one, aggregate) for level, one in scores.items()}
    tied_by_level = {level: tied_best(one) for level, one in by_level.items()}
    rows = [
        (level, names[tied[0]], float(by_level[level][tied[0]]), len(tied))
        for level, tied in tied_by_level.items()
    ]
    aggregated, tied = by_level[main], tied_by_level[main]
    result = PerturbationValidationResult(
        scores=scores[main],
        aggregated=aggregated,
        tied=tied,
        best_index=int(tied[0]),
        unperturbed=unperturbed,
        models=tuple(models.values()),
        names=tuple(names),
        tie_break="first",
        seed=seed if isinstance(seed, int) else plain_seed(seed),
    )
    levels = pd.DataFrame(rows, columns=["level", "choice", "score", "n_tied"])
    return result, levels.set_index("level")


def mean_held_out(scores: Sequence[Array], rows: Sequence[Indices], n_rows: int) -> Array:
    """Return each model's mean score of each row over the splits that held it out.

    Each split has scores of shape (n_models, n_held_out, ...), NaN for a model that it lacks; the
    mean has shape (n_models, n_rows, ...), NaN where there is none.
    """
    shape = (len(scores[0]), n_rows, *scores[0].shape[2:])
    total, times = np.zeros(shape), np.zeros(shape)
    for of_split, held_out in zip(scores, rows, strict=True):
        known = ~np.isnan(of_split)
        total[:, held_out] += np.where(known, of_split, 0.0)
        times[:, held_out] += known
    return np.where(times > 0, total / np.maximum(times, 1), np.nan)


def disagreement(
    scores: Array, base: int, index: Any, capacity: float | None = None
) -> tuple[pd.DataFrame, dict[str, float]]:
    """Return how much models disagree about each person, and the shares and means that go with it.

    With a capacity of two classes also by rank: who is on whose list.
    """
    table = multiplicity_table(scores, base=base, index=index)
    summary = {
        "mean_capacity": float(table["capacity"].mean()),
        "largest_capacity": float(table["capacity"].max()),
        "conflicting": float((table["n_decisions"] > 1).mean()),
        "ambiguity": ambiguity(scores, base=base),
    }
    if capacity is not None and scores.ndim == 2:
        lists = capacity_lists(scores, capacity, capacity_unit="share", index=index)
        table["lists"], table["share_of_lists"] = lists["lists"], lists["share"]
        by_rank: dict[str, Any] = {"base": base, "capacity": capacity, "capacity_unit": "share"}
        summary["ambiguity_by_rank"] = ambiguity(scores, **by_rank)
        summary["discrepancy_by_rank"] = discrepancy(scores, **by_rank)
    return table, summary


def resampled_interval(
    differences: Array, ratio: float, confidence: float = 0.95
) -> tuple[Array, Array]:
    """Return the corrected resampled t-interval of a mean over random splits.

    Splits overlap, so that their spread alone makes too narrow an interval; the correction takes
    the variance of the mean of J splits to be 1/J + ``ratio`` times that of one.

    Parameters
    ----------
    differences : ndarray of shape (n_splits, n)
        Paired differences of two models' scores in each split.
    ratio : float
        Validation rows per training row.
    confidence : float in (0, 1), default=0.95

    Returns
    -------
    low, high : ndarray of shape (n,)
        NaN for a single split.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error.

    Examples
    --------
    >>> low, high = resampled_interval(np.array([[0.1], [0.3], [0.2]]), ratio=0.5)
    >>> low.round(2), high.round(2)
    (array([-0.19]), array([0.59]))
    """
    differences = check.finite("differences", differences)
    check.number("ratio", ratio, 0)
    check.fraction("confidence", confidence)
    n, mean = len(differences), differences.mean(axis=0)
    if n < 2:
        return np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    error = differences.std(axis=0, ddof=1) * np.sqrt(1 / n + ratio)
    half = stats.t.ppf((1 + confidence) / 2, n - 1) * error
    return mean - half, mean + half


# --- rows ---------------------------------------------------------------------------------------


def _pool(models: Any) -> dict[str, Any]:
    """Return the candidates by their names, as texts."""
    named = named_models(models)
    pool = {str(name): model for name, model in named.items()}
    if len(pool) < len(named):
        raise ValueError(f"models must have names that differ as text, got {list(named)}.")
    return pool


def _of_one(
    scoring: Scoring, n_sets: int, n_replicas: int, aggregate: float, n_parts: int
) -> dict[str, Any]:
    """Return the settings of PVF on one split, which has its share of the perturbed sets."""
    return {
        "scoring": check.scorer(scoring),
        "n_sets": -(-check.integer("n_sets", n_sets, 1) // n_parts),
        "n_replicas": check.integer("n_replicas", n_replicas, 1),
        "aggregate": check.number("aggregate", aggregate, 0, 1),
    }


def _random_splits(
    y: NDArray[Any], n_splits: Any, validation_share: Any, seed: np.random.SeedSequence
) -> list[Rows]:
    check.integer("n_splits", n_splits, 2)
    share = check.fraction("validation_share", validation_share)
    state = int(child_seed(seed, 0).generate_state(1)[0])
    splitter = StratifiedShuffleSplit(n_splits, test_size=share, random_state=state)
    return list(splitter.split(np.zeros(len(y)), y))


def _given_splits(splits: Any, n_rows: int) -> list[Rows]:
    if isinstance(splits, str | Mapping) or not isinstance(splits, Iterable):
        raise TypeError(f"splits must hold pairs of row numbers, got {shown(splits)}.")
    found = []
    for pair in splits:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise TypeError(f"splits must hold pairs of row numbers, got {shown(pair)}.")
        train, validation = (check.finite("splits", part) for part in pair)
        if any(part.ndim != 1 or not part.size for part in (train, validation)):
            raise ValueError(f"splits must hold two lists of row numbers each, got {shown(pair)}.")
        numbers = np.concatenate([np.unique(train), validation])
        if not np.isin(numbers, np.arange(n_rows)).all() or len(set(numbers)) < len(numbers):
            raise ValueError(f"splits must hold row numbers below {n_rows}, each in one part.")
        found.append((train.astype(np.intp), validation.astype(np.intp)))
    if len(found) < 2:
        raise ValueError(f"splits must hold two splits or more, got {len(found)}.")
    return found


def _bootstraps(y: NDArray[Any], n_bootstraps: int, seed: np.random.SeedSequence) -> list[Rows]:
    check.integer("n_bootstraps", n_bootstraps, 0)
    return [_bootstrap(y, child_seed(seed, 1, b)) for b in range(n_bootstraps)]


def _bootstrap(y: NDArray[Any], seed: np.random.SeedSequence) -> Rows:
    """Draw rows within each class until every class has a row that is not drawn."""
    sizes = pd.Series(y).value_counts()
    if sizes.min() < 2:
        raise ValueError(f"y must have two of each class or more, got one {sizes.idxmin()!r}.")
    for state in seed.generate_state(1000):
        drawn = resample(np.arange(len(y)), stratify=y, random_state=int(state))
        left = np.setdiff1d(np.arange(len(y)), drawn)
        if len(np.unique(y[left])) == len(sizes):
            return np.sort(drawn), left
    raise ValueError("y has classes too small to bootstrap: pass n_bootstraps=0.")


def _strengths(perturbation: Any, factors: Any, X: Any) -> dict[float, Any]:
    """Return the perturbation at each strength, 1 among them, fitted."""
    if isinstance(factors, str | bytes | Mapping) or not isinstance(factors, Iterable):
        raise TypeError(f"factors must be a sequence of numbers, got {shown(factors)}.")
    numbers = {check.number("factors", factor, 0) for factor in factors} | {1.0}
    others = numbers - {1.0}
    if others and not isinstance(perturbation, Perturbation):
        raise TypeError(
            f"perturbation must be a Perturbation, got {shown(perturbation)}; another kind that "
            "cannot be scaled takes factors=()."
        )
    scaled = {n: perturbation if n == 1 else perturbation.scaled(n) for n in sorted(numbers)}
    return {n: fitted_perturbation(noise, X) for n, noise in scaled.items()}
