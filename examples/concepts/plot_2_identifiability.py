"""
What can be known, and from what
================================

A quantity is identified if the data, were there enough of them, leave one value for it. From
observed labels alone the noise rate is not: a world in which few are ill and labels are right,
and one in which many are ill and are missed, can give the same table, row for row. More rows do not
help, nor does a better model. Something must be assumed, or somebody must look.

Reviewed rows end this. Drawn with known probability, they identify the noise rate in every group,
without any model; and with a model of who is mislabelled, the truth of each kind of person.
"""

import matplotlib.pyplot as plt
import numpy as np

# %%
# Let a share of 0.20 of all have a positive label, and let labels only ever miss people. Every pair
# on the line, how many are ill and how many of them are missed, gives exactly this table: its
# likelihood is the same along the line. ``n`` reviewed rows cut a piece out of it.
ill = np.linspace(0.2, 0.6, 200)
missed = 1 - 0.2 / ill
true_ill = 0.35
figure, ax = plt.subplots(layout="constrained")
ax.plot(ill, missed, color="black", linewidth=1.5, label="all fit 10 million unreviewed rows")
rng = np.random.default_rng(0)
for n, width, colour in ((30, 9, "#a6cee3"), (100, 6, "#1f78b4"), (1000, 3.5, "#d55e00")):
    # of the rows with a negative label, how many turn out to be ill?
    share = (true_ill - 0.2) / 0.8
    found = rng.binomial(n, share)
    grid = (ill - 0.2) / 0.8  # the same share, as it would be at every point of the line
    with np.errstate(divide="ignore"):
        loglik = found * np.log(grid) + (n - found) * np.log1p(-grid)
    inside = loglik > loglik.max() - 1.92  # a 95 % interval of the likelihood
    ax.plot(
        ill[inside],
        missed[inside],
        color=colour,
        linewidth=width,
        alpha=0.9,
        solid_capstyle="round",
        label=f"left by {n} reviewed negatives",
    )
ax.plot(true_ill, 1 - 0.2 / true_ill, "k*", markersize=13, label="the truth")
ax.set(xlabel="share of people who are ill", ylabel="share of the ill who are missed")
ax.legend(frameon=False)
plt.show()

# %%
# What each method assumes in place of a review is in ``alignset methods``: that errors depend on
# the class alone, that the best models agree, that wrong labels are hard to learn. The joint model
# assumes the form of two models and checks itself on reviewed rows; where it cannot tell "ill and
# missed" from "well", classes may change places, which is tested for and warned about
# (``LabelSwitchWarning``). In a group that nobody reviewed nothing is identified: its noise rate is
# reported as not known.
