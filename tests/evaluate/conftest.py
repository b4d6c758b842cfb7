from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch


def draw_rows(seed, n=60, n_groups=2, n_classes=2, levels=None):
    """Scores, labels and groups with every cell filled; few ``levels`` make many ties."""
    rng = np.random.default_rng(seed)
    cells = n_groups * n_classes
    group = np.concatenate([np.arange(cells) % n_groups, rng.integers(0, n_groups, n - cells)])
    y = np.concatenate([np.arange(cells) // n_groups, rng.integers(0, n_classes, n - cells)])
    raw = rng.normal(size=(n, n_classes)) + 1.2 * np.eye(n_classes)[y] + 0.3 * group[:, None]
    prob = np.exp(raw) / np.exp(raw).sum(1, keepdims=True)
    if levels is not None:
        prob = np.round(prob * levels) / levels
    return SimpleNamespace(y=y, group=group, prob=prob, score=prob[:, 1])


def tensors(rows, dtype=torch.float64):
    return (
        torch.tensor(rows.score, dtype=dtype),
        torch.tensor(rows.y),
        torch.tensor(rows.group),
        torch.ones(len(rows.y), dtype=torch.bool),
    )


@pytest.fixture
def draw():
    return draw_rows


@pytest.fixture
def as_tensors():
    return tensors
