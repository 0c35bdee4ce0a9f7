"""Whether a result table that was made anew agrees with the committed one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from studies import catalogue
from studies.data.tables import DataUnavailableError
from studies.kit.estimates import agrees
from studies.kit.results import read_result

#: What can be said of a table made anew, from best to worst.
KINDS = ("same bits", "same numbers", "within intervals", "not made", "differs")


class Agreement(NamedTuple):
    """How a table made anew compares with the committed one: one of `KINDS`, and why."""

    kind: str
    says: str


def compare(
    fresh: pd.DataFrame,
    committed: pd.DataFrame,
    *,
    measured: Sequence[str] = (),
    estimate: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
) -> Agreement:
    """Compare a table made anew with the committed one.

    Columns that hold measured times never come out the same and are not compared. "same numbers"
    agree to a relative 1e-6; "within intervals" are tables whose estimates all agree as
    `studies.kit.estimates.agrees` means it.

    Examples
    --------
    >>> committed = pd.DataFrame({"rule": ["a", "b"], "seconds": [1.0, 2.0], "share": [0.5, 0.6]})
    >>> compare(committed.assign(seconds=9.0), committed, measured=["seconds"]).kind
    'same bits'
    >>> compare(committed.assign(share=0.1), committed, measured=["seconds"]).kind
    'differs'
    """
    ours, theirs = (
        table.drop(columns=list(measured), errors="ignore").reset_index(drop=True)
        for table in (fresh, committed)
    )
    if list(ours) != list(theirs):
        return Agreement("differs", f"columns {list(ours)} instead of {list(theirs)}")
    if ours.equals(theirs):
        return Agreement("same bits", f"{len(ours):,} rows")
    unequal = f"{len(ours):,} rows instead of {len(theirs):,}"
    if len(ours) == len(theirs):
        if all(_close(ours[name], theirs[name]) for name in ours):
            return Agreement("same numbers", f"{len(ours):,} rows, to a relative 1e-6")
        counts = {name: _n_unequal(ours[name], theirs[name]) for name in ours}
        unequal = "unequal rows by column: " + ", ".join(f"{k} {n}" for k, n in counts.items() if n)
    if estimate is None:
        return Agreement("differs", unequal)
    reference = estimate(committed)
    close = agrees(estimate(fresh), reference)
    if close.all() and len(close) == len(reference):
        return Agreement("within intervals", f"all {len(close):,} estimates agree; {unequal}")
    first = f", first {close.idxmin()}" if not close.all() else ""
    return Agreement(
        "differs", f"{close.sum():,} of {len(reference):,} estimates agree{first}; {unequal}"
    )


def _close(ours: pd.Series, theirs: pd.Series) -> bool:
    if pd.api.types.is_float_dtype(ours) and pd.api.types.is_float_dtype(theirs):
        return np.allclose(ours, theirs, rtol=1e-6, atol=1e-12, equal_nan=True)
    return ours.equals(theirs)


def _n_unequal(ours: pd.Series, theirs: pd.Series) -> int:
    return int((~(ours.eq(theirs) | (ours.isna() & theirs.isna()))).sum())


def check_tables(
    names: Iterable[str] = (),
    *,
    folder: Path,
    shards: Path | None = None,
    n_jobs: int | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, Agreement]:
    """Make full-scale tables anew, all if none is named, and compare each with the committed one.

    New tables go to `folder`; an interrupted run goes on from `shards`. `report` gets a line for
    each table, and before the first of them one for each that can't be made ("not made"), as its
    data or an optional package is not on this machine.
    """
    studies = {name: catalogue.STUDIES[name] for name in names or catalogue.STUDIES}
    found = {n: why for n, s in studies.items() if (why := _lack(s.blocks, s.settings.full()))}
    for name, why in found.items():
        report(f"table {name} will be left out: {why.says}")
    for name, study in studies.items():
        if name in found:
            continue
        start, kept = time.perf_counter(), {"out": shards, "folder": folder}
        found[name] = _lack(catalogue.make_table, name, n_jobs=n_jobs, **kept) or compare(
            read_result(name, folder)[0],
            study.committed()[0],
            measured=study.measured,
            estimate=study.estimate,
        )
        seconds = time.perf_counter() - start
        report(f"table {name}: {found[name].kind} ({found[name].says}; {seconds:.0f} s)")
    return found


def _lack(make: Callable[..., object], *args: Any, **options: Any) -> Agreement | None:
    """Return which data or optional package is missing to make something; None if none is."""
    try:
        make(*args, **options)
    except DataUnavailableError as error:
        return Agreement("not made", f"its data are not here: {str(error).splitlines()[0]}")
    except ModuleNotFoundError as error:
        return Agreement("not made", f"it needs {error.name}, which is not installed")
    return None


def check_sample(name: str, *, n_jobs: int | None = None) -> Agreement:
    """Compute some rows of a committed table anew and look for each of them in the table."""
    table = catalogue.STUDIES[name]
    if not table.sample:
        raise ValueError(f"name must be a table that has a sample, got {name!r}.")
    fresh = table.full_table(n_jobs=n_jobs, **table.sample)
    drop = list(table.measured)
    known = set(_rows(read_result(name)[0].drop(columns=drop)))
    rows = _rows(fresh.drop(columns=drop))
    n_found = sum(row in known for row in rows)
    kind = "same bits" if n_found == len(rows) else "differs"
    return Agreement(kind, f"{n_found:,} of {len(rows):,} rows of the sample are in the table")


def _rows(table: pd.DataFrame) -> list[tuple[object, ...]]:
    """Return a table's rows, a missing entry as None, which equals itself."""
    return list(map(tuple, table.astype(object).where(table.notna(), None).to_numpy()))


def in_one_line(found: Mapping[str, Agreement]) -> str:
    """Say in one line how many tables agree, and how.

    Examples
    --------
    >>> in_one_line({"a": Agreement("same bits", "3 rows"), "b": Agreement("not made", "no data")})
    '2 tables against the committed ones: 1 same bits, 1 not made'
    """
    counts = {kind: sum(agreement.kind == kind for agreement in found.values()) for kind in KINDS}
    said = ", ".join(f"{n} {kind}" for kind, n in counts.items() if n)
    return f"{len(found)} tables against the committed ones: {said}"
