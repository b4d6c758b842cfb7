"""Draw what a reviewed row is worth, for a clinician: docs/evaluation/gallery.md and its picture.

    python tools/review_gallery.py            # 101 reviews of 200 people; the median one is shown

NHANES 2017-2018, diabetes: what a doctor said is the observed label, blood tells the truth of
everyone, so intervals can be held against it. The review that is shown is the one in the middle
of 101, by how much narrower its intervals are with observed labels than without.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd
from evaluation import FOLDER
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pages import markdown, render
from review_worth import nhanes_rows

from alignset.cli.report import write_text
from alignset.evaluate import Estimate, estimate
from alignset.evaluate.estimands import ESTIMANDS, ScoredRows
from alignset.report.canvas import drawing

REVIEWED, REVIEWS, THRESHOLD = 200, 101, 0.2
PANELS = {
    "tpr": "Of those who have diabetes, how many\ndoes the model flag? (TPR at 0.2)",
    "auroc": "How well does the model rank people?\n(AUROC)",
    "prevalence": "How many have diabetes?",
    "wrong": "How many were told wrongly?\n(share of wrong labels)",
}
OURS, ALONE, TRUTH = "#0072b2", "#a8a8a8", "#d55e00"
WHO = {"all": "everyone", "Female": "women", "Male": "men"}


@dataclass(frozen=True, eq=False)
class People:
    """Score, observed and true label, and sex of everyone."""

    score: np.ndarray
    observed: np.ndarray
    true: np.ndarray
    sex: np.ndarray


def people() -> People:
    """Read NHANES, with a score fitted to observed labels out of fold."""
    score, table = nhanes_rows("sex")
    return People(score[:, 1], table.observed, table.y, np.array(["Male", "Female"])[table.group])


def review(everyone: People, seed: int) -> dict[str, Estimate]:
    """Review some people at random, and estimate every measure."""
    rng = np.random.default_rng(seed)
    seen = np.full(len(everyone.true), np.nan)
    drawn = rng.permutation(len(seen))[:REVIEWED]
    seen[drawn] = everyone.true[drawn]
    return {
        metric: estimate(
            metric, everyone.score, everyone.observed, seen, groups=everyone.sex,
            finite=metric == "wrong",
            threshold=THRESHOLD if metric == "tpr" else None, random_state=seed,
        )
        for metric in PANELS
    }  # fmt: skip


def parts(found: Estimate) -> dict[str, Estimate]:
    """Everyone, women, men."""
    return {"all": found, **{name: found.by_group[name] for name in ("Female", "Male")}}


def truth_of(everyone: People) -> dict[tuple[str, str], float]:
    """Measure and group -> value with the true label of everyone."""
    rows = ScoredRows(
        np.stack([-everyone.score, everyone.score], axis=1), everyone.observed,
        everyone.score >= THRESHOLD, THRESHOLD,
    )  # fmt: skip
    hot, found = np.eye(2)[everyone.true], {}
    for who in WHO:
        member = np.ones(len(hot), dtype=bool) if who == "all" else everyone.sex == who
        for metric in PANELS:
            one = ESTIMANDS[metric].linearise(rows.take(member), hot[member], member[member] * 1.0)
            found[metric, who] = one.value
    return found


def summary(
    reviews: list[dict[str, Estimate]], truth: dict[tuple[str, str], float]
) -> pd.DataFrame:
    """Sum up all reviews: width, coverage and worth of each measure and group."""
    rows = []
    for metric, who in truth:
        every = [parts(one[metric])[who] for one in reviews]
        low, high = (np.array([getattr(e, name) for e in every]) for name in ("low", "high"))
        alone = np.array([e.reviewed_only for e in every])
        t = truth[metric, who]
        rows.append(
            {
                "measure": metric,
                "group": who,
                "truth": t,
                "width": np.nanmean(high - low),
                "width_alone": np.nanmean(alone[:, 2] - alone[:, 1]),
                "coverage": np.mean((low <= t) & (t <= high)),
                "coverage_alone": np.mean((alone[:, 1] <= t) & (t <= alone[:, 2])),
                "reviewed": np.mean([e.reviewed for e in every]),
                "worth": np.nanmedian([e.worth for e in every]),
            }
        )
    return pd.DataFrame(rows)


def middle(reviews: list[dict[str, Estimate]]) -> int:
    """Return the review whose gain is the median one."""
    gain = []
    for one in reviews:
        every = [e for found in one.values() for e in parts(found).values()]
        alone = [e.reviewed_only[2] - e.reviewed_only[1] for e in every]
        gain.append(
            np.nanmean([np.log((e.high - e.low) / w) for e, w in zip(every, alone, strict=True)])
        )
    return int(np.argsort(gain)[len(gain) // 2])


def draw_panel(ax: Axes, title: str, found: dict[str, Estimate], truth: dict[str, float]) -> None:
    """Draw one measure: for each group, reviewed rows alone above, all rows below."""
    for place, (who, one) in enumerate(found.items()):
        y = -1.5 * place
        value, low, high = one.reviewed_only
        bar = {"solid_capstyle": "butt", "zorder": 2}
        ax.plot([low, high], [y + 0.22] * 2, color=ALONE, linewidth=7, **bar)
        ax.plot([one.low, one.high], [y - 0.22] * 2, color=OURS, linewidth=7, **bar)
        ax.plot([value], [y + 0.22], "|", color="white", markersize=8, zorder=3)
        ax.plot([one.estimate], [y - 0.22], "|", color="white", markersize=8, zorder=3)
        ax.plot([truth[who]] * 2, [y - 0.55, y + 0.55], color=TRUTH, linewidth=2, zorder=4)
        told = f"{one.reviewed} reviewed,\nworth {one.worth:.0f}"
        ax.text(1.02, y, told, transform=ax.get_yaxis_transform(), va="center", fontsize=10)
    ax.set_yticks([-1.5 * i for i in range(len(found))], [WHO[who] for who in found])
    ax.set_ylim(-1.5 * (len(found) - 1) - 0.8, 0.8)
    ax.set_title(title, loc="left", fontsize=11)
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}" if title.find("AUROC") < 0 else f"{x:.2f}")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="#e4e4e4", zorder=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)


def picture(shown: dict[str, Estimate], truth: dict[tuple[str, str], float], n: int) -> None:
    """Draw all measures into one file."""
    with drawing():
        figure = Figure(figsize=(11.0, 7.2), facecolor="white")
        axes = figure.subplots(2, 2)
        for ax, (metric, title) in zip(axes.flat, PANELS.items(), strict=True):
            values = {who: truth[metric, who] for who in WHO}
            draw_panel(ax, title, parts(shown[metric]), values)
        for colour, label, width in (
            (ALONE, f"from the {REVIEWED} reviewed people alone", 7),
            (OURS, f"with what the other {n - REVIEWED} were told", 7),
            (TRUTH, f"the truth, from the blood of all {n}", 2),
        ):
            axes.flat[0].plot([], [], color=colour, linewidth=width, label=label)
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="upper center", ncols=3, frameon=False, fontsize=10,
            bbox_to_anchor=(0.5, 0.93),
        )  # fmt: skip
        figure.suptitle(
            f"What {REVIEWED} reviewed people tell, with and without what all others were told",
            fontsize=14, x=0.5, y=0.98,
        )  # fmt: skip
        figure.subplots_adjust(
            left=0.08, right=0.90, top=0.81, bottom=0.06, wspace=0.56, hspace=0.42
        )
        figure.savefig(FOLDER / "gallery.png", dpi=120, metadata={"Software": None})


def page(table: pd.DataFrame, seed: int, n: int) -> str:
    """Return the page."""
    rows = [
        [
            row.measure,
            WHO[row.group],
            f"{row.truth:.3f}",
            f"{row.width_alone:.3f}",
            f"{row.width:.3f}",
            f"{row.coverage_alone:.0%}",
            f"{row.coverage:.0%}",
            f"{row.reviewed:.0f}",
            f"{row.worth:.0f}",
        ]
        for row in table.itertuples()
    ]
    head = [
        *("measure", "of", "truth", "width, reviewed alone", "width", "covers, reviewed alone"),
        *("covers", "reviewed", "worth"),
    ]
    return render(
        "review_gallery.md.jinja", reviewed=REVIEWED, reviews=REVIEWS, seed=seed, rows=n,
        others=n - REVIEWED, table=markdown(head, rows),
    )  # fmt: skip


def main() -> None:
    """Write the page and the picture."""
    everyone = people()
    truth, n = truth_of(everyone), len(everyone.true)
    reviews = [review(everyone, seed) for seed in range(REVIEWS)]
    seed = middle(reviews)
    picture(reviews[seed], truth, n)
    write_text(FOLDER / "gallery.md", page(summary(reviews, truth), seed, n))


if __name__ == "__main__":
    sys.exit(main())
