"""The two investigations of the clinical experiments."""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from studies.kit.claims import claims
from studies.kit.dots import Frames
from studies.pvf2026.clinical import run, variants


def invented_ties(shift=0.0):
    """Make a table in which one variant has the paper's numbers, and others are off by a shift."""
    printed = variants.printed()
    rows = []
    for values in product(*variants.FACTORS.values(), ("first", "shared"), range(3)):
        *factors, rule, repetition = values
        chosen = dict(zip(variants.FACTORS, factors, strict=True))
        off = 0.0 if (chosen["max_depth"], rule) == (8, "first") else shift
        rows += [
            {"dataset": row.dataset, **chosen, "tie_break": rule, "repetition": repetition}
            | {"sigma": row.sigma, "metric": row.metric}
            | {"win": row.paper_win / 100 + off, "loss": row.paper_loss / 100 - off}
            | {"tie": row.paper_tie / 100}
            for row in printed.itertuples()
        ]
    return pd.DataFrame(rows)


def test_printed_numbers_are_the_claims():
    """Twelve rows; of a printed range the middle counts."""
    table = variants.printed().set_index(["dataset", "metric"])
    assert len(table) == 12
    assert (
        table.loc[("breast-cancer", "IE@0.1"), "paper_win"] == claims()["BRE-1"]["numbers"]["win"]
    )
    assert table.loc[("cervical-cancer", "IE@0.5"), "paper_win"] == pytest.approx(45)


def test_distance_is_a_root_mean_square():
    """Wins and losses off by six points each: the square root of two thirds of 36."""
    found = variants.distances(invented_ties(0.06))
    distance = found[found["quantity"] == "distance"]
    exact = (distance["max_depth"] == 8) & (distance["tie_break"] == "first")
    assert distance.loc[exact, "estimate"].tolist() == pytest.approx([0] * exact.sum(), abs=1e-9)
    assert distance.loc[~exact, "estimate"].tolist() == pytest.approx(
        [np.sqrt(24)] * (~exact).sum()
    )


def test_nearest_names_the_best_and_ours():
    """The variants without distance come first; this book's is beside them."""
    chosen = variants.nearest(variants.distances(invented_ties(0.06)), 2)
    best = chosen[chosen["which"] == "nearest"]
    assert (best["max_depth"] == 8).all()
    assert sorted(best["dataset"]) == ["breast-cancer"] * 2 + ["cervical-cancer"] * 2
    assert len(chosen[chosen["which"] != "nearest"]) == 2


def test_the_first_protocol_is_the_experiment(monkeypatch):
    """The variant with the experiment's settings gives the experiment's shares."""
    monkeypatch.setitem(variants.FACTORS, "n_candidates", (5,))
    sigmas = variants.PRINTED_SIGMAS["breast-cancer"]
    block = variants._tie_block(("breast-cancer", 4, 0), variants.TieSettings())
    own = block[block["external"] == "others"]
    own = own[~own["common_noise"] & (own["digits"] == -1)]
    runs = run.by_repetition(run.run_experiment(n_repetitions=1, sigmas=sigmas, n_candidates=5))
    merged = own.merge(runs, on=["sigma", "metric", "tie_break"])
    assert len(merged) == 48
    assert merged["win_x"].tolist() == pytest.approx(merged["win_y"].tolist(), abs=1e-6)
    shares = block[["win", "loss", "tie"]].sum(axis=1)
    assert shares.tolist() == pytest.approx([1] * len(block), abs=1e-5)


def test_rounding_makes_ties():
    """With scores of two digits no fewer trees tie than with all."""
    scores = np.array([0.123, 0.124, 0.13])
    assert run._rounded(scores, {"digits": 2}).tolist() == [0.12, 0.12, 0.13]
    assert run._rounded(scores, {}) is scores


def test_a_change_is_compared_in_pairs():
    """A change's lead less the paper's: each repetition by itself, by hand."""
    first, other = list(variants.CHANGES)[:2]
    rows = [
        (change, repetition, 0.1, "F1", win, 0.2, 0.8 - win, 0.0)
        for change, wins in ((first, (0.1, 0.3)), (other, (0.4, 0.5)))
        for repetition, win in enumerate(wins)
    ]
    columns = ["change", "repetition", "sigma", "metric", "win", "loss", "tie", "gain"]
    found = variants.harm(pd.DataFrame(rows, columns=columns)).set_index(["change", "quantity"])
    assert found.loc[(other, "lead"), "estimate"] == pytest.approx(25)
    assert found.loc[(other, "less"), "estimate"] == pytest.approx(25)
    assert found.loc[(first, "less"), "estimate"] == 0


def test_figures_show_run_and_reference():
    """Distances of the nearest protocols, and leads of every change, once pale and once not."""
    estimates = variants.distances(invented_ties(0.06))
    figure = variants.figure_of_ties(Frames(estimates, estimates))
    assert [len(ax.get_yticks()) for ax in figure.axes] == [6, 6]
    assert all(len(ax.containers) == 2 for ax in figure.axes)
    plt.close(figure)
