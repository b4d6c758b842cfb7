"""Group peer loss (Wang, Liu & Levy, FAccT 2021; peer loss of Liu & Guo, ICML 2020).

L          = sum_z n_z/n 1/Delta_z [ mean_z l(f(x), y~) - alpha peer_z ]
peer_z     = mean over x_j in z of  sum_c q~_zc l(f(x_j), c),   q~_z = observed frequencies in z
Delta_z    = (tr T_z - 1) / (K - 1),   which is 1 - e+_z - e-_z for two classes
The peer term is the expectation over both peers, drawn within the group, instead of one draw.
Reviewed rows keep cross entropy and are not peers; T_z[y, y~] is counted on them, plus one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.stats import loguniform

from alignset.extras import torch
from alignset.methods.base import Batch, Facts, Hyper, Method, Nets, Stage, Step, loss_known
from alignset.stack import cross_entropy, group_sums, log_softmax

if TYPE_CHECKING:
    from torch import Tensor


MIN_DELTA = 0.1
"""Floor of |Delta_z|, so that no group counts more than tenfold."""

MIN_PROBABILITY = 1e-5
"""Floor of p where the loss rewards a small p: without it the loss has no lower bound."""


@dataclass(frozen=True)
class FairGPL(Method):
    """Subtract what blind agreement with a group's labels would earn, and undo its noise rate.

    Peer loss relies on being an affine function of the clean loss. With more than two classes that
    holds only if a wrong label j is equally likely for every true class.

    Parameters
    ----------
    alpha : float, default 0.3
        Weight of the peer term; 0 leaves cross entropy weighted by 1 / Delta_z.
    warm_up : int, default 10
        Epochs of plain cross entropy before the peer term is added.
    sign_flip : bool, default False
        Give a group with Delta_z < 0, whose labels are worse than chance, a negative weight: right
        in theory, unstable in practice. False uses |Delta_z|.
    within_groups : bool, default True
        Draw both peers from the row's own group, which the derivation needs if groups differ in
        noise; False draws them from all rows, as the inventors' released code does.

    Examples
    --------
    >>> [stage.name for stage in FairGPL().stages()]
    ['warm-up', 'peer loss']
    """

    alpha: float = 0.3
    warm_up: int = 10
    sign_flip: bool = False
    within_groups: bool = True

    name = "fair_gpl"
    title = "Fair GPL"
    reference = "wang2021"
    also = ("liu2020peer",)
    order = 11
    assumes = "noise depends on class and group only"
    uses_groups = True
    needs_alignment = True
    space = {"alpha": loguniform(0.05, 1.0)}
    limits = {"alpha": "[0, inf); 0 drops the peer term", "warm_up": "[0, inf)"}

    def stages(self) -> tuple[Stage, ...]:
        """Return the warm-up, of fixed length so that it never ends training, and the rest."""
        warm_up = Stage("warm-up", (Step(loss_known, ("theta",)),), epochs=self.warm_up)
        return warm_up, Stage("peer loss", (Step(self.loss, ("theta",)),), begin=self.rates)

    def loss(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """Cross entropy on A, group peer loss elsewhere, divided by the number of rows."""
        logits = nets.theta(b.x)
        reviewed = (cross_entropy(logits, b.y_known) * b.aligned).sum(-1)
        return (reviewed + self.peer_loss(logits, b, h)) / b.weight.sum(-1).clamp_min(1e-12)

    def peer_loss(self, logits: Tensor, b: Batch, h: Hyper) -> Tensor:
        """Sum over groups of 1/Delta_z [l - alpha peer], each term summed over Abar (...)."""
        outside = b.unaligned_membership  # (..., B, G)
        floored = -log_softmax(logits).clamp_min(math.log(MIN_PROBABILITY))  # (..., B, K)
        peer = (b.facts["frequency"] * self.peer_sums(floored, outside)).sum(-1)  # (..., G)
        own = group_sums(cross_entropy(logits, b.y_known), outside)
        delta = b.facts["delta"]
        if self.sign_flip:  # now the loss rewards a small p of the observed label
            bounded = group_sums(b.of_seen(floored), outside)
            own = torch.where(delta < 0, bounded, own)
        return ((own - h.alpha.unsqueeze(-1) * peer) / delta).sum(-1)

    def peer_sums(self, loss: Tensor, outside: Tensor) -> Tensor:
        """Sum over a group's rows of the loss of their first peer, for each class (..., G, K)."""
        if self.within_groups:
            return outside.mT @ loss
        rows = outside.sum(-1, keepdim=True)  # (..., B, 1)
        mean = (rows * loss).sum(-2) / rows.sum(-2).clamp_min(1e-12)  # (..., K)
        return outside.sum(-2).unsqueeze(-1) * mean.unsqueeze(-2)

    def rates(self, nets: Nets, b: Batch, h: Hyper) -> Facts:
        """Delta_z (..., G), from A, and q~_z (..., G, K), from the rest."""
        outside = b.unaligned_membership
        seen = outside.mT @ b.seen_onehot  # (..., G, K)
        if not self.within_groups:
            seen = seen.sum(-2, keepdim=True).expand_as(seen)
        frequency = seen / seen.sum(-1, keepdim=True).clamp_min(1e-12)
        return Facts(replica={"delta": self.delta(b), "frequency": frequency})

    def delta(self, b: Batch) -> Tensor:
        """Delta_z (..., G): how much the observed label still says about the true label."""
        inside = b.aligned_membership  # (..., B, G)
        size = inside.mT @ b.true_onehot  # (..., G, K)
        right = inside.mT @ (b.true_onehot * b.seen_onehot)
        # a group without reviewed rows is treated as the average group
        unknown = size.sum(-1, keepdim=True) == 0
        size = torch.where(unknown, size.sum(-2, keepdim=True), size)
        right = torch.where(unknown, right.sum(-2, keepdim=True), right)
        trace = ((right + 1) / (size + b.n_classes)).sum(-1)
        delta = (trace - 1) / (b.n_classes - 1)
        size_of = delta.abs().clamp_min(MIN_DELTA)
        return torch.where(delta < 0, -size_of, size_of) if self.sign_flip else size_of
