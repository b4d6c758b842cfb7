"""A blend with little time: what is left out, and that the rest is as if it had not been there."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pytest
from reviewed_rows import Data, make_data, small

from alignset import NoisyLabelClassifier
from alignset.labels import OutOfTimeWarning
from alignset.learners import Blend, Learner, Predictor, Strategy
from alignset.learners.context import Context
from alignset.learners.network import NetworkSearch
from alignset.stack.wanted import check_wanted

LINEAR = Blend(strategies=("observed", "reviewed", "both"), learners=("linear",), network=None)


def never_done() -> NoReturn:
    while True:
        check_wanted()
        time.sleep(0.001)


@dataclass(frozen=True)
class Endless(Strategy):
    """Labels that no learner is ever done with."""

    name = "endless"

    def fit(self, rows: Context) -> Predictor:
        never_done()


@dataclass(frozen=True)
class Slow(Learner):
    """A learner that is never done."""

    name = "slow"

    def fit(self, X: Any, y: Any, weight: Any, n_classes: int, *, seed: int) -> Predictor:
        never_done()


def fit(data: Data, method: Any, **changes: Any) -> NoisyLabelClassifier:
    settings = {"random_state": 0, "folds": 3, **changes}
    return NoisyLabelClassifier(method, **settings).fit(**data.fit_args)


@pytest.fixture(scope="module")
def data() -> Data:
    return make_data(200)


@pytest.fixture(scope="module")
def alone(data: Data) -> Any:
    return fit(data, LINEAR).predict_proba(data.X)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    ("more", "left_out"),
    [
        (Blend((*LINEAR.strategies, Endless()), ("linear",), None), "endless linear"),
        (
            Blend(LINEAR.strategies, ("linear", Slow()), None),
            "observed slow, reviewed slow, both slow",
        ),
    ],
)
def test_what_is_not_done_in_time_is_left_out_as_if_it_had_not_been_there(
    data, alone, more, left_out, n_jobs
):
    with pytest.warns(OutOfTimeWarning, match=f"In 0.2 s there was no time for {left_out}"):
        clf = fit(data, more, time_budget=0.2, n_jobs=n_jobs)
    assert [row.learner for row in clf.candidates_] == ["linear"] * 3 + ["all"]
    assert left_out in clf.candidates_.left_out
    assert left_out in clf.explain()
    assert np.array_equal(clf.predict_proba(data.X), alone)


def test_plain_linear_models_are_fitted_however_little_time_there_is(data):
    with pytest.warns(OutOfTimeWarning, match="joint network"):
        clf = fit(data, None, time_budget=1e-6, hidden=4)
    names = [f"{row.labels} {row.learner}" for row in clf.candidates_[:-1]]
    assert names == ["observed linear", "reviewed linear", "both linear"]


def test_a_network_gets_the_time_that_is_left(data, monkeypatch):
    monkeypatch.setattr(NetworkSearch, "cross_fit", lambda *_: never_done())
    blend = Blend(LINEAR.strategies, LINEAR.learners)
    with pytest.warns(OutOfTimeWarning, match="no time for joint network"):
        clf = fit(data, blend, time_budget=0.2)
    assert len(clf.candidates_) == 4


def test_enough_time_changes_no_bit(data):
    blend = Blend(strategies=("both", "joint"), network=None)
    plain, timed = fit(data, blend), fit(data, blend, time_budget=1e6, n_jobs=2)
    assert np.array_equal(plain.predict_proba(data.X), timed.predict_proba(data.X))
    assert timed.candidates_.left_out == ""


@pytest.mark.parametrize("seconds", [0, -1.0, "60", True, float("nan")])
def test_a_time_that_is_none_is_refused(data, seconds):
    with pytest.raises(ValueError, match="time_budget must be a positive number of seconds"):
        fit(data, LINEAR, time_budget=seconds)


def test_a_single_method_takes_no_time_budget(data):
    with pytest.raises(ValueError, match="set n_configs, max_epochs or patience instead"):
        small(time_budget=10).fit(**data.fit_args)
