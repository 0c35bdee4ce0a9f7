"""How certain a model's score is: plausible scores, of which an interval is the middle."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn import config_context

from pvf._blocks import Replay, rows_of
from pvf._types import Array, Flags, NDArray, Scorer
from pvf.intervals import percentiles


def interval(draws: Array, level: float, estimate: float) -> tuple[float, float]:
    """Return the middle of the draws, stretched to the estimate where that is an extreme."""
    low, high = percentiles(draws, level)
    return min(float(low), float(estimate)), max(float(high), float(estimate))


def plausible_scores(
    models: Sequence[Any],
    X: Any,
    y: NDArray[Any],
    scorer: Scorer,
    *,
    from_counts: tuple[Any, Callable[..., Array]] | None,
    by_class: bool,
    n_draws: int,
    rng: np.random.Generator,
) -> Array:
    """Return scores of shape (n_models, n_draws) that show how certain they are, drawn together.

    ``from_counts`` is the case label and the score as a function of counts, where it is one; any
    other score is that of resamples of the rows, within each class or of all together.
    """
    if from_counts is not None:
        label, function = from_counts
        is_case = y == label
        flagged = np.array([np.asarray(model.predict(X)) == label for model in models])
        tp, fp = (_jeffreys_draws(flagged[:, part], n_draws, rng) for part in (is_case, ~is_case))
        return function(tp, fp, int(is_case.sum()), int((~is_case).sum()))
    parts = [np.flatnonzero(y == label) for label in np.unique(y)] if by_class else []
    X = X if isinstance(X, pd.DataFrame) else np.asarray(X)
    replays = [Replay(model, X) for model in models]
    scores = np.empty((len(models), n_draws))
    with config_context(assume_finite=True, skip_parameter_validation=True):  # checked before
        for b in range(n_draws):
            rows = [rng.choice(part, len(part)) for part in parts or [np.arange(len(y))]]
            drawn = np.concatenate(rows)
            X_drawn = rows_of(X, drawn)
            for q, replay in enumerate(replays):
                replay.part, replay.rows = X_drawn, drawn
                scores[q, b] = scorer(replay, X_drawn, y[drawn])
    return scores


def _jeffreys_draws(flagged: Flags, n_draws: int, rng: np.random.Generator) -> Array:
    """Return plausible numbers of flagged samples of one class, of shape (n_models, n_draws).

    Each sample has one pattern of flags, one flag a model. The patterns' shares are drawn from
    their posterior distribution, a Dirichlet whose prior gives every model's share of flags
    Jeffreys' prior, Beta(1/2, 1/2); a bootstrap would call a faultless score certain.
    """
    n_models, n_samples = flagged.shape
    patterns = np.array(list(itertools.product([0, 1], repeat=n_models)))
    code = 2 ** np.arange(n_models)[::-1]
    sizes = np.bincount(code @ flagged, minlength=len(patterns))
    shares = rng.dirichlet(sizes + 1 / len(patterns), size=n_draws)
    return n_samples * (shares @ patterns).T
