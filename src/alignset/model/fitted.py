"""A trained model that reads a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score

from alignset.evaluate import ThresholdChoice
from alignset.labels import encode_known
from alignset.learners.recalibration import GroupCalibration
from alignset.learners.table import Candidates
from alignset.model.blend import BlendModel
from alignset.model.evaluation import Evaluation
from alignset.model.network import Network
from alignset.model.recalibration import recalibrate
from alignset.model.thresholds import decide
from alignset.rows.features import check_sparse
from alignset.tables.columns import Columns
from alignset.tables.preprocess import Matrix, Preprocessing
from alignset.tables.profile import Profile

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
        What cross-fitted models predicted for rows they did not see, for a report.
    thresholds : ThresholdChoice or None
        What decides between two classes; without, the more probable one is predicted.
    recalibration : GroupCalibration or None
        How probabilities are changed where the group of a row is known.
    profile : Profile or None
        What the columns of the training table held, to compare later ones with.

    Examples
    --------
    >>> from alignset.estimator import NoisyLabelClassifier
    >>> from alignset.estimator.as_model import as_model
    >>> clf = NoisyLabelClassifier("standard", n_configs=1, max_epochs=2, random_state=0)
    >>> X, y = np.eye(40), np.arange(40) % 2
    >>> model = as_model(clf.fit(X, y, y_true=[1, *y[1:30], *[None] * 10]))
    >>> model.predict_proba(X).shape, model.label_confidence(X, y).shape
    ((40, 2), (40,))
    """

    predictor: Network | BlendModel
    preprocessing: Preprocessing | Matrix
    classes: NDArray[Any]
    groups: NDArray[Any]
    columns: Columns
    manifest: dict[str, Any]
    evaluation: Evaluation | None = None
    thresholds: ThresholdChoice | None = None
    recalibration: GroupCalibration | None = None
    profile: Profile | None = None

    def __repr__(self) -> str:
        what = f"{self.predictor.method_name}, {self.predictor.n_features} features"
        return (
            f"<alignset model: {what}, classes {', '.join(map(repr, self.classes.tolist()))}, "
            f"groups {', '.join(map(repr, self.groups.tolist()))}>"
        )

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

    def predict_proba(self, frame: Any, groups: Any = None) -> NDArray[np.float64]:
        """Probability of each true class (n, K), in the order of ``classes``.

        With ``groups``, (n,) or (n, m) as in training, those of groups whose probabilities were
        found to be off are recalibrated; :meth:`groups_of` reads them from a table.
        """
        found = np.concatenate([self.predictor.probability(X) for X, _ in self._blocks(frame)])
        return recalibrate(found, self.recalibration, self.groups, groups)

    def predict(self, frame: Any, groups: Any = None) -> NDArray[Any]:
        """Return the most probable true class of each row, or what ``thresholds`` decides.

        Groups are read from the table where it has the model's group columns.
        """
        groups = self.groups_of(frame) if groups is None else groups
        codes = decide(self.predict_proba(frame, groups), self.thresholds, groups)
        return np.asarray(self.classes[codes])

    def groups_of(self, frame: Any) -> NDArray[Any] | None:
        """Return the group columns of a table (n, m); None if it has not got them all."""
        names = list(self.columns.groups)
        if not names or not isinstance(frame, pd.DataFrame) or not set(names) <= set(frame):
            return None
        return frame[names].to_numpy(object)

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
