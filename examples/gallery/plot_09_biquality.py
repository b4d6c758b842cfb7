"""
Moving from biquality-learn
===========================

biquality-learn's ``fit(X, y, sample_quality=q)`` takes one label per row and says which rows can be
trusted. Here both labels of a row are kept: ``y`` is what was observed, ``y_true`` what a reviewer
found. Reviewed rows thus show *how* labels go wrong, and not only which are right.
"""

import matplotlib.pyplot as plt
import numpy as np

from alignset import NoisyLabelClassifier, auroc

rng = np.random.default_rng(0)
n = 2500
X = rng.normal(size=(n, 20))
truth = (X[:, 0] - 0.6 * X[:, 1] + 0.4 * rng.normal(size=n) > 0).astype(int)
observed = np.where(X[:, 2] > 0.1, 1 - truth, truth)  # wrong where the third value is high
sample_quality = (rng.random(n) < 0.06).astype(int)  # 1: trusted
y = np.where(sample_quality == 1, truth, observed)  # what biquality-learn is given

# %%
# From its arguments to these. IRBL, which both libraries have, needs no more. The joint model needs
# the observed labels of trusted rows, too: keep them when you collect reviews.
y_true = np.where(sample_quality == 1, y, np.nan)
train = np.arange(n) < 1500
tries = {
    "all rows alike": ("observed_linear", y),
    "trusted rows alone": ("reviewed_linear", y),
    "IRBL, one label per row": ("irbl_linear", y),
    "joint model, both labels": ("joint_linear", observed),
}
areas = []
for method, labels in tries.values():
    clf = NoisyLabelClassifier(method, random_state=0)
    chance = np.full(1500, 0.06)  # trusted rows were drawn at random, and that is known
    clf.fit(X[train], labels[train], y_true=y_true[train], review_probability=chance)
    areas.append(auroc(truth[~train], clf.predict_proba(X[~train])[:, 1]))

figure, ax = plt.subplots(layout="constrained")
ax.barh(range(4), areas, color=["tab:gray", "tab:gray", "tab:orange", "tab:blue"])
for place, area in enumerate(areas):
    ax.text(area - 0.01, place, f"{area:.3f}", va="center", ha="right", color="white")
ax.set_yticks(range(4), list(tries))
ax.invert_yaxis()
ax.set(xlabel="AUROC against the truth, on other rows (0.5 is chance)", xlim=(0, 1.02))
plt.show()
