"""
Look at a fitted model
======================

A classifier explains itself in a notebook, and three displays in scikit-learn's way draw what it
learned. Each has ``.plot()`` and ``.frame``: no number exists only as pixels.
"""

import numpy as np

from alignset import NoisyLabelClassifier
from alignset.learners import Blend
from alignset.report import CalibrationByGroupDisplay, CandidateDisplay, NoiseRateDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(1200, 4))
truth = (X[:, 0] + 0.5 * X[:, 1] + rng.normal(0, 0.7, 1200) > 0).astype(float)
sex = np.where(rng.random(1200) < 0.5, "f", "m")
missed = rng.random(1200) < np.where(sex == "f", 0.4, 0.1)
y = np.where((truth == 1) & missed, 0, truth).astype(int)
y_true = np.where(rng.random(1200) < 0.3, truth, np.nan)  # NaN: nobody looked

few = Blend(
    strategies=("observed", "reviewed", "both", "joint"), learners=("linear",), network=None
)
train = np.arange(1200) < 800
clf = NoisyLabelClassifier(few, random_state=0)
clf.fit(X[train], y[train], y_true=y_true[train], groups=sex[train])

# %%
# How often is the label wrong, for whom? With the labels that it was fitted to, rates have
# intervals.
rates = NoiseRateDisplay.from_estimator(clf, y[train], y_true[train], groups=sex[train]).plot()
rates.frame.round(3)

# %%
# What is the model made of?
shown = CandidateDisplay.from_estimator(clf).plot()
shown.frame.round(3)

# %%
# Do its probabilities keep what they promise, in each group? On rows that it did not see, of which
# the reviewed ones count.
kept = CalibrationByGroupDisplay.from_estimator(
    clf, X[~train], y_true[~train], groups=sex[~train]
).plot()
