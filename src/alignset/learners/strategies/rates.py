"""Rates: joint by EM as in ``joint``, started from how often each observed label is right.

    start    q_i(y)  =  share of reviewed rows with label y~_i whose true class is y

A regression of y on x and y~, as ``joint`` starts from, finds errors that depend on x if enough
rows were reviewed. With a few dozen it finds errors that are not there; a table of K x K shares
does not, and an error model that is held to rates more firmly keeps it so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alignset.learners.base import Floats, Ints
from alignset.learners.context import Context
from alignset.learners.strategies.joint import Joint, known

RIGHT, ANY = 3.0, 0.5
"""Each share starts from so many right labels, and so many of every class."""


@dataclass(frozen=True)
class Rates(Joint):
    """A model of the class and one of the errors, which starts from the rates of wrong labels."""

    error_c: float = 0.001
    name = "rates"
    says = "as joint, started from the shares of wrong labels"
    when_wrong = "same"

    def start(self, rows: Context) -> Floats:
        """Return the first q (n, K): the shares of true classes among rows with the same label."""
        _, y, weight = rows.reviewed_rows
        count = count_pairs(rows.rows.y_seen[rows.reviewed], y, weight, rows.n_classes)
        share = count / count.sum(axis=1, keepdims=True)
        return known(rows, share[rows.rows.y_seen])


def count_pairs(seen: Ints, y: Ints, weight: Floats, n_classes: int) -> Floats:
    """Return how often each observed label (rows) was which class (columns), with a start."""
    count = np.bincount(seen * n_classes + y, weight, n_classes**2)
    return np.asarray(count.reshape(n_classes, n_classes) + ANY + RIGHT * np.eye(n_classes))
