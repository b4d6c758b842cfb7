"""Search ranges by protocol, data set and method, read from a TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alignset.methods.space import from_plain
from alignset.study.section import Section, is_number, read_toml

EVERY_METHOD = "all"

Ranges = dict[str, dict[str, Any]]
"""Hyperparameter -> range as plain data."""


def read_spaces(path: Path, protocol: str, section: str) -> dict[str, Ranges]:
    """Read one table of ranges, ``[PROTOCOL.SECTION]``: method -> hyperparameter -> range.

    ``[low, high]`` is log-uniform, ``{uniform = [low, high]}`` and ``{choice = [...]}`` are what
    they say. The entry ``all`` holds for every method that does not say otherwise.
    """
    top = Section(read_toml(path), path)
    for part in (protocol, section):
        if part not in top.values:
            where = f"[{top.name}] of {path}" if top.name else str(path)
            raise ValueError(f"{where} has no table {part!r}; it has {', '.join(top.values)}.")
        top = top.section(part)
    return {
        method: {name: _read_range(table, name) for name in table.values}
        for method, table in ((m, top.section(m)) for m in top.values)
    }


def _read_range(table: Section, name: str) -> dict[str, Any]:
    value = table.values[name]
    plain = value if isinstance(value, dict) else {"log_uniform": value}
    numbers = next(iter(plain.values()), None)
    if not isinstance(numbers, list) or not all(is_number(v) for v in numbers):
        raise table.refuse(name, "[low, high], {uniform = [low, high]} or {choice = [...]}")
    plain = {kind: [float(v) for v in values] for kind, values in plain.items()}
    try:
        from_plain(plain)
    except ValueError as error:
        raise ValueError(f"{table.where(name)}: {error}") from None
    return plain


def ranges_of(spaces: Mapping[str, Ranges], method: str) -> Ranges:
    """Return the ranges of one method: its own before those of all."""
    return {**spaces.get(EVERY_METHOD, {}), **spaces.get(method, {})}
