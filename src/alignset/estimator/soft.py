"""Rows of uncertain class, as a review with imperfect reviewers leaves them.

A row whose true class is k with probability q_k becomes one copy per class, with q_k of its
weight, in one unit: copies train and validate together, and every sum over rows is the expected
one. A row whose class is certain stays one row, and the fit is the same to the last bit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.labels import EncodedLabels, encode_labels, encode_shares
from alignset.rows import Part

NEGLIGIBLE = 1e-3
"""A class less probable than this gets no copy; the others share its part."""

Floats = NDArray[np.float64]


def read_truth(y: Any, y_true: Any) -> tuple[EncodedLabels, Floats | None]:
    """Encode labels, and the probabilities (n, K) of true classes if that is what was passed."""
    if y_true is not None and np.ndim(y_true) == 2 and np.shape(y_true)[-1] > 1:
        return encode_shares(y, y_true)
    return encode_labels(y, y_true), None


def expand_soft(rows: Part, shares: Floats | None) -> Part:
    """Return rows with one copy per possible class; the very same rows if all are certain.

    Parameters
    ----------
    rows : Part
        Its true labels say which rows were reviewed.
    shares : float array of shape (n, K), optional
        Probability of each class; used on reviewed rows.

    Examples
    --------
    >>> y = np.array([0, 1, 1])
    >>> q = np.array([[0.75, 0.25], [0.0, 1.0], [np.nan, np.nan]])
    >>> part = expand_soft(Part(np.eye(3), y, np.array([0, 1, -1]), 0 * y), q)
    >>> part.y_true, part.weight, part.unit
    (array([ 0,  1,  1, -1]), array([0.75, 0.25, 1.  , 1.  ]), array([0, 0, 1, 2]))
    """
    if shares is None:
        return rows
    q = np.where(shares >= NEGLIGIBLE, shares, 0.0)
    q = q / np.where(rows.reviewed, q.sum(axis=1), 1.0)[:, None]
    q[~rows.reviewed] = 0.0
    if not ((q > 0).sum(axis=1) > 1).any():
        return rows
    place, label = np.nonzero(q)
    open_rows = np.flatnonzero(~rows.reviewed)
    each = np.concatenate([place, open_rows])
    true = np.concatenate([label, rows.y_true[open_rows]])
    share = np.concatenate([q[place, label], np.ones(len(open_rows))])
    order = np.argsort(each, kind="stable")
    each, true, share = each[order], true[order], share[order]
    unit = np.arange(len(rows)) if rows.unit is None else rows.unit
    found = rows.take(each)
    return replace(found, y_true=true, weight=found.weights * share, unit=unit[each], share=share)
