"""The notebook for readers' own data, started as its page says."""

import os
import shutil
import subprocess
import sys

import nbformat
import pytest
from conftest import REPOSITORY
from ugly_csv import TARGET, to_bytes, ugly_table

from book.tools.project import ROOT


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """Lay out a folder with the notebook, an ugly table and a pool, as a reader's clone."""
    root = tmp_path_factory.mktemp("own") / "a clone"
    (root / "notebooks").mkdir(parents=True)
    shutil.copy(REPOSITORY.notebooks / "90_your_data.ipynb", root / "notebooks")
    shutil.copy(REPOSITORY.root / "tests" / "own_pool.py", root)
    (root / "my.csv").write_bytes(to_bytes(ugly_table()))
    return root


def papermill(root, *options):
    """Run the line that the page shows, from the root of the clone."""
    line = ["notebooks/90_your_data.ipynb", "report.ipynb", "--no-progress-bar", *options]
    return subprocess.run(
        [sys.executable, "-m", "papermill", *line],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_plain_papermill_finds_the_file_beside_it(clone):
    """`-p csv my.csv` is relative to where papermill was started; the page ends in its advice."""
    options = f"-p csv my.csv -p target {TARGET} -p capacity 0.2 -p pool own_pool:small"
    done = papermill(clone, *options.split(), "-y", "kinds: [Diabetes=nominal]")
    assert done.returncode == 0, done.stderr
    notebook = nbformat.read(clone / "report.ipynb", as_version=4)
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    shown = "".join(str(out.get("data", out.get("text", ""))) for out in outputs)
    for words in ("Patient-Nr", "given by you", "rows without an outcome", "Caveats", "Model card"):
        assert words in shown
    assert sum("image/png" in out.get("data", {}) for out in outputs) == 4
    assert "these patients are not simulated" in shown
    assert not [out for out in outputs if out.get("name") == "stderr"]


def test_fault_of_the_data_stops_the_notebook_with_its_message(clone):
    """A misspelt target ends the run with the line that the command gives too."""
    done = papermill(clone, *["-p", "csv", "my.csv", "-p", "target", "died"])
    assert done.returncode != 0
    assert "target 'died' is no column" in done.stderr
