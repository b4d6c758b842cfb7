"""Tables whose truth is known, to plan, draw and audit reviews of."""

from __future__ import annotations

import numpy as np
import pandas as pd

from alignset.review.join import join
from alignset.review.sheet import Reviews


def made_table(n=2000, noise=0.08, seed=0):
    """Two groups, a score that knows something, and labels wrong more often in positives."""
    rng = np.random.default_rng(seed)
    group, z = rng.choice(["f", "m"], n, p=[0.4, 0.6]), rng.normal(size=n)
    true = (rng.random(n) < 1 / (1 + np.exp(1.4 - 1.6 * z))).astype(int)
    rate = noise * np.where(true == 1, 2.0, 0.7)
    return pd.DataFrame(
        {
            "sex": group,
            "risk": 1 / (1 + np.exp(1.4 - 1.3 * z - 0.5 * rng.normal(size=n))),
            "other": 1 / (1 + np.exp(1.4 - 0.8 * z - 0.9 * rng.normal(size=n))),
            "obs": np.where(rng.random(n) < rate, 1 - true, true),
            "true": true,
        }
    )


def fill_in(table, sheet, answered=1.0):
    """The table with a sheet's rows reviewed, the last of them left open if not all are."""
    rows = sheet.frame().rename(columns={"row": "id"})
    true = table["true"].to_numpy()[rows["id"]]
    done = np.arange(len(rows)) < answered * len(rows)
    rows["reviewed"] = np.where(done, true.astype(str), None)
    rows["id"] = rows["id"].astype(str)
    return join(table, Reviews("row", rows), label="obs").frame()
