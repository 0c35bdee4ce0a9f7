"""The experiments on Rashomon Capacity, on made-up data where the real ones are not needed."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import pvf
from studies.capacity2022 import GREEDY, LOGISTIC, NETWORKS, searches
from studies.capacity2022 import run as multiplicity
from studies.data.datasets import load_adult, load_compas
from studies.kit.results import read_result

FOLDER = Path(os.environ.get("PVF_DATA_DIR", ""))


def made_up_compas(dataset="compas", **_):
    """Six features that say a little about who is charged again, in place of the real ones."""
    rng = np.random.default_rng(sum(map(ord, dataset)))
    X = rng.standard_normal((400, 6))
    y = (X[:, 0] + 0.5 * X[:, 1] ** 2 + rng.logistic(size=400) > 0.5).astype(int)
    return pd.DataFrame(X), pd.Series(y)


@pytest.fixture
def made_up(monkeypatch):
    monkeypatch.setattr(multiplicity, "paper_data", made_up_compas)
    quick = multiplicity.Training("standard", "adam", {"compas": (1, 3), "adult": (2,)}, 20, 5)
    monkeypatch.setitem(multiplicity.TRAININGS, "standardised", quick)


# --- data


@pytest.mark.data
@pytest.mark.skipif(not (FOLDER / "adult.test").is_file(), reason="needs adult.data and adult.test")
def test_adult_is_what_the_authors_use():
    """Both parts, White and Black, counted row by row from the publisher's own columns."""
    X, y = multiplicity.paper_data("adult")
    data = load_adult("all")
    rows = [
        (row.race == "White", label)
        for row, label in zip(data.X.itertuples(), data.y, strict=True)
        if row.race in ("White", "Black")
    ]
    assert X.shape == (len(rows), 20) == (46447, 20)
    assert y.tolist() == [label for _, label in rows]
    assert X["white"].tolist() == [float(white) for white, _ in rows]
    groups = [name for name in X if name.startswith(("marital", "relationship"))]
    assert len(groups) == 13
    assert (X[groups].sum(axis=1) == 2).all()


@pytest.mark.data
@pytest.mark.skipif(
    not (FOLDER / "compas-scores-two-years.csv").is_file(), reason="needs the COMPAS file"
)
def test_compas_is_what_the_authors_use():
    """ProPublica's selection, two races, six features."""
    X, y = multiplicity.paper_data("compas")
    assert X.shape == (5278, 6)
    assert set(X["felony"]) == {-1.0, 1.0}
    known = load_compas("screened", "is_recid")
    kept = known.X["race"].isin(["African-American", "Caucasian"])
    assert y.sum() == known.y[kept].sum()
    assert X["priors_count"].sum() == known.X.loc[kept, "priors_count"].sum()


def test_unknown_data_set_is_refused():
    """The error names what there is."""
    with pytest.raises(ValueError, match="adult"):
        multiplicity.paper_data("hsls")


def test_parts_share_nobody_and_are_scaled_by_the_training_part():
    """Each row is in one part; means and deviations are the training part's."""
    X, y = np.arange(200.0).reshape(100, 2) ** 2, np.arange(100) % 2
    raw = multiplicity.make_parts(X, y, 0.3, seed=1, repetition=2, scaling="none")
    assert len(raw.X_test) == 30
    together = np.vstack([raw.X_train, raw.X_test])
    assert sorted(map(tuple, together)) == sorted(map(tuple, X))
    scaled = multiplicity.make_parts(X, y, 0.3, seed=1, repetition=2, scaling="standard")
    mean, deviation = raw.X_train.mean(axis=0), raw.X_train.std(axis=0)
    np.testing.assert_allclose(scaled.X_test, (raw.X_test - mean) / deviation)
    other = multiplicity.make_parts(X, y, 0.3, seed=1, repetition=3, scaling="none")
    assert (other.X_test != raw.X_test).any()


# --- what is said of a set


def test_summary_says_what_a_literal_reading_says():
    """Means over persons and models, taken one by one."""
    rng = np.random.default_rng(0)
    scores, y = rng.beta(2, 2, (4, 60)), rng.integers(0, 2, 60)
    found = multiplicity.summary(scores, y)
    capacity = [float(pvf.rashomon_capacity(scores[:, [i]])[0]) for i in range(60)]
    assert found["mean"] == pytest.approx(np.mean(capacity))
    assert found["tail5"] == pytest.approx(np.mean(sorted(capacity)[-3:]))
    assert found["above"] == np.mean([value > 1.01 for value in capacity])
    assert found["q0"] == pytest.approx(min(capacity))
    assert found["q100"] == pytest.approx(max(capacity))
    calls = [[score > 0.5 for score in row] for row in scores]
    conflict = [len({row[i] for row in calls}) > 1 for i in range(60)]
    assert found["ambiguity"] == np.mean(conflict)
    right = [call == bool(label) for row in calls for call, label in zip(row, y, strict=True)]
    assert found["accuracy"] == np.mean(right)


def test_losses_are_those_of_scikit_learn():
    """Mean cross-entropy, model by model."""
    rng = np.random.default_rng(1)
    scores, y = rng.uniform(0.01, 0.99, (3, 40)), rng.integers(0, 2, 40)
    expected = [log_loss(y, row) for row in scores]
    np.testing.assert_allclose(multiplicity.log_losses(scores, y), expected)


def test_calibration_error_of_known_scores():
    """Scores that are right on average in each bin have none; scores 0.2 too high have 0.2."""
    y = np.tile([1, 0, 0, 0, 0, 1, 1, 1, 1, 0], 10)
    right = np.tile([0.2] * 5 + [0.8] * 5, 10)
    order = np.argsort(right, kind="stable")
    assert multiplicity.calibration_error(right[order], y[order], 2) == pytest.approx(0)
    assert multiplicity.calibration_error(right[order] + 0.2, y[order], 2) == pytest.approx(0.2)


def test_calibration_mends_distorted_scores():
    """Both ways bring scores whose logit was doubled back to the probabilities."""
    rng = np.random.default_rng(2)
    z = rng.normal(0, 1.5, 20_000)
    y = (rng.random(20_000) < 1 / (1 + np.exp(-z))).astype(int)
    distorted = 1 / (1 + np.exp(-2 * z))
    before = multiplicity.calibration_error(distorted[10_000:], y[10_000:])
    for calibrate in (multiplicity.platt, multiplicity.isotonic):
        mended = calibrate(distorted[:10_000], y[:10_000], distorted[10_000:])
        assert multiplicity.calibration_error(mended, y[10_000:]) < before / 3


# --- the runs


def test_network_run_has_every_row_once(made_up):
    """Each way at each epsilon, every number of epochs, and the remedies at the last one."""
    settings = multiplicity.Networks(n_models=6, n_repetitions=1, n_perturbed=20)
    table = NETWORKS.table(settings, n_jobs=1)
    table = table[(table["dataset"] == "compas") & (table["training"] == "standardised")]
    ways = table[table["epsilon"] == 0.01].groupby("way").size()
    assert ways.to_dict() == {
        "seeds": 2,
        "seeds, some samples": 1,
        "3 alone": 1,
        "ensembles of 2": 1,
        "as trained": 1,
        "Platt": 1,
        "isotonic": 1,
    }
    seeds = table[table["way"] == "seeds"]
    assert (seeds.groupby("epochs")["n_models"].diff().dropna() >= 0).all()
    assert seeds.groupby("epochs")["seconds"].first().is_monotonic_increasing
    assert table.loc[table["way"] == "seeds, some samples", "n_samples"].eq(20).all()
    assert not table.isna().any(axis=None)


def test_a_smaller_run_trains_the_first_models_of_a_larger_one(made_up):
    """The first networks do not depend on how many follow, so that AWP perturbs a sampled one."""
    parts = multiplicity.make_parts(
        *made_up_compas(), 0.3, seed=0, repetition=0, scaling="standard"
    )
    few, many = (multiplicity.network_seeds(5, 0, n) for n in (2, 4))
    assert few == many[:2]
    one = multiplicity.train_networks(parts, few, [2])[0]
    two = multiplicity.train_networks(parts, many, [1, 2])[0]
    np.testing.assert_array_equal(one[0], two[1, :2])


def test_a_resumed_run_gives_the_same_bits(made_up, tmp_path):
    """Blocks that were finished before are read, times and all, and the others are computed."""
    settings = multiplicity.Greedy(n_models=8, n_kept=7, n_chosen=3, n_starts=1, epsilon=1.0)
    once = GREEDY.table(settings, n_jobs=1, out=tmp_path)
    shards = sorted(tmp_path.rglob("*.parquet"))
    assert len(shards) == 2
    shards[0].unlink()
    pd.testing.assert_frame_equal(GREEDY.table(settings, n_jobs=1, out=tmp_path), once)


def test_kept_shares_by_a_literal_count():
    """The share of the mean capacity above 1, computed set by set."""
    rng = np.random.default_rng(3)
    scores = rng.uniform(size=(5, 30))
    order = [3, 0, 4]
    found = multiplicity.kept_shares(scores, order)
    full = pvf.rashomon_capacity(scores).mean() - 1
    for size in (2, 3):
        part = pvf.rashomon_capacity(scores[order[:size]]).mean() - 1
        assert found["share"].iloc[size - 1] == pytest.approx(part / full)
    everything = multiplicity.kept_shares(scores, range(5)).iloc[-1]
    assert everything[["share", "share_tail", "distance"]].tolist() == pytest.approx([1, 1, 0])


def test_greedy_run_chooses_on_one_half_and_judges_on_both(made_up):
    """Greedy keeps more than random on the samples it chose on; shares grow with the size."""
    settings = multiplicity.Greedy(n_models=8, n_kept=7, n_chosen=4, n_starts=2, epsilon=1.0)
    table = GREEDY.table(settings, n_jobs=1)
    assert len(table) == 2 * 2 * 2 * 2 * 4
    assert (table["set_size"] == 7).all()
    for _, rows in table.groupby(["training", "start", "rule", "judged"]):
        assert rows["size"].tolist() == [1, 2, 3, 4]
        assert rows["share"].is_monotonic_increasing
    mean = table[table["size"] == 3].groupby(["judged", "rule"])["share"].mean()
    assert mean["same samples", "greedy"] >= mean["same samples", "random"]


def test_penalised_loss_is_what_scikit_learn_minimises():
    """No direct minimiser of the same function finds a smaller one."""
    X, y = (part.to_numpy() for part in made_up_compas())
    model = LogisticRegression(C=0.3, tol=1e-10).fit(X, y)
    at = searches.penalised_loss(model, X, y, 0.3)

    def loss(w):
        z = X @ w[:6] + w[6]
        return (np.logaddexp(0, z) - y * z).mean() + w[:6] @ w[:6] / (2 * 0.3 * len(y))

    found = minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-9})
    assert at == pytest.approx(found.fun, abs=1e-10)


def test_exact_optimum_bounds_every_other_way():
    """Whatever sampling, resampling or AWP find lies within what is possible."""
    X, y = made_up_compas()
    parts = multiplicity.make_parts(X, y, 0.3, seed=0, repetition=0, scaling="standard")
    table = searches.logistic_ways(parts, [0.01, 0.05], C=1.0, seeds=range(20))
    for _, rows in table.groupby("epsilon"):
        mean = rows.set_index("way")["mean"]
        assert mean["exact"] >= mean.drop("exact").max() - 1e-9
        assert mean["AWP"] > 1
    exact = table[table["way"] == "exact"]
    assert (exact["gap"] <= 1e-9).all()
    assert (exact["n_open"] == 0).all()
    assert exact["mean"].is_monotonic_increasing


def test_logistic_run_has_every_penalty(made_up):
    """All ways at the weakest penalty; the exact set shrinks with the penalty."""
    settings = searches.Logistic(n_models=5, n_perturbed=10)
    table = LOGISTIC.table(settings, n_jobs=1).query("dataset == 'compas'")
    assert set(table.loc[table["penalty"] == 1.0, "way"]) == set(searches.WAYS)
    strong = table[table["penalty"] == 1e-3]
    assert set(strong["epsilon"]) == {0.01}
    exact = table.query("way == 'exact' and epsilon == 0.01").set_index("penalty")["mean"]
    assert 1 < exact[1e-3] < exact[1.0]


# --- estimates


def one_by(estimates, **where):
    """Return the one estimate with these keys, with its interval."""
    chosen = estimates
    for key, value in where.items():
        chosen = chosen[chosen[key] == value]
    (row,) = chosen[["estimate", "low", "high"]].to_numpy()
    return row


def paired(one, two, column):
    """Return mean and interval of a difference, split by split, as scipy gives them."""
    difference = one.set_index("repetition")[column] - two.set_index("repetition")[column]
    interval = stats.ttest_1samp(difference, 0).confidence_interval()
    return pytest.approx([difference.mean(), interval.low, interval.high])


def test_changes_are_paired_by_split():
    """Growth over ε, remedies and penalties: each difference from the committed rows by hand."""
    networks, logistic = (read_result(f"capacity_{name}")[0] for name in ("networks", "logistic"))
    found = multiplicity.by_split(networks)
    last = networks.query("dataset == 'compas' and training == 'standardised' and epochs == 10")
    ways = dict(iter(last.query("epsilon == 0.05").groupby("way")))
    key = {"dataset": "compas", "training": "standardised", "epochs": 10, "epsilon": 0.05}
    for way, start in (("ensembles of 5", "20 alone"), ("isotonic", "as trained")):
        expected = paired(ways[way], ways[start], "mean")
        assert list(one_by(found, **key, way=way, quantity="change")) == expected
    seeds = networks.query("dataset == 'adult' and training == 'unscaled' and way == 'seeds'")
    small, large = (seeds[seeds["epsilon"] == epsilon] for epsilon in (0.01, 0.1))
    key = {"dataset": "adult", "training": "unscaled", "epsilon": 0.1, "way": "seeds"}
    assert list(one_by(found, **key, quantity="growth")) == paired(large, small, "tail5")
    found = multiplicity.by_split(logistic)
    exact = logistic.query("dataset == 'adult' and way == 'exact' and epsilon == 0.01")
    strong, weak = (exact[exact["penalty"] == penalty] for penalty in (1e-5, 1.0))
    key = {"dataset": "adult", "way": "exact", "epsilon": 0.01}
    ours = one_by(found, **key, penalty=1e-5, quantity="change")
    assert list(ours) == paired(strong, weak, "mean")
    sampled = logistic.query("dataset == 'adult' and way == 'AWP' and epsilon == 0.01")
    shares = (sampled.set_index("repetition")["mean"] - 1) / (
        weak.set_index("repetition")["mean"] - 1
    )
    key |= {"way": "AWP", "penalty": 1.0}
    assert one_by(found, **key, quantity="share")[0] == pytest.approx(100 * shares.mean())


def test_awp_is_held_against_sampling_on_the_same_persons():
    """Lead and seconds for everybody, from the committed rows by hand."""
    awp, networks = (read_result(f"capacity_{name}")[0] for name in ("awp", "networks"))
    found = searches.against_sampling(awp, networks)
    where = "dataset == 'compas' and training == 'standardised' and epsilon == 0.01"
    ours = awp.query(where)
    theirs = networks.query(where + " and way == 'seeds, some samples'")
    key = {"dataset": "compas", "training": "standardised", "epsilon": 0.01}
    assert list(one_by(found, **key, quantity="lead")) == paired(ours, theirs, "tail5")
    whole = ours.assign(seconds=ours["seconds"] * 1583 / 150)
    assert list(one_by(found, **key, quantity="slower")) == paired(whole, theirs, "seconds")
