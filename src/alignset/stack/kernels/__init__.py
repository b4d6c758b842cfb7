"""The few computations on which training spends its time, behind one interface.

:func:`on` picks the kernels: Triton on a GPU, C on a CPU if it has been compiled, or else torch.
Their results agree up to rounding, but not in every bit. So the first use of a CPU decides for the
life of the process, and two fits in one process give the same bits (decision 16).
"""

from __future__ import annotations

import logging
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from alignset.extras import torch as torch_itself
from alignset.stack.kernels import build
from alignset.stack.kernels.c import C
from alignset.stack.kernels.torch import Torch

if TYPE_CHECKING:
    from torch import Tensor, device

    from alignset.stack.sparse import Block

__all__ = ["Kernels", "on", "wait_for_c", "which"]

Tensors: TypeAlias = "Sequence[Tensor]"
Weights: TypeAlias = "dict[str, Tensor]"
Blocks = Sequence["Block"]
AdamStep: TypeAlias = "Callable[[Weights, Tensor], None]"
"""Takes gradients, which it overwrites, and the number of the step."""
PullBack: TypeAlias = "Callable[[Tensor, tuple[bool, ...]], tuple[Tensor | None, ...]]"
"""Takes the logits' gradient and which blocks need one; returns one per block and weight."""

_log = logging.getLogger("alignset")
_deciding = threading.Lock()


class Kernels(Protocol):
    """The fast computations: Q problems, C replicas of each, B rows, D features, H or U units."""

    def mlp(
        self, last_relu: bool, blocks: Blocks, flat: Tensors, keep: bool = True
    ) -> tuple[Tensor, PullBack]:
        """Return the logits (Q, C, K, B) and, with ``keep``, the backward pass."""

    def hidden(self, last_relu: bool, blocks: Blocks, flat: Tensors) -> list[Tensor]:
        """Return every hidden layer (Q, C, H, B)."""

    def linear(
        self, weights: Tensors, bias: Tensor, blocks: Blocks, out: Tensor, relu: bool
    ) -> Tensor:
        """W x + b into ``out`` (Q, C, H, B), then ReLU if asked for."""

    def pair_loss(self, z: Tensor, sign: Tensor) -> Tensor:
        """log(1 + exp(sign (z_1 - z_0))) per row, of logits (..., 2, B)."""

    def logit_loss(self, z: Tensor, target: Tensor) -> Tensor:
        """log(1 + exp(z)) - target z per row, of logits (..., B)."""

    def weighted_sums(self, values: Tensor, weight: Tensor) -> Tensor:
        """Sum (..., B) over rows, with weights (..., G, B)."""

    def adam(
        self, params: Weights, first: Weights, second: Weights, lr: Tensor, l2: Tensor
    ) -> AdamStep:
        """Return a function that takes a step of Adam."""

    def sparse_product(self, columns: list[Any], wide: Tensor, out: Tensor) -> None:
        """``out`` (Q, U, B) += (x ``wide``)^T, for weights (Q, D, U)."""

    def sparse_gradient(self, columns: list[Any], g: Tensor) -> Tensor:
        """Return x^T g^T as (Q, D, U), for the gradient ``g`` (Q, U, B)."""

    def take_rows(self, matrix: Any, rows: NDArray[np.int64]) -> Any:
        """Return ``matrix[rows]`` of a CSR matrix, by column (CSC)."""


_TORCH = Torch()


def on(where: device) -> Kernels:
    """Return the kernels for tensors on this device."""
    if where.type != "cpu":
        return _on_gpu() if where.type == "cuda" else _TORCH
    with _deciding:  # stacks are trained in several threads
        return _decided()


def _on_gpu() -> Kernels:
    """Return the kernels in Triton if it is there; it is imported only if there is a GPU."""
    from alignset.stack.kernels import triton

    return triton.KERNELS if triton.AVAILABLE else _TORCH


def which(where: str = "cpu") -> str:
    """Say which kernels compute on a device: "c", "triton" or "torch"."""
    return type(on(torch_itself.device(where))).__name__.lower()


def wait_for_c() -> None:
    """Compile now what is compiled in the background otherwise, where that can be done.

    For work that is spread over processes, or resumed by later ones: all then round alike.
    """
    if os.environ.get("ALIGNSET_NATIVE") != "0":
        with suppress(OSError, RuntimeError, subprocess.SubprocessError):
            if build.find() is None:
                build.compiled()


@cache
def _decided() -> Kernels:
    wish = os.environ.get("ALIGNSET_NATIVE")
    if wish == "0":
        _log.info("kernels: torch, since ALIGNSET_NATIVE is 0")
        return _TORCH
    try:
        path = build.find()
        if path is None and wish == "1":
            _log.info("kernels: compiling C, which takes some seconds (ALIGNSET_NATIVE is 1)")
            path = build.compiled()
        if path is None:
            build.in_background()
            _log.info("kernels: torch; C is compiled in the background, for the next process")
            return _TORCH
        kernels = C(path)
    except (OSError, RuntimeError, subprocess.SubprocessError) as reason:  # no home: RuntimeError
        # only speed is lost, so only users who asked for C are warned, and those who can do
        # something about it: others can write where the compiled file is kept
        told = wish == "1" or "written to by others" in str(reason)
        _log.log(logging.WARNING if told else logging.INFO, "kernels: torch; %s", reason)
        return _TORCH
    _log.info("kernels: C, from %s", path)
    return kernels
