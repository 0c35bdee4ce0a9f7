"""Runs of notebooks: nothing but a complete, quiet page reaches the book, and only when needed."""

import errno
import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from conftest import REPOSITORY, invoke, notebook_source, run_process, write_project
from filelock import FileLock
from papermill.cli import papermill as papermill_cli

from book.tools import notebooks
from book.tools.notebooks import Job, alone, is_current, plan_jobs, run_jobs, run_note
from book.tools.pairs import source_stems, write_pairs
from book.tools.parameters import Parameter
from book.tools.project import ROOT, BookError, find_project

NOISY = """\
import sys, warnings
import numpy as np
from tqdm.auto import tqdm
warnings.warn("a warning for the log")
print("noise", file=sys.stderr)
for _ in tqdm(range(3)):
    pass
print("signal", np.random.default_rng(seed).integers(10**9, size=n_repetitions))"""
WHERE = """\
import os, sys
from importlib.util import find_spec
print(sys.executable, find_spec("pvf").origin, os.getcwd(), sep=chr(10))"""
PICTURE = """\
import matplotlib.pyplot as plt
plt.plot([0, n_repetitions]);"""


def read(path: Path) -> nbformat.NotebookNode:
    """Read an executed notebook."""
    return nbformat.read(path, as_version=4)


def outputs(path: Path) -> list:
    """Read all outputs of all cells."""
    return [out for cell in read(path).cells for out in cell.get("outputs", [])]


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """Lines that the run of `ran` reported."""
    return []


@pytest.fixture(scope="module")
def ran(tmp_path_factory, lines):
    """Make a project and run its one notebook, noisy and with a picture, at full scale."""
    project = write_project(
        tmp_path_factory.mktemp("ran") / "a clone",
        {"a": notebook_source(NOISY, WHERE, PICTURE)},
        {"a": {"n_repetitions": 5}},
    )
    run_jobs(project, plan_jobs(project, mode="full"), report=lines.append)
    return project


def test_run_uses_this_interpreter_and_library(ran):
    """Case 3: the kernel is this very Python with this very pvf, at the repository's root."""
    text = [out.text for out in outputs(ran.chapters / "a.ipynb") if out.output_type == "stream"]
    executable, library, cwd = text[1].splitlines()
    assert Path(executable) == Path(sys.executable)
    assert Path(library) == ROOT / "pvf" / "__init__.py"
    assert Path(cwd) == ran.root


def test_executed_notebook_shows_no_stderr(ran, lines):
    """Case 7: warnings, prints to stderr and progress bars are in the log, not on the page."""
    streams = [out for out in outputs(ran.chapters / "a.ipynb") if out.output_type == "stream"]
    assert {out.name for out in streams} == {"stdout"}
    assert "widget" not in (ran.chapters / "a.ipynb").read_text()
    log = (ran.logs / "a.stderr.txt").read_text()
    assert all(text in log for text in ("a warning for the log", "noise", "3/3"))
    assert "_build/logs/a.stderr.txt" in lines[-1]


def test_executed_notebook_hides_the_injected_cell(ran):
    """Case 7: papermill's own cell is marked for removal from the page."""
    cells = read(ran.chapters / "a.ipynb").cells
    injected = [c for c in cells if "injected-parameters" in c.metadata.get("tags", [])]
    assert ["remove-cell" in c.metadata.tags for c in injected] == [True]
    assert "n_repetitions = 5" in injected[0].source


def test_note_at_the_foot_says_how_the_page_was_made(ran):
    """Case 7: in one line scale, commit and versions; it opens on values beside the paper's."""
    cells = read(ran.chapters / "a.ipynb").cells
    note = cells[-1].source
    assert cells[0].source.startswith("# A small notebook")
    line = note.splitlines()[0]
    assert re.search(r"<summary>Full run · commit unknown · Python 3\.\d+.*</summary>", line)
    assert "| `n_repetitions` | 5 | 5000 |" in note
    assert "| `seed` | 7 | – |" in note


def test_no_clock_time_is_in_the_executed_notebook(ran):
    """Selecting, case 21: when and how long stand beside the page, for the page on its status."""
    assert not {"start_time", "end_time", "duration"} & set(
        read(ran.chapters / "a.ipynb").metadata.papermill
    )
    times = json.loads((ran.logs / "a.times.json").read_text())
    assert times["duration"] > 0


def test_unchanged_notebook_is_not_run_again(ran):
    """A second run leaves the page alone; another value, or a changed page, runs it again."""
    path, said = ran.chapters / "a.ipynb", []
    before = path.stat().st_mtime_ns
    run_jobs(ran, plan_jobs(ran, mode="full"), report=said.append)
    assert path.stat().st_mtime_ns == before
    assert said == ["a: unchanged (full run)"]
    assert is_current(ran, plan_jobs(ran, mode="full"))
    assert not is_current(ran, plan_jobs(ran))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("notebooks/a.py", "the notebook changed"),
        ("book/results/table.csv", "book/results/table.csv changed"),
        ("notebooks/full.yaml", "its parameters changed"),
    ],
)
def test_changed_source_runs_again(ran, name, change):
    """An edit of the script, of a committed result or of a full value is a reason to run."""
    path = ran.root / name
    before = path.read_text() if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text((before or "").replace("5", "6") + "# edited\n")
    try:
        job = plan_jobs(ran, mode="full")[0]
        found = notebooks._first_change(ran.chapters / "a.ipynb", notebooks.job_inputs(ran, job))
        assert found == change
    finally:
        path.unlink() if before is None else path.write_text(before)
    assert is_current(ran, plan_jobs(ran, mode="full"))


def test_changed_library_or_package_runs_again(ran, monkeypatch):
    """Every module that a run can come through is an input; so is a package's release."""
    job = plan_jobs(ran, mode="full")[0]
    inputs = notebooks.job_inputs(ran, job)
    modules = {
        path.relative_to(ROOT).as_posix()
        for home in ("pvf", "studies")
        for path in (ROOT / home).rglob("*.py")
    }
    assert modules - set(inputs) == {"pvf/__main__.py", "studies/__main__.py"}
    monkeypatch.setattr(notebooks, "package_versions", lambda: {"numpy": "0"})
    assert not is_current(ran, [job])


def test_half_written_table_is_no_reason_to_run(ran):
    """A table's temporary file, which another process takes away in a moment, is not looked at."""
    job = plan_jobs(ran, mode="full")[0]
    before = set(notebooks.job_inputs(ran, job))
    ran.results.mkdir(exist_ok=True)
    temporary = ran.results / ".table.csv.0123.tmp"
    temporary.write_text("half")
    try:
        assert set(notebooks.job_inputs(ran, job)) == before
    finally:
        temporary.unlink()


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "{}", '{"cells": [', '{"nbformat": 4}', '{"metadata": {"pvf": 3}}'],
)
def test_page_that_is_none_is_run_again(ran, tmp_path, text):
    """Whatever lies where an executed notebook should is a reason to run, not a traceback."""
    job = plan_jobs(ran, mode="full")[0]
    page = tmp_path / "a.ipynb"
    page.write_text(text)
    found = notebooks._first_change(page, notebooks.job_inputs(ran, job))
    assert found == "the executed notebook was not made by this command"


def test_folder_in_the_place_of_a_page_is_told(make_project):
    """What can't be replaced by a page ends the run with the page's name."""
    project = make_project(a=notebook_source("1"))
    (project.chapters / "a.ipynb").mkdir(parents=True)
    with pytest.raises(BookError, match=r"chapters/a\.ipynb cannot be written"):
        run_jobs(project, plan_jobs(project))


# --- two at once --------------------------------------------------------------------------------


WAITING = "another run or build of this book is at work; waiting for it to end"
HOLDER = """
import sys, time
from pathlib import Path
from book.tools.notebooks import alone
from book.tools.project import Project

with alone(Project(Path(sys.argv[1]))) as no_other:
    print(no_other, flush=True)
    time.sleep(600)
"""


@contextmanager
def held_elsewhere(project):
    """Let another process hold the project's lock; killed at the end, as by kill -9."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", HOLDER, str(project.root)]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout.readline() == "True\n"
            yield holder
        finally:
            holder.kill()


def test_two_runs_at_once_do_the_work_once(make_project):
    """The second says in one line that it waits, and then finds the page done; both succeed."""
    project = make_project(a=notebook_source("import time; time.sleep(3); print('ran')"))
    with ThreadPoolExecutor() as pool:
        started = [pool.submit(run_process, "run", cwd=project.root) for _ in range(2)]
    done = [process.result() for process in started]
    assert [(d.returncode, d.stderr) for d in done] == [(0, "")] * 2
    first, second = sorted((d.stdout.splitlines() for d in done), key=len)
    if WAITING in first:
        first, second = second, first
    assert re.fullmatch(r"a: done in [\d.]+ s", first[-1])
    assert second == [WAITING, "a: unchanged (full run)"]
    assert [out.text for out in outputs(project.chapters / "a.ipynb")] == ["ran\n"]


def test_killed_run_blocks_nobody(make_project):
    """A process that was killed holds nothing any more, though its lock's file is still there."""
    project, said = make_project(a=notebook_source("1")), []
    with held_elsewhere(project) as holder:
        holder.kill()
        holder.wait()
        with alone(project, said.append) as no_other:
            assert no_other
    assert said == []


def test_wait_ends_when_the_other_dies(make_project):
    """Whoever waits goes on as soon as the process that it waits for is gone."""
    project, said = make_project(a=notebook_source("1")), []
    with held_elsewhere(project) as holder:
        threading.Timer(0.5, holder.kill).start()
        run_jobs(project, plan_jobs(project), report=said.append)
    assert said[0] == WAITING
    assert said[-1].startswith("a: done")


def test_run_into_another_folder_does_not_wait(make_project, tmp_path):
    """Runs with other values into other folders go on side by side."""
    project, said = make_project(a=notebook_source("1")), []
    with held_elsewhere(project):
        run_jobs(project, plan_jobs(project), output=tmp_path / "mine", report=said.append)
    assert WAITING not in said
    assert (tmp_path / "mine" / "a.ipynb").is_file()


def test_disk_without_locks_still_runs(make_project, monkeypatch):
    """Where the system has no locks, the work is done without."""
    project = make_project(a=notebook_source("1"))

    def refuse(*_, **__):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(FileLock, "acquire", refuse)
    with alone(project) as no_other:
        assert not no_other


def test_two_runs_give_the_same_bytes(ran, tmp_path):
    """Case 40: cells, ids, numbers and pictures agree, bit for bit."""
    run_jobs(ran, plan_jobs(ran, mode="full"), output=tmp_path / "again", force=True)
    first, second = (read(p / "a.ipynb") for p in (ran.chapters, tmp_path / "again"))
    for notebook in (first, second):
        assert any(
            'class="drawn"' in o.get("data", {}).get("text/html", "")
            for c in notebook.cells
            for o in c.get("outputs", [])
        )
    assert first == second


def test_seed_is_in_the_executed_notebook(ran):
    """Case 40: the values used, the seed among them, are in the file; so are the versions."""
    metadata = read(ran.chapters / "a.ipynb").metadata
    assert metadata.papermill.parameters == {"n_repetitions": 5, "seed": 7}
    assert {"inputs", "scale", "commit"} <= set(metadata.pvf)
    assert "numpy" in metadata.pvf.inputs


def test_no_personal_path_in_the_executed_notebook(ran):
    """Case 39: what we add to a notebook does not say where the clone lies."""
    notebook = read(ran.chapters / "a.ipynb")
    for cell in notebook.cells:
        cell.pop("outputs", None)  # the cell that prints its folder does so on purpose
    assert str(ran.root) not in json.dumps(notebook)
    assert str(Path.home()) not in json.dumps(notebook)


@pytest.mark.parametrize(
    ("code", "limit", "message"),
    [
        pytest.param("1/0", None, r"failed with ZeroDivisionError: division by zero", id="raises"),
        pytest.param("raise SystemExit(0)", None, "ended in SystemExit", id="exits"),
        pytest.param("import time; time.sleep(600)", 4, "stopped after 4 s", id="hangs"),
        pytest.param("import os; os._exit(1)", None, "the kernel died", id="dies"),
    ],
)
def test_failing_notebook_leaves_nothing(make_project, code, limit, message):
    """Cases 5 and 6: the message names notebook and cell; the earlier page stays, nothing else."""
    project = make_project(broken=notebook_source("seed", code))
    project.chapters.mkdir(parents=True)
    (project.chapters / "broken.ipynb").write_text("the earlier page")
    with pytest.raises(BookError, match=message) as error:
        run_jobs(project, plan_jobs(project, time_limit=limit))
    assert str(error.value).startswith("broken: ")
    assert f"code cell 3 (`{code}`)" in str(error.value)
    assert [p.name for p in project.chapters.iterdir()] == ["broken.ipynb"]
    assert (project.chapters / "broken.ipynb").read_text() == "the earlier page"


def test_time_limit_is_the_notebooks_own_for_each_mode(make_project):
    """Case 6: the header's limit counts, else the mode's; every limit is finite."""
    header = "# ---\n# jupyter:\n#   pvf:\n#     time_limit: {full: 90}\n# ---\n\n"
    project = make_project(a=header + notebook_source("1"), b=notebook_source("1"))
    limits = {
        mode: [job.time_limit for job in plan_jobs(project, mode=mode)] for mode in notebooks.MODES
    }
    reduced, full = notebooks.TIME_LIMITS["reduced"], notebooks.TIME_LIMITS["full"]
    assert limits == {"reduced": [reduced, reduced], "full": [90, full]}
    assert reduced < full < float("inf")


@pytest.mark.parametrize("place", ["root", "notebooks", "elsewhere"])
def test_runs_from_anywhere_without_home_or_kernels(tmp_path, place):
    """Cases 3, 4, 39: any folder, a path with a space, no HOME, no kernel spec, no output folder.

    A user's own kernel called python3, which is broken, must not be taken either.
    """
    project = write_project(tmp_path / "a clone", {"a": notebook_source("print('ran')")})
    spec = tmp_path / "jupyter" / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps({"argv": ["/nowhere/python"], "display_name": "x"}))
    cwd = {"root": project.root, "notebooks": project.notebooks, "elsewhere": tmp_path}[place]
    arguments = ["run", "a", "--output", "new folder/executed"]
    if place == "elsewhere":
        arguments = ["--root", project.root, *arguments]
    env = {"HOME": None, "JUPYTER_PATH": str(tmp_path / "jupyter"), "JUPYTER_PREFER_ENV_PATH": "0"}
    done = run_process(*arguments, cwd=cwd, env=env)
    assert done.stderr == ""
    assert done.returncode == 0
    assert [o.text for o in outputs(cwd / "new folder" / "executed" / "a.ipynb")] == ["ran\n"]
    assert re.fullmatch(r"a: full run, because .*\na: done in [\d.]+ s\n", done.stdout)


def test_project_is_found_from_the_package_too(tmp_path, make_project):
    """Case 4: from a folder outside any clone, the clone that the library comes from is taken."""
    project = make_project(a=notebook_source("1"))
    assert find_project(project.notebooks) == project
    assert find_project(tmp_path) == REPOSITORY


def test_no_project_anywhere_is_told(tmp_path, monkeypatch):
    """An installed library outside any clone says where to go."""
    monkeypatch.setattr("book.tools.project.ROOT", tmp_path / "site-packages")
    with pytest.raises(BookError, match=r"_toc\.yml"):
        find_project(tmp_path)


def test_page_must_open_with_a_title(make_project):
    """Without a title there is no place for the note; the message says what is wanted."""
    project = make_project(a=notebook_source("1", title="Some text."))
    with pytest.raises(BookError, match=r"a: the first cell .* `# Title`"):
        plan_jobs(project)


def test_unknown_parameter_stops_before_any_notebook_runs(make_project):
    """Case 1: with several notebooks, the first does not run when the second can't."""
    project = make_project(a=notebook_source("1"), b=notebook_source("1", parameters="m = 1"))
    done = invoke(project, "run", "-p", "n_repetitions", "2")
    assert done.exit_code == 1
    assert not project.chapters.exists()


@pytest.mark.parametrize(
    ("value", "scale", "title"),
    [(1, "reduced", "Reduced run"), (50, "full", "Full run"), (9, "other", "Run with chosen")],
)
def test_note_names_the_scale_by_the_values(value, scale, title):
    """What counts is what ran, not which flag was given."""
    job = Job("a", None, {"n": Parameter("n", 1, "1")}, {"n": value}, {"n": 50}, 60.0)
    assert job.scale == scale
    assert f"<summary>{title}" in run_note(job, "commit abc")


def git(project, *arguments):
    """Run one git command in a project and return what it prints."""
    command = ["git", "-C", str(project.root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_commit_is_named_with_uncommitted_changes(tmp_path):
    """The note tells a clean checkout from an edited one, and neither from no repository."""
    project = write_project(tmp_path / "a clone", {"a": notebook_source("1")})
    assert notebooks.current_commit(project.root) == "commit unknown"
    git(project, "init", "--quiet")
    git(project, "add", ".")
    author = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    git(project, *author, "commit", "--quiet", "-m", "All")
    commit = git(project, "rev-parse", "HEAD")[:10]
    assert notebooks.current_commit(project.root) == f"commit {commit}"
    (project.notebooks / "a.py").write_text("")
    assert notebooks.current_commit(project.root) == f"commit {commit} with uncommitted changes"


def test_committed_notebook_runs_with_papermill_as_typed(tmp_path):
    """The pair's .ipynb names a kernel that papermill finds by itself, parameters included."""
    project = write_project(tmp_path / "a clone", {"a": notebook_source("print(n_repetitions)")})
    write_pairs(project)
    source, target = project.notebooks / "a.ipynb", tmp_path / "out.ipynb"
    done = CliRunner().invoke(papermill_cli, [str(source), str(target), "-p", "n_repetitions", "5"])
    assert done.exit_code == 0
    assert [o.text for o in outputs(target)] == ["5\n"]


def test_kernel_package_is_a_dependency():
    """Case 43: whoever installs what the book needs has the kernel."""
    content = tomllib.loads((REPOSITORY.root / "pyproject.toml").read_text())
    book = content["project"]["optional-dependencies"]["book"]
    assert any(re.match(r"ipykernel\b", requirement) for requirement in book)


def test_reduced_runs_are_reduced_by_default():
    """Every committed notebook has finite limits and values for both modes."""
    for mode in notebooks.MODES:
        jobs = plan_jobs(REPOSITORY, mode=mode)
        assert [job.stem for job in jobs] == source_stems(REPOSITORY)
        assert all(0 < job.time_limit < 24 * 3600 for job in jobs)
    assert all(job.scale == "full" for job in jobs)
