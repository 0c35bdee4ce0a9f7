"""What the tool says of a table, and words that it knows: they stand in ``pvf/templates``."""

from __future__ import annotations

import difflib
import functools
import re
import tomllib
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

from pvf._text import on_console, shortened
from pvf.render import environment


def texts(name: str) -> dict[str, Any]:
    """Return a file of ``pvf/templates``."""
    return tomllib.loads((files("pvf") / "templates" / name).read_text(encoding="utf-8"))


def _patterns(parts: dict[str, str], **patterns: str) -> dict[str, re.Pattern[str]]:
    word = re.compile("|".join(parts))
    whole = {name: word.sub(lambda it: parts[it[0]], text) for name, text in patterns.items()}
    return {name: re.compile(text, re.VERBOSE | re.IGNORECASE) for name, text in whole.items()}


#: Words of tables, by what they are, and patterns of cells and names.
WORDS, PATTERNS = texts("words.toml"), _patterns(**texts("patterns.toml"))


class TableError(ValueError):
    """A foreseeable fault of somebody's data or settings, told in one line."""


def fault(macro: str, /, **facts: Any) -> TableError:
    """Return the error that a sentence tells."""
    return TableError(sentence(macro, **facts))


def sentence(macro: str, /, **facts: Any) -> str:
    """Return a sentence with its facts; a line break of the template is a space."""
    return " ".join(paragraphs(macro, **facts))


def paragraphs(macro: str, /, **facts: Any) -> list[str]:
    """Return sentences that stand apart in the template, by a blank line between two of them."""
    made = re.split(r"\n\s*\n", str(getattr(_sentences(), macro)(**facts)))
    return [re.sub(r"\n *", " ", text.strip("\n")).strip() for text in made if text.strip()]


def lines(macro: str, /, **facts: Any) -> list[str]:
    """Return the lines of a template as they stand, each text in it being on one line."""
    return str(getattr(_sentences(), macro)(**facts)).strip("\n").split("\n")


def refuse_all(faults: Sequence[str]) -> None:
    """Raise one error that lists all faults, a line each; none where there are none."""
    if len(faults) > 1:
        listed = "\n".join(f"({place}) {fault}" for place, fault in enumerate(faults, start=1))
        raise TableError(f"{len(faults)} faults:\n{listed}")
    if faults:
        raise TableError(faults[0])


def quoted(text: str) -> str:
    r"""Return a value as it is typed on a command line.

    Examples
    --------
    >>> print(quoted("age"), quoted("date of death"), quoted("cost in $"))
    age "date of death" "cost in \$"
    """
    if not re.search(r"[^\w=.,:+-]", text):
        return text
    return '"' + re.sub(r'([$"`\\])', r"\\\1", text) + '"'


@functools.cache
def _sentences() -> Any:
    words = {"repr": repr, "quoted": quoted, "shown": lambda text: on_console(str(text))}
    return environment("markdown").get_template("sentences.j2").make_module(words)


def closest(name: str, known: Iterable[str]) -> str:
    """Say which known name was probably meant, and which there are.

    Examples
    --------
    >>> closest("dead", ["age", "death"])
    "did you mean 'death'? There are: age, death"
    """
    known = [shortened(str(other), 80) for other in known]
    lowered = {other.lower(): other for other in known}
    near = difflib.get_close_matches(name[:80].lower(), lowered, n=1)
    meant = f"did you mean {lowered[near[0]]!r}? " if near else ""
    shown = ", ".join(known[:30]) + (f" and {len(known) - 30} more" if len(known) > 30 else "")
    return f"{meant}{'T' if meant else 't'}here are: {shown}"
