"""The difference between two scores is that of their two estimates, and its interval covers."""

import numpy as np
import pytest

from alignset.evaluate import estimate, estimate_difference
from alignset.evaluate.estimate_rows import check_rows
from alignset.evaluate.imputed import TruthDraws
from alignset.evaluate.paired import estimate_apart

METRICS = ("log_loss", "auroc", "tpr")


def world(n=2000, seed=0, share=0.1):
    """Observed labels, reviewed ones, all true ones, and two scores."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    true = (rng.random(n) < 1 / (1 + np.exp(1 - x @ [1, 0.6, 0.3]))).astype(int)
    told = np.where(rng.random(n) < np.where(true == 1, 0.3, 0.05), 1 - true, true)
    a = 1 / (1 + np.exp(1 - x @ [1, 0.6, 0.0]))
    b = 1 / (1 + np.exp(1.3 - 1.3 * x @ [1, 0.4, 0.3]))
    return told, np.where(rng.random(n) < share, true, np.nan), true, a, b


def rows(metric, score, told, seen, seed=0):
    return check_rows(
        metric, [score], told, seen, groups=None, review_probability=None,
        threshold=0.5 if metric == "tpr" else None, flagged=None, X=None, sample_weight=None,
        given_soft=None, rng=np.random.default_rng(seed),
    )  # fmt: skip


@pytest.mark.parametrize("metric", METRICS)
def test_it_is_the_difference_of_the_two_estimates(metric):
    told, seen, _, a, b = world()
    found = estimate_apart(metric, rows(metric, a, told, seen), rows(metric, b, told, seen))
    cut = {"threshold": 0.5} if metric == "tpr" else {}
    ends = [estimate(metric, s, told, seen, random_state=0, **cut).estimate for s in (a, b)]
    assert found.estimate == pytest.approx(ends[1] - ends[0], abs=1e-12)
    assert found.low < found.estimate < found.high
    tuned = estimate_difference(metric, a, told, seen, y_score_b=b, random_state=0, **cut)
    assert (found.high - found.low) < 1.3 * (tuned.high - tuned.low)


def test_which_score_comes_first_only_turns_the_sign():
    told, seen, _, a, b = world()
    there, back = (
        estimate_apart("auroc", rows("auroc", p, told, seen), rows("auroc", q, told, seen))
        for p, q in ((a, b), (b, a))
    )
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low), abs=1e-9)


@pytest.mark.parametrize("metric", ["log_loss", "auroc"])
def test_its_interval_covers_the_truth(metric):
    large = world(n=200_000, seed=99)
    truth = [estimate(metric, s, large[0], large[2], random_state=0).estimate for s in large[3:]]
    inside = 0
    for seed in range(60):
        told, seen, _, a, b = world(n=1000, seed=seed, share=0.15)
        pair = (rows(metric, s, told, seen, seed) for s in (a, b))
        found = estimate_apart(metric, *pair)
        inside += found.low <= truth[1] - truth[0] <= found.high
    assert inside >= 53


def test_labels_that_are_not_certain_make_it_wider_and_keep_it_a_difference():
    told, seen, true, a, b = world()
    rng = np.random.default_rng(1)
    flip = rng.random((20, len(true))) < 0.1
    codes = np.where(np.isnan(seen), -1, np.where(flip, 1 - true, true))
    draws = TruthDraws(codes, 2)
    certain = estimate_apart("log_loss", *(rows("log_loss", s, told, seen) for s in (a, b)))
    found = estimate_apart("log_loss", *(rows("log_loss", s, told, draws) for s in (a, b)))
    ends = [estimate("log_loss", s, told, draws, random_state=0).estimate for s in (a, b)]
    assert found.estimate == pytest.approx(ends[1] - ends[0], abs=1e-12)
    assert found.high - found.low > certain.high - certain.low


def test_a_class_that_nobody_found_leaves_it_unknown():
    told, seen, _, a, b = world()
    none = np.where(np.isnan(seen), np.nan, 0.0)
    found = estimate_apart("auroc", *(rows("auroc", s, told, none) for s in (a, b)))
    assert np.isnan(found.estimate)
    assert "do not have both classes" in found.note
