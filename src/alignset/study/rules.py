"""How contrasts over seeds become holds, fails or undecided."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from alignset.study.evidence import Contrast
from alignset.study.statistics import ALPHA, Paired, holm, paired


class State(StrEnum):
    """What becomes of a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Finding:
    """What a rule makes of its contrasts, and the weakest of them."""

    state: State
    explanation: str
    name: str
    ours: Paired
    theirs: float


class Rule(ABC):
    """Judges a family of contrasts; tests are paired t tests, Holm-corrected over the family."""

    @abstractmethod
    def states(self, found: Sequence[Paired]) -> list[State]:
        """Say of each contrast whether it holds, fails or is undecided."""

    @property
    @abstractmethod
    def words(self) -> dict[State, str]:
        """Say of a contrast what each state means."""

    counted = State.HOLDS
    """The state whose number is told."""

    def combine(self, states: Sequence[State]) -> State:
        """Join the contrasts: all must hold, and one that fails sinks the claim."""
        if State.FAILS in states:
            return State.FAILS
        return State.UNDECIDED if State.UNDECIDED in states else State.HOLDS

    def strength(self, found: Paired) -> float:
        """Tell how far a contrast is from failing, to name the weakest."""
        return found.mean

    def judge(self, contrasts: Sequence[Contrast]) -> Finding:
        """Test every contrast and join them."""
        found = [paired(c.values) for c in contrasts]
        states = self.states(found)
        weakest = int(np.argmin([self.strength(f) for f in found]))
        weak = found[weakest]
        if len(found) == 1:
            said = f"{self.words[states[0]].capitalize()}: {contrasts[0].name}"
        else:
            n = states.count(self.counted)
            said = f"{n} of {len(found)} {self.words[self.counted]}; closest call"
            said += f": {contrasts[weakest].name}"
        text = f"{said}, {_told(weak)}."
        failing = [c.name for c, s in zip(contrasts, states, strict=True) if s is State.FAILS]
        if failing and len(found) > 1:
            text += f" Fails: {', '.join(failing)}."
        return Finding(
            self.combine(states), text, contrasts[weakest].name, weak, contrasts[weakest].theirs
        )


@dataclass(frozen=True)
class Greater(Rule):
    """Contrasts are above zero; one significantly below it fails.

    Parameters
    ----------
    share : float
        How large a share of the contrasts must be above zero for the whole to hold.
    """

    share: float = 1.0

    def states(self, found: Sequence[Paired]) -> list[State]:
        """Test each mean against zero, two-sided."""
        adjusted = holm([f.p for f in found])
        return [
            State.UNDECIDED if not p < ALPHA else (State.HOLDS if f.mean > 0 else State.FAILS)
            for f, p in zip(found, adjusted, strict=True)
        ]

    def combine(self, states: Sequence[State]) -> State:
        """Join the contrasts, allowing for the share."""
        if State.FAILS in states and self.share == 1:
            return State.FAILS
        if states.count(State.HOLDS) >= self.share * len(states):
            return State.HOLDS
        if states.count(State.FAILS) > (1 - self.share) * len(states):
            return State.FAILS
        return State.UNDECIDED

    @property
    def words(self) -> dict[State, str]:
        """Compare with zero."""
        return {
            State.HOLDS: "significantly above zero",
            State.FAILS: "significantly below zero",
            State.UNDECIDED: "not distinguishable from zero",
        }


@dataclass(frozen=True)
class NeverBelow(Rule):
    """No contrast is significantly below zero."""

    def states(self, found: Sequence[Paired]) -> list[State]:
        """Test each mean against zero, two-sided; a single seed decides nothing."""
        adjusted = holm([f.p for f in found])
        return [
            State.FAILS
            if p < ALPHA and f.mean < 0
            else (State.HOLDS if np.isfinite(p) else State.UNDECIDED)
            for f, p in zip(found, adjusted, strict=True)
        ]

    counted = State.FAILS

    @property
    def words(self) -> dict[State, str]:
        """Compare with zero."""
        return {
            State.HOLDS: "not significantly below zero",
            State.FAILS: "significantly below zero",
            State.UNDECIDED: "not tested",
        }


@dataclass(frozen=True)
class LosesLess(Rule):
    """Contrasts are above minus a margin: what is lost is too little to notice.

    Every contrast must be shown to, so its own test needs no correction; to fail, one must be
    shown to lose more than the margin, corrected for their number.
    """

    margin: float

    def states(self, found: Sequence[Paired]) -> list[State]:
        """Test each mean against minus the margin, one-sided both ways."""
        below = holm([f.p_below(-self.margin) for f in found])
        return [
            State.HOLDS
            if f.p_above(-self.margin) < ALPHA
            else (State.FAILS if p < ALPHA else State.UNDECIDED)
            for f, p in zip(found, below, strict=True)
        ]

    @property
    def words(self) -> dict[State, str]:
        """Compare with the margin."""
        return {
            State.HOLDS: f"shown to lose less than {self.margin:g}",
            State.FAILS: f"shown to lose more than {self.margin:g}",
            State.UNDECIDED: f"not shown to lose less than {self.margin:g}",
        }


@dataclass(frozen=True)
class Within(Rule):
    """Contrasts lie within a margin of zero on both sides (two one-sided tests)."""

    margin: float

    def states(self, found: Sequence[Paired]) -> list[State]:
        """Test each mean against both margins."""
        outside = holm([2 * min(f.p_below(-self.margin), f.p_above(self.margin)) for f in found])
        return [
            State.HOLDS
            if max(f.p_above(-self.margin), f.p_below(self.margin)) < ALPHA
            else (State.FAILS if p < ALPHA else State.UNDECIDED)
            for f, p in zip(found, outside, strict=True)
        ]

    def strength(self, found: Paired) -> float:
        """Tell how close to zero a contrast is."""
        return -abs(found.mean)

    @property
    def words(self) -> dict[State, str]:
        """Compare with the margin."""
        return {
            State.HOLDS: f"shown to differ by less than {self.margin:g}",
            State.FAILS: f"shown to differ by more than {self.margin:g}",
            State.UNDECIDED: f"not shown to differ by less than {self.margin:g}",
        }


def _told(found: Paired) -> str:
    if found.n < 2:
        return f"{found.mean:+.3f} (one seed: nothing can be tested)"
    return f"{found.mean:+.3f} ({found.n} seeds)"
