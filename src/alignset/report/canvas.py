"""Matplotlib figures as SVG text, without global state; the same figure gives the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any, cast

import matplotlib as mpl
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from alignset.report.look import FAINT, INK, SURFACE

_STYLE: dict[str, Any] = {
    "svg.hashsalt": "alignset",
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and recoloured
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.7,
    "figure.facecolor": "none",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "lines.solid_capstyle": "round",
    "axes.formatter.use_mathtext": False,
    "axes.unicode_minus": True,
}

_DRAWN = re.compile(r' (?:d|x|y|transform|points)="[^"]*"')
_LONG = re.compile(r"(\d\.\d\d)\d+")
"""Coordinates to a hundredth of a point halve the size of a page and look the same."""


@contextmanager
def drawing() -> Iterator[None]:
    """Draw with the report's style, whatever the user's matplotlibrc says."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(cast(Any, _STYLE))
        yield


def new_figure(width: float, height: float) -> Figure:
    """Make a figure with a size in inches, without a backend or a window."""
    return Figure(figsize=(width, height), layout="constrained")


def one_axes(width: float = 4.8, height: float = 3.4) -> tuple[Figure, Axes]:
    """Make a figure with a single pair of axes."""
    figure = new_figure(width, height)
    return figure, figure.add_subplot()


def to_svg(figure: Figure) -> str:
    """Return a figure as a standalone SVG document without dates; call inside `drawing`."""
    text = StringIO()
    no_metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(text, format="svg", metadata=no_metadata)
    return _DRAWN.sub(lambda drawn: _LONG.sub(r"\1", drawn.group()), text.getvalue())


def inline(svg: str, *, prefix: str, label: str) -> Markup:
    """Turn an SVG document into an element of a page.

    Its ids get a prefix to keep them unique on the page. It takes the page's colours and width;
    ``label`` describes it for people who cannot see it.
    """
    body = svg[svg.index("<svg") :]
    body = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", body)
    for colour, name in ((INK, "ink"), (FAINT, "faint"), (SURFACE, "surface")):
        body = body.replace(f": {colour}", f": var(--{name}, {colour})")
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    head, rest = body.split(">", 1)
    head = re.sub(r'\s(width|height|version)="[^"]*"', "", head)
    # matplotlib escaped every text it wrote; the label is escaped here
    return Markup(f'{head} role="img" aria-label="{escape(label)}">{rest}')
