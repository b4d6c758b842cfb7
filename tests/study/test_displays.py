import numpy as np
import pandas as pd
import pytest
from report.made_up import cells, published_of

from alignset.report.displays import Axis
from alignset.report.look import looks
from alignset.study.displays import Bars, Curves, Panels, _push_apart

FRAME = cells({"a": {0.1: 0.8, 0.2: 0.7}, "b": {0.1: 0.9, 0.2: 0.85}}, seeds=3)
PUBLISHED = published_of(FRAME)
AXIS = Axis("noise rate", is_share=True)
KINDS = pytest.mark.parametrize("kind", [Curves, Panels, Bars])


@KINDS
def test_the_same_results_give_the_same_bytes(kind):
    one = kind(FRAME, "hm", AXIS, name="d", published=PUBLISHED)
    two = kind(FRAME.sample(frac=1, random_state=1), "hm", AXIS, name="d", published=PUBLISHED)
    assert one.svg() == two.svg()
    pd.testing.assert_frame_equal(one.frame(), two.frame())


@KINDS
def test_the_frame_has_the_means_sds_and_gaps(kind):
    table = kind(FRAME, "hm_released", AXIS, name="d", published=PUBLISHED).frame()
    names = ["method", "x", "seeds", "mean", "SD", "published mean", "published SD", "gap"]
    assert list(table.columns) == names
    values = FRAME[(FRAME["method"] == "a") & (FRAME["x"] == 0.1)]["hm_released"]
    assert table.loc[0, "mean"] == pytest.approx(values.mean())
    assert table.loc[0, "SD"] == pytest.approx(np.std(values))
    assert table["gap"].abs().max() < 1e-12


@KINDS
def test_without_published_values_there_is_no_empty_column(kind):
    assert list(kind(FRAME, "hm", AXIS, name="d").frame().columns) == [
        *("method", "x", "seeds", "mean", "SD"),
    ]


def test_published_values_are_dashed_and_ours_are_not():
    solid = Curves(FRAME, "hm", AXIS, name="d").svg()
    both = Curves(FRAME, "hm", AXIS, name="d", published=PUBLISHED).svg()
    assert "stroke-dasharray" not in solid
    assert both.count("stroke-dasharray: ") == 2


def test_a_method_only_published_is_shown():
    one = FRAME[FRAME["method"] == "a"]
    table = Panels(one, "hm", AXIS, name="d", published=PUBLISHED).frame()
    assert set(table["method"]) == {"a", "b"}
    assert table["mean"].isna().sum() == 2


def test_methods_are_named_and_ordered_as_told():
    look = looks(["a", "b"], [("b", "Ours"), ("a", "Theirs")])
    display = Curves(FRAME, "hm", AXIS, name="d", look=look)
    assert list(dict.fromkeys(display.frame()["method"])) == ["Ours", "Theirs"]
    assert ">Ours<" in display.svg()


@KINDS
def test_one_seed_one_method_one_position_can_be_drawn(kind):
    one = cells({"only": {1.0: 0.9}}, seeds=1)
    display = kind(one, "hm", Axis("alpha", is_log=True), name="d")
    assert display.svg().startswith("<?xml")
    assert np.isnan(display.frame().loc[0, "SD"])


@KINDS
def test_a_method_with_a_hostile_name_is_escaped(kind):
    one = cells({"<script>alert(1)</script>": {1.0: 0.9, 2.0: 0.8}}, seeds=2)
    assert "<script" not in kind(one, "hm", Axis("x"), name="d").svg()


def test_many_bands_become_small_multiples():
    few = {f"m{i}": {1.0: 0.9 - i / 50, 2.0: 0.8} for i in range(4)}
    one = Curves(cells(few, seeds=3), "hm", AXIS, name="d")
    many = Curves(cells({**few, "m4": {1.0: 0.7, 2.0: 0.6}}, seeds=3), "hm", AXIS, name="d")
    assert (one.is_tall, many.is_tall) == (False, True)
    assert (one.svg().count('id="axes_'), many.svg().count('id="axes_')) == (1, 5)
    assert "faint: the other methods" in many.svg()
    assert "published" not in many.svg()


def test_labels_are_pushed_apart_and_stay_inside():
    places = _push_apart([0.5, 0.5, 0.5, 0.51, 0.99, 1.0], gap=0.1)
    assert np.diff(places).min() > 0.0999
    assert places[0] >= 0
    assert places[-1] <= 1 + 1e-9
    assert _push_apart([0.1, 0.9], gap=0.1) == [0.1, 0.9]
    assert _push_apart([], gap=0.1) == []
