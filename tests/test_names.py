"""One word, one meaning: no two public classes or functions of the package share a name."""

import ast
import importlib
import pkgutil
from collections import defaultdict
from pathlib import Path

import alignset

ROOT = Path(alignset.__file__).parent


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
    assert doubles(package_sources(), exported_names()) == {}


def test_a_word_with_two_meanings_is_caught():
    sources = {"a": "class Verdict: ...\ndef split(): ...", "b": "class Verdict: ..."}
    assert doubles(sources, []) == {"Verdict": "a, b"}
    assert doubles({"a": "def split(): ...", "b": "def split(): ..."}, []) == {}
    assert doubles({"a": "def split(): ...", "b": "def split(): ..."}, ["split"]) == {
        "split": "a, b"
    }
    assert doubles({"a": "class Kind: ...", "b": "Kind = str"}, []) == {"Kind": "a, b"}
    assert doubles({"a": "class _Own: ...", "b": "class _Own: ..."}, []) == {}
