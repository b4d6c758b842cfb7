"""Who computes: decided once, said aloud, and the same for every fit of a process."""

import json
import logging
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from alignset.stack import kernels
from alignset.stack.kernels import build, constants
from alignset.stack.kernels import triton as triton_kernels
from alignset.stack.kernels.torch import Torch

COMPILED = kernels.which() == "c"
needs_c = pytest.mark.skipif(not COMPILED, reason="needs the kernels in C")
CPU = torch.device("cpu")


@pytest.fixture
def undecided(monkeypatch, caplog):
    """A process that has not computed yet, and whose library is not there; what it logs."""
    caplog.set_level(logging.INFO, "alignset")
    monkeypatch.delenv("ALIGNSET_NATIVE", raising=False)
    monkeypatch.setattr(build, "find", lambda: None)
    monkeypatch.setattr(build, "in_background", lambda: None)
    monkeypatch.setattr(build, "compiled", lambda: pytest.fail("a compiler was started"))
    kernels._decided.cache_clear()
    yield caplog
    monkeypatch.undo()
    kernels._decided.cache_clear()


def test_a_process_that_began_with_torch_stays_with_torch(undecided, monkeypatch):
    assert kernels.which() == "torch"
    assert "C is compiled in the background, for the next process" in undecided.text
    monkeypatch.undo()  # by now the library is there
    assert kernels.which() == "torch"
    assert type(kernels.on(CPU)) is Torch


@needs_c
def test_a_process_whose_library_was_there_uses_it(undecided, monkeypatch):
    monkeypatch.undo()
    undecided.set_level(logging.INFO, "alignset")
    assert kernels.which() == "c"
    assert "kernels: C, from " in undecided.text


def test_threads_that_start_together_decide_once(undecided, monkeypatch):
    begun = []

    def slowly():
        begun.append(1)
        time.sleep(0.05)

    monkeypatch.setattr(build, "in_background", slowly)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: kernels.on(CPU), range(4)))
    assert len(set(map(id, found))) == len(begun) == 1


def test_it_can_be_switched_off(undecided, monkeypatch):
    monkeypatch.setenv("ALIGNSET_NATIVE", "0")
    monkeypatch.setattr(build, "in_background", lambda: pytest.fail("a compiler was started"))
    assert kernels.which() == "torch"
    assert "since ALIGNSET_NATIVE is 0" in undecided.text


@needs_c
def test_whoever_asks_for_c_waits_for_it_and_is_told(undecided, monkeypatch):
    compiled = build.HERE / "x"
    monkeypatch.setenv("ALIGNSET_NATIVE", "1")
    monkeypatch.setattr(build, "compiled", lambda: compiled)
    monkeypatch.setattr(kernels, "C", lambda path: (Torch(), path)[0])
    kernels.on(CPU)
    assert "compiling C, which takes some seconds" in undecided.text
    assert f"kernels: C, from {compiled}" in undecided.text


@pytest.mark.parametrize("reason", [FileNotFoundError, PermissionError, RuntimeError])
@pytest.mark.parametrize(("wish", "level"), [("1", logging.WARNING), (None, logging.INFO)])
def test_where_c_cannot_be_had_torch_does_it_and_the_reason_is_told(
    undecided, monkeypatch, wish, level, reason
):
    def none():
        raise reason("no C compiler was found")

    monkeypatch.setattr(build, "compiled", none)
    monkeypatch.setattr(build, "in_background", none)
    if wish:
        monkeypatch.setenv("ALIGNSET_NATIVE", wish)
    assert kernels.which() == "torch"
    assert (undecided.records[-1].levelno, "no C compiler" in undecided.text) == (level, True)


def test_a_device_has_its_own_kernels(monkeypatch):
    assert type(kernels.on(torch.device("meta"))) is Torch
    for there, name in ((True, "triton"), (False, "torch")):
        monkeypatch.setattr(triton_kernels, "AVAILABLE", there)
        assert kernels.which("cuda") == name


def test_adam_and_block_sizes_are_written_once():
    for path in build.HERE.glob("*.py"):
        if path.name != "constants.py":
            text = path.read_text()
            for name in vars(constants):
                assert f"\n{name} =" not in text
            assert "0.999" not in text
            assert "1e-8" not in text


FITS = """
import hashlib, json, os, time
from pathlib import Path
from problems import make_problem
from alignset.engine import Trainer
from alignset.methods import Standard
from alignset.stack import kernels

def fit():
    fits = Trainer(hidden=10, max_epochs=3, n_jobs=1).fit(Standard(), [make_problem(100)])
    digest = hashlib.sha256()
    for params in fits.weights.values():
        for tensor in params.values():
            digest.update(tensor.numpy().tobytes())
    return kernels.which(), digest.hexdigest()

def built():
    return list(Path(os.environ["XDG_CACHE_HOME"], "alignset/kernels").glob("*.so"))

results = [fit()]
limit = time.monotonic() + 300
while not built() and time.monotonic() < limit:
    time.sleep(0.1)
print(json.dumps([*results, fit(), len(built())]))
"""


@needs_c
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_two_fits_of_a_process_give_the_same_bits_while_c_is_compiled(tmp_path):
    """The first process is torch throughout, and does not wait; the second is C throughout."""
    tests = Path(__file__).parents[2]
    paths = [str(build.HERE.parents[2]), str(tests), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(paths)}
    del env["ALIGNSET_NATIVE"]

    def run():
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", FITS], env=env, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    for expected in ("torch", "c"):
        first, second, n_built = run()
        assert first == second
        assert (first[0], n_built) == (expected, 1)


@needs_c
def test_loading_leaves_the_rounding_of_the_process_alone():
    code = (
        "import numpy as np; from alignset.stack import kernels; assert kernels.which() == 'c'; "
        "assert np.float32(1e-38) * np.float32(1e-3) != 0"
    )
    env = {**os.environ, "ALIGNSET_NATIVE": "1"}
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env=env)
