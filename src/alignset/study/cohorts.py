"""Group cells that can be trained in one stack into cohorts, each saved as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from alignset.study.recipe import NoiseSpec, ReviewSpec
from alignset.study.records import Cell, as_json

REPLICAS = {"cpu": 200, "cuda": 2000}
"""Replicas per cohort: what may be lost when a run is killed."""

WIDE = 100
"""Hidden width beyond which cohorts become smaller in proportion."""

Cohort = Sequence[Cell]
"""Cells of one method, one data set and one set of configs."""


def replicas(cells: Cohort) -> int:
    """Count trainings."""
    return sum(cell.replicas for cell in cells)


def group_cells(cells: Sequence[Cell], *, limit: int) -> list[Cohort]:
    """Cut cells into cohorts of about ``limit`` replicas.

    Membership depends on the cells of the grid and the limit, never on what is done already: a
    run that was killed trains, when it is started again, the very stacks it would have trained.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(_kind(cell), []).append(cell)
    cohorts: list[Cohort] = []
    for group in groups.values():
        narrow = min(1.0, WIDE / group[0].recipe.trainer.hidden)
        size = max(1, int(limit * narrow) // group[0].replicas)
        cohorts += [group[start : start + size] for start in range(0, len(group), size)]
    return cohorts


def _kind(cell: Cell) -> str:
    """Return what cells of one stack share: all but noise, review and seed."""
    rest = replace(cell.recipe, noise=NoiseSpec(), review=ReviewSpec(), seed=0, redraw=True)
    return as_json([cell.experiment, cell.protocol, cell.dataset, cell.method, rest])
