"""Cross entropy, with and without the reviewed rows: what every other method is measured against.

Standard        min over theta of  mean_D CE(f(x), t),   t = true label on A, observed elsewhere
AlignmentOnly   min over theta of  mean_A CE(f(x), y)
StandardPlus    min over theta of  mean_Abar CE(f(x), y~) + gamma mean_A CE(f(x), y)

Clean labels is Standard on ``problem.fully_reviewed()``: not a class, so the truth cannot leak.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.stats import loguniform

from alignset.methods.base import Batch, Hyper, Method, Nets, Stage, Step, loss_known
from alignset.stack import cross_entropy

if TYPE_CHECKING:
    from torch import Tensor


def loss_theta(nets: Nets, b: Batch, h: Hyper) -> Tensor:
    """L_theta: mean cross entropy on A against the true label."""
    return b.mean(cross_entropy(nets.theta(b.x), b.y_true), b.aligned)


def loss_plus(nets: Nets, b: Batch, h: Hyper) -> Tensor:
    """Take two separate means, so that a few reviewed rows can outweigh many others."""
    ce = cross_entropy(nets.theta(b.x), b.y_known)
    return b.mean(ce, b.unaligned) + h.gamma * b.mean(ce, b.aligned)


@dataclass(frozen=True)
class Standard(Method):
    """Cross entropy on the observed labels, corrected where reviewed.

    Examples
    --------
    >>> [stage.name for stage in Standard().stages()]
    ['train']
    """

    name = "standard"
    title = "Standard"
    reference = "tjandra2023"
    order = 3
    assumes = "labels are right"
    simplicity = 1
    select_by = "likelihood"

    def stages(self) -> tuple[Stage, ...]:
        """Return one stage on all rows."""
        return (Stage("train", (Step(loss_known, trains=("theta",)),)),)


@dataclass(frozen=True)
class AlignmentOnly(Method):
    """Cross entropy on the reviewed rows only.

    Examples
    --------
    >>> AlignmentOnly().stages()[0].rows
    'alignment'
    """

    name = "alignment_only"
    title = "Alignment only"
    reference = "tjandra2023"
    order = 5
    assumes = "nothing; ignores the other rows"
    needs_alignment = True
    simplicity = 2

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

    name = "standard_plus"
    title = "Standard plus"
    reference = "tjandra2023"
    order = 4
    assumes = "labels are right; reviewed rows count gamma times"
    needs_alignment = True
    simplicity = 3
    space = {"gamma": loguniform(0.1, 10.0)}

    def stages(self) -> tuple[Stage, ...]:
        """Return one stage on all rows."""
        return (Stage("train", (Step(loss_plus, trains=("theta",)),)),)
