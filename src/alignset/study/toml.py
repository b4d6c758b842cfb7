"""Read TOML as typed records: an error names the file, the key and what is accepted."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

T = TypeVar("T")

_PLAIN = {bool: "true or false", str: "a string", float: "a number", int: "a whole number"}


MOST_BYTES = 10_000_000
"""Larger files are not read: a grid takes a page."""


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; a syntax error names the file."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"{show(path)} has over {MOST_BYTES} bytes; it is no description.")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist; pass the path of a TOML file.") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not valid TOML: it is not UTF-8.") from None
    except RecursionError:
        raise ValueError(f"{path} is not valid TOML: it is nested too deeply.") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is not valid TOML: {error}.") from None
    except OSError as error:
        raise OSError(f"{show(path)} cannot be read: {error.strerror}.") from None


def as_table(value: Any, path: Path, name: str) -> dict[str, Any]:
    """Return what must be a table."""
    if not isinstance(value, dict):
        raise ValueError(f"{path}: {name} must be a table, got {show(value)}.")
    return value


def show(value: Any) -> str:
    """Return a value for an error: short, and nothing that a terminal would act on."""
    text = str(value) if isinstance(value, Path) else repr(value)
    text = text.encode("unicode_escape").decode("ascii") if not text.isprintable() else text
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


MOST_SHOWN = 120
"""Characters of a value that an error shows."""


def convert(values: Any, kind: type[T], file: Path, *place: str) -> T:
    """Make a record from a TOML table; ``place`` is its dotted name, or the names that lead to it.

    Examples
    --------
    >>> class Point(msgspec.Struct, forbid_unknown_fields=True):
    ...     x: float
    >>> convert({"x": 1}, Point, Path("a.toml"))
    Point(x=1.0)
    >>> convert({"x": "1"}, Point, Path("a.toml"), "place")
    Traceback (most recent call last):
        ...
    ValueError: a.toml: [place] x must be a number, got '1'.
    """
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{file}: {_explain(values, kind, place, str(error))}") from None


def _explain(value: Any, kind: Any, place: tuple[str, ...], said: str) -> str:
    """Say what is wrong with the innermost bad value; msgspec does not name the keys of a dict."""
    parts = _parts(kind, value)
    if parts is None:
        *table, key = place
        where = f"[{'.'.join(table)}] {key}" if table else key
        most = said.partition("<= ")[2].partition("`")[0].partition(" ")[0]
        above = f" and at most {most}" if most and isinstance(value, int) and value > 1 else ""
        return f"{where} must be {_accepted(kind)}{above}, got {show(value)}."
    for key, (part, _) in parts.items():
        if key in value:
            try:
                msgspec.convert(value[key], part)
            except msgspec.ValidationError as error:
                return _explain(value[key], part, (*place, key), str(error))
    where = f"[{'.'.join(place)}] " if place else ""
    for key, (_, required) in parts.items():
        if required and key not in value:
            return f"{where}{key} is missing; it has no default."
    for key in value:
        if key not in parts:
            takes = ", ".join(sorted(parts)) or "none"
            return f"{where or 'the file '}has no key {show(key)}; it takes {takes}."
    return where + said


def _parts(kind: Any, value: Any) -> dict[str, tuple[Any, bool]] | None:
    """Return a table's keys: their types and whether they are required; None if not a table."""
    if not isinstance(value, Mapping):
        return None
    if get_origin(kind) is dict:
        return dict.fromkeys(value, (get_args(kind)[1], False))
    kind, *others = _members(kind)
    if others:  # one key tells them apart
        field = kind.__struct_config__.tag_field
        tags = {k.__struct_config__.tag: k for k in (kind, *others)}
        own = _parts(tags[value[field]], value) if value.get(field) in tags else {}
        return {field: (Literal[tuple(tags)], True), **(own or {})}
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return {field.name: (hints[field.name], False) for field in dataclasses.fields(kind)}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return {f.encode_name: (f.type, f.required) for f in msgspec.structs.fields(kind)}
    return None


def _members(kind: Any) -> list[Any]:
    """Return what a type may be besides None, which TOML cannot express."""
    if get_origin(kind) in (Union, UnionType):
        return [member for member in get_args(kind) if member is not NoneType]
    return [kind]


def _accepted(kind: Any) -> str:
    kind = _members(kind)[0]
    if get_origin(kind) is Annotated:
        return str(next(m.description for m in get_args(kind)[1:] if m.description))
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    return _PLAIN.get(kind, "a table")
