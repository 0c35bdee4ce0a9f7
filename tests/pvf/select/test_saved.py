"""A model saved and applied to new rows, and kinds of columns in a file."""

import sys
import tomllib

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from pvf.__main__ import main
from pvf.select.choose import select
from pvf.select.columns import columns_as_toml, read_columns
from pvf.select.read import load_own_data, read_csv_table
from pvf.select.saved import load_model, new_scores, save_model
from pvf.select.sentences import TableError

ROWS = 120


def call(*arguments):
    """Call the command in this process."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def table():
    """Make 120 patients: a number with a unit, ranks of words, two spellings of a level, a dash."""
    rng = np.random.default_rng(0)
    weight = rng.normal(70, 10, ROWS)
    frame = pd.DataFrame(
        {
            "patient": [f"P{i}" for i in rng.permutation(ROWS)],
            "weight": [f"{w:.1f} kg" for w in weight],
            "pain": rng.choice(["mild", "moderate", "severe"], ROWS),
            "urine": rng.choice(["-", "+", "++"], ROWS),
            "ward": rng.choice(["north", "north", "North", "south"], ROWS),
        }
    )
    frame["died"] = np.where(rng.random(ROWS) < expit((weight - 75) / 5), "yes", "no")
    return frame


@pytest.fixture(scope="module")
def csv(table, tmp_path_factory):
    """Write them."""
    path = tmp_path_factory.mktemp("saved") / "patients.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def selection(csv):
    """Select among small trees on all columns."""
    return select(
        load_own_data(csv, "died"),
        capacity=0.2,
        pool="trees",
        n_splits=2,
        n_sets=5,
        n_bootstraps=50,
    )


@pytest.fixture(scope="module")
def saved(selection, csv):
    """Save the model."""
    pytest.importorskip("skops")
    return save_model(selection, csv.with_name("model.skops"))


def written(frame, folder, **options):
    """Write rows and read them as `pvf apply` does."""
    path = folder / "new.csv"
    frame.to_csv(path, index=False, **options)
    return read_csv_table(path, missing_spellings=())


def test_new_rows_get_the_scores_that_the_model_gives(selection, saved, table, tmp_path):
    """Scores are the fitted model's, by the file's line; ranks are counted one by one."""
    scores, notes = new_scores(load_model(saved), written(table, tmp_path))
    data = selection.data
    expected = selection.models[selection.recommended].predict_proba(data.X)[:, 1]
    assert np.array_equal(scores["score"], expected)
    assert list(scores.index) == list(data.X.index)
    assert list(scores["patient"]) == list(table["patient"])
    assert list(scores["rank"]) == [1 + sum(other > own for other in expected) for own in expected]
    assert set(scores.loc[scores["score"] > 0.5, "flagged"]) == {"yes"}
    assert notes == ()


def test_a_row_alone_is_read_as_among_others(saved, table, tmp_path):
    """Spellings, dashes that are levels and gaps mean the same in a file of one row."""
    model = load_model(saved)
    together = new_scores(model, written(table, tmp_path))[0]
    for place in (
        *table.index[table["urine"] == "-"][:3],
        *table.index[table["ward"] == "North"][:3],
    ):
        alone = new_scores(model, written(table.loc[[place]], tmp_path, sep=";"))[0]
        assert alone["score"].iloc[0] == together["score"].iloc[place]
    gap = table.assign(weight="NA")
    assert (
        "'weight' is missing in 120 of 120 rows" in new_scores(model, written(gap, tmp_path))[1][0]
    )


def test_all_that_does_not_fit_is_named_at_once(saved, table, tmp_path):
    """Columns by name, then cells by column and line; what was never seen is said."""
    model = load_model(saved)
    renamed = table.rename(columns={"pain": "Pain", "ward": "wards"})
    with pytest.raises(
        TableError, match=r"(?s)2 faults:.*'pain'; did you mean 'Pain'.*'ward'; did"
    ):
        new_scores(model, written(renamed, tmp_path))
    wrong = table.copy()
    wrong.loc[3, ["weight", "pain"]] = ["154 lb", "awful"]
    wrong.loc[5, ["weight", "urine"]] = ["70,5 kg", "+++"]
    with pytest.raises(TableError) as caught:
        new_scores(model, written(wrong, tmp_path))
    said = str(caught.value).splitlines()
    assert "'154 lb' in line 5 (and 1 more like it); it takes numbers, such as" in said[1]
    assert said[2].endswith("'awful' in line 5; it takes mild, moderate, severe.")
    assert "'+++' in line 7" in said[3]
    heavy = new_scores(model, written(table.assign(weight="200 kg"), tmp_path))[1]
    assert "in 120 of 120 rows; the model was fitted on none such" in heavy[0]


def test_scores_replace_neither_rows_nor_model(saved, csv):
    """Whatever --out leads to, the input and the model stay; a good name is written."""
    before = csv.read_bytes(), saved.read_bytes()
    for out in (csv, saved, csv.parent / "." / csv.name):
        done = call("apply", saved, csv, "--out", out)
        assert (done.exit_code, "which is read" in done.stderr) == (2, True)
    assert (csv.read_bytes(), saved.read_bytes()) == before
    done = call("apply", saved, csv, "--out", csv.with_name("scores.csv"))
    assert done.exit_code == 0, done.stderr
    assert len(pd.read_csv(csv.with_name("scores.csv"))) == ROWS
    assert "made from patients.csv for died = 'yes'" in done.stdout


def test_foreign_objects_are_refused_until_trusted(saved, csv, tmp_path):
    """A file that holds another library's object names it and is not loaded."""
    skops = pytest.importorskip("skops.io")
    content = vars(load_model(saved))
    path = tmp_path / "foreign.skops"
    path.write_bytes(skops.dumps(content | {"ranges": CliRunner()}))
    with pytest.raises(TableError, match=r"--trust click\.testing\.CliRunner"):
        load_model(path)
    assert isinstance(load_model(path, trusted=["click.testing.CliRunner"]).ranges, CliRunner)
    for text in (b"", b"no zip", csv.read_bytes()):
        path.write_bytes(text)
        with pytest.raises(TableError, match="is no model"):
            load_model(path)


def test_without_skops_the_extra_is_named(monkeypatch, selection, tmp_path):
    """Saving and loading say what to install."""
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(TableError, match=r"pip install 'pvf\[save\]'"):
        save_model(selection, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []


def test_file_of_kinds_comes_back_as_it_was(csv, tmp_path):
    """Unchanged it changes nothing, not even what counts as guessed; a changed line does."""
    text = call("columns", csv).stdout
    path = tmp_path / "kinds.toml"
    path.write_text(text, encoding="utf-8")
    plain, same = load_own_data(csv, "died"), load_own_data(csv, "died", columns_file=path)
    assert same.columns == plain.columns
    path.write_text(text.replace('"ward" = "nominal"', '"ward" = "ignored"'), encoding="utf-8")
    changed = {c.name: c for c in load_own_data(csv, "died", columns_file=path).columns}
    assert (changed["ward"].kind, changed["ward"].guessed) == ("ignored", False)
    overruled = load_own_data(csv, "died", columns_file=path, kinds="ward=nominal")
    assert "ward" in overruled.X


def test_file_of_kinds_lets_no_leak_through(table, tmp_path):
    """A copy of the outcome is refused though its unchanged line names a kind."""
    path, kinds = tmp_path / "leak.csv", tmp_path / "kinds.toml"
    table.assign(copy=table["died"]).to_csv(path, index=False)
    kinds.write_text(call("columns", path).stdout, encoding="utf-8")
    done = call("select", path, "--target", "died", "--columns", kinds, "--dry-run")
    assert (done.exit_code, "copies the target" in done.stderr) == (1, True)


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(st.lists(NAMES, min_size=1, max_size=3, unique=True))
@settings(max_examples=30, deadline=None)
def test_any_name_stands_in_toml(names):
    """Python's own reader finds every name, and levels as they are written."""
    frame = pd.DataFrame({name: ["low", "high", "medium"] * 2 for name in names}, dtype=object)
    read = tomllib.loads(columns_as_toml(frame, "\n".join(names)))
    assert read == {"columns": {name: ["low", "medium", "high"] for name in names}}


@pytest.mark.parametrize(
    "text",
    ["", "[columns", "x = 1", "[columns]\na = 1", "[columns]\na = []", "[other]\n", "\0"],
    ids=repr,
)
def test_other_files_are_no_kinds(tmp_path, text):
    """What `pvf columns` does not write is refused by the file's name."""
    path = tmp_path / "kinds.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=r"kinds\.toml"):
        read_columns(path)


def test_all_faults_of_a_file_are_told_at_once(table, tmp_path):
    """Unreadable columns, leaks and a doubtful outcome stand in one list, each with a way out."""
    frame = table.assign(copy=table["died"], dose=[*["5 mg", "1 g"] * (ROWS // 2)])
    path = tmp_path / "faults.csv"
    frame.to_csv(path, index=False)
    done = call("select", path, "--target", "died", "--capacity", "0.2")
    assert done.stderr.startswith("Error: 2 faults:\n(1) ")
    assert "--drop dose" in done.stderr
    assert "--drop copy" in done.stderr
    frame.assign(died=table["ward"].str.lower()).to_csv(path, index=False)
    done = call("select", path, "--target", "died", "--dry-run")
    assert "2 faults" in done.stderr
    assert "--positive" in done.stderr


@pytest.mark.parametrize("header", ["weight", '"weight"'])
def test_a_file_of_the_one_column_that_a_model_looks_at_is_read(header, tmp_path):
    """No separator is needed where one column is all there is; any other file still names one."""
    path = tmp_path / "new.csv"
    path.write_text(f"{header}\n61,5\n70\n", encoding="utf-8")
    assert read_csv_table(path, alone="weight").frame["weight"].tolist() == ["61,5", "70"]
    for alone in ("", "age"):
        with pytest.raises(TableError, match="Name the separator"):
            read_csv_table(path, alone=alone)


def test_a_model_of_one_column_is_applied_to_a_file_of_one(table, tmp_path):
    """The command gives the scores that it gives for the same rows among other columns."""
    pytest.importorskip("skops")
    frame = table[["weight", "died"]]
    frame.to_csv(tmp_path / "all.csv", index=False)
    frame[["weight"]].to_csv(tmp_path / "new.csv", index=False)
    data = load_own_data(tmp_path / "all.csv", "died")
    chosen = select(data, capacity=0.2, pool="trees", n_splits=2, n_sets=5, n_bootstraps=50)
    model = save_model(chosen, tmp_path / "model.skops")
    scores = []
    for name in ("all.csv", "new.csv"):
        out = tmp_path / f"scores of {name}"
        done = call("apply", model, tmp_path / name, "--out", out)
        assert done.exit_code == 0, done.output
        scores.append(pd.read_csv(out)["score"].tolist())
    assert scores[0] == scores[1]


def test_a_dry_run_tells_what_may_spoil_the_result(table, tmp_path):
    """Cautions of the columns stand below them, each with its weight."""
    path = tmp_path / "a.csv"
    table.assign(futime=[f"{i % 17 + 0.5}" for i in range(ROWS)]).to_csv(path, index=False)
    done = call("select", path, "--target", "died", "--dry-run")
    assert "  weakens: 'futime' has the name of something" in done.stdout
