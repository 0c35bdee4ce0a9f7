"""Select a model from a reader's own data by three rules, and find out what the choice is worth.

`select` splits the data, fits a pool of candidates on the training part, lets the traditional
rule, PVF and PMV select, and judges the selected models on patients that nobody has selected by.
`pvf.select.recommendation` turns the result into plain words, `pvf.select.report` into a report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_sample_weight
from threadpoolctl import threadpool_limits

from pvf import counts
from pvf._checks import check_integer, check_number
from pvf.intervals import bootstrap_efficiency
from pvf.metrics import intervention_efficiency_scorer
from pvf.multiplicity import ambiguity, multiplicity_table, rashomon_set
from pvf.perturbation import (
    GaussianNoise,
    Mechanism,
    NominalFlip,
    OrdinalShift,
    Perturbation,
    WhereObserved,
)
from pvf.pmv import PAPER_NOISE_LEVELS, pmv_scorer
from pvf.select.candidates import columns_to_screen, make_pool, strength_alone
from pvf.select.columns import Column
from pvf.select.csv_table import TableError
from pvf.select.read import OwnData
from pvf.select.run_time import Progress, expected_seconds, in_words, timed, without_a_trace
from pvf.validation import PerturbationValidationResult, perturbation_validation, tied_best

__all__ = [
    "RULES",
    "SIGMAS",
    "Parts",
    "Selection",
    "perturbation_of",
    "recommended_model",
    "select",
    "split",
]

#: What scikit-learn takes as a seed.
LARGEST_SEED = 2**32 - 1
#: The rules that select, in the order of tables and figures.
RULES = ("traditional", "PVF", "PMV")
#: Noise levels σ whose effect on the choice is shown, in standard deviations of the training part.
SIGMAS = (0.01, 0.03, 0.1, 0.3, 0.5)


@dataclass(frozen=True, eq=False)
class Parts:
    """Places of the rows of each part.

    Attributes
    ----------
    train, validation, test : ndarray of int
        Models are fitted on the first, selected by the second, and judged by the third.
    """

    train: NDArray[np.intp]
    validation: NDArray[np.intp]
    test: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Selection:
    """What the three rules select, and how good and how arbitrary that is.

    Attributes
    ----------
    data : OwnData
    parts : Parts
    settings : dict
        Everything that reproduces the result.
    models : dict of str to estimator
        The candidates, fitted on the training part.
    scores : DataFrame
        Indexed by model: the score under each of `RULES`, larger being better.
    tied : dict of str to list of str
        For each rule the models within rounding of its best; its choice is the first of them.
    validation : PerturbationValidationResult
        PVF at the σ asked for.
    sigmas : DataFrame
        For each σ: PVF's choice, its aggregated score, how many tie, whether the choice is among
        the traditional best.
    judged : DataFrame
        Indexed by rule, and ``recommended``: the choice on the test part; IE with a 95% bootstrap
        interval, flagged patients, cases among them, recall, precision.
    differences : DataFrame
        For each pair of rules: difference in IE on the test part, with a paired 95% interval.
    stability : dict of str to float
        ``best_again``: share of bootstrap resamples of the validation part in which the
        traditional choice is among the best again; ``not_worse``: how many candidates it cannot
        be told from; ``step``: by how much one case more would change IE.
    multiplicity : DataFrame or None
        One row a test patient, from `pvf.multiplicity_table` over the good models; None where
        fewer than two candidates give probabilities.
    multiplicity_summary : dict of str to float
        Sizes and shares that go with it.
    """

    data: OwnData
    parts: Parts
    settings: dict[str, Any]
    models: dict[str, Any]
    scores: pd.DataFrame
    tied: dict[str, list[str]]
    validation: PerturbationValidationResult
    sigmas: pd.DataFrame
    judged: pd.DataFrame
    differences: pd.DataFrame
    stability: dict[str, float]
    multiplicity: pd.DataFrame | None
    multiplicity_summary: dict[str, float]

    @property
    def chosen(self) -> dict[str, str]:
        """Each rule's choice."""
        return {rule: names[0] for rule, names in self.tied.items()}

    @property
    def recommended(self) -> str:
        """The model that `recommended_model` takes."""
        return recommended_model(self.tied)

    def part(self, name: str) -> tuple[pd.DataFrame, NDArray[np.intp]]:
        """Return the rows and outcomes of ``"train"``, ``"validation"`` or ``"test"``."""
        rows = getattr(self.parts, name)
        return self.data.X.iloc[rows], self.data.y[rows]


def recommended_model(tied: Mapping[str, Sequence[str]]) -> str:
    """Return PVF's choice, or of several that tie one that other rules hold to be best as well.

    Parameters
    ----------
    tied : mapping of rule to sequence of str
        For each of `RULES` the models that are best by it.

    Returns
    -------
    str
        Of the models best under PVF: the first that is best under both other rules, else under
        the traditional rule, else under PMV, else the first.

    Examples
    --------
    >>> recommended_model({"traditional": ["a", "b"], "PVF": ["c", "b"], "PMV": ["c"]})
    'b'
    """
    others = [rule for rule in RULES if rule != "PVF"]
    for backers in (others, *([rule] for rule in others)):
        for model in tied["PVF"]:
            if all(model in tied[rule] for rule in backers):
                return model
    return tied["PVF"][0]


def split(
    y: NDArray[np.intp],
    *,
    validation_share: float = 0.2,
    test_share: float = 0.2,
    seed: int = 0,
) -> Parts:
    """Split rows at random into training, validation and test, each with its share of cases.

    Parameters
    ----------
    y : ndarray of 0 and 1 of shape (n_samples,)
    validation_share, test_share : float in (0, 1)
        Shares of all rows; what is left is for training.
    seed : int

    Returns
    -------
    Parts

    Raises
    ------
    ValueError
        If the shares leave nothing for training.
    TableError
        If a part has fewer than two of a class.

    Examples
    --------
    >>> parts = split(np.repeat([0, 1], [80, 20]))
    >>> [len(rows) for rows in (parts.train, parts.validation, parts.test)]
    [60, 20, 20]
    """
    check_integer("seed", seed, 0, LARGEST_SEED)
    for name, share in (("validation_share", validation_share), ("test_share", test_share)):
        check_number(name, share, 0, 1, left_open=True)
    if validation_share + test_share >= 1:
        raise ValueError(
            "validation_share and test_share must leave rows for training, got "
            f"{validation_share:g} and {test_share:g}."
        )
    try:
        rest, test = train_test_split(
            np.arange(len(y)), test_size=test_share, stratify=y, random_state=seed
        )
        train, validation = train_test_split(
            rest, test_size=validation_share / (1 - test_share), stratify=y[rest], random_state=seed
        )
    except ValueError as error:  # a part would have less than one row of each class
        raise TableError(
            f"validation_share {validation_share:g} and test_share {test_share:g} of {len(y)} "
            "rows leave a part without two of each outcome; take other shares, or more data."
        ) from error
    for name, rows in (("training", train), ("validation", validation), ("test", test)):
        if min(np.bincount(y[rows], minlength=2)) < 2:
            n_cases = int(y[rows].sum())
            raise TableError(
                f"The {name} part has {n_cases} cases and {len(rows) - n_cases} others; it takes "
                "two of each: take larger shares, or more data."
            )
    return Parts(np.sort(train), np.sort(validation), np.sort(test))


def perturbation_of(
    columns: Sequence[Column],
    X_train: pd.DataFrame,
    *,
    sigma: float,
    change_probability: float = 0.1,
    shift_decay: float = 0.1,
) -> Perturbation:
    """Make the perturbation of a table: noise, flips and shifts, by each column's kind.

    Parameters
    ----------
    columns : sequence of Column
        Feature columns.
    X_train : DataFrame of shape (n_samples, n_features)
        Training rows.
    sigma : float
        Noise of numeric columns, in standard deviations of the training rows.
    change_probability : float in [0, 1], default=0.1
        ξ of nominal and ordinal columns.
    shift_decay : float, default=0.1
        λ of ordinal columns, per step along their levels.

    Returns
    -------
    Perturbation
        Fitted on the training rows. Missing values stay missing.
    """
    mechanisms: dict[str, Mechanism] = {}
    for column in columns:
        if column.kind == "numeric":
            spread = float(np.nan_to_num(X_train[column.name].std(ddof=0)))
            mechanisms[column.name] = WhereObserved(GaussianNoise(sigma * spread))
            continue
        known = column.levels
        if column.kind == "ordinal" and isinstance(known[0], str):
            known = tuple(float(rank) for rank in range(len(known)))  # as in the feature frame
        change: Any = NominalFlip(change_probability)
        if column.kind == "ordinal":
            change = OrdinalShift(change_probability, shift_decay, order=known)
        mechanisms[column.name] = WhereObserved(change, known)
    return Perturbation(mechanisms).fit(X_train)


def select(
    data: OwnData,
    *,
    capacity: float,
    pool: str = "pairs,trees",
    sigma: float = 0.1,
    sigmas: Sequence[float] = SIGMAS,
    change_probability: float = 0.1,
    shift_decay: float = 0.1,
    n_sets: int = 100,
    n_replicas: int = 7,
    aggregate: float = 0.25,
    n_repeats: int = 3,
    validation_share: float = 0.2,
    test_share: float = 0.2,
    epsilon: float = 0.05,
    n_bootstraps: int = 1000,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: bool | None = None,
    most_minutes: float = 15.0,
) -> Selection:
    """Fit a pool of candidates and let three rules select from it.

    Parameters
    ----------
    data : OwnData
        From `load_own_data`.
    capacity : float in (0, 1]
        Share γ of the patients that can receive the intervention.
    pool : str, default="pairs,trees"
        Candidates, as in `pvf.select.candidates.make_pool`.
    sigma : float, default=0.1
        Noise of numeric columns under PVF, in standard deviations of the training part.
    sigmas : sequence of float
        Other noise levels, whose effect on PVF's choice is shown.
    change_probability, shift_decay : float
        As in `perturbation_of`.
    n_sets, n_replicas, aggregate
        As in `pvf.perturbation_validation`.
    n_repeats : int, default=3
        How often PMV flips labels and refits; on the training part.
    validation_share, test_share : float in (0, 1)
        As in `split`.
    epsilon : float, default=0.05
        Candidates whose class-balanced log-loss on the validation part is within this of the best
        are the good models that Rashomon Capacity is computed over.
    n_bootstraps : int, default=1000
        Resamples for intervals.
    seed : int
        Of the split, the noise, the trees and the bootstrap.
    n_jobs : int or None
        Workers, as joblib takes them; the result has the same bits for any number.
    progress : bool or None
        Whether to say on standard error how long the run will take and how far it is: on a
        terminal by a bar, elsewhere by a line for each stage and a line a minute. By default
        runs of less than a minute are silent where there is no terminal.
    most_minutes : float, default=15
        A run that a probe expects to take longer is refused before anything else is fitted. How
        fast the machine is decides on that alone: what runs gives the same result everywhere.

    Returns
    -------
    Selection

    Raises
    ------
    TableError
        The pool cannot be loaded, a candidate cannot be fitted to these data, or the run would
        take longer than ``most_minutes``.
    ValueError, TypeError
        An argument is of the wrong kind or range.
    """
    settings = {name: value for name, value in locals().items() if name not in _NO_SETTINGS}
    check_number("capacity", capacity, 0, 1, left_open=True)
    check_number("most_minutes", most_minutes, 0, left_open=True)
    for name in ("n_sets", "n_replicas", "n_repeats", "n_bootstraps"):
        check_integer(name, settings[name], 1)
    check_integer("seed", seed, 0, LARGEST_SEED)
    sigma = check_number("sigma", sigma, 0)
    levels = sorted({*(check_number("sigmas", level, 0) for level in sigmas), sigma})
    settings["sigmas"] = levels
    parts = split(data.y, validation_share=validation_share, test_share=test_share, seed=seed)
    X_train, y_train = data.X.iloc[parts.train], data.y[parts.train]
    X_val, y_val = data.X.iloc[parts.validation], data.y[parts.validation]
    changes = {"change_probability": change_probability, "shift_decay": shift_decay}
    noise_at = partial(perturbation_of, data.features, X_train, **changes)
    sets: dict[str, Any] = {"n_sets": n_sets, "n_replicas": n_replicas, "aggregate": aggregate}
    # Sums run in another order on more threads.
    with threadpool_limits(limits=1), Progress("select", show=progress) as run:
        run.stage("finding out how long this takes")
        screened = columns_to_screen(pool, data.features)
        candidates = make_pool(pool, data.features, X_train, y_train, seed=seed, screen=False)
        seconds = _expected(
            candidates, screened, (X_train, y_train), X_val, noise_at, settings, n_jobs
        )
        what = f"{len(candidates)} candidates, {len(data.X):,} rows, {len(data.features):,} columns"
        _refuse_a_long_run(seconds, most_minutes, what, n_sets)
        run.expect(sum(seconds.values()) / 60, what)
        if screened:
            run.stage("finding the columns for pairs")
            candidates = make_pool(pool, data.features, X_train, y_train, seed=seed)
        models = _fitted(candidates, X_train, y_train, n_jobs, run)
        run.stage("PVF at each noise level", len(levels))
        by_sigma = {}
        for level in levels:
            by_sigma[level] = perturbation_validation(
                models,
                X_val,
                y_val,
                perturbation=noise_at(sigma=level),
                scoring=intervention_efficiency_scorer(capacity),
                random_state=seed,
                n_jobs=n_jobs,
                **sets,
            )
            run.step()
        pmv = _pmv_scores(candidates, X_train, y_train, n_repeats, seed, n_jobs, run)
        run.stage("judging what was selected")
        scores = _scores(by_sigma[sigma], pmv)
        tied = {rule: scores.index[tied_best(scores[rule].to_numpy())].tolist() for rule in RULES}
        draws: dict[str, Any] = {"capacity": capacity, "n_bootstraps": n_bootstraps, "seed": seed}
        multiplicity, summary = _multiplicity(models, recommended_model(tied), data, parts, epsilon)
        X_test, case = data.X.iloc[parts.test], data.y[parts.test] == 1
        chosen = {rule: tied[rule][0] for rule in RULES} | {"recommended": recommended_model(tied)}
        picks = {rule: _flags(models[name], X_test) for rule, name in chosen.items()}
        flags = np.array([_flags(model, X_val) for model in models.values()])
    return Selection(
        data=data,
        parts=parts,
        settings=settings,
        models=models,
        scores=scores,
        tied=tied,
        validation=by_sigma[sigma],
        sigmas=_sigma_effect(by_sigma, tied["traditional"]),
        judged=_judged(picks, chosen, case, **draws),
        differences=_differences(picks, case, **draws),
        stability=_stability(flags, y_val == 1, scores["traditional"].to_numpy(), **draws),
        multiplicity=multiplicity,
        multiplicity_summary=summary,
    )


def _scores(validation: PerturbationValidationResult, pmv: Sequence[float]) -> pd.DataFrame:
    return pd.DataFrame(
        {"traditional": validation.unperturbed, "PVF": validation.aggregated, "PMV": pmv},
        index=pd.Index(validation.names, name="model"),
    )


def _flags(model: Any, X: pd.DataFrame) -> NDArray[np.bool_]:
    return np.asarray(model.predict(X)) == 1


_NO_SETTINGS = ("data", "n_jobs", "progress", "most_minutes")
#: Fewer perturbed sets are not advised to anybody.
FEWEST_SETS = 10
#: Rows that candidates predict at once when their speed is measured, where sets are small.
PROBE_ROWS = 20_000


def _expected(
    candidates: Mapping[str, Any],
    screened: Sequence[Column],
    train: tuple[pd.DataFrame, NDArray[np.intp]],
    X_val: pd.DataFrame,
    noise_at: Callable[..., Perturbation],
    settings: Mapping[str, Any],
    n_jobs: int | None,
) -> dict[str, float]:
    """Return the seconds that each stage will take, from a few candidates and one sample."""
    rng, n_sets, n_replicas = np.random.default_rng(0), settings["n_sets"], settings["n_replicas"]
    n_probed = min(n_sets, max(1, PROBE_ROWS // (n_replicas * len(X_val))))
    sampler, prepare = timed(lambda: noise_at(sigma=settings["sigma"]).prepare(X_val))

    def perturbed() -> pd.DataFrame:
        draws = [sampler.draw(n_replicas, rng) for _ in range(n_probed)]
        return sampler.assemble(draws, n_replicas)

    def times_of(name: str, estimator: Any) -> NDArray[np.float64]:
        model, fit = timed(_fit, name, estimator, *train)
        known, new = timed(model.predict, train[0])[1], timed(model.predict, rows)[1]
        return np.array([fit, fit + known, new / n_probed])

    with without_a_trace():
        rows, draw = timed(perturbed)
        screen = timed(strength_alone, screened[0], *train)[1] if screened else 0.0
        fit, refit, predict = expected_seconds(candidates, times_of)
    n_workers = min(effective_n_jobs(n_jobs), cpu_count())
    n_refits = settings["n_repeats"] * len(_pmv_levels(train[1]))
    a_level = prepare + n_sets * (draw / n_probed + predict) / n_workers
    return {
        "candidates": screen * len(screened) + fit / n_workers,
        "PVF": len(settings["sigmas"]) * a_level,
        "PMV": n_refits * refit / n_workers,
    }


def _refuse_a_long_run(
    seconds: Mapping[str, float], most_minutes: float, what: str, n_sets: int
) -> None:
    """Raise TableError where the stages take too long together; say what would do."""
    minutes = sum(seconds.values()) / 60
    if minutes <= most_minutes:
        return
    enough = 5 * int(np.ceil(1.25 * minutes / 5))  # no machine is twice equally fast
    spare = most_minutes - minutes + seconds["PVF"] / 60
    fewer = int(0.8 * n_sets * spare / (seconds["PVF"] / 60))
    sets = f", and {fewer} perturbed sets (--sets) do" if fewer >= FEWEST_SETS else ""
    raise TableError(
        f"This run would take {in_words(minutes)} ({what}), and most_minutes is {most_minutes:g}: "
        f"--most-minutes {enough} lets it run{sets}; fewer rows, columns or candidates (--pool) "
        "take less."
    )


def _fitted(
    pool: Mapping[str, Any],
    X: pd.DataFrame,
    y: NDArray[np.intp],
    n_jobs: int | None,
    run: Progress,
) -> dict[str, Any]:
    run.stage("fitting candidates", len(pool))
    tasks = (delayed(_fit)(name, estimator, X, y) for name, estimator in pool.items())
    models = {}
    for name, model in zip(
        pool, Parallel(n_jobs=n_jobs, return_as="generator")(tasks), strict=True
    ):
        models[name] = model
        run.step()
    return models


def _fit(name: str, estimator: Any, X: pd.DataFrame, y: NDArray[np.intp]) -> Any:
    try:
        with threadpool_limits(limits=1):
            return clone(estimator).fit(X, y)
    except (ValueError, TypeError) as error:
        first = str(error).strip().splitlines()[0]
        raise TableError(
            f"Candidate {name!r} cannot be fitted to these columns: {first} It takes text, "
            "numbers and gaps; put pvf.select.candidates.encoder(columns) before the classifier."
        ) from error


def _pmv_levels(y: NDArray[np.intp]) -> list[float]:
    """Return those of the paper's noise levels that flip a label in each class."""
    fewest = int(np.bincount(y).min())
    return [level for level in PAPER_NOISE_LEVELS if level == 0 or level * fewest > 0.5]


def _pmv_scores(
    pool: Mapping[str, Any],
    X: pd.DataFrame,
    y: NDArray[np.intp],
    n_repeats: int,
    seed: int,
    n_jobs: int | None,
    run: Progress,
) -> list[float]:
    run.stage("PMV, candidate by candidate", len(pool))
    scorer = pmv_scorer(noise_levels=_pmv_levels(y), n_repeats=n_repeats, random_state=seed)
    tasks = (delayed(scorer)(estimator, X, y) for estimator in pool.values())
    scores = []
    for score in Parallel(n_jobs=n_jobs, return_as="generator")(tasks):
        scores.append(score)
        run.step()
    return scores


def _efficiency(flagged: NDArray[np.bool_], case: NDArray[np.bool_], capacity: float) -> float:
    tp, fp = (flagged & case).sum(), (flagged & ~case).sum()
    return float(counts.intervention_efficiency(tp, fp, case.sum(), (~case).sum(), capacity))


def _judged(
    picks: Mapping[str, NDArray[np.bool_]],
    chosen: Mapping[str, str],
    case: NDArray[np.bool_],
    *,
    capacity: float,
    n_bootstraps: int,
    seed: int,
) -> pd.DataFrame:
    """Return how each rule's choice does on the test part."""
    rows = []
    for rule, flagged in picks.items():
        resampled = _resampled(flagged, case, capacity, n_bootstraps, seed)
        low, high = np.quantile(resampled, [0.025, 0.975])
        efficiency = _efficiency(flagged, case, capacity)
        n_found = int((flagged & case).sum())
        rows.append(
            {
                "rule": rule,
                "model": chosen[rule],
                "IE": efficiency,
                "low": float(low),
                "high": float(high),
                "flagged": int(flagged.sum()),
                "cases_flagged": n_found,
                "recall": n_found / case.sum(),
                "precision": n_found / flagged.sum() if flagged.any() else np.nan,
                "reached": efficiency * capacity * case.sum(),
                "reached_by_chance": capacity * case.sum(),
            }
        )
    return pd.DataFrame(rows).set_index("rule")


def _resampled(
    flagged: NDArray[np.bool_], case: NDArray[np.bool_], capacity: float, n: int, seed: int
) -> NDArray[np.float64]:
    """IE in bootstrap resamples within each class; the same resamples for every model."""
    rng = np.random.default_rng(seed)
    weight, gamma = np.ones(len(case)), np.array([capacity])
    return bootstrap_efficiency(case, flagged, weight, gamma, n, rng)[:, 0]


def _differences(
    picks: Mapping[str, NDArray[np.bool_]],
    case: NDArray[np.bool_],
    *,
    capacity: float,
    n_bootstraps: int,
    seed: int,
) -> pd.DataFrame:
    """Return paired differences in IE between the rules' choices on the test part."""
    resampled = {
        rule: _resampled(flagged, case, capacity, n_bootstraps, seed)
        for rule, flagged in picks.items()
    }
    value = {rule: _efficiency(flagged, case, capacity) for rule, flagged in picks.items()}
    rows = []
    for one, other in (("PVF", "traditional"), ("PVF", "PMV"), ("PMV", "traditional")):
        low, high = np.quantile(resampled[one] - resampled[other], [0.025, 0.975])
        rows.append((f"{one} − {other}", value[one] - value[other], float(low), float(high)))
    return pd.DataFrame(rows, columns=["pair", "difference", "low", "high"]).set_index("pair")


def _stability(
    flags: NDArray[np.bool_],
    case: NDArray[np.bool_],
    scores: NDArray[np.float64],
    *,
    capacity: float,
    n_bootstraps: int,
    seed: int,
) -> dict[str, float]:
    """How far the validation part decides: resample it and look who wins."""
    rng = np.random.default_rng(seed)
    n_pos, n_neg = int(case.sum()), int((~case).sum())
    tp, fp = (
        flags[:, rows].astype(float) @ rng.multinomial(n, np.full(n, 1 / n), n_bootstraps).T
        for rows, n in ((case, n_pos), (~case, n_neg))
    )
    resampled = counts.intervention_efficiency(tp, fp, n_pos, n_neg, capacity)
    pick = int(tied_best(scores)[0])
    best_again = np.isclose(resampled[pick], resampled.max(axis=0), rtol=1e-9)
    lead = np.quantile(resampled[pick] - resampled, 0.025, axis=1)
    found, false = (flags[pick] & case).sum(), (flags[pick] & ~case).sum()
    now, one_fewer = counts.intervention_efficiency(
        np.array([found, max(found - 1, 0)]), false, n_pos, n_neg, capacity
    )
    return {
        "best_again": float(best_again.mean()),
        "not_worse": int((lead <= 0).sum()) - 1,
        "step": float(now - one_fewer),
        "n_cases": n_pos,
        "n_patients": n_pos + n_neg,
    }


def _sigma_effect(
    by_sigma: Mapping[float, PerturbationValidationResult], traditional: Sequence[str]
) -> pd.DataFrame:
    rows = [
        {
            "sigma": level,
            "choice": result.best_name,
            "score": float(result.aggregated[result.best_index]),
            "n_tied": len(result.tied),
            "among_traditional_best": result.best_name in traditional,
        }
        for level, result in by_sigma.items()
    ]
    return pd.DataFrame(rows).set_index("sigma")


def _multiplicity(
    models: Mapping[str, Any],
    base: str,
    data: OwnData,
    parts: Parts,
    epsilon: float,
) -> tuple[pd.DataFrame | None, dict[str, float]]:
    """Rashomon Capacity of the good models on test patients, and what goes with it."""
    X_val, y_val = data.X.iloc[parts.validation], data.y[parts.validation]
    X_test = data.X.iloc[parts.test]
    able = {name: model for name, model in models.items() if hasattr(model, "predict_proba")}
    if len(able) < 2:
        return None, {"n_good": len(able)}
    weight = compute_sample_weight("balanced", y_val)
    losses = [
        log_loss(y_val, model.predict_proba(X_val)[:, 1], sample_weight=weight, labels=[0, 1])
        for model in able.values()
    ]
    good = [list(able)[place] for place in rashomon_set(losses, epsilon)]
    if base in able and base not in good:
        good.append(base)
    if len(good) < 2:
        return None, {"n_good": len(good)}
    scores = np.array([able[name].predict_proba(X_test)[:, 1] for name in good])
    reference = good.index(base) if base in good else 0
    table = multiplicity_table(scores, base=reference, index=X_test.index.rename("line"))
    return table, {
        "n_good": len(good),
        "best_loss": float(min(losses)),
        "mean_capacity": float(table["capacity"].mean()),
        "largest_capacity": float(table["capacity"].max()),
        "conflicting": float((table["n_decisions"] > 1).mean()),
        "ambiguity": ambiguity(scores, base=reference),
    }
