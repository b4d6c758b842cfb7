"""One self-contained HTML file made of sections and blocks of text, tables and pictures."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from alignset.report.canvas import inline
from alignset.report.displays import Display

NOTHING = "\N{EN DASH}"
"""Shown for a missing value."""

SIGNED = ("gap", "difference", "low", "high")
"""Columns whose numbers show their sign."""


class TableCell(NamedTuple):
    """The text shown, the value sorted and saved, and whether it is a number."""

    text: str
    value: str
    is_number: bool


def make_cell(column: str, value: Any) -> TableCell:
    """Format a value according to its column's name."""
    is_float = isinstance(value, float | np.floating)
    if value is None or (is_float and np.isnan(value)):
        return TableCell(NOTHING, "", is_number=True)
    if is_float:
        return TableCell(_number(column, float(value)), repr(float(value)), is_number=True)
    is_number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return TableCell(str(value), str(value), is_number)


def _number(column: str, value: float) -> str:
    if column.startswith("p ") or column == "p":
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    if column == "x":
        return f"{value:g}"
    return f"{value:+.3f}" if column in SIGNED else f"{value:.3f}"


def slug(*parts: str) -> str:
    """Join names into one that can be an element's id or a file's name."""
    text = re.sub(r"[^a-z0-9]+", "-", " ".join(parts).lower())
    return text.strip("-") or "x"


@dataclass(frozen=True)
class PageBlock:
    """A piece of a page; each kind names its template."""

    template: ClassVar[str]


@dataclass(frozen=True)
class Prose(PageBlock):
    """Paragraphs of text."""

    template: ClassVar[str] = "prose.html.j2"
    paragraphs: Sequence[str]


@dataclass(frozen=True)
class Banner(PageBlock):
    """A warning that stands above everything else."""

    template: ClassVar[str] = "banner.html.j2"
    text: str


@dataclass(frozen=True)
class Tiles(PageBlock):
    """A few numbers to see at a glance: (value, what it counts).

    ``states`` colours some: what it counts -> "use", "care" or "no".
    """

    template: ClassVar[str] = "tiles.html.j2"
    items: Sequence[tuple[str, str]]
    states: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Conclusion(PageBlock):
    """What to do, on what evidence, and with which caveat: what a reader sees first."""

    template: ClassVar[str] = "conclusion.html.j2"
    level: str  # "use", "care" or "no"
    conclusion: str
    evidence: str
    caveat: str
    sign: str = ""  # tells the levels apart without colour


@dataclass(frozen=True)
class Fold(PageBlock):
    """Blocks that are folded away behind a summary; on paper they are open."""

    template: ClassVar[str] = "fold.html.j2"
    summary: str
    blocks: Sequence[PageBlock]


@dataclass(frozen=True)
class FactList(PageBlock):
    """Terms and their descriptions; with an anchor, links can point to each term."""

    template: ClassVar[str] = "facts.html.j2"
    items: Sequence[tuple[str, str]]
    anchor: str = ""


@dataclass(frozen=True)
class DataTable(PageBlock):
    """A table; if ``summary`` is given, it is folded away behind it."""

    template: ClassVar[str] = "datatable.html.j2"
    frame: pd.DataFrame
    name: str
    caption: str
    summary: str = ""

    @property
    def rows(self) -> list[list[TableCell]]:
        """The cells, without the index."""
        values = self.frame.itertuples(index=False, name=None)
        return [list(map(make_cell, map(str, self.frame.columns), row)) for row in values]


@dataclass(frozen=True)
class Gallery(PageBlock):
    """Pictures, side by side if there is room, each with its numbers."""

    template: ClassVar[str] = "gallery.html.j2"
    displays: Sequence[Display]

    @staticmethod
    def picture(display: Display) -> Markup:
        """Return the drawing as an element of the page."""
        label = f"{display.alt or display.title} The numbers are in the table that follows."
        short = hashlib.sha256(display.name.encode()).hexdigest()[:6]  # prefix of every id
        return inline(display.svg(), prefix=f"f{short}", label=label)

    @staticmethod
    def numbers(display: Display) -> DataTable:
        """Return the numbers in the drawing."""
        return DataTable(display.frame(), slug(display.name, "numbers"), display.title)


@dataclass(frozen=True)
class Section:
    """A heading, its blocks and its subsections.

    Examples
    --------
    >>> Section("Noise rate", [Prose(["What was found."])]).id
    'section-noise-rate'
    """

    title: str
    blocks: Sequence[PageBlock] = ()
    sections: Sequence[Section] = ()

    @property
    def id(self) -> str:
        """What the table of contents links to."""
        return slug("section", self.title)

    @property
    def displays(self) -> list[Display]:
        """Every picture, in order."""
        return _displays(self.blocks) + [d for part in self.sections for d in part.displays]


def _displays(blocks: Sequence[PageBlock]) -> list[Display]:
    found: list[Display] = []
    for block in blocks:
        if isinstance(block, Gallery):
            found += block.displays
        elif isinstance(block, Fold):
            found += _displays(block.blocks)
    return found


@dataclass(frozen=True)
class Page:
    """A whole report.

    Parameters
    ----------
    title, lead : str
        Heading, and the sentence below it.
    sections : sequence of Section
    links : sequence of (text, address), optional
        Where to read more; the page itself loads nothing.
    footer : str, optional
    about : sequence of (term, text), optional
        Below the heading: who is responsible, what it is for.

    Examples
    --------
    >>> page = Page("Labels", "What we found", [Section("One", [Prose(["5 < 6"])])])
    >>> "5 &lt; 6" in page.html()
    True
    """

    title: str
    lead: str
    sections: Sequence[Section]
    links: Sequence[tuple[str, str]] = ()
    footer: str = ""
    about: Sequence[tuple[str, str]] = ()

    def __post_init__(self) -> None:
        for text, href in self.links:
            if not href.startswith(("https://", "http://")):
                raise ValueError(f"the link {text!r} must start with https://, got {href!r}.")

    @property
    def displays(self) -> list[Display]:
        """Every picture, in order."""
        return [display for section in self.sections for display in section.displays]

    def html(self) -> str:
        """Render the page: one file that loads nothing."""
        script, style = _asset("page.js"), _asset("page.css")
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        return _environment().get_template("page.html.j2").render(
            page=self, script=Markup(script), style=Markup(style), script_digest=digest
        )  # fmt: skip


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("alignset.report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["unbroken"] = lambda text: text.replace(" %", "\u00a0%")
    environment.globals["slug"] = slug
    return environment


@cache
def _asset(name: str) -> str:
    return files("alignset.report").joinpath("templates", name).read_text(encoding="utf-8")
