"""Part-dependent transition (PTD; Xia et al., NeurIPS 2020), its matrices learned from A.

T(x)       = sum_m h_m(x) P^m,   T_ij(x) = P(y~ = j | y = i, x),   P(y~ | x) = T(x)' f(x)
Warm-up    min over theta of  mean_D CE(f(x), y~)
Parts      Z ~ H B, H and B >= 0, Z the last hidden layer; h(x) = row of H scaled to sum to one
P          = argmax  sum_A log sum_m h_m(x) P^m_{y y~} + prior sum_m sum_i log P^m_ii
Train      forward:     min over theta of  mean -log (T(x)' f(x))_y~
           reweighted:  min over theta of  mean w CE(f(x), y~),   w = f_y~ / (T(x)' f(x))_y~
Revision   T + D in place of T, rows scaled to sum to one; D starts at 0 and is trained
Reviewed rows keep cross entropy against the true label throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.stats import loguniform

from alignset.extras import torch
from alignset.methods.base import Batch, Facts, Hyper, Method, Nets, Stage, Step, loss_known
from alignset.stack import NetShape, cross_entropy, softmax

if TYPE_CHECKING:
    from torch import Tensor


ROWS_PER_PART = 10
"""A part starts as a random average of about this many rows."""

NMF_STEPS, EM_STEPS = 20, 100
MIN_SHARE, MAX_WEIGHT, TINY = 1e-6, 10.0, 1e-12

REVISION = 0.01
"""Scale of D, which learns at the network's rate; the authors give it 1e-4 of that rate."""


@dataclass(frozen=True)
class Parts(Method):
    """Correct the loss with a transition matrix that is a mixture of one matrix per part.

    Parameters
    ----------
    prior : float, default 1.0
        Pseudo-count on the diagonal of every part matrix: the belief that labels are right.
    n_parts : int, default 5
        Number of parts; better no more than a fifth of the number of reviewed rows.
    warm_up : int, default 5
        Epochs of plain cross entropy before the parts are read off the last hidden layer.
    reweight : bool, default False
        Reweight cross entropy (the authors' PTD-R) instead of correcting the prediction
        (PTD-F), which varies less on small data.
    revise : bool, default False
        Add a stage that trains a correction of T along with the network (the authors' -V).

    Examples
    --------
    >>> [stage.name for stage in Parts(revise=True).stages()]
    ['warm-up', 'train', 'revision']
    """

    prior: float = 1.0
    n_parts: int = 5
    warm_up: int = 5
    reweight: bool = False
    revise: bool = False

    name = "parts"
    title = "Transition (PTD)"
    reference = "xia2020"
    order = 9
    assumes = "noise depends on class and on parts that rows are made of"
    needs_alignment = True
    space = {"prior": loguniform(0.1, 10.0)}
    limits = {"prior": "(0, inf)", "n_parts": "[1, inf)", "warm_up": "[0, inf)"}

    def networks(self, n_features: int, n_classes: int) -> dict[str, NetShape]:
        """Theta on x; for the revision also D, as a network whose only input is a constant."""
        theta = NetShape((n_features,), n_classes)
        return {"theta": theta, **({"delta": NetShape((1,), n_classes**2)} if self.revise else {})}

    def stages(self) -> tuple[Stage, ...]:
        """Return the warm-up, training with a fixed T, and the revision if asked for."""
        warm_up = Stage("warm-up", (Step(loss_known, ("theta",)),), epochs=self.warm_up)
        train = Stage("train", (Step(self.loss, ("theta",)),), begin=self.estimate)
        step = Step(self.loss_revised, ("theta", "delta"))
        revision = Stage("revision", (step,), begin=self.start_of_revision)
        return (warm_up, train, revision) if self.revise else (warm_up, train)

    def loss(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """Cross entropy on A, corrected by T elsewhere; w is a constant."""
        return self.corrected(nets.theta(b.x), b.facts["column"], b, attached=False)

    def loss_revised(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """Cross entropy on A, corrected by T + D elsewhere; w is differentiated."""
        delta = _square(self.output(nets, b) - b.facts["D_0"], b.n_classes)
        revised = (b.facts["T"] + REVISION * delta).abs()  # (..., B, K, K)
        revised = revised / revised.sum(-1, keepdim=True).clamp_min(TINY)
        return self.corrected(nets.theta(b.x), self.column(revised, b), b, attached=True)

    def corrected(self, logits: Tensor, column: Tensor, b: Batch, *, attached: bool) -> Tensor:
        """Mean over rows of CE on A and, elsewhere, -log (T' f)_y~ or w CE."""
        if not self.reweight:
            return b.mean_corrected(logits, column)
        ce, w = cross_entropy(logits, b.y_known), self.weight(logits, column, b)
        return b.mean_apart(ce, (w if attached else w.detach()) * ce)

    @staticmethod
    def weight(logits: Tensor, column: Tensor, b: Batch) -> Tensor:
        """Return w = f_y~ / (T' f)_y~ of every row (..., B), capped."""
        f = softmax(logits)
        mixed = (f * column).sum(-1).clamp_min(MIN_SHARE)
        return (b.of_seen(f) / mixed).clamp_max(MAX_WEIGHT)

    @staticmethod
    def column(T: Tensor, b: Batch) -> Tensor:
        """T_iy~(x) (..., B, K): the only part of T that the loss needs."""
        return (T * b.seen_onehot.unsqueeze(-2)).sum(-1)

    def estimate(self, nets: Nets, b: Batch, h: Hyper) -> Facts:
        """Compute T for every row, and keep what later stages need of it."""
        T = self.transition(nets, b, h)
        return Facts(row={"column": self.column(T, b), **({"T": T} if self.revise else {})})

    def transition(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """T(x) of every row (..., N, K, K): parts from the features, part matrices from A."""
        parts = self.parts(nets.theta.features(b.x), b)
        matrices = self.part_matrices(parts, b, h.prior)
        return _square(parts @ matrices.flatten(-2), b.n_classes)

    def parts(self, z: Tensor, b: Batch) -> Tensor:
        """h(x) (..., N, r): coefficients of non-negative parts, by multiplicative updates."""
        here = (b.weight > 0).unsqueeze(-1)
        z = z.clamp_min(0.0) * here  # (..., N, H)
        sharp = here.sum(-2, keepdim=True) / ROWS_PER_PART
        few = b.draw.uniform(self.n_parts, "parts").to(z.dtype).pow(sharp) * here  # (..., N, r)
        basis = (few / few.sum(-2, keepdim=True)).mT @ z  # (..., r, H)
        h = b.draw.uniform(self.n_parts, "coefficients").to(z.dtype)
        for _ in range(NMF_STEPS):
            h = h * (z @ basis.mT) / (h @ (basis @ basis.mT) + TINY)
            basis = basis * (h.mT @ z) / (h.mT @ h @ basis + TINY)
        # the scale of a part is arbitrary: give each one mass 1
        h = h * basis.sum(-1).unsqueeze(-2)
        h = h / h.sum(-1, keepdim=True).clamp_min(TINY)
        h = torch.where(h < MIN_SHARE, 0.0, h)
        total = h.sum(-1, keepdim=True)
        return torch.where(total > 0, h / total.clamp_min(TINY), 1.0 / self.n_parts)

    def part_matrices(self, parts: Tensor, b: Batch, prior: Tensor) -> Tensor:
        """P (..., r, K, K): most likely part matrices for the pairs (y, y~) of A, by EM."""
        k = b.n_classes
        code = torch.where(b.aligned > 0, b.y_true * k + b.y_seen, -1)
        pair = (code.unsqueeze(-1) == torch.arange(k * k, device=code.device)).to(parts.dtype)
        pseudo = prior[..., None, None, None] * torch.eye(k, dtype=parts.dtype, device=code.device)
        P = (pseudo + 1.0).expand(*parts.shape[:-2], self.n_parts, k, k)
        for _ in range(EM_STEPS):
            P = P / P.sum(-1, keepdim=True)
            joint = parts * (pair @ P.flatten(-2).mT)  # (..., N, r)
            belongs = joint / joint.sum(-1, keepdim=True).clamp_min(TINY) * b.aligned.unsqueeze(-1)
            P = _square(belongs.mT @ pair, k) + pseudo
        return P / P.sum(-1, keepdim=True)

    def start_of_revision(self, nets: Nets, b: Batch, h: Hyper) -> Facts:
        """Remember the untrained output of the network for D, so that D starts at zero."""
        return Facts(replica={"D_0": self.output(nets, b)})

    @staticmethod
    def output(nets: Nets, b: Batch) -> Tensor:
        """Output of the network for D (..., 1, K * K)."""
        return nets.delta(torch.ones_like(b.weight[..., :1]).unsqueeze(-1))


def _square(flat: Tensor, k: int) -> Tensor:
    return flat.reshape(*flat.shape[:-1], k, k)
