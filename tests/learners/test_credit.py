"""What models of errors are worth, against cases computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from alignset.learners import credit
from alignset.learners.base import one_hot
from alignset.learners.credit import LEAST, MOST, read_credit
from alignset.learners.stacking import JudgedRows, fit_weights
from alignset.learners.strategies.rates import ANY, RIGHT


def both_labels(y: Any, seen: Any, p: Any, wrong: Any) -> Any:
    """log P(y, y~ | x) (n, 2), if P(y = 1 | x) = p and the label is wrong with this probability."""
    of_y = np.column_stack([1 - p, p])
    error = np.column_stack([np.where(seen == k, 1 - wrong, wrong) for k in (0, 1)])
    return np.log(of_y * error)


def rows_with_errors(n: int = 2000, reviewed: int = 24, seed: int = 0) -> Any:
    """A score z of the class; labels are wrong where another, t, is high."""
    rng = np.random.default_rng(seed)
    z, t = 1.5 * rng.normal(size=n), rng.normal(size=n)
    p = 1 / (1 + np.exp(-z))
    y = (rng.random(n) < p).astype(int)
    seen = np.where(t > 0.6, 1 - y, y)
    rows = JudgedRows(np.where(np.arange(n) < reviewed, y, -1), seen, np.ones(n), 2)
    return rows, y, p, t


def odds(p: Any) -> Any:
    z = np.log(p / (1 - p))
    return np.column_stack([-z, z]) / 2


def test_skill_and_gain_are_what_the_formula_says() -> None:
    y = np.array([0, 1, 1, -1, -1, -1])
    seen = np.array([0, 1, 0, 1, 0, 1])
    weight = np.array([1.0, 1, 1, 1, 2, 1])
    rows = JudgedRows(y, seen, weight, 2)
    observed = np.array([0.3, 0.8, 0.4, 0.9, 0.2, 0.6])  # P(y~ = 1 | x)
    p, wrong = np.array([0.2, 0.7, 0.6, 0.8, 0.3, 0.7]), np.full(6, 0.1)
    joint = both_labels(y, seen, p, wrong)
    found = read_credit(
        np.stack([odds(observed), odds(p)]), [None, joint], [True, False], rows, seed=0
    )
    label = p * 0.9 + (1 - p) * 0.1  # P(y~ = 1 | x) of the joint model
    usual = 2 * np.log(0.5) * 2  # labels 1, 0 twice, 1
    explained = [
        np.log(each[3]) + 2 * np.log(1 - each[4]) + np.log(each[5]) - usual
        for each in (observed, label)
    ]
    expected = (explained[1] + LEAST) / (explained[0] + LEAST)
    assert found.skill.tolist() == pytest.approx([1.0, expected])
    assert (found.gain[0] == 0).all()
    assert (found.gain[1, 3:] == 0).all()
    # P(y | y~, x) of the joint model, less the shares without the row itself
    own = [0.8 * 0.9 / (0.8 * 0.9 + 0.2 * 0.1), 0.7 * 0.9 / (0.7 * 0.9 + 0.3 * 0.1),
           0.6 * 0.1 / (0.6 * 0.1 + 0.4 * 0.9)]  # fmt: skip
    shares = [
        (ANY + RIGHT) / (1 + 2 * ANY + RIGHT),  # label 0, class 0: the other was of class 1
        (ANY + RIGHT) / (2 * ANY + RIGHT),  # label 1, class 1: there is no other
        ANY / (1 + 2 * ANY + RIGHT),  # label 0, class 1: the other was of class 0
    ]
    assert found.gain[1, :3] == pytest.approx(np.log(own) - np.log(shares), rel=1e-6)


def test_a_model_that_knows_which_labels_are_wrong_is_told_from_one_that_does_not() -> None:
    found = []
    for seed in range(10):
        rows, y, p, t = rows_with_errors(seed=seed)
        knows = both_labels(y, rows.y_seen, p, np.where(t > 0.6, 0.98, 0.02))
        share = np.full(len(p), (t > 0.6).mean())
        guesses = both_labels(y, rows.y_seen, p, share)
        said = np.stack([odds(p * (1 - share) + (1 - p) * share), odds(p), odds(p)])
        one = read_credit(said, [None, knows, guesses], [True, False, False], rows, seed=0)
        found.append(np.concatenate([one.skill[1:], one.gain.sum(axis=1)[1:]]))
    skill, other, gain, luck = np.mean(found, axis=0)
    assert skill == MOST
    assert other == pytest.approx(1)
    assert gain > 5
    assert -5 < luck < 1


def test_near_the_boundary_a_model_of_observed_labels_says_as_well_which_are_wrong() -> None:
    gains = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        z = 3 * rng.normal(size=2000)
        p = 1 / (1 + np.exp(-2 * z))
        y = (rng.random(2000) < p).astype(int)
        wrong = 0.5 * np.exp(-np.abs(z))
        seen = np.where(rng.random(2000) < wrong, 1 - y, y)
        rows = JudgedRows(np.where(np.arange(2000) < 200, y, -1), seen, np.ones(2000), 2)
        observed = odds(np.clip(p * (1 - wrong) + (1 - p) * wrong, 1e-5, 1 - 1e-5))
        joint = both_labels(y, seen, np.clip(p, 1e-5, 1 - 1e-5), np.clip(wrong, 1e-5, 1))
        said = np.stack([observed, observed])
        gains.append(read_credit(said, [None, joint], [True, False], rows, seed=0).gain[1].sum())
    assert abs(np.mean(gains)) < 8  # of 200 rows: the truth itself gains next to nothing


def test_there_is_no_evidence_without_a_model_of_observed_labels_or_a_reviewed_row() -> None:
    rows, y, p, _ = rows_with_errors(200)
    joint = both_labels(y, rows.y_seen, p, np.full(200, 0.3))
    said = np.stack([odds(p), odds(p)])
    nobody = JudgedRows(np.full(200, -1), rows.y_seen, np.ones(200), 2)
    for observed, given in (([False, False], rows), ([True, False], nobody)):
        found = read_credit(said, [None, joint], observed, given, seed=0)
        assert (found.factor == 1).all()
        assert (found.gain == 0).all()


def test_a_gain_moves_weight_to_its_candidate_but_not_in_what_is_said_of_its_own_row() -> None:
    rows, _, p, _ = rows_with_errors(600, reviewed=60)
    said = np.stack([odds(p), odds(p)])
    gain = np.zeros((2, 600))
    gain[1, :60] = 0.2
    alone, _ = fit_weights(said, rows, seed=0)
    found, own = fit_weights(said, rows, gain=gain, seed=0)
    assert alone.v[0] == pytest.approx(alone.v[1], rel=1e-3)
    assert found.v[1] > 2 * found.v[0]
    gain[1, 7] = 1000.0  # all there is to say for it is a row of its own ...
    one, without = fit_weights(said, rows, gain=gain, seed=0)
    assert one.v[1] > found.v[1]
    np.testing.assert_allclose(without[7], own[7], atol=1e-6)  # ... and not said of that row


def test_an_unreviewed_row_of_weight_two_is_two_rows() -> None:
    rows, y, p, t = rows_with_errors(300, reviewed=40)
    weight = np.where(np.arange(300) % 3 == 0, 2.0, 1.0)
    joint = both_labels(y, rows.y_seen, p, np.where(t > 0.6, 0.9, 0.1))
    said = np.stack([odds(p), odds(p)])
    twice = JudgedRows(rows.y, rows.y_seen, weight, 2)
    at = np.repeat(np.arange(300), weight.astype(int))
    copies = JudgedRows(rows.y[at], rows.y_seen[at], np.ones(len(at)), 2)
    one = read_credit(said, [None, joint], [True, False], twice, seed=0)
    other = read_credit(said[:, at], [None, joint[at]], [True, False], copies, seed=0)
    np.testing.assert_allclose(one.skill, other.skill)


def test_many_classes() -> None:
    rng = np.random.default_rng(0)
    k, n = 4, 800
    p = rng.dirichlet(np.ones(k), size=n)
    y = np.array([rng.choice(k, p=row) for row in p])
    seen = np.where(rng.random(n) < 0.2, (y + 1) % k, y)
    rows = JudgedRows(np.where(np.arange(n) < 80, y, -1), seen, np.ones(n), k)
    error = np.stack([0.8 * one_hot(np.full(n, c), k) + 0.2 * one_hot(np.full(n, (c + 1) % k), k)
                      for c in range(k)], axis=1)  # fmt: skip
    joint = np.log(p) + np.log(error[np.arange(n), :, seen] + 1e-9)
    label = np.einsum("nc,nck->nk", p, error)
    said = np.stack([np.log(label + 1e-9), np.log(p + 1e-9)])
    found = read_credit(said, [None, joint], [True, False], rows, seed=0)
    assert found.skill[1] == pytest.approx(1, abs=0.05)
    assert found.gain[1].sum() > 0
    np.testing.assert_allclose(found.factor, found.skill**credit.POWER)


def test_one_row_that_a_model_is_sure_of_and_wrong_does_not_decide() -> None:
    rows, y, p, t = rows_with_errors(300, reviewed=40)
    joint = both_labels(y, rows.y_seen, p, np.where(t > 0.6, 0.9, 0.1))
    said = np.stack([odds(p), odds(p)])
    before = read_credit(said, [None, joint], [True, False], rows, seed=0)
    joint[3, y[3]] -= 700.0  # exp(-700): a value far from all others
    joint[250] -= 700.0
    found = read_credit(said, [None, joint], [True, False], rows, seed=0)
    assert before.gain[1, 3] - found.gain[1, 3] < 12
    assert before.skill[1] - found.skill[1] < 0.5
    np.testing.assert_array_equal(np.delete(found.gain[1], 3), np.delete(before.gain[1], 3))


def test_copies_of_an_uncertain_row_are_left_out_together() -> None:
    """Two reviewers who disagree make a row of 0.3 and 0.7: neither says what the other is."""
    y, seen = np.array([0, 1, 0, 1, -1, -1]), np.array([1, 1, 0, 0, 0, 1])
    share = np.array([0.3, 0.7, 0.6, 0.4, 1, 1])
    said = np.zeros((2, 6, 2))  # a regression on these has nothing to say, either
    joint = np.log(np.full((6, 2), 0.25))
    rows = JudgedRows(y, seen, share, 2, share, np.array([0, 0, 1, 1, 2, 3]))
    found = read_credit(said, [None, joint], [True, False], rows, seed=0)
    right = np.array([ANY, ANY + RIGHT, ANY + RIGHT, ANY]) / (2 * ANY + RIGHT)
    shares = share[:4] @ np.log(right)
    assert share[:4] @ (np.log(0.5) - found.gain[1, :4]) >= shares - 1e-9
    apart = JudgedRows(y, seen, share, 2, share, np.arange(6))
    other = read_credit(said, [None, joint], [True, False], apart, seed=0)
    assert not np.allclose(found.gain, other.gain)
