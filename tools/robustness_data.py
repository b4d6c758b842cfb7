r"""The tables of the robustness page: what is kept of the study's runs.

    python tools/robustness_data.py results/robustness.csv
    python tools/robustness_data.py results/robustness.csv --networks results/networks.csv

Takes what is whole: replications in which every setting of a share reviewed was run. Writes
docs/robustness/cells.csv, one row per setting and replication, where they replace those of the same
number and join the others, and models.csv, the mean of every model at every setting, of those there
and the new ones (delete both files first where the default has changed). A run with ``--models
networks`` gives networks.csv, beside the blend in the same replications.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

KEY = ["data", "noise", "rate", "reviewed"]
CELL = [*KEY, "replication"]
OUT = Path("docs/robustness")
MEASURES = ["auroc", "worst_auroc", "log_loss", "brier", "calibration", "tpr", "weight"]
BEFORE = "blend without credit"
SETTINGS = 54
"""Of one share reviewed."""


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--networks", type=Path)
    options = parser.parse_args()
    rows = whole(pd.read_csv(options.run), "blend")
    add(shorten(rows), "cells.csv").to_csv(OUT / "cells.csv", index=False)
    pool(every_model(rows), "models.csv").to_csv(OUT / "models.csv", index=False)
    if options.networks:
        beside_networks(pd.read_csv(options.networks), rows).to_csv(
            OUT / "networks.csv", index=False
        )


def whole(rows: pd.DataFrame, model: str) -> pd.DataFrame:
    """Return the replications in which this model was fitted at every setting of a share."""
    by = ["reviewed", "replication"]
    count = rows[rows["model"] == model].groupby(by).size()
    found = count.index[count == SETTINGS]
    if not len(found):
        sys.exit(f"no replication of {model} has {SETTINGS} settings: {count.to_dict()}.")
    return rows[pd.MultiIndex.from_frame(rows[by]).isin(found)]


def add(cells: pd.DataFrame, name: str) -> pd.DataFrame:
    """Add cells to those of the file; new ones replace the same of before."""
    if (OUT / name).exists():
        cells = pd.concat([pd.read_csv(OUT / name), cells]).drop_duplicates(CELL, keep="last")
    return cells.sort_values(CELL)


def pool(means: pd.DataFrame, name: str) -> pd.DataFrame:
    """Average these means with those of the file, each by how many draws it is of."""
    if not (OUT / name).exists():
        return means
    old = pd.read_csv(OUT / name)
    if means["first"].min() <= old["last"].max():
        sys.exit(
            f"{OUT / name} has replications up to {old['last'].max()}, the run begins with "
            f"{means['first'].min()}: delete the file to make it again."
        )
    both = pd.concat([old, means])
    by = both.groupby([*KEY, "model"])
    drawn = by["drawn"].sum()
    found = both[MEASURES].mul(both["drawn"], axis=0).groupby([both[k] for k in (*KEY, "model")])
    mean = found.sum().div(drawn, axis=0).round(4)
    return mean.assign(first=by["first"].min(), last=by["last"].max(), drawn=drawn).reset_index()


def shorten(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per setting and replication: the blend, every plain model, clean labels."""
    kept = rows["model"].str.startswith(("plain", "clean")) | rows["model"].isin(["blend", BEFORE])
    wide = rows[kept].pivot(index=CELL, columns="model", values=["auroc", "log_loss"])
    wide.columns = [f"{measure} {model}" for measure, model in wide.columns]
    return wide.round(5).reset_index()


def every_model(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per setting and model: the mean of what was measured, and of how many draws."""
    by = rows.groupby([*KEY, "model"])
    first, last = rows["replication"].min(), rows["replication"].max()
    mean = by[MEASURES].mean().round(4)
    return mean.assign(first=first, last=last, drawn=by.size()).reset_index()


def beside_networks(nets: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """One row per network and setting: its AUROC and the blend's, in the same replications."""
    blend = rows[rows["model"] == "blend"].set_index(CELL)["auroc"].rename("blend")
    parts = []
    for name in nets["model"].unique():
        own = whole(nets[nets["model"] == name], name).join(blend, on=CELL, how="inner")
        mean = own.groupby(["model", *KEY])[["auroc", "blend"]].mean().round(4)
        parts.append(mean.assign(replications=own["replication"].nunique()).reset_index())
    return pd.concat(parts)


if __name__ == "__main__":
    main()
