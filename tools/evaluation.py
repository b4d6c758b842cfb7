"""Write docs/evaluation/README.md and its figure from coverage.csv and worth.csv."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from pages import DOCS, markdown, render

from alignset.cli.report import write_text
from alignset.report.canvas import drawing, new_figure, to_svg

FOLDER = DOCS / "evaluation"
LOW, HIGH = 0.93, 0.97
FEW_ERRORS, FEW_POSITIVES = 10, 15
WORDS = {"srs": "simple random", "strata": "stratified", "doubt": "doubt-driven"}
COLOURS = {"srs": "#0072b2", "strata": "#009e73", "doubt": "#d55e00"}


def reason(cell: pd.Series) -> str:
    """Say what is special about a cell, from its design alone."""
    share = 2 / (cell.groups * (cell.groups + 3) / 2)  # of the smallest group
    within = "group" in cell.estimand
    # a stratified review takes as many rows of the smallest group as of any other
    part = (1 / cell.groups if cell.design == "strata" else share) if within else 1.0
    errors = cell.reviewed * part * cell.noise * (0.6 if within else 1.0)
    positives = cell.reviewed * part * (0.4 if cell.design == "strata" else 0.25)
    if cell.estimand.startswith("wrong") and errors < FEW_ERRORS:
        return f"about {errors:.1f} wrong labels are met: too few for an interval of just 95 %"
    if positives < FEW_POSITIVES:
        return f"about {positives:.0f} positives are met"
    if errors < FEW_ERRORS and cell.soft == "good":
        return f"about {errors:.1f} wrong labels are met, and they are all the noise there is"
    if cell.estimand == "slope":
        return "a few rows with extreme scores carry the slope"
    if cell.estimand in ("aueoc", "hm"):
        return "the interval allows for the gap that is hardest to see"
    return "no reason found"


def outside(table: pd.DataFrame) -> pd.DataFrame:
    """Return the cells whose coverage is not between 93 and 97 %, with reasons."""
    cells = table[(table.coverage < LOW) | (table.coverage > HIGH)].copy()
    cells["reason"] = [reason(cell) for _, cell in cells.iterrows()]
    return cells.sort_values("coverage")


def by_estimand(table: pd.DataFrame) -> str:
    """Make the table of coverage and widths, one line for each estimand."""
    rows = []
    for name, part in table.groupby("estimand", sort=False):
        good = part[part.soft == "good"]
        inside = part.coverage.between(LOW, HIGH).sum()
        rows.append(
            [
                name,
                len(part),
                f"{part.coverage.min():.1%}",
                f"{part.coverage.median():.1%}",
                f"{part.coverage.max():.1%}",
                inside,
                int((part.coverage < LOW).sum()),
                int((part.coverage > HIGH).sum()),
                f"{(good.width / good.width_alone).median():.2f}",
                f"{good.mse_ratio.median():.2f}",
                f"{part.mse_ratio.min():.2f}",
            ]
        )
    head = [
        *("estimand", "cells", "lowest", "median", "highest", "93-97 %", "below", "above"),
        *("width, of reviewed alone", "one row counts for", "at worst"),
    ]
    return markdown(head, rows)


def by_size(table: pd.DataFrame) -> str:
    """Make the table of median coverage by estimand and rows reviewed, ours and alone."""
    srs = table[(table.design == "srs") & (table.noise == 0.1) & (table.groups == 2)]
    srs = srs[srs.soft == "good"]
    sizes = sorted(srs.reviewed.unique())
    rows = []
    for name, part in srs.groupby("estimand", sort=False):
        found = part.set_index("reviewed")
        cells = [
            f"{found.coverage[n]:.1%}, {found.width[n]:.3f} ({found.width_alone[n]:.3f})"
            if n in found.index
            else ""
            for n in sizes
        ]
        rows.append([name, *cells])
    return markdown(["estimand", *(f"{n} reviewed" for n in sizes)], rows)


def named(cells: pd.DataFrame) -> str:
    """Make the list of cells outside, one line for each."""
    rows = [
        [
            c.estimand,
            WORDS[c.design],
            c.reviewed,
            f"{c.noise:.0%}",
            c.groups,
            c.soft,
            f"{c.coverage:.1%}",
            c.reason,
        ]
        for c in cells.itertuples()
    ]
    head = ["estimand", "review", "rows", "noise", "groups", "q", "coverage", "what is special"]
    return markdown(head, rows)


def worth_table(worth: pd.DataFrame) -> str:
    """Make the table of what a reviewed row is worth on NHANES."""
    rows = []
    for name, part in worth.groupby("estimand", sort=False):
        found = part.set_index(["groups", "reviewed"])
        numbers = [
            f"{found.worth[g, n]:.2f}" if (g, n) in found.index else ""
            for g in ("sex", "race")
            for n in (100, 200, 400)
        ]
        limit = part.limit.iloc[0]
        rows.append(
            [
                name,
                f"{part.truth.iloc[0]:.3f}",
                *numbers,
                "" if np.isnan(limit) else f"{limit:.2f}",
                f"{part.bias.abs().max():.3f}",
                f"{part.coverage.min():.1%}",
            ]
        )
    head = ["estimand", "truth", *(f"{g}, {n}" for g in ("sex", "race") for n in (100, 200, 400))]
    return markdown([*head, "limit", "largest bias", "lowest coverage"], rows)


def draw(table: pd.DataFrame) -> str:
    """Draw every cell: coverage by estimand, and widths beside those of reviewed rows alone."""
    names = list(dict.fromkeys(table.estimand))[::-1]
    place = table.estimand.map(names.index)
    shift = table.design.map({"srs": 0.22, "strata": 0.0, "doubt": -0.22})
    with drawing():
        figure = new_figure(9.6, 5.6)
        left, right = figure.subplots(1, 2, sharey=True)
        left.axvspan(100 * LOW, 100 * HIGH, color="#e8e8e8", zorder=0)
        for design, colour in COLOURS.items():
            here = table.design == design
            height = (place + shift)[here]
            style = {"s": 12, "color": colour, "alpha": 0.7, "linewidths": 0}
            left.scatter(100 * table.coverage[here], height, label=WORDS[design], **style)
            right.scatter((table.width / table.width_alone)[here], height, **style)
        left.set_yticks(range(len(names)), names)
        left.set_xlabel("coverage of 95 % intervals, %")
        right.set_xlabel("width, relative to reviewed rows alone")
        right.axvline(1, color="#888888", linewidth=0.8)
        left.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize=8)
        return to_svg(figure)


def page(table: pd.DataFrame, worth: pd.DataFrame) -> str:
    """Return the page."""
    cells = outside(table)
    low = cells[cells.coverage < LOW]
    return render(
        "evaluation.md.jinja",
        settings=len(table.groupby(["design", "reviewed", "noise", "groups", "soft"])),
        cells=len(table),
        repetitions=int(table.repetitions.min()),
        inside=int(table.coverage.between(LOW, HIGH).sum()),
        low=len(low),
        high=len(cells) - len(low),
        worst=f"{table.mse_ratio.min():.2f}",
        by_estimand=by_estimand(table),
        by_size=by_size(table),
        below=named(low),
        above=named(cells[cells.coverage > HIGH]),
        reasons=markdown(
            ["what is special", "cells above 97 %"],
            cells[cells.coverage > HIGH]
            .reason.str.replace(r"about [\d.]+", "few", regex=True)
            .value_counts()
            .items(),
        ),
        worth=worth_table(worth),
        worth_repetitions=int(worth.repetitions.max()),
        worth_least=f"{worth.worth.min():.2f}",
        auroc_limit=worth.limit[worth.estimand == "auroc"].iloc[0],
    )


def main() -> None:
    """Write the page and the figure."""
    table, worth = (pd.read_csv(FOLDER / name) for name in ("coverage.csv", "worth.csv"))
    write_text(FOLDER / "README.md", page(table, worth))
    write_text(FOLDER / "coverage.svg", draw(table))


if __name__ == "__main__":
    sys.exit(main())
