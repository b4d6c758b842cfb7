"""Is a method worth the trouble? What happened elsewhere at a noise rate like this one.

Measured, not derived: 1 400 cells of four data sets (``docs/beyond``, "When not to use it"), each
with its own review. Cases are chosen by what the reviewed rows alone tell: the lower bound of the
95 % Wilson interval of the share of wrong labels.
"""

from __future__ import annotations

from dataclasses import dataclass

from alignset.evaluate.proportion import wilson

CLEAR = 0.95
"""A method that beat Standard in at least this share of cells is expected to beat it here."""


@dataclass(frozen=True)
class Case:
    """Cells whose lower bound was at least ``low`` and below that of the next case."""

    low: float
    cells: int
    ahead: float
    gain: float


MEASURED: dict[str, tuple[Case, ...]] = {
    "joint": (
        Case(0.00, 72, 0.75, 0.0067),
        Case(0.01, 102, 0.7843, 0.0118),
        Case(0.03, 49, 0.8571, 0.0198),
        Case(0.05, 64, 1.0, 0.0492),
        Case(0.10, 455, 0.9956, 0.1133),
        Case(0.20, 658, 0.9985, 0.1832),
    ),
    "alignment": (
        Case(0.00, 57, 0.2982, -0.0082),
        Case(0.01, 102, 0.402, -0.0067),
        Case(0.03, 48, 0.5208, -0.0036),
        Case(0.05, 64, 0.6406, 0.0005),
        Case(0.10, 455, 0.8945, 0.0559),
        Case(0.20, 658, 0.9422, 0.1206),
    ),
}
"""Method -> cases, from docs/beyond/rule.csv; a test checks that they agree."""


@dataclass(frozen=True)
class Expectation:
    """What to expect of a method compared with Standard.

    Examples
    --------
    >>> expect("joint", wrong=30, reviewed=200).clear, expect("joint", 4, 200).clear
    (True, False)
    """

    wrong: int
    reviewed: int
    low: float  # 95 % interval of the share of wrong labels
    high: float
    case: Case  # what happened at such noise
    clear: bool  # whether the method was ahead nearly always

    def sentence(self, title: str) -> str:
        """Say what was counted, and what happened in such cases."""
        return (
            f"{self.wrong} of {self.reviewed} reviewed labels are wrong (95 % interval "
            f"{self.low:.1%} to {self.high:.1%}); with a lower bound like this, {title} was ahead "
            f"of Standard in {self.case.ahead:.0%} of {self.case.cells} measured cases, by "
            f"{self.case.gain:+.3f} AUROC on average."
        )


def expect(method: str, wrong: int, reviewed: int) -> Expectation | None:
    """Return what to expect of a method; None if it was not measured or nothing is reviewed."""
    if method not in MEASURED or reviewed < 1:
        return None
    low, high = (float(v) for v in wilson(wrong / reviewed, reviewed))
    case = [case for case in MEASURED[method] if low >= case.low - 1e-12][-1]
    return Expectation(wrong, reviewed, low, high, case, case.ahead >= CLEAR)
