import inspect
import pkgutil
import re
from dataclasses import asdict, dataclass, fields
from importlib import import_module

import pytest

import alignset.methods
from alignset.methods import GJS, JS, Method, Standard, registry
from alignset.methods.base import Method as Base
from alignset.methods.registry import (
    METHODS,
    REFERENCES,
    SIMPLE,
    describe,
    get_method,
    papers_of,
)

KNOWN = {name for name in vars(Base) if not name.startswith("_")} | set(Base.__annotations__)


def concrete(things):
    return [
        m for m in things
        if inspect.isclass(m) and issubclass(m, Method) and not inspect.isabstract(m)
    ]  # fmt: skip


def exported():
    return concrete(getattr(alignset.methods, name) for name in alignset.methods.__all__)


def defined():
    """Every concrete method of a module of the folder, however it is named."""
    for module in pkgutil.iter_modules(alignset.methods.__path__):
        loaded = import_module(f"alignset.methods.{module.name}")
        for method in concrete(vars(loaded).values()):
            if method.__module__ == loaded.__name__:
                yield method


def test_every_method_of_the_folder_is_registered_and_exported():
    assert set(defined()) == set(METHODS.values()) == set(exported())
    assert [m.order for m in METHODS.values()] == sorted(m.order for m in METHODS.values())
    assert list(METHODS)[:5] == [
        "alignment",
        "joint",
        "standard",
        "standard_plus",
        "alignment_only",
    ]


@pytest.mark.parametrize("method", exported())
def test_every_exported_method_says_what_it_is(method):
    assert METHODS[method.name] is method
    assert "name" in vars(method), "it goes by the name of the method it derives from"
    assert {method.reference, *method.also} <= set(REFERENCES)
    assert method.title
    assert method.assumes
    assert not method.assumes.endswith(".")
    assert set(method.space) <= set(method.hyperparameters())
    assert set(method.limits) <= {f.name for f in fields(method)}
    assert not {f.name for f in fields(method)} & (KNOWN - {"lr", "l2"}), "an attribute has a type"
    assert set(method.predicting) <= set(method().networks(3, 2))


@pytest.mark.parametrize("method", exported())
def test_a_method_is_made_again_from_plain_settings(method):
    assert method.make(asdict(method())) == method()
    assert isinstance(method.make({"lr": 1}).lr, float)
    with pytest.raises(TypeError, match="gama"):
        method.make({"gama": 1.0})


def test_a_setting_made_of_settings_is_made_from_some_of_them():
    assert GJS.make({"perturbation": {"swap": 0.2}}).perturbation.swap == 0.2
    assert GJS.make({"perturbation": {"swap": 0.2}}).perturbation.noise == 0.1
    with pytest.raises(TypeError):
        GJS.make({"perturbation": 3})


def test_the_simple_ones_come_simplest_first():
    assert SIMPLE == ("standard", "alignment_only", "standard_plus")


def test_two_methods_of_one_name_are_told_apart(monkeypatch):
    @dataclass(frozen=True)
    class Copied(Standard):
        name = "standard"

    monkeypatch.setattr(import_module("alignset.methods.elr"), "Copied", Copied, raising=False)
    with pytest.raises(ValueError, match="Copied and Standard are both named 'standard'"):
        registry._find()


def test_a_paper_that_is_not_in_the_file_is_named(monkeypatch):
    monkeypatch.setattr(Standard, "reference", "nobody1900")
    with pytest.raises(ValueError, match=r"Standard cites 'nobody1900', .* references.bib; add"):
        describe("standard")


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
    assert get_method("js") is JS
    assert asdict(JS()) == asdict(GJS(n_views=1))


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
    entry = REFERENCES[key].text
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
