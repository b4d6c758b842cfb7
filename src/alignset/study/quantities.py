"""Numbers that claims are made of: read per seed from our results, once from the published."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from alignset.study.evidence import Contrast, Evidence

Reading = tuple["pd.Series[float]", float]
"""One value per seed, and the published value."""

Where = Callable[[float], bool]
"""Which positions of the horizontal axis count."""


def below(bound: float) -> Where:
    """Positions smaller than a bound."""
    return lambda x: x < bound - 1e-9


def above(bound: float) -> Where:
    """Positions larger than a bound."""
    return lambda x: x > bound + 1e-9


def between(low: float, high: float) -> Where:
    """Positions from a bound to another, both included."""
    return lambda x: low - 1e-9 <= x <= high + 1e-9


def at(*places: float) -> Where:
    """Positions that are named."""
    return lambda x: any(abs(x - place) < 1e-9 for place in places)


def anywhere(x: float) -> bool:
    """Every position."""
    del x
    return True


@dataclass(frozen=True)
class Quantity:
    """A number per seed; two can be subtracted, seed by seed."""

    read: Callable[[Evidence], Reading]

    def __sub__(self, other: Quantity) -> Quantity:
        def read(evidence: Evidence) -> Reading:
            (ours, theirs), (ours_2, theirs_2) = self.read(evidence), other.read(evidence)
            return (ours - ours_2).dropna(), theirs - theirs_2

        return Quantity(read)


@dataclass(frozen=True)
class Line:
    """One method's curve in one experiment: what quantities are read from.

    Examples
    --------
    >>> ours = Line("noise_rate", "synthetic", "proposed")
    >>> lead = ours.mean(below(0.8)) - ours.by("standard").mean(below(0.8))
    >>> values, published = lead.read(Evidence.of(None))
    >>> len(values)
    0
    """

    experiment: str
    dataset: str
    method: str
    metric: str = "hm"

    def by(self, method: str) -> Line:
        """Return the same curve of another method."""
        return replace(self, method=method)

    def mean(self, where: Where = anywhere) -> Quantity:
        """Mean over positions."""
        return self._reduced(where, lambda table: table.mean(axis="columns"))

    def spread(self, where: Where = anywhere) -> Quantity:
        """Highest minus lowest value over positions."""
        return self._reduced(
            where, lambda table: table.max(axis="columns") - table.min(axis="columns")
        )

    def slope(self, where: Where = anywhere) -> Quantity:
        """Slope of the straight line fitted over positions."""

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

    def _reduced(
        self, where: Where, reduce: Callable[[pd.DataFrame], pd.Series[float]]
    ) -> Quantity:
        return Quantity(lambda evidence: self._read(evidence, where, reduce))

    def _read(
        self,
        evidence: Evidence,
        where: Where,
        reduce: Callable[[pd.DataFrame], pd.Series[float]],
    ) -> Reading:
        key = (self.experiment, self.dataset, self.method, self.metric)
        table = evidence.by_seed(*key)
        kept = [x for x in table.columns if where(float(x))]
        whole = table[kept].dropna()  # a seed counts if all its cells were computed
        if not kept or whole.empty:
            evidence.note_missing(*key[:3])
            return pd.Series(dtype=float), float("nan")
        means = evidence.published_means(*key).reindex(kept)
        theirs = float("nan")
        if not means.isna().any():
            theirs = float(reduce(means.to_frame().T.set_axis(kept, axis="columns")).iloc[0])
        return reduce(whole), theirs


def contrasts(
    quantities: Mapping[str, Quantity],
) -> Callable[[Evidence], Sequence[Contrast]]:
    """Name quantities as the contrasts of a test; what was not run is left out."""

    def draw(evidence: Evidence) -> list[Contrast]:
        read = ((name, *quantity.read(evidence)) for name, quantity in quantities.items())
        return [Contrast(name, values, theirs) for name, values, theirs in read if len(values)]

    return draw


def at_each(
    line: Line, quantity: Callable[[float], Mapping[str, Quantity]], where: Where = anywhere
) -> Callable[[Evidence], Sequence[Contrast]]:
    """Draw contrasts at every position where a line was run."""

    def draw(evidence: Evidence) -> list[Contrast]:
        found: list[Contrast] = []
        for x in line.positions(evidence, where):
            found += contrasts(quantity(x))(evidence)
        if not found:
            evidence.note_missing(line.experiment, line.dataset, line.method)
        return found

    return draw


def together(
    parts: Iterable[Callable[[Evidence], Sequence[Contrast]]],
) -> Callable[[Evidence], Sequence[Contrast]]:
    """Join contrasts into one family."""
    drawn = list(parts)
    return lambda evidence: [contrast for part in drawn for contrast in part(evidence)]


def best_rival(
    line: Line, rivals: Mapping[str, str], where: Where = anywhere
) -> Callable[[Evidence], Sequence[Contrast]]:
    """Contrast the best of several rivals, by its mean, with a line: rival minus line.

    Parameters
    ----------
    line : Line
    rivals : mapping
        Method -> what to call it.
    where : Where
    """

    def draw(evidence: Evidence) -> list[Contrast]:
        means = {}
        for rival in rivals:
            values, _ = line.by(rival).mean(where).read(evidence)
            if len(values):
                means[rival] = float(np.mean(values))
        if not means:
            return []
        best = max(sorted(means), key=lambda rival: means[rival])
        lead = line.by(best).mean(where) - line.mean(where)
        return list(contrasts({f"{rivals[best]}, best of {len(means)} rivals": lead})(evidence))

    return draw
