"""Figures of a study's results: one metric for several methods, next to published values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from alignset.report.canvas import drawing, new_figure, one_axes, to_svg
from alignset.report.displays import Axis, Display
from alignset.report.look import COLOURS, INK, QUIET, Look, looks
from alignset.study.records import METRICS
from alignset.study.results import summarise

NO_VALUES = pd.DataFrame({"method": [], "x": [], "mean": [], "sd": []})
"""No published values."""

KEY = "solid, band: ours, mean and SD; dashed, bars: published"
ALONE = "solid, band: mean and SD; faint: the other methods"
MOST_BANDS = 4
"""Methods on one pair of axes whose bands can be told apart."""

_WHISKERS: dict[str, Any] = {"fmt": "none", "ecolor": INK, "capsize": 3, "elinewidth": 1.1}
_DIAMONDS: dict[str, Any] = {
    "fmt": "D", "mfc": "none", "color": INK, "markersize": 4.5, "capsize": 2, "elinewidth": 0.9,
}  # fmt: skip


@dataclass(frozen=True)
class SummaryDisplay(Display):
    """One metric for several methods at several positions, next to published values.

    Parameters
    ----------
    cells : DataFrame
        The computed cells of one experiment, data set and protocol.
    metric : str
        Column to show.
    axis : Axis
    published : DataFrame, optional
        method, x, mean, sd of the same quantity.
    look : mapping of str to Look, optional
        How to draw the methods, and in which order.
    """

    cells: pd.DataFrame
    metric: str
    axis: Axis
    published: pd.DataFrame = field(default_factory=NO_VALUES.copy)
    look: Mapping[str, Look] = field(default_factory=dict)

    @cached_property
    def ours(self) -> pd.DataFrame:
        """Mean, SD and number of seeds per method and position."""
        return summarise(self.cells, self.metric)

    @cached_property
    def looks(self) -> dict[str, Look]:
        """The look of every method shown, in drawing order."""
        shown = {*self.ours["method"], *self.published["method"]}
        known = dict(self.look) or looks(shown)
        extra = looks(shown - set(known))
        return {m: v for m, v in {**known, **extra}.items() if m in shown}

    @property
    def y_label(self) -> str:
        """Name of the metric."""
        return METRICS.get(self.metric, self.metric)

    def frame(self) -> pd.DataFrame:
        """Return method, x, ours (mean, SD, seeds) and theirs (mean, SD), gap."""
        theirs = self.published[["method", "x", "mean", "sd"]]
        theirs = theirs.rename(columns={"mean": "published mean", "sd": "published SD"})
        ours = self.ours.rename(columns={"n": "seeds", "sd": "SD"})
        table = ours.merge(theirs, on=["method", "x"], how="outer")
        table["method"] = pd.Categorical(table["method"], list(self.looks))
        table = table.sort_values(["method", "x"], ignore_index=True)
        table["method"] = [self.looks[m].label for m in table["method"]]
        table["gap"] = table["mean"] - table["published mean"]
        return table.drop(columns=["published mean", "published SD", "gap"] * (not len(theirs)))


class Curves(SummaryDisplay):
    """One line per method, labelled at its end, with mean and SD; published values are dashed.

    Examples
    --------
    >>> cells = pd.DataFrame({"method": "a", "x": [1.0, 2.0], "seed": 0, "auroc": [0.8, 0.9]})
    >>> display = Curves(cells, "auroc", Axis("noise rate"), name="demo")
    >>> display.frame()["mean"].tolist(), display.svg().count("<svg")
    ([0.8, 0.9], 1)
    """

    @property
    def is_tall(self) -> bool:
        """Whether it is drawn as panels."""
        return len(self.looks) > MOST_BANDS

    def svg(self) -> str:
        """Draw all methods on one pair of axes, or many in a panel each: bands would overlap."""
        if self.is_tall:
            known = {f.name: getattr(self, f.name) for f in fields(self)}
            return Panels(**known).svg()
        with drawing():
            height = max(3.4, 0.21 * len(self.looks) + 0.6)  # room for every name
            figure, axes = one_axes(4.8, height)
            ends = {}
            for method, look in reversed(self.looks.items()):  # the first one is on top
                lines = (_of(self.ours, method), _of(self.published, method))
                _ours(axes, lines[0], look)
                _theirs(axes, lines[1], look)
                shown = next(line for line in lines if len(line))
                ends[method] = shown["mean"].iloc[-1]
            self.axis.lay(axes)
            axes.set_ylabel(self.y_label)
            _name_ends(axes, ends, self.looks, gap=0.2 / (height - 0.6))
            return to_svg(figure)


class Panels(SummaryDisplay):
    """One small panel per method: ours solid, published values dashed, other methods faint.

    Examples
    --------
    >>> cells = pd.DataFrame({"method": "a", "x": [1.0, 2.0], "seed": 0, "auroc": [0.8, 0.9]})
    >>> Panels(cells, "auroc", Axis("noise rate"), name="demo").svg().count("<svg")
    1
    """

    @property
    def is_tall(self) -> bool:
        """Whether there are several rows of panels."""
        return len(self.looks) > 2

    def svg(self) -> str:
        """Draw the panels, two in a row, so that they can be read on a phone."""
        n_columns = min(2, max(1, len(self.looks)))
        n_rows = -(-len(self.looks) // n_columns)
        with drawing():
            figure = new_figure(4.8, max(3.4, 1.75 * n_rows + 0.6))
            grid = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
            for axes, (method, look) in zip(grid.flat, self.looks.items(), strict=False):
                for other in self.looks:
                    line = _of(self.ours, other)
                    axes.plot(line["x"], line["mean"], color=QUIET, alpha=0.35, linewidth=0.8)
                _theirs(axes, _of(self.published, method), look)
                _ours(axes, _of(self.ours, method), look)
                axes.set_title(look.label, loc="left", fontsize=10, fontweight="bold")
                self.axis.lay(axes)
                axes.set_xlabel("")
            for axes in grid.flat[len(self.looks) :]:
                axes.set_visible(False)
            key = KEY if len(self.published) else ALONE
            figure.supxlabel(f"{self.axis.label}\n{key}", fontsize=9)
            figure.supylabel(self.y_label, fontsize=10)
            return to_svg(figure)


class Bars(SummaryDisplay):
    """One bar per method in the order given, with mean and SD; published values as open diamonds.

    Examples
    --------
    >>> cells = pd.DataFrame({"method": ["a", "b"], "x": 1.0, "seed": 0, "auroc": [0.8, 0.9]})
    >>> Bars(cells, "auroc", Axis("part"), name="demo").svg().count("<svg")
    1
    """

    def svg(self) -> str:
        """Draw horizontal bars, so that long names fit."""
        with drawing():
            figure, axes = one_axes(4.8, 0.55 * len(self.looks) + 1.2)
            for y, (method, look) in enumerate(self.looks.items()):
                ours, theirs = _of(self.ours, method), _of(self.published, method)
                colour = COLOURS[0 if look.width > 2 else 1]
                if len(ours):
                    mean, sd = float(ours["mean"].iloc[0]), float(ours["sd"].fillna(0).iloc[0])
                    axes.barh(y - 0.06, mean, height=0.5, color=colour, alpha=0.85)
                    axes.errorbar(mean, y - 0.06, xerr=sd, **_WHISKERS)
                heights = np.full(len(theirs), y + 0.36)
                axes.errorbar(theirs["mean"], heights, xerr=theirs["sd"].fillna(0), **_DIAMONDS)
            axes.set_yticks(range(len(self.looks)), [v.label for v in self.looks.values()])
            axes.invert_yaxis()
            axes.grid(visible=False, axis="y")
            key = "\nbars: ours, mean and SD; diamonds: published" * bool(len(self.published))
            figure.supxlabel(f"{self.y_label}{key}", fontsize=9)
            # bars start a tenth below the lowest value shown, so that gaps are visible
            shown = [table for table in (self.ours, self.published) if len(table)]
            low = min(((t["mean"] - t["sd"].fillna(0)).min() for t in shown), default=0.0)
            axes.set_xlim(left=max(0.0, np.floor(10 * low - 0.5) / 10))
            return to_svg(figure)


def _of(table: pd.DataFrame, method: str) -> pd.DataFrame:
    return table[table["method"] == method].sort_values("x")


def _ours(axes: Axes, points: pd.DataFrame, look: Look) -> None:
    """Draw a solid line with a band of one SD."""
    x, mean, sd = points["x"], points["mean"], points["sd"].fillna(0)
    if len(points):
        axes.fill_between(x, mean - sd, mean + sd, color=look.colour, alpha=0.13, linewidth=0)
        line: dict[str, Any] = {"color": look.colour, "linewidth": look.width}
        axes.plot(x, mean, marker=look.marker, markersize=4.2, markeredgewidth=0, **line)


def _theirs(axes: Axes, line: pd.DataFrame, look: Look) -> None:
    """Draw published values: dashed and thin, with bars of one SD where it is known."""
    if len(line):
        axes.errorbar(
            line["x"], line["mean"], yerr=line["sd"].fillna(0), color=look.colour, linewidth=1.2,
            linestyle=(0, (4, 2)), elinewidth=0.7, capsize=1.5, alpha=0.9,
        )  # fmt: skip


def _name_ends(axes: Axes, ends: Mapping[str, float], look: Mapping[str, Look], gap: float) -> None:
    """Write each line's name to the right of the axes, moved apart where they would overlap."""
    low, high = axes.get_ylim()
    heights = {method: (y - low) / (high - low) for method, y in ends.items()}
    order = sorted(heights, key=lambda m: heights[m])
    free: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
    place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
    for method, height in zip(order, _push_apart(sorted(heights.values()), gap), strict=True):
        mark, at = look[method], (1.045, height)
        free["color"], place["fontweight"] = mark.colour, "bold" if mark.width > 2 else "normal"
        axes.plot(*at, marker=mark.marker, markersize=5, markeredgewidth=0, **free)
        axes.annotate(mark.label, at, (7, 0), fontsize=9, color=INK, va="center", **place)
        axes.plot([1.0, 1.03], [heights[method], height], linewidth=0.8, **free)
    axes.set_ylim(low, high)


def _push_apart(places: list[float], gap: float) -> list[float]:
    """Move ascending positions as little as needed to be ``gap`` apart and within [0, 1]."""
    moved = list(places)
    for _ in range(200):
        for i in range(len(moved) - 1):
            overlap = gap - (moved[i + 1] - moved[i])
            if overlap > 1e-9:
                moved[i] -= overlap / 2
                moved[i + 1] += overlap / 2
        if moved:
            shift = max(0.0, -moved[0]) - max(0.0, moved[-1] - 1)
            moved = [p + shift for p in moved] if moved[-1] - moved[0] <= 1 else moved
    return moved
