"""Lists that a sentence can hold, and what somebody meant who wrote none of their texts."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches


def first_few(texts: Sequence[str], most: int, mark: str = ", ") -> str:
    """Return the first few texts, and how many more there are.

    Examples
    --------
    >>> first_few(["a", "b", "c"], 2), first_few(["a", "b"], 2)
    ('a, b and 1 more', 'a, b')
    """
    told = mark.join(texts[:most])
    return f"{told} and {len(texts) - most} more" if len(texts) > most else told


def most_like(text: str, known: Sequence[str]) -> str | None:
    """Return the known text that is most like this one, whatever its case; None if none is.

    Examples
    --------
    >>> most_like("AKI", ["sex", "aki"]), most_like("age", ["sex", "aki"])
    ('aki', None)
    """
    lower = {one.casefold(): one for one in reversed(known)}
    close = get_close_matches(text.casefold(), list(lower), n=1)
    return lower[close[0]] if close else None
