"""Everything that can be asked for by name besides a method: what it fits, and whom to cite."""

from __future__ import annotations

from dataclasses import dataclass

from alignset.estimator.resolve import plain_name, resolve, split_name
from alignset.learners import LEARNERS, STRATEGIES, Blend
from alignset.methods.registry import METHODS, REFERENCES, SIMPLE, Reference, describe
from alignset.methods.registry import papers_of as papers_of_method

SUPER_LEARNER = "vanderlaan2007"
PAPERS = {"shrunk": "zhang2022", "surrogate": "zhang2019", "irbl": "nodet2021"}
"""Label strategy -> the paper it is from."""


@dataclass(frozen=True)
class Named:
    """What a name stands for, if it is no method: candidates, and what they are fitted to.

    Examples
    --------
    >>> named("shrunk").paper, named("shrunk").fits
    ('Zhang et al.', 'reviewed rows, drawn towards the model of observed labels (PASS)')
    """

    name: str
    title: str
    paper: str  # "" if none
    year: int | None
    fits: str
    alignment: str  # as in a method's description: "needs", "takes" or "no"
    keys: tuple[str, ...]


def listed() -> list[Named]:
    """Return the blend, the label strategies and the learners; a method's name is the method's."""
    names = ("blend", *STRATEGIES, *LEARNERS)
    return [named(name) for name in names if name not in METHODS]


def named(name: str) -> Named:
    """Return what a name that is no method's stands for."""
    plain = name_of(name)
    papers = papers_of(plain)
    own = papers[0] if plain == "blend" or split_name(plain)[0] in PAPERS else None
    strategy, _ = split_name(plain)
    needs = strategy is not None and STRATEGIES[strategy].needs_review
    takes = "takes" if strategy is None else "no"
    return Named(
        plain,
        title_of(plain),
        "" if own is None else own.short,
        None if own is None else own.year,
        _fits(plain),
        "needs" if needs else takes,
        tuple(paper.key for paper in papers),
    )


def _fits(name: str) -> str:
    strategy, learner = split_name(name)
    if strategy is not None:
        return STRATEGIES[strategy].says
    what = "linear models, trees and a network" if name == "blend" else _plural(learner)
    return f"{what} on all kinds of labels, weighted by reviewed rows"


def _plural(learner: str | None) -> str:
    return "linear models" if learner == "linear" else str(learner)


def name_of(name: str) -> str:
    """Return a name in the form that is listed and stored; raise ValueError if there is none.

    Examples
    --------
    >>> name_of("Observed linear"), name_of("Standard-plus")
    ('observed_linear', 'standard_plus')
    """
    resolve(name)
    return plain_name(name)


def title_of(name: str) -> str:
    """Return a name for the reader; one that nobody knows any more stays as it is.

    Examples
    --------
    >>> title_of("observed_linear"), title_of("trees"), title_of("joint")
    ('Linear on observed labels', 'Blend of trees', 'Joint alignment')
    """
    if name in METHODS:
        return describe(name).title
    strategy, learner = split_name(name)
    if strategy is None:
        whole = "Blend" if name == "blend" else name
        return whole if learner is None else f"Blend of {_plural(learner)}"
    plain = strategy in ("observed", "reviewed", "both")
    start = "Blend" if learner is None else learner.capitalize()
    return f"{start} on {strategy} labels" if plain else f"{start}, {strategy}"


def papers_of(name: str) -> list[Reference]:
    """Return the papers to cite for a method, or for anything else that can be asked for."""
    plain = name_of(name)
    if plain in METHODS:
        return papers_of_method(plain)
    strategy, learner = split_name(plain)
    if strategy is not None:
        own = [PAPERS[strategy]] if strategy in PAPERS else []
        keys = own if learner is not None else [*own, SUPER_LEARNER]
        return [REFERENCES[key] for key in keys or ["alignset"]]
    network = ["tjandra2023"] if plain == "blend" else []
    return [REFERENCES[key] for key in (SUPER_LEARNER, *PAPERS.values(), *network)]


def needs_unreviewed(name: str) -> bool:
    """Tell whether it makes no sense if every row is reviewed."""
    asked = resolve(name)
    if isinstance(asked, Blend):
        return asked.strategies != ("reviewed",)
    return asked.name not in SIMPLE
