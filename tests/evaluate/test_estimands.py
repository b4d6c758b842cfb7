import numpy as np
import pytest
from evaluate.reviewed_scores import reviewed_scores
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from alignset.evaluate.estimands import ESTIMANDS, ScoredRows


def rows_of(data, threshold=0.4):
    both = np.stack([1 - data.score, data.score], axis=1)
    return ScoredRows(both, data.y, data.score >= threshold, threshold)


def by_hand(name, data, weight, label):
    """Every estimand in one line, for labels that may be soft."""
    w1, w0, flag = weight * label, weight * (1 - label), data.score >= 0.4
    return {
        "wrong": lambda: (np.where(data.y == 1, w0, w1)).sum() / weight.sum(),
        "prevalence": lambda: w1.sum() / weight.sum(),
        "tpr": lambda: w1[flag].sum() / w1.sum(),
        "fpr": lambda: w0[flag].sum() / w0.sum(),
        "ppv": lambda: w1[flag].sum() / weight[flag].sum(),
        "npv": lambda: w0[~flag].sum() / weight[~flag].sum(),
        "calibration": lambda: (weight * (data.score - label)).sum() / weight.sum(),
        "net_benefit": lambda: (w1[flag].sum() - w0[flag].sum() * 0.4 / 0.6) / weight.sum(),
    }[name]()


SIMPLE = ("wrong", "prevalence", "tpr", "fpr", "ppv", "npv", "calibration", "net_benefit")


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("name", SIMPLE)
def test_values_are_what_a_line_of_arithmetic_says(name, soft):
    data = reviewed_scores(1, n=200)
    label = data.rng.random(200) if soft else data.truth.astype(float)
    weight = data.rng.integers(0, 4, 200).astype(float)
    found = ESTIMANDS[name].linearise(rows_of(data), np.stack([1 - label, label], 1), weight)
    assert found.value == pytest.approx(by_hand(name, data, weight, label), abs=1e-12)


def test_auroc_and_slope_agree_with_scikit_learn():
    data = reviewed_scores(2, n=400)
    data.score = np.round(data.score, 2)  # ties
    hot, weight = np.eye(2)[data.truth], data.rng.integers(1, 4, 400).astype(float)
    area = ESTIMANDS["auroc"].linearise(rows_of(data), hot, weight).value
    assert area == pytest.approx(roc_auc_score(data.truth, data.score, sample_weight=weight))
    odds = np.log(data.score / (1 - data.score))[:, None]
    fitted = LogisticRegression(C=np.inf, tol=1e-10).fit(odds, data.truth, sample_weight=weight)
    slope = ESTIMANDS["slope"].linearise(rows_of(data), hot, weight).value
    assert slope == pytest.approx(fitted.coef_[0, 0], abs=1e-5)


@pytest.mark.parametrize("name", ESTIMANDS)
def test_the_influence_of_a_row_is_what_a_little_more_of_it_changes(name):
    data = reviewed_scores(3, n=150)
    label, weight = np.eye(2)[data.truth], np.ones(150)
    found = ESTIMANDS[name].linearise(rows_of(data), label, weight)
    assert (label * found.psi).sum() == pytest.approx(0, abs=1e-7)
    for i in (0, 17, 80):
        for k in (0, 1):
            # one row more, a copy of row i with class k, of weight epsilon
            step = 1e-6
            longer = reviewed_scores(3, n=150)
            longer.score = np.append(longer.score, longer.score[i])
            longer.y = np.append(longer.y, longer.y[i])
            more = ESTIMANDS[name].linearise(
                rows_of(longer), np.vstack([label, np.eye(2)[k]]), np.append(weight, step)
            )
            change = (more.value - found.value) / (step / 150)
            assert change == pytest.approx(found.psi[i, k], abs=2e-3)


def test_auroc_of_many_classes_is_the_mean_of_each_against_the_rest(draw):
    rows = draw(0, n=90, n_classes=3)
    hot, weight = np.eye(3)[rows.y], np.ones(90)
    found = ESTIMANDS["auroc"].linearise(ScoredRows(rows.prob, rows.y), hot, weight)
    each = [roc_auc_score(rows.y == k, rows.prob[:, k]) for k in range(3)]
    assert found.value == pytest.approx(np.mean(each))
    assert (hot * found.psi).sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("name", ["auroc", "tpr", "slope"])
def test_without_positives_there_is_no_value(name):
    data = reviewed_scores(4, n=50)
    hot = np.eye(2)[np.zeros(50, dtype=int)]
    assert np.isnan(ESTIMANDS[name].linearise(rows_of(data), hot, np.ones(50)).value)


def test_a_slope_of_separated_classes_is_not_a_number():
    data = reviewed_scores(4, n=50)
    hot = np.eye(2)[(data.score > 0.5).astype(int)]
    assert np.isnan(ESTIMANDS["slope"].linearise(rows_of(data), hot, np.ones(50)).value)
