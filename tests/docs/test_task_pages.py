"""The commands of the task pages run, in order, and print what the pages say."""

import re

import pytest
import task_pages
from test_tutorial import shape
from tutorial import read_steps

INDEX = (task_pages.TASKS / "index.md").read_text(encoding="utf-8")


def test_every_task_is_a_page_and_is_run():
    pages = {path.stem for path in task_pages.TASKS.glob("*.md")} - {"index"}
    assert pages == {*task_pages.ORDER, "add-a-method"}
    linked = re.findall(r"^\| \[[^]]+\]\(([\w-]+)\.md\)", INDEX, re.MULTILINE)
    assert [name for name in linked if name != "add-a-method"] == list(task_pages.ORDER)


@pytest.mark.parametrize("name", task_pages.ORDER)
def test_a_page_shows_what_was_printed(name):
    steps = read_steps((task_pages.TASKS / f"{name}.md").read_text(encoding="utf-8"))
    assert any(step.printed for step in steps)
    assert all(step.printed != "" for step in steps)


@pytest.mark.slow
@pytest.mark.long
def test_the_pages_run_in_order_and_print_tables_of_the_same_shape(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    for name in task_pages.ORDER[:-1]:  # rerunning the paper takes minutes: paper/ has its tests
        for step, outcome in task_pages.run_page(name, tmp_path):
            if step.printed is not None:
                assert shape(outcome.printed) == shape(step.printed), step.code
    assert (tmp_path / "report.html").stat().st_size > 0
