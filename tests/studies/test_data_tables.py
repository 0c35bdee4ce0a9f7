"""Canonical tables: every copy of a data set becomes the same bits, or is named as faulty."""

import gzip
import hashlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.data.tables import (
    PIXELS,
    SQUARES,
    DataMismatchError,
    canonical_frame,
    frame_sha256,
    match_columns,
    registry,
    tables,
    twelve_digits,
)


class TestFrameHash:
    """What the content hash sees and what it ignores."""

    base = pd.DataFrame({"a": [1.0, 2.5, np.nan], "b": ["x", "y", None]})

    @pytest.mark.parametrize(
        "same",
        [
            pytest.param(base.set_index(pd.Index([7, 8, 9])), id="index"),
            pytest.param(base.astype({"b": "category"}), id="category"),
            pytest.param(base.astype({"b": object}), id="object"),
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

    @given(st.decimals(-(10**6), 10**6, places=6).filter(bool))
    def test_decimals_survive_a_parser_that_errs_in_the_last_bit(self, decimal):
        """Twelve digits undo one unit in the last place and change no published decimal."""
        exact = float(decimal)
        near = np.array([np.nextafter(exact, -np.inf), exact, np.nextafter(exact, np.inf)])
        np.testing.assert_array_equal(twelve_digits(near), exact)

    def test_zero_has_one_sign(self):
        """-0 and 0 are one number, to the bit."""
        assert not np.signbit(twelve_digits(np.array([-0.0]))).any()


class TestColumns:
    """Columns are matched by name."""

    def test_spaces_and_case_do_not_count(self):
        """Copies differ in them; the canonical names and order come out."""
        table = pd.DataFrame({"b: C": [1], " A": [2]})
        matched = match_columns(table, ["a", "B:c"])
        assert matched.to_dict("list") == {"a": [2], "B:c": [1]}

    @pytest.mark.parametrize(
        ("names", "fault"),
        [
            pytest.param(["a", "c"], "unknown column 'c'", id="unknown"),
            pytest.param(["a"], "column 'b' is missing", id="missing"),
            pytest.param(["a", "b", "B"], "column 'b' is there twice", id="twice"),
            pytest.param(["a", "b", "other"], "column 'b' is there twice", id="alias-twice"),
        ],
    )
    def test_faults_name_the_column(self, names, fault):
        """Case 23: an unknown header is named."""
        with pytest.raises(DataMismatchError, match=fault):
            match_columns(
                pd.DataFrame([range(len(names))], columns=names), ["a", "b"], {"other": "b"}
            )


class TestValues:
    """Text becomes numbers and gaps whatever pandas calls it."""

    @pytest.mark.parametrize("dtype", [object, "str", "string", "category"])
    def test_question_marks(self, dtype):
        """Case 24: ``?`` is a gap under each dtype that pandas reads text as."""
        column = pd.Series(["1", " ?", "", "2.50", "1"]).astype(dtype)
        frame = canonical_frame(pd.DataFrame({"n": column, "t": column}), text=["t"])
        np.testing.assert_array_equal(frame["n"], [1, np.nan, np.nan, 2.5, 1])
        assert frame["n"].dtype == "float64"
        assert frame["t"].tolist() == ["1", None, None, "2.50", "1"]

    def test_gaps_of_pandas_itself(self):
        """NaN and None of a table that someone else parsed are gaps too."""
        frame = canonical_frame(pd.DataFrame({"n": [1.5, np.nan], "t": ["x", None]}), text=["t"])
        assert frame["n"].isna().tolist() == [False, True]
        assert frame["t"].tolist() == ["x", None]

    @pytest.mark.parametrize("text", ["x", "nan", "-inf", "1,5", "1e999"])
    def test_not_a_number(self, text):
        """The fault names column, row and text."""
        table = pd.DataFrame({"age": ["3", text, text]})
        with pytest.raises(DataMismatchError, match=f"'age', row 2: '{text}' is not a number"):
            canonical_frame(table)


def idx(array: np.ndarray) -> bytes:
    """Write an array in the IDX format, as the publishers of MNIST describe it."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


class TestDigits:
    """MNIST's files."""

    images = np.arange(3 * 784).reshape(3, 28, 28) % 251
    labels = np.array([7, 0, 1])

    def write(self, folder, *, zipped: bool) -> list:
        """Write both files and return their paths."""
        paths = [folder / "images", folder / "labels"]
        for path, array in zip(paths, (self.images, self.labels), strict=True):
            path.write_bytes(gzip.compress(idx(array)) if zipped else idx(array))
        return paths

    @pytest.mark.parametrize("zipped", [True, False])
    def test_read(self, tmp_path, zipped):
        """Pixels run along the rows; the checksums are those of the unpacked files."""
        table = tables()["mnist_test"]
        frame = table.read(self.write(tmp_path, zipped=zipped))
        np.testing.assert_array_equal(frame[list(PIXELS)].to_numpy(), self.images.reshape(3, 784))
        assert frame["digit"].tolist() == [7, 0, 1]
        assert table.fingerprint(frame, {}) == {
            "images": hashlib.sha256(idx(self.images)).hexdigest(),
            "labels": hashlib.sha256(idx(self.labels)).hexdigest(),
        }

    def test_faults(self, tmp_path):
        """A file cut short, of another kind, or of another length is named."""
        images, labels = self.write(tmp_path, zipped=True)
        read = tables()["mnist_test"].read
        labels.write_bytes(idx(self.images))
        with pytest.raises(DataMismatchError, match="labels is not an IDX file of the kind"):
            read([images, labels])
        labels.write_bytes(idx(self.labels[:2]))
        with pytest.raises(DataMismatchError, match="2352 pixels of images do not fit 2 labels"):
            read([images, labels])
        images.write_bytes(images.read_bytes()[:-20])
        with pytest.raises(DataMismatchError, match="images is not whole"):
            read([images, labels])


class TestBoard:
    """Connect-4's file: its checksum is that of the text, whatever route it took."""

    rows = ("b," * 40 + "x,o,win", "x," * 41 + "b,draw", "o," * 42 + "loss")

    @pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
    @pytest.mark.parametrize("tail", [0, 1, 2])
    def test_checksum(self, tmp_path, newline, tail):
        """The file's own SHA-256 comes out of the table that was read from it."""
        path = tmp_path / "connect-4.data"
        content = (newline.join(self.rows) + tail * newline).encode()
        path.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        table = tables()["connect4"]
        frame = table.read([path])
        assert list(frame.columns) == [*SQUARES, "class"]
        assert table.fingerprint(frame, {"text": digest}) == {"text": digest}
        changed = frame.assign(c3="o")
        assert table.fingerprint(changed, {"text": digest}) != {"text": digest}

    def test_squares_are_numbered_up_the_files(self):
        """a1 to a6, then b1: the publisher's order."""
        assert SQUARES[:7] == ("a1", "a2", "a3", "a4", "a5", "a6", "b1")
        assert len(SQUARES) == 42

    def test_table_with_a_header(self, tmp_path):
        """A client's table with named columns gives the same frame as the file."""
        cells = [row.split(",") for row in self.rows]
        table = pd.DataFrame(cells, columns=[*SQUARES, "class"])
        table[["class", *SQUARES[::-1]]].to_csv(tmp_path / "named", index=False)
        table.to_csv(tmp_path / "bare", index=False, header=False)
        named, bare = (tables()["connect4"].read([tmp_path / name]) for name in ("named", "bare"))
        pd.testing.assert_frame_equal(named, bare)


class TestRegistry:
    """``registry.toml`` is whole."""

    @pytest.mark.parametrize("name", registry())
    def test_what_a_reader_needs(self, name):
        """Each data set has a title, a licence, a citation, a page, and tables."""
        known = registry()[name]
        for key in ("title", "licence", "citation", "page", "summary"):
            assert isinstance(known[key], str)
            assert known[key]
        assert known["page"].startswith("https://")
        for table in known["tables"].values():
            sums = list(table["checksums"].values())
            sums += [sha for known in table.get("known_files", {}).values() for sha in known]
            assert all(len(sha) == 64 and int(sha, 16) for sha in sums)
            assert set(table.get("known_files", {})) <= set(table["files"])

    @pytest.mark.parametrize("name", [name for name in registry() if "columns" in registry()[name]])
    def test_each_kind_has_its_reason(self, name):
        """A description ends in its kind and why."""
        for kind, text in registry()[name]["columns"].values():
            assert kind in {"numeric", "nominal", "ordinal"}
            assert f" {kind.capitalize()}: " in text
            assert text.endswith(".")
