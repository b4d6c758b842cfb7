"""Real label noise: methods on NHANES diabetes, paired over seeds, as a page of Markdown.

    python benchmarks/nhanes_table.py --device cuda --seeds 20 --configs 20 --hidden 100 \
        --out docs/tutorials/nhanes-results.md

Observed label: a doctor told them. True label: glycohaemoglobin of 6.5 % or more, or told and
treated. Needs torch, numpy, scipy, pandas and scikit-learn, and the file in the cache
(``alignset data get nhanes``, or ALIGNSET_DATA naming a folder that has ``nhanes/``). Confident
learning needs cleanlab too and says so in its row where it is not there. To take it to a machine
without internet: ``pip install --no-deps --target build/site cleanlab tqdm termcolor``, then
``PYTHONPATH=src:build/site``. Values of every seed go to a CSV file beside the page.
"""

# ruff: noqa: E402, what is missing has to be replaced before alignset is imported
from __future__ import annotations

import argparse
import platform
import shlex
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import torch
from scipy import stats

for _name in ("pooch", "requests"):  # they only download, and the file is already there
    if find_spec(_name) is None:
        sys.modules[_name] = ModuleType(_name)

from alignset.data import Table, load_nhanes, nhanes_pipeline, undiagnosed_by_group
from alignset.engine import Trainer, draw_configs
from alignset.evaluate import summarize
from alignset.methods.registry import describe, get_method
from alignset.rows import Problem, split

METHODS = (
    "standard", "alignment_only", "standard_plus", "glc", "irbl", "confident", "csidn", "alignment",
)  # fmt: skip
CLEAN = "Clean labels (bound)"
METRICS = ("AUROC", "AUEOC", "HM")
SHARE = 0.1
LEVEL = 0.95
GROUP_TITLES = {"race": "race and ethnicity (six groups)", "sex": "sex (two groups)"}

INTRODUCTION = """\
# NHANES diabetes: the methods on labels that are really wrong

Written by `benchmarks/nhanes_table.py`; do not edit. The command:

```
python {command}
```

The observed label is what a doctor told {people:,} adults of NHANES 2017-2018, the true one what
their blood or their treatment shows ([the data](../data/nhanes.md)). Nobody flipped a label:
{not_told} people have diabetes and were not told, {told_without} were told without having it.

{seeds} seeds. Each tests on 20 % of the people, reviews {share:.0f} % of the rest (half of those
train, half choose the epoch and the config), and preprocesses with statistics of its training rows.
Every method gets {configs} random configs of its own search space and one hidden width, {hidden}.
Values are means ± standard deviations over seeds, on the true labels of the test rows; a difference
is the mean of the paired differences with its {level:.0f} % t interval. AUEOC is the paper's, over
thresholds. "Clean labels" is Standard with every training row reviewed: what better labels could
give.
"""
READING = """\
## How to read it

* Seeds are splits of the same people, so that their parts overlap: the intervals say how sure the
  order is on these people. For other people they are too narrow.
* Each table makes one comparison per method and metric, without a correction for their number.
* AUEOC rewards scores that hardly move with the threshold: a weak model can look even. HM asks for
  both.
"""


def make_problem(table: Table, seed: int) -> Problem:
    """One replication, preprocessed with statistics of its training rows."""
    return split(table, share=SHARE, pipeline=nhanes_pipeline(table.X), seed=seed)


def measure(trainer: Trainer, name: str, problems: list[Problem], n_configs: int) -> np.ndarray:
    """AUROC, AUEOC and HM (seeds, 3) of the chosen configs on held-out truth."""
    method = get_method(name)()
    configs = draw_configs(method.search_space(), n_configs, random_state=0)
    fits = trainer.fit(method, problems, configs)
    values = []
    for p, (problem, best) in enumerate(zip(problems, fits.best(), strict=True)):
        test = problem.test
        found = summarize(test.y_true, fits.probability(test.X, p)[best][:, 1], test.group)
        values.append([found.auroc, found.aueoc, found.hm])
    return np.array(values)


def run_group(group: str, args: argparse.Namespace) -> tuple[pd.DataFrame, dict[str, str]]:
    """Values of every method and seed, and why a method was left out."""
    table = load_nhanes(group=group)
    problems = [make_problem(table, seed) for seed in range(args.seeds)]
    trainer = Trainer(hidden=args.hidden, device=args.device)
    clean = [problem.fully_reviewed() for problem in problems]
    plans = [(describe(name).title, name, problems) for name in args.methods]
    rows, left_out = [], {}
    for title, name, some in [*plans, (CLEAN, "standard", clean)]:
        if name == "confident" and find_spec("cleanlab") is None:
            left_out[title] = "not run: cleanlab is not installed"
            continue
        start = time.perf_counter()
        values = measure(trainer, name, some, args.configs)
        seconds = time.perf_counter() - start
        print(f"{group:4} {title:22} {values.mean(0).round(4)} {seconds:.0f} s", flush=True)
        rows += [
            {"groups": group, "method": title, "seed": seed, **dict(zip(METRICS, v, strict=True))}
            for seed, v in enumerate(values)
        ]
    return pd.DataFrame(rows), left_out


def paired(difference: np.ndarray) -> tuple[float, float, float]:
    """Mean difference and its t interval over the seeds where both are defined."""
    defined = difference[~np.isnan(difference)]
    if len(defined) < 2:
        return float("nan"), float("nan"), float("nan")
    mean, error = defined.mean(), stats.sem(defined)
    reach = stats.t.ppf((1 + LEVEL) / 2, len(defined) - 1) * error
    return float(mean), float(mean - reach), float(mean + reach)


def differences(values: pd.DataFrame, title: str, metric: str) -> tuple[float, float, float]:
    wide = values.pivot(index="seed", columns="method", values=metric)
    return paired((wide[title] - wide["Standard"]).to_numpy())


def render_table(values: pd.DataFrame, left_out: dict[str, str]) -> list[str]:
    heads = ["method", *METRICS, *(f"{m} - Standard" for m in METRICS)]
    lines = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
    for title, own in values.groupby("method", sort=False):
        cells = [f"{own[m].mean():.3f} ± {own[m].std():.3f}" for m in METRICS]
        for metric in METRICS:
            mean, low, high = differences(values, title, metric)
            shown = f"{mean:+.3f} ({low:+.3f} to {high:+.3f})"
            cells.append("" if title == "Standard" else shown)
        lines.append("| " + " | ".join([str(title), *cells]) + " |")
    lines += [f"| {title} | {why} |" + " |" * (len(heads) - 2) for title, why in left_out.items()]
    return lines


def say_who_wins(values: pd.DataFrame) -> list[str]:
    """One sentence per metric: whose interval lies above or below Standard's."""
    rivals = [t for t in values["method"].unique() if t not in ("Standard", CLEAN)]
    lines = []
    for metric in METRICS:
        found = {title: differences(values, title, metric) for title in rivals}
        above = [title for title, (_, low, _) in found.items() if low > 0]
        below = [title for title, (_, _, high) in found.items() if high < 0]
        lines.append(
            f"* {metric}: above Standard beyond the interval: {', '.join(above) or 'none'}; "
            f"below it: {', '.join(below) or 'none'}."
        )
    return lines


def count_empty(values: pd.DataFrame) -> str:
    empty = int(values[values["method"] == "Standard"]["AUEOC"].isna().sum())
    if not empty:
        return "Every test part has people with and without diabetes in every group."
    return (
        f"In {empty} seeds a test part has a group without diabetes or without its absence; AUEOC "
        "and HM are not defined there and those seeds are left out."
    )


def render(results: dict[str, tuple[pd.DataFrame, dict[str, str]]], args, seconds: float) -> str:
    device = torch.cuda.get_device_name(0) if args.device == "cuda" else platform.machine() + " CPU"
    numbers = {"share": 100 * SHARE, "level": 100 * LEVEL, "command": shlex.join(sys.argv)}
    counts = undiagnosed_by_group(load_nhanes()).loc["all"].astype(int).to_dict()
    lines = [INTRODUCTION.format(**numbers, **counts, **vars(args))]
    for group, (values, left_out) in results.items():
        lines += [f"## By {GROUP_TITLES[group]}", "", *render_table(values, left_out)]
        lines += ["", *say_who_wins(values), "", count_empty(values), ""]
    lines += [READING, f"{device}, torch {torch.__version__}, {seconds:.0f} s in all."]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--configs", type=int, default=20)
    parser.add_argument("--hidden", type=int, default=100)
    parser.add_argument("--groups", nargs="+", choices=tuple(GROUP_TITLES), default=["race", "sex"])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--out", type=Path, help="Markdown page; a CSV of all values beside it.")
    args = parser.parse_args()
    if args.seeds < 2 or "standard" not in args.methods:
        parser.error("a paired interval needs --seeds of 2 or more, and standard among --methods.")
    start = time.perf_counter()
    results = {group: run_group(group, args) for group in args.groups}
    page = render(results, args, time.perf_counter() - start)
    print(page)
    if args.out is not None:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(page, encoding="utf-8")
        everything = pd.concat([values for values, _ in results.values()])
        everything.to_csv(args.out.with_suffix(".csv"), index=False, float_format="%.6f")


if __name__ == "__main__":
    main()
