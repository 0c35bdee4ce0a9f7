"""Where a table comes from: ``$PVF_DATA_DIR``, the cache, or a download, in this order.

Nothing that differs from the published content is ever returned. Downloads go through pooch into
the cache, as files of the publisher's names, so that all places hold the same kind of file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import certifi
import pandas as pd
import pooch

from studies.data.tables import (
    DataError,
    DataMismatchError,
    DataUnavailableError,
    Table,
    file_sha256,
    match_columns,
    published_columns,
    read_text_table,
    registry,
    tables,
)

FOLDER_VARIABLE = "PVF_DATA_DIR"
#: ucimlrepo sets no time-out, and no time-out bounds a server that sends a byte now and then.
SECONDS = 300.0
_HINTS = {
    "JSONDecodeError": "the answer is not JSON, often an error page sent with status 200",
    "ParserError": "the answer is not a table, often an error page sent with status 200",
    "KeyError": "the table lacks columns, often an error page sent with status 200",
    "SSLCertVerificationError": "the certificate was refused; verification stays on",
}
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
pooch.get_logger().setLevel("WARNING")  # it would print a hash for each file to copy


def data_folder() -> Path | None:
    """Return the folder that ``$PVF_DATA_DIR`` names, or None if it is unset or empty."""
    named = os.environ.get(FOLDER_VARIABLE, "")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise DataError(
            f"{FOLDER_VARIABLE} must name a folder, got {named!r}: no folder {folder.absolute()}"
        )
    return folder


def cache_folder() -> Path:
    """Return the folder of what was downloaded; it may not exist yet."""
    return Path(pooch.os_cache("pvf")) / "data"


def obtain(name: str, *, download: bool = True) -> tuple[pd.DataFrame, str]:
    """Return a table of ``registry.toml`` and where it was found, downloading it if need be.

    Raises
    ------
    DataUnavailableError
        Nothing was found; says what was tried and which file to put where.
    DataMismatchError
        Something was found that is not the published content; says both hashes.
    DataError
        ``$PVF_DATA_DIR`` names no folder, or the cache can't be written.
    """
    table, folder, tried = tables()[name], data_folder(), []
    if folder is None:
        tried.append(f"${FOLDER_VARIABLE} is not set")
    else:
        present, absent = _paths_in(folder, table)
        if not absent:
            return _read(table, present), _where(f"${FOLDER_VARIABLE}", present)
        tried.append(f"${FOLDER_VARIABLE} ({folder}) has no {', '.join(absent)}")
    present, absent = _paths_in(cache_folder(), table)
    if absent:
        tried.append(f"the cache has no {cache_folder() / absent[0]}")
    else:
        try:
            return _read(table, present), _where("cache", present)
        except DataMismatchError as error:
            tried.append(f"the cache: {error}")
            _remove(present)
    known = registry()[table.dataset]
    title = f"ucimlrepo, UCI {known['uci']}" if "uci" in known else f"download from {known['page']}"
    if not download:
        tried.append("a download was not asked for")
        raise DataUnavailableError(_how_to_go_on(table, tried))
    try:
        _download(table, cache_folder())
        return _read(table, _paths_in(cache_folder(), table)[0]), f"downloaded just now ({title})"
    except (DataUnavailableError, DataMismatchError) as error:
        _remove(_paths_in(cache_folder(), table)[0])
        tried.append(f"{title}: {error}")
        raise type(error)(_how_to_go_on(table, tried)) from error


def files_and_page(table: Table) -> str:
    """Name a table's files and where the publisher has them."""
    known = registry()[table.dataset]
    note = f" ({known['note']})" if "note" in known else ""
    return f"{' and '.join(table.files)} from {known['page']}{note}"


def _how_to_go_on(table: Table, tried: Sequence[str]) -> str:
    todo = (
        f"What to do: get {files_and_page(table)}, put {'it' if len(table.files) == 1 else 'them'} "
        f"into a folder, and set {FOLDER_VARIABLE} to that folder."
    )
    return "\n".join([_lines(f"{table.name}: no copy to be had. Tried:", tried), todo])


def _lines(head: str, points: Sequence[str]) -> str:
    return "\n".join([head, *("  - " + point.replace("\n", "\n    ") for point in points)])


# --- files ------------------------------------------------------------------------------


def _paths_in(folder: Path, table: Table) -> tuple[list[Path], list[str]]:
    """Return the paths of a table's files, a ``.gz`` packed or not, and the absent ones' names."""
    present, absent = [], []
    for name in table.files:
        paths = [
            path for path in (folder / name, folder / name.removesuffix(".gz")) if path.is_file()
        ]
        present += paths[:1]
        absent += [] if paths else [name]
    return present, absent


def _where(place: str, paths: Sequence[Path]) -> str:
    return f"{place}/{', '.join(path.name for path in paths)}"


def _read(table: Table, paths: Sequence[Path]) -> pd.DataFrame:
    """Read and check a table's files; refuse other content with all hashes."""
    try:
        frame = table.read(paths)
        faults = table.mismatches(frame)
    except DataMismatchError as error:
        expected = [f"{what} SHA-256: expected {sha}" for what, sha in table.checksums.items()]
        faults = [str(error), *expected]
    except OSError as error:
        raise DataError(f"{table.name}: cannot read {paths[0]}: {error}") from error
    if not faults:
        return frame
    for path in paths:
        known = ", ".join(table.known_files.get(path.name, ())) or "not on record"
        faults.append(f"{path.name} SHA-256: found {file_sha256(path)}, published copies {known}")
    raise DataMismatchError(
        _lines(f"{table.name}: not the published content, not used: {paths[0]}", faults)
    )


def _remove(paths: Sequence[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()


# --- downloads --------------------------------------------------------------------------


def _download(table: Table, cache: Path) -> None:
    """Download a table's files into the cache, each whole or not at all, within the time."""
    known = registry()[table.dataset]
    client = _from_uci if "uci" in known else _without_names if table.name == "compas" else None

    def run() -> None:
        for file in table.files:
            pooch.retrieve(
                f"{known.get('url', 'uci:')}{file}",
                known_hash=None if client else table.known_files[file][0],
                fname=file,
                path=cache,
                downloader=client and partial(client, table),
            )

    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache):
            pass
    except OSError as error:
        raise _cannot_write(cache, error) from error
    # Without this, urllib looks for the system's roots, which Python on macOS lacks.
    os.environ.setdefault("SSL_CERT_FILE", certifi.where())
    try:
        _within(SECONDS, run)
    except DataError:
        raise
    except Exception as error:
        chain = _causes(error)
        if any(getattr(link, "errno", None) in _NO_ROOM for link in chain):
            raise _cannot_write(cache, error) from error
        if "known hash" in str(error):
            raise DataMismatchError(str(error)) from error
        raise DataUnavailableError("; because of ".join(map(_says, chain))) from error


def _cannot_write(cache: Path, error: Exception) -> DataError:
    return DataError(
        f"cannot write to the cache folder {cache}: {error}. Make room or make it writable, point "
        "XDG_CACHE_HOME elsewhere, or put the data set's files into a folder and set "
        f"{FOLDER_VARIABLE} to it"
    )


def _within(seconds: float, work: Callable[[], None]) -> None:
    """Do some work in a thread that is left to itself when the time is up."""
    failed: list[Exception] = []

    def run() -> None:
        try:
            work()
        except Exception as error:  # whatever it was, the caller reports it
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise DataUnavailableError(f"no complete answer within {seconds:g} s, given up")
    if failed:
        raise failed[0]


def _from_uci(table: Table, _url: str, path: str, _pooch: Any) -> None:
    """Write what ``ucimlrepo`` has of a table; it keeps both parts of Adult in one."""
    import ucimlrepo  # noqa: PLC0415  slow to import, and seldom needed

    original = ucimlrepo.fetch_ucirepo(id=registry()[table.dataset]["uci"]).data.original
    if table.dataset == "adult":
        test = original["income"].astype(str).str.strip().str.endswith(".")
        original = original[test if table.name == "adult_test" else ~test]
    original.to_csv(path, index=False)


def _without_names(table: Table, url: str, path: str, _pooch: Any) -> None:
    """Write the columns that are used, so that those that name people never reach the disk."""
    with urllib.request.urlopen(url) as answer:
        used = read_text_table(answer.read(), table.dataset)
    match_columns(used, published_columns(table.dataset)).to_csv(path, index=False)


def _causes(error: BaseException) -> list[BaseException]:
    """Return an error and what led to it, the outermost first.

    ``ucimlrepo`` raises "Error connecting to server" and "Error reading data csv file" for
    whatever went wrong; the truth is in the exception behind it.
    """
    chain: list[Any] = []
    link: Any = error
    while link is not None and link not in chain and len(chain) < 8:
        chain.append(link)
        wrapped = [getattr(link, "reason", None), *link.args, link.__cause__, link.__context__]
        link = next((one for one in wrapped if isinstance(one, BaseException)), None)
    return chain


def _says(error: BaseException) -> str:
    names = [kind.__name__ for kind in type(error).__mro__]
    hint = next((f" ({_HINTS[name]})" for name in names if name in _HINTS), "")
    return f"{names[0]}: {error}"[:400] + hint
