from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from alignset.evaluate import aueoc, auroc, bootstrap, intervals, summarize
from alignset.evaluate.intervals import bootstrap_mean

NAMES = ("auroc", "aueoc", "hm", "aueoc_over_fpr", "aueoc_released")


def simulate(rng, n):
    """Binormal scores in two groups; AUROC is the same in both, odds are not."""
    y, group = rng.integers(0, 2, n), (rng.random(n) < 0.4).astype(int)
    raw = rng.normal(size=n) + 1.5 * y
    return y, expit(raw - 0.75 + 0.4 * group), group


def test_the_estimate_is_the_metric_and_lies_inside(draw):
    rows = draw(0, n=200)
    found = bootstrap(rows.y, rows.score, rows.group, metrics=NAMES, n_boot=100, random_state=0)
    summary = summarize(rows.y, rows.score, rows.group)
    assert found["auroc"].estimate == pytest.approx(summary.auroc)
    assert found["aueoc"].estimate == pytest.approx(summary.aueoc)
    assert found["hm"].estimate == pytest.approx(summary.hm)
    assert list(found) == list(NAMES)
    for interval in found.values():
        assert interval.low <= interval.high
        assert interval.n_defined == 100
    assert found["auroc"].low < found["auroc"].estimate < found["auroc"].high


def test_it_equals_a_loop_that_resamples_rows(draw):
    rows = draw(0, n=80)
    found = bootstrap(rows.y, rows.score, rows.group, n_boot=60, random_state=3)
    rng = np.random.default_rng(3)
    counts = np.empty((60, 80), dtype=int)
    for g in (0, 1):
        inside = np.flatnonzero(rows.group == g)
        counts[:, inside] = rng.multinomial(len(inside), np.full(len(inside), 1 / len(inside)), 60)
    areas, odds = [], []
    for count in counts:
        again = np.repeat(np.arange(80), count)
        areas.append(auroc(rows.y[again], rows.score[again]))
        odds.append(aueoc(rows.y[again], rows.score[again], rows.group[again]))
    np.testing.assert_allclose(
        [found["auroc"].low, found["auroc"].high], np.quantile(areas, [0.025, 0.975])
    )
    np.testing.assert_allclose(
        [found["aueoc"].low, found["aueoc"].high], np.quantile(odds, [0.025, 0.975])
    )


def test_resamples_keep_the_size_of_every_group(draw):
    rows = draw(0)
    counts = intervals._draw(rows.group, 50, np.random.default_rng(0))
    for g in (0, 1):
        assert (counts[:, rows.group == g].sum(1) == np.sum(rows.group == g)).all()


def test_same_seed_same_interval(draw):
    rows = draw(0)
    args = rows.y, rows.score, rows.group
    one = bootstrap(*args, n_boot=50, random_state=1)
    assert one == bootstrap(*args, n_boot=50, random_state=1)
    assert one != bootstrap(*args, n_boot=50, random_state=2)


def test_chunks_cover_all_resamples(draw, monkeypatch):
    rows = draw(0)
    monkeypatch.setattr(intervals, "_CHUNK_ELEMENTS", 60 * 4 * 7)
    found = bootstrap(rows.y, rows.score, rows.group, n_boot=50, random_state=1)
    assert found["auroc"].n_defined == 50


def test_a_paired_difference_is_tighter_than_the_scores_themselves(draw):
    rows = draw(0, n=200)
    other = np.clip(rows.score + 0.02 * np.random.default_rng(0).normal(size=200), 0, 1)
    args = {"n_boot": 200, "random_state": 0}
    alone = bootstrap(rows.y, rows.score, rows.group, **args)["auroc"]
    paired = bootstrap(rows.y, rows.score, rows.group, y_score_b=other, **args)["auroc"]
    difference = auroc(rows.y, other) - auroc(rows.y, rows.score)
    assert paired.estimate == pytest.approx(difference)
    assert paired.high - paired.low < 0.5 * (alone.high - alone.low)
    same = bootstrap(rows.y, rows.score, rows.group, y_score_b=rows.score, **args)
    assert all(i.low == i.estimate == i.high == 0 for i in same.values())


def test_resamples_that_empty_a_cell_do_not_count():
    rng = np.random.default_rng(0)
    y, groups = np.array([1, 0] * 20 + [1] + [0] * 9), np.array([0] * 40 + [1] * 10)
    found = bootstrap(y, rng.random(50), groups, n_boot=300, random_state=0)
    assert found["auroc"].n_defined == 300
    assert 150 < found["aueoc"].n_defined < 250  # the lone positive is missed with chance 0.35
    assert np.isfinite(found["aueoc"].low)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": "auroc"}, "metrics must be a list of names, got 'auroc'"),
        ({"metrics": ["auc"]}, "there is no metric 'auc'; use one of auroc, aueoc, hm"),
        ({"n_boot": 0}, "n_boot must be at least 1, got 0"),
        ({"level": 95}, r"level must lie in \(0, 1\), got 95; write 0.95"),
    ],
)
def test_wrong_options_are_named(draw, options, message):
    rows = draw(0)
    with pytest.raises(ValueError, match=message):
        bootstrap(rows.y, rows.score, rows.group, **options)


def test_only_metrics_over_tau_ask_for_probabilities(draw):
    rows = draw(0)
    args = rows.y, 10 * rows.score, rows.group
    assert bootstrap(*args, metrics=["auroc"], n_boot=5)["auroc"].estimate > 0.5
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
        bootstrap(*args, metrics=["hm"], n_boot=5)


def test_a_row_that_counts_twice_is_a_row_written_twice(draw):
    rows = draw(0)
    weight = np.arange(len(rows.y)) % 3 + 1.0
    found = bootstrap(
        rows.y, rows.score, rows.group, sample_weight=weight, n_boot=20, random_state=0
    )
    often = weight.astype(int)
    written = [np.repeat(np.asarray(v), often) for v in (rows.y, rows.score, rows.group)]
    assert found["auroc"].estimate == pytest.approx(auroc(*written[:2]))
    assert found["aueoc"].estimate == pytest.approx(aueoc(*written))
    assert found["auroc"].low < found["auroc"].estimate < found["auroc"].high


def test_rows_of_weight_one_change_nothing(draw):
    rows = draw(0)
    args = {"n_boot": 20, "random_state": 0}
    ones = np.ones(len(rows.y))
    assert bootstrap(rows.y, rows.score, rows.group, **args) == bootstrap(
        rows.y, rows.score, rows.group, sample_weight=ones, **args
    )


def test_means_are_resampled_as_metrics_are(draw):
    rows = draw(0, n=90)
    weight = np.arange(90) % 4 + 0.5
    everyone, first, second = bootstrap_mean(
        rows.score, rows.group, sample_weight=weight, n_boot=200, random_state=0
    )
    assert everyone.estimate == pytest.approx(np.average(rows.score, weights=weight))
    for g, found in enumerate((first, second)):
        inside = rows.group == g
        expected = np.average(rows.score[inside], weights=weight[inside])
        assert found.estimate == pytest.approx(expected)
        assert found.low < expected < found.high
    drawn = intervals._draw(rows.group, 200, np.random.default_rng(0)) * weight
    means = drawn @ rows.score / drawn.sum(1)
    assert everyone.low == pytest.approx(np.quantile(means, 0.025))


@pytest.mark.slow
def test_intervals_cover_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    y, score, group = simulate(rng, 400_000)
    truth = {"aueoc": aueoc(y, score, group), "auroc": auroc(y, score)}
    hits = {"auroc": 0, "aueoc": 0}
    n_studies = 150
    for _ in range(n_studies):
        y, score, group = simulate(rng, 400)
        found = bootstrap(
            y, score, group, metrics=list(hits), n_boot=200, level=0.9, random_state=rng
        )
        for name, interval in found.items():
            hits[name] += interval.low <= truth[name] <= interval.high
    assert 0.83 <= hits["auroc"] / n_studies <= 0.97  # three standard errors
    assert 0.83 <= hits["aueoc"] / n_studies <= 0.97
