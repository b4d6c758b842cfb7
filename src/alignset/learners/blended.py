"""A fitted blend: what it predicts, and how its candidates did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from alignset.learners.base import Floats, Ints, Predictor, one_hot, to_probability
from alignset.learners.linear import Linear, LinearPredictor
from alignset.learners.review import Review
from alignset.learners.stacking import BlendWeights
from alignset.learners.standing import CandidateScore
from alignset.rows.features import row_blocks


@dataclass(frozen=True, eq=False)
class Blended(Predictor):
    """Candidates and their weights."""

    models: tuple[Predictor, ...]
    weights: BlendWeights
    right: Predictor  # P(the observed label is right), from the log-odds and the label
    candidates: tuple[CandidateScore, ...]

    @property
    def judged(self) -> bool:
        """Whether reviewed rows could judge the candidates."""
        return self.weights.shrinkage > 0

    def log_odds(self, X: Any) -> Floats:
        """Return centred log-odds (n, K)."""
        blocks = [self._block(_as_trained(X[at])) for at in row_blocks(X.shape[0])]
        return np.concatenate(blocks)

    def probability(self, X: Any) -> Floats:
        """Return class probabilities (n, K)."""
        return to_probability(self.log_odds(X))

    def confidence(self, X: Any, codes: Ints) -> Floats:
        """Return P(the observed label is right) (n,) for class codes."""
        return _right(self.right, self.log_odds(X), codes)

    def _block(self, X: Any) -> Floats:
        odds = np.tile(self.weights.intercept, (X.shape[0], 1))
        for v, model in self._used():
            odds += v * model.log_odds(X)
        return odds

    def _used(self) -> Iterator[tuple[float, Predictor]]:
        """Candidates of weight zero are not asked."""
        for v, model in zip(self.weights.v.tolist(), self.models, strict=True):
            if v > 0:
                yield v, model


@dataclass(frozen=True, eq=False)
class BlendFit:
    """A fitted blend, the review as it was read, and what was said of rows nobody had seen."""

    model: Blended
    review: Review
    at: Ints  # (n,), position of each of the review's rows among those given
    fold: Ints  # (n,), -1 for rows that were never held out
    odds: Floats  # (n, K), what the blend said of rows that were
    said: dict[tuple[str, str], Floats]  # labels and learner -> (n, K), what a candidate said
    left_out: tuple[str, ...] = ()  # candidates that there was no time for


def confidence_model(
    odds: Floats, y_seen: Ints, y: Ints, weight: Floats, *, picked: bool = False, seed: int
) -> Predictor:
    """Fit P(the observed label is right) to what the blend says of it, and to which label it is.

    Rows that were ``picked`` because their label was wrong cannot say; then the blend alone does.
    """
    if picked:
        coef = np.zeros((2, 1 + 2 * odds.shape[1]))
        coef[:, 0] = -0.5, 0.5
        return LinearPredictor(coef, np.zeros(2))
    right = (y == y_seen).astype(np.int64)
    return Linear(C=1.0).fit(_evidence(odds, y_seen), right, weight, 2, seed=seed)


def cross_confidence(fitted: BlendFit, seed: int) -> Floats:
    """Return P(the observed label is right) (n,), by models fitted without the fold of each row.

    NaN for rows that were never held out, or where no reviewed row is left to fit to.
    """
    rows, found = fitted.review.rows, np.full(len(fitted.fold), np.nan)
    weight, known = rows.weights * fitted.review.weight, rows.reviewed
    for part in range(int(fitted.fold.max()) + 1):
        use, out = known & (fitted.fold != part), fitted.fold == part
        if use.any():
            model = confidence_model(
                fitted.odds[use], rows.y_seen[use], rows.y_true[use], weight[use],
                picked=fitted.review.picked, seed=seed,
            )  # fmt: skip
            found[out] = _right(model, fitted.odds[out], rows.y_seen[out])
    return found


def _right(model: Predictor, odds: Floats, codes: Ints) -> Floats:
    return np.asarray(to_probability(model.log_odds(_evidence(odds, codes)))[:, 1])


def _evidence(odds: Floats, y_seen: Ints) -> Floats:
    """Log-odds of the observed label against all others, the label, and their products."""
    k = odds.shape[1]
    logs = odds - np.logaddexp.reduce(odds, axis=1, keepdims=True)
    own = logs[np.arange(len(odds)), y_seen]
    against = own - np.log(np.maximum(-np.expm1(own), 1e-12))
    label = one_hot(y_seen, k)
    return np.column_stack([against, label, label * against[:, None]])


def _as_trained(X: Any) -> Any:
    """Round features as they were in training: a threshold of a tree may lie that close."""
    return X.astype(np.float32).astype(np.float64)
