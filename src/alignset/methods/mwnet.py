"""Meta-Weight-Net (Shu et al., NeurIPS 2019).

w_i = V(log(1 + l_i); Theta) in (0, 1) on the unreviewed rows, 1 on A.  On every batch, in order:
    theta'  = theta - eta d/dtheta L(theta; w)                          (virtual)
    Theta   moves down  L_A(theta'),  whose derivative by w_i is  -(eta / B) <grad l_i, grad L_A>
    theta   moves down  L(theta; w) = [ sum_A CE(f(x), y) + sum_Abar w_i CE(f(x), y~) ] / B
with grad l_i taken at theta, grad L_A at theta', and the new Theta in the last step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from alignset.extras import torch
from alignset.methods.base import Batch, Hyper, Method, Nets, Stage, Step
from alignset.stack import NetShape, cross_entropy, softmax

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class MetaWeightNet(Method):
    """Learn from the reviewed rows how much a row with a given loss should count.

    Parameters
    ----------
    virtual_lr : float, default 0.1
        eta of the virtual step; the authors' (SGD) learning rate.

    Notes
    -----
    V has the backbone's hidden layers, not one of width 100, and shares ``lr`` and ``l2`` with
    theta. It reads log(1 + loss), which is steadier than the raw loss. The meta gradient is scaled
    to weights whose absolute values sum to one: this makes no difference to Adam, and L2 would
    otherwise outweigh a factor as small as eta / B.

    Examples
    --------
    >>> MetaWeightNet().networks(20, 2)["weight"]
    NetShape(inputs=(1,), outputs=1)
    """

    virtual_lr: float = 0.1

    name = "mwnet"
    title = "Meta-Weight-Net"
    reference = "shu2019"
    order = 17
    assumes = "wrong labels show in the size of their loss"
    needs_alignment = True
    limits = {"virtual_lr": "[0, inf)"}

    def networks(self, n_features: int, n_classes: int) -> dict[str, NetShape]:
        """Theta on x; V, called ``weight``, on one number."""
        return {"theta": NetShape((n_features,), n_classes), "weight": NetShape((1,), 1)}

    def stages(self) -> tuple[Stage, ...]:
        """Return one stage that trains Theta, then theta, on every batch."""
        steps = Step(loss_meta, ("weight",)), Step(loss_weighted, ("theta",))
        return (Stage("train", steps, together=True),)


def row_weight(nets: Nets, b: Batch, ce: Tensor) -> Tensor:
    """w_i (..., B): V of the row's loss, 1 on A."""
    v = torch.sigmoid(nets.weight(ce.detach().log1p().unsqueeze(-1))).squeeze(-1)
    return torch.where(b.aligned > 0, 1.0, v)


def loss_weighted(nets: Nets, b: Batch, h: Hyper) -> Tensor:
    """L(theta; w): mean over all rows of w_i CE(f(x_i), known label)."""
    ce = cross_entropy(nets.theta(b.x), b.y_known)
    return b.mean(row_weight(nets, b, ce).detach() * ce, b.weight)


def loss_meta(nets: Nets, b: Batch, h: Hyper) -> Tensor:
    """Has, up to a positive factor, the gradient of L_A(theta') in Theta."""
    logits = nets.theta(b.x)
    w = row_weight(nets, b, cross_entropy(logits, b.y_known))
    alike = alignment_with_meta(nets, b, h, logits, w.detach())
    return -b.mean(w * alike, b.unaligned) / b.mean(alike.abs(), b.unaligned).clamp_min(1e-12)


def alignment_with_meta(nets: Nets, b: Batch, h: Hyper, logits: Tensor, w: Tensor) -> Tensor:
    """<grad l_i(theta), grad L_A(theta')> per row (..., B)."""

    def loss_train(z: Tensor) -> Tensor:
        return b.mean(w * cross_entropy(z, b.y_known), b.weight)

    def loss_a(z: Tensor) -> Tensor:
        return b.mean(cross_entropy(z, b.y_true), b.aligned)

    slope_train = nets.theta.gradient(loss_train, b.x)
    virtual = {
        k: p.detach() - h.virtual_lr.reshape(*p.shape[:2], *(1,) * (p.dim() - 2)) * slope_train[k]
        for k, p in nets.theta.params.items()
    }
    slope_a = replace(nets.theta, params=virtual).gradient(loss_a, b.x)
    moved = nets.theta.tangent(slope_a, b.x)
    slope = softmax(logits.detach()) - b.seen_onehot  # d l_i / d logits
    return (slope * moved).sum(-1)
