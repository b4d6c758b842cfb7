"""How contrasts over seeds decide whether a claim holds, fails or is undecided."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from alignset.study.quantities import Contrast
from alignset.study.results import ALPHA, Paired, holm, paired

Shown = tuple[NDArray[np.bool_], NDArray[np.bool_]]
"""Which contrasts are shown to support a claim, and which to contradict it."""


class Standing(StrEnum):
    """Whether a claim holds."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Finding:
    """What a rule concludes from its contrasts, and the weakest of them."""

    state: Standing
    explanation: str
    name: str
    ours: Paired
    theirs: float


class Rule(ABC):
    """Judges a family of contrasts; tests are paired t tests, Holm-corrected over the family."""

    words: ClassVar[tuple[str, str, str]]
    """How to say that a contrast holds, fails or is undecided; fields are filled in."""

    counted: ClassVar[Standing] = Standing.HOLDS
    """The state whose count is reported."""

    @abstractmethod
    def shown(self, found: Sequence[Paired]) -> Shown:
        """Test every contrast in both directions."""

    def combine(self, states: Sequence[Standing]) -> Standing:
        """Combine the contrasts: all must hold, and one that fails makes the claim fail."""
        if Standing.FAILS in states:
            return Standing.FAILS
        return Standing.UNDECIDED if Standing.UNDECIDED in states else Standing.HOLDS

    def strength(self, found: Paired) -> float:
        """Return how far a contrast is from failing, to find the weakest."""
        return found.mean

    def judge(self, contrasts: Sequence[Contrast]) -> Finding:
        """Test every contrast and combine the results."""
        found = [paired(c.values) for c in contrasts]
        states = [
            Standing.HOLDS if good else Standing.FAILS if bad else Standing.UNDECIDED
            for good, bad in zip(*self.shown(found), strict=True)
        ]
        words = {s: w.format(**vars(self)) for s, w in zip(Standing, self.words, strict=True)}
        weakest = int(np.argmin([self.strength(f) for f in found]))
        weak, name = found[weakest], contrasts[weakest].name
        if len(found) == 1:
            said = f"{words[states[0]].capitalize()}: {name}"
        else:
            n = states.count(self.counted)
            said = f"{n} of {len(found)} {words[self.counted]}; closest call: {name}"
        seeds = f"{weak.n} seeds" if weak.n > 1 else "one seed: nothing can be tested"
        text = f"{said}, {weak.mean:+.3f} ({seeds})."
        failing = [c.name for c, s in zip(contrasts, states, strict=True) if s is Standing.FAILS]
        if failing and len(found) > 1:
            text += f" Fails: {', '.join(failing)}."
        return Finding(self.combine(states), text, name, weak, contrasts[weakest].theirs)


def _two_sided(found: Sequence[Paired]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the corrected p of every contrast against zero, and its mean."""
    return holm([f.p for f in found]), np.array([f.mean for f in found])


@dataclass(frozen=True)
class Greater(Rule):
    """Contrasts, or a share of them, are above zero; one significantly below zero fails."""

    words = (
        *("significantly above zero", "significantly below zero"),
        "not distinguishable from zero",
    )
    share: float = 1.0

    def shown(self, found: Sequence[Paired]) -> Shown:
        """Test each mean against zero, two-sided."""
        p, mean = _two_sided(found)
        return (p < ALPHA) & (mean > 0), (p < ALPHA) & (mean <= 0)

    def combine(self, states: Sequence[Standing]) -> Standing:
        """Combine the contrasts, allowing for the share."""
        if Standing.FAILS in states and self.share == 1:
            return Standing.FAILS
        if states.count(Standing.HOLDS) >= self.share * len(states):
            return Standing.HOLDS
        if states.count(Standing.FAILS) > (1 - self.share) * len(states):
            return Standing.FAILS
        return Standing.UNDECIDED


@dataclass(frozen=True)
class NeverBelow(Rule):
    """No contrast is significantly below zero; a single seed decides nothing."""

    words = ("not significantly below zero", "significantly below zero", "not tested")
    counted = Standing.FAILS

    def shown(self, found: Sequence[Paired]) -> Shown:
        """Test each mean against zero, two-sided."""
        p, mean = _two_sided(found)
        below = (p < ALPHA) & (mean < 0)
        return np.isfinite(p) & ~below, below


@dataclass(frozen=True)
class LosesLess(Rule):
    """Contrasts are above minus a margin: the loss is too small to matter.

    This must be shown for every contrast, so each test needs no correction; to fail, one must be
    shown to lose more than the margin, corrected for the number of contrasts.
    """

    words = (
        *("shown to lose less than {margin:g}", "shown to lose more than {margin:g}"),
        "not shown to lose less than {margin:g}",
    )
    margin: float

    def shown(self, found: Sequence[Paired]) -> Shown:
        """Test each mean against minus the margin, one-sided both ways."""
        less = np.array([f.p_above(-self.margin) for f in found]) < ALPHA
        return less, holm([f.p_below(-self.margin) for f in found]) < ALPHA


@dataclass(frozen=True)
class Within(Rule):
    """Contrasts lie within a margin of zero on both sides (two one-sided tests)."""

    words = (
        *("shown to differ by less than {margin:g}", "shown to differ by more than {margin:g}"),
        "not shown to differ by less than {margin:g}",
    )
    margin: float

    def shown(self, found: Sequence[Paired]) -> Shown:
        """Test each mean against both margins."""
        m = self.margin
        inside = np.array([max(f.p_above(-m), f.p_below(m)) for f in found]) < ALPHA
        return inside, holm([2 * min(f.p_below(-m), f.p_above(m)) for f in found]) < ALPHA

    def strength(self, found: Paired) -> float:
        """Return how close to zero a contrast is."""
        return -abs(found.mean)
