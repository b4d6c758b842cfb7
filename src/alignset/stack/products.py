"""Large dense products, cut into pieces that several threads may share."""

from __future__ import annotations

import torch
from torch import Tensor

from alignset.stack.threads import alone, share

MIN_WORK = 1 << 26
"""Multiplications from which a product is cut: below, handing out pieces costs what it saves."""

PIECES = 8


def bmm(a: Tensor, b: Tensor, out: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
    """Return ``a`` (N, m, k) times ``b`` (N, k, p), plus ``bias`` (N, m, 1), in ``out`` if given.

    Pieces are ranges of the result's longer axis, chosen by its shape alone, in a stack that is
    trained alone; other stacks have threads of their own.

    Examples
    --------
    >>> bmm(torch.ones(1, 2, 3), torch.ones(1, 3, 1), bias=torch.ones(1, 2, 1)).flatten()
    tensor([4., 4.])
    """
    (n, m, k), p = a.shape, b.shape[2]
    if a.device.type != "cpu" or m * k * p < MIN_WORK or not alone():
        if bias is None:
            return torch.bmm(a, b, out=out)
        return torch.baddbmm(bias.expand(n, m, p), a, b, out=out)
    result = a.new_empty(n, m, p) if out is None else out
    step = -(-max(m, p) // PIECES)

    def multiply(piece: int) -> None:
        i, part = divmod(piece, PIECES)
        cut = slice(part * step, (part + 1) * step)
        rows, columns = (cut, slice(None)) if m > p else (slice(None), cut)
        into = result[i, rows, columns]
        if bias is None:
            torch.mm(a[i, rows], b[i, :, columns], out=into)
        else:
            torch.addmm(bias[i, rows].expand_as(into), a[i, rows], b[i, :, columns], out=into)

    share(multiply, n * PIECES)
    return result
