"""Command line of the data sets."""

import shutil

import pandas as pd
import pytest
from click.testing import CliRunner
from test_data_files import CERVICAL_FILE, alone, raw_folder, small_csv, uci

from studies.__main__ import main
from studies.data import files as _data_files
from studies.data.tables import registry

__all__ = ["alone", "uci"]


def run(*arguments: str):
    """Run ``python -m studies data`` with these arguments."""
    return CliRunner().invoke(main, ["data", *arguments])


def row(output: str, name: str) -> str:
    """Return the printed row of one table."""
    (line,) = [line for line in output.splitlines() if line.split("  ")[0] == name]
    return line


class TestStatus:
    """What is on this machine."""

    def test_an_empty_machine(self, uci):
        """Only the bundled data are here; the others say which file to put where."""
        result = run("status")
        assert result.exit_code == 0
        assert result.output.startswith("name ")
        breast = row(result.output, "breast_cancer")
        assert "569" in breast
        assert "bundled with scikit-learn" in breast
        assert "CC BY 4.0" in breast
        assert breast.endswith(" verified")
        for dataset in registry().values():
            for name, table in dataset["tables"].items():
                assert f"{table['rows']:,}" in row(result.output, name)
                for file in table["files"]:
                    assert "not here" in row(result.output, name)
                    assert file in result.output
        assert uci.requests == []

    @pytest.mark.usefixtures("uci")
    def test_a_file_in_the_folder(self, monkeypatch, tmp_path):
        """It is checked and named."""
        raw_folder(monkeypatch, tmp_path, **{CERVICAL_FILE: small_csv()})
        line = row(run("status").output, "cervical_cancer")
        assert f"$PVF_DATA_DIR/{CERVICAL_FILE}" in line
        assert line.endswith(" verified")

    @pytest.mark.usefixtures("uci")
    def test_a_refused_file(self, monkeypatch, tmp_path):
        """It is shown as refused, with the reason, and the other rows still appear."""
        raw_folder(monkeypatch, tmp_path, **{CERVICAL_FILE: small_csv("Zytologie")})
        result = run("status")
        assert result.exit_code == 0
        assert "refused" in row(result.output, "cervical_cancer")
        assert "unknown column 'Zytologie'" in result.output
        assert "not here" in row(result.output, "compas")

    def test_a_wrong_folder(self, monkeypatch):
        """One line, exit code 1."""
        monkeypatch.setenv("PVF_DATA_DIR", "/no/such/folder")
        result = run("status")
        assert result.exit_code == 1
        (line,) = result.output.splitlines()
        assert line.startswith("Error: PVF_DATA_DIR must name a folder, got '/no/such/folder'")


class TestFetch:
    """Downloads on request."""

    def test_one(self, uci):
        """A fetched table is in the cache afterwards."""
        result = run("fetch", "cervical_cancer")
        assert result.exit_code == 0, result.output
        assert "downloaded just now (ucimlrepo, UCI 383)" in row(result.output, "cervical_cancer")
        uci.requests.clear()
        assert f"cache/{CERVICAL_FILE}" in row(run("status").output, "cervical_cancer")
        assert uci.requests == []

    def test_what_can_not_be_had(self, monkeypatch, uci):
        """The others are fetched all the same; the exit code is 1 and the error whole."""
        asked = []

        def fail(table, cache):
            asked.append(table.dataset)
            raise _data_files.DataUnavailableError("no network")

        monkeypatch.setattr(_data_files, "_download", fail)
        result = run("fetch")
        assert result.exit_code == 1
        assert "verified" in row(result.output, "breast_cancer")
        assert "no network" in result.output
        assert "get connect-4.data from" in result.output
        assert len(asked) == len(set(asked)) == 5
        assert uci.requests == []

    def test_an_unknown_name(self):
        """The error lists the names."""
        result = run("fetch", "cervical")
        assert result.exit_code == 2
        assert "'cervical' is none of breast_cancer, cervical_cancer, adult" in result.output

    @pytest.mark.usefixtures("uci")
    def test_a_cache_that_can_not_be_written(self, monkeypatch):
        """One line, exit code 1."""
        folder = _data_files.cache_folder()
        shutil.rmtree(folder, ignore_errors=True)
        monkeypatch.setattr(pd.DataFrame, "to_csv", no_room)
        result = run("fetch", "cervical_cancer")
        assert result.exit_code == 1
        assert result.output.startswith("Error: cannot write to the cache folder")


def no_room(*args, **options):
    """Fail as on a full disk."""
    raise OSError(28, "No space left on device")
