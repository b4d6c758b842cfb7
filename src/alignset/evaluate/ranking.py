"""How well scores order the classes: AUROC of NumPy arrays."""

from __future__ import annotations

from numpy.typing import ArrayLike

from alignset.evaluate import batched
from alignset.evaluate.inputs import check_inputs, warn_if_empty


def auroc(
    y_true: ArrayLike, y_score: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Area under the ROC curve; ties count one half.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two classes, the larger of ``np.unique`` being positive, or K in sorted order.
    y_score : array-like of shape (n,) or (n, K)
        Score of the positive class; or one column per class, and the result is the mean over
        classes of each against the rest.
    sample_weight : array-like of shape (n,), optional
        How much each row counts, >= 0; default one each.

    Returns
    -------
    float
        NaN, with an ``EmptyCellWarning``, if a class has no row.

    Examples
    --------
    >>> auroc(["no", "no", "yes", "yes"], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    rows = check_inputs(y_true, y_score).with_weight(sample_weight)
    warn_if_empty(rows, by_group=False)
    return float(batched.auroc_ovr(rows.prob, rows.y, rows.where))
