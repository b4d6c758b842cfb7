"""
Why noisy labels fool metrics
=============================

A metric compares predictions with labels. If labels are wrong, it measures how well a model agrees
with the error. Two things follow, and the second is the worse one.

**Numbers are too low, or too high.** Labels that are wrong at random make every model look worse
than it is. Labels that are wrong by a rule can make a model look better than it is: one that has
learned the rule is praised for it.

**The order is wrong.** Of two models, the one that learned the error wins. So does the model that a
search by cross-validation picks, and the group for which labels are most often wrong can look as
well served as the others.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from alignset import auroc
from alignset.evaluate import estimate

rng = np.random.default_rng(0)
n = 6000
X = rng.normal(size=(n, 2))  # the first value tells who is ill, the second who is missed
truth = (X[:, 0] + 0.7 * rng.normal(size=n) > 0).astype(int)
missed = rng.random(n) < 1 / (1 + np.exp(-3 * X[:, 1]))
observed = np.where((truth == 1) & missed, 0, truth)
train, test = np.arange(n) < 3000, np.arange(n) >= 3000

# %%
# One model learns from the labels that we have; the other from the truth, which nobody has. Judged
# by the labels that we have, the first is better. It is not. 300 reviewed rows suffice to say so.
models = {"learned from\nobserved labels": observed, "learned from\nthe truth": truth}
reviewed = np.where(test & (rng.random(n) < 0.1), truth, np.nan)
figure, ax = plt.subplots(layout="constrained")
for i, labels in enumerate(models.values()):
    score = LogisticRegression().fit(X[train], labels[train]).predict_proba(X[test])[:, 1]
    seen, real = auroc(observed[test], score), auroc(truth[test], score)
    found = estimate("auroc", score, observed[test], reviewed[test], random_state=0)
    ax.plot(seen, i - 0.2, "x", color="tab:orange", markersize=10, label="observed labels")
    ax.errorbar(
        found.estimate,
        i,
        xerr=[[found.estimate - found.low], [found.high - found.estimate]],
        fmt="o",
        color="tab:blue",
        markersize=7,
        label="300 reviewed rows, 95 %",
    )
    ax.plot(real, i + 0.2, "|", color="black", markersize=18, markeredgewidth=2.5, label="truth")
    if i == 0:
        figure.legend(loc="outside upper center", ncols=3, frameon=False)
ax.set_yticks([0, 1], list(models))
ax.set(xlabel="AUROC on other rows, by three kinds of label", ylim=(1.6, -0.6))
plt.show()

# %%
# What to do: have some rows reviewed, at random or with known probability, and judge every model by
# them. The labels of the other rows then make the estimate more precise without biasing it:
# ``alignset.evaluate.estimate``.
