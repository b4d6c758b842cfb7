"""What can be estimated: each summary of labelled rows, with its influence function.

An estimand takes labels as shares of classes, (n, K), hard or soft, and a weight per row; rows of
weight 0 are not looked at. It returns its value theta, and psi (n, K): what row i would add to the
value if its class were k, so that for rows drawn from a population

    theta(sample) - theta(population)  ~  mean over the sample of psi[i, class of i]        .

psi is what variances are made of (Deville 1999). A value is NaN where it is not defined.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alignset.evaluate.soft_labels import log_odds

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """What is known of every row without a review.

    Parameters
    ----------
    score : float array of shape (n, K)
        Score of each class; of two classes only column 1 is used.
    observed : int array of shape (n,)
    flagged : bool array of shape (n,), optional
        Rows at or above the threshold.
    threshold : float
        NaN if there is none.
    """

    score: Floats
    observed: Codes
    flagged: NDArray[np.bool_] | None = None
    threshold: float = float("nan")

    def take(self, rows: NDArray[np.bool_]) -> ScoredRows:
        """Return some of the rows."""
        flagged = None if self.flagged is None else self.flagged[rows]
        return ScoredRows(self.score[rows], self.observed[rows], flagged, self.threshold)


@dataclass(frozen=True, eq=False)
class Linearized:
    """A value and its influence function psi (n, K)."""

    value: float
    psi: Floats


LEAST = 1e-6
"""The smallest probability that counts in a log loss: a single row must not decide it."""

Linearise = Callable[[ScoredRows, Floats, Floats], Linearized]
"""``rows, label (n, K), weight (n,) -> Linearized``."""


@dataclass(frozen=True)
class Estimand:
    """One thing to estimate.

    Parameters
    ----------
    title : str
        In words.
    linearise : callable
        Its value and influence function.
    low, high : float
        Values it can take.
    needs : str
        "threshold" if rows must be flagged, "probability" if scores must lie in [0, 1], else "".
    many_classes : bool
        Whether it is defined for more than two classes.
    skewed : bool
        Whether skewness of the influence is that of the estimate; a slope has more of its own.
    """

    title: str
    linearise: Linearise
    low: float = 0.0
    high: float = 1.0
    needs: str = ""
    many_classes: bool = False
    skewed: bool = True


def _ratio(inside: Floats, counted: Floats, label: Floats, weight: Floats) -> Linearized:
    """Share of ``inside`` among ``counted``, both (n, K): what a row of class k adds to each."""
    size = weight.sum()
    whole = float((weight[:, None] * label * counted).sum())
    if not whole > 0:
        return Linearized(float("nan"), np.zeros_like(label))
    value = float((weight[:, None] * label * inside).sum()) / whole
    return Linearized(value, (inside - value * counted) * (size / whole))


def _wrong(rows: ScoredRows, label: Floats, weight: Floats) -> Linearized:
    differs = (np.arange(label.shape[1]) != rows.observed[:, None]).astype(np.float64)
    return _ratio(differs, np.ones_like(label), label, weight)


def _share(positive_if_flagged: bool, of_class: int) -> Linearise:
    """TPR and FPR: of the rows of a class, the share that is flagged."""

    def linearise(rows: ScoredRows, label: Floats, weight: Floats) -> Linearized:
        counted = np.zeros_like(label)
        counted[:, of_class] = 1.0
        return _ratio(counted * (_flag(rows) == positive_if_flagged), counted, label, weight)

    return linearise


def _predictive(of_flagged: bool) -> Linearise:
    """PPV and NPV: of the rows flagged, or not flagged, the share that is of that class."""

    def linearise(rows: ScoredRows, label: Floats, weight: Floats) -> Linearized:
        counted = np.repeat(_flag(rows) == of_flagged, 2, axis=1).astype(np.float64)
        right = counted * (np.arange(2) == int(of_flagged))
        return _ratio(right, counted, label, weight)

    return linearise


def _prevalence(_rows: ScoredRows, label: Floats, weight: Floats) -> Linearized:
    counted = np.ones_like(label)
    return _ratio(counted * np.arange(2), counted, label, weight)


def _calibration(rows: ScoredRows, label: Floats, weight: Floats) -> Linearized:
    gap = rows.score[:, 1:] - np.arange(2)
    return _ratio(gap, np.ones_like(label), label, weight)


def _net_benefit(rows: ScoredRows, label: Floats, weight: Floats) -> Linearized:
    price = rows.threshold / (1 - rows.threshold)
    gain = _flag(rows) * np.array([-price, 1.0])
    return _ratio(gain, np.ones_like(label), label, weight)


def _flagged_share(rows: ScoredRows, label: Floats, weight: Floats) -> Linearized:
    """Share of rows that are flagged, whatever their class: known for every row."""
    return _ratio(_flag(rows) * np.ones_like(label), np.ones_like(label), label, weight)


def _log_loss(rows: ScoredRows, label: Floats, weight: Floats) -> Linearized:
    """Mean of minus the logarithm of the probability of the true class."""
    p = rows.score if label.shape[1] > 2 else np.stack([1 - rows.score[:, 1], rows.score[:, 1]], 1)
    return _ratio(-np.log(np.maximum(p, LEAST)), np.ones_like(label), label, weight)


def _auroc(rows: ScoredRows, label: Floats, weight: Floats) -> Linearized:
    """Mean over classes, each against the rest; of two classes only the second."""
    n_classes = label.shape[1]
    if n_classes == 2:
        return one_auroc(rows.score[:, 1], label, weight)
    value, psi = 0.0, np.zeros_like(label)
    for k in range(n_classes):
        against = np.stack([1 - label[:, k], label[:, k]], axis=1)
        one = one_auroc(rows.score[:, k], against, weight)
        value += one.value / n_classes
        psi += one.psi[:, (np.arange(n_classes) == k).astype(int)] / n_classes
    return Linearized(value, psi)


def one_auroc(score: Floats, label: Floats, weight: Floats) -> Linearized:
    """AUROC of one class: ``label`` (n, 2) is how much of each row is of the rest, and of it."""
    _, tie = np.unique(score, return_inverse=True)
    false, true = (np.bincount(tie, weight * part) for part in label.T)
    n_false, n_true, size = false.sum(), true.sum(), weight.sum()
    if not (n_false > 0 and n_true > 0):
        return Linearized(float("nan"), np.zeros_like(label))
    below = (false.cumsum() - false / 2) / n_false  # negatives with a lower score, ties one half
    above = 1 - (true.cumsum() - true / 2) / n_true
    value = float(true @ below) / n_true
    psi = [(above - value) * (size / n_false), (below - value) * (size / n_true)]
    return Linearized(value, np.stack(psi, axis=1)[tie])


def _slope(rows: ScoredRows, label: Floats, weight: Floats) -> Linearized:
    """Slope of the log odds of the true class over the log odds of the score."""
    x = np.stack([np.ones(len(weight)), log_odds(rows.score[:, 1])], axis=1)
    beta = np.array([0.0, 1.0])
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        curve = (x * (weight * p * (1 - p))[:, None]).T @ x
        if not np.linalg.cond(curve) < 1e12:
            return Linearized(float("nan"), np.zeros_like(label))
        step = np.linalg.solve(curve, x.T @ (weight * (label[:, 1] - p)))
        beta = beta + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-9:
            break
    else:  # perfect separation: there is no finite slope
        return Linearized(float("nan"), np.zeros_like(label))
    along = x @ np.linalg.solve(curve, np.array([0.0, 1.0])) * weight.sum()
    return Linearized(float(beta[1]), along[:, None] * (np.arange(2) - p[:, None]))


def _flag(rows: ScoredRows) -> NDArray[np.bool_]:
    """Which rows are flagged, (n, 1)."""
    assert rows.flagged is not None
    return rows.flagged[:, None]


_ANY = float("inf")

ESTIMANDS: dict[str, Estimand] = {
    "wrong": Estimand("share of wrong labels", _wrong, many_classes=True),
    "prevalence": Estimand("share of the positive class", _prevalence),
    "auroc": Estimand("area under the ROC curve", _auroc, many_classes=True),
    "tpr": Estimand("true positive rate", _share(True, 1), needs="threshold"),
    "fpr": Estimand("false positive rate", _share(True, 0), needs="threshold"),
    "ppv": Estimand("positive predictive value", _predictive(True), needs="threshold"),
    "npv": Estimand("negative predictive value", _predictive(False), needs="threshold"),
    "flagged": Estimand("share flagged", _flagged_share, needs="threshold"),
    "log_loss": Estimand("log loss", _log_loss, 0.0, _ANY, needs="probability", many_classes=True),
    "calibration": Estimand(
        "mean score minus true share", _calibration, -1.0, 1.0, needs="probability"
    ),
    "slope": Estimand("calibration slope", _slope, -_ANY, _ANY, needs="probability", skewed=False),
    "net_benefit": Estimand("net benefit", _net_benefit, -_ANY, 1.0, needs="threshold"),
}
