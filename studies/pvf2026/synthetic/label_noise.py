"""What flipped validation labels do to scores, beside PVF's perturbed features (section 2.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from pvf import counts
from pvf._types import Array
from studies.kit.study import Settings, Study, setting
from studies.kit.verdicts import Part, Region

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
) -> dict[str, Array]:
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
    tp, fp, rate = (np.asarray(one, dtype=float) for one in (tp, fp, rate))
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


@dataclass(frozen=True)
class GapSettings(Settings):
    """Settings of the gaps between a better and a worse model."""

    rates: tuple[float, ...] = setting(
        (0.0, 0.1, 0.3), "shares of flipped labels", full=(0.0, 0.05, 0.1, 0.2, 0.3)
    )
    n_draws: int = setting(2000, "draws of labels for each rate and pair", full=20_000, low=2)
    seed: int = setting(1, "of all draws", low=0)


@dataclass(frozen=True)
class LossSettings(Settings):
    """Settings of what models of growing strength lose."""

    rate: float = setting(0.1, "share of flipped labels", low=0, high=1)
    seed: int = setting(0, "of nothing: nothing is drawn", low=0)


def compare_gaps(name: str, settings: GapSettings) -> pd.DataFrame:
    """Measure how flipped labels change the gap between a better and a worse model.

    ``inverted`` is the share of draws in which the worse model has the higher score.
    """
    number, pair, n_draws = list(MODELS).index(name), MODELS[name], settings.n_draws
    rows = []
    for position, rate in enumerate(settings.rates):
        key = np.random.SeedSequence(settings.seed, spawn_key=(number, position))
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


def penalties(_: str, settings: LossSettings) -> pd.DataFrame:
    """Return what models of growing strength lose to flipped labels, by the closed form."""
    strength = [(10, 40), (12, 30), (14, 20), (16, 10), (18, 4), (20, 0)]
    rows = []
    for tp, fp in strength:
        before = flipped_scores(tp, fp, _N_POS, _N_NEG, 0.0)
        after = flipped_scores(tp, fp, _N_POS, _N_NEG, settings.rate)
        losses = {f"loss in {key}": float(before[key] - after[key]) for key in before}
        rows.append({"tp": tp, "fp": fp, **losses})
    return pd.DataFrame(rows)


def estimate_gaps(table: pd.DataFrame) -> pd.DataFrame:
    """Return each gap, how much of the true gap it is less, and the share of inverted draws."""
    keys = ["models", "rate", "metric"]
    gaps = table.rename(columns={"mean": "estimate"}).assign(quantity="gap", unit="score")
    true = table.merge(table[table["rate"] == 0], on=["models", "metric"], suffixes=("", "_true"))
    less = gaps.assign(quantity="gap less true gap")
    for name in ("estimate", "low", "high"):
        less[name] -= true["mean_true"].to_numpy()
    turned = gaps.assign(quantity="inverted", estimate=100 * table["inverted"], unit="% of draws")
    whole = pd.concat([gaps, less, turned.assign(low=np.nan, high=np.nan)], ignore_index=True)
    return whole.assign(n=np.inf)[[*keys, "quantity", "estimate", "low", "high", "n", "unit"]]


def estimate_losses(table: pd.DataFrame) -> pd.DataFrame:
    """Return each loss, exact by the closed form."""
    long = table.melt(["tp", "fp"], var_name="quantity", value_name="estimate")
    return long.assign(low=long["estimate"], high=long["estimate"], n=np.inf, unit="score")


def _parts(estimates: pd.DataFrame, _: Mapping[str, Any]) -> Sequence[Part]:
    """Judge LAB-1: losses grow with strength, and every gap shrinks, in each metric."""
    losses = penalties("", LossSettings())
    less = estimates[(estimates["quantity"] == "gap less true gap") & (estimates["rate"] > 0)]
    turned = estimates[estimates["quantity"] == "inverted"]
    most = turned.loc[turned["estimate"].idxmax()]
    says = f"the worse model scores higher (most, in {most['metric']}), % of draws"
    parts = [Part(says, most["estimate"])]
    for metric, part in less.groupby("metric", sort=False):
        growth = float(losses[f"loss in {metric}"].diff().min())
        grows = Region.read("> 0")
        says = f"{metric}: stronger models lose more (least growth of the loss)"
        parts.append(Part(says, growth, growth, growth, region=grows, joint=True))
        widest = part.loc[part["high"].idxmax()]
        estimate, low, high = map(float, widest[["estimate", "low", "high"]])
        says, shrinks = f"{metric}: every gap shrinks (least change)", Region.read("< 0")
        parts.append(Part(says, estimate, low, high, region=shrinks))
    return parts


GAPS = Study(
    name="label_gaps",
    settings=GapSettings,
    blocks=lambda _: list(MODELS),
    block=compare_gaps,
    estimate=estimate_gaps,
    claims={"LAB-1": _parts},
)

LOSSES = Study(
    name="label_losses",
    settings=LossSettings,
    blocks=lambda _: ["all"],
    block=penalties,
    estimate=estimate_losses,
)
