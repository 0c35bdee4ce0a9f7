"""The study of rules: its pools, cohorts, outcomes and questions, against independent twins."""

import itertools
import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

from pvf import intervention_efficiency
from studies.data.datasets import Dataset
from studies.kit.estimates import holm, t_interval
from studies.rules import RULES_STUDY, pools, power, questions, run


def made_up(n: int = 400, seed: int = 0, share: float = 0.3) -> Dataset:
    """Make a table of three numbers and two categories, of which some carry the outcome."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(2, 5, n),
            "c": rng.integers(5, size=n).astype(float),
            "ward": pd.Categorical(rng.choice(["east", "north", "south"], n)),
            "sex": pd.Categorical(rng.choice(["f", "m"], n)),
        }
    )
    score = X["a"] + (X["ward"] == "north") - 0.2 * X["b"] + rng.normal(size=n)
    y = (score > np.quantile(score, 1 - share)).astype("int64").rename("ill")
    kinds = dict.fromkeys("abc", "numeric") | {"ward": "nominal", "sex": "ordinal"}
    told = {"description": "", "licence": "", "citation": "", "source": "", "checksums": {}}
    return Dataset("made up", X, y, kinds, dict.fromkeys(X, ""), **told)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def table() -> pools.Coded:
    """Code the made-up table."""
    return pools.coded(made_up())


def key(*numbers: int) -> np.random.SeedSequence:
    """Make a seed."""
    return np.random.SeedSequence(0, spawn_key=numbers)


def test_many_logistic_regressions_are_scikit_learns() -> None:
    """Newton's method finds what lbfgs finds, with the same penalty."""
    rng = np.random.default_rng(0)
    design = rng.normal(size=(5, 80, 3))
    y = rng.random(80) < 1 / (1 + np.exp(-design[0, :, 0]))
    coefficients, intercepts = pools.fit_logistic(design, y)
    for X, beta, intercept in zip(design, coefficients, intercepts, strict=True):
        model = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X, y)
        assert beta == pytest.approx(model.coef_[0], abs=1e-5)
        assert intercept == pytest.approx(model.intercept_[0], abs=1e-5)


def test_the_logistic_pool_encodes_and_scales_by_its_own_rows(table: pools.Coded) -> None:
    """Its probabilities are those of a pipeline on the same columns, one a level."""
    pool = pools.LogisticPool(table, 20, key(1))
    rows = slice(0, 80)
    fitted = pool.fit(table.X[rows], table.y[rows], key(2))
    found = pool.probability(fitted, table.X)
    for subset, mine in zip(pool.subsets, found, strict=True):
        blocks = []
        for place in subset:
            column = table.X[:, place]
            if place in table.categories:
                blocks.extend(
                    (column == level).astype(float) for level in range(int(column.max()) + 1)
                )
            else:
                train = column[rows]
                blocks.append((column - train.mean()) / train.std())
        X = np.column_stack(blocks)
        model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(X[rows], table.y[rows])
        assert mine == pytest.approx(model.predict_proba(X)[:, 1], abs=1e-5)


@pytest.mark.parametrize("name", ["trees", "logistic", "mixed"])
def test_flag_probabilities_are_those_of_perturbed_people(table: pools.Coded, name: str) -> None:
    """Noise on scaled numbers, flips of nominal and shifts of ordinal columns, drawn literally."""
    pool = pools.make_pool(name, table, 12, key(1))
    train, people = table.X[:90], table.X[300:306]
    fitted = pool.fit(train, table.y[:90], key(2))
    found = pool.flag_probability(fitted, people, 0.3, key(3))
    rng, n_draws = np.random.default_rng(5), 4000
    stacked = np.repeat(people[None], n_draws, axis=0)
    for place in range(3):
        spread = train[:, place].std()
        stacked[:, :, place] += 0.3 * spread * rng.normal(size=stacked.shape[:2])
    for place, n_levels in ((3, 3), (4, 2)):  # two levels of an order shift as they flip
        changed = rng.random(stacked.shape[:2]) < 0.1
        step = rng.integers(1, n_levels, stacked.shape[:2])
        moved = (stacked[:, :, place] + step) % n_levels
        stacked[:, :, place] = np.where(changed, moved, stacked[:, :, place])
    flags = pool.probability(fitted, stacked.reshape(-1, 5)) > 0.5
    drawn = flags.reshape(len(found), n_draws, -1).mean(axis=1)
    assert np.abs(found - drawn).max() < (0.035 if name != "mixed" else 0.2)
    assert np.abs(found - drawn).mean() < (0.006 if name != "mixed" else 0.03)


def test_a_tree_knows_its_out_of_bag_rows(table: pools.Coded) -> None:
    """Each sees 70% of the training rows; a tree of the rows it saw fits them best."""
    pool = pools.TreePool(table, 30)
    fitted = pool.fit(table.X[:90], table.y[:90], key(1))
    seen = pool.trained_on(fitted)
    assert (seen.sum(axis=1) == 63).all()
    right = (pool.probability(fitted, table.X[:90]) > 0.5) == table.y[:90]
    assert right[seen].mean() > right[~seen].mean() + 0.05


def test_a_pool_holds_different_subsets_of_at_most_four_columns() -> None:
    """Few columns give all subsets, many give seeded ones."""
    rng = np.random.default_rng(0)
    few = pools._subsets(3, 100, rng)
    assert len(few) == 7
    many = pools._subsets(30, 100, rng)
    assert len(set(many)) == 100
    assert {len(one) for one in many} == {1, 2, 3, 4}


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_cohorts_hold_six_cases_and_split_four_to_one(share: float) -> None:
    """Also where cases are so rare that few draws have six; nobody is in two parts."""
    y = np.arange(1000) < 1000 * share
    for number in range(20):
        train, validation, rest = run.draw_cohort(y, 60, key(number))
        assert (len(train), len(validation)) == (48, 12)
        assert sorted(np.concatenate([train, validation, rest])) == list(range(1000))
        assert y[train].sum() + y[validation].sum() >= 6
        assert y[validation].any()
        assert y[rest].any()


def test_the_number_of_cases_is_that_of_draws_until_six() -> None:
    """Cohorts drawn literally, those with fewer than six cases thrown away."""
    y = np.arange(500) < 40
    rng = np.random.default_rng(0)
    literal = [y[rng.permutation(500)[:60]].sum() for _ in range(4000)]
    found = [500 * 0 + 40 - y[run.draw_cohort(y, 60, key(i))[2]].sum() for i in range(400)]
    kept = [count for count in literal if count >= 6]
    assert stats.ks_2samp(found, kept).pvalue > 0.001


def test_outcomes_by_labels_and_by_rank() -> None:
    """By labels the library's; by rank the mean over all orders of equal probabilities."""
    rng = np.random.default_rng(0)
    y = np.array([1, 0, 0, 1, 0, 0, 0], dtype=bool)
    probability = rng.choice([0.2, 0.6, 0.8], (5, 7))
    found = run.outside(probability, y)
    for q, p in enumerate(probability):
        flagged = p > 0.5
        if flagged.any() and not flagged.all():
            precision, recall = y[flagged].mean(), flagged[y].mean()
            expected = intervention_efficiency(precision, recall, y.mean(), 0.3)
            assert found["IE@0.3"][q] == pytest.approx(float(expected))
        for gamma in (0.3, 0.5):  # 2.1 and 3.5 places: the part of a place counts in part
            reached = []
            for order in itertools.permutations(range(7)):
                ranked = sorted(order, key=lambda one: -p[one])
                weight = np.clip(gamma * 7 - np.arange(7), 0, 1)
                reached.append(weight @ y[ranked])
            expected = np.mean(reached) / (gamma * 7 * y.mean())
            assert found[f"IE by rank@{gamma}"][q] == pytest.approx(expected)


def test_shares_place_chance_at_0_and_the_best_at_1(table: pools.Coded) -> None:
    """No rule is above the best; rules that a pool does not take are missing."""
    settings = run.RulesSettings(n_candidates=10)
    rows = run.cohort_rows(table, "made up", 60, "trees", range(2), settings)
    shares = rows[rows["outcome"].isin(list(run.OUTCOMES))].dropna(subset=["random"])
    assert (shares["random"] == 0).all()
    assert shares["best"].to_numpy() == pytest.approx(1)
    rules = [name for name in run.RULES if shares[name].notna().any()]
    assert (shares[rules] <= 1 + 1e-9).all(axis=None)
    assert shares[["cv", "pvf_cv", "pmv"]].isna().all(axis=None)
    reached = rows[rows["outcome"].str.startswith("reached")]
    assert (reached["best"] >= reached["random"]).all()


@pytest.mark.parametrize("pool", ["logistic", "mixed"])
def test_pools_without_bags_take_cross_validation(table: pools.Coded, pool: str) -> None:
    """And no out-of-bag rule; PMV at the middle size."""
    settings = run.RulesSettings(n_candidates=6)
    rows = run.cohort_rows(table, "made up", 120, pool, [0], settings)
    shares = rows[rows["outcome"] == "log loss"].iloc[0]
    assert shares[["cv", "cv_1se", "pvf_cv", "pmv"]].notna().all()
    assert shares[["oob", "pvf_oob", "cv_repeated"]].isna().all()


def test_one_cohort_does_not_depend_on_the_others(table: pools.Coded) -> None:
    """Cohort 1 is the same computed alone."""
    settings = run.RulesSettings(n_candidates=6)
    both = run.cohort_rows(table, "made up", 60, "logistic", [0, 1], settings)
    alone = run.cohort_rows(table, "made up", 60, "logistic", [1], settings)
    pd.testing.assert_frame_equal(both[both["cohort"] == 1].reset_index(drop=True), alone)


@pytest.fixture
def no_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve made-up tables in place of the archive's."""
    tables = {"wdbc": made_up(300, 1), "haberman": made_up(300, 2)}
    coded = {name: pools.coded(data) for name, data in tables.items()}
    monkeypatch.setattr(run, "_table", coded.__getitem__)


@pytest.mark.usefixtures("no_archive")
def test_the_study_resumes_and_its_answers_have_the_schema(tmp_path: Path) -> None:
    """The same bits from blocks found as from blocks computed; every question is asked."""
    settings = run.RulesSettings(n_candidates=5, sizes=(60,), pools=("trees", "logistic"))
    first = RULES_STUDY.table(settings, out=tmp_path, n_jobs=1)
    gone = sorted(tmp_path.rglob("*.parquet"))[0]
    gone.unlink()
    again = RULES_STUDY.table(settings, out=tmp_path, n_jobs=1)
    pd.testing.assert_frame_equal(first, again)
    assert again.attrs["cost"]["resumptions"] == 1
    estimates = RULES_STUDY.estimate(first)
    assert set(estimates["question"]) >= {1, 2, 3, 5, 6}
    assert not estimates.duplicated(
        ["question", *questions.CELL, "group", "rule", "versus", "quantity"]
    ).any()
    shutil.rmtree(tmp_path)


@pytest.mark.skipif("PVF_DATA_DIR" not in os.environ, reason="needs the archive")
def test_one_worker_or_two_give_the_same_bits() -> None:
    """On the archive's own tables, since workers load them themselves."""
    settings = run.RulesSettings(n_candidates=5, sizes=(60,), pools=("trees",))
    one, two = (RULES_STUDY.table(settings, n_jobs=n) for n in (1, 2))
    pd.testing.assert_frame_equal(one, two)


@pytest.mark.slow
@pytest.mark.skipif("PVF_DATA_DIR" not in os.environ, reason="needs the archive")
def test_a_dask_cluster_of_two_processes_gives_the_same_bits(
    dask_cluster: Callable[[], AbstractContextManager[None]],
) -> None:
    """Trees, and a mixed pool whose forest would send tasks of its own."""
    settings = run.RulesSettings(tables=("haberman",), n_candidates=8, pools=("trees", "mixed"))
    one = RULES_STUDY.table(settings)
    with dask_cluster():
        other = RULES_STUDY.table(settings)
    pd.testing.assert_frame_equal(other, one, check_exact=True)


def test_sizes_that_leave_too_few_people_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """306 people leave 66 outside a cohort of 240."""
    small = pools.coded(made_up(306))
    monkeypatch.setattr(run, "_table", lambda name: small)  # noqa: ARG005
    settings = run.RulesSettings(tables=("haberman",), sizes=run.SIZES)
    keys = run.blocks(settings)
    assert {size for _, size, _ in keys} == {60, 120}
    assert [key for key in keys if key[2] == "mixed"] == [("haberman", 120, "mixed")]


def fake_table(n_tables: int = 12, effect: float = 0.2, seed: int = 0) -> pd.DataFrame:
    """Make a committed table in which PVF at 0.3 is better by a known effect."""
    rng, rows = np.random.default_rng(seed), []
    for number, half, outcome in itertools.product(range(n_tables), (0, 1), run.OUTCOMES):
        base = 0.4 + 0.1 * rng.normal()
        facts = {"table": f"t{number}", "size": 120, "pool": "trees", "half": half}
        worth = {name: base + 0.02 * rng.normal() for name in (*run.RULES, *run.BESIDE)}
        worth |= {"pvf_0.3": worth["holdout"] + effect + 0.05 * rng.normal(), "random": 0.0}
        known = {"cases": 3.0 + number, "prevalence": rng.random(), "columns": 2.0 + number**2}
        told = {"categorical": rng.random(), "tied": rng.random(), "sigma": 0.1, "cohorts": 5}
        rows.append({**facts, "outcome": outcome, **known, **told, **worth, "best": 1.0})
    return pd.DataFrame(rows)


def test_a_known_effect_is_found_and_judged() -> None:
    """The primary answer is the mean over tables, with Student's interval."""
    table = fake_table()
    estimates = questions.estimate(table)
    primary = questions.answer(estimates)
    mine = table[table["outcome"] == "IE@0.1"].groupby("table")[["pvf_0.3", "holdout"]].mean()
    expected = t_interval(mine["pvf_0.3"] - mine["holdout"])
    assert primary[["estimate", "low", "high", "n"]].tolist() == pytest.approx(list(expected))
    assert primary["verdict"] == "better"
    chosen = estimates.query("question == 5 and quantity == 'best in' and rule == 'pvf_0.3'")
    assert (chosen["estimate"] == 1).all()
    ranks = estimates.query("question == 3 and quantity == 'rank' and outcome == 'F1'")
    assert ranks.set_index("rule")["estimate"].idxmin() == "pvf_0.3"


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        (0.01, 0.2, "better"),
        (-0.2, -0.01, "worse"),
        (-0.04, 0.04, "equivalent"),
        (0.01, 0.04, "equivalent"),
        (-0.1, 0.04, "undecided"),
        (np.nan, np.nan, "undecided"),
    ],
)
def test_verdicts(low: float, high: float, says: str) -> None:
    """Equivalent only by the margin."""
    assert questions.verdict(low, high) == says


def test_holm_rejects_step_by_step() -> None:
    """Holm's own example of three, and a missing one."""
    assert holm([0.01, np.nan, 0.04, 0.03]) == pytest.approx(
        [0.03, np.nan, 0.06, 0.06], nan_ok=True
    )


def test_the_critical_difference_is_that_of_the_tables() -> None:
    """Demšar (2006), table 5: q is 2.343 for three rules; his example has four and 14 sets."""
    assert questions.critical_difference(4, 14) == pytest.approx(
        2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=1e-3
    )


def test_the_power_simulation_finds_the_textbook_difference() -> None:
    """Where scatter is normal, power is that of a t test on the tables' means."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"table": np.repeat(["a", "b"], 4000), "difference": rng.normal(size=8000)})
    found = power.simulate_power(rows, n_tables=31, n_simulations=4000)
    one = found.query("n_cohorts == 40 and spread == 0.1").iloc[0]
    scale = np.sqrt(1 / 40 + 0.01) / np.sqrt(31)
    df = 30
    delta = one["detected"] / scale
    limit = stats.t.ppf(0.975, df)
    assert stats.nct.sf(limit, df, delta) == pytest.approx(0.8, abs=0.02)
