"""Wide and sparse (MIMIC): sparse products against the dense path, at true size, in one run.

    python benchmarks/sparse.py

15 873 rows x 16 278 features, 2 % non-zero, width 500, five batches. Every measurement runs in its
own process: seconds per epoch after a first one, and peak memory beyond what loading took.
"""

from __future__ import annotations

import sys
import time

import measure
import numpy as np
import scipy.sparse
import torch

from alignset.engine import FixedLength
from alignset.engine.train import Recipe, Training
from alignset.evaluate.validation import HarmonicMean
from alignset.methods import Standard
from alignset.split import Part, Problem
from alignset.stack import MLP

ROWS, FEATURES, DENSITY, WIDTH = 15_873, 16_278, 0.02, 500


def make_problem(dense: bool) -> Problem:
    rng = np.random.default_rng(0)
    per_row = int(FEATURES * DENSITY)
    columns = rng.integers(0, FEATURES, size=(ROWS, per_row)).astype(np.int32)
    starts = np.arange(0, ROWS * per_row + 1, per_row)
    values = rng.random(ROWS * per_row, dtype=np.float32)
    X = scipy.sparse.csr_matrix((values, columns.reshape(-1), starts), (ROWS, FEATURES))
    X.sum_duplicates()
    y = np.asarray(X[:, :50].sum(1)).reshape(-1) > 0.5
    y, group = y.astype(np.int64), (rng.random(ROWS) < 0.3).astype(np.int64)
    reviewed = np.where(np.arange(ROWS) % 50 == 0, y, -1)
    held = np.arange(ROWS) < 160

    def part(keep, true):
        x = X[keep].toarray() if dense else X[keep]
        return Part(x, y[keep], true[keep], group[keep])

    return Problem(part(~held, reviewed), part(held, y), None, 2, 2, 0)


def work(job: dict) -> dict[str, float]:
    torch.set_num_threads(job["threads"])
    problem = make_problem(job["dense"])
    base = measure.peak_gb()
    configs = [{"lr": 1e-3}] * job["configs"]
    seconds = []
    for epochs in (1, 1 + job["epochs"]):
        recipe = Recipe(MLP(WIDTH), HarmonicMean(), FixedLength(), epochs, 5, "cpu")
        training = Training(recipe, Standard(), [problem], configs)
        start = time.perf_counter()
        training.run()
        seconds.append(time.perf_counter() - start)
        del training
    return {
        "epoch": (seconds[1] - seconds[0]) / job["epochs"],
        "peak": measure.peak_gb(),
        "beyond": measure.peak_gb() - base,
    }


def summary() -> int:
    one = {"configs": 1, "threads": 1, "dense": False, "epochs": 3}
    sparse = measure.in_fresh_process(__file__, one)
    dense = measure.in_fresh_process(__file__, {**one, "dense": True, "threads": 2, "epochs": 1})
    many = measure.in_fresh_process(__file__, {**one, "configs": 20, "epochs": 1})
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
