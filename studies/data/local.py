"""Data that their users have to get themselves: read from ``$PVF_DATA_DIR`` and nowhere else."""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from studies.data.files import FOLDER_VARIABLE, data_folder
from studies.data.tables import DataMismatchError, DataUnavailableError

HSLS_FILE = "hsls_17_student_pets_sr_v1_0.csv"
CIFAR_FILE = "cifar-10-binary.tar.gz"
#: What the ninth-graders and their parents said in 2009, and the test of mathematics.
HSLS_COLUMNS = (
    "X1SEX",
    "X1RACE",
    "X1SES",
    "X1PAREDU",
    "X1FAMINCOME",
    "X1STUEDEXPCT",
    "X1PAREDEXPCT",
    "X1MTHID",
    "X1MTHUTI",
    "X1MTHEFF",
    "X1MTHINT",
    "X1SCHOOLBEL",
    "X1SCHOOLENG",
)
HSLS_SCORE = "X1TXMTSCOR"
#: Codes of the publisher for what is missing or was not asked.
HSLS_MISSING = (-9, -8, -7, -6, -5, -4)


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

    Raises
    ------
    DataUnavailableError
        If the file is not in the folder that ``PVF_DATA_DIR`` names.
    DataMismatchError
        If it lacks a column.
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

    Raises
    ------
    DataUnavailableError
        If the file is not in the folder that ``PVF_DATA_DIR`` names.
    DataMismatchError
        If it is not six batches of 10,000 pictures.
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
