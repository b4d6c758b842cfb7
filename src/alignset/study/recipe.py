"""A recipe: everything that decides a cell's result, in typed and named parts, without torch.

A field that a TOML file may leave out is None until a cell is made.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from alignset.data.nhanes_tasks import TaskName

RESULT_VERSION = 2
"""Part of every key; raise it when data, noise, split, engine or metrics change a result."""

MOST = 1_000_000
"""Of anything that is counted: what no machine can do is refused when it is read."""
Whole = Annotated[int, Meta(ge=1, le=MOST, description="a whole number of at least 1")]
Several = Annotated[int, Meta(ge=2, le=MOST, description="a whole number of at least 2")]
_Part = Annotated[float, Meta(ge=0, le=1)]
_Parts = Annotated[tuple[_Part, ...], Meta(min_length=1)]
Share = Annotated[
    _Part | _Parts, Meta(description="a share in [0, 1], or one per group; write 0.1 for 10 %")
]
OneShare = Annotated[float, Meta(ge=0, le=1, description="a share in [0, 1]; write 0.1 for 10 %")]
S = TypeVar("S", bound="Spec")


class Spec(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A part of a study that a TOML file describes; unknown keys are refused."""

    def over(self: S, *layers: S) -> S:
        """Return this with the values that the layers set; later layers win."""
        given = {
            name: value
            for layer in layers
            for name, value in msgspec.structs.asdict(layer).items()
            if value is not None
        }
        return msgspec.structs.replace(self, **given)


Source = Literal[
    "synthetic", "synthetic_released", "adult", "compas", "mimic_arf", "mimic_shock", "nhanes"
]
"""Every data set by name."""


class SourceSpec(Spec, frozen=True, kw_only=True, omit_defaults=True):
    """Which table: ``rows`` of a generator, ``features`` by name, ``n_train`` rows of Adult.

    ``task`` is what NHANES asks; None means diabetes.
    """

    source: Source
    rows: (
        Annotated[
            int,
            Meta(ge=10, le=100 * MOST, description="a whole number of at least 10"),
        ]
        | None
    ) = None
    features: str | None = None
    n_train: Whole | None = None
    task: TaskName | None = None


class DataSpec(SourceSpec, frozen=True, kw_only=True):
    """Which table, and what identifies its content: a hash of its files, or a generator."""

    content: str = ""


class NoiseSpec(Spec, frozen=True, kw_only=True):
    """How labels go wrong; "observed" takes the observed labels of the data set itself."""

    kind: Literal["by_features", "by_group", "uniform", "observed"] | None = None
    rate: Share | None = None
    lowest: bool | None = None


class ReviewSpec(Spec, frozen=True, kw_only=True):
    """Which rows are reviewed, test and validate: keyword arguments of ``rows.split``."""

    share: Share | None = None
    composition: Annotated[_Parts, Meta(description="one share per group")] | None = None
    test: OneShare | None = None
    validation: OneShare | None = None

    def __post_init__(self) -> None:
        if self.composition is not None and abs(sum(self.composition) - 1) > 1e-6:
            raise ValueError(
                f"composition must be shares that sum to 1, one per group, got {self.composition}."
            )


class PatienceSpec(Spec, frozen=True, kw_only=True, tag_field="rule", tag="patience"):
    """Stop after this many epochs without a new best."""

    epochs: Whole = 10


class BlockMeanSpec(Spec, frozen=True, kw_only=True, tag_field="rule", tag="block_mean"):
    """Stop at the first block of epochs without improvement."""

    length: Whole = 10


class FixedLengthSpec(Spec, frozen=True, kw_only=True, tag_field="rule", tag="fixed_length"):
    """Train for all epochs."""


StoppingSpec = PatienceSpec | BlockMeanSpec | FixedLengthSpec


class TrainingSpec(Spec, frozen=True, kw_only=True):
    """How every method of a protocol is trained."""

    score: Literal["paper", "fpr", "released", "likelihood"] = "paper"
    stopping: StoppingSpec = PatienceSpec()
    max_epochs: Whole = 200
    n_batches: Whole = 5
    last_relu: bool = True


class TrainerSpec(TrainingSpec, frozen=True, kw_only=True):
    """How the method of one cell is trained."""

    hidden: Whole


class MethodSpec(Spec, frozen=True, kw_only=True, rename={"class_": "class"}):
    """A method by its class, the version of its algorithm, and every field.

    ``fully_reviewed`` trains with every label reviewed: the clean-label bound.
    """

    class_: str
    version: int = 1
    fields: dict[str, Any] = msgspec.field(default_factory=dict)
    fully_reviewed: bool = False


class Fitting(Spec, frozen=True, kw_only=True, omit_defaults=True):
    """How a method is fitted: with folds over A, an ensemble of its best configs, or weights."""

    folds: Several = 1
    ensemble: Several = 1
    review_weights: Literal["cells", "classifier"] | None = None


class RangeSpec(Spec, frozen=True, kw_only=True, omit_defaults=True):
    """Where random search looks for one hyperparameter, in one of three forms."""

    log_uniform: tuple[float, float] | None = None
    uniform: tuple[float, float] | None = None
    choice: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if [self.log_uniform, self.uniform, self.choice].count(None) != 2:
            raise ValueError("a range must be one of log_uniform, uniform and choice.")


class SearchSpec(Spec, frozen=True, kw_only=True):
    """Random search: ``configs`` drawn from the space, except for what is fixed."""

    space: dict[str, RangeSpec] = msgspec.field(default_factory=dict)
    configs: Whole = 1
    seed: int = 0
    fixed: dict[str, float] = msgspec.field(default_factory=dict)


class Recipe(Spec, frozen=True, kw_only=True):
    """Everything that decides a cell's result; workers build data, method and trainer from it.

    With ``redraw`` the seed decides data, noise and split; otherwise only the split.
    """

    data: DataSpec
    method: MethodSpec
    noise: NoiseSpec = NoiseSpec()
    review: ReviewSpec = ReviewSpec()
    trainer: TrainerSpec = TrainerSpec(hidden=10)
    search: SearchSpec = SearchSpec()
    fitting: Fitting = Fitting()
    redraw: bool = True
    seed: int = 0
    version: int = RESULT_VERSION
