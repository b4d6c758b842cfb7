"""Methods and ranges by name, and as the typed data that a recipe holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import msgspec

from alignset.engine import draw_configs
from alignset.engine.search import Variant, variants_of
from alignset.methods import Method
from alignset.methods.registry import METHODS
from alignset.methods.space import from_plain, to_plain
from alignset.study.recipe import MethodSpec, RangeSpec, Recipe


def method_classes() -> dict[str, type[Method]]:
    """Class name -> class, for every method that the library exports."""
    return {method.__name__: method for method in METHODS.values()}


def describe_method(method: Method, *, fully_reviewed: bool = False) -> MethodSpec:
    """Return the class, version and every field of a method."""
    return MethodSpec(
        class_=type(method).__name__,
        version=method.version,
        fields=asdict(method),
        fully_reviewed=fully_reviewed,
    )


def build_method(spec: MethodSpec) -> Method:
    """Make the method that :func:`describe_method` described."""
    return method_classes()[spec.class_].make(spec.fields)


def describe_space(class_name: str) -> dict[str, RangeSpec]:
    """Return the ranges that a method's class searches by default."""
    space = method_classes()[class_name].search_space()
    return {name: msgspec.convert(to_plain(values), RangeSpec) for name, values in space.items()}


def build_range(spec: RangeSpec) -> Any:
    """Make the range that a spec describes."""
    return from_plain(msgspec.to_builtins(spec))


def draw_variants(recipe: Recipe) -> list[Variant]:
    """Draw a recipe's configs: as many as it asks for, with some hyperparameters fixed."""
    how = recipe.search
    space = {k: build_range(v) for k, v in how.space.items() if k not in how.fixed}
    drawn = draw_configs(space, how.configs, how.seed)
    return variants_of(build_method(recipe.method), [{**config, **how.fixed} for config in drawn])
