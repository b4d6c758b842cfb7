"""One word, one meaning: no two public classes or functions of the package share a name."""

import ast
from pathlib import Path

import alignset

ROOT = Path(alignset.__file__).parent

ALLOWED: dict[str, str] = {}


def public_definitions(source):
    """Names a module defines for others: its classes, and what its ``__all__`` lists."""
    tree = ast.parse(source)
    defined = {
        node.name: node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    return {name: type(node) for name, node in defined.items() if not name.startswith("_")}
