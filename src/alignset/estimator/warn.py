"""What a fit warns about: reviews that teach nothing, gaps in them, classes the model swapped."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from alignset.evaluate.switching import Switch
from alignset.labels import (
    FewReviewedWarning,
    LabelSwitchWarning,
    NoDisagreementWarning,
    NoReviewWarning,
    OutOfTimeWarning,
    SelectiveReviewWarning,
    UnobservedClassWarning,
    UnreviewedGroupWarning,
    UnseenCellWarning,
)
from alignset.learners.review import Review
from alignset.methods import Method, Standard
from alignset.rows import Part
from alignset.rows.listing import first_few
from alignset.rows.selection import unseen_cells

FEW = 10
"""With fewer reviewed rows of a class, a warning says so."""

MOST_NAMED = 5
"""Groups and cells that a warning names."""


def method_for(rows: Part, method: Method) -> Method:
    """Return the method to train: Standard, with a warning, if ``method`` has nothing to use."""
    wrong = (rows.y_seen != rows.y_true)[rows.reviewed]
    if method.needs_alignment and not rows.reviewed.any():
        _warn(
            f"no row was reviewed, so {type(method).__name__} cannot be trained; fitting "
            "Standard instead. Pass y_true with the reviewed labels, and NaN elsewhere.",
            NoReviewWarning,
        )
    elif method.learns_errors and not wrong.any():
        _warn(
            "every reviewed label was right, so there is no error to learn from; fitting "
            "Standard instead. Review more rows if errors are expected.",
            NoDisagreementWarning,
        )
    else:
        return method
    return Standard(lr=method.lr, l2=method.l2)


def warn_of_gaps(rows: Part, classes: Sequence[Any], groups: Sequence[Any]) -> None:
    """Warn about classes never observed, and groups and cells never reviewed."""
    present = np.unique(np.concatenate([rows.y_seen, rows.y_true[rows.reviewed]]))
    if len(present) < 2:
        raise ValueError(
            f"the labels hold only one class, {[classes[k] for k in present]}; "
            "a classifier needs at least two."
        )
    for k in np.setdiff1d(present, rows.y_seen):
        _warn(
            f"class {classes[k]!r} occurs among the true labels but is never observed; it is "
            "learned only from reviewed rows. Check that y and y_true use the same names.",
            UnobservedClassWarning,
        )
    if not rows.reviewed.any():
        return
    unseen = np.setdiff1d(rows.group, rows.group[rows.reviewed]).tolist()
    if unseen:
        one, listed = len(unseen) == 1, first_few([repr(groups[g]) for g in unseen], MOST_NAMED)
        subject, whose = ("group", "its") if one else ("groups", "their")
        _warn(
            f"{subject} {listed} {'has' if one else 'have'} no reviewed row; {whose} noise rate is "
            f"unknown, and {whose} model is extrapolated from the other groups. Review some of "
            f"{whose} rows.",
            UnreviewedGroupWarning,
        )
    cells = [(g, k) for g, k in unseen_cells(rows) if g not in unseen]
    if cells:
        of = ["" if len(groups) == 1 else f"of group {groups[g]!r} " for g, _ in cells]
        named = [f"{g}observed as {classes[k]!r}" for g, (_, k) in zip(of, cells, strict=True)]
        _warn(
            f"no row {first_few(named, MOST_NAMED, ' or ')} was reviewed; the data cannot "
            "show how often that label is wrong there, and no weight makes up for it. Review some "
            "of these rows.",
            UnseenCellWarning,
        )


def warn_of_review(review: Review, classes: Sequence[Any], *, weighted: bool = True) -> None:
    """Warn about a review that cannot carry a model: none, selective, or too few of a class.

    Where ``weighted``, rows of a selective one were weighted, and anchors used. Of persons with
    several rows, persons are counted.
    """
    rows = review.rows
    looked = rows.reviewed & ~review.anchors
    if not looked.any():
        _warn(
            "no row was reviewed, so only observed labels were learned, as if they were right. "
            "Pass y_true with the reviewed labels, and NaN elsewhere.",
            NoReviewWarning,
        )
        return
    if review.selective:
        _warn(_say_selective(review, classes, weighted), SelectiveReviewWarning)
    if review.picked:
        _warn(_say_picked(review, looked, weighted), SelectiveReviewWarning)
    counts = np.array([_count(rows, looked & (rows.y_true == k)) for k in range(len(classes))])
    few = (counts < FEW) & np.isin(np.arange(len(classes)), rows.y_seen)
    if few.any():
        told = [_say_few(counts[k], classes[k]) for k in np.flatnonzero(few).tolist()]
        whose, it = ("that class", "it") if len(told) == 1 else ("these classes", "them")
        _warn(
            f"{', '.join(told)}; the review says little about {whose}, and the model leans on "
            f"observed labels for {it}. Review more rows that may be of {it}.",
            FewReviewedWarning,
        )


def _count(rows: Part, at: Any) -> float:
    """Count these rows, or the persons that have any of them."""
    if rows.unit is None or rows.share is not None:
        return float(rows.shares[at].sum())
    return float(len(np.unique(rows.unit[at])))


def _say_picked(review: Review, looked: Any, weighted: bool) -> str:
    rows = review.rows
    wrong = looked & (rows.y_seen != rows.y_true)
    done = "; a method that learns from them learns errors that most other rows do not have"
    if weighted:
        done = ", so that candidates are not weighted by what they say of them"
    return (
        f"{_count(rows, wrong):.0f} of {_count(rows, looked):.0f} reviewed labels were wrong: rows "
        "seem to have been reviewed because their label was. Such rows cannot show how often other "
        f"labels are wrong, nor judge a model{done}. Review some rows drawn at random as well."
    )


def _say_few(count: float, name: Any) -> str:
    rows = "row" if round(count) == 1 else "rows"
    found = f"only {count:.0f} reviewed {rows}" if count else "no reviewed row"
    return f"{found} turned out to be {name!r}"


def _say_selective(review: Review, classes: Sequence[Any], weighted: bool) -> str:
    unseen = [repr(classes[k]) for k in review.unseen]
    nobody = f" No row observed as {' or '.join(unseen)} was reviewed." if unseen else ""
    done = " Reviewed rows were weighted to make up for it."
    if not weighted:
        done = " Pass review_weights='cells' to weight them so that they make up for it."
    elif review.anchors.any():
        named = np.unique(review.rows.y_seen[review.anchors]).tolist()
        done += (
            f" {int(review.anchors.sum())} labels of kinds nobody looked at, observed as "
            f"{' or '.join(repr(classes[k]) for k in named)}, were taken as right."
        )
    return (
        "the reviewed rows are not a fair sample: whether a row was reviewed depends on its "
        f"observed label, or on how well that fits its features.{nobody}{done} Pass "
        "review_probability if it is known, or review rows at random."
    )


def warn_of_time(left_out: Sequence[str], seconds: float | None) -> str:
    """Warn about candidates that there was no time for; return the sentence that names them."""
    if not left_out:
        return ""
    told = f"In {seconds:g} s there was no time for {', '.join(left_out)}."
    _warn(f"{told} Raise time_budget, or name fewer candidates.", OutOfTimeWarning)
    return told


def warn_of_switches(
    found: Iterable[Switch], remedy: str, classes: Sequence[Any], groups: Sequence[Any]
) -> None:
    """Warn about the groups in which the model swapped classes."""
    for switch in found:
        swaps = [f"{classes[switch.order[k]]!r} where {classes[k]!r} is true" for k in switch.moved]
        _warn(
            f"in group {groups[switch.group]!r} the model predicts {', '.join(swaps)} (by "
            f"{switch.gain:.2f} in probability, standard error {switch.error:.2f}, on "
            f"{switch.n_rows} reviewed rows held out of training). Review more rows of this "
            f"group, {remedy}.",
            LabelSwitchWarning,
        )


def _warn(message: str, category: type[Warning]) -> None:
    """Warn at the line outside alignset that called fit."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_ours(frame.f_back):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level + 1)


def _is_ours(frame: FrameType) -> bool:
    # code that was given to exec may have no name
    return str(frame.f_globals.get("__name__")).startswith("alignset.")
