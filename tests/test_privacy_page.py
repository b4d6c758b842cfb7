"""The page on privacy names every file that a model folder may hold."""

from pathlib import Path

from model.blends import fitted

from alignset.learners import Blend

PAGE = (Path(__file__).parents[1] / "docs" / "privacy.md").read_text(encoding="utf-8")


def test_every_file_of_a_model_folder_is_on_the_page(tmp_path):
    clf = fitted(Blend(("observed",), ("linear",), network=None, folds=2))
    clf.save(tmp_path / "m")
    written = {path.name for path in (tmp_path / "m").iterdir()}
    assert {"manifest.json", "weights.safetensors"} <= written
    for name in written | {"evaluation.json", "profile.json"}:
        assert f"`{name}`" in PAGE


def test_every_command_that_writes_rows_is_on_the_page():
    for command in ("sample", "join", "review", "disputes", "audit", "predict", "report", "fit"):
        assert f"`{command}" in PAGE
