"""The book: what stops a build, what a finished one holds, and that it is whole."""

import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
import yaml
from conftest import REPOSITORY, invoke, notebook_source, run_process, write_project
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from book.tools import build as book
from book.tools.__main__ import main
from book.tools.build import (
    build_pages,
    chapter_stems,
    check_builder,
    check_chapters,
    check_pages,
    external_references,
    toc_entries,
)
from book.tools.notebooks import plan_jobs, run_jobs
from book.tools.pairs import source_stems
from book.tools.project import ROOT, BookError, Project
from pvf.__main__ import main as pvf_main
from studies.__main__ import main as studies_main
from studies.catalogue import STUDIES

ENTRIES = toc_entries(REPOSITORY)
MATHS = new_markdown_cell("# A chapter\n\nSee $x^2$ and [the start](../intro.md).")


def write_chapter(project: Project, *cells: nbformat.NotebookNode, stem: str = "a") -> None:
    """Put an executed notebook among the chapters without running one."""
    project.chapters.mkdir(parents=True, exist_ok=True)
    notebook = new_notebook(cells=list(cells))
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "x", "language": "python"}
    nbformat.write(notebook, project.chapters / f"{stem}.ipynb")


class Links(HTMLParser):
    """Collects the targets and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Note what the tag links to and what can link to it."""
        given = dict(attrs)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.hrefs.append(given["href"])


# --- what stops a build -------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["2.0.0", "2.1.0b1", "10.0"])
def test_second_version_of_the_builder_is_refused(monkeypatch, release):
    """Case 12: Jupyter Book 2 reads no _config.yml; it does not get to run."""
    monkeypatch.setattr(book, "version", lambda _: release)
    with pytest.raises(BookError, match=re.escape(release)):
        check_builder()


def test_requirement_excludes_the_second_version_of_the_builder():
    """Case 12: nothing that installs the book's extra can bring version 2."""
    content = tomllib.loads((REPOSITORY.root / "pyproject.toml").read_text())
    required = content["project"]["optional-dependencies"]["book"]
    assert [r for r in required if r.startswith("jupyter-book")] == ["jupyter-book>=1.0.4,<2"]


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(
            new_code_cell("1/0", outputs=[new_output("error", ename="E", evalue="e")]), id="output"
        ),
        pytest.param(
            new_markdown_cell("failed", metadata={"tags": ["papermill-error-cell-tag"]}), id="tag"
        ),
    ],
)
def test_failed_chapter_is_refused(make_project, cell):
    """Case 5: an error output or papermill's error tag never gets published."""
    project = make_project(a=notebook_source("1"))
    write_chapter(project, MATHS, cell)
    with pytest.raises(BookError, match=r"book/chapters/a\.ipynb"):
        check_chapters(project)


def test_failing_notebook_stops_the_book(make_project):
    """Case 5: a book with a cell `1/0` exits non-zero, names it, builds nothing."""
    project = make_project(a=notebook_source("1/0"))
    done = invoke(project, "build")
    assert done.exit_code == 1
    assert "a: code cell 2 (`1/0`) failed with ZeroDivisionError" in done.output
    assert not project.html.exists()
    assert list(project.chapters.iterdir()) == []


@pytest.mark.parametrize("suffix", [".md", ".rst", ".py"])
def test_two_sources_with_one_stem_are_refused(make_project, suffix):
    """Case 15: which of two files would be rendered is not left to chance."""
    project = make_project(a=notebook_source("1"))
    write_chapter(project, MATHS)
    (project.chapters / f"a{suffix}").write_text("# Another\n")
    with pytest.raises(BookError, match=rf"book/chapters/a\.ipynb, book/chapters/a\{suffix}|a\.py"):
        check_chapters(project)


def test_page_without_a_source_is_refused(make_project):
    """An entry of the table of contents with no file behind it is named."""
    project = make_project(a=notebook_source("1"))
    with pytest.raises(BookError, match=r"book/chapters/a .* found: none"):
        check_chapters(project)


def test_stray_chapter_is_named(make_project):
    """An executed notebook that no entry of the contents names does not get published."""
    project = make_project(a=notebook_source("1"))
    write_chapter(project, MATHS)
    write_chapter(project, MATHS, stem="old_draft")
    with pytest.raises(BookError, match=r"book/chapters/old_draft\.ipynb"):
        check_chapters(project)


def test_emptied_outputs_are_named(make_project):
    """A page whose outputs somebody emptied after its run fails the build, and names itself."""
    project = make_project(a=notebook_source("print(1)"))
    run_jobs(project, plan_jobs(project))
    check_chapters(project)
    path = project.chapters / "a.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell["outputs"] = []
    nbformat.write(notebook, path)
    with pytest.raises(BookError, match=r"book/chapters/a\.ipynb: its outputs"):
        check_chapters(project)


def test_notebook_missing_from_the_contents_is_named(make_project):
    """A notebook that nobody would see, and an entry that nothing makes, are errors."""
    project = make_project(a=notebook_source("1"), b=notebook_source("1"))
    toc = project.root / "_toc.yml"
    complete = toc.read_text()
    content = yaml.safe_load(complete)
    content["chapters"].pop()
    toc.write_text(yaml.safe_dump(content))
    with pytest.raises(BookError, match=r"notebooks/b\.py is not in _toc\.yml"):
        chapter_stems(project)
    toc.write_text(complete)
    (project.notebooks / "a.py").unlink()
    with pytest.raises(BookError, match=r"book/chapters/a, but there is no notebooks/a\.py"):
        chapter_stems(project)


def test_broken_contents_are_named(make_project):
    """A table of contents that can't be read says so."""
    project = make_project(a=notebook_source("1"))
    (project.root / "_toc.yml").write_text("format: jb-book\n")
    with pytest.raises(BookError, match=r"_toc\.yml"):
        toc_entries(project)


# --- a small book, built ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Build a small book where importing a kernel fails and starting one leaves a mark."""
    root = tmp_path_factory.mktemp("small") / "a clone"
    project = write_project(root, {"a": notebook_source("1")})
    write_chapter(project, MATHS, new_code_cell("print(1)"))
    fakes = tmp_path_factory.mktemp("fakes")
    mark = fakes / "started"
    for left in ("staging", "staging-killed"):
        (root / "_build" / left / "_build" / "html").mkdir(parents=True)
    for module in ("ipykernel", "ipykernel_launcher"):
        (fakes / f"{module}.py").write_text(
            f"open({str(mark)!r}, 'w').close()\nraise ImportError('no kernel here')\n"
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(book, "library_path", lambda: os.pathsep.join([str(fakes), str(ROOT)]))
        patch.setenv("JUPYTER_PATH", str(fakes))
        build_pages(project)
    return project, mark


def test_building_starts_no_kernel(small):
    """Case 14: a cell without outputs is not run, and no kernel package is even imported."""
    project, mark = small
    assert (project.html / "book" / "chapters" / "a.html").is_file()
    assert not mark.exists()


def test_small_book_is_whole(small):
    """Cases 12, 17: pages, start page, .nojekyll; nothing left of the building site."""
    project, _ = small
    check_pages(project.html, toc_entries(project), 0.0)
    assert (project.html / ".nojekyll").is_file()
    assert not list(project.html.parent.glob("staging*"))


@pytest.mark.slow
def test_two_builds_at_once_both_end_well(small):
    """The second build waits for the first: both exit with 0, and the book is whole."""
    project, _ = small
    with ThreadPoolExecutor() as pool:
        started = [pool.submit(run_process, "build", cwd=project.root) for _ in range(2)]
    done = [process.result() for process in started]
    assert [d.returncode for d in done] == [0, 0], [d.stdout + d.stderr for d in done]
    said = [line for d in done for line in d.stdout.splitlines()]
    assert said.count("another run or build of this book is at work; waiting for it to end") == 1
    check_pages(project.html, toc_entries(project), 0.0)
    assert not list(project.html.parent.glob("staging*"))


@pytest.mark.slow
def test_killed_build_leaves_the_old_book_and_blocks_nobody(small, tmp_path):
    """After kill -9 while the pages are built, the old book stands and the next build tidies up."""
    # In a copy: the killed one's builder may live on, and make its folder again.
    project = Project(Path(shutil.copytree(small[0].root, tmp_path / "a clone")))
    before = (project.html / "index.html").stat().st_mtime_ns
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "book.tools", "--root", str(project.root), "build"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 120
            while not list(project.html.parent.glob("staging-*/*")):
                assert time.monotonic() < deadline
                time.sleep(0.01)
        finally:
            process.kill()
    assert (project.html / "index.html").stat().st_mtime_ns == before
    build_pages(project)  # while the killed one's builder may still be at work
    check_pages(project.html, toc_entries(project), 0.0)
    assert (project.html / "index.html").stat().st_mtime_ns > before


def test_warnings_fail_the_build_each_time(small):
    """Case 13: broken references are errors, at the second try as well; the old book stays."""
    project, _ = small
    page = project.root / "book" / "intro.md"
    good, before = page.read_text(), (project.html / "book" / "intro.html").read_bytes()
    page.write_text(f"{good}\n[gone](nowhere.md), see {{numref}}`fig-nowhere`.\n")
    try:
        for _ in range(2):
            with pytest.raises(BookError) as error:
                build_pages(project)
            assert "nowhere.md" in str(error.value)
            assert "fig-nowhere" in str(error.value)
    finally:
        page.write_text(good)
    assert (project.html / "book" / "intro.html").read_bytes() == before


@pytest.mark.parametrize("gone", ["book/chapters/a.html", ".nojekyll", "index.html"])
def test_missing_page_is_found(small, gone, tmp_path):
    """Cases 12, 17: a missing page of the contents, start page or .nojekyll is named."""
    project, _ = small
    path = project.html / gone
    path.rename(tmp_path / "kept")
    try:
        with pytest.raises(BookError, match=re.escape(gone.removesuffix(".html").split("/")[-1])):
            check_pages(project.html, toc_entries(project), 0.0)
    finally:
        (tmp_path / "kept").rename(path)


def test_stale_page_is_found(small):
    """Case 12: pages that a build did not write do not count as built."""
    project, _ = small
    with pytest.raises(BookError, match="older than this build"):
        check_pages(project.html, toc_entries(project), time.time())


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://cdn.example.org/x.js"></script>',
        '<script src="//cdn.example.org/x.js"></script>',
        '<script>const THEBE_JS_URL = "https://unpkg.com/thebe"</script>',
        '<link rel="stylesheet" href="https://fonts.example.org/css">',
        '<link rel="preconnect" href="https://fonts.example.org">',
        '<link rel="preload next" href="https://fonts.example.org/a.woff2">',
        '<img src="http://example.org/badge.svg" alt="">',
        '<img srcset="a.png 1x, https://example.org/b.png 2x" alt="">',
        '<iframe src="https://example.org"></iframe>',
        "<style>@import 'https://example.org/a.css';</style>",
        "<p style=\"background: url('https://example.org/a.png')\">x</p>",
    ],
)
def test_reference_to_another_host_is_found(tmp_path, html):
    """Case 16: scripts, styles, fonts and pictures from elsewhere, however they are asked for."""
    page = tmp_path / "page.html"
    page.write_text(f"<html><body>{html}</body></html>")
    assert [ref for ref in external_references(page) if "example.org" in ref or "thebe" in ref]


def test_links_to_another_host_are_allowed(tmp_path):
    """A link that a reader may follow, and one that only names a page, load nothing."""
    page = tmp_path / "page.html"
    page.write_text(
        '<link rel="canonical" href="https://example.org/"><a href="https://example.org">x</a>'
        '<script src="a.js"></script><style>a { background: url(b.png) }</style><p>https://x.org'
    )
    assert list(external_references(page)) == []
    style = tmp_path / "style.css"
    style.write_text("@font-face { src: url(https://example.org/f.woff2) } a { b: url(data:x) }")
    assert list(external_references(style)) == ["https://example.org/f.woff2"]


# --- the real book ------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", ENTRIES)
def test_each_page_is_built(built_book, entry):
    """Case 12: every entry of the table of contents is a page."""
    assert (built_book.html / f"{entry}.html").is_file()


def test_real_book_asks_no_other_host(built_book):
    """Cases 16, 17: the whole tree of pages and styles, search and index included."""
    check_pages(built_book.html, ENTRIES, 0.0)


def test_real_notebooks_and_contents_agree():
    """Every notebook is a chapter."""
    assert sorted(chapter_stems(REPOSITORY)) == source_stems(REPOSITORY)


@pytest.mark.parametrize("stem", source_stems(REPOSITORY))
def test_each_chapter_says_how_it_was_made(built_book, stem):
    """Case 7: reduced or full stands on each chapter, no stderr and no injected cell does."""
    html = (built_book.html / "book" / "chapters" / f"{stem}.html").read_text()
    assert re.search(r'class="fold run-note"><summary>(Reduced|Full) run · commit', html)
    assert "injected-parameters" not in html
    assert "output stderr" not in html


@pytest.mark.parametrize("stem", [s for s in source_stems(REPOSITORY) if int(s[:2]) < 90])
def test_chapter_stands_in_the_side_bar_with_its_number(built_book, stem):
    """The number that the ledger and the tables use is the file's; the title is the notebook's."""
    source = (REPOSITORY.notebooks / f"{stem}.py").read_text(encoding="utf-8")
    title = re.search(r"^# # (.+)$", source, re.MULTILINE).group(1)
    page = (built_book.html / "book" / "intro.html").read_text(encoding="utf-8")
    shown = re.search(rf'href="chapters/{stem}\.html">\s*(.*?)\s*</a>', page, re.DOTALL).group(1)
    assert shown == f"{int(stem[:2])}. {title}"


def test_internal_links_and_anchors_resolve(built_book):
    """No link leads to a page or a place that isn't there."""
    pages = {path.resolve(): Links(path) for path in built_book.html.rglob("*.html")}
    broken = []
    for path, links in pages.items():
        for href in links.hrefs:
            parts = urlsplit(href)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].ids | {""} if target in pages else {unquote(parts.fragment)}
            if not target.is_file() or unquote(parts.fragment) not in anchors:
                broken.append((path.name, href))
    assert broken == []


def test_links_stay_inside_the_book(built_book):
    """Case 17: no link starts at a server's root, so the book may lie in any folder."""
    for path in built_book.html.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r'(?:href|src)="/', text), path.name
        assert str(built_book.root) not in text, path.name


def test_second_build_runs_no_notebook(built_book):
    """`make book` twice in a row: the second finds every chapter up to date."""
    stems = chapter_stems(built_book)
    scales = {
        nbformat.read(built_book.chapters / f"{stem}.ipynb", as_version=4).metadata.pvf.scale
        for stem in stems
    }
    mode = "reduced" if "reduced" in scales else "full"
    lines = []
    run_jobs(built_book, plan_jobs(built_book, stems, mode=mode), report=lines.append)
    said = [line.split(" (")[0] for line in lines if "waiting for it to end" not in line]
    assert said == [f"{stem}: unchanged" for stem in stems]


def test_one_quantity_has_one_value(built_book):
    """What chapters glue under one name is one value, in whichever chapter it is."""
    values: dict[str, set[str]] = {}
    for stem in source_stems(REPOSITORY):
        notebook = nbformat.read(built_book.chapters / f"{stem}.ipynb", as_version=4)
        for cell in notebook.cells:
            for output in cell.get("outputs", []):
                name = output.get("metadata", {}).get("scrapbook", {}).get("name")
                if name is not None:
                    values.setdefault(name, set()).add(str(output.data))
    assert len(values) > 100
    assert {name: found for name, found in values.items() if len(found) > 1} == {}


# --- what the pages say -------------------------------------------------------------------------


def test_worked_example_bears_out_the_text(built_book):
    """F1 prefers A at any capacity; with few calls IE prefers B, with many A, as the page says."""
    html = (built_book.html / "book" / "methods.html").read_text()
    table = re.search(r"<table.*?</table>", html, re.DOTALL).group()
    rows = re.findall(r"<tr class=\"row.*?</tr>", table, re.DOTALL)[1:]
    a, b = ([float(x) for x in re.findall(r"<p>([\d.]+)</p>", row)] for row in rows)
    sick, all_ = 20, 200
    for flagged, cases, precision, recall, f1, few, many in (a, b):
        assert precision == round(cases / flagged, 2)
        assert recall == round(cases / sick, 2)
        assert f1 == round(2 * cases / (flagged + sick), 2)
        for calls, shown in ((10, few), (60, many)):
            spent = min(calls, flagged)
            reached = spent * cases / flagged
            reached += (calls - spent) * (sick - cases) / (all_ - flagged) if spent < calls else 0
            assert shown == round(reached / (calls * sick / all_), 2)
    assert a[4] > b[4]
    assert a[5] < b[5]
    assert a[6] > b[6]
    assert "can call 10 of its 200 patients" in html


def test_citation_gives_the_current_version():
    """The entry to cite names the version and title that the package has."""
    text = (REPOSITORY.root / "book" / "intro.md").read_text()
    project = tomllib.loads((REPOSITORY.root / "pyproject.toml").read_text())["project"]
    cff = yaml.safe_load((REPOSITORY.root / "CITATION.cff").read_text())
    assert re.search(r"version = \{(.+?)\}", text).group(1) == project["version"]
    assert (
        re.search(r"@software\{.*?title\s+= \{(.+?)\},", text, re.DOTALL).group(1) == cff["title"]
    )
    assert f"{{{{{cff['authors'][0]['name']}}}}}" in text


PROGRAMS = {"book.tools": main, "studies": studies_main, "pvf": pvf_main}


def commands(page: str) -> list[list[str]]:
    """Commands that a page shows after a prompt, as words."""
    text = (REPOSITORY.root / "book" / page).read_text()
    return [line[2:].split() for line in text.splitlines() if line.startswith("$ ")]


def test_commands_shown_exist():
    """Cases 42, 43: every command on the page is a target of the Makefile or one of ours."""
    targets = set(re.findall(r"^([a-z]+):", (REPOSITORY.root / "Makefile").read_text(), re.M))
    shown = commands("how_to_rerun.md")
    assert shown
    for words in shown:
        if words[0] == "make":
            assert {w for w in words[1:] if "=" not in w} <= targets
        elif words[0] in ("python", "pvf"):
            program, rest = (words[2], words[3:]) if words[0] == "python" else ("pvf", words[1:])
            command = PROGRAMS[program].commands[rest[0]]
            with command.make_context(rest[0], rest[1:], resilient_parsing=False) as context:
                known = STUDIES if rest[0] == "tables" else source_stems(REPOSITORY)
                assert set(context.params.get("names", ())) <= set(known)
        else:
            assert words[0] == "papermill"
            assert (REPOSITORY.root / words[1]).is_file()


def test_names_on_the_page_of_notation_exist():
    """Each function, argument and attribute that the page names is one of the library's."""
    text = (REPOSITORY.root / "book" / "notation.md").read_text(encoding="utf-8")
    named = [
        name
        for row in text.splitlines()
        if row.startswith("|")
        for name in re.findall(r"`([^`]+)`", row.split("|")[-2])
    ]
    assert len(named) > 30
    for name in set(named) - {"pvf"}:
        path, argument, attribute = re.fullmatch(
            r"((?:studies\.data\.datasets\.)?\w+)(?:\((\w+)\)|\.(\w+))?", name
        ).groups()
        home, _, leaf = path.rpartition(".")
        target = pkgutil.resolve_name(f"{home or 'pvf'}:{leaf}")
        if argument:
            assert argument in inspect.signature(target).parameters, name
        if attribute:
            assert attribute in {*dir(target), *target.__annotations__}, name


def test_symbols_of_the_methods_page_are_explained():
    """Each Greek letter and calligraphic symbol of the page on methods is in the notation."""
    pages = {
        name: (REPOSITORY.root / "book" / f"{name}.md").read_text(encoding="utf-8")
        for name in ("methods", "notation")
    }
    symbol = r"\\(?:gamma|pi|xi|lambda|sigma|alpha|beta|mathcal\{\w\}|mathrm\{IE\})(?![a-z])"
    used, explained = (set(re.findall(symbol, pages[n])) for n in ("methods", "notation"))
    assert len(used) > 6
    assert used - explained == {r"\mathcal{N}"}  # the normal distribution
