"""Early-learning regularisation (Liu et al., NeurIPS 2020).

t_i       <- beta t_i + (1 - beta) p_i,   a memory of what was predicted early; e_y on A, fixed
L         = mean_i CE(f(x_i), known label) + lambda mean_i log(1 - <p_i, t_i>)
The second term pulls predictions towards the memory and so weakens the gradient of wrong labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.stats import loguniform, uniform

from alignset.extras import torch
from alignset.methods.base import Batch, Facts, Hyper, Method, Nets, Stage, Step
from alignset.stack import cross_entropy, softmax

if TYPE_CHECKING:
    from torch import Tensor


MARGIN = 1e-4
"""Probabilities are kept in [MARGIN, 1 - MARGIN], and the logarithm's argument above MARGIN."""


@dataclass(frozen=True)
class ELR(Method):
    """Hold on to what was learnt before the wrong labels were memorised.

    Parameters
    ----------
    lambda_ : float, default 3.0
        Weight of the regulariser.
    beta : float, default 0.7
        How much of the memory is kept at each update, once an epoch.

    Examples
    --------
    >>> ELR(lambda_=1.0, beta=0.9).hyper_defaults()["lambda_"]
    1.0
    """

    lambda_: float = 3.0
    beta: float = 0.7

    name = "elr"
    title = "ELR"
    reference = "liu2020elr"
    order = 19
    assumes = "right labels are learnt before wrong ones"
    space = {"lambda_": loguniform(0.5, 10.0), "beta": uniform(0.5, 0.49)}  # beta to 0.99
    limits = {"lambda_": "[0, inf)", "beta": "[0, 1)"}

    def stages(self) -> tuple[Stage, ...]:
        """Return one stage that starts with an empty memory."""
        return (Stage("train", (Step(self.loss, ("theta",)),), begin=empty_memory),)

    def loss(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """Mean CE + lambda mean log(1 - <p, t>), after t was updated with p."""
        logits = nets.theta(b.x)
        p = softmax(logits).clamp(MARGIN, 1.0 - MARGIN)
        t = self.recall(p.detach(), b, h)
        b.remember("memory", t)
        pull = (1.0 - (p * t).sum(-1)).clamp_min(MARGIN).log()
        ce = cross_entropy(logits, b.y_known)
        return b.mean(ce, b.weight) + h.lambda_ * b.mean(pull, b.weight)

    def recall(self, p: Tensor, b: Batch, h: Hyper) -> Tensor:
        """Return t (..., B, K), updated; unchanged on A."""
        beta = h.beta.unsqueeze(-1).unsqueeze(-1)
        moved = beta * b.facts["memory"] + (1.0 - beta) * p / p.sum(-1, keepdim=True)
        return torch.where((b.aligned > 0).unsqueeze(-1), b.facts["memory"], moved)


def empty_memory(nets: Nets, b: Batch, h: Hyper) -> Facts:
    """Start with t = 0, and e_y on A."""
    return Facts(row={"memory": b.true_onehot})
