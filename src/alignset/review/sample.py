"""Draw which rows to review: a stratified random sheet with known selection probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.review.design import Allocation, allocate, draw_stratified, proportional
from alignset.review.sheet import WAVE, Sheet, make_sheet
from alignset.review.waves import read_waves
from alignset.tables.files import check_columns
from alignset.tables.targets import guessed_rates, read_cells


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
    pool = np.flatnonzero(open_rows(table, truth))
    if not 0 < n <= len(pool):
        raise ValueError(f"n must be from 1 to {len(pool)} (the rows not yet reviewed), got {n}.")
    sizes = cells.count(np.isin(np.arange(len(table)), pool, assume_unique=True))
    weights = allocation(sizes, guessed_rates(guess, cells))
    counts = allocate(sizes, weights, n, floor=floor).reshape(-1)
    rng = np.random.default_rng(random_state)
    flat = cells.flat[pool]
    drawn = draw_stratified(flat, counts, rng)
    numbers = 1 + rng.permutation(len(counts))  # a stratum's number must not reveal the label
    chance = counts / np.maximum(sizes.reshape(-1), 1)
    return make_sheet(
        table, pool[drawn], probability=chance[flat[drawn]],
        stratum=numbers[flat[drawn]].astype(str),
        wave=next_wave(table, anything_before=len(pool) < len(table)), id=id,
        show=[*dict.fromkeys([*show, *([label] if show_label and label else [])])],
        choices=[] if label is None else cells.labels.tolist(),
    )  # fmt: skip


def open_rows(table: pd.DataFrame, truth: str | None) -> NDArray[np.bool_]:
    """Return which rows have no true label and have not been on a sheet."""
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
