"""One word, one meaning: no two public classes or functions of the package share a name."""

import ast
import importlib
import pkgutil
from collections import defaultdict
from pathlib import Path

import alignset

ROOT = Path(alignset.__file__).parent

ALLOWED = {
    # replicas in training, and the settings of an experiment
    "Grid": "stack.grid, study.spec",
    # a stack of like problems, and what a column holds
    "Kind": "engine.rows, tables.kinds",
    "kind_of": "engine.train, tables.kinds",
    # one number per replica or one float, and a column of numbers
    "Number": "evaluate.ranked, tables.preprocess",
    # how replicas are trained, and how a cell is computed
    "Recipe": "engine.train, study.recipe",
    # of early stopping, and of a claim
    "State": "engine.stopping, study.rules",
    # an objective of a stage, and one update of the weights by a kernel
    "Step": "methods.base, stack.kernels",
    # on reviewed rows, and on a claim
    "Verdict": "review.verdict, study.claims",
}
"""Names that still mean two things -> where; to be emptied, and nothing is to be added."""


def definitions(source):
    """Public classes, functions and type aliases at the top of a module; True for a class."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found[node.name] = isinstance(node, ast.ClassDef)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name[0].isupper() and not name.isupper():
                found[name] = False
    return {name: is_class for name, is_class in found.items() if not name.startswith("_")}


def doubles(sources, exported):
    """Name -> modules that define it, for exported names and classes defined more than once."""
    where, classes = defaultdict(list), set()
    for module, source in sources.items():
        for name, is_class in definitions(source).items():
            where[name].append(module)
            classes |= {name} if is_class else set()
    public = classes | set(exported)
    return {n: ", ".join(sorted(m)) for n, m in where.items() if n in public and len(m) > 1}


def exported_names():
    packages = (m.name for m in pkgutil.iter_modules(alignset.__path__, "alignset.") if m.ispkg)
    modules = map(importlib.import_module, ("alignset", *packages))
    return {name for module in modules for name in getattr(module, "__all__", ())}


def package_sources():
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text(encoding="utf-8")
        for path in sorted(ROOT.rglob("*.py"))
    }


def test_no_two_public_names_mean_different_things():
    found = doubles(package_sources(), exported_names())
    assert {name: place for name, place in found.items() if name not in ALLOWED} == {}


def test_a_name_that_means_one_thing_now_is_off_the_list():
    assert set(ALLOWED) <= set(doubles(package_sources(), exported_names()))


def test_a_word_with_two_meanings_is_caught():
    sources = {"a": "class Verdict: ...\ndef split(): ...", "b": "class Verdict: ..."}
    assert doubles(sources, []) == {"Verdict": "a, b"}
    assert doubles({"a": "def split(): ...", "b": "def split(): ..."}, []) == {}
    assert doubles({"a": "def split(): ...", "b": "def split(): ..."}, ["split"]) == {
        "split": "a, b"
    }
    assert doubles({"a": "class Kind: ...", "b": "Kind = str"}, []) == {"Kind": "a, b"}
    assert doubles({"a": "class _Own: ...", "b": "class _Own: ..."}, []) == {}
