"""Write the data cards of docs/data: numbers from the data, words from the templates."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from nhanes_task_cards import nhanes_tasks
from pages import DOCS, percent, render, save_csv
from pages import count as _n
from pages import markdown as grid

from alignset.data import (
    Table,
    load_adult,
    load_compas,
    load_mimic,
    load_nhanes,
    make_synthetic,
    make_synthetic_released,
    nhanes_pipeline,
    sources,
    undiagnosed_by_group,
)
from alignset.data import nhanes_columns as columns
from alignset.data.adult import ADULT_ALL, ADULT_PAPER, ADULT_RELEASED
from alignset.data.cache import read
from alignset.data.compas import COMPAS_PAPER, COMPAS_RELEASED
from alignset.data.fake_mimic import DENSITY, N_PLANTED, write_fake_mimic
from alignset.data.mimic import RACE_COLUMN
from alignset.data.mimic_check import N_FIXED, N_HOURS, SIZES
from alignset.study import Store

PAGES = DOCS / "data"
RUNS = PAGES / "mimic_runs.csv"
METHODS = {
    "clean": "Clean labels", "standard": "Standard", "sln_filter": "SLN + Filter",
    "js": "JS loss", "transition": "Transition", "csidn": "CSIDN", "fair_gpl": "Fair GPL",
    "proposed": "Proposed",
}  # fmt: skip


def main(*stores: str) -> None:
    """Write every card; stores of runs on made-up MIMIC-III files make mimic_runs.csv first."""
    if stores:
        save_mimic_runs(*map(Path, stores))
    for name in CARDS:
        (PAGES / f"{name}.md").write_text(make_card(name), encoding="utf-8")
        sys.stdout.write(f"{PAGES / name}.md\n")


def make_card(name: str) -> str:
    """Return the text of a card; the data sets it needs must be in the cache."""
    return render(f"cards/{name}.md.jinja", **CARDS[name]())


def adult() -> dict[str, Any]:
    """Return the facts of Adult."""
    table = load_adult()
    unknown = load_adult(features=[name for name in ADULT_ALL if name.endswith("_?")]).X
    complete, train = unknown.sum(axis=1) == 0, ~table.test
    raw = read(sources.ADULT)
    rows = raw["adult.data"].splitlines() + raw["adult.test"].splitlines()[1:]
    rows = [row.rstrip(b".") for row in rows if row]
    bands = load_adult(features=[f"age_u{bound}" for bound in range(20, 90, 10)]).X.sum(axis=1)
    return {
        "files": _files(sources.ADULT),
        "rows": _n(len(table)),
        "rows_train": _n(train.sum()),
        "rows_test": _n(table.test.sum()),
        "n_paper": len(ADULT_PAPER),
        "n_released": len(ADULT_RELEASED),
        "n_all": len(ADULT_ALL),
        "rate_train": percent(table.y[train].mean(), 1),
        "groups": _group_table(table, {"training": train, "official test": table.test}),
        "kinds": _adult_kinds(),
        "over_80": _n((bands == 0).sum()),
        "claims": _adult_claims(table, train, complete),
        "complete": _n(complete.sum()),
        "unknown": _n((~complete).sum()),
        "doubles": _n(len(rows) - len(set(rows))),
    }


def _adult_kinds() -> str:
    kinds = ("age", "workclass", "education", "marital-status", "occupation", "sex")
    return grid(
        ("features beginning with", "how many"),
        [(kind, sum(name.startswith(kind) for name in ADULT_PAPER)) for kind in kinds],
    )


def _adult_claims(table: Table, train: Any, complete: Any) -> str:
    def facts(rows: Any) -> tuple[str, str, str]:
        male = table.group[rows] == 0
        y = table.y[rows]
        return percent(male.mean(), 1), percent(y[male].mean(), 1), percent(y[~male].mean(), 1)

    everyone = np.ones(len(table), dtype=bool)
    return grid(
        ("", "male", "positive among men", "positive among women"),
        [
            ("the paper", "67.5 %", "30.9 %", "11.3 %"),
            (f"training file ({_n(train.sum())})", *facts(train)),
            (f"test file ({_n(table.test.sum())})", *facts(table.test)),
            (f"both ({_n(len(table))})", *facts(everyone)),
            (f"both, nothing unknown ({_n(complete.sum())})", *facts(complete)),
        ],
    )


def compas() -> dict[str, Any]:
    """Return the facts of COMPAS."""
    table = load_compas()
    raw = pd.read_csv(io.BytesIO(read(sources.COMPAS)["compas-scores-two-years.csv"]))
    kept = raw[raw["id"].isin(table.individuals)]
    by_race = kept.groupby("race")["two_year_recid"].agg(["size", "mean"])
    white = table.group == 0
    return {
        "files": _files(sources.COMPAS),
        "rows": _n(len(table)),
        "rows_file": _n(len(raw)),
        "n_paper": len(COMPAS_PAPER),
        "n_released": len(COMPAS_RELEASED),
        "rate": percent(table.y.mean(), 1),
        "groups": _group_table(table, {"": np.ones(len(table), dtype=bool)}),
        "races": grid(
            ("race in the file", "people", "positive"),
            [(race, _n(row["size"]), percent(row["mean"], 1)) for race, row in by_race.iterrows()],
        ),
        "filters": _compas_filters(raw),
        "features": grid(
            ("feature", "mean"),
            [
                (f"`{n}`", f"{m:.3f}")
                for n, m in zip(COMPAS_PAPER, table.X.mean(axis=0), strict=True)
            ],
        ),
        "max_priors": int(kept["priors_count"].max()),
        "claims": grid(
            ("", "the paper", "here"),
            [
                ("white", "65.8 %", percent(white.mean(), 1)),
                ("non-white", "34.2 %", percent((~white).mean(), 1)),
                ("positive among white people", "39.1 %", percent(table.y[white].mean(), 1)),
                ("positive among non-white people", "44.5 %", percent(table.y[~white].mean(), 1)),
                ("features", "11", f"{len(COMPAS_PAPER)} (the authors' code: 12)"),
            ],
        ),
        "youngest_above": int(kept.loc[kept["age_cat"] == "Greater than 45", "age"].min()),
        "small": int(by_race.loc[["Asian", "Native American"], "size"].sum()),
    }


def _compas_filters(raw: pd.DataFrame) -> str:
    steps = (
        ("in the file", pd.Series(True, index=raw.index)),
        ("screened within 30 days of the arrest", raw["days_b_screening_arrest"].between(-30, 30)),
        ("a case was found (`is_recid` is not -1)", raw["is_recid"] != -1),
        ("not an ordinary traffic offence (`O`)", raw["c_charge_degree"] != "O"),
        ("scored (`score_text` is not N/A)", raw["score_text"].notna()),
    )
    return grid(("filter", "people left"), _cascade(steps))


def nhanes() -> dict[str, Any]:
    """Return the facts of NHANES."""
    table = load_nhanes()
    raw = pd.read_csv(
        io.BytesIO(read(sources.NHANES)[sources.NHANES.files[0].name]),
        sep="\t",
        dtype={columns.OBSERVED: "str"},
        low_memory=False,
    )
    adults = raw[(raw[columns.AGE] >= 20) & raw[columns.GLYCOHAEMOGLOBIN].notna()]
    everyone = undiagnosed_by_group(table).loc["all"]
    return {
        "files": _files(sources.NHANES),
        "rows": _n(len(table)),
        "rows_file": _n(len(raw)),
        "n_features": table.X.shape[1],
        "n_numeric": len(columns.NUMERIC),
        "n_categorical": len(columns.CATEGORICAL),
        "n_observed": _n(table.observed.sum()),
        "rate_observed": percent(table.observed.mean(), 1),
        "n_true": _n(table.y.sum()),
        "rate_true": percent(table.y.mean(), 1),
        "not_told": _n(everyone["not_told"]),
        "share_not_told": percent(everyone["share_not_told"], 1),
        "told_without": _n(everyone["told_without"]),
        "by_race": _undiagnosed(table),
        "by_sex": _undiagnosed(load_nhanes(group="sex")),
        "filters": _nhanes_filters(raw),
        "n_encoded": nhanes_pipeline().fit_transform(table.X).shape[1],
        "features": _nhanes_features(table.X),
        "excluded": _nhanes_excluded(),
        **_nhanes_borderline(adults),
    }


def _nhanes_borderline(adults: pd.DataFrame) -> dict[str, Any]:
    told = adults[columns.OBSERVED] == "1"
    treated = (adults[columns.INSULIN] == 1) | (adults[columns.PILLS] == 1)
    true = (adults[columns.GLYCOHAEMOGLOBIN] >= 6.5) | (told & treated)
    asked = adults[columns.OBSERVED].notna()
    return {
        "borderline": int((adults[columns.OBSERVED] == "Borderline").sum()),
        "share_with_borderline": percent((true & ~told & asked).sum() / (true & asked).sum(), 1),
        "treated_not_told": int((treated & (adults[columns.OBSERVED] == "0")).sum()),
    }


def _undiagnosed(table: Table) -> str:
    header = ("group", "people", "have diabetes", "not told", "share not told", "told without it")
    return grid(
        header,
        [
            (
                group,
                _n(row["people"]),
                _n(row["true"]),
                _n(row["not_told"]),
                percent(row["share_not_told"], 1),
                _n(row["told_without"]),
            )
            for group, row in undiagnosed_by_group(table).iterrows()
        ],
    )


def _nhanes_filters(raw: pd.DataFrame) -> str:
    steps = (
        ("in the file", pd.Series(True, index=raw.index)),
        ("20 years and over", raw[columns.AGE] >= 20),
        ("with a glycohaemoglobin value", raw[columns.GLYCOHAEMOGLOBIN].notna()),
        (
            'answered the question on being told (not "borderline")',
            raw[columns.OBSERVED].isin(["0", "1"]),
        ),
    )
    return grid(("filter", "people left"), _cascade(steps))


def _nhanes_features(X: pd.DataFrame) -> str:
    rows = [
        (f"`{name}`", "number" if name in columns.NUMERIC else f"{X[name].nunique()} answers", miss)
        for name, miss in ((name, percent(X[name].isna().mean(), 1)) for name in X)
    ]
    return grid(("feature", "kind", "missing"), rows)


def _nhanes_excluded() -> str:
    reasons: dict[str, list[str]] = {}
    for name, reason in columns.EXCLUDED.items():
        reasons.setdefault(reason, []).append(f"`{name}`")
    return grid(
        ("why", "columns"), [(reason, ", ".join(names)) for reason, names in reasons.items()]
    )


def save_mimic_runs(*stores: Path) -> None:
    """Write means and seconds of every method on the made-up files."""
    frame = pd.concat([Store(path).frame() for path in stores])
    means = frame.groupby(["dataset", "method"])[["auroc", "aueoc", "hm", "hm_released"]].mean()
    means["replications"] = frame.groupby(["dataset", "method"]).size()
    means["seconds"] = frame.groupby(["dataset", "method"])["seconds"].sum()
    save_csv(RUNS, means.round(4).reset_index())


def mimic_runs() -> str:
    """Return the table of what the methods made of the made-up files."""
    runs = pd.read_csv(RUNS).set_index(["dataset", "method"])
    rows = []
    for method, label in METHODS.items():
        cells: list[object] = [label]
        for task in ("mimic_arf", "mimic_shock"):
            if (task, method) not in runs.index:
                cells += ["", "", "not finished"]
                continue
            found = runs.loc[(task, method)]
            cells += [f"{found['auroc']:.3f}", f"{found['hm']:.3f}", f"{found['seconds']:.0f}"]
        rows.append(cells)
    return grid(("", "ARF: AUROC", "HM", "s", "shock: AUROC", "HM", "s"), rows)


def mimic() -> dict[str, Any]:
    """Return the facts of MIMIC-III and its stand-in."""
    n = 2000
    with tempfile.TemporaryDirectory() as folder:
        write_fake_mimic(folder, task="ARF", n_rows=n, random_state=0)
        table = load_mimic(folder, task="ARF")
    s, X = table.X[:, :N_FIXED], table.X[:, N_FIXED:]
    white = table.group == 0
    return {
        "sizes": "; ".join(f"{task} {_fake_size(task)}" for task in SIZES),
        "race_column": RACE_COLUMN,
        "runs": mimic_runs(),
        "density_X": DENSITY,
        "density_s": "0.114",
        "rates": ", ".join(
            f"{task} positive in {percent(size.rates[0], 1)} of white and "
            f"{percent(size.rates[1], 1)} of other stays"
            for task, size in SIZES.items()
        ),
        "n_planted": N_PLANTED,
        "sample_rows": _n(n),
        "sample": (
            f"density {X.nnz / np.prod(X.shape):.4f} and {s.nnz / np.prod(s.shape):.4f}, "
            f"{percent(white.mean(), 1)} white, {percent(table.y.mean(), 1)} positive, "
            f"{_n(len(np.unique(table.individuals)))} subjects."
        ),
        "claims": grid(
            ("", "the paper", "FIDDLE and the authors' code"),
            [
                ("ARF stays and features", "15,873 x 16,278", _fake_size("ARF")),
                ("shock stays and features", "19,342 x 18,186", _fake_size("shock")),
                ("white; positive, ARF", "about 70 %; 4.5 % and 4.4 %", "needs the real files"),
                ("white; positive, shock", "about 70 %; 4.1 % and 3.7 %", "needs the real files"),
                ("one individual in one part", "yes", "the code splits stays, not subjects"),
            ],
        ),
    }


def _fake_size(task: str) -> str:
    size = SIZES[task]
    width = N_FIXED + N_HOURS * size.features
    return f"{_n(size.rows)} x {_n(width)} ({N_FIXED} + {N_HOURS} x {_n(size.features)})"


def synthetic() -> dict[str, Any]:
    """Return the facts of the synthetic data."""
    written = [make_synthetic(random_state=seed).table for seed in range(20)]
    released = make_synthetic_released().table

    def rates(table: Table) -> tuple[float, float]:
        return table.y[table.group == 0].mean(), table.y[table.group == 1].mean()

    each = np.array([rates(table) for table in written])
    low, high, mean = each.min(axis=0), each.max(axis=0), each.mean(axis=0)
    fixed = rates(released)
    return {
        "rows": _n(len(released)),
        "features": released.X.shape[1],
        "groups": grid(
            ("positive rate", "majority (80 %)", "minority (20 %)"),
            [
                (
                    "as written, 20 seeds: mean (lowest to highest)",
                    *(
                        f"{percent(mean[g], 1)} ({percent(low[g], 1)} to {percent(high[g], 1)})"
                        for g in range(2)
                    ),
                ),
                ("as released, its one draw", *(percent(rate, 1) for rate in fixed)),
            ],
        ),
        "claims": grid(
            ("", "the paper", "as released"),
            [
                ("positive in the majority", "37.5 %", percent(fixed[0], 1)),
                ("positive in the minority", "32.3 %", percent(fixed[1], 1)),
                ("positive in all", "50 % by its formula", percent(released.y.mean(), 1)),
            ],
        ),
    }


def _group_table(table: Table, parts: dict[str, Any]) -> str:
    rows = []
    for part, inside in parts.items():
        for code, name in enumerate(table.group_names):
            rows_in = inside & (table.group == code)
            share = rows_in.sum() / inside.sum()
            label = f"{part}, {name}" if part else name
            rows.append(
                (label, _n(rows_in.sum()), percent(share, 1), percent(table.y[rows_in].mean(), 1))
            )
    return grid(("group", "rows", "share", "positive"), rows)


def _cascade(steps: Iterable[tuple[str, Any]]) -> list[tuple[str, str]]:
    left, rows = True, []
    for name, passes in steps:
        left = left & passes
        rows.append((name, _n(left.sum())))
    return rows


def _files(source: sources.DataSource) -> str:
    return "<br>".join(
        f"`{file.name}`, {_n(file.size)} bytes, sha256 `{file.sha256}`" for file in source.files
    )


CARDS: dict[str, Callable[[], dict[str, Any]]] = {
    "adult": adult,
    "compas": compas,
    "mimic": mimic,
    "nhanes": nhanes,
    "nhanes_tasks": nhanes_tasks,
    "synthetic": synthetic,
}


if __name__ == "__main__":
    main(*sys.argv[1:])
