"""Simulated reviewers: rows, true and observed labels, and answers with errors."""

import numpy as np

from alignset.review.answers import Answers


def simulate(rng, n=300, error=(0.1, 0.1), n_classes=2, double=0.2, adjudicated=True, noise=0.2):
    """(true, observed, Answers); ``error`` has one rate or confusion matrix per reviewer."""
    true = rng.integers(0, n_classes, n)
    other = (true + rng.integers(1, n_classes, n)) % n_classes
    observed = np.where(rng.random(n) < noise, other, true)
    confusion = [
        one if np.ndim(one) else np.full((n_classes, n_classes), one / (n_classes - 1))
        + (1 - one - one / (n_classes - 1)) * np.eye(n_classes)
        for one in error
    ]  # fmt: skip
    R = len(error)
    twice = rng.random(n) < double
    ratings = np.full((n, R), -1)
    for r in range(R):
        edges = np.cumsum(confusion[r], axis=1)[true][:, :-1]
        ratings[:, r] = (rng.random(n)[:, None] > edges).sum(1)
    order = np.argsort(rng.random((n, R)), axis=1)
    kept = order < np.where(twice, 2, 1)[:, None]
    ratings = np.where(kept, ratings, -1)
    row, who = np.nonzero(ratings >= 0)
    answers = Answers(
        row, who, ratings[row, who], np.full(n, -1), tuple(f"r{r}" for r in range(R)),
        np.arange(n_classes),
    )  # fmt: skip
    if adjudicated:
        settled = np.where(answers.disputed, true, -1)
        answers = Answers(row, who, ratings[row, who], settled, answers.names, answers.classes)
    return true, observed, answers
