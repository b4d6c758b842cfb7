"""What the README shows runs as it is written."""

import inspect
import re
from pathlib import Path

import pytest
import sklearn

import alignset

README = Path(__file__).parent.parent / "README.md"
GLOSSARY = README.parent / "docs/glossary.md"
HOUSE_WORDS = (
    *("observed", "true", "reviewed", "group", "problem", "config", "replica", "stage", "step"),
)


@pytest.mark.slow
def test_the_readme_example_runs_and_finds_the_noisier_group():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 1
    names: dict = {}
    exec(compile(blocks[0], str(README), "exec"), names)
    rates = names["clf"].noise_rates_
    assert rates[1] > rates[0]


@pytest.mark.filterwarnings("ignore::alignset.labels.FewReviewedWarning")
def test_the_page_on_scikit_learn_runs():
    page = README.parent / "docs/scikit-learn.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 8
    names: dict = {}
    before = sklearn.get_config()
    try:
        for block in blocks:
            exec(compile(block, str(page), "exec"), names)
    finally:
        sklearn.set_config(**before)
    assert names["search"].best_params_["method"] != "observed_linear"
    wrong = names["true"] != names["y"]
    assert names["doubt"][wrong].mean() > names["doubt"][~wrong].mean()


@pytest.mark.slow
def test_the_first_program_of_the_site_runs_and_draws_two_pictures(tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    page = README.parent / "docs/start.md"
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    with matplotlib.rc_context({"backend": "agg"}):
        exec(compile(block, str(page), "exec"), names)
        names["plt"].close("all")
    assert (tmp_path / "first.png").stat().st_size > 10_000
    rates = names["clf"].noise_rates_
    assert rates["minority"] > rates["majority"] + 0.1


def test_the_readme_has_no_placeholder():
    text = README.read_text(encoding="utf-8")
    assert not re.search(r"\b(TODO|MEASURED|DEMO_TABLE|TBD)\b", text)


def test_every_file_the_readme_links_to_is_there():
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", README.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (README.parent / target).exists(), target


def defined_words():
    """First column of every table of the glossary, several words of a row apart."""
    cells = re.findall(r"^\| ([^|]+) \|", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    return [word.strip(" *`") for cell in cells for word in cell.split(",")]


@pytest.mark.parametrize("word", HOUSE_WORDS)
def test_every_house_word_is_defined_once(word):
    assert defined_words().count(word) == 1


def test_every_public_class_is_in_the_glossary():
    nouns = {name for name in alignset.__all__ if inspect.isclass(getattr(alignset, name))}
    text = GLOSSARY.read_text(encoding="utf-8")
    assert {name for name in nouns if f"`{name}`" not in text} == set()


def test_the_readme_leads_to_the_glossary():
    assert "(docs/glossary.md)" in README.read_text(encoding="utf-8")
