"""Check a table's labels with a trained model: doubtful rows, noise rates, what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.evaluate.noise_rate import NoiseRate, ReviewDesign, noise_rates
from alignset.evaluate.proportion import IntervalRule, wilson
from alignset.labels import UNREVIEWED, encode_known
from alignset.review.proposal import propose
from alignset.review.representative import TwoSampleTest, choose_compared, two_sample_test
from alignset.review.sample import next_wave, open_rows
from alignset.review.sheet import ROW, Sheet, make_sheet, row_ids
from alignset.review.verdict import EmptyCell, Verdict, judge
from alignset.review.waves import design_of
from alignset.tables.cells import Cells, read_cells
from alignset.tables.columns import Columns
from alignset.tables.files import check_columns

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Auditor(Protocol):
    """What an audit asks of a model; ``alignset.model.fitted.Model`` is one."""

    @property
    def classes(self) -> NDArray[Any]:
        """Classes, (K,)."""

    @property
    def columns(self) -> Columns:
        """Which column plays which part."""

    @property
    def preprocessing(self) -> Any:
        """What turns a table into a matrix (n, D): ``transform(frame)``."""

    def predict_proba(self, frame: Any) -> Floats:
        """Probability of each true class, (n, K)."""

    def label_confidence(self, frame: Any, y: Any) -> Floats:
        """Probability that the observed label is right, (n,)."""


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found; answers :meth:`frame`, every row, the most doubtful first.

    ``ranked`` has the row id, group, observed, confidence that the observed label is right,
    predicted (the most probable true label), and the true label where known.
    """

    ranked: pd.DataFrame
    rates: tuple[NoiseRate, ...]  # one per group, from reviewed rows
    model_rates: dict[Any, float]  # mean of 1 - confidence: what the model thinks they are
    tests: tuple[TwoSampleTest, ...]  # one per group
    empty: tuple[EmptyCell, ...]  # group x observed label without a reviewed row
    verdict: Verdict
    next: Sheet | None  # rows to review next
    level: float  # coverage of the intervals

    def frame(self) -> pd.DataFrame:
        """Every row, the most doubtful first."""
        return self.ranked

    @property
    def notes(self) -> tuple[str, ...]:
        """What to keep in mind when reading the numbers."""
        said = []
        if any(rate.reviewed and not rate.weighted for rate in self.rates):
            said.append(
                "selection probabilities are not known in some group, so its reviewed rows count "
                "as drawn at random"
            )
        off = [
            f"{self.model_rates[rate.group]:.2f} in group {rate.group!r}"
            for rate in self.rates
            if rate.reviewed and not rate.low <= self.model_rates[rate.group] <= rate.high
        ]
        if off:
            said.append(
                f"the model's own noise rate is outside the interval ({', '.join(off)}): its "
                "confidence ranks rows, but is no probability"
            )
        return tuple(said)

    def rate_frame(self) -> pd.DataFrame:
        """One row per group: noise rate, interval, sizes, the model's rate, two-sample test."""
        rates = pd.DataFrame([vars(rate) for rate in self.rates])
        rates["model_rate"] = [self.model_rates[rate.group] for rate in self.rates]
        for name in ("auroc", "low", "high"):
            rates[f"told_apart_{name}"] = [getattr(test, name) for test in self.tests]
        return rates


def audit(
    model: Auditor,
    table: pd.DataFrame,
    *,
    label: str | None = None,
    truth: str | None = None,
    group: Sequence[str] | None = None,
    id: str | None = None,
    next_rows: int = 0,
    floor: float = 0.25,
    show: Sequence[str] = (),
    level: float = 0.95,
    rule: IntervalRule = wilson,
    random_state: int | np.random.Generator | None,
) -> Audit:
    """Audit a table's labels.

    Parameters
    ----------
    model : Model
        From ``alignset.load_model``.
    table : DataFrame
    label, truth, group, id : optional
        Columns; those the model was trained with by default. Without a truth column, the rows are
        ranked and nothing is said about noise rates.
    next_rows : int, default=0
        How many rows to propose for review, by :func:`alignset.review.proposal.propose`.
    floor : float in (0, 1], default=0.25
        Share of the proposals drawn at random, so that every open row has a chance.
    show : sequence of str
        Columns the reviewer of the proposed rows sees.
    level : float, default=0.95
        Coverage of the intervals.
    rule : callable, default=wilson
        ``wilson`` or ``clopper_pearson``.
    random_state : int, Generator or None

    Returns
    -------
    Audit
    """
    parts = _parts(model.columns, table, label, truth, group, id)
    check_columns(table, show)
    rng = np.random.default_rng(random_state)
    seen = _see(model, table, parts)
    rates = tuple(
        noise_rates(
            seen.cells.group, seen.cells.groups.tolist(), seen.wrong, seen.reviewed, seen.design,
            level=level, rule=rule,
        )
    )  # fmt: skip
    tests = _tests(model, table, seen, level, rng)
    empty = _empty(seen)
    return Audit(
        ranked=_ranked(model, table, parts, seen),
        rates=rates,
        model_rates={
            name: float(1 - seen.confidence[seen.cells.group == g].mean())
            for g, name in enumerate(seen.cells.groups.tolist())
        },
        tests=tests,
        empty=empty,
        verdict=judge(rates, tests, empty),
        next=_next_sheet(model, table, parts, seen, next_rows, floor, show, rng),
        level=level,
    )


def _parts(
    known: Columns,
    table: pd.DataFrame,
    label: str | None,
    truth: str | None,
    group: Sequence[str] | None,
    id: str | None,
) -> Columns:
    """Choose the columns: those asked for, else those of the model where the table has them."""
    there = set(table.columns)
    parts = replace(
        known,
        label=label or known.label,
        truth=truth or (known.truth if known.truth in there else None),
        groups=tuple(group) if group is not None else known.groups,
        id=id or (known.id if known.id in there else None),
    )
    wanted = [parts.label, *parts.groups, *(name for name in (parts.truth, parts.id) if name)]
    check_columns(table, wanted)
    return parts


@dataclass(frozen=True, eq=False)
class _Seen:
    """What is known of every row.

    Its cell, whether it is reviewed, whether its observed label was then found wrong, the
    confidence that it is right, and how it came to be reviewed.
    """

    cells: Cells
    reviewed: Mask
    wrong: Mask
    confidence: Floats
    design: ReviewDesign


def _see(model: Auditor, table: pd.DataFrame, parts: Columns) -> _Seen:
    cells = read_cells(table, label=parts.label, group=parts.groups)
    observed = cells.labels[cells.label]
    y_seen = encode_known(observed, model.classes, column=parts.label)
    y_true = np.full(len(table), UNREVIEWED)
    if parts.truth is not None:
        y_true = encode_known(table[parts.truth], model.classes, column=parts.truth, gaps=True)
    return _Seen(
        cells=cells,
        reviewed=y_true != UNREVIEWED,
        wrong=(y_true != UNREVIEWED) & (y_true != y_seen),
        confidence=model.label_confidence(table, observed),
        design=design_of(table, parts),
    )


def _tests(
    model: Auditor, table: pd.DataFrame, seen: _Seen, level: float, rng: np.random.Generator
) -> tuple[TwoSampleTest, ...]:
    """Test each group, at a level that allows for testing all of them."""
    cells, reviewed = seen.cells, seen.reviewed
    weight = _stand_for(seen.design, reviewed)
    tests = []
    for g, name in enumerate(cells.groups.tolist()):
        member = cells.group == g
        others = choose_compared(np.flatnonzero(member & ~reviewed), rng)
        rows = np.concatenate([np.flatnonzero(member & reviewed), others])
        X = np.asarray(model.preprocessing.transform(table.iloc[rows]), dtype=float)
        labels = np.eye(len(cells.labels))[cells.label[rows]]
        tests.append(
            two_sample_test(
                name,
                np.hstack([X, labels]),
                reviewed[rows],
                None if weight is None else weight[rows],
                level=1 - (1 - level) / len(cells.groups),
                random_state=rng,
            )
        )
    return tuple(tests)


def _stand_for(design: ReviewDesign, reviewed: Mask) -> Floats | None:
    """How many unreviewed rows each reviewed row stands for; None if that is not known.

    Each wave stands for all rows not on it, so waves are averaged by their size.
    """
    waves, counts = np.unique(design.wave[design.drawn & reviewed], return_counts=True)
    if not len(waves):
        return None
    weight = np.zeros(len(reviewed))
    for wave, count in zip(waves.tolist(), counts.tolist(), strict=True):
        rows = design.drawn & reviewed & (design.wave == wave)
        weight[rows] = (1 / design.probability[rows] - 1) * count / counts.sum()
    return weight


def _empty(seen: _Seen) -> tuple[EmptyCell, ...]:
    cells = seen.cells
    there, looked_at = cells.counts, cells.count(seen.reviewed)
    return tuple(
        EmptyCell(name, value, int(there[g, k]))
        for g, name in enumerate(cells.groups.tolist())
        for k, value in enumerate(cells.labels.tolist())
        if there[g, k] and not looked_at[g, k]
    )


def _next_sheet(
    model: Auditor,
    table: pd.DataFrame,
    parts: Columns,
    seen: _Seen,
    n: int,
    floor: float,
    show: Sequence[str],
    rng: np.random.Generator,
) -> Sheet | None:
    if not n:
        return None
    pool = np.flatnonzero(open_rows(table, parts.truth) & ~seen.design.drawn)
    drawn, chance = propose(seen.confidence[pool], n, floor=floor, random_state=rng)
    return make_sheet(
        table,
        pool[drawn],
        probability=chance[drawn],
        stratum="next",
        wave=next_wave(table, anything_before=len(pool) < len(table)),
        id=parts.id,
        show=show,
        choices=model.classes.tolist(),
    )


def _ranked(model: Auditor, table: pd.DataFrame, parts: Columns, seen: _Seen) -> pd.DataFrame:
    cells, confidence = seen.cells, seen.confidence
    ids = pd.Series(np.arange(len(table)), name=ROW)
    if parts.id is not None:
        ids = row_ids(table, parts.id)
    columns: dict[str, Any] = {
        str(ids.name): ids.to_numpy(),
        "group": cells.groups[cells.group],
        "observed": cells.labels[cells.label],
        "confidence": confidence,
        "predicted": model.classes[model.predict_proba(table).argmax(1)],
        "reviewed": None if parts.truth is None else table[parts.truth].to_numpy(object),
    }
    order = np.argsort(confidence, kind="stable")
    return pd.DataFrame(columns).iloc[order].reset_index(drop=True)
