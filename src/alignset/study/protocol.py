"""A protocol: what all experiments of a study share, read from a table in a TOML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import msgspec

from alignset.data.nhanes_tasks import DEFAULT
from alignset.methods import Method
from alignset.methods.registry import METHODS
from alignset.study.datasets import FEATURES, GENERATED
from alignset.study.methods import describe_method, method_classes
from alignset.study.recipe import (
    DataSpec,
    Fitting,
    MethodSpec,
    NoiseSpec,
    ReviewSpec,
    SourceSpec,
    Spec,
    StoppingSpec,
    TrainingSpec,
    Whole,
)
from alignset.study.toml import as_table, convert, read_toml, show

_KEYS: dict[str, tuple[Any, Sequence[str]]] = {
    "rows": (5000, list(GENERATED)),
    "features": ("paper", list(FEATURES)),
    "n_train": (1000, ["adult"]),
    "task": (DEFAULT, ["nhanes"]),
}
"""Key that only some sources have -> its default, and the sources that have it."""


class DatasetSpec(SourceSpec, frozen=True, kw_only=True):
    """A data set, the hidden width for it, and noise and review unless the experiment sets them."""

    hidden: Whole
    noise: NoiseSpec = NoiseSpec()
    review: ReviewSpec = ReviewSpec()

    def __post_init__(self) -> None:
        for key, (_, sources) in _KEYS.items():
            if getattr(self, key) is not None and self.source not in sources:
                raise ValueError(f"has no key {key!r}; only {', '.join(sources)} take it.")
        known = FEATURES.get(self.source, {})
        if self.features is not None and self.features not in known:
            raise ValueError(
                f"features must be one of {', '.join(known)}, got {show(self.features)}."
            )

    def data(self, content: str) -> DataSpec:
        """Return which table it is, with defaults filled in."""
        given = {
            key: getattr(self, key) or default
            for key, (default, sources) in _KEYS.items()
            if self.source in sources
        }
        if given.get("task") == DEFAULT:
            given["task"] = None  # so that results from before there were tasks keep their key
        return DataSpec(source=self.source, content=content, **given)


class Entry(Spec, frozen=True, kw_only=True):
    """A method of a protocol, how to fit it, and its own stopping rule, if it has one."""

    method: MethodSpec
    fitting: Fitting = Fitting()
    stopping: StoppingSpec | None = None


class MethodTable(Spec, frozen=True, kw_only=True, rename={"class_": "class"}):
    """What a method's table holds besides how to fit it and the settings of its class."""

    class_: str
    fully_reviewed: bool = False
    stopping: StoppingSpec | None = None


class Rules(Spec, frozen=True, kw_only=True):
    """What a protocol decides: how data sets are drawn and methods are trained.

    With ``redraw`` replications redraw data and noise, otherwise only the split. With a "shared"
    ``search`` all of them try the same configs. ``noise`` and ``review`` are defaults that an
    experiment may override.
    """

    redraw: bool = True
    search: Literal["shared", "own"] = "shared"
    trainer: TrainingSpec = TrainingSpec()
    noise: NoiseSpec = NoiseSpec()
    review: ReviewSpec = ReviewSpec()
    datasets: dict[str, DatasetSpec] = msgspec.field(default_factory=dict)
    methods: dict[str, Entry] = msgspec.field(default_factory=dict)


class Protocol(Rules, frozen=True, kw_only=True):
    """The rules of one named protocol in a file."""

    name: str
    file: Path

    def method(self, name: str) -> Entry:
        """Return a method by its name in this protocol, or else by its name in the library."""
        if name in self.methods:
            return self.methods[name]
        if name not in METHODS:
            accepted = ", ".join(sorted({*self.methods, *METHODS}))
            raise ValueError(f"no method {name!r}; there are {accepted}.")
        return Entry(method=describe_method(METHODS[name]()))


def read_protocol(path: Path, name: str) -> Protocol:
    """Read the protocol ``name`` from a file; every top-level table is a protocol."""
    top = read_toml(path)
    if name not in top:
        raise ValueError(f"{path} has no protocol {show(name)}; it has {', '.join(top)}.")
    own = dict(as_table(top[name], path, name))
    tables = convert(own.pop("methods", {}), dict[str, dict[str, Any]], path, name)
    rules = convert(own, Rules, path, name)
    methods = {key: _read_method(t, path, f"{name}.methods.{key}") for key, t in tables.items()}
    given = {**msgspec.structs.asdict(rules), "methods": methods}
    return Protocol(**given, name=name, file=path)


def _read_method(table: dict[str, Any], path: Path, name: str) -> Entry:
    """Read a method; keys that do not belong to the protocol are settings of its class."""
    parts: dict[type, dict[str, Any]] = {MethodTable: {}, Fitting: {}, Method: {}}
    for key, value in table.items():
        home = (k for k in (MethodTable, Fitting) if key in k.__struct_encode_fields__)
        parts[next(home, Method)][key] = value
    said = convert(parts[MethodTable], MethodTable, path, name)
    classes = method_classes()
    where = f"{path}: [{name}]"
    if said.class_ not in classes:
        known = ", ".join(sorted(classes))
        raise ValueError(f"{where} class must be one of {known}, got {show(said.class_)}.")
    kind = classes[said.class_]
    known = ", ".join(sorted(field.name for field in fields(kind)))
    for key in parts[Method]:
        if key not in known.split(", "):
            raise ValueError(f"{where} {said.class_} has no setting {key!r}; it has {known}.")
    if said.fully_reviewed and parts[Fitting]:
        raise ValueError(f"{where} clean labels take no {min(parts[Fitting])}.")
    method = convert(parts[Method], kind, path, name)
    return Entry(
        method=describe_method(method, fully_reviewed=said.fully_reviewed),
        fitting=convert(parts[Fitting], Fitting, path, name),
        stopping=said.stopping,
    )
