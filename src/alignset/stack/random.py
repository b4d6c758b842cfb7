"""Random numbers as a function of (seed, stream, counter, position), with no state anywhere.

A generator object would make a replica's numbers depend on earlier draws, on padding and on the
device. A hash does not: the number for row 7 of problem 3 at step 12 is the same alone, stacked or
padded, on a CPU or a GPU. The mixing function is the finaliser of SplitMix64.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alignset.extras import torch

if TYPE_CHECKING:
    from torch import Tensor


_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
_MIX_1 = 0xBF58476D1CE4E5B9 - (1 << 64)
_MIX_2 = 0x94D049BB133111EB - (1 << 64)
_UNIFORM_BITS = 24

PIECE = 1 << 18
"""Numbers drawn at a time: for each seed of new weights, in all for a batch on a CPU."""


def mix(value: Tensor) -> Tensor:
    """Scramble int64 values; neighbouring inputs give unrelated outputs."""
    value = value + _GOLDEN
    value = (value ^ _shift(value, 30)) * _MIX_1
    value = (value ^ _shift(value, 27)) * _MIX_2
    return value ^ _shift(value, 31)


def _shift(value: Tensor, bits: int) -> Tensor:
    # torch's int64 shift is arithmetic; the mask makes it logical
    return (value >> bits) & ((1 << (64 - bits)) - 1)


def stream_key(seeds: Tensor, stream: str) -> Tensor:
    """Return one int64 key per seed for the named stream."""
    return mix(mix(seeds) ^ zlib.crc32(stream.encode()))


def uniform(key: Tensor, position: Tensor) -> Tensor:
    """Return float32 numbers in [0, 1), one per broadcast (key, position) pair."""
    bits = _shift(mix(key ^ mix(position)), 64 - _UNIFORM_BITS)
    return bits.to(torch.float32) * 2.0**-_UNIFORM_BITS


def uniform_like(seeds: Tensor, stream: str, shape: tuple[int, ...]) -> Tensor:
    """Return numbers in [0, 1) of shape ``(*seeds.shape, *shape)``."""
    key, size = stream_key(seeds, stream).unsqueeze(-1), math.prod(shape)
    out = torch.empty(*seeds.shape, size, device=seeds.device)
    for start in range(0, size, PIECE):  # hashing takes several times the memory of its result
        position = torch.arange(start, min(size, start + PIECE), device=seeds.device)
        out[..., start : start + PIECE] = uniform(key, position)
    return out.reshape(*seeds.shape, *shape)


@dataclass(frozen=True)
class Draws:
    """The only source of randomness a loss has: fresh numbers per row and step.

    Parameters
    ----------
    key : int64 Tensor of shape (..., 1)
        One key per problem and stage.
    row : int64 Tensor of shape (..., B)
        Each row's position in its own problem, so that padding and stacking change nothing.
    step : int64 Tensor of shape (), optional
        Mixed into the key only when numbers are drawn, so that other steps cost nothing.

    Notes
    -----
    Two calls give the same numbers: a loss that needs two sets must name two streams.

    Examples
    --------
    >>> draw = Draws(torch.tensor([[7]]), torch.arange(3).unsqueeze(0))
    >>> draw.normal(2).shape, bool((draw.uniform(2) == draw.uniform(2, "second")).any())
    (torch.Size([1, 3, 2]), False)
    """

    key: Tensor
    row: Tensor
    step: Tensor | None = None

    def uniform(self, k: int, stream: str = "uniform") -> Tensor:
        """Return (..., B, k) numbers in [0, 1)."""
        mixed = self.key if self.step is None else mix(self.key ^ mix(self.step))
        key = stream_key(mixed, stream).unsqueeze(-1)
        first, column = self.row.unsqueeze(-1) * k, torch.arange(k, device=self.row.device)
        shape = (*(first + key).shape[:-1], k)
        if first.is_cuda or math.prod(shape) <= PIECE:
            return uniform(key, first + column)
        # what fits a cache: memory for all numbers at once is fetched anew for every operation
        out = torch.empty(shape)
        n = max(1, PIECE * shape[-2] // math.prod(shape))
        for i in range(0, shape[-2], n):
            out[..., i : i + n, :] = uniform(key, first[..., i : i + n, :] + column)
        return out

    def normal(self, k: int, stream: str = "normal") -> Tensor:
        """Return (..., B, k) standard normal numbers (Box-Muller)."""
        radius = self.uniform(k, stream + ".radius").neg_().add_(1.0).log_().mul_(-2.0).sqrt_()
        return radius * self.uniform(k, stream + ".angle").mul_(2 * math.pi).cos_()
