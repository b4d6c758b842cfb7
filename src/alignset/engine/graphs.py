"""Epochs recorded once and replayed: on a GPU, launching kernels costs more than running them.

An epoch of a stage is the same few hundred kernels every time, on the same tensors; only numbers
on the device (the clock, optimiser steps) differ. So it is recorded as a CUDA graph and replayed
with one launch, until the stack is repacked.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from alignset.extras import torch

if TYPE_CHECKING:
    from torch import Tensor


_recording = threading.Lock()
"""Held while an epoch is recorded: waiting for the device is forbidden to all threads meanwhile."""


class EagerEpochs:
    """Run every epoch directly, without recording it."""

    def __init__(self, train: Callable[[int], None], score: Callable[[], Tensor]) -> None:
        self.train, self.score = train, score

    def run(self, turn: int, scored: bool = True) -> Tensor | None:
        """Train one epoch, starting with step number ``turn``; return its score if asked for."""
        self.train(turn)
        return self.score() if scored else None

    def repacked(self) -> None:
        """Do nothing: there is nothing to forget."""


class GraphedEpochs(EagerEpochs):
    """Run the first epoch of each kind directly, record the second, replay the rest."""

    def __init__(self, train: Callable[[int], None], score: Callable[[], Tensor]) -> None:
        super().__init__(train, score)
        self.graphs: dict[int, tuple[torch.cuda.CUDAGraph, Tensor | None]] = {}
        self.warm: set[int] = set()
        self.possible = True

    def repacked(self) -> None:
        """Forget the graphs of tensors that are gone; libraries stay warm."""
        self.graphs.clear()

    def run(self, turn: int, scored: bool = True) -> Tensor | None:
        """Replay the epoch if it was recorded."""
        if not self.possible or turn not in self.warm:
            self.warm.add(turn)
            return super().run(turn, scored)
        if turn not in self.graphs and not self._record(turn, scored):
            return super().run(turn, scored)
        graph, score = self.graphs[turn]
        graph.replay()
        return None if score is None else score.clone()

    def _record(self, turn: int, scored: bool) -> bool:
        self.score()  # anything that is computed once and kept must be computed before recording
        graph = torch.cuda.CUDAGraph()
        try:
            # one thread at a time, and what other threads do meanwhile does not spoil it
            with _recording, torch.cuda.graph(graph, capture_error_mode="thread_local"):
                score = super().run(turn, scored)
        except RuntimeError as error:  # a method that waits for the device cannot be recorded
            warnings.warn(
                f"an epoch could not be recorded and runs unrecorded, which is slower: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
            self.possible = False
            torch.cuda.synchronize()
            return False
        self.graphs[turn] = (graph, score)
        return True
