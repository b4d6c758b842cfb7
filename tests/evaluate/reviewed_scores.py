"""Scores, wrong labels and a review, for the tests of ``alignset.evaluate.estimate``."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np


def reviewed_scores(seed=0, n=1200, reviewed=150, noise=0.1, n_groups=2):
    """Rows of two classes; ``y_true`` is NaN where a row was not reviewed."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, n_groups, n)
    z = rng.normal(size=n)
    truth = (rng.random(n) < 1 / (1 + np.exp(1 - 0.5 * group - 1.6 * z))).astype(int)
    score = 1 / (1 + np.exp(1 - 1.2 * z - 0.6 * rng.normal(size=n)))
    y = np.where(rng.random(n) < noise * (0.5 + group), 1 - truth, truth)
    seen = np.zeros(n, dtype=bool)
    seen[rng.permutation(n)[:reviewed]] = True
    return SimpleNamespace(
        score=score,
        y=y,
        truth=truth,
        y_true=np.where(seen, truth, np.nan),
        seen=seen,
        group=group,
        rng=rng,
        args=(score, y, np.where(seen, truth, np.nan)),
    )
