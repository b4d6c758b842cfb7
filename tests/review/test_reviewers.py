"""The error model of reviewers: by hand, against a plain Dawid-Skene, and on known errors."""

import numpy as np
import pandas as pd
import pytest
from answered import simulate

from alignset.review.answers import Answers, read_answer_log
from alignset.review.dawid_skene import AnswerCodes, ErrorPrior, draw_posterior, fit_by_em
from alignset.review.reviewers import fit_reviewers, prior_cells

NOTHING = ErrorPrior(right=0.0, wrong=0.0, cell=0.0)


def codes_of(answers, cell=None):
    cell = np.zeros(answers.n_rows, dtype=np.int64) if cell is None else cell
    return AnswerCodes(
        answers.row, answers.reviewer, answers.answer, answers.settled, cell,
        len(answers.classes), len(answers.names),
    )  # fmt: skip


def plain_dawid_skene(ratings, k, rounds):
    """The 1979 paper in loops: no cells, no priors, no anchors."""
    n, R = ratings.shape
    q = np.zeros((n, k))
    for i in range(n):
        for r in range(R):
            if ratings[i, r] >= 0:
                q[i, ratings[i, r]] += 1
        q[i] /= q[i].sum()
    for _ in range(rounds):
        p, C = q.mean(0), np.zeros((R, k, k))
        for r in range(R):
            for i in range(n):
                if ratings[i, r] >= 0:
                    C[r, :, ratings[i, r]] += q[i]
            C[r] /= C[r].sum(1, keepdims=True)
        for i in range(n):
            q[i] = p
            for r in range(R):
                if ratings[i, r] >= 0:
                    q[i] = q[i] * C[r, :, ratings[i, r]]
            q[i] /= q[i].sum()
    return q, C


@pytest.mark.parametrize("k", [2, 3])
def test_em_is_dawid_and_skenes(k):
    rng = np.random.default_rng(k)
    _, _, answers = simulate(rng, 60, (0.1, 0.2, 0.15), k, double=1.0, adjudicated=False)
    q, C = plain_dawid_skene(answers.ratings(), k, 25)
    found = fit_by_em(codes_of(answers), NOTHING, rounds=25, tolerance=0.0)
    assert np.abs(found.q - q).max() < 1e-9
    assert np.abs(found.confusion - C).max() < 1e-9


def test_one_round_by_hand():
    # two reviewers agree on row 0, differ on row 1, which was adjudicated as 1
    answers = Answers(
        np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 0, 0, 1]),
        np.array([-1, 1]), ("a", "b"), np.arange(2),
    )  # fmt: skip
    taken = ErrorPrior(right=3.0, wrong=1.0, cell=2.0)
    found = fit_by_em(codes_of(answers), taken, rounds=1)
    # row 0 starts as class 0 and row 1 is class 1: a is right on row 0, wrong on row 1
    a = np.array([[4 / 5, 1 / 5], [2 / 5, 3 / 5]])
    b = np.array([[4 / 5, 1 / 5], [1 / 5, 4 / 5]])
    assert np.allclose(found.confusion, [a, b])
    odds = np.array([0.5 * a[0, 0] * b[0, 0], 0.5 * a[1, 0] * b[1, 0]])
    assert np.allclose(found.q[0], odds / odds.sum())
    assert found.q[1].tolist() == [0.0, 1.0]


def test_known_confusion_is_recovered():
    rng = np.random.default_rng(0)
    sharp = np.array([[0.95, 0.03, 0.02], [0.05, 0.9, 0.05], [0.02, 0.08, 0.9]])
    lax = np.array([[0.8, 0.15, 0.05], [0.1, 0.85, 0.05], [0.1, 0.2, 0.7]])
    _, observed, answers = simulate(rng, 3000, (sharp, lax), 3, double=1.0, adjudicated=False)
    model = fit_by_em(codes_of(answers, observed))
    assert np.abs(model.confusion - [sharp, lax]).max() < 0.06


@pytest.mark.parametrize("symmetric", [False, True])
def test_draws_are_centred_on_what_is_true(symmetric):
    """Error rates of 5 and 15 % from a double-reviewed fifth, each within its own interval."""
    hits, truth = [], np.array([0.05, 0.15])
    for seed in range(12):
        rng = np.random.default_rng(seed)
        _, observed, answers = simulate(rng, 500, (0.05, 0.15))
        how = "symmetric" if symmetric else "by_class"
        model = fit_reviewers(answers, observed, errors=how, n_draws=10, random_state=0)
        hits.append([one.low <= e <= one.high for one, e in zip(model.errors, truth, strict=True)])
    assert np.mean(hits) >= 0.85


def test_soft_labels_are_calibrated():
    """Of rows that are of class 1 with probability q, a share q is."""
    q, y = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        true, observed, answers = simulate(rng, 400, (0.1, 0.1))
        q.append(fit_reviewers(answers, observed, n_draws=10).shares[:, 1])
        y.append(true)
    q, y = np.concatenate(q), np.concatenate(y)
    for low, high in ((0.0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1.01)):
        here = (q >= low) & (q < high)
        assert here.sum() > 50
        assert abs(q[here].mean() - y[here].mean()) < 4 * np.sqrt(0.25 / here.sum())


def test_an_adjudicated_row_is_certain():
    rng = np.random.default_rng(0)
    true, observed, answers = simulate(rng)
    model = fit_reviewers(answers, observed)
    at = np.flatnonzero(answers.settled >= 0)
    assert len(at)
    assert (model.shares[at, true[at]] == 1).all()
    assert (model.draws.codes[:, at] == true[at]).all()


def test_without_double_reviews_answers_are_taken_as_right():
    rng = np.random.default_rng(0)
    _, observed, answers = simulate(rng, double=0.0)
    model = fit_reviewers(answers, observed)
    assert not model.identified
    assert (model.draws.mode[answers.row] == answers.answer).all()
    assert np.isnan(model.errors[0].error)
    assert "nobody can say" in model.note


def test_a_reviewer_of_few_rows_shares_error_rates():
    rng = np.random.default_rng(0)
    _, observed, answers = simulate(rng, 100, (0.1,) * 6, double=0.15)
    model = fit_reviewers(answers, observed, n_draws=5)
    assert len({one.error for one in model.errors}) == 1
    assert model.symmetric


def test_rows_that_nobody_answered_have_no_label():
    answers = Answers(
        np.array([0, 0, 2]), np.array([0, 1, 0]), np.array([1, 1, 0]), np.full(4, -1),
        ("a", "b"), np.arange(2),
    )  # fmt: skip
    model = fit_reviewers(answers, np.array([1, 0, 0, 1]))
    assert model.draws.reviewed.tolist() == [True, False, True, False]
    assert np.isnan(model.shares[[1, 3]]).all()


def test_draws_depend_on_their_seed_alone():
    rng = np.random.default_rng(0)
    _, observed, answers = simulate(rng)
    one, other = (fit_reviewers(answers, observed, n_draws=4, random_state=7) for _ in range(2))
    assert (one.draws.codes == other.draws.codes).all()
    assert (one.shares[answers.row] == other.shares[answers.row]).all()


def test_a_score_is_not_washed_out():
    """Labels that are filled in must go with the score as the true ones do."""
    gap = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        true, observed, answers = simulate(rng, 1200, (0.15, 0.15))
        score = 1 / (1 + np.exp(-(true * 2.5 - 1.25 + rng.normal(size=1200))))
        model = fit_reviewers(answers, observed, score=score, n_draws=10)
        drawn = model.draws.codes
        spread = [score[d == 1].mean() - score[d == 0].mean() for d in drawn]
        gap.append(np.mean(spread) - (score[true == 1].mean() - score[true == 0].mean()))
    assert abs(np.mean(gap)) < 0.02


def test_cells_are_merged_where_rows_are_few():
    answers = Answers(
        np.arange(40), np.zeros(40, int), np.zeros(40, int), np.full(40, -1), ("a",), np.arange(2)
    )
    observed, group = np.repeat([0, 1], 20), np.tile([0] * 15 + [1] * 5, 2)
    cell = prior_cells(answers, observed, group)
    # 15 rows are a cell of their own; the 5 others stay with their observed label
    assert len(np.unique(cell)) == 4
    assert len(np.unique(cell[(observed == 0) & (group == 1)])) == 1


def test_the_log_is_matched_to_rows_classes_and_reviewers():
    log = pd.DataFrame({
        "id": ["007", "7", "8", "8", "9"], "reviewer": ["an", "bo", "an", "an", ""],
        "answer": ["Yes", "no", "no", "yes ", "cannot tell"], "time": "", "comment": "",
        "sheet": "s.csv", "wave": "1", "adjudicated": ["", "", "", "", ""],
    })  # fmt: skip
    more = log.iloc[[0]].assign(reviewer="chief", answer="no", adjudicated="yes")
    found = read_answer_log(pd.concat([log, more]), ["7", "8", "9"], np.array(["no", "yes"]))
    assert found.names == ("(no name)", "an", "bo")
    assert found.ratings().tolist() == [[-1, 1, 0], [-1, 1, -1], [-1, -1, -1]]
    assert found.settled.tolist() == [0, -1, -1]
    assert found.disputed.tolist() == [False, False, False]
    assert found.n_told.tolist() == [2, 1, 0]


def test_a_log_of_another_table_is_refused():
    log = pd.DataFrame({"id": ["1"], "reviewer": "a", "answer": "yes", "adjudicated": ""})
    with pytest.raises(ValueError, match="row '1'"):
        read_answer_log(log, ["2"], ["no", "yes"])
    with pytest.raises(ValueError, match=r"answer 'yes'.*'maybe'"):
        read_answer_log(log, ["1"], ["maybe", "no"])


def test_a_posterior_without_answers_is_the_prior():
    rng = np.random.default_rng(0)
    codes = AnswerCodes(
        *[np.zeros(0, int)] * 3, np.repeat([0, 1], [30, 10]), np.zeros(40, int), 2, 1
    )
    drawn = [one.confusion[0, 0, 1] for one in draw_posterior(codes, rng=rng, n_draws=400)]
    assert np.mean(drawn) == pytest.approx(0.5 / 7, abs=0.03)
