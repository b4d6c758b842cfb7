"""The block of a page that lists claims with their verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from alignset.report.page import PageBlock
from alignset.report.tables import NOTHING, slug
from alignset.study.claims import Claim, Verdict
from alignset.study.rules import State

SIGNS = {State.HOLDS: "✓", State.FAILS: "✗", State.UNDECIDED: "?"}


@dataclass(frozen=True)
class JudgedClaim:
    """A claim, the protocol its results come from, and what they say."""

    claim: Claim
    protocol: str
    verdict: Verdict

    @property
    def sign(self) -> str:
        """A mark that needs no colour."""
        return SIGNS[self.verdict.state]

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
    """A table of judged claims."""

    template: ClassVar[str] = "verdicts.html.j2"
    judged: Sequence[JudgedClaim]
    name: str = "claims"

    def count(self, state: State) -> int:
        """Count the claims with a verdict."""
        return sum(judged.verdict.state is state for judged in self.judged)

    def frame(self) -> pd.DataFrame:
        """Return one row per judged claim."""
        rows = [
            {
                "claim": j.claim.text,
                "source": j.claim.source,
                "protocol": j.protocol,
                "verdict": str(j.verdict.state),
                "measure": j.claim.measure,
                "ours": j.ours,
                "theirs": j.theirs,
                "explanation": j.verdict.explanation,
                "deviations": " ".join(j.claim.deviations),
            }
            for j in self.judged
        ]
        return pd.DataFrame(rows)
