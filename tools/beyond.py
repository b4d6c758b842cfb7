"""Make docs/beyond from stores of results.

    python tools/beyond.py results/beyond.sqlite results/methods.sqlite   # everything
    python tools/beyond.py                                # README alone, from the CSV files

Words come from templates/beyond.md.jinja, every number from summary.csv, paired.csv, rule.csv and
the published.csv of the paper. Differences are paired over seeds, with a 95 % t interval; p values
are of the paired t test, corrected by Holm's method over all settings of one comparison.
"""

import sys
from itertools import pairwise
from pathlib import Path

import beyond_figures
import pandas as pd
from pages import DOCS, PAPER, markdown, percent, render, save_csv

from alignset.cli.report import write_text
from alignset.evaluate.proportion import wilson
from alignset.rows.folds import pooled
from alignset.study import Store, expand, load_experiments, results
from alignset.study.problems import build_problem

PAGE = DOCS / "beyond"
METRICS = (
    "auroc", "hm_released", "hm_rank", "hm", "aueoc", "worst_group_auroc", "calibration_error",
)  # fmt: skip
PLACE = ["experiment", "dataset", "x"]
PAIRS = (
    ("joint", "proposed"), ("joint", "standard"), ("joint", "csidn"), ("joint", "clean"),
    ("joint", "standard_by_likelihood"), ("standard_by_likelihood", "standard"),
    *(("joint", m) for m in ("glc", "sln_filter", "js", "transition", "fair_gpl")),
    ("joint_folds", "joint"), ("proposed_folds", "proposed"),
    ("joint_ensemble", "joint"), ("proposed_ensemble", "proposed"), ("joint_cells", "joint"),
    ("joint_cells", "proposed"), ("joint_equal", "joint"), ("joint_by_score", "joint"),
    ("joint_no_prior", "joint"), ("joint_one_table", "joint"), ("proposed", "standard"),
    *((m, "standard") for m in ("clean", "csidn", "glc", "irbl", "standard_plus", "joint_folds",
                                "joint_ensemble")),
)  # fmt: skip
BOUNDS = (0.0, 0.01, 0.03, 0.05, 0.10, 0.20, 1.0)
"""Bins of the lower bound of the noise rate among reviewed rows."""


def main(*stores: str) -> None:
    """Write the CSV files and figures of stores, if they are given, and the page."""
    if stores:
        save(*map(Path, stores))
    write_text(PAGE / "README.md", page())


def save(beyond: Path, methods: Path) -> None:
    """Write summary.csv, paired.csv, rule.csv, every_method.csv and figures/."""
    cells = read(beyond)
    summary = cells.melt([*PLACE, "method"], list(METRICS), "metric")
    summary = summary.groupby([*PLACE, "method", "metric"], sort=True)["value"]
    table = summary.agg(mean="mean", sd="std", n="count").reset_index()
    save_csv(PAGE / "summary.csv", table.round(5))
    save_csv(PAGE / "paired.csv", paired(cells).round(5))
    save_csv(PAGE / "rule.csv", rule(cells).round(4))
    every = pd.concat([read(methods), cells[cells["experiment"] == "beyond_every_method"]])
    every = every[every["x"].isin([0.4, 0.6])].groupby(["method", "x"])[["auroc", "hm"]]
    save_csv(PAGE / "every_method.csv", every.agg(["mean", "std", "count"]).round(4).pipe(_flat))
    beyond_figures.draw(PAGE, PAPER / "chil2023/published.csv")


def read(store: Path) -> pd.DataFrame:
    """Cells that are done, with the harmonic mean of AUROC and AUEOC by rank."""
    frame = Store(store).frame()
    frame = frame[frame["status"] == "done"].copy()
    a, b = frame["auroc"], frame["aueoc_fpr"]
    frame["hm_rank"] = 2 * a * b / (a + b)
    # cross-fitting on Adult and COMPAS is a grid of its own with the same problems
    frame["experiment"] = frame["experiment"].replace("beyond_folds", "beyond_size")
    by_likelihood = frame["protocol"].str.endswith("by-likelihood")
    frame.loc[by_likelihood, "method"] += "_by_likelihood"
    return frame


def paired(cells: pd.DataFrame) -> pd.DataFrame:
    """Differences of pairs of methods at every setting."""
    rows = []
    for place, own in cells.groupby(PLACE):
        for metric in METRICS:
            wide = own.pivot(index="seed", columns="method", values=metric)
            for method, rival in dict.fromkeys(PAIRS):
                if method in wide and rival in wide:
                    d = results.paired(wide[method] - wide[rival])
                    found = (d.mean, d.low, d.high, d.p, d.n)
                    rows.append([*place, method, rival, metric, *found])
    names = [*PLACE, "method", "rival", "metric", "difference", "low", "high", "p", "n"]
    table = pd.DataFrame(rows, columns=names)
    compared = table.groupby(["method", "rival", "metric"])["p"]
    table["p_holm"] = compared.transform(lambda p: results.holm(p.tolist()))
    return table


def rule(cells: pd.DataFrame) -> pd.DataFrame:
    """Gain over Standard by what the reviewed rows alone say of the noise, in every data set."""
    found = []
    for experiment in load_experiments(PAPER / "beyond/all.toml"):
        if "standard" not in experiment.methods:
            continue
        for cell in expand(experiment)[0]:
            if cell.method == "joint":
                rows = pooled(build_problem(cell.recipe))
                wrong = (rows.y_seen != rows.y_true)[rows.reviewed]
                low = float(wilson(wrong.mean(), len(wrong))[0])
                found.append([cell.experiment, cell.dataset, cell.x, cell.seed, low])
    table = pd.DataFrame(found, columns=[*PLACE, "seed", "low"])
    table["bin"] = pd.cut(table["low"], BOUNDS, right=False, labels=BOUNDS[:-1]).astype(float)
    lines = []
    wide = cells.pivot_table(index=[*PLACE, "seed"], columns="method", values="auroc")
    table = table.join(wide, on=[*PLACE, "seed"])
    for method in ("joint", "proposed"):
        gain = table.assign(gain=table[method] - table["standard"]).dropna(subset="gain")
        for name, own in (*gain.groupby("dataset"), ("all", gain)):
            for low, some in own.groupby("bin"):
                ahead, mean = (some["gain"] > 0).mean(), some["gain"].mean()
                lines.append(
                    [method, name, low, len(some), ahead, mean, some["gain"].quantile(0.05)]
                )
    return pd.DataFrame(lines, columns=["method", "dataset", "low", "n", "ahead", "gain", "bad"])


def page() -> str:
    """Return the text of README.md."""
    return render("beyond.md.jinja", n=Numbers())


class Numbers:
    """What the page may quote."""

    def __init__(self) -> None:
        summary = pd.read_csv(PAGE / "summary.csv")
        self.mean = summary.set_index([*PLACE, "method", "metric"])["mean"]
        self.pairs = pd.read_csv(PAGE / "paired.csv")
        self.rule = pd.read_csv(PAGE / "rule.csv")
        self.every = pd.read_csv(PAGE / "every_method.csv").set_index(["method", "x"])
        published = pd.read_csv(PAPER / "chil2023/published.csv")
        self.published = published.set_index(["experiment", "dataset", "method", "x"])["mean"]

    def __call__(self, experiment: str, dataset: str, method: str, x: float, metric: str) -> str:
        """Mean over the seeds, to three decimals."""
        return f"{self.mean['beyond_' + experiment, dataset, x, method, metric]:.3f}"

    def line(self, experiment: str, dataset: str = "synthetic") -> list[float]:
        """Places on an axis."""
        places = self.mean.xs(("beyond_" + experiment, dataset), level=[0, 1])
        return sorted(places.index.unique("x"))

    def target_table(self, experiment: str) -> str:
        """Ours beside the published curve and the clean-label bound."""
        rows = []
        for x in self.line(experiment):
            ours, clean, proposed, standard = (
                float(self(experiment, "synthetic", m, x, "hm_released"))
                for m in ("joint", "clean", "proposed", "standard")
            )
            theirs = float(self.published[experiment, "synthetic", "proposed", x])
            rows.append([
                percent(x), f"{standard:.3f}", f"{proposed:.3f}", f"{theirs:.3f}",
                f"**{ours:.3f}**", f"{clean:.3f}", f"{ours - theirs:+.3f}", f"{ours - clean:+.3f}",
                f"{clean - theirs:+.3f}",
            ])  # fmt: skip
        head = ["minority's noise rate", "Standard", "Proposed", "Proposed, published", "Joint"]
        head += ["Clean", "Joint - published", "Joint - Clean", "Clean - published"]
        return markdown(head, rows)

    def count(self, method: str, rival: str, metric: str, **where: object) -> tuple[int, int, int]:
        """Count settings where a method is above, and below, beyond the interval; and all."""
        table = self._pairs(method, rival, metric, **where)
        return int((table["low"] > 0).sum()), int((table["high"] < 0).sum()), len(table)

    def counts(self, method: str, rival: str, metric: str, **where: object) -> str:
        """Say how often a method is above and below beyond the interval, and after correction."""
        table = self._pairs(method, rival, metric, **where)
        sure = table["p_holm"] < 0.05
        up, down = table["difference"] > 0, table["difference"] < 0
        return (
            f"{(table['low'] > 0).sum()} ({(sure & up).sum()}) / "
            f"{(table['high'] < 0).sum()} ({(sure & down).sum()}) of {len(table)}"
        )

    def _pairs(self, method: str, rival: str, metric: str, **where: object) -> pd.DataFrame:
        table = self.pairs
        chosen = (table["method"] == method) & (table["rival"] == rival)
        chosen &= table["metric"] == metric
        for key, value in where.items():
            chosen &= table[key] == value
        return table[chosen]

    def summary_table(self) -> str:
        """Joint against the paper's method and Standard: all settings, every metric."""
        names = {"auroc": "AUROC", "worst_group_auroc": "AUROC of the worst group",
                 "hm_rank": "HM by rank", "hm_released": "HM, released rule",
                 "hm": "HM over thresholds"}  # fmt: skip
        rows = [
            [
                label,
                *(self.counts("joint", rival, m) for rival in ("proposed", "standard", "csidn")),
            ]
            for m, label in names.items()
        ]
        return markdown(["metric", "against Proposed", "against Standard", "against CSIDN"], rows)

    def difference(
        self, experiment: str, dataset: str, x: float, method: str, rival: str, metric: str
    ) -> str:
        """Return a paired difference with its interval; bold where it excludes zero."""
        place = {"experiment": "beyond_" + experiment, "dataset": dataset, "x": x}
        (row,) = self._pairs(method, rival, metric, **place).itertuples()
        text = f"{row.difference:+.3f} ({row.low:+.3f} to {row.high:+.3f})"
        return f"**{text}**" if row.low > 0 or row.high < 0 else text

    def pair_table(
        self, experiment: str, pairs: list[tuple[str, str, str]], datasets: list[str], metric: str
    ) -> str:
        """Differences of pairs (method, rival, title), by data set and place."""
        rows = []
        for dataset in datasets:
            for x in self.line(experiment, dataset):
                where = {"experiment": "beyond_" + experiment, "dataset": dataset, "x": x}
                if any(len(self._pairs(a, b, metric, **where)) for a, b, _ in pairs):
                    cells = [
                        self.difference(experiment, dataset, x, a, b, metric)
                        if len(self._pairs(a, b, metric, **where)) else ""
                        for a, b, _ in pairs
                    ]  # fmt: skip
                    rows.append([dataset, percent(x), *cells])
        return markdown(["data", "at", *(title for _, _, title in pairs)], rows)

    def mean_table(
        self, experiment: str, dataset: str, methods: list[str], metrics: dict[str, str]
    ) -> str:
        """Means of methods, one row each, at every place."""
        places = self.line(experiment, dataset)
        head = [
            "method",
            *(f"{label}, {100 * x:.0f} %" for x in places for label in metrics.values()),
        ]
        rows = [
            [m, *(self(experiment, dataset, m, x, k) for x in places for k in metrics)]
            for m in methods
        ]
        return markdown(head, rows)

    def metric_table(
        self, experiment: str, dataset: str, x: float, methods: list[str], metrics: dict[str, str]
    ) -> str:
        """Metrics of methods at one place."""
        rows = [[m, *(self(experiment, dataset, m, x, k) for k in metrics)] for m in methods]
        return markdown(["method", *metrics.values()], rows)

    def rule_table(self) -> str:
        """How often each method beat Standard, by the lower bound of the noise rate in A."""
        rows = []
        for low, high in pairwise(BOUNDS):
            row = [f"{100 * low:.0f} to {100 * high:.0f} %"]
            for method in ("joint", "proposed"):
                table = self.rule[(self.rule["method"] == method) & (self.rule["low"] == low)]
                table = table.set_index("dataset")
                row += [f"{table.loc['all', 'n']:.0f}", f"{table.loc['all', 'ahead']:.0%}",
                        f"{table.loc['all', 'gain']:+.3f}"]  # fmt: skip
                others = table.drop(index="all")
                row.append(", ".join(f"{d} {v:.0%}" for d, v in others["ahead"].items()))
            rows.append(row)
        head = ["lower bound", "n", "Joint ahead", "mean gain", "by data set", "n",
                "Proposed ahead", "mean gain", "by data set"]  # fmt: skip
        return markdown(head, rows)

    def every_table(self) -> str:
        """All methods of the library beside ours, best first."""
        wide = self.every.unstack("x")
        order = wide["auroc_mean"].mean(axis=1).sort_values(ascending=False).index
        rows = [
            [m, *(f"{wide.loc[m, (f'{k}_mean', x)]:.3f} ± {wide.loc[m, (f'{k}_std', x)]:.3f}"
                  for x in (0.4, 0.6) for k in ("auroc", "hm"))]
            for m in order
        ]  # fmt: skip
        head = ["method", "AUROC, 20/40 %", "HM, 20/40 %", "AUROC, 40/60 %", "HM, 40/60 %"]
        return markdown(head, rows)


def _flat(table: pd.DataFrame) -> pd.DataFrame:
    table.columns = ["_".join(name) for name in table.columns]
    return table.reset_index()


if __name__ == "__main__":
    main(*sys.argv[1:])
