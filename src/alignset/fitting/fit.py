"""From a table to a model: choose columns, compare methods on held-out reviews, train, report."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

import numpy as np
import pandas as pd

from alignset.estimator import NoisyLabelClassifier
from alignset.estimator.as_model import network_of
from alignset.evaluate.proportion import wilson
from alignset.fitting.compare import (
    MIN_CELL,
    SIMPLE,
    Comparison,
    Settings,
    can_compare,
    compare,
    cross_fit,
)
from alignset.fitting.keep import keep_evaluation
from alignset.methods.registry import METHODS, describe
from alignset.model.fitted import Model
from alignset.progress import Progress
from alignset.tables.columns import Choice
from alignset.tables.preprocess import fit_preprocessing
from alignset.tables.targets import Targets, check_review, read_targets


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model of a table, and how it compares with simpler ones.

    Parameters
    ----------
    model : Model
        Trained on all rows; ``save_model`` writes it.
    comparison : Comparison or None
        None where too few rows are reviewed to compare.
    notes : tuple of str
        What the user should know: columns and groups left out, what could not be done.
    """

    model: Model
    comparison: Comparison | None
    notes: tuple[str, ...]


def fit_table(
    frame: pd.DataFrame,
    choice: Choice,
    *,
    method: str = "joint",
    settings: Settings | None = None,
    about: Mapping[str, Any] | None = None,
    advance: Progress | None = None,
) -> Fitted:
    """Train a method on a table, after comparing it with simpler ones on held-out reviewed rows.

    Parameters
    ----------
    frame : DataFrame
    choice : Choice
        Columns, as ``choose_columns`` returns them; ``truth`` must be among them.
    method : str, default "joint"
        Name of a method, as ``alignset methods`` lists it.
    settings : Settings, optional
    about : mapping, optional
        What the model folder is to say besides: data, command.
    advance : callable, optional
        Told what is being done, how much is done, and how much there is.

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
    settings, columns = settings or Settings(), choice.columns
    method = describe(method).name
    if columns.truth is None:
        raise ValueError("name the column of true labels with --truth; without reviews see `plan`.")
    targets = read_targets(frame, columns)
    check_review(targets, columns.truth, needs_unreviewed=method not in SIMPLE)
    methods = [*(name for name in SIMPLE if name != method), method]
    steps = _Steps(advance, len(methods) * settings.folds + 1)
    reason = can_compare(targets, settings.folds)
    crossed = comparison = kept = None
    if reason is None:
        crossed = cross_fit(frame, targets, choice.kinds, methods, settings, steps.next)
        comparison = compare(targets, crossed.scores, method, settings=settings)
        kept = keep_evaluation(targets, crossed.scores, comparison)
    steps.next(f"training {method} on all rows")
    prep = fit_preprocessing(frame, choice.kinds)
    clf, said = _fit_quietly(settings.estimator(method), prep.transform(frame), targets)
    steps.finish()
    notes = (*choice.notes, *_review_notes(targets, comparison, reason), *said)
    known = {
        **(about or {}),
        "seed": settings.seed,
        "settings": asdict(settings),
        "search": _search(clf),
        "rows": {"all": len(frame), "reviewed": int(targets.reviewed.sum())},
        "noise_rates": _noise_rates(targets, None if crossed is None else crossed.more_doubt),
        "comparison": None if comparison is None else asdict(comparison),
        "notes": notes,
    }
    model = Model(network_of(clf), prep, clf.classes_, clf.groups_, columns, _plain(known), kept)
    return Fitted(model, comparison, notes)


class _Steps:
    """Counts fits for a progress bar."""

    def __init__(self, advance: Progress | None, total: int) -> None:
        self.advance, self.total, self.done = advance, total, -1

    def next(self, what: str) -> None:
        self.done += 1
        if self.advance is not None:
            self.advance(what, self.done, self.total)

    def finish(self) -> None:
        if self.advance is not None:
            self.advance("done", self.total, self.total)


def _fit_quietly(
    clf: NoisyLabelClassifier, X: Any, targets: Targets
) -> tuple[NoisyLabelClassifier, list[str]]:
    """Fit, and return what would have been warned of."""
    groups = targets.group_names[targets.group]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        clf.fit(X, targets.y, y_true=targets.y_true, groups=groups)
    return clf, [str(w.message) for w in caught if issubclass(w.category, UserWarning)]


def _review_notes(targets: Targets, comparison: Comparison | None, reason: str | None) -> list[str]:
    """Say why nothing was compared, and name the groups too small to say anything of."""
    notes = [] if reason is None else [reason]
    names = targets.group_names.tolist()
    sizes = dict(zip(names, np.bincount(targets.group, minlength=len(names)), strict=True))
    alone = [name for name in names if sizes[name] == 1]
    notes += [f"group {name!r} has one row; nothing can be said of it." for name in alone]
    small = () if comparison is None else comparison.groups_left_out
    if len(small) == len(names) > 1:
        notes.append(
            f"no group has {MIN_CELL} reviewed rows of every class, so models were compared on "
            "all rows as one group, and how even they are was not judged."
        )
    elif len(names) > 1:
        notes += [
            f"group {name!r} has fewer than {MIN_CELL} reviewed rows of some class and was left "
            "out of the comparison."
            for name in small
            if name not in alone
        ]
    return notes


def _noise_rates(targets: Targets, more_doubt: Any) -> dict[str, dict[str, Any]]:
    """Share of wrong labels per group: counted on reviewed rows with an interval, and modelled.

    The modelled rate adds, for the unreviewed rows, how much more a model doubts them than
    reviewed rows it was not trained on.
    """
    wrong = targets.labels.y_seen != targets.labels.y_true
    rates = {}
    for g, name in enumerate(targets.group_names.tolist()):
        rows = (targets.group == g) & targets.reviewed
        weight = targets.weight[rows]
        size = float(weight.sum() ** 2 / (weight**2).sum()) if rows.any() else 0.0
        rate = float(np.average(wrong[rows], weights=weight)) if rows.any() else math.nan
        unseen = 1 - rows.sum() / (targets.group == g).sum()
        shift = math.nan if more_doubt is None else unseen * more_doubt[g]
        low, high = wilson(np.nan_to_num(rate), size)
        rates[str(name)] = {
            "modelled": rate if unseen == 0 else float(np.clip(rate + shift, 0, 1)),
            "reviewed": int(rows.sum()),
            "wrong": int(wrong[rows].sum()),
            "rate": rate,
            "low": float(low),
            "high": float(high),
        }
    return rates


def _search(clf: NoisyLabelClassifier) -> dict[str, Any]:
    found = clf.search_results_
    best = int(np.argmin(found["rank"]))
    name = next(n for n, factory in METHODS.items() if factory is type(clf.method_))
    return {
        "method": name,
        "config": found["config"][best],
        "score": float(found["score"][best]),
        "tried": len(found["config"]),
        "averaged": int(found["averaged"].sum()),
    }


def _plain(value: Any) -> Any:
    """Return what JSON can hold; a number that is none becomes null."""
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
