"""Read a TOML table strictly: an error names the file, the key and what would be accepted."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; a syntax error names the file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist; pass the path of a TOML file.") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is not valid TOML: {error}.") from None


class Section:
    """One table of a TOML file, whose keys are taken one by one; :meth:`close` refuses the rest.

    Parameters
    ----------
    values : mapping
    file : path
        For messages.
    name : str, default=""
        Dotted name of the table; "" is the top of the file.
    """

    def __init__(self, values: Mapping[str, Any], file: Path, name: str = "") -> None:
        self.values, self.file, self.name = dict(values), file, name
        self.asked: list[str] = []

    def where(self, key: str) -> str:
        """Say where a key is: ``figure.toml: [noise] rate``."""
        return f"{self.file}: {f'[{self.name}] ' if self.name else ''}{key}"

    def refuse(self, key: str, accepted: str) -> ValueError:
        """Return the error for a value that is not accepted."""
        return ValueError(f"{self.where(key)} must be {accepted}, got {self.values[key]!r}.")

    def any(self, key: str, default: Any = ...) -> Any:
        """Return a value as it is; without a default the key is required."""
        self.asked.append(key)
        if key not in self.values and default is ...:
            raise ValueError(f"{self.where(key)} is missing; every file needs it.")
        return self.values.get(key, default)

    def text(self, key: str, default: Any = ..., *, among: Iterable[str] = ()) -> str:
        """Return a string, one of ``among`` if that is given."""
        value, accepted = self.any(key, default), list(among)
        if not isinstance(value, str) or (accepted and value not in accepted):
            raise self.refuse(key, f"one of {', '.join(accepted)}" if accepted else "a string")
        return value

    def texts(self, key: str, default: Any = ...) -> tuple[str, ...]:
        """Return one or more different strings."""
        value = self.any(key, default)
        fine = isinstance(value, list) and value and all(isinstance(v, str) for v in value)
        if not fine or len(set(value)) != len(value):
            raise self.refuse(key, "a list of different strings, at least one")
        return tuple(value)

    def whole(self, key: str, default: Any = ..., *, least: int = 1) -> int:
        """Return a whole number of at least ``least``."""
        value = self.any(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.refuse(key, f"a whole number of at least {least}")
        return value

    def flag(self, key: str, default: Any = ...) -> bool:
        """Return true or false."""
        value = self.any(key, default)
        if not isinstance(value, bool):
            raise self.refuse(key, "true or false")
        return value

    def share(self, key: str, default: Any = ...) -> Any:
        """Return a number in [0, 1], or one per group."""
        value = self.any(key, default)
        numbers = value if isinstance(value, list) and value else [value]
        if not all(is_number(v) and 0 <= v <= 1 for v in numbers):
            raise self.refuse(key, "a share in [0, 1], or one per group; write 0.1 for 10 %")
        return [float(v) for v in value] if isinstance(value, list) else float(value)

    def section(self, key: str) -> Section:
        """Return a table inside this one, empty if it is not there."""
        value = self.any(key, {})
        if not isinstance(value, dict):
            raise self.refuse(key, "a table")
        return Section(value, self.file, f"{self.name}.{key}".lstrip("."))

    def close(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self.values:
            if key not in self.asked:
                place = f"[{self.name}]" if self.name else "the file"
                known = ", ".join(sorted(set(self.asked))) or "none"
                raise ValueError(f"{self.file}: {place} has no key {key!r}; it takes {known}.")


def is_number(value: Any) -> bool:
    """Tell whether a TOML value is a number; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)
