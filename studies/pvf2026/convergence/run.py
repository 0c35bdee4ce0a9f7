"""Propositions B.1 to B.7: what PVF's scores and choices tend to, where every limit is known.

One normal feature, cases around 2 and controls around 0, thresholds as models, and Gaussian noise.
A replica of a person at x lands above a threshold t with probability Φ((x − t)/σ), independently
of all others, so counts are sums of binomials, their law for a given validation set is a
convolution, and the perturbed population is again two normal groups. Nothing here uses the
library's own sampler but `check_scores`, which holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from pvf import _checks as check
from pvf._types import Array
from pvf.perturbation import GaussianNoise, Perturbation
from pvf.validation import perturbation_validation
from studies.pvf2026.clinical.run import scores_from_counts

#: The candidates: models that flag whoever is above a threshold.
THRESHOLDS = (0.0, 0.6, 1.2, 1.8, 2.4)
#: Share of cases, and how far their mean lies above the controls', in standard deviations.
PREVALENCE, SHIFT = 0.3, 2.0
_SIGMA = 0.5
_COLUMNS = ["claim", "part", "size", "value", "low", "high"]

#: How the scores of the perturbed sets are made one; the paper takes the first quartile.
AGGREGATES: dict[str, Callable[..., Array]] = {
    "first quartile": lambda scores: np.quantile(scores, 0.25, axis=-1),
    "mean": lambda scores: np.mean(scores, axis=-1),
    "maximum": lambda scores: np.max(scores, axis=-1),
}


def people(n_samples: int, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    """Draw a validation set from the population, again if it holds one class only.

    Parameters
    ----------
    n_samples : int
    rng : numpy Generator

    Returns
    -------
    x : ndarray of shape (n_samples,)
    y : ndarray of bool of shape (n_samples,)
    """
    y = np.zeros(n_samples, dtype=bool)
    while y.all() or not y.any():
        y = rng.random(n_samples) < PREVALENCE
    return rng.normal(SHIFT * y), y


def _landing(x: NDArray, thresholds: Sequence[float], sigma: float) -> NDArray:
    """Return the chance that a replica lands above each threshold: (n_models, n_samples)."""
    return stats.norm.cdf((x - np.asarray(thresholds)[:, None]) / sigma)


def drawn_scores(
    x: NDArray,
    y: NDArray,
    thresholds: Sequence[float],
    *,
    n_sets: int,
    n_replicas: int,
    rng: np.random.Generator,
    sigma: float = _SIGMA,
) -> Array:
    """Draw the scores of perturbed sets, each model with noise of its own as in Algorithm 1.

    Parameters
    ----------
    x, y : ndarray of shape (n_samples,)
        A validation set.
    thresholds : sequence of float
        The models.
    n_sets, n_replicas : int
        M and k.
    rng : numpy Generator
    sigma : float, default=0.5
        Standard deviation of the noise.

    Returns
    -------
    ndarray of shape (n_metrics, n_models, n_sets)
        By `studies.pvf2026.clinical.run.METRICS`.

    Examples
    --------
    >>> x, y = np.array([0.0, 9.0]), np.array([False, True])
    >>> rng = np.random.default_rng(0)
    >>> drawn_scores(x, y, [4.0], n_sets=2, n_replicas=3, rng=rng)[-1]  # F1
    array([[1., 1.]])
    """
    chances = _landing(x, thresholds, sigma)
    counts = rng.binomial(n_replicas, chances[:, None], (len(chances), n_sets, len(x)))
    tp, fp = counts[..., y].sum(axis=-1), counts[..., ~y].sum(axis=-1)
    return scores_from_counts(tp, fp, n_replicas * int(y.sum()), n_replicas * int((~y).sum()))


def exact_law(
    x: NDArray, y: NDArray, threshold: float, n_replicas: int, *, sigma: float = _SIGMA
) -> tuple[Array, Array]:
    """Return the law of a perturbed score given the validation set, without drawing.

    Parameters
    ----------
    x, y : ndarray of shape (n_samples,)
    threshold : float
        The model.
    n_replicas : int
        k.
    sigma : float, default=0.5

    Returns
    -------
    values : ndarray of shape (n_metrics, n_cells)
        The score at each pair of true and false positives.
    probabilities : ndarray of shape (n_cells,)

    Examples
    --------
    >>> values, chances = exact_law(np.array([0.0, 1.0]), np.array([False, True]), 1.0, 1)
    >>> float(round(chances.sum(), 12)), float(round(chances @ values[-1], 3))
    (1.0, 0.496)
    """
    chances = _landing(x, [threshold], sigma)[0]
    tp_law, fp_law = (_sum_of_binomials(chances[part], n_replicas) for part in (y, ~y))
    tp, fp = np.meshgrid(np.arange(len(tp_law)), np.arange(len(fp_law)), indexing="ij")
    values = scores_from_counts(tp, fp, len(tp_law) - 1, len(fp_law) - 1)
    return values.reshape(len(values), -1), np.outer(tp_law, fp_law).ravel()


def _sum_of_binomials(chances: NDArray, n_replicas: int) -> Array:
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, stats.binom.pmf(np.arange(n_replicas + 1), n_replicas, chance))
    return law


def law_quantile(values: NDArray, probabilities: NDArray, level: float = 0.25) -> float:
    """Return the smallest value that the law stays at or below with a given probability.

    Parameters
    ----------
    values, probabilities : ndarray of shape (n_cells,)
    level : float, default=0.25

    Returns
    -------
    float

    Examples
    --------
    >>> law_quantile(np.array([1.0, 0.0]), np.array([0.7, 0.3]))
    0.0
    """
    order = np.argsort(values)
    reached = np.cumsum(probabilities[order]) >= level - 1e-12
    return float(values[order][np.argmax(reached)])


def limit_scores(
    x: NDArray, y: NDArray, thresholds: Sequence[float], *, sigma: float = _SIGMA
) -> Array:
    """Return what every perturbed score tends to as replicas grow: the score of expected counts.

    Parameters
    ----------
    x, y : ndarray of shape (n_samples,)
    thresholds : sequence of float
    sigma : float, default=0.5

    Returns
    -------
    ndarray of shape (n_metrics, n_models)
    """
    chances = _landing(x, thresholds, sigma)
    tp, fp = chances[:, y].sum(axis=1), chances[:, ~y].sum(axis=1)
    return scores_from_counts(tp, fp, int(y.sum()), int((~y).sum()))


def population_scores(thresholds: Sequence[float], *, sigma: float = _SIGMA) -> Array:
    """Return J, each model's score in the perturbed population; with σ = 0 in the real one.

    Parameters
    ----------
    thresholds : sequence of float
    sigma : float, default=0.5

    Returns
    -------
    ndarray of shape (n_metrics, n_models)
    """
    spread, t = np.hypot(1, sigma), np.asarray(thresholds)
    n_pos, n_neg = 1000 * PREVALENCE, 1000 * (1 - PREVALENCE)
    tp = n_pos * stats.norm.sf(t, SHIFT, spread)
    return scores_from_counts(tp, n_neg * stats.norm.sf(t, 0, spread), n_pos, n_neg)


# --- The checks ---------------------------------------------------------------------------------

# A dot product of many numbers is summed in another order with each number of threads.
_one_thread = threadpool_limits.wrap(limits=1, user_api="blas")


def run_checks(*, n_repetitions: int = 400, seed: int = 0) -> pd.DataFrame:
    """Run all checks.

    Parameters
    ----------
    n_repetitions : int, default=400
        Of each simulation.
    seed : int, default=0

    Returns
    -------
    DataFrame
        One row for each ``claim``, ``part`` and ``size``: ``value`` with its interval ``low`` to
        ``high``. What size and value are depends on the part; see the functions.
    """
    check.integer("n_repetitions", n_repetitions, 2)
    checks = (
        check_scores,
        check_sets,
        check_replicas,
        check_people,
        check_together,
        check_selection,
        check_property,
    )
    streams = np.random.SeedSequence(seed).spawn(len(checks))
    parts = [
        check(n_repetitions, np.random.default_rng(stream))
        for check, stream in zip(checks, streams, strict=True)
    ]
    return pd.concat(parts, ignore_index=True)


@_one_thread
def check_scores(n_repetitions: int, rng: np.random.Generator) -> pd.DataFrame:
    """Check THE-1: whether scores are i.i.d. given the validation set.

    Parameters
    ----------
    n_repetitions : int
        A fiftieth of the number of perturbed sets, and a tenth of that of validation sets.
    rng : numpy Generator

    Returns
    -------
    DataFrame
        For each kind of noise: the largest distance of the empirical law to the exact one (``high``
        is what chance exceeds in 1% of cases, by the inequality of Dvoretzky, Kiefer and
        Wolfowitz), and correlations with their 99% intervals: of successive scores, of two models
        on the same set, and of two scores when the validation set is not fixed.
    """
    n_sets, rows = 50 * n_repetitions, []
    x, y = people(20, rng)
    stumps = [
        DecisionTreeClassifier(max_depth=1).fit([[t - 1], [t + 1]], [False, True])
        for t in THRESHOLDS[1:3]
    ]
    values, chances = exact_law(x, y, THRESHOLDS[1], 7)
    for noise in ("own noise", "common noise"):
        scores = perturbation_validation(
            stumps,
            x[:, None],
            y,
            perturbation=Perturbation(GaussianNoise(_SIGMA)).fit(x[:, None]),
            scoring="f1",
            n_sets=n_sets,
            common_noise=noise == "common noise",
            random_state=int(rng.integers(2**31)),
        ).scores
        assert scores is not None  # since they are drawn
        bound = np.sqrt(np.log(2 / 0.01) / (2 * n_sets))
        distance = _largest_distance(scores[0], values[-1], chances)
        rows.append(("THE-1", f"distance to the exact law, {noise}", n_sets, distance, 0.0, bound))
        rows.append(_correlation(f"successive scores, {noise}", scores[0, :-1], scores[0, 1:]))
        rows.append(_correlation(f"two models, {noise}", *scores))
    pairs = []
    for _ in range(10 * n_repetitions):
        drawn = drawn_scores(*people(20, rng), THRESHOLDS[1:2], n_sets=2, n_replicas=7, rng=rng)
        pairs.append(drawn[-1, 0])
    rows.append(_correlation("validation set not fixed", *np.transpose(pairs)))
    return pd.DataFrame(rows, columns=_COLUMNS)


def _largest_distance(scores: NDArray, values: NDArray, probabilities: NDArray) -> float:
    """Return the largest difference between an empirical and an exact distribution function."""
    # The same score can come out with other last bits, so steps are taken between the values.
    points = np.unique(values.round(9))
    steps = (points[:-1] + points[1:]) / 2
    order = np.argsort(values)
    exact = np.cumsum(probabilities[order])[np.searchsorted(values[order], steps) - 1]
    empirical = np.searchsorted(np.sort(scores), steps) / len(scores)
    return float(np.abs(empirical - exact).max())


def _correlation(part: str, first: NDArray, second: NDArray) -> tuple:
    found = stats.pearsonr(first, second)
    low, high = found.confidence_interval(0.99)
    return ("THE-1", part, len(first), found.statistic, low, high)


@_one_thread
def check_sets(n_repetitions: int, rng: np.random.Generator) -> pd.DataFrame:
    """Check THE-2: how far the aggregated score is from the law's own, over the number M of sets.

    Parameters
    ----------
    n_repetitions : int
    rng : numpy Generator

    Returns
    -------
    DataFrame
        ``size`` is M, ``value`` the mean absolute error, of the metric where it is largest; and in
        the part "exactly 1/4", of a validation set whose lower score has just that probability.
    """
    x, y = people(20, rng)
    values, chances = exact_law(x, y, THRESHOLDS[1], 7)
    limits = {
        "first quartile": np.array([law_quantile(row, chances) for row in values]),
        "mean": values @ chances,
    }
    # One case that lands above the threshold with probability 3/4, one control that never does.
    edge_x, edge_y = np.array([_SIGMA * stats.norm.ppf(0.75), -9.0]), np.array([True, False])
    rows = []
    for n_sets in (25, 100, 400, 1600, 6400, 25600):
        errors: dict[str, list[NDArray]] = {"first quartile": [], "mean": [], "exactly 1/4": []}
        for _ in range(n_repetitions):
            settings: dict[str, Any] = {"n_sets": n_sets, "rng": rng}
            drawn = drawn_scores(x, y, THRESHOLDS[1:2], n_replicas=7, **settings)[:, 0]
            for name, limit in limits.items():
                errors[name].append(np.abs(AGGREGATES[name](drawn) - limit))
            edge = drawn_scores(edge_x, edge_y, [0.0], n_replicas=1, **settings)[-1:, 0]
            errors["exactly 1/4"].append(np.abs(AGGREGATES["first quartile"](edge)))
        rows += [_error_row("THE-2", name, n_sets, found) for name, found in errors.items()]
    return pd.DataFrame(rows, columns=_COLUMNS)


def _error_row(claim: str, part: str, size: int, errors: Iterable[NDArray]) -> tuple:
    """Return the mean of errors (repetitions × metrics) where it is largest, with its interval."""
    table = np.array(list(errors)).reshape(-1, np.shape(next(iter(errors)))[-1])
    worst = table[:, table.mean(axis=0).argmax()]
    reach = 1.96 * worst.std(ddof=1) / np.sqrt(len(worst)) if len(worst) > 1 else 0.0
    return (claim, part, size, worst.mean(), worst.mean() - reach, worst.mean() + reach)


@_one_thread
def check_replicas(_: int, rng: np.random.Generator) -> pd.DataFrame:
    """Check THE-3: how far a score's law and its aggregates are from their limit, over k.

    Parameters
    ----------
    _ : int
        Not used: the laws are exact.
    rng : numpy Generator
        Draws the validation set.

    Returns
    -------
    DataFrame
        ``size`` is k; ``value`` is the mean distance of a score to the limit (the Wasserstein
        distance of its law to the point), or that of the law's aggregate.
    """
    x, y = people(20, rng)
    limit, rows = limit_scores(x, y, THRESHOLDS[1:2])[:, 0], []
    for n_replicas in (1, 2, 4, 8, 16, 32, 64):
        values, chances = exact_law(x, y, THRESHOLDS[1], n_replicas)
        quartiles = np.array([law_quantile(row, chances) for row in values])
        found = {
            "law": np.abs(values - limit[:, None]) @ chances,
            "first quartile": np.abs(quartiles - limit),
            "mean": np.abs(values @ chances - limit),
            # Every count is possible under Gaussian noise, whatever k.
            "maximum": np.abs(values.max(axis=1) - limit),
        }
        rows += [_error_row("THE-3", name, n_replicas, [error]) for name, error in found.items()]
    return pd.DataFrame(rows, columns=_COLUMNS)


def check_people(n_repetitions: int, rng: np.random.Generator) -> pd.DataFrame:
    """Check THE-4: how far the limit in k is from the perturbed population's score, over n.

    Parameters
    ----------
    n_repetitions : int
    rng : numpy Generator

    Returns
    -------
    DataFrame
        ``size`` is n, ``value`` the mean absolute error, of the metric where it is largest.
    """
    truth, rows = population_scores(THRESHOLDS[1:2])[:, 0], []
    for size in (20, 80, 320, 1280, 5120, 20480):
        found = [
            np.abs(limit_scores(*people(size, rng), THRESHOLDS[1:2])[:, 0] - truth)
            for _ in range(n_repetitions)
        ]
        rows.append(_error_row("THE-4", "limit in k", size, found))
    return pd.DataFrame(rows, columns=_COLUMNS)


#: How n, k and M grow in `check_together`.
PATHS: dict[str, list[tuple[int, int, int]]] = {
    "all three grow": [(20, 2, 25), (80, 4, 50), (320, 8, 100), (1280, 16, 200)],
    "n alone (k = M = 1)": [(20, 1, 1), (80, 1, 1), (320, 1, 1), (1280, 1, 1)],
    "k and M alone (n = 20)": [(20, 2, 25), (20, 8, 100), (20, 32, 400), (20, 128, 1600)],
}


def check_together(n_repetitions: int, rng: np.random.Generator) -> pd.DataFrame:
    """Check THE-5: how far the first quartile is from J, as n, k and M grow in different ways.

    Parameters
    ----------
    n_repetitions : int
    rng : numpy Generator

    Returns
    -------
    DataFrame
        ``size`` is n·k·M, ``value`` the mean absolute error. The part "maximum, M first" is the
        maximum over infinitely many sets, as the proof takes M to its limit before k and n.
    """
    truth, rows = population_scores(THRESHOLDS[1:2])[:, 0], []
    for path, sizes in PATHS.items():
        for n_samples, n_replicas, n_sets in sizes:
            settings: dict[str, Any] = {"n_sets": n_sets, "n_replicas": n_replicas, "rng": rng}
            found = [
                np.abs(
                    AGGREGATES["first quartile"](
                        drawn_scores(*people(n_samples, rng), THRESHOLDS[1:2], **settings)[:, 0]
                    )
                    - truth
                )
                for _ in range(max(n_repetitions // 4, 2))
            ]
            rows.append(_error_row("THE-5", path, n_samples * n_replicas * n_sets, found))
    for n_samples, n_replicas, n_sets in PATHS["all three grow"]:
        # Every replica lands on its own side: no false negative and no false positive.
        best = scores_from_counts(*np.array([PREVALENCE, 0.0, PREVALENCE, 1 - PREVALENCE]))
        size = n_samples * n_replicas * n_sets
        rows.append(_error_row("THE-5", "maximum, M first", size, [np.abs(best - truth)]))
    return pd.DataFrame(rows, columns=_COLUMNS)


def check_selection(n_repetitions: int, rng: np.random.Generator) -> pd.DataFrame:
    """Check THE-6: how often PVF chooses a best model, and the same one.

    Two problems, judged by F1: all thresholds on one feature, of which one is best; and a second
    feature with the same law, so that two models are best.

    Parameters
    ----------
    n_repetitions : int
    rng : numpy Generator

    Returns
    -------
    DataFrame
        ``size`` is n; ``value`` the share of repetitions with its 95% interval.
    """
    best = int(population_scores(THRESHOLDS)[-1].argmax())
    rows = []
    for n_samples, n_replicas, n_sets in PATHS["all three grow"]:
        settings: dict[str, Any] = {"n_sets": n_sets, "n_replicas": n_replicas, "rng": rng}
        chosen = []
        for _ in range(max(n_repetitions // 2, 2)):
            x, y = people(n_samples, rng)
            other = rng.normal(SHIFT * y)
            scores = [
                AGGREGATES["first quartile"](drawn_scores(z, y, THRESHOLDS, **settings)[-1])
                for z in (x, other)
            ]
            chosen.append((scores[0].argmax(), np.concatenate(scores).argmax()))
        one, two = np.transpose(chosen)
        among = np.isin(two, [best, best + len(THRESHOLDS)])
        found = {
            "one best: it is chosen": one == best,
            "two best: either is chosen": among,
            "two best: the first of them, if either": two[among] == best,
        }
        rows += [_share_row("THE-6", part, n_samples, hits) for part, hits in found.items()]
    return pd.DataFrame(rows, columns=_COLUMNS)


def _share_row(claim: str, part: str, size: int, hits: NDArray) -> tuple:
    found = stats.binomtest(int(hits.sum()), max(len(hits), 1))
    low, high = found.proportion_ci(method="wilson")
    return (claim, part, size, found.statistic, low, high)


def check_property(n_repetitions: int, rng: np.random.Generator) -> pd.DataFrame:
    """Check THE-7: how often PVF chooses what is best under much noise, and what is best without.

    Parameters
    ----------
    n_repetitions : int
    rng : numpy Generator

    Returns
    -------
    DataFrame
        ``size`` is n, with k = 7 and M = 50; ``value`` the share of repetitions, by F1 and σ = 2,
        in which the model that is best in the perturbed population is chosen, and in which that of
        the real one is.
    """
    sigma = 2.0
    under_noise, real = (
        int(population_scores(THRESHOLDS, sigma=s)[-1].argmax()) for s in (sigma, 0)
    )
    rows = []
    for n_samples in (20, 80, 320, 1280, 5120):
        chosen = np.array(
            [
                AGGREGATES["first quartile"](
                    drawn_scores(
                        *people(n_samples, rng),
                        THRESHOLDS,
                        n_sets=50,
                        n_replicas=7,
                        rng=rng,
                        sigma=sigma,
                    )[-1]
                ).argmax()
                for _ in range(max(n_repetitions // 2, 2))
            ]
        )
        for part, model in (("best under noise", under_noise), ("best in reality", real)):
            rows.append(_share_row("THE-7", part, n_samples, chosen == model))
    return pd.DataFrame(rows, columns=_COLUMNS)
