"""Make docs/reproduction from a store of results.

    python tools/reproduction.py results/alignset.sqlite   # summary, claims, figures, README
    python tools/reproduction.py                           # README alone, from the CSV files

A store may have a part of the runs: what it lacks stays as the files have it (made.csv says when).

Words come from templates/reproduction*.md.jinja, every number from summary.csv, claims.csv,
variants.csv, made.csv, spread.csv and the paper's published.csv.
"""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pages
import pandas as pd
from pages import markdown, percent, save_csv
from reproduction_tables import DATASETS, SWEEPS, UNREAD, Variants
from reproduction_tables import LABELS as EVERY_LABEL

from alignset.cli.report import write_text
from alignset.report.displays import save_figures
from alignset.study import Reproduction, Store
from alignset.study.claims import Verdicts
from alignset.study.publication import load_publication

PAGE = pages.DOCS / "reproduction"
PAPER = pages.PAPER / "chil2023"
LABELS = {name: label for name, label in EVERY_LABEL.items() if name != "alignment_only"}
FIGURES = (
    "alignment-size-synthetic-as-released-hm-released-published",
    "alignment-size-adult-as-released-hm-released-published",
    "alignment-size-compas-as-released-hm-released-published",
    "alignment-bias-synthetic-as-released-hm-released",
    "alignment-bias-adult-as-released-hm-released",
    "alignment-bias-compas-as-released-hm-released",
    "ablation-synthetic-as-released-hm-released-published",
    "sensitivity-alpha-2-synthetic-as-released-hm-released-published",
    "noise-rate-synthetic-as-released-hm-released-published",
    "noise-disparity-synthetic-as-released-hm-released-published",
    "noise-rate-synthetic-as-written-hm",
    "noise-rate-synthetic-as-written-auroc",
    "noise-rate-synthetic-as-written-aueoc",
    "noise-disparity-synthetic-as-written-hm",
    "alignment-size-adult-as-written-hm",
    "alignment-size-compas-as-written-hm",
    "alignment-bias-synthetic-as-written-hm",
    "alignment-bias-compas-as-written-hm",
    "ablation-synthetic-as-written-hm-released-published",
    "sensitivity-alpha-2-synthetic-as-written-hm-released-published",
    "sensitivity-gamma-synthetic-as-written-hm-released-published",
)
BARS = {
    "alignment_only": "step 1", "plus_ltheta_prime": "+ L'θ",
    "plus_gamma_ltheta": "+ L'θ + γ Lθ",  # noqa: RUF001
    "plus_alpha2_lphi": "+ L'θ + α₂ Lφ", "proposed": "all",
}  # fmt: skip
PARTS = {
    "ablation": "ablation",
    "sensitivity_alpha_1": "α₁",
    "sensitivity_alpha_2": "α₂",
    "sensitivity_gamma": "γ",  # noqa: RUF001
}
LIMIT = 0.02
"""How far as-released Proposed and Standard may be from the published HM up to 60 %."""


def main(store: str | None = None) -> None:
    """Write the CSV files and figures of a store, if one is given, and the page."""
    if store:
        save(Path(store))
    write_text(PAGE / "README.md", page())
    write_text(PAGE / "variants.md", variants_page())


def save(store: Path) -> None:
    """Write summary.csv, claims.csv, made.csv and figures/.

    What the store does not have in full, or not at all, stays as the files have it.
    """
    results = Store(store)
    old = pd.read_csv(PAGE / "summary.csv")
    new = results.summary().round({"mean": 5, "sd": 5})
    new = new[new["metric"].isin(old["metric"].unique())]
    whole = complete(new, old)
    kept = old[~places(old).isin(whole)]
    summary = pd.concat([new[places(new).isin(whole)], kept])[list(old)]
    save_csv(PAGE / "summary.csv", summary.sort_values(["protocol", *PLACE, "method", "x"]))
    frame = results.frame()
    frame = frame[places(frame).isin(whole)]
    save_made(frame, kept)
    publication = load_publication(PAPER / "claims.py")
    published = publication.read_published(PAPER / "published.csv")
    found = Reproduction(frame, publication, published)
    before = pd.read_csv(PAGE / "claims.csv", keep_default_na=False)
    save_csv(PAGE / "claims.csv", judged_before(Verdicts(found.judged).frame(), before))
    chosen = {display.name: display for display in found.displays if display.name in FIGURES}
    folder = PAGE / "figures"
    folder.mkdir(exist_ok=True)
    for name, text in save_figures(list(chosen.values())).items():
        if name.endswith(".svg"):
            write_text(folder / name, text)
    for old_file in folder.glob("*.svg"):
        if old_file.stem not in FIGURES:
            old_file.unlink()


PLACE = ["experiment", "dataset"]


def places(table: pd.DataFrame) -> pd.Series:
    """Return protocol, experiment and data set of every row, as one text."""
    return table["protocol"] + " " + table["experiment"] + " " + table["dataset"]


def complete(new: pd.DataFrame, old: pd.DataFrame) -> set[str]:
    """Return the places of experiments of which the store has all that the summary had."""
    short, seen = set(), set(places(new))
    for (protocol, experiment), before in old.groupby(["protocol", "experiment"]):
        here = (new["protocol"] == protocol) & (new["experiment"] == experiment)
        if new.loc[here, "n"].sum() < before["n"].sum():
            short |= set(places(before)) | set(places(new[here]))
    return seen - short


def save_made(frame: pd.DataFrame, kept: pd.DataFrame) -> None:
    """Write when the cells of every place were trained."""
    table = pd.read_csv(PAGE / "made.csv") if (PAGE / "made.csv").exists() else pd.DataFrame()
    rows = []
    for (protocol, *where), cells in frame.groupby(["protocol", *PLACE]):
        rows.append((protocol, *where, len(cells), cells["created"].max()[:10]))
    for (protocol, *where), cells in kept[kept["metric"] == "hm"].groupby(["protocol", *PLACE]):
        known = table[(table[["protocol", *PLACE]] == [protocol, *where]).all(axis=1)] \
            if len(table) else table  # fmt: skip
        day = known["made"].item() if len(known) else "before decision 17"
        rows.append((protocol, *where, int(cells["n"].sum()), day))
    save_csv(PAGE / "made.csv", pd.DataFrame(rows, columns=["protocol", *PLACE, "cells", "made"]))


def judged_before(new: pd.DataFrame, before: pd.DataFrame) -> pd.DataFrame:
    """Keep the verdict of a claim whose runs the store lacks, if there was one."""
    was = {(r.claim, r.protocol): r for r in before.itertuples(index=False)}
    rows, seen = [], set()
    for row in new.itertuples(index=False):
        old = was.get((row.claim, row.protocol))
        seen.add((row.claim, row.protocol))
        lost = "Not run" in row.explanation and old is not None
        rows.append(old if lost and "Not run" not in old.explanation else row)
    rows += [row for key, row in was.items() if key not in seen]
    order = {row.claim: i for i, row in enumerate(was.values())}
    rows.sort(key=lambda row: (order.get(row.claim, len(order)), row.protocol != "as-written"))
    return pd.DataFrame(rows, columns=new.columns)


def page() -> str:
    """Return the text of README.md."""
    return pages.render("reproduction.md.jinja", n=Numbers())


def variants() -> Variants:
    """Return the runs with one thing changed."""
    return Variants(pd.read_csv(PAGE / "variants.csv"), pd.read_csv(PAPER / "published.csv"))


def variants_page() -> str:
    """Return the text of variants.md."""
    summary = pd.read_csv(PAGE / "summary.csv")
    return pages.render("reproduction_variants.md.jinja", v=variants(), summary=summary)


class Numbers:
    """What the page may quote."""

    def __init__(self) -> None:
        keys = ["protocol", "experiment", "dataset", "method", "x", "metric"]
        self.summary = pd.read_csv(PAGE / "summary.csv").set_index(keys)["mean"]
        self.published = pd.read_csv(PAPER / "published.csv")
        self.claims = pd.read_csv(PAGE / "claims.csv", keep_default_na=False)
        self.made = pd.read_csv(PAGE / "made.csv")
        self.v = variants()
        self.spread = pd.read_csv(PAGE / "spread.csv").set_index(["method", "x"])["sd"]
        cells = pd.read_csv(PAGE / "summary.csv").query("metric == 'hm'")["n"]
        self.n_cells = int(cells.sum())

    def value(
        self, experiment: str, method: str, x: float, metric: str = "hm", *,
        protocol: str = "as-written", dataset: str = "synthetic",
    ) -> float:  # fmt: skip
        """Mean over the seeds."""
        return float(self.summary[protocol, experiment, dataset, method, x, metric])

    def __call__(self, *place: Any, **options: Any) -> str:
        """Mean over the seeds, to three decimals."""
        return f"{self.value(*place, **options):.3f}"

    def beside(self) -> pd.DataFrame:
        """As-released and published HM of the noise sweeps, and whether they are far apart."""
        table = self.published[self.published["experiment"].isin(SWEEPS)].copy()
        table["ours"] = [
            self.value(e, m, x, "hm_released", protocol="as-released")
            for e, m, x in zip(table["experiment"], table["method"], table["x"], strict=True)
        ]
        table["difference"] = table["ours"] - table["mean"]
        table["far"] = table["difference"].abs() > table["sd"].fillna(UNREAD)
        return table

    def limit_table(self) -> str:
        """As-released Proposed and Standard against the published mean, up to 60 %."""
        table = self.beside().set_index(["experiment", "x", "method"]).sort_index()
        places = table[table.index.get_level_values("x") <= 0.6].index.droplevel("method").unique()
        rows = []
        for experiment, x in sorted(places, key=lambda p: (list(SWEEPS).index(p[0]), p[1])):
            row = [SWEEPS[experiment], percent(x)]
            for method in ("proposed", "standard"):
                at = table.loc[experiment, x, method]
                row += [f"{at['ours']:.3f}", f"{at['mean']:.3f}", f"{at['difference']:+.3f}"]
            rows.append(row)
        head = ["figure", "minority's noise rate", "Proposed", "published", "difference"]
        return markdown([*head, "Standard", "published", "difference"], rows)

    def worst(self, method: str) -> str:
        """Return the largest distance of a method from the published mean up to 60 %."""
        table = self.beside()
        table = table[(table["method"] == method) & (table["x"] <= 0.6)]
        return f"{table['difference'].abs().max():.3f}"

    def far(self, method: str, experiment: str) -> str:
        """Places where a method is far from the published mean, with the difference."""
        table = self.beside().sort_values("x")
        table = table[(table["method"] == method) & (table["experiment"] == experiment)]
        table = table[table["far"]]
        places = zip(table["x"], table["difference"], strict=True)
        return ", ".join(f"{percent(x)} ({d:+.3f})" for x, d in places) or "none"

    def n_far(self, *methods: str) -> int:
        """How many places of these methods are far, of all methods if none is named."""
        table = self.beside()
        chosen = table["method"].isin(methods or LABELS)
        return int((table["far"] & chosen).sum())

    def n_unread(self) -> int:
        """At how many places no SD could be read off."""
        return int(self.beside()["sd"].isna().sum())

    def range(
        self, experiment: str, method: str, metric: str = "hm", *,
        protocol: str = "as-written", dataset: str = "synthetic", low: float = 0, high: float = 1e9,
    ) -> str:  # fmt: skip
        """Lowest and highest mean over an axis."""
        line = self.summary[protocol, experiment, dataset, method, :, metric]
        at = line.index.get_level_values("x")
        line = line[(at >= low) & (at <= high)]
        return f"{line.min():.3f}-{line.max():.3f}"

    def published_range(self, experiment: str, method: str) -> str:
        """Lowest and highest published mean over an axis."""
        chosen = (self.published["experiment"] == experiment) & (self.published["method"] == method)
        line = self.published.loc[chosen, "mean"]
        return f"{line.min():.3f}-{line.max():.3f}"

    def ahead(self, experiment: str, metric: str, protocol: str = "as-written") -> str:
        """Rates at which Proposed has the highest mean of all but Clean labels."""
        names = ["protocol", "experiment", "dataset", "metric"]
        wide = self.summary.xs((protocol, experiment, "synthetic", metric), level=names)
        best = wide.unstack("method").drop(columns="clean").idxmax(axis=1)
        won = [x for x in best.index if best[x] == "proposed"]
        if len(won) in (0, len(best)):
            return "every rate" if won else "no rate"
        between = [x for x in best.index if won[0] <= x <= won[-1]]
        return f"{100 * won[0]:.0f}-{percent(won[-1])}" if between == won else _percents(won)

    def written_table(self) -> str:
        """Figure 2a as written, four metrics at three rates."""
        rates = (0.3, 0.6, 0.8)
        metrics = ("hm", "auroc", "aueoc", "aueoc_fpr", "auroc_minority")
        rows = [
            [label, *(self("noise_rate", m, x, metric) for metric in metrics for x in rates)]
            for m, label in LABELS.items()
        ]
        names = ("HM", "AUROC", "AUEOC", "AUEOC by rank", "AUROC minority")
        head = [f"{name} {percent(x)}" if i == 0 else percent(x) for name in names
                for i, x in enumerate(rates)]  # fmt: skip
        return markdown(["", *head], rows)

    def size_table(self, protocol: str = "as-written", metric: str = "hm") -> str:
        """Sizes and biases on the three data sets."""
        rows = []
        for dataset, label in DATASETS.items():
            for method in ("proposed", "csidn", "standard"):
                where = {"protocol": protocol, "dataset": dataset}
                size = [self("alignment_size", method, x, metric, **where)
                        for x in (0.02, 0.04, 0.1, 0.14)]  # fmt: skip
                bias = [self("alignment_bias", method, x, metric, **where)
                        for x in (0.0, 0.2, 0.5, 0.8, 1.0)]  # fmt: skip
                rows.append([label, LABELS[method], *size, *bias])
        first = "reviewed 2 %" if protocol == "as-written" else "as-released, reviewed 2 %"
        head = ["", "", first, "4 %", "10 %", "14 %"]
        return markdown([*head, "minority's share 0 %", "20 %", "50 %", "80 %", "100 %"], rows)

    def size_beside(self) -> pd.DataFrame:
        """As-released and published HM of the size sweep on public data."""
        table = self.published[self.published["experiment"] == "alignment_size"]
        table = table[table["dataset"].isin(DATASETS)].copy()
        table["ours"] = [
            self.value("alignment_size", r.method, r.x, "hm_released", protocol="as-released",
                       dataset=r.dataset)
            for r in table.itertuples()
        ]  # fmt: skip
        table["difference"] = table["ours"] - table["mean"]
        table["far"] = table["difference"].abs() > table["sd"].fillna(UNREAD)
        return table

    def size_published_table(self) -> str:
        """Figure 3a as released: mean difference, the largest, and how many points are far."""
        table = self.size_beside()
        rows = []
        for method, label in LABELS.items():
            cells = []
            for dataset in DATASETS:
                own = table[(table["method"] == method) & (table["dataset"] == dataset)]
                gap = own["difference"]
                cells += [f"{gap.mean():+.3f}", f"{gap.abs().max():.3f}", int(own["far"].sum())]
            rows.append([label, *cells])
        heads = [f"{name}: {what}" if i == 0 else what for name in DATASETS.values()
                 for i, what in enumerate(("mean", "largest", "far of 9"))]  # fmt: skip
        return markdown(["", *heads], rows)

    def n_size_far(self, dataset: str) -> int:
        """How many of the 72 points of a data set are far."""
        table = self.size_beside()
        return int(table.loc[table["dataset"] == dataset, "far"].sum())

    def appendix_table(self) -> str:
        """Ablation and sensitivity as released, beside the published bars and lines."""
        rows = []
        names = {"sensitivity_alpha1": "sensitivity_alpha_1",
                 "sensitivity_alpha2": "sensitivity_alpha_2"}  # fmt: skip
        chosen = self.published["experiment"].str.match("ablation|sensitivity")
        for row in self.published[chosen].itertuples():
            experiment = names.get(row.experiment, row.experiment)
            here = {p: self.value(experiment, row.method, row.x, "hm_released", protocol=p)
                    for p in ("as-released", "as-written")}  # fmt: skip
            what = BARS.get(row.method) if experiment == "ablation" else f"{row.x:g}"
            gap = here["as-released"] - row.mean
            mark = " ✓" if abs(gap) <= row.sd else ""
            published, written = f"{row.mean:.3f} ± {row.sd:.3f}", f"{here['as-written']:.3f}"
            rows.append(
                [PARTS[experiment], what, f"{here['as-released']:.3f}", published,
                 f"{gap:+.3f}{mark}", written]
            )  # fmt: skip
        return markdown(["", "", "as-released", "published", "difference", "as-written"], rows)

    def old_cells(self) -> int:
        """How many cells were not trained again since all parts train by one path."""
        return int(self.made.loc[self.made["made"].str.startswith("before"), "cells"].sum())

    def score_sd(self, method: str, x: float) -> str:
        """SD of the scores of the chosen models."""
        return f"{self.spread[method, x]:.3f}"

    def claim_table(self) -> str:
        """Every claim with its verdicts."""
        rows = []
        for claim, found in self.claims.groupby("claim", sort=False):
            cells = {row.protocol: _verdict(row) for row in found.itertuples()}
            written = cells.get("as-written", "not run")
            rows.append([str(claim), written, cells.get("as-released", "")])
        return markdown(["claim", "as-written", "as-released"], rows)

    def lead(self, sweep: str) -> str:
        """How far the closest rival is ahead of Proposed as-released, mean below 80 %."""
        text = f"{sweep}: Proposed is the most robust until a minority noise rate of 80 %."
        found = self.claims[self.claims["claim"] == text].set_index("protocol")
        assert "closest call: over CSIDN" in found.loc["as-released", "explanation"]
        return str(found.loc["as-released", "ours"]).split()[0].lstrip("-")

    def verdicts(self, protocol: str) -> str:
        """Count the verdicts of a protocol."""
        counts = Counter(self.claims.loc[self.claims["protocol"] == protocol, "verdict"])
        return f"{counts['holds']} hold, {counts['fails']} fail, {counts['undecided']} undecided"


def _verdict(row: Any) -> str:
    numbers = [row.ours.split()[0], *([row.theirs] if row.theirs[-1].isdigit() else [])]
    return f"{row.verdict} ({'; '.join(numbers)})"


def _percents(values: list[float]) -> str:
    return ", ".join(map(percent, values))


if __name__ == "__main__":
    main(*sys.argv[1:])
