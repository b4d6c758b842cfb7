"""Text as it is shown in a terminal: control characters are written out, and nothing is endless."""

from __future__ import annotations

import unicodedata
from typing import Any

MAX_SHOWN = 2_000
"""Characters of a message, or of a line of output, that are shown."""

_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
"""Unicode categories that move the cursor, change colours or turn text around."""


def visible(value: Any, *, most: int = MAX_SHOWN) -> str:
    r"""Return text in which control characters are escaped; only line breaks and tabs stay.

    Examples
    --------
    >>> visible("red \x1b[31m and a bell \a")
    'red \\x1b[31m and a bell \\x07'
    """
    text = str(value)
    short = text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"
    if short.isascii() and short.isprintable():
        return short
    return "".join(c if c in "\n\t" or not _is_hidden(c) else _escape(c) for c in short)


def one_line(value: Any) -> str:
    """Return a message on one line."""
    return " ".join(visible(value).split())


def _is_hidden(c: str) -> bool:
    return unicodedata.category(c) in _HIDDEN


def _escape(c: str) -> str:
    return c.encode("unicode_escape").decode("ascii")
