"""Label strategies against cases computed by hand, and joint against a known truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from alignset.learners import STRATEGIES, Linear, Trees
from alignset.learners.base import Learner, Predictor, log_odds, to_probability
from alignset.learners.context import Context
from alignset.learners.strategies.joint import Joint, fit_errors, step
from alignset.rows import Part


class Counting(Learner):
    """Learns the weighted share of each class for each value of the only feature."""

    name = "counting"

    def fit(self, X: Any, y: Any, weight: Any, n_classes: int, *, seed: int) -> Predictor:
        shares = {}
        for value in np.unique(X[:, 0]):
            own = X[:, 0] == value
            count = np.bincount(y[own], weight[own], n_classes)
            shares[value] = count / count.sum()

        class Counted(Predictor):
            def log_odds(self, X: Any) -> Any:
                return log_odds(np.stack([shares[value] for value in X[:, 0]]))

        return Counted()


def context(learner: Learner | None = None, **changes: Any) -> Context:
    """Ten rows: x = 0 six times, x = 1 four times; five of them reviewed."""
    x = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
    seen = np.array([0, 0, 0, 1, 1, 1, 1, 1, 0, 0])
    true = np.array([0, 0, -1, 0, -1, -1, 1, -1, 1, -1])
    rows = Part(x[:, None].astype(float), seen, true, 0 * x, **changes)
    learner = learner or Counting()
    return Context(rows, 2, 1, learner, learner, Linear(C=0.1), 0, np.ones(10))


def share(model: Predictor, value: float) -> float:
    """P(class 1) at x = value."""
    return float(to_probability(model.log_odds(np.array([[value]])))[0, 1])


def test_observed_is_the_share_of_observed_labels() -> None:
    model = STRATEGIES["observed"].fit(context())
    assert share(model, 0) == pytest.approx(3 / 6)
    assert share(model, 1) == pytest.approx(2 / 4)


def test_reviewed_is_the_share_of_true_labels_among_reviewed_rows() -> None:
    model = STRATEGIES["reviewed"].fit(context())
    assert share(model, 0) == pytest.approx(0, abs=1e-4)  # three zeros; certainty is bounded
    assert share(model, 1) == pytest.approx(1, abs=1e-4)


def test_both_puts_true_labels_in_place_of_observed_ones() -> None:
    model = STRATEGIES["both"].fit(context())
    assert share(model, 0) == pytest.approx(2 / 6)
    assert share(model, 1) == pytest.approx(3 / 4)


def test_irbl_weights_observed_labels_by_what_the_reviewed_rows_say_of_them() -> None:
    # x = 0: reviewed rows say class 0, so of the unreviewed labels 0, 1, 1 only the 0 counts, with
    # P_T / P_U = 1 / 0.5 = 2; x = 1: of the unreviewed labels 1, 0 only the 1 counts
    model = STRATEGIES["irbl"].fit(context())
    assert share(model, 0) == pytest.approx(0, abs=1e-3)
    assert share(model, 1) == pytest.approx(1, abs=1e-3)
    plain = context()
    half = np.where(plain.rows.X[:, 0] == 0, 0, plain.rows.y_true)  # P_T(1 | x = 1) = 1 still
    assert (half[plain.reviewed] == plain.rows.y_true[plain.reviewed]).all()


def test_weights_of_reviewed_rows_reach_the_reviewed_model() -> None:
    rows = context()
    rows.rows.y_true[1] = 1  # x = 0 now has true labels 0, 1, 0
    rows.review_weight = np.where(np.arange(10) == 1, 2.0, 1.0)
    assert share(STRATEGIES["reviewed"].fit(rows), 0) == pytest.approx(2 / 4)


def simulated(n: int, reviewed: float, seed: int, K: int = 2) -> tuple[Part, Any, Any]:
    """Rows with a known P(y | x) and P(y~ | y, x)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    B = rng.normal(size=(3, K)) * 1.5
    p = to_probability(log_odds(to_probability(X @ B)))
    y = np.array([rng.choice(K, p=row) for row in p])
    rate = 1 / (1 + np.exp(-(X[:, 0] - 1.0)))  # errors depend on x
    flip = rng.random(n) < rate
    seen = np.where(flip, (y + 1) % K, y)
    true = np.where(rng.random(n) < reviewed, y, -1)
    return Part(X, seen, true, np.zeros(n, int)), p, rate


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("learner", [Linear(), Trees()], ids=lambda learner: learner.name)
def test_joint_recovers_the_class_and_the_errors(K: int, learner: Learner) -> None:
    rows, p, _ = simulated(4000, 0.1, seed=K, K=K)
    settled = learner.settle(rows.X, rows.y_seen, np.ones(4000), K, seed=0)
    found = Context(rows, K, 1, learner, settled, Linear(C=0.1), 0, np.ones(4000))
    joint = to_probability(STRATEGIES["joint"].fit(found).log_odds(rows.X))
    observed = to_probability(STRATEGIES["observed"].fit(found).log_odds(rows.X))
    off, naive = abs(joint - p).mean(), abs(observed - p).mean()
    assert off < 0.5 * naive
    assert off < (0.06 if learner.name == "linear" else 0.10)


def test_joint_recovers_the_error_model() -> None:
    rows, _, rate = simulated(4000, 0.2, seed=1)
    found = Context(rows, 2, 1, Linear(C=1.0), Linear(C=1.0), Linear(C=0.1), 0, np.ones(4000))
    q = Joint().start(found)
    said = np.exp(fit_errors(found, q, np.arange(4000), 0.01).log_probability(rows))
    y = np.where(rows.reviewed, rows.y_true, 0)
    own = said[np.arange(4000), y][rows.reviewed]
    right = (rows.y_seen == rows.y_true)[rows.reviewed]
    expected = np.where(right, 1 - rate[rows.reviewed], rate[rows.reviewed])
    assert abs(own - expected).mean() < 0.08


def test_a_step_is_the_rule_of_bayes_with_models_that_did_not_see_the_row() -> None:
    rows = context()
    q = STRATEGIES["rates"].start(rows)
    first = rows.rows.y_seen.copy()
    after = step(rows, q.copy(), rows.settled, 0.01)
    np.testing.assert_allclose(after.sum(axis=1), 1)
    assert (after[rows.reviewed] == np.eye(2)[rows.rows.y_true[rows.reviewed]]).all()
    # the label of a row that nobody reviewed reaches its own q by the rule alone: P(y~ | y, x)
    fold = np.random.default_rng((0, 23)).permutation(10) % 2
    row = int(np.flatnonzero(~rows.reviewed)[0])
    rows.rows.y_seen[row] = 1 - first[row]
    other = step(rows, q.copy(), rows.settled, 0.01)
    same = (fold == fold[row]) & (np.arange(10) != row)
    np.testing.assert_array_equal(after[same], other[same])
    assert (after[row] != other[row]).any()


def test_joint_says_how_probable_class_and_label_are_together() -> None:
    everyone, p, rate = simulated(5000, 0.2, seed=1)
    rows, fresh = everyone.take(np.arange(4000)), everyone.take(np.arange(4000, 5000))
    true, wrong = p[4000:], rate[4000:]
    found = Context(rows, 2, 1, Linear(C=1.0), Linear(C=1.0), Linear(C=0.1), 0, np.ones(4000))
    said = STRATEGIES["joint"].say(found, fresh)
    own = to_probability(STRATEGIES["joint"].fit(found).log_odds(fresh.X))
    np.testing.assert_allclose(to_probability(said.odds), own)
    for y in (0, 1):
        error = np.where(fresh.y_seen == y, 1 - wrong, wrong)
        assert abs(np.exp(said.joint[:, y]) - true[:, y] * error).mean() < 0.06
    assert STRATEGIES["both"].say(found, fresh).joint is None


def test_joint_says_something_finite_of_a_row_far_from_all_others() -> None:
    rows, _, _ = simulated(2000, 0.2, seed=1)
    rows.X[5, 1:] = 1e4
    found = Context(rows, 2, 1, Linear(C=1.0), Linear(C=1.0), Linear(C=1.0), 0, np.ones(2000))
    for name in ("joint", "rates", "sharp"):
        with np.errstate(all="raise", under="ignore"):
            said = STRATEGIES[name].say(found, rows)
        assert np.isfinite(said.joint).all()


def test_sharp_finds_errors_beyond_a_threshold_sooner_than_joint() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2400, 8))
    score = 2 * X[:, 0] - X[:, 1]
    y = (rng.random(2400) < 1 / (1 + np.exp(-score))).astype(int)
    seen = np.where(X[:, 2] + X[:, 3] > 0.7, 1 - y, y)
    rows = Part(X, seen, np.where(np.arange(2400) < 100, y, -1), 0 * y)
    found = Context(rows, 2, 1, Linear(C=1.0), Linear(C=1.0), Linear(C=1.0), 0, np.ones(2400))
    off = [
        abs(
            to_probability(STRATEGIES[name].fit(found).log_odds(X))[:, 1] - 1 / (1 + np.exp(-score))
        )
        for name in ("sharp", "joint", "both")
    ]
    sharp, joint, both = (each.mean() for each in off)
    assert sharp < 0.8 * joint
    assert sharp < 0.5 * both


def test_rates_starts_from_the_shares_of_right_labels() -> None:
    # reviewed rows (label, class): (0, 0) twice, (1, 0), (1, 1), (0, 1)
    q = STRATEGIES["rates"].start(context())
    assert q[2] == pytest.approx([(2 + 3.5) / 7, (1 + 0.5) / 7])  # label 0, not reviewed
    assert q[4] == pytest.approx([(1 + 0.5) / 6, (1 + 3.5) / 6])  # label 1, not reviewed
    assert q[3].tolist() == [1, 0]  # reviewed


def test_with_a_few_reviewed_rows_rates_is_safer_than_joint() -> None:
    gap = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(2000, 12))
        p = 1 / (1 + np.exp(-2 * X[:, 0]))
        y = (rng.random(2000) < p).astype(int)
        seen = np.where(rng.random(2000) < 0.15, 1 - y, y)  # errors do not depend on x
        rows = Part(X, seen, np.where(np.arange(2000) < 24, y, -1), 0 * y)
        one = Linear(C=0.1)
        found = Context(rows, 2, 1, one, one, one, 0, np.ones(2000))
        off = [
            abs(to_probability(STRATEGIES[name].fit(found).log_odds(X))[:, 1] - p).mean()
            for name in ("rates", "joint")
        ]
        gap.append(off[1] - off[0])
    assert np.mean(gap) > 0.03


def test_the_weight_to_start_with_depends_on_rows_and_errors() -> None:
    start = {name: each.prior(20.0, 0.3) for name, each in STRATEGIES.items()}
    assert start["observed"] == pytest.approx(0.7)
    assert start["joint"] == pytest.approx(0.3)
    assert start["rates"] == 1
    assert start["reviewed"] == pytest.approx(20 / 120)
    assert start["both"] == pytest.approx(1.4)  # twice
    assert start["sharp"] == pytest.approx(0.1)  # a third
    assert STRATEGIES["recalibrated"].prior(20.0, 1.0) == pytest.approx(0.05)


def test_shrunk_is_a_ridge_around_the_observed_coefficients() -> None:
    """With many reviewed rows and a weak pull, PASS gives the free logistic regression."""
    rows, _, _ = simulated(3000, 1.0, seed=3)
    learner = Linear(C=1.0)
    found = Context(rows, 2, 1, learner, learner, Linear(C=0.1), 0, np.ones(3000))
    ours = to_probability(STRATEGIES["shrunk"].fit(found).log_odds(rows.X))[:, 1]
    free = LogisticRegression(C=1e6).fit(rows.X, rows.y_true).predict_proba(rows.X)[:, 1]
    assert abs(ours - free).max() < 0.03


def test_recalibrated_has_two_numbers_and_mends_a_shift() -> None:
    rows, p, _ = simulated(4000, 0.3, seed=4)
    one_sided = np.where((rows.y_seen == 1) & (np.arange(4000) % 2 == 0), 0, rows.y_seen)
    rows = Part(rows.X, one_sided, rows.y_true, rows.group)
    found = Context(rows, 2, 1, Linear(C=1.0), Linear(C=1.0), Linear(C=0.1), 0, np.ones(4000))
    observed = to_probability(found.observed.log_odds(rows.X))[:, 1]
    mended = to_probability(STRATEGIES["recalibrated"].fit(found).log_odds(rows.X))[:, 1]
    assert np.corrcoef(observed, mended)[0, 1] > 0.9
    assert abs(mended.mean() - p[:, 1].mean()) < 0.03 < abs(observed.mean() - p[:, 1].mean())


def test_a_row_does_not_train_the_score_it_is_read_by() -> None:
    """Trees memorise: a score of a row by a model that saw it would say its own label."""
    rng = np.random.default_rng(0)
    X, seen = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)
    rows = Part(X, seen, np.where(np.arange(300) < 150, seen, -1), 0 * seen)
    trees = Trees(200, 0.3, 31, 1.0)
    found = Context(rows, 2, 1, trees, trees, Linear(C=0.1), 0, np.ones(300))
    held = found.observed_odds[:, 1] > 0
    seen_before = found.observed.log_odds(X[:150])[:, 1] > 0
    assert (seen_before == seen[:150]).mean() > 0.95
    assert (held == seen[:150]).mean() < 0.65
