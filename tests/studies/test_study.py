"""The protocol of studies: settings check themselves, and a run knows what it is beside."""

import dataclasses
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from studies import catalogue
from studies.data.tables import DataUnavailableError
from studies.kit import results
from studies.kit import study as kit
from studies.kit.agreement import check_sample, check_tables
from studies.kit.estimates import mean_estimates
from studies.kit.study import Settings, Study, setting, settings_table


@dataclass(frozen=True)
class Coins(Settings):
    """Throws of a coin."""

    n_repetitions: int = setting(3, "Series of throws.", full=40, paper="1", low=1)
    share: float = setting(0.5, "Chance of heads.", low=0, high=1)
    side: str = setting("heads", "What counts.", choices=["heads", "tails"])
    sigmas: tuple = setting((0.1, 0.2), "Noise levels.")
    seed: int = setting(7, "Seed.", low=0)


def throw(key, settings):
    """Throw one series."""
    rng = np.random.default_rng([settings.seed, key])
    return pd.DataFrame({"repetition": [key], "rule": "a", "win": [rng.normal(settings.share)]})


def estimate(rows):
    """Average over the series."""
    return mean_estimates(rows, ["rule"], ["win"])


STUDY = Study(
    name="coins",
    settings=Coins,
    blocks=lambda settings: range(settings.n_repetitions),
    block=throw,
    estimate=estimate,
    figures={"fig-coins": lambda *_, **__: Figure()},
)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("n_repetitions", 0, ValueError),
        ("n_repetitions", 1.5, TypeError),
        ("n_repetitions", True, TypeError),
        ("share", float("nan"), ValueError),
        ("share", 1.1, ValueError),
        ("share", "0.5", TypeError),
        ("side", "edge", ValueError),
        ("sigmas", 0.1, TypeError),
    ],
)
def test_settings_refuse_what_they_do_not_take(name, value, error):
    """The error names the setting."""
    with pytest.raises(error, match=f"^{name} must be"):
        Coins(**{name: value})


def test_settings_take_equal_values_of_near_types():
    """A whole number for a float and a list for a tuple, as YAML and papermill give them."""
    assert Coins(share=1).share == 1.0
    assert Coins(sigmas=[0.3]).sigmas == (0.3,)


def test_full_settings_and_their_table_come_from_the_fields():
    """The full value where there is one, else the default."""
    assert Coins.full() == Coins(n_repetitions=40)
    table = settings_table(Coins)
    assert table.loc["n_repetitions", ["reduced", "full", "paper"]].tolist() == [3, 40, "1"]


@pytest.fixture
def committed(monkeypatch):
    """Commit forty series."""
    table = STUDY.table(Coins.full())
    monkeypatch.setattr(kit, "read_result", lambda name: (table, {"wall_time": 1.0, "name": name}))
    return table


def test_run_draws_its_own_numbers_beside_the_committed(committed):
    """Another seed, other estimates; the reference stays."""
    first, second = STUDY.run(n_jobs=1), STUDY.run(n_jobs=1, seed=8)
    assert first.estimates["estimate"].item() != second.estimates["estimate"].item()
    assert first.reference.equals(second.reference)
    assert first.estimates["n"].item() == 3
    assert "1 of 1 estimates agree" in first.says()
    assert isinstance(first.figure("fig-coins"), Figure)


def test_full_run_says_whether_bits_are_the_same(committed):
    """At the full settings the page shows the fresh run and compares it with the table."""
    assert "the same bits as" in STUDY.run(n_jobs=1, n_repetitions=40).says()
    assert "draws its own, smaller run" in STUDY.run(n_jobs=1, n_repetitions=40, seed=9).says()


def test_missing_data_show_the_committed_results_and_say_so(committed):
    """Nothing stands in for the data."""

    def absent(key, settings):
        raise DataUnavailableError("no coin here")

    run = Study("coins", Coins, STUDY.blocks, absent, estimate).run(n_jobs=1)
    assert run.table is None
    assert run.estimates.equals(run.reference)
    assert "did not run" in run.says()
    assert "no coin here" in run.says()


@pytest.fixture
def in_catalogue(monkeypatch, tmp_path):
    """Make the study the only one of the catalogue, its table committed in a folder of its own."""
    timed = dataclasses.replace(
        STUDY,
        block=lambda key, settings: throw(key, settings).assign(
            seconds=np.random.default_rng().random()
        ),
        sample={"n_repetitions": 2},
        measured=("seconds",),
    )
    folder = tmp_path / "committed"
    monkeypatch.setattr(results, "results_folder", lambda: folder)
    monkeypatch.setattr(kit, "_notes", lambda: {"coins": "Coins."})
    monkeypatch.setattr(catalogue, "STUDIES", {"coins": timed})
    catalogue.make_table("coins", folder=folder)
    return timed


def test_a_study_table_is_made_with_its_full_settings_on_record(in_catalogue):
    """Provenance has the settings in full, the seed apart, and the study's notes."""
    table, facts = results.read_result("coins")
    assert len(table) == 40
    assert facts["settings"]["n_repetitions"] == 40
    assert facts["settings"]["sigmas"] == [0.1, 0.2]
    assert facts["seed"] == 7
    assert facts["notes"].startswith("Coins.")


def test_a_study_table_comes_out_again_whole_and_in_sample(in_catalogue, tmp_path, monkeypatch):
    """Both checks find the same bits but for the times, and another block's numbers differ."""
    assert check_tables(folder=tmp_path / "fresh")["coins"].kind == "same bits"
    assert check_sample("coins").says == "2 of 2 rows of the sample are in the table"

    def other(key, settings):
        return in_catalogue.block(key, settings).assign(win=9.0)

    changed = dataclasses.replace(in_catalogue, block=other)
    monkeypatch.setattr(catalogue, "STUDIES", {"coins": changed})
    assert check_sample("coins").kind == "differs"
    assert check_tables(folder=tmp_path / "fresh")["coins"].kind == "differs"


def test_a_resumed_table_says_so(in_catalogue, tmp_path, monkeypatch):
    """Its wall time is that of all calls, its notes name the resumption; its bits are the same."""
    whole = results.read_result("coins")[0].drop(columns="seconds")
    calls = []

    def stops(key, settings):
        calls.append(key)
        if len(calls) == 30:
            raise KeyboardInterrupt
        time.sleep(0.02)
        return in_catalogue.block(key, settings)

    monkeypatch.setattr(
        catalogue, "STUDIES", {"coins": dataclasses.replace(in_catalogue, block=stops)}
    )
    made = {"out": tmp_path / "shards", "folder": tmp_path / "resumed"}
    with pytest.raises(KeyboardInterrupt):
        catalogue.make_table("coins", **made)
    for _ in range(2):  # the second finds all blocks
        catalogue.make_table("coins", **made)
        table, facts = results.read_result("coins", tmp_path / "resumed")
        assert len(calls) == 41
        assert facts["resumptions"] == 1
        assert facts["wall_time"] > facts["block_time"] > 40 * 0.02
        assert "Resumed once" in facts["notes"]
        assert facts["load"] in facts["notes"]
        pd.testing.assert_frame_equal(table.drop(columns="seconds"), whole, check_exact=True)
