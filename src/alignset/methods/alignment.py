"""The two-stage method of Tjandra & Wiens (CHIL 2023).

Networks   theta(x) -> class probabilities y^;  phi(x, y~) -> beta^ = P(y == y~ | y~, x)
L_theta    = mean over A of CE(y^, y)
L_phi      = mean over A of BCE(beta^, 1[y~ == y])
L'_theta   = 1/|Abar| sum_k 1/(1 - r^_k) sum_{i in Abar and G_k} beta^_i CE(y^_i, y~_i),
             1 - r^_k = mean over G_k of beta^
Step 1     on A:          min over theta, phi of  L_theta + alpha_1 L_phi
Step 2a    phi frozen:    min over theta      of  L'_theta + gamma L_theta
Step 2b    theta frozen:  min over phi        of  L'_theta + alpha_2 L_phi
Step 2 alternates, 2a first, epoch by epoch. Only theta predicts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scipy.stats import loguniform

from alignset.extras import torch
from alignset.methods.base import Batch, Facts, Hyper, Method, Nets, Stage, Step
from alignset.rows import Problem
from alignset.stack import NetShape, binary_cross_entropy, cross_entropy, group_sums

if TYPE_CHECKING:
    from torch import Tensor


MIN_CLEAN_RATE = 1e-3
"""Floor of 1 - r^_k, so that a group whose labels all seem wrong does not divide by zero."""


@dataclass(frozen=True)
class Alignment(Method):
    """Weight each row by the learned confidence in its label, and each group by its clean rate.

    By default the switches below follow the paper.

    Parameters
    ----------
    alpha_1, alpha_2, gamma : float, default 1.0
        Weights of L_phi in step 1, L_phi in step 2b and L_theta in step 2a.
    rate_over_reviewed : bool, default True
        1 - r^_k is the mean beta^ over all of G_k; False leaves out the reviewed rows.
    rate_on_data : bool, default False
        Estimate 1 - r^_k once per epoch on the whole training set, as a constant, instead of on
        the mini-batch.
    rate_gradient : bool, default True
        Differentiate 1 - r^_k in step 2b. A constant rate makes beta^ = 0 everywhere a minimum
        of L'_theta, the collapse the paper warns about; with the gradient, L'_theta does not
        change when all beta^ of a group are scaled.
    equal_groups : bool, default False
        All groups count equally in L'_theta instead of in proportion to their rows.
    phi_first : bool, default False
        Start step 2 with 2b.
    alternate_batches : bool, default False
        Let 2a and 2b take turns batch by batch instead of epoch by epoch.
    step_2, supervise_theta, supervise_phi : bool, default True
        For ablations: run step 2; keep gamma L_theta in 2a; keep alpha_2 L_phi in 2b.

    Examples
    --------
    >>> [stage.name for stage in Alignment().stages()]
    ['step 1', 'step 2']
    """

    alpha_1: float = 1.0
    alpha_2: float = 1.0
    gamma: float = 1.0
    rate_over_reviewed: bool = True
    rate_on_data: bool = False
    rate_gradient: bool = True
    equal_groups: bool = False
    phi_first: bool = False
    alternate_batches: bool = False
    step_2: bool = True
    supervise_theta: bool = True
    supervise_phi: bool = True

    name = "alignment"
    title = "Alignment (proposed)"
    reference = "tjandra2023"
    order = 1
    assumes = "being wrong is a learnable function of x, observed label and group"
    uses_groups = True
    needs_alignment = True
    learns_errors = True
    space = {name: loguniform(0.1, 10.0) for name in ("alpha_1", "alpha_2", "gamma")}

    def networks(self, n_features: int, n_classes: int) -> dict[str, NetShape]:
        """Theta on x; phi, a separate network, on (x, one-hot observed label)."""
        theta = NetShape((n_features,), n_classes)
        return {"theta": theta, "phi": NetShape((n_features, n_classes), 1)}

    def stages(self) -> tuple[Stage, ...]:
        """Return step 1 on A, then step 2 on all rows."""
        step_1 = Stage("step 1", (Step(self.step_1, ("theta", "phi")),), rows="alignment")
        turns = (Step(self.step_2a, ("theta",)), Step(self.step_2b, ("phi",)))
        step_2 = Stage(
            "step 2",
            turns[::-1] if self.phi_first else turns,
            per_batch=self.alternate_batches,
            each_epoch=self._rates_on_data if self.rate_on_data else None,
        )
        return (step_1, step_2) if self.step_2 else (step_1,)

    def step_1(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """L_theta + alpha_1 L_phi."""
        ce = cross_entropy(nets.theta(b.x), b.y_true)
        return b.mean(ce, b.aligned) + h.alpha_1 * self.loss_phi(self.logit_beta(nets, b), b)

    def step_2a(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """L'_theta + gamma L_theta."""
        ce = cross_entropy(nets.theta(b.x), b.y_known)
        loss = self.loss_noisy(ce, self.confidence(nets, b), b)
        return loss + h.gamma * b.mean(ce, b.aligned) if self.supervise_theta else loss

    def step_2b(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """L'_theta + alpha_2 L_phi."""
        logit = self.logit_beta(nets, b)
        ce = cross_entropy(nets.theta(b.x), b.y_known)
        loss = self.loss_noisy(ce, torch.sigmoid(logit), b)
        return loss + h.alpha_2 * self.loss_phi(logit, b) if self.supervise_phi else loss

    def logit_beta(self, nets: Nets, b: Batch) -> Tensor:
        """Logit of beta^ (..., B), from phi on (x, one-hot observed label)."""
        return nets.phi(b.x, b.seen_onehot).squeeze(-1)

    def loss_phi(self, logit: Tensor, b: Batch) -> Tensor:
        """L_phi: cross entropy on A between beta^ and whether the observed label is right."""
        return b.mean(binary_cross_entropy(logit, b.correct), b.aligned)

    def loss_noisy(self, ce: Tensor, beta: Tensor, b: Batch) -> Tensor:
        """L'_theta: cross entropy outside A, row i weighted by beta^_i / (1 - r^_k(i))."""
        outside = b.unaligned_membership  # (..., B, G)
        size = outside.sum(-2)  # (..., G)
        share = 1.0 / size.sum(-1, keepdim=True).clamp_min(1e-12)
        if self.equal_groups:
            share = 1.0 / size.clamp_min(1e-12) / (size > 0).sum(-1, keepdim=True).clamp_min(1)
        rate = b.facts["clean_rate"] if self.rate_on_data else self.clean_rate(beta, b)
        return (share * group_sums(beta * ce, outside) / rate).sum(-1)

    def clean_rate(self, beta: Tensor, b: Batch) -> Tensor:
        """1 - r^_k: mean beta^ of each group (..., G)."""
        rows = b.membership if self.rate_over_reviewed else b.unaligned_membership
        beta = beta if self.rate_gradient else beta.detach()
        return b.group_means(beta, rows).clamp_min(MIN_CLEAN_RATE)

    def _rates_on_data(self, nets: Nets, b: Batch, h: Hyper) -> Facts:
        return Facts(replica={"clean_rate": self.clean_rate(self.confidence(nets, b), b)})

    def confidence(self, nets: Nets, b: Batch) -> Tensor:
        """beta^ (..., B): P(the observed label is right | x, observed label)."""
        return torch.sigmoid(self.logit_beta(nets, b))

    def check(self, problem: Problem) -> None:
        """Refuse a review in which every label was right: phi would have nothing to learn."""
        super().check(problem)
        part = problem.train
        if (part.y_seen == part.y_true)[part.reviewed].all():
            raise ValueError(
                f"Alignment needs reviewed rows whose observed label is wrong, but all "
                f"{part.reviewed.sum()} agree; review more rows, or use Standard()."
            )


def ablations(full: Alignment | None = None) -> dict[str, Alignment]:
    """Return the paper's ablation study: the method with parts left out.

    Examples
    --------
    >>> list(ablations())
    ['step 1 only', "+ L'_theta", '+ gamma L_theta', '+ alpha_2 L_phi', 'full method']
    """
    full = full or Alignment()
    return {
        "step 1 only": replace(full, step_2=False),
        "+ L'_theta": replace(full, supervise_theta=False, supervise_phi=False),
        "+ gamma L_theta": replace(full, supervise_phi=False),
        "+ alpha_2 L_phi": replace(full, supervise_theta=False),
        "full method": full,
    }
