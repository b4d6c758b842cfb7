"""Test vectors: made-up rows and a model's predictions for them, replayed when it is loaded.

None of them is a row of the training table; values come from what the preprocessing learned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from alignset.model.fitted import Model
from alignset.tables.codes import CodeColumn
from alignset.tables.preprocess import Category, Matrix, Number, Preprocessing

N_ROWS = 8
TOLERANCE = 1e-6

_STEPS = (0.0, 1.0, -1.0, 2.5, -0.4, 0.3, -2.0)
"""Distances from the mean, in units of the scale; in one more row every value is missing."""


def make_vectors(model: Model) -> dict[str, Any]:
    """Return made-up rows and the model's predictions, as plain data that JSON can hold."""
    prep, k = model.preprocessing, len(model.classes)
    made = _matrix(model, prep) if isinstance(prep, Matrix) else _rows(prep)
    labels = [i % k for i in range(N_ROWS)]
    return {"rows": made, "labels": labels, **_answers(model, made, labels)}


def check_vectors(model: Model, vectors: Any) -> None:
    """Refuse a model whose predictions differ from those it gave when it was saved."""
    try:
        expected = {name: np.array(vectors[name], dtype=np.float64) for name in _ANSWERS}
        with np.errstate(all="ignore"):  # whatever a spoilt model answers is compared
            found = _answers(model, vectors["rows"], vectors["labels"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueError(f"the test vectors cannot be replayed ({error})") from None
    for name in _ANSWERS:
        off = np.abs(np.array(found[name]) - expected[name]).max()
        if not off <= TOLERANCE:
            raise ValueError(
                f"the test vectors no longer give the {name} they gave when the model was saved "
                f"(off by {off:.2g})"
            )


_ANSWERS = ("probability", "confidence")


def _answers(model: Model, rows: Any, labels: list[int]) -> dict[str, Any]:
    matrix = isinstance(model.preprocessing, Matrix)
    table = np.array(rows, dtype=np.float64) if matrix else pd.DataFrame(rows)
    y = model.classes[np.array(labels, dtype=np.int64)]
    return {
        "probability": model.predict_proba(table).tolist(),
        "confidence": model.label_confidence(table, y).tolist(),
    }


def _matrix(model: Model, prep: Matrix) -> Any:
    scale = model.predictor.scale
    steps = np.resize(_STEPS, (N_ROWS, prep.n_features + 1))[:, : prep.n_features]
    return (scale.centre + steps * scale.spread).tolist()


def _rows(prep: Preprocessing) -> dict[str, list[Any]]:
    numbers = {c.name: _numbers(c, shift) for shift, c in enumerate(prep.numbers)}
    levels = {c.name: _levels(c, shift) for shift, c in enumerate(prep.categories)}
    codes = {c.name: _codes(c, shift) for shift, c in enumerate(prep.codes)}
    return numbers | levels | codes | {c.name: _TEXTS for c in prep.words}


def _numbers(c: Number, shift: int) -> list[Any]:
    steps = np.roll(_STEPS, shift)
    values: list[Any]
    if c.kind == "boolean":
        values = (steps > 0).tolist()
    elif c.kind == "date":
        days = np.round(c.mean + steps * c.scale).astype("timedelta64[D]")
        values = (np.datetime64(c.origin or "1970-01-01", "D") + days).astype(str).tolist()
    else:
        values = (c.mean + steps * c.scale).tolist()
    return [*values, None]


_TEXTS = ["one", "one two", "three", "", "four five six", "ONE seven", "eight, nine", None]
"""Made-up text; its words are hashed."""


def _codes(c: CodeColumn, shift: int) -> list[Any]:
    """Return codes that have the marks, one or two in a cell."""
    known = [*(mark.removeprefix("=").partition("-")[0] for mark in c.marks), "ZZZZ"]
    pairs = [(known[(i + shift) % len(known)], known[3 * i % len(known)]) for i in range(N_ROWS)]
    return [*(one if i % 2 else f"{one}; {two}" for i, (one, two) in enumerate(pairs[:-1])), None]


def _levels(c: Category, shift: int) -> list[Any]:
    known = [*c.levels, "a level that was never seen"]
    return [*(known[(i + shift) % len(known)] for i in range(N_ROWS - 1)), None]
