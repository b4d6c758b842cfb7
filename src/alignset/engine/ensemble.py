"""The best configs of a search, trained on every fold, as one model: the mean of its members."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from alignset.engine.fits import Fits

BLOCK_ROWS = 1 << 16
"""Rows of which every member predicts at once, before the mean is taken."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trained replicas that answer as one model, with the mean of what they say.

    Parameters
    ----------
    fits : Fits
        Of one problem: members side by side, (1, M).
    fold : int array of shape (M,)
        The fold each member was trained on.

    Examples
    --------
    >>> from alignset.data import make_synthetic
    >>> from alignset.engine import Trainer
    >>> from alignset.methods import Standard
    >>> from alignset.rows import cross_fit, split
    >>> table = make_synthetic(300, random_state=0).table
    >>> folds = cross_fit(split(table, table.y, share=0.2, seed=0), 2)
    >>> fits = Trainer(hidden=4, max_epochs=2).fit(Standard(), folds, [{}, {"lr": 0.1}])
    >>> both = Ensemble.best(fits, size=2)
    >>> both.fold, both.probability(table.X).shape
    (array([0, 1, 0, 1]), (300, 2))
    """

    fits: Fits
    fold: Ints

    @classmethod
    def best(cls, fits: Fits, size: int = 1) -> Ensemble:
        """Take the ``size`` best configs, those of :func:`best_configs`, on every fold."""
        configs, n_folds = best_configs(fits, size), fits.score.shape[0]
        folds = np.tile(np.arange(n_folds), len(configs))
        own = fits.members(folds.tolist(), np.repeat(configs, n_folds).tolist())
        return cls(own, folds)

    def probability(self, X: Any, fold: int | None = None) -> Floats:
        """Class probabilities (n, K); of one fold's members alone if ``fold`` is given."""
        own = self._of(fold)
        return _mean(lambda rows: own.probability(X[rows], dtype=torch.float64), X.shape[0])

    def confidence(self, X: Any, y_seen: Ints, fold: int | None = None) -> Floats:
        """P(the observed label is right) (n,) for class codes ``y_seen``."""
        own = self._of(fold)
        return _mean(
            lambda rows: own.confidence(X[rows], y_seen[rows], dtype=torch.float64), X.shape[0]
        )

    def _of(self, fold: int | None) -> Fits:
        own = np.arange(len(self.fold)) if fold is None else np.flatnonzero(self.fold == fold)
        if len(own) == len(self.fold):
            return self.fits
        return self.fits.members([0] * len(own), own.tolist())


def fold_means(fits: Fits) -> NDArray[np.float32]:
    """Mean score of every config over the folds (C,); -inf where one fold has none."""
    return np.asarray(fits.ranking().mean(0), dtype=np.float32)


def best_configs(fits: Fits, size: int) -> Ints:
    """Return the ``size`` configs of the best mean score, the first of equals first.

    One that diverged on some fold is left out, so there may be fewer; the first is always there.
    """
    score = fold_means(fits)
    order = (-score).argsort(kind="stable")[:size]
    finite = np.isfinite(score[order])
    return np.asarray(order[finite] if finite.any() else order[:1], dtype=np.int64)


def _mean(predict: Callable[[slice], NDArray[np.floating[Any]]], n: int) -> Floats:
    blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, max(1, n), BLOCK_ROWS)]
    return np.concatenate([predict(rows).mean(0) for rows in blocks])
