"""The sensitivity analysis: verdicts, cost."""

import numpy as np
import pandas as pd
import pytest

from studies.kit.claims import claims, parts_of
from studies.kit.verdicts import judge_parts
from studies.pvf2026 import sensitivity
from studies.pvf2026.synthetic.run import SIGMAS
from studies.pvf2026.synthetic.show import PAPER_METRICS, courses_over_sigma


def test_cost_is_the_time_of_one_repetition_beside_the_paper_s():
    """50 repetitions in 100 minutes are two minutes each; core-minutes multiply by the cores."""
    facts = {"wall_time": 6000.0, "settings": {"n_repetitions": 50}, "machine": {"cores": 2}}
    table = sensitivity.cost({"one": facts, "other": facts})
    assert table.loc["both"].tolist() == pytest.approx([4, 2, 8])
    paper = claims()["REAL-1"]["numbers"]
    assert table.loc["the paper, both", "core-minutes"] == paper["minutes"] * paper["cores"]


def sweep_estimates(lead_at):
    """Make estimates with narrow intervals around a function of (n, group, metric, σ)."""
    case = ["n_samples", "group", "sigma", "metric", "tie_break"]
    rows = [
        (n, group, sigma, metric, "even", lead_at(n, group, metric, sigma))
        for sigma in SIGMAS
        for n in (50, 100)
        for group in ("low", "moderate", "high")
        for metric in PAPER_METRICS
    ]
    leads = pd.DataFrame(rows, columns=[*case, "estimate"])
    courses = courses_over_sigma(leads.set_index(case)[["estimate"]])
    parts = [leads.assign(quantity="lead")]
    parts += [part.reset_index().assign(quantity=name) for name, part in courses.items()]
    table = pd.concat(parts, ignore_index=True).assign(n=5000.0, unit="")
    return table.assign(low=table["estimate"] - 0.01, high=table["estimate"] + 0.01)


def as_the_paper_says(n, group, metric, sigma):
    """Return leads as the paper describes its Figures 12 to 17."""
    if group == "high":
        return 50 + 30 * np.log10(sigma / 1e-6)
    if group == "low":
        large = -20 if n == 100 or metric == "F1/accuracy" else 10
        return large if sigma == 0.1 else (20 if sigma == 1e-2 else 50)
    if n == 100 and metric in ("IE@0.7", "IE@0.9"):
        return {1e-3: -12, 1e-2: -15, 0.1: -2}.get(sigma, -10)
    return {1e-3: 30, 1e-2: 20, 0.1: 90}.get(sigma, 40)


@pytest.mark.parametrize(
    ("lead_at", "label"),
    [
        (as_the_paper_says, "reproduced"),
        (lambda *_: 0.0, "not reproduced"),
        (lambda n, group, metric, sigma: -as_the_paper_says(n, group, metric, sigma), None),
    ],
    ids=["paper", "nothing", "opposite"],
)
def test_synthetic_verdicts_follow_from_the_curves(lead_at, label):
    """Curves as the paper describes them are reproduced; flat ones are not; opposite ones fail."""
    estimates = sweep_estimates(lead_at)
    found = {
        claim: judge_parts(parts_of(claims()[claim], estimates)).label
        for claim in (f"SEN-{number}" for number in range(1, 7))
    }
    if label is None:
        assert "reproduced" not in set(found.values())
    else:
        assert set(found.values()) == {label}
