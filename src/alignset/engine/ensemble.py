"""The best configs of a search, trained on every fold, as one model: the mean of its members."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.engine.fits import Fits
from alignset.extras import torch
from alignset.rows.features import row_blocks

BLOCK_ROWS = 1 << 16
"""Rows that every member predicts at a time, before the mean is taken."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trained replicas that predict as one model, with the mean of their predictions.

    Each of ``parts`` holds the members of one method, side by side, (1, M); there are several only
    if the search varied what shapes a network. ``folds`` (M,) tell which fold each was trained on.
    """

    parts: tuple[Fits, ...]
    folds: tuple[Ints, ...]

    def __len__(self) -> int:
        return sum(map(len, self.folds))

    def probability(self, X: Any, fold: int | None = None) -> Floats:
        """Class probabilities (n, K); only those of one fold's members if ``fold`` is given."""
        return self._mean(
            lambda fits, at: fits.probability(X[at], dtype=torch.float64), X.shape[0], fold
        )

    def confidence(self, X: Any, y_seen: Ints, fold: int | None = None) -> Floats:
        """P(the observed label is right) (n,) for class codes ``y_seen``."""
        return self._mean(
            lambda fits, at: fits.confidence(X[at], y_seen[at], dtype=torch.float64),
            X.shape[0],
            fold,
        )

    def _mean(self, ask: Callable[[Fits, slice], Any], n: int, fold: int | None) -> Floats:
        asked = self.parts if fold is None else self._of(fold)
        return np.concatenate(
            [
                np.concatenate([ask(fits, at) for fits in asked]).mean(0)
                for at in row_blocks(n, BLOCK_ROWS)
            ]
        )

    def _of(self, fold: int) -> tuple[Fits, ...]:
        own = [np.flatnonzero(folds == fold) for folds in self.folds]
        return tuple(
            part.members([0] * len(at), at.tolist())
            for part, at in zip(self.parts, own, strict=True)
            if len(at)
        )
