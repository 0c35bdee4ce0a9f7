"""Fixtures around the book: small projects with notebooks, and the real book, built."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import joblib
import pytest
import yaml
from click.testing import CliRunner, Result

from book.tools.__main__ import main
from book.tools.build import chapter_stems, make_book, toc_entries
from book.tools.notebooks import alone, is_current, plan_jobs
from book.tools.pairs import stale_pairs
from book.tools.pdf import BROWSERS, FLAGS, find_browser
from book.tools.project import ROOT, Project

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# How long an example takes says how busy the machine is, not whether the code is right.
hypothesis.settings.register_profile("pvf", deadline=None)
hypothesis.settings.load_profile("pvf")

REPOSITORY = Project(Path(__file__).resolve().parents[1])
TITLE = "# A small notebook\n\nSome text."
PARAMETERS = "n_repetitions = 1  # the paper: 5000\nseed = 7"


def notebook_source(*code: str, title: str = TITLE, parameters: str | None = PARAMETERS) -> str:
    """Write a percent script: title, parameters cell (unless None), cells of code."""
    text = "\n".join(f"# {line}".rstrip() for line in title.splitlines())
    cells = [f"# %% [markdown]\n{text}"]
    if parameters is not None:
        cells.append(f'# %% tags=["parameters"]\n{parameters}')
    return "\n\n".join([*cells, *(f"# %%\n{piece}" for piece in code)]) + "\n"


def write_project(
    root: Path, notebooks: Mapping[str, str], full: Mapping[str, Mapping] | None = None
) -> Project:
    """Make a project that has the real book's configuration and extensions, and small pages."""
    (root / "notebooks").mkdir(parents=True)
    for stem, source in notebooks.items():
        (root / "notebooks" / f"{stem}.py").write_text(source, encoding="utf-8")
    if full is not None:
        (root / "notebooks" / "full.yaml").write_text(yaml.safe_dump(dict(full)))
    (root / "book").mkdir()
    for name in ("_config.yml", "book/references.bib"):
        shutil.copy(REPOSITORY.root / name, root / name)
    for name in ("book/_ext", "book/_static"):
        shutil.copytree(REPOSITORY.root / name, root / name)
    (root / "book" / "intro.md").write_text("# Start\n\nHere $x = 1$.\n")
    chapters = [{"file": f"book/chapters/{stem}"} for stem in notebooks]
    toc = {"format": "jb-book", "root": "book/intro", "chapters": chapters}
    (root / "_toc.yml").write_text(yaml.safe_dump(toc))
    return Project(root)


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[..., Project]:
    """Return a maker of small projects: give it ``stem=source`` pairs, and ``full`` if need be."""

    def make(full: Mapping[str, Mapping] | None = None, **notebooks: str) -> Project:
        return write_project(tmp_path / "a clone", notebooks, full)

    return make


def invoke(project: Project, *arguments: str) -> Result:
    """Call ``python -m book.tools`` in this process: exit code and output as usual."""
    return CliRunner().invoke(main, ["--root", str(project.root), *arguments])


def run_process(
    *arguments: str | Path, cwd: Path, env: Mapping[str, str | None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``python -m book.tools`` in a process of its own; None unsets a variable."""
    given = {"PYTHONPATH": str(ROOT), **(env or {})}
    environment = {
        name: value for name, value in {**os.environ, **given}.items() if value is not None
    }
    return subprocess.run(
        [sys.executable, "-m", "book.tools", *map(str, arguments)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture(scope="session")
def committed_stale_pairs() -> list[str]:
    """Name the pairs that were out of step before this session could mend them."""
    return stale_pairs(REPOSITORY)


@pytest.fixture(scope="session")
def built_book(committed_stale_pairs: list[str]) -> Project:
    """Bring the real book up to date in place, as `make book` does.

    Pages that are younger than all that they are made of stay. So does a full run that is up to
    date; tests must not replace hours of work by a reduced run.
    """
    stems = chapter_stems(REPOSITORY)
    with alone(REPOSITORY):  # another worker may be at it
        jobs = {mode: plan_jobs(REPOSITORY, stems, mode=mode) for mode in ("full", "reduced")}
        current = [mode for mode, some in jobs.items() if is_current(REPOSITORY, some)]
        if not current or _oldest_page() < _newest_source():
            make_book(REPOSITORY, mode=current[0] if current else "reduced")
    return REPOSITORY


def _oldest_page() -> float:
    """Return when the first page of the book was written; 0 where one is missing."""
    pages = [REPOSITORY.html / f"{entry}.html" for entry in toc_entries(REPOSITORY)]
    return min(page.stat().st_mtime if page.is_file() else 0.0 for page in pages)


def _newest_source() -> float:
    """Return when anything that pages are made of was last written."""
    folders = [f"{name}/**/*.*" for name in ("book", "notebooks", "pvf", "studies")]
    patterns = [*folders, "*.yml", "*.md", "*.cff", "*.lock"]
    files = [path for pattern in patterns for path in REPOSITORY.root.glob(pattern)]
    made = [path for path in files if "__pycache__" not in path.parts and path.is_file()]
    return max(path.stat().st_mtime for path in made)


@pytest.fixture(scope="session")  # as wide as the book, so that a skip comes before its build
def executable() -> str:
    """Find a Chromium, or skip, saying so, where there is none."""
    found = find_browser()
    if found is None:
        pytest.skip(f"no Chromium or Chrome on PATH (looked for {', '.join(BROWSERS)})")
    return found


@pytest.fixture(scope="module")  # its event loop would be in the way of other modules
def chromium(executable: str) -> "Iterator[Browser]":
    """Start the browser, headless."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  most tests need no browser

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def browser(built_book: Project, chromium: "Browser") -> "Browser":
    """Return the browser, once the book is built."""
    return chromium


@pytest.fixture
def dask_cluster() -> Callable[[], AbstractContextManager[None]]:
    """Return a context in which joblib's work is done by two processes of a Dask cluster."""
    distributed = pytest.importorskip("distributed")

    @contextmanager
    def cluster() -> Iterator[None]:
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
            ) as processes,
            distributed.Client(processes) as client,
            joblib.parallel_config(backend="dask"),
        ):
            assert len(client.ncores()) == 2
            yield

    return cluster
