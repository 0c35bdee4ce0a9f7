"""Tables, figures and verdicts of the PMV chapter, on made-up results with known answers."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from studies.kit.claims import VERDICTS, claims, judge
from studies.kit.results import read_result
from studies.pmv2019 import rules as pmv_comparison
from studies.pmv2019 import show as pmv_report
from studies.pmv2019 import table1 as pmv
from studies.pmv2019 import tables as pmv_tables

IDS = [f"PMV-{i}" for i in range(1, 11)]
LEVELS = [0.0, 0.25, 0.5]


@pytest.fixture(name="paper", scope="module")
def _paper():
    return pmv_tables.paper_table()


def like(paper, shift=0.0, reach=0.01):
    """Make a table of ours that is the paper's, shifted, with a range of one more run."""
    ours = paper.copy()
    for measure in pmv.MEASURES:
        ours[measure] = paper[measure] + shift
        ours[f"{measure}_low"] = ours[measure] - reach
        ours[f"{measure}_high"] = ours[measure] + reach
    return ours.assign(boosting="SAMME.R")


def falls(dataset, slopes, n_runs=1, bend=0.0):
    """Make curves over the noise with given slopes by size, bent by a parabola."""
    rows = [
        {"dataset": dataset, "size": size, "repeat": run}
        | {f"at {r:g}": 1 - k * r + bend * (r - 0.25) ** 2 for r in LEVELS}
        for run in range(n_runs)
        for size, k in slopes.items()
    ]
    return pd.DataFrame(rows)


def grid_of(dataset, depths):
    """Make grid searches, the same for both ways of cutting folds."""
    rows = [
        (dataset, folds, i, depth)
        for folds in ("stratified", "shuffled")
        for i, depth in enumerate(depths)
    ]
    return pd.DataFrame(rows, columns=["dataset", "folds", "run", "depth"])


def picks_of(right_model, n_seeds=60):
    """Make picks in which PMV's slope is largest for one model of each kind of data."""
    rows = []
    for distribution, model_of_cell in right_model.items():
        for noise in pmv.NOISES if distribution != "linear" else (0.0,):
            for seed in range(n_seeds):
                for model in pmv.MODELS:
                    picked = model == model_of_cell
                    found = (0.9 if picked else 0.5, 0.8, 0.1, 0.9 if picked else 0.7)
                    rows.append((seed, distribution, noise, model, *found))
    columns = ["seed", "distribution", "noise", "model", *pmv.MEASURES, "true_accuracy"]
    return pd.DataFrame(rows, columns=columns)


# --- Table 1


def test_a_printed_cell_is_inside_if_one_more_run_could_give_it(paper):
    """Ours 0.012 too high with a reach of 0.01: inside by half a digit; 0.016: outside."""
    for shift, inside in ((0.0, True), (0.012, True), (0.016, False)):
        cells = pmv_report.beside_paper(like(paper, shift), paper)
        assert len(cells) == 189
        assert cells["inside"].all() == inside
        assert cells["same"].all() == (shift == 0)


def test_readable_table_holds_ours_and_the_papers(paper):
    """A cell shows our value with its range cut at 0 and 1, and the paper's digits."""
    cells = pmv_report.beside_paper(like(paper, reach=0.02), paper)
    table = pmv_report.readable_table1(cells, "test_accuracy")
    assert table.shape == (21, 6)
    row = table.loc[("moon", "RBF SVM")]
    assert row["noise 0: ours"] == "1.00 (0.98 to 1.00)"
    assert row["noise 0.2: paper"] == "0.98"


def test_boosting_is_compared_with_the_papers_nine_cells(paper):
    """Rows equal to the paper's have distance 0 and nine equal cells; others their shift."""
    ours = pd.concat([like(paper), like(paper, 0.1).assign(boosting="SAMME")])
    table = pmv_report.readable_boosting(ours, paper)
    assert len(table) == 6
    both = table.xs("slope of PMV, absolute", level="measure")
    assert both.loc["SAMME.R", "same digits, of 9"] == 9
    assert both["mean difference from the paper"].tolist() == ["0.000", "0.100"]


def test_settings_are_named_by_what_they_change(paper):
    """The closest, the script and a changed setting have names; a missing model gives a bound."""
    names = list(pmv.TableSetting.__dataclass_fields__)
    settings = [pmv.CLOSEST, pmv.TableSetting(), pmv.TableSetting(**vars(pmv.CLOSEST))]
    tables = []
    for i, setting in enumerate(settings[:2]):
        table = like(paper, 0.1 * i).drop(columns="boosting")
        tables.append(table.assign(**{name: getattr(setting, name) for name in names}))
    changed = tables[0].assign(n_samples=500, tree_depth=np.nan)
    changed = changed[changed["model"] != "Gaussian Process"]
    found = pmv_tables.distances(pd.concat([*tables, changed], ignore_index=True), paper)
    text = pmv_report.readable_distances(found).set_index("setting")
    assert set(text.index) == {
        "as in this chapter",
        "the script as it stands",
        "500 samples, tree depth unlimited",
    }
    assert text.loc["the script as it stands", "distance, 189 cells"] == "0.1000"
    assert text.loc["500 samples, tree depth unlimited", "distance, 189 cells"].startswith(
        "at least"
    )
    assert pmv_report.of_setting(found, pmv.TableSetting())["distance"] == pytest.approx(0.1)


def test_a_distance_over_some_cells_bounds_that_over_all(paper):
    """162 cells that are 0.1 apart: 189 cells are 0.1 × 162 / 189 apart at least."""
    names = list(pmv.TableSetting.__dataclass_fields__)
    table = like(paper, 0.1).drop(columns="boosting")
    table = table.assign(**{name: getattr(pmv.CLOSEST, name) for name in names})
    row = pmv_tables.distances(table[table["model"] != "Gaussian Process"], paper).iloc[0]
    assert row["cells"] == 162
    assert row["distance"] == pytest.approx(0.1)
    assert row["at_least"] == pytest.approx(0.1 * 162 / 189)
    whole = pmv_tables.distances(table, paper).iloc[0]
    assert whole["at_least"] == pytest.approx(whole["distance"])
    assert whole["distance_six"] == pytest.approx(row["distance"])


# --- picks, depths, levels


@pytest.mark.parametrize(("share", "n"), [(0.0, 10), (0.3, 50), (1.0, 200)])
def test_share_interval_is_wilsons(share, n):
    """Scipy's Wilson interval of the same counts."""
    expected = stats.binomtest(round(share * n), n).proportion_ci(method="wilson")
    assert pmv_report.share_interval(share, n) == pytest.approx((expected.low, expected.high))


def test_readable_picks_name_the_models_picked():
    """A rule that always picks one model shows it with 100%, and a rule that ties its ties."""
    rates = pmv_report.pooled_rates(picks_of(pmv.FITTING))
    assert (rates["n"] == 60).all()
    table = pmv_report.readable_picks(rates)
    assert table.loc[("moon", "0", "PMV"), "picked most"] == "RBF SVM 100%"
    assert table.loc[("moon", "0", "PMV"), "right (%)"] == "100 (94 to 100)"
    assert table.loc[("circle", "0.1", "CV accuracy"), "models that tie"] == "7.0"


def test_narrow_undoes_wide():
    """Wide and back gives the accuracies that went in."""
    rows = [(s, r, x, s + r + x) for s in (2, 5) for r in (0, 1) for x in LEVELS]
    long = pd.DataFrame(rows, columns=["size", "repeat", "noise_level", "accuracy"])
    again = pmv_report.narrow(pmv_tables.wide(long))
    pd.testing.assert_frame_equal(again, long.astype(again.dtypes))


def test_two_runs_agree_by_counting_pairs():
    """Depths 2, 2, 3, 5: one pair of six agrees, 17%."""
    depths = pd.concat(
        [
            falls("breast-cancer", {k: 0.9, 9: 0.1}).assign(repeat=i)
            for i, k in enumerate([2, 2, 3, 5])
        ]
    )
    grid = grid_of("breast-cancer", [7, 7, 7, 7])
    picked = pmv_report.picked_depths(depths, grid)
    table = pmv_report.readable_depths(picked, claims()["PMV-6"]["numbers"])
    row = table.loc[("breast-cancer", "PMV")]
    assert row["first five runs"] == "2, 2, 3, 5"
    assert row["two runs agree (%)"] == "17"
    agree = pmv_report.run_agreement(picked)
    assert agree[("breast-cancer", "PMV")] == pytest.approx(100 / 6)
    assert agree[("breast-cancer", "grid search")] == 100
    assert row["paper"] == "2"
    assert table.loc[("breast-cancer", "grid search"), "median (central 95%)"] == "7 (7 to 7)"


def test_straight_lines_agree_with_any_levels():
    """On exact lines two levels pick what all pick, R² is 1 and nothing bends."""
    depths = falls("adult", {1: 0.3, 2: 0.8, 3: 0.5}, n_runs=2)
    found = pmv_report.level_agreement(depths, n_levels=1)
    assert found.loc["adult", ["same", "near", "two runs"]].tolist() == [1, 1, 1]
    fits = pmv_report.straightness(depths)
    assert fits["r_squared"].to_numpy() == pytest.approx(1)
    assert fits["bend"].to_numpy() == pytest.approx(0, abs=1e-12)


# --- the rules


def rule_rows(right, problems=("moon", "breast-cancer")):
    """Make rule results in which every number is known."""
    rows = []
    for problem in problems:
        for rule in (*pmv_comparison.RULES, "any"):
            row = {"problem": problem, "rule": rule, "right": right, "right low": right - 0.1}
            row |= {"right high": right + 0.1, "stable": 0.5, "tied": 1.0, "seconds": 2.0, "n": 20}
            for metric in pmv_comparison.METRICS:
                row |= {f"regret {metric}": 0.04, f"regret {metric} low": 0.03}
                row |= {f"regret {metric} high": 0.05}
            rows.append(row)
    return pd.DataFrame(rows)


def test_overall_averages_independent_problems():
    """Four problems with half width 0.1 have a mean with half width 0.05."""
    rules = rule_rows(0.6, ("moon", "circle", "linear", "clusters 1.0", "breast-cancer"))
    found = pmv_report.overall(rules)
    row = found.loc[("synthetic", "PMV")]
    assert row[["right", "right low", "right high"]].tolist() == pytest.approx([0.6, 0.55, 0.65])
    assert found.loc[("clinical", "PMV"), "right low"] == pytest.approx(0.5)
    text = pmv_report.readable_overall(rules).loc[("clinical", "PVF IE")]
    assert text["accuracy lost (points)"] == "4.0 (3.0 to 5.0)"
    assert text["IE lost"] == "0.04 (0.03 to 0.05)"
    assert text["same again (%)"] == "50"


def test_problems_stand_in_columns():
    """Each problem is a column and each rule a row, in the order of the results."""
    table = pmv_report.readable_problems(rule_rows(0.6))
    assert list(table.columns) == ["moon", "breast-cancer"]
    assert list(table.index) == [*pmv_comparison.RULES, "any"]
    assert set(table.to_numpy().ravel()) == {"60 (50 to 70)"}


def test_agreement_is_overlap_of_intervals():
    """Intervals that touch agree, others don't, and names must match."""
    live = {"a": (1.0, 0.5, 1.5), "b": (1.0, 0.5, 1.5)}
    table = pmv_report.agreement(live, {"a": (2.0, 1.5, 2.5), "b": (3.0, 2.0, 4.0)})
    assert table["agrees"].tolist() == ["yes", "no"]
    with pytest.raises(ValueError, match="same"):
        pmv_report.agreement(live, {"a": (1.0, 0.0, 2.0)})


def test_estimates_have_intervals_by_hand(paper):
    """Depths 2 and 4: mean 3 ± 12.7062; table means; losses in points; network slopes."""
    picked = pd.DataFrame(
        {"dataset": "breast-cancer", "method": "PMV", "run": [0, 1], "depth": [2, 4]}
    )
    found = pmv_report.depth_estimates(picked)["mean depth by PMV"]
    assert found == pytest.approx((3, 3 - 12.7062, 3 + 12.7062), abs=1e-3)
    table = pmv_report.table_estimates(like(paper, reach=0.03), ["RBF SVM"])
    mean = paper[paper["model"] == "RBF SVM"]["slope"].mean()
    assert table["Table 1, mean slope of RBF SVM"] == pytest.approx(
        (mean, mean - 0.01, mean + 0.01)
    )
    lost = pmv_report.rule_estimates(rule_rows(0.6), ["moon"])
    assert lost["moon, PVF F1: accuracy lost (points)"] == pytest.approx((4, 3, 5))
    network = falls("digits 0 and 1", {10: 0.4, 40: 0.6}, n_runs=2)
    slopes = pmv_report.network_estimates(network, sizes=[40])
    assert list(slopes) == ["digits, slope with 40 neurons"]
    assert slopes["digits, slope with 40 neurons"][0] == pytest.approx(0.6)
    rates = pmv_report.pooled_rates(picks_of(pmv.FITTING))
    shares = pmv_report.pick_estimates(rates)
    assert shares["PMV: picks the paper's model (% of data sets)"][0] == pytest.approx(100)
    assert shares["CV accuracy: right (% of data sets)"][0] == pytest.approx(100 / 7)


# --- verdicts


@pytest.mark.parametrize(
    ("shift", "reach", "expected"),
    [(0.0, 0.01, "reproduced"), (0.018, 0.001, "direction only"), (0.3, 0.001, "not reproduced")],
    ids=["same", "near", "far"],
)
def test_verdict_on_cross_validation(paper, shift, reach, expected):
    """All inside; outside but near on average; far off."""
    finding = pmv_report.decide_cross_validation({}, {"pmv_table1": like(paper, shift, reach)})
    assert finding.verdict == expected


def test_verdict_on_slopes_needs_their_order(paper):
    """Shifted slopes keep the model with the largest; turned round they do not."""
    shifted = like(paper, 0.3, 0.001)
    assert pmv_report.decide_slopes({}, {"pmv_table1": shifted}).verdict == "direction only"
    turned = shifted.assign(slope=1 - shifted["slope"])
    assert pmv_report.decide_slopes({}, {"pmv_table1": turned}).verdict == "not reproduced"
    same = pmv_report.decide_slopes({}, {"pmv_table1": like(paper)})
    assert (same.verdict, same.number) == ("reproduced", 100)


def test_verdict_on_picks_follows_the_models_picked():
    """Always the fitting model; only on one of three kinds; never."""
    others = {"moon": "RBF SVM", "circle": "RBF SVM", "linear": "RBF SVM"}
    never = {"moon": "AdaBoost", "circle": "AdaBoost", "linear": "AdaBoost"}
    for wanted, expected in (
        (pmv.FITTING, "reproduced"),
        (others, "direction only"),
        (never, "not reproduced"),
    ):
        finding = pmv_report.decide_picks({}, {"pmv_picks": picks_of(wanted)})
        assert finding.verdict == expected
    assert finding.number == 0


@pytest.mark.parametrize(
    ("slope", "expected"),
    [(-0.004, "reproduced"), (-0.05, "direction only"), (-0.8, "not reproduced")],
)
def test_verdict_on_the_memoriser(slope, expected):
    """A slope that rounds to 0; one below that of a shallow tree; one above."""
    rows = pd.DataFrame(
        {
            "dataset": "adult",
            "learner": ["tree, unlimited", "tree, depth 5"],
            "slope": [slope, -0.6],
            "last": [1.0, 0.7],
        }
    )
    finding = pmv_report.decide_memoriser(claims()["PMV-4"], {"pmv_memorisers": rows})
    assert finding.verdict == expected
    assert "Connect-4 is not here" in finding.says


@pytest.mark.parametrize(
    ("gaps", "expected"),
    [
        ([0.06, 0.07], "reproduced"),
        ([0.07, 0.08], "direction only"),
        ([0.2, 0.3], "not reproduced"),
    ],
    ids=["inside", "near", "far"],
)
def test_verdict_on_gaps(gaps, expected):
    """The printed 0.068 inside the runs' range; near their mean; far off."""
    rows = pd.DataFrame(
        {"dataset": "breast-cancer", "folds": "in order", "run": [0, 1], "gap": gaps}
    )
    finding = pmv_report.decide_tree_gaps(claims()["PMV-5"], {"pmv_tree_gaps": rows})
    assert finding.verdict == expected


def depth_tables(pmv_depths, grid_depths):
    """Make the two tables from the depths that runs pick on the breast data."""
    curves = [
        falls("breast-cancer", {depth: 0.9, 30: 0.1}).assign(repeat=i)
        for i, depth in enumerate(pmv_depths)
    ]
    return {
        "pmv_depths": pd.concat(curves, ignore_index=True),
        "pmv_grid_depths": grid_of("breast-cancer", grid_depths),
    }


@pytest.mark.parametrize(
    ("pmv_depths", "grid_depths", "expected"),
    [
        ([2, 2, 3], [3, 4, 7], "reproduced"),
        ([5, 5, 6], [7, 7, 8], "direction only"),
        ([9, 9, 9], [3, 3, 3], "not reproduced"),
    ],
    ids=["covered", "smaller", "larger"],
)
def test_verdict_on_depths(pmv_depths, grid_depths, expected):
    """2 and 3 among our runs; PMV's depth smaller only; PMV's depth larger."""
    finding = pmv_report.decide_depths(claims()["PMV-6"], depth_tables(pmv_depths, grid_depths))
    assert finding.verdict == expected


@pytest.mark.parametrize(
    ("pmv_depths", "grid_depths", "expected"),
    [
        ([3, 3, 3, 3, 3], [3, 3, 11, 7, 9], "reproduced"),
        ([1, 2, 3, 4, 5], [1, 5, 9, 13, 17], "direction only"),
        ([1, 5, 9, 13, 17], [3, 3, 3, 3, 4], "not reproduced"),
    ],
    ids=["as printed", "steadier", "less steady"],
)
def test_verdict_on_stability(pmv_depths, grid_depths, expected):
    """The printed runs; PMV steadier but not always alike; grid search steadier."""
    tables = depth_tables(pmv_depths, grid_depths)
    assert pmv_report.decide_stability(claims()["PMV-7"], tables).verdict == expected


@pytest.mark.parametrize(
    ("steepest", "expected"),
    [(40, "reproduced"), (100, "direction only"), (10, "not reproduced")],
)
def test_verdict_on_hidden_sizes(steepest, expected):
    """The printed size; another inside the range; an end of the range."""
    slopes = {size: 0.2 + 0.5 * (size == steepest) for size in (10, 30, 40, 50, 100, 800)}
    tables = {"pmv_hidden_sizes": falls("MNIST 0 and 1", slopes)}
    finding = pmv_report.decide_hidden_sizes(claims()["PMV-8"], tables)
    assert (finding.verdict, finding.number) == (expected, steepest)


def test_verdict_on_lines_and_levels():
    """Exact lines are reproduced; strong bends are not; levels that disagree neither."""
    lines = {"pmv_depths": falls("adult", {1: 0.3, 2: 0.8, 9: 0.5}, n_runs=2)}
    bent = {"pmv_depths": falls("adult", {1: 0.3, 2: 0.8, 9: 0.5}, n_runs=2, bend=9)}
    assert pmv_report.decide_linear({}, lines).verdict == "reproduced"
    assert pmv_report.decide_linear({}, bent).verdict == "not reproduced"
    # three levels leave one way to take two, and it is all of them
    assert pmv_report.decide_few_levels({}, lines).verdict == "reproduced"


@pytest.mark.parametrize("claim", IDS)
def test_ledger_entry_is_complete_and_judged(claim):
    """Each claim names its tables, function, tolerance and figure, and gets a verdict."""
    entry = claims()[claim]
    assert entry["chapter"] == "06_pmv_comparison"
    assert entry["tolerance"]
    assert entry["figure"]
    finding = judge(claim)
    assert finding.verdict in VERDICTS
    assert any(character.isdigit() for character in finding.says)


# --- figures, on the committed results


@pytest.mark.parametrize(
    ("draw", "names"),
    [
        ("table1", ["pmv_table1"]),
        ("rates", ["pmv_picks"]),
        ("depths", ["pmv_depths", "pmv_grid_depths"]),
        ("hidden_sizes", ["pmv_hidden_sizes"]),
        ("curves", ["pmv_depths"]),
        ("losses", ["pmv_rules"]),
    ],
)
def test_figures_have_titles_and_labelled_axes(draw, names, paper):
    """The lowest panels name their abscissa, and the first its ordinate or its rows."""
    tables = [read_result(name)[0] for name in names]
    if draw == "table1":
        ours = tables[0][tables[0]["boosting"] == "SAMME.R"]
        tables = [pmv_report.beside_paper(ours, paper)]
    if draw == "rates":
        tables = [pmv_report.pooled_rates(tables[0])]
    figure = getattr(pmv_report, f"figure_of_{draw}")(*tables)
    last_row = [ax for ax in figure.axes if ax.get_subplotspec().is_last_row()]
    assert all(ax.get_xlabel() for ax in last_row)
    first = figure.axes[0]
    assert first.get_ylabel() or len(first.get_yticklabels()) > 1
    assert any(ax.get_title(loc="left") for ax in figure.axes)
    plt.close(figure)
