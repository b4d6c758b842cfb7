"""Build the problem of a cell from its recipe: draw, flip, review, split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from alignset.data import Table, nhanes_pipeline
from alignset.data.synthetic import RELEASED_SEED
from alignset.noise import Noise, flip_by_features, flip_by_group, flip_uniform
from alignset.rows import Part, Problem, split
from alignset.study.datasets import Coefficients, draw_table

NOISE_KINDS = ("by_features", "by_group", "uniform", "observed")
"""How labels go wrong; "observed" takes those the data set itself carries."""

_FIRST_DRAW = {"synthetic_released": RELEASED_SEED}
"""Seed of the one data set of a study that does not redraw; 0 where it is not named."""


def build_problem(recipe: Mapping[str, Any]) -> Problem:
    """Return the rows of a recipe: those to train and validate on, undivided, and to test on.

    With ``redraw`` the seed decides data, noise coefficients and split; without it only the
    split, all replications sharing one data set with one set of wrong labels.

    Examples
    --------
    >>> recipe = {
    ...     "data": {"source": "synthetic", "rows": 500, "content": "generator:synthetic"},
    ...     "noise": {"kind": "by_features", "rate": [0.2, 0.4], "lowest": False},
    ...     "review": {"share": 0.1, "composition": None, "test": 0.2, "validation": 0.5},
    ...     "method": {"fully_reviewed": False}, "redraw": True, "seed": 0,
    ... }
    >>> problem = build_problem(recipe)
    >>> len(problem.train), int(problem.train.reviewed.sum())
    (400, 40)
    """
    data, seed, review = recipe["data"], recipe["seed"], recipe["review"]
    redraw = recipe["redraw"]
    table, coefficients = draw_table(
        data, _stream(seed, 0) if redraw else _FIRST_DRAW.get(data["source"], 0)
    )
    y_seen = flip(table, recipe["noise"], coefficients, seed=_stream(seed if redraw else 0, 1))
    return split_table(table, y_seen, review, seed)


def split_table(table: Table, y_seen: Any, review: Mapping[str, Any], seed: int) -> Problem:
    """Split; a table that is not numbers yet is preprocessed with what its training rows show."""
    how = {key: review[key] for key in ("share", "composition", "test")}
    how["validation"] = None  # whoever trains divides the rows
    if not isinstance(table.X, pd.DataFrame):
        return split(table, y_seen, seed=seed, **how)
    numbers = np.arange(len(table), dtype=np.float64)[:, None]
    problem = split(replace(table, X=numbers, feature_names=("row",)), y_seen, seed=seed, **how)
    pipeline = nhanes_pipeline(table.X)

    pipeline.fit(_rows_of(table, problem.train))

    def with_features(part: Part) -> Part:
        return replace(part, X=pipeline.transform(_rows_of(table, part)).astype(np.float32))

    test = None if problem.test is None else with_features(problem.test)
    train = with_features(problem.train)
    nobody = replace(problem.validation, X=train.X[:0])
    return replace(problem, train=train, validation=nobody, test=test)


def _rows_of(table: Table, part: Part) -> pd.DataFrame:
    found: pd.DataFrame = table.X.iloc[part.X[:, 0].astype(int)]
    return found


def flip(
    table: Table, noise: Mapping[str, Any], coefficients: Coefficients, *, seed: int
) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    """Return the observed labels; official test rows keep theirs, which nobody looks at.

    Where nothing is to be flipped, they are the table's own.

    Rates hold among the rows that can train: were the test rows flipped along, 1 000 drawn rows
    would have the rate only on average.
    """
    if noise["kind"] == "observed":
        return table.observed
    rows = np.ones(len(table), dtype=bool) if table.test is None else ~table.test
    X, y, group = table.X[rows], table.y[rows], table.group[rows]
    y_seen = table.y.astype(np.int64)
    y_seen[rows] = _flip_rows(X, y, group, table.n_classes, noise, coefficients, seed).y_seen
    return y_seen


def _flip_rows(
    X: Any,
    y: Any,
    group: Any,
    n_classes: int,
    noise: Mapping[str, Any],
    coefficients: Coefficients,
    seed: int,
) -> Noise:
    rate = noise["rate"]
    if noise["kind"] == "uniform":
        return flip_uniform(y, rate=rate, n_classes=n_classes, random_state=seed)
    if noise["kind"] == "by_group":
        return flip_by_group(y, group, rate=rate, n_classes=n_classes, random_state=seed)
    return flip_by_features(
        *(y, X, group),
        rate=rate,
        coefficients=coefficients,
        lowest=noise["lowest"],
        n_classes=n_classes,
        random_state=seed,
    )


def _stream(seed: int, which: int) -> int:
    """Derive a seed, so that data and noise do not share a stream with the split."""
    return int(np.random.SeedSequence((seed, which)).generate_state(1)[0])
