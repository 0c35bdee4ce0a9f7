"""One template for the chapters: the answer stands open, all that supports it is folded.

A page that has a section "In code" is such a chapter. Its sections of the names in `OPEN` stay
open, and so does the one code cell that is tagged ``essential``. Verdicts are links to the ledger.
Every other section is folded under its title, and the code of all other cells is gathered in one
fold at the foot. A cell's metadata ``table`` is the caption of the table that it shows.
"""

import re
from html import escape

from claims_page import verdict_chips
from docutils import nodes
from sphinx.application import Sphinx

OPEN = ("Why", "So what", "In code", "Verdicts", "Exercise")
GLOSSARY = "book/notation"
CODE = "All code of this chapter, in its order"
VERDICTS = "Each claim with the paper’s numbers and ours, and how it is judged"
FOLDED = '<details class="fold"><summary>{}</summary><div class="fold-body">'
UNFOLDED = "</div></details>"


def explain_terms(app: Sphinx, doctree: nodes.document, _: str) -> None:
    """Show what a word of the glossary means when a reader points at it."""
    words = [node for node in doctree.findall(nodes.reference) if _is_term(node)]
    if not words:
        return
    glossary = app.env.get_doctree(GLOSSARY)
    meanings = {
        place: item.next_node(nodes.definition).astext()
        for item in glossary.findall(nodes.definition_list_item)
        for place in item.next_node(nodes.term)["ids"]
    }
    for word in words:
        place = word.get("refid") or word["refuri"].rsplit("#", maxsplit=1)[-1]
        word["reftitle"] = " ".join(meanings[place].split())


def _is_term(node: nodes.reference) -> bool:
    return any("std-term" in child.get("classes", ()) for child in node.findall(nodes.inline))


def lay_out(_: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Fold a chapter's details, gather its code, and number its tables."""
    if not docname.startswith("book/chapters/"):
        return
    stem = docname.rsplit("/", maxsplit=1)[-1]
    numbered = stem[:2].isdecimal() and int(stem[:2]) < 90  # tools have no number
    _caption(doctree, f"{int(stem[:2])}." if numbered else "")
    sections = [node for node in doctree.findall(nodes.section) if node.parent.parent is doctree]
    names = {section: section.next_node(nodes.title).astext() for section in sections}
    if "In code" not in names.values():
        return
    code = _taken_code(doctree)
    for section, name in names.items():
        if name not in OPEN:
            _fold(section)
        elif name == "Verdicts":
            _fold(section, VERDICTS)
            section.insert(1, _raw(verdict_chips(stem)))
    sections[-1].parent += [_raw(FOLDED.format(CODE)), *code, _raw(UNFOLDED)]


def _raw(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def _fold(section: nodes.section, summary: str = "") -> None:
    """Put a section below its title into a fold, which bears the title or another summary."""
    place = section.index(section.next_node(nodes.title))
    before, after = FOLDED.split("{}")
    section.insert(place + 1, _raw(before + summary + after if summary else after))
    if not summary:
        section.insert(place, _raw(before))
    section += _raw(UNFOLDED)


def _taken_code(doctree: nodes.document) -> list[nodes.Node]:
    """Take the code of all cells but the essential one out of the page."""
    taken: list[nodes.Node] = []
    for cell in [*doctree.findall(nodes.container)]:
        if cell.get("nb_element") != "cell_code" or "tag_essential" in cell["classes"]:
            continue
        for part in [*cell.findall(nodes.container)]:
            if part.get("nb_element") == "cell_code_source":
                part.parent.remove(part)
                taken.append(nodes.container("", part, classes=["cell"]))
        if not cell.astext().strip() and not any(cell.findall(nodes.image)):
            cell.parent.remove(cell)
    return taken


def _caption(doctree: nodes.document, chapter: str) -> None:
    """Put each table's number and caption above it, and true minus signs into its cells."""
    number = 0
    for cell in doctree.findall(nodes.container):
        for output in [*cell.findall(nodes.raw)] if cell.get("nb_element") == "cell_code" else ():
            text = output.astext()
            if "<table" not in text:
                continue
            caption = cell["cell_metadata"].get("table")
            if caption:
                number += 1
                label = f'<span class="caption-number">Table {chapter}{number}.</span>'
                words = f'<span class="caption-text">{label} {escape(caption)}</span>'
                head = f"<caption>{words}</caption>"
                start = text.index(">", text.index("<table")) + 1
                text = text[:start] + head + text[start:]
            text = re.sub(r">[^<]*</td>", _with_true_minus, text)
            output.replace_self(nodes.raw("", text, format="html", classes=output["classes"]))


def _with_true_minus(cell: re.Match[str]) -> str:
    return re.sub(r"(?<=[>( ])-(?=[\d.])", "−", cell[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-resolved", lay_out)
    app.connect("doctree-resolved", explain_terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
