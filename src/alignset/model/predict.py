"""What a model predicts for the rows of a table, as another table."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from alignset.model.fitted import Model
from alignset.tables.files import check_plain
from alignset.tables.preprocess import Matrix

SHOWN = 3
"""Number of unknown levels that a note names."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """One row per row of the table.

    Its columns are the id if there is one, ``prediction``, one ``p_CLASS`` per class, and
    ``label_confidence`` if the table has observed labels.
    """

    table: pd.DataFrame
    notes: tuple[str, ...]  # which values were never seen in training


def predict_table(model: Model, frame: pd.DataFrame) -> Predictions:
    """Predict the true label of every row.

    Parameters
    ----------
    model : Model
    frame : DataFrame
        With the model's feature columns, in any order; others are ignored. A missing column is an
        error; a level that was never seen counts as "other".

    Examples
    --------
    >>> import numpy as np
    >>> from alignset.estimator import NoisyLabelClassifier
    >>> from alignset.estimator.as_model import as_model
    >>> frame = pd.DataFrame(np.eye(4), columns=list("abcd"))
    >>> clf = NoisyLabelClassifier("standard", n_configs=1, max_epochs=2, random_state=0)
    >>> model = as_model(clf.fit(frame, [0, 1, 0, 1], y_true=[0, 1, 1, None]))
    >>> predict_table(model, frame).table.columns.tolist()
    ['prediction', 'p_0', 'p_1']
    """
    probability = model.predict_proba(frame)
    columns, out = model.columns, {}
    if columns.id is not None and columns.id in frame:
        out[columns.id] = frame[columns.id].to_numpy()
    told = {"prediction": model.classes[probability.argmax(1)]}
    told |= {f"p_{name}": probability[:, k] for k, name in enumerate(model.classes.tolist())}
    if columns.label in frame:
        check_plain(frame[columns.label])
    if columns.label in frame and not frame[columns.label].isna().any():
        told["label_confidence"] = model.label_confidence(frame, frame[columns.label])
    clash = next((name for name in out if name in told), None)
    if clash is not None:
        raise ValueError(
            f"the id column {clash!r} has the name of a column that predictions have "
            f"({', '.join(told)}); give it another name in the table and fit again."
        )
    return Predictions(pd.DataFrame({**out, **told}), _notes(model, frame))


def _notes(model: Model, frame: pd.DataFrame) -> tuple[str, ...]:
    if isinstance(model.preprocessing, Matrix):
        return ()
    notes = []
    for name, levels in model.preprocessing.unknown_levels(frame).items():
        shown = ", ".join(map(repr, levels[:SHOWN]))
        shown += f" and {len(levels) - SHOWN} more" if len(levels) > SHOWN else ""
        notes.append(
            f"column {name!r} holds {len(levels)} values that were rare or never seen in "
            f"training, and count as other: {shown}."
        )
    return tuple(notes)
