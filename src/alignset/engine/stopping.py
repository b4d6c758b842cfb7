"""When a replica stops, and which of its epochs is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from alignset.extras import torch

if TYPE_CHECKING:
    from torch import Tensor


State: TypeAlias = "dict[str, Tensor]"
"""Per-replica tensors; ``best`` is the score that counts, ``running`` which still train."""


class Stopping(ABC):
    """A rule that looks at one score per replica and epoch; higher is better."""

    @abstractmethod
    def begin(self, score: Tensor) -> State:
        """Start with the score of the untrained weights (epoch 0)."""

    @abstractmethod
    def update(self, state: State, epoch: int, score: Tensor) -> Tensor:
        """Take an epoch's score; return for which replicas its weights are the best so far."""


def _fresh(score: Tensor, best: Tensor) -> State:
    return {"best": best, "running": torch.ones_like(score, dtype=torch.bool)}


@dataclass(frozen=True)
class Patience(Stopping):
    """Stop after ``epochs`` epochs in a row without a new best; keep the best epoch.

    Examples
    --------
    >>> rule = Patience(2)
    >>> state = rule.begin(torch.tensor([0.5]))
    >>> [bool(rule.update(state, e, torch.tensor([s]))) for e, s in enumerate((0.6, 0.6, 0.5), 1)]
    [True, False, False]
    >>> state["running"]
    tensor([False])
    """

    epochs: int = 10

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise ValueError(f"patience must be at least 1 epoch, got {self.epochs}.")

    def begin(self, score: Tensor) -> State:
        """Take the starting weights as the first best."""
        best = torch.where(score.isnan(), -torch.inf, score)
        return {**_fresh(score, best), "since": torch.zeros_like(score)}

    def update(self, state: State, epoch: int, score: Tensor) -> Tensor:
        """Count the epochs since the last new best."""
        del epoch
        improved = state["running"] & (score > state["best"])
        state["best"] = torch.where(improved, score, state["best"])
        state["since"] = torch.where(improved, 0.0, state["since"] + 1.0)
        state["running"] = state["running"] & (state["since"] < self.epochs)
        return improved


@dataclass(frozen=True)
class BlockMean(Stopping):
    """The rule of the released code: stop at the first block of epochs without improvement.

    Scores are averaged over consecutive blocks of ``length`` epochs; the weights at the end of
    the best block are kept, and its mean is the score that counts.

    Examples
    --------
    >>> rule = BlockMean(2)
    >>> state = rule.begin(torch.tensor([0.9]))
    >>> scores = (0.5, 0.7, 0.6, 0.6)
    >>> [bool(rule.update(state, e, torch.tensor([s]))) for e, s in enumerate(scores, 1)]
    [False, True, False, False]
    >>> state["running"]
    tensor([False])
    """

    length: int = 10
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ValueError(f"a block must have at least 1 epoch, got {self.length}.")

    def begin(self, score: Tensor) -> State:
        """Ignore the starting weights, as the released code does."""
        best = torch.full_like(score, -torch.inf)
        return {**_fresh(score, best), "total": torch.zeros_like(score)}

    def update(self, state: State, epoch: int, score: Tensor) -> Tensor:
        """Compare the mean of a block that ends here with the best so far."""
        state["total"] = state["total"] + score
        if epoch % self.length:
            return torch.zeros_like(state["running"])
        mean = state["total"] / self.length
        improved = state["running"] & (mean > state["best"] + self.tolerance)
        state["best"] = torch.where(improved, mean, state["best"])
        state["running"] = improved
        state["total"] = torch.zeros_like(mean)
        return improved


@dataclass(frozen=True)
class FixedLength(Stopping):
    """Never stop early and keep the last epoch; the score is that of the last epoch.

    Examples
    --------
    >>> rule = FixedLength()
    >>> state = rule.begin(torch.tensor([0.9]))
    >>> bool(rule.update(state, 1, torch.tensor([0.1]))), state["best"]
    (True, tensor([0.1000]))
    """

    def begin(self, score: Tensor) -> State:
        """Let every replica run."""
        return _fresh(score, score)

    def update(self, state: State, epoch: int, score: Tensor) -> Tensor:
        """Accept every epoch."""
        del epoch
        state["best"] = score
        return state["running"]
