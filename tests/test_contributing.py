"""CONTRIBUTING's worked example is a method: one file, and the whole library knows it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_architecture import global_randomness, long_functions, neighbouring_methods

import alignset

ROOT = Path(__file__).parent.parent
USE = """
import numpy as np
from problems import make_problem
from alignset import NoisyLabelClassifier, Trainer
from alignset.methods import Smoothed
from alignset.methods.registry import METHODS, describe, get_method
from alignset.study.methods import method_classes
import test_method_contract as promises

assert get_method("Smoothed") is METHODS["smoothed"] is Smoothed is method_classes()["Smoothed"]
assert list(METHODS)[-1] == "smoothed"
assert describe("smoothed").paper == "The alignset developers"
assert describe("smoothed").alignment == "takes"

fits = Trainer(hidden=4, max_epochs=2, n_jobs=1).fit(
    Smoothed(), [make_problem(60)], [{"smoothing": 0.0}, {"smoothing": 0.4}]
)
assert fits.score.shape == (1, 2) and fits.score.isfinite().all()

rng = np.random.default_rng(0)
X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
y_true = np.where(np.arange(80) < 40, y, np.nan)
clf = NoisyLabelClassifier(method=Smoothed(), n_configs=3, max_epochs=2, hidden=4, random_state=0)
clf.fit(X, y, y_true=y_true)
assert clf.predict_proba(X).shape == (80, 2)
assert len({config["smoothing"] for config in clf.search_results_["config"]}) == 3

promises.check_replicas_do_not_feel_their_neighbours(Smoothed())
promises.check_a_step_moves_exactly_the_networks_it_names(Smoothed())
try:
    Smoothed(smoothing=1.0)
except ValueError as error:
    print(error)
"""


def example():
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    return code


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A copy of the library with one more file, and how to run Python on it."""
    folder = tmp_path_factory.mktemp("library")
    package = folder / "alignset"
    shutil.copytree(
        Path(alignset.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    (package / "methods/smoothed.py").write_text(example(), encoding="utf-8")
    paths = os.pathsep.join([str(folder), str(ROOT / "tests")])

    def run(*argv):
        done = subprocess.run(
            [sys.executable, *argv],
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


@pytest.mark.slow
def test_a_method_of_one_file_trains_and_is_found_everywhere(library):
    said = "smoothing must lie in [0, 1), got 1.0; 0 is plain cross entropy.\n"
    assert library("-W", "error", "-c", USE) == said


@pytest.mark.slow
def test_the_command_line_lists_and_cites_a_method_of_one_file(library):
    main = "from alignset.cli import main; main(['methods']); main(['cite', 'smoothed'])"
    listed, _, cited = library("-c", main).partition("@")
    last = listed.splitlines()[-1]
    assert last.split()[0] == "smoothed"
    assert "same small probability" in last
    assert cited.startswith("software{alignset,")


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]])
def test_the_example_is_written_as_this_library_is(command):
    place = ["--no-cache", "--stdin-filename", "src/alignset/methods/smoothed.py", "-"]
    ruff = [sys.executable, "-m", "ruff", *command, *place]
    subprocess.run(ruff, cwd=ROOT, input=example(), text=True, check=True)


def test_the_example_passes_the_guards():
    for guard in (global_randomness, long_functions, neighbouring_methods):
        assert not guard("alignset.methods.smoothed", example())


def test_the_files_of_the_ten_changes_are_there():
    root = Path(__file__).parents[1]
    section = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = section.split("## Ten small changes")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| a")]
    assert len(rows) == 10
    for row in rows:
        main = row.split("; to use it")[0]
        named = re.findall(r"`((?:src|tests)/[^`]*)`", main)
        assert 1 <= len(named) <= 3, row
        assert all((root / name).exists() for name in re.findall(r"`((?:src|tests)/[^`]*)`", row))
        folders = {name.split("/")[2] for name in named if name.startswith("src")}
        assert len(folders) <= 2, row
