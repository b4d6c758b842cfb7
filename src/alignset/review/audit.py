"""Check a table's labels with a trained model: doubtful rows, noise rates, what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alignset.evaluate.noise_rate import NoiseRate, ReviewDesign
from alignset.evaluate.proportion import IntervalRule
from alignset.labels import UNREVIEWED, encode_known, is_missing
from alignset.review.aim import AimRows, read_scores
from alignset.review.design import propose
from alignset.review.measured import Findings, measure_review, review_noise_rates
from alignset.review.modelled import model_answers
from alignset.review.nonresponse import NonResponse, asked_rows, bound_noise_rates
from alignset.review.representative import TwoSampleTest, choose_compared, two_sample_test
from alignset.review.reviewers import ReviewerModel
from alignset.review.sample import next_wave, open_rows
from alignset.review.sheet import Sheet, make_sheet, row_ids
from alignset.review.verdict import EmptyCell, ReviewVerdict, judge
from alignset.review.waves import design_of
from alignset.tables.columns import Columns
from alignset.tables.files import check_columns
from alignset.tables.targets import Cells, if_shared, read_cells, units_of

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Auditor(Protocol):
    """What an audit needs from a model; ``alignset.model.fitted.Model`` has it."""

    @property
    def classes(self) -> NDArray[Any]:
        """Classes, (K,)."""

    @property
    def columns(self) -> Columns:
        """Role of each column."""

    @property
    def preprocessing(self) -> Any:
        """Turns a table into a matrix (n, D): ``transform(frame)``."""

    def predict_proba(self, frame: Any) -> Floats:
        """Probability of each true class, (n, K)."""

    def label_confidence(self, frame: Any, y: Any) -> Floats:
        """Probability that the observed label is right, (n,)."""


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found; :meth:`frame` has every row, the most doubtful first.

    ``ranked`` has the row id, group, observed label, confidence that this label is right, the most
    probable true label (predicted), and the true label where known; the person, too, where the
    model knows a column of persons and some have several rows.
    """

    ranked: pd.DataFrame
    rates: tuple[NoiseRate, ...]  # one per group
    measured: Findings  # every measure overall and by group, and differences
    model_rates: dict[Any, float]  # mean of 1 - confidence: the model's own estimate
    tests: tuple[TwoSampleTest, ...]  # one per group
    empty: tuple[EmptyCell, ...]  # group x observed label without a reviewed row
    verdict: ReviewVerdict
    next: Sheet | None  # rows to review next
    level: float  # coverage of the intervals
    nonresponse: tuple[NonResponse, ...] = ()  # of groups with unanswered rows
    reviewers: ReviewerModel | None = None  # if a log of their answers was given
    of_nobody: str = ""  # rows that name no person, if others do

    def frame(self) -> pd.DataFrame:
        """Every row, the most doubtful first."""
        return self.ranked

    @property
    def notes(self) -> tuple[str, ...]:
        """What to keep in mind when reading the numbers."""
        said = [self.of_nobody] if self.of_nobody else []
        if any(rate.reviewed and not rate.weighted for rate in self.rates):
            said.append(
                "selection probabilities are unknown in some groups, so their reviewed rows are "
                "treated as drawn at random"
            )
        off = [
            f"{self.model_rates[rate.group]:.2f} in group {rate.group!r}"
            for rate in self.rates
            if rate.reviewed and not rate.low <= self.model_rates[rate.group] <= rate.high
        ]
        if off:
            said.append(
                f"the model's own noise rate is outside the interval ({', '.join(off)}): its "
                "confidence ranks rows, but is not a probability"
            )
        if self.reviewers is not None:
            said.append(self.reviewers.note.removesuffix("."))
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
    answers: pd.DataFrame | None = None,
    score: str | None = None,
    score_b: str | None = None,
    threshold: float | None = None,
    new_rows: bool = False,
    next_rows: int = 0,
    floor: float = 0.25,
    show: Sequence[str] = (),
    level: float = 0.95,
    rule: IntervalRule | None = None,
    random_state: int | np.random.Generator | None,
) -> Audit:
    """Audit a table's labels.

    Parameters
    ----------
    model : Model
        From ``alignset.load_model``.
    table : DataFrame
    label, truth, group, id : optional
        Columns; by default those the model was trained with. Without a truth column, rows are
        ranked but noise rates are not estimated. Where the model's id says whom a row belongs to,
        or it knows another column that does, intervals count people.
    answers : DataFrame, optional
        The log of reviewers' answers that `alignset join` wrote: true labels then are as uncertain
        as these, and every interval says so.
    score : str, optional
        Column of a score of the positive class (the larger label), to be judged, too: AUROC and,
        with ``threshold``, TPR, FPR, PPV and NPV. It must not come from a model that was fitted
        to the true labels of these rows.
    score_b : str, optional
        Column of a second score, to be compared with the first.
    threshold : float, optional
        Scores of this much or more are flagged.
    new_rows : bool, default=False
        Whether the model has seen none of these rows: its own probability is then the score.
    next_rows : int, default=0
        Number of rows to propose for review, with :func:`alignset.review.design.propose`.
    floor : float in (0, 1], default=0.25
        Share of the proposals drawn at random, which gives every open row a chance.
    show : sequence of str
        Columns that the reviewer of the proposed rows sees.
    level : float, default=0.95
        Coverage of the intervals.
    rule : callable, optional
        ``wilson`` or ``clopper_pearson``: noise rates from reviewed rows alone, with this
        interval. By default all rows are used, as ``alignset.evaluate.estimate`` does.
    random_state : int, Generator or None

    Returns
    -------
    Audit
    """
    seen = _see(model, table, _parts(model.columns, table, label, truth, group, id))
    check_columns(table, show)
    rng = np.random.default_rng(random_state)
    scores = _scores(seen, score, score_b, threshold, new_rows=new_rows)
    seen, reviewers = (seen, None) if answers is None else seen.answered(answers, scores, level)
    draws = None if reviewers is None else reviewers.draws
    tests, empty = seen.tests(level, rng), seen.empty()
    sheet = seen.next_sheet(next_rows, floor, show, rng) if next_rows else None
    rows = seen.aim_rows(scores)
    told: dict[str, Any] = {"level": level, "draws": draws}
    measured = measure_review(rows, seen.design, threshold=threshold, **told)
    rates = review_noise_rates(rows, seen.design, rule=rule, found=measured, **told)
    asked = asked_rows(table, seen.design, seen.reviewed)
    unanswered = bound_noise_rates(rates, rows, seen.design, asked, **told)
    return Audit(
        seen.ranked(), rates, measured, seen.model_rates(), tests, empty,
        judge(rates, tests, empty, unanswered, picked=measured.picked), sheet, level, unanswered,
        reviewers, seen.of_nobody(),
    )  # fmt: skip


def _scores(
    seen: _Seen,
    score: str | None,
    score_b: str | None,
    threshold: float | None,
    *,
    new_rows: bool,
) -> tuple[Floats, ...]:
    """Read the scores to judge: columns, or the model's own if it is new to the rows."""
    if score is not None and new_rows:
        raise ValueError("score is a column, new_rows asks for the model's own; pass one of them.")
    if score is None and not new_rows:
        for name, value in (("score_b", score_b), ("threshold", threshold)):
            if value is not None:
                raise ValueError(
                    f"{name} needs a score to judge: a column, or the model's own for rows that "
                    "it was not fitted to (new_rows)."
                )
        return ()
    columns = [name for name in (score, score_b) if name is not None]
    found = read_scores(seen.table, columns, seen.parts.label, len(seen.cells.labels))
    if new_rows:
        own = seen.model.predict_proba(seen.table)
        found = (own, *found)
    return found


def _parts(
    known: Columns,
    table: pd.DataFrame,
    label: str | None,
    truth: str | None,
    group: Sequence[str] | None,
    id: str | None,
) -> Columns:
    """Choose the columns: those asked for, else the model's if the table has them."""
    there = set(table.columns)
    person = known.unit if known.unit in there else None
    if id is None and known.id in there and not table[known.id].dropna().duplicated().any():
        id = known.id
    parts = replace(
        known,
        label=label or known.label,
        truth=truth or (known.truth if known.truth in there else None),
        groups=tuple(group) if group is not None else known.groups,
        id=id,
        person=person,
    )
    wanted = [parts.label, *parts.groups, *(name for name in (parts.truth, parts.id) if name)]
    check_columns(table, wanted)
    return parts


@dataclass(frozen=True, eq=False)
class _Seen:
    """A table, and what is known about each of its rows."""

    model: Auditor
    table: pd.DataFrame
    parts: Columns
    cells: Cells
    true: NDArray[np.int64]  # codes of the model's classes
    reviewed: Mask
    wrong: Mask  # reviewed, and the observed label found wrong
    confidence: Floats  # that the observed label is right
    design: ReviewDesign  # how the row came to be reviewed
    unit: Codes | None  # whom the row belongs to, if some have several

    def model_rates(self) -> dict[Any, float]:
        """Return the mean of 1 - confidence in each group: the model's own noise rate."""
        names, doubt = self.cells.groups.tolist(), 1 - self.confidence
        return {g: float(doubt[self.cells.group == i].mean()) for i, g in enumerate(names)}

    def answered(
        self, log: pd.DataFrame, scores: tuple[Floats, ...], level: float
    ) -> tuple[_Seen, ReviewerModel]:
        """Return the same with the true labels that reviewers' answers make most probable."""
        classes, cells = self.model.classes, self.cells
        observed = encode_known(cells.labels[cells.label], classes, column=self.parts.label)
        found = model_answers(
            log, self.table, id=self.parts.id, classes=classes, observed=observed,
            group=cells.group, true=self.true, design=self.design, level=level,
            score=scores[0][:, 1] if scores and len(classes) == 2 else None,
        )  # fmt: skip
        true = found.draws.mode
        reviewed = true != UNREVIEWED
        wrong = reviewed & (true != observed)
        return replace(self, true=true, reviewed=reviewed, wrong=wrong), found

    def aim_rows(self, scores: tuple[Floats, ...]) -> AimRows:
        """Return the rows as estimates need them, with the classes of the model."""
        classes, cells = self.model.classes, self.cells
        place = encode_known(cells.labels, classes, column=self.parts.label)
        cells = replace(cells, labels=classes, label=place[cells.label])
        return AimRows(cells, self.true, scores, self.unit)

    def tests(self, level: float, rng: np.random.Generator) -> tuple[TwoSampleTest, ...]:
        """Test each group, at a level corrected for the number of groups."""
        cells, reviewed, weight = self.cells, self.reviewed, self._stand_for()
        level = 1 - (1 - level) / len(cells.groups)
        tests = []
        for g, name in enumerate(cells.groups.tolist()):
            member = cells.group == g
            others = choose_compared(np.flatnonzero(member & ~reviewed), rng)
            rows = np.concatenate([np.flatnonzero(member & reviewed), others])
            features = self.model.preprocessing.transform(self.table.iloc[rows])
            X = np.hstack([features, np.eye(len(cells.labels))[cells.label[rows]]])
            own = None if weight is None else weight[rows]
            whose = None if self.unit is None else self.unit[rows]
            settings: dict[str, Any] = {"unit": whose, "level": level, "random_state": rng}
            tests.append(two_sample_test(name, X, reviewed[rows], own, **settings))
        return tuple(tests)

    def _stand_for(self) -> Floats | None:
        """Return how many unreviewed rows each reviewed row represents; None if unknown.

        Each wave represents all rows not on it, so waves are averaged by their size.
        """
        known = self.design.drawn & self.reviewed
        waves, counts = np.unique(self.design.wave[known], return_counts=True)
        if not len(waves):
            return None
        weight = np.zeros(len(known))
        for wave, count in zip(waves.tolist(), counts.tolist(), strict=True):
            rows = known & (self.design.wave == wave)
            weight[rows] = (1 / self.design.probability[rows] - 1) * count / counts.sum()
        return weight

    def of_nobody(self) -> str:
        """Say how many rows name no person."""
        person = self.parts.person
        n = 0 if person is None else int(is_missing(self.table[person]).sum())
        if not n:
            return ""
        rows, each = ("row", "it was") if n == 1 else ("rows", "each was")
        return f"column {person!r} is empty in {n} {rows}; {each} taken as of a person of its own"

    def empty(self) -> tuple[EmptyCell, ...]:
        there, looked_at = self.cells.counts, self.cells.count(self.reviewed)
        return tuple(
            EmptyCell(name, value, int(there[g, k]))
            for g, name in enumerate(self.cells.groups.tolist())
            for k, value in enumerate(self.cells.labels.tolist())
            if there[g, k] and not looked_at[g, k]
        )

    def next_sheet(
        self, n: int, floor: float, show: Sequence[str], rng: np.random.Generator
    ) -> Sheet:
        table = self.table
        pool = np.flatnonzero(open_rows(table, self.parts.truth) & ~self.design.drawn)
        drawn, chance = propose(self.confidence[pool], n, floor=floor, random_state=rng)
        return make_sheet(
            table, pool[drawn], probability=chance[drawn], stratum="next",
            wave=next_wave(table, anything_before=len(pool) < len(table)), id=self.parts.id,
            show=show, choices=self.model.classes.tolist(), label=self.parts.label,
            groups=self.parts.groups,
        )  # fmt: skip

    def ranked(self) -> pd.DataFrame:
        """Every row, the most doubtful first."""
        cells, truth = self.cells, self.parts.truth
        ids = row_ids(self.table, self.parts.id)
        columns: dict[str, Any] = {
            str(ids.name): ids.to_numpy(),
            "group": cells.groups[cells.group],
            "observed": cells.labels[cells.label],
            "confidence": self.confidence,
            "predicted": self.model.classes[self.model.predict_proba(self.table).argmax(1)],
            "reviewed": None if truth is None else self.table[truth].to_numpy(object),
        }
        person = self.parts.person
        if self.unit is not None and person not in (None, *columns):
            columns[str(person)] = self.table[person].to_numpy(object)
        order = np.argsort(self.confidence, kind="stable")
        return pd.DataFrame(columns).iloc[order].reset_index(drop=True)


def _see(model: Auditor, table: pd.DataFrame, parts: Columns) -> _Seen:
    cells = read_cells(table, label=parts.label, group=parts.groups)
    observed = cells.labels[cells.label]
    y_seen = encode_known(observed, model.classes, column=parts.label)
    y_true = np.full(len(table), UNREVIEWED)
    if parts.truth is not None:
        y_true = encode_known(table[parts.truth], model.classes, column=parts.truth, gaps=True)
    reviewed, confidence = y_true != UNREVIEWED, model.label_confidence(table, observed)
    wrong, design = reviewed & (y_true != y_seen), design_of(table, parts)
    unit = None if parts.person is None else if_shared(units_of(table, parts.person))
    return _Seen(model, table, parts, cells, y_true, reviewed, wrong, confidence, design, unit)
