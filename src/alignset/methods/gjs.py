"""Generalised Jensen-Shannon loss (Englesson & Azizpour, NeurIPS 2021).

GJS        = pi KL(e_y~ || m) + (1 - pi)/V sum_v KL(p^v || m),   m = pi e_y~ + (1 - pi) mean_v p^v
L_i        = GJS / Z,   Z = -(1 - pi) log(1 - pi)
p^v = f(x^v), V perturbed views of x. pi -> 0 is cross entropy, pi -> 1 mean absolute error.
One view, which is x itself, is the plain Jensen-Shannon loss. Reviewed rows keep cross entropy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.stats import uniform

from alignset.extras import torch
from alignset.methods.base import Batch, Facts, Hyper, Method, Nets, Stage, Step
from alignset.stack import log_softmax

if TYPE_CHECKING:
    from torch import Tensor


HALF_STEP = 2.0**-24
"""Half the spacing of uniform numbers on (-1, 1): keeps the normal numbers finite and centred."""


@dataclass(frozen=True)
class Perturbation:
    """How a view differs from its row; the same for a whole stack, so that views are shared.

    Parameters
    ----------
    noise : float, default 0.1
        Gaussian noise on columns with many values, in standard deviations of the column.
    swap : float, default 0.1
        Share of the entries in two-valued columns that are drawn again from their column.

    Examples
    --------
    >>> Perturbation(noise=0.05)
    Perturbation(noise=0.05, swap=0.1)
    """

    noise: float = 0.1
    swap: float = 0.1

    def __post_init__(self) -> None:
        if self.noise < 0:
            raise ValueError(f"noise must be a standard deviation >= 0, got {self.noise}.")
        if not 0 <= self.swap <= 1:
            raise ValueError(f"swap must be a share in [0, 1], got {self.swap}.")

    @staticmethod
    def spread(b: Batch) -> Facts:
        """For each column (..., 1, D): spread (0 if two-valued), low, high, share of high."""
        padding = (b.weight == 0).unsqueeze(-1)
        low = b.x_dense.masked_fill(padding, torch.inf).amin(-2)
        high = b.x_dense.masked_fill(padding, -torch.inf).amax(-2)
        two = ((b.x_dense == low.unsqueeze(-2)) | (b.x_dense == high.unsqueeze(-2)) | padding).all(
            -2
        )
        share = (b.weight / b.weight.sum(-1, keepdim=True)).unsqueeze(-2)  # (..., 1, B)
        mean = share @ b.x_dense  # (..., 1, D)
        spread = (share @ (b.x_dense - mean).square()).squeeze(-2).sqrt()
        of_high = (mean.squeeze(-2) - low) / (high - low).clamp_min(1e-12)
        spread = spread.masked_fill(two, 0.0)
        return Facts(replica={"spread": spread, "low": low, "high": high, "of_high": of_high})

    def view(self, b: Batch, name: str) -> Tensor:
        """Return a perturbed copy of x (..., B, D)."""
        # all configs of a problem share one view, as they share x
        spread, low, high, of_high = (
            b.facts[k][..., :1, :].unsqueeze(-2) for k in ("spread", "low", "high", "of_high")
        )
        # one draw per entry serves both kinds of column; large batches want few copies
        u = b.draw.uniform(b.x_dense.shape[-1], name).to(b.x_dense.dtype)
        swapped = torch.where(u < self.swap, low, b.x_dense)
        torch.where(u < self.swap * of_high, high, swapped, out=swapped)
        normal = u.mul_(2).sub_(1 - HALF_STEP).erfinv_().mul_(math.sqrt(2))
        moved = torch.addcmul(b.x_dense, spread, normal, value=self.noise, out=normal)
        return torch.where(spread > 0, moved, swapped, out=swapped)


@dataclass(frozen=True)
class GJS(Method):
    """A bounded loss between label and predictions that also makes views of a row agree.

    Parameters
    ----------
    pi : float, default 0.5
        Weight of the label, in (0, 1): near 0 cross entropy, near 1 mean absolute error.
    n_views : int, default 2
        Perturbed views per row (the paper's M - 1); 1 is plain JS, with x unchanged.
    perturbation : Perturbation
        How views differ from x.

    Examples
    --------
    >>> GJS(n_views=1).hyper_defaults()["pi"]
    0.5
    """

    pi: float = 0.5
    n_views: int = 2
    perturbation: Perturbation = Perturbation()

    name = "gjs"
    title = "GJS"
    reference = "englesson2021"
    order = 8
    assumes = "noise does not depend on x; small perturbations keep the class"
    space = {"pi": uniform(0.1, 0.8)}  # 0.1 to 0.9
    limits = {
        "pi": "(0, 1); use Standard() for its limit 0, cross entropy",
        "n_views": "[1, inf); 1 is plain JS",
    }

    def stages(self) -> tuple[Stage, ...]:
        """Return one stage on all rows."""
        begin = self.spread if self.n_views > 1 else None
        return (Stage("train", (Step(self.loss, ("theta",)),), begin=begin),)

    def spread(self, nets: Nets, b: Batch, h: Hyper) -> Facts:
        """Look at every column once, to scale the perturbations."""
        return self.perturbation.spread(b)

    def loss(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """Mean over rows: cross entropy of the views on A, GJS / Z elsewhere."""
        x = b.x
        if self.n_views > 1:
            views = [self.perturbation.view(b, f"view {v}") for v in range(self.n_views)]
            x = torch.cat(views, dim=-2)  # (..., V * B, D)
        log_p = log_softmax(nets.theta(x))
        lead, (rows, k) = log_p.shape[:-2], b.seen_onehot.shape[-2:]
        log_p = log_p.view(*lead, self.n_views, rows, k)
        own = self.divergence(log_p, b.seen_onehot, h.pi)
        return b.mean_apart(self.cross_entropy(log_p, b), own)

    @staticmethod
    def cross_entropy(log_p: Tensor, b: Batch) -> Tensor:
        """Cross entropy against the known label (..., B), averaged over views (..., V, B, K)."""
        return -(log_p.mean(-3) * b.onehot(b.y_known)).sum(-1)

    @staticmethod
    def divergence(log_p: Tensor, label: Tensor, pi: Tensor) -> Tensor:
        """GJS / Z per row of one-hot labels (..., B, K) and predictions (..., V, B, K)."""
        p, pi = log_p.exp(), pi.unsqueeze(-1)
        m = pi.unsqueeze(-1) * label + (1 - pi).unsqueeze(-1) * p.mean(-3)
        # no larger floor: m_c can be as small as 1 - pi times p_c, and its logarithm matters
        log_m = m.clamp_min(torch.finfo(m.dtype).tiny).log()
        from_label = -(label * log_m).sum(-1)  # KL(e || m)
        from_views = (p * (log_p - log_m.unsqueeze(-3))).sum(-1).mean(-2)  # mean_v KL(p^v || m)
        return (pi * from_label + (1 - pi) * from_views) / (-(1 - pi) * torch.log1p(-pi))


@dataclass(frozen=True)
class JS(GJS):
    """The plain Jensen-Shannon loss: one view, which is x itself.

    Examples
    --------
    >>> JS().n_views
    1
    """

    n_views: int = 1

    name = "js"
    title = "JS"
    order = 7
