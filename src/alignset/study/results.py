"""The table of cells a report reads: what it must hold, and its mean and spread over seeds."""

from __future__ import annotations

import numpy as np
import pandas as pd

from alignset.study.records import IDENTITY

KEY = tuple(name for name in IDENTITY if name != "x_name")
"""What tells one cell from another."""

COLUMNS = (*KEY, "x_name", "status", "reason")
"""What every row says besides its metrics."""


def check_results(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the cells in a fixed order with exact ``x``, or say what is wrong with the table.

    Raises
    ------
    ValueError
        No row at all, a column missing, or one cell twice.
    """
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        raise ValueError(f"the results have no column {', '.join(missing)}; they need {COLUMNS}.")
    if frame.empty:
        raise ValueError("the results hold no cell; run an experiment into the store first.")
    cells = frame.copy()
    cells["x"] = cells["x"].astype(float).round(9)
    cells = cells.sort_values(list(KEY), kind="stable", ignore_index=True)
    twice = cells[cells.duplicated(list(KEY), keep=False)]
    if len(twice):
        first = ", ".join(f"{name} {twice.iloc[0][name]}" for name in KEY)
        raise ValueError(
            f"{len(twice)} rows share their cell with another, first {first}; report one run of "
            f"an experiment at a time, from a store of its own."
        )
    return cells


def done(cells: pd.DataFrame) -> pd.DataFrame:
    """Keep the cells that were computed."""
    return cells[cells["status"] == "done"]


def failed(cells: pd.DataFrame) -> pd.DataFrame:
    """Keep the cells that were not."""
    return cells[cells["status"] != "done"]


def summarise(cells: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Mean, SD and number of seeds of one metric, per method and ``x``.

    The SD is the population's, as the published ones are; it is missing for a single seed.

    Examples
    --------
    >>> cells = pd.DataFrame({"method": "a", "x": 0.1, "seed": [0, 1], "hm": [0.8, 0.9]})
    >>> summarise(cells, "hm").round(3).to_dict("records")
    [{'method': 'a', 'x': 0.1, 'n': 2, 'mean': 0.85, 'sd': 0.05}]
    """
    groups = cells.dropna(subset=metric).groupby(["method", "x"], sort=True)[metric]
    table = groups.agg(n="size", mean="mean", sd=lambda v: float(np.std(v.to_numpy())))
    table["sd"] = table["sd"].where(table["n"] > 1)
    return table.reset_index()
