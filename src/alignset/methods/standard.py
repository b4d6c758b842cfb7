"""Cross entropy, with and without the reviewed rows: what every other method is measured against.

Standard        min over theta of  mean_D CE(f(x), t),   t = true label on A, observed elsewhere
AlignmentOnly   min over theta of  mean_A CE(f(x), y)
StandardPlus    min over theta of  mean_Abar CE(f(x), y~) + gamma mean_A CE(f(x), y)

Clean labels is Standard on ``problem.fully_reviewed()``: no class, no way for truth to leak.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from alignset.methods.base import Batch, Hyper, Method, Nets, Stage, Step
from alignset.methods.space import LogUniform, Space
from alignset.stack import cross_entropy


def loss_known(nets: Nets, b: Batch, h: Hyper) -> Tensor:
    """Mean cross entropy over all rows, true label where reviewed."""
    del h
    return b.mean(cross_entropy(nets.theta(b.x), b.y_known), b.weight)


def loss_theta(nets: Nets, b: Batch, h: Hyper) -> Tensor:
    """L_theta: mean cross entropy on A against the true label."""
    del h
    return b.mean(cross_entropy(nets.theta(b.x), b.y_true), b.aligned)


def loss_plus(nets: Nets, b: Batch, h: Hyper) -> Tensor:
    """Two separate means, so that a few reviewed rows can outweigh many others."""
    ce = cross_entropy(nets.theta(b.x), b.y_known)
    return b.mean(ce, b.unaligned) + h.gamma * b.mean(ce, b.aligned)


@dataclass(frozen=True)
class Standard(Method):
    """Cross entropy on the labels as they are, corrected where reviewed.

    Examples
    --------
    >>> [stage.name for stage in Standard().stages()]
    ['train']
    """

    title: ClassVar[str] = "Standard"
    reference: ClassVar[str] = "tjandra2023"
    assumes: ClassVar[str] = "labels are right"

    def stages(self) -> tuple[Stage, ...]:
        """Return one stage on all rows."""
        return (Stage("train", (Step(loss_known, trains=("theta",)),)),)


@dataclass(frozen=True)
class AlignmentOnly(Method):
    """Cross entropy on the reviewed rows alone.

    Examples
    --------
    >>> AlignmentOnly().stages()[0].rows
    'alignment'
    """

    title: ClassVar[str] = "Alignment only"
    reference: ClassVar[str] = "tjandra2023"
    assumes: ClassVar[str] = "nothing; ignores the other rows"
    needs_alignment: ClassVar[bool] = True

    def stages(self) -> tuple[Stage, ...]:
        """Return one stage on A."""
        return (Stage("train", (Step(loss_theta, trains=("theta",)),), rows="alignment"),)


@dataclass(frozen=True)
class StandardPlus(Method):
    """Cross entropy plus gamma times cross entropy on the reviewed rows.

    Parameters
    ----------
    gamma : float, default 1.0
        Weight of the reviewed rows' mean.

    Examples
    --------
    >>> StandardPlus(gamma=2.0).hyper_defaults()["gamma"]
    2.0
    """

    gamma: float = 1.0

    space: ClassVar[Space] = {"gamma": LogUniform(0.1, 10.0)}
    title: ClassVar[str] = "Standard plus"
    reference: ClassVar[str] = "tjandra2023"
    assumes: ClassVar[str] = "labels are right; reviewed rows count gamma times"
    needs_alignment: ClassVar[bool] = True

    def stages(self) -> tuple[Stage, ...]:
        """Return one stage on all rows."""
        return (Stage("train", (Step(loss_plus, trains=("theta",)),)),)
