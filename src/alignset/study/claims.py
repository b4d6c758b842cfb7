"""A claim is a text, a source and tests; a verdict says what the results make of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from alignset.study.evidence import Evidence
from alignset.study.quantities import Draw
from alignset.study.rules import Finding, Rule, State

_WORST_FIRST = (State.FAILS, State.UNDECIDED, State.HOLDS)
"""A claim of several parts is as good as its worst part."""


@dataclass(frozen=True)
class Test:
    """Contrasts to be drawn from the results, and the rule that judges them.

    Parameters
    ----------
    contrasts : callable
        Evidence -> the contrasts it has results for; the rest is noted in the evidence.
    rule : Rule
    """

    __test__ = False  # not one of pytest's

    contrasts: Draw
    rule: Rule


@dataclass(frozen=True)
class Verdict:
    """What the results say about a claim: a word, our number and theirs, and why.

    Parameters
    ----------
    state : State
        Holds, fails or undecided.
    explanation : str
    finding : Finding or None
        The number that decided: the weakest contrast of the first test.

    Examples
    --------
    >>> str(Verdict(State.UNDECIDED, "Not run.").state)
    'undecided'
    """

    state: State
    explanation: str
    finding: Finding | None = None


@dataclass(frozen=True)
class Claim:
    """Something a publication says, and how to find out whether it is so.

    Parameters
    ----------
    text, source : str
        What is said, and where.
    measure : str
        What our number and theirs are.
    tests : sequence of Test
        All must hold.
    deviations : tuple of str, optional
        Keys of the deviations that may explain a gap.
    note : str, optional
        What a reader should know about the claim itself.

    Examples
    --------
    >>> claim = Claim("A beats B", "Section 5", "A minus B", ())
    >>> claim.judge(Evidence()).state
    <State.UNDECIDED: 'undecided'>
    """

    text: str
    source: str
    measure: str
    tests: Sequence[Test]
    deviations: tuple[str, ...] = ()
    note: str = ""

    def judge(self, evidence: Evidence) -> Verdict:
        """Draw the contrasts and apply the rules."""
        drawn = [(test.rule, test.contrasts(evidence)) for test in self.tests]
        findings = [rule.judge(contrasts) for rule, contrasts in drawn if contrasts]
        missing = evidence.take_missing()
        not_run = [f"Not run: {'; '.join(missing)}."] if missing else []
        if len(findings) < max(1, len(self.tests)):
            said = not_run[0] if missing else "Not run."
            return Verdict(State.UNDECIDED, said, findings[0] if findings else None)
        state = min((f.state for f in findings), key=_WORST_FIRST.index)
        return Verdict(state, " ".join([*(f.explanation for f in findings), *not_run]), findings[0])
