"""What an installation may lack: which extra brings a package, and the one error that says so.

``torch`` here is torch, imported when it is first used: every module that computes with it takes it
from here. So everything can be imported, listed and described without torch, and commands that
train no network do not wait for it.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from alignset.interrupts import in_one_piece

__all__ = ["EXTRAS", "MissingExtraError", "how_to_add", "installed", "need", "torch"]

EXTRAS = {
    "cleanlab": "label",
    "distributed": "dask",
    "jinja2": "report",
    "matplotlib": "report",
    "msgspec": "study",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "openpyxl": "excel",
    "pooch": "data",
    "pyarrow": "parquet",
    "requests": "data",
    "skops": "skops",
    "torch": "network",
}
"""Package -> the extra that brings it, as in ``pyproject.toml``."""


class MissingExtraError(ImportError, ValueError):
    """Something was asked for that needs a package which is not installed."""


def installed(package: str) -> bool:
    """Tell whether a package can be imported, without importing it."""
    try:
        return find_spec(package) is not None
    except ImportError:  # whoever finds modules refuses to find this one
        return False


def how_to_add(package: str) -> str:
    """Return the command that installs a package with everything else it is needed with.

    Examples
    --------
    >>> how_to_add("torch")
    '`pip install "alignset[network]"`'
    """
    return f'`pip install "alignset[{EXTRAS[package]}]"`'


def need(what: str, *packages: str, otherwise: str = "") -> None:
    """Raise the error that names the extra, if one of the packages is not installed.

    Examples
    --------
    >>> need("training a network", "torch")
    """
    for package in packages:
        if not installed(package):
            raise MissingExtraError(
                f"{what} needs {package}, which is not installed; run {how_to_add(package)}"
                f"{otherwise}."
            )


class _Later(ModuleType):
    """A module that is imported when something in it is first asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # inspection must import nothing
            raise AttributeError(name)
        need("training or loading a network", self.__name__)
        with in_one_piece():
            found = getattr(import_module(self.__name__), name)
        setattr(self, name, found)  # the next time it is found without coming here
        return found


if TYPE_CHECKING:
    import torch as torch
else:
    torch = _Later("torch")
