"""Trained replicas: their scores, their predictions, and how to pick some of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from alignset.engine.rows import FactTable, Rows, Sizes
from alignset.engine.stacked import Weights, map_weights
from alignset.engine.train import Trained
from alignset.extras import torch
from alignset.labels import UNREVIEWED
from alignset.methods.base import Batch, Method, Nets
from alignset.rows import Part
from alignset.stack import Backbone, Net
from alignset.stack.gradient import without_gradient

if TYPE_CHECKING:
    from torch import Tensor

BLOCK_FLOATS = 1 << 24
"""Predict in blocks of rows whose activations stay below this many floats."""

Jobs = Sequence[tuple[slice, slice]]


@dataclass(frozen=True, eq=False)
class Fits:
    """``P x C`` trained replicas.

    Attributes
    ----------
    score : Tensor of shape (P, C)
        Validation score of every replica. If it was never a number: -inf, or NaN after a fixed
        number of epochs.
    epochs : int64 Tensor of shape (P, C, S)
        Epochs trained in every stage.
    weights : dict
        Network name -> parameter name -> Tensor of shape (P, C, ...).

    Examples
    --------
    >>> from alignset.data import make_synthetic
    >>> from alignset.engine import Trainer
    >>> from alignset.methods import Standard
    >>> from alignset.rows import split
    >>> table = make_synthetic(300, random_state=0).table
    >>> problem = split(table, table.y, share=0.2, seed=0)
    >>> fits = Trainer(hidden=4, max_epochs=2).fit(Standard(), [problem], [{}, {"lr": 0.1}])
    >>> fits.score.shape, fits.probability(problem.test.X).shape
    (torch.Size([1, 2]), (2, 60, 2))
    """

    method: Method
    backbone: Backbone
    kind: Sizes
    configs: list[dict[str, float]]
    weights: Weights
    score: Tensor
    epochs: Tensor

    @classmethod
    def join(
        cls,
        method: Method,
        backbone: Backbone,
        kind: Sizes,
        configs: list[dict[str, float]],
        jobs: Jobs,
        parts: Sequence[Trained],
    ) -> Fits:
        """Join stacks that were trained separately."""
        size = (max(rows.stop for rows, _ in jobs), len(configs))

        def lay(pieces: Sequence[Tensor]) -> Tensor:
            out = pieces[0].new_empty((*size, *pieces[0].shape[2:]))
            for job, piece in zip(jobs, pieces, strict=True):
                out[job] = piece
            return out

        weights = {
            name: {key: lay([part.weights[name][key] for part in parts]) for key in params}
            for name, params in parts[0].weights.items()
        }
        score, epochs = lay([p.score for p in parts]), lay([p.epochs for p in parts])
        return cls(method, backbone, kind, configs, weights, score, epochs)

    def ranking(self) -> NDArray[np.float32]:
        """Scores (P, C) that can be compared: one that is not a number counts as lowest."""
        score = self.score.numpy()
        return np.asarray(np.where(np.isnan(score), -np.inf, score), dtype=np.float32)

    def best(self) -> NDArray[np.int64]:
        """Index of the best config for every problem; the first if several are equal."""
        return np.asarray(self.ranking().argmax(1), dtype=np.int64)

    def nets(self, problem: int, dtype: torch.dtype | None = None) -> Nets:
        """Networks of all configs of one problem, leading axes (1, C); float32 by default."""
        shapes = self.method.networks(self.kind.n_features, self.kind.n_classes)
        own = map_weights(lambda t: t[[problem]].to(dtype or torch.float32), self.weights)
        return Nets(**{n: Net(self.backbone, shape, own[n]) for n, shape in shapes.items()})

    def only(self, configs: Sequence[int]) -> Fits:
        """Keep one config per problem: ``configs[p]`` for problem p, so that C is 1."""
        return replace(self._picked(range(len(configs)), configs, axis=1), configs=[{}])

    def members(self, problems: Sequence[int], configs: Sequence[int]) -> Fits:
        """Pick the replicas ``(problems[i], configs[i])`` and put them side by side: P is 1."""
        own = [self.configs[c] for c in configs]
        return replace(self._picked(problems, configs, axis=0), configs=own)

    def _picked(self, problems: Sequence[int], configs: Sequence[int], axis: int) -> Fits:
        at = torch.as_tensor(np.asarray(problems)), torch.as_tensor(np.asarray(configs))

        def pick(tensor: Tensor) -> Tensor:
            return tensor[at].unsqueeze(axis)

        weights = map_weights(pick, self.weights)
        return replace(self, weights=weights, score=pick(self.score), epochs=pick(self.epochs))

    @without_gradient
    def probability(
        self, X: Any, problem: int = 0, dtype: torch.dtype | None = None
    ) -> NDArray[np.floating[Any]]:
        """Class probabilities (C, n, K) of one problem's configs for rows X (n, D)."""
        nets = self.nets(problem, dtype)
        blocks = [self.method.predict(nets, b.x)[0] for b in self._blocks(X, dtype)]
        return np.asarray(torch.cat(blocks, dim=1)[:, : X.shape[0]].cpu().numpy())

    @without_gradient
    def confidence(
        self, X: Any, y_seen: Any, problem: int = 0, dtype: torch.dtype | None = None
    ) -> NDArray[np.floating[Any]]:
        """P(the observed label is right) (C, n) for rows X with class codes ``y_seen``."""
        nets = self.nets(problem, dtype)
        blocks = [self.method.confidence(nets, b)[0] for b in self._blocks(X, dtype, y_seen)]
        return np.asarray(torch.cat(blocks, dim=-1)[:, : X.shape[0]].cpu().numpy())

    def _blocks(self, X: Any, dtype: torch.dtype | None, y_seen: Any = None) -> Iterator[Batch]:
        kind, n = self.kind, X.shape[0]
        theta = self.method.networks(kind.n_features, kind.n_classes)["theta"]
        floats = (self.backbone.working_set(theta) + kind.n_features) * self.score.shape[1]
        step = max(1, BLOCK_FLOATS // floats)
        seen = np.zeros(n, dtype=np.int64) if y_seen is None else np.asarray(y_seen)
        device = str(next(iter(self.weights["theta"].values())).device)
        for start in range(0, max(1, n), step):  # no rows: one block of padding, removed above
            rows = slice(start, start + step)
            nobody = np.full_like(seen[rows], UNREVIEWED)
            part = Part(X[rows], seen[rows], nobody, np.zeros_like(nobody))
            block = Rows.of([part], multiple=1, kind=kind, device=device, dtype=dtype)
            yield block.everything(torch.zeros(1, dtype=torch.int64, device=device), FactTable())
