"""Confidence-scored instance-dependent noise (CSIDN, with ILFC; Berthon et al., ICML 2021).

Confidence r(x) = P(y = y~ | y~, x)
T_ii(x)    = r(x) beta(x),   beta = P(y~ = i | x) / P(y = i | x),   for i = y~
T_ii       = mu_i, the mean of T_y~y~ over the rows with y~ = i,    for i != y~
T_ij(x)    = alpha_ij (1 - T_ii(x)),   alpha_ij = P(y~ = j | y = i, y~ != i)
Naive      min over naive of  mean_D CE(n(x), y~), the observed labels of A included
Confidence no one gives r here, so it is learned on A
Train      min over theta of  mean -log (T(x)' f(x))_y~,   first with beta = 1,
           then beta = n_y~ / (epsilon + f_y~), a constant
Reviewed rows keep cross entropy; alpha is estimated from them, with one pseudo-count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from alignset.extras import torch
from alignset.methods.base import Batch, Facts, Hyper, Method, Nets, Stage, Step, observed_fit
from alignset.stack import NetShape, binary_cross_entropy, cross_entropy, softmax

if TYPE_CHECKING:
    from torch import Tensor


MIN_DIAGONAL = 1e-3
RATIO = (0.1, 10.0)
"""Bounds on beta: early in training it is a ratio of two poor guesses."""


@dataclass(frozen=True)
class CSIDN(Method):
    """Correct the prediction with each row's own transition matrix, built from a confidence.

    Parameters
    ----------
    epsilon : float, default 0.01
        Added to the denominator of beta.
    cap : float, default 0.99
        Largest diagonal entry of T.
    warm_start : int, default 5
        Epochs with beta = 1.
    posterior : bool, default False
        The confidence is that of a classifier of the true label, trained on A, in the observed
        label; False trains a network on (x, observed label) to say whether that label is right.

    Examples
    --------
    >>> [stage.name for stage in CSIDN().stages()]
    ['naive', 'confidence', 'warm start', 'train']
    """

    epsilon: float = 0.01
    cap: float = 0.99
    warm_start: int = 5
    posterior: bool = False

    name = "csidn"
    title = "CSIDN"
    reference = "berthon2021"
    order = 10
    assumes = "a confidence for every label; wrong labels spread by class only"
    needs_alignment = True
    limits = {"epsilon": "[0, inf)", "cap": f"({MIN_DIAGONAL}, 1]", "warm_start": "[0, inf)"}

    def networks(self, n_features: int, n_classes: int) -> dict[str, NetShape]:
        """Theta and naive on x; phi, the confidence, on x or on (x, one-hot observed label)."""
        x = NetShape((n_features,), n_classes)
        phi = x if self.posterior else NetShape((n_features, n_classes), 1)
        return {"theta": x, "naive": x, "phi": phi}

    def stages(self) -> tuple[Stage, ...]:
        """Return the stages: naive network, confidence, and theta without and with beta."""
        naive = Step(self.loss_naive, ("naive",))
        phi = Step(self.loss_phi, ("phi",))
        step = Step(self.loss_beta_1, ("theta",))
        return (
            Stage("naive", (naive,), watch=observed_fit("naive")),
            Stage("confidence", (phi,), "alignment", lambda n, b, h: -self.loss_phi(n, b, h)),
            Stage("warm start", (step,), begin=self.scores, epochs=self.warm_start),
            Stage("train", (Step(self.loss, ("theta",)),), each_epoch=self.mean_diagonal),
        )

    def loss_naive(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """Mean cross entropy of the naive network against the observed labels, also on A."""
        return b.mean(cross_entropy(nets.naive(b.x), b.y_seen), b.weight)

    def loss_phi(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """Mean loss on A of the network the confidence comes from."""
        if self.posterior:
            return b.mean(cross_entropy(nets.phi(b.x), b.y_true), b.aligned)
        logit = nets.phi(b.x, b.seen_onehot).squeeze(-1)
        return b.mean(binary_cross_entropy(logit, b.correct), b.aligned)

    def loss_beta_1(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """Cross entropy on A, corrected by T with beta = 1 elsewhere."""
        return self.corrected(nets.theta(b.x), b.facts["r"], b, h)

    def loss(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """Cross entropy on A, corrected by T elsewhere."""
        logits = nets.theta(b.x)
        return self.corrected(logits, b.facts["r"] * self.beta(logits, b, h), b, h)

    def corrected(self, logits: Tensor, diagonal: Tensor, b: Batch, h: Hyper) -> Tensor:
        """Mean over rows of CE on A and -log (T' f)_y~ elsewhere, T without gradient."""
        return b.mean_corrected(logits, self.column(diagonal, b, h))

    def beta(self, logits: Tensor, b: Batch, h: Hyper) -> Tensor:
        """Beta (..., B): how much likelier the label is to be observed than to be true."""
        f = b.of_seen(softmax(logits.detach()))
        return (b.facts["n"] / (h.epsilon.unsqueeze(-1) + f)).clamp(*RATIO)

    def column(self, diagonal: Tensor, b: Batch, h: Hyper) -> Tensor:
        """T_iy~(x) (..., B, K): the row's own diagonal where i = y~, else alpha_iy~ (1 - mu_i)."""
        wrong = (1.0 - b.facts["mu"]).unsqueeze(-1) * b.facts["alpha"]  # (..., K, K)
        own = b.seen_onehot * self.capped(diagonal, h).unsqueeze(-1)
        return own + b.seen_onehot @ wrong.mT

    def capped(self, diagonal: Tensor, h: Hyper) -> Tensor:
        """Keep r beta (..., B) between MIN_DIAGONAL and the cap."""
        return torch.minimum(diagonal, h.cap.unsqueeze(-1)).clamp_min(MIN_DIAGONAL)

    def scores(self, nets: Nets, b: Batch, h: Hyper) -> Facts:
        """Confidence r and n_y~ (..., N), alpha (..., K, K), and mu (..., K) for beta = 1."""
        r, n = self.confidence(nets, b), b.of_seen(softmax(nets.naive(b.x)))
        facts = {"alpha": self.alpha(b), "mu": self.mu(r, b, h)}
        return Facts(replica=facts, row={"r": r, "n": n})

    def mean_diagonal(self, nets: Nets, b: Batch, h: Hyper) -> Facts:
        """Mu (..., K) of the current network."""
        beta = self.beta(nets.theta(b.x), b, h)
        return Facts(replica={"mu": self.mu(b.facts["r"] * beta, b, h)})

    def mu(self, diagonal: Tensor, b: Batch, h: Hyper) -> Tensor:
        """mu_i (..., K): mean diagonal over the rows observed as i."""
        rows = b.seen_onehot * b.weight.unsqueeze(-1)  # (..., N, K)
        total = (self.capped(diagonal, h).unsqueeze(-2) @ rows).squeeze(-2)
        return (total / rows.sum(-2).clamp_min(1e-12)).clamp_min(MIN_DIAGONAL)

    @staticmethod
    def alpha(b: Batch) -> Tensor:
        """alpha_ij (..., K, K): share of j among A's wrong labels of class i; diagonal zero."""
        off = 1.0 - torch.eye(b.n_classes, dtype=b.weight.dtype, device=b.weight.device)
        count = (b.sums_by_class(b.seen_onehot, b.aligned) + 1.0) * off
        return count / count.sum(-1, keepdim=True)

    def confidence(self, nets: Nets, b: Batch) -> Tensor:
        """r(x) (..., B): P(the observed label is right | x, observed label)."""
        if self.posterior:
            return b.of_seen(softmax(nets.phi(b.x)))
        return torch.sigmoid(nets.phi(b.x, b.seen_onehot).squeeze(-1))
