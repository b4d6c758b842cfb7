"""How good, how even and how calibrated held-out predictions are, measured three ways.

All three look at the same rows: reviewed, and scored by models not trained on them.

* observed: against the observed label; every row counts once. What is seen without reviews.
* reviewed: against the true label; every row counts once.
* corrected: against the true label; every row counts as many rows of the table as it stands for
  (``alignset.model.evaluation``). What the whole table would show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.evaluate import bootstrap
from alignset.evaluate.proportion import wilson
from alignset.model.evaluation import Codes, Evaluation, Floats

THRESHOLDS = np.linspace(0, 1, 101)
BINS = 5
"""Parts of as many rows each that calibration is looked at in."""
MAX_POINTS = 150
"""Corners of a drawn curve; more would not be seen."""

_MISSING = (float("nan"),) * 3


@dataclass(frozen=True, eq=False)
class View:
    """One way to measure: labels to measure against (n,) and how much each row counts (n,)."""

    name: str
    y: Codes
    weight: Floats


def views(kept: Evaluation) -> tuple[View, View, View]:
    """Return the three ways."""
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
    """Measure the model's method three ways.

    Returns
    -------
    DataFrame
        measured, metric, group ("" for all), estimate, low, high: AUROC, AUEOC, HM and
        "calibration" (mean prediction minus share, of the positive class), with 95 % bootstrap
        intervals. NaN where a group lacks a class.
    """
    rows: list[tuple[str, str, str, float, float, float]] = []
    for view in views(kept):
        rows += [(view.name, *row) for row in _overall(kept, view, n_boot, random_state)]
        gaps = _gaps(kept, view, n_boot, np.random.default_rng(random_state))
        rows += [(view.name, "calibration", *row) for row in gaps]
        if len(kept.groups) > 1:
            within = _within(kept, view, n_boot, random_state)
            rows += [(view.name, "AUROC", *row) for row in within]
    return pd.DataFrame(rows, columns=["measured", "metric", "group", "estimate", "low", "high"])


_Numbers = tuple[float, float, float]


def _bootstrap(
    kept: Evaluation, view: View, member: NDArray[np.bool_], names: list[str], n: int, seed: int
) -> list[_Numbers]:
    """Intervals of metrics on some rows; NaN unless every group has every class."""
    score = kept.scores[kept.asked][member]
    y, group = view.y[member], kept.group[member]
    cells = np.zeros((len(kept.groups), len(kept.classes)))
    np.add.at(cells, (group, y), 1)
    here = cells[np.unique(group)] if "aueoc" in names else cells.sum(0)
    if (here == 0).any():
        return [_MISSING] * len(names)
    found = bootstrap(
        y, score[:, 1] if score.shape[1] == 2 else score, group,
        sample_weight=view.weight[member], metrics=names, n_boot=n, random_state=seed,
    )  # fmt: skip
    return [(found[name].estimate, found[name].low, found[name].high) for name in names]


def _overall(
    kept: Evaluation, view: View, n_boot: int, seed: int
) -> Iterator[tuple[str, str, float, float, float]]:
    names, everyone = ["auroc", "aueoc", "hm"], np.ones(len(kept), dtype=bool)
    found = _bootstrap(kept, view, everyone, names, n_boot, seed)
    if np.isnan(found[0][0]):
        found[:1] = _bootstrap(kept, view, everyone, ["auroc"], n_boot, seed)
    for name, numbers in zip(names, found, strict=True):
        yield (name.upper(), "", *numbers)


def _within(
    kept: Evaluation, view: View, n_boot: int, seed: int
) -> Iterator[tuple[str, float, float, float]]:
    for g, name in enumerate(kept.groups):
        yield (name, *_bootstrap(kept, view, kept.group == g, ["auroc"], n_boot, seed)[0])


def _gaps(
    kept: Evaluation, view: View, n_boot: int, rng: np.random.Generator
) -> Iterator[tuple[str, float, float, float]]:
    """Mean prediction minus share of the positive class: of all rows, then of each group."""
    off = kept.scores[kept.asked][:, positive(kept)] - (view.y == positive(kept))
    members = [kept.group == g for g in range(len(kept.groups))]
    drawn = np.empty((n_boot, len(kept)))
    for member in members:
        size = int(member.sum())
        drawn[:, member] = rng.multinomial(size, np.full(size, 1 / size), size=n_boot)
    drawn *= view.weight
    parts = [np.ones(len(kept), dtype=bool), *(members if len(members) > 1 else [])]
    for name, part in zip(["", *kept.groups], parts, strict=False):
        estimate = float(np.average(off[part], weights=view.weight[part]))
        resampled = drawn[:, part] @ off[part] / drawn[:, part].sum(1)
        low, high = np.quantile(resampled, [0.025, 0.975]).tolist()
        yield name, estimate, low, high


def roc_curves(kept: Evaluation) -> pd.DataFrame:
    """Corners of each group's ROC curve: measured, group, fpr, tpr; no group without both."""
    score, parts = kept.scores[kept.asked][:, positive(kept)], []
    for view in views(kept):
        for g, name in enumerate(kept.groups):
            rows = np.flatnonzero(kept.group == g)
            hit = view.y[rows] == positive(kept)
            if hit.all() or not hit.any():
                continue
            rates = _roc(score[rows], hit, view.weight[rows])
            curve = pd.DataFrame(rates, columns=["fpr", "tpr"])
            curve.insert(0, "group", name)
            curve.insert(0, "measured", view.name)
            parts.append(curve)
    empty = pd.DataFrame({"measured": [], "group": [], "fpr": [], "tpr": []})
    return pd.concat(parts, ignore_index=True) if parts else empty


def _roc(score: Floats, hit: NDArray[np.bool_], weight: Floats) -> Floats:
    order = np.argsort(-score, kind="stable")
    ends = np.append(np.diff(score[order]) != 0, True)
    counts = np.stack([weight * ~hit, weight * hit], axis=1)[order].cumsum(0)
    rates = np.vstack([np.zeros((1, 2)), (counts / counts[-1])[ends]])
    kept = np.unique(np.linspace(0, len(rates) - 1, MAX_POINTS).round().astype(int))
    return np.asarray(rates[kept] if len(rates) > MAX_POINTS else rates)


def odds_curves(kept: Evaluation) -> pd.DataFrame:
    """EO along thresholds: measured, threshold, eo; without the ways in which a cell is empty."""
    score = kept.scores[kept.asked][:, positive(kept)]
    chosen = score >= THRESHOLDS[:, None]  # (T, n)
    parts = []
    for view in views(kept):
        gap = np.zeros(len(THRESHOLDS))
        for hit in (view.y == positive(kept), view.y != positive(kept)):
            weight = np.stack(
                [view.weight * hit * (kept.group == g) for g in range(len(kept.groups))]
            )
            with np.errstate(invalid="ignore"):
                gap += np.ptp(chosen @ weight.T / weight.sum(1), axis=1) / 2
        if not np.isnan(gap).any():
            eo = {"measured": view.name, "threshold": THRESHOLDS, "eo": 1 - gap}
            parts.append(pd.DataFrame(eo))
    empty = pd.DataFrame({"measured": [], "threshold": [], "eo": []})
    return pd.concat(parts, ignore_index=True) if parts else empty


def calibration_curves(kept: Evaluation) -> pd.DataFrame:
    """Predicted and found share in parts of each group, with Wilson intervals at Kish's size.

    Returns
    -------
    DataFrame
        measured, group, predicted, found, low, high, rows.
    """
    score, rows = kept.scores[kept.asked][:, positive(kept)], []
    for view in views(kept):
        hit = view.y == positive(kept)
        for g, name in enumerate(kept.groups):
            member = np.flatnonzero(kept.group == g)
            member = member[np.argsort(score[member], kind="stable")]
            for part in np.array_split(member, BINS):
                if not len(part):
                    continue
                weight = view.weight[part]
                found = float(np.average(hit[part], weights=weight))
                low, high = wilson(found, float(weight.sum() ** 2 / (weight**2).sum()))
                told = float(np.average(score[part], weights=weight))
                rows.append((view.name, name, told, found, float(low), float(high), len(part)))
    names = ["measured", "group", "predicted", "found", "low", "high", "rows"]
    return pd.DataFrame(rows, columns=names)
