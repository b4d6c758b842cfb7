"""Sharp: joint by EM as in ``joint``, with errors that may change abruptly with x.

The error model of ``joint`` is held back: errors must show in many rows to depend on x. Where a
label is wrong beyond a threshold of some score, as if by a rule, that is too slow to see. This one
is not held back, and takes more rounds. It finds such rules, and others that are not there; so it
is worth what observed labels, and the reviewed rows, say of it (``learners/credit.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

from alignset.learners.strategies.joint import Joint

START = 1 / 3
"""What it starts with, relative to joint: it has more ways to be wrong."""


@dataclass(frozen=True)
class Sharp(Joint):
    """A model of the class and one of errors that may depend on x as they like."""

    rounds: int = 10
    error_c: float = 1.0
    name = "sharp"
    says = "as joint, with errors that may change abruptly with x"

    def prior(self, rarest: float, wrong: float) -> float:
        """Return a part of what joint starts with."""
        return START * super().prior(rarest, wrong)
