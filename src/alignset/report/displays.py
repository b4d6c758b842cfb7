"""What a picture is: it has ``.frame()`` and ``.svg()``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator


def percent_ticks() -> FuncFormatter:
    """Return what writes shares as percentages, with decimals where steps have them.

    Examples
    --------
    >>> ticks = percent_ticks()
    >>> ticks(0.025, 1), ticks(0.05, 2)
    ('2.5 %', '5 %')
    """
    return FuncFormatter(lambda share, _: f"{round(100 * share, 6):g} %")


@dataclass(frozen=True)
class Axis:
    """Label and scale of the horizontal axis.

    Examples
    --------
    >>> Axis("noise rate", is_share=True).is_log
    False
    """

    label: str
    is_share: bool = False
    is_log: bool = False

    def lay(self, axes: Axes) -> None:
        """Set label, scale and ticks."""
        axes.set_xlabel(self.label)
        if self.is_log:
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator())
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        elif self.is_share:
            axes.xaxis.set_major_formatter(percent_ticks())


@dataclass(frozen=True, kw_only=True)
class Display(ABC):
    """A picture and the numbers in it.

    It has a name for its file or element, a heading, a caption, and a description in words.
    """

    name: str
    title: str = ""
    caption: str = ""
    alt: str = ""

    @property
    def is_tall(self) -> bool:
        """Whether it is as tall as three others."""
        return False

    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """Return the numbers that the picture shows."""

    @abstractmethod
    def svg(self) -> str:
        """Return the picture as an SVG document; the same numbers give the same bytes."""


def save_figures(displays: Sequence[Display]) -> Mapping[str, str]:
    """Return file name -> content, for every figure and its numbers."""
    saved: dict[str, str] = {}
    for display in displays:
        saved[f"{display.name}.svg"] = display.svg()
        saved[f"{display.name}.csv"] = display.frame().to_csv(index=False, lineterminator="\n")
    return saved
