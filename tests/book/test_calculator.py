"""The calculator of Intervention Efficiency: the page in a browser equals the library."""

import ast
import itertools
import math
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page
from scipy import stats

import pvf

pytestmark = pytest.mark.browser

PEOPLE = ("population", "positives", "capacity")
# Fills in fields, waits until all is said, and returns what the page shows, many times in one go.
DRIVE = """async (cases) => {
    const form = document.getElementById('calculator');
    const at = (id) => document.getElementById(id);
    const shown = [];
    for (const values of cases) {
        for (const [name, value] of Object.entries(values)) {
            at(name).value = value;
        }
        at('population').dispatchEvent(new Event('input', {bubbles: true}));
        shown.push({
            ie: at('ie').value, model: at('by-model').value, chance: at('by-chance').value,
            regime: at('regime').value, call: at('call').textContent,
            errors: Object.fromEntries([...form.querySelectorAll('.error')]
                .filter((e) => e.textContent)
                .map((e) => [e.id.replace('-error', ''), e.textContent])),
        });
    }
    return shown;
}"""


@pytest.fixture(scope="module")
def page(browser, built_book):
    """Open the page from disk, without a network, and note all that goes wrong on it."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    opened.faults = []
    opened.on("console", lambda m: opened.faults.append(m.text) if m.type == "error" else None)
    opened.on("pageerror", lambda error: opened.faults.append(str(error)))
    opened.goto((built_book.html / "book" / "calculator.html").as_uri())
    opened.wait_for_selector("#formula mjx-container")
    yield opened
    context.close()


@pytest.fixture(autouse=True)
def fresh(page):
    """Start each test with counts, valid numbers and no fault."""
    page.faults.clear()
    page.uncheck("#second")
    page.check("input[value=ratios]")
    fill(page, precision=0.5, recall=0.75)
    page.check("input[value=counts]")
    fill(page, population=200, positives=20, capacity=0.1, tp=15, fp=15)
    yield
    assert page.faults == []


def fill(page: Page, **values: object) -> None:
    """Type values into fields, as a person does."""
    for name, value in values.items():
        page.fill(f"#{name}", str(value))


def settle(page: Page) -> str:
    """Wait until the page has spoken, and return what it said."""
    page.wait_for_selector("#calculator[data-settled=yes]")
    return page.inner_text("#answer")


def drive(page: Page, known: str, cases: list[dict]) -> list[dict]:
    """Put many cases through the page."""
    page.check(f"input[value={known}]")
    shown = page.evaluate(DRIVE, [{k: repr(v) for k, v in case.items()} for case in cases])
    assert len(shown) == len(cases)
    return shown


def count_cases() -> list[dict]:
    """Give every table of small populations, and random ones of large populations."""
    cases = [
        dict(zip([*PEOPLE, "tp", "fp"], (people, sick, capacity, tp, fp), strict=True))
        for people, sick in ((1, 1), (5, 2), (6, 6), (7, 1))
        for capacity in (0.01, 0.2, 1 / 3, 0.5, 0.999, 1.0)
        for tp, fp in itertools.product(range(sick + 1), range(people - sick + 1))
    ]
    rng = np.random.default_rng(7)
    for _ in range(400):
        people = int(rng.integers(1, 100_000))
        sick = int(rng.integers(1, people + 1))
        tp, fp = int(rng.integers(sick + 1)), int(rng.integers(people - sick + 1))
        capacity = float(1 - rng.random())
        cases.append(
            {"population": people, "positives": sick, "capacity": capacity} | {"tp": tp, "fp": fp}
        )
    return cases


def test_counts_give_what_the_library_gives(page):
    """Over a grid and at random, numbers and call are the library's, regimes a definition's."""
    cases = count_cases()
    regimes = set()
    for case, shown in zip(cases, drive(page, "counts", cases), strict=True):
        people, sick, capacity, tp, fp = (case[name] for name in (*PEOPLE, "tp", "fp"))
        ours = pvf.intervention_efficiency_counts(tp, fp, sick, people - sick, capacity)
        assert shown["errors"] == {}, case
        assert float(shown["ie"]) == pytest.approx(ours, rel=1e-12, abs=1e-15), case
        assert float(shown["chance"]) == pytest.approx(capacity * sick, rel=1e-12)
        assert float(shown["model"]) == pytest.approx(ours * capacity * sick, rel=1e-12, abs=1e-15)
        assert eval_call(shown["call"]) == pytest.approx(ours, rel=1e-12, abs=1e-15)
        assert shown["regime"] == regime_of(people, capacity, tp + fp), case
        regimes.add(shown["regime"])
    assert regimes == {
        "everybody treated",
        "nobody flagged",
        "everybody flagged",
        "scarce",
        "ample",
    }


def regime_of(people: int, capacity: float, flagged: int) -> str:
    """Name the regime from the definitions, in exact arithmetic."""
    if capacity == 1:
        return "everybody treated"
    if flagged in (0, people):
        return "everybody flagged" if flagged else "nobody flagged"
    exact = Fraction(capacity) * people
    if abs(exact - flagged) < 1e-9:  # both regimes give the same there
        return "scarce" if flagged > capacity * people else "ample"
    return "scarce" if flagged > exact else "ample"


def eval_call(call: str) -> float:
    """Work out the call of the library that the page shows, which may only hold numbers."""
    match = re.fullmatch(r"pvf\.(intervention_efficiency\w*)\((.*)\)", call)
    arguments = []
    for part in match[2].split(", "):
        top, _, bottom = part.partition(" / ")
        arguments.append(ast.literal_eval(top) / ast.literal_eval(bottom or "1"))
    return getattr(pvf, match[1])(*arguments)


def ratio_cases() -> list[dict]:
    """Give a grid of precision and recall with its corners, and random values."""
    grid = (0.0, 0.01, 0.3, 0.5, 0.99, 1.0)
    rows = [
        (people, sick, capacity, p, r)
        for people, sick in ((1, 1), (40, 7), (40, 40))
        for capacity in (0.05, 0.5, 1.0)
        for p, r in itertools.product(grid, grid)
    ]
    rng = np.random.default_rng(8)
    for _ in range(400):
        people = int(rng.integers(1, 10_000))
        row = (people, int(rng.integers(1, people + 1)), float(1 - rng.random()))
        rows.append((*row, float(rng.random()), float(rng.random())))
    return [dict(zip([*PEOPLE, "precision", "recall"], row, strict=True)) for row in rows]


def test_ratios_give_what_the_library_gives(page):
    """Where the numbers are possible the page equals the library; where not, it names the field."""
    cases = ratio_cases()
    n_right = n_refused = n_undefined = 0
    for case, shown in zip(cases, drive(page, "ratios", cases), strict=True):
        people, sick, capacity, p, r = (case[name] for name in (*PEOPLE, "precision", "recall"))
        wrong = impossible_field(people, sick, p, r)
        assert set(shown["errors"]) == ({wrong} if wrong else set()), case
        if wrong:
            assert shown["ie"] == ""
            n_refused += 1
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            ours = pvf.intervention_efficiency(p, r, sick / people, capacity)
        if math.isnan(ours):
            assert (p, r, shown["ie"], shown["regime"]) == (0, 0, "", "unknown")
            n_undefined += 1
            continue
        assert float(shown["ie"]) == pytest.approx(ours, rel=1e-9), case
        assert float(shown["model"]) == pytest.approx(ours * capacity * sick, rel=1e-9), case
        n_right += 1
    assert min(n_right, n_refused, n_undefined) >= 6


def impossible_field(people: int, sick: int, p: float, r: float) -> str | None:
    """Name the field that can't be so: flags that are right, and no more flags than people."""
    if p > 0 and r == 0:
        return "recall"
    if p == 0 and r > 0:
        return "precision"
    if p == 0:
        return None
    false_positives = Fraction(r) * sick / Fraction(p) * (1 - Fraction(p))
    return "precision" if false_positives > (people - sick) * (1 + Fraction(1, 10**9)) else None


@pytest.mark.parametrize(
    ("values", "field", "says"),
    [
        pytest.param({"population": ""}, "population", "needs a number", id="empty"),
        pytest.param({"population": 0}, "population", "below 1", id="nobody"),
        pytest.param({"population": 10.5}, "population", "whole", id="half-a-person"),
        pytest.param({"positives": 0}, "positives", "at least 1", id="no-positive"),
        pytest.param({"positives": 201}, "positives", "population, 200", id="too-many-positives"),
        pytest.param({"capacity": 0}, "capacity", "above 0", id="no-capacity"),
        pytest.param({"capacity": 1.1}, "capacity", "at most 1", id="capacity-above-1"),
        pytest.param({"tp": 21}, "tp", "the positives, 20", id="tp-above-positives"),
        pytest.param({"fp": 181}, "fp", "180", id="fp-above-negatives"),
        pytest.param({"tp": -1}, "tp", "below 0", id="negative"),
    ],
)
def test_impossible_number_is_named(page, values, field, says):
    """An impossible number marks its field, says why beside it and aloud, and shows no result."""
    fill(page, **values)
    said = settle(page)
    error = page.inner_text(f"#{field}-error")
    assert says in error
    assert said.startswith("No result.")
    assert error in said
    assert page.get_attribute(f"#{field}", "aria-invalid") == "true"
    assert page.inner_text("#interval") == "–"
    assert f"{field}-error" in page.get_attribute(f"#{field}", "aria-describedby").split()
    assert page.inner_text("#ie") == "–"
    fill(page, population=200, positives=20, capacity=0.1, tp=15, fp=15)
    settle(page)
    assert page.get_attribute(f"#{field}", "aria-invalid") is None
    assert page.inner_text("#ie") == "5"


def test_ratios_of_zero_ask_for_counts(page):
    """With p = r = 0 there is no value, unless everybody is treated; the page says what helps."""
    page.check("input[value=ratios]")
    fill(page, precision=0, recall=0)
    assert "Enter counts instead" in settle(page)
    assert page.inner_text("#ie") == "no value"
    fill(page, capacity=1)
    settle(page)
    assert page.inner_text("#ie") == "1"


def test_both_switches_agree(page):
    """Precision and recall made from counts give the same as the counts."""
    by_counts = page.eval_on_selector("#ie", "e => e.value")
    page.check("input[value=ratios]")
    settle(page)
    assert float(page.eval_on_selector("#ie", "e => e.value")) == pytest.approx(float(by_counts))
    assert not page.is_visible("#tp")
    assert page.is_visible("#precision")


def test_formula_shows_the_readers_numbers(page):
    """The formula is typeset, holds the numbers typed in, and changes with them."""
    fill(page, population=317, positives=41, tp=23, fp=19)
    settle(page)
    page.wait_for_function("document.querySelectorAll('#formula mjx-container').length === 2")
    digits = """() => [...document.querySelectorAll('#formula mjx-c')].map(c =>
        String.fromCodePoint(parseInt([...c.classList].find(n => n.startsWith('mjx-c'))
            .replace('mjx-c', ''), 16))).join('')"""
    page.wait_for_function(f"({digits})().includes('317')")
    text = page.evaluate(digits)
    for number in ("317", "41", "23", "19"):
        assert number in text
    assert page.locator("#formula mjx-merror").count() == 0


def test_keyboard_alone_is_enough(page):
    """Tab reaches every field in order; arrows move sliders and the switch; the answer follows."""
    page.focus("#population")
    reached = ["population"]
    for _ in range(11):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.type"))
    slider = "range"
    assert reached == [
        "population", slider, "positives", slider, "capacity", slider,
        "radio", "second", "tp", slider, "fp", slider,
    ]  # fmt: skip
    page.focus("#capacity")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert page.input_value("#capacity") == "0.11"
    settle(page)
    assert float(page.eval_on_selector("#ie", "e => e.value")) == pytest.approx(
        pvf.intervention_efficiency_counts(15, 15, 20, 180, 0.11)
    )
    page.focus("input[value=counts]")
    page.keyboard.press("ArrowDown")
    assert page.is_checked("input[value=ratios]")
    assert page.is_visible("#recall")


def test_answer_is_announced_once_typing_ends(page):
    """The answer is a polite live region, a sentence with the numbers, and fields have labels."""
    assert page.get_attribute("#answer", "aria-live") == "polite"
    fill(page, tp=20, fp=0)
    said = settle(page)
    assert said.startswith(
        "The model reaches 20 of 20 cases on average, chance 2: 10 times as many."
    )
    for name in (*PEOPLE, "tp", "fp"):
        assert page.get_by_role("textbox", name=re.compile(page.inner_text(f"label[for={name}]")))
    assert page.locator("#calculator input:is([type=text], [type=range])").count() == 26
    assert page.get_by_role("slider").count() == 5  # those of the other switch are hidden


@pytest.mark.parametrize(
    ("typed", "share"),
    [("10%", 0.1), ("12,5 %", 0.125), ("20 places", 0.1), ("1 place", 0.005), ("0,1", 0.1)],
)
def test_capacity_as_people_write_it(page, typed, share):
    """Percent, places and a decimal comma are the share that they stand for."""
    fill(page, capacity=typed)
    settle(page)
    assert page.inner_text("#capacity-error") == ""
    assert value(page, "ie") == pytest.approx(
        pvf.intervention_efficiency_counts(15, 15, 20, 180, share), abs=1e-9
    )


@pytest.mark.parametrize(
    ("name", "typed", "says"),
    [
        ("population", "1,000", "ambiguous"),
        ("population", "1.000", "ambiguous"),
        ("capacity", "201 places", "at most 1"),
        ("capacity", "10", "at most 1"),
        ("capacity", "ten", "needs a number"),
    ],
)
def test_what_could_be_misread_is_refused(page, name, typed, says):
    """A number that could mean two things, or nothing, gives no result."""
    fill(page, **{name: typed})
    assert settle(page).startswith("No result.")
    assert says in page.inner_text(f"#{name}-error")


def value(page: Page, name: str) -> float:
    """Read a result with all of its digits."""
    return float(page.eval_on_selector(f"#{name}", "e => e.value"))


@pytest.mark.parametrize(
    ("tp", "fp", "capacity"), [(15, 15, 0.1), (0, 0, 0.1), (20, 0, 0.1), (12, 3, 0.4), (1, 60, 0.2)]
)
def test_interval_is_that_of_plausible_counts(page, tp, fp, capacity):
    """The interval is the middle of draws from both classes' posterior distributions."""
    fill(page, tp=tp, fp=fp, capacity=capacity)
    settle(page)
    low, high = map(float, page.eval_on_selector("#interval", "e => e.value").split())
    rng = np.random.default_rng(1)
    shares = rng.beta(tp + 0.5, 20 - tp + 0.5, 200_000), rng.beta(fp + 0.5, 180.5 - fp, 200_000)
    draws = pvf.intervention_efficiency_counts(20 * shares[0], 180 * shares[1], 20, 180, capacity)
    ie = pvf.intervention_efficiency_counts(tp, fp, 20, 180, capacity)
    expected = np.quantile(draws, [0.025, 0.975])
    expected = [min(expected[0], ie), max(expected[1], ie)]
    assert [low, high] == pytest.approx(expected, rel=0.02)
    assert low <= value(page, "ie") <= high


def test_beta_quantiles_are_scipys(page):
    """The intervals' quantiles are those of the Beta distribution, to 1e-9."""
    for a, b in itertools.product((0.5, 3.5, 400.5), (0.5, 20.5, 90_000.5)):
        for share in (0.0025, 0.3, 0.9975):
            shown = page.evaluate(f"Pvf.betaQuantile({share}, {a}, {b})")
            assert shown == pytest.approx(stats.beta.ppf(share, a, b), rel=1e-9, abs=1e-13)


def test_by_rank_is_a_flag_for_each_place(page):
    """By rank IE is the share of cases reached over the capacity; the interval keeps to places."""
    page.check("input[value=rank]")
    fill(page, hits=10)
    settle(page)
    assert value(page, "ie") == pytest.approx(10 / 20 / 0.1, abs=1e-9)
    assert page.inner_text("#regime") == "by rank"
    assert eval_call(page.inner_text("#call")) == pytest.approx(5, abs=1e-9)
    low, high = map(float, page.eval_on_selector("#interval", "e => e.value").split())
    expected = stats.beta.ppf([0.025, 0.975], 10.5, 10.5) / 0.1
    assert [low, high] == pytest.approx(expected, rel=0.01)
    fill(page, hits=21)
    assert "can’t exceed" in settle(page)
    fill(page, capacity="95%", hits=1)
    assert "can’t be below 10" in settle(page)


def test_a_second_model_stands_beside_the_first(page):
    """The second model's numbers are the library's; the sentence says how many more it reaches."""
    page.check("#second")
    fill(page, tp2=18, fp2=2)
    said = settle(page)
    ours = pvf.intervention_efficiency_counts(18, 2, 20, 180, 0.1)
    assert value(page, "ie2") == pytest.approx(ours, abs=1e-9)
    assert value(page, "by-model2") == pytest.approx(ours * 2, abs=1e-9)
    assert f"The second model reaches {ours * 2 - 10:g} more." in said
    assert "interval of the second" in said
    assert page.locator("#curve circle").count() == 2
    fill(page, tp2=21)
    assert settle(page).startswith("No result.")


def test_curve_follows_the_library(page):
    """The drawn line is IE at each capacity, in the drawing's own coordinates."""
    settle(page)
    points = [
        tuple(map(float, point.split()))
        for point in re.split("[ML]", page.get_attribute("#curve path.first:not(.band)", "d"))[1:]
    ]
    ies = [pvf.intervention_efficiency_counts(15, 15, 20, 180, (i + 1) / 50) for i in range(50)]
    # Heights are linear in IE: the two ends give the scale, and all others must fit.
    (x0, y0), (x1, y1) = points[0], points[-1]
    scale = (y1 - y0) / (ies[-1] - ies[0])
    for i, (x, y) in enumerate(points):
        assert x == pytest.approx(x0 + (x1 - x0) * i / 49, abs=0.11)
        assert y == pytest.approx(y0 + scale * (ies[i] - ies[0]), abs=0.25)
    before = page.get_attribute("#curve path.first:not(.band)", "d")
    fill(page, tp=20)
    settle(page)
    assert page.get_attribute("#curve path.first:not(.band)", "d") != before


def test_address_keeps_what_was_typed(page):
    """The address opened anew shows the same inputs and the same answer."""
    page.check("#second")
    fill(page, capacity="12,5 %", tp2=9)
    said = settle(page)
    again = page.context.new_page()
    again.goto(page.url)
    again.wait_for_selector("#calculator[data-settled=yes]")
    assert again.inner_text("#answer") == said
    assert again.input_value("#capacity") == "12,5 %"
    assert again.input_value("#tp2") == "9"
    again.close()


def test_result_stands_beside_the_inputs_on_a_screen(page):
    """On a wide screen the result is to the right of the inputs, on a phone below them."""
    boxes = (
        "['.inputs', '.results'].map(s => document.querySelector('#calculator ' + s)"
        ".getBoundingClientRect().toJSON())"
    )
    inputs, results = page.evaluate(boxes)
    assert results["left"] >= inputs["right"]
    page.set_viewport_size({"width": 360, "height": 740})
    inputs, results = page.evaluate(boxes)
    assert results["top"] >= inputs["bottom"]
    page.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_errors_and_ratios_are_accessible(page, theme):
    """Axe finds nothing serious where an error shows, by day and by night, at 360 pixels."""
    page.evaluate(f"document.documentElement.dataset.theme = {theme!r}")
    page.set_viewport_size({"width": 360, "height": 740})
    page.check("input[value=ratios]")
    fill(page, precision=0.01, recall=1)
    settle(page)
    assert page.inner_text("#precision-error")
    found = Axe().run(page, options={"preload": False}).response["violations"]
    serious = [rule["id"] for rule in found if rule["impact"] in ("serious", "critical")]
    assert serious == []
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    page.set_viewport_size({"width": 1280, "height": 900})
