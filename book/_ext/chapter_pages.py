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
from sphinx.writers.html5 import HTML5Translator

OPEN = ("Why", "So what", "In code", "Verdicts", "Exercise")
PROSE = (nodes.paragraph, nodes.emphasis, nodes.strong)  # code keeps its hyphens
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
    """Fold a chapter's details, gather its code, and number its tables; write true minus signs."""
    for text in [*doctree.findall(nodes.Text)]:
        if isinstance(text.parent, PROSE) or "pasted-text" in text.parent.get("classes", ()):
            text.parent.replace(text, nodes.Text(true_minus(text)))
    if not docname.startswith("book/chapters/"):
        return
    stem = docname.rsplit("/", maxsplit=1)[-1]
    numbered = stem[:2].isdecimal() and int(stem[:2]) < 90  # tools have no number
    _finish(doctree, f"{int(stem[:2])}." if numbered else "")
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


def _finish(doctree: nodes.document, chapter: str) -> None:
    """Describe drawings, and put number and caption above each table."""
    number = 0
    for cell in doctree.findall(nodes.container):
        for output in [*cell.findall(nodes.raw)] if cell.get("nb_element") == "cell_code" else ():
            text, given = output.astext(), cell["cell_metadata"]
            if 'class="drawn"' in text:
                alt = given.get("mystnb", {}).get("image", {}).get("alt", "")
                text = text.replace('role="img"', f'role="img" aria-label="{escape(alt)}"')
            elif "<table" in text:
                if "table" in given:
                    number += 1
                    text = _captioned(text, f"Table {chapter}{number}.", given["table"])
                text = re.sub(r">[^<]*</td>", lambda words: true_minus(words[0]), text)
            output.replace_self(nodes.raw("", text, format="html", classes=output["classes"]))


def _captioned(text: str, label: str, caption: str) -> str:
    words = f'<span class="caption-number">{label}</span> {escape(caption)}'
    start = text.index(">", text.index("<table")) + 1
    return (
        f'{text[:start]}<caption><span class="caption-text">{words}</span></caption>{text[start:]}'
    )


def true_minus(text: str) -> str:
    """Write a minus sign before numbers, where a program writes a hyphen."""
    return re.sub(r"(?<![\w.])-(?=[\d.])", "−", text)


def visit_citation(self: HTML5Translator, node: nodes.citation) -> None:
    """Open an entry of the bibliography as an item of its list; docutils gives it no such role."""
    if not isinstance(node.previous_sibling(), nodes.citation):
        self.body.append('<div role="list" class="citation-list">\n')
    self.body.append(self.starttag(node, "div", classes=["citation"], role="listitem"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    citation = (visit_citation, HTML5Translator.depart_citation)
    app.add_node(nodes.citation, override=True, html=citation)
    app.connect("doctree-resolved", lay_out)
    app.connect("doctree-resolved", explain_terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
