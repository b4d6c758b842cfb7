"""The plain models that anyone would try first: the opponents of every method."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse
from threadpoolctl import threadpool_limits

from alignset.learners import LEARNERS, STRATEGIES, Candidate, Linear, Predictor
from alignset.learners.context import Context
from alignset.rows import Part
from alignset.rows.raw import AS_THEY_ARE, RawColumns
from alignset.rows.selection import review_weights

PLAIN_LABELS, PLAIN_LEARNERS = ("observed", "reviewed", "both"), ("linear", "trees")
PLAIN = {
    f"{labels}_{learner}": Candidate(STRATEGIES[labels], LEARNERS[learner])
    for learner in PLAIN_LEARNERS
    for labels in PLAIN_LABELS
}
"""Name, as ``alignset fit --method`` takes it -> labels and learner."""


def plain_models(
    rows: Part,
    n_classes: int,
    n_groups: int,
    *,
    seed: int,
    raw: RawColumns = AS_THEY_ARE,
    advance: Callable[[str], None] | None = None,
) -> dict[str, Predictor]:
    """Fit linear models and trees to observed, reviewed and both labels; nothing is blended.

    What a learner chooses by cross-validation it chooses here, on the rows given. Trees take no
    sparse rows, and read the table's columns if ``raw`` says which. ``advance`` is told which
    learner comes next.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> true = (X[:, 0] > 0).astype(np.int64)
    >>> reviewed = np.where(np.arange(40) % 2, true, -1)
    >>> rows = Part(X, true, reviewed, np.zeros(40, np.int64))
    >>> list(plain_models(rows, 2, 1, seed=0))[:3]
    ['observed_linear', 'reviewed_linear', 'both_linear']
    """
    sparse, found = scipy.sparse.issparse(rows.X), {}
    weight = np.ones(len(rows))
    if rows.probability is not None:
        weight = review_weights(rows, rows.probability)
    for name in PLAIN_LEARNERS:
        learner = LEARNERS[name].reading(raw)
        if sparse and not learner.takes_sparse:
            continue
        if advance is not None:
            advance("plain trees" if name == "trees" else f"plain {name} models")
        with threadpool_limits(1):  # the number of cores changes no bit
            settled = learner.settle(rows.X, rows.y_seen, rows.weights, n_classes, seed=seed)
            context = Context(rows, n_classes, n_groups, learner, settled, Linear(), seed, weight)
            for labels in PLAIN_LABELS:
                found[f"{labels}_{name}"] = STRATEGIES[labels].fit(context)
    return found
