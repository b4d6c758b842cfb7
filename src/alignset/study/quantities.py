"""The numbers behind claims: read once per seed from our results, once from the published ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from alignset.study.results import done

PLACE = ["experiment", "dataset", "method"]

Reading = tuple["pd.Series[float]", float]
"""One value per seed, and the published value."""

Where = Callable[[float], bool]
"""Which positions on the horizontal axis count."""

Reduce = Callable[[pd.DataFrame], "pd.Series[float]"]
"""One row per seed, one column per position -> one value per seed."""

_CLOSE = 1e-9
"""Positions that differ by less than this are the same."""


@dataclass(frozen=True, eq=False)
class Contrast:
    """A quantity that a claim is about: one value per seed, and the published value."""

    name: str  # what is contrasted: ``over Transition``, ``at 4 %``
    values: pd.Series[float]
    theirs: float = float("nan")  # missing if nothing was published


class Evidence:
    """What a claim may use: the computed cells of one protocol, and the published values.

    ``columns`` and ``theirs`` say which column measures a claim's metric in this protocol and in
    the published values, if it is not the metric itself.
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
        """Return the published means by ``x``; empty if nothing was published."""
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
        """Return what has been missing since the last call."""
        missing, self._missing = self._missing, []
        return missing


Draw = Callable[[Evidence], Sequence[Contrast]]
"""What a test takes: the contrasts for which there are results."""


def below(bound: float) -> Where:
    """Positions smaller than a bound."""
    return lambda x: x < bound - _CLOSE


def above(bound: float) -> Where:
    """Positions larger than a bound."""
    return lambda x: x > bound + _CLOSE


def between(low: float, high: float) -> Where:
    """Positions between two bounds, both included."""
    return lambda x: low - _CLOSE <= x <= high + _CLOSE


def at(*places: float) -> Where:
    """Only the positions named."""
    return lambda x: any(abs(x - place) < _CLOSE for place in places)


anywhere = above(-np.inf)
"""Every position."""


@dataclass(frozen=True)
class Quantity:
    """One number per seed; two quantities can be subtracted, seed by seed."""

    read: Callable[[Evidence], Reading]

    def __sub__(self, other: Quantity) -> Quantity:
        def read(evidence: Evidence) -> Reading:
            (ours, theirs), (ours_2, theirs_2) = self.read(evidence), other.read(evidence)
            return (ours - ours_2).dropna(), theirs - theirs_2

        return Quantity(read)


@dataclass(frozen=True)
class Line:
    """One method's curve in one experiment, from which quantities are read.

    Examples
    --------
    >>> ours = Line("noise_rate", "synthetic", "proposed")
    >>> lead = ours.mean(below(0.8)) - ours.by("standard").mean(below(0.8))
    >>> values, published = lead.read(Evidence())
    >>> len(values)
    0
    """

    experiment: str
    dataset: str
    method: str
    metric: str = "hm"

    def by(self, method: str) -> Line:
        """Return the same curve for another method."""
        return replace(self, method=method)

    def mean(self, where: Where = anywhere) -> Quantity:
        """Mean over positions."""
        return self._reduced(where, lambda table: table.mean(axis=1))

    def spread(self, where: Where = anywhere) -> Quantity:
        """Highest minus lowest value over positions."""
        return self._reduced(where, lambda table: table.max(axis=1) - table.min(axis=1))

    def slope(self, where: Where = anywhere) -> Quantity:
        """Slope of the straight line fitted to the positions."""

        def fit(table: pd.DataFrame) -> pd.Series[float]:
            x = table.columns.to_numpy(dtype=float)
            x = x - x.mean()
            slopes = table.to_numpy() @ x / max(float((x**2).sum()), 1e-12)
            return pd.Series(slopes, index=table.index)

        return self._reduced(where, fit)

    def positions(self, evidence: Evidence, where: Where = anywhere) -> list[float]:
        """Positions that were run."""
        table = evidence.by_seed(self.experiment, self.dataset, self.method, self.metric)
        return [float(x) for x in table.columns if where(float(x))]

    def _reduced(self, where: Where, reduce: Reduce) -> Quantity:
        key = (self.experiment, self.dataset, self.method, self.metric)

        def read(evidence: Evidence) -> Reading:
            kept = self.positions(evidence, where)
            whole = evidence.by_seed(*key)[kept].dropna()  # a seed counts if all its cells are done
            if whole.empty:
                evidence.note_missing(*key[:3])
                return pd.Series(dtype=float), float("nan")
            means = evidence.published_means(*key).reindex(kept)
            theirs = reduce(means.to_frame().T).iloc[0] if means.notna().all() else float("nan")
            return reduce(whole), float(theirs)

        return Quantity(read)


def contrasts(quantities: Mapping[str, Quantity]) -> Draw:
    """Name quantities as the contrasts of a test; anything that was not run is left out."""

    def draw(evidence: Evidence) -> list[Contrast]:
        read = (Contrast(name, *quantity.read(evidence)) for name, quantity in quantities.items())
        return [contrast for contrast in read if len(contrast.values)]

    return draw


def at_each(
    line: Line, quantity: Callable[[float], Mapping[str, Quantity]], where: Where = anywhere
) -> Draw:
    """Draw contrasts at every position where a line was run."""

    def draw(evidence: Evidence) -> Sequence[Contrast]:
        places = line.positions(evidence, where)
        found = together(contrasts(quantity(x)) for x in places)(evidence)
        if not found:
            evidence.note_missing(line.experiment, line.dataset, line.method)
        return found

    return draw


def together(parts: Iterable[Draw]) -> Draw:
    """Join contrasts into one family."""
    drawn = list(parts)
    return lambda evidence: [contrast for part in drawn for contrast in part(evidence)]


def best_rival(line: Line, rivals: Mapping[str, str], where: Where = anywhere) -> Draw:
    """Compare the best of several rivals, by its mean, with a line: rival minus line.

    ``rivals`` gives the name to show for each method.
    """

    def draw(evidence: Evidence) -> Sequence[Contrast]:
        read = {rival: line.by(rival).mean(where).read(evidence)[0] for rival in rivals}
        means = {rival: float(values.mean()) for rival, values in read.items() if len(values)}
        if not means:
            return []
        best = max(sorted(means), key=means.__getitem__)
        lead = line.by(best).mean(where) - line.mean(where)
        return contrasts({f"{rivals[best]}, best of {len(means)} rivals": lead})(evidence)

    return draw
