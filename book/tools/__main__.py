"""Command line of the book: ``python -m book.tools``."""

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path

import click

from book.tools.build import make_book
from book.tools.metadata import check_metadata, write_metadata
from book.tools.notebooks import library_digest, plan_jobs, run_jobs
from book.tools.pairs import check_pairs, write_pairs
from book.tools.project import BookError, Project, find_project
from pvf._cli import Number, OneLineGroup, PathTo, say
from studies.kit.results import SHARDS_VARIABLE


class _Group(OneLineGroup):
    faults = (BookError,)


@click.group(cls=_Group)
@click.option(
    "--root",
    type=PathTo(exists=True, file_okay=False, path_type=Path),
    help="Repository to work in; by default the one around the working directory.",
)
@click.pass_context
def main(context: click.Context, root: Path | None) -> None:
    """Run the notebooks and build the book of reproduced papers."""
    context.obj = functools.partial(find_project, root)


def _project(context: click.Context) -> Project:
    return context.obj()


def _mode_option(command: Callable) -> Callable:
    return click.option(
        "--mode",
        type=click.Choice(["reduced", "full"]),
        default="reduced",
        show_default=True,
        help="Reduced: the notebooks' defaults. Full: the values in notebooks/full.yaml.",
    )(command)


@main.command()
@click.option("--check", is_flag=True, help="Compare only; fail if a pair is out of step.")
@click.pass_context
def pairs(context: click.Context, check: bool) -> None:
    """Make every notebooks/*.ipynb from the .py beside it."""
    project = _project(context)
    if check:
        check_pairs(project)
        return
    for stem in write_pairs(project):
        say(f"notebooks/{stem}.ipynb: made from notebooks/{stem}.py")


@main.command()
@click.argument("names", nargs=-1, metavar="[NOTEBOOK]...")
@_mode_option
@click.option(
    "-p", "given", nargs=2, multiple=True, metavar="NAME VALUE", help="Set one parameter."
)
@click.option(
    "--output",
    type=PathTo(file_okay=False, path_type=Path),
    help="Folder for the executed notebooks.  [default: book/chapters]",
)
@click.option("--time-limit", type=Number(min=0, min_open=True), help="Seconds for each.")
@click.option("--force", is_flag=True, help="Run even what has not changed.")
@click.pass_context
def run(
    context: click.Context,
    names: tuple[str, ...],
    mode: str,
    given: tuple[tuple[str, str], ...],
    output: Path | None,
    time_limit: float | None,
    force: bool,
) -> None:
    """Run notebooks (all by default) whose sources, library or values have changed."""
    project = _project(context)
    if output and output.resolve() == project.notebooks.resolve():
        raise click.BadParameter(
            f"{str(output)!r} holds the notebooks themselves; take another folder.",
            param_hint="'--output'",
        )
    jobs = plan_jobs(project, names, mode=mode, given=given, time_limit=time_limit)
    run_jobs(
        project,
        jobs,
        output=output.resolve() if output else None,
        force=force,
        progress=sys.stderr.isatty(),
        report=say,
    )


@main.command()
@_mode_option
@click.pass_context
def build(context: click.Context, mode: str) -> None:
    """Run what has changed, build the book in _build/html and check it.

    While another run or build of this book is at work, a second one says so and waits.

    In full mode all tables of book/results are first made anew, in build/tables, and compared with
    the committed ones. Finished blocks are kept in build/shards: an interrupted run goes on from
    there, and the notebooks find there what the tables needed too.
    """
    project, summary = _project(context), ""
    if mode == "full":
        from studies.kit.agreement import check_tables, in_one_line  # noqa: PLC0415  loads every study

        os.environ[SHARDS_VARIABLE] = str(project.root / "build" / "shards" / library_digest())
        folder = project.root / "build" / "tables"
        summary = in_one_line(check_tables(folder=folder, n_jobs=-1, report=say))
    page = make_book(project, mode=mode, progress=sys.stderr.isatty(), report=say)
    if summary:
        say(summary)
    say(f"the book is ready: {page}")


@main.command()
@click.option("--check", is_flag=True, help="Compare only; fail if a file is out of date.")
@click.pass_context
def metadata(context: click.Context, check: bool) -> None:
    """Make the metadata for archives, .zenodo.json and ro-crate-metadata.json."""
    project = _project(context)
    if check:
        check_metadata(project)
        return
    for name in write_metadata(project):
        say(f"{name}: written")


if __name__ == "__main__":
    main(prog_name="python -m book.tools")
