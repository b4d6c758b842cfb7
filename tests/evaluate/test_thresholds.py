import numpy as np
import pytest
from evaluate.reviewed_scores import reviewed_scores

from alignset.evaluate import ThresholdChoice, choose_threshold, estimate
from alignset.evaluate.thresholds import RATES


def rows(seed=0, n=3000, reviewed=300, n_groups=3):
    return reviewed_scores(seed, n=n, reviewed=reviewed, n_groups=n_groups, noise=0.06)


def chosen(target, value, data, **options):
    return choose_threshold(target, value, *data.args, random_state=0, **options)


@pytest.mark.parametrize(("target", "value"), [("tpr", 0.9), ("fpr", 0.1), ("flagged", 0.2)])
def test_the_target_is_met_by_what_is_estimated(target, value):
    data = rows()
    found = chosen(target, value, data)
    rate = found.rates[target]
    sign = 1 if target == "tpr" else -1
    assert 0 <= sign * (rate.estimate - value) < 0.02
    assert found.by_group == {}
    # a step further, the target would be missed
    further = estimate(target, *data.args, threshold=found.threshold + sign * 0.05, random_state=0)
    assert sign * (further.estimate - value) < 0


def test_rates_are_those_of_estimate():
    data = rows()
    found = chosen("tpr", 0.8, data, groups=data.group)
    for metric in RATES:
        own = estimate(
            metric, *data.args, groups=data.group, threshold=found.threshold, random_state=0
        )
        assert found.rates[metric].estimate == pytest.approx(own.estimate)
        assert found.rates[metric].low == pytest.approx(own.low)
        for g in (0, 1, 2):
            assert found.rates[metric].by_group[g].high == pytest.approx(own.by_group[g].high)
    flagged = (data.score >= found.threshold).mean()
    assert found.rates["flagged"].estimate == pytest.approx(flagged, abs=0.005)
    assert found.rates["flagged"].worth > 1500  # no review is needed to know it


def test_every_group_meets_the_target_with_its_own_threshold():
    data = rows()
    one = chosen("tpr", 0.85, data, groups=data.group)
    own = chosen("tpr", 0.85, data, groups=data.group, per_group=True)
    spread = [np.ptp([e.estimate for e in f.rates["tpr"].by_group.values()]) for f in (one, own)]
    assert spread[1] < 0.5 * spread[0]
    for rate in own.rates["tpr"].by_group.values():
        assert 0.84 < rate.estimate < 0.9
    assert own.threshold == one.threshold
    cut = own.of(data.group)
    assert own.rates["flagged"].estimate == pytest.approx((data.score >= cut).mean(), abs=0.005)
    frame = own.to_frame()
    assert frame["group"].tolist() == ["all", 0, 1, 2]
    assert frame["threshold"].isna().tolist() == [True, False, False, False]
    assert "threshold for tpr=0.85: 0: " in repr(own)


def test_groups_are_brought_as_near_as_asked():
    data = rows(reviewed=600)
    data.score = np.clip(data.score - 0.12 * (data.group == 2), 0, 1)
    args = data.score, data.y, data.y_true
    for epsilon in (0.05, 0.15):
        found = choose_threshold(
            "equalized_odds", epsilon, *args, groups=data.group, per_group=True, random_state=0
        )
        for metric in ("tpr", "fpr"):
            parts = [one.estimate for one in found.rates[metric].by_group.values()]
            assert np.ptp(parts) < epsilon + 0.02  # lambda is tuned anew at the threshold
        assert found.rates["tpr"].estimate - found.rates["fpr"].estimate > 0.2
        cuts = found.by_group
        assert cuts[2] < min(cuts[0], cuts[1])
    single = choose_threshold("equalized_odds", 0.3, *args, groups=data.group, random_state=0)
    assert single.by_group == {}
    noise = np.random.default_rng(0).random(len(data.y))
    with pytest.raises(ValueError, match="only where the model is of no use"):
        choose_threshold("equalized_odds", 0.001, noise, data.y, data.y_true, groups=data.group)


def test_net_benefit_of_calibrated_scores_is_largest_near_its_price():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 3, 20_000)
    true = (rng.random(20_000) < p).astype(int)
    seen = np.where(rng.random(20_000) < 0.5, true, np.nan)
    for price in (0.1, 0.3):
        found = choose_threshold("net_benefit", price, p, true, seen, random_state=0)
        assert found.threshold == pytest.approx(price, abs=0.06)


def test_intervals_at_a_chosen_threshold_hold():
    """The threshold is chosen on the same rows, and the interval of its TPR still holds."""
    big = rows(99, n=200_000, reviewed=10)
    hits, errors = [], []
    for seed in range(60):
        found = chosen("tpr", 0.9, rows(seed, n=1500, reviewed=200))
        true = (big.score >= found.threshold)[big.truth == 1].mean()
        hits.append(found.rates["tpr"].low <= true <= found.rates["tpr"].high)
        errors.append(true - 0.9)
    assert np.mean(hits) >= 0.87  # 95 % less three standard errors
    assert abs(np.mean(errors)) < 0.02


def test_a_group_without_a_class_gets_the_threshold_for_all():
    data = rows()
    none = np.where((data.group == 0) & (data.truth == 1), np.nan, data.y_true)
    found = choose_threshold(
        "tpr", 0.9, data.score, data.y, none, groups=data.group, per_group=True, random_state=0
    )
    assert set(found.by_group) == {1, 2}
    assert "group 0 lacks reviewed rows of a class" in found.notes[0]
    assert found.of([0, 1]).tolist() == [found.threshold, found.by_group[1]]


@pytest.mark.parametrize(
    ("target", "value", "options", "said"),
    [
        ("recall", 0.9, {}, "there is no target 'recall'; use one of tpr, fpr"),
        ("tpr", 90, {}, r"tpr must lie in \(0, 1\), got 90"),
        ("tpr", 0.9, {"per_group": True}, "pass groups"),
        ("equalized_odds", 0.1, {}, "pass groups"),
    ],
)
def test_what_cannot_be_chosen_is_refused(target, value, options, said):
    with pytest.raises(ValueError, match=said):
        chosen(target, value, rows(), **options)


def test_without_both_classes_nothing_is_chosen():
    data = rows()
    with pytest.raises(ValueError, match="no reviewed row is of one of the two classes"):
        choose_threshold("tpr", 0.9, data.score, data.y, np.where(data.y_true == 1, np.nan, 0.0))
    shifted = data.score * 3 - 1
    with pytest.raises(ValueError, match="net_benefit needs scores that are probabilities"):
        choose_threshold("net_benefit", 0.2, shifted, data.y, data.y_true)


def test_groups_may_be_columns():
    data = rows()
    both = np.stack([data.group, data.rng.integers(0, 2, len(data.y))], axis=1)
    found = chosen("flagged", 0.2, data, groups=both, per_group=True)
    assert set(found.by_group) == {f"{a} & {b}" for a in range(3) for b in range(2)}


def test_a_choice_without_rates_has_an_empty_table():
    assert ThresholdChoice("given", 0.3, 0.3).to_frame().empty
