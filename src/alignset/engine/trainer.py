"""Train all (problem, config) pairs: cut them into stacks that fit the cache, run and collect."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace

from alignset.engine.fits import Fits
from alignset.engine.stopping import BlockMean, Patience, Stopping
from alignset.engine.train import Schedule, Score, Trained, Training, sizes_of
from alignset.evaluate.validation import HarmonicMean
from alignset.extras import torch
from alignset.methods.base import Method
from alignset.progress import Counter, Progress
from alignset.rows import Problem
from alignset.stack import MLP, Backbone
from alignset.stack.threads import team
from alignset.stack.wanted import spread

CACHE_BYTES = 16 << 20
"""Activations of one stack on a CPU: larger stacks gain little, and threads need several."""

CACHE_ROWS = 80_000
"""Rows times replicas of one stack on a CPU: a loss, one number for each, fits the cache."""

CUDA_BYTES = 8 << 30
"""Activations of one stack on a GPU."""

Config = dict[str, float]


@dataclass(frozen=True)
class Trainer:
    """How to train models; :meth:`fit` takes what to train.

    Parameters
    ----------
    hidden : int, default 100
        Width of the default MLP backbone.
    backbone : Backbone, optional
        A different network: ``MLP(...)`` or ``Module(factory)``.
    score : callable
        Validation metric for early stopping and selection, by default the harmonic mean of AUROC
        and AUEOC.
    max_epochs : int, default 200
        Per stage.
    n_batches : int, default 5
        Mini-batches per epoch.
    n_batches_reviewed : int, optional
        The same for stages that see only reviewed rows; ``n_batches`` by default. A large data set
        is cut into many batches, which would leave hardly a reviewed row in each.
    stopping : Stopping
        ``Patience(10)`` by default.
    device : str, default "cpu"
        "cpu" or "cuda".
    chunk : int, optional
        Replicas per stack; by default as many as fit the cache (CPU) or memory (GPU).
    n_jobs : int, optional
        Stacks trained at the same time, one thread each, or threads on a single stack; by
        default the number of cores. It affects the time, never the result.

    Examples
    --------
    >>> Trainer(hidden=10).network()
    MLP(hidden=10, depth=2, last_relu=True)
    """

    hidden: int = 100
    backbone: Backbone | None = None
    score: Score = field(default_factory=HarmonicMean)
    max_epochs: int = 200
    n_batches: int = 5
    stopping: Stopping = field(default_factory=Patience)
    device: str = "cpu"
    chunk: int | None = None
    n_jobs: int | None = None
    n_batches_reviewed: int | None = None
    tf32: bool = False

    def __post_init__(self) -> None:
        for name in ("max_epochs", "n_batches", "chunk", "n_jobs", "n_batches_reviewed"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}.")
        if isinstance(self.stopping, BlockMean) and self.max_epochs < self.stopping.length:
            raise ValueError(
                f"BlockMean({self.stopping.length}) never completes a block in {self.max_epochs} "
                "epochs; raise max_epochs or shorten the block."
            )

    def network(self) -> Backbone:
        """Return the backbone in use."""
        return self.backbone or MLP(self.hidden)

    def fit(
        self,
        method: Method,
        problems: Sequence[Problem],
        configs: Sequence[Config] = ({},),
        progress: Progress | None = None,
    ) -> Fits:
        """Train ``len(problems) * len(configs)`` replicas of a method.

        Problems have the same number of features, classes and groups; sizes may differ. A config
        holds the hyperparameters that differ from the method's own.
        """
        _check(problems, configs)
        for problem in problems:
            method.check(problem)
        return self.train(method, problems, configs, progress)

    def train(
        self,
        method: Method,
        problems: Sequence[Problem],
        configs: Sequence[Config],
        progress: Progress | None = None,
    ) -> Fits:
        """Train as :meth:`fit` does, on problems the method has already checked."""
        _check_configs(method, configs)
        jobs = list(self._cut(method, problems, len(configs)))
        recipe = Schedule(
            self.network(),
            self.score,
            self.stopping,
            self.max_epochs,
            self.n_batches,
            self.device,
            self.n_batches_reviewed,
        )
        counter = Counter(progress, "training", len(problems) * len(configs))
        cores = self.n_jobs or _cores()

        def train(job: tuple[slice, slice]) -> Trained:
            rows, columns = job
            torch.set_num_threads(1)
            training = Training(recipe, method, problems[rows], configs[columns])
            all_cores = team(cores) if len(jobs) == 1 else nullcontext()
            with all_cores, counter.part(math.prod(training.size)) as tell:
                return training.run(tell)

        with _settings_restored():
            torch.backends.cuda.matmul.allow_tf32 = self.tf32
            if self.device == "cpu":
                parts = list(spread(train, jobs, cores))
            else:
                parts = [train(job) for job in jobs]
        kind = sizes_of(problems[0])
        return Fits.join(method, self.network(), kind, list(configs), jobs, parts)

    def _cut(
        self, method: Method, problems: Sequence[Problem], n_configs: int
    ) -> Iterator[tuple[slice, slice]]:
        size = self.chunk or self._chunk(method, problems)
        width = _even(n_configs, size)
        height = _even(len(problems), max(1, size // n_configs))
        for p in range(0, len(problems), height):
            for c in range(0, n_configs, width):
                yield slice(p, min(p + height, len(problems))), slice(c, c + width)

    def _chunk(self, method: Method, problems: Sequence[Problem]) -> int:
        """Count the replicas that fit the budget; it depends on the work, not on the machine."""
        rows = max(len(p.train) for p in problems) / self.n_batches
        shapes = method.networks(problems[0].n_features, problems[0].n_classes).values()
        floats = max(self.network().working_set(shape) for shape in shapes)
        if self.device != "cpu":
            return max(1, int(CUDA_BYTES // (4 * rows * floats)))
        return max(1, int(min(CACHE_BYTES / (4 * floats), CACHE_ROWS) // rows))


@contextmanager
def _settings_restored() -> Iterator[None]:
    """Leave torch's settings as the caller had them."""
    threads, tf32 = torch.get_num_threads(), torch.backends.cuda.matmul.allow_tf32
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.backends.cuda.matmul.allow_tf32 = tf32


def _even(n: int, at_most: int) -> int:
    """Size of equal pieces of ``n``, at most ``at_most`` each: threads should end together."""
    pieces = -(-n // at_most)
    return -(-n // pieces)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check(problems: Sequence[Problem], configs: Sequence[Config]) -> None:
    if not problems or not configs:
        raise ValueError(
            f"nothing to train: got {len(problems)} problems and {len(configs)} configs; "
            "pass at least one of each."
        )
    kinds = {(k.n_features, k.n_classes, k.n_groups) for k in map(sizes_of, problems)}
    if len(kinds) > 1:
        raise ValueError(
            "problems in one fit call must have the same number of features, classes and groups, "
            f"got {sorted(kinds)}; train them in separate calls."
        )
    for problem in problems:
        if not problem.validation.reviewed.all():
            raise ValueError(
                f"problem {problem.name!r} has validation rows without a true label; early "
                "stopping would count them as errors, so leave them out of the validation part."
            )


def _check_configs(method: Method, configs: Sequence[Config]) -> None:
    known = method.hyperparameters()
    for name in sorted({name for config in configs for name in config} - set(known)):
        raise ValueError(
            f"{type(method).__name__} has no stackable hyperparameter {name!r}; it has "
            f"{', '.join(sorted(known))}; pass a setting that shapes a network to the "
            "constructor, one value for each Trainer.fit call."
        )
    for config in configs:
        replace(method, **config)  # the constructor checks the config
