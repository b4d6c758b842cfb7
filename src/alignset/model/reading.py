"""Read a table as the table that a model was trained on was read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from alignset.model.fitted import Model
from alignset.tables.bins import add_bins
from alignset.tables.dialect import FOUND_OUT, NA_WORDS, Dialect, Tell, warn
from alignset.tables.files import read_table
from alignset.tables.preprocess import Matrix
from alignset.tables.spelling import as_known, fill_groups, read_names, unify_labels


def read_for_model(
    model: Model,
    path: Path,
    *,
    dialect: Dialect = FOUND_OUT,
    id: str | None = None,
    label: str | None = None,
    truth: str | None = None,
    tell: Tell = warn,
) -> pd.DataFrame:
    """Read a table for a model: ids as text, labels as its classes, groups as in training.

    ``id``, ``label`` and ``truth`` name other columns than those in training.
    """
    columns = model.columns
    kept: list[str] = [name for name in (id or columns.id,) if name is not None]
    label, truth = label or columns.label, truth or columns.truth
    classes: list[Any] = model.classes.tolist()
    if any(name in NA_WORDS for name in classes):
        kept += [name for name in (label, truth) if name is not None]
    texts = _texts(model)
    frame = read_table(path, as_text=[*kept, *texts], dialect=dialect, tell=tell)
    frame = _read_texts(frame, texts, model, dialect, tell)
    frame = unify_labels(frame, label, truth, classes=classes, tell=tell)
    bins = {name: edges for name, edges in _bins(model).items() if name in frame}
    frame = add_bins(frame, bins)
    missing = model.manifest.get("missing_group")
    if missing is not None:
        frame = fill_groups(frame, columns.groups, str(missing), tell)
    return frame


def _texts(model: Model) -> list[str]:
    """Return the columns that were read as text in training."""
    found = model.manifest.get("texts") or []
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ValueError("the model's columns of text are not what alignset writes.")
    return found


def _read_texts(
    frame: pd.DataFrame, texts: Sequence[str], model: Model, dialect: Dialect, tell: Tell
) -> pd.DataFrame:
    """Read columns of text as in training, with the names that the model knows."""
    frame = read_names(frame, texts, keep_na=dialect.keep_na)
    made = model.preprocessing
    for c in () if isinstance(made, Matrix) else made.categories:
        if c.name in texts and c.name in frame:
            frame = as_known(frame, c.name, c.levels, tell)
    return frame


def _bins(model: Model) -> dict[str, tuple[float, ...]]:
    """Return the ranges that made groups in training."""
    found = model.manifest.get("bins") or {}
    if not isinstance(found, dict) or not all(map(_are_edges, found.values())):
        raise ValueError("the model's ranges are not what alignset writes.")
    return {str(name): tuple(float(edge) for edge in edges) for name, edges in found.items()}


def _are_edges(edges: Any) -> bool:
    numbers = isinstance(edges, Sequence) and not isinstance(edges, str)
    return (
        numbers
        and all(isinstance(edge, int | float) and math.isfinite(edge) for edge in edges)
        and list(edges) == sorted(set(edges))
    )
