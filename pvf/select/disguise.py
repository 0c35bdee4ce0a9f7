"""Numbers that are written with something else: a unit, a currency, gaps, a limit of detection."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pvf.select.sentences import WORDS, TableError, fault

#: What a value below a limit, such as <0.01, is read as.
CENSORED: dict[str, Callable[[float], float]] = {
    "limit": lambda limit: limit,
    "half": lambda limit: limit / 2,
    "sqrt2": lambda limit: limit / math.sqrt(2),
}
_GAPS = re.compile("(?<=\\d)[ \u00a0\u2007\u2009\u202f'\u2019](?=\\d{3}(?!\\d))")
_MINUS = re.compile("^([<>\u2264\u2265]=?\\s*)?[\u2212\u2010-\u2014](?=[\\d.,])")
_CELL = re.compile(
    r"(?P<limit>[<>≤≥]=?)?\s*(?P<money>[$€£¥]|CHF|EUR|USD|GBP)?\s*"
    r"(?P<number>[+-]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][+-]?\d+)?)"
    r"(?P<space>\s*)(?P<unit>[%‰°µμ]?[A-Za-zµμ°$€£¥²³/^0-9*·]*[A-Za-z²³$€£¥]|[%‰°])?"
)
_UNITS = frozenset(WORDS["units"].split())


@dataclass(frozen=True)
class Disguise:
    """What is written beside a column's numbers.

    Attributes
    ----------
    unit : str
        The one unit, currency or % that all cells have.
    limits : str
        How a value below a limit is read, one of `CENSORED`; "" where the column has no limits.
    example : str
        A cell as it is written.
    """

    unit: str = ""
    limits: str = ""
    example: str = ""

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.example)

    def in_words(self) -> str:
        """Say how a cell is read, to stand behind the reason for a kind."""
        if not self:
            return ""
        return f"; {self.example!r} is read as {plain_number(self.example, self)}" + (
            " (--censored limit, half or sqrt2 for what is below a limit)" if self.limits else ""
        )


NOTHING = Disguise()


def undisguised(name: str, values: Sequence[str], censored: str) -> Disguise | None:
    """Find out what is written beside the numbers of a column.

    Parameters
    ----------
    name : str
        The column's, for errors.
    values : sequence of str
        Its different cells.
    censored : str
        One of `CENSORED`.

    Returns
    -------
    Disguise or None
        None where cells are plain numbers, or no numbers at all.

    Raises
    ------
    TableError
        If cells have different units, or only some of them have one.

    Examples
    --------
    >>> undisguised("weight", ["72 kg", "61.5 kg"], "limit")
    Disguise(unit='kg', limits='', example='72 kg')
    >>> undisguised("troponin", ["0.2", "<0.01", "0.35", "0.4"], "half").limits
    'half'
    """
    cells = [_CELL.fullmatch(_tidy(value)) for value in values]
    read = [(value, cell) for value, cell in zip(values, cells, strict=True) if cell]
    odd = [value for value, cell in read if _tidy(value) != value or _beside(cell)]
    if not odd or len(read) < len(values):
        return None
    units = {_unit(cell): value for value, cell in read}
    if not all(_is_unit(cell) for _, cell in read):
        return None
    limited = [value for value, cell in read if cell["limit"]]
    if limited and len(read) - len(limited) < 3:
        return None  # bands, such as <40 and >=40
    if len(units) > 1:
        shown = " and ".join(repr(value) for value in list(units.values())[:2])
        raise fault("unit", name=name, values=shown)
    example = limited[0] if limited else odd[0]
    return Disguise(next(iter(units)), censored if limited else "", example)


def plain_number(value: str, disguise: Disguise) -> str:
    """Return a cell's number as plain text; a cell that is none stays as it is.

    Parameters
    ----------
    value : str
    disguise : Disguise
        The column's.

    Returns
    -------
    str

    Raises
    ------
    TableError
        If the cell has another unit than the column.

    Examples
    --------
    >>> plain_number("123 456 kg", Disguise("kg", example="1 kg"))
    '123456'
    >>> plain_number("<0.01", Disguise(limits="half", example="<0.01"))
    '0.005'
    """
    cell = _CELL.fullmatch(_tidy(value))
    if cell is None:
        return value
    if _unit(cell) != disguise.unit:
        raise TableError(f"{value!r} has another unit than {disguise.example!r}.")
    number = cell["number"]
    if (cell["limit"] or "").startswith(("<", "≤")) and disguise.limits != "limit":
        comma = "," in number and "." not in number
        read = CENSORED[disguise.limits or "limit"](float(number.replace(",", ".")))
        return f"{read:.12g}".replace(".", ",") if comma else f"{read:.12g}"
    return number


def _tidy(value: str) -> str:
    """Return a cell with a hyphen for minus and without gaps between thousands."""
    return _GAPS.sub("", _MINUS.sub(lambda sign: (sign[1] or "") + "-", value))


def _beside(cell: re.Match[str]) -> bool:
    return bool(cell["limit"] or cell["money"] or cell["unit"])


def _unit(cell: re.Match[str]) -> str:
    return (cell["money"] or cell["unit"] or "").strip()


def _is_unit(cell: re.Match[str]) -> bool:
    """Whether what stands behind a number is a unit: a known one, or a word apart."""
    unit = cell["unit"]
    return not unit or unit.lower() in _UNITS or bool(cell["space"] and not unit[0].isdigit())
