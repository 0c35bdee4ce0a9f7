"""A reader's own table with an outcome: read as text, understood column by column, or refused.

What is refused names the column or line, what it holds and what is taken instead. What is done
about the rest is said in notes, and what may still spoil a result in cautions. `pvf.select.choose`
selects a model from it.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from pvf._text import on_console, one_line, shortened
from pvf.select.columns import (
    FEATURES,
    NO_FEATURES,
    Column,
    feature_frame,
    guess_columns,
    parse_kinds,
    read_columns,
    without_guesses,
)
from pvf.select.sentences import (
    PATTERNS,
    WORDS,
    TableError,
    closest,
    fault,
    paragraphs,
    refuse_all,
    sentence,
)
from pvf.select.settings import Cells, Reading

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
#: How a value that isn't there is written, in lower case.
MISSING = ("", "na", "n/a", "n.a.", "#n/a", "nan", "<na>", "null", "nil", "?", "-", "--", ".")
#: Columns of more different words have no spelling of "missing" among their levels.
MOST_WORDS = 30
BINARY = {b"PK": "a spreadsheet or zip file", b"\x1f\x8b": "a gzip file", b"PAR1": "a Parquet file"}
#: How a text begins that says its encoding itself.
MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8"}
#: Characters that no text has: zero, and halves of characters, which no file can be written with.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")
#: Patients that the smaller class must have.
FEWEST_CASES = 10
#: Feature columns that tell the classes apart this well are named as possible leaks.
SUSPICIOUS_AUC = 0.98
#: Numbers that often stand for a missing value.
CODES_OF_MISSING = (-9, -99, -999, -9999, 999, 9999)
#: What a caution does to a recommendation.
WEIGHTS = ("forbids", "weakens", "informs")
#: Tells whether a column has the name of what holds several persons.
_is_cluster = PATTERNS["cluster"].match


@dataclass(frozen=True)
class CsvTable:
    """A CSV file as text.

    Attributes
    ----------
    frame : DataFrame
        Text in every cell, stripped; NaN where the file has none. Indexed by the file's line.
    separator, encoding : str
        What the file was read with.
    missing : tuple of str
        The spellings of a missing value, in lower case.
    notes : tuple of str
        What a reader should know about how it was read.
    sha256 : str
        The file's checksum.
    """

    frame: pd.DataFrame
    separator: str
    encoding: str
    missing: tuple[str, ...] = MISSING
    notes: tuple[str, ...] = ()
    sha256: str = ""


def read_csv_table(
    path: str | Path,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    missing: str | float | Sequence[str] = (),
    missing_spellings: Sequence[str] | None = None,
    alone: str = "",
    fits: Callable[[int, Sequence[str]], None] | None = None,
) -> CsvTable:
    r"""Read a CSV file with a header line; every cell stays text.

    Parameters
    ----------
    path : path-like
        The file.
    separator : str, optional
        One character; by default the one of comma, semicolon, tab and bar that makes a table.
    encoding : str, optional
        By default UTF-8 or UTF-16 by their marks, then UTF-8, then Windows-1252, which is noted.
    missing : str, number or sequence of str
        Further spellings of a missing value, such as ``"-999"``, beside the usual ones.
    missing_spellings : sequence of str, optional
        All spellings of a missing value, in place of the usual ones; an empty cell always is one.
        By default ``-``, ``nil`` and ``NA`` are levels of a column of words where they can be:
        ``-`` beside ``+``, ``nil`` in a tenth of the rows, ``NA`` beside other codes in capitals.
    alone : str, default=""
        Name of a column that may be the file's only one.
    fits : callable, optional
        Called with the number of lines and the names of the columns while nothing below them has
        been read; it raises what is to be raised for a table of such a shape.

    Returns
    -------
    CsvTable

    Raises
    ------
    TableError
        The file is absent, empty, not text, has no data, no header, unequal rows, an open quote,
        a wrong separator or encoding, or two columns of one name; with the line where there is one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "patients.csv")
    ...     _ = path.write_text("age;ward\n61,5;north\n;south\n", encoding="utf-8")
    ...     table = read_csv_table(path)
    >>> table.separator
    ';'
    >>> table.frame
        age   ward
    2  61,5  north
    3   NaN  south
    """
    path = Path(path)
    content = _content(path)
    text, used_encoding, notes = _decode(content, path, encoding)
    text, announced, skipped = _without_preface(text)
    separator = announced if separator is None else separator
    if separator is None:
        separator = _guess_separator(text, path, alone)
    elif len(separator) != 1 or separator in '"\r\n\0':
        raise fault("separator", it=separator)
    rows = _rows(text, separator, path)
    first = next(rows, None)
    if first is None:
        raise fault("blank_lines", path=path)
    header, header_notes = _header(first[1], path)
    if fits is not None:
        fits(text.rstrip().count("\n"), header)
    body = dict(rows)
    _refuse_unequal(body, len(header), path, SEPARATORS.get(separator, separator))
    cells = [[cell.strip() for cell in row] for row in body.values()]
    frame = pd.DataFrame(cells, columns=header, index=list(body), dtype=object)
    more = {*map(_lowered, [missing] if isinstance(missing, str | int | float) else missing)}
    usual = MISSING if missing_spellings is None else ("", *map(_lowered, missing_spellings))
    kept = _levels_among_missing(frame, more) if missing_spellings is None else {}
    gone = {*usual, *more}
    frame = frame.apply(
        lambda column: column.mask(column.str.lower().isin(gone - kept.get(column.name, set())))
    )
    return CsvTable(
        frame=frame,
        separator=separator,
        encoding=used_encoding,
        missing=tuple(sorted(gone)),
        notes=(*notes, *skipped, *header_notes, *paragraphs("kept_levels", kept=kept)),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _refuse_unequal(
    body: Mapping[int, Sequence[str]], n_columns: int, path: Path, mark: str
) -> None:
    """Refuse a table without rows, or with rows that have more or fewer fields than the header."""
    if not body:
        raise TableError(f"{path}: there is a header but no row of data below it.")
    widths = {line: len(row) for line, row in body.items()}
    unequal = [line for line, width in widths.items() if width != n_columns]
    if unequal:
        alike = len({*widths.values()}) == 1
        facts = {"n_fields": widths[unequal[0]], "n_columns": n_columns, "mark": mark}
        what = "header_of_other_width" if alike else "unequal_row"
        raise fault(what, path=path, line=unequal[0], **facts)


def _lowered(mark: object) -> str:
    return str(mark).strip().lower()


def _levels_among_missing(frame: pd.DataFrame, more: set[str]) -> dict[str, set[str]]:
    """Return for each column of words the spellings of "missing" that are levels there."""
    kept: dict[str, set[str]] = {}
    among_numbers: set[str] = set()
    for name, column in frame.items():
        if not {"-", "nil", "na"} & {cell.lower() for cell in column}:
            continue  # counting takes a while where there are many columns
        counts = column.str.lower().value_counts()
        rest = [str(value) for value in counts.index if value not in MISSING]
        if any(re.match(r"[<>]?[+-]?[.,]?\d", value) for value in rest):
            among_numbers |= {*counts.index} & {*MISSING} - {"-"}
        elif 0 < len(rest) <= MOST_WORDS:
            several, n_rows = len(rest) > 1, len(column)
            capitals = column[column.str.lower().isin(rest)].str.fullmatch(r"[A-Z]{2,5}").all()
            asked = {
                "-": "-" in counts and all(set(value) <= set("+-/() ") for value in rest),
                "nil": several and counts.get("nil", 0) >= 0.1 * n_rows,
                "na": several and capitals and counts.get("na", 0) >= 0.05 * n_rows,
            }
            kept[str(name)] = {mark for mark, is_level in asked.items() if is_level} - more
    # A spelling that also stands among numbers means missing there, so everywhere.
    left = {name: marks - among_numbers for name, marks in kept.items()}
    return {name: marks for name, marks in left.items() if marks}


def _without_preface(text: str) -> tuple[str, str | None, list[str]]:
    """Blank Excel's ``sep=`` line and comments above the header; return the separator they name.

    The lines stay, so that those below keep their numbers.
    """
    lines = text.split("\n")
    separator, n_comments = None, 0
    for place, line in enumerate(lines):
        said = re.fullmatch(r'"?sep=(.)"?[,;\t|]*', line.strip("\r "), re.IGNORECASE)
        comment = line.startswith("#") and not re.match(r"#\w*[,;\t|]", line)
        if line.strip() and not said and not comment:
            break
        separator, n_comments = said[1] if said else separator, n_comments + comment
        lines[place] = ""
    notes = paragraphs("preface", separator=separator, n_comments=n_comments)
    return "\n".join(lines), separator, notes


def _refuse_title(lines: Sequence[str], path: Path) -> None:
    """Raise TableError where the lines below the first make a table and the first does not."""
    if len(lines) < 3:
        return
    for separator in SEPARATORS:
        widths = [line.count(separator) for line in lines[:50]]
        if widths[0] == 0 and widths[2] > 0 and Counter(widths[1:]).most_common(1)[0][0] > 0:
            raise fault("title", path=path, line=lines[0][:60])


def _content(path: Path) -> bytes:
    """Return what an ordinary file holds; a pipe could be waited for without end."""
    try:
        mode = path.stat().st_mode
        content = path.read_bytes() if stat.S_ISREG(mode) else None
    except FileNotFoundError as error:
        raise TableError(f"{on_console(str(path))}: there is no such file.") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise TableError(f"{path}: cannot be read ({why}); it takes a file.") from error
    if content is None:
        what = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise TableError(f"{path}: cannot be read (it is {what}); it takes a file.")
    return content


def _decode(content: bytes, path: Path, encoding: str | None) -> tuple[str, str, list[str]]:
    """Return the file's text, the encoding it was read by, and notes."""
    text, used, notes = _decoded(content, path, encoding) if content.strip() else ("", "", [])
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise TableError(f"{path}: the file is empty; it takes a header line and rows of data.")
    if wrong := _NO_TEXT.search(text):
        line = text.count("\n", 0, wrong.start()) + 1
        what = "zero bytes" if wrong[0] == "\0" else f"half a character ({wrong[0]!r})"
        raise fault("no_text", path=path, line=line, what=what, encoding=used)
    return text, used, notes


def _decoded(content: bytes, path: Path, encoding: str | None) -> tuple[str, str, list[str]]:
    if encoding is None:
        for mark, what in BINARY.items():
            if content.startswith(mark):
                raise TableError(f"{path}: this is {what}, not text; export it as CSV.")
        encoding = next((name for mark, name in MARKS.items() if content.startswith(mark)), None)
    try:
        used = "utf-8" if encoding is None else encoding
        return content.decode(used), used, []
    except UnicodeDecodeError as error:
        bad_byte = _bad_byte(content, error)
        if encoding is not None:
            raise TableError(f"{path}: {bad_byte} in {encoding}.") from error
    except UnicodeError as error:  # some encodings tell no place
        raise TableError(f"{path}: is no text in {encoding} ({error}).") from error
    except (LookupError, ValueError) as error:
        raise TableError(f"encoding {encoding!r} is not known to Python.") from error
    try:  # the usual one of those that say nothing
        text = content.decode("cp1252")
    except UnicodeDecodeError as error:
        raise fault("no_windows", path=path, bad_byte=bad_byte) from error
    word = next((word for word in re.findall(r"[^\s,;|\"]+", text) if not word.isascii()), "")
    return text, "cp1252", paragraphs("read_as_windows", word=word[:40])


def _bad_byte(content: bytes, error: UnicodeDecodeError) -> str:
    before = content[: error.start]
    wide = error.encoding.lower().startswith(("utf-16", "utf-32"))
    line = before.decode(error.encoding if wide else "latin-1", "replace").count("\n") + 1
    return f"line {line} holds byte 0x{content[error.start]:02x}, which is no text"


def _rows(text: str, separator: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the file's rows, each with the number of its last line; blank lines are skipped."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    start = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, row
            start = reader.line_num + 1
    except csv.Error as error:
        raise fault("open_quote", path=path, line=start, error=error) from error


def _guess_separator(text: str, path: Path, alone: str) -> str:
    """Return the separator by which most rows have the header's number of fields, two or more."""
    lines = [line for line in text.splitlines() if line.strip()][:200]
    scores = {}
    for separator in SEPARATORS:
        try:
            rows = [*filter(None, csv.reader(io.StringIO("\n".join(lines)), delimiter=separator))]
        except csv.Error:  # a field above the module's limit
            continue
        width = len(rows[0])
        if width > 1:
            scores[separator] = sum(len(row) == width for row in rows) / len(rows), width
    if scores:
        return max(scores, key=scores.__getitem__)
    if alone and lines[0].strip(' "') == alone:
        return "\t"  # which no line holds
    list(_rows(text, ",", path))  # says which row cannot be read, if that is why
    _refuse_title(lines, path)
    names = ", ".join(SEPARATORS.values())
    raise fault("no_separator", path=path, names=names, line=lines[0][:60])


def _header(cells: Sequence[str], path: Path) -> tuple[list[str], list[str]]:
    names = [" ".join(name.split()) for name in cells]
    if all(_NUMBER.fullmatch(name) for name in names):
        raise fault("no_header", path=path, names=", ".join(names[:4]))
    blank = [place for place, name in enumerate(names) if not one_line(name)]
    for place in blank:
        names[place] = f"unnamed {place + 1}"
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        shown = ", ".join(repr(shortened(name, 80)) for name in twice[:10])
        raise fault("names_twice", path=path, n=len(twice), names=shown)
    return names, paragraphs("named", n_blank=len(blank))


@dataclass(frozen=True, order=True)
class Caution:
    """What may spoil a result.

    Attributes
    ----------
    rank : int
        Its place in `WEIGHTS`: 0 forbids a recommendation, 1 weakens it, 2 informs.
    text : str
        A sentence.
    column : str
        The feature that may have been known only afterwards, or "": a model that looks at it is
        not recommended.
    """

    rank: int
    text: str
    column: str = ""

    @property
    def weight(self) -> str:
        """The rank in a word."""
        return WEIGHTS[self.rank]


@dataclass(frozen=True, eq=False)
class OwnData:
    """A reader's table, ready for models.

    Attributes
    ----------
    name : str
        The file's name.
    sha256 : str
        Its content's checksum.
    X : DataFrame of shape (n_samples, n_features)
        Feature columns as `feature_frame` makes them, indexed by the file's line.
    y : ndarray of int of shape (n_samples,)
        1 where the outcome is the positive one.
    columns : tuple of Column
        All columns but the target, with what they are taken for.
    target, positive : str
        The outcome's column, and the value that counts as a case.
    notes : tuple of str
        What was done on reading, in words.
    warnings : tuple of Caution
        What may spoil the result, the weightiest first.
    missing : tuple of str
        The spellings of a missing value, in lower case.
    persons : ndarray of int of shape (n_samples,), or None
        Whose row each is, where persons have several; splits and counts go by person then.
    group : str
        The column that says so, or "".
    """

    name: str
    sha256: str
    X: pd.DataFrame
    y: NDArray[np.intp]
    columns: tuple[Column, ...]
    target: str
    positive: str
    notes: tuple[str, ...] = ()
    warnings: tuple[Caution, ...] = ()
    missing: tuple[str, ...] = ()
    persons: NDArray[np.intp] | None = None
    group: str = ""

    @property
    def cautions(self) -> tuple[str, ...]:
        """The texts of ``warnings``."""
        return tuple(warning.text for warning in self.warnings)

    @property
    def whose(self) -> NDArray[np.intp]:
        """The person of each row: one of its own, where nobody has several."""
        return np.arange(len(self.y)) if self.persons is None else self.persons

    @property
    def n_persons(self) -> int:
        """How many different persons there are: rows, where nobody has several."""
        return self.count()[0]

    @property
    def n_cases(self) -> int:
        """How many persons have a row with the outcome."""
        return self.count()[1]

    def count(self, rows: NDArray[np.intp] | slice = slice(None)) -> tuple[int, int]:
        """Return how many persons some rows are of, and for how many one has the outcome."""
        cases = self.whose[rows][self.y[rows] == 1]
        return len(np.unique(self.whose[rows])), len(np.unique(cases))

    @property
    def features(self) -> list[Column]:
        """The columns that models get to see."""
        return [column for column in self.columns if column.is_feature]


def load_own_data(
    path: str | Path, target: Any, *, fits: Callable[[int, int], None] | None = None, **given: Any
) -> OwnData:
    """Read a CSV with an outcome, and refuse what no choice of a model could be based on.

    Parameters
    ----------
    path : path-like
        The CSV file, with a header.
    target : str
        Column of the outcome, which has two values.
    fits : callable, optional
        Called with the numbers of lines and of columns that are left in while no line has been
        read; it raises TableError where these are too many.
    **given
        The attributes of `pvf.select.settings.Reading`.

    Returns
    -------
    OwnData

    Raises
    ------
    TableError
        The file or a column cannot be read; there is no such target, it has one value, more than
        two, or is a number; the smaller class has fewer than `FEWEST_CASES` persons; a column
        copies the outcome; no column is left to predict from. All faults of the outcome and of the
        columns are listed at once.
    """
    said = Reading(**given)
    table, target, reading = _read(path, target, said, fits)
    frame = table.frame
    faults: dict[str, str] = {}
    try:
        y, positive, notes = _outcome(frame[target], said.positive)
    except TableError as error:
        guess_columns(frame.drop(columns=target), **reading, faults=faults)
        refuse_all([str(error), *faults.values()])
    frame, y = frame[y >= 0], y[y >= 0]
    columns = guess_columns(frame.drop(columns=target), **reading, faults=faults)
    again = _doubles(frame, columns)
    if again.any():  # the counts are those of the rows that are left
        notes += paragraphs("doubles", lines=[*frame.index[again]])
        frame, y = frame[~again], y[~again]
        columns = guess_columns(frame.drop(columns=target), **reading, faults={})
    group, persons = _persons(frame, columns, said.group)
    X = feature_frame(frame, columns)
    apart = {name: (separation(X[name], y), _apart(y, X[name].isna())) for name in X}
    data = OwnData(
        name=Path(path).name,
        sha256=table.sha256,
        X=X,
        y=y,
        columns=tuple(columns),
        target=target,
        positive=positive,
        notes=(*table.notes, *notes),
        missing=table.missing,
        persons=persons,
        group=group,
    )
    refuse_all([*faults.values(), *_unfit(data, apart)])
    return replace(data, warnings=tuple(sorted(_cautions(data, apart), key=attrgetter("rank"))))


def _read(
    path: str | Path, target: Any, said: Reading, fits: Callable[[int, int], None] | None
) -> tuple[CsvTable, str, dict[str, Any]]:
    """Return the file, the target's name, and what `guess_columns` takes beside the table."""
    listed = read_columns(said.columns_file) if said.columns_file else {}
    kinds = parse_kinds(said.kinds or {})
    drop = [said.drop] if isinstance(said.drop, str | int | float) else list(said.drop or ())
    cells = {one.name: getattr(said, one.name) for one in fields(Cells)}
    reading = {name: cells.pop(name) for name in ("decimal", "censored")}
    if fits is not None:
        told: dict[Any, Any] = dict.fromkeys((*drop, target), "ignored") | listed | kinds
        out = {_squeezed(name) for name, kind in told.items() if kind in NO_FEATURES}
        cells["fits"] = lambda n_lines, names: fits(n_lines, len({*names} - out))
    table = read_csv_table(path, **cells)
    frame, reading["separator"] = table.frame, table.separator
    listed = without_guesses(frame, listed, **reading)
    listed.pop(_squeezed(target), None)  # the file lists all columns
    target, reading["kinds"] = _named(frame, target, listed | kinds, drop, said.group)
    return table, target, reading


def _named(
    frame: pd.DataFrame, target: Any, kinds: Mapping[str, Any], drop: Sequence[Any], group: Any
) -> tuple[str, dict[str, Any]]:
    """Return the target's name and the given kinds; refuse all names that no column has."""
    if isinstance(target, bool) or not isinstance(target, str | int | float):
        raise TableError(f"target must be a column's name, got {target!r}.")
    target, known = _squeezed(target), set(frame.columns)
    given: dict[str, Any] = {_squeezed(name): kind for name, kind in kinds.items()}
    asked = {
        "target {!r} is no column": [target],
        "drop names column {!r}": drop,
        "kinds names column {!r}": given,
        "group names column {!r}": [] if group is None or _squeezed(group) == "none" else [group],
    }
    faults = [
        f"{said.format(name)}; {closest(_squeezed(name), frame.columns)}."
        for said, names in asked.items()
        for name in names
        if _squeezed(name) not in known
    ]
    if group is not None and _squeezed(group) in known:
        given.setdefault(_squeezed(group), "identifier")
    given |= {_squeezed(name): "ignored" for name in drop}
    if target in given:
        faults.append(f"column {target!r} is the target; it takes no kind.")
    refuse_all(faults)
    return target, given


def _persons(
    frame: pd.DataFrame, columns: Sequence[Column], group: Any
) -> tuple[str, NDArray[np.intp] | None]:
    """Return the column that says whose row each is, and the persons' numbers; "" where none."""
    name = "" if group is None else _squeezed(group)
    if name == "none" and name not in frame.columns:
        return "", None
    if not name:
        repeating = [c for c in columns if _repeats(c, len(frame)) and not _is_cluster(c.name)]
        if not repeating:
            return "", None
        # Persons stand above visits and samples, so of several the one with the fewest values,
        # but those that are called persons first: a hospital has a number, too.
        called = [column for column in repeating if PATTERNS["person"].search(column.name)]
        name = min(called or repeating, key=lambda column: column.n_values).name
    who = frame[name]
    alone = pd.Series([f"\0{line}" for line in frame.index], index=frame.index)
    codes, _ = pd.factorize(who.where(who.notna(), alone))
    return name, codes.astype(np.intp) if len(np.unique(codes)) < len(codes) else None


def _squeezed(name: Any) -> str:
    """Return a column's name as the header's names are read: its spaces and breaks made one."""
    return " ".join(str(name).split())


def _outcome(column: pd.Series, positive: Any) -> tuple[NDArray[np.intp], str, list[str]]:
    """Return 1 and 0 (-1 where missing), the positive value, and notes."""
    name, n_gone = column.name, int(column.isna().sum())
    folded = column.str.lower().where(column.notna())
    counts = folded.value_counts()
    typed = {value: str(column[folded == value].mode()[0]) for value in counts.index[:7]}
    if len(counts) < 2:
        what = f"only {column.dropna().iloc[0]!r}" if len(counts) else "no value"
        raise fault("one_outcome", name=name, what=what, n_gone=n_gone)
    shown = ", ".join(f"{typed[value]!r} ({n})" for value, n in counts.head(6).items())
    shown += f" and {len(counts) - 6} more" if len(counts) > 6 else ""
    if positive is not None:
        case = _as_written(positive, list(counts.index))
        if case is None:
            raise TableError(f"positive is {positive!r}, which target {name!r} lacks: {shown}.")
    elif len(counts) > 2:
        numbers = len(counts) > 10 and pd.to_numeric(counts.index, errors="coerce").notna().all()
        raise fault("many_outcomes", name=name, n=len(counts), shown=shown, numbers=numbers)
    else:
        case = _obvious_case(tuple(counts.index))
        if case is None:
            raise fault("which_case", name=name, shown=shown, value=typed[counts.index[-1]])
    y = np.where(folded.isna(), -1, folded == case).astype(np.intp)
    notes = paragraphs("outcome", n_gone=n_gone, n=len(counts), case=case)
    return y, str(column[folded == case].mode()[0]), notes


#: What YAML and papermill read as False and True.
_BOOLEAN = {False: ("false", "no", "n", "off", "0"), True: ("true", "yes", "y", "on", "1")}


def _as_written(positive: Any, values: Sequence[str]) -> str | None:
    """Return which of the outcome's values is meant by what a reader gave, or None."""
    asked = _BOOLEAN[positive] if isinstance(positive, bool) else (str(positive).strip().lower(),)
    as_written = [text for text in asked if text in values]
    numbers = pd.to_numeric(pd.Series(values), errors="coerce")
    for text in asked:
        same = np.flatnonzero(numbers == pd.to_numeric(text, errors="coerce"))
        as_written += [values[same[0]]] if len(same) == 1 else []
    return as_written[0] if as_written else None


def _obvious_case(values: tuple[str, ...]) -> str | None:
    """Return which of two values is the case, where the values say so."""
    as_number = {value: value.removesuffix(".0") for value in values}
    pair = set(as_number.values())
    for other, case in WORDS["outcomes"]:
        if pair == {other, case}:
            return next(value for value, number in as_number.items() if number == case)
    return None


def _doubles(frame: pd.DataFrame, columns: Sequence[Column]) -> NDArray[np.bool_]:
    """Return which lines repeat another one with its identifier: the same record twice."""
    known = any(column.kind == "identifier" for column in columns)
    return frame.duplicated().to_numpy() if known else np.zeros(len(frame), dtype=bool)


def _unfit(data: OwnData, apart: Mapping[Any, tuple[float, float]]) -> Iterator[str]:
    """Say why no choice of a model could be based on a table."""
    if min(data.n_cases, data.n_persons - data.n_cases) < FEWEST_CASES:
        yield sentence("few_cases", it=data, fewest=FEWEST_CASES)
    if data.X.empty:
        yield sentence("no_feature", it=data, features=FEATURES)
    for column in data.columns:
        values, presence = apart.get(column.name, (0.5, 0.5))
        if column.guessed and 1 in (values, presence):
            yield sentence("gives_away", column=column, by_values=values == 1, target=data.target)


def separation(column: pd.Series, y: NDArray[np.intp]) -> float:
    """Return how well a column alone tells the classes apart in all rows: AUC, 0.5 to 1.

    Levels are ordered by their share of cases, and so are the gaps. Where that is the case for
    nearly every level by itself, as in an identifier, nothing can be said: 0.5.
    """
    if column.dtype.kind == "f" and column.nunique() > 2:
        seen = column.notna().to_numpy()
        return _apart(y[seen], column[seen])
    levels = column.astype(object).where(column.notna(), "(missing)").astype(str)
    if levels.nunique() > len(y) / 5:
        return 0.5
    return _apart(y, pd.Series(y, index=column.index).groupby(levels).transform("mean"))


def _apart(y: NDArray[np.intp], score: ArrayLike) -> float:
    """Return the AUC, or 1 less that, by rank sums: scikit-learn's takes twenty times as long."""
    n_cases, n_others = int(y.sum()), int((1 - y).sum())
    if not n_cases or not n_others:
        return 0.5
    above = float(rankdata(score)[y == 1].sum()) - n_cases * (n_cases + 1) / 2
    auc = above / (n_cases * n_others)
    return max(auc, 1 - auc)


def _cautions(data: OwnData, apart: Mapping[Any, tuple[float, float]]) -> Iterator[Caution]:
    """Say what may spoil the result."""
    n_rows = len(data.X)
    for column in data.columns:
        if _repeats(column, n_rows):
            cluster = _is_cluster(column.name)
            what, rank = ("clustered", 1) if cluster else ("repeats", 1 if data.group else 0)
            what, rank = ("grouped", 2) if column.name == data.group else (what, rank)
            yield Caution(rank, sentence(what, it=column, n_rows=n_rows))
        if column.is_feature:
            yield from _of_feature(column, data.X[column.name], *apart[column.name])
    n_alike = int(data.X.assign(**{"\0y": data.y}).duplicated().sum())
    if n_alike:
        yield Caution(1, sentence("equal_rows", n=n_alike))


def _repeats(column: Column, n_rows: int) -> bool:
    return column.kind == "identifier" and column.n_values < n_rows - column.n_missing


def _of_feature(
    column: Column, values: pd.Series, apart: float, presence: float
) -> Iterator[Caution]:
    name = column.name
    if presence >= SUSPICIOUS_AUC:
        yield Caution(0, sentence("told_by_presence", name=name, auc=presence))
    if apart >= SUSPICIOUS_AUC:
        yield Caution(0, sentence("told_alone", name=name, auc=apart))
    elif column.guessed and PATTERNS["later"].search(re.sub(r"[^a-z0-9]+", " ", name.lower())):
        yield Caution(1, sentence("named_as_later", name=name, kind=column.kind), column=name)
    share = 100 * values.isna().mean()
    if share > 20:
        yield Caution(2, sentence("gaps", name=name, share=share))
    codes = [value for value in CODES_OF_MISSING if (values == value).any()]
    rest = values[~values.isin(codes)].dropna()
    if codes and column.kind == "numeric" and len(rest):
        low, high = rest.min(), rest.max()
        if min(abs(codes[0] - low), abs(codes[0] - high)) > high - low:
            yield Caution(1, sentence("code_of_missing", name=name, code=codes[0]))
