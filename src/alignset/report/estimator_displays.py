"""Displays in scikit-learn's way: ``from_estimator``, ``.plot()``, ``.frame`` and ``ax_``.

No number exists only as pixels: ``.frame`` is what the picture shows.
"""

from __future__ import annotations

import textwrap
from typing import Any, Self

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from alignset.evaluate.calibration import equal_parts
from alignset.evaluate.noise_rate import ReviewDesign, noise_rates
from alignset.evaluate.proportion import kish_size, wilson
from alignset.labels import encode_groups, encode_labels
from alignset.report.displays import percent_ticks
from alignset.report.look import COLOURS, MARKERS, QUIET
from alignset.report.model_displays import shorten

MEASURES = {
    "auroc": "AUROC on reviewed rows it did not see",
    "log_loss": "log loss, less is better",
}


class AxesDisplay:
    """What the three displays share: numbers in ``frame``, and axes to draw on.

    Parameters
    ----------
    frame : DataFrame
        The numbers that are drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Set by ``plot``.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> AxesDisplay(pd.DataFrame({"group": ["f"], "rate": [0.1]})).frame["rate"].tolist()
    [0.1]
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {len(self.frame)} rows; see .frame"

    def _start(self, ax: Axes | None, height: float) -> Axes:
        """Return axes to draw on: those given, or a new figure that notebooks show."""
        if ax is None:
            import matplotlib.pyplot as plt  # here: it picks a backend

            _, ax = plt.subplots(figsize=(6.0, height), layout="constrained")
        self.ax_: Axes = ax
        self.figure_: Figure = ax.get_figure(root=True)  # type: ignore[assignment]
        return ax

    def _name_rows(self, ax: Axes, names: list[str]) -> None:
        """Write names beside the vertical axis, the first at the top; a dollar sign is no maths."""
        ax.set_yticks(range(len(names)), names)
        for label in ax.get_yticklabels():
            label.set_parse_math(False)
        ax.set_ylim(len(names) - 0.4, -0.6)


class NoiseRateDisplay(AxesDisplay):
    """Share of wrong observed labels in each group, with intervals where labels are given.

    ``frame`` has a row for each group: group, rate, low, high, reviewed and wrong.

    Examples
    --------
    >>> y, y_true = [0, 0, 1, 1, 0, 1] * 20, [0, 1, 1, None, 0, 1] * 20
    >>> shown = NoiseRateDisplay.from_labels(y, y_true, groups=["f", "f", "m"] * 40)
    >>> shown.frame[["group", "rate", "reviewed"]].round(2)
      group  rate  reviewed
    0     f  0.33        60
    1     m  0.00        40
    """

    @classmethod
    def from_labels(
        cls,
        y: Any,
        y_true: Any,
        *,
        groups: Any = None,
        review_probability: ArrayLike | None = None,
        level: float = 0.95,
    ) -> Self:
        """Count wrong labels among reviewed rows; arguments as for ``fit``."""
        labels = encode_labels(y, y_true)
        names, codes = encode_groups(groups, len(labels.y_seen))
        design = None
        if review_probability is not None:
            chance = np.asarray(review_probability, dtype=np.float64)
            design = ReviewDesign.one_sheet(np.where(labels.reviewed, chance, np.nan))
        wrong = labels.y_seen != labels.y_true
        found = noise_rates(codes, names.tolist(), wrong, labels.reviewed, design, level=level)
        columns = ("group", "rate", "low", "high", "reviewed", "wrong")
        return cls(pd.DataFrame([{name: getattr(one, name) for name in columns} for one in found]))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        y: Any = None,
        y_true: Any = None,
        *,
        groups: Any = None,
        review_probability: ArrayLike | None = None,
        level: float = 0.95,
    ) -> Self:
        """Show ``noise_rates_``; with the labels it was fitted to, with intervals."""
        check_is_fitted(estimator)
        if (y is None) != (y_true is None):
            raise ValueError(
                "y and y_true are needed together, for intervals; pass both, or neither for the "
                "rates alone."
            )
        if y is not None:
            many = len(estimator.groups_) > 1
            if groups is None and many:
                raise ValueError(
                    f"the estimator was fitted to {len(estimator.groups_)} groups; pass the group "
                    "of each row as groups."
                )
            return cls.from_labels(
                y, y_true, groups=groups, review_probability=review_probability, level=level
            )
        rates = estimator.noise_rates_
        frame = pd.DataFrame({"group": list(rates), "rate": list(rates.values())})
        return cls(frame.assign(low=np.nan, high=np.nan, reviewed=np.nan, wrong=np.nan))

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw a dot for each group, with its interval."""
        ax = self._start(ax, 1.2 + 0.35 * len(self.frame))
        values = self.frame
        at = np.arange(len(values))
        reach = np.nan_to_num(
            np.abs([values["rate"] - values["low"], values["high"] - values["rate"]])
        )
        ax.errorbar(values["rate"], at, xerr=reach, fmt="o", color=COLOURS[1], markersize=6)
        self._name_rows(ax, [shorten(str(name)) for name in values["group"]])
        ax.set_xlim(left=0)
        ax.xaxis.set_major_formatter(percent_ticks())
        ax.set(xlabel="observed labels that are wrong")
        return self


class CandidateDisplay(AxesDisplay):
    """What a blend is made of: how well each candidate did, and how much it counts.

    ``frame`` is that of ``candidates_``: labels, learner, weight, log_loss, auroc, low and high.

    Examples
    --------
    >>> row = {"labels": "both", "learner": "linear", "weight": 1.0, "log_loss": 0.3}
    >>> shown = CandidateDisplay(pd.DataFrame([row | {"auroc": 0.8, "low": 0.7, "high": 0.9}]))
    >>> shown.plot().ax_.get_xlabel()
    'AUROC on reviewed rows it did not see'
    """

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Show the candidates of a fitted blend."""
        check_is_fitted(estimator)
        if estimator.candidates_ is None:
            raise ValueError(
                f"{type(estimator.method_).__name__} is one model and has no candidates; fit with "
                "method=None, or with a Blend, a label strategy or a learner as method."
            )
        return cls(estimator.candidates_.frame)

    def plot(self, ax: Axes | None = None, *, measure: str = "auroc") -> Self:
        """Draw a dot for each candidate, as large as its weight; AUROC with its interval."""
        if measure not in MEASURES:
            raise ValueError(f"measure must be {' or '.join(MEASURES)}, got {measure!r}.")
        ax, values = self._start(ax, 1.2 + 0.28 * len(self.frame)), self.frame
        at, value = np.arange(len(values)), values[measure]
        if measure == "auroc":
            ax.hlines(at, values["low"], values["high"], color=QUIET, linewidth=1.2, zorder=1)
        is_blend = values["labels"] == "blend"
        colours = np.where(is_blend, COLOURS[0], COLOURS[1]).tolist()
        size = np.where(is_blend, 60, 12 + 300 * values["weight"].clip(0, 1))
        ax.scatter(value, at, s=size, c=colours, zorder=2)
        for i, weight in enumerate(values["weight"]):
            ax.annotate(
                f"{weight:.2f}", (1, i), xytext=(5, 0), xycoords=("axes fraction", "data"),
                textcoords="offset points", va="center", fontsize="small", annotation_clip=False,
            )  # fmt: skip
        ax.set_title("weight", loc="right", fontsize="small")
        names = values["labels"].astype(str) + " " + values["learner"].astype(str)
        self._name_rows(ax, [textwrap.shorten(name, 40, placeholder="…") for name in names])
        ax.set(xlabel=MEASURES[measure])
        return self


class CalibrationByGroupDisplay(AxesDisplay):
    """Predicted probability against the share that has the class, in every group.

    ``frame`` has a row for each group and part of its rows: group, predicted (the mean
    probability), true (the share that has the class), low, high and rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p, sex = rng.random(400), np.array(["f", "m"] * 200)
    >>> y_true = rng.random(400) < p
    >>> shown = CalibrationByGroupDisplay.from_predictions(y_true, p, groups=sex, n_bins=4)
    >>> shown.frame.shape, shown.plot().ax_.get_xlabel()
    ((8, 6), 'predicted probability')
    """

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: ArrayLike,
        *,
        groups: Any = None,
        pos_label: Any = None,
        review_probability: ArrayLike | None = None,
        n_bins: int = 5,
        level: float = 0.95,
    ) -> Self:
        """Cut the reviewed rows of each group into parts of equal size by their probability.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels; rows where they are missing are left out.
        y_prob : array-like of shape (n,)
            Probability of ``pos_label``, by default the larger label.
        groups : array-like of shape (n,), optional
        review_probability : array-like of shape (n,), optional
            P(reviewed): rows count by its inverse.
        n_bins : int, default=5
        level : float, default=0.95
            Coverage of the intervals.
        """
        prob = np.asarray(y_prob, dtype=np.float64)
        if prob.ndim != 1:
            raise ValueError(
                f"y_prob must have one probability per row, got shape {prob.shape}; pass the "
                "column of the class, such as predict_proba(X)[:, 1]."
            )
        missing = pd.isna(pd.Series(y_true)).to_numpy()
        label = np.asarray(y_true)[~missing]
        hit = label == (np.unique(label)[-1] if pos_label is None else pos_label)
        names, codes = encode_groups(groups, len(prob))
        weight = np.ones(len(prob))
        if review_probability is not None:
            weight = 1 / np.asarray(review_probability, dtype=np.float64)
        parts = [
            _parts(name, prob[~missing][one], hit[one], weight[~missing][one], n_bins, level)
            for g, name in enumerate(names.tolist())
            for one in [codes[~missing] == g]
            if one.any()
        ]
        return cls(pd.concat(parts, ignore_index=True))

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y_true: Any, *, groups: Any = None, **options: Any
    ) -> Self:
        """Predict rows that the estimator was not fitted to; options as for the other way."""
        check_is_fitted(estimator)
        classes = np.asarray(estimator.classes_).tolist()
        wanted = options.setdefault("pos_label", classes[-1])
        if wanted not in classes:
            raise ValueError(
                f"pos_label must be one of {', '.join(map(repr, classes))}, got {wanted!r}."
            )
        given = {} if groups is None or not hasattr(estimator, "groups_") else {"groups": groups}
        prob = estimator.predict_proba(X, **given)[:, classes.index(wanted)]
        return cls.from_predictions(y_true, prob, groups=groups, **options)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw a line for each group; on the diagonal probabilities are what they say."""
        ax = self._start(ax, 4.2)
        ax.plot([0, 1], [0, 1], color=QUIET, linewidth=1, linestyle="--", label="as promised")
        for i, (group, part) in enumerate(self.frame.groupby("group", sort=False)):
            reach = np.abs([part["true"] - part["low"], part["high"] - part["true"]])
            name = str(group).replace("$", r"\$")
            ax.errorbar(
                part["predicted"], part["true"], yerr=reach, marker=MARKERS[i % len(MARKERS)],
                color=COLOURS[i % len(COLOURS)], linewidth=1.4, elinewidth=0.9, label=shorten(name),
            )  # fmt: skip
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set(xlabel="predicted probability", ylabel="share of reviewed rows that have it")
        ax.legend(frameon=False)
        return self


def _parts(
    group: Any,
    prob: NDArray[np.float64],
    hit: NDArray[np.bool_],
    weight: NDArray[np.float64],
    n_bins: int,
    level: float,
) -> pd.DataFrame:
    """Cut the rows of one group into parts of equal weight, ties divided alike."""
    shares = equal_parts(prob, weight, min(n_bins, len(np.unique(prob)))) * weight
    rows = []
    for share in shares:
        true = float(share @ hit / share.sum())
        size = float(kish_size(share[share > 0]))
        low, high = wilson(true, size, level=level)
        rows.append((group, float(share @ prob / share.sum()), true, float(low), float(high), size))
    return pd.DataFrame(rows, columns=["group", "predicted", "true", "low", "high", "rows"])
