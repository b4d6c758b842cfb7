"""
Four classes
============

Nothing is special about two classes. Here a coder confuses two of four diagnoses in one direction,
more often at night; the reviewed rows show it, and the predictions undo it.
"""

import matplotlib.pyplot as plt
import numpy as np

from alignset import NoisyLabelClassifier

rng = np.random.default_rng(0)
names = np.array(["asthma", "COPD", "heart failure", "none"])
centre = np.array([[1.5, 0], [1.5, 1.6], [-1.5, 0.6], [-0.2, -1.6]])
code = rng.integers(0, 4, 1600)
X = centre[code] + rng.normal(size=(1600, 2))
night = np.where(rng.random(1600) < 0.4, "night", "day")
mixed = (code == 1) & (rng.random(1600) < np.where(night == "night", 0.6, 0.2))
truth, y = names[code], names[np.where(mixed, 0, code)]  # COPD is coded as asthma
y_true = np.where(rng.random(1600) < 0.2, truth, None)
train = np.arange(1600) < 1100

figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.9), sharey=True, layout="constrained")
for ax, method in zip(axes, ("observed_linear", "rates_linear"), strict=True):
    clf = NoisyLabelClassifier(method, random_state=0)
    clf.fit(X[train], y[train], y_true=y_true[train], groups=night[train])
    found = clf.predict(X[~train])
    count = np.array([[np.mean(found[truth[~train] == a] == b) for b in names] for a in names])
    ax.imshow(count, cmap="Blues", vmin=0, vmax=1)
    for i in range(4):
        for j in range(4):
            ax.text(
                j,
                i,
                f"{count[i, j]:.2f}",
                ha="center",
                va="center",
                color="white" if count[i, j] > 0.5 else "black",
            )
    ax.set_xticks(range(4), names, rotation=30, ha="right")
    ax.set_yticks(range(4), names)
    ax.set_title(f"{method}: {np.mean(found == truth[~train]):.1%} right")
axes[0].set_ylabel("truth")
plt.show()

# %%
# The share of wrong labels, by shift, from the reviewed rows:
{group: round(rate, 3) for group, rate in clf.noise_rates_.items()}
