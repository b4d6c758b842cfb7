"""Which rows train, validate and test: make a Problem from a table and its observed labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from alignset.labels import UNREVIEWED
from alignset.rows.features import as_float
from alignset.rows.problem import Part, Problem
from alignset.rows.review import Mask, hold_out, pick, review_counts
from alignset.rows.table import Table
from alignset.rows.units import Codes, Units, check_share, units_of


def split(
    table: Table,
    y_seen: Any = None,
    *,
    share: float | Sequence[float] = 0.10,
    composition: Sequence[float] | None = None,
    test: float | None = 0.2,
    validation: float | None = 0.5,
    n_train: int | None = None,
    pipeline: Any = None,
    seed: int,
) -> Problem:
    """Split a table into train, validation and test rows, and review part of the first two.

    Test rows are set aside first, the same share of each group. The alignment set is chosen from
    the rest; part of it validates, and all other rows train. No individual in ``table.individuals``
    is in two parts: if given, individuals, not rows, are split, reviewed and counted.

    Parameters
    ----------
    table : Table
        Features, true labels, groups; ``from_arrays`` makes one from plain arrays.
    y_seen : int array of shape (n,), optional
        Observed class codes, as a noise model returns them; by default ``table.observed``.
    share : float or sequence of G floats in [0, 1], default=0.10
        Share of each group's training rows to review. 0 leaves a group unreviewed on purpose.
    composition : sequence of G floats that sum to 1, optional
        What part of the alignment set each group makes up; its size is ``share`` of all training
        rows.
    test : float in (0, 1) or None, default=0.2
        Share to test on; None for no test part. A table with official test rows uses those.
    validation : float in (0, 1) or None, default=0.5
        Share of the alignment set that validates; None leaves that to the code that trains.
    n_train : int, optional
        Keep this many random individuals (or rows) of those outside the test part.
    pipeline : scikit-learn transformer, optional
        For a DataFrame with columns that are not numbers yet: fitted only to the training rows, it
        turns all rows into numbers.
    seed : int
        Decides everything random. The test rows do not depend on how many rows are reviewed.

    Returns
    -------
    Problem
        ``train.y_true`` is ``UNREVIEWED`` outside the alignment set; validation and test carry
        true labels; ``truth`` keeps those of the training rows. X is float32.

    Examples
    --------
    >>> from alignset.data import make_synthetic
    >>> table = make_synthetic(1000, random_state=0).table
    >>> problem = split(table, table.y, share=0.10, seed=0)
    >>> len(problem.train), len(problem.validation), len(problem.test)
    (760, 40, 200)
    >>> int(problem.train.reviewed.sum())
    40
    """
    seen, group = _observed(table, y_seen), table.group.astype(np.int64)
    units = units_of(group, table.individuals, table.n_groups)
    streams = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(4)]

    tested = _test_units(table, units, test, streams[0])
    kept = ~tested if n_train is None else _keep(~tested, n_train, streams[1])
    reviewed = _review_units(table, units, kept, share, composition, streams[2])
    held = np.zeros_like(reviewed)
    if validation is not None:
        held = hold_out(units.group, reviewed, share=validation, random_state=streams[3])
    trained = kept & ~held
    features = _features(table.X, pipeline, trained[units.of_row])

    def part(chosen: Mask) -> Part:
        rows = np.flatnonzero(chosen[units.of_row])
        known = (reviewed | tested)[units.of_row[rows]]
        y_true = np.where(known, table.y[rows], np.int64(UNREVIEWED))
        unit = None if len(units.group) == len(group) else units.of_row[rows]
        return Part(features[rows], seen[rows], y_true, group[rows], unit=unit)

    return Problem(
        train=part(trained),
        validation=part(held),
        test=part(tested) if tested.any() else None,
        n_classes=table.n_classes,
        n_groups=table.n_groups,
        seed=seed,
        name=table.name,
        truth=table.y[trained[units.of_row]].astype(np.int64),
    )


def _features(X: Any, pipeline: Any, trained: Mask) -> Any:
    """Return all rows as float32; a pipeline learns only from the training rows."""
    if pipeline is not None:
        X = pipeline.fit(X.iloc[np.flatnonzero(trained)]).transform(X)
    return as_float(X, np.float32)


def _observed(table: Table, y_seen: Any) -> Codes:
    values = table.observed if y_seen is None else y_seen
    if values is None:
        raise ValueError(
            f"table {table.name!r} has no observed labels; pass y_seen, for example "
            "flip_by_features(table.y, table.X, table.group, rate=0.3).y_seen."
        )
    seen = np.array(values)
    if len(seen) != len(table):
        raise ValueError(
            f"y_seen has {len(seen)} entries but X has {len(table)} rows; pass one per row."
        )
    _check_codes(table, seen)
    return seen.astype(np.int64)


def _check_codes(table: Table, seen: Codes) -> None:
    """Refuse labels or groups that are not codes of the table's classes and groups."""
    for name, codes, count in (
        ("y", table.y, table.n_classes),
        ("y_seen", seen, table.n_classes),
        ("group", table.group, table.n_groups),
    ):
        values = np.asarray(codes)
        if values.ndim != 1 or values.dtype.kind not in "biu":
            raise ValueError(
                f"{name} must be a flat array of whole codes, got {values.dtype} values of shape "
                f"{values.shape}; encode_labels and encode_groups make such codes."
            )
        wrong = (values < 0) | (values >= count)
        if wrong.any():
            raise ValueError(
                f"{name} holds code {values[wrong][0]} in row {wrong.argmax()}; "
                f"table {table.name!r} has codes 0 to {count - 1}."
            )
    for g, size in enumerate(np.bincount(table.group, minlength=table.n_groups)):
        if not size:
            raise ValueError(
                f"{_group(table, g)} has no rows; leave it out of group_names, or add rows."
            )


def _test_units(table: Table, units: Units, test: float | None, rng: np.random.Generator) -> Mask:
    if table.test is None:
        if test is None:
            return np.zeros(len(units.group), dtype=bool)
        share = check_share(test, "test share", strict=True)
        return pick(units.group, np.array([round(share * n) for n in units.sizes]), rng)
    official = np.asarray(table.test, dtype=bool)
    tested = np.zeros(len(units.group), dtype=bool)
    tested[units.of_row[official]] = True
    astray = np.unique(units.of_row[tested[units.of_row] & ~official])
    if len(astray):
        raise ValueError(
            f"{len(astray)} individuals have rows inside and outside the official test rows of "
            f"table {table.name!r}; an individual may be in only one part, so drop or move them."
        )
    return tested


def _keep(candidates: Mask, n_train: int, rng: np.random.Generator) -> Mask:
    available = int(candidates.sum())
    if not 1 <= n_train <= available:
        raise ValueError(
            f"n_train must lie between 1 and {available}, the number outside the test part, "
            f"got {n_train}."
        )
    return pick(np.where(candidates, 0, 1), np.array([n_train]), rng)


def _review_units(
    table: Table,
    units: Units,
    kept: Mask,
    share: float | Sequence[float],
    composition: Sequence[float] | None,
    rng: np.random.Generator,
) -> Mask:
    group = np.where(kept, units.group, table.n_groups)
    sizes = np.bincount(group, minlength=table.n_groups + 1)[: table.n_groups].astype(np.int64)
    counts = review_counts(sizes, share=share, composition=composition)
    asked = np.broadcast_to(np.asarray(share if composition is None else composition), sizes.shape)
    what = "rows" if table.individuals is None else "individuals"
    for g, (count, size) in enumerate(zip(counts, sizes, strict=True)):
        if not size:
            raise ValueError(
                f"{_group(table, g)} has no training {what}; lower the test share, or raise "
                "n_train."
            )
        if count < 2 and asked[g] > 0:
            raise ValueError(
                f"{_group(table, g)} has {count} reviewed of {size} training {what}; it needs at "
                "least 2, one to train and one to validate, so raise its share, or set it to 0 to "
                "leave the group unreviewed on purpose."
            )
    if not counts.any():
        raise ValueError(
            "no row is reviewed, so there is nothing to validate on; raise share above 0."
        )
    return pick(group, counts, rng)


def _group(table: Table, g: int) -> str:
    return f"group {g} ({table.group_names[g]!r})"
