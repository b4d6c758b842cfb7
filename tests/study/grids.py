"""Tiny experiments on disk that the tests of the runner train."""

from __future__ import annotations

from pathlib import Path

from alignset.study import load_experiment
from alignset.study.recipe import DataSpec, MethodSpec, Recipe

RULES = """
[tiny]
trainer = { max_epochs = 3, n_batches = 2, stopping = { rule = "patience", epochs = 2 } }
[tiny.datasets]
toy = { source = "synthetic", rows = 400, hidden = 4 }
[tiny.methods]
clean = { class = "Standard", fully_reviewed = true }
standard = { class = "Standard" }
proposed = { class = "Alignment" }
"""

SPEC = """
title    = "A tiny grid"
name     = "tiny"
protocol = "rules.toml#tiny"
datasets = ["toy"]
methods  = ["standard", "proposed"]
seeds    = 2
configs  = 2
[review]
share = 0.3
[vary]
name = "rate"
x    = [0.2, 0.4]
"noise.rate" = [[0.1, 0.2], [0.2, 0.4]]
"""


def plain_recipe(**parts):
    """A recipe of which a test says only what it needs."""
    needed = {"data": DataSpec(source="synthetic"), "method": MethodSpec(class_="Standard")}
    return Recipe(**{**needed, **parts})


def write_grid(folder: Path, spec: str = SPEC, rules: str = RULES) -> Path:
    """Write a spec and its protocol; return the spec's path."""
    (folder / "rules.toml").write_text(rules)
    path = folder / "tiny.toml"
    path.write_text(spec)
    return path


def load_grid(folder: Path, spec: str = SPEC, rules: str = RULES):
    """Write a spec and read it."""
    return load_experiment(write_grid(folder, spec, rules))


def results(store):
    """The table without what differs from run to run."""
    return store.frame().drop(columns=["seconds", "created"])
