"""How well a column of ICD-10 codes is encoded: levels, chapters and groups, skrub's encoders.

Codes are drawn as registries have them, few often and thousands rarely; the risk of a row has a
part for its chapter, its group of three characters and its code. A logistic regression on the
encoded column alone is scored on other rows. Needs skrub, which alignset does not:

    pip install skrub && PYTHONPATH=src python tools/compare_codes.py
"""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from alignset.tables.kinds import Holds
from alignset.tables.preprocess import fit_preprocessing

ROWS, SEEDS, WIDTH = 4000, 5, 30


def draw(seed: int) -> tuple[pd.Series[str], np.ndarray[Any, Any]]:
    """Return codes and labels of training and test rows, one after the other."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("ACEFIJKLMN"))
    every = [(a, k, s) for a in range(10) for k in range(60) for s in range(10)]
    chance = 1 / (1 + rng.permutation(len(every))) ** 0.8
    at = rng.choice(len(every), 2 * ROWS, p=chance / chance.sum())
    chapter, group, code = np.array(every)[at].T
    parts = [rng.normal(0, 0.7, 10), rng.normal(0, 0.7, (10, 60)), rng.normal(0, 0.3, (10, 60, 10))]
    odds = parts[0][chapter] + parts[1][chapter, group] + parts[2][chapter, group, code]
    text = [f"{letters[a]}{k:02d}.{s}" for a, k, s in zip(chapter, group, code, strict=True)]
    y = rng.random(2 * ROWS) < 1 / (1 + np.exp(-odds))
    return pd.Series(text, name="icd", dtype=object), y


def ours(holds: Holds) -> Callable[[Any, Any], tuple[Any, Any, int]]:
    """Return an encoder of alignset: matrices of both halves, and bytes of what it keeps."""

    def encode(train: Any, test: Any) -> tuple[Any, Any, int]:
        made = fit_preprocessing(train.to_frame(), {"icd": holds})
        size = len(json.dumps(made.to_data()))
        return made.transform(train.to_frame()), made.transform(test.to_frame()), size

    return encode


def of_skrub(name: str) -> Callable[[Any, Any], tuple[Any, Any, int]]:
    """Return an encoder of skrub; what it keeps is a pickle."""

    def encode(train: Any, test: Any) -> tuple[Any, Any, int]:
        import skrub

        found = getattr(skrub, name)(n_components=WIDTH)
        left = np.asarray(found.fit_transform(train), dtype=float)
        return left, np.asarray(found.transform(test), dtype=float), len(pickle.dumps(found))

    return encode


ENCODERS = {
    "40 most frequent values": ours(Holds("category")),
    "chapters, groups, codes": ours(Holds("codes", system="ICD-10")),
    "hashed": ours(Holds("text")),
    "skrub StringEncoder": of_skrub("StringEncoder"),
    "skrub MinHashEncoder": of_skrub("MinHashEncoder"),
    "skrub GapEncoder": of_skrub("GapEncoder"),
}


def main() -> None:
    """Print a table: AUROC on other rows, seconds, columns and what is kept."""
    print("| encoder | AUROC (sd over seeds) | s | columns | kept, kB |\n|---|---|---|---|---|")
    for name, encode in ENCODERS.items():
        scores, seconds = [], []
        for seed in range(SEEDS):
            codes, y = draw(seed)
            begun = time.perf_counter()
            left, right, size = encode(codes[:ROWS], codes[ROWS:].reset_index(drop=True))
            seconds.append(time.perf_counter() - begun)
            scale = StandardScaler().fit(left)
            model = LogisticRegression(C=0.1, max_iter=2000).fit(scale.transform(left), y[:ROWS])
            scores.append(roc_auc_score(y[ROWS:], model.decision_function(scale.transform(right))))
        told = f"{np.mean(scores):.3f} ({np.std(scores, ddof=1):.3f})"
        row = (name, told, f"{np.mean(seconds):.2f}", str(left.shape[1]), f"{size / 1000:.1f}")
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
