"""
A sparse table of codes
=======================

Health records are often thousands of codes of which a person has a few. Sparse matrices are taken
as they are, and stay sparse. Here the label is a rule that looks at billing codes, and a code that
only one hospital uses makes it fail there.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse

from alignset import NoisyLabelClassifier, auroc

rng = np.random.default_rng(0)
n, n_codes = 3000, 800
X = scipy.sparse.random(n, n_codes, density=0.01, random_state=rng, format="csr")
X.data[:] = 1.0
hospital = rng.choice(["A", "B"], n)
signs = np.asarray(X[:, :40].sum(axis=1)).ravel()
truth = (signs > 0).astype(float)
missed = rng.random(n) < np.where(hospital == "B", 0.5, 0.1)
y = np.where((truth == 1) & missed, 0, truth).astype(int)
y_true = np.where(rng.random(n) < 0.15, truth, np.nan)
train = np.arange(n) < 2000
print(f"{X.nnz} entries, {X.nnz / X.shape[0]:.0f} codes per person, of {n_codes}")

# %%
# The same learner on observed labels alone, and on a model of how they go wrong.
figure, ax = plt.subplots(layout="constrained")
for method, colour in (("observed_linear", "tab:orange"), ("rates_linear", "tab:blue")):
    clf = NoisyLabelClassifier(method, random_state=0)
    clf.fit(X[train], y[train], y_true=y_true[train], groups=hospital[train])
    p = clf.predict_proba(X[~train])[:, 1]
    area = auroc(truth[~train], p)
    ill = truth[~train] == 1
    ax.hist(
        p[ill],
        np.linspace(0, 1, 31),
        histtype="step",
        color=colour,
        linewidth=2,
        label=f"{method}, AUROC {area:.3f}",
    )
ax.set(xlabel="predicted probability of those who are ill", ylabel="people")
ax.legend(frameon=False)
plt.show()
