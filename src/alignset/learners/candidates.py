"""Candidates: which labels x which learner, and the ones a blend starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from alignset.extras import how_to_add, installed
from alignset.learners.base import Learner
from alignset.learners.linear import Linear
from alignset.learners.strategies.base import Strategy
from alignset.learners.strategies.both import Both
from alignset.learners.strategies.irbl import ImportanceWeighted
from alignset.learners.strategies.joint import Joint
from alignset.learners.strategies.observed import Observed
from alignset.learners.strategies.rates import Rates
from alignset.learners.strategies.recalibrated import Recalibrated
from alignset.learners.strategies.reviewed import Reviewed
from alignset.learners.strategies.sharp import Sharp
from alignset.learners.strategies.shrunk import Shrunk
from alignset.learners.strategies.surrogate import Surrogate
from alignset.learners.trees import Trees
from alignset.methods import JointAlignment, Method
from alignset.rows import Part
from alignset.rows.raw import AS_THEY_ARE, RawColumns

_ALL: tuple[Strategy, ...] = (
    Observed(), Reviewed(), Both(), Recalibrated(), Shrunk(), Surrogate(), ImportanceWeighted(),
    Joint(), Rates(), Sharp(),
)  # fmt: skip
STRATEGIES = {strategy.name: strategy for strategy in _ALL}
"""Name -> label strategy."""

LEARNERS: dict[str, Learner] = {learner.name: learner for learner in (Linear(), Trees())}
"""Name -> learner; ``network`` is a Method, and learns in its own way."""


@dataclass(frozen=True)
class Candidate:
    """One label strategy with one learner.

    Examples
    --------
    >>> Candidate(STRATEGIES["shrunk"], Linear()).name
    'shrunk linear'
    """

    strategy: Strategy
    learner: Learner

    @property
    def name(self) -> str:
        """Name of the labels and of the learner."""
        return f"{self.strategy.name} {self.learner.name}"

    @property
    def lacks_weights(self) -> bool:
        """Whether rows have to be weighted, and the learner cannot do that."""
        return self.strategy.weighs_rows and not self.learner.takes_weight

    def can_learn(self, rows: Part) -> bool:
        """Tell whether the review shows what its strategy learns from."""
        wrong = (rows.y_seen != rows.y_true)[rows.reviewed]
        found = len(wrong) > 0 or not self.strategy.needs_review
        return found and (bool(wrong.any()) or not self.strategy.needs_errors)


def _check_each(what: str, given: Any, known: Mapping[str, Any], kind: type) -> None:
    """Refuse names that do not exist, other kinds of objects, none at all, and any twice."""
    if not given:
        raise ValueError(f"{what} must hold at least one of {', '.join(known)}, got {given!r}.")
    for each in given:
        if isinstance(each, str) and each not in known:
            raise ValueError(f"{what} must be among {', '.join(known)}, got {each!r}.")
        if not isinstance(each, str | kind):
            raise ValueError(
                f"{what} must be names or {kind.__name__} objects, got {each!r}; a classifier "
                "of your own is passed as estimator= to NoisyLabelClassifier."
            )
    twice = [each for i, each in enumerate(given) if each in given[:i]]
    if twice:
        raise ValueError(f"{what} holds {twice[0]!r} twice; name each once.")


@dataclass(frozen=True)
class Blend:
    """Several candidates, and how they are cross-fitted.

    Parameters
    ----------
    strategies : sequence of str or Strategy, optional
        Label strategies, or their names; by default all of them.
    learners : sequence of str or Learner, default ("linear", "trees")
        Names of learners, or learners of your own.
    network : Method, optional
        A network to blend in; ``JointAlignment()`` by default, None for no network. It needs
        torch; the one by default is left out where that is not installed, as ``left_out`` says.
    folds : int, default 5
        Folds that the reviewed rows are dealt into.

    Examples
    --------
    >>> [c.name for c in Blend(strategies=["observed", "both"]).candidates()]
    ['observed linear', 'both linear', 'observed trees', 'both trees']
    """

    strategies: tuple[str | Strategy, ...] = tuple(STRATEGIES)
    learners: tuple[str | Learner, ...] = ("linear", "trees")
    network: Method | None = field(default_factory=JointAlignment)
    folds: int = 5

    def __post_init__(self) -> None:
        """Refuse names that do not exist."""
        for what, given, known, kind in (
            ("strategies", self.strategies, STRATEGIES, Strategy),
            ("learners", self.learners, LEARNERS, Learner),
        ):
            if isinstance(given, str):
                raise ValueError(f"{what} must be a sequence of names, got {given!r}.")
            _check_each(what, given, known, kind)
        if self.folds < 2:
            raise ValueError(f"folds must be at least 2, got {self.folds}.")

    @property
    def left_out(self) -> str:
        """What is left out because it is not installed, and how to add it; "" if nothing is."""
        if self.network is None or installed("torch"):
            return ""
        how = how_to_add("torch")
        return f"Networks were left out, because torch is not installed; run {how} to add them."

    def candidates(self, raw: RawColumns = AS_THEY_ARE) -> list[Candidate]:
        """Return every strategy with every learner, for features made of these columns."""
        learners = [LEARNERS[each] if isinstance(each, str) else each for each in self.learners]
        learners = [each.reading(raw) for each in learners]
        chosen = [STRATEGIES[each] if isinstance(each, str) else each for each in self.strategies]
        return [Candidate(strategy, learner) for learner in learners for strategy in chosen]
