"""Tables, figures and verdicts of the clinical chapters."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pvf.claims import VERDICTS, claims
from pvf.studies import clinical, clinical_report

IDS = ["BRE-1", "BRE-2", "BRE-3", "BRE-4"]


@pytest.fixture(scope="module")
def runs():
    """Three small repetitions at the σ that the paper names."""
    table = clinical.run_experiment(
        n_repetitions=3, sigmas=[1e-3, 0.2, 0.3], n_candidates=10, n_sets=10
    )
    return clinical.by_repetition(table)


def invented_runs(win, loss, n_runs=40, spread=0.04):
    """Make runs whose shares scatter around given values."""
    rng = np.random.default_rng(0)
    rows = []
    for metric in clinical.METRICS:
        for rule in clinical.TIE_RULES:
            for sigma in (0.2, 0.3):
                for repetition in range(n_runs):
                    w, lo = np.clip(np.array([win, loss]) + rng.normal(0, spread, 2), 0, 1)
                    rows.append((repetition, sigma, metric, rule, w, lo, 1 - w - lo, 0.0, 1, 1))
    columns = ["repetition", "sigma", "metric", "tie_break", "win", "loss", "tie", "gain"]
    return pd.DataFrame(rows, columns=[*columns, "n_tied_pvf", "n_tied_traditional"])


def test_paper_numbers_stand_beside_ours(runs):
    """Every claim's numbers appear unchanged; ours are the runs' means and central 95%."""
    table = clinical_report.beside_paper(runs, IDS)
    assert len(table) == 6 * len(clinical.TIE_RULES)
    row = table.query("claim == 'BRE-2' and tie_break == 'last'").iloc[0]
    assert [row["paper_win"], row["paper_loss"], row["paper_tie"]] == [48.0, 20.0, 32.0]
    part = runs.query("sigma == 0.3 and metric == 'IE@0.3' and tie_break == 'last'")
    assert row["mean_win"] == pytest.approx(100 * part["win"].mean())
    assert row["low_win"] == pytest.approx(100 * np.percentile(part["win"], 2.5))


@pytest.mark.parametrize(
    ("win", "loss", "expected"),
    [
        (0.52, 0.18, {"BRE-1": "reproduced", "BRE-4": "reproduced"}),
        (0.80, 0.10, {"BRE-1": "direction only", "BRE-3": "not reproduced"}),
        (0.10, 0.60, {"BRE-1": "not reproduced", "BRE-4": "not reproduced"}),
    ],
    ids=["close", "larger", "opposite"],
)
def test_verdicts_follow_from_the_runs(win, loss, expected):
    """The verdict is the weakest over a claim's metrics, and each verdict can come out."""
    table = clinical_report.verdicts(invented_runs(win, loss), IDS)
    found = table.set_index("claim")["verdict"]
    assert set(found) <= set(VERDICTS)
    assert {claim: found[claim] for claim in expected} == expected


def test_agreement_notices_a_run_that_is_off():
    """A run from the same distribution agrees; one with the opposite lead does not."""
    full = invented_runs(0.5, 0.2)
    same = full[full["repetition"] == 7]
    assert clinical_report.agreement(same, full)["agrees"].mean() > 0.9
    assert not clinical_report.agreement(invented_runs(0.1, 0.7, 1), full)["agrees"].any()


def test_simulated_problems_know_the_truth():
    """The true scores peak between the groups, where the closed form says."""
    table = clinical_report.simulated_problems(20)
    assert set(table["metric"]) == set(clinical.METRICS)
    assert np.allclose(table[["win", "loss", "tie"]].sum(axis=1), 1)
    # A stump at 1.5 flags the cases above it: F1 from the normal distribution by hand.
    tp, fp = 0.3 * stats.norm.cdf(1.5), 0.7 * stats.norm.cdf(-1.5)
    truth = clinical.scores_from_counts(
        300 * stats.norm.cdf(1.5), 700 * stats.norm.cdf(-1.5), 300, 700
    )
    assert truth[5] == pytest.approx(2 * tp / (tp + fp + 0.3))


def test_claims_of_the_chapter_are_complete():
    """Claims with shares name metrics of the study, and their shares add up to 100%."""
    for claim_id in IDS:
        claim = claims()[claim_id]
        assert set(claim["metrics"]) <= set(clinical.METRICS)
        assert claim["sigma"] in clinical.SIGMAS
        assert sum(claim["numbers"].values()) == pytest.approx(100)


@pytest.mark.parametrize("draw", ["leads", "tie_rules", "gains"])
def test_figures_show_every_metric_with_labelled_axes(runs, draw):
    """Each figure has a titled panel for every metric and labels on both axes."""
    function = getattr(clinical_report, f"figure_of_{draw}")
    figure = (
        function(runs, runs[runs["repetition"] == 0], IDS) if draw == "leads" else function(runs)
    )
    titles = {ax.get_title(loc) for ax in figure.axes for loc in ("left", "center")} - {""}
    assert titles == set(clinical.METRICS)
    assert figure.get_supxlabel()
    assert figure.get_supylabel()
    plt.close(figure)


def test_readable_comparison_prints_what_the_table_holds(runs):
    """Cells carry the paper's number, and our mean with the range of single runs."""
    table = clinical_report.beside_paper(runs, ["BRE-4"])
    text = clinical_report.readable_comparison(table)
    row = table.iloc[0]
    assert text["win: paper"].iloc[0] == "52"
    expected = f"{row['mean_win']:.0f} ({row['low_win']:.0f} to {row['high_win']:.0f})"
    assert text["win: ours"].iloc[0] == expected
    assert text["verdict"].tolist() == table["verdict"].tolist()


def test_optimism_of_tuning_is_the_difference_of_the_two_leads(runs):
    """Leads chosen on the same and on other runs, their difference, and a t interval by hand."""
    picked = clinical.tuned(runs)
    text = clinical_report.readable_tuning(picked)
    part = picked.query("metric == 'F1' and tie_break == 'first'")
    lead = (100 * (part["win"] - part["loss"])).to_numpy().reshape(-1)
    by_choice = part.assign(lead=lead).pivot_table(
        index="repetition", columns="chosen_on", values="lead"
    )
    difference = by_choice["same"] - by_choice["others"]
    half = stats.sem(difference) * stats.t.ppf(0.975, 2)
    mean = difference.mean()
    assert (difference >= -1e-9).all()
    expected = f"{mean:.0f} ({mean - half:.0f} to {mean + half:.0f})"
    assert text.loc["F1", "difference"] == expected


def test_choices_within_ties_are_shares_of_the_runs(runs):
    """Shares and gains are means over the runs under the random tie rule."""
    table = clinical_report.choices_within_ties(runs, sigma=0.3)
    part = runs.query("sigma == 0.3 and metric == 'F1' and tie_break == 'random'")
    assert table.loc["F1"].tolist() == pytest.approx(
        [
            round(100 * part["within"].mean(), 1),
            round(part["gain"].mean(), 4),
            round(part["gain_within"].mean(), 4),
        ]
    )


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ({"samples": 569, "positives": 212, "missing": 0}, "reproduced"),
        ({"samples": 569, "positives": 211, "missing": 0}, "not reproduced"),
    ],
    ids=["same", "other"],
)
def test_verdict_on_the_data_compares_exact_counts(runs, found, verdict):
    """BRE-5 is reproduced by the exact counts only."""
    table = clinical_report.readable_verdicts(runs, IDS, found)
    assert table.loc["BRE-5", "verdict"] == verdict
    assert table.index.tolist() == [*IDS, "BRE-5"]
