"""Figures of the pages: real text, stacked for a phone, with values where a reader points."""

import itertools
import re

import matplotlib.pyplot as plt
import pytest

from book.tools.drawing import PHONE, stack, svg, two_layouts


@pytest.fixture
def figure():
    """Draw three panels with points, intervals and names on an axis."""
    drawn, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained", sharey=True)
    for ax, title in zip(axes, "abc", strict=True):
        ax.errorbar([0, 1], [1, -2], yerr=[[0.5, 1], [0.5, 2]], fmt="o", label="hold-out")
        ax.plot([0, 1], [0, 1], label="a line")
        ax.set_xticks([0, 1], ["low", "high"])
        ax.set_title(title)
    labels = [f"{name} {'x' * 30}" for name in "abc"]
    drawn.legend(axes[0].lines[:1] * 3, labels, loc="outside upper center", ncols=3)
    plt.close(drawn)
    return drawn


def test_text_is_text_and_ids_are_the_figures_own(figure):
    """Letters can be selected and searched, and no two layouts or figures share an id."""
    drawn = [svg(figure, "wide", 0), svg(figure, "narrow", 0), svg(figure, "wide", 1)]
    for text in drawn:
        assert re.search(r"<text [^>]*>high</text>", text)
        assert "http://purl.org" not in text
        ids = set(re.findall(r'\bid="([^"]+)"', text))
        used = re.findall(r'(?:href="#|url\(#)([^")]+)', text)
        assert set(used) <= ids
    found = [set(re.findall(r'\bid="([^"]+)"', text)) for text in drawn]
    assert not found[0] & found[1] | found[0] & found[2] | found[1] & found[2]


def test_points_say_their_values(figure):
    """Each mark says series, place, value and interval, with a true minus."""
    told = re.findall(r"<title>(.*?)</title>", svg(figure, "wide", 0))
    assert told == ["hold-out: low, 1 (0.5 to 1.5)", "hold-out: high, −2 (−3 to 0)"] * 3


def test_panels_stack_on_a_phone(figure):
    """As wide as a phone, one below the other, each with its own labels, the legend in a column."""
    stack(figure)
    figure.draw_without_rendering()
    assert figure.get_figwidth() == PHONE
    boxes = [ax.get_position() for ax in figure.axes]
    assert len({round(box.x0, 6) for box in boxes}) == 1
    assert all(above.y0 > below.y1 for above, below in itertools.pairwise(boxes))
    assert all(label.get_visible() for ax in figure.axes for label in ax.get_yticklabels())
    (legend,) = figure.legends
    assert legend.get_window_extent().width <= figure.bbox.width


def test_panels_without_a_title_stay_below_the_one_that_has_it():
    """In a grid whose first row alone has titles, columns are stacked, not rows."""
    figure, axes = plt.subplots(2, 2, layout="constrained")
    for ax, title in zip(axes[0], "ab", strict=True):
        ax.set_title(title)
    plt.close(figure)
    stack(figure)
    figure.draw_without_rendering()
    order = sorted(figure.axes, key=lambda ax: -ax.get_position().y0)
    assert order == [axes[0, 0], axes[1, 0], axes[0, 1], axes[1, 1]]


def test_long_labels_make_a_figure_wider_than_a_phone():
    """Where labels would leave no room for the panel, the figure keeps it, and its page scrolls."""
    figure, ax = plt.subplots(layout="constrained")
    ax.set_yticks([0], ["a name of many words that is far too long for a phone's narrow screen"])
    plt.close(figure)
    text = two_layouts(figure)
    assert [*re.findall(r'<svg class="(\w+)" role="img"', text)] == ["wide", "narrow"]
    assert figure.get_figwidth() > PHONE
    assert ax.get_window_extent().width / figure.dpi > 1
