"""
On a cluster
============

A study is a grid of cells; an engine computes them. ``Local`` uses the cores of this machine,
``Dask`` any machines that run its workers. Here the cluster is a scheduler and a worker on this
machine; only the address would be another one. Recipes are sent, no data.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from distributed import LocalCluster

from alignset.study import Dask, Store, load_experiment
from alignset.study.run import run

folder = Path(tempfile.mkdtemp())
(folder / "rules.toml").write_text("""
[small]
trainer = { max_epochs = 30, stopping = { rule = "patience", epochs = 5 } }
[small.datasets]
synthetic = { source = "synthetic", rows = 1500, hidden = 10 }
[small.methods]
standard = { class = "Standard" }
proposed = { class = "Alignment" }
""")
(folder / "small.toml").write_text("""
title    = "A small grid"
name     = "small"
protocol = "rules.toml#small"
datasets = ["synthetic"]
methods  = ["standard", "proposed"]
seeds    = 2
configs  = 3
[review]
share = 0.2
[vary]
name = "noise of the minority"
x    = [0.2, 0.4, 0.6]
"noise.rate" = [[0.1, 0.2], [0.2, 0.4], [0.4, 0.6]]
""")

# %%
# Twelve cells, each trained with three configs. A killed run goes on where it was.
grid, store = load_experiment(folder / "small.toml"), Store(folder / "small.sqlite")
options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
with LocalCluster(protocol="tcp", host="127.0.0.1", **options) as cluster:
    outcome = run(grid, store, engine=Dask(cluster.scheduler_address))
print(outcome)

# %%
# A store is a table. Two seeds and three configs of a small network say nothing about who wins;
# the results pages do.
found = store.frame()
figure, ax = plt.subplots(layout="constrained")
for method, part in found.groupby("method"):
    mean = part.groupby("x")["auroc"].mean()
    ax.plot(mean.index, mean, marker="o", label=method)
ax.set(xlabel="share of the minority's labels that are wrong", ylabel="AUROC, mean of 2 seeds")
ax.legend(frameon=False)
plt.show()
