"""Computing without gradients, for functions that are defined before torch is imported."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from alignset.extras import torch

P = ParamSpec("P")
R = TypeVar("R")


def without_gradient(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function as ``torch.no_grad()`` would, once it is called."""

    @wraps(function)
    def run(*args: P.args, **named: P.kwargs) -> R:
        with torch.no_grad():
            return function(*args, **named)

    return run
