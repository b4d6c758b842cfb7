"""
Moving from cleanlab
====================

cleanlab finds labels that look unlikely under cross-validation, without any review. That works as
long as wrong labels look unlikely. Where they follow a rule, they look likely, and only rows that
somebody looked at can tell. ``label_confidence`` is the counterpart of cleanlab's label quality.
"""

import matplotlib.pyplot as plt
import numpy as np
from cleanlab.rank import get_label_quality_scores
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from alignset import NoisyLabelClassifier, auroc

rng = np.random.default_rng(0)
n = 3000
X = rng.normal(size=(n, 4))
truth = (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)
ill = truth == 1
kinds = {
    "at random": ill & (rng.random(n) < 0.4),
    "by a rule": ill & (X[:, 1] > 0.25),
}

# %%
# A fifth of the labels is wrong in both tables: ill people, labelled as well. Who finds them?
figure, ax = plt.subplots(layout="constrained")
for i, wrong in enumerate(kinds.values()):
    y = np.where(wrong, 0, truth)
    y_true = np.where(rng.random(n) < 0.1, truth, np.nan)
    p = cross_val_predict(LogisticRegression(), X, y, method="predict_proba")
    quality = get_label_quality_scores(y, p)
    clf = NoisyLabelClassifier("joint_linear", random_state=0).fit(X, y, y_true=y_true)
    confidence = clf.label_confidence(X, y)
    unseen = np.isnan(y_true)
    areas = [auroc(~wrong[unseen], each[unseen]) for each in (quality, confidence)]
    for j, (area, colour) in enumerate(zip(areas, ("tab:orange", "tab:blue"), strict=True)):
        ax.barh(
            i + 0.38 * j - 0.19,
            area,
            height=0.34,
            color=colour,
            label=("cleanlab, no review", "alignset, 10 % reviewed")[j] if i == 0 else None,
        )
        ax.text(area - 0.01, i + 0.38 * j - 0.19, f"{area:.2f}", va="center", ha="right", color="w")
ax.axvline(0.5, color="grey", linewidth=1)
ax.set_yticks([0, 1], [f"wrong {kind}" for kind in kinds])
ax.set(xlabel="AUROC of telling right labels from wrong ones (0.5 is chance)", xlim=(0, 1.02))
figure.legend(loc="outside upper center", ncols=2, frameon=False)
plt.show()

# %%
# ======================================  ==============================================
# cleanlab                                alignset
# ======================================  ==============================================
# ``get_label_quality_scores(y, p)``      ``clf.label_confidence(X, y)``
# ``find_label_issues``                   ``alignset audit`` ranks every row
# ``CleanLearning(model).fit(X, y)``      ``NoisyLabelClassifier(estimator=model).fit(...)``
# ``estimate_joint``                      ``noise_rates_``, ``evaluate.estimate("wrong", ...)``
# ======================================  ==============================================
