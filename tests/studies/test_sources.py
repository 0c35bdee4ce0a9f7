"""Digests of the code that makes a table: what changes them, and what does not."""

import pytest

from studies.catalogue import STUDIES
from studies.kit.digest import changed_modules, read_source, table_code
from studies.kit.results import read_result

TABLE_MODULE = '''
from studies import deep
from studies.flat import run, draw
from studies.coins import SERIES

ALL = (*SERIES, *OTHERS)

def _wrapped(**arguments):
    """Wrap it."""
    return deep.measure(**arguments)

OTHERS = (
    Study(name="one", block=run),
    Study(name="two", block=_wrapped),
    *(Study(name=f"many_{n}", block=partial(run, n=n)) for n in ("a", "b")),
)
'''
FLAT = '''
import numpy as np
from pvf import plotting

LEVEL = 3

class Data:
    """Hold it."""
    level: int = LEVEL

def run(*, seed: int) -> Data:
    """Run it."""
    # at once
    return Data(_helper(seed))

def _helper(seed):
    return np.exp(seed)

def draw(table):
    return plotting.PALETTE
'''
DEEP = """
def measure(**arguments):
    from studies.flat import _helper
    return "known" if _helper(1) else plain
"""
PLOTTING = "PALETTE = []\n"
COINS = """
from dataclasses import dataclass, replace
from studies import flat
from studies.kit.study import Settings, Study, setting

@dataclass(frozen=True)
class Coins(Settings):
    n: int = setting(3, "Series.", full=40, paper="1", low=1)
    side: str = setting("heads", "What counts.")

def throw(key, settings):
    return flat._helper(key)

def short(rows):
    return rows

def estimate(table):
    return mean(table)

def wide(estimates, reference):
    return draw(estimates)

COIN = Study(
    "coin", Coins, lambda settings: range(settings.n), throw, estimate,
    summarise=short, figures={"fig-coin": wide},
)
SERIES = (COIN, replace(COIN, name="coin_twice", version=2), *(
    Study(name=f"coin_{side}", settings=Coins, blocks=range, block=throw, estimate=estimate)
    for side in ("left", "right")
))
"""
DATA = "[known]\nrows = 3\npage = 'here'\n[other]\nrows = 4\n"
FILES = {
    "studies/catalogue.py": TABLE_MODULE,
    "studies/flat.py": FLAT,
    "studies/deep.py": DEEP,
    "studies/coins.py": COINS,
    "pvf/plotting.py": PLOTTING,
    "studies/data/registry.toml": DATA,
}


def digests(name, path=None, old="", new=""):
    """Digest an invented library after a change of one of its files."""
    assert path is None or old in FILES[path]
    changed = {p: text.replace(old, new) if p == path else text for p, text in FILES.items()}
    return table_code(name, changed.get)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("studies/flat.py", "# at once", "# in time"),
        ("studies/flat.py", '"""Run it."""', '"""Run it, and say so."""'),
        ("studies/flat.py", "-> Data:", "-> object:"),
        ("studies/flat.py", "seed: int", "seed: float"),
        ("studies/flat.py", "Data(_helper(seed))", "Data(\n        _helper(seed),\n    )"),
        ("studies/flat.py", "return plotting.PALETTE", "return table"),
        ("pvf/plotting.py", "[]", "['red']"),
        ("studies/deep.py", "plain", "fancy"),
        ("studies/catalogue.py", "Wrap it.", "Wrap them."),
        ("studies/data/registry.toml", "rows = 3", "rows = 5"),
        ("studies/data/registry.toml", "'here'", "'there'"),
    ],
    ids=[
        "comment",
        "docstring",
        "annotation of the result",
        "annotation of an argument",
        "layout",
        "figure",
        "plotting",
        "module not reached",
        "another table",
        "data not named",
        "address of the data",
    ],
)
def test_changes_that_change_no_result_leave_the_digest(path, old, new):
    """Comments, docstrings, annotations, layout, figures and other tables' code do not count."""
    assert digests("one", path, old, new) == digests("one")


@pytest.mark.parametrize(
    ("name", "path", "old", "new", "changed"),
    [
        ("one", "studies/flat.py", "np.exp", "np.log", ["studies.flat"]),
        ("one", "studies/flat.py", "LEVEL = 3", "LEVEL = 4", ["studies.flat"]),
        ("two", "studies/flat.py", "np.exp", "np.log", ["studies.flat"]),
        ("two", "studies/deep.py", "_helper(1)", "_helper(2)", ["studies.deep"]),
        ("two", "studies/catalogue.py", "**arguments)\n\n", "seed=1)\n\n", ["studies.catalogue"]),
        (
            "two",
            "studies/data/registry.toml",
            "rows = 3",
            "rows = 5",
            ["studies/data/registry.toml"],
        ),
        ("one", "studies/catalogue.py", "block=run", "block=draw", None),
    ],
    ids=["helper", "constant", "local import", "attribute", "wrapper", "data", "other function"],
)
def test_changes_of_reached_code_are_named(name, path, old, new, changed):
    """A change anywhere below the table's function shows, with the module's name."""
    found = changed_modules(digests(name), digests(name, path, old, new))
    assert found == changed if changed else found


def test_tables_made_in_a_loop_are_found():
    """A key that an f-string makes leads to the same code, and follows its changes."""
    assert set(digests("many_a")) == set(digests("one"))
    found = changed_modules(
        digests("many_b"), digests("many_b", "studies/flat.py", "np.exp", "np.log")
    )
    assert found == ["studies.flat"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mean(table)", "median(table)"),
        ("draw(estimates)", "draw(reference)"),
        ("Series.", "How many series."),
        ("setting(3", "setting(4"),
        ("low=1", "low=2"),
        ('paper="1"', 'paper="2"'),
    ],
    ids=["estimate", "figure", "meaning", "reduced", "range", "paper"],
)
def test_what_judges_or_draws_a_study_leaves_its_digest(old, new):
    """A study's table stays what it is when it is estimated, drawn or described otherwise."""
    for name in ("coin", "coin_twice", "coin_left"):
        assert digests(name, "studies/coins.py", old, new) == digests(name)


@pytest.mark.parametrize(
    ("path", "old", "new", "changed"),
    [
        ("studies/coins.py", "full=40", "full=50", "studies.coins"),
        ("studies/coins.py", '"heads", "What', '"tails", "What', "studies.coins"),
        ("studies/coins.py", "range(settings.n)", "range(2 * settings.n)", "studies.coins"),
        ("studies/coins.py", "_helper(key)", "_helper(key + 1)", "studies.coins"),
        ("studies/coins.py", "    return rows", "    return rows.T", "studies.coins"),
        ("studies/coins.py", "summarise=short,", "summarise=short, version=3,", "studies.coins"),
        ("studies/flat.py", "np.exp", "np.log", "studies.flat"),
    ],
    ids=["full", "default", "blocks", "block", "summarise", "version", "helper"],
)
def test_what_makes_a_study_table_changes_its_digest(path, old, new, changed):
    """Settings, blocks, block, summarise and version make the table."""
    for name in ("coin", "coin_twice"):
        assert changed_modules(digests(name), digests(name, path, old, new)) == [changed]


def test_a_study_is_found_by_its_name():
    """Its digests are those of the module that holds it; a pattern of names holds its tables."""
    assert set(digests("coin")) == {"studies.coins", "studies.flat"}
    assert digests("coin_left") != digests("coin")
    twice = digests("coin_twice", "studies/coins.py", "version=2", "version=4")
    assert changed_modules(digests("coin_twice"), twice) == ["studies.coins"]
    assert digests("coin", "studies/coins.py", "version=2", "version=4") == digests("coin")


def test_a_table_that_is_none_is_refused():
    """An unknown table is named."""
    with pytest.raises(ValueError, match="'three'"):
        digests("three")


def recorded_code(name):
    """Return the digests in a table's provenance."""
    facts = read_result(name)[1]
    # "checked" is later code, which gave the same bits on a sample of the rows
    return facts.get("checked", facts)["code"]


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_committed_table_was_made_by_the_code_that_stands(name):
    """No table is older than a change of the code that computes it."""
    assert changed_modules(recorded_code(name), table_code(name)) == []


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_committed_table_was_made_from_a_clean_commit(name):
    """Its provenance names the commit in which its code is to be found."""
    git = read_result(name)[1]["git"]
    assert git["dirty"] is False
    assert len(git["commit"]) == 40


def test_every_table_reaches_a_study():
    """No digest is empty: each table's code lies in a study beside the list of tables."""
    for name in STUDIES:
        code = {module for module in table_code(name) if module.startswith("studies.")}
        assert code - {"studies.catalogue"}, name
    assert read_source("pvf/nowhere.py") is None
