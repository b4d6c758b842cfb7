"""What a label strategy is: a way to turn rows, some of them reviewed, into a model of y."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from alignset.learners.base import Floats, Learner, Predictor, beside
from alignset.learners.context import Context


class Strategy(ABC):
    """A label strategy."""

    name: ClassVar[str]
    says: ClassVar[str]  # what it fits, for a table of candidates
    needs_review: ClassVar[bool] = True  # whether it learns from reviewed rows
    rows_to_trust: ClassVar[float] = 0.0  # reviewed rows of the rarest class that half convince
    needs_errors: ClassVar[bool] = False  # whether some reviewed label must be wrong

    def suits(self, learner: Learner) -> bool:  # noqa: ARG002
        """Tell whether the strategy adds something for this learner that no other does."""
        return True

    @abstractmethod
    def fit(self, rows: Context) -> Predictor:
        """Fit the learner of ``rows`` to labels of this kind."""


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
