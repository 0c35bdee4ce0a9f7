"""What the chapter on Proposition 3.1 shows is what the study computed."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from studies.pvf2026.efficiency import examples, proof
from studies.pvf2026.efficiency import run as efficiency
from studies.pvf2026.efficiency import show as efficiency_report

MODELS = {"cautious": (8, 4), "eager": (15, 25)}


@pytest.fixture(scope="module")
def simulated():
    return efficiency.simulate_efficiency(
        {**MODELS, "nobody": (0, 0)}, [0.05, 0.4], n_pos=20, n_neg=180, n_repetitions=500
    )


def bar_ends(container):
    """Lower and upper ends of error bars, of shape (n_bars, 2)."""
    return np.array([bar[:, 1] for bar in container.lines[2][0].get_segments()])


def test_equations_that_fail_say_so():
    """A wrong equation is shown as one that doesn't hold."""
    good = proof.symbolic_identities()[0]
    bad = proof.Identity("IE-1", "wrong", good.left, 2 * good.left)
    shown = efficiency_report.identity_table([good, bad])
    assert shown["equation"].tolist() == [good.statement, "wrong"]
    assert shown["left side, simplified"].tolist() == ["F", "F"]
    assert shown["holds"].tolist() == ["yes", "no"]


def test_simulation_numbers_by_hand():
    """The numbers in the text are the largest |z| of the formula and of each wrong one."""
    simulated = pd.DataFrame(
        {
            "regime": ["scarce", "ample", "ample"],
            "tp": [5, 5, 0],
            "flagged": [10, 10, 0],
            "capacity": [0.05, 0.2, 0.2],
            "critical": 3.0,
            "z": [-2.0, 1.0, 0.5],
            "guided_mean": [5.0, 6.0, 2.0],
            "uniform_mean": [1.0, 2.0, 2.0],
            "guided_variance": [0.01, 0.16, 0.01],
            "uniform_variance": [0.01, 0.01, 0.01],
        }
    )
    numbers = efficiency_report.simulation_numbers(simulated, n_pos=10, n_neg=90)
    assert numbers == {
        "n": 3.0,
        "critical": 3.0,
        "largest": 2.0,
        "no_regimes": pytest.approx(4 / np.sqrt(0.16 + 25 * 0.01)),
        "no_second_stage": pytest.approx(1 / np.sqrt(0.16 + 6.25 * 0.01)),
    }


def test_tally_by_hand():
    """Each comparison is counted once, under its winner."""
    errors = pd.DataFrame(
        {
            "closer": ["set", "population", "set", "neither"],
            "same_set_error": [1.0, 2.0, 1.0, 1.0],
            "mixed_error": [1.5, 1.0, 1.2, 1.0],
        }
    )
    assert efficiency_report.tally_of_errors(errors) == {
        "n": 4.0,
        "set": 2.0,
        "population": 1.0,
        "neither": 1.0,
        "ratio_low": 0.5,
        "ratio_high": 1.5,
    }


def test_regimes_are_drawn_with_kink_limit_and_simulation(simulated):
    """Kinks lie at the flagged share and p/π, the limit is drawn, points are the estimates."""
    figure = efficiency_report.figure_of_regimes(simulated, MODELS, n_pos=20, n_neg=180)
    (axes,) = figure.axes
    points = {
        tuple(np.round(line.get_xydata()[0], 6))
        for line in axes.lines
        if len(line.get_xdata()) == 1
    }
    assert points == {(0.06, round(8 / 12 / 0.1, 6)), (0.2, 3.75)}
    limit = next(line for line in axes.lines if line.get_label() == "perfect model")
    x, y = limit.get_data()
    assert y == pytest.approx(np.minimum(1 / x, 10))
    drawn = [container.lines[0].get_ydata() for container in axes.containers]
    expected = [simulated.loc[simulated["model"] == name, "estimate"] for name in MODELS]
    assert np.concatenate(drawn) == pytest.approx(np.concatenate(expected))
    for container, name in zip(axes.containers, MODELS, strict=True):
        ends = simulated.loc[simulated["model"] == name, ["low", "high"]].to_numpy()
        assert bar_ends(container) == pytest.approx(ends)
    legend = {text.get_text() for text in figure.legends[0].get_texts()}
    assert legend == {"cautious", "eager", "perfect model", "random choice"}


def test_zero_cases_are_drawn_through_the_enumerated_policy():
    """Each exact value lies on its line."""
    zero = examples.zero_cases([0, 20], [0.2, 0.5], n_pos=20, n_neg=180)
    (axes,) = efficiency_report.figure_of_zero_cases(zero, n_pos=20, n_neg=180).axes
    for line, dots in zip(axes.lines[::2], axes.lines[1::2], strict=True):
        assert len(dots.get_xdata()) == 2
        assert np.interp(dots.get_xdata(), *line.get_data()) == pytest.approx(
            dots.get_ydata(), abs=1e-3
        )
    assert axes.lines[2].get_label() == "20 flagged in vain"


def test_samples_are_drawn_around_the_truth():
    """Each panel has its model's truth and both means at every size."""
    _, errors = examples.compare_prevalences(
        {**MODELS, "everybody": (20, 180)},
        [30, 90],
        n_pos=20,
        n_neg=180,
        capacity=0.1,
        n_repetitions=200,
    )
    figure = efficiency_report.figure_of_samples(errors, ["everybody", "eager"])
    for axes, name in zip(figure.axes, ["everybody", "eager"], strict=True):
        rows = errors[errors["model"] == name]
        assert name in (axes.get_title(), axes.get_title(loc="left"))
        assert axes.lines[0].get_ydata()[0] == rows["truth"].iloc[0]
        same, mixed = (container.lines[0].get_ydata() for container in axes.containers)
        assert same == pytest.approx(rows["same_set"].to_numpy())
        assert mixed == pytest.approx(rows["mixed"].to_numpy())
        for container, column in zip(axes.containers, ["same_set", "mixed"], strict=True):
            ends = rows[[f"{column}_low", f"{column}_high"]].to_numpy()
            assert bar_ends(container) == pytest.approx(ends)


def test_figures_are_shown_once(simulated):
    """A figure that is returned is closed, or a notebook would show it twice."""
    before = plt.get_fignums()
    efficiency_report.figure_of_regimes(simulated, MODELS, n_pos=20, n_neg=180)
    assert plt.get_fignums() == before
