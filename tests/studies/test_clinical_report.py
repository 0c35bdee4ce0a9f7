"""Tables, figures and verdicts of the clinical chapters."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from studies.data import datasets
from studies.kit.claims import claims, parts_of
from studies.kit.dots import Frames
from studies.kit.show import interval_text
from studies.kit.verdicts import judge_parts
from studies.pvf2026.clinical import (
    BREAST,
    CERVICAL_VARIANTS,
    CHOICES,
    COUNTS,
    REACHED,
    counts,
)
from studies.pvf2026.clinical import run as clinical
from studies.pvf2026.clinical import show as clinical_report

IDS = ["BRE-1", "BRE-2", "BRE-3", "BRE-4"]
CERVICAL_IDS = ["CER-1", "CER-2", "CER-3"]


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
    table = clinical_report.printed_beside_ours(complete(runs), IDS)
    assert len(table) == 6 * len(clinical.TIE_RULES)
    row = table.loc[("BRE-2", "IE@0.3", 0.3, "last of the tied")]
    assert [row[f"{share} (%)", "paper"] for share in ("win", "loss", "tie")] == ["48", "20", "32"]
    part = runs.query("sigma == 0.3 and metric == 'IE@0.3' and tie_break == 'last'")
    low, high = 100 * np.percentile(part["win"], [2.5, 97.5])
    assert row["win (%)", "ours"] == f"{100 * part['win'].mean():.0f} ({low:.0f} to {high:.0f})"


def complete(runs):
    """Return a chapter's estimates of runs that hold all that the experiment gives."""
    known = {name: 0.0 for name in ("within", "gain_within") if name not in runs}
    return BREAST.estimate(runs.assign(**known))


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
    for ids in (IDS, CERVICAL_IDS):
        metrics = [metric for claim_id in ids for metric in claims()[claim_id]["metrics"]]
        assert sorted(metrics) == sorted(clinical.METRICS)
    for claim_id in (*IDS, *CERVICAL_IDS):
        claim = claims()[claim_id]
        assert claim["sigma"] in clinical.SIGMAS
        assert claim["dataset"] in clinical.DATASETS
        middles = [np.mean(value) for value in claim["numbers"].values()]
        assert sum(middles) == pytest.approx(100)


@pytest.mark.parametrize("label", ["leads", "ties", "gains"])
def test_figures_show_every_metric_with_labelled_axes(runs, label):
    """Each figure has a titled panel for every metric and labels on both axes."""
    run = complete(runs[runs["repetition"] == 0])
    figure = BREAST.figures[f"fig-breast-{label}"](Frames(run, complete(runs)))
    titles = {ax.get_title(loc) for ax in figure.axes for loc in ("left", "center")} - {""}
    assert titles == set(clinical.METRICS)
    assert figure.get_supxlabel()
    assert figure.get_supylabel()
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "this run" in names
    plt.close(figure)


def test_optimism_of_tuning_is_the_difference_of_the_two_leads(runs):
    """Leads chosen on the same and on other runs, their difference, and a t interval by hand."""
    picked = clinical_report.tuned(runs)
    text = clinical_report.tuned_leads(runs)
    part = picked.query("metric == 'F1' and tie_break == 'shared'")
    lead = (100 * (part["win"] - part["loss"])).to_numpy().reshape(-1)
    by_choice = part.assign(lead=lead).pivot_table(
        index="repetition", columns="chosen_on", values="lead"
    )
    difference = by_choice["same"] - by_choice["others"]
    half = stats.sem(difference) * stats.t.ppf(0.975, 2)
    mean = difference.mean()
    assert (difference >= -1e-9).all()
    expected = interval_text(mean, mean - half, mean + half, ".0f")
    assert text.loc["F1", "difference"] == expected


def test_a_printed_range_is_shown_by_its_middle():
    """CER-2 prints 43.3 to 46.7% of wins."""
    runs = invented_runs(0.5, 0.4, spread=0.01)
    runs["sigma"] = 0.01
    found = clinical_report.printed_beside_ours(complete(runs), ["CER-2"])
    assert found["win (%)", "paper"].iloc[0] == "45"


def test_lead_test_against_enumeration_of_signs():
    """With six runs the p value counts the 64 sign patterns; the paper's own p is a sign test."""
    runs = invented_runs(0.5, 0.4, n_runs=6, spread=0.08)
    row = clinical_report.lead_tests(runs, ["BRE-1"]).iloc[0]
    part = runs.query("sigma == 0.3 and metric == 'IE@0.1' and tie_break == 'shared'")
    lead = (part["win"] - part["loss"]).to_numpy()
    signs = np.array(np.meshgrid(*[[-1, 1]] * 6)).reshape(6, -1)
    means = lead @ signs / 6
    share = min((means >= lead.mean() - 1e-12).mean(), (means <= lead.mean() + 1e-12).mean())
    assert row["p_value"] == pytest.approx(min(1, 2 * share))
    assert row["lead"] == pytest.approx(100 * lead.mean())
    # 13 wins against 5 losses in 25 splits
    assert row["naive_p"] == pytest.approx(2 * stats.binom(18, 0.5).cdf(5))
    assert row["smallest_p"] == 2 / 2**5
    assert row["below"] + row["same"] + row["above"] == pytest.approx(100)
    assert row["below"] == pytest.approx(100 * (lead < 0.30).mean())


def test_inflation_is_one_for_independent_splits():
    """Where each run's splits are independent trials, the variance is theirs."""
    rng = np.random.default_rng(1)
    n_runs = 4000
    counts = rng.multinomial(25, [0.5, 0.3, 0.2], n_runs) / 25
    frame = pd.DataFrame(counts, columns=["win", "loss", "tie"])
    frame = frame.assign(
        repetition=range(n_runs), sigma=0.3, metric="IE@0.1", tie_break="shared", gain=0.0
    )
    row = clinical_report.lead_tests(frame, ["BRE-1"], n_resamples=99).iloc[0]
    assert row["inflation"] == pytest.approx(1, abs=0.08)


def test_without_data_the_committed_counts_are_shown(monkeypatch):
    """The data's arithmetic comes from the committed table, which says 858, 668 and 30."""

    def absent(*_, **__):
        raise datasets.DataUnavailableError("not here")

    monkeypatch.setattr(counts, "cervical_arithmetic", absent)
    run = COUNTS.run(n_jobs=1)
    steps = run.committed.set_index("step")
    assert steps.loc["as published", "rows"] == 858
    assert steps.loc["of these, complete rows", ["rows", "features"]].tolist() == [668, 30]
    assert "did not run" in run.says()
    assert len(steps) == 5


def test_reached_figure_fills_as_many_places_as_cases_are_reached():
    """The widths of a row's filled places add up to the mean, of 0.8 a place."""
    reached = pd.DataFrame(
        {
            "dataset": "cervical-cancer",
            "repetition": [0, 1],
            "sigma": 0.01,
            "capacity": 0.1,
            "chance": [1.0, 1.2],
            "average": [2.0, 2.5],
            "traditional": [3.1, 3.3],
            "pvf": [4.0, 4.2],
            "best": [9.0, 9.9],
            "cases": [10.0, 10.0],
        }
    )
    figure = REACHED.figures["fig-cervical-reached"](Frames(REACHED.estimate(reached)))
    (ax,) = figure.axes
    filled = [sum(bar.get_width() for bar in group) for group in ax.containers[1::2]]
    assert filled == pytest.approx([0.8 * mean for mean in (1.1, 2.25, 3.2, 4.1, 9.45)])


def test_figure_of_leads_marks_the_paper_and_the_range_of_single_runs():
    """The band ends where the runs' central 95% does, and the paper's lead is a diamond."""
    runs = invented_runs(0.5, 0.2)
    figure = BREAST.figures["fig-breast-leads"](Frames(complete(runs)))
    ax = figure.axes[0]
    (diamond,) = [line for line in ax.lines if line.get_marker() == "D"]
    assert diamond.get_ydata() == [52 - 20]
    part = runs.query("metric == 'IE@0.1' and tie_break == 'shared' and sigma == 0.3")
    ends = 100 * np.quantile(part["win"] - part["loss"], [0.025, 0.975])
    (band,) = ax.collections
    heights = band.get_paths()[0].vertices
    assert sorted({*heights[heights[:, 0] == 1, 1]}) == pytest.approx(sorted(ends))


def test_changes_of_choices_are_paired():
    """A variant's lead less that of the chapter, repetition by repetition, equals scipy's."""
    rng = np.random.default_rng(4)
    first = next(iter(CERVICAL_VARIANTS))
    rows = [
        (variant, r, 0.01, "F1", "first", *rng.random(2), 0.0, *rng.random(3))
        for variant in (first, "other")
        for r in range(8)
    ]
    columns = ["variant", "repetition", "sigma", "metric", "tie_break", "win", "loss", "tie"]
    columns += ["gain", "external_traditional", "external_average"]
    choices = pd.DataFrame(rows, columns=columns)
    found = CHOICES.estimate(choices).set_index(["variant", "quantity"])
    lead = 100 * (choices["win"] - choices["loss"])
    base, other = (lead[choices["variant"] == name].to_numpy() for name in (first, "other"))
    low, high = stats.ttest_rel(other, base).confidence_interval()
    assert found.loc[("other", "change"), ["low", "high"]].tolist() == pytest.approx([low, high])
    half = stats.sem(other) * stats.t.ppf(0.975, 7)
    row = found.loc[("other", "lead")]
    assert (row["estimate"], row["high"] - row["estimate"]) == pytest.approx((other.mean(), half))
    assert found.loc[(first, "change"), "estimate"] == 0


def test_labels_follow_from_invented_results():
    """Leads like the paper's are reproduced, larger ones hold, opposite ones are not."""
    expected = {
        (0.52, 0.20): ["reproduced", "not reproduced"],
        (0.80, 0.10): ["holds, numbers differ", "not reproduced"],
        (0.40, 0.40): ["undecided", "reproduced"],
        (0.10, 0.60): ["not reproduced", "not reproduced"],
    }
    for (win, loss), labels in expected.items():
        table = invented_runs(win, loss)
        table = table.assign(within=1.0, gain_within=0.0)
        runs, estimates = BREAST.runs(table), BREAST.estimate(table)
        for claim, label in zip(("BRE-1", "BRE-3"), labels, strict=True):
            entry = claims()[claim]
            found = judge_parts(parts_of(entry, estimates), printed_runs(entry, runs))
            assert found.label == label, (win, loss, claim)


def printed_runs(entry, runs):
    """Return single runs of what a claim prints, by hand: win, loss, tie of each metric."""
    at = runs[(runs["sigma"] == entry["sigma"]) & (runs["tie_break"] == "shared")]
    wide = at.pivot_table(index="run", columns=["quantity", "metric"], values="value")
    return wide[[(q, m) for q in ("win", "loss", "tie") for m in entry["metrics"]]].to_numpy()


def test_differences_within_repetitions_by_hand():
    """The lead less that at the best σ, and γ = 0.1 less each metric, repetition by repetition."""
    table = invented_runs(0.5, 0.2).assign(within=1.0, gain_within=0.0)
    estimates = BREAST.estimate(table)
    lead = (
        table[table["tie_break"] == "last"]
        .assign(lead=lambda t: 100 * (t["win"] - t["loss"]))
        .pivot_table(index="repetition", columns=["metric", "sigma"], values="lead")
    )
    best = lead["F1"].mean().idxmax()
    for quantity, values in {
        "behind_best": lead["F1"][0.2] - lead["F1"][best],
        "below_smallest": lead["IE@0.1"][0.2] - lead["F1"][0.2],
    }.items():
        chosen = estimates.query("metric == 'F1' and sigma == 0.2 and tie_break == 'last'")
        row = chosen[chosen["quantity"] == quantity].iloc[0]
        assert row["estimate"] == pytest.approx(values.mean())
        half = (row["high"] - row["low"]) / 2
        assert half == pytest.approx(stats.t.ppf(0.975, 39) * stats.sem(values))
