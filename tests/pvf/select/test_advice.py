"""The default rule: the study's own table, line by line, and what the tool makes of it."""

import json
from importlib.resources import files

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pvf.advice import FILE, advice, kind_of_pool
from pvf.select.choose import RULES, recommend, recommended_model, select
from pvf.select.read import load_own_data
from pvf.select.report import as_json, as_markdown
from studies.rules import RULES_STUDY
from studies.rules.advice import lines, write
from studies.rules.show import wall_table

QUICK = {"capacity": 0.2, "n_splits": 2, "n_sets": 10, "n_bootstraps": 50, "progress": False}


@pytest.fixture(scope="module")
def own_data(tmp_path_factory):
    """Write and load three columns of scikit-learn's breast-cancer data."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    frame = X.iloc[:200, :3].assign(diagnosis=np.where(y[:200] == 0, "malignant", "benign"))
    path = tmp_path_factory.mktemp("own") / "breast.csv"
    frame.to_csv(path, index=False)
    return load_own_data(path, "diagnosis")


@pytest.mark.parametrize(
    ("models", "kind"),
    [
        ([DecisionTreeClassifier(), DecisionTreeClassifier(max_depth=2)], "trees"),
        ([make_pipeline(StandardScaler(), LogisticRegression())], "logistic"),
        ([LogisticRegression(), DecisionTreeClassifier()], "mixed"),
        ([GaussianNB(), GaussianNB()], "mixed"),
    ],
)
def test_a_pool_is_of_the_kind_of_its_models(models, kind):
    """By the last step of each; any other learner, and any mixture, is mixed."""
    assert kind_of_pool(models) == kind


def test_the_library_holds_the_study_s_table(tmp_path):
    """The committed file is what the committed results give today."""
    committed = (files("pvf") / "templates" / FILE).read_text(encoding="utf-8")
    assert write(tmp_path).read_text(encoding="utf-8") == committed, (
        "python -m studies.rules.advice writes it anew"
    )


@pytest.mark.parametrize("capacity", [0.1, 0.3, 0.5])
def test_each_line_is_the_wall_s(capacity):
    """Pool and cases lead to the rule and the interval that chapter 11 prints."""
    wall = wall_table(RULES_STUDY.reference, f"IE@{capacity:g}")
    assert len(wall) == len(lines(RULES_STUDY.reference)) / 3
    cases = {"up to 3": 2, "4 to 7": 5.2, "8 or more": 40}
    for _, row in wall.iterrows():
        line = advice(row["pool"], capacity, cases[row["validated cases"]])
        assert line.advised == row["choose by"]
        told = f"{line.lead[0]:.2f} ({line.lead[1]:.2f} to {line.lead[2]:.2f})"
        assert told.replace("-", "−") == row["more than hold-out"]
        assert ("may be nothing" in str(line)) == (line.lead[1] <= 0)
        assert line.rule in RULES


@pytest.mark.parametrize("capacity", [0.01, 0.19, 0.2, 0.21, 0.45, 1.0])
@pytest.mark.parametrize("cases", [0, 3.5, 7.5, 1e9])
def test_any_capacity_and_number_has_a_line(capacity, cases):
    """The nearest capacity counts, of two equally near the smaller."""
    nearest = {0.01: 0.1, 0.19: 0.1, 0.2: 0.1, 0.21: 0.3, 0.45: 0.5, 1.0: 0.5}[capacity]
    line = advice("mixed", capacity, cases)
    assert (line.outcome, line.pool) == (f"IE@{nearest:g}", "mixed")


@pytest.mark.parametrize("pool", ["trees", "pairs"])
def test_the_recommendation_follows_the_line_and_says_so(own_data, pool):
    """By default the advised rule is followed, also in the judgement; another on request."""
    chosen = select(own_data, pool=pool, **QUICK)
    rule = chosen.advice.rule
    assert chosen.settings["rule"] == rule
    assert chosen.recommended == recommended_model(chosen.tied, rule)
    assert chosen.judged.loc["by score"].equals(chosen.judged.loc[rule])
    said = recommend(chosen).reasons
    assert any(str(chosen.advice) in reason for reason in said)
    assert str(chosen.advice) in json.loads(as_json(chosen))["recommendation"]["reasons"][3]
    other = next(name for name in RULES if name != rule)
    asked = select(own_data, pool=pool, rule=other, **QUICK)
    assert asked.recommended == recommended_model(asked.tied, other)
    assert asked.judged.loc["by score"].equals(asked.judged.loc[other])
    assert any("as was asked for" in reason for reason in recommend(asked).reasons)
    for one in (chosen, asked):  # the strength of PVF's noise may not be the one that is advised
        followed = next(r for r in recommend(one).reasons if r.startswith("The recommendation"))
        at_its_noise = f"follows PVF at σ = {one.settings['sigma']:g}" in followed
        assert at_its_noise == (one.settings["rule"] == "PVF")
    page = as_markdown(asked)
    assert asked.recommended in page
    assert page.count("the study of rules advises") == 1
    assert asked.recommendation is asked.recommendation  # it is made once


def test_a_pool_of_ones_own_gets_the_line_of_its_kind(own_data):
    """What the candidates are decides, whatever the pool is called."""
    pools = {"own_pool:stumps": "trees", "own_pool:small": "mixed", "pairs,trees": "mixed"}
    for pool, kind in pools.items():
        assert select(own_data, pool=pool, **QUICK).advice.pool == kind


def test_a_rule_that_is_none_is_refused(own_data):
    """The error names the argument, what it got and what it takes."""
    with pytest.raises(ValueError, match="rule must be one of"):
        select(own_data, capacity=0.2, rule="best", n_splits=2)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("forest", 0.1, 5), "pool"),
        (("trees", float("nan"), 5), "capacity"),
        (("trees", 7, 5), "capacity"),
        (("trees", 0.1, -1), "n_cases"),
    ],
)
def test_what_the_table_cannot_hold_is_refused(arguments, name):
    """Each argument is named."""
    with pytest.raises(ValueError, match=f"^{name} must"):
        advice(*arguments)
