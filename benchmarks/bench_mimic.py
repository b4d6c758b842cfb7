"""Load made-up MIMIC-III files of true size: under 20 s and under 2 GB, or this fails.

    python benchmarks/bench_mimic.py

Each task is loaded in a process of its own, so that the peak is the loader's.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time

from alignset.data import load_mimic
from alignset.data.fake_mimic import write_fake_mimic
from alignset.data.mimic_check import SIZES

SECONDS, GIGABYTES = 20.0, 2.0


def load(folder: str, task: str) -> None:
    start = time.perf_counter()
    table = load_mimic(folder, task=task)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(f"{table}: loaded in {seconds:.2f} s, peak {peak:.2f} GB, {table.X.nnz:,} values")
    assert table.X.shape == (SIZES[task].rows, 98 + 4 * SIZES[task].features)
    assert seconds < SECONDS, f"took {seconds:.1f} s, limit {SECONDS} s"
    assert peak < GIGABYTES, f"peak {peak:.2f} GB, limit {GIGABYTES} GB"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for task in SIZES:
            start = time.perf_counter()
            write_fake_mimic(folder, task=task)
            print(f"{task}: written in {time.perf_counter() - start:.1f} s")
            subprocess.run([sys.executable, __file__, folder, task], check=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        load(*sys.argv[1:])
    else:
        main()
