"""Pages made from the code: every public name is on one, with an example."""

import inspect
import pkgutil

import pytest
import site_pages

import alignset
from alignset.cli import COMMANDS

NAMES = site_pages.public_names()


@pytest.mark.parametrize("each", [pytest.param(one, id=one.name) for one in NAMES])
def test_a_public_name_has_an_example_or_cannot_have_one(each):
    cannot = each.kind in ("data", "exception") or inspect.isabstract(each.thing)
    assert each.has_example or cannot


def test_every_name_of_every_package_is_there_once():
    ids = [id(each.thing) for each in NAMES]
    assert len(ids) == len(set(ids)) > 130
    listed = {each.name for each in NAMES}
    assert set(alignset.__all__) - {"__version__"} <= listed
    packages = {m.name for m in pkgutil.iter_modules(alignset.__path__) if m.ispkg}
    without_names = {"cli", "model"}
    pages = {page.partition(".")[2] for page in site_pages.by_page(NAMES)}
    assert pages - {""} == packages - without_names


def test_a_page_documents_its_names_and_their_own_members():
    clf = next(each for each in NAMES if each.name == "NoisyLabelClassifier")
    page = site_pages.api_page("alignset", [clf])
    assert "## NoisyLabelClassifier" in page
    assert ".. autoclass:: alignset.NoisyLabelClassifier" in page
    members = site_pages.own_members(clf.thing)
    assert {"fit", "predict", "predict_proba", "choose_threshold", "explain"} <= set(members)
    assert "set_fit_request" not in members


def test_the_table_shows_the_line_that_uses_the_name():
    (auroc,) = [each for each in NAMES if each.name == "auroc"]
    assert auroc.example.startswith("auroc(")
    assert f"`` {auroc.example} ``" in site_pages.names_page([auroc])


def test_every_command_is_on_the_page_of_commands():
    page = site_pages.commands_page()
    for name in COMMANDS:
        assert f"\n## alignset {name}\n" in page
    assert "### alignset data get" in page


def test_short_references_are_made_full_and_bars_stay_bars():
    text = "see :func:`split`, :meth:`fit`, :func:`other.name`; sum / |A|"
    found = site_pages.full_references(text, "alignset.X", {"split": "alignset.rows.split"})
    assert ":func:`~alignset.rows.split`" in found
    assert ":meth:`~alignset.X.fit`" in found
    assert ":func:`other.name`" in found
    assert r"\|A\|" in found
