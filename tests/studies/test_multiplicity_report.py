"""The chapter on Rashomon Capacity: checks of the measure, verdicts and figures."""

import dataclasses
import importlib.util
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

import pvf
from studies.capacity2022 import (
    AUTHORS,
    AWP,
    CHECKS,
    GREEDY,
    LOGISTIC,
    NETWORKS,
    STUDIES,
    checks,
    run,
    show,
)
from studies.data import datasets
from studies.kit.claims import claims, judge, judge_with
from studies.kit.dots import Frames
from studies.kit.study import Run

CLAIMS = [f"RC-{number}" for number in range(1, 11)]


@pytest.fixture(scope="module")
def checked():
    """Check few random sets."""
    return CHECKS.estimate(CHECKS.table(checks.Checks(n_sets=15), n_jobs=1))


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
    assert checks.broken_properties(rows) == [False] * 4
    assert checks.broken_properties(agreeing, n_decisions)[1]
    assert checks.broken_properties(rows, spread)[2]
    assert checks.broken_properties(rows, bits)[:2] == [True, True]
    assert checks.broken_properties(rows, lambda scores: 1 + 1 / len(scores))[3]


def test_nothing_is_broken_and_few_models_carry_all(checked):
    """Definition 1 and Proposition 2 on random sets, for each number of classes and for all."""
    broke = show.at(checked, quantity="sets that break it")
    assert set(broke["classes"]) == {0, 2, 3, 4, 5}
    assert (broke["estimate"] == 0).all()
    size = show.at(checked, quantity="models with a weight, at most", classes=[2, 3, 5, 8])
    assert (size["estimate"] <= size["classes"]).all()
    assert (show.at(checked, quantity="bits lost without the others")["estimate"] < 1e-8).all()


def test_paper_examples_are_the_papers(checked):
    """Equation (7) and the ternary example: capacity in scores by the closed form."""

    def two_classes(a, b):
        # the capacity of a channel with two inputs and two outputs, by a fine grid of weights
        w = np.linspace(0, 1, 100_001)
        h = lambda p: -p * np.log2(p) - (1 - p) * np.log2(1 - p)  # noqa: E731
        return 2 ** (h(w * a + (1 - w) * b) - w * h(a) - (1 - w) * h(b)).max()

    found = show.at(checked, quantity="in scores").set_index("check")["estimate"]
    assert found["equation (7), three models"] == pytest.approx(two_classes(0.45, 0.6), abs=1e-8)
    assert found["equation (7), two models"] == pytest.approx(two_classes(0.85, 0.1), abs=1e-8)
    assert found["section 3.3, three classes"] == pytest.approx(two_classes(0.49, 0.51), abs=1e-8)
    calls = show.at(checked, quantity="in decisions")["estimate"]
    assert calls.tolist() == pytest.approx([2, 2, 2])


# --- verdicts


@pytest.mark.parametrize("claim", CLAIMS)
def test_every_claim_is_judged_by_committed_numbers(claim, monkeypatch):
    """No verdict computes a capacity; a study's name and a label of the chapter are given."""
    for study in STUDIES:
        monkeypatch.setattr(type(study), "table", lambda *_, **__: pytest.fail("computed"))
    monkeypatch.setattr(checks, "rashomon_capacity", lambda *_: pytest.fail("computed"))
    judge.cache_clear()
    found = judge(claim)
    assert found.parts
    assert claims()[claim]["study"] in {study.name for study in STUDIES}


def committed_as(study, table):
    """Return a study whose committed table is another."""
    other = dataclasses.replace(study)
    object.__setattr__(other, "committed", lambda: (table, {}))
    return other


@pytest.mark.parametrize("claim", CLAIMS[:5])
def test_claims_about_the_measure_hold(claim):
    """RC-1 to RC-5 hold on few sets too."""
    few = CHECKS.table(checks.Checks(n_sets=5, seed=3), n_jobs=1)
    assert judge_with(claims()[claim], committed_as(CHECKS, few)).verdict == "reproduced"


@pytest.mark.parametrize("claim", ["RC-6", "RC-7", "RC-8"])
def test_one_condition_decides_the_claims_of_figure_3(claim):
    """Every part with a region is on the authors' networks; what is beside it decides nothing."""
    decisive = [part for part in claims()[claim]["parts"] if "region" in part]
    assert {part["where"]["training"] for part in decisive} == {"authors"}
    beside = [part for part in judge(claim).parts if part.says.startswith("beside")]
    assert all(part.outcome == "" for part in beside)


@pytest.mark.parametrize("claim", ["RC-6", "RC-7", "RC-8"])
def test_missing_data_sets_are_parts(claim):
    """HSLS and CIFAR-10 are untestable here, and the note says so."""
    found = judge(claim)
    gone = [part.says for part in found.parts if part.outcome == "untestable"]
    assert gone == ["HSLS", "CIFAR-10"]
    assert "parts: its file has to be asked for" in found.note


def invented_scores(dataset, split, n_models=9, n_persons=40, n_searched=8):
    """Invent what the blocks of the authors' condition return, in a split of a data set."""
    rng = np.random.default_rng([split, len(dataset)])
    y, centre = rng.integers(0, 2, n_persons), rng.uniform(0.3, 0.7, n_persons)
    frames = []
    for model in range(n_models):
        score = np.clip(centre + rng.normal(0, 0.1, n_persons), 0.01, 0.99)
        names = {"way": "seeds", "model": model, "epsilon": np.nan, "seconds": 2.0}
        frames.append(pd.DataFrame({**names, "low": score, "high": score, "y": y}))
    names = {"way": "AWP", "model": 0, "epsilon": np.nan, "seconds": 2.0}
    frames.append(pd.DataFrame({**names, "low": centre, "high": centre, "y": y}))
    for epsilon in run.EPSILONS:
        names = {"way": "AWP", "model": 0, "epsilon": epsilon, "seconds": 3.0}
        low, high = centre[:n_searched] - 3 * epsilon, centre[:n_searched] + 2 * epsilon
        frames.append(pd.DataFrame({**names, "low": low, "high": high, "y": y[:n_searched]}))
    return pd.concat(frames).assign(dataset=dataset, repetition=split)


def test_authors_condition_by_hand():
    """Set, tail, time and lead of one split, from the scores of each person and model."""
    rows = pd.concat(invented_scores(dataset, r) for dataset in ("adult", "compas") for r in (0, 1))
    table = AUTHORS.summarise(rows)
    one = rows[(rows["dataset"] == "compas") & (rows["repetition"] == 1)]
    scores = one[one["way"] == "seeds"].pivot_table(
        index="model", columns=one[one["way"] == "seeds"].groupby("model").cumcount(), values="low"
    )
    y = one["y"].to_numpy()[:40]
    losses = [log_loss(y, row) for row in scores.to_numpy()]
    tails = {}
    for n in (9, 3):
        near = [i for i in range(n) if losses[i] <= min(losses[:n]) + 0.05]
        tails[n] = pvf.rashomon_capacity(scores.to_numpy()[near][:, :8]).max()  # 5% of eight: one
    found = table.query("dataset == 'compas' and repetition == 1 and epsilon == 0.05")
    found = found.set_index("way")
    assert found.loc["seeds, some samples", "tail5"] == pytest.approx(tails[9], abs=1e-5)
    assert found.loc["third of seeds, some samples", "tail5"] == pytest.approx(tails[3], abs=1e-5)
    searched = one[one["epsilon"] == 0.05][["low", "high"]].to_numpy().T
    assert found.loc["AWP", "tail5"] == pytest.approx(
        pvf.rashomon_capacity(searched).max(), abs=1e-5
    )
    estimates = AUTHORS.estimate(table[table["repetition"] == 1])
    estimates = show.at(estimates, dataset="compas", epsilon=0.05).set_index("quantity")["estimate"]
    hundred = np.polyval(np.polyfit(np.log([3, 9]), [tails[3], tails[9]], 1), np.log(100))
    assert estimates["lead"] == pytest.approx(found.loc["AWP", "tail5"] - hundred, abs=1e-4)
    assert estimates["seconds_whole"] == pytest.approx(3.0 * 40 / 8)
    assert estimates["slower"] == pytest.approx(3.0 * 40 / 8 - 100 * 2.0)


def test_authors_figure_has_the_papers_crosses():
    """Four series of ours in a panel, and as many crosses as Fig. 3 has points."""
    rows = pd.concat(invented_scores(dataset, r) for dataset in ("adult", "compas") for r in (0, 1))
    estimates = AUTHORS.estimate(AUTHORS.summarise(rows))
    figure = AUTHORS.figures["fig-rashomon-authors"](Frames(estimates))
    for ax in figure.axes[:2]:
        assert len(ax.containers) == 4
        crosses = [line for line in ax.get_lines() if line.get_marker() == "x"]
        assert sum(len(line.get_xdata()) for line in crosses) == 16


def greedy_table(same, other, distance):
    """Invent what ten of 163 networks keep, in three splits."""
    rows = [
        {"training": training, "repetition": r, "start": 0, "rule": "greedy", "judged": judged}
        | {"size": 10, "share": share + 0.001 * r, "share_tail": share}
        | {"distance": distance + 0.001 * r, "set_size": 163}
        for training in ("standardised", "unscaled")
        for r in range(3)
        for judged, share in (("same samples", same), ("other samples", other))
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("numbers", "label"),
    [
        ((0.95, 0.3, 0.05), "reproduced"),
        ((0.95, 0.95, 0.3), "in part"),
        ((0.5, 0.95, 0.3), "not reproduced"),
    ],
    ids=["other samples decide nothing", "distance", "share"],
)
def test_greedy_subset_is_judged_where_it_was_chosen(numbers, label):
    """RC-9: share and distance on the same samples count, those on others stand beside."""
    found = judge_with(claims()["RC-9"], committed_as(GREEDY, greedy_table(*numbers)))
    assert found.verdict == label
    assert found.number == pytest.approx(100 * numbers[0], abs=0.2)


# --- what the chapter draws


def committed_run(study, **changed):
    """Return a run that found the committed table, or a part of it."""
    table, facts = study.committed()
    own = table
    for key, value in changed.items():
        own = own[own[key] == value]
    return Run(study, study.settings(), own, table, facts)


def test_figures_draw_the_run_before_the_reference():
    """One split as points without intervals, the committed mean pale behind it."""
    networks, awp = (committed_run(study, repetition=0) for study in (NETWORKS, AWP))
    figure = awp.figure("fig-rashomon-tails", beside=[networks])
    drawn = figure.axes[1].containers
    assert len(drawn) == 8
    rows = awp.committed.query("dataset == 'compas' and training == 'standardised'")
    pale = [line for line in figure.axes[1].get_lines() if line.get_alpha() == 0.35]
    expected = rows.groupby("epsilon")["tail1"].mean().tolist()
    assert any(list(line.get_ydata()) == pytest.approx(expected) for line in pale)
    own = rows[rows["repetition"] == 0]["tail1"].tolist()
    bold = [line for line in figure.axes[1].get_lines() if line.get_alpha() == 1]
    assert any(list(line.get_ydata()) == pytest.approx(own) for line in bold)
    assert all(ax.has_data() for ax in awp.figure("fig-rashomon-curves", beside=[networks]).axes)
    assert len(networks.figure("fig-rashomon-epochs").axes[0].containers) == 4
    greedy = committed_run(GREEDY, repetition=0)
    assert len(greedy.figure("fig-bridge-greedy").axes[0].containers) == 6
    assert len(CHECKS.figures["fig-rashomon-simplex"]().axes) == 3


def mean_on_compas(estimates, ways):
    """Return the mean capacity above 1 that ways have on COMPAS at ε = 0.05."""
    where = {"dataset": "compas", "training": "standardised", "epsilon": 0.05, "quantity": "mean"}
    found = show.at(show.trained(estimates), **where).set_index("way")["estimate"]
    return pytest.approx((found[ways] - 1).tolist())


def test_remedies_stand_below_what_they_are_compared_with():
    """A row has its estimate, pale ones the committed, also where a run has fewer networks."""
    networks = committed_run(NETWORKS, repetition=0)
    ways = ["50 alone", "ensembles of 2", "20 alone", "ensembles of 5", "10 alone"]
    ways += ["ensembles of 10", "as trained", "Platt", "isotonic"]
    axes = networks.figure("fig-rashomon-remedies").axes
    rows = [label.get_text() for label in axes[0].get_yticklabels()]
    assert rows[:6:2] == ["single, for 2", "single, for 5", "single, for 10"]
    assert rows[1:6:2] + rows[6:] == ways[1:6:2] + ways[6:]
    for frame, alpha in ((networks.estimates, 1), (networks.reference, 0.35)):
        drawn = [line for line in axes[1].lines if line.get_alpha() == alpha]
        assert any(list(line.get_xdata()) == mean_on_compas(frame, ways) for line in drawn)
    fewer = networks.estimates.replace({"way": {"50 alone": "5 alone", "20 alone": "2 alone"}})
    fewer = fewer[fewer["way"] != "10 alone"]
    line = NETWORKS.figures["fig-rashomon-remedies"](Frames(fewer)).axes[1].lines[0]
    ways = ["5 alone", "ensembles of 2", "2 alone", "ensembles of 5"]
    assert list(line.get_xdata()[:4]) == mean_on_compas(fewer, ways)


@pytest.mark.parametrize(
    ("study", "label", "quantity", "where"),
    [
        (AUTHORS, "fig-rashomon-leads", "lead", {}),
        (LOGISTIC, "fig-rashomon-penalties", "mean", {"way": "exact", "epsilon": 0.01}),
    ],
    ids=["leads", "penalties"],
)
def test_lines_are_the_runs_estimates(study, label, quantity, where):
    """The left panel has a line for Adult and one for COMPAS, in the order of the axis."""
    run = committed_run(study, repetition=0)
    lines = [line for line in run.figure(label).axes[0].lines if line.get_alpha() == 1]
    for dataset in ("adult", "compas"):
        rows = show.at(run.estimates, quantity=quantity, dataset=dataset, **where)
        rows = rows.sort_values("penalty" if study is LOGISTIC else "epsilon")
        assert any(list(line.get_ydata()) == rows["estimate"].tolist() for line in lines)


def test_decisions_are_of_the_last_epoch():
    """Each share has one point for each ε; discrepancy is of sampling alone."""
    networks, awp = (committed_run(study, repetition=0) for study in (NETWORKS, AWP))
    figure = awp.figure("fig-rashomon-decisions", beside=[networks])
    lines = [line for line in figure.axes[1].lines if line.get_alpha() == 1]
    assert [len(line.get_xdata()) for line in lines] == [4] * 5


def test_without_pytorch_awp_shows_the_committed_results(monkeypatch):
    """The run says why it is not live, and other ways are drawn all the same."""
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *_: None if name == "torch" else found(name)
    )
    run = AWP.run(n_jobs=1)
    assert run.table is None
    assert "PyTorch is not installed here" in run.says()
    assert run.figure("fig-rashomon-tails", beside=[committed_run(NETWORKS)]).axes


def test_chapter_names_loaders_of_missing_data_that_exist():
    """The two data sets that are not to be had have loaders, which the chapter names."""
    path = Path(__file__).parents[2] / "notebooks" / "07_rashomon_capacity.py"
    named = re.findall(r"`studies\.data\.datasets\.(\w+)\(\)`", path.read_text(encoding="utf-8"))
    assert named == ["load_hsls", "load_cifar10"]
    assert all(callable(getattr(datasets, name)) for name in named)
