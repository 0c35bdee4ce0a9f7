"""The claims page and the status page in a real browser, from disk and without a network."""

import json
import re
from collections.abc import Callable, Iterator

import nbformat
import pytest
from playwright.sync_api import Page, expect
from test_browser import TYPESET, _audit, _watch

from studies.kit.claims import judge, ledger, ledger_text
from studies.kit.verdicts import LABELS

pytestmark = pytest.mark.browser

PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def whole():
    """Judge every claim once."""
    return ledger()


@pytest.fixture
def show(browser, built_book) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a page of the book from disk, offline."""
    contexts = []

    def get(name: str = "claims", **options) -> Page:
        contexts.append(browser.new_context(offline=True, **options))
        page = contexts[-1].new_page()
        page.goto((built_book.html / "book" / f"{name}.html").as_uri())
        page.evaluate(TYPESET)
        return page

    yield get
    for context in contexts:
        context.close()


def shown(page: Page) -> list[str]:
    """List the claims whose rows are to be seen, in order."""
    return page.locator(".claims-table tbody tr:visible > th").all_inner_texts()


def status(page: Page) -> str:
    """Read the line that says how many claims are shown."""
    return page.locator(".claims-controls output").inner_text()


def test_every_claim_has_a_row_with_its_verdict(show, whole):
    """The table holds the ledger: id, statement, paper, verdict, numbers."""
    page = show()
    assert sorted(shown(page)) == sorted(whole.index)
    for claim, row in whole.iterrows():
        line = page.locator(f"#claim-{claim.lower()}")
        assert line.get_attribute("data-verdict") == row["verdict"]
        text = line.text_content()
        for part in (row["statement"], row["verdict"], row["place"], row["says"]):
            assert part in text
        assert (row["paper_numbers"] or "–") in text


def test_every_number_stands_on_an_axis(show):
    """Ours lies between its ends, at its place between the two printed ends of the axis."""
    page = show()
    row = page.locator("#claim-bre-1 svg.axis")
    label = row.get_attribute("aria-label")
    found = judge("BRE-1")
    for number in (f"{found.number:.1f}", f"{found.low:.1f}", f"{found.high:.1f}", "32"):
        assert number in label
    left, right = (float(text.replace(",", "")) for text in row.locator("text").all_text_contents())
    x = float(row.locator("circle").get_attribute("cx"))
    expected = 6 + 148 * (found.number - left) / (right - left)
    assert x == pytest.approx(expected, abs=0.6)
    assert page.locator("svg.axis").count() > 40


def test_words_find_letters_and_whole_verdicts(show, whole):
    """Letters are found by their names, "reproduced" finds no other label, the address keeps it."""
    page = show()
    search = page.get_by_role("searchbox", name="Search")
    search.fill("breast")
    assert {"BRE-1", "BRE-2", "BRE-3"} <= set(shown(page))
    search.fill("sigma cervical")
    assert "CER-1" in shown(page)
    search.fill("reproduced")
    assert sorted(shown(page)) == sorted(whole.index[whole["verdict"] == "reproduced"])
    assert "words=reproduced" in page.url
    page.reload()
    assert status(page) == f"{(whole['verdict'] == 'reproduced').sum()} of {len(whole)} claims"


def test_counts_at_the_top_are_those_of_the_ledger(show, whole):
    """The counts table adds up, by paper and verdict."""
    page = show()
    rows = page.locator(".claims-counts tbody tr")
    last = rows.last.locator("td").all_inner_texts()
    expected = [(whole["verdict"] == kind).sum() for kind in LABELS]
    assert list(map(int, last)) == [*expected, len(whole)]
    columns = [list(map(int, row.locator("td").all_inner_texts())) for row in rows.all()]
    assert [sum(column) for column in zip(*columns[:-1], strict=True)] == columns[-1]


@pytest.mark.parametrize(
    ("heading", "key"),
    [
        ("Verdict", lambda whole, claim: LABELS.index(whole.loc[claim, "verdict"])),
        ("Shown in", lambda whole, claim: whole.loc[claim, "chapter"]),
        ("Where", lambda whole, claim: whole.loc[claim, "paper"]),
        ("Claim", lambda _, claim: (claim.split("-")[0], int(claim.split("-")[1]))),
    ],
    ids=["verdict", "chapter", "paper", "claim"],
)
def test_headings_sort_by_keyboard(show, whole, heading, key):
    """Enter on a heading sorts, once more turns the order; the state is told to screen readers."""
    page = show()
    button = page.get_by_role("button", name=heading, exact=True)
    cell = page.locator("thead th", has=button)
    button.focus()
    page.keyboard.press("Enter")
    expect(cell).to_have_attribute("aria-sort", "ascending")
    found = [key(whole, claim) for claim in shown(page)]
    assert found == sorted(found)
    page.keyboard.press("Enter")
    expect(cell).to_have_attribute("aria-sort", "descending")
    found = [key(whole, claim) for claim in shown(page)]
    assert found == sorted(found, reverse=True)
    assert page.locator("thead [aria-sort]").count() == 1


def test_filters_and_search_narrow_the_table(show, whole):
    """Verdict, paper and words all count; the number shown is announced; reset shows all."""
    page = show()
    controls = page.locator(".claims-controls")
    controls.get_by_role("combobox", name="Verdict").select_option("not reproduced")
    expected = whole.index[whole["verdict"] == "not reproduced"]
    assert sorted(shown(page)) == sorted(expected)
    assert status(page) == f"{len(expected)} of {len(whole)} claims"
    controls.get_by_role("searchbox", name="Search").fill("CERVICAL σ")
    found = shown(page)
    assert 0 < len(found) < len(expected)
    for claim in found:
        row = page.locator(f"#claim-{claim.lower()}")
        text = f"{row.text_content()} {row.get_attribute('data-words')}".lower()
        assert "cervical" in text
        assert "σ" in text
    controls.get_by_role("combobox", name="Paper").select_option("zhang2026pvf")
    assert shown(page) == found
    controls.get_by_role("searchbox", name="Search").fill("no such words at all")
    assert shown(page) == []
    assert status(page) == f"0 of {len(whole)} claims"
    page.get_by_role("button", name="Show all").click()
    expect(page.locator(".claims-controls output")).to_have_text(
        f"{len(whole)} of {len(whole)} claims"
    )
    assert len(shown(page)) == len(whole)


@pytest.mark.parametrize("layout", ["csv", "json"])
def test_ledger_is_there_to_download(show, built_book, layout):
    """The link leads to what the command prints."""
    link = show().get_by_role("link", name=layout.upper(), exact=True).get_attribute("href")
    written = (built_book.html / "book" / link).read_text(encoding="utf-8")
    assert written == ledger_text(layout)


def test_without_a_script_the_whole_table_stands_there(show, whole):
    """No control shows that would do nothing."""
    page = show(java_script_enabled=False)
    assert len(shown(page)) == len(whole)
    expect(page.locator(".claims-controls")).to_be_hidden()


def test_each_row_leads_to_what_shows_it(show, built_book, whole):
    """Every link names a page that is there, and an anchor in it."""
    page = show()
    anchors: dict[str, set[str]] = {}
    for claim in whole.index:
        link = page.locator(f"#claim-{claim.lower()} a").get_attribute("href")
        name, anchor = link.split("#")
        if name not in anchors:
            text = (built_book.html / "book" / name).read_text(encoding="utf-8")
            anchors[name] = set(re.findall(r'\bid="([^"]+)"', text))
        assert anchor in anchors[name], f"{claim}: {link}"
    page.locator("#claim-syn-1 a").click()
    expect(page.locator("#fig-syn-shares")).to_be_visible()
    assert page.url.endswith("02_synthetic_sweep.html#fig-syn-shares")


@pytest.mark.parametrize("name", ["claims", "status", "intro"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_page_is_accessible_on_a_phone(show, name, theme):
    """At 360 pixels nothing scrolls sideways, and axe finds nothing serious, by day and night."""
    page = show(name, viewport=PHONE, color_scheme=theme)
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert _audit(page, {}) == []


def test_details_open_by_keyboard_and_nothing_is_logged(show):
    """What we found unfolds with Enter; the console stays silent."""
    page = show()
    seen = _watch(page)
    page.reload()
    page.locator("#claim-bre-1 summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#claim-bre-1 details p").first).to_be_visible()
    assert (seen.console, seen.failed) == ([], [])


def test_start_page_opens_with_the_counts(show, whole):
    """Findings with numbers, a picture and a bar of verdicts whose parts lead to the claims."""
    page = show("intro")
    findings = page.locator("article ol").first.inner_text()
    assert f"{judge('BRE-1').number:.0f} splits" in findings
    assert f"{(whole['verdict'] == 'reproduced').sum()} are reproduced" in findings
    assert page.locator(".start-reached svg").count() == 2
    counts = page.locator(".start-bars a").all_inner_texts()
    assert sum(int(re.search(r"\d+", text)[0]) for text in counts) == len(whole)
    assert page.locator(".start-reached").bounding_box()["y"] < 1500
    page.locator("article a", has_text="all claims with their verdicts").first.click()
    assert page.url.endswith("book/claims.html")


def test_status_page_tells_each_chapter_and_table(show, built_book):
    """Every chapter with its scale, commit and values; every table with seed, commit and CSV."""
    page = show("status")
    text = page.inner_text("article")
    for path in built_book.chapters.glob("*.ipynb"):
        metadata = nbformat.read(path, as_version=4).metadata
        row = page.locator("tr", has=page.locator(f'a[href*="{path.stem}.html"]')).first
        cells = row.inner_text()
        assert metadata["pvf"]["commit"].removeprefix("commit ") in cells
        for name, value in metadata["papermill"]["parameters"].items():
            assert f"{name} = {value}" in cells
    for path in built_book.results.glob("*.json"):
        facts = json.loads(path.read_text(encoding="utf-8"))
        assert path.stem in text
        assert facts["git"]["commit"][:10] in text
        links = page.locator(f'a[href$="/{path.stem}.csv"]')
        target = (built_book.html / "book" / links.first.get_attribute("href")).resolve()
        assert target.read_bytes() == path.with_suffix(".csv").read_bytes()
