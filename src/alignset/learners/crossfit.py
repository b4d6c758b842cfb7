"""Fit every candidate without each fold and on all rows, one after the other or spread out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from joblib.parallel import get_active_backend  # type: ignore[import-untyped]
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from alignset.learners.base import Floats, Ints, Learner, Predictor
from alignset.learners.candidates import Candidate
from alignset.learners.context import Context
from alignset.learners.linear import Linear
from alignset.learners.review import Review
from alignset.learners.strategies.base import Said, Strategy
from alignset.learners.time_left import TimeLeft
from alignset.progress import Counter
from alignset.stack.wanted import Overdue, check_wanted, spread, within

LOST = ("distributed", "concurrent", "asyncio", "joblib")
"""Packages whose errors mean that a worker was lost, not that a fit failed."""

LEAST = 3
"""Candidates of the first learner that are fitted however little time there is."""


@dataclass(frozen=True, eq=False)
class Dealt:
    """Rows that are ready for cross-fitting: the review as it was read, and the fold of each row.

    ``fold`` is -1 for rows that are never held out: others that nobody reviewed suffice to judge.
    """

    review: Review
    fold: Ints
    n_classes: int
    n_groups: int
    seed: int

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max()) + 1


@dataclass(frozen=True, eq=False)
class Task:
    """All strategies of one learner, without one fold (-1: on all rows)."""

    learner: Learner
    settled: Learner
    linear: Linear
    candidates: Sequence[Candidate]
    fold: int
    seconds: float = math.inf  # after which no more of them are fitted ...
    least: int = 0  # ... beyond so many

    @property
    def what(self) -> str:
        """What is being fitted, for a progress bar."""
        return f"fitting {self.learner.name}" + ("" if self.fold < 0 else f", fold {self.fold + 1}")


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Candidates that were fitted: what each said of rows it did not see, and on all rows."""

    names: tuple[tuple[str, str], ...]  # labels and learner
    strategies: tuple[Strategy, ...]
    said: Floats  # (J, n, K), log-odds of held-out rows
    joint: tuple[Floats | None, ...]  # (n, K) each, log P(y, observed label | x) of them
    models: tuple[Predictor, ...]
    left_out: tuple[str, ...]  # what there was no time for


def fit_candidates(
    chosen: Sequence[Candidate],
    settled: dict[Learner, Learner],
    dealt: Dealt,
    n_jobs: int,
    counter: Counter,
    time: TimeLeft,
) -> CrossFitted:
    """Fit the candidates; those that were not done in time are left out.

    A limited time is shared out learner by learner, so that what one does not need is for the
    next; within its share, every fold of a learner gets the same. A network gets what is left.
    """
    learners = [each for each in dict.fromkeys(c.learner for c in chosen) if each in settled]
    rounds = [[learner] for learner in learners] if time.limited else [learners]
    answers: list[dict[int, Any]] = [{} for _ in chosen]
    with _filters_kept():
        for place, some in enumerate(rounds):
            seconds = time.part(len(rounds) - place)
            tasks = _tasks(chosen, some, settled, dealt, seconds, n_jobs, first=place == 0)
            for task, found in zip(tasks, _run(tasks, dealt, n_jobs), strict=True):
                for candidate, answer in zip(task.candidates, found, strict=False):
                    answers[chosen.index(candidate)][task.fold] = answer
                counter.add(1, task.what)
    done = [i for i, own in enumerate(answers) if len(own) == dealt.n_folds + 1]
    each, said = [chosen[i] for i in done], [_whole(answers[i], dealt) for i in done]
    return CrossFitted(
        tuple((c.strategy.name, c.learner.name) for c in each),
        tuple(c.strategy for c in each),
        np.array([one.odds for one in said]),
        tuple(one.joint for one in said),
        tuple(answers[i][-1] for i in done),
        tuple(c.name for i, c in enumerate(chosen) if i not in done),
    )


def _whole(answers: dict[int, Any], dealt: Dealt) -> Said:
    """Put together what a candidate said of each fold."""
    shape = len(dealt.fold), dealt.n_classes
    found = Said(np.zeros(shape), None if answers[0].joint is None else np.zeros(shape))
    for f in range(dealt.n_folds):
        at = dealt.fold == f
        found.odds[at] = answers[f].odds
        if found.joint is not None:
            found.joint[at] = answers[f].joint
    return found


@contextmanager
def _filters_kept() -> Iterator[None]:
    """Put the filters of warnings back in the end: threads that change them mix them up.

    scikit-learn changes them in every fit, and all threads have the same. What a thread ignores,
    another may have to; so all ignore that a fit has not converged.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _tasks(
    chosen: Sequence[Candidate],
    learners: Sequence[Learner],
    settled: dict[Learner, Learner],
    dealt: Dealt,
    seconds: float,
    n_jobs: int,
    first: bool,
) -> list[Task]:
    """Return the tasks of some learners, and share the seconds out to them."""
    linear = settled[Linear()]
    assert isinstance(linear, Linear)
    folds = (-1, *range(dealt.n_folds))
    turns = math.ceil(len(folds) * len(learners) / max(n_jobs, 1))
    return [
        Task(
            learner, settled[learner], linear, [c for c in chosen if c.learner == learner], f,
            seconds / turns, LEAST if first else 0,
        )
        for f in folds
        for learner in learners
    ]  # fmt: skip


def _run(tasks: Sequence[Task], dealt: Dealt, n_jobs: int) -> Iterator[list[Any]]:
    """Yield the answers of all tasks, in their order.

    joblib decides where they run: threads here (the work is in compiled code, and processes would
    each load everything first), which Ctrl-C does not wait for, or what ``parallel_config`` asks
    for. If a worker of a cluster is lost with what it held, the tasks that are left are done here:
    the answers are the same.
    """
    if getattr(get_active_backend(prefer="threads")[0], "uses_threads", False):
        yield from spread(partial(run_task, dealt=dealt), tasks, n_jobs)
        return
    jobs = (delayed(run_task)(task, dealt) for task in tasks)
    done = 0
    try:
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        for answers in parallel(jobs):
            done += 1
            yield answers
    except BaseException as error:
        if type(error).__module__.partition(".")[0] not in LOST:
            raise
    for task in tasks[done:]:
        yield run_task(task, dealt)


def run_task(task: Task, dealt: Dealt) -> list[Any]:
    """Fit one learner's candidates; return what they say of held-out rows, or themselves.

    What there was no time for is missing at the end.
    """
    fold, rows, weight = dealt.fold, dealt.review.rows, dealt.review.weight
    kept = np.flatnonzero(fold != task.fold) if task.fold >= 0 else np.arange(len(fold))
    context = Context(
        rows.take(kept), dealt.n_classes, dealt.n_groups, task.learner, task.settled, task.linear,
        dealt.seed, weight[kept],
    )  # fmt: skip
    held = rows.take(np.flatnonzero(fold == task.fold))
    found: list[Any] = []
    stop = TimeLeft.of(task.seconds)
    with threadpool_limits(1), suppress(Overdue):
        for place, candidate in enumerate(task.candidates):
            with within(math.inf if place < task.least else stop.part(1)):
                check_wanted()
                own = candidate.strategy
                found.append(own.fit(context) if task.fold < 0 else own.say(context, held))
    return found
