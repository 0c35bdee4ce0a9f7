"""Rules for choosing a learner: each rule's score by hand, and summaries worked by hand."""

import numpy as np
import pandas as pd
import pytest
from imblearn.over_sampling import SMOTE
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

import pvf
from studies.pmv2019 import rules as comparison
from studies.pmv2019 import show

SETTINGS = comparison.RuleSettings(problems=("clusters 2.0",), n_repetitions=2)


@pytest.fixture(name="choices", scope="module")
def _choices():
    blocks = comparison.SIDE_BY_SIDE.blocks(SETTINGS)
    return pd.concat([comparison.rule_block(key, SETTINGS) for key in blocks], ignore_index=True)


def key_of(repetition, problem="clusters 2.0"):
    """Write out the keys of one data set."""
    spawn_key = (comparison.PROBLEMS.index(problem), repetition)
    return np.random.SeedSequence(20190524, spawn_key=spawn_key).spawn(4)


def test_every_rule_scores_every_candidate(choices):
    """Two data sets, two reruns, eight rules, ten pairs of features."""
    assert len(choices) == 2 * 2 * 8 * 10
    assert set(choices["rule"]) == set(comparison.RULES)
    assert choices.groupby("candidate")["truth"].all().sum() == 1
    assert choices.loc[choices["truth"], "candidate"].unique().tolist() == ["x1, x2"]


def test_scores_are_those_of_the_rules_done_by_hand(choices):
    """PMV, hold-out and PVF of one candidate, with the keys of its data set and rerun."""
    data_key, model_key, _, rerun_key = key_of(1)
    problem = comparison.make_problem("clusters 2.0", data_key)
    model = problem.candidates["x1, x2"]
    first, second = np.random.default_rng(model_key).integers(2**31, size=2).tolist()
    # alphabetical: the logistic regression's seed comes before SMOTE's
    model.set_params(logisticregression__random_state=first, smote__random_state=second)
    seed = int(rerun_key.generate_state(1)[0])
    rows = choices.query("repetition == 1 and rerun == 1 and candidate == 'x1, x2'")
    found = rows.set_index("rule")["score"]

    split = train_test_split(
        problem.X, problem.y, test_size=0.3, stratify=problem.y, random_state=seed
    )
    X_train, X_val, y_train, y_val = split
    fitted = model.fit(X_train, y_train)
    assert found["hold-out F1"] == f1_score(y_val, fitted.predict(X_val))
    perturbed = pvf.perturbation_validation(
        [fitted],
        X_val,
        y_val,
        perturbation=pvf.Perturbation(pvf.GaussianNoise(0.1)),
        scoring=pvf.intervention_efficiency_scorer(0.3),
        random_state=seed,
    )
    assert found["PVF IE"] == perturbed.aggregated[0]
    result = pvf.perturbed_model_validation(
        model, problem.X, problem.y, noise_levels=[0, 0.1, 0.2, 0.3, 0.4, 0.5], random_state=seed
    )
    assert found["PMV"] == result.decrease_rate


def test_candidates_are_smote_and_logistic_regression_on_a_pair(choices):
    """The outside score of (x1, x3) equals the two steps written out, on all of the data set."""
    data_key, model_key, *_ = key_of(0)
    problem = comparison.make_problem("clusters 2.0", data_key)
    # (x1, x3) is the second candidate and has the third and fourth seed
    seeds = np.random.default_rng(model_key).integers(2**31, size=4).tolist()
    pair = [0, 2]
    X, y = SMOTE(random_state=seeds[3]).fit_resample(problem.X[:, pair], problem.y)
    fitted = LogisticRegression().fit(X, y)
    expected = f1_score(problem.y_outside, fitted.predict(problem.X_outside[:, pair]))
    rows = choices.query("repetition == 0 and candidate == 'x1, x3'")
    assert rows["F1"].tolist() == pytest.approx([expected] * len(rows))


def test_clinical_data_are_parted_once():
    """A hundred rows to choose on and the 469 others outside, with the same share of cases."""
    problem = comparison.make_problem("breast-cancer", np.random.SeedSequence(1))
    assert (len(problem.X), len(problem.X_outside)) == (100, 469)
    assert problem.y.sum() == 37
    assert problem.y.sum() + problem.y_outside.sum() == 212
    assert problem.truth is None
    # standardised by the hundred: undone, both parts together are the whole data
    assert problem.X.mean(axis=0) == pytest.approx(0, abs=1e-9)
    assert problem.X.std(axis=0) == pytest.approx(1)
    whole = load_breast_cancer().data
    parts = np.vstack([problem.X, problem.X_outside])
    standard = (whole - whole.mean(axis=0)) / whole.std(axis=0)
    parts = (parts - parts.mean(axis=0)) / parts.std(axis=0)
    assert np.sort(parts, axis=0) == pytest.approx(np.sort(standard, axis=0), abs=1e-8)


def test_unknown_problems_are_named():
    """A problem that is not there ends in a ValueError that lists those that are."""
    with pytest.raises(ValueError, match=r"name must be one of .*got 'spirals'"):
        comparison.make_problem("spirals", np.random.SeedSequence(1))


def choice_rows(scores, *, truth="a", seconds=1.0):
    """Rows of one rule and one data set: scores by rerun and candidate."""
    outside = {"a": (0.9, 0.8, 2.0), "b": (0.7, 0.8, 1.0)}
    return pd.DataFrame(
        [
            ("moon", 0, "PMV", rerun, name, score, seconds, *outside[name], name == truth)
            for rerun, run in enumerate(scores)
            for name, score in zip("ab", run, strict=True)
        ],
        columns=[
            *("problem", "repetition", "rule", "rerun", "candidate", "score", "seconds"),
            *comparison.METRICS,
            "truth",
        ],
    )


@pytest.mark.parametrize(
    ("scores", "right", "stable", "regret_ie"),
    [
        ([[2, 1], [2, 1]], 1, 1, 0),
        ([[2, 1], [1, 2]], 0.5, 0, 0.5),
        ([[1, 1], [1, 1]], 0.5, 0.5, 0.5),
        ([[2, 1], [1, 1]], 0.75, 0.5, 0.25),
        ([[2, 1], [2, 1], [1, 2]], 2 / 3, 1 / 3, 1 / 3),
    ],
    ids=["same", "opposite", "ties", "one tie", "two of three"],
)
def test_rule_table_on_cases_worked_by_hand(scores, right, stable, regret_ie):
    """Ties are split; stable is the probability that two reruns choose the same."""
    table = comparison.rule_table(choice_rows(scores)).set_index("rule")
    row = table.loc["PMV"]
    assert row["right"] == pytest.approx(right)
    assert row["stable"] == pytest.approx(stable)
    assert row["regret IE"] == pytest.approx(regret_ie)
    assert row["regret F1"] == 0
    assert row["seconds"] == 2
    assert table.loc["any", ["right", "stable", "tied"]].tolist() == [0.5, 0.5, 2]


def test_a_known_truth_is_right_even_where_another_scores_better():
    """With b known to be right, choosing b is right although a does better outside."""
    table = comparison.rule_table(choice_rows([[1, 2], [1, 2]], truth="b")).set_index("rule")
    assert table.loc["PMV", "right"] == 1
    assert table.loc["PMV", "regret accuracy"] == pytest.approx(0.2)


def test_where_no_truth_is_known_near_the_best_is_right():
    """Without a known truth, the candidate within 0.01 of the best outside accuracy counts."""
    table = comparison.rule_table(choice_rows([[1, 2], [1, 2]], truth=None)).set_index("rule")
    assert table.loc["PMV", "right"] == 0
    wide = comparison.rule_table(choice_rows([[1, 2], [1, 2]], truth=None), near=0.2)
    assert wide.set_index("rule").loc["PMV", "right"] == 1


def test_regret_has_an_interval_over_data_sets():
    """Two data sets with regrets 0 and 0.2: mean 0.1 ± 12.7062 × 0.1 (Student's t, one degree)."""
    rows = pd.concat(
        [choice_rows([[2, 1], [2, 1]]), choice_rows([[1, 2], [1, 2]]).assign(repetition=1)]
    )
    row = comparison.rule_table(rows).set_index("rule").loc["PMV"]
    assert row["regret accuracy"] == pytest.approx(0.1)
    assert row["regret accuracy high"] == pytest.approx(0.1 + 1.27062)
    assert row["regret accuracy low"] == pytest.approx(0.1 - 1.27062)


def test_estimates_average_independent_problems():
    """Two problems with half width 0.1 have a mean with half width 0.1 / √2, by kind."""
    row = {"rule": "PMV", "stable": 0.5, "seconds": 1.0, "n": 20}
    for name in ("right", *(f"regret {metric}" for metric in comparison.METRICS)):
        row |= {name: 0.6, f"{name} low": 0.5, f"{name} high": 0.7}
    table = pd.DataFrame([row | {"problem": name} for name in ("moon", "linear", "breast-cancer")])
    estimates = comparison.rule_estimates(table)
    found = estimates.set_index(["problem", "quantity"])
    assert found.loc[("moon", "regret F1"), "low"] == 0.5
    assert found.loc[("moon", "stable"), "low"] == pytest.approx(0.299, abs=1e-3)  # Wilson's
    low = show.kind_means(estimates).set_index(["kind", "quantity"])["low"]
    assert low["synthetic", "right"] == pytest.approx(0.6 - 0.1 / np.sqrt(2))
    assert low["clinical", "right"] == pytest.approx(0.5)
