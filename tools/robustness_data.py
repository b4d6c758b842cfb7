r"""The tables of the robustness page: what is kept of the study's runs.

    python tools/robustness_data.py results/robustness.csv
    python tools/robustness_data.py results/robustness.csv --networks results/networks.csv

Takes the replications of a file that are whole. Writes docs/robustness/cells.csv, one row per
setting and replication, where they replace those of the same number and join the others (delete the
file first where the default has changed), and models.csv, the mean of every model at every
setting. A run with ``--models networks`` gives networks.csv, beside the blend in the same
replications.
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
BEFORE = "blend without leaning"
SETTINGS = 162


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--networks", type=Path)
    options = parser.parse_args()
    rows = whole(pd.read_csv(options.run), "blend")
    cells = shorten(rows)
    if (OUT / "cells.csv").exists():
        old = pd.read_csv(OUT / "cells.csv")
        cells = pd.concat([old[~old["replication"].isin(cells["replication"])], cells])
    cells.sort_values(CELL).to_csv(OUT / "cells.csv", index=False)
    every_model(rows).to_csv(OUT / "models.csv", index=False)
    if options.networks:
        beside_networks(pd.read_csv(options.networks), rows).to_csv(
            OUT / "networks.csv", index=False
        )


def whole(rows: pd.DataFrame, model: str) -> pd.DataFrame:
    """Return the replications in which this model was fitted at every setting."""
    count = rows[rows["model"] == model].groupby("replication").size()
    found = count.index[count == SETTINGS]
    if not len(found):
        sys.exit(f"no replication of {model} has {SETTINGS} settings: {count.to_dict()}.")
    return rows[rows["replication"].isin(found)]


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
