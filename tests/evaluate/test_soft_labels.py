import numpy as np
import pytest
from evaluate.reviewed_scores import reviewed_scores
from sklearn.linear_model import LogisticRegression

from alignset.evaluate.soft_labels import _ridge_logistic, deal_folds, soft_labels


def soft_of(data, seed=0, true=None, **more):
    true = data.truth if true is None else true
    rng = np.random.default_rng(seed)
    return soft_labels(data.score, data.y, true, data.seen, n_classes=2, rng=rng, **more)


def test_a_row_never_sees_its_own_true_label():
    data = reviewed_scores(0, n=400, reviewed=80)
    before = soft_of(data)
    for row in np.flatnonzero(data.seen)[:10]:
        changed = data.truth.copy()
        changed[row] = 1 - changed[row]
        after = soft_of(data, true=changed)
        assert after[row, 1] == pytest.approx(before[row, 1], abs=1e-9)
        assert not np.allclose(after, before)  # others do see it


def test_true_labels_of_unreviewed_rows_are_not_used():
    data = reviewed_scores(1, n=300)
    hidden = np.where(data.seen, data.truth, 1 - data.truth)
    np.testing.assert_array_equal(soft_of(data), soft_of(data, true=hidden))


def test_reviewed_and_unreviewed_rows_of_a_fold_share_a_model():
    """Two rows alike in everything but the review get the same q if they are in one fold."""
    data = reviewed_scores(2, n=600, reviewed=100)
    fold = deal_folds(data.seen, data.y, np.random.default_rng(0))
    q = soft_of(data)[:, 1]
    logit = np.log(q / (1 - q))
    odds = np.log(data.score / (1 - data.score))
    for k in range(10):
        # q is exactly a function of score and observed label, whoever was reviewed
        design = np.stack([np.ones(600), odds, data.y, odds * data.y], axis=1)
        here = (fold == k) & ~data.seen
        line = np.linalg.lstsq(design[here], logit[here], rcond=None)[0]
        there = (fold == k) & data.seen
        np.testing.assert_allclose(design[there] @ line, logit[there], atol=1e-6)


def test_folds_are_even_among_reviewed_and_among_other_rows():
    data = reviewed_scores(3, n=1000, reviewed=95)
    fold = deal_folds(data.seen, data.y, np.random.default_rng(0))
    for rows in (data.seen, ~data.seen):
        counts = np.bincount(fold[rows], minlength=10)
        assert counts.max() - counts.min() <= 1


def test_the_regression_is_ridge_logistic_regression():
    rng = np.random.default_rng(0)
    x = np.concatenate([np.ones((80, 1)), rng.normal(size=(80, 3))], axis=1)
    y = (rng.random(80) < 0.3).astype(float)
    weight = rng.integers(0, 2, (2, 80)).astype(float)
    found = _ridge_logistic(x, y, weight, np.full(4, 0.25))
    for one, w in zip(found, weight, strict=True):
        peer = LogisticRegression(C=4.0, fit_intercept=False, tol=1e-10, max_iter=1000)
        np.testing.assert_allclose(one, peer.fit(x, y, sample_weight=w).coef_[0], atol=1e-4)


def test_probabilities_add_up_and_use_what_they_are_given(draw):
    rows = draw(0, n=300, n_classes=3)
    rng = np.random.default_rng(0)
    seen, X = rng.random(300) < 0.4, rng.normal(size=(300, 8))
    q = soft_labels(
        rows.prob, rows.y, rows.y, seen, n_classes=3, groups=(rows.group,), X=X, rng=rng
    )
    np.testing.assert_allclose(q.sum(1), 1)
    assert (q.argmax(1) == rows.y).mean() > 0.95  # the observed labels are all right here


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_among_the_reviewed_is_no_obstacle(label):
    data = reviewed_scores(4, n=100, reviewed=20)
    q = soft_of(data, true=np.full(100, label))
    assert np.isfinite(q).all()
    assert (q[:, label] > 0.5).all()
