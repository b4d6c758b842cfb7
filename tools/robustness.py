"""The robustness page: from the study's CSV to docs/robustness, with a picture and every loss.

    python tools/robustness.py results/robustness.csv results/robustness_networks.csv

The second file is a run with ``--networks``. Writes docs/robustness: README.md, settings.csv (one
row per setting), networks.csv (AUROC of networks alone) and a picture.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from scipy.stats import t as student

mpl.use("svg")
from matplotlib import pyplot as plt

KEY = ["data", "noise", "rate", "reviewed"]
OUT = Path("docs/robustness")
MARGIN = 0.005


def main() -> None:
    """Write the page."""
    rows, nets = pd.read_csv(sys.argv[1]), pd.read_csv(sys.argv[2])
    OUT.mkdir(parents=True, exist_ok=True)
    found = settings(rows)
    found.round(4).to_csv(OUT / "settings.csv", index=False)
    picture(found)
    alone = networks(nets)
    alone.round(4).to_csv(OUT / "networks.csv", index=False)
    (OUT / "README.md").write_text(page(rows, found, alone), encoding="utf-8")


def settings(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per setting: the blend, the best plain model by the test rows, clean labels."""
    out = []
    for key, cell in rows.groupby(KEY):
        area = cell.pivot(index="replication", columns="model", values="auroc")
        loss = cell.pivot(index="replication", columns="model", values="log_loss")
        plain = [name for name in area if name.startswith("plain")]
        clean = [name for name in area if name.startswith("clean")]
        best, sure = area[plain].mean().idxmax(), loss[plain].mean().idxmin()
        gain, less = area["blend"] - area[best], loss[sure] - loss["blend"]
        out.append({
            **dict(zip(KEY, key, strict=True)), "replications": len(area),
            "blend": area["blend"].mean(), "best_plain": area[best].mean(), "which": best[6:],
            "clean": area[clean].mean().max(), "gain": gain.mean(), "half_width": half(gain),
            "log_loss_gain": less.mean(), "log_loss_half_width": half(less),
            "log_loss_which": sure[6:],
        })  # fmt: skip
    return pd.DataFrame(out)


def half(values: pd.Series) -> float:
    """Half the width of a paired 95 % interval."""
    n = len(values)
    return float(student.ppf(0.975, n - 1) * values.std() / np.sqrt(n)) if n > 1 else np.nan


def page(rows: pd.DataFrame, found: pd.DataFrame, alone: pd.DataFrame) -> str:
    """Return the page."""
    n = found["replications"]
    lines = [
        "# Robustness: the blend against what a user would pick instead",
        "",
        f"{len(found)} settings (data x kind of noise x rate x share reviewed), {how_many(n)} "
        f"replications each. Every replication redraws rows, noise and review. The grid "
        "was committed before any result ([grid.toml](../../paper/robustness/grid.toml)); models "
        "train on at most 2 400 rows, so 1 % reviewed is 24 rows, 3 % 72, 10 % 240. *Best plain* "
        "is the best of six models (logistic regression with its penalty by cross-validation, and "
        "HistGradientBoosting, on observed, reviewed and both labels) **chosen by the test rows**: "
        "a hard mark that no user can reach.",
        "",
        "    python paper/robustness/run.py paper/robustness/grid.toml "
        "--out results/robustness.csv",
        "    python tools/robustness.py results/robustness.csv results/robustness_networks.csv",
        "",
        "With 10 % reviewed nothing is lost beyond 0.005 AUROC. With 24 reviewed rows the blend "
        "loses where labels are wrong in ways that leave the ranking alone (uniform, near the "
        "boundary, hidden): a logistic regression on the observed labels is then nearly as good "
        "as clean labels, and so few reviewed rows cannot tell. What is not known: few "
        "replications (a whole run is 10; these took 20 minutes of a machine with 16 cores and an "
        "H200), so single settings are uncertain.",
        "",
        "How weights are fitted was changed "
        "([decision 21](../decisions/0021-unreviewed-rows-judge-too.md)) after looking at an "
        "earlier run of replications 0 and 1, so they flatter it; replications 2 and 3 were drawn "
        "afterwards:",
        "",
        "| replications | behind by > 0.005 at 1 / 3 / 10 % reviewed | ahead | mean gain |",
        "|---|---|---|---|",
        *(looked_at(rows, those) for those in ((0, 1), (2, 3))),
        "",
        "![Gain of the blend over the best plain model, by setting](gain.svg)",
        "",
        "## In one table",
        "",
        "| reviewed | settings | behind by > 0.005 AUROC | ahead | mean gain | to clean labels | "
        "log loss behind by > 0.005 | ahead | mean gain |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    parts = [(f"{share:.0%}", part) for share, part in found.groupby("reviewed")]
    for name, part in [*parts, ("all", found)]:
        lines.append(summary(name, part))
    lines += ["", *against(alone), "", *by_kind(found), "", *losses(found), "", *others(rows)]
    return "\n".join(lines) + "\n"


NETWORKS = {"joint": "Joint", "alignment": "Alignment", "standard": "Standard",
            "confident": "cleanlab"}  # fmt: skip


def networks(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per setting: AUROC of the blend and of networks alone, in the same replications."""
    area = rows.pivot_table(index=KEY, columns="model", values="auroc")
    counts = rows.groupby(KEY)["replication"].nunique()
    return area[["blend", *NETWORKS]].assign(replications=counts).reset_index()


def against(alone: pd.DataFrame) -> list[str]:
    """Compare the blend with networks alone."""
    lines = [
        "## Against networks alone", "",
        "The paper's method (Alignment), our joint model of both labels, a network on observed "
        "labels, each with its own search of 20 configs, and confident learning (cleanlab) with a "
        "network, in "
        f"{how_many(alone['replications'])} replication of every setting ([table](networks.csv), a "
        "run with `--networks 10 --replications 1`): mean AUROC, and at how many settings the "
        "blend is ahead or behind by more than 0.005.", "",
        "| reviewed | settings | blend | " + " | ".join(
            f"{title} | ahead | behind" for title in NETWORKS.values()
        ) + " |",
        "|---" * (3 + 3 * len(NETWORKS)) + "|",
    ]  # fmt: skip
    for share, part in alone.groupby("reviewed"):
        cells = []
        for name in NETWORKS:
            gain = part["blend"] - part[name]
            ahead, behind = (gain > MARGIN).sum(), (gain < -MARGIN).sum()
            cells.append(f"{part[name].mean():.3f} | {ahead} | {behind}")
        start = f"| {share:.0%} | {len(part)} | {part['blend'].mean():.3f} | "
        lines.append(start + " | ".join(cells) + " |")
    return lines


def how_many(n: pd.Series) -> str:
    """Say how many replications settings have."""
    return str(n.min()) if n.min() == n.max() else f"{n.min()} to {n.max()}"


def looked_at(rows: pd.DataFrame, replications: tuple[int, ...]) -> str:
    """One line for some of the replications."""
    part = settings(rows[rows["replication"].isin(replications)])
    cells = [each["gain"] for _, each in part.groupby("reviewed")]
    behind = " / ".join(str(int((gain < -MARGIN).sum())) for gain in cells)
    ahead = " / ".join(str(int((gain > 0).sum())) for gain in cells)
    mean = " / ".join(f"{gain.mean():+.4f}" for gain in cells)
    return f"| {', '.join(map(str, replications))} | {behind} | {ahead} | {mean} |"


def summary(name: str, part: pd.DataFrame) -> str:
    """Return one row of the summary."""
    gain, less = part["gain"], part["log_loss_gain"]
    return (
        f"| {name} | {len(part)} | {(gain < -MARGIN).sum()} ({(gain < -MARGIN).mean():.0%}) | "
        f"{(gain > 0).sum()} ({(gain > 0).mean():.0%}) | {gain.mean():+.4f} | "
        f"{(part['blend'] - part['clean']).mean():+.4f} | {(less < -MARGIN).sum()} "
        f"({(less < -MARGIN).mean():.0%}) | {(less > 0).sum()} ({(less > 0).mean():.0%}) | "
        f"{less.mean():+.4f} |"
    )


def by_kind(found: pd.DataFrame) -> list[str]:
    """Mean gain by kind of noise and by data."""
    lines = ["## By kind of noise and by data", "", "| | settings | mean gain in AUROC | worst | "
             "mean gain in log loss |", "|---|---|---|---|---|"]  # fmt: skip
    for column in ("noise", "data"):
        for name, part in found.groupby(column):
            lines.append(
                f"| {name} | {len(part)} | {part['gain'].mean():+.4f} | "
                f"{part['gain'].min():+.4f} | {part['log_loss_gain'].mean():+.4f} |"
            )
    return lines


def losses(found: pd.DataFrame) -> list[str]:
    """Every setting where the blend is behind beyond the paired interval, or by over 0.005."""
    sure = found["gain"] < -found["half_width"].fillna(np.inf)
    behind = found[sure | (found["gain"] < -MARGIN)].sort_values("gain")
    lines = [
        "## Where it loses", "",
        f"{int(sure.sum())} settings are behind beyond the paired interval, and {len(behind)} are "
        "listed: those, and all that are behind by more than 0.005 AUROC on average.", "",
        "| data | noise | rate | reviewed | blend | best plain | gain (95 %) | which |",
        "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    return lines + [
        f"| {r.data} | {r.noise} | {r.rate:g} | {r.reviewed:.0%} | {r.blend:.3f} | "
        f"{r.best_plain:.3f} | {r.gain:+.3f} ± {r.half_width:.3f} | {r.which} |"
        for r in behind.itertuples()
    ]


def others(rows: pd.DataFrame) -> list[str]:
    """Every model, averaged over all settings it was run on."""
    lines = ["## Every model", "", "Means over settings, at settings where the model was run; "
             "`blend: ...` are candidates of the blend alone.", "",
             "| model | settings | AUROC | worst group | log loss | Brier | calibration error | "
             "true positives found at 0.5 |", "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    means = rows.groupby([*KEY, "model"]).mean(numeric_only=True).reset_index()
    table = means.groupby("model").mean(numeric_only=True).sort_values("log_loss")
    counts = means.groupby("model").size()
    for name, r in table.iterrows():
        lines.append(
            f"| {name} | {counts[name]} | {r['auroc']:.3f} | {r['worst_auroc']:.3f} | "
            f"{r['log_loss']:.3f} | {r['brier']:.3f} | {r['calibration']:.3f} | {r['tpr']:.2f} |"
        )
    return lines


def picture(found: pd.DataFrame) -> None:
    """Gain by setting: a dot per setting, one row per kind of noise, one panel per share."""
    kinds = found.groupby("noise")["gain"].mean().sort_values().index.tolist()
    colours = {name: f"C{i}" for i, name in enumerate(sorted(found["data"].unique()))}
    shares = sorted(found["reviewed"].unique())
    fig, axes = plt.subplots(1, len(shares), figsize=(11, 4.6), sharey=True, layout="constrained")
    for ax, share in zip(np.atleast_1d(axes), shares, strict=True):
        part = found[found["reviewed"] == share]
        for r in part.itertuples():
            y = kinds.index(r.noise) + 0.12 * (list(colours).index(r.data) - len(colours) / 2) / 1.6
            ax.plot(np.clip(r.gain, -0.08, 0.08), y, "o", ms=4, color=colours[r.data])
        ax.axvline(0, color="0.3", lw=1)
        ax.axvspan(-0.08, -MARGIN, color="tab:red", alpha=0.06)
        ax.set(title=f"{share:.0%} reviewed", xlabel="AUROC, blend minus best plain",
               xlim=(-0.085, 0.085), yticks=range(len(kinds)), yticklabels=kinds)  # fmt: skip
    marks = [plt.Line2D([], [], marker="o", ls="", color=c, label=n) for n, c in colours.items()]
    fig.legend(handles=marks, loc="outside lower center", ncols=5, frameon=False)
    fig.savefig(OUT / "gain.svg", metadata={"Date": None})
    plt.close(fig)


if __name__ == "__main__":
    main()
