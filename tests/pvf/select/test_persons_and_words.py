"""Rows of one person, numbers in disguise, and sentences against the numbers that they tell."""

import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from pvf import render
from pvf.select import report
from pvf.select.candidates import cut_off, encoder, model_in_words, worked_person
from pvf.select.choose import recommend, select
from pvf.select.columns import feature_frame, guess_columns
from pvf.select.read import load_own_data, read_csv_table
from pvf.select.sentences import TableError
from pvf.select.splits import split


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    """Write 80 persons with three rows each, whose columns say nothing about the outcome."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(80), 3)
    values = rng.normal(size=(80, 3))[person] + rng.normal(0, 0.01, (240, 3))
    frame = pd.DataFrame(values.round(3), columns=list("abc"))
    frame.insert(0, "PatientID", 7 * person + 1000)
    frame["died"] = np.where(rng.random(80) < 0.3, "yes", "no")[person]
    path = tmp_path_factory.mktemp("noise") / "noise.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def selection(noise):
    """Select on it."""
    return select(
        load_own_data(noise, "died"), capacity=0.2, n_sets=10, n_splits=4, n_bootstraps=200
    )


def test_persons_are_found_by_name_and_stay_on_one_side(noise):
    """No person is in two parts, and validation and test have one row of each."""
    data = load_own_data(noise, "died")
    assert (data.group, data.n_persons, len(data.y)) == ("PatientID", 80, 240)
    for seed in range(5):
        parts = split(data.y, persons=data.persons, seed=seed)
        who = [data.persons[rows] for rows in (parts.train, parts.validation, parts.test)]
        assert sum(len(set(part)) for part in who) == len(set(np.concatenate(who))) == 80
        assert all(len(set(part)) == len(part) for part in who[1:])


def test_noise_with_repeated_persons_is_not_recommended(selection, noise):
    """By person it is chance; counted by row, a caution forbids what the numbers would say."""
    assert selection.judged.loc["by score", "low"] <= 1
    assert not recommend(selection).usable
    by_row = load_own_data(noise, "died", group="none")
    assert by_row.warnings[0].rank == 0
    assert "--group PatientID" in by_row.cautions[0]


@pytest.fixture
def villages(tmp_path):
    """Write 40 villages with five persons each; in twelve of them all have the outcome."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"village": np.repeat(rng.permutation(500)[:40], 5)})
    frame["age"] = rng.normal(50, 9, 200).round(6)
    frame["died"] = ["yes"] * 60 + ["no"] * 140
    path = tmp_path / "villages.csv"
    frame.to_csv(path, index=False)
    return path


def test_villages_hold_persons_and_are_none(villages):
    """Each row stays a person; that neighbours are alike weakens, and an option keeps them."""
    data = load_own_data(villages, "died")
    assert (data.group, data.n_persons, data.n_cases) == ("", 200, 60)
    assert [column.name for column in data.features] == ["age"]
    (caution,) = data.warnings
    assert caution.weight == "weakens"
    assert "'village' has 40 values in 200 rows" in caution.text
    kept = load_own_data(villages, "died", group="village")
    assert (kept.group, kept.n_persons, kept.n_cases) == ("village", 40, 12)
    assert kept.warnings[0].weight == "informs"


@pytest.mark.parametrize(
    "name",
    ["household_id", "FamilyID", "Cluster", "hhid", "villnum", "school no", "ZIP", "postcode"],
)
def test_other_clusters_hold_persons_too(villages, name):
    """Other names of them are known; a person in a household is a person."""
    table = villages.read_text().replace("village", name, 1)
    villages.write_text(re.sub(r"^(\d+),", r"Q\1x,", table, flags=re.MULTILINE))
    data = load_own_data(villages, "died")
    assert (data.group, data.columns[0].why) == ("", "named like an identifier")
    villages.write_text(table)
    assert load_own_data(villages, "died").group == ""
    villages.write_text(table.replace(name, "household_member_id", 1))
    assert load_own_data(villages, "died").group == "household_member_id"


def test_sentences_tell_the_numbers(selection):
    """Every number of the first sentences stands in the table of judgements."""
    said, judged = recommend(selection), selection.judged
    numbers = {f"{value:.2f}" for value in judged.to_numpy().ravel()}
    told = re.findall(r"\d+\.\d\d", said.reasons[0])
    assert len(told) >= 8
    assert set(told) <= numbers
    leading = f"chosen in {selection.chosen_in(said.model)} of 4 splits"
    assert leading in said.headline
    assert f"'{said.model}'" in said.headline


@pytest.mark.parametrize("low", [0.9, 1.0, 1.01])
@pytest.mark.parametrize("gain", [-0.1, 0.0, 0.1])
@pytest.mark.parametrize("times", [1, 2, 4])
def test_use_is_said_only_where_nothing_speaks_against_it(selection, low, gain, times):
    """Better than chance and than one column, and chosen in half of the splits."""
    judged, differences = selection.judged.copy(), selection.differences.copy()
    judged.loc["by score", "low"] = low
    differences.loc["by score − simplest", "low"] = gain
    chosen = [selection.recommended] * times + ["another"] * (4 - times)
    choices = selection.choices.assign(PVF=chosen)
    made = dataclasses.replace(selection, judged=judged, differences=differences, choices=choices)
    assert recommend(made).usable == (low > 1 and gain > 0 and times >= 2)
    assert recommend(made).headline.startswith("Use") == recommend(made).usable


def test_json_report_and_card_say_the_same(selection):
    """All are read from the one selection."""
    found = json.loads(report.as_json(selection))
    assert found["recommendation"]["headline"] == recommend(selection).headline
    efficiency = f"{found['judged']['by score']['IE']:.2f}"
    assert efficiency in report.card(selection).to_markdown()
    assert efficiency in report.as_markdown(selection)
    assert found["data"]["persons"] == 80


def test_tree_and_coefficients_in_words_compute_what_the_model_does():
    """The sum that is told, worked by hand, has the sign of the model's label."""
    rng = np.random.default_rng(1)
    text = pd.DataFrame(
        {
            "weight": [f"{v:.1f} kg" for v in rng.normal(70, 9, 80)],
            "x": rng.normal(size=80).round(2),
        }
    ).astype(str)
    columns = guess_columns(text)
    X = feature_frame(text, columns)
    y = (X["weight"] + 9 * X["x"] > 70).astype(int).to_numpy()
    from pvf.select.candidates import logistic_pairs  # noqa: PLC0415

    model = next(iter(logistic_pairs(columns, X, y).values())).fit(X, y)
    told = " ".join(model_in_words(model))
    assert "× weight (kg)" in told
    constant, a, b = (float(n) for n in re.findall(r"[+-]\d[\d.e-]*", told)[:3])
    by_hand = constant + a * X["weight"] + b * X["x"] > 0
    assert (by_hand == (model.predict(X) == 1)).mean() > 0.97
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415

    stump = make_pipeline(encoder(columns, scale=False), DecisionTreeClassifier(max_depth=1))
    told = " ".join(model_in_words(stump.fit(X, y)))
    assert "at most" in told
    assert "do not flag" in told


@pytest.mark.parametrize(
    ("cells", "censored", "number"),
    [
        (["45%", "50%", "61.5%"], "limit", [45, 50, 61.5]),
        (["72 kg", "80kg", "61,5 kg"], "limit", [72, 80, 61.5]),
        (["$500", "$1,250.50", "$7"], "limit", [500, 1250.5, 7]),
        (["123 456", "7 000", "12"], "limit", [123456, 7000, 12]),
        (["123'456", "7’000", "1\u00a0200"], "limit", [123456, 7000, 1200]),
        (["\u22121.5", "2.5", "3.5"], "limit", [-1.5, 2.5, 3.5]),
        ([">90", "15.5", "60", "71"], "half", [90, 15.5, 60, 71]),
        (["<0.01", "0.2", "0.3", "0.4"], "limit", [0.01, 0.2, 0.3, 0.4]),
        (["<0.01", "0.2", "0.3", "0.4"], "half", [0.005, 0.2, 0.3, 0.4]),
        (["<0,01", "0,2", "0,3", "0,4"], "sqrt2", [0.01 / 2**0.5, 0.2, 0.3, 0.4]),
    ],
)
def test_numbers_in_disguise_are_read(cells, censored, number):
    """Units, currencies, gaps, minus signs and limits."""
    frame = pd.DataFrame({"x": cells})
    kinds = {"x": "numeric"}
    column = guess_columns(frame, kinds=kinds, censored=censored)
    assert feature_frame(frame, column)["x"].tolist() == pytest.approx(number)


def test_different_units_are_refused_by_name():
    """A pound is no kilogram, and nothing is no kilogram either."""
    for cells in (["72 kg", "150 lb", "80 kg"], ["72 kg", "80", "81 kg"]):
        with pytest.raises(TableError, match=r"Column 'x' holds .*--drop x"):
            guess_columns(pd.DataFrame({"x": cells}))


def test_all_faults_are_listed_at_once():
    """Two columns, two lines."""
    frame = pd.DataFrame({"x": ["72 kg", "150 lb", "80 kg"], "y": ["1.5", "inf", "2"]})
    with pytest.raises(TableError, match=r"2 faults:\n\(1\) Column 'x'.*\n\(2\) Column 'y'"):
        guess_columns(frame)


def test_spellings_of_missing_can_be_said(tmp_path):
    """By default a minus beside a plus is a level; what is said replaces the usual spellings."""
    path = tmp_path / "rh.csv"
    path.write_text("rh,x\n+,1\n-,NA\n+,2\n-,3\n", encoding="utf-8")
    assert read_csv_table(path).frame["rh"].notna().all()
    assert read_csv_table(path, missing=["-"]).frame["rh"].isna().sum() == 2
    assert read_csv_table(path, missing_spellings=["?"]).frame["x"].notna().all()


@pytest.mark.parametrize(("given", "n_cases"), [(0, 60), (False, 60), ("0", 60), (1, 20)])
def test_positive_of_any_type_is_the_case(tmp_path, given, n_cases):
    """What papermill makes of 0 and no is the value and not its absence."""
    path = tmp_path / "t.csv"
    rows = [f"{i / 7:.3f},{int(i % 4 == 0)}" for i in range(80)]
    path.write_text("x,died\n" + "\n".join(rows), encoding="utf-8")
    assert load_own_data(path, "died", positive=given).y.sum() == n_cases


def test_parts_count_persons_and_pages_weigh_caveats(selection):
    """The three parts are 80 persons, and each caveat says what it does to the recommendation."""
    table = report.parts_table(selection)
    assert table["patients"].astype(float).sum() == selection.data.n_persons == 80
    page = report.as_markdown(selection)
    for caveat in selection.recommendation.ranked_caveats:
        assert f"- {render.in_markdown(caveat)}\n" in page


def test_one_column_that_is_better_alone_is_told(selection):
    """Where the whole interval of the difference is below zero, a caveat says so."""
    differences = selection.differences.copy()
    for high, told in ((-0.1, True), (0.0, False)):
        differences.loc["by score − simplest", "high"] = high
        made = dataclasses.replace(selection, differences=differences)
        assert any("alone reaches more" in text for text in recommend(made).caveats) == told


def test_items_of_guidelines_are_filled_from_the_selection_or_left_open(selection):
    """No item is empty on both sides, and its sentences are those of the recommendation."""
    table, said = report.reporting_table(selection), recommend(selection)
    known, people = table.iloc[:, 0], table.iloc[:, 1]
    assert (known.astype(bool) | people.astype(bool)).all()
    assert not known.str.contains("[{}]").any()
    assert f"80 patients, {selection.data.n_cases} cases" in known["TRIPOD+AI 10 Sample size"]
    assert known["TRIPOD+AI 23a Performance"] == said.reasons[0]
    assert known["TRIPOD+AI 25 Interpretation"] == said.headline
    assert known["TRIPOD+AI 12d Clusters"].startswith("By PatientID")
    assert known["TRIPOD+AI 5b Dates"] == ""
    assert "TRIPOD+AI 14 Fairness" in report.as_markdown(selection)


@pytest.fixture(scope="module")
def ranked():
    """Make a tree that asks for a rank of words, with its table, columns and outcome."""
    frame = pd.DataFrame({"pain": ["mild", "moderate", "severe", None] * 10})
    columns = guess_columns(frame)
    X, y = feature_frame(frame, columns), np.array([0, 0, 1, 0] * 10)
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    return make_pipeline(encoder(columns, scale=False), tree).fit(X, y), X, columns


def test_ranks_are_told_in_the_words_of_the_file(ranked):
    """Cuts, gaps and the worked patient name levels, not their numbers."""
    model, X, columns = ranked
    told = model_in_words(model)
    assert told[0] == "if pain at most moderate:"
    assert told[-1] == "A missing value is taken for: pain moderate."
    assert "(pain moderate)" in worked_person(model, X, columns)


def test_codes_are_told_as_the_file_has_them():
    """Of two numbers as levels, 1 is no 1.0."""
    columns = guess_columns(pd.DataFrame({"smokes": ["0", "1", None] * 20}))
    X = feature_frame(pd.DataFrame({"smokes": ["0", "1", None] * 20}), columns)
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    model = make_pipeline(encoder(columns, scale=False), tree).fit(X, X["smokes"].fillna(0))
    told = model_in_words(model)
    assert told[0] == "if smokes is not 1:"
    assert told[-1] == "A missing value is taken for: smokes 0."


def test_a_tree_is_told_by_the_columns_that_it_asks_for():
    """Of ten columns one decides: the worked patient and the gaps name it and no other."""
    rng = np.random.default_rng(3)
    text = pd.DataFrame({f"c{i}": rng.normal(size=60).round(3) for i in range(9)}).astype(str)
    text["ward"] = ["north", "south", "west"] * 20
    columns = guess_columns(text)
    X = feature_frame(text, columns)
    for name, y in (("c8", X["c8"] > 0), ("ward", X["ward"] == "west")):
        tree = DecisionTreeClassifier(max_depth=1, random_state=0)
        model = make_pipeline(encoder(columns, scale=False), tree).fit(X, y.astype(int))
        told = [model_in_words(model)[-1], worked_person(model, X, columns)]
        assert all(name in line for line in told)
        assert not any(f"c{i}" in line for i in range(8) for line in told)


def test_the_columns_that_are_needed_in_time_are_named(selection):
    """A column measured late looks like any other: those that the model asks for are named."""
    (said,) = [text for text in recommend(selection).caveats if text.startswith("No table says")]
    encoder = selection.models[selection.recommended].steps[0][1]
    needed = said.split("needs ")[1].split(" when")[0].split(", ")
    assert needed == [repr(name) for name in selection.looked_at]
    assert set(selection.looked_at) <= {column.name for column in encoder.columns}
    many = dataclasses.replace(selection)
    vars(many)["looked_at"] = [f"c{place}" for place in range(11)]
    (said,) = [text for text in recommend(many).caveats if text.startswith("No table says")]
    assert "'c6', 'c7' and 3 more when" in said


@pytest.mark.parametrize(("capacity", "places"), [(0.1, 4), (0.25, 10), (0.5, 20)])
def test_cut_off_gives_the_last_place(ranked, capacity, places):
    """Counted by hand: ten of forty score 1, all others 0."""
    said = cut_off(*ranked[:2], capacity)
    lowest = 1 if places <= 10 else 0
    assert f"The highest {places} of the 40 scores of these rows are {lowest:.3f} or more" in said
    shared = {4: "10 rows share the last 4", 10: None, 20: "30 rows share the last 10"}[places]
    assert (shared in said) if shared else ("share" not in said)


def test_trees_are_drawn_and_others_told(selection, ranked):
    """A tree's boxes stand in the figure; a model of another kind has none."""
    name = selection.recommended
    drawn = report.model_figure(dataclasses.replace(selection, models={name: ranked[0]}))
    boxes = [text.get_text() for text in drawn.picture.axes[0].texts]
    assert any("pain <= 1.5" in box for box in boxes)
    assert sum("flag" in box for box in boxes) >= 3
    other = dataclasses.replace(selection, models={name: ranked[0].steps[-1][1]})
    assert report.model_figure(other) is None


FOLLOW_UP = (
    *("start", "tstop", "TIME1", "time 2", "Time", "week", "survtime", "lenfol", "ttcancer"),
    *("t.tdm", "time_d", "PFS", "months"),
    *("cd4_week20", "sbp visit 3", "BMI.post", "day7", "crp_month_12"),
)
NO_FOLLOW_UP = (
    *("age", "stage", "T-stage", "t score", "year", "temperature"),
    *("sbp_visit1", "day 1", "posture", "weekly drinks 20", "birthday 7"),
)


@pytest.mark.parametrize("name", FOLLOW_UP)
def test_follow_up_is_asked_about(tmp_path, name):
    """What was measured late, by the names that public tables have, carries a caution."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.normal(size=60).round(3), "died": ["yes", "no"] * 30})
    frame.to_csv(tmp_path / "a.csv", index=False)
    (caution,) = load_own_data(tmp_path / "a.csv", "died").warnings
    assert caution.rank == 1
    assert f"'{name}' has the name of something that is known after" in caution.text


def test_a_model_of_follow_up_is_not_recommended(tmp_path):
    """However good it is; with the reader's word that the column is known in time it is."""
    rng = np.random.default_rng(2)
    died = rng.random(400) < 0.3
    frame = pd.DataFrame({"futime": (rng.normal(size=400) - 3 * died).round(3)})
    for name in ("age", "crp"):
        frame[name] = (rng.normal(size=400) + died).round(3)
    frame["died"] = np.where(died, "yes", "no")
    frame.to_csv(tmp_path / "a.csv", index=False)
    quick = {"capacity": 0.2, "n_splits": 3, "n_sets": 3, "n_bootstraps": 50, "pool": "pairs"}
    said = [
        select(load_own_data(tmp_path / "a.csv", "died", kinds=kinds), **quick).recommendation
        for kinds in ({}, {"futime": "numeric"})
    ]
    assert all("futime" in one.model for one in said)
    assert said[0].headline.startswith("No model can be recommended before this is settled")
    assert "--kind futime=numeric" in said[0].headline
    assert said[0].weights[0] == "forbids"
    assert "forbids" not in said[1].weights


@pytest.mark.parametrize("name", NO_FOLLOW_UP)
def test_other_names_are_not_asked_about(tmp_path, name):
    """A measurement that begins like one of them carries none."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.normal(size=60).round(3), "died": ["yes", "no"] * 30})
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert not load_own_data(tmp_path / "a.csv", "died").warnings
