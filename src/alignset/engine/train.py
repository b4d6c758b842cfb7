"""The training loop: every stage of a method, for all replicas of one stack at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from alignset.engine.graphs import EagerEpochs, GraphedEpochs
from alignset.engine.rows import FactTable, Rows, Shuffler, Sizes
from alignset.engine.stacked import Stacked, Weights
from alignset.engine.stopping import FixedLength, Stopping
from alignset.extras import torch
from alignset.methods.base import Batch, Facts, Hyper, Method, Nets, Stage, Step
from alignset.rows import Part, Problem
from alignset.stack import Backbone, Grid
from alignset.stack.gradient import without_gradient
from alignset.stack.wanted import check_wanted
from alignset.stack.workspace import workspace

if TYPE_CHECKING:
    from torch import Tensor

Score: TypeAlias = "Callable[[Tensor, Tensor, Tensor, Tensor, int], Tensor]"
"""(prob (..., n, K), y, group, where (..., n), n_groups) -> (...), higher is better."""

Hook = Callable[[Nets, Batch, Hyper], Facts]

REPACK_BELOW = 0.8
"""Repack a stack when the running share of its slots falls below this."""

CUDA_LOOK_EVERY = 10
"""Epochs between checks on a GPU of which replicas still run: a check waits for the device."""


@dataclass(frozen=True)
class Schedule:
    """How a stack is trained."""

    backbone: Backbone
    score: Score
    stopping: Stopping
    max_epochs: int
    n_batches: int
    device: str
    n_batches_reviewed: int | None = None  # in stages that see only reviewed rows


@dataclass(frozen=True, eq=False)
class Trained:
    """The result of training a stack: weights and scores with leading axes (P, C)."""

    weights: Weights
    score: Tensor
    epochs: Tensor


class Training:
    """One stack in training: its problems as tensors, its weights, and the loop over stages."""

    def __init__(
        self,
        recipe: Schedule,
        method: Method,
        problems: Sequence[Problem],
        configs: Sequence[dict[str, float]],
    ) -> None:
        self.recipe, self.method = recipe, method
        self.size = (len(problems), len(configs))
        self.parts = [p.train for p in problems]
        self.seeds = torch.tensor([p.seed for p in problems], device=recipe.device)
        self.kind = sizes_of(problems[0])
        self.validation = self._rows([p.validation for p in problems], 1)
        self.validated = bool((self.validation.weight.sum(-1) > 0).all())
        self.shapes = method.networks(self.kind.n_features, self.kind.n_classes)
        self.weights = {name: self._init(name) for name in self.shapes}
        self.facts = FactTable()
        defaults = method.hyper_defaults()
        self.hyper = {
            name: torch.tensor([c.get(name, defaults[name]) for c in configs], dtype=torch.float32)
            .to(recipe.device)
            .expand(self.size)
            for name in defaults
        }

    def _rows(self, parts: Sequence[Part], multiple: int) -> Rows:
        return Rows.of(parts, multiple=multiple, kind=self.kind, device=self.recipe.device)

    def _init(self, name: str) -> dict[str, Tensor]:
        first = self.recipe.backbone.init(self.shapes[name], self.seeds, name)
        params = {k: v.expand(*self.size, *v.shape[2:]).contiguous() for k, v in first.items()}
        sparse = self.validation.x.multiplied_sparse
        return self.recipe.backbone.for_sparse(params) if sparse else params

    def run(self, tell: Callable[[float], None] | None = None) -> Trained:
        """Run all stages; a replica's score is that of its last stage.

        ``tell`` is called after every epoch with the share of all that were allowed.
        """
        stages = self.method.stages()
        epochs = torch.zeros(*self.size, len(stages))
        score = torch.zeros(self.size)
        with workspace():
            for i, stage in enumerate(stages):
                results = {"best": score, "epochs": epochs[..., i]}
                self._run_stage(stage, results, tell and _within(tell, i, len(stages)))
        return Trained(self.weights, score, epochs.to(torch.int64))

    def _run_stage(
        self,
        stage: Stage,
        results: dict[str, Tensor],
        tell: Callable[[float], None] | None = None,
    ) -> None:
        rows = self._stage_rows(stage)
        stack = self._fresh_stack(stage, rows)
        shuffler = Shuffler(self.seeds, stage.name, self._n_batches(stage))
        stopping = self.recipe.stopping if stage.epochs is None else FixedLength()
        limit = self.recipe.max_epochs if stage.epochs is None else stage.epochs
        clock = torch.zeros((), dtype=torch.int64, device=self.recipe.device)
        start = self._score(stage, stack, clock)
        stack.stop = {**stopping.begin(start), "score": start}
        stack.stop["epochs"] = torch.zeros_like(stack.stop["best"])

        def train(turn: int) -> None:
            clock.add_(1)
            self._train_epoch(stage, stack, rows, shuffler, clock, turn)

        recorded = self.recipe.device != "cpu" and not rows.x.kept_sparse
        make = GraphedEpochs if recorded else EagerEpochs
        epochs = make(train, lambda: self._score(stage, stack, clock))
        for epoch in range(1, limit + 1):
            if stage.each_epoch is not None:
                self._look(stage.each_epoch, stack, rows, clock + 1)
            turn = (epoch - 1) * (self._n_batches(stage) if stage.per_batch else 1)
            turn %= len(stage.steps)
            score = epochs.run(turn, self._moves_score(stage, turn))
            if score is not None:
                stack.stop["score"] = score
            stack.stop["epochs"] += stack.stop["running"]
            if tell is not None:
                tell(epoch / limit)
            stack.keep(stopping.update(stack.stop, epoch, stack.stop["score"]))
            repacked = self._repack(stack, results, epoch)
            if repacked is None:
                return
            if repacked is not stack:
                stack = repacked
                epochs.repacked()
        stack.save(self.weights, results)

    def _moves_score(self, stage: Stage, turn: int) -> bool:
        """Tell whether an epoch can change the score: not if only theta is scored, and it rests."""
        alone = type(self.method).predict is Method.predict and stage.watch is None
        rests = "theta" not in stage.steps[turn].trains
        # without validation rows the score is the clock, which never stands still
        settled = alone and rests and self.validated
        return not settled or stage.per_batch or stage.together

    @staticmethod
    @without_gradient
    def _look(hook: Hook, stack: Stacked, rows: Rows, epoch: Tensor | None = None) -> None:
        everything = rows.everything(stack.problem, stack.facts, epoch)
        stack.learn(hook(stack.nets, everything, stack.h))

    def _stage_rows(self, stage: Stage) -> Rows:
        parts = self.parts
        if stage.rows == "alignment":
            parts = [p.take(p.reviewed) for p in parts]
        return self._rows(parts, self._n_batches(stage))

    def _n_batches(self, stage: Stage) -> int:
        fewer = self.recipe.n_batches_reviewed if stage.rows == "alignment" else None
        return self.recipe.n_batches if fewer is None else fewer

    def _fresh_stack(self, stage: Stage, rows: Rows) -> Stacked:
        weights = {n: {k: t.clone() for k, t in p.items()} for n, p in self.weights.items()}
        grid = Grid.full(*self.size)
        backbone, hyper = self.recipe.backbone, self.hyper
        stack = Stacked(grid, self.size[1], backbone, self.shapes, weights, hyper)
        trained = {name for step in stage.steps for name in step.trains}
        if "theta" not in trained and stage.watch is None and stage.epochs is None:
            raise ValueError(
                f"stage {stage.name!r} does not train theta, so early stopping cannot watch it; "
                "give the stage a watch function or a fixed number of epochs."
            )
        stack.facts = self.facts.copy()
        if stage.begin is not None:
            self._look(stage.begin, stack, rows)
        self.facts = stack.facts.copy()
        stack.start(trained, stage.average is not None, self.weights)
        return stack

    def _train_epoch(
        self, stage: Stage, stack: Stacked, rows: Rows, shuffler: Shuffler, epoch: Tensor, turn: int
    ) -> None:
        for batch in shuffler.epoch(rows, stack.problem, epoch, stack.facts):
            steps = stage.steps if stage.together else (stage.steps[turn % len(stage.steps)],)
            for step in steps:
                check_wanted()
                self._take_step(step, stack, batch)
                if stage.average is not None:
                    stack.move_average(step.trains, stage.average)
            turn += stage.per_batch
            del batch  # a wide batch is large: free it before the next one is made

    @staticmethod
    def _take_step(step: Step, stack: Stacked, batch: Batch) -> None:
        leaves = [t for name in step.trains for t in stack.params[name].values()]
        for leaf in leaves:
            leaf.requires_grad_(True)
        loss = step.loss(stack.nets, batch, stack.h)
        grads = iter(torch.autograd.grad(loss.sum(), leaves, materialize_grads=True))
        for leaf in leaves:
            leaf.requires_grad_(False)
        for name in step.trains:
            own = {key: _own(next(grads)) for key in stack.params[name]}
            stack.adam[name].step(own)

    @without_gradient
    def _score(self, stage: Stage, stack: Stacked, epoch: Tensor) -> Tensor:
        if stack.validation is None:
            stack.validation = self.validation.everything(stack.problem, FactTable())
        b = stack.validation
        nets = stack.shown_nets()
        if stage.watch is not None:
            score = stage.watch(nets, b, stack.h)
        else:
            prob = self.method.predict(nets, b.x)
            score = self.recipe.score(prob, b.y_true, b.group, b.weight, b.n_groups)
        # without validation rows there is nothing to compare: the last epoch counts as the best
        nothing = b.weight.sum(-1) == 0
        return torch.where(nothing, epoch.to(score.dtype), score).expand(stack.grid.shape)

    def _repack(self, stack: Stacked, results: dict[str, Tensor], epoch: int) -> Stacked | None:
        """Drop the replicas that stopped; return None when none is left."""
        if self.recipe.device != "cpu" and epoch % CUDA_LOOK_EVERY:
            return stack
        running = stack.stop["running"].cpu().numpy()
        if not running.any():
            stack.save(self.weights, results)
            return None
        if running.sum() >= REPACK_BELOW * running.size:
            return stack
        wanted = np.zeros(self.size, dtype=bool)
        q, c = np.nonzero(running)
        wanted[stack.grid.problem[q], stack.grid.config[q, c]] = True
        grid = Grid.packed(wanted)
        if grid.used.size > REPACK_BELOW * running.size:
            return stack
        stack.save(self.weights, results)
        return stack.repacked(grid)


def _own(grad: Tensor) -> Tensor:
    """Return a gradient that may be overwritten: not one value broadcast to many places."""
    return grad.contiguous() if 0 in grad.stride() else grad


def sizes_of(problem: Problem) -> Sizes:
    """Return what other problems must have in common with this one to be stacked with it."""
    return Sizes(problem.n_features, problem.n_classes, problem.n_groups)


def _within(tell: Callable[[float], None], stage: int, n: int) -> Callable[[float], None]:
    """Return what takes the share of a stage, and tells that of all."""
    return lambda share: tell((stage + share) / n)
