"""The label and its error, modelled jointly: maximum likelihood with an alignment set.

Networks   theta(x) -> P(y | x);  phi(x) -> T(x), T_ij(x) = P(y~ = j | y = i, x)
L_obs      = mean over Abar of  -log sum_i T_iy~(x) P(y = i | x)
L_theta    = mean over A of  -log P(y | x)
L_phi      = mean over A of  -log T_yy~(x)
L_prior    = mean over D of  -1/K sum_ij T^_ij(k) log T_ij(x),   k the row's group
T^(k)      = pairs (y, y~) counted in A: the group's own, plus ``pooling`` pseudo-counts of all
             groups together, to which the identity adds one pseudo-count per class
Step 1     on A:   min over theta, phi of  L_theta + alpha (L_phi + prior/|A| L_prior)
Step 2     on D:   min over theta, phi of  L_obs + gamma L_theta + alpha (L_phi + prior/|A| L_prior)
Stop and select by the likelihood of both labels of the validation rows, L_theta + L_phi there.
Only theta predicts. P(y = y~ | x, y~) = T_y~y~ P(y~ | x) / sum_i T_iy~ P(i | x).

No part of this is new; the combination is what an alignment set makes possible. Passing the
prediction through a transition matrix is forward correction (Patrini et al., CVPR 2017); with a
matrix counted on trusted rows it is GLC (Hendrycks et al., NeurIPS 2018); a matrix learned end to
end, which may depend on x, is the noise-adaptation layer (Goldberger & Ben-Reuven, ICLR 2017);
CSIDN (Berthon et al., ICML 2021) builds it from a confidence given for every row. L_obs alone
cannot tell classes from a permutation of them, or a hard row from a mislabelled one; A, the prior
and a start near the identity can.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.stats import loguniform

from alignset.extras import torch
from alignset.methods.base import Batch, Facts, Hyper, Method, Nets, Stage, Step
from alignset.stack import NetShape, cross_entropy, log_softmax

if TYPE_CHECKING:
    from torch import Tensor


START_RIGHT = 0.9
"""Diagonal of T(x) when phi outputs zero, so that T(x) starts near the identity."""


@dataclass(frozen=True)
class JointAlignment(Method):
    """Maximise the likelihood of both labels: P(y | x) and P(observed | y, x).

    A doubtful label is not given less weight; it is used for what it says about the true label.

    Parameters
    ----------
    alpha, gamma : float, default 0.3
        Weights of what A says about the errors, and about the classes. The likelihood of all rows
        would weight both by |A| / |Abar|; A is worth more where phi is wrong about the rest.
    prior : float, default 1.0
        Pull of T(x) towards the group's matrix, measured in reviewed rows: it matters if A is
        small.
    pooling : float, default 5.0
        Pseudo-counts per class that a group's matrix takes from all groups together: a group with
        few reviewed rows is treated like the others.
    equal_groups : bool, default False
        All groups count equally in L_obs instead of in proportion to their rows.
    by_likelihood : bool, default True
        Stop and select by the validation rows' likelihood, which varies less than a rank-based
        score on few rows; False uses the trainer's score, as other methods do.

    Examples
    --------
    >>> [stage.name for stage in JointAlignment().stages()]
    ['step 1', 'step 2']
    """

    alpha: float = 0.3
    gamma: float = 0.3
    prior: float = 1.0
    pooling: float = 5.0
    equal_groups: bool = False
    by_likelihood: bool = True

    name = "joint"
    title = "Joint alignment"
    reference = "alignset"
    also = ("tjandra2023", "goldberger2017", "hendrycks2018", "berthon2021")
    order = 2
    assumes = "class and error are learnable functions of x; A anchors the error"
    uses_groups = True
    needs_alignment = True
    learns_errors = True
    if_switched = "raise `prior`, or compare with Standard()"
    space = {
        "alpha": loguniform(0.03, 1.0),
        "gamma": loguniform(0.03, 1.0),
        "prior": loguniform(0.3, 10.0),
    }
    # L2 is what tables differ in; of the rest, one choice was as good as any (decision 28)
    shortlist = tuple(
        {"l2": l2, "lr": 0.005, "alpha": 0.2, "gamma": 0.12, "prior": 4.0}
        for l2 in (0.012, 0.025, 0.005, 0.05)
    )
    limits = {
        **dict.fromkeys(("alpha", "gamma", "prior"), "[0, inf)"),
        "pooling": "(0, inf); it counts rows",
    }

    def networks(self, n_features: int, n_classes: int) -> dict[str, NetShape]:
        """Theta on x; phi, a separate network, on x, with K x K outputs."""
        theta = NetShape((n_features,), n_classes)
        return {"theta": theta, "phi": NetShape((n_features,), n_classes**2)}

    def stages(self) -> tuple[Stage, ...]:
        """Return step 1 on A, then step 2 on all rows; both train theta and phi."""
        both = ("theta", "phi")
        watch = self.likelihood if self.by_likelihood else None
        step_1, step_2 = (Step(self.step_1, both),), (Step(self.step_2, both),)
        return (
            Stage("step 1", step_1, rows="alignment", watch=watch, begin=self.count),
            Stage("step 2", step_2, watch=watch),
        )

    def step_1(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """L_theta + alpha (L_phi + prior/|A| L_prior)."""
        ce = cross_entropy(nets.theta(b.x), b.y_true)
        return b.mean(ce, b.aligned) + self.loss_errors(self.log_transition(nets, b), b, h)

    def step_2(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """L_obs + gamma L_theta + alpha (L_phi + prior/|A| L_prior)."""
        logits, log_T = nets.theta(b.x), self.log_transition(nets, b)
        loss = self.loss_observed(logits, log_T, b) + self.loss_errors(log_T, b, h)
        return loss + h.gamma * b.mean(cross_entropy(logits, b.y_known), b.aligned)

    def likelihood(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """Mean log P(y, y~ | x) of reviewed rows: the score that stops and selects."""
        ce = cross_entropy(nets.theta(b.x), b.y_known)
        return b.mean(log_error(self.log_transition(nets, b), b) - ce, b.aligned)

    def loss_observed(self, logits: Tensor, log_T: Tensor, b: Batch) -> Tensor:
        """L_obs: mean of -log P(y~ | x) outside A, with groups weighted by size or equally."""
        seen = -log_joint(logits, log_T, b).logsumexp(-2)
        if not self.equal_groups:
            return b.mean(seen, b.unaligned)
        rows = b.unaligned_membership
        present = (rows.sum(-2) > 0).sum(-1)
        return b.group_means(seen, rows).sum(-1) / present.clamp_min(1)

    def loss_errors(self, log_T: Tensor, b: Batch, h: Hyper) -> Tensor:
        """Alpha (L_phi + prior/|A| L_prior)."""
        sums = b.membership.mT @ log_T.flatten(-3, -2).mT  # (..., G, K*K)
        mean = (b.facts["T_hat"].flatten(-2) * sums).sum((-2, -1)) / b.n_classes
        mean = mean / b.weight.sum(-1).clamp_min(1e-12)
        own = b.mean(log_error(log_T, b), b.aligned)
        return -h.alpha * (own + h.prior / b.facts["n_reviewed"] * mean)

    def log_transition(self, nets: Nets, b: Batch) -> Tensor:
        """Log T(x) (..., K, K, B): true classes, observed classes, rows."""
        n = b.n_classes
        start = math.log(START_RIGHT * (n - 1) / (1 - START_RIGHT))
        eye = start * torch.eye(n, dtype=b.x.dtype, device=b.weight.device)
        flat = nets.phi(b.x).mT  # (..., K*K, B)
        logits = flat.reshape(*flat.shape[:-2], n, n, flat.shape[-1]) + eye.unsqueeze(-1)
        return torch.log_softmax(logits, dim=-2)

    def count(self, nets: Nets, b: Batch, h: Hyper) -> Facts:
        """T^ (..., G, K, K), the transition matrix of each group, and |A| (...)."""
        pairs = b.true_onehot.mT.unsqueeze(-2) * b.seen_onehot.mT.unsqueeze(-3)
        flat = b.aligned_membership.mT @ pairs.flatten(-3, -2).mT  # (..., G, K*K)
        counts = flat.reshape(*flat.shape[:-1], b.n_classes, b.n_classes)
        eye = torch.eye(b.n_classes, dtype=counts.dtype, device=counts.device)
        pooled = _rows_to_one(counts.sum(-3, keepdim=True) + eye)
        T_hat = _rows_to_one(counts + h.pooling[..., None, None, None] * pooled)
        n_reviewed = b.aligned.sum(-1).clamp_min(1e-12)
        return Facts(replica={"T_hat": T_hat, "n_reviewed": n_reviewed})

    def confidence(self, nets: Nets, b: Batch) -> Tensor:
        """P(y = y~ | x, y~) (..., B): the posterior that the observed label is right."""
        joint = log_joint(nets.theta(b.x), self.log_transition(nets, b), b)
        return (joint.softmax(-2) * b.seen_onehot.mT).sum(-2)


def log_joint(logits: Tensor, log_T: Tensor, b: Batch) -> Tensor:
    """Log P(y = i, y~ | x) (..., K, B) for every true class i and the observed y~."""
    return log_softmax(logits).mT + (log_T * b.seen_onehot.mT.unsqueeze(-3)).sum(-2)


def log_error(log_T: Tensor, b: Batch) -> Tensor:
    """Log P(y~ | y, x) (..., B) of reviewed rows."""
    true = b.true_onehot.mT.unsqueeze(-2)
    return ((log_T * true).sum(-3) * b.seen_onehot.mT).sum(-2)


def _rows_to_one(matrix: Tensor) -> Tensor:
    return matrix / matrix.sum(-1, keepdim=True)
