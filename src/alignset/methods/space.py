"""Where random search looks: ranges of hyperparameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class LogUniform:
    """A range sampled evenly on the logarithmic scale.

    Examples
    --------
    >>> 1e-4 <= LogUniform(1e-4, 1e-2).draw(np.random.default_rng(0)) <= 1e-2
    True
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.high:
            raise ValueError(
                f"a log-uniform range needs 0 < low <= high, got {self.low} and {self.high}."
            )

    def draw(self, rng: np.random.Generator) -> float:
        """Draw one value."""
        return float(np.exp(rng.uniform(np.log(self.low), np.log(self.high))))


@dataclass(frozen=True)
class Uniform:
    """A range sampled evenly.

    Examples
    --------
    >>> 0.4 <= Uniform(0.4, 1.0).draw(np.random.default_rng(0)) <= 1.0
    True
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"a range needs low <= high, got {self.low} and {self.high}.")

    def draw(self, rng: np.random.Generator) -> float:
        """Draw one value."""
        return float(rng.uniform(self.low, self.high))


@dataclass(frozen=True)
class Choice:
    """One of several values.

    Examples
    --------
    >>> Choice((0.1, 0.5)).draw(np.random.default_rng(0)) in (0.1, 0.5)
    True
    """

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError("a choice needs at least one value, got none.")

    def draw(self, rng: np.random.Generator) -> float:
        """Draw one value."""
        return float(rng.choice(self.values))


Range = LogUniform | Uniform | Choice
Space = Mapping[str, Range]
"""Hyperparameter name -> where to look."""
