"""From a table to a model: choose columns, compare methods on held-out reviews, train, report."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import count
from typing import Any

import numpy as np
import pandas as pd

from alignset.estimator import NoisyLabelClassifier
from alignset.estimator.as_model import predictor_of
from alignset.estimator.names import name_of, needs_unreviewed
from alignset.estimator.resolve import check_installed, resolve
from alignset.evaluate.imputed import TruthDraws
from alignset.evaluate.noise_rate import ReviewDesign
from alignset.fitting.advice import Advice, advise, gather_evidence
from alignset.fitting.answered import read_answered
from alignset.fitting.compare import AUTO, Comparison, can_compare, compare
from alignset.fitting.held_out import (
    HeldOut,
    Settings,
    fit_estimator,
    held_out_by_blend,
    score_held_out,
)
from alignset.fitting.holdout import Holdout, Judging
from alignset.fitting.judge import BLEND
from alignset.fitting.plain import PLAIN_LEARNERS
from alignset.learners import Blend
from alignset.model.evaluation import MIN_CELL, Evaluation, keep_evaluation, small_groups
from alignset.model.fitted import Model
from alignset.progress import Progress, silent
from alignset.review.aim import AimRows
from alignset.review.measured import review_noise_rates
from alignset.rows.raw import RawColumns
from alignset.tables.columns import Choice, Columns
from alignset.tables.files import plain
from alignset.tables.preprocess import Preprocessing, fit_preprocessing
from alignset.tables.profile import profile_table
from alignset.tables.targets import Targets, check_review


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model fitted to a table, and how it compares with plain ones."""

    model: Model  # trained on all rows; ``save_model`` writes it
    comparison: Comparison | None  # None if too few rows are reviewed to compare
    notes: tuple[str, ...]  # columns and groups left out, and what could not be done
    advice: Advice  # use it, use it with care, or do not use it


def fit_table(
    frame: pd.DataFrame,
    choice: Choice,
    *,
    method: str = AUTO,
    settings: Settings | None = None,
    answers: pd.DataFrame | None = None,
    about: Mapping[str, Any] | None = None,
    advance: Progress | None = None,
    judging: Judging | None = None,
) -> Fitted:
    """Train a method on a table, after comparing it with plain models on held-out reviewed rows.

    Parameters
    ----------
    frame : DataFrame
    choice : Choice
        Columns, as returned by ``choose_columns``; ``truth`` must be among them.
    method : str, default "auto"
        What the comparison of the blend with plain models recommends. Or a name that ``alignset
        methods`` lists: the blend of all candidates, a method, a label strategy or a learner; or
        one of each of the last two, such as "observed_linear".
    settings : Settings, optional
    answers : DataFrame, optional
        The log of reviewers' answers that `alignset join` wrote: true labels are then as uncertain
        as these make them, in training, in noise rates and in the comparison.
    about : mapping, optional
        What else the model folder should record: data, command.
    advance : callable, optional
        Called with the current step, how much is done, and the total.
    judging : Judging, optional
        Which rows models are judged on, and by which groups; by default all, held out at random,
        by the groups of the training.

    Returns
    -------
    Fitted

    Examples
    --------
    >>> from alignset.tables.columns import choose_columns
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"age": rng.normal(size=60), "told": rng.choice(["no", "yes"], 60)})
    >>> frame["reviewed"] = frame["told"].where(frame.index < 10)
    >>> choice = choose_columns(frame, label="told", truth="reviewed")
    >>> fitted = fit_table(frame, choice, settings=Settings(n_configs=1, max_epochs=1))
    >>> fitted.model.predict_proba(frame).shape
    (60, 2)
    """
    settings, columns, asked = settings or Settings(), choice.columns, fit_name(method)
    judging, method = judging or Judging(), BLEND if asked == AUTO else asked
    told = read_answered(answers, frame, columns)
    targets = told.targets()
    check_review(targets, columns.truth, needs_unreviewed=needs_unreviewed(method))
    holdout, judged = judging.deal(frame, choice, targets, settings.folds)
    reason, steps = _planned(judged, method, holdout, settings.folds)
    watch, prep = advance or silent, fit_preprocessing(frame, choice.kinds)
    fit = _fitter(settings, asked, (prep.transform(frame), prep.raw), targets, _last(watch, steps))
    held = comparison = kept = None
    if reason is None:
        given = frame, targets, choice.kinds, method, settings, _stepper(watch, steps), holdout
        alone = _judges_itself(method, holdout)
        held = held_out_by_blend(fit(BLEND)[0], targets) if alone else score_held_out(*given)
        judged = judging.targets(frame, told.targets(held.scores[method]), holdout)
        kept, comparison = _judge(judged, held.of(holdout), asked, settings)
        method = kept.asked
    clf, said = fit(method)
    watch("done", steps, steps)
    notes = _review_notes(judged, comparison, reason, holdout, auto=asked == AUTO)
    notes, where = [*choice.notes, *notes, *told.notes, *said], judging.facts(holdout)
    advice = _advise(kept, comparison, reason, where["held_out"], settings.seed)
    known = {
        **(about or {}), **_training(clf, method, targets, settings), "reviewers": told.facts(),
        "noise_rates": _noise_rates(targets, told.design, held.more_doubt if held else None),
        "comparison": comparison, "asked": asked, "advice": advice, "notes": notes, **where,
    }  # fmt: skip
    model = _model(clf, prep, frame, columns, plain(known), kept)
    return Fitted(model, comparison, tuple(notes), advice)


def _judges_itself(method: str, holdout: Holdout | None) -> bool:
    """Tell whether the fit to all rows says enough of rows that it did not see."""
    return method == BLEND and holdout is None


def _planned(
    judged: Targets, method: str, holdout: Holdout | None, folds: int
) -> tuple[str | None, int]:
    """Return why models cannot be compared, if so, and how many fits there will be."""
    parts = holdout.parts if holdout else folds
    reason = can_compare(judged, min(parts, folds))
    once = reason is not None or _judges_itself(method, holdout)
    return reason, 1 if once else 1 + parts * (1 + len(PLAIN_LEARNERS))


def fit_name(name: str) -> str:
    """Return the listed form of what a fit is asked for: "auto", or as ``name_of``.

    Examples
    --------
    >>> fit_name("Auto"), fit_name("Observed linear")
    ('auto', 'observed_linear')
    """
    if name.strip().lower() == AUTO:
        return AUTO
    check_installed(resolve(name))
    return name_of(name)


def _advise(
    kept: Evaluation | None,
    comparison: Comparison | None,
    reason: str | None,
    held_out: str,
    seed: int,
) -> Advice:
    found = None
    if kept is not None and comparison is not None:
        told = comparison.recommended, comparison.groups_left_out
        threshold = comparison.threshold
        found = gather_evidence(kept, *told, threshold=threshold, random_state=seed)
    return advise(found, why_not=(reason or "").partition(";")[0], held_out=held_out)


def _stepper(advance: Progress, total: int) -> Callable[[str], None]:
    """Return a function that counts the steps it is told of."""
    done = count()
    return lambda what: advance(what, next(done), total)


def _last(advance: Progress, total: int) -> Progress:
    """Return what reports the progress of the last of so many steps."""
    return lambda what, done, of: advance(what, total - 1 + done / max(of, 1), total)


def _model(
    clf: NoisyLabelClassifier,
    prep: Preprocessing,
    frame: pd.DataFrame,
    columns: Columns,
    known: Any,
    kept: Evaluation | None,
) -> Model:
    return Model(
        predictor_of(clf), prep, clf.classes_, clf.groups_, columns, known, kept,
        recalibration=clf.recalibration_, profile=profile_table(frame, prep),
    )  # fmt: skip


def _judge(
    targets: Targets, held: HeldOut, asked: str, settings: Settings
) -> tuple[Evaluation, Comparison]:
    """Return what the folder keeps of the held-out rows, and the comparison made of them."""
    small, auto = small_groups(targets), asked == AUTO
    method = BLEND if auto else asked
    kept = keep_evaluation(targets, held.scores, method, small, seed=settings.seed)
    found = compare(kept, settings=settings, groups_left_out=small, auto=auto)
    return replace(kept, asked=found.asked), found


def _fitter(*given: Any) -> Callable[[str], tuple[NoisyLabelClassifier, list[str]]]:
    """Return what fits a method to all rows; what was fitted once, to be judged, is kept."""
    return cache(partial(_fit_quietly, *given))


def _fit_quietly(
    settings: Settings,
    asked: str,
    features: tuple[Any, RawColumns],
    targets: Targets,
    progress: Progress,
    method: str,
) -> tuple[NoisyLabelClassifier, list[str]]:
    """Fit, and return as text what was warned of and which groups were recalibrated."""
    clf = settings.estimator(method)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        (X, raw), own = features, method == BLEND
        fit_estimator(clf, X, targets, raw=raw, keep_unseen=own, progress=progress)
    said = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    if asked == AUTO and method != BLEND:
        clf.recalibration_ = None  # plain models were judged, and chosen, without it
        said += filter(None, [Blend().left_out])
    if clf.recalibration_ is not None:
        said += clf.recalibration_.told(clf.groups_.tolist())
    return clf, said


def _review_notes(
    targets: Targets,
    comparison: Comparison | None,
    reason: str | None,
    holdout: Holdout | None,
    *,
    auto: bool,
) -> list[str]:
    """Say why nothing was compared, and name the groups too small to say anything about."""
    notes = [] if reason is None else [reason]
    notes += () if holdout is None else holdout.notes
    if reason is not None and auto:
        notes.append("nothing was compared, so --method auto fitted the blend.")
    if targets.by_design:
        notes.append(
            "reviewed rows are weighted by the inverse of their probability of being reviewed, in "
            "training, in the comparison and in the noise rates."
        )
    names = targets.group_names.tolist()
    sizes = dict(zip(names, np.bincount(targets.group, minlength=len(names)), strict=True))
    alone = [name for name in names if sizes[name] == 1]
    notes += [f"group {name!r} has one row; nothing can be said about it." for name in alone]
    small = () if comparison is None else comparison.groups_left_out
    if len(small) == len(names) > 1:
        notes.append(
            f"no group has {MIN_CELL} reviewed rows of every class, so models were compared on "
            "all rows as one group, and differences between groups were not judged."
        )
    elif len(names) > 1:
        notes += [
            f"group {name!r} has fewer than {MIN_CELL} reviewed rows of some class and was left "
            "out of the comparison."
            for name in small
            if name not in alone
        ]
    return notes


def _noise_rates(
    targets: Targets, design: ReviewDesign, more_doubt: Any
) -> dict[str, dict[str, Any]]:
    """Return the noise rate of every group, estimated as an audit does, and modelled.

    The modelled rate adds, for the unreviewed rows, how much more a model doubts them than
    reviewed ones, neither of which it was trained on.
    """
    told = {}
    draws = None
    if targets.draws is not None:
        draws = TruthDraws(targets.draws, len(targets.labels.classes))
    rates = review_noise_rates(AimRows.of(targets), design, draws=draws)
    for g, found in enumerate(rates):
        known = asdict(found)
        unseen = 1 - found.reviewed / found.rows
        shift = math.nan if more_doubt is None else unseen * more_doubt[g]
        modelled = found.rate if unseen == 0 else float(np.clip(found.rate + shift, 0, 1))
        told[str(known.pop("group"))] = {**known, "modelled": modelled}
    return told


def _training(
    clf: NoisyLabelClassifier, method: str, targets: Targets, settings: Settings
) -> dict[str, Any]:
    """Say how the model was trained, and on what: a search of configs, or a blend's candidates."""
    rows = {"all": len(targets.group), "reviewed": int(targets.reviewed.sum())}
    known = {"method": method, "seed": settings.seed, "settings": settings, "rows": rows}
    if isinstance(clf.method_, Blend):
        return {**known, "candidates": list(clf.candidates_ or ()), "explained": clf.explain()}
    found = clf.search_results_
    best = int(np.argmin(found["rank"]))
    search = {
        "method": clf.method_.name,
        "config": found["config"][best],
        "score": float(found["score"][best]),
        "tried": len(found["config"]),
        "averaged": int(found["averaged"].sum()),
    }
    return {**known, "search": search}
