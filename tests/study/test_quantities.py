import numpy as np
import pandas as pd
import pytest
from report.made_up import cells, fail, published_of

from alignset.study.quantities import (
    Evidence,
    Line,
    above,
    at,
    at_each,
    below,
    best_rival,
    between,
    contrasts,
    together,
)

FRAME = cells({"a": {0.1: 0.9, 0.2: 0.8, 0.3: 0.7}, "b": {0.1: 0.8, 0.2: 0.8, 0.3: 0.75}}, seeds=4)
LINE = Line("noise_rate", "synthetic", "a")
EVIDENCE = Evidence(FRAME, published_of(FRAME, "hm"))


def by_hand(method, *xs, frame=FRAME):
    rows = frame[(frame["method"] == method) & frame["x"].isin(xs)]
    return rows.pivot(index="seed", columns="x", values="hm")


def test_positions_include_and_exclude_their_bounds():
    xs = (0.1, 0.2, 0.30000000000000004)
    assert [x for x in xs if below(0.3)(x)] == [0.1, 0.2]
    assert [x for x in xs if above(0.1)(x)] == [0.2, xs[2]]
    assert [x for x in xs if between(0.1, 0.3)(x)] == list(xs)
    assert [x for x in xs if at(0.3, 0.1)(x)] == [0.1, xs[2]]


def test_mean_spread_and_slope_by_hand():
    values, theirs = LINE.mean(below(0.25)).read(EVIDENCE)
    assert values.to_numpy() == pytest.approx(by_hand("a", 0.1, 0.2).mean(axis=1).to_numpy())
    assert theirs == pytest.approx(values.mean())
    table = by_hand("a", 0.1, 0.2, 0.3)
    values, _ = LINE.spread().read(EVIDENCE)
    assert values.to_numpy() == pytest.approx((table.max(axis=1) - table.min(axis=1)).to_numpy())
    values, theirs = LINE.slope().read(EVIDENCE)
    fitted = [np.polyfit(table.columns, row, 1)[0] for row in table.to_numpy()]
    assert values.to_numpy() == pytest.approx(fitted)
    assert theirs == pytest.approx(np.mean(fitted))


def test_a_difference_is_taken_seed_by_seed():
    values, theirs = (LINE.mean(at(0.1)) - LINE.by("b").mean(at(0.1))).read(EVIDENCE)
    expected = by_hand("a", 0.1)[0.1] - by_hand("b", 0.1)[0.1]
    assert values.to_numpy() == pytest.approx(expected.to_numpy())
    assert theirs == pytest.approx(expected.mean())


def test_a_seed_with_a_failed_cell_is_left_out():
    evidence = Evidence(fail(FRAME, n=1))
    assert len(LINE.by("b").mean().read(evidence)[0]) == 3
    assert len((LINE.mean() - LINE.by("b").mean()).read(evidence)[0]) == 3


def test_nothing_published_is_missing_not_zero():
    assert np.isnan(LINE.mean().read(Evidence(FRAME))[1])


def test_published_values_are_compared_at_the_same_positions():
    few = Evidence(FRAME[FRAME["x"] < 0.25], published_of(FRAME, "hm"))
    values, theirs = LINE.mean().read(few)
    assert theirs == pytest.approx(values.mean())


def test_what_was_not_run_is_noted_once():
    draw = contrasts({"c": LINE.by("c").mean(), "d": Line("size", "adult", "d").mean()})
    evidence = Evidence(FRAME)
    assert draw(evidence) == []
    draw(evidence)
    assert evidence.take_missing() == ["noise rate on synthetic with c", "size on adult"]
    assert evidence.take_missing() == []


def test_contrasts_at_each_position_and_joined():
    draw = at_each(LINE, lambda x: {f"at {x}": LINE.mean(at(x))}, above(0.1))
    assert [c.name for c in draw(EVIDENCE)] == ["at 0.2", "at 0.3"]
    assert len(together([draw, draw])(EVIDENCE)) == 4


def test_the_best_rival_is_the_one_with_the_highest_mean():
    rivals = {"b": "Bee", "c": "Sea"}
    more = cells({"c": {0.1: 0.6, 0.2: 0.6, 0.3: 0.6}}, seeds=4)
    evidence = Evidence(pd.concat([FRAME, more]))
    (found,) = best_rival(LINE, rivals)(evidence)
    assert found.name == "Bee, best of 2 rivals"
    expected = by_hand("b", 0.1, 0.2, 0.3).mean(axis=1) - by_hand("a", 0.1, 0.2, 0.3).mean(axis=1)
    assert found.values.to_numpy() == pytest.approx(expected.to_numpy())
    assert best_rival(LINE, {"x": "X"})(Evidence(FRAME)) == []


def test_a_metric_is_read_from_the_protocols_column():
    frame = FRAME.assign(hm_released=FRAME["hm"] / 2)
    evidence = Evidence(frame, columns={"hm": "hm_released"})
    assert LINE.mean().read(evidence)[0].mean() == pytest.approx(
        by_hand("a", 0.1, 0.2, 0.3).mean().mean() / 2
    )
