"""Build the problem of a cell from its recipe: draw, flip, review, split."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from alignset.data import Table
from alignset.data.synthetic import RELEASED_SEED
from alignset.experiment.datasets import Coefficients, draw_table
from alignset.noise import Noise, flip_by_features, flip_by_group, flip_uniform
from alignset.split import Problem, split

NOISE_KINDS = ("by_features", "by_group", "uniform")

_FIRST_DRAW = {"synthetic_released": RELEASED_SEED}
"""Seed of the one data set of a study that does not redraw; 0 where it is not named."""


def build_problem(recipe: Mapping[str, Any]) -> Problem:
    """Return the problem of a recipe.

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
    (380, 20)
    """
    data, seed, review = recipe["data"], recipe["seed"], recipe["review"]
    redraw = recipe["redraw"]
    table, coefficients = draw_table(
        data, _stream(seed, 0) if redraw else _FIRST_DRAW.get(data["source"], 0)
    )
    y_seen = flip(table, recipe["noise"], coefficients, seed=_stream(seed if redraw else 0, 1))
    problem = split(
        table,
        y_seen,
        share=review["share"],
        composition=review["composition"],
        test=review["test"],
        validation=review["validation"],
        seed=seed,
    )
    return problem.fully_reviewed() if recipe["method"]["fully_reviewed"] else problem


def flip(
    table: Table, noise: Mapping[str, Any], coefficients: Coefficients, *, seed: int
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the observed labels; official test rows keep theirs, which nobody looks at.

    Rates hold among the rows that can train: were the test rows flipped along, 1 000 drawn rows
    would have the rate only on average.
    """
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
