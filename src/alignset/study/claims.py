"""A claim is a text, a source and tests; a verdict says whether the results support it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from alignset.report.page import NOTHING, PageBlock, slug
from alignset.study.quantities import Draw, Evidence
from alignset.study.rules import Finding, Rule, Standing

SIGNS = {Standing.FAILS: "✗", Standing.UNDECIDED: "?", Standing.HOLDS: "✓"}
"""Standing -> a mark that needs no colour; worst first, as a claim is as good as its worst part."""


@dataclass(frozen=True)
class Test:
    """Contrasts to draw from the results, and the rule that judges them."""

    __test__ = False  # not a pytest test

    contrasts: Draw
    rule: Rule


NOT_RUN = "not run"
"""Said of a claim without results: that is not the same as undecided."""


@dataclass(frozen=True)
class Verdict:
    """What the results say about a claim: a word, the reason, and the deciding number, if any.

    Examples
    --------
    >>> str(Verdict(Standing.UNDECIDED, "Not run.").state)
    'undecided'
    """

    state: Standing
    explanation: str
    finding: Finding | None = None


@dataclass(frozen=True)
class Claim:
    """A statement in a publication, and how to find out whether it is true.

    Parameters
    ----------
    text, source, measure : str
        What is claimed, where, and what our number and theirs measure.
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
    <Standing.UNDECIDED: 'undecided'>
    """

    text: str
    source: str
    measure: str
    tests: Sequence[Test]
    deviations: tuple[str, ...] = ()
    note: str = ""

    def judge(self, evidence: Evidence) -> Verdict:
        """Draw the contrasts and apply the rules to them."""
        drawn = [(test.rule, test.contrasts(evidence)) for test in self.tests]
        findings = [rule.judge(contrasts) for rule, contrasts in drawn if contrasts]
        missing = evidence.take_missing()
        not_run = [f"Not run: {'; '.join(missing)}."] if missing else []
        if len(findings) < max(1, len(self.tests)):
            said = not_run[0] if missing else "Not run."
            return Verdict(Standing.UNDECIDED, said, findings[0] if findings else None)
        state = min((f.state for f in findings), key=list(SIGNS).index)
        return Verdict(state, " ".join([*(f.explanation for f in findings), *not_run]), findings[0])


@dataclass(frozen=True)
class JudgedClaim:
    """A claim, the protocol of its results, and what they say."""

    claim: Claim
    protocol: str
    verdict: Verdict

    @property
    def state(self) -> str:
        """The verdict; "not run" if there is no result to judge by."""
        return NOT_RUN if self.verdict.finding is None else str(self.verdict.state)

    @property
    def sign(self) -> str:
        """A mark that needs no colour."""
        return NOTHING if self.state == NOT_RUN else SIGNS[self.verdict.state]

    @property
    def ours(self) -> str:
        """Our number with its interval."""
        found = self.verdict.finding
        if found is None:
            return NOTHING
        if found.ours.n < 2:
            return f"{found.ours.mean:+.3f}"
        return f"{found.ours.mean:+.3f} ({found.ours.low:+.3f} to {found.ours.high:+.3f})"

    @property
    def theirs(self) -> str:
        """The published number."""
        found = self.verdict.finding
        return NOTHING if found is None or np.isnan(found.theirs) else f"{found.theirs:+.3f}"

    def links(self) -> list[tuple[str, str]]:
        """Return the deviations that may explain a gap, as (key, element id)."""
        return [(key, slug("deviation", key)) for key in self.claim.deviations]


@dataclass(frozen=True)
class Verdicts(PageBlock):
    """The block of a page that lists claims with their verdicts."""

    template: ClassVar[str] = "verdicts.html.j2"
    judged: Sequence[JudgedClaim]
    name: str = "claims"

    def count(self, state: str) -> int:
        """Count the claims with a verdict, or that were not run."""
        return sum(judged.state == state for judged in self.judged)

    def frame(self) -> pd.DataFrame:
        """Return one row per judged claim."""
        rows = [
            (
                *(j.claim.text, j.claim.source, j.protocol, j.state, j.claim.measure),
                *(j.ours, j.theirs, j.verdict.explanation, " ".join(j.claim.deviations)),
            )
            for j in self.judged
        ]
        names = "claim source protocol verdict measure ours theirs explanation deviations"
        return pd.DataFrame(rows, columns=names.split())
