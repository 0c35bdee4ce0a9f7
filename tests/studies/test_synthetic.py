"""The sweep's kernel against NumPy, scikit-learn, imbalanced-learn and enumeration."""

import itertools
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import synthetic_literal
from hypothesis import given, settings
from hypothesis import strategies as st
from imblearn.over_sampling import SMOTE
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import train_test_split
from sweep_numpy import numpy_repetition
from threadpoolctl import threadpool_limits

from studies.data.datasets import make_clusters
from studies.pvf2026.synthetic import fits, kernel
from studies.pvf2026.synthetic import run as synthetic
from studies.pvf2026.synthetic.grid import METRICS, MUS, SCORES, SIGMAS
from studies.pvf2026.synthetic.run import (
    SweepSettings,
    class_sizes,
    configuration_key,
    draw_repetition,
    estimate_sweep,
    run_sweep,
)

ROOT = Path(synthetic.__file__).resolve().parents[3]
PAIRS = list(itertools.combinations(range(5), 2))
SMALL = {"n_samples": [50], "mus": [1.5], "sigmas": [0.1]}


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """Keep the linear algebra of scikit-learn's many tiny fits from waiting for other threads."""
    with threadpool_limits(1):
        yield


def numpy_stream(key, repetition, purpose):
    return np.random.Generator(np.random.Philox(key=key, counter=[0, repetition, purpose, 0]))


# --- random numbers -----------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["counts", "noise"])
def test_each_repetition_has_streams_of_its_own(way):
    """Whatever is drawn together, each number is that of the repetition's own Philox stream."""
    key = np.array([1, 2**63], dtype=np.uint64)
    sizes, mu = class_sizes(50), 1.3
    plan = synthetic._plan(SweepSettings(n_sets=3, draw_noise=way == "noise"))
    X, split, oversampling, noise = synthetic.draw_numbers(key, 4, 9, mu, sizes, plan)
    for i, repetition in enumerate(range(4, 9)):
        data = numpy_stream(key, repetition, 0).standard_normal((50, 5))
        data[40:, :2] += mu
        assert np.array_equal(X[i], data)
        assert np.array_equal(split[i], numpy_stream(key, repetition, 1).random(15))
        assert np.array_equal(oversampling[i], numpy_stream(key, repetition, 2).random((21, 2)))
        stream = numpy_stream(key, repetition, 3)
        draw = stream.standard_normal if way == "noise" else stream.random
        assert np.array_equal(noise[i], draw(noise.shape[1]))
    assert noise.shape[1] == (10 * 3 * 7 * 15 * 5 if way == "noise" else 2 * 3 * 10)


def test_streams_are_told_apart():
    """Seed, size, μ, σ, repetition and purpose each give another stream."""
    keys = [
        configuration_key(seed, n, mu, sigma)
        for seed, n, mu, sigma in itertools.product((1, 2), (50, 100), (0.1, 0.3), (1e-6, 1e-5))
    ]
    firsts = {
        numpy_stream(key, repetition, purpose).random()
        for key, repetition, purpose in itertools.product(keys, range(3), range(4))
    }
    assert len(firsts) == len(keys) * 3 * 4
    purposes = {kernel.DATA, kernel.SPLIT, kernel.OVERSAMPLING, kernel.NOISE}
    assert purposes == set(range(4))


# --- data, split, oversampling ------------------------------------------------------------------


@pytest.mark.parametrize("n", [8, 37, 50, 100])
@pytest.mark.parametrize("mu", [0.1, 2.9])
def test_data_are_make_clusters(n, mu):
    """The kernel's data sets are those that make_clusters draws from the same stream."""
    drawn = draw_repetition(n, mu, 0.1, repetition=7, n_sets=1)
    stream = numpy_stream(configuration_key(1, n, mu, 0.1), 7, kernel.DATA)
    X, y = make_clusters(n, mu, stream)
    assert np.array_equal(drawn.X, X.to_numpy())
    assert np.array_equal(drawn.y, y.to_numpy())
    assert list(X.columns) == ["x1", "x2", "x3", "x4", "x5"]


def test_clusters_lie_where_they_should():
    """A fifth of the samples is centred at (μ, μ, 0, 0, 0), the rest at 0, with unit covariance."""
    X, y = make_clusters(100_000, 1.7, np.random.default_rng(0))
    assert y.mean() == 0.2
    for label, centre in ((0, np.zeros(5)), (1, np.array([1.7, 1.7, 0, 0, 0]))):
        part = X[y == label]
        assert np.abs(part.mean() - centre).max() < 5 / math.sqrt(len(part))
        assert np.abs(part.cov() - np.eye(5)).to_numpy().max() < 8 / math.sqrt(len(part))


@pytest.mark.parametrize(
    ("n", "mu", "message"), [(4, 1.0, "n_samples must be at least 5"), (50, np.nan, "mu must be")]
)
def test_impossible_clusters_are_refused(n, mu, message):
    """Too few samples for a positive, or no centre, is a named error."""
    with pytest.raises(ValueError, match=message):
        make_clusters(n, mu, np.random.default_rng(0))


@pytest.mark.parametrize("n", range(8, 121))
def test_class_sizes_are_scikit_learns(n):
    """Parts and classes have the sizes of scikit-learn's stratified split, whole where it is."""
    n_negatives, n_positives, n_val_negatives, n_val_positives = class_sizes(n)
    y = np.repeat([0, 1], [n_negatives, n_positives])
    assert len(y) == n
    assert n_positives == round(n / 5)
    _, validated = train_test_split(y, test_size=0.3, stratify=y, random_state=0)
    assert len(validated) == n_val_negatives + n_val_positives
    exact = len(validated) * n_positives / n
    assert abs(n_val_positives - exact) <= 0.5 or n_val_positives in (1, n_positives - 1)
    assert abs(int(validated.sum()) - n_val_positives) <= (0 if n % 10 == 0 else 1)


def test_split_takes_every_row_equally_often():
    """Each row is validated in three tenths of the splits, independently of its neighbour."""
    n, n_splits = 50, 4000
    rows = np.empty(n, dtype=np.int64)
    validated = np.zeros((n_splits, n), dtype=int)
    for repetition in range(n_splits):
        uniforms = numpy_stream(np.ones(2, np.uint64), repetition, 1).random(15)
        kernel.split_rows(rows, uniforms, class_sizes(n))
        assert sorted(rows) == list(range(n))
        validated[repetition, rows[28:40]] = 1
        validated[repetition, rows[47:]] = 1
    assert (validated[:, :40].sum(axis=1) == 12).all()
    assert (validated[:, 40:].sum(axis=1) == 3).all()
    z = (validated.mean(axis=0) - 0.3) / math.sqrt(0.3 * 0.7 / n_splits)
    assert np.abs(z).max() < 4.5
    together = (validated[:, 0] * validated[:, 1]).mean()
    expected = 12 / 40 * 11 / 39
    assert abs(together - expected) < 4 * math.sqrt(expected / n_splits)


class ReplayedDraws(np.random.RandomState):
    """A random state that hands imbalanced-learn the draws that the kernel made."""

    def __init__(self, draws):
        super().__init__(0)
        self.draws = draws

    def randint(self, low, high=None, size=None, dtype=int):  # noqa: ARG002
        """Replay the choices of sample and neighbour."""
        assert size == len(self.draws)
        return (self.draws[:, 0] * (high if high is not None else low)).astype(int)

    def uniform(self, low=0.0, high=1.0, size=None):  # noqa: ARG002
        """Replay the places between them."""
        return self.draws[:, 1].copy()


@pytest.mark.parametrize("n", [15, 20, 27, 50, 100])
def test_oversampling_is_imbalanced_learns_smote(n):
    """With the same draws, SMOTE of imbalanced-learn makes the same rows."""
    key = configuration_key(1, n, 1.5, 0.1)
    for repetition in range(20):
        drawn = draw_repetition(n, 1.5, 0.1, repetition, n_sets=1)
        X, y = drawn.X[drawn.train_rows], drawn.y[drawn.train_rows]
        n_new = len(drawn.X_train) - len(X)
        draws = numpy_stream(key, repetition, kernel.OVERSAMPLING).random((n_new, 2))
        smote = SMOTE(k_neighbors=min(5, y.sum() - 1), random_state=ReplayedDraws(draws))
        X_smote, y_smote = smote.fit_resample(X, y)
        np.testing.assert_allclose(drawn.X_train, X_smote, rtol=0, atol=1e-13)
        assert np.array_equal(drawn.y_train, y_smote)


@pytest.mark.parametrize("n", [8, 10, 12, 15, 20, 25, 28, 35, 50, 100])
def test_only_training_rows_are_resampled(n):
    """Parts are disjoint and hold both classes; new rows lie between training positives only."""
    for repetition in range(10):
        drawn = draw_repetition(n, 0.9, 0.1, repetition, n_sets=1)
        train, validation = set(drawn.train_rows), set(drawn.validation_rows)
        assert train.isdisjoint(validation)
        assert train | validation == set(range(n))
        assert 0 < drawn.y[drawn.validation_rows].sum() < len(validation)
        assert drawn.y_train.mean() == 0.5
        assert np.array_equal(drawn.X_train[: len(train)], drawn.X[drawn.train_rows])
        assert np.array_equal(drawn.y_train[: len(train)], drawn.y[drawn.train_rows])
        positives = drawn.X[[row for row in drawn.train_rows if drawn.y[row] == 1]]
        for row in drawn.X_train[len(train) :]:
            assert any(
                np.isclose(np.linalg.norm(a - row) + np.linalg.norm(row - b), np.linalg.norm(a - b))
                for a, b in itertools.product(positives, positives)
            )


@pytest.mark.parametrize("n_minority", range(1, 8))
def test_few_positives_are_oversampled_with_fewer_neighbours(n_minority):
    """Neighbours number min(5, minority − 1), all in use; a single positive is duplicated."""
    rng = np.random.default_rng(n_minority)
    points = rng.normal(size=(n_minority, 5))
    n_majority = 400
    train = np.zeros((5, 2 * n_majority))
    train[:, n_majority : n_majority + n_minority] = points.T
    uniforms = numpy_stream(np.ones(2, np.uint64), 0, 2).random((n_majority - n_minority, 2))
    kernel.oversample(train, n_majority, n_minority, np.empty((n_minority, 5), np.int64), uniforms)
    new = train[:, n_majority + n_minority :].T
    if n_minority == 1:
        assert (new == points[0]).all()
        return
    k = min(5, n_minority - 1)
    order = np.argsort(np.linalg.norm(points[:, None] - points[None], axis=2), axis=1)
    segments = {frozenset((i, j)) for i in range(n_minority) for j in order[i, 1 : k + 1]}
    found = set()
    for row in new:
        for i, j in itertools.combinations(range(n_minority), 2):
            detour = np.linalg.norm(points[i] - row) + np.linalg.norm(row - points[j])
            if np.isclose(detour, np.linalg.norm(points[i] - points[j]), rtol=1e-9):
                found.add(frozenset((i, j)))
    assert found == segments


# --- logistic models ----------------------------------------------------------------------------


def test_exponential():
    """The branch-free exponential agrees with the library's within 1e-14."""
    x = np.concatenate([np.linspace(-40, 40, 100_001), [0.0, -0.0, 1e-300, 700, -700]])
    ours = np.array([fits.exponential(value) for value in x[::50]])
    np.testing.assert_allclose(ours, np.exp(x[::50]), rtol=1e-14)
    assert fits.exponential(0.0) == 1.0


HARD = {
    "separable": lambda rng, y: rng.normal(size=(len(y), 2)) * 0.1 + 10 * y[:, None],
    "tiny features": lambda rng, y: 1e-9 * rng.normal(size=(len(y), 2)),
    "large features": lambda rng, y: 1e3 * rng.normal(size=(len(y), 2)) + 500 * y[:, None],
    "duplicated feature": lambda rng, y: np.repeat(rng.normal(size=(len(y), 1)), 2, axis=1),
    "constant feature": lambda rng, y: np.column_stack([np.ones(len(y)), rng.normal(size=len(y))]),
    "far away": lambda rng, y: 100 + rng.normal(size=(len(y), 2)),
}


@pytest.mark.parametrize("start", [(0.0, 0.0, 0.0), (3.0, 80.0, -80.0)], ids=["near", "far"])
@pytest.mark.parametrize("kind", HARD)
def test_hard_fits_reach_the_optimum(kind, start):
    """On hard data and from a bad start the gradient vanishes, by an independent formula."""
    rng = np.random.default_rng(0)
    y = np.repeat([0.0, 1.0], [30, 26])
    X = HARD[kind](rng, y)
    scratch = np.empty(len(y)), np.empty(len(y))
    w = np.array(fits.fit_pair(X[:, 0].copy(), X[:, 1].copy(), y, start, *scratch))
    design = np.column_stack([np.ones(len(y)), X])
    p = 1 / (1 + np.exp(-design @ w))
    gradient = design.T @ (p - y) + [0, w[1], w[2]]
    assert np.abs(gradient).max() < 1e-7 * max(1, np.abs(X).max() ** 2)


def test_damped_newton_agrees():
    """The slow way from 0, used where Newton's method runs away, ends at the same model."""
    drawn = draw_repetition(100, 2.9, 0.1, 0, n_sets=1)
    for (a, b), model in zip(PAIRS, drawn.models, strict=True):
        columns = drawn.X_train[:, a].copy(), drawn.X_train[:, b].copy()
        scratch = np.empty(len(columns[0])), np.empty(len(columns[0]))
        slow = fits.damped_newton(*columns, drawn.y_train.astype(float), *scratch)
        np.testing.assert_allclose(slow, model, rtol=0, atol=1e-8)


# --- scores -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "k"), [(50, 1), (100, 1), (12, 3)])
def test_score_table_is_scikit_learns_and_the_definition(n, k):
    """Each cell of the table is the score of predictions with those counts."""
    sizes = class_sizes(n)
    table = synthetic._score_table(sizes, k)
    n_neg, n_pos = k * sizes[2], k * sizes[3]
    assert table.shape == (n_pos + 1, n_neg + 1, len(SCORES))
    y = np.repeat([0, 1], [n_neg, n_pos])
    for tp, fp in itertools.product(range(n_pos + 1), range(n_neg + 1)):
        predicted = np.repeat([1, 0, 1, 0], [fp, n_neg - fp, tp, n_pos - tp])
        efficiencies = [
            synthetic_literal.efficiency(tp, tp + fp, n_pos, len(y), float(name[3:]))
            for name in SCORES[:5]
        ]
        np.testing.assert_allclose(table[tp, fp, :5], efficiencies, rtol=1e-13)
        assert table[tp, fp, 5] == pytest.approx(f1_score(y, predicted, zero_division=0.0))
        assert table[tp, fp, 6] == pytest.approx(accuracy_score(y, predicted))
        np.testing.assert_allclose(
            synthetic_literal.scores_of(y, predicted), table[tp, fp], rtol=1e-13
        )


def test_efficiency_is_the_mean_over_random_interventions():
    """The literal IE is the mean over all ways of choosing whom to treat, flagged first."""
    for n_pos, n_neg, room in ((2, 4, 3), (3, 3, 2), (1, 5, 5)):
        y = [1] * n_pos + [0] * n_neg
        n = len(y)
        at_random = np.mean([sum(y[i] for i in c) for c in itertools.combinations(range(n), room)])
        for tp, fp in itertools.product(range(n_pos + 1), range(n_neg + 1)):
            flagged = [i for i in range(n) if i < tp or n_pos <= i < n_pos + fp]
            others = [i for i in range(n) if i not in flagged]
            if len(flagged) > room:
                choices = list(itertools.combinations(flagged, room))
            else:
                rest = itertools.combinations(others, room - len(flagged))
                choices = [(*flagged, *extra) for extra in rest]
            found = np.mean([sum(y[i] for i in choice) for choice in choices])
            ours = synthetic_literal.efficiency(tp, tp + fp, n_pos, n, room / n)
            assert ours == pytest.approx(found / at_random)


@settings(max_examples=200, deadline=None)
@given(
    ranks=st.lists(st.integers(0, 40) | st.integers(0, 2**13 - 1), min_size=1, max_size=120),
    place=st.integers(0, 119),
)
def test_order_statistics(ranks, place):
    """The pair found by counting is that of a sorted list, whatever the ties."""
    place %= len(ranks)
    low, high = kernel.lower_pair(np.array(ranks, dtype=np.int32), place, 13)
    ordered = sorted(ranks)
    assert (low, high) == (ordered[place], ordered[min(place + 1, len(ranks) - 1)])


@pytest.mark.parametrize("aggregate", [0.0, 0.1, 0.25, 0.5, 0.77, 1.0])
@pytest.mark.parametrize("n_sets", [1, 2, 99, 100, 101])
def test_aggregate_has_the_bits_of_numpys_quantile(aggregate, n_sets):
    """The aggregated score is numpy.quantile of the scores, to the last bit."""
    drawn = draw_repetition(50, 1.5, 0.1, 3, aggregate=aggregate, n_sets=n_sets)
    table = synthetic._score_table(class_sizes(50), 7)
    expected = np.quantile(table[drawn.tp, drawn.fp], aggregate, axis=1)
    assert np.array_equal(drawn.pvf, expected)
    assert n_sets < 3 or len(np.unique(drawn.pvf)) > 10


def test_best_models_hold_all_that_tie():
    """Equal scores tie in spite of rounding; different counts do not."""
    scores = np.full((10, 4), 0.5)
    scores[3] = [0.6, 0.5, 0.5 + 1e-15, 0.5 + 1e-11]
    scores[7, 0] = 0.6
    best = np.empty(4, dtype=np.uint16)
    kernel.best_models(scores, best)
    assert best.tolist() == [1 << 3 | 1 << 7, 2**10 - 1, 2**10 - 1, 1 << 3]


@pytest.mark.parametrize("n", [50, 100])
def test_tie_tolerance_separates_rounding_from_counts(n):
    """Between rounding (1e-14) and the tolerance, and up to 10 times above it, no gap occurs."""
    for k in (1, 7):
        table = synthetic._score_table(class_sizes(n), k)
        for metric in range(len(SCORES)):
            gaps = np.diff(np.unique(table[..., metric]))
            assert not ((gaps > 1e-14) & (gaps < 10 * kernel.TIE_TOLERANCE)).any()


# --- perturbation -------------------------------------------------------------------------------


def exact_distribution(margins, width, n_replicas):
    """Distribution of the positive replicas, by convolving one replica at a time."""
    masses = np.ones(1)
    for margin in np.repeat(margins, n_replicas):
        p = stats.norm.cdf(margin / width)
        masses = np.convolve(masses, [1 - p, p])
    return masses


@pytest.mark.parametrize("n_replicas", [1, 7])
@pytest.mark.parametrize("scale", [0.01, 0.3, 3.0], ids=["mostly far", "mixed", "near"])
def test_count_distribution(n_replicas, scale):
    """The distribution of the counts is that of single replicas, one after the other."""
    margins = np.random.default_rng(5).normal(size=9)
    width = scale * 0.7
    binomials = np.ones((2, n_replicas + 1))
    binomials[0] = [math.comb(n_replicas, i) for i in range(n_replicas + 1)]
    masses = np.full((2, 9 * n_replicas + 1), np.nan)
    certain, length, row = kernel.count_distribution(
        margins, 2, 9, width, synthetic.CUTOFF, binomials, masses
    )
    ours = np.zeros(7 * n_replicas + 1)
    ours[certain : certain + length] = masses[row, :length]
    expected = exact_distribution(margins[2:], width, n_replicas)
    np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-15)
    assert scale > 0.01 or length < len(ours)


WAYS = {
    "counts": {},
    "separate noise": {"draw_noise": True},
    "common noise": {"common_noise": True},
    "common noise, all drawn": {"common_noise": True, "draw_noise": True},
}


def chi_square_p(observed, probabilities, n):
    """P value of counts against probabilities, with rare cells joined."""
    order = np.argsort(probabilities)
    cells, total, seen = [], 0.0, 0
    for i in order:
        total += n * probabilities[i]
        seen += observed[i]
        if total >= 10:
            cells.append((seen, total))
            total, seen = 0.0, 0
    cells[-1] = (cells[-1][0] + seen, cells[-1][1] + total)
    if len(cells) == 1:  # a certain count
        return 1.0
    o, e = np.array(cells).T
    return stats.chi2.sf(((o - e) ** 2 / e).sum(), len(cells) - 1)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n", [50, 100])
def test_perturbed_counts_have_the_exact_distribution(way, n):
    """Counts that are drawn, and counts of noise that is drawn, follow one exact distribution."""
    n_sets = 3000
    drawn = draw_repetition(n, 1.5, 0.1, 2, n_sets=n_sets, **WAYS[way])
    positive = drawn.y[drawn.validation_rows] == 1
    p_values = []
    for q in range(10):
        width = 0.1 * np.hypot(*drawn.models[q, 1:])
        for counts, part in ((drawn.tp[q], positive), (drawn.fp[q], ~positive)):
            expected = exact_distribution(drawn.margins[q, part], width, 7)
            observed = np.bincount(counts, minlength=len(expected))
            p_values.append(chi_square_p(observed, expected, n_sets))
        covariance = np.cov(drawn.tp[q], drawn.fp[q])
        limit = 4.5 * math.sqrt(covariance[0, 0] * covariance[1, 1] / n_sets)
        assert abs(covariance[0, 1]) <= limit
    p_values = [p for p in p_values if p < 1]
    assert len(p_values) >= 10
    assert min(p_values) > 1e-4
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3 or "common" in way


def test_both_ways_choose_equally_often():
    """On the same data sets, counts and drawn noise choose the true pair equally often."""
    grid = {"n_samples": [50], "mus": [0.9, 2.1], "sigmas": [1e-2, 1e-1]}
    one = run_sweep(**grid, n_repetitions=150)
    two = run_sweep(**grid, n_repetitions=150, draw_noise=True)
    by = ["n_samples", "mu", "sigma", "metric", "method", "tie_break"]
    assert one[by].equals(two[by])
    plain = one["method"] == "traditional"
    assert one.loc[plain, "n_selected"].equals(two.loc[plain, "n_selected"])
    first = one["tie_break"] == "first"
    difference = (one["n_selected"] - two["n_selected"])[first & ~plain]
    assert difference.abs().max() <= 20  # of 150; independent data would vary by 8.5 at one sigma
    assert abs(difference.mean()) < 1.0
    assert (difference != 0).any()


def test_common_noise_is_shared():
    """Under common noise a duplicated model would get the same counts; separate noise differs."""
    drawn = {
        way: draw_repetition(50, 1.5, 0.1, 2, n_sets=2000, **WAYS[way])
        for way in ("common noise", "counts")
    }
    r = {way: np.corrcoef(d.fp)[np.triu_indices(10, 1)] for way, d in drawn.items()}
    assert r["common noise"].max() > 0.3
    assert np.abs(r["counts"]).max() < 5 / math.sqrt(2000)


@pytest.mark.parametrize("way", WAYS)
def test_without_noise_both_methods_agree(way):
    """σ = 0 changes no count ratio, so both methods have the same best sets in every repetition."""
    for n, repetition in itertools.product((50, 100), range(25)):
        drawn = draw_repetition(n, 1.5, 0.0, repetition, n_sets=3, **WAYS[way])
        np.testing.assert_allclose(drawn.pvf, drawn.traditional, rtol=1e-13)
        assert np.array_equal(drawn.best[0], drawn.best[1])


# --- twins --------------------------------------------------------------------------------------

FIELDS = ["X", "y", "train_rows", "validation_rows", "y_train", "tp", "fp"]
FIELDS += ["traditional", "pvf", "best"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n", [8, 12, 37, 50, 100])
def test_kernel_is_its_numpy_twin(n, way):
    """Data, split, oversampled rows, models, counts, scores and choices are the twin's."""
    for mu, sigma in itertools.product((0.1, 1.5, 2.9), (0.0, 1e-6, 1e-2, 1e-1, 1.0)):
        sizes = class_sizes(n)
        ours = draw_repetition(n, mu, sigma, 5, n_sets=12, seed=3, **WAYS[way])
        twin = numpy_repetition(
            configuration_key(3, n, mu, sigma),
            5,
            sizes,
            mu,
            sigma,
            synthetic._plan(SweepSettings(n_sets=12, **WAYS[way])),
            synthetic._tables(sizes, 7),
        )
        for field in FIELDS:
            assert np.array_equal(getattr(ours, field), getattr(twin, field)), (field, mu, sigma)
        np.testing.assert_allclose(ours.X_train, twin.X_train, rtol=0, atol=1e-14)
        np.testing.assert_allclose(ours.models, twin.models, rtol=0, atol=1e-8)


def test_many_repetitions_are_single_repetitions():
    """The block that counts and the repetition that shows itself are one computation."""
    cells = synthetic.count_choices((50, 0.9, 0.1, 3, 23), SweepSettings())
    best = np.array([draw_repetition(50, 0.9, 0.1, r).best for r in range(3, 23)])
    last = cells[cells["tie_break"] == "last"].set_index("metric")
    for column, metric in enumerate(SCORES):
        alone = best[:, :, column] == 1
        assert last.loc[metric, "both"] == 2520 * alone.all(axis=1).sum()
        assert last.loc[metric, "pvf_only"] == 2520 * (alone[:, 0] & ~alone[:, 1]).sum()
        assert last.loc[metric, "traditional_only"] == 2520 * (~alone[:, 0] & alone[:, 1]).sum()


# --- the literal implementation -----------------------------------------------------------------


def best_sets(scores):
    """Best models of each metric, by a plain loop."""
    return [
        sum(1 << q for q, score in enumerate(column) if max(column) - score <= 1e-12)
        for column in scores.T.tolist()
    ]


def compare_with_literal(n, mu, sigma, repetition, n_sets, common_noise=False):
    """Hand one data set to scikit-learn; return the largest difference of a coefficient."""
    how = {"common_noise": common_noise, "draw_noise": True}
    drawn = draw_repetition(n, mu, sigma, repetition, n_sets=n_sets, **how)
    models = synthetic_literal.fit_models(drawn.X_train, drawn.y_train, tol=1e-9)
    coefficients = np.array([[m.intercept_[0], *m.coef_[0]] for m in models])
    X, y = drawn.X[drawn.validation_rows], drawn.y[drawn.validation_rows]
    predictions = [m.predict(X[:, pair]) for m, pair in zip(models, PAIRS, strict=True)]
    assert np.array_equal(predictions, drawn.margins > 0)
    traditional = synthetic_literal.validation_scores(models, X, y)
    np.testing.assert_allclose(drawn.traditional, traditional, rtol=1e-13)

    stream = numpy_stream(configuration_key(1, n, mu, sigma), repetition, kernel.NOISE)
    shared = {}

    def noise(q, m):
        if not common_noise or m not in shared:
            shared[m] = stream.standard_normal((7, *X.shape))
        return shared[m]

    arguments = {"sigma": sigma, "n_sets": n_sets, "n_replicas": 7, "aggregate": 0.25}
    pvf = synthetic_literal.perturbed_scores(models, X, y, noise=noise, **arguments)
    np.testing.assert_allclose(drawn.pvf, pvf, rtol=1e-13)
    assert best_sets(pvf) == drawn.best[0].tolist()
    assert best_sets(traditional) == drawn.best[1].tolist()
    return np.abs(coefficients - drawn.models).max()


@pytest.mark.parametrize("n", [50, 100])
@pytest.mark.parametrize("mu", MUS)
def test_literal_implementation_agrees(n, mu):
    """18 data sets each, 540 in all: coefficients, predictions, scores and choices agree."""
    differences = [
        compare_with_literal(n, mu, SIGMAS[repetition % 6], repetition, n_sets=2)
        for repetition in range(18)
    ]
    assert max(differences) < 1e-4


@pytest.mark.parametrize("common_noise", [False, True], ids=["separate", "common"])
@pytest.mark.parametrize(("n", "mu", "sigma"), [(50, 2.1, 0.1), (100, 0.9, 0.01)])
def test_literal_implementation_agrees_at_full_size(n, mu, sigma, common_noise):
    """With all 100 perturbed sets, whether or not models share the noise, choices agree."""
    assert compare_with_literal(n, mu, sigma, 0, n_sets=100, common_noise=common_noise) < 1e-4


def test_scikit_learns_default_tolerance():
    """At its default tolerance scikit-learn stops early: coefficients differ, few choices do."""
    differences, changed = [], 0
    for repetition, (n, mu) in enumerate(itertools.product((50, 100), MUS)):
        drawn = draw_repetition(n, mu, 1e-6, repetition, n_sets=1)
        models = synthetic_literal.fit_models(drawn.X_train, drawn.y_train)
        coefficients = np.array([[m.intercept_[0], *m.coef_[0]] for m in models])
        differences.append(np.abs(coefficients - drawn.models).max())
        X, y = drawn.X[drawn.validation_rows], drawn.y[drawn.validation_rows]
        scores = synthetic_literal.validation_scores(models, X, y)
        changed += sum(np.array(best_sets(scores)) != drawn.best[1])
    assert 1e-4 < max(differences) < 0.05
    assert changed <= 0.02 * 30 * len(SCORES)


def test_the_penalty_is_scikit_learns_default():
    """Another penalty than the default gives other coefficients, so the test above could fail."""
    drawn = draw_repetition(50, 1.5, 0.1, 0, n_sets=1)
    X = drawn.X_train[:, [0, 1]]
    for C, same in ((1.0, True), (1.1, False)):
        model = LogisticRegression(C=C, tol=1e-9).fit(X, drawn.y_train)
        difference = np.abs(np.array([model.intercept_[0], *model.coef_[0]]) - drawn.models[0])
        assert (difference.max() < 1e-4) == same


def test_whole_procedure_agrees_in_distribution():
    """From generation to choice, scikit-learn's own split and SMOTE choose as often as ours."""
    n_literal, rng = 160, np.random.default_rng(8)
    settings_ = {"n_sets": 4, "n_replicas": 2}
    chosen = np.zeros((2, len(SCORES)))
    for _ in range(n_literal):
        scores = synthetic_literal.run_literally(50, 2.1, 0.1, rng, **settings_)
        chosen += [[s & 1 for s in best_sets(one)] for one in scores]
    table = run_sweep(
        n_samples=[50], mus=[2.1], sigmas=[0.1], n_repetitions=20_000, **settings_
    ).query("tie_break == 'first'")
    for row, method in enumerate(("pvf", "traditional")):
        ours = table[table["method"] == method].set_index("metric")["n_selected"] / 20_000
        for column, metric in enumerate(SCORES):
            p = ours[metric]
            z = (chosen[row, column] / n_literal - p) / math.sqrt(p * (1 - p) / n_literal)
            assert abs(z) < 4, (method, metric, z)


# --- the table ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    return run_sweep(
        n_samples=[100, 50], mus=[2.5, 0.1, 2.7], sigmas=[1e-6, 1e-1], n_repetitions=300
    )


def test_table_is_tidy(table):
    """One row per configuration, metric, method and tie rule, in the order asked for."""
    keys = ["n_samples", "mu", "sigma", "metric", "method", "tie_break"]
    expected = itertools.product(
        [100, 50],
        [2.5, 0.1, 2.7],
        [1e-6, 1e-1],
        METRICS,
        ["pvf", "traditional"],
        ["first", "last", "even"],
    )
    assert list(table[keys].itertuples(index=False, name=None)) == list(expected)
    assert list(table.columns) == [
        *keys,
        "n_selected",
        "n_repetitions",
        "both",
        "pvf_only",
        "traditional_only",
        "neither",
        "mean_tied",
    ]
    efficiencies = ("IE@0.1", "IE@0.3", "IE@0.5", "IE@0.7", "IE@0.9")
    assert (*efficiencies, "F1/accuracy", "F1", "accuracy") == METRICS


def test_cells_add_up(table):
    """The four cells are all repetitions; the tie rules are in order; the counts are theirs."""
    cells = table[["both", "pvf_only", "traditional_only", "neither"]]
    assert (cells >= 0).all(axis=None)
    np.testing.assert_allclose(cells.sum(axis=1), 300)
    own = np.where(table["method"] == "pvf", table["pvf_only"], table["traditional_only"])
    np.testing.assert_allclose(table["n_selected"], table["both"] + own)
    first, last, even = (
        table.loc[table["tie_break"] == tie_break, "n_selected"].to_numpy()
        for tie_break in ("first", "last", "even")
    )
    assert (first >= even).all()
    assert (even >= last).all()
    assert (first > last).any()
    assert table["mean_tied"].between(1, 10).all()
    whole = table["tie_break"] != "even"
    assert (table.loc[whole, "n_selected"] % 1 == 0).all()


def test_f1_up_to_2_5_and_accuracy_above(table):
    """F1/accuracy repeats F1 for μ ≤ 2.5, the limit included, and accuracy above."""
    for mu, metric in ((0.1, "F1"), (2.5, "F1"), (2.7, "accuracy")):
        part = table[table["mu"] == mu]
        mixed = part[part["metric"] == "F1/accuracy"].drop(columns="metric")
        single = part[part["metric"] == metric].drop(columns="metric")
        pd.testing.assert_frame_equal(
            mixed.reset_index(drop=True), single.reset_index(drop=True), check_exact=True
        )
    assert 2.5 in MUS


def test_even_ties_by_enumerating_orders():
    """Cells under even ties are the mean over all random orders of the candidates."""
    sets = range(1, 16)
    pairs = np.array(list(itertools.product(sets, sets)), dtype=np.uint16)
    cells = synthetic._paired_cells(pairs[:, 0], pairs[:, 1], "even")
    totals = np.zeros(3)
    orders = list(itertools.permutations(range(4)))
    for one, two in pairs:
        for order in orders:
            winners = [next(q for q in order if int(s) >> q & 1) for s in (one, two)]
            true = [winner == 0 for winner in winners]
            totals += [all(true), true[0] and not true[1], true[1] and not true[0]]
    totals /= len(orders)
    found = np.array([cells["both"], cells["pvf_only"], cells["traditional_only"]]) / 2520
    np.testing.assert_allclose(found, totals)
    assert cells["pvf_tied"] == sum(int(s).bit_count() for s in pairs[:, 0])


@pytest.mark.parametrize("tie_break", ["first", "last"])
def test_first_and_last_ties_by_a_loop(tie_break):
    """The first or the last candidate of each best set is the choice."""
    sets = np.random.default_rng(0).integers(1, 2**10, size=(400, 2)).astype(np.uint16)
    sets[::4] = 1
    sets[1::4, 0] = sets[2::4, 1] = 1
    pick = min if tie_break == "first" else max
    true = [[pick(q for q in range(10) if int(s) >> q & 1) == 0 for s in row] for row in sets]
    one, two = np.array(true).T
    cells = synthetic._paired_cells(sets[:, 0], sets[:, 1], tie_break)
    assert cells["both"] == 2520 * (one & two).sum()
    assert cells["pvf_only"] == 2520 * (one & ~two).sum() > 0
    assert cells["traditional_only"] == 2520 * (~one & two).sum() > 0


def test_fewer_repetitions_are_the_first_of_more():
    """Counts of 30 repetitions and of the 50 that follow add up to those of 80."""
    sizes = {"n_sets": 20, "seed": 4}
    short, long = (run_sweep(**SMALL, n_repetitions=n, **sizes) for n in (30, 80))
    rest = synthetic.count_choices((50, 1.5, 0.1, 30, 80), SweepSettings(**sizes))
    rest = synthetic.tidy(rest)
    np.testing.assert_allclose(short["n_selected"] + rest["n_selected"], long["n_selected"])
    assert (rest["n_repetitions"] == 50).all()


def test_a_configuration_does_not_depend_on_its_grid(table):
    """One configuration run alone has the rows that it has in a grid."""
    alone = run_sweep(n_samples=[50], mus=[2.7], sigmas=[0.1], n_repetitions=300)
    within = table.query("n_samples == 50 and mu == 2.7 and sigma == 0.1")
    pd.testing.assert_frame_equal(alone, within.reset_index(drop=True), check_exact=True)


def test_seeds_give_other_data():
    """Another seed gives other counts; the same seed the same."""
    tables = [run_sweep(**SMALL, n_repetitions=300, seed=seed) for seed in (1, 2, 1)]
    assert not tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


# --- workers, blocks, shards --------------------------------------------------------------------

GRID = {"n_samples": [50, 100], "mus": [0.9], "sigmas": [0.01, 0.1], "n_repetitions": 60}


@pytest.fixture(scope="module")
def reference():
    return run_sweep(**GRID)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("block_size", [1, 7, 60, 1000])
def test_same_bits_for_any_workers_and_blocks(reference, n_jobs, block_size):
    """The table has the same bits for one or two workers and blocks of any size."""
    other = run_sweep(**GRID, n_jobs=n_jobs, block_size=block_size)
    pd.testing.assert_frame_equal(other, reference, check_exact=True)


def test_same_bits_on_a_dask_cluster(reference, tmp_path, dask_cluster):
    """Two dask worker processes give the same bits, with shards or without."""
    with dask_cluster():
        for out in (None, tmp_path):
            other = run_sweep(**GRID, block_size=20, out=out)
            pd.testing.assert_frame_equal(other, reference, check_exact=True)
    assert len(list(tmp_path.rglob("*.parquet"))) == 12


KILLED = """
import sys
from studies.pvf2026.synthetic.run import run_sweep
run_sweep(n_samples=[50], mus=[0.9], sigmas=[0.1], n_repetitions=200, block_size=5,
          draw_noise=True, n_jobs=2, out=sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9 of a process group is POSIX")
def test_killed_sweep_goes_on(tmp_path):
    """Kill -9 in the middle; the second call keeps the shards and gives the uninterrupted table."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )

    def shards():
        return {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}

    try:
        deadline = time.monotonic() + 300
        while len(shards()) < 4 and time.monotonic() < deadline:
            assert process.poll() is None, "the sweep ended before it could be killed"
            time.sleep(0.01)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
    assert process.wait(timeout=30) == -signal.SIGKILL
    time.sleep(0.3)
    before = shards()
    assert 4 <= len(before) < 40
    arguments = {"n_samples": [50], "mus": [0.9], "sigmas": [0.1], "n_repetitions": 200}
    arguments |= {"block_size": 5, "draw_noise": True}
    resumed = run_sweep(**arguments, out=tmp_path)
    after = shards()
    assert len(after) == 40
    assert before.items() <= after.items()  # what was finished was not computed again
    pd.testing.assert_frame_equal(resumed, run_sweep(**arguments), check_exact=True)


@pytest.mark.parametrize(
    "change",
    [
        {"n_sets": 10},
        {"n_replicas": 3},
        {"aggregate": 0.5},
        {"common_noise": True},
        {"draw_noise": True},
        {"seed": 2},
    ],
    ids=lambda change: next(iter(change)),
)
def test_shards_of_other_settings_are_not_mixed_in(tmp_path, change):
    """Each setting that changes the result has its own shards."""
    run_sweep(**SMALL, n_repetitions=40, out=tmp_path)
    table = run_sweep(**SMALL, n_repetitions=40, out=tmp_path, **change)
    pd.testing.assert_frame_equal(
        table, run_sweep(**SMALL, n_repetitions=40, **change), check_exact=True
    )
    assert len(list(tmp_path.glob("synthetic_sweep-*"))) == 2


def test_damaged_shard_of_the_sweep(tmp_path):
    """A truncated shard is reported and computed again, to the same table."""
    first = run_sweep(**SMALL, n_repetitions=40, block_size=10, out=tmp_path)
    victim = sorted(tmp_path.rglob("*.parquet"))[1]
    victim.write_bytes(victim.read_bytes()[:-1])
    with pytest.warns(UserWarning, match="truncated or altered"):
        second = run_sweep(**SMALL, n_repetitions=40, block_size=10, out=tmp_path)
    pd.testing.assert_frame_equal(first, second, check_exact=True)


# --- arguments and the estimate -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n_samples": [7]}, ValueError, "n_samples must be finite int of at least 8, got 7"),
        ({"n_samples": [50.0]}, ValueError, "n_samples must be finite int"),
        ({"n_samples": 50}, TypeError, "n_samples must be tuple"),
        ({"n_samples": []}, ValueError, "n_samples must hold one value or more"),
        ({"mus": [0.1, 0.1]}, ValueError, "mus must hold .* each once"),
        ({"mus": [math.inf]}, ValueError, "mus must be finite"),
        ({"sigmas": [-0.1]}, ValueError, "sigmas must be finite float of at least 0, got -0.1"),
        ({"sigmas": [math.nan]}, ValueError, "sigmas must be finite"),
        ({"sigmas": "0.1"}, TypeError, "sigmas must be tuple"),
        ({"n_repetitions": 0}, ValueError, "n_repetitions must be at least 1"),
        ({"n_sets": 0}, ValueError, "n_sets must be at least 1"),
        ({"n_replicas": 0}, ValueError, "n_replicas must be in"),
        ({"n_replicas": 51}, ValueError, "n_replicas must be in .1, 50."),
        ({"aggregate": 1.5}, ValueError, "aggregate must be in"),
        ({"common_noise": 1}, TypeError, "common_noise must be bool"),
        ({"draw_noise": None}, TypeError, "draw_noise must be bool"),
        ({"seed": -1}, ValueError, "seed must be at least 0"),
        ({"block_size": 0}, ValueError, "block_size must be at least 1"),
        ({"n_set": 3}, TypeError, "n_set"),
    ],
)
def test_wrong_arguments_are_named(change, error, message):
    """Each wrong argument is named before anything runs."""
    with pytest.raises(error, match=message):
        run_sweep(**(SMALL | change))


def test_estimate_scales_with_the_sweep():
    """The probe's estimate counts all data sets, is linear in them, and sees costlier settings."""
    grid = {"n_samples": [50, 100], "mus": [0.9, 1.5], "sigmas": [1e-6]}
    short = estimate_sweep(**grid, n_repetitions=100)
    assert (short.n_datasets, short.n_probed, short.n_workers) == (400, 80, 1)
    assert short.seconds == pytest.approx(400 * short.seconds_per_dataset)
    two = estimate_sweep(**grid, n_repetitions=5000, n_jobs=2)
    assert two.n_workers == 2
    assert two.seconds == pytest.approx(20_000 * two.seconds_per_dataset / 2)
    costly = estimate_sweep(**grid, n_repetitions=100, n_probe=5, draw_noise=True)
    assert costly.seconds > 10 * short.seconds
    text = (
        r"20,000 data sets take about [\d.]+ (s|min \d+ s) on 2 workers \(\d+ µs each, .* of 80\)"
    )
    assert re.fullmatch(text, str(two))
