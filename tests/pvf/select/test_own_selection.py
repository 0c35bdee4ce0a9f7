"""Selection from a reader's own data, against literal computations with scikit-learn alone."""

import dataclasses
import json
import re
from contextlib import nullcontext

import numpy as np
import own_pool
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits
from ugly_csv import TARGET, plain_table, to_bytes, ugly_table

import pvf
from pvf.pmv import PAPER_NOISE_LEVELS
from pvf.select.candidates import MixedEncoder, encoder, load_pool, make_pool
from pvf.select.choose import (
    RULES,
    _differences,
    _judged,
    _multiplicity,
    _pmv_levels,
    _stability,
    perturbation_of,
    recommended_model,
    select,
    split,
)
from pvf.select.columns import Column, feature_frame, guess_columns
from pvf.select.csv_table import TableError
from pvf.select.read import load_own_data
from pvf.select.recommendation import recommend

QUICK = {"n_sets": 20, "n_repeats": 1, "n_bootstraps": 200, "progress": False}


@pytest.fixture(scope="module")
def numbers_csv(tmp_path_factory):
    """Write scikit-learn's breast-cancer data, eight columns of them, with the outcome as text."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    frame = X.iloc[:, :8].assign(diagnosis=np.where(y == 0, "malignant", "benign"))
    path = tmp_path_factory.mktemp("own") / "breast.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def numbers(numbers_csv):
    """Load them."""
    return load_own_data(numbers_csv, "diagnosis")


@pytest.fixture(scope="module")
def chosen(numbers):
    """Select from a pool of scikit-learn's own pipelines."""
    return select(numbers, capacity=0.3, pool="own_pool:numbers_only", seed=4, **QUICK)


@pytest.fixture(scope="module")
def ugly(tmp_path_factory):
    """Load the table with every ugly thing in it."""
    path = tmp_path_factory.mktemp("ugly") / "ugly.csv"
    path.write_bytes(to_bytes(ugly_table()))
    return load_own_data(path, TARGET)


@pytest.fixture(scope="module")
def from_ugly(ugly):
    """Select on it from the built-in pools."""
    return select(ugly, capacity=0.2, sigmas=[], **QUICK)


# --- against literal computations -----------------------------------------------------------------


def literal_efficiency(flagged, case, capacity):
    """Compute IE by its definition: cases reached in expectation over those by chance."""
    n, n_cases = len(case), case.sum()
    room = capacity * n
    found, n_flagged = (flagged & case).sum(), flagged.sum()
    if n_flagged in (0, n):
        return 1.0
    if n_flagged > room:
        reached = room * found / n_flagged
    else:
        reached = found + (room - n_flagged) * (n_cases - found) / (n - n_flagged)
    return reached / (room * n_cases / n)


@pytest.fixture(scope="module")
def literal(numbers_csv):
    """Do the whole selection by hand: read by pandas, split, fit, perturb, score."""
    frame = pd.read_csv(numbers_csv)
    y = (frame.pop("diagnosis") == "malignant").to_numpy().astype(int)
    X = frame.to_numpy(dtype=float)
    rest, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=4)
    train, val = train_test_split(rest, test_size=0.25, stratify=y[rest], random_state=4)
    train, val, test = map(np.sort, (train, val, test))
    models = {}
    for name, pipeline in own_pool.numbers_only().items():
        models[name] = clone(pipeline).fit(X[train], y[train])
    case = y[val] == 1
    traditional = {
        name: literal_efficiency(model.predict(X[val]) == 1, case, 0.3)
        for name, model in models.items()
    }
    spread = X[train].std(axis=0)
    scores = {name: [] for name in models}
    for m in range(20):
        rng = np.random.default_rng(np.random.SeedSequence(4, spawn_key=(0, m)))
        draws = rng.standard_normal((X.shape[1], 7, len(val)))
        replicas = [X[val] + 0.1 * spread * draws[:, replica].T for replica in range(7)]
        for name, model in models.items():
            flagged = model.predict(np.concatenate(replicas)) == 1
            scores[name].append(literal_efficiency(flagged, np.tile(case, 7), 0.3))
    aggregated = {name: np.quantile(values, 0.25) for name, values in scores.items()}
    return {
        "parts": (train, val, test),
        "models": models,
        "traditional": traditional,
        "PVF": aggregated,
        "X": X,
        "y": y,
    }


def test_split_is_the_literal_one(chosen, literal):
    """60, 20 and 20 per cent, stratified, by scikit-learn's own function."""
    parts = (chosen.parts.train, chosen.parts.validation, chosen.parts.test)
    for rows, expected in zip(parts, literal["parts"], strict=True):
        np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize("rule", ["traditional", "PVF"])
def test_scores_and_choice_are_the_literal_ones(chosen, literal, rule):
    """Every candidate's score, and with it the choice and its ties, as computed by hand."""
    expected = pd.Series(literal[rule])
    pd.testing.assert_series_equal(
        chosen.scores[rule], expected, check_names=False, check_index_type=False, rtol=1e-12
    )
    best = [
        name for name, score in expected.items() if np.isclose(score, expected.max(), rtol=1e-9)
    ]
    assert chosen.tied[rule] == best
    assert chosen.chosen[rule] == best[0]


def test_pmv_is_the_literal_one_on_the_training_part(chosen, literal):
    """PMV sees training rows only, and its score is the slope of accuracy over flipped shares."""
    train = literal["parts"][0]
    X, y = literal["X"][train], literal["y"][train]
    for name, pipeline in own_pool.numbers_only().items():
        result = pvf.perturbed_model_validation(
            pipeline, X, y, noise_levels=np.arange(11) * 0.05, n_repeats=1, random_state=4
        )
        slope = np.polyfit(result.noise_levels, result.accuracies[0], 1)[0]
        assert chosen.scores.loc[name, "PMV"] == pytest.approx(abs(slope), rel=1e-9)


def test_judgement_is_the_literal_one(chosen, literal):
    """IE, flags and recall of each choice on the test part, as computed by hand."""
    test = literal["parts"][2]
    case = literal["y"][test] == 1
    for rule in RULES:
        flagged = literal["models"][chosen.chosen[rule]].predict(literal["X"][test]) == 1
        row = chosen.judged.loc[rule]
        assert row["IE"] == pytest.approx(literal_efficiency(flagged, case, 0.3), rel=1e-12)
        assert row["flagged"] == flagged.sum()
        assert row["recall"] == pytest.approx((flagged & case).sum() / case.sum())
        assert row["reached_by_chance"] == pytest.approx(0.3 * case.sum())
        assert row["low"] <= row["IE"] <= row["high"]


def test_interval_covers_resamples_drawn_literally(chosen, literal):
    """The interval on the test part agrees with one from resampling by hand, within noise."""
    test = literal["parts"][2]
    case = literal["y"][test] == 1
    flagged = literal["models"][chosen.recommended].predict(literal["X"][test]) == 1
    rng = np.random.default_rng(99)
    values = []
    for _ in range(2000):
        rows = np.concatenate(
            [rng.choice(np.flatnonzero(group), group.sum()) for group in (case, ~case)]
        )
        values.append(literal_efficiency(flagged[rows], case[rows], 0.3))
    low, high = np.quantile(values, [0.025, 0.975])
    row = chosen.judged.loc["recommended"]
    assert row["low"] == pytest.approx(low, abs=0.06)
    assert row["high"] == pytest.approx(high, abs=0.06)


def test_stability_agrees_with_resamples_drawn_literally(chosen, literal):
    """How often the traditional choice wins again, from resampling the validation part by hand."""
    val = literal["parts"][1]
    case = literal["y"][val] == 1
    flags = {
        name: model.predict(literal["X"][val]) == 1 for name, model in literal["models"].items()
    }
    pick, rng, again = chosen.chosen["traditional"], np.random.default_rng(98), 0
    for _ in range(1000):
        rows = np.concatenate(
            [rng.choice(np.flatnonzero(group), group.sum()) for group in (case, ~case)]
        )
        scores = {n: literal_efficiency(f[rows], case[rows], 0.3) for n, f in flags.items()}
        again += scores[pick] >= max(scores.values()) - 1e-12
    assert chosen.stability["best_again"] == pytest.approx(again / 1000, abs=0.12)
    assert chosen.stability["n_cases"] == case.sum()


def test_rashomon_capacity_is_that_of_the_good_models(chosen, literal):
    """The good candidates are those close in balanced log-loss; capacity is over their scores."""
    _, val, test = literal["parts"]
    X, y = literal["X"], literal["y"]
    losses = {}
    for name, model in literal["models"].items():
        p = np.clip(model.predict_proba(X[val])[:, 1], np.finfo(float).eps, 1 - np.finfo(float).eps)
        of_class = [-np.log(p[y[val] == 1]).mean(), -np.log(1 - p[y[val] == 0]).mean()]
        losses[name] = np.mean(of_class)
    best = min(losses.values())
    assert chosen.multiplicity_summary["best_loss"] == pytest.approx(best, rel=1e-9)
    good = [name for name, loss in losses.items() if loss <= best + 0.05 + 1e-9]
    if chosen.recommended not in good:
        good.append(chosen.recommended)
    scores = np.array([literal["models"][name].predict_proba(X[test])[:, 1] for name in good])
    assert chosen.multiplicity_summary["n_good"] == len(good)
    np.testing.assert_allclose(
        chosen.multiplicity["capacity"], pvf.rashomon_capacity(scores), rtol=1e-9
    )
    decisions = scores > 0.5
    conflicting = (decisions.any(axis=0) & ~decisions.all(axis=0)).mean()
    assert chosen.multiplicity_summary["conflicting"] == pytest.approx(conflicting)


def test_sigma_zero_is_the_traditional_rule(numbers):
    """Without noise every perturbed set is the validation part, seven times."""
    found = select(
        numbers, capacity=0.3, pool="own_pool:numbers_only", sigma=0.0, sigmas=[0.0], **QUICK
    )
    np.testing.assert_allclose(found.scores["PVF"], found.scores["traditional"], rtol=1e-12)
    assert found.tied["PVF"] == found.tied["traditional"]


# --- intervals, by simulations whose truth is known -----------------------------------------------

N_CASES, N_OTHERS, CAPACITY, N_WORLDS = 100, 300, 0.3, 600
CASE = np.repeat([True, False], [N_CASES, N_OTHERS])
DRAWS = {"capacity": CAPACITY, "n_bootstraps": 300}
#: A new draw lies below the 2.5% quantile of 300 others, interpolated as NumPy does, this often.
TAIL = (1 + 0.025 * 299) / 301


def flags_of(rng, of_cases, of_others):
    """Draw whom a model flags that flags these shares of all cases and of all others."""
    return rng.random(len(CASE)) < np.where(CASE, of_cases, of_others)


def true_efficiency(of_cases, of_others):
    """Compute IE among endlessly many patients, where these shares are flagged."""
    share = N_CASES / len(CASE)
    flagged = share * of_cases + (1 - share) * of_others
    if flagged > CAPACITY:
        return of_cases / flagged
    return (of_cases + (CAPACITY - flagged) * (1 - of_cases) / (1 - flagged)) / CAPACITY


def assert_share(hits, expected):
    """Hold a share of worlds to its expectation, within three binomial standard errors."""
    error = 3 * (expected * (1 - expected) / len(hits)) ** 0.5
    assert np.mean(hits) == pytest.approx(expected, abs=error)


@pytest.mark.parametrize("rates", [(0.6, 0.25), (0.4, 0.1)], ids=["too-many", "room-left"])
def test_interval_holds_the_truth_in_95_of_100_worlds(rates):
    """The truth lies below the interval on the test part in 2.5% of worlds, and above in 2.5%."""
    rng, truth = np.random.default_rng(1), true_efficiency(*rates)
    judged = pd.concat(
        _judged({"PVF": flags_of(rng, *rates)}, {"PVF": "a"}, CASE, seed=world, **DRAWS)
        for world in range(N_WORLDS)
    )
    assert_share(judged["low"] > truth, TAIL)
    assert_share(judged["high"] < truth, TAIL)
    assert_share((judged["low"] <= truth) & (truth <= judged["high"]), 1 - 2 * TAIL)


def test_interval_of_a_difference_holds_the_truth_in_95_of_100_worlds():
    """Two models agree on most patients; 95% it is only if both meet the same resamples."""
    rng, other, one = np.random.default_rng(2), (0.6, 0.25), (0.675, 0.25)
    truth, rows = true_efficiency(*one) - true_efficiency(*other), []
    for world in range(N_WORLDS):
        flagged = flags_of(rng, *other)
        moved = rng.random(len(CASE)) < 0.25  # 0.675 is three quarters of 0.6 and one of 0.9
        better = np.where(moved, flags_of(rng, 0.9, 0.25), flagged)
        picks = {"PVF": better, "traditional": flagged, "PMV": flagged}
        rows.append(_differences(picks, CASE, seed=world, **DRAWS).loc["PVF − traditional"])
    low, high = (np.array([row[end] for row in rows]) for end in ("low", "high"))
    assert_share(low > truth, TAIL)
    assert_share(high < truth, TAIL)
    assert_share((low <= truth) & (truth <= high), 1 - 2 * TAIL)


def test_model_differs_from_itself_by_nothing():
    """Resamples are the same for all rules: the interval of no difference has no width."""
    flagged = flags_of(np.random.default_rng(3), 0.6, 0.25)
    table = _differences(dict.fromkeys(RULES, flagged), CASE, seed=0, **DRAWS)
    assert table.shape == (3, 3)
    assert (table.to_numpy() == 0).all()


def test_difference_is_the_first_less_the_second():
    """Its sign and its interval's say which of the two reaches more cases."""
    rng = np.random.default_rng(4)
    picks = {
        rule: flags_of(rng, *rates)
        for rule, rates in zip(RULES, [(0.3, 0.3), (0.9, 0.1), (0.6, 0.2)], strict=True)
    }
    table = _differences(picks, CASE, seed=0, **DRAWS)
    worth = {rule: literal_efficiency(flagged, CASE, CAPACITY) for rule, flagged in picks.items()}
    for pair, row in table.iterrows():
        one, other = pair.split(" − ")
        assert row["difference"] == pytest.approx(worth[one] - worth[other], rel=1e-12)
        assert 0 < row["low"] < row["difference"] < row["high"]


def test_equal_candidates_are_told_apart_in_5_of_100_worlds():
    """Of two candidates of one worth the better-looking one seems better in 5% of worlds."""
    rng, apart = np.random.default_rng(5), []
    for world in range(N_WORLDS):
        flags = np.array([flags_of(rng, 0.6, 0.25) for _ in range(2)])
        scores = np.array([literal_efficiency(flagged, CASE, CAPACITY) for flagged in flags])
        found = _stability(flags, CASE, scores, seed=world, **DRAWS)
        apart.append(found["not_worse"] == 0)
    assert_share(apart, 2 * TAIL)


def test_stability_of_twins_and_of_a_hopeless_candidate():
    """A twin cannot be told from the choice, one that errs on everybody can; the twins win."""
    flagged = flags_of(np.random.default_rng(6), 0.6, 0.25)
    flags = np.array([~CASE, flagged, flagged])
    scores = np.array([literal_efficiency(row, CASE, CAPACITY) for row in flags])
    found = _stability(flags, CASE, scores, seed=0, **DRAWS)
    assert found["not_worse"] == 1
    assert found["best_again"] == 1
    fewer = flagged.copy()
    fewer[np.flatnonzero(flagged & CASE)[0]] = False
    step = scores[1] - literal_efficiency(fewer, CASE, CAPACITY)
    assert found["step"] == pytest.approx(step, rel=1e-9)
    assert (found["n_cases"], found["n_patients"]) == (N_CASES, N_CASES + N_OTHERS)


# --- what decides by a hair -----------------------------------------------------------------------


def test_recommended_model_is_compared_whether_good_or_not(chosen, literal):
    """With no tolerance one model is good by its loss; the recommended one is its counterpart."""
    test, losses = literal["parts"][2], {}
    X, case = literal["X"][literal["parts"][1]], literal["y"][literal["parts"][1]] == 1
    for name, model in literal["models"].items():
        p = np.clip(model.predict_proba(X)[:, 1], np.finfo(float).eps, 1 - np.finfo(float).eps)
        losses[name] = -(np.log(p[case]).mean() + np.log(1 - p[~case]).mean()) / 2
    best, worst = min(losses, key=losses.get), max(losses, key=losses.get)
    good = [name for name in losses if losses[name] <= losses[best] + 1e-12]
    table, facts = _multiplicity(chosen.models, worst, chosen.data, chosen.parts, 0.0)
    assert facts["n_good"] == len(good) + 1
    scores = np.array(
        [literal["models"][n].predict_proba(literal["X"][test])[:, 1] for n in [*good, worst]]
    )
    decisions = scores > 0.5
    assert facts["ambiguity"] == pytest.approx((decisions != decisions[-1]).any(axis=0).mean())
    differing = (decisions != decisions[-1]).mean(axis=0)
    np.testing.assert_allclose(table["conflict_share"], differing)
    np.testing.assert_allclose(table["capacity"], pvf.rashomon_capacity(scores), rtol=1e-9)


@pytest.mark.parametrize("fewest", [2, 3, 10, 11, 30])
def test_pmv_takes_the_levels_that_flip_a_label_in_each_class(fewest):
    """A level is taken if PMV itself takes it; half a label, as 5% of 10, is rounded to none."""
    y = np.repeat([0, 1], [50, fewest])
    X = np.random.default_rng(0).normal(size=(len(y), 1))
    assert _pmv_levels(y)[0] == 0
    for level in PAPER_NOISE_LEVELS[1:]:
        taken = level in _pmv_levels(y)
        with nullcontext() if taken else pytest.raises(ValueError, match="rounds to no flipped"):
            pvf.perturbed_model_validation(
                DecisionTreeClassifier(), X, y, noise_levels=[0, level], random_state=0
            )


def test_sums_run_on_one_thread_whatever_is_set_outside(numbers):
    """More threads would add in another order, and change the last bits of a score."""
    own_pool.Witness.threads.clear()
    with threadpool_limits(limits=2):
        select(numbers, capacity=0.3, pool="own_pool:witness", **QUICK)
    assert own_pool.Witness.threads == {1}


# --- leakage, seeds, workers ----------------------------------------------------------------------


def test_no_row_outside_training_is_used_in_fitting(ugly, from_ugly):
    """Absurd values and gaps in validation and test rows change no fit, imputation included."""
    outside = np.concatenate([from_ugly.parts.validation, from_ugly.parts.test])
    X = ugly.X.copy()
    for column in ugly.features:
        place = X.columns.get_loc(column.name)
        X.iloc[outside[::2], place] = np.nan
        absurd = 1e6 if column.kind == "numeric" else column.levels[0]
        if column.kind == "ordinal":
            absurd = 0.0
        X.iloc[outside[1::2], place] = absurd
    other = select(dataclasses.replace(ugly, X=X), capacity=0.2, sigmas=[], **QUICK)
    assert list(other.models) == list(from_ugly.models)
    for name, model in from_ugly.models.items():
        for attribute in ("medians_", "means_", "spreads_", "modes_"):
            np.testing.assert_array_equal(
                getattr(model[0], attribute), getattr(other.models[name][0], attribute)
            )
    pd.testing.assert_series_equal(other.scores["PMV"], from_ugly.scores["PMV"])
    assert not other.scores["traditional"].equals(from_ugly.scores["traditional"])


def test_imputation_is_by_training_rows(from_ugly):
    """The medians inside the fitted pipelines are those of the training rows by NumPy."""
    X, _ = from_ugly.part("train")
    model = from_ugly.models["tree: depth 2, leaf 1%"]
    numbers = [c.name for c in model[0].columns if c.kind != "nominal"]
    np.testing.assert_array_equal(model[0].medians_, np.nanmedian(X[numbers], axis=0))
    assert X[numbers].isna().to_numpy().any()


def test_parts_are_disjoint_whole_and_stratified(from_ugly):
    """Every row is in one part, and cases are spread by share."""
    parts, y = from_ugly.parts, from_ugly.data.y
    rows = np.concatenate([parts.train, parts.validation, parts.test])
    np.testing.assert_array_equal(np.sort(rows), np.arange(len(y)))
    for part in (parts.train, parts.validation, parts.test):
        assert abs(y[part].sum() - y.mean() * len(part)) <= 1


def test_workers_do_not_change_a_bit(ugly):
    """One worker and two give the same scores, choices and judgements, bit by bit."""
    one, two = (
        select(ugly, capacity=0.2, pool="own_pool:small", epsilon=2.0, n_jobs=n_jobs, **QUICK)
        for n_jobs in (1, 2)
    )
    for name in ("scores", "judged", "differences", "sigmas", "multiplicity"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(two, name), check_exact=True)
    assert one.stability == two.stability


def test_seed_decides_the_split(numbers, chosen):
    """Another seed splits otherwise."""
    assert not np.array_equal(split(numbers.y, seed=5).test, chosen.parts.test)


def test_progress_is_shown_on_request_only(numbers, capfd):
    """Quiet unless asked; each stage goes to standard error."""
    given_settings = {**QUICK, "progress": True, "n_sets": 2, "sigmas": []}
    select(numbers, capacity=0.3, pool="own_pool:numbers_only", **given_settings)
    assert "PMV" in capfd.readouterr().err
    given_settings["progress"] = False
    select(numbers, capacity=0.3, pool="own_pool:numbers_only", **given_settings)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        pytest.param({"capacity": 0}, "capacity must be", id="capacity"),
        pytest.param({"sigma": -1}, "sigma must be", id="sigma"),
        pytest.param({"sigmas": [np.nan]}, "sigmas must be", id="sigmas"),
        pytest.param({"n_sets": 0}, "n_sets must be", id="sets"),
        pytest.param({"seed": -1}, "seed must be", id="seed"),
        pytest.param(
            {"validation_share": 0.5, "test_share": 0.5},
            "must leave rows for training",
            id="shares",
        ),
        pytest.param({"test_share": 0.004}, "test part has 1 cases", id="tiny-part"),
    ],
)
def test_unfit_settings_are_refused(numbers, kwargs, message):
    """Each setting outside its range is named."""
    arguments = {"capacity": 0.3, "pool": "own_pool:numbers_only", **QUICK, **kwargs}
    with pytest.raises(ValueError, match=message):
        select(numbers, **arguments)


# --- the encoder and the perturbation -------------------------------------------------------------


def mixed_frame(seed, n=60):
    """Return a random frame of all kinds, with gaps, and its columns."""
    rng = np.random.default_rng(seed)
    text = pd.DataFrame(
        {
            "x": [f"{v:.3f}" for v in rng.normal(50, 9, n)],
            "flat": ["2.5"] * n,
            "rank": rng.choice(["0", "1", "2", "3"], n),
            "ward": rng.choice(["north", "south", "west"], n),
            "flag": rng.choice(["0", "1"], n),
            "mode": rng.choice(["a", "b"], n),
        }
    )
    for name in text:
        text[name] = text[name].mask(rng.random(n) < 0.15)
    kinds = {"x": "numeric", "rank": "ordinal", "ward": "nominal", "flag": "nominal"}
    columns = guess_columns(text.astype(object), kinds={**kinds, "mode": "nominal"})
    columns[1] = dataclasses.replace(columns[1], kind="numeric", notation="dot")
    return feature_frame(text.astype(object), columns), columns


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**16), scale=st.booleans())
def test_encoder_is_scikit_learns(seed, scale):
    """It does what SimpleImputer, StandardScaler and OneHotEncoder do together."""
    X, columns = mixed_frame(seed)
    train, other = X.iloc[:40], X.iloc[40:]
    steps = [SimpleImputer(strategy="median"), *([StandardScaler()] if scale else [])]
    blocks = [("numbers", make_pipeline(*steps), ["x", "flat", "rank"])]
    for column in columns[3:]:
        kind = float if isinstance(column.levels[0], float) else object
        one_hot = OneHotEncoder(
            categories=[np.array(column.levels, dtype=kind)], drop="if_binary", sparse_output=False
        )
        most = SimpleImputer(strategy="most_frequent")
        blocks.append((column.name, make_pipeline(most, one_hot), [column.name]))
    reference = ColumnTransformer(blocks).fit(train)
    mine = encoder(columns, scale=scale).fit(train)
    for rows in (train, other):
        np.testing.assert_allclose(mine.transform(rows), reference.transform(rows), atol=1e-12)


def test_encoder_takes_unseen_levels_and_empty_columns():
    """A level that nobody knew is no level; a column without any value becomes 0."""
    columns = [
        Column("x", "numeric", notation="dot"),
        Column("w", "nominal", levels=("a", "b", "c")),
    ]
    train = pd.DataFrame({"x": [np.nan] * 3, "w": ["a", "b", "a"]})
    fitted = MixedEncoder(columns).fit(train)
    made = fitted.transform(pd.DataFrame({"x": [np.nan], "w": ["new"]}))
    np.testing.assert_array_equal(made, [[0, 0, 0, 0]])


def test_encoder_takes_frames_only():
    """An array has no column names."""
    with pytest.raises(TypeError, match="DataFrame with named columns, got ndarray"):
        MixedEncoder([]).fit(np.zeros((2, 2)))


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**16))
def test_perturbation_keeps_gaps_and_levels(seed):
    """A gap stays a gap, a level becomes a level, a number moves by σ of the training part."""
    X, columns = mixed_frame(seed)
    noise = perturbation_of(columns, X, sigma=0.2, change_probability=0.5)
    sample = noise.sample(X, 50, np.random.default_rng(seed))
    for column in columns:
        values = sample[column.name].to_numpy().reshape(50, len(X))
        gap = X[column.name].isna().to_numpy()
        assert pd.isna(values[:, gap]).all()
        assert not pd.isna(values[:, ~gap]).any()
        if column.kind != "numeric":
            assert set(values[:, ~gap].ravel()) <= set(column.levels)
    moved = sample["x"].to_numpy().reshape(50, -1) - X["x"].to_numpy()
    assert np.nanstd(moved) == pytest.approx(0.2 * X["x"].std(ddof=0), rel=0.1)
    assert np.nanmax(np.abs(sample["flat"] - 2.5)) == 0


def test_gaps_do_not_change_the_other_draws():
    """Where nothing is missing, WhereObserved is the mechanism itself."""
    plain, wrapped = pvf.GaussianNoise(0.3), pvf.WhereObserved(pvf.GaussianNoise(0.3))
    column = np.arange(5.0)
    np.testing.assert_array_equal(
        wrapped.fit(column).sample(column, 3, np.random.default_rng(1)),
        plain.fit(column).sample(column, 3, np.random.default_rng(1)),
    )


def test_validation_levels_that_training_lacks_can_flip():
    """The levels are the table's, so a rare one in the validation part is no error."""
    column = Column("w", "nominal", levels=("a", "b", "c"))
    noise = perturbation_of([column], pd.DataFrame({"w": ["a", "b"]}), sigma=0.1)
    sample = noise.sample(pd.DataFrame({"w": ["c", None]}), 30, np.random.default_rng(0))
    assert set(sample["w"].dropna()) <= {"a", "b", "c"}


# --- pools ----------------------------------------------------------------------------------------


def test_built_in_pools_are_what_they_say(from_ugly):
    """All pairs of the columns that lead in the training part, and 32 trees."""
    names = pd.Series(list(from_ugly.models))
    pairs = names[names.str.startswith("logistic")]
    n_columns = len(from_ugly.data.features)
    assert len(pairs) == min(n_columns * (n_columns - 1) // 2, 45)
    assert names.str.startswith("tree").sum() == 32
    assert names.is_unique


def test_pairs_are_of_the_leading_columns():
    """Of many columns the pairs are of those that separate the classes best by themselves."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = pd.DataFrame({f"c{i}": rng.normal(size=200) + y * (i in (7, 9, 11)) * 3 for i in range(14)})
    columns = [Column(name, "numeric", notation="dot") for name in X]
    made = make_pool("pairs", columns, X, y)
    assert len(made) == 45
    used = {name for key in made for name in key.removeprefix("logistic: ").split(" + ")}
    assert {"c7", "c9", "c11"} <= used
    assert len(used) == 10


def test_single_column_makes_single_models(tmp_path):
    """With one feature there is no pair: the model of that column is the candidate."""
    path = tmp_path / "one.csv"
    path.write_bytes(to_bytes(plain_table(), separator=","))
    data = load_own_data(path, "died", drop=["lab", "ward"])
    found = select(data, capacity=0.2, pool="pairs", **QUICK)
    assert list(found.models) == ["logistic: age"]
    assert found.multiplicity is None
    assert any("Rashomon Capacity was not computed" in text for text in recommend(found).caveats)


BAD_POOLS = {
    "word": ("forests", r"pool is 'forests'; it takes pairs, trees"),
    "empty": (" , ", r"it takes pairs, trees"),
    "no-module": ("no_such_module:pool", r"ModuleNotFoundError: No module named 'no_such_module'"),
    "no-name": ("own_pool:absent", r"AttributeError"),
    "not-callable": ("own_pool:numbers", r"TypeError"),
    "raises": ("own_pool:fails", r"RuntimeError: out of luck"),
    "nothing": ("own_pool:nothing", r"returned \[\]; it takes a list or dict"),
    "regressors": ("own_pool:regressors", r"LinearRegression\(\), no classifier"),
    "class": ("own_pool:classes", r"'tree' is .* no estimator"),
    "twice": ("trees,trees", r"two candidates named"),
}


@pytest.mark.parametrize(("pool", "message"), BAD_POOLS.values(), ids=BAD_POOLS)
def test_unfit_pool_is_refused(pool, message):
    """The message says which pool, and what it did."""
    X, columns = mixed_frame(0)
    with pytest.raises(TableError, match=message):
        make_pool(pool, columns, X, np.arange(len(X)) % 2)


def test_own_pool_gets_the_columns_if_it_wants_them():
    """A callable with an argument gets the feature columns; a list is named by place and class."""
    _, columns = mixed_frame(0)
    made = load_pool("own_pool:small", columns)
    assert list(made) == [
        "1: LogisticRegression",
        "2: LogisticRegression",
        "3: DecisionTreeClassifier",
    ]


def test_candidate_that_takes_no_text_is_named(ugly):
    """A pool of number-only pipelines on a table with text says what to put before it."""
    with pytest.raises(
        TableError, match=r"'depth 1' cannot be fitted.*pvf\.select\.candidates\.encoder"
    ):
        select(ugly, capacity=0.2, pool="own_pool:numbers_only", **QUICK)


def test_models_without_probabilities_are_selected_but_not_compared(ugly):
    """Capacity needs probabilities; everything else goes on, and the report says so."""
    found = select(ugly, capacity=0.2, pool="own_pool:without_probabilities", **QUICK)
    assert found.multiplicity is None
    assert any(
        "that give probabilities, and there are 0" in text for text in recommend(found).caveats
    )


# --- what is recommended --------------------------------------------------------------------------

TIES = {
    "all": ({"traditional": "ab", "PVF": "cb", "PMV": "b"}, "b"),
    "two": ({"traditional": "ab", "PVF": "cb", "PMV": "c"}, "b"),
    "pmv": ({"traditional": "a", "PVF": "cb", "PMV": "b"}, "b"),
    "none": ({"traditional": "a", "PVF": "cb", "PMV": "d"}, "c"),
}


@pytest.mark.parametrize(("tied", "expected"), TIES.values(), ids=TIES)
def test_ties_of_pvf_go_to_what_the_other_rules_say(tied, expected):
    """All three, then the traditional rule, then PMV, then the first."""
    assert recommended_model({rule: list(names) for rule, names in tied.items()}) == expected


def altered(selection, **changes):
    """Return a selection with other findings."""
    return dataclasses.replace(selection, **changes)


def test_model_no_better_than_chance_is_not_recommended(chosen):
    """Where the interval on the test part reaches 1, no model can be recommended."""
    assert recommend(chosen).usable
    assert recommend(chosen).headline.startswith(f"Use {chosen.recommended!r}")
    judged = chosen.judged.copy()
    judged["low"] = 0.97
    said = recommend(altered(chosen, judged=judged))
    assert not said.usable
    assert said.headline.startswith("No model can be recommended")


@pytest.mark.parametrize(
    ("low", "usable"), [(1.0, False), (np.nextafter(1, 2), True)], ids=["chance", "above"]
)
def test_interval_that_reaches_chance_is_no_recommendation(chosen, low, usable):
    """An interval that begins at 1 holds chance; one that begins above doesn't."""
    judged = chosen.judged.assign(low=low)
    assert recommend(altered(chosen, judged=judged)).usable is usable


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.1, 0.3, "a difference"),
        (-0.3, -0.1, "a difference"),
        (-0.1, 0.2, "may be nothing"),
        (0.0, 0.2, "may be nothing"),
        (-0.2, 0.0, "may be nothing"),
    ],
)
def test_difference_is_one_where_its_interval_leaves_out_nothing(chosen, low, high, words):
    """Where PVF and the traditional rule choose otherwise, the interval says what to make of it."""
    tied = {"traditional": ["depth 1"], "PVF": ["logistic"], "PMV": ["logistic"]}
    differences = chosen.differences.assign(low=low, high=high)
    caveats = recommend(altered(chosen, tied=tied, differences=differences)).caveats
    (said,) = (caveat for caveat in caveats if "less the traditional one" in caveat)
    assert f"(95% interval {low:+.2f} to {high:+.2f})" in said
    assert said.endswith(f"{words}.")
    same = recommend(altered(chosen, tied={**tied, "traditional": ["logistic"]})).caveats
    assert not any("less the traditional one" in caveat for caveat in same)


@pytest.mark.parametrize(("n_cases", "few"), [(29, True), (30, False)])
def test_few_cases_are_fewer_than_thirty(chosen, n_cases, few):
    """The caveat on few cases begins below thirty."""
    stability = {**chosen.stability, "n_cases": n_cases}
    caveats = recommend(altered(chosen, stability=stability)).caveats
    assert any("too few to rank" in caveat for caveat in caveats) is few


@pytest.mark.parametrize(
    ("tied", "words"),
    [
        ({"traditional": ["logistic"], "PVF": ["logistic"], "PMV": ["logistic"]}, "all hold it"),
        ({"traditional": ["logistic"], "PVF": ["logistic"], "PMV": ["depth 1"]}, "PMV does not"),
        ({"traditional": ["depth 1"], "PVF": ["logistic"], "PMV": ["depth 2"]}, "rules disagree"),
    ],
)
def test_agreement_is_said_as_it_is(chosen, tied, words):
    """The headline and a caveat say how many rules hold the model to be best."""
    said = recommend(altered(chosen, tied=tied))
    assert words in said.headline
    disagree = any("do not agree" in caveat for caveat in said.caveats)
    assert disagree == (words != "all hold it")


def test_caveats_appear_when_they_hold_and_only_then(chosen):
    """Few cases, ties, σ, conflicts, flags for nobody: each from the finding behind it."""
    calm = altered(
        chosen,
        tied={rule: ["logistic"] for rule in RULES},
        stability={**chosen.stability, "n_cases": 500, "not_worse": 0},
        sigmas=chosen.sigmas.assign(choice="logistic"),
        multiplicity_summary={**chosen.multiplicity_summary, "conflicting": 0.0},
    )
    assert len(recommend(calm).caveats) == 1  # one split of one data set, always
    stormy = {
        "too few to rank 6 candidates": {"stability": {**calm.stability, "n_cases": 29}},
        "3 of the other 5 candidates": {"stability": {**calm.stability, "not_worse": 3}},
        "2 of 6 candidates tie": {"tied": {**calm.tied, "PMV": ["logistic", "again"]}},
        "depends on the noise level": {"sigmas": chosen.sigmas.assign(choice=list("aabbb"))},
        "of the test patients the decision depends": {
            "multiplicity_summary": {**calm.multiplicity_summary, "conflicting": 0.4}
        },
        "flags nobody": {"judged": chosen.judged.assign(flagged=0)},
        "flags everybody": {"judged": chosen.judged.assign(flagged=len(chosen.parts.test))},
    }
    for words, change in stormy.items():
        caveats = recommend(altered(calm, **change)).caveats
        assert len(caveats) == 2, words
        assert any(words in caveat for caveat in caveats), (words, caveats)
    runs = recommend(altered(calm, sigmas=chosen.sigmas.assign(choice=list("aabbb")))).caveats[0]
    assert "σ = 0.01 to 0.03: a; σ = 0.1 to 0.5: b" in runs


def test_numbers_in_the_words_are_the_findings(from_ugly):
    """What the recommendation says about the test part is what was judged."""
    said = recommend(from_ugly)
    row = from_ugly.judged.loc["recommended"]
    n, n_cases = len(from_ugly.parts.test), int(from_ugly.part("test")[1].sum())
    assert re.search(rf"the {n} test patients, {n_cases} of them cases", said.reasons[0])
    assert (
        f"Intervention Efficiency is {row['IE']:.2f} (95% interval {row['low']:.2f}"
        in (said.reasons[0])
    )
    assert "Left out by a guess at their kind: Patient-Nr (identifier)" in " ".join(said.caveats)


def test_settings_reproduce_the_selection(numbers, chosen):
    """The settings in the result are all arguments; with them the result comes again."""
    known = json.loads(json.dumps(chosen.settings))
    again = select(numbers, progress=False, **known)
    pd.testing.assert_frame_equal(again.scores, chosen.scores, check_exact=True)
