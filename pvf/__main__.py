"""Command line of the library: ``python -m pvf``, or ``pvf``."""

import click

from pvf._cli import OneLineGroup
from pvf.select.cli import example, select


@click.group(cls=OneLineGroup)
def main() -> None:
    """Choose a model on a table of your own."""


main.add_command(example)
main.add_command(select)


if __name__ == "__main__":
    main(prog_name="python -m pvf")
