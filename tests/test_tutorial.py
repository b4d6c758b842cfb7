"""The tutorial's commands run, in order, and print what the page says they print."""

from __future__ import annotations

import io
import json
import os
import re

import pytest
import tour
import tutorial
from rich.console import Console

from alignset.cli import main
from alignset.data import cache


@pytest.fixture
def nhanes(tmp_path_factory, monkeypatch):
    """NHANES in the developer's cache, or fetched, or the test is skipped."""
    if all(found.state == "intact" for found in cache.inspect("nhanes")):
        return
    monkeypatch.setenv("ALIGNSET_DATA", os.fspath(tmp_path_factory.mktemp("data")))
    try:
        cache.get("nhanes")
    except FileNotFoundError as error:
        pytest.skip(str(error))


def shape(printed):
    """First word of every line of a table or about a file; numbers are alike."""
    words = [
        re.split(r"[\s,]+", line.strip())[0]
        for line in printed.splitlines()
        if re.search(r"\S  +\S|^\S+\.csv:|^[^\s,]+,", line)
    ]
    return [re.sub(r"^\d+$", "#", word) for word in words]


def test_blocks_are_read_in_order_with_what_they_print():
    page = "a\n```sh\nls\n```\nb\n```text\nold\n```\n```python\nprint()\n```\n"
    steps = tutorial.read_steps(page)
    assert steps == [tutorial.Step("sh", "ls\n", "old\n"), tutorial.Step("python", "print()\n")]
    assert tutorial.refresh(page, ["new\n"], 1) == page.replace("old", "new")


def test_a_step_that_fails_stops_the_page(tmp_path):
    steps = [
        tutorial.Step("sh", "ls nowhere | cat; touch after\n"),
        tutorial.Step("sh", "touch later\n"),
    ]
    with pytest.raises(RuntimeError, match="ls nowhere"):
        list(tutorial.run_steps(steps, tmp_path, show=lambda text: None))
    assert not list(tmp_path.iterdir())


def test_every_command_of_the_path_is_in_the_tutorial():
    code = "".join(
        step.code for step in tutorial.read_steps(tutorial.PAGE.read_text(encoding="utf-8"))
    )
    for command in (
        "plan",
        "sample",
        "review",
        "join",
        "disputes",
        "fit",
        "threshold",
        "report",
        "predict",
        "monitor",
        "audit",
    ):
        assert f"alignset {command} " in code


def test_the_page_shows_what_was_printed():
    page = tutorial.PAGE.read_text(encoding="utf-8")
    assert all(step.printed != "" for step in tutorial.read_steps(page))
    assert tutorial.TIME.search(page)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.network
def test_the_tutorial_runs_and_prints_tables_of_the_same_shape(nhanes, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    steps = [
        tutorial.Step(
            step.language,
            re.sub(r"--configs \d+", "--configs 1 --folds 2", step.code),
            step.printed,
        )
        for step in tutorial.read_steps(tutorial.PAGE.read_text(encoding="utf-8"))
    ]
    for step, outcome in tutorial.run_steps(steps, tmp_path, show=lambda text: None):
        if step.printed is not None:
            assert shape(outcome.printed) == shape(step.printed), step.code
    assert (tmp_path / "report.html").stat().st_size > 0
    # what `make demo` shows of it
    manifest = json.loads((tmp_path / "model" / "manifest.json").read_text())
    console = Console(record=True, width=120, file=io.StringIO())
    tour.show(manifest, console)
    assert "both_trees" in console.export_text()
    tour.draw(manifest["noise_rates"], tmp_path / "demo.png")
    assert (tmp_path / "demo.png").stat().st_size > 0


def test_a_data_set_without_observed_labels_is_not_written(tmp_path, capsys):
    out = tmp_path / "adult.csv"
    assert main(["data", "table", "adult", "-o", str(out)]) == 1
    assert capsys.readouterr().err == (
        "error: adult does not have its own observed labels; use nhanes.\n"
    )
    assert not out.exists()


def test_a_file_that_exists_is_not_written_over(tmp_path, capsys):
    old = tmp_path / "truth.csv"
    old.write_text("mine")
    new = tmp_path / "new.csv"
    assert main(["data", "table", "nhanes", "-o", str(new), "--truth", str(old)]) == 1
    assert "truth.csv" in capsys.readouterr().err
    assert old.read_text() == "mine"
    assert not new.exists()
