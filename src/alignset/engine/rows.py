"""Problems as padded tensors, and the mini-batches drawn from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from alignset.extras import torch
from alignset.labels import UNREVIEWED
from alignset.methods.base import Batch
from alignset.rows import Part
from alignset.stack import Draws
from alignset.stack.random import mix, stream_key
from alignset.stack.sparse import Block, SparseRows, take_rows, worth_it

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Sizes:
    """What the problems of one stack have in common."""

    n_features: int
    n_classes: int
    n_groups: int


class Features:
    """The feature rows of several problems; sparse ones stay sparse."""

    def __init__(self, parts: Sequence[Any], n_rows: int, device: str, dtype: torch.dtype) -> None:
        self.device, self.dtype = torch.device(device), dtype
        self.n_rows = n_rows
        self.kept_sparse = any(scipy.sparse.issparse(p) for p in parts)
        if self.kept_sparse:
            self.blocks = [_padded_csr(p, n_rows, dtype) for p in parts]
            self.multiplied_sparse = all(worth_it(block) for block in self.blocks)
            return
        self.multiplied_sparse = False
        self.dense = torch.zeros(len(parts), n_rows, parts[0].shape[1], dtype=dtype)
        for p, part in enumerate(parts):
            self.dense[p, : part.shape[0]] = torch.from_numpy(np.require(part, requirements="W"))
        self.dense = self.dense.to(device)

    def take(self, problem: Tensor, index: Tensor) -> Block:
        """Rows ``index`` (Q, B) of problems ``problem`` (Q,) as (Q, 1, B, D)."""
        if not self.kept_sparse:
            flat = (problem[:, None] * self.n_rows + index).reshape(-1)
            rows = self.dense.flatten(0, 1).index_select(0, flat)
            return rows.reshape(index.shape[0], 1, index.shape[1], -1)
        wanted = index.cpu().numpy()
        columns = [take_rows(self.blocks[p], wanted[q]) for q, p in enumerate(problem.tolist())]
        block = SparseRows(columns, self.device)
        return block if self.multiplied_sparse else block.dense()


def _padded_csr(part: Any, n_rows: int, dtype: torch.dtype) -> Any:
    """CSR matrix with ``n_rows`` rows, padded with empty ones."""
    rows = scipy.sparse.csr_matrix(part, dtype=np.float32 if dtype == torch.float32 else np.float64)
    ends = np.full(n_rows - rows.shape[0], rows.indptr[-1], dtype=rows.indptr.dtype)
    indptr = np.concatenate([rows.indptr, ends])
    return scipy.sparse.csr_matrix((rows.data, rows.indices, indptr), (n_rows, rows.shape[1]))


@dataclass(frozen=True, eq=False)
class Rows:
    """One part of P problems, padded to N rows each; padding has weight zero."""

    x: Features
    y_seen: Tensor
    y_true: Tensor
    group: Tensor
    weight: Tensor
    kind: Sizes

    @classmethod
    def of(
        cls,
        parts: Sequence[Part],
        *,
        multiple: int,
        kind: Sizes,
        device: str,
        dtype: torch.dtype | None = None,
    ) -> Rows:
        """Pad parts to a common length, a multiple of the number of batches, by default float32."""
        dtype = dtype or torch.float32
        longest = max(1, *(len(p) for p in parts))
        n = -(-longest // multiple) * multiple

        def pad(values: Sequence[Any], fill: float, dtype: torch.dtype) -> Tensor:
            out = torch.full((len(parts), n), fill, dtype=dtype)
            for p, v in enumerate(values):
                out[p, : len(v)] = torch.as_tensor(np.asarray(v), dtype=dtype)
            return out.to(device)

        weights = [np.ones(len(p)) if p.weight is None else p.weight for p in parts]
        return cls(
            Features([p.X for p in parts], n, device, dtype),
            pad([p.y_seen for p in parts], 0, torch.int64),
            pad([p.y_true for p in parts], UNREVIEWED, torch.int64),
            pad([p.group for p in parts], 0, torch.int64),
            pad(weights, 0.0, dtype),
            kind,
        )

    @property
    def n_rows(self) -> int:
        """Padded number of rows."""
        return self.y_seen.shape[1]

    def batch(
        self, problem: Tensor, index: Tensor, draw: Draws, epoch: Tensor, facts: FactTable
    ) -> Batch:
        """Rows ``index`` (Q, B) of grid rows ``problem`` (Q,) as a batch."""
        flat = (problem[:, None] * self.n_rows + index).reshape(-1)

        def pick(values: Tensor) -> Tensor:
            return values.reshape(-1).index_select(0, flat).reshape(index.shape).unsqueeze(1)

        return Batch(
            x=self.x.take(problem, index),
            y_seen=pick(self.y_seen),
            y_true=pick(self.y_true),
            group=pick(self.group),
            weight=pick(self.weight),
            n_classes=self.kind.n_classes,
            n_groups=self.kind.n_groups,
            epoch=epoch,
            draw=draw,
            facts=facts.at(index, self.n_rows),
            remember=facts.writer(index),
        )

    def everything(self, problem: Tensor, facts: FactTable, epoch: Tensor | None = None) -> Batch:
        """All rows as one batch, padding included."""
        index = torch.arange(self.n_rows, device=problem.device).expand(len(problem), -1)
        draw = Draws(torch.zeros_like(problem)[:, None, None], index.unsqueeze(1))
        return self.batch(
            problem, index, draw, problem.new_zeros(()) if epoch is None else epoch, facts
        )


class FactTable:
    """What stages computed: per replica (Q, C, ...) and per row (Q, C, N, ...)."""

    def __init__(self) -> None:
        self.replica: dict[str, Tensor] = {}
        self.row: dict[str, Tensor] = {}
        self._owned: set[str] = set()

    def copy(self) -> FactTable:
        """Return a table with the same facts; a row fact is copied when first written to."""
        other = FactTable()
        other.replica, other.row = dict(self.replica), dict(self.row)
        return other

    def mapped(self, f: Callable[[Tensor], Tensor]) -> FactTable:
        """Return a table with ``f`` applied to every fact."""
        other = FactTable()
        other.replica = {k: f(v) for k, v in self.replica.items()}
        other.row = {k: f(v) for k, v in self.row.items()}
        other._owned = set(other.row)
        return other

    def at(self, index: Tensor, n_rows: int) -> dict[str, Tensor]:
        """Facts for the rows ``index`` (Q, B) of a part that has ``n_rows``."""
        if not self.row:
            return self.replica
        for name, fact in self.row.items():
            if fact.shape[2] != n_rows:
                raise ValueError(
                    f"row fact {name!r} was made for {fact.shape[2]} rows but this stage has "
                    f"{n_rows}; a stage on different rows must make its own in begin."
                )
        rows = {k: v.gather(2, _spread(index, v)) for k, v in self.row.items()}
        return {**self.replica, **rows}

    def writer(self, index: Tensor) -> Callable[[str, Tensor], None]:
        """Return a function that overwrites a row fact at ``index``."""

        def remember(name: str, value: Tensor) -> None:
            if name not in self._owned:
                self.row[name] = self.row[name].clone()
                self._owned.add(name)
            fact = self.row[name]
            fact.scatter_(2, _spread(index, fact), value.detach().to(fact.dtype))

        return remember


def _spread(index: Tensor, fact: Tensor) -> Tensor:
    """Index (Q, B) in the shape of a row fact (Q, C, B, ...)."""
    q, b = index.shape
    shape = (q, 1, b, *(1,) * (fact.dim() - 3))
    return index.reshape(shape).expand(q, fact.shape[1], b, *fact.shape[3:])


@dataclass(frozen=True)
class Shuffler:
    """Deals the rows of every problem into new batches each epoch, by a hash of its seed."""

    seeds: Tensor
    stream: str
    n_batches: int

    def epoch(
        self, rows: Rows, problem: Tensor, epoch: Tensor, facts: FactTable
    ) -> Iterator[Batch]:
        """Yield the batches of one epoch, for grid rows ``problem`` (Q,); ``epoch`` is ()."""
        order = self._order(rows, epoch)[problem]
        # strided, so that padding spreads evenly and membership does not depend on it
        dealt = order.reshape(len(problem), -1, self.n_batches).transpose(1, 2)
        key = stream_key(self.seeds, self.stream + ".draws")[problem][:, None, None]
        for j in range(self.n_batches):
            draw = Draws(key, dealt[:, None, j], epoch * self.n_batches + j)
            yield rows.batch(problem, dealt[:, j], draw, epoch, facts)

    def _order(self, rows: Rows, epoch: Tensor) -> Tensor:
        key = mix(stream_key(self.seeds, self.stream + ".shuffle") ^ mix(epoch))
        position = torch.arange(rows.n_rows, device=key.device)
        rank = mix(key[:, None] ^ mix(position))
        last = torch.iinfo(torch.int64).max
        return torch.where(rows.weight > 0, rank, last).argsort(dim=1)
