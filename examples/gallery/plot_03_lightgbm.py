"""
LightGBM as a learner
=====================

``estimator=`` takes any classifier with ``predict_proba`` and puts it beside the linear models. It
is fitted to several kinds of labels, and reviewed rows say how much each counts.
"""

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMClassifier

from alignset import NoisyLabelClassifier
from alignset.report import CandidateDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 5))
truth = ((X[:, 0] > 0) ^ (X[:, 1] > 0.3)).astype(float)  # no line can tell these apart
y = np.where(rng.random(1000) < 0.25, 1 - truth, truth).astype(int)
y_true = np.where(rng.random(1000) < 0.2, truth, np.nan)

boosted = LGBMClassifier(n_estimators=20, num_leaves=8, n_jobs=1, verbose=-1)
clf = NoisyLabelClassifier(estimator=boosted, random_state=0)
clf.fit(X, y, y_true=y_true)
CandidateDisplay.from_estimator(clf).plot()
plt.show()

# %%
# In words:
print(clf.explain())
