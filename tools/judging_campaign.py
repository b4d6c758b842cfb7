"""Does a blend that judges itself flatter itself? Held-out scores against scores on fresh rows.

For each of many draws of 2 000 rows, some of them reviewed, three ways to tell how good the blend
is: *one fit*, what it said of its own reviewed rows by models and weights that did not see them
(how `alignset fit` judges it); *three parts*, three more blends, each fitted without a third of the
rows, which it then scores (how it was judged before); and the truth, 4 000 fresh rows. Printed is
told minus true, for the blend and for its lead over plain models, with the standard error of the
mean.

    python tools/judging_campaign.py --draws 24 --reviewed 200 60
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss, roc_auc_score

from alignset.estimator import NoisyLabelClassifier
from alignset.estimator.unseen import WHOLE
from alignset.fitting.plain import PLAIN, plain_models
from alignset.labels import EncodedLabels
from alignset.learners import Blend
from alignset.learners.base import to_probability
from alignset.rows import Part

N, FRESH, PARTS = 2000, 4000, 3
NAMES = ("blend", *PLAIN)


def draw(seed: int, reviewed: int) -> tuple[Any, ...]:
    """Return features, observed, true and reviewed labels, and groups, of old and fresh rows."""
    rng = np.random.default_rng(seed)
    X, true = make_classification(
        N + FRESH, n_features=20, n_informative=6, n_redundant=4, flip_y=0.1, class_sep=0.6,
        weights=[0.7], random_state=seed,
    )  # fmt: skip
    group = rng.integers(0, 2, len(true))
    chance = 0.05 + 0.35 * (X[:, 0] > 0) * (group == 1)
    seen = np.where(rng.random(len(true)) < chance, 1 - true, true)
    looked = np.full(len(true), -1)
    at = rng.permutation(N)[:reviewed]
    looked[at] = true[at]
    return X, seen, true, looked, group


def fit(rows: tuple[Any, ...], at: Any, seed: int) -> NoisyLabelClassifier:
    """Fit a blend of linear models and trees."""
    X, seen, _, looked, group = (each[at] for each in rows)
    clf = NoisyLabelClassifier(Blend(network=None), random_state=seed, n_jobs=1)
    labels = EncodedLabels(np.array([0, 1]), seen, looked)
    return clf.fit_encoded(X, labels, group, np.array([0, 1]), keep_unseen=True)


def say(clf: NoisyLabelClassifier, rows: tuple[Any, ...], old: Any, new: Any, seed: int) -> Any:
    """Return what the blend and plain models say of rows, (7, n)."""
    X, seen, _, looked, group = rows
    plain = plain_models(Part(X[old], seen[old], looked[old], group[old]), 2, 2, seed=seed)
    said = [clf.predict_proba(X[new], group[new])[:, 1]]
    return np.stack(said + [to_probability(plain[name].log_odds(X[new]))[:, 1] for name in PLAIN])


def measure(true: Any, said: Any) -> Any:
    """Return log loss and AUROC of each model, (7, 2)."""
    return np.array([[log_loss(true, p), roc_auc_score(true, p)] for p in said])


def one(seed: int, reviewed: int) -> Any:
    """Return what one fit and three parts tell, and the truth, (3, 7, 2); and seconds of both."""
    warnings.simplefilter("ignore")
    rows = draw(seed, reviewed)
    true, looked, old = rows[2], rows[3], np.arange(N)
    known = np.flatnonzero(looked[:N] >= 0)
    begun = time.process_time()
    clf = fit(rows, old, seed)
    found = clf.unseen_.scores
    keys = [WHOLE, *((c.strategy.name, c.learner.name) for c in PLAIN.values())]
    alone = np.stack([found[key][known, 1] for key in keys])
    middle = time.process_time()
    part = np.random.default_rng(seed).permutation(N) % PARTS
    parts = np.empty((len(NAMES), N))
    for p in range(PARTS):
        kept, out = old[part != p], old[part == p]
        parts[:, out] = say(fit(rows, kept, seed), rows, kept, out, seed)
    last = time.process_time()
    fresh = say(clf, rows, old, np.arange(N, N + FRESH), seed)
    told = [measure(true[known], alone), measure(true[known], parts[:, known])]
    return np.stack([*told, measure(true[N:], fresh)]), (middle - begun, last - middle)


def main() -> None:
    """Run all draws, and print a table of told minus true."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=24)
    parser.add_argument("--reviewed", type=int, nargs="+", default=[200, 60])
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    print("| reviewed | judged by | about | log loss, told - true | AUROC, told - true |")
    print("|---|---|---|---|---|")
    for reviewed in given.reviewed:
        run = Parallel(n_jobs=given.jobs)(delayed(one)(s, reviewed) for s in range(given.draws))
        told = np.stack([each[0] for each in run])
        lead = told[:, :, :1] - told[:, :, 1:]
        for way, name in enumerate(("one fit", "three parts")):
            about = [("blend", told[:, way, 0] - told[:, 2, 0])]
            about += [
                (f"its lead over {other}", (lead[:, way] - lead[:, 2])[:, i])
                for i, other in enumerate(PLAIN)
            ]
            for what, off in about:
                error = off.std(0, ddof=1) / np.sqrt(len(off))
                pairs = zip(off.mean(0), error, strict=True)
                cells = " | ".join(f"{m:+.4f} ± {e:.4f}" for m, e in pairs)
                print(f"| {reviewed} | {name} | {what} | {cells} |", flush=True)
        seconds = np.mean([each[1] for each in run], axis=0)
        print(f"{reviewed} reviewed: {seconds[0]:.1f} s of one core, {seconds[1]:.1f} s for parts")


if __name__ == "__main__":
    main()
