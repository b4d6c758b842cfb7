"""Lists that a sentence can hold."""

from __future__ import annotations

from collections.abc import Sequence


def first_few(texts: Sequence[str], most: int, mark: str = ", ") -> str:
    """Return the first few texts, and how many more there are.

    Examples
    --------
    >>> first_few(["a", "b", "c"], 2), first_few(["a", "b"], 2)
    ('a, b and 1 more', 'a, b')
    """
    told = mark.join(texts[:most])
    return f"{told} and {len(texts) - most} more" if len(texts) > most else told
