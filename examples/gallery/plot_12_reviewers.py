"""
Reviewers who err
=================

Reviewers are people. If some rows are answered twice, it shows how often each of them errs, and
true labels become probabilities (Dawid and Skene). The estimator takes these as ``y_true``: one
column per class, missing where nobody looked.
"""

import matplotlib.pyplot as plt
import numpy as np

from alignset import NoisyLabelClassifier, auroc
from alignset.review.answers import Answers
from alignset.review.reviewers import fit_reviewers

rng = np.random.default_rng(0)
n = 3000
X = rng.normal(size=(n, 5))
truth = (X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(int)
observed = np.where((truth == 1) & (rng.random(n) < 0.4), 0, truth)

# %%
# Three reviewers answer 400 rows between them, half of these twice. One of them is tired.
errs = {"anna": 0.03, "ben": 0.08, "carl": 0.25}
first, second = rng.integers(0, 3, 400), rng.integers(1, 3, 200)
row = np.concatenate([np.arange(400), np.arange(200)])
who = np.concatenate([first, (first[:200] + second) % 3])
wrong = rng.random(600) < np.array(list(errs.values()))[who]
said = np.where(wrong, 1 - truth[row], truth[row])
answers = Answers(row, who, said, np.full(n, -1), tuple(errs), np.arange(2))
model = fit_reviewers(answers, observed, random_state=0)
model.frame().round(3)

# %%
# How often each errs, from their disagreements alone, and how many of their answers were wrong.
figure, ax = plt.subplots(layout="constrained", figsize=(6.4, 2.8))
for i, one in enumerate(model.errors):
    reach = [[one.error - one.low], [one.high - one.error]]
    ax.errorbar(one.error, i, xerr=reach, fmt="o", color="tab:blue", markersize=7)
    ax.plot(wrong[who == i].mean(), i + 0.18, "|", color="black", markersize=15, markeredgewidth=2)
ax.set_yticks(range(3), list(errs))
ax.set(xlabel="answers that are wrong: estimate with interval; counted (bar)", ylim=(2.6, -0.6))
plt.show()

# %%
# Labels as probabilities against the first answer taken as right: the noise rate and the model,
# beside the share that is wrong in truth.
told = np.full(n, np.nan)
told[:400] = said[:400]
print(f"wrong in truth: {np.mean(observed != truth):.3f}")
for name, y_true in (("first answer", told), ("probabilities", model.shares)):
    clf = NoisyLabelClassifier("joint_linear", random_state=0)
    clf.fit(X[:2000], observed[:2000], y_true=y_true[:2000])
    area = auroc(truth[2000:], clf.predict_proba(X[2000:])[:, 1])
    (rate,) = clf.noise_rates_.values()
    print(f"{name}: noise rate {rate:.3f}, AUROC {area:.3f}")
