"""One figure style: readable by everybody, used only where asked for, the same each time."""

import io
import itertools

import matplotlib as mpl
import matplotlib.colors as mcolors
import matplotlib.pyplot as plt
import numpy as np
import pytest

from pvf import InterventionEfficiencyDisplay
from pvf.plotting import PALETTE, STYLE, new_axes, style


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def linear_rgb(colour):
    rgb = np.array(mcolors.to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast_with_white(colour):
    """Return the contrast ratio of the Web Content Accessibility Guidelines."""
    return 1.05 / (linear_rgb(colour) @ [0.2126, 0.7152, 0.0722] + 0.05)


# How the full lack of one kind of cone changes linear RGB (Machado, Oliveira and Fernandes, 2009).
SIGHT = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}


def lab(rgb):
    """Return CIELAB of linear RGB under D65."""
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    x, y, z = to_xyz @ np.clip(rgb, 0, 1) / to_xyz.sum(axis=1)
    fx, fy, fz = (t ** (1 / 3) if t > (6 / 29) ** 3 else t * 841 / 108 + 4 / 29 for t in (x, y, z))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


@pytest.mark.parametrize("colour", PALETTE)
def test_lines_stand_out_from_white(colour):
    """Each colour reaches the 3:1 that the accessibility guidelines ask of graphics."""
    assert contrast_with_white(colour) >= 3


@pytest.mark.parametrize("sight", SIGHT)
def test_colours_can_be_told_apart(sight):
    """Any two colours are far apart in CIELAB, for usual sight and each kind of blindness."""
    seen = [lab(SIGHT[sight] @ linear_rgb(colour)) for colour in PALETTE]
    for one, other in itertools.combinations(seen, 2):
        assert np.linalg.norm(one - other) >= 25


def test_the_style_ends_with_its_block():
    """Inside the block the style holds; afterwards everything is as before, after an error too."""
    before = dict(mpl.rcParams)
    with style():
        assert mpl.rcParams["axes.prop_cycle"].by_key()["color"] == PALETTE
        assert mpl.rcParams["figure.constrained_layout.use"]
        assert not mpl.rcParams["axes.spines.top"]
    assert dict(mpl.rcParams) == before

    def fail():
        with style():
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert dict(mpl.rcParams) == before
    assert set(STYLE) <= set(before)


def test_new_axes_are_in_the_style():
    """A new figure is drawn in the style, takes subplots' settings and changes no default."""
    before = dict(mpl.rcParams)
    ax = new_axes(figsize=(3, 2))
    assert dict(mpl.rcParams) == before
    assert ax.figure.get_size_inches().tolist() == [3, 2]
    assert not ax.spines["top"].get_visible()
    assert ax.spines["left"].get_visible()
    (line,) = ax.plot([0, 1])
    assert line.get_color() == PALETTE[0]


def test_the_same_picture_gives_the_same_bytes():
    """Two drawings of the same display are the same SVG, so that a rebuilt book is the same."""

    def picture():
        with style():
            display = InterventionEfficiencyDisplay.from_predictions(
                [1, 0, 0, 1, 0, 1], [1, 0, 1, 0, 0, 1], n_bootstraps=20, random_state=0
            )
            file = io.BytesIO()
            display.figure_.savefig(file, format="svg", metadata={"Date": None})
        return file.getvalue()

    first = picture()
    assert len(first) > 1000
    assert picture() == first
