"""Every option of every command is fed what no user should type; each answer is one line."""

import copy
import os
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from ugly_csv import plain_table, to_bytes

from book.tools import __main__ as tools
from book.tools import notebooks
from pvf import __main__ as library
from pvf._text import on_console, shortened
from pvf.select import choose as own_selection
from pvf.select.candidates import make_pool
from pvf.select.sentences import TableError
from studies import __main__ as studies
from studies.data.tables import DataError
from studies.kit.results import run_blocks
from studies.rules import unseen

NOT_FINITE = ["nan", "-nan", "inf", "-inf", "1e999"]
TINY = ["1e-9", "1e-300", "5e-324", "0.999999999"]
NUMBERS = [*NOT_FINITE, *TINY, "-1", "0", "99999999999999999999", "9" * 5000]
TEXTS = [
    "",
    " ",
    "\0",
    "a\0b",
    "a\nb",
    "\x1b[31mred\x1b]0;owned\a",
    "\x9b31m",
    "\u202eevil\u2066",
    "\udcff",
    "-",
    "--",
    "%s{0}{",
    "x" * 5000,
    "no/such/folder/x",
    "/dev/null",
    "/dev/null/x",
    "/proc/x",
]
#: All commands of the three programs; what they share is tried once.
main = copy.copy(tools.main)
main.commands = {**library.main.commands, **studies.main.commands, **tools.main.commands}

#: What each command needs besides the value that is tried. A new command must be added here.
BASE = {
    "": ["claims"],
    "apply": ["--out", "scores.csv"],
    "build": [],
    "claims": [],
    "columns": [],
    "data fetch": [],
    "data status": [],
    "example": [],
    "metadata": [],
    "pairs": [],
    "rules": ["--data", "tables"],
    "run": [],
    "select": ["--target", "died", "--capacity", "0.2", "--pool", "own_pool:small"],
    "tables": ["cost_times"],
}


def commands(group, path=""):
    """Yield every command that does something itself, by its path."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")
        else:
            yield path + name, command


def parameters():
    """Return every option and argument of every command, and those before a command's name."""
    return [
        pytest.param(path, param, id=f"{path or 'main'}-{param.opts[0]}")
        for path, command in [("", main), *commands(main)]
        for param in command.params
    ]


def values(param):
    """Return what to try: numbers, texts, and for a file each with the ending of a report too."""
    tried = [*NUMBERS, *TEXTS]
    return [*tried, *(f"{value}.html" for value in tried)] if "report" in param.name else tried


def typed(param, value):
    """Return the words by which a command line would give the value."""
    if isinstance(param, click.Argument):
        return ["--", value]
    if param.nargs > 1:
        return [param.opts[0], *[value] * param.nargs]
    return [f"{param.opts[-1]}={value}"]


def one_row(block):
    """Stand in for the blocks of a table."""
    return pd.DataFrame({"block": [block]})


@pytest.fixture
def started(monkeypatch, tmp_path):
    """Let accepted values go as far as they are checked, and stop where the work would begin."""

    def no_fits(data, *, pool, validation_share, test_share, seed, **_):
        shares = {"validation_share": validation_share, "test_share": test_share}
        rows = own_selection.split(data.y, seed=seed, **shares).train
        make_pool(pool, data.features, data.X.iloc[rows], data.y[rows], seed=seed)
        raise TableError("every value was accepted")

    def no_table(name, *, n_jobs=None, out=None, folder=None):
        run_blocks(one_row, [1], study=name, settings={}, out=out)
        return Path(name)

    def no_tables(*_):
        raise DataError("every value was accepted")

    monkeypatch.setattr(own_selection, "select", no_fits)
    monkeypatch.setattr(unseen, "read_folder", no_tables)
    monkeypatch.setattr(studies, "make_table", no_table)
    monkeypatch.setattr(studies, "check_tables", lambda *_, **__: {})
    monkeypatch.setattr(studies, "check_sample", lambda *_, **__: {})
    (tmp_path / "patients.csv").write_bytes(to_bytes(plain_table(), separator=","))
    (tmp_path / "tables").mkdir()
    (tmp_path / "book" / "notebooks").mkdir(parents=True)
    (tmp_path / "book" / "_toc.yml").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command_line(path, param, value):
    """Return the whole command line, all of it sound but one value."""
    if path == "":
        return [*typed(param, value), *BASE[path]]
    before = ["--root", "book"] if path == "run" else []
    own = ["patients.csv"] if path in ("select", "columns") and param.name != "csv" else []
    if path == "apply":
        both = ["model.skops", "patients.csv"]
        own = {"csv": both[:1], "model": []}.get(param.name, both)
    after = ["patients.csv"] if path == "apply" and param.name == "model" else []
    own += ["new.csv"] if path == "example" and param.name != "csv" else []
    replaced = param.opts[-1]
    base = BASE[path][2:] if BASE[path][:1] == [replaced] else BASE[path]
    if path == "tables" and param.name == "names":
        base = []
    given_twice = [word for word in base if word != replaced]
    if replaced in base:  # the sound value goes too
        given_twice.remove(base[base.index(replaced) + 1])
    return [*before, *path.split(), *own, *given_twice, *typed(param, value), *after]


@pytest.mark.parametrize(("path", "param"), parameters())
def test_hostile_value_is_answered_in_one_safe_line(started, monkeypatch, path, param):
    """Exit code 0, 1 or 2; one line of error that names the option; nothing for the terminal."""
    if path == "run" and param.name in ("output", "time_limit"):
        monkeypatch.setattr(notebooks, "plan_jobs", lambda *_, **__: [])
    for value in values(param):
        done = CliRunner().invoke(main, command_line(path, param, value), color=True)
        said = f"{path} {param.opts[0]}={value[:60]!r}: {done.output[-300:]}"
        assert done.exception is None or isinstance(done.exception, SystemExit), said
        assert done.exit_code in (0, 1, 2), said
        assert all(line.isprintable() for line in done.output.split("\n")), said
        faults = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
        assert len(faults) == (1 if done.exit_code else 0), said
        if done.exit_code == 2:
            assert done.stderr.splitlines()[-1] == faults[0], said
            names = [param.opts[-1], param.name, (param.metavar or param.name).strip(".[]").upper()]
            assert any(name in faults[0] for name in names), said
        elif done.exit_code == 1:
            assert done.stderr.splitlines() == faults, said


@pytest.mark.parametrize(
    ("path", "option"),
    [
        (path, param.opts[-1])
        for path, command in commands(main)
        for param in command.params
        if isinstance(param.type, click.types.FloatParamType)
    ],
)
@pytest.mark.parametrize("value", NOT_FINITE)
def test_number_that_is_none_is_refused_by_its_option(started, path, option, value):
    """No option takes a number that is not finite, and the answer is wrong usage."""
    done = CliRunner().invoke(main, [*path.split(), f"{option}={value}"])
    assert done.exit_code == 2
    assert f"'{option}': '{value}' is not a finite number." in done.stderr


@pytest.mark.parametrize("command", ["select", "example"])
def test_seed_has_thirty_two_bits(started, command):
    """The largest seed that NumPy's older generators take is accepted, the next one is not."""
    needed = ["patients.csv", *BASE["select"]] if command == "select" else ["new.csv"]
    largest = CliRunner().invoke(main, [command, *needed, "--seed", str(2**32 - 1)])
    assert largest.exit_code == {"select": 1, "example": 0}[command]
    assert largest.stderr in ("", "Error: every value was accepted\n")
    done = CliRunner().invoke(main, [command, *needed, "--seed", str(2**32)])
    assert done.exit_code == 2
    assert "'--seed'" in done.stderr


def test_library_refuses_seeds_and_shares_by_name():
    """What the command refuses, the function refuses too, and no share is taken for the seed."""
    outcomes = np.repeat([0, 1], 50)
    with pytest.raises(ValueError, match="seed must be at most 4294967295"):
        own_selection.split(outcomes, seed=2**32)
    with pytest.raises(TableError, match=r"test_share 1e-09 of 100 rows leave a part without"):
        own_selection.split(outcomes, test_share=1e-9)


def test_terminal_without_greek_letters_gets_escapes(started):
    """Where the terminal's encoding lacks a letter, the command goes on."""
    done = CliRunner(charset="latin-1").invoke(main, ["example", "größe σ.csv"])
    assert done.exit_code == 0
    assert done.stdout.startswith("größe \\u03c3.csv: 500 simulated patients")


def test_folder_of_the_notebooks_is_no_place_for_pages(started):
    """Executed notebooks must not replace their sources."""
    done = CliRunner().invoke(main, ["--root", "book", "run", "--output", "book/./notebooks"])
    assert done.exit_code == 2
    assert "holds the notebooks themselves" in done.stderr


# --- text for the terminal ------------------------------------------------------------------------


@given(st.text())
def test_text_on_the_console_is_printable_and_can_be_read_back(text):
    """What is printable stays as it is, and Python reads the rest back from its escapes."""
    shown = on_console(text)
    assert shown.isprintable()
    if text.isprintable():
        assert shown == text
    elif "\\" not in text:
        plain = "".join(f"\\u{ord(c):04x}" if 127 < ord(c) < 65536 else c for c in shown)
        if all(ord(c) < 128 for c in plain):
            assert plain.encode("ascii").decode("unicode_escape") == text


@given(st.text(), st.integers(2, 50))
def test_shortened_text_keeps_both_ends(text, most):
    """It is no longer than allowed, and begins and ends as the text does."""
    cut = shortened(text, most)
    assert len(cut) <= most
    if cut != text:
        head, _, tail = cut.rpartition("…") if cut.count("…") == 1 else (cut[0], "", "")
        assert text.startswith(head)
        assert text.endswith(tail)


UNKNOWN = ["--\x1b[31m{}", "--x\n{}", "-\x9b", "\x1b]0;owned\a", "\u202e", "a\nb"]


@pytest.mark.parametrize("path", BASE)
def test_what_no_command_knows_is_shown_escaped(started, path):
    """Options, commands and arguments that don't exist are told in one line of plain text."""
    for word in UNKNOWN:
        done = CliRunner().invoke(main, [*path.split(), word, word], color=True)
        assert done.exit_code in (1, 2), word
        assert isinstance(done.exception, SystemExit), word
        assert all(line.isprintable() for line in done.output.split("\n")), word
        assert done.stderr.count("Error: ") == 1, word
        assert done.stderr.splitlines()[-1].startswith("Error: "), word


def test_every_command_is_known_here():
    """No command is left out by having no line of its own."""
    assert {"", *(path for path, _ in commands(main))} == BASE.keys()
    assert os.path.exists("/dev/null")  # noqa: PTH110  else the devices above try nothing
