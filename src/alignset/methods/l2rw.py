"""Learning to reweight examples (Ren et al., ICML 2018).

Every step asks of each unreviewed row: had it counted epsilon more, would the loss on A be lower?
    w~_i  = max(0, -d L_A(theta - eta d/dtheta sum_i epsilon_i l_i) / d epsilon_i)  at epsilon = 0
          = eta max(0, <grad l_i, grad L_A>),           and eta cancels when weights are normalised
    w_i   = n_Abar w~_i / sum_Abar w~,                  zero for all where no row would help
    min over theta of  [ sum_A CE(f(x), y) + sum_Abar w_i CE(f(x), y~) ] / B
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from alignset.extras import torch
from alignset.methods.base import Batch, Hyper, Method, Nets, Stage, Step
from alignset.stack import cross_entropy, softmax

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class LearningToReweight(Method):
    """Weight an unreviewed row by how well its gradient agrees with that of the reviewed rows.

    Parameters
    ----------
    balanced : bool, default True
        All classes count equally in the loss of the reviewed rows, as in the authors' balanced
        batches.
    per_group : bool, default False
        All groups count equally there, too.

    Notes
    -----
    The inner products come from one derivative of the outputs along the gradient on A, exactly
    and without per-row gradients. Weights average to one over the unreviewed rows of a batch,
    while the authors' sum to one, so that a reviewed row, with weight one, counts as one row; the
    authors do not train on their trusted rows.

    Examples
    --------
    >>> [stage.name for stage in LearningToReweight().stages()]
    ['train']
    """

    balanced: bool = True
    per_group: bool = False

    name = "l2rw"
    title = "Learning to reweight"
    reference = "ren2018"
    order = 16
    assumes = "rows whose gradient opposes that of A are wrong"
    needs_alignment = True

    def stages(self) -> tuple[Stage, ...]:
        """Return one stage on all rows."""
        return (Stage("train", (Step(self.loss, ("theta",)),)),)

    def loss(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """[ sum_A CE(f(x), y) + sum_Abar w_i CE(f(x), y~) ] / B."""
        logits = nets.theta(b.x)
        help_a = self.helpfulness(nets, b, logits.detach())
        w = help_a / b.mean(help_a, b.unaligned).unsqueeze(-1).clamp_min(1e-12)
        ce = cross_entropy(logits, b.y_known)
        return b.mean(torch.where(b.aligned > 0, 1.0, w) * ce, b.weight)

    def helpfulness(self, nets: Nets, b: Batch, logits: Tensor) -> Tensor:
        """w~ (..., B): <grad l_i, grad L_A> where positive."""
        rows = self.review_weight(b)

        def loss_a(z: Tensor) -> Tensor:
            return b.mean(cross_entropy(z, b.y_true), rows)

        moved = nets.theta.tangent(nets.theta.gradient(loss_a, b.x), b.x)
        slope = softmax(logits) - b.seen_onehot  # d l_i / d logits
        return (slope * moved).sum(-1).relu()

    def review_weight(self, b: Batch) -> Tensor:
        """Weight of each reviewed row in L_A (..., B), balanced over classes and groups."""
        cells = b.aligned.unsqueeze(-1)
        if self.balanced:
            cells = cells * b.true_onehot
        if self.per_group:
            groups = torch.arange(b.n_groups, device=b.group.device)
            mine = b.group.unsqueeze(-1) == groups
            cells = (cells.unsqueeze(-1) * mine.unsqueeze(-2)).flatten(-2)
        return (cells / cells.sum(-2, keepdim=True).clamp_min(1e-12)).sum(-1)
