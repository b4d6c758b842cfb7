"""Slow, obvious metrics of one model, written from their definitions and nothing else."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from sklearn.metrics import roc_curve


def auroc(y, score, weight=None):
    """Share of (positive, negative) pairs in the right order, a tie counting one half."""
    weight = np.ones(len(y)) if weight is None else weight
    won = total = 0.0
    for i in np.flatnonzero(y == 1):
        for j in np.flatnonzero(y == 0):
            pair = weight[i] * weight[j]
            total += pair
            won += pair * ((score[i] > score[j]) + 0.5 * (score[i] == score[j]))
    return won / total


def eo(y, score, group, tau):
    """EO(tau) from the two rates of every group."""
    rates = {0: [], 1: []}
    for g in np.unique(group):
        for label in (0, 1):
            cell = score[(group == g) & (y == label)]
            rates[label].append(np.mean(cell >= tau))
    return 1 - sum(max(r) - min(r) for r in rates.values()) / 2


def aueoc_tau(y, score, group):
    """Midpoint rule between neighbouring scores, exact for a step function."""
    edges = np.unique(np.concatenate([[0.0, 1.0], score]))
    pieces = pairwise(edges)
    return sum((b - a) * eo(y, score, group, (a + b) / 2) for a, b in pieces)


def aueoc_fpr(y, score, group):
    """Trapezoid rule over all ROC points, the start included."""
    thresholds = [np.inf, *np.unique(score)[::-1]]
    fpr = [np.mean(score[y == 0] >= t) for t in thresholds]
    return np.trapezoid([eo(y, score, group, t) for t in thresholds], fpr)


def aueoc_released(y, score, group):
    """The released code's steps: sklearn's thresholds, PPV and 1 - PPV of two groups."""
    fpr, _, thresholds = roc_curve(y, score)
    eo_kept, fpr_kept = [], []
    for x, threshold in zip(fpr, thresholds, strict=True):
        predicted = score >= threshold
        if not all(predicted[group == g].any() for g in (0, 1)):
            continue
        ppv = [np.mean(y[predicted & (group == g)] == 1) for g in (0, 1)]
        wrong = [np.mean(y[predicted & (group == g)] == 0) for g in (0, 1)]
        eo_kept.append((2 - abs(ppv[0] - ppv[1]) - abs(wrong[0] - wrong[1])) / 2)
        fpr_kept.append(x)
    return np.trapezoid(eo_kept, fpr_kept)
