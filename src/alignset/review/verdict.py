"""Is the alignment set good enough? Green, amber or red, why, and the one thing to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from alignset.evaluate.noise_rate import NoiseRate
from alignset.review.nonresponse import NonResponse
from alignset.review.plan import LEAST_GROUP, SMALL_SHARE
from alignset.review.representative import TwoSampleTest
from alignset.rows.percent import percent

Colour = Literal["green", "amber", "red"]
CLEARLY_DIFFERENT = 0.6
"""AUROC above which reviewed rows are clearly not like the others: red instead of amber."""
FEW = 30
"""Effective size below which little is known about a group's rate."""
MANY_UNRESOLVED = 0.1
"""Share of drawn rows without an answer above which the gaps may bias the rates."""


@dataclass(frozen=True)
class EmptyCell:
    """A group x observed-label cell that has rows but no reviewed ones."""

    group: Any
    label: Any
    rows: int


@dataclass(frozen=True)
class Reason:
    """One thing that is wrong, and what to do about it."""

    colour: Colour
    text: str
    action: str


@dataclass(frozen=True)
class ReviewVerdict:
    """Whether the alignment set is good enough, why, and what to do.

    Examples
    --------
    >>> judge([NoiseRate("all", 99, 0, 0, 0, float("nan"), 0.0, 1.0, 0.0, False)], [], []).colour
    'red'
    """

    colour: Colour  # the worst of the reasons; green without any
    reasons: tuple[Reason, ...]  # worst first
    action: str  # the one thing that helps most


def judge(
    rates: Sequence[NoiseRate],
    tests: Sequence[TwoSampleTest],
    empty: Sequence[EmptyCell],
    nonresponse: Sequence[NonResponse] = (),
    *,
    picked: bool = False,
) -> ReviewVerdict:
    """Judge what an audit found; the intervals of ``tests`` already allow for their number.

    Rows that were ``picked`` because their label is wrong tell nothing about others.
    """
    found = [NONE_REVIEWED]
    if picked:
        reason = _picked(rates)
        return ReviewVerdict(reason.colour, (reason,), reason.action)
    if any(rate.reviewed for rate in rates):
        gaps = _unanswered(rates, empty, nonresponse)
        found = [*_biased(rates, tests), *gaps, *_too_few(rates)]
    worst = sorted(found, key=lambda reason: reason.colour != "red")
    if not worst:
        return ReviewVerdict(
            "green", (), "nothing needed; `alignset audit --next` sharpens the rates."
        )
    return ReviewVerdict(worst[0].colour, tuple(worst), worst[0].action)


NONE_REVIEWED = Reason(
    "red",
    "no row is reviewed, so nothing is known about the noise",
    "draw a review sheet with `alignset sample`.",
)


def _picked(rates: Sequence[NoiseRate]) -> Reason:
    wrong, reviewed = sum(r.wrong for r in rates), sum(r.reviewed for r in rates)
    return Reason(
        "red",
        f"{wrong} of {reviewed} reviewed labels are wrong, so rows seem to have been reviewed "
        "because theirs was, and do not show how often labels are wrong",
        "review rows drawn at random as well, with `alignset sample`.",
    )


def _biased(rates: Sequence[NoiseRate], tests: Sequence[TwoSampleTest]) -> Iterator[Reason]:
    """Find groups nobody reviewed, and groups whose reviewed rows are not like the others."""
    for rate in sorted(rates, key=lambda r: -r.rows):
        if rate.reviewed == 0:
            yield Reason(
                "red",
                f"group {rate.group!r} has {rate.rows} rows, none reviewed",
                f"review {min(FEW, rate.rows)} random rows of group {rate.group!r}.",
            )
    for test in sorted(tests, key=lambda t: -t.low if t.low == t.low else 0.0):
        if test.low > 0.5:
            how = "even after weighting, " if test.weighted else ""
            yield Reason(
                "red" if test.low > CLEARLY_DIFFERENT else "amber",
                f"{how}reviewed rows of group {test.group!r} can be told from the others (AUROC "
                f"{test.auroc:.2f}, {test.low:.2f} to {test.high:.2f}; 0.5 if they were alike)",
                f"review more rows of group {test.group!r} drawn at random by `alignset sample`, "
                "and answer all of them.",
            )


def _unanswered(
    rates: Sequence[NoiseRate], empty: Sequence[EmptyCell], nonresponse: Sequence[NonResponse]
) -> Iterator[Reason]:
    """Find drawn rows that nobody answered, and cells without a reviewed row."""
    told = {one.group for one in nonresponse if one.matters}
    for one in nonresponse:
        if one.matters:
            action = f"settle the {one.drawn - one.answered} rows of group {one.group!r} without an"
            yield Reason("amber", one.text, f"{action} answer.")
    for rate in rates:
        if rate.group in told:
            continue
        drawn = rate.reviewed + rate.unresolved
        if drawn and rate.unresolved / drawn > MANY_UNRESOLVED:
            yield Reason(
                "amber",
                f"{rate.unresolved} of {drawn} rows drawn in group {rate.group!r} have no answer",
                f"settle the {rate.unresolved} rows of group {rate.group!r} without an answer.",
            )
    groups = {rate.group for rate in rates if rate.reviewed}
    for cell in sorted(empty, key=lambda c: -c.rows):
        if cell.group in groups:
            where = f"with observed label {cell.label!r}"
            yield Reason(
                "amber",
                f"group {cell.group!r} has {cell.rows} rows {where}, none reviewed",
                f"review {min(10, cell.rows)} random rows of group {cell.group!r} {where}.",
            )


def _too_few(rates: Sequence[NoiseRate]) -> Iterator[Reason]:
    """Find too few reviewed rows, in a group or overall, and reviews that found nothing wrong."""
    for rate in sorted(rates, key=lambda r: r.effective_size):
        if 0 < rate.effective_size < FEW:
            more = min(max(FEW - rate.reviewed, 10), rate.rows - rate.reviewed)
            yield Reason(
                "amber",
                f"the reviewed rows of group {rate.group!r} are worth {rate.effective_size:.0f} "
                f"random ones: its noise rate is {rate.low:.2f} to {rate.high:.2f}",
                f"review {more} more random rows of group {rate.group!r}.",
            )
    rows, reviewed = sum(r.rows for r in rates), sum(r.reviewed for r in rates)
    if reviewed / rows <= SMALL_SHARE:
        yield Reason(
            "amber",
            f"{reviewed / rows:.1%} of the rows are reviewed; the two-stage method was noticeably "
            f"worse at {SMALL_SHARE:.0%} or less (Tjandra & Wiens 2023)",
            f"review {int(SMALL_SHARE * rows) + 1 - reviewed} more rows, drawn by `alignset "
            "sample`.",
        )
    for rate in rates:
        part, fair = rate.reviewed / max(reviewed, 1), rate.rows / rows
        if rate.reviewed and part < LEAST_GROUP and part < fair / 2:
            more, group = round(fair * reviewed) - rate.reviewed, f"group {rate.group!r}"
            yield Reason(
                "amber",
                f"{group} is {percent(fair)} of the rows but {percent(part)} of the reviewed ones",
                f"review {more} more random rows of {group}.",
            )
    if not any(rate.wrong for rate in rates):
        yield Reason(
            "amber",
            f"all {reviewed} reviewed labels agree with the observed ones, so a model cannot learn "
            "where labels are wrong",
            "review rows that the model doubts: `alignset audit --next 50 --sheet next.csv`.",
        )
