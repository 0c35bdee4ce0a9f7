"""Files that a command is told to write: refused in advance where that is known, else whole."""

from __future__ import annotations

import os
import stat
import tempfile
import unicodedata
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path


class OutputError(ValueError):
    """An output that cannot be written, or would overwrite what it must not; told in one line."""


def check_outputs(outputs: Sequence[Path], inputs: Sequence[Path] = ()) -> None:
    """Refuse outputs that are an input, are the same file twice, or cannot be written.

    Parameters
    ----------
    outputs, inputs : sequence of Path

    Raises
    ------
    OutputError
        A file is not an ordinary one, its folder does not exist or takes no file, or two of the
        paths lead to one file: by a link, another spelling of the folder, or another case.
    """
    for place, path in enumerate(outputs):
        _check_place(path)
        for other in inputs:
            if _is_same(path, other):
                raise OutputError(
                    f"{str(path)!r} is the same file as {str(other)!r}, which is read; "
                    "take another name."
                )
        for other in outputs[:place]:
            if _is_same(path, other):
                raise OutputError(
                    f"{str(path)!r} and {str(other)!r} are one file; each takes a name of its own."
                )


def write_whole(path: Path, content: bytes) -> None:
    """Write a file in one step: it is there whole, or what was there before stays.

    A link is followed, so that the file behind it is replaced and the link stays.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    target = path.resolve()
    temporary = target.with_name(f".{uuid.uuid4().hex[:12]}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
        temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink()


def _check_place(path: Path) -> None:
    """Refuse a path at which no file can be written."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:  # a name too long, a loop of links, a zero byte
        raise OutputError(f"{str(path)!r} cannot be written ({_reason(error)}).") from error
    else:
        if not stat.S_ISREG(mode):
            what = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
            raise OutputError(f"{str(path)!r} is {what}; it takes the name of a file.")
        if not os.access(path, os.W_OK):
            raise OutputError(f"{str(path)!r} is read-only.")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise OutputError(f"there is no folder {str(path.parent)!r}.")
    try:
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(
            f"folder {str(path.parent)!r} takes no file ({_reason(error)})."
        ) from error


def _is_same(one: Path, other: Path) -> bool:
    """Say whether two paths lead to one file, or would on a disk that ignores case."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):  # one of them is not there yet
        return _folded(one) == _folded(other)


def _folded(path: Path) -> str:
    with suppress(OSError, ValueError, RuntimeError):
        path = path.resolve()
    return unicodedata.normalize("NFC", str(path)).casefold()


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
