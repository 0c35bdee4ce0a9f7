"""Selection from a reader's own data, against literal computations with scikit-learn alone."""

import dataclasses
import json

import numpy as np
import own_pool
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits
from ugly_csv import TARGET, plain_table, to_bytes, ugly_table

import pvf
from pvf.select.candidates import MixedEncoder, encoder, load_pool, make_pool
from pvf.select.choose import recommend, recommended_model, select
from pvf.select.columns import Column, feature_frame, guess_columns
from pvf.select.read import load_own_data
from pvf.select.sentences import TableError
from pvf.select.splits import perturbation_of

QUICK = {"n_splits": 3, "n_sets": 20, "n_repeats": 1, "n_bootstraps": 200, "progress": False}


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


# --- what decides by a hair -----------------------------------------------------------------------


def test_sums_run_on_one_thread_whatever_is_set_outside(numbers):
    """More threads would add in another order, and change the last bits of a score."""
    own_pool.Witness.threads.clear()
    with threadpool_limits(limits=2):
        select(numbers, capacity=0.3, pool="own_pool:witness", **QUICK)
    assert own_pool.Witness.threads == {1}


# --- leakage, seeds, workers ----------------------------------------------------------------------


def test_workers_do_not_change_a_bit(ugly):
    """One worker and two give the same scores, choices and judgements, bit by bit."""
    one, two = (
        select(ugly, capacity=0.2, pool="own_pool:small", epsilon=2.0, n_jobs=n_jobs, **QUICK)
        for n_jobs in (1, 2)
    )
    for name in ("scores", "judged", "differences", "sigmas", "multiplicity"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(two, name), check_exact=True)


def test_progress_is_shown_on_request_only(numbers, capfd):
    """Quiet unless asked; each stage goes to standard error."""
    given_settings = {**QUICK, "progress": True, "n_sets": 2, "sigmas": []}
    select(numbers, capacity=0.3, pool="own_pool:numbers_only", **given_settings)
    assert "splits" in capfd.readouterr().err
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


def test_settings_reproduce_the_selection(numbers, chosen):
    """The settings in the result are all arguments; with them the result comes again."""
    known = json.loads(json.dumps(chosen.settings))
    again = select(numbers, progress=False, **known)
    pd.testing.assert_frame_equal(again.scores, chosen.scores, check_exact=True)
