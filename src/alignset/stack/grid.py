"""How the replicas of a stack are laid out: a grid of problem rows and slots, repacked as they end.

All slots of one grid row train on the same problem and share its mini-batch. When replicas stop
early, the rest are repacked into a smaller grid; a problem with more running replicas than a
grid row has slots takes several rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]

ROW_COST = 0.25
"""Cost of one more grid row (for its own copy of the mini-batch), in replicas."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Slots of a stack.

    Parameters
    ----------
    problem : int array of shape (Q,)
        Which problem each grid row trains on.
    config : int array of shape (Q, C)
        Which config is in each slot; empty slots repeat a neighbour.
    used : bool array of shape (Q, C)
        False for empty slots, whose results are never read.

    Examples
    --------
    >>> Grid.full(n_problems=2, n_configs=3).shape
    (2, 3)
    """

    problem: Index
    config: Index
    used: NDArray[np.bool_]

    @classmethod
    def full(cls, n_problems: int, n_configs: int) -> Grid:
        """One row per problem, one slot per config."""
        config = np.tile(np.arange(n_configs), (n_problems, 1))
        return cls(np.arange(n_problems), config, np.ones_like(config, dtype=bool))

    @classmethod
    def packed(cls, running: NDArray[np.bool_]) -> Grid:
        """Pack the running replicas, ``running`` (P, C), into the cheapest grid."""
        counts = running.sum(1)
        widths = np.arange(1, counts.max() + 1)
        rows = -(-counts[:, None] // widths)  # (P, widths)
        width = int(widths[np.argmin(rows.sum(0) * (widths + ROW_COST))])
        problem, config, used = [], [], []
        for p in np.flatnonzero(counts):
            mine = np.flatnonzero(running[p])
            for start in range(0, len(mine), width):
                part = mine[start : start + width]
                problem.append(p)
                used.append(np.arange(width) < len(part))
                config.append(np.resize(part, width))
        return cls(np.array(problem), np.array(config), np.array(used))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and slots per row."""
        return self.config.shape[0], self.config.shape[1]

    def positions_in(self, wider: Grid, n_configs: int) -> Index:
        """For every slot, its flat position in the grid from which it was packed."""
        where = np.full((wider.problem.max() + 1) * n_configs, -1)
        replica = wider.problem[:, None] * n_configs + wider.config
        where[replica[wider.used]] = np.flatnonzero(wider.used)
        found: Index = where[self.problem[:, None] * n_configs + self.config]
        return found
