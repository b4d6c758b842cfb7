"""What the default fit costs: time, peak memory, and how many times the plain models it contains.

python benchmarks/blend.py
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import measure
import numpy as np

SIZES = (
    ("5 000 x 60, 500 reviewed", 5_000, 60, 500, 45.0),
    ("100 000 x 50", 100_000, 50, 2_000, 360.0),
)


def make(n: int, d: int, reviewed: int) -> tuple[Any, Any, Any]:
    """Two classes in six clusters, a fifth of the labels wrong."""
    from sklearn.datasets import make_classification

    X, y = make_classification(n, d, n_informative=15, n_clusters_per_class=3, random_state=0)
    rng = np.random.default_rng(0)
    seen = np.where(rng.random(n) < 0.2, 1 - y, y)
    looked = rng.permutation(n) < reviewed
    return X, seen, np.where(looked, y, np.nan)


def work(job: dict[str, Any]) -> dict[str, float]:
    """Fit one model in this process."""
    warnings.simplefilter("ignore")
    X, seen, y_true = make(job["n"], job["d"], job["reviewed"])
    start = time.perf_counter()
    if job["model"] == "plain":
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegressionCV

        both = np.where(np.isnan(y_true), seen, y_true).astype(int)
        for y in (seen, both):
            LogisticRegressionCV(scoring="neg_log_loss", max_iter=500).fit(X, y)
            HistGradientBoostingClassifier(random_state=0).fit(X, y)
    else:
        from alignset import NoisyLabelClassifier

        NoisyLabelClassifier(random_state=0).fit(X, seen, y_true=y_true)
    return {"seconds": time.perf_counter() - start, "gb": measure.peak_gb()}


def summary() -> int:
    """Print and write every size."""
    rows = []
    for name, n, d, reviewed, target in SIZES:
        job = {"n": n, "d": d, "reviewed": reviewed}
        plain = measure.in_fresh_process(__file__, {**job, "model": "plain"})
        blend = measure.in_fresh_process(__file__, {**job, "model": "blend"})
        ratio = blend["seconds"] / plain["seconds"]
        print(f"{name}: blend {blend['seconds']:.1f} s, {ratio:.1f} times four plain models")
        rows.append(measure.row(f"default fit, {name}, s", blend["seconds"], target, at_most=True))
        rows.append(measure.row(f"default fit, {name}, peak GB", blend["gb"], 3.0, at_most=True))
    return measure.write(rows, "blend")


if __name__ == "__main__":
    sys.exit(measure.main(work, summary))
