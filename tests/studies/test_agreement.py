"""Tables made anew against the committed ones."""

import dataclasses
import os

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from studies import catalogue as tables
from studies.__main__ import main
from studies.data.datasets import DataUnavailableError
from studies.kit import agreement
from studies.kit import results as store
from studies.kit.estimates import mean_estimates
from studies.kit.results import read_result, run_blocks, write_result
from studies.kit.study import Settings, Study, setting


def runs(seed: int, shift: float = 0.0) -> pd.DataFrame:
    """Two rules at two noise levels over forty repetitions, one rule better by `shift`."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "repetition": r,
            "sigma": sigma,
            "rule": rule,
            "win": rng.normal(shift if rule == "b" else 0),
        }
        for r in range(40)
        for sigma in (0.1, 0.2)
        for rule in ("a", "b")
    ]
    return pd.DataFrame(rows)


def estimate(table: pd.DataFrame) -> pd.DataFrame:
    """Average over the repetitions."""
    return mean_estimates(table, ["sigma", "rule"], ["win"])


@pytest.mark.parametrize(
    ("fresh", "committed", "kind"),
    [
        pytest.param(runs(1), runs(1), "same bits", id="the same"),
        pytest.param(
            runs(1).assign(win=runs(1)["win"] * (1 + 1e-9)), runs(1), "same numbers", id="rounding"
        ),
        pytest.param(runs(2), runs(1), "within intervals", id="another seed"),
        pytest.param(runs(2, shift=2.0), runs(1), "differs", id="another truth"),
        pytest.param(runs(2).drop(columns="win"), runs(1), "differs", id="a column less"),
        pytest.param(runs(1).assign(rule="a"), runs(1), "differs", id="other keys"),
        pytest.param(runs(1)[:-4], runs(1), "within intervals", id="a repetition less"),
    ],
)
def test_kind_of_agreement(fresh, committed, kind):
    """Equal tables, rounding, chance and change are told apart."""
    assert agreement.compare(fresh, committed, estimate=estimate).kind == kind


def test_two_runs_of_one_truth_rarely_differ():
    """Of 100 pairs of independent runs at most 5%, give or take chance, are said to differ."""
    kinds = [
        agreement.compare(runs(2 * i), runs(2 * i + 1), estimate=estimate).kind for i in range(100)
    ]
    assert kinds.count("differs") <= 11


def test_without_estimates_other_numbers_differ():
    """A table that nothing estimates from agrees only number by number."""
    assert agreement.compare(runs(2), runs(1)).kind == "differs"


@dataclasses.dataclass(frozen=True)
class Seeded(Settings):
    """A study of one block."""

    seed: int = setting(5, "Seed.", low=0)


SMALL = Study(
    name="small",
    settings=Seeded,
    blocks=lambda _: [0],
    block=lambda _, settings: runs(settings.seed).assign(seconds=np.random.default_rng().random()),
    estimate=estimate,
    measured=("seconds",),
)


@pytest.fixture
def committed(tmp_path, monkeypatch):
    """Commit one small table in a folder of its own; return what puts another study in place."""
    folder = tmp_path / "committed"
    monkeypatch.setattr(store, "results_folder", lambda: folder)
    monkeypatch.setattr(tables, "STUDIES", {"small": SMALL})
    write_result(
        runs(5).assign(seconds=1.0), "small", settings={}, seed=5, wall_time=1, folder=folder
    )
    return lambda block: monkeypatch.setattr(
        tables, "STUDIES", {"small": dataclasses.replace(SMALL, block=block)}
    )


def test_tables_are_made_anew_and_compared(committed, tmp_path):
    """A table that comes out the same but for its measured times has the same bits."""
    lines = []
    found = agreement.check_tables(folder=tmp_path / "fresh", report=lines.append)
    assert {name: one.kind for name, one in found.items()} == {"small": "same bits"}
    assert lines[0].startswith("table small: same bits (160 rows")
    assert len(read_result("small", tmp_path / "fresh")[0]) == 160


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (DataUnavailableError("put adult.data into PVF_DATA_DIR"), "adult.data"),
        (ModuleNotFoundError("No module named 'torch'", name="torch"), "torch"),
    ],
    ids=["data", "package"],
)
def test_what_cannot_be_made_here_is_named(committed, tmp_path, error, reason):
    """Missing data or an optional package is no disagreement, and is named."""

    def fail(*_):
        raise error

    committed(fail)
    found = agreement.check_tables(folder=tmp_path / "fresh")["small"]
    assert found.kind == "not made"
    assert reason in found.says


def test_what_will_be_left_out_is_said_first(committed, monkeypatch, tmp_path):
    """A table whose package is missing is named before the first is made; the others are made."""

    def needs_torch(_):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    large = dataclasses.replace(SMALL, name="large", blocks=needs_torch)
    monkeypatch.setattr(tables, "STUDIES", {"small": SMALL, "large": large})
    lines = []
    found = agreement.check_tables(folder=tmp_path / "fresh", report=lines.append)
    assert {n: one.kind for n, one in found.items()} == {"small": "same bits", "large": "not made"}
    assert lines[0] == "table large will be left out: it needs torch, which is not installed"
    assert lines[1].startswith("table small: same bits")


@pytest.mark.parametrize(
    ("seed", "code"), [(5, 0), (6, 0), (None, 1)], ids=["same", "chance", "other"]
)
def test_command_fails_only_if_a_table_differs(committed, monkeypatch, tmp_path, seed, code):
    """`tables --check` prints a line a table and fails if the numbers are others."""
    table = runs(6, shift=3.0) if seed is None else runs(seed)
    committed(lambda *_: table.assign(seconds=0.0))
    monkeypatch.setattr("studies.__main__.repository_root", lambda: tmp_path)
    result = CliRunner().invoke(main, ["tables", "--check"])
    assert result.exit_code == code, result.output
    assert "1 tables against the committed ones" in result.output
    assert (tmp_path / "build" / "tables" / "small.csv").is_file()


def test_blocks_are_kept_where_the_environment_says(tmp_path, monkeypatch):
    """With PVF_SHARDS set, blocks are kept there and read again, if the caller names no folder."""
    monkeypatch.setenv("PVF_SHARDS", str(tmp_path))
    calls = []

    def compute(block):
        calls.append(block)
        return pd.DataFrame({"n": [block], "pid": [os.getpid()]})

    first = run_blocks(compute, [1, 2], study="kept", settings={})
    again = run_blocks(compute, [1, 2], study="kept", settings={})
    assert calls == [1, 2]
    assert first.equals(again)
    assert len(list(tmp_path.rglob("*.parquet"))) == 2
