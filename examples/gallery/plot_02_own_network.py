"""
A network of your own
=====================

Any ``nn.Module`` can be the backbone of a network method. Here the truth is a ring, which a linear
model cannot see; a module that squares its inputs can.
"""

import matplotlib.pyplot as plt
import numpy as np
from torch import nn

from alignset import NoisyLabelClassifier, auroc


class Squares(nn.Module):
    """A linear model of the features and their squares."""

    def __init__(self, n_features, n_classes):
        super().__init__()
        self.plain = nn.Linear(n_features, n_classes)
        self.square = nn.Linear(n_features, n_classes, bias=False)

    def forward(self, x):
        return self.plain(x) + self.square(x * x)


rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 2))
truth = (np.hypot(*X.T) > 1.2).astype(float)
y = np.where(rng.random(1500) < np.where(X[:, 0] > 0, 0.35, 0.05), 1 - truth, truth).astype(int)
y_true = np.where(rng.random(1500) < 0.15, truth, np.nan)
train = np.arange(1500) < 1000

settings = {"n_configs": 3, "max_epochs": 60, "folds": None, "random_state": 0}
models = {
    "linear": NoisyLabelClassifier("joint", backbone=lambda d, k: nn.Linear(d, k), **settings),
    "squares": NoisyLabelClassifier("joint", backbone=Squares, **settings),
}
figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), sharey=True, layout="constrained")
for ax, (name, clf) in zip(axes, models.items(), strict=True):
    clf.fit(X[train], y[train], y_true=y_true[train])
    p = clf.predict_proba(X[~train])[:, 1]
    ax.scatter(*X[~train].T, c=p, cmap="coolwarm", vmin=0, vmax=1, s=12)
    ax.set_title(f"{name}: AUROC {auroc(truth[~train], p):.3f} against the truth")
    ax.set(xlabel="first feature", aspect="equal")
axes[0].set_ylabel("second feature")
plt.show()
