"""Command line of the data sets: ``python -m studies data status`` and ``fetch``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

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


class _Line(NamedTuple):
    """One row of the table that the commands print, and the error behind it."""

    name: str
    rows: str
    found: str
    licence: str
    checksum: str
    error: DataError | None = None


HEADER = _Line("name", "rows", "found", "licence", "SHA-256")


def _lines(dataset: str, *, download: bool) -> Iterator[_Line]:
    """Yield one line for each table of a data set."""
    known = registry()[dataset]
    for name, table in known["tables"].items():
        error: DataError | None = None
        try:
            bundled = name == "breast_cancer"
            found = load_breast_cancer().source if bundled else obtain(name, download=download)[1]
            state = "verified"
        except DataUnavailableError as raised:
            found, state, error = "not here", "not checked", raised
            download = False  # who does not answer once is not asked again
        except DataMismatchError as raised:
            found, state, error = "refused", "not the published content", raised
        sums = "+".join(sha[:12] for sha in table["checksums"].values())
        yield _Line(name, f"{table['rows']:,}", found, known["licence"], f"{sums} {state}", error)


def _print_table(datasets: Iterable[str], *, download: bool) -> list[_Line]:
    """Print and return the lines of some data sets; a wrong setting ends the command."""
    try:
        lines = [line for name in datasets for line in _lines(name, download=download)]
    except DataError as error:
        raise click.ClickException(str(error)) from error
    rows = [line[:-1] for line in (HEADER, *lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        padded[1] = row[1].rjust(widths[1])
        say("  ".join(padded).rstrip())
    return lines


@click.group("data")
def data() -> None:
    """Show which data sets are on this machine, and download the others."""


@data.command()
def status() -> None:
    """Print each table: rows, where it was found, licence, checksum. Download nothing."""
    lines = _print_table(registry(), download=False)
    refused = [line.error for line in lines if isinstance(line.error, DataMismatchError)]
    absent = [tables()[line.name] for line in lines if line.found == "not here"]
    for error in refused:
        for line in ("", *str(error).splitlines()):
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
    known = registry()
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is none of {', '.join(known)}.", param_hint="NAME")
    lines = _print_table(names or known, download=True)
    if errors := [str(line.error) for line in lines if line.error is not None]:
        raise click.ClickException("\n".join(errors))
