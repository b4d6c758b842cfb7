"""Learn from labels that are wrong in ways that depend on the person, with a reviewed subset.

Names are imported when they are first asked for: ``import alignset`` loads neither torch nor
scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "make_synthetic": "alignset.data",
    "Table": "alignset.data",
    "Problem": "alignset.split",
}

__all__ = ["__version__", *_HOME]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'alignset' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from alignset.data import Table as Table
    from alignset.split import Problem as Problem
