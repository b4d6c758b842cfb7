"""True labels that are not certain: draws of them, and what their spread adds to an interval."""

import numpy as np
import pytest

from alignset.evaluate import estimate, estimate_difference
from alignset.evaluate.imputed import TruthDraws, pool_values


def rows(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, n)
    score = np.clip(0.3 * true + 0.7 * rng.random(n), 0, 1)
    seen = np.where(rng.random(n) < 0.1, 1 - true, true)
    reviewed = rng.random(n) < 0.2
    return score, seen, np.where(reviewed, true, np.nan), rng


def shares_of(y_true, sure):
    P = np.full((len(y_true), 2), np.nan)
    known = ~np.isnan(y_true)
    P[known] = sure * np.eye(2)[y_true[known].astype(int)] + (1 - sure) / 2
    return P


def test_rubin_by_hand():
    value, total, between = pool_values([1.0, 2.0, 6.0], [0.3, 0.6, 0.9])
    mean = 3.0
    b = ((1 - mean) ** 2 + (2 - mean) ** 2 + (6 - mean) ** 2) / 2  # 7
    assert value == mean
    assert np.isclose(between, (1 + 1 / 3) * b)
    assert np.isclose(total, 0.6 + (1 + 1 / 3) * b)


@pytest.mark.parametrize("metric", ["wrong", "auroc", "prevalence"])
def test_certain_probabilities_are_labels(metric):
    score, seen, y_true, _ = rows()
    one = estimate(metric, score, seen, y_true, random_state=0)
    other = estimate(metric, score, seen, shares_of(y_true, 1.0), random_state=0)
    assert (one.estimate, one.low, one.high) == (other.estimate, other.low, other.high)
    assert one.reviewed == other.reviewed


def test_draws_that_agree_are_labels_to_the_bit():
    score, seen, y_true, _ = rows()
    codes = np.where(np.isnan(y_true), -1, y_true).astype(int)
    draws = TruthDraws(np.stack([codes] * 3), 2)
    for ask in (estimate, estimate_difference):
        more = {"groups": seen[::-1]} if ask is estimate_difference else {}
        one = ask("wrong", score, seen, y_true, random_state=0, **more)
        other = ask("wrong", score, seen, draws, random_state=0, **more)
        assert (one.estimate, one.low, one.high) == (other.estimate, other.low, other.high)


def test_uncertain_labels_widen_the_interval():
    score, seen, y_true, _ = rows()
    sure = estimate("auroc", score, seen, y_true, random_state=0)
    unsure = estimate("auroc", score, seen, shares_of(y_true, 0.8), random_state=0)
    assert unsure.high - unsure.low > 1.02 * (sure.high - sure.low)


def test_evenness_of_uncertain_labels_is_refused():
    score, seen, y_true, _ = rows()
    with pytest.raises(ValueError, match="not estimated from uncertain"):
        estimate("aueoc", score, seen, shares_of(y_true, 0.8), groups=seen)


def test_a_single_draw_is_refused():
    with pytest.raises(ValueError, match="M >= 2"):
        TruthDraws(np.zeros((1, 5), dtype=int), 2)


def test_three_classes():
    rng = np.random.default_rng(0)
    true = rng.integers(0, 3, 900)
    seen = np.where(rng.random(900) < 0.2, (true + 1) % 3, true)
    P = np.full((900, 3), np.nan)
    P[:300] = 0.94 * np.eye(3)[true[:300]] + 0.02
    found = estimate("wrong", np.eye(3)[seen], seen, P, random_state=0)
    expected = (1 - P[np.arange(300), seen[:300]]).mean()
    assert found.low < expected < found.high
    assert abs(found.estimate - expected) < 0.03
