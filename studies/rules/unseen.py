"""The same comparison on tables that the study does not hold: CSV files, the outcome last."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click
import pandas as pd

from pvf._cli import SEED, Jobs, PathTo, refuse_outputs, say
from pvf._outputs import write_whole
from pvf._text import on_console
from studies.data.keel import read_csv_table
from studies.data.tables import DataError
from studies.kit.results import read_result, run_blocks
from studies.rules.pools import POOLS, Coded, coded
from studies.rules.questions import per_table
from studies.rules.run import (
    FEWEST_CASES,
    FEWEST_OUTSIDE,
    MIDDLE,
    RulesSettings,
    cohort_rows,
    is_possible,
    summarise,
)


def read_folder(folder: Path, size: int) -> tuple[dict[str, Coded], dict[str, str]]:
    """Read every CSV file of a folder: the tables by name, and why others cannot be compared.

    Raises
    ------
    DataError
        There is no CSV file.
    """
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".csv")
    if not paths:
        raise DataError(f"{folder} holds no CSV file.")
    tables: dict[str, Coded] = {}
    faults: dict[str, str] = {}
    for path in paths:
        try:
            table = coded(read_csv_table(path))
        except DataError as error:
            faults[path.stem] = str(error)
            continue
        if is_possible(table, size):
            tables[path.stem] = table
        else:
            faults[path.stem] = (
                f"{path.name}: cohorts of {size} need {size + FEWEST_OUTSIDE} people and more than "
                f"{FEWEST_CASES} cases, got {len(table.y)} and {int(table.y.sum())}."
            )
    return tables, faults


def compare(
    tables: dict[str, Coded],
    *,
    size: int,
    pool: str,
    n_cohorts: int,
    seed: int,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Run the comparison on tables; one row a table and outcome."""
    told = RulesSettings(n_candidates=100, seed=seed)
    rows = run_blocks(
        partial(_cohort, tables=tables, size=size, pool=pool, told=told),
        [(name, number) for name in tables for number in range(n_cohorts)],
        study="unseen",
        settings={},
        n_jobs=n_jobs,
    )
    return per_table(summarise(rows))


def _cohort(
    key: tuple[str, int], *, tables: dict[str, Coded], size: int, pool: str, told: RulesSettings
) -> pd.DataFrame:
    """Compute one cohort of one table; tables that are no settings come with it."""
    name, number = key
    return cohort_rows(tables[name], name, size, pool, [number], told)


def where_it_lies(found: pd.DataFrame, committed: pd.DataFrame) -> pd.DataFrame:
    """Say of each table's PVF less hold-out where it lies among the study's tables.

    Parameters
    ----------
    found : DataFrame
        Of `compare`.
    committed : DataFrame
        The study's table.

    Returns
    -------
    DataFrame
        ``table, outcome, difference``, ``low`` and ``high`` (between which 95% of the study's
        tables lie) and ``inside``.
    """
    keys = ["size", "pool", "outcome"]
    mine = found[found["outcome"].str.startswith(("IE", "F1", "log"))]
    mine = mine.assign(difference=mine["pvf_0.3"] - mine["holdout"])[["table", *keys, "difference"]]
    cells = per_table(committed)
    apart = (cells["pvf_0.3"] - cells["holdout"]).groupby([cells[key] for key in keys])
    ends = apart.quantile([0.025, 0.975]).unstack()  # noqa: PD010
    ends.columns = pd.Index(["low", "high"])
    both = mine.merge(ends.reset_index(), on=keys, how="left")
    return both.assign(inside=both["difference"].between(both["low"], both["high"]))


@click.command()
@click.option(
    "--data",
    "folder",
    type=PathTo(exists=True, file_okay=False, path_type=Path),
    required=True,
    help="Folder of CSV files: a header, one row a person, the outcome in the last column.",
)
@click.option("--size", type=click.IntRange(30, 10**6), default=MIDDLE, show_default=True)
@click.option("--pool", type=click.Choice(POOLS), default="trees", show_default=True)
@click.option("--cohorts", type=click.IntRange(2, 10**4), default=20, show_default=True)
@click.option("--seed", type=SEED, default=1, show_default=True)
@click.option("--jobs", type=Jobs(), default=-1, show_default=True, help="Workers; -1: all cores.")
@click.option("--out", type=PathTo(dir_okay=False, path_type=Path), help="CSV file of all rules.")
def rules(
    folder: Path, size: int, pool: str, cohorts: int, seed: int, jobs: int, out: Path | None
) -> None:
    """Compare the rules of choice on tables that the study does not hold."""
    if out is not None:
        refuse_outputs("'--out'", [out], *folder.glob("*.csv"))
    try:
        tables, faults = read_folder(folder, size)
    except DataError as error:
        raise click.ClickException(on_console(str(error))) from error
    for fault in faults.values():
        say(f"not compared: {on_console(fault)}")
    if not tables:
        raise click.ClickException("no table is left to compare.")
    found = compare(tables, size=size, pool=pool, n_cohorts=cohorts, seed=seed, n_jobs=jobs)
    if out is not None:
        write_whole(out, found.to_csv(index=False).encode())
    say("PVF (σ = 0.3) less hold-out (attainable share); the middle 95% of the study's tables:")
    for row in where_it_lies(found, read_result("rules")[0]).itertuples():
        say(on_console(f"{row.table}, {row.outcome}: {_in_words(row)}"))


def _in_words(row: Any) -> str:
    """Say of one table and outcome where the difference lies among the study's tables."""
    if pd.isna(row.difference):
        return "no share is attainable, since all candidates are worth the same."
    found = f"{row.difference:+.2f}".replace("-", "−")
    if pd.isna(row.low):
        return f"{found}; the study has no such pool and size."
    where = "inside" if row.inside else "below" if row.difference < row.low else "above"
    return f"{found}, {where} {row.low:.2f} to {row.high:.2f}.".replace("-", "−")
