"""Methods and ranges by name, and as the plain data a recipe holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from alignset.engine import draw_configs
from alignset.engine.search import Variant, variants_of
from alignset.methods import Method
from alignset.methods.registry import METHODS
from alignset.methods.space import from_plain, to_plain

Plain = dict[str, Any]


def method_classes() -> dict[str, type[Method]]:
    """Class name -> class, of every method the library exports."""
    return {method.__name__: method for method in METHODS.values()}


def describe_method(name: str, settings: Mapping[str, Any], *, fully_reviewed: bool) -> Plain:
    """Return a method as plain data.

    Parameters
    ----------
    name : str
        Class name.
    settings : mapping
        Fields that differ from the class's own.
    fully_reviewed : bool
        Train on the problem with every label reviewed: the clean-label bound.
    """
    kind = method_classes()[name]
    known = {f.name for f in fields(kind)}
    for key in settings:
        if key not in known:
            raise ValueError(f"{name} has no setting {key!r}; it has {', '.join(sorted(known))}.")
    return describe_made(kind.make(settings), fully_reviewed=fully_reviewed)


def describe_made(method: Method, *, fully_reviewed: bool = False) -> Plain:
    """Return class, version and every field of a method as plain data."""
    return {
        "class": type(method).__name__,
        "version": method.version,
        "fields": asdict(method),
        "fully_reviewed": fully_reviewed,
    }


def build_method(plain: Mapping[str, Any], changes: Mapping[str, Any]) -> Method:
    """Make the method that :func:`describe_method` described, some fields changed."""
    return method_classes()[plain["class"]].make({**plain["fields"], **changes})


def describe_space(class_name: str) -> Plain:
    """Return the ranges a method's class searches by default, as plain data."""
    space = method_classes()[class_name].search_space()
    return {name: to_plain(values) for name, values in space.items()}


def draw_variants(recipe: Mapping[str, Any]) -> list[Variant]:
    """Draw a recipe's configs: as many as it asks for, some hyperparameters fixed."""
    how, plain = recipe["search"], recipe["method"]
    space = {k: from_plain(v) for k, v in how["space"].items() if k not in how["fixed"]}
    drawn = draw_configs(space, how["configs"], how["seed"])
    return variants_of(build_method(plain, {}), [{**config, **how["fixed"]} for config in drawn])
