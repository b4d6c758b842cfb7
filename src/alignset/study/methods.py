"""Methods and ranges by name, and as the plain data a recipe holds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from typing import Any

import alignset.methods as library
from alignset.engine import draw_configs
from alignset.engine.search import Variant, variants_of
from alignset.methods import Choice, LogUniform, Method, Uniform
from alignset.methods.space import Range

Plain = dict[str, Any]

_RANGES: dict[str, Callable[..., Range]] = {
    "log_uniform": LogUniform,
    "uniform": Uniform,
    "choice": lambda *values: Choice(values),
}


def method_classes() -> dict[str, type[Method]]:
    """Class name -> class, of every method the library exports."""
    exported = {name: getattr(library, name) for name in library.__all__}
    return {
        name: value
        for name, value in exported.items()
        if inspect.isclass(value) and issubclass(value, Method) and not inspect.isabstract(value)
    }


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
    return describe_made(_make(kind, settings), fully_reviewed=fully_reviewed)


def describe_made(method: Method, *, fully_reviewed: bool = False) -> Plain:
    """Return class, version and every field of a method as plain data."""
    return {
        "class": type(method).__name__,
        # a method whose algorithm changes says so: version: ClassVar[int] = 2
        "version": int(getattr(method, "version", 1)),
        "fields": asdict(method),
        "fully_reviewed": fully_reviewed,
    }


def build_method(plain: Mapping[str, Any], changes: Mapping[str, Any]) -> Method:
    """Make the method that :func:`describe_method` described, some fields changed."""
    return _make(method_classes()[plain["class"]], {**plain["fields"], **changes})


def _make(kind: type[Method], settings: Mapping[str, Any]) -> Method:
    ready = kind()
    values = {}
    for name, value in settings.items():
        own = getattr(ready, name)
        if is_dataclass(own) and not isinstance(own, type) and isinstance(value, Mapping):
            value = replace(own, **value)
        values[name] = float(value) if isinstance(own, float) else value
    return kind(**values)


def describe_space(class_name: str) -> Plain:
    """Return the ranges a method's class searches by default, as plain data."""
    space = method_classes()[class_name].search_space()
    return {name: _describe_range(values) for name, values in space.items()}


def _describe_range(values: Range) -> Plain:
    if isinstance(values, Choice):
        return {"choice": list(values.values)}
    kind = "log_uniform" if isinstance(values, LogUniform) else "uniform"
    return {kind: [values.low, values.high]}


def build_range(plain: Mapping[str, Any]) -> Range:
    """Make a range of ``{"log_uniform": [low, high]}``, ``{"uniform": ...}``, ``{"choice": ...}``.

    Examples
    --------
    >>> build_range({"log_uniform": [0.1, 10.0]})
    LogUniform(low=0.1, high=10.0)
    """
    accepted = "[low, high], {uniform = [low, high]} or {choice = [...]}"
    if len(plain) != 1 or next(iter(plain)) not in _RANGES:
        raise ValueError(f"a range must be {accepted}, got {dict(plain)}.")
    ((kind, values),) = plain.items()
    if kind != "choice" and len(values) != 2:
        raise ValueError(f"a range must be {accepted}, got {dict(plain)}.")
    return _RANGES[kind](*map(float, values))


def draw_variants(recipe: Mapping[str, Any]) -> list[Variant]:
    """Draw a recipe's configs: as many as it asks for, some hyperparameters fixed."""
    how, plain = recipe["search"], recipe["method"]
    space = {k: build_range(v) for k, v in how["space"].items() if k not in how["fixed"]}
    drawn = draw_configs(space, how["configs"], how["seed"])
    return variants_of(build_method(plain, {}), [{**config, **how["fixed"]} for config in drawn])
