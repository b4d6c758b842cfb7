"""What a model predicts for the rows of a table, as another table."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from alignset.evaluate import ThresholdChoice
from alignset.model.fitted import Model
from alignset.model.thresholds import class_code, decide, group_names
from alignset.rows.listing import first_few
from alignset.tables.drift import column_drift, far_values
from alignset.tables.files import check_plain
from alignset.tables.preprocess import Matrix
from alignset.tables.profile import read_columns

SHOWN = 3
"""Number of unknown levels that a note names."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """One row per row of the table.

    Its columns are the id if there is one, ``prediction``, one ``p_CLASS`` per class, and
    ``label_confidence`` if the table has observed labels.
    """

    table: pd.DataFrame
    notes: tuple[str, ...]  # values that training never held, and columns that have changed


def predict_table(
    model: Model,
    frame: pd.DataFrame,
    *,
    threshold: float | None = None,
    positive: str | None = None,
) -> Predictions:
    """Predict the true label of every row.

    Parameters
    ----------
    model : Model
    frame : DataFrame
        With the model's feature columns, in any order; others are ignored. A missing column is an
        error; a level that was never seen counts as "other".
    threshold : float, optional
        Predict one of two classes, ``positive``, if its probability reaches this; by default, the
        model's own thresholds decide if it has any, else the more probable class.
    positive : str, optional
        By default the class that the model's threshold is of, else the second.

    Examples
    --------
    >>> import numpy as np
    >>> from alignset.estimator import NoisyLabelClassifier
    >>> from alignset.estimator.as_model import as_model
    >>> frame, y = pd.DataFrame(np.eye(4)[np.arange(40) % 4]).add_prefix("x"), np.arange(40) % 2
    >>> clf = NoisyLabelClassifier("standard", n_configs=1, max_epochs=2, random_state=0)
    >>> model = as_model(clf.fit(frame, y, y_true=[1, *y[1:30], *[None] * 10]))
    >>> predict_table(model, frame).table.columns.tolist()
    ['prediction', 'p_0', 'p_1']
    """
    groups = model.groups_of(frame)
    probability = model.predict_proba(frame, groups)
    columns, out = model.columns, {}
    if columns.id is not None and columns.id in frame:
        out[columns.id] = frame[columns.id].to_numpy()
    chosen = model.thresholds
    if threshold is not None:
        of_class = class_code(model.classes, positive, 1 if chosen is None else chosen.of_class)
        chosen = ThresholdChoice("given", threshold, threshold, of_class=of_class)
    told = {"prediction": model.classes[decide(probability, chosen, groups)]}
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
    notes = (*_notes(model, frame), *_strange(model, frame), *_decided(model, frame, chosen))
    if model.recalibration is not None and groups is None:
        names = " and ".join(map(repr, model.columns.groups)) or "its groups"
        notes += (f"the table lacks {names}, so probabilities are not recalibrated by group.",)
    return Predictions(pd.DataFrame({**out, **told}), notes)


def _decided(model: Model, frame: pd.DataFrame, chosen: ThresholdChoice | None) -> tuple[str, ...]:
    """Say what decided, and which groups have no threshold of their own."""
    if chosen is None:
        return ()
    what = repr(str(model.classes[chosen.of_class]))
    if not chosen.by_group:
        return (f"{what} is predicted from a probability of {chosen.threshold:.4g}.",)
    told = ", ".join(f"{cut:.4g} in group {name!r}" for name, cut in chosen.by_group.items())
    names = {str(name) for name in group_names(model.groups_of(frame), len(frame))}
    new = sorted(names - {str(name) for name in chosen.by_group})
    said = [f"{what} is predicted from a probability of {told}."]
    if new:
        others = ", ".join(map(repr, new[:SHOWN]))
        said.append(f"groups without a threshold get {chosen.threshold:.4g}: {others}.")
    return tuple(said)


def _strange(model: Model, frame: pd.DataFrame) -> tuple[str, ...]:
    """Say which values are far outside what training held, and which columns have changed."""
    if model.profile is None or isinstance(model.preprocessing, Matrix):
        return ()
    held = read_columns(frame, model.preprocessing)
    said = [str(one) for one in far_values(model.profile, held)]
    changed = [c for c in column_drift(model.profile, held) if c.much]
    if changed:
        told = first_few([f"{c.name!r} ({c.how})" for c in changed], SHOWN, "; ")
        count = "1 column differs" if len(changed) == 1 else f"{len(changed)} columns differ"
        said.append(f"{count} much from the training table: {told}; `alignset monitor` tells more.")
    return tuple(said)


def _notes(model: Model, frame: pd.DataFrame) -> tuple[str, ...]:
    if isinstance(model.preprocessing, Matrix):
        return ()
    notes = []
    for name, levels in model.preprocessing.unknown_levels(frame).items():
        shown = first_few([repr(level) for level in levels], SHOWN)
        notes.append(
            f"column {name!r} holds {len(levels)} values that were rare or never seen in "
            f"training, and count as other: {shown}."
        )
    for name, cells in model.preprocessing.unread_cells(frame).items():
        some = ", ".join(map(repr, dict.fromkeys(cells[:SHOWN])))
        notes.append(
            f"column {name!r}: cells that are no number or date count as missing: {len(cells)}, "
            f"such as {some}."
        )
    return tuple(notes)
