"""The model card: each number against its own computation, and each page against a parser."""

import dataclasses
import itertools
import json
import os
import re
import shutil
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from hypothesis import example, given
from hypothesis import strategies as st
from jinja2.utils import markupsafe
from playwright.sync_api import sync_playwright
from scipy.stats import beta
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import pvf
from pvf.render import as_fragment, environment, in_markdown
from studies.capacity2022 import card as card_example

PARTS = [
    "model",
    "data",
    "metric",
    "selection",
    "difference",
    "multiplicity",
    "performance",
    "limits",
]
SCORING = pvf.intervention_efficiency_scorer(0.3)
NOISE = pvf.Perturbation(pvf.GaussianNoise(0.2))
SMALL = {"n_sets": 20, "n_replicas": 3, "random_state": 5}


@pytest.fixture(scope="module")
def parts():
    """Return training, validation and external samples, all as frames with names of their own."""
    X, y = make_classification(400, 6, weights=[0.7], flip_y=0.1, random_state=2)
    X = pd.DataFrame(X, columns=list("abcdef"), index=[f"p{i}" for i in range(400)])
    return (X[:100], y[:100]), (X[100:150], y[100:150]), (X[150:], y[150:])


@pytest.fixture(scope="module")
def trees(parts):
    """Return twelve trees by name."""
    X, y = parts[0]
    return {
        f"t{seed}": DecisionTreeClassifier(max_depth=3, max_features=2, random_state=seed).fit(X, y)
        for seed in range(12)
    }


def select(trees, parts, scoring=SCORING, **arguments):
    """Select among trees on the validation samples."""
    return pvf.perturbation_validation(
        trees, *parts[1], perturbation=NOISE, scoring=scoring, **SMALL | arguments
    )


@pytest.fixture(scope="module")
def result(trees, parts):
    return select(trees, parts)


@pytest.fixture(scope="module")
def card(result, parts):
    """Return a card with all that can be in it."""
    X, y = parts[1]
    return pvf.model_card(
        result, X=X, y=y, scoring=SCORING, external=parts[2], epsilon=0.15, data_name="simulated"
    )


class Outline(HTMLParser):
    """Collects what a test asks about a page, and refuses tags that don't nest."""

    VOID = ("meta", "link", "br", "img", "input", "hr")

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes = [], [], []
        self.parts, self.text, self.cells = [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):  # noqa: D102
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag == "section":
            self.parts.append(dict(attrs)["data-part"])
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):  # noqa: D102
        assert self.open.pop() == tag

    def handle_data(self, data):  # noqa: D102
        if self.open and self.open[-1] != "style":
            self.text.append(data)
        if self.open and self.open[-1] in ("td", "dd"):
            self.cells.append(data)


# --- Numbers ------------------------------------------------------------------------------------


def entropy(p):
    """Entropy of a coin in bits."""
    p = np.clip(p, 1e-300, 1)
    q = np.clip(1 - p, 1e-300, 1)
    return -p * np.log2(p) - q * np.log2(q)


def two_class_capacity(scores):
    """Capacity of the channel from models to two classes, by searching the weight of the ends."""
    low, high = scores.min(), scores.max()
    w = np.linspace(0, 1, 20001)
    return 2 ** (entropy(low + w * (high - low)) - (1 - w) * entropy(low) - w * entropy(high)).max()


@pytest.mark.parametrize(("name", "part"), [("validation", 1), ("external", 2)])
def test_multiplicity_is_that_of_the_near_tied_candidates(card, result, parts, name, part):
    """Capacity, ambiguity, discrepancy and conflicts come again from scores taken one by one."""
    X, y = parts[part]
    members = [q for q, a in enumerate(result.aggregated) if a >= result.aggregated.max() - 0.15]
    assert 1 < len(members) < 12
    assert card.facts["set_size"] == len(members)
    scores = np.array([result.models[q].predict_proba(X)[:, 1] for q in members])
    capacity = np.array([two_class_capacity(column) for column in scores.T])
    assert card.facts[f"{name}_capacity_mean"] == pytest.approx(capacity.mean(), abs=1e-6)
    assert card.facts[f"{name}_capacity_max"] == pytest.approx(capacity.max(), abs=1e-6)
    worst = np.sort(capacity)[::-1][: int(np.ceil(0.05 * len(y)))]
    assert card.facts[f"{name}_capacity_tail"] == pytest.approx(worst.mean(), abs=1e-6)
    mine = result.best_model.predict_proba(X)[:, 1] > 0.5
    changed = (scores > 0.5) != mine
    assert card.facts[f"{name}_ambiguity"] == pytest.approx(changed.any(axis=0).mean())
    assert card.facts[f"{name}_discrepancy"] == pytest.approx(changed.mean(axis=1).max())
    conflict = np.array([len(set(column)) > 1 for column in (scores > 0.5).T])
    assert card.facts[f"{name}_conflicts"] == conflict.sum()
    assert card.facts[f"{name}_conflicts_cases"] == conflict[y == 1].sum()
    assert card.facts[f"{name}_conflicts_others"] == conflict[y == 0].sum()
    assert card.facts[f"{name}_capacity_mean_cases"] == pytest.approx(
        capacity[y == 1].mean(), abs=1e-6
    )
    top = X.index[np.argsort(-capacity.round(9), kind="stable")[0]]
    assert re.search(rf"^\| {top} \| {y[X.index.get_loc(top)]} \| ", card.to_markdown(), re.M)


def test_selection_and_its_difference_are_those_of_the_result(card, result, parts):
    """Ties, both choices and what they cost are read off the result by sorting."""
    facts = card.facts
    best = max(result.aggregated)
    tied = [n for n, a in zip(result.names, result.aggregated, strict=True) if best - a < 1e-9]
    assert facts["tied"] == tuple(tied)
    assert (facts["n_tied"], facts["selected"]) == (len(tied), tied[0])
    by_hand = [q for q, u in enumerate(result.unperturbed) if max(result.unperturbed) - u < 1e-9]
    assert facts["traditional"] == result.names[by_hand[0]]
    assert facts["n_tied_traditional"] == len(by_hand)
    assert facts["same_choice"] == (tied[0] == result.names[by_hand[0]])
    assert facts["score_gain"] == pytest.approx(best - result.aggregated[by_hand[0]])
    other = result.models[by_hand[0]]
    X = parts[2][0]
    pairs = zip(result.best_model.predict(X), other.predict(X), strict=True)
    differing = sum(a != b for a, b in pairs)
    assert facts["external_changed_predictions"] == differing
    assert facts["aggregate"] == "lower quartile"


def test_the_study_s_advice_is_the_line_of_such_a_pool_and_so_many_cases(trees, parts, result):
    """The committed line of trees at γ = 0.3, how sure it is, and whether it is followed."""
    lines = json.loads((files("pvf") / "templates" / "advice.json").read_text(encoding="utf-8"))
    (line,) = (
        one
        for one in lines
        if (one["pool"], one["capacity"], one["cases"]) == ("trees", 0.3, "8 or more")
    )
    X, y = parts[1]
    assert y.sum() >= 8
    text = pvf.model_card(result, X=X, y=y, scoring=SCORING).to_markdown()
    assert f"| Rule advised for such a pool | {line['advised']} |" in text
    assert f"({line['lead'][1]:+.2f} to {line['lead'][2]:+.2f})" in text
    assert ("which may be nothing" in text) == (line["lead"][1] <= 0)
    assert "PVF, which selects this model" in text
    other = result.names[int(np.argmin(result.aggregated))]
    worst = dataclasses.replace(result, best_index=result.names.index(other))
    text = pvf.model_card(worst, X=X, y=y, scoring=SCORING, epsilon=9).to_markdown()
    assert "PVF, which does not select this model" in text


def test_the_study_has_no_advice_where_too_little_is_known(trees, parts, result):
    """Without the samples, without a capacity, or without a choice the card names no rule."""
    X, y = parts[1]
    f1 = select(trees, parts, scoring="f1")
    alone = select({"only": trees["t1"]}, parts)
    for made in (
        pvf.model_card(result, scoring=SCORING),
        pvf.model_card(f1, X=X, y=y, scoring="f1"),
        pvf.model_card(alone, X=X, y=y, scoring=SCORING),
    ):
        assert made.details["advice"] is None
        assert "Rule advised" not in made.to_markdown()


def test_capacity_reaches_the_cases_that_a_plan_by_hand_reaches(card, result, parts):
    """Cases among those flagged, as far as the places reach, and the rest at random."""
    X, y = parts[2]
    flagged = result.best_model.predict(X) == 1
    places = 0.3 * len(y)
    tp, n = (flagged & (y == 1)).sum(), flagged.sum()
    reached = tp * places / n
    if n < places:
        reached = tp + (places - n) * (y.sum() - tp) / (len(y) - n)
    assert card.facts["external_reached_per_hundred"] == pytest.approx(100 * reached / len(y))
    assert card.facts["external_prevalence"] == pytest.approx(y.mean())
    assert card.facts["external_score"] == pytest.approx(card.facts["external_efficiency"])
    assert card.facts["capacity"] == 0.3


def test_interval_of_recall_is_jeffreys(trees, parts):
    """Where the metric is one proportion, its interval is that of the beta distribution."""
    result = select(trees, parts, "recall")
    X, y = parts[1]
    card = pvf.model_card(
        result, X=X, y=y, scoring="recall", n_resamples=200_000, external=parts[2]
    )
    hits = int((result.best_model.predict(X)[y == 1] == 1).sum())
    n = int(y.sum())
    low, high = beta.ppf([0.025, 0.975], hits + 0.5, n - hits + 0.5)
    assert card.facts["validation_score_low"] == pytest.approx(min(low, hits / n), abs=0.01)
    assert card.facts["validation_score_high"] == pytest.approx(max(high, hits / n), abs=0.01)


def test_interval_of_a_score_of_ranks_is_the_bootstraps(trees, parts):
    """For a metric that no counts give, the interval is the percentile bootstrap's."""
    result = select(trees, parts, "roc_auc")
    X, y = parts[1]
    card = pvf.model_card(result, X=X, y=y, scoring="roc_auc", n_resamples=250)
    rng = np.random.default_rng(0)
    score = result.best_model.predict_proba(X)[:, 1]
    groups = [np.flatnonzero(y == label) for label in (0, 1)]
    draws = [np.concatenate([rng.choice(g, len(g)) for g in groups]) for _ in range(400)]
    low, high = np.quantile([roc_auc_score(y[d], score[d]) for d in draws], [0.025, 0.975])
    assert card.facts["validation_score_low"] == pytest.approx(low, abs=0.04)
    assert card.facts["validation_score_high"] == pytest.approx(high, abs=0.04)
    assert "bootstrap" in card.to_markdown()


def test_gain_of_the_choice_over_itself_is_nil(trees, parts):
    """Where both criteria choose one model, their difference is certain to be 0."""
    only = {"t0": trees["t0"]}
    X, y = parts[1]
    card = pvf.model_card(
        select(only, parts), X=X, y=y, scoring=SCORING, external=parts[2], n_resamples=100
    )
    assert [card.facts[f"external_gain{end}"] for end in ("", "_low", "_high")] == [0, 0, 0]
    assert card.facts["set_size"] == 1
    assert "No other model to disagree with." in card.to_markdown()


def test_seed_makes_the_card(result, parts):
    """One seed gives one card, another gives other intervals and else the same."""
    X, y = parts[1]
    make = {"X": X, "y": y, "scoring": SCORING}
    first, again = (pvf.model_card(result, **make, random_state=3) for _ in range(2))
    other = pvf.model_card(result, **make, random_state=4)
    assert first.to_html() == again.to_html()
    assert first.facts != other.facts
    assert {k for k in first.facts if first.facts[k] != other.facts[k]} <= {
        f"validation_{what}_{end}" for what in ("score", "gain") for end in ("low", "high")
    } | {"n_within_interval"}


def test_missing_values_and_kinds_are_counted(parts):
    """Gaps are counted by cell and named by column; kinds are as given or told from types."""
    (X_train, y_train), (X, y), _ = parts
    X = X.copy()
    X.iloc[:3, 1] = np.nan
    X.iloc[0, 4] = np.nan
    models = [
        DecisionTreeClassifier(max_depth=d, random_state=0).fit(X_train, y_train) for d in (2, 3)
    ]
    result = pvf.perturbation_validation(
        models,
        X,
        y,
        perturbation=pvf.Perturbation({"a": pvf.GaussianNoise(0.1)}),
        scoring="f1",
        n_sets=5,
        random_state=0,
    )
    card = pvf.model_card(
        result, X=X, y=y, kinds=dict.fromkeys("abc", "numeric") | dict.fromkeys("def", "ordinal")
    )
    assert card.facts["validation_missing"] == 4
    page = card.to_markdown()
    assert "4 of 300 (1.3%), in b, e" in page
    assert "3 numeric, 3 ordinal" in page


# --- Limits -------------------------------------------------------------------------------------


def limits_of(card):
    """Return the last part of the Markdown page, without what it escapes."""
    part = card.to_markdown().split("## Limits")[1]
    return re.sub(r"\\(\W)", r"\1", part)


def test_limits_follow_from_the_data(card, result, parts):
    """Few cases, the interval's company and conflicts are told with their numbers."""
    said = limits_of(card)
    n = int(parts[1][1].sum())
    assert f"The validation data hold {n} cases" in said
    low, high = card.facts["validation_score_low"], card.facts["validation_score_high"]
    others = np.delete(result.unperturbed, result.best_index)
    inside = sum(low <= score <= high for score in others)
    assert f"holds the scores of {inside} of the 11 other" in said
    assert f"For {card.facts['external_conflicts']} of 250 external samples" in said
    assert "not tested" not in said


def test_untested_model_is_said_to_be_untested(result, parts):
    """Without external samples the card says so; stated numbers are marked as stated."""
    X, y = parts[1]
    assert "not tested on new samples" in limits_of(pvf.model_card(result, X=X, y=y))
    stated = pvf.model_card(result, external={"AUC in Ulm": 0.81}, limits=["Adults only."])
    assert "stated by the author" in limits_of(stated)
    assert "Adults only. (as stated)" in limits_of(stated)
    assert "AUC in Ulm (as stated) | 0.81" in stated.to_markdown()


def test_ties_are_a_limit(trees, parts):
    """Twins tie, and the card says that the rule decided."""
    twins = {"a": trees["t3"], "b": trees["t3"]}
    card = pvf.model_card(select(twins, parts, tie_break="last"))
    assert (card.facts["n_tied"], card.facts["selected"]) == (2, "b")
    assert "2 of 2 candidates share the best PVF score" in limits_of(card)
    assert "(last)" in limits_of(card)


def test_a_selected_model_outside_the_rashomon_set_is_compared_with_it(result, parts):
    """The card says that it is not among these, and counts from its own decisions."""
    X, y = parts[1]
    worst = int(np.argmin(result.aggregated))
    outside = dataclasses.replace(result, best_index=worst)
    card = pvf.model_card(outside, X=X, y=y, scoring=SCORING, epsilon=0.15)
    members = np.flatnonzero(result.aggregated >= result.aggregated.max() - 0.15)
    assert 1 < len(members) == card.facts["set_size"]
    assert worst not in members
    mine = result.models[worst].predict(X)
    changed = np.array([result.models[q].predict(X) for q in members]) != mine
    assert card.facts["validation_ambiguity"] == pytest.approx(changed.any(axis=0).mean())
    assert card.facts["validation_discrepancy"] == pytest.approx(changed.mean(axis=1).max())
    text = "| Selected model among these | no: its PVF score is lower"
    assert f"{text}; decisions of the set's models" in card.to_markdown()
    assert f"{text} |" in pvf.model_card(outside, epsilon=0).to_markdown()
    assert "Selected model among these" not in pvf.model_card(result).to_markdown()


def test_a_candidate_of_minus_infinite_score_is_outside(trees, parts):
    """The card is that of the others: the same set, aggregate and best score."""
    able = {name: trees[name] for name in ("t1", "t2", "t3")}

    def scoring(model, X, y):
        lost = getattr(model, "_model", model) is trees["t4"]
        return -np.inf if lost else SCORING(model, X, y)

    with_lost, without = (
        pvf.model_card(select(models, parts, scoring), epsilon=1.0)
        for models in (able | {"t4": trees["t4"]}, able)
    )
    for fact in ("selected", "set_size", "aggregate", "best_score", "tied"):
        assert with_lost.facts[fact] == without.facts[fact]
    assert with_lost.facts["aggregate"] == "lower quartile"
    with pytest.raises(ValueError, match="result must have a best score that is finite"):
        pvf.model_card(select({"t4": trees["t4"]}, parts, scoring))


def test_many_cases_are_no_limit(trees, parts):
    """With a hundred cases or more, their number is not called small."""
    X, y = make_classification(400, 6, random_state=2)
    many = (parts[0], (X, y))
    models = [DecisionTreeClassifier(max_depth=2).fit(X, y)]
    card = pvf.model_card(select(models, many), X=X, y=y, scoring=SCORING, external=(X, y))
    assert "fewer than" not in limits_of(card)


# --- Other kinds of problem ---------------------------------------------------------------------


def test_three_classes_have_a_card():
    """Class shares stand in for prevalence, and capacity is that of three classes."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = X[order], np.array(["a", "b", "c"])[y[order]]
    models = [
        DecisionTreeClassifier(max_depth=2, max_features=1, random_state=s).fit(X[:60], y[:60])
        for s in range(6)
    ]
    result = pvf.perturbation_validation(
        models, X[60:], y[60:], perturbation=NOISE, scoring="accuracy", **SMALL
    )
    card = pvf.model_card(
        result, X=X[60:], y=y[60:], scoring="accuracy", epsilon=1.0, n_resamples=100
    )
    scores = np.array([model.predict_proba(X[60:]) for model in models])
    assert card.facts["validation_capacity_mean"] == pytest.approx(
        pvf.rashomon_capacity(scores).mean()
    )
    assert f"class b | {(y[60:] == 'b').sum()} of 90" in card.to_markdown()
    assert "validation_prevalence" not in card.facts


def test_decisions_stand_in_where_a_candidate_has_no_probabilities(trees, parts):
    """One support vector machine among the candidates makes all scores decisions."""
    X, y = parts[1]
    mixed = {**trees, "svm": make_pipeline(StandardScaler(), LinearSVC()).fit(*parts[0])}
    result = select(mixed, parts)
    card = pvf.model_card(result, X=X, y=y, epsilon=5.0)
    decided = np.array([model.predict(X) for model in mixed.values()])
    conflict = decided.min(axis=0) != decided.max(axis=0)
    assert card.facts["validation_conflicts"] == conflict.sum()
    assert card.facts["validation_capacity_mean"] == pytest.approx(1 + conflict.mean())
    assert "decisions, since some candidate gives no probabilities" in card.to_markdown()


def test_label_of_the_case_is_the_scorings(trees, parts):
    """Text labels and a scorer's pos_label say who is a case."""
    (X_train, y_train), (X, y), _ = parts
    words = np.array(["sick", "well"])
    models = [LogisticRegression(C=c).fit(X_train, words[y_train]) for c in (0.1, 1, 10)]
    scoring = pvf.intervention_efficiency_scorer(0.2, pos_label="sick")
    result = pvf.perturbation_validation(
        models, X, words[y], perturbation=NOISE, scoring=scoring, **SMALL
    )
    card = pvf.model_card(result, X=X, y=words[y], scoring=scoring, epsilon=5.0)
    assert card.facts["validation_cases"] == (y == 0).sum()
    scores = [model.predict_proba(X)[:, 0] for model in models]
    assert card.facts["validation_capacity_mean"] == pytest.approx(
        pvf.rashomon_capacity(scores).mean()
    )
    turned = pvf.model_card(result, X=X, y=words[y], pos_label="well")
    assert turned.facts["validation_cases"] == (y == 1).sum()


def test_regression_has_a_card_without_multiplicity():
    """Without classes the card says why it has no multiplicity."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X.sum(axis=1) + rng.normal(size=60)
    result = pvf.perturbation_validation(
        [LinearRegression().fit(X[:30], y[:30])],
        X[30:],
        y[30:],
        perturbation=NOISE,
        scoring="r2",
        **SMALL,
    )
    card = pvf.model_card(result, X=X[30:], y=y[30:], scoring="r2", n_resamples=100)
    assert "needs the samples and candidates with classes" in card.to_markdown()
    assert card.facts["validation_score"] == pytest.approx(result.unperturbed[0])
    assert card.facts["validation_score_low"] < card.facts["validation_score_high"]


# --- Pages --------------------------------------------------------------------------------------


def test_page_holds_every_section_and_no_other_host(card):
    """The page nests, has each part once, one main heading, and refers to nothing outside."""
    page = card.to_html()
    outline = Outline(page)
    assert outline.parts == PARTS
    assert outline.tags.count("h1") == 1
    assert outline.tags.count("h2") == len(PARTS)
    assert ("html", "lang", "en") in outline.attributes
    assert ("meta", "name", "viewport") in outline.attributes
    assert not {"script", "link", "img", "iframe", "a"} & set(outline.tags)
    assert not re.search(r"url\(|@import|//", page)
    assert "prefers-color-scheme: dark" in page
    n_tables = outline.tags.count("table")
    assert n_tables == outline.tags.count("caption") > 5
    assert sum(a == ("div", "tabindex", "0") for a in outline.attributes) == n_tables


def test_markdown_and_page_show_the_same_values(card):
    """Every cell of the page stands in the Markdown, and the other way round."""
    cells = [cell.strip() for cell in Outline(card.to_html()).cells]
    rows = [line for line in card.to_markdown().splitlines() if line.startswith("| ")]
    markdown = [cell.strip() for row in rows for cell in row.strip("| ").split(" | ")[1:]]
    heads = {"value", "validation", "external", "---"}
    shown = [cell for cell in markdown if cell not in heads]
    assert set(cells) <= {cell.replace("\\", "") for cell in shown}
    assert len(cells) > 60


def test_notebook_fragment_has_no_style_for_the_page_around_it(card):
    """Each rule of the fragment is bound to the card, and its headings are below the page's."""
    fragment = card._repr_html_()
    outline = Outline(fragment)
    assert outline.parts == PARTS
    assert not {"h1", "h2", "html", "body"} & set(outline.tags)
    style = re.search(r"<style>(.*?)</style>", fragment, re.S)[1]
    selectors = re.findall(r"([^{}]+)\{", style)
    assert selectors
    for selector in selectors:
        assert all(".pvf-card" in part or "@media" in part for part in selector.split(","))


COMMITTED = Path(__file__).resolve().parents[2] / "book" / "_static"
HOSTILE = "<script>alert('&')</script> | **b** [x](javascript:1) `c` $d$ {raw}`e`\n# f \x07"


def test_hostile_names_are_shown_as_they_are(trees, parts):
    """Names of models, data, columns, rows and labels become text, never markup."""
    X, y = parts[1]
    nasty = X.set_axis([HOSTILE + str(i) for i in range(len(X))]).set_axis(
        [HOSTILE + c for c in X.columns], axis=1
    )
    (X_train, y_train) = parts[0]
    models = {
        HOSTILE + str(s): DecisionTreeClassifier(max_depth=2, max_features=1, random_state=s).fit(
            X_train.set_axis(nasty.columns, axis=1), y_train
        )
        for s in range(4)
    }
    result = pvf.perturbation_validation(
        models, nasty, y, perturbation=NOISE, scoring=SCORING, **SMALL
    )
    card = pvf.model_card(
        result,
        X=nasty,
        y=y,
        scoring=SCORING,
        epsilon=5.0,
        title=HOSTILE,
        data_name=HOSTILE,
        intended_use=HOSTILE,
        data={HOSTILE: HOSTILE},
        limits=[HOSTILE],
        metric=HOSTILE,
        unit=HOSTILE,
        external={HOSTILE: HOSTILE},
        kinds=dict.fromkeys(nasty.columns, HOSTILE),
    )
    shown = " ".join("".join(c if c.isprintable() else " " for c in HOSTILE).split())
    outline = Outline(card.to_html())
    assert not {"script", "a", "b"} & set(outline.tags)
    assert sum(shown in text for text in outline.text) > 15
    assert not {"script", "a", "b"} & set(Outline(card._repr_html_()).tags)
    markdown_it = pytest.importorskip("markdown_it")
    parser = markdown_it.MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = [
        t for token in parser.parse(card.to_markdown()) for t in [token, *(token.children or [])]
    ]
    kinds = {token.type for token in tokens}
    assert not kinds & {
        "html_block",
        "html_inline",
        "link_open",
        "strong_open",
        "code_inline",
        "em_open",
    }
    assert sum(token.type == "heading_open" for token in tokens) == 1 + len(PARTS)
    cells = {token.content for token in tokens if token.type == "text"}
    assert sum(shown in cell for cell in cells) > 0
    in_rows = [t.content for t in tokens if t.type == "inline"]
    assert shown in {re.sub(r"\\([^\w\s])", r"\1", text) for text in in_rows}


PIECES = """{% import pieces as page %}
{% call page.paragraph() %}{{ text }}{% endcall %}
{% call page.facts() %}{{ page.fact(text, text) }}{% endcall %}
{% call(cell) page.table("t", [text, text], [[text, text]]) %}{% endcall %}"""


@given(st.text(max_size=30))
@example("1. a")
@example("- a")
@example("---")
@example("===")
@example("+ a")
@example("www.example.org")
@example("::: note")
@example("\\")
@example("a\u2028b")
def test_any_text_survives_markdown_and_html(text):
    """What a parser reads back from either page is the text, with its white space made plain."""
    expected = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    markdown_it = pytest.importorskip("markdown_it")
    parser = markdown_it.MarkdownIt("commonmark").enable("table")
    page = environment("markdown").from_string(PIECES).render(text=text)
    texts = [
        "".join(child.content for child in token.children)
        for token in parser.parse(re.sub(r"\n\s*\n", "\n\n", page))
        if token.type == "inline"
    ]
    seen = [expected] if expected else []
    assert texts == [*seen, "item", "value", expected, expected, "t:", *[expected] * 4]
    said = {"headline": text, "reasons": [text, text], "model_in_words": [text], "caveats": [text]}
    page = as_fragment("recommendation.j2", said)
    shown = [part.strip() for part in Outline(page).text if part.strip()]
    assert shown == [*seen * 3, "The model in words:", *seen, "Caveats:", *seen]
    assert "\n" not in in_markdown(text)


def test_text_that_calls_itself_safe_is_escaped_all_the_same():
    """A text of a class that Jinja trusts is shown as it is, wherever it stands in the facts."""
    text = markupsafe.Markup("<b>a</b>")
    said = {"headline": text, "reasons": [text], "model_in_words": (), "caveats": ()}
    page = as_fragment("recommendation.j2", said)
    assert "b" not in Outline(page).tags
    assert Outline(page).text.count("<b>a</b>") == 2


# --- Files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".md", ".html", ".HTML"])
def test_saved_file_is_the_page(card, tmp_path, suffix):
    """The suffix says what is written; an old file is replaced and nothing else is left."""
    path = tmp_path / f"card{suffix}"
    path.write_text("old", encoding="utf-8")
    assert card.save(str(path)) == path
    expected = card.to_markdown() if suffix == ".md" else card.to_html()
    assert path.read_bytes() == expected.encode()
    assert list(tmp_path.iterdir()) == [path]


def test_failed_write_leaves_the_old_file(card, tmp_path, monkeypatch):
    """Where the last step fails, the old file stays whole and no other is left."""
    path = tmp_path / "card.md"
    path.write_text("old", encoding="utf-8")

    def fail(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        card.save(path)
    assert path.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["card.md"]  # noqa: PTH208


def test_other_suffix_is_refused(card, tmp_path):
    """A name that ends otherwise is refused before anything is written."""
    with pytest.raises(ValueError, match=r"\.md or \.html, got 'card\.pdf'"):
        card.save(tmp_path / "card.pdf")
    assert not list(tmp_path.iterdir())


# --- Errors -------------------------------------------------------------------------------------


def wrong_labels(y):
    return np.where(np.arange(len(y)) == 0, 7, y)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        pytest.param({"result": 3}, TypeError, "result must be", id="result"),
        pytest.param({"y": None}, ValueError, "X without y", id="no-y"),
        pytest.param({"X": None}, ValueError, "y without X", id="no-X"),
        pytest.param({"scoring": "f1"}, ValueError, "those of the result", id="other-scoring"),
        pytest.param({"capacity": 0.5}, ValueError, "that of scoring, 0.3", id="capacity"),
        pytest.param({"capacity": 0.0}, ValueError, "capacity must", id="no-capacity"),
        pytest.param({"external": 0.8}, TypeError, "external must be a pair", id="external"),
        pytest.param(
            {"scoring": None, "external": "pair"}, ValueError, "need scoring", id="unscored"
        ),
        pytest.param({"external": "labels"}, ValueError, "got 7", id="labels"),
        pytest.param({"pos_label": 4}, ValueError, "pos_label must be one of", id="pos-label"),
        pytest.param({"kinds": {"a": "numeric"}}, ValueError, "in order", id="kinds"),
        pytest.param({"data": "text"}, TypeError, "data must be a mapping", id="data"),
        pytest.param({"limits": "one"}, TypeError, "limits must be", id="limits"),
        pytest.param({"title": ""}, TypeError, "title must be", id="title"),
        pytest.param({"epsilon": -1}, ValueError, "epsilon must", id="epsilon"),
        pytest.param({"confidence_level": 1}, ValueError, "confidence_level", id="level"),
        pytest.param({"n_resamples": 5}, ValueError, "n_resamples", id="resamples"),
        pytest.param({"n_contested": -1}, ValueError, "n_contested", id="contested"),
    ],
)
def test_wrong_argument_is_named(result, parts, arguments, error, message):
    """Each wrong argument raises an error that names it."""
    X, y = parts[1]
    given_ = {"result": result, "X": X, "y": y, "scoring": SCORING} | arguments
    if given_.get("external") == "pair":
        given_["external"] = parts[2]
    if given_.get("external") == "labels":
        given_["external"] = (parts[2][0], wrong_labels(parts[2][1]))
    with pytest.raises(error, match=message):
        pvf.model_card(given_.pop("result"), **given_)


def test_other_samples_than_the_results_are_refused(result, parts):
    """Training samples in place of the validation samples are found out by their scores."""
    X, y = parts[0]
    with pytest.raises(ValueError, match="X, y and scoring must be those of the result"):
        pvf.model_card(result, X=X, y=y, scoring=SCORING)


def test_names_can_be_kept_from_the_card(result, parts):
    """n_contested=0 lists nobody."""
    X, y = parts[1]
    page = pvf.model_card(result, X=X, y=y, n_contested=0, epsilon=1.0).to_markdown()
    assert "most contested" not in page
    assert not any(name in page for name in X.index)


# --- The committed example ----------------------------------------------------------------------


def test_committed_example_comes_out_again(tmp_path):
    """The committed card is what the function writes today."""
    written = card_example.write_example(tmp_path)
    assert [path.name for path in written] == list(card_example.FILES)
    for path in written:
        assert path.read_bytes() == (COMMITTED / path.name).read_bytes(), (
            f"{path.name} differs: python -m studies.capacity2022.card writes it anew"
        )


def test_committed_example_is_of_the_experiments_first_split():
    """Its traditional ties are those that the experiment counts in its first split."""
    from studies.pvf2026.clinical import run as clinical  # noqa: PLC0415

    card = card_example.breast_cancer_card(n_candidates=20)
    table = clinical.run_experiment(sigmas=[0.3], n_candidates=20, n_sets=2)
    first = table[(table["subset"] == 0) & (table["split"] == 0) & (table["metric"] == "IE@0.1")]
    assert set(first["n_tied_traditional"]) == {card.facts["n_tied_traditional"]}
    first = first[first["tie_break"] == "first"]
    facts = card.facts
    traditional = facts["external_score"] - facts["external_gain"]
    assert first["external_traditional"].item() == pytest.approx(traditional)
    assert first["external_best"].item() == pytest.approx(facts["external_score_best"])


def test_pages_of_all_combinations_hold_every_section(result, parts):
    """Whatever is left out, each part is there."""
    X, y = parts[1]
    choices = [{}, {"X": X, "y": y}], [{}, {"scoring": SCORING}], [{}, {"capacity": 0.3}]
    for combination in itertools.product(*choices):
        arguments = {name: value for chosen in combination for name, value in chosen.items()}
        assert Outline(pvf.model_card(result, **arguments).to_html()).parts == PARTS


# --- In a browser -------------------------------------------------------------------------------

CONTRASTS = """() => {
    const style = getComputedStyle(document.body);
    return [style.color, style.backgroundColor];
}"""


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_page_is_readable_in_a_browser(width, theme):
    """On a phone and a desk, light and dark: no sideways scroll, no request, no finding of axe."""
    executable = next(
        filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None
    )
    if executable is None:
        pytest.skip("no Chromium or Chrome on PATH")
    page_file = COMMITTED / "model_card_breast_cancer.html"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(
            viewport={"width": width, "height": 740}, color_scheme=theme, offline=True
        )
        requests = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(page_file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        colours = page.evaluate(CONTRASTS)
        findings = Axe().run(page).response["violations"]
        browser.close()
    assert requests == [page_file.as_uri()]
    assert [finding["id"] for finding in findings] == []
    text, background = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
    assert (text > background) == (theme == "dark")
