"""From a publisher's file to one canonical table, and its checksums.

A table is canonical when every copy of it gives the same bits: columns by their canonical names in
their canonical order, numbers as doubles of 12 significant digits, text stripped, a missing entry
as NaN or None. ``registry.toml`` holds what is known of each table beforehand.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import tomllib
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

MISSING = ("", "?")
SQUARES = tuple(f"{file}{rank}" for file in "abcdefg" for rank in range(1, 7))
PIXELS = tuple(f"pixel{number}" for number in range(1, 785))


class DataError(ValueError):
    """A data set can't be used; the subclasses say why."""


class DataMismatchError(DataError):
    """What was found is not the published content; it is not used."""


class DataUnavailableError(DataError):
    """No copy was found and none could be downloaded; the message says what to do."""


@cache
def registry() -> dict[str, Any]:
    """Return ``registry.toml``: data set name to what is known of it."""
    return tomllib.loads(Path(__file__).with_name("registry.toml").read_text(encoding="utf-8"))


# --- checksums of content ---------------------------------------------------------------


def twelve_digits(values: np.ndarray) -> np.ndarray:
    """Numbers rounded to 12 significant digits, NaN kept and -0 made 0.

    Parsers of decimal text differ in the last bit; no published value here has more
    than 12 digits, so after this all parsers agree to the bit.
    """
    values = np.asarray(values, dtype="<f8")
    rounded = values.copy()
    rough = np.isfinite(values) & (values != np.rint(values))
    rounded[rough] = [float(f"{value:.12g}") for value in values[rough]]
    rounded[np.isnan(values)] = np.nan
    return rounded + 0.0


def frame_sha256(frame: pd.DataFrame) -> str:
    """SHA-256 of a table's content: column names, values, row order, missing entries.

    It does not depend on dtypes (7, 7.0 and ``Int64`` 7 are one number), on the
    index, or on the version of pandas. Numbers enter as little-endian doubles of 12
    significant digits, text as JSON in UTF-8, a missing text as ``null``.

    Examples
    --------
    >>> import pandas as pd
    >>> whole = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    >>> float_ = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", None]})
    >>> frame_sha256(whole) == frame_sha256(float_)
    True
    """
    digest = hashlib.sha256(json.dumps([list(frame.columns), len(frame)]).encode())
    for name, column in frame.items():
        digest.update(_column_bytes(str(name), column))
    return digest.hexdigest()


def _column_bytes(name: str, column: pd.Series) -> bytes:
    if pd.api.types.is_numeric_dtype(column.dtype):
        return b"number" + twelve_digits(column.to_numpy("<f8", na_value=np.nan)).tobytes()
    texts = [None if pd.isna(value) else value for value in column.astype(object)]
    if not all(text is None or isinstance(text, str) for text in texts):
        raise ValueError(f"frame: column {name!r} must hold numbers or text only")
    return b"text" + json.dumps(texts, ensure_ascii=False).encode()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _table_checksums(frame: pd.DataFrame, _: Mapping[str, str]) -> dict[str, str]:
    return {"table": frame_sha256(frame)}


def _digit_checksums(frame: pd.DataFrame, _: Mapping[str, str]) -> dict[str, str]:
    """Checksums of the two uncompressed IDX files that hold these images and labels."""
    count = len(frame).to_bytes(4, "big")
    images = np.ascontiguousarray(frame[list(PIXELS)], dtype=np.uint8)
    labels = frame["digit"].to_numpy(np.uint8)
    side = (28).to_bytes(4, "big")
    return {
        "images": _sha256(b"\0\0\x08\x03" + count + side + side + images.tobytes()),
        "labels": _sha256(b"\0\0\x08\x01" + count + labels.tobytes()),
    }


def _board_checksums(frame: pd.DataFrame, expected: Mapping[str, str]) -> dict[str, str]:
    """Checksum of the text file with these rows, under the line ends that match, if any."""
    lines = frame.fillna("?").agg(",".join, axis=1)
    texts = [
        newline.join(lines) + tail * newline for newline in ("\n", "\r\n") for tail in (1, 0, 2)
    ]
    found = [_sha256(text.encode()) for text in texts]
    return {"text": expected["text"] if expected["text"] in found else found[0]}


# --- reading ----------------------------------------------------------------------------

#: Publishers whose files begin with the first row.
_WITHOUT_HEADER = ("adult", "connect4")


def _key(name: object) -> str:
    """Return a column name without what copies disagree on: spaces and letter case."""
    return "".join(str(name).split()).casefold()


def match_columns(
    table: pd.DataFrame,
    columns: Sequence[str],
    aliases: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Bring a table to the canonical columns, by name; spaces and letter case do not count."""
    canonical = {_key(column): column for column in columns}
    canonical |= {_key(alias): column for alias, column in (aliases or {}).items()}
    found: dict[str, Any] = {}
    for position, name in enumerate(table.columns):
        column = canonical.get(_key(name))
        if column is None:
            raise DataMismatchError(f"unknown column {str(name)!r}")
        if column in found:
            raise DataMismatchError(f"column {column!r} is there twice")
        found[column] = table.iloc[:, position]
    for column in columns:
        if column not in found:
            raise DataMismatchError(f"column {column!r} is missing")
    return pd.DataFrame({column: found[column] for column in columns}).reset_index(drop=True)


def _as_text(column: pd.Series) -> pd.Series:
    """Strip each entry; a missing one becomes None."""
    texts = (str(value).strip() for value in column.astype(object).fillna(""))
    return pd.Series([None if text in MISSING else text for text in texts], dtype=object)


def _as_numbers(column: pd.Series) -> pd.Series:
    """Return doubles of 12 significant digits, a missing entry as NaN; refuse anything else."""
    texts = _as_text(column)
    numbers = np.array([np.nan if text is None else _number(text) for text in texts])
    for row in np.flatnonzero(np.isinf(numbers))[:1]:
        raise DataMismatchError(
            f"column {column.name!r}, row {row + 1}: {texts[row]!r} is not a number"
        )
    return pd.Series(twelve_digits(numbers))


def _number(text: str) -> float:
    """Return the finite number that a text says, else infinity."""
    with contextlib.suppress(ValueError):
        number = float(text)
        return np.inf if np.isnan(number) else number
    return np.inf


def canonical_frame(table: pd.DataFrame, text: Sequence[str] = ()) -> pd.DataFrame:
    """Turn a table of text into numbers, but for the columns named in ``text``."""
    return pd.DataFrame(
        {
            str(name): _as_text(column) if name in text else _as_numbers(column)
            for name, column in table.items()
        }
    )


def published_columns(dataset: str) -> list[str]:
    """Name the columns of a text table that are read; those that name people are not among them."""
    if dataset == "connect4":
        return [*SQUARES, "class"]
    return [name for name in registry()[dataset]["columns"] if name != "length_of_stay"]


def read_text_table(content: bytes, dataset: str) -> pd.DataFrame:
    """Read a comma-separated file as text, entry by entry, and of COMPAS only what is used."""
    columns = published_columns(dataset)
    used = {_key(name) for name in columns}
    first = content.partition(b",")[0].decode("utf-8-sig", errors="replace")
    headless = dataset in _WITHOUT_HEADER and _key(first) not in used
    try:
        return pd.read_csv(
            io.BytesIO(content),
            dtype=str,
            na_filter=False,
            skipinitialspace=True,
            encoding="utf-8-sig",
            header=None if headless else 0,
            names=columns if headless else None,
            comment="|" if dataset == "adult" else None,  # the test part begins with a remark
            usecols=(lambda name: _key(name) in used) if dataset == "compas" else None,
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise DataMismatchError(f"not a comma-separated table: {error}") from error


def _read_text(paths: Sequence[Path], *, dataset: str) -> pd.DataFrame:
    known = registry()[dataset]
    table = read_text_table(paths[0].read_bytes(), dataset)
    matched = match_columns(table, published_columns(dataset), known.get("aliases"))
    frame = canonical_frame(matched, known.get("text", list(matched)))
    if dataset == "adult":  # the publisher marks the test part by a dot after the income
        frame["income"] = frame["income"].str.rstrip(".")
    return frame


def _read_idx(path: Path, magic: bytes) -> bytes:
    """Return a publisher's array file, compressed or not, without its first four bytes."""
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataMismatchError(f"{path.name} is not whole: {error}") from error
    if content[:4] != magic:
        raise DataMismatchError(f"{path.name} is not an IDX file of the kind expected")
    return content[4:]


def _read_digits(paths: Sequence[Path]) -> pd.DataFrame:
    images = np.frombuffer(_read_idx(paths[0], b"\0\0\x08\x03")[12:], dtype=np.uint8)
    labels = np.frombuffer(_read_idx(paths[1], b"\0\0\x08\x01")[4:], dtype=np.uint8)
    if images.size != len(PIXELS) * labels.size:
        raise DataMismatchError(
            f"{images.size} pixels of {paths[0].name} do not fit {labels.size} labels"
        )
    frame = pd.DataFrame(images.reshape(labels.size, -1), columns=list(PIXELS))
    return pd.concat([frame, pd.Series(labels, name="digit")], axis=1)


# --- the tables -------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """One table of a data set: the files that hold it and how its content is checked."""

    name: str
    dataset: str
    files: tuple[str, ...]
    rows: int
    checksums: Mapping[str, str]
    known_files: Mapping[str, Sequence[str]]
    read: Callable[[Sequence[Path]], pd.DataFrame]
    fingerprint: Callable[[pd.DataFrame, Mapping[str, str]], dict[str, str]]

    def mismatches(self, frame: pd.DataFrame) -> list[str]:
        """Say what differs from the published content, one line each; empty if nothing does."""
        found = self.fingerprint(frame, self.checksums)
        lines = [
            f"{what} SHA-256: expected {expected}, found {found[what]}"
            for what, expected in self.checksums.items()
            if found[what] != expected
        ]
        if lines and len(frame) != self.rows:
            lines.insert(0, f"rows: expected {self.rows}, found {len(frame)}")
        return lines


_FINGERPRINTS = {"connect4": _board_checksums, "mnist": _digit_checksums}


@cache
def tables() -> dict[str, Table]:
    """Return every table that comes from a file, by name."""
    return {
        name: Table(
            name=name,
            dataset=dataset,
            files=tuple(table["files"]),
            rows=table["rows"],
            checksums=table["checksums"],
            known_files=table.get("known_files", {}),
            read=_read_digits if dataset == "mnist" else partial(_read_text, dataset=dataset),
            fingerprint=_FINGERPRINTS.get(dataset, _table_checksums),
        )
        for dataset, known in registry().items()
        for name, table in known["tables"].items()
        if table["files"]
    }
