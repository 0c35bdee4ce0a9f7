"""Read somebody's CSV file as text, and refuse by name and line what cannot be read.

Everything stays text here: what a column means is guessed in `pvf.select.columns`, where a reader
can overrule it.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
import stat
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pvf._text import one_line, shortened

__all__ = ["CsvTable", "TableError", "closest", "read_csv_table"]

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
#: How a value that isn't there is written, in lower case.
MISSING = ("", "na", "n/a", "n.a.", "#n/a", "nan", "<na>", "null", "nil", "?", "-", "--", ".")
BINARY = {b"PK": "a spreadsheet or zip file", b"\x1f\x8b": "a gzip file", b"PAR1": "a Parquet file"}
#: Characters that no text has: zero, and halves of characters, which no file can be written with.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")


class TableError(ValueError):
    """A foreseeable fault of somebody's data or settings, told in one line."""


@dataclass(frozen=True)
class CsvTable:
    """A CSV file as text.

    Attributes
    ----------
    frame : DataFrame
        Text in every cell, stripped; NaN where the file has none. Indexed by the file's line.
    separator, encoding : str
        What the file was read with.
    notes : tuple of str
        What a reader should know about how it was read.
    """

    frame: pd.DataFrame
    separator: str
    encoding: str
    notes: tuple[str, ...] = ()


def read_csv_table(
    path: str | Path,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
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
    missing : sequence of str
        Further spellings of a missing value, such as ``"-999"``, beside the usual ones.

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
    text, used_encoding, notes = _decode(path, encoding)
    if separator is None:
        separator = _guess_separator(text, path)
    elif len(separator) != 1 or separator in '"\r\n\0':
        raise TableError(
            f"separator must be one character, and no quote or line break, got {separator!r}."
        )
    rows = _rows(text, separator, path)
    if not rows:
        raise TableError(f"{path}: every line is blank; it takes a header line and rows of data.")
    header, header_notes = _header(rows, path)
    body = rows[1:]
    if not body:
        raise TableError(f"{path}: there is a header but no row of data below it.")
    for line, row in body:
        if len(row) != len(header):
            raise TableError(
                f"{path}: line {line} has {len(row)} fields, the header has {len(header)}; "
                f"check for a {SEPARATORS.get(separator, separator)} inside an unquoted value."
            )
    frame = pd.DataFrame(
        [row for _, row in body], columns=header, index=[line for line, _ in body], dtype=object
    )
    gone = {*MISSING, *(str(mark).strip().lower() for mark in missing)}
    frame = frame.apply(lambda column: _without_marks(column, gone))
    return CsvTable(frame, separator, used_encoding, (*notes, *header_notes))


def closest(name: str, known: Iterable[str]) -> str:
    """Say which known name was probably meant, and which there are.

    Examples
    --------
    >>> closest("dead", ["age", "death"])
    "did you mean 'death'? There are: age, death"
    """
    known = [shortened(str(other), 80) for other in known]
    lowered = {other.lower(): other for other in known}
    near = difflib.get_close_matches(name[:80].lower(), lowered, n=1)
    meant = f"did you mean {lowered[near[0]]!r}? " if near else ""
    shown = ", ".join(known[:30]) + (f" and {len(known) - 30} more" if len(known) > 30 else "")
    return f"{meant}{'T' if meant else 't'}here are: {shown}"


def _without_marks(column: pd.Series, gone: set[str]) -> pd.Series:
    stripped = column.str.strip()
    return stripped.where(~stripped.str.lower().isin(gone), float("nan"))


def _content(path: Path) -> bytes:
    """Return what an ordinary file holds; a pipe could be waited for without end."""
    try:
        mode = path.stat().st_mode
        content = path.read_bytes() if stat.S_ISREG(mode) else None
    except FileNotFoundError as error:
        raise TableError(f"{path}: there is no such file.") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise TableError(f"{path}: cannot be read ({why}); it takes a file.") from error
    if content is None:
        what = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise TableError(f"{path}: cannot be read (it is {what}); it takes a file.")
    return content


def _decode(path: Path, encoding: str | None) -> tuple[str, str, tuple[str, ...]]:
    """Return the file's text, the encoding it was read by, and notes."""
    content = _content(path)
    text, used, notes = _decoded(content, path, encoding) if content.strip() else ("", "", ())
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise TableError(f"{path}: the file is empty; it takes a header line and rows of data.")
    wrong = _NO_TEXT.search(text)
    if wrong:
        line = text.count("\n", 0, wrong.start()) + 1
        what = "zero bytes" if wrong[0] == "\0" else f"half a character ({wrong[0]!r})"
        raise TableError(
            f"{path}: line {line} holds {what}, so it is not text, or in another encoding than "
            f"{used}; export it as CSV, or name its encoding."
        )
    return text, used, notes


def _decoded(content: bytes, path: Path, encoding: str | None) -> tuple[str, str, tuple[str, ...]]:
    if encoding is not None:
        return _by_encoding(content, path, encoding), encoding, ()
    for mark, what in BINARY.items():
        if content.startswith(mark):
            raise TableError(f"{path}: this is {what}, not text; export it as CSV.")
    for mark, name in (
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
        (b"\xef\xbb\xbf", "utf-8"),
    ):
        if content.startswith(mark):
            return _by_encoding(content, path, name), name, ()
    try:
        return content.decode("utf-8"), "utf-8", ()
    except UnicodeDecodeError as error:
        return _as_windows(path, content, error)


def _by_encoding(content: bytes, path: Path, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise TableError(f"{path}: {_bad_byte(content, error)} in {encoding}.") from error
    except UnicodeError as error:  # some encodings tell no place
        raise TableError(f"{path}: is no text in {encoding} ({error}).") from error
    except (LookupError, ValueError) as error:
        raise TableError(f"encoding {encoding!r} is not known to Python.") from error


def _as_windows(
    path: Path, content: bytes, error: UnicodeDecodeError
) -> tuple[str, str, tuple[str, ...]]:
    """Take what is no UTF-8 for Windows-1252, the usual one, and say which word to look at."""
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:
        raise TableError(
            f"{path}: {_bad_byte(content, error)} in UTF-8, nor is the file Windows-1252; "
            "name its encoding."
        ) from error
    words = re.findall(r"[^\s,;|\"]+", text)
    word = next((word for word in words if not word.isascii()), "")[:40]
    note = (
        f"The file is not UTF-8; it was read as Windows-1252 (Latin-1), by which its first "
        f"accented word reads {word!r}. If that is wrong, name the encoding."
    )
    return text, "cp1252", (note,)


def _bad_byte(content: bytes, error: UnicodeDecodeError) -> str:
    before = content[: error.start]
    wide = error.encoding.lower().startswith(("utf-16", "utf-32"))
    line = before.decode(error.encoding if wide else "latin-1", "replace").count("\n") + 1
    return f"line {line} holds byte 0x{content[error.start]:02x}, which is no text"


def _rows(text: str, separator: str, path: Path) -> list[tuple[int, list[str]]]:
    """Return the file's rows, each with the number of its last line; blank lines are skipped."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows = []
    start = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append((reader.line_num, row))
            start = reader.line_num + 1
    except csv.Error as error:
        raise TableError(
            f"{path}: the row that begins in line {start} cannot be read ({error}); look for a "
            "quotation mark that is not closed."
        ) from error
    return rows


def _guess_separator(text: str, path: Path) -> str:
    """Return the separator by which most rows have the header's number of fields, two or more."""
    lines = [line for line in text.splitlines() if line.strip()][:200]
    best, best_score = None, (0.0, 0)
    for separator in SEPARATORS:
        try:
            reader = csv.reader(io.StringIO("\n".join(lines)), delimiter=separator)
            rows = [row for row in reader if row]
        except csv.Error:  # a field above the module's limit
            continue
        width = len(rows[0])
        agreeing = Counter(len(row) for row in rows)[width] / len(rows)
        if width > 1 and (agreeing, width) > best_score:
            best, best_score = separator, (agreeing, width)
    if best is None:
        _rows(text, ",", path)  # says which row cannot be read, if that is why
        names = ", ".join(SEPARATORS.values())
        raise TableError(
            f"{path}: none of {names} separates the first line into columns: "
            f"{lines[0][:60]!r}. Name the separator."
        )
    return best


def _header(rows: Sequence[tuple[int, list[str]]], path: Path) -> tuple[list[str], tuple[str, ...]]:
    names = [" ".join(name.split()) for name in rows[0][1]]
    if all(_NUMBER.fullmatch(name) for name in names):
        raise TableError(
            f"{path}: the first line holds numbers only ({', '.join(names[:4])}, ...); it takes a "
            "line of column names first."
        )
    blank = [place for place, name in enumerate(names) if not one_line(name)]
    for place in blank:
        names[place] = f"unnamed {place + 1}"
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        shown = ", ".join(repr(shortened(name, 80)) for name in twice[:10])
        raise TableError(
            f"{path}: {len(twice)} column name(s) stand more than once in the header: {shown}; "
            "each column takes a name of its own."
        )
    notes = (f"{len(blank)} column(s) without a name were given one.",) if blank else ()
    return names, notes
