"""Tensors with a replica axis; nothing here knows about noisy labels."""

from alignset.stack.adam import StackedAdam
from alignset.stack.grid import Grid
from alignset.stack.losses import (
    binary_cross_entropy,
    cross_entropy,
    log_softmax,
    marginal_cross_entropy,
    softmax,
)
from alignset.stack.mlp import MLP
from alignset.stack.module import Module
from alignset.stack.net import Backbone, Net, NetShape
from alignset.stack.random import Draws
from alignset.stack.reduce import group_sums, mean_rows

__all__ = [
    "MLP", "Backbone", "Draws", "Grid", "Module", "Net", "NetShape", "StackedAdam",
    "binary_cross_entropy", "cross_entropy", "group_sums", "log_softmax", "marginal_cross_entropy",
    "mean_rows", "softmax"
]  # fmt: skip
