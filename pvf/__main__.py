"""Command line of the library: ``python -m pvf``, or ``pvf``."""

import click

from pvf._cli import OneLineGroup
from pvf.select.cli import apply, columns, example, select


@click.group(cls=OneLineGroup)
def main() -> None:
    """Choose a model on a table of your own."""


for command in (example, columns, select, apply):
    main.add_command(command)


if __name__ == "__main__":
    main(prog_name="python -m pvf")
