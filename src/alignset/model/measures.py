"""How good, how even and how well calibrated held-out predictions are, measured in three ways.

All three look at the same rows: reviewed, and scored by models not trained on them.

* observed: against the observed label; every row counts once. What one sees without a review.
* reviewed: against the true label; every row counts once.
* corrected: against the true label; every row counts as often as the rows of the table it stands
  for (``alignset.model.evaluation``). What the whole table would show.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from alignset.evaluate import EmptyCellWarning, Interval, bootstrap, equalized_odds, group_curves
from alignset.evaluate.calibration import equal_parts
from alignset.evaluate.intervals import bootstrap_mean
from alignset.evaluate.proportion import kish_size, wilson
from alignset.labels import Codes
from alignset.model.evaluation import Evaluation
from alignset.tables.targets import Floats

THRESHOLDS = np.linspace(0, 1, 101)
BINS = 5
"""Number of equal parts of the rows in which calibration is measured."""
MAX_POINTS = 150
"""Corners of a drawn curve; nobody would see more."""


@dataclass(frozen=True, eq=False)
class View:
    """One way to measure: labels to measure against (n,) and how much each row counts (n,)."""

    name: str
    y: Codes
    weight: Floats


def views(kept: Evaluation) -> tuple[View, View, View]:
    """Return the three ways to measure."""
    once = np.ones(len(kept))
    return (
        View("observed", kept.observed, once),
        View("reviewed", kept.true, once),
        View("corrected", kept.true, kept.weight),
    )


def positive(kept: Evaluation) -> int:
    """Code of the class that curves and calibration are about, against the rest: the last one."""
    return len(kept.classes) - 1


def measure(kept: Evaluation, *, n_boot: int = 1000, random_state: int) -> pd.DataFrame:
    """Measure the model's method in three ways.

    Returns
    -------
    DataFrame
        measured, metric, group ("" for all), estimate, low, high: AUROC, AUEOC, HM and
        "calibration" (mean prediction minus share, of the positive class), with 95 % bootstrap
        intervals. NaN where a group lacks a class.
    """
    rows: list[tuple[str, str, str, Interval]] = []
    options: dict[str, Any] = {"n_boot": n_boot, "random_state": random_state}
    score, of = kept.scores[kept.asked], kept.score(kept.asked)
    parts = [kept.group == g for g in range(len(kept.groups))] if len(kept.groups) > 1 else []
    for view in views(kept):
        off = score[:, positive(kept)] - (view.y == positive(kept))
        gaps = bootstrap_mean(off, kept.group, sample_weight=view.weight, **options)
        with warnings.catch_warnings(action="ignore", category=EmptyCellWarning):  # NaN says it
            overall = bootstrap(view.y, of, kept.group, sample_weight=view.weight, **options)
            within = [
                bootstrap(
                    view.y[part], of[part], kept.group[part], sample_weight=view.weight[part],
                    metrics=["auroc"], **options,
                )["auroc"]
                for part in parts
            ]  # fmt: skip
        rows += [(view.name, name.upper(), "", found) for name, found in overall.items()]
        shown = ["", *kept.groups][: 1 + len(parts)]
        rows += [(view.name, "calibration", *row) for row in zip(shown, gaps, strict=False)]
        rows += [(view.name, "AUROC", *row) for row in zip(kept.groups, within, strict=False)]
    flat = [(*row, found.estimate, found.low, found.high) for *row, found in rows]
    return pd.DataFrame(flat, columns=["measured", "metric", "group", "estimate", "low", "high"])


def roc_curves(kept: Evaluation) -> pd.DataFrame:
    """Corners of each group's ROC curve: measured, group, fpr, tpr; groups need both classes."""
    parts = [pd.DataFrame({"measured": [], "group": [], "fpr": [], "tpr": []})]
    for view, rows in _binary(kept):
        with warnings.catch_warnings(action="ignore", category=EmptyCellWarning):
            curves = group_curves(*rows, sample_weight=view.weight)
        for name, fpr, tpr in zip(kept.groups, curves.fpr, curves.tpr, strict=True):
            if np.isnan([fpr, tpr]).any():
                continue
            moves = np.append(True, (np.diff(fpr) > 0) | (np.diff(tpr) > 0))
            places = np.flatnonzero(moves)
            if len(places) > MAX_POINTS:
                places = places[np.linspace(0, len(places) - 1, MAX_POINTS).round().astype(int)]
            curve = {"measured": view.name, "group": name, "fpr": fpr[places], "tpr": tpr[places]}
            parts.append(pd.DataFrame(curve))
    return pd.concat(parts[1:] or parts, ignore_index=True)


def odds_curves(kept: Evaluation) -> pd.DataFrame:
    """EO along thresholds: measured, threshold, eo; ways with an empty cell are left out."""
    parts = [pd.DataFrame({"measured": [], "threshold": [], "eo": []})]
    for view, rows in _binary(kept):
        with warnings.catch_warnings(action="ignore", category=EmptyCellWarning):
            eo = equalized_odds(*rows, sample_weight=view.weight).at(THRESHOLDS)
        if not np.isnan(eo).any():
            curve = {"measured": view.name, "threshold": THRESHOLDS, "eo": eo}
            parts.append(pd.DataFrame(curve))
    return pd.concat(parts[1:] or parts, ignore_index=True)


def _binary(kept: Evaluation) -> list[tuple[View, tuple[Codes, Floats, Codes]]]:
    """Every way to measure, with its rows: whether they are positive, their scores and groups."""
    score = kept.scores[kept.asked][:, positive(kept)]
    hits = [(view, (view.y == positive(kept)).astype(np.int64)) for view in views(kept)]
    return [(view, (hit, score, kept.group)) for view, hit in hits]


def calibration_curves(kept: Evaluation) -> pd.DataFrame:
    """Predicted and actual shares in parts of each group, with Wilson intervals at Kish's size.

    Returns
    -------
    DataFrame
        measured, group, predicted, found, low, high, rows.
    """
    rows = []
    for view, (hit, score, group) in _binary(kept):
        for g, name in enumerate(kept.groups):
            member = group == g
            for part in equal_parts(score[member], np.ones(member.sum()), BINS):
                weight = part * view.weight[member]
                told, found = (float(np.average(v[member], weights=weight)) for v in (score, hit))
                low, high = (float(v) for v in wilson(found, kish_size(weight)))
                rows.append((view.name, name, told, found, low, high, round(part.sum())))
    names = ["measured", "group", "predicted", "found", "low", "high", "rows"]
    return pd.DataFrame(rows, columns=names)
