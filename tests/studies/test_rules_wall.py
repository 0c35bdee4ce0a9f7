"""The sheets for the wall: their numbers are the table's, and they fit the paper."""

import re
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from studies.rules import RULES_STUDY, questions, run, show, wall


@pytest.fixture(scope="module")
def estimates() -> pd.DataFrame:
    """Ask the committed table for its lines alone."""
    cells = questions.per_table(RULES_STUDY.committed()[0])
    return pd.DataFrame(questions._wall(cells[cells["outcome"].str.startswith("IE@")]))


def drawn(estimates: pd.DataFrame, capacity: float = 0.1) -> Figure:
    """Draw a capacity's sheet."""
    return wall.sheet(estimates, capacity, {"created": "2026-01-02T03:04", "sha256": "abcdef0123"})


@pytest.mark.parametrize("capacity", run.CAPACITIES)
def test_the_numbers_are_those_of_the_table(estimates: pd.DataFrame, capacity: float) -> None:
    """Each cell of the chapter's table stands at the height of its line."""
    sheet = drawn(estimates, capacity)
    at = {(round(t.get_position()[1], 6), t.get_position()[0]): t for t in sheet.axes[0].texts}
    lefts = list(wall.COLUMNS)
    for number, row in show.wall_table(estimates, f"IE@{capacity:g}").iterrows():
        y = round(wall.TOP - wall.ROW * number, 6)
        cells = [at[y, left].get_text() for left in lefts]
        assert cells[0] in ("", row["validated cases"])
        assert cells[1] == wall.POOL_WORDS[row["pool"]]
        assert cells[2].replace("\n", "").replace(" ", "") == row["choose by"].replace(" ", "")
        assert cells[3:5] == [row["expect an attainable share of"], row["more than hold-out"]]
        low = float(re.search(r"\((.*?) to", row["more than hold-out"])[1].replace("−", "-"))
        assert ("may be nothing" in cells[5]) == (low <= 0)
        k, n = map(int, re.search(r"(\d+) of (\d+)", cells[5]).groups())
        assert f"{k / n:.0%} of {n}" == row["same rule without one table"]
    assert not any(key[0] == round(y - wall.ROW, 6) for key in at)


def test_the_marks_stand_where_the_numbers_say(estimates: pd.DataFrame) -> None:
    """A filled mark only where the interval leaves 0 out."""
    sheet = drawn(estimates)
    rows = estimates.query("outcome == 'IE@0.1' and quantity == 'difference'")
    lines = [line for line in sheet.axes[2].lines if line.get_marker() == "o"]
    assert [line.get_xdata()[0] for line in lines] == rows["estimate"].tolist()
    assert [line.get_fillstyle() == "full" for line in lines] == (rows["low"] > 0).tolist()


@pytest.mark.parametrize("capacity", run.CAPACITIES)
def test_all_fits_on_the_paper(estimates: pd.DataFrame, capacity: float) -> None:
    """Nothing leaves a landscape A4, and no two texts overlap."""
    sheet = drawn(estimates, capacity)
    renderer = FigureCanvasAgg(sheet).get_renderer()
    boxes = [t.get_window_extent(renderer) for t in sheet.axes[0].texts if t.get_text()]
    assert (sheet.get_size_inches() * 25.4).round().tolist() == [297, 210]
    page = sheet.bbox
    assert all(page.x0 <= b.x0 and b.x1 <= page.x1 and page.y0 <= b.y0 for b in boxes)
    pairs = [(a, b) for i, a in enumerate(boxes) for b in boxes[:i]]
    assert not [1 for a, b in pairs if a.padded(-0.5).overlaps(b.padded(-0.5))]
    for ax in sheet.axes[1:]:
        assert not [1 for b in boxes if b.padded(-0.5).overlaps(ax.get_window_extent(renderer))]


def test_every_rule_is_explained_and_the_source_is_named(estimates: pd.DataFrame) -> None:
    """Whatever rule is advised has words; the sheet names its table and the day."""
    assert wall.MEANS.keys() == run.RULES.keys()
    legend = " ".join(drawn(estimates).axes[0].texts[-1].get_text().split())
    for rule in show.wall_table(estimates)["choose by"]:
        assert f"{rule}: " in legend
    assert all(word in legend for word in ("2026-01-02", "abcdef01", "31 public", "may be nothing"))


def test_the_same_table_gives_the_same_bytes(
    estimates: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As PDF and as SVG."""
    monkeypatch.setattr(wall, "CAPACITIES", (0.1,))
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        wall.write_sheets(folder, estimates, RULES_STUDY.committed()[1])
    names = sorted(path.name for path in folders[0].iterdir())
    assert names == ["which_rule_0.1.pdf", "which_rule_0.1.svg"]
    for name in names:
        assert len({(folder / name).read_bytes() for folder in folders}) == 1
