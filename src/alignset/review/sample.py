"""Draw which rows to review: a stratified random sheet with known selection probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.review.aim import Aim, check_between, read_rows
from alignset.review.belief import believe
from alignset.review.design import Allocation, allocate, draw_stratified, proportional
from alignset.review.earlier import check_not_own
from alignset.review.sheet import WAVE, Sheet, make_sheet
from alignset.review.shortest import Shares, share_out
from alignset.review.waves import read_waves
from alignset.tables.files import check_columns
from alignset.tables.targets import Cells, guessed_rates, read_cells


def sample(
    table: pd.DataFrame,
    *,
    n: int,
    label: str | None = None,
    group: str | Sequence[str] = (),
    truth: str | None = None,
    id: str | None = None,
    show: Sequence[str] = (),
    show_label: bool = False,
    allocation: Allocation = proportional,
    guess: float | Mapping[Any, float] = 0.2,
    floor: int = 1,
    aim: Aim | None = None,
    random_state: int | np.random.Generator | None,
) -> Sheet:
    """Draw rows to review at random within each group x observed label.

    Parameters
    ----------
    table : DataFrame
    n : int
        Rows to draw.
    label : str, optional
        Column of the observed label. It sets the strata, and the reviewer's choices.
    group : str or sequence of str
        Group columns; several are intersected.
    truth : str, optional
        Column of the true labels known so far; rows that have one are left out, and so are rows
        from an earlier sheet (column ``wave``). The sheet gets the next wave number.
    id : str, optional
        Column that identifies rows; the position in the table, named ``row``, by default.
    show : sequence of str
        Columns the reviewer sees.
    show_label : bool, default=False
        Show the observed label too. A reviewer who sees it tends to agree with it.
    allocation : callable, default=proportional
        How rows are shared out among strata: ``proportional``, ``even`` or ``neyman`` from
        ``alignset.review.design``.
    guess : float or mapping from observed label to float, in (0, 1), default=0.2
        Noise rates that ``neyman`` assumes.
    floor : int, default=1
        Minimum rows to draw from each stratum; all of them if it has fewer.
    aim : Aim, optional
        What the review is to tell. Rows are then shared out so that its interval is shortest, in
        the group where it is longest, instead of by ``allocation``: among group x observed label,
        and blocks of these by score if the aim has one. What is believed comes from rows that
        have a true label, if there are 20 or more, otherwise from ``guess``.
    random_state : int, Generator or None

    Returns
    -------
    Sheet
        A row's ``probability`` is n_h / N_h: rows drawn from its stratum over rows in it.

    Examples
    --------
    >>> table = pd.DataFrame({"obs": ["no", "no", "yes"] * 100, "sex": ["f", "m"] * 150})
    >>> sheet = sample(table, n=30, label="obs", group="sex", random_state=0)
    >>> sheet.frame()["probability"].unique().tolist()
    [0.1]
    """
    cells = read_cells(table, label=label, group=group)
    check_columns(table, [*show, *([] if truth is None else [truth])])
    if show_label and label is None:
        raise ValueError("show_label needs label, the column to show.")
    is_open = open_rows(table, truth)
    pool = np.flatnonzero(is_open)
    if not 0 < n <= len(pool):
        raise ValueError(f"n must be from 1 to {len(pool)} (the rows not yet reviewed), got {n}.")
    if aim is not None:
        shares = _for_aim(table, aim, label, truth, group, guess, is_open, n, floor)
    else:
        shares = _by_cell(cells, allocation, guessed_rates(guess, cells), is_open, n, floor)
    rng = np.random.default_rng(random_state)
    drawn = pool[draw_stratified(shares.code[pool], shares.counts, rng)]
    # a stratum's number must not reveal the label
    numbers = 1 + rng.permutation(len(shares.counts))
    return make_sheet(
        table, drawn, probability=shares.chance[drawn],
        stratum=numbers[shares.code[drawn]].astype(str),
        wave=next_wave(table, anything_before=len(pool) < len(table)), id=id,
        show=[*dict.fromkeys([*show, *([label] if show_label and label else [])])],
        choices=[] if label is None else cells.labels.tolist(), label=label,
        groups=[group] if isinstance(group, str) else list(group),
    )  # fmt: skip


def _by_cell(
    cells: Cells,
    allocation: Allocation,
    rates: NDArray[np.float64],
    is_open: NDArray[np.bool_],
    n: int,
    floor: int,
) -> Shares:
    sizes = cells.count(is_open)
    counts = allocate(sizes, allocation(sizes, rates), n, floor=floor)
    return Shares(cells.flat, sizes.reshape(-1), counts.reshape(-1))


def _for_aim(
    table: pd.DataFrame,
    aim: Aim,
    label: str | None,
    truth: str | None,
    group: str | Sequence[str],
    guess: float | Mapping[Any, float],
    is_open: NDArray[np.bool_],
    n: int,
    floor: int,
) -> Shares:
    if label is None:
        raise ValueError("an aim needs label, the column of observed labels.")
    rows = read_rows(table, label=label, truth=truth, group=group, scores=aim.columns)
    aim = check_between(aim, rows.cells)
    belief, _ = believe(rows, guess)
    return share_out(rows, aim, belief.probability(), is_open, n, floor=floor)


def open_rows(table: pd.DataFrame, truth: str | None) -> NDArray[np.bool_]:
    """Return which rows have no true label and have not been on a sheet."""
    check_not_own(table, truth)
    is_open: Any = np.ones(len(table), dtype=bool)
    if truth is not None:
        is_open &= table[truth].isna().to_numpy()
    if WAVE in table:
        is_open &= table[WAVE].isna().to_numpy()
    if not is_open.any():
        raise ValueError(f"all {len(table)} rows are reviewed; there is nothing left to draw.")
    return np.asarray(is_open, dtype=bool)


def next_wave(table: pd.DataFrame, *, anything_before: bool) -> int:
    """Return the number of the next sheet; reviews without a number count as the first."""
    waves = read_waves(table)
    return 1 + (int(waves.max()) if len(waves) else int(anything_before))
