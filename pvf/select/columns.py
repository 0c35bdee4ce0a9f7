"""What kind each column of a table of text is: guessed, said with the reason, and overridable.

Three kinds are features: *numeric*, *ordinal* and *nominal*, as in section 3.2 of the paper, where
each is perturbed in its own way. The others are left out: *identifier*, *date*, *text*,
*constant*, and *ignored*, which is never guessed. A reader gives kinds by words, or in a TOML file
that was written for it.
"""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pvf._text import on_console, one_line
from pvf.select.sentences import (
    PATTERNS,
    WORDS,
    TableError,
    closest,
    fault,
    lines,
    quoted,
    refuse_all,
    sentence,
)

FEATURES = ("numeric", "ordinal", "nominal")
NO_FEATURES = ("identifier", "date", "text", "constant", "ignored")
KINDS = (*FEATURES, *NO_FEATURES)

#: Whole numbers with this many values at most, and text with this many, are taken for levels.
MOST_ORDINAL, MOST_NOMINAL = 10, 30
MISSING_AMONG_NUMBERS = WORDS["missing_among_numbers"]
#: How decimals are written.
NOTATIONS = ("dot", "comma")

_READ: dict[str, Callable[[str], float]] = {
    "dot": lambda value: float(value.replace(",", "")),
    "comma": lambda value: float(value.replace(".", "").replace(",", ".")),
    "date": lambda value: pd.Timestamp(value).tz_localize(None).timestamp() / 86400,
}
#: What a value below a limit, such as <0.01, is read as.
CENSORED: dict[str, Callable[[float], float]] = {
    "limit": lambda limit: limit,
    "half": lambda limit: limit / 2,
    "sqrt2": lambda limit: limit / math.sqrt(2),
}
_GAPS = re.compile("(?<=\\d)[ \u00a0\u2007\u2009\u202f'\u2019](?=\\d{3}(?!\\d))")
_MINUS = re.compile("^([<>\u2264\u2265]=?\\s*)?[\u2212\u2010-\u2014](?=[\\d.,])")
_CELL = re.compile(
    r"(?P<limit>[<>≤≥]=?)?\s*(?P<money>[$€£¥]|CHF|EUR|USD|GBP)?\s*"
    r"(?P<number>[+-]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][+-]?\d+)?)"
    r"(?P<space>\s*)(?P<unit>[%‰°µμ]?[A-Za-zµμ°$€£¥²³/^0-9*·]*[A-Za-z²³$€£¥]|[%‰°])?"
)
_UNITS = frozenset(WORDS["units"].split())
_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8}


@dataclass(frozen=True)
class Disguise:
    """What is written beside a column's numbers.

    Attributes
    ----------
    unit : str
        The one unit, currency or % that all cells have.
    limits : str
        How a value below a limit is read, one of `CENSORED`; "" where the column has no limits.
    example : str
        A cell as it is written.
    """

    unit: str = ""
    limits: str = ""
    example: str = ""

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.example)

    def in_words(self) -> str:
        """Say how a cell is read, to stand behind the reason for a kind."""
        if not self:
            return ""
        return f"; {self.example!r} is read as {plain_number(self.example, self)}" + (
            " (--censored limit, half or sqrt2 for what is below a limit)" if self.limits else ""
        )


NOTHING = Disguise()


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
    faults: dict[str, str] | None = None,
) -> list[Column]:
    """Guess what kind each column of text is.

    Parameters
    ----------
    frame : DataFrame
        Text, NaN where there is none; as `pvf.select.read.read_csv_table` makes it.
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
    faults : dict of str to str, optional
        Takes what would be raised, by column; a column that cannot be read is left out.

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
    columns, found = [], {}
    for name in frame.columns:
        try:
            columns.append(_guess(frame[name], given.get(name), decimal, separator, censored))
        except TableError as error:
            found[str(name)] = str(error)
    found |= _in_mixed_notation(frame, columns, decimal)
    if faults is None:
        refuse_all(list(found.values()))
    else:
        faults |= found
    return columns


def kinds_frame(columns: Sequence[Column]) -> pd.DataFrame:
    """Return what was guessed as a table for people."""
    titles, how = ["kind", "guessed", "missing", "values", "why"], {True: "guessed", False: "given"}
    rows = [(c.kind, how[c.guessed], c.n_missing, c.n_values, c.why) for c in columns]
    return pd.DataFrame(rows, pd.Index([c.name for c in columns], name="column"), titles)


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
    column: pd.Series, given: Any, decimal: str | None, separator: str, censored: str
) -> Column:
    """Return what one column is taken for."""
    name, notation, disguise = str(column.name), "", NOTHING
    counts = column.value_counts()
    if given in (None, "numeric", "ordinal"):
        disguise = undisguised(name, list(counts.index), censored) or NOTHING
        if disguise:
            column = column.map({v: plain_number(v, disguise) for v in counts.index})
            counts = column.value_counts()
        notation = _notation(name, list(counts.index), decimal, separator)
        if notation:  # then words for "missing" are no levels
            counts = counts[[v.lower() not in MISSING_AMONG_NUMBERS for v in counts.index]]
    base = Column(
        name=name,
        kind="",
        guessed=given is None,
        n_missing=int(len(column) - counts.sum()),
        n_values=len(counts),
        disguise=disguise,
        grouped=bool(notation) and _any(f"groups_{notation}", counts.index),
    )
    if given is not None:
        return _as_given(base, given, counts, notation)
    of_kind = _of_numbers(base, column, counts, notation) if notation else _of_text(base, counts)
    rules = itertools.chain(_for_all(base, counts), of_kind)
    _, kind, reason, kept = next(rule for rule in rules if rule[0])
    return replace(base, kind=kind, why=_reason(reason, base, counts, kept), **kept)


def _reason(reason: str, base: Column, counts: pd.Series, kept: Mapping[str, Any]) -> str:
    """Return a sentence of the template's part on why a column is taken for what it is."""
    facts = {"values": list(counts.index), "n_rows": int(counts.sum()), "kept": kept}
    return sentence(reason, it=base, **facts)


#: Codes of this many different values at least are taken for persons where each has some rows.
FEWEST_PERSONS = 20
#: Whether a rule holds, the kind that a column is taken for then, the sentence that says why, and
#: what it keeps.
_Rule = tuple[Any, str, str, dict[str, Any]]


def _for_all(base: Column, counts: pd.Series) -> list[_Rule]:
    """Return the rules for what is left out whether or not it is a number."""
    values = list(counts.index)
    eight = PATTERNS["date_name"].search(base.name.lower()) and _all("eight_digits", values)
    compact = eight or (len(values) > 2 and _all("compact_date", values))
    dated = any(_all(pattern, values) for pattern in ("date", "month", "time"))
    return [
        (len(values) < 2, "constant", "one_value", {}),
        (compact or dated, "date", "dates", {}),
        (_any("long_code", values), "identifier", "long_codes", {}),
    ]


def _of_numbers(
    base: Column, column: pd.Series, counts: pd.Series, notation: str
) -> Iterator[_Rule]:
    numbers = _finite(base.name, list(counts.index), notation)
    n_values, whole = len(numbers), bool(np.all(numbers == np.round(numbers)))
    bare = whole and not (base.disguise.unit or base.disguise.limits)
    named = bare and _named_id(base.name)
    few = whole and n_values <= MOST_ORDINAL and counts.sum() >= 3 * n_values
    place = dict(zip(counts.index, numbers, strict=True))
    counting = _counting(column.map(place).dropna().to_numpy(float)) if bare else ""
    levels = {"levels": tuple(np.sort(numbers).tolist()), "notation": notation}
    yield from [
        (n_values == 2, "nominal", "two_values", _levels(counts)),
        (counting, "identifier", counting, {}),
        (named and n_values > MOST_ORDINAL, "identifier", "named_like_one", {}),
        (few and named, "nominal", "codes_by_name", levels),
        (few, "ordinal", "whole_numbers", levels),
        (True, "numeric", "numbers", {"notation": notation}),
    ]


def _counting(numbers: NDArray[np.float64]) -> str:
    """Return what whole numbers in file order look like a counter of; "" if of nothing."""
    steps, different = np.diff(numbers), np.unique(numbers)
    if len(different) <= MOST_ORDINAL:
        return ""
    if len(different) == len(numbers):
        rising = bool(np.all(steps > 0)) and bool(np.mean(steps == 1) >= 0.5)
        dense = len(different) / (different[-1] - different[0] + 1) > 0.8
        return "counts_rows" if rising or dense else ""
    # A counter of persons has runs: each value's rows stand together, and the next is one more.
    runs = bool(np.all((steps == 0) | (steps == 1))) and np.mean(steps == 0) >= 0.3
    return "counts_persons" if runs else ""


def _of_text(base: Column, counts: pd.Series) -> Iterator[_Rule]:
    _refuse_nearly_numbers(base.name, counts)
    values, n_rows = list(counts.index), int(counts.sum())
    kept, named = _levels(counts), _named_id(base.name)
    n_levels, order = len(kept["levels"]), _own_order(kept["levels"])
    few = n_levels <= MOST_NOMINAL and (n_levels == 2 or n_rows >= 2 * n_levels)
    few = few and not (named and n_rows < 5 * n_levels)
    one_word = np.mean([" " not in value for value in values]) > 0.9
    own_code = (named or one_word) and len(values) > 0.9 * n_rows
    coded = _all("mixed_code", values) and FEWEST_PERSONS <= len(values) <= n_rows / 1.5
    pairs = np.mean([_is("two_numbers", value) for value in values]) > 0.9
    yield from [
        (order, "ordinal", "own_order", {**kept, "levels": tuple(order)}),
        (few, "nominal" if n_levels > 1 else "constant", "few_levels", kept),
        (pairs, "text", "two_numbers", {}),
        (own_code, "identifier", "own_codes", {}),
        (named, "identifier", "called_one", {}),
        (coded, "identifier", "repeated_codes", {}),
        (one_word, "text", "many_values", {}),
        (True, "text", "free_text", {}),
    ]


def _named_id(name: str) -> bool:
    """Whether a column has the name of an identifier: PatientID and patient_id are patient id."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return bool(PATTERNS["id_name"].search(re.sub(r"[^a-z0-9]+", " ", apart.lower()).strip()))


def _as_given(base: Column, given: Any, counts: pd.Series, notation: str) -> Column:
    """Return a column as its reader says that it is."""
    name, values = base.name, list(counts.index)
    if not isinstance(given, str):
        return _in_given_order(base, values, [str(level).strip() for level in given])
    taken = partial(replace, base, kind=given, why="given by you")
    if given in NO_FEATURES:
        return taken()
    if len(values) < 2:
        why = _reason("one_value", base, counts, {})
        raise TableError(f"Column {name!r} has {why}; as {given} it takes two or more.")
    if given == "nominal":
        return taken(**_levels(counts))
    if notation:
        numbers = _finite(name, values, notation)
        levels = tuple(np.unique(numbers).tolist()) if given == "ordinal" else ()
        return taken(notation=notation, levels=levels)
    if given == "ordinal":
        if order := _own_order(values):
            return taken(levels=tuple(order))
        example = "<".join(sorted(values)[:3])
        raise fault("no_order", name=name, values=values[:4], example=example)
    if not _all("iso_date", values):
        wrong = next((repr(v) for v in values if not _is("number", v)), _in_two_notations(values))
        raise TableError(f"Column {name!r} holds {wrong}; as numeric it takes numbers.")
    if impossible := [value for value in values if not _is_date(value)]:
        raise TableError(f"Column {name!r} holds {impossible[0]!r}, which is no date.")
    return taken(why="given by you: days", notation="date")


def _in_given_order(base: Column, values: list[str], order: list[str]) -> Column:
    if len(set(order)) < max(len(order), 2):
        raise fault("order_too_short", name=base.name, order=order)
    known = {_folded(level) for level in order}
    if unknown := [value for value in values if _folded(value) not in known]:
        raise fault("outside_order", name=base.name, values=unknown[:5], order=order)
    why = f"given by you: {' < '.join(order)}"
    return replace(base, kind="ordinal", why=why, levels=tuple(order))


def _levels(counts: pd.Series) -> dict[str, Any]:
    """Return levels: numbers if all are, else text, each in the most frequent of its spellings."""
    values = list(counts.index)
    if _all("plain_dot", values) and not _any("code", values):
        return {"levels": tuple(sorted({float(value) for value in values})), "notation": "dot"}
    spelt: dict[str, str] = {}
    for value in sorted(values, key=lambda value: (-int(counts[value]), value)):
        spelt.setdefault(_folded(value), value)
    return {"levels": tuple(sorted(spelt.values()))}


def _is(pattern: str, value: str) -> bool:
    return bool(PATTERNS[pattern].fullmatch(value))


def _all(pattern: str, values: Iterable[str]) -> bool:
    return all(_is(pattern, value) for value in values)


def _any(pattern: str, values: Iterable[str]) -> bool:
    return any(_is(pattern, value) for value in values)


def _folded(value: str) -> str:
    return " ".join(value.lower().split())


def _notation(name: str, values: list[str], decimal: str | None, separator: str) -> str:
    """Find out how a column writes numbers; "" if it holds anything else."""
    values = [value for value in values if value.lower() not in MISSING_AMONG_NUMBERS]
    finite = [value for value in values if not _is("infinite", value)]
    if not finite or _any("code", finite):
        return ""
    if decimal is None and separator == ";" and any("," in value for value in finite):
        decimal = ","
    able = [notation for notation in NOTATIONS if _all(notation, finite)]
    if decimal is not None:
        return "".join({*able} & {{".": "dot", ",": "comma"}[decimal]})
    if len(able) == 2 and not _all("plain_dot", finite):
        either = next(value for value in finite if "," in value)
        raise fault("either_notation", name=name, value=either)
    return able[0] if able else ""


def _in_mixed_notation(
    frame: pd.DataFrame, columns: Sequence[Column], decimal: str | None
) -> dict[str, str]:
    """Refuse 1.234 where another column has decimal commas: it may be a thousand."""
    comma = [column.name for column in columns if column.notation == "comma"]
    faults = {}
    for name in [column.name for column in columns if column.notation == "dot" and comma]:
        dotted = [value for value in frame[name].dropna().unique() if "." in value]
        if decimal is None and dotted and _all("either_dot", dotted):
            faults[name] = sentence("thousand", name=name, value=dotted[0], other=comma[0])
    return faults


def _numbers(values: Sequence[str], notation: str) -> NDArray[np.float64]:
    """Read numbers; what isn't one becomes NaN."""
    gone, read = MISSING_AMONG_NUMBERS, _READ[notation]
    return np.array([math.nan if value.lower() in gone else read(value) for value in values])


def _finite(name: str, values: list[str], notation: str) -> NDArray[np.float64]:
    numbers = _numbers(values, notation)
    if np.isinf(numbers).any():
        raise fault("infinite", name=name, value=values[int(np.isinf(numbers).argmax())])
    return numbers


def _is_date(value: str) -> bool:
    try:
        pd.Timestamp(value)
    except ValueError:
        return False
    return _is("iso_date", value)


def _in_two_notations(values: list[str]) -> str:
    """Say why values that each are a number are none together."""
    if codes := [value for value in values if _is("code", value)]:
        return f"{codes[0]!r}, which its leading zero makes a code"
    not_dot, not_comma = ([v for v in values if not _is(mark, v)] for mark in NOTATIONS)
    if not_dot and not_comma:
        return f"{not_dot[0]!r} and {not_comma[0]!r}, which are not of one notation"
    return f"{(not_dot or not_comma)[0]!r}, whose decimal mark is not the one given"


def _refuse_nearly_numbers(name: str, counts: pd.Series) -> None:
    """Refuse a column of numbers with a few words in it: dropping it silently could cost most."""
    values = list(counts.index)
    if _any("code", values):
        return
    odd = [value for value in values if not _is("number", value)]
    if not odd:
        raise fault("two_notations", name=name, what=_in_two_notations(values))
    marked = [] if _named_id(name) else [value for value in values if _is("marked", value)]
    many = len(marked) > MOST_NOMINAL and counts[marked].sum() >= 0.8 * counts.sum()
    share = 1 - counts[odd].sum() / counts.sum()
    if many or (share >= 0.8 and len(values) - len(odd) >= 5):
        raise fault("nearly_numbers", name=name, share=100 * share, value=odd[0], n=counts[odd[0]])


def _own_order(levels: Sequence[str]) -> list[str]:
    """Return levels in an order that their words have: a known scale, ranks, bands; [] if none."""
    if not 3 <= len(levels) <= MOST_NOMINAL or _any("code", levels):
        return []
    lowered = {_folded(level): level for level in levels}
    prefixes = {match[1] for match in map(PATTERNS["ranked"].fullmatch, lowered) if match}
    scales: list[Any] = [
        dict(zip(scale.split(), itertools.count())).get for scale in WORDS["scales"]
    ]
    for place_of in (*scales, *[_rank] * (len(prefixes) == 1), _band_start):
        places: dict[str, Any] = {word: place_of(word) for word in lowered}
        if None not in places.values() and len(set(places.values())) == len(lowered):
            return [lowered[word] for word in sorted(places, key=places.__getitem__)]
    return []


def _rank(level: str) -> int | None:
    """Return the place of a stage, a grade or another number in Arabic or Roman figures."""
    match = PATTERNS["ranked"].fullmatch(level)
    if match is None:
        return None
    return _ROMAN.get(match[2]) or (int(match[2]) if match[2].isdigit() else 0) or None


def _band_start(level: str) -> float | None:
    """Return where a band such as 40-49, <40 or 60+ begins."""
    if not _is("band", level):
        return None
    first = float(re.findall(r"\d+", level)[0])
    return first - 0.5 if level[0] in "<≤" else first + (level[0] in ">≥") / 2


def _feature(column: pd.Series, about: Column) -> pd.Series:
    read = _reader(about)
    made = column.map({value: read(value) for value in column.dropna().unique()})
    return made.astype(float) if about.notation or about.kind == "ordinal" else made


def _reader(about: Column) -> Callable[[str], Any]:
    """Return what reads a cell of a feature as models take it; None of a cell that does not fit."""
    pattern = about.notation if about.grouped else f"plain_{about.notation}"
    pattern = "iso_date" if about.notation == "date" else pattern
    words = {
        _folded(level): float(place) if about.is_ranked else level
        for place, level in enumerate(() if about.notation else about.levels)
    }

    def read(value: str) -> Any:
        try:
            plain = plain_number(value, about.disguise) if about.disguise else value
            if not about.notation or plain.lower() in MISSING_AMONG_NUMBERS:
                return math.nan if about.notation else words.get(_folded(plain))
            number = _READ[about.notation](plain) if _is(pattern, plain) else math.inf
        except ValueError:  # another unit, or a date that there is not
            return None
        known = about.kind != "nominal" or number in about.levels
        return number if known and math.isfinite(number) else None

    return read


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
    present, read = column.dropna(), _reader(about)
    wrong = [value for value in present.unique() if read(value) is None]
    if wrong:
        lines = present.index[present.isin(wrong)]
        levels = about.levels if about.kind == "nominal" or not about.notation else ()
        takes = ", ".join(f"{level:g}" if isinstance(level, float) else level for level in levels)
        example = f", such as {about.disguise.example}" if about.disguise else ""
        numbers = {"comma": "numbers with a decimal comma", "date": "dates such as 2024-01-31"}
        takes = takes or numbers.get(about.notation, "numbers") + example
        facts = {"line": lines[0], "n_more": len(lines) - 1, "takes": takes}
        yield sentence("misfits", name=about.name, value=present[lines[0]], **facts)


# --- numbers in disguise --------------------------------------------------------------------------


def undisguised(name: str, values: Sequence[str], censored: str) -> Disguise | None:
    """Find out what is written beside the numbers of a column.

    Parameters
    ----------
    name : str
        The column's, for errors.
    values : sequence of str
        Its different cells.
    censored : str
        One of `CENSORED`.

    Returns
    -------
    Disguise or None
        None where cells are plain numbers, or no numbers at all.

    Raises
    ------
    TableError
        If cells have different units, or only some of them have one.

    Examples
    --------
    >>> undisguised("weight", ["72 kg", "61.5 kg"], "limit")
    Disguise(unit='kg', limits='', example='72 kg')
    >>> undisguised("troponin", ["0.2", "<0.01", "0.35", "0.4"], "half").limits
    'half'
    """
    cells = {value: cell for value in values if (cell := _cell(value))}
    odd = [value for value, (_, number, _) in cells.items() if number != value]
    limited = [value for value, (limit, _, _) in cells.items() if limit]
    # Fewer numbers without a limit are bands, such as <40 and >=40.
    if not odd or len(cells) < len(values) or (limited and len(cells) - len(limited) < 3):
        return None
    units = {unit: value for value, (_, _, unit) in cells.items()}
    if len(units) > 1:
        shown = " and ".join(repr(value) for value in list(units.values())[:2])
        raise fault("unit", name=name, values=shown)
    return Disguise(next(iter(units)), censored if limited else "", (limited or odd)[0])


def plain_number(value: str, disguise: Disguise) -> str:
    """Return a cell's number as plain text; a cell that is none stays as it is.

    Parameters
    ----------
    value : str
    disguise : Disguise
        The column's.

    Returns
    -------
    str

    Raises
    ------
    TableError
        If the cell has another unit than the column.

    Examples
    --------
    >>> plain_number("123 456 kg", Disguise("kg", example="1 kg"))
    '123456'
    >>> plain_number("<0.01", Disguise(limits="half", example="<0.01"))
    '0.005'
    """
    cell = _cell(value)
    if cell is None:
        return value
    limit, number, unit = cell
    if unit != disguise.unit:
        raise TableError(f"{value!r} has another unit than {disguise.example!r}.")
    if not limit.startswith(("<", "≤")) or disguise.limits == "limit":
        return number
    read = CENSORED[disguise.limits or "limit"](float(number.replace(",", ".")))
    comma = "," in number and "." not in number
    return f"{read:.12g}".replace(".", ",") if comma else f"{read:.12g}"


def _cell(value: str) -> tuple[str, str, str] | None:
    """Return a cell's limit, number, and unit, which is a known one or a word apart; or None."""
    hyphen = _MINUS.sub(lambda sign: (sign[1] or "") + "-", value)
    cell = _CELL.fullmatch(_GAPS.sub("", hyphen))
    if cell is None:
        return None
    unit = cell["unit"] or ""
    apart = cell["space"] and not unit[:1].isdigit()
    if unit and unit.lower() not in _UNITS and not apart:
        return None
    return cell["limit"] or "", cell["number"], (cell["money"] or unit).strip()


def columns_as_toml(frame: pd.DataFrame, name: str, **reading: Any) -> str:
    r"""Guess the kind of each column, and write it as TOML with the reason behind it.

    Parameters
    ----------
    frame : DataFrame
        Text, NaN where there is none.
    name : str
        The file's.
    **reading
        As `pvf.select.columns.guess_columns` takes it.

    Returns
    -------
    str
        A column that cannot be read is a comment, so that it is refused until somebody says more.

    Examples
    --------
    >>> frame = pd.DataFrame({"grade": ["low", "high", "low", "medium"]})
    >>> print(columns_as_toml(frame, "a.csv").splitlines()[-1])
    "grade" = ["low", "medium", "high"]  # levels with an order of their own: low < medium < high
    """
    rows = [
        (_toml(column), kind and _toml(kind), one_line(why))
        for column, (kind, why) in _guesses(frame, reading).items()
    ]
    return "\n".join([*lines("columns_file", name=quoted(one_line(name)), rows=rows), ""])


def parse_kinds(
    given: str | Sequence[str] | Mapping[str, str | Sequence[Any]],
) -> dict[str, str | list[str]]:
    """Read kinds as a command line or a notebook's parameter gives them.

    Parameters
    ----------
    given : str, sequence of str, or mapping
        Each ``"column=kind"`` or ``"column=ordinal:low<mid<high"``; a mapping is one of columns
        to kinds.

    Returns
    -------
    dict
        As `guess_columns` takes it.

    Raises
    ------
    TableError
        If one is of another form.

    Examples
    --------
    >>> parse_kinds(["ward=nominal", "pain=ordinal:none<some<much"])
    {'ward': 'nominal', 'pain': ['none', 'some', 'much']}
    """
    kinds: dict[str, str | list[str]] = {}
    if isinstance(given, Mapping):
        listed = {str(name): kind for name, kind in given.items() if isinstance(kind, list | tuple)}
        kinds |= {name: [str(level).strip() for level in kind] for name, kind in listed.items()}
        given = [f"{name}={kind}" for name, kind in given.items() if str(name) not in listed]
    for text in [given] if isinstance(given, str) else given:
        if not isinstance(text, str):
            raise TableError(f"kinds holds {text!r}; each takes COLUMN=KIND, as in ward=nominal.")
        column, equals, kind = text.rpartition("=")
        if not equals or not column or not kind:
            raise TableError(f"{text!r} is not COLUMN=KIND, as in ward=nominal.")
        name, colon, order = kind.partition(":")
        if colon and name != "ordinal":
            raise TableError(f"{text!r}: only ordinal takes levels, not {name!r}.")
        kinds[column] = [level.strip() for level in order.split("<")] if colon else kind
    return kinds


def read_columns(path: str | Path) -> dict[str, str | list[str]]:
    """Read a file that `columns_as_toml` wrote and somebody changed.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    dict
        Of columns to kinds, as `pvf.select.columns.guess_columns` takes them.

    Raises
    ------
    TableError
        The file cannot be read, is no TOML, or has no ``[columns]`` of kinds.
    """
    shown = on_console(str(path))
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise TableError(f"{shown}: cannot be read ({error.strerror}).") from error
    except ValueError as error:  # no TOML, or no UTF-8
        raise TableError(f"{shown}: is no TOML ({error}).") from error
    kinds = content.get("columns")
    if set(content) != {"columns"} or not isinstance(kinds, dict):
        raise TableError(f"{shown}: takes one table, [columns], as `pvf columns` writes it.")
    for name, kind in kinds.items():
        levels = kind if isinstance(kind, list) else [kind]
        if not levels or not all(isinstance(level, str) for level in levels):
            raise TableError(f"{shown}: {name!r} is {kind!r}; it takes a kind or a list of levels.")
    return kinds


def without_guesses(
    frame: pd.DataFrame, listed: Mapping[str, Any], **reading: Any
) -> dict[str, Any]:
    """Return of listed kinds those that are not what is guessed: the reader's own word.

    Parameters
    ----------
    frame : DataFrame
        As in `columns_as_toml`.
    listed : mapping
        From `read_columns`.
    **reading
        As in `columns_as_toml`.

    Returns
    -------
    dict
        A column whose line nobody changed is still checked as one that was guessed.
    """
    guesses = _guesses(frame[[name for name in listed if name in frame.columns]], reading)
    return {name: kind for name, kind in listed.items() if guesses.get(name, ("",))[0] != kind}


def _guesses(
    frame: pd.DataFrame, reading: Mapping[str, Any]
) -> dict[str, tuple[str | list[str], str]]:
    """Return each column's kind and the reason; "" and the fault where it cannot be read."""
    faults: dict[str, str] = {}
    columns = guess_columns(frame, **reading, faults=faults)
    found: dict[str, tuple[str | list[str], str]] = {n: ("", why) for n, why in faults.items()}
    for column in columns:
        found[column.name] = list(column.levels) if column.is_ranked else column.kind, column.why
    return {name: found[name] for name in frame.columns}


def _toml(value: str | list[str]) -> str:
    """Return a TOML string, in which what is not plain is written by its number, or a list."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    plain = (c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in value)
    return f'"{"".join(plain)}"'
