"""Data sets of the papers, each as one checked table with named columns.

Every loader returns a :class:`Dataset`. Its content is compared with a known
SHA-256 (:func:`frame_sha256`) wherever it came from, so two machines that load a
data set hold the same numbers, or one of them gets an error.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import sklearn
import sklearn.datasets

__all__ = ["DataError", "Dataset", "frame_sha256", "load_breast_cancer"]

Kind = Literal["numeric", "nominal", "ordinal"]


class DataError(ValueError):
    """A data set could not be had, or what was found is not the published content."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """One data set: a table of features, a 0/1 target, and what is known about both.

    Parameters
    ----------
    name : str
        Short name, as ``python -m pvf data status`` prints it.
    X : DataFrame of shape (n_samples, n_features)
        Features, one named column each. A new frame on every load.
    y : Series of shape (n_samples,)
        Target, ``int64``, 1 for the positive class; its name says what 1 means.
    kinds : mapping of str to {"numeric", "nominal", "ordinal"}
        Kind of each column of `X`, in the order of its columns.
    descriptions : mapping of str to str
        What each column of `X` holds, its unit, and why it is of its kind.
    description : str
        What the data set is and what loading did to it.
    licence : str
        Licence of the data.
    citation : str
        How to cite the data.
    source : str
        Where this copy was found.
    sha256 : str
        :func:`frame_sha256` of the whole table as published, before any choice of
        target, rows or imputation.

    Examples
    --------
    >>> from pvf.datasets import load_breast_cancer
    >>> data = load_breast_cancer()
    >>> data.X.shape, int(data.y.sum())
    ((569, 30), 212)
    """

    name: str
    X: pd.DataFrame
    y: pd.Series
    kinds: Mapping[str, Kind]
    descriptions: Mapping[str, str]
    description: str
    licence: str
    citation: str
    source: str
    sha256: str

    def __post_init__(self) -> None:
        columns = list(self.X.columns)
        for title, mapping in (("kinds", self.kinds), ("descriptions", self.descriptions)):
            if list(mapping) != columns:
                raise ValueError(f"{title} must name the columns of X in order, {columns}")
        if not self.X.index.equals(self.y.index):
            raise ValueError("X and y must share one index")

    @property
    def frame(self) -> pd.DataFrame:
        """Features and target side by side, the target last.

        Returns
        -------
        DataFrame of shape (n_samples, n_features + 1)
        """
        return pd.concat([self.X, self.y], axis=1)

    @property
    def variables(self) -> pd.DataFrame:
        """Kind and description of each feature.

        Returns
        -------
        DataFrame of shape (n_features, 2)
            Columns ``kind`` and ``description``, indexed by feature.
        """
        return pd.DataFrame(
            {"kind": dict(self.kinds), "description": dict(self.descriptions)},
            index=self.X.columns,
        )

    def columns_of(self, kind: Kind) -> list[str]:
        """Names of the features of one kind.

        Parameters
        ----------
        kind : {"numeric", "nominal", "ordinal"}

        Returns
        -------
        list of str
        """
        return [column for column, this in self.kinds.items() if this == kind]

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        return (
            f"Dataset({self.name!r}: {rows} rows, {columns} features, "
            f"{int(self.y.sum())} with {self.y.name} = 1; {self.source})"
        )


def _twelve_digits(values: np.ndarray) -> np.ndarray:
    """Numbers rounded to 12 significant digits, NaN kept and -0 made 0.

    Parsers of decimal text differ in the last bit; no published value here has more
    than 12 digits, so after this all parsers agree to the bit.
    """
    values = np.asarray(values, dtype="<f8")
    rounded = values.copy()
    rough = np.isfinite(values) & (values != np.rint(values))
    rounded[rough] = [float(f"{value:.12g}") for value in values[rough]]
    rounded[np.isnan(values)] = np.nan
    return rounded + 0.0


def frame_sha256(frame: pd.DataFrame) -> str:
    """SHA-256 of a table's content: column names, values, row order, missing entries.

    It does not depend on dtypes (7, 7.0 and ``Int64`` 7 are one number), on the
    index, or on the version of pandas. Numbers enter as little-endian doubles of 12
    significant digits, text as JSON in UTF-8, a missing text as ``null``.

    Parameters
    ----------
    frame : DataFrame of shape (n_samples, n_columns)
        Columns of numbers, booleans, text or categories of text.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    ValueError
        If a column holds anything else.

    Examples
    --------
    >>> import pandas as pd
    >>> whole = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    >>> float_ = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", None]})
    >>> frame_sha256(whole) == frame_sha256(float_)
    True
    """
    digest = hashlib.sha256(json.dumps([list(frame.columns), len(frame)]).encode())
    for name, column in frame.items():
        digest.update(_column_bytes(str(name), column))
    return digest.hexdigest()


def _column_bytes(name: str, column: pd.Series) -> bytes:
    if pd.api.types.is_numeric_dtype(column.dtype):
        return b"number" + _twelve_digits(column.to_numpy("<f8", na_value=np.nan)).tobytes()
    texts = [None if pd.isna(value) else value for value in column.astype(object)]
    if not all(text is None or isinstance(text, str) for text in texts):
        raise ValueError(f"frame: column {name!r} must hold numbers or text only")
    return b"text" + json.dumps(texts, ensure_ascii=False).encode()


_BREAST_SHA256 = "7c8b651d53be8388bf6df1e2c8bdacef7905157fe3ba9cb801fb6886a708507f"

_BREAST_MEASURES = {
    "radius": "distance from the centre of a cell nucleus to its outline",
    "texture": "standard deviation of the grey values inside a nucleus",
    "perimeter": "length of a nucleus's outline",
    "area": "area of a nucleus",
    "smoothness": "local variation of the radius",
    "compactness": "perimeter squared over area, minus 1",
    "concavity": "depth of the dents in the outline",
    "concave points": "number of dents in the outline",
    "symmetry": "asymmetry about the longest axis",
    "fractal dimension": "coastline approximation of the outline, minus 1",
}


def _breast_description(column: str) -> str:
    """Plain words for one of the 30 columns: 10 measures times mean, error, worst."""
    if column.endswith(" error"):
        measure, statistic = column.removesuffix(" error"), "standard error over the nuclei"
    elif column.startswith("worst "):
        measure, statistic = column.removeprefix("worst "), "mean of the three largest nuclei"
    else:
        measure, statistic = column.removeprefix("mean "), "mean over the nuclei"
    return (
        f"{_BREAST_MEASURES[measure]}; {statistic} of one image, in the image's units. "
        "Numeric: a measurement on a continuous scale."
    )


def load_breast_cancer() -> Dataset:
    """Breast Cancer Wisconsin (Diagnostic), from scikit-learn's own copy.

    569 images of fine-needle aspirates, 30 measurements each, none missing; 212 are
    malignant. scikit-learn codes malignant as 0; here the positive class is the
    disease, as in the paper (App. D of PVF-IE).

    Returns
    -------
    Dataset
        ``X`` of shape (569, 30), columns named as in scikit-learn; ``y`` named
        ``malignant``.

    Raises
    ------
    DataError
        If the installed scikit-learn ships other numbers.

    Examples
    --------
    >>> data = load_breast_cancer()
    >>> data.y.name, int(data.y.sum()), set(data.kinds.values())
    ('malignant', 212, {'numeric'})
    """
    bunch = sklearn.datasets.load_breast_cancer(as_frame=True)
    X = bunch.data
    y = (bunch.target == list(bunch.target_names).index("malignant")).astype("int64")
    y = y.rename("malignant")
    source = f"scikit-learn {sklearn.__version__}, bundled"
    found = frame_sha256(pd.concat([X, y], axis=1))
    if found != _BREAST_SHA256:
        raise DataError(
            f"breast_cancer: the table in {source} is not the published one: "
            f"expected SHA-256 {_BREAST_SHA256}, found {found}"
        )
    return Dataset(
        name="breast_cancer",
        X=X,
        y=y,
        kinds=dict.fromkeys(X.columns, "numeric"),
        descriptions={column: _breast_description(column) for column in X.columns},
        description=(
            "Breast Cancer Wisconsin (Diagnostic), UCI 17: 569 digitised fine-needle "
            "aspirates of breast masses, 30 measurements of the cell nuclei, none missing. "
            "Positive: malignant (212)."
        ),
        licence="CC BY 4.0",
        citation=(
            "Wolberg, W., Mangasarian, O., Street, N., Street, W. (1993). Breast Cancer "
            "Wisconsin (Diagnostic). UCI Machine Learning Repository. "
            "https://doi.org/10.24432/C5DW2B"
        ),
        source=source,
        sha256=found,
    )
