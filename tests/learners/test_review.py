"""Was the review fair, and what is done where it was not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from alignset.learners.review import read_review
from alignset.rows import Part


def rows(reviewed, n: int = 2000, seed: int = 0) -> Part:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (rng.random(n) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    seen = np.where(rng.random(n) < 0.2, 1 - y, y)
    looked = reviewed(X, seen, rng)
    return Part(X, seen, np.where(looked, y, -1), np.zeros(n, int))


@pytest.mark.parametrize("seed", range(5))
def test_a_fair_review_is_left_as_it_is(seed: int) -> None:
    fair = rows(lambda X, seen, rng: rng.random(len(seen)) < 0.1, seed=seed)
    found = read_review(fair, 2, None, seed=0)
    assert not found.selective
    assert not found.anchors.any()
    assert (found.weight == 1).all()


def test_false_alarms_are_rare() -> None:
    alarms = [
        read_review(
            rows(lambda X, seen, rng: rng.random(len(seen)) < 0.05, 600, seed), 2, None, seed=0
        ).selective
        for seed in range(300)
    ]
    assert np.mean(alarms) <= 0.01


def test_a_review_of_positives_is_weighted_and_anchored() -> None:
    odd = rows(lambda X, seen, rng: (seen == 1) & (rng.random(len(seen)) < 0.2))
    found = read_review(odd, 2, None, seed=0)
    assert found.selective
    assert found.unseen == (0,)
    assert (odd.y_seen[found.anchors] == 0).all()
    known = found.rows.reviewed
    share = np.average(odd.y_seen[known] == 1, weights=found.weight[known])
    assert share == pytest.approx((odd.y_seen == 1).mean(), abs=0.02)


def test_a_review_of_doubtful_labels_is_noticed() -> None:
    odd = rows(lambda X, seen, rng: ((X[:, 0] > 0) != (seen == 1)) & (rng.random(len(seen)) < 0.5))
    found = read_review(odd, 2, None, seed=0)
    assert found.selective
    assert found.anchors.any()


def test_known_weights_are_used_and_nothing_is_guessed() -> None:
    odd = rows(lambda X, seen, rng: rng.random(len(seen)) < np.where(seen == 1, 0.3, 0.05))
    given = np.where(odd.y_seen == 1, 0.5, 3.0)
    found = read_review(odd, 2, given, seed=0)
    assert not found.selective
    assert (found.weight == given).all()


def test_without_any_review_observed_labels_are_taken_as_right() -> None:
    none = rows(lambda X, seen, rng: np.zeros(len(seen), bool))
    found = read_review(none, 2, None, seed=0)
    assert found.anchors.sum() > 500
    assert (found.rows.y_true[found.anchors] == none.y_seen[found.anchors]).all()


def test_a_class_that_no_reviewed_row_has_is_anchored() -> None:
    one = rows(lambda X, seen, rng: rng.random(len(seen)) < 0.1)
    one.y_true[(one.y_true == 1)] = -1
    found = read_review(one, 2, None, seed=0)
    assert found.absent == (1,)
    assert (found.rows.y_true[found.anchors] == 1).any()


def test_a_review_that_depends_on_the_label_within_groups_is_noticed() -> None:
    rng = np.random.default_rng(3)
    odd = rows(lambda X, seen, rng: np.zeros(len(seen), bool), seed=3)
    group = rng.integers(0, 2, len(odd))
    likely = np.where(group == odd.y_seen, 0.3, 0.1)  # labels alone were reviewed evenly
    looked = rng.random(len(odd)) < likely
    found = read_review(replace(odd, y_true=np.where(looked, 1, -1), group=group), 2, None, seed=0)
    assert found.selective
    for g in (0, 1):
        own = group == g
        shown = np.average(odd.y_seen[own & looked], weights=found.weight[own & looked])
        assert shown == pytest.approx(odd.y_seen[own].mean(), abs=0.01)


def test_a_review_that_hardly_depends_on_the_label_is_noticed_where_there_are_many_rows() -> None:
    odd = rows(lambda X, seen, rng: rng.random(len(seen)) < np.where(seen == 1, 0.28, 0.2), 3000)
    assert read_review(odd, 2, None, seed=0).selective


@pytest.mark.parametrize("n", [20, 300])
def test_a_review_of_wrong_labels_is_known_for_one(n: int) -> None:
    odd = rows(lambda X, seen, rng: np.ones(len(seen), bool))
    wrong = np.flatnonzero(odd.y_seen != odd.y_true)[:n]
    picked = replace(odd, y_true=np.where(np.isin(np.arange(len(odd)), wrong), odd.y_true, -1))
    found = read_review(picked, 2, None, seed=0)
    assert found.picked
    assert not found.selective
    assert (found.weight == 1).all()


def test_labels_that_are_mostly_wrong_are_no_picked_ones() -> None:
    """The paper has groups of which 80 % are wrong; beside others, 64 % are."""
    rng = np.random.default_rng(0)
    found = []
    for seed in range(50):
        fair = rows(lambda X, seen, rng: rng.random(len(seen)) < 0.03, seed=seed)
        flipped = np.where(rng.random(len(fair)) < 0.64, 1 - fair.y_true, fair.y_true)
        part = replace(fair, y_seen=np.where(fair.reviewed, flipped, fair.y_seen))
        found.append(read_review(part, 2, None, seed=0).picked)
    assert np.mean(found) < 0.05


@pytest.mark.parametrize("share", [0.04, 0.2])
@pytest.mark.parametrize("wrong", [0.8, 0.95])
def test_where_most_labels_of_the_table_are_wrong_reviewed_ones_were_not_picked(
    wrong: float, share: float
) -> None:
    """Four times in five with 80 rows; always with 400. Picked ones look otherwise."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng((seed, 1))
        part = rows(lambda X, seen, rng: rng.random(len(seen)) < share, seed=seed)
        truth = rows(lambda X, seen, rng: np.ones(len(seen), bool), seed=seed).y_true
        flipped = np.where(rng.random(len(truth)) < wrong, 1 - truth, truth)
        found.append(read_review(replace(part, y_seen=flipped), 2, None, seed=0).picked)
    assert np.mean(found) <= (0.2 if share < 0.1 else 0.0)


@pytest.mark.parametrize("seed", range(20))
def test_wrong_labels_that_were_picked_are_known_however_many(seed: int) -> None:
    every = rows(lambda X, seen, rng: np.ones(len(seen), bool), seed=seed)
    wrong = np.flatnonzero(every.y_seen != every.y_true)
    for n in (15, 40, 120, len(wrong)):
        looked = np.isin(np.arange(len(every)), wrong[:n])
        part = replace(every, y_true=np.where(looked, every.y_true, -1))
        assert read_review(part, 2, None, seed=0).picked


@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize("other", [0, 25])
def test_a_flag_that_is_mostly_wrong_was_not_picked(n: int, other: int) -> None:
    """Charts of flagged patients are reviewed at random; few of them are ill."""
    rng = np.random.default_rng(0)
    truth = (rng.random(4000) < 1 / 30).astype(int)
    flag = np.where(truth == 1, rng.random(4000) < 0.9, rng.random(4000) < 0.18).astype(int)
    at = np.concatenate(
        [rng.permutation(np.flatnonzero(flag == k))[:m] for k, m in ((1, n), (0, other))]
    )
    true = np.full(4000, -1)
    true[at] = truth[at]
    found = read_review(Part(rng.normal(size=(4000, 3)), flag, true, truth * 0), 2, None, seed=0)
    assert (flag != truth)[at[:n]].mean() > 0.75
    assert found.selective
    assert not found.picked


def test_missed_cases_alone_were_picked() -> None:
    odd = rows(lambda X, seen, rng: np.zeros(len(seen), bool), 4000)
    missed = np.flatnonzero(odd.y_seen == 0)[:40]
    part = replace(odd, y_true=np.where(np.isin(np.arange(4000), missed), 1, -1))
    assert read_review(part, 2, None, seed=0).picked


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("wrong", [True, False])
def test_people_are_counted_whether_one_of_their_rows_was_reviewed_or_all(
    wrong: bool, whole: bool
) -> None:
    every = rows(lambda X, seen, rng: np.ones(len(seen), bool), 3000)
    unit = np.arange(3000) // 20
    odd = (every.y_seen != every.y_true) if wrong else every.y_seen == 1
    first = np.unique(np.where(odd, unit, -1), return_index=True)[1][1:60]
    looked = np.isin(unit, unit[first]) & odd if whole else np.isin(np.arange(3000), first)
    part = replace(every, y_true=np.where(looked, every.y_true, -1), unit=unit)
    found = read_review(part, 2, None, seed=0)
    assert (found.picked, found.selective) == (wrong, not wrong)


@pytest.mark.parametrize("n", range(2, 31))
def test_three_people_are_too_few_to_say_that_labels_were_picked(n: int) -> None:
    every = rows(lambda X, seen, rng: np.ones(len(seen), bool), 40 * n)
    unit = np.arange(40 * n) // n
    part = replace(every, y_true=np.where(unit < 3, 1 - every.y_seen, -1), unit=unit)
    assert not read_review(part, 2, None, seed=0).picked


def test_known_weights_say_that_wrong_labels_were_reviewed_more_often() -> None:
    odd = rows(lambda X, seen, rng: np.ones(len(seen), bool))
    wrong = odd.y_seen != odd.y_true
    looked = np.random.default_rng(0).random(len(odd)) < np.where(wrong, 0.9, 0.02)
    part = replace(odd, y_true=np.where(looked, odd.y_true, -1))
    assert read_review(part, 2, None, seed=0).picked
    assert not read_review(part, 2, np.where(wrong, 1 / 0.9, 1 / 0.02), seed=0).picked


def test_groups_may_be_reviewed_unevenly_or_not_at_all() -> None:
    rng = np.random.default_rng(1)
    fair = rows(lambda X, seen, rng: np.zeros(len(seen), bool), seed=1)
    group = np.where(rng.random(len(fair)) < np.where(fair.y_seen == 1, 0.7, 0.3), 1, 0)
    group[:200] = 2
    looked = rng.random(len(fair)) < np.array([0.08, 0.1, 0.0])[group]
    part = replace(fair, y_true=np.where(looked, fair.y_seen, -1), group=group)
    found = read_review(part, 2, None, seed=0)
    assert not found.selective
    assert not found.anchors.any()
