"""What an estimate is: a number, its interval, and how many reviewed rows it is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_NAN = float("nan")


@dataclass(frozen=True)
class Estimate:
    """An estimate with its interval, overall and by group.

    Parameters
    ----------
    metric : str
    group : object
        "all", or the name of a group.
    estimate, low, high : float
        NaN where nothing can be said; ``note`` then says why.
    rows, reviewed : int
    worth : float
        How many reviewed rows would be as precise if they were all there was.
    power : float
        How far the observed labels of other rows were used, in [0, 1].
    level : float
        Nominal coverage of the interval.
    reviewed_only : tuple of three floats
        Estimate, low and high from the reviewed rows alone.
    note : str
    by_group : mapping from group to Estimate

    Examples
    --------
    >>> Estimate("tpr", "all", 0.8, 0.7, 0.9, rows=1000, reviewed=100, worth=310.0)
    tpr 0.800 (0.700 to 0.900); reviewed 100, worth 310
    """

    metric: str
    group: Any
    estimate: float
    low: float
    high: float
    rows: int
    reviewed: int
    worth: float
    power: float = _NAN
    level: float = 0.95
    reviewed_only: tuple[float, float, float] = (_NAN, _NAN, _NAN)
    note: str = ""
    by_group: Mapping[Any, Estimate] = field(default_factory=dict)

    @classmethod
    def unknown(
        cls, metric: str, group: Any, rows: int, reviewed: int, level: float, note: str
    ) -> Estimate:
        """Return an estimate that says why there is none."""
        return cls(metric, group, _NAN, _NAN, _NAN, rows, reviewed, _NAN, level=level, note=note)

    def with_groups(self, by_group: Mapping[Any, Estimate]) -> Estimate:
        """Return the same with estimates for groups."""
        return replace(self, by_group=dict(by_group))

    @property
    def frame(self) -> pd.DataFrame:
        """The same as :meth:`to_frame`."""
        return self.to_frame()

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for all and one for each group."""
        import pandas as pd

        shown = ("estimate", "low", "high", "rows", "reviewed", "worth", "note")
        every = [self, *self.by_group.values()]
        table = pd.DataFrame([[getattr(one, name) for name in shown] for one in every])
        table.columns = pd.Index(shown)
        table.index = pd.Index([one.group for one in every], dtype=object, name="group")
        return table

    def __repr__(self) -> str:
        if not self.by_group:
            return f"{self.metric} {self._numbers()}"
        every = [self, *self.by_group.values()]
        width = max(len(str(one.group)) for one in every)
        lines = [f"  {one.group!s:{width}}  {one._numbers()}" for one in every]
        return "\n".join([self.metric, *lines])

    def _numbers(self) -> str:
        if self.note:
            return f"unknown: {self.note}"
        numbers = f"{self.estimate:.3f} ({self.low:.3f} to {self.high:.3f})"
        return f"{numbers}; reviewed {self.reviewed}, worth {self.worth:.0f}"
