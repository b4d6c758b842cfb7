"""Confident learning (Northcutt et al., JAIR 2021), through cleanlab.

Stage 1    networks fold_0 .. fold_4, each trained with CE on the rows outside its fold
cleanlab   finds the label issues in the out-of-fold probabilities; A is never pruned
Stage 2    theta, from scratch:  min of the weighted mean of CE(f(x), known label) over the rest,
           unreviewed rows of class k weighted by 1 / P(y~ = k | y = k), which restores its size
"""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alignset.extras import need, torch
from alignset.methods.base import Batch, Facts, Hyper, Method, Nets, Stage, Step
from alignset.stack import Net, NetShape, cross_entropy, softmax

if TYPE_CHECKING:
    from torch import Tensor

MIN_NOISE_DIAGONAL = 1e-3
"""Floor of P(y~ = k | y = k), cleanlab's own."""

_ONE_AT_A_TIME = threading.Lock()
"""cleanlab passes arrays in global variables, and stacks train in threads."""


@dataclass(frozen=True)
class ConfidentLearning(Method):
    """Remove the rows that cleanlab reports as label issues, and train on the rest.

    Needs ``pip install alignset[label]``.

    Parameters
    ----------
    folds : int, default 5
        Number of networks that predict each other's rows.
    reweight : bool, default True
        Reweight the kept rows of each class, as cleanlab's ``CleanLearning`` does.

    Notes
    -----
    A hash deals rows into folds, whatever their class. cleanlab ignores row weights: it sees a
    row of weight 3 as one row.

    Examples
    --------
    >>> list(ConfidentLearning(folds=2).networks(20, 2))
    ['theta', 'fold_0', 'fold_1']
    """

    folds: int = 5
    reweight: bool = True

    name = "confident"
    title = "Confident learning"
    reference = "northcutt2021"
    order = 20
    assumes = "the noise depends on the class only"
    limits = {"folds": "[2, inf)"}

    def __post_init__(self) -> None:
        super().__post_init__()
        need("ConfidentLearning", "cleanlab")

    def networks(self, n_features: int, n_classes: int) -> dict[str, NetShape]:
        """Theta, and one network per fold."""
        shape = NetShape((n_features,), n_classes)
        return dict.fromkeys(("theta", *self.fold_names()), shape)

    def fold_names(self) -> tuple[str, ...]:
        """Names of the networks of stage 1."""
        return tuple(f"fold_{k}" for k in range(self.folds))

    def stages(self) -> tuple[Stage, ...]:
        """Return the cross-fit, then theta's stage on the rows that cleanlab keeps."""
        fold = Step(self.loss_folds, self.fold_names())
        train = Step(loss_kept, ("theta",))
        return (
            Stage("cross-fit", (fold,), begin=self.deal, watch=self.observed_fit),
            Stage("train", (train,), begin=self.keep),
        )

    def deal(self, nets: Nets, b: Batch, h: Hyper) -> Facts:
        """Fold of every row (..., B)."""
        return Facts(row={"fold": (b.draw.uniform(1, "fold") * self.folds).floor().squeeze(-1)})

    def loss_folds(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """Sum over folds k of the mean CE of network k over the rows outside fold k."""
        losses = [
            b.mean(cross_entropy(net(b.x), b.y_known), b.weight * (b.facts["fold"] != k))
            for k, net in enumerate(self._fold_nets(nets))
        ]
        return torch.stack(losses).sum(0)

    def observed_fit(self, nets: Nets, b: Batch, h: Hyper) -> Tensor:
        """How well the fold networks predict observed labels; higher is better."""
        losses = [cross_entropy(net(b.x), b.y_seen) for net in self._fold_nets(nets)]
        return -b.mean(torch.stack(losses).mean(0), b.weight)

    def keep(self, nets: Nets, b: Batch, h: Hyper) -> Facts:
        """Weight of every row (..., B): zero for a label issue, 1 on A."""
        p = [softmax(net(b.x)) for net in self._fold_nets(nets)]
        fold = b.facts["fold"].unsqueeze(-1)
        out_of_fold = torch.stack([(fold == k) * p_k for k, p_k in enumerate(p)]).sum(0)
        kept = torch.ones_like(out_of_fold[..., 0])
        for q, c in np.ndindex(*kept.shape[:2]):
            rows = b.weight[q, 0] > 0
            labels, probs = b.y_known[q, 0, rows], out_of_fold[q, c, rows]
            found = weigh(labels.cpu().numpy(), probs.double().cpu().numpy(), self.reweight)
            kept[q, c, rows] = torch.from_numpy(found).to(kept)
        return Facts(row={"keep": torch.where(b.aligned > 0, 1.0, kept)})

    def _fold_nets(self, nets: Nets) -> list[Net]:
        return [getattr(nets, name) for name in self.fold_names()]


def loss_kept(nets: Nets, b: Batch, h: Hyper) -> Tensor:
    """Mean CE(f(x), known label) over the rows kept."""
    return b.mean(cross_entropy(nets.theta(b.x), b.y_known), b.weight * b.facts["keep"])


def weigh(
    labels: NDArray[np.int64], probs: NDArray[np.float64], reweight: bool
) -> NDArray[np.float64]:
    """Weight of each row (n,): zero where cleanlab finds an issue."""
    from cleanlab.count import compute_confident_joint, estimate_latent
    from cleanlab.filter import find_label_issues

    weight = np.ones(len(labels))
    if len(np.unique(labels)) < 2 or not np.isfinite(probs).all():
        return weight  # only one class, or a network that diverged
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about classes too rare to judge
        joint = compute_confident_joint(labels, probs)
        issue = find_label_issues(labels, probs, confident_joint=joint, n_jobs=1)
    if reweight:
        diagonal = np.nan_to_num(np.diag(estimate_latent(joint, labels)[1]), nan=1.0)
        weight = 1.0 / np.maximum(diagonal, MIN_NOISE_DIAGONAL)[labels]
    weight[issue] = 0.0
    return weight
