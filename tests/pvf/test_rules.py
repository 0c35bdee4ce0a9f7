"""Rules of choice against enumeration, simulation, and scikit-learn."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, f1_score, log_loss, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeClassifier

import pvf
import pvf.selection
from pvf import counts, rules
from pvf.rules import Evidence, law_quantile
from studies.rules.run import rules_of

DEPTHS = (1, 2, 3, 5)
IE = pvf.intervention_efficiency_scorer(0.3)


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    """Four trees on noisy moons."""
    X, y = make_moons(120, noise=0.35, random_state=1)
    trees = [DecisionTreeClassifier(max_depth=d, random_state=0) for d in DEPTHS]
    return Evidence(trees, X[:90], y[:90], X[90:], y[90:], random_state=3)


def quantile_by_listing(
    score: Callable[..., Any], p: np.ndarray, y: np.ndarray, share: float
) -> float:
    """List every outcome of every flag; the smallest value that reaches the share."""
    found = []
    for flags in itertools.product([0, 1], repeat=len(p)):
        flag = np.array(flags)
        weight = np.prod(np.where(flag, p, 1 - p))
        found.append((float(score(flag[y].sum(), flag[~y].sum(), y.sum(), (~y).sum())), weight))
    values, weights = np.array(sorted(found)).T
    return float(values[(np.cumsum(weights) >= share - 1e-7).argmax()])


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
@pytest.mark.parametrize(
    "score",
    [counts.f1, lambda *table: counts.intervention_efficiency(*table, 0.3)],
    ids=["F1", "IE"],
)
def test_the_quantile_of_a_law_is_that_of_all_outcomes_listed(
    score: Callable[..., Any], share: float
) -> None:
    """Eight samples have 256 outcomes, also where some flags are certain."""
    rng = np.random.default_rng(0)
    y = np.array([True, True, True, False, False, False, False, False])
    p = rng.random((6, 8))
    p[2, :3], p[3, 4:], p[4] = 1.0, 0.0, rng.integers(2, size=8)
    expected = [quantile_by_listing(score, row, y, share) for row in p]
    assert law_quantile(score, p, y, share=share) == pytest.approx(expected)


def test_replicas_are_as_many_samples_of_the_same_probability() -> None:
    """Three copies of two samples are six samples."""
    y = np.array([True, False])
    p = np.array([[0.7, 0.2], [0.5, 0.5]])
    repeated = law_quantile(counts.f1, np.repeat(p, 3, axis=1), np.repeat(y, 3))
    assert law_quantile(counts.f1, p, y, 3) == pytest.approx(repeated)


def test_a_mask_leaves_samples_out() -> None:
    """A masked sample is as if it were not there."""
    rng = np.random.default_rng(1)
    y = np.array([True, True, False, False, False])
    p, mask = rng.random((3, 5)), np.array([[1, 0, 1, 1, 0], [1, 1, 0, 1, 1], [0, 1, 1, 0, 1]]) > 0
    found = law_quantile(counts.f1, p, y, 2, mask=mask)
    for one, row, kept in zip(found, p, mask, strict=True):
        assert law_quantile(counts.f1, row[None, kept], y[kept], 2)[0] == pytest.approx(one)


def test_pvf_is_the_limit_of_many_perturbed_sets(evidence: Evidence) -> None:
    """Algorithm 1 with thousands of sets scores as the law of the same flag probabilities does."""
    rule = rules.PerturbationValidation("f1", sigma=0.2)
    p, y, k = evidence.noisy(0.2), evidence.y_val, rule.n_replicas
    rng = np.random.default_rng(0)
    flags = rng.binomial(k, p[:, :, None], size=(*p.shape, 20_000))
    sampled = counts.f1(flags[:, y].sum(1), flags[:, ~y].sum(1), k * y.sum(), k * (~y).sum())
    assert rule.scores(evidence) == pytest.approx(np.quantile(sampled, 0.25, axis=1), abs=0.01)


def test_hold_out_scores_are_scikit_learns(evidence: Evidence) -> None:
    """F1, AUC and (where nothing is certain) log loss."""
    y, p = evidence.y_val, evidence.probability
    assert rules.HoldOut("f1").scores(evidence) == pytest.approx([f1_score(y, q > 0.5) for q in p])
    assert rules.HoldOut("roc_auc").scores(evidence) == pytest.approx(
        [roc_auc_score(y, q) for q in p]
    )
    losses = [log_loss(y, np.clip(q, 1e-3, 1 - 1e-3)) for q in p]
    assert rules.HoldOut("neg_log_loss").scores(evidence) == pytest.approx(np.negative(losses))


def test_log_loss_breaks_ties() -> None:
    """Of three models that predict alike the surest right one is chosen."""
    X, y = make_moons(80, noise=0.05, random_state=0)
    models = [LogisticRegression(C=c) for c in (1e-3, 1.0, 1e3)]
    evidence = Evidence(models, X[:40], y[:40], X[40:], y[40:])
    shared = rules.HoldOut("f1").tied(evidence)
    best = rules.HoldOut("f1", ties="log_loss").tied(evidence)
    assert set(best) <= set(shared)
    assert evidence.log_loss[best[0]] == evidence.log_loss[shared].min()


def test_the_bootstrap_quartile_is_that_of_resamples(evidence: Evidence) -> None:
    """Cases and others resampled apart, many times."""
    rng, y = np.random.default_rng(0), evidence.y_val
    flagged = evidence.probability > 0.5
    cases, others = np.flatnonzero(y), np.flatnonzero(~y)
    drawn = [rng.choice(part, (20_000, len(part))) for part in (cases, others)]
    table = [flagged[:, rows].sum(axis=2) for rows in drawn]
    scores = counts.f1(*table, len(cases), len(others))
    expected = np.quantile(scores, 0.25, axis=1)
    assert rules.BootstrapQuartile("f1").scores(evidence) == pytest.approx(expected, abs=0.01)


def test_shrinkage_finds_the_prior_that_made_the_counts() -> None:
    """Counts of many beta-binomial candidates shrink as the true posterior means do."""
    rng = np.random.default_rng(0)
    rates = rng.beta(8, 4, 20_000)
    hits = rng.binomial(10, rates)
    found = rules._shrunken(hits, 10)
    assert found == pytest.approx(10 * (hits + 8) / (10 + 12), abs=0.15)


def test_counts_without_excess_spread_all_shrink_to_their_mean() -> None:
    """Candidates that differ by chance alone tie."""
    hits = stats.binom.ppf(np.linspace(0.3, 0.7, 50), 10, 0.5)
    assert np.ptp(rules._shrunken(hits, 10)) == 0


def test_cross_validation_is_scikit_learns(evidence: Evidence) -> None:
    """The pooled F1 of held-out predictions, with the same folds."""
    folds = [test for test, _ in evidence.folds(5)]
    splits = [(np.setdiff1d(np.arange(120), test), test) for test in folds]
    expected = [
        f1_score(
            evidence.y,
            cross_val_predict(
                DecisionTreeClassifier(max_depth=d, random_state=0),
                evidence.X,
                evidence.y,
                cv=splits,
            ),
        )
        for d in DEPTHS
    ]
    assert rules.RepeatedCV("f1").scores(evidence) == pytest.approx(expected)


def test_one_standard_error_prefers_the_less_complex(evidence: Evidence) -> None:
    """It never takes a more complex candidate than cross-validation does, nor one far below."""
    rule = rules.OneStandardError("f1")
    mean = rule.scores(evidence)
    chosen = int(rule.tied(evidence)[0])
    assert chosen <= int(mean.argmax())
    flagged = evidence.fold_flags(5)
    best = int(mean.argmax())
    each = [f1_score(evidence.y[t], flagged[best, t]) for t, _ in evidence.folds(5)]
    assert mean[chosen] >= np.mean(each) - stats.sem(each) - 1e-12


def test_sigma_is_chosen_by_rows_that_neither_fitted_nor_chose(evidence: Evidence) -> None:
    """Each training row judges once; fitting, choosing and judging rows never meet."""
    judged = np.concatenate([judge for _, judge, _, _ in evidence.rotations(5)])
    assert sorted(judged) == list(range(90))
    for choose, judge, (_, fitted_on), _ in evidence.rotations(5):
        assert len(fitted_on) == 90 - len(choose) - len(judge)
        assert not set(choose) & set(judge)
    assert rules.PerturbationValidation("f1", sigma="nested").chosen_sigma(evidence) in rules.SIGMAS


def test_pmv_prefers_the_model_that_cannot_learn_noise() -> None:
    """A stump's accuracy falls with the noise; a full tree learns the noise."""
    X, y = make_moons(200, noise=0.1, random_state=0)
    models = [DecisionTreeClassifier(max_depth=d, random_state=0) for d in (2, None)]
    evidence = Evidence(models, X[:150], y[:150], X[150:], y[150:])
    scores = rules.PMVRule().scores(evidence)
    assert scores[0] > 0.5 > scores[1]


class BalancedAccuracy(pvf.selection.Rule):
    """A rule that the library does not have: one class, one method."""

    def scores(self, evidence: Evidence) -> NDArray[np.float64]:
        """Return the mean of sensitivity and specificity on the validation part."""
        right = (evidence.probability > 0.5) == evidence.y_val
        return (right[:, evidence.y_val].mean(1) + right[:, ~evidence.y_val].mean(1)) / 2


def test_a_new_rule_is_one_class(evidence: Evidence) -> None:
    """It chooses what scikit-learn's score chooses, of equal ones by the seed like any other."""
    rule, models = BalancedAccuracy(), evidence.fitted[0]
    expected = [
        balanced_accuracy_score(evidence.y_val, model.predict(evidence.X_val)) for model in models
    ]
    choice = rule.choose(evidence)
    assert choice.scores == pytest.approx(expected)
    assert choice.tied.tolist() == np.flatnonzero(np.isclose(expected, max(expected))).tolist()
    assert choice.index in choice.tied
    assert choice.flag_error == 0


def test_the_rules_of_the_study_are_those_of_pvf_selection() -> None:
    """Readers import them where the library documents them."""
    used = {
        type(rule) for pool in ("trees", "mixed") for rule in rules_of(pool, 120, "F1").values()
    }
    assert len(used) == 9
    for kind in used:
        assert getattr(pvf.selection, kind.__name__) is kind


ALL = [
    BalancedAccuracy(),
    rules.HoldOut(IE),
    rules.BootstrapQuartile(IE),
    rules.Shrunken(IE),
    rules.RepeatedCV(IE, n_repeats=2),
    rules.OneStandardError(IE),
    rules.PerturbationValidation(IE),
    rules.PerturbationValidation(IE, sigma="nested"),
    rules.PVFInsideCV(IE),
    rules.PMVRule(),
]


@pytest.mark.parametrize("rule", ALL, ids=repr)
def test_a_rule_gives_the_same_choice_again(rule: rules.Rule) -> None:
    """Seeds are keys: neither order nor what other rules asked for matters."""
    X, y = make_moons(100, noise=0.4, random_state=2)
    trees = [DecisionTreeClassifier(max_depth=d, random_state=0) for d in (1, 3)]
    first, second = (Evidence(trees, X[:70], y[:70], X[70:], y[70:], random_state=5) for _ in "ab")
    rules.PVFInsideCV(IE).choose(second)
    choice, again = rule.choose(first), rule.choose(second)
    assert choice.index == again.index
    assert (choice.scores == again.scores).all()
    assert choice.index in choice.tied


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: rules.HoldOut(ties="last"), "ties"),
        (lambda: rules.PerturbationValidation(sigma=0), "sigma"),
        (lambda: rules.PerturbationValidation(sigma="best"), "sigma"),
        (lambda: rules.PerturbationValidation(share=2), "share"),
        (lambda: rules.RepeatedCV(n_splits=1), "n_splits"),
        (lambda: rules.PMVRule(noise_levels=(0.1,)), "noise_levels"),
        (lambda: Evidence([], [[1], [2]], [0, 1], [[1], [2]], [0, 1]), "models"),
        (lambda: Evidence([LogisticRegression()], [[1], [2]], [0, 0], [[1], [2]], [0, 1]), "y_tr"),
        (lambda: Evidence([LogisticRegression()], [[1], [2]], [0, 1], [[1]], [0, 1]), "X_val"),
    ],
)
def test_wrong_arguments_are_named(make: Callable[[], Any], says: str) -> None:
    """The error names the argument."""
    with pytest.raises((ValueError, TypeError), match=says):
        make()


def test_a_score_that_is_not_of_counts_is_refused(evidence: Evidence) -> None:
    """A law of counts has no average precision."""
    with pytest.raises(ValueError, match="scoring"):
        rules.PerturbationValidation("average_precision").choose(evidence)


def test_a_choice_says_whether_anything_was_drawn(evidence: Evidence) -> None:
    """Noise is sampled for scikit-learn's models; a hold-out needs none."""
    assert "±" in repr(rules.PerturbationValidation("f1").choose(evidence))
    assert "±" not in repr(rules.HoldOut("f1").choose(evidence))


def test_out_of_bag_needs_candidates_that_left_rows_out(evidence: Evidence) -> None:
    """Models that see all rows have none."""
    with pytest.raises(ValueError, match="out of bag"):
        rules.OutOfBag("f1").choose(evidence)
