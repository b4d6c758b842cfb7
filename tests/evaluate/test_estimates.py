import numpy as np
import pandas as pd
import pytest
from evaluate.reviewed_scores import reviewed_scores
from sklearn.metrics import roc_auc_score

from alignset.evaluate import (
    aueoc,
    auroc,
    estimate,
    estimate_difference,
    harmonic_mean,
)
from alignset.evaluate.estimands import ESTIMANDS

METRICS = [*ESTIMANDS, "aueoc", "hm"]


def options(metric):
    needs = metric in ESTIMANDS and ESTIMANDS[metric].needs == "threshold"
    return {"threshold": 0.4} if needs else {}


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_has_an_interval_around_it_and_is_worth_more(metric):
    data = reviewed_scores(0, n=2000, reviewed=300, noise=0.05)
    found = estimate(metric, *data.args, groups=data.group, random_state=0, **options(metric))
    assert found.low < found.estimate < found.high
    assert found.reviewed == 300
    assert found.worth >= 300
    alone = found.reviewed_only
    assert found.high - found.low < 1.02 * (alone[2] - alone[1])
    again = estimate(metric, *data.args, groups=data.group, random_state=0, **options(metric))
    assert (again.low, again.high) == (found.low, found.high)


@pytest.mark.parametrize("metric", ["auroc", "aueoc", "hm"])
def test_with_every_row_reviewed_it_is_the_metric_itself(metric):
    data = reviewed_scores(1, n=800, reviewed=800)
    found = estimate(metric, *data.args, groups=data.group, random_state=0, power=0.0)
    area, even = auroc(data.truth, data.score), aueoc(data.truth, data.score, data.group)
    plain = {"auroc": area, "aueoc": even, "hm": harmonic_mean(area, even)}[metric]
    if metric == "auroc":
        assert found.estimate == pytest.approx(plain, abs=1e-12)
    assert found.low <= plain <= found.high
    # aueoc and hm are corrected for the evenness that noise takes away
    assert found.estimate == pytest.approx(plain, abs=0.02)


def test_groups_are_estimated_from_their_own_rows():
    data = reviewed_scores(2)
    found = estimate("auroc", *data.args, groups=data.group, power=0.0)
    for g, one in found.by_group.items():
        own = (data.group == g) & data.seen
        assert one.estimate == pytest.approx(roc_auc_score(data.truth[own], data.score[own]))
        assert one.reviewed == own.sum()
        assert one.rows == (data.group == g).sum()


def test_several_group_columns_give_margins_and_intersections():
    data = reviewed_scores(3)
    both = pd.DataFrame({"sex": np.where(data.group == 1, "f", "m"), "old": data.score > 0.3})
    found = estimate("prevalence", *data.args, groups=both, random_state=0)
    names = ["sex=f", "sex=m", "old=False", "old=True"]
    names += [f"sex={s} & old={o}" for s in "fm" for o in (False, True)]
    assert list(found.by_group) == names
    assert found.by_group["sex=f & old=True"].rows == (both.sex.eq("f") & both.old).sum()
    table = found.to_frame()
    assert list(table.index) == ["all", *names]
    assert list(found.frame.columns)[:3] == ["estimate", "low", "high"]
    assert "sex=f & old=True" in repr(found)


def test_a_group_without_reviewed_rows_is_unknown_and_says_why():
    data = reviewed_scores(4)
    group = np.where(data.seen, "seen", np.where(data.group == 1, "unseen", "seen"))
    found = estimate("auroc", *data.args, groups=group, random_state=0)
    assert np.isfinite(found.estimate)
    one = found.by_group["unseen"]
    assert np.isnan([one.estimate, one.low, one.high, one.worth]).all()
    assert one.note == "no row was reviewed"
    assert "unknown: no row was reviewed" in repr(found)


def test_no_reviewed_row_at_all_is_unknown():
    data = reviewed_scores(5, reviewed=0)
    found = estimate("auroc", *data.args)
    assert np.isnan(found.estimate)
    assert found.note == "no row was reviewed"
    even = estimate("aueoc", *data.args, groups=data.group)
    assert "0 reviewed rows of group 0" in even.note


def test_one_class_among_the_reviewed_is_unknown_where_it_matters():
    data = reviewed_scores(6)
    zeros = np.where(data.seen, 0.0, np.nan)
    for metric in ("auroc", "tpr", "slope"):
        found = estimate(metric, data.score, data.y, zeros, **options(metric))
        assert np.isnan(found.estimate)
        assert "150 reviewed rows" in found.note
    share = estimate("prevalence", data.score, data.y, zeros, random_state=0)
    assert share.estimate < 0.02
    assert 0 < share.high < 0.1
    assert np.isfinite(estimate("fpr", data.score, data.y, zeros, threshold=0.4).high)


def test_a_single_reviewed_row_gives_an_interval_that_admits_it():
    data = reviewed_scores(7, reviewed=1)
    found = estimate("prevalence", *data.args)
    assert found.high - found.low > 0.5


def test_labels_may_be_text_and_the_larger_is_positive():
    data = reviewed_scores(8)
    text = np.array(["no", "yes"], dtype=object)
    y_true = np.array([text[t] if s else None for t, s in zip(data.truth, data.seen, strict=True)])
    found = estimate("tpr", data.score, text[data.y], y_true, threshold=0.4, random_state=0)
    assert found == estimate("tpr", *data.args, threshold=0.4, random_state=0)


def test_scores_of_both_classes_are_as_good_as_one():
    data = reviewed_scores(9)
    both = np.stack([1 - data.score, data.score], axis=1)
    found = estimate("auroc", both, data.y, data.y_true, random_state=0)
    assert found.estimate == estimate("auroc", *data.args, random_state=0).estimate


def test_a_flagged_share_is_a_threshold():
    data = reviewed_scores(10)
    cut = np.sort(data.score)[-120]  # a tenth of 1200
    by_share = estimate("ppv", *data.args, flagged=0.1, random_state=0)
    assert by_share == estimate("ppv", *data.args, threshold=cut, random_state=0)


def test_a_row_of_weight_two_counts_as_two():
    data = reviewed_scores(11, n=300)
    weight = data.rng.integers(1, 4, 300)
    twice = np.repeat(np.arange(300), weight)
    for metric in ("auroc", "fpr", "calibration"):
        args = (data.score, data.y, data.y_true)
        found = estimate(metric, *args, sample_weight=weight, power=0.0, **options(metric))
        copied = estimate(metric, *(a[twice] for a in args), power=0.0, **options(metric))
        assert found.estimate == pytest.approx(copied.estimate, abs=1e-12)
        assert found.reviewed == 150


def test_more_classes_for_wrong_and_auroc_only(draw):
    rows = draw(0, n=400, n_classes=3)
    y = np.where(np.arange(400) % 10 == 0, (rows.y + 1) % 3, rows.y)
    y_true = np.where(np.arange(400) % 3 == 0, rows.y, np.nan)
    wrong = estimate("wrong", rows.prob, y, y_true, random_state=0)
    assert wrong.low < 0.1 < wrong.high
    area = estimate("auroc", rows.prob, y, y_true, random_state=0)
    assert area.low < auroc(rows.y, rows.prob) < area.high
    assert area.worth > area.reviewed
    with pytest.raises(ValueError, match="tpr is defined for two classes, got 3"):
        estimate("tpr", rows.prob, y, y_true, threshold=0.5)


def test_features_that_tell_wrong_labels_are_worth_something():
    data = reviewed_scores(12, n=2000, reviewed=400, noise=0.3)
    X = np.stack([data.truth + 0.3 * data.rng.normal(size=2000), data.rng.normal(size=2000)], 1)
    plain = estimate("prevalence", *data.args, random_state=0)
    informed = estimate("prevalence", *data.args, X=X, random_state=0)
    assert informed.worth > 1.5 * plain.worth


# differences


def test_a_difference_between_groups_is_that_of_their_estimates():
    data = reviewed_scores(13)
    each = estimate("tpr", *data.args, groups=data.group, threshold=0.4, random_state=0).by_group
    found = estimate_difference(
        "tpr", *data.args, groups=data.group, between=[0, 1], threshold=0.4, random_state=0
    )
    assert found.estimate == pytest.approx(each[1].estimate - each[0].estimate, abs=1e-12)
    widths = [each[g].high - each[g].low for g in (0, 1)]
    assert found.high - found.low == pytest.approx(np.hypot(*widths), rel=0.1)


def test_a_difference_between_scores_is_paired():
    data = reviewed_scores(14, n=2000, reviewed=300)
    other = np.clip(data.score + 0.02 * data.rng.normal(size=2000), 0, 1)
    found = estimate_difference(
        "auroc", *data.args, y_score_b=other, groups=data.group, random_state=0
    )
    assert found.low < 0 < found.high or abs(found.estimate) < 0.02
    assert found.high - found.low < 0.02  # either AUROC has an interval of 0.08
    assert set(found.by_group) == {0, 1}
    alone = estimate_difference("auroc", *data.args, y_score_b=other, power=0.0)
    s = data.seen
    by_hand = roc_auc_score(data.truth[s], other[s]) - roc_auc_score(data.truth[s], data.score[s])
    assert alone.estimate == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize("metric", ["aueoc", "hm"])
def test_evenness_of_two_scores_is_compared_on_the_same_noise(metric):
    data = reviewed_scores(15, n=1500, reviewed=400)
    uneven = np.clip(data.score + 0.2 * data.group, 0, 1)
    found = estimate_difference(
        metric, *data.args, y_score_b=uneven, groups=data.group, random_state=0
    )
    assert found.high < 0
    same = estimate_difference(
        metric, *data.args, y_score_b=data.score, groups=data.group, random_state=0
    )
    assert same.estimate == pytest.approx(0, abs=1e-6)
    assert same.high - same.low < 1e-6


# what is refused


def bad(**changes):
    data = reviewed_scores(16, n=60, reviewed=30)
    call = {"metric": "auroc", "y_score": data.score, "y": data.y, "y_true": data.y_true}
    return call | changes


SCORE = reviewed_scores(16, n=60).score


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"metric": "auc"}, "there is no metric 'auc'; use one of wrong, prevalence"),
        ({"metric": "tpr"}, "tpr needs one of threshold and flagged, got None and None"),
        ({"metric": "tpr", "threshold": 0.5, "flagged": 0.1}, "got 0.5 and 0.1"),
        ({"metric": "tpr", "flagged": 10}, r"flagged must lie in \(0, 1\], got 10"),
        ({"metric": "net_benefit", "threshold": 1.0}, r"must lie in \(0, 1\), got 1.0"),
        ({"metric": "calibration", "y_score": 3 * SCORE}, "needs scores that are probabilities"),
        ({"metric": "aueoc"}, "aueoc compares groups; pass groups"),
        ({"y_score": SCORE[:-1]}, "y_score has 59 entries but y has 60"),
        ({"y_true": [1.0] * 59}, "y_true has 59 entries but y has 60"),
        ({"y_score": np.where(SCORE > 0.5, np.nan, SCORE)}, "y_score is NaN or infinite in"),
        ({"review_probability": np.full(60, 1.5)}, r"must lie in \(0, 1\], got 1.5 in row 0"),
        ({"review_probability": np.zeros(60)}, r"must lie in \(0, 1\], got 0.0 in row 0"),
        ({"review_probability": np.full(60, np.nan)}, "got nan in row"),
        ({"review_probability": np.full(59, 0.5)}, "review_probability has 59 entries"),
        ({"sample_weight": np.full(60, -1.0)}, "sample_weight must be finite and not negative"),
        ({"soft_labels": np.full(60, 2.0)}, "soft_labels must be probabilities"),
        ({"level": 95}, r"level must lie in \(0, 1\), got 95"),
        ({"power": 2}, r"power must lie in \[0, 1\], got 2"),
        ({"X": np.full((60, 2), np.nan)}, "X has missing or infinite values"),
        ({"y": np.arange(60) % 3}, "y_score is for 2 classes but y and y_true have 3"),
        ({"groups": [None] * 60}, "groups is missing in 60 of 60 rows"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(changes, said):
    with pytest.raises(ValueError, match=said):
        estimate(**bad(**changes))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "there is nothing to compare; pass groups, or a second score"),
        ({"groups": np.arange(60) % 3}, "between must be two of the groups 0, 1, 2, got None"),
        ({"groups": np.arange(60) % 3, "between": [0, 7]}, r"got \[0, 7\]"),
        ({"groups": np.arange(60) % 2, "metric": "hm"}, "hm compares groups itself"),
        ({"y_score_b": SCORE, "between": [0, 1]}, "pass one of them"),
    ],
)
def test_differences_of_nothing_are_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        estimate_difference(**bad(**changes))


def test_groups_that_share_rows_have_no_difference():
    data = reviewed_scores(17)
    both = pd.DataFrame({"a": data.group, "b": data.group})
    with pytest.raises(ValueError, match="share rows"):
        estimate_difference(
            "auroc", *data.args, groups=both, between=["a=0", "a=0 & b=0"], random_state=0
        )
