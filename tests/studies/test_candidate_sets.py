"""The candidates as Rashomon sets: against the experiments themselves and against plain loops."""

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pandas.testing import assert_frame_equal

from studies.capacity2022 import PATIENTS, SETS
from studies.capacity2022 import bridge as candidate_sets
from studies.capacity2022.bridge import Candidates, CandidateSets
from studies.kit.results import read_result
from studies.pvf2026.clinical import run as clinical
from studies.pvf2026.synthetic import run as synthetic

SMALL = {"n_candidates": 12}
FEW = CandidateSets(n_datasets=1, **SMALL)


@pytest.fixture(scope="module")
def breast():
    """Return one repetition on the breast-cancer data with few trees."""
    return candidate_sets.set_block(("breast-cancer", 0, 1), FEW)


@pytest.fixture(scope="module")
def one_split():
    """Return the candidates of the experiment's first split."""
    settings = candidate_sets.clinical_settings("breast-cancer", FEW)
    split = next(clinical.splits(0, settings))
    return split, candidate_sets.clinical_candidates(split, (0, 0, 0), settings), settings


def made_up(rng, n_candidates=7, n_patients=40, n_metrics=6):
    """Return candidates whose scores are random steps, so that many are equal."""
    best = np.zeros((2, n_metrics, n_candidates), dtype=bool)
    for method in best:
        for row in method:
            row[rng.integers(n_candidates, size=2)] = True
    return Candidates(
        scores=rng.integers(0, 5, size=(n_candidates, n_patients)) / 4,
        is_case=rng.random(n_patients) < 0.4,
        distance=rng.random(n_patients),
        scores_validation=rng.random((n_candidates, 9)),
        validation=rng.integers(1, 5, size=(n_metrics, n_candidates)) / 4,
        external=rng.random((n_metrics, n_candidates)),
        pvf=best[0],
        traditional=best[1],
    )


# --- The same candidates and choices as in the experiments --------------------------------------


def test_choices_are_those_of_the_clinical_experiment(breast):
    """Gains, ties and choices outside the traditional ties agree, split by split."""
    table = clinical.run_experiment("breast-cancer", sigmas=[0.3], **SMALL)
    keys = ["repetition", "subset", "split", "metric"]
    first = table[table["tie_break"] == "first"].set_index(keys)
    random = table[table["tie_break"] == "random"].set_index(keys)
    sets = breast.set_index(keys)
    ties = sets[sets["epsilon"] == 0]
    np.testing.assert_allclose(ties["gain"], first.loc[ties.index, "gain"], atol=1e-12)
    np.testing.assert_allclose(ties["outside"], 1 - random.loc[ties.index, "within"])
    np.testing.assert_array_equal(ties["n_models"], first.loc[ties.index, "n_tied_traditional"])
    assert len(ties) == 25 * 3
    # A choice that is better or worse is another choice.
    moved = ties["gain"].abs() > 1e-9
    assert moved.any()
    assert (ties.loc[moved, "differs"] == 1).all()


def test_scores_are_the_trees_own(one_split):
    """A tree gives a patient the score that scikit-learn's predict_proba gives."""
    split, candidates, settings = one_split
    X = clinical.scaled_features(split.train, settings)
    for q, tree in enumerate(split.problem.trees):
        expected = tree.predict_proba(X[split.external])[:, 1]
        np.testing.assert_array_equal(candidates.scores[q], expected)
    assert not set(split.external) & {*split.train, *split.validation}
    flagged = candidates.scores > 0.5
    tp = (flagged & candidates.is_case).sum(axis=1)
    f1 = 2 * tp / (flagged.sum(axis=1) + candidates.is_case.sum())
    np.testing.assert_allclose(candidates.external[5], f1)


def test_pair_models_are_those_of_the_sweep():
    """The best candidates are the sweep's, and new samples are scored pair by pair."""
    arguments = {"n_samples": 50, "mu": 1.5, "sigma": 0.1}
    candidates = candidate_sets.synthetic_candidates(
        **arguments, repetition=3, n_external=200, seed=7
    )
    settings = synthetic.SweepSettings(seed=7)
    ((pvf, traditional),) = synthetic.best_sets((50, 1.5, 0.1, 3, 4), settings)
    for m in range(6):
        for method, bits in (("pvf", pvf), ("traditional", traditional)):
            marked = getattr(candidates, method)[m]
            assert sum(2**q for q in np.flatnonzero(marked)) == bits[m]
    trace = synthetic.draw_repetition(**arguments, repetition=3, seed=7)
    for q, (a, b) in enumerate(synthetic.PAIRS):
        w = trace.models[q]
        X = trace.X[trace.validation_rows]
        margin = w[0] + w[1] * X[:, int(a[1]) - 1] + w[2] * X[:, int(b[1]) - 1]
        np.testing.assert_allclose(candidates.scores_validation[q], 1 / (1 + np.exp(-margin)))
    assert candidates.is_case.sum() == 40
    # The true pair beats pairs of noise on new samples, so columns and models belong together.
    assert candidates.external[5][0] > candidates.external[5][-1]


def test_new_samples_lie_as_far_from_the_line_as_they_should():
    """Halfway between the clusters the distance is 0: its mean is that of a folded normal."""
    candidates = candidate_sets.synthetic_candidates(50, 2.5, 0.1, 0, n_external=20_000, seed=1)
    z = 2.5 / np.sqrt(2)
    draws = np.abs(np.random.default_rng(0).normal(z, 1, size=200_000))
    assert candidates.distance.mean() == pytest.approx(draws.mean(), abs=0.03)


# --- What is asked of a set ---------------------------------------------------------------------


@given(hnp.arrays(float, st.integers(2, 9), elements=st.integers(0, 4).map(float)))
def test_a_member_at_random_has_rank_one_half(distance):
    """Whatever the distances and ties, the members' ranks average to one half."""
    inside = np.arange(len(distance))
    ranks = [candidate_sets.central_rank(distance, inside, q) for q in inside]
    assert np.mean(ranks) == pytest.approx(0.5)
    assert 0 <= min(ranks) <= max(ranks) <= 1


def test_rank_of_a_stranger_and_of_a_single_member():
    """A choice outside the set is compared with all its members; alone there is no rank."""
    distance = np.array([0.3, 0.1, 0.2])
    assert candidate_sets.central_rank(distance, np.array([1, 2]), 0) == 1.0
    assert np.isnan(candidate_sets.central_rank(distance, np.array([1]), 1))


def capacity_by_search(scores):
    """Capacity of the channel from models to two classes, by searching the weight of the ends."""

    def entropy(p):
        p = np.clip(p, 1e-300, 1)
        q = np.clip(1 - p, 1e-300, 1)
        return -p * np.log2(p) - q * np.log2(q)

    low, high = min(scores), max(scores)
    w = np.linspace(0, 1, 20001)
    return 2 ** (entropy(low + w * (high - low)) - (1 - w) * entropy(low) - w * entropy(high)).max()


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_facts_of_a_set_come_out_of_plain_loops(seed, epsilon):
    """Members, capacity, conflicts, ranks and differences, candidate by candidate."""
    candidates = made_up(np.random.default_rng(seed))
    facts = candidate_sets.set_facts(candidates, 2, epsilon)
    values = candidates.validation[2]
    inside = [q for q in range(7) if values[q] >= (1 - epsilon) * max(values) - 1e-12]
    assert facts["n_models"] == len(inside)
    patients = range(40)
    members = [[candidates.scores[q, i] for q in inside] for i in patients]
    capacity = [capacity_by_search(scores) for scores in members]
    assert facts["capacity"] == pytest.approx(np.mean(capacity), abs=1e-6)
    conflict = [len({score > 0.5 for score in scores}) > 1 for scores in members]
    assert facts["conflict"] == pytest.approx(np.mean(conflict))
    distance = [
        np.mean([abs(candidates.scores[q, i] - np.mean(members[i])) for i in patients])
        for q in range(7)
    ]
    assert facts["distance_member"] == pytest.approx(np.mean([distance[q] for q in inside]))
    tied = {name: np.flatnonzero(getattr(candidates, name)[2]) for name in ("pvf", "traditional")}
    for name, best in tied.items():
        ranks = []
        for q in best:
            others = [distance[p] for p in inside if p != q]
            nearer = [
                (d < distance[q] - 1e-12) + 0.5 * (abs(d - distance[q]) < 1e-12) for d in others
            ]
            ranks.append(np.mean(nearer) if others else np.nan)
        assert facts[f"rank_{name}"] == pytest.approx(ranks[0], nan_ok=True)
        assert facts[f"rank_{name}_random"] == pytest.approx(np.mean(ranks), nan_ok=True)
        assert facts[f"distance_{name}"] == pytest.approx(distance[best[0]])
    a, b = tied["pvf"], tied["traditional"]
    assert facts["differs"] == (a[0] != b[0])
    assert facts["outside"] == pytest.approx(np.mean([q not in set(b) for q in a]))
    assert facts["gain"] == pytest.approx(
        candidates.external[2, a[0]] - candidates.external[2, b[0]]
    )


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_groups_of_patients_come_out_of_plain_loops(seed):
    """Means over classes and fifths of distance, patient by patient."""
    candidates = made_up(np.random.default_rng(seed))
    table = candidate_sets.patient_groups(candidates, 5, 0.3).set_index(["grouping", "group"])
    values = candidates.validation[5]
    inside = [q for q in range(7) if values[q] >= 0.7 * max(values) - 1e-12]
    pvf, traditional = (
        np.flatnonzero(best[5])[0] for best in (candidates.pvf, candidates.traditional)
    )
    order = sorted(range(40), key=lambda i: candidates.distance[i])
    groups = {("class", 0): np.flatnonzero(~candidates.is_case)}
    groups |= {("class", 1): np.flatnonzero(candidates.is_case)}
    groups |= {("distance", k + 1): order[8 * k : 8 * k + 8] for k in range(5)}
    for key, rows in groups.items():
        found = table.loc[key]
        assert found["n"] == len(rows)
        wrong = {
            q: [(candidates.scores[q, i] > 0.5) != candidates.is_case[i] for i in rows]
            for q in range(7)
        }
        assert found["error_pvf"] == pytest.approx(np.mean(wrong[pvf]))
        assert found["error_traditional"] == pytest.approx(np.mean(wrong[traditional]))
        assert found["error_member"] == pytest.approx(np.mean([wrong[q] for q in inside]))
        lost = [a and not b for a, b in zip(wrong[pvf], wrong[traditional], strict=True)]
        won = [b and not a for a, b in zip(wrong[pvf], wrong[traditional], strict=True)]
        assert (found["lost"], found["won"]) == pytest.approx((np.mean(lost), np.mean(won)))
        capacity = [capacity_by_search(candidates.scores[inside, i]) for i in rows]
        assert found["capacity"] == pytest.approx(np.mean(capacity), abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_tenths_share_equal_capacities_evenly(seed):
    """The order of the patients does not matter, and no grouping loses or adds anybody."""
    rng = np.random.default_rng(seed)
    candidates = made_up(rng)
    order = rng.permutation(40)
    fields = {"scores": candidates.scores[:, order], "is_case": candidates.is_case[order]}
    fields |= {"distance": candidates.distance[order]}
    shuffled = Candidates(**vars(candidates) | fields)
    tables = [candidate_sets.patient_groups(c, 0, 1.0) for c in (candidates, shuffled)]
    assert_frame_equal(*tables)
    table = tables[0]
    columns = ["capacity", "conflict", "error_member", "error_pvf", "lost", "won"]
    totals = table[columns].mul(table["n"], axis=0).groupby(table["grouping"]).sum()
    np.testing.assert_allclose(totals, np.broadcast_to(totals.iloc[0], totals.shape))
    tenths = table[table["grouping"] == "capacity"]
    assert (np.diff(tenths["capacity"]) >= -1e-12).all()


def test_one_model_has_capacity_one_and_no_rank():
    """A set of one model disagrees with nobody."""
    rng = np.random.default_rng(0)
    candidates = made_up(rng)
    candidates.validation[1] = [0.1, 0.2, 0.9, 0.3, 0.4, 0.5, 0.6]
    candidates.pvf[1] = candidates.traditional[1] = np.arange(7) == 2
    facts = candidate_sets.set_facts(candidates, 1, 0.0)
    assert facts["capacity"] == facts["capacity_validation"] == facts["n_models"] == 1
    assert np.isnan(facts["rank_pvf"])
    assert facts["differs"] == facts["gain"] == 0


# --- The study ----------------------------------------------------------------------------------


def test_patients_of_a_repetition_are_pooled(one_split):
    """Each group's patients are those of all splits, and its means are over patients."""
    patients = candidate_sets.patient_block(("breast-cancer", 0, 1), FEW)
    by_grouping = patients.groupby(["metric", "epsilon", "grouping"])["n"].sum()
    assert set(by_grouping) == {25 * 469}
    settings = one_split[2]
    n = total = 0
    for split in clinical.splits(0, settings):
        candidates = candidate_sets.clinical_candidates(
            split, (0, split.subset, split.split), settings
        )
        wrong = (candidates.scores > 0.5) != candidates.is_case
        choice = np.flatnonzero(candidates.pvf[5])[0]
        n += candidates.is_case.sum()
        total += wrong[choice][candidates.is_case].sum()
    row = patients.query("metric == 'F1' and epsilon == 1 and grouping == 'class' and group == 1")
    assert row["n"].item() == n
    assert row["error_pvf"].item() == pytest.approx(total / n)


def test_result_does_not_depend_on_workers_and_grows_by_repetitions():
    """Two workers give the same bits, and more repetitions begin with the fewer."""
    study = SETS["synthetic"]
    one = study.table(CandidateSets(n_datasets=12), n_jobs=1)
    with joblib.parallel_config(backend="threading"):
        two = study.table(CandidateSets(n_datasets=12), n_jobs=2)
    assert_frame_equal(one, two)
    fewer = study.table(CandidateSets(n_datasets=3), n_jobs=1)
    first = one[one["repetition"] < 3].reset_index(drop=True)
    assert_frame_equal(fewer, first)
    other = study.table(CandidateSets(n_datasets=3, seed=5), n_jobs=1)
    assert not other.equals(fewer)


def test_blocks_are_repetitions_and_batches():
    """One repetition of an experiment, ten data sets of a configuration, each named once."""
    blocks = candidate_sets.candidate_blocks("", CandidateSets(n_repetitions=2, n_datasets=12))
    assert blocks[:2] == [("breast-cancer", 0, 1), ("breast-cancer", 1, 2)]
    assert blocks[-2:] == [("synthetic, μ = 2.5", 0, 10), ("synthetic, μ = 2.5", 10, 12)]
    assert len(set(blocks)) == len(blocks) == 2 * 2 + 3 * 2


@pytest.mark.parametrize(
    ("name", "problem", "n"),
    [
        ("candidate_sets_breast", "breast-cancer", 1),
        ("candidate_sets_synthetic", "synthetic, μ = 2.5", 5),
    ],
)
def test_first_repetitions_of_the_committed_tables_come_out_again(name, problem, n):
    """Running the first repetitions anew gives the committed rows."""
    committed, facts = read_result(name)
    rows = (committed["problem"] == problem) & (committed["repetition"] < n)
    settings = CandidateSets(n_repetitions=n, n_datasets=n, seed=facts["seed"])
    again = SETS[problem.partition(",")[0]].table(settings, n_jobs=1)
    again = again[again["problem"] == problem].reset_index(drop=True)
    committed = committed[rows].reset_index(drop=True)
    assert list(committed) == list(again)
    values = committed.select_dtypes("number")
    close = np.isclose(values, again[values.columns], atol=1e-4, equal_nan=True)
    # A different release of scikit-learn may grow a tree differently; most rows stay.
    assert close.all(axis=1).mean() > 0.9


def test_committed_patients_are_of_the_committed_problems():
    """Every problem has its patients, in every metric, tolerance and group."""
    patients, _ = PATIENTS.committed()
    assert list(patients["problem"].unique()) == list(candidate_sets.PROBLEMS)
    groups = patients.groupby(["problem", "repetition", "metric", "epsilon"]).size()
    assert set(groups) == {2 + candidate_sets.N_DISTANCES + candidate_sets.N_CAPACITIES}
    assert isinstance(groups, pd.Series)
