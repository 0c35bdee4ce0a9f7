"""Data sets of the papers, each as one checked table with named columns.

Every loader returns a :class:`Dataset`. A data set that does not come with scikit-learn
is looked for in the folder ``$PVF_DATA_DIR`` (the publisher's files), then in the user's
cache, and is then downloaded: by ``ucimlrepo`` (cervical cancer, Adult, Connect-4) or from
its publisher (MNIST, COMPAS). Wherever it came from, its content must have the checksum on
record, so two machines that load a data set hold the same numbers, or one of them gets an
error. HSLS and CIFAR-10 are only read from ``$PVF_DATA_DIR``. Nothing is ever replaced by
made-up data.
"""

from __future__ import annotations

import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import sklearn
import sklearn.datasets
from numpy.typing import NDArray
from sklearn.impute import KNNImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from pvf import _checks as check
from studies.data.files import FOLDER_VARIABLE, data_folder, obtain
from studies.data.tables import (
    PIXELS,
    SQUARES,
    DataMismatchError,
    DataUnavailableError,
    frame_sha256,
    registry,
)

Kind = Literal["numeric", "nominal", "ordinal"]

HSLS_FILE = "hsls_17_student_pets_sr_v1_0.csv"
CIFAR_FILE = "cifar-10-binary.tar.gz"
#: What the ninth-graders and their parents said in 2009, and the test of mathematics.
_HSLS = (
    "X1SEX X1RACE X1SES X1PAREDU X1FAMINCOME X1STUEDEXPCT X1PAREDEXPCT "
    "X1MTHID X1MTHUTI X1MTHEFF X1MTHINT X1SCHOOLBEL X1SCHOOLENG"
)
HSLS_COLUMNS = _HSLS.split()
HSLS_SCORE = "X1TXMTSCOR"
#: Codes of the publisher for what is missing or was not asked.
HSLS_MISSING = (-9, -8, -7, -6, -5, -4)

CERVICAL_TARGETS = ("Hinselmann", "Schiller", "Cytology", "Biopsy")
CERVICAL_DIAGNOSES = ("Dx:Cancer", "Dx:CIN", "Dx:HPV", "Dx")


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """One data set: a table of features, a 0/1 target, and what is known about both.

    Parameters
    ----------
    name : str
        Short name, as ``python -m studies data status`` prints it.
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
    checksums : mapping of str to str
        SHA-256 of the published content that was checked, before any choice of target,
        rows or imputation; keyed by what was hashed.

    Examples
    --------
    >>> from studies.data.datasets import load_breast_cancer
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
    checksums: Mapping[str, str]

    def __post_init__(self) -> None:
        columns = list(self.X.columns)
        for title, mapping in (("kinds", self.kinds), ("descriptions", self.descriptions)):
            if list(mapping) != columns:
                raise ValueError(f"{title} must name the columns of X in order, {columns}")
        if not self.X.index.equals(self.y.index):
            raise ValueError("X and y must share one index")

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        return (
            f"Dataset({self.name!r}: {rows} rows, {columns} features, "
            f"{int(self.y.sum())} with {self.y.name} = 1; {self.source})"
        )


def _choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse a value that is not one of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")


def _dataset(
    name: str,
    X: pd.DataFrame,
    y: pd.Series,
    *,
    found: Mapping[str, str],
    done: str = "",
) -> Dataset:
    """Assemble a data set from its table and what ``registry.toml`` says of it.

    `done` says what loading did to the published table, and `found` where each table that was read
    lay.
    """
    known = registry()[name]
    variables = {column: known.get("columns", {}).get(column, known.get("each")) for column in X}
    parts, single = known["tables"], len(found) == 1
    return Dataset(
        name=name,
        X=X,
        y=y.astype("int64"),
        kinds={column: kind for column, (kind, _) in variables.items()},
        descriptions={
            column: text.replace("{column}", column) for column, (_, text) in variables.items()
        },
        description=f"{known['title']}. {known['summary']} {done}".strip(),
        licence=known["licence"],
        citation=known["citation"],
        source="; ".join(dict.fromkeys(found.values())),
        checksums={
            what if single else f"{table} {what}": sha
            for table in found
            for what, sha in parts[table]["checksums"].items()
        },
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

    Examples
    --------
    >>> data = load_breast_cancer()
    >>> data.y.name, int(data.y.sum()), set(data.kinds.values())
    ('malignant', 212, {'numeric'})
    """
    bunch = sklearn.datasets.load_breast_cancer(as_frame=True)
    X = bunch.data
    y = (bunch.target == list(bunch.target_names).index("malignant")).rename("malignant")
    source = f"bundled with scikit-learn {sklearn.__version__}"
    expected = registry()["breast_cancer"]["tables"]["breast_cancer"]["checksums"]["table"]
    found = frame_sha256(pd.concat([X, y], axis=1))
    if found != expected:
        raise DataMismatchError(
            f"breast_cancer: the table {source} is not the published one: "
            f"expected SHA-256 {expected}, found {found}"
        )
    return _dataset("breast_cancer", X, y, found={"breast_cancer": source})


def knn_imputer(kinds: Mapping[str, Kind], n_neighbors: int = 5) -> Pipeline:
    """Imputer by the nearest complete neighbours that keeps categories whole.

    A gap in a numeric column gets the mean of the `n_neighbors` nearest rows that have
    a value there (:class:`sklearn.impute.KNNImputer`). In a nominal or ordinal column
    that mean is rounded to the nearest whole number, halves upwards: a majority vote for
    yes and no, a whole count for counts. Fit it on training rows only.

    Parameters
    ----------
    kinds : mapping of str to {"numeric", "nominal", "ordinal"}
        Kind of each column of the frames to come.
    n_neighbors : int, default=5
        k; the paper's value (App. D of PVF-IE).

    Returns
    -------
    Pipeline
        Transforms frames to frames with the same columns.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [20.0, 21.0, 60.0, 22.0], "smokes": [1.0, 1.0, 0.0, None]})
    >>> imputer = knn_imputer({"age": "numeric", "smokes": "nominal"}, n_neighbors=2)
    >>> imputer.fit_transform(table)["smokes"].tolist()
    [1.0, 1.0, 0.0, 1.0]
    """
    check.integer("n_neighbors", n_neighbors, 1)
    whole = [column for column, kind in kinds.items() if kind != "numeric"]
    pipeline = make_pipeline(
        KNNImputer(n_neighbors=n_neighbors),
        FunctionTransformer(
            _round_columns,
            kw_args={"columns": list(kinds), "whole": whole},
            feature_names_out="one-to-one",
        ),
    )
    return pipeline.set_output(transform="pandas")


def _round_columns(frame: pd.DataFrame, columns: list[str], whole: list[str]) -> pd.DataFrame:
    """Round some columns; refuse a frame from which the imputer dropped one as empty."""
    empty = [column for column in columns if column not in frame.columns]
    if empty:
        raise ValueError(f"X must hold a value in each column to impute from, got none in {empty}.")
    return frame.assign(**{column: np.floor(frame[column] + 0.5) for column in whole})


def load_cervical_cancer(
    target: str = "Schiller",
    missing: str = "complete-case",
    other_targets: str = "drop",
    *,
    earlier_diagnoses: str = "keep",
    download: bool = True,
) -> Dataset:
    """Cervical Cancer (Risk Factors), UCI 383.

    858 patients, 32 features and the outcomes of four screening tests. As in the paper
    (App. D of PVF-IE), columns of which more than half is missing are dropped (the two
    times since a diagnosis), which leaves 30 features and the 4 outcomes: the paper's
    "34 features". The paper then says both that gaps are imputed and that 668 samples
    remain; 668 is the number of complete rows, so which of the two was done is a
    parameter here.

    Parameters
    ----------
    target : {"Schiller", "Hinselmann", "Cytology", "Biopsy"}, default="Schiller"
        Outcome to predict. The paper: Schiller, 74 of 858 positive.
    missing : {"complete-case", "knn", "keep"}, default="complete-case"
        What becomes of gaps. "complete-case" keeps the 668 complete rows (63 with
        ``Schiller`` = 1); "knn" imputes all 858 rows by :func:`knn_imputer` with k = 5,
        on the 30 features and never the outcomes; "keep" returns 858 rows with NaN, for
        imputation inside each training part.
    other_targets : {"drop", "keep"}, default="drop"
        Whether the other three outcomes are features. They are taken at the same visit
        as the target: with "keep" they leak it.
    earlier_diagnoses : {"keep", "drop"}, default="keep"
        Whether the four ``Dx`` columns are features. They may rest on the same visit; the
        paper keeps them.
    download : bool, default=True
        Whether to download what is not on this machine.

    Returns
    -------
    Dataset
        ``X`` of shape (668 or 858, 30), fewer without the diagnoses, more with the other
        outcomes, all ``float64``; ``y`` named after the target. Rows keep their
        number in the published table as index.
    """
    _choice("target", target, CERVICAL_TARGETS)
    _choice("missing", missing, ("complete-case", "knn", "keep"))
    _choice("other_targets", other_targets, ("drop", "keep"))
    _choice("earlier_diagnoses", earlier_diagnoses, ("drop", "keep"))
    table, where = obtain("cervical_cancer", download=download)
    table = table.loc[:, table.isna().mean() <= 0.5]
    features = table.drop(columns=list(CERVICAL_TARGETS))
    done = "Columns of which more than half is missing are dropped."
    if missing == "complete-case":
        features = features.dropna()
        done += " Rows with a gap are dropped."
    elif missing == "knn":
        columns = registry()["cervical_cancer"]["columns"]
        kinds = {name: columns[name][0] for name in features.columns}
        features = knn_imputer(kinds).fit_transform(features)
        done += " Gaps are imputed from the five nearest rows."
    if earlier_diagnoses == "drop":
        features = features.drop(columns=list(CERVICAL_DIAGNOSES))
    if other_targets == "keep":
        others = [name for name in CERVICAL_TARGETS if name != target]
        features = features.join(table[others])
        done += " The other three outcomes are features: they leak the target."
    return _dataset(
        "cervical_cancer",
        features,
        table.loc[features.index, target],
        done=done,
        found={"cervical_cancer": where},
    )


def _as_category(column: pd.Series, order: Sequence[str] | None = None) -> pd.Series:
    """Text as a category; sorted, or ordered as given."""
    categories = sorted(column.dropna().unique()) if order is None else list(order)
    kind = pd.CategoricalDtype(categories, ordered=order is not None)
    return column.astype(object).astype(kind)


def load_adult(part: str = "train", missing: str = "keep", *, download: bool = True) -> Dataset:
    """Adult (census income), UCI 2.

    Parameters
    ----------
    part : {"train", "test", "all"}, default="train"
        The publisher's parts: 32,561 rows (what the PMV paper uses), 16,281, or both,
        the training part first.
    missing : {"keep", "complete-case"}, default="keep"
        Whether rows with a gap (published as ``?``) stay.
    download : bool, default=True
        Whether to download what is not on this machine.

    Returns
    -------
    Dataset
        ``X`` with 14 columns: amounts and levels as ``int64``, text as categories
        (``education`` ordered by its level); ``y`` named ``income_above_50k``.
    """
    _choice("part", part, ("train", "test", "all"))
    _choice("missing", missing, ("keep", "complete-case"))
    names = ["adult_train", "adult_test"] if part == "all" else [f"adult_{part}"]
    found = {name: obtain(name, download=download) for name in names}
    table = pd.concat([frame for frame, _ in found.values()], ignore_index=True)
    if missing == "complete-case":
        table = table.dropna()
    levels = table.drop_duplicates("education").sort_values("education-num")["education"]
    X = pd.DataFrame(
        {
            name: column.astype("int64")
            if pd.api.types.is_numeric_dtype(column.dtype)
            else _as_category(column, levels.tolist() if name == "education" else None)
            for name, column in table.drop(columns="income").items()
        }
    )
    return _dataset(
        "adult",
        X,
        (table["income"] == ">50K").rename("income_above_50k"),
        done="Rows with a gap are dropped." if missing == "complete-case" else "",
        found={name: where for name, (_, where) in found.items()},
    )


def load_compas(
    rows: str = "screened",
    target: str = "two_year_recid",
    scores: str = "drop",
    *,
    download: bool = True,
) -> Dataset:
    """COMPAS, ProPublica's two-year file, without the columns that name people.

    Parameters
    ----------
    rows : {"screened", "all"}, default="screened"
        "screened" keeps the 6,172 defendants that ProPublica analysed: screened within
        30 days of the arrest, with a known outcome, no ordinary traffic offence, and a
        score. "all" keeps the 7,214.
    target : {"two_year_recid", "is_recid"}, default="two_year_recid"
        Charged again within two years, or at any time. The other is not a feature.
    scores : {"drop", "keep"}, default="drop"
        Whether the tool's own scores are features.
    download : bool, default=True
        Whether to download what is not on this machine.

    Returns
    -------
    Dataset
        ``X`` with 11 columns (13 with the scores): numbers as ``float64``, text as
        categories; ``length_of_stay`` is made from the two dates. ``y`` named after the
        target.
    """
    _choice("rows", rows, ("screened", "all"))
    _choice("target", target, ("two_year_recid", "is_recid"))
    _choice("scores", scores, ("drop", "keep"))
    table, where = obtain("compas", download=download)
    if rows == "screened":
        table = table[
            table["days_b_screening_arrest"].between(-30, 30)
            & (table["is_recid"] != -1)
            & (table["c_charge_degree"] != "O")
            & table["score_text"].notna()
        ]
    stay = pd.to_datetime(table["c_jail_out"]) - pd.to_datetime(table["c_jail_in"])
    orders = {
        "age_cat": ["Less than 25", "25 - 45", "Greater than 45"],
        "score_text": ["Low", "Medium", "High"],
    }
    dropped = ["id", "c_jail_in", "c_jail_out", "two_year_recid", "is_recid"]
    dropped += ["decile_score", "score_text"] if scores == "drop" else []
    X = table.drop(columns=dropped).assign(length_of_stay=stay.dt.days.astype("float64"))
    for name in ("sex", "age_cat", "race", "c_charge_degree", "score_text"):
        if name in X.columns:
            X[name] = _as_category(X[name], orders.get(name))
    return _dataset(
        "compas",
        X,
        table[target],
        done="The rows that ProPublica analysed are kept." if rows == "screened" else "",
        found={"compas": where},
    )


def load_connect4(draws: str = "drop", *, download: bool = True) -> Dataset:
    """Connect-4, UCI 26: positions with eight discs, and whether the first player wins.

    Parameters
    ----------
    draws : {"drop", "keep"}, default="drop"
        "drop" leaves 61,108 positions won or lost, as in the PMV paper; "keep" returns
        all 67,557 with draws among the negatives.
    download : bool, default=True
        Whether to download what is not on this machine.

    Returns
    -------
    Dataset
        ``X`` with 42 columns, one a square, ``a1`` to ``g6``: categories b (blank),
        x (first player) and o (second); ``y`` named ``win``.
    """
    _choice("draws", draws, ("drop", "keep"))
    table, where = obtain("connect4", download=download)
    if draws == "drop":
        table = table[table["class"] != "draw"]
    squares = pd.CategoricalDtype(["b", "x", "o"])
    return _dataset(
        "connect4",
        table[list(SQUARES)].astype(squares),
        (table["class"] == "win").rename("win"),
        done="Draws are dropped." if draws == "drop" else "Draws count as not won.",
        found={"connect4": where},
    )


def load_mnist_pair(
    negative: int = 0, positive: int = 1, *, part: str = "test", download: bool = True
) -> Dataset:
    """Images of two handwritten digits, MNIST.

    Parameters
    ----------
    negative, positive : int, default=0, 1
        The two digits, 0 to 9; `positive` gets the label 1.
    part : {"test", "train", "all"}, default="test"
        The publishers' parts, the training part first. For 0 and 1: 2,115 images,
        12,665, or the 14,780 of the PMV paper.
    download : bool, default=True
        Whether to download what is not on this machine.

    Returns
    -------
    Dataset
        ``X`` with 784 columns of ``uint8`` grey values, row by row from the upper left,
        0 (paper) to 255 (ink); ``y`` named ``digit_1`` for `positive` = 1.
    """
    for name, digit in (("negative", negative), ("positive", positive)):
        if check.integer(name, digit, 0) > 9:
            raise ValueError(f"{name} must be a digit from 0 to 9, got {digit}.")
    if negative == positive:
        raise ValueError(f"positive must differ from negative, got {positive} twice.")
    _choice("part", part, ("train", "test", "all"))
    names = ["mnist_train", "mnist_test"] if part == "all" else [f"mnist_{part}"]
    found = {name: obtain(name, download=download) for name in names}
    chosen = [frame[frame["digit"].isin([negative, positive])] for frame, _ in found.values()]
    table = pd.concat(chosen, ignore_index=True)
    return _dataset(
        "mnist",
        table[list(PIXELS)],
        (table["digit"] == positive).rename(f"digit_{positive}"),
        done=f"Only the digits {negative} and {positive} are kept.",
        found={name: where for name, (_, where) in found.items()},
    )


def _local_file(data: str, name: str, source: str) -> Path:
    folder = data_folder()
    path = None if folder is None else folder / name
    if path is None or not path.is_file():
        where = "no folder is named" if folder is None else f"not in {folder}"
        raise DataUnavailableError(
            f"{data} is never downloaded, and {name} was not found: {where}. Get it from {source}, "
            f"put it into a folder, and name the folder in {FOLDER_VARIABLE}."
        )
    return path


def load_hsls() -> tuple[pd.DataFrame, pd.Series]:
    """High School Longitudinal Study of 2009, the public-use student file, from a local copy.

    Who is in the better half of the ninth-grade test of mathematics? As Hsu and Calmon (2022) do,
    from what students and parents said; rows with a gap are dropped. Theirs is a copy with imputed
    gaps that is not published, so that numbers will differ.

    Returns
    -------
    X : DataFrame
        Codes and scales of the publisher, one column each.
    y : Series
        1 in the better half, named ``math_top_half``.
    """
    source = "the online codebook of the National Center for Education Statistics, study HSLS:09"
    path = _local_file("HSLS:09", HSLS_FILE, source)
    wanted = [*HSLS_COLUMNS, HSLS_SCORE]
    header = pd.read_csv(path, nrows=0).columns
    if missing := sorted(set(wanted) - set(header)):
        raise DataMismatchError(f"{HSLS_FILE} must hold the columns {wanted}, it lacks {missing}")
    table = pd.read_csv(path, usecols=wanted)[wanted].astype(float)
    table = table.replace(list(HSLS_MISSING), np.nan).dropna().reset_index(drop=True)
    score = table.pop(HSLS_SCORE)
    return table, (score > score.median()).astype("int64").rename("math_top_half")


def load_cifar10() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """CIFAR-10, the publisher's binary version, from a local copy.

    Returns
    -------
    X : ndarray of uint8 of shape (60000, 3, 32, 32)
        The five training batches first, then the test batch.
    y : ndarray of int of shape (60000,)
        Classes 0 to 9.
    """
    path = _local_file("CIFAR-10", CIFAR_FILE, "https://www.cs.toronto.edu/~kriz/cifar.html")
    names = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
    batches = []
    with tarfile.open(path) as archive:
        for name in names:
            try:
                member = archive.extractfile(f"cifar-10-batches-bin/{name}")
            except KeyError:
                member = None
            content = b"" if member is None else member.read()
            if len(content) != 10_000 * 3073:
                raise DataMismatchError(
                    f"{CIFAR_FILE} must hold {name} with 30730000 bytes, got {len(content)}"
                )
            batches.append(np.frombuffer(content, dtype=np.uint8).reshape(10_000, 3073))
    records = np.concatenate(batches)
    y = records[:, 0].astype(np.int64)
    if y.max() > 9:
        raise DataMismatchError(f"{CIFAR_FILE} must hold classes 0 to 9, got {y.max()}")
    return records[:, 1:].reshape(-1, 3, 32, 32), y


def make_clusters(
    n_samples: int, mu: float, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.Series]:
    """Two Gaussian clusters among irrelevant features (App. C.1 of PVF-IE).

    80 % of the samples are negative, with the first two features around (0, 0); 20 % are
    positive, around (mu, mu). The other three features say nothing. All five are
    independent normal variables with standard deviation 1.

    Parameters
    ----------
    n_samples : int
        Number of samples, at least 5. The positives are 20 %, rounded to a whole number.
    mu : float
        Distance of the two centres in each of the first two features, in standard
        deviations. The paper: 0.1 to 2.9.
    rng : numpy.random.Generator
        Source of the normal numbers, drawn row by row.

    Returns
    -------
    X : DataFrame of shape (n_samples, 5)
        Columns ``x1`` to ``x5``; the first two carry the signal.
    y : Series of shape (n_samples,)
        0 or 1; negatives come first.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = make_clusters(50, 1.5, np.random.default_rng(0))
    >>> X.shape, int(y.sum())
    ((50, 5), 10)
    """
    n_samples = check.integer("n_samples", n_samples, 5)
    centre = check.number("mu", mu, 0)
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator, got {rng!r}.")
    n_positives = round(0.2 * n_samples)
    labels = np.repeat([0, 1], [n_samples - n_positives, n_positives])
    X = rng.standard_normal((n_samples, 5))
    X[labels == 1, :2] += centre
    columns = [f"x{number}" for number in range(1, 6)]
    return pd.DataFrame(X, columns=columns), pd.Series(labels, name="y")
