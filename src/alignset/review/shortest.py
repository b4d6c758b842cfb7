"""Share rows out so that the interval asked for is shortest: Neyman's allocation on y - q.

Given soft labels, what a review still has to tell about row i is psi_i(y_i) - E psi_i: its standard
deviation sigma_i under what is believed is how much the row is worth looking at. Within a group,
stratum h gets rows in proportion to N_h sigma_h (Neyman 1934), which makes

    V = P + [ (sum_h N_h sigma_h)^2 / n - sum_h N_h sigma_h^2 ] / N^2

smallest, P being the part that no review can reduce. Between groups, rows are shared out so that
the largest V is smallest; for a difference, so that the sum is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.evaluate.estimands import ESTIMANDS
from alignset.review.aim import Aim, AimRows
from alignset.review.design import allocate
from alignset.review.strata import block_codes

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST_BLOCKS = 3
"""Blocks by score within a group x observed label."""
LEAST_IN_STRATUM = 10
"""Rows drawn from each stratum, where that many can be: its variance has to be estimated."""
LEAST_SIGMA = 1 / 3
"""Of the group's: what is believed may be wrong, so no stratum is looked at far less often."""


@dataclass(frozen=True, eq=False)
class Shares:
    """Strata, and how many rows are drawn from each.

    Parameters
    ----------
    code : int array of shape (n,)
        Stratum of every row, open or not.
    sizes, counts : int arrays of shape (H,)
        Open rows in each stratum, and rows to draw.
    """

    code: Codes
    sizes: Codes
    counts: Codes

    @property
    def chance(self) -> Floats:
        """Probability of every row, (n,)."""
        return np.asarray((self.counts / np.maximum(self.sizes, 1))[self.code])


def share_out(
    rows: AimRows, aim: Aim, shares: Floats, is_open: Mask, n: int, *, floor: int = 1
) -> Shares:
    """Share n draws out among group x observed label x block so that the aim's interval is short.

    Parameters
    ----------
    rows : AimRows
    aim : Aim
    shares : float array of shape (n, K)
        Believed probability of every true class.
    is_open : bool array of shape (n,)
        Rows that can be drawn.
    n : int
    floor : int, default=1
        Minimum rows from each stratum.
    """
    sigma, fixed = _worth_looking(rows, aim, shares)
    code = _strata(rows, sigma, is_open, n)
    sizes = np.bincount(code[is_open], minlength=code.max() + 1)
    square = np.bincount(code[is_open], sigma[is_open] ** 2, minlength=len(sizes))
    spread = np.sqrt(square / np.maximum(sizes, 1))
    group = np.zeros(len(sizes), dtype=np.int64)
    group[code] = rows.cells.group
    spread = np.maximum(spread, LEAST_SIGMA * _group_spread(group, sizes, spread)[group])
    weights: Floats = np.asarray(sizes, float) * spread
    if aim.between is None and rows.members:
        weights = weights * _between_groups(group, sizes, spread, fixed, n)[group]
    counts = np.minimum(sizes, max(floor, 1))  # of groups that nobody asked about
    asked = np.isin(group, _asked(rows, aim)) & (sizes > 0)
    left = n - int(counts[~asked].sum())
    least = max(floor, min(LEAST_IN_STRATUM, left // max(int(asked.sum()), 1)))
    # if all that is asked about is drawn, the others have what is left
    some = allocate(sizes[asked], weights[asked], min(left, int(sizes[asked].sum())), floor=least)
    counts[asked] = some
    if counts.sum() < n:
        more = n - int(some.sum())
        counts[~asked] = allocate(sizes[~asked], sizes[~asked], more, floor=floor)
    return Shares(code, sizes, counts)


def _asked(rows: AimRows, aim: Aim) -> list[int]:
    """Return the groups that the aim is about."""
    names = rows.cells.groups.tolist()
    return [g for g, name in enumerate(names) if aim.between is None or name in aim.between]


def _worth_looking(rows: AimRows, aim: Aim, shares: Floats) -> tuple[Floats, Floats]:
    """Return sigma_i / N of every row, (n,), and each group's part that no review reduces, (G,)."""
    linearise, scored = ESTIMANDS[aim.measure].linearise, rows.scored(aim.threshold)
    group = rows.cells.group
    sigma, fixed = np.zeros(len(rows)), np.zeros(len(rows.cells.groups))
    for g in range(len(fixed)):
        member = group == g
        q, size = shares[member], np.ones(int(member.sum()))
        found = [linearise(part.take(member), q, size).psi for part in scored]
        psi = found[0] if len(found) == 1 or aim.score_b is None else found[1] - found[0]
        mean = (q * psi).sum(1)
        sigma[member] = np.sqrt(np.maximum((q * psi**2).sum(1) - mean**2, 0.0)) / len(q)
        # the draw of the rows from their population, which stays if all of them are reviewed
        fixed[g] = 0.0 if aim.finite else float((q * psi**2).sum()) / len(q) ** 2
    return sigma, fixed


def _strata(rows: AimRows, sigma: Floats, is_open: Mask, n: int) -> Codes:
    """Cut each group x observed label into blocks by score that hold as much sigma each."""
    cell = rows.cells.flat
    present = np.unique(cell)
    blocks = min(MOST_BLOCKS, n // (LEAST_IN_STRATUM * len(present)))
    code, after = np.zeros(len(rows), dtype=np.int64), 0
    for c in present.tolist():
        here = cell == c
        sizes = _block_sizes(rows.score[here, -1], sigma[here], is_open[here], blocks)
        code[here] = after + block_codes(rows.score[here, -1], is_open[here], sizes)
        after += len(sizes)
    return code


def _block_sizes(score: Floats, sigma: Floats, is_open: Mask, blocks: int) -> Codes:
    """Sizes of blocks of open rows in order of score; fewer than asked for where rows are few."""
    rows = np.flatnonzero(is_open)
    if blocks < 2 or len(rows) < 2 * blocks * LEAST_IN_STRATUM or score[rows].std() == 0:
        return np.array([len(rows)])
    order = rows[np.argsort(score[rows], kind="stable")]
    # half by sigma, half by number: a block of few rows cannot give many
    along = np.cumsum(sigma[order] / max(sigma[order].mean(), 1e-300) + 1)
    ends = np.searchsorted(along, along[-1] * np.arange(1, blocks) / blocks)
    least = LEAST_IN_STRATUM * np.arange(1, blocks)
    ends = np.clip(np.maximum(ends, least), None, len(rows) - least[::-1])
    return np.diff(np.concatenate([[0], ends, [len(rows)]])).astype(np.int64)


def _group_spread(group: Codes, sizes: Codes, spread: Floats) -> Floats:
    """Root mean square of sigma in each group."""
    total = np.bincount(group, sizes)
    return np.asarray(np.sqrt(np.bincount(group, sizes * spread**2) / np.maximum(total, 1)))


def _between_groups(group: Codes, sizes: Codes, spread: Floats, fixed: Floats, n: int) -> Floats:
    """Return how much more each group gets than Neyman's share, so that the largest V is small."""
    once = np.bincount(group, sizes * spread, minlength=len(fixed))
    twice = np.bincount(group, sizes * spread**2, minlength=len(fixed))
    rows = np.bincount(group, sizes, minlength=len(fixed))
    scale = max(float((once**2).max()), 1e-300)

    def needed(largest: float) -> Any:
        left = np.maximum(largest * scale - fixed + twice, 1e-300)
        return np.minimum(once**2 / left, rows)

    low, high = -16.0, 4.0  # log10 of the largest V, in units of scale
    for _ in range(100):
        middle = (low + high) / 2
        if needed(10**middle).sum() > n:
            low = middle
        else:
            high = middle
    return np.asarray(needed(10**high) / np.maximum(once, 1e-300))
