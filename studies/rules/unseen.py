"""The same comparison on tables that the study does not hold: CSV files, the outcome last."""

from __future__ import annotations

from pathlib import Path

import click
import pandas as pd

from pvf._cli import SEED, Jobs, PathTo, refuse_outputs, say
from pvf._outputs import write_whole
from pvf._text import on_console
from studies.data.keel import read_csv_table
from studies.data.tables import DataError
from studies.kit.results import read_result, run_blocks
from studies.kit.show import interval_text
from studies.rules.pools import POOLS, Coded, coded
from studies.rules.questions import per_table
from studies.rules.run import MIDDLE, RulesSettings, cohort_rows, is_possible, summarise

__all__ = ["compare_folder", "rules", "where_it_lies"]


def compare_folder(
    folder: Path, *, size: int, pool: str, n_cohorts: int, seed: int, n_jobs: int | None = None
) -> pd.DataFrame:
    """Run the comparison on every CSV file of a folder; one row a table and outcome.

    Raises
    ------
    DataError
        There is no CSV file, or one is no table of two classes, or is too small.
    """
    paths = sorted(folder.glob("*.csv"))
    if not paths:
        raise DataError(f"{folder} holds no CSV file.")
    tables = {path.stem: coded(read_csv_table(path)) for path in paths}
    small = [name for name, table in tables.items() if not is_possible(table, size)]
    if small:
        raise DataError(f"too few people or cases for cohorts of {size}: {', '.join(small)}.")
    settings = RulesSettings(n_candidates=100, seed=seed)
    rows = run_blocks(
        _Block(tables, size, pool, settings),
        [(name, number) for name in tables for number in range(n_cohorts)],
        study="unseen",
        settings={},
        n_jobs=n_jobs,
    )
    return per_table(summarise(rows))


class _Block:
    """One cohort of one table; tables that are no settings come with it."""

    def __init__(
        self, tables: dict[str, Coded], size: int, pool: str, settings: RulesSettings
    ) -> None:
        self.tables, self.told = tables, (size, pool, settings)

    def __call__(self, key: tuple[str, int]) -> pd.DataFrame:
        name, number = key
        size, pool, settings = self.told
        return cohort_rows(self.tables[name], name, size, pool, [number], settings)


def where_it_lies(found: pd.DataFrame, committed: pd.DataFrame | None) -> pd.DataFrame:
    """Say of each table's PVF less hold-out where it lies among the study's tables.

    Parameters
    ----------
    found : DataFrame
        Of `compare_folder`.
    committed : DataFrame or None
        The study's table; None where there is none yet.

    Returns
    -------
    DataFrame
        ``table, outcome, difference``, ``low`` and ``high`` (between which 95% of the study's
        tables lie) and ``inside``.
    """
    keys = ["size", "pool", "outcome"]
    mine = found[found["outcome"].str.startswith(("IE", "F1", "log"))]
    mine = mine.assign(difference=mine["pvf_0.3"] - mine["holdout"])
    mine = mine[["table", *keys, "difference"]]
    if committed is None:
        return mine.assign(low=float("nan"), high=float("nan"), inside=False)
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
        found = compare_folder(
            folder, size=size, pool=pool, n_cohorts=cohorts, seed=seed, n_jobs=jobs
        )
        committed = _committed()
    except DataError as error:
        raise click.ClickException(on_console(str(error))) from error
    if out is not None:
        write_whole(out, found.to_csv(index=False).encode())
    say("PVF (σ = 0.3) less hold-out, attainable share; among the study's tables, middle 95%")
    for row in where_it_lies(found, committed).itertuples():
        text = interval_text(row.difference, row.low, row.high)
        where = "no study yet" if pd.isna(row.low) else "inside" if row.inside else "outside"
        say(f"{row.table}, {row.outcome}: {text} {where}")


def _committed() -> pd.DataFrame | None:
    try:
        return read_result("rules")[0]
    except FileNotFoundError:
        return None
