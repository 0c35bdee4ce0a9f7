"""Where a table comes from: ``$PVF_DATA_DIR``, the cache, or a download, in this order.

Nothing that differs from the published content is ever returned. What the cache or a
download brought and was refused is set aside in the cache's folder ``refused``.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import platformdirs

from studies.data import tables as tables_
from studies.data.tables import (
    DataError,
    DataMismatchError,
    DataUnavailableError,
    Table,
    file_sha256,
    registry,
    tables,
)

FOLDER_VARIABLE = "PVF_DATA_DIR"
CLIENT_SCRIPT = Path(__file__).with_name("client.py")
SOCKET_SECONDS = 20.0


@dataclass(frozen=True)
class Download:
    """How a data set is downloaded: by which client, and what its answer holds."""

    client: str
    what: str
    title: str
    seconds: float
    read: Callable[[Path], dict[str, pd.DataFrame]]


def _cervical_answer(answer: Path) -> dict[str, pd.DataFrame]:
    return {"cervical_cancer": tables_.cervical_frame(tables_.read_text_table(answer))}


def _adult_answer(answer: Path) -> dict[str, pd.DataFrame]:
    return tables_.adult_parts(tables_.read_text_table(answer))


def _compas_answer(answer: Path) -> dict[str, pd.DataFrame]:
    """Read the columns that are used; the file itself is cut to them at once.

    So no copy of the columns that name people stays on the disk, not even when the
    answer is refused and set aside.
    """
    kept = tables_.without_names(tables_.read_text_table(answer))
    kept.to_csv(answer, index=False)
    return {"compas": tables_.compas_frame(kept)}


def _board_answer(answer: Path) -> dict[str, pd.DataFrame]:
    return {"connect4": tables_.board_frame(tables_.read_text_table(answer))}


def _digits_answer(answer: Path) -> dict[str, pd.DataFrame]:
    """Both parts of MNIST; OpenML has the training part first."""
    with np.load(answer) as arrays:
        images, labels = arrays["images"], arrays["labels"]
    cut = tables()["mnist_train"].rows
    if images.ndim != 2 or images.shape[1] != len(tables_.PIXELS):
        raise DataMismatchError(f"images of shape {images.shape}")
    return {
        "mnist_train": tables_.digit_frame(images[:cut], labels[:cut]),
        "mnist_test": tables_.digit_frame(images[cut:], labels[cut:]),
    }


_PROPUBLICA = (
    "https://raw.githubusercontent.com/propublica/compas-analysis/master/"
    "compas-scores-two-years.csv"
)

DOWNLOADS: dict[str, Download] = {
    "cervical_cancer": Download("ucimlrepo", "383", "ucimlrepo, UCI 383", 90.0, _cervical_answer),
    "adult": Download("ucimlrepo", "2", "ucimlrepo, UCI 2", 90.0, _adult_answer),
    "compas": Download("url", _PROPUBLICA, "download of ProPublica's file", 90.0, _compas_answer),
    "connect4": Download("ucimlrepo", "26", "ucimlrepo, UCI 26", 90.0, _board_answer),
    "mnist": Download("openml", "554", "OpenML 554", 300.0, _digits_answer),
}


# --- the local folder -------------------------------------------------------------------


def data_folder() -> Path | None:
    """Folder named by ``$PVF_DATA_DIR``; None if the variable is unset or empty.

    Raises
    ------
    DataError
        If it names no folder.
    """
    named = os.environ.get(FOLDER_VARIABLE, "")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise DataError(
            f"{FOLDER_VARIABLE} must name a folder, got {named!r}: no folder {folder.absolute()}"
        )
    return folder


def _paths_in(folder: Path, table: Table) -> list[Path | None]:
    """Path of each of a table's files, None where it is absent; ``.gz`` may be unpacked."""
    paths: list[Path | None] = []
    for name in table.files:
        candidates = [folder / name, folder / name.removesuffix(".gz")]
        paths.append(next((path for path in candidates if path.is_file()), None))
    return paths


def _read_raw(table: Table, paths: Sequence[Path]) -> pd.DataFrame:
    """Read and check the publisher's files; refuse other content with all hashes."""
    try:
        frame, faults = _checked(table, lambda: table.read(paths))
    except OSError as error:
        raise DataError(f"{table.name}: cannot read {paths[0]}: {error}") from error
    if not faults:
        return frame
    for path in paths:
        known = table.known_files.get(path.name, ())
        faults.append(
            f"{path.name} SHA-256: found {file_sha256(path)}, "
            f"published copies {', '.join(known) or 'not on record'}"
        )
    raise DataMismatchError(
        _lines(f"{table.name}: not the published content, not used: {paths[0]}", faults)
    )


def _checked(table: Table, read: Callable[[], pd.DataFrame]) -> tuple[pd.DataFrame, list[str]]:
    """Read a table; return it and what is wrong with it, one line each."""
    try:
        frame = read()
    except DataMismatchError as error:
        expected = [f"{what} SHA-256: expected {sha}" for what, sha in table.checksums.items()]
        return pd.DataFrame(), [str(error), *expected]
    return frame, table.mismatches(frame)


def _lines(head: str, points: Sequence[str]) -> str:
    return "\n".join([head, *("  - " + point.replace("\n", "\n    ") for point in points)])


# --- the cache --------------------------------------------------------------------------


def cache_folder() -> Path:
    """Folder of the tables that were downloaded and checked; it may not exist yet."""
    return platformdirs.user_cache_path("pvf", appauthor=False) / "data"


def _cache_path(table: Table) -> Path:
    """Path of the cached table; its name holds the checksum, so versions don't collide."""
    digest = next(iter(table.checksums.values()))[:12]
    return cache_folder() / f"{table.name}-{digest}.parquet"


@contextlib.contextmanager
def _writing_cache() -> Iterator[Path]:
    """Make the cache folder and yield it; say clearly why it can't be written."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    except OSError as error:
        raise DataError(
            f"cannot write to the cache folder {folder}: {error}. Make room or make it "
            f"writable, point XDG_CACHE_HOME elsewhere, or put the data set's files into a "
            f"folder and set {FOLDER_VARIABLE} to it"
        ) from error


def _store(table: Table, frame: pd.DataFrame) -> None:
    """Write a checked table to the cache: whole or not at all."""
    path = _cache_path(table)
    with _writing_cache() as folder:
        descriptor, name = tempfile.mkstemp(prefix=".writing-", dir=folder)
        os.close(descriptor)
        try:
            frame.to_parquet(name, index=False)
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)


def _set_aside(name: str, path: Path) -> str:
    """Move a refused file out of the way; return where it went, in words."""
    target = cache_folder() / "refused"
    try:
        target.mkdir(parents=True, exist_ok=True)
        target /= f"{name}-{file_sha256(path)[:12]}{path.suffix}"
        path.replace(target)
    except FileNotFoundError:
        return "another process set it aside"
    except OSError as error:
        return f"it could not be set aside ({error})"
    return f"set aside as {target}"


def _from_cache(table: Table) -> tuple[pd.DataFrame, str] | str:
    """Table from the cache and where it was, or why there is none.

    A cached file with other content is set aside.
    """
    path = _cache_path(table)
    try:
        frame = pd.read_parquet(path)
        faults = table.mismatches(frame)
    except FileNotFoundError:
        return f"the cache has no {path}"
    except Exception as error:  # pyarrow has no one base class for a spoilt file
        faults = [f"unreadable: {type(error).__name__}: {error}"]
    if not faults:
        return frame, f"cache/{path.name}"
    faults.append(_set_aside(table.name, path))
    return _lines(f"cache: not the published content, not used: {path}", faults)


# --- downloads --------------------------------------------------------------------------


def _run_client(download: Download, folder: Path) -> None:
    """Run one client within its time.

    Raises
    ------
    DataUnavailableError
        With the true cause, as far as the client knows it.
    """
    command = [sys.executable, "-P", str(CLIENT_SCRIPT)]
    command += [download.client, download.what, str(folder), str(SOCKET_SECONDS)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=download.seconds,
        )
    except subprocess.TimeoutExpired as error:
        raise DataUnavailableError(
            f"no complete answer within {download.seconds:g} s, stopped"
        ) from error
    if done.returncode == 0:
        return
    try:
        causes = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        causes = [f"the client ended with code {done.returncode}: {done.stderr[-400:].strip()}"]
    raise DataUnavailableError("; because of ".join(causes))


def _download(dataset: str) -> dict[str, pd.DataFrame]:
    """Download a data set, check every table of it, and store them in the cache."""
    download = DOWNLOADS[dataset]
    with _writing_cache() as folder:
        partial = tempfile.TemporaryDirectory(prefix=".download-", dir=folder)
    with partial as name:
        _run_client(download, Path(name))
        answer = next(Path(name).glob("answer.*"))
        with _writing_cache():
            frames, faults = _read_answer(download, answer)
        if faults:
            faults.append(f"the answer as a file: SHA-256 {file_sha256(answer)}")
            faults.append(_set_aside(dataset, answer))
            raise DataMismatchError(
                _lines(f"{download.title}: not the published content, not used", faults)
            )
    for name, frame in frames.items():
        _store(tables()[name], frame)
    return frames


def _read_answer(download: Download, answer: Path) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Tables of a client's answer, and what is wrong with them, one line each."""
    try:
        frames = download.read(answer)
    except DataMismatchError as error:
        return {}, [str(error)]
    return frames, [
        f"{name}: {fault}"
        for name, frame in frames.items()
        for fault in tables()[name].mismatches(frame)
    ]


# --- all of it --------------------------------------------------------------------------


def _from_folder(table: Table) -> tuple[pd.DataFrame, str] | str:
    """Table from ``$PVF_DATA_DIR`` and where it was, or why there is none."""
    folder = data_folder()
    if folder is None:
        return f"${FOLDER_VARIABLE} is not set"
    paths = _paths_in(folder, table)
    absent = [name for name, path in zip(table.files, paths, strict=True) if path is None]
    if absent:
        return f"${FOLDER_VARIABLE} ({folder}) has no {', '.join(absent)}"
    present = [path for path in paths if path is not None]
    where = f"${FOLDER_VARIABLE}/{', '.join(path.name for path in present)}"
    return _read_raw(table, present), where


def obtain(name: str, *, download: bool = True) -> tuple[pd.DataFrame, str]:
    """Return a table and where it was found, downloading it if need be.

    Parameters
    ----------
    name : str
        Name of the table in ``datasets.toml``.
    download : bool, default=True
        Whether to ask the publisher if the table is not on this machine.

    Returns
    -------
    tuple of (DataFrame, str)

    Raises
    ------
    DataUnavailableError
        Nothing was found; says what was tried and which file to put where.
    DataMismatchError
        Something was found that is not the published content; says both hashes.
    DataError
        ``$PVF_DATA_DIR`` names no folder, or the cache can't be written.
    """
    table = tables()[name]
    tried = []
    for place in (_from_folder, _from_cache):
        found = place(table)
        if not isinstance(found, str):
            return found
        tried.append(found)
    if not download:
        tried.append("a download was not asked for")
        raise DataUnavailableError(_how_to_go_on(table, tried))
    title = DOWNLOADS[table.dataset].title
    try:
        return _download(table.dataset)[name], f"downloaded just now ({title})"
    except DataUnavailableError as error:
        tried.append(f"{title}: {error}")
        raise DataUnavailableError(_how_to_go_on(table, tried)) from error
    except DataMismatchError as error:
        tried.append(str(error))
        raise DataMismatchError(_how_to_go_on(table, tried)) from error


def files_and_page(table: Table) -> str:
    """Name a table's files and where the publisher has them."""
    known = registry()[table.dataset]
    note = f" ({known['note']})" if "note" in known else ""
    return f"{' and '.join(table.files)} from {known['page']}{note}"


def _how_to_go_on(table: Table, tried: Sequence[str]) -> str:
    head = f"{table.name}: no copy to be had. Tried:"
    todo = (
        f"What to do: get {files_and_page(table)}, put {'it' if len(table.files) == 1 else 'them'} "
        f"into a folder, and set {FOLDER_VARIABLE} to that folder."
    )
    return "\n".join([_lines(head, tried), todo])
