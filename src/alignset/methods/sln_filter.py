"""Stochastic label noise with a filter (Chen et al., ICLR 2021; Arpit et al., ICML 2017).

Target     t = e_y~ + sigma z,   z ~ N(0, I) drawn anew for every row and step
L_i        = - sum_c t_c log p_c = CE(f(x), y~) - sigma sum_c z_c log p_c
Burn-in    min over theta of  mean_D CE(f(x), y~)
Filter     min over theta of  the mean of L_i over the rows with p_y~ >= threshold
Reviewed rows are always kept, with their true label as target and sigma = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.stats import loguniform, uniform

from alignset.methods.base import Batch, Hyper, Method, Nets, Stage, Step, loss_known
from alignset.stack import cross_entropy, log_softmax, softmax

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class SLNFilter(Method):
    """Train on the rows whose label the network believes, with noise added to their targets.

    Parameters
    ----------
    sigma : float, default 0.5
        Standard deviation of the noise on every entry of the one-hot target.
    threshold : float, default 0.5
        Keep an unreviewed row while p(observed label) >= threshold; 0 keeps all.
    burn_in : int, default 10
        Epochs of plain cross entropy before the first row is left out.
    average : float, optional
        Decay per step of a moving average of the weights, which then replaces them in prediction.
        The authors' 0.999 is for 100 000 steps; with five steps an epoch, try 0.9.

    Examples
    --------
    >>> [stage.name for stage in SLNFilter().stages()]
    ['burn-in', 'filter']
    """

    sigma: float = 0.5
    threshold: float = 0.5
    burn_in: int = 10
    average: float | None = None

    name = "sln_filter"
    title = "SLN + Filter"
    reference = "chen2021"
    also = ("arpit2017",)
    order = 6
    assumes = "wrong labels are learned later than right ones"
    space = {"sigma": loguniform(0.05, 1.0), "threshold": uniform(0.4, 0.6)}  # threshold to 1
    limits = {
        "sigma": "[0, inf); 0 adds no noise",
        "threshold": "[0, 1]; 0 keeps every row",
        "burn_in": "[0, inf)",
        "average": "(0, 1); pass None for no averaging",
    }

    def stages(self) -> tuple[Stage, ...]:
        """Return the burn-in, of fixed length so that it never ends training, and the rest."""
        burn_in = Stage("burn-in", (Step(loss_known, ("theta",)),), epochs=self.burn_in)
        step = Step(self.loss, ("theta",))
        return burn_in, Stage("filter", (step,), average=self.average)

    def loss(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """Mean of L_i over the rows kept; zero, without gradient, if there is none."""
        logits = nets.theta(b.x)
        return b.mean(self.loss_noisy(logits, b, h), b.weight * self.kept(logits, b, h))

    def loss_noisy(self, logits: Tensor, b: Batch, h: Hyper) -> Tensor:
        """L_i: cross entropy with a noisy target (..., B); no noise on A."""
        z = b.draw.normal(b.n_classes) * (b.unaligned > 0).unsqueeze(-1)  # (..., B, K)
        noise = (z * log_softmax(logits)).sum(-1)
        return cross_entropy(logits, b.y_known) - h.sigma.unsqueeze(-1) * noise

    def kept(self, logits: Tensor, b: Batch, h: Hyper) -> Tensor:
        """Whether a row is kept (..., B): reviewed, or p(observed label) >= threshold."""
        p = softmax(logits.detach())
        believed = b.of_seen(p) >= h.threshold.unsqueeze(-1)
        return (b.aligned > 0) | believed
