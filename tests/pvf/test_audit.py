"""`pvf.audit` against the same choices made by plain loops."""

import itertools

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score
from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit
from sklearn.tree import DecisionTreeClassifier

import pvf
from pvf.audit import mean_held_out, resampled_interval

X, Y = make_classification(120, n_features=5, flip_y=0.2, random_state=0)
TREES = {f"depth {d}": DecisionTreeClassifier(max_depth=d, random_state=0) for d in (1, 2, 4)}
NOISE = pvf.Perturbation(pvf.GaussianNoise(0.3))
SPLITS = list(StratifiedShuffleSplit(6, test_size=0.25, random_state=3).split(X, Y))
FEW = {"n_splits": 3, "n_bootstraps": 2, "n_sets": 6, "n_replicas": 2, "epsilon": 1.0}


@pytest.fixture(name="without_noise", scope="module")
def _without_noise():
    """Return an audit whose perturbation changes nothing, and the F1 of each tree in each split."""
    still = pvf.Perturbation(pvf.GaussianNoise(0.0))
    result = pvf.audit(
        TREES, X, Y, scoring="f1", perturbation=still, splits=iter(SPLITS), n_bootstraps=0,
        n_sets=1, epsilon=1.0, capacity=0.1,
    )  # fmt: skip
    scores, chances = np.empty((6, 3)), [{} for _ in Y]
    for j, (train, rest) in enumerate(SPLITS):
        for q, tree in enumerate(TREES.values()):
            model = DecisionTreeClassifier(max_depth=tree.max_depth, random_state=0)
            model.fit(X[train], Y[train])
            scores[j, q] = f1_score(Y[rest], model.predict(X[rest]))
            for row, p in zip(rest, model.predict_proba(X[rest])[:, 1], strict=True):
                chances[row].setdefault(q, []).append(p)
    return result, scores, chances


def test_ranking_and_choices_are_those_of_a_loop(without_noise):
    """Without noise PVF scores by the lower quartile of F1 over the splits."""
    result, scores, _ = without_noise
    ranking = result.ranking.loc[list(TREES)]
    np.testing.assert_allclose(ranking["unperturbed"], scores.mean(axis=0))
    np.testing.assert_allclose(ranking["aggregated"], np.quantile(scores, 0.25, axis=0))
    best = scores.argmax(axis=1)
    assert result.choices["pvf"].tolist() == [list(TREES)[q] for q in best]
    assert (result.choices["pvf"] == result.choices["unperturbed"]).all()
    shares = np.bincount(best, minlength=3) / 6
    np.testing.assert_allclose(ranking["in_splits"], shares)
    same = [first == second for first, second in itertools.combinations(best, 2)]
    assert result.summary["agreement_of_splits"] == pytest.approx(np.mean(same))
    assert result.best_name == list(TREES)[np.quantile(scores, 0.25, axis=0).argmax()]
    assert result.to_frame().index[0] == result.best_name
    assert result.factors["score"].tolist() == pytest.approx([ranking["aggregated"].max()] * 3)
    assert result.card.facts["selected"] == result.best_name


def test_leads_have_the_corrected_resampled_interval(without_noise):
    """Each lead is a mean over splits; its interval is Nadeau and Bengio's, written out."""
    result, scores, _ = without_noise
    best = list(TREES).index(result.best_name)
    for name, row in result.differences.iterrows():
        lead = scores[:, best] - scores[:, list(TREES).index(name)]
        error = np.sqrt((1 / 6 + 30 / 90) * lead.var(ddof=1))
        low, high = stats.t(5, lead.mean(), error).interval(0.95)
        assert row[["difference", "low", "high"]].tolist() == pytest.approx(
            [lead.mean(), low, high]
        )
        assert row["pvf_difference"] == pytest.approx(row["difference"])


def test_corrected_interval_covers_where_the_plain_one_does_not():
    """Splits that share rows: 95% intervals of a mean cover it in 95% or more, plain ones rarer."""
    rng, covered = np.random.default_rng(0), np.zeros(2)
    for _ in range(400):
        people = rng.normal(size=60)
        means = [rng.choice(people, 20, replace=False).mean() for _ in range(15)]
        for place, ratio in enumerate((20 / 40, 0.0)):
            low, high = resampled_interval(np.array(means)[:, None], ratio)
            covered[place] += (low[0] <= 0) & (high[0] >= 0)
    assert covered[0] / 400 > 0.94
    assert covered[1] / 400 < 0.9


def test_multiplicity_is_that_of_mean_scores_by_those_who_held_a_sample_out(without_noise):
    """Extreme scores, decisions and places on the lists are those of a loop over the samples."""
    result, _, chances = without_noise
    seen = [row for row, found in enumerate(chances) if found]
    mean = np.array([[np.mean(chances[row][q]) for row in seen] for q in range(3)])
    table = result.multiplicity
    assert table.index.tolist() == seen
    np.testing.assert_allclose(table["lowest"], mean.min(axis=0), atol=1e-12)
    np.testing.assert_allclose(table["highest"], mean.max(axis=0), atol=1e-12)
    contested = (mean > 0.5).any(axis=0) & (mean <= 0.5).any(axis=0)
    assert result.summary["ambiguity"] == pytest.approx(contested.mean())
    lists = pvf.capacity_lists(mean, 0.1, index=seen)
    assert table["lists"].tolist() == lists["lists"].tolist()
    assert result.summary["n_good"] == 3


def test_each_choice_validates_on_the_rows_that_it_was_not_fitted_on():
    """A bootstrap sample is as large as the data, per class; all other rows validate."""
    ids, fits, seen = np.arange(len(Y), dtype=float)[:, None], [], []

    class Recorder(DecisionTreeClassifier):
        def fit(self, table, labels):
            fits.append((table[:, -1].astype(int), np.asarray(labels)))
            return super().fit(table, labels)

    def record(model, table, labels):
        seen.append(set(table[:, -1].round().astype(int)))
        return 0.5

    noise = pvf.Perturbation([([0], pvf.GaussianNoise(0.1))])
    pvf.audit(
        [Recorder()], np.hstack([X, ids]), Y, scoring=record, perturbation=noise, factors=(),
        n_splits=2, n_bootstraps=3, n_sets=2, n_replicas=1,
    )  # fmt: skip
    *each, (last, _) = fits
    assert sorted(last) == list(range(len(Y)))  # the model to be used has seen all rows
    validated = [rows for k, rows in enumerate(seen) if rows != seen[k - 1] or k == 0]
    assert len(each) == len(validated) == 5
    for (train, labels), validation in zip(each, validated, strict=True):
        assert validation == set(range(len(Y))) - set(train.tolist())
        np.testing.assert_array_equal(labels, Y[train])
    for train, labels in each[2:]:
        assert len(train) == len(Y)
        assert len(set(train.tolist())) < 0.8 * len(Y)
        assert np.bincount(labels).tolist() == np.bincount(Y).tolist()


def test_result_depends_on_the_seed_alone():
    """Two workers give the same bits as one; another seed gives others."""
    call = {"scoring": "f1", "perturbation": NOISE, **FEW}
    one = pvf.audit(TREES, X, Y, **call, random_state=1)
    with joblib.parallel_config(backend="threading"):
        two = pvf.audit(TREES, X, Y, **call, random_state=1, n_jobs=2)
    for frame in ("ranking", "differences", "choices", "factors", "multiplicity"):
        pd.testing.assert_frame_equal(getattr(one, frame), getattr(two, frame))
    assert one.card == two.card
    other = pvf.audit(TREES, X, Y, **call, random_state=2)
    assert one.validation.aggregated.tolist() != other.validation.aggregated.tolist()


def test_printed_result_fits_a_screen_and_escapes_names():
    """Forty candidates print as at most 40 lines of at most 100 characters."""
    many = {
        f"<b>{k} {'long ' * 20}": DecisionTreeClassifier(max_depth=1 + k % 3) for k in range(40)
    }
    few = {"n_splits": 2, "n_bootstraps": 0, "n_sets": 2, "n_replicas": 1, "factors": ()}
    result = pvf.audit(many, X, Y, scoring="f1", perturbation=NOISE, **few)
    lines = repr(result).splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines[1:])) <= 100
    assert "<b>" not in result._repr_html_()


def test_persons_with_several_rows_stay_together():
    """Splits of one's own are followed, frames keep their index, more classes work."""
    person = np.repeat(np.arange(30), 4)
    frame = pd.DataFrame(X, columns=list("abcde"), index=[f"row {k}" for k in range(120)])
    labels = np.where(X[:, 0] > 1, "high", np.where(Y == 1, "mid", "low"))
    splits = GroupShuffleSplit(4, random_state=0).split(X, labels, person)
    result = pvf.audit(
        TREES, frame, labels, scoring="accuracy", perturbation=NOISE, splits=splits,
        n_bootstraps=0, n_sets=4, epsilon=1.0,
    )  # fmt: skip
    assert set(result.multiplicity.index) <= set(frame.index)
    assert len(result.choices) == 4
    with pytest.raises(ValueError, match="each in one part"):
        pvf.audit(
            TREES, X, Y, scoring="f1", perturbation=NOISE,
            splits=[([0, 1, 2], [2, 3, 4])] * 2, n_bootstraps=0,
        )  # fmt: skip


def test_mean_held_out_leaves_out_what_is_missing():
    """A model that a split lacks has the mean over the others."""
    scores = [np.array([[0.2, 0.4], [np.nan, np.nan]]), np.array([[0.6], [0.5]])]
    mean = mean_held_out(scores, [np.array([0, 2]), np.array([2])], 3)
    np.testing.assert_allclose(mean, [[0.2, np.nan, 0.5], [np.nan, np.nan, 0.5]])
