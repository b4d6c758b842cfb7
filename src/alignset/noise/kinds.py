"""Kinds of label noise for studies: what decides that a label is wrong.

Each is a function from true labels of two classes, scaled features, groups, a rate and a generator
to observed labels. The rate is the share of wrong labels in group 0, at least roughly; in the
other groups it is half as large again where a kind knows groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alignset.noise.at_random import flip_uniform
from alignset.noise.by_features import flip_by_features

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Kind = Callable[[Codes, Floats, Codes, float, np.random.Generator], Codes]

MOST = 0.9
"""The largest chance of a wrong label."""


def threshold(y: Codes, Z: Floats, group: Codes, rate: float, rng: np.random.Generator) -> Codes:
    """Flip the top rows of a linear function of x in each group: the paper's noise."""
    rates = [_rate(rate, g) for g in range(int(group.max()) + 1)]
    return flip_by_features(y, Z, group, rate=rates, coefficients=_coefficients(Z, rng)).y_seen


def probabilistic(
    y: Codes, Z: Floats, group: Codes, rate: float, rng: np.random.Generator
) -> Codes:
    """Flip with a chance that grows with a linear function of x."""
    return _flip(y, _sigmoid(2 * _direction(Z, rng)), group, rate, rng)


def nonlinear(y: Codes, Z: Floats, group: Codes, rate: float, rng: np.random.Generator) -> Codes:
    """Flip with a chance that is a wave of a linear function and a product of two features."""
    a, b = Z[:, rng.integers(Z.shape[1])], Z[:, rng.integers(Z.shape[1])]
    return _flip(y, _sigmoid(2 * np.sin(2 * _direction(Z, rng)) + a * b), group, rate, rng)


def boundary(y: Codes, Z: Floats, group: Codes, rate: float, rng: np.random.Generator) -> Codes:
    """Flip with a chance that falls with the distance from the boundary between the classes."""
    from sklearn.linear_model import LogisticRegression

    distance = abs(LogisticRegression(C=0.1, max_iter=500).fit(Z, y).decision_function(Z))
    return _flip(y, np.exp(-distance), group, rate, rng)


def one_sided(y: Codes, Z: Floats, group: Codes, rate: float, rng: np.random.Generator) -> Codes:
    """Miss true positives, some more than others; no false positive."""
    missed = _flip(y, _sigmoid(_direction(Z, rng)) * (y == 1), group, rate * (y == 1).mean(), rng)
    return np.where(y == 1, missed, y)


def by_class(y: Codes, _: Floats, group: Codes, rate: float, rng: np.random.Generator) -> Codes:
    """Miss true positives three times as often as true negatives, whatever x."""
    return _flip(y, np.where(y == 1, 1.5, 0.5), group, rate, rng)


def uniform(y: Codes, _: Floats, __: Codes, rate: float, rng: np.random.Generator) -> Codes:
    """Flip every label with the same chance."""
    return flip_uniform(y, rate=rate, n_classes=2, random_state=rng).y_seen


KINDS: Mapping[str, Kind] = {
    kind.__name__: kind
    for kind in (threshold, probabilistic, nonlinear, boundary, one_sided, by_class, uniform)
}
"""Name -> kind of noise. For noise from hidden features, pass columns and then leave them out."""


def _rate(rate: float, group: int) -> float:
    return rate if group == 0 else min(1.5 * rate, MOST)


def _direction(Z: Floats, rng: np.random.Generator) -> Floats:
    """Return a random linear function of x with standard deviation of about one."""
    return np.asarray(Z @ _coefficients(Z, rng))


def _coefficients(Z: Floats, rng: np.random.Generator) -> Floats:
    return np.asarray(rng.normal(size=Z.shape[1]) / np.sqrt(Z.shape[1]))


def _flip(y: Codes, size: Any, group: Codes, rate: float, rng: np.random.Generator) -> Codes:
    """Flip with chances in proportion to ``size``, their mean what each group's rate asks for."""
    chance = np.zeros(len(y))
    for g in np.unique(group):
        own = group == g
        chance[own] = _rate(rate, g) * size[own] / max(size[own].mean(), 1e-12)
    return np.where(rng.random(len(y)) < np.minimum(chance, MOST), 1 - y, y)


def _sigmoid(z: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-z)))
