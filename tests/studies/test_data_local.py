"""Loaders of data that are never downloaded, on small files made here."""

import io
import tarfile

import numpy as np
import pandas as pd
import pytest

from studies.data import datasets
from studies.data.datasets import CIFAR_FILE, HSLS_COLUMNS, HSLS_FILE, HSLS_SCORE


def write_hsls(folder, **changed):
    """Six students, the last two with a gap."""
    table = pd.DataFrame({name: np.arange(6.0) for name in HSLS_COLUMNS})
    table[HSLS_SCORE] = [30.0, 60.0, 40.0, 70.0, 50.0, -8.0]
    table.loc[4, "X1SES"] = -9
    table.assign(STU_ID=range(6), **changed).to_csv(folder / HSLS_FILE, index=False)
    return table


def test_hsls_drops_gaps_and_cuts_at_the_median(tmp_path, monkeypatch):
    """Four complete students; the two with the better test are positive."""
    monkeypatch.setenv("PVF_DATA_DIR", str(tmp_path))
    table = write_hsls(tmp_path)
    X, y = datasets.load_hsls()
    assert y.tolist() == [0, 1, 0, 1]
    pd.testing.assert_frame_equal(X, table.loc[:3, HSLS_COLUMNS])


def test_hsls_names_a_lacking_column(tmp_path, monkeypatch):
    """Another file under the same name is refused."""
    monkeypatch.setenv("PVF_DATA_DIR", str(tmp_path))
    pd.DataFrame({"X1SEX": [1]}).to_csv(tmp_path / HSLS_FILE, index=False)
    with pytest.raises(datasets.DataMismatchError, match="X1TXMTSCOR"):
        datasets.load_hsls()


def write_cifar(folder, names, size=10_000 * 3073):
    with tarfile.open(folder / CIFAR_FILE, "w:gz", compresslevel=1) as archive:
        for number, name in enumerate(names):
            content = np.zeros(size, dtype=np.uint8)
            content[::3073] = number
            content[1:3073] = np.arange(3072) % 251
            entry = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            entry.size = size
            archive.addfile(entry, io.BytesIO(content.tobytes()))


BATCHES = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]


def test_cifar_is_read_in_order(tmp_path, monkeypatch):
    """Six batches; a record is its class, then red, green and blue by rows."""
    monkeypatch.setenv("PVF_DATA_DIR", str(tmp_path))
    write_cifar(tmp_path, BATCHES)
    X, y = datasets.load_cifar10()
    assert X.shape == (60_000, 3, 32, 32)
    assert y.tolist() == np.repeat(np.arange(6), 10_000).tolist()
    assert X[20_000, 1, 2, 3] == (1024 + 2 * 32 + 3) % 251


def test_cifar_of_another_size_is_refused(tmp_path, monkeypatch):
    """A batch that is cut short, or absent, is named."""
    monkeypatch.setenv("PVF_DATA_DIR", str(tmp_path))
    write_cifar(tmp_path, BATCHES[:5])
    with pytest.raises(datasets.DataMismatchError, match=r"test_batch\.bin"):
        datasets.load_cifar10()
    write_cifar(tmp_path, BATCHES, size=3073)
    with pytest.raises(datasets.DataMismatchError, match="got 3073"):
        datasets.load_cifar10()


@pytest.mark.parametrize("named", [True, False], ids=["empty folder", "no folder"])
@pytest.mark.parametrize(
    ("load", "file"), [("load_hsls", HSLS_FILE), ("load_cifar10", CIFAR_FILE)], ids=str
)
def test_absent_files_are_asked_for(tmp_path, monkeypatch, named, load, file):
    """The error says which file to put where; nothing is downloaded."""
    monkeypatch.setenv("PVF_DATA_DIR", str(tmp_path) if named else "")
    with pytest.raises(datasets.DataUnavailableError, match=f"{file}.*PVF_DATA_DIR"):
        getattr(datasets, load)()
