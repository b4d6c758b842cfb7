"""
A threshold, and what it does to whom
=====================================

One threshold for all finds a different share of the ill in each group; a threshold for each evens
that out and flags other shares. Both are chosen from reviewed rows, helped by the labels of the
others, and told with intervals. Which is right is not for a program to decide.
"""

import matplotlib.pyplot as plt
import numpy as np

from alignset.evaluate import choose_threshold

rng = np.random.default_rng(0)
n = 4000
sex = rng.choice(["women", "men"], n)
truth = (rng.random(n) < 0.25).astype(int)
strength = np.where(sex == "women", 0.8, 1.6)  # the score knows less about women
score = 1 / (1 + np.exp(1.5 - strength * (2 * truth - 0.5) - rng.normal(size=n)))
y = np.where((truth == 1) & (rng.random(n) < 0.2), 0, truth)
y_true = np.where(rng.random(n) < 0.15, truth, np.nan)

figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.6), sharey=True, layout="constrained")
for ax, per_group in zip(axes, (False, True), strict=True):
    chosen = choose_threshold(
        "tpr", 0.8, score, y, y_true, groups=sex, per_group=per_group, random_state=0
    )
    for i, rate in enumerate(("tpr", "fpr", "flagged")):
        for j, group in enumerate(("women", "men")):
            one = chosen.rates[rate].by_group[group]
            ax.errorbar(
                i + 0.2 * j - 0.1,
                one.estimate,
                fmt="os"[j],
                color=("tab:blue", "tab:orange")[j],
                yerr=[[one.estimate - one.low], [one.high - one.estimate]],
                label=group if i == 0 else None,
            )
    ax.axhline(0.8, color="grey", linewidth=0.8, linestyle="--")
    ax.set_xticks(range(3), ["found (TPR)", "false alarms (FPR)", "flagged"])
    ax.set_title("one for each group" if per_group else "one threshold for all")
    ax.set(xlim=(-0.5, 2.5), ylim=(0, 1))
axes[0].legend(frameon=False)
plt.show()
