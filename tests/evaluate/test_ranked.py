from __future__ import annotations

import by_hand_metrics as by_hand
import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score, roc_curve

from alignset.evaluate import ranked
from alignset.evaluate.ranked import _collinear, area_under_roc, harmonic_mean, one_vs_rest, rank


def auroc(score, y, where):
    return area_under_roc(rank(score, y, torch.zeros_like(y), where, 1))


def aueoc_tau(*rows):
    return ranked.odds_over_threshold(rank(*rows))


def aueoc_fpr(*rows):
    return ranked.odds_over_fpr(rank(*rows))


def aueoc_released(*rows):
    return ranked.predictive_values_over_fpr(rank(*rows))


def over_classes(metric, prob, y, group, where, n_groups):
    """Mean over classes of each against the rest."""
    return metric(*one_vs_rest(prob, y, group, where), n_groups).mean(-1)


def auroc_ovr(prob, y, where):
    return over_classes(lambda *rows: area_under_roc(rank(*rows)), prob, y, 0 * y, where, 1)


AUEOC = {
    "tau": (aueoc_tau, by_hand.aueoc_tau),
    "fpr": (aueoc_fpr, by_hand.aueoc_fpr),
    "released": (aueoc_released, by_hand.aueoc_released),
}
KINDS = [kind for kind, _ in AUEOC.values()]
LEVELS = [None, 20, 5, 2]


def stack_of(draw, n_models=6, n=50, dtype=torch.float64):
    many = [draw(seed, n=n, levels=[None, 10][seed % 2]) for seed in range(n_models)]
    score = torch.tensor(np.stack([rows.score for rows in many]), dtype=dtype)
    y = torch.tensor(np.stack([rows.y for rows in many]))
    group = torch.tensor(np.stack([rows.group for rows in many]))
    where = torch.tensor(np.random.default_rng(9).random((n_models, n)) < 0.9)
    where[:, :4] = True  # every cell filled
    return score, y, group, where


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("seed", range(4))
def test_auroc_is_sklearns_and_the_share_of_ordered_pairs(draw, as_tensors, seed, levels):
    rows = draw(seed, levels=levels)
    score, y, _, where = as_tensors(rows)
    weight = np.random.default_rng(seed).integers(0, 4, len(rows.y)).astype(float)
    weight[:4] = 1
    assert auroc(score, y, where).item() == pytest.approx(roc_auc_score(rows.y, rows.score))
    assert auroc(score, y, where).item() == pytest.approx(by_hand.auroc(rows.y, rows.score))
    weighted = auroc(score, y, torch.tensor(weight)).item()
    assert weighted == pytest.approx(roc_auc_score(rows.y, rows.score, sample_weight=weight))


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", AUEOC)
def test_aueoc_is_what_the_slow_loop_says(draw, as_tensors, name, seed, levels):
    rows = draw(seed, n=80, levels=levels)
    fast, slow = AUEOC[name]
    value = fast(*as_tensors(rows), 2).item()
    assert value == pytest.approx(slow(rows.y, rows.score, rows.group), abs=1e-12)


@pytest.mark.parametrize("name", ["tau", "fpr"])
def test_three_groups_are_compared_by_largest_minus_smallest(draw, as_tensors, name):
    rows = draw(1, n_groups=3, levels=20)
    fast, slow = AUEOC[name]
    value = fast(*as_tensors(rows), 3).item()
    assert value == pytest.approx(slow(rows.y, rows.score, rows.group), abs=1e-12)


@pytest.mark.parametrize("name", AUEOC)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_aueoc_and_auroc_hold_for_any_ties(name, data):
    row = st.tuples(st.integers(0, 6), st.integers(0, 1), st.integers(0, 1))
    score, y, group = np.array(data.draw(st.lists(row, min_size=4, max_size=30))).T
    assume(len({*zip(y.tolist(), group.tolist(), strict=True)}) == 4)
    score = score / 6
    fast, slow = AUEOC[name]
    where = torch.ones(len(y), dtype=torch.bool)
    args = torch.tensor(score), torch.tensor(y), torch.tensor(group), where
    assert fast(*args, 2).item() == pytest.approx(slow(y, score, group), abs=1e-12)
    assert auroc(args[0], args[1], where).item() == pytest.approx(by_hand.auroc(y, score))


def test_the_released_area_feels_the_points_roc_curve_drops(draw, as_tensors, monkeypatch):
    rows = draw(0, n=80)
    expected = by_hand.aueoc_released(rows.y, rows.score, rows.group)
    monkeypatch.setattr(ranked, "_collinear", lambda by_class, ends: torch.zeros_like(ends))
    kept_all = aueoc_released(*as_tensors(rows), 2).item()
    assert abs(kept_all - expected) > 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_a_stack_scores_as_its_models_one_at_a_time(draw, kind):
    score, y, group, where = stack_of(draw)
    together = kind(score, y, group, where, 2)
    alone = [
        kind(score[i][where[i]], y[i][where[i]], group[i][where[i]], where[i][where[i]], 2)
        for i in range(len(score))
    ]
    torch.testing.assert_close(together, torch.stack(alone), rtol=0, atol=1e-12)
    area = torch.stack([auroc(score[i], y[i], where[i]) for i in range(len(score))])
    torch.testing.assert_close(auroc(score, y, where), area, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_leading_axes_broadcast(draw, kind):
    score, y, group, where = stack_of(draw)
    scores = torch.stack([score, 1 - score], 1)  # (P, C, n)
    value = kind(scores, y.unsqueeze(1), group.unsqueeze(1), where.unsqueeze(1), 2)
    assert value.shape == (6, 2)
    torch.testing.assert_close(value[:, 0], kind(score, y, group, where, 2))
    one_score = kind(score[0], y, group, where, 2)
    torch.testing.assert_close(one_score, kind(score[:1].expand_as(score), y, group, where, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_integer_weights_are_repetition(draw, as_tensors, kind):
    score, y, group, _ = as_tensors(draw(3, n=40, levels=10))
    times = torch.randint(0, 4, y.shape, generator=torch.Generator().manual_seed(0))
    times[:4] = 2
    repeated = [t.repeat_interleave(times) for t in (score, y, group)]
    where = torch.ones_like(repeated[1], dtype=torch.bool)
    expected = kind(*repeated, where, 2)
    torch.testing.assert_close(kind(score, y, group, times.double(), 2), expected)
    assert auroc(score, y, times.double()).item() == pytest.approx(
        auroc(repeated[0], repeated[1], where).item()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_do_not_count_may_hold_anything(draw, as_tensors, kind):
    score, y, group, where = as_tensors(draw(0))
    expected = kind(score, y, group, where, 2), auroc(score, y, where)
    junk = torch.tensor([torch.nan, torch.inf, 7.0, -torch.inf], dtype=score.dtype)
    longer = [
        torch.cat(pair)
        for pair in zip(
            (score, y, group), (junk, -torch.ones(4).long(), -torch.ones(4).long()), strict=True
        )
    ]
    counts = torch.cat([where, torch.zeros(4, dtype=torch.bool)])
    torch.testing.assert_close(kind(*longer, counts, 2), expected[0])
    torch.testing.assert_close(kind(*longer, counts.double(), 2), expected[0])
    torch.testing.assert_close(auroc(longer[0], longer[1], counts), expected[1])


@pytest.mark.parametrize("kind", KINDS)
def test_single_precision_is_close_to_double(draw, kind):
    score, y, group, where = stack_of(draw, n=400, dtype=torch.float32)
    single = kind(score, y, group, where, 2)
    assert single.dtype == torch.float32
    torch.testing.assert_close(
        single.double(), kind(score.double(), y, group, where, 2), rtol=0, atol=2e-6
    )


@pytest.mark.parametrize("kind", KINDS)
def test_swapping_the_groups_changes_nothing(draw, as_tensors, kind):
    score, y, group, where = as_tensors(draw(0, levels=10))
    torch.testing.assert_close(kind(score, y, group, where, 2), kind(score, y, 1 - group, where, 2))


@pytest.mark.parametrize("kind", [aueoc_fpr, aueoc_released])
def test_rank_based_areas_ignore_monotone_transforms(draw, as_tensors, kind):
    score, y, group, where = as_tensors(draw(0, levels=20))
    bent = (3 * score).exp() - 100
    torch.testing.assert_close(kind(score, y, group, where, 2), kind(bent, y, group, where, 2))
    squashed = aueoc_tau(0.01 * score, y, group, where, 2)
    assert squashed > aueoc_tau(score, y, group, where, 2)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_equal_distributions_in_every_cell_are_perfectly_even(kind):
    score = torch.tensor([0.1, 0.4, 0.7, 0.3, 0.7, 0.9], dtype=torch.float64).repeat(2)
    y = torch.tensor([0, 0, 0, 1, 1, 1]).repeat(2)
    group = torch.tensor([0] * 6 + [1] * 6)
    assert kind(score, y, group, y >= 0, 2).item() == 1


def test_a_perfect_classifier_is_perfectly_even_and_good(draw, as_tensors):
    _, y, group, where = as_tensors(draw(0))
    assert auroc(y.double(), y, where).item() == 1
    assert aueoc_tau(y.double(), y, group, where, 2).item() == 1
    assert aueoc_fpr(y.double(), y, group, where, 2).item() == 1


def test_scores_beyond_the_unit_interval_count_as_its_ends():
    y, group = torch.tensor([1, 0, 1, 0]), torch.tensor([0, 0, 1, 1])
    inside = aueoc_tau(torch.tensor([1.0, 0.0, 0.5, 0.0]), y, group, y >= 0, 2)
    beyond = aueoc_tau(torch.tensor([1.5, -3.0, 0.5, -1.0]), y, group, y >= 0, 2)
    assert inside == beyond == 0.75


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_cell_is_nan_in_its_own_row_only(draw, kind):
    score, y, group, where = stack_of(draw)
    where[2] &= ~((y[2] == 1) & (group[2] == 0))
    where[4] &= group[4] == 0
    undefined = kind(score, y, group, where, 2).isnan()
    assert undefined.tolist() == [False, False, True, False, True, False]
    assert not auroc(score, y, where).isnan().any()
    assert auroc(score, y, where & (y == 1)).isnan().all()
    assert kind(score, y, group, where & False, 2).isnan().all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_nan_score_gives_nan(draw, kind):
    score, y, group, where = stack_of(draw)
    score[1, 0] = torch.nan
    assert kind(score, y, group, where, 2).isnan().tolist() == [False, True] + [False] * 4
    assert auroc(score, y, where).isnan().tolist() == [False, True] + [False] * 4


def test_one_against_the_rest_is_sklearns_macro_average(draw):
    rows = draw(0, n=120, n_classes=4)
    prob, y = torch.tensor(rows.prob), torch.tensor(rows.y)
    expected = roc_auc_score(rows.y, rows.prob, multi_class="ovr", average="macro")
    assert auroc_ovr(prob, y, y >= 0).item() == pytest.approx(expected)
    assert auroc_ovr(prob.expand(3, -1, -1), y, y >= 0).shape == (3,)


@pytest.mark.parametrize("kind", KINDS)
def test_two_columns_are_the_binary_metric_of_class_1(draw, as_tensors, kind):
    rows = draw(0)
    score, y, group, where = as_tensors(rows)
    prob = torch.tensor(rows.prob)
    torch.testing.assert_close(
        over_classes(kind, prob, y, group, where, 2), kind(score, y, group, where, 2)
    )
    torch.testing.assert_close(auroc_ovr(prob, y, where), auroc(score, y, where))


@pytest.mark.parametrize("name", ["tau", "fpr"])
def test_multiclass_aueoc_is_the_mean_over_classes(draw, name):
    rows = draw(0, n_classes=3, n_groups=3)
    fast, slow = AUEOC[name]
    y, group = torch.tensor(rows.y), torch.tensor(rows.group)
    value = over_classes(fast, torch.tensor(rows.prob), y, group, y >= 0, 3)
    each = [slow((rows.y == k).astype(int), rows.prob[:, k], rows.group) for k in range(3)]
    assert value.item() == pytest.approx(np.mean(each))


def test_the_harmonic_mean_of_zeros_is_zero_and_of_nan_is_nan():
    a, b = torch.tensor([0.0, 0.5, torch.nan]), torch.tensor([0.0, 1.0, 1.0])
    value = harmonic_mean(a, b)
    assert value[0] == 0
    assert value[1].item() == pytest.approx(2 / 3)
    assert value[2].isnan()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("kind", KINDS)
def test_a_cuda_device_gives_the_same_numbers(draw, kind):
    rows = stack_of(draw, n=300)
    on_device = kind(*(t.cuda() for t in rows), 2)
    torch.testing.assert_close(on_device.cpu(), kind(*rows, 2))


@pytest.mark.parametrize("levels", [None, 30, 8, 1])
@pytest.mark.parametrize("seed", range(5))
def test_the_kept_thresholds_are_those_of_roc_curve(draw, as_tensors, seed, levels):
    rows = draw(seed, levels=levels)
    found = rank(*as_tensors(rows), 2)
    by_class = found.count.sum(-2)
    kept = found.ends & ~_collinear(by_class, found.ends)
    fpr, tpr, thresholds = roc_curve(rows.y, rows.score)
    np.testing.assert_array_equal(found.score[kept].numpy(), thresholds)
    rates = (by_class / by_class[..., -1:])[..., kept].numpy()
    np.testing.assert_allclose(rates, [fpr, tpr])


def test_padding_does_not_move_the_kept_thresholds(draw, as_tensors):
    score, y, group, where = as_tensors(draw(0))
    where[40:] = False
    for mask in (where, where.double()):
        found = rank(score, y, group, mask, 2)
        kept = found.ends & ~_collinear(found.count.sum(-2), found.ends)
        _, _, thresholds = roc_curve(y[:40], score[:40])
        assert found.score[kept][:-1].tolist() == thresholds.tolist()
        assert found.score[kept][-1] == -torch.inf  # the place of the padding, with no weight


def test_total_counts_every_cell(draw, as_tensors):
    rows = draw(0)
    total = rank(*as_tensors(rows), 2).total
    for label in (0, 1):
        for g in (0, 1):
            assert total[label, g] == np.sum((rows.y == label) & (rows.group == g))
