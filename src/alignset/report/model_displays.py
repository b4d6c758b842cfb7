"""Pictures of one model: estimates with intervals, and named curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from alignset.report.canvas import drawing, one_axes, to_svg
from alignset.report.displays import Axis, Display, percent_ticks
from alignset.report.look import MARKERS, QUIET, Look, looks

LONGEST = 22
"""Letters of a name that fit beside an axis; the table shows it in full."""

MANY_FIT = 13
"""Longest name of which three fit side by side."""

INTERVAL = {"low": "from", "high": "to"}
"""Names for the ends of an interval in a table."""

_LEGEND: dict[str, Any] = {"loc": "outside lower center", "frameon": False, "fontsize": 9}
_DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2)))
"""Dashes that tell lines apart without colour."""


@dataclass(frozen=True)
class Dots(Display):
    """Estimates with horizontal intervals: one row per label and one mark per series.

    Examples
    --------
    >>> row = {"label": ["f"], "estimate": [0.1], "low": [0.05], "high": [0.2]}
    >>> Dots(pd.DataFrame(row), Axis("share", is_share=True), name="noise").svg().count("<svg")
    1
    """

    values: pd.DataFrame  # label, estimate, low, high, and series if there are several
    axis: Axis

    def frame(self) -> pd.DataFrame:
        """Return the values."""
        names = [name for name in ("label", "series") if name in self.values]
        return self.values[[*names, "estimate", *INTERVAL]].rename(columns=INTERVAL)

    def svg(self) -> str:
        """Draw all rows, the first at the top."""
        labels = list(dict.fromkeys(self.values["label"]))
        values = self.values if "series" in self.values else self.values.assign(series="")
        look = _looks(values["series"])
        with drawing():
            height = (0.16 * len(look) + 0.26) * len(labels) + 1.0 + 0.22 * (len(look) > 1)
            figure, axes = one_axes(4.8, max(1.7, height))
            for i, (series, mark) in enumerate(look.items()):
                lift = 0.62 * ((i + 0.5) / len(look) - 0.5)
                known = values[values["estimate"].notna() & (values["series"] == series)]
                y = np.array([labels.index(label) for label in known["label"]]) + lift
                axes.errorbar(
                    known["estimate"], y, xerr=np.nan_to_num(_reach(known, "estimate")),
                    fmt=mark.marker, color=mark.colour, markersize=5.5, elinewidth=1.6, capsize=0,
                    label=mark.label,
                )  # fmt: skip
            axes.set_yticks(range(len(labels)), [shorten(label) for label in labels])
            axes.set_ylim(len(labels) - 0.45, -0.55)
            axes.grid(visible=False, axis="y")
            self.axis.lay(axes)
            if self.axis.is_share:
                axes.set_xlim(left=0)
            if len(look) > 1:
                figure.legend(ncols=3, **_LEGEND)
            return to_svg(figure)


@dataclass(frozen=True)
class Lines(Display):
    """Named lines in a square of shares, with a diagonal where it has a meaning.

    Examples
    --------
    >>> values = pd.DataFrame({"line": "f", "x": [0.0, 1.0], "y": [0.0, 1.0]})
    >>> Lines(values, "FPR", "TPR", name="roc", diagonal="chance").svg().count("<svg")
    1
    """

    values: pd.DataFrame  # line, x, y, and low and high if points have intervals
    x_label: str
    y_label: str
    diagonal: str = ""  # its meaning; none is drawn without one
    y_from: float = 0.0  # where the vertical axis begins

    def frame(self) -> pd.DataFrame:
        """Return the points."""
        return self.values.rename(columns={"x": self.x_label, "y": self.y_label, **INTERVAL})

    def svg(self) -> str:
        """Draw the lines; points with intervals get marks."""
        look = _looks(self.values["line"])
        with drawing():
            entries = [*(mark.label for mark in look.values()), self.diagonal]
            n_columns = 3 if max(map(len, entries)) <= MANY_FIT else 2
            figure, axes = one_axes(4.8, 4.0 + 0.2 * (-(-len(entries) // n_columns)))
            if self.diagonal:
                axes.plot([0, 1], [0, 1], color=QUIET, linewidth=1, linestyle=(0, (4, 3)),
                          label=self.diagonal)  # fmt: skip
            for line, mark in look.items():
                _draw(axes, self.values[self.values["line"] == line], mark)
            room = 0.02 * (1 - self.y_from)
            axes.set(xlim=(-0.02, 1.02), ylim=(self.y_from - room, 1 + room))
            axes.set(xlabel=self.x_label, ylabel=self.y_label)
            figure.legend(ncols=n_columns, **_LEGEND)
            return to_svg(figure)


@dataclass(frozen=True)
class Bands(Display):
    """Named lines with bands around them, on an axis of shares.

    Examples
    --------
    >>> values = pd.DataFrame({"line": "m", "x": [0.1, 0.2], "y": [0.3, 0.2]})
    >>> values = values.assign(low=values["y"] - 0.1, high=values["y"] + 0.1)
    >>> Bands(values, "threshold", "net benefit", name="decision").svg().count("<svg")
    1
    """

    values: pd.DataFrame  # line, x, y, low, high; the first line is what it is about
    x_label: str
    y_label: str

    def frame(self) -> pd.DataFrame:
        """Return the points."""
        return self.values.rename(columns={"x": self.x_label, "y": self.y_label, **INTERVAL})

    def svg(self) -> str:
        """Draw the lines; far below zero there is nothing to see."""
        look = _looks(self.values["line"])
        with drawing():
            figure, axes = one_axes(4.8, 4.2)
            for i, (line, mark) in enumerate(look.items()):
                points = self.values[self.values["line"] == line]
                x, y = points["x"].to_numpy(), points["y"].to_numpy()
                axes.fill_between(x, points["low"], points["high"], color=mark.colour, alpha=0.15,
                                  linewidth=0)  # fmt: skip
                axes.plot(x, y, color=mark.colour, linewidth=mark.width, label=mark.label,
                          linestyle=_DASHES[i % len(_DASHES)])  # fmt: skip
            top = float(np.nanmax(self.values["high"]))
            axes.set(xlabel=self.x_label, ylabel=self.y_label, ylim=(-0.3 * top, 1.05 * top))
            axes.xaxis.set_major_formatter(percent_ticks())
            figure.legend(ncols=3, **_LEGEND)
            return to_svg(figure)


def _draw(axes: Axes, points: pd.DataFrame, look: Look) -> None:
    x, y, name = points["x"].to_numpy(), points["y"].to_numpy(), look.label
    if "low" in points:
        axes.errorbar(x, y, yerr=_reach(points, "y"), color=look.colour, marker=look.marker,
                      markersize=5, linewidth=1.2, elinewidth=1, label=name)  # fmt: skip
    else:
        dash = _DASHES[MARKERS.index(look.marker) % len(_DASHES)]
        axes.plot(x, y, color=look.colour, linewidth=1.8, linestyle=dash, label=name)


def _reach(points: pd.DataFrame, middle: str) -> NDArray[np.float64]:
    """Return how far the interval reaches below and above, (2, n)."""
    ends = points[["low", "high"]].sub(points[middle], axis=0)
    return np.asarray(np.abs(ends.to_numpy().T))


def _looks(names: pd.Series[str]) -> dict[str, Look]:
    order = list(dict.fromkeys(names))
    return looks(order, [(name, shorten(name)) for name in order])


def shorten(name: str) -> str:
    """Cut the middle out of a long name: its end matters as often as its beginning.

    Examples
    --------
    >>> shorten("Mexican American & Female & 60 to 69")
    'Mexican Am… & 60 to 69'
    """
    # matplotlib omits labels that begin with an underscore from a legend
    name = f"\u200b{name}" if name.startswith("_") else name
    half = (LONGEST - 1) // 2
    return name if len(name) <= LONGEST else f"{name[:half]}…{name[1 + half - LONGEST :]}"
