"""Settings stand once: options, parameters and the report's list are made of them."""

import ast
import json
from dataclasses import fields

import pytest

from book.tools.project import ROOT
from pvf.select import cli
from pvf.select.settings import Choosing, Reading

SETTINGS = {one.name: one for kind in (Reading, Choosing) for one in fields(kind)}


def test_every_setting_with_an_option_has_it_with_its_default_and_a_help():
    """The command adds to them what is no setting: files, workers, minutes."""
    options = {param.name: param for param in cli.select.params}
    for name, one in SETTINGS.items():
        if one.metadata.get("flag"):
            option = options.pop(name)
            assert option.opts == [one.metadata["flag"]]
            assert (option.default or None) == (one.default or None)
            assert option.type == one.metadata.get("type", option.type)
    assert set(options) == {
        *("csv", "target", "n_jobs", "most_minutes", "dry_run", "reports", "saved"),
    }


def test_parameters_of_the_notebook_are_settings_with_their_defaults():
    """But for the file, its outcome, a capacity, and fewer splits."""
    notebook = json.loads((ROOT / "notebooks" / "90_your_data.ipynb").read_text(encoding="utf-8"))
    (cell,) = [c for c in notebook["cells"] if "parameters" in c["metadata"].get("tags", [])]
    given = {
        line.targets[0].id: ast.literal_eval(line.value)
        for line in ast.parse("".join(cell["source"])).body
    }
    own = {"csv", "target", "capacity", "n_splits"}
    assert own < set(given)
    for name in set(given) - own:
        assert (given[name] or None) == (SETTINGS[name].default or None), name
    assert set(given) - {"csv", "target"} <= set(SETTINGS)


def test_a_report_lists_every_setting():
    """Completed, and as arguments that give the same again."""
    listed = Choosing(places=20, per=150, sigmas=[]).completed(300)
    assert list(listed) == [one.name for one in fields(Choosing)]
    assert Choosing(**listed).completed(300) == listed
    assert listed["capacity"] == pytest.approx(20 / 150)
    assert (listed["n_splits"], listed["sigmas"]) == (20, [0.1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "capacity must be given, or places and per"),
        ({"capacity": 1.5}, "capacity must be"),
        ({"places": 30, "per": 20}, "capacity must be"),
        ({"capacity": 0.2, "places": 20, "per": 50}, "places and per must be the capacity, got 20"),
        ({"capacity": 0.2, "n_splits": 1}, "n_splits must be at least 2"),
        ({"capacity": 0.2, "n_sets": 2.5}, "n_sets must be a whole number"),
        ({"capacity": 0.2, "n_bootstraps": 0}, "n_bootstraps must be at least 1"),
        ({"capacity": 0.2, "sigma": None}, "sigma must be a number"),
        ({"capacity": 0.2, "rule": "pvf"}, "rule must be one of"),
        ({"capacity": 0.2, "test_share": 1.5}, "test_share must be"),
        ({"capacity": 0.2, "sigmas": [-1]}, "sigmas must be"),
        ({"capacity": 0.2, "splits": 3}, "unexpected keyword argument 'splits'"),
    ],
)
def test_what_a_setting_does_not_take_is_refused_by_its_name(given, message):
    """Before any row is looked at."""
    with pytest.raises((ValueError, TypeError), match=message):
        Choosing(**given)
