"""Ctrl-C: real trainings that would take for ever, interrupted as a terminal does it."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from alignset import NoisyLabelClassifier
from alignset.engine import FixedLength, Trainer
from alignset.learners import Blend
from alignset.methods import Standard
from problems import make_problem

SECONDS = 2.0
"""A user who pressed Ctrl-C waits no longer."""


def time_interrupted(work, after=1.0):
    """Interrupt work after a while; return the seconds until it gave up, and what it left."""
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    before = threading.active_count()
    timer = threading.Timer(after, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        work()
    seconds = time.monotonic() - sent[0]
    timer.join()
    last = time.monotonic() + 30
    while threading.active_count() > before and time.monotonic() < last:
        time.sleep(0.01)
    return seconds, threading.active_count() - before


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("chunk", [1, None], ids=["several stacks", "one stack"])
def test_a_training_is_given_up_at_once(n_jobs, chunk):
    trainer = Trainer(
        hidden=20, max_epochs=10**6, stopping=FixedLength(), n_jobs=n_jobs, chunk=chunk
    )
    problem = make_problem(n=2000)
    seconds, left = time_interrupted(lambda: trainer.fit(Standard(), [problem], [{}] * 4))
    assert seconds < SECONDS
    assert left == 0


def test_a_blend_is_given_up_at_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 30))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    seen = np.where(rng.random(len(y)) < 0.3, 1 - y, y)
    y_true = np.where(rng.random(len(y)) < 0.2, y, np.nan)
    classifier = NoisyLabelClassifier(Blend(network=None), random_state=0, n_jobs=2)
    seconds, left = time_interrupted(lambda: classifier.fit(X, seen, y_true=y_true), after=8.0)
    assert seconds < SECONDS
    assert left == 0
