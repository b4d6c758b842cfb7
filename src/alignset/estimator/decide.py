"""From probabilities to decisions: a threshold, chosen on rows that were held out."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from alignset.estimator.inputs import check_index
from alignset.estimator.soft import read_truth
from alignset.evaluate import ThresholdChoice, choose_threshold
from alignset.evaluate.thresholds import check_target
from alignset.labels import EncodedLabels, NoGroupsWarning, encode_groups, is_missing
from alignset.model.thresholds import against_rest, class_code, decide
from alignset.rows.folds import assign_folds, review_strata


class DecidingMixin:
    """``predict`` and ``choose_threshold`` of a classifier that has ``predict_proba``."""

    thresholds_: ThresholdChoice | None
    _by_group: bool = False  # whether the threshold was chosen with groups

    def predict(self, X: Any, groups: Any = None) -> NDArray[Any]:
        """Return the most probable true class of each row, or what ``thresholds_`` decides.

        If thresholds differ between groups, or probabilities are recalibrated by group, pass the
        group of each row as ``groups``.
        """
        if groups is None and self._needs_groups():
            warnings.warn(
                "the threshold was chosen for probabilities that are recalibrated by group, and "
                "predict was not told the groups; pass groups= to get the rates that were chosen.",
                NoGroupsWarning,
                stacklevel=2,
            )
        probability = self.predict_proba(X, groups)  # type: ignore[attr-defined]
        codes = decide(probability, self.thresholds_, groups)
        return np.asarray(self.classes_[codes])  # type: ignore[attr-defined]

    def _needs_groups(self) -> bool:
        chosen, again = (getattr(self, name, None) for name in ("thresholds_", "recalibration_"))
        return chosen is not None and again is not None and self._by_group

    def choose_threshold(
        self,
        target: str,
        value: float,
        X: Any,
        y: Any,
        *,
        y_true: Any,
        groups: Any = None,
        per_group: bool = False,
        pos_label: Any = None,
        review_probability: Any = None,
        sample_weight: Any = None,
        units: Any = None,
        cv: int | None = 3,
        random_state: int = 0,
    ) -> Any:
        """Choose the threshold that :meth:`predict` uses from now on, and keep it.

        Parameters
        ----------
        target, value : str, float
            Such as "tpr" and 0.9; see :func:`alignset.evaluate.choose_threshold`.
        X, y, y_true, groups, review_probability, sample_weight, units
            As for :meth:`fit`; of true labels that are probabilities, the likeliest counts.
        per_group : bool, default=False
            Choose a threshold for each group; predict then needs groups, too.
        pos_label : label, optional
            The class to find; by default the second of ``classes_``.
        cv : int or None, default=3
            The rows are those of the fit: score them in so many folds, each by a copy of this
            classifier that is fitted to the others. None: they are other rows, and are scored as
            they are.
        random_state : int, default=0

        Returns
        -------
        self
            With ``thresholds_``: the threshold, and TPR, FPR, PPV, NPV and share flagged with
            intervals, overall and by group.
        """
        check_is_fitted(self)
        check_target(target, value, groups, per_group)
        check_index(X, y=y, y_true=y_true, groups=groups, sample_weight=sample_weight)
        k = class_code(self.classes_, pos_label, 1)  # type: ignore[attr-defined]
        labels = read_truth(y, y_true)[0]
        if cv is None:
            score = self.predict_proba(X, groups)[:, k]  # type: ignore[attr-defined]
        else:
            options = {"y_true": y_true, "groups": groups, "units": units}
            options |= {"review_probability": review_probability, "sample_weight": sample_weight}
            score = _crossed(self, X, y, labels, options, cv, random_state)[:, k]
        true = np.where(labels.reviewed, labels.y_true.astype(np.float64), np.nan)
        hit = against_rest(labels.y_seen, true, k)
        found = choose_threshold(
            target, value, score, hit["y"], hit["y_true"], groups=groups, per_group=per_group,
            review_probability=_known(review_probability, labels), sample_weight=sample_weight,
            units=units, random_state=random_state,
        )  # fmt: skip
        self.thresholds_, self._by_group = replace(found, of_class=k), groups is not None
        return self


def _known(probability: Any, labels: EncodedLabels) -> Any:
    """Return P(reviewed); not a number where it is not given."""
    if probability is None:
        return None
    values = np.asarray(probability, dtype=np.float64)
    return np.where(labels.reviewed | (values > 0), values, np.nan)


def _crossed(
    clf: Any,
    X: Any,
    y: Any,
    labels: EncodedLabels,
    options: dict[str, Any],
    n_folds: int,
    seed: int,
) -> NDArray[np.float64]:
    """Score every row, reviewed or not, by a copy that was fitted without it and its unit."""
    n = len(labels.y_seen)
    group = encode_groups(options["groups"], n)[1]
    reviewed = review_strata(group, labels.y_seen, labels.y_true)
    others = reviewed.max(initial=0) + 1 + 2 * group + labels.y_seen
    unit = None if options["units"] is None else encode_groups(options["units"], n)[1]
    fold = assign_folds(np.where(reviewed >= 0, reviewed, others), n_folds, seed, unit)
    score = np.empty((n, 2))
    for part in range(n_folds):
        train, held = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
        given = {name: _take(values, train) for name, values in options.items()}
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # the fit said it
            copy = clone(clf).fit(_take(X, train), _take(y, train), **given)
        found = copy.predict_proba(_take(X, held), _take(options["groups"], held))
        if not np.array_equal(copy.classes_, clf.classes_):
            raise ValueError(
                f"one of the {n_folds} folds has rows of one class only; pass fewer folds as cv."
            )
        score[held] = found
    return score


def _take(values: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of an array, a table, a sparse matrix or a list."""
    if values is None:
        return None
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if scipy.sparse.issparse(values):
        values = values.tocsr()
    if hasattr(values, "shape"):
        return values[rows]
    array = np.empty(len(values), dtype=object) if is_missing(values).ndim == 1 else None
    if array is None:
        return np.asarray(values, dtype=object)[rows].tolist()
    array[:] = values
    return array[rows].tolist()
