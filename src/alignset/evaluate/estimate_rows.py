"""Check what a user passes to ``estimate``, and cut it into overall and group samples."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alignset.evaluate.difference import ReviewedSample, design_strata
from alignset.evaluate.estimands import ESTIMANDS, Estimand, ScoredRows
from alignset.evaluate.imputed import DRAWS, TruthDraws
from alignset.evaluate.inputs import Weights, check_weight
from alignset.evaluate.soft_labels import log_odds, soft_labels
from alignset.labels import UNREVIEWED, encode_groups, encode_labels, encode_shares, is_missing

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

EVEN = ("aueoc", "hm")
"""Estimands that compare groups, and have no influence function."""


@dataclass(frozen=True, eq=False)
class EstimateRows:
    """Checked rows with their soft labels.

    Parameters
    ----------
    scored : tuple of ScoredRows
        One for each score that was passed: one, or two to compare.
    true : int array of shape (n,)
    reviewed : bool array of shape (n,)
    chance, size : float arrays of shape (n,)
        Probability of review, and how many rows each counts as.
    soft, belief : float arrays of shape (n, K)
        Control variate, and the probabilities that intervals are made with.
    cells : dict from name to bool array of shape (n,)
        Which rows each group has.
    finest : tuple
        Names of the cells that share no row: the groups, or their intersections.
    unit : int array of shape (n,), optional
        Whom each row belongs to.
    imputed : tuple of EstimateRows
        The same rows with other sets of true labels, if these are not certain.
    """

    scored: tuple[ScoredRows, ...]
    true: Codes
    reviewed: Mask
    chance: Floats
    size: Floats
    soft: Floats
    belief: Floats
    cells: dict[Any, Mask]
    finest: tuple[Any, ...]
    unit: Codes | None = None
    imputed: tuple[EstimateRows, ...] = ()
    _samples: dict[bytes, ReviewedSample] = field(default_factory=dict, init=False, repr=False)

    def sample(self, member: Mask) -> ReviewedSample:
        """Return the review of some of the rows; made once."""
        key = np.packbits(member).tobytes()
        if key not in self._samples:
            self._samples[key] = self._sample(member)
        return self._samples[key]

    def with_draws(self, draws: TruthDraws) -> EstimateRows:
        """Return the rows with several sets of true labels, each of which is as well possible."""
        known = np.where(self.reviewed, draws.codes, UNREVIEWED)
        return replace(self, imputed=tuple(replace(self, true=codes) for codes in known))

    def _sample(self, member: Mask) -> ReviewedSample:
        reviewed, observed = self.reviewed[member], self.scored[0].observed[member]
        chance, stratum = design_strata(self.chance[member], reviewed)
        return ReviewedSample(
            true=self.true[member],
            reviewed=reviewed,
            chance=chance,
            size=self.size[member],
            soft=self.soft[member],
            belief=_wider(self.belief[member], observed, reviewed),
            stratum=stratum,
            unit=None if self.unit is None else self.unit[member],
        )


def _wider(belief: Floats, observed: Codes, reviewed: Mask) -> Floats:
    """Add half a wrong label among the reviewed rows of each observed class, where q expects it.

    Nobody has seen enough rows to say that an error never happens.
    """
    rows, n_classes = np.arange(len(observed)), belief.shape[1]
    wrong = np.clip(1 - belief[rows, observed], 1e-9, 1 - 1e-9)
    expected = np.bincount(observed[reviewed], wrong[reviewed], minlength=n_classes)
    more = (expected + 0.5) / np.maximum(expected, 1e-9)
    wider = np.minimum(wrong * more[observed], np.maximum(wrong, 0.5))
    found = belief * (wider / wrong)[:, None]
    found[rows, observed] = 1 - wider
    return np.asarray(found)


def check_metric(metric: str, n_classes: int) -> Estimand | None:
    """Return the estimand, None for those that compare groups; refuse what is not there."""
    if metric not in ESTIMANDS and metric not in EVEN:
        known = ", ".join([*ESTIMANDS, *EVEN])
        raise ValueError(f"there is no metric {metric!r}; use one of {known}.")
    found = ESTIMANDS.get(metric)
    if n_classes > 2 and not (found and found.many_classes):
        wide = ", ".join(name for name, one in ESTIMANDS.items() if one.many_classes)
        raise ValueError(
            f"{metric} is defined for two classes, got {n_classes}; with more, use one of {wide}, "
            "or pass y == c, y_true == c and the score of class c."
        )
    return found


def check_rows(
    metric: str,
    scores: list[ArrayLike],
    y: ArrayLike,
    y_true: ArrayLike | TruthDraws,
    *,
    groups: Any,
    review_probability: ArrayLike | None,
    threshold: float | None,
    flagged: float | None,
    X: Any,
    sample_weight: Weights,
    given_soft: ArrayLike | None,
    rng: np.random.Generator,
    units: ArrayLike | None = None,
) -> EstimateRows:
    """Check and encode everything, and make the soft labels."""
    n = len(np.asarray(y, dtype=object))
    draws, known = _uncertain(y, y_true, rng)
    _same_length("y_true", np.asarray(known, dtype=object), n)
    tables = [_check_score(score, n) for score in scores]
    n_classes = tables[0].shape[1]
    observed, true = _classes(y, known, n_classes)
    needs_cut = _check_kind(metric, tables) == "threshold"
    size, cuts = _sizes(sample_weight, n), (needs_cut, threshold, flagged)
    codes, cells, finest = _cells(groups, n)
    unit = _check_units(units, n)
    own = _own_soft(tables, observed, true, codes, _features(X, tables[1:], n), unit, rng)
    rows = EstimateRows(
        scored=tuple(_flagged(metric, table, observed, size, *cuts) for table in tables),
        true=true,
        reviewed=true >= 0,
        chance=_check_chance(review_probability, true >= 0, n),
        size=size,
        soft=own if given_soft is None else _check_soft(given_soft, n, n_classes),
        belief=own,
        cells=cells,
        finest=finest,
        unit=unit,
    )
    return rows if draws is None else rows.with_draws(_usable(metric, draws))


def _check_kind(metric: str, tables: list[Floats]) -> str:
    """Return what the metric needs of a score; refuse scores that are no probabilities if that."""
    estimand = check_metric(metric, tables[0].shape[1])
    needs = "probability" if estimand is None else estimand.needs
    if needs == "probability" or metric == "net_benefit":
        _check_probability(metric, tables)
    return needs


def _check_units(units: ArrayLike | None, n: int) -> Codes | None:
    """Return the code of each row's unit; None if no unit has two rows."""
    if units is None:
        return None
    names, codes = encode_groups(units, n, name="units")
    return None if len(names) == n else codes


def _sizes(sample_weight: Weights, n: int) -> Floats:
    return np.asarray(check_weight(sample_weight, n), dtype=np.float64)


def _usable(metric: str, draws: TruthDraws) -> TruthDraws:
    """Refuse a metric that uncertain labels cannot tell."""
    if metric in EVEN:
        raise ValueError(
            f"{metric} is not estimated from uncertain true labels; pass the most probable ones, "
            "or estimate tpr and fpr by group."
        )
    return draws


def _uncertain(
    y: ArrayLike, y_true: Any, rng: np.random.Generator
) -> tuple[TruthDraws | None, Any]:
    """Return sets of labels, None if labels are certain; and the most probable ones."""
    if isinstance(y_true, TruthDraws):
        draws = y_true
        classes = encode_labels(y).classes
        if classes.dtype.kind in "biuf" and np.isin(classes, np.arange(draws.n_classes)).all():
            classes = np.arange(draws.n_classes)  # codes, not all of which need be observed
    elif len(np.shape(y_true)) == 2 and np.shape(y_true)[1] > 1:
        labels, shares = encode_shares(y, y_true)
        draws = TruthDraws.from_shares(shares, DRAWS, rng.spawn(1)[0])  # folds stay as they are
        classes = labels.classes
    else:
        return None, y_true
    if len(classes) != draws.n_classes:
        raise ValueError(
            f"y_true is for {draws.n_classes} classes but y has {len(classes)}; every class must "
            "be observed at least once."
        )
    names = np.array([*classes.tolist(), None], dtype=object)  # the last is UNREVIEWED
    certain = bool((draws.codes == draws.codes[0]).all())
    return (None if certain else draws), names[draws.mode]


def _own_soft(
    tables: list[Floats],
    observed: Codes,
    true: Codes,
    groups: tuple[Codes, ...],
    features: Floats | None,
    unit: Codes | None,
    rng: np.random.Generator,
) -> Floats:
    """Cross-fit soft labels (n, K); with a single reviewed row there is nothing to learn."""
    n, n_classes = tables[0].shape
    if (true >= 0).sum() < 2:
        return np.full((n, n_classes), 1 / n_classes)
    score = tables[0] if n_classes > 2 else tables[0][:, 1]
    return soft_labels(
        score, observed, true, true >= 0, n_classes=n_classes, groups=groups, X=features,
        unit=unit, rng=rng,
    )  # fmt: skip


def _same_length(name: str, values: NDArray[Any], n: int) -> None:
    if len(values) != n:
        raise ValueError(f"{name} has {len(values)} entries but y has {n}; pass one per row.")


def _check_score(y_score: ArrayLike, n: int) -> Floats:
    """Return finite scores (n, K)."""
    score = np.asarray(y_score, dtype=np.float64)
    if score.ndim not in (1, 2) or (score.ndim == 2 and score.shape[1] < 2):
        raise ValueError(
            f"y_score has shape {score.shape}; pass scores of the positive class, shape (n,), "
            "or one column per class, shape (n, K) with K >= 2."
        )
    _same_length("y_score", score, n)
    bad = ~np.isfinite(score.reshape(n, -1)).all(1)
    if bad.any():
        raise ValueError(
            f"y_score is NaN or infinite in {bad.sum()} of {n} rows, first in row "
            f"{int(bad.argmax())}; drop them, or find out why they have no score."
        )
    return score if score.ndim == 2 else np.stack([-score, score], axis=1)


def _check_probability(metric: str, tables: list[Floats]) -> None:
    for score in (table[:, 1:] for table in tables):
        outside = (score < 0) | (score > 1)
        if outside.any():
            raise ValueError(
                f"{metric} needs scores that are probabilities, in [0, 1], "
                f"got {score[outside][0]}; pass probabilities, or use auroc, which needs none."
            )


def _classes(y: ArrayLike, y_true: ArrayLike, n_classes: int) -> tuple[Codes, Codes]:
    """Codes of observed and true labels; whole numbers may leave classes empty."""
    labels = encode_labels(y, y_true)
    names = labels.classes
    if len(names) == n_classes:
        return labels.y_seen, labels.y_true
    if names.dtype.kind in "biuf" and np.isin(names, np.arange(n_classes)).all():
        place = np.append(names.astype(np.int64), -1)  # the last is UNREVIEWED
        return place[labels.y_seen], place[labels.y_true]
    shown = ", ".join(map(repr, names[:5].tolist()))
    raise ValueError(
        f"y_score is for {n_classes} classes but y and y_true have {len(names)} ({shown}"
        f"{', ...' if len(names) > 5 else ''}); pass scores of shape (n, K) with one column per "
        "class in sorted order, or whole numbers 0..K-1 as labels."
    )


def _flagged(
    metric: str,
    table: Floats,
    observed: Codes,
    size: Floats,
    needed: bool,
    threshold: float | None,
    share: float | None,
) -> ScoredRows:
    """Flag rows by a threshold, or by the share of all rows to flag."""
    if not needed:
        return ScoredRows(table, observed)
    if (threshold is None) == (share is None):
        raise ValueError(
            f"{metric} needs one of threshold and flagged, got {threshold} and {share}; pass "
            "threshold=0.5 to flag scores of 0.5 or more, or flagged=0.1 to flag the top 10 %."
        )
    score = table[:, 1]
    if share is not None:
        if not 0 < share <= 1:
            raise ValueError(f"flagged must lie in (0, 1], got {share}; write 0.1 for 10 %.")
        order = np.argsort(-score, kind="stable")
        reached = np.cumsum(size[order]) >= share * size.sum() * (1 - 1e-12)
        threshold = float(score[order[np.argmax(reached)]])
    assert threshold is not None
    if metric == "net_benefit" and not 0 < threshold < 1:
        raise ValueError(
            f"net_benefit weighs a false alarm by threshold / (1 - threshold), so the threshold "
            f"must lie in (0, 1), got {threshold}."
        )
    return ScoredRows(table, observed, score >= threshold, float(threshold))


def _check_chance(probability: ArrayLike | None, reviewed: Mask, n: int) -> Floats:
    """Probability of review (n,); without, each row had the same."""
    if probability is None:
        return np.full(n, max(reviewed.mean(), 1 / n))
    chance = np.array(probability, dtype=np.float64)
    _same_length("review_probability", chance, n)
    bad = ~((chance > 0) & (chance <= 1)) & ~(np.isnan(chance) & ~reviewed)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"review_probability must lie in (0, 1], got {chance[row]} in row {row}; it may be "
            "NaN only where a row was not reviewed, and a row that could not be drawn does not "
            "belong to what is estimated, so drop it."
        )
    return chance


def _check_soft(given: ArrayLike, n: int, n_classes: int) -> Floats:
    soft = np.asarray(given, dtype=np.float64)
    if soft.ndim == 1 and n_classes == 2:
        soft = np.stack([1 - soft, soft], axis=1)
    if soft.shape != (n, n_classes) or not ((soft >= 0) & (soft <= 1)).all():
        raise ValueError(
            f"soft_labels must be probabilities of shape ({n},) or ({n}, {n_classes}), got shape "
            f"{np.shape(given)} with values from {np.min(given)} to {np.max(given)}."
        )
    return soft


def _features(X: Any, more: list[Floats], n: int) -> Floats | None:
    """Return numbers (n, d) that say more about the true class: of X, and a second score."""
    parts = [log_odds(table[:, 1])[:, None] for table in more]
    if X is not None:
        numbers = np.asarray(X, dtype=np.float64)
        numbers = numbers.reshape(len(numbers), -1)
        _same_length("X", numbers, n)
        if not np.isfinite(numbers).all():
            raise ValueError("X has missing or infinite values; fill them in, or leave X out.")
        parts.append(numbers)
    return np.concatenate(parts, axis=1) if parts else None


def _cells(groups: Any, n: int) -> tuple[tuple[Codes, ...], dict[Any, Mask], tuple[Any, ...]]:
    """Codes for each group column; who is in each group; the names of the finest groups."""
    if groups is None:
        return (), {}, ()
    names, code = encode_groups(groups, n)
    shape = np.shape(is_missing(groups))
    if len(shape) == 1 or shape[1] == 1:
        cells = {name: code == g for g, name in enumerate(names.tolist())}
        return (code,), cells, tuple(cells)
    columns = [str(name) for name in getattr(groups, "columns", range(shape[1]))]
    table = np.asarray(groups, dtype=object)
    parts = [encode_groups(list(column), n) for column in table.T]
    single = {
        f"{column}={value}": codes == g
        for column, (values, codes) in zip(columns, parts, strict=True)
        for g, value in enumerate(values.tolist())
    }
    both: dict[Any, Mask] = {}
    for g in range(len(names)):
        member = code == g
        row = int(member.argmax())
        said = zip(columns, parts, strict=True)
        name = " & ".join(f"{column}={values[codes[row]]}" for column, (values, codes) in said)
        both[name] = member
    return tuple(codes for _, codes in parts), single | both, tuple(both)
