"""Co-teaching (Han et al., NeurIPS 2018).

Two networks; in every batch each picks the rows with the smallest loss for the other to learn from.
    R(t)   = rho^ min(t^c / T_k, 1),   t epochs done,   rho^ the share of wrong labels on A
    keep   all of A, and the floor((1 - R) n) unreviewed rows of smallest loss by the *other* one
    min over both of  the mean of CE(f(x), known label) over what it was given
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from alignset.extras import torch
from alignset.methods.base import Batch, Facts, Hyper, Method, Nets, Stage, Step
from alignset.stack import cross_entropy, group_sums

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class CoTeaching(Method):
    """Let two networks choose rows with a small loss for each other; predict with their mean.

    Parameters
    ----------
    exponent : float, default 1.0
        c in R(t), the shape of the ramp.
    ramp_epochs : int, default 10
        T_k, epochs until the full share is dropped (with c = 1).
    per_group : bool, default False
        Estimate rho^ and rank losses within each group; otherwise the group with more wrong
        labels loses more of its rows. A group without reviewed rows takes the overall rho^.

    Examples
    --------
    >>> list(CoTeaching().networks(20, 2))
    ['theta', 'peer']
    """

    exponent: float = 1.0
    ramp_epochs: int = 10
    per_group: bool = False

    name = "coteaching"
    title = "Co-teaching"
    reference = "han2018"
    order = 18
    assumes = "wrong labels are fitted late, so their loss stays large"
    needs_alignment = True
    predicting = ("theta", "peer")
    space = {"exponent": [0.5, 1.0, 2.0]}
    limits = {"exponent": "(0, inf)", "ramp_epochs": "[1, inf)"}

    def stages(self) -> tuple[Stage, ...]:
        """Return one stage that trains both."""
        return (Stage("train", (Step(self.loss, ("theta", "peer")),), begin=self.estimate),)

    def estimate(self, nets: Nets, b: Batch, h: Hyper) -> Facts:
        """rho^ (..., G): share of wrong labels on A, one for all groups unless ``per_group``."""
        wrong = 1.0 - b.correct
        rho = b.mean(wrong, b.aligned).unsqueeze(-1)
        if self.per_group:
            rows = b.aligned_membership
            size = rows.sum(-2)
            rho = torch.where(size > 0, group_sums(wrong, rows) / size.clamp_min(1e-12), rho)
        return Facts(replica={"rho": rho})

    def loss(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """Mean CE of each network over A and over the rows the other one picked, added up."""
        ce = cross_entropy(nets.theta(b.x), b.y_known)
        ce_peer = cross_entropy(nets.peer(b.x), b.y_known)
        share = 1.0 - self.forget_rate(b, h)
        for_theta, for_peer = self.pick(ce_peer, b, share), self.pick(ce, b, share)
        return b.mean(ce, b.aligned + for_theta) + b.mean(ce_peer, b.aligned + for_peer)

    def forget_rate(self, b: Batch, h: Hyper) -> Tensor:
        """R(t) (..., G)."""
        done = torch.zeros_like(h.exponent) + (b.epoch - 1)
        ramp = (done**h.exponent / self.ramp_epochs).clamp_max(1.0)
        return b.facts["rho"] * ramp.unsqueeze(-1)

    def pick(self, ce: Tensor, b: Batch, share: Tensor) -> Tensor:
        """Weight of the picked unreviewed rows (..., B): the ``share`` of smallest loss."""
        cells = b.unaligned.unsqueeze(-1)
        if self.per_group:
            cells = b.unaligned_membership
        order = ce.detach().argsort(dim=-1, stable=True).unsqueeze(-1)
        cells = cells.expand(*ce.shape, cells.shape[-1])
        order = order.expand_as(cells)
        ranked = cells.gather(-2, order)
        before = ranked.cumsum(-2) - ranked
        # a hair more, so that 0.7 * 10 is 7; half of a row of weight 2 may be picked
        limit = (share * cells.sum(-2) + 1e-4).floor().unsqueeze(-2)
        picked = (limit - before).clamp_min(0.0).minimum(ranked)
        return torch.zeros_like(picked).scatter(-2, order, picked).sum(-1)
