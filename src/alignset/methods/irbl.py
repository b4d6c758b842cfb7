"""Importance reweighting for biquality learning (Nodet et al., IJCNN 2021).

Stage 1    trusted(x)    min of  mean_A CE(trusted(x), y)
Stage 2    untrusted(x)  min of  mean_Abar CE(untrusted(x), y~)
w_i        = P_trusted(y~_i | x_i) / P_untrusted(y~_i | x_i)  outside A;   1 on A
Stage 3    theta         min of  mean_i w_i CE(f(x_i), y~_i, or y_i on A)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from alignset.extras import torch
from alignset.methods.base import Batch, Facts, Hyper, Method, Nets, Stage, Step, observed_fit
from alignset.stack import NetShape, cross_entropy

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class IRBL(Method):
    """Weight each unreviewed row by how much likelier the reviewed rows make its label.

    Parameters
    ----------
    cap : float, default 10.0
        Largest weight. The authors have none (``math.inf``); a network, unlike their calibrated
        models, may give an observed label almost no probability.

    Examples
    --------
    >>> [stage.name for stage in IRBL().stages()]
    ['trusted', 'untrusted', 'train']
    """

    cap: float = 10.0

    name = "irbl"
    title = "IRBL"
    reference = "nodet2021"
    order = 15
    assumes = "A covers the data; any change of P(label | x)"
    needs_alignment = True
    limits = {"cap": "(0, inf]; 10.0 is the default"}

    def networks(self, n_features: int, n_classes: int) -> dict[str, NetShape]:
        """Theta, and the two classifiers whose ratio is the weight."""
        shape = NetShape((n_features,), n_classes)
        return {"theta": shape, "trusted": shape, "untrusted": shape}

    def stages(self) -> tuple[Stage, ...]:
        """Return the stages of the two classifiers, then theta's."""
        trusted, untrusted = Step(loss_trusted, ("trusted",)), Step(loss_untrusted, ("untrusted",))
        return (
            Stage("trusted", (trusted,), "alignment", lambda n, b, h: -loss_trusted(n, b, h)),
            Stage("untrusted", (untrusted,), watch=observed_fit("untrusted")),
            Stage("train", (Step(loss_weighted, ("theta",)),), begin=self.weights),
        )

    def weights(self, nets: Nets, b: Batch, h: Hyper) -> Facts:
        """w_i (..., B): the ratio of the two probabilities of the observed label, 1 on A."""
        gap = cross_entropy(nets.untrusted(b.x), b.y_seen) - cross_entropy(
            nets.trusted(b.x), b.y_seen
        )
        ratio = torch.minimum(gap.exp(), h.cap.unsqueeze(-1))
        return Facts(row={"importance": torch.where(b.aligned > 0, 1.0, ratio)})


def loss_trusted(nets: Nets, b: Batch, h: Hyper) -> Tensor:
    """Mean over A of CE(trusted(x), y)."""
    return b.mean(cross_entropy(nets.trusted(b.x), b.y_true), b.aligned)


def loss_untrusted(nets: Nets, b: Batch, h: Hyper) -> Tensor:
    """Mean over Abar of CE(untrusted(x), y~)."""
    return b.mean(cross_entropy(nets.untrusted(b.x), b.y_seen), b.unaligned)


def loss_weighted(nets: Nets, b: Batch, h: Hyper) -> Tensor:
    """Mean over all rows of w_i CE(f(x_i), known label)."""
    ce = cross_entropy(nets.theta(b.x), b.y_known)
    return b.mean(b.facts["importance"] * ce, b.weight)
