"""The report of a selection: whole, self-contained, escaped, and of the numbers that were found."""

import base64
import dataclasses
import json
import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright
from ugly_csv import plain_table, to_bytes

from pvf import own_report
from pvf.book import external_references
from pvf.own_data import load_own_data
from pvf.own_selection import select
from pvf.recommendation import recommend

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
NASTY = "<b>ward|`x`*</b>"


@pytest.fixture(scope="module")
def selection(tmp_path_factory):
    """Select on a table whose column name and level are markup."""
    rows = plain_table()
    rows[0][3] = NASTY
    for row in rows[1:40]:
        row[3] = "<script>alert(1)</script>"
    path = tmp_path_factory.mktemp("report") / "my <i>.csv"
    path.write_bytes(to_bytes(rows, separator=","))
    data = load_own_data(path, "died")
    return select(
        data, capacity=0.2, pool="own_pool:small", n_sets=20, n_repeats=1, n_bootstraps=100
    )


@pytest.fixture(scope="module")
def page(selection, tmp_path_factory):
    """Write the report as HTML."""
    return own_report.write_report(selection, tmp_path_factory.mktemp("page") / "report.html")


class Outline(HTMLParser):
    """Collects tags, attributes and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        """Close the tag that was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Note text."""
        self.words.append(data)


def test_page_is_whole_and_asks_no_host(page):
    """Every tag is closed, nothing is loaded from elsewhere, figures and words are inside."""
    assert list(external_references(page)) == []
    outline = Outline(page.read_text(encoding="utf-8"))
    assert outline.open == []
    images = [attrs for tag, attrs in outline.tags if tag == "img"]
    assert len(images) == 3
    for image in images:
        head, data = image["src"].split(",")
        assert head == "data:image/png;base64"
        assert base64.b64decode(data).startswith(b"\x89PNG")
        assert len(image["alt"]) > 40
    assert not any(tag == "script" for tag, _ in outline.tags)


def test_headings_go_down_one_level_at_a_time(page):
    """A screen reader's outline has one first level and no gap."""
    levels = [
        int(tag[1])
        for tag, _ in Outline(page.read_text(encoding="utf-8")).tags
        if re.fullmatch(r"h[1-6]", tag)
    ]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(np.diff(levels)) <= 1


def test_text_from_the_data_is_escaped(page, selection):
    """A name that is markup is shown as it is and never becomes markup, in both formats."""
    html = page.read_text(encoding="utf-8")
    assert "<script>alert" not in html
    assert NASTY not in html
    assert NASTY in "".join(Outline(html).words)
    markdown = own_report.as_markdown(selection)
    assert NASTY not in markdown
    assert r"\<b\>ward\|" in markdown or "&lt;b&gt;ward" in markdown


def test_tables_are_for_everybody(page):
    """Each table has a caption and header cells, and its box is reached by keyboard."""
    outline = Outline(page.read_text(encoding="utf-8"))
    tags = [tag for tag, _ in outline.tags]
    assert tags.count("table") == tags.count("caption") > 8
    boxes = [attrs for _, attrs in outline.tags if attrs.get("role") == "region"]
    assert len(boxes) == tags.count("table")
    assert all(box["tabindex"] == "0" and box["aria-label"] for box in boxes)
    assert ("html", {"lang": "en"}) in outline.tags


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_is_accessible_and_fits_a_phone(page, scheme):
    """In Chromium: no finding of axe-core, no message in the console, no overflow at 360 pixels."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        pytest.skip(f"no Chromium or Chrome on PATH (looked for {', '.join(BROWSERS)})")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme=scheme)
        messages = []
        opened.on("console", lambda message: messages.append(message.text))
        opened.goto(page.as_uri())
        findings = Axe().run(opened).response["violations"]
        overflow = opened.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        browser.close()
    assert [finding["id"] for finding in findings] == []
    assert messages == []
    assert overflow <= 0


def test_report_says_what_was_found(page, selection):
    """Recommendation, caveats, every column, choice and number of the tables stand on the page."""
    words = " ".join("".join(Outline(page.read_text(encoding="utf-8")).words).split())
    said = recommend(selection)
    for text in (said.headline, *said.reasons, *said.caveats):
        assert " ".join(text.split()) in words
    for column in selection.data.columns:
        assert column.why in words
    for _, row in selection.judged.iterrows():
        assert f"{row['low']:.2f} to {row['high']:.2f}" in words
    assert selection.data.sha256 in words
    assert f"Model card: {selection.recommended}" in words


def test_markdown_has_the_same_parts(selection):
    """Headings and figures of both formats agree, and no line of a table is broken."""
    markdown = own_report.as_markdown(selection)
    assert markdown.count("data:image/png;base64") == 3
    titles = re.findall(r"^## (.+)$", markdown, flags=re.MULTILINE)
    assert titles[0] == "Recommendation"
    assert titles[-1] == "How to make this report again"
    for block in re.findall(r"(?:^\|.*\n)+", markdown, flags=re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block


def test_json_has_the_numbers(selection):
    """The summary is plain JSON without NaN, and holds what was found."""
    found = json.loads(own_report.as_json(selection), parse_constant=pytest.fail)
    assert found["recommendation"]["model"] == selection.recommended
    assert found["choices"] == selection.chosen
    assert found["judged"]["PVF"]["IE"] == pytest.approx(selection.judged.loc["PVF", "IE"])
    assert found["parts"]["train"]["patients"] == len(selection.parts.train)
    assert [column["column"] for column in found["columns"]][:2] == ["id", "age"]
    assert found["settings"]["capacity"] == 0.2


def test_two_reports_are_the_same_bytes(selection, page, tmp_path):
    """The same selection gives the same file."""
    again = own_report.write_report(selection, tmp_path / "again.html")
    assert again.read_bytes() == page.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["again.html"]


def test_unknown_ending_is_refused(selection, tmp_path):
    """The file's name says as what to write."""
    with pytest.raises(ValueError, match=r"must end in \.html, \.md, \.json, got 'r\.pdf'"):
        own_report.write_report(selection, tmp_path / "r.pdf")


def test_card_is_of_the_recommended_model(selection):
    """The card names the recommended model, and its test scores are those that were judged."""
    card = own_report.card(selection)
    assert card.facts["selected"] == selection.recommended
    assert card.facts["external_score"] == pytest.approx(selection.judged.loc["recommended", "IE"])
    assert card.facts["best_score"] == pytest.approx(selection.scores["PVF"].max())
    assert card.facts["n_tied"] == len(selection.tied["PVF"])
    assert "Columns" not in card.facts
    for line in selection.data.X.index[:3]:
        assert f"line {line}" not in card.to_markdown()


def test_figures_show_what_was_found(selection):
    """Lines of the efficiency figure are IE of the choices at every capacity; one marks γ."""
    axes = own_report.efficiency_figure(selection).picture.axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    assert lines["γ = 0.2"].get_xdata()[0] == 0.2
    X, y = selection.part("test")
    flagged = selection.models[selection.chosen["PVF"]].predict(X) == 1
    (label,) = (label for label in lines if "PVF" in label)
    share = (flagged & (y == 1)).sum() / (y == 1).sum()
    at_one = lines[label].get_ydata()[-1]
    assert at_one == 1
    flagged_share = flagged.mean()
    place = np.argmin(np.abs(lines[label].get_xdata() - flagged_share))
    assert lines[label].get_ydata()[place] == pytest.approx(share / flagged_share, rel=0.05)


def test_missing_capacity_is_said_in_the_figure(selection):
    """Where Rashomon Capacity was not computed, the figure says why."""
    bare = dataclasses.replace(selection, multiplicity=None, multiplicity_summary={"n_good": 0})
    assert "Not computed" in own_report.multiplicity_figure(bare).alt
    assert own_report.contested_table(bare).empty
    assert "Not computed" in own_report.as_html(bare)
