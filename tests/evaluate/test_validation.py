from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss

from alignset.evaluate import ranked
from alignset.evaluate.ranked import area_under_roc, harmonic_mean, one_vs_rest, rank
from alignset.evaluate.validation import HarmonicMean, LogLikelihood

KINDS = [ranked.odds_over_threshold, ranked.odds_over_fpr, ranked.predictive_values_over_fpr]


def problem(draw, seed=0, n_classes=2, n_models=4):
    rows = draw(seed, n_classes=n_classes)
    noise = np.random.default_rng(seed).dirichlet(np.ones(n_classes), (n_models, len(rows.y)))
    prob = torch.tensor(0.5 * rows.prob + 0.5 * noise)
    y, group = torch.tensor(rows.y), torch.tensor(rows.group)
    return prob, y, group, y >= 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_the_harmonic_mean_where_every_cell_is_filled(draw, kind, n_classes):
    prob, y, group, where = problem(draw, n_classes=n_classes)
    rows = rank(*one_vs_rest(prob, y, group, where), 2)
    expected = harmonic_mean(area_under_roc(rows).mean(-1), kind(rows).mean(-1))
    torch.testing.assert_close(HarmonicMean(kind)(prob, y, group, where, 2), expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_empty_cell_leaves_auroc_and_an_empty_class_likelihood(draw, n_classes):
    prob, y, group, where = problem(draw, n_classes=n_classes)
    no_cell = where & ~((y == 1) & (group == 0))
    no_class = where & (y != 1)
    masks = torch.stack([where, no_cell, no_class]).unsqueeze(1)  # (P, 1, n)
    value = HarmonicMean()(prob.unsqueeze(0), y, group, masks, 2)
    assert value.shape == (3, 4)
    torch.testing.assert_close(value[0], HarmonicMean()(prob, y, group, where, 2))
    rows = rank(*one_vs_rest(prob, y, group, no_cell), 2)
    torch.testing.assert_close(value[1], area_under_roc(rows).mean(-1))
    torch.testing.assert_close(value[2], LogLikelihood()(prob, y, group, no_class, 2))
    assert value.isfinite().all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_it_is_finite_for_any_row_and_any_probability(kind, n_rows):
    prob = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])[:n_rows]
    for y in torch.cartesian_prod(*[torch.arange(2)] * n_rows).view(-1, n_rows):
        for group in torch.cartesian_prod(*[torch.arange(2)] * n_rows).view(-1, n_rows):
            assert HarmonicMean(kind)(prob, y, group, y >= 0, 2).isfinite()


def test_a_diverged_model_gets_nan_under_every_fallback(draw):
    prob, y, group, where = problem(draw)
    prob[1] = torch.nan
    for mask in (where, where & (group == 0), where & (y == 0)):
        value = HarmonicMean()(prob, y, group, mask, 2)
        assert value.isnan().tolist() == [False, True, False, False]


def test_unreviewed_rows_outside_where_do_not_count(draw):
    prob, y, group, where = problem(draw)
    expected = HarmonicMean()(prob[:, :50], y[:50], group[:50], where[:50], 2)
    y[50:], where[50:] = -1, False
    torch.testing.assert_close(HarmonicMean()(prob, y, group, where, 2), expected)
    torch.testing.assert_close(HarmonicMean()(prob, y, group, where.double(), 2), expected)


def test_the_likelihood_is_sklearns_log_loss(draw):
    prob, y, group, _ = problem(draw, n_classes=3)
    weight = torch.rand(len(y), generator=torch.Generator().manual_seed(0)).double()
    expected = log_loss(y, prob[0], sample_weight=weight.numpy())
    found = LogLikelihood()(prob, y, group, weight, 2)
    assert -found[0].item() == pytest.approx(expected)


def test_it_is_a_value_that_compares_and_pickles():
    assert HarmonicMean() == pickle.loads(pickle.dumps(HarmonicMean()))
    assert HarmonicMean() != HarmonicMean(ranked.odds_over_fpr)
