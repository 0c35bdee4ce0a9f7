"""The playgrounds in a browser equal the library, by keyboard, mouse and touch."""

import itertools
import math

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import REPOSITORY
from playwright.sync_api import Page
from scipy import integrate, stats
from sklearn.metrics import f1_score, make_scorer
from sklearn.tree import DecisionTreeClassifier

import pvf

pytestmark = pytest.mark.browser

IS_CASE = np.repeat([True, False], [6, 14])
THRESHOLDS = np.linspace(-1, 4, 41)
COLOURS = {"text-base": "#222", "background": "#fff", "surface": "#f4f4f4", "border": "#ccc"}
COLOURS |= {"text-muted": "#555", "primary": "#0b5a8a", "danger": "#b00"}


@pytest.fixture(scope="module")
def page(chromium, tmp_path_factory):
    """Open both playgrounds on a page of their own, from disk, without a network or a book."""
    root = tmp_path_factory.mktemp("playground")
    static = REPOSITORY.root / "book" / "_static"
    (root / "_static").symlink_to(static, target_is_directory=True)
    (root / "book").mkdir()
    parts = [(static / f"playground_{name}.html").read_text() for name in ("truth", "simplex")]
    colours = "".join(f"--pst-color-{name}: {value};" for name, value in COLOURS.items())
    (root / "book" / "page.html").write_text(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Playground</title>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<style>html {{{colours}}}</style><main><h1>Playground</h1>{''.join(parts)}</main></html>",
    )
    context = chromium.new_context(offline=True, has_touch=True)
    opened = context.new_page()
    opened.set_viewport_size({"width": 1280, "height": 1600})
    opened.faults = []
    opened.on("console", lambda m: opened.faults.append(m.text))
    opened.on("pageerror", lambda error: opened.faults.append(str(error)))
    opened.goto((root / "book" / "page.html").as_uri())
    opened.wait_for_selector("#simplex[data-settled]")
    yield opened
    context.close()


@pytest.fixture(autouse=True)
def fresh(page):
    """Start each test with the same settings; end it without a fault."""
    page.faults.clear()
    set_truth(page, sigma=0.3, measure="ie10", rule="first")
    yield
    assert page.faults == []


@pytest.fixture
def redrawn(page):
    """Open the page anew after a test that draws other people, whatever the test ends in."""
    yield
    page.reload()
    page.wait_for_selector("#simplex[data-settled]")


def set_truth(page: Page, *, sigma: float, measure: str, rule: str) -> None:
    """Choose the settings of the known truth."""
    page.select_option("#measure", measure)
    page.select_option("#rule", rule)
    page.evaluate(
        "v => {const s = document.getElementById('sigma'); s.value = v;"
        "s.dispatchEvent(new Event('input', {bubbles: true}));}",
        str(sigma),
    )


def table(page: Page) -> np.ndarray:
    """Read thresholds and the scores of all three kinds, with all of their digits."""
    return np.array(
        page.eval_on_selector_all(
            "#scores tbody tr",
            "rows => rows.map(r => [...r.querySelectorAll('data')].map(d => Number(d.value)))",
        )
    )


class Replay:
    """A mechanism that moves people by the page's noise, set after set."""

    def __init__(self, noise: np.ndarray, sigma: float) -> None:
        self.noise, self.sigma = noise, sigma

    def fit(self, _: object) -> "Replay":
        """Learn nothing."""
        return self

    def sample(self, column: object, size: int, _: np.random.Generator) -> np.ndarray:
        """Return the next set: the library draws sets in order, each once."""
        moved = np.asarray(column) + self.sigma * self.noise[0]
        self.noise = self.noise[1:]
        assert moved.shape == (size, 20)
        return moved


def stumps() -> list[DecisionTreeClassifier]:
    """Return the 41 thresholds as models."""
    return [
        DecisionTreeClassifier(max_depth=1).fit([[t - 1], [t + 1]], [False, True])
        for t in THRESHOLDS
    ]


SCORERS = {
    "ie10": pvf.intervention_efficiency_scorer(0.1, pos_label=True),
    "ie30": pvf.intervention_efficiency_scorer(0.3, pos_label=True),
    "f1": make_scorer(f1_score, pos_label=True, zero_division=0.0),
}


@pytest.mark.parametrize("measure", SCORERS)
@pytest.mark.parametrize("sigma", [0, 0.3, 1.5])
def test_scores_and_choices_are_the_librarys(page, measure, sigma):
    """Same people, same noise: `perturbation_validation` gives each score and each choice."""
    set_truth(page, sigma=sigma, measure=measure, rule="last")
    seed = 1
    people = np.array(page.evaluate(f"[...Truth.people({seed})]"))
    noise = np.array(page.evaluate(f"[...Truth.noise({seed})]")).reshape(100, 7, 20)
    result = pvf.perturbation_validation(
        stumps(), people[:, None], IS_CASE, tie_break="last",
        perturbation=pvf.Perturbation(Replay(noise, sigma)), scoring=SCORERS[measure],
    )  # fmt: skip
    shown = table(page)
    np.testing.assert_allclose(shown[:, 0], THRESHOLDS, atol=1e-12)
    np.testing.assert_allclose(shown[:, 1], result.unperturbed, rtol=0, atol=1e-9)
    np.testing.assert_allclose(shown[:, 2], result.aggregated, rtol=0, atol=1e-9)
    tied = page.evaluate(
        f"Truth.tied(Truth.judge(Truth.people(1), Truth.noise(1), {sigma}, '{measure}').pvf)"
    )
    assert tied == result.tied.tolist()
    chosen = page.inner_text("#choice").split(" PVF chooses ")[1].split(",")[0]
    assert chosen.replace("\u2212", "-") == f"{THRESHOLDS[result.best_index]:.4g}"
    assert page.locator("#people .tied.is-pvf").count() == len(result.tied)


@pytest.mark.parametrize("measure", SCORERS)
def test_truth_follows_from_the_normal_distribution(page, measure):
    """The true scores are those of shares integrated from the normal density, to 1e-9."""
    set_truth(page, sigma=0.3, measure=measure, rule="first")
    expected = []
    for t in THRESHOLDS:
        above = [integrate.quad(stats.norm(m).pdf, t, m + 12, epsabs=1e-13)[0] for m in (3, 0)]
        tp, fp = 0.3 * above[0], 0.7 * above[1]
        capacity = {"ie10": 0.1, "ie30": 0.3}.get(measure)
        expected.append(
            pvf.intervention_efficiency_counts(tp, fp, 0.3, 0.7, capacity)
            if capacity
            else 2 * tp / (tp + fp + 0.3)
        )
    np.testing.assert_allclose(table(page)[:, 3], expected, rtol=0, atol=1e-9)
    best = THRESHOLDS[int(np.argmax(expected))]
    assert f"The best threshold, {best:.4g}," in page.inner_text("#choice")


def by_rank(values: np.ndarray, is_case: np.ndarray, capacity: float) -> float:
    """IE by rank, as the mean over all orders of those who tie: a literal twin for small sets."""
    room, reached = capacity * len(values), []
    for order in itertools.permutations(range(len(values))):
        if any(values[a] < values[b] for a, b in itertools.pairwise(order)):
            continue
        places = np.clip(room - np.arange(len(values)), 0, 1)
        reached.append((places * is_case[list(order)]).sum())
    return float(np.mean(reached)) / (capacity * is_case.sum())


def test_efficiency_by_rank_shares_places_among_ties(page):
    """Against all orders of seven people, with ties and with part of a place."""
    rng = np.random.default_rng(3)
    for _ in range(6):
        values, is_case = (
            rng.integers(0, 4, 7).astype(float),
            rng.permutation([1, 1, 1, 0, 0, 0, 0]),
        )
        capacity = float(rng.uniform(0.05, 1))
        shown = page.evaluate(
            "([v, c, g]) => Pvf.rankEfficiency(v, c, g)",
            [values.tolist(), is_case.tolist(), capacity],
        )
        assert shown == pytest.approx(by_rank(values, is_case, capacity), abs=1e-12)


def test_by_rank_all_thresholds_are_one(page):
    """By rank the first two of twenty count, PVF takes the quartile of sets, the truth is exact."""
    set_truth(page, sigma=0.3, measure="rank10", rule="first")
    shown = table(page)
    assert np.ptp(shown[:, 1:], axis=0).max() == 0
    people = np.array(page.evaluate("[...Truth.people(1)]"))
    noise = np.array(page.evaluate("[...Truth.noise(1)]")).reshape(100, 140)
    is_case = np.tile(IS_CASE, 7)
    scores = []
    for draws in noise:
        first = np.argsort(-(np.tile(people, 7) + 0.3 * draws))[:14]
        scores.append(is_case[first].sum() / 42 / 0.1)
    assert shown[0, 1] == pytest.approx(IS_CASE[np.argsort(-people)[:2]].sum() / 6 / 0.1)
    assert shown[0, 2] == pytest.approx(np.quantile(scores, 0.25), abs=1e-9)
    cut = stats.norm.isf(0.1 / 0.3 * 0.999)  # where the tenth person in a hundred stands
    for _ in range(50):
        excess = 0.3 * stats.norm.sf(cut) + 0.7 * stats.norm.sf(cut + 3) - 0.1
        cut += excess / (0.3 * stats.norm.pdf(cut) + 0.7 * stats.norm.pdf(cut + 3))
    assert shown[0, 3] == pytest.approx(stats.norm.sf(cut) / 0.1, abs=1e-9)
    assert "all 41 thresholds are one" in page.inner_text("#choice")


def test_a_thousand_draws_are_counted_and_reached_by_keyboard(page):
    """Wins, losses and ties of the other thousand draws are those of the scores, one by one."""
    page.focus("#repeat")
    page.keyboard.press("Enter")
    page.wait_for_selector("#repeated[data-win]", timeout=60_000)
    said = page.inner_text("#repeated")
    data = page.evaluate("({...document.getElementById('repeated').dataset})")
    win, loss, tie = (round(float(data[name])) for name in ("win", "loss", "tie"))
    assert win + loss + tie == 1000
    assert f"better in {win}, worse in {loss} and as good in {tie}." in said
    some = page.evaluate(
        """[...Array(1000).keys()].map(k => k + 2).map(key => Truth.judge(
            Truth.people(key), Truth.noise(key), 0.3, 'ie10'))"""
    )
    gains = [
        s["truth"][int(tied_best(s["pvf"])[0])] - s["truth"][int(tied_best(s["traditional"])[0])]
        for s in some
    ]
    assert (np.array(gains) > 1e-12).sum() == win
    assert (np.array(gains) < -1e-12).sum() == loss
    assert float(data["gain"]) == pytest.approx(np.mean(gains), abs=1e-12)
    half = 1.96 * np.std(gains, ddof=1) / math.sqrt(1000)
    low, high = (float(f"{np.mean(gains) + side * half:.2g}") for side in (-1, 1))
    shown = said.replace("\u2212", "-").split("interval ")[1].rstrip(").").split(" to ")
    assert [float(v) for v in shown] == [low, high]
    page.select_option("#rule", "last")
    assert "not been repeated" in page.inner_text("#repeated")


def tied_best(scores: list[float]) -> np.ndarray:
    """Return where the best score stands, within rounding."""
    return np.flatnonzero(np.isclose(scores, max(scores), rtol=1e-9, atol=1e-12))


def test_people_and_noise_are_normal(page):
    """Draws of the page follow the normal distribution and depend on the seed alone."""
    draws = np.array(page.evaluate("[...Truth.noise(5)]"))
    assert stats.kstest(draws, "norm").pvalue > 0.001
    assert draws.tolist() == page.evaluate("[...Truth.noise(5)]")
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 0.03
    cases = np.array(page.evaluate("[...Array(500).keys()].map(s => Truth.people(s)[0])"))
    assert stats.kstest(cases, "norm", args=(3, 1)).pvalue > 0.001


@pytest.mark.usefixtures("redrawn")
def test_redraw_and_slider_by_keyboard_and_tap(page):
    """Arrows move σ and a tap draws others; the sentence, which is spoken, follows."""
    page.focus("#sigma")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#sigma-shown") == "0.35"
    before = table(page)
    page.locator("#redraw").tap()
    assert (table(page)[:, 1] != before[:, 1]).any()
    assert page.get_attribute("#choice", "aria-live") == "polite"
    for name in ("#sigma", "#measure", "#rule"):
        assert page.locator(f"label[for={name[1:]}]").count() == 1


# --- Rashomon Capacity ----------------------------------------------------------------------------


def models(page: Page) -> np.ndarray:
    """Read the models' scores."""
    shown = page.eval_on_selector_all(
        "#models tbody tr",
        "rows => rows.map(r => [...r.querySelectorAll('input')].map(d => Number(d.value)))",
    )
    return np.array(shown)


def capacity(page: Page) -> float:
    """Read the capacity with all of its digits."""
    return float(page.get_attribute("#simplex", "data-capacity"))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_capacity_is_the_librarys(page, n_classes):
    """Random, near, certain and equal scores of two to six models, to 1e-9."""
    rng = np.random.default_rng(4)
    sets = [rng.dirichlet(np.full(n_classes, a), m) for a in (0.1, 1, 9) for m in range(2, 7)]
    sets += [sets[5] * 1e-4 + (1 - 1e-4) / n_classes, np.eye(n_classes), np.ones((3, n_classes))]
    sets[-1] /= n_classes
    sets.append(np.vstack([np.eye(n_classes), np.full(n_classes, 1 / n_classes)]))
    for rows in sets:
        found = page.evaluate("rows => Pvf.rashomonCapacity(rows)", rows.tolist())
        ours, _ = pvf.rashomon_capacity(rows[:, None, :], return_gap=True, tol=1e-11)
        assert found["capacity"] == pytest.approx(ours[0], abs=1e-9), rows
        assert sum(found["weights"]) == pytest.approx(1)
        assert np.count_nonzero(found["weights"]) <= n_classes
        np.testing.assert_allclose(np.dot(found["weights"], rows), found["centre"], atol=1e-12)


@pytest.mark.parametrize("how", ["mouse", "touch"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_dragged_model_changes_the_capacity(page, how, n_classes):
    """A dragged model goes where the pointer goes and no farther than the simplex."""
    page.select_option("#classes", "2" if n_classes == 3 else "3")
    page.select_option("#classes", str(n_classes))
    before = models(page)
    page.locator("#simplex .handle").first.scroll_into_view_if_needed()
    box = page.locator("#simplex .handle .dot").first.bounding_box()
    start = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    end = (start[0] + 2000, start[1] + (0 if n_classes == 2 else 500))
    drag(page, how, start, end)
    after = models(page)
    assert (after[1:] == before[1:]).all()
    assert after[0].tolist() == [0, 1, 0][:n_classes]
    assert capacity(page) == pytest.approx(pvf.rashomon_capacity(after[:, None, :])[0], abs=1e-9)
    page.wait_for_selector("#simplex[data-settled]")
    assert f"{capacity(page):.4f} effective classes" in page.inner_text("#capacity-said")


def drag(page: Page, how: str, start: tuple, end: tuple) -> None:
    """Drag from one point to another."""
    if how == "mouse":
        page.mouse.move(*start)
        page.mouse.down()
        page.mouse.move(*end, steps=3)
        page.mouse.up()
        return
    session = page.context.new_cdp_session(page)
    end = (min(end[0], 1270), end[1])
    for kind, points in (("touchStart", [start]), ("touchMove", [end]), ("touchEnd", [])):
        session.send(
            "Input.dispatchTouchEvent",
            {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]},
        )


def test_models_by_keyboard(page):
    """Arrows move a model, typed shares move it too, and its value is spoken."""
    page.select_option("#classes", "2")
    page.select_option("#classes", "3")
    handle = page.get_by_role("slider", name="Model 1")
    handle.focus()
    page.keyboard.press("ArrowRight")
    assert models(page)[0].tolist() == [0.69, 0.21, 0.1]
    page.keyboard.press("Shift+ArrowUp")
    assert models(page)[0].tolist() == [0.64, 0.16, 0.2]
    assert handle.get_attribute("aria-valuetext") == "A 64%, B 16%, C 20%"
    page.fill("[aria-label='Model 2, class A']", "0,5")
    page.keyboard.press("Tab")
    assert models(page)[1].tolist() == [0.5, 0.375, 0.125]
    page.fill("[aria-label='Model 2, class A']", "much")
    page.keyboard.press("Tab")
    assert models(page)[1].tolist() == [0.5, 0.375, 0.125]
    assert capacity(page) == pytest.approx(
        pvf.rashomon_capacity(models(page)[:, None, :])[0], abs=1e-9
    )


def test_models_are_added_and_removed(page):
    """Two to six models; a model between others changes nothing and is shown as idle."""
    page.select_option("#classes", "3")
    while page.is_enabled("#remove"):
        page.click("#remove")
    assert len(models(page)) == 2
    while page.is_enabled("#add"):
        page.click("#add")
    assert len(models(page)) == 6
    assert page.locator("#simplex .handle.idle").count() >= 3
    assert capacity(page) == pytest.approx(
        pvf.rashomon_capacity(models(page)[:, None, :])[0], abs=1e-9
    )


@pytest.mark.parametrize("width", [360, 1280])
def test_playgrounds_are_accessible_and_fit(page, width):
    """Axe finds nothing serious, nothing is wider than the screen, fingers find the points."""
    page.set_viewport_size({"width": width, "height": 1600})
    found = Axe().run(page, options={"preload": False}).response["violations"]
    serious = [
        (v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    touch = page.locator("#simplex .handle .touch").first.bounding_box()
    assert min(touch["width"], touch["height"]) >= 44
    page.set_viewport_size({"width": 1280, "height": 1600})
