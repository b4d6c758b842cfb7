"""The working tensors of a stack: everything with a slot axis, repacked together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from alignset.engine.rows import FactTable
from alignset.engine.stopping import State
from alignset.extras import torch
from alignset.methods.base import Batch, Facts, Hyper, Nets
from alignset.stack import Backbone, Grid, Net, NetShape, StackedAdam
from alignset.stack.gradient import without_gradient
from alignset.stack.net import Params
from alignset.stack.sparse import feature_major

if TYPE_CHECKING:
    from torch import Tensor

Weights = dict[str, Params]
"""Network name -> parameters with leading axes (Q, C) or (P, C)."""


@dataclass
class Stacked:
    """The replicas in training: weights, optimisers, hyperparameters, facts, stopping state."""

    grid: Grid
    n_configs: int
    backbone: Backbone
    shapes: dict[str, NetShape]
    params: Weights
    hyper: dict[str, Tensor]
    adam: dict[str, StackedAdam] = field(default_factory=dict)
    best: Weights = field(default_factory=dict)
    average: Weights = field(default_factory=dict)
    stop: State = field(default_factory=dict)
    facts: FactTable = field(default_factory=FactTable)

    def __post_init__(self) -> None:
        device = next(iter(self.hyper.values())).device
        self.problem = torch.as_tensor(self.grid.problem, device=device)
        self.h = Hyper(**self.hyper)
        self.nets = self._bind(self.params)
        self._learned: set[str] = set()
        self.validation: Batch | None = None  # the same rows every epoch, until repacked

    def _bind(self, weights: Weights) -> Nets:
        return Nets(**{k: Net(self.backbone, self.shapes[k], w) for k, w in weights.items()})

    @property
    def shown(self) -> Weights:
        """The weights that are scored and kept: the moving average where there is one."""
        return {**self.params, **self.average}

    def shown_nets(self) -> Nets:
        """Networks with the shown weights."""
        return self._bind(self.shown) if self.average else self.nets

    def start(self, trained: set[str], averaged: bool, best: Weights) -> None:
        """Make an optimiser for each network that will be trained.

        The best weights so far are kept in ``best``, which starts as the current weights; they are
        not copied, so that a wide network takes up less memory.
        """
        lr, l2 = self.hyper["lr"], self.hyper["l2"]
        self.adam = {k: StackedAdam(self.params[k], lr, l2) for k in sorted(trained)}
        self.best = {k: dict(best[k]) for k in sorted(trained)}
        self.average = map_weights(torch.Tensor.clone, self.best) if averaged else {}
        self._learned.clear()  # later stages share the facts known so far: do not write to them

    def learn(self, facts: Facts) -> None:
        """Store the facts that a hook computed."""
        for known, new in ((self.facts.replica, facts.replica), (self.facts.row, facts.row)):
            for name, value in new.items():
                fresh = value.detach().expand(*self.grid.shape, *value.shape[2:]).contiguous()
                # in place where possible: a recorded epoch reads the tensor it was recorded with
                if name in self._learned and known[name].shape == fresh.shape:
                    known[name].copy_(fresh)
                else:
                    known[name] = fresh
                    self._learned.add(name)

    @without_gradient
    def keep(self, improved: Tensor) -> None:
        """Remember the shown weights of replicas for which they are the best so far."""
        if improved.device.type == "cpu" and not bool(improved.any()):
            return
        shown = self.shown
        for name, kept in self.best.items():
            for key, tensor in kept.items():
                mask = improved.reshape(*improved.shape, *(1,) * (tensor.dim() - 2))
                torch.where(mask, shown[name][key], tensor, out=tensor)

    @without_gradient
    def move_average(self, names: tuple[str, ...], decay: float) -> None:
        """Pull the averaged weights of ``names`` towards the current ones."""
        for name in names:
            for key, tensor in self.average[name].items():
                tensor.lerp_(self.params[name][key], 1.0 - decay)

    def save(self, weights: Weights, results: dict[str, Tensor]) -> None:
        """Write the best weights (P, C, ...) and results (P, C) of every used slot."""
        used = torch.as_tensor(self.grid.used)
        problem = torch.as_tensor(np.repeat(self.grid.problem[:, None], self.grid.shape[1], 1))
        at = (problem[used], torch.as_tensor(self.grid.config)[used])
        for name, kept in self.best.items():
            for key, tensor in kept.items():
                if weights[name][key] is not tensor:  # otherwise they have been there all along
                    weights[name][key][at] = tensor[used]
        for key, tensor in results.items():
            tensor[at] = self.stop[key][used].to(tensor)

    def repacked(self, grid: Grid) -> Stacked:
        """Return the replicas of a smaller grid."""
        device = self.problem.device
        flat = torch.as_tensor(grid.positions_in(self.grid, self.n_configs).reshape(-1)).to(device)

        def take(t: Tensor) -> Tensor:
            new = t.flatten(0, 1).index_select(0, flat).reshape(*grid.shape, *t.shape[2:])
            return feature_major(new) if t.dim() == 4 and t.stride(-1) > 1 else new

        params = map_weights(take, self.params)
        stop = {k: take(v) for k, v in self.stop.items()}
        stop["running"] &= torch.as_tensor(grid.used, device=stop["running"].device)
        return Stacked(
            grid,
            self.n_configs,
            self.backbone,
            self.shapes,
            params,
            {k: take(v) for k, v in self.hyper.items()},
            {k: a.rearranged(params[k], take) for k, a in self.adam.items()},
            map_weights(take, self.best),
            map_weights(take, self.average),
            stop,
            self.facts.mapped(take),
        )


def map_weights(f: Callable[[Tensor], Tensor], weights: Weights) -> Weights:
    """Apply ``f`` to every tensor."""
    return {name: {k: f(t) for k, t in p.items()} for name, p in weights.items()}
