"""Two investigations of the clinical experiments, by variants of their protocol.

Why do the ties differ from the paper's, in both directions? And what part of the procedure does the
harm on cervical cancer? How each is judged was written down before its table was computed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from studies.kit.claims import claims
from studies.kit.dots import Frames, at, crossed, lines, placed, series
from studies.kit.estimates import less_base, mean_estimates
from studies.kit.show import finished, panels
from studies.kit.study import Settings, Study, setting
from studies.pvf2026.clinical import run

#: What the paper's words leave open and could change the ties: every combination is tried, under
#: each of the four tie rules.
FACTORS: dict[str, tuple[Any, ...]] = {
    "external": ("others", "subset"),
    "max_depth": (2, 4, 8),
    "n_candidates": (10, 100),
    "common_noise": (False, True),
    "digits": (-1, 2),
}
#: The σ of the printed numbers, by data set.
PRINTED_SIGMAS = {"breast-cancer": (0.2, 0.3), "cervical-cancer": (1e-6, 1e-2)}
PRINTED = ("BRE-1", "BRE-2", "BRE-3", "BRE-4", "CER-1", "CER-2", "CER-3")
_SHARES = ["win", "loss", "tie"]
_VARIANT = ["dataset", *FACTORS, "tie_break"]

#: Changes of the perturbation on the cervical data; the first is the paper's.
CHANGES: dict[str, dict[str, Any]] = {
    "as in the paper (ξ = 0.1, λ = 0.1)": {},
    "ξ = 0, noise on numbers alone": {"change_probability": 0.0},
    "ξ = 0.01": {"change_probability": 0.01},
    "ξ = 0.05": {"change_probability": 0.05},
    "ξ = 0.2": {"change_probability": 0.2},
    "λ = 1": {"shift_decay": 1.0},
    "λ = 10": {"shift_decay": 10.0},
    "noise on all columns, no flips": {"mixed": False},
}


@dataclass(frozen=True)
class TieSettings(Settings):
    """What the search for the paper's ties can be told."""

    n_repetitions: int = setting(1, "runs of each variant", full=3, low=1)
    depths: tuple[int, ...] = setting((4,), "depths of the trees", full=FACTORS["max_depth"])
    seed: int = setting(20261127, "seed of all repetitions", low=0)


def _tie_blocks(settings: TieSettings) -> list[tuple[str, int, int]]:
    run.need_data(*run.DATASETS)
    return [*product(run.DATASETS, settings.depths, range(settings.n_repetitions))]


def _tie_block(key: tuple[str, int, int], settings: TieSettings) -> pd.DataFrame:
    dataset, depth, block = key
    frames = []
    for external, n_candidates in product(FACTORS["external"], FACTORS["n_candidates"]):
        grown = {"external": external, "max_depth": depth, "n_candidates": n_candidates}
        settings_of_splits = asdict(
            run.Experiment(
                dataset=dataset, sigmas=PRINTED_SIGMAS[dataset], seed=settings.seed, **grown
            )
        )
        for part in run.splits(block, settings_of_splits):
            names = {"repetition": block, "subset": part.subset, "split": part.split}
            for common_noise, digits in product(FACTORS["common_noise"], FACTORS["digits"]):
                judged = {"common_noise": common_noise, "digits": digits}
                frame = run.judge(part.problem, tuple(names.values()), settings_of_splits | judged)
                frames.append(frame.assign(dataset=dataset, **grown, **judged, **names))
    keys = [*_VARIANT, "repetition", "sigma", "metric"]
    table = pd.concat(frames, ignore_index=True)
    return table.groupby(keys, sort=False)[_SHARES].mean().round(6).reset_index()


def printed() -> pd.DataFrame:
    """Return the paper's wins, losses and ties in percent, a row for each data set and metric."""
    rows = [
        {"dataset": entry["dataset"], "sigma": entry["sigma"], "metric": metric}
        | {f"paper_{share}": float(np.mean(entry["numbers"][share])) for share in _SHARES}
        for entry in (claims()[claim] for claim in PRINTED)
        for metric in entry["metrics"]
    ]
    return pd.DataFrame(rows)


def distances(table: pd.DataFrame) -> pd.DataFrame:
    """Return how far each variant lies from what the paper prints, in points of splits.

    ``distance`` is the root mean square difference of a run's wins, losses and ties from the
    printed ones, over all metrics of a data set together; ``tie`` the mean share of ties.
    """
    rows = table.merge(printed(), on=["dataset", "sigma", "metric"])
    squares = sum((100 * rows[s] - rows[f"paper_{s}"]) ** 2 for s in _SHARES) / len(_SHARES)
    rows = rows.assign(square=squares, tie=100 * rows["tie"])
    means = rows.groupby([*_VARIANT, "repetition"], sort=False)[["square", "tie"]].mean()
    means = means.assign(distance=np.sqrt(means["square"])).reset_index()
    return mean_estimates(means, _VARIANT, ["distance", "tie"], unit="points")


def nearest(estimates: pd.DataFrame, n: int = 3) -> pd.DataFrame:
    """Return the variants with the smallest distance, and ours, for each data set."""
    rows = estimates[estimates["quantity"] == "distance"]
    ours = (rows[list(FACTORS)] == ["others", 4, 100, False, -1]).all(axis=1)
    ours &= rows["tie_break"] == "shared"
    best = rows.sort_values("estimate", kind="stable").groupby("dataset", sort=False).head(n)
    return pd.concat([best.assign(which="nearest"), rows[ours].assign(which="this book's")])


@dataclass(frozen=True)
class HarmSettings(Settings):
    """What the search for the harm can be told."""

    n_repetitions: int = setting(1, "runs of each change", full=10, low=1)
    sigmas: tuple[float, ...] = setting((1e-6, 1e-2, 0.1, 0.3), "noise σ")
    seed: int = setting(20261127, "seed of all repetitions", low=0)


def _harm_blocks(settings: HarmSettings) -> list[tuple[str, int]]:
    run.need_data("cervical-cancer")
    return [*product(CHANGES, range(settings.n_repetitions))]


def _harm_block(key: tuple[str, int], settings: HarmSettings) -> pd.DataFrame:
    change, block = key
    experiment = run.CervicalExperiment(
        sigmas=settings.sigmas, seed=settings.seed, **CHANGES[change]
    )
    table = run.by_repetition(run.one_repetition(block, experiment))
    shared = table[table["tie_break"] == "shared"].assign(change=change)
    return shared[["change", "repetition", "sigma", "metric", *_SHARES, "gain"]].round(6)


def harm(table: pd.DataFrame) -> pd.DataFrame:
    """Return mean leads and gains of each change; "less", a lead less the paper's, in pairs."""
    rows, base = run.in_percent(table), table["change"] == next(iter(CHANGES))
    rows["less"] = less_base(rows, "lead", ["repetition", "sigma", "metric"], base)
    return mean_estimates(rows, ["change", "sigma", "metric"], ["lead", "less", "gain"])


def _label(row: Any) -> str:
    """Say in a few words what a variant does."""
    words = [
        f"depth {row.max_depth}",
        f"{row.n_candidates} trees",
        "one score for all" if row.common_noise else "own noise",
        "tested on the subset" if row.external == "subset" else "tested on the others",
        *(["two digits"] if row.digits == 2 else []),
        f"ties {row.tie_break}",
    ]
    return ", ".join(words) + (" (this book)" if row.which != "nearest" else "")


def figure_of_ties(frames: Frames) -> Figure:
    """Draw the distance of the variants nearest to the paper, and of ours."""
    chosen = nearest(frames.whole, 5)
    figure, axes = panels(
        2,
        1,
        size=(8.0, 2.8),
        titles=list(run.DATASETS),
        sharey=False,
        xlabel="distance from the printed wins, losses and ties (points of splits)",
    )
    styles = {"label": "this run"}, {"label": "the full results", "pale": True}
    for dataset, ax in zip(run.DATASETS, axes, strict=True):
        rows = at(chosen, dataset=dataset).iloc[::-1]
        names = [*rows[_VARIANT].itertuples(index=False, name=None)]
        shown, where = placed(frames, _VARIANT, names), {"quantity": "distance"}
        series(ax, shown, "place", 0, "", where, styles=styles, horizontal=True)
        ax.set_yticks(range(len(rows)), [_label(row) for row in rows.itertuples()])
        ax.set_xlim(left=0)
    return finished(figure)


def figure_of_harm(frames: Frames) -> Figure:
    """Draw the lead of each change of the perturbation over σ."""
    figure, _ = lines(
        frames,
        "sigma",
        crossed(
            {metric: {"metric": metric} for metric in ("IE@0.1", "IE@0.5", "F1")},
            {change: {"change": change} for change in CHANGES},
            quantity="lead",
        ),
        levels=sorted(frames.run["sigma"].unique()),
        spread=0.64,
        size=(2.9, 3.4),
        level=0,
        xlabel="noise σ",
        ylabel="PVF's wins less losses\n(% of splits)",
    )
    return finished(figure)


TIES = Study(
    name="clinical_ties",
    settings=TieSettings,
    blocks=_tie_blocks,
    block=_tie_block,
    estimate=distances,
    figures={"fig-clinical-protocols": figure_of_ties},
    sample={"n_repetitions": 1, "depths": (4,)},
)
HARM = Study(
    name="cervical_harm",
    settings=HarmSettings,
    blocks=_harm_blocks,
    block=_harm_block,
    estimate=harm,
    figures={"fig-cervical-harm": figure_of_harm},
    sample={"n_repetitions": 1},
)
STUDIES = (TIES, HARM)
