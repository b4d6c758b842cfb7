"""Group cells that can be trained in one stack into cohorts, each saved as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from alignset.study.records import Cell, as_json

REPLICAS = {"cpu": 200, "cuda": 2000}
"""Replicas per cohort: what may be lost when a run is killed."""

WIDE = 100
"""Hidden width beyond which cohorts become smaller in proportion."""


@dataclass(frozen=True, eq=False)
class Cohort:
    """Cells of one method, one data set and one set of configs.

    Examples
    --------
    >>> recipe = {"search": {"configs": 20}}
    >>> cell = Cell("noise", "as-written", "toy", "standard", "rate", 0.3, 0, recipe)
    >>> Cohort((cell, cell)).replicas
    40
    """

    cells: tuple[Cell, ...]

    @property
    def replicas(self) -> int:
        """Number of trainings."""
        return sum(cell.replicas for cell in self.cells)


def group_cells(cells: Sequence[Cell], *, limit: int) -> list[Cohort]:
    """Cut cells into cohorts of about ``limit`` replicas.

    Membership depends on the cells of the grid and the limit, never on what is done already: a
    run that was killed trains, when it is started again, the very stacks it would have trained.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(_kind(cell), []).append(cell)
    cohorts = []
    for group in groups.values():
        narrow = min(1.0, WIDE / group[0].recipe["trainer"]["hidden"])
        size = max(1, int(limit * narrow) // group[0].replicas)
        cohorts += [
            Cohort(tuple(group[start : start + size])) for start in range(0, len(group), size)
        ]
    return cohorts


def _kind(cell: Cell) -> str:
    """Return what cells of one stack share: all but noise, review and seed."""
    apart = ("noise", "review", "seed", "redraw")
    recipe = {key: value for key, value in cell.recipe.items() if key not in apart}
    return as_json([cell.experiment, cell.protocol, cell.dataset, cell.method, recipe])
