"""The one writer of pages: a template and plain facts in, HTML or Markdown out.

A template in ``pvf/templates`` is written once, with the pieces of ``html.j2`` or ``markdown.j2``.
All text is plain and is escaped where it is written out, so that a name given by a user is shown as
it is and never becomes markup.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import numbers
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from pvf._outputs import write_whole
from pvf._text import one_line

# --- numbers as text ----------------------------------------------------------------------------


def number(value: float) -> str:
    """Return a score with three decimals; one significant digit where these would be zeros."""
    return f"{value + 0.0:.3f}" if abs(value) >= 5e-4 or value == 0 else f"{value:.1g}"


def share(count: float, total: float) -> str:
    """Return a count of a total, with its percentage."""
    return f"{count:g} of {total:g} ({100 * count / total:.1f}%)"


def span(low: float, high: float) -> str:
    """Return two scores as a range."""
    return f"{number(low)} to {number(high)}"


def counted(n: int, noun: str) -> str:
    """Return a number of things, the noun in the plural unless there is one."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


# --- escaping -----------------------------------------------------------------------------------

#: What can begin markup anywhere in CommonMark, GitHub's Markdown or MyST.
_MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~&$^]|:(?=[:/])")
#: What can begin a list, a rule or an underlined heading at the start of a line.
_AT_START = re.compile(r"^(\d+(?=[.)](?:\s|$))|(?=[-+](?:[\s-]|$))|(?==))")


def in_markdown(text: object) -> str:
    r"""Return text on one line that Markdown shows as it is.

    Examples
    --------
    >>> print(in_markdown("<b>a_b</b> | [x](y)"))
    \<b\>a\_b\</b\> \| \[x\](y)
    """
    escaped = _MARKUP.sub(lambda match: "\\" + match.group(), one_line(str(text)))
    escaped = escaped.replace("www.", "www\\.")
    return _AT_START.sub(lambda match: f"{match.group()}\\", escaped)


def _plain(value: Any) -> Any:
    """Return facts as templates take them: no text is trusted, whatever class it has."""
    if value is None or isinstance(value, numbers.Number):
        return value
    if isinstance(value, pd.DataFrame):
        columns = [value.index.name or "", *value.columns]
        return {"columns": _plain(columns), "rows": _plain(list(value.itertuples()))}
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return one_line(str(value))


# --- pages --------------------------------------------------------------------------------------


@functools.cache
def environment(kind: str) -> Environment:
    """Return Jinja's environment for HTML, which escapes by itself, or for Markdown.

    Parameters
    ----------
    kind : {"html", "markdown"}

    Returns
    -------
    jinja2.Environment
    """
    made = Environment(
        loader=PackageLoader("pvf"),
        autoescape=kind == "html",
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"text": in_markdown, "number": number}
    made.globals |= {"pieces": f"{kind}.j2", "counted": counted, "share": share, "span": span}
    return made


def as_markdown(template: str, facts: Mapping[str, Any]) -> str:
    """Return a template's page as a Markdown document.

    Parameters
    ----------
    template : str
        Name of a file in ``pvf/templates``.
    facts : mapping of str to object
        Texts, numbers, frames, and lists and mappings of these.

    Returns
    -------
    str
    """
    return _body("markdown", template, facts, level=1) + "\n"


def as_page(template: str, facts: Mapping[str, Any]) -> str:
    """Return a template's page as whole HTML that needs no other file and no network.

    Its policy allows the page's style, pictures inside the page, and nothing else: a script or an
    address that got into it all the same would not be run or asked.

    Parameters
    ----------
    template, facts
        As in `as_markdown`; ``title`` of the facts is the page's.

    Returns
    -------
    str
    """
    style = _style("pieces.css") + _style("page.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    body = _body("html", template, facts, level=1)
    return (
        environment("html")
        .get_template("page.html.j2")
        .render(title=_plain(facts["title"]), style=style, digest=digest, body=body)
    )


def as_fragment(template: str, facts: Mapping[str, Any]) -> str:
    """Return a template's page as a part of another, such as a notebook, in that page's colours.

    Parameters
    ----------
    template, facts
        As in `as_markdown`.

    Returns
    -------
    str
    """
    body = _body("html", template, facts, level=3)
    made = environment("html").get_template("fragment.html.j2")
    return made.render(style=_style("pieces.css"), body=body)


def save(path: str | os.PathLike[str], writers: Mapping[str, Callable[[], str]]) -> Path:
    """Write what the ending of a file's name says; in one step, or not at all.

    Parameters
    ----------
    path : path-like
        Its folder must exist.
    writers : mapping of str to callable
        By ending, such as ``.html``, what returns the text.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ValueError
        The name ends otherwise.
    OSError
        The file cannot be written; one of that name stays as it was.
    """
    path = Path(path)
    *others, last = writers
    if path.suffix.lower() not in writers:
        raise ValueError(f"path must end in {', '.join(others)} or {last}, got {path.name!r}.")
    text = writers[path.suffix.lower()]()
    # A file's name may hold bytes that are no text; as an escape, JSON can hold them too.
    write_whole(path, text.encode(errors="backslashreplace"))
    return path


def _body(kind: str, template: str, facts: Mapping[str, Any], *, level: int) -> str:
    """Return the filled template, with one blank line at most between any two others."""
    text = environment(kind).get_template(template).render(_plain(facts), level=level)
    return re.sub(r"\n\s*\n", "\n\n" if kind == "markdown" else "\n", text).strip()


def _style(name: str) -> str:
    return environment("html").get_template(name).render()
