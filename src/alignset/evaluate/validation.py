"""Scores for early stopping and random search, defined for every validation set with a row."""

from __future__ import annotations

from dataclasses import dataclass

from alignset.evaluate.arrays import Array, namespace, take
from alignset.evaluate.ranked import (
    RankedMetric,
    area_under_roc,
    harmonic_mean,
    odds_over_threshold,
    one_vs_rest,
    rank,
)


@dataclass(frozen=True)
class HarmonicMean:
    """Harmonic mean of AUROC and AUEOC, or what is left of it if a cell is empty; higher is better.

    Only the labels decide which, so every model on a problem is judged alike: the harmonic mean;
    only AUROC if some group x class cell is empty; the mean log likelihood if a whole class is
    empty. NaN only for NaN probabilities or if there is no row at all.

    ``aueoc`` is ``odds_over_threshold`` (the paper's), ``odds_over_fpr`` (rank-based) or
    ``predictive_values_over_fpr`` (released code) of ``alignset.evaluate.ranked``.
    """

    aueoc: RankedMetric = odds_over_threshold

    def __call__(self, prob: Array, y: Array, group: Array, where: Array, n_groups: int) -> Array:
        """Score ``prob`` (..., n, K) against ``y``, ``group``, ``where`` (..., n) -> (...)."""
        ranked = rank(*one_vs_rest(prob, y, group, where), n_groups)
        area = area_under_roc(ranked).mean(-1)
        best = harmonic_mean(area, self.aueoc(ranked).mean(-1))
        filled = ranked.total > 0  # (..., K, 2, G)
        every_cell = filled.all(-1).all(-1).all(-1)
        every_class = filled.any(-1).all(-1).all(-1)
        likelihood = LogLikelihood()(prob, y, group, where, n_groups)
        xp = namespace(prob)
        fallback = xp.where(every_class, area, likelihood)
        return xp.where(every_cell, best, fallback)


@dataclass(frozen=True)
class LogLikelihood:
    """Mean log probability of the true label, which varies less on few rows than a rank does.

    Finite even for probability 0, which counts as the smallest positive number.
    """

    def __call__(self, prob: Array, y: Array, group: Array, where: Array, n_groups: int) -> Array:
        """Score ``prob`` (..., n, K) against ``y`` and ``where`` (..., n) -> (...)."""
        del group, n_groups
        xp = namespace(prob)
        label = xp.broadcast_to(y.clip(0)[..., None], (*prob.shape[:-1], 1))
        log_p = xp.log(take(prob, label)[..., 0].clip(xp.finfo(prob.dtype).tiny))
        weight = xp.asarray(where, dtype=prob.dtype)
        return xp.where(weight > 0, log_p * weight, 0).sum(-1) / weight.sum(-1)
