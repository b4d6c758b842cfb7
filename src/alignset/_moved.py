"""Names that moved: for one release they still work in their old place, with a warning.

To be deleted in version 0.3; ``CHANGELOG.md`` lists the same moves.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

_ROWS = "Part Problem cross_fit from_arrays hold_out review review_weights split weigh_review"
_STUDY = "Cell Dask Experiment Local Outcome Store expand load_experiment load_experiments"
_PAGES = "Bars Claim Curves FigureSpec Panels Publication Reproduction Verdict"

MOVED: dict[str, dict[str, str]] = {
    "alignset": {"review": "alignset"},
    "alignset.split": dict.fromkeys(_ROWS.split(), "alignset.rows"),
    "alignset.experiment": dict.fromkeys(_STUDY.split(), "alignset.study"),
    "alignset.report": dict.fromkeys(_PAGES.split(), "alignset.study"),
}
"""Old module -> name -> the module it is in now."""

RENAMED = {"review": "draw_review"}
"""Names that were also changed when they moved."""


def forwarder(old: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module whose names moved."""

    def find(name: str) -> Any:
        home = MOVED[old].get(name)
        if home is None:
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        new = RENAMED.get(name, name)
        warnings.warn(
            f"{old}.{name} is now {home}.{new}; the old name will be removed in version 0.3.",
            DeprecationWarning,
            stacklevel=3 if old == "alignset" else 2,
        )
        return getattr(import_module(home), new)

    return find


def old_range(name: str) -> Any:
    """Return a range that ``alignset.methods`` had before it used scipy's distributions."""
    from_plain = import_module("alignset.methods.space").from_plain
    now: dict[str, tuple[str, Callable[..., Any]]] = {
        "LogUniform": ("scipy.stats.loguniform", lambda *ends: from_plain({"log_uniform": ends})),
        "Uniform": ("scipy.stats.uniform", lambda *ends: from_plain({"uniform": ends})),
        "Choice": ("a list of values", lambda values: from_plain({"choice": values})),
    }
    if name not in now:
        raise AttributeError(f"module 'alignset.methods' has no attribute {name!r}")
    warnings.warn(
        f"alignset.methods.{name} is now {now[name][0]}; the old name goes away in version 0.3.",
        DeprecationWarning,
        stacklevel=2,
    )
    return now[name][1]
