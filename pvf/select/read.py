"""A reader's own table with an outcome: read, understood column by column, or refused.

What is refused names the column or line, what it holds and what is taken instead. What is done
about the rest is said in notes, and what may still spoil a result in cautions. `pvf.select.choose`
selects a model from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from pvf.select.columns import FEATURES, Column, feature_frame, guess_columns
from pvf.select.csv_table import TableError, closest, read_csv_table

__all__ = ["FEWEST_CASES", "OwnData", "load_own_data"]

#: Patients that the smaller class must have.
FEWEST_CASES = 10
#: Feature columns that tell the classes apart this well are named as possible leaks.
SUSPICIOUS_AUC = 0.99

_POSITIVE_OF = {
    ("0", "1"): "1",
    ("-1", "1"): "1",
    ("no", "yes"): "yes",
    ("n", "y"): "y",
    ("false", "true"): "true",
    ("nein", "ja"): "ja",
    ("nee", "ja"): "ja",
    ("non", "oui"): "oui",
    ("no", "si"): "si",
    ("no", "sí"): "sí",
    ("negative", "positive"): "positive",
    ("neg", "pos"): "pos",
    ("alive", "dead"): "dead",
    ("alive", "died"): "died",
    ("alive", "deceased"): "deceased",
    ("survived", "died"): "died",
    ("control", "case"): "case",
    ("benign", "malignant"): "malignant",
    ("healthy", "sick"): "sick",
    ("healthy", "ill"): "ill",
    ("absent", "present"): "present",
}


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
    cautions : tuple of str
        What may spoil the result, in words.
    """

    name: str
    sha256: str
    X: pd.DataFrame
    y: NDArray[np.intp]
    columns: tuple[Column, ...]
    target: str
    positive: str
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    @property
    def features(self) -> list[Column]:
        """The columns that models get to see."""
        return [column for column in self.columns if column.is_feature]


def load_own_data(
    path: str | Path,
    target: str,
    *,
    positive: str | None = None,
    kinds: Mapping[str, str | Sequence[Any]] | None = None,
    drop: Sequence[str] = (),
    separator: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    missing: Sequence[str] = (),
) -> OwnData:
    """Read a CSV with an outcome, and refuse what no choice of a model could be based on.

    Parameters
    ----------
    path : path-like
        The CSV file, with a header.
    target : str
        Column of the outcome, which has two values.
    positive : str, optional
        The outcome's value that is a case. Needed unless the values say so themselves, as 0 and 1
        or no and yes do. Of more than two values all others count as none.
    kinds : mapping, optional
        Kinds of columns that overrule the guess; see `guess_columns`. A column whose
        kind is given is not checked for being a copy of the outcome.
    drop : sequence of str
        Columns to leave out.
    separator, encoding, missing
        As in `pvf.select.csv_table.read_csv_table`.
    decimal : {".", ","}, optional
        As in `pvf.select.columns.guess_columns`.

    Returns
    -------
    OwnData

    Raises
    ------
    TableError
        The file or a column cannot be read; there is no such target, it has one value, more than
        two, or is a number; the smaller class has fewer than `FEWEST_CASES` patients; a column
        copies the outcome; no column is left to predict from.
    """
    table = read_csv_table(path, separator=separator, encoding=encoding, missing=missing)
    frame, notes = table.frame, list(table.notes)
    target, drop = _squeezed(target), [_squeezed(name) for name in drop]
    if target not in frame.columns:
        raise TableError(f"target {target!r} is no column; {closest(target, frame.columns)}.")
    for name in drop:
        if name not in frame.columns:
            raise TableError(f"drop names column {name!r}; {closest(name, frame.columns)}.")
    given = {_squeezed(name): kind for name, kind in (kinds or {}).items()}
    given |= dict.fromkeys(drop, "ignored")
    if target in given:
        raise TableError(f"column {target!r} is the target; it takes no kind.")
    y, positive, target_notes = _outcome(frame[target], positive)
    frame, y = frame[y >= 0], y[y >= 0]
    reading: dict[str, Any] = {"kinds": given, "decimal": decimal, "separator": table.separator}
    columns = guess_columns(frame.drop(columns=target), **reading)
    frame, y, doubles = _without_doubles(frame, y, columns)
    if doubles:  # the counts are those of the rows that are left
        columns = guess_columns(frame.drop(columns=target), **reading)
    _refuse_few(y, target, positive)
    X = feature_frame(frame, columns)
    if X.empty:
        kinds_found = ", ".join(f"{column.name}: {column.kind}" for column in columns)
        raise TableError(
            f"No column is left to predict {target!r} from; of {len(columns)} columns none is "
            f"{', '.join(FEATURES)} ({kinds_found or 'there is none'})."
        )
    _refuse_copies(X, y, target, [c for c in columns if c.guessed])
    return OwnData(
        name=Path(path).name,
        sha256=hashlib.sha256(Path(path).read_bytes()).hexdigest(),
        X=X,
        y=y,
        columns=tuple(columns),
        target=target,
        positive=positive,
        notes=(*notes, *target_notes, *doubles),
        cautions=tuple(_cautions(frame, X, y, columns)),
    )


def _squeezed(name: str) -> str:
    """Return a column's name as the header's names are read: its spaces and breaks made one."""
    return " ".join(str(name).split())


def _outcome(
    column: pd.Series, positive: str | None
) -> tuple[NDArray[np.intp], str, tuple[str, ...]]:
    """Return 1 and 0 (-1 where missing), the positive value, and notes."""
    name = column.name
    folded = column.str.lower().where(column.notna())
    counts = folded.value_counts()
    if len(counts) < 2:
        what = f"only {column.dropna().iloc[0]!r}" if len(counts) else "no value"
        raise TableError(f"target {name!r} holds {what}; it takes two different outcomes.")
    shown = ", ".join(f"{value!r} ({n})" for value, n in counts.head(6).items())
    shown += f" and {len(counts) - 6} more" if len(counts) > 6 else ""
    if positive is None:
        if len(counts) > 2:
            numbers = pd.to_numeric(folded, errors="coerce").notna().sum() == counts.sum()
            hint = (
                "make a yes/no outcome of it" if numbers and len(counts) > 10 else "name the case"
            )
            raise TableError(
                f"target {name!r} has {len(counts)} values: {shown}; it takes two. If one value is "
                f"the case and all others are not, {hint} (positive=VALUE)."
            )
        case = _obvious_case(tuple(counts.index))
        if case is None:
            raise TableError(
                f"target {name!r} has the values {shown}, which do not say which one is the case; "
                "name it (positive=VALUE)."
            )
    else:
        case = str(positive).strip().lower()
        if case not in counts.index:
            raise TableError(f"positive is {positive!r}, which target {name!r} lacks: {shown}.")
    y = np.where(folded.isna(), -1, folded == case).astype(np.intp)
    notes = []
    if (y < 0).any():
        notes.append(f"{int((y < 0).sum())} rows without an outcome were left out.")
    if len(counts) > 2:
        notes.append(f"The outcome has {len(counts)} values; all but {case!r} count as no case.")
    return y, str(column[folded == case].mode()[0]), tuple(notes)


def _obvious_case(values: tuple[str, ...]) -> str | None:
    """Return which of two values is the case, where the values say so."""
    as_number = {value: value.removesuffix(".0") for value in values}
    pair = set(as_number.values())
    for known, case in _POSITIVE_OF.items():
        if pair == set(known):
            return next(value for value, number in as_number.items() if number == case)
    return None


def _without_doubles(
    frame: pd.DataFrame, y: NDArray[np.intp], columns: Sequence[Column]
) -> tuple[pd.DataFrame, NDArray[np.intp], list[str]]:
    """Drop lines that repeat another one with its identifier: the same record twice."""
    if not any(column.kind == "identifier" for column in columns):
        return frame, y, []
    again = frame.duplicated().to_numpy()
    if not again.any():
        return frame, y, []
    lines = ", ".join(map(str, frame.index[again][:3]))
    note = f"{int(again.sum())} rows that repeat another one were left out (line {lines}"
    return frame[~again], y[~again], [note + (", ...)." if again.sum() > 3 else ").")]


def _refuse_few(y: NDArray[np.intp], target: str, positive: str) -> None:
    n_cases = int(y.sum())
    if min(n_cases, len(y) - n_cases) < FEWEST_CASES:
        few = f"{n_cases} cases" if n_cases < FEWEST_CASES else f"{len(y) - n_cases} others"
        raise TableError(
            f"target {target!r} has {few} ({positive!r} is the case) in {len(y)} rows; it takes "
            f"at least {FEWEST_CASES} of each, so that training, validation and test have some."
        )


def _separation(column: pd.Series, y: NDArray[np.intp]) -> float:
    """Return how well a column alone tells the classes apart in all rows: AUC, 0.5 to 1.

    Levels are ordered by their share of cases, and so are the gaps. Where that is the case for
    nearly every level by itself, as in an identifier, nothing can be said: 0.5.
    """
    if column.dtype.kind == "f" and column.nunique() > 2:
        seen = column.notna().to_numpy()
        if len(np.unique(y[seen])) < 2:
            return 0.5
        auc = float(roc_auc_score(y[seen], column[seen]))
        return max(auc, 1 - auc)
    levels = column.astype(object).where(column.notna(), "(missing)").astype(str)
    if levels.nunique() > len(y) / 5:
        return 0.5
    return float(
        roc_auc_score(y, pd.Series(y, index=column.index).groupby(levels).transform("mean"))
    )


def _refuse_copies(
    X: pd.DataFrame, y: NDArray[np.intp], target: str, columns: Sequence[Column]
) -> None:
    """Refuse columns that give the outcome away."""
    for column in columns:
        if not column.is_feature:
            continue
        values = X[column.name]
        if _separation(values, y) == 1:
            how = "copies the target" if column.n_values == 2 else "separates it without an error"
        elif values.isna().any() and roc_auc_score(y, values.isna()) in (0, 1):
            how = "is filled in exactly for one outcome of the target"
        else:
            continue
        raise TableError(
            f"Column {column.name!r} {how}, {target!r}, so it may have been known only "
            f"afterwards; leave it out (drop={column.name}), or give its kind "
            f"({column.name}={column.kind}) if it is a true feature."
        )


def _cautions(
    frame: pd.DataFrame, X: pd.DataFrame, y: NDArray[np.intp], columns: Sequence[Column]
) -> Iterator[str]:
    """Say what may spoil the result."""
    for column in columns:
        if column.kind == "identifier" and column.n_values < len(frame) - column.n_missing:
            yield (
                f"{column.name!r} has {column.n_values} values in {len(frame)} rows: rows of one "
                "person may stand on both sides of a split, which flatters every model. Keep one "
                "row for each person."
            )
        if not column.is_feature:
            continue
        share = 100 * X[column.name].isna().mean()
        if share > 20:
            yield f"{column.name!r} is missing in {share:.0f}% of the rows, and imputed there."
        separation = _separation(X[column.name], y)
        if separation > SUSPICIOUS_AUC:
            yield (
                f"{column.name!r} alone tells the outcomes apart with an AUC of {separation:.3f}: "
                "make sure that it is known before the outcome."
            )
        codes = [
            value for value in (-9, -99, -999, -9999, 999, 9999) if (X[column.name] == value).any()
        ]
        if codes and column.kind == "numeric" and _is_far(X[column.name], codes):
            yield (
                f"{column.name!r} holds {codes[0]}, far from its other values: if that means "
                f"'missing', say so (missing={codes[0]})."
            )
    n_alike = int(X.assign(**{"\0y": y}).duplicated().sum())
    if n_alike:
        yield (
            f"{n_alike} rows equal another one in all features and the outcome; if they are the "
            "same patients, scores are flattered."
        )


def _is_far(column: pd.Series, codes: Sequence[float]) -> bool:
    rest = column[~column.isin(codes)].dropna()
    if rest.empty:
        return False
    spread = rest.max() - rest.min()
    return bool(min(abs(codes[0] - rest.min()), abs(codes[0] - rest.max())) > spread)
