"""Tables of text for pages."""

from collections.abc import Mapping, Sequence
from typing import Any


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    r"""Write rows, each a mapping of heading to cell, as a Markdown table; no rows make no text.

    Examples
    --------
    >>> print(markdown_table([{"name": "a|b", "n": 1}]))
    | name | n |
    | --- | --- |
    | a\|b | 1 |
    """
    if not rows:
        return ""
    cells = [[str(cell).replace("|", "\\|") for cell in row.values()] for row in rows]
    lines = [list(rows[0]), ["---"] * len(rows[0]), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
