import pandas as pd
import pytest

from alignset.study.quantities import Contrast
from alignset.study.rules import Greater, LosesLess, NeverBelow, Standing, Within

CLOSE = (0.001, -0.001, 0.002, -0.002, 0.0015)


def contrast(mean, name="it", noise=CLOSE, theirs=float("nan")):
    return Contrast(name, pd.Series([mean + e for e in noise]), theirs)


WILD = tuple(100 * e for e in CLOSE)


@pytest.mark.parametrize(
    ("rule", "mean", "noise", "state"),
    [
        (Greater(), 0.05, CLOSE, Standing.HOLDS),
        (Greater(), -0.05, CLOSE, Standing.FAILS),
        (Greater(), 0.05, WILD, Standing.UNDECIDED),
        (Greater(), 0.05, (0.0,), Standing.UNDECIDED),
        (NeverBelow(), 0.05, CLOSE, Standing.HOLDS),
        (NeverBelow(), -0.05, WILD, Standing.HOLDS),
        (NeverBelow(), -0.05, CLOSE, Standing.FAILS),
        (NeverBelow(), -0.05, (0.0,), Standing.UNDECIDED),
        (LosesLess(0.03), 0.5, CLOSE, Standing.HOLDS),
        (LosesLess(0.03), -0.02, CLOSE, Standing.HOLDS),
        (LosesLess(0.03), -0.04, CLOSE, Standing.FAILS),
        (LosesLess(0.03), -0.02, WILD, Standing.UNDECIDED),
        (LosesLess(0.03), -0.02, (0.0,), Standing.UNDECIDED),
        (Within(0.03), 0.02, CLOSE, Standing.HOLDS),
        (Within(0.03), -0.02, CLOSE, Standing.HOLDS),
        (Within(0.03), 0.04, CLOSE, Standing.FAILS),
        (Within(0.03), -0.04, CLOSE, Standing.FAILS),
        (Within(0.03), 0.0, WILD, Standing.UNDECIDED),
        (Within(0.03), 0.0, (0.0,), Standing.UNDECIDED),
    ],
)
def test_every_verdict_of_every_rule(rule, mean, noise, state):
    assert rule.judge([contrast(mean, noise=noise)]).state is state


def test_all_contrasts_must_hold_and_one_that_fails_sinks_the_rest():
    good, open_, bad = contrast(0.05), contrast(0.05, noise=WILD), contrast(-0.05, "bad")
    assert Greater().judge([good, good]).state is Standing.HOLDS
    assert Greater().judge([good, open_]).state is Standing.UNDECIDED
    found = Greater().judge([good, open_, bad])
    assert found.state is Standing.FAILS
    assert found.explanation.endswith("Fails: bad.")
    assert found.name == "bad"


def test_most_is_more_than_half():
    good, bad = contrast(0.05), contrast(-0.05)
    assert Greater(0.51).judge([good, good, bad]).state is Standing.HOLDS
    assert Greater(0.51).judge([good, bad]).state is Standing.FAILS
    assert Greater(0.51).judge([good, contrast(0, noise=WILD)]).state is Standing.UNDECIDED


def test_the_correction_can_undo_a_verdict():
    # p is 0.02 alone, 0.5 among twenty
    almost = contrast(0.0024, noise=CLOSE)
    assert Greater().judge([almost]).state is Standing.HOLDS
    nothing = [contrast(0.0, noise=WILD) for _ in range(19)]
    states = Greater().judge([almost, *nothing])
    assert "0 of 20" in states.explanation


def test_the_weakest_contrast_is_told_with_its_published_value():
    found = Greater().judge([contrast(0.05, "strong"), contrast(0.02, "weak", theirs=0.03)])
    assert (found.name, found.theirs) == ("weak", 0.03)
    assert found.ours.mean == pytest.approx(0.0203)
    assert "closest call: weak, +0.020 (5 seeds)" in found.explanation
    assert Within(0.1).judge([contrast(0.01), contrast(-0.05, "far")]).name == "far"


def test_one_seed_is_said_to_prove_nothing():
    found = Greater().judge([contrast(0.1, noise=(0.0,))])
    assert "one seed: nothing can be tested" in found.explanation
