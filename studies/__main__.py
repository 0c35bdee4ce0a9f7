"""Command line of the replication: ``python -m studies``."""

from pathlib import Path

import click

from pvf._cli import Jobs, OneLineGroup, PathTo, say
from pvf._text import on_console
from studies.catalogue import STUDIES, make_table
from studies.data.cli import data
from studies.kit.agreement import check_sample, check_tables, in_one_line
from studies.kit.claims import ledger_text
from studies.kit.results import repository_root
from studies.rules.unseen import rules


@click.group(cls=OneLineGroup)
def main() -> None:
    """Compute the full-scale tables, judge the claims, look after the data."""


@main.command()
@click.argument("names", nargs=-1, metavar="[TABLE]...")
@click.option(
    "--jobs", type=Jobs(), default=-1, show_default=True, help="Workers; -1 is all cores."
)
@click.option(
    "--shards",
    type=PathTo(file_okay=False, path_type=Path),
    help="Folder for finished blocks, from which an interrupted run goes on.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Write to build/tables instead, and compare with book/results; fail if a table differs.",
)
@click.option(
    "--sample",
    is_flag=True,
    help="Compute some rows only, and look for them in the committed tables; seconds a table.",
)
@click.pass_context
def tables(
    context: click.Context,
    names: tuple[str, ...],
    jobs: int,
    shards: Path | None,
    check: bool,
    sample: bool,
) -> None:
    """Compute the full-scale tables of book/results anew (all by default)."""
    for name in names:
        if name not in STUDIES:
            hint = "'[TABLE]...'"
            raise click.BadParameter(f"{name!r} is none of {', '.join(STUDIES)}.", param_hint=hint)
    if sample:
        found = {}
        for name in names or [name for name, study in STUDIES.items() if study.sample]:
            found[name] = check_sample(name, n_jobs=jobs)
            say(f"table {name}: {found[name].kind} ({found[name].says})")
        context.exit(any(agreement.kind == "differs" for agreement in found.values()))
    if check:
        folder = repository_root() / "build" / "tables"
        found = check_tables(names, folder=folder, shards=shards, n_jobs=jobs, report=say)
        say(in_one_line(found))
        context.exit(any(agreement.kind == "differs" for agreement in found.values()))
    for name in names or STUDIES:
        say(f"{name}: written to {make_table(name, n_jobs=jobs, out=shards)}")


@main.command()
@click.argument("ids", nargs=-1, metavar="[CLAIM]...")
@click.option(
    "--format",
    "layout",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="For people, for programs, for spreadsheets.",
)
def claims(ids: tuple[str, ...], layout: str) -> None:
    """Print the verdict on every claim, or on those named, computed from book/results."""
    try:
        click.echo(ledger_text(layout, ids), nl=layout != "csv")
    except ValueError as error:
        raise click.ClickException(on_console(str(error))) from error


main.add_command(data)
main.add_command(rules)


if __name__ == "__main__":
    main(prog_name="python -m studies")
