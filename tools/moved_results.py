"""How far results moved: settings of the committed summaries, sampled and run again.

    python tools/moved_results.py --device cuda --out moved.csv [--code PATH_OF_AN_OLDER_SRC]

Of each of ``docs/reproduction/summary.csv`` and ``docs/beyond/summary.csv`` half of the sample is
drawn, by a fixed seed; every replication of a setting is trained again. With ``--code`` the
training is done by another checkout of the library, such as the one the summaries were made by.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
KEY = ["experiment", "protocol", "dataset", "method", "x"]
METRICS = ("auroc", "hm")


def committed() -> pd.DataFrame:
    """Read the means that the pages show."""
    here = pd.read_csv(ROOT / "docs/reproduction/summary.csv").assign(page="reproduction")
    there = pd.read_csv(ROOT / "docs/beyond/summary.csv").assign(page="beyond", protocol="")
    rows = pd.concat([here, there])
    return rows[rows["metric"].isin(METRICS)]


def sampled(rows: pd.DataFrame, n: int, seed: int, datasets: list[str]) -> pd.DataFrame:
    """Draw half of the settings from each page."""
    rng = np.random.default_rng(seed)
    settings = rows[rows["dataset"].isin(datasets)][["page", *KEY]].drop_duplicates()
    parts = [
        part.iloc[np.sort(rng.choice(len(part), n // 2, replace=False))]
        for _, part in settings.groupby("page", sort=True)
    ]
    return pd.concat(parts)


def cells_of(settings: pd.DataFrame) -> list:
    """Return every replication of the settings, from the grids of the papers."""
    from alignset.study import expand, load_experiments

    wanted = {tuple(row) for row in settings[KEY].itertuples(index=False)}
    found = []
    for paper, protocols in (("chil2023", ("as-written", "as-released")), ("beyond", (None,))):
        for protocol in protocols:
            for spec in load_experiments(ROOT / "paper" / paper / "all.toml", protocol=protocol):
                for cell in expand(spec)[0]:
                    said = "" if paper == "beyond" else cell.protocol
                    if (cell.experiment, said, cell.dataset, cell.method, cell.x) in wanted:
                        found.append(cell)
    return found


def main() -> None:
    """Train the sample and write committed and new means beside each other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--datasets", default="synthetic,adult,compas")
    parser.add_argument("--code", type=Path)
    parser.add_argument("--out", type=Path, default=Path("moved.csv"))
    asked = parser.parse_args()
    if asked.code:
        sys.path.insert(0, str(asked.code))
        sys.modules["alignset.study"] = __import__("alignset.experiment", fromlist=["x"])
    rows = committed()
    settings = sampled(rows, asked.sample, asked.seed, asked.datasets.split(","))
    cells = cells_of(settings)
    print(f"{len(settings)} settings, {len(cells)} cells", flush=True)
    home = sys.modules["alignset.study"].__name__
    training = __import__(f"{home}.training", fromlist=["x"])
    told = []
    kinds: dict[tuple, list] = {}
    for cell in cells:
        said = "" if cell.experiment.startswith("beyond") else cell.protocol
        kinds.setdefault((cell.experiment, said, cell.dataset, cell.method, cell.x), []).append(
            cell
        )
    for key, own in kinds.items():
        names = dict(zip(KEY, key, strict=True))
        records = training.train_cohort(own, device=asked.device, n_jobs=None)
        told += [names | dict(record.metrics) for record in records]
        print(*key, flush=True)
    new = pd.DataFrame(told).melt(KEY, METRICS, "metric", "value")
    new = new.groupby([*KEY, "metric"])["value"].agg(new_mean="mean", new_n="size").reset_index()
    rows["protocol"] = rows["protocol"].fillna("")
    table = settings.merge(rows, on=["page", *KEY]).merge(new, on=[*KEY, "metric"])
    table["moved"] = table["new_mean"] - table["mean"]
    table["error"] = np.sqrt(2 / table["n"]) * table["sd"]
    table.to_csv(asked.out, index=False, float_format="%.5f", lineterminator="\n")
    for metric, part in table.groupby("metric"):
        beyond = (part["moved"].abs() > 2 * part["error"] + 5e-6).mean()
        print(
            f"{metric}: {len(part)} settings, moved by {part['moved'].mean():+.4f} on average "
            f"(SD {part['moved'].std():.4f}), most {part['moved'].abs().max():.4f}; beyond two "
            f"standard errors: {beyond:.0%}; equal: {(part['moved'].abs() < 2e-5).mean():.0%}"
        )


if __name__ == "__main__":
    main()
