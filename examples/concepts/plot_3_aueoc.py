"""
What AUEOC rewards
==================

The area under the equalized odds curve asks, at every threshold, how far apart the true and the
false positive rates of the groups are: EO = 1 - (difference in TPR + difference in FPR) / 2,
averaged over thresholds. It is 1 if both groups meet the same error rates everywhere.

It says nothing about how *good* these rates are. A model that gives everybody the same probability
has the best AUEOC there is. That is why it is read together with AUROC, or as their harmonic mean,
which is high only if both are.
"""

import matplotlib.pyplot as plt
import numpy as np

from alignset import aueoc, auroc, harmonic_mean
from alignset.evaluate import equalized_odds

rng = np.random.default_rng(0)
n = 4000
group = rng.integers(0, 2, n)
truth = rng.integers(0, 2, n)
noise = rng.normal(size=n)


def logistic(x):
    return 1 / (1 + np.exp(-x))


scores = {
    "good for both": logistic(2.5 * (2 * truth - 1) + 1.5 * noise),
    "good for one group": logistic(2.5 * (2 * truth - 1) * (group == 0) + 1.5 * noise),
    "shifted in one group": logistic(2.5 * (2 * truth - 1) + 1.5 * noise + 2 * group),
    "useless for both": logistic(0.1 * noise),
}
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
tau = np.linspace(0, 1, 401)
for name, score in scores.items():
    area, even = auroc(truth, score), aueoc(truth, score, group)
    ax.plot(
        tau,
        equalized_odds(truth, score, group).at(tau),
        label=f"{name}: AUROC {area:.2f}, AUEOC {even:.2f}, HM {harmonic_mean(area, even):.2f}",
    )
ax.set(xlabel="threshold", ylabel="equalized odds at the threshold", ylim=(0.4, 1.02))
figure.legend(loc="outside lower center", frameon=False, fontsize=9)
plt.show()

# %%
# It depends on the scale of the scores: a score whose values crowd in one place is even at almost
# every threshold, whatever it does there. ``aueoc_over_fpr`` averages over false positive rates
# instead, which no change of scale can touch; use it to compare models whose scores mean different
# things. ``aueoc_released`` is what the code of the paper computes, made of precisions; it is there
# to compare with published numbers and for nothing else.
