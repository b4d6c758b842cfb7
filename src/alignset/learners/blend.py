"""The blend: cross-fit candidates over the reviewed rows, weight them by what they said, refit.

The rows of a fold are removed from training, not left in with their observed label: a candidate
that reads observed labels would have seen them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse
from threadpoolctl import threadpool_limits

from alignset.learners.base import Floats, Ints, Learner, Predictor
from alignset.learners.blended import Blended, BlendFit, confidence_model
from alignset.learners.candidates import STRATEGIES, Blend, Candidate
from alignset.learners.credit import read_credit
from alignset.learners.crossfit import CrossFitted, Dealt, fit_candidates
from alignset.learners.linear import Linear
from alignset.learners.network import MOST_ROWS as NETWORK_ROWS
from alignset.learners.network import NetworkSearch, thinned
from alignset.learners.review import Review, read_review
from alignset.learners.stacking import BlendWeights, JudgedRows, fit_weights, total_log_loss
from alignset.learners.standing import standing
from alignset.learners.strategies.base import Strategy
from alignset.learners.time_left import TimeLeft
from alignset.progress import Counter, Progress
from alignset.rows import Part
from alignset.rows.folds import assign_folds, review_strata
from alignset.rows.raw import AS_THEY_ARE, RawColumns
from alignset.stack.wanted import Overdue, check_wanted, within

MOST_ROWS = 100_000
"""Unreviewed rows that the candidates of a blend are fitted to."""

SETTLE_ROWS = 20_000

JUDGED_ROWS = 3_000
"""Unreviewed rows (or individuals) that are held out, too, to judge candidates by."""

WRONG = (1.0, 6.0)
"""The share of wrong labels starts from so many wrong ones among so many."""

LEAST_SKILL = 0.1
"""What a learner is taken to explain of the observed labels, at least, relative to the best."""


def fit_blend(
    blend: Blend,
    rows: Part,
    n_classes: int,
    n_groups: int,
    *,
    seed: int,
    weight: Floats | None = None,
    raw: RawColumns = AS_THEY_ARE,
    network: NetworkSearch | None = None,
    n_jobs: int = 1,
    time: TimeLeft | None = None,
    progress: Progress | None = None,
) -> BlendFit:
    """Fit every candidate without each fold and on all rows, and blend them.

    Parameters
    ----------
    blend : Blend
    rows : Part
        Distinct rows, in an order that does not depend on the caller's, features scaled.
    weight : float array of shape (n,), optional
        How much a reviewed row counts for having been unlikely to be reviewed; estimated if None.
    raw : RawColumns
        The columns of a table that the features were made of.
    network : NetworkSearch, optional
        A network among the candidates.
    time : TimeLeft, optional
        When to be done, about: candidates that were not fitted by then are left out.
    """
    time = time or TimeLeft()
    at = thinned(rows, MOST_ROWS, seed)
    rows = rows.take(at)
    rows = replace(rows, X=rows.X.astype(np.float64))  # the networks' precision is too low to solve
    review = read_review(rows, n_classes, None if weight is None else weight[at], seed=seed)
    dealt = Dealt(review, _folds(review.rows, blend.folds, seed), n_classes, n_groups, seed)
    chosen = _fitting(blend.candidates(raw), rows)
    counter = Counter(progress, "reading", _steps(chosen, dealt, network))
    settled, skill = _settle(chosen, rows, n_classes, seed, counter, time)
    done = fit_candidates(chosen, settled, dealt, n_jobs, counter, time)
    if network is not None:
        done = _with_network(done, network, dealt, counter, time)
    own = np.array([max(skill.get(learner, 1.0), LEAST_SKILL) ** 4 for _, learner in done.names])
    prior = own * _prior(done.strategies, review, n_classes)
    model, held = _combine(done, prior, dealt)
    said = dict(zip(done.names, done.said, strict=True))
    return BlendFit(model, review, at, dealt.fold, held, said, done.left_out)


def _fitting(candidates: Sequence[Candidate], rows: Part) -> list[Candidate]:
    """Leave out the candidates that have nothing to learn from."""
    sparse, reviewed = scipy.sparse.issparse(rows.X), rows.reviewed
    wrong = bool((rows.y_seen != rows.y_true)[reviewed].any())
    found = [
        c
        for c in candidates
        if c.can_learn(rows)
        and (c.learner.takes_sparse or not sparse)
        and (len(candidates) == 1 or not c.lacks_weights)
        and c.strategy.suits(c.learner)
    ]
    if not found and not reviewed.any():  # as the warning says: only observed labels are left
        learners = dict.fromkeys(c.learner for c in candidates)
        found = [Candidate(STRATEGIES["observed"], learner) for learner in learners]
    if not found and sparse and not any(c.learner.takes_sparse for c in candidates):
        names = " and ".join(dict.fromkeys(c.learner.name for c in candidates))
        raise ValueError(
            f"X is sparse, which {names} cannot read; pass X.toarray(), or use linear models or a "
            "network."
        )
    if not found and any(c.can_learn(rows) and c.lacks_weights for c in candidates):
        names = " and ".join(dict.fromkeys(c.learner.name for c in candidates))
        raise ValueError(
            f"{names} does not take sample_weight, which {', '.join(c.name for c in candidates)} "
            "need; add the strategy 'both', or use a classifier that takes weights."
        )
    if not found:
        raise ValueError(
            f"none of the candidates {', '.join(c.name for c in candidates)} can be fitted: "
            f"{int(reviewed.sum())} rows are reviewed, {'some' if wrong else 'none'} of their "
            "labels are wrong; add the strategy 'observed' or review more rows."
        )
    return found


def _folds(rows: Part, n_folds: int, seed: int) -> Ints:
    """Deal the rows whose true label is known, and some of the others, the individuals whole."""
    strata = review_strata(rows.group, rows.y_seen, rows.y_true)
    known = rows.reviewed
    units = int(known.sum()) if rows.unit is None else len(np.unique(rows.unit[known]))
    fold = assign_folds(strata, max(2, min(n_folds, units)), seed, rows.unit)
    others = np.flatnonzero(fold < 0)
    unit = others if rows.unit is None else rows.unit[others]
    rng = np.random.default_rng((seed, 31))
    dealt = rng.permutation(np.unique(unit))[:JUDGED_ROWS]
    place = np.full(int(unit.max(initial=0)) + 1, -1, dtype=np.int64)
    place[dealt] = np.arange(len(dealt)) % (int(fold.max()) + 1)
    fold[others] = place[unit]
    return fold


def _steps(chosen: Sequence[Candidate], dealt: Dealt, network: Any) -> int:
    learners = len({c.learner for c in chosen})
    return learners * (dealt.n_folds + 2) * (1 if network is None else 2)


def _settle(
    chosen: Sequence[Candidate],
    rows: Part,
    n_classes: int,
    seed: int,
    counter: Counter,
    time: TimeLeft,
) -> tuple[dict[Learner, Learner], dict[str, float]]:
    """Settle what learners choose by cross-validation, on rows that are never held out.

    A learner that there is no time for is missing, but never linear models or the first.
    Returned, too, is how well each predicts observed labels, relative to the best: the share of
    their entropy that it explains. There are thousands of them, and a learner that cannot follow
    the features will not follow the true labels either.
    """
    among = np.flatnonzero(~rows.reviewed)
    among = among if len(among) > len(rows) // 2 else np.arange(len(rows))
    at = np.sort(np.random.default_rng((seed, 29)).permutation(among)[:SETTLE_ROWS])
    found: dict[Learner, Learner] = {}
    skill: dict[str, float] = {}
    part, used = rows.take(at), list(dict.fromkeys(c.learner for c in chosen))
    every = list(dict.fromkeys([Linear(), *used]))
    for place, learner in enumerate(every):
        counter.add(0, f"settling {learner.name}")
        seconds = time.part(len(every) - place + len(used))  # learners to settle, and all to fit
        needed = learner in (Linear(), used[0])
        with suppress(Overdue), within(math.inf if needed else seconds):
            own = learner.settle(part.X, part.y_seen, part.weights, n_classes, seed=seed)
            if learner in used and len(used) > 1:  # a single one has nobody to be compared with
                skill[learner.name] = _skill(own, part, n_classes, seed)
            found[learner] = own
        counter.add(1 if learner in used else 0)
    best = max(skill.values(), default=0.0)
    return found, {name: own / best if best > 0 else 1.0 for name, own in skill.items()}


def _skill(learner: Learner, rows: Part, n_classes: int, seed: int) -> float:
    """Return the entropy of observed labels less the held-out log loss, at least zero."""
    half = np.random.default_rng((seed, 30)).permutation(len(rows)) % 2
    loss = 0.0
    with threadpool_limits(1):
        for part in (0, 1):
            check_wanted()
            kept, out = rows.take(half != part), rows.take(half == part)
            if not len(kept) or not len(out):
                return 0.0
            model = learner.fit(kept.X, kept.y_seen, kept.weights, n_classes, seed=seed)
            loss += total_log_loss(model.log_odds(out.X), out.y_seen, out.weights)
    share = np.bincount(rows.y_seen, rows.weights, n_classes) / rows.weights.sum()
    entropy = -(share * np.log(np.where(share > 0, share, 1.0))).sum()
    return float(max(entropy - loss / rows.weights.sum(), 0.0))


def _with_network(
    done: CrossFitted, network: NetworkSearch, dealt: Dealt, counter: Counter, time: TimeLeft
) -> CrossFitted:
    """Add the network, if it can be trained, and if there is time."""
    try:
        with within(time.part(1)):
            found = _network(network, dealt, counter)
    except Overdue:
        return replace(done, left_out=(*done.left_out, f"{network.method.name} network"))
    if found is None:
        return done
    return replace(
        done,
        names=(*done.names, (network.method.name, "network")),
        strategies=(*done.strategies, STRATEGIES["joint"]),
        said=np.concatenate([done.said, found[0][None]]),
        joint=(*done.joint, None),
        models=(*done.models, found[1]),
    )


def _network(
    network: NetworkSearch, dealt: Dealt, counter: Counter
) -> tuple[Floats, Predictor] | None:
    """Cross-fit the network on all reviewed rows and part of the others, if it can be done."""
    review, sizes = dealt.review, (dealt.n_classes, dealt.n_groups)
    at = np.union1d(thinned(review.rows, NETWORK_ROWS, dealt.seed), np.flatnonzero(dealt.fold >= 0))
    rows = review.rows.take(at)
    rows = replace(rows, weight=rows.weights * review.weight[at])
    start, share = counter.done, (counter.total - counter.done) / 2

    def tell(what: str, done: float, total: float) -> None:
        nonlocal start
        place = start + share * done / max(total, 1)
        if place < counter.done:  # the second of two passes begins where the first ended
            start, place = counter.done, counter.done
        counter.add(place - counter.done, what)

    found = network.cross_fit(rows, dealt.fold[at], *sizes, dealt.seed, tell)
    counter.add(counter.total - counter.done)  # one pass was enough
    if found is None:
        return None
    odds = np.zeros((len(dealt.fold), dealt.n_classes))
    odds[at] = found[0]
    return odds, found[1]


def _prior(strategies: Sequence[Strategy], review: Review, n_classes: int) -> Floats:
    """Return the weights that the reviewed rows have to argue against."""
    rows = review.rows
    at, weight = rows.reviewed, rows.weights * review.weight
    rarest = min(c for c in np.bincount(rows.y_true[at], rows.shares[at]) if c)
    wrong = weight[at] @ (rows.y_seen != rows.y_true)[at]
    share = (wrong + WRONG[0]) / (weight[at].sum() + WRONG[1])
    # labels drawn at random are wrong in this share of rows, and say nothing
    nothing = 1 - 1 / n_classes
    return np.array([each.prior(rarest, share / nothing) for each in strategies])


def _combine(done: CrossFitted, prior: Floats, dealt: Dealt) -> tuple[Blended, Floats]:
    """Weight the candidates by what they said of rows they did not see."""
    review, seed = dealt.review, dealt.seed
    rows = review.rows
    at, out = np.flatnonzero(rows.reviewed), np.flatnonzero(dealt.fold >= 0)
    counts = rows.weights * review.weight
    said, held = done.said, done.said[0].copy()
    weight, y, odds = counts[at], rows.y_true[at], said[:, at]
    lean_on = prior * [each.to_lean_on for each in done.strategies]
    if len(odds) == 1 or review.picked:  # one answers for itself; such rows judge nothing
        v = lean_on if lean_on.any() else prior
        weights = BlendWeights(v / v.sum(), np.zeros(odds.shape[2]), 0.0 if review.picked else 1.0)
        held = weights.log_odds(said)
    else:
        judged = JudgedRows(
            rows.y_true[out], rows.y_seen[out], counts[out], dealt.n_classes,
            None if rows.share is None else rows.share[out],
            None if rows.share is None or rows.unit is None else rows.unit[out],
        )  # fmt: skip
        joint = [None if each is None else each[out] for each in done.joint]
        observed = [labels == "observed" for labels, _ in done.names]
        found = read_credit(said[:, out], joint, observed, judged, seed=seed)
        weights, held[out] = fit_weights(
            said[:, out], judged, prior * found.factor, gain=found.gain, lean_on=lean_on, seed=seed
        )
    blend = held[at]
    shares, unit = rows.shares[at], None if rows.unit is None else rows.unit[at]
    table = [
        standing(name, v, each, y, weight, shares, unit)
        for name, v, each in zip(done.names, weights.v.tolist(), odds, strict=True)
    ]
    table.append(standing(("blend", "all"), 1.0, blend, y, weight, shares, unit))
    confidence = confidence_model(
        blend, rows.y_seen[at], y, weight, picked=review.picked, seed=seed
    )
    return Blended(done.models, weights, confidence, tuple(table)), held
