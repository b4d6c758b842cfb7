"""Stopping rules that follow a script, so that a test decides who stops when."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from alignset.engine import Stopping


@dataclass(frozen=True)
class Scripted(Stopping):
    """Replica (p, c) keeps epoch ``keep[p][c]`` and stops after ``stop[p][c]``, in every stage."""

    keep: tuple[tuple[int, ...], ...]
    stop: tuple[tuple[int, ...], ...]

    def begin(self, score):
        return {
            "best": torch.zeros_like(score),
            "running": torch.ones_like(score, dtype=torch.bool),
            "keep": torch.tensor(self.keep, dtype=score.dtype),
            "stop": torch.tensor(self.stop, dtype=score.dtype),
        }

    def update(self, state, epoch, score):
        improved = state["running"] & (state["keep"] == epoch)
        state["best"] = torch.where(improved, score, state["best"])
        state["running"] = state["running"] & (epoch < state["stop"])
        return improved
