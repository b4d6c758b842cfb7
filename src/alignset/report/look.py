"""Colours and markers that tell methods apart, even in grey, when small, or if colour-blind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

INK, FAINT, SURFACE = "#1f2430", "#d9dce3", "#ffffff"
"""Text and axes; grid lines; background. A page replaces them with its theme's colours."""

QUIET = "#9aa1ad"
"""Colour of what belongs in the background."""

COLOURS = (
    "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", INK, "#707070",
)  # fmt: skip
"""Okabe and Ito's, which colour-blind people can tell apart; the ink follows a page's theme."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "d")


@dataclass(frozen=True)
class Look:
    """How one method is drawn, and its label."""

    label: str
    colour: str
    marker: str
    width: float = 1.6


def looks(
    methods: Iterable[str], labels: Sequence[tuple[str, str]] = (), focus: str | None = None
) -> dict[str, Look]:
    """Give every method a look: first those in ``labels``, in order, then the rest by name.

    ``focus`` is drawn heavier; by default it is the first in ``labels``.

    Examples
    --------
    >>> [look.label for look in looks(["b", "a"], [("b", "Ours")]).values()]
    ['Ours', 'a']
    """
    named = dict(labels)
    order = [*named, *sorted(set(methods) - set(named))]
    focus = focus or next(iter(named), None)
    return {
        method: Look(
            label=named.get(method, method),
            colour=COLOURS[i % len(COLOURS)],
            # shifted by one every round, so no pair of colour and marker repeats
            marker=MARKERS[(i + i // len(COLOURS)) % len(MARKERS)],
            width=2.4 if method == focus else 1.6,
        )
        for i, method in enumerate(order)
    }
