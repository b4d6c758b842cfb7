"""Time and memory of the default fit on a table of any size, on made-up data.

    taskset -c 0,1 env OMP_NUM_THREADS=1 python benchmarks/blend_scale.py 100000 50 5000

Rows, columns, reviewed rows. Prints seconds of wall and of all cores, and the most memory; the
ratio is to scikit-learn's boosted trees on the observed labels, in the same process.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from alignset import NoisyLabelClassifier


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("rows", "columns", "reviewed"):
        parser.add_argument(name, type=int)
    size = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(size.rows, size.columns))
    y = (X[:, :5].sum(1) + 2 * rng.normal(size=size.rows) > 0).astype(int)
    observed = np.where(rng.random(size.rows) < 0.2 * (X[:, 0] > 0) + 0.1, 1 - y, y)
    true = np.where(np.arange(size.rows) < size.reviewed, y, np.nan)
    start = time.perf_counter()
    HistGradientBoostingClassifier(random_state=0).fit(X, observed)
    trees = time.perf_counter() - start
    wall, cores = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(action="ignore"):
        NoisyLabelClassifier(random_state=0).fit(X, observed, y_true=true)
    wall, cores = time.perf_counter() - wall, time.process_time() - cores
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{size.rows} x {size.columns}, {size.reviewed} reviewed: {wall:.0f} s, {cores:.0f} s of "
        f"all cores, {memory:.1f} GB; {wall / trees:.0f} times as long as boosted trees alone"
    )


if __name__ == "__main__":
    main()
