"""Pictures of the Rashomon Capacity over samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss

from pvf import _checks as check
from pvf import plotting
from pvf._checks import naming, shown
from pvf._types import Array, ArrayLike, Axes, Indices, NDArray
from pvf.multiplicity.capacity import capacity_tail, rashomon_capacity
from pvf.multiplicity.measures import rashomon_set
from pvf.multiplicity.scores import (
    as_scores,
    check_sample_names,
    class_scores,
    n_classes,
    positive_scores,
    widest_range,
)


@dataclass
class MultiplicityDisplay:
    """Rashomon Capacity over the samples: its distribution, its tail, its worst samples.

    Made by `from_scores`, or from capacities that are known already.

    Parameters
    ----------
    capacity : ndarray of shape (n_samples,)
        m_C of each sample, in effective classes.
    scores : ndarray of shape (n_models, n_samples), optional
        Scores of each sample's most contested class; the worst samples are drawn from them.
    contested_class : ndarray of int of shape (n_samples,), optional
        That class.
    samples : ndarray of shape (n_samples,), optional
        Names of the samples; 0, 1, ... by default.
    name : str, optional
        What the legend calls the Rashomon set.

    Attributes
    ----------
    ax_, figure_
        The Matplotlib objects, once plotted.

    Examples
    --------
    >>> display = MultiplicityDisplay.from_scores([[0.2, 0.6, 0.5], [0.4, 0.3, 0.5]])
    >>> display.capacity.round(3)
    array([1.024, 1.047, 1.   ])
    >>> ax = display.plot(kind="worst", n_worst=2).ax_
    """

    capacity: Array
    scores: Array | None = None
    contested_class: Indices | None = None
    samples: NDArray[Any] | None = None
    name: str | None = None
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check what was given, so that a slip isn't found only when it is drawn."""
        self.capacity = check.finite("capacity", self.capacity)
        check.shape("capacity", self.capacity, (-1,))
        n_samples = len(self.capacity)
        if self.scores is not None:
            self.scores = check.interval("scores", self.scores, 0, 1)
            check.shape("scores", self.scores, (-1, n_samples), as_in="capacity")
        if self.contested_class is not None:
            contested = check.array("contested_class", self.contested_class)
            check.shape("contested_class", contested, (n_samples,), as_in="capacity")
            if contested.dtype.kind not in "iu":
                raise TypeError(f"contested_class must hold whole numbers, got {shown(contested)}.")
        if self.samples is not None:
            check_sample_names("samples", self.samples, n_samples, "capacity")
        check.text("name", self.name)

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        *,
        samples: ArrayLike | None = None,
        name: str | None = None,
        tol: float = 1e-9,
        n_jobs: int | None = None,
    ) -> MultiplicityDisplay:
        """Compute the capacities, and keep what the worst samples are drawn from.

        Parameters
        ----------
        scores : array-like of shape (n_models, n_samples) or (n_models, n_samples, n_classes)
            Probabilities.
        samples : array-like of shape (n_samples,), optional
            Names of the samples.
        name : str, optional
            Name in the legend.
        tol, n_jobs
            As in `rashomon_capacity`.

        Returns
        -------
        MultiplicityDisplay
        """
        array = as_scores(scores)
        if samples is not None:
            check_sample_names("samples", samples, array.shape[1])
        check.text("name", name)
        capacity = rashomon_capacity(array, tol=tol, n_jobs=n_jobs)
        contested, _, _ = widest_range(array)
        is_two = n_classes(array) == 2
        places = np.arange(array.shape[1]), contested
        of_class = positive_scores(array) if is_two else class_scores(array)[:, *places]
        names = None if samples is None else np.asarray(samples)
        return cls(capacity, of_class, contested, names, name)

    @classmethod
    def from_estimators(
        cls,
        models: Sequence[Any] | Mapping[str, Any],
        X: Any,
        y: ArrayLike,
        *,
        epsilon: float = 0.05,
        samples: ArrayLike | None = None,
        name: str | None = None,
        tol: float = 1e-9,
        n_jobs: int | None = None,
    ) -> MultiplicityDisplay:
        """Let fitted classifiers score samples, and keep those whose log loss is near the best.

        Parameters
        ----------
        models : list of fitted classifiers, or dict of names to them
            Of the same classes, with ``predict_proba``.
        X : frame or array of shape (n_samples, n_features)
            Samples, as the models take them; a frame's index names them.
        y : array-like of shape (n_samples,)
            Their labels.
        epsilon : float, default=0.05
            The Rashomon set has the models whose mean log loss, in nats, is at most so much above
            the best.
        samples, name, tol, n_jobs
            As in `from_scores`.

        Returns
        -------
        MultiplicityDisplay

        Raises
        ------
        ValueError, TypeError
            A model gives no probabilities, or other classes than the first.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> trees = [
        ...     DecisionTreeClassifier(max_depth=2, max_features=2, random_state=seed).fit(X, y)
        ...     for seed in range(5)
        ... ]
        >>> display = MultiplicityDisplay.from_estimators(trees, X, y, epsilon=0.1)
        >>> len(display.scores)
        4
        """
        able = list(models.values()) if isinstance(models, Mapping) else models
        if not isinstance(able, list | tuple) or not able:
            raise TypeError(f"models must be a list or a dict of classifiers, got {shown(models)}.")
        labels = check.column("y", y)
        check.samples("X", X, len(labels))
        for model in able:
            if isinstance(model, type) or not hasattr(model, "predict_proba"):
                raise TypeError(f"models must have predict_proba, got {shown(model)}.")
            if not np.array_equal(model.classes_, able[0].classes_):
                raise ValueError(f"models must have the same classes, got {shown(model.classes_)}.")
        if not np.isin(labels, able[0].classes_).all():
            raise ValueError(f"y must have labels of {able[0].classes_.tolist()}, got {shown(y)}.")
        epsilon = check.number("epsilon", epsilon, 0)
        with naming("X"):
            scores = np.array([model.predict_proba(X) for model in able])
        losses = [log_loss(labels, of, labels=able[0].classes_) for of in scores]
        names = getattr(X, "index", None) if samples is None else samples
        near = scores[rashomon_set(losses, epsilon)]
        return cls.from_scores(near, samples=names, name=name, tol=tol, n_jobs=n_jobs)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a sample: its capacity, and the range of its most contested class.

        Returns
        -------
        DataFrame
            ``capacity`` and, where scores are known, ``contested_class``, ``lowest``, ``highest``.
        """
        columns: dict[str, Any] = {"capacity": self.capacity}
        if self.contested_class is not None:
            columns["contested_class"] = self.contested_class
        if self.scores is not None:
            columns |= {"lowest": self.scores.min(axis=0), "highest": self.scores.max(axis=0)}
        table = pd.DataFrame(columns, index=self.samples)
        return table.rename_axis(index="sample")

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["distribution", "tail", "worst"] = "distribution",
        n_worst: int = 10,
        **line_kwargs: Any,
    ) -> MultiplicityDisplay:
        """Draw one of three pictures.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        kind : "distribution", "tail" or "worst", default="distribution"
            The cumulative distribution of the capacity; its mean over the samples with the largest
            values against their share, with the top 1% and 5% marked; or every model's score for
            the samples with the largest capacity.
        n_worst : int, default=10
            How many samples the last one shows.
        **line_kwargs
            Passed on to the line.

        Returns
        -------
        MultiplicityDisplay
            Itself, with ``ax_`` and ``figure_``.
        """
        check.choice("kind", kind, ("distribution", "tail", "worst"))
        check.integer("n_worst", n_worst, 1)
        with plotting.style():
            self.ax_ = check.axes(ax) or plotting.new_axes()
            self.figure_ = self.ax_.figure
            if kind == "worst":
                self._draw_worst(n_worst, line_kwargs)
            else:
                draw = self._draw_tail if kind == "tail" else self._draw_distribution
                draw({"label": self.name, **line_kwargs})
            if self.ax_.get_legend_handles_labels()[1]:
                plotting.as_written(self.ax_.legend().get_texts())
        return self

    def _draw_distribution(self, line_kwargs: dict[str, Any]) -> None:
        ordered = np.sort(self.capacity)
        share = np.arange(1, len(ordered) + 1) / len(ordered)
        self.ax_.step(np.append(1, ordered), np.append(0, share), where="post", **line_kwargs)
        self.ax_.set(
            xlabel="Rashomon Capacity (effective classes)",
            ylabel="Share of samples at or below",
            ylim=(0, 1.02),
        )

    def _draw_tail(self, line_kwargs: dict[str, Any]) -> None:
        ordered = np.sort(self.capacity)[::-1]
        share = np.arange(1, len(ordered) + 1) / len(ordered)
        means = np.cumsum(ordered) / (share * len(ordered))
        (line,) = self.ax_.plot(100 * share, means, **line_kwargs)
        marks = np.array([0.01, 0.05])
        tails = [capacity_tail(self.capacity, mark) for mark in marks]
        self.ax_.plot(100 * marks, tails, "o", color=line.get_color())
        self.ax_.set(
            xscale="log",
            xlabel="Samples with the largest capacity (% of all)",
            ylabel="Their mean capacity (effective classes)",
        )
        self.ax_.set_xticks([1, 5, 10, 50, 100], ["1", "5", "10", "50", "100"])
        self.ax_.minorticks_off()

    def _draw_worst(self, n_worst: int, line_kwargs: dict[str, Any]) -> None:
        if self.scores is None or self.contested_class is None:
            raise ValueError("scores must be given to draw the worst samples.")
        worst = np.argsort(-self.capacity, kind="stable")[:n_worst]
        names = np.arange(len(self.capacity)) if self.samples is None else self.samples
        for row, sample in enumerate(worst):
            score = self.scores[:, sample]
            self.ax_.hlines(row, score.min(), score.max(), color="0.75", zorder=1)
            self.ax_.plot(
                score,
                np.full(len(score), row),
                "|",
                **{"color": plotting.PALETTE[0], "markersize": 9, **line_kwargs},
            )
        self.ax_.set(
            xlim=(-0.02, 1.02),  # marks at 0 and 1 stay whole
            xlabel="Score of the most contested class, one mark a model",
            ylabel="Sample, class (capacity)",
            yticks=range(len(worst)),
            yticklabels=[
                f"{plotting.label(names[i])}, {self.contested_class[i]} ({self.capacity[i]:.2f})"
                for i in worst
            ],
        )
        plotting.as_written(self.ax_.get_yticklabels())
        self.ax_.invert_yaxis()
