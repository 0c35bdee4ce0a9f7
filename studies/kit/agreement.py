"""Whether a result table that was made anew agrees with the committed one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

from studies.catalogue import entries, make_table
from studies.data.datasets import DataUnavailableError
from studies.kit.results import read_result

__all__ = ["Agreement", "check_tables", "compare", "estimates", "in_one_line"]

#: What can be said of a table made anew, from best to worst.
KINDS = ("same bits", "same numbers", "within intervals", "not made", "differs")


@dataclass(frozen=True)
class Agreement:
    """How a table made anew compares with the committed one.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    says : str
        The reason in a few words.
    """

    kind: str
    says: str


def estimates(table: pd.DataFrame) -> pd.DataFrame:
    """Return the estimates in a table with their standard errors.

    Parameters
    ----------
    table : DataFrame
        With a column ``repetition``: each number's mean over the repetitions of every combination
        of the columns that are keys (text, booleans, and numbers that a repetition does not
        change). Or with the columns ``n_selected`` and ``n_repetitions``: the share.

    Returns
    -------
    DataFrame
        Columns ``mean`` and ``error``, indexed by key and by the number's name. Empty if the table
        is of neither kind.

    Examples
    --------
    >>> table = pd.DataFrame({"repetition": [0, 1], "rule": ["a", "a"], "win": [0.0, 1.0]})
    >>> estimates(table).loc[("a", "win")].to_dict()
    {'mean': 0.5, 'error': 0.5}
    """
    if "repetition" in table:
        keys = [name for name in table if _is_key(table, name)]
        numbers = [name for name in table if name not in {*keys, "repetition"}]
        # rows of one repetition depend on each other, so a repetition counts once
        once = table.groupby([*keys, "repetition"])[numbers].mean()
        groups = once.groupby(keys) if keys else once.groupby(lambda _: "all")
        return pd.DataFrame({"mean": _long(groups.mean()), "error": _long(groups.sem())})
    if {"n_selected", "n_repetitions"} <= set(table):
        found = {"n_selected", "both", "pvf_only", "traditional_only", "neither", "mean_tied"}
        keyed = table.set_index([name for name in table if name not in found])
        n = keyed.index.get_level_values("n_repetitions")
        share = keyed["n_selected"] / n
        # Agresti and Coull's two added successes and failures keep the error of 0 above 0
        middle = (keyed["n_selected"] + 2) / (n + 4)
        return pd.DataFrame({"mean": share, "error": np.sqrt(middle * (1 - middle) / (n + 4))})
    return pd.DataFrame({"mean": [], "error": []})


def _long(table: pd.DataFrame) -> pd.Series:
    """Return one value a row, with the column's name as the index's last level."""
    long = table.melt(ignore_index=False, var_name="number")
    return long.set_index("number", append=True)["value"]


def _is_key(table: pd.DataFrame, name: str) -> bool:
    """Tell whether a column names what a row is about, rather than what was found."""
    if name == "repetition":
        return False
    column = table[name]
    if not pd.api.types.is_numeric_dtype(column) or column.dtype == bool:
        return True
    values = [frozenset(part.dropna()) for _, part in column.groupby(table["repetition"])]
    return len(set(values)) == 1 and len(values[0]) > 1


def compare(
    fresh: pd.DataFrame, committed: pd.DataFrame, *, measured: Sequence[str] = ()
) -> Agreement:
    """Compare a table made anew with the committed one.

    Parameters
    ----------
    fresh, committed : DataFrame
    measured : sequence of str
        Columns that hold measured times, which never come out the same; they are not compared.

    Returns
    -------
    Agreement
        "same bits"; else "same numbers" if all agree to a relative 1e-6; else "within intervals"
        if no estimate (see `estimates`) lies further from the committed one than chance allows
        between two independent runs, at 5% over all estimates (Bonferroni); else "differs".

    Examples
    --------
    >>> committed = pd.DataFrame({"rule": ["a", "b"], "seconds": [1.0, 2.0], "share": [0.5, 0.6]})
    >>> compare(committed.assign(seconds=9.0), committed, measured=["seconds"]).kind
    'same bits'
    >>> compare(committed.assign(share=0.1), committed, measured=["seconds"]).kind
    'differs'
    """
    ours, theirs = (table.drop(columns=list(measured)) for table in (fresh, committed))
    if list(ours) != list(theirs):
        return Agreement("differs", f"columns {list(ours)} instead of {list(theirs)}")
    if len(ours) == len(theirs):
        if ours.reset_index(drop=True).equals(theirs.reset_index(drop=True)):
            return Agreement("same bits", f"{len(ours):,} rows")
        if _same_numbers(ours, theirs):
            return Agreement("same numbers", f"{len(ours):,} rows, to a relative 1e-6")
    new, old = estimates(ours), estimates(theirs)
    if old.empty or not new.index.sort_values().equals(old.index.sort_values()):
        return Agreement("differs", _largest_difference(ours, theirs))
    new = new.loc[old.index]
    apart = (new["mean"] - old["mean"]).abs()
    error = np.hypot(new["error"], old["error"])
    limit = float(norm.isf(0.025 / len(old)))
    beyond = apart > limit * error + 1e-9
    if beyond.any():
        worst = (apart / error.clip(lower=1e-300))[beyond].idxmax()
        return Agreement(
            "differs",
            f"{int(beyond.sum())} of {len(old):,} estimates are more than {limit:.1f} standard "
            f"errors apart, most {worst}: {new['mean'][worst]:.6g} for {old['mean'][worst]:.6g}",
        )
    return Agreement(
        "within intervals", f"{len(old):,} estimates, none {limit:.1f} standard errors apart"
    )


def _same_numbers(ours: pd.DataFrame, theirs: pd.DataFrame) -> bool:
    for name in ours:
        a, b = ours[name].to_numpy(), theirs[name].to_numpy()
        if pd.api.types.is_float_dtype(ours[name]) and pd.api.types.is_float_dtype(theirs[name]):
            if not np.allclose(a, b, rtol=1e-6, atol=1e-12, equal_nan=True):
                return False
        elif not np.array_equal(a, b):
            return False
    return True


def _largest_difference(ours: pd.DataFrame, theirs: pd.DataFrame) -> str:
    if len(ours) != len(theirs):
        return f"{len(ours):,} rows instead of {len(theirs):,}"
    unequal = {name: int((ours[name].to_numpy() != theirs[name].to_numpy()).sum()) for name in ours}
    return "rows that differ, by column: " + ", ".join(
        f"{name} {n}" for name, n in unequal.items() if n
    )


def check_tables(
    names: Iterable[str] = (),
    *,
    folder: Path,
    shards: Path | None = None,
    n_jobs: int | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, Agreement]:
    """Make full-scale tables anew and compare each with the committed one.

    Parameters
    ----------
    names : iterable of str
        Keys of `studies.catalogue.entries`; all if empty.
    folder : path
        Where the new tables go.
    shards : path, optional
        Folder of finished blocks, from which an interrupted run goes on.
    n_jobs : int, optional
        Workers.
    report : callable
        Gets one line of text a table, when it is done.

    Returns
    -------
    dict of str to Agreement
        "not made" where a table's data or an optional package is not on this machine.
    """
    found = {}
    known = entries()
    for name in names or known:
        start = time.perf_counter()
        try:
            make_table(name, n_jobs=n_jobs, out=shards, folder=folder)
        except DataUnavailableError as error:
            found[name] = Agreement(
                "not made", f"its data are not here: {str(error).splitlines()[0]}"
            )
        except ModuleNotFoundError as error:
            found[name] = Agreement("not made", f"it needs {error.name}, which is not installed")
        else:
            fresh, committed = read_result(name, folder)[0], read_result(name)[0]
            found[name] = compare(fresh, committed, measured=known[name].measured)
        seconds = time.perf_counter() - start
        report(f"table {name}: {found[name].kind} ({found[name].says}; {seconds:.0f} s)")
    return found


def check_sample(name: str, *, n_jobs: int | None = None) -> Agreement:
    """Compute some rows of a committed table anew and look for each of them in the table.

    Parameters
    ----------
    name : str
        A key of `studies.catalogue.entries` that has a ``sample``.
    n_jobs : int, optional
        Workers.

    Returns
    -------
    Agreement
        "same bits" if every row stands in the committed table as it came out, else "differs".

    Raises
    ------
    ValueError
        The table has no sample: its rows are sums over everything.
    """
    table = entries()[name]
    if not table.sample:
        raise ValueError(f"name must be a table that has a sample, got {name!r}.")
    fresh = table.full_table(n_jobs=n_jobs, **table.sample)
    committed = read_result(name)[0].drop(columns=list(table.measured))
    fresh = fresh.drop(columns=list(table.measured))
    known = set(map(tuple, committed.astype(object).where(committed.notna(), None).to_numpy()))
    rows = list(map(tuple, fresh.astype(object).where(fresh.notna(), None).to_numpy()))
    n_found = sum(row in known for row in rows)
    kind = "same bits" if n_found == len(rows) else "differs"
    return Agreement(kind, f"{n_found:,} of {len(rows):,} rows of the sample are in the table")


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
