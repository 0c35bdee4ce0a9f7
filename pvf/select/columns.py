"""What kind each column of a table of text is: guessed, said with the reason, and overridable.

Three kinds are features: *numeric*, *ordinal* and *nominal*, as in section 3.2 of the paper, where
each is perturbed in its own way. The others are left out: *identifier*, *date*, *text*,
*constant*, and *ignored*, which is never guessed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pvf.select.csv_table import closest
from pvf.select.disguise import CENSORED, NOTHING, Disguise, plain_number, undisguised
from pvf.select.sentences import WORDS, TableError, fault, refuse_all, sentence

FEATURES = ("numeric", "ordinal", "nominal")
NO_FEATURES = ("identifier", "date", "text", "constant", "ignored")
KINDS = (*FEATURES, *NO_FEATURES)

#: Whole numbers with this many values at most, and text with this many, are taken for levels.
MOST_ORDINAL, MOST_NOMINAL = 10, 30
MISSING_AMONG_NUMBERS = WORDS["missing_among_numbers"]

_DOT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?")
# No thousands begin with a zero, so 0,123 is a decimal.
_DOT_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")  # 1,234.5
_COMMA_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?")  # 1.234,5
_INFINITE = re.compile(r"[+-]?(inf|infinity)", re.IGNORECASE)
_PLAIN = {"dot": _DOT, "comma": _COMMA}
_GROUPS = {"dot": _DOT_GROUPS, "comma": _COMMA_GROUPS}
_EITHER_DOT = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_CODE = re.compile(r"0\d+")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    r"(?:\d{4}-\d{1,2}-\d{1,2}|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d{2})"
    rf"|\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}}|{_MONTH} \d{{1,2}}, ?\d{{4}})"
    r"(?:[ T]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?(?:Z|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T].*)?")
#: Words for who or what a row is about, and for its number.
_WHO = (
    "patient|pat|pt|subject|subj|person|participant|study|case|record|rec|visit|encounter|sample|"
    "hospital|hosp|nhs|row|respondent|member|client|enrol+ment|admission|health|insurance"
)
_ID_NAME = re.compile(
    rf"(?:^| )(?:(?:{_WHO})? ?(?:id|uid|uuid|idnum|id ?no|id ?\d)|pid|pid ?num|mrn|ssn|seqn"
    rf"|pseudonym|(?:sur|last|first|full)?name)(?: |$)| (?:nr|key|code)$"
    rf"|^index$|^unnamed|^row ?names?$"
    rf"|^(?:{_WHO}) ?(?:no|nr|num|number|identifier)$"
    r"|^(?:patient|subject|person|case|record)$"
)
_DATE_NAME = re.compile(r"date|birth|^dob$")
_COMPACT_DATE = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")
_LONG_CODE = re.compile(r"\d{16,}")
_MIXED_CODE = re.compile(r"(?=.*\d)[A-Za-z0-9_.-]+")
_TWO_NUMBERS = re.compile(r"\d+([.,]\d+)?\s*[/x×]\s*\d+([.,]\d+)?")
_BAND = re.compile(r"[<>≤≥]?=?\s*\d+(?:\s*[-–]\s*\d+|\s*to\s*\d+)?\s*\+?")
_RANKED = re.compile(
    r"(stage|grade|class|level|asa|nyha|ecog|score|t|n|m|g)?[ _-]*([ivx]+|\d+)(\+?)", re.IGNORECASE
)
_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8}


@dataclass(frozen=True)
class Column:
    """What a column is taken for, and why.

    Attributes
    ----------
    name : str
    kind : str
        One of `KINDS`.
    why : str
        The reason, in words.
    guessed : bool
        Whether the kind was guessed, and not given by the reader.
    n_missing, n_values : int
        Rows without a value, and different values.
    levels : tuple
        Of ordinal columns all levels, lowest first; of nominal ones all levels, sorted. Numbers
        where the levels are numbers.
    notation : str
        How the numbers are written: "dot", "comma", "date" (ISO dates as days), or "" for text.
    disguise : Disguise
        What else is written in the cells: a unit, and limits such as <0.01.
    grouped : bool
        Whether thousands are set apart in some cell, as in 1,234. Where none is, such a cell of
        new rows is refused: it can be a number with the other decimal mark.
    """

    name: str
    kind: str
    why: str = ""
    guessed: bool = True
    n_missing: int = 0
    n_values: int = 0
    levels: tuple[Any, ...] = ()
    notation: str = ""
    disguise: Disguise = NOTHING
    grouped: bool = False

    def __deepcopy__(self, _: Any) -> Self:
        """Return itself, which nothing changes: candidates are cloned with their columns."""
        return self

    @property
    def is_feature(self) -> bool:
        """Whether models get to see it."""
        return self.kind in FEATURES

    @property
    def is_ranked(self) -> bool:
        """Whether its values are ranks of words."""
        return self.kind == "ordinal" and isinstance(self.levels[0], str)


def guess_columns(
    frame: pd.DataFrame,
    *,
    kinds: Mapping[str, str | Sequence[Any]] | None = None,
    decimal: str | None = None,
    separator: str = ",",
    censored: str = "limit",
    faults: list[str] | None = None,
) -> list[Column]:
    """Guess what kind each column of text is.

    Parameters
    ----------
    frame : DataFrame
        Text, NaN where there is none; as `pvf.select.csv_table.read_csv_table` makes it.
    kinds : mapping of column name to kind, optional
        Overrules the guess. A kind is one of `KINDS`, or a list of an ordinal column's levels
        from lowest to highest.
    decimal : {".", ","}, optional
        How decimals are written; by default found out, column by column.
    separator : str, default=","
        The file's own separator; where it is a semicolon, commas are decimal.
    censored : {"limit", "half", "sqrt2"}, default="limit"
        What a value below a limit, such as <0.01, is read as: the limit, half of it, or the limit
        by √2. A value above one, such as >90, is always read as the limit.
    faults : list of str, optional
        Takes what would be raised for a column; the column is left out.

    Returns
    -------
    list of Column
        In the frame's order.

    Raises
    ------
    TableError
        A kind or column name does not exist, a number can be read in two ways, is infinite, or
        most but not all values of a column are numbers, or a given kind does not suit a column.

    Examples
    --------
    >>> frame = pd.DataFrame(
    ...     {"age": ["61.5", "40", "8.25"], "grade": ["low", "high", "medium"], "sex": list("fmf")}
    ... )
    >>> for column in guess_columns(frame):
    ...     print(column.name, column.kind, column.why, sep=" | ")
    age | numeric | numbers
    grade | ordinal | levels with an order of their own: low < medium < high
    sex | nominal | two values
    """
    given = dict(kinds or {})
    for name, kind in given.items():
        if name not in frame.columns:
            raise TableError(f"kinds names column {name!r}; {closest(name, frame.columns)}.")
        if isinstance(kind, str) and kind not in KINDS:
            raise TableError(f"kind of column {name!r} is {kind!r}; it takes {', '.join(KINDS)}.")
    if decimal not in (None, ".", ","):
        raise TableError(f"decimal must be '.' or ',', got {decimal!r}.")
    if censored not in CENSORED:
        raise TableError(f"censored is {censored!r}; it takes {', '.join(CENSORED)}.")
    columns, found = [], []
    for name in frame.columns:
        try:
            columns.append(_guess(frame[name], given.get(name), decimal, separator, censored))
        except TableError as error:
            found.append(str(error))
    found += _in_mixed_notation(frame, columns, decimal)
    if faults is None:
        refuse_all(found)
    else:
        faults += found
    return columns


def kinds_frame(columns: Sequence[Column]) -> pd.DataFrame:
    """Return what was guessed as a table for people."""
    return pd.DataFrame(
        {
            "kind": [column.kind for column in columns],
            "guessed": ["guessed" if column.guessed else "given" for column in columns],
            "missing": [column.n_missing for column in columns],
            "values": [column.n_values for column in columns],
            "why": [column.why for column in columns],
        },
        index=pd.Index([column.name for column in columns], name="column"),
    )


def feature_frame(frame: pd.DataFrame, columns: Sequence[Column]) -> pd.DataFrame:
    """Turn the feature columns of a table of text into what models take.

    Parameters
    ----------
    frame : DataFrame
        Text, NaN where there is none.
    columns : sequence of Column
        From `guess_columns`.

    Returns
    -------
    DataFrame
        Numeric columns as float; ordinal ones as float too, the levels' values if they are
        numbers, else their ranks from 0; nominal ones as float if their levels are numbers, else
        as text. Missing values stay NaN.

    Examples
    --------
    >>> frame = pd.DataFrame({"x": ["1,5", "2", None], "grade": ["high", "low", "low"]})
    >>> kinds = {"x": "numeric", "grade": ["low", "high"]}
    >>> feature_frame(frame, guess_columns(frame, kinds=kinds))
         x  grade
    0  1.5    1.0
    1  2.0    0.0
    2  NaN    0.0
    """
    made = {c.name: _feature(frame[c.name], c) for c in columns if c.is_feature}
    return pd.DataFrame(made, index=frame.index)


def _guess(
    column: pd.Series,
    given: str | Sequence[Any] | None,
    decimal: str | None,
    separator: str,
    censored: str,
) -> Column:
    counts = column.value_counts()
    notation, disguise = "", NOTHING
    if given in (None, "numeric", "ordinal"):
        found = undisguised(str(column.name), [str(v) for v in counts.index], censored)
        if found:
            disguise = found
            column = column.map({v: plain_number(v, found) for v in counts.index})
            counts = column.value_counts()
        notation = _notation(str(column.name), list(counts.index), decimal, separator)
        if notation:  # then words for "missing" are no levels
            counts = counts[[value.lower() not in MISSING_AMONG_NUMBERS for value in counts.index]]
    values = [str(value) for value in counts.index]
    made: dict[str, Any] = {
        "name": str(column.name),
        "guessed": given is None,
        "n_missing": int(len(column) - counts.sum()),
        "n_values": len(values),
        "disguise": disguise,
        "grouped": bool(notation) and any(_GROUPS[notation].fullmatch(v) for v in values),
    }
    if isinstance(given, str) and given not in FEATURES:
        return Column(kind=given, why="given by you", **made)
    if given is not None and not isinstance(given, str):
        return _given_levels(values, [str(level).strip() for level in given], made)
    if len(values) < 2:
        why = f"one value only ({values[0]!r})" if values else "no value in any row"
        if values and made["n_missing"]:
            why += "; if the empty rows mean 'no', write it there"
        if given is not None:
            raise TableError(f"Column {column.name!r} has {why}; as {given} it takes two or more.")
        return Column(kind="constant", why=why, **made)
    if given == "nominal":
        return Column(kind="nominal", why="given by you", **_levels(values, counts, made))
    if given is not None:
        return _given_numbers(given, values, notation, made)
    return _guess_kind(column, counts, notation, made)


def _named_id(name: str) -> bool:
    """Whether a column has the name of an identifier: PatientID and patient_id are patient id."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return bool(_ID_NAME.search(" ".join(re.sub(r"[^a-z0-9]+", " ", apart.lower()).split())))


def _guess_kind(
    column: pd.Series, counts: pd.Series, notation: str, made: dict[str, Any]
) -> Column:
    values = [str(value) for value in counts.index]
    name = made["name"].lower()
    compact = all(_COMPACT_DATE.fullmatch(v) for v in values) and len(values) > 2
    compact |= bool(_DATE_NAME.search(name)) and all(re.fullmatch(r"\d{8}", v) for v in values)
    if compact or all(_DATE.fullmatch(value) for value in values):
        why = "dates; a duration, such as an age, would be a feature"
        return Column(kind="date", why=why, **made)
    if any(_LONG_CODE.fullmatch(value) for value in values):
        why = "whole numbers of 16 digits or more, which are codes"
        return Column(kind="identifier", why=why, **made)
    if not notation:
        _refuse_nearly_numbers(made["name"], counts, values)
        return _guess_text(counts, _named_id(made["name"]), made)
    numbers = _numbers(values, notation)
    _refuse_infinite(made["name"], values, numbers)
    if len(values) == 2:
        return Column(kind="nominal", why="two values", **_levels(values, counts, made))
    place = dict(zip(counts.index, numbers, strict=True))
    in_order = column.map(place).dropna().to_numpy(dtype=float)
    return _guess_among_numbers(numbers, in_order, notation, made)


def _guess_among_numbers(
    numbers: NDArray[np.float64],
    in_order: NDArray[np.float64],
    notation: str,
    made: dict[str, Any],
) -> Column:
    n_values, n_rows = len(numbers), len(in_order)
    plain = not (made["disguise"].unit or made["disguise"].limits)
    if np.all(numbers == np.round(numbers)):
        counts_rows = _counts_rows(in_order)
        if plain and counts_rows:
            return Column(kind="identifier", why=counts_rows, **made)
        named = _named_id(made["name"])
        if plain and named and n_values > MOST_ORDINAL:
            return Column(kind="identifier", why="whole numbers named like an identifier", **made)
        if n_values <= MOST_ORDINAL and n_rows >= 3 * n_values:
            made = {**made, "levels": tuple(np.sort(numbers).tolist()), "notation": notation}
            if plain and named:
                return Column(kind="nominal", why=f"{n_values} codes, by its name", **made)
            why = f"whole numbers with {n_values} values; numeric if you say so"
            return Column(kind="ordinal", why=why, **made)
    why = {"dot": "numbers", "comma": "numbers with a decimal comma"}[notation]
    return Column(
        kind="numeric", why=why + made["disguise"].in_words(), **{**made, "notation": notation}
    )


def _counts_rows(numbers: NDArray[np.float64]) -> str:
    """Say why whole numbers in file order look like a counter of rows or of persons; "" if not."""
    steps = np.diff(numbers)
    different = np.unique(numbers)
    if len(different) <= MOST_ORDINAL:
        return ""
    dense = len(different) / (different[-1] - different[0] + 1)
    if len(different) == len(numbers):
        rising = bool(np.all(steps > 0)) and bool(np.mean(steps == 1) >= 0.5)
        return "counts the rows" if rising or dense > 0.8 else ""
    # A counter of persons has runs: each value's rows stand together, and the next is one more.
    runs = bool(np.all((steps == 0) | (steps == 1))) and np.mean(steps == 0) >= 0.3
    return "counts persons, with several rows for some" if runs else ""


def _guess_text(counts: pd.Series, named_id: bool, made: dict[str, Any]) -> Column:
    values = [str(value) for value in counts.index]
    n_rows = int(counts.sum())
    levels = _levels(values, counts, made)
    n_levels = len(levels["levels"])
    order = _own_order(levels["levels"])
    if order:
        why = f"levels with an order of their own: {' < '.join(order)}"
        return Column(kind="ordinal", why=why, **{**levels, "levels": tuple(order)})
    few = n_levels <= MOST_NOMINAL and (n_levels == 2 or n_rows >= 2 * n_levels)
    if few and not (named_id and n_rows < 5 * n_levels):
        kind = "nominal" if n_levels > 1 else "constant"
        why = "two values" if n_levels == 2 else f"text with {n_levels} levels"
        if n_levels < len(values):
            why += f", spelt in {len(values)} ways that differ in case or spaces only"
        return Column(kind=kind, why=why, **levels)
    return Column(**_left_out(values, n_rows, named_id), **made)


#: Codes of this many different values at least are taken for persons where each has some rows.
FEWEST_PERSONS = 20


def _left_out(values: list[str], n_rows: int, named_id: bool) -> dict[str, Any]:
    """Say what text of too many values is."""
    if np.mean([bool(_TWO_NUMBERS.fullmatch(value)) for value in values]) > 0.9:
        why = f"two numbers in one cell, such as {values[0]!r}; make two columns of it"
        return {"kind": "text", "why": why}
    one_word = np.mean([" " not in value for value in values]) > 0.9
    if named_id or (one_word and len(values) > 0.9 * n_rows):
        return {"kind": "identifier", "why": "nearly every row has a code of its own"}
    coded = all(_MIXED_CODE.fullmatch(value) for value in values)
    if coded and len(values) >= FEWEST_PERSONS and n_rows >= 1.5 * len(values):
        return {"kind": "identifier", "why": "codes that repeat, one for each of some rows"}
    if one_word:
        why = f"text with {len(values)} values, too many to learn from {n_rows} rows"
        return {"kind": "text", "why": why}
    return {"kind": "text", "why": "free text"}


def _given_levels(values: list[str], order: list[str], made: dict[str, Any]) -> Column:
    if len(set(order)) < max(len(order), 2):
        raise fault("order_too_short", name=made["name"], order=order)
    known = {_folded(level) for level in order}
    unknown = [value for value in values if _folded(value) not in known]
    if unknown:
        raise fault("outside_order", name=made["name"], values=unknown[:5], order=order)
    why = f"given by you: {' < '.join(order)}"
    return Column(kind="ordinal", why=why, **{**made, "levels": tuple(order)})


def _given_numbers(kind: str, values: list[str], notation: str, made: dict[str, Any]) -> Column:
    """Make a column numeric or ordinal because its reader says so."""
    name = made["name"]
    if not notation and kind == "numeric" and all(_ISO_DATE.fullmatch(v) for v in values):
        if impossible := [value for value in values if not _is_date(value)]:
            raise TableError(f"Column {name!r} holds {impossible[0]!r}, which is no date.")
        return Column(kind="numeric", why="given by you: days", **{**made, "notation": "date"})
    if not notation and kind == "ordinal":
        order = _own_order(tuple(values))
        if order:
            return Column(kind="ordinal", why="given by you", **{**made, "levels": tuple(order)})
        example = "<".join(sorted(values)[:3])
        raise fault("no_order", name=name, values=values[:4], example=example)
    if not notation:
        wrong = next((repr(v) for v in values if not _is_number(v)), _in_two_notations(values))
        raise TableError(f"Column {name!r} holds {wrong}; as numeric it takes numbers.")
    numbers = _numbers(values, notation)
    _refuse_infinite(name, values, numbers)
    if kind == "ordinal":
        made = {**made, "levels": tuple(np.unique(numbers).tolist())}
    return Column(kind=kind, why="given by you", **{**made, "notation": notation})


def _levels(values: list[str], counts: pd.Series, made: dict[str, Any]) -> dict[str, Any]:
    """Add a column's levels: numbers if all are, else text, with spellings made one."""
    if all(_DOT.fullmatch(value) and not _CODE.fullmatch(value) for value in values):
        numbers = sorted({float(value) for value in values})
        return {**made, "levels": tuple(numbers), "notation": "dot"}
    return {**made, "levels": tuple(sorted(set(_spellings(values, counts).values())))}


def _folded(value: str) -> str:
    return " ".join(value.lower().split())


def _spellings(values: Sequence[str], counts: pd.Series) -> dict[str, str]:
    """Map each spelling to the most frequent of those that differ in case or spaces only."""
    chosen: dict[str, str] = {}
    for value in sorted(values, key=lambda value: (-int(counts[value]), value)):
        chosen.setdefault(_folded(value), value)
    return {value: chosen[_folded(value)] for value in values}


def _notation(name: str, values: list[str], decimal: str | None, separator: str) -> str:
    """Find out how a column writes numbers; "" if it holds anything else."""
    values = [value for value in values if value.lower() not in MISSING_AMONG_NUMBERS]
    finite = [value for value in values if not _INFINITE.fullmatch(value)]
    if not finite or any(_CODE.fullmatch(value) for value in finite):
        return ""
    if decimal is None and separator == ";" and any("," in value for value in finite):
        decimal = ","
    as_dot = all(_is_in("dot", value) for value in finite)
    as_comma = all(_is_in("comma", value) for value in finite)
    if decimal is not None:
        return {".": "dot" if as_dot else "", ",": "comma" if as_comma else ""}[decimal]
    if all(_DOT.fullmatch(value) for value in finite):
        return "dot"
    if as_dot and as_comma:
        either = next(value for value in finite if "," in value)
        raise fault("either_notation", name=name, value=either)
    return "dot" if as_dot else "comma" if as_comma else ""


def _in_mixed_notation(
    frame: pd.DataFrame, columns: Sequence[Column], decimal: str | None
) -> Iterator[str]:
    """Refuse 1.234 where another column has decimal commas: it may be a thousand."""
    comma = [column.name for column in columns if column.notation == "comma"]
    if decimal is not None or not comma:
        return
    for column in columns:
        values = frame[column.name].dropna().unique()
        if column.notation == "dot" and any("." in value for value in values):
            dotted = [value for value in values if "." in value]
            if all(_EITHER_DOT.fullmatch(value) for value in dotted):
                yield sentence("thousand", name=column.name, value=dotted[0], other=comma[0])


def _numbers(values: Sequence[str], notation: str) -> NDArray[np.float64]:
    """Read numbers; what isn't one becomes NaN."""
    made = []
    for value in values:
        if value.lower() in MISSING_AMONG_NUMBERS:
            made.append(math.nan)
        elif notation == "date":
            made.append((pd.Timestamp(value).tz_localize(None) - pd.Timestamp(0)).total_seconds())
        elif notation == "comma":
            made.append(float(value.replace(".", "").replace(",", ".")))
        else:
            made.append(float(value.replace(",", "")))
    numbers = np.array(made)
    return numbers / 86400 if notation == "date" else numbers


def _refuse_infinite(name: str, values: list[str], numbers: NDArray[np.float64]) -> None:
    infinite = [value for value, x in zip(values, numbers, strict=True) if np.isinf(x)]
    if infinite:
        raise fault("infinite", name=name, value=infinite[0])


def _is_date(value: str) -> bool:
    try:
        pd.Timestamp(value)
    except ValueError:
        return False
    return bool(_ISO_DATE.fullmatch(value))


def _is_in(notation: str, value: str) -> bool:
    return bool(_PLAIN[notation].fullmatch(value) or _GROUPS[notation].fullmatch(value))


def _is_number(value: str) -> bool:
    return any(_is_in(notation, value) for notation in _PLAIN)


def _in_two_notations(values: list[str]) -> str:
    """Say why values that each are a number are none together."""
    for value in values:
        if _CODE.fullmatch(value):
            return f"{value!r}, which its leading zero makes a code"
    not_dot = [v for v in values if not _is_in("dot", v)]
    not_comma = [v for v in values if not _is_in("comma", v)]
    if not_dot and not_comma:
        return f"{not_dot[0]!r} and {not_comma[0]!r}, which are not of one notation"
    return f"{(not_dot or not_comma)[0]!r}, whose decimal mark is not the one given"


def _refuse_nearly_numbers(name: str, counts: pd.Series, values: list[str]) -> None:
    """Refuse a column of numbers with a few words in it: dropping it silently could cost most."""
    if any(_CODE.fullmatch(value) for value in values):
        return
    odd = [value for value in values if not _is_number(value)]
    if not odd:
        raise fault("two_notations", name=name, what=_in_two_notations(values))
    n_numbers = len(values) - len(odd)
    share = 1 - counts[odd].sum() / counts.sum()
    if share < 0.8 or n_numbers < 5:
        return
    raise fault("nearly_numbers", name=name, share=100 * share, value=odd[0], n=counts[odd[0]])


def _own_order(levels: Sequence[str]) -> list[str]:
    """Return levels in an order that their words have: a known scale, ranks, bands; [] if none."""
    if not 3 <= len(levels) <= MOST_NOMINAL or any(_CODE.fullmatch(level) for level in levels):
        return []
    lowered = {_folded(level): level for level in levels}
    for scale in map(str.split, WORDS["scales"]):
        if set(lowered) <= set(scale):
            return [lowered[word] for word in scale if word in lowered]
    ranks = {level: _RANKED.fullmatch(level) for level in lowered}
    prefixes = {(match[1] or "") if match else None for match in ranks.values()}
    if len(prefixes) == 1 and None not in prefixes:
        placed = {m[2]: lowered[level] for level, m in ranks.items() if m}
        places = {text: _ROMAN.get(text) or (int(text) if text.isdigit() else 0) for text in placed}
        if all(places.values()) and len(set(places.values())) == len(levels):
            return [placed[text] for text in sorted(placed, key=places.__getitem__)]
    if all(_BAND.fullmatch(level) for level in lowered):
        start = {level: _band_start(level) for level in lowered}
        if len(set(start.values())) == len(levels):
            return [lowered[level] for level in sorted(lowered, key=start.__getitem__)]
    return []


def _band_start(level: str) -> float:
    """Return where a band such as 40-49, <40 or 60+ begins."""
    numbers = [float(number) for number in re.findall(r"\d+", level)]
    return numbers[0] - 0.5 if level[0] in "<≤" else numbers[0] + (level[0] in ">≥") / 2


def _feature(column: pd.Series, about: Column) -> pd.Series:
    if about.disguise:
        written = column.dropna().unique()
        column = column.map({value: plain_number(value, about.disguise) for value in written})
    present = column.dropna()
    values = list(present.unique())
    if about.notation:
        as_number = dict(zip(values, _numbers(values, about.notation), strict=True))
        return column.map(as_number).astype(float)
    if about.kind == "ordinal":
        rank = {_folded(level): float(i) for i, level in enumerate(about.levels)}
        return column.map({v: rank[_folded(v)] for v in values}).astype(float)
    known = {_folded(level): level for level in about.levels}
    return column.map({v: known[_folded(v)] for v in values})


def misfits(column: pd.Series, about: Column) -> Iterator[str]:
    """Say which cells of new rows cannot be read as a column was read before.

    Parameters
    ----------
    column : Series of str
        Indexed by the file's line; NaN where there is none.
    about : Column
        A feature, as it was read before.

    Yields
    ------
    str
        One sentence for all wrong cells, with the first of them and its line.

    Examples
    --------
    >>> (ward,) = guess_columns(pd.DataFrame({"ward": ["north", "south", "north"]}))
    >>> for fault in misfits(pd.Series(["South", "nord"], index=[2, 3], name="ward"), ward):
    ...     print(fault)
    Column 'ward' holds 'nord' in line 3; it takes north, south.
    """
    present = column.dropna()
    wrong = [value for value in present.unique() if not _fits(value, about)]
    if wrong:
        lines = present.index[present.isin(wrong)]
        levels = about.levels if about.kind == "nominal" or not about.notation else ()
        takes = ", ".join(f"{level:g}" if isinstance(level, float) else level for level in levels)
        example = f", such as {about.disguise.example}" if about.disguise else ""
        numbers = {"comma": "numbers with a decimal comma", "date": "dates such as 2024-01-31"}
        takes = takes or numbers.get(about.notation, "numbers") + example
        facts = {"line": lines[0], "n_more": len(lines) - 1, "takes": takes}
        yield sentence("misfits", name=about.name, value=present[lines[0]], **facts)


def _fits(value: str, about: Column) -> bool:
    """Whether a cell can be read as its column was."""
    try:
        plain = plain_number(value, about.disguise) if about.disguise else value
    except TableError:
        return False
    if not about.notation:
        return _folded(plain) in {_folded(level) for level in about.levels}
    if plain.lower() in MISSING_AMONG_NUMBERS:
        return True
    if about.notation == "date":
        return _is_date(plain)
    in_groups = about.grouped and _GROUPS[about.notation].fullmatch(plain)
    if not (in_groups or _PLAIN[about.notation].fullmatch(plain)):
        return False
    number = _numbers([plain], about.notation)[0]
    return bool(np.isfinite(number)) and (about.kind != "nominal" or number in about.levels)
