"""Training needs nothing that only downloads, figures or reports need."""

import os
import subprocess
import sys
from pathlib import Path

import alignset

LEAN = """
import sys
from importlib.abc import MetaPathFinder


class Refuse(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {refused}:
            raise ImportError(f"{{name}} was asked for")


sys.meta_path.insert(0, Refuse())
from problems import make_problem

from alignset import NoisyLabelClassifier
from alignset.engine import Trainer
from alignset.methods import Standard

problem = make_problem(100)
fits = Trainer(hidden=4, max_epochs=2, n_jobs=1).fit(Standard(), [problem])
assert fits.probability(problem.validation.X).shape == (1, 36, 2)
rows = problem.train
model = NoisyLabelClassifier(Standard(), hidden=4, max_epochs=2, random_state=0)
model.fit(rows.X, rows.y_seen, y_true=[y if y >= 0 else None for y in rows.y_true])
assert model.predict_proba(rows.X).shape == (100, 2)
"""


def train(refused):
    here = [str(Path(alignset.__file__).parents[1]), str(Path(__file__).parents[1])]
    paths = os.pathsep.join([*here, os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", LEAN.format(refused=refused)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


def test_training_needs_no_downloads_figures_or_templates():
    done = train({"pooch", "requests", "matplotlib", "jinja2"})
    assert (done.returncode, done.stderr) == (0, "")


def test_a_package_that_training_does_need_is_missed():
    assert "numpy was asked for" in train({"numpy"}).stderr
