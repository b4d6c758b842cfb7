"""What a label strategy is: a way to turn rows, some of them reviewed, into a model of y."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from alignset.learners.base import Floats, Learner, Predictor, beside
from alignset.learners.context import Context
from alignset.rows import Part

Trust = Literal["less", "more", "same"]

LEAST = 0.05
"""What is left of the weight of a model of labels that say nothing."""


@dataclass(frozen=True, eq=False)
class Said:
    """What a candidate says of rows it did not see."""

    odds: Floats  # (n, K), log-odds of the true class
    joint: Floats | None = None  # (n, K), log P(y, observed label | x), if it models both


class Strategy(ABC):
    """A label strategy."""

    name: ClassVar[str]
    says: ClassVar[str]  # what it fits, for a table of candidates
    needs_review: ClassVar[bool] = True  # whether it learns from reviewed rows
    needs_errors: ClassVar[bool] = False  # whether some reviewed label must be wrong
    weighs_rows: ClassVar[bool] = False  # whether it needs a learner that takes weights
    rows_to_trust: ClassVar[float] = 0.0  # reviewed rows of the rarest class that half convince
    when_wrong: ClassVar[Trust] = "same"  # to trust, if labels are wrong
    to_lean_on: ClassVar[bool] = False  # whether a blend leans on it where few rows are reviewed

    def suits(self, learner: Learner) -> bool:  # noqa: ARG002
        """Tell whether the strategy adds something for this learner that no other does."""
        return True

    def prior(self, rarest: float, wrong: float) -> float:
        """Return the weight that it starts with, before it is judged by reviewed rows.

        Parameters
        ----------
        rarest : float
            Reviewed rows of the rarest class. A model of few rows has its good days by luck.
        wrong : float
            Share of wrong labels, 1 if labels say nothing. The more are wrong, the less a model of
            them is worth, and the more one that expects errors.
        """
        start = rarest / (rarest + self.rows_to_trust)
        if self.when_wrong == "less":
            return start * max(1 - wrong, LEAST)
        return start * min(wrong, 1.0) if self.when_wrong == "more" else start

    @abstractmethod
    def fit(self, rows: Context) -> Predictor:
        """Fit the learner of ``rows`` to labels of this kind."""

    def say(self, rows: Context, held: Part) -> Said:
        """Fit, and say of rows that were held out what is most probable."""
        return Said(self.fit(rows).log_odds(held.X))


@dataclass(frozen=True, eq=False)
class Chained(Predictor):
    """A model that reads the log-odds of another beside the features, or instead of them."""

    base: Predictor
    head: Predictor
    with_features: bool = True

    def log_odds(self, X: Any) -> Floats:
        """Return the log-odds of the head."""
        odds = self.base.log_odds(X)[:, 1:]
        return self.head.log_odds(beside(X, odds) if self.with_features else odds)
