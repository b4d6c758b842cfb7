"""Colours and markers that tell methods apart, also in grey, small, or to the colour-blind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

INK, FAINT, SURFACE = "#1f2430", "#d9dce3", "#ffffff"
"""Text and axes; grid lines; background. A page swaps them for its theme's own."""

QUIET = "#9aa1ad"
"""What stands in the background."""

COLOURS = (
    "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", INK, "#707070",
)  # fmt: skip
"""Okabe and Ito's, which the colour-blind tell apart; the ink follows the theme of a page."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "d")


@dataclass(frozen=True)
class Look:
    """How one method is drawn, and what it is called."""

    label: str
    colour: str
    marker: str
    width: float = 1.6


def looks(
    methods: Iterable[str], labels: Sequence[tuple[str, str]] = (), focus: str | None = None
) -> dict[str, Look]:
    """Give every method a look: the named ones in their order first, then the rest by name.

    ``focus`` is drawn heavier; by default the first that ``labels`` name.

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
            # one step further every round, so that no colour meets its marker twice
            marker=MARKERS[(i + i // len(COLOURS)) % len(MARKERS)],
            width=2.4 if method == focus else 1.6,
        )
        for i, method in enumerate(order)
    }
