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

Reduce = Callable[[pd.DataFrame], "pd.Series[float]"]
"""One row per seed, one column per position -> one value per seed."""

Draw = Callable[[Evidence], Sequence[Contrast]]
"""What a test asks for: the contrasts that there are results for."""


_CLOSE = 1e-9
"""Positions that differ by less are the same."""


def below(bound: float) -> Where:
    """Positions smaller than a bound."""
    return lambda x: x < bound - _CLOSE


def above(bound: float) -> Where:
    """Positions larger than a bound."""
    return lambda x: x > bound + _CLOSE


def between(low: float, high: float) -> Where:
    """Positions from a bound to another, both included."""
    return lambda x: low - _CLOSE <= x <= high + _CLOSE


def at(*places: float) -> Where:
    """Positions that are named."""
    return lambda x: any(abs(x - place) < _CLOSE for place in places)


anywhere = above(-np.inf)
"""Every position."""


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
    >>> values, published = lead.read(Evidence())
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

    def _reduced(self, where: Where, reduce: Reduce) -> Quantity:
        key = (self.experiment, self.dataset, self.method, self.metric)

        def read(evidence: Evidence) -> Reading:
            kept = self.positions(evidence, where)
            whole = evidence.by_seed(*key)[kept].dropna()  # a seed counts if all cells were done
            if whole.empty:
                evidence.note_missing(*key[:3])
                return pd.Series(dtype=float), float("nan")
            means = evidence.published_means(*key).reindex(kept)
            theirs = reduce(means.to_frame().T).iloc[0] if means.notna().all() else float("nan")
            return reduce(whole), float(theirs)

        return Quantity(read)


def contrasts(quantities: Mapping[str, Quantity]) -> Draw:
    """Name quantities as the contrasts of a test; what was not run is left out."""

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
    """Contrast the best of several rivals, by its mean, with a line: rival minus line.

    Parameters
    ----------
    line : Line
    rivals : mapping
        Method -> what to call it.
    where : Where
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
