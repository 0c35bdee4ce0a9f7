"""Intervention Efficiency of rankings, its intervals and groups, against enumeration."""

import itertools
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, cross_val_score
from sklearn.svm import LinearSVC

import pvf
from pvf import intervention_efficiency_score as score


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def by_enumeration(truth, risk, places):
    """Return the mean over all orders that the scores allow, in fractions."""
    reached, n = Fraction(0), 0
    for order in itertools.permutations(range(len(truth))):
        ranked = [risk[i] for i in order]
        if ranked != sorted(ranked, reverse=True):
            continue
        whole = int(places)
        cases = Fraction(sum(truth[i] for i in order[:whole]))
        if places > whole:
            cases += (places - whole) * truth[order[whole]]
        reached, n = reached + cases, n + 1
    return reached / n / (places * Fraction(sum(truth), len(truth)))


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_rank_is_the_mean_over_all_orders(data):
    """Ties share the places left in expectation, and a fraction of a place is that of a person."""
    n = data.draw(st.integers(1, 6))
    truth = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n).filter(any))
    risk = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    places = data.draw(st.integers(1, 4 * n).map(lambda quarters: Fraction(quarters, 4)))
    expected = float(by_enumeration(truth, risk, places))
    how = {"y_score": risk, "capacity": float(places), "capacity_unit": "places"}
    assert score(truth, **how) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    order = data.draw(st.permutations(range(n)))
    how["y_score"] = np.array(risk)[order]
    assert score(np.array(truth)[order], **how) == score(
        truth, y_score=risk, capacity=float(places), capacity_unit="places"
    )


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1), st.floats(0.01, 1))
def test_flags_as_scores_are_labels(people, capacity):
    """A ranking of two levels is IE by labels."""
    truth, flagged = np.array(people).T
    if truth.any():
        ranked = score(truth, y_score=flagged, capacity=capacity)
        assert ranked == pytest.approx(score(truth, flagged, capacity=capacity), rel=1e-9)


def test_capacity_and_scores_may_wobble():
    """A last digit of the capacity or of a score changes nothing."""
    truth, risk = [1, 0, 1, 0, 0, 1, 0, 0, 0, 0], [0.3] * 5 + [0.1] * 5
    exact = score(truth, y_score=risk, capacity=0.3)
    for capacity in (np.nextafter(0.3, 0), np.nextafter(0.3, 1), 3):
        assert score(truth, y_score=risk, capacity=capacity) == exact
    risk[0] = 0.1 + 0.2
    assert score(truth, y_score=risk, capacity=0.3) == exact
    assert score(truth, y_score=np.exp(risk), capacity=1.0) == 1


def test_capacity_in_places():
    """Whole numbers of 2 or more are places; one place is said in words."""
    truth, risk = [1, 0, 0, 1, 0], [5, 4, 3, 2, 1]
    assert score(truth, y_score=risk, capacity=2) == score(truth, y_score=risk, capacity=0.4)
    assert score(truth, [1, 0, 1, 0, 0], capacity=2) == 1.25
    assert score(truth, y_score=risk, capacity=1, capacity_unit="places") == 2.5
    assert score(truth, y_score=risk, capacity=1, capacity_unit="share") == 1
    assert score(truth, y_score=risk, capacity=1.0) == 1
    np.testing.assert_array_equal(
        score(truth, y_score=risk, capacity=[2, 5]), score(truth, y_score=risk, capacity=[0.4, 1])
    )
    for capacity, says in ((1, "everybody or one place"), (6, "5 people"), (2.0, r"\(0, 1\]")):
        with pytest.raises(ValueError, match=says):
            score(truth, y_score=risk, capacity=capacity)
    with pytest.raises(ValueError, match="got both"):
        score(truth, truth, y_score=risk, capacity=0.4)
    with pytest.raises(ValueError, match="got neither"):
        score(truth, capacity=0.4)


def test_values():
    """Equal values are plain IE; others are the value captured over that of chance."""
    rng = np.random.default_rng(0)
    truth, risk, worth = rng.integers(0, 2, 40), rng.random(40), rng.random(40)
    plain = score(truth, y_score=risk, capacity=0.25)
    for values in ({0: 0, 1: 7.0}, np.full(40, 3.0)):
        assert score(truth, y_score=risk, capacity=0.25, values=values) == pytest.approx(plain)
    top = np.argsort(-risk)[:10]
    expected = (truth * worth)[top].sum() / (truth * worth).sum() * 4
    assert score(truth, y_score=risk, capacity=0.25, values=worth) == pytest.approx(expected)
    classes, table = rng.integers(0, 3, 40), {0: 0.0, 1: 1.0, 2: 5.0}
    chances = rng.dirichlet(np.ones(3), 40)
    top = np.argsort(-(chances @ [0, 1, 5]))[:10]
    of_people = np.array([table[c] for c in classes])
    expected = of_people[top].sum() / of_people.sum() * 4
    found = score(classes, y_score=chances, capacity=0.25, values=table)
    assert found == pytest.approx(expected)
    perfect = np.sort(of_people)[-10:].sum() / of_people.sum() * 4
    assert score(classes, classes, capacity=0.25, values=table) == pytest.approx(perfect)
    with pytest.raises(ValueError, match=r"values must have every class of y_true.*\[2\]"):
        score(classes, y_score=risk, capacity=0.25, values={0: 0, 1: 1})


@pytest.fixture(scope="module")
def data():
    return make_classification(300, weights=[0.8], random_state=0)


@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC()], ids=["proba", "margin"])
def test_scorer_by_rank(data, model):
    """It ranks by the model's scores in scikit-learn's searches, also for the other class."""
    X, y = data
    scorer = pvf.intervention_efficiency_scorer(0.1, by="rank")
    fitted = clone(model).fit(X, y)
    margin = fitted.decision_function(X)
    assert scorer(fitted, X, y) == score(y, y_score=margin, capacity=0.1)
    other = pvf.intervention_efficiency_scorer(0.1, by="rank", pos_label=0)
    assert other(fitted, X, y) == score(y, y_score=-margin, capacity=0.1, pos_label=0)
    places = pvf.intervention_efficiency_scorer(30, by="rank")
    assert places(fitted, X, y) == scorer(fitted, X, y)
    assert np.isfinite(cross_val_score(model, X, y, scoring=scorer, cv=3)).all()
    assert GridSearchCV(model, {"C": [0.1, 1]}, scoring=scorer, cv=3).fit(X, y).best_score_ > 1
    by_labels = pvf.intervention_efficiency_scorer(0.1)
    assert TunedThresholdClassifierCV(model, scoring=by_labels, cv=3).fit(X, y).best_score_ > 1


def population(shift, prevalence, capacity):
    """Return IE by rank where cases have scores N(shift, 1) and others N(0, 1)."""

    def excess(cut):
        tail = prevalence * stats.norm.sf(cut - shift) + (1 - prevalence) * stats.norm.sf(cut)
        return tail - capacity

    return stats.norm.sf(brentq(excess, -12, 12) - shift) / capacity


def coverage(n_cases, repetitions, method):
    """Return how often the intervals by rank and by labels hold the population's IE."""
    shift, prevalence, capacity, cut = 1.0, 0.2, 0.1, 1.0
    rng = np.random.default_rng(n_cases)
    by_rank = population(shift, prevalence, capacity)
    hit, miss = stats.norm.sf(cut - shift), stats.norm.sf(cut)
    by_labels = pvf.intervention_efficiency(
        prevalence * hit / (prevalence * hit + (1 - prevalence) * miss), hit, prevalence, capacity
    )
    held = []
    while len(held) < repetitions:
        y = rng.random(int(n_cases / prevalence)) < prevalence
        x = rng.normal(size=len(y)) + shift * y
        if y.any():
            how = {"capacity": capacity, "method": method}
            low, high = pvf.intervention_efficiency_interval(y, y_score=x, **how)
            assert low < high
            lower, higher = pvf.intervention_efficiency_interval(y, x > cut, **how)
            held.append((low <= by_rank <= high, lower <= by_labels <= higher))
    return np.mean(held, axis=0)


@pytest.mark.parametrize("method", ["profile", "exact"])
def test_intervals_hold_the_truth(method):
    """Of 60 intervals from about five cases few miss."""
    assert (coverage(5, 60, method) >= 0.85).all()


@pytest.mark.slow
@pytest.mark.parametrize("n_cases", [5, 20, 100, 500])
def test_coverage(n_cases):
    """Coverage at 0.95 is at least 0.92 from 5 to 500 cases, up to the simulation's error."""
    assert (coverage(n_cases, 250, "profile") >= 0.92 - 3 * np.sqrt(0.08 * 0.92 / 250)).all()


def test_intervals_have_a_width_and_hold_the_estimate():
    """A model without an error, and two that treat the same people, still get a width."""
    y = np.repeat([1, 0], [4, 16])
    for how in ({"y_score": y}, {"y_pred": y}):
        value = score(y, **how, capacity=0.2)
        low, high = pvf.intervention_efficiency_interval(y, **how, capacity=0.2)
        wide, _ = pvf.intervention_efficiency_interval(y, **how, capacity=0.2, method="exact")
        assert wide < low < value <= high <= 5 + 1e-9
    low, high = pvf.intervention_efficiency_difference_interval(y, y, y, by="rank", capacity=0.2)
    assert low < 0 < high
    rng = np.random.default_rng(1)
    y, x = rng.random(3000) < 0.2, rng.normal(size=3000)
    how = {"y_score": x + y, "capacity": 0.1}
    one = pvf.intervention_efficiency_interval(y, **how)
    other = pvf.intervention_efficiency_interval(y, **how, method="bootstrap", random_state=0)
    np.testing.assert_allclose(one, other, rtol=0.08)
    how = {"capacity": 0.1, "by": "rank"}
    one = pvf.intervention_efficiency_difference_interval(y, x + y, x + y / 2, **how)
    other = pvf.intervention_efficiency_difference_interval(
        y, x + y, x + y / 2, **how, method="bootstrap", random_state=0
    )
    np.testing.assert_allclose(one, other, atol=0.2)


def test_cases_needed_is_the_least():
    """The interval at the expected counts is narrow enough there, and not one case earlier."""
    n_cases = pvf.cases_needed(3.0, 0.5, capacity=0.1, prevalence=0.1)

    def half_width(cases):
        n, reached = 10 * cases, 0.3 * cases
        y = np.r_[np.ones(cases), np.zeros(n - cases)]
        x = np.r_[np.repeat([1, 0], [round(reached), cases - round(reached)]), np.zeros(n - cases)]
        x[cases : cases + n // 10 - round(reached)] = 1
        low, high = pvf.intervention_efficiency_interval(
            y, y_score=x + 1e-3 * np.arange(n, 0, -1) / n, capacity=0.1
        )
        return (high - low) / 2

    assert half_width(round(n_cases, -1)) == pytest.approx(0.5, rel=0.03)
    assert pvf.cases_needed(3.0, 0.25, capacity=0.1, prevalence=0.1) > 3.5 * n_cases


def test_groups_share_one_capacity():
    """Places and cases reached add up, and IE is the mean over groups weighted by cases."""
    rng = np.random.default_rng(0)
    y, x, group = rng.integers(0, 2, 200), rng.integers(0, 9, 200), rng.choice(list("abc"), 200)
    table = pvf.efficiency_by_group(y, y_score=x, groups=group, capacity=30)
    assert table["places"].sum() == pytest.approx(30)
    assert table["share_of_list"].sum() == pytest.approx(1)
    mean = np.average(table["efficiency"], weights=table["cases"])
    assert mean == pytest.approx(score(y, y_score=x, capacity=30))
    assert (table["low"] < table["efficiency"]).all()
    assert (table["efficiency"] < table["high"]).all()


def test_net_benefit_is_decision_curve_analysis_within_the_capacity():
    """Without a constraint it is the textbook's; where the capacity binds, IE says it."""
    rng = np.random.default_rng(0)
    y = rng.random(500) < 0.3
    risk = np.clip(0.3 + 0.2 * y + 0.2 * rng.normal(size=500), 0, 1)
    for t in (0.1, 0.4):
        flagged = risk >= t
        expected = (flagged & y).mean() - (flagged & ~y).mean() * t / (1 - t)
        assert pvf.net_benefit(y, risk, threshold=t) == pytest.approx(expected)
        beyond = {"capacity": 20, "threshold_beyond": t}
        assert pvf.net_benefit(y, risk, threshold=t, **beyond) == pytest.approx(expected)
    found = y.mean() * score(y, y_score=risk, capacity=0.1)
    expected = 0.1 * (found - (1 - found) * 0.2 / 0.8)
    assert pvf.net_benefit(y, risk, threshold=0.2, capacity=0.1) == pytest.approx(expected)


def test_net_benefit_is_that_of_dcurves():
    """Six values that ``dcurves.dca`` 1.1.7 gives; it would bring nine packages into the lock."""
    place = np.arange(200)
    risk = (37 * place % 200 + 0.5) / 200
    y = (53 * place % 100 < 80 * risk**2).astype(int)
    known = {0.05: 0.234210526316, 0.1: 0.2, 0.2: 0.13125, 0.3: 0.071428571429, 0.4: 0.025}
    for threshold, value in (known | {0.5: -0.02}).items():
        assert pvf.net_benefit(y, risk, threshold=threshold) == pytest.approx(value, abs=1e-11)


def test_display_by_rank(data):
    """Curve, band and table are those of score and interval; places and cases have their axes."""
    X, y = data
    model = LogisticRegression().fit(X, y)
    display = pvf.InterventionEfficiencyDisplay.from_estimator(
        model, X, y, by="rank", capacity=[15, 30], interval="profile"
    )
    margin, table = model.decision_function(X), display.to_frame()
    np.testing.assert_allclose(table["efficiency"], score(y, y_score=margin, capacity=[15, 30]))
    low, high = pvf.intervention_efficiency_interval(y, y_score=margin, capacity=30)
    np.testing.assert_allclose(table.loc[1, ["low", "high"]].astype(float), [low, high])
    np.testing.assert_allclose(table["places"], [15, 30])
    top = np.argsort(-margin)[:30]
    assert table.loc[1, "cases_reached"] == pytest.approx(y[top].sum())
    axes = display.plot(kind="cases", x="places").ax_
    assert "places" in axes.get_xlabel()
    np.testing.assert_allclose(axes.lines[0].get_ydata(), table["cases_reached"])


def test_lists_at_capacity_by_hand():
    """Lists, ambiguity and discrepancy by rank are those of sorted people, against the best."""
    scores = np.random.default_rng(0).random((5, 30))
    on_list = np.zeros((5, 30))
    for row, model in zip(on_list, scores, strict=True):
        row[np.argsort(-model)[:6]] = 1
    table = pvf.capacity_lists(scores, 6)
    expected = np.select([on_list.all(axis=0), ~on_list.any(axis=0)], ["every", "none"], "some")
    assert table["lists"].tolist() == expected.tolist()
    losses = [3, 2, 1, 2, 3]
    assert pvf.ambiguity(scores, capacity=0.2) == (expected == "some").mean()
    differs = (on_list != on_list[2]).mean(axis=1).max()
    assert pvf.discrepancy(scores, capacity=6, losses=losses) == pytest.approx(differs)
    by_threshold = ((scores > 0.5) != (scores[2] > 0.5)).mean(axis=1).max()
    assert pvf.discrepancy(scores, losses=losses) == by_threshold
    assert pvf.discrepancy(scores, base=2) == by_threshold
