"""The whole book as one PDF: complete, linked, small, and no reason for a build to fail."""

import re

import pytest
from conftest import REPOSITORY

from book.tools import pdf
from book.tools.build import toc_entries
from book.tools.pdf import NAME, one_page, print_book

ENTRIES = toc_entries(REPOSITORY)
PAGE = """<html><head><title>x</title></head><body><article class="bd-article"><section id="top">
<h1>{title}<a class="headerlink" href="#top">#</a></h1><p class="whole-book" hidden></p>
<a href="{other}#top">there</a> <a href="gone.csv">data</a> <a href="https://example.org">web</a>
<details><summary>s</summary></details><script>alert(1)</script><img src="../p.png"></section>
</article></body></html>"""


@pytest.fixture
def pages(tmp_path):
    """Write two small pages in two folders."""
    for name, other in (("book/a", "chapters/b.html"), ("book/chapters/b", "../a.html")):
        path = tmp_path / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PAGE.format(title=name, other=other), encoding="utf-8")
    return tmp_path


def test_links_between_pages_lead_to_places_in_the_one_page(pages):
    """Each page's ids are its own; links lead to them, to the web, or nowhere; folds are open."""
    text = one_page(pages, ["book/a", "book/chapters/b"])
    places = set(re.findall(r'id="([^"]+)"', text))
    links = re.findall(r'href="([^"]+)"', text)
    assert {"book-a--top", "book-chapters-b--top"} <= places
    assert {link[1:] for link in links if link[0] == "#"} <= places
    assert {link for link in links if link[0] != "#"} == {"https://example.org"}
    assert text.count("<details open") == 2
    assert "alert" not in text
    assert re.findall(r'src="([^"]+)"', text) == ["../p.png", "../book/p.png"]


@pytest.mark.parametrize("browser", [None, "/bin/false"], ids=["none", "fails"])
def test_without_a_browser_the_book_is_whole_and_has_no_link(pages, monkeypatch, browser):
    """No browser, or one that fails, is told in a line; no file, and the link stays hidden."""
    monkeypatch.setattr(pdf, "find_browser", lambda: browser)
    before = (pages / "book" / "a.html").read_text()
    assert print_book(pages, ["book/a", "book/chapters/b"]).startswith("no PDF of the book: ")
    assert [path.name for path in pages.rglob("*") if path.is_file()] == ["a.html", "b.html"]
    assert (pages / "book" / "a.html").read_text() == before


@pytest.mark.browser
def test_whole_book_is_one_small_file_with_all_pages_and_links(executable, built_book):
    """At most 10 MB; each page has its place, to which others link; the start page links to it."""
    content = (built_book.html / NAME).read_bytes()
    assert content.startswith(b"%PDF")
    assert len(content) <= 10_000_000
    assert len(re.findall(rb"/Type\s*/Page\b", content)) > 5 * len(ENTRIES)
    for entry in ENTRIES:
        assert f"{entry.replace('/', '-')}--".encode() in content, entry
    assert content.count(b"/Subtype /Link") > 500
    assert b"file://" not in content
    start = (built_book.html / f"{ENTRIES[0]}.html").read_text(encoding="utf-8")
    assert '<p class="whole-book"><a href="whole_book.pdf">' in start


@pytest.mark.browser
def test_same_text_is_printed_once(executable, pages, monkeypatch):
    """A second build of the same text takes the file that is there; another text does not."""
    html, entries = pages.rename(pages.parent / "html"), ["book/a", "book/chapters/b"]
    start = html / "book" / "a.html"
    unlinked = start.read_text()
    assert print_book(html, entries).startswith("the whole book as a PDF")
    assert start.read_text() == unlinked.replace(" hidden>", ">")
    start.write_text(unlinked)
    (html / NAME).unlink()
    monkeypatch.setattr(pdf, "find_browser", lambda: "/bin/false")
    assert print_book(html, entries).startswith("the whole book as a PDF")
    assert (html / NAME).read_bytes().startswith(b"%PDF")
    start.write_text(unlinked.replace("web", "another"))
    assert print_book(html, entries).startswith("no PDF of the book")
