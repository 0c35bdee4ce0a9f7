"""A reader's own table with an outcome: read, understood column by column, or refused.

What is refused names the column or line, what it holds and what is taken instead. What is done
about the rest is said in notes, and what may still spoil a result in cautions. `pvf.select.choose`
selects a model from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from pvf.select.columns import FEATURES, NO_FEATURES, Column, feature_frame, guess_columns
from pvf.select.columns_file import parse_kinds, read_columns, without_guesses
from pvf.select.csv_table import CsvTable, closest, read_csv_table
from pvf.select.sentences import (
    PATTERNS,
    WORDS,
    TableError,
    fault,
    paragraphs,
    refuse_all,
    sentence,
)
from pvf.select.settings import Cells, Reading

#: Patients that the smaller class must have.
FEWEST_CASES = 10
#: Feature columns that tell the classes apart this well are named as possible leaks.
SUSPICIOUS_AUC = 0.98
#: Numbers that often stand for a missing value.
CODES_OF_MISSING = (-9, -99, -999, -9999, 999, 9999)
#: What a caution does to a recommendation.
WEIGHTS = ("forbids", "weakens", "informs")
#: Tells whether a column has the name of what holds several persons.
_is_cluster = PATTERNS["cluster"].match


@dataclass(frozen=True, order=True)
class Caution:
    """What may spoil a result.

    Attributes
    ----------
    rank : int
        Its place in `WEIGHTS`: 0 forbids a recommendation, 1 weakens it, 2 informs.
    text : str
        A sentence.
    column : str
        The feature that may have been known only afterwards, or "": a model that looks at it is
        not recommended.
    """

    rank: int
    text: str
    column: str = ""

    @property
    def weight(self) -> str:
        """The rank in a word."""
        return WEIGHTS[self.rank]


@dataclass(frozen=True, eq=False)
class OwnData:
    """A reader's table, ready for models.

    Attributes
    ----------
    name : str
        The file's name.
    sha256 : str
        Its content's checksum.
    X : DataFrame of shape (n_samples, n_features)
        Feature columns as `feature_frame` makes them, indexed by the file's line.
    y : ndarray of int of shape (n_samples,)
        1 where the outcome is the positive one.
    columns : tuple of Column
        All columns but the target, with what they are taken for.
    target, positive : str
        The outcome's column, and the value that counts as a case.
    notes : tuple of str
        What was done on reading, in words.
    warnings : tuple of Caution
        What may spoil the result, the weightiest first.
    missing : tuple of str
        The spellings of a missing value, in lower case.
    persons : ndarray of int of shape (n_samples,), or None
        Whose row each is, where persons have several; splits and counts go by person then.
    group : str
        The column that says so, or "".
    """

    name: str
    sha256: str
    X: pd.DataFrame
    y: NDArray[np.intp]
    columns: tuple[Column, ...]
    target: str
    positive: str
    notes: tuple[str, ...] = ()
    warnings: tuple[Caution, ...] = ()
    missing: tuple[str, ...] = ()
    persons: NDArray[np.intp] | None = None
    group: str = ""

    @property
    def cautions(self) -> tuple[str, ...]:
        """The texts of ``warnings``."""
        return tuple(warning.text for warning in self.warnings)

    @property
    def whose(self) -> NDArray[np.intp]:
        """The person of each row: one of its own, where nobody has several."""
        return np.arange(len(self.y)) if self.persons is None else self.persons

    @property
    def n_persons(self) -> int:
        """How many different persons there are: rows, where nobody has several."""
        return self.count()[0]

    @property
    def n_cases(self) -> int:
        """How many persons have a row with the outcome."""
        return self.count()[1]

    def count(self, rows: NDArray[np.intp] | slice = slice(None)) -> tuple[int, int]:
        """Return how many persons some rows are of, and for how many one has the outcome."""
        cases = self.whose[rows][self.y[rows] == 1]
        return len(np.unique(self.whose[rows])), len(np.unique(cases))

    @property
    def features(self) -> list[Column]:
        """The columns that models get to see."""
        return [column for column in self.columns if column.is_feature]


def load_own_data(
    path: str | Path, target: Any, *, fits: Callable[[int, int], None] | None = None, **given: Any
) -> OwnData:
    """Read a CSV with an outcome, and refuse what no choice of a model could be based on.

    Parameters
    ----------
    path : path-like
        The CSV file, with a header.
    target : str
        Column of the outcome, which has two values.
    fits : callable, optional
        Called with the numbers of lines and of columns that are left in while no line has been
        read; it raises TableError where these are too many.
    **given
        The attributes of `pvf.select.settings.Reading`.

    Returns
    -------
    OwnData

    Raises
    ------
    TableError
        The file or a column cannot be read; there is no such target, it has one value, more than
        two, or is a number; the smaller class has fewer than `FEWEST_CASES` persons; a column
        copies the outcome; no column is left to predict from. All faults of the outcome and of the
        columns are listed at once.
    """
    said = Reading(**given)
    table, target, reading = _read(path, target, said, fits)
    frame = table.frame
    faults: dict[str, str] = {}
    try:
        y, positive, notes = _outcome(frame[target], said.positive)
    except TableError as error:
        guess_columns(frame.drop(columns=target), **reading, faults=faults)
        refuse_all([str(error), *faults.values()])
    frame, y = frame[y >= 0], y[y >= 0]
    columns = guess_columns(frame.drop(columns=target), **reading, faults=faults)
    again = _doubles(frame, columns)
    if again.any():  # the counts are those of the rows that are left
        notes += paragraphs("doubles", lines=[*frame.index[again]])
        frame, y = frame[~again], y[~again]
        columns = guess_columns(frame.drop(columns=target), **reading, faults={})
    group, persons = _persons(frame, columns, said.group)
    X = feature_frame(frame, columns)
    apart = {name: (separation(X[name], y), _apart(y, X[name].isna())) for name in X}
    data = OwnData(
        name=Path(path).name,
        sha256=table.sha256,
        X=X,
        y=y,
        columns=tuple(columns),
        target=target,
        positive=positive,
        notes=(*table.notes, *notes),
        missing=table.missing,
        persons=persons,
        group=group,
    )
    refuse_all([*faults.values(), *_unfit(data, apart)])
    return replace(data, warnings=tuple(sorted(_cautions(data, apart), key=attrgetter("rank"))))


def _read(
    path: str | Path, target: Any, said: Reading, fits: Callable[[int, int], None] | None
) -> tuple[CsvTable, str, dict[str, Any]]:
    """Return the file, the target's name, and what `guess_columns` takes beside the table."""
    listed = read_columns(said.columns_file) if said.columns_file else {}
    kinds = parse_kinds(said.kinds or {})
    drop = [said.drop] if isinstance(said.drop, str | int | float) else list(said.drop or ())
    cells = {one.name: getattr(said, one.name) for one in fields(Cells)}
    reading = {name: cells.pop(name) for name in ("decimal", "censored")}
    if fits is not None:
        told: dict[Any, Any] = dict.fromkeys((*drop, target), "ignored") | listed | kinds
        out = {_squeezed(name) for name, kind in told.items() if kind in NO_FEATURES}
        cells["fits"] = lambda n_lines, names: fits(n_lines, len({*names} - out))
    table = read_csv_table(path, **cells)
    frame, reading["separator"] = table.frame, table.separator
    listed = without_guesses(frame, listed, **reading)
    listed.pop(_squeezed(target), None)  # the file lists all columns
    target, reading["kinds"] = _named(frame, target, listed | kinds, drop, said.group)
    return table, target, reading


def _named(
    frame: pd.DataFrame, target: Any, kinds: Mapping[str, Any], drop: Sequence[Any], group: Any
) -> tuple[str, dict[str, Any]]:
    """Return the target's name and the given kinds; refuse all names that no column has."""
    if isinstance(target, bool) or not isinstance(target, str | int | float):
        raise TableError(f"target must be a column's name, got {target!r}.")
    target, known = _squeezed(target), set(frame.columns)
    given: dict[str, Any] = {_squeezed(name): kind for name, kind in kinds.items()}
    asked = {
        "target {!r} is no column": [target],
        "drop names column {!r}": drop,
        "kinds names column {!r}": given,
        "group names column {!r}": [] if group is None or _squeezed(group) == "none" else [group],
    }
    faults = [
        f"{said.format(name)}; {closest(_squeezed(name), frame.columns)}."
        for said, names in asked.items()
        for name in names
        if _squeezed(name) not in known
    ]
    if group is not None and _squeezed(group) in known:
        given.setdefault(_squeezed(group), "identifier")
    given |= {_squeezed(name): "ignored" for name in drop}
    if target in given:
        faults.append(f"column {target!r} is the target; it takes no kind.")
    refuse_all(faults)
    return target, given


def _persons(
    frame: pd.DataFrame, columns: Sequence[Column], group: Any
) -> tuple[str, NDArray[np.intp] | None]:
    """Return the column that says whose row each is, and the persons' numbers; "" where none."""
    name = "" if group is None else _squeezed(group)
    if name == "none" and name not in frame.columns:
        return "", None
    if not name:
        repeating = [c for c in columns if _repeats(c, len(frame)) and not _is_cluster(c.name)]
        if not repeating:
            return "", None
        # Persons stand above visits and samples, so of several the one with the fewest values,
        # but those that are called persons first: a hospital has a number, too.
        called = [column for column in repeating if PATTERNS["person"].search(column.name)]
        name = min(called or repeating, key=lambda column: column.n_values).name
    who = frame[name]
    alone = pd.Series([f"\0{line}" for line in frame.index], index=frame.index)
    codes, _ = pd.factorize(who.where(who.notna(), alone))
    return name, codes.astype(np.intp) if len(np.unique(codes)) < len(codes) else None


def _squeezed(name: Any) -> str:
    """Return a column's name as the header's names are read: its spaces and breaks made one."""
    return " ".join(str(name).split())


def _outcome(column: pd.Series, positive: Any) -> tuple[NDArray[np.intp], str, list[str]]:
    """Return 1 and 0 (-1 where missing), the positive value, and notes."""
    name, n_gone = column.name, int(column.isna().sum())
    folded = column.str.lower().where(column.notna())
    counts = folded.value_counts()
    typed = {value: str(column[folded == value].mode()[0]) for value in counts.index[:7]}
    if len(counts) < 2:
        what = f"only {column.dropna().iloc[0]!r}" if len(counts) else "no value"
        raise fault("one_outcome", name=name, what=what, n_gone=n_gone)
    shown = ", ".join(f"{typed[value]!r} ({n})" for value, n in counts.head(6).items())
    shown += f" and {len(counts) - 6} more" if len(counts) > 6 else ""
    if positive is not None:
        case = _as_written(positive, list(counts.index))
        if case is None:
            raise TableError(f"positive is {positive!r}, which target {name!r} lacks: {shown}.")
    elif len(counts) > 2:
        numbers = len(counts) > 10 and pd.to_numeric(counts.index, errors="coerce").notna().all()
        raise fault("many_outcomes", name=name, n=len(counts), shown=shown, numbers=numbers)
    else:
        case = _obvious_case(tuple(counts.index))
        if case is None:
            raise fault("which_case", name=name, shown=shown, value=typed[counts.index[-1]])
    y = np.where(folded.isna(), -1, folded == case).astype(np.intp)
    notes = paragraphs("outcome", n_gone=n_gone, n=len(counts), case=case)
    return y, str(column[folded == case].mode()[0]), notes


#: What YAML and papermill read as False and True.
_BOOLEAN = {False: ("false", "no", "n", "off", "0"), True: ("true", "yes", "y", "on", "1")}


def _as_written(positive: Any, values: Sequence[str]) -> str | None:
    """Return which of the outcome's values is meant by what a reader gave, or None."""
    asked = _BOOLEAN[positive] if isinstance(positive, bool) else (str(positive).strip().lower(),)
    as_written = [text for text in asked if text in values]
    numbers = pd.to_numeric(pd.Series(values), errors="coerce")
    for text in asked:
        same = np.flatnonzero(numbers == pd.to_numeric(text, errors="coerce"))
        as_written += [values[same[0]]] if len(same) == 1 else []
    return as_written[0] if as_written else None


def _obvious_case(values: tuple[str, ...]) -> str | None:
    """Return which of two values is the case, where the values say so."""
    as_number = {value: value.removesuffix(".0") for value in values}
    pair = set(as_number.values())
    for other, case in WORDS["outcomes"]:
        if pair == {other, case}:
            return next(value for value, number in as_number.items() if number == case)
    return None


def _doubles(frame: pd.DataFrame, columns: Sequence[Column]) -> NDArray[np.bool_]:
    """Return which lines repeat another one with its identifier: the same record twice."""
    known = any(column.kind == "identifier" for column in columns)
    return frame.duplicated().to_numpy() if known else np.zeros(len(frame), dtype=bool)


def _unfit(data: OwnData, apart: Mapping[Any, tuple[float, float]]) -> Iterator[str]:
    """Say why no choice of a model could be based on a table."""
    if min(data.n_cases, data.n_persons - data.n_cases) < FEWEST_CASES:
        yield sentence("few_cases", it=data, fewest=FEWEST_CASES)
    if data.X.empty:
        yield sentence("no_feature", it=data, features=FEATURES)
    for column in data.columns:
        values, presence = apart.get(column.name, (0.5, 0.5))
        if column.guessed and 1 in (values, presence):
            yield sentence("gives_away", column=column, by_values=values == 1, target=data.target)


def separation(column: pd.Series, y: NDArray[np.intp]) -> float:
    """Return how well a column alone tells the classes apart in all rows: AUC, 0.5 to 1.

    Levels are ordered by their share of cases, and so are the gaps. Where that is the case for
    nearly every level by itself, as in an identifier, nothing can be said: 0.5.
    """
    if column.dtype.kind == "f" and column.nunique() > 2:
        seen = column.notna().to_numpy()
        return _apart(y[seen], column[seen])
    levels = column.astype(object).where(column.notna(), "(missing)").astype(str)
    if levels.nunique() > len(y) / 5:
        return 0.5
    return _apart(y, pd.Series(y, index=column.index).groupby(levels).transform("mean"))


def _apart(y: NDArray[np.intp], score: ArrayLike) -> float:
    """Return the AUC, or 1 less that, by rank sums: scikit-learn's takes twenty times as long."""
    n_cases, n_others = int(y.sum()), int((1 - y).sum())
    if not n_cases or not n_others:
        return 0.5
    above = float(rankdata(score)[y == 1].sum()) - n_cases * (n_cases + 1) / 2
    auc = above / (n_cases * n_others)
    return max(auc, 1 - auc)


def _cautions(data: OwnData, apart: Mapping[Any, tuple[float, float]]) -> Iterator[Caution]:
    """Say what may spoil the result."""
    n_rows = len(data.X)
    for column in data.columns:
        if _repeats(column, n_rows):
            cluster = _is_cluster(column.name)
            what, rank = ("clustered", 1) if cluster else ("repeats", 1 if data.group else 0)
            what, rank = ("grouped", 2) if column.name == data.group else (what, rank)
            yield Caution(rank, sentence(what, it=column, n_rows=n_rows))
        if column.is_feature:
            yield from _of_feature(column, data.X[column.name], *apart[column.name])
    n_alike = int(data.X.assign(**{"\0y": data.y}).duplicated().sum())
    if n_alike:
        yield Caution(1, sentence("equal_rows", n=n_alike))


def _repeats(column: Column, n_rows: int) -> bool:
    return column.kind == "identifier" and column.n_values < n_rows - column.n_missing


def _of_feature(
    column: Column, values: pd.Series, apart: float, presence: float
) -> Iterator[Caution]:
    name = column.name
    if presence >= SUSPICIOUS_AUC:
        yield Caution(0, sentence("told_by_presence", name=name, auc=presence))
    if apart >= SUSPICIOUS_AUC:
        yield Caution(0, sentence("told_alone", name=name, auc=apart))
    elif column.guessed and PATTERNS["later"].search(re.sub(r"[^a-z0-9]+", " ", name.lower())):
        yield Caution(1, sentence("named_as_later", name=name, kind=column.kind), column=name)
    share = 100 * values.isna().mean()
    if share > 20:
        yield Caution(2, sentence("gaps", name=name, share=share))
    codes = [value for value in CODES_OF_MISSING if (values == value).any()]
    rest = values[~values.isin(codes)].dropna()
    if codes and column.kind == "numeric" and len(rest):
        low, high = rest.min(), rest.max()
        if min(abs(codes[0] - low), abs(codes[0] - high)) > high - low:
            yield Caution(1, sentence("code_of_missing", name=name, code=codes[0]))
