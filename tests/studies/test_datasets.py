"""Data sets: what the loaders return, and that it is what was published."""

import csv
import dataclasses
import os
from importlib import resources
from pathlib import Path
from types import MappingProxyType

import fake_publisher as fake
import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
import ucimlrepo
from scipy import stats

from studies.data import datasets
from studies.data import files as _data_files
from studies.data.datasets import (
    DataMismatchError,
    Dataset,
    frame_sha256,
    knn_imputer,
    load_adult,
    load_breast_cancer,
    load_cervical_cancer,
    load_compas,
    load_connect4,
    load_mnist_pair,
    make_clusters,
)
from studies.data.tables import PIXELS, SQUARES, registry

CERVICAL = registry()["cervical_cancer"]["columns"]


def raw(name: str) -> Path:
    """Return one raw file in PVF_DATA_DIR; skip the test where it is absent."""
    folder = os.environ.get("PVF_DATA_DIR", "")
    path = Path(folder) / name
    if not folder or not path.is_file():
        pytest.skip(f"needs {name} in the folder that PVF_DATA_DIR names, now {folder!r}")
    return path


def answer_with(monkeypatch, **frames: pd.DataFrame) -> None:
    """Let the loaders find made-up tables."""

    def obtain(name, *, download):
        return frames[name].copy(), f"made-up {name}"

    monkeypatch.setattr(datasets, "obtain", obtain)


def check_dataset(data: Dataset) -> None:
    """Assert what holds for each data set."""
    assert list(data.kinds) == list(data.descriptions) == list(data.X.columns)
    assert data.X.index.equals(data.y.index)
    assert data.y.dtype == "int64"
    assert set(data.y) == {0, 1}
    assert data.y.name not in data.X
    assert all(text.endswith(".") for text in data.descriptions.values())
    assert data.licence
    assert data.citation
    assert all(len(sha) == 64 for sha in data.checksums.values())
    assert not Path(data.source).is_absolute()


class TestBreastCancer:
    """BRE-5."""

    def test_counts(self):
        """569 samples, 212 malignant, 30 numeric features, none missing."""
        data = load_breast_cancer()
        check_dataset(data)
        assert data.X.shape == (569, 30)
        assert data.y.name == "malignant"
        assert data.y.sum() == 212
        assert not data.X.isna().to_numpy().any()
        assert set(data.kinds.values()) == {"numeric"}

    def test_same_as_the_csv_in_scikit_learn(self):
        """Features and labels equal scikit-learn's CSV read by hand (there 0 = malignant)."""
        path = resources.files("sklearn.datasets.data") / "breast_cancer.csv"
        with path.open(newline="") as lines:
            rows = list(csv.reader(lines))[1:]
        table = np.array(rows, dtype=float)
        data = load_breast_cancer()
        np.testing.assert_array_equal(data.X.to_numpy(), table[:, :-1])
        np.testing.assert_array_equal(data.y.to_numpy(), 1 - table[:, -1])

    def test_other_content_is_refused_with_both_hashes(self, monkeypatch):
        """One changed number in scikit-learn's copy is an error that shows both hashes."""
        bunch = sklearn.datasets.load_breast_cancer(as_frame=True)
        expected = next(iter(load_breast_cancer().checksums.values()))
        bunch.data.iloc[3, 4] += 0.001
        monkeypatch.setattr(sklearn.datasets, "load_breast_cancer", lambda **_: bunch)
        with pytest.raises(DataMismatchError) as caught:
            load_breast_cancer()
        found = frame_sha256(bunch.data.assign(malignant=(bunch.target == 0).astype(int)))
        assert found != expected
        assert f"expected SHA-256 {expected}, found {found}" in str(caught.value)

    def test_each_load_is_a_copy(self):
        """Changing a loaded table leaves the next one as published."""
        first = load_breast_cancer()
        first.X.iloc[0, 0] = -1.0
        assert load_breast_cancer().X.iloc[0, 0] > 0


class TestDataset:
    """The class itself."""

    def test_kinds_must_name_the_columns(self):
        """A column without a kind is refused."""
        data = load_breast_cancer()
        with pytest.raises(ValueError, match="kinds must name the columns of X"):
            dataclasses.replace(data, kinds={"mean radius": "numeric"})

    def test_one_index(self):
        """Features and target of different rows are refused."""
        data = load_breast_cancer()
        with pytest.raises(ValueError, match="share one index"):
            dataclasses.replace(data, y=data.y.iloc[::-1])

    def test_repr_is_one_line(self):
        """The representation says name, size, positives and source, not the table."""
        text = repr(load_breast_cancer())
        assert text.startswith("Dataset('breast_cancer': 569 rows, 30 features, 212 with malignant")
        assert "\n" not in text


@pytest.fixture
def small_cervical(monkeypatch):
    """Twenty made-up patients: three with gaps, two columns mostly empty."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (20, 36)).astype(float), columns=list(CERVICAL))
    table["Age"] = np.arange(20.0, 40.0)
    table.loc[[1, 4], "Smokes"] = np.nan
    table.loc[7, "Num of pregnancies"] = np.nan
    table.loc[:10, ["STDs: Time since first diagnosis", "STDs: Time since last diagnosis"]] = np.nan
    answer_with(monkeypatch, cervical_cancer=table)
    return table


class TestCervicalChoices:
    """What the paper leaves open is an argument."""

    def test_complete_cases(self, small_cervical):
        """Columns over half missing go, then rows with a gap; rows keep their number."""
        data = load_cervical_cancer()
        assert list(data.X.index) == [row for row in range(20) if row not in (1, 4, 7)]
        assert data.X.shape[1] == 30
        assert not any("Time since" in name for name in data.X.columns)
        np.testing.assert_array_equal(data.y, small_cervical.loc[data.X.index, "Schiller"])

    def test_half_missing_is_kept(self, small_cervical):
        """The limit is strict, a column with exactly half missing stays."""
        small_cervical.loc[:9, "IUD (years)"] = np.nan
        small_cervical.loc[10:, "IUD (years)"] = 1.0
        assert small_cervical["IUD (years)"].isna().mean() == 0.5
        assert "IUD (years)" in load_cervical_cancer(missing="keep").X.columns

    def test_keep(self, small_cervical):
        """Gaps stay where they are, for imputation inside training parts."""
        X = load_cervical_cancer(missing="keep").X
        pd.testing.assert_frame_equal(X, small_cervical[X.columns])
        assert X.isna().sum().sum() == 3

    def test_knn(self, small_cervical):
        """Each gap is the mean of the five nearest rows, searched by hand, then rounded."""
        data = load_cervical_cancer(missing="knn")
        features = small_cervical[data.X.columns].to_numpy()
        for row, name in ((1, "Smokes"), (4, "Smokes"), (7, "Num of pregnancies")):
            column = data.X.columns.get_loc(name)
            both = ~np.isnan(features) & ~np.isnan(features[row])
            squares = np.where(both, (features - features[row]) ** 2, 0).sum(axis=1)
            distance = squares * features.shape[1] / both.sum(axis=1)
            distance[np.isnan(features[:, column])] = np.inf
            votes = features[np.argsort(distance, kind="stable")[:5], column]
            assert data.X.loc[row, name] == float(votes.sum() >= 3)
        assert not data.X.isna().to_numpy().any()
        known = small_cervical[data.X.columns].notna().to_numpy()
        np.testing.assert_array_equal(data.X.to_numpy()[known], features[known])

    @pytest.mark.parametrize("target", datasets.CERVICAL_TARGETS)
    @pytest.mark.parametrize("missing", ["complete-case", "knn", "keep"])
    def test_other_outcomes(self, small_cervical, target, missing):
        """Case 25: the other outcomes are features only on request, the target never is."""
        dropped = load_cervical_cancer(target, missing)
        kept = load_cervical_cancer(target, missing, other_targets="keep")
        check_dataset(kept)
        others = [name for name in datasets.CERVICAL_TARGETS if name != target]
        assert list(kept.X.columns) == [*dropped.X.columns, *others]
        assert not set(datasets.CERVICAL_TARGETS) & set(dropped.X.columns)
        pd.testing.assert_frame_equal(kept.X[dropped.X.columns], dropped.X)
        assert kept.y.name == target
        np.testing.assert_array_equal(kept.y, small_cervical.loc[kept.y.index, target])

    @pytest.mark.usefixtures("small_cervical")
    def test_earlier_diagnoses(self):
        """Case 25: the four earlier diagnoses can be left out."""
        every = load_cervical_cancer()
        without = load_cervical_cancer(earlier_diagnoses="drop")
        assert set(every.X.columns) - set(without.X.columns) == set(datasets.CERVICAL_DIAGNOSES)

    @pytest.mark.usefixtures("small_cervical")
    def test_the_target_does_not_leak_into_imputed_features(self, small_cervical, monkeypatch):
        """Imputed features don't depend on the outcomes."""
        before = load_cervical_cancer(missing="knn").X
        flipped = small_cervical.copy()
        flipped[list(datasets.CERVICAL_TARGETS)] = 1 - flipped[list(datasets.CERVICAL_TARGETS)]
        answer_with(monkeypatch, cervical_cancer=flipped)
        pd.testing.assert_frame_equal(load_cervical_cancer(missing="knn").X, before)

    @pytest.mark.parametrize(
        ("argument", "value"),
        [
            ("target", "Citology"),
            ("missing", "drop"),
            ("other_targets", True),
            ("earlier_diagnoses", None),
        ],
    )
    def test_wrong_choices(self, argument, value):
        """The error names the argument, what it got and what it takes."""
        with pytest.raises(ValueError, match=f"{argument} must be one of '.*, got {value!r}"):
            load_cervical_cancer(**{argument: value})


@pytest.mark.data
class TestCervicalFacts:
    """CER-4 and the facts of the published file."""

    @pytest.fixture(autouse=True)
    def needs(self):
        """Skip without the file."""
        raw("risk_factors_cervical_cancer.csv")

    def test_published_table(self):
        """858 patients, 36 columns, numbers only, 23 repeated rows, 59 without any gap."""
        table, _ = _data_files.obtain("cervical_cancer")
        assert table.shape == (858, 36)
        assert (table.dtypes == "float64").all()
        assert table.duplicated().sum() == 23
        assert len(table.dropna()) == 59
        mostly_empty = table.columns[table.isna().mean() > 0.5]
        assert list(mostly_empty) == [
            "STDs: Time since first diagnosis",
            "STDs: Time since last diagnosis",
        ]

    def test_every_entry_equals_the_file(self):
        """The table is the file, read line by line with the standard library."""
        with raw("risk_factors_cervical_cancer.csv").open(newline="") as lines:
            rows = list(csv.reader(lines))
        table, _ = _data_files.obtain("cervical_cancer")
        assert rows[0] == list(table.columns)
        expected = [[np.nan if cell == "?" else float(cell) for cell in row] for row in rows[1:]]
        np.testing.assert_array_equal(table.to_numpy(), expected)

    def test_complete_cases(self):
        """668 complete rows, 30 features, 63 with Schiller = 1; two columns are constant."""
        data = load_cervical_cancer()
        check_dataset(data)
        assert data.X.shape == (668, 30)
        assert data.y.sum() == 63
        assert (data.X.min() == data.X.max()).sum() == 2
        assert len(load_cervical_cancer(other_targets="keep").X.columns) + 1 == 34

    @pytest.mark.parametrize("missing", ["knn", "keep"])
    def test_all_rows(self, missing):
        """858 rows, 74 with Schiller = 1; imputed answers are whole where answers are."""
        data = load_cervical_cancer(missing=missing)
        check_dataset(data)
        assert data.X.shape == (858, 30)
        assert data.y.sum() == 74
        if missing == "knn":
            assert not data.X.isna().to_numpy().any()
            nominal = [name for name, kind in data.kinds.items() if kind == "nominal"]
            assert set(np.unique(data.X[nominal])) == {0, 1}

    def test_the_publishers_own_file(self, monkeypatch, tmp_path):
        """UCI spells it Citology; that file has UCI's checksum and loads to the same table."""
        content = raw("risk_factors_cervical_cancer.csv").read_bytes()
        expected = load_cervical_cancer().X
        theirs = content.replace(b"Cytology", b"Citology")
        path = tmp_path / "risk_factors_cervical_cancer.csv"
        path.write_bytes(theirs)
        known = registry()["cervical_cancer"]["tables"]["cervical_cancer"]["known_files"]
        assert _data_files.file_sha256(path) == known[path.name][0]
        monkeypatch.setenv("PVF_DATA_DIR", str(tmp_path))
        pd.testing.assert_frame_equal(load_cervical_cancer().X, expected)

    def test_one_changed_byte_is_refused(self, monkeypatch, tmp_path):
        """An altered file is not used, and the error shows the hashes."""
        content = bytearray(raw("risk_factors_cervical_cancer.csv").read_bytes())
        place = content.index(b"\n") + 1
        content[place : place + 2] = b"81"
        path = tmp_path / "risk_factors_cervical_cancer.csv"
        path.write_bytes(content)
        monkeypatch.setenv("PVF_DATA_DIR", str(tmp_path))
        with pytest.raises(DataMismatchError) as caught:
            load_cervical_cancer()
        table = registry()["cervical_cancer"]["tables"]["cervical_cancer"]
        assert table["checksums"]["table"] in str(caught.value)
        assert _data_files.file_sha256(path) in str(caught.value)
        assert all(sha in str(caught.value) for sha in table["known_files"][path.name])

    def test_the_whole_table_through_the_client(self, monkeypatch, tmp_path):
        """What ``ucimlrepo`` makes of the published file has the checksum on record."""
        content = raw("risk_factors_cervical_cancer.csv").read_bytes()
        content = content.replace(b"Cytology", b"Citology")
        expected = load_cervical_cancer().X
        names = content.decode().splitlines()[0].split(",")
        monkeypatch.delenv("PVF_DATA_DIR")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        with fake.publisher() as house:
            answer = fake.uci_answer(383, names, f"{house.url}/data.csv")
            house.answers["/api"] = fake.body(answer, kind="application/json")
            house.answers["/data.csv"] = fake.body(content)
            monkeypatch.setattr(ucimlrepo.fetch, "API_BASE_URL", f"{house.url}/api")
            client = ucimlrepo.fetch_ucirepo(id=383)
            assert client.data.targets is None
            data = load_cervical_cancer()
        assert "ucimlrepo, UCI 383" in data.source
        pd.testing.assert_frame_equal(data.X, expected)


class TestImputer:
    """Case 27: imputation that can be fitted on the training part alone."""

    kinds = MappingProxyType({"age": "numeric", "smokes": "nominal", "births": "ordinal"})

    def frame(self, *rows: tuple) -> pd.DataFrame:
        """Build a frame of the three columns."""
        return pd.DataFrame(rows, columns=list(self.kinds), dtype=float)

    def test_donors_are_training_rows(self):
        """A gap in a later row is filled from the rows of the fit, never from its neighbours."""
        training = self.frame((20, 0, 0), (21, 0, 0), (60, 1, 5), (61, 1, 6))
        imputer = knn_imputer(self.kinds, n_neighbors=2).fit(training)
        later = self.frame((20.5, np.nan, 1), (20.5, 1, 1), (20.4, 1, 1), (60.5, 1, np.nan))
        filled = imputer.transform(later)
        assert list(filled.columns) == list(self.kinds)
        assert filled.loc[0, "smokes"] == 0
        assert filled.loc[3, "births"] == 6  # mean 5.5, halves upwards

    def test_numbers_are_means(self):
        """A numeric gap gets the mean itself."""
        training = self.frame((20, 0, 0), (25, 0, 0), (60, 1, 5))
        filled = knn_imputer(self.kinds, 2).fit(training).transform(self.frame((np.nan, 0, 0)))
        assert filled.loc[0, "age"] == 22.5

    def test_an_empty_column(self):
        """Nothing to impute from is an error, not a zero."""
        with pytest.raises(ValueError, match=r"got none in \['smokes'\]"):
            knn_imputer(self.kinds).fit_transform(self.frame((1, np.nan, 0), (2, np.nan, 1)))

    @pytest.mark.parametrize("number", [0, 2.5, "5"])
    def test_neighbours(self, number):
        """The number of neighbours is a whole number of at least 1."""
        with pytest.raises((TypeError, ValueError), match="n_neighbors must be"):
            knn_imputer(self.kinds, number)


class TestAdult:
    """Adult."""

    @pytest.mark.data
    def test_facts(self):
        """The publisher's counts: rows, positives and complete rows of both parts."""
        for name in ("adult.data", "adult.test"):
            raw(name)
        counts = {"train": (32561, 7841, 30162), "test": (16281, 3846, 15060)}
        for part, (rows, positive, complete) in counts.items():
            data = load_adult(part)
            check_dataset(data)
            assert data.X.shape == (rows, 14)
            assert data.y.sum() == positive
            assert len(load_adult(part, missing="complete-case").X) == complete
        both = load_adult("all")
        assert both.X.shape == (48842, 14)
        assert list(both.checksums) == ["adult_train table", "adult_test table"]

    @pytest.mark.data
    def test_every_entry_equals_the_file(self):
        """The table is the file, read line by line with the standard library."""
        with raw("adult.data").open(newline="") as lines:
            rows = [row for row in csv.reader(lines, skipinitialspace=True) if row]
        data = load_adult()
        for place, (name, column) in enumerate(data.X.items()):
            texts = [None if pd.isna(value) else str(value) for value in column]
            assert texts == [None if row[place] == "?" else row[place] for row in rows], name
        np.testing.assert_array_equal(data.y == 1, [row[-1] == ">50K" for row in rows])

    @pytest.mark.data
    def test_education_is_ordered_by_its_level(self):
        """The text and the number of a level agree."""
        raw("adult.data")
        X = load_adult().X
        assert X["education"].dtype.ordered
        np.testing.assert_array_equal(X["education"].cat.codes + 1, X["education-num"])

    def test_wrong_choices(self):
        """The error names the argument."""
        with pytest.raises(ValueError, match="part must be one of 'train', 'test', 'all'"):
            load_adult("both")
        with pytest.raises(ValueError, match="missing must be one of"):
            load_adult(missing="knn")


@pytest.mark.data
class TestCompas:
    """COMPAS."""

    @pytest.fixture(autouse=True)
    def needs(self):
        """Skip without the file."""
        raw("compas-scores-two-years.csv")

    def test_facts(self):
        """7,214 defendants, 6,172 after ProPublica's filter, 3,251 and 2,809 charged again."""
        every, screened = load_compas("all"), load_compas()
        check_dataset(every)
        check_dataset(screened)
        assert (len(every.X), every.y.sum()) == (7214, 3251)
        assert (len(screened.X), screened.y.sum()) == (6172, 2809)
        assert not screened.X.isna().to_numpy().any()

    def test_no_outcome_among_the_features(self):
        """Neither outcome, nor a date or number of a person, is a feature."""
        X = load_compas("all", scores="keep").X
        absent = {"id", "c_jail_in", "c_jail_out", "is_recid", "two_year_recid", "name", "dob"}
        assert not absent & set(X.columns)
        assert set(X.columns) - set(load_compas("all").X.columns) == {"decile_score", "score_text"}
        assert X["score_text"].dtype.ordered
        assert X.groupby("score_text", observed=True)["decile_score"].min().is_monotonic_increasing

    def test_length_of_stay(self):
        """Whole days between the two dates of the file."""
        with raw("compas-scores-two-years.csv").open(newline="") as lines:
            row = next(csv.DictReader(lines))
        stay = np.datetime64(row["c_jail_out"]) - np.datetime64(row["c_jail_in"])
        days = stay.astype("timedelta64[D]").astype(int)
        assert load_compas("all").X["length_of_stay"].iloc[0] == days

    def test_wrong_choices(self):
        """The error names the argument."""
        for argument in ("rows", "target", "scores"):
            with pytest.raises(ValueError, match=f"{argument} must be one of"):
                load_compas(**{argument: "some"})


class TestConnect4:
    """Connect-4, on made-up boards: the file is not here."""

    @pytest.fixture
    def boards(self, monkeypatch):
        """Three boards, one of each outcome."""
        table = pd.DataFrame([["b"] * 40 + ["x", "o"]] * 3, columns=list(SQUARES)).assign(
            **{"class": ["win", "loss", "draw"]}
        )
        answer_with(monkeypatch, connect4=table)

    @pytest.mark.usefixtures("boards")
    def test_draws(self):
        """Draws are dropped, or kept among the negatives."""
        dropped, kept = load_connect4(), load_connect4("keep")
        check_dataset(dropped)
        assert dropped.y.tolist() == [1, 0]
        assert kept.y.tolist() == [1, 0, 0]
        assert dropped.y.name == "win"
        assert list(dropped.X["a1"].cat.categories) == ["b", "x", "o"]
        assert dropped.X.iloc[0].tolist() == ["b"] * 40 + ["x", "o"]

    @pytest.mark.data
    def test_facts(self):
        """61,108 positions won or lost; the paper's numbers."""
        raw("connect-4.data")
        data = load_connect4()
        check_dataset(data)
        assert data.X.shape == (61108, 42)
        assert data.y.sum() == 44473
        assert len(load_connect4("keep").X) == 67557


class TestMnistPair:
    """MNIST."""

    @pytest.mark.data
    def test_facts(self):
        """980 zeros and 1,135 ones in the test part, as grey values."""
        raw("t10k-images-idx3-ubyte.gz")
        data = load_mnist_pair(0, 1)
        check_dataset(data)
        assert data.X.shape == (2115, 784)
        assert (data.y == 0).sum() == 980
        assert (data.y == 1).sum() == 1135
        assert (data.X.dtypes == "uint8").all()
        assert data.y.name == "digit_1"

    @pytest.mark.data
    def test_a_one_is_thinner_than_a_zero(self):
        """The labels belong to the images: zeros have more ink, and an empty middle."""
        raw("t10k-images-idx3-ubyte.gz")
        data = load_mnist_pair(0, 1)
        ink = data.X.to_numpy().sum(axis=1)
        assert np.median(ink[data.y == 0]) > 1.5 * np.median(ink[data.y == 1])
        middle = data.X[PIXELS[14 * 28 + 14]].to_numpy()
        assert (middle[data.y == 1] > 128).mean() > 0.9
        assert (middle[data.y == 0] > 128).mean() < 0.1

    @pytest.mark.data
    def test_the_second_digit_is_the_positive_one(self):
        """Exchanging the digits exchanges the labels."""
        raw("t10k-images-idx3-ubyte.gz")
        one, other = load_mnist_pair(3, 8), load_mnist_pair(8, 3)
        np.testing.assert_array_equal(one.y, 1 - other.y)
        pd.testing.assert_frame_equal(one.X, other.X)

    def test_parts_are_joined(self, monkeypatch):
        """With part="all" the training part comes first."""
        frames = {
            "mnist_train": pd.DataFrame([[1] * 784 + [0], [2] * 784 + [5]]),
            "mnist_test": pd.DataFrame([[3] * 784 + [1]]),
        }
        for frame in frames.values():
            frame.columns = [*PIXELS, "digit"]
        answer_with(monkeypatch, **frames)
        data = load_mnist_pair(0, 1, part="all")
        assert data.X["pixel1"].tolist() == [1, 3]
        assert data.y.tolist() == [0, 1]
        assert data.source == "made-up mnist_train; made-up mnist_test"

    @pytest.mark.parametrize(
        ("digits", "fault"),
        [
            ((0, 10), "positive must be a digit"),
            ((-1, 1), "negative must be at least 0"),
            ((1, 1), "positive must differ"),
            ((0.0, 1), "negative must be a whole number"),
        ],
    )
    def test_wrong_digits(self, digits, fault):
        """The error names the argument."""
        with pytest.raises((TypeError, ValueError), match=fault):
            load_mnist_pair(*digits)

    def test_wrong_part(self):
        """The error names the argument."""
        with pytest.raises(ValueError, match="part must be one of"):
            load_mnist_pair(0, 1, part="both")


class TestClusters:
    """The generator of App. C.1."""

    @pytest.mark.parametrize(
        ("n_samples", "positives"), [(50, 10), (100, 20), (5, 1), (7, 1), (8, 2)]
    )
    def test_one_in_five_is_positive(self, n_samples, positives):
        """80 to 20, exactly, or to the nearest whole number."""
        X, y = make_clusters(n_samples, 1.0, np.random.default_rng(3))
        assert X.shape == (n_samples, 5)
        assert list(X.columns) == ["x1", "x2", "x3", "x4", "x5"]
        assert y.sum() == positives
        assert y.dtype == "int64"

    def test_centres(self):
        """Means are (0, 0) and (mu, mu) in the first two features, 0 elsewhere; variance 1."""
        X, y = make_clusters(40_000, 1.7, np.random.default_rng(5))
        for label, centre in ((0, 0.0), (1, 1.7)):
            group = X[y == label]
            expected = np.array([centre, centre, 0, 0, 0])
            error = stats.norm.isf(1e-6) / np.sqrt(len(group))
            assert (abs(group.mean() - expected) < error).all()
            assert (abs(group.var() - 1) < np.sqrt(2) * error).all()
            off_diagonal = group.corr().to_numpy()[~np.eye(5, dtype=bool)]
            assert (abs(off_diagonal) < error).all()

    def test_mu_only_shifts(self):
        """With one seed, another mu moves the positives' first two features and nothing else."""
        near, labels = make_clusters(60, 0.1, np.random.default_rng(8))
        far, same = make_clusters(60, 2.9, np.random.default_rng(8))
        np.testing.assert_array_equal(labels, same)
        shift = np.outer(labels, [2.8, 2.8, 0, 0, 0])
        np.testing.assert_allclose(far - near, shift, atol=1e-12)

    def test_negatives_come_first(self):
        """The rows are in the order of the classes, as the docstring says."""
        labels = make_clusters(50, 1.0, np.random.default_rng(1))[1]
        assert labels.tolist() == [0] * 40 + [1] * 10

    def test_seed_and_global_state(self):
        """The generator decides all; the global one is not touched."""
        before = np.random.get_state()[1].copy()  # noqa: NPY002  that it stays is the test
        first = make_clusters(50, 1.0, np.random.default_rng(2))[0]
        second = make_clusters(50, 1.0, np.random.default_rng(2))[0]
        other = make_clusters(50, 1.0, np.random.default_rng(4))[0]
        pd.testing.assert_frame_equal(first, second)
        assert not first.equals(other)
        np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002

    @pytest.mark.parametrize(
        ("arguments", "error", "fault"),
        [
            ((4, 1.0), ValueError, "n_samples must be at least 5, got 4"),
            ((50.0, 1.0), TypeError, "n_samples must be a whole number"),
            ((50, np.nan), ValueError, "mu must be finite"),
            ((50, -0.1), ValueError, "mu must be finite and at least 0"),
            ((50, "1"), TypeError, "mu must be a number"),
            ((50, [1.0, 2.0]), TypeError, "mu must be a number"),
        ],
    )
    def test_wrong_arguments(self, arguments, error, fault):
        """The error names the argument."""
        with pytest.raises(error, match=fault):
            make_clusters(*arguments, np.random.default_rng(0))

    @pytest.mark.parametrize("rng", [0, None, np.random.RandomState(0)])
    def test_wrong_generator(self, rng):
        """A seed is no generator."""
        with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator"):
            make_clusters(50, 1.0, rng)
