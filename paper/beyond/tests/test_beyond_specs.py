from pathlib import Path

import beyond
import pandas as pd

from alignset.study import load_experiments
from alignset.study.cells import expand

HERE = Path(__file__).parents[1]
DOCS = HERE.parents[1] / "docs/beyond"


def test_every_grid_is_part_of_the_whole_and_can_be_read():
    whole = load_experiments(HERE / "all.toml")
    named = {experiment.file.name for experiment in whole}
    others = {"all.toml", "protocols.toml", "spaces.toml"}
    assert named == {path.name for path in HERE.glob("*.toml")} - others
    synthetic = [e for e in whole if e.datasets == ("synthetic",)]
    assert all(expand(experiment)[0] for experiment in synthetic)


def test_the_page_is_what_the_tool_makes_of_its_files():
    text = (DOCS / "README.md").read_text(encoding="utf-8")
    assert beyond.page() == text, "run tools/beyond.py"


def test_the_page_has_a_number_for_every_method_of_every_grid():
    found = pd.read_csv(DOCS / "summary.csv")
    known = set(zip(found["dataset"], found["method"], found["x"].round(6), strict=True))
    for experiment in load_experiments(HERE / "all.toml"):
        suffix = "_by_likelihood" if experiment.protocol.name.endswith("by-likelihood") else ""
        for dataset in experiment.datasets:
            for method in experiment.methods:
                for setting in experiment.settings:
                    assert (dataset, method + suffix, round(setting.x, 6)) in known
