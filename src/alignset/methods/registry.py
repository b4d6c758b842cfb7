"""Every method by name, with what to know before choosing it.

Clean labels, the bound the paper compares with, is not here: it is ``Standard()`` on
``problem.fully_reviewed()``, a protocol and not a method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import partial
from typing import cast

from alignset.methods.alignment import Alignment
from alignset.methods.base import Method
from alignset.methods.confident import ConfidentLearning
from alignset.methods.corrections import Backward, Forward
from alignset.methods.coteaching import CoTeaching
from alignset.methods.csidn import CSIDN
from alignset.methods.elr import ELR
from alignset.methods.fair_gpl import FairGPL
from alignset.methods.gjs import GJS
from alignset.methods.glc import GLC
from alignset.methods.irbl import IRBL
from alignset.methods.joint import JointAlignment
from alignset.methods.l2rw import LearningToReweight
from alignset.methods.mwnet import MetaWeightNet
from alignset.methods.parts import Parts
from alignset.methods.references import REFERENCES, Reference
from alignset.methods.sln_filter import SLNFilter
from alignset.methods.standard import AlignmentOnly, Standard, StandardPlus

Factory = Callable[..., Method]
"""What makes a method when it is called: its class, or the class with a setting made."""

METHODS: Mapping[str, Factory] = {
    "alignment": Alignment,
    "joint": JointAlignment,
    "standard": Standard,
    "standard_plus": StandardPlus,
    "alignment_only": AlignmentOnly,
    "sln_filter": SLNFilter,
    "js": partial(GJS, n_views=1),
    "gjs": GJS,
    "parts": Parts,
    "csidn": CSIDN,
    "fair_gpl": FairGPL,
    "glc": GLC,
    "forward": Forward,
    "backward": Backward,
    "irbl": IRBL,
    "l2rw": LearningToReweight,
    "mwnet": MetaWeightNet,
    "coteaching": CoTeaching,
    "elr": ELR,
    "confident": ConfidentLearning,
}
"""Name -> what makes it: the paper's method, ours, plain cross entropy, the paper's baselines, and
the methods that others with a reviewed subset use."""

_ALSO = {
    "sln_filter": ("arpit2017",),
    "fair_gpl": ("liu2020peer",),
    "joint": ("tjandra2023", "goldberger2017", "hendrycks2018", "berthon2021"),
}
"""What a method takes from a second paper."""


def get_method(name: str) -> Factory:
    """Return what makes the method called ``name``; call it to set its hyperparameters.

    Examples
    --------
    >>> get_method("glc")(per_group=True).title
    'GLC'
    """
    return METHODS[_known(name)]


def _known(name: str) -> str:
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    if plain in METHODS:
        return plain
    if plain in ("clean", "clean_labels"):
        raise ValueError(
            f"{name!r} is not a method but Standard() on problem.fully_reviewed(); "
            "get 'standard' and train it on that."
        )
    close = get_close_matches(plain, METHODS, n=1)
    guess = f"did you mean {close[0]!r}? " if close else ""
    raise ValueError(f"no method {name!r}; {guess}there are {', '.join(METHODS)}.")


@dataclass(frozen=True)
class Description:
    """What to know of a method before choosing it.

    Attributes
    ----------
    name, title, paper, assumes : str
    year : int
    alignment : str
        Whether it "needs" reviewed rows, "takes" them where there are some, or neither ("no").
    groups : str
        Whether it uses groups: "yes", "no", or as an "option".
    keys : tuple of str
        Of its papers in ``REFERENCES``.

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
    """Return what to know of the method called ``name``."""
    name = _known(name)
    factory = METHODS[name]
    method = cast(type[Method], factory.func if isinstance(factory, partial) else factory)
    optional = "option" if "per_group" in (f.name for f in fields(method)) else "no"
    takes = "takes" if method.uses_alignment else "no"
    paper = REFERENCES[method.reference]
    return Description(
        name,
        method.title if method is factory else name.upper(),
        paper.short,
        paper.year,
        method.assumes,
        "needs" if method.needs_alignment else takes,
        "yes" if method.uses_groups else optional,
        (method.reference, *_ALSO.get(name, ())),
    )


def papers_of(name: str) -> list[Reference]:
    """Return the papers to cite for the method called ``name``."""
    return [REFERENCES[key] for key in describe(name).keys]
