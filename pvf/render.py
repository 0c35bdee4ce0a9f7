"""A model card as Markdown and as HTML: two renderers of the same sections.

All text is plain and is escaped where it is written out, so that a name given by a user is shown as
it is and never becomes markup.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pvf._text import one_line

__all__ = [
    "FRAGMENT_STYLE",
    "Section",
    "Table",
    "as_fragment",
    "as_markdown",
    "as_page",
    "content_policy",
    "in_html",
    "in_markdown",
]


@dataclass(frozen=True)
class Table:
    """A table of text, whose first column names the rows.

    Parameters
    ----------
    caption : str
    columns : tuple of str
    rows : tuple of tuple of str
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """One part of a card, shown in the order of its fields.

    Parameters
    ----------
    name : str
        Identifier: lower-case letters and hyphens.
    heading : str
    paragraphs : tuple of str
    facts : tuple of (str, str)
        Labels and values.
    tables : tuple of Table
    points : tuple of str
        Items of a list.
    """

    name: str
    heading: str
    paragraphs: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    tables: tuple[Table, ...] = ()
    points: tuple[str, ...] = field(default=())


# --- Markdown -----------------------------------------------------------------------------------

#: What can begin markup anywhere in CommonMark, GitHub's Markdown or MyST.
_MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~&$^]|:(?=[:/])")
#: What can begin a list, a rule or an underlined heading at the start of a line.
_AT_START = re.compile(r"^(\d+(?=[.)](?:\s|$))|(?=[-+](?:[\s-]|$))|(?==))")


def in_markdown(text: str) -> str:
    r"""Return text on one line that Markdown shows as it is.

    Examples
    --------
    >>> print(in_markdown("<b>a_b</b> | [x](y)"))
    \<b\>a\_b\</b\> \| \[x\](y)
    """
    text = _MARKUP.sub(lambda match: "\\" + match.group(), one_line(text))
    text = text.replace("www.", "www\\.")
    return _AT_START.sub(lambda match: f"{match.group()}\\", text)


def as_markdown(title: str, sections: Sequence[Section]) -> str:
    """Return the card as a Markdown document.

    Parameters
    ----------
    title : str
    sections : sequence of Section

    Returns
    -------
    str
    """
    parts = [f"# {in_markdown(title)}"]
    for section in sections:
        parts.append(f"## {in_markdown(section.heading)}")
        parts += [in_markdown(paragraph) for paragraph in section.paragraphs]
        if section.facts:
            parts.append(_markdown_table(("item", "value"), section.facts))
        for table in section.tables:
            parts.append(f"{in_markdown(table.caption)}:")
            parts.append(_markdown_table(table.columns, table.rows))
        if section.points:
            parts.append("\n".join(f"- {in_markdown(point)}" for point in section.points))
    return "\n\n".join(parts) + "\n"


def _markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [_markdown_row(columns), "|" + " --- |" * len(columns)]
    return "\n".join([*lines, *map(_markdown_row, rows)])


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(in_markdown(cell) for cell in cells) + " |"


# --- HTML ---------------------------------------------------------------------------------------

_LAYOUT = """
.pvf-card { line-height: 1.5; overflow-wrap: break-word; }
.pvf-card dl { display: grid; grid-template-columns: minmax(9rem, 2fr) 5fr; gap: .3rem 1rem; }
.pvf-card dt { font-weight: 600; }
.pvf-card dd { margin: 0; min-width: 0; }
.pvf-card .scroll { overflow-x: auto; margin: 1rem 0; }
.pvf-card table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.pvf-card caption { text-align: left; padding-bottom: .4rem; caption-side: top; color: inherit; }
.pvf-card th, .pvf-card td {
  border-bottom: 1px solid; padding: .3rem .7rem .3rem 0; text-align: left; vertical-align: top;
}
@media (max-width: 30rem) {
  .pvf-card dl { grid-template-columns: 1fr; gap: 0; }
  .pvf-card dd { margin-bottom: .6rem; }
}
"""

#: What stands between the ``<style>`` tags of a fragment.
FRAGMENT_STYLE = _LAYOUT

_PAGE = """
:root { color-scheme: light dark; --text: #1a1a1a; --page: #ffffff; --focus: #002fbd; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e8e8e8; --page: #16181d; --focus: #9db8ff; }
}
body {
  margin: 0 auto; padding: 1rem; max-width: 50rem;
  font-family: system-ui, sans-serif; color: var(--text); background: var(--page);
}
h1 { line-height: 1.2; }
h2 { margin-top: 2rem; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
@media print { body { max-width: none; } .pvf-card .scroll { overflow: visible; } }
"""


def in_html(text: str) -> str:
    """Return text that HTML shows as it is, in elements and in quoted attributes.

    Examples
    --------
    >>> in_html('<script>"&"')
    '&lt;script&gt;&quot;&amp;&quot;'
    """
    return html.escape(one_line(text))


def content_policy(*styles: str) -> str:
    """Return the tag by which a page allows these styles, pictures inside it, and nothing else.

    A script or an address that got into the page all the same would not be run or asked.

    Parameters
    ----------
    *styles : str
        What stands between the page's ``<style>`` tags.

    Examples
    --------
    >>> content_policy("b {}").split("; ")[1]
    "style-src 'sha256-zy87ZYlZV4kMyp51wB+3ABJeEclAGRFupKDmlDS9DAw='"
    """
    digests = [base64.b64encode(hashlib.sha256(style.encode()).digest()) for style in styles]
    allowed = " ".join(f"'sha256-{digest.decode()}'" for digest in digests)
    rules = (
        f"default-src 'none'; style-src {allowed}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{rules}">'


def as_page(title: str, sections: Sequence[Section]) -> str:
    """Return the card as a whole HTML page that needs no other file and no network.

    Parameters
    ----------
    title : str
    sections : sequence of Section

    Returns
    -------
    str
    """
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        content_policy(_LAYOUT + _PAGE),
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{in_html(title)}</title>",
        f"<style>{_LAYOUT}{_PAGE}</style>",
        "</head>",
        "<body>",
        '<main class="pvf-card">',
        *_body(title, sections, level=1),
        "</main>",
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def as_fragment(title: str, sections: Sequence[Section]) -> str:
    """Return the card as a part of a page, such as a notebook, in that page's colours and fonts.

    Parameters
    ----------
    title : str
    sections : sequence of Section

    Returns
    -------
    str
    """
    body = _body(title, sections, level=3)
    return "\n".join(
        [f"<style>{FRAGMENT_STYLE}</style>", '<div class="pvf-card">', *body, "</div>"]
    )


def _body(title: str, sections: Sequence[Section], *, level: int) -> list[str]:
    lines = [f"<h{level}>{in_html(title)}</h{level}>"]
    for section in sections:
        lines += [
            f'<section data-part="{in_html(section.name)}">',
            f"<h{level + 1}>{in_html(section.heading)}</h{level + 1}>",
            *(f"<p>{in_html(paragraph)}</p>" for paragraph in section.paragraphs),
        ]
        if section.facts:
            pairs = (f"<dt>{in_html(a)}</dt><dd>{in_html(b)}</dd>" for a, b in section.facts)
            lines += ["<dl>", *pairs, "</dl>"]
        for table in section.tables:
            lines += _html_table(table)
        if section.points:
            items = (f"<li>{in_html(point)}</li>" for point in section.points)
            lines += ["<ul>", *items, "</ul>"]
        lines.append("</section>")
    return lines


def _html_table(table: Table) -> list[str]:
    """Return a table in a box that scrolls sideways, by keyboard too, on a narrow screen."""
    head = "".join(f'<th scope="col">{in_html(column)}</th>' for column in table.columns)
    rows = [
        f'<tr><th scope="row">{in_html(row[0])}</th>'
        + "".join(f"<td>{in_html(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in table.rows
    ]
    return [
        f'<div class="scroll" role="region" tabindex="0" aria-label="{in_html(table.caption)}">',
        "<table>",
        f"<caption>{in_html(table.caption)}</caption>",
        f"<thead><tr>{head}</tr></thead>",
        "<tbody>",
        *rows,
        "</tbody>",
        "</table>",
        "</div>",
    ]
