"""The one protocol of all studies: settings, blocks, rows, estimates, figures, claims.

A study is a value. Its settings are a frozen dataclass whose fields are made by `setting`, so that
the reduced and the full value, the paper's, the range and the meaning of each stand in one place;
the notebook's parameters, the YAML of full values, the command line's options and the table in the
docstring are made from it. `Study.run` computes what a chapter draws; the committed full results
are the reference behind it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from studies.data.tables import DataUnavailableError
from studies.kit.estimates import agrees
from studies.kit.results import read_result, run_blocks
from studies.kit.verdicts import Part


def setting(
    default: Any,
    meaning: str,
    *,
    full: Any = None,
    paper: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: Sequence[Any] = (),
) -> Any:
    """Make a field of a study's settings: its reduced value, what it means, and what it takes."""
    facts = {
        "meaning": meaning,
        "full": default if full is None else full,
        "paper": paper,
        "low": low,
        "high": high,
        "choices": tuple(choices),
    }
    return field(default=default, metadata=facts)


@dataclass(frozen=True)
class Settings:
    """What a study can be told; every field checks itself."""

    def __post_init__(self) -> None:
        """Refuse a value of another type than the default's, out of its range, or no choice."""
        for one in dataclasses.fields(self):
            value, facts = getattr(self, one.name), one.metadata
            if type(one.default) is float and type(value) is int:
                object.__setattr__(self, one.name, value := float(value))
            if type(value) is list:
                object.__setattr__(self, one.name, value := tuple(value))
            if type(value) is not type(one.default):
                takes = type(one.default).__name__
                raise TypeError(f"{one.name} must be {takes}, got {value!r}.")
            if facts.get("choices") and value not in facts["choices"]:
                raise ValueError(
                    f"{one.name} must be one of {list(facts['choices'])}, got {value!r}."
                )
            low, high = facts.get("low"), facts.get("high")
            inside = (low is None or value >= low) and (high is None or value <= high)
            if not inside or value != value:  # noqa: PLR0124  NaN
                takes = f"at least {low:g}" if high is None else f"in [{low:g}, {high:g}]"
                raise ValueError(f"{one.name} must be {takes}, got {value!r}.")

    @classmethod
    def full(cls, **changed: Any) -> Any:
        """Return the settings of the full run."""
        values = {one.name: one.metadata["full"] for one in dataclasses.fields(cls)}
        return cls(**values | changed)


def settings_table(settings: type[Settings]) -> pd.DataFrame:
    """Return a table of settings: the reduced, the full and the paper's value, and the meaning."""
    rows = {
        one.name: {
            "reduced": one.default,
            "full": one.metadata["full"],
            "paper": one.metadata["paper"] or "–",
            "meaning": one.metadata["meaning"],
        }
        for one in dataclasses.fields(settings)
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("setting")


def _as_they_are(rows: pd.DataFrame) -> pd.DataFrame:
    return rows


def _no_runs(_: pd.DataFrame) -> None:
    return None


@dataclass(frozen=True)
class Study:
    """An experiment of the book.

    Parameters
    ----------
    name : str
        Of its committed table, ``book/results/<name>.csv``.
    settings : type
        A subclass of `Settings`.
    blocks : callable
        Settings to the keys of independent blocks.
    block : callable
        Key and settings to the rows of one block.
    estimate : callable
        Table to estimates, see `studies.kit.estimates`.
    summarise : callable
        Rows of all blocks to the table that is committed; by default the rows themselves.
    figures : mapping
        Label to a function of estimates and of the reference's estimates (or None).
    claims : mapping
        Claim to a function of the committed estimates and of the claim's entry, which returns its
        parts; only of claims whose rule is more than the estimates that its file names.
    runs : callable
        Table to single runs of the paper's size: the estimates' keys, ``quantity``, ``run`` and
        ``value``; None where there are none.
    sample : mapping
        Settings under which the study gives some of the table's rows, quickly.
    notes : str
        What a reader of the table should know.
    measured : sequence of str
        Columns that hold measured times, which no second run repeats.
    version : int
        Raised when the code computes something else, so that no old block is read.
    """

    name: str
    settings: type[Settings]
    blocks: Callable[[Any], Sequence[Any]]
    block: Callable[[Any, Any], pd.DataFrame]
    estimate: Callable[[pd.DataFrame], pd.DataFrame]
    summarise: Callable[[pd.DataFrame], pd.DataFrame] = _as_they_are
    figures: Mapping[str, Callable[..., Figure]] = field(default_factory=dict)
    claims: Mapping[str, Callable[..., Sequence[Part]]] = field(default_factory=dict)
    runs: Callable[[pd.DataFrame], pd.DataFrame | None] = _no_runs
    sample: Mapping[str, Any] = field(default_factory=dict)
    notes: str = ""
    measured: Sequence[str] = ()
    version: int = 1

    def table(
        self,
        settings: Settings,
        *,
        n_jobs: int | None = None,
        out: str | Path | None = None,
        progress: bool | None = None,
    ) -> pd.DataFrame:
        """Compute all blocks and return the table; ``attrs["cost"]`` says what they took."""
        rows = run_blocks(
            self._one_block,
            self.blocks(settings),
            study=self.name,
            settings=dataclasses.asdict(settings),
            version=self.version,
            out=out,
            n_jobs=n_jobs,
            progress=progress,
        )
        table = self.summarise(rows)
        table.attrs["cost"] = rows.attrs.get("cost", {})
        return table

    def _one_block(self, key: Any, **values: Any) -> pd.DataFrame:
        return self.block(tuple(key) if isinstance(key, list) else key, self.settings(**values))

    def full_table(
        self, *, n_jobs: int | None = None, out: str | Path | None = None, **changed: Any
    ) -> pd.DataFrame:
        """Compute the committed table, or what it would be with some settings changed."""
        return self.table(self.settings.full(**changed), n_jobs=n_jobs, out=out)

    def recorded(self) -> tuple[dict[str, Any], int | None]:
        """Return the full settings and the seed, as the committed table's provenance has them."""
        settings = dataclasses.asdict(self.settings.full())
        return settings, settings.pop("seed", None)

    def committed(self) -> tuple[pd.DataFrame, dict[str, Any]]:
        """Return the committed full results and their provenance."""
        return read_result(self.name)

    @cached_property
    def reference(self) -> pd.DataFrame:
        """Estimates of the committed results."""
        return self.estimate(self.committed()[0])

    @cached_property
    def reference_runs(self) -> pd.DataFrame | None:
        """Single runs of the paper's size, of the committed results."""
        return self.runs(self.committed()[0])

    def run(self, *, n_jobs: int | None = -1, **values: Any) -> Run:
        """Compute what a chapter draws; where the data are missing, only the committed results."""
        settings = self.settings(**values)
        committed, provenance = self.committed()
        try:
            table = self.table(settings, n_jobs=n_jobs)
        except (DataUnavailableError, ModuleNotFoundError) as error:
            return Run(self, settings, None, committed, provenance, str(error).splitlines()[0])
        return Run(self, settings, table, committed, provenance)


@dataclass(frozen=True)
class Run:
    """A study's run on this machine beside its committed full results.

    Parameters
    ----------
    study : Study
    settings : Settings
    table : DataFrame or None
        What this run found; None where it could not run.
    committed : DataFrame
    provenance : dict
        Of the committed table.
    missing : str
        Why it could not run.
    """

    study: Study
    settings: Settings
    table: pd.DataFrame | None
    committed: pd.DataFrame
    provenance: Mapping[str, Any]
    missing: str = ""

    @cached_property
    def reference(self) -> pd.DataFrame:
        """Estimates of the committed results."""
        return self.study.estimate(self.committed)

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """Estimates of this run; the committed ones where it could not run."""
        return self.study.estimate(self.committed if self.table is None else self.table)

    def figure(self, label: str, **options: Any) -> Figure:
        """Draw this run, with the committed results behind it."""
        reference = None if self.table is None else self.reference
        return self.study.figures[label](self.estimates, reference, **options)

    def says(self) -> str:
        """Say in Markdown what is shown, and whether it agrees with the committed results."""
        if self.table is None:
            return (
                "**The live part of this page did not run**: " + self.missing + " All numbers and "
                "figures here are the committed full results."
            )
        if dataclasses.asdict(self.settings) == dataclasses.asdict(self.study.settings.full()):
            same = self.table.drop(columns=list(self.study.measured)).equals(
                self.committed.drop(columns=list(self.study.measured))
            )
            bits = "the same bits as" if same else "other bits than"
            return f"This page shows a fresh full run; it has {bits} the committed table."
        close = agrees(self.estimates, self.reference)
        return (
            f"This page draws its own, smaller run; the committed full results lie behind it. "
            f"{close.sum():,} of {len(close):,} estimates agree with them."
        )
