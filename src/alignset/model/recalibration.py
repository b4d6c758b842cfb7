"""Recalibration by group in a model folder, and for rows whose groups are names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.labels import encode_groups
from alignset.learners.recalibration import GroupCalibration


def calibration_to_data(found: GroupCalibration) -> dict[str, Any]:
    """Return plain data that JSON can hold."""
    return {"slope": found.slope.tolist(), "offset": found.offset.tolist()}


def calibration_from_data(data: Any, shape: tuple[int, int]) -> GroupCalibration:
    """Read what :func:`calibration_to_data` returned for (groups, classes), or raise ValueError."""
    try:
        slope, offset = (np.array(data[name], dtype=np.float64) for name in ("slope", "offset"))
    except (KeyError, TypeError) as error:
        raise ValueError(f"its recalibration is not what alignset writes ({error!r})") from None
    if slope.shape != shape[:1] or offset.shape != shape:
        raise ValueError("its recalibration does not match its groups and classes")
    if not (np.isfinite(slope).all() and np.isfinite(offset).all() and (slope >= 0).all()):
        raise ValueError("its recalibration holds values out of range")
    return GroupCalibration(slope, offset)


def recalibrate(
    probability: NDArray[np.float64],
    found: GroupCalibration | None,
    names: NDArray[Any],
    groups: Any,
) -> NDArray[np.float64]:
    """Recalibrate probabilities (n, K) by the group of each row; unknown groups are left alone.

    Without groups, or without anything to change, the same array is returned.

    Examples
    --------
    >>> found = GroupCalibration(np.ones(1), np.array([[-1.0, 1.0]]))
    >>> recalibrate(np.full((2, 2), 0.5), found, np.array(["f"]), ["f", "m"]).round(2)
    array([[0.12, 0.88],
           [0.5 , 0.5 ]])
    """
    if found is None or groups is None:
        return probability
    own, codes = encode_groups(groups, len(probability))
    place = {str(name): g for g, name in enumerate(names.tolist())}
    known = np.array([place.get(str(name), -1) for name in own.tolist()], dtype=np.int64)
    return found.apply(probability, known[codes])
