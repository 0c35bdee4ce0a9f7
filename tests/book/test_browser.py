"""The built book in a real browser: from disk without a network, and from a server's sub-path."""

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import REPOSITORY
from playwright.sync_api import Page

from book.tools.build import toc_entries

pytestmark = pytest.mark.browser

ENTRIES = toc_entries(REPOSITORY)
# What axe looks at: by day everything, at night contrast again, on a phone the rest again.
SETTINGS = {
    ("desktop", "light"): {},
    ("desktop", "dark"): {"runOnly": ["color-contrast"]},
    ("phone", "dark"): {"rules": {"color-contrast": {"enabled": False}}},
}
STUDIES = [entry for entry in ENTRIES if re.search(r"chapters/(0|1)\d_", entry)]
# Tests of one page follow each other, so that one worker opens it, once.
of_each_page = pytest.mark.parametrize("entry", ENTRIES, scope="module")
of_each_chapter = pytest.mark.parametrize("entry", STUDIES, scope="module")
TEMPLATE = ["Why", "So what", "In code", "Verdicts", "Exercise"]
PAPER = {"width": 718, "height": 1000}  # A4 within margins of 1 cm, in CSS pixels
WIDTHS = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 360, "height": 740}}
# As the switch of the theme does; colours that fade would be caught half-way.
THEME = """(theme) => {
    document.head.append(Object.assign(document.createElement('style'),
        {textContent: '* { transition: none !important }'}));
    for (const name of ['mode', 'theme']) {
        document.documentElement.dataset[name] = theme;
        localStorage.setItem(name, theme);
    }
}"""
TYPESET = """async () => {
    if (document.querySelector('.math, mjx-container') && window.MathJax?.startup) {
        await MathJax.startup.promise;
    }
    await document.fonts.ready;
}"""
# Code that does not fit beside the contents of its page.
SCROLLING = """() => [...document.querySelectorAll('article pre')]
    .filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.innerText.slice(0, 200))"""
# Elements of the text that paper would cut off, and those of the frame that it would show.
CLIPPED = """() => {
    const shown = (e) => e.checkVisibility() && e.getBoundingClientRect().width > 1;
    const inner = [...document.querySelectorAll(
        'article :is(p, pre, table, img, svg, figure, form, mjx-container)')];
    const wide = inner.filter((e) => shown(e) && !e.closest('mjx-assistive-mml, .visually-hidden')
        && (e.getBoundingClientRect().right > window.innerWidth + 1
            || (getComputedStyle(e).overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1)));
    const frame = [...document.querySelectorAll(
        '.bd-sidebar, .bd-header-article, .prev-next-footer, .copybtn, .headerlink')].filter(shown);
    return [...wide, ...frame].map((e) => e.outerHTML.slice(0, 120));
}"""
# What stands open in a chapter: folded details don't count.
LAYOUT = """() => {
    const article = document.querySelector('article');
    const open = (what) => [...article.querySelectorAll(what)].filter(
        (e) => e.checkVisibility() && e.getBoundingClientRect().height > 1);
    const height = (found) => found.reduce((sum, e) => sum + e.getBoundingClientRect().height, 0);
    const [figures, tables] = [open('figure'), open('table')];
    return {
        height: document.documentElement.getBoundingClientRect().height,
        first: figures[0]?.getBoundingClientRect().top + window.scrollY,
        figures: height(figures),
        tables: height(tables),
        bare: tables.filter((e) => !e.caption).map((e) => e.innerText.slice(0, 80)),
        code: open('.cell_input pre').map((e) => e.innerText.trimEnd().split('\\n').length),
        headings: open('h2').map((e) => e.firstChild.textContent),
        chips: open('.verdict-chips a').length,
    };
}"""
FOLDED = "document.querySelectorAll('details:not([open])').length"
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
PICTURES = """() => [...document.querySelectorAll('img')].map(
    image => ({source: image.src, width: image.naturalWidth, alt: image.alt}))"""

# Of each drawing, which layout is shown, how large against its own size, and what it is called.
DRAWN = """() => [...document.querySelectorAll('.drawn svg')].map((svg) => ({
    layout: svg.classList[0],
    shown: getComputedStyle(svg).display !== 'none',
    scale: svg.checkVisibility() ? svg.getBoundingClientRect().width / svg.width.baseVal.value : 1,
    words: svg.getAttribute('aria-label').split(' ').length}))"""

# What is inside `role="img"` is no part of what a screen reader is given; axe would go through it.
EMPTY_DRAWINGS = """() => document.querySelectorAll('.drawn svg[role="img"]').forEach(
    (svg) => svg.replaceChildren())"""


@dataclass
class Visit:
    """What a browser met with on one page."""

    console: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    text: str = ""
    formulas: int = 0
    typeset: int = 0
    faulty_formulas: int = 0
    pictures: list[dict] = field(default_factory=list)
    drawn: list[dict] = field(default_factory=list)
    overflow: int = 0
    scrolling: list[str] = field(default_factory=list)
    layout: dict = field(default_factory=dict)
    paper: dict = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line in the log for each."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server(executable, built_book, tmp_path_factory) -> Iterator[str]:
    """Serve the book under ``/repo/`` of a server on this machine, as project pages are."""
    root = tmp_path_factory.mktemp("server")
    (root / "repo").symlink_to(built_book.html, target_is_directory=True)
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(root)))
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{httpd.server_port}/repo/"
    httpd.shutdown()
    httpd.server_close()


@pytest.fixture(scope="module")
def address(server, built_book) -> Callable[[str, str], str]:
    """Return the address of a page: from disk or from the server."""
    starts = {"disk": built_book.html.as_uri() + "/", "server": server}
    return lambda origin, page: starts[origin] + page


@pytest.fixture(scope="module")
def visit(browser, address) -> Callable[..., Visit]:
    """Return a function that opens a page once and remembers what each setting met with."""

    @cache
    def look(entry: str, origin: str) -> dict[tuple[str, str], Visit]:
        context = browser.new_context(viewport=WIDTHS["desktop"], offline=origin == "disk")
        page = context.new_page()
        met = _watch(page)
        page.goto(address(origin, f"{entry}.html"), wait_until="load")
        page.evaluate(TYPESET)
        # Where a page comes from makes no difference to axe, to paper and to what is laid out.
        seen = _look(page, met) if origin == "disk" else {("desktop", "light"): _read(page, met)}
        context.close()
        return seen

    def get(
        entry: str, origin: str = "disk", width: str = "desktop", theme: str = "light"
    ) -> Visit:
        return look(entry, origin)[width, theme]

    return get


def _watch(page: Page) -> Visit:
    """Note what goes wrong on a page from here on."""
    seen = Visit()
    page.on(
        "console", lambda m: seen.console.append(m.text) if m.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: seen.console.append(str(error)))
    # What the browser drops because the reader goes on to another page has not failed.
    page.on(
        "requestfailed",
        lambda r: None if r.failure == "net::ERR_ABORTED" else seen.failed.append(r.url),
    )
    page.on("response", lambda r: seen.failed.append(r.url) if r.status >= 400 else None)
    page.on("request", lambda request: seen.hosts.add(_host(request.url)))
    return seen


def _host(url: str) -> str:
    match = re.match(r"(?:https?|wss?)://([^/]+)", url)
    return match.group(1) if match else ""


def _look(page: Page, met: Visit) -> dict[tuple[str, str], Visit]:
    """Read and audit a page in each setting, and print it where it is open."""
    visits = {}
    for (width, theme), audit in SETTINGS.items():
        page.evaluate(THEME, theme)
        if page.viewport_size != WIDTHS[width]:  # what scrolls is settled when a page loads
            met.paper = _print(page)
            page.set_viewport_size(WIDTHS[width])
            page.reload(wait_until="load")
            page.evaluate(TYPESET)
        visits[width, theme] = replace(_read(page, met), findings=_audit(page, audit))
    return visits


def _read(page: Page, met: Visit) -> Visit:
    return replace(
        met,
        text=page.inner_text("article"),
        formulas=page.locator("article .math").count(),
        typeset=page.locator("article .math mjx-container").count(),
        faulty_formulas=page.locator("mjx-merror").count(),
        pictures=page.evaluate(PICTURES),
        drawn=page.evaluate(DRAWN),
        overflow=page.evaluate(OVERFLOW),
        scrolling=page.evaluate(SCROLLING),
        layout=page.evaluate(LAYOUT),
    )


def _print(page: Page) -> dict:
    """Print a page on A4, as a reader does who has it open."""
    folded = page.evaluate(FOLDED)
    page.set_viewport_size(PAPER)
    page.emulate_media(media="print")
    margin = dict.fromkeys(("top", "right", "bottom", "left"), "1cm")
    document = page.pdf(format="A4", margin=margin)
    again = page.evaluate(FOLDED)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")  # as on paper
    seen = {
        "folded": (folded, again, page.evaluate(FOLDED)),
        "clipped": page.evaluate(CLIPPED),
        "overflow": page.evaluate(OVERFLOW),
        "heading": page.inner_text("article h1"),
        "height": page.evaluate("document.querySelector('article').getBoundingClientRect().height"),
        "pages": len(re.findall(rb"/Type\s*/Page\b", document)),
    }
    page.emulate_media(media="screen")
    return seen


def _audit(page: Page, scope: dict) -> list[str]:
    """List axe's serious and critical findings; a drawing is one picture to it, with a name."""
    page.evaluate(EMPTY_DRAWINGS)
    # Without preload axe reads no style sheet by itself, which a browser refuses from disk.
    options = {"preload": False, "resultTypes": ["violations"], **scope}
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{rule['id']} ({rule['impact']}): {node['html'][:200]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("origin", ["disk", "server"])
@of_each_page
def test_page_loads_in_silence(visit, address, entry, origin):
    """Cases 16, 17: no console error or warning, no failed request, no other host asked."""
    seen = visit(entry, origin)
    assert seen.console == []
    assert seen.failed == []
    assert seen.hosts == {_host(address(origin, ""))}


@pytest.mark.parametrize("origin", ["disk", "server"])
@of_each_page
def test_formulas_are_typeset(visit, entry, origin):
    """Case 16: every formula becomes MathJax's output, without a network, and none is at fault."""
    seen = visit(entry, origin)
    assert seen.typeset == seen.formulas
    assert seen.faulty_formulas == 0
    assert not re.search(r"\\[(\[]|\$\$", seen.text)


def test_methods_page_has_formulas(visit):
    """The check above is not empty: the page on methods is full of formulas."""
    assert visit("book/methods").formulas > 20


@of_each_page
def test_pictures_show_and_are_described(visit, entry):
    """No picture is missing, and each says in words what it shows."""
    pictures = visit(entry).pictures
    assert [p["source"] for p in pictures if p["width"] == 0] == []
    assert [p["source"][-60:] for p in pictures if len(p["alt"].split()) < 3] == []


@of_each_chapter
def test_figures_have_two_layouts_of_which_a_phone_shows_the_narrow_one(visit, entry):
    """Panels stand side by side on a screen; on a phone they are stacked, at their own size."""
    for width, theme, layout in (("desktop", "light", "wide"), ("phone", "dark", "narrow")):
        drawn = visit(entry, width=width, theme=theme).drawn
        assert drawn
        assert {one["layout"] for one in drawn if one["shown"]} == {layout}
        assert min(one["words"] for one in drawn) >= 3
        if width == "phone":
            assert min(one["scale"] for one in drawn if one["shown"]) > 0.95


@of_each_page
@pytest.mark.parametrize(("width", "theme"), SETTINGS)
def test_page_is_accessible(visit, entry, width, theme):
    """Axe finds nothing serious or critical, by day, by night or on a phone."""
    assert visit(entry, width=width, theme=theme).findings == []


@of_each_page
def test_page_fits_a_phone_in_the_dark(visit, entry):
    """At 360 pixels and at night nothing scrolls sideways; pictures and formulas show."""
    seen = visit(entry, width="phone", theme="dark")
    assert seen.overflow <= 0
    assert seen.console == []
    assert [p["source"] for p in seen.pictures if p["width"] == 0] == []
    assert seen.typeset == seen.formulas


@of_each_page
def test_code_fits_its_column(visit, entry):
    """At 1280 pixels no code scrolls sideways."""
    assert visit(entry).scrolling == []


@of_each_chapter
def test_chapter_opens_with_its_answer(visit, entry):
    """A figure within 1,500 pixels, at most 12,000 in all, and at least as much figure as table."""
    found = visit(entry).layout
    assert found["first"] <= 1500
    assert found["height"] <= 12_000
    assert found["figures"] >= found["tables"]
    order = [name for name in found["headings"] if name in TEMPLATE]
    assert order == [name for name in TEMPLATE if name != "Verdicts" or found["chips"]]


@of_each_chapter
def test_chapter_shows_one_short_cell(visit, entry):
    """One cell of code stands open, of at most twelve lines; and each open table has a caption."""
    found = visit(entry).layout
    assert len(found["code"]) == 1
    assert found["code"][0] <= 12
    assert found["bare"] == []


def test_link_into_a_fold_opens_it(browser, address):
    """Whoever comes from the ledger to a folded figure or section sees it."""
    context = browser.new_context(viewport=WIDTHS["desktop"], offline=True)
    page = context.new_page()
    for anchor in ("fig-breast-ties", "breast-data"):
        page.goto(address("disk", f"book/chapters/03_breast_cancer.html#{anchor}"))
        shown = f"#{anchor} .wide, section:has(> #{anchor}) table"
        page.locator(shown).first.wait_for(state="visible")
    context.close()


def test_words_of_the_glossary_explain_themselves(browser, address):
    """A word of the glossary says what it means when a reader points at it."""
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(address("disk", "book/chapters/03_breast_cancer.html"))
    word = page.locator("a:has(.std-term)", has_text="traditional method").first
    assert "best score on the validation patients" in word.get_attribute("title")
    context.close()


@of_each_page
def test_page_prints_sensibly(visit, entry):
    """On A4 the frame is gone, folds are open, nothing is cut off, and the PDF has pages."""
    paper = visit(entry, width="phone", theme="dark").paper
    before, after, on_paper = paper["folded"]
    assert (after, on_paper) == (before, 0)
    assert paper["clipped"] == []
    assert paper["overflow"] <= 0
    assert paper["heading"]
    assert paper["pages"] >= max(1, paper["height"] // 1100)


@pytest.mark.parametrize("origin", ["disk", "server"])
def test_search_finds(browser, address, origin):
    """Search works from disk and from a sub-path: 'capacity' has hits, which lead to pages."""
    context = browser.new_context(offline=origin == "disk")
    page = context.new_page()
    seen = _watch(page)
    page.goto(address(origin, "search.html?q=capacity"))
    hits = page.locator("#search-results ul.search li a")
    hits.first.wait_for(timeout=20_000)
    page.wait_for_load_state("networkidle")
    assert (seen.console, seen.failed) == ([], [])
    hits.first.click()
    assert "capacity" in page.inner_text("article").lower()
    context.close()


@pytest.mark.parametrize("origin", ["disk", "server"])
def test_search_field_works(browser, address, origin):
    """A query typed into the field of any page, by keyboard alone, brings pages that hold it."""
    context = browser.new_context(offline=origin == "disk")
    page = context.new_page()
    seen = _watch(page)
    page.goto(address(origin, "book/methods.html"))
    page.keyboard.press("Control+k")
    page.keyboard.type("prevalence")
    page.keyboard.press("Enter")
    for name in ("methods", "01_ie_derivation"):
        page.locator(f"#search-results ul.search li a[href*='{name}.html']").first.wait_for()
    assert (seen.console, seen.failed) == ([], [])
    context.close()


@pytest.mark.parametrize("origin", ["disk", "server"])
def test_start_page_leads_to_the_book(browser, address, origin):
    """index.html shows the book's first page."""
    context = browser.new_context(offline=origin == "disk")
    page = context.new_page()
    page.goto(address(origin, "index.html"))
    page.wait_for_selector("article h1")
    assert "Rashomon effect" in page.inner_text("article h1")
    context.close()
