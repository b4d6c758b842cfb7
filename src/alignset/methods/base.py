"""What a method is: networks, losses and stages. What a loss may look at: a batch.

Every tensor here is (..., B), (..., B, K) or (...), where ``...`` is the replica axis (in memory
two axes, problem rows and slots). A loss is written as for one model: it reduces rows, classes
and groups only, and returns one number per replica.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from alignset.labels import UNREVIEWED
from alignset.methods.space import LogUniform, Space
from alignset.rows import Problem
from alignset.stack import Draws, Net, NetShape, group_sums, mean_rows, softmax
from alignset.stack.sparse import Block, SparseRows


def _forget(name: str, value: Tensor) -> None:
    """Remember nothing: what a batch outside of training does."""


@dataclass(frozen=True, eq=False)
class Batch:
    """The rows a loss may look at.

    Parameters
    ----------
    x : Tensor of shape (..., B, D), or SparseRows that stand for one
        Features, shared by all configs of a problem. Networks read either kind; arithmetic on
        features goes through ``x_dense``.
    y_seen, y_true, group : int64 Tensor of shape (..., B)
        Observed label; true label (``UNREVIEWED`` outside the alignment set); group.
    weight : Tensor of shape (..., B)
        How much each row counts; zero on padding.
    n_classes, n_groups : int
    epoch : int64 Tensor of shape ()
        Epoch within the stage, from 1; a tensor, because recorded epochs are replayed.
    draw : Draws
        The only source of randomness.
    facts : mapping of str to Tensor
        What earlier stages worked out: per replica (...), or per row (..., B, ...).
    remember : callable
        ``remember(name, value)`` overwrites a row fact of these rows, for the epochs to come.

    Examples
    --------
    >>> y_seen, y_true = torch.tensor([[0, 1, 1]]), torch.tensor([[1, UNREVIEWED, 1]])
    >>> rows, draw = torch.ones(1, 3), Draws(torch.tensor([[0]]), torch.arange(3))
    >>> b = Batch(rows, y_seen, y_true, torch.zeros_like(y_seen), rows, 2, 1, 1, draw)
    >>> b.y_known, b.aligned
    (tensor([[1, 1, 1]]), tensor([[1., 0., 1.]]))
    """

    x: Block
    y_seen: Tensor
    y_true: Tensor
    group: Tensor
    weight: Tensor
    n_classes: int
    n_groups: int
    epoch: Tensor
    draw: Draws
    facts: Mapping[str, Tensor] = field(default_factory=dict)
    remember: Callable[[str, Tensor], None] = _forget

    @cached_property
    def x_dense(self) -> Tensor:
        """Features as a dense tensor (..., B, D); costs memory where they are sparse."""
        return self.x.dense() if isinstance(self.x, SparseRows) else self.x

    @cached_property
    def aligned(self) -> Tensor:
        """Weight of the rows of A, zero elsewhere (..., B)."""
        return self.weight * (self.y_true != UNREVIEWED)

    @cached_property
    def unaligned(self) -> Tensor:
        """Weight of the rows outside A, zero elsewhere (..., B)."""
        return self.weight * (self.y_true == UNREVIEWED)

    @cached_property
    def y_known(self) -> Tensor:
        """The true label where reviewed, else the observed one: the rule all methods share."""
        return torch.where(self.y_true == UNREVIEWED, self.y_seen, self.y_true)

    @cached_property
    def correct(self) -> Tensor:
        """1 where the observed label is the true one; meaningful on A only (..., B)."""
        return (self.y_seen == self.y_true).to(self.x.dtype)

    def onehot(self, label: Tensor) -> Tensor:
        """One-hot labels (..., B, K) of codes (..., B); zero where there is none."""
        classes = torch.arange(self.n_classes, device=label.device).unsqueeze(-1)
        # rows contiguous, as in what networks answer: mixed layouts are several times slower
        return (label.unsqueeze(-2) == classes).to(self.x.dtype).mT

    @cached_property
    def seen_onehot(self) -> Tensor:
        """One-hot observed label (..., B, K)."""
        return self.onehot(self.y_seen)

    @cached_property
    def true_onehot(self) -> Tensor:
        """One-hot true label (..., B, K); zero for rows nobody reviewed."""
        return self.onehot(self.y_true)

    @cached_property
    def membership(self) -> Tensor:
        """Weight of each row in its group, zero in the others (..., B, G)."""
        groups = torch.arange(self.n_groups, device=self.group.device)
        return (self.group.unsqueeze(-1) == groups) * self.weight.unsqueeze(-1)

    @cached_property
    def aligned_membership(self) -> Tensor:
        """Membership of the rows of A; zero for rows nobody reviewed (..., B, G)."""
        return self.membership * (self.y_true != UNREVIEWED).unsqueeze(-1)

    @cached_property
    def unaligned_membership(self) -> Tensor:
        """Membership of the rows outside A; zero for reviewed rows (..., B, G)."""
        return self.membership * (self.y_true == UNREVIEWED).unsqueeze(-1)

    def group_means(self, values: Tensor, rows: Tensor | None = None) -> Tensor:
        """Mean over each group's rows (..., G), all or those ``rows`` (..., B, G) gives weight to.

        Zero for a group with no such row here.
        """
        rows = self.membership if rows is None else rows
        return group_sums(values, rows) / rows.sum(-2).clamp_min(1e-12)

    @staticmethod
    def mean(values: Tensor, where: Tensor) -> Tensor:
        """Mean over the rows that ``where`` gives weight to (...)."""
        return mean_rows(values, where)


class Hyper:
    """Hyperparameters by name, each a (...) tensor with one value per replica."""

    def __init__(self, **values: Tensor) -> None:
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Tensor:
        raise AttributeError(f"this method has no hyperparameter named {name!r}")


class Nets:
    """The method's networks by name: ``nets.theta(b.x)``."""

    def __init__(self, **nets: Net) -> None:
        self.__dict__.update(nets)

    def __getattr__(self, name: str) -> Net:
        raise AttributeError(f"this method has no network named {name!r}")


Loss = Callable[[Nets, Batch, Hyper], Tensor]
"""(nets, batch, hyper) -> (...), one number per replica."""


@dataclass(frozen=True)
class Facts:
    """What a stage works out from the whole training set before it trains.

    Examples
    --------
    >>> Facts(replica={"clean_rate": torch.ones(1, 1, 2)}).replica["clean_rate"].shape
    torch.Size([1, 1, 2])
    """

    replica: Mapping[str, Tensor] = field(default_factory=dict)
    row: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """One objective, and the networks it moves; every other network is frozen.

    Examples
    --------
    >>> Step(lambda nets, b, h: h.gamma, trains=("theta",)).trains
    ('theta',)
    """

    loss: Loss
    trains: tuple[str, ...]


@dataclass(frozen=True)
class Stage:
    """Steps cycled epoch by epoch (or batch by batch) until each replica stops early.

    Parameters
    ----------
    name : str
    steps : tuple of Step
    rows : "all" or "alignment"
        Which training rows the stage sees.
    watch : callable, optional
        ``watch(nets, validation_batch, hyper) -> (...)``, higher is better: what early stopping
        looks at. Default: the trainer's score of theta. A stage that does not train theta must
        name its own.
    begin, each_epoch : callable, optional
        ``(nets, all_training_rows, hyper) -> Facts``, without gradient, before the first epoch
        and before every epoch.
    epochs : int, optional
        A fixed length; no early stopping.
    per_batch : bool, default False
        Cycle the steps batch by batch instead of epoch by epoch.
    together : bool, default False
        Take every step, in order, on every batch, instead of one of them in turn.
    average : float, optional
        Keep an exponential moving average of the weights with this decay, and score and return
        that instead of the weights themselves.

    Examples
    --------
    >>> Stage("warm up", (Step(lambda nets, b, h: h.lr, ("theta",)),), epochs=5).rows
    'all'
    """

    name: str
    steps: tuple[Step, ...]
    rows: Literal["all", "alignment"] = "all"
    watch: Loss | None = None
    begin: Callable[[Nets, Batch, Hyper], Facts] | None = None
    each_epoch: Callable[[Nets, Batch, Hyper], Facts] | None = None
    epochs: int | None = None
    per_batch: bool = False
    together: bool = False
    average: float | None = None


@dataclass(frozen=True)
class Method(ABC):
    """A way to learn from noisy labels: networks, losses, stages.

    Float fields of a subclass are hyperparameters and may differ inside a stack; all other fields
    shape the algorithm and may not. ``lr`` and ``l2`` belong to every method.
    """

    lr: float = 1e-3
    l2: float = 1e-3

    space: ClassVar[Space] = {}
    title: ClassVar[str]
    reference: ClassVar[str]
    assumes: ClassVar[str]
    uses_alignment: ClassVar[bool] = True
    uses_groups: ClassVar[bool] = False
    needs_alignment: ClassVar[bool] = False

    @abstractmethod
    def stages(self) -> tuple[Stage, ...]:
        """Return the algorithm, top to bottom."""

    def networks(self, n_features: int, n_classes: int) -> dict[str, NetShape]:
        """Return the networks by name; ``theta`` is the one that predicts."""
        return {"theta": NetShape((n_features,), n_classes)}

    def confidence(self, nets: Nets, b: Batch) -> Tensor:
        """P(observed label is right) per row (..., B); default: theta's belief in it."""
        p = softmax(nets.theta(b.x))
        return (p * b.seen_onehot).sum(-1)

    def predict(self, nets: Nets, x: Block) -> Tensor:
        """Class probabilities (..., B, K)."""
        return softmax(nets.theta(x))

    def check(self, problem: Problem) -> None:
        """Raise ValueError where this method cannot be trained on this problem."""
        if self.needs_alignment and not problem.train.reviewed.any():
            raise ValueError(
                f"{type(self).__name__} needs reviewed rows in the training part, got none; "
                "review some rows, or use Standard()."
            )

    @classmethod
    def search_space(cls) -> Space:
        """Where random search looks by default: learning rate, L2 and the method's own ranges."""
        return {"lr": LogUniform(1e-4, 1e-2), "l2": LogUniform(1e-4, 1e-1), **cls.space}

    @classmethod
    def hyperparameters(cls) -> tuple[str, ...]:
        """Names of the float fields, which may differ from replica to replica."""
        return tuple(f.name for f in fields(cls) if f.type in (float, "float"))

    def hyper_defaults(self) -> dict[str, Any]:
        """Return this method's own value of every hyperparameter."""
        return {name: getattr(self, name) for name in self.hyperparameters()}
