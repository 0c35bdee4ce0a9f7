"""Read somebody's CSV file as text, and refuse by name and line what cannot be read.

Everything stays text here: what a column means is guessed in `pvf.select.columns`, where a reader
can overrule it.
"""

from __future__ import annotations

import csv
import difflib
import hashlib
import io
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pvf._text import on_console, one_line, shortened
from pvf.select.sentences import TableError, fault, paragraphs

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
