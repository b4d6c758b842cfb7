"""The table of cells that a report reads: checked, summarised over seeds and compared in pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from alignset.study.records import IDENTITY

ALPHA = 0.05
"""Level of every test, after Holm's correction."""

KEY = tuple(name for name in IDENTITY if name != "x_name")
"""The columns that distinguish one cell from another."""

COLUMNS = (*KEY, "x_name", "status", "reason")
"""The columns that every row has besides its metrics."""


def check_results(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the cells in a fixed order with exact ``x``, or say what is wrong with the table."""
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        raise ValueError(f"the results have no column {', '.join(missing)}; they need {COLUMNS}.")
    if frame.empty:
        raise ValueError("the results hold no cells; run an experiment into the store first.")
    cells = frame.copy()
    cells["x"] = cells["x"].astype(float).round(9)
    cells = cells.sort_values(list(KEY), kind="stable", ignore_index=True)
    twice = cells[cells.duplicated(list(KEY), keep=False)]
    if len(twice):
        first = ", ".join(f"{name} {twice.iloc[0][name]}" for name in KEY)
        raise ValueError(
            f"{len(twice)} rows share their cell with another row, first {first}; report one run "
            "of an experiment at a time, from its own store."
        )
    return cells


def done(cells: pd.DataFrame) -> pd.DataFrame:
    """Keep the cells that were computed."""
    return cells[cells["status"] == "done"]


def failed(cells: pd.DataFrame) -> pd.DataFrame:
    """Keep the cells that failed."""
    return cells[cells["status"] != "done"]


def summarise(cells: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Mean, SD and number of seeds of one metric, per method and ``x``.

    The SD is that of the population, like the published SDs; it is missing for a single seed.
    """
    groups = cells.dropna(subset=metric).groupby(["method", "x"], sort=True)[metric]
    table = groups.agg(n="size", mean="mean", sd=lambda v: float(np.std(v.to_numpy())))
    table["sd"] = table["sd"].where(table["n"] > 1)
    return table.reset_index()


@dataclass(frozen=True)
class Paired:
    """Paired differences over seeds: mean, 95 % interval, two tests.

    ``p`` is from the paired t test. ``p_wilcoxon``, from the signed-rank test, is only a check and
    decides nothing: with ten seeds it cannot fall below 2/1024, so after a correction for thirty
    comparisons it could never reject.
    """

    n: int
    mean: float
    low: float
    high: float
    p: float
    p_wilcoxon: float

    def p_above(self, bound: float) -> float:
        """One-sided p of the paired t test that the mean lies above ``bound``."""
        if self.n < 2:
            return float("nan")
        error = (self.high - self.mean) / stats.t.ppf(0.975, self.n - 1)
        if error == 0:
            return 0.0 if self.mean > bound else 1.0
        return float(stats.t.sf((self.mean - bound) / error, self.n - 1))

    def p_below(self, bound: float) -> float:
        """One-sided p of the paired t test that the mean lies below ``bound``."""
        return 1 - self.p_above(bound)


def paired(differences: Iterable[float]) -> Paired:
    """Describe and test differences, one per seed; missing ones are left out."""
    d = np.asarray(list(differences), dtype=float)
    d = d[np.isfinite(d)]
    if len(d) < 2:
        mean = float(d[0]) if len(d) else float("nan")
        return Paired(len(d), mean, *[float("nan")] * 4)
    mean, error = float(d.mean()), float(d.std(ddof=1) / np.sqrt(len(d)))
    reach = float(stats.t.ppf(0.975, len(d) - 1)) * error
    if error == 0:
        p = 1.0 if mean == 0 else 0.0
    else:
        p = float(2 * stats.t.sf(abs(mean) / error, len(d) - 1))
    signed_rank = float(stats.wilcoxon(d).pvalue) if np.any(d != 0) else 1.0
    return Paired(len(d), mean, mean - reach, mean + reach, p, signed_rank)


def holm(p: Sequence[float]) -> npt.NDArray[np.float64]:
    """Adjust p-values for their number by Holm's method; missing ones stay and do not count."""
    values = np.asarray(p, dtype=float)
    adjusted = np.full(len(values), np.nan)
    known = np.flatnonzero(np.isfinite(values))
    order = known[np.argsort(values[known], kind="stable")]
    scaled = values[order] * (len(order) - np.arange(len(order)))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def compare(cells: pd.DataFrame, method: str, metric: str) -> pd.DataFrame:
    """Test a method against every other at every ``x``, Holm-corrected over all of them.

    One row per rival and ``x``: n, difference (method minus rival), low, high, p, p_holm,
    p_wilcoxon.
    """
    wide = cells.pivot(index=["x", "seed"], columns="method", values=metric)
    table = pd.DataFrame(
        {"rival": rival, "x": x, **vars(paired(block[method] - block[rival]))}
        for rival in sorted(set(wide.columns) - {method})
        for x, block in wide.groupby(level="x")
    ).rename(columns={"mean": "difference"})
    table.insert(7, "p_holm", holm(table["p"].tolist()))
    return table[table["n"] > 0].reset_index(drop=True)
