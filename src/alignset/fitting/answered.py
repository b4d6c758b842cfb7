"""A table whose true labels come from reviewers who err: labels to train on, and to judge by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from alignset.evaluate.noise_rate import ReviewDesign
from alignset.review.modelled import model_answers
from alignset.review.reviewers import ReviewerModel
from alignset.review.waves import design_of
from alignset.tables.columns import Columns
from alignset.tables.targets import Floats, Targets, read_targets


@dataclass(frozen=True, eq=False)
class AnsweredTable:
    """A log of answers, if there is one, the table it is about, and what the table says."""

    log: pd.DataFrame | None
    frame: pd.DataFrame
    columns: Columns
    read: Targets
    design: ReviewDesign

    @cached_property
    def model(self) -> ReviewerModel:
        """What the answers say by themselves."""
        return self._model(None)

    def targets(self, scores: Floats | None = None) -> Targets:
        """Return the table's targets with uncertain true labels.

        ``scores`` (n, K) are held-out predictions that the labels will judge: labels that did not
        know of them would make any model look worse than it is.
        """
        if self.log is None:
            return self.read
        found = self.model if scores is None else self._model(scores)
        draws = found.draws.codes if found.identified else None
        return self.read.with_truth(self.frame, self.columns, found.shares, draws, found.draws.mode)

    @property
    def notes(self) -> list[str]:
        """Say what was made of the answers, if there are any."""
        return [] if self.log is None else [self.model.note]

    def facts(self) -> dict[str, Any] | None:
        """Return what the model folder records: how often each reviewer errs."""
        if self.log is None:
            return None
        return {
            "identified": self.model.identified,
            "errors": "symmetric" if self.model.symmetric else "by_class",
            "uncertain": self.model.uncertain,
            "reviewers": [
                {**vars(one), "by_class": list(one.by_class)} for one in self.model.errors
            ],
        }

    def _model(self, scores: Floats | None) -> ReviewerModel:
        assert self.log is not None
        labels, read = self.read.labels, self.read
        if scores is not None:  # rows that were only trained on get the share of each class
            scores = np.where(np.isnan(scores), np.nanmean(scores, axis=0), scores)
        score = scores if scores is None or scores.shape[1] > 2 else scores[:, 1]
        return model_answers(
            self.log, self.frame, id=self.columns.id, classes=labels.classes,
            observed=labels.y_seen, group=read.group, true=labels.y_true, design=self.design,
            score=score,
        )  # fmt: skip


def read_answered(log: pd.DataFrame | None, frame: pd.DataFrame, columns: Columns) -> AnsweredTable:
    """Read what a table says besides its features, and how its rows came to be reviewed."""
    read = read_targets(frame, columns)
    return AnsweredTable(log, frame, columns, read, design_of(frame, columns))
