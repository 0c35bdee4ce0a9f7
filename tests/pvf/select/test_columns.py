"""Kinds of columns by hand: what a person would say, on both sides of every threshold."""

from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest

from pvf.select.columns import (
    FEATURES,
    KINDS,
    Column,
    feature_frame,
    guess_columns,
    kinds_frame,
    misfits,
    parse_kinds,
)
from pvf.select.read import load_own_data
from pvf.select.sentences import TableError


def guess(values, name="x", **kwargs):
    """Guess the kind of one column; None is a gap."""
    frame = pd.DataFrame({name: pd.Series(values, dtype=object)})
    (column,) = guess_columns(frame, **kwargs)
    return column


def read(values, name="x", **kwargs):
    """Return one column as models get it."""
    frame = pd.DataFrame({name: pd.Series(values, dtype=object)})
    return feature_frame(frame, guess_columns(frame, **kwargs))[name].tolist()


def rows_of(values, n_rows):
    """Repeat values in turn until there are so many rows."""
    return [values[row % len(values)] for row in range(n_rows)]


def numbered(n, form="{}", start=0):
    """Return so many different texts."""
    return [form.format(start + i) for i in range(n)]


# --- whole numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_values", "n_rows", "kind"),
    [
        pytest.param(10, 30, "ordinal", id="ten-levels-thrice"),
        pytest.param(10, 29, "numeric", id="ten-levels-not-quite-thrice"),
        pytest.param(11, 110, "numeric", id="eleven-values"),
        pytest.param(3, 9, "ordinal", id="three-levels-thrice"),
        pytest.param(3, 8, "numeric", id="three-levels-in-eight-rows"),
    ],
)
def test_few_whole_numbers_that_recur_are_levels(n_values, n_rows, kind):
    """Ten whole numbers at most, each three times on average, are levels; else they measure."""
    column = guess(rows_of(numbered(n_values), n_rows), "visits")
    assert column.kind == kind
    if kind == "ordinal":
        assert column.levels == tuple(float(i) for i in range(n_values))
        assert column.why == f"whole numbers with {n_values} values; numeric if you say so"


def test_levels_are_sorted_as_numbers():
    """Ten comes after nine, whichever is more frequent."""
    column = guess(["10", "9", "2", "10"] * 9)
    assert column.levels == (2.0, 9.0, 10.0)
    assert column.notation == "dot"


@pytest.mark.parametrize(
    "values",
    [["0.5", "1", "1.5"], ["1", "2", "2.5"], ["-0.5", "0.25", "1.75"]],
    ids=["halves", "one-half", "no-whole"],
)
def test_fractions_are_no_levels(values):
    """One fraction among whole numbers makes them a measure, however few they are."""
    column = guess(values * 9)
    assert (column.kind, column.why) == ("numeric", "numbers")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        pytest.param(numbered(11, start=1), "identifier", id="eleven-rows"),
        pytest.param(numbered(10, start=1), "numeric", id="ten-rows"),
        pytest.param(numbered(40, start=700)[::-1], "identifier", id="from-700-backwards"),
        pytest.param([*numbered(40), None], "identifier", id="one-gap"),
        pytest.param(numbered(40) * 2, "numeric", id="each-twice"),
        pytest.param([*numbered(40), "39"], "numeric", id="one-twice"),
        pytest.param(
            ["41", "42", "44", "50", "51", "57", "60", "61", "68", "70", "79", "83"],
            "numeric",
            id="ages-that-all-differ",
        ),
    ],
)
def test_a_counter_of_rows_is_an_identifier(values, kind):
    """One number for each row, in steps of one, counts them; below eleven rows it may be chance."""
    column = guess(values, "x")
    assert column.kind == kind
    assert column.why == ("counts the rows" if kind == "identifier" else "numbers")


def test_two_numbers_are_two_classes():
    """A column of two numbers is nominal with these numbers as levels, whatever they are."""
    for values, levels in ((["2", "1"], (1.0, 2.0)), (["0.5", "-3"], (-3.0, 0.5))):
        column = guess(values * 9)
        assert (column.kind, column.why) == ("nominal", "two values")
        assert (column.levels, column.notation) == (levels, "dot")
        assert read(values * 9)[:2] == [float(value) for value in values]


# --- names ----------------------------------------------------------------------------------------

ID_NAMES = [
    *("id", "ID", "uid", "uuid", "mrn", "ssn", "pseudonym"),
    *(
        "patient_id",
        "id2",
        "id_of_case",
        "study mrn",
        "uid-1",
        "case uuid",
        "PSEUDONYM 2",
        "my ssn",
    ),
    *("lab_nr", "record key", "ward-code", "index", "Unnamed: 0"),
    *("patient", "subject", "case", "record", "Patient No", "case_nr", "subjectnumber"),
    *("record number", "patientno", "casenr", "subject_no", "subject__no"),
]
OTHER_NAMES = [
    *("fluid", "acid", "width", "idle", "uuids", "mrna", "assn", "pseudonyms"),
    *(
        "monkey",
        "decode",
        "genr",
        "key_figure",
        "code_red",
        "nr_of_visits",
        "a_key_figure",
        "in_code_b",
    ),
    *("index_value", "reindex", "not unnamed", "patients", "patient_age", "the patient"),
    *("case_load", "number"),
]


@pytest.mark.parametrize("name", ID_NAMES)
def test_whole_numbers_of_an_identifiers_name_are_one(name):
    """A record number with gaps is known by its name, in any case."""
    column = guess(numbered(50, "{}13", start=1), name)
    assert column.kind == "identifier"
    assert column.why == "whole numbers named like an identifier"


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_whole_numbers_of_another_name_measure(name):
    """A name that only resembles an identifier's leaves a measurement one."""
    assert guess(numbered(50, "{}13", start=1), name).kind == "numeric"


def test_numbers_named_like_an_identifier_need_many_whole_values():
    """A code of ten values, or a fraction, remains a feature; eleven whole numbers do not."""
    assert guess(numbered(10) * 9, "site_id").is_feature
    assert guess(numbered(11) * 9, "site_id").kind == "identifier"
    assert guess(numbered(50, "{}.5"), "fluid_id").kind == "numeric"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, "date") for name in ("admission_date", "birth", "dob", "DOB", "cells")),
    ],
)
def test_eight_digits_of_a_calendar_are_a_date(name, kind):
    """20240107 is a date whatever its column is called; 20241307 is one by its name only."""
    assert guess(numbered(28, "202401{:02d}", start=1)[::2], name).kind == kind
    months = guess(numbered(28, "2024{:02d}07", start=13)[::2], name)
    assert months.kind == ("numeric" if name == "cells" else "date")


@pytest.mark.parametrize("odd", ["3120", "123456789"], ids=["fewer", "more"])
def test_not_eight_digits_are_no_date(odd):
    """A birth weight is a weight though its name has a birth in it."""
    values = numbered(28, "202401{:02d}", start=1)[::2]
    assert guess([*values, odd], "birth_weight").kind == "numeric"
    assert guess(numbered(20, "{}7", start=250), "birth_weight").kind == "numeric"


# --- text -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_levels", "n_rows", "name", "kind"),
    [
        pytest.param(30, 60, "ward", "nominal", id="thirty-wards-twice"),
        pytest.param(30, 59, "ward", "text", id="thirty-wards-not-quite-twice"),
        pytest.param(31, 310, "ward", "text", id="thirty-one-wards"),
        pytest.param(3, 6, "ward", "nominal", id="three-wards-twice"),
        pytest.param(3, 5, "ward", "text", id="three-wards-in-five-rows"),
        pytest.param(2, 3, "ward", "nominal", id="two-wards-in-three-rows"),
        pytest.param(3, 15, "ward_code", "nominal", id="code-of-three-wards"),
        pytest.param(3, 14, "ward_code", "identifier", id="code-that-recurs-too-rarely"),
        pytest.param(3, 14, "ward", "nominal", id="same-rows-without-a-code"),
        pytest.param(2, 10, "ward_code", "nominal", id="code-of-two-wards"),
        pytest.param(2, 9, "ward_code", "identifier", id="two-codes-in-nine-rows"),
    ],
)
def test_text_that_recurs_is_nominal(n_levels, n_rows, name, kind):
    """Thirty levels at most, each twice on average; five times if named like an identifier."""
    levels = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(n_levels)]
    column = guess(rows_of(levels, n_rows), name)
    assert column.kind == kind
    assert column.n_values == n_levels
    if kind == "nominal":
        assert column.levels == tuple(levels)
        assert column.why == ("two values" if n_levels == 2 else f"text with {n_levels} levels")


@pytest.mark.parametrize(
    ("values", "name", "kind", "why"),
    [
        pytest.param(
            rows_of(numbered(91, "r{}"), 100),
            *("sample", "identifier", "nearly every row has a code of its own"),
            id="91-codes-in-100-rows",
        ),
        pytest.param(
            rows_of(numbered(90, "r{}"), 100),
            *("sample", "text", "text with 90 values, too many to learn from 100 rows"),
            id="90-codes-in-100-rows",
        ),
        pytest.param(
            [*numbered(91, "r{}"), *numbered(9, "r {}")],
            *("sample", "identifier", "nearly every row has a code of its own"),
            id="few-codes-with-a-space",
        ),
        pytest.param(
            [*numbered(90, "r{}"), *numbered(10, "r {}")],
            *("sample", "text", "free text"),
            id="a-tenth-with-a-space",
        ),
        pytest.param(
            numbered(40, "fell on day {}"), "remarks", "text", "free text", id="sentences"
        ),
        pytest.param(
            numbered(40, "AB {}"),
            *("sample_id", "identifier", "nearly every row has a code of its own"),
            id="spaced-codes-named-like-an-identifier",
        ),
    ],
)
def test_text_of_too_many_values_is_left_out(values, name, kind, why):
    """Codes of one word that are nearly all different identify; sentences are text."""
    column = guess(values, name)
    assert (column.kind, column.why, column.levels) == (kind, why, ())


def test_spellings_that_differ_in_case_or_spaces_are_one_level():
    """The most frequent spelling names the level; of equally frequent ones, the first by ABC."""
    values = ["Yes", "yes", "yes", "no", "NO", "un known", "Un  Known", "un known"]
    column = guess(values * 3)
    assert column.kind == "nominal"
    assert column.levels == ("NO", "un known", "yes")
    assert column.n_values == 6
    assert column.why == ("text with 3 levels, spelt in 6 ways that differ in case or spaces only")
    assert read(values * 3)[:6] == ["yes", "yes", "yes", "NO", "NO", "un known"]


def test_words_written_apart_are_another_level():
    """Spaces between words count, though not how many."""
    assert guess(["not seen", "notseen", "not  seen"] * 3).levels == ("not  seen", "notseen")


def test_one_level_in_several_spellings_is_constant():
    """What differs in case only says nothing."""
    column = guess(["Ward", "ward", "WARD"] * 3)
    assert column.kind == "constant"
    assert column.why == "text with 1 levels, spelt in 3 ways that differ in case or spaces only"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (["a"] * 5, "one value only ('a')"),
        (["7"] * 5, "one value only ('7')"),
        (["a", None, "a"], "one value only ('a'); if the empty rows mean 'no', write it there"),
        (
            ["7", "7", "unknown"],
            "one value only ('7'); if the empty rows mean 'no', write it there",
        ),
        ([None, None], "no value in any row"),
    ],
    ids=["text", "number", "gaps", "number-and-word", "empty"],
)
def test_a_constant_says_what_it_holds(values, why):
    """One value, or none, is no feature; gaps beside it may have meant something."""
    column = guess(values)
    assert (column.kind, column.why) == ("constant", why)
    assert column.n_missing == sum(value in (None, "unknown") for value in values)


def test_leading_zeros_make_codes():
    """01, 02 and 03 are names of wards: neither numbers nor ranks."""
    for levels in (["01", "02", "03"], ["1", "02", "3"], ["01", "02"]):
        column = guess(levels * 9)
        assert column.kind == "nominal"
        assert column.levels == tuple(sorted(levels))
        assert column.notation == ""
        assert read(levels * 9)[: len(levels)] == levels
    assert guess(["1", "02"] * 9, kinds={"x": "nominal"}).levels == ("02", "1")
    assert guess(["1", "a"] * 9, kinds={"x": "nominal"}).levels == ("1", "a")
    assert guess(["01.5", "2"] * 9, kinds={"x": "nominal"}).levels == (1.5, 2.0)
    assert guess(["0", "1", "2"] * 9).kind == "ordinal"
    assert guess(["0.5", "0", "0.25"] * 9).kind == "numeric"


def test_codes_with_a_word_among_them_are_no_nearly_numbers():
    """A postcode column with one word in it is an identifier, not a faulty measurement."""
    assert guess([*numbered(40, "0{}1"), "abroad"]).kind == "identifier"
    assert guess([*numbered(40, "{}1", start=1), "0815", "abroad"]).kind == "identifier"


def test_times_of_a_day_are_no_persons(tmp_path):
    """When nearly every row has its own time, rows with the same one are of different persons."""
    times = [f"{minute // 60}:{minute % 60:02d}" for minute in range(0, 1380, 11)]
    frame = pd.DataFrame({"seen": [*times[:-1], times[0]], "died": ["yes", "no", "no"] * 42})
    frame["age"] = np.arange(126) % 59 + 20.5
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert load_own_data(tmp_path / "a.csv", "died").group == ""


@pytest.mark.parametrize("written", ["~{}", "({})", "{}*", "={}", "± {}", '"{}"', "#{}", "{}+"])
def test_numbers_with_unknown_signs_are_refused_by_name(written):
    """Whether all cells have the sign or a few, a measurement is not dropped as text."""
    numbers = [f"{5 + 0.5 * place:g}" for place in range(40)]
    signed = [written.format(number) for number in numbers]
    for values in (signed, [*signed[:20], *numbers[20:]], [*numbers[:38], *signed[38:]]):
        with pytest.raises(TableError, match=r"Column 'x' holds numbers in .*--kind x=nominal"):
            guess(values)
    assert guess(signed, kinds={"x": "text"}).kind == "text"
    assert guess(written.format(place) for place in [1, 2, 3] * 9).kind in ("nominal", "ordinal")


def test_marked_codes_of_an_identifiers_name_are_one():
    """#1024 in a column that is called an identifier is no measurement."""
    column = pd.Series([f"#{place}" for place in range(1000, 1040)], name="case_id")
    (found,) = guess_columns(column.to_frame())
    assert found.kind == "identifier"


# --- orders ---------------------------------------------------------------------------------------

ORDERS = {
    "certainty": "no possible probable definite",
    "severity": "none minimal slight mild moderate severe critical extreme",
    "height": "lowest low medium high highest",
    "laboratory": "low normal high",
    "size": "small medium large",
    "quality": "poor fair good excellent",
    "frequency": "never rarely sometimes often always",
    "smoking": "never former current",
    "occasions": "never rare occasional frequent",
    "weight": "normal overweight obese",
    "education": "primary secondary tertiary",
    "roman": "I II III IV V VI",
    "roman-to-eight": "I II III IV V VI VII VIII",
    "part-of-a-scale": "mild severe extreme",
    "ends-of-a-scale": "none moderate extreme",
    **{
        prefix: " ".join(f"{prefix}{sep}{i}" for i in (1, 2, 3, 10))
        for prefix, sep in zip(
            ("stage", "Grade", "CLASS", "level", "asa", "nyha", "ecog", "score"),
            ("_", "-", "", "_-", "", "-", "", "_"),
            strict=True,
        )
    },
    **{letter: " ".join(f"{letter}{i}" for i in (1, 2, 4, 11)) for letter in ("T", "N", "M", "g")},
    "roman-stages": "stage-I stage-II stage-III stage-IV stage-V stage-VI stage-VII stage-VIII",
    "plus": "1+ 2+ 3+",
    "graded-plus": "grade_1+ grade_2+ grade_10+",
    "plus-from-zero": "0 1+ 2+ 3+",
    "ages": "<40 40-49 50-59 100+",
    "ages-with-signs": "≤9 10–19 >20",
    "ages-with-equals": "<=9 10-19 >=20",
    "around-one-number": "<5 5 >5 6",
    "padded-bands": "00-09 10-19 100-109",
    "around-one-number-inclusive": "≤5 5 ≥5",
    "from-two-numbers": "5-9 10-14 15",
    "bands-within-bands": "0-90 10-80 20-70",
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_words_that_have_an_order_are_ordinal(order):
    """Scales, ranks and bands, in whatever order the rows have them, are put in their own."""
    levels = order.split()
    mixed = [*levels[1::2][::-1], *levels[::2]]
    column = guess(mixed * 3)
    assert column.kind == "ordinal"
    assert column.levels == tuple(levels)
    assert column.why == f"levels with an order of their own: {' < '.join(levels)}"
    assert read(levels * 3)[: len(levels)] == list(range(len(levels)))


@pytest.mark.parametrize(
    "levels",
    [
        ["stage I", "stage II", "stage III"],
        ["40 to 49", "50 to 59", "60 +"],
        ["< 40", "40 - 49", "50 – 59", "> 60"],
        ["40to49", "50to59", "60to69"],
        ["<= 9", "10", ">= 11"],
    ],
    ids=["ranks", "to", "dashes", "to-without-spaces", "equals"],
)
def test_orders_may_hold_spaces(levels):
    """Spaces within ranks and bands change nothing."""
    column = guess(levels[::-1] * 3)
    assert (column.kind, column.levels) == ("ordinal", tuple(levels))


def test_spellings_of_a_scale_are_one_level_each():
    """Mild and MILD have one rank, and a gap stays one."""
    values = ["Mild", "MILD", "severe", "none", "Mild", None]
    assert guess(values * 3).levels == ("none", "Mild", "severe")
    made = read(values * 3)
    assert made[:5] == [1.0, 1.0, 2.0, 0.0, 1.0]
    assert np.isnan(made[5])


@pytest.mark.parametrize(
    "levels",
    [
        ["mild", "severe", "purple"],
        ["T1", "N2", "M3"],
        ["T1", "2", "3"],
        ["grade 1", "grade-1", "grade 2"],
        ["stage I", "stage 1", "stage 2"],
        ["stage I", "stage II", "stage III", "unstaged"],
        ["stage xx", "stage i", "stage ii"],
        ["stage xx", "stage ii", "stage iii"],
        ["40-49", "50-59", "60-69 unsure"],
        ["ward 1", "ward 2", "ward 3"],
        ["60", "60+", "70+"],
        ["40-49", "50-59", "old"],
        ["a40", "b50", "c60"],
        ["red", "green", "blue"],
    ],
    ids=" ".join,
)
def test_words_without_an_order_are_nominal(levels):
    """One level that does not fit, or two of one rank, and there is no order to rely on."""
    column = guess(levels * 9)
    assert column.kind == "nominal"
    assert column.levels == tuple(sorted(levels))


def test_an_order_takes_three_levels_and_thirty_at_most():
    """Two words are two values; thirty grades are ordinal; thirty-one are not for a guess."""
    column = guess(["high", "low"] * 9, "grade")
    assert (column.kind, column.why, column.levels) == ("nominal", "two values", ("high", "low"))
    assert guess(numbered(30, "grade {}", start=1) * 2).kind == "ordinal"
    assert guess(numbered(31, "grade {}", start=1) * 2).kind == "text"


def test_ordered_words_need_not_recur():
    """Three words of a scale in three rows are ordinal: their meaning tells, not their number."""
    assert guess(["mild", "severe", "none"]).kind == "ordinal"


# --- dates ----------------------------------------------------------------------------------------

MONTHS = ["jan", "Feb", "MAR", "apr.", "May", "june", "July", "Aug", "September", "oct.", "Nov"]
MONTHS += ["December"]
DATES = {
    "iso": ["2024-01-03", "2024-1-5", "1999-12-31"],
    "slashes": ["2024/01/03", "2024/1/5", "1999/12/31"],
    "german": ["3.1.2024", "03.01.24", "31.12.1999"],
    "american": ["1/3/2024", "12/31/99", "01/05/2024"],
    "dashes": ["3-1-2024", "03-01-24", "31-12-1999"],
    "month-words": [f"{day} {month} 2024" for day, month in enumerate(MONTHS, start=1)],
    "month-dashes": [f"{day}-{month}-24" for day, month in enumerate(MONTHS, start=1)],
    "month-first": [f"{month} {day}, 2024" for day, month in enumerate(MONTHS, start=5)],
    "month-first-without-space": ["May 3,2024", "June 12,2024", "Jul 1,2024"],
    "minutes": ["2024-01-03 10:30", "2024-01-03T9:15", "3.1.2024 00:00"],
    "seconds": ["2024-01-03 10:30:15", "2024-01-03T09:15:59", "2024-01-03T09:15:59.123456"],
    "months": ["2024-01", "1999-12", "2023/07"],
    "times": ["8:05", "23:59", "00:00:30", "8:05 am", "11:30:15.5", "7:15PM"],
    "zones": ["2024-01-03T10:30Z", "2024-01-03T10:30:15+01:00", "2024-01-03T10:30:15.5-0330"],
}


@pytest.mark.parametrize("values", DATES.values(), ids=DATES)
def test_dates_are_known_in_every_notation(values):
    """Days of a calendar are dates, with or without a time and a zone; so are months and times."""
    column = guess(values)
    assert column.kind == "date"
    assert column.why == "dates; a duration, such as an age, would be a feature"


@pytest.mark.parametrize(
    "value",
    [
        *("2024-01", "2024-01/03", "2024/01-03", "20240-01-03", "2024-001-03"),
        *(
            "3.1/2024",
            "3/1-24",
            "3.1.202",
            "3.1.4",
            "3.1.20245",
            "123.1.2024",
            "3.111.2024",
            "3 4 2024",
        ),
        *("3 Foo 2024", "3 2024", "Foo 3, 2024", "May 3 2024", "May 3, 24", "333 May 2024"),
        *("2024-01-03 10", "2024-01-03 10:3", "2024-01-03 10:30:1", "2024-01-03x10:30"),
        *("202-01-03", "202/01/03", "20240/01/03", "2024-01-003", "2024/001/03", "2024/01/003"),
        *("May 333, 2024", "3 May 2", "3 May 20245", "2024/01-03 10:30", "2024-01-03 :30"),
        *("2024-01-03 10:300", "2024-01-03 10:30:155", "2024-01-03 100:30", "May 3, 20245"),
        *("2024-01-03T10:30+1:00", "2024-01-03T10:30+01:0", "2024-01-03T10:30+010:00"),
        *(
            "2024-01-03T10:30+01:000",
            "2024-01-03 10:30:15.",
            "2024-01-03T10:30 CET",
            "soon",
            "120/80",
        ),
    ],
)
def test_one_value_that_is_no_date_makes_text(value):
    """Dates with a value among them that no calendar has are no column of dates."""
    assert guess(["2024-01-03", "2024-01-05", "2024-01-07", value]).kind != "date"


# --- notations ------------------------------------------------------------------------------------

NUMBERS = {
    "signs": (["+1.5", "-2", "3"], [1.5, -2, 3]),
    "bare-points": ([".5", "5.", "-.25"], [0.5, 5, -0.25]),
    "padded": (["01.50", "02.75", "10.25"], [1.5, 2.75, 10.25]),
    "exponents": (["1e3", "1.5E-2", "2e+1"], [1000, 0.015, 20]),
    "long": (["1234.5678", "0.0001", "1234567"], [1234.5678, 0.0001, 1234567]),
    "thousands": (["1,234.5", "-12,345,678", "999"], [1234.5, -12345678, 999]),
    "millions": (["1,234,567", "+123,456.75", "1"], [1234567, 123456.75, 1]),
    "three-decimals": (["1.234", "2.345", "12.345"], [1.234, 2.345, 12.345]),
    "commas": (["+1,5", "-2", "3"], [1.5, -2, 3]),
    "bare-commas": ([",5", "5,", "-,25"], [0.5, 5, -0.25]),
    "comma-exponents": (["1,5e3", "1,5E-2", "2,5e+1"], [1500, 0.015, 25]),
    "long-commas": (["1234,5678", "0,0001", "1234567"], [1234.5678, 0.0001, 1234567]),
    "european-thousands": (["1.234,5", "-12.345.678", "999"], [1234.5, -12345678, 999]),
    "european-millions": (["1.234.567", "+123.456,75", "1"], [1234567, 123456.75, 1]),
    "thousand-and-comma": (["1.234", "1,5", "2"], [1234, 1.5, 2]),
    "comma-below-one": (["0,123", "0,456", "0,789"], [0.123, 0.456, 0.789]),
    "comma-below-and-above-one": (["0,123", "-1,456", "0,789"], [0.123, -1.456, 0.789]),
}


@pytest.mark.parametrize(("values", "numbers"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_are_read_in_every_notation(values, numbers):
    """Points and commas are what they are to a person who sees the whole column."""
    column = guess(values)
    assert column.kind == "numeric"
    comma = any("," in value for value in values) and not values[0].startswith(("1,234", "+1,234"))
    european = values[0].startswith("1.234") and numbers[0] > 1000
    assert column.notation == ("comma" if comma or european else "dot")
    assert column.why == ("numbers" if column.notation == "dot" else "numbers with a decimal comma")
    assert read(values) == pytest.approx(numbers)


@pytest.mark.parametrize(
    "value",
    [
        *("1234,567.5", "12,34.5", "1,2345.5", "1,234,56.5", "1,234.", "1,234.5e3"),
        *("1234.567,5", "12.34,5", "1.2345,5", "1.234.56,5", "1.234,", "1.234,5e3"),
        *("1 00", "1.5.5", "1,5,5", ".", ",", "+", "1e", "e5", "--1", "1-", "1.5e2.5", "1.5e,5"),
        *("0x10", "1_000", "0,123,456", "0.123.456", "in", "infinite"),
    ],
)
@pytest.mark.parametrize("decimal", [".", ","])
def test_what_is_no_number_spoils_a_column_of_numbers(value, decimal):
    """A value in no notation is named, and not read as anything."""
    values = numbered(40, "{}" + decimal + "5", start=1)
    with pytest.raises(TableError, match="correct that"):
        guess([*values, value], decimal=decimal)


@pytest.mark.parametrize("word", ["none", "Unknown", "UNK", "missing", "nd", "not done", "n.d."])
def test_words_for_missing_are_gaps_among_numbers_only(word):
    """Beside numbers such a word is a missing value; beside words it is a level."""
    column = guess(["1.5", "2.5", "3.5", word])
    assert (column.kind, column.n_missing, column.n_values) == ("numeric", 1, 3)
    assert np.isnan(read(["1.5", "2.5", "3.5", word])[3])
    assert read([word, "1.5", "3.5"], kinds={"x": "numeric"})[1:] == [1.5, 3.5]
    column = guess(["1", "2", word] * 9, kinds={"x": "ordinal"})
    assert (column.levels, column.n_missing) == ((1.0, 2.0), 9)
    column = guess(["blue", "red", word] * 9)
    assert (column.kind, column.n_missing, column.n_values) == ("nominal", 0, 3)
    assert word in column.levels


def test_words_for_missing_alone_are_levels():
    """Without any number beside them they say something."""
    column = guess(["none", "unknown", "not done"] * 9)
    assert (column.kind, column.n_missing) == ("nominal", 0)
    assert column.levels == ("none", "not done", "unknown")


@pytest.mark.parametrize("either", ["1,234", "12,345", "123,456", "-1,234", "+999,000"])
def test_three_digits_after_a_comma_may_be_a_thousand(either):
    """1,234 is refused in both readings' words, until the decimal mark is given."""
    values = ["5", either, "7", "8"]
    number = either.replace(",", "")
    with pytest.raises(TableError) as error:
        guess(values)
    assert str(error.value) == (
        f"Column 'x' holds {either!r}, which may be {number} or {either.replace(',', '.')}; "
        "say which mark is decimal, '.' or ',' (--decimal)."
    )
    assert read(values, decimal=".")[1] == float(number)
    assert read(values, decimal=",")[1] == float(number) / 1000
    assert read(values, separator=";")[1] == float(number) / 1000


def test_a_file_of_semicolons_has_decimal_commas_where_it_has_commas():
    """Between semicolons a comma is decimal; a column of points keeps them."""
    assert read(["1.234", "2.5", "3"], separator=";") == [1.234, 2.5, 3]
    assert read(["1.234", "2,5", "3"], separator=";") == [1234, 2.5, 3]
    assert read(["1.234", "2.5", "3"], separator="\t") == [1.234, 2.5, 3]
    assert read(["1,234", "2,345", "3"], separator=";", decimal=".") == [1234, 2345, 3]
    with pytest.raises(TableError, match="may be 1234 or"):
        read(["1,234", "2,345", "3"], separator="\t")


def test_the_given_mark_binds_every_column():
    """With a decimal comma 1.234 is a thousand, with a point 1,234 is one."""
    assert read(["1.234", "12.345", "3"], decimal=",") == [1234, 12345, 3]
    assert read(["1,234", "12,345", "3"], decimal=".") == [1234, 12345, 3]
    frame = pd.DataFrame({"x": ["1,5", "2,5", "3,5", "4,5"], "two": ["1.234", "2.345"] * 2})
    kinds = [column.kind for column in guess_columns(frame, decimal=",")]
    assert kinds == ["numeric", "nominal"]
    assert read(["1", "2", "3"], decimal=",") == read(["1", "2", "3"], decimal=".") == [1, 2, 3]


@pytest.mark.parametrize(
    ("values", "kwargs", "message"),
    [
        (["1.5", "2,5", "3.5"], {}, "'2,5' and '1.5', which are not of one notation"),
        (["1.5", "2,5"], {}, "'2,5' and '1.5', which are not of one notation"),
        (["01.5", "2,5"], {}, "'2,5' and '01.5', which are not of one notation"),
        (["1,234.5", "1.234,5", "7"], {}, "'1.234,5' and '1,234.5', which are not of one"),
        (["7", "1,5", "2,5"], {"decimal": "."}, "'1,5', whose decimal mark is not the one given"),
        (["7", "0.5", "2.5"], {"decimal": ","}, "'0.5', whose decimal mark is not the one given"),
    ],
    ids=["mixed", "two-values", "padded", "groups", "comma-for-point", "point-for-comma"],
)
@pytest.mark.parametrize("kind", [None, "numeric"])
def test_numbers_in_two_notations_are_refused(values, kwargs, message, kind):
    """Decimals of two marks, or of the one not given, are named and never dropped or misread."""
    kinds = {"x": kind} if kind else None
    ending = "as numeric it takes numbers" if kind else "say which mark is decimal"
    for repeated in (values, [*values * 5, *numbered(9, "{}")]):
        with pytest.raises(TableError, match=rf"'x' holds {message}.*{ending}"):
            guess(repeated, kinds=kinds, **kwargs)
    assert guess(values * 5, kinds={"x": "nominal"}, **kwargs).kind == "nominal"


def test_codes_are_no_numbers_even_if_said_so():
    """Leading zeros would be lost: the refusal names the code."""
    with pytest.raises(TableError, match="'007', which its leading zero makes a code; as numeric"):
        guess(["12", "007"] * 5, kinds={"x": "numeric"})
    with pytest.raises(TableError, match="holds 'seven'; as numeric it takes numbers"):
        guess(["12", "007", "seven"] * 5, kinds={"x": "numeric"})


@pytest.mark.parametrize(
    ("dotted", "refused"),
    [
        (["1.234", "12.345", "123.456"], True),
        (["-1.234", "+2.345", "7"], True),
        (["1.234", "2.345"], True),
        (["1.234", "2.5", "3.456"], False),
        (["0.234", "0.345", "0.456"], False),
        (["1234.567", "2345.678", "1"], False),
        (["1.23", "2.34", "12.34"], False),
        (["1.2345", "2.3456", "3.4567"], False),
        (["1", "2", "3"], False),
    ],
    ids=[
        "thousands",
        "signs",
        "two-values",
        "one-short",
        "below-one",
        "four-digits",
        "two-decimals",
        "four-decimals",
        "whole",
    ],
)
def test_points_beside_decimal_commas_are_doubtful_if_all_may_be_thousands(dotted, refused):
    """One value that can only be a decimal clears a column of points."""
    n_rows = len(dotted)
    frame = pd.DataFrame({"y": dotted, "x": ["1,5", "2,25", "3,75"][:n_rows]})
    if n_rows == 2:
        frame = pd.DataFrame({"y": dotted * 2, "x": ["1,5", "2,25", "3,75", "4"]})
    if refused:
        message = f"'y' holds '{dotted[0]}', and column 'x' has decimal commas, so it may be a"
        with pytest.raises(TableError, match=message.replace("+", r"\+")):
            guess_columns(frame)
    else:
        made = feature_frame(frame, guess_columns(frame))
        assert made["y"].tolist() == [float(value) for value in dotted]
        assert made["x"].tolist()[:2] == [1.5, 2.25]
    assert guess_columns(frame[["y"]])[0].notation == "dot"


@pytest.mark.parametrize("value", ["inf", "-inf", "+Infinity", "INF", "1e999", "-1e999"])
@pytest.mark.parametrize("kind", [None, "numeric", "ordinal"])
def test_infinite_numbers_are_refused(value, kind):
    """The message names the value and how to declare it missing."""
    with pytest.raises(TableError) as error:
        guess(["1", "2", value, "3"], kinds={"x": kind} if kind else None)
    assert str(error.value) == (
        f"Column 'x' holds {value!r}; a number must be finite: correct it, or declare it missing "
        f"(--missing {value})."
    )


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        pytest.param([*numbered(8, "{}.5"), "n", "n"], True, id="four-fifths"),
        pytest.param([*numbered(79, "{}.5"), *"n" * 21], False, id="below-four-fifths"),
        pytest.param([*numbered(7, "{}.5"), *"n" * 3], False, id="seven-tenths"),
        pytest.param([*numbered(5, "{}.5"), "n"], True, id="five-numbers"),
        pytest.param([*numbered(4, "{}.5"), "n"], False, id="four-numbers"),
        pytest.param([*numbered(40, "{},5"), "n"], True, id="commas"),
        pytest.param([*numbered(9, "0{}.5"), "n"], True, id="padded"),
        pytest.param([*numbered(40, "1,{:03d}.5"), "n"], True, id="thousands"),
        pytest.param([*numbered(40, "1.{:03d},5"), "n"], True, id="european-thousands"),
    ],
)
def test_numbers_with_a_few_words_are_refused(values, refused):
    """Four fifths of rows and five different numbers make a measurement with words in it."""
    if refused:
        n_words = values.count("n")
        share = f"{100 * (1 - n_words / len(values)):.3g}%"
        with pytest.raises(TableError) as error:
            guess(values)
        assert str(error.value) == (
            f"Column 'x' holds numbers in {share} of its rows and 'n' in {n_words}; correct that, "
            "declare it missing (--missing n), or give the column's kind (--kind x=nominal, "
            "--drop x)."
        )
    else:
        assert guess(values).kind in ("text", "identifier", "nominal")


# --- given kinds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["identifier", "date", "text", "constant", "ignored"])
@pytest.mark.parametrize("values", [["1.5", "2,5", None], ["a"] * 3, [None] * 3])
def test_a_column_may_be_left_out_whatever_it_holds(kind, values):
    """A kind that is no feature suits every column."""
    column = guess(values, kinds={"x": kind})
    assert (column.kind, column.why, column.guessed) == (kind, "given by you", False)
    assert column.n_missing == sum(value is None for value in values)
    assert column.n_values == len({*values} - {None})
    assert not column.is_feature


@pytest.mark.parametrize("kind", FEATURES)
@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["7", "7", "7"], r"has one value only \('7'\); as "),
        (["7", None], r"has one value only \('7'\); if the empty rows mean 'no', write it there; "),
        ([None], "has no value in any row; as "),
    ],
    ids=["one", "one-and-gap", "empty"],
)
def test_a_feature_takes_two_values(kind, values, message):
    """A constant cannot be declared a feature."""
    with pytest.raises(TableError, match=rf"Column 'x' {message}.*takes two or more\."):
        guess(values, kinds={"x": kind})
    assert guess(["7", "8"], kinds={"x": kind}).kind == kind


@pytest.mark.parametrize(
    ("kind", "values", "levels", "notation"),
    [
        ("numeric", ["2", "1", "3"], (), "dot"),
        ("numeric", ["2,5", "1", "3"], (), "comma"),
        ("ordinal", ["10", "9", "9.5"], (9.0, 9.5, 10.0), "dot"),
        ("ordinal", ["10", "9", "9,5"], (9.0, 9.5, 10.0), "comma"),
        ("ordinal", ["severe", "mild", "none"], ("none", "mild", "severe"), ""),
        ("nominal", ["10", "9", "9.5"], (9.0, 9.5, 10.0), "dot"),
        ("nominal", ["b", "a", "9.5"], ("9.5", "a", "b"), ""),
        ("nominal", ["unknown", "1", "2"], ("1", "2", "unknown"), ""),
        ("nominal", ["mild", "none", "severe"], ("mild", "none", "severe"), ""),
    ],
)
def test_levels_of_a_given_kind(kind, values, levels, notation):
    """Numbers in their order, words in theirs, and names by ABC."""
    column = guess(values * 2, kinds={"x": kind})
    assert (column.kind, column.levels, column.notation) == (kind, levels, notation)
    assert (column.why, column.guessed) == ("given by you", False)


def test_a_given_order_is_kept():
    """Levels that no row has, spaces, cases and numbers are fine; others are named."""
    column = guess(["b", "A", "b"], kinds={"x": [" c ", "b", "a"]})
    assert (column.kind, column.levels) == ("ordinal", ("c", "b", "a"))
    assert column.why == "given by you: c < b < a"
    assert read(["b", "A", None], kinds={"x": ["c", "b", "a"]})[:2] == [1.0, 2.0]
    assert read(["3", "1", "3"], kinds={"x": [3, 1]}) == [0.0, 1.0, 0.0]
    assert read(["b"], kinds={"x": ["a", "b"]}) == [1.0]
    with pytest.raises(TableError) as error:
        guess(list("abcdefg"), kinds={"x": ["a", "h"]})
    assert str(error.value) == (
        "Column 'x' holds ['b', 'c', 'd', 'e', 'f'], which the given order ['a', 'h'] lacks."
    )


@pytest.mark.parametrize("order", [["a"], ["a", "b", "a"], ["a", " a"], []], ids=str)
def test_a_given_order_takes_different_levels(order):
    """One level, or one twice, is no order."""
    with pytest.raises(TableError, match="an order takes two or more different levels, got"):
        guess(["a", "b"], kinds={"x": order})


def test_iso_dates_may_be_numbers():
    """Days since 1970, with a time as part of one, whatever the zone is called."""
    values = ["1970-01-03", "1970-01-02 12:00", "1970-01-01T06:00:00", "1969-12-31"]
    column = guess(values, kinds={"x": "numeric"})
    assert (column.notation, column.why) == ("date", "given by you: days")
    assert read(values, kinds={"x": "numeric"}) == [2.0, 1.5, 0.25, -1.0]
    assert read(["1970-01-02T06:00Z", "1970-01-02"], kinds={"x": "numeric"}) == [1.25, 1.0]


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        (["3.1.2024", "4.1.2024"], "numeric", "'3.1.2024'; as numeric it takes numbers"),
        (["2024-1-03", "2024-1-04"], "numeric", "'2024-1-03'; as numeric it takes numbers"),
        (["2024-01-3", "2024-01-4"], "numeric", "'2024-01-3'; as numeric it takes numbers"),
        (["24-01-03", "24-01-04"], "numeric", "'24-01-03'; as numeric it takes numbers"),
        (["2024-01-03", "soon"], "numeric", "'2024-01-03'; as numeric it takes numbers"),
        (["2024-01-03x", "2024-01-04"], "numeric", "'2024-01-03x'; as numeric it takes numbers"),
        (["2024-01-03", "2024-02-30"], "numeric", "'2024-02-30', which is no date"),
        (["2024-01-03 9:00", "2024-01-03 25:00"], "numeric", "25:00', which is no date"),
        (["2024-01-03", "2024-01-04", "2024-01-05"], "ordinal", "no order of its own"),
        (["1", "x"], "numeric", "'x'; as numeric it takes numbers"),
        (
            ["1", "x", "0"],
            "ordinal",
            r"text \(\['1', 'x', '0'\]\) that has no order of its own;.*x=ordinal:0<1<x",
        ),
        (list("edcba"), "ordinal", r"text \(\['e', 'd', 'c', 'b'\]\).*x=ordinal:a<b<c\."),
    ],
)
def test_a_kind_that_does_not_suit_is_refused(values, kind, message):
    """The value that cannot be read so is named, with what to do."""
    with pytest.raises(TableError, match=message):
        guess(values, kinds={"x": kind})


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_may_be_given(kind):
    """All eight kinds are taken, and only three of them are features."""
    column = guess(["1", "2", "3"], kinds={"x": kind})
    assert column.kind == kind
    assert column.is_feature == (kind in ("numeric", "ordinal", "nominal"))


def test_settings_that_do_not_exist_are_named():
    """A wrong kind, column or decimal mark is said with what there is."""
    with pytest.raises(TableError) as error:
        guess(["1"], kinds={"x": "real"})
    assert str(error.value) == (
        "kind of column 'x' is 'real'; it takes numeric, ordinal, nominal, identifier, date, text, "
        "constant, ignored."
    )
    with pytest.raises(TableError, match="kinds names column 'y'; there are: x"):
        guess(["1"], kinds={"y": "numeric"})
    for mark in (";", "", "point"):
        with pytest.raises(TableError, match=rf"decimal must be '.' or ',', got '{mark}'"):
            guess(["1"], decimal=mark)


# --- the table ------------------------------------------------------------------------------------


def test_columns_keep_their_place_and_gaps():
    """Features come in the frame's order and rows, without what is left out, and gaps stay."""
    frame = pd.DataFrame(
        {
            "ward": ["b", "A", None, "a"] * 2,
            "id": numbered(8, "k{}"),
            "age": ["61.5", None, "40", "unknown"] * 2,
            "pain": ["mild", "none", "severe", None] * 2,
        },
        index=range(2, 10),
        dtype=object,
    )
    columns = guess_columns(frame)
    assert [column.kind for column in columns] == ["nominal", "identifier", "nominal", "ordinal"]
    columns = guess_columns(frame, kinds={"age": "numeric"})
    made = feature_frame(frame, columns)
    expected = pd.DataFrame(
        {
            "ward": ["b", "A", np.nan, "A"] * 2,
            "age": [61.5, np.nan, 40.0, np.nan] * 2,
            "pain": [1.0, 0.0, 2.0, np.nan] * 2,
        },
        index=range(2, 10),
    )
    pd.testing.assert_frame_equal(made, expected, check_dtype=False)
    assert made[["age", "pain"]].dtypes.tolist() == [np.dtype(float)] * 2
    assert feature_frame(frame, columns[1:2]).shape == (8, 0)
    assert [column.n_missing for column in columns] == [2, 0, 4, 2]
    assert [column.n_values for column in columns] == [3, 8, 2, 3]


def test_kinds_are_shown_as_they_are():
    """One row a column: kind, whether guessed, gaps, values and the reason."""
    columns = [
        Column("age", "numeric", "numbers", n_missing=3, n_values=40),
        Column("ward", "nominal", "given by you", guessed=False, n_values=4),
        Column("note", "text"),
    ]
    with pytest.raises(FrozenInstanceError):
        columns[0].kind = "nominal"
    table = kinds_frame(columns)
    assert table.index.name == "column"
    assert table.reset_index().to_dict("list") == {
        "column": ["age", "ward", "note"],
        "kind": ["numeric", "nominal", "text"],
        "guessed": ["guessed", "given", "guessed"],
        "missing": [3, 0, 0],
        "values": [40, 4, 0],
        "why": ["numbers", "given by you", ""],
    }


@pytest.mark.parametrize(
    ("text", "column", "kind"),
    [
        ("ward=nominal", "ward", "nominal"),
        ("a=b=numeric", "a=b", "numeric"),
        ("a:b=numeric", "a:b", "numeric"),
        ("pain=ordinal:none< some <much", "pain", ["none", "some", "much"]),
        ("pain=ordinal:a:1<a:2", "pain", ["a:1", "a:2"]),
        ("pain=ordinal", "pain", "ordinal"),
    ],
)
def test_kinds_are_parsed(text, column, kind):
    """The last equals sign ends the column's name, the first colon the kind."""
    assert parse_kinds([text, "z=text"]) == {column: kind, "z": "text"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ward", "'ward' is not COLUMN=KIND"),
        ("=nominal", "'=nominal' is not COLUMN=KIND"),
        ("ward=", "'ward=' is not COLUMN=KIND"),
        ("ward=nominal:a<b", "only ordinal takes levels, not 'nominal'"),
    ],
)
def test_kinds_of_another_form_are_refused(text, message):
    """What is wrong with it is said."""
    with pytest.raises(TableError, match=message):
        parse_kinds([text])


def test_codes_of_a_site_have_no_order():
    """Five numbers of shops or hospitals are levels without an order; five of a scale have one."""
    frame = pd.DataFrame({name: list("12347") * 20 for name in ("StoreID", "hospital_id", "pain")})
    found = {column.name: column for column in guess_columns(frame)}
    assert {name: column.kind for name, column in found.items()} == {
        "StoreID": "nominal",
        "hospital_id": "nominal",
        "pain": "ordinal",
    }
    assert found["StoreID"].levels == (1.0, 2.0, 3.0, 4.0, 7.0)


@pytest.mark.parametrize("scale", ["low intermediate high", "bad medium good"])
def test_scales_of_public_tables_have_their_order(scale):
    """Risk groups and shelves are ranked by their words, whatever stands first in the file."""
    frame = pd.DataFrame({"group": sorted(scale.split()) * 5})
    assert guess_columns(frame)[0].levels == tuple(scale.split())


def test_new_rows_with_the_other_decimal_mark_are_refused():
    """7.256 is not seven thousand where no cell had thousands set apart; else it is."""
    commas = guess(["1,5", "2,25", "7,256", "3,5"])
    assert list(misfits(pd.Series(["7,256"], index=[2], name="x"), commas)) == []
    (fault,) = misfits(pd.Series(["7.256"], index=[2], name="x"), commas)
    assert "'7.256' in line 2; it takes numbers with a decimal comma" in fault
    dots = guess(["1.5", "2.25", "7.256", "3.5"])
    assert list(misfits(pd.Series(["7,256"], index=[2], name="x"), dots))
    grouped = guess(["1,500.5", "2.25", "700", "3.5"])
    assert list(misfits(pd.Series(["7,256"], index=[2], name="x"), grouped)) == []


def test_levels_of_a_mapping_are_taken_as_they_are():
    """Levels that hold the marks of the command line's form are no faults."""
    kinds = {"age": ["<40", "40-60", ">60"], "code": ["a=1", "b=2"], "ward": "nominal"}
    assert parse_kinds(kinds) == kinds
