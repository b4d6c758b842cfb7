"""Any ``nn.Module`` as a backbone: its parameters are stacked and its call is mapped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from alignset.extras import torch
from alignset.stack.net import Backbone, NetShape, Params
from alignset.stack.random import stream_key
from alignset.stack.sparse import Block, SparseRows

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class Module(Backbone):
    """Give a user's own network a replica axis.

    Parameters
    ----------
    factory : callable
        ``factory(n_inputs, n_outputs)`` returns a fresh ``nn.Module`` that maps (B, n_inputs) to
        (B, n_outputs). It is initialised by its own rules, from the problem's seed. Layers that
        draw random numbers (dropout) or keep running statistics (batch norm) are refused: they
        would tie replicas together.

    Examples
    --------
    >>> from torch import nn
    >>> backbone = Module(lambda d, k: nn.Sequential(nn.Linear(d, 4), nn.Tanh(), nn.Linear(4, k)))
    >>> shape = NetShape((3,), 2)
    >>> params = backbone.init(shape, torch.tensor([0, 1]), "theta")
    >>> backbone.apply(shape, params, (torch.zeros(2, 1, 5, 3),)).shape
    torch.Size([2, 1, 5, 2])
    """

    factory: Callable[[int, int], nn.Module]

    def init(self, shape: NetShape, seeds: Tensor, stream: str) -> Params:
        """Build one module per seed under a forked generator and stack its parameters."""
        # the stream enters, too: otherwise two networks of the same shape would start out equal
        keys = stream_key(seeds, stream).tolist()
        copies = [dict(_build(self.factory, shape, key).named_parameters()) for key in keys]
        return {
            name: torch.stack([c[name].detach() for c in copies]).unsqueeze(1).to(seeds.device)
            for name in copies[0]
        }

    def apply(self, shape: NetShape, params: Params, blocks: tuple[Block, ...]) -> Tensor:
        """Return the outputs (Q, C, B, K)."""
        # the skeleton only provides its forward pass; ``params`` replaces its weights
        skeleton = _skeleton(self.factory, shape)
        dense = [b.dense() if isinstance(b, SparseRows) else b for b in blocks]
        leading = [max(b.shape[axis] for b in dense) for axis in (0, 1)]
        x = torch.cat([b.expand(*leading, *b.shape[2:]) for b in dense], dim=-1)

        def one(p: Params, rows: Tensor) -> Tensor:
            out: Tensor = torch.func.functional_call(skeleton, p, (rows,))
            return out

        vmap = torch.func.vmap
        if x.shape[1] == 1:
            return vmap(vmap(one, in_dims=(0, None)), in_dims=(0, 0))(params, x[:, 0])
        return vmap(vmap(one))(params, x)

    def features(self, shape: NetShape, params: Params, blocks: tuple[Block, ...]) -> Tensor:
        """Refuse: a user's module does not say which layer is the last hidden one."""
        del shape, params, blocks
        raise ValueError(
            "this method reads the last hidden layer, which a custom backbone does not name; "
            "use the default MLP backbone."
        )

    def tangent(
        self, shape: NetShape, params: Params, direction: Params, blocks: tuple[Block, ...]
    ) -> Tensor:
        """Push a parameter direction forward: differentiate a gradient by its cotangent."""
        # not torch.func.jvp, which warns about its own use of torch.jit
        leaves = {k: v.detach().requires_grad_(True) for k, v in params.items()}
        with torch.enable_grad():
            out = self.apply(shape, leaves, blocks)
            cotangent = torch.zeros_like(out, requires_grad=True)
            grads = torch.autograd.grad(
                out, list(leaves.values()), cotangent, create_graph=True, materialize_grads=True
            )
            along = [(g * direction[k]).sum() for k, g in zip(leaves, grads, strict=True)]
            return torch.autograd.grad(torch.stack(along).sum(), cotangent)[0]

    def working_set(self, shape: NetShape) -> int:
        """Guess from the number of parameters; a user's module does not say."""
        module = _skeleton(self.factory, shape)
        widths = [p.shape[0] for p in module.parameters() if p.dim() > 1]
        return sum(widths) + shape.outputs


Factory: TypeAlias = "Callable[[int, int], nn.Module]"

_BUILDING = threading.Lock()
"""Held while the global generator is borrowed: stacks are built in several threads."""


def _skeleton(factory: Factory, shape: NetShape) -> nn.Module:
    # functional_call swaps the weights in and out, so no two threads may share a module
    return _skeleton_of(factory, shape, threading.get_ident())


@lru_cache(maxsize=32)
def _skeleton_of(factory: Factory, shape: NetShape, thread: int) -> nn.Module:
    del thread
    module, d, k = _build(factory, shape, 0), sum(shape.inputs), shape.outputs
    got = _answer_of(module, d)
    if got != f"shape {(2, k)}":
        raise ValueError(
            f"a backbone for {d} inputs and {k} outputs must turn an array of shape (2, {d}) into "
            f"one of shape (2, {k}), got {got}; use both arguments of the function."
        )
    return module


def _answer_of(module: nn.Module, d: int) -> str:
    """Return what becomes of two rows, in words."""
    try:
        with torch.no_grad():
            out = module(torch.zeros(2, d))
    except RuntimeError as error:  # layers that do not fit each other, or the rows
        return f"the error {str(error)!r}"
    return f"shape {tuple(out.shape)}" if isinstance(out, torch.Tensor) else type(out).__name__


def _build(factory: Factory, shape: NetShape, seed: int) -> nn.Module:
    with _BUILDING, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        module = factory(sum(shape.inputs), shape.outputs)
    kinds = torch.nn.modules
    for part in module.modules():
        if isinstance(part, kinds.dropout._DropoutNd | kinds.batchnorm._NormBase):
            raise ValueError(
                f"{type(part).__name__} cannot be stacked: it draws random numbers or keeps "
                "running statistics; use LayerNorm, or regularise with l2."
            )
    return module
