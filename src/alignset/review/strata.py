"""Strata of a review that can be told from the sheet alone: blocks of rows by score.

A stratum is a group x observed label, or, where there is a score, a block of such a cell's open
rows in order of score. A sheet says how many rows were drawn from each stratum and with what
probability, so it says how many rows each has: with the same table and score, the blocks, and with
them the probability of every row that was *not* drawn, are recovered exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alignset.evaluate.noise_rate import ReviewDesign
from alignset.evaluate.proportion import kish_size
from alignset.review.aim import AimRows

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]


def block_codes(score: Floats, is_open: Mask, sizes: Codes) -> Codes:
    """Return the block (n,) of every row of a cell, open or not.

    Blocks of ``sizes`` open rows follow each other in order of score, then of place in the table.
    Rows that are not open belong where their score does.
    """
    rows = np.flatnonzero(is_open)
    order = rows[np.argsort(score[rows], kind="stable")]
    ends = np.cumsum(sizes)
    first = score[order[ends[:-1]]]
    code = np.searchsorted(first, score, side="right")
    code[order] = np.searchsorted(ends, np.arange(len(order)), side="right")
    return np.asarray(code, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ReviewChance:
    """How likely each row was to be reviewed.

    Parameters
    ----------
    chance : float array of shape (n,)
        Over all sheets; NaN where it is not known, which is never a row that counts.
    counts : bool array of shape (n,)
        Reviewed rows to make estimates from.
    by_design : bool
        Whether it is known; otherwise reviewed rows count as drawn at random within their group.
    """

    chance: Floats
    counts: Mask
    by_design: bool


def review_chance(rows: AimRows, design: ReviewDesign) -> ReviewChance:
    """Work out how likely every row was to be reviewed, from what the sheets say.

    A row that could be on several sheets was drawn with probability 1 - prod (1 - p). Sheets whose
    strata cannot be recovered (drawn by doubt, or with another score or other groups) are used by
    themselves, everything before them being known, or not at all: whichever has more weight.
    """
    reviewed = rows.reviewed
    waves = np.unique(design.wave[design.drawn & reviewed]).tolist()
    if not waves:
        return ReviewChance(_at_random(rows), reviewed, by_design=False)
    off_sheet = reviewed & ~design.drawn
    missed, used = np.where(off_sheet, 0.0, 1.0), off_sheet.copy()
    choices: list[tuple[Floats, Mask]] = []
    for wave in waves:
        drawn = design.drawn & (design.wave == wave)
        before = off_sheet | (design.drawn & (design.wave < wave))
        chance = recover(rows, design, drawn, ~before)
        if chance is None:
            own = np.where(drawn, design.probability, np.where(before & reviewed, 1.0, np.nan))
            choices.append((own, reviewed & (drawn | before)))
        else:
            missed, used = missed * (1 - chance), used | (drawn & reviewed)
    if (used & ~off_sheet).any():
        choices.insert(0, (1 - missed, used))
    weight = [kish_size(1 / chance[counts]) for chance, counts in choices]
    chance, counts = choices[int(np.argmax(weight))]
    return ReviewChance(chance, counts, by_design=True)


def _at_random(rows: AimRows) -> Floats:
    """Return the share of each group that was reviewed; of a group nobody reviewed, that of all."""
    group, reviewed = rows.cells.group, rows.reviewed
    share = np.bincount(group, reviewed) / np.maximum(np.bincount(group), 1)
    whole = max(float(reviewed.mean()), 1 / len(rows))
    return np.where(share > 0, share, whole)[group]


def recover(rows: AimRows, design: ReviewDesign, drawn: Mask, is_open: Mask) -> Floats | None:
    """Return the probability (n,) of every row on one sheet; None if it cannot be told."""
    for cell in _partitions(rows):
        chance = _recover_from(cell, rows.score[:, -1], design, drawn, is_open)
        if chance is not None:
            return chance
    chances = np.unique(np.round(design.probability[drawn], 12))
    if len(chances) == 1 and len(np.unique(design.stratum[drawn])) == 1:
        # each row by itself, with one probability: about as many as expected were drawn
        p, n = float(chances[0]), int((drawn | is_open).sum())
        if abs(drawn.sum() - n * p) <= 4 * np.sqrt(n * p * (1 - p)):
            return np.full(len(rows), p)
    return None


def _partitions(rows: AimRows) -> Iterator[Codes]:
    """Cells that the strata may be made of, from fine to coarse."""
    group, label = rows.cells.group, rows.cells.label
    yield rows.cells.flat
    yield label
    yield group
    yield np.zeros(len(rows), dtype=np.int64)


def _recover_from(
    cell: Codes, score: Floats, design: ReviewDesign, drawn: Mask, is_open: Mask
) -> Floats | None:
    chance = np.full(len(cell), np.nan)
    for c in np.unique(cell[is_open]):
        here = cell == c
        strata = np.unique(design.stratum[drawn & here])
        parts = [drawn & (design.stratum == s) for s in strata.tolist()]
        if not parts or any((part & ~here).any() for part in parts):
            return None
        p = np.array([design.probability[part].mean() for part in parts])
        sizes = np.array([part.sum() for part in parts]) / p
        whole = np.round(sizes).astype(np.int64)
        if np.abs(sizes - whole).max() > 1e-6 * len(cell) or whole.sum() != (is_open & here).sum():
            return None
        order = np.argsort([score[part].min() for part in parts], kind="stable")
        code = block_codes(score[here], is_open[here], whole[order])
        inside = np.full(len(cell), -1)
        inside[here] = code
        if any((inside[parts[s]] != k).any() for k, s in enumerate(order)):
            return None
        chance[here] = p[order][code]
    return chance
