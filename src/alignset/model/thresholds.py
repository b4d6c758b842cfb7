"""The threshold of a model: how it is written to a folder, and what it decides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.evaluate import Estimate, ThresholdChoice
from alignset.labels import encode_groups

NUMBERS = ("estimate", "low", "high", "worth")


def thresholds_to_data(found: ThresholdChoice) -> dict[str, Any]:
    """Return plain data that JSON can hold."""
    return {
        "target": found.target,
        "value": found.value,
        "threshold": found.threshold,
        "by_group": {str(name): cut for name, cut in found.by_group.items()},
        "rates": {name: _rate_to_data(one) for name, one in found.rates.items()},
        "notes": list(found.notes),
        "of_class": found.of_class,
    }


def _rate_to_data(one: Estimate) -> dict[str, Any]:
    numbers = ((name, getattr(one, name)) for name in NUMBERS)
    known = {name: None if math.isnan(value) else value for name, value in numbers}
    groups = {str(name): _rate_to_data(part) for name, part in one.by_group.items()}
    return {**known, "rows": one.rows, "reviewed": one.reviewed, "by_group": groups}


def thresholds_from_data(data: Any) -> ThresholdChoice:
    """Read what :func:`thresholds_to_data` returned, or raise ValueError."""
    try:
        rates = {str(m): _rate(str(m), "all", one) for m, one in data["rates"].items()}
        found = ThresholdChoice(
            str(data["target"]),
            float(data["value"]),
            float(data["threshold"]),
            {str(name): float(cut) for name, cut in data["by_group"].items()},
            rates,
            tuple(map(str, data["notes"])),
            int(data["of_class"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"its thresholds are not what alignset writes ({error!r})") from None
    if not all(map(math.isfinite, (found.threshold, *found.by_group.values()))):
        raise ValueError("its thresholds are not finite")
    if found.of_class not in (0, 1):
        raise ValueError("its thresholds are of a class that is not there")
    return found


def _rate(metric: str, group: str, data: Any) -> Estimate:
    middle, low, high, worth = (
        math.nan if data[name] is None else float(data[name]) for name in NUMBERS
    )
    parts = {str(g): _rate(metric, str(g), one) for g, one in data["by_group"].items()}
    rows, reviewed = int(data["rows"]), int(data["reviewed"])
    return Estimate(metric, group, middle, low, high, rows, reviewed, worth).with_groups(parts)


def decide(
    probability: NDArray[np.float64],
    found: ThresholdChoice | None,
    groups: Any = None,
) -> NDArray[np.int64]:
    """Return the code of the class that each row (n, K) is given.

    Without a threshold that is the most probable class; with one it is the class that the
    threshold is of, if its probability reaches it, else the other.

    Examples
    --------
    >>> decide(np.array([[0.7, 0.3]]), ThresholdChoice("tpr", 0.9, 0.2))
    array([1])
    """
    if found is None:
        return np.asarray(probability.argmax(1))
    cut = np.full(len(probability), found.threshold)
    if found.by_group:
        cut = found.of(group_names(groups, len(probability)))
    reached = probability[:, found.of_class] >= cut
    return np.where(reached, found.of_class, 1 - found.of_class).astype(np.int64)


def against_rest(
    observed: NDArray[np.int64], true: NDArray[np.float64], of_class: int
) -> dict[str, NDArray[Any]]:
    """Return labels that are 1 where a row is of the class, as the estimator takes them."""
    hit = (true == of_class).astype(np.float64)
    return {
        "y": (observed == of_class).astype(np.int64),
        "y_true": np.where(np.isnan(true), np.nan, hit),
    }


def group_names(groups: Any, n: int) -> Sequence[Any]:
    """Return the name of each row's group; several columns are intersected."""
    if groups is None:
        raise ValueError(
            "the thresholds differ between groups, so the group of each row must be known; pass "
            "groups=, or a table with the group columns."
        )
    names, codes = encode_groups(groups, n)
    return list(names[codes])


def class_code(classes: NDArray[Any], name: Any, default: int) -> int:
    """Return the code of the class to seek, one of two, by its name."""
    check_two_classes(len(classes))
    names = [str(each) for each in classes.tolist()]
    if name is None:
        return default
    if str(name) not in names:
        known = ", ".join(map(repr, classes.tolist()))
        raise ValueError(f"there is no class {name!r}; the model knows {known}.")
    return names.index(str(name))


def check_two_classes(n_classes: int) -> None:
    """Refuse thresholds for models of more than two classes."""
    if n_classes != 2:
        raise ValueError(
            f"a threshold decides between two classes, and the model has {n_classes}; use its "
            "probabilities."
        )
