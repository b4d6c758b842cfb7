"""Is the alignment set good enough: green, amber or red, why, and the one thing to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from alignset.evaluate.noise_rate import NoiseRate
from alignset.review.plan import LEAST_GROUP, SMALL_SHARE
from alignset.review.representative import TwoSampleTest

Colour = Literal["green", "amber", "red"]
CLEARLY_DIFFERENT = 0.6
"""AUROC above which, surely, reviewed rows are not like the others: red instead of amber."""
FEW = 30
"""Effective size below which a group's rate is hardly known."""
MANY_UNRESOLVED = 0.1
"""Share of drawn rows without an answer above which who is missing may matter."""


@dataclass(frozen=True)
class EmptyCell:
    """Rows of a group with an observed label of which none is reviewed."""

    group: Any
    label: Any
    rows: int


@dataclass(frozen=True)
class Reason:
    """One thing that is not as it should be, and what to do about it."""

    colour: Colour
    text: str
    action: str


@dataclass(frozen=True)
class Verdict:
    """Whether the alignment set is good enough, why, and what to do.

    Parameters
    ----------
    colour : {"green", "amber", "red"}
        The worst of the reasons; green without any.
    reasons : tuple of Reason
        Worst first.
    action : str
        The one thing that helps most.

    Examples
    --------
    >>> judge([NoiseRate("all", 99, 0, 0, 0, float("nan"), 0.0, 1.0, 0.0, False)], [], []).colour
    'red'
    """

    colour: Colour
    reasons: tuple[Reason, ...]
    action: str


def judge(
    rates: Sequence[NoiseRate], tests: Sequence[TwoSampleTest], empty: Sequence[EmptyCell]
) -> Verdict:
    """Weigh what an audit found.

    ``tests`` carry intervals already widened for their number.
    """
    if not any(rate.reviewed for rate in rates):
        found = [NONE_REVIEWED]
    else:
        found = [
            *_unreviewed_groups(rates), *_different(tests), *_unresolved(rates),
            *_empty_cells(rates, empty), *_few(rates), *_small_share(rates), *_left_behind(rates),
            *_nothing_wrong(rates),
        ]  # fmt: skip
    worst = sorted(found, key=lambda reason: reason.colour != "red")
    if not worst:
        return Verdict("green", (), "nothing needed; `alignset audit --next` sharpens the rates.")
    return Verdict(worst[0].colour, tuple(worst), worst[0].action)


_Reasons = Iterator[Reason]
_Rates = Sequence[NoiseRate]

NONE_REVIEWED = Reason(
    "red",
    "no row is reviewed, so nothing is known about the noise",
    "draw a review sheet with `alignset sample`.",
)


def _unreviewed_groups(rates: _Rates) -> _Reasons:
    for rate in sorted(rates, key=lambda r: -r.rows):
        if rate.reviewed == 0:
            yield Reason(
                "red",
                f"group {rate.group!r} has {rate.rows} rows, none reviewed",
                f"review {min(FEW, rate.rows)} random rows of group {rate.group!r}.",
            )


def _different(tests: Sequence[TwoSampleTest]) -> _Reasons:
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


def _unresolved(rates: _Rates) -> _Reasons:
    for rate in rates:
        drawn = rate.reviewed + rate.unresolved
        if drawn and rate.unresolved / drawn > MANY_UNRESOLVED:
            yield Reason(
                "amber",
                f"{rate.unresolved} of {drawn} rows drawn in group {rate.group!r} have no answer",
                f"settle the {rate.unresolved} rows of group {rate.group!r} without an answer.",
            )


def _empty_cells(rates: _Rates, empty: Sequence[EmptyCell]) -> _Reasons:
    groups = {rate.group for rate in rates if rate.reviewed}
    for cell in sorted(empty, key=lambda c: -c.rows):
        if cell.group in groups:
            n = min(10, cell.rows)
            yield Reason(
                "amber",
                f"group {cell.group!r} has {cell.rows} rows with observed label {cell.label!r}, "
                "none reviewed",
                f"review {n} random rows of group {cell.group!r} with observed label "
                f"{cell.label!r}.",
            )


def _few(rates: _Rates) -> _Reasons:
    for rate in sorted(rates, key=lambda r: r.effective_size):
        if 0 < rate.effective_size < FEW:
            more = min(max(FEW - rate.reviewed, 10), rate.rows - rate.reviewed)
            yield Reason(
                "amber",
                f"the reviewed rows of group {rate.group!r} are worth {rate.effective_size:.0f} "
                f"random ones: its noise rate is {rate.low:.2f} to {rate.high:.2f}",
                f"review {more} more random rows of group {rate.group!r}.",
            )


def _small_share(rates: _Rates) -> _Reasons:
    rows, reviewed = sum(r.rows for r in rates), sum(r.reviewed for r in rates)
    if reviewed and reviewed / rows <= SMALL_SHARE:
        more = int(SMALL_SHARE * rows) + 1 - reviewed
        yield Reason(
            "amber",
            f"{reviewed / rows:.1%} of the rows are reviewed; the two-stage method was noticeably "
            f"worse at {SMALL_SHARE:.0%} or lower (Tjandra & Wiens 2023)",
            f"review {more} more rows, drawn by `alignset sample`.",
        )


def _left_behind(rates: _Rates) -> _Reasons:
    rows, reviewed = sum(r.rows for r in rates), sum(r.reviewed for r in rates)
    for rate in rates:
        part, fair = rate.reviewed / max(reviewed, 1), rate.rows / rows
        if rate.reviewed and part < LEAST_GROUP and part < fair / 2:
            yield Reason(
                "amber",
                f"group {rate.group!r} is {fair:.0%} of the rows but {part:.0%} of the reviewed "
                "ones",
                f"review {round(fair * reviewed) - rate.reviewed} more random rows of group "
                f"{rate.group!r}.",
            )


def _nothing_wrong(rates: _Rates) -> _Reasons:
    reviewed = sum(r.reviewed for r in rates)
    if reviewed and not any(rate.wrong for rate in rates):
        yield Reason(
            "amber",
            f"all {reviewed} reviewed labels agree with the observed ones, so where labels are "
            "wrong cannot be learned",
            "review rows the model doubts: `alignset audit --next 50 --sheet next.csv`.",
        )
