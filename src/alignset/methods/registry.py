"""Every method by name, as the classes in the modules of this folder describe it.

Clean labels, the bound that the paper compares with, is not here: it is ``Standard()`` on
``problem.fully_reviewed()``, a protocol and not a method.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from importlib import import_module
from inspect import isabstract
from pathlib import Path
from pkgutil import iter_modules

from alignset.methods.base import Method


def _find() -> dict[str, type[Method]]:
    """Import every module next to this one, and return the methods that have a name."""
    package = sys.modules[__name__.rpartition(".")[0]]
    names = [f"{package.__name__}.{module.name}" for module in iter_modules(package.__path__)]
    found: dict[str, type[Method]] = {}
    for kind in [kind for name in names for kind in vars(import_module(name)).values()]:
        own = isinstance(kind, type) and issubclass(kind, Method) and "name" in vars(kind)
        if not own or isabstract(kind):
            continue
        other = found.setdefault(kind.name, kind)
        if other is not kind:
            raise ValueError(f"{other.__name__} and {kind.__name__} are both named {kind.name!r}.")
    return dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))


METHODS: Mapping[str, type[Method]] = _find()
"""Name -> class: the paper's method, ours, plain cross entropy, the paper's baselines, and
methods that others use with a reviewed subset."""

_simple = (method for method in METHODS.values() if method.simplicity)
SIMPLE = tuple(method.name for method in sorted(_simple, key=lambda m: m.simplicity or 0))
"""The methods that read labels as they are, simplest first: they can be trained even if every row
is reviewed."""


def get_method(name: str) -> type[Method]:
    """Return the class of the method called ``name``; call it to set its hyperparameters.

    Examples
    --------
    >>> get_method("glc")(per_group=True).title
    'GLC'
    """
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    if plain in METHODS:
        return METHODS[plain]
    if plain in ("clean", "clean_labels"):
        raise ValueError(
            f"{name!r} is not a method but Standard() on problem.fully_reviewed(); "
            "train 'standard' on that problem."
        )
    close = get_close_matches(plain, METHODS, n=1)
    guess = f"did you mean {close[0]!r}? " if close else ""
    raise ValueError(f"there is no method {name!r}; {guess}there are {', '.join(METHODS)}.")


@dataclass(frozen=True)
class Reference:
    """One entry of ``references.bib``, the papers behind the methods; ``text`` is its BibTeX."""

    key: str
    kind: str
    text: str

    @property
    def fields(self) -> Mapping[str, str]:
        """Author, title and the like, by name."""
        return dict(re.findall(r"^ *(\w+) *= *\{(.*)\},?$", self.text, re.MULTILINE))

    @property
    def year(self) -> int:
        """Year of publication."""
        return int(self.fields["year"])

    @property
    def short(self) -> str:
        """Who wrote it, as in running text."""
        family = [name.split(",")[0].strip("{}") for name in self.fields["author"].split(" and ")]
        return " & ".join(family) if len(family) < 3 else f"{family[0]} et al."


_entries = re.finditer(  # each ends with a brace that has a line of its own
    r"^@(\w+)\{([^,]+),.*?^\}",
    Path(__file__).with_name("references.bib").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)
REFERENCES = {found[2]: Reference(found[2], found[1], found[0]) for found in _entries}
"""Key -> entry; ``alignset`` is this software."""


@dataclass(frozen=True)
class Description:
    """What to know about a method before choosing it.

    ``alignment`` says whether it "needs" reviewed rows, "takes" them if there are any, or does
    neither ("no"); ``groups`` says whether it uses groups: "yes", "no", or as an "option".

    Examples
    --------
    >>> about = describe("irbl")
    >>> about.paper, about.year, about.alignment, about.groups
    ('Nodet et al.', 2021, 'needs', 'no')
    """

    name: str
    title: str
    paper: str
    year: int
    assumes: str
    alignment: str
    groups: str
    keys: tuple[str, ...]


def describe(name: str) -> Description:
    """Return what to know about the method called ``name``."""
    method = get_method(name)
    optional = "option" if "per_group" in (f.name for f in fields(method)) else "no"
    takes = "takes" if method.uses_alignment else "no"
    paper, *_ = papers_of(name)
    return Description(
        method.name,
        method.title,
        paper.short,
        paper.year,
        method.assumes,
        "needs" if method.needs_alignment else takes,
        "yes" if method.uses_groups else optional,
        (method.reference, *method.also),
    )


def papers_of(name: str) -> list[Reference]:
    """Return the papers to cite for the method called ``name``."""
    method = get_method(name)
    keys = (method.reference, *method.also)
    missing = [key for key in keys if key not in REFERENCES]
    if missing:
        raise ValueError(
            f"{method.__name__} cites {missing[0]!r}, which is not in references.bib; add its "
            "BibTeX entry there."
        )
    return [REFERENCES[key] for key in keys]
