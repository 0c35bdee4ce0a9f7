"""A reader's own CSV: every ugly thing is handled and said, or refused by name."""

import csv
import os
import re

import numpy as np
import pandas as pd
import pytest
from ugly_csv import KINDS, TARGET, plain_table, to_bytes, ugly_table

from pvf.select.columns import feature_frame, guess_columns, kinds_frame, parse_kinds
from pvf.select.read import load_own_data, read_csv_table
from pvf.select.sentences import TableError


@pytest.fixture
def write(tmp_path):
    """Return a writer of files: content to path."""

    def write_content(content, name="my.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_content


@pytest.fixture
def plain():
    """Return the rows of a table without a fault."""
    return plain_table()


def set_column(rows, name, values):
    """Replace or add a column."""
    header = rows[0]
    if name not in header:
        rows = [[*row, ""] for row in rows]
        rows[0][-1] = name
    place = rows[0].index(name)
    for row, value in zip(rows[1:], values, strict=True):
        row[place] = str(value)
    return rows


def column_of(rows, name):
    """Return a column's text."""
    return [row[rows[0].index(name)] for row in rows[1:]]


# --- every ugly thing at once ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "bom", "separator"),
    [
        pytest.param("cp1252", b"", ";", id="windows"),
        pytest.param("utf-8", b"\xef\xbb\xbf", ";", id="utf-8-with-mark"),
        pytest.param("utf-8", b"", "\t", id="tabs"),
        pytest.param("utf-8", b"", "|", id="bars"),
        pytest.param("utf-16-le", b"\xff\xfe", ";", id="utf-16"),
    ],
)
def test_ugly_table_is_understood(write, encoding, bom, separator):
    """Gaps, codes, dates, decimal commas, spellings, remarks: each column is what it is."""
    rows = ugly_table()
    path = write(to_bytes(rows, encoding=encoding, bom=bom, separator=separator))
    data = load_own_data(path, TARGET)
    assert {column.name: column.kind for column in data.columns} == KINDS
    assert list(data.X) == [name for name, kind in KINDS.items() if kind in FEATURE_KINDS]
    n_blank = sum(value == "" for value in column_of(ugly_table(), TARGET))
    assert len(data.X) == len(rows) - 1 - n_blank - 2  # and the two records that stand twice
    assert any(f"{n_blank} rows without an outcome" in note for note in data.notes)
    assert any("2 rows that repeat another one" in note for note in data.notes)
    assert any("Windows-1252" in note for note in data.notes) == (encoding == "cp1252")
    if encoding == "cp1252":
        assert "first accented word reads 'Größe'" in data.notes[0]
    (empty,) = (column for column in data.columns if column.name == "leer")
    assert empty.n_missing == len(data.X)


FEATURE_KINDS = ("numeric", "ordinal", "nominal")


def test_ugly_values_are_read_as_they_are_meant(write):
    """Decimal commas, stages, spellings and gaps become the numbers and levels that they are."""
    rows = ugly_table()
    data = load_own_data(write(to_bytes(rows)), TARGET)
    table = pd.DataFrame(rows[1:], columns=[name.strip() for name in rows[0]]).iloc[:-2]
    table = table[table[TARGET] != ""].reset_index(drop=True)
    X = data.X.reset_index(drop=True)
    height = [np.nan if text == "?" else float(text.replace(",", ".")) for text in table["Größe"]]
    np.testing.assert_array_equal(X["Größe"], height)
    age = [np.nan if text == "NA" else float(text) for text in table["Alter"]]
    np.testing.assert_array_equal(X["Alter"], age)
    stage = [("I", "II", "III", "IV").index(text) for text in table["Stadium"]]
    np.testing.assert_array_equal(X["Stadium"], stage)
    falls = [np.nan if text == "" else float(text) for text in table["Stürze"]]
    np.testing.assert_array_equal(X["Stürze"], falls)
    spelt = table["Geschlecht"].str.strip().value_counts()
    assert set(X["Geschlecht"]) == {spelt.index[spelt.index != "weiblich"][0], "weiblich"}
    assert set(X["Station"]) == {"Innere; Süd", "Chirurgie", "Notaufnahme"}
    assert X["Raucher"].isna().tolist() == [text == "" for text in table["Raucher"]]
    np.testing.assert_array_equal(data.y, [text == "Ja" for text in table[TARGET]])
    assert data.positive == "Ja"


def test_rows_keep_their_line_in_the_file(write):
    """The index says in which line a row ends, remarks with line breaks included."""
    content = to_bytes(ugly_table())
    data = load_own_data(write(content), TARGET)
    lines = content.decode("cp1252").split("\r\n")
    for line in data.X.index[[0, 50, -1]]:
        ends = sum(part.count("\n") for part in lines)  # breaks inside quotes are bare
        assert 2 < line <= len(lines) + ends


# --- files ----------------------------------------------------------------------------------------

BAD_FILES = {
    "empty": (b"", "the file is empty"),
    "blank": (b" \r\n \n", "the file is empty"),
    "header-only": (b"a,b,died\n", "no row of data"),
    "no-header": (b"1,2.5,0\n2,3.5,1\n", r"holds numbers only \(1, 2.5, 0"),
    "spreadsheet": (b"PK\x03\x04rest", "a spreadsheet or zip file"),
    "zip": (b"\x1f\x8brest", "a gzip file"),
    "zeros": (b"a,b\n1,\x002\n", "zero bytes"),
    "bom-only": (b"\xff\xfe", "the file is empty"),
    "bom-blank": (b"\xef\xbb\xbf\r\n", "the file is empty"),
    "bare-separators": (b",,\n,,\n", "every line is blank"),
    "zero-in-a-cell": (b"a,b\n1,2\n3,\x00\n", "line 3 holds zero bytes"),
    "half-utf-16": ("a,b\n1,2\n3,4\n".encode("utf-16") + b"\x31", "line 4 holds byte 0x31"),
    "bad-after-mark": (b"\xef\xbb\xbfa,b\n1,\xff\n", "line 2 holds byte 0xff.* in utf-8"),
    "long-cell": (b"a,b\n1,2\n" + b"x" * 131073 + b",4\n", r"line 3 cannot be read \(field larger"),
    "long-cell-in-the-header": (b"x" * 131073 + b",b\n1,4\n", r"line 1 cannot be read \(field"),
    "one-column": (b"a b died\n1 2 yes\n", "none of comma, semicolon, tab, bar"),
    "ragged": (b"a,b,died\n1,2,yes\n1,2,3,no\n", "line 3 has 4 fields, the header has 3"),
    "open-quote": (b'a,b,died\n1,2,yes\n1,"2,no\n3,4,yes\n', "line 3 cannot be read"),
    "double-name": (b"a,b,a,died\n1,2,3,yes\n", "more than once in the header: 'a'"),
    "no-text": (b"a,b\n1,\x81\n", r"line 2 holds byte 0x81.*nor is the file Windows-1252"),
}


@pytest.mark.parametrize(("content", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_unreadable_file_is_refused(write, content, message):
    """The message names the file, and the line or column where there is one."""
    path = write(content)
    with pytest.raises(TableError, match=message) as error:
        read_csv_table(path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


BY_ENCODING = {
    "zero": (b"a,b\n1,\x00\n", "ascii", "line 2 holds zero bytes"),
    "wrong": (b"a,b\n1,2\n\xff,2\n", "utf-8", "line 3 holds byte 0xff, which is no text in utf-8"),
    "wide": ("a,b\n1,2\n".encode("utf-16-le") + b"\x00\xd8", "utf-16-le", "line 3 holds byte 0x00"),
    "half-a-character": (b"a,b\n1,\\ud800\n", "unicode_escape", "line 2 holds half a character"),
    "no-place": (b"a,b\n1,2\n", "undefined", "is no text in undefined"),
    "unknown": (b"a,b\n1,2\n", "klingon", "encoding 'klingon' is not known"),
    "no-text-encoding": (b"a,b\n1,2\n", "hex", "encoding 'hex' is not known"),
    "no-name": (b"a,b\n1,2\n", "utf\0", "encoding .* is not known"),
}


@pytest.mark.parametrize(("content", "encoding", "message"), BY_ENCODING.values(), ids=BY_ENCODING)
def test_encoding_that_does_not_fit_is_told_with_the_line(write, content, encoding, message):
    """A named encoding is taken at its word; what it makes no text of is refused."""
    with pytest.raises(TableError, match=message):
        read_csv_table(write(content), encoding=encoding)


def test_mark_at_the_start_is_no_part_of_a_name(write):
    """A file that begins with a byte-order mark keeps its first column's name."""
    for encoding in (None, "utf-8"):
        table = read_csv_table(write(b"\xef\xbb\xbfage,b\n1,2\n"), encoding=encoding)
        assert list(table.frame) == ["age", "b"]


def test_wide_row_of_short_cells_is_read(write):
    """A line may be longer than a cell may, and still tell its separator."""
    names = [f"a column of a long name and the number {i}" for i in range(4000)]
    assert len(",".join(names)) > csv.field_size_limit()
    table = read_csv_table(write(",".join(names) + "\n" + ",".join("1" * 4000) + "\n"))
    assert list(table.frame) == names


def test_blank_lines_before_the_header_are_skipped(write):
    """However many there are."""
    assert list(read_csv_table(write("\n" * 300 + "a,b\n1,2\n")).frame) == ["a", "b"]


@pytest.mark.parametrize("separator", ['"', "\n", "\r", "\0", "", "::"])
def test_separator_that_cannot_separate_is_refused(write, separator):
    """A quote and a line break have another meaning."""
    with pytest.raises(TableError, match="separator must be one character"):
        read_csv_table(write("a,b\n1,2\n"), separator=separator)


def test_pipe_and_device_are_refused_at_once(tmp_path):
    """Neither is waited for: a pipe that nobody writes to, and a device without an end."""
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", "/dev/zero"):
        with pytest.raises(TableError, match="it is a pipe or a device"):
            read_csv_table(path)
    with pytest.raises(TableError, match="cannot be read"):
        read_csv_table("a\0b")


def test_name_without_a_letter_is_replaced(write):
    """A header of control characters alone cannot be shown, so it gets a name."""
    assert list(read_csv_table(write(b"a,\x1b,\xe2\x80\xae\n1,2,3\n")).frame) == [
        "a",
        "unnamed 2",
        "unnamed 3",
    ]


def test_absent_file_and_folder_are_told_apart(tmp_path):
    """A path that is nothing, and one that is a folder."""
    with pytest.raises(TableError, match="there is no such file"):
        read_csv_table(tmp_path / "none.csv")
    with pytest.raises(TableError, match="cannot be read"):
        read_csv_table(tmp_path)


def test_wrong_separator_and_encoding_are_refused(write):
    """A given separator that makes one column, or an encoding that doesn't fit, is an error."""
    path = write("größe;died\n1;yes\n")
    assert list(read_csv_table(path, separator=",").frame) == ["größe;died"]
    with pytest.raises(TableError, match=r"target 'died' is no column.*größe;died"):
        load_own_data(path, "died", separator=",")
    with pytest.raises(TableError, match=r"line 1 holds byte 0xc3.* in ascii"):
        read_csv_table(path, encoding="ascii")
    with pytest.raises(TableError, match="encoding 'klingon' is not known"):
        read_csv_table(path, encoding="klingon")
    with pytest.raises(TableError, match="separator must be one character"):
        read_csv_table(path, separator="::")


def test_columns_without_a_name_get_one(write):
    """The index that pandas writes by default is taken for what it is."""
    frame = pd.DataFrame(plain_table()[1:], columns=plain_table()[0])
    data = load_own_data(write(frame.to_csv()), "died")
    assert data.columns[0].name == "unnamed 1"
    assert data.columns[0].kind == "identifier"
    assert any("without a name" in note for note in data.notes)


@pytest.mark.parametrize("mark", ["", "NA", "n/a", "NaN", "NULL", "?", "-", ".", " "])
def test_missing_values_in_every_spelling(write, plain, mark):
    """What people write for "missing" is missing, in numbers and in text."""
    for row in plain[1:9]:
        row[1] = row[3] = mark
    data = load_own_data(write(to_bytes(plain, separator=",")), "died")
    assert data.X["age"].isna().sum() == data.X["ward"].isna().sum() == 8
    assert data.X["age"].dtype == float


# --- columns --------------------------------------------------------------------------------------


def guess_one(values, name="x", **kwargs):
    """Guess one column."""
    values = [np.nan if value is None else value for value in values]
    (column,) = guess_columns(pd.DataFrame({name: pd.Series(values, dtype=object)}), **kwargs)
    return column


MANY = [f"{x:.2f}" for x in np.linspace(-3, 9, 60)]
GUESSES = {
    "floats": (MANY, "x", "numeric"),
    "exponents": ([f"{float(v):.3e}" for v in MANY], "x", "numeric"),
    "comma-decimals": ([v.replace(".", ",") for v in MANY], "x", "numeric"),
    "thousands": ([f"{1000 * i + 0.5:,.1f}" for i in range(1, 40)], "x", "numeric"),
    "european-thousands": (
        [f"{1000 * i:,}".replace(",", ".") + ",5" for i in range(1, 40)],
        "x",
        "numeric",
    ),
    "platelets": ([str(150 + 7 * i) for i in range(50)], "platelets", "numeric"),
    "with-unknown": ([*MANY, "unknown"], "x", "numeric"),
    "zero-one": (["0", "1"] * 20, "x", "nominal"),
    "yes-no": (["yes", "no", "Yes"] * 10, "x", "nominal"),
    "true-false": (["TRUE", "false"] * 10, "x", "nominal"),
    "wards": (["a", "b", "c"] * 20, "x", "nominal"),
    "numbered-wards": (["ward 1", "ward 2", "ward 3"] * 9, "x", "nominal"),
    "score": (["0", "1", "2", "3"] * 10, "x", "ordinal"),
    "severity": (["mild", "Severe", "moderate", "none"] * 9, "x", "ordinal"),
    "roman": (["I", "II", "III", "IV"] * 9, "x", "ordinal"),
    "grades": (["G1", "G2", "G3"] * 9, "x", "ordinal"),
    "bands": (["<40", "40-49", "50-59", "60+"] * 9, "x", "ordinal"),
    "counter": ([str(i) for i in range(100, 160)], "x", "identifier"),
    "named-id": ([str(9000 + 13 * i) for i in range(50)], "patient_id", "identifier"),
    "uuids": ([f"{i:08x}-aa" for i in range(50)], "x", "identifier"),
    "leading-zeros": ([f"{7 * i:05d}" for i in range(50)], "x", "identifier"),
    "iso-dates": ([f"2024-01-{d:02d}" for d in range(1, 29)], "x", "date"),
    "german-dates": ([f"{d}.1.2024" for d in range(1, 29)], "x", "date"),
    "american-dates": ([f"1/{d}/24 10:30" for d in range(1, 29)], "x", "date"),
    "worded-dates": ([f"{d} Mar 2024" for d in range(1, 29)], "x", "date"),
    "compact-dates": ([f"202401{d:02d}" for d in range(1, 29)], "birth_date", "date"),
    "remarks": ([f"came late, number {i}" for i in range(40)], "x", "text"),
    "constant": (["a"] * 9, "x", "constant"),
    "constant-spellings": (["a", "A ", " a"] * 9, "x", "constant"),
    "empty": ([None] * 9, "x", "constant"),
    "one-value-and-gaps": (["x", None, None], "x", "constant"),
}


@pytest.mark.parametrize(("values", "name", "kind"), GUESSES.values(), ids=GUESSES)
def test_kind_is_guessed(values, name, kind):
    """What a person would take the column for; the reason is said."""
    column = guess_one([v if v is None else v.strip() for v in values], name)
    assert column.kind == kind
    assert column.guessed
    assert column.why


@pytest.mark.parametrize(
    ("levels", "order"),
    [
        pytest.param(
            ["moderate", "none", "severe", "mild"], "none mild moderate severe", id="words"
        ),
        pytest.param(["IV", "I", "III", "II"], "I II III IV", id="roman"),
        pytest.param(["60+", "<40", "50-59", "40-49"], "<40 40-49 50-59 60+", id="bands"),
        pytest.param(["G10", "G2", "G1"], "G1 G2 G10", id="grades"),
    ],
)
def test_levels_are_in_their_own_order(levels, order):
    """Ordinal text is ordered by its meaning and not by the alphabet."""
    assert guess_one(levels * 5).levels == tuple(order.split())


BAD_COLUMNS = {
    "infinite": ([*MANY, "inf"], {}, r"Column 'x' holds 'inf'; a number must be finite"),
    "overflow": ([*MANY, "1e999"], {}, r"'1e999'; a number must be finite"),
    "nearly-numbers": ([*MANY, "x0.5"], {}, r"'x' holds numbers in 98.4% .* 'x0.5' in 1"),
    "either-comma": (["1,234", "2,345", "3,456"], {}, r"'1,234', which may be 1234 or 1.234"),
    "unknown-kind": (MANY, {"x": "number"}, r"kind of column 'x' is 'number'; it takes numeric"),
    "unknown-column": (MANY, {"X": "numeric"}, r"names column 'X'; did you mean 'x'"),
    "text-as-numeric": (["a", "b"] * 9, {"x": "numeric"}, r"holds 'a'; as numeric it takes"),
    "text-as-ordinal": (["q", "b", "c"] * 9, {"x": "ordinal"}, r"no order of its own.*ordinal:b<c"),
    "order-lacks": (["a", "b"] * 9, {"x": ["a", "c"]}, r"holds \['b'\], which the given order"),
    "order-twice": (["a", "b"] * 9, {"x": ["a", "a"]}, r"two or more different levels"),
    "constant-as-numeric": (["1"] * 9, {"x": "numeric"}, r"one value only \('1'\); as numeric"),
}


@pytest.mark.parametrize(("values", "kinds", "message"), BAD_COLUMNS.values(), ids=BAD_COLUMNS)
def test_doubtful_column_is_refused(values, kinds, message):
    """What can be read in two ways, or not as told, is an error that names column and value."""
    with pytest.raises(TableError, match=message):
        guess_one(values, kinds=kinds)


@pytest.mark.parametrize(("decimal", "number"), [(",", 1.234), (".", 1234.0)])
def test_decimal_mark_can_be_given(decimal, number):
    """With the mark given, 1,234 is no longer doubtful."""
    frame = pd.DataFrame({"x": ["1,234", "2,345", "3,456"]})
    made = feature_frame(frame, guess_columns(frame, decimal=decimal))
    assert made["x"].iloc[0] == number


def test_thousands_beside_decimal_commas_are_doubtful():
    """In a table with decimal commas, 1.234 may be a thousand: refused until the mark is given."""
    frame = pd.DataFrame({"x": ["1,5", "2,25", "3,75"], "y": ["1.234", "2.345", "3.456"]})
    with pytest.raises(TableError, match=r"'y' holds '1.234', and column 'x' has decimal commas"):
        guess_columns(frame)
    made = feature_frame(frame, guess_columns(frame, decimal=","))
    assert made.loc[0].tolist() == [1.5, 1234.0]


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        pytest.param("numeric", ["0", "1", "2"] * 5, [0.0, 1.0, 2.0], id="numeric"),
        pytest.param("ordinal", ["5", "10", "7"] * 5, [5.0, 10.0, 7.0], id="ordinal"),
        pytest.param("nominal", ["3", "1", "2"] * 5, [3.0, 1.0, 2.0], id="nominal"),
        pytest.param(["c", "a", "b"], ["a", "B", "c"] * 5, [1.0, 2.0, 0.0], id="order"),
        pytest.param("numeric", ["2024-01-03", "2024-01-05", "2024-01-01"], None, id="days"),
    ],
)
def test_given_kind_overrules_the_guess(kind, values, expected):
    """A column is what its reader says, and its values are read accordingly."""
    frame = pd.DataFrame({"x": values})
    (column,) = guess_columns(frame, kinds={"x": kind})
    made = feature_frame(frame, [column])["x"]
    assert not column.guessed
    if expected is None:
        np.testing.assert_allclose(made - made.iloc[0], [0, 2, -2])
    else:
        assert made.iloc[:3].tolist() == expected


def test_features_work_with_both_kinds_of_text(plain):
    """Text columns of pandas 2 (object) and 3 (str) give the same features."""
    frame = pd.DataFrame(plain[1:], columns=plain[0]).drop(columns="died")
    as_object = frame.astype(object)
    as_text = frame.astype("string").astype(str)
    columns = guess_columns(as_object)
    assert guess_columns(as_text) == columns
    pd.testing.assert_frame_equal(
        feature_frame(as_object, columns), feature_frame(as_text, columns)
    )


def test_kinds_are_shown_with_their_reason(plain):
    """The table for people has every column, guessed or given."""
    frame = pd.DataFrame(plain[1:], columns=plain[0])
    table = kinds_frame(guess_columns(frame, kinds=parse_kinds(["lab=ignored"])))
    assert table["kind"].to_dict()["lab"] == "ignored"
    assert table["guessed"].tolist() == ["guessed", "guessed", "given", "guessed", "guessed"]


@pytest.mark.parametrize("text", ["ward", "=nominal", "ward=", "ward=nominal:a<b"])
def test_malformed_kind_is_refused(text):
    """A kind on a command line has one form."""
    with pytest.raises(TableError, match=re.escape(repr(text))):
        parse_kinds([text])


# --- the outcome ----------------------------------------------------------------------------------


def load_plain(write, rows, target="died", **kwargs):
    """Write and load."""
    return load_own_data(write(to_bytes(rows, separator=",")), target, **kwargs)


@pytest.mark.parametrize(
    ("no", "yes"),
    [
        ("0", "1"),
        ("0.0", "1.0"),
        ("-1", "1"),
        ("no", "Yes"),
        ("N", "Y"),
        ("FALSE", "TRUE"),
        ("nein", "ja"),
        ("alive", "dead"),
        ("benign", "malignant"),
        ("negative", "positive"),
    ],
)
def test_obvious_case_is_found(write, plain, no, yes):
    """0 and 1, no and yes and their kin say which one is the case."""
    died = column_of(plain, "died")
    rows = set_column(plain, "died", [yes if value == "yes" else no for value in died])
    data = load_plain(write, rows)
    assert data.positive == yes
    np.testing.assert_array_equal(data.y, [value == "yes" for value in died])


def values_like(plain, *values):
    """Return an outcome column that takes some values in turn."""
    return [values[i % len(values)] for i in range(len(plain) - 1)]


BAD_OUTCOMES = {
    "one-value": (["yes"], {}, r"target 'died' holds only 'yes'; it takes two"),
    "no-value": ([""], {}, r"target 'died' holds no value"),
    "three-values": (["a", "b", "c"], {}, r"has 3 values: 'a' \(40\).*name the case"),
    "a-number": ([f"{x}.5" for x in range(40)], {}, r"has 40 values.*make a yes/no outcome"),
    "ambiguous": (["1", "2"], {}, r"values '1' \(60\), '2' \(60\), which do not say which"),
    "ambiguous-text": (["m", "f"], {}, r"do not say which one is the case"),
    "wrong-positive": (
        ["a", "b"],
        {"positive": "c"},
        r"positive is 'c', which target 'died' lacks",
    ),
}


@pytest.mark.parametrize(("values", "kwargs", "message"), BAD_OUTCOMES.values(), ids=BAD_OUTCOMES)
def test_unfit_outcome_is_refused(write, plain, values, kwargs, message):
    """One class, many, a number, or an ambiguous pair: the message names column and values."""
    rows = set_column(plain, "died", values_like(plain, *values))
    with pytest.raises(TableError, match=message):
        load_plain(write, rows, **kwargs)


def test_missing_target_is_named_with_a_guess(write, plain):
    """A misspelt target gets the column that was probably meant."""
    with pytest.raises(TableError, match=r"target 'dide' is no column; did you mean 'died'\?"):
        load_plain(write, plain, "dide")


@pytest.mark.parametrize("n_cases", [0, 1, 9])
def test_tiny_minority_is_refused(write, plain, n_cases):
    """Fewer than ten cases cannot be split in three."""
    values = ["yes"] * n_cases + ["no"] * (len(plain) - 1 - n_cases)
    message = "holds only 'no'" if n_cases == 0 else f"has {n_cases} cases.*at least 10"
    with pytest.raises(TableError, match=message):
        load_plain(write, set_column(plain, "died", values))


def test_ten_cases_are_enough(write, plain):
    """The smallest class that is taken has ten."""
    values = ["yes"] * 10 + ["no"] * (len(plain) - 11)
    rng = np.random.default_rng(0)
    assert load_plain(write, set_column(plain, "died", rng.permutation(values))).y.sum() == 10


def test_more_than_two_values_with_the_case_named(write, plain):
    """One value is the case, all others are none, and this is said."""
    rows = set_column(plain, "died", values_like(plain, "a", "b", "c"))
    data = load_plain(write, rows, positive="B")
    assert data.y.sum() == 40
    assert any("3 values; all but 'b'" in note for note in data.notes)


@pytest.mark.parametrize(
    "copy",
    [
        pytest.param(lambda y, _: y, id="copy"),
        pytest.param(lambda y, _: ["dead" if v == "yes" else "alive" for v in y], id="renamed"),
        pytest.param(lambda y, _: [int(v == "no") for v in y], id="negated"),
        pytest.param(
            lambda y, rng: [f"{(v == 'yes') + rng.uniform(0, 0.9):.3f}" for v in y], id="threshold"
        ),
        pytest.param(
            lambda y, _: [("a" if i % 2 else "b") if v == "yes" else "c" for i, v in enumerate(y)],
            id="levels",
        ),
        pytest.param(
            lambda y, rng: [f"{rng.normal():.3f}" if v == "yes" else "" for v in y], id="gaps"
        ),
    ],
)
def test_copy_of_the_outcome_is_refused_unless_meant(write, plain, copy):
    """A column that gives the outcome away is named, whatever its form; a given kind keeps it."""
    values = list(copy(column_of(plain, "died"), np.random.default_rng(0)))
    rows = set_column(plain, "leak", values)
    with pytest.raises(TableError, match=r"Column 'leak' .*'died'.*--drop leak"):
        load_plain(write, rows)
    assert "leak" not in load_plain(write, rows, drop=["leak"]).X
    kind = "numeric" if "." in "".join(map(str, values)) else "nominal"
    assert "leak" in load_plain(write, rows, kinds={"leak": kind}).X


def test_no_feature_left_is_refused(write, plain):
    """Identifiers alone predict nothing."""
    with pytest.raises(TableError, match=r"No column is left to predict 'died' from"):
        load_plain(write, plain, drop=["age", "lab", "ward"])


def test_target_takes_no_kind(write, plain):
    """The outcome cannot be a feature or be dropped."""
    with pytest.raises(TableError, match="column 'died' is the target"):
        load_plain(write, plain, drop=["died"])


# --- cautions -------------------------------------------------------------------------------------


def test_cautions_name_what_may_spoil_the_result(write, plain):
    """Repeated persons, many gaps, codes for missing, near copies, equal rows."""
    died = column_of(plain, "died")
    n = len(died)
    rows = set_column(plain, "id", [f"p{i // 2}" for i in range(n)])
    rows = set_column(rows, "gappy", ["" if i % 3 else f"{i * 0.37:.2f}" for i in range(n)])
    rows = set_column(rows, "coded", [-999 if i % 20 == 0 else 50 + i * 0.31 for i in range(n)])
    near = [f"{(v == 'yes') + 0.9 * (i % 7) / 7 + 0.3 * (i == 3):.3f}" for i, v in enumerate(died)]
    near[0] = "1.5" if died[0] == "no" else "0.1"
    rows = set_column(rows, "near", near)
    cautions = load_plain(write, rows).cautions
    for words in (
        "'id' has 60 values in 120 rows",
        "'gappy' is missing in 67%",
        "'coded' holds -999",
        "'near' alone tells the outcomes apart",
    ):
        assert any(words in caution for caution in cautions), (words, cautions)
    assert load_plain(write, plain_table()).cautions == ()


def test_equal_rows_without_identifier_are_kept_and_counted(write, plain):
    """Without an identifier nobody knows whether equal rows are one patient: a caution."""
    rows = [row[1:] for row in plain]
    rows += rows[1:6]
    data = load_plain(write, rows)
    assert len(data.X) == 125
    assert any("5 rows equal another one" in caution for caution in data.cautions)


def test_declared_missing_code_is_missing(write, plain):
    """``missing`` adds a spelling."""
    for row in plain[1:7]:
        row[1] = "-999"
    data = load_plain(write, plain, missing=["-999"])
    assert data.X["age"].isna().sum() == 6
    assert data.cautions == ()


def test_names_are_given_as_they_stand_in_the_file(write, plain):
    """A break in a header is read as a space, in the names that a reader gives too."""
    plain[0] = ["id", "age\n(years)", "lab", "ward", "died\there"]
    data = load_own_data(
        write(to_bytes(plain, separator=",")),
        "died\there",
        kinds={"age\n(years)": "numeric"},
        drop=["lab\n"],
    )
    assert data.target == "died here"
    found = {column.name: (column.kind, column.guessed) for column in data.columns}
    assert found["age (years)"] == ("numeric", False)
    assert found["lab"] == ("ignored", False)


def test_column_to_drop_that_is_not_there_is_named(write, plain):
    """The message says that it was to be dropped, and what was probably meant."""
    path = write(to_bytes(plain, separator=","))
    with pytest.raises(TableError, match=r"drop names column 'wards'; did you mean 'ward'\?"):
        load_own_data(path, "died", drop=["wards"])
