"""Command line of the data sets: ``python -m studies data status`` and ``fetch``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from pvf._cli import say
from studies.data.datasets import load_breast_cancer
from studies.data.files import FOLDER_VARIABLE, files_and_page, obtain
from studies.data.tables import (
    DataError,
    DataMismatchError,
    DataUnavailableError,
    registry,
    tables,
)


@dataclass(frozen=True)
class _Line:
    """One row of the table that the commands print, and the error behind it."""

    name: str
    rows: int
    found: str
    licence: str
    checksum: str
    error: DataError | None


HEADER = ("name", "rows", "found", "licence", "SHA-256")


def _find(name: str, *, download: bool) -> str:
    """Check one table; say where it was found."""
    if name == "breast_cancer":
        return load_breast_cancer().source
    return obtain(name, download=download)[1]


def _lines(dataset: str, *, download: bool) -> Iterator[_Line]:
    """Yield one line for each table of a data set."""
    known = registry()[dataset]
    for name, table in known["tables"].items():
        error: DataError | None = None
        try:
            found, state = _find(name, download=download), "verified"
        except DataUnavailableError as raised:
            found, state, error = "not here", "not checked", raised
            download = False  # one answer holds all tables of a data set: don't ask again
        except DataMismatchError as raised:
            found, state, error = "refused", "not the published content", raised
        sums = "+".join(sha[:12] for sha in table["checksums"].values())
        yield _Line(name, table["rows"], found, known["licence"], f"{sums} {state}", error)


def _collect(datasets: Iterable[str], *, download: bool) -> list[_Line]:
    """All lines of some data sets; a wrong setting ends the command with one line."""
    try:
        return [line for name in datasets for line in _lines(name, download=download)]
    except DataError as error:
        raise click.ClickException(str(error)) from error


def _cells(line: _Line) -> tuple[str, ...]:
    return (line.name, f"{line.rows:,}", line.found, line.licence, line.checksum)


def _print_table(lines: Sequence[_Line]) -> None:
    rows = [HEADER, *map(_cells, lines)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADER))]
    for row in rows:
        padded = [
            cell.rjust(width) if place == 1 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        say("  ".join(padded).rstrip())


@click.group("data")
def data() -> None:
    """Show which data sets are on this machine, and download the others."""


@data.command()
def status() -> None:
    """Print each table: rows, where it was found, licence, checksum. Download nothing."""
    lines = _collect(registry(), download=False)
    _print_table(lines)
    refused = [line.error for line in lines if isinstance(line.error, DataMismatchError)]
    absent = [tables()[line.name] for line in lines if line.found == "not here"]
    for error in refused:
        say("")
        for line in str(error).splitlines():
            say(line)
    if absent:
        say("")
        say(
            "Not here: run `python -m studies data fetch`, or get these files, put them into a "
            f"folder, and set {FOLDER_VARIABLE} to it:"
        )
    for table in absent:
        say(f"  {files_and_page(table)}")


@data.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
def fetch(names: tuple[str, ...]) -> None:
    """Find or download the data sets NAME (all of them by default) and check them.

    Exits with 1 if any of them can't be had.
    """
    known: dict[str, Any] = registry()
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is none of {', '.join(known)}.", param_hint="NAME")
    lines = _collect(names or known, download=True)
    _print_table(lines)
    errors = [str(line.error) for line in lines if line.error is not None]
    if errors:
        raise click.ClickException("\n".join(errors))
