"""Random search: draw configs from ranges, and choose by validation score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class LogUniform:
    """A range sampled evenly on the logarithmic scale."""

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
    """A range sampled evenly."""

    low: float
    high: float

    def draw(self, rng: np.random.Generator) -> float:
        """Draw one value."""
        return float(rng.uniform(self.low, self.high))


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: tuple[float, ...]

    def draw(self, rng: np.random.Generator) -> float:
        """Draw one value."""
        return float(rng.choice(self.values))


Space = Mapping[str, LogUniform | Uniform | Choice]
"""Hyperparameter name -> where to look."""


def draw_configs(space: Space, n: int, random_state: int | None) -> list[dict[str, float]]:
    """Draw ``n`` configs; the first k of a longer draw are the draw of k.

    Examples
    --------
    >>> space = {"lr": LogUniform(1e-4, 1e-2)}
    >>> draw_configs(space, 2, 0) == draw_configs(space, 3, 0)[:2]
    True
    """
    rng = np.random.default_rng(random_state)
    names = sorted(space)
    return [{name: space[name].draw(rng) for name in names} for _ in range(n)]
