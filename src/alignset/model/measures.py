"""How good, how even and how well calibrated held-out predictions are, measured in three ways.

All rows were scored by models that were not trained on them.

* observed: reviewed rows against their observed label. What one sees without a review.
* reviewed: reviewed rows against their true label; every row counts once.
* corrected: what the population of the table would show. Scores are estimated from reviewed rows
  and, to be more precise, from the observed labels of the others (``alignset.evaluate.estimate``);
  ROC and equalized odds count a reviewed row as often as the rows it stands for.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from alignset.evaluate import EmptyCellWarning, Estimate, bootstrap, equalized_odds, group_curves
from alignset.evaluate.calibration import equal_parts
from alignset.evaluate.intervals import bootstrap_mean
from alignset.evaluate.proportion import kish_size, wilson
from alignset.labels import Codes
from alignset.model.decisions import rarest
from alignset.model.estimating import HeldOutRows
from alignset.model.evaluation import Evaluation
from alignset.tables.targets import Floats

THRESHOLDS = np.linspace(0, 1, 101)
BINS = 5
"""Number of equal parts of the rows in which calibration is measured."""
EVEN = ("AUEOC", "HM")
"""Measures that compare groups."""
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
    """Code of the class that curves and calibration are about, against the rest: the rarest."""
    return rarest(kept)


def measure(kept: Evaluation, *, n_boot: int = 1000, random_state: int) -> pd.DataFrame:
    """Measure the model's method in three ways.

    Returns
    -------
    DataFrame
        measured, metric, group ("" for all), estimate, low, high, worth: AUROC, AUEOC, HM and
        "calibration" (mean prediction minus share, of the positive class), with 95 % intervals,
        from resampling or, corrected, from the estimator. NaN where a group lacks a class; AUEOC
        and HM, which compare groups, also where there is only one.
    """
    rows: list[tuple[Any, ...]] = []
    options: dict[str, Any] = {"n_boot": n_boot, "random_state": random_state}
    for view in views(kept):
        how = _corrected if view.name == "corrected" else _resampled
        rows += how(kept, view, options)
    numbers = ["estimate", "low", "high", "worth"]
    found = pd.DataFrame(rows, columns=["measured", "metric", "group", *numbers])
    if len(kept.groups) < 2:
        found.loc[found["metric"].isin(EVEN), numbers] = np.nan
    return found


def _resampled(kept: Evaluation, view: View, options: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Measure the reviewed rows alone; intervals by bootstrap."""
    score, of = kept.scores[kept.asked], kept.score(kept.asked)
    parts = [kept.group == g for g in range(len(kept.groups))] if len(kept.groups) > 1 else []
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
    shown = ["", *kept.groups][: 1 + len(parts)]
    rows = [(name.upper(), "", found) for name, found in overall.items()]
    rows += [("calibration", *row) for row in zip(shown, gaps, strict=False)]
    rows += [("AUROC", *row) for row in zip(kept.groups, within, strict=False)]
    sizes = {"": len(kept)} | dict(zip(kept.groups, np.bincount(kept.group), strict=False))
    return [
        (view.name, metric, group, f.estimate, f.low, f.high, float(sizes[group]))
        for metric, group, f in rows
    ]


def _corrected(kept: Evaluation, view: View, options: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Estimate each measure; how even many classes are has only been resampled."""
    several, found = len(kept.groups) > 1, []
    many = len(kept.classes) > 2
    for metric in ("auroc", "calibration") if many else ("auroc", "aueoc", "hm", "calibration"):
        one = _estimated(kept, metric, options["random_state"])
        name = metric if metric == "calibration" else metric.upper()
        parts = {"": one, **(one.by_group if several else {})}
        found += [
            ("corrected", name, group, each.estimate, each.low, each.high, each.worth)
            for group, each in parts.items()
        ]
    if many:
        even = [row for row in _resampled(kept, view, options) if row[1] in EVEN]
        found += even
    return found


def _estimated(kept: Evaluation, metric: str, random_state: int) -> Estimate:
    if metric == "auroc":
        return measure_auroc(kept, random_state=random_state)
    return HeldOutRows(kept).estimate(
        metric, kept.asked, groups=len(kept.groups) > 1 or metric in ("aueoc", "hm"),
        of_class=positive(kept) if metric == "calibration" else None, random_state=random_state,
    )  # fmt: skip


def measure_auroc(kept: Evaluation, *, random_state: int) -> Estimate:
    """Estimate the AUROC of the model's method, within groups, too.

    Overall it is what a comparison of models says: groups, of which it knows nothing, play no part.
    """
    rows = HeldOutRows(kept)
    options: dict[str, Any] = {"random_state": random_state}
    whole = rows.estimate("auroc", kept.asked, **options)
    if len(kept.groups) < 2:
        return whole
    return whole.with_groups(rows.estimate("auroc", kept.asked, groups=True, **options).by_group)


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
    """EO along thresholds: measured, threshold, eo; ways with an empty cell are left out.

    Of one group there is none.
    """
    parts = [pd.DataFrame({"measured": [], "threshold": [], "eo": []})]
    for view, rows in _binary(kept) if len(kept.groups) > 1 else ():
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


def calibration_curves(kept: Evaluation, *, random_state: int = 0) -> pd.DataFrame:
    """Predicted and actual shares in parts of each group.

    Corrected shares are estimates from all rows of a part, reviewed or not; the others have Wilson
    intervals.

    Returns
    -------
    DataFrame
        measured, group, predicted, found, low, high, rows.
    """
    rows: list[tuple[Any, ...]] = []
    for view, (hit, score, group) in _binary(kept):
        if view.name == "corrected":
            rows += _corrected_parts(kept, random_state)
            continue
        for g, name in enumerate(kept.groups):
            member = group == g
            for part in equal_parts(score[member], np.ones(member.sum()), BINS):
                told, found = (float(np.average(v[member], weights=part)) for v in (score, hit))
                low, high = (float(v) for v in wilson(found, kish_size(part)))
                rows.append((view.name, name, told, found, low, high, round(part.sum())))
    names = ["measured", "group", "predicted", "found", "low", "high", "rows"]
    return pd.DataFrame(rows, columns=names)


def _corrected_parts(kept: Evaluation, random_state: int) -> list[tuple[Any, ...]]:
    """Estimate the share of the positive class in five parts of each group, by rank of the score.

    Parts without a reviewed row are left out.
    """
    rows, k = HeldOutRows(kept), positive(kept)
    group, score = rows.group, rows.score(kept.asked)[:, k]
    part = np.zeros(len(group), dtype=np.int64)
    for g in range(len(kept.groups)):
        member = np.flatnonzero(group == g)
        order = member[np.argsort(score[member], kind="stable")]
        part[order] = BINS * np.arange(len(order)) // max(len(order), 1)
    cell = BINS * group + part
    found = rows.estimate(
        "prevalence", kept.asked, of_class=k, cells=cell, random_state=random_state
    ).by_group
    told = []
    for code in np.unique(cell).tolist():
        one, member = found[code], cell == code
        if not math.isnan(one.estimate):
            name, said = kept.groups[code // BINS], float(score[member].mean())
            numbers = (one.estimate, one.low, one.high, int(member.sum()))
            told.append(("corrected", name, said, *numbers))
    return told
