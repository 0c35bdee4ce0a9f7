"""Shards survive whatever stops a run, and results say how they were made."""

import errno
import hashlib
import io
import json
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pvf
from studies.kit import results as store
from studies.kit.results import (
    provenance,
    read_result,
    results_folder,
    run_blocks,
    shard_folder,
    write_result,
)

ROOT = Path(pvf.__file__).resolve().parents[1]


def table_of(block, seed, log=None, pause=0.0):
    """Compute a table that only the block and the seed decide; note the call in the folder log."""
    if log is not None:
        (Path(log) / f"{block}-{time.monotonic_ns()}").touch()
    time.sleep(pause)
    rng = np.random.default_rng([seed, block])
    return pd.DataFrame(
        {
            "block": block,
            "value": rng.normal(size=3),
            "count": rng.integers(5, size=3),
            "name": [f"{block}{letter}" for letter in "abc"],
            "even": rng.integers(2, size=3) == 0,
        },
        index=[7, 7, 7],
    )


def slow_first(block):
    time.sleep(0.5 if block == 0 else 0.0)
    return pd.DataFrame({"block": [block]})


def must_not_run(block, **_):
    raise AssertionError(f"the block {block} was computed again")


def plain_concat(blocks, seed=3):
    """Return what run_blocks must return, by a plain loop."""
    return pd.concat([table_of(block, seed) for block in blocks], ignore_index=True)


def keys(out):
    """Blocks that have a shard, each once."""
    return sorted({path.name.split(".")[0] for path in shards(out)})


def calls(log):
    """Blocks computed, by the notes in the folder log."""
    return sorted(int(path.name.split("-")[0]) for path in Path(log).iterdir())


def shards(out):
    return sorted(Path(out).glob("*/*.parquet"))


@pytest.fixture
def log(tmp_path):
    (tmp_path / "log").mkdir()
    return tmp_path / "log"


# --- order, workers, resuming -------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2], ids=["one worker", "two workers"])
@pytest.mark.parametrize("on_disk", [False, True], ids=["in memory", "shards"])
def test_same_table_as_a_plain_loop(tmp_path, n_jobs, on_disk):
    """Values, types and order are those of a plain loop, however the blocks are run."""
    blocks = [4, 0, 3, 1]
    out = tmp_path / "shards" if on_disk else None
    table = run_blocks(
        table_of, blocks, study="plain", settings={"seed": 3}, out=out, n_jobs=n_jobs
    )
    pd.testing.assert_frame_equal(table, plain_concat(blocks), check_exact=True)
    assert len(shards(tmp_path / "shards")) == (len(blocks) if on_disk else 0)


def test_order_is_that_of_the_blocks(tmp_path):
    """The first block comes first even when it finishes last."""
    table = run_blocks(slow_first, range(4), study="order", settings={}, n_jobs=2, out=tmp_path)
    written = {p.name.split("-")[0]: p.stat().st_mtime_ns for p in shards(tmp_path)}
    assert max(written, key=written.get) == "0"
    assert table["block"].tolist() == [0, 1, 2, 3]


def test_second_call_computes_nothing(tmp_path):
    """Finished blocks are read, not computed, in whatever order they are asked for."""
    arguments = {"study": "again", "settings": {"seed": 3}, "out": tmp_path}
    run_blocks(table_of, [0, 1, 2], **arguments)
    again = run_blocks(must_not_run, [2, 0], **arguments)
    pd.testing.assert_frame_equal(again, plain_concat([2, 0]), check_exact=True)


def test_only_missing_blocks_are_computed(tmp_path, log):
    """More blocks later: only the new ones run."""
    arguments = {"study": "more", "settings": {"seed": 3}, "out": tmp_path / "shards"}
    run_blocks(partial(table_of, log=log), [0, 1], **arguments)
    table = run_blocks(partial(table_of, log=log), range(4), **arguments)
    assert calls(log) == [0, 1, 2, 3]
    pd.testing.assert_frame_equal(table, plain_concat(range(4)), check_exact=True)


def test_folder_of_the_environment_is_taken_where_none_is_given(tmp_path, monkeypatch):
    """PVF_SHARDS names the folder if `out` doesn't; set to nothing, it names none."""
    monkeypatch.chdir(tmp_path)
    arguments = {"study": "where", "settings": {"seed": 3}}
    for variable, out, found in [("", None, []), ("a", None, ["a"]), ("b", "c", ["a", "c"])]:
        monkeypatch.setenv("PVF_SHARDS", variable)
        run_blocks(table_of, [0], out=out, **arguments)
        assert sorted(path.name for path in tmp_path.iterdir()) == found


def test_tuple_blocks_do_not_collide(tmp_path):
    """Keys whose readable names agree, such as (1, 2) and "1-2", keep separate shards."""

    def text(block):
        return pd.DataFrame({"text": [repr(block)]})

    blocks = [(1, 2), "1-2", (1, -2), (12,), 12, 12.0, True, None, "é" * 300]
    for _ in range(2):
        table = run_blocks(text, blocks, study="keys", settings={}, out=tmp_path)
        assert table["text"].tolist() == [repr(block) for block in blocks]
    assert len(shards(tmp_path)) == len(blocks)


def test_dask_cluster_of_two_processes(tmp_path, dask_cluster):
    """Two dask worker processes give the same table, with and without shards."""
    with dask_cluster():
        for out in (None, tmp_path):
            table = run_blocks(
                partial(table_of, pause=0.05), range(8), study="d", settings={"seed": 3}, out=out
            )
            pd.testing.assert_frame_equal(table, plain_concat(range(8)), check_exact=True)
    assert len(shards(tmp_path)) == 8


def backend_within(block):
    """Name the joblib backend that code inside a block would use."""
    backend = joblib.parallel.get_active_backend()[0]
    return pd.DataFrame({"block": [block], "backend": [type(backend).__name__]})


def test_a_block_keeps_its_own_parallel_work():
    """What a block computes in parallel itself, a forest's trees, is not sent to a cluster.

    A worker of one thread that waits for tasks of its own sending may wait for ever.
    """
    with joblib.parallel_config(backend="threading", n_jobs=2):
        table = run_blocks(backend_within, range(3), study="within", settings={})
    assert set(table["backend"]) == {"SequentialBackend"}


KILLED = """
import sys
from functools import partial
from test_store import table_of
from studies.kit.results import run_blocks

out, log = sys.argv[1:]
run_blocks(partial(table_of, log=log, pause=0.1), range(40), study="killed",
           settings={"seed": 3}, out=out, n_jobs=2)
"""


def run_script(script, *arguments, **options):
    """Start a Python process that can import the package and this test module."""
    path = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, text=True, **options)


@pytest.mark.skipif(os.name != "posix", reason="kill -9 of a process group is POSIX")
def test_kill_9_and_go_on(tmp_path, log):
    """After kill -9 in the middle a second call keeps what was finished and ends the same."""
    out = tmp_path / "shards"
    process = run_script(KILLED, out, log, start_new_session=True)
    try:
        deadline = time.monotonic() + 300
        while len(shards(out)) < 5 and time.monotonic() < deadline:
            assert process.poll() is None, "the run ended before it could be killed"
            time.sleep(0.01)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
    assert process.wait(timeout=30) == -signal.SIGKILL
    time.sleep(0.3)  # the workers belong to the group; let the kernel take them down
    finished = len(shards(out))
    assert 5 <= finished < 40
    before = len(calls(log))
    table = run_blocks(
        partial(table_of, log=log), range(40), study="killed", settings={"seed": 3}, out=out
    )
    assert len(calls(log)) - before == 40 - finished
    pd.testing.assert_frame_equal(table, plain_concat(range(40)), check_exact=True)
    assert table.attrs["cost"]["resumptions"] == 1
    assert table.attrs["cost"]["block_time"] > finished * 0.1  # each slept so long


# --- times ----------------------------------------------------------------------------------------


def stops_at(block, last=None, pause=0.1):
    """Compute one block in a while; from the given one on, be interrupted."""
    if last is not None and block >= last:
        raise KeyboardInterrupt
    time.sleep(pause)
    return pd.DataFrame({"block": [block]})


def test_times_of_an_interrupted_run_are_summed(tmp_path):
    """Wall time is over all calls that made blocks, block time over all blocks; same bits."""
    arguments = {"study": "times", "settings": {}, "out": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        run_blocks(partial(stops_at, last=3), range(5), **arguments)
    resumed = run_blocks(stops_at, range(5), **arguments)
    cost = resumed.attrs["cost"]
    assert cost["resumptions"] == 1
    assert 0.2 <= cost["this_call"] <= cost["wall_time"] - 0.3  # two blocks were left of five
    assert 0.5 <= cost["block_time"] < cost["wall_time"]
    at_once = run_blocks(stops_at, range(5), study="times", settings={})
    assert at_once.attrs["cost"]["resumptions"] == 0
    assert at_once.attrs["cost"]["wall_time"] == at_once.attrs["cost"]["this_call"] >= 0.5
    pd.testing.assert_frame_equal(resumed, at_once, check_exact=True)


def test_call_that_finds_all_blocks_keeps_their_times(tmp_path):
    """Reading everything takes a moment, and the table still says what it cost."""
    arguments = {"study": "kept", "settings": {}, "out": tmp_path}
    first = run_blocks(stops_at, range(5), **arguments).attrs["cost"]
    again = run_blocks(must_not_run, range(5), **arguments).attrs["cost"]
    assert again["block_time"] == first["block_time"]
    assert again["resumptions"] == 0
    assert 0.5 <= again["wall_time"] <= first["wall_time"]
    assert again["this_call"] < 0.3


def test_two_workers_share_the_wall_time(tmp_path):
    """Blocks side by side: the work is summed, the wall time is not."""
    cost = run_blocks(
        partial(stops_at, pause=0.4), range(6), study="side", settings={}, n_jobs=2, out=tmp_path
    ).attrs["cost"]
    assert cost["block_time"] >= 2.4
    assert cost["wall_time"] >= 1.2  # and no less than its share of it


@pytest.mark.parametrize(
    ("busy", "says"), [(0.1, "quiet (0.10 cores busy)"), (1.7, "not quiet (1.70 cores busy)")]
)
def test_what_else_runs_is_told(monkeypatch, busy, says):
    """Above half a core something else runs."""
    monkeypatch.setattr(store, "_cores_busy", lambda: busy)
    table = run_blocks(table_of, [0], study="load", settings={"seed": 1})
    assert table.attrs["cost"]["load"] == says


def test_cores_are_a_share_of_all(monkeypatch):
    """Half of four cores are two, looked at over some time: a load average lags by minutes."""
    looked = []
    monkeypatch.setattr(store.psutil, "cpu_count", lambda: 4)
    monkeypatch.setattr(store.psutil, "cpu_percent", lambda interval: looked.append(interval) or 50)
    assert store._cores_busy.__wrapped__() == 2
    assert looked[0] >= 0.1  # below, it says psutil, the answer means nothing


# --- damaged and foreign shards -----------------------------------------------------------------


def truncate(path, other):
    path.write_bytes(path.read_bytes()[:-10])


def empty(path, other):
    path.write_bytes(b"")


def flip_one_bit(path, other):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def other_content(path, other):
    path.write_bytes(other.read_bytes())


def other_content_and_checksum(path, other):
    path.unlink()
    name = f"{path.name.split('.')[0]}.{other.name.split('.')[1]}.parquet"
    path.with_name(name).write_bytes(other.read_bytes())


def named_after(path, content):
    """Path of a shard of the same block whose name holds the checksum of the content."""
    return path.with_name(
        f"{path.name.split('.')[0]}.{hashlib.sha256(content).hexdigest()}.parquet"
    )


def no_table_but_its_checksum(path, other):
    path.unlink()
    named_after(path, b"no table").write_bytes(b"no table")


def no_checksum(path, other):
    path.rename(path.with_name(f"{path.name.split('.')[0]}.parquet"))


def folder(path, other):
    path.unlink()
    path.mkdir()
    (path / "a file").write_text("")


def folder_of_another_name(path, other):
    path.unlink()
    folder_path = named_after(path, b"")
    folder_path.mkdir()
    (folder_path / "a file").write_text("")


def dangling_link(path, other):
    path.unlink()
    path.symlink_to(path.with_name("nowhere"))


def loop_of_links(path, other):
    path.unlink()
    path.symlink_to(path.name)


def link_to_a_folder(path, other):
    path.unlink()
    path.symlink_to("..")


def pipe(path, other):
    path.unlink()
    os.mkfifo(path)


DAMAGES = [
    truncate,
    empty,
    flip_one_bit,
    other_content,
    other_content_and_checksum,
    no_table_but_its_checksum,
    no_checksum,
    folder,
    folder_of_another_name,
    dangling_link,
    loop_of_links,
    link_to_a_folder,
    pipe,
]


@pytest.mark.skipif(os.name != "posix", reason="links and pipes are POSIX")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_shard_is_computed_again(tmp_path, log, damage):
    """Whatever is no whole shard is reported, computed again and gone afterwards."""
    arguments = {"study": "damage", "settings": {"seed": 3}, "out": tmp_path / "shards"}
    run_blocks(table_of, range(3), **arguments)
    before = shards(tmp_path / "shards")
    _, victim, other = before
    damage(victim, other)
    with pytest.warns(UserWarning, match="block 1 is truncated or altered") as caught:
        table = run_blocks(partial(table_of, log=log), range(3), **arguments)
    assert len(caught) == 1
    assert calls(log) == [1]
    pd.testing.assert_frame_equal(table, plain_concat(range(3)), check_exact=True)
    assert keys(tmp_path / "shards") == [path.name.split(".")[0] for path in before]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_blocks(must_not_run, range(3), **arguments)


@pytest.mark.parametrize("error", [PermissionError, InterruptedError, OSError])
def test_unreadable_shard_is_computed_again(tmp_path, monkeypatch, log, error):
    """A shard that the system refuses to read is a damaged one."""
    arguments = {"study": "deny", "settings": {"seed": 3}, "out": tmp_path / "shards"}
    run_blocks(table_of, range(3), **arguments)
    victim = shards(tmp_path / "shards")[1]
    read_bytes = Path.read_bytes

    def refuse_once(path):
        if path == victim:
            monkeypatch.setattr(Path, "read_bytes", read_bytes)
            raise error(errno.EACCES, "refused", str(path))
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", refuse_once)
    with pytest.warns(UserWarning, match="block 1 is truncated or altered"):
        table = run_blocks(partial(table_of, log=log), range(3), **arguments)
    assert calls(log) == [1]
    pd.testing.assert_frame_equal(table, plain_concat(range(3)), check_exact=True)


def test_whole_shard_is_taken_whatever_lies_beside_it(tmp_path):
    """A second, damaged shard of a block costs nothing, and goes without a word."""
    arguments = {"study": "beside", "settings": {"seed": 3}, "out": tmp_path}
    run_blocks(table_of, [1], **arguments)
    (whole,) = shards(tmp_path)
    whole.with_name(f"{whole.name.split('.')[0]}.{'0' * 64}.parquet").write_bytes(b"x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = run_blocks(must_not_run, [1], **arguments)
    pd.testing.assert_frame_equal(table, plain_concat([1]), check_exact=True)
    assert shards(tmp_path) == [whole]


# --- two runs at once ---------------------------------------------------------------------------


@pytest.mark.parametrize("moment", ["is_file", "read_bytes"])
def test_shard_that_vanishes_is_a_missing_one(tmp_path, monkeypatch, log, moment):
    """Removed between listing and reading: computed again, and nobody is warned of damage."""
    arguments = {"study": "vanish", "settings": {"seed": 3}, "out": tmp_path / "shards"}
    run_blocks(table_of, range(3), **arguments)
    victim = shards(tmp_path / "shards")[1]
    look = getattr(Path, moment)

    def vanish_first(path):
        if path == victim:
            monkeypatch.setattr(Path, moment, look)
            path.unlink()
        return look(path)

    monkeypatch.setattr(Path, moment, vanish_first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = run_blocks(partial(table_of, log=log), range(3), **arguments)
    assert calls(log) == [1]
    pd.testing.assert_frame_equal(table, plain_concat(range(3)), check_exact=True)


TWO = """
import sys, time, warnings
from pathlib import Path
from test_store import table_of
from studies.kit.results import run_blocks

out, go, me = map(Path, sys.argv[1:])
warnings.simplefilter("ignore")
me.touch()
while not go.exists():
    time.sleep(0.0005)
table = run_blocks(table_of, range(40), study="two", settings={"seed": 3}, out=out)
table.to_pickle(me)
"""


def at_once(script, folder, out, n=2):
    """Let processes start their work at the same moment; return their tables."""
    marks = [folder / f"ready-{k}" for k in range(n)]
    processes = [run_script(script, out, folder / "go", mark) for mark in marks]
    deadline = time.monotonic() + 120
    while not all(mark.exists() for mark in marks) and time.monotonic() < deadline:
        time.sleep(0.005)
    (folder / "go").touch()
    assert [process.wait(timeout=120) for process in processes] == [0] * n
    return [pd.read_pickle(mark) for mark in marks]


@pytest.mark.parametrize("damage", [truncate, folder, other_content_and_checksum])
def test_two_runs_at_once_on_damaged_shards(tmp_path, damage):
    """Both end with the table of a plain loop and leave whole shards only."""
    arguments = {"study": "two", "settings": {"seed": 3}, "out": tmp_path / "shards"}
    run_blocks(table_of, range(40), **arguments)
    before = shards(tmp_path / "shards")
    for victim, other in zip(before[1:], before, strict=False):
        damage(victim, before[0] if damage is other_content_and_checksum else other)
    for table in at_once(TWO, tmp_path, tmp_path / "shards"):
        pd.testing.assert_frame_equal(table, plain_concat(range(40)), check_exact=True)
    assert keys(tmp_path / "shards") == [path.name.split(".")[0] for path in before]
    run_blocks(must_not_run, range(40), **arguments)


@pytest.mark.parametrize(
    "change",
    [{"settings": {"seed": 4}}, {"version": 2}, {"study": "other"}],
    ids=["settings", "version", "study"],
)
def test_shards_of_other_settings_are_not_used(tmp_path, log, change):
    """Other settings, version or study: other folder, and copied shards are refused too."""
    first = {"study": "mix", "settings": {"seed": 3}, "version": 1}
    second = first | change
    run_blocks(table_of, [0, 1], out=tmp_path / "shards", **first)
    foreign = shards(tmp_path / "shards")
    folder = shard_folder(tmp_path / "shards", **second)
    assert folder != foreign[0].parent
    folder.mkdir()
    for path in foreign:
        (folder / path.name).write_bytes(path.read_bytes())
    with pytest.warns(UserWarning, match="truncated or altered"):
        table = run_blocks(partial(table_of, log=log), [0, 1], out=tmp_path / "shards", **second)
    assert calls(log) == [0, 1]
    expected = plain_concat([0, 1], seed=second["settings"]["seed"])
    pd.testing.assert_frame_equal(table, expected, check_exact=True)


def test_shards_of_an_older_layout_are_not_used(tmp_path, monkeypatch, log):
    """A change of the shards' layout leaves the older ones alone and computes anew."""
    arguments = {"study": "layout", "settings": {"seed": 3}, "out": tmp_path / "shards"}
    run_blocks(table_of, [0], **arguments)
    monkeypatch.setattr(store, "SHARD_SCHEMA", store.SHARD_SCHEMA + 1)
    run_blocks(partial(table_of, log=log), [0], **arguments)
    assert calls(log) == [0]
    assert len(shards(tmp_path / "shards")) == 2


def test_folder_says_what_it_holds(tmp_path):
    """settings.json in the shards' folder holds study, version and settings."""
    run_blocks(table_of, [0], study="say", settings={"seed": 3}, version="b", out=tmp_path)
    facts = json.loads(
        (shard_folder(tmp_path, "say", {"seed": 3}, "b") / "settings.json").read_text()
    )
    assert (facts["study"], facts["version"], facts["settings"]) == ("say", "b", {"seed": 3})


plain_settings = st.dictionaries(
    st.text(max_size=3),
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3)
    | st.lists(st.integers(), max_size=2),
    max_size=4,
)


@settings(max_examples=60, deadline=None)
@given(plain_settings, plain_settings)
def test_folder_is_one_to_one_with_the_settings(one, two):
    """Folders agree exactly when the settings do, whatever the order of the keys."""
    same = repr(sorted(one.items())) == repr(sorted(two.items()))
    assert (shard_folder("o", "s", one) == shard_folder("o", "s", two)) == same
    assert shard_folder("o", "s", one) == shard_folder("o", "s", dict(reversed(one.items())))


def test_numpy_settings_are_plain_numbers():
    """NumPy scalars, arrays and tuples name the same folder as plain numbers and lists."""
    arrays = {"a": np.float64(0.1), "b": np.arange(2), "c": (np.int32(5), True)}
    plain = {"a": 0.1, "b": [0, 1], "c": [5, True]}
    assert shard_folder("o", "s", arrays) == shard_folder("o", "s", plain)


def make_old(path, hours=25):
    """Let a path, not what it links to, be as old as that."""
    then = time.time() - hours * 3600
    os.utime(path, (then, then), follow_symlinks=False)


def test_only_old_temporary_files_are_removed(tmp_path):
    """What a killed run left half-written a day ago goes; a file being written stays."""
    where = shard_folder(tmp_path, "tidy", {"seed": 3})
    where.mkdir()
    old, fresh = (where / f".{name}.tmp" for name in "ab")
    for path in (old, fresh):
        path.write_bytes(b"half")
    make_old(old)
    make_old(fresh, hours=1)
    run_blocks(table_of, [0], study="tidy", settings={"seed": 3}, out=tmp_path)
    assert sorted(where.glob(".*.tmp")) == [fresh]


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"blocks": []}, ValueError, "blocks is empty"),
        ({"blocks": [1, 2, 1]}, ValueError, "blocks holds 1 twice"),
        ({"blocks": [(1, 2), [1, 2]]}, ValueError, "twice"),
        ({"blocks": [object()]}, TypeError, "blocks must be made of"),
        ({"settings": {"f": len}}, TypeError, "settings must be made of.*built-in function"),
        ({"settings": {"f": float("nan")}}, ValueError, "settings must hold finite"),
        ({"settings": {1: 2}}, TypeError, "string keys"),
        ({"settings": [1]}, TypeError, "settings must be a dict, got list"),
        ({"study": "a/b"}, ValueError, "study must be letters.*'a/b'"),
        ({"compute": lambda *_, **__: 3}, TypeError, "compute must return a pandas.DataFrame"),
        (
            {"compute": lambda block, **_: pd.DataFrame({f"c{block}": [1]})},
            ValueError,
            "same columns for every block: 0 has .*c0.*1 has .*c1",
        ),
    ],
)
def test_wrong_arguments_are_named(change, error, message):
    """Each wrong argument is named, with what it got."""
    good = {"compute": table_of, "blocks": [0, 1], "study": "s", "settings": {"seed": 1}}
    arguments = good | change
    with pytest.raises(error, match=message):
        run_blocks(arguments.pop("compute"), arguments.pop("blocks"), **arguments)


def fails_at_two(block, folder):
    """Fail in block 2, once the other two are on disk."""
    if block == 2:
        deadline = time.monotonic() + 60
        while len(list(folder.rglob("*.parquet"))) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        raise ZeroDivisionError("no such number")
    return pd.DataFrame({"block": [block]})


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_error_in_a_block_names_it_and_keeps_the_others(tmp_path, n_jobs):
    """A failing block is named in the error; blocks finished before it stay on disk."""
    with pytest.raises(ZeroDivisionError) as caught:
        run_blocks(
            partial(fails_at_two, folder=tmp_path),
            range(3),
            study="err",
            settings={},
            out=tmp_path,
            n_jobs=n_jobs,
        )
    assert any("block 2 of the study 'err'" in note for note in caught.value.__notes__)
    run_blocks(must_not_run, [0, 1], study="err", settings={}, out=tmp_path)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_unwritable_folder_is_a_clear_error(tmp_path, monkeypatch, number):
    """Full or read-only: an OSError of that kind names file and folder; no temporary file stays."""

    def fail(path, target):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(
        OSError, match=r"cannot write .*give a folder that can be written"
    ) as caught:
        run_blocks(table_of, [0], study="full", settings={"seed": 3}, out=tmp_path)
    assert caught.value.errno == number
    assert str(tmp_path) in str(caught.value)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


@pytest.mark.parametrize("cut", [slice(None, -1), None], ids=["cut off", "elsewhere"])
def test_shard_of_a_worker_is_looked_at(tmp_path, monkeypatch, cut):
    """What a worker has written is read back: a damaged or absent shard never gets into a table."""
    write = store.write_whole

    def spoil(path, content):
        if path.suffix != ".parquet":
            write(path, content)
        elif cut is not None:
            write(path, content[cut])

    monkeypatch.setattr(store, "write_whole", spoil)
    with pytest.raises(OSError, match=r"block 0 is not whole where.*all workers share"):
        run_blocks(table_of, [0], study="spoilt", settings={"seed": 3}, out=tmp_path)


def test_out_that_is_a_file_is_a_clear_error(tmp_path):
    """A file in place of the folder is reported before anything is computed."""
    (tmp_path / "taken").write_text("")
    with pytest.raises(OSError, match="cannot write"):
        run_blocks(must_not_run, [0], study="s", settings={}, out=tmp_path / "taken")


FULL = """
import resource, sys
from functools import partial
import pandas as pd
from studies.kit.results import run_blocks

def growing(block):
    return pd.DataFrame({"x": [f"{block}-{i * 7919 % 104729}" for i in range(10 ** block)]})

resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
run_blocks(growing, [1, 2, 5], study="full", settings={}, out=sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="file size limits are POSIX")
def test_a_write_that_really_fails(tmp_path):
    """A write that the system cuts off leaves whole shards only, and says which one failed."""
    process = run_script(FULL, tmp_path, stderr=subprocess.PIPE)
    _, messages = process.communicate(timeout=300)
    assert process.returncode == 1
    assert re.search(r"OSError: .*cannot write 5-\w+\.\w+\.parquet", messages)
    assert len(shards(tmp_path)) == 2
    assert list(tmp_path.glob("*/.*")) == []
    for path in shards(tmp_path):
        assert hashlib.sha256(path.read_bytes()).hexdigest() in path.name


# --- progress -----------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """A standard error that says it is a terminal."""

    def isatty(self):
        """Say yes."""
        return True


@pytest.mark.parametrize(
    ("stream", "progress", "drawn"),
    [
        (Terminal, None, True),
        (Terminal, False, False),
        (io.StringIO, None, False),
        (io.StringIO, True, True),
    ],
    ids=["terminal", "terminal, off", "no terminal", "no terminal, asked"],
)
def test_progress_only_on_a_terminal_unless_asked(monkeypatch, capsys, stream, progress, drawn):
    """The bar shows label, count and time left on a terminal; elsewhere nothing is written."""
    error = stream()
    monkeypatch.setattr(sys, "stderr", error)
    run_blocks(
        partial(table_of, pause=0.15),
        range(3),
        study="bar",
        settings={"seed": 1},
        description="a label",
        progress=progress,
    )
    text = error.getvalue()
    assert bool(text) == drawn
    assert capsys.readouterr().out == ""
    if drawn:
        assert re.search(r"a label:.* [12]/3 \[\d\d:\d\d<\d\d:\d\d", text)
        assert "3/3" in text


# --- result tables ------------------------------------------------------------------------------


def example():
    return pd.DataFrame(
        {
            "n": [50, 100, -3],
            "share": [0.1 + 0.2, 1 / 3, np.nan],
            "single": np.array([0.1, 1e30, -0.0], dtype="float32"),
            "name": ["NA", 'a "quoted", name', "línea\ndos"],
            "flag": [True, False, True],
            "digits": ["007", "1e3", None],
        }
    )


def write_example(folder, **change):
    arguments = {"settings": {"gamma": [0.1, 0.3]}, "seed": 11, "wall_time": 1.5, "notes": "a note"}
    return write_result(change.pop("frame", example()), "demo", folder=folder, **arguments | change)


def test_result_comes_back_as_written(tmp_path):
    """Values and types survive, awkward strings and missing values included."""
    write_example(tmp_path)
    frame, _ = read_result("demo", tmp_path)
    pd.testing.assert_frame_equal(frame, example(), check_exact=True)
    assert np.signbit(frame["single"].iloc[2])


@settings(max_examples=100, deadline=None)
@given(values=st.lists(st.floats(allow_nan=False), min_size=1, max_size=20))
def test_floats_keep_every_bit(tmp_path_factory, values):
    """Every float, subnormal and infinite ones too, reads back with the same bits."""
    folder = tmp_path_factory.mktemp("floats")
    write_result(
        pd.DataFrame({"x": values}), "x", settings={}, seed=None, wall_time=0, folder=folder
    )
    frame, _ = read_result("x", folder)
    assert frame["x"].to_numpy().tobytes() == np.array(values, dtype=float).tobytes()


def test_csv_has_the_same_bytes_every_time(tmp_path):
    """Two writes of one table give the same CSV; its text is plain and exact."""
    paths = [write_example(tmp_path / name, seed=seed) for seed, name in enumerate("ab")]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert b"\r" not in paths[0].read_bytes()
    assert paths[0].read_text().splitlines()[1] == "50,0.30000000000000004,0.1,NA,True,007"


def test_provenance_says_how_it_was_made(tmp_path):
    """The JSON beside the table holds seed, settings, time, versions, machine and checksum."""
    path = write_example(tmp_path)
    facts = json.loads(path.with_suffix(".json").read_text())
    assert facts == read_result("demo", tmp_path)[1]
    assert facts["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (facts["seed"], facts["wall_time"], facts["notes"]) == (11, 1.5, "a note")
    assert facts["settings"] == {"gamma": [0.1, 0.3]}
    assert facts["packages"]["numpy"] == np.__version__
    assert facts["packages"]["pandas"] == pd.__version__
    assert facts["packages"]["python"] == platform.python_version()
    assert 1 <= facts["machine"]["cores"] <= os.cpu_count()
    assert facts["machine"]["cpu"]
    age = pd.Timestamp.now("UTC") - pd.Timestamp(facts["created"])
    assert pd.Timedelta(-1, "s") <= age < pd.Timedelta(1, "min")
    assert not [p for p in tmp_path.iterdir() if p.suffix not in {".csv", ".json"}]


def test_provenance_does_not_tell_whose_machine_it_was():
    """Neither the host's name nor a folder of this machine is recorded."""
    text = json.dumps(provenance(settings={}, seed=None, wall_time=0.0))
    assert f'"{platform.node()}"' not in text
    assert str(ROOT) not in text
    assert str(Path.home()) + os.sep not in text


def test_altered_result_is_refused(tmp_path):
    """One changed digit, or a table from another run, is refused with both checksums."""
    path = write_example(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"50,", b"51,"))
    with pytest.raises(ValueError, match=r"demo\.csv .*altered, or the two files"):
        read_result("demo", tmp_path)


@pytest.mark.parametrize(
    "text",
    [b"", b'{"sha256": "', b"[]", b"null", b'{"columns": {}}', b"\xff\xfe"],
    ids=["empty", "cut off", "list", "null", "no checksum", "no text"],
)
def test_damaged_provenance_is_refused(tmp_path, monkeypatch, text):
    """A provenance that is cut off or of another kind is refused by its name."""
    monkeypatch.setattr(store, "_PAIR_PAUSE", 0)
    write_example(tmp_path).with_suffix(".json").write_bytes(text)
    with pytest.raises(ValueError, match=r"demo\.json in .* is no provenance"):
        read_result("demo", tmp_path)


def test_pair_of_a_killed_writer_is_refused(tmp_path, monkeypatch):
    """A writer that dies between the two files leaves no result, and a new one mends it."""
    write_example(tmp_path)
    replace = Path.replace

    def die(path, target):
        if target.suffix == ".json":
            raise KeyboardInterrupt
        return replace(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", die)
        with pytest.raises(KeyboardInterrupt):
            write_example(tmp_path, frame=pd.DataFrame({"x": [1]}))
    with pytest.raises(ValueError, match="the two files are of different runs"):
        read_result("demo", tmp_path)
    write_example(tmp_path)
    pd.testing.assert_frame_equal(read_result("demo", tmp_path)[0], example())


def test_reader_waits_for_the_second_half(tmp_path):
    """While another process is between its two files, a reader waits and gets the new pair."""
    write_example(tmp_path / "new", frame=pd.DataFrame({"x": [1]}))
    write_example(tmp_path)
    (tmp_path / "new" / "demo.csv").replace(tmp_path / "demo.csv")
    later = threading.Timer(0.2, (tmp_path / "new" / "demo.json").replace, [tmp_path / "demo.json"])
    later.start()
    frame, facts = read_result("demo", tmp_path)
    later.join()
    assert frame["x"].tolist() == [1]
    assert facts["rows"] == 1


def test_writer_mends_a_mixed_pair(tmp_path, monkeypatch):
    """When another writer's table comes between our two files, our pair is written again."""
    write_example(tmp_path / "other", frame=pd.DataFrame({"x": [1]}))
    between = [(tmp_path / "other" / "demo.csv").read_bytes()]
    replace = Path.replace

    def interfere(path, target):
        if target.suffix == ".json" and between:
            target.with_suffix(".csv").write_bytes(between.pop())
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", interfere)
    write_example(tmp_path)
    pd.testing.assert_frame_equal(read_result("demo", tmp_path)[0], example())


def test_endless_interference_is_told(tmp_path, monkeypatch):
    """If the pair is never whole, the writer says so instead of leaving it."""
    monkeypatch.setattr(store, "_PAIR_PAUSE", 0)
    monkeypatch.setattr(Path, "read_bytes", lambda _: b"{}")
    with pytest.raises(OSError, match="another process keeps writing"):
        write_example(tmp_path)


PAIRS = """
import sys, time
from pathlib import Path
import numpy as np
import pandas as pd
from studies.kit.results import read_result, write_result

out, go, me = map(Path, sys.argv[1:])
number = int(me.name[-1])
me.touch()
while not go.exists():
    time.sleep(0.0005)
seen = []
for _ in range(30):
    table = pd.DataFrame({"x": np.full(5, number)})
    write_result(table, "demo", settings={}, seed=number, wall_time=0, folder=out)
    frame, facts = read_result("demo", out)
    seen += [(facts["seed"], x) for x in frame["x"]]
pd.DataFrame(seen).to_pickle(me)
"""


def test_writers_at_once_leave_whole_pairs(tmp_path):
    """Three writers of one name: each reads whole pairs all the time, and one stays at the end."""
    for seen in at_once(PAIRS, tmp_path, tmp_path / "results", n=3):
        assert (seen[0] == seen[1]).all()
        assert len(seen) == 150
    frame, facts = read_result("demo", tmp_path / "results")
    assert frame["x"].tolist() == [facts["seed"]] * 5
    assert sorted(p.name for p in (tmp_path / "results").iterdir()) == ["demo.csv", "demo.json"]


def test_old_temporary_files_of_a_result_are_removed(tmp_path):
    """What a killed writer left a day ago goes; a file being written stays."""
    old, fresh = (tmp_path / f".{name}.tmp" for name in "ab")
    for path in (old, fresh):
        path.write_bytes(b"half")
    make_old(old)
    write_example(tmp_path)
    assert sorted(tmp_path.glob(".*")) == [fresh]


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_missing_half_is_refused(tmp_path, suffix):
    """A table without provenance, or the reverse, is refused by name."""
    write_example(tmp_path).with_suffix(suffix).unlink()
    with pytest.raises(FileNotFoundError, match=rf"needs demo{re.escape(suffix)}"):
        read_result("demo", tmp_path)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"frame": example().set_index("n")}, ValueError, "plain 0 … n−1 index"),
        ({"frame": example().iloc[1:]}, ValueError, "plain 0 … n−1 index"),
        ({"frame": pd.DataFrame({"a": ["", "b"]})}, ValueError, "column 'a'.*not empty"),
        ({"frame": pd.DataFrame({"a": [{}, 1]})}, ValueError, "column 'a' of type object"),
        ({"frame": pd.DataFrame({"a": pd.to_datetime(["2020"])})}, ValueError, "datetime64"),
        ({"frame": pd.DataFrame([[1, 2]], columns=["a", "a"])}, ValueError, "unique string"),
        ({"frame": pd.DataFrame([[1, 2]])}, ValueError, "unique string"),
        ({"frame": pd.DataFrame({"a": ["x\r\ny", "\r"]})}, ValueError, "does not survive"),
        ({"frame": [1]}, TypeError, "frame must be a pandas.DataFrame"),
        ({"settings": 3}, TypeError, "settings must be a dict"),
        ({"settings": {"f": len}}, TypeError, "settings must be made of"),
        ({"seed": np.random.default_rng()}, TypeError, "seed must be made of"),
        ({"wall_time": -1}, ValueError, "wall_time must be"),
        ({"wall_time": float("nan")}, ValueError, "wall_time must be"),
    ],
)
def test_what_cannot_be_kept_is_refused(tmp_path, change, error, message):
    """What would not come back as it was is refused, and nothing is written."""
    with pytest.raises(error, match=message):
        write_example(tmp_path, **change)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "../up", "a.b", "a b", 3])
def test_names_are_one_part_of_a_file_name(tmp_path, name):
    """A name that could leave the folder is refused, for writing and reading."""
    with pytest.raises(ValueError, match="name must be letters"):
        write_result(example(), name, settings={}, seed=0, wall_time=0, folder=tmp_path)
    with pytest.raises(ValueError, match="name must be letters"):
        read_result(name, tmp_path)


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Make a small repository that stands in for the package's own."""
    (tmp_path / "pvf").mkdir()
    (tmp_path / "book" / "results").mkdir(parents=True)
    for name in ("pyproject.toml", "pvf/__init__.py", "book/results/old.csv"):
        (tmp_path / name).write_text("")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "start")
    monkeypatch.setattr("studies.kit.results.ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "dirty"),
    [
        (None, False),
        ("pvf/__init__.py", True),
        ("pvf/new.py", True),
        ("book/results/old.csv", False),
        ("book/results/new.csv", False),
        ("book/page.md", True),
    ],
)
def test_commit_and_dirty_tree(repository, changed, dirty):
    """The commit is git's; the tree is dirty when anything but the results differs from it."""
    if changed:
        (repository / changed).write_text("changed")
    state = provenance(settings={}, seed=0, wall_time=0)["git"]
    assert state == {"commit": git(repository, "rev-parse", "HEAD"), "dirty": dirty}


def test_results_go_to_the_repository_by_default(repository):
    """Without a folder the table lies in book/results of the package's repository."""
    path = write_result(example(), "demo", settings={}, seed=0, wall_time=0)
    assert path == repository / "book" / "results" / "demo.csv"
    pd.testing.assert_frame_equal(read_result("demo")[0], example())


def test_no_repository_is_a_clear_error(tmp_path, monkeypatch):
    """Installed without its repository, the package says what to do, and knows no commit."""
    monkeypatch.setattr("studies.kit.results.ROOT", tmp_path / "site")
    with pytest.raises(FileNotFoundError, match=r"pip install -e .*or give folder="):
        results_folder()
    assert provenance(settings={}, seed=0, wall_time=0)["git"] == {"commit": None, "dirty": None}
