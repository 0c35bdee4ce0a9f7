"""Command line for a reader's own data: ``select``, ``columns``, ``apply`` and ``example``."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import partial, reduce
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from pvf._cli import SEED, Jobs, PathTo, refuse_outputs, say
from pvf._outputs import write_whole
from pvf._text import on_console
from pvf.select.columns import columns_as_toml, parse_kinds
from pvf.select.sentences import TableError, lines, sentence, texts
from pvf.select.settings import A_FILE, ABOVE_0, MOST_MINUTES, Cells, Choosing, Dialect, Reading

HELP = texts("options.toml")


def _kinds(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    """Read ``column=kind`` and ``column=ordinal:low<mid<high``."""
    try:
        return parse_kinds(given)
    except TableError as error:
        raise click.BadParameter(str(error)) from error


def _with_commas(_: click.Context, __: click.Parameter, given: str | None) -> Any:
    return None if given is None else tuple(given.split(","))


def _separator(_: click.Context, __: click.Parameter, given: str | None) -> str | None:
    separator = {"tab": "\t", "\\t": "\t"}.get(given or "", given)
    if separator is not None and (len(separator) != 1 or separator in '"\r\n\0'):
        raise click.BadParameter(f"{given!r} is not one character, or the word tab.")
    return separator


def _ends_in(endings: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Refuse other endings of the names of files."""

    def check(_: click.Context, __: click.Parameter, given: Any) -> Any:
        for path in given if isinstance(given, tuple) else filter(None, (given,)):
            if path.suffix.lower() not in re.split(", | or ", endings):
                raise click.BadParameter(f"{path.name!r} must end in {endings}.")
        return given

    return check


REPORT, MODEL = _ends_in(".html, .md or .json"), _ends_in(".skops")


def _refuse(wrong: dict[str, Any]) -> None:
    """Refuse the first usage that is wrong, by its sentence; what holds goes into it."""
    for macro, it in wrong.items():
        if it:
            raise click.UsageError(sentence(macro, it=it))


def _option(flag: str, name: str, **settings: Any) -> Callable[[Any], Any]:
    """Return an option with its help from the file of texts."""
    shown = settings.get("default") not in (None, ())
    return click.option(flag, name, help=HELP.get(name), show_default=shown, **settings)


def _options_of(kind: type, *, without: type | None = None) -> list[Callable[[Any], Any]]:
    """Return the options that settings make, but for those of a kind that they build on."""
    known = {one.name for one in fields(without)} if without else set()
    made = []
    for one in fields(kind):
        told: dict[str, Any] = {"callback": CALLBACKS.get(one.name), **one.metadata}
        told["default"] = None if one.default == () else one.default
        if told.get("flag") and one.name not in known:
            made.append(_option(told.pop("flag"), one.name, **told))
    return made


#: How the words of an option become a setting, where click alone does not say.
CALLBACKS = {"separator": _separator, "missing_spellings": _with_commas, "kinds": _kinds}
CSV = click.argument("csv", type=PathTo(path_type=Path))
#: How a model is selected.
SELECTING = [
    *_options_of(Choosing),
    _option("--jobs", "n_jobs", default=1, type=Jobs()),
    _option("--most-minutes", "most_minutes", default=MOST_MINUTES, type=ABOVE_0),
]
#: What is written.
RESULTS = [
    _option("--dry-run", "dry_run", is_flag=True),
    _option("--report", "reports", multiple=True, type=A_FILE, callback=REPORT),
    _option("--save", "saved", type=A_FILE, callback=MODEL),
]


def _with(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Add options to a command, in their order."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


@contextmanager
def _faults_of_data() -> Iterator[None]:
    """Tell what somebody's data don't allow, each fault in a line of its own."""
    try:
        yield
    except TableError as error:
        lines = (" ".join(line.split()) for line in str(error).splitlines())
        raise click.ClickException("\n".join(lines)) from error


@click.command(epilog=HELP["epilog"])
@CSV
@_option("--target", "target", required=True)
@_with(*_options_of(Reading, without=Cells), *SELECTING, *RESULTS, *_options_of(Cells))
def select(csv: Path, target: str, dry_run: bool, **options: Any) -> None:
    """Select a model from your own CSV by three rules, and say what the choice is worth.

    The kind of each column is guessed and shown; in each of many splits candidates are fitted on
    60% of the rows, selected by 20%, and judged on 20%. The recommendation and its caveats are
    printed; a report has the rest.
    """
    reports, saved = options.pop("reports"), options.pop("saved")
    places, per = options["places"], options["per"]
    in_people = places is not None and per is not None
    shares = options["validation_share"] + options["test_share"]
    wrong = {
        "no_capacity_given": (options["capacity"] is None) != in_people,
        "more_places": in_people and places > per,
        "no_training": shares >= 1,
    }
    _refuse({} if dry_run else wrong)
    refuse_outputs("'--report'", reports, *filter(None, (csv, options["columns_file"])))
    if saved:
        refuse_outputs("'--save'", (saved,), csv, *reports)
    drawn = [path.name for path in reports if path.suffix.lower() != ".json"]
    _refuse({"needs_matplotlib": find_spec("matplotlib") is None and drawn})
    _refuse({"needs_skops": find_spec("skops") is None and saved and saved.name})
    from pvf.select import choose  # noqa: PLC0415  takes a second to load
    from pvf.select.read import load_own_data  # noqa: PLC0415

    sys.path.insert(0, "")  # a pool may lie in the working directory
    reading = {one.name: options.pop(one.name) for one in fields(Reading)}
    with _faults_of_data():
        shape = {name: options[name] for name in ("pool", "n_splits", "n_jobs", "most_minutes")}
        fits = None if dry_run else partial(choose.refuse_shape, **shape)
        data = load_own_data(csv, target, **reading, fits=fits)
        width = min(max(len(on_console(column.name)) for column in data.columns), _WIDEST)
        _tell("table_on_console", data=data, width=width, dry_run=dry_run)
        if dry_run:
            return
        selection = choose.select(data, **options)
    say("")
    _tell("recommendation_on_console", said=selection.recommendation)
    _write(selection, reports, saved)


def _write(selection: Any, reports: tuple[Path, ...], saved: Path | None) -> None:
    """Write each report, and the model, by itself; say in the end which ones are missing."""
    from pvf.select.report import write_report  # noqa: PLC0415  takes a second to load
    from pvf.select.saved import save_model  # noqa: PLC0415

    writers: list[tuple[str, Any, Path]] = [("report", write_report, path) for path in reports]
    writers += [("model", save_model, saved)] if saved else []
    failed, written = [], []
    for what, write, path in writers:
        try:
            write(selection, path)
        except Exception as error:  # whatever it is, the other files are worth having
            why = " ".join(f"{type(error).__name__}: {error}".split())
            failed.append(f"{path} cannot be written ({getattr(error, 'strerror', None) or why})")
        else:
            written.append(str(path))
            say(f"{what}: {path}")
    if failed:
        said = f"{'; '.join(failed)}. Written: {', '.join(written) or 'none'}."
        raise click.ClickException(on_console(said))


#: Columns whose names are longer stand out of the line, so that one name doesn't widen them all.
_WIDEST = 40


def _tell(macro: str, **facts: Any) -> None:
    click.echo("\n".join(lines(macro, **facts)))


@click.command()
@CSV
@_with(*_options_of(Cells))
def columns(csv: Path, decimal: str | None, censored: str, **options: Any) -> None:
    """Write what each column is taken for as TOML, to change and give to `select --columns`."""
    from pvf.select.read import read_csv_table  # noqa: PLC0415

    with _faults_of_data():
        table = read_csv_table(csv, **options)
        reading = {"decimal": decimal, "censored": censored, "separator": table.separator}
        click.echo(columns_as_toml(table.frame, csv.name, **reading), nl=False)


@click.command()
@click.argument("model", type=A_FILE)
@CSV
@_option("--out", "out", required=True, type=A_FILE)
@_option("--trust", "trust", multiple=True, metavar="MODULE.CLASS")
@_with(*_options_of(Dialect))
def apply(model: Path, csv: Path, out: Path, trust: tuple[str, ...], **options: Any) -> None:
    """Score new patients with a model that `select --save` saved.

    The new file has columns of the same names, written in the same way; what it has besides is
    left alone. Scores rank patients: give the places to the highest.
    """
    refuse_outputs("'--out'", (out,), csv, model)
    from pvf.select.read import read_csv_table  # noqa: PLC0415
    from pvf.select.saved import load_model, new_scores  # noqa: PLC0415  takes a second to load

    if trust:
        sys.path.insert(0, "")
    with _faults_of_data():
        saved = load_model(model, trusted=trust)
        looked_at = [column.name for column in saved.columns if column.is_feature]
        alone = looked_at[0] if len(looked_at) == 1 else ""
        table = read_csv_table(csv, **options, missing_spellings=(), alone=alone)
        scores, notes = new_scores(saved, table)
    flagged, notes = int((scores["flagged"] == "yes").sum()), (*table.notes, *notes)
    names = {"model": model.name, "csv": csv.name}
    facts = {"n": len(scores), "n_flagged": flagged, "notes": notes}
    _tell("scores_on_console", **names, **facts, saved=saved)
    write_whole(out, scores.to_csv().encode())
    say(f"scores: {out}")


@click.command()
@click.argument("csv", type=A_FILE)
@_option("--patients", "patients", default=500, type=click.IntRange(1, 10**6))
@_option("--seed", "seed", default=0, type=SEED)
def example(csv: Path, patients: int, seed: int) -> None:
    """Write a simulated cohort as a CSV, to try `select` on. Nobody in it exists."""
    refuse_outputs("'CSV'", (csv,))
    from pvf.select.example import make_cohort  # noqa: PLC0415

    made = make_cohort(patients, seed=seed).to_csv(index=False, date_format="%Y-%m-%d").encode()
    try:
        if csv.exists() and csv.read_bytes() != made:
            raise click.ClickException(f"{csv} exists and holds something else; take another name.")
        write_whole(csv, made)
    except OSError as error:
        raise click.ClickException(f"{csv}: cannot be written ({error.strerror}).") from error
    say(f"{csv}: {patients} simulated patients; the outcome is died, yes or no")
