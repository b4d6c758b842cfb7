"""The estimator against by-hand survey sampling and against ppi_py."""

import numpy as np
import pytest
from evaluate.reviewed_scores import reviewed_scores

from alignset.evaluate import estimate
from alignset.evaluate.difference import Moments, design_strata, score_interval
from alignset.evaluate.proportion import wilson

PPI = [
    # seed, n, N, flip | lambda, tuned estimate, estimate with all of q, low, high (95 %)
    (0, 100, 900, 0.15, 0.6309676047178027, 0.24630031956191722, 0.24472284730725008,
     0.1739146894800184, 0.318685949643816),
    (1, 200, 1800, 0.2, 0.5296480476079449, 0.27184331601866274, 0.26264361515787465,
     0.21538898469153073, 0.32829764734579475),
    (2, 60, 340, 0.5, 0.0, 0.25, 0.2630288254038042, 0.14043468242792734, 0.35956531757207266),
    (3, 500, 500, 0.1, 0.4713643138548641, 0.3106962216040298, 0.31134602396663746,
     0.27589165340415783, 0.3455007898039018),
]  # fmt: skip
"""Made with ppi-python 0.2.3 by the function `peer_numbers` below."""


def ppi_rows(seed, n, n_other, flip):
    """Labels and soft labels; the first n rows are reviewed."""
    rng = np.random.default_rng(seed)
    true = (rng.random(n + n_other) < 0.3).astype(float)
    said = np.where(rng.random(n + n_other) < flip, 1 - true, true)
    return true, np.clip(said * 0.7 + 0.3 * rng.random(n + n_other), 0, 1)


def peer_numbers(seed, n, n_other, flip):
    """python -m venv /tmp/v && /tmp/v/bin/pip install ppi-python==0.2.3, then call this there."""
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
    from ppi_py.ppi import _calc_lam_glm

    true, soft = ppi_rows(seed, n, n_other, flip)
    Y, Yhat, U = true[:n], soft[:n], soft[n:]
    first = U.mean() + (Y - Yhat).mean()
    lam = _calc_lam_glm(Y - first, Yhat - first, U - first, np.eye(1), clip=True)
    full = ppi_mean_pointestimate(Y, Yhat, U, lam=n_other / (n + n_other))
    low, high = ppi_mean_ci(Y, Yhat, U, alpha=0.05)
    return lam, ppi_mean_pointestimate(Y, Yhat, U)[0], full[0], low[0], high[0]


@pytest.mark.parametrize("case", PPI)
def test_a_mean_with_given_soft_labels_is_that_of_ppi_py(case):
    """Theirs is lambda (n_other / n_all) of ours: we lean on all rows, they on the others."""
    seed, n, n_other, flip, lam, tuned, full, low, high = case
    true, soft = ppi_rows(seed, n, n_other, flip)
    y_true = np.where(np.arange(n + n_other) < n, true, np.nan)
    args = "prevalence", soft, (soft > 0.5).astype(int), y_true
    found = estimate(*args, soft_labels=soft, random_state=0)
    assert found.power * n_other / (n + n_other) == pytest.approx(lam, abs=1e-6)
    assert found.estimate == pytest.approx(tuned, abs=1e-6)
    assert estimate(*args, soft_labels=soft, power=1.0).estimate == pytest.approx(full, abs=1e-6)
    # theirs is a plain normal interval; ours is a score interval with nearly the same width
    assert found.high - found.low == pytest.approx(high - low, rel=0.08)


def drawn(seed=0, n=400):
    """Rows drawn with unequal probabilities."""
    data = reviewed_scores(seed, n=n, reviewed=0)
    chance = np.clip(0.1 + 0.5 * np.abs(data.y - data.score), 0, 1)
    seen = data.rng.random(n) < chance
    data.y_true = np.where(seen, data.truth, np.nan)
    return data, chance, seen


def test_reviewed_rows_alone_give_the_hajek_estimate():
    data, chance, seen = drawn()
    found = estimate(
        "prevalence", data.score, data.y, data.y_true, review_probability=chance, power=0.0
    )
    w = 1 / chance[seen]
    assert found.estimate == pytest.approx((w @ data.truth[seen]) / w.sum(), abs=1e-12)
    assert found.reviewed_only[0] == found.estimate


def test_with_all_of_q_it_is_the_horvitz_thompson_difference_estimator():
    data, chance, seen = drawn(1)
    q = np.clip(data.score + 0.1, 0, 1)
    found = estimate(
        "prevalence", data.score, data.y, data.y_true, review_probability=chance,
        soft_labels=q, power=1.0,
    )  # fmt: skip
    w = 1 / chance[seen]
    by_hand = q.mean() + (w @ (data.truth[seen] - q[seen])) / w.sum()
    assert found.estimate == pytest.approx(by_hand, abs=1e-12)


def test_probabilities_need_not_be_known_outside_the_review():
    data, chance, seen = drawn(2)
    inside = np.where(seen, chance, np.nan)
    args = "tpr", data.score, data.y, data.y_true
    options = {"threshold": 0.4, "random_state": 0, "power": 0.7}
    all_known = estimate(*args, review_probability=chance, **options)
    some = estimate(*args, review_probability=inside, **options)
    assert some.estimate == pytest.approx(all_known.estimate, abs=1e-12)
    assert some.high - some.low == pytest.approx(all_known.high - all_known.low, rel=0.15)


def test_a_stratified_review_counts_what_it_left_out():
    """Of each stratum, the mean; of strata, the mean by their size; also if two rows went lost."""
    data = reviewed_scores(3, n=600, reviewed=0)
    y_true = np.full(600, np.nan)
    for label, n in ((0, 30), (1, 50)):
        rows = data.rng.permutation(np.flatnonzero(data.y == label))[:n]
        y_true[rows] = data.truth[rows]
    sizes = np.bincount(data.y)
    chance = np.array([32, 52])[data.y] / sizes[data.y]
    found = estimate("prevalence", data.score, data.y, y_true, review_probability=chance, power=0.0)
    by_stratum = [np.nanmean(y_true[data.y == label]) for label in (0, 1)]
    assert found.estimate == pytest.approx(sizes @ by_stratum / 600, abs=1e-12)
    one = design_strata(chance, ~np.isnan(y_true))
    assert set(one[1]) == {0, 1}
    np.testing.assert_allclose(one[0], np.array([30, 50])[data.y] / sizes[data.y])


def test_strata_with_few_reviewed_rows_are_left_as_they_are():
    chance = np.repeat([0.1, 0.5], 50)
    few = np.zeros(100, dtype=bool)
    few[[0, 60, 61, 62, 63, 64, 65, 66, 67, 68]] = True
    assert (design_strata(chance, few)[1] == -1).all()


def test_the_interval_of_a_plain_proportion_is_nearly_wilsons():
    for wrong, n in ((3, 100), (20, 100), (60, 200)):
        rate = wrong / n
        variance, skew = rate * (1 - rate) / n, rate * (1 - rate) * (1 - 2 * rate) / n**2
        low, high = score_interval(rate, Moments(variance, skew, df=1e9))
        peer = wilson(rate, n)
        assert low == pytest.approx(float(peer[0]), abs=0.008)
        assert high == pytest.approx(float(peer[1]), abs=0.008)


def test_no_error_among_the_reviewed_does_not_mean_no_error():
    data = reviewed_scores(5, noise=0.0)
    found = estimate("wrong", *data.args, random_state=0)
    assert found.estimate == 0
    assert found.low == 0
    assert 0.005 < found.high < 0.05
    share = estimate("prevalence", *data.args, random_state=0)
    assert share.high - share.low > 2 * 1.96 * np.sqrt(0.3 * 0.7 / len(data.y))


def test_when_every_row_is_reviewed_a_finite_population_leaves_no_doubt():
    data = reviewed_scores(6, n=300, reviewed=300)
    found = estimate("tpr", *data.args, threshold=0.4, finite=True)
    assert found.low == found.estimate == found.high
    wide = estimate("tpr", *data.args, threshold=0.4)
    assert wide.high - wide.low > 0.05
    assert wide.worth == pytest.approx(300)


def test_a_finite_population_is_known_better():
    data = reviewed_scores(7, n=300, reviewed=150)
    for metric in ("auroc", "prevalence"):
        some, every = (
            estimate(metric, *data.args, finite=f, random_state=0) for f in (True, False)
        )
        assert some.estimate == every.estimate
        assert some.high - some.low < 0.9 * (every.high - every.low)


def test_useless_soft_labels_are_not_used():
    data = reviewed_scores(8, n=2000, reviewed=400)
    noise = data.rng.random(2000)
    found = estimate("auroc", *data.args, soft_labels=noise)
    assert found.power < 0.1
    assert found.worth == pytest.approx(400, rel=0.03)
    wrong = estimate("auroc", *data.args, soft_labels=1 - data.y)
    assert wrong.power == 0.0
