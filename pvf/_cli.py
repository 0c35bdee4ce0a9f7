"""What the commands share: lines that are safe to print, faults in one line, kinds of options."""

from __future__ import annotations

import errno
import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from pvf._outputs import OutputError, check_outputs
from pvf._text import on_console

#: What NumPy and scikit-learn both take as a seed.
SEED = click.IntRange(0, 2**32 - 1)


def say(line: str) -> None:
    """Print a line; what could command the terminal is shown escaped."""
    click.echo(on_console(line))


def refuse_outputs(hint: str, outputs: Sequence[Path], *inputs: Path) -> None:
    """Refuse outputs that cannot or must not be written, while nothing has been computed yet."""
    try:
        check_outputs(outputs, inputs)
    except OutputError as error:
        raise click.BadParameter(str(error), param_hint=hint) from error


class Number(click.FloatRange):
    """A finite number in a range; click's own type lets NaN through any range."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Read the number."""
        number = click.FLOAT.convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return super().convert(number, param, ctx)


class Jobs(click.IntRange):
    """A number of workers, as joblib takes them: not 0, nor more than any machine has."""

    def __init__(self) -> None:
        super().__init__(max=1024)

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """Read the number."""
        number = super().convert(value, param, ctx)
        if number == 0:
            self.fail("--jobs takes a number of workers, or -1 for all cores.")
        return number


class PathTo(click.Path):
    """A path; click's own type ends in a traceback where the name cannot be one."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Read the path."""
        try:
            path = super().convert(value, param, ctx)
        except ValueError as error:
            self.fail(f"{value!r} cannot be a path ({error}).", param, ctx)
        if not self.file_okay and os.path.lexists(path) and not Path(os.fsdecode(path)).is_dir():
            self.fail(f"{value!r} is no folder.", param, ctx)
        return path


class OneLineGroup(click.Group):
    """Shows a foreseeable fault as one line and exit code 1, anything else as a traceback."""

    #: Kinds of error that are foreseeable, and say in their message what is wrong.
    faults: tuple[type[Exception], ...] = ()

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the options before the command's name."""
        with _one_line_faults(self.faults):
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        # Greek letters must not end a command where the terminal has none.
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="backslashreplace")
        with _one_line_faults(self.faults):
            return super().invoke(ctx)


@contextmanager
def _one_line_faults(faults: tuple[type[Exception], ...]) -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        vars(error)["message"] = on_console(error.message)
        raise
    except click.ClickException as error:  # may list several faults, one a line
        vars(error)["message"] = _line_by_line(error.message)
        raise
    except faults as error:
        raise click.ClickException(_line_by_line(str(error))) from error
    except OSError as error:
        if error.errno == errno.EPIPE or not error.filename:
            raise
        said = f"{error.filename}: {error.strerror or error}."
        raise click.ClickException(on_console(said)) from error


def _line_by_line(text: str) -> str:
    return "\n".join(map(on_console, text.split("\n")))
