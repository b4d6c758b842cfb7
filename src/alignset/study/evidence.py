"""What a claim may look at: results by seed, published means, and contrasts drawn from both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from alignset.study.results import COLUMNS, METRICS, done


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


@dataclass(eq=False)
class Evidence:
    """The computed cells of one protocol, and what was published.

    Parameters
    ----------
    cells : DataFrame
        Checked results of one protocol.
    published : DataFrame
        experiment, dataset, method, metric, x, mean; metric is a column of the results.
    columns : mapping
        Metric a claim speaks of -> column that this protocol measures it by.
    theirs : mapping
        Metric a claim speaks of -> column that the published values measure it by.
    """

    cells: pd.DataFrame
    published: pd.DataFrame
    columns: Mapping[str, str]
    theirs: Mapping[str, str]

    def __post_init__(self) -> None:
        self.cells = done(self.cells)
        self._missing: list[str] = []
        self._by_seed: dict[tuple[str, ...], pd.DataFrame] = {}
        self._means: dict[tuple[str, ...], pd.Series[float]] = {}

    @classmethod
    def of(
        cls,
        cells: pd.DataFrame | None,
        published: pd.DataFrame | None = None,
        columns: Mapping[str, str] | None = None,
        theirs: Mapping[str, str] | None = None,
    ) -> Evidence:
        """Make evidence, with nothing where nothing is given."""
        none = ["experiment", "dataset", "method", "metric", "x", "mean", "sd"]
        return cls(
            pd.DataFrame(columns=[*COLUMNS, *METRICS]) if cells is None else cells,
            pd.DataFrame(columns=none) if published is None else published,
            columns or {},
            theirs or {},
        )

    def by_seed(
        self, experiment: str, dataset: str, method: str, metric: str = "hm"
    ) -> pd.DataFrame:
        """Return one row per seed and one column per ``x``; a failed cell is missing."""
        key = (experiment, dataset, method, metric)
        if key not in self._by_seed:
            here = _rows(self.cells, *key[:3])
            table = here.pivot(index="seed", columns="x", values=self.columns.get(metric, metric))
            self._by_seed[key] = table.astype(float)
        return self._by_seed[key]

    def published_means(
        self, experiment: str, dataset: str, method: str, metric: str = "hm"
    ) -> pd.Series[float]:
        """Return the published means by ``x``; empty where nothing was published."""
        key = (experiment, dataset, method, metric)
        if key not in self._means:
            here = _rows(self.published, *key[:3])
            here = here[here["metric"] == self.theirs.get(metric, metric)]
            self._means[key] = here.set_index("x")["mean"].astype(float)
        return self._means[key]

    def note_missing(self, experiment: str, dataset: str, method: str) -> None:
        """Remember that something a claim asks for was not run."""
        ran = (self.cells["experiment"] == experiment) & (self.cells["dataset"] == dataset)
        what = f"{experiment.replace('_', ' ')} on {dataset}"
        if ran.any():
            what += f" with {method}"
        if what not in self._missing:
            self._missing.append(what)

    def take_missing(self) -> list[str]:
        """Return what was missing since this was last asked."""
        missing, self._missing = self._missing, []
        return missing


def _rows(table: pd.DataFrame, experiment: str, dataset: str, method: str) -> pd.DataFrame:
    return table[
        (table["experiment"] == experiment)
        & (table["dataset"] == dataset)
        & (table["method"] == method)
    ]
