"""Where the blend loses, and why: a part of the robustness page (``tools/robustness.py``)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

MARGIN = 0.005
"""To be behind by more is to lose."""

NEAR = 0.01
"""Observed labels that rank within so much of clean ones leave little to gain."""


def losses(found: pd.DataFrame, which: str) -> list[str]:
    """Every setting where the blend is behind beyond the paired interval, or by over 0.005."""
    sure = found["gain"] < -found["half_width"].fillna(np.inf)
    behind = found[sure | (found["gain"] < -MARGIN)].sort_values("gain")
    far = behind[behind["gain"] < -MARGIN]
    level = (far["candidate_gain"] > -MARGIN / 2).sum()
    kinds = {why(r) for r in behind.itertuples()}
    return [
        "## Where it loses", "",
        f"{int(sure.sum())} settings are behind beyond the paired interval, and {len(behind)} are "
        f"listed: those, and all {len(far)} that are behind by more than 0.005 AUROC on average, "
        f"{(far['rate'] == 0.30).sum()} of them with 30 % of the labels wrong. In {level} of the "
        f"{len(far)} a candidate of the blend alone (chosen by the test rows, as the plain model "
        f"is; {which}) is level with the best plain model or ahead of it: the answer is among the "
        "candidates, and the reviewed rows are too few to tell which it is.", "",
        *(f"- *{name}*: {said}" for name, said in REASONS.items() if name in kinds), "",
        "| data | noise | rate | reviewed | blend | best plain | gain (95 %) | which | gain of "
        "the best candidate | clean | why |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
        *(
            f"| {r.data} | {r.noise} | {r.rate:g} | {r.reviewed:.0%} | {r.blend:.3f} | "
            f"{r.best_plain:.3f} | {r.gain:+.3f} ± {r.half_width:.3f} | {r.which} | "
            f"{r.candidate_gain:+.3f} ({r.candidate}) | {r.clean:.3f} | {why(r)} |"
            for r in behind.itertuples()
        ), "",
        *in_log_loss(found),
    ]  # fmt: skip


REASONS = {
    "ranking": "labels are wrong in ways that leave the ranking alone: the best plain model is "
    f"within {NEAR} AUROC of clean labels. There is little to gain, and weight on other candidates "
    "can only cost.",
    "misled": "models of observed labels rank people wrongly, and a model of the reviewed rows "
    "alone is the best plain one. A candidate alone is ahead of it; the reviewed rows do not "
    "show that clearly enough. The intervals are wide.",
    "linear": "synthetic data, made from a linear score: a plain linear model is hard to beat, and "
    "the best candidate is a linear one, too.",
    "other": "none of these.",
}


def why(r: Any) -> str:
    """Return the kind of reason for a loss."""
    if r.which.endswith("reviewed"):
        return "misled"
    if r.best_plain > r.clean - NEAR:
        return "ranking"
    return "linear" if r.data == "synthetic" and r.which.startswith("linear") else "other"


def in_log_loss(found: pd.DataFrame) -> list[str]:
    """Every setting that is behind in log loss by over 0.005."""
    behind = found[found["log_loss_gain"] < -MARGIN].sort_values("log_loss_gain")
    many = f"{len(behind)} settings are" if len(behind) != 1 else "one setting is"
    few = int((behind["reviewed"] == behind["reviewed"].min()).sum())
    kinds = ", ".join(f"{k} {n}" for k, n in behind["noise"].value_counts().items())
    return [
        f"In log loss {many} behind by more than 0.005, {few} of them at "
        f"{behind['reviewed'].min():.0%} reviewed ({kinds}):", "",
        "| data | noise | rate | reviewed | gain in log loss (95 %) | best plain |",
        "|---|---|---|---|---|---|",
        *(
            f"| {r.data} | {r.noise} | {r.rate:g} | {r.reviewed:.0%} | {r.log_loss_gain:+.3f} ± "
            f"{r.log_loss_half_width:.3f} | {r.log_loss_which} |"
            for r in behind.itertuples()
        ),
    ]  # fmt: skip
