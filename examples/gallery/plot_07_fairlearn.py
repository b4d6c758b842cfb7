"""
Error bars under label noise, for a fairlearn user
==================================================

``MetricFrame`` compares predictions with the labels in the table. If these are wrong more often in
one group, so are its numbers, and it cannot say how far. ``estimate`` takes the same columns and a
few reviewed rows, and gives each group's rate against the truth, with an interval.
"""

import matplotlib.pyplot as plt
import numpy as np
from fairlearn.metrics import MetricFrame, true_positive_rate
from sklearn.linear_model import LogisticRegression

from alignset.evaluate import estimate

rng = np.random.default_rng(0)
n = 8000
X, sex = rng.normal(size=(n, 3)), rng.choice(["f", "m"], n)
truth = (X[:, 0] + 0.4 * X[:, 1] + rng.normal(0, 0.8, n) > 0.8).astype(int)
mild = X[:, 0] < 1.0  # women whose illness is mild are missed
missed = rng.random(n) < np.where((sex == "f") & mild, 0.7, 0.05)
y = np.where((truth == 1) & missed, 0, truth)
reviewed = np.where(rng.random(n) < 0.15, truth, np.nan)

train = np.arange(n) < 4000
score = LogisticRegression().fit(X[train], y[train]).predict_proba(X[~train])[:, 1]
held = {"y": y[~train], "true": truth[~train], "reviewed": reviewed[~train], "sex": sex[~train]}

# %%
# What fairlearn says of the observed labels, what holds for the truth (which nobody has), and what
# 600 reviewed rows say. Women whom the labels miss are the ones whom the model misses: by the
# observed labels it finds more women than men, in truth as many.
flagged = (score >= 0.3).astype(int)
seen = MetricFrame(
    metrics=true_positive_rate, y_true=held["y"], y_pred=flagged, sensitive_features=held["sex"]
).by_group
real = MetricFrame(
    metrics=true_positive_rate, y_true=held["true"], y_pred=flagged, sensitive_features=held["sex"]
).by_group
found = estimate(
    "tpr", score, held["y"], held["reviewed"], groups=held["sex"], threshold=0.3, random_state=0
)
figure, ax = plt.subplots(layout="constrained")
for i, group in enumerate(["f", "m"]):
    one = found.by_group[group]
    reach = [[one.estimate - one.low], [one.high - one.estimate]]
    ax.errorbar(one.estimate, i, xerr=reach, fmt="o", color="tab:blue", markersize=7)
    ax.plot(seen[group], i - 0.15, "x", color="tab:orange", markersize=9)
    ax.plot(real[group], i + 0.15, "|", color="black", markersize=16, markeredgewidth=2)
ax.set_yticks([0, 1], ["women", "men"])
ax.set(xlabel="true positive rate at 0.3", ylim=(1.6, -0.6))
labels = ["reviewed rows, with interval", "observed labels", "truth"]
marks = [
    plt.Line2D([], [], marker=m, color=c, linestyle="")
    for m, c in (("o", "tab:blue"), ("x", "tab:orange"), ("|", "black"))
]
figure.legend(marks, labels, loc="outside upper center", ncols=3, frameon=False)
plt.show()

# %%
print(found)
