"""What a fit warns about: reviews that teach nothing, gaps in them, classes the model swapped.

``fit`` calls ``_learn``, which calls these, so that a warning names the line that called ``fit``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from alignset.evaluate.switching import Switch
from alignset.labels import (
    LabelSwitchWarning,
    NoDisagreementWarning,
    NoReviewWarning,
    UnobservedClassWarning,
    UnreviewedGroupWarning,
    UnseenCellWarning,
)
from alignset.methods import Method, Standard
from alignset.rows import Part
from alignset.rows.selection import unseen_cells


def method_for(rows: Part, method: Any) -> Method:
    """Return the method to train: Standard, with a warning, if ``method`` has nothing to use."""
    if not isinstance(method, Method):
        raise ValueError(
            f"method must be a Method such as JointAlignment() or Standard(), got {method!r}."
        )
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


def warn_of_gaps(
    rows: Part, classes: Sequence[Any], groups: Sequence[Any], *, weighted: bool
) -> None:
    """Warn about classes never observed, and groups and (if it matters) cells never reviewed."""
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
    for g in unseen:
        _warn(
            f"group {groups[g]!r} has no reviewed row; its noise rate is unknown, and its "
            "model is extrapolated from the other groups. Review some of its rows.",
            UnreviewedGroupWarning,
        )
    cells = [(g, k) for g, k in unseen_cells(rows) if g not in unseen] if weighted else []
    if cells:
        named = [f"group {groups[g]!r} observed as {classes[k]!r}" for g, k in cells]
        _warn(
            f"no row of {' or of '.join(named)} was reviewed; the data cannot show how often "
            "that label is wrong there, and no weight makes up for it. Review some of these rows.",
            UnseenCellWarning,
        )


def warn_of_switches(
    found: Iterable[Switch], method: Method, classes: Sequence[Any], groups: Sequence[Any]
) -> None:
    """Warn about the groups in which the model swapped classes."""
    for switch in found:
        swaps = [f"{classes[switch.order[k]]!r} where {classes[k]!r} is true" for k in switch.moved]
        _warn(
            f"in group {groups[switch.group]!r} the model predicts {', '.join(swaps)} (by "
            f"{switch.gain:.2f} in probability, standard error {switch.error:.2f}, on "
            f"{switch.n_rows} reviewed rows held out of training). Review more rows of this "
            f"group, {method.if_switched}.",
            LabelSwitchWarning,
        )


def _warn(message: str, category: type[Warning]) -> None:
    """Warn at the line that called fit, two calls above the caller of this."""
    warnings.warn(message, category, stacklevel=5)
