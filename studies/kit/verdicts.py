"""From a claim's parts to its label: the one scale of all verdicts.

A claim has parts. A part may make a *statement*, a region for a quantity, and may print a *number*.
Statements are judged by intervals that hold jointly over a claim's parts; numbers by whether the
paper's values, as a set, lie where 95% of single runs of the paper's size lie.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from studies.kit.estimates import simultaneous_level

#: All labels that a claim can get.
LABELS = (
    "reproduced",
    "holds, numbers differ",
    "in part",
    "not reproduced",
    "undecided",
    "untestable",
)


class Region(NamedTuple):
    """Where a quantity lies if a statement holds; the ends belong to it or not."""

    low: float
    high: float
    closed: bool = True

    @classmethod
    def read(cls, text: str) -> Region:
        """Read a region as the claims' files write it.

        Examples
        --------
        >>> Region.read("> 0"), Region.read("<= 2"), Region.read("0.85 to 0.95")
        (Region(low=0.0, high=inf, closed=False), Region(low=-inf, high=2.0, closed=True), \
Region(low=0.85, high=0.95, closed=True))
        >>> Region.read("within 10 of 0")
        Region(low=-10.0, high=10.0, closed=True)
        """
        number = r"(-?[\d.]+(?:e-?\d+)?)"
        if found := re.fullmatch(rf"([<>])(=?) {number}", text):
            sign, equal, end = found[1], bool(found[2]), float(found[3])
            return cls(end, np.inf, equal) if sign == ">" else cls(-np.inf, end, equal)
        if found := re.fullmatch(rf"{number} to {number}", text):
            return cls(float(found[1]), float(found[2]))
        if found := re.fullmatch(rf"within {number} of {number}", text):
            reach, middle = float(found[1]), float(found[2])
            return cls(middle - reach, middle + reach)
        raise ValueError(
            f"region must be like '> 0', '<= 2', '0.85 to 0.95' or 'within 10 of 0', got {text!r}."
        )

    def outcome(self, low: float, high: float) -> str:
        """Say whether all, nothing or some of an interval lies in the region."""
        if np.isnan(low) or np.isnan(high):
            return "undecided"
        inside = self.low <= low and high <= self.high
        outside = high < self.low or low > self.high
        if not self.closed:
            inside = self.low < low and high < self.high
            outside = high <= self.low or low >= self.high
        return "holds" if inside else "fails" if outside else "undecided"


@dataclass(frozen=True)
class Part:
    """One statement or printed number of a claim, beside what we found.

    Parameters
    ----------
    says : str
        What the part says, in the paper's sense.
    estimate, low, high : float
        Ours with its 95% interval; NaN ends where there is none.
    n : float
        Units behind the interval.
    region : Region, optional
        Where the quantity lies if the statement holds; none if the part makes no statement.
    paper : tuple of float
        The number that the paper prints, or the ends of a printed range; empty if it prints none.
    run_low, run_high : float
        Between which values 95% of single runs of the paper's size fall.
    untestable : str
        What is missing, if the part can't be tested here.
    joint : bool
        Whether the interval already holds jointly with those of the other parts.
    family : str
        The statement that this part makes in one setting of many, if it does.
    """

    says: str
    estimate: float = np.nan
    low: float = np.nan
    high: float = np.nan
    n: float = np.inf
    region: Region | None = None
    paper: tuple[float, ...] = ()
    run_low: float = np.nan
    run_high: float = np.nan
    untestable: str = ""
    joint: bool = False
    family: str = ""

    @property
    def outcome(self) -> str:
        """``holds``, ``fails``, ``undecided``, ``untestable``, or "" without a statement."""
        if self.untestable:
            return "untestable"
        return "" if self.region is None else self.region.outcome(self.low, self.high)

    @property
    def detectable(self) -> float:
        """Smallest lead that one run of the paper's size finds at 5% with 80% power."""
        spread = (self.run_high - self.run_low) / (2 * stats.norm.ppf(0.975))
        return float(spread * (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)))

    @property
    def decided_by(self) -> float:
        """Units with which an interval of this estimate would decide; infinite at a boundary."""
        if self.region is None or not np.isfinite(self.n):
            return np.nan
        distance = min(abs(self.estimate - end) for end in self.region[:2])
        half = (self.high - self.low) / 2
        return float(np.ceil(self.n * (half / distance) ** 2)) if distance else np.inf


@dataclass(frozen=True)
class Verdict:
    """A claim's label and the parts that it follows from.

    Parameters
    ----------
    label : str
        One of `LABELS`.
    parts : sequence of Part
        With joint intervals.
    numbers : str
        ``compatible``, ``different`` or ``none``.
    note : str
        What the label leaves out: which parts hold, what is missing, what would decide.
    """

    label: str
    parts: Sequence[Part]
    numbers: str = "none"
    note: str = ""


def widened(part: Part, level: float) -> Part:
    """Return a part whose 95% interval is widened to a higher level, by Student's quantiles."""
    if part.joint or np.isnan(part.low) or level <= 0.95:
        return part
    df = max(part.n - 1, 1) if np.isfinite(part.n) else 1e9
    factor = stats.t.ppf((1 + level) / 2, df) / stats.t.ppf(0.975, df)
    low = part.estimate - factor * (part.estimate - part.low)
    high = part.estimate + factor * (part.high - part.estimate)
    return replace(part, low=float(low), high=float(high))


def compatible(paper: Sequence[Sequence[float]], runs: ArrayLike) -> bool:
    """Tell whether printed values lie jointly where 95% of single runs lie.

    Each run's largest distance from the mean of the others, in their standard deviations, is
    compared with the paper's.

    Parameters
    ----------
    paper : sequence
        One number, or the two ends of a printed range, for each value.
    runs : array of shape (n_runs, n_values)
        Single runs of the paper's size, at least 20.
    """
    x = np.asarray(runs, dtype=float)
    if x.ndim != 2 or len(x) < 20 or x.shape[1] != len(paper):
        raise ValueError(
            f"runs must be at least 20 rows of {len(paper)} values, got shape {x.shape}."
        )
    n = len(x)
    others = (x.sum(axis=0) - x) / (n - 1)
    spread = np.maximum(x.std(axis=0, ddof=1), 1e-12)
    ends = np.array([(min(value), max(value)) for value in paper])
    nearest = np.clip(x.mean(axis=0), ends[:, 0], ends[:, 1])
    distances = (np.abs(x - others) / spread).max(axis=1)
    distance = (np.abs(nearest - x.mean(axis=0)) / spread).max()
    at_least = int((distances >= distance - 1e-9).sum())
    return (1 + at_least) / (n + 1) > 0.05


def _within_runs(parts: Sequence[Part]) -> bool:
    """Judge numbers part by part, where no runs of all values together are at hand."""
    return all(
        max(part.paper) >= part.run_low - 1e-9 and min(part.paper) <= part.run_high + 1e-9
        for part in parts
    )


def judge_parts(parts: Sequence[Part], runs: ArrayLike | None = None) -> Verdict:
    """Return the verdict on a claim.

    Parameters
    ----------
    parts : sequence of Part
        With 95% intervals; they are widened (Bonferroni) so that they hold jointly.
    runs : array of shape (n_runs, n_numbers), optional
        Single runs of the values that the paper prints, in the order of the parts that print one.
        Without it each number is held to its part's ``run_low`` to ``run_high``; a part without
        those, whose value is exact, to the value itself.

    Returns
    -------
    Verdict
    """
    stated = [part for part in parts if part.region is not None and not part.untestable]
    level = simultaneous_level(max(len(stated), 1))
    parts = tuple(widened(part, level) if part in stated else part for part in parts)
    printed = [part for part in parts if part.paper and not part.untestable]
    numbers = "none"
    if printed:
        printed = [
            replace(part, run_low=part.estimate, run_high=part.estimate)
            if np.isnan(part.run_low)
            else part
            for part in printed
        ]
        fit = (
            _within_runs(printed)
            if runs is None
            else compatible([part.paper for part in printed], runs)
        )
        numbers = "compatible" if fit else "different"
    label = _label([part.outcome for part in parts], numbers)
    return Verdict(label, parts, numbers, _note(label, parts, numbers))


def _label(outcomes: Sequence[str], numbers: str) -> str:
    testable = [outcome for outcome in outcomes if outcome != "untestable"]
    if not testable:
        return "untestable"
    stated = {outcome for outcome in testable if outcome}
    if not stated:
        return "not reproduced" if numbers == "different" else "reproduced"
    if stated == {"holds"}:
        return "holds, numbers differ" if numbers == "different" else "reproduced"
    if stated >= {"holds", "fails"}:
        return "in part"
    return "not reproduced" if "fails" in stated else "undecided"


def _note(label: str, parts: Sequence[Part], numbers: str) -> str:
    notes = []
    if label == "in part":
        whole = Counter(part.family for part in parts)
        for outcome in ("holds", "fails", "undecided"):
            named = Counter(part.family or part.says for part in parts if part.outcome == outcome)
            told = (
                f"{says} ({n} of {whole[says]})" if whole[says] else says
                for says, n in named.items()
            )
            notes += [f"{outcome}: {'; '.join(told)}"] if named else []
    if label == "not reproduced" and numbers == "compatible":
        notes.append("one run could look so")
    if label == "undecided":
        units = [part.decided_by for part in parts if part.outcome == "undecided"]
        if units and np.isfinite(max(units)):
            notes.append(f"about {max(units):,.0f} units would decide")
    missing = [part.untestable for part in parts if part.untestable]
    if missing and label != "untestable":
        notes.append(f"on {len(parts) - len(missing)} of {len(parts)} parts: {missing[0]}")
    return "; ".join(notes)
