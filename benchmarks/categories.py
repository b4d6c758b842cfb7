"""Trees that read a table's columns as they are, beside trees on 0/1 columns: time and AUROC.

    taskset -c 0 env OMP_NUM_THREADS=1 python benchmarks/categories.py
    taskset -c 0 env OMP_NUM_THREADS=1 python benchmarks/categories.py --blend

Adult, and made-up tables of 4 categories with 10 or 40 levels each and 6 numbers. Labels are as
they are, or wrong in 35 % of the positive and 10 % of the negative rows; AUROC and log loss are of
true labels of 5 000 other rows. Every line is a mean over draws: trees on 0/1 columns, what is
gained by those that read columns as they are, and the ratio of processor time. "sizes" are trees on
0/1 columns whose size is chosen on 6 000 rows at most, as it once was. With ``--blend`` the same
for whole blends without a network, 3 % of the rows reviewed.
"""

from __future__ import annotations

import argparse
import io
import time
import warnings
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score

from alignset import NoisyLabelClassifier
from alignset.data import sources
from alignset.data.cache import read
from alignset.learners import Blend, Trees, trees
from alignset.rows.raw import RawColumns

ADULT = (
    "age", "workclass", "fnlwgt", "education", "years", "marital", "occupation", "relationship",
    "race", "sex", "gain", "loss", "hours", "country", "income",
)  # fmt: skip


class OnMatrix(Trees):
    """Trees that read the matrix, whatever table it was made of."""

    def reading(self, raw: RawColumns) -> Trees:  # noqa: ARG002
        return self


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blend", action="store_true")
    parser.add_argument("--rows", type=int, nargs="*", default=[2400, 8000, 20000])
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--tables", nargs="*", default=["Adult", "10", "40"])
    options = parser.parse_args()
    for name in options.tables:
        frame, y = adult() if name == "Adult" else made_up(int(name))
        for wrong in (False, True):
            for n in options.rows:
                found = [
                    draw(frame, y, n, wrong, seed, blend=options.blend)
                    for seed in range(options.draws)
                ]
                what = name if name == "Adult" else f"{name} levels"
                print(line(f"{what}, {'wrong' if wrong else 'right'} labels, {n} rows", found))


def draw(
    frame: pd.DataFrame, y: Any, n: int, wrong: bool, seed: int, *, blend: bool
) -> dict[str, list[float]]:
    """Fit each kind of trees to one draw; return AUROC, log loss and seconds of each."""
    rng = np.random.default_rng((seed, n))
    at = rng.permutation(len(y))
    train, test = at[:n], at[n : n + 5000]
    flip = wrong & (rng.random(len(y)) < np.where(y == 1, 0.35, 0.1))
    seen, true = np.where(flip, 1 - y, y), np.where(rng.random(len(y)) < 0.03, y, np.nan)
    strategies = Blend().strategies if blend else ("observed",)
    more = ("linear",) if blend else ()
    found = {}
    kinds = {"0/1": OnMatrix(), "as they are": Trees(), "sizes": OnMatrix()}
    for name, learner in list(kinds.items())[: 2 if blend else 3]:
        few = 2 * trees.JUDGING if name == "sizes" else trees.MOST_ROWS
        how = Blend(strategies, (*more, learner), network=None)
        start = time.process_time()
        with patch.object(trees, "MOST_ROWS", few), warnings.catch_warnings(action="ignore"):
            clf = NoisyLabelClassifier(how, random_state=seed, n_jobs=1)
            clf.fit(frame.iloc[train], seen[train], y_true=true[train])
        spent = time.process_time() - start
        said = clf.predict_proba(frame.iloc[test])[:, 1]
        found[name] = [roc_auc_score(y[test], said), -log_loss(y[test], said), spent]
    return found


def line(name: str, found: list[dict[str, list[float]]]) -> str:
    """Say what the draws of one setting gave."""
    mean = {kind: np.mean([each[kind] for each in found], axis=0) for kind in found[0]}
    base = mean.pop("0/1")
    told = [
        f"{kind} {own[0] - base[0]:+.4f} {own[1] - base[1]:+.4f} x{own[2] / base[2]:.2f}"
        for kind, own in mean.items()
    ]
    return f"{name}: {base[0]:.4f} {-base[1]:.4f} {base[2]:.1f} s | {' | '.join(told)}"


def adult() -> tuple[pd.DataFrame, Any]:
    """Return the training file of Adult as it is."""
    content = read(sources.ADULT)["adult.data"]
    frame = pd.read_csv(io.BytesIO(content), names=ADULT, skipinitialspace=True, na_values="?")
    y = (frame["income"] == ">50K").to_numpy().astype(np.int64)
    return frame.drop(columns=["income", "fnlwgt", "years"]), y


def made_up(levels: int, n: int = 30_000) -> tuple[pd.DataFrame, Any]:
    """Return numbers and categories; half of the first one's levels turn the sign of a number."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{j}": rng.normal(size=n) for j in range(6)})
    score = frame["x0"] + 0.5 * frame["x1"] * frame["x2"] - 1
    for j in range(4):
        code = rng.integers(levels, size=n)
        score += 0.6 * rng.normal(size=levels)[code]
        if j == 0:
            score += 0.7 * np.where(rng.integers(2, size=levels)[code], 1, -1) * frame["x3"]
        frame[f"c{j}"] = [f"level {k}" for k in code]
    return frame, (rng.random(n) < 1 / (1 + np.exp(-score))).to_numpy().astype(np.int64)


if __name__ == "__main__":
    main()
