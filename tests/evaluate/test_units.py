"""Rows that belong to one person: intervals count people, not rows."""

from __future__ import annotations

import numpy as np
import pytest

from alignset.evaluate import choose_threshold, estimate, estimate_difference


def people(n: int = 300, seed: int = 0):
    rng = np.random.default_rng(seed)
    true = (rng.random(n) < 0.4).astype(int)
    score = np.clip(0.25 * true + 0.75 * rng.random(n), 0, 1)
    seen = np.where(rng.random(n) < 0.08, 1 - true, true)
    known = np.where(rng.random(n) < 0.4, true, np.nan)
    return score, seen, known


@pytest.mark.parametrize("metric", ["auroc", "wrong", "log_loss", "tpr", "aueoc"])
def test_copies_of_people_make_nothing_more_precise(metric):
    score, seen, known = people()
    group = np.arange(len(seen)) % 2
    each = np.repeat(np.arange(len(seen)), 4)
    options = {"threshold": 0.5} if metric == "tpr" else {}
    options |= {"random_state": 0}

    def width(at, units=None):
        groups = group[at] if metric == "aueoc" else None
        found = estimate(
            metric, score[at], seen[at], known[at], groups=groups, units=units, **options
        )
        return found.high - found.low

    once, four, told = width(np.arange(len(seen))), width(each), width(each, each)
    assert four < 0.7 * once  # as if there were four times as many people
    assert told == pytest.approx(once, rel=0.15)


def test_units_of_one_row_change_no_bit():
    score, seen, known = people()
    plain = estimate("auroc", score, seen, known, random_state=0)
    named = estimate("auroc", score, seen, known, units=np.arange(len(seen)), random_state=0)
    assert (plain.low, plain.high) == (named.low, named.high)
    with pytest.raises(ValueError, match="units has 3 entries but X has 300 rows"):
        estimate("auroc", score, seen, known, units=[1, 2, 3])


def test_intervals_hold_the_truth_where_people_have_several_rows():
    held: dict[str, list[bool]] = {"rows": [], "people": [], "difference": []}
    for seed in range(1000, 1040):
        rng = np.random.default_rng(seed)
        of = np.repeat(np.arange(250), 6)
        true, a, b = (rng.random(250) < 0.4).astype(int), rng.random(250), rng.random(250)
        seen = true[of] ^ (rng.random(len(of)) < 0.05)
        known = np.where(rng.random(len(of)) < 0.2, true[of].astype(float), np.nan)
        rows = estimate("auroc", a[of], seen, known, random_state=0)
        whole = estimate("auroc", a[of], seen, known, units=of, random_state=0)
        two = estimate_difference(
            "auroc", a[of], seen, known, y_score_b=b[of], units=of, random_state=0
        )
        held["rows"].append(rows.low <= 0.5 <= rows.high)
        held["people"].append(whole.low <= 0.5 <= whole.high)
        held["difference"].append(two.low <= 0 <= two.high)
    assert np.mean(held["rows"]) < 0.85
    assert np.mean(held["people"]) >= 0.9
    assert np.mean(held["difference"]) >= 0.9


def test_rates_at_a_threshold_count_people_too():
    score, seen, known = people()
    each = np.repeat(np.arange(len(seen)), 4)
    found = [
        choose_threshold("tpr", 0.8, score[each], seen[each], known[each], units=u, random_state=0)
        for u in (None, each)
    ]
    width = [one.rates["tpr"].high - one.rates["tpr"].low for one in found]
    assert width[1] > 1.5 * width[0]
