"""Shares as percentages that do not promise more than there is."""

from __future__ import annotations

import math


def percent(share: float, digits: int = 0) -> str:
    """Write a share as a percentage; only 1 is 100%, and only 0 is 0%.

    More digits are shown where rounding would reach either, up to four.

    Examples
    --------
    >>> [percent(share) for share in (0.5, 0.996, 1.0, 0.0004, 0.99999999)]
    ['50%', '99.6%', '100%', '0.04%', 'over 99.9999%']
    """
    if not math.isfinite(share) or abs(share - round(share)) < 1e-12:
        return f"{share:.{digits}%}"
    for more in range(digits, max(digits, 4) + 1):
        if f"{share:.{more}%}" not in (f"{0.0:.{more}%}", f"{1.0:.{more}%}", f"{-0.0:.{more}%}"):
            return f"{share:.{more}%}"
    return "over 99.9999%" if share > 0.5 else "under 0.0001%"
