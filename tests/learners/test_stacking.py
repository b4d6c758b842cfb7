"""The weights of a blend: optimal, shrunk, calibrated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax

from alignset.evaluate import auroc
from alignset.learners import stacking
from alignset.learners.base import one_hot
from alignset.learners.stacking import (
    INTERCEPT,
    LEAN,
    TRUST,
    JudgedRows,
    expected_labels,
    fit_weights,
    solve,
    trusted,
)
from alignset.learners.standing import auroc_with_error


def candidates(n: int = 400, seed: int = 0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n) * 2
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    said = [z, rng.normal(size=n), -z, 0.3 * z]
    odds = np.stack([np.column_stack([-s, s]) / 2 for s in said])
    return odds, y, np.ones(n)


def test_the_solution_is_a_minimum() -> None:
    odds, y, weight = candidates()
    prior = np.full(4, 0.25)
    found = solve(odds, weight[:, None] * one_hot(y, 2), 10.0, prior)

    def loss(v, b):
        z = np.tensordot(v, odds, 1) + b
        logs = z[np.arange(len(y)), y] - np.logaddexp.reduce(z, axis=1)
        return -logs.sum() + 10 * ((v - prior) ** 2).sum() + INTERCEPT * (b**2).sum()

    best = loss(found.v, found.intercept)
    rng = np.random.default_rng(1)
    for _ in range(200):
        v = np.maximum(found.v + rng.normal(size=4) * 0.05, 0)
        assert loss(v, found.intercept + rng.normal() * np.array([-0.05, 0.05])) >= best - 1e-6


def test_weights_are_never_negative_and_follow_the_evidence() -> None:
    odds, y, weight = candidates()
    found, held = fit_weights(odds, JudgedRows(y, y, weight, 2), seed=0)
    assert (found.v >= 0).all()
    assert found.v[2] == 0  # it says the opposite
    assert found.v[0] > 3 * found.v[1]
    assert held.shape == (400, 2)


def test_few_rows_stay_near_the_prior() -> None:
    odds, y, weight = candidates(12, seed=2)
    rows = JudgedRows(y, y, weight, 2)
    found, _ = fit_weights(odds, rows, np.array([1.0, 1.0, 1.0, 3.0]), seed=0)
    assert found.shrinkage > 100
    assert found.v.sum() < 2


def test_what_weights_are_drawn_towards_is_the_start_times_what_each_did_alone() -> None:
    odds, y, _ = candidates(6)
    labels, start = one_hot(y, 2), np.array([0.4, 0.1, 0.3, 0.2])
    likelihood = []
    for each in odds:
        p = np.exp(each) / np.exp(each).sum(axis=1, keepdims=True)
        likelihood.append(np.prod(p[np.arange(6), y]))
    expected = start * np.array(likelihood) ** TRUST
    assert trusted(start, odds, labels) == pytest.approx(expected / expected.sum())


def test_two_dozen_rows_tell_a_candidate_that_is_wrong_from_one_that_is_right() -> None:
    found = []
    for seed in range(20):
        odds, y, weight = candidates(24, seed)
        rows = JudgedRows(y, y, weight, 2)
        found.append(fit_weights(odds[[0, 2]], rows, np.array([0.1, 0.9]), seed=0)[0].v)
    right, wrong = np.mean(found, axis=0)
    assert right > wrong  # though it started with a ninth of the other's weight


def test_a_handful_of_rows_does_not_move_every_probability() -> None:
    odds, y, weight = candidates(24)
    y = np.where(np.arange(24) < 20, 1, y)  # by luck: nearly all of one class
    found, _ = fit_weights(odds[[0, 3]], JudgedRows(y, y, weight, 2), seed=0)
    assert 0 < found.intercept[1] - found.intercept[0] < 1


def test_a_row_of_weight_three_is_three_rows() -> None:
    odds, y, _ = candidates(200)
    weight = np.where(np.arange(200) < 50, 3.0, 1.0)
    copies = np.repeat(np.arange(200), weight.astype(int))
    prior = np.full(4, 0.25)
    label = one_hot(y, 2)
    a = solve(odds, weight[:, None] * label, 10.0, prior)
    b = solve(odds[:, copies], label[copies], 10.0, prior)
    assert np.allclose(a.v, b.v, atol=1e-4)


def reviewed_in_part(n: int, m: int, seed: int) -> tuple[Any, JudgedRows, Any]:
    """Two candidates, one good; a tenth of the observed labels wrong; m rows reviewed."""
    odds, y, weight = candidates(n, seed)
    rng = np.random.default_rng((seed, 1))
    seen = np.where(rng.random(n) < 0.1, 1 - y, y)
    true = np.where(np.arange(n) < m, y, -1)
    return odds[[0, 1]], JudgedRows(true, seen, weight, 2), y


def test_labels_of_unreviewed_rows_change_the_sum_by_nothing_on_average() -> None:
    odds, rows, y = reviewed_in_part(20_000, 10_000, 0)
    q = expected_labels(odds[0], rows, seed=0)
    labels = rows.labels(rows.reviewed, q)
    assert labels.sum() == pytest.approx(10_000)
    assert labels[:, 1].sum() == pytest.approx(10_000 * y.mean(), rel=0.02)
    # even a q that is always wrong only adds noise
    worse = rows.labels(rows.reviewed, one_hot(1 - y, 2))
    assert worse[:, 1].sum() == pytest.approx(10_000 * y.mean(), rel=0.03)


def test_unreviewed_rows_make_weights_less_a_matter_of_luck() -> None:
    with_others, alone = [], []
    for seed in range(40):
        odds, rows, _ = reviewed_in_part(1000, 60, seed)
        at = rows.reviewed
        few = JudgedRows(rows.y[at], rows.y_seen[at], rows.weight[at], 2)
        with_others.append(fit_weights(odds, rows, seed=0)[0].v)
        alone.append(fit_weights(odds[:, at], few, seed=0)[0].v)
    assert np.std(with_others, axis=0)[0] < 0.9 * np.std(alone, axis=0)[0]
    assert np.mean(with_others, axis=0)[1] < np.mean(with_others, axis=0)[0]


def test_the_area_and_its_error_are_those_of_delong() -> None:
    rng = np.random.default_rng(0)
    areas, errors = [], []
    for _ in range(300):
        y = (np.arange(200) < 60).astype(int)
        p = 1 / (1 + np.exp(-(rng.normal(size=200) + y)))
        area, error = auroc_with_error(np.column_stack([1 - p, p]), y, np.ones(200))
        areas.append(area)
        errors.append(error)
    assert area == pytest.approx(auroc(y, p))
    assert np.mean(errors) == pytest.approx(np.std(areas), rel=0.15)


def test_weights_that_grow_by_chance_are_rescaled(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    n, reviewed = 3000, np.arange(3000) < 350
    z = 4 * rng.normal(size=n)
    y = np.where(rng.random(n) < 0.03, z < 0, z > 0).astype(int)
    said = [z + rng.normal(size=n), z / 3 + rng.normal(size=n)]
    odds = np.stack([np.column_stack([-s, s]) / 2 for s in said])
    rows = JudgedRows(np.where(reviewed, y, -1), y, np.ones(n), 2)
    alone, _ = fit_weights(odds[:, :350], JudgedRows(y[:350], y[:350], np.ones(350), 2), seed=0)
    # where q is wrong about reviewed rows, and right about all others, large weights are rewarded
    wrong = reviewed & (rng.random(n) < 0.1)
    monkeypatch.setattr(
        stacking, "expected_labels", lambda *_, **__: one_hot(np.where(wrong, 1 - y, y), 2)
    )
    found, held = fit_weights(odds, rows, seed=0)
    assert found.v.sum() < 1.5 * alone.v.sum()
    monkeypatch.setattr(stacking, "_surely_better", lambda *_: False)
    grown, too_sure = fit_weights(odds, rows, seed=0)
    assert grown.v.sum() > 2 * found.v.sum()
    np.testing.assert_allclose(grown.v / grown.v.sum(), found.v / found.v.sum(), atol=1e-9)
    at = np.flatnonzero(reviewed)
    losses = [-log_softmax(each, axis=1)[at, y[at]].mean() for each in (held, too_sure)]
    assert losses[0] < losses[1] - 0.05


def test_an_ordinary_blend_is_not_rescaled(monkeypatch: pytest.MonkeyPatch) -> None:
    odds, y, weight = candidates(600, seed=5)
    rows = JudgedRows(np.where(np.arange(600) < 120, y, -1), y, weight, 2)
    found, _ = fit_weights(odds, rows, seed=0)
    monkeypatch.setattr(stacking, "_surely_better", lambda *_: False)
    assert (fit_weights(odds, rows, seed=0)[0].v == found.v).all()


def test_few_reviewed_rows_of_many_classes_that_are_all_judged_right_do_not_inflate_weights():
    rng = np.random.default_rng(2)
    n, k = 1000, 10
    true = rng.integers(0, k, n)
    seen = np.where(rng.random(n) < 0.06, (true + 1) % k, true)
    base, missed = rng.normal(size=(n, k)), rng.random(n) < 0.08
    told = np.where(missed, rng.integers(0, k, n), true)
    base[np.arange(n), told] += 5
    odds = np.stack([base + 0.5 * rng.normal(size=(n, k)) for _ in range(3)])
    at = np.flatnonzero((told == true) & (seen == true))[:20]  # two of each class, by chance right
    y = np.full(n, -1)
    y[at] = true[at]
    found, _ = fit_weights(
        odds - odds.mean(2, keepdims=True), JudgedRows(y, seen, np.ones(n), k), seed=0
    )
    loss = -log_softmax(found.log_odds(odds), axis=1)[np.arange(n), true].mean()
    plain = -log_softmax(odds.mean(0), axis=1)[np.arange(n), true].mean()
    assert found.v.sum() < 2  # were 4.6 where reviewed rows count as if q were as good with them
    assert loss < plain + 0.15


def test_a_slope_is_at_most_twice_what_reviewed_rows_alone_fit(monkeypatch: pytest.MonkeyPatch):
    odds, y, weight = candidates(1500, seed=3)
    reviewed = np.arange(1500) < 60
    rows = JudgedRows(np.where(reviewed, y, -1), y, weight, 2)
    most = [2 * each.v[0] for each in stacking._alone(odds, rows.labels(reviewed, None))]
    # a q that is unsure of reviewed rows only would make every slope large
    q = np.where(reviewed[:, None], 0.5, one_hot(y, 2))
    monkeypatch.setattr(stacking, "expected_labels", lambda *_, **__: q)
    slopes = []
    solved = stacking.solve

    def note(scaled, labels, shrinkage, prior):
        slopes.append(scaled)
        return solved(scaled, labels, shrinkage, prior)

    monkeypatch.setattr(stacking, "solve", note)
    fit_weights(odds, rows, seed=0)
    whole = next(each for each in slopes if len(each) == len(odds))
    ratio = np.array([np.median(a / b) for a, b in zip(whole, odds, strict=True)])
    free = np.array([each.v[0] for each in stacking._alone(odds, rows.labels(reviewed, q))])
    assert (free > most).any()
    np.testing.assert_allclose(ratio, np.minimum(free, most), rtol=1e-6)


@pytest.mark.parametrize("reviewed", [20, 300])
def test_a_blend_leans_on_some_candidates_the_more_the_fewer_rows_are_reviewed(reviewed: int):
    odds, y, weight = candidates(400, seed=4)
    rows = JudgedRows(np.where(np.arange(400) < reviewed, y, -1), y, weight, 2)
    alone, held = fit_weights(odds, rows, seed=0)
    found, own = fit_weights(odds, rows, lean_on=np.array([3.0, 0.0, 0.0, 1.0]), seed=0)
    part = LEAN / (LEAN + reviewed)
    on = np.array([0.75, 0, 0, 0.25])
    np.testing.assert_allclose(found.v, (1 - part) * alone.v + part * on)
    np.testing.assert_allclose(found.intercept, (1 - part) * alone.intercept)
    leaning = 0.75 * odds[0] + 0.25 * odds[3]
    np.testing.assert_allclose(own, (1 - part) * held + part * leaning)
    blend = found.log_odds(odds)
    np.testing.assert_allclose(blend, (1 - part) * alone.log_odds(odds) + part * leaning)


def test_nothing_changes_where_there_is_nothing_to_lean_on() -> None:
    odds, y, weight = candidates(60, seed=4)
    rows = JudgedRows(y, y, weight, 2)
    alone, held = fit_weights(odds, rows, seed=0)
    found, own = fit_weights(odds, rows, lean_on=np.zeros(4), seed=0)
    assert (found.v == alone.v).all()
    assert (own == held).all()
