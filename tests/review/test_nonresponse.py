"""Rows without an answer: bounds by hand, the case of issue 16, and what an audit makes of it."""

import numpy as np
import pandas as pd
import pytest

from alignset.evaluate.imputed import TruthDraws
from alignset.evaluate.noise_rate import NoiseRate, ReviewDesign
from alignset.review.aim import AimRows
from alignset.review.measured import review_noise_rates
from alignset.review.nonresponse import asked_rows, bound_noise_rates
from alignset.review.verdict import judge
from alignset.tables.targets import Cells


def rows_of(observed, true, group=None):
    group = np.zeros(len(true), dtype=int) if group is None else group
    names = np.array(["f", "m"])[: group.max() + 1]
    return AimRows(Cells(names, np.arange(2), group, observed), true, ())


def rate_of(rows, low=0.2, high=0.3):
    return NoiseRate("f", rows, 10, 2, 2, 0.25, low, high, 10.0, True)


def test_bounds_by_hand():
    # of ten rows drawn, eight answered, two of them wrong: 2/10 at least, 4/10 at most
    observed = np.zeros(100, dtype=int)
    true = np.full(100, -1)
    true[:8] = [1, 1, 0, 0, 0, 0, 0, 0]
    chance = np.where(np.arange(100) < 10, 0.1, np.nan)
    (one,) = bound_noise_rates(
        [rate_of(100)], rows_of(observed, true), ReviewDesign.one_sheet(chance), chance > 0
    )
    assert (one.drawn, one.answered) == (10, 8)
    assert one.lowest == pytest.approx(0.2)
    assert one.highest == pytest.approx(0.4)
    assert one.worst_low < 0.2
    assert one.worst_high > 0.4
    assert one.matters


def test_rows_count_by_how_many_they_stand_for():
    observed, true = np.zeros(40, dtype=int), np.full(40, -1)
    true[:3] = [1, 0, 0]
    # the fourth row, drawn with probability 0.1, stands for ten; the others for two each
    chance = np.full(40, np.nan)
    chance[:4] = [0.5, 0.5, 0.5, 0.1]
    (one,) = bound_noise_rates(
        [rate_of(40)], rows_of(observed, true), ReviewDesign.one_sheet(chance), chance > 0
    )
    assert one.lowest == pytest.approx(2 / 16)
    assert one.highest == pytest.approx(12 / 16)


def test_without_gaps_there_is_nothing_to_bound():
    true = np.array([1, 0, 0, -1])
    design = ReviewDesign.one_sheet(np.array([0.75, 0.75, 0.75, np.nan]))
    assert bound_noise_rates([rate_of(4)], rows_of(0 * true, true), design, true >= 0) == ()


def test_uncertain_labels_widen_the_bounds():
    rng = np.random.default_rng(0)
    observed, true = np.zeros(400, dtype=int), np.full(400, -1)
    true[:80] = rng.random(80) < 0.2
    asked = np.arange(400) < 100
    design = ReviewDesign.one_sheet(np.where(asked, 0.25, np.nan))
    rows = rows_of(observed, true)
    flipped = np.where(rng.random((30, 400)) < 0.15, 1 - true, true)
    draws = TruthDraws(np.where(true >= 0, flipped, -1), 2)
    sure, unsure = (
        bound_noise_rates([rate_of(400)], rows, design, asked, draws=d)[0] for d in (None, draws)
    )
    assert unsure.worst_high - unsure.worst_low > sure.worst_high - sure.worst_low


def test_rows_on_a_sheet_are_known_from_the_design_or_their_state():
    design = ReviewDesign.unknown(4)
    table = pd.DataFrame({"review_state": ["agreed", "cannot tell", "open", None]})
    reviewed = np.array([True, False, False, False])
    assert asked_rows(table, design, reviewed).tolist() == [True, True, True, False]
    assert asked_rows(pd.DataFrame(index=range(4)), design, reviewed).tolist() == reviewed.tolist()


def blank_review(rng, n=3000, drawn=400):
    """40 % of the wrong and 10 % of the right labels are left blank, as in the issue."""
    true = rng.integers(0, 2, n)
    group = (rng.random(n) < 0.4).astype(int)
    observed = np.where(rng.random(n) < 0.2, 1 - true, true)
    on_sheet = np.zeros(n, dtype=bool)
    on_sheet[rng.permutation(n)[:drawn]] = True
    blank = rng.random(n) < np.where(true != observed, 0.4, 0.1)
    rows = rows_of(observed, np.where(on_sheet & ~blank, true, -1), group)
    design = ReviewDesign.one_sheet(np.where(on_sheet, drawn / n, np.nan))
    actual = [(true != observed)[group == g].mean() for g in (0, 1)]
    return rows, design, on_sheet, actual


def test_bounds_have_the_truth_where_the_estimate_does_not():
    """The case of the issue: intervals that take blanks for random cover far less than 95 %."""
    inside, covered, amber = [], [], []
    for seed in range(60):
        rows, design, asked, actual = blank_review(np.random.default_rng(seed))
        rates = review_noise_rates(rows, design)
        worst = bound_noise_rates(rates, rows, design, asked)
        covered += [one.low <= r <= one.high for one, r in zip(rates, actual, strict=True)]
        inside += [
            one.worst_low <= r <= one.worst_high for one, r in zip(worst, actual, strict=True)
        ]
        verdict = judge(rates, (), (), worst)
        amber.append(verdict.colour == "amber" and "if they are not" in verdict.reasons[0].text)
    assert np.mean(covered) < 0.85
    assert np.mean(inside) >= 0.98
    assert all(amber)


def test_both_answers_stand_side_by_side_in_the_verdict():
    rows, design, asked, _ = blank_review(np.random.default_rng(0))
    rates = review_noise_rates(rows, design)
    worst = bound_noise_rates(rates, rows, design, asked)
    reasons = [r for r in judge(rates, (), (), worst).reasons if "no answer" in r.text]
    assert len(reasons) == 2  # one per group, not told twice
    assert "like the others" in reasons[0].text
    assert "settle the" in reasons[0].action
