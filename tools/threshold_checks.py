"""Check that intervals hold at a threshold chosen on the same rows, and that recalibration helps.

``python tools/threshold_checks.py`` prints the numbers in docs/thresholds.md; 2 minutes on a core.
"""

from __future__ import annotations

import numpy as np

from alignset.evaluate import calibration_error, choose_threshold
from alignset.learners.recalibration import GroupCalibration, fit_group_calibration

TARGETS = (("tpr", 0.9), ("fpr", 0.1), ("flagged", 0.1))


def reviewed_rows(seed: int, n: int, reviewed: int) -> tuple[np.ndarray, ...]:
    """Score, observed label, truth and what was reviewed of it; 8 % of labels are wrong."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    true = (rng.random(n) < 1 / (1 + np.exp(1.5 - 1.5 * z))).astype(int)
    score = 1 / (1 + np.exp(1.5 - 1.2 * z - 0.5 * rng.normal(size=n)))
    y = np.where(rng.random(n) < 0.08, 1 - true, true)
    seen = np.isin(np.arange(n), rng.permutation(n)[:reviewed])
    return score, y, true, np.where(seen, true, np.nan)


def coverage(repetitions: int = 300) -> None:
    """Print how often the interval of the chosen rate holds."""
    score, _, true, _ = reviewed_rows(10**6, 300_000, 10)
    for target, value in TARGETS:
        hits, rates = [], []
        for seed in range(repetitions):
            own, y, _, known = reviewed_rows(seed, 2000, 200)
            found = choose_threshold(target, value, own, y, known, random_state=0)
            flagged = score >= found.threshold
            of = {"tpr": true == 1, "fpr": true == 0, "flagged": true >= 0}[target]
            rates.append(flagged[of].mean())
            hits.append(found.rates[target].low <= rates[-1] <= found.rates[target].high)
        print(f"{target}={value}: interval holds in {np.mean(hits):.1%}, true rate "
              f"{np.mean(rates):.3f} (sd {np.std(rates):.3f})")  # fmt: skip


def grouped(seed: int, n: int, off: float, slope: float) -> tuple[np.ndarray, ...]:
    """Probabilities that are right in all of three groups but the last."""
    rng = np.random.default_rng(seed)
    group, z = rng.integers(0, 3, n), 1.4 * rng.normal(size=n) - 0.5
    truth = 1 / (1 + np.exp(-np.where(group == 2, slope * z + off, z)))
    y = (rng.random(n) < truth).astype(np.int64)
    p = 1 / (1 + np.exp(-z))
    return np.stack([1 - p, p], axis=1), y, group


def calibrated(seed: int, n: int, off: float, slope: float) -> GroupCalibration:
    """Recalibrate by n reviewed rows."""
    p, y, group = grouped(seed, n, off, slope)
    return fit_group_calibration(p, y, y, group, np.ones(n), 3, seed=0)


def recalibration(repetitions: int = 100) -> None:
    """Print how often groups are recalibrated, and the calibration error before and after."""
    for n in (300, 600):
        touched = [bool(calibrated(seed, n, 0.0, 1.0).changed) for seed in range(4 * repetitions)]
        print(f"{n} reviewed, all groups calibrated: {np.mean(touched):.1%} of models touched")
        for off, slope in ((-1.5, 1.0), (-0.7, 1.0), (0.0, 0.3)):
            rows = []
            for seed in range(repetitions):
                found = calibrated(seed, n, off, slope)
                p, y, group = grouped(10**6 + seed, 20_000, off, slope)
                own = group == 2
                errors = [calibration_error(y[own], q[own]) for q in (p, found.apply(p, group))]
                rows.append((2 in found.changed, *errors))
            on, before, after = np.mean(rows, axis=0)
            print(f"{n} reviewed, one group off by {off} with slope {slope}: recalibrated in "
                  f"{on:.0%}, calibration error {before:.3f} -> {after:.3f}")  # fmt: skip


if __name__ == "__main__":
    coverage()
    recalibration()
