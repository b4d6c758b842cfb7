"""A cell of a grid, its key, and the record of its result: plain data, without torch."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import msgspec

from alignset.study.recipe import Recipe

METRICS = {
    "auroc": "AUROC",
    "aueoc": "AUEOC",
    "hm": "HM of AUROC and AUEOC",
    "aueoc_fpr": "AUEOC over the false positive rate",
    "aueoc_released": "AUEOC of the released code",
    "hm_released": "HM with the released code's AUEOC",
    "worst_group_auroc": "AUROC of the worst group",
    "auroc_majority": "AUROC of the majority",
    "auroc_minority": "AUROC of the minority",
    "brier": "Brier score",
    "calibration_error": "calibration error",
}
"""What is measured on the test rows of every cell -> the name shown to readers; ``aueoc`` and
``hm`` are the paper's."""

IDENTITY = ("experiment", "protocol", "dataset", "method", "x_name", "x", "seed")
"""What identifies a row in the table of results."""


@dataclass(frozen=True, eq=False)
class Cell:
    """One (experiment, protocol, data set, setting, method, seed) of a grid.

    Parameters
    ----------
    experiment, protocol, dataset, method, x_name : str
        The names under which it is reported.
    x : float
        Its position on the horizontal axis.
    seed : int
        Number of the replication.
    recipe : Recipe
        Everything that decides the result: workers build data, method and trainer only from it,
        so the key cannot leave anything out.

    Examples
    --------
    >>> from alignset.study.recipe import DataSpec, MethodSpec
    >>> recipe = Recipe(data=DataSpec(source="synthetic"), method=MethodSpec(class_="Standard"))
    >>> len(Cell("noise", "as-written", "toy", "standard", "rate", 0.3, 0, recipe).key)
    64
    """

    experiment: str
    protocol: str
    dataset: str
    method: str
    x_name: str
    x: float
    seed: int
    recipe: Recipe

    @cached_property
    def key(self) -> str:
        """SHA-256 of the names and the recipe."""
        return hashlib.sha256(as_json([*self.identity, self.recipe]).encode()).hexdigest()

    @property
    def identity(self) -> tuple[Any, ...]:
        """What identifies its row in the table of results."""
        return tuple(getattr(self, name) for name in IDENTITY)

    @property
    def replicas(self) -> int:
        """Number of replicas that the cell trains."""
        return self.recipe.search.configs * self.recipe.fitting.folds

    def __str__(self) -> str:
        place = f"{self.experiment} {self.protocol} {self.dataset} {self.method}"
        return f"{place} {self.x_name}={self.x:g} seed {self.seed}"


@dataclass(frozen=True, eq=False)
class Record:
    """The outcome of a cell: why it failed, or its ``METRICS`` on the test rows.

    ``config`` was chosen on the validation rows, where it has the score ``score``; ``epochs`` were
    trained in each stage; ``seconds`` is the cell's share of its cohort's time.
    """

    cell: Cell
    status: Literal["done", "failed"]
    reason: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    config: Mapping[str, float] = field(default_factory=dict)
    score: float | None = None
    epochs: tuple[int, ...] = ()
    seconds: float = 0.0


def as_json(value: Any) -> str:
    """Write records and plain data as canonical JSON; numbers that are not finite become null."""
    return msgspec.json.encode(value, order="deterministic").decode()
