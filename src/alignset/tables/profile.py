"""What the columns of a training table held, to compare later tables with.

Nothing in a profile is about fewer than ``FEW`` rows: edges have as many on either side, levels are
those that the model keeps by name, and dates, which tell a person's day, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.tables.kinds import MIN_COUNT as FEW
from alignset.tables.kinds import as_levels, level_codes
from alignset.tables.preprocess import Category, Preprocessing

PARTS = 10
"""Parts that the values of a number are divided into, as far as there are enough."""
DIGITS = 4
"""Significant digits of an edge."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NumberProfile:
    """Where the values of a number lay.

    Examples
    --------
    >>> NumberProfile("age", (50.0,), (0.4, 0.5, 0.1), 20.0, 90.0).far
    (-50.0, 160.0)
    """

    name: str
    edges: tuple[float, ...]  # a part holds what is above one edge, up to the next
    shares: tuple[float, ...]  # of all rows in each part; the last is of missing values
    low: float  # all but a few values lie between
    high: float

    @property
    def far(self) -> tuple[float, float]:
        """Values beyond these are further away than the values were apart."""
        margin = self.high - self.low or max(abs(self.high), 1.0)
        return self.low - margin, self.high + margin

    def counts(self, values: Floats) -> Floats:
        """Count how many values lie in each part."""
        present = values[~np.isnan(values)]
        parts = np.searchsorted(self.edges, present, side="left")
        found = np.bincount(parts, minlength=len(self.edges) + 1)
        return np.append(found, len(values) - len(present)).astype(np.float64)

    def part_name(self, part: int) -> str:
        """Return what a part holds, in words."""
        edges = self.edges
        if part == len(edges) + 1:
            return "missing"
        if not edges:
            return "present"
        if part == 0:
            return f"up to {edges[0]:g}"
        return (
            f"above {edges[-1]:g}"
            if part == len(edges)
            else f"{edges[part - 1]:g} to {edges[part]:g}"
        )


@dataclass(frozen=True)
class LevelProfile:
    """How frequent the levels of a category were.

    Examples
    --------
    >>> LevelProfile("sex", ("f", "m"), (0.5, 0.4, 0.1)).counts(np.array(["m", None, "m"], object))
    array([0., 2., 1.])
    """

    name: str
    levels: tuple[str | None, ...]
    shares: tuple[float, ...]  # one per level; the last is of all others

    def counts(self, levels: NDArray[np.object_]) -> Floats:
        """Count how often each level occurs; others last."""
        parts = level_codes(levels, self.levels)
        return np.bincount(parts, minlength=len(self.levels) + 1).astype(np.float64)

    def part_name(self, part: int) -> str:
        """Return what a part holds, in words."""
        if part == len(self.levels):
            return "other values"
        return "missing" if self.levels[part] is None else repr(self.levels[part])


@dataclass(frozen=True)
class Profile:
    """What a table held when a model was trained on it.

    Examples
    --------
    >>> from alignset.tables.preprocess import fit_preprocessing
    >>> frame = pd.DataFrame({"age": np.arange(100.0)})
    >>> made = profile_table(frame, fit_preprocessing(frame, {"age": "number"}))
    >>> made.numbers[0].low, made.numbers[0].high
    (4.0, 95.0)
    """

    rows: int
    numbers: tuple[NumberProfile, ...]
    levels: tuple[LevelProfile, ...]

    def to_data(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Any) -> Profile:
        """Read what :meth:`to_data` returned, or raise ValueError."""
        try:
            numbers = [
                NumberProfile(
                    str(c["name"]), _floats(c["edges"]), _floats(c["shares"]),
                    float(c["low"]), float(c["high"]),
                )
                for c in data["numbers"]
            ]  # fmt: skip
            levels = [
                LevelProfile(str(c["name"]), tuple(c["levels"]), _floats(c["shares"]))
                for c in data["levels"]
            ]
            found = cls(int(data["rows"]), tuple(numbers), tuple(levels))
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"the profile is not what alignset writes ({error!r})") from None
        _check(found)
        return found


def _floats(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _check(found: Profile) -> None:
    sizes = [len(c.shares) == len(c.edges) + 2 for c in found.numbers]
    sizes += [len(c.shares) == len(c.levels) + 1 for c in found.levels]
    values = [v for c in found.numbers for v in (*c.edges, c.low, c.high)]
    rising = all(bool((np.diff(c.edges) > 0).all()) and c.low <= c.high for c in found.numbers)
    shares = [share for c in found.numbers for share in c.shares]
    shares += [share for c in found.levels for share in c.shares]
    texts = all(v is None or isinstance(v, str) for c in found.levels for v in c.levels)
    fine = found.rows > 0 and all(sizes) and rising and texts and bool(np.isfinite(values).all())
    if not (fine and all(0 <= share <= 1 for share in shares)):
        raise ValueError("the profile holds values out of range")


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """The columns of a table as a model reads them, by name."""

    rows: int
    numbers: Mapping[str, Floats]
    levels: Mapping[str, NDArray[np.object_]]


def read_columns(frame: pd.DataFrame, prep: Preprocessing) -> ColumnValues:
    """Read the columns that a profile is about."""
    levels = {c.name: as_levels(frame[c.name]) for c in prep.categories}
    return ColumnValues(len(frame), dict(_numbers_of(frame, prep)), levels)


def profile_table(frame: pd.DataFrame, prep: Preprocessing) -> Profile:
    """Describe the columns that a model reads."""
    held = read_columns(frame, prep)
    numbers = (_of_number(name, values) for name, values in held.numbers.items())
    return Profile(
        held.rows,
        tuple(found for found in numbers if found is not None),
        tuple(_of_levels(c, held.levels[c.name]) for c in prep.categories),
    )


def _numbers_of(frame: pd.DataFrame, prep: Preprocessing) -> Iterator[tuple[str, Floats]]:
    """Yield the name and values of every number but dates, and of every mark of codes, 0 or 1."""
    for c in prep.numbers:
        if c.kind != "date":
            yield c.name, c.read(frame[c.name])
    for several in prep.codes:
        found = several.matrix(frame[several.name])
        names = (f"{several.name}: {title}" for title in several.titles)
        yield from zip(names, found.T, strict=True)


def _of_number(name: str, values: Floats) -> NumberProfile | None:
    present = np.sort(values[~np.isnan(values)])
    if len(present) < 2 * FEW:
        return None
    parts = min(PARTS, len(present) // FEW)
    cuts = np.quantile(present, np.arange(1, parts) / parts, method="inverted_cdf")
    edges = np.unique([_rounded(cut) for cut in cuts])
    # rounding and ties may leave a part with hardly anyone: it joins the next
    while len(edges):
        places = np.searchsorted(edges, present, side="left")
        counts = np.bincount(places, minlength=len(edges) + 1)
        small = int(counts.argmin())
        if counts[small] >= FEW:
            break
        edges = np.delete(edges, min(small, len(edges) - 1))
    low, high = sorted(_rounded(present[at]) for at in (FEW - 1, -FEW))
    empty = NumberProfile(name, tuple(edges.tolist()), (), low, high)
    shares = empty.counts(values) / len(values)
    return NumberProfile(name, empty.edges, tuple(shares.tolist()), low, high)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _of_levels(c: Category, levels: NDArray[np.object_]) -> LevelProfile:
    empty = LevelProfile(c.name, c.levels, ())
    shares = empty.counts(levels) / max(len(levels), 1)
    return LevelProfile(c.name, c.levels, tuple(shares.tolist()))
