"""How much time a fit may still take, and what each piece of it gets."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class TimeLeft:
    """The moment at which a fit should be done; never, by default."""

    end: float = math.inf  # by time.monotonic

    @classmethod
    def of(cls, seconds: float | None) -> TimeLeft:
        """Start to count seconds; None is no limit."""
        return cls() if seconds is None else cls(time.monotonic() + seconds)

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return math.isfinite(self.end)

    def part(self, pieces: int) -> float:
        """Return the seconds for the next of so many pieces of work, all of which get as much.

        Examples
        --------
        >>> TimeLeft().part(3)
        inf
        >>> round(TimeLeft.of(60).part(3))
        20
        """
        return max(0.0, self.end - time.monotonic()) / pieces
