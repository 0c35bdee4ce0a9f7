"""How long a run will take, said before it, and how far it is, said while it goes on."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

#: Seconds between two lines where there is no terminal.
EVERY = 60.0
#: A run expected to be shorter, in minutes, is announced on request only.
WORTH_SAYING = 1.0
#: Of each kind of candidate at most so many are timed, and no further one after so many seconds.
MOST_TIMED, LONG = 4, 10.0


class Progress:
    """Say what a run does: on a terminal by a bar, elsewhere by a line a minute.

    Parameters
    ----------
    name : str
        What lines start with.
    show : bool or None
        False is silent. Where there is no terminal, True also gives a line for the expected time
        and for each stage; by default runs of `WORTH_SAYING` minutes get these.
    """

    def __init__(self, name: str, *, show: bool | None) -> None:
        self.name, self.show, self.loud = name, show is not False, bool(show)
        self._file, self._terminal = sys.stderr, sys.stderr.isatty()
        self._bar = tqdm(disable=not (self.show and self._terminal), leave=False, file=self._file)
        self._start, self._minutes, self._now = time.monotonic(), 0.0, "starting"
        self._done, self._steps = 0, 0
        self._over = Event()
        self._clock = Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        if self.show:
            self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self.show:
            self._clock.join()
        self._bar.close()

    def expect(self, minutes: float, what: str) -> None:
        """Say how long the run will take, and keep it in mind for the lines to come."""
        self._minutes = minutes
        self.loud |= minutes >= WORTH_SAYING
        if self.loud or self._terminal:
            self._write(f"{in_words(minutes)}: {what}")

    def stage(self, now: str, steps: int = 1) -> None:
        """Begin the next stage; a terminal and a loud run show it at once."""
        self._now, self._done, self._steps = now, 0, steps
        self._bar.reset(total=steps)
        self._bar.set_description(now)
        if self.loud and not self._terminal:
            self._write(self._line())

    def step(self) -> None:
        """Take one step of the stage."""
        self._done += 1
        self._bar.update()

    def _tick(self) -> None:
        # By a clock, not by steps: one step can take longer than a reader's patience.
        while not self._over.wait(1.0 if self._terminal else EVERY):
            if self._terminal:
                self._bar.refresh()
            else:
                self._write(self._line())

    def _line(self) -> str:
        gone = (time.monotonic() - self._start) / 60
        whole = f"; {in_words(self._minutes)} in all" if gone < self._minutes else ""
        return f"{gone:.0f} min: {self._now} ({self._done} of {self._steps}){whole}"

    def _write(self, text: str) -> None:
        if self.show:
            tqdm.write(f"{self.name}: {text}", file=self._file)
            self._file.flush()


def in_words(minutes: float) -> str:
    """Return a time that is only roughly known."""
    if minutes < 1:
        return "less than a minute"
    return "about 1 minute" if minutes < 1.5 else f"about {minutes:,.0f} minutes"


def timed(call: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Call a function; return its result and its seconds, of the second time if that is short."""
    seconds = np.inf
    for _ in range(2):  # what is done for the first time loads and allocates
        start = time.perf_counter()
        result = call(*arguments)
        seconds = min(seconds, time.perf_counter() - start)
        if seconds > 0.1:
            break
    return result, seconds


@contextmanager
def without_a_trace() -> Iterator[None]:
    """Let a probe change nothing: no warning is given twice, and NumPy's global seed stays."""
    state = np.random.get_state()  # noqa: NPY002  candidates without a seed draw from it
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


def expected_seconds(
    pool: Mapping[str, Any], times_of: Callable[[str, Any], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the times of a whole pool, from a few candidates of each kind.

    Parameters
    ----------
    pool : mapping of str to estimator
    times_of : callable (name, estimator) -> ndarray
        Times a candidate; it may return several times, of fitting and predicting, say.

    Returns
    -------
    ndarray
        For each of these times its sum over the pool.
    """
    kinds: dict[tuple[str, ...], list[str]] = {}
    for name, estimator in pool.items():
        kinds.setdefault(_kind(estimator), []).append(name)
    totals = []
    for names in kinds.values():
        places = np.unique(np.linspace(0, len(names) - 1, MOST_TIMED).round().astype(int))
        times: list[NDArray[np.float64]] = []
        start = time.perf_counter()
        for place in places:
            times.append(times_of(names[place], pool[names[place]]))
            if time.perf_counter() - start > LONG:
                break
        totals.append(len(names) * np.mean(times, axis=0))
    return np.sum(totals, axis=0)


def _kind(estimator: Any) -> tuple[str, ...]:
    return tuple(type(step).__name__ for _, step in getattr(estimator, "steps", [("", estimator)]))
