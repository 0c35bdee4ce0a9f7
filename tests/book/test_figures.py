"""Data behind figures: kept by notebooks, linked below each figure, listed with their commands."""

import hashlib
import html
import io
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pandas as pd
import pytest
from conftest import REPOSITORY, notebook_source, write_project

from book.tools.__main__ import main
from book.tools.build import build_pages, toc_entries
from book.tools.figures import chapter_figures, check_tables, kept_data, tables_of_figures
from book.tools.notebooks import plan_jobs, run_jobs
from book.tools.project import BookError, Project
from studies.__main__ import main as studies_main
from studies.catalogue import STUDIES
from studies.kit import claims

FIGURES = chapter_figures(REPOSITORY)
DRAWING = """from matplotlib.figure import Figure
figure = Figure(figsize=(1, 1))
figure.add_subplot().plot([0, 1])
figure"""
FRAME = "pd.DataFrame({'x': [1, 2], 'y': [0.1, 1 / 3]}, index=pd.Index(['a', 'b'], name='model'))"
KEEPING = f"""import pandas as pd
from book.tools.figures import keep_data
keep_data('fig-a-one', {FRAME})
from myst_nb import glue
glue('lead', -1.25, display=False)"""
SAYS = "\n# %% [markdown]\n# The lead is {glue:text}`lead:.1f`, in 2026-11 and at 1e-6.\n"


def drawing(label: str) -> str:
    """Write a cell that draws a figure with a label."""
    image = '{"alt": "A line that \\"rises\\"."}'
    metadata = f'{{"figure": {{"name": "{label}", "caption": "A line. More."}}, "image": {image}}}'
    return f"# %% mystnb={metadata}\n{DRAWING}\n"


class Captions(HTMLParser):
    """Collects what each figure of a page offers for download, by the figure's id."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.folder, self.figure = page.parent, ""
        self.files: dict[str, list[Path]] = {}
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Note figures and the downloads inside them."""
        given = dict(attrs)
        if tag == "figure":
            self.figure = given.get("id", "")
            self.files[self.figure] = []
        elif tag == "a" and self.figure and "download" in given:
            self.files[self.figure].append((self.folder / unquote(given["href"])).resolve())

    def handle_endtag(self, tag):
        """Leave the figure."""
        if tag == "figure":
            self.figure = ""


# --- a small book -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Project:
    """Run and build a book with one figure from a committed table and kept data."""
    root = tmp_path_factory.mktemp("figures") / "a clone"
    source = notebook_source("1", KEEPING) + "\n" + drawing("fig-a-one") + SAYS
    project = write_project(root, {"a": source})
    project.results.mkdir()
    for suffix in (".csv", ".json"):
        shutil.copy(REPOSITORY.results / f"cervical_data{suffix}", project.results)
    (root / "book" / "figures.toml").write_text('fig-a-one = ["cervical_data"]\n')
    run_jobs(project, plan_jobs(project))
    build_pages(project)
    return project


def test_kept_data_come_out_as_they_went_in(small):
    """What a notebook keeps for a figure is CSV of the frame, a named index as a column."""
    notebook = nbformat.read(small.chapters / "a.ipynb", as_version=4)
    kept = kept_data(notebook)
    assert list(kept) == ["fig-a-one"]
    expected = pd.DataFrame({"model": ["a", "b"], "x": [1, 2], "y": [0.1, 1 / 3]})
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(kept["fig-a-one"])), expected, rtol=1e-15)


def test_figure_links_to_its_table_its_provenance_and_the_kept_data(small):
    """Below the figure stand links to copies, byte by byte, of all three."""
    page = small.html / "book" / "chapters" / "a.html"
    files = Captions(page).files["fig-a-one"]
    assert [file.name for file in files] == [
        "cervical_data.csv",
        "cervical_data.json",
        "fig-a-one.csv",
    ]
    for file in files[:2]:
        assert file.read_bytes() == (small.results / file.name).read_bytes()
    assert files[2].read_text().startswith("model,x,y\na,1,0.1\n")
    assert "_Csv" not in page.read_text(encoding="utf-8")


def test_page_describes_its_drawing_and_writes_a_true_minus(small):
    """Both layouts of a figure bear its description; numbers in the text have no hyphen."""
    page = (small.html / "book" / "chapters" / "a.html").read_text(encoding="utf-8")
    described = 'role="img" aria-label="A line that &quot;rises&quot;."'
    assert [layout for layout in ("wide", "narrow") if f'"{layout}" {described}' in page] == [
        "wide",
        "narrow",
    ]
    text = re.sub(r"<[^>]+>", "", page)
    assert "The lead is −1.2, in 2026-11 and at 1e-6." in text


@pytest.mark.parametrize(
    ("toml", "kept", "says"),
    [
        pytest.param("", [], "figure fig-a-one has no data", id="no-data"),
        pytest.param("", ["fig-a-one", "fig-a-two"], "no figure fig-a-two", id="kept-for-none"),
        pytest.param(
            'fig-a-one = ["cervical_data"]\nfig-b = []', [], "no figure fig-b", id="listed-for-none"
        ),
        pytest.param('fig-a-one = ["gone"]', [], "book/results/gone.csv", id="no-table"),
    ],
)
def test_data_that_do_not_fit_the_figures_are_refused(small, toml, kept, says):
    """A figure without data, data without a figure and a missing table each stop the build."""
    path = small.root / "book" / "figures.toml"
    good = path.read_text()
    path.write_text(toml)
    try:
        with pytest.raises(BookError, match=re.escape(says)):
            check_tables(small, dict.fromkeys(kept))
    finally:
        path.write_text(good)


def test_figure_listed_without_a_table_only_illustrates(small):
    """An empty list says that a figure has no data; one that is not listed has its own run's."""
    path = small.root / "book" / "figures.toml"
    good = path.read_text()
    try:
        for text, has_data in (("fig-a-one = []", False), ("", True), (good, True)):
            path.write_text(text)
            assert [figure.has_data for figure in chapter_figures(small)] == [has_data]
            check_tables(small, {} if text else {"fig-a-one": ""})
    finally:
        path.write_text(good)


# --- the real book ------------------------------------------------------------------------------


def test_every_figure_of_a_chapter_has_a_label_and_is_listed_once():
    """Labels are unique, keep to fig-<page>-<what>, and each belongs to a figure."""
    labels = [figure.label for figure in FIGURES]
    assert len(labels) == len(set(labels)) >= 20
    assert all(re.fullmatch(r"fig-[a-z]+-[a-z0-9-]+", label) for label in labels)
    assert tables_of_figures(REPOSITORY).keys() <= set(labels)


@pytest.mark.parametrize(
    "figure", [f for f in FIGURES if f.has_data], ids=lambda figure: figure.label
)
def test_data_behind_each_figure_can_be_had(built_book, figure):
    """Each figure links to its tables, byte by byte, and to what its page's run drew, as CSV."""
    page = built_book.html / "book" / "chapters" / f"{figure.stem}.html"
    files = Captions(page).files[figure.label]
    tables = [file for file in files if file.suffix == ".csv"]
    assert tables
    assert {f"{name}.csv" for name in figure.tables} <= {file.name for file in tables}
    for file in tables:
        assert len(pd.read_csv(file)) > 0
        if file.stem in figure.tables:
            committed = REPOSITORY.results / file.name
            assert file.read_bytes() == committed.read_bytes()


@pytest.fixture(scope="module")
def listed(built_book) -> str:
    """Read the pages that list figures, claims, tables and commands, as text without tags."""
    pages = [built_book.html / "book" / f"{name}.html" for name in ("figures", "status")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    return html.unescape(re.sub(r"<[^>]+>", "", text))


def test_every_figure_and_claim_is_listed_with_a_command(built_book, listed):
    """Case 42: each figure and each claim of a chapter has its row, with a link that works."""
    page = (built_book.html / "book" / "figures.html").read_text(encoding="utf-8")
    for figure in FIGURES:
        assert re.search(rf'href="[^"]*{figure.stem}\.html#{figure.label}"', page), figure.label
        assert f"python -m book.tools run {figure.stem}" in listed
    ledger = (built_book.html / "book" / "claims.html").read_text(encoding="utf-8")
    for name, claim in claims.claims().items():
        row = re.search(rf'<tr[^>]* id="claim-{name.lower()}".*?</tr>', ledger, re.DOTALL)[0]
        assert f"python -m book.tools run {claim['chapter']}<" in row
        assert f"{claim['study']}.csv" in row


def test_listed_commands_exist(listed):
    """Case 42: each command on the page is ours, with a notebook or a table that is there."""
    shown = set(re.findall(r"python -m (?:book\.tools|studies) (run|tables) (\w+)", listed)) - {
        ("run", "NAME")
    }
    stems = {Path(entry).name for entry in toc_entries(REPOSITORY)}
    assert {kind for kind, _ in shown} == {"run", "tables"}
    for kind, name in shown:
        assert kind in {**main.commands, **studies_main.commands}
        assert name in (stems if kind == "run" else STUDIES), (kind, name)
    assert {name for kind, name in shown if kind == "tables"} == {
        path.stem for path in REPOSITORY.results.glob("*.csv")
    }


def test_listed_checksums_are_those_of_the_files(listed):
    """Case 42: what should come out is given by its checksum, and the committed files have it."""
    for path in REPOSITORY.results.glob("*.csv"):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        row = re.search(rf"studies tables {path.stem}; SHA-256 begins (\w+)", listed)
        assert row[1] == digest[:8], path.name
