"""Tables of docs/reproduction/variants.csv: what was tried, and what it gave."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
from pages import markdown, percent

LABELS = {
    "clean": "Clean labels", "standard": "Standard", "sln_filter": "SLN + Filter",
    "js": "JS loss", "transition": "Transition", "csidn": "CSIDN", "fair_gpl": "Fair GPL",
    "proposed": "Proposed", "alignment_only": "Step 1 alone",
}  # fmt: skip
DATASETS = {"synthetic": "Synthetic", "adult": "Adult", "compas": "COMPAS"}
SWEEPS = {"noise_rate": "2a", "noise_disparity": "2b"}
UNREAD = 0.03
"""What counts as far where no published SD could be read off."""

NOTHING = "nothing"
Place = tuple[str, str, float, str]
"""Experiment, data set, x and method."""


@dataclass(frozen=True)
class Variants:
    """The runs with one thing changed, and what was published at their places."""

    runs: pd.DataFrame
    published: pd.DataFrame

    def at(self, question: str, place: Place, change: str) -> pd.DataFrame:
        """Return the runs of one cell of a table."""
        names = ["question", "experiment", "dataset", "x", "method", "change"]
        return self.runs[(self.runs[names] == [question, *place, change]).all(axis=1)]

    def theirs(self, place: Place) -> tuple[float, float] | None:
        """Return the published mean and SD."""
        names = ["experiment", "dataset", "x", "method"]
        found = self.published[(self.published[names] == list(place)).all(axis=1)]
        if found.empty:
            return None
        row = found.iloc[0]
        return float(row["mean"]), float(row["sd"]) if row["sd"] == row["sd"] else UNREAD

    def mean(self, question: str, place: Place, change: str) -> float:
        """Return the mean HM, over the draws if there are several."""
        return float(self.at(question, place, change)["hm_released"].mean())

    def __call__(self, question: str, change: str, *place: Any, metric: str = "hm_released") -> str:
        """Return a number to three decimals, with the SD over draws if there are several."""
        found = self.at(question, place, change)[metric]  # type: ignore[arg-type]
        if found.empty:
            raise KeyError(f"no run: {question} {place} {change}")
        more = f" ± {found.std():.3f}" if len(found) > 1 else ""
        return f"{found.mean():.3f}{more}"

    def near(self, question: str, place: Place, change: str) -> bool:
        """Tell whether a run is within one published SD of the published mean."""
        theirs = self.theirs(place)
        return theirs is not None and (
            abs(self.mean(question, place, change) - theirs[0]) <= theirs[1]
        )

    def count_near(self, question: str, change: str) -> str:
        """Return at how many places of a question a change is near, of how many."""
        found = self.runs[(self.runs["question"] == question) & (self.runs["change"] == change)]
        places = [
            (r.experiment, r.dataset, r.x, r.method)
            for r in found.drop_duplicates(["experiment", "x", "method"]).itertuples()
        ]
        near = sum(self.near(question, place, change) for place in places)
        return f"{near} of {len(places)}"

    def table(self, question: str, places: list[Place], heads: list[str]) -> str:
        """Return a row per change and a column per place; ✓ is within one published SD."""
        rows = [["published", *(self._published(place) for place in places)]]
        found = self.runs[self.runs["question"] == question]
        changes = [NOTHING, *(c for c in found["change"].unique() if c != NOTHING)]
        for change in changes:
            cells = [self._cell(question, place, change) for place in places]
            if any(cells):
                rows.append([change, *cells])
        return markdown(["changed", *heads], rows)

    def _published(self, place: Place) -> str:
        theirs = self.theirs(place)
        return "" if theirs is None else f"{theirs[0]:.3f} ± {theirs[1]:.3f}"

    def _cell(self, question: str, place: Place, change: str) -> str:
        if self.at(question, place, change).empty:
            return ""
        mark = " ✓" if self.near(question, place, change) else ""
        return self(question, change, *place) + mark

    def by_method(self, question: str, dataset: str, x: float, methods: list[str]) -> str:
        """Return the table of a place in the size sweep, a column per method."""
        places = [("alignment_size", dataset, x, m) for m in methods]
        return self.table(question, places, [LABELS[m] for m in methods])

    def by_place(self, question: str, method: str, where: list[tuple[str, float]]) -> str:
        """Return the table of a method at places of Figure 2."""
        places = [(experiment, "synthetic", x, method) for experiment, x in where]
        return self.table(question, places, [f"{SWEEPS[e]}, {percent(x)}" for e, x in where])

    def labels_table(self) -> str:
        """Return COMPAS with the other label: our HM minus the published one."""
        shares = (0.02, 0.05, 0.10, 0.14)
        rows = []
        for method in list(LABELS)[:8]:
            cells = []
            for change in (NOTHING, "label is_violent_recid"):
                for x in shares:
                    place = ("alignment_size", "compas", x, method)
                    gap = self.mean("violent", place, change) - (self.theirs(place) or (0, 0))[0]
                    mark = " ✓" if self.near("violent", place, change) else ""
                    cells.append(f"{gap:+.3f}{mark}")
            rows.append([LABELS[method], *cells])
        head = [f"two_year_recid, {percent(x)}" if x == 0.02 else percent(x) for x in shares]
        more = [f"is_violent_recid, {percent(x)}" if x == 0.02 else percent(x) for x in shares]
        return markdown(["", *head, *more], rows)

    def deviations_table(self) -> str:
        """Return every deviation that was changed alone, and what it did."""
        found = self.runs[self.runs["question"] == "deviations"]
        rows = []
        for row in found[found["change"] != NOTHING].itertuples():
            place = (row.experiment, row.dataset, row.x, row.method)
            number, _, what = row.change.partition(": ")
            before = self.mean("deviations", place, NOTHING)
            after = self.mean("deviations", place, row.change)
            rows.append(
                [int(number), what, _where(row), LABELS[row.method], f"{before:.3f}",
                 f"{after:.3f}", f"{after - before:+.3f}", self._published(place)]
            )  # fmt: skip
        rows.sort(key=lambda row: (row[0], str(row[1]), str(row[2])))
        head = ["deviation", "changed alone", "place", "method", "before", "after", "difference"]
        return markdown([*head, "published"], rows)

    def largest_rerun(self, summary: pd.DataFrame) -> str:
        """Return how far an unchanged run is at most from the same place in the summary."""
        names = ["experiment", "dataset", "x", "method"]
        main = summary[
            (summary["protocol"] == "as-released") & (summary["metric"] == "hm_released")
        ]
        both = self.runs[self.runs["change"] == NOTHING].merge(main, on=names)
        return f"{(both['hm_released'] - both['mean']).abs().max():.3f}"

    def listed(self, question: str, change: str, experiment: str, method: str) -> str:
        """Return the HM of a change at every place of a figure where it was tried."""
        names = ["question", "change", "experiment", "method"]
        found = self.runs[
            (self.runs[names] == [question, change, experiment, method]).all(axis=1)
        ].sort_values("x")
        places = [(experiment, r.dataset, r.x, method) for r in found.itertuples()]
        cells = [
            f"{self(question, change, *p)} at {percent(p[2])} (published {self._published(p)})"
            for p in places
        ]
        return "; ".join(cells)

    def lowest(self, question: str, method: str, without: tuple[str, ...]) -> str:
        """Return the lowest mean HM of a method over the changes, but for some."""
        found = self.runs[(self.runs["question"] == question) & (self.runs["method"] == method)]
        means = found.groupby("change")["hm_released"].mean().drop(list(without))
        return f"{means.min():.3f}"

    def gap(
        self, question: str, change: str, method: str,
        place: tuple[str, str, float] = ("alignment_size", "adult", 0.1),
    ) -> str:  # fmt: skip
        """Return what a change does to the mean HM."""
        where = (*place, method)
        return f"{self.mean(question, where, change) - self.mean(question, where, NOTHING):+.3f}"

    def gpl_table(self) -> str:
        """Return Fair GPL at every place that was tried."""
        heads = [
            f"{SWEEPS[e]}, {percent(x)}" if e in SWEEPS else DATASETS[d]
            for e, d, x, _ in self.gpl_places()
        ]
        return self.table("fair_gpl", self.gpl_places(), heads)

    def gpl_places(self) -> list[Place]:
        """Return the places at which Fair GPL was changed."""
        found = self.runs[self.runs["question"] == "fair_gpl"]
        names = ["experiment", "dataset", "x", "method"]
        places = found[names].drop_duplicates().itertuples(index=False, name=None)
        return sorted(places, key=lambda p: (p[0] != "noise_rate", p[0] == "alignment_size", p[2]))

    def gpl_range(self, change: str) -> str:
        """Return the least and the most that a change does to Fair GPL."""
        gaps = [
            self.mean("fair_gpl", place, change) - self.mean("fair_gpl", place, NOTHING)
            for place in self.gpl_places()
        ]
        return f"{min(gaps):+.3f} to {max(gaps):+.3f}"

    def gpl_near(self, change: str) -> str:
        """Return at how many places Fair GPL is near the published mean."""
        near = sum(self.near("fair_gpl", place, change) for place in self.gpl_places())
        return f"{near} of {len(self.gpl_places())}"

    def effect(self, change: str, method: str, *place: Any) -> str:
        """Return what a deviation does to the HM of a method."""
        where = (*(place or ("noise_rate", "synthetic", 0.5)), method)
        gap = self.mean("deviations", where, change) - self.mean("deviations", where, NOTHING)
        return f"{gap:+.3f}"


def _where(row: Any) -> str:
    if row.experiment in SWEEPS:
        return f"{SWEEPS[row.experiment]}, {percent(row.x)}"
    if row.experiment == "ablation":
        return "ablation"
    what = "reviewed" if row.experiment == "alignment_size" else "minority's share"
    return f"{DATASETS[row.dataset]}, {what} {percent(row.x)}"
