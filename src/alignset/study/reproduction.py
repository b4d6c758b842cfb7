"""The page that compares a store's results with a publication's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pandas as pd

from alignset.report.displays import Axis, Display
from alignset.report.look import Look, looks
from alignset.report.page import (
    Banner,
    DataTable,
    FactList,
    Gallery,
    Page,
    PageBlock,
    Prose,
    Section,
    Tiles,
    slug,
)
from alignset.study.claims import NOT_RUN, JudgedClaim, Verdict, Verdicts
from alignset.study.displays import NO_VALUES, Bars, Panels, SummaryDisplay
from alignset.study.publication import FigureSpec, Publication
from alignset.study.quantities import Evidence
from alignset.study.records import METRICS
from alignset.study.results import ALPHA, check_results, compare, done, failed
from alignset.study.rules import Standing
from alignset.study.spec import QUICK_SEEDS

NO_PUBLICATION = Publication("Results")

HOW_TO_READ = (
    "Lines and bars are means over seeds; bands and whiskers are one standard deviation (of the "
    "population, as the published ones). Every picture has its numbers below it.",
    "Differences are tested by paired t tests over seeds. p-values are corrected by Holm's method "
    f"for the number of comparisons in a table or a claim and judged at {ALPHA:g}; Wilcoxon's "
    "signed-rank test stands beside them, uncorrected, as a check. Where replications share one "
    "draw of the data, seeds are not independent and intervals are too narrow.",
    "A claim holds when all its comparisons are shown to go its way, fails when at least one is "
    "shown to go against it, and is undecided otherwise: undecided is not refuted. Ours is the "
    "closest call among the comparisons, named under Why; theirs is the published value of that "
    "same comparison, not of their own closest call. A claim without results is not run, which "
    "says nothing about it.",
)
QUICK = (
    "Quick run, {n}: it shows that everything works, and decides nothing. Run it without --quick "
    "for results."
)


@dataclass(frozen=True)
class Reproduction:
    """Results, and the publication they are compared with.

    Parameters
    ----------
    results : DataFrame
        One row per cell, as ``Store.frame()`` returns it.
    publication : Publication, optional
    published : DataFrame, optional
        As ``Publication.read_published`` returns it.
    facts : sequence of (term, text), optional
        What is known about the run: versions, machine, command.

    Examples
    --------
    >>> cell = {"experiment": "e", "protocol": "p", "dataset": "d", "method": "m", "x": 1.0}
    >>> cell |= {"seed": 0, "x_name": "x", "status": "done", "reason": "", "auroc": 0.9}
    >>> [figure.name for figure in Reproduction(pd.DataFrame([cell])).displays]
    ['e-d-p-auroc']
    """

    results: pd.DataFrame
    publication: Publication = NO_PUBLICATION
    published: pd.DataFrame | None = None
    facts: Sequence[tuple[str, str]] = field(default=())

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The checked results."""
        return check_results(self.results)

    @cached_property
    def displays(self) -> list[Display]:
        """Every figure of the page, in order."""
        return [display for section in self._figure_sections for display in section.displays]

    @cached_property
    def judged(self) -> list[JudgedClaim]:
        """Every claim, judged for every protocol that has results for it."""
        pub, measured = self.publication, self.publication.measured_by
        evidence = {
            str(p): Evidence(here, self.published, measured.get(str(p), {}), pub.published_by)
            for p, here in self.cells.groupby("protocol")
        }
        protocols = sorted(evidence, reverse=True)  # as-written first
        rows = []
        for claim in pub.claims:
            found = [JudgedClaim(claim, p, claim.judge(evidence[p])) for p in protocols]
            nothing = Verdict(Standing.UNDECIDED, found[0].verdict.explanation)
            ran = [judged for judged in found if judged.verdict.finding is not None]
            rows += ran or [JudgedClaim(claim, NOT_RUN, nothing)]
        return rows

    def page(self) -> Page:
        """Lay out the page."""
        pub = self.publication
        verdicts = Verdicts(self.judged)
        sections = [Section("At a glance", self._glance(verdicts))]
        if pub.claims:
            sections.append(Section("Claims", [verdicts]))
        sections += self._without_headline
        if pub.deviations:
            told = FactList(list(pub.deviations.items()), anchor="deviation")
            sections.append(Section("Where paper and released code differ", [told]))
        sections.append(Section("How to read this", [Prose([*HOW_TO_READ, *pub.notes])]))
        sections.append(Section("What was run", self._what_was_run()))
        lead = pub.citation or "Every experiment in the store."
        links = [("The paper", pub.link)] if pub.link else []
        return Page(pub.title, lead, sections, links, "Made by alignset from a store of results.")

    @property
    def _focus(self) -> str:
        return next(iter(self.publication.methods), ("", ""))[0]

    def _glance(self, verdicts: Verdicts) -> list[PageBlock]:
        ran, lost = len(done(self.cells)), len(failed(self.cells))
        states = [*map(str, Standing), NOT_RUN] if verdicts.judged else []
        tiles = [(str(verdicts.count(state)), f"verdicts: {state}") for state in states]
        tiles += [(str(ran), "cells computed"), (str(lost), "cells failed")]
        said = [] if ran else ["No cell was computed, so there is nothing to draw."]
        blocks: list[PageBlock] = [Tiles(tiles), Prose(said)]
        if self.is_quick:
            n = self.cells["seed"].nunique()
            blocks.insert(0, Banner(QUICK.format(n=f"{n} seed{'s' * (n > 1)}")))
        return [*blocks, *([Gallery([self.displays[0]])] if self.displays else [])]

    @property
    def is_quick(self) -> bool:
        """Whether so few seeds were run that the page only shows that everything works."""
        return int(self.cells["seed"].nunique()) <= QUICK_SEEDS

    @property
    def _without_headline(self) -> list[Section]:
        """The sections of figures, less the first figure, which stands above the claims."""
        if not self.displays:
            return self._figure_sections
        first, *rest = self._figure_sections
        part, *parts = first.sections
        blocks = [_less(block, self.displays[0]) for block in part.blocks]
        return [replace(first, sections=[replace(part, blocks=blocks), *parts]), *rest]

    @cached_property
    def _figure_sections(self) -> list[Section]:
        specs = {spec.experiment: spec for spec in self.publication.figures}
        ran = done(self.cells)
        order = [e for e in specs if e in set(ran["experiment"])]
        order += sorted(set(ran["experiment"]) - set(specs))
        sections = []
        for experiment in order:
            here = ran[ran["experiment"] == experiment]
            spec = specs.get(experiment) or _plain(experiment, here)
            parts = [self._part(spec, *key, block) for key, block in _blocks(here)]
            intro = [Prose([spec.caption])] if spec.caption else []
            sections.append(Section(spec.title, intro, parts))
        return sections

    def _part(self, spec: FigureSpec, dataset: str, protocol: str, cells: pd.DataFrame) -> Section:
        title = f"{self.publication.datasets.get(dataset, dataset)}, {protocol}"
        columns = [self.publication.column(protocol, metric) for metric in spec.metrics]
        columns = [column for column in columns if _has(cells, column)]
        look = self._looks(spec)

        def draw(kind: type[SummaryDisplay], column: str, theirs: pd.DataFrame) -> Display:
            beside = len(theirs) > 0
            name = slug(spec.experiment, dataset, protocol, column) + "-published" * beside
            named = METRICS.get(column, column) + ": ours and theirs" * beside
            told = {"name": name, "title": named, "alt": f"{named}. {spec.title}, {title}."}
            return kind(cells, column, spec.axis, theirs, look, **told)

        drawn = [draw(spec.display, column, NO_VALUES) for column in columns]
        drawn[1:1] = [
            draw(Bars if spec.display is Bars else Panels, str(column), theirs)
            for column, theirs in self._published(spec.experiment, dataset).groupby("metric")
            if _has(cells, str(column))
        ]
        blocks: list[PageBlock] = [Gallery(drawn)]
        methods = set(cells["method"])
        if self._focus in methods and len(methods) > 1 and spec.display is not Bars:
            blocks += [self._comparisons(cells, column) for column in columns]
        return Section(title, blocks)

    def _looks(self, spec: FigureSpec) -> dict[str, Look]:
        own = looks((), spec.methods, self._focus)
        everywhere = looks(self.cells["method"], self.publication.methods)
        return {**own, **{m: look for m, look in everywhere.items() if m not in own}}

    def _published(self, experiment: str, dataset: str) -> pd.DataFrame:
        if self.published is None:
            return pd.DataFrame({"metric": []})
        p = self.published
        return p[(p["experiment"] == experiment) & (p["dataset"] == dataset)]

    def _comparisons(self, cells: pd.DataFrame, column: str) -> DataTable:
        label = self.publication.label
        table = compare(cells, self._focus, column)
        table["rival"] = [label(method) for method in table["rival"]]
        renamed = {"n": "seeds", "p": "p (paired t)", "p_holm": "p (Holm)"}
        table = table.rename(columns={**renamed, "p_wilcoxon": "p (Wilcoxon)"})
        name = slug(*cells.iloc[0][["experiment", "dataset", "protocol"]], column, "pairs")
        what = f"{label(self._focus)} minus each rival, {METRICS.get(column, column)}"
        return DataTable(table, name, what, summary=f"Paired differences: {what}")

    def _what_was_run(self) -> list[PageBlock]:
        blocks: list[PageBlock] = [FactList([*self.facts, *_provenance(self.cells)])]
        keys = ["experiment", "dataset", "protocol"]
        counts = self.cells.assign(done=self.cells["status"] == "done").groupby(keys)
        table = counts.agg(
            methods=("method", "nunique"), settings=("x", "nunique"), seeds=("seed", _seeds),
            done=("done", "sum"), failed=("done", lambda done: (~done).sum()),
        )  # fmt: skip
        table = table.rename(columns={"done": "cells done", "failed": "cells failed"})
        blocks.append(DataTable(table.reset_index(), "cells", "Cells by experiment"))
        lost = failed(self.cells)
        if len(lost):
            shown = ["experiment", "dataset", "protocol", "method", "x", "seed", "reason"]
            blocks.append(Prose([f"{len(lost)} cells failed; they are left out of every mean."]))
            blocks.append(DataTable(lost[shown], "failed-cells", "Failed cells"))
        else:
            blocks.append(Prose(["No cell failed."]))
        return blocks


def _less(block: PageBlock, display: Display) -> PageBlock:
    if not isinstance(block, Gallery):
        return block
    return Gallery([one for one in block.displays if one is not display])


def _has(cells: pd.DataFrame, column: str) -> bool:
    return column in cells and bool(cells[column].notna().any())


def _provenance(cells: pd.DataFrame) -> list[tuple[str, str]]:
    """Return what the store knows about the run itself."""
    facts = [
        ("Cells", f"{len(done(cells))} computed, {len(failed(cells))} failed"),
        ("Seeds", _seeds(cells["seed"])),
    ]
    if "version" in cells:
        facts.append(("Computed by", "alignset " + ", ".join(sorted(set(cells["version"])))))
    if "created" in cells:
        facts.append(("Computed from, to", f"{cells['created'].min()}, {cells['created'].max()}"))
    if "seconds" in cells:
        facts.append(("Training time", f"{cells['seconds'].sum() / 3600:.2f} hours"))
    return facts


def _blocks(cells: pd.DataFrame) -> list[tuple[tuple[str, str], pd.DataFrame]]:
    """Split one experiment's cells by data set and protocol, synthetic and as-written first."""
    groups = [((str(d), str(p)), b) for (d, p), b in cells.groupby(["dataset", "protocol"])]
    groups.sort(key=lambda group: group[0][1], reverse=True)
    return sorted(groups, key=lambda group: (group[0][0] != "synthetic", group[0][0]))


def _plain(experiment: str, cells: pd.DataFrame) -> FigureSpec:
    """Describe an experiment that the publication does not describe."""
    metrics = tuple(metric for metric in ("hm", "auroc", "aueoc") if _has(cells, metric))
    title = experiment.replace("_", " ").capitalize()
    return FigureSpec(experiment, title, Axis(str(cells["x_name"].iloc[0])), metrics=metrics)


def _seeds(seeds: pd.Series[int]) -> str:
    found: list[int] = sorted(set(map(int, seeds)))
    if found == list(range(found[0], found[-1] + 1)) and len(found) > 2:
        return f"{found[0]} to {found[-1]}"
    return ", ".join(map(str, found))
