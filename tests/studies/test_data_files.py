"""Where data come from, and what happens when a place fails or holds something else."""

import dataclasses
import gzip
import hashlib
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

import fake_publisher as fake
import numpy as np
import pandas as pd
import pytest
import ucimlrepo

from studies.data import files as _data_files
from studies.data.files import FOLDER_VARIABLE, obtain
from studies.data.tables import (
    PIXELS,
    DataError,
    DataMismatchError,
    DataUnavailableError,
    frame_sha256,
    registry,
    tables,
)

COMPAS_PLACE = "/compas-scores-two-years.csv"
CERVICAL_FILE = "risk_factors_cervical_cancer.csv"
CERVICAL_NAMES = list(registry()["cervical_cancer"]["columns"])
ROWS = 6


def small_table() -> np.ndarray:
    """Made-up answers of six patients to the 36 questions, three of them missing."""
    values = np.arange(ROWS * 36).reshape(ROWS, 36) % 5 + 0.25
    values[0, 2] = values[3, 26] = values[5, 27] = np.nan
    return values


def small_csv(third: str = "Cytology", values: np.ndarray | None = None) -> bytes:
    """Write the small table as the publisher would, by hand."""
    names = [third if name == "Cytology" else name for name in CERVICAL_NAMES]
    rows = small_table() if values is None else values
    lines = [",".join("?" if np.isnan(value) else f"{value:g}" for value in row) for row in rows]
    return "\n".join([",".join(names), *lines, ""]).encode()


SMALL_SHA256 = frame_sha256(pd.DataFrame(small_table(), columns=CERVICAL_NAMES))


def shrink(monkeypatch, name: str, rows: int, **checksums: str) -> None:
    """Let one table be a small made-up one."""
    table = dataclasses.replace(tables()[name], rows=rows, checksums=checksums)
    monkeypatch.setitem(tables(), name, table)


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No raw data, an empty cache, and a network that refuses every connection."""
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for scheme in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(scheme, "http://127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")


@pytest.fixture
def uci(monkeypatch):
    """UCI on this machine, with a small cervical table."""
    shrink(monkeypatch, "cervical_cancer", ROWS, table=SMALL_SHA256)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with fake.publisher() as house:
        monkeypatch.setattr(ucimlrepo.fetch, "API_BASE_URL", f"{house.url}/api")
        serve_cervical(house)
        yield house


def serve_cervical(house, content: bytes | None = None) -> None:
    """Answer as UCI does for data set 383: every column is a feature, none a target."""
    content = small_csv("Citology") if content is None else content
    names = content.decode().splitlines()[0].split(",")
    url = f"{house.url}/data.csv"
    house.answers["/api"] = fake.body(fake.uci_answer(383, names, url), kind="application/json")
    house.answers["/data.csv"] = fake.body(content)


def raw_folder(monkeypatch, folder: Path, **files: bytes) -> Path:
    """Fill a folder and let ``$PVF_DATA_DIR`` name it."""
    folder = folder / "raw"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    return folder


def cached_files() -> list[str]:
    """Names of all files in the cache, hidden ones too."""
    folder = _data_files.cache_folder()
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def assert_small(frame: pd.DataFrame) -> None:
    assert list(frame.columns) == CERVICAL_NAMES
    np.testing.assert_array_equal(frame.to_numpy(), small_table())
    assert (frame.dtypes == "float64").all()


class TestGoodAnswer:
    """``ucimlrepo`` works."""

    def test_the_four_outcomes_are_read_from_the_original_table(self, uci):
        """UCI names no target for these data (case 22), yet all 36 columns arrive."""
        frame, where = obtain("cervical_cancer")
        assert_small(frame)
        assert "ucimlrepo, UCI 383" in where
        assert uci.requests == ["/api", "/data.csv"]

    def test_the_second_load_asks_nobody(self, uci):
        """A checked answer is in the cache, whole, and alone."""
        obtain("cervical_cancer")
        uci.requests.clear()
        frame, where = obtain("cervical_cancer", download=False)
        assert_small(frame)
        assert where == f"cache/{CERVICAL_FILE}"
        assert cached_files() == [CERVICAL_FILE]
        assert uci.requests == []

    def test_each_part_of_adult_is_cut_from_the_one_answer(self, monkeypatch, uci):
        """Rows with a dot after the income are the test part; gaps may be ? or empty."""
        names = list(registry()["adult"]["columns"])
        train = "39, State-gov, 77516, Bachelors, 13, a, ?, b, c, Male, 2174, 0, 40, US, <=50K"
        test = "25, ?, 226802, 11th, 7, d, e, f, g, Male, 0, 0, 40, US, >50K."
        merged = f"{','.join(names)}\n{train}\n{test.replace(' ?,', ',')}\n".replace(", ", ",")
        expected = {}
        for name, row in (("adult_train", train), ("adult_test", test.rstrip("."))):
            cells = [None if cell == "?" else cell for cell in row.split(", ")]
            frame = pd.DataFrame([cells], columns=names)
            for column in ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss"):
                frame[column] = frame[column].astype(float)
            frame["hours-per-week"] = frame["hours-per-week"].astype(float)
            expected[name] = frame
            shrink(monkeypatch, name, 1, table=frame_sha256(frame))
        answer = fake.uci_answer(2, names, f"{uci.url}/data.csv", income="Target")
        uci.answers["/api"] = fake.body(answer, kind="application/json")
        uci.answers["/data.csv"] = fake.body(merged.encode())
        for name in ("adult_train", "adult_test"):
            downloaded, _ = obtain(name)
            cached, where = obtain(name, download=False)
            assert where.startswith("cache/adult.")
            assert frame_sha256(downloaded) == frame_sha256(cached) == frame_sha256(expected[name])
        raw = {"adult.data": f"{train}\n\n", "adult.test": f"|1x3 Cross validator\n{test}\n\n"}
        raw_folder(monkeypatch, uci_folder(), **{k: v.encode() for k, v in raw.items()})
        for name in ("adult_train", "adult_test"):
            frame, where = obtain(name)
            assert where.startswith(f"${FOLDER_VARIABLE}/adult.")
            assert frame_sha256(frame) == frame_sha256(expected[name])


def uci_folder() -> Path:
    """Return the folder of this test, in which its cache is."""
    return Path(os.environ["XDG_CACHE_HOME"]).parent


BROKEN = {
    "502": lambda house: house.answers.update({"/api": fake.page(502)}),
    "502-data": lambda house: house.answers.update({"/data.csv": fake.page(502)}),
    "html-200": lambda house: house.answers.update({"/api": fake.page(200)}),
    "html-200-data": lambda house: house.answers.update({"/data.csv": fake.page(200)}),
    "dropped": lambda house: house.answers.update({"/api": fake.hang_up}),
    "dropped-data": lambda house: house.answers.update(
        {"/data.csv": fake.half(small_csv(), announced=True)}
    ),
    "not-for-import": lambda house: house.answers.update(
        {"/api": fake.body(fake.uci_answer(383, CERVICAL_NAMES, None))}
    ),
    "no-such-set": lambda house: house.answers.update(
        {"/api": fake.body(json.dumps({"status": 404, "message": "No dataset 383"}).encode())}
    ),
}
CAUSES = {
    "502": "HTTP Error 502: Bad Gateway",
    "502-data": "HTTP Error 502: Bad Gateway",
    "html-200": "the answer is not JSON, often an error page",
    "html-200-data": "the table lacks columns, often an error page",
    "dropped": "Remote end closed connection without response",
    "dropped-data": "IncompleteRead",
    "not-for-import": "is not available for import",
    "no-such-set": "No dataset 383",
}


def assert_one_error(error: DataError) -> None:
    """Say what was tried and which file to put where."""
    text = str(error)
    assert f"${FOLDER_VARIABLE} is not set" in text
    assert "the cache has no " in text
    assert "ucimlrepo, UCI 383" in text
    assert f"get {CERVICAL_FILE} from https://archive.ics.uci.edu/dataset/383/" in text
    assert f"put it into a folder, and set {FOLDER_VARIABLE}" in text


class TestBrokenAnswer:
    """Cases 19 to 21: one error, in bounded time, with the true cause."""

    @pytest.mark.parametrize("kind", BROKEN)
    def test_ends_in_one_error(self, uci, kind):
        """Each way to fail says what was tried, why it failed and which file to put where."""
        BROKEN[kind](uci)
        with pytest.raises(DataUnavailableError) as caught:
            obtain("cervical_cancer")
        assert_one_error(caught.value)
        assert CAUSES[kind] in str(caught.value)
        assert cached_files() == []

    def test_silence_of_the_server(self, monkeypatch, uci):
        """A server that takes the request and never answers is left when the time is up."""
        monkeypatch.setattr(_data_files, "SECONDS", 0.5)
        uci.answers["/api"] = fake.silence(uci)
        with pytest.raises(
            DataUnavailableError, match=r"no complete answer within 0\.5 s"
        ) as caught:
            obtain("cervical_cancer")
        assert_one_error(caught.value)

    def test_a_byte_now_and_then(self, monkeypatch, uci):
        """A server on which no time-out ever strikes is left when the time is up."""
        seconds = 4
        monkeypatch.setattr(_data_files, "SECONDS", seconds)
        uci.answers["/data.csv"] = fake.drip(uci)
        start = time.monotonic()
        with pytest.raises(DataUnavailableError, match="no complete answer within 4 s") as caught:
            obtain("cervical_cancer")
        assert seconds <= time.monotonic() - start < seconds + 10
        assert_one_error(caught.value)
        assert CERVICAL_FILE not in cached_files()

    def test_the_chain_of_causes_is_told(self, uci):
        """Beside the client's own words stands what led to them."""
        uci.answers["/api"] = fake.page(502)
        with pytest.raises(DataUnavailableError) as caught:
            obtain("cervical_cancer")
        assert "ConnectionError: Error connecting to server" in str(caught.value)
        assert "because of HTTPError: HTTP Error 502: Bad Gateway" in str(caught.value)

    @pytest.mark.usefixtures("uci")
    def test_no_network_at_all(self, monkeypatch):
        """A machine on which every connection is refused."""
        monkeypatch.setattr(ucimlrepo.fetch, "API_BASE_URL", "https://example.invalid/api")
        with pytest.raises(DataUnavailableError, match="Connection refused") as caught:
            obtain("cervical_cancer")
        assert_one_error(caught.value)

    @pytest.mark.parametrize("place", ["/api", "/data.csv"])
    def test_a_certificate_that_nobody_signed(self, monkeypatch, uci, tmp_path, place):
        """The client says "reading csv file" or "connecting"; we say certificate (case 20)."""
        if shutil.which("openssl") is None:
            pytest.skip("no openssl command to make a certificate with")
        keys = [tmp_path / "key.pem", tmp_path / "cert.pem"]
        make = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=127.0.0.1 -addext"
        names = ["subjectAltName=IP:127.0.0.1", "-keyout", str(keys[0]), "-out", str(keys[1])]
        subprocess.run([*make.split(), *names], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(keys[1], keys[0])
        with fake.publisher(context) as secure:
            serve_cervical(secure)
            if place == "/api":
                monkeypatch.setattr(ucimlrepo.fetch, "API_BASE_URL", f"{secure.url}/api")
            else:
                answer = fake.uci_answer(383, CERVICAL_NAMES, f"{secure.url}/data.csv")
                uci.answers["/api"] = fake.body(answer)
            with pytest.raises(DataUnavailableError) as caught:
                obtain("cervical_cancer")
            assert secure.requests == []
        assert_one_error(caught.value)
        assert "CERTIFICATE_VERIFY_FAILED" in str(caught.value)
        assert "self-signed certificate" in str(caught.value)
        assert "verification stays on" in str(caught.value)

    def test_plain_text_where_tls_was_expected(self, uci):
        """Any failure of TLS is named, not only that of a certificate."""
        answer = fake.uci_answer(383, CERVICAL_NAMES, uci.url.replace("http:", "https:") + "/x")
        uci.answers["/api"] = fake.body(answer)
        with pytest.raises(DataUnavailableError, match="SSL"):
            obtain("cervical_cancer")

    @pytest.mark.parametrize("name", ["adult_test", "cervical_cancer", "connect4"])
    def test_download_not_wanted(self, uci, name):
        """With download=False nobody is asked."""
        with pytest.raises(DataUnavailableError, match="a download was not asked for"):
            obtain(name, download=False)
        assert uci.requests == []


class TestOtherContent:
    """What is not the published content is refused with both hashes, and does not stay."""

    changed = small_table() + np.where(np.arange(36) == 7, 1.0, 0.0)

    def test_a_download(self, uci):
        """A changed column is refused with both hashes; nothing is left in the cache."""
        serve_cervical(uci, small_csv("Citology", self.changed))
        with pytest.raises(DataMismatchError) as caught:
            obtain("cervical_cancer")
        assert_one_error(caught.value)
        found = frame_sha256(pd.DataFrame(self.changed, columns=CERVICAL_NAMES))
        assert f"expected {SMALL_SHA256}, found {found}" in str(caught.value)
        assert cached_files() == []

    def test_a_download_cut_short_without_notice(self, uci):
        """Half of a file whose length nobody announced is no complete answer."""
        uci.answers["/data.csv"] = fake.half(small_csv("Citology"), announced=False)
        with pytest.raises(DataMismatchError, match=SMALL_SHA256):
            obtain("cervical_cancer")
        assert cached_files() == []

    def test_an_unknown_header(self, uci):
        """Case 23: the error names the column."""
        serve_cervical(uci, small_csv("Zytologie"))
        with pytest.raises(DataMismatchError, match="unknown column 'Zytologie'"):
            obtain("cervical_cancer")

    @pytest.mark.parametrize(
        ("content", "fault"),
        [
            pytest.param(small_csv(values=changed), "table SHA-256", id="value"),
            pytest.param(
                small_csv(values=small_table()[:-1]), "rows: expected 6, found 5", id="row"
            ),
            pytest.param(small_csv("Zytologie"), "unknown column 'Zytologie'", id="header"),
            pytest.param(small_csv("Biopsy"), "'Biopsy", id="twice"),
            pytest.param(small_csv().replace(b"0.25", b"n/a"), "'n/a' is not a number", id="text"),
            pytest.param(small_csv().replace(b"0.25", b"inf"), "'inf' is not a number", id="inf"),
            pytest.param(b"<html>\n<body>502</body>\n</html>\n", "unknown column", id="html"),
            pytest.param(b"", "not a comma-separated table", id="empty"),
            pytest.param(b"\xff\xfe\x00\x01", "not a comma-separated table", id="binary"),
        ],
    )
    def test_a_file_in_the_folder(self, monkeypatch, tmp_path, uci, content, fault):
        """It is refused where it lies; neither the cache nor the network is asked instead."""
        obtain("cervical_cancer")
        uci.requests.clear()
        folder = raw_folder(monkeypatch, tmp_path, **{CERVICAL_FILE: content})
        with pytest.raises(DataMismatchError) as caught:
            obtain("cervical_cancer")
        text = str(caught.value)
        assert fault in text
        assert SMALL_SHA256 in text
        assert hashlib.sha256(content).hexdigest() in text
        assert str(folder / CERVICAL_FILE) in text
        assert (folder / CERVICAL_FILE).read_bytes() == content
        assert uci.requests == []

    @pytest.mark.usefixtures("uci")
    @pytest.mark.parametrize("spoilt", ["other", "cut", "text"])
    def test_a_cached_file(self, spoilt):
        """It is downloaded again in its place."""
        obtain("cervical_cancer")
        path = _data_files.cache_folder() / CERVICAL_FILE
        whole = path.read_bytes()
        other = small_csv(values=self.changed)
        path.write_bytes({"other": other, "cut": whole[:-200], "text": b"no table"}[spoilt])
        frame, where = obtain("cervical_cancer")
        assert_small(frame)
        assert "downloaded" in where
        assert cached_files() == [path.name]
        assert path.read_bytes() == whole

    def test_a_cached_file_without_a_network(self, uci):
        """The error tells of the spoilt file, both hashes, and the failed download."""
        obtain("cervical_cancer")
        path = _data_files.cache_folder() / CERVICAL_FILE
        path.write_bytes(small_csv(values=self.changed))
        uci.answers["/api"] = fake.page(502)
        with pytest.raises(DataUnavailableError) as caught:
            obtain("cervical_cancer")
        found = frame_sha256(pd.DataFrame(self.changed, columns=CERVICAL_NAMES))
        assert f"expected {SMALL_SHA256}, found {found}" in str(caught.value)
        assert "HTTP Error 502" in str(caught.value)


class TestFolder:
    """``$PVF_DATA_DIR`` comes first."""

    @pytest.mark.parametrize("third", ["Cytology", "Citology", " CITOLOGY "])
    @pytest.mark.parametrize("newline", [b"\n", b"\r\n"], ids=["lf", "crlf"])
    def test_copies_load_to_one_frame(self, monkeypatch, tmp_path, uci, third, newline):
        """Case 23: the spelling of the third outcome and line ends don't matter."""
        content = small_csv(third).replace(b"\n", newline)
        raw_folder(monkeypatch, tmp_path, **{CERVICAL_FILE: content})
        frame, where = obtain("cervical_cancer")
        assert_small(frame)
        assert where == f"${FOLDER_VARIABLE}/{CERVICAL_FILE}"
        assert uci.requests == []

    @pytest.mark.usefixtures("uci")
    def test_columns_in_another_order(self, monkeypatch, tmp_path):
        """Columns are matched by name."""
        table = pd.DataFrame(small_table(), columns=CERVICAL_NAMES)
        content = table[CERVICAL_NAMES[::-1]].to_csv(index=False, na_rep="?").encode()
        raw_folder(monkeypatch, tmp_path, **{CERVICAL_FILE: content})
        assert_small(obtain("cervical_cancer")[0])

    def test_a_folder_that_is_none(self, monkeypatch, tmp_path):
        """A wrong setting is an error that names the variable, its value, and the folder meant."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv(FOLDER_VARIABLE, "no/such")
        fault = f"PVF_DATA_DIR must name a folder, got 'no/such': no folder {tmp_path}/no/such"
        with pytest.raises(DataError, match=re.escape(fault)):
            obtain("cervical_cancer")

    @pytest.mark.usefixtures("uci")
    def test_an_empty_setting_is_none(self, monkeypatch):
        """An empty variable counts as unset."""
        monkeypatch.setenv(FOLDER_VARIABLE, "")
        assert_small(obtain("cervical_cancer")[0])

    def test_half_of_the_files(self, monkeypatch, tmp_path):
        """Images without labels: the error names the file that is missing."""
        raw_folder(monkeypatch, tmp_path, **{"t10k-images-idx3-ubyte.gz": b""})
        with pytest.raises(DataUnavailableError, match=r"has no t10k-labels-idx1-ubyte\.gz\n"):
            obtain("mnist_test", download=False)


RUN = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
import pytest
import ucimlrepo
import test_data_files as t
monkeypatch = pytest.MonkeyPatch()
t.shrink(monkeypatch, "cervical_cancer", t.ROWS, table=t.SMALL_SHA256)
ucimlrepo.fetch.API_BASE_URL = {url!r} + "/api"
{before}
t.assert_small(t.obtain("cervical_cancer")[0])
"""


def load_elsewhere(house, before: str = "") -> subprocess.Popen:
    """Load the small table in a process of its own."""
    here = Path(__file__).resolve().parent
    root = here.parents[1]
    code = RUN.format(tests=str(here), url=house.url, before=before)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (root, here.parent)))}
    return subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, text=True
    )


class TestCache:
    """Writing it is all or nothing."""

    def test_two_processes_at_once(self, uci):
        """Both get the data, and one whole file is left."""
        barrier = threading.Barrier(2, timeout=60)
        data = uci.answers["/data.csv"]

        def together(handler):
            barrier.wait()
            data(handler)

        uci.answers["/data.csv"] = together
        runs = [load_elsewhere(uci) for _ in range(2)]
        for run in runs:
            _, errors = run.communicate(timeout=90)
            assert run.returncode == 0, errors
        assert uci.requests.count("/data.csv") == 2
        assert cached_files() == [CERVICAL_FILE]
        assert_small(obtain("cervical_cancer", download=False)[0])

    def test_a_file_that_the_system_refuses_to_grow(self, uci):
        """A real limit on file size: a clear error, and no half-written file."""
        pytest.importorskip("resource", reason="no limits on file size on this system")
        limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))"
        run = load_elsewhere(uci, limit)
        _, errors = run.communicate(timeout=90)
        assert run.returncode == 1
        assert "DataError: cannot write to the cache folder" in errors
        assert "File too large" in errors
        assert cached_files() == []

    @pytest.mark.usefixtures("uci")
    def test_a_full_disk(self, monkeypatch):
        """The error names the folder, the cause, and the ways out; nothing is left behind."""

        def fill(frame, path, **options):
            Path(path).write_bytes(b"half of a tab")
            raise OSError(28, "No space left on device", str(path))

        monkeypatch.setattr(pd.DataFrame, "to_csv", fill)
        with pytest.raises(DataError, match="No space left on device") as caught:
            obtain("cervical_cancer")
        assert str(_data_files.cache_folder()) in str(caught.value)
        assert FOLDER_VARIABLE in str(caught.value)
        assert cached_files() == []

    def test_a_cache_that_can_not_be_made(self, monkeypatch, tmp_path, uci):
        """The error comes before anything is downloaded."""
        (tmp_path / "file").write_text("in the way")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        with pytest.raises(DataError, match="cannot write to the cache folder"):
            obtain("cervical_cancer")
        assert uci.requests == []

    def test_a_read_only_cache(self, monkeypatch, uci):
        """Nothing can be added to it; what is in it loads."""
        with monkeypatch.context() as patch:
            if os.geteuid() == 0:
                patch.setattr(_data_files.tempfile, "TemporaryFile", refuse_to_write)
            else:
                _data_files.cache_folder().mkdir(parents=True)
                _data_files.cache_folder().chmod(0o555)
            with pytest.raises(DataError, match="cannot write to the cache folder"):
                obtain("cervical_cancer")
        assert uci.requests == []
        path = _data_files.cache_folder() / CERVICAL_FILE
        _data_files.cache_folder().chmod(0o755)
        path.write_bytes(small_csv())
        _data_files.cache_folder().chmod(0o555)
        assert_small(obtain("cervical_cancer")[0])
        _data_files.cache_folder().chmod(0o755)


def refuse_to_write(*args, **options):
    """Say what a read-only file system says; root passes over a folder's permissions."""
    raise OSError(30, "Read-only file system")


class TestCompas:
    """Names of people are never kept."""

    names = list(registry()["compas"]["columns"])[:-1]

    def publisher_csv(self, *, without: str = "") -> bytes:
        """Rows as ProPublica writes them: names, birth dates, and two columns twice."""
        ours = {
            "id": "3",
            "sex": "Male",
            "age": "34",
            "age_cat": "25 - 45",
            "race": "Other",
            "days_b_screening_arrest": "-1",
            "c_jail_in": "2013-01-26 03:45:27",
            "c_jail_out": "",
            "c_charge_degree": "F",
            "score_text": "Low",
        }
        cells = {
            "name": "kevon dixon",
            "first": "kevon",
            "last": "dixon",
            "dob": "1982-01-22",
            **{name: ours.get(name, "1") for name in self.names},
        }
        cells.pop(without, None)
        head = [*cells, "decile_score", "priors_count", "v_case_number"]
        row = [*cells.values(), "9", "9", "13001275CF10A"]
        return f"{','.join(head)}\n{','.join(row)}\n".encode()

    def expected(self) -> pd.DataFrame:
        """Build the table of that row by hand."""
        texts = ["Male", "25 - 45", "Other", "2013-01-26 03:45:27", None, "F", "Low"]
        text = dict(zip(registry()["compas"]["text"], texts, strict=True))
        number = {"id": 3.0, "age": 34.0, "days_b_screening_arrest": -1.0}
        row = {name: text[name] if name in text else number.get(name, 1.0) for name in self.names}
        return pd.DataFrame({name: [value] for name, value in row.items()})

    @pytest.fixture
    def propublica(self, monkeypatch, uci):
        """ProPublica on this machine."""
        shrink(monkeypatch, "compas", 1, table=frame_sha256(self.expected()))
        monkeypatch.setitem(registry()["compas"], "url", f"{uci.url}/")
        uci.answers[COMPAS_PLACE] = fake.body(self.publisher_csv())
        return uci

    def everything_kept(self) -> bytes:
        """Return all bytes in the cache."""
        folder = _data_files.cache_folder()
        return b"".join((folder / name).read_bytes() for name in cached_files()).lower()

    @pytest.mark.usefixtures("propublica")
    def test_download(self):
        """The publisher's file loads to the 17 columns; no name is in the cache."""
        frame, _ = obtain("compas")
        assert list(frame.columns) == self.names
        assert frame_sha256(frame) == frame_sha256(self.expected())
        assert len(cached_files()) == 1
        assert b"kevon" not in self.everything_kept()

    @pytest.mark.parametrize("column", ["age", "name"], ids=["lacks-a-column", "other-value"])
    def test_a_refused_answer_is_not_kept(self, propublica, column):
        """Neither names nor anything else of it stays."""
        content = self.publisher_csv(without=column).replace(b"Male", b"Mail")
        propublica.answers[COMPAS_PLACE] = fake.body(content)
        with pytest.raises(DataMismatchError):
            obtain("compas")
        assert cached_files() == []

    @pytest.mark.usefixtures("propublica")
    def test_both_copies_in_the_folder(self, monkeypatch, tmp_path):
        """The publisher's file and one cut to 17 columns load to the same table."""
        folder = raw_folder(monkeypatch, tmp_path)
        path = folder / "compas-scores-two-years.csv"
        path.write_bytes(self.publisher_csv())
        whole, _ = obtain("compas")
        self.expected().to_csv(path, index=False)
        cut, _ = obtain("compas")
        pd.testing.assert_frame_equal(whole, cut)

    @pytest.mark.parametrize(
        ("answer", "cause"),
        [
            pytest.param(fake.page(502), "HTTP Error 502", id="502"),
            pytest.param(fake.hang_up, "Remote end closed connection", id="dropped"),
            pytest.param(fake.half(b"x" * 99, announced=True), "IncompleteRead", id="half"),
        ],
    )
    def test_broken(self, propublica, answer, cause):
        """A plain address fails as clearly as the UCI client."""
        propublica.answers[COMPAS_PLACE] = answer
        with pytest.raises(DataUnavailableError, match=cause) as caught:
            obtain("compas")
        assert "get compas-scores-two-years.csv from https://github.com/" in str(caught.value)

    def test_html_with_status_200(self, propublica):
        """An error page is no table."""
        propublica.answers[COMPAS_PLACE] = fake.page(200)
        with pytest.raises(DataMismatchError, match="column 'id' is missing"):
            obtain("compas")


class TestMnist:
    """The publisher's files of MNIST, by their addresses."""

    images = np.arange(3 * 784).reshape(3, 784).astype(np.uint8)
    labels = np.array([7, 2, 1], dtype=np.uint8)

    @pytest.fixture
    def house(self, monkeypatch):
        """Serve three digits, and know the hashes of their files."""
        head = (3).to_bytes(4, "big")
        contents = {
            "images": bytes([0, 0, 8, 3]) + head + bytes([0, 0, 0, 28]) * 2 + self.images.tobytes(),
            "labels": bytes([0, 0, 8, 1]) + head + self.labels.tobytes(),
        }
        sums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
        shrink(monkeypatch, "mnist_test", 3, **sums)
        files = tables()["mnist_test"].files
        packed = dict(zip(files, map(gzip.compress, contents.values()), strict=True))
        known = {name: [hashlib.sha256(body).hexdigest()] for name, body in packed.items()}
        table = dataclasses.replace(tables()["mnist_test"], known_files=known)
        monkeypatch.setitem(tables(), "mnist_test", table)
        with fake.publisher() as house:
            monkeypatch.setitem(registry()["mnist"], "url", f"{house.url}/")
            house.answers |= {f"/{name}": fake.body(body) for name, body in packed.items()}
            yield house

    def test_download(self, house):
        """Both files arrive, each checked, and are read again from the cache."""
        frame, where = obtain("mnist_test")
        np.testing.assert_array_equal(frame[list(PIXELS)].to_numpy(), self.images)
        assert frame["digit"].tolist() == [7, 2, 1]
        assert "downloaded" in where
        assert len(house.requests) == 2
        again, where = obtain("mnist_test", download=False)
        assert where.startswith("cache/t10k-images")
        pd.testing.assert_frame_equal(again, frame)

    def test_another_file_is_refused(self, house):
        """Both hashes are told, and nothing of it stays."""
        name = tables()["mnist_test"].files[1]
        house.answers[f"/{name}"] = fake.body(b"no labels")
        with pytest.raises(DataMismatchError) as caught:
            obtain("mnist_test")
        assert tables()["mnist_test"].known_files[name][0] in str(caught.value)
        assert hashlib.sha256(b"no labels").hexdigest() in str(caught.value)
        assert f"set {FOLDER_VARIABLE} to that folder" in str(caught.value)
        assert cached_files() == []

    def test_no_network(self):
        """The error has the cause, and names the files to get instead."""
        with pytest.raises(DataUnavailableError, match="Connection refused") as caught:
            obtain("mnist_train")
        assert "train-images-idx3-ubyte.gz and train-labels-idx1-ubyte.gz" in str(caught.value)
