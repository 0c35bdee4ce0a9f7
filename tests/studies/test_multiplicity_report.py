"""Tables, figures and verdicts of the chapter on Rashomon Capacity, on invented results."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pvf
from studies.capacity2022 import run as multiplicity
from studies.capacity2022 import show as report
from studies.data import datasets
from studies.data.datasets import DataUnavailableError
from studies.kit.claims import VERDICTS, claims
from studies.kit.results import read_result

EPSILONS = multiplicity.EPSILONS


def row(key, *, mean, noise, tail=None, **changed):
    """One row of results whose capacity is ``mean``, a little noise added."""
    tail = mean if tail is None else tail
    quantiles = {f"q{q}": mean + noise for q in multiplicity.QUANTILES}
    found = {
        "n_models": 100,
        "n_samples": 150,
        "accuracy": 0.8,
        "calibration_error": 0.02,
        "loss": 0.5,
        "mean": mean + noise,
        "tail1": tail + noise,
        "tail5": tail + noise,
        "above": 0.4 + noise,
        "ambiguity": 0.1 + noise,
        "discrepancy": 0.05,
        "n_trained": 100,
        "seconds": 10.0,
        **quantiles,
    }
    return {**key, **found, **changed}


def results(cells, *, n_repetitions=5, spread=0.001, seed=0):
    """Rows for every data set and repetition, from ``(key, numbers)`` pairs."""
    rng = np.random.default_rng(seed)
    rows = []
    for dataset in ("adult", "compas"):
        for key, numbers in cells:
            for repetition in range(n_repetitions):
                full = {"dataset": dataset, "repetition": repetition, **key}
                rows.append(row(full, noise=rng.normal(0, spread), **numbers))
    return pd.DataFrame(rows)


def invented_networks(*, growth=0.0, ensembles=1.002, isotonic=1.04):
    cells = []
    for i, epsilon in enumerate(EPSILONS):
        for training in ("standardised", "unscaled"):
            key = {"training": training, "epochs": 10, "epsilon": epsilon}
            numbers = {"mean": 1.02 + growth * i}
            cells.append(({**key, "way": "seeds"}, {**numbers, "n_samples": 1500}))
            if training == "standardised":
                cells.append(({**key, "way": "seeds, some samples"}, numbers))
                ways = {
                    "20 alone": 1.02,
                    "ensembles of 5": ensembles,
                    "as trained": 1.02,
                    "Platt": 1.02,
                    "isotonic": isotonic,
                }
                cells += [({**key, "way": way}, {"mean": mean}) for way, mean in ways.items()]
    cells += [
        (
            {"training": training, "epochs": epochs, "epsilon": EPSILONS[0], "way": "seeds"},
            {"mean": 1.05, "loss": 0.6},
        )
        for training in ("slow", "standardised")
        for epochs in (1, 5)
    ]
    return results(cells)


def invented_awp(*, base=1.3, growth=0.1, seconds=20.0, **changed):
    cells = [
        (
            {"training": training, "epsilon": epsilon, "way": "AWP"},
            {"mean": base + growth * i, "seconds": seconds, "n_trained": 1, **changed},
        )
        for i, epsilon in enumerate(EPSILONS)
        for training in ("standardised", "paper")
    ]
    return results(cells)


def invented_logistic(*, strong=1.05):
    cells = []
    for way, mean in zip(multiplicity.WAYS, (1.001, 1.002, 1.2, 1.4), strict=True):
        for penalty in (1e-4, 1.0):
            key = {"penalty": penalty, "way": way, "epsilon": 0.01}
            value = strong if penalty < 1 else mean
            cells.append((key, {"mean": value, "n_trained": 1 if mean > 1.1 else 100}))
    return results(cells)


def invented_greedy(share=0.95, distance=0.05):
    rng = np.random.default_rng(0)
    rows = [
        {
            "training": training,
            "repetition": repetition,
            "start": start,
            "rule": rule,
            "judged": judged,
            "size": size,
            "share": share * min(size / 10, 1) + rng.normal(0, 0.001),
            "share_tail": share,
            "distance": distance,
            "set_size": 163,
        }
        for training in ("standardised", "unscaled")
        for repetition in range(3)
        for start in (0, 4)
        for rule in ("greedy", "random")
        for judged in ("same samples", "other samples")
        for size in (1, 5, 10)
    ]
    return pd.DataFrame(rows)


# --- means


def test_means_are_those_of_scipy():
    """Mean, standard error and t interval of each group."""
    values = np.random.default_rng(0).normal(size=(2, 6))
    table = pd.DataFrame(
        {"repetition": np.tile(range(6), 2), "way": ["a"] * 6 + ["b"] * 6, "x": values.ravel()}
    )
    found = report.means(table, ["way"], ["x"]).set_index("way")
    for way, sample in zip("ab", values, strict=True):
        interval = stats.t.interval(0.95, 5, loc=sample.mean(), scale=stats.sem(sample))
        expected = [sample.mean(), stats.sem(sample), *interval]
        assert found.loc[way].tolist() == pytest.approx(expected)


def test_means_refuse_a_repetition_twice():
    """A key that leaves something out is an error, not an average over it."""
    table = pd.DataFrame({"repetition": [0, 0], "way": ["a", "a"], "x": [1.0, 2.0]})
    with pytest.raises(ValueError, match="single repetitions"):
        report.means(table, ["way"], ["x"])


# --- Definition 1


def test_wrong_metrics_break_the_properties():
    """The check finds what it looks for: each wrong metric breaks the property that it should."""
    rows = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])

    def n_decisions(scores):
        return len(set(scores.argmax(axis=1)))

    def spread(scores):
        return 1 + np.ptp(scores, axis=0).mean()

    def bits(scores):
        return np.log2(pvf.rashomon_capacity(scores[:, None])[0])

    agreeing = np.array([[0.7, 0.2, 0.1], [0.9, 0.05, 0.05]])
    assert report.broken_properties(rows) == [False] * 4
    assert report.broken_properties(agreeing, n_decisions)[1]
    assert report.broken_properties(rows, spread)[2]
    assert report.broken_properties(rows, bits)[:2] == [True, True]
    assert report.broken_properties(rows, lambda scores: 1 + 1 / len(scores))[3]


def test_definition_is_checked_on_as_many_sets_as_asked():
    """Every property on every set, none broken."""
    checked = report.check_definition(40)
    assert (checked["checked"] >= 40).all()
    assert (checked["broke"] == 0).all()


def test_support_is_at_most_the_number_of_classes():
    """Proposition 2, with nothing lost."""
    found = report.check_support(20)
    assert (found["largest_support"] <= found["classes"]).all()
    assert (found["loss"] < 1e-8).all()


def test_paper_examples_are_the_papers():
    """Equation (7) and the ternary example: capacity in scores by the closed form."""
    table = report.paper_examples().set_index("example")

    def two_classes(a, b):
        # the capacity of a channel with two inputs and two outputs, by a fine grid of weights
        w = np.linspace(0, 1, 100_001)
        h = lambda p: -p * np.log2(p) - (1 - p) * np.log2(1 - p)  # noqa: E731
        return 2 ** (h(w * a + (1 - w) * b) - w * h(a) - (1 - w) * h(b)).max()

    found = table["scores"]
    assert found["equation (7), three models"] == pytest.approx(two_classes(0.45, 0.6), abs=1e-8)
    assert found["equation (7), two models"] == pytest.approx(two_classes(0.85, 0.1), abs=1e-8)
    assert found["section 3.3, three classes"] == pytest.approx(two_classes(0.49, 0.51), abs=1e-8)
    assert table["decisions"].tolist() == pytest.approx([2, 2, 2])


# --- verdicts


@pytest.mark.parametrize("claim", report.CLAIMS[:5])
def test_claims_about_the_measure_hold(claim):
    """RC-1 to RC-5 need no data and are decided by computing."""
    entry = claims()[claim]
    name = entry["decide"].removeprefix("studies.capacity2022.show.")
    found = getattr(report, name)(entry, {})
    assert found.verdict == "reproduced"


@pytest.mark.parametrize("claim", report.CLAIMS)
def test_ledger_names_what_is_there(claim):
    """Each claim names a function of the report, and says what counts."""
    entry = claims()[claim]
    assert entry["chapter"] == "07_rashomon_capacity"
    assert entry["decide"].rsplit(".", 1)[1] in report.__all__
    assert entry["tolerance"]
    assert entry["statement"].endswith(".")


def decided(claim, **tables):
    entry = claims()[claim]
    name = entry["decide"].rsplit(".", 1)[1]
    given = {f"capacity_{key}": table for key, table in tables.items()}
    assert set(entry["tables"]) <= set(given)
    found = getattr(report, name)(entry, given)
    assert found.verdict in VERDICTS
    return found


@pytest.mark.parametrize(
    ("sampling", "awp", "expected"),
    [
        (0.02, 0.1, "reproduced"),
        (0.0, 0.1, "direction only"),
        (0.02, 0.0, "not reproduced"),
        (0.02, -0.1, "not reproduced"),
    ],
    ids=str,
)
def test_growth(sampling, awp, expected):
    """RC-6: both have to grow; AWP alone is the direction."""
    found = decided(
        "RC-6", networks=invented_networks(growth=sampling), awp=invented_awp(growth=awp)
    )
    assert found.verdict == expected
    assert f"{3 * awp:+.1f}" in found.says


@pytest.mark.parametrize(
    ("base", "seconds", "expected"),
    [(1.3, 0.5, "reproduced"), (1.3, 20.0, "direction only"), (1.0, 0.5, "not reproduced")],
    ids=["more and cheaper", "more", "less"],
)
def test_awp_against_sampling(base, seconds, expected):
    """RC-7: more capacity, and less time for the whole test part of 1,500 persons."""
    awp = invented_awp(base=base, growth=0.0, seconds=seconds)
    found = decided("RC-7", networks=invented_networks(), awp=awp)
    assert found.verdict == expected
    assert f"about {10 * seconds:.0f} s for all 1,500 persons" in found.says


@pytest.mark.parametrize(
    ("above", "expected"),
    [(0.5, "reproduced"), (0.03, "direction only"), (0.0, "not reproduced")],
    ids=str,
)
def test_share_above_one(above, expected):
    """RC-8: more than 5% of persons on each data set; what is not tested is said."""
    awp = invented_awp(above=above)
    found = decided("RC-8", awp=awp)
    assert found.verdict == expected
    assert found.number == pytest.approx(100 * above)
    assert "HSLS and CIFAR-10 could not be tested" in found.says


@pytest.mark.parametrize(
    ("share", "distance", "expected"),
    [
        (0.95, 0.05, "reproduced"),
        (0.95, 0.3, "direction only"),
        (0.7, 0.05, "direction only"),
        (0.3, 0.5, "not reproduced"),
    ],
    ids=str,
)
def test_greedy_subset(share, distance, expected):
    """RC-9: both the share and the distribution count, on other persons."""
    found = decided("RC-9", greedy=invented_greedy(share, distance))
    assert found.verdict == expected
    assert found.number == pytest.approx(100 * share, abs=0.2)
    assert found.low < found.number < found.high


@pytest.mark.parametrize(
    ("changed", "strong", "expected"),
    [
        ({}, 1.05, "reproduced"),
        ({"isotonic": 1.01}, 1.05, "direction only"),
        ({"ensembles": 1.05}, 1.05, "not reproduced"),
        ({}, 1.6, "not reproduced"),
    ],
    ids=["all", "calibration lowers", "ensembles raise", "penalty raises"],
)
def test_remedies(changed, strong, expected):
    """RC-10: each of its three parts counts."""
    networks, logistic = invented_networks(**changed), invented_logistic(strong=strong)
    assert decided("RC-10", networks=networks, logistic=logistic).verdict == expected


# --- tables and figures


def test_logistic_table_gives_shares_of_the_possible():
    """What a way finds above 1, as a share of the exact optimum's."""
    table = report.readable_logistic(invented_logistic())
    share = table["of the possible (%)"].astype(float)
    assert share["COMPAS", "exact optimum"] == 100
    assert share["COMPAS", "AWP, gradient steps"] == pytest.approx(50, abs=1)
    assert table.loc[("Adult", "AWP, gradient steps"), "models trained"] == "1"


def test_tables_show_every_way():
    """No way or data set is lost on the way to the page."""
    networks, awp = invented_networks(), invented_awp(discrepancy=float("nan"))
    assert len(report.readable_networks(networks, awp)) == 4
    both = report.readable_decisions(networks, awp)
    assert len(both) == 2 * 2 * len(EPSILONS)
    of_awp = both[both.index.get_level_values("way") == "AWP"]
    assert (of_awp["decisions: discrepancy (%)"] == "–").all()
    trained = report.readable_trainings(networks, awp)
    assert len(trained) == 8
    assert trained.loc[("Adult", "two layers, unscaled", "sampling"), "within ε"] == "100 of 100"
    assert len(report.readable_remedies(networks)) == 2 * 5
    assert len(report.readable_penalties(invented_logistic())) == 2 * 2


def test_known_truth_is_bounded_by_the_exact_optimum():
    """Sampling finds the least, AWP most of it, the optimum all."""
    table = report.known_truth(n_models=5, epsilons=[0.01])
    mean = table.set_index("way")["mean"]
    assert 1 <= mean["seeds"] < mean["resamples"] < mean["AWP"] < mean["exact"]


def lines(axes):
    return {line.get_label(): line for line in axes.get_lines() if line.get_label()[0] != "_"}


def test_tails_are_drawn_where_the_table_says():
    """Each point of the figure is a mean over splits."""
    networks, awp = invented_networks(), invented_awp()
    figure = report.figure_of_tails(networks, awp)
    container = figure.axes[1].containers[2]
    assert container.get_label() == "AWP, top 1%"
    rows = awp[(awp["dataset"] == "compas") & (awp["training"] == "standardised")]
    expected = rows.groupby("epsilon")["tail1"].mean().tolist()
    assert container.lines[0].get_ydata().tolist() == pytest.approx(expected)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Adult", "COMPAS"]


def test_other_figures_are_drawn_from_their_tables():
    """Curves, epochs, costs, subsets and the simplex: labels and numbers of lines."""
    networks, awp, logistic = invented_networks(), invented_awp(), invented_logistic()
    curves = report.figure_of_curves(networks, awp)
    assert len(lines(curves.axes[0])) == len(EPSILONS) + 1
    epochs = report.figure_of_epochs(networks)
    assert len(epochs.axes[1].containers) == 2
    costs = report.figure_of_costs(logistic, networks, awp)
    assert len(costs.axes[0].containers) == 6
    exact = costs.axes[0].containers[3].lines[0].get_ydata()
    assert exact == pytest.approx([0.4], abs=0.005)
    greedy = report.figure_of_greedy(invented_greedy())
    first = lines(greedy.axes[0])["greedy, on other persons"]
    assert first.get_xdata().tolist() == [1, 5, 10]
    np.testing.assert_allclose(first.get_ydata(), [0.095, 0.475, 0.95], atol=0.01)
    simplex = report.figure_of_simplex()
    values = [float(re.findall(r"[\d.]+", axes.get_title())[-1]) for axes in simplex.axes]
    assert values[0] < 1.01 < values[1] < 2
    assert values[2] == pytest.approx(3, abs=1e-3)
    for figure in (curves, epochs, costs, greedy):
        assert all(axes.get_xlabel() for axes in figure.axes)
    plt.close("all")


def test_page_says_where_the_live_part_did_not_run(monkeypatch):
    """Without the data the page says so, and what to do; other errors are not hidden."""

    def absent(dataset, **_):
        raise DataUnavailableError("put compas-scores-two-years.csv here")

    monkeypatch.setattr(multiplicity, "paper_data", absent)
    said = report.live_networks(invented_networks(), n_models=2, n_repetitions=1, seed=0)
    assert "did not run" in said
    assert "compas-scores-two-years.csv" in said

    def broken(dataset, **_):
        raise ValueError("another file")

    monkeypatch.setattr(multiplicity, "paper_data", broken)
    with pytest.raises(ValueError, match="another file"):
        report.live_networks(invented_networks(), n_models=2, n_repetitions=1, seed=0)


def test_provenance_of_the_tables_is_shown():
    """One row a table, with the commit of its JSON file, and PyTorch where it was used."""
    shown = report.readable_provenances(["capacity_networks", "capacity_awp"])
    facts = read_result("capacity_awp")[1]
    assert facts["git"]["commit"].startswith(shown.loc["capacity_awp", "commit"])
    assert shown["PyTorch"].tolist() == ["–", facts["packages"]["torch"]]


def test_missing_data_names_loaders_that_exist():
    """The two data sets that are not to be had have loaders."""
    table = report.missing_data()
    assert table.index.tolist() == ["HSLS:09", "CIFAR-10"]
    for call in table["loader"]:
        assert callable(getattr(datasets, call.removeprefix("studies.data.datasets.").rstrip("()")))
