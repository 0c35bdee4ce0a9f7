"""Tables, figures and verdicts of the synthetic chapters, and the explanations of the gain."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from studies.kit.claims import VERDICTS, claims
from studies.pvf2026.synthetic import cost, explanations, label_noise
from studies.pvf2026.synthetic import run as synthetic
from studies.pvf2026.synthetic import show as synthetic_report


@pytest.fixture(scope="module")
def whole():
    """All configurations at a small scale."""
    return synthetic.run_sweep(n_repetitions=40, seed=3)


@pytest.fixture(scope="module")
def rows(whole):
    """Differences of the small sweep."""
    return synthetic_report.differences(whole)


@pytest.fixture(scope="module")
def means(rows):
    """Group means of the small sweep, scaled to the paper's repetitions."""
    return synthetic_report.scale_to_paper(synthetic_report.group_means(rows))


def invented(pvf_only, traditional_only, n_repetitions=5000):
    """Make a sweep's table in which every configuration has the same discordant counts."""
    table = synthetic.run_sweep(n_samples=[50, 100], n_repetitions=1, seed=1)
    both = 1000
    pvf = table["method"] == "pvf"
    return table.assign(
        n_repetitions=n_repetitions,
        both=both,
        pvf_only=pvf_only,
        traditional_only=traditional_only,
        neither=n_repetitions - both - pvf_only - traditional_only,
        n_selected=both + np.where(pvf, pvf_only, traditional_only),
    )


def test_differences_are_of_the_paired_counts(whole, rows):
    """d_h is PVF's count less the traditional one, with McNemar's variance and p-value."""
    row = rows.query("n_samples == 50 and mu == 2.9 and sigma == 0.1 and metric == 'F1'")
    row = row[row["tie_break"] == "last"].iloc[0]
    part = whole.query("n_samples == 50 and mu == 2.9 and sigma == 0.1 and metric == 'F1'")
    part = part[part["tie_break"] == "last"].set_index("method")
    b, c = part.loc["pvf", ["pvf_only", "traditional_only"]]
    assert (
        row["difference"] == part.loc["pvf", "n_selected"] - part.loc["traditional", "n_selected"]
    )
    assert row["difference"] == b - c
    # The variance of a sum of n draws from {1, 0, -1}, by the draws themselves.
    draws = np.repeat([1, -1, 0], [int(b), int(c), int(40 - b - c)])
    assert row["variance"] == pytest.approx(40 * draws.var())
    z = (b - c) / np.sqrt(b + c)
    assert row["p_value"] == pytest.approx(2 * stats.norm.sf(abs(z)))


def test_holm_is_bonferroni_for_the_smallest_and_never_decreases():
    """Corrected p-values: n p for the smallest, then n-1, and so on, made monotone."""
    p = pd.Series([0.01, 0.04, 0.001, 0.02], index=list("abcd"))
    corrected = synthetic_report._holm(p)
    assert corrected.to_dict() == pytest.approx({"c": 0.004, "a": 0.03, "d": 0.04, "b": 0.04})


def test_group_means_have_the_error_of_independent_configurations():
    """The mean over a group's five configurations has a fifth of the summed error."""
    rows = synthetic_report.differences(invented(300, 200))
    part = synthetic_report.group_means(rows).query("group == 'low'").iloc[0]
    draws = np.repeat([1, -1, 0], [300, 200, 4500])
    half_width = 1.959964 * np.sqrt(5 * 5000 * draws.var()) / 5
    assert part["difference"] == pytest.approx(100)
    assert part["high"] - part["difference"] == pytest.approx(half_width, rel=1e-6)


def test_groups_hold_the_paper_s_five_values_of_mu(rows):
    """Low is 0.1 to 0.9, moderate 1.1 to 1.9, high 2.1 to 2.9 (Appendix C.2)."""
    found = rows.groupby("group")["mu"].agg(["min", "max", "nunique"]).to_dict("index")
    assert found["low"] == {"min": 0.1, "max": 0.9, "nunique": 5}
    assert found["moderate"] == {"min": 1.1, "max": 1.9, "nunique": 5}
    assert found["high"] == {"min": 2.1, "max": 2.9, "nunique": 5}


def test_halves_add_up_to_the_whole(whole):
    """The first repetitions and the others sum to all, and the first are run_sweep's own."""
    first = synthetic.run_sweep(n_repetitions=20, seed=3)
    one, other = synthetic_report.halves(first, whole)
    assert (other["n_repetitions"] == 20).all()
    keys = ["n_samples", "mu", "sigma", "metric", "tie_break", "method"]
    total = one.set_index(keys)["n_selected"] + other.set_index(keys)["n_selected"]
    expected = whole.set_index(keys)["n_selected"].loc[total.index]
    np.testing.assert_allclose(total, expected)
    assert (other[["both", "pvf_only", "traditional_only", "neither"]] >= -1e-9).all(axis=None)


@pytest.mark.parametrize(
    ("pvf_only", "traditional_only", "expected"),
    [
        (300, 250, {"SYN-1": "direction only", "SYN-3": "reproduced", "SYN-6": "not reproduced"}),
        (250, 300, {"SYN-1": "not reproduced", "SYN-3": "not reproduced"}),
        (900, 100, {"SYN-3": "direction only", "SYN-8": "reproduced"}),
        (300, 310, {"SYN-8": "not reproduced"}),
    ],
    ids=["as-paper", "opposite", "larger", "nothing"],
)
def test_verdicts_follow_from_the_counts(pvf_only, traditional_only, expected):
    """Counts made up to agree or disagree with the paper get the verdicts that they should."""
    rows = synthetic_report.differences(invented(pvf_only, traditional_only))
    means = synthetic_report.group_means(rows)
    best = synthetic_report.best_sigma(means, means)
    found = synthetic_report.verdicts(rows, best, "even")["verdict"]
    assert set(found) <= set(VERDICTS)
    assert {claim: found[claim] for claim in expected} == expected


def test_best_sigma_is_chosen_on_one_table_and_reported_from_another(means):
    """The σ is that of the largest mean of the first table; the numbers are the second's."""
    report = means.assign(difference=-means["difference"])
    best = synthetic_report.best_sigma(means, report)
    row = best.iloc[0]
    part = means.query("n_samples == @row.n_samples and group == @row.group")
    part = part[(part["metric"] == row["metric"]) & (part["tie_break"] == row["tie_break"])]
    chosen = part.loc[part["difference"].idxmax()]
    assert row["sigma"] == chosen["sigma"]
    assert row["difference"] == -chosen["difference"]


def test_a_run_agrees_with_itself_and_not_with_its_opposite(rows, means):
    """Agreement is high for the same data set, low if every difference is turned round."""
    live = synthetic_report.group_means(rows)
    assert synthetic_report.agreement(live, means).all()
    turned = means.assign(difference=-means["difference"] * 10)
    moved = live["difference"].abs() > 2
    assert not synthetic_report.agreement(live, turned)[moved.to_numpy()].any()


def test_findings_name_every_tie_rule(whole):
    """Every claim on the sweep has the verdict of even ties, and the others' in words."""
    rows = synthetic_report.differences(whole)
    means = synthetic_report.scale_to_paper(synthetic_report.group_means(rows))
    best = synthetic_report.best_sigma(means, means)
    tables = {"synthetic_sweep": whole}
    by_rule = {r: synthetic_report.verdicts(rows, best, r) for r in synthetic_report.TIE_LABELS}
    for number in range(1, 9):
        claim = f"SYN-{number}"
        finding = synthetic_report.decide(claims()[claim], tables)
        assert finding.verdict == by_rule["even"].loc[claim, "verdict"]
        for rule, label in synthetic_report.TIE_LABELS.items():
            assert label in finding.says
            assert by_rule[rule].loc[claim, "ours"] in finding.says


@pytest.mark.parametrize(
    ("f1", "accuracy", "verdict"),
    [
        ([400, 400], [300, 500], "reproduced"),
        ([400, 400], [300, 300], "direction only"),
        ([300, 300], [400, 400], "not reproduced"),
    ],
    ids=["as the paper says", "below only", "opposite"],
)
def test_choice_of_metric_follows_from_the_counts(f1, accuracy, verdict):
    """SYN-9 needs F1 ahead up to μ = 2.5 and behind above it."""
    table = invented(10, 10, n_repetitions=1000)
    above = (table["mu"] > 2.5).astype(int)
    for metric, counts in (("F1", f1), ("accuracy", accuracy)):
        part = table["metric"] == metric
        table.loc[part, "n_selected"] = np.array(counts)[above[part]]
    finding = synthetic_report.decide_metric_choice({}, {"synthetic_sweep": table})
    assert finding.verdict == verdict
    assert finding.number == pytest.approx((f1[0] - accuracy[0]) / 10)


def test_cost_follows_from_the_paper_s_own_minutes():
    """1,642 minutes on 11 cores for 90 configurations of 5,000 are 2.4 s, not 1.2 s."""
    table = pd.DataFrame()
    table.attrs["provenance"] = {"wall_time": 50.0}
    finding = synthetic_report.decide_cost(claims()["SYN-10"], {"synthetic_sweep": table})
    assert finding.verdict == "direction only"
    assert finding.number == pytest.approx(1642 * 60 * 11 / (5000 * 90))
    assert "50 s" in finding.says


def test_f1_and_accuracy_are_compared_on_the_traditional_method(whole):
    """Shares of choices by F1 and accuracy equal a sum over the table's rows."""
    choice = synthetic_report.metric_choice(whole)
    part = whole.query("n_samples == 50 and mu <= 2.5 and metric == 'F1'")
    part = part[(part["method"] == "traditional") & (part["tie_break"] == "even")]
    expected = 100 * part["n_selected"].sum() / part["n_repetitions"].sum()
    assert choice.loc[(50, "μ ≤ 2.5"), "F1"] == pytest.approx(expected)


@pytest.mark.parametrize("name", ["shares", "best", "sensitivity"])
def test_figures_are_labelled(rows, means, name):
    """Every figure has labelled axes and a legend."""
    if name == "shares":
        figure = synthetic_report.figure_of_shares(synthetic_report.positive_shares(rows))
    elif name == "best":
        best = synthetic_report.best_sigma(means, means)
        figure = synthetic_report.figure_of_best_sigma(best, 50)
    else:
        figure = synthetic_report.figure_of_sensitivity(means, 100, "even")
    assert figure.axes[0].get_ylabel()
    assert figure.legends
    plt.close(figure)


# --- Explanations -------------------------------------------------------------------------------


def test_without_noise_nothing_differs(rows):
    """At σ = 1e-6 the difference is zero in (nearly) all configurations, under each rule."""
    table = explanations.unchanged(rows)
    assert (table.loc[1e-6, ["first", "last", "even"]] > 99).all()
    assert table["largest difference"].is_monotonic_increasing


def test_chance_of_the_best_of_six_by_simulation(whole):
    """The expected largest of six mean leads of identical methods, against binomial draws."""
    table = explanations.chance_of_best(whole, n_repetitions=1000)
    row = table.query("n_samples == 100 and group == 'moderate' and metric == 'F1/accuracy'")
    part = whole[(whole["method"] == "traditional") & (whole["tie_break"] == "even")]
    part = part.query("n_samples == 100 and metric == 'F1/accuracy' and 1 < mu < 2")
    sums = part.groupby("mu")[["n_selected", "n_repetitions"]].sum()
    p = (sums["n_selected"] / sums["n_repetitions"]).to_numpy()
    draws = np.random.default_rng(0).binomial(1000, p, size=(2, 20_000, 6, 5)).mean(axis=-1)
    largest = (draws[0] - draws[1]).max(axis=1)
    assert row["best"].item() == pytest.approx(largest.mean(), rel=0.03)
    assert row["best_high"].item() == pytest.approx(np.quantile(largest, 0.975), rel=0.03)


def test_optimism_is_zero_without_a_choice_and_positive_with_noise(rows, whole):
    """The best of all is at least as good as the best of a half on the other half, on average."""
    first = synthetic.run_sweep(n_repetitions=20, seed=3)
    parts = [synthetic_report.differences(t) for t in synthetic_report.halves(first, whole)]
    table = explanations.optimism_of_best_sigma(rows, *parts)
    assert (table["same"] - table["split"]).mean() > 0
    same = explanations.optimism_of_best_sigma(rows, rows, rows)
    np.testing.assert_allclose(same["same"], same["split"])


def test_mixtures_hold_every_pair_of_rules(whole):
    """Nine pairs; the lead of one rule against itself at σ = 1e-6 is about zero."""
    mixed = explanations.mixtures(whole)
    assert len(mixed) == 9
    own = mixed[mixed["PVF's ties"] == mixed["traditional ties"]]
    assert (own[["at σ = 1e-6, least", "at σ = 1e-6, most"]].abs() < 1).all(axis=None)
    low, high = explanations.needed_leak(mixed)
    assert 0 < low < high


def test_common_noise_meets_the_same_data_sets():
    """Shares under common and separate noise are near each other on the same data."""
    table = explanations.common_noise_effect(60, mus=[2.5], seed=2)
    assert ((table["common"] - table["separate"]).abs() < 10).all()


# --- Flipped labels -----------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3])
def test_closed_forms_of_flipped_labels(rate):
    """Accuracy and precision follow a(1-ρ)+(1-a)ρ; the mean gap follows in simulation."""
    scores = label_noise.flipped_scores(15, 8, 20, 80, rate)
    for name, value in (("accuracy", 0.87), ("precision", 15 / 23)):
        assert scores[name] == pytest.approx(value * (1 - rate) + (1 - value) * rate)
    gaps = label_noise.compare_gaps([rate], n_draws=4000, seed=5)
    exact = gaps[gaps["metric"].isin(["accuracy", "precision"])]
    reach = (exact["high"] - exact["low"]) / 2
    assert ((exact["mean"] - exact["closed_form"]).abs() <= 2 * reach + 1e-12).all()


def test_flipping_half_the_labels_leaves_nothing_to_tell():
    """At ρ = 1/2 accuracy and precision are 1/2 for every model, and gaps vanish."""
    for tp, fp in ((18, 4), (10, 16)):
        scores = label_noise.flipped_scores(tp, fp, 20, 80, 0.5)
        assert scores["accuracy"] == pytest.approx(0.5)
        assert scores["precision"] == pytest.approx(0.5)


def test_verdict_on_label_noise_needs_growing_losses():
    """Losses that do not grow with strength are not what the paper says."""
    gaps, losses = label_noise.compare_gaps(n_draws=200), label_noise.penalties()
    assert label_noise.verdict(gaps, losses) in VERDICTS
    turned = losses[::-1].reset_index(drop=True)
    assert label_noise.verdict(gaps, turned) == "not reproduced"
    finding = label_noise.decide({}, {"label_gaps": gaps, "label_losses": turned})
    assert finding.verdict == "not reproduced"
    assert finding.number == 100 * gaps["inverted"].max()
    assert "grows with strength in no metric" in finding.says


# --- Cost ---------------------------------------------------------------------------------------


def test_slopes_of_known_growth():
    """Quadratic growth has slope 2, constant time slope 0; only the former breaks the claim."""
    values = np.array([1, 2, 4, 8])
    times = pd.concat(
        [
            pd.DataFrame({"size": "n", "value": values, "seconds": 1e-3 * values**2}),
            pd.DataFrame({"size": "d", "value": values, "seconds": 1e-3}),
        ]
    )
    slopes = cost.fit_slopes(times)
    assert slopes["slope"].to_dict() == pytest.approx({"n": 2.0, "d": 0.0}, abs=1e-9)
    assert cost.verdict(slopes) == "not reproduced"
    assert cost.verdict(slopes.loc[["d"]]) == "reproduced"
    finding = cost.decide({}, {"cost_times": times})
    assert (finding.verdict, round(finding.number, 6)) == ("not reproduced", 2)


def test_times_are_measured_for_every_size():
    """Each size is timed at each factor."""
    times = cost.measure_times((1, 2, 3), n_rounds=1)
    assert times.groupby("size").size().to_dict() == dict.fromkeys("QMknd", 3)
    assert (times["seconds"] > 0).all()
    assert cost.figure_of_cost(times, cost.fit_slopes(times)).axes[0].get_xlabel()
