"""Forward and backward loss correction (Patrini et al., CVPR 2017).

T^_ij      = (n_ij + 1) / (n_i + K),  n_ij reviewed rows of true class i observed as j
Forward    -log (T' f(x))_y~                      on unreviewed rows
Backward   (T^-1 l)_y~,   l_k = -log f_k(x)       on unreviewed rows; unbiased, but unbounded below
Both are added to CE(f(x), y) on A and divided by the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from alignset.extras import torch
from alignset.methods.base import Batch, Facts, Hyper, Method, Nets, Stage, Step
from alignset.stack import cross_entropy, log_softmax

if TYPE_CHECKING:
    from torch import Tensor

MIN_SINGULAR_VALUE = 0.1
"""T^-1 raises smaller singular values to this one: no loss grows more than tenfold."""

MAX_LOSS = 16.0
"""Largest l_k in the backward loss: the loss at a probability of 1e-7."""


def count_transitions(nets: Nets, b: Batch, h: Hyper) -> Facts:
    """T^ (..., K, K) from the (true, observed) pairs on A, one added to every count."""
    counts = b.sums_by_class(b.seen_onehot, b.aligned) + 1.0
    T = counts / counts.sum(-1, keepdim=True)
    return Facts(replica={"T": T, "T_inverse": damped_inverse(T)})


def damped_inverse(T: Tensor) -> Tensor:
    """T^-1, exact unless T is close to singular."""
    u, s, vh = torch.linalg.svd(T)
    inverse: Tensor = vh.mT @ (u.mT / s.clamp_min(MIN_SINGULAR_VALUE).unsqueeze(-1))
    return inverse


def loss_forward(nets: Nets, b: Batch, h: Hyper) -> Tensor:
    """[ sum_A CE(f(x), y) + sum_Abar -log (T' f(x))_y~ ] / B."""
    return b.mean_corrected(nets.theta(b.x), b.seen_onehot @ b.facts["T"].mT)


def loss_backward(nets: Nets, b: Batch, h: Hyper) -> Tensor:
    """[ sum_A CE(f(x), y) + max(0, sum_Abar (T^-1 l)_y~) ] / B."""
    logits = nets.theta(b.x)
    losses = (-log_softmax(logits)).clamp_max(MAX_LOSS)  # (..., B, K)
    corrected = (losses * (b.seen_onehot @ b.facts["T_inverse"])).sum(-1)
    # a clean risk is never negative: below zero the network exploits the loss, not the data
    risk = b.mean(corrected, b.unaligned).clamp_min(0.0)
    share = b.unaligned.sum(-1) / b.weight.sum(-1).clamp_min(1e-12)
    on_a = b.mean(cross_entropy(logits, b.y_true), b.aligned)
    return share * risk + (1.0 - share) * on_a


@dataclass(frozen=True)
class Forward(Method):
    """Correct predictions for unreviewed rows by the class noise counted on the reviewed rows.

    Examples
    --------
    >>> [stage.name for stage in Forward().stages()]
    ['train']
    """

    name = "forward"
    title = "Forward correction"
    reference = "patrini2017"
    order = 13
    assumes = "the noise depends on the class only"
    needs_alignment = True

    def stages(self) -> tuple[Stage, ...]:
        """Count T^, then train."""
        return (Stage("train", (Step(loss_forward, ("theta",)),), begin=count_transitions),)


@dataclass(frozen=True)
class Backward(Method):
    """Combine the losses of all classes so that, on average, the noise cancels out.

    Parameters
    ----------
    warm_epochs : int, default 10
        Epochs of the forward loss before the backward loss, whose variance is high early on.

    Notes
    -----
    Three measures against the unbounded loss are ours, not the authors': the forward start, a
    damped inverse of T (``MIN_SINGULAR_VALUE``), and no gradient from a batch whose corrected
    loss on the unreviewed rows is negative.

    Examples
    --------
    >>> [stage.name for stage in Backward().stages()]
    ['forward', 'backward']
    """

    warm_epochs: int = 10

    name = "backward"
    title = "Backward correction"
    reference = "patrini2017"
    order = 14
    assumes = "the noise depends on the class only"
    needs_alignment = True
    limits = {"warm_epochs": "[1, inf)"}

    def stages(self) -> tuple[Stage, ...]:
        """Count T^, start with the forward loss, then switch to the backward loss."""
        forward, backward = Step(loss_forward, ("theta",)), Step(loss_backward, ("theta",))
        return (
            Stage("forward", (forward,), begin=count_transitions, epochs=self.warm_epochs),
            Stage("backward", (backward,)),
        )
