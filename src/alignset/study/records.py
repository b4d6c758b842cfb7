"""A cell of a grid, its key, and the record of its result: plain data, without torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

METRICS = (
    "auroc",
    "aueoc",
    "hm",
    "aueoc_fpr",
    "aueoc_released",
    "hm_released",
    "worst_group_auroc",
    "auroc_majority",
    "auroc_minority",
    "brier",
    "calibration_error",
)
"""What is measured on the test rows of every cell; ``aueoc`` and ``hm`` are the paper's."""


@dataclass(frozen=True, eq=False)
class Cell:
    """One (experiment, protocol, data set, setting, method, seed) of a grid.

    Parameters
    ----------
    experiment, protocol, dataset, method, x_name : str
        Names it is reported under.
    x : float
        Its place on the horizontal axis.
    seed : int
        Number of the replication.
    recipe : mapping
        Everything that decides the result, as plain JSON data: workers build data, method and
        trainer from it and from nothing else, so the key cannot leave anything out.

    Examples
    --------
    >>> cell = Cell("noise", "as-written", "toy", "standard", "rate", 0.3, 0, {"version": 1})
    >>> cell.key[:12]
    'b6a2fab83278'
    """

    experiment: str
    protocol: str
    dataset: str
    method: str
    x_name: str
    x: float
    seed: int
    recipe: Mapping[str, Any]

    @cached_property
    def key(self) -> str:
        """SHA-256 of the names and the recipe."""
        return hashlib.sha256(as_json([*self.identity, self.recipe]).encode()).hexdigest()

    @property
    def identity(self) -> tuple[str, str, str, str, str, float, int]:
        """What a row of the table of results is known by."""
        return (
            *(self.experiment, self.protocol, self.dataset, self.method),
            *(self.x_name, self.x, self.seed),
        )

    @property
    def setting(self) -> dict[str, Any]:
        """What the experiment varies: noise, review and fixed hyperparameters."""
        fixed = self.recipe["search"]["fixed"]
        return {"noise": self.recipe["noise"], "review": self.recipe["review"], "config": fixed}

    @property
    def replicas(self) -> int:
        """Number of trainings the cell takes."""
        return int(self.recipe["search"]["configs"]) * int(fitting_of(self.recipe)["folds"])


@dataclass(frozen=True, eq=False)
class Record:
    """What became of a cell.

    Parameters
    ----------
    cell : Cell
    status : {"done", "failed"}
    reason : str
        Why it failed.
    metrics : mapping
        Of ``METRICS``, on the test rows; empty if it failed.
    config : mapping
        Hyperparameters chosen on the validation rows.
    score : float or None
        Validation score of that choice.
    epochs : list of int
        Epochs trained in every stage.
    seconds : float
        The cell's share of the time its cohort took.
    """

    cell: Cell
    status: Literal["done", "failed"]
    reason: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    config: Mapping[str, float] = field(default_factory=dict)
    score: float | None = None
    epochs: tuple[int, ...] = ()
    seconds: float = 0.0


def fitting_of(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a recipe's method is fitted; what it does not say is one search, unweighted."""
    return {"folds": 1, "ensemble": 1, "review_weights": None, **recipe.get("fitting", {})}


def as_json(value: Any) -> str:
    """Write plain data as JSON in one canonical way."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
