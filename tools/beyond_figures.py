"""The figures of docs/beyond, drawn from its CSV files."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from alignset.cli.report import write_text
from alignset.report.canvas import drawing, new_figure, to_svg

STYLE = {
    "clean": ("Clean labels", "#444444", "--"),
    "joint": ("Joint", "#0072b2", "-"),
    "joint_folds": ("Joint, cross-fitted", "#56b4e9", "-"),
    "joint_cells": ("Joint, A weighted", "#56b4e9", "--"),
    "proposed": ("Proposed", "#d55e00", "-"),
    "csidn": ("CSIDN", "#009e73", "-"),
    "standard": ("Standard", "#999999", "-"),
}
AXES = {
    "noise_rate": "minority's noise rate (majority: 20 points less)",
    "noise_disparity": "minority's noise rate (majority: 20 %)",
    "size": "share of rows reviewed",
    "bias": "minority's share of the reviewed rows",
}


def draw(folder: Path, published: Path) -> None:
    """Write all figures into ``folder``/figures."""
    place = folder / "figures"
    place.mkdir(exist_ok=True)
    table = pd.read_csv(folder / "summary.csv")
    theirs = pd.read_csv(published)
    with drawing():
        figure = new_figure(9.6, 3.8)
        for axes, name in zip(figure.subplots(1, 2, sharey=True), list(AXES)[:2], strict=True):
            lines(axes, table, name, "synthetic", "hm_released")
            mark_published(axes, theirs, name)
        figure.axes[0].set_ylabel("HM, released rule")
        figure.axes[0].legend(loc="lower left", frameon=False)
        write_text(place / "noise.svg", to_svg(figure))
        for name in ("size", "bias"):
            figure = new_figure(9.6, 3.4)
            datasets = ("synthetic", "adult", "compas")
            for axes, dataset in zip(figure.subplots(1, 3), datasets, strict=True):
                lines(axes, table, name, dataset, "auroc")
                if name == "size":
                    axes.set_xticks(
                        [0.01, 0.02, 0.05] if dataset == "synthetic" else [0.02, 0.05, 0.1, 0.14]
                    )
                axes.set_title({"compas": "COMPAS"}.get(dataset, dataset.title()))
            figure.axes[0].set_ylabel("AUROC")
            figure.axes[0].legend(loc="lower right", frameon=False, fontsize=8)
            write_text(place / f"{name}.svg", to_svg(figure))


def lines(axes: Axes, table: pd.DataFrame, name: str, dataset: str, metric: str) -> None:
    """Draw mean and SD of every method that was run."""
    chosen = (table["experiment"] == f"beyond_{name}") & (table["dataset"] == dataset)
    table = table[chosen & (table["metric"] == metric)]
    for method, (label, colour, dash) in STYLE.items():
        own = table[table["method"] == method].sort_values("x")
        if len(own):
            axes.plot(own["x"], own["mean"], dash, color=colour, label=label, marker=".")
            low, high = own["mean"] - own["sd"], own["mean"] + own["sd"]
            axes.fill_between(own["x"], low, high, color=colour, alpha=0.12, linewidth=0)
    axes.set_xlabel(AXES[name])
    axes.xaxis.set_major_formatter(lambda x, _: f"{100 * x:.0f} %")


def mark_published(axes: Axes, theirs: pd.DataFrame, name: str) -> None:
    """Mark the published means of the paper's method."""
    chosen = (theirs["experiment"] == name) & (theirs["method"] == "proposed")
    own = theirs[chosen & (theirs["dataset"] == "synthetic")]
    axes.plot(own["x"], own["mean"], "x", color="#d55e00", label="Proposed, published")
