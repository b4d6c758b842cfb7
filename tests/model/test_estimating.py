"""Held-out rows as the estimator takes them, those nobody reviewed included."""

import json
from dataclasses import replace

import numpy as np
import pytest

from alignset.evaluate import estimate
from alignset.model.estimating import HeldOutRows, is_selective
from alignset.model.evaluation import Evaluation, Unreviewed


def everyone(n=2000, reviewed=200, seed=0, by_design=False, pick=None, noise=0.05):
    """An evaluation of all rows of a table, and the truth of those nobody reviewed."""
    rng = np.random.default_rng(seed)
    group, z = rng.integers(0, 2, n), rng.normal(size=n)
    true = (rng.random(n) < 1 / (1 + np.exp(1 - 1.5 * z))).astype(np.int64)
    observed = np.where(rng.random(n) < noise, 1 - true, true)
    p = np.round(1 / (1 + np.exp(1 - 1.2 * z - 0.5 * rng.normal(size=n))), 6)
    chance = np.ones(n) if pick is None else pick(group, observed)
    seen = np.argsort(rng.random(n) ** (1 / chance))[-reviewed:]
    rest = np.setdiff1d(np.arange(n), seen)
    cell = 2 * group + observed
    share = np.bincount(cell[seen], minlength=4) / np.bincount(cell, minlength=4)
    score = np.stack([1 - p, p], axis=1)
    poor = np.stack([1 - p[::-1], p[::-1]], axis=1)
    others = Unreviewed(group[rest], observed[rest], {"m": score[rest], "b": poor[rest]}, 1.0)
    kept = Evaluation(
        ("no", "yes"), ("f", "m"), group[seen], observed[seen], true[seen], 1 / share[cell[seen]],
        {"m": score[seen], "b": poor[seen]}, "m", by_design, others,
    )  # fmt: skip
    return kept, true[np.concatenate([seen, rest])]


def test_rows_nobody_reviewed_make_an_estimate_more_precise():
    kept, truth = everyone()
    rows = HeldOutRows(kept)
    assert len(rows.group) == 2000
    found = rows.estimate("auroc", "m", groups=True)
    alone = HeldOutRows(replace(kept, unreviewed=None)).estimate("auroc", "m", groups=True)
    assert found.high - found.low < 0.8 * (alone.high - alone.low)
    assert (found.reviewed, alone.worth) == (200, pytest.approx(200, rel=0.01))
    assert found.worth > 300
    assert set(found.by_group) == {"f", "m"}
    by_hand = estimate(
        "auroc", rows.score("m")[:, 1], rows.observed, rows.true, groups=rows.names, random_state=0
    )
    assert found.estimate == by_hand.estimate
    known = estimate("auroc", rows.score("m")[:, 1], truth, truth, random_state=0).estimate
    assert found.low < known < found.high
    gap = rows.estimate("auroc", "m", against="b")
    assert gap.low > 0.1
    of_no = rows.estimate("tpr", "m", of_class=0, threshold=0.5)
    fpr = rows.estimate("fpr", "m", threshold=0.5)
    assert of_no.estimate == pytest.approx(1 - fpr.estimate, abs=0.02)


def test_what_was_selected_by_label_does_not_count_as_drawn_at_random():
    even, _ = everyone()
    assert not is_selective(even)
    assert HeldOutRows(even).design == {}
    kept, truth = everyone(pick=lambda g, y: np.where(y == 1, 1.0, 0.1))
    assert is_selective(kept)
    rows = HeldOutRows(kept)
    chance = rows.design["review_probability"]
    assert len(np.unique(chance)) == 4
    assert np.isfinite(chance).all()
    found = rows.estimate("prevalence", "m")
    assert found.low < truth.mean() < found.high
    naive = kept.true.mean()
    assert not found.low < naive < found.high


def test_probabilities_that_differ_within_a_cell_are_known_for_reviewed_rows_only():
    kept, _ = everyone(by_design=True)
    varied = replace(kept, weight=kept.weight * np.linspace(0.5, 1.5, 200))
    chance = HeldOutRows(varied).design["review_probability"]
    assert np.isnan(chance[200:]).all()
    assert chance[:200] == pytest.approx(1 / varied.weight)


def test_a_thinned_table_says_how_many_rows_each_stands_for():
    errors, widths = [], []
    for seed in range(12):
        kept, truth = everyone(n=8000, seed=seed, pick=lambda g, y: np.where(y == 1, 1.0, 0.3))
        rest = kept.unreviewed
        some = Unreviewed(
            rest.group[::4], rest.observed[::4], {k: v[::4] for k, v in rest.scores.items()}, 4.0
        )
        thinned = HeldOutRows(replace(kept, unreviewed=some))
        assert set(thinned.design["sample_weight"]) == {1.0, 4.0}
        found, whole = (r.estimate("prevalence", "m") for r in (thinned, HeldOutRows(kept)))
        errors.append(found.estimate - truth.mean())
        widths.append((found.high - found.low) / (whole.high - whole.low))
    assert abs(np.mean(errors)) < 0.015  # 3.5 standard errors; unweighted it would be 0.2
    assert 0.8 < np.mean(widths) < 1.3


def test_rows_nobody_reviewed_are_written_and_read_back():
    kept, _ = everyone(n=300, reviewed=100)
    data = json.loads(json.dumps(kept.to_data()))
    back = Evaluation.from_data(data)
    for name in ("m", "b"):
        np.testing.assert_allclose(back.unreviewed.scores[name], kept.unreviewed.scores[name])
    np.testing.assert_array_equal(back.unreviewed.group, kept.unreviewed.group)
    for change in (
        lambda d: d["observed"].pop(),
        lambda d: d["scores"].pop("b"),
        lambda d: d["group"].__setitem__(0, 7),
        lambda d: d.update(size=0.5),
        lambda d: d["scores"]["m"].__setitem__(0, [2.0]),
    ):
        spoiled = json.loads(json.dumps(data))
        change(spoiled["unreviewed"])
        with pytest.raises(ValueError, match=r"out of range|do not match"):
            Evaluation.from_data(spoiled)
    without = {k: v for k, v in data.items() if k != "unreviewed"}
    assert Evaluation.from_data(without).unreviewed is None


@pytest.mark.parametrize("metric", ["auroc", "calibration", "log_loss"])
def test_intervals_hold(metric):
    """The truth of a large table lies in 95 % of the intervals, or nearly."""
    big, truth = everyone(n=100_000, reviewed=99_990, seed=999)
    rows = HeldOutRows(replace(big, unreviewed=None))
    known = rows.estimate(metric, "m").estimate
    hits = []
    for seed in range(60):
        found = HeldOutRows(everyone(n=1000, reviewed=150, seed=seed)[0]).estimate(metric, "m")
        hits.append(found.low <= known <= found.high)
    assert np.mean(hits) >= 0.87  # 95 % less three standard errors
    assert len(truth) == 100_000
