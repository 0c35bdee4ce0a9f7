"""A selected model in a file without pickle, and its scores for new rows."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pvf._outputs import write_whole
from pvf._text import on_console
from pvf.select.candidates import columns_used, flagged, score_of
from pvf.select.choose import Selection
from pvf.select.columns import Column, feature_frame, misfits
from pvf.select.read import CsvTable
from pvf.select.sentences import TableError, closest, fault, refuse_all, sentence

#: Kinds of object that a file may hold beside scikit-learn's own.
OURS = (
    "pvf.select.candidates.MixedEncoder",
    "pvf.select.columns.Column",
    "pvf.select.columns.Disguise",
    "sklearn.tree._tree.Tree",
)


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model with what it takes to read new rows for it.

    Attributes
    ----------
    name, headline : str
        The candidate's name, and what the report said of it.
    model : estimator
        Fitted on all rows of the file that it was selected on.
    columns : list of Column
        Those that it looks at, and identifiers.
    ranges : dict of str to list of float
        Smallest and largest value of each column of numbers in order that it was fitted on.
    missing : list of str
        The spellings of a missing value, in lower case.
    made_from : str
        File, outcome and versions.
    """

    name: str
    headline: str
    model: Any
    columns: list[Column]
    ranges: dict[str, list[float]]
    missing: list[str]
    made_from: str


def save_model(selection: Selection, path: str | Path) -> Path:
    """Write the recommended model, fitted on all rows, in one step and without pickle.

    Parameters
    ----------
    selection : Selection
    path : path-like
        Ends in ``.skops``; its folder must exist.

    Returns
    -------
    Path

    Raises
    ------
    TableError
        If the library skops is not installed.
    OSError
        If the file cannot be written; one of that name stays as it was.
    """
    data, said = selection.data, selection.recommendation
    model = selection.models[said.model]
    used = columns_used(model, list(data.X))
    numbers = [c.name for c in data.features if c.notation and c.kind != "nominal"]
    ends = data.X[[name for name in numbers if name in used]].agg(["min", "max"])
    versions = ", ".join(f"{package} {version(package)}" for package in ("pvf", "scikit-learn"))
    saved = SavedModel(
        name=said.model,
        headline=said.headline,
        model=model,
        columns=[c for c in data.columns if c.name in used or c.kind == "identifier"],
        ranges=ends.astype(float).to_dict("list"),
        missing=list(data.missing),
        made_from=f"{data.name} for {data.target} = {data.positive!r}, by {versions}",
    )
    write_whole(Path(path), _skops().dumps(vars(saved)))
    return Path(path)


def load_model(path: str | Path, *, trusted: Sequence[str] = ()) -> SavedModel:
    """Read a file that `save_model` wrote; nothing else in it is run.

    Parameters
    ----------
    path : path-like
    trusted : sequence of str
        Kinds of object of a pool of one's own, such as ``"my_models.Scorecard"``.

    Returns
    -------
    SavedModel

    Raises
    ------
    TableError
        If there is no such file, it is of another kind, holds an object that is not trusted, or
        the library skops is not installed.
    """
    skops, shown = _skops(), on_console(str(path))
    try:
        content = Path(path).read_bytes()
        unknown = sorted({*skops.get_untrusted_types(data=content)} - {*OURS, *trusted})
        if unknown:
            raise fault("not_trusted", path=shown, kinds=unknown)
        return SavedModel(**skops.loads(content, trusted=[*OURS, *trusted]))
    except TableError:
        raise
    except OSError as error:
        raise TableError(f"{shown}: cannot be read ({error.strerror}).") from error
    except ImportError as error:
        raise TableError(f"{shown}: holds what cannot be imported here ({error}).") from error
    except (zipfile.BadZipFile, LookupError, ValueError, TypeError, AttributeError) as error:
        raise fault("no_model", path=shown, error=error) from error


def new_scores(saved: SavedModel, table: CsvTable) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return scores of new rows, read as the rows were that the model was fitted on.

    Parameters
    ----------
    saved : SavedModel
    table : CsvTable
        Read with no spelling of a missing value but the empty cell.

    Returns
    -------
    scores : DataFrame
        Indexed by the file's line: its identifiers, ``score``, ``rank`` (1 is the highest score;
        equal scores share the first of their ranks) and ``flagged``, yes or no.
    notes : tuple of str
        What a reader should know of the rows.

    Raises
    ------
    TableError
        A column that the model looks at is absent, or holds what could not be read; all at once.
    """
    frame, used = table.frame, [column for column in saved.columns if column.is_feature]
    absent = [column.name for column in used if column.name not in frame.columns]
    refuse_all([f"There is no column {n!r}; {closest(n, frame.columns)}." for n in absent])
    frame = frame.assign(**{c.name: _without_missing(frame[c.name], c, saved) for c in used})
    refuse_all([fault for column in used for fault in misfits(frame[column.name], column)])
    X = feature_frame(frame, used)
    known = [c.name for c in saved.columns if c.kind == "identifier" and c.name in frame.columns]
    score = score_of(saved.model, X)
    scores = frame[known].assign(
        score=score,
        rank=pd.Series(-score, index=frame.index).rank(method="min").astype(int),
        flagged=np.where(flagged(saved.model, X), "yes", "no"),
    )
    return scores.rename_axis("line"), tuple(_notes(saved, X))


def _notes(saved: SavedModel, X: pd.DataFrame) -> Iterator[str]:
    for name, values in X.items():
        if gaps := int(values.isna().sum()):
            yield f"{name!r} is missing in {gaps} of {len(X)} rows, which the model fills in."
    for name, (low, high) in saved.ranges.items():
        if outside := int(((X[name] < low) | (X[name] > high)).sum()):
            n_rows = len(X)
            yield sentence("outside", name=name, low=low, high=high, n=outside, n_rows=n_rows)


def _without_missing(column: pd.Series, about: Column, saved: SavedModel) -> pd.Series:
    levels = {str(level).lower() for level in about.levels}
    return column.mask(column.str.lower().isin({*saved.missing} - levels))


def _skops() -> Any:
    try:
        import skops.io  # noqa: PLC0415  an extra
    except ModuleNotFoundError as error:
        raise fault("no_skops") from error
    return skops.io
