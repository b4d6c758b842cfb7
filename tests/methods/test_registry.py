import inspect
import re

import pytest

import alignset.methods
from alignset.methods import GJS, Method
from alignset.methods.references import REFERENCES
from alignset.methods.registry import METHODS, describe, get_method, papers_of


def exported():
    things = [getattr(alignset.methods, name) for name in alignset.methods.__all__]
    return [
        m for m in things
        if inspect.isclass(m) and issubclass(m, Method) and not inspect.isabstract(m)
    ]  # fmt: skip


@pytest.mark.parametrize("method", exported())
def test_every_exported_method_is_registered_and_says_what_it_is(method):
    assert method in METHODS.values()
    assert method.reference in REFERENCES
    assert method.title
    assert method.assumes
    assert not method.assumes.endswith(".")
    assert set(method.space) <= set(method.hyperparameters())


@pytest.mark.parametrize("name", METHODS)
def test_every_name_makes_a_method(name):
    method = get_method(name)()
    assert isinstance(method, Method)
    about = describe(name)
    assert about.name == name
    assert (about.alignment == "needs") == method.needs_alignment
    assert (about.groups == "yes") == method.uses_groups


def test_titles_are_unique():
    titles = [describe(name).title for name in METHODS]
    assert len(set(titles)) == len(titles)
    assert describe("js").title == "JS"
    assert get_method("js")() == GJS(n_views=1)


def test_an_option_to_use_groups_is_told():
    assert describe("glc").groups == "option"
    assert describe("fair_gpl").groups == "yes"
    assert describe("forward").groups == "no"


@pytest.mark.parametrize("spelling", ["fair_gpl", "Fair-GPL", " fair gpl"])
def test_names_are_read_kindly(spelling):
    assert get_method(spelling) is METHODS["fair_gpl"]


def test_an_unknown_name_is_answered_with_a_guess():
    with pytest.raises(ValueError, match="no method 'co_teaching'; did you mean 'coteaching'"):
        get_method("co_teaching")
    with pytest.raises(ValueError, match=r"no method 'xyz'; there are alignment, joint, standard,"):
        get_method("xyz")
    with pytest.raises(ValueError, match="'clean' is not a method but Standard"):
        get_method("clean")


@pytest.mark.parametrize("key", REFERENCES)
def test_references_are_bibtex(key):
    entry = REFERENCES[key].bibtex()
    assert REFERENCES[key].key == key
    assert entry.startswith(f"@{REFERENCES[key].kind}{{{key},\n")
    assert entry.count("{") == entry.count("}")
    assert entry.isascii()
    fields = re.findall(r"^  (\w+) = \{.+\},?$", entry, flags=re.MULTILINE)
    where = "journal" if REFERENCES[key].kind == "article" else "booktitle"
    expected = ["author", "title", where, "year", "url"]
    assert fields == (expected if key != "alignset" else ["author", "title", "year"])


def test_years_are_those_of_the_keys_and_authors_are_short():
    for key, paper in REFERENCES.items():
        assert key == "alignset" or str(paper.year) in key
    assert REFERENCES["tjandra2023"].short == "Tjandra & Wiens"
    assert REFERENCES["alignset"].short == "The alignset developers"


def test_a_method_may_rest_on_two_papers():
    assert [paper.key for paper in papers_of("sln_filter")] == ["chen2021", "arpit2017"]
