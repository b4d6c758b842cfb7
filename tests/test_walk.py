"""The walk of a fit, from what a user calls to the training loop, as docs/architecture.md says."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reviewed_rows import make_data, small
from study.grids import write_grid

from alignset.cli import main
from alignset.engine.train import Training
from alignset.engine.trainer import Trainer
from alignset.learners import Blend, Linear

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
MOST = 11
"""Calls from what a user calls to the loop over epochs."""


def own_calls():
    """Functions of the package on the stack, outermost first.

    What Python adds does not count, nor what hands out work to threads.
    """
    frame, found = sys._getframe(2), []
    while frame is not None:
        name, module = frame.f_code.co_qualname, frame.f_globals.get("__name__", "")
        ours = module.startswith("alignset.") and module != "alignset.stack.wanted"
        if ours and "<" not in name.replace("<locals>", ""):
            found.append(f"{module.removeprefix('alignset.')}:{name}")
        frame = frame.f_back
    return found[::-1]


@pytest.fixture
def walked(monkeypatch):
    """Who called whom, up to the first stage: training may run in threads of its own."""
    walks = {}
    train, run_stage = Trainer.train, Training._run_stage

    def note_train(self, *args, **kwargs):
        walks.setdefault("above", own_calls())
        return train(self, *args, **kwargs)

    def note_stage(self, *args):
        walks.setdefault("below", own_calls())
        return run_stage(self, *args)

    monkeypatch.setattr(Trainer, "train", note_train)
    monkeypatch.setattr(Training, "_run_stage", note_stage)
    return walks


def told(title):
    """The walk under a heading of the page."""
    text = PAGE.read_text(encoding="utf-8").split(f"### {title}\n")[1].split("###")[0]
    return re.findall(r"^\d+\. `([^`]+)`", text, flags=re.MULTILINE)


def whole(walks):
    train, loop = "engine.trainer:Trainer.train", "engine.train:Training._run_stage"
    below = [c for c in walks["below"] if not c.endswith("<locals>.train")]
    if train in below:  # in this thread
        below = below[below.index(train) + 1 :]
    return [*walks["above"], train, *below, loop]


def fit_estimator(tmp_path):
    del tmp_path
    small(n_configs=1, max_epochs=1).fit(**make_data().fit_args)


def fit_a_table(tmp_path):
    data = make_data()
    frame = pd.DataFrame(data.X, columns=list("abcde")).assign(told=data.y, sex=data.groups)
    frame["true"] = pd.array(np.where(np.isnan(data.y_true), -1, data.y_true), dtype="Int64")
    frame["true"] = frame["true"].where(frame["true"] >= 0)
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", "t.csv", "--label", "told", "--truth", "true", "--group", "sex", "--out", "m"]
    assert main([*words, "--configs", "1", "--folds", "2", "--method", "joint"]) == 0


def run_a_grid(tmp_path):
    assert main(["run", str(write_grid(tmp_path)), "--store", "s.sqlite", "--jobs", "1"]) == 0


@pytest.mark.parametrize(
    ("title", "walk"),
    [
        ("`NoisyLabelClassifier.fit`", fit_estimator),
        ("`alignset fit`", fit_a_table),
        ("`alignset run`", run_a_grid),
    ],
)
def test_the_walk_to_the_training_loop_is_short_and_as_told(
    title, walk, walked, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    walk(tmp_path)
    found = [call for call in whole(walked) if not call.startswith("cli:")]
    assert found == told(title)
    assert len(found) <= MOST


def test_the_walk_of_a_blend_is_as_told(monkeypatch):
    walks, fit = [], Linear.fit

    def note(self, *args, **kwargs):
        walks.append(own_calls())
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(Linear, "fit", note)
    blend = Blend(strategies=("both",), learners=("linear",), network=None)
    small(method=blend).fit(**make_data().fit_args)
    expected = told("A blend")
    assert [*next(w for w in walks if "learners.crossfit:run_task" in w), expected[-1]] == expected
