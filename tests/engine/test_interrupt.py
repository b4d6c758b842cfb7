"""Ctrl-C: real trainings that would take for ever, interrupted as a terminal does it."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from problems import make_problem

from alignset import NoisyLabelClassifier, cli, interrupts
from alignset.engine import FixedLength, Trainer
from alignset.learners import Blend
from alignset.methods import Standard

SECONDS = 2.0
"""A user who pressed Ctrl-C waits no longer."""
AGAIN = 30.0
"""Seconds after which somebody presses Ctrl-C again."""


@pytest.fixture(autouse=True)
def _ctrl_c_is_heard():
    """Let Python answer Ctrl-C: a shell that starts the tests in its background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def time_interrupted(work, after=1.0):
    """Interrupt work after a while; return the seconds until it gave up, and what it left.

    Python loses an interrupt that meets a finalizer of another library ("Exception ignored in"), so
    that people press twice; without a second one a test would never end.
    """
    sent, done = [], threading.Event()

    def interrupt():
        wait = after
        while not done.wait(wait):
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
            wait = AGAIN

    before = threading.active_count()
    presser = threading.Thread(target=interrupt)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        work()
    done.set()
    seconds = time.monotonic() - sent[-1]
    presser.join()
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


IMPORT = """
import os, signal, sys, threading
class Press:
    "Presses Ctrl-C when a module is about to be imported."
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Press())
try:
    from alignset import NoisyLabelClassifier
    from alignset.extras import torch
    torch.zeros(1)
except KeyboardInterrupt:
    print("interrupted")
sys.meta_path.pop(0)
from alignset import NoisyLabelClassifier
from alignset.extras import torch
torch.zeros(1)
print(NoisyLabelClassifier.__name__, signal.getsignal(signal.SIGINT).__name__)
"""


@pytest.mark.parametrize("module", ["torch._ops", "scipy.sparse._csr"])
def test_an_import_that_is_interrupted_can_be_done_again(module):
    """Half a torch ended in a RecursionError, a RuntimeError or SIGSEGV."""
    command = [sys.executable, "-c", IMPORT, module]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    expected = "interrupted\nNoisyLabelClassifier default_int_handler\n"
    assert (ended.returncode, ended.stdout) == (0, expected), ended.stderr


def test_an_error_that_ctrl_c_caused_is_not_shown(monkeypatch, capsys):
    def broken(name):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise RecursionError("half an import") from None

    monkeypatch.setattr(cli, "import_module", broken)
    monkeypatch.setattr(interrupts, "_noted", [])
    before = signal.signal(signal.SIGINT, cli._interrupt)
    try:
        assert cli.main(["fit", "t.csv"]) == cli.INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == "interrupted\n"
    monkeypatch.setattr(cli, "import_module", lambda name: 1 / 0)
    monkeypatch.setattr(interrupts, "_noted", [])
    assert cli.main(["fit", "t.csv"]) == cli.FAULT
    assert "ZeroDivisionError" in capsys.readouterr().err
