"""Wide and sparse (MIMIC): sparse products against the dense path, at true size, in one run.

    python benchmarks/sparse.py

15 873 rows x 16 278 features, 2 % non-zero, width 500, five batches. Every measurement runs in its
own process on two threads: the median of seconds per epoch after the first one, and the peak memory
of the whole process.
"""

from __future__ import annotations

import sys
import time

import measure
import numpy as np
import scipy.sparse
import torch

from alignset.engine import FixedLength
from alignset.engine.train import Schedule, Training
from alignset.evaluate.validation import HarmonicMean
from alignset.methods import Standard
from alignset.rows import Part, Problem
from alignset.stack import MLP
from alignset.stack.threads import team

ROWS, FEATURES, DENSITY, WIDTH = 15_873, 16_278, 0.02, 500
HELD_OUT = 160


def make_part(n: int, seed: int, dense: bool, reviewed_every: int) -> Part:
    rng = np.random.default_rng(seed)
    per_row = int(FEATURES * DENSITY)
    columns = rng.integers(0, FEATURES, size=n * per_row, dtype=np.int32)
    starts = np.arange(0, n * per_row + 1, per_row, dtype=np.int32)
    values = rng.random(n * per_row, dtype=np.float32)
    X = scipy.sparse.csr_matrix((values, columns, starts), (n, FEATURES))
    X.sum_duplicates()
    y = (np.asarray(X[:, :50].sum(1)).reshape(-1) > 0.5).astype(np.int64)
    group = (rng.random(n) < 0.3).astype(np.int64)
    y_true = np.where(np.arange(n) % reviewed_every == 0, y, -1)
    return Part(X.toarray() if dense else X, y, y_true, group)


def make_problem(dense: bool) -> Problem:
    train = make_part(ROWS - HELD_OUT, 0, dense, reviewed_every=50)
    return Problem(train, make_part(HELD_OUT, 1, dense, reviewed_every=1), None, 2, 2, 0)


class Clock:
    """A score that notes when it was asked: at the start, and after every epoch."""

    def __init__(self) -> None:
        self.score, self.times = HarmonicMean(), []

    def __call__(self, *args):
        self.times.append(time.perf_counter())
        return self.score(*args)


def work(job: dict) -> dict[str, float]:
    torch.set_num_threads(job["torch_threads"])
    problem = make_problem(job["dense"])
    base, clock = measure.peak_gb(), Clock()
    recipe = Schedule(MLP(WIDTH), clock, FixedLength(), 1 + job["epochs"], 5, "cpu")
    with team(job["team"]):
        Training(recipe, Standard(), [problem], [{"lr": 1e-3}] * job["configs"]).run()
    return {
        "epoch": float(np.median(np.diff(clock.times)[1:])),
        "peak": measure.peak_gb(),
        "beyond": measure.peak_gb() - base,
    }


def summary() -> int:
    one = {"configs": 1, "torch_threads": 1, "team": 2, "dense": False, "epochs": 6}
    sparse = measure.in_fresh_process(__file__, one)
    # two threads on the dense path both ways: the engine's own and torch's; the faster one counts
    ways = [{"torch_threads": 1, "team": 2}, {"torch_threads": 2, "team": 1}]
    dense = min(
        (
            measure.in_fresh_process(__file__, {**one, **w, "dense": True, "epochs": 2})
            for w in ways
        ),
        key=lambda result: result["epoch"],
    )
    many = measure.in_fresh_process(__file__, {**one, "configs": 20, "epochs": 1})
    print(f"dense: {dense['epoch']:.2f} s per epoch, {dense['peak']:.2f} GB")
    print(f"20 configs: {many['epoch']:.2f} s per epoch")
    rows = [
        measure.row("sparse: one replica, s per epoch", sparse["epoch"], 1.2, at_most=True),
        measure.row("sparse: one replica, peak GB", sparse["peak"], 4.0, at_most=True),
        measure.row(
            "sparse: times faster than dense", dense["epoch"] / sparse["epoch"], 8, at_most=False
        ),
        measure.row(
            "sparse: times leaner than dense", dense["peak"] / sparse["peak"], 5, at_most=False
        ),
        measure.row("sparse: 20 configs in one stack, peak GB", many["peak"], 12, at_most=True),
    ]
    return measure.write(rows, "sparse")


if __name__ == "__main__":
    sys.exit(measure.main(work, summary))
