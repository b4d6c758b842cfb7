from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_curve

from alignset.evaluate.ranked import _collinear, rank


@pytest.mark.parametrize("levels", [None, 30, 8, 1])
@pytest.mark.parametrize("seed", range(5))
def test_the_kept_thresholds_are_those_of_roc_curve(draw, as_tensors, seed, levels):
    rows = draw(seed, levels=levels)
    ranked = rank(*as_tensors(rows), 2)
    by_class = ranked.count.sum(-2)
    kept = ranked.ends & ~_collinear(by_class, ranked.ends)
    fpr, tpr, thresholds = roc_curve(rows.y, rows.score)
    np.testing.assert_array_equal(ranked.score[kept].numpy(), thresholds)
    rates = (by_class / by_class[..., -1:])[..., kept].numpy()
    np.testing.assert_allclose(rates, [fpr, tpr])


def test_padding_does_not_move_the_kept_thresholds(draw, as_tensors):
    score, y, group, where = as_tensors(draw(0))
    where[40:] = False
    for mask in (where, where.double()):
        ranked = rank(score, y, group, mask, 2)
        kept = ranked.ends & ~_collinear(ranked.count.sum(-2), ranked.ends)
        _, _, thresholds = roc_curve(y[:40], score[:40])
        assert ranked.score[kept][:-1].tolist() == thresholds.tolist()
        assert ranked.score[kept][-1] == -torch.inf  # the place of the padding, with no weight


def test_total_counts_every_cell(draw, as_tensors):
    rows = draw(0)
    total = rank(*as_tensors(rows), 2).total
    for label in (0, 1):
        for g in (0, 1):
            assert total[label, g] == np.sum((rows.y == label) & (rows.group == g))
