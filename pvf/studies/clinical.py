"""The clinical experiment of the PVF-IE paper (section 4.3 and Appendix D).

Small cohorts are emulated by disjoint subsets of one data set. In each, five stratified splits
give a training and a validation part; a hundred shallow trees, each grown on 70% of the training
part, are the candidates; the traditional method picks the best on the validation part, PVF the
best on its perturbed copies; and everybody outside the subset is the external test.

Two routes lead to the perturbed scores. With noise common to all candidates, perturbed sets are
drawn and predicted. With noise of their own for each candidate, which is Algorithm 1 to the
letter, no noise needs drawing: a leaf of a tree is a box, so the probability that a perturbed
sample lands in a box that says "case" is a sum of products of normal probabilities, and the true
and false positives of a set are sums of binomials with these probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtr
from sklearn import config_context
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pvf import datasets
from pvf._checks import check_integer, check_interval, check_number
from pvf.metrics import _efficiency_from_counts
from pvf.perturbation import GaussianNoise, Perturbation
from pvf.store import run_blocks
from pvf.validation import f_from_counts, is_tied_best, perturbed_counts, set_seed

__all__ = [
    "CAPACITIES",
    "END_RULES",
    "METRICS",
    "SIGMAS",
    "TIE_RULES",
    "by_repetition",
    "flag_probability",
    "run_experiment",
    "shares",
    "tuned",
]

#: Intervention capacities γ of the paper.
CAPACITIES = (0.1, 0.3, 0.5, 0.7, 0.9)

#: The metrics that models are selected and judged by.
METRICS = (*(f"IE@{capacity}" for capacity in CAPACITIES), "F1")

#: Standard deviations σ of the noise, in standard deviations of the training part (Appendix D).
SIGMAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.2, 0.3, 0.4, 0.5)

#: How a method chooses among candidates that tie: the first or the last in the pool; "random",
#: each method for itself; or "shared", both by one random order of the pool.
TIE_RULES = ("first", "last", "random", "shared")

#: The tie rules that pick an end of the pool.
END_RULES = {"first": 0, "last": -1}

_LOADERS = {"breast-cancer": datasets.load_breast_cancer}

#: Raised whenever the code below computes something else, so that no old shard is read.
_VERSION = 1


def run_experiment(
    dataset: str = "breast-cancer",
    *,
    n_repetitions: int = 1,
    sigmas: Sequence[float] = SIGMAS,
    n_candidates: int = 100,
    max_depth: int = 4,
    subsample: float = 0.7,
    subset_size: int = 100,
    n_splits: int = 5,
    n_sets: int = 100,
    n_replicas: int = 7,
    aggregate: float = 0.25,
    common_noise: bool = False,
    seed: int = 20261127,
    n_jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Run the experiment and return one row for each split, σ, metric and tie rule.

    Parameters
    ----------
    dataset : {"breast-cancer"}
        The data.
    n_repetitions : int, default=1
        How often the whole experiment is repeated, with new subsets, splits, trees and noise. The
        paper ran it once.
    sigmas : sequence of float
        Standard deviations of the Gaussian noise on the scaled features.
    n_candidates, max_depth, subsample
        Number of trees, their depth, and the share of the training part that grows each.
    subset_size, n_splits
        Patients in a subset, and splits of each subset.
    n_sets, n_replicas, aggregate
        M, k and the quantile of PVF.
    common_noise : bool, default=False
        Whether all candidates see the same perturbed sets; False is Algorithm 1 to the letter.
    seed : int
        Every repetition has keys of its own under this seed.
    n_jobs : int or None
        Workers, as joblib takes them; the result is the same for any number.
    out : path, optional
        Folder of resumable shards, one a repetition.
    progress : bool or None
        Progress bar; by default only on a terminal.

    Returns
    -------
    DataFrame
        Columns ``repetition, subset, split, sigma, metric, tie_break``; ``win``, ``loss`` and
        ``tie``: whether PVF's choice is externally better, worse or equal (under a random tie
        rule the exact probability); ``gain``: the external metric of PVF's choice less that of
        the traditional one (its expectation); ``within``: whether PVF's choice is one of the
        candidates that tie under the traditional method, and ``gain_within``: by how much it then
        betters the mean of these; ``n_tied_pvf``, ``n_tied_traditional``: how many
        candidates share the best score; ``n_redrawn``: subsamples of the split that were drawn
        again since they held one class only.

    Raises
    ------
    ValueError, TypeError
        An argument is of the wrong kind or range.

    References
    ----------
    Zhang, Tran and Weng (2026), Appendix D.

    Examples
    --------
    >>> table = run_experiment(sigmas=[0.2], n_candidates=10, n_sets=20)
    >>> table.query("metric == 'F1' and tie_break == 'first'").shape[0]
    25
    """
    if dataset not in _LOADERS:
        raise ValueError(f"dataset must be one of {sorted(_LOADERS)}, got {dataset!r}.")
    check_integer("n_repetitions", n_repetitions, 1)
    sigmas = [float(sigma) for sigma in check_interval("sigmas", sigmas, 0, np.inf, left_open=True)]
    for name, value in {
        "n_candidates": n_candidates,
        "max_depth": max_depth,
        "n_sets": n_sets,
        "n_replicas": n_replicas,
    }.items():
        check_integer(name, value, 1)
    check_integer("n_splits", n_splits, 2)
    check_integer("subset_size", subset_size, 2 * n_splits)
    check_interval("subsample", subsample, 0, 1, left_open=True)
    check_number("aggregate", aggregate, 0, 1)
    check_integer("seed", seed, 0)
    settings = {
        "dataset": dataset,
        "sigmas": sigmas,
        "n_candidates": n_candidates,
        "max_depth": max_depth,
        "subsample": subsample,
        "subset_size": subset_size,
        "n_splits": n_splits,
        "n_sets": n_sets,
        "n_replicas": n_replicas,
        "aggregate": aggregate,
        "common_noise": common_noise,
        "seed": seed,
    }
    return run_blocks(
        _repetition,
        range(n_repetitions),
        study="clinical",
        settings=settings,
        version=_VERSION,
        out=out,
        n_jobs=n_jobs,
        description=dataset,
        progress=progress,
    )


class Problem(NamedTuple):
    """One selection problem: a validation part, candidates, and how good each truly is."""

    X_validation: NDArray[np.float64]
    y_validation: NDArray[np.bool_]
    external: NDArray[np.float64]  # (n_metrics, n_candidates)
    trees: list[DecisionTreeClassifier]
    n_redrawn: int


def _repetition(block: int, **settings: Any) -> pd.DataFrame:
    """Run one whole experiment: all subsets and splits."""
    X, y = _data(settings["dataset"])
    rng = np.random.default_rng(np.random.SeedSequence(settings["seed"], spawn_key=(block,)))
    order = rng.permutation(len(y))
    frames = []
    for subset in range(len(y) // settings["subset_size"]):
        start = subset * settings["subset_size"]
        inside = order[start : start + settings["subset_size"]]
        external = np.setdiff1d(order, inside)
        folds = StratifiedKFold(
            settings["n_splits"], shuffle=True, random_state=int(rng.integers(2**31))
        )
        for split, (train, validation) in enumerate(folds.split(inside, y[inside])):
            problem = _make_split(X, y, inside[train], inside[validation], external, rng, settings)
            key = (block, subset, split)
            frame = judge(problem, key, settings)
            frames.append(frame.assign(repetition=block, subset=subset, split=split))
    keys = ["repetition", "subset", "split", "sigma", "metric", "tie_break"]
    table = pd.concat(frames, ignore_index=True)
    return table[keys + [column for column in table.columns if column not in keys]]


@cache
def _data(dataset: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    data = _LOADERS[dataset]()
    return data.X.to_numpy(dtype=float), data.y.to_numpy() == 1


def _make_split(
    X: NDArray[np.float64],
    y: NDArray[np.bool_],
    train: NDArray[np.intp],
    validation: NDArray[np.intp],
    external: NDArray[np.intp],
    rng: np.random.Generator,
    settings: dict[str, Any],
) -> Problem:
    scaler = StandardScaler().fit(X[train])
    X_train = scaler.transform(X[train]).astype(np.float32)  # as every tree would itself
    size = round(settings["subsample"] * len(train))
    trees, n_redrawn = [], 0
    for _ in range(settings["n_candidates"]):
        rows = rng.choice(len(train), size, replace=False)
        while y[train[rows]].all() or not y[train[rows]].any():
            rows = rng.choice(len(train), size, replace=False)
            n_redrawn += 1
        tree = DecisionTreeClassifier(
            max_depth=settings["max_depth"], random_state=int(rng.integers(2**31))
        )
        with config_context(skip_parameter_validation=True):
            trees.append(tree.fit(X_train[rows], y[train[rows]], check_input=False))
    return Problem(
        scaler.transform(X[validation]),
        y[validation],
        _plain_scores(trees, scaler.transform(X[external]), y[external]),
        trees,
        n_redrawn,
    )


def judge(problem: Problem, key: tuple[int, ...], settings: dict[str, Any]) -> pd.DataFrame:
    """Select by both methods at every σ and compare what the choices are worth.

    Parameters
    ----------
    problem : Problem
    key : tuple of int
        Names the problem under the seed.
    settings : dict
        ``sigmas``, ``n_sets``, ``n_replicas``, ``aggregate``, ``seed`` and, optionally,
        ``common_noise``, as in `run_experiment`.

    Returns
    -------
    DataFrame
        The columns of `run_experiment` from ``sigma`` on.
    """
    traditional = _plain_scores(problem.trees, problem.X_validation, problem.y_validation)
    best_traditional = is_tied_best(traditional)
    rows = []
    for position, sigma in enumerate(settings["sigmas"]):
        seed = np.random.SeedSequence(settings["seed"], spawn_key=(*key, position))
        draw = _common_counts if settings.get("common_noise") else _separate_counts
        tp, fp = draw(problem, sigma, seed, settings["n_sets"], settings["n_replicas"])
        n_pos = settings["n_replicas"] * int(problem.y_validation.sum())
        n_neg = settings["n_replicas"] * len(problem.y_validation) - n_pos
        scores = scores_from_counts(tp, fp, n_pos, n_neg)
        best_pvf = is_tied_best(np.quantile(scores, settings["aggregate"], axis=-1))
        for m, metric in enumerate(METRICS):
            for rule in TIE_RULES:
                outcome = _outcome(best_pvf[m], best_traditional[m], problem.external[m], rule)
                rows.append({"sigma": sigma, "metric": metric, "tie_break": rule, **outcome})
    return pd.DataFrame(rows).assign(n_redrawn=problem.n_redrawn)


def scores_from_counts(tp: NDArray, fp: NDArray, n_pos: float, n_neg: float) -> NDArray[np.float64]:
    """Return every metric of `METRICS`, stacked along a new first axis."""
    efficiencies = [_efficiency_from_counts(tp, fp, n_pos, n_neg, gamma) for gamma in CAPACITIES]
    return np.stack([*efficiencies, f_from_counts(tp, fp, n_pos, n_neg)])


def _plain_scores(
    trees: Sequence[DecisionTreeClassifier], X: NDArray[np.float64], y: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return scores of shape (n_metrics, n_candidates) on a set as it is."""
    X = X.astype(np.float32)
    flagged = np.array([tree.predict(X, check_input=False) for tree in trees])
    tp, fp = flagged[:, y].sum(axis=1), flagged[:, ~y].sum(axis=1)
    return scores_from_counts(tp, fp, int(y.sum()), int((~y).sum()))


def _common_counts(
    problem: Problem, sigma: float, seed: np.random.SeedSequence, n_sets: int, n_replicas: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return counts of shape (n_candidates, n_sets) on perturbed sets that all share."""
    X = problem.X_validation
    sampler = Perturbation(GaussianNoise(sigma)).fit(X)._prepare(X)
    return perturbed_counts(
        problem.trees,
        sampler,
        problem.y_validation,
        case_label=True,
        n_replicas=n_replicas,
        seeds=[set_seed(seed, None, m) for m in range(n_sets)],
    )


def _separate_counts(
    problem: Problem, sigma: float, seed: np.random.SeedSequence, n_sets: int, n_replicas: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return counts of shape (n_candidates, n_sets) on sets of each candidate's own."""
    probability = flag_probability(problem.trees, problem.X_validation, sigma)
    counts = np.empty((*probability.shape, n_sets), dtype=np.int64)
    certain = (probability == 0) | (probability == 1)
    counts[certain] = (n_replicas * probability[certain])[:, None]
    rng = np.random.default_rng(seed)
    counts[~certain] = rng.binomial(
        n_replicas, probability[~certain][:, None], size=((~certain).sum(), n_sets)
    )
    is_case = problem.y_validation
    return counts[:, is_case].sum(axis=1), counts[:, ~is_case].sum(axis=1)


def flag_probability(
    trees: Sequence[DecisionTreeClassifier], X: NDArray[np.float64], sigma: float
) -> NDArray[np.float64]:
    r"""Return the probability that a tree flags a sample under Gaussian noise on every feature.

    A leaf that says "case" is a box, an interval :math:`(a_f, b_f]` for each feature f on its
    path, so

    .. math::

        \Pr(\text{flagged} \mid x) = \sum_{\text{leaves}} \prod_f
        \left[\Phi\left(\frac{b_f - x_f}{\sigma}\right)
        - \Phi\left(\frac{a_f - x_f}{\sigma}\right)\right].

    Parameters
    ----------
    trees : sequence of fitted DecisionTreeClassifier
        Each of two classes, of which the second is the case.
    X : ndarray of shape (n_samples, n_features)
    sigma : float
        Standard deviation of the noise, above 0, the same for every feature.

    Returns
    -------
    ndarray of shape (n_trees, n_samples)

    Examples
    --------
    >>> tree = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [False, True])
    >>> flag_probability([tree], np.array([[0.5], [1.0], [9.0]]), 0.5).round(3)
    array([[0.5  , 0.841, 1.   ]])
    """
    boxes = [_case_boxes(tree) for tree in trees]
    probability = np.zeros((len(trees), len(X)))
    owners = np.repeat(np.arange(len(trees)), [len(of_tree) for of_tree in boxes])
    flat = [box for of_tree in boxes for box in of_tree]
    sides = [(f, low, high) for box in flat for f, (low, high) in box.items()]
    if not sides:
        probability[owners] = 1.0  # a tree that is one leaf
        return probability
    feature, low, high = (np.array(column) for column in zip(*sides, strict=True))
    values = X[:, feature.astype(int)].T
    inside = ndtr((high[:, None] - values) / sigma) - ndtr((low[:, None] - values) / sigma)
    starts = np.cumsum([0, *[len(box) for box in flat]])
    for owner, first, last in zip(owners, starts[:-1], starts[1:], strict=True):
        probability[owner] += inside[first:last].prod(axis=0)
    return np.clip(probability, 0.0, 1.0)


def _case_boxes(tree: DecisionTreeClassifier) -> list[dict[int, tuple[float, float]]]:
    """Return the leaves that say "case", each as ``{feature: (low, high)}``."""
    nodes = tree.tree_
    boxes: list[dict[int, tuple[float, float]]] = []
    todo: list[tuple[int, dict[int, tuple[float, float]]]] = [(0, {})]
    while todo:
        node, box = todo.pop()
        left, right = nodes.children_left[node], nodes.children_right[node]
        if left == right:
            if nodes.value[node, 0].argmax() == 1:
                boxes.append(box)
            continue
        feature, threshold = int(nodes.feature[node]), float(nodes.threshold[node])
        low, high = box.get(feature, (-np.inf, np.inf))
        todo.append((left, {**box, feature: (low, min(high, threshold))}))
        todo.append((right, {**box, feature: (max(low, threshold), high)}))
    return boxes


def _outcome(
    pvf: NDArray[np.bool_], traditional: NDArray[np.bool_], external: NDArray[np.float64], rule: str
) -> dict[str, float]:
    """Compare the two methods' choices under a tie rule, given each one's best candidates."""
    a, b = np.flatnonzero(pvf), np.flatnonzero(traditional)
    counts = {"n_tied_pvf": len(a), "n_tied_traditional": len(b)}
    if rule in END_RULES:
        a, b = a[[END_RULES[rule]]], b[[END_RULES[rule]]]
    comparison = _compare_shared(external, a, b) if rule == "shared" else _compare(external, a, b)
    win, loss, tie, gain = (float(value) for value in comparison)
    above_ties = external[a] - external[traditional].mean()
    return {
        "win": win,
        "loss": loss,
        "tie": tie,
        "gain": gain,
        "within": float(traditional[a].mean()),
        "gain_within": float((above_ties * traditional[a]).mean()),
        **counts,
    }


def _compare(
    external: NDArray[np.float64], a: NDArray[np.intp], b: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return win, loss, tie and gain of choices uniform on ``a`` and ``b``, independently."""
    if not a.size or not b.size:
        return np.zeros(4)
    difference = external[a][:, None] - external[b][None, :]
    win, loss = (difference > 1e-12).mean(), (difference < -1e-12).mean()
    return np.array([win, loss, 1 - win - loss, difference.mean()])


def _compare_shared(
    external: NDArray[np.float64], a: NDArray[np.intp], b: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the same where one random order of the pool breaks both ties.

    Where the order's first member of the union lies in both sets, the choices agree; else it is
    one method's choice, and the other's is uniform on its own set.
    """
    union = np.union1d(a, b)
    only_a, only_b = np.setdiff1d(a, b), np.setdiff1d(b, a)
    agree = np.array([0.0, 0.0, len(union) - len(only_a) - len(only_b), 0.0])
    from_a, from_b = _compare(external, only_a, b), _compare(external, a, only_b)
    return (agree + len(only_a) * from_a + len(only_b) * from_b) / len(union)


def by_repetition(table: pd.DataFrame) -> pd.DataFrame:
    """Return each repetition's shares: what one run of the paper's experiment would report.

    Parameters
    ----------
    table : DataFrame
        From `run_experiment`.

    Returns
    -------
    DataFrame
        One row for each repetition, σ, metric and tie rule: the means of ``win``, ``loss``,
        ``tie``, ``gain``, ``within``, ``gain_within``, ``n_tied_pvf`` and ``n_tied_traditional``
        over its splits.

    Examples
    --------
    >>> by_repetition(run_experiment(sigmas=[0.2], n_candidates=10, n_sets=20)).shape
    (24, 12)
    """
    keys = ["repetition", "sigma", "metric", "tie_break"]
    values = ["win", "loss", "tie", "gain", "within", "gain_within"]
    values += ["n_tied_pvf", "n_tied_traditional"]
    return table.groupby(keys, sort=False)[values].mean().reset_index()


def shares(
    table: pd.DataFrame, *, unit: str | None = None, confidence_level: float = 0.95
) -> pd.DataFrame:
    """Return mean shares and gains with intervals that respect what splits have in common.

    The splits of one subset share patients, and the subsets of one repetition share external
    tests, so the unit is the repetition; with a single repetition it is the subset, which takes
    the subsets as independent and is therefore only a rough guide.

    Parameters
    ----------
    table : DataFrame
        From `run_experiment`, or from `by_repetition` with at least two repetitions.
    unit : str, optional
        A column whose values mark independent parts; by default as said above.
    confidence_level : float, default=0.95
        Level of the t intervals over the units' means, cut to [0, 1] for shares.

    Returns
    -------
    DataFrame
        One row for each σ, metric and tie rule: ``win``, ``win_low``, ``win_high``, the same for
        ``loss``, ``tie``, ``lead`` (win less loss) and ``gain``, and ``n_units``.

    Examples
    --------
    >>> table = run_experiment(sigmas=[0.2], n_candidates=10, n_sets=20)
    >>> summary = shares(table)
    >>> bool((summary.win_low <= summary.win).all())
    True
    """
    check_interval("confidence_level", confidence_level, 0, 1, left_open=True)
    keys = ["sigma", "metric", "tie_break"]
    if unit is None:
        unit = "repetition" if len(table["repetition"].unique()) > 1 else "subset"
    if unit not in table:
        raise ValueError("table must hold at least two repetitions, or subsets, got one of each.")
    values = ["win", "loss", "tie", "lead", "gain"]
    table = table.assign(lead=table["win"] - table["loss"])
    units = table.groupby([*keys, unit], sort=False)[values].mean().groupby(keys, sort=False)
    n_units = units.size()
    mean, error = units.mean(), units.sem()
    reach = error.mul(stats.t.ppf((1 + confidence_level) / 2, n_units - 1), axis=0)
    limits = {"lead": (-1, 1), "gain": (-np.inf, np.inf)}
    columns = {}
    for value in values:
        low, high = limits.get(value, (0, 1))
        columns[value] = mean[value]
        columns[f"{value}_low"] = (mean[value] - reach[value]).clip(low, high)
        columns[f"{value}_high"] = (mean[value] + reach[value]).clip(low, high)
    return pd.DataFrame({**columns, "n_units": n_units}).reset_index()


def tuned(runs: pd.DataFrame) -> pd.DataFrame:
    """Return each repetition's shares at the σ with the largest lead, chosen in two ways.

    Parameters
    ----------
    runs : DataFrame
        From `by_repetition`, with at least two repetitions.

    Returns
    -------
    DataFrame
        Rows of ``runs``, with a column ``chosen_on``: "same" picks σ on the repetition that it is
        reported on, as the paper does; "others" on all other repetitions, so that the report is
        of data that the choice has not seen. Of equal leads the smallest σ is taken.

    Examples
    --------
    >>> runs = by_repetition(run_experiment(n_repetitions=2, sigmas=[1e-6, 0.2], n_candidates=10))
    >>> tuned(runs).groupby("chosen_on").size().to_dict()
    {'others': 48, 'same': 48}
    """
    n_repetitions = runs["repetition"].nunique()
    if n_repetitions < 2:
        raise ValueError(f"runs must hold at least two repetitions, got {n_repetitions}.")
    runs = runs.assign(lead=runs["win"] - runs["loss"]).sort_values("sigma", kind="stable")
    group = ["metric", "tie_break"]
    total = runs.groupby([*group, "sigma"])["lead"].transform("sum")
    criteria = {"same": runs["lead"], "others": total - runs["lead"]}
    picked = []
    for chosen_on, criterion in criteria.items():
        best = criterion.round(12).groupby([runs[c] for c in (*group, "repetition")]).idxmax()
        picked.append(runs.loc[best].assign(chosen_on=chosen_on))
    return pd.concat(picked, ignore_index=True).drop(columns="lead")
