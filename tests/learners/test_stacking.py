"""The weights of a blend: optimal, shrunk, calibrated."""

from __future__ import annotations

import numpy as np
import pytest

from alignset.evaluate import auroc
from alignset.learners.stacking import LAMBDAS, fit_weights, solve
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
    found = solve(odds, y, weight, 10.0, prior)

    def loss(v, b):
        z = np.tensordot(v, odds, 1) + b
        logs = z[np.arange(len(y)), y] - np.logaddexp.reduce(z, axis=1)
        return -logs.sum() + 10 * ((v - prior) ** 2).sum() + (b**2).sum()

    best = loss(found.v, found.intercept)
    rng = np.random.default_rng(1)
    for _ in range(200):
        v = np.maximum(found.v + rng.normal(size=4) * 0.05, 0)
        assert loss(v, found.intercept + rng.normal() * np.array([-0.05, 0.05])) >= best - 1e-6


def test_weights_are_never_negative_and_follow_the_evidence() -> None:
    odds, y, weight = candidates()
    found, held = fit_weights(odds, y, weight, seed=0)
    assert (found.v >= 0).all()
    assert found.v[2] == 0  # it says the opposite
    assert found.v[0] > 3 * found.v[1]
    assert held.shape == (400, 2)


def test_few_rows_stay_near_the_prior() -> None:
    odds, y, weight = candidates(12, seed=2)
    found, _ = fit_weights(odds, y, weight, np.array([1.0, 1.0, 1.0, 3.0]), seed=0)
    assert found.shrinkage >= LAMBDAS[2]
    assert found.v.sum() < 2


def test_a_row_of_weight_three_is_three_rows() -> None:
    odds, y, _ = candidates(200)
    weight = np.where(np.arange(200) < 50, 3.0, 1.0)
    copies = np.repeat(np.arange(200), weight.astype(int))
    prior = np.full(4, 0.25)
    a = solve(odds, y, weight, 10.0, prior)
    b = solve(odds[:, copies], y[copies], np.ones(len(copies)), 10.0, prior)
    assert np.allclose(a.v, b.v, atol=1e-4)


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
