"""The facts on a model's page, as plain data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from alignset.rows.percent import percent as rounded

if TYPE_CHECKING:
    from alignset.fitting.advice import Advice
    from alignset.review.verdict import ReviewVerdict

WAYS = {"observed": "on observed labels", "reviewed": "on reviewed rows", "corrected": "corrected"}
"""How a score was measured -> what the reader is told."""
BY_AUTHORS = "to be filled in by the authors"
"""Said where neither the data nor a flag say it."""
OTHERS = {"blend": "Blend"}
"""What a model may be besides a method -> its title."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Held-out predictions, measured three ways; frames are as in ``alignset.model.measures``."""

    n_rows: int  # held-out reviewed rows
    by_design: bool  # whether the correction knows selection probabilities
    positive: str  # the class that curves are about
    scores: pd.DataFrame
    roc: pd.DataFrame
    odds: pd.DataFrame
    calibration: pd.DataFrame
    tipping: pd.DataFrame
    n_others: int = 0  # held-out rows that nobody reviewed


@dataclass(frozen=True, eq=False)
class Decisions:
    """What deciding by a threshold does; the curve is as in ``alignset.model.decisions``."""

    target: str
    value: float
    threshold: float
    by_group: Mapping[str, float]
    positive: str  # the class that is predicted from the threshold
    rows: Sequence[Mapping[str, Any]]  # group, threshold, reviewed, worth, and rates as triples
    curve: pd.DataFrame
    notes: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class ModelFacts:
    """Everything that goes into a report on a model."""

    manifest: Mapping[str, Any]  # what the model folder says about itself
    classes: Sequence[str]
    rates: pd.DataFrame  # group, rows, reviewed, wrong, rate, low, high, model_rate; NaN: not known
    weighted: bool  # whether the rates are weighted by selection probability
    level: pd.DataFrame  # as alignset.fitting.tipping.level_rates returns it
    titles: Mapping[str, str]  # method -> its title
    advice: Advice  # use it, use it with care, or do not use it
    measured: Measured | None = None  # None if models could not be compared
    decisions: Decisions | None = None  # None for other than two classes, too
    verdict: ReviewVerdict | None = None  # on the reviewed rows of a table
    cautions: Sequence[str] = ()  # what its audit notes
    doubtful: pd.DataFrame | None = None  # id, observed label, confidence, columns asked for
    table: Sequence[tuple[str, str]] = ()  # (term, text) about the table that was checked
    command: str = ""  # how the report was made
    heading: str = ""  # what the owner calls the model
    owner: str = ""
    intended_use: str = ""

    @property
    def label(self) -> str:
        """Column of the observed label."""
        return str(self.manifest["columns"]["label"])

    @property
    def label_title(self) -> str:
        """The observed label for the reader."""
        return readable(self.label)

    @property
    def judged(self) -> str:
        """How rows were held out, and by which groups models were judged."""
        told = self.manifest.get("held_out")
        if self.measured is None and self.comparison is None:
            return "It was not judged."
        if not told:
            return "Not recorded."
        how = f"On {told}, by models that were trained without them."
        if told == "rows at random":
            how = (
                "Every row that counts here was held out once, at random, with all rows of the "
                "same person, and scored by models that were trained without them."
            )
        by = [readable(str(name)) for name in self.manifest.get("judged_by") or ()]
        if by:
            how += f" Groups are those of {' and '.join(map(repr, by))}."
        return how

    @property
    def method(self) -> str:
        """Title of the method the model was trained with."""
        return self.title(str(self.manifest["network"]["method"]["name"]))

    @property
    def comparison(self) -> Mapping[str, Any] | None:
        """How the models compared, if they were."""
        return self.manifest.get("comparison")

    @property
    def left_out(self) -> bool:
        """Whether models were compared, but what they predicted is not in the folder."""
        return self.measured is None and self.comparison is not None

    def title(self, method: str) -> str:
        """Return a method's name for the reader."""
        return self.titles.get(method, OTHERS.get(method, method))


def readable(name: str) -> str:
    """Return a column's name for the reader: words instead of underscores and capitals.

    Examples
    --------
    >>> readable("diabetes_told"), readable("hbA1c"), readable("smokingStatus"), readable("BMI")
    ('Diabetes told', 'HbA1c', 'Smoking status', 'BMI')
    """
    words = re.sub(r"[_.]+|(?<=[a-z])(?=[A-Z][a-z])", " ", name).split()
    if not words:
        return name
    later = [word if word[1:] != word[1:].lower() else word.lower() for word in words[1:]]
    return " ".join([words[0][:1].upper() + words[0][1:], *later])


def percent(share: float, digits: int = 1) -> str:
    """Format a share as a percentage."""
    return rounded(share, digits).replace("%", " %")


def sentence(text: str) -> str:
    """Begin with a capital and end with a full stop."""
    return f"{capital(text)}."


def capital(text: str) -> str:
    """Begin with a capital."""
    return text[:1].upper() + text[1:]
