"""Data sets: content, kinds, and what is refused."""

import csv
from importlib import resources

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

from pvf import datasets
from pvf.datasets import DataError, frame_sha256, load_breast_cancer


class TestFrameHash:
    """What the content hash sees and what it ignores."""

    base = pd.DataFrame({"a": [1.0, 2.5, np.nan], "b": ["x", "y", None]})

    @pytest.mark.parametrize(
        "same",
        [
            pytest.param(base.set_index(pd.Index([7, 8, 9])), id="index"),
            pytest.param(base.astype({"b": "category"}), id="category"),
            pytest.param(base.astype({"a": "Float64", "b": "string"}), id="nullable"),
            pytest.param(base.assign(a=base["a"] * (1 + 1e-15)), id="last-bit"),
        ],
    )
    def test_ignores_representation(self, same):
        """Index, dtype and the last bit of a parsed decimal do not count."""
        assert frame_sha256(same) == frame_sha256(self.base)

    @pytest.mark.parametrize(
        "other",
        [
            pytest.param(base.rename(columns={"a": "A"}), id="name"),
            pytest.param(base[["b", "a"]], id="column-order"),
            pytest.param(base.iloc[[1, 0, 2]], id="row-order"),
            pytest.param(base.iloc[:2], id="row-lost"),
            pytest.param(base.assign(a=[1.0, 2.5, 0.0]), id="gap-filled"),
            pytest.param(base.assign(a=[1.0, 2.5000001, np.nan]), id="value"),
            pytest.param(base.assign(b=["x", "y", "None"]), id="text-None"),
            pytest.param(base.assign(a=["1", "2.5", None]), id="number-as-text"),
        ],
    )
    def test_sees_content(self, other):
        """Names, order, values and gaps each change the hash."""
        assert frame_sha256(other) != frame_sha256(self.base)

    def test_refuses_objects(self):
        """A column of lists has no content hash, and the error names it."""
        with pytest.raises(ValueError, match="'odd'"):
            frame_sha256(pd.DataFrame({"odd": [[1], [2]]}))


class TestBreastCancer:
    """BRE-5 and the shape every loader shares."""

    def test_counts(self):
        """569 samples, 212 malignant, 30 numeric features, none missing."""
        data = load_breast_cancer()
        assert data.X.shape == (569, 30)
        assert data.y.name == "malignant"
        assert data.y.sum() == 212
        assert set(data.y) == {0, 1}
        assert not data.frame.isna().to_numpy().any()
        assert data.columns_of("numeric") == list(data.X.columns)

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
        bunch.data.iloc[3, 4] += 0.001
        monkeypatch.setattr(sklearn.datasets, "load_breast_cancer", lambda **_: bunch)
        with pytest.raises(DataError) as caught:
            load_breast_cancer()
        expected = datasets._BREAST_SHA256
        found = frame_sha256(
            bunch.data.assign(malignant=(bunch.target == 0).astype(int)),
        )
        assert found != expected
        assert expected in str(caught.value)
        assert found in str(caught.value)

    def test_each_load_is_a_copy(self):
        """Changing a loaded table leaves the next one as published."""
        first = load_breast_cancer()
        first.X.iloc[0, 0] = -1.0
        assert load_breast_cancer().X.iloc[0, 0] > 0

    def test_every_column_is_described(self):
        """The table of variables has a kind and a sentence for each column."""
        table = load_breast_cancer().variables
        assert list(table.columns) == ["kind", "description"]
        assert table["description"].str.endswith(".").all()
        assert table.notna().to_numpy().all()
