"""Kinds of columns as a reader gives them: by words, or in a TOML file that was written for it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pvf._text import on_console, one_line
from pvf.select.columns import guess_columns
from pvf.select.sentences import TableError, lines, quoted


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
