"""Plan a review, draw it, review, audit, many times over, and see if promises are kept.

    nice python tools/plan_campaign.py            # 500 times for each target: plan.csv, plan.md
    nice python tools/plan_campaign.py --sheets   # sheets drawn for an aim or not: sheets.csv

Tables are drawn from a pool whose truth is known: NHANES diabetes (4 855 people, with a score
fitted to observed labels out of fold), or a simulated one. `plan` says how many rows, `sample`
draws them, the truth fills in the sheet, `join` brings it back, and the estimate that `audit` makes
is held against the truth: of the table for the share of wrong labels, of the pool for everything
else. "met" is the share of reviews whose interval is at most as wide as promised, in all groups at
once; "coverage" that of intervals that have the truth.

A plan from a guess (the share of wrong labels of each observed label, in the group where it is
largest) is made for 10 tables, and followed in 50 others each. One from a first wave is made for
250 tables, whose remaining rows are then reviewed twice.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from interval_coverage import Setting, make_pool
from pages import DOCS, markdown, render
from review_worth import nhanes_rows

from alignset.cli.report import write_text
from alignset.evaluate.estimands import ESTIMANDS
from alignset.evaluate.result import Estimate
from alignset.review.aim import Aim, AimRows, check_between, prepare, reach, read_rows
from alignset.review.forecast import forecast
from alignset.review.join import join
from alignset.review.measured import counted_labels
from alignset.review.plan import plan
from alignset.review.sample import sample
from alignset.review.sheet import Reviews, Sheet
from alignset.review.strata import review_chance
from alignset.review.waves import read_design

OUT, SHEETS = DOCS / "evaluation/plan.csv", DOCS / "evaluation/sheets.csv"
PLANS, PLANS_AFTER_WAVE = 10, 250
"""Plans made from a guess, and after a first wave."""


@dataclass(frozen=True)
class Target:
    """What is to be known, how well, and what is known before."""

    name: str
    aim: Aim
    precision: float
    pool: str = "simulated"  # or "nhanes"
    noise: float = 0.1  # of the simulated pool
    rows: int = 3000  # of a table
    grouped: bool = True
    first: int = 0  # rows of a first wave; 0: a guess
    draws: int = 40  # simulated reviews per step of the plan


TARGETS = (
    Target("noise rate of each group", Aim("wrong"), 0.04),
    Target("noise rate of each sex", Aim("wrong"), 0.025, "nhanes"),
    Target("AUROC", Aim("auroc", "score"), 0.03, "nhanes", grouped=False),
    Target("TPR of each sex", Aim("tpr", "score", threshold=0.2), 0.08, "nhanes"),
    Target("TPR of each group", Aim("tpr", "score", threshold=0.3), 0.10),
    Target("AUROC, 30 % wrong", Aim("auroc", "score"), 0.05, noise=0.3, grouped=False),
    Target(
        "TPR, between groups", Aim("tpr", "score", threshold=0.3, between=("0", "1")), 0.12
    ),
    Target("AUROC, between scores", Aim("auroc", "score", "other"), 0.025, grouped=False),
    Target("noise rate, first wave", Aim("wrong", "score"), 0.03, first=100, draws=20),
    Target(
        "AUROC, first wave", Aim("auroc", "score"), 0.03, "nhanes", grouped=False, first=150,
        draws=20,
    ),
    Target(
        "TPR of each group, first wave", Aim("tpr", "score", threshold=0.3), 0.10, first=150,
        draws=20,
    ),
)  # fmt: skip


@cache
def pool_of(name: str, noise: float) -> pd.DataFrame:
    """Return all rows: group, score, other, observed and true label."""
    if name == "nhanes":
        score, table = nhanes_rows("sex")
        return pd.DataFrame(
            {
                "group": np.array(["Male", "Female"])[table.group],
                "score": score[:, 1],
                "other": score[:, 1],
                "obs": table.observed,
                "true": table.y,
            }
        )
    rows = make_pool(Setting(noise=noise), np.random.default_rng([7, round(100 * noise)]))
    return pd.DataFrame(
        {
            "group": rows.group.astype(str),
            "score": rows.score,
            "other": rows.other,
            "obs": rows.observed,
            "true": rows.true,
        }
    )


def true_values(target: Target, table: pd.DataFrame) -> dict[str, float]:
    """Return what the estimates should be, by name, with the true labels of all rows."""
    group = ["group"] if target.grouped else []
    rows = read_rows(table, label="obs", group=group, scores=target.aim.columns)
    aim = check_between(target.aim, rows.cells)
    values = {}
    for name, member in (rows.members or {"all": np.ones(len(table), dtype=bool)}).items():
        hot = np.eye(2)[table["true"].to_numpy()[member]]
        found = [
            ESTIMANDS[aim.measure].linearise(part.take(member), hot, np.ones(len(hot))).value
            for part in rows.scored(aim.threshold)
        ]
        values[name] = found[0] if aim.score_b is None else found[1] - found[0]
    if aim.between is None:
        return values
    return {aim.title: values[aim.between[1]] - values[aim.between[0]]}


def fill_in(table: pd.DataFrame, sheet: Sheet) -> pd.DataFrame:
    """Review the rows of a sheet: the truth is known."""
    rows = sheet.frame().rename(columns={"row": "id"})
    rows["reviewed"] = table["true"].to_numpy()[rows["id"]].astype(str)
    rows["id"] = rows["id"].astype(str)
    return join(table, Reviews("row", rows), label="obs").frame()


def guesses(table: pd.DataFrame) -> dict[int, float]:
    """Return how often each observed label is wrong, in the group where that is most often."""
    wrong = (table["obs"] != table["true"]).groupby([table["group"], table["obs"]]).mean()
    return wrong.groupby("obs").max().to_dict()


def make_plan(target: Target, table: pd.DataFrame, rng: np.random.Generator) -> int:
    """Return how many rows to review."""
    group = ["group"] if target.grouped else []
    guess = guesses(pool_of(target.pool, target.noise))
    if target.aim == Aim("wrong"):
        return plan(table, label="obs", group=group, precision=target.precision, guess=guess).total
    truth = "reviewed" if target.first else None
    return forecast(
        table, target.aim, label="obs", group=group, truth=truth, precision=target.precision,
        guess=guess, draws=target.draws, random_state=rng,
    ).total  # fmt: skip


def review(
    target: Target, table: pd.DataFrame, n: int, rng: np.random.Generator, *, aimed: bool = True
) -> dict[str, Estimate]:
    """Draw a sheet, for its aim or in proportion, fill it in, and make an audit's estimates."""
    group = ["group"] if target.grouped else []
    truth = "reviewed" if target.first else None
    sheet = sample(
        table, n=n, label="obs", group=group, truth=truth, aim=target.aim if aimed else None,
        guess=guesses(pool_of(target.pool, target.noise)), random_state=rng,
    )  # fmt: skip
    return audited(target, fill_in(table, sheet), rng)


def audited(target: Target, joined: pd.DataFrame, rng: np.random.Generator) -> dict[str, Estimate]:
    """Make the estimates that an audit makes of a reviewed table."""
    group = ["group"] if target.grouped else []
    columns = target.aim.columns
    rows: AimRows = read_rows(joined, label="obs", truth="reviewed", group=group, scores=columns)
    known = review_chance(rows, read_design(joined))
    assert not np.isnan(known.chance).any(), "the design was not recovered"
    every = prepare(rows, counted_labels(rows, known), known.chance, target.aim.threshold, rng)
    return reach(every, check_between(target.aim, rows.cells), 0.95)


def new_table(target: Target, rng: np.random.Generator) -> pd.DataFrame:
    """Draw a table from the pool, and review a first wave of it if there is one."""
    pool = pool_of(target.pool, target.noise)
    table = pool.iloc[rng.integers(0, len(pool), target.rows)].reset_index(drop=True)
    if target.first:
        group = ["group"] if target.grouped else []
        sheet = sample(table, n=target.first, label="obs", group=group, random_state=rng)
        return fill_in(table, sheet)
    return table


def measure(target: Target, repetitions: int, seed: int = 0) -> pd.DataFrame:
    """Run one target; one row for each review."""
    rng = np.random.default_rng([seed, *target.name.encode()])
    whole, rows, n = true_values(target, pool_of(target.pool, target.noise)), [], 0
    each = max(repetitions // (PLANS_AFTER_WAVE if target.first else PLANS), 1)
    table = pd.DataFrame()
    for i in range(repetitions):
        if i % each == 0 or not target.first:
            table = new_table(target, rng)
        if i % each == 0:
            n = make_plan(target, table, rng)
        found = review(target, table, min(n, target.rows - target.first), rng)
        truth = true_values(target, table) if target.aim.finite else whole
        width = max((one.high - one.low) / 2 for one in found.values())
        alone = max((one.reviewed_only[2] - one.reviewed_only[1]) / 2 for one in found.values())
        inside = [one.low <= truth[name] <= one.high for name, one in found.items()]
        worth = sum(one.worth for one in found.values()) / (
            sum(one.reviewed for one in found.values())
        )
        rows.append((n, width, alone, np.mean(inside), worth))
    return pd.DataFrame(rows, columns=["rows", "width", "alone", "coverage", "worth"])


def summary(target: Target, found: pd.DataFrame) -> dict[str, object]:
    """Sum up one target."""
    return {
        "target": target.name,
        "table": "NHANES" if target.pool == "nhanes" else f"simulated, {target.noise:.0%} wrong",
        "known before": f"{target.first} reviewed rows" if target.first else "a guess",
        "promised": target.precision,
        "repetitions": len(found),
        "planned": found.rows.median(),
        "planned_low": found.rows.quantile(0.1),
        "planned_high": found.rows.quantile(0.9),
        "met": (found.width <= target.precision + 1e-12).mean(),
        "width": found.width.mean(),
        "width_alone": found.alone.mean(),
        "coverage": found.coverage.mean(),
        "worth_ratio": found.worth.median(),
    }


def compare_sheets(target: Target, repetitions: int, n: int = 400) -> dict[str, object]:
    """Measure mean half-widths, where widest, of sheets for the aim and in proportion."""
    rng = np.random.default_rng([1, *target.name.encode()])
    widths = []
    for _ in range(repetitions):
        table = new_table(target, rng)
        both = [review(target, table, n, rng, aimed=aimed) for aimed in (True, False)]
        widths.append([max((e.high - e.low) / 2 for e in one.values()) for one in both])
    ours, plain = np.mean(widths, axis=0)
    error = np.std(np.log(widths) @ [1, -1]) / np.sqrt(repetitions)
    return {
        "target": target.name,
        "rows": n,
        "repetitions": repetitions,
        "proportional": plain,
        "aimed": ours,
        "ratio": ours / plain,
        "error": error,
    }


def page(table: pd.DataFrame, sheets: pd.DataFrame) -> str:
    """Return docs/evaluation/plan.md."""
    rows = [
        [
            row.target,
            row.table,
            row.before,
            f"{row.promised:g}",
            f"{row.planned:.0f} ({row.planned_low:.0f}, {row.planned_high:.0f})",
            f"{row.width:.3f}",
            f"{row.width_alone:.3f}",
            f"{row.met:.1%}",
            f"{row.coverage:.1%}",
        ]
        for row in table.rename(columns={"known before": "before"}).itertuples()
    ]
    head = ["to know", "table", "known before", "promised", "planned", "half-width", "alone"]
    repetitions = int(table.repetitions.min())
    return render(
        "plan_campaign.md.jinja",
        command="nice python tools/plan_campaign.py",
        table=markdown([*head, "kept", "covers"], rows),
        plans=PLANS,
        per_plan=repetitions // PLANS,
        plans_wave=PLANS_AFTER_WAVE,
        per_wave=repetitions // PLANS_AFTER_WAVE,
        repetitions=repetitions,
        met_low=f"{table.met.min():.1%}",
        met_high=f"{table.met.max():.1%}",
        cover_low=f"{table.coverage.min():.1%}",
        cover_high=f"{table.coverage.max():.1%}",
        sheets=markdown(
            ["to know", "half-width, proportional", "for the aim", "ratio", "standard error"],
            [
                [
                    s.target,
                    f"{s.proportional:.4f}",
                    f"{s.aimed:.4f}",
                    f"{s.ratio:.3f}",
                    f"{s.error:.3f}",
                ]
                for s in sheets.itertuples()
            ],
        ),
        sheet_rows=int(sheets.rows.iloc[0]),
        sheet_repetitions=int(sheets.repetitions.min()),
        narrower=f"{1 - sheets.ratio.max():.0%} to {1 - sheets.ratio.min():.0%}",
    )


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--only", default="", help="targets whose name has this in it")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--sheets", action="store_true")
    options = parser.parse_args(argv)
    if options.sheets:
        some = [one for one in TARGETS if not one.first and one.aim.measure != "wrong"]
        found = [compare_sheets(one, min(options.repetitions, 100)) for one in some]
        pd.DataFrame(found).to_csv(SHEETS, index=False, float_format="%.5g")
        write_text(OUT.with_name("plan.md"), page(pd.read_csv(OUT), pd.read_csv(SHEETS)))
        return
    table = pd.read_csv(options.out) if options.out.exists() else pd.DataFrame({"target": []})
    for target in TARGETS:
        if options.only not in target.name:
            continue
        start = time.perf_counter()
        row = summary(target, measure(target, options.repetitions))
        spent = time.perf_counter() - start
        told = {k: v if isinstance(v, str) else round(float(v), 4) for k, v in row.items()}
        print(f"{spent:.0f} s", told, flush=True)
        table = pd.concat([table[table["target"] != target.name], pd.DataFrame([row])])
        place = {one.name: i for i, one in enumerate(TARGETS)}
        table = table.sort_values("target", key=lambda names: names.map(place))
        table.to_csv(options.out, index=False, float_format="%.5g")
    if options.out == OUT and SHEETS.exists():
        write_text(OUT.with_name("plan.md"), page(pd.read_csv(OUT), pd.read_csv(SHEETS)))


if __name__ == "__main__":
    sys.exit(main())
