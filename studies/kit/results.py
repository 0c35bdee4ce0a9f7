"""Resumable result shards, and result tables that carry their provenance.

A study is a list of independent blocks. :func:`run_blocks` computes them through joblib, on one
core, several, or a cluster, and keeps every finished block on disk if it is told where, so that a
run that was killed goes on where it stopped. :func:`write_result` and :func:`read_result` keep a
finished table as CSV beside a JSON file that says how it was made.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import io
import json
import math
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

import pvf
from pvf._outputs import write_whole

ROOT = Path(__file__).resolve().parents[2]
#: Raised when the layout of a shard changes, so that older shards are not read.
SHARD_SCHEMA = 2
#: Names the folder of shards where a caller names none, so that one setting serves all notebooks.
SHARDS_VARIABLE = "PVF_SHARDS"

#: What results depend on, beside Python and this package.
_PACKAGES = (
    "numpy",
    "scipy",
    "pandas",
    "scikit-learn",
    "imbalanced-learn",
    "numba",
    "joblib",
    "pyarrow",
    "torch",
    "matplotlib",
    "seaborn",
    "sympy",
    "ipykernel",
    "papermill",
)
_STALE_SECONDS = 24 * 3600
#: Another run replaces a table and its provenance within milliseconds; a second is ample.
_PAIR_TRIES, _PAIR_PAUSE = 20, 0.05
#: More busy cores than this, before a run adds to them, say that something else runs.
_QUIET = 0.5


# --- blocks -------------------------------------------------------------------------------------


def run_blocks(
    compute: Callable[..., pd.DataFrame],
    blocks: Iterable[Any],
    *,
    study: str,
    settings: dict[str, Any],
    version: Any = 1,
    out: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    description: str = "",
    progress: bool | None = None,
) -> pd.DataFrame:
    """Compute independent blocks of a study and return one table, in the order of the blocks.

    Each block is one call ``compute(block, **settings)``. Calls run through joblib, so that
    ``joblib.parallel_config(backend="dask")`` sends them to a cluster. With `out`, the worker that
    computed a block writes it as a Parquet shard whose name holds the SHA-256 of its bytes. A
    second call with the same arguments reads the shards that are whole and computes the others.
    Two calls at once may share a folder: each ends with the whole table, and blocks that neither
    had finished are computed twice.

    Parameters
    ----------
    compute : callable
        Returns a `pandas.DataFrame` for one block. Its result must depend on nothing but its
        arguments; the index is dropped. It must be picklable if more than one worker runs. Data
        that is not a setting can be bound with `functools.partial`; name it in `version` then.
    blocks : iterable
        Keys of the blocks, each made of numbers, strings, booleans, None and tuples of them.
        A key says everything that `settings` doesn't, such as the repetitions it stands for.
    study : str
        Name of the study; letters, digits, ``_`` and ``-``.
    settings : dict
        Keyword arguments of `compute`, JSON-able (NumPy scalars and arrays are taken too).
    version : optional
        Version of the study's code or data, any JSON-able value. Shards of another version are
        never read. Raise it when the code changes what it computes.
    out : path-like, optional
        Folder for the shards; it is made if need be, and all workers must see it. Shards go to
        ``shard_folder(...)`` inside it. None takes the folder that the environment variable
        ``PVF_SHARDS`` names, if it is set, and keeps nothing on disk otherwise.
    n_jobs : int, optional
        Workers, as joblib counts them. None leaves it to `joblib.parallel_config`, or one.
    description : str, optional
        Label of the progress bar; the study's name if empty.
    progress : bool, optional
        Whether to draw a progress bar with an estimate of the time left on standard error. None
        draws it on a terminal only.

    Returns
    -------
    pandas.DataFrame
        The blocks' tables one below the other, whatever the order in which they finished.
        ``attrs["cost"]`` says what they took, over all calls that computed one of them:
        ``wall_time`` and ``block_time`` in seconds (of a call that was killed, until its last
        finished block), ``resumptions`` (calls after the first), ``load`` (whether something else
        ran), and ``this_call`` (seconds of this call alone).

    Raises
    ------
    TypeError
        If a block or a setting is not JSON-able, or `compute` does not return a frame.
    ValueError
        If there are no blocks, a block stands twice, or two blocks' columns differ.
    OSError
        If the folder can't be written (read-only, full, no permission).

    Warns
    -----
    UserWarning
        If a shard is truncated, altered or not a file, and its block is computed again.

    Examples
    --------
    >>> import pandas as pd
    >>> def squares(block, power):
    ...     return pd.DataFrame({"n": [block], "result": [block**power]})
    >>> run_blocks(squares, [3, 1, 2], study="squares", settings={"power": 2})
       n  result
    0  3       9
    1  1       1
    2  2       4
    """
    start = time.perf_counter()
    blocks = _checked_blocks(blocks)
    identity = _identity(study, settings, version)
    out = os.environ.get(SHARDS_VARIABLE) or None if out is None else out
    folder = None if out is None else shard_folder(out, study, settings, version)
    frames = {} if folder is None else _finished_frames(folder, identity, blocks)
    missing = [position for position in range(len(blocks)) if position not in frames]
    if folder is not None and missing:
        _write(folder / "settings.json", _pretty_bytes(identity))
        _remove_stale(folder)
    compute_one = _OneBlock(compute, settings, identity, folder)
    tasks = (joblib.delayed(compute_one)(position, blocks[position]) for position in missing)
    workers = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    finished = tqdm(
        workers(tasks) if missing else (),
        total=len(blocks),
        initial=len(frames),
        desc=description or study,
        unit="block",
        smoothing=0,
        file=sys.stderr,
        disable=not (sys.stderr.isatty() if progress is None else progress),
    )
    for position, result in finished:
        whole = isinstance(result, pd.DataFrame)
        frames[position] = result if whole else _written(result, identity, blocks[position])
    in_order = [frames[position] for position in range(len(blocks))]
    table = _concatenated(in_order, blocks)
    times = [frame.attrs["times"] for frame in in_order]
    table.attrs = {"cost": _cost(times, compute_one.call, time.perf_counter() - start)}
    return table


def shard_folder(
    out: str | os.PathLike[str], study: str, settings: dict[str, Any], version: Any = 1
) -> Path:
    """Return the folder inside `out` that holds the shards of one study with these settings.

    Its name holds a digest of the study, its version and its settings, so that shards of different
    settings never meet.
    """
    digest = hashlib.sha256(_json_bytes(_identity(study, settings, version))).hexdigest()
    return Path(out) / f"{study}-{digest[:16]}"


def _identity(study: str, settings: dict[str, Any], version: Any) -> dict[str, Any]:
    """Return everything that tells one study's shards from another's."""
    _check_name(study, "study")
    if not isinstance(settings, dict):
        raise TypeError(f"settings must be a dict, got {type(settings).__name__}")
    return {
        "schema": SHARD_SCHEMA,
        "study": study,
        "version": _plain(version, "version"),
        "settings": _plain(settings, "settings"),
    }


def _checked_blocks(blocks: Iterable[Any]) -> list[Any]:
    """List the blocks, all different and JSON-able."""
    blocks = list(blocks)
    if not blocks:
        raise ValueError("blocks is empty; give at least one block")
    seen = set()
    for block in blocks:
        key = _json_bytes(_plain(block, "blocks"))
        if key in seen:
            raise ValueError(f"blocks holds {block!r} twice; each block must stand once")
        seen.add(key)
    return blocks


@dataclass(eq=False)
class _OneBlock:
    """What a call sends to its workers: how to compute a block, and where to keep it."""

    compute: Callable[..., pd.DataFrame]
    settings: dict[str, Any]
    identity: dict[str, Any]
    folder: Path | None

    def __post_init__(self) -> None:
        self.call, self.load, self.started = uuid.uuid4().hex[:12], _cores_busy(), time.time()

    def __call__(self, position: int, block: Any) -> tuple[int, pd.DataFrame | Path]:
        """Compute one block in a worker; with a folder, write its shard and return its path."""
        start = time.perf_counter()
        try:
            with joblib.parallel_config("sequential"):  # dask would send a forest's trees around
                frame = self.compute(block, **self.settings)
        except Exception as error:
            error.add_note(f"in block {block!r} of the study {self.identity['study']!r}")
            raise
        if not isinstance(frame, pd.DataFrame):
            raise TypeError(
                f"compute must return a pandas.DataFrame, got {type(frame).__name__} "
                f"for the block {block!r}"
            )
        times = {"seconds": time.perf_counter() - start, "since_start": time.time() - self.started}
        frame.attrs = {"times": {"call": self.call, "load": self.load, **times}}
        if self.folder is None:
            return position, frame
        return position, _write_shard(frame, self.folder, self.identity, block)


def _concatenated(frames: list[pd.DataFrame], blocks: list[Any]) -> pd.DataFrame:
    """Join the blocks' frames, which must have the same columns."""
    for block, frame in zip(blocks, frames, strict=True):
        if list(frame.columns) != list(frames[0].columns):
            raise ValueError(
                f"compute must return the same columns for every block: {blocks[0]!r} has "
                f"{list(frames[0].columns)}, {block!r} has {list(frame.columns)}"
            )
    return pd.concat(frames, ignore_index=True)


def _cost(times: Sequence[Mapping[str, Any]], call: str, seconds: float) -> dict[str, Any]:
    """Return what blocks took, given the times of each and of the call that needs them now."""
    calls: dict[str, float] = {}
    for one in times:
        calls[one["call"]] = max(calls.get(one["call"], 0.0), one["since_start"])
    if call in calls:
        calls[call] = seconds
    return {
        "wall_time": sum(calls.values()),
        "block_time": sum(one["seconds"] for one in times),
        "resumptions": len(calls) - 1,
        "load": _load_says([one["load"] for one in times]),
        "this_call": seconds,
    }


@cache
def _cores_busy() -> float:
    """Return how many cores others kept busy, for half a second before this process's first run."""
    return float(psutil.cpu_percent(interval=0.5)) / 100 * (psutil.cpu_count() or 1)


def _load_says(loads: Sequence[float]) -> str:
    """Say whether something else ran before any of the calls."""
    return f"{'not quiet' if max(loads) > _QUIET else 'quiet'} ({max(loads):.2f} cores busy)"


# --- shards -------------------------------------------------------------------------------------


def _slug(block: Any) -> str:
    """Return a file name for a block: readable, and unique through a digest of the key."""
    key = _json_bytes(_plain(block, "blocks"))
    readable = re.sub(r"[^A-Za-z0-9]+", "-", key.decode()).strip("-")[:60]
    return f"{readable}-{hashlib.sha256(key).hexdigest()[:8]}"


def _write_shard(frame: pd.DataFrame, folder: Path, identity: dict[str, Any], block: Any) -> Path:
    """Write one block's frame, which says inside what it is, and return the path of its shard."""
    says = {"of": {**identity, "block": _plain(block, "blocks")}, "times": frame.attrs["times"]}
    table = pa.Table.from_pandas(frame, preserve_index=False)
    metadata = {**(table.schema.metadata or {}), b"pvf": _json_bytes(says)}
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(metadata), sink, compression="zstd")
    content = sink.getvalue().to_pybytes()
    path = folder / f"{_slug(block)}.{hashlib.sha256(content).hexdigest()}.parquet"
    _write(path, content)
    return path


def _read_shard(path: Path, identity: dict[str, Any], block: Any) -> pd.DataFrame | None:
    """Return the frame in a shard, or None if its bytes or its identity are not what they say."""
    try:
        content = path.read_bytes() if path.is_file() else b""  # to open a pipe would wait for ever
        if hashlib.sha256(content).hexdigest() != path.name.split(".")[-2]:
            return None
        table = pq.read_table(io.BytesIO(content))
        says = json.loads((table.schema.metadata or {})[b"pvf"])
    except (OSError, KeyError, ValueError, pa.ArrowException):
        return None
    if says["of"] != {**identity, "block": _plain(block, "blocks")}:
        return None
    frame = table.to_pandas()
    frame.attrs = {"times": says["times"]}
    return frame


def _finished_frames(
    folder: Path, identity: dict[str, Any], blocks: list[Any]
) -> dict[int, pd.DataFrame]:
    """Return the frames of all blocks that have a whole shard, by position.

    Damaged shards are removed: no run ever writes a name a second time, since a shard holds times.
    """
    shards: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*.parquet")):
        shards.setdefault(path.name.split(".")[0], []).append(path)
    frames: dict[int, pd.DataFrame] = {}
    for position, block in enumerate(blocks):
        damaged = []
        for path in shards.get(_slug(block), []):
            frame = _read_shard(path, identity, block)
            if frame is not None:
                frames[position] = frame
                break
            if os.path.lexists(path):  # else another run has removed it
                damaged.append(path)
        for path in damaged:
            _remove(path)
        if damaged and position not in frames:
            warnings.warn(
                f"the shard of the block {block!r} is truncated or altered and is computed "
                f"again: {damaged[0]}",
                stacklevel=3,
            )
    return frames


def _written(path: Path, identity: dict[str, Any], block: Any) -> pd.DataFrame:
    """Return the frame in a shard that a worker has just written."""
    frame = _read_shard(path, identity, block)
    if frame is None:
        raise OSError(
            f"the shard of the block {block!r} is not whole where a worker wrote it: {path}; out "
            "must be on a file system that all workers share, and nobody may empty it during a run"
        )
    return frame


def _remove(path: Path) -> None:
    """Remove a file or a folder; what is gone already, or somebody else's, does no harm."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(OSError):
        path.unlink()


def _remove_stale(folder: Path) -> None:
    """Remove temporary files so old that no run can still be writing them."""
    for path in folder.glob(".*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime > _STALE_SECONDS:
                _remove(path)


def _write(path: Path, content: bytes) -> None:
    """Write a file whole, and its folder if need be; say what to do if that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise OSError(
            error.errno,
            f"cannot write {path.name} ({error.strerror or error}); give a folder that can be "
            "written and has room. What was finished before stays and is not computed again",
            str(path.parent),
        ) from error


# --- result tables ------------------------------------------------------------------------------


def results_folder() -> Path:
    """Return the folder of the committed result tables, ``book/results`` in the repository.

    Raises
    ------
    FileNotFoundError
        If the package does not lie in its repository, as after a plain ``pip install``.

    Examples
    --------
    >>> results_folder().relative_to(results_folder().parents[1]).as_posix()
    'book/results'
    """
    root = repository_root()
    folder = root / "book" / "results"
    if not (root / "pyproject.toml").is_file() or not folder.parent.is_dir():
        raise FileNotFoundError(
            f"no folder for book/results beside the package in {root}; the committed results come "
            "with the repository: clone it and `pip install -e .`, or give folder="
        )
    return folder


def write_result(
    frame: pd.DataFrame,
    name: str,
    *,
    settings: dict[str, Any],
    seed: int | list[int] | None,
    wall_time: float,
    folder: str | os.PathLike[str] | None = None,
    notes: str = "",
    cost: Mapping[str, Any] | None = None,
    code: dict[str, str] | None = None,
) -> Path:
    r"""Write a result table as ``<name>.csv`` and its provenance as ``<name>.json``.

    The CSV has the same bytes whenever the table is the same: UTF-8, ``\n``, floats with the
    fewest digits that read back as the same number. Of two processes that write one table at once,
    the later leaves the pair.

    Parameters
    ----------
    frame : pandas.DataFrame
        Table with string column names, a plain 0 … n−1 index, and columns of booleans, integers,
        floats or strings (missing floats and strings are kept; empty strings are refused).
    name : str
        Name of the result; letters, digits, ``_`` and ``-``.
    settings : dict
        Settings of the run, JSON-able.
    seed : int or list of int or None
        Seed of the run; None if nothing is random.
    wall_time, notes, cost
        As in `provenance`.
    folder : path-like, optional
        Where to write; ``book/results`` of the repository if None.
    code : dict of str to str, optional
        Digests of the code that made it, see `studies.kit.digest.table_code`.

    Returns
    -------
    pathlib.Path
        Path of the CSV file.

    Raises
    ------
    TypeError, ValueError
        If the table, the name or a setting is not of the kind described.
    OSError
        If the files can't be written.

    Examples
    --------
    >>> import tempfile
    >>> table = pd.DataFrame({"method": ["pvf", "traditional"], "share": [0.1 + 0.2, 1 / 3]})
    >>> folder = tempfile.mkdtemp()
    >>> path = write_result(table, "demo", settings={}, seed=7, wall_time=0.5, folder=folder)
    >>> print(path.read_text().strip())
    method,share
    pvf,0.30000000000000004
    traditional,0.3333333333333333
    >>> frame, facts = read_result("demo", folder)
    >>> bool((frame == table).all(axis=None)), facts["seed"]
    (True, 7)
    """
    _check_name(name, "name")
    folder = results_folder() if folder is None else Path(folder)
    columns = _column_kinds(frame)
    content = frame.to_csv(index=False, lineterminator="\n").encode()
    _check_round_trip(frame, content, columns)
    facts = {
        "name": name,
        "sha256": hashlib.sha256(content).hexdigest(),
        "rows": len(frame),
        "columns": columns,
        **provenance(settings=settings, seed=seed, wall_time=wall_time, notes=notes, cost=cost),
        **({} if code is None else {"code": _plain(code, "code")}),
    }
    _remove_stale(folder)
    _write_pair(folder / f"{name}.csv", content, _pretty_bytes(facts))
    return folder / f"{name}.csv"


def _write_pair(table: Path, content: bytes, facts: bytes) -> None:
    """Write a table and its provenance, so that no two processes leave one half each.

    Each looks at the pair after its last rename, and whoever sees a mixed pair writes both anew.
    """
    for _ in range(_PAIR_TRIES):
        _write(table, content)
        _write(table.with_suffix(".json"), facts)
        with contextlib.suppress(OSError, ValueError):
            _read_pair(table)
            return
        time.sleep(_PAIR_PAUSE * random.random())  # else two in step stay in step
    raise OSError(f"another process keeps writing {table} and its provenance; end it first")


def resumed(facts: Mapping[str, Any]) -> str:
    """Say what a table's wall time stands for if its run was resumed; nothing if it was not."""
    n = facts.get("resumptions", 0)
    if not n:
        return ""
    return (
        f"Resumed {'once' if n == 1 else f'{n} times'}: the wall time is summed over the calls "
        f"that computed its blocks ({facts['block_time']:.0f} s of work in all); {facts['load']}."
    )


def _read_pair(table: Path) -> tuple[bytes, dict[str, Any]]:
    """Return the bytes of a table and its provenance; ValueError if they are not of one run."""
    described = table.with_suffix(".json")
    content, text = table.read_bytes(), described.read_bytes()
    try:
        facts = json.loads(text)
        recorded, _ = facts["sha256"], facts["columns"]
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"{described.name} in {table.parent} is no provenance as write_result writes it "
            f"({type(error).__name__}: {error}): it was altered or cut off"
        ) from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != recorded:
        raise ValueError(
            f"{table.name} in {table.parent} has SHA-256 {digest}, but its provenance records "
            f"{recorded}: the table was altered, or the two files are of different runs"
        )
    return content, facts


def read_result(
    name: str, folder: str | os.PathLike[str] | None = None
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read a result table and its provenance, and refuse a table that is not the one described.

    Parameters
    ----------
    name : str
        Name of the result, as given to :func:`write_result`.
    folder : path-like, optional
        Where it lies; ``book/results`` of the repository if None.

    Returns
    -------
    frame : pandas.DataFrame
        The table, with the types it was written with.
    facts : dict
        Its provenance, see :func:`provenance`, with ``name``, ``sha256``, ``rows``, ``columns``.

    Raises
    ------
    FileNotFoundError
        If the table or its provenance is missing.
    ValueError
        If the provenance can't be read, or the table's bytes differ from the checksum that it
        records for longer than another process takes to replace both.
    """
    _check_name(name, "name")
    folder = results_folder() if folder is None else Path(folder)
    table = folder / f"{name}.csv"
    for path in (table, table.with_suffix(".json")):
        if not path.is_file():
            raise FileNotFoundError(f"the result {name!r} needs {path.name}, missing in {folder}")
    for _ in range(_PAIR_TRIES):
        with contextlib.suppress(ValueError):  # another process may have replaced one half only
            content, facts = _read_pair(table)
            break
        time.sleep(_PAIR_PAUSE)
    else:
        content, facts = _read_pair(table)
    return _parsed(content, facts["columns"]), facts


def provenance(
    *,
    settings: dict[str, Any],
    seed: int | list[int] | None,
    wall_time: float,
    notes: str = "",
    cost: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the facts about a run that a reader needs to repeat it or to judge it.

    Parameters
    ----------
    settings : dict
        Settings of the run, JSON-able.
    seed : int or list of int or None
        Seed of the run; None if nothing is random.
    wall_time : float
        Seconds that it took, summed over the calls that made it.
    notes : str, optional
        What a reader should know besides.
    cost : mapping, optional
        ``block_time``, ``resumptions`` and ``load`` as `run_blocks` gives them.

    Returns
    -------
    dict
        ``created`` (UTC), ``seed``, ``settings``, ``wall_time``, those of `cost`, ``notes``,
        ``git`` (``commit`` and ``dirty``: whether anything outside ``book/results`` differs from
        it; both None outside a repository), ``packages`` (versions) and ``machine`` (``cpu``,
        ``cores`` available, ``platform``).

    Raises
    ------
    TypeError, ValueError
        If an argument is not of the kind described.

    Examples
    --------
    >>> facts = provenance(settings={"n_repetitions": 5000}, seed=1, wall_time=2.5)
    >>> facts["settings"], sorted(facts["machine"])
    ({'n_repetitions': 5000}, ['cores', 'cpu', 'platform'])
    """
    if not isinstance(settings, dict):
        raise TypeError(f"settings must be a dict, got {type(settings).__name__}")
    wall_time, cost = float(wall_time), cost or {}
    if not math.isfinite(wall_time) or wall_time < 0:
        raise ValueError(f"wall_time must be a number of seconds, 0 or more, got {wall_time}")
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": _plain(seed, "seed"),
        "settings": _plain(settings, "settings"),
        "wall_time": wall_time,
        **{name: cost[name] for name in ("block_time", "resumptions", "load") if name in cost},
        "notes": str(notes),
        "git": git_state(repository_root()),
        "packages": package_versions(),
        "machine": _machine(),
    }


def _column_kinds(frame: pd.DataFrame) -> dict[str, str]:
    """Return the kind of each column by name: bool, str, or the NumPy name of a number type."""
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"frame must be a pandas.DataFrame, got {type(frame).__name__}")
    if not frame.index.equals(pd.RangeIndex(len(frame))):
        raise ValueError("frame must have a plain 0 … n−1 index; use reset_index first")
    if not frame.columns.is_unique or not all(isinstance(c, str) and c for c in frame.columns):
        raise ValueError(f"frame must have unique string column names, got {list(frame.columns)}")
    return {
        name: dtype.name if isinstance(dtype, np.dtype) and dtype.kind in "biuf" else "str"
        for name, dtype in frame.dtypes.items()
    }


def _parsed(content: bytes, columns: dict[str, str]) -> pd.DataFrame:
    """Return the table in the bytes of a CSV file, each float with every bit."""
    # Floats are read by Python, whose parsing is exact in every version of pandas.
    types = {name: kind if kind[0] in "biu" else "str" for name, kind in columns.items()}
    frame = pd.read_csv(io.BytesIO(content), dtype=types, keep_default_na=False, na_values=[""])
    for name, kind in columns.items():
        if kind.startswith("float"):
            frame[name] = frame[name].astype(object).map(float).astype(kind)
    return frame


def _check_round_trip(frame: pd.DataFrame, content: bytes, columns: dict[str, str]) -> None:
    """Refuse a table that would not read back as the same values."""
    parsed = _parsed(content, columns)
    for name in frame.columns:
        before, after = frame[name].to_numpy(dtype=object), parsed[name].to_numpy(dtype=object)
        missing = frame[name].isna().to_numpy()
        same = np.array_equal(parsed[name].isna(), missing) and np.array_equal(
            before[~missing], after[~missing]
        )
        if not same:
            raise ValueError(
                f"frame's column {name!r} of type {frame[name].dtype} does not survive being "
                "written as CSV; a result holds booleans, integers, floats or strings that are "
                "not empty"
            )


def duration(seconds: float) -> str:
    """Write a wall time in the unit that a person would use.

    Examples
    --------
    >>> duration(0.93), duration(3.21), duration(754)
    ('0.9 s', '3 s', '12 min 34 s')
    """
    if seconds < 1:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def repository_root() -> Path:
    """Return the folder that holds the packages and the book."""
    return ROOT


def git_state(root: Path, *paths: str) -> dict[str, Any]:
    """Return the commit at `root`, and whether some paths, or all but results, differ from it."""
    unknown = {"commit": None, "dirty": None}
    if not (root / ".git").exists():
        return unknown
    try:
        commit = _git(root, "rev-parse", "HEAD")
        chosen = paths or (".", ":(exclude)book/results")
        changes = _git(root, "status", "--porcelain", "--", *chosen)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return unknown
    return {"commit": commit, "dirty": bool(changes)}


def commit_name(git: Mapping[str, Any]) -> str:
    """Return a commit as pages show it, and whether the sources differ from it."""
    if not git["commit"]:
        return "unknown"
    return f"{git['commit'][:10]}" + (" with uncommitted changes" if git["dirty"] else "")


def _git(root: Path, *arguments: str) -> str:
    """Return the output of one git command."""
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@cache
def package_versions() -> dict[str, str]:
    """Return the versions of Python, this package and those that the results depend on."""
    versions = {"python": platform.python_version(), "pvf": pvf.__version__}
    for package in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return versions


def _machine() -> dict[str, Any]:
    """Return the type of the machine; nothing that tells whose it is."""
    return {
        "cpu": _cpu_model(),
        "cores": joblib.cpu_count(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def _cpu_model() -> str:
    """Return the model name of the processor, as far as the system tells it."""
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        match = re.search(r"^model name\s*:\s*(.+)$", listing.read_text(), flags=re.MULTILINE)
        if match:
            return match.group(1).strip()
    return platform.processor() or platform.machine()


# --- plain values -------------------------------------------------------------------------------


def _check_name(name: str, argument: str) -> None:
    """Refuse names that are not one plain part of a file name."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise ValueError(f"{argument} must be letters, digits, '_' and '-', got {name!r}")


def _plain(value: Any, argument: str) -> Any:
    """Turn a value into what JSON knows: NumPy scalars to numbers, tuples and arrays to lists."""
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist(), argument)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{argument} must hold finite numbers, got {value}")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, argument) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(item, argument) for key, item in value.items()}
    raise TypeError(
        f"{argument} must be made of numbers, strings, booleans, None, lists, tuples and dicts "
        f"with string keys, got {value!r} of type {type(value).__name__}"
    )


def _json_bytes(value: Any) -> bytes:
    """Return one text for equal plain values, whatever the order of their keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _pretty_bytes(value: Any) -> bytes:
    """Return JSON to be read by people."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
