"""Build the problem of a cell from its recipe: draw, flip, review, split."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from msgspec.structs import asdict

from alignset.data import Table, nhanes_pipeline
from alignset.data.synthetic import RELEASED_SEED
from alignset.noise import flip_by_features, flip_by_group, flip_uniform
from alignset.rows import Problem, split
from alignset.study.datasets import Coefficients, draw_table
from alignset.study.recipe import NoiseSpec, Recipe


def build_problem(recipe: Recipe) -> Problem:
    """Return the rows of a recipe: those to train and validate on, undivided, and those to test on.

    A table that is not numeric yet is turned into numbers by what its training rows show.

    With ``redraw`` the seed decides data, noise coefficients and split; without it only the
    split, and all replications share one data set with the same wrong labels.

    Examples
    --------
    >>> from alignset.study.recipe import DataSpec, MethodSpec, NoiseSpec, ReviewSpec
    >>> recipe = Recipe(
    ...     data=DataSpec(source="synthetic", rows=500), method=MethodSpec(class_="Standard"),
    ...     noise=NoiseSpec(kind="by_features", rate=(0.2, 0.4), lowest=False),
    ...     review=ReviewSpec(share=0.1, test=0.2, validation=0.5),
    ... )
    >>> problem = build_problem(recipe)
    >>> len(problem.train), int(problem.train.reviewed.sum())
    (400, 40)
    """
    seed, drawn = recipe.seed, recipe.seed if recipe.redraw else 0
    first = RELEASED_SEED if recipe.data.source == "synthetic_released" else 0
    table, coefficients = draw_table(recipe.data, _stream(seed, 0) if recipe.redraw else first)
    y_seen = flip(table, recipe.noise, coefficients, seed=_stream(drawn, 1))
    pipeline = nhanes_pipeline(table.X) if isinstance(table.X, pd.DataFrame) else None
    how = {**asdict(recipe.review), "validation": None}  # rows are divided later, for training
    return split(table, y_seen, pipeline=pipeline, seed=seed, **how)


def flip(
    table: Table, noise: NoiseSpec, coefficients: Coefficients, *, seed: int
) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    """Return the observed labels; official test rows keep theirs, which are never used.

    If no label is to be flipped, they are the table's own.

    Rates hold for the rows that can train: if the test rows were flipped as well, 1 000 drawn
    rows would have the rate only on average.
    """
    if noise.kind == "observed":
        return table.observed
    rows = np.ones(len(table), dtype=bool) if table.test is None else ~table.test
    X, y, group = table.X[rows], table.y[rows], table.group[rows]
    how: dict[str, Any] = {
        "rate": noise.rate, "n_classes": table.n_classes, "random_state": seed,
    }  # fmt: skip
    if noise.kind == "uniform":
        flipped = flip_uniform(y, **how)
    elif noise.kind == "by_group":
        flipped = flip_by_group(y, group, **how)
    else:
        how |= {"coefficients": coefficients, "lowest": bool(noise.lowest)}
        flipped = flip_by_features(y, X, group, **how)
    y_seen = table.y.astype(np.int64)
    y_seen[rows] = flipped.y_seen
    return y_seen


def _stream(seed: int, which: int) -> int:
    """Derive a seed, so that data and noise do not share a stream with the split."""
    return int(np.random.SeedSequence((seed, which)).generate_state(1)[0])
