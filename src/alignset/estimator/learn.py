"""The two ways to learn: a method's networks, searched and averaged; or a blend of candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import scipy.sparse
from joblib import effective_n_jobs  # type: ignore[import-untyped]

from alignset.engine import Patience, Trainer, draw_configs
from alignset.engine.search import search, trainable, variants_of
from alignset.engine.sizes import count_batches, score_of
from alignset.estimator.calibrate import calibrate_blend, calibrate_ensemble
from alignset.estimator.rates import switches
from alignset.estimator.settings import as_backbone
from alignset.estimator.unseen import Origin, Unseen, find_unseen
from alignset.estimator.warn import method_for, warn_of_review, warn_of_switches, warn_of_time
from alignset.learners import Blend
from alignset.learners.blend import fit_blend
from alignset.learners.network import NetworkSearch, thinned
from alignset.learners.recalibration import GroupCalibration
from alignset.learners.review import read_review
from alignset.learners.table import Candidates
from alignset.learners.time_left import TimeLeft
from alignset.methods import Method
from alignset.progress import Progress
from alignset.rows import Part, Problem
from alignset.rows.divide import Division, spread
from alignset.rows.raw import AS_THEY_ARE, RawColumns
from alignset.rows.selection import review_weights

if TYPE_CHECKING:
    from alignset.estimator.classifier import NoisyLabelClassifier


ROWS_PER_FOLD = 10
"""Reviewed rows per fold that a network needs to be blended in: fewer teach it too little."""

REVIEW_ROWS = 20_000
"""Unreviewed rows that a review is compared with."""


@dataclass(frozen=True, eq=False)
class ToLearn:
    """What the estimator was given: distinct rows, how to divide them, and what codes stand for."""

    rows: Part
    division: Division
    classes: list[Any]
    groups: list[Any]
    seed: int
    origin: Origin | None = None  # if it will be asked what was said of each row unseen
    raw: RawColumns = AS_THEY_ARE  # the columns of the table, if features were made of one

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of classes and groups."""
        return len(self.classes), len(self.groups)


@dataclass(frozen=True, eq=False)
class Learned:
    """A model that answers ``probability`` and ``confidence``, and how it came about."""

    model: Any
    method: Method | Blend
    search: dict[str, Any]
    candidates: Candidates | None = None
    recalibration: GroupCalibration | None = None
    unseen: Unseen | None = None
    selective: bool = False  # whether the review was no fair sample
    picked: bool = False  # whether it went after labels that are wrong


def learn_method(
    clf: NoisyLabelClassifier, method: Method, given: ToLearn, progress: Progress
) -> Learned:
    """Divide the rows, train every config, keep the best."""
    rows, seed = given.rows, given.seed
    selective, picked = _look_at_review(given)
    method, asked = method_for(rows, method), method
    folds = trainable(method, given.division.problems(rows, *given.sizes, seed=seed))
    configs = configs_of(clf, method, seed, asked=asked)
    (found,) = search(
        trainer_for(clf, method, folds),
        variants_of(method, configs),
        [folds],
        ensemble=clf.ensemble,
        progress=progress,
    )
    if rows.reviewed.any():
        switched = switches(folds, found.ensemble)
        warn_of_switches(switched, method.if_switched, given.classes, given.groups)
    again = calibrate_ensemble(folds, found.ensemble, given.sizes, seed)
    return Learned(
        found.ensemble, found.method, found.table(), recalibration=again, selective=selective,
        picked=picked,
    )  # fmt: skip


def _look_at_review(given: ToLearn) -> tuple[bool, bool]:
    """Warn about a review that is no fair sample, or small; return ``selective`` and ``picked``."""
    rows = given.rows
    if not rows.reviewed.any() or given.division.weighted_by(rows) is not None:
        return False, False
    some = rows.take(thinned(rows, REVIEW_ROWS, given.seed))
    review = read_review(spread(some), given.sizes[0], None, seed=given.seed)
    warn_of_review(review, given.classes, weighted=False)
    return review.selective, review.picked


def learn_blend(
    clf: NoisyLabelClassifier, blend: Blend, given: ToLearn, progress: Progress
) -> Learned:
    """Cross-fit the candidates on the reviewed rows, and weight them."""
    rows, seed = spread(given.rows), given.seed
    how = given.division.weighted_by(rows)
    blend_folds = clf.folds or blend.folds
    network = None
    can_train = blend.network is not None and _can_train(blend.network, rows, blend_folds)
    left_out = blend.left_out if can_train else _say_left_out(blend, blend_folds)
    left_out = " ".join(
        filter(None, (left_out, _say_sparse(blend, rows), _say_weightless(blend, rows)))
    )
    if blend.network is not None and can_train and not blend.left_out:
        network = NetworkSearch(
            blend.network,
            _short(clf, blend.network, seed),
            lambda method, problems: trainer_for(clf, method, problems),
        )
    fitted = fit_blend(
        replace(blend, folds=blend_folds), rows, *given.sizes,
        seed=seed, weight=None if how is None else review_weights(rows, how), raw=given.raw,
        network=network, n_jobs=n_jobs_of(clf), time=TimeLeft.of(clf.time_budget),
        progress=progress,
    )  # fmt: skip
    warn_of_review(fitted.review, given.classes)
    late = warn_of_time(fitted.left_out, clf.time_budget)
    again, unseen = calibrate_blend(fitted, given.sizes, seed), None
    if given.origin is not None:
        unseen = find_unseen(fitted, given.rows, given.origin, given.sizes, seed)
    left_out = " ".join(filter(None, (left_out, late)))
    review = fitted.review
    candidates = Candidates(fitted.model.candidates, left_out, judged=fitted.model.judged)
    return Learned(
        fitted.model, blend, {}, candidates, again, unseen, review.selective, review.picked
    )


def _say_left_out(blend: Blend, folds: int) -> str:
    if blend.network is None or blend.left_out:
        return ""
    return (
        f"No network was trained: that takes {ROWS_PER_FOLD * folds} reviewed rows, "
        f"{2 * folds} of them wrong and {2 * folds} right, and rows that were not reviewed."
    )


def _say_sparse(blend: Blend, rows: Part) -> str:
    dense = {c.learner.name for c in blend.candidates() if not c.learner.takes_sparse}
    if not dense or not scipy.sparse.issparse(rows.X):
        return ""
    return (
        f"X is sparse, which {' and '.join(sorted(dense))} cannot read, and so they were left out."
    )


def _say_weightless(blend: Blend, rows: Part) -> str:
    candidates = blend.candidates()
    kept = [c for c in candidates if c.lacks_weights and c.can_learn(rows)]
    if not kept or len(candidates) == 1:
        return ""
    names = " and ".join(dict.fromkeys(c.learner.name for c in kept))
    missing = ", ".join(dict.fromkeys(c.strategy.name for c in kept))
    return f"{names} takes no sample_weight, and so its candidates {missing} were left out."


def _can_train(method: Method, rows: Part, folds: int) -> bool:
    """Tell whether every fold leaves a network enough reviewed rows, right and wrong."""
    wrong, own = (rows.y_seen != rows.y_true)[rows.reviewed], rows.shares[rows.reviewed]
    few = min(own[wrong].sum(), own[~wrong].sum()) if method.learns_errors else own.sum()
    enough = few >= 2 * folds and own.sum() >= ROWS_PER_FOLD * folds
    # a fold that judges and one that stops must leave a third to train on
    return bool(folds >= 3 and enough and not rows.reviewed.all())


def _short(clf: NoisyLabelClassifier, method: Method, seed: int) -> list[Any]:
    """Return the method's shortlist, unless its settings or where to look were chosen."""
    if clf.space is None and method.shortlist and method == type(method)():
        return list(method.shortlist)[: clf.n_configs]
    return configs_of(clf, method, seed)


def configs_of(
    clf: NoisyLabelClassifier, method: Method, seed: int, *, asked: Method | None = None
) -> list[dict[str, Any]]:
    """Return the method's own config, and random ones around it.

    ``asked`` is the method that ``space`` is for, if it was replaced by another.
    """
    space = method.search_space() if clf.space is None else clf.space
    if clf.space is not None and asked is not None and type(asked) is not type(method):
        # a substitute such as Standard has fewer hyperparameters than the method asked for
        space = {k: v for k, v in clf.space.items() if k in method.hyperparameters()}
    drawn = draw_configs(space, clf.n_configs - 1, seed, limits=method.all_limits())
    return [method.hyper_defaults(), *drawn]


def trainer_for(clf: NoisyLabelClassifier, method: Method, problems: list[Problem]) -> Trainer:
    """Return a trainer with the estimator's settings, and batches to suit the problems."""
    n_batches, n_batches_reviewed = count_batches(problems)
    return Trainer(
        hidden=clf.hidden,
        backbone=as_backbone(clf.backbone),
        score=score_of(method),
        max_epochs=clf.max_epochs,
        n_batches=n_batches,
        n_batches_reviewed=n_batches_reviewed,
        stopping=Patience(clf.patience),
        device=clf.device,
        n_jobs=n_jobs_of(clf),
    )


def n_jobs_of(clf: NoisyLabelClassifier) -> int:
    """Return how many cores to use."""
    return int(effective_n_jobs(-1 if clf.n_jobs is None else clf.n_jobs))
