"""Text that somebody else wrote, made fit for where it is shown: a page, a figure, a terminal."""

from __future__ import annotations


def one_line(text: str) -> str:
    r"""Return text without line breaks and other control characters.

    Examples
    --------
    >>> one_line("two\nlines\x1b, a bell\a")
    'two lines , a bell'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def on_console(text: str) -> str:
    r"""Return text with all that could command a terminal written as Python escapes.

    Control characters, line breaks, marks that turn the direction of writing, and halves of
    characters are seen and have no effect.

    Examples
    --------
    >>> print(on_console("age\x1b[31m\u202e\n"))
    age\x1b[31m\u202e\n
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii")
        for c in text
    )


def shortened(text: str, most: int) -> str:
    """Return text of at most so many characters, cut in the middle.

    Examples
    --------
    >>> shortened("logistic: income + expenditure", 20)
    'logistic: …penditure'
    """
    if len(text) <= most:
        return text
    head = most // 2
    return f"{text[:head]}…{text[len(text) - (most - head - 1) :]}"
