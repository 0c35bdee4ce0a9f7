"""How long a run will take and how far it is: against candidates that sleep for a set time."""

import io
import re
import time

import numpy as np
import own_pool
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from pvf.__main__ import main
from pvf.select import run_time as _run_time
from pvf.select.choose import refuse_shape, select
from pvf.select.read import load_own_data
from pvf.select.run_time import Progress, expected_seconds, in_words, without_a_trace
from pvf.select.sentences import TableError

QUICK = {
    "n_splits": 3,
    "n_sets": 3,
    "n_repeats": 1,
    "n_bootstraps": 50,
    "sigmas": [],
    "capacity": 0.3,
}


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    """Write a table of twelve numbers and an outcome."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    path = tmp_path_factory.mktemp("own") / "breast.csv"
    X.iloc[:, :12].assign(diagnosis=np.where(y == 0, "malignant", "benign")).to_csv(
        path, index=False
    )
    return path


@pytest.fixture(scope="module")
def data(csv):
    """Load it."""
    return load_own_data(csv, "diagnosis")


class Terminal(io.StringIO):
    """Standard error, on a terminal."""

    def isatty(self):
        """Say so."""
        return True


# --- how long -------------------------------------------------------------------------------------


def test_pool_takes_what_its_kinds_take_each_by_its_number():
    """Ten candidates of one kind and five of another, some of each timed, add up to the whole."""
    pool = {f"a{i}": LogisticRegression() for i in range(10)}
    pool |= {f"b{i}": DecisionTreeClassifier() for i in range(5)}
    asked = []

    def times_of(name, estimator):
        asked.append(name)
        return np.array([1.0, 2.0]) if name.startswith("a") else np.array([10.0, 0.0])

    np.testing.assert_array_equal(expected_seconds(pool, times_of), [60, 20])
    assert asked == ["a0", "a3", "a6", "a9", "b0", "b1", "b3", "b4"]


def test_slow_kind_is_timed_once(monkeypatch):
    """Where one candidate takes long, the probe does not wait for more of its kind."""
    monkeypatch.setattr(_run_time, "LONG", 0.0)
    asked = []
    pool = {f"a{i}": LogisticRegression() for i in range(10)}
    total = expected_seconds(pool, lambda name, _: (asked.append(name), np.array([3.0]))[1])
    assert (asked, total) == (["a0"], 30)


def test_probe_leaves_no_trace():
    """A candidate without a seed draws after the probe what it would have drawn without it."""
    np.random.seed(3)  # noqa: NPY002
    with without_a_trace():
        np.random.random(5)  # noqa: NPY002
    drawn = np.random.random()  # noqa: NPY002
    assert drawn == np.random.RandomState(3).random()


# --- what takes too long --------------------------------------------------------------------------


def test_run_that_takes_too_long_is_refused_before_it_begins(data):
    """One line says how long, how large, and what would do; only the probe's fits were made."""
    own_pool.Sleepy.fits = 0
    with pytest.raises(TableError, match="would take less than a minute") as caught:
        select(data, pool="own_pool:sleepy", most_minutes=0.01, **QUICK)
    assert "12 candidates, 569 rows, 12 columns" in str(caught.value)
    assert "--most-minutes 5 lets it run" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert own_pool.Sleepy.fits <= 2 * 4


def test_command_refuses_in_one_line_and_an_option_raises_the_bound(csv):
    """Exit code 1 and one line; with more minutes the same command runs, and says nothing."""
    words = "--target diagnosis --capacity 0.3 --sets 2 --splits 4 --pool own_pool:numbers_only"
    words = [*words.split(), str(csv)]
    done = CliRunner().invoke(main, ["select", *words, "--most-minutes", "0.0001"])
    assert done.exit_code == 1
    assert re.fullmatch(
        r"Error: This run would take [^\n]+--most-minutes 5 lets [^\n]+\n", done.stderr
    )
    done = CliRunner().invoke(main, ["select", *words, "--most-minutes", "5"])
    assert (done.exit_code, done.stderr) == (0, "")


@pytest.fixture
def wide(tmp_path):
    """Write a table of 900 columns, with an outcome, and 40 rows."""
    path = tmp_path / "wide.csv"
    rows = [[f"{(7 * i * j) % 31}.5" for j in range(900)] + [str(i % 2)] for i in range(40)]
    names = [*(f"x{j}" for j in range(900)), "died"]
    path.write_text("\n".join(",".join(row) for row in [names, *rows]), encoding="utf-8")
    return path


def test_table_of_too_many_columns_is_refused_before_a_cell_is_read(wide, monkeypatch):
    """The header says enough; what would do is named."""
    monkeypatch.setattr("pvf.select.read.guess_columns", lambda *_, **__: 1 / 0)
    words = ["select", str(wide), "--target", "died", "--capacity", "0.3", "--most-minutes", "4"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1
    assert "(40 rows, 900 columns, 20 splits)" in done.stderr
    for option in ("--most-minutes 20", "--drop", "--columns", "--splits"):
        assert option in done.stderr


def test_columns_left_out_do_not_count(wide, tmp_path):
    """However they are left out: the shape is that of the rest; a dry run takes any."""
    kinds = tmp_path / "kinds.toml"
    kinds.write_text(
        "[columns]\n" + "".join(f'x{j} = "ignored"\n' for j in range(5, 900)), encoding="utf-8"
    )
    shapes = []
    load_own_data(
        wide, "died", drop="x3", columns_file=kinds, fits=lambda *shape: shapes.append(shape)
    )
    assert shapes == [(40, 4)]


@pytest.mark.parametrize(
    ("shape", "options", "refused"),
    [
        ((300, 2000), {}, True),
        ((200_000, 30), {}, True),
        ((15_000, 30), {}, False),
        ((300, 2000), {"n_splits": 5}, False),
        ((300, 2000), {"most_minutes": 40}, False),
        ((300, 2000), {"pool": "own_pool:small"}, False),
    ],
)
def test_shapes_that_take_too_long(shape, options, refused):
    """2,000 columns and 200,000 rows do; 15,000 rows, or other settings, do not."""
    if not refused:
        refuse_shape(*shape, **options)
        return
    with pytest.raises(TableError, match=r"most_minutes is 15: --most-minutes \d+ lets it run"):
        refuse_shape(*shape, **options)


def test_bound_and_progress_change_no_result(data):
    """What runs gives the same scores whatever the bound, and its settings name none."""
    one = select(data, pool="own_pool:numbers_only", progress=True, most_minutes=3, **QUICK)
    two = select(data, pool="own_pool:numbers_only", progress=False, most_minutes=9e9, **QUICK)
    assert one.scores.equals(two.scores)
    assert one.settings == two.settings
    assert "most_minutes" not in one.settings


# --- how far --------------------------------------------------------------------------------------


def test_line_a_minute_where_there_is_no_terminal(capfd, monkeypatch):
    """A step of several minutes is told of by a clock, also where nobody asked for progress."""
    monkeypatch.setattr(_run_time, "EVERY", 0.05)
    with Progress("select", show=None) as run:
        run.stage("sleeping", 7)
        run.step()
        time.sleep(0.4)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) >= 3
    assert set(lines) == {"select: 0 min: sleeping (1 of 7)"}


@pytest.mark.parametrize("show", [None, False])
def test_long_run_says_at_once_how_long_unless_silenced(capfd, show):
    """From a minute on the expected time and each stage are said without a request."""
    with Progress("select", show=show) as run:
        run.expect(0.9, "short")
        run.stage("first")
        run.expect(32.0, "77 candidates")
        run.stage("second", 5)
    expected = [
        "select: about 32 minutes: 77 candidates",
        "select: 0 min: second (0 of 5); about 32 minutes in all",
    ]
    assert capfd.readouterr().err.splitlines() == ([] if show is False else expected)


def test_terminal_shows_each_stage_before_its_first_step(monkeypatch):
    """However fast the steps are, the bar names every stage, and the expected time stands above."""
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with Progress("select", show=None) as run:
        run.expect(0.1, "3 candidates")
        for stage in ("fitting", "PVF", "PMV"):
            run.stage(stage, 2)
            run.step()
    shown = screen.getvalue()
    assert "select: less than a minute: 3 candidates" in shown
    assert all(f"{stage}: " in shown for stage in ("fitting", "PVF", "PMV"))


def test_bar_moves_on_by_the_clock(monkeypatch):
    """On a terminal the seconds go on during a long step."""
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with Progress("select", show=None) as run:
        run.stage("sleeping", 2)
        before = len(screen.getvalue())
        time.sleep(1.4)
        assert len(screen.getvalue()) > before


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        (0.99, "less than a minute"),
        (1, "about 1 minute"),
        (1.6, "about 2 minutes"),
        (1440, "about 1,440 minutes"),
    ],
)
def test_minutes_are_said_roughly(minutes, words):
    """No more digits than a probe knows."""
    assert in_words(minutes) == words
