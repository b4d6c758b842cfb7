"""What a claim may look at: results by seed, published means, and contrasts drawn from both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from alignset.study.results import done

PLACE = ["experiment", "dataset", "method"]


@dataclass(frozen=True, eq=False)
class Contrast:
    """A quantity that a claim is about: one value per seed, and its published counterpart.

    Parameters
    ----------
    name : str
        What is contrasted: ``over Transition``, ``at 4 %``.
    values : Series
        One per seed.
    theirs : float, optional
        The same from the published means; missing where nothing was published.
    """

    name: str
    values: pd.Series[float]
    theirs: float = float("nan")


class Evidence:
    """The computed cells of one protocol, and what was published; nothing where nothing is given.

    Parameters
    ----------
    cells : DataFrame, optional
        Checked results of one protocol.
    published : DataFrame, optional
        experiment, dataset, method, metric, x, mean; metric is a column of the results.
    columns : mapping, optional
        Metric a claim speaks of -> column that this protocol measures it by.
    theirs : mapping, optional
        Metric a claim speaks of -> column that the published values measure it by.
    """

    def __init__(
        self,
        cells: pd.DataFrame | None = None,
        published: pd.DataFrame | None = None,
        columns: Mapping[str, str] | None = None,
        theirs: Mapping[str, str] | None = None,
    ) -> None:
        self.columns, self.theirs = columns or {}, theirs or {}
        self._cells: dict[Any, pd.DataFrame] = {}
        self._means: dict[Any, pd.Series[float]] = {}
        if cells is not None:
            self._cells = dict(iter(done(cells).groupby(PLACE)))
        if published is not None:
            told = published.set_index("x").groupby([*PLACE, "metric"])["mean"]
            self._means = dict(iter(told))
        self._missing: list[str] = []

    def by_seed(
        self, experiment: str, dataset: str, method: str, metric: str = "hm"
    ) -> pd.DataFrame:
        """Return one row per seed and one column per ``x``; a failed cell is missing."""
        here = self._cells.get((experiment, dataset, method))
        if here is None:
            return pd.DataFrame()
        values = self.columns.get(metric, metric)
        return here.pivot(index="seed", columns="x", values=values).astype(float)

    def published_means(
        self, experiment: str, dataset: str, method: str, metric: str = "hm"
    ) -> pd.Series[float]:
        """Return the published means by ``x``; empty where nothing was published."""
        key = (experiment, dataset, method, self.theirs.get(metric, metric))
        return self._means.get(key, pd.Series(dtype=float))

    def note_missing(self, experiment: str, dataset: str, method: str) -> None:
        """Remember that something a claim asks for was not run."""
        what = f"{experiment.replace('_', ' ')} on {dataset}"
        if any(place[:2] == (experiment, dataset) for place in self._cells):
            what += f" with {method}"
        if what not in self._missing:
            self._missing.append(what)

    def take_missing(self) -> list[str]:
        """Return what was missing since this was last asked."""
        missing, self._missing = self._missing, []
        return missing
