"""What perturbation validation found: scores or laws, ties, and the selected model."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from pvf import _checks as check
from pvf import plotting
from pvf._checks import shown
from pvf._text import shortened
from pvf._types import Array, Axes, Flags, Indices
from pvf.exact import ScoreLaw

_ROUNDING = 1e-9  # errors of a law below this change no quantile but by chance
TIE_BREAKS = ("first", "last", "random")

TieBreak = Literal["first", "last", "random"]


@dataclass(frozen=True, eq=False, repr=False)
class PerturbationValidationResult:
    """What `perturbation_validation` found.

    Attributes
    ----------
    scores : ndarray of shape (n_models, n_sets), or None
        Score of each model on each perturbed set. Rows of models whose law is known are NaN; None
        where nothing was drawn.
    aggregated : ndarray of shape (n_models,)
        Aggregated score A_f of each model.
    tied : ndarray of int
        Indices of all models within rounding of the best aggregated score.
    best_index : int
        The one of ``tied`` that the tie rule picks.
    unperturbed : ndarray of shape (n_models,)
        Score of each model on the validation set as it is: the traditional criterion.
    models : tuple
        The candidates, as given.
    names : tuple of str
        Their names.
    tie_break : str
        The tie rule.
    seed : int or SeedSequence
        The ``random_state`` that reproduces the result.
    law : tuple of ScoreLaw or None
        The law of each model's score on a perturbed set, None for those that were drawn.
    """

    scores: Array | None
    aggregated: Array
    tied: Indices
    best_index: int
    unperturbed: Array
    models: tuple[Any, ...]
    names: tuple[str, ...]
    tie_break: str
    seed: int | np.random.SeedSequence
    law: tuple[ScoreLaw | None, ...] = ()

    def __post_init__(self) -> None:
        """Check that the parts fit together, also where a result is made by hand."""
        if self.scores is None:
            n_models = check.numeric("aggregated", self.aggregated).size
        else:
            n_models = len(_scores("scores", self.scores, (-1, -1), may_be_nan=True))
        for name in ("aggregated", "unperturbed"):
            _scores(name, getattr(self, name), (n_models,), as_in="scores")
        tied = check.array("tied", self.tied)
        check.shape("tied", tied, (-1,))
        if tied.dtype.kind not in "iu" or tied.min() < 0 or tied.max() >= n_models:
            raise ValueError(f"tied must hold indices below {n_models}, got {shown(self.tied)}.")
        check.integer("best_index", self.best_index, 0, n_models - 1)
        for name in ("models", "names"):
            given = getattr(self, name)
            if not isinstance(given, tuple) or len(given) != n_models:
                raise TypeError(f"{name} must be a tuple of {n_models}, got {shown(given)}.")
        if not all(isinstance(name, str) for name in self.names):
            raise TypeError(f"names must be texts, got {shown(self.names)}.")
        self._check_laws(n_models)
        check.choice("tie_break", self.tie_break, TIE_BREAKS)
        if not isinstance(self.seed, np.random.SeedSequence):
            check.integer("seed", self.seed, 0, None)

    def _check_laws(self, n_models: int) -> None:
        """Fill in what is left out, and refuse models that have neither scores nor a law."""
        is_tuple = isinstance(self.law, tuple) and len(self.law) in (0, n_models)
        if not (is_tuple and all(law is None or hasattr(law, "quantile") for law in self.law)):
            raise TypeError(
                f"law must be a tuple of {n_models}, ScoreLaws or None, got {shown(self.law)}."
            )
        object.__setattr__(self, "law", self.law or (None,) * n_models)
        if self.scores is not None:
            _scores("scores", np.asarray(self.scores)[~self.exact], (-1, -1))
        elif not self.exact.all():
            raise ValueError("scores must hold what was drawn where law is None, got None.")

    @property
    def exact(self) -> Flags:
        """Which models were judged by their law, so that nothing was drawn for them."""
        return np.array([law is not None for law in self.law], dtype=bool)

    @property
    def n_sets(self) -> int | None:
        """How many perturbed sets were drawn; None where there were none."""
        return None if self.scores is None else self.scores.shape[1]

    @property
    def best_model(self) -> Any:
        """The selected model."""
        return self.models[self.best_index]

    @property
    def best_name(self) -> str:
        """The selected model's name."""
        return self.names[self.best_index]

    def __repr__(self) -> str:
        leaders = self._leaders(6)
        lines = leaders.rename(index=lambda name: shortened(name, 40)).to_string().splitlines()
        n_more = len(self.names) - len(leaders)
        more = [f"... and {n_more} more"] if n_more else []
        return "\n".join([f"<{self._summary()}>", *lines, *more])

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self._summary())}</p>{self._leaders(15).to_html(border=0)}"

    def _summary(self) -> str:
        tied = f", tied with {len(self.tied) - 1} more" if len(self.tied) > 1 else ""
        how = f"on {self.n_sets} sets"
        if self.exact.any():
            n_exact = int(self.exact.sum())
            error = max(law.error for law in self.law if law is not None)
            laws = "by exact laws" + (f" (cdf within {error:.1g})" if error > _ROUNDING else "")
            how = laws if self.exact.all() else f"{n_exact} {laws}, others {how}"
        return (
            f"PerturbationValidationResult of {len(self.names)} models {how}: "
            f"{shortened(self.best_name, 60)!r} is selected{tied}"
        )

    def _leaders(self, most: int) -> pd.DataFrame:
        """Return the table's first rows, the selected model on top, to three digits."""
        return self.to_frame().iloc[self._order[:most]].drop(columns=["min", "max"]).round(3)

    @property
    def _order(self) -> Indices:
        """The models, best first, the selected one before those that it ties with."""
        selected = np.arange(len(self.names)) == self.best_index
        return np.lexsort((-self.aggregated, ~selected))

    def to_frame(self) -> pd.DataFrame:
        """Return one row a model: its scores in summary, whether it ties, whether it is selected.

        Returns
        -------
        DataFrame
            Indexed by model name, in the order given. Infinite scores have no ``sd``: it is NaN.
        """
        index = np.arange(len(self.names))
        scores = np.full((len(index), 1), np.nan) if self.scores is None else self.scores
        with np.errstate(invalid="ignore"):  # infinity minus infinity
            spread = scores.std(axis=1, ddof=1) if scores.shape[1] > 1 else scores[:, 0] * np.nan
            ends = scores.min(axis=1), scores.max(axis=1)
            summary = np.stack([scores.mean(axis=1), spread, *ends])
        for q in np.flatnonzero(self.exact).tolist():
            law = self._law_of(q)
            summary[:, q] = law.mean, law.sd, law.support[0], law.support[-1]
        return pd.DataFrame(
            {
                "aggregated": self.aggregated,
                "unperturbed": self.unperturbed,
                **dict(zip(("mean", "sd", "min", "max"), summary, strict=True)),
                "tied": np.isin(index, self.tied),
                "selected": index == self.best_index,
            },
            index=pd.Index(self.names, name="model"),
        )

    def samples(self, scale: float | None = None) -> pd.DataFrame:
        """Return how likely perturbed copies of each sample are flagged by the selected model.

        Parameters
        ----------
        scale : float, optional
            As in `ScoreLaw.samples`.

        Returns
        -------
        DataFrame

        Raises
        ------
        ValueError
            The selected model's law is not known, or the result is of ``method="sample"``.
        """
        if self.law[self.best_index] is None:
            raise ValueError(
                f"{self.best_name!r} was judged by drawn sets, which hold no law of its samples; "
                "take flip_probability."
            )
        return self._law_of(self.best_index).samples(scale)

    def _law_of(self, q: int) -> ScoreLaw:
        law = self.law[q]
        assert law is not None
        return law

    def plot(self, ax: Axes | None = None, *, n_models: int = 15) -> Axes:
        """Draw the perturbed scores of the leading models, the selected one on top.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        n_models : int, default=15
            How many models to show at most.

        Returns
        -------
        matplotlib Axes
            A box is the middle half of a model's scores over the perturbed sets and whiskers reach
            the extremes, of an exact law all but half a percent at each end; a diamond is the
            aggregated score, a cross the unperturbed one. Infinite scores are left out.
        """
        check.integer("n_models", n_models, 1)
        shown = self._order[:n_models]
        height = 0.32 * len(shown) + 1.2
        ax = check.axes(ax) or plotting.new_axes(figsize=(6.8, height))
        rows = np.arange(len(shown))[::-1]
        blue, orange = plotting.PALETTE[:2]
        ax.boxplot(
            [self._spread(q) for q in shown],
            positions=rows,
            orientation="horizontal",
            whis=(0, 100),
            widths=0.6,
            manage_ticks=False,
            medianprops={"color": blue},
        )
        marks: dict[str, Any] = {"linestyle": "none", "zorder": 3}
        ax.plot(self.aggregated[shown], rows, "D", color=orange, label="aggregated", **marks)
        ax.plot(self.unperturbed[shown], rows, "x", color="0.2", label="unperturbed", **marks)
        labels = [
            plotting.label(self.names[i]) + (" (selected)" if i == self.best_index else "")
            for i in shown
        ]
        ax.set_yticks(rows, labels)
        ax.set(xlabel="score on the perturbed validation sets")
        plotting.as_written([*ax.get_yticklabels(), *ax.legend(frameon=False).get_texts()])
        return ax

    def _spread(self, q: int) -> Array:
        """Return what a box shows of one model: its finite scores, or quantiles of its law."""
        if self.law[q] is not None:
            quantiles = (0.005, 0.25, 0.5, 0.75, 0.995)
            return np.array([self._law_of(q).quantile(share) for share in quantiles])
        assert self.scores is not None
        return self.scores[q][np.isfinite(self.scores[q])]


class PerturbationValidationResults(dict[str, PerturbationValidationResult]):
    """Results of one run by several scorers: a dict of each scorer's name to its result."""

    def to_frame(self) -> pd.DataFrame:
        """Return the results' tables below each other, indexed by scorer and model."""
        frames = {name: result.to_frame() for name, result in self.items()}
        return pd.concat(frames, names=["metric"])

    def __repr__(self) -> str:
        best = "".join(f"\n  {n}: {shortened(r.best_name, 60)!r}" for n, r in self.items())
        return f"<PerturbationValidationResults; selected by{best}>"

    def _repr_html_(self) -> str:
        return "".join(f"<h4>{html.escape(n)}</h4>{r._repr_html_()}" for n, r in self.items())


def _scores(
    name: str, value: Any, shape: tuple[int, ...], as_in: str = "", *, may_be_nan: bool = False
) -> Array:
    """Return scores, which may be infinite."""
    scores = check.numeric(name, value)
    check.shape(name, scores, shape, as_in)
    if np.isnan(scores).any() and not may_be_nan:
        raise ValueError(f"{name} must not be NaN, got {shown(value)}.")
    return scores
