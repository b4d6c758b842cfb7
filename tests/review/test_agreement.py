"""Agreement of reviewers, against numbers worked out by hand and published ones."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from alignset.review.agreement import (
    agreement_frame,
    class_agreement,
    cohen_kappa,
    count_answers,
    fleiss_kappa,
    krippendorff_alpha,
    measure_agreement,
)
from alignset.review.answers import Answers


def answers_of(ratings, n_classes=2):
    row, reviewer = np.nonzero(ratings >= 0)
    names = tuple("abcdefgh"[: ratings.shape[1]])
    settled = np.full(len(ratings), -1)
    return Answers(row, reviewer, ratings[row, reviewer], settled, names, np.arange(n_classes))


def test_cohen_by_hand_and_as_scikit_learn():
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: the textbook's 0.4
    a = np.repeat([1, 1, 0, 0], [20, 5, 10, 15])
    b = np.repeat([1, 0, 1, 0], [20, 5, 10, 15])
    assert np.isclose(cohen_kappa(a, b, 2), (0.7 - 0.5) / 0.5)
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 3, 50), rng.integers(0, 3, 50)
    assert np.isclose(cohen_kappa(x, y, 3), cohen_kappa_score(x, y))


def test_fleiss_of_his_own_kind_of_table():
    # ten subjects, fourteen raters, five classes: kappa 0.210 (the example found in textbooks)
    table = np.array([
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ])  # fmt: skip
    assert fleiss_kappa(table.astype(float)) == pytest.approx(0.210, abs=0.0005)


def test_krippendorff_with_gaps():
    # Krippendorff (2011), four observers, twelve units, nominal: alpha 0.743
    n = -1
    ratings = np.array([
        [1, 2, 3, 3, 2, 1, 4, 1, 2, n, n, n],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, n, 3],
        [n, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, n],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, n],
    ]).T  # fmt: skip
    counts = count_answers(np.where(ratings > 0, ratings - 1, -1), 5)
    assert krippendorff_alpha(counts) == pytest.approx(0.743, abs=0.0005)


def test_agreement_about_a_class_by_hand():
    ratings = np.array([[0, 0], [0, 1], [1, 1], [1, 1], [1, -1]])
    # zeros: 3 answers in pairs, 2 of them met; ones: 5, 4 of them met
    assert class_agreement(ratings, 2) == pytest.approx([2 / 3, 4 / 5])


def test_everything_is_told_for_all_pairs_groups_and_classes():
    rng = np.random.default_rng(0)
    true = rng.integers(0, 2, 80)
    ratings = np.where(rng.random((80, 3)) < 0.1, 1 - true[:, None], true[:, None])
    ratings[rng.random((80, 3)) < 0.3] = -1
    groups = np.where(np.arange(80) < 40, "f", "m")
    found = agreement_frame(measure_agreement(answers_of(ratings), groups))
    assert found["what"].tolist() == [
        "all", "a and b", "a and c", "b and c", "group f", "group m", "class 0", "class 1",
    ]  # fmt: skip
    assert ((found["low"] < found["kappa"]) & (found["kappa"] < found["high"])).all()


def test_all_agreeing_still_leaves_room():
    ratings = np.tile(np.array([[0, 0], [1, 1]]), (20, 1))
    one = measure_agreement(answers_of(ratings))[0]
    assert one.kappa == 1.0
    assert one.high == 1.0
    assert 0.75 < one.low < 0.95


def test_without_a_row_answered_twice_nothing_is_said():
    found = measure_agreement(answers_of(np.array([[0, -1], [-1, 1]])))
    assert all(one.rows == 0 and np.isnan(one.kappa) for one in found)


def test_intervals_cover():
    """Krippendorff's alpha in the population that rows are drawn from: 2 e (1 - e) of pairs differ.

    Both classes are equally frequent, so half of the pairs would differ by chance.
    """
    rng, error, hits = np.random.default_rng(3), 0.07, []
    alpha = 1 - 2 * error * (1 - error) / 0.5
    for _ in range(300):
        true = rng.integers(0, 2, 100)
        ratings = np.where(rng.random((100, 2)) < error, 1 - true[:, None], true[:, None])
        every, pair = measure_agreement(answers_of(ratings))[:2]
        hits.append([one.low <= alpha <= one.high for one in (every, pair)])
    cover = np.mean(hits, axis=0)
    assert ((cover > 0.92) & (cover < 0.985)).all(), cover
