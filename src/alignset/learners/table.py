"""The candidates of a blend as a table that explains itself."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from alignset.learners.standing import CandidateScore
from alignset.rows.percent import percent

COLUMNS = {
    "labels": "labels",
    "learner": "learner",
    "weight": "weight",
    "log_loss": "log loss",
    "auroc": "AUROC",
    "low": "from",
    "high": "to",
}
ONLY_REVIEWED = "reviewed"
"""The strategy that observed labels have no part in."""

ADJECTIVES = {"trees": "tree"}
"""What models of a learner are called, if not by its name."""


class Candidates(Sequence[CandidateScore]):
    """How each candidate did on reviewed rows it did not see; the blend itself comes last.

    A weight multiplies the log-odds that a candidate gives. Weights need not sum to one: those of
    models of wrong labels, which are too unsure, are larger.

    ``.frame`` is the same as a pandas DataFrame, and :meth:`explain` says it in two sentences.
    ``.left_out`` says which candidates are missing because something is not installed, or because
    there was no time for them; "" if none is. ``.judged`` is False if rows were reviewed because
    their label was wrong: such rows cannot weight candidates.
    """

    def __init__(
        self, rows: Sequence[CandidateScore], left_out: str = "", *, judged: bool = True
    ) -> None:
        self._rows = tuple(rows)
        self.left_out = left_out
        self.judged = judged

    def __getitem__(self, at: Any) -> Any:
        return self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def frame(self) -> Any:
        """The table as a DataFrame."""
        import pandas as pd

        return pd.DataFrame([vars(row) for row in self._rows], columns=list(COLUMNS))

    def explain(self) -> str:
        """Say in two sentences what the weights mean."""
        *each, blend = self._rows
        if not self.judged:
            used = " and ".join(f"{row.labels} {row.learner}" for row in each if row.weight > 0)
            return (
                "Hardly any reviewed label was right, so reviewed rows cannot judge candidates: "
                f"they correct the labels that {used} learned. What the table says of candidates "
                f"is of such rows only.{self.left_out and ' ' + self.left_out}"
            )
        total = sum(row.weight for row in each) or 1.0
        trusted = sum(row.weight for row in each if row.labels == ONLY_REVIEWED) / total
        learners: dict[str, float] = {}
        for row in each:
            learners[row.learner] = learners.get(row.learner, 0.0) + row.weight / total
        best = min(each, key=lambda row: row.log_loss)
        first = max(learners, key=lambda name: learners[name])
        idle = [name for name, share in learners.items() if share < 0.02]
        verb = "adds" if len(idle) == 1 else "add"
        adds = f" {' and '.join(idle)} {verb} nothing here;" if idle else ""
        reads = (
            "your observed labels add little"
            if trusted > 0.6
            else "your observed labels carry most of what is known"
            if trusted < 0.2
            else "both kinds of label count"
        )
        return (
            f"{percent(trusted)} of the weight is on models that read only reviewed rows: {reads}. "
            f"{percent(learners[first])} is on {ADJECTIVES.get(first, first)} models;{adds} the "
            f"best candidate alone is {best.labels} {best.learner} (log loss {best.log_loss:.3f}, "
            f"AUROC {best.auroc:.3f}), "
            f"the blend has {blend.log_loss:.3f} and {blend.auroc:.3f}."
            f"{self.left_out and ' ' + self.left_out}"
        )

    def __repr__(self) -> str:
        head = ("labels", "learner", "weight", "log loss", "AUROC (95 %)")
        lines = [head, *(_cells(row) for row in self._rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        shown = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([*shown, self.left_out] if self.left_out else shown)

    def _repr_html_(self) -> str:
        names = [name for name in COLUMNS.values() if name not in ("from", "to")]
        head = "".join(f"<th>{name}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(row)) + "</tr>"
            for row in self._rows
        )
        note = f"<p>{escape(self.left_out)}</p>" if self.left_out else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def _cells(row: CandidateScore) -> tuple[str, ...]:
    interval = f"{row.auroc:.3f} ({row.low:.3f} to {row.high:.3f})"
    return row.labels, row.learner, f"{row.weight:.2f}", f"{row.log_loss:.3f}", interval
