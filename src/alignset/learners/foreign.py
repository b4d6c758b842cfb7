"""Any scikit-learn classifier as a learner: LightGBM, XGBoost, CatBoost, a Pipeline."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from alignset.learners.base import (
    Floats,
    Ints,
    Learner,
    Predictor,
    constant,
    log_odds,
    spread_classes,
)

VERBOSE = {"verbose", "verbosity"}
"""What tells LightGBM how much to print."""

_one_at_a_time = threading.RLock()


def _turn(model: Any) -> AbstractContextManager[Any]:
    """Let a model that may spread its own work wait for its turn.

    To do so, scikit-learn sets the filters of warnings anew, which all threads share.
    """
    parts = (model, *model.get_params().values())
    spreads = any(type(p).__module__.startswith("sklearn.") and hasattr(p, "n_jobs") for p in parts)
    return _one_at_a_time if spreads else nullcontext()


@dataclass(frozen=True, eq=False)
class ForeignPredictor(Predictor):
    """A fitted classifier that is not part of alignset."""

    model: Any
    present: Ints  # the classes that occurred
    n_classes: int
    n_rows: int

    def log_odds(self, X: Any) -> Floats:
        """Return centred log-odds (n, K)."""
        with _turn(self.model):
            said = np.asarray(self.model.predict_proba(X), dtype=np.float64)
        odds = log_odds(said / said.sum(axis=1, keepdims=True))
        return spread_classes(odds, self.present, self.n_classes, self.n_rows)


@dataclass(frozen=True, eq=False)
class Foreign(Learner):
    """A classifier with ``fit`` and ``predict_proba``, cloned for every fit."""

    model: Any
    takes_weight: bool  # type: ignore[misc]
    name: str = "own"  # type: ignore[misc]

    @classmethod
    def of(cls, estimator: Any) -> Foreign:
        """Check a classifier, and see whether it takes ``sample_weight``."""
        kind = type(estimator).__name__
        if isinstance(estimator, type):
            raise ValueError(
                f"estimator must be a classifier, got the class {estimator.__name__}; "
                f"pass {estimator.__name__}()."
            )
        if not (hasattr(estimator, "fit") and hasattr(estimator, "predict_proba")):
            raise ValueError(
                f"estimator must have fit and predict_proba, got {estimator!r}; wrap a classifier "
                "that only decides in sklearn.calibration.CalibratedClassifierCV."
            )
        if not is_classifier(estimator):
            raise ValueError(f"estimator must be a classifier, got {estimator!r}.")
        last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
        return cls(estimator, has_fit_parameter(last, "sample_weight"), kind)

    def fit(self, X: Any, y: Ints, weight: Floats, n_classes: int, *, seed: int) -> Predictor:
        """Fit a copy; weights that are all equal are not passed on."""
        present, codes = np.unique(y, return_inverse=True)
        if len(present) < 2:
            return constant(y, weight, n_classes)
        model = clone(self.model)
        names = [p for p in model.get_params() if p.split("__")[-1] == "random_state"]
        unset = {p: seed % 2**31 for p in names if model.get_params()[p] is None}
        if type(model).__module__.startswith("lightgbm.") and not VERBOSE & {*model.get_params()}:
            unset["verbose"] = -1  # or it prints several lines in each of fifty fits
        model.set_params(**unset)
        with _turn(model):
            model.fit(X, codes, **self._weights(model, weight))
        return ForeignPredictor(model, present, n_classes, len(y))

    def _weights(self, model: Any, weight: Floats) -> dict[str, Any]:
        if np.ptp(weight) <= 1e-12 * abs(weight).max():
            return {}
        if not self.takes_weight:
            raise ValueError(
                f"{self.name} does not take sample_weight, and rows are weighted here (by the "
                "review, by sample_weight, or by the label strategy); use the strategies "
                "'observed', 'reviewed' or 'both' without weights, or another classifier."
            )
        if isinstance(model, Pipeline):
            return {f"{model.steps[-1][0]}__sample_weight": weight}
        return {"sample_weight": weight}
