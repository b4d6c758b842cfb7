"""Where random search looks for a hyperparameter, and which values it accepts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from scipy.stats import loguniform, uniform

Space = Mapping[str, Any]
"""Hyperparameter -> a distribution, ``loguniform(1e-4, 1e-2)``, or a list of values: what
scikit-learn's ``RandomizedSearchCV`` takes."""

LISTS = (list, tuple, np.ndarray)
_PLAIN = {"loguniform": "log_uniform", "uniform": "uniform"}


def accepts(limit: str, value: float, *, end: bool = False) -> bool:
    """Tell whether a value lies within a limit; ``end`` says it is only approached, never reached.

    Examples
    --------
    >>> accepts("[0, 1)", 0.0), accepts("[0, 1); 0 is off", 1.0), accepts("[0, 1)", 1.0, end=True)
    (True, False, True)
    """
    interval = limit.partition(";")[0]
    low, high = map(float, interval[1:-1].split(","))
    at_low, at_high = value == low and interval[0] == "[", value == high and interval[-1] == "]"
    return low < value < high or at_low or at_high or (end and value in (low, high))


def refusal(name: str, limit: str, value: Any, *, of_range: bool = False) -> ValueError:
    """Return the error that says what a hyperparameter accepts, as a value or in a range."""
    interval, semicolon, advice = limit.partition(";")
    low, _, high = interval[1:-1].partition(", ")
    accepted = f"lie in {interval}"
    if high == "inf":
        accepted = f"be {low} or more" if interval[0] == "[" else f"be above {low}"
    if of_range:
        pass  # which has numbers only
    elif not isinstance(value, Real) or isinstance(value, bool):
        accepted, value = f"be a number, and {accepted}", repr(value)
    elif not math.isfinite(value):
        accepted = f"be finite, and {accepted}"
    return ValueError(f"{name} must {accepted}, got {value}{semicolon}{advice}.")


def check_space(space: Space, limits: Mapping[str, str]) -> None:
    """Refuse anything but a range, and ranges with values that ``limits`` does not accept."""
    for name, values in space.items():
        listed = isinstance(values, LISTS)
        try:
            ends = [float(end) for end in (values if listed else values.support())]
        except AttributeError:
            ends = []
        except (TypeError, ValueError):
            ends = [math.nan]
        if not ends:
            raise ValueError(
                f"the space of {name} must be a distribution such as scipy.stats.loguniform(1e-4, "
                f"1e-2) or a list of at least one value, got {values!r}."
            )
        shown = values if listed else _show(values)
        if any(map(math.isnan, ends)):
            raise ValueError(
                f"the space of {name} must hold numbers, got {shown}; loguniform takes 0 < low < "
                "high, and uniform a start and a width above 0."
            )
        limit = limits.get(name, "[-inf, inf]")
        if not all(accepts(limit, end, end=not listed) for end in ends):
            raise refusal(name, limit, shown, of_range=True)


def _show(frozen: Any) -> str:
    given = [*map(str, frozen.args), *(f"{k}={v}" for k, v in frozen.kwds.items())]
    return f"{frozen.dist.name}({', '.join(given)})"


def to_plain(values: Any) -> dict[str, list[float]]:
    """Return a range as plain data, for :func:`from_plain`."""
    if isinstance(values, LISTS):
        return {"choice": [float(value) for value in values]}
    return {_PLAIN[values.dist.name]: [float(end) for end in values.support()]}


def from_plain(plain: Mapping[str, Any]) -> Any:
    """Build a range: ``{"log_uniform": [low, high]}``, ``{"uniform": ...}``, ``{"choice": ...}``.

    Examples
    --------
    >>> to_plain(from_plain({"log_uniform": [0.1, 10.0]}))
    {'log_uniform': [0.1, 10.0]}
    """
    if len(plain) == 1:
        ((kind, values),) = plain.items()
        if kind == "choice" and values:
            return [float(value) for value in values]
        if kind in _PLAIN.values() and len(values) == 2:
            return _between(*map(float, values), log=kind == "log_uniform")
    raise ValueError(
        "a range must be [low, high], {uniform = [low, high]} or {choice = [...]}, "
        f"got {dict(plain)}."
    )


def _between(low: float, high: float, *, log: bool) -> Any:
    if not (low <= high and (low > 0 or not log)):
        needs = "0 < low <= high on the logarithmic scale" if log else "low <= high"
        raise ValueError(f"a range needs {needs}, got {low} and {high}.")
    if low == high:
        return [low]
    return loguniform(low, high) if log else uniform(low, high - low)
