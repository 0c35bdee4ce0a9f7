"""What the chapter on rules shows follows from the estimates, whatever they are: invented ones."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from book.tools.markdown import markdown_table
from studies.data.tables import DataUnavailableError
from studies.kit.dots import Frames
from studies.rules import RULES_STUDY, power, questions, run, show

#: Validated cases by size in the invented table.
CASES = {60: 2.0, 120: 5.0, 240: 10.0}


def invented(effect: float = 0.2, spread: float = 0.02, n_tables: int = 9) -> pd.DataFrame:
    """Make a committed table in which PVF at 0.3 leads the hold-out by a known effect."""
    rng, rows = np.random.default_rng(0), []
    cells = [("trees", 60), ("trees", 120), ("trees", 240), ("logistic", 120)]
    for number, (pool, size), outcome in itertools.product(
        range(n_tables), cells, (*run.OUTCOMES, "reached@0.1")
    ):
        taken = {*run.rules_of(pool, size, "F1"), *run.BESIDE, "random"}
        facts = {"prevalence": number / 20, "columns": 2.0 + number**2, "categorical": 0.1 * number}
        facts |= {"cases": CASES[size], "tied": rng.random(), "sigma": 0.1, "cohorts": 5}
        for half in (0, 1):
            base = 0.4 + 0.05 * rng.normal()
            worth = {
                name: base + spread * rng.normal() if name in taken else np.nan
                for name in (*run.RULES, *run.BESIDE)
            }
            worth |= {"pvf_0.3": worth["holdout"] + effect + spread * rng.normal(), "random": 0.0}
            told = {"table": f"t{number}", "size": size, "pool": pool, "half": half}
            rows.append({**told, "outcome": outcome, **facts, **worth, "best": 1.0})
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Invent a table once."""
    return invented()


@pytest.fixture(scope="module")
def estimates(table: pd.DataFrame) -> pd.DataFrame:
    """Ask it all questions once."""
    return questions.estimate(table)


@pytest.fixture(scope="module")
def powers() -> pd.DataFrame:
    """Invent a power simulation."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"table": ["a", "b"] * 20, "difference": rng.normal(size=40)})
    return power.estimate(power.simulate_power(rows, n_simulations=50))


@pytest.mark.parametrize("label", show.FIGURES)
@pytest.mark.parametrize("behind", [True, False], ids=["with reference", "alone"])
def test_every_figure_draws_a_run_and_the_full_results(
    estimates: pd.DataFrame, label: str, behind: bool
) -> None:
    """A smaller run lacks cells and questions; alone it is drawn as the full results are."""
    small = estimates.query("size == 60")
    figure = show.FIGURES[label](Frames(small, estimates) if behind else Frames(estimates))
    assert isinstance(figure, Figure)
    titles = [ax.get_title() for ax in figure.axes]
    assert titles
    assert all(titles)
    drawn = [line for ax in figure.axes for line in ax.lines if line.get_fillstyle() == "none"]
    if label in ("fig-rules-shares", "fig-rules-primary"):
        assert bool(drawn) == behind


def test_the_figure_of_shares_places_each_rule_at_its_mean(
    table: pd.DataFrame, estimates: pd.DataFrame
) -> None:
    """From the invented table by hand: one panel, one row."""
    figure = show.FIGURES["fig-rules-shares"](Frames(estimates))
    ax = next(ax for ax in figure.axes if ax.get_title() == "trees, 120 people")
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    part = table.query("pool == 'trees' and size == 120 and outcome == 'IE@0.1'")
    line = ax.lines[0]
    marks = dict(zip(line.get_ydata(), line.get_xdata(), strict=True))
    for rule in ("oob", "average_pool"):
        place = names.index(show.WORDS[rule])
        assert marks[place] == pytest.approx(part.groupby("table")[rule].mean().mean())


def test_the_figure_of_power_shows_the_margin(powers: pd.DataFrame) -> None:
    """One line a spread, and where the smallest difference of interest lies."""
    ax = show.figure_of_power(powers).axes[0]
    assert ax.lines[-1].get_ydata()[0] == power.MARGIN
    labels = ax.get_legend_handles_labels()[1]
    assert len(labels) == len(power.SPREADS)


@pytest.mark.parametrize(
    ("effect", "spread", "says"),
    [
        (0.2, 0.02, "better"),
        (-0.2, 0.02, "worse"),
        (0.0, 0.01, "equivalent"),
        (-0.1, 0.3, "undecided"),
    ],
)
def test_the_answer_follows_the_registered_rule(
    powers: pd.DataFrame, effect: float, spread: float, says: str
) -> None:
    """The sentence is that of the verdict, and says that PVF doesn't help where it does not."""
    table = invented(effect, spread).query("size == 120 and outcome == 'IE@0.1'")
    told = show.numbers(questions.estimate(table), powers, 40)
    assert told["verdict"] == says
    assert told["answer"] == show.ANSWERS[says]
    assert ("does not help" in told["answer"]) == (says in ("worse", "equivalent"))
    assert told["tables"] == 9
    assert told["told"] <= told["told_apart"]


def test_a_better_rule_needs_a_corrected_p() -> None:
    """An interval above 0 is not enough among many; equivalence is by the margin alone."""
    assert show.corrected(0.01, 0.2, 0.2) == "undecided"
    assert show.corrected(0.01, 0.2, 0.01) == "better"
    assert show.corrected(-0.2, -0.01, np.nan) == "undecided"
    assert show.corrected(-0.02, 0.02, 1.0) == "equivalent"


def test_the_wall_table_expects_what_other_tables_chose(
    table: pd.DataFrame, estimates: pd.DataFrame
) -> None:
    """By a loop: leave a table out, choose by the others, look at the one left out."""
    wall = show.wall_table(estimates)
    assert wall[["validated cases", "pool"]].to_numpy().tolist() == [
        ["up to 3", "trees"],
        ["4 to 7", "trees"],
        ["4 to 7", "logistic"],
        ["8 or more", "trees"],
    ]
    row = estimates.query(
        "question == 7 and group == '4 to 7' and pool == 'trees' and outcome == 'F1'"
    ).set_index("quantity")
    part = table.query("size == 120 and pool == 'trees' and outcome == 'F1'")
    values = part.groupby("table")[list(run.RULES)].mean().dropna(axis=1)
    found = []
    for name in values.index:
        best = values.drop(name).mean().idxmax()
        found.append(values.loc[name, best])
    assert row.loc["share", "estimate"] == pytest.approx(np.mean(found))
    assert row.loc["share", "rule"] == values.mean().idxmax() == "pvf_0.3"
    gain = np.mean(found) - values["holdout"].mean()
    assert row.loc["difference", "estimate"] == pytest.approx(gain)


def test_a_chosen_rule_is_not_flattered_where_all_are_alike() -> None:
    """With rules that differ by chance alone, its gain over the hold-out is about 0."""
    gains = []
    made = questions.per_table(invented(0.0, 0.0).query("outcome == 'F1' and size == 120"))
    for number in range(40):
        rng, cells = np.random.default_rng(number), made.copy()
        rules = list(run.RULES)
        cells[rules] = cells[rules] + rng.normal(size=cells[rules].shape)
        rows = pd.DataFrame(questions._wall(cells))
        gains += rows.loc[rows["quantity"] == "difference", "estimate"].tolist()
    assert abs(np.mean(gains)) < 4 * np.std(gains) / np.sqrt(len(gains))


def test_tables_are_texts_and_markdown(estimates: pd.DataFrame) -> None:
    """One row a cell; Markdown has as many lines, and no empty cell."""
    best = show.best_rules(estimates)
    assert len(best) == 4 * len(run.OUTCOMES)
    assert set(best.loc[best["pool"] == "trees", "best rule"]) == {run.RULES["pvf_0.3"]}
    primary = show.comparisons(estimates, 1)
    assert set(primary["PVF is"]) == {"better", "better (primary)"}
    lines = markdown_table(show.wall_table(estimates).to_dict("records")).splitlines()
    assert len(lines) == 2 + 4
    assert len({line.count("|") for line in lines}) == 1


def test_sentences_name_what_the_estimates_say(estimates: pd.DataFrame) -> None:
    """Noise, when and σ: each by the interval, with the reader's words."""
    assert run.RULES["oob"] in show.noise_in_words(estimates)
    assert run.RULES["cv"] not in show.noise_in_words(estimates)  # trees take no cross-validation
    assert "100% of the tables" in show.sigmas_in_words(estimates)
    rows = estimates["quantity"].eq("slope: tied")
    changed = estimates.assign(
        low=estimates["low"].where(~rows, 0.1), high=estimates["high"].where(~rows, 0.2)
    )
    assert "grows with" in show.when_in_words(changed)
    assert "share of tied candidates" in show.when_in_words(changed)
    slopes = changed["question"].eq(4)
    level = changed.assign(
        low=changed["low"].mask(slopes, -1), high=changed["high"].mask(slopes, 1)
    )
    assert "none of 5 facts" in show.when_in_words(level)
    assert "too few tables" in show.when_in_words(level[~slopes])


def test_every_deviation_is_listed() -> None:
    """Each entry of the file, with its date and its reason."""
    text = show.deviations()
    assert text.count("\n- 2026-") == 16
    assert "**Changed**" in text


def test_the_pages_run_says_that_it_decides_nothing(table: pd.DataFrame) -> None:
    """A smaller run names its tables and those of the committed results."""
    settings = run.RulesSettings()
    found = SimpleNamespace(
        table=table.query("table == 't0'"), committed=table, settings=settings, study=RULES_STUDY
    )
    text = show.says(found)  # type: ignore[arg-type]
    assert "computes 1 of the 9 tables" in text
    gone = SimpleNamespace(table=None, settings=settings, says=lambda: "did not run")
    assert show.says(gone) == "did not run"  # type: ignore[arg-type]


def test_the_data_page_does_without_the_archive(
    table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the committed table knows stands in."""

    def gone() -> pd.DataFrame:
        raise DataUnavailableError("no archive")

    monkeypatch.setattr(show, "data_table", gone)
    found = show.data_rows(table)
    assert found.index.tolist() == [f"t{number}" for number in range(9)]
    assert found.loc["t3", "columns"] == pytest.approx(11)


def test_the_study_has_the_figures() -> None:
    """The chapter draws through the study."""
    assert replace(RULES_STUDY).figures is show.FIGURES
