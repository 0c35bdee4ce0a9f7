"""The report of a selection: whole, self-contained, escaped, and of the numbers that were found."""

import base64
import dataclasses
import hashlib
import json
import re
import shutil
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from matplotlib.text import Text
from playwright.sync_api import sync_playwright
from sklearn.tree import DecisionTreeClassifier
from ugly_csv import plain_table, to_bytes

from book.tools.build import external_references
from pvf import (
    GaussianNoise,
    InterventionEfficiencyDisplay,
    MultiplicityDisplay,
    Perturbation,
    perturbation_validation,
    plotting,
)
from pvf.select import report as own_report
from pvf.select.choose import select
from pvf.select.read import load_own_data

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
        data,
        capacity=0.2,
        pool="own_pool:small",
        n_sets=20,
        n_repeats=1,
        n_splits=3,
        n_bootstraps=100,
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
    assert len(images) == 4
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


STRANGE = ["income_$", "_cost_$^{", r"\frac{1}{", "{0} %s `*[w](x)*`|", "\x1b[31mred\u202e", "中文"]


@pytest.fixture(scope="module")
def strange(tmp_path_factory):
    """Select among pairs of columns whose names are mathematics, markup and commands elsewhere."""
    rng = np.random.default_rng(0)
    rows = [[*STRANGE, "out|come_$"]]
    for i in range(160):
        case = i % 3 == 0
        numbers = [f"{x:.2f}" for x in rng.normal(size=len(STRANGE) - 1) + case]
        rows.append([*numbers, ["$a_$ $", "<b>"][i % 2], ["<no> $_$", "$y$"][case]])
    path = tmp_path_factory.mktemp("strange") / "s.csv"
    path.write_bytes(to_bytes(rows, separator=",", encoding="utf-8"))
    data = load_own_data(path, "out|come_$", positive="$y$")
    return select(
        data, capacity=0.2, pool="pairs", n_sets=3, n_repeats=1, n_splits=2, n_bootstraps=50
    )


def drawn_texts(axes):
    """Return every text that is seen in a figure, once it is drawn."""
    axes.figure.canvas.draw()
    texts = axes.figure.findobj(Text)
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def test_strange_names_stand_in_the_figures_as_they_are(strange):
    """No "$" begins mathematics, and no name is left out of a legend or an axis."""
    shown = {name: " ".join(name.replace("\x1b", " ").split()).rstrip("\u202e") for name in STRANGE}
    efficiency = own_report.places_figure(strange).picture.axes[0]
    assert not any(text.get_parse_math() for text in efficiency.get_yticklabels())
    scores = own_report.scores_figure(strange).picture.axes[0]
    labels = [t for t in drawn_texts(scores) if t.get_text().startswith("logistic: ")]
    assert len(labels) == 12
    assert not any(label.get_parse_math() for label in labels)
    for name in shown.values():
        assert any(name in label.get_text() for label in labels), name


def test_strange_names_stand_in_the_reports_as_they_are(strange, tmp_path):
    """A parser of each format reads every name back; JSON has the very characters."""
    plain = [" ".join(name.replace("\x1b", " ").replace("\u202e", " ").split()) for name in STRANGE]
    words = Outline(own_report.as_html(strange)).words
    markdown_it = pytest.importorskip("markdown_it")
    parser = markdown_it.MarkdownIt("commonmark").enable("table")
    cells = [
        "".join(child.content for child in token.children)
        for token in parser.parse(own_report.as_markdown(strange))
        if token.type == "inline"
    ]
    for name in plain:
        assert name in words
        assert name in cells
    path = own_report.write_report(strange, tmp_path / "s.json")
    found = json.loads(path.read_text(encoding="utf-8"))
    assert [column["column"] for column in found["columns"]] == STRANGE
    assert found["data"]["positive"] == "$y$"


@pytest.mark.parametrize("name", ["$ + b_$", r"$\bad{", "a$b", r"\$x"])
def test_any_display_draws_names_as_they_are(name):
    """So do the displays of the library, whose names a caller gives."""
    scores, X = np.random.default_rng(0).random((2, 6)), np.arange(12.0).reshape(6, 2)
    y = np.array([0, 1] * 3)
    shown = [
        MultiplicityDisplay.from_scores(scores, name=name).plot().ax_,
        MultiplicityDisplay.from_scores(scores, samples=[name] * 6).plot(kind="worst").ax_,
        InterventionEfficiencyDisplay.from_predictions(y, y, name=name).plot().ax_,
        perturbation_validation(
            {name: DecisionTreeClassifier().fit(X, y)},
            X,
            y,
            perturbation=Perturbation(GaussianNoise(0.1)),
            scoring="accuracy",
            n_sets=2,
            random_state=0,
        ).plot(),
    ]
    for axes in shown:
        named = [text for text in drawn_texts(axes) if name in text.get_text()]
        assert named
        assert not any(text.get_parse_math() for text in named)
        plt.close(axes.figure)


def test_long_name_is_cut_in_the_middle():
    """A name of any length leaves room for the figure."""
    assert plotting.label("a" * 500 + "z") == "a" * 30 + "…" + "a" * 28 + "z"
    assert plotting.label("x" * 60) == "x" * 60


# --- the policy -----------------------------------------------------------------------------------


def whole_pages(selection):
    """Return the report, and the card as a page of its own."""
    return {"report": own_report.as_html(selection), "card": own_report.card(selection).to_html()}


@pytest.mark.parametrize("kind", ["report", "card"])
def test_policy_allows_just_what_the_page_has(selection, kind):
    """Nothing but pictures inside the page and the styles it has, each by its digest."""
    page = whole_pages(selection)[kind]
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="(.+)">', page)
    assert page.index(policy) < min(page.index("<style"), page.index("<title"))
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["img-src"] == "data:"
    assert rules.keys() == {"default-src", "style-src", "img-src", "base-uri", "form-action"}
    styles = re.findall(r"<style>(.*?)</style>", page, flags=re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(style.encode()).digest()) for style in styles]
    assert {f"'sha256-{digest.decode()}'" for digest in digests} == set(rules["style-src"].split())
    assert not any("style" in attrs for _, attrs in Outline(page).tags)


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["report", "card"])
def test_browser_keeps_to_the_policy(selection, tmp_path, kind):
    """Markup that got in all the same runs no script and asks no host; the page's styles apply."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        pytest.skip(f"no Chromium or Chrome on PATH (looked for {', '.join(BROWSERS)})")
    added = (
        "<script>document.title = 'taken'</script>"
        "<img src='http://127.0.0.1:9/x.png' onerror=\"document.title = 'taken'\">"
        "<style>body { max-width: 7px }</style>"
    )
    path = tmp_path / "page.html"
    page = whole_pages(selection)[kind].replace("</main>", f"{added}</main>")
    path.write_text(page, encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1280, "height": 740})
        refused, asked = [], []
        opened.on("console", lambda message: refused.append(message.text))
        opened.on("response", lambda response: asked.append(response.url))
        opened.goto(path.as_uri())
        title = opened.title()
        width = opened.evaluate("getComputedStyle(document.body).maxWidth")
        browser.close()
    assert title != "taken"
    assert asked == [path.as_uri()]
    assert width in ("960px", "800px")  # 60rem and 50rem
    assert sum("Content Security Policy" in text for text in refused) >= 3


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


def test_markdown_has_the_same_parts(selection):
    """Headings and figures of both formats agree, and no line of a table is broken."""
    markdown = own_report.as_markdown(selection)
    assert markdown.count("data:image/png;base64") == 4
    titles = re.findall(r"^## (.+)$", markdown, flags=re.MULTILINE)
    assert titles[0] == "Recommendation"
    assert titles[-1] == "How to make this report again"
    for block in re.findall(r"(?:^\|.*\n)+", markdown, flags=re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block


def test_two_reports_are_the_same_bytes(selection, page, tmp_path):
    """The same selection gives the same file."""
    again = own_report.write_report(selection, tmp_path / "again.html")
    assert again.read_bytes() == page.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["again.html"]


def test_unknown_ending_is_refused(selection, tmp_path):
    """The file's name says as what to write."""
    with pytest.raises(ValueError, match=r"must end in \.html, \.md or \.json, got 'r\.pdf'"):
        own_report.write_report(selection, tmp_path / "r.pdf")


def test_the_calibration_curve_draws_its_table(selection):
    """A point a fifth with its interval, in the report and in words for who cannot see it."""
    drawn, rows = own_report.calibration_figure(selection), selection.calibration
    (bars,) = drawn.picture.axes[0].containers
    points = bars.lines[0].get_xydata()
    np.testing.assert_allclose(points, rows[["mean score", "share of cases"]])
    ends = [segment[:, 1] for segment in bars.lines[2][0].get_segments()]
    np.testing.assert_allclose(ends, rows[["low", "high"]])
    assert re.findall(r"\d\.\d\d", drawn.alt) == [f"{x:.2f}" for x in rows["share of cases"]]
    assert drawn.alt in own_report.as_markdown(selection)


@pytest.mark.parametrize(("shift", "may_be_risk"), [(0, True), (-2, False)])
def test_the_diagonal_is_drawn_and_named_where_scores_may_be_risks(selection, shift, may_be_risk):
    """A decision function has no diagonal, and its caption names none."""
    moved = selection.calibration.assign(
        **{"mean score": selection.calibration["mean score"] + shift}
    )
    drawn = own_report.calibration_figure(dataclasses.replace(selection, calibration=moved))
    dashed = [line for line in drawn.picture.axes[0].lines if line.get_linestyle() == "--"]
    assert len(dashed) == may_be_risk
    assert ("Dashed" in drawn.caption) == may_be_risk


def test_missing_capacity_is_said_in_the_figure(selection):
    """Where Rashomon Capacity was not computed, the figure says why."""
    bare = dataclasses.replace(selection, multiplicity=None, multiplicity_summary={"n_good": 0})
    assert "Not computed" in own_report.multiplicity_figure(bare).alt
    assert own_report.contested_table(bare).empty
    assert "Not computed" in own_report.as_html(bare)
