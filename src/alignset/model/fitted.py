"""A trained model that reads a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score

from alignset.labels import encode_known
from alignset.learners.table import Candidates
from alignset.model.blend import BlendModel
from alignset.model.evaluation import Evaluation
from alignset.model.network import Network
from alignset.rows.features import check_sparse
from alignset.tables.columns import Columns
from alignset.tables.preprocess import Matrix, Preprocessing

BLOCK_ROWS = 100_000
"""Rows turned into a matrix at a time, so that memory stays bounded."""


@dataclass(frozen=True, eq=False)
class Model:
    """A trained model with its preprocessing; :func:`load_model` returns one.

    Attributes
    ----------
    predictor : Network or BlendModel
        What was trained, as plain arrays.
    classes : array of shape (K,)
    groups : array of shape (G,)
        With several group columns, their intersections, "a & b".
    columns : Columns
        Names of the label, truth, group, feature, id and probability columns.
    manifest : dict
        Everything the model folder says about itself: data, versions, comparison, noise rates.
    evaluation : Evaluation or None
        What cross-fitted models predicted for reviewed rows, for a report.

    Examples
    --------
    >>> from alignset.estimator import NoisyLabelClassifier
    >>> from alignset.estimator.as_model import as_model
    >>> clf = NoisyLabelClassifier("standard", n_configs=1, max_epochs=2, random_state=0)
    >>> X, y = np.eye(4), np.array([0, 1, 0, 1])
    >>> model = as_model(clf.fit(X, y, y_true=[0, 1, 1, None]))
    >>> model.predict_proba(X).shape, model.label_confidence(X, y).shape
    ((4, 2), (4,))
    """

    predictor: Network | BlendModel
    preprocessing: Preprocessing | Matrix
    classes: NDArray[Any]
    groups: NDArray[Any]
    columns: Columns
    manifest: dict[str, Any]
    evaluation: Evaluation | None = None

    @property
    def network(self) -> Network | BlendModel:
        """The predictor: its name before there were blends."""
        return self.predictor

    @property
    def candidates(self) -> Candidates | None:
        """How the candidates of a blend did on reviewed rows they did not see; None without one."""
        return self.predictor.candidates

    @property
    def noise_rates(self) -> dict[Any, float]:
        """Group -> share of wrong observed labels among its reviewed rows; NaN if not known."""
        known = self.manifest.get("noise_rates") or {}
        rates = ((group, known.get(str(group), {}).get("rate")) for group in self.groups.tolist())
        return {group: float("nan") if rate is None else float(rate) for group, rate in rates}

    def predict_proba(self, frame: Any) -> NDArray[np.float64]:
        """Probability of each true class (n, K), in the order of ``classes``."""
        return np.concatenate([self.predictor.probability(X) for X, _ in self._blocks(frame)])

    def predict(self, frame: Any) -> NDArray[Any]:
        """Return the most probable true class of each row."""
        return np.asarray(self.classes[self.predict_proba(frame).argmax(1)])

    def score(self, frame: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the predictions for labels ``y``, as scikit-learn's score does."""
        return float(accuracy_score(y, self.predict(frame), sample_weight=sample_weight))

    def label_confidence(self, frame: Any, y: Any) -> NDArray[np.float64]:
        """P(the observed label ``y`` is right | x, y) for each row: beta-hat."""
        codes = encode_known(y, self.classes, column=self.columns.label)
        n = np.shape(frame)[0]
        if len(codes) != n:
            raise ValueError(f"y has {len(codes)} entries but the table has {n} rows.")
        return np.concatenate(
            [self.predictor.confidence(X, codes[rows]) for X, rows in self._blocks(frame)]
        )

    def _blocks(self, frame: Any) -> Iterator[tuple[Any, slice]]:
        """Turn a table into matrices, a block of rows at a time; a matrix is used as it is."""
        check_sparse(frame)
        if isinstance(self.preprocessing, Matrix):
            X = self.preprocessing.transform(frame)
            yield X, slice(0, X.shape[0])
            return
        step = BLOCK_ROWS if isinstance(frame, pd.DataFrame) else 1
        for start in range(0, max(1, len(frame)), step):
            rows = slice(start, start + step)
            piece = frame.iloc[rows] if isinstance(frame, pd.DataFrame) else frame
            yield self.preprocessing.transform(piece, first_row=start), rows
