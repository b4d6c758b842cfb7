"""What a report of one model is told, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

WAYS = {
    "observed": "on observed labels",
    "reviewed": "on reviewed rows",
    "corrected": "corrected",
}
"""How a thing was measured -> how a reader is told."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Held-out predictions, measured three ways; frames as ``alignset.model.measures`` has them.

    Parameters
    ----------
    n_rows : int
        Held-out reviewed rows.
    by_design : bool
        Whether the correction knows selection probabilities.
    positive : str
        The class that curves are about.
    scores, roc, odds, calibration : DataFrame
    corrected_method : str
        What is recommended when rows count as many as they stand for.
    tipping : DataFrame
    """

    n_rows: int
    by_design: bool
    positive: str
    scores: pd.DataFrame
    roc: pd.DataFrame
    odds: pd.DataFrame
    calibration: pd.DataFrame
    corrected_method: str
    tipping: pd.DataFrame


@dataclass(frozen=True, eq=False)
class LabelAudit:
    """What an audit of a table found.

    Parameters
    ----------
    colour, action : str
        Verdict on the reviewed rows, and what helps most.
    reasons : sequence of (colour, text)
    notes : sequence of str
    """

    colour: str
    action: str
    reasons: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class ModelFacts:
    """Everything a report of a model is made from.

    Parameters
    ----------
    manifest : mapping
        What the model folder says about itself.
    classes : sequence of str
    rates : DataFrame
        group, rows, reviewed, wrong, rate, low, high, model_rate; NaN where not known.
    weighted : bool
        Whether the rates are weighted by selection probability.
    level : DataFrame
        As ``alignset.fitting.tipping.level_rates`` returns it.
    titles : mapping from method name to title
    measured : Measured or None
        None where models could not be compared.
    audit : LabelAudit or None
    doubtful : DataFrame or None
        Id, observed label, confidence, and columns that were asked for.
    table : sequence of (term, text)
        The table that was looked at.
    command : str
        How the report was made.
    """

    manifest: Mapping[str, Any]
    classes: Sequence[str]
    rates: pd.DataFrame
    weighted: bool
    level: pd.DataFrame
    titles: Mapping[str, str]
    measured: Measured | None = None
    audit: LabelAudit | None = None
    doubtful: pd.DataFrame | None = None
    table: Sequence[tuple[str, str]] = field(default=())
    command: str = ""

    @property
    def label(self) -> str:
        """Column of the observed label."""
        return str(self.manifest["columns"]["label"])

    @property
    def method(self) -> str:
        """Title of the method the model was trained with."""
        return self.title(str(self.manifest["network"]["method"]["name"]))

    @property
    def comparison(self) -> Mapping[str, Any] | None:
        """How models compared, if they were."""
        return self.manifest.get("comparison")

    def title(self, method: str) -> str:
        """Name a method to a reader."""
        return self.titles.get(method, method)


def percent(share: float, digits: int = 1) -> str:
    """Write a share in per cent.

    Examples
    --------
    >>> percent(0.0631)
    '6.3 %'
    """
    return f"{100 * share:.{digits}f} %"


def sentence(text: str) -> str:
    """Begin with a capital and end with a full stop.

    Examples
    --------
    >>> sentence("few rows")
    'Few rows.'
    """
    return f"{text[:1].upper()}{text[1:]}."
