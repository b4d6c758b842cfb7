"""Random search: draw configs from ranges."""

from __future__ import annotations

import numpy as np

from alignset.methods.space import Space


def draw_configs(space: Space, n: int, random_state: int | None) -> list[dict[str, float]]:
    """Draw ``n`` configs; the first k of a longer draw are the draw of k.

    Examples
    --------
    >>> from alignset.methods.space import LogUniform
    >>> space = {"lr": LogUniform(1e-4, 1e-2)}
    >>> draw_configs(space, 2, 0) == draw_configs(space, 3, 0)[:2]
    True
    """
    rng = np.random.default_rng(random_state)
    names = sorted(space)
    return [{name: space[name].draw(rng) for name in names} for _ in range(n)]
