"""One download, in a process of its own so that it can be stopped.

None of the clients can be trusted to end: ``ucimlrepo`` and scikit-learn's OpenML
reader set no time-out, and a time-out of the socket does not bound a server that sends
a byte now and then. So ``pvf`` runs this file as a script, with a limit on its wall time:

    python client.py CLIENT WHAT FOLDER SECONDS

It writes the answer into FOLDER (``answer.csv`` or ``answer.npz``). If it fails it writes
the chain of causes as a JSON list to standard output and exits with 1. It imports nothing
of ``pvf``. TLS certificates are always verified, against the roots of ``certifi``.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import sys
import urllib.request
from pathlib import Path

import certifi
import numpy as np

HINTS = {
    "JSONDecodeError": "the answer is not JSON, often an error page sent with status 200",
    "ParserError": "the answer is not a table, often an error page sent with status 200",
    "KeyError": "the table lacks columns, often an error page sent with status 200",
    "SSLCertVerificationError": "the certificate was refused; verification stays on",
}


def fetch_uci(number: str, folder: Path) -> None:
    """Write the original table of one UCI data set, as ``ucimlrepo`` returns it."""
    import ucimlrepo  # noqa: PLC0415  slow to import, and only this client needs it

    answer = ucimlrepo.fetch_ucirepo(id=int(number))
    answer.data.original.to_csv(folder / "answer.csv", index=False)


def fetch_openml(number: str, folder: Path) -> None:
    """Write the images and labels of one OpenML data set."""
    import sklearn.datasets  # noqa: PLC0415  slow to import, and only this client needs it

    bunch = sklearn.datasets.fetch_openml(
        data_id=int(number), as_frame=False, parser="pandas", data_home=folder, n_retries=1
    )
    images = np.asarray(bunch.data)
    if images.min() < 0 or images.max() > 255 or (images != np.rint(images)).any():
        raise ValueError("grey values are not whole numbers from 0 to 255")
    np.savez(
        folder / "answer.npz",
        images=images.astype(np.uint8),
        labels=np.asarray(bunch.target).astype(np.uint8),
    )


def fetch_url(url: str, folder: Path) -> None:
    """Write what one address returns, byte for byte."""
    with urllib.request.urlopen(url) as answer, (folder / "answer.csv").open("wb") as file:
        shutil.copyfileobj(answer, file)
        missing = answer.length
    if missing:
        raise ConnectionError(f"the connection ended {missing} bytes early")


CLIENTS = {"ucimlrepo": fetch_uci, "openml": fetch_openml, "url": fetch_url}


def causes(error: BaseException) -> list[str]:
    """Name an error and what led to it, the outermost first.

    ``ucimlrepo`` raises "Error connecting to server" and "Error reading data csv file"
    for whatever went wrong; the truth is in the exception behind it.
    """
    lines: list[str] = []
    link: BaseException | None = error
    while link is not None and len(lines) < 6:
        hint = _hint(link)
        if hint or not lines or str(link) not in lines[-1]:
            lines.append(f"{type(link).__name__}: {link}"[:400] + (f" ({hint})" if hint else ""))
        reason = getattr(link, "reason", None)  # what urllib wrapped
        wrapped = reason if isinstance(reason, BaseException) else None
        link = wrapped or link.__cause__ or link.__context__
    return lines


def _hint(error: BaseException) -> str | None:
    if getattr(error, "errno", None) in {errno.ENOSPC, errno.EDQUOT}:
        return "the disk that holds the cache is full"
    return next(
        (HINTS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in HINTS), None
    )


def main(client: str, what: str, folder: str, seconds: str) -> int:
    """Run one client; return the exit code."""
    socket.setdefaulttimeout(float(seconds))
    # Without this, urllib looks for the system's roots, which Python on macOS lacks.
    os.environ.setdefault("SSL_CERT_FILE", certifi.where())
    try:
        CLIENTS[client](what, Path(folder))
    except Exception as error:  # whatever it was, the parent process reports it
        print(json.dumps(causes(error)))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
