"""Many rows: time and memory of a fit with Alignment, and scikit-learn's MLPClassifier beside it.

    python benchmarks/many_rows.py [10000 100000 1000000]

50 dense features, two hidden layers of 100, batches of the same size on both sides, two cores.
Seconds per epoch are the difference between fits of 5 and of 1 epochs. The epochs are not the same
work: ours trains theta and phi in turn, runs both networks forward on every batch, and counts an
epoch of step 1 (on reviewed rows alone) together with one of step 2 (on all rows).
"""

from __future__ import annotations

import sys
import time
import warnings

import measure
import numpy as np
from sklearn.neural_network import MLPClassifier

from alignset import Alignment, NoisyLabelClassifier
from alignset.estimator import ROWS_PER_BATCH

SIZES = (10_000, 100_000, 1_000_000)


def make_data(n: int):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 50))
    truth = (X[:, :5].sum(1) > 0).astype(float)
    y = np.where(X[:, 5] > 1.0, 1 - truth, truth).astype(int)
    truth[rng.random(n) > 0.01] = np.nan
    return X, y, truth, (X[:, 6] > 0).astype(int)


def work(job: dict) -> dict[str, float]:
    warnings.simplefilter("ignore")
    X, y, truth, group = make_data(job["rows"])

    def fit(epochs: int, n: int) -> float:
        start = time.perf_counter()
        if job["sklearn"]:
            batch = max(200, min(ROWS_PER_BATCH, job["rows"] // 5))
            model = MLPClassifier((100, 100), batch_size=batch, max_iter=epochs, tol=0)
            model.fit(X[:n].astype(np.float32), y[:n])
        else:
            settings = {"n_configs": 1, "max_epochs": epochs, "patience": 99, "random_state": 0}
            clf = NoisyLabelClassifier(Alignment(), **settings)
            clf.fit(X[:n], y[:n], y_true=truth[:n], groups=group[:n])
        return time.perf_counter() - start

    fit(1, 5000)  # what is loaded and compiled on first use is not part of an epoch
    base = measure.peak_gb()
    times = 1 if job["rows"] > 200_000 else 3  # a short fit is easily disturbed
    seconds = [min(fit(epochs, job["rows"]) for _ in range(times)) for epochs in (1, 5)]
    beyond = measure.peak_gb() - base
    return {"fit": seconds[0], "epoch": (seconds[1] - seconds[0]) / 4, "beyond": beyond}


def summary() -> int:
    sizes = [int(a) for a in sys.argv[1:]] or list(SIZES)
    ours = {n: measure.in_fresh_process(__file__, {"rows": n, "sklearn": False}) for n in sizes}
    theirs = measure.in_fresh_process(__file__, {"rows": sizes[-1], "sklearn": True})
    for n, result in ours.items():
        print(f"{n:>9} rows: {result['epoch']:.2f} s per epoch, first fit {result['fit']:.1f} s")
    last, before = sizes[-1], sizes[-2]
    growth = (ours[last]["epoch"] / ours[before]["epoch"]) / (last / before)
    rows = [
        measure.row(f"{last} rows: GB beyond the data", ours[last]["beyond"], 1.0, at_most=True),
        measure.row("time per epoch, growth over growth of rows", growth, 1.25, at_most=True),
        measure.row(
            "epoch of MLPClassifier over ours",
            theirs["epoch"] / ours[last]["epoch"],
            1.0,
            at_most=False,
        ),
    ]
    return measure.write(rows, "many_rows")


if __name__ == "__main__":
    sys.exit(measure.main(work, summary))
