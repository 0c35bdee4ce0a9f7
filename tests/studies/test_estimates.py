"""Every kind of interval covers its truth as often as it says, and "agrees" means one thing."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from studies.kit.estimates import (
    agrees,
    bootstrap_interval,
    mean_estimates,
    share_interval,
    simultaneous_level,
    single_run_range,
    t_interval,
)

N_TRIALS = 2000


def covers(intervals, truth):
    """Return the share of intervals that hold the truth."""
    return np.mean([one.low <= truth <= one.high for one in intervals])


def within_chance(share, level, n=N_TRIALS):
    """Tell whether a share of trials is the level, give or take four binomial errors."""
    return abs(share - level) < 4 * np.sqrt(level * (1 - level) / n)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_t_interval_covers_the_mean_of_few_normal_units(level):
    """Student's interval of five normal units holds the mean at its level."""
    rng = np.random.default_rng(1)
    found = [t_interval(rng.normal(3, 2, 5), level) for _ in range(N_TRIALS)]
    assert within_chance(covers(found, 3.0), level)


def test_t_interval_of_one_unit_has_no_ends():
    """One repetition says nothing about the spread."""
    one = t_interval([4.0])
    assert one.estimate == 4.0
    assert np.isnan([one.low, one.high]).all()


@pytest.mark.parametrize(("p", "n"), [(0.05, 40), (0.3, 60), (0.9, 25)])
def test_share_interval_covers_by_enumeration(p, n):
    """Wilson's interval, over all counts with their binomial weights, covers near 95%."""
    counts = np.arange(n + 1)
    found = [share_interval(k / n, n) for k in counts]
    inside = [one.low <= p <= one.high for one in found]
    coverage = stats.binom.pmf(counts, n, p) @ inside
    assert 0.92 < coverage < 0.985


def test_share_interval_is_scipys():
    """It is the Wilson interval of SciPy's binomial test."""
    theirs = stats.binomtest(7, 30).proportion_ci(method="wilson")
    ours = share_interval(7 / 30, 30)
    assert ours.low == pytest.approx(theirs.low)
    assert ours.high == pytest.approx(theirs.high)


def test_bootstrap_over_whole_units_covers_where_rows_depend():
    """Ten rows of a unit are copies: resampling units covers, as resampling rows would not."""
    rng = np.random.default_rng(2)
    found = [
        bootstrap_interval(
            np.repeat(rng.normal(size=(60, 1)), 10, axis=1), n_resamples=300, seed=trial
        )
        for trial in range(600)
    ]
    assert within_chance(covers(found, 0.0), 0.94, 600)  # a percentile interval is a little short


def test_simultaneous_intervals_hold_jointly():
    """Six intervals of the raised level all hold in at least 95% of trials, 1% more at most."""
    rng = np.random.default_rng(3)
    level = simultaneous_level(6)
    joint = [
        all(one.low <= 0 <= one.high for one in (t_interval(units, level) for units in six))
        for six in rng.normal(size=(N_TRIALS, 6, 8))
    ]
    assert 0.95 - 0.02 < np.mean(joint) < 0.97


def test_single_run_range_holds_the_next_run():
    """Between its ends fall 95% of new runs."""
    rng = np.random.default_rng(4)
    low, high = single_run_range(rng.normal(size=20_000))
    assert np.mean(rng.normal(size=20_000) > low) - np.mean(
        rng.normal(size=20_000) > high
    ) == pytest.approx(0.95, abs=0.01)


def runs(n, mean=0.0, seed=0):
    """Draw a study's rows: three splits a repetition that share the repetition's luck."""
    rng = np.random.default_rng(seed)
    luck = np.repeat(rng.normal(mean, 1, n), 3)
    return pd.DataFrame(
        {
            "rule": "a",
            "repetition": np.repeat(np.arange(n), 3),
            "lead": luck + rng.normal(0, 0.1, 3 * n),
        }
    )


def test_mean_estimates_count_a_repetition_once():
    """The interval is that over repetitions' means, not over rows, and the schema is kept."""
    rows = runs(12)
    (row,) = mean_estimates(rows, ["rule"], ["lead"], unit="%", scale=100).to_dict("records")
    by_hand = t_interval(100 * rows.groupby("repetition")["lead"].mean())
    assert row["n"] == 12
    assert row["unit"] == "%"
    assert [row["estimate"], row["low"], row["high"]] == pytest.approx(list(by_hand)[:3])
    assert row["run_low"] < row["low"]


def many_runs(n_trials, n, seed):
    """Estimate many runs of one study at once, one a ``trial``."""
    rows = pd.concat([runs(n, seed=seed + t).assign(trial=t) for t in range(n_trials)])
    return mean_estimates(rows, ["trial", "rule"], ["lead"])


def test_agreeing_runs_agree_and_others_do_not():
    """Two draws of one study agree in at least 95% of trials; a shifted one does not."""
    reference = mean_estimates(runs(100, seed=1), ["rule"], ["lead"])
    fresh = many_runs(200, 10, seed=100).drop(columns="trial")
    shares = [agrees(fresh.iloc[[trial]], reference).all() for trial in range(200)]
    assert 0.88 < np.mean(shares) < 0.99  # with ten units the normal limit is a little short
    shifted = mean_estimates(runs(10, mean=3.0, seed=7), ["rule"], ["lead"])
    assert not agrees(shifted, reference).any()


def test_a_single_repetition_is_judged_by_the_range_of_single_runs():
    """One repetition agrees if it lies where 95% of the reference's single runs lie."""
    reference = mean_estimates(runs(400, seed=1), ["rule"], ["lead"])
    fresh = many_runs(400, 1, seed=1000)
    reference = reference.merge(fresh[["trial"]], how="cross")
    assert within_chance(agrees(fresh, reference).mean(), 0.95, 400)


def test_what_neither_run_could_estimate_agrees():
    """An estimate that is missing in both is no disagreement; in one of them it is."""
    known = mean_estimates(runs(10), ["rule"], ["lead"])
    missing = known.assign(estimate=np.nan)
    assert agrees(missing, missing).all()
    assert not agrees(missing, known).any()
    assert not agrees(known, missing).any()
