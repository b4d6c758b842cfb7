"""Gold loss correction (Hendrycks et al., NeurIPS 2018).

Stage 1    noisy(x), trained on the unreviewed rows alone:  min of  mean_Abar CE(noisy(x), y~)
C^_ij      = mean over {a in A, y_a = i} of  P_noisy(y~ = j | x_a)        (row true, column seen)
Stage 2    theta, from scratch, on all rows:
           min of  [ sum_A CE(f(x), y) + sum_Abar -log (C^' f(x))_y~ ] / B
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from alignset.extras import torch
from alignset.methods.base import Batch, Facts, Hyper, Method, Nets, Stage, Step, observed_fit
from alignset.stack import NetShape, cross_entropy, softmax

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class GLC(Method):
    """Learn from the reviewed rows how labels go wrong, and correct for it on the others.

    Parameters
    ----------
    counts : bool, default False
        Estimate C^ by counting (true, observed) pairs on A instead of averaging the noisy
        network's posterior. This is possible because reviewed rows keep their observed label;
        unbiased, but coarser for a small A.
    per_group : bool, default False
        One C^ per group. A class that A lacks in a group takes the row of all groups together; a
        class that A lacks altogether takes the row of the identity.

    Examples
    --------
    >>> [stage.name for stage in GLC().stages()], [s.name for s in GLC(counts=True).stages()]
    (['noisy', 'train'], ['train'])
    """

    counts: bool = False
    per_group: bool = False

    name = "glc"
    title = "GLC"
    reference = "hendrycks2018"
    order = 12
    assumes = "observed label independent of the true one given x"
    needs_alignment = True

    def networks(self, n_features: int, n_classes: int) -> dict[str, NetShape]:
        """Theta, and the network of stage 1."""
        theta = NetShape((n_features,), n_classes)
        return {"theta": theta} if self.counts else {"theta": theta, "noisy": theta}

    def stages(self) -> tuple[Stage, ...]:
        """Return the noisy network's stage, unless pairs are counted, and then theta's."""
        noisy = Stage("noisy", (Step(loss_noisy, ("noisy",)),), watch=observed_fit("noisy"))
        train = Stage("train", (Step(self.loss, ("theta",)),), begin=self.estimate)
        return (train,) if self.counts else (noisy, train)

    def estimate(self, nets: Nets, b: Batch, h: Hyper) -> Facts:
        """C^ (..., G, K, K), one for all groups unless ``per_group``."""
        seen = b.seen_onehot if self.counts else softmax(nets.noisy(b.x))
        pooled = _row_means(b.sums_by_class(seen, b.aligned), torch.eye(b.n_classes).to(b.weight))
        if not self.per_group:
            return Facts(replica={"C_hat": pooled.unsqueeze(-3)})
        groups = [b.membership[..., g] * (b.aligned > 0) for g in range(b.n_groups)]
        own = [_row_means(b.sums_by_class(seen, rows), pooled) for rows in groups]
        return Facts(replica={"C_hat": torch.stack(own, dim=-3)})

    def loss(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """[ sum_A CE(f(x), y) + sum_Abar -log (C^' f(x))_y~ ] / B."""
        return b.mean_corrected(nets.theta(b.x), self.likelihood(b))

    def likelihood(self, b: Batch) -> Tensor:
        """C^_{k, y~}: how likely the observed label is under each class k (..., B, K)."""
        C_hat = b.facts["C_hat"]
        columns = [b.seen_onehot @ C_hat[..., g, :, :].mT for g in range(C_hat.shape[-3])]
        if not self.per_group:
            return columns[0]
        mine = [(b.group == g).unsqueeze(-1) * c for g, c in enumerate(columns)]
        return torch.stack(mine).sum(0)


def loss_noisy(nets: Nets, b: Batch, h: Hyper) -> Tensor:
    """Mean over Abar of CE(noisy(x), y~)."""
    return b.mean(cross_entropy(nets.noisy(b.x), b.y_seen), b.unaligned)


def _row_means(sums: Tensor, otherwise: Tensor) -> Tensor:
    total = sums.sum(-1, keepdim=True)
    return torch.where(total > 0, sums / total.clamp_min(1e-12), otherwise)
