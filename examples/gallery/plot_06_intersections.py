"""
Groups that intersect
=====================

``groups`` may have several columns; groups are then their intersections. A label that looks equally
wrong by sex and by site can be far off for women at one site.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from alignset import NoisyLabelClassifier
from alignset.report import NoiseRateDisplay

rng = np.random.default_rng(0)
n = 3000
people = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "site": rng.choice(["east", "west"], n)})
X = rng.normal(size=(n, 3))
truth = (X[:, 0] > 0).astype(float)
worst = (people["sex"] == "f") == (people["site"] == "west")
wrong = rng.random(n) < np.where(worst, 0.3, 0.05)
y = np.where(wrong, 1 - truth, truth).astype(int)
y_true = np.where(rng.random(n) < 0.2, truth, np.nan)

figure, axes = plt.subplots(1, 3, figsize=(10.5, 2.8), sharex=True, layout="constrained")
for ax, groups in zip(axes, (["sex"], ["site"], ["sex", "site"]), strict=True):
    NoiseRateDisplay.from_labels(y, y_true, groups=people[groups].to_numpy()).plot(ax)
    ax.set_title(" x ".join(groups))
axes[0].set_xlim(0, 0.45)
plt.show()

# %%
# The estimator takes the same columns:
clf = NoisyLabelClassifier("both_linear", random_state=0)
clf.fit(X, y, y_true=y_true, groups=people.to_numpy())
{str(group): round(rate, 3) for group, rate in clf.noise_rates_.items()}
