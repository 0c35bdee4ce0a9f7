"""Intervention Efficiency over capacity as a figure, and as the table behind it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from pvf import _checks as check
from pvf import plotting
from pvf._checks import naming, shown
from pvf._people import POS_LABEL, People, label_column
from pvf._ranks import Unit, check_room, share_of
from pvf._seeds import Seed, generator_of
from pvf._types import Array, ArrayLike, Axes
from pvf.intervals import (
    bootstrap_of_labels,
    bootstrap_of_people,
    people_with_cases,
    percentiles,
    profile_of_people,
)
from pvf.metrics import efficiency_of


@dataclass(eq=False)
class InterventionEfficiencyDisplay:
    """Intervention Efficiency over capacity, between its upper limit and chance.

    Made by `from_predictions` or `from_estimator`, by labels or by rank. Several models are drawn
    on the same axes (``ax=first.ax_``), where they share the lines of limit and chance.

    Parameters
    ----------
    capacity : ndarray of shape (n_capacities,)
        Capacities γ, as shares of the population.
    efficiency : ndarray of shape (n_capacities,)
        IE at each capacity.
    prevalence : float
        Share of positives; the upper limit is min(1/γ, 1/π).
    band : tuple of two ndarray of shape (n_capacities,), optional
        Lower and upper end of the interval.
    confidence_level : float, default=0.95
        Level of the band.
    name : str, optional
        What the legend calls the model.
    n_people : float, optional
        How many people (the sum of their weights): gives places and cases reached.
    interval : str, default="bootstrap"
        What the legend calls the band.

    Attributes
    ----------
    ax_, figure_, line_
        The Matplotlib objects, once plotted.

    Examples
    --------
    >>> display = InterventionEfficiencyDisplay.from_predictions(
    ...     [1, 0, 0, 1, 0], [1, 0, 1, 0, 0], capacity=[0.2, 0.4, 1.0], name="tree"
    ... )
    >>> display.efficiency
    array([1.25, 1.25, 1.  ])
    """

    capacity: Array
    efficiency: Array
    prevalence: float
    band: tuple[Array, Array] | None = None
    confidence_level: float = 0.95
    name: str | None = None
    n_people: float | None = None
    interval: str = "bootstrap"
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)
    line_: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check what was given, so that a slip isn't found only when it is drawn."""
        self.capacity = check.capacity(self.capacity)
        check.shape("capacity", self.capacity, (-1,))
        self.efficiency = self._curve("efficiency", self.efficiency)
        self.prevalence = check.number("prevalence", self.prevalence, 0, 1, left_open=True)
        check.number("confidence_level", self.confidence_level, 0, 1, left_open=True)
        check.text("name", self.name)
        check.choice("interval", self.interval, ("bootstrap", "profile"))
        if self.n_people is not None:
            self.n_people = check.number("n_people", self.n_people, 0, left_open=True)
        if self.band is not None:
            if not isinstance(self.band, tuple | list | np.ndarray) or len(self.band) != 2:
                raise TypeError(f"band must be a pair of arrays or None, got {shown(self.band)}.")
            low, high = (self._curve("band", end) for end in self.band)
            self.band = (low, high)

    def _curve(self, name: str, value: ArrayLike) -> Array:
        """Return one number at each capacity; NaN where there is none, which leaves a gap."""
        array = check.numeric(name, value)
        check.shape(name, array, self.capacity.shape, as_in="capacity")
        if np.isinf(array).any():
            raise ValueError(f"{name} must not be infinite.")
        return array

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike | None = None,
        *,
        y_score: ArrayLike | None = None,
        capacity: ArrayLike | None = None,
        capacity_unit: Unit = None,
        pos_label: Any = POS_LABEL,
        sample_weight: ArrayLike | None = None,
        interval: Literal["profile", "bootstrap"] | None = None,
        n_bootstraps: int = 0,
        confidence_level: float = 0.95,
        random_state: Seed = None,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> InterventionEfficiencyDisplay:
        """Draw IE over capacity for predicted labels or for scores.

        Parameters
        ----------
        y_true, y_pred, y_score, pos_label, sample_weight
            As in `intervention_efficiency_score`.
        capacity : array-like, optional
            Where to draw: shares in (0, 1], or whole numbers of places; 0.01, 0.02, ... 1 by
            default.
        capacity_unit : {"share", "places"}, optional
            What ``capacity`` is.
        interval : {"profile", "bootstrap"}, optional
            Draw a band of the intervals of `intervention_efficiency_interval`; "bootstrap" by
            default where ``n_bootstraps`` is above 0, otherwise none.
        n_bootstraps : int, default=0
            Resamples: of labels within each class, so that the prevalence stays; of ranks over all
            people. 0 stands for 2000 with ``interval="bootstrap"``.
        confidence_level : float in (0, 1], default=0.95
            Level of the band.
        random_state : int, SeedSequence, Generator, RandomState or None
            Seed of the bootstrap.
        name : str, optional
            Name in the legend.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **plot_kwargs
            Passed on to `plot`.

        Returns
        -------
        InterventionEfficiencyDisplay
        """
        given = np.linspace(0.01, 1, 100) if capacity is None else capacity
        room = check_room(given, capacity_unit)
        check.integer("n_bootstraps", n_bootstraps, 0)
        check.number("confidence_level", confidence_level, 0, 1, left_open=True)
        if interval is not None:
            check.choice("interval", interval, ("profile", "bootstrap"))
        kind = interval or ("bootstrap" if n_bootstraps else None)
        rng = generator_of(random_state)
        people = people_with_cases(y_true, y_pred, y_score, pos_label, sample_weight)
        n_people = float(people.weight.sum())
        gamma = np.atleast_1d(share_of(room, n_people))
        display = cls(
            capacity=gamma,
            efficiency=efficiency_of(people, gamma),
            prevalence=people.total / n_people,
            band=_band(people, gamma, kind, n_bootstraps or 2000, confidence_level, rng),
            confidence_level=confidence_level,
            name=name,
            n_people=n_people,
            interval=kind or "bootstrap",
        )
        return display.plot(ax=ax, **plot_kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        by: Literal["labels", "rank"] = "labels",
        name: str | None = None,
        **kwargs: Any,
    ) -> InterventionEfficiencyDisplay:
        """Draw IE over capacity for a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier or pipeline
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        by : {"labels", "rank"}, default="labels"
            Whether ``predict`` says who is treated, or the order of ``decision_function`` or
            ``predict_proba``.
        name : str, optional
            Name in the legend; the estimator's class by default.
        **kwargs
            As in `from_predictions`.

        Returns
        -------
        InterventionEfficiencyDisplay
        """
        check.fitted("estimator", estimator)
        check.samples("X", X, len(label_column("y", y)))
        check.choice("by", by, ("labels", "rank"))
        check.text("name", name)
        name = type(estimator).__name__ if name is None else name
        with naming("X"):
            if by == "labels":
                return cls.from_predictions(y, estimator.predict(X), name=name, **kwargs)
            scores = _scores_of(estimator, X, kwargs.get("pos_label", POS_LABEL))
        return cls.from_predictions(y, y_score=scores, name=name, **kwargs)

    @property
    def upper_limit(self) -> Array:
        """IE of a perfect model at each capacity: min(1/γ, 1/π)."""
        return np.minimum(1 / self.capacity, 1 / self.prevalence)

    @property
    def cases(self) -> float:
        """How many cases there are, where the number of people is known."""
        if self.n_people is None:
            raise ValueError("n_people must be given for places and cases reached, got None.")
        return self.n_people * self.prevalence

    def to_frame(self) -> pd.DataFrame:
        """Return the curve as a table, one row a capacity.

        Returns
        -------
        DataFrame
            ``model``, ``capacity``, ``efficiency``, ``low``, ``high`` (missing without a band) and
            ``upper_limit``; with the number of people also ``places``, ``cases_reached`` and
            ``cases_by_chance``.
        """
        low, high = self.band or (np.full(len(self.capacity), np.nan),) * 2
        columns: dict[str, Any] = {
            "model": self.name or "model",
            "capacity": self.capacity,
            "efficiency": self.efficiency,
            "low": low,
            "high": high,
            "upper_limit": self.upper_limit,
        }
        if self.n_people is not None:
            by_chance = self.capacity * self.cases
            columns["places"] = self.capacity * self.n_people
            columns["cases_reached"] = self.efficiency * by_chance
            columns["cases_by_chance"] = by_chance
        return pd.DataFrame(columns)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        kind: Literal["efficiency", "cases"] = "efficiency",
        x: Literal["share", "places"] = "share",
        **line_kwargs: Any,
    ) -> InterventionEfficiencyDisplay:
        """Draw onto ``ax``, or onto a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        name : str, optional
            Name in the legend.
        kind : {"efficiency", "cases"}, default="efficiency"
            IE, or the number of cases reached.
        x : {"share", "places"}, default="share"
            The axis of the capacity.
        **line_kwargs
            Passed on to the line.

        Returns
        -------
        InterventionEfficiencyDisplay
            Itself, with ``ax_``, ``figure_`` and ``line_``.
        """
        check.text("name", name)
        check.choice("kind", kind, ("efficiency", "cases"))
        check.choice("x", x, ("share", "places"))
        along = self.capacity * (self.n_people or 1) if x == "places" else self.capacity
        scale = self.capacity * self.cases if kind == "cases" else np.ones(len(self.capacity))
        if x == "places" and self.n_people is None:
            raise ValueError("n_people must be given for an axis of places, got None.")
        ax = check.axes(ax) or plotting.new_axes()
        (line,) = ax.plot(
            along, scale * self.efficiency, **{"label": name or self.name or "model", **line_kwargs}
        )
        if self.band is not None:
            low, high = self.band
            ax.fill_between(
                along,
                scale * low,
                scale * high,
                color=line.get_color(),
                alpha=0.2,
                linewidth=0,
                label=f"{100 * self.confidence_level:g}% {self.interval} interval",
            )
        self._draw_limits(ax, along, scale)
        units = {"share": "share of the population", "places": "places"}
        heights = {
            "efficiency": "Intervention Efficiency (ratio to random choice)",
            "cases": "cases reached (expected number)",
        }
        ax.set(xlabel=f"capacity γ ({units[x]})", ylabel=heights[kind])
        plotting.as_written(ax.legend(frameon=False).get_texts())
        self.ax_, self.figure_, self.line_ = ax, ax.figure, line
        return self

    def _draw_limits(self, ax: Axes, along: Array, scale: Array) -> None:
        """Draw a perfect model and chance; models on the same axes share them."""
        drawn = {other.get_gid() for other in ax.lines}
        limit = f"limit {self.prevalence:.9g} {along.min():.9g} {along.max():.9g}"
        grey: dict[str, Any] = {"color": "0.35", "linewidth": 1}
        if limit not in drawn:
            best = scale * self.upper_limit
            ax.plot(along, best, "--", label="perfect model", gid=limit, **grey)
        chance: dict[str, Any] = {"linestyle": ":", "label": "random choice", "gid": "chance"}
        if "chance" not in drawn and (scale == 1).all():
            ax.axhline(1, **chance, **grey)
        elif "chance" not in drawn:
            ax.plot(along, scale, **chance, **grey)


def _band(
    people: People,
    gamma: Array,
    kind: str | None,
    n_bootstraps: int,
    level: float,
    rng: np.random.Generator,
) -> tuple[Array, Array] | None:
    """Return the ends of the interval at each capacity."""
    if kind is None:
        return None
    if kind == "profile":
        check.fraction("confidence", level)
        ends = np.array([profile_of_people(people, float(share), level) for share in gamma])
        return ends[:, 0], ends[:, 1]
    if people.flagged is None:
        drawn = bootstrap_of_people([people], gamma, n_bootstraps, rng)[:, 0]
    else:
        drawn = bootstrap_of_labels(people, gamma, n_bootstraps, rng)
    low, high = percentiles(drawn, level)
    return low, high


def _scores_of(estimator: Any, X: Any, pos_label: Any) -> Array:
    """Return scores that are higher for who is likelier to be a case."""
    classes = list(estimator.classes_)
    if len(classes) != 2 or pos_label not in classes:
        raise ValueError(
            f"estimator must tell pos_label={pos_label!r} from one other class, got {classes}."
        )
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X))
        return scores if classes[1] == pos_label else -scores
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X))[:, classes.index(pos_label)]
    raise TypeError("estimator must have decision_function or predict_proba for by='rank'.")
