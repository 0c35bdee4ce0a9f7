"""The three checks of Proposition 3.1, held against hand counts, scipy and deliberate mistakes."""

from fractions import Fraction
from math import comb

import numpy as np
import pandas as pd
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score

from pvf import intervention_efficiency, intervention_efficiency_counts
from studies.kit.claims import claims, parts_of
from studies.kit.verdicts import judge_parts
from studies.pvf2026.efficiency import examples, proof
from studies.pvf2026.efficiency import run as efficiency

CLAIMS = ("IE-1", "IE-2", "IE-3", "IE-4")
MODELS = {"cautious": (8, 4), "balanced": (10, 10), "eager": (15, 25)}


@st.composite
def tables(draw, largest=8):
    """TP, FP, positives, negatives and a number of interventions, whole or not."""
    population = draw(st.integers(1, largest))
    n_pos = draw(st.integers(1, population))
    tp = draw(st.integers(0, n_pos))
    fp = draw(st.integers(0, population - n_pos))
    room = Fraction(draw(st.integers(1, 4 * population)), 4)
    return tp, fp, n_pos, population - n_pos, room


@pytest.fixture(scope="module")
def enumerated():
    return proof.enumerate_efficiency(range(1, 8))


@pytest.fixture(scope="module")
def simulated():
    return efficiency.simulate_efficiency(
        {**MODELS, "wrong": (0, 20)}, [0.05, 0.2, 0.4], n_pos=20, n_neg=180, n_repetitions=2000
    )


# Algebra


def test_every_step_of_the_proof_holds():
    """Every equation of Appendix A reduces to zero, and each claim has at least one."""
    identities = proof.symbolic_identities()
    assert [item.statement for item in identities if not item.holds] == []
    assert {item.claim for item in identities} == set(CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS)
def test_identities_hold_in_numbers(claim):
    """Both sides of each equation give one number where sympy does no simplifying."""
    values = dict(zip(sympy.symbols("TP F α β c", positive=True), [3, 7, 5, 31, 11], strict=True))
    for item in proof.symbolic_identities():
        if item.claim == claim:
            left, right = (sympy.sympify(side).subs(values) for side in (item.left, item.right))
            assert left == right


def test_a_wrong_identity_is_seen():
    """The ample regime without its second stage is not the unified form."""
    right = next(i for i in proof.symbolic_identities() if "ample" in i.statement)
    tp, alpha, beta, c = sympy.symbols("TP α β c", positive=True)
    wrong = proof.Identity("IE-3", "no second stage", right.left, tp * beta / (c * alpha))
    assert not wrong.holds
    check = efficiency.check_identities([right, wrong])
    assert check.loc[0, ["cases", "agree"]].tolist() == [2, 1]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(("1/2", "4/5", "1/10", "1/10"), Fraction(5), id="scarce"),
        # 8 of 16 flagged, then 4 of the other 84 people, 2 of them positive; chance finds 2.
        pytest.param(("1/2", "4/5", "1/10", "1/5"), (8 + Fraction(8, 84)) / 2, id="ample"),
        pytest.param(("1/2", "4/5", "1/10", "4/25"), Fraction(5), id="flagged exactly c"),
    ],
)
def test_closed_form_by_hand(arguments, expected):
    """Prop. 3.1 gives what counting on paper gives, exactly."""
    assert proof.closed_form(*map(Fraction, arguments)) == expected


# Enumeration


@given(tables())
@settings(max_examples=60, deadline=None)
def test_listing_equals_the_hypergeometric_sum(table):
    """Averaging over every set of people gives the sum over the distribution of their number."""
    assert proof.list_captures(*table) == proof.expected_captures(*table)


@pytest.mark.parametrize(
    ("tp", "fp", "room"), [(8, 8, 5), (8, 8, 16), (8, 8, 20), (0, 0, 7), (0, 9, 30), (10, 90, 40)]
)
def test_expected_captures_agree_with_scipy(tp, fp, room):
    """The mean number of positives reached is scipy's, stage by stage."""

    def mean(population, positives, draws):
        numbers = np.arange(positives + 1)
        return numbers @ stats.hypergeom.pmf(numbers, population, positives, draws)

    flagged = tp + fp
    first = mean(flagged, tp, min(room, flagged)) if flagged else 0
    rest = mean(100 - flagged, 10 - tp, max(room - flagged, 0)) if flagged < 100 else 0
    assert float(proof.expected_captures(tp, fp, 10, 90, room)) == pytest.approx(first + rest)


def test_fractional_room_is_rounded_up_at_random():
    """Two and a half interventions are two or three, each half of the time."""
    two, three = (proof.list_captures(2, 1, 4, 3, room) for room in (2, 3))
    assert proof.list_captures(2, 1, 4, 3, Fraction(5, 2)) == (two + three) / 2


def test_enumeration_holds_every_table(enumerated):
    """The number of tables with a positive is C(β + 3, 3) − (β + 1), times β capacities."""
    sizes = enumerated.groupby("population").size()
    assert sizes.to_dict() == {b: (comb(b + 3, 3) - (b + 1)) * b for b in range(1, 8)}
    assert not enumerated.duplicated(["population", "n_pos", "tp", "fp", "room"]).any()


def test_enumeration_agrees_with_the_formula_exactly(enumerated):
    """Policy and Prop. 3.1 are the same fraction wherever the formula has a value."""
    defined = enumerated.dropna(subset="formula")
    assert len(defined) > 1000
    assert (defined["policy"] == defined["formula"]).all()


def test_formula_fails_where_expected_and_nowhere_else(enumerated):
    """0/0 is nobody flagged, only negatives flagged, or everybody flagged and reached."""
    tp, flagged = enumerated["tp"], enumerated["tp"] + enumerated["fp"]
    everybody = (flagged == enumerated["population"]) & (enumerated["room"] == flagged) & (tp > 0)
    expected = np.select(
        [flagged == 0, tp == 0, everybody],
        ["nobody flagged", "only negatives flagged", "everybody flagged and reached"],
        default="",
    )
    assert (enumerated["undefined"] == expected).all()
    assert (enumerated["formula"].isna() == (expected != "")).all()


def test_library_is_exact_to_rounding(enumerated):
    """The library's floats are within 1e-12 of the fractions in both forms."""
    exact = enumerated["policy"].astype(float)
    gamma = proof.capacity_of(enumerated)
    ours = intervention_efficiency_counts(*proof.counts_of(enumerated), gamma)
    assert ours == pytest.approx(exact.to_numpy(), rel=1e-12)
    right = enumerated["tp"] > 0
    tp, fp, n_pos, n_neg = (column[right] for column in proof.counts_of(enumerated))
    ratios = tp / (tp + fp), tp / n_pos, n_pos / (n_pos + n_neg)
    ours = intervention_efficiency(*ratios, gamma[right])
    assert ours == pytest.approx(exact[right].to_numpy(), rel=1e-12)


def test_limit_is_reached_and_never_passed(enumerated):
    """The highest IE of all tables is min(1/γ, 1/π), for every capacity and prevalence."""
    limits = examples.best_possible(enumerated)
    expected = [
        min(Fraction(b) / Fraction(c), Fraction(b, a))
        for b, a, c in limits[["population", "n_pos", "room"]].itertuples(index=False)
    ]
    assert limits["highest"].tolist() == expected == limits["limit"].tolist()


# Simulation


@pytest.mark.parametrize(
    ("tp", "fp", "room"), [(3, 5, 4), (3, 5, 12), (0, 0, 6)], ids=["scarce", "ample", "uniform"]
)
def test_simulated_numbers_follow_the_hypergeometric_law(tp, fp, room):
    """The number of positives reached has the right distribution (chi-square)."""
    rng = np.random.default_rng(5)
    reached = efficiency.simulate_captures(tp, fp, 8, 22, room, 20_000, rng)
    flagged = tp + fp
    law = (
        stats.hypergeom(flagged, tp, room)
        if room <= flagged
        else stats.hypergeom(30 - flagged, 8 - tp, room - flagged, loc=tp)
    )
    counts = np.bincount(reached, minlength=9)
    likely = law.pmf(np.arange(9)) * len(reached) >= 5
    assert counts.sum() == 20_000
    expected = law.pmf(np.arange(9))[likely]
    observed = counts[likely]
    assert stats.chisquare(observed, expected / expected.sum() * observed.sum()).pvalue > 0.001
    assert observed.sum() >= 0.999 * 20_000


def test_simulation_does_not_need_whole_rooms():
    """With room for 2.25, a perfect model reaches 2 people or, one time in four, 3."""
    rng = np.random.default_rng(0)
    reached = efficiency.simulate_captures(5, 0, 5, 5, 2.25, 40_000, rng)
    assert set(reached) == {2, 3}
    assert reached.mean() == pytest.approx(2.25, abs=4 * np.sqrt(0.25 * 0.75 / 40_000))


def test_simulation_in_blocks_has_every_repetition(monkeypatch):
    """Repetitions that don't fill the last block are not lost."""
    monkeypatch.setattr(efficiency, "_BLOCK", 70)
    rng = np.random.default_rng(0)
    reached = efficiency.simulate_captures(1, 1, 2, 8, 6, 25, rng)
    assert reached.shape == (25,)
    assert set(reached) == {1, 2}


def test_simulation_agrees_with_the_exact_values(simulated):
    """Every simulated IE is within the stated intervals of the library's IE."""
    exact = intervention_efficiency_counts(
        simulated["tp"], simulated["flagged"] - simulated["tp"], 20, 180, simulated["capacity"]
    )
    assert simulated["formula"].to_numpy() == pytest.approx(exact)
    assert ((simulated["low"] <= exact + 1e-12) & (exact <= simulated["high"] + 1e-12)).all()
    assert (simulated["z"].abs() <= simulated["critical"]).all()


@pytest.mark.parametrize("mistake", ["precision over prevalence throughout", "no second stage"])
def test_simulation_rejects_wrong_formulas(simulated, mistake):
    """A regime left out is many standard errors away, so that agreement means something."""
    ample = simulated[(simulated["regime"] == "ample") & (simulated["tp"] > 0)]
    ample = ample[ample["flagged"] < ample["room"]]
    wrong = (
        ample["tp"] / ample["flagged"] / 0.1
        if mistake.startswith("precision")
        else ample["tp"] / (20 * ample["capacity"])
    )
    z = efficiency.z_scores(ample, wrong)
    assert np.all(np.abs(z) > ample["critical"])


def test_z_score_by_hand():
    """A z-score is the gap of means over its standard error; without noise it is 0 or infinite."""
    moments = pd.DataFrame(
        {
            "guided_mean": [6.0, 2.0, 2.0, 2.0],
            "uniform_mean": [2.0, 2.0, 2.0, 2.0],
            "guided_variance": [0.09, 0.0, 0.0, 0.0],
            "uniform_variance": [0.04, 0.0, 0.0, 0.0],
        }
    )
    z = efficiency.z_scores(moments, [2.0, 1.0, 0.5, 1.5])
    assert z.tolist() == [pytest.approx(2 / 0.5), 0.0, np.inf, -np.inf]


def test_fieller_interval_ends_where_z_is_critical(simulated):
    """The interval holds exactly the values that the z-score would not reject."""
    random = simulated[(simulated["guided_variance"] > 0) & (simulated["tp"] > 0)]
    for end, sign in (("low", 1), ("high", -1)):
        assert efficiency.z_scores(random, random[end]) == pytest.approx(sign * random["critical"])


def test_intervals_cover_as_often_as_stated():
    """At level 0.8, a single interval covers the exact IE in four of five simulations."""
    covered = []
    for seed in range(300):
        row = efficiency.simulate_efficiency(
            {"m": (3, 3)},
            [0.25],
            n_pos=8,
            n_neg=32,
            n_repetitions=200,
            level=0.8,
            seed=seed,
        ).iloc[0]
        covered.append(row["low"] <= row["formula"] <= row["high"])
    assert abs(np.mean(covered) - 0.8) < 4 * np.sqrt(0.8 * 0.2 / 300)


def test_simulation_depends_on_the_seed_alone(simulated):
    """The same seed gives the same numbers, another seed others."""
    kwargs = {"n_pos": 20, "n_neg": 180, "n_repetitions": 50}
    one, two, other = (
        efficiency.simulate_efficiency(MODELS, [0.2], **kwargs, seed=seed) for seed in (1, 1, 2)
    )
    pd.testing.assert_frame_equal(one, two)
    assert (one["uniform_mean"] != other["uniform_mean"]).any()


def test_too_few_repetitions_are_refused():
    """A uniform policy that reaches nobody gives no ratio."""
    with pytest.raises(ValueError, match="n_repetitions must be larger"):
        efficiency.simulate_efficiency(
            {"m": (1, 0)}, [0.01], n_pos=1, n_neg=99, n_repetitions=5, seed=0
        )


# What follows


def test_the_three_models_share_one_f1():
    """The example's models have the same F1 by scikit-learn."""
    scores = []
    for tp, fp in MODELS.values():
        y_pred = np.repeat([1, 0, 1, 0], [tp, 20 - tp, fp, 180 - fp])
        scores.append(f1_score(np.repeat([1, 0], [20, 180]), y_pred))
    assert scores == pytest.approx([0.5, 0.5, 0.5])


def test_best_model_by_room_equals_a_scan_with_the_library():
    """The run of each best model is what comparing floats, capacity by capacity, finds."""
    runs = examples.best_model_by_room(MODELS, n_pos=20, n_neg=180)
    rooms = np.arange(1, 200)
    values = [
        intervention_efficiency_counts(tp, fp, 20, 180, rooms / 200) for tp, fp in MODELS.values()
    ]
    best = np.array(list(MODELS))[np.argmax(values, axis=0)]
    for run in runs[runs["last"] < 200].itertuples():
        assert set(best[run.first - 1 : run.last]) == {run.best}
    assert runs["first"].tolist() == [1, *(runs["last"][:-1] + 1)]
    assert runs.iloc[-1].tolist() == ["cautious, balanced, eager", 200, 200]


def test_samples_from_one_set_equal_their_counts():
    """p, r and π of one set give the IE of its counts."""
    rates = {"recall": 0.5, "false_positive_rate": 0.1, "prevalence": 0.1, "capacity": 0.2}
    rng = np.random.default_rng(0)
    drawn = [
        examples.sample_efficiency(size, **rates, n_repetitions=300, rng=rng) for size in (20, 100)
    ]
    sets = pd.concat(drawn, ignore_index=True)
    expected = sets[["tp", "fp", "n_pos"]].astype(float)
    some = sets["n_pos"] > 0
    counts = intervention_efficiency_counts(
        expected["tp"][some],
        expected["fp"][some],
        expected["n_pos"][some],
        (sets["n_samples"] - sets["n_pos"])[some],
        0.2,
    )
    assert sets["counts"][some].to_numpy() == pytest.approx(counts)
    assert sets["counts"][~some].isna().all()
    assert (sets["same_set"].isna() == (sets["tp"] == 0)).all()
    defined = sets.dropna()
    assert defined["same_set"].to_numpy() == pytest.approx(defined["counts"].to_numpy())


def test_constant_model_scores_the_ratio_of_the_prevalences():
    """Flagging everybody is worth 1 on one set, and π of the set over the other π when mixed."""
    sets = examples.sample_efficiency(
        40,
        recall=1,
        false_positive_rate=1,
        prevalence=0.2,
        capacity=0.1,
        n_repetitions=200,
        rng=np.random.default_rng(0),
    ).dropna()
    assert sets["same_set"].to_numpy() == pytest.approx(1)
    assert sets["mixed"].to_numpy() == pytest.approx(sets["n_pos"] / 40 / 0.2)
    assert sets["mixed"].std() > 0.1


def test_summary_by_hand():
    """Errors, shares and the winner of a small table are those of a calculation on paper."""
    samples = pd.DataFrame(
        {
            "n_samples": 10,
            "same_set": [2.0, 2.0, 2.5, 1.5, np.nan],
            "mixed": [3.0, 1.0, 3.1, 0.9, np.nan],
        }
    )
    row = examples.summarise_samples(samples, truth=2.0).iloc[0]
    assert row["usable"] == 0.8
    assert row["same_set_error"] == pytest.approx(np.sqrt(0.5 / 4))
    assert row["mixed_error"] == pytest.approx(np.sqrt((1 + 1 + 1.21 + 1.21) / 4))
    assert row["closer"] == "set"
    swapped = samples.rename(columns={"same_set": "mixed", "mixed": "same_set"})
    assert examples.summarise_samples(swapped, 2.0)["closer"].tolist() == ["population"]
    equal = samples.assign(mixed=samples["same_set"])
    assert examples.summarise_samples(equal, 2.0)["closer"].tolist() == ["neither"]


def test_comparison_covers_every_model_and_size():
    """Each model is summed up at each size against its own IE, from the sets that are returned."""
    models = {**MODELS, "everybody": (20, 180)}
    kwargs = {"n_pos": 20, "n_neg": 180, "capacity": 0.1, "n_repetitions": 400, "seed": 3}
    samples, errors = examples.compare_prevalences(models, [30, 90], **kwargs)
    assert list(zip(errors["model"], errors["n_samples"], strict=True)) == [
        (name, size) for name in models for size in (30, 90)
    ]
    assert errors.drop_duplicates("model")["truth"].tolist() == pytest.approx(
        [(8 + 8 * 12 / 188) / 2, 5, 3.75, 1]
    )
    for row in errors.itertuples():
        part = samples[(samples["model"] == row.model) & (samples["n_samples"] == row.n_samples)]
        assert len(part) == 400
        gap = part["mixed"].dropna() - row.truth
        assert row.mixed_error == pytest.approx(np.sqrt(np.mean(gap**2)))
        assert row.usable == pytest.approx(np.mean(part["tp"] > 0))
    assert errors["same_set_error"].tolist()[-2:] == pytest.approx([0, 0], abs=1e-12)


def test_weights_carry_a_study_over_to_the_clinic():
    """From a study of 60 cases and 90 controls, weighted counts give the clinic's IE exactly."""
    study = examples.enriched_study(15, 25, 20, 180, n_cases=60, n_controls=90, capacity=0.3)
    assert study["clinic"] == pytest.approx((15 + 20 * 5 / 160) / 6)
    assert study["weighted"] == pytest.approx(study["clinic"])
    # 45 of 60 cases and 12.5 of 90 controls flagged, room for 45: the scarce regime.
    assert study["study"] == pytest.approx(45 / 57.5 / 0.4)
    flagged = 0.1 * 0.75 / (45 / 57.5)
    rest = (0.3 - flagged) * (0.1 - 0.075) / (1 - flagged)
    assert study["mixed"] == pytest.approx((0.075 + rest) / 0.03)


@pytest.mark.parametrize("flagged", [0, 5, 40])
def test_precision_and_recall_hide_what_counts_show(flagged):
    """Where nobody is right, p = r = 0 whoever was flagged; the policy's IE is the counts'."""
    capacities = [0.05, 0.2, 0.3, 0.6]
    cases = examples.zero_cases([flagged], capacities, n_pos=20, n_neg=180)
    assert (cases[["precision", "recall", "share γ"]] == 0).all(axis=None)
    assert cases["share 0"].to_numpy() == pytest.approx(1)
    assert cases["policy"].to_numpy() == pytest.approx(
        intervention_efficiency_counts(0, flagged, 20, 180, capacities)
    )
    share = flagged / 200
    expected = [max(gamma - share, 0) / (gamma * (1 - share)) for gamma in capacities]
    assert cases["policy"].to_numpy() == pytest.approx(expected)


# Verdicts


def verdict_on(checks, claim):
    """Judge a claim by its own rule and some checks."""
    return judge_parts(parts_of(claims()[claim], efficiency.estimate(checks)))


def test_verdicts_on_the_true_policy(enumerated, simulated):
    """Everything agrees, and the cases without a value are a part that fails."""
    parts = [
        efficiency.check_enumeration(enumerated, "every table"),
        efficiency.check_simulation(simulated),
    ]
    checks = pd.concat(parts, ignore_index=True)
    n_undefined = int((enumerated["undefined"] != "").sum())
    assert n_undefined > 0
    for claim, label in zip(
        CLAIMS, ["in part", "reproduced", "reproduced", "in part"], strict=True
    ):
        found = verdict_on(checks, claim)
        assert found.label == label
        assert found.parts[0].estimate == 100
        assert [part.estimate for part in found.parts[1:]] == [n_undefined] * (label == "in part")
    scarce = enumerated["tp"] + enumerated["fp"] > enumerated["room"]
    n_cases = scarce.sum() + (simulated["regime"] == "scarce").sum()
    assert verdict_on(checks, "IE-2").parts[0].n == n_cases


def stingy_captures(tp, fp, n_pos, n_neg, room):
    """Reach the flagged, and nobody when they are used up (the second stage left out)."""
    if tp + fp == 0:
        return proof.expected_captures(tp, fp, n_pos, n_neg, room)
    return proof.expected_captures(tp, fp, n_pos, n_neg, min(room, tp + fp))


def hasty_captures(tp, fp, n_pos, n_neg, room):
    """Reach positives first among the flagged (a policy that knows too much)."""
    if tp + fp <= room:
        return proof.expected_captures(tp, fp, n_pos, n_neg, room)
    return Fraction(min(room, tp))


@pytest.mark.parametrize(
    ("captures", "claim"),
    [(stingy_captures, "IE-3"), (hasty_captures, "IE-2")],
    ids=["IE-3", "IE-2"],
)
def test_another_policy_fails_its_claim_and_spares_the_other(captures, claim):
    """A policy that differs in one regime sinks that regime's claim and IE-1, nothing else."""
    table = proof.enumerate_efficiency([5], captures=captures)
    checks = efficiency.check_enumeration(table, "every table")
    outcomes = {name: verdict_on(checks, name).parts[0].outcome for name in CLAIMS}
    fails = {claim, "IE-1"}
    assert outcomes == {name: "fails" if name in fails else "holds" for name in CLAIMS}


def test_study_holds_every_check():
    """All five kinds of checks run at a small scale; in all, a claim has the cases of each."""
    study = efficiency.EFFICIENCY
    checks = study.table(study.settings(n_repetitions=50, largest_population=5, seed=1))
    assert checks["check"].unique().tolist() == study.blocks(None)
    found = verdict_on(checks, "IE-4")
    part = checks[checks["claim"] == "IE-4"]
    assert (found.label, found.parts[0].n) == ("in part", part["cases"].sum())
    spoilt = checks.assign(agree=checks["agree"] - (checks["claim"] == "IE-4"))
    assert verdict_on(spoilt, "IE-4").label == "not reproduced"


def test_simulation_that_misses_is_not_agreement(simulated):
    """A formula off by a tenth in the scarce regime costs IE-1 and IE-2 their full verdict."""
    scarce = simulated["regime"] == "scarce"
    wrong = simulated["formula"].where(~scarce, simulated["formula"] * 1.3)
    spoilt = simulated.assign(formula=wrong, z=efficiency.z_scores(simulated, wrong))
    found = efficiency.check_simulation(spoilt).set_index("claim")
    agree = found["agree"] == found["cases"]
    assert agree.to_dict() == {"IE-1": False, "IE-2": False, "IE-3": True}
    assert (found["same_side"] == found["cases"]).all()


def test_random_sets_that_differ_are_seen():
    """One set on which the two forms differ by 0.01 is counted as a disagreement."""
    samples = pd.DataFrame(
        {
            "n_pos": [2, 2, 1, 0],
            "counts": [1.5, 2, 1, np.nan],
            "same_set": [1.51, 2, np.nan, np.nan],
        }
    )
    row = efficiency.check_samples(samples).iloc[0]
    assert row[["cases", "agree", "same_side", "undefined"]].tolist() == [2, 1, 2, 1]
