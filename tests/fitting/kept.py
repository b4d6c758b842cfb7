"""A made-up evaluation: two models, two groups, labels wrong more often in one of them."""

import numpy as np

from alignset.model.evaluation import Evaluation


def kept(n=240, seed=0, groups=("f", "m"), by_design=True, noise=(0.1, 0.3)):
    rng = np.random.default_rng(seed)
    group = np.arange(n) % len(groups)
    true = rng.integers(0, 2, n)
    observed = np.where(rng.random(n) < np.array(noise)[group], 1 - true, true)
    good = np.clip(0.25 + 0.4 * true + 0.35 * rng.normal(size=n) * 0.5, 0, 1)
    poor = np.clip(0.5 + 0.2 * rng.normal(size=n), 0, 1)
    scores = {"standard": poor, "alignment": good}
    scores = {name: np.stack([1 - s, s], axis=1).round(6) for name, s in scores.items()}
    weight = np.where(observed == 1, 2.0, 9.0)
    classes = ("no", "yes")
    return Evaluation(
        classes, tuple(groups), group, observed, true, weight, scores, "alignment", by_design
    )
