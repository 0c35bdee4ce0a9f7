"""Run notebooks with papermill so that nothing but a complete, quiet page reaches the book."""

import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import papermill
from filelock import AcquireReturnProxy, BaseFileLock, FileLock, Timeout
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError
from papermill.execute import ERROR_MARKER_TAG

from book.tools.pairs import read_source, source_stems
from book.tools.parameters import (
    Parameter,
    Value,
    complete_values,
    parse_value,
    read_full_values,
    read_parameters,
)
from book.tools.project import ROOT, BookError, Project
from pvf._outputs import write_whole
from studies.kit.results import commit_name, git_state, package_versions

MODES = ("reduced", "full")
# Seconds that all cells of a notebook together may take. A notebook asks for another limit in its
# header: `pvf: {time_limit: {full: 7200}}`.
TIME_LIMITS = {"reduced": 600.0, "full": 4 * 3600.0}
INJECTED = "injected-parameters"  # papermill's tag
DRAWING = "import book.tools.drawing; book.tools.drawing.install(); del book"
# The last is jupyter_client's word for a kernel that doesn't answer in time.
FAULTS = (PapermillExecutionError, CellTimeoutError, DeadKernelError, RuntimeError)


@dataclass(frozen=True)
class Job:
    """One notebook with the values it is to be run with.

    Parameters
    ----------
    stem : str
        Name of the notebook.
    notebook : NotebookNode
        Its source.
    parameters : dict of str to Parameter
        What it takes.
    values : dict
        What it is given, complete.
    full : dict
        Its values in the full run, complete.
    time_limit : float
        Seconds.
    """

    stem: str
    notebook: NotebookNode
    parameters: Mapping[str, Parameter]
    values: Mapping[str, Value]
    full: Mapping[str, Value]
    time_limit: float

    @property
    def scale(self) -> str:
        """What the values amount to: ``"full"``, ``"reduced"`` or ``"other"``.

        Examples
        --------
        >>> job = Job("a", NotebookNode(), {"n": Parameter("n", 1, "5")}, {"n": 5}, {"n": 5}, 60.0)
        >>> job.scale
        'full'
        """
        if dict(self.values) == dict(self.full):
            return "full"
        defaults = {name: parameter.default for name, parameter in self.parameters.items()}
        return "reduced" if dict(self.values) == defaults else "other"


def plan_jobs(
    project: Project,
    names: Sequence[str] = (),
    *,
    mode: str = "reduced",
    given: Sequence[tuple[str, str]] = (),
    time_limit: float | None = None,
) -> list[Job]:
    """Read the notebooks and settle their values before anything runs.

    Parameters
    ----------
    project : Project
        Where the notebooks are.
    names : sequence of str
        Which notebooks, by name or path; all by default.
    mode : {"reduced", "full"}
        Whether the values of ``notebooks/full.yaml`` overlay the defaults.
    given : sequence of (str, str)
        Names and values from a command line; they overlay both.
    time_limit : float, optional
        Seconds for each notebook; by default what its header says, else ``TIME_LIMITS``.

    Raises
    ------
    BookError
        If a name is no notebook, a parameter is unknown or has the wrong type, or a notebook lacks
        its title or its parameters cell.
    """
    if mode not in MODES:
        raise BookError(f"mode is {mode!r}; it takes {' or '.join(MODES)}")
    stems = source_stems(project)
    full_values = read_full_values(project, stems)
    chosen = [_stem_of(name, stems) for name in names] or stems
    jobs = []
    for stem in chosen:
        notebook = read_source(project.notebooks / f"{stem}.py")
        _check_title(notebook, stem)
        parameters = read_parameters(notebook, stem)
        full = full_values.get(stem, {})
        overlay = dict(full) if mode == "full" else {}
        overlay |= {
            name: parse_value(text, parameters[name], stem) if name in parameters else text
            for name, text in given
        }
        values = complete_values(parameters, overlay, stem)
        whole = complete_values(
            parameters, full, f"{stem} in {project.relative(project.full_values)}"
        )
        limit = time_limit or _time_limit(notebook, mode)
        jobs.append(Job(stem, notebook, parameters, values, whole, limit))
    return jobs


def _stem_of(name: str, stems: list[str]) -> str:
    stem = Path(name).name.removesuffix(".py").removesuffix(".ipynb")
    if stem not in stems:
        raise BookError(f"no notebook {name!r}; there are: {', '.join(stems) or 'none'}")
    return stem


def _time_limit(notebook: NotebookNode, mode: str) -> float:
    limits = notebook.metadata.get("pvf", {}).get("time_limit", {})
    return float(limits.get(mode, TIME_LIMITS[mode]))


@contextmanager
def alone(project: Project, report: Callable[[str], None] = lambda _: None) -> Iterator[bool]:
    """Wait until no other process makes the book's chapters or pages, and keep others out.

    The system ends the hold of a process that dies, so that nothing is left to be removed by hand.
    A process that holds it already may take it again.

    Parameters
    ----------
    project : Project
        The repository.
    report : callable
        Gets one line of text if there is another process to wait for.

    Yields
    ------
    bool
        Whether others are kept out; a disk that has no locks can't do that.
    """
    folder = project.root.resolve() / "_build"
    with ExitStack() as held:
        # Without a lock the pages are as whole, and only made twice.
        with suppress(OSError, NotImplementedError):
            folder.mkdir(exist_ok=True)
            held.enter_context(_acquired(_lock(folder / "lock"), report))
        yield _lock(folder / "lock").is_locked


@cache
def _lock(path: Path) -> BaseFileLock:
    """Return the one lock of a path in this process, which counts how often it is held."""
    return FileLock(path)


def _acquired(lock: BaseFileLock, report: Callable[[str], None]) -> AcquireReturnProxy:
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        report("another run or build of this book is at work; waiting for it to end")
        return lock.acquire()


def run_jobs(
    project: Project,
    jobs: Sequence[Job],
    *,
    output: Path | None = None,
    force: bool = False,
    progress: bool = False,
    report: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Run notebooks one after another, each only if something that it depends on has changed.

    Of two processes that make the book's chapters at once, the second says so and waits, and then
    finds done what the first has done. In another folder both do all the work.

    Parameters
    ----------
    project : Project
        Where the notebooks are.
    jobs : sequence of Job
        From `plan_jobs`.
    output : Path, optional
        Folder for the executed notebooks, made if need be; the book's chapters by default.
    force : bool
        Run even what has not changed.
    progress : bool
        Draw papermill's progress bar, one step a cell.
    report : callable
        Gets one line of text a notebook.

    Returns
    -------
    list of Path
        The executed notebooks, in order.

    Raises
    ------
    BookError
        If a notebook fails, exceeds its time or loses its kernel; the message names the cell. The
        earlier page, if any, is left as it was.
    """
    folder = output or project.chapters
    folder.mkdir(parents=True, exist_ok=True)
    shared = folder.resolve() == project.chapters.resolve()
    with alone(project, report) if shared else nullcontext():
        for job in jobs:
            path, inputs = folder / f"{job.stem}.ipynb", job_inputs(project, job)
            change = "forced" if force else _first_change(path, inputs)
            if change is None:
                report(f"{job.stem}: unchanged ({job.scale} run)")
                continue
            report(f"{job.stem}: {job.scale} run, because {change}")
            report(_run_job(project, job, inputs, path, progress=progress))
    return [folder / f"{job.stem}.ipynb" for job in jobs]


def _run_job(
    project: Project, job: Job, inputs: dict[str, Any], path: Path, *, progress: bool
) -> str:
    """Run one notebook, write its page, and say in one line what was done."""
    executed = execute(job, project.root, progress=progress)
    # Kept beside the page: a page that is made again is to have the same bytes.
    times = {k: executed.metadata.papermill.pop(k) for k in ("start_time", "end_time", "duration")}
    seconds = times["duration"]
    noise = _strip_noise(executed)
    _sign(executed, job, inputs, project)
    _write(executed, path)
    project.logs.mkdir(parents=True, exist_ok=True)
    (project.logs / f"{job.stem}.times.json").write_text(json.dumps(times), encoding="utf-8")
    return f"{job.stem}: done in {seconds:.1f} s" + _keep_noise(project, job.stem, noise)


def is_current(project: Project, jobs: Sequence[Job]) -> bool:
    """Tell whether the book's chapters are already what running these jobs would make."""
    return not any(
        _first_change(project.chapters / f"{job.stem}.ipynb", job_inputs(project, job))
        for job in jobs
    )


def execute(job: Job, cwd: Path, *, progress: bool = False) -> NotebookNode:
    """Run one notebook in a kernel of this very interpreter and return it with its outputs.

    Parameters
    ----------
    job : Job
        What to run, with which values and within what time.
    cwd : Path
        The kernel's working directory.
    progress : bool
        Draw a progress bar.

    Raises
    ------
    BookError
        If a cell fails, the time runs out, or the kernel dies or doesn't start.
    """
    started: list[NotebookNode] = []
    deadline: list[float] = []  # set when the first cell starts; the kernel has a limit of its own

    def remember(cell: NotebookNode, cell_index: int) -> None:  # noqa: ARG001  nbclient's names
        started.append(cell)

    def remaining(_: NotebookNode) -> float:
        if not deadline:
            deadline.append(time.monotonic() + job.time_limit)
        return max(deadline[0] - time.monotonic(), 0.001)  # nbclient takes 0 for "no limit"

    with tempfile.TemporaryDirectory(prefix="pvf-run-") as scratch:
        source = Path(scratch) / f"{job.stem}.ipynb"
        nbformat.write(job.notebook, source)
        try:
            executed = papermill.execute_notebook(
                str(source).replace("{", "{{").replace("}", "}}"),
                None,
                parameters=dict(job.values),
                kernel_name="python3",
                kernel_manager_class=_kernel_manager(Path(scratch)),
                progress_bar={"desc": job.stem, "leave": False} if progress else False,
                start_timeout=60,
                iopub_timeout=60,
                shutdown_kernel="immediate",
                timeout_func=remaining,
                on_cell_execute=remember,
                cwd=cwd,
            )
        except FAULTS as error:
            raise BookError(f"{job.stem}: {_fault(error, job, started)}") from error
    refuse_errors(executed, job.stem)
    return executed


def _fault(error: Exception, job: Job, started: Sequence[NotebookNode]) -> str:
    cell = _cell_name(job.notebook, started[-1]) if started else "no cell yet"
    match error:
        case PapermillExecutionError():
            return f"{cell} failed with {error.ename}: {error.evalue}"
        case CellTimeoutError():
            return f"stopped after {job.time_limit:g} s, the notebook's limit, in {cell}"
        case DeadKernelError():
            return f"the kernel died in {cell}"
    return f"the kernel did not start: {error}"


def _cell_name(notebook: NotebookNode, cell: NotebookNode) -> str:
    """Name a cell in a message: its number among the code cells and its first line."""
    codes = [
        other.get("id")
        for other in notebook.cells
        if other.cell_type == "code" and INJECTED not in other.metadata.get("tags", [])
    ]
    number = codes.index(cell.get("id")) + 1 if cell.get("id") in codes else "?"
    first_line = next(iter(cell.source.strip().splitlines()), "empty")
    return f"code cell {number} (`{first_line}`)"


def library_path() -> str:
    """Value of ``PYTHONPATH`` with which another process imports this very library."""
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))


def _kernel_manager(scratch: Path) -> type[AsyncKernelManager]:
    """Make the manager of a kernel in this interpreter, whatever kernels are or aren't installed.

    A user's own IPython profile and kernel list stay out of it, and nothing is written to a home
    folder, which may not exist.
    """
    spec = KernelSpec(
        argv=[
            sys.executable,
            "-Xfrozen_modules=off",  # else the debugger prints a warning at each start
            "-m",
            "ipykernel_launcher",
            "--log-level=CRITICAL",  # it would write a warning at each start
            "-f",
            "{connection_file}",
            f"--IPKernelApp.exec_lines={DRAWING}",
        ],
        display_name="Python 3",
        language="python",
        env={"PYTHONPATH": library_path(), "IPYTHONDIR": str(scratch / "ipython")},
    )

    class InterpreterKernelManager(AsyncKernelManager):
        def __init__(self, **options: Any) -> None:
            super().__init__(connection_file=str(scratch / "kernel.json"), **options)

        @property
        def kernel_spec(self) -> KernelSpec:
            return spec

    return InterpreterKernelManager


def refuse_errors(notebook: NotebookNode, name: str) -> None:
    """Let no executed notebook pass that holds an error, in an output or as papermill's mark.

    Raises
    ------
    BookError
        Naming the cell.
    """
    for cell in notebook.cells:
        if ERROR_MARKER_TAG in cell.metadata.get("tags", []):
            raise BookError(f"{name}: papermill marked it as failed; run the notebook again")
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                raise BookError(
                    f"{name}: {_cell_name(notebook, cell)} ended in {output.ename}: {output.evalue}"
                )


def _strip_noise(notebook: NotebookNode) -> str:
    """Take progress bars and warnings out of the page, and clock times out of the cells."""
    noise = []
    for cell in notebook.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if cell.cell_type != "code":
            continue
        noise += [o.text for o in cell.outputs if o.get("name") == "stderr"]
        cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
    return "".join(noise)


def _keep_noise(project: Project, stem: str, noise: str) -> str:
    """Log what was taken out, and say where."""
    path = project.logs / f"{stem}.stderr.txt"
    if not noise:
        path.unlink(missing_ok=True)
        return ""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(noise, encoding="utf-8")
    return f"; its warnings are in {project.relative(path)}"


def job_inputs(project: Project, job: Job) -> dict[str, Any]:
    """Everything that an executed notebook's content depends on, as digests by name.

    Parameters
    ----------
    project : Project
        Where the committed results are.
    job : Job
        The notebook and its values.

    Returns
    -------
    dict
        Notebook, values, every file of the library but those that only build pages and parse
        commands, every committed result, package versions.
    """
    cells = [[cell.cell_type, cell.source, cell.metadata] for cell in job.notebook.cells]
    library = [*_library_files(), ROOT / "book" / "tools" / "drawing.py"]
    files = {path.relative_to(ROOT).as_posix(): path for path in library}
    files |= {
        project.relative(path): path
        for path in sorted(project.results.rglob("*"))
        if path.is_file() and not path.name.startswith(".")  # a table that is being written
    }
    return {
        "the notebook": _digest(json.dumps(cells, sort_keys=True).encode()),
        "its parameters": dict(job.values),
        **{name: _digest(path.read_bytes()) for name, path in files.items()},
        **package_versions(),
    }


def _library_files() -> list[Path]:
    found = [
        path
        for home in ("pvf", "studies")
        for pattern in ("*.py", "*.toml")
        for path in (ROOT / home).rglob(pattern)
    ]
    return sorted(path for path in found if path.name != "__main__.py")


def library_digest() -> str:
    """Digest of the library's files, which tells finished blocks of one version from another's."""
    return _digest("".join(_digest(path.read_bytes()) for path in _library_files()).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _first_change(path: Path, inputs: Mapping[str, Any]) -> str | None:
    """Why an executed notebook is out of date, in words; None if it isn't."""
    if not path.is_file():
        return "it has not been run yet"
    try:
        before = dict(nbformat.read(path, as_version=4).metadata["pvf"]["inputs"])
    except Exception:  # nbformat raises several unrelated kinds
        return "the executed notebook was not made by this command"
    changed = [name for name in {**inputs, **before} if inputs.get(name) != before.get(name)]
    return f"{changed[0]} changed" if changed else None


def _sign(executed: NotebookNode, job: Job, inputs: dict[str, Any], project: Project) -> None:
    """Say on the page how it was made, and store the same in its metadata."""
    commit = current_commit(project.root)
    executed.metadata["pvf"] = {
        **executed.metadata.get("pvf", {}),
        "inputs": inputs,
        "scale": job.scale,
        "commit": commit,
    }
    executed.metadata.papermill.update(
        input_path=f"notebooks/{job.stem}.ipynb", output_path=f"book/chapters/{job.stem}.ipynb"
    )
    for cell in executed.cells:
        if INJECTED in cell.metadata.get("tags", []):
            cell["id"] = INJECTED
            cell.metadata.tags.append("remove-cell")
    executed.cells.append(nbformat.v4.new_markdown_cell(run_note(job, commit), id="run-note"))
    executed.metadata["pvf"]["outputs"] = outputs_digest(executed)


def outputs_digest(notebook: NotebookNode) -> str:
    """Digest of all that an executed notebook shows, which tells whether somebody changed it."""
    shown = [cell.get("outputs", []) for cell in notebook.cells]
    return _digest(json.dumps(shown, sort_keys=True).encode())


def run_note(job: Job, commit: str) -> str:
    """Markdown of the line at a page's foot, which opens on the values beside the paper's.

    Parameters
    ----------
    job : Job
        The notebook and its values.
    commit : str
        State of the repository.
    """
    pages = Environment(loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined)
    template = pages.get_template("run_note.md.j2")
    return template.render(job=job, commit=commit, versions=package_versions(), shown=_shown)


def _shown(value: Value) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text.replace("|", "\\|")


def _check_title(notebook: NotebookNode, name: str) -> None:
    """Refuse a notebook that does not open with the page's title."""
    cell = notebook.cells[0] if notebook.cells else None
    lines = cell.source.splitlines() if cell and cell.cell_type == "markdown" else []
    if not any(line.startswith("# ") for line in lines):
        raise BookError(f"{name}: the first cell must be text that opens with a `# Title` line")


def current_commit(root: Path) -> str:
    """Short name of the checked-out commit, and whether the sources differ from it."""
    state = git_state(root, "notebooks", "pvf", "studies", "book/results")
    return f"commit {commit_name(state)}"


def _write(notebook: NotebookNode, path: Path) -> None:
    """Write a page, which is whole or absent."""
    try:
        write_whole(path, (nbformat.writes(notebook) + "\n").encode())
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        raise BookError(f"{path} cannot be written ({error})") from error
