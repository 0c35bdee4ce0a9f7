"""From a publisher's file or a client's answer to one canonical table, and its checksums.

A table is canonical when every route to it gives the same bits: columns by their
canonical names in their canonical order, numbers as doubles of 12 significant digits,
text stripped, a missing entry as NaN or None. ``datasets.toml`` holds what is known of
each table beforehand.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import tomllib
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
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
    """Contents of ``datasets.toml``: data set name to what is known of it."""
    with resources.files("studies.data").joinpath("registry.toml").open("rb") as file:
        return tomllib.load(file)


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

    Parameters
    ----------
    frame : DataFrame of shape (n_samples, n_columns)
        Columns of numbers, booleans, text or categories of text.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    ValueError
        If a column holds anything else.

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


def read_text_table(path: Path, **options: Any) -> pd.DataFrame:
    """Read a comma-separated file as text, entry by entry, without guessing types."""
    try:
        table = pd.read_csv(
            path,
            dtype=str,
            na_filter=False,
            skipinitialspace=True,
            encoding="utf-8-sig",
            **options,
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise DataMismatchError(f"not a comma-separated table: {error}") from error
    return table


def _key(name: object) -> str:
    """Column name without what copies disagree on: spaces and letter case."""
    return "".join(str(name).split()).casefold()


def match_columns(
    table: pd.DataFrame,
    columns: Sequence[str],
    aliases: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Bring a table to the canonical columns, by name.

    Parameters
    ----------
    table : DataFrame
        Columns in any order; spaces and letter case do not count.
    columns : sequence of str
        Canonical names, in their order.
    aliases : mapping of str to str, optional
        Other spellings and the canonical name of each.

    Returns
    -------
    DataFrame

    Raises
    ------
    DataMismatchError
        Names the column that is unknown, missing or there twice.
    """
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


def _distinct(column: pd.Series) -> tuple[np.ndarray, list[str | None]]:
    """Code of each entry and the distinct texts, stripped, a missing one as None."""
    codes, values = pd.factorize(column.astype(object).fillna(""))
    texts = [str(value).strip() for value in values]
    return codes, [None if text in MISSING else text for text in texts]


def _as_text(column: pd.Series) -> pd.Series:
    codes, texts = _distinct(column)
    return pd.Series(np.array([*texts, None], dtype=object)[codes], dtype=object)


def _as_numbers(column: pd.Series) -> pd.Series:
    """Doubles of 12 significant digits, a missing entry as NaN; refuse anything else."""
    codes, texts = _distinct(column)
    numbers = np.full(len(texts), np.nan)
    for code, text in enumerate(texts):
        if text is not None:
            numbers[code] = _number(text)
            if not np.isfinite(numbers[code]):
                row = int(np.argmax(codes == code)) + 1
                raise DataMismatchError(
                    f"column {column.name!r}, row {row}: {text!r} is not a number"
                )
    return pd.Series(twelve_digits(numbers)[codes])


def _number(text: str) -> float:
    """Finite number that a text says, else infinity."""
    try:
        number = float(text)
    except ValueError:
        return np.inf
    return np.inf if np.isnan(number) else number


def canonical_frame(table: pd.DataFrame, text: Sequence[str] = ()) -> pd.DataFrame:
    """Turn a table of text into numbers, but for the columns named in ``text``."""
    return pd.DataFrame(
        {
            str(name): _as_text(column) if name in text else _as_numbers(column)
            for name, column in table.items()
        }
    )


# --- one reader per data set ------------------------------------------------------------

ADULT_TEXT = (
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
    "income",
)
COMPAS_TEXT = (
    "sex",
    "age_cat",
    "race",
    "c_jail_in",
    "c_jail_out",
    "c_charge_degree",
    "score_text",
)
COMPAS_MADE = ("length_of_stay",)


def cervical_frame(table: pd.DataFrame) -> pd.DataFrame:
    """Canonical table of the 36 published columns, all numbers."""
    known = registry()["cervical_cancer"]
    return canonical_frame(match_columns(table, list(known["columns"]), known["aliases"]))


def adult_frame(table: pd.DataFrame) -> pd.DataFrame:
    """Canonical table of the 14 features and the income, its trailing dot taken off."""
    matched = match_columns(table, list(registry()["adult"]["columns"]))
    frame = canonical_frame(matched, ADULT_TEXT)
    return frame.assign(income=frame["income"].str.rstrip("."))


def adult_parts(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Both parts of a table that has them one after the other.

    The publisher marks the test part by a dot after the income.
    """
    matched = match_columns(table, list(registry()["adult"]["columns"]))
    test = matched["income"].astype(str).str.strip().str.endswith(".")
    return {"adult_train": adult_frame(matched[~test]), "adult_test": adult_frame(matched[test])}


def _compas_names() -> list[str]:
    return [name for name in registry()["compas"]["columns"] if name not in COMPAS_MADE]


def without_names(table: pd.DataFrame) -> pd.DataFrame:
    """Drop all columns but the 17 that are used, those that name people among them."""
    used = {_key(name) for name in _compas_names()}
    return table.loc[:, [_key(name) in used for name in table.columns]]


def compas_frame(table: pd.DataFrame) -> pd.DataFrame:
    """Canonical table of 17 columns."""
    return canonical_frame(match_columns(without_names(table), _compas_names()), COMPAS_TEXT)


def board_frame(table: pd.DataFrame) -> pd.DataFrame:
    """Canonical table of 42 squares and the outcome, all text."""
    columns = [*SQUARES, "class"]
    return canonical_frame(match_columns(table, columns), columns)


def digit_frame(images: np.ndarray, labels: np.ndarray) -> pd.DataFrame:
    """Canonical table of 784 grey values and the digit.

    Parameters
    ----------
    images : ndarray of shape (n_images, 784), uint8
    labels : ndarray of shape (n_images,), uint8
    """
    frame = pd.DataFrame(images, columns=list(PIXELS))
    return pd.concat([frame, pd.Series(labels, name="digit")], axis=1)


def _read_cervical(paths: Sequence[Path]) -> pd.DataFrame:
    return cervical_frame(read_text_table(paths[0]))


def _read_adult(paths: Sequence[Path], *, skip: int) -> pd.DataFrame:
    names = list(registry()["adult"]["columns"])
    return adult_frame(read_text_table(paths[0], header=None, names=names, skiprows=skip))


def _read_compas(paths: Sequence[Path]) -> pd.DataFrame:
    return compas_frame(read_text_table(paths[0]))


def _read_board(paths: Sequence[Path]) -> pd.DataFrame:
    return board_frame(read_text_table(paths[0], header=None, names=[*SQUARES, "class"]))


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
    return digit_frame(images.reshape(labels.size, -1), labels)


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


_READERS: dict[str, Callable[[Sequence[Path]], pd.DataFrame]] = {
    "cervical_cancer": _read_cervical,
    "adult_train": partial(_read_adult, skip=0),
    "adult_test": partial(_read_adult, skip=1),
    "compas": _read_compas,
    "connect4": _read_board,
    "mnist_train": _read_digits,
    "mnist_test": _read_digits,
}
_FINGERPRINTS = {"connect4": _board_checksums, "mnist": _digit_checksums}


@cache
def tables() -> dict[str, Table]:
    """Every table that comes from a file, by name."""
    return {
        name: Table(
            name=name,
            dataset=dataset,
            files=tuple(table["files"]),
            rows=table["rows"],
            checksums=table["checksums"],
            known_files=table.get("known_files", {}),
            read=_READERS[name],
            fingerprint=_FINGERPRINTS.get(dataset, _table_checksums),
        )
        for dataset, known in registry().items()
        for name, table in known["tables"].items()
        if table["files"]
    }
