"""The difference between two scores of the same rows: exactly that of their two estimates.

``estimate_difference`` makes soft labels, and tunes lambda, for the difference. That is a few
percent more precise, but its number is not the difference of the two estimates that a reader sees
beside it, at times not even in sign. Here each score keeps the soft labels and the lambda of its
own estimate; what row i adds to the error of the difference is what it adds to the one less what
it adds to the other (see ``alignset.evaluate.difference``):

    theta_b - theta_a,    T_i = T_i^b - T_i^a
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from alignset.evaluate.difference import (
    Difference,
    ReviewedSample,
    estimate_by_difference,
    moments,
)
from alignset.evaluate.estimands import ESTIMANDS
from alignset.evaluate.estimate_rows import EstimateRows
from alignset.evaluate.estimates import make_estimate
from alignset.evaluate.imputed import pool_differences
from alignset.evaluate.result import Estimate

Floats = NDArray[np.float64]


def estimate_apart(
    metric: str, first: EstimateRows, second: EstimateRows, *, level: float = 0.95
) -> Estimate:
    """Estimate the metric of the second score minus that of the first, over all rows.

    Both are the same rows with the same true labels, each with one score and soft labels of its
    own; ``metric`` is one that has an influence function.
    """
    sets = zip(first.imputed or (first,), second.imputed or (second,), strict=True)
    pairs = [(_estimated(metric, a), _estimated(metric, b)) for a, b in sets]
    found = pool_differences([_apart(a, b) for a, b in pairs])
    what = ESTIMANDS[metric]
    ends = (pool_differences([pair[which].found for pair in pairs]).value for which in (0, 1))
    a, b = (float(np.clip(value, what.low, what.high)) for value in ends)
    whole = np.ones(len(first.true), dtype=bool)
    title = f"{metric}, second score minus first"
    found = replace(found, value=b - a)
    return make_estimate(title, metric, "all", first, whole, found, level, paired=True)


@dataclass(frozen=True, eq=False)
class _Estimated:
    """One score's estimate, and what its rows add to the error."""

    sample: ReviewedSample
    psi: Floats  # (n, K), of a row that is found to be of class k
    lean: Floats  # (n,), lambda psi^q
    found: Difference


def _estimated(metric: str, rows: EstimateRows) -> _Estimated:
    sample = rows.sample(np.ones(len(rows.true), dtype=bool))
    linearise, (scored,) = ESTIMANDS[metric].linearise, rows.scored
    of_true = linearise(scored, sample.label, sample.expanded)
    of_soft = linearise(scored, sample.soft, sample.size)
    reviewed = linearise(scored, sample.soft, sample.expanded).value
    found = estimate_by_difference(sample, of_true, of_soft, reviewed)
    return _Estimated(sample, of_true.psi, found.power * (sample.soft * of_soft.psi).sum(1), found)


def _apart(a: _Estimated, b: _Estimated) -> Difference:
    # which of the two is taken from which must not change the width
    sample = replace(a.sample, belief=(a.sample.belief + b.sample.belief) / 2)
    psi, lean = b.psi - a.psi, b.lean - a.lean
    return Difference(
        b.found.value - a.found.value,
        moments(sample, psi, lean, 1.0),
        (a.found.power + b.found.power) / 2,
        b.found.alone - a.found.alone,
        moments(sample, psi, lean, 0.0),
    )
