"""What flipped validation labels do to scores, beside PVF's perturbed features (section 2.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from pvf import counts
from pvf._checks import check_finite, check_integer, check_interval
from studies.kit import claims

__all__ = ["MODELS", "compare_gaps", "decide", "flipped_scores", "penalties", "verdict"]

#: Pairs of models as (true positives, false positives) among 20 cases and 80 controls: the first
#: of each pair is better by every metric shown, but for recall in the last, which it wins narrowly
#: with far fewer flags.
MODELS: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {
    "far apart": ((18, 4), (10, 16)),
    "close": ((15, 8), (14, 10)),
    "few flags, many flags": ((12, 2), (11, 40)),
}
_N_POS, _N_NEG = 20, 80


def flipped_scores(
    tp: ArrayLike, fp: ArrayLike, n_pos: int, n_neg: int, rate: ArrayLike
) -> dict[str, NDArray[np.float64]]:
    r"""Return a model's scores when each label is flipped with a given probability.

    Of TP flagged cases a share ρ turns into controls, and of FP flagged controls a share ρ into
    cases, so that with the expected counts

    .. math::

        \mathrm{TP}' = (1 - \rho)\mathrm{TP} + \rho\mathrm{FP}, \qquad
        P' = (1 - \rho) P + \rho N,

    accuracy a becomes :math:`a(1-\rho) + (1-a)\rho`, precision p becomes
    :math:`p(1-\rho) + (1-p)\rho`, both exactly in expectation, and recall becomes
    :math:`\mathrm{TP}'/P'`, F1 :math:`2\mathrm{TP}'/(F + P')` with F flagged, as ratios of
    expectations.

    Parameters
    ----------
    tp, fp : array-like
        Flagged cases and flagged controls.
    n_pos, n_neg : int
        Cases and controls.
    rate : array-like of float in [0, 1]
        Flip rate ρ.

    Returns
    -------
    dict of str to ndarray
        ``accuracy``, ``precision``, ``recall``, ``F1`` and ``IE@0.1``.

    Examples
    --------
    >>> scores = flipped_scores(18, 4, 20, 80, 0.1)
    >>> round(float(scores["accuracy"]), 3)  # 0.94 * 0.9 + 0.06 * 0.1
    0.852
    """
    rate = check_interval("rate", rate, 0, 1)
    tp, fp = check_finite("tp", tp), check_finite("fp", fp)
    flagged = tp + fp
    tp_new = (1 - rate) * tp + rate * fp
    fp_new = flagged - tp_new
    pos = (1 - rate) * n_pos + rate * n_neg
    neg = n_pos + n_neg - pos
    return _all_scores(tp_new, fp_new, pos, neg)


def _all_scores(tp: NDArray, fp: NDArray, n_pos: NDArray, n_neg: NDArray) -> dict[str, NDArray]:
    return {
        "accuracy": (tp + n_neg - fp) / (n_pos + n_neg),
        "precision": tp / (tp + fp),
        "recall": tp / n_pos,
        "F1": counts.f1(tp, fp, n_pos, n_neg),
        "IE@0.1": counts.intervention_efficiency(tp, fp, n_pos, n_neg, 0.1),
    }


def _simulate(
    models: Sequence[tuple[int, int]], rate: float, n_draws: int, rng: np.random.Generator
) -> list[dict[str, NDArray]]:
    """Scores of models on the same draws of flipped labels.

    The people are laid out in the order: cases, controls. A model flags the first ``tp`` cases and
    the first ``fp`` controls.
    """
    truth = np.arange(_N_POS + _N_NEG) < _N_POS
    labels = truth ^ (rng.random((n_draws, len(truth))) < rate)
    n_pos = labels.sum(axis=1)
    found = []
    for tp, fp in models:
        flagged = np.concatenate([np.arange(_N_POS) < tp, np.arange(_N_NEG) < fp])
        tp_new = labels[:, flagged].sum(axis=1)
        found.append(_all_scores(tp_new, flagged.sum() - tp_new, n_pos, len(truth) - n_pos))
    return found


def compare_gaps(
    rates: Sequence[float] = (0.0, 0.05, 0.1, 0.2, 0.3),
    *,
    models: Mapping[str, tuple[tuple[int, int], tuple[int, int]]] | None = None,
    n_draws: int = 2000,
    seed: int = 1,
) -> pd.DataFrame:
    """Measure how flipped labels change the gap between a better and a worse model.

    Parameters
    ----------
    rates : sequence of float in [0, 1]
    models : mapping of str to pair of (tp, fp), optional
        `MODELS` by default; 20 cases and 80 controls.
    n_draws : int, default=2000
        Draws of labels for each rate and pair.
    seed : int

    Returns
    -------
    DataFrame
        One row for each pair, rate and metric: ``closed_form`` and ``mean`` gap, the latter with
        its 95% interval ``low`` to ``high``; and ``inverted``, the share of draws in which the
        worse model has the higher score.

    Examples
    --------
    >>> gaps = compare_gaps([0.0, 0.2], n_draws=100)
    >>> bool((gaps.query("rate == 0")["inverted"] == 0).all())
    True
    """
    check_integer("n_draws", n_draws, 2)
    rows = []
    for number, (name, pair) in enumerate((models or MODELS).items()):
        for position, rate in enumerate(rates):
            key = np.random.SeedSequence(seed, spawn_key=(number, position))
            better, worse = _simulate(pair, rate, n_draws, np.random.default_rng(key))
            closed = [flipped_scores(tp, fp, _N_POS, _N_NEG, rate) for tp, fp in pair]
            for metric in better:
                gap = better[metric] - worse[metric]
                reach = stats.norm.ppf(0.975) * gap.std(ddof=1) / np.sqrt(n_draws)
                rows.append(
                    {
                        "models": name,
                        "rate": rate,
                        "metric": metric,
                        "closed_form": float(closed[0][metric] - closed[1][metric]),
                        "mean": gap.mean(),
                        "low": gap.mean() - reach,
                        "high": gap.mean() + reach,
                        "inverted": float((gap < -1e-12).mean()),
                    }
                )
    return pd.DataFrame(rows)


def penalties(rate: float = 0.1) -> pd.DataFrame:
    """Return how much accuracy and precision models of growing strength lose to flipped labels.

    Parameters
    ----------
    rate : float, default=0.1
        Flip rate ρ.

    Returns
    -------
    DataFrame
        One row a model, weakest first: its ``tp`` and ``fp``, and the loss in each score, by the
        closed form.
    """
    strength = [(10, 40), (12, 30), (14, 20), (16, 10), (18, 4), (20, 0)]
    rows = []
    for tp, fp in strength:
        before = flipped_scores(tp, fp, _N_POS, _N_NEG, 0.0)
        after = flipped_scores(tp, fp, _N_POS, _N_NEG, rate)
        losses = {f"loss in {key}": float(before[key] - after[key]) for key in before}
        rows.append({"tp": tp, "fp": fp, **losses})
    return pd.DataFrame(rows)


def verdict(gaps: pd.DataFrame, losses: pd.DataFrame) -> str:
    """Judge LAB-1: stronger models lose more, and gaps shrink or turn.

    Parameters
    ----------
    gaps : DataFrame
        From `compare_gaps`.
    losses : DataFrame
        From `penalties`.

    Returns
    -------
    str
        "reproduced" if the loss in every score grows with strength and every gap shrinks with its
        interval clear of the true gap; "direction only" if so for accuracy and precision alone.
    """
    grows, shrinks = _parts(gaps, losses)
    everything = all(grows.values()) and all(shrinks.values())
    some = all(grows[key] and shrinks[key] for key in ("accuracy", "precision"))
    return claims.verdict(reproduced=everything, direction=bool(some))


def _parts(gaps: pd.DataFrame, losses: pd.DataFrame) -> tuple[dict[str, bool], dict[str, bool]]:
    """Tell for each metric whether losses grow with strength, and whether every gap shrinks."""
    grows = {
        key.removeprefix("loss in "): bool(losses[key].is_monotonic_increasing)
        for key in losses
        if key.startswith("loss")
    }
    true = gaps[gaps["rate"] == 0].set_index(["models", "metric"])["mean"]
    noisy = gaps[gaps["rate"] > 0].set_index(["models", "metric"])
    shrinks = (noisy["high"] < true.loc[noisy.index]).groupby("metric").all()
    return grows, {str(metric): bool(holds) for metric, holds in shrinks.items()}


def decide(claim: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> claims.Finding:
    """Judge LAB-1 from the committed tables.

    Parameters
    ----------
    claim : mapping
        The ledger's entry.
    tables : mapping of str to DataFrame
        With ``label_gaps`` and ``label_losses``.

    Returns
    -------
    Finding
        Its number is the largest share of draws in which the worse model of a pair scores higher,
        in percent.
    """
    del claim
    gaps, losses = tables["label_gaps"], tables["label_losses"]
    grows, shrinks = _parts(gaps, losses)
    turned = gaps.loc[gaps["inverted"].idxmax()]

    def named(found: Mapping[str, bool]) -> str:
        return ", ".join(metric for metric, holds in found.items() if holds) or "no metric"

    says = (
        f"The loss grows with strength in {named(grows)}; every gap shrinks in {named(shrinks)}. "
        f"With labels flipped at {turned['rate']:.0%}, the worse of a pair has the higher "
        f"{turned['metric']} in {turned['inverted']:.0%} of draws"
    )
    return claims.Finding(verdict(gaps, losses), says, 100 * float(turned["inverted"]))
