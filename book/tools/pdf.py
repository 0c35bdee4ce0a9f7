"""The whole book as one PDF, printed by a Chromium or Chrome where there is one."""

import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from posixpath import join, normpath

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PARTS = ("gpu", "quic", "background-networking", "component-update", "sync")
FLAGS = ["--no-sandbox", "--no-first-run", *(f"--disable-{part}" for part in PARTS)]
# Tags for screen readers would make the file twice as large; the pages themselves have them.
PRINTING = ("--headless", *FLAGS, "--no-pdf-header-footer", "--disable-pdf-tagging")
NAME = "book/whole_book.pdf"
LINK = 'class="whole-book"'  # hidden on the first page until the file is there
SECONDS = 300
PAPER = """<style>
@page { size: A4; margin: 1.5cm; @bottom-center { content: counter(page); font-size: 9pt } }
article { break-before: page }
article + article h1 { display: block !important }
</style></head>"""


def find_browser() -> str | None:
    """Return the path of a browser that prints, if there is one."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def print_book(html: Path, entries: list[str]) -> str:
    """Print all pages into one file, link it from the first one, and say in a line what was done.

    Parameters
    ----------
    html : Path
        Folder of the built book; beside it, the file is kept for a book with the same text.
    entries : list of str
        Its pages in order, without suffixes.
    """
    browser = find_browser()
    if browser is None:
        return "no PDF of the book: neither Chromium nor Chrome was found"
    text = one_page(html, entries)
    pictures = [path.read_bytes() for path in sorted((html / "_images").glob("*"))]
    digest = hashlib.sha256(b"".join([text.encode(), *pictures])).hexdigest()
    kept = html.parent / f"whole-{digest[:16]}.pdf"
    if not kept.is_file():
        for old in html.parent.glob("whole-*.pdf"):
            old.unlink()
        try:
            _print(browser, text, html / "book" / "whole.html", kept)
        except (OSError, subprocess.SubprocessError) as error:
            return f"no PDF of the book: {browser} failed ({type(error).__name__})"
    shutil.copy(kept, html / NAME)
    first = html / f"{entries[0]}.html"
    linked = first.read_text(encoding="utf-8").replace(f"{LINK} hidden", LINK)
    first.write_text(linked, encoding="utf-8")
    return f"the whole book as a PDF: {html / NAME}"


def _print(browser: str, text: str, page: Path, to: Path) -> None:
    page.write_text(text, encoding="utf-8")
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            printed = Path(folder) / "printed.pdf"
            options = [f"--user-data-dir={folder}/profile", f"--print-to-pdf={printed}"]
            options += [f"--virtual-time-budget={SECONDS * 1000}", page.as_uri()]
            command = [browser, *PRINTING, *options]
            subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
            shutil.copy(printed, to)
    finally:
        page.unlink()


def one_page(html: Path, entries: list[str]) -> str:
    """Return the first page with the articles of all pages in it, after a list of them.

    Parameters
    ----------
    html : Path
        Folder of the built book.
    entries : list of str
        Its pages in order, without suffixes.
    """
    pages = {entry: (html / f"{entry}.html").read_text(encoding="utf-8") for entry in entries}
    before, _, rest = pages[entries[0]].partition("<article")
    articles = [_article(entry, text, entries) for entry, text in pages.items()]
    titles = [re.search(r"<h1>(.*?)<a", article, re.S) for article in articles]
    items = "".join(
        f'<li><a href="#{_place(entry)}">{title[1] if title else entry}</a></li>'
        for entry, title in zip(entries, titles, strict=True)
    )
    contents = f'<div id="jb-print-toc"><h2>Contents</h2><ol>{items}</ol></div>'
    before = re.sub(r'<div id="jb-print-toc">.*?</nav>\s*</div>', contents, before, flags=re.S)
    page = "".join([before, *articles, rest.partition("</article>")[2]])
    # Only formulas need a script on paper.
    page = re.sub(r"<script(?![^>]*mathjax)[^>]*src=.*?</script>", "", page, flags=re.I | re.S)
    return page.replace("</head>", PAPER, 1)


def _place(page: str, anchor: str = "") -> str:
    return f"{page.replace('/', '-')}--{anchor}"


def _article(entry: str, text: str, entries: list[str]) -> str:
    """Cut the article out of a page; ids get the page's name, links lead to places in the PDF."""
    article = text[text.index("<article") : text.index("</article>")] + "</article>"
    article = re.sub(r"<(script|noscript)\b.*?</\1>", "", article, flags=re.S)
    article = article.replace("<details", "<details open")
    folder = entry.rpartition("/")[0]

    def link(match: re.Match[str]) -> str:
        path, _, anchor = match[1].partition("#")
        page = normpath(join(folder, path)).removesuffix(".html") if path else entry
        if ":" in path:
            return match[0]
        return f'href="#{_place(page, anchor)}"' if page in entries else ""

    article = re.sub(r'\bhref="([^"]*)"', link, article)
    article = re.sub(
        r'\bsrc="([^":]*)"', lambda m: f'src="../{normpath(join(folder, m[1]))}"', article
    )
    article = re.sub(r'\bid="([^"]*)"', lambda m: f'id="{_place(entry, m[1])}"', article)
    article = re.sub(r"url\(#([^)]*)\)", lambda m: f"url(#{_place(entry, m[1])})", article)
    return article.replace("<article", f'<article id="{_place(entry)}"', 1)
