"""Stacked engine against one model at a time, side by side in one run, both on all cores.

    python benchmarks/stack_vs_loop.py [--replicas 200] [--epochs 10]

The loop runs as one single-thread process per core (`loop.py`); the engine runs as it always does.
Both train the same replicas for the same epochs and score validation every epoch. Prints the ratio
per method and width; exits 1 if one is below its target.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import measure
import torch
from loop import METHODS, make_configs, make_problems

from alignset.engine import FixedLength, Trainer

HERE = Path(__file__).parent
CONFIGS = 20
TARGETS = {10: 15.0, 100: 1.8}
TARGET_SHARE = 0.55  # of the matrix peak, at width 100


def time_loop(method: str, hidden: int, replicas: int, epochs: int, cores: int) -> float:
    job = {"method": method, "hidden": hidden, "epochs": epochs, "of": cores, "configs": CONFIGS}
    job["problems"] = replicas // CONFIGS
    workers = [
        subprocess.Popen(
            [sys.executable, str(HERE / "loop.py"), json.dumps({**job, "share": share})],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for share in range(cores)
    ]
    time.sleep(8)  # imports and warm-up; a worker that is late waits in its pipe
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    return max(float(worker.communicate()[0]) for worker in workers)


def time_stack(method: str, hidden: int, replicas: int, epochs: int) -> float:
    problems = make_problems(replicas // CONFIGS)
    configs = make_configs(method, CONFIGS)
    short = Trainer(hidden=hidden, max_epochs=1, stopping=FixedLength())
    short.fit(METHODS[method], problems[:1], configs)  # warm up
    trainer = Trainer(hidden=hidden, max_epochs=epochs, stopping=FixedLength())
    start = time.perf_counter()
    trainer.fit(METHODS[method], problems, configs)
    return time.perf_counter() - start


def matrix_peak(seconds: float = 1.0) -> float:
    """GFLOP/s of a large float32 product on one thread."""
    torch.set_num_threads(1)
    a = torch.randn(2048, 2048)
    best, stop = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < stop:
        start = time.perf_counter()
        a @ a
        best = max(best, 2 * 2048**3 / (time.perf_counter() - start) / 1e9)
    return best


def flops(method: str, hidden: int, epochs: int, rows: int, reviewed: int, d: int = 30) -> float:
    """Matrix products of one replica: forward, two backward products, none into the input."""
    forward = 2 * (d * hidden + hidden * hidden + 2 * hidden)
    full = 3 * forward - 2 * d * hidden
    if method == "Standard":
        return epochs * rows * full
    return epochs * reviewed * 2 * full + epochs * rows * (full + forward)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicas", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=2, help="twice as many at width 10")
    args = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    peak = matrix_peak() * cores
    problem = make_problems(1)[0]
    sizes = len(problem.train), int(problem.train.reviewed.sum())
    print(f"{cores} cores, matrix peak {peak:.0f} GFLOP/s, {args.replicas} replicas")
    print("method     width   loop s  stack s  ratio target  of peak")
    rows = []
    for hidden, target in TARGETS.items():
        for method in METHODS:
            work = (method, hidden, args.replicas, args.epochs)
            repeats = args.repeats * (2 if hidden == 10 else 1)  # short runs are easily disturbed
            loop = min(time_loop(*work, cores) for _ in range(repeats))
            stack = min(time_stack(*work) for _ in range(repeats))
            share = args.replicas * flops(method, hidden, args.epochs, *sizes) / stack / 1e9 / peak
            rows.append(
                {"method": method, "width": hidden, "loop_s": loop, "stack_s": stack,
                 "ratio": loop / stack, "target": target, "share_of_peak": share}
            )  # fmt: skip
            print(
                f"{method:10} {hidden:5} {loop:8.2f} {stack:8.2f} {loop / stack:6.1f} "
                f"{target:6.1f} {share:8.0%}",
                flush=True,
            )
    lines = []
    for r in rows:
        name = f"{r['method']} at width {r['width']}"
        lines.append(
            measure.row(f"{name}: times faster than a loop", r["ratio"], r["target"], at_most=False)
        )
        if r["width"] == 100:
            share = 100 * r["share_of_peak"]
            lines.append(
                measure.row(f"{name}: % of peak", share, 100 * TARGET_SHARE, at_most=False)
            )
    return measure.write(lines, "stack_vs_loop")


if __name__ == "__main__":
    sys.exit(main())
