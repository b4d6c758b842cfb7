"""What a method consists of (networks, losses, stages), and the batch that a loss may look at.

Every tensor here is (..., B), (..., B, K) or (...), where ``...`` is the replica axis (two axes in
memory, problem rows and slots). Write a loss as if for one model: it reduces only rows, classes
and groups, and returns one number per replica.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

from scipy.stats import loguniform

from alignset.extras import torch
from alignset.labels import UNREVIEWED
from alignset.methods.space import Space, accepts, refusal
from alignset.rows import Problem
from alignset.stack import Draws, Net, NetShape, group_sums, mean_rows, softmax
from alignset.stack.losses import cross_entropy, marginal_cross_entropy
from alignset.stack.sparse import Block, SparseRows

if TYPE_CHECKING:
    from torch import Tensor


def _forget(name: str, value: Tensor) -> None:
    """Remember nothing, as a batch outside training does."""


@dataclass(frozen=True, eq=False)
class Batch:
    """The rows a loss may look at.

    Parameters
    ----------
    x : Tensor of shape (..., B, D), or SparseRows in its place
        Features, shared by all configs of a problem. Networks read either kind; use ``x_dense``
        for arithmetic on features.
    y_seen, y_true, group : int64 Tensor of shape (..., B)
        Observed label; true label (``UNREVIEWED`` outside the alignment set); group.
    weight : Tensor of shape (..., B)
        How much each row counts; zero on padding.
    n_classes, n_groups : int
    epoch : int64 Tensor of shape ()
        Epoch within the stage, counted from 1; a tensor, because recorded epochs are replayed.
    draw : Draws
        The only source of randomness.
    facts : mapping of str to Tensor
        What earlier stages computed: per replica (...), or per row (..., B, ...).
    remember : callable
        ``remember(name, value)`` overwrites a row fact for these rows, for later epochs.

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
        """Features as a dense tensor (..., B, D); takes memory if they are sparse."""
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
        """1 where the observed label is the true one; meaningful only on A (..., B)."""
        return (self.y_seen == self.y_true).to(self.x.dtype)

    def onehot(self, label: Tensor) -> Tensor:
        """One-hot labels (..., B, K) of codes (..., B); zero where there is none."""
        classes = torch.arange(self.n_classes, device=label.device).unsqueeze(-1)
        # rows contiguous, as in the networks' outputs: mixed layouts are several times slower
        return (label.unsqueeze(-2) == classes).to(self.x.dtype).mT

    @cached_property
    def seen_onehot(self) -> Tensor:
        """One-hot observed label (..., B, K)."""
        return self.onehot(self.y_seen)

    @cached_property
    def true_onehot(self) -> Tensor:
        """One-hot true label (..., B, K); zero for unreviewed rows."""
        return self.onehot(self.y_true)

    @cached_property
    def membership(self) -> Tensor:
        """Weight of each row in its group, zero in the others (..., B, G)."""
        groups = torch.arange(self.n_groups, device=self.group.device)
        return (self.group.unsqueeze(-1) == groups) * self.weight.unsqueeze(-1)

    @cached_property
    def aligned_membership(self) -> Tensor:
        """Membership of the rows of A; zero for unreviewed rows (..., B, G)."""
        return self.membership * (self.y_true != UNREVIEWED).unsqueeze(-1)

    @cached_property
    def unaligned_membership(self) -> Tensor:
        """Membership of the rows outside A; zero for reviewed rows (..., B, G)."""
        return self.membership * (self.y_true == UNREVIEWED).unsqueeze(-1)

    def group_means(self, values: Tensor, rows: Tensor | None = None) -> Tensor:
        """Mean over each group's rows (..., G): all, or those with weight in ``rows`` (..., B, G).

        Zero for a group that has no such row here.
        """
        rows = self.membership if rows is None else rows
        return group_sums(values, rows) / rows.sum(-2).clamp_min(1e-12)

    @staticmethod
    def mean(values: Tensor, where: Tensor) -> Tensor:
        """Mean over the rows, weighted by ``where`` (...)."""
        return mean_rows(values, where)

    def mean_apart(self, on_A: Tensor, elsewhere: Tensor) -> Tensor:
        """Mean over all rows (...) of one loss on A and another elsewhere, both (..., B)."""
        return self.mean(torch.where(self.aligned > 0, on_A, elsewhere), self.weight)

    def mean_corrected(self, logits: Tensor, column: Tensor) -> Tensor:
        """Mean over rows of CE on A and -log (T' f)_y~ elsewhere; column is T_iy~ (..., B, K)."""
        own = marginal_cross_entropy(logits, column)
        return self.mean_apart(cross_entropy(logits, self.y_known), own)

    def of_seen(self, values: Tensor) -> Tensor:
        """Return the entry of the observed class (..., B) of values (..., B, K)."""
        return (values * self.seen_onehot).sum(-1)

    def sums_by_class(self, values: Tensor, rows: Tensor) -> Tensor:
        """Sum values (..., B, K) over the rows of each true class (..., K, K)."""
        return (self.true_onehot * rows.unsqueeze(-1)).mT @ values


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


Loss: TypeAlias = "Callable[[Nets, Batch, Hyper], Tensor]"
"""(nets, batch, hyper) -> (...), one number per replica."""


@dataclass(frozen=True)
class Facts:
    """What a stage computes from the whole training set before it trains.

    Examples
    --------
    >>> Facts(replica={"clean_rate": torch.ones(1, 1, 2)}).replica["clean_rate"].shape
    torch.Size([1, 1, 2])
    """

    replica: Mapping[str, Tensor] = field(default_factory=dict)
    row: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """One objective, and the networks it trains; every other network is frozen.

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
        looks at; by default the trainer's score of theta. A stage that does not train theta needs
        its own.
    begin, each_epoch : callable, optional
        ``(nets, all_training_rows, hyper) -> Facts``, without gradient, before the first epoch
        and before every epoch.
    epochs : int, optional
        A fixed length; no early stopping.
    per_batch : bool, default False
        Cycle the steps batch by batch instead of epoch by epoch.
    together : bool, default False
        Take every step, in order, on every batch, instead of one step at a time in turn.
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


def loss_known(nets: Nets, b: Batch, h: Hyper) -> Tensor:
    """Mean cross entropy over all rows, against the true label where reviewed."""
    return b.mean(cross_entropy(nets.theta(b.x), b.y_known), b.weight)


def observed_fit(net: str) -> Loss:
    """Return what to watch in a stage that trains ``net`` to predict observed labels."""
    return lambda nets, b, h: -b.mean(cross_entropy(getattr(nets, net)(b.x), b.y_seen), b.weight)


@dataclass(frozen=True)
class Method(ABC):
    """A way to learn from noisy labels: its networks, losses and stages, and facts about it.

    Float fields of a subclass are hyperparameters and may differ within a stack; all other fields
    shape the algorithm and may not. Every method has ``lr`` and ``l2``. What the library knows
    about a method is a class attribute, written without a type so that it is not a field.

    Attributes
    ----------
    name : str
        What users call it; a method without a name is not listed.
    title, assumes : str
        Name and assumption, for people.
    reference, also : str, tuple of str
        Keys in ``references.bib`` of its paper, and of other papers to cite.
    order : int
        Its place in lists; methods with the same number are in alphabetical order.
    version : int
        Raise it when the algorithm changes, so that old stored results are not reused.
    uses_alignment, needs_alignment : bool
        Whether it learns from reviewed rows, and whether it needs them.
    uses_groups : bool
    learns_errors : bool
        Whether it learns from reviewed labels that were wrong, and needs at least one.
    simplicity : int or None
        Methods that read labels as they are have a number; 1 is the simplest.
    select_by : "rank" or "likelihood"
        The validation score by which the estimator stops training and selects a config.
    if_switched : str
        What to do, besides reviewing more rows, if it swaps classes.
    predicting : tuple of str
        Networks whose mean probability is the prediction.
    space : mapping
        Where random search looks, besides ``lr`` and ``l2``.
    shortlist : tuple of dict
        Configs that did well on many tables, for a search that must be short.
    limits : mapping of str to str
        Values that a field accepts, ``"[0, 1); what to do otherwise"``.
    """

    lr: float = 1e-3
    l2: float = 1e-3

    name: ClassVar[str] = ""
    title: ClassVar[str]
    assumes: ClassVar[str]
    reference: ClassVar[str]
    also: ClassVar[tuple[str, ...]] = ()
    order: ClassVar[int] = 100
    version: ClassVar[int] = 1
    uses_alignment: ClassVar[bool] = True
    needs_alignment: ClassVar[bool] = False
    uses_groups: ClassVar[bool] = False
    learns_errors: ClassVar[bool] = False
    simplicity: ClassVar[int | None] = None
    select_by: ClassVar[Literal["rank", "likelihood"]] = "rank"
    if_switched: ClassVar[str] = "or try JointAlignment()"
    predicting: ClassVar[tuple[str, ...]] = ("theta",)
    space: ClassVar[Space] = {}
    shortlist: ClassVar[tuple[Mapping[str, float], ...]] = ()
    limits: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        for name, limit in self.all_limits().items():
            value = getattr(self, name)
            number = isinstance(value, Real) and not isinstance(value, bool)
            if value is not None and not (number and accepts(limit, value)):
                raise refusal(name, limit, value)

    @abstractmethod
    def stages(self) -> tuple[Stage, ...]:
        """Return the stages of the algorithm, in order."""

    def networks(self, n_features: int, n_classes: int) -> dict[str, NetShape]:
        """Return the networks by name; by default those that predict, with input x."""
        return dict.fromkeys(self.predicting, NetShape((n_features,), n_classes))

    def confidence(self, nets: Nets, b: Batch) -> Tensor:
        """P(observed label is right) per row (..., B); by default its predicted probability."""
        return b.of_seen(self.predict(nets, b.x))

    def predict(self, nets: Nets, x: Block) -> Tensor:
        """Class probabilities (..., B, K)."""
        first, *others = (softmax(getattr(nets, name)(x)) for name in self.predicting)
        return sum(others, first) / len(self.predicting)

    def check(self, problem: Problem) -> None:
        """Raise ValueError if this method cannot be trained on this problem."""
        if self.needs_alignment and not problem.train.reviewed.any():
            raise ValueError(
                f"{type(self).__name__} needs reviewed rows in the training part, got none; "
                "review some rows, or use Standard()."
            )

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        """Make a method from plain settings; a setting with parts may be a mapping of them."""
        own, values = {f.name: f.default for f in fields(cls)}, dict(settings)
        for name, value in settings.items():
            default: Any = own.get(name)
            if is_dataclass(default):
                values[name] = replace(default, **value)  # type: ignore[type-var]
            elif isinstance(default, float):
                values[name] = float(value)
        return cls(**values)

    @classmethod
    def all_limits(cls) -> dict[str, str]:
        """Values that fields accept, including the learning rate and L2."""
        return {"lr": "[0, inf)", "l2": "[0, inf)", **cls.limits}

    @classmethod
    def search_space(cls) -> Space:
        """Where random search looks by default: learning rate, L2 and the method's own ranges."""
        return {"lr": loguniform(1e-4, 1e-2), "l2": loguniform(1e-4, 1e-1), **cls.space}

    @classmethod
    def hyperparameters(cls) -> tuple[str, ...]:
        """Names of the float fields, which may differ from replica to replica."""
        return tuple(f.name for f in fields(cls) if f.type in (float, "float"))

    def hyper_defaults(self) -> dict[str, Any]:
        """Return this method's own value of every hyperparameter."""
        return {name: getattr(self, name) for name in self.hyperparameters()}
