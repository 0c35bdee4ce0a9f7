"""One split of a reader's own data: fit a pool, let each rule choose, keep what the rest needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_sample_weight
from threadpoolctl import threadpool_limits

from pvf import _checks as check
from pvf.metrics import intervention_efficiency_scorer
from pvf.perturbation import (
    GaussianNoise,
    Mechanism,
    NominalFlip,
    OrdinalShift,
    Perturbation,
    WhereObserved,
)
from pvf.pmv import PAPER_NOISE_LEVELS, pmv_scorer
from pvf.select.candidates import fitted, flagged, make_pool, score_of, strongest_alone
from pvf.select.columns import Column
from pvf.select.read import OwnData
from pvf.select.sentences import fault
from pvf.select.settings import Choosing
from pvf.validation import perturbation_validation

#: What scikit-learn takes as a seed.
LARGEST_SEED = 2**32 - 1


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


def split(
    y: NDArray[np.intp],
    *,
    persons: NDArray[np.intp] | None = None,
    validation_share: float = Choosing.validation_share,
    test_share: float = Choosing.test_share,
    seed: int = 0,
) -> Parts:
    """Split rows at random into training, validation and test, each with its share of cases.

    Parameters
    ----------
    y : ndarray of 0 and 1 of shape (n_samples,)
    persons : ndarray of int of shape (n_samples,), optional
        Whose row each is, from 0 on. All rows of a person are in one part; in the validation and
        the test part each person has one of them, drawn at random.
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
    check.integer("seed", seed, 0, LARGEST_SEED)
    if validation_share + test_share >= 1:
        said = f"got {validation_share:g} and {test_share:g}."
        raise ValueError(f"validation_share and test_share must leave rows for training, {said}")
    whose = np.arange(len(y)) if persons is None else persons
    case = (np.bincount(whose, weights=y) > 0).astype(np.intp)
    size, cut = validation_share / (1 - test_share), partial(train_test_split, random_state=seed)
    try:
        rest, test = cut(np.arange(len(case)), test_size=test_share, stratify=case)
        train, validation = cut(rest, test_size=size, stratify=case[rest])
    except ValueError as error:  # a part would have less than one person of each class
        shares = {"validation": validation_share, "test": test_share}
        raise fault("part_without_both", **shares, n=len(case)) from error
    for name, part in (("training", train), ("validation", validation), ("test", test)):
        if min(np.bincount(case[part], minlength=2)) < 2:
            n_cases = int(case[part].sum())
            raise fault("small_part", name=name, n_cases=n_cases, n_others=len(part) - n_cases)
    first = np.random.default_rng(seed).permutation(len(y))
    one_each = first[np.unique(whose[first], return_index=True)[1]]
    held_out = (np.sort(one_each[part]) for part in (validation, test))
    made = Parts(np.flatnonzero(np.isin(whose, train)), *held_out)
    for name, rows in vars(made).items():
        if min(np.bincount(y[rows], minlength=2)) < 2:
            raise fault("few_persons", n=len(case), name=name)
    return made


def perturbation_of(
    columns: Sequence[Column],
    X_train: pd.DataFrame,
    *,
    sigma: float,
    change_probability: float = Choosing.change_probability,
    shift_decay: float = Choosing.shift_decay,
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
        known = column.levels
        if column.is_ranked:
            known = tuple(float(rank) for rank in range(len(known)))  # as in the feature frame
        if column.kind == "numeric":
            spread = float(np.nan_to_num(X_train[column.name].std(ddof=0)))
            made = WhereObserved(GaussianNoise(sigma * spread))
        elif column.kind == "ordinal":
            made = WhereObserved(OrdinalShift(change_probability, shift_decay, order=known), known)
        else:
            made = WhereObserved(NominalFlip(change_probability), known)
        mechanisms[column.name] = made
    return Perturbation(mechanisms).fit(X_train)


@dataclass(frozen=True, eq=False)
class OneSplit:
    """What one split found; every frame and dict is by candidate.

    Attributes
    ----------
    parts : Parts
    scores : dict of float to DataFrame of shape (n_models, n_sets)
        For each noise level the scores on perturbed validation sets.
    table : DataFrame
        ``traditional``, ``PVF``, ``PMV``: the rules' scores; ``loss``: log-loss on the validation
        part, outcomes weighing the same, NaN without probabilities.
    ranks, flags : DataFrame of shape (n_models, n_test)
        Scores and labels of the test part.
    simplest : str
        The column that is best alone in the training rows.
    simplest_ranks, simplest_flags : ndarray of shape (n_test,)
        Scores and labels of the logistic regression on it.
    left_out : dict of str to str
        Candidates that could not be fitted, and why.
    """

    parts: Parts
    scores: dict[float, pd.DataFrame]
    table: pd.DataFrame
    ranks: pd.DataFrame
    flags: pd.DataFrame
    simplest: str
    simplest_ranks: NDArray[np.float64]
    simplest_flags: NDArray[np.bool_]
    left_out: dict[str, str]


def one_split(data: OwnData, parts: Parts, settings: Mapping[str, Any], *, seed: int) -> OneSplit:
    """Fit the pool on the training part, and score it by every rule and on the test part.

    Parameters
    ----------
    data : OwnData
    parts : Parts
    settings : mapping
        As `pvf.select.choose.select` completes its arguments.
    seed : int
        Of the noise, the trees and PMV.

    Returns
    -------
    OneSplit
    """
    (X, y), (X_val, y_val), (X_test, _) = (
        (data.X.iloc[rows], data.y[rows]) for rows in (parts.train, parts.validation, parts.test)
    )
    changes = {name: settings[name] for name in ("change_probability", "shift_decay")}
    validating = {name: settings[name] for name in ("n_sets", "n_replicas", "aggregate")}
    levels = {"noise_levels": pmv_levels(y), "n_repeats": settings["n_repeats"]}
    with threadpool_limits(limits=1):  # sums run in another order on more threads
        pool = make_pool(settings["pool"], data.features, X, y, seed=settings["seed"])
        models, left_out = fitted(pool, X, y)
        by_sigma = {
            sigma: perturbation_validation(
                models,
                X_val,
                y_val,
                perturbation=perturbation_of(data.features, X, sigma=sigma, **changes),
                scoring=intervention_efficiency_scorer(settings["capacity"]),
                **validating,
                random_state=seed,
                n_jobs=1,
            )
            for sigma in settings["sigmas"]
        }
        slope, main = pmv_scorer(**levels, random_state=seed), by_sigma[settings["sigma"]]
        index = pd.Index(main.names, name="model")
        table = {
            "traditional": main.unperturbed,
            "PVF": main.aggregated,
            "PMV": [slope(pool[name], X, y) for name in models],
            "loss": [_loss(model, X_val, y_val) for model in models.values()],
        }
        simplest, alone = strongest_alone(data.features, X, y)
    return OneSplit(
        parts=parts,
        scores={sigma: pd.DataFrame(one.scores, index) for sigma, one in by_sigma.items()},
        table=pd.DataFrame(table, index),
        ranks=pd.DataFrame([score_of(model, X_test) for model in models.values()], index),
        flags=pd.DataFrame([flagged(model, X_test) for model in models.values()], index),
        simplest=simplest,
        simplest_ranks=score_of(alone, X_test),
        simplest_flags=flagged(alone, X_test),
        left_out=left_out,
    )


def pmv_levels(y: NDArray[np.intp]) -> list[float]:
    """Return three of the paper's noise levels: none, and a middle and a high one that flip."""
    fewest = int(np.bincount(y).min())
    able = [level for level in PAPER_NOISE_LEVELS if level == 0 or level * fewest > 0.5]
    return [able[0], able[(len(able) - 1) // 2], able[-1]] if len(able) > 2 else able


def _loss(model: Any, X: pd.DataFrame, y: NDArray[np.intp]) -> float:
    if not hasattr(model, "predict_proba"):
        return float("nan")
    score, weight = model.predict_proba(X)[:, 1], compute_sample_weight("balanced", y)
    return float(log_loss(y, score, sample_weight=weight, labels=[0, 1]))
