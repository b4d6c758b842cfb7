import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from alignset.report.look import COLOURS, INK, looks

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB
DEFICIENCIES = {
    "none": np.eye(3),
    "protan": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                        [-0.003882, -0.048116, 1.051998]]),
    "deutan": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                        [-0.011820, 0.042940, 0.968881]]),
}  # fmt: skip


def lab(linear):
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    t = xyz @ np.clip(linear, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def seen(colour, deficiency):
    srgb = np.array(to_rgb(colour))
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    return lab(DEFICIENCIES[deficiency] @ linear)


def closest(colours, deficiency):
    points = [seen(c, deficiency) for c in colours]
    return min(np.linalg.norm(a - b) for a, b in itertools.combinations(points, 2))


@pytest.mark.parametrize("ink", [INK, "#e6e9ef"], ids=["light", "dark"])
@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_colours_differ_also_to_the_colour_blind(deficiency, ink):
    assert closest([ink if c == INK else c for c in COLOURS], deficiency) > 10


def test_colours_that_do_not_differ_are_caught():
    assert closest(("#ff0000", "#4f4f00"), "none") > 50
    assert closest(("#d62728", "#7f7f00"), "deutan") < closest(("#d62728", "#7f7f00"), "none") / 2


def test_a_method_keeps_its_look_whatever_else_is_shown():
    labels = [("mine", "Mine"), ("other", "Other")]
    few, many = looks(["mine"], labels), looks(["mine", "other", "z"], labels)
    assert few["mine"] == many["mine"]
    assert many["mine"].width > many["other"].width
    assert many["z"].label == "z"


def test_the_focus_is_drawn_heavier():
    found = looks(["a", "b"], focus="b")
    assert found["b"].width > found["a"].width


def test_twenty_methods_have_twenty_looks():
    found = looks(f"m{i:02}" for i in range(20))
    assert len({(look.colour, look.marker) for look in found.values()}) == 20
