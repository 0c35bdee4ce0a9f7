"""Estimates, figures and verdicts of the synthetic chapter, and the explanations of the gain."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from studies.kit.claims import claims, parts_of
from studies.kit.dots import Frames
from studies.kit.estimates import agrees, holm
from studies.kit.verdicts import judge_parts
from studies.pvf2026.synthetic import COST, GAPS, LOSSES, cost, explanations, label_noise
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
    """Group means of the small sweep, per 5,000 repetitions."""
    return synthetic_report.group_means(rows)


@pytest.fixture(scope="module")
def estimates(whole):
    """Estimates of the small sweep."""
    return synthetic_report.estimate(whole)


def judged(claim, table):
    """Judge a claim on the sweep by its own rule, numbers by the ranges of single runs."""
    return judge_parts(parts_of(claims()[claim], synthetic_report.estimate(table)))


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
    corrected = dict(zip(p.index, holm(p), strict=True))
    assert corrected == pytest.approx({"c": 0.004, "a": 0.03, "d": 0.04, "b": 0.04})


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
        (
            300,
            250,
            {
                "SYN-1": "holds, numbers differ",
                "SYN-2": "undecided",
                "SYN-3": "reproduced",
                "SYN-6": "not reproduced",
            },
        ),
        (250, 300, {"SYN-1": "not reproduced", "SYN-3": "not reproduced"}),
        (900, 100, {"SYN-3": "holds, numbers differ", "SYN-8": "reproduced"}),
        (300, 310, {"SYN-8": "not reproduced"}),
    ],
    ids=["as-paper", "opposite", "larger", "nothing"],
)
def test_verdicts_follow_from_the_counts(pvf_only, traditional_only, expected):
    """Counts made up to agree or disagree with the paper get the verdicts that they should."""
    table = invented(pvf_only, traditional_only)
    if expected == {"SYN-8": "reproduced"} or "SYN-8" in expected:
        # one paired t-test over configurations needs leads that are not all the same
        moved = table["mu"].rank(method="dense")
        table = table.assign(
            **{name: table[name] + moved for name in ("pvf_only", "traditional_only", "n_selected")}
        )
    assert {claim: judged(claim, table).label for claim in expected} == expected


def test_a_lead_is_one_choice_or_more():
    """A difference of half a choice of 5,000 is no lead; one choice of 2,000 is two and a half."""
    for only, n_repetitions, ahead in ((0.5, 5000, 0), (1, 5000, 100), (1, 2000, 100)):
        found = synthetic_report.estimate(invented(only, 0, n_repetitions=n_repetitions))
        share = found[found["quantity"] == "share ahead"]
        assert (share["estimate"] == ahead).all()
        lead = found.loc[found["quantity"] == "best lead", "estimate"]
        assert lead.to_numpy() == pytest.approx(only * 5000 / n_repetitions)


def test_errors_of_group_means_are_those_of_drawn_sweeps(means, estimates):
    """The spread over drawn sweeps is the analytic error, and 100 runs make it a tenth."""
    keys = ["n_samples", "group", "sigma", "metric", "tie_break"]
    leads = estimates[estimates["quantity"] == "lead"].merge(
        means, on=keys, suffixes=("", "_exact")
    )
    wide = leads["high_exact"] - leads["low_exact"]
    some = wide > 0
    ratio = ((leads["high"] - leads["low"]) / wide)[some]
    assert ratio.mean() == pytest.approx(1, abs=0.01)
    assert ratio.between(0.8, 1.2).all()
    # this sweep has 40 repetitions, a run of the paper's size 5,000
    run = ((leads["run_high"] - leads["run_low"]) / wide)[some]
    assert run.mean() == pytest.approx(np.sqrt(40 / 5000), rel=0.05)


def test_error_of_a_share_by_resampling_repetitions():
    """The share's error is near that of sweeps whose repetitions are drawn anew."""
    rng = np.random.default_rng(0)
    table = invented(0, 0)
    keys = ["n_samples", "mu", "sigma", "metric", "tie_break"]
    cells = rng.multinomial(5000, [0.2, 0.06, 0.058, 0.682], size=len(table) // 2)
    cells = pd.DataFrame(cells, columns=["both", "pvf_only", "traditional_only", "neither"])
    cells = table[table["method"] == "pvf"][keys].reset_index(drop=True).join(cells)
    drawn = table[[*keys, "method", "n_repetitions", "mean_tied"]].merge(cells, on=keys)
    own = np.where(drawn["method"] == "pvf", drawn["pvf_only"], drawn["traditional_only"])
    found = synthetic_report.estimate(drawn.assign(n_selected=drawn["both"] + own))
    share = found[(found["quantity"] == "share ahead")]
    # each lead is normal with mean 10 and this spread, so a share of 180 has the binomial's error,
    # less what is lost to leads that are far from 0: their own draws are certain
    p = stats.norm.sf((1 - 10) / np.sqrt(5000 * 0.118))
    error = (share["high"] - share["low"]) / (2 * 1.96)
    assert (error < 100 * np.sqrt(p * (1 - p) / 180)).all()
    assert (error > 50 * np.sqrt(p * (1 - p) / 180)).all()


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


def test_a_run_agrees_with_itself_and_not_with_its_opposite(estimates):
    """Estimates agree with themselves, and clear leads not with ten times their opposite."""
    assert agrees(estimates, estimates).all()
    turned = estimates.assign(
        **{k: -10 * estimates[k] for k in ("estimate", "run_low", "run_high")}
    )
    clear = (estimates["quantity"] == "best lead") & (estimates["low"] > 200)
    assert clear.sum() > 5
    assert not agrees(estimates[clear], turned[clear]).any()


def test_single_runs_are_sweeps_of_the_papers_size(whole):
    """Runs scatter around the estimates, within the range that is stated for single runs."""
    runs = synthetic_report.single_runs(whole)
    found = synthetic_report.estimate(whole)
    case = "quantity == 'best lead' and n_samples == 50 and group == 'high' and metric == 'IE@0.1'"
    values = runs.query(case + " and tie_break == 'even'")["value"]
    row = found.query(case + " and tie_break == 'even'").iloc[0]
    assert values.between(row["run_low"], row["run_high"]).mean() == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize(
    ("f1", "accuracy", "label"),
    [
        ([400, 400], [300, 500], "reproduced"),
        ([400, 400], [300, 300], "in part"),
        ([300, 400], [400, 300], "not reproduced"),
        ([400, 400], [400, 400], "undecided"),
    ],
    ids=["as the paper says", "below only", "opposite", "no difference"],
)
def test_choice_of_metric_follows_from_the_counts(f1, accuracy, label):
    """SYN-9 needs F1 ahead up to μ = 2.5 and behind above it."""
    table = invented(10, 10, n_repetitions=1000)
    above = (table["mu"] > 2.5).astype(int)
    for metric, counts in (("F1", f1), ("accuracy", accuracy)):
        part = table["metric"] == metric
        table.loc[part, "n_selected"] = np.array(counts)[above[part]]
    found = judged("SYN-9", table)
    assert found.label == label
    assert found.parts[0].estimate == pytest.approx((f1[0] - accuracy[0]) / 10)


def test_cost_follows_from_the_paper_s_own_minutes():
    """1,642 minutes on 11 cores for 90 configurations of 5,000 are 2.4 s, not 1.2 s."""
    parts = synthetic_report.CLAIMS["SYN-10"](pd.DataFrame(), claims()["SYN-10"])
    found = judge_parts(parts)
    assert found.label == "not reproduced"
    assert found.parts[0].estimate == pytest.approx(1642 * 60 * 11 / (5000 * 90))
    assert found.parts[1].outcome == "untestable"


def test_f1_and_accuracy_are_compared_on_the_traditional_method(whole, estimates):
    """The lead of F1 equals a sum over the table's rows, with errors that add up."""
    part = whole[(whole["method"] == "traditional") & (whole["tie_break"] == "even")]
    part = part.query("n_samples == 50 and mu <= 2.5").groupby("metric")
    sums = part[["n_selected", "n_repetitions"]].sum()
    p = sums["n_selected"] / sums["n_repetitions"]
    case = "quantity == 'F1 less accuracy' and n_samples == 50 and tie_break == 'even'"
    row = estimates.query(case).set_index("range").loc["μ ≤ 2.5"]
    assert row["estimate"] == pytest.approx(100 * (p["F1"] - p["accuracy"]))
    errors = np.sqrt(p * (1 - p) / sums["n_repetitions"])[["F1", "accuracy"]].sum()
    assert row["high"] - row["estimate"] == pytest.approx(100 * 1.959964 * errors, rel=1e-6)


def heights(figure):
    """Return every drawn point of a figure."""
    return np.concatenate([c.lines[0].get_ydata() for ax in figure.axes for c in ax.containers])


@pytest.mark.parametrize("label", synthetic_report.FIGURES)
def test_figures_draw_the_run_and_its_reference(estimates, whole, label):
    """Every figure has labelled axes and a legend, and moves with the run, not its reference."""
    draw = synthetic_report.FIGURES[label]
    other = synthetic_report.estimate(synthetic.run_sweep(n_repetitions=40, seed=4))
    figure, moved = draw(Frames(estimates, other)), draw(Frames(other, other))
    assert figure.axes[0].get_ylabel() or figure.get_supylabel()
    assert figure.legends
    same = heights(figure) == heights(moved)
    assert 0.3 < same.mean() < 1
    assert len(heights(draw(Frames(estimates)))) == len(same) / 2


def test_sensitivity_is_drawn_for_each_group(estimates, means):
    """Three panels with the six metrics of the paper, as group means have them."""
    figure = synthetic_report.FIGURES["fig-sensitivity-100"](Frames(estimates))
    assert [len(ax.containers) for ax in figure.axes] == [6, 6, 6]
    expected = means.query("n_samples == 100 and tie_break == 'even'")["difference"]
    assert sorted(heights(figure)) == pytest.approx(
        sorted(expected[means["metric"].isin(synthetic_report.PAPER_METRICS)])
    )


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
    gaps = GAPS.table(label_noise.GapSettings(rates=(rate,), n_draws=4000, seed=5))
    exact = gaps[gaps["metric"].isin(["accuracy", "precision"])]
    reach = (exact["high"] - exact["low"]) / 2
    assert ((exact["mean"] - exact["closed_form"]).abs() <= 2 * reach + 1e-12).all()


def test_flipping_half_the_labels_leaves_nothing_to_tell():
    """At ρ = 1/2 accuracy and precision are 1/2 for every model, and gaps vanish."""
    for tp, fp in ((18, 4), (10, 16)):
        scores = label_noise.flipped_scores(tp, fp, 20, 80, 0.5)
        assert scores["accuracy"] == pytest.approx(0.5)
        assert scores["precision"] == pytest.approx(0.5)


def test_verdict_on_label_noise_needs_gaps_that_shrink():
    """Every loss grows and every gap shrinks; one that does not is a part that fails."""
    estimates = GAPS.estimate(GAPS.table(label_noise.GapSettings(n_draws=400)))
    found = judge_parts(GAPS.claims["LAB-1"](estimates, {}))
    assert found.label == "reproduced"
    turned = estimates[estimates["quantity"] == "inverted"]["estimate"]
    assert found.parts[0].estimate == turned.max() > 50
    wider = estimates["quantity"].eq("gap less true gap") & estimates["metric"].eq("recall")
    for name in ("estimate", "low", "high"):
        estimates.loc[wider, name] = 0.1
    found = judge_parts(GAPS.claims["LAB-1"](estimates, {}))
    assert found.label == "in part"
    assert [part.says for part in found.parts if part.outcome == "fails"] == [
        "recall: every gap shrinks (least change)"
    ]


def test_losses_are_exact_estimates():
    """Each loss of the table is an estimate without error."""
    table = LOSSES.table(label_noise.LossSettings())
    estimates = LOSSES.estimate(table).set_index(["tp", "fp", "quantity"])
    row = estimates.loc[(18, 4, "loss in accuracy")]
    assert row["estimate"] == row["low"] == row["high"] == pytest.approx(0.94 - 0.852)


# --- Cost ---------------------------------------------------------------------------------------


def test_slopes_of_known_growth():
    """Quadratic growth has slope 2, slow growth 0.2, and both break the claim."""
    values = np.array([1, 2, 4, 8])
    powers = {"Q": 2, "M": 0.2, "k": 1, "n": 1, "d": 1}
    times = pd.concat(
        [
            pd.DataFrame({"size": size, "value": values, "seconds": 1e-3 * values**power})
            for size, power in powers.items()
        ]
    )
    found = judge_parts(parts_of(claims()["CPX-1"], COST.estimate(times)))
    assert [part.estimate for part in found.parts] == pytest.approx(list(powers.values()))
    assert [part.outcome for part in found.parts] == ["fails", "fails", "holds", "holds", "holds"]
    assert found.label == "in part"


def test_times_are_measured_for_every_size():
    """Each size is timed at each factor, and drawn."""
    times = COST.table(cost.CostSettings(factors=(1, 2, 3), n_rounds=1))
    assert times.groupby("size").size().to_dict() == dict.fromkeys("QMknd", 3)
    assert (times["seconds"] > 0).all()
    estimates = COST.estimate(times)
    figure = COST.figures["fig-syn-cost"](Frames(estimates))
    assert sorted(heights(figure)) == pytest.approx(sorted(times["seconds"]))
