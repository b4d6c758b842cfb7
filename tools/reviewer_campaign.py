"""Let reviewers err and leave rows unanswered: do intervals hold, what does a model lose.

    nice python tools/reviewer_campaign.py            # reviewers.csv, reviewers.md

Tables of 3 000 rows in two groups, whose truth is known, are drawn and 300 rows of each are put on
a sheet, by `alignset sample` (as many of each group x observed label, or in proportion). Simulated
reviewers answer: one for each row, two for a fifth of them; where two differ, a third person
adjudicates, or nobody does. What `alignset audit --answers` makes of it is held against the truth
of the table. "as told" takes the first answer for the truth, as if nobody erred.

Models are fitted to 3 000 rows with 400 reviewed and judged on 4 000 others whose truth is known:
on true labels of the reviewed rows, on the first answers, and on the probabilities that the
answers give (`alignset fit --answers`).

A row without an answer: 40 % of the rows whose observed label is wrong and 10 % of the others.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pages import DOCS, markdown, render, save_csv
from sklearn.metrics import roc_auc_score

from alignset.cli.report import write_text
from alignset.data import make_synthetic, make_synthetic_released
from alignset.estimator import NoisyLabelClassifier
from alignset.evaluate.noise_rate import NoiseRate
from alignset.learners import Blend
from alignset.review.aim import AimRows
from alignset.review.answers import Answers
from alignset.review.design import even, proportional
from alignset.review.measured import review_noise_rates
from alignset.review.nonresponse import bound_noise_rates
from alignset.review.reviewers import ReviewerModel, fit_reviewers
from alignset.review.sample import sample
from alignset.review.waves import read_design
from alignset.tables.targets import Cells

OUT = DOCS / "evaluation/reviewers.csv"
ROWS, REVIEWED, TWICE = 3000, 300, 0.2
BLANK_IF_WRONG, BLANK_IF_RIGHT = 0.4, 0.1


@dataclass(frozen=True)
class Setting:
    """How reviewers err, and how the review is made."""

    name: str
    errors: tuple[tuple[float, float], ...]  # of each reviewer: where class 0, class 1 is true
    adjudicated: bool = True
    allocation: str = "proportional"
    reviewed: int = REVIEWED


MAIN = (
    Setting("5 %", ((0.05, 0.05),) * 2),
    Setting("10 %", ((0.1, 0.1),) * 2),
)
"""What the issue asks for, run most often."""

MORE = (
    Setting("no errors", ((0.0, 0.0),) * 2),
    Setting("5 %, disputes left open", ((0.05, 0.05),) * 2, adjudicated=False),
    Setting("10 %, disputes left open", ((0.1, 0.1),) * 2, adjudicated=False),
)


def new_table(rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Draw observed labels and groups, and the truth."""
    group = (rng.random(ROWS) < 0.35).astype(int)
    true = (rng.random(ROWS) < np.array([0.3, 0.45])[group]).astype(int)
    noise = np.array([[0.08, 0.25], [0.15, 0.3]])[group, true]
    observed = np.where(rng.random(ROWS) < noise, 1 - true, true)
    return pd.DataFrame({"told": observed, "group": group}), true


def put_on_sheet(table: pd.DataFrame, setting: Setting, rng: np.random.Generator) -> pd.DataFrame:
    """Return the table with probability, wave and stratum of the rows on a sheet."""
    how = even if setting.allocation == "even" else proportional
    sheet = sample(
        table, n=setting.reviewed, label="told", group="group", allocation=how, random_state=rng
    )
    own = sheet.rows.set_index("row")[["stratum", "wave", "probability"]]
    return table.join(own)


def answer(
    true: np.ndarray, asked: np.ndarray, setting: Setting, rng: np.random.Generator
) -> tuple[Answers, np.ndarray]:
    """Let reviewers answer the rows asked about; return also the first answer of each row."""
    n, people = len(true), len(setting.errors)
    chance = np.array(setting.errors)[:, true].T  # (n, R)
    said = np.where(rng.random((n, people)) < chance, 1 - true[:, None], true[:, None])
    turn = np.argsort(rng.random((n, people)), axis=1)
    number = np.where(rng.random(n) < TWICE, 2, 1) * np.isin(np.arange(n), asked)
    given = turn < number[:, None]
    row, who = np.nonzero(given)
    first = np.where(number > 0, said[np.arange(n), turn.argmin(1)], -1)
    names = tuple(f"reviewer {r + 1}" for r in range(people))
    found = Answers(row, who, said[row, who], np.full(n, -1), names, np.arange(2))
    if setting.adjudicated:
        settled = np.where(found.disputed, true, -1)
        found = Answers(row, who, said[row, who], settled, names, np.arange(2))
    return found, first


def rows_of(table: pd.DataFrame, true: np.ndarray) -> AimRows:
    """Return rows as estimates take them; ``true`` is -1 where nobody knows it."""
    cells = Cells(np.arange(2), np.arange(2), table["group"].to_numpy(), table["told"].to_numpy())
    return AimRows(cells, true, ())


def model_of(table: pd.DataFrame, answers: Answers, seed: int) -> ReviewerModel:
    """Fit the error model as an audit does."""
    stratum = np.where(table["stratum"].isna(), -1, pd.factorize(table["stratum"])[0])
    observed, group = table["told"].to_numpy(), table["group"].to_numpy()
    return fit_reviewers(answers, observed, group, stratum=stratum, random_state=seed)


def covers(rates: tuple[NoiseRate, ...], actual: np.ndarray) -> list[bool]:
    """Tell for each group whether its interval has the truth; whole rows count as in a table."""
    return [one.low - 1e-9 <= r <= one.high + 1e-9 for one, r in zip(rates, actual, strict=True)]


def actual_rates(table: pd.DataFrame, true: np.ndarray) -> np.ndarray:
    """Return the share of wrong labels in each group of the table."""
    wrong = pd.Series(true != table["told"].to_numpy())
    return wrong.groupby(table["group"]).mean().to_numpy()


def review_once(setting: Setting, seed: int) -> dict[str, float]:
    """Draw a table, review it with errors, and estimate."""
    rng = np.random.default_rng((seed, 11))
    table, true = new_table(rng)
    table = put_on_sheet(table, setting, rng)
    design = read_design(table)
    answers, first = answer(true, np.flatnonzero(design.drawn), setting, rng)
    actual = actual_rates(table, true)
    model = model_of(table, answers, seed)
    rates = review_noise_rates(rows_of(table, model.draws.mode), design, draws=model.draws)
    naive = review_noise_rates(rows_of(table, first), design)
    truth = review_noise_rates(rows_of(table, np.where(design.drawn, true, -1)), design)
    known = np.array([np.mean(pair) for pair in setting.errors])
    errors = np.array([(one.error, one.low, one.high) for one in model.errors])
    return {
        "coverage": float(np.mean(covers(rates, actual))),
        "as_told": float(np.mean(covers(naive, actual))),
        "half_width": float(np.mean([(one.high - one.low) / 2 for one in rates])),
        "half_width_true": float(np.mean([(one.high - one.low) / 2 for one in truth])),
        "bias": float(np.mean([one.rate for one in rates] - actual)),
        "bias_as_told": float(np.mean([one.rate for one in naive] - actual)),
        "error": float(errors[:, 0].mean()),
        "error_covered": float(np.mean((errors[:, 1] <= known) & (known <= errors[:, 2]))),
    }


def blank_once(seed: int) -> dict[str, float]:
    """Leave out answers as the issue says, and bound the noise rates."""
    rng = np.random.default_rng((seed, 12))
    table, true = new_table(rng)
    table = put_on_sheet(table, MORE[0], rng)
    design = read_design(table)
    wrong = true != table["told"].to_numpy()
    blank = rng.random(ROWS) < np.where(wrong, BLANK_IF_WRONG, BLANK_IF_RIGHT)
    rows = rows_of(table, np.where(design.drawn & ~blank, true, -1))
    rates, actual = review_noise_rates(rows, design), actual_rates(table, true)
    worst = bound_noise_rates(rates, rows, design, design.drawn)
    inside = [one.worst_low <= r <= one.worst_high for one, r in zip(worst, actual, strict=True)]
    return {
        "coverage": float(np.mean(covers(rates, actual))),
        "bounds_cover": float(np.mean(inside)),
        "amber": float(any(one.matters for one in worst)),
        "half_width": float(np.mean([(one.high - one.low) / 2 for one in rates])),
        "bounds_half_width": float(np.mean([(o.worst_high - o.worst_low) / 2 for o in worst])),
    }


BLEND = Blend(("observed", "reviewed", "both", "recalibrated"), ("linear",), None)
DATA = ("linear", "synthetic", "synthetic_released")


def draw_data(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, true class, and observed class of 7 000 rows."""
    n, seed = ROWS + 4000, int(rng.integers(2**31))
    if name == "linear":
        X = rng.normal(size=(n, 8))
        odds = X @ np.array([1.2, -1.0, 0.8, 0.5, 0.3, 0.0, 0.0, 0.0]) - 0.6
        true = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)
    else:
        make = make_synthetic if name == "synthetic" else make_synthetic_released
        table = make(n, random_state=seed).table
        X, true = np.asarray(table.X, dtype=float), table.y
    slope = 1 / (1 + np.exp(-(X[:, 1] - 1.2)))  # errors depend on a feature
    return X, true, np.where(rng.random(n) < 0.6 * slope, 1 - true, true)


def fit_once(name: str, seed: int) -> dict[str, dict[str, float]]:
    """Fit on true labels, on first answers and on probabilities; return the AUROC of each."""
    rng = np.random.default_rng((seed, 13))
    X, true, observed = draw_data(name, rng)
    train, asked = np.arange(ROWS), rng.permutation(ROWS)[:400]
    known = np.isin(train, asked)

    def area(y_true: np.ndarray) -> float:
        clf = NoisyLabelClassifier(BLEND, random_state=0, n_jobs=1)
        with warnings.catch_warnings(action="ignore"):
            clf.fit(X[train], observed[train], y_true=y_true)
        return float(roc_auc_score(true[ROWS:], clf.predict_proba(X[ROWS:])[:, 1]))

    perfect, found = area(np.where(known, true[train], np.nan)), {}
    for error in (0.05, 0.1):
        answers, first = answer(true[train], asked, Setting("", ((error, error),) * 2), rng)
        model = fit_reviewers(answers, observed[train], random_state=seed)
        found[f"{name}, {error:.0%}"] = {
            "perfect": perfect,
            "as_told": area(np.where(known, first, np.nan)),
            "soft": area(model.shares),
        }
    return found


def told(part: str, setting: str, found: list[dict[str, float]]) -> dict[str, object]:
    """Return the means of one setting, and say them."""
    row = {"part": part, "setting": setting, "times": len(found), **pd.DataFrame(found).mean()}
    print(
        {k: round(float(v), 4) if isinstance(v, float) else v for k, v in row.items()}, flush=True
    )
    return row


def campaign(times: int, fits: int) -> Iterator[dict[str, object]]:
    """Run everything; one row per setting, what the issue asks for first."""
    for setting in MAIN:
        yield told("errors", setting.name, [review_once(setting, seed) for seed in range(times)])
    yield told("blank", "40 % and 10 %", [blank_once(seed) for seed in range(times)])
    for name in DATA:
        each = [fit_once(name, seed) for seed in range(fits)]
        for setting in each[0]:
            yield told("auroc", setting, [one[setting] for one in each])
    for setting in MORE:
        found = [review_once(setting, seed) for seed in range(times // 2)]
        yield told("errors", setting.name, found)


def main() -> None:
    """Run the campaign, or write the page again from what was stored."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--fits", type=int, default=4)
    parser.add_argument("--page", action="store_true", help="only write the page")
    asked = parser.parse_args()
    rows: list[dict[str, object]] = []
    for row in [] if asked.page else campaign(asked.times, asked.fits):
        rows.append(row)
        save_csv(OUT, pd.DataFrame(rows).round(5))
    write_text(DOCS / "evaluation/reviewers.md", page(pd.read_csv(OUT)))


def page(stored: pd.DataFrame) -> str:
    """Return the page about the campaign."""
    parts = {str(name): part for name, part in stored.groupby("part", sort=False)}
    fits = parts["auroc"].assign(
        lost=lambda t: t["perfect"] - t["soft"], lost_as_told=lambda t: t["perfect"] - t["as_told"]
    )
    return render(
        "reviewer_campaign.md.jinja",
        times=int(stored["times"].max()),
        fits=int(fits["times"].iloc[0]),
        blank=parts["blank"].iloc[0].to_dict(),
        errors=_shown(parts["errors"], ERRORS),
        auroc=_shown(fits, LOST, digits=4),
        most_lost=fits["lost"].max(),
    )


ERRORS = {
    "setting": "reviewers err", "times": "times", "coverage": "covers", "half_width": "half-width",
    "half_width_true": "if nobody erred", "bias": "bias", "error": "error found",
    "error_covered": "covers it", "as_told": "as told covers", "bias_as_told": "bias",
}  # fmt: skip
LOST = {
    "setting": "data, error", "perfect": "true labels", "soft": "probabilities", "lost": "lost",
    "as_told": "as told", "lost_as_told": "lost",
}  # fmt: skip


def _shown(frame: pd.DataFrame, titles: dict[str, str], digits: int = 3) -> str:
    cells = [
        [f"{value:.{digits}f}" if isinstance(value, float) else value for value in row]
        for row in frame[list(titles)].itertuples(index=False)
    ]
    return markdown(list(titles.values()), cells)


if __name__ == "__main__":
    main()
