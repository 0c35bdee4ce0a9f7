"""``pvf select`` and ``example``: exit codes, one-line faults, reports, overrides."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from ugly_csv import KINDS, TARGET, plain_table, to_bytes, ugly_table

from book.tools.project import ROOT
from pvf import render
from pvf.__main__ import main
from pvf.select import choose as own_selection
from pvf.select import example as simulated_cohort
from pvf.select import report as own_report
from pvf.select.choose import RULES, select
from pvf.select.read import load_own_data

SMALL = ["--splits", "3", "--pool", "own_pool:small", "--sets", "10"]


def call(*arguments):
    """Call the command in this process."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def ugly(tmp_path):
    """Write the ugly table."""
    path = tmp_path / "ugly.csv"
    path.write_bytes(to_bytes(ugly_table()))
    return path


@pytest.fixture
def plain(tmp_path):
    """Write the plain table."""
    path = tmp_path / "plain.csv"
    path.write_bytes(to_bytes(plain_table(), separator=","))
    return path


def test_ugly_file_gets_columns_recommendation_and_reports(ugly, tmp_path):
    """Exit 0: kinds are said, the recommendation is printed, three reports are written."""
    reports = [tmp_path / f"report.{ending}" for ending in ("html", "md", "json")]
    options = [word for path in reports for word in ("--report", path)]
    done = call("select", ugly, "--target", TARGET, "--capacity", "0.2", *SMALL, *options)
    assert done.exit_code == 0, done.output
    for name, kind in KINDS.items():
        assert re.search(rf"^  {re.escape(name)} +{kind} +\S", done.output, flags=re.MULTILINE)
    assert "Caveats:" in done.output
    assert "2 rows that repeat another one" in done.output
    assert all(path.stat().st_size > 2000 for path in reports)
    found = json.loads(reports[2].read_text(encoding="utf-8"))
    assert found["recommendation"]["headline"] in done.output
    assert set(found["choices"]) == set(RULES)
    assert done.stderr == ""  # no bar and no warning where there is no terminal


FAULTS = {
    "no-file": (["none.csv", "--target", "died"], r"none\.csv: there is no such file"),
    "no-target": (["{plain}", "--target", "dies"], r"target 'dies' is no column; did you mean"),
    "leak": (["{leak}", "--target", "died"], r"Column 'copy' copies the target 'died'"),
    "pool": (["{plain}", "--target", "died", "--pool", "x"], r"pool is 'x'"),
    "kind": (["{plain}", "--target", "died", "--kind", "ward=numeric"], r"as numeric it takes"),
    "empty": (["{empty}", "--target", "died"], r"the file is empty"),
}


@pytest.mark.parametrize(("arguments", "message"), FAULTS.values(), ids=FAULTS)
def test_fault_of_the_data_is_one_line_and_exit_code_one(plain, tmp_path, arguments, message):
    """What a reader can mend is said in one line, without a traceback."""
    (tmp_path / "empty.csv").touch()
    leak = [[*row, "copy" if i == 0 else row[-1]] for i, row in enumerate(plain_table())]
    (tmp_path / "leak.csv").write_bytes(to_bytes(leak, separator=","))
    names = {"plain": plain, "leak": tmp_path / "leak.csv", "empty": tmp_path / "empty.csv"}
    done = call("select", *[a.format(**names) for a in arguments], "--capacity", "0.1")
    assert done.exit_code == 1
    assert re.search(message, done.stderr)
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("Error: ")


USAGES = {
    "no-capacity": ([], "Give --capacity, or both"),
    "capacity": (["--capacity", "0"], "0 is not in the range 0<x<=1"),
    "kind": (["--capacity", "0.1", "--kind", "ward"], "is not COLUMN=KIND"),
    "levels": (["--capacity", "0.1", "--kind", "ward=nominal:a<b"], "only ordinal takes levels"),
    "ending": (["--capacity", "0.1", "--report", "r.pdf"], "must end in .html, .md or .json"),
    "folder": (["--capacity", "0.1", "--report", "no/r.md"], "there is no folder 'no'"),
    "separator": (["--capacity", "0.1", "--separator", "::"], "is not one character"),
    "shares": (
        ["--capacity", "0.1", "--test-share", "0.5", "--validation-share", "0.5"],
        "must leave rows for training",
    ),
    "jobs": (["--capacity", "0.1", "--jobs", "0"], "--jobs takes a number of workers"),
    "unknown": (["--capacity", "0.1", "--targt", "x"], "No such option"),
}


@pytest.mark.parametrize(("arguments", "message"), USAGES.values(), ids=USAGES)
def test_wrong_usage_is_exit_code_two(plain, arguments, message):
    """A wrong option is told before any file is read."""
    done = call("select", plain, "--target", "died", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_help_has_examples_that_parse():
    """``--help`` shows commands; each of them is accepted as it stands."""
    shown = call("select", "--help").output
    text = re.sub(r"\\\n\s+", "", shown)
    examples = re.findall(r"pvf (select|example) (.+)", text)
    assert len(examples) >= 5
    assert "Exit codes: 0 done; 1" in shown
    for name, line in examples:
        words = shlex.split(line)
        with main.commands[name].make_context(name, words) as context:
            assert context.params["csv"].suffix == ".csv"


def test_overrides_reach_the_data(plain, tmp_path):
    """Kinds, dropped columns, the case and the missing mark are taken as given."""
    report = tmp_path / "r.json"
    options = ["--kind", "ward=ordinal:south<north<west", "--drop", "lab", "--positive", "no"]
    options += ["--missing", "p1", "--separator", ",", "--report", report, *SMALL]
    done = call("select", plain, "--target", "died", "--capacity", "0.3", *options)
    assert done.exit_code == 0, done.output
    found = json.loads(report.read_text(encoding="utf-8"))
    columns = {column["column"]: column for column in found["columns"]}
    assert columns["ward"]["kind"] == "ordinal"
    assert columns["ward"]["why"] == "given by you: south < north < west"
    assert columns["lab"]["kind"] == "ignored"
    assert columns["id"]["missing"] == 1
    assert found["data"]["positive"] == "no"


def test_report_that_cannot_be_written_is_one_line(plain, tmp_path):
    """A file in the way of the report is told after the recommendation."""
    target = tmp_path / "report.html"
    target.mkdir()
    done = call(
        "select", plain, "--target", "died", "--capacity", "0.3", *SMALL, "--report", target
    )
    assert done.exit_code == 2
    assert "is a directory" in done.stderr


def lead_to(path, how):
    """Make another path to a file, and return it with the ending of a report."""
    other = path.with_name(f"other{path.suffix}")
    if how == "symlink":
        other.symlink_to(path)
    elif how == "chain":
        path.with_name("between").symlink_to(path.name)
        other.symlink_to("between")
    elif how == "hard-link":
        other.hardlink_to(path)
    elif how == "folder-link":
        path.parent.with_name("linked").symlink_to(path.parent)
        other = path.parent.with_name("linked") / path.name
    else:
        relative = Path(os.path.relpath(path))
        words = {"same": path, "relative": relative, "case": path.with_name(path.name.upper())}
        other = words.get(how, path.parent / ".." / path.parent.name / path.name)
    return other


WAYS = ["same", "relative", "dots", "case", "symlink", "chain", "hard-link", "folder-link"]


@pytest.fixture
def no_fits(monkeypatch):
    """Let a selection fail, so that what is refused only after it is found out."""

    def fitted(*_, **__):
        pytest.fail("models were fitted")

    monkeypatch.setattr(own_selection, "select", fitted)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.usefixtures("no_fits")
def test_report_never_replaces_the_table(tmp_path, how):
    """However the report's name leads to the input, it is refused and the table stays."""
    table = tmp_path / "in" / "patients.md"
    table.parent.mkdir()
    content = to_bytes(plain_table(), separator=",")
    table.write_bytes(content)
    other = lead_to(table, how)
    good = tmp_path / "r.html"
    options = ["--target", "died", "--capacity", "0.2", "--report", good, "--report", other]
    done = call("select", table, *options)
    assert done.exit_code == 2
    assert "'--report': " in done.stderr
    assert "is the same file as" in done.stderr
    assert table.read_bytes() == content
    assert not good.exists()


@pytest.mark.parametrize("there", [True, False], ids=["there", "not-yet"])
@pytest.mark.parametrize("how", WAYS)
@pytest.mark.usefixtures("no_fits")
def test_two_reports_never_share_a_file(plain, tmp_path, how, there):
    """Whether the file is there already or not, the second name is refused."""
    one = tmp_path / "out" / "r.html"
    one.parent.mkdir()
    if there or how == "hard-link":
        one.touch()
    options = ["--target", "died", "--capacity", "0.2", "--report", one]
    done = call("select", plain, *options, "--report", lead_to(one, how))
    assert done.exit_code == 2
    assert "are one file" in done.stderr


def unfit(tmp_path, what):
    """Return the path of a report that cannot be written."""
    path = tmp_path / "r.html"
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "loop":
        path.symlink_to("r.html")
    elif what == "link-to-nowhere":
        path.symlink_to("no/r.html")
    elif what == "file-as-folder":
        (tmp_path / "f").touch()
    names = {"no-folder": "no/r.html", "file-as-folder": "f/r.html", "long": "x" * 300 + ".html"}
    return Path("/proc/r.html") if what == "no-room" else tmp_path / names.get(what, "r.html")


UNFIT = [
    "folder",
    "pipe",
    "loop",
    "link-to-nowhere",
    "no-folder",
    "file-as-folder",
    "long",
    "no-room",
]


@pytest.mark.parametrize("what", UNFIT)
@pytest.mark.parametrize("command", ["select", "example"])
@pytest.mark.usefixtures("no_fits")
def test_output_that_cannot_be_written_is_refused_before_the_work(plain, tmp_path, command, what):
    """Where the file system knows it already, the answer comes first, and nothing is left."""
    path = unfit(tmp_path, what)
    before = sorted(tmp_path.iterdir())
    if command == "select":
        options = ["--target", "died", "--capacity", "0.2", "--report", path]
        done = call("select", plain, *options)
    else:
        done = call("example", path)
    assert done.exit_code == 2
    assert "'--report'" in done.stderr or "'CSV'" in done.stderr
    assert done.stderr.count("Error: ") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_reports_are_written_each_by_itself(plain, tmp_path, monkeypatch):
    """One whose disk is full and one whose drawing fails cost neither of the others."""
    names = ["a.html", "b.md", "c.json", "d.json"]
    (tmp_path / "b.md").write_text("old", encoding="utf-8")
    write_bytes = render.write_whole

    def full(path, content):
        if path.name == "b.md":
            raise OSError(28, "No space left on device")
        write_bytes(path, content)

    monkeypatch.setattr(render, "write_whole", full)
    monkeypatch.setattr(own_report, "as_html", lambda _: 1 / 0)
    options = [word for name in names for word in ("--report", tmp_path / name)]
    done = call("select", plain, "--target", "died", "--capacity", "0.3", *SMALL, *options)
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert f"{tmp_path / 'a.html'} cannot be written (ZeroDivisionError: division by zero)" in line
    assert f"{tmp_path / 'b.md'} cannot be written (No space left on device)" in line
    assert line.endswith(f"Written: {tmp_path / 'c.json'}, {tmp_path / 'd.json'}.")
    assert not (tmp_path / "a.html").exists()
    assert (tmp_path / "b.md").read_text(encoding="utf-8") == "old"
    for name in names[2:]:
        assert f"report: {tmp_path / name}\n" in done.stdout
        json.loads((tmp_path / name).read_text(encoding="utf-8"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.md", *names[2:], "plain.csv"]


def test_report_through_a_link_keeps_the_link(plain, tmp_path):
    """The file behind the link is replaced, not the link."""
    (tmp_path / "common").mkdir()
    link = tmp_path / "r.json"
    link.symlink_to("common/r.json")
    call("select", plain, "--target", "died", "--capacity", "0.3", *SMALL, "--report", link)
    assert link.is_symlink()
    assert json.loads((tmp_path / "common" / "r.json").read_text(encoding="utf-8"))["choices"]


def test_names_reach_the_terminal_as_escapes(tmp_path):
    """Of a header, an outcome, levels and the file's name, nothing is a command for a terminal."""
    rows = plain_table()
    rows[0] = ["id", "age\x1b[31m", "\u202elab", "ward\a", "died\x9b"]
    for row in rows[1:]:
        row[3] += "\x1b]0;owned\a"
        row[4] = {"yes": "\x1byes", "no": "\x1bno"}[row[4]]
    path = tmp_path / "p\x1b[5m.csv"
    path.write_bytes(to_bytes(rows, separator=",", encoding="utf-8"))
    words = ["select", path, "--target", "died\x9b", "--capacity", "0.2", *SMALL]
    words += ["--positive", "\x1byes", "--report", tmp_path / "r\x1b.json"]
    done = CliRunner().invoke(main, list(map(str, words)), color=True)
    assert done.exit_code == 0, done.output
    assert all(line.isprintable() for line in done.output.split("\n"))
    for shown in (r"age\x1b[31m", r"\u202elab", r"'\x1byes'", r"p\x1b[5m.csv", r"r\x1b.json"):
        assert shown in done.output


def test_long_name_widens_no_other_line(plain, tmp_path):
    """A name of a thousand characters is shown whole, and the other lines stay short."""
    rows = plain_table()
    rows[0][1] = "a" * 1000
    plain.write_bytes(to_bytes(rows, separator=","))
    done = call("select", plain, "--target", "died", "--capacity", "0.2", "--pool", "no:pool")
    assert "a" * 1000 in done.stdout
    assert max(len(line) for line in done.stdout.splitlines() if "aaa" not in line) < 120


def test_runs_as_a_process_from_any_folder(tmp_path):
    """As typed: from the file's folder, with a pool of one's own that lies there, and no HOME."""
    (tmp_path / "my.csv").write_bytes(to_bytes(plain_table(), separator=","))
    pool = (ROOT / "tests" / "own_pool.py").read_text(encoding="utf-8")
    (tmp_path / "my_models.py").write_text(pool, encoding="utf-8")
    command = "select my.csv --target died --capacity 0.2 --sets 5 --pool my_models:small"
    environment = {name: value for name, value in os.environ.items() if name != "HOME"}
    done = subprocess.run(
        [sys.executable, "-m", "pvf", *command.split(), "--report", "r.html"],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "report: r.html"
    assert (tmp_path / "r.html").is_file()


# --- the simulated cohort -------------------------------------------------------------------------


def test_example_is_written_once_and_never_over_something_else(tmp_path):
    """The same command twice is fine; another file of that name stays as it is."""
    path = tmp_path / "patients.csv"
    assert call("example", path).exit_code == 0
    content = path.read_bytes()
    assert call("example", path).exit_code == 0
    done = call("example", path, "--seed", "1")
    assert done.exit_code == 1
    assert "holds something else" in done.stderr
    assert path.read_bytes() == content


def test_simulated_chances_are_those_of_the_deaths():
    """In groups of 60,000 simulated patients, deaths are as frequent as the chances say."""
    cohort = simulated_cohort.make_cohort(60000, seed=1)
    whole = cohort.dropna()
    chance = simulated_cohort.chance_of_death(whole)
    died = (whole["died"] == "yes").to_numpy()
    order = chance.argsort()
    for group in [order[i::1][: len(order) // 4] for i in (0, len(order) // 4, len(order) // 2)]:
        error = 4 * (chance[group] * (1 - chance[group])).sum() ** 0.5 / len(group)
        assert abs(died[group].mean() - chance[group].mean()) < error


def test_truth_is_that_of_new_patients(tmp_path):
    """True worth is IE among new simulated patients, and the best candidate has rank 1."""
    path = simulated_cohort.write_cohort(tmp_path / "c.csv")
    data = load_own_data(path, "died")
    selection = select(
        data, capacity=0.1, pool="own_pool:small", n_sets=5, n_splits=3, n_bootstraps=50
    )
    worth = simulated_cohort.true_worth(selection, tmp_path, n_patients=4000)
    assert worth.loc["best candidate", "rank"] == 1
    assert worth["IE"].max() == worth.loc["best candidate", "IE"]
    assert (worth["IE"] > 1).all()
    assert "not known" in str(simulated_cohort.readable_worth(selection, tmp_path, csv="x.csv"))


def test_report_with_figures_is_refused_before_any_fit_without_matplotlib(tmp_path, monkeypatch):
    """A plain install says what to add, and that JSON does without."""
    monkeypatch.setattr("pvf.select.cli.find_spec", lambda _: None)
    csv = tmp_path / "my.csv"
    csv.write_bytes(to_bytes(plain_table(), separator=","))
    done = call("select", csv, "--target", "died", "--capacity", "0.3", "--report", "r.html")
    assert done.exit_code == 2
    assert "pip install 'pvf[plot]'" in done.stderr
