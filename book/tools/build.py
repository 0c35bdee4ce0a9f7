"""Build the book from executed notebooks, and let only a whole, self-contained one pass."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path

import nbformat
from sphinx_external_toc.parsing import parse_toc_yaml

from book.tools.notebooks import (
    alone,
    library_path,
    outputs_digest,
    plan_jobs,
    refuse_errors,
    run_jobs,
)
from book.tools.pairs import source_stems, write_pairs
from book.tools.pdf import print_book
from book.tools.project import BookError, Project

CHAPTERS = "book/chapters/"
JUPYTER_BOOK = "from jupyter_book.cli.main import main; main()"
SOURCES = (".md", ".ipynb", ".rst", ".txt", ".py")
# Attributes by which a page makes a browser load something.
LOADING = ("src", "href", "xlink:href", "data", "poster")
# Relations of links that name something without loading it.
POINTING_RELS = {"author", "canonical", "help", "index", "license", "next", "prev", "search"}
HOST = re.compile(r"(?:https?:)?//[\w\[]")


def make_book(
    project: Project,
    *,
    mode: str = "reduced",
    progress: bool = False,
    report: Callable[[str], None] = lambda _: None,
) -> Path:
    """Bring pairs, executed notebooks and pages up to date, and check the result.

    While another process runs or builds this book, a second one says so and waits.

    Parameters
    ----------
    project : Project
        The repository.
    mode : {"reduced", "full"}
        Scale of the run.
    progress : bool
        Draw progress bars.
    report : callable
        Gets lines of text on what is done.

    Returns
    -------
    Path
        The book's first page.

    Raises
    ------
    BookError
        If anything is wrong with the sources, a run or a page. The book built before, if any, is
        then left as it was.
    """
    check_builder()
    with alone(project, report):
        chapters = chapter_stems(project)
        for stem in write_pairs(project):
            report(f"notebooks/{stem}.ipynb: made from notebooks/{stem}.py")
        jobs = plan_jobs(project, chapters, mode=mode)
        run_jobs(project, jobs, progress=progress, report=report)
        check_chapters(project)
        report("building the pages")
        build_pages(project)
        report(print_book(project.html, toc_entries(project)))
    return project.html / "index.html"


def check_builder() -> None:
    """Refuse Jupyter Book 2, which ignores ``_config.yml`` and writes no HTML here.

    Raises
    ------
    BookError
        If the installed Jupyter Book is version 2 or later.
    """
    installed = version("jupyter-book")
    if int(installed.split(".")[0]) >= 2:
        raise BookError(f"jupyter-book is {installed}; the book needs a version below 2")


def toc_entries(project: Project) -> list[str]:
    """List the pages that the table of contents names, in order, without suffixes."""
    try:
        return list(parse_toc_yaml(project.root / "_toc.yml"))
    except Exception as error:  # the parser raises several unrelated kinds
        raise BookError(f"_toc.yml: {error}") from error


def chapter_stems(project: Project) -> list[str]:
    """List the notebooks in the book's order, if book and folder agree on them.

    Raises
    ------
    BookError
        If the table of contents names a notebook that isn't there, or leaves one out.
    """
    listed = [e.removeprefix(CHAPTERS) for e in toc_entries(project) if e.startswith(CHAPTERS)]
    there = source_stems(project)
    for stem in listed:
        if stem not in there:
            raise BookError(f"_toc.yml names {CHAPTERS}{stem}, but there is no notebooks/{stem}.py")
    for stem in there:
        if stem not in listed:
            raise BookError(f"notebooks/{stem}.py is not in _toc.yml; add {CHAPTERS}{stem}")
    return listed


def check_chapters(project: Project) -> None:
    """Refuse pages with two sources or none, stray notebooks, and those with errors or changed.

    Raises
    ------
    BookError
        Naming the files or the cell.
    """
    entries = toc_entries(project)
    for path in sorted(project.chapters.glob("*.ipynb")):
        if f"{CHAPTERS}{path.stem}" not in entries:
            raise BookError(f"{project.relative(path)} is in no table of contents; remove it")
    for entry in entries:
        sources = sorted(
            path
            for path in (project.root / entry).parent.glob(f"{Path(entry).name}.*")
            if path.suffix in SOURCES
        )
        if len(sources) != 1:
            names = ", ".join(project.relative(path) for path in sources) or "none"
            raise BookError(f"page {entry} in _toc.yml needs exactly one source, found: {names}")
        if sources[0].suffix == ".ipynb":
            _check_outputs(nbformat.read(sources[0], as_version=4), project.relative(sources[0]))


def _check_outputs(notebook: nbformat.NotebookNode, name: str) -> None:
    """Refuse an executed notebook that holds an error, or other outputs than its run left."""
    refuse_errors(notebook, name)
    signed = notebook.metadata.get("pvf", {}).get("outputs")
    if signed not in (None, outputs_digest(notebook)):
        raise BookError(f"{name}: its outputs are not those of its run; remove it to run it again")


def build_pages(project: Project) -> None:
    """Build all pages anew, with warnings as errors, and replace the book only if it passes.

    Building afresh matters: a page that Sphinx keeps from an earlier build keeps its warnings to
    itself. Each build has a folder of its own, since the builder of a process that was killed may
    live on for a while.

    Raises
    ------
    BookError
        If there is a warning, or `check_pages` finds fault.
    """
    with alone(project) as no_other:
        for killed in project.html.parent.glob("staging*") if no_other else ():
            shutil.rmtree(killed, ignore_errors=True)
        project.html.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix="staging-", dir=project.html.parent, ignore_cleanup_errors=True
        ) as staging:
            _build_in(Path(staging), project)


def _build_in(staging: Path, project: Project) -> None:
    """Build and check all pages in a folder, then put them in the place of the old ones."""
    started = time.time()
    options = ["--path-output", str(staging), "--all", "-n", "-W", "--keep-going", "-q"]
    done = subprocess.run(
        [sys.executable, "-c", JUPYTER_BOOK, "build", str(project.root), *options],
        cwd=project.root,
        env={**os.environ, "PYTHONPATH": library_path()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BookError(
            f"the pages have faults (warnings count as errors):\n{_faults(done.stdout)}"
        )
    built = staging / "_build" / "html"
    check_pages(built, toc_entries(project), started)
    with suppress(FileNotFoundError):
        project.html.replace(staging / "old")
    built.replace(project.html)


def _faults(log: str) -> str:
    """Lines of a build's log that say what is wrong, or its end if none does."""
    lines = [line for line in log.splitlines() if re.search(r"WARNING|ERROR|Error|error:", line)]
    return "\n".join(lines or log.splitlines()[-20:])


def check_pages(html: Path, entries: list[str], started: float) -> None:
    """Hold a built book to what its readers count on.

    Parameters
    ----------
    html : Path
        Folder of the built book.
    entries : list of str
        Pages of the table of contents, without suffixes.
    started : float
        When the build began, in seconds since the epoch.

    Raises
    ------
    BookError
        If a page of the table of contents is missing or older than the build, if ``.nojekyll`` is
        missing, or if any page or style sheet makes a browser ask another host for something.
    """
    for entry in entries:
        page = html / f"{entry}.html"
        if not page.is_file():
            raise BookError(f"page {entry} in _toc.yml was not built")
        if page.stat().st_mtime < started:
            raise BookError(f"page {entry} is older than this build")
    for name in ("index.html", ".nojekyll"):
        if not (html / name).is_file():
            raise BookError(f"the built book has no {name}")
    for path in sorted([*html.rglob("*.html"), *html.rglob("*.css")]):
        for reference in external_references(path):
            raise BookError(
                f"{path.relative_to(html).as_posix()} loads {reference} from another host"
            )


def external_references(path: Path) -> Iterator[str]:
    """Yield what an HTML page or a style sheet makes a browser load from another host.

    Parameters
    ----------
    path : Path
        A ``.html`` or ``.css`` file.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".css":
        yield from _style_references(text)
        return
    reader = _ReferenceReader()
    reader.feed(text)
    yield from reader.found


def _style_references(text: str) -> Iterator[str]:
    for match in re.finditer(r"""(?:url\(\s*|@import\s+)["']?([^"')\s;]+)""", text):
        if HOST.match(match.group(1)):
            yield match.group(1)


class _ReferenceReader(HTMLParser):
    """Collects references to other hosts from a page's tags, styles and inline scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._inside = tag if tag in ("script", "style") else ""
        self.found += _style_references(given.get("style", ""))
        points = tag == "link" and set(given.get("rel", "").split()) <= POINTING_RELS
        if tag not in ("a", "area") and not points:
            loaded = [given.get(name, "") for name in LOADING] + given.get("srcset", "").split(",")
            self.found += [one.strip() for one in loaded if HOST.match(one.strip())]

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002  the parser's signature
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "style":
            self.found += _style_references(data)
        elif self._inside == "script":
            self.found += re.findall(r"https?://[^\s\"'`]+", data)
