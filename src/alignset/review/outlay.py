"""What a planned review takes: rows to send out if some come back without an answer, and money."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Outlay:
    """Rows to send out, and what reviewing them costs.

    Parameters
    ----------
    needed : sequence of int
        Answers needed in each group.
    available : sequence of int
        Rows that there are in each.
    nonresponse : float in [0, 1)
        Share of rows expected to come back without an answer.
    cost : float, optional
        Price of reviewing one row, answered or not.

    Examples
    --------
    >>> one = Outlay((80, 40), (1000, 45), nonresponse=0.2, cost=3.5)
    >>> one.sent, one.total, one.short, one.price
    ((100, 45), 145, 4, 507.5)
    """

    needed: Sequence[int]
    available: Sequence[int]
    nonresponse: float = 0.0
    cost: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.nonresponse < 1:
            raise ValueError(
                f"the share without an answer must lie in [0, 1), got {self.nonresponse}; write "
                "0.1 for 10 %."
            )
        if self.cost is not None and not 0 <= self.cost < math.inf:
            raise ValueError(f"the cost of a review must not be negative, got {self.cost}.")

    @property
    def sent(self) -> tuple[int, ...]:
        """Rows to send out in each group, as far as there are rows."""
        # a hair less, so that 80 / 0.8 is 100 and not 101
        asked = [math.ceil(n / (1 - self.nonresponse) - 1e-9) for n in self.needed]
        return tuple(min(n, most) for n, most in zip(asked, self.available, strict=True))

    @property
    def total(self) -> int:
        """Rows to send out."""
        return sum(self.sent)

    @property
    def short(self) -> int:
        """Answers that will be missing because a group has no more rows to send out."""
        kept = [math.floor(n * (1 - self.nonresponse) + 1e-9) for n in self.sent]
        return sum(max(n - have, 0) for n, have in zip(self.needed, kept, strict=True))

    @property
    def price(self) -> float | None:
        """What the rows sent out cost."""
        return None if self.cost is None else self.cost * self.total
