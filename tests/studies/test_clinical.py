"""The clinical experiment: its design, its two routes to perturbed scores, its tie rules."""

import itertools
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier

import pvf
from studies.pvf2026.clinical import BREAST
from studies.pvf2026.clinical import run as clinical
from studies.pvf2026.clinical.counts import cervical_arithmetic
from studies.pvf2026.clinical.show import tuned

SMALL = {"sigmas": [0.2], "n_candidates": 8, "n_sets": 15}


@pytest.fixture(scope="module")
def parts():
    """Load the breast-cancer data; pick the rows of a training, validation and external part."""
    cohort = clinical._cohort("breast-cancer")
    order = np.random.default_rng(3).permutation(len(cohort.y))
    return cohort, order[:80], order[80:100], order[100:]


@pytest.fixture(scope="module")
def problem(parts):
    """One split of the breast-cancer data, with twelve candidate trees."""
    rng = np.random.default_rng(4)
    settings = {"subsample": 0.7, "n_candidates": 12, "max_depth": 4}
    return clinical._make_split(*parts, rng, settings)


def mixed_cohort(n=600):
    """Make patients with columns of every kind, two of them constant in the first 80 rows."""
    rng = np.random.default_rng(6)
    y = rng.random(n) < 0.3
    columns = {
        "numeric": (rng.normal(y, 1), rng.exponential(1 + y)),
        "nominal": (rng.random(n) < 0.3 + 0.4 * y, rng.integers(0, 3, n) * 5, np.arange(n) >= 80),
        "ordinal": (rng.poisson(1 + 2 * y), np.maximum(np.arange(n) - 590, 0)),
    }
    kinds = [kind for kind, group in columns.items() for _ in group]
    X = np.column_stack([column for group in columns.values() for column in group])
    return clinical.Cohort(X.astype(float), y, tuple(kinds))


@pytest.fixture(scope="module")
def mixed_problem():
    """One split of made-up patients with numeric, nominal and ordinal columns."""
    settings = {"subsample": 0.7, "n_candidates": 12, "max_depth": 4}
    settings |= {"change_probability": 0.3, "shift_decay": 0.4}
    cohort, rows = mixed_cohort(), np.arange(600)
    parts = (rows[:80], rows[80:100], rows[100:])
    return clinical._make_split(cohort, *parts, np.random.default_rng(1), settings)


@pytest.fixture(scope="module")
def two_runs():
    """Two repetitions at two noise levels."""
    return clinical.run_experiment(n_repetitions=2, sigmas=[1e-3, 0.3], n_candidates=15, n_sets=20)


def test_flag_probability_equals_the_share_of_drawn_copies_that_are_flagged(problem):
    """The sum over boxes is the frequency with which drawn noise lands in a case leaf."""
    n_draws, sigma = 4000, 0.4
    rng = np.random.default_rng(0)
    X = problem.X_validation
    expected = clinical.flag_probability(problem.trees, X, sigma)
    noise = rng.normal(0, sigma, (n_draws, *X.shape))
    for tree, probability in zip(problem.trees, expected, strict=True):
        flagged = (
            tree.predict((X + noise).reshape(-1, X.shape[1])).reshape(n_draws, -1).mean(axis=0)
        )
        error = np.sqrt(np.maximum(probability * (1 - probability), 1e-4) / n_draws)
        assert np.all(np.abs(flagged - probability) < 5 * error)


def test_flag_probability_of_mixed_columns_equals_the_share_of_drawn_copies(mixed_problem):
    """With flips and shifts the sum over boxes is the frequency in copies the library draws."""
    n_draws, sigma, X = 6000, 0.4, mixed_problem.X_validation
    kinds = mixed_cohort().kinds
    changes = mixed_problem.categories
    assert [f for f, change in changes.items() if change is None] == [4, 6]
    everybody = clinical._scaled(mixed_cohort(), np.arange(80), {})
    mechanisms = {
        f: {
            "numeric": pvf.GaussianNoise(sigma),
            "nominal": pvf.NominalFlip(0.3),
            "ordinal": pvf.OrdinalShift(0.3, 0.4),
        }[kind]
        for f, kind in enumerate(kinds)
        if f not in (4, 6)
    }
    drawn = pvf.Perturbation(mechanisms).fit(everybody)
    drawn = drawn.sample(X, n_draws, np.random.default_rng(3))
    expected = clinical.flag_probability(mixed_problem.trees, X, sigma, changes)
    used = {int(f) for tree in mixed_problem.trees for f in tree.tree_.feature if f >= 0}
    assert used == {0, 1, 2, 3, 5}
    assert ((expected > 0.05) & (expected < 0.95)).mean() > 0.5
    for tree, probability in zip(mixed_problem.trees, expected, strict=True):
        flagged = tree.predict(drawn).reshape(n_draws, -1).mean(axis=0)
        error = np.sqrt(np.maximum(probability * (1 - probability), 1e-4) / n_draws)
        assert np.all(np.abs(flagged - probability) < 5 * error)


def test_flag_probability_of_a_shifted_level_is_the_paper_s_formula():
    """Among levels 0 to 3 a 1 moves above 1.5 with ξ (e^-λ + e^-2λ) / (2 e^-λ + e^-2λ)."""
    stump = DecisionTreeClassifier(max_depth=1).fit([[1.0], [2.0]], [False, True])
    shift = pvf.OrdinalShift(0.2, 0.5).fit([0.0, 1.0, 2.0, 3.0])
    near, far = np.exp(-0.5), np.exp(-1.0)
    found = clinical.flag_probability([stump], np.array([[1.0]]), 0.1, {0: shift})
    assert found[0, 0] == pytest.approx(0.2 * (near + far) / (2 * near + far))
    flip = pvf.NominalFlip(0.3).fit([0.0, 1.0, 2.0])
    found = clinical.flag_probability([stump], np.array([[1.0], [2.0]]), 0.1, {0: flip})
    assert found[0] == pytest.approx([0.15, 0.7])
    still = clinical.flag_probability([stump], np.array([[1.0], [2.0]]), 0.1, {0: None})
    assert still.tolist() == [[0.0, 1.0]]


def test_flag_probability_of_one_leaf_and_of_vanishing_noise(problem):
    """A tree without a split flags all or nobody; without noise the probability is the label."""
    X = np.zeros((3, 1))
    leaf = DecisionTreeClassifier(max_depth=1, min_samples_split=5).fit(
        [[0.0], [1.0], [2.0]], [False, True, True]
    )
    assert leaf.get_depth() == 0
    assert clinical.flag_probability([leaf], X, 1.0).tolist() == [[1.0, 1.0, 1.0]]
    labels = np.array([tree.predict(problem.X_validation) for tree in problem.trees])
    tiny = clinical.flag_probability(problem.trees, problem.X_validation, 1e-12)
    assert np.array_equal(tiny, labels)


@pytest.mark.parametrize("kind", ["problem", "mixed_problem"], ids=["numeric", "mixed"])
def test_binomial_counts_are_distributed_as_counts_of_drawn_sets(kind, request):
    """Both routes give the same distribution of true and of false positives (chi-square)."""
    n_sets, sigma, problem = 3000, 0.3, request.getfixturevalue(kind)
    sampled = clinical._separate_counts(problem, sigma, np.random.SeedSequence(1), n_sets, 7)
    drawn = clinical._common_counts(problem, sigma, np.random.SeedSequence(2), n_sets, 7)
    p_values = []
    for one, other in zip(sampled, drawn, strict=True):
        for q in range(len(problem.trees)):
            table = pd.crosstab(
                np.repeat([0, 1], n_sets), np.concatenate([one[q], other[q]])
            ).to_numpy()
            table = table[:, table.sum(axis=0) >= 20]
            if table.shape[1] > 1:
                p_values.append(stats.chi2_contingency(table).pvalue)
    assert len(p_values) > 10
    assert min(p_values) > 0.01 / len(p_values)


def test_common_noise_gives_the_library_function_s_scores(problem):
    """With common noise the study scores exactly what perturbation_validation scores."""
    seed = np.random.SeedSequence(5)
    tp, fp = clinical._common_counts(problem, 0.2, seed, 30, 7)
    n_pos = 7 * int(problem.y_validation.sum())
    scores = clinical.scores_from_counts(tp, fp, n_pos, 7 * 20 - n_pos)
    perturbation = pvf.Perturbation(pvf.GaussianNoise(0.2))
    for m, scoring in ((0, pvf.intervention_efficiency_scorer(0.1)), (5, "f1")):
        result = pvf.perturbation_validation(
            problem.trees,
            problem.X_validation,
            problem.y_validation,
            perturbation=perturbation,
            scoring=scoring,
            n_sets=30,
            random_state=seed,
        )
        np.testing.assert_allclose(scores[m], result.scores, rtol=1e-12)


def test_external_scores_equal_the_metrics_by_their_libraries(parts, problem):
    """External scores are scikit-learn's F1 and the library's IE on the training part's scale."""
    (X, y, _), train, _, external = parts
    X_external = (X[external] - X[train].mean(axis=0)) / X[train].std(axis=0)
    for q, tree in enumerate(problem.trees):
        predicted = tree.predict(X_external)
        assert problem.external[5, q] == pytest.approx(f1_score(y[external], predicted))
        efficiency = pvf.intervention_efficiency_score(
            y[external], predicted, capacity=clinical.CAPACITIES
        )
        np.testing.assert_allclose(problem.external[:5, q], efficiency, rtol=1e-12)


def test_the_design_is_the_paper_s(monkeypatch):
    """Five disjoint subsets of 100, five stratified splits of each, 469 external patients."""
    seen = []
    original = clinical._make_split

    def record(cohort, train, validation, external, rng, settings):
        seen.append((train, validation, external, cohort.y))
        return original(cohort, train, validation, external, rng, settings)

    monkeypatch.setattr(clinical, "_make_split", record)
    clinical.run_experiment(**SMALL)
    assert len(seen) == 25
    subsets = [np.union1d(train, validation) for train, validation, _, _ in seen]
    assert len(np.unique(np.concatenate(subsets[::5]))) == 500
    for position, (train, validation, external, y) in enumerate(seen):
        assert (len(train), len(validation), len(external)) == (80, 20, 469)
        assert np.array_equal(subsets[position], subsets[position - position % 5])
        assert not np.intersect1d(external, subsets[position]).size
        expected = y[subsets[position]].mean() * 20
        assert abs(y[validation].sum() - expected) < 1
    parts = np.concatenate([validation for _, validation, _, _ in seen[:5]])
    assert len(np.unique(parts)) == 100


def test_training_part_alone_sets_the_scale_and_grows_the_trees(parts, problem):
    """Scaled validation features depend on the training part only; trees are at most 4 deep."""
    (X, _, _), train, validation, _ = parts
    scaled = (X[validation] - X[train].mean(axis=0)) / X[train].std(axis=0)
    np.testing.assert_allclose(problem.X_validation, scaled)
    assert max(tree.get_depth() for tree in problem.trees) <= 4
    assert all(tree.tree_.n_node_samples[0] == 56 for tree in problem.trees)


@pytest.mark.parametrize("common_noise", [True, False], ids=["common", "separate"])
def test_without_noise_both_methods_choose_alike(common_noise):
    """At σ = 1e-12 nobody wins under a shared tie rule, and the tied sets are the same."""
    table = clinical.run_experiment(
        **{**SMALL, "sigmas": [1e-12], "n_sets": 5}, common_noise=common_noise
    )
    shared = table[table["tie_break"] != "random"]
    assert (shared["tie"] == 1).all()
    assert (shared[["win", "loss", "gain"]] == 0).all(axis=None)
    assert (table["n_tied_pvf"] == table["n_tied_traditional"]).all()


def test_the_whole_experiment_against_a_literal_loop():
    """Choices and outcomes of one repetition equal those of a plain loop over models and sets."""
    settings = {"sigmas": [0.2], "n_candidates": 5, "n_sets": 8}
    settings |= {"common_noise": True, "seed": 11}
    table = clinical.run_experiment(**settings).query("metric == 'F1' and tie_break == 'first'")
    problems = []
    original = clinical._make_split
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            clinical, "_make_split", lambda *a: problems.append(original(*a)) or problems[-1]
        )
        clinical.run_experiment(**settings)
    for (subset, split), part, row in zip(
        itertools.product(range(5), range(5)), problems, table.itertuples(), strict=True
    ):
        seed = np.random.SeedSequence(11, spawn_key=(0, subset, split, 0))
        traditional, aggregated = [], []
        for tree in part.trees:
            traditional.append(f1_score(part.y_validation, tree.predict(part.X_validation)))
            scores = []
            for m in range(8):
                key = np.random.SeedSequence(11, spawn_key=(*seed.spawn_key, 0, m))
                noise = np.random.default_rng(key).standard_normal((30, 7, 20))
                copies = part.X_validation.T[:, None, :] + 0.2 * noise
                predicted = tree.predict(copies.reshape(30, -1).T)
                scores.append(f1_score(np.tile(part.y_validation, 7), predicted))
            aggregated.append(np.percentile(scores, 25))
        ours, theirs = int(np.argmax(aggregated)), int(np.argmax(traditional))
        a, b = part.external[5, [ours, theirs]]
        assert (row.win, row.loss) == (a > b, a < b)
        assert row.gain == pytest.approx(a - b, abs=1e-12)


@pytest.mark.parametrize("rule", clinical.TIE_RULES)
def test_tie_rules_against_enumeration(rule):
    """Outcome probabilities equal a count over all orders of the pool (or all pairs)."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        external = rng.integers(0, 3, 5).astype(float)
        masks = rng.random((2, 5)) < 0.5
        masks[[0, 1], rng.integers(0, 5, 2)] = True
        a, b = (np.flatnonzero(mask) for mask in masks)
        if rule == "first":
            choices = [(a[0], b[0])]
        elif rule == "last":
            choices = [(a[-1], b[-1])]
        elif rule == "random":
            choices = list(itertools.product(a, b))
        else:
            choices = [
                (next(i for i in order if i in a), next(i for i in order if i in b))
                for order in itertools.permutations(range(5))
            ]
        difference = np.array([external[i] - external[j] for i, j in choices])
        inside = np.array([i in b for i, _ in choices])
        above = np.array([external[i] - external[b].mean() for i, _ in choices])
        expected = {
            "win": np.mean(difference > 0),
            "loss": np.mean(difference < 0),
            "tie": np.mean(difference == 0),
            "gain": difference.mean(),
            "within": inside.mean(),
            "gain_within": (above * inside).mean(),
            "n_tied_pvf": len(a),
            "n_tied_traditional": len(b),
        }
        assert clinical._outcome(*masks, external, rule) == pytest.approx(expected, abs=1e-12)


def test_the_seed_alone_decides_the_bits():
    """One or two workers give the same table; another seed gives another."""
    one = BREAST.table(clinical.Experiment(n_repetitions=2, **SMALL))
    two = BREAST.table(clinical.Experiment(n_repetitions=2, **SMALL), n_jobs=2)
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    other = BREAST.table(clinical.Experiment(n_repetitions=2, seed=1, **SMALL))
    assert not one["gain"].equals(other["gain"])


def test_tuned_chooses_on_the_same_or_on_the_other_repetitions(two_runs):
    """With two repetitions, "others" is the choice that the other repetition makes."""
    runs = clinical.by_repetition(two_runs)
    chosen = tuned(runs).query("metric == 'F1' and tie_break == 'first'")
    lead = (
        runs.query("metric == 'F1' and tie_break == 'first'")
        .assign(lead=lambda r: (r["win"] - r["loss"]).round(12))
        .pivot_table(index="repetition", columns="sigma", values="lead")
    )
    best = lead.idxmax(axis=1)
    same = chosen[chosen["chosen_on"] == "same"].set_index("repetition")["sigma"]
    others = chosen[chosen["chosen_on"] == "others"].set_index("repetition")["sigma"]
    assert same.to_dict() == best.to_dict()
    assert others.to_dict() == {0: best[1], 1: best[0]}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"dataset": "iris"}, "dataset"),
        ({"missing": "knn"}, "missing"),
        ({"dataset": "cervical-cancer", "missing": "mean"}, "missing"),
        ({"scaling": "both"}, "scaling"),
        ({"subsets": "random"}, "subsets"),
        ({"change_probability": 2}, "change_probability"),
        ({"n_repetitions": 0}, "n_repetitions"),
        ({"sigmas": [0.0]}, "sigmas"),
        ({"subsample": 1.5}, "subsample"),
        ({"n_candidates": 2.5}, "n_candidates"),
        ({"aggregate": -0.1}, "aggregate"),
    ],
    ids=lambda value: "" if isinstance(value, str) else str(value),
)
def test_bad_arguments_are_named(arguments, named):
    """An argument of the wrong kind or range is refused by name before anything runs."""
    with pytest.raises((ValueError, TypeError), match=named):
        clinical.run_experiment(**arguments)


def test_summaries_refuse_tables_that_are_too_small(two_runs):
    """One repetition has no other to choose σ on."""
    one = clinical.by_repetition(two_runs.query("repetition == 0"))
    with pytest.raises(ValueError, match="repetitions"):
        tuned(one)


def test_subsets_are_disjoint_and_drawn_again_until_each_can_be_split():
    """Six subsets of 100; with few cases some partitions are refused, none slips through."""
    y = np.zeros(668, dtype=bool)
    y[:63] = True
    settings = {"dataset": "cervical-cancer", "subset_size": 100, "n_splits": 5}
    n_redrawn = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        parts, redrawn = clinical._subsets(y, rng, {**settings, "subsets": "plain"})
        assert len(np.unique(np.concatenate(parts))) == 600
        assert min(y[part].sum() for part in parts) >= 5
        n_redrawn.append(redrawn)
    # Exactly: the chance that a subset has fewer than five, at most six times that together.
    one = stats.hypergeom(668, 63, 100).cdf(4)
    assert one < np.mean(np.array(n_redrawn) > 0) < 6 * one + 0.05
    parts, _ = clinical._subsets(y, np.random.default_rng(0), {**settings, "subsets": "stratified"})
    assert len(np.unique(np.concatenate(parts))) == 600
    assert {int(y[part].sum()) for part in parts} <= {9, 10}
    with pytest.raises(ValueError, match="subset_size"):
        clinical._subsets(y[50:], np.random.default_rng(0), {**settings, "subsets": "plain"})


def test_imputation_inside_the_training_part_sees_no_other_patient():
    """Other patients' values change nothing in the training part, and no gap is left."""
    rng = np.random.default_rng(2)
    cohort = mixed_cohort()
    X = cohort.X.copy()
    X[rng.random(X.shape) < 0.1] = np.nan
    train = np.arange(80)
    settings = {"missing": "knn-inside", "scaling": "train"}
    one = clinical._scaled(cohort._replace(X=X), train, settings)
    X[300:] = np.where(np.isnan(X[300:]), np.nan, 99.0)
    other = clinical._scaled(cohort._replace(X=X), train, settings)
    assert np.isfinite(one).all()
    assert np.array_equal(one[:300], other[:300])
    assert not np.array_equal(one[300:], other[300:])


@pytest.mark.parametrize("scaling", clinical.SCALINGS)
def test_scaling_is_by_the_patients_it_names(scaling):
    """The training part, or everybody, has mean 0 and variance 1; or nothing changes."""
    cohort, train = mixed_cohort(), np.arange(100, 180)
    X = clinical._scaled(cohort, train, {"scaling": scaling})
    if scaling == "none":
        assert np.array_equal(X, cohort.X)
    else:
        rows = train if scaling == "train" else np.arange(600)
        np.testing.assert_allclose(X[rows].mean(axis=0), 0, atol=1e-12)
        constant = cohort.X[rows].std(axis=0) == 0
        np.testing.assert_allclose(X[rows].std(axis=0), ~constant, atol=1e-12)


def test_mixed_off_leaves_no_category():
    """Without mixed perturbation every column gets noise."""
    cohort = mixed_cohort()
    found = clinical._category_changes(cohort.X, np.arange(80), cohort.kinds, {"mixed": False})
    assert found == {}


def test_reached_cases_are_shares_of_a_hundred_patients(parts):
    """A chosen tree's cases equal a literal count over its external patients, at γ = 0.1."""
    settings = {"sigmas": [0.2], "n_candidates": 3, "n_sets": 5, "seed": 3}
    table = clinical.run_experiment(**settings)
    problems = []
    original = clinical._make_split
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            clinical,
            "_make_split",
            lambda *a: problems.append((original(*a), a[3])) or problems[-1][0],
        )
        clinical.run_experiment(**settings)
    cohort = parts[0]
    expected = []
    for problem, rows in problems:
        best = int(
            np.argmax(
                clinical._plain_scores(problem.trees, problem.X_validation, problem.y_validation)[0]
            )
        )
        efficiency = problem.external[0, best]
        share_of_cases = cohort.y[rows].sum() / len(rows)
        expected.append(efficiency * 10 * share_of_cases)
    reached = clinical.reached_cases(table).query("capacity == 0.1").iloc[0]
    assert reached["traditional"] == pytest.approx(np.mean(expected))
    gains = table.query("metric == 'IE@0.1' and tie_break == 'first'")
    assert reached["pvf"] - reached["traditional"] == pytest.approx(
        (gains["gain"] * 10 * gains["prevalence"]).mean()
    )
    assert reached["best"] >= max(reached["pvf"], reached["average"])


def test_cervical_experiment_runs_as_the_paper_describes():
    """Six subsets of five splits on 668 patients, where the data are on this machine."""
    folder = Path(os.environ.get("PVF_DATA_DIR", ""))
    if not (folder / "risk_factors_cervical_cancer.csv").is_file():
        pytest.skip("needs risk_factors_cervical_cancer.csv in the folder PVF_DATA_DIR")
    table = clinical.run_experiment("cervical-cancer", **SMALL)
    assert len(table) == 30 * 6 * 4
    assert table["prevalence"].between(50 / 568, 58 / 568).all()
    steps = cervical_arithmetic().set_index("step")
    assert steps.loc["as published", ["rows", "columns", "positives"]].tolist() == [858, 36, 74]
    complete = steps.loc["of these, complete rows"]
    assert complete.tolist() == [668, 34, 30, 63, 0]
